"""What people say of a ledger and of a release in words: who publishes it, of which period, and what for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .units import name_of

OWN = "label", "period", "purpose", "at_most", "shared"  # what the entry of a release says of it


@dataclass(frozen=True)
class Stated:
    """Words that nothing computes; None where nobody said so."""

    publisher: str | None = None
    period: str | None = None
    purpose: str | None = None

    @staticmethod
    def of(**words: Any) -> Stated:
        """Each a line of printable characters, or None."""
        return Stated(**{name: None if word is None else name_of(name, word) for name, word in words.items()})

    @staticmethod
    def read(fields: Mapping[str, Any]) -> Stated:
        """What a record of a ledger says."""
        found = {name: fields.get(name) for name in Stated.__dataclass_fields__}
        return Stated(**{name: None if word is None else str(word) for name, word in found.items()})

    def as_dict(self) -> dict[str, str]:
        """What was said."""
        return {name: word for name, word in vars(self).items() if word is not None}


def in_words(
    user: str | None, person: str | None, words: Mapping[str, str], entry: Mapping[str, Any]
) -> dict[str, Any]:
    """What the record of a release tells in words: what its entry says, and where that is silent, its ledger."""
    whom = {} if user is None else {"person": person, "column": user}
    return {**words, **whom, **{name: entry[name] for name in OWN if entry.get(name)}}
