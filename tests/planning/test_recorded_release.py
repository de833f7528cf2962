"""A release from Python has the record that the command's has: it agrees, line by line, with library and ledger.

Tries proofs/planning/record.tex.
"""

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import opendp_topk as tk
from opendp_topk.apps.planning.plan import plan_guarantees, plan_query
from opendp_topk.apps.planning.release_record import ReleasedItems, ReleaseRecord, record_digest
from opendp_topk.apps.planning.units import Budget
from opendp_topk.apps.planning.verification import AGREES, DISAGREES, verify_record
from opendp_topk.errors import ParameterError, SpaceError
from tests.concepts.sentinels import raises_exactly
from tests.planning.test_plan import TASKS, query

PURE, ZCDP = tk.MaxDivergence(), tk.ZeroConcentratedDivergence()
PAGES = ["/", "/docs", "/blog"]
VISITS = pl.DataFrame(
    {"visitor": [v for v in range(60) for _ in range(2)], "page": [PAGES[v % 3] for v in range(60) for _ in range(2)]}
).with_columns(session=pl.int_range(pl.len()))


def counts(column: str = "visitor", candidates: Any = PAGES, **more: Any) -> tk.Transformation:
    return tk.make_count_by_item(tk.FrameDomain(column, "page"), tk.UserDistance(), candidates=candidates, **more)


def numbers(granularity: Any = 1) -> tk.Transformation:
    options = {"quantile": Fraction(1, 2), "bounds": (0, 60), "granularity": granularity}
    return tk.make_quantile_scores(tk.FrameDomain("visitor", value="session"), tk.UserDistance(), **options)


KINDS: dict[str, Callable[[], tk.Measurement]] = {
    "ranking": lambda: counts() >> tk.then_report_noisy_top_k(PURE, k=2, scale=0.5) >> tk.index_candidates(PAGES),
    "counts": lambda: (
        counts()
        >> tk.then_select_then_count(PURE, k=2, scale=0.7, count_scale=Fraction(0.7))
        >> tk.index_candidates(PAGES)
    ),
    "rho": lambda: counts() >> tk.then_report_noisy_top_k(ZCDP, k=2, scale=9.0) >> tk.index_candidates(PAGES),
    "histogram": lambda: counts(max_items=2) >> tk.then_noisy_histogram(PURE, scale=2.0) >> tk.largest_counts(2, PAGES),
    "quantile": lambda: (
        numbers() >> tk.then_report_noisy_top_k(PURE, k=1, scale=2.0) >> tk.index_candidates(tk.multiples((0, 60)))
    ),
    "quantiles": lambda: (
        tk.make_count_by_number(tk.FrameDomain("visitor", value="session"), tk.UserDistance(), bounds=(0, 60))
        >> tk.then_quantiles(PURE, quantiles=[Fraction(1, 3), Fraction(2, 3)], scale=2.0, places=4)
        >> tk.index_candidates(tk.multiples((0, 60)))
    ),
    "apart": lambda: (
        counts()
        >> tk.then_top_k_by_gap(
            tk.Approximate(PURE), k=2, scale=2.0, test_scale=3.0, threshold=60, noise=tk.noise.Gumbel()
        )
        >> tk.index_candidates(PAGES)
    ),
    "unlisted": lambda: (
        counts(candidates=None, max_items=2)
        >> tk.then_unknown_domain_top_k(tk.Approximate(PURE), k=1, scale=2.0, limit=10, threshold=40)
    ),
    "above": lambda: (
        counts(candidates=None, max_items=2)
        >> tk.then_stable_histogram(tk.Approximate(PURE), epsilon=Fraction(1, 2), delta=Fraction(1, 10**6))
    ),
}


def paid(folder: Path) -> tk.ledger.Ledger:
    given = {"dataset": "visits", "metric": tk.UserDistance(), "user": "visitor", "purpose": "a plan"}
    return tk.ledger.Ledger.create(
        folder / "budget.ledger", budget=("90", "1e-2"), own_delta="9e-3", measure=tk.PrivacyProfile(), **given
    )


@pytest.mark.further
def test_a_record_of_each_kind_agrees_with_library_and_ledger(tmp_path: Path) -> None:
    with paid(tmp_path) as ledger:
        for number, (kind, make) in enumerate(KINDS.items(), start=1):
            released, record = tk.planning.release_with_record(ledger, make(), VISITS, label=kind)
            kept = json.loads(json.dumps(record))
            items = getattr(released, "items", released)
            assert kept["items"] == list(items), kind
            assert ledger.history()[number - 1].record == record_digest(kept)
            wrong = {one.what: one.why for one in verify_record(kept, ledger) if one.verdict != AGREES}
            assert wrong.keys() == {"table"}, (kind, wrong)
            assert kept["stated"] == {"purpose": "a plan", "person": "visitor", "column": "visitor", "label": kind}


def test_a_number_between_integers_is_recorded_as_the_very_same(tmp_path: Path) -> None:
    third = Fraction(1, 3)
    choice = numbers(third) >> tk.then_report_noisy_top_k(PURE, k=1, scale=0.5, release="set")
    with paid(tmp_path) as ledger:
        released, record = tk.planning.release_with_record(
            ledger, choice >> tk.index_candidates(tk.multiples((0, 60), third)), VISITS
        )
        (written,) = record["items"]
        assert float(Fraction(written)) == released[0]
        assert (Fraction(written) / third).denominator == 1
        assert {one.verdict for one in verify_record(record, ledger) if one.what != "table"} == {AGREES}
        (built,) = (one for one in verify_record(record | {"k": None}, ledger) if one.what == "measurement")
        assert (built.verdict, "builds no measurement with these parameters" in built.why) == (DISAGREES, True)
        raises_exactly(SpaceError, lambda: choice >> tk.index_candidates([*range(181)]), "the counted candidates")


