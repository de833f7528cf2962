"""The ledger's file: SQLite in write-ahead mode, every commit on the disk before it returns.

Proof: proofs/ledger/ledger.tex
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from .creation import APPLICATION, FORKING, VERSION, identity, log
from .failures import PATIENCE, REASONS, damaged, explained, failure

Row = tuple[int, str, str, str, str, str, str]


class Store:
    """One file; usable from several threads, and after a fork from both processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._closed = False
        with FORKING:
            _STORES.add(self)
        self._open()

    @explained("opened")
    def _open(self) -> None:
        if self.path.stat().st_size == 0:
            raise failure(self.path, "opened", "it is empty: restore it from a backup, or delete it to begin anew")
        self._file = identity(self.path)
        with self._local() as connection:
            self._verify(connection)
            self._require_alone()

    # proof-region: store
    @explained("written")
    def debit(self, row: Callable[[str | None], tuple[str, ...]]) -> None:
        """Append what ``row`` makes of the last total, and return when it is on the disk.

        ``row`` is called while no other process can write; what it raises leaves the file as it was.
        """
        with self._local() as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")  # [exclusive]
                self._require_alone()  # [same-file]
                last = connection.execute("SELECT number, total FROM releases ORDER BY number DESC LIMIT 1").fetchone()
                number, total = last or (0, None)
                values = (number + 1, *row(total))
                connection.execute("INSERT INTO releases VALUES (?, ?, ?, ?, ?, ?, ?)", values)  # [append]
                connection.execute("COMMIT")  # [durable]
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")  # [rollback]
                raise

    def _require_alone(self) -> None:
        """Raise where debits could be written to a file that other processes do not read."""
        if identity(self.path) != self._file:
            raise failure(self.path, "written", "another file has taken its place since it was opened")
        if self.path.stat().st_nlink > 1:
            raise failure(self.path, "written", "it has a second name (a hard link), whose debits would go elsewhere")
        if self._log is None:  # [write-ahead]
            raise failure(self.path, "opened", "its write-ahead log is off: switch it on by PRAGMA journal_mode = WAL")
        if identity(log(self.path)) != self._log:
            raise failure(self.path, "written", "its -wal file was removed while in use: open the ledger again")

    def _connect(self) -> sqlite3.Connection:
        address = f"file:{quote(str(self.path))}?mode=rw"
        connection = sqlite3.connect(address, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA synchronous = FULL")  # [synchronous]
        connection.execute("PRAGMA fullfsync = ON")
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        self._process, self._log = os.getpid(), identity(log(self.path))
        return connection

    @contextmanager
    def _local(self) -> Iterator[sqlite3.Connection]:
        """The connection, for one thread at a time."""
        with self._lock:  # [one-thread]
            if self._closed:
                raise failure(self.path, "used", "it was closed: open it again")
            if self._connection is None:
                self._connection = self._connect()
            if self._process != os.getpid():  # [process]
                raise failure(self.path, "used", "this process is a copy of another that Python did not make")
            yield self._connection

    def disconnect(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
        self._connection = None

    def before_fork(self) -> None:
        """Close the connection, which must not live in two processes; the next use opens one."""
        self._lock.acquire()
        self.disconnect()  # [fork]

    def after_fork(self) -> None:
        self._lock.release()

    # end-proof-region: store

    @explained("read")
    def about(self) -> tuple[str, str]:
        """The budget and the measure, as they were written."""
        with self._local() as connection:
            found = connection.execute("SELECT budget, measure FROM about").fetchall()
        if len(found) != 1:
            raise damaged(self.path)
        budget, measure = found[0]
        return str(budget), str(measure)

    @explained("read")
    def rows(self) -> list[Row]:
        """All debits, the oldest first."""
        with self._local() as connection:
            return connection.execute("SELECT * FROM releases ORDER BY number").fetchall()

    @explained("read")
    def last_total(self) -> str | None:
        """The total after the last debit."""
        with self._local() as connection:
            found = connection.execute("SELECT total FROM releases ORDER BY number DESC LIMIT 1").fetchone()
        return None if found is None else str(found[0])

    @explained("closed")
    def close(self) -> None:
        """Close the file. A debit that returned is on the disk already."""
        with self._lock:
            self._closed = True
            self.disconnect()

    def _verify(self, connection: sqlite3.Connection) -> None:
        """Refuse what is no ledger, is newer than this code, or is damaged, without writing."""
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION:
            raise failure(self.path, "opened", REASONS["NOTADB"])
        if version != VERSION:
            raise failure(self.path, "opened", f"it has format {version}, and this library reads {VERSION}: update")
        if connection.execute("PRAGMA quick_check").fetchall() != [("ok",)]:
            raise damaged(self.path)


_STORES: weakref.WeakSet[Store] = weakref.WeakSet()
_paused: list[Store] = []


def _before_fork() -> None:
    FORKING.acquire()
    _paused[:] = _STORES
    for store in _paused:
        store.before_fork()


def _after_fork() -> None:
    while _paused:
        _paused.pop().after_fork()
    FORKING.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
