"""Tables with more users or rows than a proof allows are refused, and those with one fewer are not."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.tables import keyed as totals
from tests.concepts.sentinels import raises_exactly

pl = pytest.importorskip("polars")
nw = pytest.importorskip("narwhals")

TABLE = pl.DataFrame({"user": [1, 2], "item": [3, 3]})
SPACE = tk.FrameDomain("user", "item"), tk.UserDistance()


def counted(monkeypatch: pytest.MonkeyPatch, module: str, **columns: Any) -> None:
    """What a back end counts in a module is these columns."""
    frame = nw.from_native(pl.DataFrame(columns))
    monkeypatch.setattr(f"opendp_topk.tables.{module}._collect_streaming", lambda rows: frame)


@pytest.mark.parametrize("rows", [2**32 - 1, 2**32])
def test_rows_whose_ranks_are_scored(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    counted(monkeypatch, "capping", user=[1, 2], value=[1, 0], rows=[rows - 1, 1])
    space = tk.NumberFrameDomain("user", "item"), tk.UserDistance()
    most = 2**20
    scores = space >> tk.then_quantile_scores(quantile=Fraction(1, 2), bounds=(0, 1), max_rows=most)
    if rows < 2**32:
        assert scores(TABLE).tolist() == [-(most - 1), 0]
    else:
        raises_exactly(tk.DataError, lambda: scores(TABLE), "2^32 rows or more", "split it")


@pytest.mark.parametrize("users", [2**32 - 1, 2**32])
def test_users_whose_caps_are_scored(users: int, monkeypatch: pytest.MonkeyPatch) -> None:
    class Counted:
        def __len__(self) -> int:
            return users

        def __getitem__(self, name: str) -> Any:
            return nw.from_native(pl.DataFrame({name: [1, 5]}))[name]

    monkeypatch.setattr("opendp_topk.tables.grouping._collect_streaming", lambda rows: Counted())
    scores = SPACE >> tk.then_cap_scores(caps=[2], share=Fraction(1, 2))
    if users < 2**32:
        assert scores(TABLE).tolist() == [0]
    else:
        raises_exactly(tk.DataError, lambda: scores(TABLE), "2^32 users or more", "split it")


@pytest.mark.parametrize("users", [2**30 - 1, 2**30])
def test_users_of_an_item_whose_weights_are_added(users: int, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = nw.from_native(pl.DataFrame({"item": [3], "count": [users * 2**28], "users": [users]}))
    monkeypatch.setattr("opendp_topk.tables.grouping.Baskets._sum_weights", lambda self: frame)
    measure = tk.Approximate(tk.ZeroConcentratedDivergence())
    keys = SPACE >> tk.then_weighted_partition_selection(measure, max_items=1, scale=9.0, delta=1e-9)
    if users < 2**30:
        assert keys(TABLE) == (3,)
    else:
        raises_exactly(tk.DataError, lambda: keys(TABLE), "2^30 users of one item or more", "split it")


@pytest.mark.parametrize("rows", [2**32 - 1, 2**32])
def test_rows_whose_numbers_are_added(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opendp_topk.tables.keyed._count_rows", lambda held: rows)
    space = tk.ValuedFrameDomain("user", "item", "value"), tk.UserDistance()
    sums = space >> tk.then_sum_by_item(candidates=[3], bounds=(0, 5))
    table = TABLE.with_columns(value=pl.Series([2, 9]))
    if rows < 2**32:
        assert sums(table).tolist() == [7]
    else:
        raises_exactly(tk.DataError, lambda: sums(table), "2^32 rows or more", "split it")


@pytest.mark.parametrize("rows", [2**32 - 1, 2**32])
def test_rows_of_other_items(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    counted(monkeypatch, "grouping", user=[1, 2], item=[3, 3], rows=[rows - 1, 1])
    others = SPACE >> tk.then_count_outside(items=[4], max_rows=2**31)
    if rows < 2**32:
        assert others(TABLE).tolist() == [2**31 + 1]
    else:
        raises_exactly(tk.DataError, lambda: others(TABLE), "2^32 rows or more", "split it")


def test_rows_are_counted_as_they_stand() -> None:
    """Those of nobody too, whatever frame holds them."""
    assert totals._count_rows(nw.from_native(pl.DataFrame({"user": [1, None, 1]}).lazy())) == 3
