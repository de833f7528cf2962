"""The first page: all claims, the findings of the verifier, the graph, and the documents."""

from __future__ import annotations

import inspect
from typing import Any

from ....markup.elements import Markup, breakable, el, join, table
from ..registry import Claim, tests_are_here
from ..report import FAILS, NOT_TESTED
from . import verification as plots
from .claim import sections, text
from .graph import graph
from .page import Address, Material, count, faults, page, section, signatures, status
from .verification import SYMBOLS, rows


def index(material: Material) -> str:
    """Return the page ``index.html``."""
    address = material.address("")
    return page(
        "What this library claims, and why",
        "",
        material,
        _summary(material, address),
        section("claims", "Claims", _claims(material, address)),
        section("verification", "Verification", *_verification(material, address)),
        section("graph", "Graph", *_graph(material, address)),
        section("documents", "Documents", _documents(material, address)),
    )


def _summary(material: Material, address: Address) -> Markup:
    states = [claim.status for claim in material.claims]
    checked = [one for one in material.findings if one.report is not None]
    refuted, untested = (sum(one.verdict == word for one in checked) for word in (FAILS, NOT_TESTED))
    attained = sum(one.report.tightness is not None and one.report.tightness > 0.9995 for one in checked if one.report)
    tiles = [
        (str(len(states)), "claims: " + ", ".join(f"{states.count(word)} {word}" for word in sorted(set(states)))),
        (str(len(material.documents)), f"proofs with {sum(len(one.statements) for one in material.documents.values())} "
         "labelled statements"),
        (str(len(checked)), f"maps held against exact laws: {refuted} fail, {untested} not tested, "
         f"{attained} attained to 0.05 %"),
    ]  # fmt: skip
    if material.signed:
        signed = sum(bool(claim.accepted_by) for claim in material.claims)
        tiles.append((str(signed), f"of {len(states)} claims signed as they stand"))
    found = faults(sorted(material.documents), material.documents)
    stale = [
        el("li", el("a", name, href=address.document(name)), f": {fault}", class_="fault") for name, fault in found
    ]
    return join(
        [
            el("div", *(el("p", el("strong", number), " ", words) for number, words in tiles), class_="tiles"),
            el("div", el("h2", "Stale"), el("ul", *stale), class_="warning") if stale else "",
        ]
    )


def _claims(material: Material, address: Address) -> Markup:
    headers = ["constructor", "what it does", "proof", "state", "rests on", "tests", *SYMBOLS.values()]
    lines = [
        [
            (el("a", breakable(claim.constructor), href=address.claim(claim.constructor)), claim.constructor),
            text(summary_of(claim.constructor)),
            address.proof(claim.document) if claim.document in material.documents else "none",
            status(claim.status),
            len(claim.foundations),
            len(claim.tests) if tests_are_here() else ("not here", -1),
            *(_closest(material, claim, measure.__name__) for measure in SYMBOLS),
            *([signatures(claim)] if material.signed else []),
        ]
        for claim in material.claims
    ]
    note = (
        "The last columns hold the largest ratio of a loss that the verifier met to the loss that is claimed, over all "
        "arguments; a dash stands for what is not verified by enumeration."
    )
    if not tests_are_here():
        note += " The tests are not installed here, so it is not said which of them run a claim."
    return join(
        [
            el("p", note),
            table("Claims", [*headers, *(["signed by"] if material.signed else [])], lines, name="of-claims"),
        ]
    )


def _closest(material: Material, claim: Claim, measure: str) -> Any:
    ratios = [
        one.report.tightness
        for one in material.findings
        if (one.example.constructor, one.measure) == (claim.constructor, measure)
        and one.report is not None
        and one.report.tightness is not None
    ]
    return (f"{max(ratios):.4f}", max(ratios)) if ratios else ("-", -1)


def summary_of(constructor: str) -> str:
    """Return the first sentence of a docstring."""
    import opendp_topk

    first = sections(inspect.getdoc(getattr(opendp_topk, constructor)) or "")[""]
    return " ".join(first.split("\n\n")[0].split())


def _verification(material: Material, address: Address) -> list[Markup]:
    note = (
        "Each row compares exact output distributions on made-up pairs of neighbours, with a proven error, at scale "
        f"1: at most {count(material.budget, 'pair')} a row, two thirds of them from a list of likely ones, the rest "
        "varied from the worst; the two likeliest are always tried. A map fails only where a loss exceeds it with "
        "certainty, and not tested where no loss was met. A ratio of 1 says that "
        "the claim is attained; a smaller one, that no pair that was tried attains it. Below, dots on the line are "
        "claims that are attained, and a dot above it would be a claim that is false."
    )
    panels = [
        plots.scatter(measure.__name__, symbol, [one for one in material.findings if one.measure == measure.__name__])
        for measure, symbol in SYMBOLS.items()
        if any(one.measure == measure.__name__ and plots.has_place(one) for one in material.findings)
    ]
    return [
        el("p", note),
        el("div", *panels, class_="plots"),
        rows(material.findings, "Claims against the largest losses met", "of-rows", address),
    ]


def _graph(material: Material, address: Address) -> list[Markup]:
    note = (
        "Documents from claims on the left to foundations on the right; a line leads to the statement on which a "
        "document relies. Scroll to see all of it. Point at a document to see its own lines alone; each claim has "
        "a graph of its own on its page."
    )
    return [el("p", note), graph(material.documents, material.documents, address.document)]


def _documents(material: Material, address: Address) -> Markup:
    made_by: dict[str, list[str]] = {}
    for claim in material.claims:
        made_by.setdefault(claim.document or "", []).append(claim.constructor)
    lines = [
        [
            address.proof(one.name),
            one.title,
            status(one.status),
            join((el("a", str(r), href=address.document(r.target, r.label)) for r in one.relies_on), ", "),
            join((el("a", name, href=address.claim(name)) for name in made_by.get(one.name, [])), ", "),
        ]
        for one in material.documents.values()
    ]
    return table("Documents", ["document", "title", "state", "relies on", "claim of"], lines, name="of-documents")
