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
from ....markup.elements import Markup, breakable_name, el, join_markup
from ....proof.regions import region_tags
from ....spaces.domains import VectorDomain
from ....spaces.metrics import LInfDistance
from .. import shipped
from ..neighbours import is_within_distance
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
class ProofDocument:
    """A proof document."""

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
    others: tuple[str, ...]
    reading: proof.ReviewEntry | None = None

    @property
    def stale_parts(self) -> list[str]:
        """Return the stale parts of this document itself, one sentence each."""
        return [
            f"region {one.pin.region} "
            + (f"of {one.source} {_describe_digest_change(one)}" if one.code else "is missing")
            for one in self.regions
            if not one.is_current
        ] + [
            f"the statement {one}, on which it relies, has changed or was never recorded"
            for one in self.relies_on
            if not one.is_current
        ]

    @property
    def cited_tags(self) -> set[str]:
        """Return the tags of its code that the document cites."""
        return {tag for one in self.regions for tag in region_tags(one.code)} & set(_CITED.findall(self.source))


def _describe_digest_change(one: PinnedRegion) -> str:
    return f"was proved at {one.pin.digest or 'no digest'}; it or code that it reaches has the digest {one.digest} now"


def load_documents() -> dict[str, ProofDocument]:
    """Return all proof documents by name, sorted."""
    return {name: _load_document(name) for name in proof.document_names()}


def list_stale_parts(names: Iterable[str], known: dict[str, ProofDocument]) -> list[tuple[str, str]]:
    """Return the stale parts of these documents: pairs of a document and a sentence."""
    return [(name, fault) for name in names if name in known for fault in known[name].stale_parts]


def _load_document(name: str) -> ProofDocument:
    text = proof.document_text(name)
    then, now, strayed = proof.recorded_reliances(name), proof.current_reliances(name), proof.drifted_statements(name)
    return ProofDocument(
        name=name,
        title=_document_title(text) or name,
        status=proof.Proof(name).status,
        source=text.strip() + "\n",
        regions=tuple(_load_region(pin) for pin in proof.code_hashes(name)),
        statements=tuple(
            Statement(label, kind, title or "", _find_environment(text, label))
            for kind, title, label in _STATED.findall(text)
        ),
        labels=frozenset(_LABEL.findall(text)),
        relies_on=tuple(_parse_reliance(key, key not in strayed) for key in sorted(then | now)),
        foundations=tuple(proof.document_foundations(name)),
        carriers=tuple(proof.supporting_documents(name)),
        others=tuple(proof.other_foundations(name)),
        reading=proof.last_review(name),
    )


def _parse_reliance(key: str, is_current: bool) -> Reliance:
    target, _, label = key.partition("#")
    return Reliance(target, label, is_current)


def _load_region(pin: proof.CodeHash) -> PinnedRegion:
    try:
        code, reaches = proof.read_region(pin.region), tuple(proof.reached_titles(pin))
        return PinnedRegion(
            pin, code, proof.first_region_line(pin.region), pin.current_digest, pin.source_file, reaches
        )
    except ProofError:
        return PinnedRegion(pin, "", 1, "")


def _find_environment(text: str, label: str) -> str:
    return next((m[0] for m in _ENVIRONMENT.finditer(text) if rf"\label{{{label}}}" in m[0]), "")


def _document_title(text: str) -> str:
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
class ClaimPoint:
    """A claim, and the largest loss found, for neighbours that are ``ratio`` scales apart."""

    ratio: float
    claimed: float
    loss: float


@dataclass(frozen=True)
class Finding:
    """One row: a shipped mechanism under one measure and metric; ``report`` is None if no distribution is declared."""

    example: shipped.Example
    report: Report | None
    points: tuple[ClaimPoint, ...] = ()

    @property
    def measure_name(self) -> str:
        """The name of the measure."""
        return type(self.example.measurement.output_measure).__name__

    @property
    def distinguishing_arguments(self) -> str:
        """The arguments that distinguish this row from others of the constructor."""
        given = {
            name: getattr(value, "name", value) for name, value in self.example.arguments.items() if name != "scale"
        }
        return ", ".join(f"{name} = {value}" for name, value in given.items())

    @property
    def verdict(self) -> str:
        """The verdict of the report, or ``no law``."""
        return "no law" if self.report is None else self.report.verdict


def collect_findings(budget: int, progress: Callable[[int, int], None]) -> list[Finding]:
    """Return all shipped mechanisms, measures and kinds of neighbour, with plots for one kind of neighbour each.

    Args:
        budget: The largest number of pairs to try for each row; the two likeliest are always tried.
        progress: Called with the number of finished rows and the number of all rows.
    """
    examples = list(shipped.shipped_examples())
    found: list[Finding] = []
    for _, group in itertools.groupby(examples, key=lambda one: (one.constructor, str(one.arguments))):
        members = list(group)
        reports = _verify_group(members, budget)
        laws: dict[Fraction, Laws] = {}
        found += [Finding(example, report, _points_at_scales(example, report, laws)) for example, report in reports]
        progress(len(found), len(examples))
    return found


def _verify_group(members: list[shipped.Example], budget: int) -> list[tuple[shipped.Example, Report | None]]:
    """Return the reports of a group at once, with shared distributions; one by one if a claim is refuted."""
    try:
        return shipped.verify_all(budget, members)
    except PrivacyViolationError as refuted:
        if len(members) == 1:
            return [(members[0], refuted.report)]
    return [pair for example in members for pair in _verify_group([example], budget)]


