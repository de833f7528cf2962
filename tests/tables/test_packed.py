"""Counts of packed pairs against sets of pairs, with ranges up to the last that fits.

Tries proofs/transformations/count_by_item.tex.
"""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.tables import frames, packed
from opendp_topk.tables import packed as cores
from opendp_topk.tables.frames import count_distinct_users, user_item_columns
from opendp_topk.tables.packed import count_packed

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
            assert found is not None
            assert found.dtype == np.int64
            assert found.tolist() == counted(pairs, candidates)
            first = offset + generator.randrange(-3, spread + 3)
            for consecutive in (
                range(first, first + 7),
                range(offset - 2, offset + spread + 3),
                range(first, first + 1),
            ):
                found = count_packed([arrays(pairs, dtype)], consecutive)
                assert found is not None
                assert found.dtype == np.int64
                assert found.tolist() == counted(pairs, [*consecutive])


def test_a_table_without_rows_has_counts_of_0() -> None:
    found = count_packed([arrays([])], [3, 1])
    assert found is not None
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
        assert found is not None
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
    for module, name, value in ((packed, "PIECE", 4), (cores, "PIECE", 4), (packed, "_SHARE", 2)):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(cores, "processor_count", lambda: 4)


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
            assert found is not None
            assert found.tolist() == counted(pairs, candidates)


@pytest.mark.parametrize("last", [2**16 - 2, 2**16 - 1])
def test_pairs_in_32_bits_end_where_these_end(last: int) -> None:
    pairs = [(u, i) for u in (0, 5, 2**16 - 1, 5) for i in (0, last - 1, last)]
    for shift in (0, -(2**40), 2**62):
        moved = [(u - shift, i + shift) for u, i in pairs]
        found = count_packed([arrays(moved)], [shift + last, shift, shift + 1, shift + last - 1, 2**64 - 1])
        assert found is not None
        assert found.tolist() == [3, 3, 0, 3, 0]


@pytest.mark.parametrize("layout", ["whole", "chunks", "shifted", "short"])
def test_counts_do_not_depend_on_how_polars_holds_the_columns(layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
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
    known = [(u, i) for u, i in zip(users, items, strict=True) if u is not None and i is not None]
    for most in (TOP, 0):
        monkeypatch.setattr(packed, "_MOST", most)
        for one in (table, table.lazy(), table.drop_nulls()):
            found = count_distinct_users(user_item_columns(one, "user", "item"), candidates)
            assert found.tolist() == counted(known, candidates)


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("kind", [np.uint32, np.int64])
def test_arrays_are_sorted_on_processors(kind: Any) -> None:
    generator = random.Random(str(kind))
    for size in (0, 1, 7, 8, 9, 100, 1000):
        numbers = [generator.randrange(2**31 if size % 2 else 5) for _ in range(size)]
        held = np.array(numbers, dtype=kind)
        cores.sort_on_cores(held)
        assert held.tolist() == sorted(numbers)


@pytest.mark.usefixtures("small_pieces")
def test_an_error_on_another_processor_is_raised_here() -> None:
    assert cores.map_on_cores(lambda one: 12 // one, [1, 2, 3]) == [12, 6, 4]
    with pytest.raises(ZeroDivisionError):
        cores.map_on_cores(lambda one: 12 // one, [1, 2, 0, 3])
