"""Long logs: how records are found and read, and who writes while the disk is waited for.

Tries proofs/ledger/storage.tex.
"""

import random
import threading
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.apps.ledger import files
from opendp_topk.apps.ledger.records import Record, next_record_text, unseal_record

from .conftest import Make, new
from .test_attacks import texts
from .workers import costing


def lengthened(path: Path, count: int, longest: int) -> None:
    """Debits with labels of all lengths, some of them settled, behind the first record of a ledger."""
    choice, listed = random.Random(count), texts(path)
    first = last = read(listed[0])
    for number in range(1, count + 1):
        said = dict.fromkeys(("measurement", "proof", "claim", "operator"), "")
        told = {"time": "2026-01-01T00:00:00+00:00", "cost": ["0"], "spent": ["0"], "d_in": "1", **said}
        label = "x" * choice.randrange(longest)
        fields = [{"kind": "debit", "entries": number, "label": label, **told}]
        if number % 3:
            fields += [{"kind": "state", "of": number, "state": "released", "time": "", "operator": ""}]
        for one in fields:
            listed.append(next_record_text(last, first.digest, **one))
            last = read(listed[-1])
    path.write_bytes(b"".join(b"\x1e" + one.encode() + b"\n" for one in listed))


def read(text: str) -> Record:
    found = unseal_record(text)
    assert found is not None
    return found


