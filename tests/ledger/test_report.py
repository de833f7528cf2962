"""Reports, exports and pictures of a ledger: of one moment, in one currency, and of nothing that was not meant as text.

What is told as epsilon at the delta of the budget is compared with an optimum that is computed here.
"""

import csv
import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import mpmath
import pytest

import opendp_topk as tk
from opendp_topk.apps.cli import ledger_page
from opendp_topk.apps.ledger import files, report
from opendp_topk.apps.ledger.stated import LINES
from tests.audit.pages import read
from tests.concepts.sentinels import raises_exactly

from .conftest import new
from .workers import PURE, ZCDP, costing

HOSTILE = "<script>alert(1)</script> & \"quoted\" =cmd|'x'"


@pytest.fixture
def ledger(path: Path) -> tk.ledger.Ledger:
    """A budget (epsilon, delta) with an entry of each state, and a hostile label and data set."""
    made = new(path, ("1", "1e-6"), tk.PrivacyProfile(), own_delta="5e-7", dataset=f"visits {HOSTILE}", operator="=Ada")
    made.release(costing(2.0**-8, ZCDP), [1], label=HOSTILE)
    made.reserve(cost=("0.001", "1e-8"), label="a survey")
    raises_exactly(tk.errors.DataTypeError, lambda: made.release(costing(2.0**-10, ZCDP), ["x"], label="=1+1"))
    return made


def test_the_page_shows_every_entry_and_what_is_left(ledger: tk.ledger.Ledger) -> None:
    text = ledger_page.render_ledger_page(ledger)
    page = read(text)
    assert [len(page.all(name)) for name in ("script", "tr", "path")] == [0, 4, 1]
    assert HOSTILE in page.text
    assert "3 entries: 1 released, 1 reserved, 1 failed" in page.text
    assert "1, 1e-06 under PrivacyProfile()" in page.text
    assert "the budget of all releases together, at delta 1e-06" in page.text
    assert page.text.count("not stated") == 1 + len(LINES)
    assert ledger.head() in page.text
    assert "no releases yet" in ledger_page.spending_chart([], [])
    assert "each record follows from the one before it" in page.text
    assert "http" not in re.sub(r"http-equiv", "", text), "it needs no other file and no network"
    assert "default-src 'none'; style-src 'unsafe-inline'" in text
    with mock.patch.dict(sys.modules, {"jinja2": None}):
        raises_exactly(tk.errors.MissingExtraError, lambda: ledger_page.spending_chart([], []), "HTML pages require")


@pytest.mark.parametrize(
    ("minutes", "places"), [([5], [0]), ([0, 10, 40], [0, 0.25, 1]), ([10, 0, 30], [0, 0, 1]), ([7, 7, 7], [0, 0.5, 1])]
)
def test_entries_lie_along_the_time_of_the_chart(minutes: list[int], places: list[float]) -> None:
    """And not to the left of the one before, if a clock was set back."""
    entries = [SimpleNamespace(time=f"2026-01-02T03:{minute:02d}:00+00:00") for minute in minutes]
    chart = ledger_page.spending_chart(entries, [(n + 1) / 4 for n in range(len(places))])
    assert re.findall(r">(\d+)%</text>", chart) == ["0", "25", "50", "75", "100"]
    path = re.findall(r"L([\d.]+) ([\d.]+)", chart)
    first, end = ledger_page._x_coordinate(0), ledger_page._x_coordinate(1)
    assert [float(x) for x, _ in path[:-1:2]] == [round(first + (end - first) * place, 1) for place in places]
    assert [float(x) for x, _ in path[1::2]] == [float(x) for x, _ in path[:-1:2]]


def test_a_ledger_that_contradicts_itself_says_so_on_its_page(path: Path, ledger: tk.ledger.Ledger) -> None:
    content = path.read_bytes().split(b"\x1e")
    path.write_bytes(b"\x1e".join([*content[:3], *content[4:]]))
    shown = read(ledger_page.render_ledger_page(tk.ledger.Ledger(path))).text
    assert "This ledger is inconsistent: record 3 does not follow record 1" in shown


def test_a_long_list_is_paged_in_a_report(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_page, "_LISTED", 3)
    ledger = new(path, 100)
    for number in range(3):
        ledger.reserve(cost=1, label=f"label {number}")
    assert "last 3 entries" not in ledger_page.render_ledger_page(ledger)
    ledger.reserve(cost=1, label="label 3")
    text = ledger_page.render_ledger_page(ledger)
    assert (text.count('<td data-name="no.">'), "label 0" in text, "label 3" in text) == (3, False, True)
    assert "last 3 entries. `opendp-topk ledger export` writes all 4" in text
    assert "4 entries: 4 reserved" in text


