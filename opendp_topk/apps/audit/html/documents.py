"""The current proof documents: their statements, code and reliances, and which of these are stale."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .... import proof
from ....errors import ProofError
from ....proof.machine import MachineCheck
from ....proof.regions import TAG, TAGS, region_tags

_TITLE = re.compile(r"\\proofdocument\{[^{}]*\}\{(.*)\}$", re.MULTILINE)
_KINDS = "theorem|lemma|corollary|proposition|definition|remark|example"
_STATED = re.compile(rf"\\begin\{{({_KINDS})\}}(?:\[([^\[\]]*)\])?\s*\\label\{{([^{{}}]*)\}}")
_MACRO = re.compile(r"\\codetag\{([^{}]*)\}|\\relieson(?:\[([^\[\]]*)\])?\{([^{}]*)\}|\\label\{([^{}]*)\}")
_LABEL = re.compile(r"\\label\{([^{}]*)\}")


@dataclass(frozen=True)
class PinnedRegion:
    """A region of code that a document pins, in its current state; ``code`` is empty if it is missing.

    ``source`` is its file inside the package; ``reaches`` names the code outside the region that belongs to the pin.
    """

    pin: proof.CodeHash
    code: str
    first_line: int
    digest: str
    source: str = ""
    reaches: tuple[str, ...] = ()

    @property
    def is_current(self) -> bool:
        return bool(self.code) and self.digest == self.pin.digest


@dataclass(frozen=True)
class Statement:
    label: str
    kind: str
    name: str


@dataclass(frozen=True)
class Reliance:
    """A statement that a document relies on; without a label, all statements of the target."""

    target: str
    label: str
    is_current: bool

    def __str__(self) -> str:
        return f"{self.target}#{self.label}" if self.label else self.target


@dataclass(frozen=True)
class ProofDocument:
    """A proof document; ``carriers`` are the foundations that carry its privacy, and ``foundations`` are all."""

    name: str
    title: str
    status: str
    source: str
    regions: tuple[PinnedRegion, ...]
    statements: tuple[Statement, ...]
    labels: frozenset[str]
    relies_on: tuple[Reliance, ...]
    foundations: tuple[str, ...]
    carriers: tuple[str, ...]
    checks: tuple[MachineCheck, ...]
    reading: proof.ReviewEntry | None = None

    @property
    def stale_parts(self) -> list[str]:
        """Return the stale parts of this document itself, one sentence each."""
        drifted = [one for one in self.relies_on if not one.is_current]
        return [_describe_stale_region(one) for one in self.regions if not one.is_current] + [
            f"the statement {one}, on which it relies, has changed or was never recorded" for one in drifted
        ]

    @property
    def source_parts(self) -> Iterator[tuple[str, str, Reliance | str]]:
        """Yield the LaTeX in pieces: each a text, its kind, and the label, tag or statement that it names.

        The kind is empty for a text that names nothing.
        """
        tags, at = {tag for one in self.regions for tag in region_tags(one.code)}, 0
        for match in _MACRO.finditer(self.source):
            yield self.source[at : match.start()], "", ""
            at = match.end()
            tag, label, target, own = match.groups()
            if own:
                yield match[0], "label", own
            elif target:
                yield match[0], "reliance", Reliance(target, label or "", True)
            else:
                yield match[0], "tag" if tag in tags else "", tag
        yield self.source[at:], "", ""

    @property
    def code_parts(self) -> Iterator[tuple[PinnedRegion, list[tuple[str, str]]]]:
        """Yield each region with its code in pieces: a text, and the tag that it is; a tag is named only once."""
        seen: set[str] = set()
        for region in self.regions:
            parts, at = [], 0
            for comment in TAGS.finditer(region.code):
                for found in TAG.finditer(region.code, *comment.span()):
                    tag = "" if found[1] in seen else found[1]
                    seen.add(tag)
                    parts += [(region.code[at : found.start()], ""), (found[0], tag)]
                    at = found.end()
            yield region, [*parts, (region.code[at:], "")]


def _describe_stale_region(one: PinnedRegion) -> str:
    if not one.code:
        return f"region {one.pin.region} is missing"
    then = f"region {one.pin.region} of {one.source} was proved at {one.pin.digest or 'no digest'}"
    return f"{then}; it or code that it reaches has the digest {one.digest} now"


def load_documents() -> dict[str, ProofDocument]:
    return {name: _load_document(name) for name in proof.document_names()}


def _load_document(name: str) -> ProofDocument:
    text = proof.document_text(name)
    then, now, drifted = proof.recorded_reliances(name), proof.current_reliances(name), proof.drifted_statements(name)
    return ProofDocument(
        name=name,
        title=_document_title(text) or name,
        status=proof.Proof(name).status,
        source=text.strip() + "\n",
        regions=tuple(_load_region(pin) for pin in proof.code_hashes(name)),
        statements=tuple(Statement(label, kind, title or "") for kind, title, label in _STATED.findall(text)),
        labels=frozenset(_LABEL.findall(text)),
        relies_on=tuple(
            Reliance(target, label, key not in drifted)
            for key in sorted(then | now)
            for target, _, label in [key.partition("#")]
        ),
        foundations=tuple(proof.document_foundations(name)),
        carriers=tuple(proof.supporting_documents(name)),
        checks=tuple(proof.machine_checks(name)),
        reading=proof.last_review(name),
    )


def _load_region(pin: proof.CodeHash) -> PinnedRegion:
    try:
        code, reaches = proof.read_region(pin.region), tuple(proof.reached_titles(pin))
        first_line = proof.first_region_line(pin.region)
        return PinnedRegion(pin, code, first_line, pin.current_digest, pin.source_file, reaches)
    except ProofError:
        return PinnedRegion(pin, "", 1, "")


def _document_title(text: str) -> str:
    found = _TITLE.search(text)
    inner = re.sub(r"\\texorpdfstring\{[^{}]*\}\{([^{}]*)\}", r"\1", found[1] if found else "")
    return re.sub(r"\\[a-zA-Z]+ ?|[{}$]", "", inner.replace(r"\_", "_")).strip()
