"""Counts that an engine holds: a mapping that is fetched once, and only as far as it is asked for.

Tries proofs/spaces/keyed_counts.tex.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.errors import DataTypeError
from opendp_topk.spaces.keyed_counts import keep_largest_counts
from opendp_topk.tables.held import ColumnCounts, EngineCounts
from opendp_topk.tables.spark import require_determinate
from tests.concepts.sentinels import raises_exactly

nw = pytest.importorskip("narwhals", reason="tables need narwhals")
pl = pytest.importorskip("polars", reason="the tests of tables make them with polars")

COUNTS = {"b": 90, "a": 91, "c": 500, "A": 3, "d": 1}
RANKED = ["c", "a", "b", "A", "d"]


class Engine:
    """Hands over what it is asked for, and remembers what that was."""

    def __init__(self) -> None:
        self.asked: list[int | None] = []

    def best(self, n: int | None) -> dict[Any, int]:
        self.asked.append(n)
        return dict(COUNTS) if n is None else {key: COUNTS[key] for key in RANKED[:n]}


def test_held_counts_are_the_mapping_fetched_once() -> None:
    engine = Engine()
    held = EngineCounts(engine.best)
    assert tk.KeyedCountsDomain().validate(held) is held
    assert engine.asked == []
    assert (dict(held), len(held), held["c"], "z" in held) == (COUNTS, 5, 500, False)
    assert engine.asked == [None]


def test_the_largest_are_asked_for_alone() -> None:
    engine = Engine()
    assert list(keep_largest_counts(EngineCounts(engine.best), 2)) == ["c", "a"]
    assert engine.asked == [2]
    assert keep_largest_counts(COUNTS, 2) == {"a": 91, "c": 500}
    assert keep_largest_counts(COUNTS, 5) is COUNTS


def in_columns() -> ColumnCounts:
    return ColumnCounts(nw.from_native(pl.Series(list(COUNTS)), series_only=True), np.array(list(COUNTS.values())))


def test_counts_in_columns_are_the_mapping() -> None:
    held = in_columns()
    assert tk.KeyedCountsDomain().validate(held) is held
    assert held == COUNTS
    assert (len(held), held["c"], "z" in held) == (5, 500, False)
    assert repr(held) == f"ColumnCounts({COUNTS})"
    assert keep_largest_counts(held, 3) == {"b": 90, "a": 91, "c": 500}
    assert keep_largest_counts(ColumnCounts(held._keys, np.array([1, 2, 2, 2, 3])), 2) == {
        "a": 2,
        "c": 2,
        "A": 2,
        "d": 3,
    }


def test_only_what_is_released_leaves_the_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ColumnCounts, "fetch_counts", lambda self: pytest.fail("all keys were fetched"))
    asked: list[int] = []
    keys_at = ColumnCounts.keys_at

    def watched(self: ColumnCounts, places: Any) -> list[Any]:
        asked.append(len(places))
        return keys_at(self, places)

    monkeypatch.setattr(ColumnCounts, "keys_at", watched)
    space, measure = (tk.KeyedCountsDomain(), tk.KeyedCountDistance(max_items=2)), tk.Approximate(tk.MaxDivergence())
    options: dict[str, Any] = {"k": 2, "scale": 1e-6, "limit": 3, "delta": 1e-6}
    for release, expected in (
        (tk.then_stable_histogram(measure, scale=1e-6, threshold=90), (("c", "a", "b"), (500, 91, 90))),
        (tk.then_unknown_domain_top_k(measure, **options), (("c", "a"), False)),
        (tk.then_unknown_domain_counts(measure, **options, count_scale=0), (("c", "a"), (500, 91), False)),
        (tk.then_partition_selection(measure, epsilon=1.0, delta=1e-9), ("a", "b", "c")),
    ):
        assert (space >> release)(in_columns()) == expected
    assert asked == [3, 4, 4, 3]


def test_a_frame_that_shows_no_plan_is_refused() -> None:
    frame: Any = object()
    raises_exactly(DataTypeError, lambda: require_determinate(frame), "Spark Connect", "write the table to files")


def test_a_release_asks_for_one_key_more_than_take_part() -> None:
    space = tk.KeyedCountsDomain(), tk.KeyedCountDistance()
    release = space >> tk.then_unknown_domain_top_k(
        tk.Approximate(tk.MaxDivergence()), k=2, scale=1e-6, limit=3, delta=1e-6
    )
    engine = Engine()
    assert release(EngineCounts(engine.best)) == release(COUNTS) == (("c", "a"), False)
    assert engine.asked == [4]
