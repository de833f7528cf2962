"""Counts of packed pairs against sets of pairs, with ranges up to the last that fits.

Tries proofs/transformations/count_by_item.tex.
"""

import itertools
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.errors import DataTypeError
from opendp_topk.spaces.domains import FrameDomain
from opendp_topk.tables import frames, grouping, packed
from opendp_topk.tables import frames as parts
from opendp_topk.tables import rows as snapshots
from opendp_topk.tables.capping import bound_contributions, count_rows_by_number
from opendp_topk.tables.files import read_table
from opendp_topk.tables.frames import count_distinct_users
from opendp_topk.tables.grouping import count_by_group, split_by_group
from opendp_topk.tables.keyed import count_users_by_item, totals_by_item
from opendp_topk.tables.packed import count_packed
from tests.concepts.sentinels import SENTINEL_INT, SENTINEL_TEXT, raises_exactly
from tests.oracles.counts import distinct_users
from tests.oracles.groups import by_group
from tests.tables import hostile
from tests.tables.test_frames import BACK_ENDS, Columns, duckdb_relation, needs, polars_categorical, random_columns
from tests.tables.test_keyed import reference as keyed_reference
from tests.tables.types import pairs_of

TOP = 2**63 - 1


def counted(pairs: list[tuple[int, int]], candidates: list[int]) -> list[int]:
    return [len({u for u, i in pairs if i == one}) for one in candidates]


def arrays(pairs: list[tuple[int, int]], dtype: Any = np.int64) -> tuple[Any, Any]:
    return np.array([u for u, _ in pairs], dtype=dtype), np.array([i for _, i in pairs], dtype=dtype)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64])
def test_counts_are_those_of_the_set_of_pairs(dtype: Any) -> None:
    generator = random.Random(str(dtype))
    info = np.iinfo(dtype)
    for spread in (1, 3, 40, 100):
        ends = int(info.max) - spread if info.bits < 64 else 2**62, max(int(info.min), -(2**62))
        for offset in {0, 20, *ends}:
            pairs = [
                (offset + generator.randrange(spread + 1), offset + generator.randrange(spread + 1)) for _ in range(300)
            ]
            candidates = generator.sample(range(offset - 2, offset + spread + 3), min(5, spread + 2))
            found = count_packed([arrays(pairs, dtype)], candidates)
            assert found.dtype == np.int64
            assert found.tolist() == counted(pairs, candidates)
            first = offset + generator.randrange(-3, spread + 3)
            around = range(offset - 2, offset + spread + 3)
            for consecutive in (range(first, first + 7), around, range(first, first + 1)):
                found = count_packed([arrays(pairs, dtype)], consecutive)
                assert found.dtype == np.int64
                assert found.tolist() == counted(pairs, [*consecutive])


def test_a_table_without_rows_has_counts_of_0() -> None:
    found = count_packed([arrays([])], [3, 1])
    assert found.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("users", "items", "fits"),
    [
        ((0, TOP - 1), (5, 5), True),
        ((0, TOP), (5, 5), False),
        ((-(2**62), 2**62 - 2), (7, 7), True),
        ((-(2**63), 0), (7, 7), False),
        ((5, 5), (TOP - 3, TOP), True),
        ((5, 5), (-(2**63), -1), False),
        ((5, 5), (-(2**63), -2), True),
        ((0, 2**31 - 2), (0, 2**32), True),
        ((0, 2**31 - 1), (0, 2**32 - 1), False),
        ((-5, 2**31 - 7), (-(2**32) - 1, -1), True),
    ],
)
def test_pairs_are_packed_as_long_as_they_fit(users: tuple[int, int], items: tuple[int, int], fits: bool) -> None:
    pairs = [(u, i) for u in users for i in items]
    found = count_packed([arrays(pairs)], list(dict.fromkeys(items)))
    assert (found is not None) == fits
    if found is not None:
        assert found.tolist() == counted(pairs, list(dict.fromkeys(items)))


def test_unsigned_identifiers_beyond_int64_do_not_fit() -> None:
    wide, small = arrays([(2**63, 1), (2**63 + 1, 2)], np.uint64)
    assert count_packed([(wide, small)], [1]) is None
    assert count_packed([(small, wide)], [1]) is None


