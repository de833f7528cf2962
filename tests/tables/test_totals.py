"""Every back end sums like the plain-Python reference. Tries proofs/transformations/sum_by_item.tex."""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from opendp_topk.errors import DataError, DataTypeError
from opendp_topk.tables.frames import user_item_value_columns
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
        columns = user_item_value_columns(make(frame(rows, dtype)), "user", "item", "paid")
        for most in (None, 1, 2):
            found = totals_by_item(columns, float(step), 2**31, BOUNDS, most)
            exact = [(u, i, v if kind != "cents" or v is None else Fraction(str(v))) for u, i, v in rows]
            expected = clamped_totals(exact, step, BOUNDS, most)
            assert found == {item: total for item, total in expected.items() if total}
            assert {type(total) for total in found.values()} <= {int}
            assert {type(item) for item in found} <= {str}


def test_totals_are_clamped_after_they_were_added() -> None:
    columns = user_item_value_columns(
        frame([(1, "a", 7), (1, "a", -5), (2, "a", 9), (2, "a", 9), (1, "b", -5)], pl.Int64), "user", "item", "paid"
    )
    assert totals_by_item(columns, 1.0, 2**31, (0, 10)) == {"a": 12}
    assert totals_by_item(columns, 1.0, 2**31, (3, 4)) == {"a": 7, "b": 3}


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63), 2**31, 2**53 + 1])
def test_the_largest_integers_do_not_overflow(number: int) -> None:
    rows = [(user, "a", number) for user in range(3) for _ in range(4)]
    columns = user_item_value_columns(frame(rows, pl.Int64), "user", "item", "paid")
    bounds = -(2**31), 2**31
    assert totals_by_item(columns, 1.0, 2**31, bounds) == {"a": 3 * (2**31 if number > 0 else -(2**31))}


def test_a_column_of_numbers_is_needed() -> None:
    rows = [(1, "a", SENTINEL_TEXT)]
    for call, words in (
        (lambda: user_item_value_columns(frame(rows, pl.String), "user", "item", "paid"), ("'paid'", "cast it")),
        (
            lambda: user_item_value_columns(frame([(1, "a", True)], pl.Boolean), "user", "item", "paid"),
            ("Boolean", "cast it"),
        ),
        (
            lambda: user_item_value_columns(frame([(1, "a", 1)], pl.UInt64), "user", "item", "paid"),
            ("UInt64", "cast it"),
        ),
    ):
        raises_exactly(DataTypeError, call, *words)
    for names, words in (
        (("user", "item", "price"), ("'price'", "as value")),
        (("client", "item", "paid"), ("'client'", "as user")),
    ):
        raises_exactly(DataError, lambda names=names: user_item_value_columns(frame(rows, pl.String), *names), *words)
    raises_exactly(
        DataTypeError, lambda: user_item_value_columns([(SENTINEL_INT, 1, 1)], "user", "item", "paid"), "data frame"
    )
