"""Damaged files that are repaired: what verifies is kept, what was spent is never lowered, and what is lost is said.

Tries proofs/ledger/ledger.tex.
"""

import errno
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.apps.ledger import checking as repair
from opendp_topk.apps.ledger import files
from opendp_topk.apps.ledger.files import SEPARATOR
from opendp_topk.apps.ledger.records import convert_to_ledger_error
from opendp_topk.errors import BudgetError, LedgerError, ParameterError, QueryError
from tests.concepts.sentinels import raises_exactly

from .conftest import new
from .test_attacks import overwrite, resealed, texts
from .workers import costing, spend

HERE = Path(__file__).parent


def filled(path: Path, budget: float = 4) -> tuple[bytes, str]:
    """A ledger that has spent 2.5 in nine records, and its head."""
    with new(path, budget) as ledger:
        spend(ledger, 1.0, 1.0)
        ledger.reserve(cost="0.25", label="kept")
        spend(ledger, 0.25)
        return path.read_bytes(), ledger.head()


def beside(path: Path) -> list[str]:
    return sorted(set(os.listdir(path.parent)) - {path.name})


@pytest.mark.further
@pytest.mark.quick(seed=0)
@pytest.mark.parametrize("seed", range(3))
def test_a_repair_after_any_flipped_bit_lowers_no_total_or_is_refused(path: Path, seed: int) -> None:
    whole, _ = filled(path)
    choice = random.Random(seed)
    starts = [at for at, byte in enumerate(whole) if byte in b"\x1e\n"]
    places = [8 * at + choice.randrange(8) for at in choice.sample(starts, 2)]
    for at in (*places, *choice.sample(range(8 * len(whole)), 6), choice.randrange(8)):
        damaged = bytearray(whole)
        damaged[at // 8] ^= 1 << at % 8
        path.write_bytes(damaged)
        try:
            assert tk.ledger.Ledger.repair(path, charge_rest=True)
        except LedgerError:
            assert path.read_bytes() == damaged, at
            continue
        with tk.ledger.Ledger(path) as ledger:
            assert ledger.spent() >= 2.5, at
            assert ledger.verify() == [], at


def zeroed(whole: bytes, *numbers: int) -> bytes:
    """A file in which all bytes of some records but their separators are lost."""
    pieces = whole.split(SEPARATOR)
    for number in numbers:
        pieces[number + 1] = b"\0" * (len(pieces[number + 1]) - 1) + b"\n"
    return SEPARATOR.join(pieces)


@pytest.mark.further
@pytest.mark.parametrize("lost", [(1,), (2,), (1, 2), (3,), (2, 3, 4), (5,), (1, 2, 3, 4, 5, 6)], ids=str)
def test_records_between_others_are_charged_what_the_next_total_tells(path: Path, lost: tuple[int, ...]) -> None:
    whole, head = filled(path)
    path.write_bytes(zeroed(whole, *lost))
    found = tk.ledger.Ledger.repair(path)
    assert found[0].startswith("lost: record")
    with tk.ledger.Ledger(path) as ledger:
        assert (ledger.spent(), ledger.count(), ledger.verify()) == (2.5, 4, [])
        assert sum(one.cost for one in ledger.history()) == 2.5
        assert ledger.verify(head) == ["record 7 differs from the kept head: the ledger was rewritten"]
        told = ledger._journal.last_record().fields
        assert (told["kind"], told["told"]) == ("repair", found)
        spend(ledger, 1.5)
        raises_exactly(BudgetError, lambda: spend(ledger, 0.1))
        assert ledger.verify() == []
    assert tk.ledger.Ledger.repair(path) == []


def test_records_that_are_missing_altogether_are_charged_as_well(path: Path) -> None:
    whole, _ = filled(path)
    pieces = whole.split(SEPARATOR)
    path.write_bytes(SEPARATOR.join([*pieces[:2], *pieces[4:]]))
    assert "records 1 to 2, with 1 entry, charged 1" in tk.ledger.Ledger.repair(path)[0]
    with tk.ledger.Ledger(path) as ledger:
        assert (ledger.spent(), ledger.count(), ledger.verify()) == (2.5, 4, [])


@pytest.mark.parametrize("lost", [(7,), (6, 7), (2, 7)], ids=str)
def test_what_is_lost_at_the_end_costs_all_that_is_left_or_is_not_repaired(path: Path, lost: tuple[int, ...]) -> None:
    whole, _ = filled(path)
    damaged = zeroed(whole, *lost)
    path.write_bytes(damaged)
    raises_exactly(LedgerError, lambda: tk.ledger.Ledger.repair(path), "--charge-rest", "backup")
    assert (path.read_bytes(), beside(path)) == (damaged, [])
    assert any("the remaining budget" in one for one in tk.ledger.Ledger.repair(path, charge_rest=True))
    with tk.ledger.Ledger(path) as ledger:
        assert (ledger.spent(), ledger.remaining(), ledger.verify()) == (4.0, 0.0, [])
        raises_exactly(BudgetError, lambda: spend(ledger, 1e-9))


@pytest.mark.parametrize("damage", ["header_lost", "another"])
def test_what_nobody_can_tell_is_not_repaired(path: Path, damage: str) -> None:
    whole, _ = filled(path)
    damaged = zeroed(whole, 0) if damage == "header_lost" else b"not a ledger at all\n" * 20
    path.write_bytes(damaged)
    for flag in (False, True):
        with pytest.raises(LedgerError):
            tk.ledger.Ledger.repair(path, charge_rest=flag)
    assert (path.read_bytes(), beside(path)) == (damaged, [])


@pytest.mark.parametrize("back", range(1, 9))
def test_older_records_that_were_appended_are_refused_and_left_out_at_no_charge(path: Path, back: int) -> None:
    """By whoever opens it, and by who had it open; a copy as old as its first record, or some of its last ones."""
    whole, head = filled(path)
    pieces, opened, drawn = whole.split(SEPARATOR), tk.ledger.Ledger(path), []
    for copy in (pieces[1 : back + 1], pieces[-back:], pieces[-1:] * back):
        path.write_bytes(whole + b"".join(SEPARATOR + one for one in copy))
        mine = costing(0.0, function=drawn.append)
        for look in (lambda: tk.ledger.Ledger(path), lambda: opened.release(mine, [1]), opened.spent, opened.head):  # noqa: B023
            raises_exactly(LedgerError, look, "does not follow the one before it", "ledger repair")
        found = tk.ledger.Ledger.repair(path)
        assert found[0] == f"{back} record{'s' if back > 1 else ''} that occurred twice were omitted"
        assert path.read_bytes().startswith(whole)
        with tk.ledger.Ledger(path) as ledger:
            assert (ledger.spent(), ledger.count(), ledger.verify(head)) == (2.5, 4, [])
            spend(ledger, 1.5)
            raises_exactly(BudgetError, lambda: spend(ledger, 0.1))
    assert drawn == []


def test_what_went_on_from_an_older_record_costs_all_that_is_left(path: Path) -> None:
    """As a ledger did that took the last record for the newest: nine releases of a budget of three."""
    whole, _ = filled(path)
    other = path.with_name("other")
    other.write_bytes(SEPARATOR.join(whole.split(SEPARATOR)[:2]))
    with tk.ledger.Ledger(other) as ledger:
        ledger.release(costing(1.0), [1], label="again")
    path.write_bytes(whole + other.read_bytes())
    raises_exactly(LedgerError, lambda: tk.ledger.Ledger(path), "does not follow")
    raises_exactly(LedgerError, lambda: tk.ledger.Ledger.repair(path), "--charge-rest")
    assert any("the remaining budget" in one for one in tk.ledger.Ledger.repair(path, charge_rest=True))
    with tk.ledger.Ledger(path) as ledger:
        assert (ledger.spent(), ledger.verify()) == (4.0, [])


def test_a_last_record_of_another_branch_is_refused(path: Path) -> None:
    """It has the next number, and goes on from what is not there."""
    whole, _ = filled(path)
    for name in ("one", "other"):
        path.with_name(name).write_bytes(whole)
        with tk.ledger.Ledger(path.with_name(name)) as ledger:
            ledger.reserve(cost="0.25", label=name)
            ledger.reserve(cost="0.25", label=name)
    pieces = [path.with_name(name).read_bytes().split(SEPARATOR) for name in ("one", "other")]
    path.write_bytes(whole + SEPARATOR + pieces[0][-2] + SEPARATOR + pieces[1][-1])
    raises_exactly(LedgerError, lambda: tk.ledger.Ledger(path), "does not follow")
    raises_exactly(LedgerError, lambda: tk.ledger.Ledger.repair(path))


def test_records_that_changed_places_cost_all_that_is_left(path: Path) -> None:
    pieces = filled(path, 2.75)[0].split(SEPARATOR)
    path.write_bytes(SEPARATOR.join([*pieces[:3], pieces[4], pieces[3], *pieces[5:]]))
    raises_exactly(LedgerError, lambda: tk.ledger.Ledger(path), "does not follow")
    raises_exactly(LedgerError, lambda: tk.ledger.Ledger.repair(path), "--charge-rest")
    tk.ledger.Ledger.repair(path, charge_rest=True)
    with tk.ledger.Ledger(path) as ledger:
        assert (ledger.spent(), ledger.verify()) == (2.75, [])


@pytest.mark.parametrize(
    "stray", [b"\n", b" ", b"\0", b"\xef\xbb\xbf", b"\0" * 500, b"\r\n" * 300, b"x", b"^", b"cut here\n"], ids=repr
)
def test_what_is_no_record_behind_the_last_one_is_left_out_at_no_charge(path: Path, stray: bytes) -> None:
    whole, head = filled(path)
    path.write_bytes(whole + stray)
    raises_exactly(LedgerError, lambda: tk.ledger.Ledger(path), "ledger repair")
    found = tk.ledger.Ledger.repair(path)
    assert found[0] == "text after record 7 was not a record and was omitted, without a charge"
    with tk.ledger.Ledger(path) as ledger:
        assert (ledger.spent(), ledger.count(), ledger.verify(head)) == (2.5, 4, [])
        spend(ledger, 0.5)
    assert tk.ledger.Ledger.repair(path) == []


def test_a_record_that_lost_its_separator_and_more_is_not_left_out_at_no_charge(path: Path) -> None:
    """It may have been charged anything."""
    whole, _ = filled(path)
    start = whole.rindex(SEPARATOR)
    damaged = bytearray(whole)
    damaged[start] ^= 1
    damaged[start + 100] ^= 3
    path.write_bytes(damaged)
    raises_exactly(LedgerError, lambda: tk.ledger.Ledger.repair(path), "--charge-rest")


def test_a_last_record_whose_end_was_changed_is_not_left_out_at_no_charge(path: Path) -> None:
    whole, _ = filled(path)
    path.write_bytes(whole[:-1] + b"x")
    raises_exactly(LedgerError, lambda: tk.ledger.Ledger.repair(path), "--charge-rest")


def test_a_disk_that_fails_in_a_repair_is_told_as_that(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = filled(path)
    path.write_bytes(zeroed(whole, 1))

    def failing(holder: Any, start: int, length: int) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(files.FileLog, "_read_block", convert_to_ledger_error("read")(failing))
    error = raises_exactly(LedgerError, lambda: tk.ledger.Ledger.repair(path), os.strerror(errno.EIO))
    assert "backup" not in str(error)


def test_a_total_that_was_lowered_by_hand_is_not_taken_over(path: Path) -> None:
    """Digests that fit, a record that is lost, and a total after it that is below the one before it."""
    filled(path)
    fields = [json.loads(one[65:]) for one in texts(path)]
    for one in fields[4:]:
        one["spent"] = ["1/2"]
    overwrite(path, resealed(fields))
    damaged = zeroed(path.read_bytes(), 3)
    path.write_bytes(damaged)
    raises_exactly(LedgerError, lambda: tk.ledger.Ledger.repair(path))
    assert path.read_bytes() == damaged


def test_a_ledger_that_is_whole_is_left_as_it_is(path: Path) -> None:
    whole, _ = filled(path)
    path.write_bytes(whole + SEPARATOR + b"unfinished")
    assert tk.ledger.Ledger.repair(path) == []
    assert (path.read_bytes(), beside(path)) == (whole + SEPARATOR + b"unfinished", [])


def test_the_damaged_file_is_no_second_budget_by_any_name(path: Path) -> None:
    """The copy is no ledger, and another name of the file, as by a link or a mount, has nothing in it."""
    whole, _ = filled(path)
    path.write_bytes(zeroed(whole, 1))
    link = path.parent / "link"
    os.link(path, link)
    before = tk.ledger.Ledger(path)
    found = tk.ledger.Ledger.repair(path)
    raises_exactly(LedgerError, lambda: tk.ledger.Ledger(link), "empty")
    kept = path.with_name(found[-1].split()[-1])
    raises_exactly(LedgerError, lambda: tk.ledger.Ledger(kept), "not a ledger")
    raises_exactly(LedgerError, lambda: spend(before, 0.25), "replaced by an older copy")


@pytest.mark.further
def test_conversations_of_which_steps_may_be_lost_are_closed(path: Path) -> None:
    with new(path, 4) as ledger:
        talk = ledger.conversation([1], budget=1)
        for _ in range(3):
            talk(costing(0.25))
        paid = ledger.conversation([1], budget=0.5)
        ledger.reserve(cost=0)
    whole = path.read_bytes()
    for lost in ((2,), (4,), (1,), (6, 7)):
        path.write_bytes(zeroed(whole, *lost))
        assert tk.ledger.Ledger.repair(path)
        with tk.ledger.Ledger(path) as again:
            assert (again.spent(), again.verify()) == (1.5, []), lost
            for number in (talk.number, paid.number):
                raises_exactly(QueryError, lambda number=number: again.resume(number, [1])(costing(0.0)), "closed")


def test_the_repair_leaves_the_file_alone_when_it_cannot_write(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = filled(path)
    damaged = zeroed(whole, 1)
    path.write_bytes(damaged)

    def full(*_: Any) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(repair, "write_new_file", full)
    raises_exactly(LedgerError, lambda: tk.ledger.Ledger.repair(path), os.strerror(28))
    assert (path.read_bytes(), beside(path)) == (damaged, [])


def test_only_a_file_is_repaired(path: Path) -> None:
    raises_exactly(ParameterError, lambda: tk.ledger.Ledger.repair("postgresql://x@y/z"), "file")
    raises_exactly(LedgerError, lambda: tk.ledger.Ledger.repair(path), "it no longer exists")


@pytest.mark.further
def test_the_command_repairs_and_says_what_was_lost(path: Path) -> None:
    typer = pytest.importorskip("typer.testing")
    from opendp_topk.apps.cli.app import app

    def done(*line: object) -> tuple[int, str]:
        found = typer.CliRunner().invoke(app, ["ledger", "repair", *map(str, line)])
        return found.exit_code, found.output

    whole, _ = filled(path)
    assert done(path) == (0, "nothing to repair\n")
    path.write_bytes(zeroed(whole, 1, 2))
    code, told = done(path)
    assert (code, "lost: records 1 to 2" in told, "kept as" in told) == (0, True, True)
    path.write_bytes(zeroed(whole, 7))
    assert done(path)[0] == 1
    code, told = done(path, "--charge-rest", "--json")
    assert (code, "the remaining budget" in json.loads(told)["repaired"][0]) == (0, True)
