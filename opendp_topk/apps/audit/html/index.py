"""The first page: all claims, the findings of the verifier, the graph, and the documents."""

from __future__ import annotations

import inspect
from typing import Any

from ....markup.elements import Markup, breakable_name, el, html_table, join_markup
from ..registry import Claim, tests_are_here
from ..report import FAILS, NOT_TESTED
from . import verification as plots
from .claim import render_prose, split_docstring
from .graph import draw_graph
from .page import (
    PageAddresses,
    ReportContent,
    count_with_noun,
    list_stale_parts,
    render_report_page,
    render_section,
    signer_names,
    status_label,
)
from .verification import SYMBOLS, findings_table


def index_page(material: ReportContent) -> str:
    """Return the page ``index.html``."""
    address = material.addresses_from("")
    return render_report_page(
        "Claims of this library and their proofs",
        "",
        material,
        _summary_tiles(material, address),
        render_section("claims", "Claims", _claims_table(material, address)),
        render_section("verification", "Verification", *_verification_content(material, address)),
        render_section("graph", "Graph", *_graph_content(material, address)),
        render_section("documents", "Documents", _documents_table(material, address)),
    )


def _summary_tiles(material: ReportContent, address: PageAddresses) -> Markup:
    states = [claim.status for claim in material.claims]
    checked = [one for one in material.findings if one.report is not None]
    refuted, untested = (sum(one.verdict == word for one in checked) for word in (FAILS, NOT_TESTED))
    attained = sum(one.report.tightness is not None and one.report.tightness > 0.9995 for one in checked if one.report)
    tiles = [
        (str(len(states)), "claims: " + ", ".join(f"{states.count(word)} {word}" for word in sorted(set(states)))),
        (str(len(material.documents)), f"proofs with {sum(len(one.statements) for one in material.documents.values())} "
         "labelled statements"),
        (str(len(checked)), f"maps compared with exact output distributions: {refuted} fail, {untested} not tested, "
         f"{attained} tight to 0.05 %"),
    ]  # fmt: skip
    if material.signed:
        signed = sum(bool(claim.accepted_by) for claim in material.claims)
        tiles.append((str(signed), f"of {len(states)} claims signed in their current state"))
    found = list_stale_parts(sorted(material.documents), material.documents)
    stale = [
        el("li", el("a", name, href=address.document_address(name)), f": {fault}", class_="fault")
        for name, fault in found
    ]
    return join_markup(
        [
            el("div", *(el("p", el("strong", number), " ", words) for number, words in tiles), class_="tiles"),
            el("div", el("h2", "Stale"), el("ul", *stale), class_="warning") if stale else "",
        ]
    )


def _claims_table(material: ReportContent, address: PageAddresses) -> Markup:
    headers = ["constructor", "what it does", "proof", "state", "rests on", "tests", *SYMBOLS.values()]
    lines = [
        [
            (
                el("a", breakable_name(claim.constructor), href=address.claim_address(claim.constructor)),
                claim.constructor,
            ),
            render_prose(first_sentence(claim.constructor)),
            address.proof_links(claim.document) if claim.document in material.documents else "none",
            status_label(claim.status),
            len(claim.foundations),
            len(claim.tests) if tests_are_here() else ("not here", -1),
            *(_largest_tightness(material, claim, measure.__name__) for measure in SYMBOLS),
            *([signer_names(claim)] if material.signed else []),
        ]
        for claim in material.claims
    ]
    note = (
        "The last columns contain the largest ratio of a loss found by the verifier to the claimed loss, "
        "over all arguments; a dash marks claims that are not verified by enumeration."
    )
    if not tests_are_here():
        note += " The tests are not installed here, so the tests of a claim are not listed."
    return join_markup(
        [
            el("p", note),
            html_table("Claims", [*headers, *(["signed by"] if material.signed else [])], lines, name="of-claims"),
        ]
    )


def _largest_tightness(material: ReportContent, claim: Claim, measure: str) -> Any:
    ratios = [
        one.report.tightness
        for one in material.findings
        if (one.example.constructor, one.measure_name) == (claim.constructor, measure)
        and one.report is not None
        and one.report.tightness is not None
    ]
    return (f"{max(ratios):.4f}", max(ratios)) if ratios else ("-", -1)


def first_sentence(constructor: str) -> str:
    """Return the first sentence of a docstring."""
    import opendp_topk

    first = split_docstring(inspect.getdoc(getattr(opendp_topk, constructor)) or "")[""]
    return " ".join(first.split("\n\n")[0].split())


def _verification_content(material: ReportContent, address: PageAddresses) -> list[Markup]:
    note = (
        "Each row compares exact output distributions on generated pairs of neighbours, with a proven error "
        f"bound, at scale 1: at most {count_with_noun(material.budget, 'pair')} per row, two thirds of them "
        "from a list of likely worst cases, the rest variations of the worst; the two likeliest are always "
        "tried. A map fails only if a loss certainly exceeds it, and is not tested if no loss was found. A "
        "ratio of 1 means that the claim is tight; a smaller ratio, that no pair that was tried reaches it. "
        "Below, dots on the line are tight claims; a dot above the line would be a false claim."
    )
    panels = [
        plots.plot_scatter(
            measure.__name__, symbol, [one for one in material.findings if one.measure_name == measure.__name__]
        )
        for measure, symbol in SYMBOLS.items()
        if any(one.measure_name == measure.__name__ and plots.is_plottable(one) for one in material.findings)
    ]
    return [
        el("p", note),
        el("div", *panels, class_="plots"),
        findings_table(material.findings, "Claimed losses and largest losses found", "of-rows", address),
    ]


def _graph_content(material: ReportContent, address: PageAddresses) -> list[Markup]:
    note = (
        "Documents from claims on the left to foundations on the right; a line connects a document with a "
        "statement on which it relies. Scroll to see the whole graph. Point at a document to see only its "
        "own lines. The page of each claim contains its own graph."
    )
    return [el("p", note), draw_graph(material.documents, material.documents, address.document_address)]


def _documents_table(material: ReportContent, address: PageAddresses) -> Markup:
    made_by: dict[str, list[str]] = {}
    for claim in material.claims:
        made_by.setdefault(claim.document or "", []).append(claim.constructor)
    lines = [
        [
            address.proof_links(one.name),
            one.title,
            status_label(one.status),
            join_markup(
                (el("a", str(r), href=address.document_address(r.target, r.label)) for r in one.relies_on), ", "
            ),
            join_markup((el("a", name, href=address.claim_address(name)) for name in made_by.get(one.name, [])), ", "),
        ]
        for one in material.documents.values()
    ]
    return html_table("Documents", ["document", "title", "state", "relies on", "claim of"], lines, name="of-documents")