def test_exports_are_read_by_others(ledger: tk.ledger.Ledger, path: Path) -> None:
    first, *entries = map(json.loads, report.json_lines(ledger).splitlines())
    assert (first["budget"], first["head"]) == ("1, 1e-06", ledger.head())
    assert [(one["adds"], one["alive"]) for one in first["filters"]] == [
        (one.adds, one.alive) for one in ledger.filters()
    ]
    assert first["room"] == ledger.room()
    assert "filters" not in report.ledger_summary(new(path.with_name("scalar"), 1))
    assert [one["state"] for one in entries] == ["released", "reserved", "failed"]
    assert entries[0]["label"] == HOSTILE
    assert "\r" not in report.csv_table(ledger)
    rows = list(csv.DictReader(io.StringIO(report.csv_table(ledger))))
    assert [row["number"] for row in rows] == ["1", "2", "3"]
    assert (rows[2]["label"], rows[0]["operator"]) == ("'=1+1", "'=Ada"), "no formula for a spreadsheet"
    assert rows[1]["cost"] == "0.001, 1.0000000000000002e-08" or float(rows[1]["cost"].split(", ")[0]) == 0.001


def test_an_officer_reads_who_is_protected_and_no_code(path: Path) -> None:
    words = {"publisher": "the city", "period": "2026", "purpose": "a plan of buses", "person": "guest"}
    given = {"dataset": "visits", "metric": tk.UserDistance("replace"), "user": "card", "d_in": 2}
    ledger = tk.ledger.Ledger.create(path, budget=2, measure=tk.MaxDivergence(), **given, **words)
    ledger.reserve(cost=1, label="a survey", period="May", purpose="a poster")
    shown = re.sub(
        r"<details>.*?</details>|<style>.*?</style>", "", ledger_page.render_ledger_page(ledger), flags=re.DOTALL
    )
    text = read(shown).text.partition("Amounts in the ledger")[0]
    for word in (
        *("2 people (each a guest), whose rows are replaced by others", "a guest, identified by the column card"),
        *("the city", "2026", "a plan of buses", "May, a poster", "epsilon 2", "epsilon 1", "50\u00a0%", "73.2\u00a0%"),
    ):
        assert word in text, word
    assert text.count("not stated") == len(LINES) - 3
    for code in ("UserDistance", "Divergence", "d_in"):
        assert code not in text, code


@pytest.fixture
def busy(path: Path, monkeypatch: pytest.MonkeyPatch) -> tk.ledger.Ledger:
    """A ledger of 100 from which somebody takes 1 whenever its last record, or its size, has been read."""
    ledger, other, working = new(path, 100), tk.ledger.Ledger(path), []

    def then_debited(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: files.FileLog) -> Any:
            found = real(self)
            if self is ledger._journal.log and not working:
                working.append(1)
                other.reserve(cost=1)
                working.clear()
            return found

        return call

    for name in ("last_record", "_checked_file_size"):
        monkeypatch.setattr(files.FileLog, name, then_debited(getattr(files.FileLog, name)))
    return ledger


def test_a_summary_is_of_one_moment(busy: tk.ledger.Ledger) -> None:
    for _ in range(2):
        found = report.ledger_summary(busy)
        assert found["spent"] + found["left"] == 100
        assert found["head"].startswith(f"{found['spent']:.0f}-")


def test_entries_are_those_of_the_summary_beside_them(busy: tk.ledger.Ledger) -> None:
    busy.spent()
    whole, *entries = map(json.loads, report.json_lines(busy).splitlines())
    assert len(entries) == whole["spent"] > 0


def test_a_report_is_of_one_moment(busy: tk.ledger.Ledger) -> None:
    busy.spent()
    text = ledger_page.render_ledger_page(busy)
    (entries,) = re.findall(r"(\d+) entr(?:y|ies): ", text)
    (spent,) = re.findall(r"<b>epsilon (\d+)</b><span>spent so far", text)
    (head,) = re.findall(r"(\d+)-[0-9a-f]{64}", text)
    assert int(entries) == int(spent) == int(head) == text.count('<td data-name="no.">') > 0
    assert "contradicts" not in text


def test_a_moment_is_read_and_not_written(busy: tk.ledger.Ledger) -> None:
    now = busy.at_one_moment()
    before = now.spent(), now.count(), now.head(), len(now.history()), now.remaining()
    busy.reserve(cost=5)
    assert before == (now.spent(), now.count(), now.head(), len(now.history()), now.remaining())
    assert (now.verify(), now.verify(now.head()), now.at_one_moment().head()) == ([], [], now.head())
    raises_exactly(tk.errors.LedgerError, lambda: now.reserve(cost=1), "in the state of one moment")
    raises_exactly(tk.errors.ParameterError, lambda: now.entry(busy.count()), "number must be the number of an entry")
    assert busy.spent() > now.spent()


