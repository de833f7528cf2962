"""The generated pages: how each is written, and a quick way to see that one no longer fits.

The public names are written with them for those who check types: the package itself loads each when it is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from opendp_topk.apps.audit import shipped, verify_all
from opendp_topk.core import public_names

from . import above, above_curve, copies, few, losses_met, machine_marks, proof_map, quantiles, reference
from .tightness import HEADER, claim_columns, tightness_table

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
    """proofs/README.md with its table made anew; errors are those of :func:`with_table`."""
    return with_table(text, proof_map.table())


def with_marks(text: str) -> str:
    """docs/machine_checked.md with its table made anew; errors are those of :func:`with_table`."""
    return with_table(text, machine_marks.table())


def with_table(text: str, table: str) -> str:
    """A page with another table.

    Raises:
        ValueError: The marks around the table are gone.
    """
    made, count = _GENERATED.subn(lambda _: table, text)
    if count != 1:
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


def tightness(_: str) -> str:
    """docs/tightness.md: searches for the largest losses, of pairs, of many copies, few that move, and by questions."""
    return tightness_table(verify_all(among=listed())) + sections()


def sections() -> str:
    """What docs/tightness.md has after the table of all constructors."""
    return copies.section() + "".join(map(losses_met.section, SEARCHES)) + OPEN


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
    return [example for example in shipped.shipped_examples() if claim_columns(example) is not None]


OPEN = """
## What was tried at the loosest maps

L(x) = x + exp(-x) - 1, R and a are defined in the constructors' documentation, and r is range distance / scale.

- One-shot exponential noise, k >= 2, zCDP: the map charges L(k r). A sum over the winners is not a valid bound, because
  one winner's noise decides two comparisons. For scores 0, 0 and -0.05, scale 1 and k = 2, let the last score rise by
  0.1: the ranking has a rho of at least 0.01001, but 2 L(0.1) is 0.00968.
- Distance utility of canonical sets, k >= 2, pure privacy: with e^12 copies the loss reaches epsilon = r to a part in
  10^4, for both noises; with three or four candidates it reaches 0.62 of it. Under zCDP such pairs stay below the
  claim, because sets that keep their utility outweigh those that gain, or the best sets outweigh those that lose.
- Joint rankings and sets, k = 2, pure privacy: many copies approach 2 r. Under zCDP such pairs stay below the
  claim, because rankings that keep their utility, or the best ones, outweigh those that gain.
- Permute-and-flip, one winner after the other: the map adds up the worst case of each choice. No pair that was tried
  is the worst for both, because the pair changes when its first winner is removed.
- Sets, if one score changes: the set reveals only on which side of a threshold one noisy score is. With logistic
  noise this has the range h = d_in / scale and so the rho R(h); the map charges h coth(h / 2) - 2. If two scores
  change, one may be the threshold of the other.
- Logistic noise on several scores: one score has the delta of one choice of range h, although its losses have range
  2 h. The bounds on curves cannot express this, so the map composes Laplace-dominated curves and rhos.
- Winners and counts, if one score changes, pure privacy: the largest loss found is k r. The map adds the worst case of
  the choices and of the counts.
- Unknown domain, groups of d_in > 1 with max_items: the map charges delta as if n = min(limit, d_in max_items) new keys
  had a lead of D each. Among four keys with counts up to 3 and two users of one key, the sum of exp(lead) over the new
  keys is at most exp(D), and 2 exp(D) is charged.
- Composition of steps that are fixed in advance: the map charges the curve of adaptive steps. For k choices of one
  range, compared with the formula of Dong, Durfee and Rogers (2020) for fixed ones, delta is 1.03 (k = 2) to 1.16
  (k = 30) times as large if it exceeds 1e-9, and epsilon mostly 1.01 and at most 1.05 times. For ranges that differ,
  delta is 1.04 to 1.13 times (1 and 1/4) and 1.16 to 1.37 times (1, 1/2 and 1/4) that of fixed choices on a grid.
- Above threshold under zCDP: with exponential noise and scores that move in one direction, the best analyst found
  reaches 0.53 of the rho (d_in = 1, k = 1), and 0.63 at d_in = 0.1. Given the threshold's noise one true answer has a
  rho of r, so answers cannot be charged one by one. For all noises and small losses at a fixed order, if scores move
  in one direction, the rho is at most (k (k + 1) r^2 / 2 + k r D / threshold_scale) / 2. This is at most the claim, and
  half of it for many answers. For orders that grow as losses shrink, no such bound is known.
- Above threshold, curves: with Gumbel or logistic noise all answers are a function of k + 1 independent exponential
  variables, of rate 1 on one neighbour and exp(-u) on the other, u = max(D / threshold_scale, r). One variable is the
  threshold's noise. Given it, -ln P(False) of a query is h on one neighbour and in [exp(-r) h, h] on the other, so the
  queries before the next True answer reveal when another variable has come. So delta is at most
  P(G <= x) - exp(epsilon) P(G <= exp(-u) x), where G has the gamma distribution with shape k + 1 and
  x = ((k + 1) u - epsilon) / (1 - exp(-u)). At delta = 0.1 and u = 1 epsilon is 1.18 (k = 1) and 1.75 (k = 2), where
  1.79 and 2.79 are claimed; at u = 0.05, k = 30 and delta = 1e-6 it is 0.89 instead of 1.27. This would be a new curve,
  and does not apply to the other noises.
- Quantiles, two levels: quartiles of 1,300 numbers reach epsilon, range and rho to 1 part in 100. Thirds do not: 2/3 is
  chosen first, and only the rows below it are split again. Such a row moves the scores of numbers above itself by half
  of what another row may. So the first choice costs at most 3 r/4 and the second one r, or the first one costs r and no
  second one follows: epsilon is at most 7 r/4, and the range at most 5 r/2. The map uses only the number of levels, and
  charges 2 r and 3 r.
- Counts of several users, D > 1, with noise: D users with the same keys move n counts by D each, and for them the rho
  of all counts is tight. The curve of Gaussian noise on winners' counts is tight except for a variance that is less by
  16: delta is at most 1.15 times what is reached at count_scale = 24, and 1.06 times at 40. Found items with Laplace
  noise use their epsilon and rho if D > 1: at delta = 0.05 and scale 10, epsilon is 0.42 for five users of one key each
  (0.40 is reached), and 0.73 for three users of three keys (0.53 is reached).
"""

PAGES = {
    page.path: page
    for page in (
        Page(PUBLIC_NAMES, stub, lambda text: stub(text) == text),
        Page("proofs/README.md", with_proof_map, lambda text: with_proof_map(text) == text),
        Page("docs/machine_checked.md", with_marks, lambda text: with_marks(text) == text),
        Page(LOSSES, tightness, has_the_rows),
        Page("docs/reference/names.md", lambda _: reference.names(), lambda text: reference.names() == text),
        Page("docs/reference/command.md", lambda _: reference.commands(), lambda text: reference.commands() == text),
    )
}
