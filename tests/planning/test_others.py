"""The count of all others after a release: of the same measure, within what was left for it, and of the right users."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import polars as pl
import pytest

import opendp_topk as tk
from opendp_topk.apps.planning.catalogue import default_mechanism
from opendp_topk.apps.planning.plan import Query, plan_query
from opendp_topk.apps.planning.release_record import OtherUsersCount
from opendp_topk.apps.planning.top_k import TopK
from opendp_topk.apps.planning.units import Budget, Columns, UserUnit
from opendp_topk.apps.planning.unknown_domain import TopKUnknownDomain

ROWS = [(user, item) for item, users in (("a", 90), ("b", 60), ("c", 30), ("d", 5)) for user in range(users)]
TABLE = pl.DataFrame([*ROWS, (200, "d"), (201, "d"), (202, "c")], schema=["user", "item"], orient="row")


@pytest.mark.further
@pytest.mark.parametrize("measure", [tk.MaxDivergence(), tk.ZeroConcentratedDivergence()], ids=["pure", "rho"])
@pytest.mark.parametrize("listed", [True, False])
def test_others_are_counted_within_a_tenth(measure: tk.Measure, listed: bool) -> None:
    unit = UserUnit(columns=Columns("user", "item", max_items=None if listed else 4))
    other = OtherUsersCount(Budget(measure, 10**6), unit)
    task: Any = TopK(1, 4, "ranking", default_mechanism("ranking")) if listed else TopKUnknownDomain(1)
    rest = other.release_budget if listed else Budget(tk.Approximate(measure), (other.release_budget.d_out, 1e-6))
    plan = plan_query(Query(task, unit, rest, alpha=Fraction(1, 20)))
    whole = other.append_count(plan.bind_candidates([*"abcd"]) if listed else plan)
    assert whole.measurement.output_measure == rest.measure
    loss = whole.loss if listed else whole.loss[0]
    assert plan.loss != whole.loss
    assert 0.999 * 10**6 <= loss <= 10**6
    found = other.released_with_count(whole.measurement(TABLE))
    assert list(found.items) == ["a"]
    assert found.other == len({user for user, item in TABLE.iter_rows() if item != "a"})