@pytest.mark.parametrize("longest", [10, 40_000])
def test_every_record_is_found_by_halving_and_read_whatever_the_blocks(path: Path, longest: int) -> None:
    """Against the text of the file, cut at its separators; blocks end in every part of a record."""
    new(path, 1).close()
    lengthened(path, 24, longest)
    log, listed = files.FileLog(path), [read(one) for one in texts(path)]
    assert [one.digest for one in log.iter_records()] == [one.digest for one in listed]
    for number in range(len(listed) + 2):
        found = log.find_first_record(lambda record, least=number: record.number >= least)  # type: ignore[misc]
        assert (None if found is None else found.digest) == next((one.digest for one in listed[number:]), None)
    for one in list(log.iter_records())[::10]:
        assert [other.number for other in log.iter_records(one)] == list(range(one.number + 1, len(listed)))
    size = path.stat().st_size
    for block in (longest // 9, longest, size - 1, size, size + 1):
        assert [one.digest for one in log._iter_records_from(0, size, block)] == [one.digest for one in listed]


def test_what_is_written_while_records_are_read_is_for_the_next_reader(path: Path) -> None:
    new(path, 1).close()
    lengthened(path, 40, 2000)
    reading, before = files.FileLog(path).iter_records(), len(texts(path))
    next(reading)
    tk.ledger.Ledger(path).reserve(cost=0)
    assert (1 + len(list(reading)), len(texts(path))) == (before, before + 1)


def test_an_entry_is_the_same_whether_it_is_looked_up_or_listed(path: Path) -> None:
    ledger = new(path, 1)
    lengthened(path, 40, 200)
    for _ in range(2):
        assert [ledger.entry(number) for number in range(1, 41)] == ledger.history()
        ledger._journal.settle(3, "failed")
        ledger._journal.settle(3, "released", "a")
        assert (ledger.entry(3).state, ledger.entry(3).record) == ("released", "a")
        ledger._journal.settle(3, "released", "b")  # too late, as all that the second turn says
    assert [ledger.head(number) for number in (1, 40)] == [
        f"{one.number}-{one.digest}" for one in map(read, texts(path)) if one.fields.get("label") is not None
    ][:: 39]  # fmt: skip
    assert ledger.verify() == []


def test_what_is_looked_up_is_little_of_a_long_log(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = new(path, 1)
    lengthened(path, 1500, 3000)
    assert ledger.spent() == 0.0  # what was written since it was opened is looked over once
    seen: list[int] = []
    real = files._read_bytes
    monkeypatch.setattr(files, "_read_bytes", lambda *some: (seen.append(len(real(*some))), real(*some))[1])
    for look in (
        lambda: ledger.head(700),
        lambda: ledger.entry(700),
        lambda: ledger.fits(costing(0.0)),
        lambda: ledger.release(costing(0.0), [1]),
    ):
        seen.clear()
        look()
        assert sum(seen) < 20 * files._BLOCK < path.stat().st_size / 5


def test_others_write_while_a_debit_waits_for_the_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three threads with an object each: the first two wait for the disk until the third has its release."""
    ledgers = [new(path, 9), tk.ledger.Ledger(path), tk.ledger.Ledger(path)]
    done, waiting, order = threading.Event(), threading.Semaphore(0), []
    real = files._sync_to_disk

    def slow(handle: int) -> None:
        if threading.current_thread() is not threading.main_thread():
            waiting.release()
            assert done.wait(60)
        real(handle)

    monkeypatch.setattr(files, "_sync_to_disk", slow)
    first = [threading.Thread(target=lambda one=one: spent(one, order, "late")) for one in ledgers[:2]]  # type: ignore[misc]
    for thread in first:
        thread.start()
        assert waiting.acquire(timeout=60)
    spent(ledgers[2], order, "soon")
    done.set()
    for thread in first:
        thread.join(60)
    assert order == ["soon", "late", "late"]
    assert (ledgers[0].spent(), ledgers[1].verify()) == (3.0, [])


def spent(ledger: tk.ledger.Ledger, order: list[str], name: str) -> None:
    ledger.release(costing(1.0, function=lambda data: order.append(name)), [1])


def test_a_disk_that_fails_after_the_write_releases_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The handle that waits was open before the write, so that the system tells it of every error since."""
    ledger, handles, drawn = new(path, 9), [], []
    write = files.write_all_bytes

    def watched(handle: int, data: bytes) -> None:
        handles.append(open_files(path) - {handle})
        write(handle, data)

    monkeypatch.setattr(files, "write_all_bytes", watched)

    def broken(handle: int) -> None:
        assert handle in handles[-1]
        raise OSError(5, "gone")

    monkeypatch.setattr(files, "_sync_to_disk", broken)
    with pytest.raises(tk.errors.LedgerError, match="gone"):
        ledger.release(costing(1.0, function=drawn.append), [1])
    assert (drawn, len(handles)) == ([], 1)


def open_files(path: Path) -> set[int]:
    """The descriptors of this process that lead to the file."""
    folder = Path("/proc/self/fd")
    if not folder.is_dir():
        pytest.skip("the system does not tell which files are open")
    return {int(one.name) for one in folder.iterdir() if one.exists() and one.samefile(path)}


@pytest.mark.slow
def test_a_release_on_a_server_is_four_messages(server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from opendp_topk.apps.ledger import postgres

    ledger, sent = new(server.address(tmp_path.name), 9), []
    real = postgres.execute_statements
    monkeypatch.setattr(postgres, "execute_statements", lambda *some: (sent.append(some[1:]), real(*some))[1])
    ledger.release(costing(1.0), [1])
    assert len(sent) == 4
    assert [one[-1] == "COMMIT" for one in sent] == [False, True] * 2
    waits = [not any("synchronous_commit = off" in text for text in one) for one in sent]
    assert waits == [True, True, True, False]


@pytest.mark.slow
def test_a_thread_that_reads_while_another_one_appends_has_its_own_turn(server: Any, tmp_path: Path) -> None:
    ledger, found = new(server.address(tmp_path.name), 9), []
    log = ledger._journal.log
    reader = threading.Thread(target=lambda: found.append(len(ledger.history())))

    def make(last: Record) -> str:
        reader.start()
        assert list(log.iter_records(last)) == []
        return next_record_text(last, last.digest, kind="state", of=1, state="failed", time="", operator="")

    ledger.reserve(cost=1)
    log.append(lambda last: make(last))
    reader.join(60)
    assert found == [1]


@pytest.mark.slow
def test_both_kinds_of_logs_find_the_same(make: Make) -> None:
    with make(9) as ledger:
        for _ in range(7):
            ledger.release(costing(1.0), [1])
        log = ledger._journal.log
        listed = [one.digest for one in log.iter_records()]
        for number in range(17):
            found = log.find_first_record(lambda record, least=number: record.number >= least)  # type: ignore[misc]
            assert (None if found is None else found.digest) == next(iter(listed[number:]), None)
        assert [ledger.entry(number) for number in range(1, 8)] == ledger.history()
