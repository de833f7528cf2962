"""Every back end sums like the plain-Python reference. Tries proofs/transformations/sum_by_item.tex."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.errors import DataError, DataTypeError
from opendp_topk.tables import keyed as totals
from opendp_topk.tables.frames import identifier_columns
from opendp_topk.tables.keyed import totals_by_item
from tests.concepts.sentinels import SENTINEL_INT, SENTINEL_TEXT, raises_exactly
from tests.oracles.totals import clamped_totals
from tests.tables.test_frames import needs

pytest.importorskip("narwhals", reason="tables need narwhals")
pl = pytest.importorskip("polars", reason="the tests of tables make them with polars")

NAN, INF = float("nan"), float("inf")
KINDS: dict[str, tuple[Any, list[Any], Fraction]] = {
    "integers": (pl.Int64, [None, 1, 2, -3, 5, 40, 2**40, -(2**40), 2**62], Fraction(1)),
    "coarse": (pl.Int32, [None, 1, 2, 3, -7, 100], Fraction(3)),
    "large": (pl.Int64, [None, 0, 3, 2**53 + 1, 2**63 - 1, -(2**63)], Fraction(2**22)),
    "bytes": (pl.UInt8, [None, 0, 3, 255], Fraction(2)),
    "floats": (pl.Float64, [None, 0.5, -0.5, 0.125, 2.25, NAN, INF, -INF, 1e300, -7.3, 5e-324], Fraction(1, 4)),
    "cents": (pl.Float64, [None, 0.29, 0.57, -12.29, 1.1, 0.07], Fraction(1, 100)),
    "narrow": (pl.Float32, [None, 0.5, NAN, 1.25, -0.75], Fraction(1, 8)),
    "decimals": (
        pl.Decimal(18, 2),
        [None, *(Decimal(n).scaleb(-2) for n in (29, 57, -1229, 1001, 7))],
        Fraction(1, 100),
    ),
}
BOUNDS = (-9, 40)


def polars_frame(table: Any) -> Any:
    return table


def polars_lazy(table: Any) -> Any:
    return table.lazy()


def polars_categorical(table: Any) -> Any:
    return table.with_columns(pl.col("item").cast(pl.Categorical))


def pandas_frame(table: Any) -> Any:
    needs("pandas")
    return table.to_pandas().astype({"user": "Int64"})


def pandas_arrow(table: Any) -> Any:
    return table.to_arrow().to_pandas(types_mapper=needs("pandas").ArrowDtype)


def pyarrow_table(table: Any) -> Any:
    needs("pyarrow")
    return table.to_arrow()


def duckdb_relation(table: Any) -> Any:
    duckdb = needs("duckdb")
    duckdb.register("sales", table.to_arrow())
    return duckdb.table("sales")


BACK_ENDS = (
    polars_frame,
    polars_lazy,
    polars_categorical,
    pandas_frame,
    pandas_arrow,
    pyarrow_table,
    duckdb_relation,
)


def random_rows(kind: str, size: int, seed: int) -> list[tuple[Any, Any, Any]]:
    rng = random.Random(seed)
    ids = [None, 1, 2, 3, 4], [None, "a", "b", "Z", "é"]
    return [(rng.choice(ids[0]), rng.choice(ids[1]), rng.choice(KINDS[kind][1])) for _ in range(size)]


def frame(rows: list[tuple[Any, Any, Any]], kind: Any, item: Any = pl.String) -> Any:
    return pl.DataFrame(rows, schema={"user": pl.Int64, "item": item, "paid": kind}, orient="row")


@pytest.mark.quick(make=("polars_frame", "pyarrow_table"), kind=("integers", "cents"))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", BACK_ENDS, ids=lambda make: make.__name__)
def test_every_back_end_agrees_with_the_reference(make: Callable[[Any], Any], kind: str) -> None:
    dtype, _, step = KINDS[kind]
    if make is pandas_frame and kind == "decimals":
        pytest.skip("pandas holds decimals as objects, which are refused")
    for seed, size in enumerate((0, 1, 12, 50)):
        rows = random_rows(kind, size, seed)
        columns = identifier_columns(make(frame(rows, dtype)), {"user": "user", "item": "item"}, "paid")
        for most in (None, 1, 2):
            found = totals_by_item(columns, float(step), 2**31, BOUNDS, most)
            exact = [(u, i, v if kind != "cents" or v is None else Fraction(str(v))) for u, i, v in rows]
            expected = clamped_totals(exact, step, BOUNDS, most)
            assert found == {item: total for item, total in expected.items() if total}
            assert {type(total) for total in found.values()} <= {int}
            assert {type(item) for item in found} <= {str}


def test_totals_are_clamped_after_they_were_added() -> None:
    columns = identifier_columns(
        frame([(1, "a", 7), (1, "a", -5), (2, "a", 9), (2, "a", 9), (1, "b", -5)], pl.Int64),
        {"user": "user", "item": "item"},
        "paid",
    )
    assert totals_by_item(columns, 1.0, 2**31, (0, 10)) == {"a": 12}
    assert totals_by_item(columns, 1.0, 2**31, (3, 4)) == {"a": 7, "b": 3}


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63), 2**31, 2**53 + 1])
def test_the_largest_integers_do_not_overflow(number: int) -> None:
    rows = [(user, "a", number) for user in range(3) for _ in range(4)]
    columns = identifier_columns(frame(rows, pl.Int64), {"user": "user", "item": "item"}, "paid")
    bounds = -(2**31), 2**31
    assert totals_by_item(columns, 1.0, 2**31, bounds) == {"a": 3 * (2**31 if number > 0 else -(2**31))}


def test_a_column_of_numbers_is_needed() -> None:
    rows = [(1, "a", SENTINEL_TEXT)]
    for call, words in (
        (
            lambda: identifier_columns(frame(rows, pl.String), {"user": "user", "item": "item"}, "paid"),
            ("'paid'", "cast it"),
        ),
        (
            lambda: identifier_columns(frame([(1, "a", True)], pl.Boolean), {"user": "user", "item": "item"}, "paid"),
            ("Boolean", "cast it"),
        ),
        (
            lambda: identifier_columns(frame([(1, "a", 1)], pl.UInt64), {"user": "user", "item": "item"}, "paid"),
            ("UInt64", "cast it"),
        ),
    ):
        raises_exactly(DataTypeError, call, *words)
    for user, value, words in (("user", "price", ("'price'", "as value")), ("client", "paid", ("'client'", "as user"))):
        columns = {"user": user, "item": "item"}
        call = functools.partial(identifier_columns, frame(rows, pl.String), columns, value)
        raises_exactly(DataError, call, *words)
    raises_exactly(
        DataTypeError,
        lambda: identifier_columns([(SENTINEL_INT, 1, 1)], {"user": "user", "item": "item"}, "paid"),
        "data frame",
    )


# Tables with more users or rows than a proof allows are refused, and those with one fewer are not.


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
    space = tk.FrameDomain("user", value="item"), tk.UserDistance()
    most = 2**20
    scores = space >> tk.then_quantile_scores(quantile=Fraction(1, 2), bounds=(0, 1), max_rows=most)
    if rows < 2**32:
        assert scores(TABLE).tolist() == [-(most - 1), 0]
    else:
        raises_exactly(tk.errors.DataError, lambda: scores(TABLE), "2^32 rows or more", "split it")


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
        raises_exactly(tk.errors.DataError, lambda: scores(TABLE), "2^32 users or more", "split it")


@pytest.mark.parametrize("users", [2**30 - 1, 2**30])
def test_users_of_an_item_whose_weights_are_added(users: int, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = nw.from_native(pl.DataFrame({"item": [3], "count": [users * 2**28], "users": [users]}))
    monkeypatch.setattr("opendp_topk.tables.grouping.Baskets._sum_weights", lambda self: frame)
    measure = tk.Approximate(tk.ZeroConcentratedDivergence())
    keys = SPACE >> tk.then_weighted_partition_selection(measure, max_items=1, scale=9.0, delta=1e-9)
    if users < 2**30:
        assert keys(TABLE) == (3,)
    else:
        raises_exactly(tk.errors.DataError, lambda: keys(TABLE), "2^30 users of one item or more", "split it")


@pytest.mark.parametrize("rows", [2**32 - 1, 2**32])
def test_rows_whose_numbers_are_added(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opendp_topk.tables.keyed._count_rows", lambda held: rows)
    space = tk.FrameDomain("user", "item", value="value"), tk.UserDistance()
    sums = space >> tk.then_sum_by_item(candidates=[3], bounds=(0, 5))
    table = TABLE.with_columns(value=pl.Series([2, 9]))
    if rows < 2**32:
        assert sums(table).tolist() == [7]
    else:
        raises_exactly(tk.errors.DataError, lambda: sums(table), "2^32 rows or more", "split it")


@pytest.mark.parametrize("rows", [2**32 - 1, 2**32])
def test_rows_of_other_items(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    counted(monkeypatch, "grouping", user=[1, 2], item=[3, 3], rows=[rows - 1, 1])
    others = SPACE >> tk.then_count_outside(items=[4], max_rows=2**31)
    if rows < 2**32:
        assert others(TABLE).tolist() == [2**31 + 1]
    else:
        raises_exactly(tk.errors.DataError, lambda: others(TABLE), "2^32 rows or more", "split it")


def test_rows_are_counted_as_they_stand() -> None:
    """Those of nobody too, whatever frame holds them."""
    assert totals._count_rows(nw.from_native(pl.DataFrame({"user": [1, None, 1]}).lazy())) == 3
