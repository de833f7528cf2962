"""Which parameters take much longer than neighbouring ones: ``python -m tests.benchmarks.sweep``.

Every selection is timed over grids of sizes, winners, scales and shapes of scores, in a process that is ended where a
call reaches a limit. A case is listed if it takes ``--factor`` times the slowest of its neighbours, who differ in one
parameter by one step, or reaches the limit; the slowest case of each mechanism is listed anyway. So is a case that
takes ``--median`` times the median of its cell, the cases with as many scores and winners, over all shapes and scales;
how many times the most is, is said of each mechanism, leaving out what takes less than 20 ms.

``--quantiles`` prints a table for each mechanism instead: by numbers of scores and winners, both of which are public,
the median, the 90 % quantile and the largest time over all shapes and scales. A deadline for ``make_padded`` is chosen
from such a table, made on the machine that will release, and not from the data.
"""

import argparse
import itertools
import multiprocessing
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np

import opendp_topk as tk

from .timing import readable

SIZES = (10, 100, 1000, 10**4, 10**5)
WINNERS = (1, 3, 10, 30, 100, 300, 1000)
SCALES = (1e-6, 1e-3, 1e-2, 0.1, 1.0, 10.0, 1e3, 1e6)
BATCH = 100  # releases in one call of a mechanism that is a batch
WORTH = 0.02  # seconds; what takes less does not stick out
Make = Callable[[tk.Measure, int, float], Any]


class Case(NamedTuple):
    """Scores of a shape, ``size`` of them, and a release of ``winners`` of them at a scale."""

    mechanism: str
    shape: str
    size: int
    winners: int
    scale: float

    def __str__(self) -> str:
        return f"{self.mechanism}, {self.shape}, d = {self.size}, k = {self.winners}, scale {self.scale:g}"


class Grid(NamedTuple):
    """The numbers that are tried, each in increasing order; its fields are named as those of a case."""

    size: tuple[int, ...]
    winners: tuple[int, ...]
    scale: tuple[float, ...]

    def cases(self, mechanisms: Iterable[str], shapes: Iterable[str]) -> Iterator[Case]:
        """All cases in which not all candidates win, those of few scores first."""
        for size, mechanism, shape, winners, scale in itertools.product(
            self.size, mechanisms, shapes, self.winners, self.scale
        ):
            if winners < size:
                yield Case(mechanism, shape, size, winners, scale)

    def neighbours(self, case: Case, *fields: str) -> Iterator[Case]:
        """The cases that differ in one of these numbers by one step."""
        for field in fields:
            grid, here = getattr(self, field), getattr(self, field).index(getattr(case, field))
            for there in (here - 1, here + 1):
                if 0 <= there < len(grid):
                    yield case._replace(**{field: grid[there]})


def _lipschitz(noise: Any) -> Make:
    return lambda measure, k, scale: tk.then_report_noisy_top_k(measure, k=k, scale=scale, noise=noise)


def _batch(make: Make) -> Make:
    return lambda measure, k, scale: _Repeated(make(measure, k, scale))


class _Repeated(NamedTuple):
    """What completes a space by a measurement that is made of it, many times in one call."""

    once: Any

    def __rrshift__(self, space: Any) -> tk.Measurement:
        return tk.make_repeat(space >> self.once, times=BATCH)


