"""Which events to test: those by which the two samples differ most, chosen on samples that are not used again.

Whatever is chosen here, the bounds that follow are valid; a bad choice only makes them weak.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..spaces.measures import Approximate, Measure, RangeDivergence, ZeroConcentratedDivergence
from .bounds import ORDERS, renyi_of_two

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Choice:
    """Events for a bound. ``swapped``: the loss runs from the neighbour to the input.

    ``high`` is more likely under the first distribution, ``low`` under the second; ``order`` is the order of the
    Renyi divergence.
    """

    swapped: bool
    high: frozenset[Hashable]
    low: frozenset[Hashable]
    order: float


class Cells:
    """A map from outcomes to cells: floats are cut at quantiles of the samples, all else is kept, NaN too.

    Where a place holds few different floats, each is a cell of its own.
    """

    def __init__(self, outcomes: Sequence[Hashable]) -> None:
        places: dict[int, list[float]] = {}
        for outcome in outcomes:
            for i, leaf in enumerate(_leaves(outcome)):
                if isinstance(leaf, float):
                    places.setdefault(i, []).append(leaf)
        count = 64 if len(places) <= 1 else int(max(2.0, min(64.0, (len(outcomes) / 100) ** (1 / len(places)))))
        self._cuts = {i: _cuts([leaf for leaf in leaves if leaf == leaf], count) for i, leaves in places.items()}

    def __call__(self, outcome: Hashable) -> Hashable:
        if not self._cuts:
            return outcome
        return tuple(
            (bisect_left(self._cuts[i], leaf) if leaf == leaf else None,)
            if isinstance(leaf, float) and i in self._cuts
            else leaf
            for i, leaf in enumerate(_leaves(outcome))
        )


def _cuts(values: list[float], count: int) -> list[float]:
    """At most ``count`` ends of cells; a cell reaches from the end before it, exclusive, to its own."""
    ends = np.unique(values)
    if len(ends) > count:
        ends = np.unique(np.quantile(values, np.arange(1, count) / count, method="nearest"))
    return [float(end) for end in ends]


def choose(
    measure: Measure, delta: float, first: Counter[Hashable], second: Counter[Hashable], z: float
) -> tuple[float, Choice]:
    """The largest loss that events show, ``z`` standard errors to the safe side, and these events."""
    plain = _best(measure, delta, first, second, z)
    swapped = _best(measure, delta, second, first, z)
    swap = swapped[0] > plain[0]
    loss, choice = swapped if swap else plain
    return loss, replace(choice, swapped=swap)


def _best(
    measure: Measure, delta: float, first: Counter[Hashable], second: Counter[Hashable], z: float
) -> tuple[float, Choice]:
    n = first.total(), second.total()
    cells = sorted(set(first) | set(second), key=lambda cell: (first[cell] + 0.5) / (second[cell] + 0.5), reverse=True)
    likely = np.cumsum([first[cell] for cell in cells])
    rare = np.cumsum([second[cell] for cell in cells])
    with np.errstate(divide="ignore", invalid="ignore"):
        p, q = _below(likely, n[0], z), _above(rare, n[1], z)
        if isinstance(measure, Approximate):
            p = p - delta
        heads = np.nan_to_num(np.log(np.maximum(p, 0) / q), nan=-np.inf)
        top, order = int(np.argmax(heads)), 0.0
        loss, low = float(heads[top]), 0
        if isinstance(measure, RangeDivergence):
            tails = np.log(_below(n[1] - rare, n[1], z) / _above(n[0] - likely, n[0], z))
            low = int(np.argmax(np.nan_to_num(tails, nan=-np.inf)))
            loss += float(tails[low])
        elif isinstance(measure, ZeroConcentratedDivergence):
            table = np.array([renyi_of_two(np.maximum(p, 0), q, alpha) / alpha for alpha in ORDERS])
            table = np.where(p > q, np.nan_to_num(table, nan=-np.inf), -np.inf)
            best, top = divmod(int(np.argmax(table)), len(cells))
            order, loss = ORDERS[best], float(table[best, top])
    return loss, Choice(False, frozenset(cells[: top + 1]), frozenset(cells[low + 1 :]), order)


def _below(hits: NDArray[Any], trials: int, z: float) -> Floats:
    return _wilson(hits, trials, z)[0]


def _above(hits: NDArray[Any], trials: int, z: float) -> Floats:
    return _wilson(hits, trials, z)[1]


def _wilson(hits: NDArray[Any], trials: int, z: float) -> tuple[Floats, Floats]:
    p, square = hits / trials, z * z / trials
    middle = (p + square / 2) / (1 + square)
    width = z * np.sqrt(p * (1 - p) / trials + square / (4 * trials)) / (1 + square)
    return np.maximum(middle - width, 0), np.minimum(middle + width, 1)


def _leaves(outcome: Any) -> tuple[Any, ...]:
    if not isinstance(outcome, tuple):
        return (outcome,)
    return tuple(leaf for part in outcome for leaf in _leaves(part))
