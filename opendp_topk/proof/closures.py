r"""Code hashes: one digest of the code that a document proves and of all code that it reaches.

A document contains a code hash for each region that it proves: ``\pin{region}{digest}``. The source decides what a code
hash covers; it is read and never run. Covered are:

- the statements in the region, and those that contain it or are cut by it: whole, with their decorators and defaults;
- the tags of the region, each with the statement on its line;
- what these statements read: each name leads to the statements that make it, so ``round_down as round_up`` gives
  another hash;
- all code of the package that is reached in this way, except code that a document on which this one relies covers:
  that document answers for it;
- statements of a module that bind no name, with every name of that module;
- statements of any module that may change covered code when they are loaded (``loading.py``);
- statements of any module that make a claim by this document outside of its regions, or by no named document outside of
  all regions.

Every statement is hashed in its normal form (``normal.py``). So comments, docstrings, layout, annotations without
effect, the words of error messages, and the names of functions, classes and variables do not matter, nor does the place
of code. The statements are numbered in the order in which names lead to them, from the region on, and what a statement
reads is written as these numbers. Two digests are equal if and only if one closure becomes the other by moving
statements between modules, by renaming, and by other imports of the same things. A copy is not the original: code that
shares one helper differs from code with two equal helpers. A statement that reads ``__file__`` or ``__name__`` does
depend on its place, and one that uses a module as a value depends on the names in it.

Code that another document answers for is represented only by its position there: the region that contains it, or the
first region of the document that reaches it, and its number among the statements of its shape (for example, functions
with the same parameters). So most changes of that code do not change the code hashes of documents that rely on it.

A method that is called on a value cannot be resolved from the source. It belongs to its class, and a class belongs to
the documents that reach it. Names from Python or another library are recorded but not followed. Neither are those of
this folder, because code that checks code hashes cannot cover itself.
"""

from __future__ import annotations

import ast
import functools
import gc
import hashlib
import re
from collections.abc import Iterable, Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass

from ..errors import ProofError
from . import library
from .loading import PUBLIC, find_mutators
from .modules import Origin, Statement, all_modules, canonical_form, dotted_module_name, external_origins, find_module
from .regions import locate_region, ordered_tags, region_file

_TOOL = "proof"
_CLAIMING = {
    Origin("core.claims", "attach_claim"),
    Origin("core.claims", "proved_by"),
    Origin("core.claims", "_Claim"),
    Origin("combinators.conversions", "proven_conversion"),
}
_PIN = re.compile(r"^\\pin\{([^{}]+)\}\{([0-9a-f]*)\}", re.MULTILINE)


@dataclass(frozen=True)
class CodeHash:
    """A region of source code, and the hash with which ``document`` proved it."""

    document: str
    region: str
    digest: str

    @property
    def source_file(self) -> str:
        return region_file(self.region)

    @property
    def is_current(self) -> bool:
        return self.current_digest == self.digest

    @property
    def current_digest(self) -> str:
        """The first 16 hexadecimal digits of the SHA-256 of the region and of all code that it reaches."""
        return compute_code_hash(self.document, self.region)

    def __str__(self) -> str:
        return rf"\pin{{{self.region}}}{{{self.digest}}}"


def code_hashes(name: str) -> list[CodeHash]:
    return [CodeHash(name, *match) for match in _pins_in(library.document_source(name))]


_pins_in = functools.cache(_PIN.findall)


def compute_code_hash(document: str, name: str) -> str:
    return short_sha256(hashed_code_text(document, name))


def short_sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def hashed_code_texts(document: str) -> list[str]:
    with pause_garbage_collection():
        return [hashed_code_text(document, pin.region) for pin in code_hashes(document)]


@library.remembered
def hashed_code_text(document: str, name: str) -> str:
    """Return all that the code hash of a region by ``document`` covers, as one text."""
    with pause_garbage_collection():
        inside, beyond = region_closure(document, name)
        marks = _mark_known_statements(document) | {one: f"#{number}" for number, one in enumerate([*inside, *beyond])}
        lines = [f"[{tag}] {place}" for tag, place in _locate_tags(name, marks)]
        for one in [*inside, *beyond]:
            form, read = canonical_form(one)
            lines.append(f"{marks[one]}\n{form}")
            lines += [f"{key} = {_describe_origin(origin, marks)}" for key, origin in read]
            lines += [f"with {marks[loose]}" for loose in _nonbinding_statements(one)]
        return "\n".join(lines)


@contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """Pause garbage collection while code is read: it would search the syntax trees, which are kept, repeatedly."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _locate_tags(name: str, marks: dict[Statement, str]) -> Iterator[tuple[str, str]]:
    """Yield the tags of a region, each with the place of the innermost statement on its line."""
    inside, cut = _split_region_statements(name)
    found = locate_region(name)
    for number, line in enumerate(found.lines, start=found.start + 1):
        for tag in ordered_tags(line):
            holding = (one for one in [*inside, *cut] if number <= (one.node.end_lineno or one.node.lineno))
            one = min(holding, key=lambda one: one.first_line, default=None)
            yield tag, "" if one is None else f"{marks[one]}:{one.innermost_number(number)}"


def _describe_origin(origin: Origin, marks: dict[Statement, str]) -> str:
    """Return what a name leads to: its origin outside of the package, or the statements that make it and its number.

    If a module is used as a value, its names can be looked up as strings, so all of them are included.
    """
    made = _defining_statements(origin)
    if not made:
        return origin.name
    if not origin.name:
        return " ".join(f"{marks[one]}={'/'.join(one.ordered_names)}" for one in made)
    return " ".join(
        f"{marks[one]}.{one.ordered_names.index(origin.name) if origin.name in one.ordered_names else origin.name}"
        for one in made
    )


@library.remembered
def region_closure(document: str, name: str) -> tuple[list[Statement], list[Statement]]:
    """Return the statements in a region, and those outside that its code hash covers, in the order of their numbers."""
    inside, cut = _split_region_statements(name)
    known = _mark_known_statements(document).keys()
    beyond = cut + reachable_statements([*inside, *cut], known)
    while added := _find_mutating_statements(document, [*inside, *beyond], known):
        beyond += added + reachable_statements([*inside, *beyond, *added], known)
    return inside, beyond


def reached_titles(pin: CodeHash) -> list[str]:
    """Return the titles of statements outside of the region that a code hash covers, sorted."""
    return sorted({one.title for one in region_closure(pin.document, pin.region)[1]})


def _find_mutating_statements(document: str, proved: list[Statement], known: Set[Statement]) -> list[Statement]:
    """Return the statements that may change ``proved`` or ``known`` ones when loaded, or that make claims."""
    made = {(one.module, name) for one in [*proved, *known] for name in one.names}
    made |= {(module, "") for module, _ in made}
    found = [
        hand.statement
        for hand in find_mutators()
        if hand.statement not in proved and (hand.changed is None or not hand.changed.isdisjoint(made))
    ]
    found += [one for one in _claims_outside_regions(document) if one not in proved and one not in found]
    return sorted(found, key=lambda one: canonical_form(one)[0])


@library.remembered
def _claims_outside_regions(document: str) -> tuple[Statement, ...]:
    """Return the statements that claim by ``document`` outside of its regions, or by none outside of all regions.

    A statement names a document if it contains the document's name as a string.
    """
    held = _regions_by_statement()
    found = []
    for one, named in _claiming_statements().items():
        holding = {name for name, _ in held.get(one, ())}
        if (document in named and document not in holding) or not (named or holding):
            found.append(one)
    return tuple(found)


@library.remembered
def _claiming_statements() -> dict[Statement, frozenset[str]]:
    """Return the statements that use a function that makes claims, each with the documents that it names."""
    documents, found = frozenset(library.document_names()), {}
    for home in all_modules():
        for one in home.statements:
            constants = [part for part in one.nodes if isinstance(part, ast.Constant)]
            named = documents.intersection(part.value for part in constants if isinstance(part.value, str))
            if not _CLAIMING.isdisjoint(origin for _, origin in external_origins(one)) and not any(
                Origin(home.name, name) in _CLAIMING for name in one.names
            ):
                found[one] = named
    return found


def describe_origins(one: Statement) -> list[str]:
    """Return the origin of each name that a statement reads: its name there, and the regions that contain it."""
    found = []
    for name, origin in external_origins(one):
        made = _defining_statements(origin)
        regions = sorted({region for below in made for _, region in _regions_by_statement().get(below, ())})
        found.append(f"{name} = {origin.name or 'module'}" + (f" of {', '.join(regions)}" if regions else ""))
    return found


@library.remembered
def _split_region_statements(name: str) -> tuple[list[Statement], list[Statement]]:
    """Return the top-level statements of a module inside a region, and those that contain it or are cut by it."""
    source, start, lines = locate_region(name)
    end, home = start + len(lines) + 1, find_module(dotted_module_name(source))
    inside, cut = [], []
    for one in home.statements if home else ():
        first, last = one.first_line, one.node.end_lineno or one.first_line
        if start < first and last < end:
            inside.append(one)
        elif first < end and start < last:
            cut.append(one)
    return inside, cut


def reachable_statements(roots: Iterable[Statement], known: Set[Statement]) -> list[Statement]:
    """Return the statements of the package that ``roots`` reach without ``known`` ones, in the order of the search."""
    waiting = [*roots]
    given = len(waiting)
    found = set(waiting)
    for one in waiting:
        for below in _direct_dependencies(one):
            if below not in found and below not in known:
                found.add(below)
                waiting.append(below)
    return waiting[given:]


@library.remembered
def _direct_dependencies(one: Statement) -> list[Statement]:
    """Return the statements that make what this one reads, and those in its module that bind no name."""
    found = [made for _, origin in canonical_form(one)[1] for made in _defining_statements(origin)]
    return [*found, *_nonbinding_statements(one)]


def _nonbinding_statements(one: Statement) -> tuple[Statement, ...]:
    home = find_module(one.module)
    return home.loose if home else ()


@library.remembered
def _defining_statements(origin: Origin) -> list[Statement]:
    """Return the statements that make a name, or all statements of a module that is used as a value.

    Empty for names outside of the package, of this folder, and for the list of public names.
    """
    there = None if origin.module is None else find_module(origin.module)
    if there is None or there.name.partition(".")[0] == _TOOL or origin == PUBLIC:
        return []
    return there.bound.get(origin.name, there.bound.get("__getattr__", [])) if origin.name else list(there.statements)


@library.remembered
def _mark_known_statements(document: str) -> dict[Statement, str]:
    """Return the mark of each statement that the document's foundations answer for or that its own regions contain."""
    found: dict[Statement, list[str]] = {
        one: [] for one in (*_document_statements(document), *foundation_closure(document))
    }
    for name in (document, *library.document_foundations(document)):
        for pin in code_hashes(name) if library.document_path(name) else ():
            for one, mark in _number_by_shape(f"known {pin.region}", _region_statements(pin)):
                if one in found:
                    found[one].append(mark)
    for name in library.document_foundations(document):
        first = next((pin.region for pin in code_hashes(name)), "") if library.document_path(name) else ""
        for one, mark in _number_by_shape(f"known beyond {first}", document_closure(name)):
            if one in found:
                found[one].append(f"~{mark}")
    return {one: min(marks) for one, marks in found.items()}


