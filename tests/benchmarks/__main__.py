"""One table of medians and ratios, all peers in one run: ``python -m tests.benchmarks``.

The inexact NumPy peer adds float64 Gumbel noise and sorts the k largest sums. A peer that is not installed is left out.
What has a goal is in ``python -m tests.benchmarks.goals`` and on the page, docs/benchmarks.md.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from functools import partial

import numpy as np

import opendp_topk as tk

from . import bench_audit, bench_first, bench_ledger, bench_named, bench_success, goals, others
from .bench import Bench, measured, printed
from .shapes import inexact, ranking
from .timing import thread


def against_numpy(d: int = 10**6) -> Iterator[Bench]:
    """Gumbel and exponential noise on floats and integers."""
    generator = np.random.default_rng(0)
    zipf = generator.permutation(1e6 / np.arange(1, d + 1))
    uniform = generator.uniform(0, 1000, d)
    shapes = {
        "uniform in 0..1000, float64": uniform,
        "uniform in 0..1000, int64": uniform.astype(np.int64),
        "uniform in 0..1, float64": generator.uniform(0, 1, d),
        "Zipf, float64": zipf,
        "Zipf, int64": zipf.astype(np.int64),
    }
    for k in (10, 1000):
        for name, x in shapes.items():
            peer = {"NumPy, inexact": thread(partial(inexact, x, k, generator.gumbel))}
            for measure in (tk.MaxDivergence(), tk.ZeroConcentratedDivergence()):
                measurement = ranking(x, k, measure=measure)
                noise = measurement.parameters["noise"]
                yield Bench(f"d = 10^6, k = {k}, {name}, {noise}", thread(partial(measurement, x)), peer)


def main() -> None:
    print(f"Python {platform.python_version()}, NumPy {np.__version__}; medians, and medians of ratios turn by turn\n")
    for bench in (bench_first, bench_named, bench_success, bench_ledger, bench_audit):
        for line in bench.rows():
            print(line, flush=True)
    benches = (bench for make in goals.PARTS.values() for bench in make())
    for source in (benches, against_numpy(), others.benches()):
        list(printed(measured(source, {})))


if __name__ == "__main__":
    main()
