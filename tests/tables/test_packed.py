"""Counts of packed pairs against sets of pairs, with ranges up to the last that fits.

Tries proofs/transformations/count_by_item.tex.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.tables import packed
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
