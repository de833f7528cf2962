"""Tables of a noise's quantile at all prefixes of 16 binary digits, rounded outward."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...numerics.floats import Floats, require_subnormals
from ..noises.noise import Noise

DIGITS = 16  # two tables of half a MiB, which decide all but a few candidates
_PREFIXES = 2**DIGITS  # the number of prefixes
_PART = 2**12  # nodes at a time, so that the arrays of all steps fit in a cache
_ROUND = 9  # a custom quantile is evaluated at some 4,096 points only, denser towards both ends


@dataclass(frozen=True, eq=False)
class QuantileTable:
    """Bounds on the noise of a candidate if only the first 16 digits of its uniform are known.

    ``lower[p] <= F^{-1}(U) <= upper[p]`` for every U in [p / 2^16, (p + 1) / 2^16].
    ``tail[j] >= F^{-1}(1 - 2^-j)``, for j in 0..16: noise above it needs j leading ones in U.
    """

    lower: Floats
    upper: Floats
    tail: Floats


# proof-region: quantile_tables
@functools.lru_cache(maxsize=16)
def quantile_table(noise: Noise) -> QuantileTable:
    """Return the table of ``noise``, cached; the first call takes a few milliseconds, or 4,096 quantiles by MPFR.

    The first call makes all entries. If calls made those that they need, their time would reveal digits.
    """
    require_subnormals()  # [no-flushing]
    nodes = np.arange(_PREFIXES + 1)
    if not noise.is_proven:
        nodes = nodes[_is_round(np.minimum(nodes, _PREFIXES - nodes))]
    lower, upper = np.empty(len(nodes)), np.empty(len(nodes))
    for start in range(0, len(nodes), _PART):
        part = slice(start, start + _PART)
        u = nodes[part] / _PREFIXES  # [nodes]
        rest = 1 - u
        lower[part], upper[part] = noise.quantile_floats((u, u), (rest, rest))  # [outward]
    tail = np.array([_PREFIXES - (_PREFIXES >> j) for j in range(DIGITS + 1)])  # [tail]
    tail = np.maximum.accumulate(upper[np.searchsorted(nodes, tail)])  # [increasing-tail]
    lower, upper = lower[:-1], upper[1:]  # [ends]
    if not noise.is_proven:
        lower, upper = (np.repeat(bounds, np.diff(nodes)) for bounds in (lower, upper))  # [cells]
    return QuantileTable(lower, upper, tail)


def _is_round(n: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which integers in 0..2^16 are multiples of a power of two of at least 1/512 of their size."""
    step = 1 << np.maximum(np.frexp(n)[1].astype(np.int64) - _ROUND, 0)
    return np.equal(n % step, 0)  # [round]


def quantile_bounds(noise: Noise, digits: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> tuple[Floats, Floats]:
    """Return float64 bounds on F^{-1}(U) for all U in [n, n + 1] / 2^64, with n the first 64 digits of U."""
    return noise.quantile_floats(_unit_interval_bounds(digits), _unit_interval_bounds(~digits))  # [complement]


def _unit_interval_bounds(n: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> tuple[Floats, Floats]:
    nearest = n.astype(np.float64)  # [nearest]
    return nearest * (2.0**-64 * (1 - 2.0**-52)), np.minimum((nearest + 1) * (2.0**-64 * (1 + 2.0**-51)), 1.0)  # [unit]


# end-proof-region: quantile_tables
