"""Whether what a document proves still is what runs.

A document under ``proofs/`` pins the code that it proves by a hash, and ``proofs/relied.json`` pins each statement of
another document on which it relies; ``proofs/readings.jsonl`` says which of these have only other words. Both are
compared with what is installed, so a document that lags behind the code, or behind a lemma, is reported as stale
wherever it is read, and with it all that rest on it.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

from ..errors import ProofError
from ..errors.extras import LOADING
from ..markup import notebook
from .carried import forget_carried
from .closures import forget_pins, pins, uncollected
from .library import document, foundations
from .machine import forget_sources
from .readings import forget_readings, strayed

_SEVERITY = ("current", "stale", "missing", "unproven")


@dataclass(frozen=True)
class Proof:
    """Where the claim of a transformation or measurement is proved.

    ``name`` is the document below ``proofs/`` without its ending, or None where the caller supplied the map
    and nothing is proved. The proof of a chain has the proofs of its links as ``parts``. Where the document proves
    the claim only under an ``assumption`` about something that the caller supplied, the claim counts as unproven.
    """

    name: str | None
    parts: tuple[Proof, ...] = ()
    assumption: str | None = None

    @property
    def path(self) -> Path | None:
        """The LaTeX document, in a checkout or in an installed wheel; None where there is none."""
        return None if self.name is None else document(self.name)

    @property
    def status(self) -> str:
        """``current``, ``stale``, ``missing`` or ``unproven``: the worst of this proof and its parts."""
        own = "unproven" if self.name is None or self.assumption else _status(self.name)
        return max([own, *(part.status for part in self.parts)], key=_SEVERITY.index)

    def __str__(self) -> str:
        if self.name is None:
            return "unproven: the caller supplied the map"
        if self.assumption:
            return f"unproven: {self.assumption}; else proofs/{self.name}.tex ({_status(self.name)})"
        if not self.parts:
            return f"proofs/{self.name}.tex ({self.status})"
        return "; ".join(str(part) for part in self.parts) + f"; chained by proofs/{self.name}.tex"

    def _repr_html_(self) -> str:
        links = [Proof(self.name, assumption=self.assumption), *self.parts]
        return notebook.facts(f"Proof: {self.status}", ((one.status, one._words()) for one in links))

    def _words(self) -> str:
        """The document of this link, and the assumption under which it proves the claim."""
        document = "the caller supplied the map" if self.name is None else f"proofs/{self.name}.tex"
        return f"{document}, if {self.assumption}" if self.assumption else document


UNPROVEN = Proof(None)


def _status(name: str) -> str:
    """``missing``, ``current``, or ``stale``: also where anything is stale on which the document rests."""
    with LOADING:  # one thread finds it out, and the others wait for it
        return _found_status(name)


@functools.cache
def _found_status(name: str) -> str:
    if document(name) is None:
        return "missing"
    with uncollected():
        return "current" if all(_own_is_current(one) for one in [name, *foundations(name)]) else "stale"


@functools.cache
def _own_is_current(name: str) -> bool:
    """Whether the code that the document pins is what it was, and the statements on which it relies mean the same."""
    try:
        found = pins(name)
        return bool(found) and all(pin.is_current for pin in found) and not strayed(name)
    except ProofError:
        return False


def forget() -> None:
    """Read code and documents anew: statuses are remembered for as long as the interpreter runs."""
    forget_pins()
    forget_carried()
    forget_sources()
    forget_readings()
    _found_status.cache_clear()
    _own_is_current.cache_clear()
