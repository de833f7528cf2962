"""Records: what a ledger holds, each with the digest of its text and of the record before it.

Proof: proofs/ledger/storage.tex
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, NamedTuple

FORMAT, VERSION = "opendp_topk ledger", 3  # what changed from format to format says docs/versions.md
READ = VERSION, 2  # version 1 was a SQLite file, and the second says nothing of people, periods and purposes
_KEPT: tuple[str, ...] = "entries", "spent", "accepted"  # what each record has of the one before it
_HEX = 64  # hexadecimal digits of SHA-256


class Record(NamedTuple):
    """One record: its digest, what it says, where a log keeps it, and how long its text is."""

    digest: str
    fields: dict[str, Any]
    place: int = 0
    size: int = 0

    @property
    def number(self) -> int:
        return int(self.fields["number"])


# proof-region: records
def seal(fields: dict[str, Any]) -> str:
    """The text of a record, in ASCII without control characters: the digest of what follows it, a blank, and JSON."""
    text = json.dumps(fields, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return f"{_digest(text)} {text}"  # [sealed]


def unseal(text: str, place: int = 0) -> Record | None:
    """The inverse of :func:`seal`; None for every text whose digest is not its own."""
    digest, blank, content = text[:_HEX], text[_HEX : _HEX + 1], text[_HEX + 1 :]
    if blank != " " or digest != _digest(content):  # [own-digest]
        return None
    try:
        fields = json.loads(content)
    except ValueError:
        return None
    known = isinstance(fields, dict) and isinstance(fields.get("number"), int)
    return Record(digest, fields, place, len(text)) if known else None


def follow(last: Record, ledger: str, **fields: Any) -> str:
    """The record after ``last`` in the ledger whose first record has the digest ``ledger``."""
    kept = {name: last.fields[name] for name in _KEPT if name in last.fields}
    chained = {"number": last.number + 1, "previous": last.digest, "ledger": ledger}  # [chained]
    return seal({**chained, **kept, **fields})


def follows(before: Record, after: Record) -> bool:
    """Whether ``after`` was made as the record after ``before``."""
    return after.number == before.number + 1 and after.fields.get("previous") == before.digest  # [link]


def lasts(record: Record) -> bool:
    """Whether its append waited for the disk, as all do but those that say what became of an entry."""
    return record.fields.get("kind") != "state"  # [not-waited-for]


def bind(last: Record, server: str) -> str:
    """The record after ``last`` that binds its ledger to a server."""
    ledger = str(last.fields.get("ledger", last.digest))
    return follow(last, ledger, kind="accept", accepted=sorted({*accepted_in(last), server}))


def accepted_in(record: Record) -> list[str]:
    """The kinds of file systems and the servers that the ledger accepts, up to this record."""
    found = record.fields.get("accepted", [])
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


# end-proof-region: records


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("ascii", "replace")).hexdigest()


def head(record: Record) -> str:
    """The record and all before it in one line, to be kept elsewhere."""
    return f"{record.number}-{record.digest}"
