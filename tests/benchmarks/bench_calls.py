"""What a call costs that has next to nothing to compute, and what a process costs that imports the library.

Run it alone with ``python -m tests.benchmarks.bench_calls``.
"""

import subprocess
import sys
from collections.abc import Iterator
from functools import partial

import numpy as np

import opendp_topk as tk

from .bench import Bench, Goal, measured, printed
from .shapes import ranking
from .timing import thread, wall

_CALLS = 200
_MANY_QUERIES = 2000


def benches() -> Iterator[Bench]:
    """All of them."""
    yield from small()
    yield from talks()
    yield from starts()


def small() -> Iterator[Bench]:
    """One release, a map and a constructor; in turns with a sort of ten numbers, which no change of ours touches."""
    unit = {"np.sort of ten": thread(partial(np.sort, np.arange(10)[::-1]), _CALLS)}
    for d in (10, 100):
        x = np.arange(d)
        measurement = ranking(x, 3, 1.0)
        calls = {
            "one call": (partial(measurement, x), 25e-6),
            "a map": (partial(measurement.map, 1), 5e-6),
            "a constructor": (partial(ranking, x, 3, 1.0), 60e-6),
        }
        for name, (call, most) in calls.items():
            yield Bench(f"{name}, d = {d}, k = 3", thread(call, _CALLS), unit, 15, Goal(most))


def talks() -> Iterator[Bench]:
    """Many queries to one filter, which cost as much each as few do."""
    space, measure = (tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)), tk.MaxDivergence()
    query = tk.make_user_measurement(*space, measure, function=len, privacy_map=lambda d_in: d_in)
    interactive = tk.make_privacy_filter(
        tk.make_fully_adaptive_composition(*space, measure), d_in=1, d_out=_MANY_QUERIES
    )

    def ask(count: int) -> None:
        queryable = interactive([1, 2])
        for _ in range(count):
            queryable(query)

    few = f"{_MANY_QUERIES // 8} queries"
    own, peers = thread(partial(ask, _MANY_QUERIES), 1), {few: thread(partial(ask, _MANY_QUERIES // 8), 1)}
    yield Bench(f"{_MANY_QUERIES} queries to a filter", own, peers, 5, Goal(12.0, few))


def starts() -> Iterator[Bench]:
    """Fresh interpreters, against one that imports NumPy."""
    numpy = {"import numpy": wall(partial(_child, "-c", "import numpy"))}
    for name, arguments, most in (
        ("import opendp_topk", ("-c", "import opendp_topk"), 1.5),
        ("opendp-topk --help", ("-m", "opendp_topk.apps.cli", "--help"), 3.0),
    ):
        yield Bench(name, wall(partial(_child, *arguments)), numpy, 9, Goal(most, "import numpy"))


def _child(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    list(printed(measured(benches(), {})))
