"""``--rows-per-person``: tables that no column of people is in, and a bound that is stated and kept."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import opendp_topk as tk
from opendp_topk.apps.planning.verification import AGREES, DISAGREES, verify_record

from .command import record_of
from .conftest import Command
from .test_paid_plans import ways
from .test_show import page_of, schema

__all__ = ["schema"]
EXACT = "--epsilon", 10**9
LISTED = "--candidates", "pages.txt", "--k", 2
PEOPLE = "who has at most 10 rows (stated, not checked)"


@pytest.fixture
def views(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Views of pages, a row each: /b most often, and nobody knows by whom."""
    monkeypatch.chdir(tmp_path)
    Path("pages.txt").write_text("/a\n/b\n/c\n")
    pl.DataFrame({"page": ["/b"] * 40 + ["/a"] * 25 + ["/c"] * 3, "ms": [*range(68)]}).write_parquet("views.parquet")
    return Path("views.parquet")


def release(file: Path, *more: object, rows: int = 10) -> tuple[object, ...]:
    return "release", file, "--rows-per-person", rows, "--item", "page", *more


@pytest.mark.further
def test_rows_are_counted_at_the_price_of_so_many(command: Command, views: Path, schema: Any, tmp_path: Path) -> None:
    assert record_of(command(*release(views, *LISTED, *EXACT, "--out", "-")).out)["items"] == ["/b", "/a"]
    done = command(*release(views, *LISTED, "--epsilon", 1, "--out", "top.json"))
    assert done.code == 0, done
    record = record_of(Path("top.json").read_text("utf-8"))
    assert [error.message for error in schema.iter_errors(record)] == []
    assert (record["d_in"], record["d_out"], record["scale"]) == (10, 1.0, 20.0)
    assert (record["stated"], record["mechanism"]["user"]) == ({"at_most": 10}, "row number")
    assert DISAGREES not in {one.verdict for one in verify_record(record)}
    assert "for 10 rows added or removed" in done.flat
    assert "users" not in done.out
    told = command("verify", "top.json").flat
    assert "the map gives the same epsilon for 10 rows added or removed" in told
    assert "user" not in told
    shown = command("show", "top.json").flat
    page = " ".join(page_of(command, tmp_path, record).text.split())
    for words in (PEOPLE, "whom no column of the table tells apart", "with most rows", "Every row counted.", "20 rows"):
        assert words in shown
        assert words in page
    edited = copy.deepcopy(record)
    edited["d_in"] = 1
    assert next(one for one in verify_record(edited) if one.what == "cost").why.endswith("for 1 row added or removed")
    assert {one.what: one.verdict for one in verify_record(edited)}["cost"] == DISAGREES


@pytest.mark.further
def test_a_ledger_is_charged_for_the_person(command: Command, views: Path) -> None:
    book = "budget.ledger"
    command("ledger", "create", book, "--dataset", "views", "--epsilon", 3, "--user", "reader")
    assert command(*release(views, *LISTED, "--epsilon", 1, "--ledger", book, "--out", "top.json")).code == 0
    record = json.loads(Path("top.json").read_text("utf-8"))
    with tk.Ledger(book) as ledger:
        assert (ledger.history()[0].d_in, ledger.history()[0].at_most, ledger.spent()) == ("10", 10, 1.0)
        assert {one.verdict for one in verify_record(record, ledger) if one.what != "table"} == {AGREES}
    again = release(views, *LISTED, "--epsilon", 1, "--ledger", book, "--from-record", "top.json")
    assert command(*again).out.split()[-1:] != []
    other = release(views, *LISTED, "--epsilon", 1, "--ledger", book, "--from-record", "top.json", rows=9)
    command(*other).complains(1, "another question")
    assert PEOPLE in command("show", "top.json", "--ledger", book).flat
    command("ledger", "create", "bare.ledger", "--dataset", "views", "--epsilon", 3)
    bare = release(views, *LISTED, "--epsilon", 1, "--ledger", "bare.ledger")
    command(*bare).complains(2, "ledger create --user")


@pytest.mark.further
def test_sums_and_quantiles_of_rows(command: Command, views: Path) -> None:
    """The median of 0 to 67 in steps of 1, and /a, whose rows have the largest numbers but three."""
    asked = "release", views, "--rows-per-person", 3, "--quantile", "1/2", "--column", "ms", "--bounds", "0,100"
    record = record_of(command(*asked, *EXACT, "--out", "-").out)
    assert record["items"][0] in (33, 34)
    assert "every row counts" in record["accuracy"]["words"]
    best = release(views, "--candidates", "pages.txt", "--k", 1, "--sum", "ms", "--bounds", "0,100", rows=3)
    record = record_of(command(*best, *EXACT, "--out", "-").out)
    assert (record["items"], record["d_in"]) == (["/a"], 3)
    Path("sum.json").write_text(json.dumps(record))
    assert "What one row adds to one item was cut to 0 at least and 100 at most" in command("show", "sum.json").flat


@pytest.mark.further
def test_nobody_lists_the_items(command: Command, views: Path) -> None:
    asked = release(views, "--k", 1, "--epsilon", 10**6, "--delta", 1e-6, "--max-items", 1, rows=2)
    record = record_of(command(*asked, "--out", "-").out)
    assert (record["items"], record["d_in"]) == (["/b"], 2)


@pytest.mark.further
def test_a_plan_tells_what_the_release_does(command: Command, views: Path) -> None:
    asked = "--k", 2, "--rows-per-person", 10, "--epsilon", 1
    told = command("plan", "--candidates", 3, *asked)
    done = command(*release(views, *LISTED, "--epsilon", 1))
    assert told.field("accuracy") == done.field("accuracy")
    assert told.field("cost") == done.field("cost")
    assert "rows of" in told.field("accuracy")
    assert told.field("question") == "which 2 of 3 candidates have most rows?"


@pytest.mark.slow
def test_planned_releases_are_paid_and_drawn(command: Command, views: Path) -> None:
    found = ways(command("plan", *LISTED, "--rows-per-person", 4, "--epsilon", 2, "--delta", 1e-6, "--releases", 2))
    assert list(found) == ["pure", "zCDP"]
    for name, commands in found.items():
        Path("budget.ledger").unlink(missing_ok=True)
        shutil.rmtree("budget.ledger.records", ignore_errors=True)
        for words in commands:
            own = ["views.parquet" if one == "visits.parquet" else one for one in words]
            assert command(*own).code == 0, (name, own)
