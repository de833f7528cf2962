r"""Pins: the code that a document proves, and all that this code reaches, under one digest.

A pin names a region. What belongs to it is decided by reading the source, never by running it:

- the statements that lie in the region, or hold it or are cut by it: whole, with their decorators and defaults;
- the tags of the region, each with the statement at which it stands;
- what these statements read: each name leads to what makes it, so that ``round_down as round_up`` is another pin;
- all that is so reached in the package, down to what a document on which this one relies pins or reaches itself: that
  one answers for it;
- a statement of a module that binds nothing: with every name of that module;
- a statement of any module that may change what belongs to the pin when it is loaded (``hands.py``);
- a statement of any module that makes a claim with the document's name, or with any, and lies in no region of the
  document, or in no region at all.

Every statement is written in its normal form (``normal.py``), so that comments, docstrings, layout, idle annotations,
the words of errors and names of functions, classes and variables do not belong to a pin. The digest does not depend on
where code lies, either. The statements are numbered in the order in which names lead to them, from the region on, and
what a statement reads is written as these numbers: two digests are equal just if the one closure becomes the other by
moving statements between modules, by renaming, and by other imports that bring the same things together. So a copy is
not the original: code that shares one helper differs from code that has two equal ones. A statement that reads
``__file__`` or ``__name__`` does depend on its place, and one that uses a module as a value on the names in it.

What another document answers for stands under its place there alone, for its code is the other's affair: the region
that holds it, or the first region of the document that reaches it, and its number among those of its shape (functions
with the same parameters, say), so that most changes of the other document change no pin of those that rely on it.

A method called on a value cannot be told from the source: it belongs to the class, and a class belongs to the documents
that reach it. Names that Python or another library makes are named and not followed, and so are those of this folder,
for what says whether pins are current cannot pin itself.
"""

from __future__ import annotations

import ast
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
from .hands import PUBLIC, find_mutators
from .modules import (
    Origin,
    Statement,
    all_modules,
    canonical_form,
    clear_module_cache,
    dotted_module_name,
    external_origins,
    find_module,
)
from .regions import clear_region_cache, locate_region, ordered_tags, region_file

_TOOL = "proof"
_CLAIMING = {
    Origin("core.claims", "attach_claim"),
    Origin("core.claims", "proved_by"),
    Origin("core.claims", "_Claim"),
    Origin("combinators.from_range", "proven_conversion"),
}
_PIN = re.compile(r"^\\pin\{([^{}]+)\}\{([0-9a-f]*)\}", re.MULTILINE)


@dataclass(frozen=True)
class CodeHash:
    """One region of source code, and the hash under which ``document`` proved it."""

    document: str
    region: str
    digest: str

    @property
    def source_file(self) -> str:
        """The file of the region below the package; errors are those of :func:`region`."""
        return region_file(self.region)

    @property
    def is_current(self) -> bool:
        """Return True if the installed source still has the pinned hash."""
        return self.current_digest == self.digest

    @property
    def current_digest(self) -> str:
        """The first 16 hexadecimal digits of the SHA-256 of the region and of all that it reaches."""
        return compute_code_hash(self.document, self.region)

    def __str__(self) -> str:
        return rf"\pin{{{self.region}}}{{{self.digest}}}"


def code_hashes(name: str) -> list[CodeHash]:
    """The pins of the document ``name``.

    Raises:
        ProofError: There is no such document.
    """
    return [CodeHash(name, *match) for match in _pins_in(library.document_source(name))]


_pins_in = functools.cache(_PIN.findall)


