"""Log of a ledger in a file or on a server, and read-only snapshots of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

from ...errors import ParameterError
from .files import FileLog, create_log_file, parse_accepted_kind
from .records import Record, ledger_error

# Logs of records, and the log that an address names: a file, or a table of a PostgreSQL server.

SCHEMES = ("postgresql://", "postgres://")


class Log(Protocol):
    """Records to which others are appended, one at a time over all processes."""

    place: str

    def append(self, make: Callable[[Record], str], *, durable: bool = True) -> Record:
        """Append the text that ``make`` returns for the last record, and return once it is on disk.

        If ``durable`` is false, it may be lost if the machine or the server fails, alone or with later records.
        """

    def first_record(self) -> Record:
        """Return the record with which the ledger was created."""

    def last_record(self) -> Record:
        """Return the last record."""

    def iter_records(self, after: Record | None = None, holding: str = "") -> Iterator[Record]:
        """Yield all records in order, or those after ``after``; only those whose text contains ``holding``."""

    def find_first_record(self, reached: Callable[[Record], bool]) -> Record | None:
        """Return the first record for which ``reached`` is true, as for all later ones; None if there is none."""

    def storage_flaws(self) -> list[str]:
        """Return the defects of the storage of the records."""

    def sync_records(self) -> Record:
        """Return the last record, once it is on the disk with all before it."""

    def close(self) -> None:
        """Close what is open."""


def open_log(address: Any, header: str | None = None, accepts: str | None = None) -> Log:
    """Return the log at ``address``. If a ``header`` is given, create the log with it as its first record.

    ``accepts`` is a type of file system on which a ledger cannot rely, to be accepted for a file, or a server to which
    a ledger was moved.
    """
    if isinstance(address, str) and address.startswith(SCHEMES):
        from .postgres import PostgresLog, is_server

        if accepts is not None and not (isinstance(accepts, str) and is_server(accepts)):
            raise ParameterError("accept_file_system must be the server from the error, for a ledger on a server")
        server = PostgresLog(address, accepts)
        if header is not None:
            server.create_first_record(header)
        return server
    log = FileLog(resolve_path(address), parse_accepted_kind(accepts))
    if header is not None:
        create_log_file(log, header)
    return log


def resolve_path(path: Any, name: str = "address") -> Path:
    """Return ``path`` without symbolic links."""
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else ""
    if not isinstance(text, str) or not text or "\0" in text or not _is_encodable(text):
        server = ", or begin with postgresql://" if name == "address" else ""
        raise ParameterError(f"{name} must be the name of a file{server}")
    return Path(os.path.realpath(text))


def _is_encodable(text: str) -> bool:
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


# Snapshot of a ledger: its records up to one of them, so that all facts read from it are consistent.


class LogSnapshot:
    """Read-only log with the records of ``log`` up to its present last record."""

    def __init__(self, log: Log) -> None:
        self.place = log.place
        self._log = log
        self._last = log.sync_records()  # records that are not on disk may be lost with the server

    def append(self, make: Callable[[Record], str], *, durable: bool = True) -> Record:
        """Raise an error: a snapshot is read-only."""
        raise ledger_error(self.place, "written", "it was opened read-only, in the state of one moment")

    def first_record(self) -> Record:
        return self._log.first_record()

    def last_record(self) -> Record:
        return self._last

    def iter_records(self, after: Record | None = None, holding: str = "") -> Iterator[Record]:
        for record in self._log.iter_records(after, holding):
            if record.number > self._last.number:
                return
            yield record

    def find_first_record(self, reached: Callable[[Record], bool]) -> Record | None:
        found = self._log.find_first_record(reached)
        return None if found is None or found.number > self._last.number else found

    def storage_flaws(self) -> list[str]:
        return self._log.storage_flaws()

    def sync_records(self) -> Record:
        return self._last

    def close(self) -> None:
        self._log.close()


def snapshot_log(log: Any) -> Log:
    return log if isinstance(log, LogSnapshot) else LogSnapshot(log)
