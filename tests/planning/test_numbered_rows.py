"""Rows that are taken for users: what one person with so many of them moves, on all small tables."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import pytest

import opendp_topk as tk
from opendp_topk.apps.planning.quantile import NumericColumns
from opendp_topk.apps.planning.units import ROW, Columns, numbered_rows, users_to_rows

pl = pytest.importorskip("polars", reason="the tests of tables make them with polars")

ITEMS = ("a", "b", "c")
TABLES = [rows for size in range(4) for rows in itertools.combinations_with_replacement(ITEMS, size)]


def frame(rows: tuple[str, ...]) -> pl.DataFrame:
    return pl.DataFrame({"item": list(rows)}, schema={"item": pl.String})


def counts(rows: tuple[str, ...], most: int | None = None) -> list[int]:
    columns = Columns(ROW, "item", max_items=most, keep="order")
    found: list[int] = columns.score_transformation("add_remove", ITEMS)(columns.prepare_rows(frame(rows))).tolist()
    return found


@pytest.mark.further
def test_counts_are_of_rows_and_one_person_moves_what_is_said() -> None:
    """Every table of at most three rows, with every person of at most r more: L1, each count, and how many move."""
    before = {rows: counts(rows) for rows in TABLES}
    for rows, found in before.items():
        assert found == [rows.count(item) for item in ITEMS] == counts(rows, 1)
    for most in (1, 2, 3):
        moved = Counter[str]()
        for rows, size in itertools.product(TABLES, range(1, most + 1)):
            for own in itertools.combinations_with_replacement(ITEMS, size):
                after = counts(tuple(sorted(rows + own))) if len(rows) + size > 3 else before[tuple(sorted(rows + own))]
                by = [abs(one - other) for one, other in zip(after, before[rows], strict=True)]
                moved["sum"] = max(moved["sum"], sum(by))
                moved["each"] = max(moved["each"], *by)
                moved["many"] = max(moved["many"], sum(one > 0 for one in by))
        assert dict(moved) == {"sum": most, "each": most, "many": most}


@pytest.mark.further
def test_a_measurement_costs_what_so_many_users_do_and_that_is_met() -> None:
    """Laplace noise on counts at r rows: the largest log ratio of two released vectors is r / scale, and no more."""
    columns, scale, most = Columns(ROW, "item", max_items=1, keep="order"), Fraction(2), 3
    noisy = columns.score_transformation("add_remove", ITEMS) >> tk.then_noisy_histogram(
        tk.MaxDivergence(), scale=scale
    )
    worst = max(
        sum(abs(one - other) for one, other in zip(counts(rows), counts(less), strict=True)) / scale
        for rows in TABLES
        for less in TABLES
        if not Counter(less) - Counter(rows) and len(rows) - len(less) <= most
    )
    assert Fraction(noisy.map(most)) == worst == Fraction(3, 2)


def test_every_row_gets_a_number_and_every_row_counts_for_a_quantile() -> None:
    table = pl.DataFrame({"minutes": [1.0, 1.0, None, 5.0, 2.5]})
    own = NumericColumns(ROW, value="minutes", bounds=(Fraction(0), Fraction(5)), step=Fraction(1, 2))
    read = own.prepare_rows(table).collect()
    assert read[ROW].n_unique() == 5
    assert own.column_names == ("minutes",)
    score = own.score_transformation("add_remove", None)(own.prepare_rows(table))  # of 1, 1, 2.5 and 5
    assert score.tolist() == [-4, -4, 0, 0, 0, 0, -2, -2, -2, -2, -2]
    assert own.contribution_clause == "every row counts"


def test_a_column_of_that_name_is_not_overwritten() -> None:
    with pytest.raises(tk.DataError, match="rename it"):
        numbered_rows(pl.DataFrame({ROW: [7, 7], "item": ["a", "b"]}))


def test_sentences_are_of_rows() -> None:
    assert users_to_rows("1 user, 2 users; a username") == "1 row, 2 rows; a username"
