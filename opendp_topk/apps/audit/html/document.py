"""Documents and code as elements of pages."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable

from .... import proof
from ....markup.elements import Markup, el, join
from ....proof.regions import TAGS
from .page import Address, Document, Material, Region, page, section, status

# Regions of code as HTML, with numbered lines and the lines that a proof cites in colour.

_QUOTES = '"""'
_TAG = re.compile(r"\[([a-z][a-z0-9-]*)\]")
_TOKEN = re.compile(
    r"(?P<comment>#.*)|(?P<string>[rbf]{0,2}(?:\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'))|(?P<word>[^\W\d]\w*)"
)


def listing(code: str, first: int, cited: str, tags: set[str]) -> Markup:
    """Return the lines of a region; its first line has the number ``first`` in its file.

    Args:
        code: The region.
        first: The number of its first line.
        cited: The address of the page that shows the proof; empty for this page.
        tags: Tags that a proof cites and that this page has not shown yet; shown tags are removed from the set.
    """
    lines, quoted = [], False
    for number, line in enumerate(code.splitlines(), start=first):
        tagged = bool(TAGS.search(line))
        before = "" if quoted else line.partition(_QUOTES)[0]
        rest = line[len(before) :]
        quoted ^= line.count(_QUOTES) % 2 == 1
        lines.append(
            el(
                "span",
                el("span", number, class_="at"),
                _coloured(before, cited, tags),
                el("span", rest, class_="string") if rest else "",
                "\n",
                class_="line tagged" if tagged else "line",
            )
        )
    return el(
        "div", el("pre", el("code", *lines)), class_="scroll code", tabindex="0", role="region", aria_label="Code"
    )


def region_code(region: Region, cited: str, tags: set[str]) -> list[Markup]:
    """Return a region with its place and state; the arguments are those of :func:`listing`."""
    place = f"opendp_topk/{region.source}, " if region.code else ""
    shown = listing(region.code, region.first_line, cited, tags) if region.code else el("p", "The region is missing.")
    state = status("current" if region.is_current else "stale")
    return [el("h3", f"{place}region {region.pin.region} ", state), shown]


def _coloured(line: str, cited: str, tags: set[str]) -> Markup:
    parts: list[str] = []
    at = 0
    for match in _TOKEN.finditer(line):
        parts.append(line[at : match.start()])
        at = match.end()
        if match.lastgroup == "comment":
            parts.append(_comment(match[0], cited, tags))
        elif match.lastgroup == "string":
            parts.append(el("span", match[0], class_="string"))
        else:
            parts.append(el("span", match[0], class_="keyword") if keyword.iskeyword(match[0]) else match[0])
    return join([*parts, line[at:]])


def _comment(comment: str, cited: str, tags: set[str]) -> Markup:
    """Return a comment with its tags linked to the place where the proof cites them."""
    if not TAGS.fullmatch(comment.rstrip()):
        return el("span", comment, class_="comment")
    parts: list[str] = ["# "]
    for tag in _TAG.findall(comment):
        known = tag in tags
        parts += [
            el("a", f"[{tag}]", href=f"{cited}#cites-{tag}", id=f"tag-{tag}", class_="tag")
            if known
            else el("span", f"[{tag}]", class_="tag"),
            " ",
        ]
        tags.discard(tag)
    return el("span", *parts[:-1], class_="comment")


_MACRO = re.compile(r"\\codetag\{([^{}]*)\}|\\relieson(?:\[([^\[\]]*)\])?\{([^{}]*)\}|\\label\{([^{}]*)\}")


def latex(source: str, address: Callable[[str, str], str | None], tags: set[str], listed: set[str]) -> Markup:
    """Return the LaTeX of a document, with tags linked to the code and relied statements linked to their documents.

    Args:
        source: The text of the document.
        address: Document and label -> the address of this statement; None if it is not shown.
        tags: The tags of the code that the page shows.
        listed: The labels that the page shows elsewhere; all others become link targets here.
    """
    parts: list[str] = []
    seen = set(listed)
    at = 0
    for match in _MACRO.finditer(source):
        parts.append(source[at : match.start()])
        at = match.end()
        tag, label, target, own = match.groups()
        if tag in tags:
            name = f"cites-{tag}"
            parts.append(el("a", match[0], href=f"#tag-{tag}", id=None if name in seen else name, class_="tag"))
            seen.add(name)
        elif target and address(target, label or ""):
            parts.append(el("a", match[0], href=address(target, label or "")))
        elif own:
            parts.append(el("span", match[0], class_="keyword", id=None if own in seen else f"s-{own}"))
            seen.add(own)
        else:
            parts.append(match[0])
    return el("pre", join([*parts, source[at:]]), class_="latex")


# The page of one proof document: its statements, its code, the documents that rely on it, and its LaTeX.


def document_page(document: Document, material: Material) -> str:
    """Return the page ``documents/FOLDER-STEM.html``."""
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
    """Return the parts of a document that a proof assistant has checked, and whether each is unchanged since then."""
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
