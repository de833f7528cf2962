"""Items of several columns: no two of them are one text, and each is read back."""

from __future__ import annotations

import itertools

import pytest

import opendp_topk as tk
from opendp_topk.apps.planning.units import Columns, add_joined_column, join_item_parts, split_item_parts

pl = pytest.importorskip("polars", reason="the tests of tables make them with polars")

ENTRIES = ["".join(signs) for size in range(4) for signs in itertools.product("a,\\", repeat=size)]
PAIRS = list(itertools.product(ENTRIES, repeat=2))


def test_all_short_entries_are_read_back_and_no_two_lists_are_one_text() -> None:
    """1,600 pairs of texts of at most three signs, with all singles and some triples: every text is another."""
    lists = [[one] for one in ENTRIES] + [list(pair) for pair in PAIRS]
    lists += [list(three) for three in itertools.product(ENTRIES[:13], repeat=3)]
    texts = [join_item_parts(one) for one in lists]
    assert len(set(texts)) == len(lists)
    assert list(map(split_item_parts, texts)) == lists


def test_a_frame_joins_as_the_function_does() -> None:
    frame = pl.DataFrame(PAIRS, schema=["one", "two"], orient="row")
    assert add_joined_column(frame, ["one", "two"])["one,two"].to_list() == list(map(join_item_parts, PAIRS))
    mixed = pl.DataFrame({"n": [-7, 0, 2**63 - 1], "c": ["a", None, "b"]}, schema_overrides={"c": pl.Categorical})
    assert add_joined_column(mixed, ["c", "n"])["c,n"].to_list() == ["a,-7", None, "b,9223372036854775807"]


def test_columns_that_hold_no_identifiers_are_refused() -> None:
    frame = pl.DataFrame({"a": ["x"], "f": [1.5], "b": [True], "^t$": ["x"]})
    for name in ("f", "b", "^t$"):
        with pytest.raises(tk.DataTypeError, match="integers, strings or categories"):
            add_joined_column(frame, ["a", name])


def test_one_user_moves_the_items_of_several_columns_as_those_of_one() -> None:
    """Every set of at most two pairs of another user, over two columns of two entries with a comma each."""
    cells = list(itertools.product(["a", "a,"], [",a", "a"]))
    columns = Columns("u", join_item_parts(["x", "y"]), parts=("x", "y"))
    scores = columns.score_transformation("add_remove", list(map(join_item_parts, cells)))

    def counts(rows: list[tuple[int, tuple[str, str]]]) -> list[int]:
        table = pl.DataFrame([(u, x, y) for u, (x, y) in rows], schema={"u": int, "x": str, "y": str}, orient="row")
        found: list[int] = scores(columns.prepare_rows(table)).tolist()
        return found

    before = [(1, cell) for cell in cells] + [(2, cells[0]), (2, cells[0])]
    base = counts(before)
    assert base == [2, 1, 1, 1]
    for size in (1, 2):
        for own in itertools.combinations(cells, size):
            moved = [one - other for one, other in zip(counts(before + [(3, cell) for cell in own]), base, strict=True)]
            assert moved == [int(cell in own) for cell in cells]


def test_what_could_be_released_has_an_entry_for_each_column() -> None:
    two = Columns("u", join_item_parts(["x", "y"]))
    assert two.is_possible_release([["a", "b"], ["a,", "b"], ["a", ",b"]])
    for wrong in ([["a", "b"], ["a", "b"]], [["a"]], [["a", "b", "c"]], [["a", "b"], "a,b"]):
        assert not two.is_possible_release(wrong)
    assert not Columns("u", "x").is_possible_release([["a", "b"]])
