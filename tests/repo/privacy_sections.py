"""The sections of a docstring, and the formulas that its section on privacy has for each measure."""

import re
import textwrap
from collections.abc import Iterator

_HEADING = re.compile(r"^([A-Z][a-z]+):(?: (.*))?$")
_RULE = re.compile(r"^=+(?:  +=+)+$")
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
