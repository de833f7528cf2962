"""Noisy counts of a public list: what they cost, with what noise, and that all is refused which they are not for."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.measurements.noisy_histogram import make_noisy_histogram, then_noisy_histogram

from ..concepts.links import check_constructor
from ..concepts.sentinels import raises_exactly
from ..oracles import discrete
from ..oracles.chi_square import assert_follows

MAX, RANGE, ZCDP, PROFILE = MEASURES = (
    tk.MaxDivergence(),
    tk.RangeDivergence(),
    tk.ZeroConcentratedDivergence(),
    tk.PrivacyProfile(),
)
INT = tk.VectorDomain(tk.AtomDomain(int))


def build(measure: tk.Measure, changes: int = 1, size: int | None = None, **options: Any) -> tk.Measurement:
    space = tk.VectorDomain(tk.AtomDomain(int), size=size), tk.L01InfDistance(changes=changes, monotonic=True)
    return make_noisy_histogram(*space, measure, **options)


def test_twenty_winners_with_counts_for_people_of_one_item_cost_what_one_count_costs() -> None:
    """Fifty candidates at epsilon .1: scale 10, where a selection and counts of its winners need 400."""
    histogram = build(MAX, size=50, scale=10) >> tk.largest_counts(20)
    assert histogram.map(1) == 0.1
    space = tk.VectorDomain(tk.AtomDomain(int), size=50), tk.LInfDistance(monotonic=True)

    def counted(scale: float) -> tk.Measurement:
        return space >> tk.then_select_then_count(MAX, k=20, scale=scale)

    assert tk.binary_search_param(counted, 1, 0.1) == pytest.approx(400)
    released = histogram(np.arange(50) * 10_000)
    assert released.indices.tolist() == list(range(49, 29, -1))


def test_the_noise_follows_the_measure_or_the_word() -> None:
    for measure, gaussian in ((MAX, False), (RANGE, False), (ZCDP, True), (PROFILE, True)):
        assert build(measure, scale=2).parameters == {"mechanism": "noisy_histogram", "gaussian": gaussian, "scale": 2}
    laplace = build(ZCDP, 3, scale=2, gaussian=False)
    few = INT, tk.L01InfDistance(changes=3, monotonic=True)
    assert laplace.map(1) == tk.make_laplace(*few, ZCDP, scale=2).map(1)
    assert build(ZCDP, 3, scale=2).map(2) == tk.make_gaussian(*few, ZCDP, scale=2).map(2) == 3 * 4 / 8


@pytest.mark.parametrize("gaussian", [True, False])
def test_releases_follow_the_law(gaussian: bool) -> None:
    scale, n = Fraction(3, 2), 20_000
    found = build(ZCDP, scale=scale, gaussian=gaussian)(np.full(n, 5)) - 5
    name, reach = ("gaussian", 5) if gaussian else ("laplace", 9)
    law = discrete.pooled(discrete.masses(name, scale), -reach, reach)
    assert_follows(discrete.counted(found.tolist(), -reach, reach), law, detects=0.24)


def test_the_constructor_and_its_partial() -> None:
    space = INT, tk.L01InfDistance(changes=1)
    built = check_constructor(make_noisy_histogram, then_noisy_histogram, space, MAX, scale=2)
    assert built.proof.name == "measurements/noisy_histogram"


def test_from_a_table_to_winners_with_counts() -> None:
    pl = pytest.importorskip("polars")
    table = pl.DataFrame({"who": [1, 1, 2, 3, 3], "what": ["a", "b", "b", "z", "a"]})
    space = tk.FrameDomain("who", "what"), tk.UserDistance()
    for by in ("order", "random"):
        kept = space >> tk.then_keep_items(most=1, by=by, candidates=["a", "b"])
        counts = kept >> tk.then_count_by_item(candidates=["a", "b"], max_items=1)
        best = counts >> tk.then_noisy_histogram(MAX, scale=0.0) >> tk.largest_counts(2, ["a", "b"])
        assert sum(best(table).counts) == 3
        assert (counts >> tk.then_noisy_histogram(MAX, scale=10.0)).map(1) == 0.1
        assert (counts >> tk.then_laplace(MAX, scale=10.0)).map(2) == 0.2


@pytest.mark.parametrize(
    ("option", "value", "error", "required"),
    [
        ("gaussian", 1, tk.ParameterTypeError, "gaussian must be True or False"),
        ("gaussian", True, tk.ParameterTypeError, "must be ZeroConcentratedDivergence() or PrivacyProfile()"),
        ("input_domain", tk.VectorDomain(tk.AtomDomain(float), size=2), tk.SpaceError, "does not measure"),
    ],
)
def test_bad_arguments(option: str, value: Any, error: type[Exception], required: str) -> None:
    arguments: dict[str, Any] = {
        "input_domain": INT,
        "input_metric": tk.L01InfDistance(changes=1),
        "output_measure": MAX,
        "scale": 1.0,
    }
    raises_exactly(error, lambda: make_noisy_histogram(**(arguments | {option: value})), required)