def _number_by_shape(place: str, statements: Iterable[Statement]) -> Iterator[tuple[Statement, str]]:
    """Yield each statement with its mark: a place, its shape, and its number among the statements of this shape."""
    counts: dict[str, int] = {}
    for one in statements:
        counts[one.shape] = counts.get(one.shape, 0) + 1
        yield one, f"{place} {one.shape} {counts[one.shape]}"


@library.remembered
def _regions_by_statement() -> dict[Statement, list[tuple[str, str]]]:
    """Return every statement that a region contains or cuts, with pairs of a document and its region."""
    found: dict[Statement, list[tuple[str, str]]] = {}
    for document in library.document_names():
        for pin in code_hashes(document):
            for one in _region_statements(pin):
                found.setdefault(one, []).append((document, pin.region))
    return found


def _region_statements(pin: CodeHash) -> list[Statement]:
    try:
        inside, cut = _split_region_statements(pin.region)
    except ProofError:
        return []
    return [*inside, *cut]


@library.remembered
def _document_statements(document: str) -> dict[Statement, None]:
    """Return the statements that the regions of a document contain or cut, in its order."""
    found = code_hashes(document) if library.document_path(document) else ()
    return dict.fromkeys(one for pin in found for one in _region_statements(pin))


@library.remembered
def foundation_closure(document: str) -> frozenset[Statement]:
    """Return the statements that the foundations of ``document`` answer for."""
    return frozenset().union(*map(document_closure, library.document_foundations(document)))


@library.remembered
def document_closure(document: str) -> tuple[Statement, ...]:
    """Return the statements that a document answers for: those in its regions, and all that they reach.

    A document that relies on itself through others answers for none.
    """
    if document in library.document_foundations(document) or any(
        document in library.document_foundations(one) for one in library.document_foundations(document)
    ):
        return ()
    own = _document_statements(document)
    return (*own, *reachable_statements(own, foundation_closure(document)))