def test_a_backup_is_of_one_moment_and_so_is_the_head_beside_it(busy: tk.ledger.Ledger, path: Path) -> None:
    now, copy = busy.at_one_moment(), path.with_name("copy")
    now.backup(copy)
    assert (tk.ledger.Ledger(copy).head(), tk.ledger.Ledger(copy).spent()) == (now.head(), now.spent())


BUDGET = ("1", "1e-6")


def epsilon_of(rho: float, own: float, delta: float) -> float:
    """The least epsilon of rho-zCDP, up to an event of probability ``own``, at ``delta``: over all orders alpha."""
    left = (delta - own) / (1 - own)

    def at(alpha: mpmath.mpf) -> mpmath.mpf:
        return alpha * rho + (mpmath.log(1 / left) + (alpha - 1) * mpmath.log(1 - 1 / alpha) - mpmath.log(alpha)) / (
            alpha - 1
        )

    return float(min(at(mpmath.mpf(1) + mpmath.mpf(2) ** (mpmath.mpf(step) / 64)) for step in range(-128, 1280)))


@pytest.mark.further
def test_a_budget_of_pairs_is_told_as_epsilon_at_its_delta(path: Path) -> None:
    ledger = new(path, BUDGET, tk.PrivacyProfile(), own_delta="5e-7")
    assert report.budget_summary_texts(ledger) == ("epsilon 1", "epsilon 0", "epsilon 1", "at delta 1e-06")
    assert report.attack_accuracies(ledger)[0] == 50.0
    ledger.release(costing(2.0**-8, ZCDP), [1])
    ledger.reserve(cost=("0.001", "1e-7"))
    spent = report.spent_epsilon_or_rho(ledger)
    exact = epsilon_of(2.0**-8 + 0.001, 1e-7, 1e-6)
    assert exact * (1 - 1e-5) <= spent <= exact * 1.001
    _, gone, left, _ = report.budget_summary_texts(ledger)
    up, down = float(gone.split()[1]), float(left.split()[1])
    assert spent <= up <= spent * 1.001
    assert (1 - spent) * 0.999 <= down <= 1 - spent
    now, end = report.attack_accuracies(ledger)
    assert 0 <= now - 100 / (1 + float(mpmath.exp(-spent))) <= 0.101
    assert 0 <= end - 100 / (1 + float(mpmath.exp(-1))) <= 0.101


@pytest.mark.further
def test_of_several_sums_the_least_is_told(path: Path) -> None:
    """Pure releases are told as their sum where that is less than what their rho says, and the other way round."""
    ledger = new(path, ("1", "1e-9"), tk.PrivacyProfile())
    for number in range(1, 5):
        ledger.release(costing(0.25), [1])
        _, spent = report.entry_budget_shares(ledger)[number]
        assert (report.spent_epsilon_or_rho(ledger), spent) == (number / 4, number / 4)
    small = new(path.with_name("small.ledger"), ("2", "1e-3"), tk.PrivacyProfile())
    for _ in range(60):
        small.release(costing(2.0**-6), [1])
    assert report.spent_epsilon_or_rho(small) < 60 / 64
    assert report.entry_budget_shares(small)[60][1] < 60 / 128


@pytest.mark.parametrize(
    ("measure", "budget", "cost", "told"),
    [
        (PURE, 2, "0.5", ("epsilon 2", "epsilon 0.5", "epsilon 1.5", "")),
        (PURE, 1, "1/3", ("epsilon 1", "epsilon 0.3334", "epsilon 0.6666", "")),
        (ZCDP, "0.5", "0.1", ("rho 0.5", "rho 0.1", "rho 0.4", "")),
        (
            tk.Approximate(PURE),
            ("1", "1e-6"),
            ("0.25", "1e-7"),
            ("epsilon 1", "epsilon 0.25", "epsilon 0.75", "at delta 1e-06"),
        ),
    ],
)
def test_other_budgets_are_told_in_their_own(
    path: Path, measure: tk.Measure, budget: object, cost: object, told: tuple[str, ...]
) -> None:
    ledger = new(path, budget, measure)
    ledger.reserve(cost=cost)
    assert report.budget_summary_texts(ledger)[:2] == told[:2]
    assert float(report.budget_summary_texts(ledger)[2].split()[1]) == pytest.approx(
        float(told[2].split()[1]), rel=1e-9
    )
    assert report.budget_summary_texts(ledger)[3] == told[3]
    now, end = report.attack_accuracies(ledger)
    assert 50 < now < end < 100


def test_whom_it_protects_is_said_in_words() -> None:
    said = [
        report.protected_unit_text(kind, number, "guest") for kind in ("add_remove", "replace") for number in (1, 2)
    ]
    assert said == [
        "one guest more or less",
        "2 people (each a guest) more or less",
        "one guest, whose rows are replaced by others",
        "2 people (each a guest), whose rows are replaced by others",
    ]
    assert report.protected_unit_text("add_remove", 1, None) == "one user more or less"
