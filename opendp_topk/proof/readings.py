"""Review log, ``proofs/readings.jsonl``: which proof was checked against which change, when and by whom.

A line with a ``document`` is a review after which its code hashes were renewed. ``digest`` identifies the code hashes
and the statements relied on, as they were written then. ``checked`` quotes the hypothesis or tag that was checked
again, and ``against`` quotes the line of the change it was checked against. A line with a ``statement`` records a
rewording with the same meaning, from one digest to another: records about the old wording are valid for the new one. A
line with ``digests`` records a new form of the code hashes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from ..errors import ProofError
from . import library


@dataclass(frozen=True)
class ReviewEntry:
    """A document was reviewed again, and its code hashes were renewed."""

    document: str
    digest: str
    date: str
    by: str
    checked: str
    against: str
    because: str = ""

    def __str__(self) -> str:
        return f"{self.date}, {self.by}: {self.checked} | held against: {self.against}"


@dataclass(frozen=True)
class Rewording:
    """A statement was reworded without changing its meaning: ``old`` and ``new`` are its digests."""

    statement: str
    old: str
    new: str
    date: str
    by: str
    because: str


@dataclass(frozen=True)
class Migration:
    """Code hashes changed their form, not the code they identify: ``digests`` maps each old hash to the new one."""

    digests: dict[str, str]
    date: str
    by: str
    because: str


Line = ReviewEntry | Rewording | Migration


def review_log_path() -> Path:
    return library.documents_folder() / "readings.jsonl"


@library.remembered
def read_review_log() -> tuple[Line, ...]:
    path = review_log_path()
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return tuple(_parse_review_line(number, line) for number, line in enumerate(lines, start=1))


def _parse_review_line(number: int, text: str) -> Line:
    try:
        fields = json.loads(text)
        kind = ReviewEntry if "document" in fields else Migration if "digests" in fields else Rewording
        return kind(**fields)
    except (ValueError, TypeError):
        raise ProofError(f"line {number} of proofs/readings.jsonl is no reading, rewording or migration") from None


def last_review(name: str) -> ReviewEntry | None:
    return next(
        (line for line in reversed(read_review_log()) if isinstance(line, ReviewEntry) and line.document == name), None
    )


def drifted_statements(name: str) -> list[str]:
    """Return the statements that ``name`` relies on that differ from the record, except for recorded rewordings."""
    then, now = library.recorded_reliances(name), library.current_reliances(name)
    return sorted(key for key in then.keys() | now.keys() if not _has_same_meaning(key, then.get(key), now.get(key)))


def _has_same_meaning(key: str, then: str | None, now: str | None) -> bool:
    if then == now:
        return True
    steps = [line for line in read_review_log() if isinstance(line, Rewording) and line.statement == key]
    same = {then}
    while more := {step.new for step in steps if step.old in same} - same:
        same |= more
    return now in same
