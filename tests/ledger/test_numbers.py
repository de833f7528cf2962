"""Every public number and text of a ledger, given as what passes any comparison: none lowers what was spent.

Tries proofs/ledger/ledger.tex.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from tests.concepts.liars import BELOW, BEYOND, Float, Integer, Rational, Text

from .conftest import new
from .workers import SPACE, VOTES, costing


class _Curve:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self, epsilon: Any) -> Any:
        return self.value


@dataclass(frozen=True)
class _OwnMeasure(tk.MaxDivergence):
    """A measure that calls itself another one, and its distances what they are not."""

    def distance(self, value: Any, name: str) -> Any:
        return value

    def __eq__(self, other: Any) -> bool:
        return True

    def __ne__(self, other: Any) -> bool:
        return False


DOORS: dict[str, Callable[[tk.Ledger, Any], Any]] = {
    "map": lambda ledger, value: ledger.release(costing(value), [1]),
    "measure": lambda ledger, value: ledger.release(
        tk.make_user_measurement(*SPACE, _OwnMeasure(), function=len, privacy_map=lambda d_in: value), [1]
    ),
    "d_in": lambda ledger, value: ledger.release(costing(0.5), [1], d_in=value),
    "cost": lambda ledger, value: ledger.reserve(cost=value),
    "budget of a conversation": lambda ledger, value: ledger.conversation([1], budget=value),
    "entry to settle": lambda ledger, value: ledger.settle(value, "failed"),
    "entry to resume": lambda ledger, value: ledger.resume(value, [1]),
}


@pytest.mark.parametrize("value", [*BELOW, *BEYOND], ids=repr)
@pytest.mark.parametrize("door", DOORS)
def test_no_number_lowers_what_was_spent(path: Path, door: str, value: Any) -> None:
    """An infinite ``d_in`` is a distance: what it costs is for the map to say."""
    if door == "d_in" and repr(value) == "inf":
        value = Float("-inf")
    ledger = new(path, 4)
    ledger.release(costing(1.0), [1])
    with pytest.raises(tk.TopKError):
        DOORS[door](ledger, value)
    assert (ledger.spent(), ledger.count(), ledger.verify()) == (1.0, 1, [])


@pytest.mark.parametrize("value", [*BELOW, *BEYOND], ids=repr)
@pytest.mark.parametrize("name", ["budget", "d_in", "own_delta"])
def test_no_ledger_is_made_with_such_a_number(path: Path, name: str, value: Any) -> None:
    given = {"budget": (1, "1e-6"), "measure": tk.PrivacyProfile(), "dataset": "votes", "metric": VOTES}
    with pytest.raises(tk.ParameterError):
        tk.Ledger.create(path, **{**given, name: (value, "1e-6") if name == "budget" else value})
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("value", [*BELOW, Float("nan")], ids=repr)
@pytest.mark.parametrize("where", ["cost", "delta", "curve"])
def test_nor_does_a_second_number(path: Path, where: str, value: Any) -> None:
    """Of a pair, and of a curve at the delta that is asked for."""
    ledger = new(path, (1, "1e-6"), tk.PrivacyProfile())
    curve = tk.PrivacyCurve(_Curve(0.5))
    curve.bounds[0].value = value if where == "curve" else 0.0  # type: ignore[attr-defined]
    mine = costing(curve, tk.PrivacyProfile())
    stated: dict[str, Any] = {"cost": (0.1, value)} if where == "cost" else {"measurement": mine}
    with pytest.raises(tk.TopKError):
        ledger.reserve(**stated, delta=value if where == "delta" else None)
    assert (ledger.spent(), ledger.count(), ledger.verify()) == ((0.0, 0.0), 0, [])


@pytest.mark.parametrize("value", [Float(0.5), Rational(1, 2)], ids=repr)
def test_what_such_a_number_is_counts_once(path: Path, value: Any) -> None:
    ledger = new(path, Integer(2))
    ledger.reserve(cost=value)
    ledger.release(costing(value), [1])
    assert (ledger.spent(), ledger.remaining(), ledger.verify()) == (1.0, 1.0, [])
    assert ledger._journal.total_spent() == (Fraction(1),)


def test_a_text_is_held_to_what_it_is(path: Path) -> None:
    ledger = new(path, 4)
    for what in (
        lambda: ledger.reserve(cost=1, label=Text("\x1b[2Jgone")),
        lambda: ledger.reserve(cost=1, label=Text("x" * 2000)),
        lambda: ledger.reserve(cost=Text("-5")),
        lambda: new(path.with_name("other"), 1, dataset=Text("a\nb")),
        lambda: tk.Ledger(path, operator=Text("a\nb")),
    ):
        with pytest.raises(tk.ParameterError):
            what()
    assert ledger.count() == 0
