"""What each constructor of selection and of noise costs, as exact rationals, from the theorems and not from the code.

Each cost is a triple: epsilon, range and rho, for scores whose differences move by r units of the scale.
"""

from fractions import Fraction

import mpmath

from tests.oracles import rhos

Costs = tuple[Fraction, Fraction, Fraction]
_UNKNOWN = 10**9


def widest(r: Fraction) -> Fraction:
    """The range of permute-and-flip, r + 2 ln(2 - e^(-r/2)), within 10^-60 of it."""
    with mpmath.workdps(80):
        number = mpmath.mpf(r.numerator) / r.denominator
        value = number + 2 * mpmath.log1p(-mpmath.expm1(-number / 2))
        return Fraction(int(mpmath.nint(value * mpmath.mpf(10) ** 60)), 10**60)


def _joined(pure: Fraction, width: Fraction) -> Fraction:
    """The rho of laws with others between them, at the cost ``pure``, whose range is ``width``."""
    return min(rhos.of_laplace(pure), rhos.of_range(width))


def one_shot(noise: str, k: int, size: int | None, release: str, r: Fraction) -> Costs:
    """The k best of scores with independent noise; ``size`` is the number of candidates where it is known."""
    d = size or _UNKNOWN
    steps, width = min(k, d - 1), min(2 * k, d)
    if release == "set" and k == d:
        return Fraction(0), Fraction(0), Fraction(0)
    if noise in ("Laplace", "Logistic"):
        sides = min(k, d // 2) if release == "ranking" else min(k, d - k)
        choices = steps if release == "ranking" else sides
        if noise == "Logistic":
            rho = min(rhos.of_laplace(sides * r), choices * rhos.of_range(r))
            return sides * r, (1 if release == "set" or steps == 1 else 2) * sides * r, rho
        return sides * r, 2 * sides * r, _joined(r, widest(r)) if choices == 1 else rhos.of_laplace(sides * r)
    if noise == "Gumbel":
        return steps * r, (width - 1) * r, steps * rhos.of_range(r)
    bound = widest(r) if noise == "Exponential" and steps == 1 else width * r
    return steps * r, bound, _joined(steps * r, widest(r) if steps == 1 else bound)


def exponential_mechanism(r: Fraction) -> Costs:
    """One choice with weights e^(score / scale)."""
    return r, r, rhos.of_range(r)


def permute_and_flip(r: Fraction) -> Costs:
    """One choice by permute-and-flip."""
    return r, widest(r), _joined(r, widest(r))


def peeled(k: int, size: int | None, r: Fraction) -> Costs:
    """k choices by permute-and-flip, each among those that are left."""
    steps, width = (k, 2 * k) if size is None else (min(k, size - 1), min(2 * k, size))
    choice = widest(r)
    return steps * r, min(width * r, choice + 2 * (steps - 1) * r), steps * _joined(r, choice)


def joint(k: int, r: Fraction) -> Costs:
    """The joint exponential mechanism, for more than two candidates."""
    bound = r if k == 1 else 2 * r
    return bound, bound, rhos.of_range(bound)


def gaps(noise: str, k: int, size: int | None, r: Fraction) -> Costs:
    """A ranking with its gaps."""
    raced = (k + 1) * rhos.of_range(r)
    if noise in ("Laplace", "Logistic"):
        sides = k if size is None else min(k, size // 2)
        rho = rhos.of_laplace(sides * r)
        return sides * r, 2 * sides * r, rho if noise == "Laplace" else min(rho, raced)
    width = 2 * k if size is None else min(2 * k, size)
    rho = _joined(k * r, width * r)
    return k * r, width * r, min(rho, raced) if noise == "Gumbel" else rho
