"""Docstrings as HTML: their sections, their lists and tables, and what they say of each measure."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from ....markup.elements import Markup, el, join

_HEADING = re.compile(r"^([A-Z][a-z]+):(?: (.*))?$")
_RULE = re.compile(r"^=+(?:  +=+)+$")
_CODE = re.compile(r"``([^`]+)``|:class:`([^`]+)`")
_SIGNS = {">=": "≥", "<=": "≤", "^2": "²", "->": "→", "^{-1}": "⁻¹"}
_SIGN = re.compile("|".join(map(re.escape, _SIGNS)))
_NEXT = re.compile(r",? [A-Z][A-Za-z]*Divergence\b")


def sections(docstring: str) -> dict[str, str]:
    """The summary under the empty name, then what stands below each heading, such as ``Privacy``."""
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


def text(line: str) -> Markup:
    """A piece of prose: names in double backquotes as code, signs of comparison as one character."""
    parts: list[str] = []
    at = 0
    for match in _CODE.finditer(line):
        parts += [_signs(line[at : match.start()]), el("code", match[1] or match[2])]
        at = match.end()
    return join([*parts, _signs(line[at:])])


def _signs(plain: str) -> str:
    return _SIGN.sub(lambda sign: _SIGNS[sign[0]], plain)


def blocks(section: str) -> Markup:
    """Paragraphs, lists and tables of a section."""
    made: list[Markup] = []
    items: list[Markup] = []
    for block in _blocks(section):
        if block.startswith(("- ", "* ")):
            items.append(el("li", text(_flat(block[2:]))))
            continue
        if items:
            made.append(el("ul", *items))
            items = []
        if _RULE.match(block.splitlines()[0]):
            headers, *rows = grid(block)
            body = (el("tr", *(el("td" if n else "th", text(c)) for n, c in enumerate(row))) for row in rows)
            head = el("thead", el("tr", *(el("th", text(c), scope="col") for c in headers)))
            made.append(el("div", el("table", head, el("tbody", *body)), class_="scroll"))
        else:
            made.append(el("p", text(_flat(block))))
    return join([*made, *([el("ul", *items)] if items else [])])


def _blocks(section: str) -> Iterator[str]:
    """Paragraphs, tables, and items of lists, each as its lines."""
    for paragraph in filter(str.strip, re.split(r"\n\s*\n", section)):
        lines = textwrap.dedent(paragraph).splitlines()
        start = 0
        for at in range(1, len(lines)):
            if lines[at].startswith(("- ", "* ")):
                yield "\n".join(lines[start:at])
                start = at
        yield "\n".join(lines[start:])


def _flat(block: str) -> str:
    return " ".join(block.split())


def grid(block: str) -> list[list[str]]:
    """The cells of a simple table, whose columns are marked by rules of equals signs; the header first."""
    rule, *lines = block.splitlines()
    starts = [match.start() for match in re.finditer("=+", rule)]
    ends: list[int | None] = [*starts[1:], None]
    rows = [line for line in lines if not _RULE.match(line)]
    return [[row[a:b].strip() for a, b in zip(starts, ends, strict=True)] for row in rows]


def formulas(privacy: str, measure: str) -> list[tuple[str, str]]:
    """What a section on privacy says of one measure: pairs of a case (may be empty) and its formula."""
    found: list[tuple[str, str]] = []
    for block in _blocks(privacy):
        if _RULE.match(block.splitlines()[0]):
            headers, *rows = grid(block)
            found += [(row[0], row[headers.index(measure)]) for row in rows if measure in headers]
        elif block.startswith("- ") and measure in block:
            case, _, rest = _flat(block[2:]).partition(measure)
            names = case.strip().removesuffix(",")
            after = rest.lstrip(": ") if ":" in names + rest[:1] or not names else rest
            found.append(_clause(names, after, rest))
    return found


def _clause(names: str, after: str, rest: str) -> tuple[str, str]:
    """``Gumbel noise: A r, B s`` speaks of several measures, ``A, B: r`` of all of them at once."""
    if rest.startswith(":"):
        return "", after.removesuffix(".")
    if rest.startswith(","):
        return "", rest.partition(":")[2].strip().removesuffix(".")
    ends = _NEXT.search(after)
    case = names.partition(":")[0] if ":" in names else ""
    return case, after[: ends.start() if ends else None].strip(" .")
