"""Top-k of counts by key up to a stop symbol, by its definition: laws in float64, and deltas.

Nothing here is taken from the library. Gaps between scores in units of the scale must be multiples of a half.
"""

import functools
import itertools
import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import floats

STOP = None
Counts = tuple[int, ...]
Law = dict[Hashable, float]


@dataclass(frozen=True)
class Setting:
    """k winners among the ``limit`` best keys, with a stop symbol of score ``threshold``.

    The fields that follow plant faults: dummies left out, keys of one count in the order of all that the data have, or
    as many slots as the data have keys.
    """

    noise: str
    k: int
    limit: int
    tau: float
    threshold: float
    dummies: bool = True
    order_by_data: bool = False
    limit_of_data: bool = False

    def slots(self, h: Counts) -> tuple[list[int | None], list[int]]:
        """Names and scores of the slots but for the stop symbol; keys are places in ``h``."""
        present = [i for i in range(len(h)) if h[i] > 0]
        limit = max(1, len(present) - 1) if self.limit_of_data else self.limit
        ranked = sorted(present, key=lambda i: (-h[i], sum(h) % 2 * -i if self.order_by_data else i))
        base = h[ranked[limit]] if len(ranked) > limit else 0
        missing = limit - len(ranked[:limit]) if self.dummies else 0
        return [*ranked[:limit], *[STOP] * missing], [h[i] - base for i in ranked[:limit]] + [0] * missing


@functools.cache
def law(setting: Setting, h: Counts) -> Mapping[Hashable, float]:
    """Probabilities of (keys, stopped)."""
    names, scores = setting.slots(h)
    return _up_to_stop(setting, [*names, STOP], [s / setting.tau for s in [*scores, setting.threshold]])


def conditional(setting: Setting, h: Counts, other: Counts) -> Mapping[Hashable, float]:
    """The law on ``h`` given that the stop symbol beats every slot that ``other`` has not; for Gumbel noise."""
    names, scores = setting.slots(h)
    theirs = list(setting.slots(other)[0])
    kept, weight = [], math.exp(setting.threshold / setting.tau)
    for name, score in zip(names, scores, strict=True):
        if name in theirs:
            theirs.remove(name)
            kept.append((name, score / setting.tau))
        else:
            weight += math.exp(score / setting.tau)
    return _up_to_stop(setting, [*(name for name, _ in kept), STOP], [*(s for _, s in kept), math.log(weight)])


def _up_to_stop(setting: Setting, names: list[int | None], units: list[float]) -> Law:
    k = min(setting.k, len(units))
    if setting.noise == "Gumbel":
        masses = floats.peeled(floats.softmax, np.array([units]), k)[0]
    else:
        masses = floats.one_shot(setting.noise, np.array([units]), k)[0]
    found: Law = {}
    for ranking, mass in zip(itertools.permutations(range(len(units)), k), masses.tolist(), strict=True):
        keys = tuple(itertools.takewhile(lambda name: name is not STOP, (names[i] for i in ranking)))
        outcome = keys, len(keys) < setting.k
        found[outcome] = found.get(outcome, 0.0) + mass
    return found


def delta(noise: str, n: int, lead: float) -> float:
    """How likely one of n scores, behind the stop symbol by ``lead`` scales, beats it."""
    if noise == "Gumbel":
        return n / (n + math.exp(lead))
    nodes, masses = np.polynomial.legendre.leggauss(n // 2 + 2)
    end = min(1.0, math.exp(lead))
    u = end * (nodes + 1) / 2
    return 1 - float(((1 - math.exp(-lead) * u) ** n * masses).sum() * end / 2)


def excess(first: Mapping[Any, float], second: Mapping[Any, float], epsilon: float) -> float:
    """The mass that e^epsilon times the other law does not cover, in the worse direction."""
    factor, both = math.exp(epsilon), set(first) | set(second)
    pairs = [(first.get(y, 0.0), second.get(y, 0.0)) for y in both]
    return max(sum(max(0.0, p - factor * q) for p, q in pairs), sum(max(0.0, q - factor * p) for p, q in pairs))


def renyi(first: Mapping[Any, float], second: Mapping[Any, float], order: float) -> float:
    """D_order / order, in the worse direction."""
    assert set(first) == set(second)
    moments = [
        math.fsum(b[y] * (a[y] / b[y]) ** order for y in a if b[y] > 0) for a, b in ((first, second), (second, first))
    ]
    return math.log(max(moments)) / (order - 1) / order


def moves(most: int, kind: str, size: int, each: int = 1) -> list[tuple[int, ...]]:
    """What one user changes: joining or leaving with up to ``each`` at ``most`` keys, or one replaced by another."""
    ups = [up for up in itertools.product(range(each + 1), repeat=size) if size - up.count(0) <= most]
    if kind == "add_remove":
        return ups
    return sorted({tuple(a - b for a, b in zip(up, down, strict=True)) for up in ups for down in ups})
