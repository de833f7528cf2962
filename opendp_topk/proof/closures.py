r"""Pins: the code that a document proves, and all that this code reaches, under one digest.

A pin names a region. What belongs to it is decided by reading the source, never by running it:

- the region's text, letter by letter, with its comments and tags;
- a function or class that holds the region or is cut by it: whole, with its decorators and defaults;
- for every name that these read, where it is made, so that ``round_down as round_up`` is another pin;
- what is so reached in the package: its normal form (no comments, docstrings or annotations), and all that it
  reaches in turn, down to what a document on which this one relies pins or reaches itself: that one answers for it;
- a statement of a module that binds nothing: with every name of that module;
- a statement that may change what belongs to the pin, in a module that is loaded with it (``hands.py``).

A method called on a value cannot be told from the source: it belongs to the class, and a class belongs to the documents
that reach it. Names that Python or another library makes are named and not followed, and so are those of this folder,
for what says whether pins are current cannot pin itself.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..errors import ProofError
from . import library
from .hands import hands, loaded, running
from .modules import Module, Origin, Statement, forget_modules, module, module_of, reached
from .regions import forget_regions, marked, region

_TOOL = "proof"
_PIN = re.compile(r"^\\pin\{([^{}]+)\}\{([^{}]+)\}\{([0-9a-f]*)\}", re.MULTILINE)


@dataclass(frozen=True)
class Pin:
    """One region of source code, and the hash under which ``document`` proved it."""

    document: str
    source: str
    region: str
    digest: str

    @property
    def is_current(self) -> bool:
        """Whether the installed source still has the pinned hash."""
        return self.actual == self.digest

    @property
    def actual(self) -> str:
        """The first 16 hexadecimal digits of the SHA-256 of the region and of all that it reaches."""
        return digest(self.document, self.source, self.region)


def pins(name: str) -> list[Pin]:
    """The pins of the document ``name``.

    Raises:
        ProofError: There is no such document.
    """
    return [Pin(name, *match) for match in _PIN.findall(library.source(name))]


def digest(document: str, source: str, name: str) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of what belongs to a pin; errors are those of :func:`region`."""
    return hashlib.sha256(pinned(document, source, name).encode()).hexdigest()[:16]


def pinned(document: str, source: str, name: str) -> str:
    """All that belongs to the pin of a region by ``document``, as one text; errors are those of :func:`region`."""
    inside, beyond = closure(document, source, name)
    named = [_named(one) for one in inside] + [f"{_named(one)}\n{one.normal}" for one in beyond]
    return "\n".join([region(source, name), *sorted(named)])


def closure(document: str, source: str, name: str) -> tuple[list[Statement], list[Statement]]:
    """The statements that lie in a region, and those beyond it that belong to its pin."""
    inside, beyond = _closure(library.package(), running(library.package()), document, source, name)
    return [*inside], [*beyond]


@functools.cache
def _closure(
    package: Path, at_work: frozenset[str], document: str, source: str, name: str
) -> tuple[list[Statement], list[Statement]]:
    inside, cut = _held(package, source, name)
    known = _own(package, document) | covered(document)
    beyond = cut + expanded([*inside, *cut], known)
    while added := _changing(package, at_work, [*inside, *beyond], known):
        beyond += added + expanded([*inside, *beyond, *added], known)
    return inside, beyond


def reaches(pin: Pin) -> list[str]:
    """The titles of what belongs to a pin beyond its region; errors are those of :func:`region`."""
    return sorted({one.title for one in closure(pin.document, pin.source, pin.region)[1]})


def _changing(
    package: Path, at_work: frozenset[str], proved: list[Statement], known: frozenset[Statement]
) -> list[Statement]:
    """The statements that may change those ``proved`` or ``known``, of all that run when these are loaded, or did."""
    made = {(one.module, name) for one in [*proved, *known] for name in one.names}
    made |= {(module, "") for module, _ in made}
    return [
        hand.statement
        for name in loaded(package, at_work.union(one.module for one in [*proved, *known]))
        for hand in hands(package, name)
        if hand.statement not in proved and (hand.changed is None or not hand.changed.isdisjoint(made))
    ]


def _named(one: Statement) -> str:
    return "\n".join([one.title, *origins(one)])


def origins(one: Statement) -> list[str]:
    """Where each name is made that a statement reads."""
    return [f"{name} = {origin}" for name, origin in sorted(reached(library.package(), one).items())]


def _held(package: Path, source: str, name: str) -> tuple[list[Statement], list[Statement]]:
    """The statements at the top of a module that lie in a region, and those that hold it or are cut by it."""
    start, lines = marked(package, source, name)
    end, home = start + len(lines) + 1, module(package, module_of(source))
    inside, cut = [], []
    for one in home.statements if home else ():
        first, last = one.first_line, one.node.end_lineno or one.first_line
        if start < first and last < end:
            inside.append(one)
        elif first < end and start < last:
            cut.append(one)
    return inside, cut


def expanded(roots: Iterable[Statement], known: frozenset[Statement]) -> list[Statement]:
    """The statements of the package that ``roots`` reach, down to those that are ``known``."""
    package, found, waiting = library.package(), dict.fromkeys(roots), list(roots)
    given = set(found)
    while waiting:
        one = waiting.pop()
        for below in _below(package, one):
            if below not in found and below not in known:
                found[below] = None
                waiting.append(below)
    return [one for one in found if one not in given]


@functools.cache
def _below(package: Path, one: Statement) -> list[Statement]:
    """The statements that make what this one reads, and those that bind nothing in the same modules."""
    home = module(package, one.module)
    found = list(home.loose) if home else []
    for origin in reached(package, one).values():
        there = None if origin.module is None else module(package, origin.module)
        if there is not None:
            found += _making(there, origin)
    return found


def _making(there: Module, origin: Origin) -> list[Statement]:
    """The statements that make a name; a module that is used as a value stands for all of them."""
    if there.name.partition(".")[0] == _TOOL:
        return []
    return there.bound.get(origin.name, there.bound.get("__getattr__", [])) if origin.name else list(there.statements)


@functools.cache
def _own(package: Path, document: str) -> frozenset[Statement]:
    """The statements that the regions of a document hold."""
    found: set[Statement] = set()
    for pin in pins(document) if library.document(document) else ():
        try:
            inside, cut = _held(package, pin.source, pin.region)
        except ProofError:
            continue
        found |= {*inside, *cut}
    return frozenset(found)


def covered(document: str) -> frozenset[Statement]:
    """The statements for which the documents answer on which ``document`` relies."""
    return _covered(library.package(), document)


@functools.cache
def _covered(package: Path, document: str) -> frozenset[Statement]:
    return frozenset().union(*(_answered(package, one) for one in library.foundations(document)))


def answered(document: str) -> frozenset[Statement]:
    """The statements for which a document answers: those that its regions hold, and what these reach."""
    return _answered(library.package(), document)


@functools.cache
def _answered(package: Path, document: str) -> frozenset[Statement]:
    if document in library.foundations(document) or any(
        document in library.foundations(one) for one in library.foundations(document)
    ):
        return frozenset()
    own = _own(package, document)
    return own | frozenset(expanded(own, covered(document)))


def forget_pins() -> None:
    """Read code and documents anew when they are next asked for."""
    library.forget_documents()
    forget_modules()
    forget_regions()
    for remembered in (_below, _own, _answered, _covered, _closure, hands, loaded):
        remembered.cache_clear()
