"""``release --pad``: an answer at the deadline or none, by a clock of the test."""

import json
import os
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest

import opendp_topk as tk
from opendp_topk.apps.planning.sources import TableReader

from ..concepts.clocks import SECOND, Clock, unwaited
from .conftest import Command, Library, record_of

EXACT = "--epsilon", 10**6


@pytest.fixture
def clock() -> Iterator[Clock]:
    with unwaited() as clock:
        yield clock


def opening_takes(seconds: int, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = TableReader.open_source

    def slow(self: TableReader, *arguments: Any) -> Any:
        clock.now += seconds * SECOND
        return opened(self, *arguments)

    monkeypatch.setattr(TableReader, "open_source", slow)


@pytest.mark.further
def test_the_answer_and_errors_come_at_the_deadline(
    command: Command, library: Library, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening_takes(3, clock, monkeypatch)
    monkeypatch.setattr("opendp_topk.apps.planning.releasing.utc_timestamp", lambda: "2001-02-03T04:05:06+00:00")
    start, path = clock.now, library.folder / "top.json"
    result = command(*library.release(*EXACT, "--pad", 60, "--out", path))
    assert (result.code, clock.now - start) == (0, 60 * SECOND)
    record = record_of(path.read_text(encoding="utf-8"))
    assert (record["items"][0], record["padded"]) == ("Emma", 60)
    assert record["time"].startswith("2001-"), "the moment of the draw is told"
    assert "60 seconds after the table began to be opened" in command("show", path).flat
    hidden = command(*library.release(*EXACT, "--pad", 60, "--log", "json")).err
    assert {json.loads(line).get("step") for line in hidden.splitlines()} == {"planning", "releasing", None}
    start = clock.now
    command(*library.release(*EXACT, "--pad", 60, table=library.candidates)).complains(1)
    assert clock.now - start == 60 * SECOND


@pytest.mark.further
def test_a_missed_deadline_and_an_interrupt_cost_and_tell_nothing(
    command: Command, library: Library, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = library.folder / "own.ledger"
    metric = tk.UserDistance()
    tk.ledger.Ledger.create(
        ledger, budget=4, measure=tk.MaxDivergence(), dataset="loans", metric=metric, d_in=1
    ).close()
    opening_takes(3, clock, monkeypatch)
    arguments = library.release("--epsilon", 1, "--ledger", ledger, "--out", library.folder / "top.json")
    before = set(os.listdir(library.folder))
    command(*arguments, "--pad", 2).complains(1, "deadline was missed", "its cost stays spent")
    monkeypatch.setattr(clock, "sleep", mock.Mock(side_effect=KeyboardInterrupt))
    command(*arguments, "--pad", 5).complains(130, "interrupted before the deadline", "the cost is spent")
    assert set(os.listdir(library.folder)) == before | {"own.ledger.records"}
    assert os.listdir(library.folder / "own.ledger.records") == []
    with tk.ledger.Ledger(ledger) as account:
        assert account.spent() == 2
