"""``--by-gap``: the exact set of the candidates that stand apart, its record, and who pays for it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import opendp_topk as tk
from opendp_topk.apps.planning.verification import AGREES, DISAGREES, verify_record

from .command import edited, record_of
from .conftest import Command
from .test_paid_plans import ways
from .test_show import page_of, saved, schema

__all__ = ["schema"]
VISITS = {"/d": 12, "/a": 900, "/b": 870, "/c": 11, "/e": 10}
CLEAR = "--epsilon", 10**6, "--delta", 1e-8
USUAL = "--epsilon", 1, "--delta", 1e-6


@pytest.fixture
def visits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two pages of many visitors, three of few, and a list of them all."""
    monkeypatch.chdir(tmp_path)
    rows = [(visitor, page, 0.5) for page, number in VISITS.items() for visitor in range(number)]
    pl.DataFrame(rows, schema=["visitor", "page", "paid"], orient="row").write_parquet("visits.parquet")
    Path("pages.txt").write_text("".join(f"{page}\n" for page in VISITS), "utf-8")
    return tmp_path


def release(*more: object) -> tuple[object, ...]:
    own = "release", "visits.parquet", "--user", "visitor", "--item", "page", "--candidates", "pages.txt"
    return (*own, "--k", 4, "--by-gap", *more)


@pytest.mark.further
def test_the_set_above_the_largest_gap_is_released(command: Command, visits: Path, schema: Any) -> None:
    record = record_of(command(*release(*CLEAR, "--out", "-")).out)
    assert (record["items"], record["k"], record["release"]) == (["/a", "/b"], 4, "set")
    assert [error.message for error in schema.iter_errors(record)] == []
    assert {one.verdict for one in verify_record(record) if one.what in ("measurement", "items", "cost")} == {AGREES}


@pytest.mark.slow
def test_sums_tables_and_pages_are_of_the_same_set(command: Command, visits: Path, tmp_path: Path) -> None:
    record = record_of(command(*release(*CLEAR, "--out", "-")).out)
    summed = release(*CLEAR, "--sum", "paid", "--bounds", "0,1", "--step", "0.5", "--out", "-")
    assert record_of(command(*summed).out)["items"] == ["/a", "/b"]
    assert command(*release(*CLEAR, "--out", "set.csv")).code == 0
    assert Path("set.csv").read_text("utf-8") == "item\n/a\n/b\n"
    page = " ".join(page_of(command, tmp_path, record).text.split())
    shown = command("show", saved(tmp_path, record)).flat
    for words in (
        "Those of 5 candidates that stand apart by their numbers of users, 4 at most",
        "how many they are was drawn by the gaps between consecutive counts",
        "exactly the best candidates by their counts",
    ):
        assert words in page
        assert words in shown
    assert "Where it ends was drawn" in page
    assert "short of" not in page + shown


@pytest.mark.further
def test_where_no_gap_is_large_nothing_comes(command: Command, visits: Path, tmp_path: Path) -> None:
    """All gaps between pages of few visitors are of one: even the largest is 35 or more below what passes."""
    Path("pages.txt").write_text("/c\n/d\n/e\n", "utf-8")
    done = command(*release("--epsilon", 4, "--delta", 1e-15, "--k", 2, "--out", "none.json"))
    assert "no set came out: no gap surely was large enough" in done.flat
    record = record_of(Path("none.json").read_text("utf-8"))
    assert record["items"] == []
    assert command("verify", "none.json").code == 0
    assert "Nothing was released: no gap surely was large enough." in page_of(command, tmp_path, record).text


@pytest.mark.further
def test_a_plan_tells_what_the_release_does(command: Command, visits: Path) -> None:
    told = command("plan", "--k", 4, "--candidates", 5, "--by-gap", *USUAL)
    done = command(*release(*USUAL))
    assert told.field("question") == "which of 5 candidates, at most 4, stand apart by their counts?"
    assert told.field("scale").startswith("4.0 ")
    for name in ("accuracy", "cost"):
        assert told.field(name) == done.field(name)


@pytest.mark.slow
def test_a_ledger_pays_and_every_edit_is_found(command: Command, visits: Path) -> None:
    book = "budget.ledger"
    own = "--dataset", "visits", "--epsilon", 3, "--delta", 1e-5, "--own-delta", 1e-5, "--user", "visitor"
    assert command("ledger", "create", book, *own).code == 0
    asked = release(*USUAL, "--ledger", book)
    assert command(*asked, "--out", "set.json").code == 0
    record = record_of(Path("set.json").read_text("utf-8"))
    with tk.Ledger(book) as ledger:
        found = {one.what: one.verdict for one in verify_record(record, ledger)}
    assert {one for one, verdict in found.items() if verdict != AGREES} == {"table"}
    assert command("show", "set.json", "--ledger", book).code == 0
    assert command(*asked, "--from-record", "set.json").code == 0
    command(*asked, "--k", 3, "--from-record", "set.json").complains(1, "another question")
    edits: list[tuple[tuple[Any, ...], Any, str]] = [
        (("items",), ["/a", "/a"], "items"),
        (("k",), 3, "measurement"),
        (("release",), "ranking", "measurement"),
        (("mechanism", "test_scale"), 4.0, "cost"),
        (("mechanism", "threshold"), 1.0, "cost"),
        (("mechanism", "noise"), "Gumbel", "cost"),
        (("mechanism", "noise"), "none", "measurement"),
        (("mechanism", "candidates"), 4, "measurement"),
        (("scale",), 8.0, "cost"),
        (("accuracy", "within_users"), 3, "accuracy"),
    ]
    for path, value, what in edits:
        verdicts = {one.what: one.verdict for one in verify_record(edited(record, path, value))}
        assert verdicts[what] == DISAGREES, (path, value, verdicts)
    for name, value in (("test_scale", None), ("test_scale", "2"), ("candidates", None), ("candidates", 1)):
        broken = edited(record, ("mechanism", name), value)
        command("show", saved(visits, broken)).complains(1, "is not whole")


@pytest.mark.slow
def test_several_are_planned_paid_and_drawn(command: Command, visits: Path) -> None:
    asked = "plan", "--k", 4, "--candidates", "pages.txt", "--by-gap", "--epsilon", 2, "--delta", 1e-6
    found = ways(command(*asked, "--releases", 2))
    assert list(found) == ["pure", "zCDP"]
    book = Path("budget.ledger")
    for commands in found.values():
        book.unlink(missing_ok=True)
        shutil.rmtree(f"{book}.records", ignore_errors=True)
        for words in commands:
            assert command(*words).code == 0, words
        with tk.Ledger(book) as ledger:
            assert [one.state for one in ledger.history()] == ["released"] * 2
    command("ledger", "create", "other.ledger", "--dataset", "d", "--epsilon", 2, "--delta", 1e-6, "--own-delta", 1e-6)
    within = command(*asked[:6], "--ledger", "other.ledger")
    assert "--by-gap --epsilon 2 --delta 1e-06" in within.out