def test_a_bound_is_charged_and_recorded(tmp_path: Path) -> None:
    top = counts("session") >> tk.then_report_noisy_top_k(PURE, k=1, scale=5.0) >> tk.index_candidates(PAGES)
    with paid(tmp_path) as ledger:
        raises_exactly(SpaceError, lambda: tk.planning.release_with_record(ledger, top, VISITS), "at_most")
        _, record = tk.planning.release_with_record(ledger, top, VISITS, at_most=2, shared=True)
        assert (record["d_in"], record["d_out"], ledger.history()[0].d_in) == (4, 0.8, "4")
        assert {one.verdict for one in verify_record(record, ledger) if one.what != "table"} == {AGREES}


def test_what_has_no_record_is_refused_before_it_is_paid(tmp_path: Path) -> None:
    scores = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
    ranking = KINDS["ranking"]()
    with paid(tmp_path) as ledger:
        bare = tk.make_report_noisy_top_k(*scores, PURE, k=1, scale=1.0)
        raises_exactly(
            ParameterError, lambda: tk.planning.release_with_record(ledger, bare, [1, 2]), "a table of users"
        )
        halved = ranking >> (lambda items: items[:1])
        least = counts() >> tk.then_minimum_users(minimum_users=9, candidates=PAGES)
        few = least >> tk.then_unknown_domain_top_k(tk.Approximate(PURE), k=1, scale=2.0, limit=3, threshold=40)
        raises_exactly(
            ParameterError, lambda: tk.planning.release_with_record(ledger, few, VISITS), "--minimum-users M"
        )
        raises_exactly(
            ParameterError, lambda: tk.planning.release_with_record(ledger, halved, VISITS), "index_candidates"
        )
        raises_exactly(
            ParameterError, lambda: tk.planning.release_with_record(ledger, ranking, VISITS, alpha=2), "alpha"
        )
        odd = counts() >> tk.then_select_then_count(PURE, k=2, scale=0.7, count_scale=0.3) >> tk.index_candidates(PAGES)
        raises_exactly(ParameterError, lambda: tk.planning.release_with_record(ledger, odd, VISITS), "without a record")
        assert ledger.count() == 0


# A record holds all that is shown of a release, and JSON loses nothing of it.


COUNTED = ReleasedItems(["a", "b"], counts=[7, -2])
DIGEST = "sha256:" + "0" * 64
READ: dict[str, Any] = {"engine": {"name": "polars", "version": "1"}, "where": "year = 2024", "files": DIGEST}


def recorded(name: str, released: ReleasedItems, **more: Any) -> ReleaseRecord:
    plan = plan_query(query(name))
    return ReleaseRecord.from_release(
        released, plan, plan.query.task.accuracy_guarantees(plan), more.get("entry"), **READ
    )


@pytest.mark.further
@pytest.mark.parametrize("name", TASKS)
def test_json_loses_nothing(name: str) -> None:
    entry = {"dataset": "d", "entry": 3, "time": "now", "claim": DIGEST, "head": "3-" + "0" * 64}
    record = recorded(name, COUNTED, entry=entry)
    kept = json.loads(json.dumps(record.as_dict()))
    again = ReleaseRecord.from_dict(kept)
    assert json.loads(json.dumps(again.as_dict())) == kept
    assert again.claim == record.claim
    assert again.promises == record.promises
    assert (again.released, again.engine, again.where) == (record.released, record.engine, record.where)


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
    record = ReleaseRecord.from_release(COUNTED, plan, plan_guarantees(plan), None, **READ)
    epsilon, delta = json.loads(json.dumps(record.as_dict()))["d_out"]
    assert 0 <= Fraction(repr(epsilon)) - Fraction(loss) < Fraction(1, 10**15)
    assert 0 < delta <= 1e-6
    assert (record.claim.measure, record.claim.symbol) == ("PrivacyProfile", "(epsilon, delta)")


def test_what_was_not_released_is_not_written() -> None:
    written = recorded("top k", ReleasedItems(["a"])).as_dict()
    assert {"counts", "gaps", "other", "count_accuracy"} & written.keys() == set()
    assert recorded("top k", ReleasedItems(["a"], other=5)).as_dict()["other"] == 5


def test_a_target_that_no_float_equals_is_a_text_in_the_record() -> None:
    """The epsilon of the claim is rounded up, and delta is the curve's at the exact one, from which it is verified."""
    budget, unit = tk.planning.PrivacyBudget(epsilon="1/3", delta=1e-5), tk.planning.TableUnit(user="visitor")
    asked = tk.planning.TopK(k=1, candidates=PAGES, item="page", unit=unit, budget=budget)
    record = json.loads(json.dumps(asked.plan().release(VISITS).record.as_dict()))
    assert (record["target"], record["d_out"][0] > 1 / 3) == (["1/3", 1e-5], True)
    assert not [one for one in verify_record(record) if one.verdict == DISAGREES]
    changed = verify_record(record | {"target": ["1/4", 1e-5]})
    assert "target" in {one.what for one in changed if one.verdict == DISAGREES}
