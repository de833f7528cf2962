"""Every back end keeps the same items of each user. Tries proofs/transformations/keep_items.tex."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from opendp_topk.tables import frames as parts
from opendp_topk.tables.capping import bound_contributions
from opendp_topk.tables.frames import user_item_columns, user_item_value_columns
from tests.oracles.totals import on_grid
from tests.tables.test_totals import BACK_ENDS, frame, random_rows

pl = pytest.importorskip("polars", reason="the tests of tables make them with polars")


def backwards(starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """As if chance had reversed the order of each user's items."""
    sizes = Counter(starts.tolist())
    return np.array([sizes[s] - 1 - (at - s) for at, s in enumerate(starts.tolist())], dtype=np.int64)


def reference(rows: list[tuple[Any, Any, Any]], most: int, by: str) -> set[tuple[Any, Any]]:
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
@pytest.mark.parametrize("make", BACK_ENDS, ids=lambda make: make.__name__)
def test_every_back_end_agrees_with_the_reference(
    make: Callable[[Any], Any], by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed, size in enumerate((0, 1, 60)):
        rows = random_rows("coarse", size, seed)
        table = make(frame(rows, pl.Int32))
        for most in (1, 2, 3):
            monkeypatch.setattr(parts, "_ROWS", 2**24 if most == 1 else 13)  # rows in one part, and in several
            columns = user_item_value_columns(table, "user", "item", "paid")
            kept = bound_contributions(columns, most, by, 1.0, 2**31, backwards)
            expected = reference(rows, most, by)
            mine = [row for row in rows if row[:2] in expected]
            assert kept.collect_schema().names() == ["user", "item", "paid"]
            assert Counter((u, i, known(v)) for u, i, v in pairs(kept)) == Counter(mine)
            if by != "value":
                once = bound_contributions(user_item_columns(table, "user", "item"), most, by, 1.0, 2**31, backwards)
                assert sorted(pairs(once)) == sorted(expected)
