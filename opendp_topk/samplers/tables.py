"""Tables of a noise's quantile at all prefixes of 16 binary digits, rounded outward."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from ..floatlog import Floats
from ..noise import Noise

DIGITS = 16
_PREFIXES = 2**DIGITS


@dataclass(frozen=True, eq=False)
class Table:
    """Bounds on the noise of a candidate of which only the first 16 digits of its uniform are known.

    ``lower[p] <= F^{-1}(U) <= upper[p]`` for every U in [p / 2^16, (p + 1) / 2^16].
    ``tail[j] >= F^{-1}(1 - 2^-j)``, for j in 0..16: noise above it needs j leading ones in U.
    """

    lower: Floats
    upper: Floats
    tail: Floats


# proof-region: tables
@functools.lru_cache(maxsize=16)
def table(noise: Noise) -> Table:
    """The table of ``noise``, built on the first call (milliseconds; about a second for a noise of MPFR) and kept."""
    u = np.arange(_PREFIXES + 1) / _PREFIXES  # [nodes]
    lower, upper = noise.quantile_floats((u, u), (1 - u, 1 - u))  # [outward]
    tail = upper[[_PREFIXES - (_PREFIXES >> j) for j in range(DIGITS + 1)]]  # [tail]
    return Table(
        lower=lower[:-1].copy(),  # [lower-end]
        upper=upper[1:].copy(),  # [upper-end]
        tail=np.maximum.accumulate(tail),  # [increasing-tail]
    )


def quantile_bounds(noise: Noise, digits: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> tuple[Floats, Floats]:
    """Float64 bounds on F^{-1}(U) for every U in [n, n + 1] / 2^64, where n are the first 64 digits of U."""
    return noise.quantile_floats(_unit(digits), _unit(~digits))  # [complement]


def _unit(n: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> tuple[Floats, Floats]:
    nearest = n.astype(np.float64)  # [nearest]
    return nearest * (2.0**-64 * (1 - 2.0**-52)), np.minimum((nearest + 1) * (2.0**-64 * (1 + 2.0**-51)), 1.0)  # [unit]


# end-proof-region: tables
