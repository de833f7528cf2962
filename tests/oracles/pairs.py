"""Pairs of laws on few points: hockey-stick curves, products and conversations, by enumeration in high precision."""

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import mpmath

Pair = tuple[tuple[Any, ...], tuple[Any, ...]]


def hockey_stick(pair: Pair, epsilon: Any) -> Any:
    """The larger of both directions: the sum of max(0, P' - e^epsilon P), and with P and P' exchanged."""
    with mpmath.workdps(50):
        z = mpmath.exp(number(epsilon))
        forward = sum(
            (max(mpmath.mpf(0), number(q) - z * number(p)) for p, q in zip(*pair, strict=True)), mpmath.mpf(0)
        )
        back = sum((max(mpmath.mpf(0), number(p) - z * number(q)) for p, q in zip(*pair, strict=True)), mpmath.mpf(0))
        return max(forward, back)


def product(pairs: Sequence[Pair]) -> Pair:
    """The pair of joint laws of independent releases."""
    return tuple(  # type: ignore[return-value]
        tuple(_product(masses) for masses in itertools.product(*(pair[side] for pair in pairs))) for side in (0, 1)
    )


def conversation(first: Pair, then: Callable[[int], Pair]) -> Pair:
    """The pair of laws of an answer of ``first`` and of one of the pair that it chooses."""
    return tuple(  # type: ignore[return-value]
        tuple(first[side][i] * mass for i in range(len(first[side])) for mass in then(i)[side]) for side in (0, 1)
    )


def swapped(pair: Pair) -> Pair:
    return pair[1], pair[0]


def binomial_delta(loss: Any, k: int, epsilon: Any) -> Any:
    """The exact curve of k randomised responses of this loss."""
    with mpmath.workdps(60):
        e = number(loss)
        p = mpmath.exp(e) / (1 + mpmath.exp(e))
        terms = (
            mpmath.binomial(k, i) * p**i * (1 - p) ** (k - i) * (1 - mpmath.exp(number(epsilon) - (2 * i - k) * e))
            for i in range(k + 1)
            if (2 * i - k) * e > number(epsilon)
        )
        return mpmath.fsum(terms)


def laplace_delta(loss: Any, k: int, epsilon: Any) -> Any:
    """The exact curve of k Laplace mechanisms of this loss, by the law of the sum of their losses.

    A loss is E with probability 1/2, -E with probability e^-E / 2, and otherwise has the density e^((l - E) / 2) / 4
    on (-E, E). With i and j atoms, the rest is a sum of n = k - i - j clipped exponentials: by inclusion and exclusion.
    """
    with mpmath.workdps(80):
        e, target = number(loss), number(epsilon)
        whole = mpmath.mpf(0)
        for i in range(k + 1):
            for j in range(k + 1 - i):
                n = k - i - j
                weight = mpmath.factorial(k) / (mpmath.factorial(i) * mpmath.factorial(j) * mpmath.factorial(n))
                weight *= mpmath.mpf(2) ** -(i + j) * mpmath.exp(-j * e)
                whole += weight * _tail(n, e, target - (i - j) * e)
        return whole


def _tail(n: int, e: Any, target: Any) -> Any:
    """The mean of max(0, 1 - e^(target - l)) over sums l of n losses with the density above (of mass (1 - e^-E) / 2).

    With x = E - l in (0, 2 E) of each loss the density is e^(-x/2) / 4; their sum s has l = n E - s.
    """
    room = n * e - target
    if n == 0:
        return max(mpmath.mpf(0), 1 - mpmath.exp(target))
    whole = mpmath.mpf(0)
    for m in range(n + 1):
        left = room - 2 * m * e
        if left <= 0:
            break
        # sums of n exponentials, m of which exceed 2 E: shift by 2 m E, at the price of e^(-m E)
        sign = (-1) ** m * mpmath.binomial(n, m) * mpmath.exp(-m * e)
        below = mpmath.gammainc(n, 0, left / 2, regularized=True) / mpmath.mpf(2) ** n
        tilted = _rising(n, left) * mpmath.exp(-left) / mpmath.mpf(4) ** n
        whole += sign * (below - tilted)
    return whole


def _rising(n: int, left: Any) -> Any:
    """The integral of s^(n - 1) e^(s / 2) / (n - 1)! from 0 to ``left``."""
    terms = mpmath.nsum(lambda i: (left / 2) ** i / mpmath.factorial(i) * left**n / (n + i), [0, mpmath.inf])
    return terms / mpmath.factorial(n - 1)


def number(value: Any) -> Any:
    return mpmath.mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else mpmath.mpf(value)


def _product(values: Sequence[Any]) -> Any:
    result = values[0]
    for value in values[1:]:
        result *= value
    return result
