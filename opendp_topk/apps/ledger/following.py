"""What an entry has begun and later records go on with, in this process or another one, until it is closed.

Proof: proofs/ledger/ledger.tex
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .entries import RELEASED
from .failures import damaged
from .journal import Journal
from .records import Record, lasts


class Following:
    """What records say of one entry and of those within it, whoever wrote them. ``number`` is that of the entry."""

    def __init__(self, journal: Journal, begun: Record) -> None:
        self.number = int(begun.fields["entries"])
        self._journal = journal
        self._closed = False
        self._seen = begun
        self._take_up((begun,))

    # proof-region: following
    def _learn(self) -> None:
        """Take up all records since the last one that was and is on the disk: a crash may take those behind it back."""
        self._take_up(self._journal.log.records(self._seen))  # [since-last]

    def _take_up(self, records: Iterable[Record]) -> None:
        try:
            for record in records:
                self._take(record.fields)  # [each-record]
                if record.fields["kind"] == "state" and record.fields["of"] == self.number:
                    self._closed = True  # [closed]
                self._seen = record if lasts(record) else self._seen  # [on-disk]
            return
        except (KeyError, TypeError, ValueError, ZeroDivisionError):
            pass
        raise damaged(self._journal.log.place)

    # end-proof-region: following

    def _take(self, fields: dict[str, Any]) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """End it, in all processes. What was not used or drawn is not given back."""
        self._learn()
        if not self._closed:
            self._journal.settle(self.number, RELEASED)
            self._closed = True
