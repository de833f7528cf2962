r"""Pins: the code that a document proves, and all that this code reaches, under one digest.

A pin names a region. What belongs to it is decided by reading the source, never by running it:

- the region's text, letter by letter, with its comments and tags;
- a function or class that holds the region or is cut by it: whole, with its decorators and defaults;
- what these read: each name leads to what makes it, so that ``round_down as round_up`` is another pin;
- what is so reached in the package: its normal form (no comments, docstrings or annotations), and all that it
  reaches in turn, down to what a document on which this one relies pins or reaches itself: that one answers for it;
- a statement of a module that binds nothing: with every name of that module;
- a statement that may change what belongs to the pin, in a module that is loaded with it (``hands.py``).

The digest does not depend on where code lies. The statements are numbered in the order in which names lead to them,
from the region on, and what a statement reads is written as these numbers: two digests are equal just where the one
closure becomes the other by moving statements between modules, by renaming modules, and by other imports that bring
the same things together. So a copy is not the original: code that shares one helper differs from code that has two
equal ones. In the text of the region the package's imports and the names of its modules before a dot are left out;
comments and docstrings there may name a module, and then are words like any others. A statement that reads ``__file__``
or ``__name__`` does depend on its place.

What another document answers for stands under its name alone, for its code is the other's affair; where several things
that are answered for have that name, with the region that holds it; and where no region tells them apart, none of them
is answered for, and its code belongs to the pin.

A method called on a value cannot be told from the source: it belongs to the class, and a class belongs to the documents
that reach it. Names that Python or another library makes are named and not followed, and so are those of this folder,
for what says whether pins are current cannot pin itself.
"""

from __future__ import annotations

import functools
import gc
import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..errors import ProofError
from . import library
from .hands import hands, loaded, running
from .modules import Origin, Statement, forget_modules, module, module_of, reached, spelled
from .regions import forget_regions, marked, source_of, unplaced

_TOOL = "proof"
_PIN = re.compile(r"^\\pin\{([^{}]+)\}\{([0-9a-f]*)\}", re.MULTILINE)


@dataclass(frozen=True)
class Pin:
    """One region of source code, and the hash under which ``document`` proved it."""

    document: str
    region: str
    digest: str

    @property
    def source(self) -> str:
        """The file of the region below the package; errors are those of :func:`region`."""
        return source_of(self.region)

    @property
    def is_current(self) -> bool:
        """Whether the installed source still has the pinned hash."""
        return self.actual == self.digest

    @property
    def actual(self) -> str:
        """The first 16 hexadecimal digits of the SHA-256 of the region and of all that it reaches."""
        return digest(self.document, self.region)

    def __str__(self) -> str:
        return rf"\pin{{{self.region}}}{{{self.digest}}}"


def pins(name: str) -> list[Pin]:
    """The pins of the document ``name``.

    Raises:
        ProofError: There is no such document.
    """
    return [Pin(name, *match) for match in _pins_in(library.source(name))]


_pins_in = functools.cache(_PIN.findall)


def digest(document: str, name: str) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of what belongs to a pin; errors are those of :func:`region`."""
    return hashlib.sha256(pinned(document, name).encode()).hexdigest()[:16]


def pinned(document: str, name: str) -> str:
    """All that belongs to the pin of a region by ``document``, as one text; errors are those of :func:`region`."""
    package = library.package()
    with uncollected():
        return _pinned(package, running(package), document, name)


def all_pinned(documents: Iterable[str]) -> list[tuple[str, ...]]:
    """What belongs to each pin of each document; errors are those of :func:`pins` and :func:`region`."""
    package = library.package()
    at_work = running(package)
    with uncollected():
        return [_all_pinned(package, at_work, document) for document in documents]


@contextmanager
def uncollected() -> Iterator[None]:
    """While code is read: its trees are kept and are no garbage, and looking for some among them takes long."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@functools.cache
def _all_pinned(package: Path, at_work: frozenset[str], document: str) -> tuple[str, ...]:
    return tuple(_pinned(package, at_work, document, pin.region) for pin in pins(document))


@functools.cache
def _pinned(package: Path, at_work: frozenset[str], document: str, name: str) -> str:
    inside, beyond = _closure(package, at_work, document, name)
    marks = _known(package, document) | {one: f"#{number}" for number, one in enumerate([*inside, *beyond])}
    lines = [unplaced(package, name)]
    for one in [*inside, *beyond]:
        form, read = spelled(package, one)
        lines.append(f"{marks[one]} {' '.join(sorted(one.names))}\n{form}")
        lines += [f"{key} = {_told(package, origin, marks)}" for key, origin in read]
        lines += [f"with {marks[loose]}" for loose in _loose(package, one)]
    return "\n".join(lines)


def _told(package: Path, origin: Origin, marks: dict[Statement, str]) -> str:
    """What a name leads to: outside of the package a name, inside the statements that make it."""
    made = _making(package, origin)
    return " ".join([origin.name, *(marks[one] for one in made)]) if made else str(origin.name)


def closure(document: str, name: str) -> tuple[list[Statement], list[Statement]]:
    """The statements that lie in a region, and those beyond it that belong to its pin, as names lead to them."""
    inside, beyond = _closure(library.package(), running(library.package()), document, name)
    return [*inside], [*beyond]