@pytest.mark.parametrize(("users", "items"), [(3, (-(2**63), -(2**63) + 2)), (1, (0, 2**61)), (2**40, (5, 9))])
def test_consecutive_candidates_may_lie_far_from_the_items(users: int, items: tuple[int, int]) -> None:
    pairs = [(u, i) for u in (0, users) for i in items]
    for first in (-(2**62), -3, 4, items[1] - 1, 2**62 - 11):
        found = count_packed([arrays(pairs)], range(first, first + 11))
        assert found.tolist() == counted(pairs, [*range(first, first + 11)])


@pytest.mark.parametrize("most", [TOP, 0], ids=["packed", "joined"])
def test_both_ways_of_counting_agree(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    import polars as pl

    monkeypatch.setattr(packed, "_MOST", most)
    generator = random.Random(3)
    pairs = [(generator.randrange(50), generator.randrange(-20, 20)) for _ in range(2000)]
    table = pl.DataFrame({"user": [u for u, _ in pairs], "item": [i for _, i in pairs]})
    candidates = [7, -20, 19, 2**63, -3, 44]
    count = tk.make_count_by_item(tk.FrameDomain("user", "item"), tk.UserDistance(), candidates=candidates)
    assert count(table).tolist() == counted(pairs, candidates)


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of four rows, shares of two candidates, and four processors."""
    for module, name, value in ((packed, "PIECE", 4), (packed, "_SHARE", 2)):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(packed, "processor_count", lambda: 4)


@pytest.mark.quick(offset=-7)
@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("offset", [0, -7, 2**62])
def test_pieces_and_processors_change_no_count(offset: int) -> None:
    generator = random.Random(offset)
    for size in (1, 4, 5, 37, 200):
        for spread in (0, 3, 60):
            pairs = [(offset + generator.randrange(spread + 1), generator.randrange(spread + 1)) for _ in range(size)]
            cuts = sorted(generator.randrange(size + 1) for _ in range(3))
            blocks = [arrays(pairs[a:b]) for a, b in zip([0, *cuts], [*cuts, size], strict=True)]
            candidates = generator.sample(range(-1, spread + 2), spread + 3)
            found = count_packed(blocks, candidates)
            assert found.tolist() == counted(pairs, candidates)


@pytest.mark.parametrize("last", [2**16 - 2, 2**16 - 1])
def test_pairs_in_32_bits_end_where_these_end(last: int) -> None:
    pairs = [(u, i) for u in (0, 5, 2**16 - 1, 5) for i in (0, last - 1, last)]
    for shift in (0, -(2**40), 2**62):
        moved = [(u - shift, i + shift) for u, i in pairs]
        found = count_packed([arrays(moved)], [shift + last, shift, shift + 1, shift + last - 1, 2**64 - 1])
        assert found.tolist() == [3, 3, 0, 3, 0]


@pytest.mark.parametrize("layout", ["whole", "chunks", "shifted", "short"])
def test_counts_do_not_depend_on_how_polars_holds_the_columns(layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import narwhals as nw
    import polars as pl

    monkeypatch.setattr(frames, "_LONG", 10 if layout != "short" else 2**14)
    generator = random.Random(layout)
    users = [generator.choice([None, *range(20)]) for _ in range(300)]
    items = [generator.choice([None, *range(-5, 5)]) for _ in range(300)]
    cuts: list[list[int]] = [[0, 90, 200, 300], [0, 90, 200, 300]]
    if layout in ("whole", "shifted"):
        cuts = [[0, 300], [0, 300]] if layout == "whole" else [[0, 90, 300], [0, 200, 300]]
    columns = [
        pl.concat([pl.Series(name, held[a:b], dtype=pl.Int64) for a, b in itertools.pairwise(ends)], rechunk=False)
        for name, held, ends in zip(("user", "item"), (users, items), cuts, strict=True)
    ]
    table, candidates = pl.DataFrame(columns), [4, -5, 2**63, 0, 9]
    assert len(frames._column_blocks(nw.from_native(table))) == (3 if layout == "chunks" else 1)
    known = [(u, i) for u, i in zip(users, items, strict=True) if u is not None and i is not None]
    for most in (TOP, 0):
        monkeypatch.setattr(packed, "_MOST", most)
        for one in (table, table.lazy(), table.drop_nulls()):
            found = count_distinct_users(pairs_of(one, "user", "item"), candidates)
            assert found.tolist() == counted(known, candidates)


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("kind", [np.uint32, np.int64])
def test_arrays_are_sorted_on_processors(kind: Any) -> None:
    generator = random.Random(str(kind))
    for size in (0, 1, 7, 8, 9, 100, 1000):
        numbers = [generator.randrange(2**31 if size % 2 else 5) for _ in range(size)]
        held = np.array(numbers, dtype=kind)
        packed.sort_on_cores(held)
        assert held.tolist() == sorted(numbers)


@pytest.mark.usefixtures("small_pieces")
def test_an_error_on_another_processor_is_raised_here() -> None:
    assert packed.map_on_cores(lambda one: 12 // one, [1, 2, 3]) == [12, 6, 4]
    raises_exactly(ZeroDivisionError, lambda: packed.map_on_cores(lambda one: 12 // one, [1, 2, 0, 3]))


# Counts by group and candidate against the plain-Python reference, on every back end, packed and joined.


pytest.importorskip("narwhals", reason="tables need narwhals")
pl = pytest.importorskip("polars", reason="the tests of tables make them with polars")

DOMAIN = FrameDomain("member", "work", group="seen")
Rows = list[Any]


def reference(rows: Rows, groups: list[Any], candidates: list[Any], most: int = 1) -> list[list[int]]:
    return [distinct_users(table, candidates) for table in by_group(rows, groups, most)]


def cell_arrays(rows: Rows, dtype: Any = np.int64) -> tuple[Any, Any, Any]:
    return tuple(np.array([row[i] for row in rows], dtype=dtype) for i in range(3))  # type: ignore[return-value]


@pytest.mark.quick(make="polars_frame", integers=True)
@pytest.mark.parametrize("integers", [True, False], ids=["integers", "strings"])
@pytest.mark.parametrize("make", BACK_ENDS, ids=lambda make: make.__name__)
def test_every_back_end_agrees_with_the_reference(make: Callable[[Columns, bool], Any], integers: bool) -> None:
    draw = random.Random(23)
    total = 0
    for most in [1, 1, 2, 3, 9] * 5:
        columns = random_columns(draw, integers)
        rows = list(zip(columns["member"], columns["work"], columns["seen"], strict=True))
        values: list[Any] = [0, 1, 2, 3, 4, 77, 2**64 - 1] if integers else ["", "nan", "None", "0", "ä", "new"]
        groups, candidates = (draw.sample(values, draw.randint(3, len(values))) for _ in range(2))
        found = count_by_group(DOMAIN.validate(make(columns, integers)), groups, candidates, most)
        expected = reference(rows, groups, candidates, most)
        assert found.dense_counts(0, len(groups)).tolist() == expected
        assert found.dense_counts(1, len(groups)).tolist() == expected[1:], "a part of the groups"
        total += sum(map(sum, expected))
    assert total > 10


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64])
def test_packed_counts_are_those_of_the_rows(dtype: Any) -> None:
    draw, info = random.Random(str(dtype)), np.iinfo(dtype)
    found = 0
    for spread in (1, 3, 40, 2000):
        for offset in {0, int(info.max) - spread, max(int(info.min), 0)} if info.bits < 64 else {0, 2**62}:
            if offset < 0 or offset + spread > info.max:
                continue
            rows = [tuple(offset + draw.randrange(spread + 1) for _ in range(3)) for _ in range(200)]
            near = range(max(offset - 2, 0), offset + spread + 3)
            groups, candidates = (draw.sample(near, min(5, len(near))) for _ in range(2))
            for most in (1, 2, 5):
                here = packed.count_packed_cells(*cell_arrays(rows, dtype), groups, candidates, most)
                assert here.dense_counts(0, len(groups)).tolist() == reference(rows, groups, candidates, most)
                found += len(here.cells)
    assert found > 10


@pytest.mark.parametrize(
    ("rows", "fits"),
    [
        ([(0, 5, 1), (2**60 - 1, 5, 2)], True),
        ([(0, 5, 1), (2**60, 5, 2)], False),
        ([(-(2**59), 5, 1), (2**59 - 1, 5, 2)], True),
        ([(-(2**63), 5, 1), (-(2**63) + 2**60 - 1, 6, 2)], True),
        ([(-(2**63), 5, 1), (TOP, 5, 2)], False),
        ([(3, -(2**63), 2), (3, TOP, 2), (4, 7, 2)], True),
        ([(3, 5, -(2**63)), (3, 5, TOP), (4, 6, 2)], True),
    ],
)
def test_what_does_not_fit_into_63_bits_is_not_packed(rows: Rows, fits: bool) -> None:
    groups, candidates = [2, 1], [5, 6, TOP]
    found = packed.count_packed_cells(*cell_arrays(rows), groups, candidates, 1)
    assert (found is not None) == fits
    if found is not None:
        assert found.dense_counts(0, 2).tolist() == reference(rows, groups, candidates)


def test_numbers_beyond_int64_are_not_packed() -> None:
    for at in range(3):
        rows = [tuple(2**63 if i == at else 1 for i in range(3))]
        assert packed.count_packed_cells(*cell_arrays(rows, np.uint64), [1, 2**63], [1, 2**63], 1) is None
        frame = pl.DataFrame(dict(zip(("member", "work", "seen"), cell_arrays(rows, np.uint64), strict=True)))
        found = count_by_group(DOMAIN.validate(frame), [1, 2**63], [1, 2**63])
        assert found.dense_counts(0, 2).tolist() == reference(rows, [1, 2**63], [1, 2**63])


@pytest.mark.parametrize("rows", [[], [(1, 2, 9)], [(1, 9, 3)]], ids=["no rows", "no group", "no candidate"])
def test_where_nothing_is_counted_all_counts_are_0(rows: Rows) -> None:
    found = packed.count_packed_cells(*cell_arrays(rows), [3, 4], [2, 5, 6], 1)
    assert found.dense_counts(0, 2).tolist() == [[0, 0, 0]] * 2


def test_items_that_are_no_candidates_give_a_user_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({"member": [1, 1, 2], "work": [9, 5, 5], "seen": [7, 8, 8]})
    for packs in (True, False):
        if not packs:
            monkeypatch.setattr(grouping, "count_packed_cells", lambda *_: None)
        assert count_by_group(DOMAIN.validate(frame), [7, 8], [5]).dense_counts(0, 2).tolist() == [[0], [1]]


@pytest.mark.quick(packs=True, strings=(True, True, True))
@pytest.mark.parametrize("strings", list(itertools.product([False, True], repeat=3)), ids=str)
@pytest.mark.parametrize("packs", [True, False])
def test_unlike_columns_are_counted(strings: tuple[bool, ...], packs: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers that strings have in the library are never those that they have here."""
    draw, called = random.Random(str(strings)), []
    packing = packed.count_packed_cells

    def count_or_decline(*given: Any) -> Any:
        called.append(packing(*given))
        return called[-1] if packs else None

    monkeypatch.setattr(grouping, "count_packed_cells", count_or_decline)
    kinds = [(lambda one: None if one is None else f"{9 - one}") if text else (lambda one: one) for text in strings]
    groups, candidates = ([kinds[at](one) for one in (3, 1, 2, 8)] for at in (2, 1))
    for most in (1, 2):
        numbers = [(draw.randrange(40), draw.choice([*range(6), None]), draw.randrange(6)) for _ in range(90)]
        rows = [tuple(kind(one) for kind, one in zip(kinds, row, strict=True)) for row in numbers]
        frame = pl.DataFrame(rows, ["member", "work", "seen"], orient="row")
        found = count_by_group(DOMAIN.validate(frame), groups, candidates, most).dense_counts(0, 4).tolist()
        assert found == reference(rows, groups, candidates, most)
        assert sum(map(sum, found)) > 3
    assert len(called) == (2 if strings[1] else 0)


def test_candidates_of_the_other_kind_are_refused() -> None:
    frame = pl.DataFrame({"member": [SENTINEL_INT], "work": [SENTINEL_TEXT], "seen": [1]})
    raises_exactly(DataTypeError, lambda: count_by_group(DOMAIN.validate(frame), [1], [1]), "'work' contains strings")
    raises_exactly(
        DataTypeError, lambda: count_by_group(DOMAIN.validate(frame), ["a"], ["a"]), "'seen' contains integers"
    )


# Frames that are not loaded: counted in parts, one user in one part, with the reference's counts on hostile frames.


nw = pytest.importorskip("narwhals", reason="tables need narwhals")

assert len(hostile.FRAMES) == 24


def frame(columns: Columns, integers: bool) -> Any:
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Int64 if integers else pl.String))


