"""What is told of a ledger in use is told of one moment."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.apps.ledger import files, report
from opendp_topk.apps.ledger import report as export
from tests.concepts.sentinels import raises_exactly

from .conftest import new


@pytest.fixture
def busy(path: Path, monkeypatch: pytest.MonkeyPatch) -> tk.Ledger:
    """A ledger of 100 from which somebody takes 1 whenever its last record, or its size, has been read."""
    ledger, other, working = new(path, 100), tk.Ledger(path), []

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


def test_a_summary_is_of_one_moment(busy: tk.Ledger) -> None:
    for _ in range(2):
        found = export.ledger_summary(busy)
        assert found["spent"] + found["left"] == 100
        assert found["head"].startswith(f"{found['spent']:.0f}-")


def test_entries_are_those_of_the_summary_beside_them(busy: tk.Ledger) -> None:
    busy.spent()
    whole, *entries = map(json.loads, export.json_lines(busy).splitlines())
    assert len(entries) == whole["spent"] > 0


def test_a_report_is_of_one_moment(busy: tk.Ledger) -> None:
    busy.spent()
    text = report.ledger_page(busy)
    (entries,) = re.findall(r"(\d+) entr(?:y|ies): ", text)
    (spent,) = re.findall(r"<b>epsilon (\d+)</b><span>spent so far", text)
    (head,) = re.findall(r"(\d+)-[0-9a-f]{64}", text)
    assert int(entries) == int(spent) == int(head) == text.count('<td data-name="no.">') > 0
    assert "contradicts" not in text


def test_a_moment_is_read_and_not_written(busy: tk.Ledger) -> None:
    now = busy.at_one_moment()
    before = now.spent(), now.count(), now.head(), len(now.history()), now.remaining()
    busy.reserve(cost=5)
    assert before == (now.spent(), now.count(), now.head(), len(now.history()), now.remaining())
    assert (now.verify(), now.verify(now.head()), now.at_one_moment().head()) == ([], [], now.head())
    raises_exactly(tk.LedgerError, lambda: now.reserve(cost=1), "as it was at one moment")
    raises_exactly(tk.ParameterError, lambda: now.entry(busy.count()), "number must be that of an entry")
    assert busy.spent() > now.spent()


def test_a_backup_is_of_one_moment_and_so_is_the_head_beside_it(busy: tk.Ledger, path: Path) -> None:
    now, copy = busy.at_one_moment(), path.with_name("copy")
    now.backup(copy)
    assert (tk.Ledger(copy).head(), tk.Ledger(copy).spent()) == (now.head(), now.spent())
