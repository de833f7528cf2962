"""The claims of make_exponential_mechanism: its law is the softmax, its maps are r, r and the rho of a range r."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.measurements.exponential_mechanism import make_exponential_mechanism
from tests.concepts.losses import number, realised
from tests.oracles import rhos

from .single_choice import MEASURES, build, check_bounds, check_frame, check_law, check_mean


def softmax(weights: Sequence[Any]) -> dict[int, Any]:
    return {i: weight / sum(weights) for i, weight in enumerate(weights)}


@pytest.mark.slow
def test_the_law_is_the_softmax() -> None:
    check_law(make_exponential_mechanism, softmax)


@pytest.mark.slow
def test_no_neighbour_exceeds_the_map() -> None:
    check_bounds(make_exponential_mechanism)


def test_the_mean_shortfall_is_that_of_the_theorem() -> None:
    check_mean(make_exponential_mechanism)


def test_the_frame() -> None:
    check_frame(make_exponential_mechanism, "exponential_mechanism")


@pytest.mark.parametrize("d", [None, 2, 9])
def test_the_map_is_the_formula_rounded_up_once(d: int | None) -> None:
    r = Fraction(2, 7)
    for measure, cost in zip(MEASURES, (r, r, rhos.of_range(r)), strict=True):
        found = build(make_exponential_mechanism, d, measure, tk.LInfDistance(), scale=7).map(1)
        assert Fraction(math.nextafter(found, 0)) < cost <= Fraction(found)


@pytest.mark.parametrize("r", [Fraction(1, 8), Fraction(1), Fraction(3)])
def test_the_maps_are_tight(r: Fraction) -> None:
    """The range at every pair; the pure loss where the rising item is far below; zCDP for small moves."""
    law = build(make_exponential_mechanism, 2, tk.MaxDivergence(), scale=1 / r).distribution
    assert realised(tk.RangeDivergence(), law([0, 0]), law([0, 1])) >= 0.999999 * number(r)
    low = -math.ceil(40 / r)
    assert realised(tk.MaxDivergence(), law([0, low]), law([0, low + 1])) >= 0.97 * number(r)
    small = build(make_exponential_mechanism, 2, tk.MaxDivergence(), scale=500 / r).distribution
    found = realised(tk.ZeroConcentratedDivergence(), small([0, 0]), small([0, 1]))
    assert found >= 0.99 * number(rhos.of_range(r / 500))


def test_it_is_report_noisy_top_1_under_bounded_range() -> None:
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.RangeDistance()
    ranking = tk.make_report_noisy_top_k(*space, tk.RangeDivergence(), k=1, scale=2).distribution([3, 1, 4])
    single = make_exponential_mechanism(*space, tk.RangeDivergence(), scale=2).distribution([3, 1, 4])
    assert {(i,): p for i, p in single.items()} == ranking
