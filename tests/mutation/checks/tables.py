"""Bounds on noise and on noisy scores enclose what they bound."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np

from opendp_topk.samplers import advantages, quantile_tables, scan
from opendp_topk.samplers.entropy import SYSTEM
from tests.mutation.library import tk
from tests.mutation.oracles import QUANTILES, expect

_PREFIXES = (0, 1, 2, 3, 100, 5000, 30000, 32767, 32768, 40000, 60000, 65000, 65533, 65534, 65535)
_WORDS = (0, 1, 2**16, 2**40, 2**63 - 1, 2**63, 3 * 2**62, 2**64 - 2**40, 2**64 - 2, 2**64 - 1)


def check() -> None:
    """Table entries and float bounds enclose the quantiles of mpmath, and sums with scores are outward."""
    noises = tk.Gumbel(), tk.Exponential(), tk.HalfLogistic(), tk.Laplace(), tk.Logistic()
    with mpmath.workdps(50):
        for noise in noises:
            _table(noise)
            _words(noise)
            _levels(noise)
    _sums()
    _cuts()


def _quantile(noise: Any, u: Fraction) -> Any:
    if u == 0:
        return mpmath.mpf(0) if noise.name in ("Exponential", "HalfLogistic") else -mpmath.inf
    return mpmath.inf if u == 1 else QUANTILES[noise.name](u)


def _table(noise: Any) -> None:
    table = quantile_tables.table(noise)
    expect(len(table.lower) == len(table.upper) == 2**16, "a table must hold 65,536 prefixes")
    for prefix in _PREFIXES:
        low, high = (_quantile(noise, Fraction(n, 2**16)) for n in (prefix, prefix + 1))
        expect(mpmath.mpf(table.lower[prefix]) <= low, f"{noise.name}: lower entry {prefix} is above the quantile")
        expect(mpmath.mpf(table.upper[prefix]) >= high, f"{noise.name}: upper entry {prefix} is below the quantile")
    for ones, tail in enumerate(table.tail.tolist()):
        high = _quantile(noise, 1 - Fraction(1, 2**ones))
        expect(mpmath.mpf(tail) >= high, f"{noise.name}: entry {ones} of the tail is below the quantile")


def _words(noise: Any) -> None:
    lower, upper = quantile_tables.quantile_bounds(noise, np.array(_WORDS, dtype=np.uint64))
    for word, low, high in zip(_WORDS, lower.tolist(), upper.tolist(), strict=True):
        ends = [_quantile(noise, Fraction(n, 2**64)) for n in (word, word + 1)]
        expect(mpmath.mpf(low) <= ends[0], f"{noise.name}: the bound from 64 digits is above the quantile")
        expect(mpmath.mpf(high) >= ends[1], f"{noise.name}: the bound from 64 digits is below the quantile")


def _levels(noise: Any) -> None:
    """Whoever lies ``gap`` below the threshold and has fewer leading ones than are asked of it cannot reach it."""
    gaps = np.arange(1, 60) * 0.2
    scores = advantages.Scores(-gaps, Fraction(1), 1)
    skipped = scan.Scan(scores, 1, quantile_tables.table(noise), SYSTEM, reference=0.0, threshold=0.0).levels(-gaps)
    for gap, ones in zip(gaps.tolist(), skipped.tolist(), strict=True):
        reach = _quantile(noise, 1 - Fraction(1, 2**ones))
        expect(reach <= gap, f"{noise.name}: candidates that could reach the threshold are skipped")


def _sums() -> None:
    """Advantages are known within 2^-50 of themselves: the bounds must hold for both ends."""
    scores = np.array([0.1, 1.0, 3.7, 1e6, -2.3, -1e-3, 123.456])
    noise = np.array([0.3, -1.7, 2.0, 0.1, 5.5, 1e-3, -4.0])
    lower, upper = advantages.noisy_bounds(scores, noise, noise)
    for score, one, low, high in zip(scores.tolist(), noise.tolist(), lower.tolist(), upper.tolist(), strict=True):
        error, exact = abs(Fraction(score)) / 2**50, Fraction(score) + Fraction(one)
        expect(Fraction(low) <= exact - error, "a lower bound of a noisy score is not rounded outward")
        expect(Fraction(high) >= exact + error, "an upper bound of a noisy score is not rounded outward")


def _cuts() -> None:
    """Whoever exceeds a bound is among those who may."""
    third = Fraction(1, 3)
    for sign in (1, -1):
        near = np.nextafter(float(third), np.array([-1.0, 1.0]))
        values = np.sort(np.append(near, float(third))) * sign
        scores = advantages.Scores(values, Fraction(1), sign)
        may = scores.may_exceed(values, third, 0.0)
        for value, kept in zip(values.tolist(), may.tolist(), strict=True):
            expect(kept or sign * Fraction(value) <= third, "a candidate above the threshold is passed over")
    integers = np.array([9, 10, 11], dtype=np.int64)
    may = advantages.Scores(integers, Fraction(3), 1).may_exceed(integers, Fraction(10, 3), 0)
    expect(bool(may[2]), "an integer above the threshold is passed over")
