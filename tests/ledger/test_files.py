"""The ledger among other files: names, what is unfinished, damaged or cut, locks, clocks, and other formats.

Tries proofs/ledger/storage.tex.
"""

import errno
import os
import random
import socket
import stat
import sys
import threading
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.apps.ledger import files, journal, locks, records
from tests.concepts.sentinels import raises_exactly

from .conftest import draws_nothing, new
from .workers import costing, spend


@pytest.fixture
def ledger(path: Path) -> tk.ledger.Ledger:
    return new(path, 4)


def test_a_relative_name_is_that_of_the_first_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    ledger = new("budget", 4)
    monkeypatch.chdir(tmp_path / "other")
    spend(ledger, 1.0)
    assert list((tmp_path / "other").iterdir()) == []
    assert tk.ledger.Ledger(tmp_path / "budget").spent() == 1.0


def test_a_ledger_is_made_where_a_dangling_link_points(tmp_path: Path) -> None:
    link, target = tmp_path / "link", tmp_path / "far"
    link.symlink_to(target)
    new(link, 1).close()
    assert target.is_file()
    assert link.is_symlink()


def test_only_its_owner_may_read_it_its_backup_and_its_drafts(path: Path, ledger: tk.ledger.Ledger) -> None:
    ledger.backup(path.with_name("copy"))
    assert [stat.S_IMODE(one.stat().st_mode) for one in (path, path.with_name("copy"))] == [0o600] * 2


def test_a_new_ledger_is_on_the_disk_before_it_has_its_name(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[tuple[bool, bool]] = []
    fsync = os.fsync

    def watched(handle: int) -> None:
        synced.append((os.path.isdir(f"/dev/fd/{handle}"), path.exists()))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", watched)
    new(path, 1).close()
    assert synced == [(False, False), (True, True)]


def test_a_file_that_appears_while_one_is_made_is_left_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = files._publish_draft

    def late(draft: Path, where: Path) -> bool:
        path.write_text("somebody else's")
        return real(draft, where)

    monkeypatch.setattr(files, "_publish_draft", late)
    raises_exactly(tk.errors.LedgerError, lambda: new(path, 4), "the name is already in use")
    assert path.read_text() == "somebody else's"
    assert os.listdir(path.parent) == [path.name]


def test_no_hard_links_are_needed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)
    spend(new(path, 4), 1.0)
    raises_exactly(tk.errors.LedgerError, lambda: new(path, 4), "name is already in use")
    assert tk.ledger.Ledger(path).spent() == 1.0
    assert os.listdir(path.parent) == [path.name]


def test_every_debit_waits_for_the_disk_and_comes_before_the_release(
    path: Path, ledger: tk.ledger.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    write, sync = files.write_all_bytes, files._sync_to_disk
    monkeypatch.setattr(files, "write_all_bytes", lambda *some: (order.append("write"), write(*some)))
    monkeypatch.setattr(files, "_sync_to_disk", lambda *some: (order.append("sync"), sync(*some)))
    ledger.release(costing(1.0, function=lambda data: order.append("release")), [1])
    assert order == ["write", "sync", "release", "write"]


@pytest.mark.parametrize("error", [OSError(5, "gone"), KeyboardInterrupt()])
@pytest.mark.parametrize("step", ["write_all_bytes", "_sync_to_disk", "_read_bytes"])
def test_a_debit_that_fails_releases_nothing_and_leaves_no_lock(
    path: Path, ledger: tk.ledger.Ledger, step: str, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[int] = []

    def fail(*_: Any) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(files, step, fail)
        with pytest.raises(KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else tk.errors.LedgerError):
            ledger.release(costing(1.0, function=drawn.append), [1])
    assert drawn == []
    spent = 1.0 if step == "_sync_to_disk" else 0.0  # what was written and not confirmed counts
    with tk.ledger.Ledger(path) as other:
        spend(other, 1.0)
    assert ledger.spent() == spent + 1.0
    assert ledger.verify() == []


@pytest.mark.parametrize("size", [1, 30, 66, 300])
def test_what_a_death_left_unfinished_is_no_record(path: Path, ledger: tk.ledger.Ledger, size: int) -> None:
    spend(ledger, 1.0)
    whole = path.read_bytes()
    spend(ledger, 1.0)
    last = path.read_bytes()[len(whole) :]
    path.write_bytes(whole + last[:size])
    with tk.ledger.Ledger(path) as again:
        assert again.spent() == 1.0
        spend(again, 1.0)
        assert (again.spent(), len(again.history()), again.verify()) == (2.0, 2, [])


@pytest.mark.parametrize("seed", range(4))
def test_no_flipped_bit_loses_a_debit(path: Path, ledger: tk.ledger.Ledger, seed: int) -> None:
    """A flipped bit is noticed when it is opened or verified, and never makes the total smaller unnoticed."""
    spend(ledger, 1.0, 1.0, 0.5)
    whole, choice = path.read_bytes(), random.Random(seed)
    tail = range(8 * len(whole) - 16, 8 * len(whole))
    for at in (*choice.sample(range(8 * len(whole)), 40), *tail):
        flipped = bytearray(whole)
        flipped[at // 8] ^= 1 << at % 8
        path.write_bytes(flipped)
        try:
            with tk.ledger.Ledger(path) as again:
                assert again.spent() == 2.5, at
                assert again.verify() != [], at
        except tk.errors.LedgerError:
            continue


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "it is empty"),
        (b"not a ledger, whatever its name says\n" * 100, "not a ledger"),
        (b"\x1e" + b"0" * 64 + b" {}\n", "damaged"),
        (b"\x1e" + b"0" * 10, "damaged"),
        pytest.param(f"\x1e{records.seal_record({'number': 0})}\n".encode(), "opened: it is not a ledger", id="form"),
    ],
)
def test_what_is_no_ledger_is_refused_and_left_as_it_is(path: Path, content: bytes, says: str) -> None:
    path.write_bytes(content)
    raises_exactly(tk.errors.LedgerError, lambda: tk.ledger.Ledger(path), says)
    raises_exactly(tk.errors.LedgerError, lambda: new(path, 1), "name is already in use")
    assert path.read_bytes() == content


