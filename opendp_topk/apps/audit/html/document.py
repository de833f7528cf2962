"""The page of one proof document: its statements, its code, who relies on it, and its LaTeX."""

from __future__ import annotations

from .... import proof
from ....markup.elements import Markup, el, join
from .code import latex, region_code
from .page import Address, Material, page, section, status
from .state import Document


def document_page(document: Document, material: Material) -> str:
    """The page ``documents/FOLDER-STEM.html``."""
    address = material.address("../")
    tags, left = set(document.tags), set(document.tags)
    regions = [
        join(
            [
                *region_code(one, "", left),
                *([el("p", "Its pin holds ", el("code", ", ".join(one.reaches)), " too.")] if one.reaches else []),
            ]
        )
        for one in document.regions
    ]
    stated = [
        el(
            "article",
            el("h3", one.kind.capitalize(), *([f": {one.name}"] if one.name else []), " ", el("code", one.label)),
            latex(one.text, address.known, set(), set(document.labels)),
            id=f"s-{one.label}",
        )
        for one in document.statements
    ]
    listed = {one.label for one in document.statements}
    return page(
        document.title,
        "../",
        material,
        _facts(document, material, address),
        section("statements", "Statements", *(stated or [el("p", "None has a label.")])),
        section("code", "Code", *(regions or [el("p", "It pins no code.")])),
        section("source", "The whole document, as LaTeX", latex(document.source, address.known, tags, listed)),
    )


def checked(document: Document) -> list[tuple[str, object]]:
    """What a proof assistant has checked of a document, each with whether it still is what was checked."""
    return [
        ("checked by machine", join([el("code", f"{one.label}: {one.theorem}"), f" {one.remark} ", status(one.status)]))
        for one in proof.checks(document.name)
    ]


def _facts(document: Document, material: Material, address: Address) -> Markup:
    pairs: list[tuple[str, object]] = [
        ("document", el("code", f"proofs/{document.name}.tex")),
        ("state", status(document.status)),
    ]
    pdf = address.pdf(document.name)
    if pdf:
        pairs.append(("as a PDF", el("a", f"{document.name.replace('/', '-')}.pdf", href=pdf)))
    if document.name in material.unbuilt:
        pairs.append(("no PDF", material.unbuilt[document.name]))
    pairs += [("stale", fault) for fault in document.faults]
    pairs += checked(document)
    pairs += [
        ("stale below", join([el("a", name, href=address.document(name)), ": see there"]))
        for name in document.foundations
        if name in material.documents and material.documents[name].faults
    ]
    relies = (el("a", str(one), href=address.document(one.target, one.label)) for one in document.relies_on
              if one.target in material.documents)  # fmt: skip
    pairs.append(("relies on", join(relies, ", ")))
    users = [one.name for one in material.documents.values() if any(r.target == document.name for r in one.relies_on)]
    pairs.append(("relied on by", join((el("a", name, href=address.document(name)) for name in users), ", ")))
    claims = [claim.constructor for claim in material.claims if claim.document == document.name]
    if claims:
        pairs.append(("claim of", join((el("a", name, href=address.claim(name)) for name in claims), ", ")))
    return el("dl", *(el("div", el("dt", key), el("dd", value or "nothing")) for key, value in pairs), class_="facts")
