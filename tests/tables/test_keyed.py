"""Every back end counts the users of every item like the plain-Python reference.

Tries proofs/measurements/continual_top_k.tex, proofs/spaces/keyed_counts.tex,
proofs/transformations/bound_contributions.tex and proofs/transformations/quantile_scores.tex.
"""

import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import opendp_topk as tk
from opendp_topk.errors import DataTypeError, TableError
from opendp_topk.spaces.keyed_counts import keep_largest_counts
from opendp_topk.tables import frames as parts
from opendp_topk.tables import keyed as firsts
from opendp_topk.tables.capping import bound_contributions
from opendp_topk.tables.guard import run_guarded
from opendp_topk.tables.held import ColumnCounts, EngineCounts
from opendp_topk.tables.keyed import count_users_by_item
from opendp_topk.tables.spark import require_determinate
from tests.concepts.links import as_outcome
from tests.concepts.sentinels import raises_exactly
from tests.oracles.totals import on_grid
from tests.tables import test_frames as makers
from tests.tables.test_totals import BACK_ENDS as FRAMES
from tests.tables.test_totals import frame, random_rows
from tests.tables.types import pairs_of

pytest.importorskip("narwhals", reason="tables need narwhals")
pl = pytest.importorskip("polars", reason="the tests of tables make them with polars")

BACK_ENDS = makers.BACK_ENDS[:-1]
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
        rows = pairs_of(marked.lazy() if lazy else marked, "u", "i")
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
        assert dict(count_users_by_item(pairs_of(table, "u", "i"))) == {"x": 1, "y": 1}


@pytest.mark.quick(integers=True)
@pytest.mark.parametrize("integers", [True, False])
@pytest.mark.parametrize("make", BACK_ENDS, ids=lambda make: make.__name__)
def test_every_back_end_agrees(make: Callable[..., Any], integers: bool) -> None:
    rng = random.Random(7)
    users = [rng.choice(USERS[integers]) for _ in range(60)]
    columns = {"u": users, "i": [rng.choice([*ITEMS[integers], None]) for _ in range(60)]}
    rows = pairs_of(make(columns, integers), "u", "i")
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
        assert count_users_by_item(pairs_of(make(columns, True), "u", "i"), 2) == reference(columns, 2)


def test_an_empty_table_has_no_keys() -> None:
    for most in (None, 1):
        assert count_users_by_item(pairs_of(makers.polars_frame({"u": [], "i": []}, True), "u", "i"), most) == {}


def test_a_back_end_that_fails() -> None:
    import polars as pl

    table = pl.LazyFrame({"u": ["1", "x"], "i": ["a", "b"]}).with_columns(pl.col("u").cast(pl.Int64))
    raises_exactly(TableError, lambda: count_users_by_item(pairs_of(table, "u", "i")))


# Counts that an engine holds: a mapping that is fetched once, and only as far as it is asked for.


nw = pytest.importorskip("narwhals", reason="tables need narwhals")

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
    tied = ColumnCounts(held._keys, np.array([1, 2, 2, 2, 3]))
    assert keep_largest_counts(tied, 2) == {"a": 2, "c": 2, "A": 2, "d": 3}


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
        assert as_outcome((space >> release)(in_columns())) == expected
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
    assert release(EngineCounts(engine.best)) == release(COUNTS) == tk.Release(items=["c", "a"], stopped=False)
    assert engine.asked == [4]


# Every back end keeps the same items of each user.


