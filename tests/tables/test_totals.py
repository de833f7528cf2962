"""Every back end sums like the plain-Python reference. Tries proofs/transformations/sum_by_item.tex."""

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
from opendp_topk.tables.keyed import totals_by_item
from tests.concepts.sentinels import SENTINEL_INT, SENTINEL_TEXT, raises_exactly
from tests.oracles.totals import clamped_totals
from tests.tables.test_frames import needs
from tests.tables.types import pairs_of

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


def pandas_frame(table: Any) -> Any:
    needs("pandas")
    return table.to_pandas().astype({"user": "Int64"})


def duckdb_relation(table: Any) -> Any:
    duckdb = needs("duckdb")
    duckdb.register("sales", table.to_arrow())
    return duckdb.table("sales")


def _named(name: str, make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    make.__name__ = name
    return make


BACK_ENDS = (
    _named("polars_frame", lambda table: table),
    _named("polars_lazy", lambda table: table.lazy()),
    _named("polars_categorical", lambda table: table.with_columns(pl.col("item").cast(pl.Categorical))),
    pandas_frame,
    _named("pandas_arrow", lambda table: table.to_arrow().to_pandas(types_mapper=needs("pandas").ArrowDtype)),
    _named("pyarrow_table", lambda table: needs("pyarrow") and table.to_arrow()),
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
        columns = pairs_of(make(frame(rows, dtype)), "user", "item", "paid")
        for most in (None, 1, 2):
            found = totals_by_item(columns, float(step), 2**31, BOUNDS, most)
            exact = [(u, i, v if kind != "cents" or v is None else Fraction(str(v))) for u, i, v in rows]
            expected = clamped_totals(exact, step, BOUNDS, most)
            assert found == {item: total for item, total in expected.items() if total}
            assert {type(total) for total in found.values()} <= {int}
            assert {type(item) for item in found} <= {str}


def test_totals_are_clamped_after_they_were_added() -> None:
    columns = pairs_of(
        frame([(1, "a", 7), (1, "a", -5), (2, "a", 9), (2, "a", 9), (1, "b", -5)], pl.Int64), "user", "item", "paid"
    )
    assert totals_by_item(columns, 1.0, 2**31, (0, 10)) == {"a": 12}
    assert totals_by_item(columns, 1.0, 2**31, (3, 4)) == {"a": 7, "b": 3}


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63), 2**31, 2**53 + 1])
def test_the_largest_integers_do_not_overflow(number: int) -> None:
    rows = [(user, "a", number) for user in range(3) for _ in range(4)]
    columns = pairs_of(frame(rows, pl.Int64), "user", "item", "paid")
    bounds = -(2**31), 2**31
    assert totals_by_item(columns, 1.0, 2**31, bounds) == {"a": 3 * (2**31 if number > 0 else -(2**31))}


def test_a_column_of_numbers_is_needed() -> None:
    rows = [(1, "a", SENTINEL_TEXT)]
    texts, booleans, wide = frame(rows, pl.String), frame([(1, "a", True)], pl.Boolean), frame([(1, "a", 1)], pl.UInt64)
    for error, table, user, value, *words in (
        (DataTypeError, texts, "user", "paid", "'paid'", "cast it"),
        (DataTypeError, booleans, "user", "paid", "Boolean", "cast it"),
        (DataTypeError, wide, "user", "paid", "UInt64", "cast it"),
        (DataTypeError, [(SENTINEL_INT, 1, 1)], "user", "paid", "data frame"),
        (DataError, texts, "user", "price", "'price'", "as value"),
        (DataError, texts, "client", "paid", "'client'", "as user"),
    ):
        raises_exactly(error, functools.partial(pairs_of, table, user, "item", value), *words)


# Tables with more users or rows than a proof allows are refused, and those with one fewer are not.


nw = pytest.importorskip("narwhals")

TABLE = pl.DataFrame({"user": [1, 2], "item": [3, 3], "value": [2, 9]})
SPACE = tk.FrameDomain("user", "item"), tk.UserDistance()
NUMBERS = tk.FrameDomain("user", value="item"), tk.UserDistance()
VALUED = tk.FrameDomain("user", "item", value="value"), tk.UserDistance()
HALF, STRICT = Fraction(1, 2), tk.Approximate(tk.ZeroConcentratedDivergence())


class Counted(int):
    """A frame of so many users, of whom nobody looks at more than two."""

    def __len__(self) -> int:
        return int(self)

    def __getitem__(self, name: str) -> Any:
        return columns(**{name: [1, 5]})[name]


def columns(**given: Any) -> Any:
    return nw.from_native(pl.DataFrame(given))


# By what is limited the limit, what counts it, what that finds, what is released then, and what comes out below it.
LIMITS: dict[str, tuple[int, str, Callable[[int], Any], Any, list[int]]] = {
    "rows": (
        *(2**32, "capping._collect_streaming", lambda n: columns(user=[1, 2], value=[1, 0], rows=[n - 1, 1])),
        *(NUMBERS >> tk.then_quantile_scores(quantile=HALF, bounds=(0, 1), max_rows=2**20), [-(2**20 - 1), 0]),
    ),
    "users": (
        *(2**32, "grouping._collect_streaming", Counted, SPACE >> tk.then_cap_scores(caps=[2], share=HALF), [0]),
    ),
    "users of one item": (
        *(2**30, "grouping.Baskets._sum_weights", lambda n: columns(item=[3], count=[n * 2**28], users=[n])),
        *(SPACE >> tk.then_weighted_partition_selection(STRICT, max_items=1, scale=9.0, delta=1e-9, rounds=1), [3]),
    ),
    "rows, added": (
        *(2**32, "keyed._count_rows", int, VALUED >> tk.then_sum_by_item(candidates=[3], bounds=(0, 5)), [7]),
    ),
    "rows, of other items": (
        *(2**32, "grouping._collect_streaming", lambda n: columns(user=[1, 2], item=[3, 3], rows=[n - 1, 1])),
        *(SPACE >> tk.then_count_outside(items=[4], max_rows=2**31), [2**31 + 1]),
    ),
}


@pytest.mark.quick
@pytest.mark.parametrize("what", LIMITS)
def test_more_users_or_rows_than_a_proof_allows_are_refused(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    limit, name, found, release, expected = LIMITS[what]
    monkeypatch.setattr(f"opendp_topk.tables.{name}", lambda *_: found(limit - 1))
    assert list(release(TABLE)) == expected
    monkeypatch.setattr(f"opendp_topk.tables.{name}", lambda *_: found(limit))
    said = f"2^{limit.bit_length() - 1} {what.partition(',')[0]} or more"
    raises_exactly(tk.errors.DataError, lambda: release(TABLE), said, "split it")
    if name.endswith("_collect_streaming"):  # half of them in each of two parts
        monkeypatch.setattr("opendp_topk.tables.frames._count_passes", lambda _: 2)
        monkeypatch.setattr(f"opendp_topk.tables.{name}", lambda *_: found(limit // 2))
        raises_exactly(tk.errors.DataError, lambda: release(TABLE), said, "split it")


def test_rows_are_counted_as_they_stand() -> None:
    """Those of nobody too, whatever frame holds them."""
    assert totals._count_rows(nw.from_native(pl.DataFrame({"user": [1, None, 1]}).lazy())) == 3
