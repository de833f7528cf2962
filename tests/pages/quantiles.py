"""The largest losses of quantiles of many numbers, by sums over all places that share no code with the library.

Numbers that nobody has, between two that some have, are as likely as each other. A thousand of them outweigh the
numbers with rows, whose scores a row more does not move, and their share decides how much of a choice gains and loses.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

import opendp_topk as tk

_MANY = 600
_ROWS = 21  # below the likeliest numbers: what is unlikely at the first choice is nearly certain at the second
Block = tuple[int, int]  # a number with so many rows, and after it so many numbers with none
Losses = tuple[float, float, float, float]
"""The least and the largest loss of the table with a row more, and the mean losses of both tables."""


def pair(blocks: Sequence[Block], others: Sequence[Block]) -> tuple[Any, Any]:
    """Rows of each number, and with a row more at the first number of ``others``."""
    counts = [n for rows, empty in (*blocks, *others) for n in (rows, *[0] * empty)]
    before, after = np.array(counts), np.array(counts)
    after[sum(1 + empty for _, empty in blocks)] += 1
    return before, after


def one_choice(rows: Any, share: Fraction) -> Any:
    """The logarithms of the probabilities of all places, at scale 1."""
    aim, below = float(share), np.append(0, np.cumsum(rows)[:-1])
    above = rows.sum() - below - rows
    excess = np.maximum(below - aim * rows.sum(), above - (1 - aim) * rows.sum()).clip(0)
    logs = -excess / (2 * max(aim, 1 - aim))
    return logs - math.log(np.exp(logs).sum())  # the best score is 0


def losses(before: Any, after: Any, quantiles: Sequence[Fraction]) -> Losses:
    """Of all choices together: those that follow a choice are independent of each other."""
    if not quantiles or np.array_equal(before, after):
        return 0.0, 0.0, 0.0, 0.0
    middle = len(quantiles) // 2
    share = quantiles[middle]
    lower = [one / share for one in quantiles[:middle]]
    upper = [(one - share) / (1 - share) for one in quantiles[middle + 1 :]]
    p, q = one_choice(before, share), one_choice(after, share)
    later = np.zeros((len(p), 4))
    for place in range(len(p) if lower or upper else 0):
        left = [np.append(rows[:place], 0) for rows in (before, after)]
        later[place] = np.add(losses(*left, lower), losses(before[place:], after[place:], upper))
    own = q - p
    least, most, here, there = later.T
    return (own + least).min(), (own + most).max(), np.exp(p) @ (here - own), np.exp(q) @ (there + own)


@dataclass(frozen=True)
class Case:
    """A measurement of quantiles, with one place a number, and neighbours that lose much."""

    quantiles: tuple[Fraction, ...]
    measure: tk.Measure
    neighbours: tuple[Any, Any]

    @property
    def made(self) -> tk.Measurement:
        """What makes the claim."""
        space = tk.VectorDomain(tk.AtomDomain(int), size=len(self.neighbours[0])), tk.L1Distance(), self.measure
        return tk.make_quantiles(*space, quantiles=self.quantiles, scale=1, places=1)

    @property
    def claimed(self) -> float:
        """What the map claims at d_in = 1."""
        return float(self.made.map(1))

    @property
    def start(self) -> str:
        """The columns that no search decides."""
        told = ", ".join(map(str, self.quantiles))
        return f"| make_quantiles | quantiles {told} | {type(self.measure).__name__} | {self.claimed:.6g} |"

    def largest(self) -> float:
        """The loss of the neighbours under the measure; of zCDP that of orders near 1."""
        least, most, here, there = losses(*self.neighbours, self.quantiles)
        found = {
            tk.MaxDivergence(): max(most, -least),
            tk.RangeDivergence(): most - least,
            tk.ZeroConcentratedDivergence(): max(here, there),
        }
        return float(found[self.measure])


def cases() -> Iterator[Case]:
    """One quantile, two levels of equal parts, and two levels of others, each with its neighbours for each measure."""
    pure, width, rho = tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence()
    half = (Fraction(1, 2),)
    rare = pair([(0, 2 * _MANY), (1, 0)], [(0, 0)])
    yield Case(half, pure, rare)
    yield Case(half, width, rare)
    yield Case(half, rho, pair([(0, 700), (1, 500)], [(0, 0)]))

    quarters, n = tuple(Fraction(i, 4) for i in (1, 2, 3)), _ROWS // 2

    def second_half(a: int, b: int, c: int, d: int, e: int) -> tuple[Any, Any]:
        """Empty numbers before and after the middle, and before, in and after the middle of the rows that follow."""
        return pair([(_ROWS, a), (1, b), (n - 1, c), (1, d), (1, e), (n - 1, 0)], [(0, 0)])

    rare = second_half(_MANY, 1, 1, _MANY, 1)
    yield Case(quarters, pure, rare)
    yield Case(quarters, width, rare)
    yield Case(quarters, rho, second_half(259, 508, 213, 55, 265))  # the best of a random climb

    thirds = Fraction(1, 3), Fraction(2, 3)
    yield Case(thirds, pure, pair([(n, _MANY), (1, 1), (n - 1, _MANY)], [(0, 1), (n + 1, 0)]))
    for measure, (a, b, c, d, e) in ((width, (1, _MANY, 1, _MANY, _MANY)), (rho, (201, 49, 245, 287, 317))):
        blocks = [(n - 1, a), (1, b), (1, c), (n - 1, d), (1, e), (n, 0)]
        yield Case(thirds, measure, pair([], [(0, 0), *blocks]))


HEADER = """
## Quantiles of many numbers

The largest loss found if one row is added to a table of up to 1,800 numbers, most of them without rows, at scale 1 and
with places=1. It is a sum over all choices that shares no code with the library. For one quantile and for quartiles
all three claims are tight to 1 part in 100; for thirds they are not ([why](#what-was-tried-at-the-loosest-maps)).
"""
