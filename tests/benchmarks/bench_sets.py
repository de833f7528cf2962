"""Releases that look at the order of scores, and those of many winners, against a plain sort of the same scores.

Run it alone with ``python -m tests.benchmarks.bench_sets``.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import opendp_topk as tk

from . import shapes, sweep
from .bench import Bench, Goal, measured, printed
from .timing import thread

_MOST = {300: 0.3, 1000: 1.0, 5000: 5.0}  # seconds that a joint set or ranking of so many winners may take
_SLOWEST = (  # as ``sweep`` finds them among 200,000 scores
    ("joint set", "Zipf", 300, 1.0),
    ("joint set", "Zipf", 1000, 0.1),
    ("joint set", "Zipf", 5000, 0.01),
    ("joint ranking", "normal", 300, 0.1),
    ("joint ranking", "logarithmic", 1000, 0.1),
    ("joint ranking", "normal", 5000, 0.01),
)


def benches() -> Iterator[Bench]:
    """All of them."""
    yield from against_sort()
    yield from many_winners()
    yield from gaps()


def against_sort(d: int = 10**6, k: int = 10) -> Iterator[Bench]:
    """Canonical and joint releases at scale 10."""
    for shape, x in shapes.shapes(d):
        for mechanism in ("canonical", "joint set", "joint ranking"):
            yield _bench(mechanism, shape, x, k, 10.0, 15, Goal(1.5, "np.sort"))


def many_winners(d: int = 2 * 10**5) -> Iterator[Bench]:
    """Joint sets and rankings, where they take longest."""
    for mechanism, shape, k, scale in _SLOWEST:
        x = sweep.SHAPES[shape](np.random.default_rng(1), d)
        yield _bench(mechanism, shape, x, k, scale, 3, Goal(_MOST[k]))


def gaps(d: int = 2 * 10**5, k: int = 5000) -> Iterator[Bench]:
    """Rankings with the gaps between neighbours."""
    for shape in ("uniform", "equal", "Zipf, shuffled"):
        yield _bench("gaps", shape, shapes.scores(shape, d), k, 10.0, 5, Goal(0.2))


def _bench(mechanism: str, shape: str, x: Any, k: int, scale: float, turns: int, goal: Goal) -> Bench:
    space = tk.VectorDomain(tk.AtomDomain(float)), tk.LInfDistance(monotonic=True)
    measurement = space >> sweep.MECHANISMS[mechanism](tk.MaxDivergence(), k, scale)
    name = f"{mechanism}, {shape}, d = {len(x)}, k = {k}" + (f", scale {scale:g}" if scale != 10 else "")
    return Bench(name, thread(partial(measurement, x)), {"np.sort": thread(partial(np.sort, x))}, turns, goal)


if __name__ == "__main__":
    list(printed(measured(benches(), {})))
