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
    """What the package looks like to those who check types: each public name, from the module that defines it."""
    homes = sorted((home, name) for name, home in public_names.HOMES.items())
    lines = ["from .apps import audit as audit", *(_exported(home, name) for home, name in homes)]
    listed = [f'    "{name}",' for name in sorted(public_names.HOMES)]
    return "\n".join([*lines, "", "__version__: str", "", "__all__ = [", *listed, "]"]) + "\n"


def _exported(home: str, name: str) -> str:
    """The line that hands a name on, or the three into which the formatter breaks one that is too long."""
    line = f"from {home} import {name} as {name}"
    return line if len(line) <= _WIDEST else f"from {home} import (\n    {name} as {name},\n)"


SEARCHES: tuple[losses_met.Search, ...] = (few, quantiles, above, above_curve)


def tightness(_: str) -> str:
    """docs/tightness.md: searches for the largest losses, of pairs, of many copies, few that move, and by questions."""
    return shipped.table(verify_all(among=listed())) + sections()


def sections() -> str:
    """What docs/tightness.md has after the table of all constructors."""
    return copies.section() + "".join(map(losses_met.section, SEARCHES)) + OPEN


def with_losses_of(name: str, text: str) -> str:
    """docs/tightness.md with the losses of one constructor searched for anew, and all others as they are."""
    table, mark, rest = text.partition("\n\n## ")
    found = shipped.table(verify_all(among=[example for example in listed() if example.constructor == name]))
    lines = [line for line in table.splitlines() if f"`{name}`" not in line]
    lines += [line for line in found.splitlines() if f"`{name}`" in line]
    places = {shipped.row(example): place for place, example in enumerate(listed())}

    def rank(line: str) -> tuple[str, int]:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        return cells[5], places[tuple(cells[:4])]

    rows = sorted((line for line in lines if line.startswith("| `make_")), key=rank)
    return "\n".join([line for line in lines if not line.startswith("| `make_")] + rows) + mark + rest


def has_the_rows(text: str) -> bool:
    """Whether docs/tightness.md lists today's mechanisms, arguments, measures and claims, whatever was found."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if "`make_" in line]
    rows = [shipped.row(example) for example in listed()]
    same = sorted(tuple(line[:4]) for line in cells) == sorted(rows)
    return (
        text.startswith(shipped.HEADER)
        and same
        and copies.has_the_rows(text)
        and all(losses_met.has_the_rows(search, text) for search in SEARCHES)
        and OPEN in text
    )


def listed() -> list[shipped.Example]:
    """What the page of the losses speaks of."""
    return [example for example in shipped.examples() if shipped.row(example) is not None]


OPEN = """
## What was tried at the loosest maps

With L(x) = x + exp(-x) - 1, and R and a as in the constructors' documentation; r is the range distance over the scale.

- One-shot exponential noise, k >= 2, zCDP: charged is L(k r). No sum over the winners will do: of three candidates with
  scores 0, 0 and -0.05 let the last rise by 0.1. At scale 1 and k = 2 the ranking has a rho of at least 0.01001, while
  2 L(0.1) is 0.00968 and two choices by permute-and-flip cost less still. A winner's noise decides two comparisons.
- The distance utility of canonical sets, k >= 2, pure privacy: epsilon = r is met to a part in 10^4 by e^12 copies, for
  both noises; three or four candidates show 0.62 of it. Under zCDP this family falls short: either sets of one raised
  and one common candidate, which keep their utility, outweigh those that gain, or the best sets those that lose.
- Joint rankings and sets, k = 2, pure privacy: 2 r is approached by many copies. Under zCDP this family falls short:
  releases with two raised candidates keep their utility, and they or the best ones outweigh those that gain.
- Permute-and-flip, one winner after the other: the price adds up the worst of each choice. Of the pairs that the
  climb tried none is the worst for both: without its first winner a pair is another one.
- A set where one score moves tells on which side of a threshold one noisy score lies. Of logistic noise that has the
  range h = d_in / scale: R(h), and h coth(h / 2) - 2 is charged. Where two move, one may be the threshold of the other.
- Logistic noise on several scores: the delta of one of them at epsilon is that of one choice of range h, although the
  range of its losses is 2 h. No bound of a curve states that; their Laplace laws and rhos are composed.
