"""``release`` from a ledger that says who a person is, and the same question asked again."""

import json
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk

from .command import record_of
from .conftest import Command, Library


@pytest.fixture
def ledger(command: Command, library: Library) -> Path:
    """A ledger whose people are told apart by the column ``reader``."""
    path = library.folder / "budget.ledger"
    more = "--user", "reader", "--person", "borrower", "--publisher", "the library", "--purpose", "a poster"
    assert command("ledger", "create", path, "--dataset", "loans", "--epsilon", 9, *more).code == 0
    return path


def entries(ledger: Path) -> list[Any]:
    with tk.ledger.Ledger(ledger) as account:
        return account.history()


@pytest.mark.further
def test_another_column_is_refused_before_the_table_is_read(command: Command, library: Library, ledger: Path) -> None:
    visits = library.release("--epsilon", 1, "--ledger", ledger, table=library.folder / "none.parquet")
    other = [{"reader": "visit"}.get(str(one), one) for one in visits]
    told = "a person is a borrower", "--user reader", "state with --at-most how many values of visit"
    command(*other).complains(2, *told)
    command(*visits, "--at-most", 2).complains(2, "omit it")
    command(*other, "--at-most", 0).complains(2, "--at-most must be an integer >= 1")
    command(*other, "--shared").complains(2, "--shared requires --at-most")
    command(*library.release("--epsilon", 1, "--at-most", 2)).complains(2, "--at-most requires a --ledger")
    command(*library.release("--epsilon", 1, "--period", "a\nb")).complains(2, "period must be one line")
    assert entries(ledger) == []


@pytest.mark.further
def test_the_target_is_met_for_the_person_by_the_bound(command: Command, library: Library, ledger: Path) -> None:
    import polars as pl

    frame = pl.read_parquet(library.table)
    frame.with_columns(visit=pl.int_range(pl.len())).write_parquet(library.table)
    asked = [{"reader": "visit"}.get(str(one), one) for one in library.release("--epsilon", 1, "--ledger", ledger)]
    scales = []
    for more in ((), ("--shared",)):
        file = library.folder / f"top{len(more)}.json"
        assert command(*asked, "--at-most", 5, *more, "--out", file).code == 0
        record = record_of(file.read_text("utf-8"))
        scales.append(record["scale"])
        assert (record["d_out"], record["d_in"], record["stated"]["at_most"]) == (1.0, 10 if more else 5, 5)
        assert command("verify", file, "--ledger", ledger).code == 0
    assert [(one.cost, one.d_in, one.shared) for one in entries(ledger)] == [(1.0, "5", False), (1.0, "10", True)]
    assert scales[1] == pytest.approx(2 * scales[0])


def test_what_is_stated_is_recorded_and_shown(command: Command, library: Library, ledger: Path) -> None:
    file = library.folder / "top.json"
    words = "--label", "week 1", "--period", "2026-W14"
    assert command(*library.release("--epsilon", 1, "--ledger", ledger, "--out", file, *words)).code == 0
    whom = {"publisher": "the library", "purpose": "a poster", "person": "borrower", "column": "reader"}
    assert record_of(file.read_text("utf-8"))["stated"] == {**whom, "label": "week 1", "period": "2026-W14"}
    shown = command("ledger", "show", ledger)
    assert shown.field("a person is") == "a borrower: the column reader"
    assert (shown.field("publisher"), shown.field("purpose")) == ("the library", "a poster")
    told = json.loads(command("ledger", "show", ledger, "--json", "--history").out)
    assert (told["person"], told["entries"][0]["period"]) == ("borrower", "2026-W14")
    alone = record_of(command(*library.release("--epsilon", 1, "--out", "-", *words)).out)
    assert alone["stated"] == {"label": "week 1", "period": "2026-W14"}


# The same question again.

ASKED = "--epsilon", 1, "--counts", "--label", "week 1"


def again(library: Library, ledger: Path, *more: object, **other: Any) -> tuple[object, ...]:
    """The question of :func:`answered`, about a table that is not there."""
    gone = other.pop("table", library.folder / "gone.parquet")
    record = library.folder / "top.json"
    return library.release(*(more or ASKED), "--ledger", ledger, "--from-record", record, table=gone, **other)


