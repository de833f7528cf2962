"""The ledger's file: SQLite in write-ahead mode, every commit on the disk before it returns.

Proof: proofs/ledger/ledger.tex
"""

from __future__ import annotations

import os
import sqlite3
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar
from urllib.parse import quote

from ..errors import LedgerError

APPLICATION, VERSION = 0x6F74_6B6C, 1
PATIENCE = 120.0
Row = tuple[int, str, str, str, str, str, str]
P = ParamSpec("P")
Holder = TypeVar("Holder", bound="Store | Path")
Result = TypeVar("Result")

_SCHEMA = """
CREATE TABLE about (budget TEXT NOT NULL, measure TEXT NOT NULL);
CREATE TABLE releases (
    number INTEGER PRIMARY KEY, time TEXT NOT NULL, measurement TEXT NOT NULL, proof TEXT NOT NULL,
    d_in TEXT NOT NULL, cost TEXT NOT NULL, total TEXT NOT NULL
);
"""
_REASONS = {
    "BUSY": f"another process kept it locked for {PATIENCE:.0f} seconds",
    "LOCKED": f"another process kept it locked for {PATIENCE:.0f} seconds",
    "FULL": "the disk is full",
    "IOERR": "reading or writing failed: the disk may be full or a limit on the size of files may be reached",
    "READONLY": "it may not be written: check the permissions of the file and its folder",
    "PERM": "it may not be written: check the permissions of the file and its folder",
    "CANTOPEN": "it cannot be opened: check that the file exists, and the permissions of the file and its folder",
    "CORRUPT": "it is damaged: restore it from a backup that is not older than the last release",
    "NOTADB": "it is not a ledger, or damaged: restore it from a backup that is not older than the last release",
}


def _explained(
    deed: str,
) -> Callable[[Callable[Concatenate[Holder, P], Result]], Callable[Concatenate[Holder, P], Result]]:
    """Decorate what is done to a file: errors of the system and of SQLite become a :class:`LedgerError`."""

    def decorate(function: Callable[Concatenate[Holder, P], Result]) -> Callable[Concatenate[Holder, P], Result]:
        @wraps(function)
        def explained(holder: Holder, /, *args: P.args, **kwargs: P.kwargs) -> Result:
            try:
                return function(holder, *args, **kwargs)
            except LedgerError:
                raise
            except sqlite3.Error as error:
                name = getattr(error, "sqlite_errorname", "") or ""
                kind = name.removeprefix("SQLITE_").split("_")[0]
                reason = _REASONS.get(kind, f"SQLite reports {name or type(error).__name__}")
            except OSError as error:
                reason = error.strerror or type(error).__name__
            raise _error(holder if isinstance(holder, Path) else holder.path, deed, reason)

        return explained

    return decorate


class Store:
    """One file; usable from several threads, and after a fork from both processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._open()

    @_explained("opened")
    def _open(self) -> None:
        self._identity = _identity(self.path)
        if self.path.stat().st_size == 0:
            raise _error(self.path, "opened", "it is empty: restore it from a backup, or delete it to begin anew")
        self._own = self._connect()
        self._verify()

    # proof-region: store
    @_explained("written")
    def debit(self, row: Callable[[str | None], tuple[str, ...]]) -> None:
        """Append what ``row`` makes of the last total, and return when it is on the disk.

        ``row`` is called while no other process can write; what it raises leaves the file as it was.
        """
        with self._local() as connection:
            connection.execute("BEGIN IMMEDIATE")  # [exclusive]
            try:
                if _identity(self.path) != self._identity:  # [same-file]
                    raise _error(self.path, "written", "another file has taken its place since it was opened")
                last = connection.execute("SELECT number, total FROM releases ORDER BY number DESC LIMIT 1").fetchone()
                number, total = last or (0, None)
                values = (number + 1, *row(total))
                connection.execute("INSERT INTO releases VALUES (?, ?, ?, ?, ?, ?, ?)", values)  # [append]
                connection.execute("COMMIT")  # [durable]
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")  # [rollback]
                raise

    def _connect(self) -> tuple[int, threading.Lock, sqlite3.Connection]:
        address = f"file:{quote(str(self.path))}?mode=rw"
        connection = sqlite3.connect(address, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA synchronous = FULL")  # [synchronous]
        connection.execute("PRAGMA fullfsync = ON")
        return os.getpid(), threading.Lock(), connection

    @contextmanager
    def _local(self) -> Iterator[sqlite3.Connection]:
        """This process's own connection, for one thread at a time."""
        own = self._own
        if own[0] != os.getpid():
            _INHERITED.append(own)  # closing it here would disturb the process that opened it
            own = self._own = self._connect()  # [fork]
        _, lock, connection = own
        with lock:  # [one-thread]
            yield connection

    # end-proof-region: store

    @_explained("read")
    def about(self) -> tuple[str, str]:
        """The budget and the measure, as they were written."""
        with self._local() as connection:
            found = connection.execute("SELECT budget, measure FROM about").fetchall()
        if len(found) != 1:
            raise damaged(self.path)
        budget, measure = found[0]
        return str(budget), str(measure)

    @_explained("read")
    def rows(self) -> list[Row]:
        """All debits, the oldest first."""
        with self._local() as connection:
            return connection.execute("SELECT * FROM releases ORDER BY number").fetchall()

    @_explained("read")
    def last_total(self) -> str | None:
        """The total after the last debit."""
        with self._local() as connection:
            found = connection.execute("SELECT total FROM releases ORDER BY number DESC LIMIT 1").fetchone()
        return None if found is None else str(found[0])

    @_explained("closed")
    def close(self) -> None:
        """Close the file. A debit that returned is on the disk already."""
        with self._local() as connection:
            connection.close()

    def _verify(self) -> None:
        """Refuse what is no ledger, is newer than this code, or is damaged, without writing."""
        with self._local() as connection:
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if application != APPLICATION:
                raise _error(self.path, "opened", _REASONS["NOTADB"])
            if version != VERSION:
                raise _error(self.path, "opened", f"it has format {version}, and this library reads {VERSION}: update")
            if connection.execute("PRAGMA quick_check").fetchall() != [("ok",)]:
                raise damaged(self.path)


_INHERITED: list[tuple[int, threading.Lock, sqlite3.Connection]] = []


def create(path: Path, budget: str, measure: str) -> None:
    """Make a new ledger at ``path``, whole or not at all; a file that is there already is left alone."""
    draft = path.with_name(f".{path.name[:100]}.{uuid.uuid4().hex[:12]}.new")
    try:
        _create(path, draft, budget, measure)
    finally:
        for ending in ("", "-wal", "-shm", "-journal"):
            with suppress(OSError):
                draft.with_name(draft.name + ending).unlink()


@_explained("created")
def _create(path: Path, draft: Path, budget: str, measure: str) -> None:
    connection = sqlite3.connect(draft, isolation_level=None)
    try:
        connection.executescript(f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; {_SCHEMA}")
        connection.execute("INSERT INTO about VALUES (?, ?)", (budget, measure))
        connection.execute("PRAGMA journal_mode = WAL")
    finally:
        connection.close()
    _to_disk(draft, os.O_RDWR)
    with suppress(FileExistsError):
        os.link(draft, path)
    _to_disk(path.parent, os.O_RDONLY)


def damaged(path: Path) -> LedgerError:
    """The error for a file whose parts contradict each other."""
    return _error(path, "read", _REASONS["CORRUPT"])


def _to_disk(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _error(path: Path, deed: str, reason: str) -> LedgerError:
    return LedgerError(f"the ledger {str(path)!r} could not be {deed}: {reason}. Nothing was released")
