"""Counts of small tables against counts by hand."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from tests.mutation.library import tk
from tests.mutation.oracles import expect

_ROWS: tuple[tuple[Any, Any], ...] = (
    (1, "b"),
    (1, "b"),
    (1, "a"),
    (2, "b"),
    (2, None),
    (None, "a"),
    (3, "z"),
    (3, "b"),
    (3, "b"),
    (None, None),
)


def check() -> None:
    """Users count once, nulls for nobody, and the candidates are those that the caller gave, in their order."""
    expect(_counts(["a", "b", "c"]) == [1, 3, 0], "counts of distinct users are wrong")
    expect(_counts(["c", "b", "a"]) == [0, 3, 1], "counts do not come in the order of the candidates")
    expect(_counts(["c", "d"]) == [0, 0], "a candidate that nobody has must count 0")
    made = tk.make_count_by_item(*_space(), candidates=["a", "b", "c"])
    expect(made.output_domain.size == 3, "the output domain must have one score for each candidate")


def _space() -> tuple[Any, Any]:
    return tk.FrameDomain("user", "item"), tk.UserDistance()


def _counts(candidates: list[Hashable]) -> list[int]:
    import polars as pl

    users, items = zip(*_ROWS, strict=True)
    table = pl.DataFrame({"user": users, "item": items}, schema={"user": pl.Int64, "item": pl.String})
    counts: list[int] = tk.make_count_by_item(*_space(), candidates=candidates)(table).tolist()
    return counts
