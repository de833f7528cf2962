"""What a call costs that has next to nothing to compute, and what a process costs that imports the library.

Run it alone with ``python -m tests.benchmarks.bench_calls``.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from functools import partial

import numpy as np

from .bench import Bench, Goal, measured, printed
from .shapes import ranking
from .timing import thread, wall

_CALLS = 200


def benches() -> Iterator[Bench]:
    """All of them."""
    yield from small()
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
