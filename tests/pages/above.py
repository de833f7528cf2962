"""The largest losses met above a threshold, by analysts who ask what is best after every answer, to the end.

Laws are sums over the noise of the threshold that share no code with the library. Given that noise an answer depends on
its question alone, so that what was answered counts, and not when: the best analyst is found by dynamic programming.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import opendp_topk as tk
from tests.oracles import above as oracle

NOISES = (tk.noise.Gumbel(), tk.noise.Exponential(), tk.noise.HalfLogistic(), tk.noise.Laplace(), tk.noise.Logistic())
MEASURES = (tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence())
_FAR, _FARTHER = 9, 25  # scales: beyond them noise is all but exponential, and an answer hardly depends on nearer ones
_ORDERS = (1.0, 1.5, 2.0, 4.0, 12.0)
Question = tuple[float, float]


@dataclass(frozen=True)
class Talk:
    """How far scores that may be asked for are above the threshold, before and after, and how often at most."""

    noise: str
    k: int
    questions: tuple[Question, ...]
    most: int

    def value(self, end: Callable[[float, float], Any], join: Callable[[Any, Any], Any], best: Any) -> Any:
        """What the best analyst makes of the probabilities at all ends, where ``join`` joins those of two answers."""
        leads = tuple(float(lead) for question in self.questions for lead in question)
        z, weights = oracle._grid(self.noise, leads, 1.0)
        above = [oracle.SURVIVAL[self.noise](z - lead) for lead in leads]
        below = [oracle._distribution(self.noise, z - lead) for lead in leads]
        known: dict[Any, Any] = {}

        def after(asked: tuple[int, ...], left: int, before: Any, moved: Any) -> Any:
            if (asked, left) not in known:
                found = end(float(before @ weights), float(moved @ weights))
                for i in range(len(self.questions) if left and sum(asked) < self.most else 0):
                    no, yes = (
                        after(
                            tuple(n + (j == 2 * i + answer) for j, n in enumerate(asked)),
                            left - answer,
                            before * factors[2 * i],
                            moved * factors[2 * i + 1],
                        )
                        for answer, factors in enumerate((below, above))
                    )
                    found = best(found, join(no, yes))
                known[asked, left] = found
            return known[asked, left]

        return after((0,) * (2 * len(self.questions)), self.k, z**0, z**0)

    def loss(self, measure: tk.Measure) -> float:
        """The largest epsilon, range, or D_alpha / alpha at some orders, of all analysts."""
        if measure == tk.ZeroConcentratedDivergence():
            return max(self._moment(order, way) for order in _ORDERS for way in (1, -1))
        lowest, highest, widest = self.value(_ends, _of_both, _widest)
        return float(max(-lowest, highest) if measure == tk.MaxDivergence() else widest)

    def _moment(self, order: float, way: int) -> float:
        def end(p: float, q: float) -> float:
            p, q = (p, q)[::way]
            if q <= 0:
                return 0.0
            return q * math.log(q / p) if order == 1 else q * (q / p) ** (order - 1)

        found = float(self.value(end, lambda no, yes: no + yes, max))
        return found if order == 1 else math.log(found) / (order - 1) / order


Ends = tuple[float, float, float]


def _ends(p: float, q: float) -> Ends:
    loss = math.log(q / p) if min(p, q) > 0 else 0.0
    return loss, loss, 0.0


def _of_both(no: Ends, yes: Ends) -> Ends:
    """The least and the largest loss, and the largest difference, as the analyst goes on after either answer."""
    low, high = min(no[0], yes[0]), max(no[1], yes[1])
    return low, high, max(no[2], yes[2], no[1] - yes[0], yes[1] - no[0])


def _widest(one: Ends, other: Ends) -> Ends:
    return min(one[0], other[0]), max(one[1], other[1]), max(one[2], other[2])


@dataclass(frozen=True)
class Case:
    """A measurement, and what is asked for."""

    made: tk.Measurement
    talk: Talk

    @property
    def claimed(self) -> float:
        """What the map claims at d_in = 1."""
        return float(self.made.map(1))

    @property
    def start(self) -> str:
        """The columns that no search decides."""
        way = f"monotonic={self.made.input_metric.monotonic}"
        told = f"k={self.talk.k}, noise={self.talk.noise}(), {way}"
        return f"| make_above_threshold | {told} | {type(self.made.output_measure).__name__} | {self.claimed:.6g} |"

    def largest(self) -> float:
        """The largest loss met."""
        return self.talk.loss(self.made.output_measure)


def cases() -> Iterator[Case]:
    """Every noise and measure for scores that go one way, exponential noise for others."""
    for noise, k, measure in itertools.product(NOISES, (1, 2), MEASURES):
        yield _case(noise, k, measure, monotonic=True)
    for k, measure in itertools.product((1, 2), MEASURES):
        yield _case(tk.noise.Exponential(), k, measure, monotonic=False)


def _case(noise: Any, k: int, measure: tk.Measure, *, monotonic: bool) -> Case:
    space = tk.VectorDomain(tk.AtomDomain(float)), tk.LInfDistance(monotonic=monotonic), measure
    made = tk.make_above_threshold(*space, threshold=0, scale=1, noise=noise, k=k)
    up, down = 1, 0 if monotonic else -1
    questions: tuple[Question, ...]
    if measure == tk.ZeroConcentratedDivergence() and noise == tk.noise.Exponential():
        questions, most = ((0.5, 0.5 + up), (0.5, 0.5 + down), (-0.25, up - 0.25)), 9 - k  # the best of a random search
    elif measure == tk.ZeroConcentratedDivergence():
        questions, most = ((0, up), (0, down)), 8 if k == 1 else 6
    elif monotonic:
        questions, most = ((0, 0), (-_FAR, 1 - _FAR), (_FAR, _FAR + 1), (-_FAR, -_FAR)), 2 * k + 5
    else:
        questions, most = ((2, 1), (-1, 0), (_FARTHER, _FARTHER + 1), (0, -1)), k + 3
    return Case(made, Talk(noise.name, k, questions, most))


HEADER = """
## Conversations about a threshold

The largest loss against adaptive analysts, with d_in = 1 and scale = threshold_scale = 1. Dynamic programming finds
the best analyst among all that ask up to nine queries about two to four scores. The epsilon is the exact supremum for
every noise, and so is the range if all scores move in one direction (proofs/measurements/above_threshold.tex).
"""