@functools.cache
def _closure(
    package: Path, at_work: frozenset[str], document: str, name: str
) -> tuple[list[Statement], list[Statement]]:
    inside, cut = _held(package, name)
    known = _known(package, document).keys()
    beyond = cut + expanded([*inside, *cut], known)
    while added := _changing(package, at_work, [*inside, *beyond], known):
        beyond += added + expanded([*inside, *beyond, *added], known)
    return inside, beyond


def reaches(pin: Pin) -> list[str]:
    """The titles of what belongs to a pin beyond its region; errors are those of :func:`region`."""
    return sorted({one.title for one in closure(pin.document, pin.region)[1]})


def _changing(
    package: Path, at_work: frozenset[str], proved: list[Statement], known: Set[Statement]
) -> list[Statement]:
    """The statements that may change those ``proved`` or ``known``, of all that run when these are loaded, or did."""
    made = {(one.module, name) for one in [*proved, *known] for name in one.names}
    made |= {(module, "") for module, _ in made}
    found = [
        hand.statement
        for name in loaded(package, at_work.union(one.module for one in [*proved, *known]))
        for hand in hands(package, name)
        if hand.statement not in proved and (hand.changed is None or not hand.changed.isdisjoint(made))
    ]
    return sorted(found, key=lambda one: spelled(package, one)[0])


def origins(one: Statement) -> list[str]:
    """What each name stands for that a statement reads: its name where it is made, and the regions that hold it."""
    package, documents = library.package(), library.documents()
    found = []
    for name, origin in reached(package, one):
        regions = [region for made in _making(package, origin) for region in _regions(package, documents, made)]
        found.append(
            f"{name} = {origin.name or 'module'}" + (f" of {', '.join(sorted({*regions}))}" if regions else "")
        )
    return found


def _held(package: Path, name: str) -> tuple[list[Statement], list[Statement]]:
    """The statements at the top of a module that lie in a region, and those that hold it or are cut by it."""
    source, start, lines = marked(package, name)
    end, home = start + len(lines) + 1, module(package, module_of(source))
    inside, cut = [], []
    for one in home.statements if home else ():
        first, last = one.first_line, one.node.end_lineno or one.first_line
        if start < first and last < end:
            inside.append(one)
        elif first < end and start < last:
            cut.append(one)
    return inside, cut


def expanded(roots: Iterable[Statement], known: Set[Statement]) -> list[Statement]:
    """The statements of the package that ``roots`` reach, down to those that are ``known``, as names lead to them."""
    package, waiting = library.package(), [*roots]
    given = len(waiting)
    found = set(waiting)
    for one in waiting:
        for below in _below(package, one):
            if below not in found and below not in known:
                found.add(below)
                waiting.append(below)
    return waiting[given:]


@functools.cache
def _below(package: Path, one: Statement) -> list[Statement]:
    """The statements that make what this one reads, and those that bind nothing in the same module."""
    found = [made for _, origin in spelled(package, one)[1] for made in _making(package, origin)]
    return [*found, *_loose(package, one)]


def _loose(package: Path, one: Statement) -> tuple[Statement, ...]:
    home = module(package, one.module)
    return home.loose if home else ()


@functools.cache
def _making(package: Path, origin: Origin) -> list[Statement]:
    """The statements that make a name; a module that is used as a value stands for all of them."""
    there = None if origin.module is None else module(package, origin.module)
    if there is None or there.name.partition(".")[0] == _TOOL:
        return []
    return there.bound.get(origin.name, there.bound.get("__getattr__", [])) if origin.name else list(there.statements)


@functools.cache
def _known(package: Path, document: str) -> dict[Statement, str]:
    """What the foundations of a document answer for, and what its own regions hold: under which name each stands."""
    documents = {document, *library.foundations(document)}
    sharing: dict[str, list[Statement]] = {}
    found = {}
    for one in _own(package, document) | covered(document):
        found[one] = f"known {'/'.join(sorted(one.names))}"
        for name in one.names or ("",):
            sharing.setdefault(name, []).append(one)
    shared = [ones for ones in sharing.values() if len({one.module for one in ones}) > 1]
    held = {one: _regions(package, documents, one) for ones in shared for one in ones}
    for one, regions in held.items():
        found[one] += f" of {', '.join(regions) or 'none'}"
    for ones in shared:
        unheld = [one for one in ones if not held[one]]
        if len({one.module for one in unheld}) > 1:
            for one in unheld:
                found.pop(one, None)
    return found


def _regions(package: Path, documents: Collection[str], one: Statement) -> list[str]:
    """The regions of documents that hold a statement, or cut it."""
    return sorted({region for document, region in _holders(package).get(one, ()) if document in documents})


@functools.cache
def _holders(package: Path) -> dict[Statement, list[tuple[str, str]]]:
    """Every statement that a region holds or cuts, with the documents that pin it and the regions."""
    found: dict[Statement, list[tuple[str, str]]] = {}
    for document in library.documents():
        for pin in pins(document):
            for one in _parts(package, pin):
                found.setdefault(one, []).append((document, pin.region))
    return found


def _parts(package: Path, pin: Pin) -> list[Statement]:
    try:
        inside, cut = _held(package, pin.region)
    except ProofError:
        return []
    return [*inside, *cut]


@functools.cache
def _own(package: Path, document: str) -> frozenset[Statement]:
    """The statements that the regions of a document hold."""
    found = pins(document) if library.document(document) else ()
    return frozenset(one for pin in found for one in _parts(package, pin))


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
    pinning = (_closure, _pinned, _all_pinned)
    for remembered in (_below, _making, _known, _holders, _own, _answered, _covered, *pinning, hands, loaded):
        remembered.cache_clear()
