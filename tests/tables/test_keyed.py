"""Every back end counts the users of every item like the plain-Python reference."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from opendp_topk.errors import TableError
from opendp_topk.tables.frames import user_item_columns
from opendp_topk.tables.keyed import count_users_by_item
from tests.tables import test_frames as makers

pytest.importorskip("narwhals", reason="tables need narwhals")
pl = pytest.importorskip("polars", reason="the tests of tables make them with polars")

BACK_ENDS = (
    makers.polars_frame,
    makers.polars_lazy,
    makers.polars_categorical,
    makers.polars_enum,
    makers.pandas_frame,
    makers.pandas_objects,
    makers.pandas_categories,
    makers.pandas_arrow,
    makers.pyarrow_table,
    makers.pyarrow_large,
    makers.pyarrow_dictionary,
    makers.duckdb_relation,
)
ITEMS = {True: list(range(-3, 9)), False: ["a", "b", "Z", "é", "ab", "\U0001f600", "\uffee", ""]}
USERS = {True: [1, 2, 3, 4, None], False: ["x", "y", "z", None]}


def reference(columns: dict[str, list[Any]], most: int | None) -> dict[Any, int]:
    baskets: dict[Any, set[Any]] = {}
    for user, item in zip(columns["u"], columns["i"], strict=True):
        if user is not None and item is not None:
            baskets.setdefault(user, set()).add(item)
    counts: dict[Any, int] = {}
    for basket in baskets.values():
        for item in sorted(basket)[:most]:
            counts[item] = counts.get(item, 0) + 1
    return counts


@pytest.mark.quick(integers=True)
@pytest.mark.parametrize("integers", [True, False])
@pytest.mark.parametrize("lazy", [False, True])
def test_columns_that_say_they_are_sorted_are_not_believed(lazy: bool, integers: bool) -> None:
    columns = {"u": USERS[integers][:-1] * 20, "i": [one for one in ITEMS[integers] for _ in range(20)][:60]}
    columns = {name: (column * 2)[:60] for name, column in columns.items()}
    for descending in (False, True):
        marked = makers.polars_frame(columns, integers).with_columns(pl.all().set_sorted(descending=descending))
        rows = user_item_columns(marked.lazy() if lazy else marked, "u", "i")
        assert not any(flag for one in rows.collect().to_native() for flag in one.flags.values())
        for most in (None, 1, 2):
            assert dict(count_users_by_item(rows, most)) == reference(columns, most)


@pytest.mark.parametrize("nulls", [0, 1, 60])
def test_arrow_is_not_believed_what_it_says_of_nulls_and_labels(nulls: int) -> None:
    """A number of nulls in an array, and labels in the metadata of a column, which are not those of its dictionary."""
    pa = makers.needs("pyarrow")
    texts = pa.array(["x", None, "y"] * 20).dictionary_encode()
    array = pa.Array.from_buffers(pa.int64(), 60, pa.array([1, None, 3] * 20).buffers(), nulls)
    labels = {"_PL_ENUM_VALUES2": "1;v1;w1;x"}
    schema = pa.schema(
        [pa.field("u", array.type), pa.field("i", texts.type, metadata=labels)], metadata={"pandas": "1"}
    )
    said = pa.table([array, texts], schema=schema)
    for table in (said, makers.needs("pyarrow.dataset").dataset(said)):
        assert dict(count_users_by_item(user_item_columns(table, "u", "i"))) == {"x": 1, "y": 1}


@pytest.mark.quick(integers=True)
@pytest.mark.parametrize("integers", [True, False])
@pytest.mark.parametrize("make", BACK_ENDS, ids=lambda make: make.__name__)
def test_every_back_end_agrees(make: Callable[..., Any], integers: bool) -> None:
    rng = random.Random(7)
    columns = {
        "u": [rng.choice(USERS[integers]) for _ in range(60)],
        "i": [rng.choice([*ITEMS[integers], None]) for _ in range(60)],
    }
    rows = user_item_columns(make(columns, integers), "u", "i")
    for most in (None, 1, 2):
        found = count_users_by_item(rows, most)
        assert found == reference(columns, most)
        assert {type(key) for key in found} == {int if integers else str}
        assert {type(count) for count in found.values()} == {int}


@pytest.mark.parametrize("heavy", [0, 1, 2, 3, 4, 5])
def test_users_with_few_rows_and_with_many_count_alike(heavy: int) -> None:
    """Of five users so many have more items than count; others have as many rows as items that count, or fewer."""
    rows = [(user, item) for user in range(5) for item in range(3 if user < heavy else user % 3)] + [(4, 7)] * 3
    columns = {"u": [user for user, _ in rows], "i": [9 - item for _, item in rows]}
    for make in (makers.polars_lazy, makers.pandas_frame, makers.pyarrow_table):
        assert count_users_by_item(user_item_columns(make(columns, True), "u", "i"), 2) == reference(columns, 2)


def test_an_empty_table_has_no_keys() -> None:
    for most in (None, 1):
        assert (
            count_users_by_item(user_item_columns(makers.polars_frame({"u": [], "i": []}, True), "u", "i"), most) == {}
        )


def test_a_back_end_that_fails() -> None:
    import polars as pl

    table = pl.LazyFrame({"u": ["1", "x"], "i": ["a", "b"]}).with_columns(pl.col("u").cast(pl.Int64))
    with pytest.raises(TableError):
        count_users_by_item(user_item_columns(table, "u", "i"))