def compute_code_hash(document: str, name: str) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of what belongs to a pin; errors are those of :func:`region`."""
    return short_sha256(hashed_code_text(document, name))


def short_sha256(text: str) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def hashed_code_text(document: str, name: str) -> str:
    """All that belongs to the pin of a region by ``document``, as one text; errors are those of :func:`region`."""
    package = library.package_folder()
    with pause_garbage_collection():
        return _build_hashed_text(package, document, name)


def all_hashed_texts(documents: Iterable[str]) -> list[tuple[str, ...]]:
    """What belongs to each pin of each document; errors are those of :func:`code_hashes` and :func:`region`."""
    package = library.package_folder()
    with pause_garbage_collection():
        return [_hashed_texts(package, document) for document in documents]


@contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """While code is read: its trees are kept and are no garbage, and looking for some among them takes long."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@functools.cache
def _hashed_texts(package: Path, document: str) -> tuple[str, ...]:
    return tuple(_build_hashed_text(package, document, pin.region) for pin in code_hashes(document))


@functools.cache
def _build_hashed_text(package: Path, document: str, name: str) -> str:
    inside, beyond = _cached_region_closure(package, document, name)
    marks = _mark_known_statements(package, document) | {
        one: f"#{number}" for number, one in enumerate([*inside, *beyond])
    }
    lines = [f"[{tag}] {place}" for tag, place in _locate_tags(package, name, marks)]
    for one in [*inside, *beyond]:
        form, read = canonical_form(package, one)
        lines.append(f"{marks[one]}\n{form}")
        lines += [f"{key} = {_describe_origin(package, origin, marks)}" for key, origin in read]
        lines += [f"with {marks[loose]}" for loose in _nonbinding_statements(package, one)]
    return "\n".join(lines)


def _locate_tags(package: Path, name: str, marks: dict[Statement, str]) -> Iterator[tuple[str, str]]:
    """The tags of a region, each with the place of the innermost statement at which it stands."""
    inside, cut = _split_region_statements(package, name)
    found = locate_region(package, name)
    for number, line in enumerate(found.lines, start=found.start + 1):
        for tag in ordered_tags(line):
            holding = (one for one in [*inside, *cut] if number <= (one.node.end_lineno or one.node.lineno))
            one = min(holding, key=lambda one: one.first_line, default=None)
            yield tag, "" if one is None else f"{marks[one]}:{one.innermost_number(number)}"


def _describe_origin(package: Path, origin: Origin, marks: dict[Statement, str]) -> str:
    """What a name leads to: outside of the package a name, inside the statements that make it, and which of the names.

    Where a module is used as a value, its names may be asked for as texts, and belong to it.
    """
    made = _defining_statements(package, origin)
    if not made:
        return origin.name
    if not origin.name:
        return " ".join(f"{marks[one]}={'/'.join(one.ordered_names)}" for one in made)
    return " ".join(
        f"{marks[one]}.{one.ordered_names.index(origin.name) if origin.name in one.ordered_names else origin.name}"
        for one in made
    )


def region_closure(document: str, name: str) -> tuple[list[Statement], list[Statement]]:
    """The statements that lie in a region, and those beyond it that belong to its pin, as names lead to them."""
    inside, beyond = _cached_region_closure(library.package_folder(), document, name)
    return [*inside], [*beyond]


@functools.cache
def _cached_region_closure(package: Path, document: str, name: str) -> tuple[list[Statement], list[Statement]]:
    inside, cut = _split_region_statements(package, name)
    known = _mark_known_statements(package, document).keys()
    beyond = cut + reachable_statements([*inside, *cut], known)
    while added := _find_mutating_statements(package, document, [*inside, *beyond], known):
        beyond += added + reachable_statements([*inside, *beyond, *added], known)
    return inside, beyond


def reached_titles(pin: CodeHash) -> list[str]:
    """The titles of what belongs to a pin beyond its region; errors are those of :func:`region`."""
    return sorted({one.title for one in region_closure(pin.document, pin.region)[1]})


