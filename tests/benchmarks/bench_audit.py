"""What an audit costs: a measurement call by call and by two processes, and a function that draws in batches.

Run it alone with ``python -m tests.benchmarks.bench_audit [samples]``; the samples are drawn on each of two inputs.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import opendp_topk as tk

from .timing import readable


def processor_time() -> float:
    """Seconds of this process and of those it has waited for."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )


def rows(samples: int = 50_000) -> Iterator[str]:
    """Lines of the benchmark table."""
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance()
    selection = space >> tk.then_permute_and_flip(tk.MaxDivergence(), scale=1)
    generator = np.random.default_rng(6)

    def inexact(x: Any, n: int) -> Any:
        return np.argmax(x + generator.exponential(size=(n, len(x))), axis=1)

    cases: dict[str, tuple[Any, dict[str, Any]]] = {
        "inexact NumPy, batched": (inexact, {"batched": True}),
        "permute_and_flip, 2 workers": (selection, {"workers": 2}),
        "permute_and_flip": (selection, {}),
    }
    for name, (function, options) in cases.items():
        start, used = time.perf_counter(), processor_time()
        tk.audit.estimate(function, [0, 0], [1, -1], samples=samples, **options)
        duration, used = time.perf_counter() - start, processor_time() - used
        case = f"audit, 2 x {samples:,} samples, {name}"
        yield f"{case:<58} {readable(duration):>10}   ({readable(used)} of processor time)"


if __name__ == "__main__":
    for line in rows(*map(int, sys.argv[1:])):
        print(line, flush=True)
