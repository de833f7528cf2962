"""Releases that are to be paid once: whether an entry has paid for one of the same label and period already."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...errors import ParameterError
from .charges import label_key, text_of
from .entries import FAILED
from .failures import damaged
from .journal import Journal
from .records import Record


class Paid:
    """The entries, but those that have failed, that have paid for a release of this label and period."""

    def __init__(self, journal: Journal, label: str, period: str | None) -> None:
        self.numbers: list[int] = []
        self._journal = journal
        self._wanted = self._key(text_of(label), {} if period is None else {"period": period})
        self._seen: Record | None = None
        self.look()

    def look(self) -> None:
        """Take up what was written since the last look."""
        try:
            for record in self._journal.log.records(self._seen):
                self._take(record.fields)
                self._seen = record
            return
        except (KeyError, TypeError, ValueError):
            pass
        raise damaged(self._journal.log.place)

    def _take(self, fields: Mapping[str, Any]) -> None:
        if fields["kind"] == "state" and fields["state"] == FAILED and fields["of"] in self.numbers:
            self.numbers.remove(fields["of"])
        released = fields["kind"] == "debit" and fields["claim"] and "within" not in fields
        if released and self._key(fields["label"], fields) == self._wanted:
            self.numbers.append(int(fields["entries"]))

    def _key(self, label: str, words: Mapping[str, Any]) -> tuple[str, str]:
        return label_key(label), label_key(str(words.get("period") or self._journal.words.get("period", "")))


def paying_once(journal: Journal, label: str, period: str | None) -> Callable[[], dict[str, Any]]:
    """A step of :meth:`Journal.debit` that refuses what was paid before; most of the ledger is read now.

    Raises:
        ParameterError: By the step, too: an entry has paid for a release of this label and period.
    """
    paid = Paid(journal, label, period)

    def step() -> dict[str, Any]:
        paid.look()
        if paid.numbers:
            raise ParameterError(
                f"entry {paid.numbers[-1]} has paid for a release with this label and period already: answer from its "
                "record, name another label or period, or leave once out to pay again"
            )
        return {}

    step()
    return step