def _points_at_scales(
    example: shipped.Example, report: Report | None, laws: dict[Fraction, Laws]
) -> tuple[ClaimPoint, ...]:
    """Return the claim and the largest loss of the worst pair and similar pairs at several scales.

    Empty under ``LInfDistance()``, without a witness, and for inputs other than vectors of scores.
    """
    if report is None or report.witness is None or example.measurement.input_metric == LInfDistance():
        return ()
    if not isinstance(example.measurement.input_domain, VectorDomain):
        return ()
    found = []
    for stretch in STRETCHES:
        ratio = float(stretch * report.d_in)
        if stretch == 1:
            found.append(ClaimPoint(ratio, report.claimed, report.loss))
            continue
        measurement = rescale_example(example, 1 / stretch)
        law = shipped.MERGED[example.constructor][0](measurement) if example.constructor in shipped.MERGED else None
        pairs = list(_similar_pairs(example, report, 1 / stretch))
        try:
            at = verify_with(laws.setdefault(stretch, {}), measurement, report.d_in, law, pairs, len(pairs), None)
        except PrivacyViolationError as refuted:
            at = refuted.report
        except ParameterError:
            continue  # no distribution of these pairs could be computed
        found.append(ClaimPoint(ratio, at.claimed, at.loss))
    return tuple(found)


def rescale_example(example: shipped.Example, scale: Fraction) -> Measurement:
    """Return the example at another scale."""
    import opendp_topk

    make: Callable[..., Measurement] = getattr(opendp_topk, example.constructor)
    old = example.measurement
    arguments: Mapping[str, Any] = {**example.arguments, "scale": float(scale)}
    return make(old.input_domain, old.input_metric, old.output_measure, **arguments)


def _similar_pairs(example: shipped.Example, report: Report, scale: Fraction) -> Iterator[tuple[Any, Any]]:
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
    if is_within_distance(example.measurement.input_metric, spread, moved, Fraction(report.d_in)):
        yield spread, moved


# The frame of a page: head, inline style and script, navigation, and words that several pages share.

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


@dataclass(frozen=True)
class ReportContent:
    """The content of all pages."""

    claims: tuple[Claim, ...]
    documents: dict[str, ProofDocument]
    findings: tuple[Finding, ...]
    pdfs: frozenset[str]
    unbuilt: dict[str, str]
    signed: bool
    budget: int
    version: str
    date: str

    def addresses_from(self, up: str) -> PageAddresses:
        """Return addresses as seen from a page; ``up`` leads from its folder to that of the index."""
        return PageAddresses(self, up)


@dataclass(frozen=True)
class PageAddresses:
    """The addresses of pages, relative to one of them."""

    material: ReportContent
    up: str

    def document_address(self, name: str, label: str = "") -> str:
        """Return the address of a document's page, at ``label`` if the document has it."""
        there = self.material.documents.get(name)
        mark = f"#s-{label}" if label and there and label in there.labels else ""
        return f"{self.up}documents/{name.replace('/', '-')}.html{mark}"

    def existing_document_address(self, name: str, label: str) -> str | None:
        """Return the same as :meth:`document_address`, or None if there is no such document."""
        return self.document_address(name, label) if name in self.material.documents else None

    def claim_address(self, constructor: str) -> str:
        """Return the address of a claim's page."""
        return f"{self.up}claims/{constructor}.html"

    def pdf_address(self, name: str) -> str | None:
        """Return the address of a document's PDF, or None if it was not built."""
        return f"{self.up}pdf/{name.replace('/', '-')}.pdf" if name in self.material.pdfs else None

    def proof_links(self, name: str) -> Markup:
        """Return links to the document and to its PDF, if there is one."""
        links = [el("a", breakable_name(name), href=self.document_address(name))]
        pdf = self.pdf_address(name)
        if pdf:
            links.append(el("a", "PDF", href=pdf))
        return join_markup(links, " · ")


def render_report_page(title: str, up: str, material: ReportContent, *content: Markup) -> str:
    """Return a whole page, which needs no other file to be read."""
    sections = (("claims", "Claims"), ("verification", "Verification"), ("graph", "Graph"), ("documents", "Documents"))
    links = [el("a", words, href=f"{up}index.html#{name}") for name, words in sections]
    foot = f"opendp_topk {material.version}, audited on {material.date}."
    return render_page(title, *content, links=links, foot=foot)


def render_page(title: str, *content: Markup, links: Sequence[Markup] = (), foot: str = "") -> str:
    """Return a page with the style and the script inline; ``links`` lead to other pages."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        el("title", f"{title} - opendp_topk audit"),
        el("style", Markup(_read_asset("style.css"))),
    )
    body = el(
        "body",
        el("a", "Skip to the content", href="#content", class_="skip"),
        el("header", el("nav", el("strong", "opendp_topk audit"), *links, aria_label="Report")),
        el("main", el("h1", title), *content, id="content"),
        el("footer", el("p", foot)) if foot else "",
        el("script", Markup(_read_asset("script.js"))),
    )
    return f"<!DOCTYPE html>\n{el('html', head, body, lang='en')}\n"


@functools.cache
def _read_asset(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def render_section(name: str, heading: str, *content: Markup) -> Markup:
    """Return a part of a page with an anchor for links."""
    return el("section", el("h2", heading), *content, id=name)


def status_label(word: str) -> Markup:
    """Return the state of a proof or of a row, as a word with a colour."""
    return el("span", word, class_=f"status {word.replace(' ', '-')}")


def count_with_noun(number: int, noun: str) -> str:
    """Return a number with its noun: 3 documents, 1 document."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def signer_names(claim: Claim) -> str:
    """Return the names of those who have signed the claim in its current state."""
    if claim.accepted_by:
        return ", ".join(claim.accepted_by)
    return "outdated" if claim.signoffs else "nobody"