def _find_mutating_statements(
    package: Path, document: str, proved: list[Statement], known: Set[Statement]
) -> list[Statement]:
    """The statements that may change those ``proved`` or ``known`` when loaded, or that make claims of their own."""
    made = {(one.module, name) for one in [*proved, *known] for name in one.names}
    made |= {(module, "") for module, _ in made}
    found = [
        hand.statement
        for hand in find_mutators(package)
        if hand.statement not in proved and (hand.changed is None or not hand.changed.isdisjoint(made))
    ]
    found += [one for one in _claims_outside_regions(package, document) if one not in proved and one not in found]
    return sorted(found, key=lambda one: canonical_form(package, one)[0])


@functools.cache
def _claims_outside_regions(package: Path, document: str) -> tuple[Statement, ...]:
    """The statements that claim by ``document`` and lie in no region of it, or by no document and in no region."""
    held = _regions_by_statement(package)
    found = []
    for one, named in _claiming_statements(package).items():
        holding = {name for name, _ in held.get(one, ())}
        if (document in named and document not in holding) or not (named or holding):
            found.append(one)
    return tuple(found)


@functools.cache
def _claiming_statements(package: Path) -> dict[Statement, frozenset[str]]:
    """The statements that read what claims are made with, each with the documents that it names."""
    documents, found = frozenset(library.document_names()), {}
    for home in all_modules(package):
        for one in home.statements:
            constants = [part for part in ast.walk(one.node) if isinstance(part, ast.Constant)]
            named = documents.intersection(part.value for part in constants if isinstance(part.value, str))
            if not _CLAIMING.isdisjoint(origin for _, origin in external_origins(package, one)) and not any(
                Origin(home.name, name) in _CLAIMING for name in one.names
            ):
                found[one] = named
    return found


def describe_origins(one: Statement) -> list[str]:
    """What each name stands for that a statement reads: its name where it is made, and the regions that hold it."""
    package, documents = library.package_folder(), library.document_names()
    found = []
    for name, origin in external_origins(package, one):
        regions = [
            region
            for made in _defining_statements(package, origin)
            for region in _regions_of_statement(package, documents, made)
        ]
        found.append(
            f"{name} = {origin.name or 'module'}" + (f" of {', '.join(sorted({*regions}))}" if regions else "")
        )
    return found


@functools.cache
def _split_region_statements(package: Path, name: str) -> tuple[list[Statement], list[Statement]]:
    """The statements at the top of a module that lie in a region, and those that hold it or are cut by it."""
    source, start, lines = locate_region(package, name)
    end, home = start + len(lines) + 1, find_module(package, dotted_module_name(source))
    inside, cut = [], []
    for one in home.statements if home else ():
        first, last = one.first_line, one.node.end_lineno or one.first_line
        if start < first and last < end:
            inside.append(one)
        elif first < end and start < last:
            cut.append(one)
    return inside, cut


def reachable_statements(roots: Iterable[Statement], known: Set[Statement]) -> list[Statement]:
    """The statements of the package that ``roots`` reach, down to those that are ``known``, as names lead to them."""
    package, waiting = library.package_folder(), [*roots]
    given = len(waiting)
    found = set(waiting)
    for one in waiting:
        for below in _direct_dependencies(package, one):
            if below not in found and below not in known:
                found.add(below)
                waiting.append(below)
    return waiting[given:]


@functools.cache
def _direct_dependencies(package: Path, one: Statement) -> list[Statement]:
    """The statements that make what this one reads, and those that bind nothing in the same module."""
    found = [made for _, origin in canonical_form(package, one)[1] for made in _defining_statements(package, origin)]
    return [*found, *_nonbinding_statements(package, one)]


def _nonbinding_statements(package: Path, one: Statement) -> tuple[Statement, ...]:
    home = find_module(package, one.module)
    return home.loose if home else ()


@functools.cache
def _defining_statements(package: Path, origin: Origin) -> list[Statement]:
    """The statements that make a name; a module that is used as a value stands for all of them."""
    there = None if origin.module is None else find_module(package, origin.module)
    if there is None or there.name.partition(".")[0] == _TOOL or origin == PUBLIC:
        return []
    return there.bound.get(origin.name, there.bound.get("__getattr__", [])) if origin.name else list(there.statements)


