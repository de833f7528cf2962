"""Sums over classes of k-subsets, in floats with an exponent of their own.

A class (h, t) of k-subsets contains the ranks 1..h, misses h + 1 and has the lowest rank t > k. It holds
C(t - h - 2, k - 1 - h) subsets, each of the weight e^(fall(t) + rise(h)) relative to that of the k best.

Proof: proofs/distributions/canonical_success.tex
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from gmpy2 import mpz
from numpy.typing import NDArray

from ...numerics.floatexp import parts
from ...numerics.floatlog import Floats

_REACH = 300.0  # binary digits by which a value may drift before it is normalised; float64 has room for 1,023
_STEP = 600.0  # e^-600 is still a normal float64
_PER_LN2 = 1.4426950408889634  # it only bounds the drift: any number near 1 / ln 2 would do
_COLUMNS = 2**15  # columns at a time, so that arrays stay small


# proof-region: subset_classes
@dataclass(frozen=True)
class Scaled:
    """The nonnegative number ``mantissa * 2 ** exponent``."""

    mantissa: float
    exponent: int

    def at(self, exponent: int) -> float:
        """The number divided by ``2 ** exponent``."""
        return float(np.ldexp(self.mantissa, max(min(self.exponent - exponent, 4000), -4000)))


def total(mantissas: Floats, exponents: NDArray[np.int64]) -> Scaled:
    """The sum of ``mantissas * 2 ** exponents``; terms below 2^-900 of the largest are lost."""
    if len(mantissas) == 0 or not mantissas.any():
        return Scaled(0.0, 0)
    mantissas, shifts = np.frexp(mantissas)
    exponents = exponents + shifts
    top = int(exponents[mantissas > 0].max())
    terms = np.ldexp(mantissas, np.maximum(exponents - top, -1000).astype(np.int32))  # [align]
    padded = np.zeros(-(-len(terms) // 1024) * 1024)
    padded[: len(terms)] = terms
    return Scaled(float(padded.reshape(-1, 1024).sum(axis=1).sum()), top)  # [blocks]


def scaled(log: float, count: mpz) -> Scaled:
    """``count * e ** log``."""
    mantissa, power = parts(np.array([log]))
    shift = max(count.bit_length() - 60, 0)
    return total(mantissa * float(count >> shift), power.astype(np.int64) + shift)  # [exact-count]


def block(k: int, fall: Floats, rise: Floats, first_h: int, last_t: int, power: int = 1) -> Scaled:
    """The sum of n w^power over the classes (h, t) with first_h <= h < k < t <= last_t; n is the size, w the weight.

    ``fall[t - k]`` belongs to t = k, ..., d and is 0 at k; ``rise[h]`` to h = 0, ..., k - 1.
    """
    columns = [
        _columns(k, fall, rise, first_h, np.arange(start, min(start + _COLUMNS, last_t - k)), power)
        for start in range(0, last_t - k, _COLUMNS)
    ]
    if first_h >= k or not columns:
        return Scaled(0.0, 0)
    return total(np.concatenate([m for m, _ in columns]), np.concatenate([e for _, e in columns]))


def _columns(
    k: int, fall: Floats, rise: Floats, first_h: int, j: NDArray[np.int64], power: int
) -> tuple[Floats, NDArray[np.int64]]:
    """For each t = k + 1 + j the sum over h, by Horner's rule in the binomials C(j + m, m), m = k - 1 - h."""
    value, exponent = np.ones(len(j)), np.zeros(len(j), dtype=np.int64)
    one, drift = np.ones(len(j)), 0.0
    for m in range(k - 1 - first_h, 0, -1):
        drop = power * (rise[k - m] - rise[k - m - 1])
        growth = float(np.log2(1 + j[-1] / m)) + drop * _PER_LN2
        drift += abs(growth) + drop * _PER_LN2 + 1
        while drop > _STEP:
            value, exponent, drop = *_normal(value * _factor(_STEP), exponent), drop - _STEP  # [long-drop]
        value = value * ((j + m) * (_factor(drop) / m))
        if drift < _REACH:
            value = value + one  # [horner]
        else:
            value, exponent = _normal(value, exponent)
            common = np.maximum(exponent, 0)
            one = np.ldexp(1.0, -np.minimum(common, 2000).astype(np.int32))
            value = np.ldexp(value, np.maximum(exponent - common, -2000).astype(np.int32)) + one  # [normalised]
            exponent, drift = common, 0.0
    mantissa, powers = parts(power * (fall[j + 1] + rise[k - 1]))  # [column]
    return value * mantissa, exponent + powers


def _normal(value: Floats, exponent: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int64]]:
    mantissa, shift = np.frexp(value)
    return mantissa, exponent + shift


def _factor(drop: float) -> float:
    """e^-drop."""
    mantissa, power = parts(np.array([-drop]))
    return float(np.ldexp(mantissa, power)[0])


def near(k: int, fall: Floats, rise: Floats, first_h: int, last_t: int, cut: float) -> list[tuple[int, int]]:
    """The classes of the block whose log-weight is at least ``cut``."""
    found = []
    for t in range(k + 1, last_t + 1):
        if fall[t - k] + rise[k - 1] < cut:
            break
        for h in range(k - 1, first_h - 1, -1):
            if fall[t - k] + rise[h] < cut:
                break
            found.append((h, t))  # [near]
    return found


# end-proof-region: subset_classes
