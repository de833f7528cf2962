"""Whether the records of a ledger contradict themselves, or a head that was kept elsewhere.

Proof: proofs/ledger/ledger.tex
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from ...errors import LedgerError, ParameterError
from .accounts import Account, within
from .amounts import Amount, fits, from_texts, to_texts, total
from .conversation import WHAT
from .journal import Journal, described
from .logs import Log
from .planned import PLANNED
from .records import Record, accepted_in, follows, head
from .signing import is_signed, told

_NOTES = "accept", "repair"  # kinds of records that neither charge nor settle anything


def problems(journal: Journal, kept: str | None = None, key: str | os.PathLike[str] | None = None) -> list[str]:
    """What is wrong, one line each."""
    anchor, signature = (None, None) if kept is None else told(kept)
    if key is None and signature is not None:
        raise ParameterError("head is signed: give the key, too, or the head without its signature")
    if key is not None and anchor is None:
        raise ParameterError("a key is for a head that was signed: give the head, too")
    forged = key is not None and not is_signed(kept, key)
    found: list[str] = []
    try:
        found.extend(contradictions(journal))  # what was found stays, if it cannot be read on
        if forged:
            return [*found, "the head that was kept is not signed with this key, or one of them was changed"]
        return found if anchor is None else [*found, *_held_against(journal.log, anchor)]
    except LedgerError as error:
        return [*found, str(error).replace(". Nothing was released", "")]


def contradictions(journal: Journal) -> Iterator[str]:
    """What contradicts itself, one line each; a LedgerError where it cannot be read."""
    yield from journal.log.flaws()
    yield from _walk(journal.log.place, journal.log.records())


def _held_against(log: Log, kept: str) -> list[str]:
    number = int(kept.partition("-")[0])
    found = log.find(lambda record: record.number >= number)
    if found is None:
        return [f"record {number}, which was kept, is missing: the ledger was set back, or cut"]
    if head(found) != kept:
        return [f"record {number} is not the one that was kept: the ledger was rewritten since"]
    return []


# proof-region: checking
class _Walk:
    """What the records up to one of them add up to."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self.spent = account.nothing
        self.told = to_texts(self.spent)
        self.entries = 0
        self.paid: dict[int, Amount] = {}
        self.used: dict[int, Amount] = {}
        self.places: dict[int, set[int]] = {}  # of planned releases, those that are not drawn

    def add(self, fields: dict[str, Any]) -> None:
        """Take up one record; ValueError where it does not add up."""
        if fields["kind"] == "debit":
            self._debit(fields, from_texts(fields["cost"]))
        elif fields["kind"] not in (*_NOTES, "state") or (fields["kind"] == "state" and not self._known(fields["of"])):
            raise ValueError
        if (fields["spent"], fields["entries"]) != (self.told, self.entries):  # [totals]
            raise ValueError

    def _known(self, number: int) -> bool:
        return 0 < number <= self.entries

    def _debit(self, fields: dict[str, Any], cost: Amount) -> None:
        self.entries += 1
        if fields["measurement"] == WHAT:
            self.paid[self.entries] = cost
        if fields["measurement"] == PLANNED:
            self.places[self.entries] = set(range(len(fields["places"])))
        if "place" in fields:
            self.places[fields["within"]].remove(fields["place"])  # [each-once]
            if any(cost):
                raise ValueError
        if "used" not in fields:
            self.spent = total(self.spent, cost)
            self.told = to_texts(self.spent)
            if not self.account.admits(self.spent):  # [totals-fit]
                raise ValueError
            return
        number = fields["within"]
        used = total(self.used.get(number, self.account.nothing), cost)
        if from_texts(fields["used"]) != used or not fits(used, self.paid[number]):  # [used-totals]
            raise ValueError
        self.used[number] = used


def _walk(place: str, records: Iterable[Record]) -> list[str]:
    listed = iter(records)
    before = next(listed, None)
    if before is None or before.number != 0 or before.fields.get("kind") != "ledger":
        return ["the first record does not say what the ledger is for"]
    _, account = described(place, before)
    found = [] if within(account) else ["the limit is not that of the budget"]  # [limit]
    walk, ledger = _Walk(account), before.digest
    for after in listed:
        if not follows(before, after) or after.fields.get("ledger") != ledger:  # [chain]
            return [
                *found,
                f"record {after.number} does not follow record {before.number}: one was removed, added or rewritten",
            ]
        try:
            if after.fields["kind"] != "accept" and accepted_in(after) != accepted_in(before):  # [accepted-by-record]
                raise ValueError
            walk.add(after.fields)
        except (KeyError, TypeError, ValueError, ZeroDivisionError):
            return [*found, f"record {after.number} does not add up with those before it"]
        before = after
    return found


# end-proof-region: checking
