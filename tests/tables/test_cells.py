"""Counts by group and candidate against the plain-Python reference, on every back end, packed and joined.

Tries proofs/combinators/together.tex.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from opendp_topk.errors import DataTypeError
from opendp_topk.spaces.domains import GroupedFrameDomain
from opendp_topk.tables import grouping
from opendp_topk.tables import packed as cells
from opendp_topk.tables.grouping import count_by_group
from tests.concepts.sentinels import SENTINEL_INT, SENTINEL_TEXT, raises_exactly
from tests.oracles.counts import distinct_users
from tests.oracles.groups import by_group

from .test_frames import BACK_ENDS, Columns, random_columns

pytest.importorskip("narwhals", reason="tables need narwhals")
pl = pytest.importorskip("polars", reason="the tests of tables make them with polars")

DOMAIN = GroupedFrameDomain("member", "work", "seen")
TOP = 2**63 - 1
Rows = list[Any]


def reference(rows: Rows, groups: list[Any], candidates: list[Any], most: int = 1) -> list[list[int]]:
    return [distinct_users(table, candidates) for table in by_group(rows, groups, most)]


def arrays(rows: Rows, dtype: Any = np.int64) -> tuple[Any, Any, Any]:
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
                packed = cells.count_packed_cells(*arrays(rows, dtype), groups, candidates, most)
                assert packed is not None
                assert packed.dense_counts(0, len(groups)).tolist() == reference(rows, groups, candidates, most)
                found += len(packed.cells)
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
    found = cells.count_packed_cells(*arrays(rows), groups, candidates, 1)
    assert (found is not None) == fits
    if found is not None:
        assert found.dense_counts(0, 2).tolist() == reference(rows, groups, candidates)


def test_numbers_beyond_int64_are_not_packed() -> None:
    for at in range(3):
        rows = [tuple(2**63 if i == at else 1 for i in range(3))]
        assert cells.count_packed_cells(*arrays(rows, np.uint64), [1, 2**63], [1, 2**63], 1) is None
        frame = pl.DataFrame(dict(zip(("member", "work", "seen"), arrays(rows, np.uint64), strict=True)))
        found = count_by_group(DOMAIN.validate(frame), [1, 2**63], [1, 2**63])
        assert found.dense_counts(0, 2).tolist() == reference(rows, [1, 2**63], [1, 2**63])


@pytest.mark.parametrize("rows", [[], [(1, 2, 9)], [(1, 9, 3)]], ids=["no rows", "no group", "no candidate"])
def test_where_nothing_is_counted_all_counts_are_0(rows: Rows) -> None:
    found = cells.count_packed_cells(*arrays(rows), [3, 4], [2, 5, 6], 1)
    assert found is not None
    assert found.dense_counts(0, 2).tolist() == [[0, 0, 0]] * 2


def test_items_that_are_no_candidates_give_a_user_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({"member": [1, 1, 2], "work": [9, 5, 5], "seen": [7, 8, 8]})
    for packs in (True, False):
        if not packs:
            monkeypatch.setattr(grouping, "count_packed_cells", lambda *_: None)
        assert count_by_group(DOMAIN.validate(frame), [7, 8], [5]).dense_counts(0, 2).tolist() == [[0], [1]]


def test_candidates_of_the_other_kind_are_refused() -> None:
    frame = pl.DataFrame({"member": [SENTINEL_INT], "work": [SENTINEL_TEXT], "seen": [1]})
    raises_exactly(DataTypeError, lambda: count_by_group(DOMAIN.validate(frame), [1], [1]), "'work' holds strings")
    raises_exactly(DataTypeError, lambda: count_by_group(DOMAIN.validate(frame), ["a"], ["a"]), "'seen' holds integers")
