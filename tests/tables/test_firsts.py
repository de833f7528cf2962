"""The first items of each user, by numbers for pairs, against a plain count.

Tries proofs/transformations/count_by_item.tex.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from opendp_topk.errors import TableError
from opendp_topk.tables import keyed as firsts
from opendp_topk.tables.guard import run_guarded

pl = pytest.importorskip("polars", reason="the tests of tables make them with polars")
nw = pytest.importorskip("narwhals", reason="tables need narwhals")

ITEMS = ["a", "b", "Z", "é", "ab", "\U0001f600", "\uffee", ""]
USERS: dict[str, list[Any]] = {
    "small": [3, 1, 2],
    "negative": [-5, 0, 7],
    "spread": [0, 2**61, 2**62],
    "wide": [-(2**63), 2**63 - 1, 0],
    "unsigned": [2**64 - 1, 0, 2**63],
    "strings": ["x", "", "y"],
}


def frame(rows: list[Any], users: str) -> Any:
    kind = {"strings": pl.String, "unsigned": pl.UInt64}.get(users, pl.Int64)
    return nw.from_native(pl.DataFrame(rows, schema={"user": kind, "item": pl.String}, orient="row"))


def kept(rows: list[Any], most: int) -> set[Any]:
    baskets: dict[Any, set[Any]] = {}
    for user, item in rows:
        baskets.setdefault(user, set()).add(item)
    return {(user, item) for user, basket in baskets.items() for item in sorted(basket)[:most]}


@pytest.mark.parametrize("users", USERS)
def test_first_items_are_those_of_the_definition(users: str) -> None:
    draw = random.Random(2)
    for size in (0, 1, 5, 40):
        rows = [(draw.choice(USERS[users]), draw.choice(ITEMS)) for _ in range(size)]
        distinct = list(dict.fromkeys(rows))
        for most in (1, 2, 7):
            expected = kept(rows, most)
            found = firsts.count_first_items(frame(rows, users), most)
            counts = Counter(item for _, item in expected)
            assert dict(zip(found["item"].to_list(), found["count"].to_list(), strict=True)) == counts
            assert sorted(firsts.keep_first_items(frame(distinct, users), most).rows()) == sorted(expected)


def test_users_and_items_whose_pairs_fit_no_number_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(user, item) for user in USERS["wide"] for item in ITEMS]
    monkeypatch.setattr(firsts, "_MOST", len(rows))
    assert len(firsts.keep_first_items(frame(rows, "wide"), 2)) == 6
    monkeypatch.setattr(firsts, "_MOST", len(rows) - 1)
    with pytest.raises(TableError):
        run_guarded(lambda: firsts.count_first_items(frame(rows, "wide"), 2))
