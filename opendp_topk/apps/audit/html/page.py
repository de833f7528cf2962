"""The frame of a page: head, style and script inline, navigation, and words that several pages share."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ....markup.elements import Markup, breakable, el, join
from ..registry import Claim
from .findings import Finding
from .state import Document

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


@dataclass(frozen=True)
class Material:
    """All that the pages show."""

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
        """Addresses as seen from a page; ``up`` leads from its folder to that of the index."""
        return Address(self, up)


@dataclass(frozen=True)
class Address:
    """Where pages are, seen from one of them."""

    material: Material
    up: str

    def document(self, name: str, label: str = "") -> str:
        """The page of a document, at a label that it has."""
        there = self.material.documents.get(name)
        mark = f"#s-{label}" if label and there and label in there.labels else ""
        return f"{self.up}documents/{name.replace('/', '-')}.html{mark}"

    def known(self, name: str, label: str) -> str | None:
        """The same; None where there is no such document."""
        return self.document(name, label) if name in self.material.documents else None

    def claim(self, constructor: str) -> str:
        """The page of a claim."""
        return f"{self.up}claims/{constructor}.html"

    def pdf(self, name: str) -> str | None:
        """The PDF of a document, where it was built."""
        return f"{self.up}pdf/{name.replace('/', '-')}.pdf" if name in self.material.pdfs else None

    def proof(self, name: str) -> Markup:
        """Links to the document and, where there is one, to its PDF."""
        links = [el("a", breakable(name), href=self.document(name))]
        pdf = self.pdf(name)
        if pdf:
            links.append(el("a", "PDF", href=pdf))
        return join(links, " · ")


def page(title: str, up: str, material: Material, *content: Markup) -> str:
    """A whole page, which needs no other file to be read."""
    sections = (("claims", "Claims"), ("verification", "Verification"), ("graph", "Graph"), ("documents", "Documents"))
    links = [el("a", words, href=f"{up}index.html#{name}") for name, words in sections]
    foot = f"opendp_topk {material.version}, audited on {material.date}."
    return whole(title, *content, links=links, foot=foot)


def whole(title: str, *content: Markup, links: Sequence[Markup] = (), foot: str = "") -> str:
    """A page with the style and the script inline; ``links`` lead to other pages."""
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
    """A part of a page, which can be linked to."""
    return el("section", el("h2", heading), *content, id=name)


def status(word: str) -> Markup:
    """The state of a proof or of a row, told by its word and its colour."""
    return el("span", word, class_=f"status {word.replace(' ', '-')}")


def count(number: int, noun: str) -> str:
    """3 documents, 1 document."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def signatures(claim: Claim) -> str:
    """Who has signed the claim as it stands."""
    if claim.accepted_by:
        return ", ".join(claim.accepted_by)
    return "outdated" if claim.signoffs else "nobody"
