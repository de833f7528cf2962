"""What a ledger is created with: the unit, exact amounts, and arguments that make none.

Tries proofs/ledger/ledger.tex.
"""

import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.apps.ledger import amounts
from opendp_topk.errors import LedgerError, ParameterError, ParameterTypeError, SpaceError
from tests.concepts.sentinels import raises_exactly

from .conftest import draws_nothing, new
from .workers import PURE, VOTES, costing

GOOD = {"budget": 1, "measure": PURE, "dataset": "votes", "metric": VOTES}
APPROXIMATE = tk.Approximate(PURE)


def test_creating_is_not_opening(connect: str) -> None:
    """One that vanished is not made anew with its whole budget, and one that is there is not taken for a new one."""
    raises_exactly(LedgerError, lambda: tk.ledger.Ledger(connect), "create one with Ledger.create")
    raises_exactly(TypeError, lambda: tk.ledger.Ledger(connect, budget=1), "budget")  # type: ignore[call-arg]
    with tk.ledger.Ledger.create(connect, **GOOD) as made:
        made.release(costing(0.75), [1])
    raises_exactly(LedgerError, lambda: tk.ledger.Ledger.create(connect, **GOOD), "open the ledger that has it")
    with tk.ledger.Ledger(connect) as again:
        assert again.spent() == 0.75


def test_a_ledger_that_vanished_under_its_user_is_not_there_any_more(path: Path) -> None:
    ledger = new(path, 1)
    path.unlink()
    draws_nothing(ledger, "no longer exists: restore it")
    assert not path.exists()


@pytest.mark.parametrize("missing", list(GOOD))
def test_all_of_the_unit_is_needed(path: Path, missing: str) -> None:
    given = {name: value for name, value in GOOD.items() if name != missing}
    raises_exactly(TypeError, lambda: tk.ledger.Ledger.create(path, **given), missing)  # type: ignore[arg-type]
    assert list(path.parent.iterdir()) == []


PROFILE, PAIR = tk.PrivacyProfile(), (1, 1e-6)
WRONG_VALUES: dict[str, list[Any]] = {
    "budget": [-1, math.nan, math.inf, Decimal("nan"), "1e5000", "1_0", "1/0", "-1", 10**5000, Fraction(1, 10**5000)],
    "measure": [tk.RangeDivergence(), APPROXIMATE, PROFILE],
    "own_delta": [1e-6],
    "dataset": ["", "a\nb", 7],
    "d_in": [0, -1, math.inf, 10**5000],
    "operator": ["a\nb"],
}
WRONG_TYPES: dict[str, list[Any]] = {"budget": [True, [1]], "measure": ["pure"], "metric": ["users"]}
STEPS_OF_NO_RHO = costing(0.0), costing(math.inf), costing(tk.PrivacyCurve(lambda epsilon: 0.5), PROFILE)
BAD: list[tuple[dict[str, Any], type[Exception]]] = [
    *(({name: value}, ParameterError) for name, values in WRONG_VALUES.items() for value in values),
    *(({name: value}, ParameterTypeError) for name, values in WRONG_TYPES.items() for value in values),
    ({"budget": PAIR, "measure": tk.Approximate(tk.RangeDivergence())}, ParameterError),
    ({"budget": (1, 2), "measure": APPROXIMATE}, ParameterError),
    ({"budget": (0, 1e-6), "measure": PROFILE}, ParameterError),
    ({"budget": PAIR, "measure": PROFILE, "own_delta": 2e-6}, ParameterError),
    ({"d_in": "1.5", "metric": tk.UserDistance()}, ParameterError),
    *(({"budget": one, "measure": APPROXIMATE}, ParameterError) for one in (1, "10", (1,), (1, 0, 0))),
    *(({"budget": PAIR, "measure": PROFILE, "step": one}, ParameterError) for one in STEPS_OF_NO_RHO),
]


@pytest.mark.parametrize(("arguments", "kind"), BAD)
def test_bad_arguments_make_no_file(path: Path, arguments: dict[str, Any], kind: type[Exception]) -> None:
    raises_exactly(kind, lambda: tk.ledger.Ledger.create(path, **{**GOOD, **arguments}))
    if "operator" not in arguments:
        assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("bad", ["", 7, None, b"file", "a\0b", "\ud800"])
def test_a_path_must_name_a_file(bad: Any) -> None:
    raises_exactly(ParameterError, lambda: tk.ledger.Ledger.create(bad, **GOOD), "address must be")  # type: ignore[arg-type]


def test_distance_zero_is_no_free_release(path: Path) -> None:
    """Whoever may choose d_in = 0 may release the exact top-1 for nothing."""
    ledger, drawn = new(path, 1), []
    for d_in in (0, 0.5, Fraction(99, 100)):
        exact = costing(0.0, function=drawn.append)
        raises_exactly(
            ParameterError, lambda d_in=d_in, exact=exact: ledger.release(exact, [1], d_in=d_in), "at least 1"
        )
    assert drawn == []
    assert ledger.history() == []


def test_a_larger_distance_is_charged_as_such(path: Path) -> None:
    ledger = new(path, 1, d_in=2)
    top = (tk.VectorDomain(tk.AtomDomain(int)), VOTES) >> tk.then_report_noisy_top_k(PURE, k=1, scale=8.0)
    ledger.release(top, [1, 2])
    assert ledger.spent() == top.map(2) == 0.25
    ledger.release(top, [1, 2], d_in=3)
    assert ledger.spent() == 0.25 + top.map(3)
    raises_exactly(ParameterError, lambda: ledger.release(top, [1, 2], d_in=1), "at least 2")


@pytest.mark.parametrize(
    "metric", [tk.UserDistance(), tk.UserDistance("replace"), tk.RangeDistance(), tk.LInfDistance()]
)
def test_a_release_in_another_unit_is_refused(path: Path, metric: tk.Metric) -> None:
    ledger = new(path, 1, metric=metric)
    raises_exactly(SpaceError, lambda: ledger.release(costing(0.1), [1]), "must have the metric of the ledger")
    assert ledger.history() == []


def test_a_chain_from_a_table_translates_the_unit(path: Path) -> None:
    pl = pytest.importorskip("polars")
    users = tk.UserDistance()
    ledger = new(path, 1, metric=users)
    count = (tk.FrameDomain("u", "i"), users) >> tk.then_count_by_item(candidates=["a", "b"])
    ledger.release(count >> tk.then_report_noisy_top_k(PURE, k=1, scale=4.0), pl.DataFrame({"u": [1], "i": ["a"]}))
    assert ledger.spent() == 0.25


@pytest.mark.parametrize(
    ("value", "meant"),
    [(0.1, Fraction(1, 10)), ("0.1", Fraction(1, 10)), (Decimal("1e-3"), Fraction(1, 1000)), (3, Fraction(3)),
     (Fraction(1, 3), Fraction(1, 3)), ("1/3", Fraction(1, 3)), (" 2 ", Fraction(2)), (1e-300, Fraction(1, 10**300))],
)  # fmt: skip
def test_what_a_person_wrote_is_meant(value: Any, meant: Fraction) -> None:
    assert amounts.parse_exact(value, "x") == meant


def test_amounts_are_written_as_they_are_read() -> None:
    assert amounts.format_amount((Fraction(1, 10), Fraction(1, 3), Fraction(10**6))) == "0.1, 1/3, 1000000"
    for texts in ([], ["-1"], ["x"], ["2/4"], "1", [1], ["1 "]):
        with pytest.raises((ValueError, TypeError)):
            amounts.deserialize_amount(texts)
