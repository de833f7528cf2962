"""Which events to test: those by which the two samples differ most, chosen on samples that are not used again.

Whatever is chosen here, the bounds that follow are valid; a bad choice only makes them weak.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...spaces.measures import Approximate, Measure, RangeDivergence, ZeroConcentratedDivergence
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
    met = dict.fromkeys((*first, *second))  # in the order of the samples: a set's may differ from run to run
    cells = sorted(met, key=lambda cell: (first[cell] + 0.5) / (second[cell] + 0.5), reverse=True)
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
