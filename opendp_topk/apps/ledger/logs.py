"""The log of a ledger, wherever it lies, and moments at which it is read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

from ...errors import ParameterError
from .files import FileLog, accepted, create
from .records import Record, failure

# What a log of records is, and which one a name means: a file, or a table of a PostgreSQL server.

SCHEMES = ("postgresql://", "postgres://")


class Log(Protocol):
    """Records to which others are appended, one at a time over all processes."""

    place: str

    def append(self, make: Callable[[Record], str], *, durable: bool = True) -> Record:
        """Append what ``make`` makes of the last record, and return when it is on the disk."""

    def first(self) -> Record:
        """The record with which the ledger was created."""

    def last(self) -> Record:
        """The last record."""

    def records(self, after: Record | None = None, holding: str = "") -> Iterator[Record]:
        """All records in their order, or those after one of them; those whose text has ``holding``, if it is given."""

    def find(self, reached: Callable[[Record], bool]) -> Record | None:
        """The first record of which ``reached`` says yes, as it does of all that follow it; None if there is none."""

    def flaws(self) -> list[str]:
        """What is wrong with what holds the records."""

    def sync(self) -> Record:
        """The last record, when it is on the disk with all before it."""

    def close(self) -> None:
        """Close what is open."""


def log_at(address: Any, header: str | None = None, accepts: str | None = None) -> Log:
    """The log that ``address`` names; with a ``header``, a new one that has it as its first record.

    ``accepts`` is a kind of file system on which a file may lie though a ledger cannot rely on it, or a server to which
    a ledger was moved.

    Raises:
        ParameterError: ``accepts`` is none.
        LedgerError: A header is given, and there is something at the address.
    """
    if isinstance(address, str) and address.startswith(SCHEMES):
        from .postgres import PostgresLog, is_server

        if accepts is not None and not (isinstance(accepts, str) and is_server(accepts)):
            raise ParameterError("accept_file_system must be the server that an error named, for a ledger on a server")
        server = PostgresLog(address, accepts)
        if header is not None:
            server.create(header)
        return server
    log = FileLog(path_of(address), accepted(accepts))
    if header is not None:
        create(log, header)
    return log


def path_of(path: Any, name: str = "address") -> Path:
    """``path`` without symbolic links.

    Raises:
        ParameterError: It is no path.
    """
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else ""
    if not isinstance(text, str) or not text or "\0" in text or not _encodes(text):
        raise ParameterError(f"{name} must be the name of a file, or begin with postgresql://")
    return Path(os.path.realpath(text))


def _encodes(text: str) -> bool:
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


# One moment of a ledger: its records up to one of them, so that all that is told of it fits together.


class Moment:
    """The records of ``log`` up to its last one of now, to be read and not to be written, as a log of their own."""

    def __init__(self, log: Log) -> None:
        self.place = log.place
        self._log = log
        self._last = log.sync()  # what is not on the disk yet may be lost with its server

    def append(self, make: Callable[[Record], str], *, durable: bool = True) -> Record:
        """Raise: what is read of one moment has no next record."""
        raise failure(self.place, "written", "it was opened to be read as it was at one moment")

    def first(self) -> Record:
        """The record with which the ledger was created."""
        return self._log.first()

    def last(self) -> Record:
        """The last record of the moment."""
        return self._last

    def records(self, after: Record | None = None, holding: str = "") -> Iterator[Record]:
        """As those of a log, up to the moment."""
        for record in self._log.records(after, holding):
            if record.number > self._last.number:
                return
            yield record

    def find(self, reached: Callable[[Record], bool]) -> Record | None:
        """As that of a log, up to the moment."""
        found = self._log.find(reached)
        return None if found is None or found.number > self._last.number else found

    def flaws(self) -> list[str]:
        """What is wrong with what holds the records."""
        return self._log.flaws()

    def sync(self) -> Record:
        """The last record of the moment, which is on the disk."""
        return self._last

    def close(self) -> None:
        """Close what is open."""
        self._log.close()


def log_of(log: Any) -> Log:
    """The log of one moment; that itself, if it is one."""
    return log if isinstance(log, Moment) else Moment(log)
