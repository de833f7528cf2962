"""What is built once: tables of noise at a first release, and privacy curves of many steps."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import opendp_topk as tk
from opendp_topk.sampling.samplers.quantile_tables import quantile_table

from ..concepts.own_noises import NOISES
from .timing import best_of_batches, row, seconds


def rows() -> Iterator[str]:
    """All of them."""
    for section in (first_call, own_noise, accounting):
        yield from section()


def first_call() -> Iterator[str]:
    """In fresh interpreters, without the import: what building the tables adds to the first release."""
    script = (
        "import time, numpy as np, opendp_topk as tk\n"
        "space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance()\n"
        "m = tk.make_report_noisy_top_k(*space, tk.{}(), k=1, scale=1)\n"
        "x = np.arange(10); start = time.perf_counter(); m(x); print(time.perf_counter() - start)"
    )
    for measure in ("MaxDivergence", "RangeDivergence"):
        runs = [subprocess.check_output([sys.executable, "-c", script.format(measure)]) for _ in range(5)]
        yield row(f"first call in a fresh interpreter, {measure}", sorted(map(float, runs))[2])


def own_noise() -> Iterator[str]:
    """What the first release with a noise of the caller's own adds: a table from its interval quantile."""
    for name, noise in NOISES.items():
        yield row(f"table of a noise of one's own, {name}", seconds(lambda n=noise: quantile_table.__wrapped__(n)))


def accounting() -> Iterator[str]:
    """Privacy curves of k adaptive steps, each at a scale that was not asked before; then once more."""
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
    for k in (10, 100, 1000):
        scales = iter(range(10 * k, 20 * k))

        def fresh(k: int = k, scales: Iterator[int] = scales) -> float:
            ranking = space >> tk.then_report_noisy_top_k(tk.PrivacyProfile(), k=k, scale=next(scales))
            epsilon: float = ranking.map(1).epsilon(1e-6)
            return epsilon

        yield row(f"epsilon at delta = 1e-6 of k = {k} winners", best_of_batches(fresh, batch=1, turns=5))
