"""What a debit costs: latency alone, and throughput where eight processes share one file.

Run it alone with ``python -m tests.benchmarks.bench_ledger``.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import opendp_topk as tk

from .timing import readable, row

RELEASES, PROCESSES = 500, 8
WORKER = """
import sys, opendp_topk as tk
space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
top = tk.make_report_noisy_top_k(*space, tk.MaxDivergence(), k=2, scale=4.0)
ledger = tk.Ledger(sys.argv[1])
print(flush=True)
sys.stdin.readline()
for _ in range(int(sys.argv[2])):
    ledger.release(top, [3, 1, 2], d_in=1)
print(flush=True)
"""


def rows() -> Iterator[str]:
    """Lines of the benchmark table."""
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
    top = tk.make_report_noisy_top_k(*space, tk.MaxDivergence(), k=2, scale=4.0)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "budget.sqlite"))
        times = []
        with tk.Ledger(path, budget=10**9, measure=tk.MaxDivergence()) as ledger:
            for _ in range(RELEASES):
                start = time.perf_counter()
                ledger.release(top, [3, 1, 2], d_in=1)
                times.append(time.perf_counter() - start)
        times.sort()
        yield row(f"ledger, one release, median of {RELEASES}", statistics.median(times))
        yield row("ledger, one release, 99th percentile", times[len(times) * 99 // 100])
        workers = [
            subprocess.Popen(
                [sys.executable, "-c", WORKER, path, str(RELEASES)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            for _ in range(PROCESSES)
        ]
        for worker in workers:
            assert worker.stdout is not None
            worker.stdout.readline()
        start = time.perf_counter()
        for worker in workers:
            worker.communicate(b"\n")
        duration = time.perf_counter() - start
        rate = PROCESSES * RELEASES / duration
        yield f"{f'ledger, {PROCESSES} processes, one file':<58} {rate:>6,.0f} /s   ({readable(duration)} in all)"


if __name__ == "__main__":
    for line in rows():
        print(line)
