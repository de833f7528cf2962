"""The log of a ledger in one file, to which records are appended and nothing else is ever done.

A record is a separator, its text and a line feed. What a crash or a full disk left unfinished stays where it is and is
no record: it has no line feed and no digest of its own. There is no other file, so that a copy is whole, and two
names of one file are the same log.

Proof: proofs/ledger/ledger.tex
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from . import locks
from .failures import DAMAGED, explained, failure
from .mounts import remote
from .records import Record, unseal

FORKING = threading.RLock()
SEPARATOR = b"\x1e"
_END = b"\n"
_BLOCK = 1 << 14  # most last records lie in so many bytes
_FLAGS = getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0)  # nothing where there are no such flags
_SQLITE = b"SQLite format 3\0"


class FileLog:
    """One file, by its path; nothing stays open between two calls, and a fork waits for a record that is written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.place = str(path)
        self._mark: Record | None = None
        self._local: set[int] = set()

    # proof-region: files
    @explained("written")
    def append(self, make: Callable[[Record], str], *, durable: bool = True) -> Record:
        """Append the text that ``make`` makes of the last record, and return when it is on the disk.

        ``make`` is called while no other process can write; what it raises leaves the file as it was. Without
        ``durable`` the record may be lost if the machine fails, alone or with others that follow it.
        """
        with FORKING, self._locked() as handle:  # [exclusive]
            last, end = self._last(handle)
            text = make(last)
            data = SEPARATOR + text.encode("ascii") + _END
            _write(handle, data)  # [append]
            if durable:
                _sync(handle)  # [durable]
            if _read(handle, end, len(data) + 1) != data:  # [read-back]
                raise failure(
                    self.place, "written", "the locks of its file system do not hold: move it to a local disk"
                )
            self._mark = unseal(text, end)
            assert self._mark is not None
            return self._mark

    @contextmanager
    def _locked(self) -> Iterator[int]:
        if not locks.available():
            raise failure(self.place, "written", "this Python has no locks on files: use PostgreSQL")
        handle = os.open(self.path, os.O_RDWR | os.O_APPEND | _FLAGS)
        try:
            self._require_locks(handle)
            if not locks.take(handle):
                raise failure(self.place, "written", f"another process kept it locked for {locks.PATIENCE:.0f} seconds")
            try:
                if not os.path.samestat(os.fstat(handle), os.stat(self.path)):  # [same-file]
                    raise failure(self.place, "written", "another file is taking its place")
                self._require_held(handle)
                yield handle
            finally:
                locks.release(handle)
        finally:
            os.close(handle)

    def _require_locks(self, handle: int) -> None:
        device = os.fstat(handle).st_dev
        kind = None if device in self._local else remote(device)
        if kind is not None:  # [local]
            advice = "whose locks are not relied on: use a local disk or PostgreSQL"
            raise failure(self.place, "written", f"it lies on a {kind} mount, {advice}")
        self._local.add(device)

    def _require_held(self, handle: int) -> None:
        """Raise where a second handle gets the lock that this one has."""
        other = os.open(self.path, os.O_RDWR | _FLAGS)
        try:
            held = not locks.attempt(other)
        finally:
            os.close(other)
        if not held:  # [lock-holds]
            raise failure(self.place, "written", "the locks of its file system do not hold: move it to a local disk")

    def _last(self, handle: int) -> tuple[Record, int]:
        """The last record, and the size of the file."""
        size, length = os.lseek(handle, 0, os.SEEK_END), _BLOCK
        while True:
            start = max(size - length, 0)
            pieces = _read(handle, start, size - start).split(SEPARATOR)
            place = size
            for piece in reversed(pieces[1:]):
                place -= len(piece) + 1
                record = self._parsed(piece, place)
                if record is not None:
                    self._require_mark(handle)
                    return record, size  # [last]
            if start == 0:
                raise failure(self.place, "read", DAMAGED if size else _EMPTY)
            length *= 8

    def _parsed(self, piece: bytes, place: int) -> Record | None:
        """The record of a piece; None for one that was left unfinished."""
        text = piece.decode("ascii", "replace")
        record = unseal(text.removesuffix("\n"), place)
        if record is None and ("\n" in text or unseal(text[:-1])):  # [finished]
            raise failure(self.place, "read", DAMAGED)
        return record

    def _require_mark(self, handle: int) -> None:
        """Raise unless the record that was seen last is still there."""
        if self._mark is not None:
            start = SEPARATOR + self._mark.digest.encode()
            if _read(handle, self._mark.place, len(start)) != start:  # [mark]
                raise failure(
                    self.place, "read", "an older copy or another file has taken its place since it was opened"
                )

    # end-proof-region: files

    @explained("opened")
    def first(self) -> Record:
        """The first record: what the ledger is for."""
        with _opened(self.path) as handle:
            data = _read(handle, 0, _BLOCK)
        if data.startswith(_SQLITE):
            raise failure(self.place, "opened", _OLD)
        if not data:
            raise failure(self.place, "opened", _EMPTY)
        found = self._parsed(data.split(SEPARATOR)[1], 0) if data.startswith(SEPARATOR) else None
        if found is None:
            raise failure(self.place, "opened", f"it is not a ledger, or {DAMAGED.removeprefix('it is ')}")
        return found

    @explained("read")
    def last(self) -> Record:
        """The last record. No lock is needed, and no right to write."""
        with _opened(self.path) as handle:
            found, _ = self._last(handle)
        self._mark = found
        return found

    @explained("read")
    def records(self, after: Record | None = None) -> list[Record]:
        """All records in their order, or those after one of them."""
        start = 0 if after is None else after.place
        with _opened(self.path) as handle:
            data = _read(handle, start, os.lseek(handle, 0, os.SEEK_END) - start)
        found, place = [], start
        for piece in data.split(SEPARATOR)[1:]:
            record = self._parsed(piece, place)
            found += [] if record is None else [record]
            place += len(piece) + 1
        return found if after is None else found[1:]

    def flaws(self) -> list[str]:
        """What is wrong with the file beside its records."""
        with _opened(self.path) as handle:
            return [] if _read(handle, 0, 1) == SEPARATOR else ["the file does not begin with a record"]

    @explained("read")
    def sync(self) -> None:
        """Return when all records are on the disk."""
        with _opened(self.path) as handle:
            _sync(handle)

    def close(self) -> None:
        """Nothing stays open."""


_EMPTY = "it is empty: restore it from a backup, or delete it to begin anew"
_OLD = "it has format 1, a SQLite file: `opendp-topk ledger migrate` copies it into a new ledger"


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    handle = os.open(path, os.O_RDONLY | _FLAGS)
    try:
        yield handle
    finally:
        os.close(handle)


def _read(handle: int, start: int, length: int) -> bytes:
    os.lseek(handle, start, os.SEEK_SET)
    parts = []
    while length > 0 and (part := os.read(handle, length)):
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def _write(handle: int, data: bytes) -> None:
    while data:
        data = data[os.write(handle, data) :]


def _sync(handle: int) -> None:
    """Wait for the disk itself where the system can (macOS), for what it promises otherwise."""
    if not locks.flush(handle):
        os.fsync(handle)


def _fork_waits() -> None:
    FORKING.acquire()


def _fork_done() -> None:
    FORKING.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_fork_waits, after_in_parent=_fork_done, after_in_child=_fork_done)