def written(columns: Columns, integers: bool, path: Path) -> Path:
    """Three files, the second of them empty."""
    whole, half = frame(columns, integers), len(columns["work"]) // 2
    for at, part in enumerate((whole[:half], whole[:0], whole[half:])):
        part.write_parquet(path / f"part-{at}.parquet")
    return path


def related(columns: Columns, integers: bool) -> Any:
    return duckdb_relation({"seen": [None] * len(columns["work"]), **columns}, integers)


MAKERS: dict[str, Callable[[Columns, bool, Path], Any]] = {
    "lazy": lambda columns, integers, _: frame(columns, integers).lazy(),
    "categories": lambda columns, integers, _: polars_categorical(columns, integers).lazy(),
    "folder": lambda columns, integers, path: read_table(written(columns, integers, path)),
    "dataset": lambda columns, integers, path: needs("pyarrow.dataset").dataset(written(columns, integers, path)),
    "relation": lambda columns, integers, _: related(columns, integers),
}


@pytest.mark.slow
@pytest.mark.parametrize("several", [True, False], ids=["parts", "whole"])
@pytest.mark.parametrize("make", MAKERS)
def test_hostile_frames_are_counted_like_the_reference(
    make: str, several: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, (held, integers) in hostile.FRAMES.items():
        monkeypatch.setattr(parts, "_ROWS", max(1, len(held) // 5) if several else 2**24)
        path = tmp_path / name
        path.mkdir()
        table = pairs_of(MAKERS[make](hostile.columns(held), integers, path))
        listed = hostile.candidates(held, integers)
        assert count_distinct_users(table, listed).tolist() == distinct_users(held, listed), name
        for most in (None, 2):
            found = count_users_by_item(table, most)
            assert found == keyed_reference({"u": [u for u, _ in held], "i": [i for _, i in held]}, most), name


@pytest.mark.parametrize("kind", ["Int64", "String", "UInt8"])
def test_every_row_is_in_one_part_and_every_user_too(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_ROWS", 30)
    users = [user % 40 for user in range(200)]
    table = pl.LazyFrame({"user": users, "item": range(200)}).cast({"user": getattr(pl, kind)})
    rows = nw.from_native(table)
    found = [part.collect() for part in parts.iterate_user_parts(rows, "user", "item")]
    assert len(found) == 7
    assert sorted(item for part in found for item in part["item"]) == list(range(200))
    assert sum(len(set(part["user"])) for part in found) == 40


def test_parts_are_as_many_as_rows_and_texts_ask_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def number(frame: Any) -> int:
        return len(list(parts.iterate_user_parts(nw.from_native(frame), "user", "item")))

    with monkeypatch.context() as patched:
        patched.setattr(parts, "_ROWS", 30)
        for size, expected in ((0, 1), (1, 1), (30, 1), (31, 2), (60, 2), (61, 3)):
            assert number(pl.LazyFrame({"user": range(size), "item": range(size)})) == expected
    monkeypatch.setattr(parts, "_BYTES", 30)
    for size, expected in ((0, 1), (1, 1), (3, 1), (4, 2), (6, 2), (7, 3)):
        texts = {"user": ["ä"] * size, "item": ["in ten b"] * size}
        assert number(pl.LazyFrame(texts, schema=dict.fromkeys(texts, pl.String))) == expected


# For each question its columns and its answer, in a form that does not depend on the order of rows.
QUESTIONS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "listed": ("user item", lambda rows: count_distinct_users(rows, [1, 5, 77]).tolist()),
    "items": ("user item", lambda rows: dict(count_users_by_item(rows))),
    "first items": ("user item", lambda rows: dict(count_users_by_item(rows, 2))),
    "sums": ("user item value", lambda rows: dict(totals_by_item(rows, 1.0, 2**31, (-2, 5)))),
    "first sums": ("user item value", lambda rows: dict(totals_by_item(rows, 1.0, 2**31, (-2, 5), 2))),
    "numbers": ("user value", lambda rows: count_rows_by_number(rows, 1.0, 2**31, (-3, 3), 2).tolist()),
    "outside": ("user item", lambda rows: grouping.count_rows_outside(rows, [1, 5], 2)),
    "breadth": ("user item", lambda rows: sorted(grouping.distinct_items_per_user(rows))),
    "cells": ("user item group", lambda rows: count_by_group(rows, [3, 1], [5, 1], 2).dense_counts(0, 2).tolist()),
    "groups": (
        "user item group",
        lambda rows: [Counter(one.collect().iter_rows()) for one in split_by_group(rows, [3, 0, 9, 1], 2, [0, 2, 3])],
    ),
    "kept": (
        "user item value",
        lambda rows: Counter(bound_contributions(rows, 2, "value", 1.0, 9, np.zeros_like).collect().iter_rows()),
    ),
    "weights": ("user item", lambda rows: dict(grouping.Baskets(rows, 2, 1000).sum_item_weights())),
}


@pytest.mark.parametrize("joined", [False, True], ids=["packed", "joined"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_reads_parts_like_the_whole(question: str, joined: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    from polars.io.plugins import register_io_source

    draw = random.Random(question)
    known = {"user": range(400), "item": range(8), "group": range(4), "value": range(-5, 6)}
    columns = {name: [draw.choice([*values, None]) for _ in range(2000)] for name, values in known.items()}
    table = pl.DataFrame(columns, schema=dict.fromkeys(known, pl.Int64))
    read: list[int] = []

    def reader(columns: Any, predicate: Any, *_: Any) -> Any:
        batch = table if predicate is None else table.filter(predicate)
        if len(columns or table.columns) > 1:  # otherwise rows are only counted
            read.append(len(batch))
        yield batch if columns is None else batch.select(columns)

    names, answer = QUESTIONS[question]
    if joined:
        monkeypatch.setattr(packed, "_MOST", 0)
    frame = register_io_source(reader, schema=table.schema).select(names.split())
    rows = snapshots.Rows.from_frame(nw.from_native(frame))
    known_rows = len(table.select(names.split()).drop_nulls())
    monkeypatch.setattr(parts, "_ROWS", 2**24)
    whole = answer(rows)
    assert max(read) >= known_rows
    read.clear()
    monkeypatch.setattr(parts, "_ROWS", 200)
    assert answer(rows) == whole
    assert sum(read) >= known_rows
    assert max(read) < known_rows // 2


def test_the_watcher_is_told_how_many_parts_were_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_ROWS", 30)
    told: list[tuple[int, int]] = []
    token = parts.watcher.set(lambda done, of: told.append((done, of)))
    try:
        table = pl.LazyFrame({"member": range(100), "work": range(100)})
        count_distinct_users(pairs_of(table), [1])
    finally:
        parts.watcher.reset(token)
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_groups_of_a_dataset_are_split(tmp_path: Path) -> None:
    pl.DataFrame({"u": [1, 1, 2], "i": [7, 8, 7], "g": [3, 4, 4]}).write_parquet(tmp_path / "x.parquet")
    dataset = needs("pyarrow.dataset").dataset(tmp_path)
    tables = split_by_group(FrameDomain("u", "i", group="g").validate(dataset), [3, 4])
    assert [table.collect()["i"].to_list() for table in tables] == [[7], [7]]


def test_what_is_left_of_a_part_keeps_no_other_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Polars keeps all texts of a frame for as long as one of its rows: so each part kept all of the table."""
    pa = needs("pyarrow")
    texts = ["x" * 200 + f"{at % 1_000:03}" for at in range(8_000)]
    rows = pairs_of(pl.DataFrame({"member": range(8_000), "work": texts}))
    size = sum(map(len, texts))
    monkeypatch.setattr(parts, "_BYTES", size // 8)
    kept = [one.collect().to_native() for one in parts.iterate_user_parts(rows.read_snapshot(), "user", "item")]
    assert len(kept) >= 8
    same = sorted(text for one in kept for text in one["item"]) == sorted(texts)
    assert same  # without a comparison line by line
    assert sum(pa.chunked_array(one["item"]).get_total_buffer_size() for one in kept) < 2 * size
    for most in (None, 1):
        counted = count_users_by_item(rows, most)
        same = dict(counted) == dict.fromkeys(texts[:1_000], 8)
        assert same
        assert pa.chunked_array(counted._keys.to_native()).get_total_buffer_size() < size // 2  # type: ignore[attr-defined]
