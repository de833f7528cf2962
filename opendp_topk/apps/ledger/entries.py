"""The entries of a ledger: every debit, and what became of it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .amounts import from_texts
from .failures import damaged
from .records import Record
from .stated import OWN

RESERVED, RELEASED, FAILED = STATES = ("reserved", "released", "failed")
_SAID: dict[str, Callable[[Any], Any]] = {**dict.fromkeys(OWN, str), "at_most": int, "shared": bool}


@dataclass(frozen=True)
class Entry:
    """One debit of a ledger. It counts as spent whatever its state is.

    ``cost`` is what it was charged and ``spent`` what all entries up to it were charged together, in the measure in
    which the ledger counts, rounded up. ``state`` is ``reserved`` until it is known that it was ``released`` or has
    ``failed``. ``claim`` is the SHA-256 of the library's claims with the measurement and its proof. ``within`` is the
    number of the conversation to which the entry belongs, and ``used`` what that conversation had used up to it.
    ``record`` is the digest of the record of its release, salted so that nobody can guess what was released.
    ``period`` and ``purpose`` are what its caller said of it. Where it counted by another column than the ledger's,
    ``at_most`` is with how many of its values one person has rows, and ``shared`` whether one may be of several people.
    """

    number: int
    time: str
    label: str
    operator: str
    measurement: str
    proof: str
    claim: str
    d_in: str
    cost: Any
    spent: Any
    state: str
    settled: str | None = None
    within: int | None = None
    used: Any = None
    record: str | None = None
    period: str | None = None
    purpose: str | None = None
    at_most: int | None = None
    shared: bool | None = None

    def as_dict(self) -> dict[str, Any]:
        """The entry for JSON; what it does not have is left out."""
        return {name: value for name, value in vars(self).items() if value is not None}


def read(place: str, records: Iterable[Record], shown: Callable[[Any], Any]) -> list[Entry]:
    """The entries of a ledger's records; ``shown`` turns exact amounts into what people read.

    Raises:
        LedgerError: A record is none that a ledger writes.
    """
    found: dict[int, dict[str, Any]] = {}
    shorter = functools.cache(lambda texts: shown(from_texts(list(texts))))
    try:
        for record in records:
            _add(found, record.fields, lambda texts: shorter(tuple(texts)))
        return [Entry(**one) for one in found.values()]
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        pass
    raise damaged(place)


def _add(found: dict[int, dict[str, Any]], fields: dict[str, Any], shown: Callable[[Any], Any]) -> None:
    if fields["kind"] == "debit":
        found[int(fields["entries"])] = _entry(fields, shown)
    elif fields["kind"] == "state":
        one = found[int(fields["of"])]
        if one["state"] != RELEASED:  # the first time that it was: nothing that comes later is the release's
            digest = fields.get("record")
            kept = None if digest is None else str(digest)
            one.update(state=str(fields["state"]), settled=str(fields["time"]), record=kept)
    elif fields["kind"] not in ("ledger", "accept", "repair"):
        raise ValueError


def _entry(fields: dict[str, Any], shown: Callable[[Any], Any]) -> dict[str, Any]:
    said = {name: kind(fields[name]) for name, kind in _SAID.items() if name in fields}
    texts = {name: str(fields[name]) for name in ("time", "label", "operator", "measurement", "proof", "claim", "d_in")}
    datetime.fromisoformat(texts["time"])  # what is no time was not written by a ledger
    told = {
        "number": int(fields["entries"]),
        "cost": shown(fields["cost"]),
        "spent": shown(fields["spent"]),
        "state": RESERVED,
        "record": None,
        "within": fields.get("within"),
        "used": None if "used" not in fields else shown(fields["used"]),
    }
    return {**texts, **told, **said}