- Winners and counts where one score moves, pure privacy: k r is met. If that score wins, its count is told, and the
  choice which it wins gains what earlier ones lost; the map adds up the worst of both.
- Unknown domain, groups of d_in > 1 with max_items: delta is charged as if n = min(limit, d_in max_items) new keys had
  a lead of D each. Among four keys with counts up to 3, and two users of one key, the sum of exp(lead) of the new keys
  is at most exp(D), where 2 exp(D) is charged: so many users share one key, or each has a key that leads by less.
- Steps that are fixed beforehand, as the members of a composition are, pay the curve of steps that an analyst chooses
  as she goes on. Of k choices of one range, by Dong, Durfee and Rogers' formula for fixed ones (2020), delta is 1.03
  (k = 2) to 1.16 (k = 30) times what is met where it exceeds 1e-9, and epsilon mostly 1.01 and at most 1.05 times. Of
  choices whose ranges differ delta is 1.04 to 1.13 times (1 and 1/4) and 1.16 to 1.37 times (1, 1/2 and 1/4) what
  fixed ones meet on a grid; hardly more is met by an analyst who makes the wide choice first. Both bounds would be
  new curves.
- Above threshold under zCDP: with exponential noise and scores that go one way the best analyst among those above meets
  0.53 (d_in = 1, k = 1) of the rho, and 0.63 at d_in = 0.1; the three scores come from a random search.
  Such noise finds a score at the noisy threshold or above with
  certainty, and with probability exp(-r) for a neighbour: given the noise of the threshold one true answer costs a rho
  of r, so that answers are not charged one by one, as they are with noise on the whole line. For all noises, after m
  true answers the loss lies in an interval of the length m r and that of the threshold, to which a true answer adds u
  below and r - u above, as the question is. A martingale that keeps to it has, for small losses at a fixed order, a rho
  of at most (k (k + 1) r^2 / 2 + k r D / threshold_scale) / 2 where scores go one way, which is no more than the claim,
  and half of it for many answers. At orders that grow as losses shrink no such bound is known.
- Above threshold, curves: with Gumbel or logistic noise all answers are a function of k + 1 independent exponential
  variables, of rate 1 on one of two neighbours and exp(-u) on the other, u = max(D / threshold_scale, r). One has the
  noise of the threshold, of whose two laws one is that of the other moved; given it, -ln P(False) of a question is h on
  one and in [exp(-r) h, h] on the other, and what is asked before the next True tells by which of so many moments
  another variable, or one that is the same on both, has come. So delta is at most P(G <= x) - exp(epsilon) P(G <=
  exp(-u) x), with the gamma law of k + 1 for G and x = ((k + 1) u - epsilon) / (1 - exp(-u)). At delta = 0.1 and u = 1
  that is an epsilon of 1.18 (k = 1) and 1.75 (k = 2), where 1.79 and 2.79 are claimed; at u = 0.05, k = 30 and
  delta = 1e-6 one of 0.89 for 1.27. It would be a new curve, and says nothing of the other noises.
- Quantiles, two levels: quartiles of 1,300 numbers meet epsilon, range and rho to 1 part in 100; 3,900 meet more of the
  rho. Thirds do not: 2/3 is chosen first, and only the rows below it are parted again. A row there moves the scores of
  numbers above itself by half of what another row may. So the first choice costs at most 3 r/4 and the second one r, or
  the first one r, and no other follows it: epsilon is at most 7 r/4, and the range by the same argument at most 5 r/2,
  where 2 r and 3 r are charged. At r = 1 an epsilon of 1.741, a range of 2.494 and 0.62 of the rho are met. The map
  knows the number of levels alone.
- Counts of several users, D > 1, with noise: D users who have the same keys move n counts by D each. The rho of all
  counts is that of these; the curve of Gaussian noise on winners' counts is, too, but for a variance that is less by 16
  (at count_scale = 24 a delta of at most 1.15 times what is met, at 40 of 1.06 times). Found items with Laplace noise
  state their epsilon and rho for D > 1: at delta = 0.05 and scale 10 an epsilon of 0.42 for five users of one key each,
  where 0.40 is met, and of 0.73 for three users of three keys, where 0.53 is.
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
