"""A record holds all that is shown of a release, and JSON loses nothing of it. Tries proofs/planning/record.tex."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.apps.planning.plan import plan_query
from opendp_topk.apps.planning.release_record import ReleasedItems, ReleaseRecord, TableProvenance
from opendp_topk.apps.planning.units import Budget

from .test_plan import TASKS, query

COUNTED = ReleasedItems(["a", "b"], counts=[7, -2])
READ = TableProvenance({"name": "polars", "version": "1"}, where="year = 2024", files="sha256:0")


def recorded(name: str, released: ReleasedItems, **more: Any) -> ReleaseRecord:
    plan = plan_query(query(name))
    return ReleaseRecord.from_release(
        released, plan, plan.query.task.accuracy_guarantees(plan), more.get("entry"), READ
    )


@pytest.mark.further
@pytest.mark.parametrize("name", TASKS)
def test_json_loses_nothing(name: str) -> None:
    record = recorded(name, COUNTED, entry={"dataset": "d", "entry": 3, "time": "now", "claim": "c"})
    kept = json.loads(json.dumps(record.as_dict()))
    again = ReleaseRecord.from_dict(kept)
    assert json.loads(json.dumps(again.as_dict())) == kept
    assert again.claim == record.claim
    assert again.promises == record.promises
    assert (again.released, again.read) == (record.released, record.read)


@pytest.mark.further
@pytest.mark.parametrize("name", TASKS)
def test_its_claim_is_that_of_the_plan(name: str) -> None:
    claim, plan = recorded(name, COUNTED).claim, plan_query(query(name))
    assert claim.d_out == plan.loss
    assert claim.protected_users == "2 users replaced"
    assert claim.main_symbol == "epsilon"


@pytest.mark.further
@pytest.mark.parametrize("loss", [Fraction(1, 3), Fraction(1, 10) + Fraction(1, 10**18), 0.1, Fraction(3, 10)], ids=str)
def test_an_epsilon_that_was_asked_for_is_never_written_too_small(loss: Any) -> None:
    """The decimal 0.1 is less than the float64, and than what lies between the two."""
    asked = query("top k")
    plan = plan_query(type(asked)(asked.task, asked.unit, Budget(tk.PrivacyProfile(), (loss, Fraction(1, 10**6)))))
    record = ReleaseRecord.from_release(COUNTED, plan, {}, None, READ)
    epsilon, delta = json.loads(json.dumps(record.as_dict()))["d_out"]
    assert 0 <= Fraction(repr(epsilon)) - Fraction(loss) < Fraction(1, 10**15)
    assert 0 < delta <= 1e-6
    assert (record.claim.measure, record.claim.symbol) == ("PrivacyProfile", "(epsilon, delta)")


def test_what_was_not_released_is_not_written() -> None:
    written = recorded("top k", ReleasedItems(["a"])).as_dict()
    assert {"counts", "gaps", "other", "count_accuracy"} & written.keys() == set()
    assert recorded("top k", ReleasedItems(["a"], other=5)).as_dict()["other"] == 5
