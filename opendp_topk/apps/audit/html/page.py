"""Pages of the audit, and their content."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from .... import proof
from ....core.measurement import Measurement
from ....errors import ParameterError, PrivacyViolationError, ProofError
from ....markup.elements import Markup, breakable, el, join
from ....proof.regions import tags
from ....spaces.domains import VectorDomain
from ....spaces.metrics import LInfDistance
from .. import shipped
from ..neighbours import within
from ..registry import Claim
from ..report import Report
from ..verify import verify_with

# The current proof documents: their pins, statements and reliances, and which of these are stale.

_TITLE = re.compile(r"\\proofdocument\{[^{}]*\}")
_KINDS = "theorem|lemma|corollary|proposition|definition|remark|example"
_STATED = re.compile(rf"\\begin\{{({_KINDS})\}}(?:\[([^\[\]]*)\])?\s*\\label\{{([^{{}}]*)\}}")
_ENVIRONMENT = re.compile(rf"\\begin\{{({_KINDS})\}}.*?\\end\{{\1\}}", re.DOTALL)
_CITED = re.compile(r"\\codetag\{([^{}]*)\}")
_LABEL = re.compile(r"\\label\{([^{}]*)\}")


@dataclass(frozen=True)
class Region:
    """A region of code that a document pins, in its current state; ``code`` is empty if it is missing.

    ``source`` is its file inside the package; ``reaches`` names the code outside the region that belongs to the pin.
    """

    pin: proof.Pin
    code: str
    first_line: int
    digest: str
    source: str = ""
    reaches: tuple[str, ...] = ()

    @property
    def is_current(self) -> bool:
        """Whether the code is the code that was proved."""
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
    """A statement that a document relies on; without a label, all statements of the target."""

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
        """Return the stale parts of this document itself, one sentence each."""
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
        """Return the tags of its code that the document cites."""
        return {tag for one in self.regions for tag in tags(one.code)} & set(_CITED.findall(self.source))


def _moved(one: Region) -> str:
    return f"was proved at {one.pin.digest or 'no digest'}; it or what it reaches is at {one.digest} now"


def documents() -> dict[str, Document]:
    """Return all proof documents by name, sorted."""
    return {name: _document(name) for name in proof.documents()}


def faults(names: Iterable[str], known: dict[str, Document]) -> list[tuple[str, str]]:
    """Return the stale parts of these documents: pairs of a document and a sentence."""
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
    """Return the title without its commands."""
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


# The findings of the exact verifier, for the table and for the plots of the report.

# Doublings around the given scale: a bend in a map is visible within two of them.
STRETCHES = (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))
"""Factors of the distance per scale for the points of a plot."""

Laws = dict[Any, Any]


@dataclass(frozen=True)
class Point:
    """A claim, and the largest loss found, for neighbours that are ``ratio`` scales apart."""

    ratio: float
    claimed: float
    loss: float


@dataclass(frozen=True)
class Finding:
    """One row: a shipped mechanism under one measure and metric; ``report`` is None if no distribution is declared."""

    example: shipped.Example
    report: Report | None
    points: tuple[Point, ...] = ()

    @property
    def measure(self) -> str:
        """The name of the measure."""
        return type(self.example.measurement.output_measure).__name__

    @property
    def case(self) -> str:
        """The arguments that distinguish this row from others of the constructor."""
        given = {
            name: getattr(value, "name", value) for name, value in self.example.arguments.items() if name != "scale"
        }
        return ", ".join(f"{name} = {value}" for name, value in given.items())

    @property
    def verdict(self) -> str:
        """The verdict of the report, or ``no law``."""
        return "no law" if self.report is None else self.report.verdict


def findings(budget: int, progress: Callable[[int, int], None]) -> list[Finding]:
    """Return all shipped mechanisms, measures and kinds of neighbour, with plots for one kind of neighbour each.

    Args:
        budget: The largest number of pairs to try for each row; the two likeliest are always tried.
        progress: Called with the number of finished rows and the number of all rows.
    """
    examples = list(shipped.examples())
    found: list[Finding] = []
    for _, group in itertools.groupby(examples, key=lambda one: (one.constructor, str(one.arguments))):
        members = list(group)
        reports = _reports(members, budget)
        laws: dict[Fraction, Laws] = {}
        found += [Finding(example, report, _points(example, report, laws)) for example, report in reports]
        progress(len(found), len(examples))
    return found


def _reports(members: list[shipped.Example], budget: int) -> list[tuple[shipped.Example, Report | None]]:
    """Return the reports of a group at once, with shared distributions; one by one if a claim is refuted."""
    try:
        return shipped.verify_all(budget, members)
    except PrivacyViolationError as refuted:
        if len(members) == 1:
            return [(members[0], refuted.report)]
    return [pair for example in members for pair in _reports([example], budget)]


def _points(example: shipped.Example, report: Report | None, laws: dict[Fraction, Laws]) -> tuple[Point, ...]:
    """Return the worst pair, and similar pairs, at other scales; empty for inputs other than vectors of scores."""
    if report is None or report.witness is None or example.measurement.input_metric == LInfDistance():
        return ()
    if not isinstance(example.measurement.input_domain, VectorDomain):
        return ()
    found = []
    for stretch in STRETCHES:
        ratio = float(stretch * report.d_in)
        if stretch == 1:
            found.append(Point(ratio, report.claimed, report.loss))
            continue
        measurement = rescaled(example, 1 / stretch)
        law = shipped.MERGED[example.constructor][0](measurement) if example.constructor in shipped.MERGED else None
        pairs = list(_likes(example, report, 1 / stretch))
        try:
            at = verify_with(laws.setdefault(stretch, {}), measurement, report.d_in, law, pairs, len(pairs), None)
        except PrivacyViolationError as refuted:
            at = refuted.report
        except ParameterError:
            continue  # no distribution of these pairs could be computed
        found.append(Point(ratio, at.claimed, at.loss))
    return tuple(found)


def rescaled(example: shipped.Example, scale: Fraction) -> Measurement:
    """Return the example at another scale."""
    import opendp_topk

    make: Callable[..., Measurement] = getattr(opendp_topk, example.constructor)
    old = example.measurement
    arguments: Mapping[str, Any] = {**example.arguments, "scale": float(scale)}
    return make(old.input_domain, old.input_metric, old.output_measure, **arguments)


def _likes(example: shipped.Example, report: Report, scale: Fraction) -> Iterator[tuple[Any, Any]]:
    """Yield the worst pair with its gaps between scores in proportion to the scale, and unchanged.

    At small scales the unchanged pair has gaps of many scales; its distributions take long to compute and are hardly
    worse. So it is omitted there, except for integers, which cannot be in proportion.
    """
    assert report.witness is not None
    assert isinstance(example.measurement.input_domain, VectorDomain)
    x, x_prime = report.witness.x, report.witness.x_prime
    element = example.measurement.input_domain.element_domain.T
    if scale > 1 or element is int:
        yield x, x_prime
    spread = tuple(element(Fraction(a) * scale) for a in x)
    moved = tuple(element(Fraction(s) + Fraction(b) - Fraction(a)) for s, a, b in zip(spread, x, x_prime, strict=True))
    if within(example.measurement.input_metric, spread, moved, Fraction(report.d_in)):
        yield spread, moved


# The frame of a page: head, inline style and script, navigation, and words that several pages share.

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


@dataclass(frozen=True)
class Material:
    """The content of all pages."""

    claims: tuple[Claim, ...]
    documents: dict[str, Document]
    findings: tuple[Finding, ...]
    pdfs: frozenset[str]
    unbuilt: dict[str, str]
    signed: bool
    budget: int
    version: str
    date: str

    def address(self, up: str) -> Address:
        """Return addresses as seen from a page; ``up`` leads from its folder to that of the index."""
        return Address(self, up)


@dataclass(frozen=True)
class Address:
    """The addresses of pages, relative to one of them."""

    material: Material
    up: str

    def document(self, name: str, label: str = "") -> str:
        """Return the page of a document, at a label that it has."""
        there = self.material.documents.get(name)
        mark = f"#s-{label}" if label and there and label in there.labels else ""
        return f"{self.up}documents/{name.replace('/', '-')}.html{mark}"

    def known(self, name: str, label: str) -> str | None:
        """Return the same as :meth:`document`, or None if there is no such document."""
        return self.document(name, label) if name in self.material.documents else None

    def claim(self, constructor: str) -> str:
        """Return the page of a claim."""
        return f"{self.up}claims/{constructor}.html"

    def pdf(self, name: str) -> str | None:
        """Return the PDF of a document, or None if it was not built."""
        return f"{self.up}pdf/{name.replace('/', '-')}.pdf" if name in self.material.pdfs else None

    def proof(self, name: str) -> Markup:
        """Return links to the document and to its PDF, if there is one."""
        links = [el("a", breakable(name), href=self.document(name))]
        pdf = self.pdf(name)
        if pdf:
            links.append(el("a", "PDF", href=pdf))
        return join(links, " · ")


def page(title: str, up: str, material: Material, *content: Markup) -> str:
    """Return a whole page, which needs no other file to be read."""
    sections = (("claims", "Claims"), ("verification", "Verification"), ("graph", "Graph"), ("documents", "Documents"))
    links = [el("a", words, href=f"{up}index.html#{name}") for name, words in sections]
    foot = f"opendp_topk {material.version}, audited on {material.date}."
    return whole(title, *content, links=links, foot=foot)


def whole(title: str, *content: Markup, links: Sequence[Markup] = (), foot: str = "") -> str:
    """Return a page with the style and the script inline; ``links`` lead to other pages."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        el("title", f"{title} - opendp_topk audit"),
        el("style", Markup(_asset("style.css"))),
    )
    body = el(
        "body",
        el("a", "Skip to the content", href="#content", class_="skip"),
        el("header", el("nav", el("strong", "opendp_topk audit"), *links, aria_label="Report")),
        el("main", el("h1", title), *content, id="content"),
        el("footer", el("p", foot)) if foot else "",
        el("script", Markup(_asset("script.js"))),
    )
    return f"<!DOCTYPE html>\n{el('html', head, body, lang='en')}\n"


@functools.cache
def _asset(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def section(name: str, heading: str, *content: Markup) -> Markup:
    """Return a part of a page with an anchor for links."""
    return el("section", el("h2", heading), *content, id=name)


def status(word: str) -> Markup:
    """Return the state of a proof or of a row, as a word with a colour."""
    return el("span", word, class_=f"status {word.replace(' ', '-')}")


def count(number: int, noun: str) -> str:
    """Return a number with its noun: 3 documents, 1 document."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def signatures(claim: Claim) -> str:
    """Return the names of those who have signed the claim in its current state."""
    if claim.accepted_by:
        return ", ".join(claim.accepted_by)
    return "outdated" if claim.signoffs else "nobody"
