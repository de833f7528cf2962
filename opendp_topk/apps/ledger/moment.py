"""One moment of a ledger: its records up to one of them, so that all that is told of it fits together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .failures import failure
from .logs import Log
from .records import Record


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
