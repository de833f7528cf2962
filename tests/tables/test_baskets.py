"""Every back end spreads the same weights. Tries proofs/measurements/weighted_partition_selection.tex."""

import math
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("narwhals", reason="tables need narwhals")
pytest.importorskip("polars", reason="the tests of tables make them with polars")

from opendp_topk.tables import frames
from opendp_topk.tables.grouping import Baskets, _largest_rates
from tests.tables.spark_session import Shared
from tests.tables.test_keyed import BACK_ENDS, ITEMS, USERS
from tests.tables.test_spark import made
from tests.tables.types import pairs_of

UNIT = 1000
NEARLY = 518_408_351  # its square is that of a whole number by 3, less 2: a float does not tell the difference


def users(columns: dict[str, list[Any]], most: int) -> dict[Any, int]:
    """How many users have each item among their first ones."""
    pairs = {pair for pair in zip(columns["u"], columns["i"], strict=True) if None not in pair}
    return Counter(
        item for own in {user for user, _ in pairs} for item in sorted(i for user, i in pairs if user == own)[:most]
    )


def reference(columns: dict[str, list[Any]], most: int, shares: dict[Any, int] | None) -> dict[Any, int]:
    """The largest whole rate of each user, from the theorem."""
    baskets: dict[Any, set[Any]] = {}
    for user, item in zip(columns["u"], columns["i"], strict=True):
        if user is not None and item is not None:
            baskets.setdefault(user, set()).add(item)
    sums: dict[Any, int] = {}
    for basket in baskets.values():
        kept = {item: 1 if shares is None else shares[item] for item in sorted(basket)[:most]}
        rate = math.isqrt(UNIT**2 // sum(share**2 for share in kept.values()))
        for item, share in kept.items():
            sums[item] = sums.get(item, 0) + share * rate
    return sums


def check(table: Any, columns: dict[str, list[Any]]) -> None:
    for most in (1, 3, 100):
        baskets = Baskets(pairs_of(table, "u", "i"), most, UNIT)
        sums = baskets.sum_item_weights()
        assert dict(sums) == reference(columns, most, None), most
        keys = sums.keys_at(np.arange(len(sums)))
        assert dict(zip(keys, baskets.users.tolist(), strict=True)) == users(columns, most), most
        shares = {key: 1 + at % 5 for at, key in enumerate(keys)}
        baskets.set_item_shares(np.array([shares[key] for key in keys], dtype=np.int64))
        assert dict(baskets.sum_item_weights()) == reference(columns, most, shares), most


def drawn(integers: bool, rows: int = 60) -> dict[str, list[Any]]:
    rng = random.Random(11)
    users = [rng.choice(USERS[integers]) for _ in range(rows)]
    return {"u": users, "i": [rng.choice([*ITEMS[integers], None]) for _ in range(rows)]}


@pytest.mark.quick(make=("polars_frame", "pandas_frame", "duckdb_relation"))
@pytest.mark.parametrize("make", BACK_ENDS, ids=lambda make: make.__name__)
def test_every_back_end_agrees_with_the_reference(make: Callable[..., Any]) -> None:
    for integers in (True, False):
        check(make(drawn(integers), integers), drawn(integers))


def test_several_parts_agree_with_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "_ROWS", 13)
    check(BACK_ENDS[0](drawn(True), True), drawn(True))


@pytest.mark.slow
def test_spark_agrees_with_the_reference(shared_spark: Shared) -> None:
    for integers in (True, False):
        columns = drawn(integers)
        rows = list(zip(columns["u"], columns["i"], strict=True))
        check(made(shared_spark.get(), rows, integers, ("u", "i")), columns)
    three = made(shared_spark.get(), [("a", item) for item in "xyz"], False, ("u", "i"))
    sums = Baskets(pairs_of(three, "u", "i"), 3, NEARLY).sum_item_weights()
    assert dict(sums) == dict.fromkeys("xyz", math.isqrt(NEARLY**2 // 3))


def test_no_rows_have_no_sums() -> None:
    import polars as pl

    baskets = Baskets(pairs_of(pl.DataFrame({"u": [], "i": []}, {"u": pl.Int64, "i": pl.Int64}), "u", "i"), 3, UNIT)
    assert dict(baskets.sum_item_weights()) == {}


def test_rates_are_the_largest_whose_squares_fit() -> None:
    squares = np.array([1, 2, 3, 5, 7, 2**40 - 1, 2**40, *range(10**6, 10**6 + 2000)], dtype=np.int64)
    for unit in (2**28, 2**20, NEARLY):
        assert _largest_rates(squares, unit).tolist() == [math.isqrt(unit**2 // square) for square in squares.tolist()]