MECHANISMS: dict[str, Make] = {
    "gumbel": lambda measure, k, scale: tk.then_report_noisy_top_k(tk.RangeDivergence(), k=k, scale=scale),
    "exponential": lambda measure, k, scale: tk.then_report_noisy_top_k(measure, k=k, scale=scale),
    "laplace": _lipschitz(tk.noise.Laplace()),
    "logistic": _lipschitz(tk.noise.Logistic()),
    "half-logistic": _lipschitz(tk.noise.HalfLogistic()),
    "gaps": lambda measure, k, scale: tk.then_noisy_top_k_with_gaps(measure, k=k, scale=scale),
    "peeled exponential": lambda measure, k, scale: tk.then_peeled_top_k(
        measure, k=k, scale=scale, mechanism="exponential"
    ),
    "peeled permute-and-flip": lambda measure, k, scale: tk.then_peeled_top_k(
        measure, k=k, scale=scale, mechanism="permute_and_flip"
    ),
    "canonical": lambda measure, k, scale: tk.then_canonical_top_k(measure, k=k, scale=scale, noise=tk.noise.Gumbel()),
    "canonical exponential": lambda measure, k, scale: tk.then_canonical_top_k(
        measure, k=k, scale=scale, noise=tk.noise.Exponential()
    ),
    "joint ranking": lambda measure, k, scale: tk.then_joint_top_k(measure, k=k, scale=scale),
    "joint set": lambda measure, k, scale: tk.then_joint_top_k(measure, k=k, scale=scale, release="set"),
    "select then count": lambda measure, k, scale: tk.then_select_then_count(measure, k=k, scale=scale),
    "batch of rankings": _batch(lambda measure, k, scale: tk.then_report_noisy_top_k(measure, k=k, scale=scale)),
    "batch of gumbels": _batch(
        lambda measure, k, scale: tk.then_report_noisy_top_k(tk.RangeDivergence(), k=k, scale=scale)
    ),
    "batch of joint sets": _batch(
        lambda measure, k, scale: tk.then_joint_top_k(measure, k=k, scale=scale, release="set")
    ),
}
SHAPES: dict[str, Callable[[Any, int], Any]] = {
    "uniform": lambda draw, d: draw.uniform(0, 1000, d),
    "integers": lambda draw, d: draw.integers(0, 1000, d),
    "normal": lambda draw, d: draw.normal(0, 100, d),
    "Zipf": lambda draw, d: draw.permutation(1e5 / np.arange(1, d + 1)),
    "logarithmic": lambda draw, d: -100 * np.log(np.arange(1.0, d + 1)),
    "equal": lambda draw, d: np.zeros(d),
    "one peak": lambda draw, d: np.append(np.zeros(d - 1), 1e6),
    "two levels": lambda draw, d: np.repeat([0.0, 1000.0], (d - d // 2, d // 2)),
    "large": lambda draw, d: draw.integers(2**61, 2**62, d),
}


def duration(case: Case) -> float:
    """The processor time of one release."""
    scores = _scores(case.shape, case.size)
    if case.mechanism == "select then count":
        scores = np.rint(scores).astype(np.int64)
    space = tk.VectorDomain(tk.AtomDomain(float if scores.dtype.kind == "f" else int)), tk.LInfDistance(monotonic=True)
    measurement = space >> MECHANISMS[case.mechanism](tk.MaxDivergence(), case.winners, case.scale)
    start = time.process_time()
    measurement(scores)
    return time.process_time() - start


@lru_cache(maxsize=len(SHAPES))
def _scores(shape: str, size: int) -> Any:
    return SHAPES[shape](np.random.default_rng(size), size)


def _serve(connection: Connection) -> None:
    connection.send(0.0)  # all is imported
    while True:
        try:
            case = connection.recv()
        except EOFError:
            return
        connection.send(duration(case))


class Worker:
    """A process that times cases; one that takes too long is ended, and another one goes on."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")  # which holds no end but its own, and ends with us
        self._connection, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other,), daemon=True)
        self._process.start()
        other.close()
        self._connection.recv()

    def seconds(self, case: Case) -> float:
        """How long the case took, or the limit; the middle of three where it is long enough to stick out.

        The limit is of time that passes, so that a busy machine alone may reach it once.
        """
        first = self._once(case)
        return first if first < WORTH else sorted([first, self._once(case), self._once(case)])[1]

    def _once(self, case: Case) -> float:
        self._connection.send(case)
        if self._connection.poll(self.limit):
            return float(self._connection.recv())
        self.end()
        self._start()
        return self.limit

    def end(self) -> None:
        self._process.kill()
        self._process.join()


def conspicuous(found: Mapping[Case, float], grid: Grid, factor: float, limit: float) -> list[Case]:
    """The cases that reach the limit, or take ``factor`` times the slowest neighbour."""
    chosen = []
    for case, taken in found.items():
        others = [found[one] for one in grid.neighbours(case, *Grid._fields) if one in found]
        if taken >= limit or taken > max(WORTH, factor * max(others, default=taken)):
            chosen.append(case)
    return sorted(chosen, key=lambda case: -found[case])


def cells(found: Mapping[Case, float]) -> dict[tuple[int, int], list[float]]:
    """The times for each number of scores and of winners, ascending."""
    times: dict[tuple[int, int], list[float]] = {}
    for case, taken in found.items():
        times.setdefault((case.size, case.winners), []).append(taken)
    return {cell: sorted(values) for cell, values in times.items()}


def above_median(found: Mapping[Case, float], factor: float) -> list[tuple[Case, float]]:
    """The cases that take more than ``factor`` times the median of their cell, worst first, with how many times."""
    medians = {cell: statistics.median(times) for cell, times in cells(found).items()}
    ratios = [(case, taken / medians[case.size, case.winners]) for case, taken in found.items() if taken >= WORTH]
    return sorted([pair for pair in ratios if pair[1] > factor], key=lambda pair: -pair[1])


def table(found: Mapping[Case, float]) -> str:
    """The quantiles of the times of each cell, as a table."""
    rows = ["| scores | winners | median | 90 % | largest |", "| --: | --: | --: | --: | --: |"]
    for (size, winners), times in sorted(cells(found).items()):
        shown = (readable(times[int(share * (len(times) - 1))]) for share in (0.5, 0.9, 1.0))
        rows.append(f"| {size:,} | {winners:,} | {' | '.join(shown)} |")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.sweep", description=__doc__)
    parser.add_argument("mechanisms", nargs="*", default=list(MECHANISMS), metavar="mechanism")
    parser.add_argument("--limit", type=float, default=5.0, help="seconds for one call")
    parser.add_argument("--factor", type=float, default=4.0, help="times the slowest neighbour")
    parser.add_argument("--median", type=float, default=20.0, help="times the median of as many scores and winners")
    parser.add_argument("--quantiles", action="store_true", help="print a table of times by public sizes instead")
    parser.add_argument("--every", type=int, default=1, help="of so many cases, time one, for a first look")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of scores")
    parser.add_argument("--winners", type=int, nargs="+", default=WINNERS, help="numbers of winners")
    options = parser.parse_args()
    grid, worker = Grid(tuple(options.sizes), tuple(options.winners), SCALES), Worker(options.limit)
    for mechanism in options.mechanisms:
        chosen = itertools.islice(grid.cases([mechanism], SHAPES), 0, None, options.every)
        found = {case: worker.seconds(case) for case in chosen}
        if options.quantiles:
            print(f"{mechanism}\n\n{table(found)}\n", flush=True)
            continue
        slowest = max(found, key=lambda case: found[case])
        most = max([ratio for _, ratio in above_median(found, 0)], default=1.0)
        middle = readable(statistics.median(found.values()))
        print(
            f"{mechanism}: {len(found)} cases, median {middle}, at most {most:.1f} times that of their cell", flush=True
        )
        print(f"  {readable(found[slowest])}: {slowest}: the slowest", flush=True)
        for case in conspicuous(found, grid, options.factor, options.limit):
            print(f"  {readable(found[case])}: {case}", flush=True)
        for case, ratio in above_median(found, options.median):
            print(f"  {readable(found[case])}: {case}: {ratio:.0f} times the median", flush=True)
    worker.end()


if __name__ == "__main__":
    main()