@pytest.mark.parametrize("version", [0, records.VERSION + 1, None, str(records.VERSION), True])
def test_any_other_version_of_the_format_is_refused(path: Path, version: Any) -> None:
    new(path, 1).close()
    first = records.unseal_record(path.read_text("ascii").strip("\x1e\n"))
    path.write_text(f"\x1e{records.seal_record({**first.fields, 'version': version})}\n", "ascii")
    said = f"version '{version}'", f"reads only version {records.VERSION}", "the version of opendp_topk that wrote it"
    raises_exactly(tk.errors.LedgerError, lambda: tk.ledger.Ledger(path), *said)


def test_a_missing_file_or_folder_is_an_error(path: Path) -> None:
    raises_exactly(tk.errors.LedgerError, lambda: tk.ledger.Ledger(path), "create one with Ledger.create")
    raises_exactly(tk.errors.LedgerError, lambda: new(path / "no" / "file", 1), "No such file")
    raises_exactly(tk.errors.LedgerError, lambda: tk.ledger.Ledger(path.parent), "it is a folder")
    assert not path.exists()


def test_locks_that_fail_are_noticed(path: Path, ledger: tk.ledger.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "_lock", lambda handle, wanted: None)
    draws_nothing(ledger, "locks of its file system do not work")
    assert ledger.spent() == 0.0


