"""Noises as a user of the library writes them, with interval quantiles."""

from gmpy2 import mpfr, mpq

import opendp_topk as tk

Interval = tuple[mpfr, mpfr]


def asymmetric_laplace(u: mpq, precision: int) -> Interval:
    at = tk.noise.Intervals(precision)
    if 3 * u < 1:
        return at.divide(at.log(at.rational(3 * u)), at.rational(mpq(2)))
    return at.negative(at.log(at.rational(3 * (1 - u) / 2)))


def asymmetric_laplace_survival(z: mpq, precision: int) -> Interval:
    at = tk.noise.Intervals(precision)
    if z < 0:
        below = at.multiply(at.exp(at.rational(2 * z)), at.rational(mpq(1, 3)))
        return at.add(at.rational(mpq(1)), at.negative(below))
    return at.multiply(at.exp(at.rational(-z)), at.rational(mpq(2, 3)))


def lomax(u: mpq, precision: int) -> Interval:
    return tk.noise.Intervals(precision).rational(u / (1 - u))


def lomax_survival(z: mpq, precision: int) -> Interval:
    return tk.noise.Intervals(precision).rational(1 / (1 + max(z, mpq(0))))


def gapped(u: mpq, precision: int) -> Interval:
    """Exponential, with nothing between 1 and 7."""
    at = tk.noise.Intervals(precision)
    before = at.negative(at.log(at.rational(1 - u)))
    after = at.add(before, at.rational(mpq(6)))
    return before[0] if before[0] < 1 else after[0], before[1] if before[1] < 1 else after[1]


def gapped_survival(z: mpq, precision: int) -> Interval:
    at = tk.noise.Intervals(precision)
    return at.exp(at.rational(-max(z - 6, min(max(z, mpq(0)), mpq(1)))))


NOISES = {
    "AsymmetricLaplace": tk.noise.CustomNoise(
        "AsymmetricLaplace", quantile=asymmetric_laplace, survival=asymmetric_laplace_survival
    ),
    "Lomax": tk.noise.CustomNoise("Lomax", quantile=lomax, survival=lomax_survival, condition="lipschitz"),
    "Gapped": tk.noise.CustomNoise("Gapped", quantile=gapped, survival=gapped_survival, condition="lipschitz"),
}
