"""Which races take longer than those with more scores or winners: ``python -m tests.benchmarks.sweep_races``.

Each noise, as a ranking and as a set, is timed over grids of sizes, winners, scales and shapes of scores that are
finer than those of ``sweep``: what sticks out here takes milliseconds. A case is listed if it takes ``--factor`` times
as long as a neighbour that asks for more, or so many times what a neighbour that asks for less lets expect.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from typing import Any

import numpy as np

import opendp_topk as tk

from . import sweep
from .grid import Case, Grid
from .shapes import SHAPES, shapes
from .timing import readable, thread

GRID = Grid(
    size=(10**4, 2 * 10**4, 5 * 10**4, 10**5, 2 * 10**5, 5 * 10**5, 10**6),
    winners=(1, 10, 30, 100, 300, 1000, 3000),
    scale=(0.1, 10.0, 1000.0),
)
TURNS = 3
NOISES = {
    "gumbel": tk.Gumbel(),
    "exponential": tk.Exponential(),
    "laplace": tk.Laplace(),
    "logistic": tk.Logistic(),
    "half-logistic": tk.HalfLogistic(),
}

_FURTHER = ("logarithmic", "two levels", "large")


def found(noises: list[str], factor: float) -> dict[Case, float]:
    """The times of all cases, and of those that stick out once more: other programs disturb a few of so many."""
    races = [f"{noise}, {release}" for noise in noises for release in ("ranking", "set")]
    times = {case: seconds(case) for case in GRID.cases(races, (*SHAPES, *_FURTHER))}
    for case in [case for case, _, _ in humps(times, factor)]:
        times[case] = min(times[case], seconds(case))
    return times


def seconds(case: Case) -> float:
    """The median time of a release, after one that builds what is kept."""
    x, (noise, release) = _scores(case.size)[case.shape], case.mechanism.split(", ")
    space = tk.VectorDomain(tk.AtomDomain(float if x.dtype.kind == "f" else int)), tk.LInfDistance(monotonic=True)
    options: dict[str, Any] = {"k": case.winners, "scale": case.scale, "noise": NOISES[noise], "release": release}
    measurement = space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), **options)
    measurement(x)
    timed = thread(partial(measurement, x))
    return statistics.median(timed() for _ in range(TURNS))


@lru_cache(maxsize=1)
def _scores(d: int) -> dict[str, Any]:
    draw = np.random.default_rng(d)
    further = {name: sweep.SHAPES[name](draw, d) for name in _FURTHER}
    return dict(shapes(d)) | further


def humps(times: Mapping[Case, float], factor: float) -> list[tuple[Case, Case, float]]:
    """Cases that take ``factor`` times what a neighbour's time lets expect, with it and how many times, worst first."""
    chosen = []
    for case, taken in times.items():
        other, ratio = max(
            ((one, taken / allowed) for one, allowed in _expected(case, times)), key=lambda pair: pair[1]
        )
        if ratio > factor:
            chosen.append((case, other, ratio))
    return sorted(chosen, key=lambda entry: -entry[2])


def _expected(case: Case, times: Mapping[Case, float]) -> Iterator[tuple[Case, float]]:
    """Neighbours, and how long the case may take by the time of each: as long, or longer as it asks for more."""
    for other in GRID.neighbours(case, "size", "winners"):
        if other in times:
            more = max(case.size / other.size, case.winners / other.winners)
            yield other, times[other] * max(1.0, more)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.sweep_races", description=__doc__)
    parser.add_argument("noises", nargs="*", default=list(NOISES), metavar="noise")
    parser.add_argument("--factor", type=float, default=3.0, help="times what a neighbour lets expect")
    options = parser.parse_args()
    times = found(options.noises, options.factor)
    slowest = max(times, key=lambda case: times[case])
    print(f"{len(times)} cases, the slowest {readable(times[slowest])}: {slowest}")
    for case, other, ratio in humps(times, options.factor):
        print(f"  {readable(times[case])}: {case}: {ratio:.1f} times what this lets expect: {other}")


if __name__ == "__main__":
    main()
