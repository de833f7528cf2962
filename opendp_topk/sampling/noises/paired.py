"""The noises of the library at points that are known to about 100 digits, as sums of two float64 numbers.

Proof: proofs/samplers/gap_rows.tex
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...numerics.floats import Floats, Pair, log, two_sum

Quantile = Callable[[Pair, Pair], tuple[Floats, Floats, Floats]]
"""The quantile at U, given as a pair with 1 - U: a pair, and a bound on the error of its sum."""

_ERROR = 2.0**-72  # error of one logarithm


# proof-region: paired
def _exponential_quantile(u: Pair, v: Pair) -> tuple[Floats, Floats, Floats]:
    high, low = log(v)
    return -high, -low, np.full_like(high, _ERROR)  # [exponential]


def _laplace_quantile(u: Pair, v: Pair) -> tuple[Floats, Floats, Floats]:
    left = (u[0] - 0.5) + u[1] < 0  # [side]
    high, low = log((2 * np.where(left, u[0], v[0]), 2 * np.where(left, u[1], v[1])))
    return np.where(left, high, -high), np.where(left, low, -low), np.full_like(high, _ERROR)  # [laplace]


def _logistic_quantile(u: Pair, v: Pair) -> tuple[Floats, Floats, Floats]:
    return _subtract_pairs(log(u), log(v))  # [logistic]


def _half_logistic_quantile(u: Pair, v: Pair) -> tuple[Floats, Floats, Floats]:
    high, low = two_sum(u[0], np.ones_like(u[0]))
    return _subtract_pairs(log(two_sum(high, low + u[1])), log(v))  # [half-logistic]


def _subtract_pairs(a: Pair, b: Pair) -> tuple[Floats, Floats, Floats]:
    high, low = two_sum(a[0], -b[0])
    return high, low + (a[1] - b[1]), np.full_like(high, 4 * _ERROR)  # [difference]


def _gumbel_quantile(u: Pair, v: Pair) -> tuple[Floats, Floats, Floats]:
    high, low = log(u)
    inner = two_sum(-high, -low)
    error = np.minimum(_ERROR, high * high * 2.0**-46 + 2.0**-100)
    high, low = log(inner)
    return -high, -low, _ERROR + 2 * error / inner[0]  # [gumbel]


QUANTILES: dict[str, Quantile] = {
    "Exponential": _exponential_quantile,
    "Gumbel": _gumbel_quantile,
    "HalfLogistic": _half_logistic_quantile,
    "Laplace": _laplace_quantile,
    "Logistic": _logistic_quantile,
}  # [by-name]
# end-proof-region: paired