def backwards(starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """As if chance had reversed the order of each user's items."""
    sizes = Counter(starts.tolist())
    return np.array([sizes[s] - 1 - (at - s) for at, s in enumerate(starts.tolist())], dtype=np.int64)


def capped(rows: list[tuple[Any, Any, Any]], most: int, by: str) -> set[tuple[Any, Any]]:
    weights: dict[Any, dict[Any, int]] = {}
    for user, item, number in rows:
        if user is None or item is None or (by == "value" and number is None):
            continue
        own = weights.setdefault(user, {})
        own[item] = own.get(item, 0) + (on_grid(number, Fraction(1)) if by == "value" else 1)
    kept = set()
    for user, own in weights.items():
        falls = by in ("rows", "value")
        ranked = sorted(own, key=lambda item: (-own[item] if falls else 0, item), reverse=False)
        kept |= {(user, item) for item in (ranked[::-1] if by == "random" else ranked)[:most]}
    return kept


def known(number: Any) -> Any:
    """None for what a back end has instead."""
    return None if str(number) in ("<NA>", "nan", "None") else number


def pairs(table: Any) -> list[tuple[Any, ...]]:
    found = table.collect()
    return list(zip(*(found[name].to_list() for name in found.columns), strict=True))


@pytest.mark.further
@pytest.mark.quick(make=("polars_frame", "pyarrow_table"), by=("random", "value"))
@pytest.mark.parametrize("by", ["random", "order", "rows", "value"])
@pytest.mark.parametrize("make", FRAMES, ids=lambda make: make.__name__)
def test_every_back_end_agrees_with_the_reference(
    make: Callable[[Any], Any], by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed, size in enumerate((0, 1, 60)):
        rows = random_rows("coarse", size, seed)
        table = make(frame(rows, pl.Int32))
        for most in (1, 2, 3):
            monkeypatch.setattr(parts, "_ROWS", 2**24 if most == 1 else 13)  # rows in one part, and in several
            columns = pairs_of(table, "user", "item", "paid")
            kept = bound_contributions(columns, most, by, 1.0, 2**31, backwards)
            expected = capped(rows, most, by)
            mine = [row for row in rows if row[:2] in expected]
            assert kept.collect_schema().names() == ["user", "item", "paid"]
            assert Counter((u, i, known(v)) for u, i, v in pairs(kept)) == Counter(mine)
            if by != "value":
                once = bound_contributions(pairs_of(table, "user", "item"), most, by, 1.0, 2**31, backwards)
                assert sorted(pairs(once)) == sorted(expected)


# The first items of each user, by numbers for pairs, against a plain count.


TEXTS = ["a", "b", "Z", "é", "ab", "\U0001f600", "\uffee", ""]
USERS_OF_KINDS: dict[str, list[Any]] = {
    "small": [3, 1, 2],
    "negative": [-5, 0, 7],
    "spread": [0, 2**61, 2**62],
    "wide": [-(2**63), 2**63 - 1, 0],
    "unsigned": [2**64 - 1, 0, 2**63],
    "strings": ["x", "", "y"],
}


def lazy_frame(rows: list[Any], users: str) -> Any:
    kind = {"strings": pl.String, "unsigned": pl.UInt64}.get(users, pl.Int64)
    return nw.from_native(pl.DataFrame(rows, schema={"user": kind, "item": pl.String}, orient="row"))


def kept(rows: list[Any], most: int) -> set[Any]:
    baskets: dict[Any, set[Any]] = {}
    for user, item in rows:
        baskets.setdefault(user, set()).add(item)
    return {(user, item) for user, basket in baskets.items() for item in sorted(basket)[:most]}


@pytest.mark.parametrize("users", USERS_OF_KINDS)
def test_first_items_are_those_of_the_definition(users: str) -> None:
    draw = random.Random(2)
    for size in (0, 1, 5, 40):
        rows = [(draw.choice(USERS_OF_KINDS[users]), draw.choice(TEXTS)) for _ in range(size)]
        distinct = list(dict.fromkeys(rows))
        for most in (1, 2, 7):
            expected = kept(rows, most)
            found = firsts.count_first_items(lazy_frame(rows, users), most)
            counts = Counter(item for _, item in expected)
            assert dict(zip(found["item"].to_list(), found["count"].to_list(), strict=True)) == counts
            assert sorted(firsts.keep_first_items(lazy_frame(distinct, users), most).rows()) == sorted(expected)


def test_users_and_items_whose_pairs_fit_no_number_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(user, item) for user in USERS_OF_KINDS["wide"] for item in TEXTS]
    monkeypatch.setattr(firsts, "_MOST", len(rows))
    assert len(firsts.keep_first_items(lazy_frame(rows, "wide"), 2)) == 6
    monkeypatch.setattr(firsts, "_MOST", len(rows) - 1)
    raises_exactly(TableError, lambda: run_guarded(lambda: firsts.count_first_items(lazy_frame(rows, "wide"), 2)))