@pytest.fixture
def answered(command: Command, library: Library, ledger: Path) -> Path:
    """The record of a release that was paid for."""
    file = library.folder / "top.json"
    assert command(*library.release(*ASKED, "--ledger", ledger, "--out", file)).code == 0
    return file


@pytest.mark.further
def test_the_same_question_is_answered_unpaid(command: Command, library: Library, ledger: Path, answered: Path) -> None:
    before, head = entries(ledger), ledger.read_bytes()
    copy = library.folder / "copy.json"
    result = command(*again(library, ledger), "--out", copy)
    assert result.code == 0, result
    assert "nothing was drawn or charged, and the table was not read" in " ".join(result.err.split())
    for item in record_of(answered.read_text("utf-8"))["items"]:
        assert item in result.out
    assert json.loads(copy.read_text("utf-8")) == json.loads(answered.read_text("utf-8"))
    assert (entries(ledger), ledger.read_bytes()) == (before, head)


@pytest.mark.slow
def test_another_question_is_not_answered(command: Command, library: Library, ledger: Path, answered: Path) -> None:
    longer = library.folder / "longer.txt"
    longer.write_text(library.candidates.read_text("utf-8").replace("Faust", "Faustus"), "utf-8")
    others: dict[str, tuple[tuple[object, ...], dict[str, Any]]] = {
        "scale": (("--epsilon", 0.5, "--counts", "--label", "week 1"), {}),
        "mechanism": (("--epsilon", 1, "--label", "week 1"), {}),
        "label": (("--epsilon", 1, "--counts", "--label", "week 2"), {}),
        "words": ((*ASKED, "--purpose", "a book"), {}),
        "rows": ((*ASKED, "--where", "book = 'Emma'"), {}),
        "k": (ASKED, {"k": 2}),
        "cost": ((*ASKED, "--users", 2), {}),
        "candidates": (ASKED, {"candidates": longer}),
    }
    for name, (options, more) in others.items():
        result = command(*again(library, ledger, *options, **more))
        result.complains(1, "differs from this question", "Nothing was released")
        assert name in result.err, name
    assert len(entries(ledger)) == 1


@pytest.mark.further
def test_no_changed_or_unpaid_record_answers(command: Command, library: Library, ledger: Path, answered: Path) -> None:
    fields = record_of(answered.read_text("utf-8"))
    for change in ({"items": fields["items"][::-1]}, {"counts": [9, 9, 9]}, {"candidate_list": "sha256:" + "0" * 64}):
        answered.write_text(json.dumps({**fields, **change}), "utf-8")
        command(*again(library, ledger)).complains(1, "does not verify", "Nothing was released")
    answered.write_text(json.dumps(fields), "utf-8")
    command(*library.release(*ASKED, "--from-record", answered)).complains(2, "requires --ledger")
    command(*again(library, ledger), "--files", library.folder / "list").complains(2, "omit one of them")
    command(*again(library, ledger), "--out", answered, "--force").complains(2, "one of the input files")
    answered.unlink()
    command(*again(library, ledger, table=library.table)).complains(1, "does not exist")
    other = library.folder / "other.ledger"
    command("ledger", "create", other, "--dataset", "loans", "--epsilon", 9, "--user", "reader")
    answered.write_text(json.dumps(fields), "utf-8")
    command(*again(library, other)).complains(1, "does not verify")
    assert (len(entries(ledger)), len(entries(other))) == (1, 0)


@pytest.mark.further
def test_an_entry_that_was_not_settled_answers_nothing(
    command: Command, library: Library, ledger: Path, answered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that died between its debit and its settlement leaves a record, perhaps, and no digest."""
    from opendp_topk.apps.ledger.journal import Journal

    monkeypatch.setattr(Journal, "settle_if_possible", lambda *_: None)
    answered.unlink()
    assert command(*library.release(*ASKED, "--again", "--ledger", ledger, "--out", answered)).code == 0
    command(*again(library, ledger)).complains(1, "does not verify")
