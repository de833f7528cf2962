"""The generated pages: how each is written, and a quick way to see that one no longer fits.

The public names are written with them for those who check types: the package itself loads each when it is asked for.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from opendp_topk.apps.audit import shipped, verify_all
from opendp_topk.core import public_names

from . import above, above_curve, copies, few, losses_met, machine_marks, proof_map, quantiles, record_schema, reference
from .reading_list import table as reading_list
from .tightness import HEADER, all_examples, claim_columns, tightness_table

ROOT = Path(__file__).resolve().parents[2]
COMMAND = "python -m tests.pages"
LOSSES = "docs/tightness.md"
PUBLIC_NAMES = "opendp_topk/__init__.pyi"
_WIDEST = 120  # columns, as the formatter is told
_GENERATED = re.compile(rf"(?<=<!-- {re.escape(COMMAND)} -->\n\n).*?(?=\n<!-- end -->)", re.DOTALL)


@dataclass(frozen=True)
class Page:
    """A page below the root; ``made`` makes its text from the one that it has, and ``fits`` is quicker than that."""

    path: str
    made: Callable[[str], str]
    fits: Callable[[str], bool]

    def read(self) -> str:
        """The page as it is; the empty text where it is not there."""
        file = ROOT / self.path
        return file.read_text(encoding="utf-8") if file.is_file() else ""

    def write(self) -> bool:
        """Write the page, and say whether it changed."""
        before = self.read()
        after = self.made(before)
        (ROOT / self.path).write_text(after, encoding="utf-8")
        return after != before


def with_proof_map(text: str) -> str:
    """proofs/README.md with its two tables made anew; errors are those of :func:`with_table`."""
    return with_table(text, reading_list(), proof_map.table())


def with_marks(text: str) -> str:
    """docs/machine_checked.md with its table made anew; errors are those of :func:`with_table`."""
    return with_table(text, machine_marks.table())


def with_table(text: str, *tables: str) -> str:
    """A page with other tables, in their order.

    Raises:
        ValueError: The marks around the table are gone.
    """
    left = list(tables)
    made, count = _GENERATED.subn(lambda _: left.pop(0) if left else "", text)
    if count != len(tables):
        raise ValueError(f"the page must hold <!-- {COMMAND} --> and <!-- end --> around its table")
    return made


def stub(_: str) -> str:
    """What the package looks like to those who check types: each namespace, and each public name from its module."""
    spaces = [(home.rpartition("."), name) for name, home in public_names.NAMESPACES.items()]
    homes = [(folder or ".", package, name) for (folder, _, package), name in spaces]
    homes += [(home, name, name) for name, home in public_names.HOMES.items()]
    lines = [_exported(*one) for one in sorted(homes)]
    lines += ["", *(f"{name} = {package}" for _, package, name in sorted(homes) if package != name)]
    listed = [f'    "{name}",' for name in sorted(public_names.HOMES)]
    return "\n".join([*lines, "", "__version__: str", "", "__all__ = [", *listed, "]"]) + "\n"


def _exported(home: str, name: str, public: str) -> str:
    """The line that hands a name on, or the three into which the formatter breaks one that is too long."""
    handed_on = f"{name} as {name}" if name == public else name
    line = f"from {home} import {handed_on}"
    return line if len(line) <= _WIDEST else f"from {home} import (\n    {handed_on},\n)"


SEARCHES: tuple[losses_met.Search, ...] = (few, quantiles, above, above_curve)


def tightness(text: str) -> str:
    """docs/tightness.md: searches for the largest losses, of pairs, of many copies, few that move, and by questions."""
    return tightness_table(verify_all(among=listed())) + sections() + OPEN + text.partition(OPEN)[2]


def sections() -> str:
    """What docs/tightness.md has after the table of all constructors, as far as it is found."""
    return copies.section() + "".join(map(losses_met.section, SEARCHES))


def with_losses_of(name: str, text: str) -> str:
    """docs/tightness.md with the losses of one constructor searched for anew, and all others as they are."""
    table, mark, rest = text.partition("\n\n## ")
    found = tightness_table(verify_all(among=[example for example in listed() if example.constructor == name]))
    lines = [line for line in table.splitlines() if f"`{name}`" not in line]
    lines += [line for line in found.splitlines() if f"`{name}`" in line]
    places = {claim_columns(example): place for place, example in enumerate(listed())}

    def rank(line: str) -> tuple[str, int]:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        return cells[5], places[tuple(cells[:4])]

    rows = sorted((line for line in lines if line.startswith("| `make_")), key=rank)
    return "\n".join([line for line in lines if not line.startswith("| `make_")] + rows) + mark + rest


def has_the_rows(text: str) -> bool:
    """Whether docs/tightness.md lists today's mechanisms, arguments, measures and claims, whatever was found."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if "`make_" in line]
    rows = [claim_columns(example) for example in listed()]
    same = sorted(tuple(line[:4]) for line in cells) == sorted(rows)
    return (
        text.startswith(HEADER)
        and same
        and copies.has_the_rows(text)
        and all(losses_met.has_the_rows(search, text) for search in SEARCHES)
        and OPEN in text
    )


def listed() -> list[shipped.Example]:
    """What the page of the losses speaks of."""
    return [example for example in all_examples() if claim_columns(example) is not None]


OPEN = "\n## What was tried at the loosest maps\n"
"""What comes below it on docs/tightness.md is written by hand and stays."""

PAGES = {
    page.path: page
    for page in (
        Page(PUBLIC_NAMES, stub, lambda text: stub(text) == text),
        Page("proofs/README.md", with_proof_map, lambda text: with_proof_map(text) == text),
        Page("docs/machine_checked.md", with_marks, lambda text: with_marks(text) == text),
        Page(LOSSES, tightness, has_the_rows),
        Page("docs/release.schema.json", lambda _: record_schema.text(), lambda text: record_schema.text() == text),
        Page("docs/reference/names.md", lambda _: reference.names(), lambda text: reference.names() == text),
        Page("docs/reference/command.md", lambda _: reference.commands(), lambda text: reference.commands() == text),
    )
}
