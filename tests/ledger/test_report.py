"""The report, the export and the picture: what they show, and that they show nothing that was not meant as text."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import opendp_topk as tk
from opendp_topk.apps.ledger import report
from opendp_topk.apps.ledger import report as export
from opendp_topk.apps.ledger.stated import LINES

from .conftest import new
from .workers import ZCDP, costing

HOSTILE = "<script>alert(1)</script> & \"quoted\" =cmd|'x'"


@pytest.fixture
def ledger(path: Path) -> tk.Ledger:
    """A budget (epsilon, delta) with an entry of each state, and a hostile label and data set."""
    made = new(path, ("1", "1e-6"), tk.PrivacyProfile(), own_delta="5e-7", dataset=f"visits {HOSTILE}", operator="=Ada")
    made.release(costing(2.0**-8, ZCDP), [1], label=HOSTILE)
    made.reserve(cost=("0.001", "1e-8"), label="a survey")
    with pytest.raises(tk.DataError):
        made.release(costing(2.0**-10, ZCDP), ["x"], label="=1+1")
    return made


class Page(HTMLParser):
    """The elements and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_shows_every_entry_and_what_is_left(ledger: tk.Ledger) -> None:
    text = report.ledger_page(ledger)
    page = Page(text)
    assert "script" not in page.tags
    assert page.tags.count("tr") == 4
    assert page.tags.count("path") == 1
    assert HOSTILE in page.text
    assert "3 entries: 1 released, 1 reserved, 1 failed" in page.text
    assert "1, 1e-06 under PrivacyProfile()" in page.text
    assert "the budget of all releases together, at delta 1e-06" in page.text
    assert page.text.count("not stated") == 1 + len(LINES)
    assert ledger.head() in page.text
    assert "Every record follows from the one before it" in page.text
    assert "http" not in re.sub(r"http-equiv", "", text), "it needs no other file and no network"


def test_a_ledger_that_contradicts_itself_says_so_on_its_page(path: Path, ledger: tk.Ledger) -> None:
    content = path.read_bytes().split(b"\x1e")
    path.write_bytes(b"\x1e".join([*content[:3], *content[4:]]))
    assert (
        "This ledger contradicts itself: record 3 does not follow record 1"
        in Page(report.ledger_page(tk.Ledger(path))).text
    )


def test_exports_are_read_by_others(ledger: tk.Ledger) -> None:
    first, *entries = map(json.loads, export.json_lines(ledger).splitlines())
    assert (first["budget"], first["head"]) == ("1, 1e-06", ledger.head())
    assert [one["state"] for one in entries] == ["released", "reserved", "failed"]
    assert entries[0]["label"] == HOSTILE
    rows = list(csv.DictReader(io.StringIO(export.csv_table(ledger))))
    assert [row["number"] for row in rows] == ["1", "2", "3"]
    assert (rows[2]["label"], rows[0]["operator"]) == ("'=1+1", "'=Ada"), "no formula for a spreadsheet"
    assert rows[1]["cost"] == "0.001, 1.0000000000000002e-08" or float(rows[1]["cost"].split(", ")[0]) == 0.001


def test_an_officer_reads_who_is_protected_and_no_code(path: Path) -> None:
    words = {"publisher": "the city", "period": "2026", "purpose": "a plan of buses", "person": "guest"}
    given = {"dataset": "visits", "metric": tk.UserDistance("replace"), "user": "card", "d_in": 2}
    ledger = tk.Ledger.create(path, budget=2, measure=tk.MaxDivergence(), **given, **words)
    ledger.reserve(cost=1, label="a survey", period="May", purpose="a poster")
    shown = re.sub(r"<details>.*?</details>|<style>.*?</style>", "", report.ledger_page(ledger), flags=re.DOTALL)
    text = Page(shown.partition("In numbers of the ledger")[0]).text
    for word in (
        "2 people (each a guest), whose rows are exchanged for others",
        "a guest, told apart by the column card",
    ):
        assert word in text
    for word in (
        "the city",
        "2026",
        "a plan of buses",
        "May, a poster",
        "epsilon 2",
        "epsilon 1",
        "50\u00a0%",
        "73.2\u00a0%",
    ):
        assert word in text, word
    assert text.count("not stated") == len(LINES) - 3
    for code in ("UserDistance", "Divergence", "d_in"):
        assert code not in text, code