@functools.cache
def _mark_known_statements(package: Path, document: str) -> dict[Statement, str]:
    """What the foundations of a document answer for, and what its own regions hold: under which mark each stands."""
    found: dict[Statement, list[str]] = {
        one: [] for one in (*_document_statements(package, document), *foundation_closure(document))
    }
    for name in (document, *library.document_foundations(document)):
        for pin in code_hashes(name) if library.document_path(name) else ():
            for one, mark in _number_by_shape(f"known {pin.region}", _region_statements(package, pin)):
                if one in found:
                    found[one].append(mark)
    for name in library.document_foundations(document):
        first = next((pin.region for pin in code_hashes(name)), "") if library.document_path(name) else ""
        for one, mark in _number_by_shape(f"known beyond {first}", _cached_document_closure(package, name)):
            if one in found:
                found[one].append(f"~{mark}")
    return {one: min(marks) for one, marks in found.items()}


def _number_by_shape(place: str, statements: Iterable[Statement]) -> Iterator[tuple[Statement, str]]:
    """Each statement with its mark: a place, its shape, and its number among those of this shape."""
    counts: dict[str, int] = {}
    for one in statements:
        counts[one.shape] = counts.get(one.shape, 0) + 1
        yield one, f"{place} {one.shape} {counts[one.shape]}"


def _regions_of_statement(package: Path, documents: Collection[str], one: Statement) -> list[str]:
    """The regions of documents that hold a statement, or cut it."""
    return sorted({region for document, region in _regions_by_statement(package).get(one, ()) if document in documents})


@functools.cache
def _regions_by_statement(package: Path) -> dict[Statement, list[tuple[str, str]]]:
    """Every statement that a region holds or cuts, with the documents that pin it and the regions."""
    found: dict[Statement, list[tuple[str, str]]] = {}
    for document in library.document_names():
        for pin in code_hashes(document):
            for one in _region_statements(package, pin):
                found.setdefault(one, []).append((document, pin.region))
    return found


def _region_statements(package: Path, pin: CodeHash) -> list[Statement]:
    try:
        inside, cut = _split_region_statements(package, pin.region)
    except ProofError:
        return []
    return [*inside, *cut]


@functools.cache
def _document_statements(package: Path, document: str) -> dict[Statement, None]:
    """The statements that the regions of a document hold, in its order."""
    found = code_hashes(document) if library.document_path(document) else ()
    return dict.fromkeys(one for pin in found for one in _region_statements(package, pin))


def foundation_closure(document: str) -> frozenset[Statement]:
    """The statements for which the documents answer on which ``document`` relies."""
    return _cached_foundation_closure(library.package_folder(), document)


@functools.cache
def _cached_foundation_closure(package: Path, document: str) -> frozenset[Statement]:
    return frozenset().union(
        *(_cached_document_closure(package, one) for one in library.document_foundations(document))
    )


@functools.cache
def _cached_document_closure(package: Path, document: str) -> tuple[Statement, ...]:
    """The statements for which a document answers: those that its regions hold, and what these reach."""
    if document in library.document_foundations(document) or any(
        document in library.document_foundations(one) for one in library.document_foundations(document)
    ):
        return ()
    own = _document_statements(package, document)
    return (*own, *reachable_statements(own, foundation_closure(document)))


def clear_code_hash_cache() -> None:
    """Read code and documents anew when they are next asked for."""
    library.clear_document_cache()
    clear_module_cache()
    clear_region_cache()
    pinning = (_cached_region_closure, _build_hashed_text, _hashed_texts, _claims_outside_regions, _claiming_statements)
    for remembered in (
        _split_region_statements,
        _direct_dependencies,
        _defining_statements,
        _mark_known_statements,
        _regions_by_statement,
        _document_statements,
        _cached_document_closure,
        _cached_foundation_closure,
        *pinning,
        find_mutators,
    ):
        remembered.cache_clear()
