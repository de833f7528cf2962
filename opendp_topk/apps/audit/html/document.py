"""Documents and code as elements of pages."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable

from .... import proof
from ....markup.elements import Markup, el, join_markup
from ....proof.regions import TAGS
from .page import (
    PageAddresses,
    PinnedRegion,
    ProofDocument,
    ReportContent,
    render_report_page,
    render_section,
    status_label,
)

# Regions of code as HTML, with numbered lines and the lines that a proof cites in colour.

_QUOTES = '"""'
_TAG = re.compile(r"\[([a-z][a-z0-9-]*)\]")
_TOKEN = re.compile(
    r"(?P<comment>#.*)|(?P<string>[rbf]{0,2}(?:\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'))|(?P<word>[^\W\d]\w*)"
)


def code_listing(code: str, first: int, cited: str, tags: set[str]) -> Markup:
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
                _highlight_line(before, cited, tags),
                el("span", rest, class_="string") if rest else "",
                "\n",
                class_="line tagged" if tagged else "line",
            )
        )
    return el(
        "div", el("pre", el("code", *lines)), class_="scroll code", tabindex="0", role="region", aria_label="Code"
    )


def region_code(region: PinnedRegion, cited: str, tags: set[str]) -> list[Markup]:
    """Return a region with its place and state; the arguments are those of :func:`code_listing`."""
    place = f"opendp_topk/{region.source}, " if region.code else ""
    shown = (
        code_listing(region.code, region.first_line, cited, tags) if region.code else el("p", "The region is missing.")
    )
    state = status_label("current" if region.is_current else "stale")
    return [el("h3", f"{place}region {region.pin.region} ", state), shown]


def _highlight_line(line: str, cited: str, tags: set[str]) -> Markup:
    parts: list[str] = []
    at = 0
    for match in _TOKEN.finditer(line):
        parts.append(line[at : match.start()])
        at = match.end()
        if match.lastgroup == "comment":
            parts.append(_link_comment_tags(match[0], cited, tags))
        elif match.lastgroup == "string":
            parts.append(el("span", match[0], class_="string"))
        else:
            parts.append(el("span", match[0], class_="keyword") if keyword.iskeyword(match[0]) else match[0])
    return join_markup([*parts, line[at:]])


def _link_comment_tags(comment: str, cited: str, tags: set[str]) -> Markup:
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


def render_latex(source: str, address: Callable[[str, str], str | None], tags: set[str], listed: set[str]) -> Markup:
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
    return el("pre", join_markup([*parts, source[at:]]), class_="latex")


# The page of one proof document: its statements, its code, the documents that rely on it, and its LaTeX.


def document_page(document: ProofDocument, material: ReportContent) -> str:
    """Return the page ``documents/FOLDER-STEM.html``."""
    address = material.addresses_from("../")
    tags, left = set(document.cited_tags), set(document.cited_tags)
    regions = [
        join_markup(
            [
                *region_code(one, "", left),
                *(
                    [el("p", "Its recorded digest covers ", el("code", ", ".join(one.reaches)), " too.")]
                    if one.reaches
                    else []
                ),
            ]
        )
        for one in document.regions
    ]
    stated = [
        el(
            "article",
            el("h3", one.kind.capitalize(), *([f": {one.name}"] if one.name else []), " ", el("code", one.label)),
            render_latex(one.text, address.existing_document_address, set(), set(document.labels)),
            id=f"s-{one.label}",
        )
        for one in document.statements
    ]
    listed = {one.label for one in document.statements}
    return render_report_page(
        document.title,
        "../",
        material,
        _document_facts(document, material, address),
        render_section("statements", "Statements", *(stated or [el("p", "No statement has a label.")])),
        render_section("code", "Code", *(regions or [el("p", "It covers no code.")])),
        render_section(
            "source",
            "The whole document, as LaTeX",
            render_latex(document.source, address.existing_document_address, tags, listed),
        ),
    )


def machine_checked_parts(document: ProofDocument) -> list[tuple[str, object]]:
    """Return the parts of a document that a proof assistant has checked, and whether each is unchanged since then."""
    return [
        (
            "checked by machine",
            join_markup([el("code", f"{one.label}: {one.theorem}"), f" {one.remark} ", status_label(one.status)]),
        )
        for one in proof.machine_checks(document.name)
    ]


def _document_facts(document: ProofDocument, material: ReportContent, address: PageAddresses) -> Markup:
    pairs: list[tuple[str, object]] = [
        ("document", el("code", f"proofs/{document.name}.tex")),
        ("state", status_label(document.status)),
    ]
    pdf = address.pdf_address(document.name)
    if pdf:
        pairs.append(("as a PDF", el("a", f"{document.name.replace('/', '-')}.pdf", href=pdf)))
    if document.name in material.unbuilt:
        pairs.append(("no PDF", material.unbuilt[document.name]))
    pairs += [("stale", fault) for fault in document.stale_parts]
    pairs += machine_checked_parts(document)
    pairs += [
        ("stale below", join_markup([el("a", name, href=address.document_address(name)), ": see there"]))
        for name in document.foundations
        if name in material.documents and material.documents[name].stale_parts
    ]
    relies = (el("a", str(one), href=address.document_address(one.target, one.label)) for one in document.relies_on
              if one.target in material.documents)  # fmt: skip
    pairs.append(("relies on", join_markup(relies, ", ")))
    users = [one.name for one in material.documents.values() if any(r.target == document.name for r in one.relies_on)]
    pairs.append(("used by", join_markup((el("a", name, href=address.document_address(name)) for name in users), ", ")))
    claims = [claim.constructor for claim in material.claims if claim.document == document.name]
    if claims:
        pairs.append(
            ("claim of", join_markup((el("a", name, href=address.claim_address(name)) for name in claims), ", "))
        )
    return el("dl", *(el("div", el("dt", key), el("dd", value or "nothing")) for key, value in pairs), class_="facts")
