"""Halving beside the joint exponential mechanism for quantiles: exact laws on small grids, the tutorial's figures."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorials" / "quantiles.md"
CASES = [(2, 40, 1), (2, 40, 4), (3, 40, 1), (3, 40, 4), (7, 12, 1), (7, 12, 4), (7, 12, 16)]


def below(counts: Sequence[int]) -> list[int]:
    return [0, *itertools.accumulate(counts)]


def joint(counts: Sequence[int], epsilon: float, shares: Sequence[Fraction]) -> dict[tuple[int, ...], float]:
    """All ascending tuples of places, weighted by how many rows are between them and how many should be.

    A row more or less moves one of these numbers by 1, and what they should be by the shares: 2 (1 - the least share).
    """
    steps = [float(high - low) for low, high in itertools.pairwise([Fraction(0), *shares, Fraction(1)])]
    sums = below(counts)
    outcomes = list(itertools.combinations_with_replacement(range(len(counts)), len(shares)))
    cuts = np.array([[0, *(sums[place] for place in places), sums[-1]] for places in outcomes])
    utility = -np.abs(np.diff(cuts, axis=1) - np.array(steps) * sums[-1]).sum(axis=1)
    weights = np.exp(epsilon * (utility - utility.max()) / (4 * (1 - min(steps))))
    return dict(zip(outcomes, (weights / weights.sum()).tolist(), strict=True))


def farthest(counts: Sequence[int], law: Mapping[Any, Any], shares: Sequence[Fraction]) -> float:
    """By how many rows the worst of the quantiles fails to be one, on the average."""
    sums, n = below(counts), sum(counts)

    def failed(places: Sequence[int]) -> float:
        pairs = zip(places, shares, strict=True)
        return max(float(max(sums[place] - q * n, q * n - sums[place + 1], 0)) for place, q in pairs)

    return sum(float(p) * failed(places) for places, p in law.items())


def test_what_is_compared_keeps_its_epsilon() -> None:
    """All tables of at most two rows at each of three numbers, and each with a row more."""
    shares, worst = [Fraction(1, 4), Fraction(1, 2)], 0.0
    for counts in itertools.product(range(3), repeat=3):
        for at in range(3):
            more = [one + (place == at) for place, one in enumerate(counts)]
            one, other = joint(counts, 1.0, shares), joint(more, 1.0, shares)
            worst = max(worst, *(abs(np.log(one[places] / other[places])) for places in one))
    assert 0.5 < worst <= 1 + 1e-9


@pytest.mark.quick(case=(2, 40, 4))
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_tutorial_has_what_both_are_off_by(case: tuple[int, int, int]) -> None:
    number, size, epsilon = case
    shares = [Fraction(n, number + 1) for n in range(1, number + 1)]
    counts = [1] * size
    space = tk.VectorDomain(tk.AtomDomain(int), size=size), tk.L1Distance()
    scale = Fraction(number.bit_length(), epsilon)
    halving = tk.make_quantiles(*space, tk.MaxDivergence(), quantiles=shares, scale=scale, places=1)
    assert halving.map(1) == epsilon
    other = farthest(counts, joint(counts, epsilon, shares), shares)
    own = farthest(counts, halving.distribution(counts), shares)
    assert f"| {number} | {size} | {epsilon} | {own:.2f} | {other:.2f} |" in TUTORIAL.read_text(encoding="utf-8")
