"""The measurements of docs/accuracy.md: scores by hand, a table on which all mechanisms are right, and the page."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from . import accuracy, accuracy_text, real_tables
from .accuracy import Cell, Row, Score
from .real_tables import RealTable


@pytest.mark.quick
@pytest.mark.parametrize(
    ("winners", "found", "missing"),
    [((0, 1), 1, 0), ((2, 0), 1, 0), ((1, 2), 0.5, 4 / 14), ((3,), 0, 13 / 14), ((), 0, 1), ((0,), 0.5, 5 / 14)],
)
def test_any_of_equal_counts_is_right_the_rest_missing(winners: Sequence[int], found: float, missing: float) -> None:
    score = accuracy.score_releases(np.array([9, 5, 5, 1]), 2, [[winners, (0, 1)]])
    assert (score.found, score.exact) == ((1 + found) / 2, (1 + (found == 1)) / 2)
    assert score.missing == pytest.approx(missing / 2)
    assert score.error == pytest.approx((1 - found) / 2)


def test_the_error_is_that_of_the_truncations() -> None:
    drawn = [[(0,), (0,)], [(1,), (0,)], [(1,), (1,)]]
    assert accuracy.score_releases(np.array([2, 1]), 1, drawn).error == pytest.approx(0.5 / np.sqrt(3))


def test_a_truncated_table_has_at_most_so_many_items_of_each_user() -> None:
    users = np.repeat(np.arange(60), np.arange(60) % 5 + 1)
    table = RealTable.from_pairs("made up", np.tile(users, 2), np.tile(np.arange(len(users)) % 7, 2))
    assert table.counts.sum() == len(users)
    for most in (1, 3, 5):
        counts = table.truncated(most, np.random.default_rng(1))
        assert counts.sum() == np.minimum(np.arange(60) % 5 + 1, most).sum()
        assert np.all(counts <= table.counts)
        assert np.array_equal(counts, table.counts) == (most == 5)


@pytest.mark.slow
@pytest.mark.parametrize(("question", "cap"), [("ranking", 1), ("unlisted", None)])
def test_counts_far_apart_are_found_by_all(question: str, cap: int | None) -> None:
    """Gaps are 20,000 scales or more, so a mistake has probability below 1e-1000."""
    items = np.repeat(np.arange(4), [90_000, 60_000, 30_000, 10])
    row = accuracy.measure_cell(
        RealTable.from_pairs("made up", np.arange(len(items)), items), Cell("made up", question, cap, 2, 2.0), 20, True
    )
    assert row.chosen in row.scores
    assert len(row.scores) > 3
    assert set(row.scores.values()) == {Score(1, 0, 0, 1)}
    assert row.others == ({} if cap is None else {"OpenDP": Score(1, 0, 0, 1)})
    assert not row.loses


def test_the_page_lists_the_cells_whose_plan_finds_less() -> None:
    few, many, close = Score(0.5, 0.01, 0.2, 0), Score(0.75, 0.01, 0.1, 0.5), Score(0.515, 0.001, 0.2, 0)
    cells = [Cell("made up", "ranking", None, 10, epsilon) for epsilon in (0.1, 1.0, 3.0)]
    scores = [
        {"joint": few, "other": many},
        {"joint": few, "other": close},
        {"joint": Score(0.6, 0.2, 0, 0), "other": many},
    ]
    rows = [Row(cell, found, "joint", {"OpenDP": few}, "other") for cell, found in zip(cells, scores, strict=True)]
    text = accuracy_text.markdown(rows, [RealTable("made up", np.arange(1200))], 2.0)
    assert "In 1 of 3 cells (33%)" in text
    assert "made up 1,200 (3)." in text
    assert "| made up | listed, ranking | - | 10 | 0.1 | joint | 0.50 | other | 0.75 |" in text
    assert "| listed, ranking | - | 10 | 0.50 (0.75), 0.20, 0.00 | 0.50 (0.52), 0.20, 0.00 | 0.60 (0.75)" in text
    assert "Of 3 cells of sets, the plan finds less in 1, and if it knows the k-th count in 0." in text
    assert "| OpenDP | made up | 3 | 0 | 0 | +0.033 at k = 10 |" in text


def test_tables_that_are_not_there_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "HEPTH.n4096.npy", np.array([3, 1]))
    (only,) = real_tables.count_vectors(tmp_path)
    assert (only.name, only.counts.tolist(), only.pairs) == ("papers", [3, 1], None)
    assert capsys.readouterr().out.count("left out") == 3
    assert {cell.question for cell in accuracy.cells(only)} == {"ranking", "unlisted"}


def test_users_and_items_are_read_from_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "retail.dat").write_text("0 10 10 \n10 \n", encoding="ascii")
    (baskets,) = real_tables.pair_files(tmp_path)
    assert np.array_equal(baskets.pairs or (), [[0, 0, 1], [0, 1, 1]])
    assert capsys.readouterr().out.count("left out") == 1
    (tmp_path / "u.data").write_text("7\t5\t1\t0\n3\t5\t2\t0\n", encoding="ascii")
    readers = list(real_tables.pair_files(tmp_path))[1]
    assert np.array_equal(readers.pairs or (), [[0, 1], [0, 0]])
