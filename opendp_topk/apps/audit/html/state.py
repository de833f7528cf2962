"""The proof documents as they stand: what each pins, states and relies on, and which part of that is stale."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from .... import proof
from ....errors import ProofError
from ....proof.regions import tags

_TITLE = re.compile(r"\\proofdocument\{[^{}]*\}")
_KINDS = "theorem|lemma|corollary|proposition|definition|remark|example"
_STATED = re.compile(rf"\\begin\{{({_KINDS})\}}(?:\[([^\[\]]*)\])?\s*\\label\{{([^{{}}]*)\}}")
_ENVIRONMENT = re.compile(rf"\\begin\{{({_KINDS})\}}.*?\\end\{{\1\}}", re.DOTALL)
_CITED = re.compile(r"\\codetag\{([^{}]*)\}")
_LABEL = re.compile(r"\\label\{([^{}]*)\}")


@dataclass(frozen=True)
class Region:
    """A region of code that a document pins, as it stands; ``code`` is empty where it is missing.

    ``source`` is its file below the package; ``reaches`` names the code beyond the region that belongs to the pin.
    """

    pin: proof.Pin
    code: str
    first_line: int
    digest: str
    source: str = ""
    reaches: tuple[str, ...] = ()

    @property
    def is_current(self) -> bool:
        """Whether the code is what was proved."""
        return bool(self.code) and self.digest == self.pin.digest


@dataclass(frozen=True)
class Statement:
    """A statement that others can rely on; ``text`` is its LaTeX."""

    label: str
    kind: str
    name: str
    text: str


@dataclass(frozen=True)
class Reliance:
    """A statement on which a document relies; without a label, all that the target states."""

    target: str
    label: str
    is_current: bool

    def __str__(self) -> str:
        return f"{self.target}#{self.label}" if self.label else self.target


@dataclass(frozen=True)
class Document:
    """A proof document."""

    name: str
    title: str
    status: str
    source: str
    regions: tuple[Region, ...]
    statements: tuple[Statement, ...]
    labels: frozenset[str]
    relies_on: tuple[Reliance, ...]
    foundations: tuple[str, ...]
    carriers: tuple[str, ...]
    others: tuple[str, ...]
    reading: proof.Reading | None = None

    @property
    def faults(self) -> list[str]:
        """What is stale in this document itself, one sentence each."""
        return [
            f"region {one.pin.region} " + (f"of {one.source} {_moved(one)}" if one.code else "is missing")
            for one in self.regions
            if not one.is_current
        ] + [
            f"the statement {one} on which it relies is not what it was, or was never recorded"
            for one in self.relies_on
            if not one.is_current
        ]

    @property
    def tags(self) -> set[str]:
        """The tags of its code that the document cites."""
        return {tag for one in self.regions for tag in tags(one.code)} & set(_CITED.findall(self.source))


def _moved(one: Region) -> str:
    return f"was proved at {one.pin.digest or 'no digest'}; it or what it reaches is at {one.digest} now"


def documents() -> dict[str, Document]:
    """All proof documents by name, sorted."""
    return {name: _document(name) for name in proof.documents()}


def faults(names: Iterable[str], known: dict[str, Document]) -> list[tuple[str, str]]:
    """What is stale in these documents: pairs of a document and a sentence."""
    return [(name, fault) for name in names if name in known for fault in known[name].faults]


def _document(name: str) -> Document:
    text = proof.text(name)
    then, now, strayed = proof.relied_then(name), proof.relied_now(name), proof.strayed(name)
    return Document(
        name=name,
        title=_title(text) or name,
        status=proof.Proof(name).status,
        source=text.strip() + "\n",
        regions=tuple(_region(pin) for pin in proof.pins(name)),
        statements=tuple(
            Statement(label, kind, title or "", _environment(text, label))
            for kind, title, label in _STATED.findall(text)
        ),
        labels=frozenset(_LABEL.findall(text)),
        relies_on=tuple(_reliance(key, key not in strayed) for key in sorted(then | now)),
        foundations=tuple(proof.foundations(name)),
        carriers=tuple(proof.carriers(name)),
        others=tuple(proof.others(name)),
        reading=proof.last(name),
    )


def _reliance(key: str, is_current: bool) -> Reliance:
    target, _, label = key.partition("#")
    return Reliance(target, label, is_current)


def _region(pin: proof.Pin) -> Region:
    try:
        code, reaches = proof.region(pin.region), tuple(proof.reaches(pin))
        return Region(pin, code, proof.first_line(pin.region), pin.actual, pin.source, reaches)
    except ProofError:
        return Region(pin, "", 1, "")


def _environment(text: str, label: str) -> str:
    return next((m[0] for m in _ENVIRONMENT.finditer(text) if rf"\label{{{label}}}" in m[0]), "")


def _title(text: str) -> str:
    """The title without its commands."""
    start = _TITLE.search(text)
    if start is None:
        return ""
    depth, end = 0, start.end()
    while end < len(text):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
        if depth == 0:
            break
    inner = re.sub(r"\\texorpdfstring\{[^{}]*\}\{([^{}]*)\}", r"\1", text[start.end() + 1 : end - 1])
    return re.sub(r"\\[a-zA-Z]+ ?|[{}$]", "", inner.replace(r"\_", "_")).strip()
