"""Cells hold every class once, and their bounds hold, whatever the shape of the scores."""

from __future__ import annotations

import math
import random
from collections import Counter
from math import comb
from typing import Any

import gmpy2
import mpmath
import numpy as np
import pytest

from opendp_topk.sampling.samplers import canonical as cells
from opendp_topk.sampling.samplers import subsets
from opendp_topk.sampling.samplers.canonical import FallBounds, WeightedCells


def partition(k: int, fall: np.ndarray, rise: np.ndarray) -> WeightedCells:
    return cells.partition_classes(k, FallBounds(len(fall), lambda places: fall[places]), rise)


def shapes() -> dict[str, tuple[int, np.ndarray, np.ndarray]]:
    generator = np.random.default_rng(5)

    def falling(n: int, step: float) -> np.ndarray:
        return -np.cumsum(generator.exponential(step, n))

    return {
        "flat": (4, np.zeros(9), np.zeros(4)),
        "steep": (3, falling(12, 50.0), falling(3, 50.0)[::-1]),
        "gentle": (5, falling(20, 0.5), falling(5, 0.7)[::-1]),
        "one": (1, falling(30, 0.2), np.zeros(1)),
        "almost all": (20, falling(1, 3.0), falling(20, 0.3)[::-1]),
        "far": (3, np.array([-1.0, -2.0, -(2.0**1000)]), np.array([-(2.0**1000), -5.0, 0.0])),
        "large": (30, falling(200, 0.2), falling(30, 0.4)[::-1]),
    }


@pytest.mark.parametrize("samples", [512, 8])
@pytest.mark.parametrize("single", [64, 0])
@pytest.mark.parametrize("name", shapes())
def test_cells_hold_every_class_once(name: str, single: int, samples: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "_SINGLE", single)
    monkeypatch.setattr(cells, "_SAMPLES", samples)
    k, fall, rise = shapes()[name]
    found = partition(k, fall, rise)
    held: Counter[tuple[int, int]] = Counter()
    for i in range(len(found.bits)):
        cell = found[i]
        for h in range(cell.first_h, cell.last_h + 1):
            held.update((h, t) for t in range(cell.first_t, cell.last_t + 1))
    assert held == Counter((h, t) for h in range(k) for t in range(k + 1, k + len(fall) + 1))


@pytest.mark.parametrize("samples", [512, 8])
@pytest.mark.parametrize("single", [64, 0])
@pytest.mark.parametrize("name", shapes())
def test_no_weight_exceeds_its_bound(name: str, single: int, samples: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "_SINGLE", single)
    monkeypatch.setattr(cells, "_SAMPLES", samples)
    k, fall, rise = shapes()[name]
    found = partition(k, fall, rise)
    with mpmath.workdps(60):
        for i in range(len(found.bits)):
            cell = found[i]
            best = mpmath.mpf(fall[cell.first_t - k - 1]) + mpmath.mpf(rise[cell.last_h])
            assert int(subsets.count_subsets(k, cell)) * mpmath.exp(best) <= mpmath.mpf(2) ** int(found.bits[i])


@pytest.mark.further
def test_refined_cells_waste_little() -> None:
    k, fall, rise = shapes()["large"]
    found = partition(k, fall, rise)
    assert 20 < len(found.bits) < 1000
    weight = mpmath.fsum(
        comb(t - h - 2, k - 1 - h) * mpmath.exp(fall[t - k - 1] + rise[h])
        for h in range(k)
        for t in range(k + 1, k + 1 + len(fall))
    )
    assert mpmath.fsum(mpmath.mpf(2) ** int(b) for b in found.bits) < 12 * (weight + 1)


def test_refinement_stops_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "_MOST_CELLS", 50)
    k, fall, rise = shapes()["large"]
    assert 50 < len(partition(k, fall, rise).bits) <= 100


def test_bits_are_clipped_from_below_only() -> None:
    bits = cells._binary_exponents(np.array([-1e9, 0.0, 3.0, 500.0]))
    assert bits.tolist() == [bits[3] - 40] * 3 + [math.ceil(500 / math.log(2))]
    assert cells._binary_exponents(np.array([-1e9, -3.0])).tolist() == [-40, math.ceil(-3 / math.log(2))]


def binomial_cases() -> list[tuple[int, int]]:
    generator = random.Random(7)
    cases = [(n, m) for n in range(41) for m in range(n + 1)]
    cases += [(n, m) for n in (10**3, 10**6, 10**9) for m in (0, 1, 2, 99, n - 1, n)]
    return cases + [(n := generator.randint(100, 20000), generator.randint(1, n - 1)) for _ in range(300)]


def test_logarithms_of_binomials_are_bounded_closely() -> None:
    n, m = np.array(binomial_cases()).T
    found = cells._log_binomials(n, m, n - m)
    with mpmath.workdps(60):
        for a, b, bound in zip(n.tolist(), m.tolist(), found.tolist(), strict=True):
            true = mpmath.log(mpmath.mpf(int(gmpy2.bincoef(a, min(b, a - b)))))
            slack: Any = mpmath.mpf(bound) - true
            assert 0 <= slack < 0.2 + 1e-11 * a, (a, b)


def test_no_cell_lies_too_deep_where_the_largest_is_just_above_a_power_of_two() -> None:
    """Less 40, the largest exponent is rounded: to an integer, from just above it. Then a cell was never proposed."""
    for power in range(30):
        for towards in (-np.inf, np.inf):
            weight = (power - 2.0**-10) * math.log(2)
            for _ in range(300):
                weight = np.nextafter(weight, towards)
                bits = cells._binary_exponents(np.array([weight, -500.0]))
                assert bits[1] == max(0, bits[0]) - cells.DEPTH, (power, weight)
                assert bits[0] in (power, power + 1)
