"""The count of all others after a release: of the same measure, within what was left for it, and of the right users."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import polars as pl
import pytest

import opendp_topk as tk
from opendp_topk.apps.planning.catalogue import default
from opendp_topk.apps.planning.plan import Query, planned
from opendp_topk.apps.planning.release_record import Other
from opendp_topk.apps.planning.top_k import TopK
from opendp_topk.apps.planning.units import Budget, Columns, Users
from opendp_topk.apps.planning.unknown_domain import TopKUnknownDomain

ROWS = [(user, item) for item, users in (("a", 90), ("b", 60), ("c", 30), ("d", 5)) for user in range(users)]
TABLE = pl.DataFrame([*ROWS, (200, "d"), (201, "d"), (202, "c")], schema=["user", "item"], orient="row")


@pytest.mark.further
@pytest.mark.parametrize("measure", [tk.MaxDivergence(), tk.ZeroConcentratedDivergence()], ids=["pure", "rho"])
@pytest.mark.parametrize("listed", [True, False])
def test_others_are_counted_within_a_tenth(measure: tk.Measure, listed: bool) -> None:
    unit = Users(columns=Columns("user", "item", max_items=None if listed else 4))
    other = Other(Budget(measure, 10**6), unit)
    task: Any = TopK(1, 4, "ranking", default("ranking")) if listed else TopKUnknownDomain(1)
    rest = other.rest if listed else Budget(tk.Approximate(measure), (other.rest.d_out, 1e-6))
    plan = planned(Query(task, unit, rest, alpha=Fraction(1, 20)))
    whole = other.after(plan.on([*"abcd"]) if listed else plan)
    assert whole.measurement.output_measure == rest.measure
    loss = whole.loss if listed else whole.loss[0]
    assert plan.loss != whole.loss
    assert 0.999 * 10**6 <= loss <= 10**6
    found = other.released(whole.measurement(TABLE))
    assert list(found.items) == ["a"]
    assert found.other == len({user for user, item in TABLE.iter_rows() if item != "a"})
