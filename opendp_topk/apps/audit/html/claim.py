"""The page of one claim: what it promises under each measure, what was met, the code, and what it all rests on."""

from __future__ import annotations

import inspect

from ....markup.elements import Markup, el, join, table
from ..registry import Claim, tests_are_here
from .code import region_code
from .document import checked
from .graph import graph
from .page import Address, Material, count, page, section, signatures, status
from .prose import blocks, formulas, sections, text
from .state import Document, faults
from .verification import SYMBOLS, figures, rows

_MEASURES = (*(measure.__name__ for measure in SYMBOLS), "PrivacyProfile")


def claim_page(claim: Claim, material: Material) -> str:
    """The page ``claims/NAME.html``."""
    import opendp_topk

    address = material.address("../")
    said = sections(inspect.getdoc(getattr(opendp_topk, claim.constructor)) or "")
    document = material.documents.get(claim.document or "")
    return page(
        claim.constructor,
        "../",
        material,
        blocks(said[""]),
        _facts(claim, document, material, address),
        section("privacy", "What is claimed", *_promise(said)),
        *(_measure(name, claim, material, said) for name in _MEASURES),
        *([] if document is None else _grounds(claim, document, material, address)),
        section("tests", "Tests", _tests(claim)),
    )


def _facts(claim: Claim, document: Document | None, material: Material, address: Address) -> Markup:
    pairs: list[tuple[str, object]] = [("state of the proof", status(claim.status))]
    if claim.remark:
        pairs.append(("remark", claim.remark))
    if document is not None:
        pairs.append(("proof", join([address.proof(document.name), f": {document.title}"])))
        pairs += [*checked(document), ("last reading", str(document.reading or "none is recorded"))]
    if claim.digest:
        pairs.append(("digest of all that it rests on", el("code", claim.digest)))
    if material.signed:
        pairs.append(("signed by", signatures(claim)))
        pairs += [
            (
                "sign-off",
                f"{one.by}, {one.date}, " + ("as it stands" if one.digest == claim.digest else "of another state"),
            )
            for one in claim.signoffs
        ]
    below = [] if document is None else faults([document.name, *document.foundations], material.documents)
    pairs += [("stale", join([el("a", name, href=address.document(name)), f": {fault}"])) for name, fault in below]
    return el("dl", *(el("div", el("dt", key), el("dd", value)) for key, value in pairs), class_="facts")


def _promise(said: dict[str, str]) -> list[Markup]:
    if "Privacy" in said:
        return [blocks(said["Privacy"])]
    if "Returns" in said:
        return [blocks(said["Returns"])]
    return [el("p", "The docstring makes no claim.")]


def _measure(name: str, claim: Claim, material: Material, said: dict[str, str]) -> Markup:
    """One measure: formula, rows and plots; nothing where the claim does not speak of it."""
    found = [one for one in material.findings if (one.example.constructor, one.measure) == (claim.constructor, name)]
    cases = formulas(said.get("Privacy", ""), name)
    if not found and not cases:
        return join([])
    parts: list[Markup] = []
    if cases:
        lines = (el("li", *([text(case), ": "] if case else []), el("span", text(formula), class_="formula"))
                 for case, formula in cases)  # fmt: skip
        parts.append(el("ul", *lines, class_="formulas"))
    if found:
        parts += [figures(found), rows(found, f"{name}: the claim against the largest loss met", f"of-{name}", None)]
        if any(one.points for one in found):
            parts.insert(
                1 if cases else 0, el("p", "The line is the claim, the dots are the largest losses met.", class_="note")
            )
    else:
        parts.append(el("p", "Not verified by enumeration.", class_="note"))
    return section(name, name, *parts)


def _grounds(claim: Claim, document: Document, material: Material, address: Address) -> list[Markup]:
    page_of = address.document(document.name)
    tags = set(document.tags)
    regions = [join(region_code(one, page_of, tags)) for one in document.regions]
    rests = [
        [
            (el("a", str(one), href=address.document(one.target, one.label)), str(one)),
            material.documents[one.target].title if one.target in material.documents else "missing",
            status("current" if one.is_current else "stale"),
        ]
        for one in document.relies_on
    ]
    whole = f"With what these rest on in turn: {count(len(claim.foundations), 'document')}."
    carried = [
        el("p", words, join([el("a", name, href=address.document(name)) for name in names], ", "), ".")
        for words, names in (
            (f"Its privacy is carried by {count(len(document.carriers), 'document')}: ", document.carriers),
            ("Law, accuracy, success and batches rest besides on ", document.others),
        )
        if names
    ]
    return [
        section(
            "code",
            "Code that the proof pins",
            el("p", "Lines in colour are cited by the proof; a tag leads there."),
            *regions,
        ),
        section(
            "grounds",
            "What it rests on",
            table("Statements on which the proof relies directly", ["statement", "document", "state"], rests),
            el("p", whole),
            *carried,
            graph(material.documents, [document.name, *document.foundations], address.document, document.name),
        ),
    ]


def _tests(claim: Claim) -> Markup:
    if not tests_are_here():
        return el("p", "The tests are not installed here.")
    if not claim.tests:
        return el("p", "No test names it.")
    return el("ul", *(el("li", el("code", one)) for one in claim.tests))