def test_writing_without_lock_is_noticed(path: Path, ledger: tk.ledger.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a mount without locks two write at the same place: the second of them sees another's record there."""
    write = files.write_all_bytes

    def slow(handle: int, data: bytes) -> None:
        os.write(handle, b"\x1ebytes of another process")
        write(handle, data)

    monkeypatch.setattr(files, "write_all_bytes", slow)
    draws_nothing(ledger, "do not work")


def test_windows_locks_a_byte_behind_all_records(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It lets nobody else read a byte that is locked."""
    done: list[tuple[int, int, int]] = []

    def locking(handle: int, mode: int, size: int) -> None:
        done.append((mode, size, os.lseek(handle, 0, os.SEEK_CUR)))

    monkeypatch.setitem(sys.modules, "msvcrt", types.SimpleNamespace(LK_NBLCK=2, LK_UNLCK=0, locking=locking))
    lock = locks._make_msvcrt_lock()
    assert lock is not None
    with path.open("wb") as stream:
        for wanted in (True, False):
            lock(stream.fileno(), wanted)
    assert done == [(2, 1, 2**40), (0, 1, 2**40)]


def test_the_table_of_mounts_is_read() -> None:
    table = "36 35 0:53 / /data rw,noatime shared:1 - nfs4 server:/data rw\n37 35 8:1 / / rw - ext4 /dev/sda1 rw\n"
    for mount, device, kind in (
        (None, (0, 53), "nfs4"),
        (None, (8, 1), "ext4"),
        (None, (9, 1), None),
        ("36", (8, 1), "nfs4"),
        ("37", (0, 53), "ext4"),
        ("3", (0, 53), None),
    ):
        assert files.find_mount_kind(table, mount, os.makedev(*device)) == kind
    assert files.find_mount_kind("", None, os.makedev(8, 1)) is None


def test_a_clock_that_is_set_back_changes_only_what_the_history_tells(
    path: Path, ledger: tk.ledger.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    spend(ledger, 1.0)
    monkeypatch.setattr(journal, "utc_timestamp", lambda: "1970-01-01T00:00:00+00:00")
    spend(ledger, 1.0)
    monkeypatch.undo()
    spend(ledger, 1.0)
    assert [one.time[:4] == "1970" for one in ledger.history()] == [False, True, False]
    assert (ledger.spent(), ledger.verify()) == (3.0, [])


def test_opening_looks_once_over_a_long_history_and_a_debit_at_its_end(path: Path, ledger: tk.ledger.Ledger) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(files, "_sync_to_disk", lambda handle: None)
        spend(ledger, *[0.0] * 140)
    read: list[int] = []
    real = files._read_bytes

    def watched(handle: int, start: int, length: int) -> bytes:
        found = real(handle, start, length)
        read.append(len(found))
        return found

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(files, "_read_bytes", watched)
        with tk.ledger.Ledger(path) as again:
            opened = sum(read)
            spend(again, 1.0)
            assert again.count() == 141
    assert sum(read) - opened < files._BLOCK < 7 * files._BLOCK < opened < 1.3 * path.stat().st_size


def test_a_backup_is_a_ledger_and_is_not_written_over(path: Path, ledger: tk.ledger.Ledger) -> None:
    spend(ledger, 1.0)
    head, copy = ledger.head(), path.with_name("copy")
    ledger.backup(copy)
    with tk.ledger.Ledger(copy) as again:
        assert (again.spent(), again.verify(head)) == (1.0, [])
    raises_exactly(tk.errors.LedgerError, lambda: ledger.backup(copy), "exists already")
    path.write_bytes(path.read_bytes().replace(b'"cost":["1"]', b'"cost":["0"]'))
    raises_exactly(tk.errors.LedgerError, lambda: ledger.backup(path.with_name("more")))


def listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def loop(path: Path) -> None:
    path.symlink_to(path.with_name("other"))
    path.with_name("other").symlink_to(path)


STRANGE: dict[str, Callable[[Path], object]] = {
    "is a pipe": os.mkfifo,
    "is a socket": listening,
    "is a folder": Path.mkdir,
    "Too many levels": loop,
    "is empty": Path.touch,
}


@pytest.mark.parametrize("says", STRANGE)
def test_what_is_no_ordinary_file_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str) -> None:
    """Nothing waits for the other end of a pipe. The name is short since that of a socket must be."""
    monkeypatch.chdir(tmp_path)
    STRANGE[says](Path("a"))
    raises_exactly(tk.errors.LedgerError, lambda: tk.ledger.Ledger("a"), says)
    raises_exactly(tk.errors.LedgerError, lambda: new("a", 1), "name is already in use")


@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero", "/dev/tty"])
def test_a_device_is_no_ledger(device: str) -> None:
    if not Path(device).exists():
        pytest.skip("the system has no such device")
    raises_exactly(tk.errors.LedgerError, lambda: tk.ledger.Ledger(device), "is a device")


def test_a_pipe_that_takes_the_place_of_an_open_ledger_is_told_at_once(path: Path, ledger: tk.ledger.Ledger) -> None:
    path.unlink()
    os.mkfifo(path)
    for look in (ledger.spent, ledger.history, ledger.head, lambda: spend(ledger, 1.0)):
        raises_exactly(tk.errors.LedgerError, look, "is a pipe")
    assert "is a pipe" in ledger.verify()[0]


@pytest.mark.parametrize("name", ["x" * 100_000, "/".join(["x" * 200] * 500), "y" * 300, "/", "\udcff/no"], ids=len)
def test_a_name_that_no_file_can_have_is_told_in_few_words(tmp_path: Path, name: str) -> None:
    for what in (lambda: tk.ledger.Ledger(tmp_path / name), lambda: new(tmp_path / name, 1)):
        with pytest.raises(tk.errors.LedgerError) as caught:
            what()
        assert len(str(caught.value)) < 600
        str(caught.value).encode()


def test_names_of_all_lengths_that_a_file_can_have_are_taken(tmp_path: Path) -> None:
    for name in ("x" * 255, "\u1234" * 85, "a"):
        new(tmp_path / name, 1).close()
        assert tk.ledger.Ledger(tmp_path / name).spent() == 0.0


TOLD = "it was truncated, or replaced by an older copy or another file"
READERS: dict[str, Callable[[tk.ledger.Ledger], Any]] = {
    "spent": lambda ledger: ledger.spent(),
    "remaining": lambda ledger: ledger.remaining(),
    "fits": lambda ledger: ledger.fits(costing(0.0)),
    "count": lambda ledger: ledger.count(),
    "history": lambda ledger: ledger.history(),
    "head": lambda ledger: ledger.head(),
    "reserve": lambda ledger: ledger.reserve(cost=1),
    "conversation": lambda ledger: ledger.conversation([1], budget=1),
    "resume": lambda ledger: ledger.resume(1, [1]),
    "settle": lambda ledger: ledger.settle(1, "failed"),
    "backup": lambda ledger: ledger.backup(Path(ledger._journal.log.place + ".copy")),
}


def cut(path: Path, by: int) -> None:
    os.truncate(path, path.stat().st_size - by)


def test_ten_debits_that_are_cut_are_all_told(path: Path) -> None:
    """Each loses two bytes: its line feed and its last brace."""
    ledger = new(path, 100)
    for _ in range(10):
        try:
            ledger.reserve(cost=1)
        except tk.errors.LedgerError:
            break
        cut(path, 2)
    raises_exactly(tk.errors.LedgerError, ledger.spent, TOLD)
    (found,) = ledger.verify()
    assert TOLD in found


@pytest.mark.quick(how=("two bytes", "with the one before"))
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("how", ["two bytes", "to its first half", "at its beginning", "with the one before"])
def test_every_reader_is_told_that_the_last_record_was_cut(path: Path, reader: str, how: str) -> None:
    ledger, sizes = new(path, 100), []
    for _ in range(3):
        sizes.append(path.stat().st_size)
        ledger.reserve(cost=1)
    size = path.stat().st_size
    left = {"two bytes": size - 2, "to its first half": (size + sizes[-1]) // 2}
    os.truncate(path, left.get(how, sizes[-1] if how == "at its beginning" else sizes[-2]))
    raises_exactly(tk.errors.LedgerError, lambda: READERS[reader](ledger), TOLD)
    (found,) = ledger.verify()
    assert TOLD in found


def test_a_record_that_lost_its_line_feed_is_whole(path: Path) -> None:
    ledger = new(path, 100)
    ledger.reserve(cost=1)
    cut(path, 1)
    assert (ledger.spent(), ledger.verify()) == (1.0, [])
    ledger.reserve(cost=1)
    assert (ledger.spent(), ledger.verify()) == (2.0, [])


@pytest.mark.parametrize("reader", ["spent", "history"])
def test_what_another_process_wrote_is_missed_once_it_was_read(path: Path, reader: str) -> None:
    new(path, 100).close()
    ledger = tk.ledger.Ledger(path)
    tk.ledger.Ledger(path).reserve(cost=1)
    READERS[reader](ledger)
    cut(path, 2)
    raises_exactly(tk.errors.LedgerError, ledger.spent, TOLD)


def test_who_reads_late_does_not_forget_what_was_written_meanwhile(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread has read the last record and waits; another one appends; then the first goes on."""
    ledger, log = new(path, 100), files.FileLog(path)
    ledger.reserve(cost=1)
    real, waiting, written = files.FileLog._require_seen, threading.Event(), threading.Event()
    record = ledger._journal.last_record()

    def slow(self: files.FileLog, handle: int) -> None:
        real(self, handle)
        if threading.current_thread() is not threading.main_thread():
            waiting.set()
            assert written.wait(60)

    monkeypatch.setattr(files.FileLog, "_require_seen", slow)
    late = threading.Thread(target=log.last_record)
    late.start()
    assert waiting.wait(60)
    state = {"kind": "state", "of": 1, "state": "failed", "time": "", "operator": ""}
    log.append(lambda last: records.next_record_text(last, record.fields["ledger"], **state))
    written.set()
    late.join(60)
    cut(path, 2)
    raises_exactly(tk.errors.LedgerError, log.last_record, TOLD)
