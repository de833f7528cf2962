"""Discrete Laplace and discrete Gaussian laws on the integers, from their definitions and mpmath alone."""

import functools
from collections import Counter
from collections.abc import Hashable, Iterable
from fractions import Fraction
from typing import Any

import mpmath

from .noise import number

BELOW, ABOVE = "below", "above"


def weight(name: str, scale: Fraction, z: int) -> Any:
    """The unnormalised mass of z."""
    if name == "laplace":
        return mpmath.exp(-abs(z) / number(scale))
    return mpmath.exp(-number(Fraction(z * z) / (2 * scale * scale)))


def tail(name: str, scale: Fraction, radius: int) -> Any:
    """An upper bound on the unnormalised mass of all z > radius: a geometric series of the last ratio."""
    ratio = weight(name, scale, radius + 1) / weight(name, scale, radius)
    return weight(name, scale, radius + 1) / (1 - ratio)


def radius(name: str, scale: Fraction, digits: int = 35) -> int:
    """A radius beyond which less than 10^-digits of the mass is left."""
    reach = 1
    while tail(name, scale, reach) > mpmath.mpf(10) ** -digits:
        reach *= 2
    return reach


@functools.cache
def masses(name: str, scale: Fraction) -> dict[int, Any]:
    """The mass of every integer but for a tail of less than 10^-35."""
    with mpmath.workdps(45):
        reach = radius(name, scale)
        weights = {z: weight(name, scale, z) for z in range(-reach, reach + 1)}
        total = mpmath.fsum(weights.values())
        return {z: w / total for z, w in weights.items()}


def pooled(law: dict[int, Any], least: int, most: int) -> dict[Hashable, Any]:
    """The law with everything below ``least`` and above ``most`` merged."""
    inner: dict[Hashable, Any] = {z: p for z, p in law.items() if least <= z <= most}
    below = mpmath.fsum(p for z, p in law.items() if z < least)
    above = mpmath.fsum(p for z, p in law.items() if z > most)
    return {BELOW: below, **inner, ABOVE: above}


def counted(values: Iterable[int], least: int, most: int) -> Counter[Hashable]:
    """How often each outcome of :func:`pooled` occurs."""
    return Counter(BELOW if v < least else ABOVE if v > most else int(v) for v in values)


def max_loss(name: str, scale: Fraction, shift: int, reach: int) -> Any:
    """The largest |ln P(z - shift) / P(z)| over |z| <= reach."""
    with mpmath.workdps(40):
        return max(abs(_log_ratio(name, scale, z, shift)) for z in range(-reach, reach + 1))


def loss_range(name: str, scale: Fraction, shift: int, reach: int) -> Any:
    """The range of ln P(z - shift) / P(z) over |z| <= reach."""
    with mpmath.workdps(40):
        losses = [_log_ratio(name, scale, z, shift) for z in range(-reach, reach + 1)]
        return max(losses) - min(losses)


@functools.cache
def renyi(name: str, scale: Fraction, shift: int, order: int | Fraction) -> Any:
    """D_order(P(. - shift) || P), but for a relative tail of less than 10^-25 of its sum.

    Beyond the window the ratio of successive terms is constant (Laplace) or falls (Gaussian), so what is left
    out on either side is at most a geometric series of the last ratio.
    """
    with mpmath.workdps(40):
        window = 4 * radius(name, scale) + abs(shift) * 8
        total = mpmath.fsum(weight(name, scale, z) for z in range(-window, window + 1))
        terms = [
            weight(name, scale, z - shift) ** number(Fraction(order))
            * weight(name, scale, z) ** number(1 - Fraction(order))
            for z in range(-window, window + 1)
        ]
        for last, before in ((terms[0], terms[1]), (terms[-1], terms[-2])):
            assert last * last / before / (1 - last / before) < mpmath.mpf(10) ** -25 * max(terms)
        return mpmath.log(mpmath.fsum(terms) / total) / number(Fraction(order) - 1)


def _log_ratio(name: str, scale: Fraction, z: int, shift: int) -> Any:
    return mpmath.log(weight(name, scale, z - shift) / weight(name, scale, z))
