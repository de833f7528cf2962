"""The page of a claim."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator

from ....markup.elements import Markup, el, html_table, join_markup
from ..registry import Claim, tests_are_here
from .document import machine_checked_parts, region_code
from .graph import draw_graph
from .page import (
    PageAddresses,
    ProofDocument,
    ReportContent,
    count_with_noun,
    list_stale_parts,
    render_report_page,
    render_section,
    signer_names,
    status_label,
)
from .verification import SYMBOLS, findings_table, plot_findings

# Docstrings as HTML: their sections, their lists and tables, and their formulas for each measure.

_HEADING = re.compile(r"^([A-Z][a-z]+):(?: (.*))?$")
_RULE = re.compile(r"^=+(?:  +=+)+$")
_CODE = re.compile(r"``([^`]+)``|:class:`([^`]+)`")
_SIGNS = {">=": "≥", "<=": "≤", "^2": "²", "->": "→", "^{-1}": "⁻¹"}
_SIGN = re.compile("|".join(map(re.escape, _SIGNS)))
_NEXT = re.compile(r",? [A-Z][A-Za-z]*Divergence\b")


def split_docstring(docstring: str) -> dict[str, str]:
    """Return the summary under the empty name, and the text below each heading, such as ``Privacy``."""
    found: dict[str, list[str]] = {"": []}
    name = ""
    for line in docstring.splitlines():
        heading = _HEADING.match(line)
        if heading and (name or found[""]):
            name = heading[1]
            found[name] = [heading[2]] if heading[2] else []
        else:
            found[name].append(line)
    return {name: textwrap.dedent("\n".join(lines)).strip() for name, lines in found.items()}


def render_prose(line: str) -> Markup:
    """Return a piece of prose: names in double backquotes as code, comparison operators as one character."""
    parts: list[str] = []
    at = 0
    for match in _CODE.finditer(line):
        parts += [_replace_operators(line[at : match.start()]), el("code", match[1] or match[2])]
        at = match.end()
    return join_markup([*parts, _replace_operators(line[at:])])


def _replace_operators(plain: str) -> str:
    return _SIGN.sub(lambda sign: _SIGNS[sign[0]], plain)


def render_blocks(section: str) -> Markup:
    """Return the paragraphs, lists and tables of a section."""
    made: list[Markup] = []
    items: list[Markup] = []
    for block in _split_blocks(section):
        if block.startswith(("- ", "* ")):
            items.append(el("li", render_prose(_join_lines(block[2:]))))
            continue
        if items:
            made.append(el("ul", *items))
            items = []
        if _RULE.match(block.splitlines()[0]):
            headers, *rows = parse_simple_table(block)
            body = (el("tr", *(el("td" if n else "th", render_prose(c)) for n, c in enumerate(row))) for row in rows)
            head = el("thead", el("tr", *(el("th", render_prose(c), scope="col") for c in headers)))
            made.append(el("div", el("table", head, el("tbody", *body)), class_="scroll"))
        else:
            made.append(el("p", render_prose(_join_lines(block))))
    return join_markup([*made, *([el("ul", *items)] if items else [])])


def _split_blocks(section: str) -> Iterator[str]:
    """Yield paragraphs, tables, and items of lists, each as its lines."""
    for paragraph in filter(str.strip, re.split(r"\n\s*\n", section)):
        lines = textwrap.dedent(paragraph).splitlines()
        start = 0
        for at in range(1, len(lines)):
            if lines[at].startswith(("- ", "* ")):
                yield "\n".join(lines[start:at])
                start = at
        yield "\n".join(lines[start:])


def _join_lines(block: str) -> str:
    return " ".join(block.split())


def parse_simple_table(block: str) -> list[list[str]]:
    """Return the rows of a simple table, with columns marked by rules of equals signs; the header comes first."""
    rule, *lines = block.splitlines()
    starts = [match.start() for match in re.finditer("=+", rule)]
    ends: list[int | None] = [*starts[1:], None]
    rows = [line for line in lines if not _RULE.match(line)]
    return [[row[a:b].strip() for a, b in zip(starts, ends, strict=True)] for row in rows]


def measure_formulas(privacy: str, measure: str) -> list[tuple[str, str]]:
    """Return the formulas for one measure in a section on privacy: pairs of a case (may be empty) and its formula."""
    found: list[tuple[str, str]] = []
    for block in _split_blocks(privacy):
        if _RULE.match(block.splitlines()[0]):
            headers, *rows = parse_simple_table(block)
            found += [(row[0], row[headers.index(measure)]) for row in rows if measure in headers]
        elif block.startswith("- ") and measure in block:
            case, _, rest = _join_lines(block[2:]).partition(measure)
            names = case.strip().removesuffix(",")
            after = rest.lstrip(": ") if ":" in names + rest[:1] or not names else rest
            found.append(_split_clause(names, after, rest))
    return found


def _split_clause(names: str, after: str, rest: str) -> tuple[str, str]:
    """Split a clause: ``Gumbel noise: A r, B s`` gives each measure its own formula, ``A, B: r`` gives all the same."""
    if rest.startswith(":"):
        return "", after.removesuffix(".")
    if rest.startswith(","):
        return "", rest.partition(":")[2].strip().removesuffix(".")
    ends = _NEXT.search(after)
    case = names.partition(":")[0] if ":" in names else ""
    return case, after[: ends.start() if ends else None].strip(" .")


# The page of one claim: its formula under each measure, the losses found, the code, and its foundations.

_MEASURES = (*(measure.__name__ for measure in SYMBOLS), "PrivacyProfile")


def claim_page(claim: Claim, material: ReportContent) -> str:
    """Return the page ``claims/NAME.html``."""
    import opendp_topk

    address = material.addresses_from("../")
    said = split_docstring(inspect.getdoc(getattr(opendp_topk, claim.constructor)) or "")
    document = material.documents.get(claim.document or "")
    return render_report_page(
        claim.constructor,
        "../",
        material,
        render_blocks(said[""]),
        _claim_facts(claim, document, material, address),
        render_section("privacy", "Privacy claim", *_privacy_claim(said)),
        *(_measure_section(name, claim, material, said) for name in _MEASURES),
        *([] if document is None else _foundation_sections(claim, document, material, address)),
        render_section("tests", "Tests", _list_tests(claim)),
    )


def _claim_facts(
    claim: Claim, document: ProofDocument | None, material: ReportContent, address: PageAddresses
) -> Markup:
    pairs: list[tuple[str, object]] = [("state of the proof", status_label(claim.status))]
    if claim.remark:
        pairs.append(("remark", claim.remark))
    if document is not None:
        pairs.append(("proof", join_markup([address.proof_links(document.name), f": {document.title}"])))
        pairs += [*machine_checked_parts(document), ("last reading", str(document.reading or "no review is recorded"))]
    if claim.digest:
        pairs.append(("digest of the claim and of everything it depends on", el("code", claim.digest)))
    if material.signed:
        pairs.append(("signed by", signer_names(claim)))
        pairs += [
            (
                "sign-off",
                f"{one.by}, {one.date}, "
                + ("of the current state" if one.digest == claim.digest else "of an earlier state"),
            )
            for one in claim.signoffs
        ]
    below = [] if document is None else list_stale_parts([document.name, *document.foundations], material.documents)
    pairs += [
        ("stale", join_markup([el("a", name, href=address.document_address(name)), f": {fault}"]))
        for name, fault in below
    ]
    return el("dl", *(el("div", el("dt", key), el("dd", value)) for key, value in pairs), class_="facts")


def _privacy_claim(said: dict[str, str]) -> list[Markup]:
    if "Privacy" in said:
        return [render_blocks(said["Privacy"])]
    if "Returns" in said:
        return [render_blocks(said["Returns"])]
    return [el("p", "The docstring makes no claim.")]


def _measure_section(name: str, claim: Claim, material: ReportContent, said: dict[str, str]) -> Markup:
    """Return one measure: formula, rows and plots; empty if the claim does not cover this measure."""
    found = [
        one for one in material.findings if (one.example.constructor, one.measure_name) == (claim.constructor, name)
    ]
    cases = measure_formulas(said.get("Privacy", ""), name)
    if not found and not cases:
        return join_markup([])
    parts: list[Markup] = []
    if cases:
        lines = (
            el("li", *([render_prose(case), ": "] if case else []), el("span", render_prose(formula), class_="formula"))
            for case, formula in cases
        )
        parts.append(el("ul", *lines, class_="formulas"))
    if found:
        parts += [
            plot_findings(found),
            findings_table(found, f"{name}: claimed loss and largest loss found", f"of-{name}", None),
        ]
        if any(one.points for one in found):
            parts.insert(
                1 if cases else 0,
                el("p", "The line is the claim; the dots are the largest losses found.", class_="note"),
            )
    else:
        parts.append(el("p", "Not verified by enumeration.", class_="note"))
    return render_section(name, name, *parts)


def _foundation_sections(
    claim: Claim, document: ProofDocument, material: ReportContent, address: PageAddresses
) -> list[Markup]:
    page_of = address.document_address(document.name)
    tags = set(document.cited_tags)
    regions = [join_markup(region_code(one, page_of, tags)) for one in document.regions]
    rests = [
        [
            (el("a", str(one), href=address.document_address(one.target, one.label)), str(one)),
            material.documents[one.target].title if one.target in material.documents else "missing",
            status_label("current" if one.is_current else "stale"),
        ]
        for one in document.relies_on
    ]
    whole = f"With the statements on which these rely in turn: {count_with_noun(len(claim.foundations), 'document')}."
    carried = [
        el("p", words, join_markup([el("a", name, href=address.document_address(name)) for name in names], ", "), ".")
        for words, names in (
            (f"Its privacy relies on {count_with_noun(len(document.carriers), 'document')}: ", document.carriers),
            ("Its output distribution, accuracy, success probability and batches also rely on ", document.others),
        )
        if names
    ]
    return [
        render_section(
            "code",
            "Code covered by the proof",
            el("p", "Coloured lines are cited by the proof; each tag links to the place."),
            *regions,
        ),
        render_section(
            "grounds",
            "Dependencies",
            html_table("Statements on which the proof relies directly", ["statement", "document", "state"], rests),
            el("p", whole),
            *carried,
            draw_graph(
                material.documents, [document.name, *document.foundations], address.document_address, document.name
            ),
        ),
    ]


def _list_tests(claim: Claim) -> Markup:
    if not tests_are_here():
        return el("p", "The tests are not installed here.")
    if not claim.tests:
        return el("p", "No test refers to it.")
    return el("ul", *(el("li", el("code", one)) for one in claim.tests))
