"""What a debit costs on either back end: alone, where eight processes share one ledger, and how long opening takes.

Run it alone with ``python -m tests.benchmarks.bench_ledger``; ``--long`` opens one of 100,000 entries.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import opendp_topk as tk
from opendp_topk.apps.ledger.files import FileLog
from opendp_topk.apps.ledger.records import next_record_text, unseal_record
from tests.ledger.server import Server

from .timing import readable, row

RELEASES, PROCESSES, LONG = 300, 8, 100_000
CHAINED = ("number", "previous", "ledger")
UNIT: dict[str, Any] = {"measure": tk.MaxDivergence(), "dataset": "votes", "metric": tk.LInfDistance(monotonic=True)}
WORKER = """
import sys, opendp_topk as tk
space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
top = tk.make_report_noisy_top_k(*space, tk.MaxDivergence(), k=2, scale=4.0)
ledger = tk.Ledger(sys.argv[1])
print(flush=True)
sys.stdin.readline()
for _ in range(int(sys.argv[2])):
    ledger.release(top, [3, 1, 2])
print(flush=True)
"""


def top() -> tk.Measurement:
    space = tk.VectorDomain(tk.AtomDomain(int)), UNIT["metric"]
    return tk.make_report_noisy_top_k(*space, tk.MaxDivergence(), k=2, scale=4.0)


def alone(name: str, connect: str) -> Iterator[str]:
    """Releases of one process."""
    times, measurement = [], top()
    with tk.Ledger.create(connect, budget=10**9, **UNIT) as ledger:
        for _ in range(RELEASES):
            start = time.perf_counter()
            ledger.release(measurement, [3, 1, 2])
            times.append(time.perf_counter() - start)
    times.sort()
    yield row(f"ledger, {name}, one release, median of {RELEASES}", statistics.median(times))
    yield row(f"ledger, {name}, one release, 99th percentile", times[len(times) * 99 // 100])


def together(name: str, connect: str) -> Iterator[str]:
    """Releases of several processes."""
    program = [sys.executable, "-c", WORKER, connect, str(RELEASES)]
    workers = [subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(PROCESSES)]
    for worker in workers:
        assert worker.stdout is not None
        worker.stdout.readline()
    start = time.perf_counter()
    for worker in workers:
        worker.communicate(b"\n")
    duration = time.perf_counter() - start
    rate = PROCESSES * RELEASES / duration
    yield f"{f'ledger, {name}, {PROCESSES} processes':<58} {rate:>6,.0f} /s   ({readable(duration)} in all)"


def opening(path: str, entries: int) -> Iterator[str]:
    """Opening, a total and a release after so many entries; and verifying them all."""
    with tk.Ledger.create(path, budget=10**9, **UNIT) as ledger:
        ledger.release(top(), [3, 1, 2])
    lengthen(Path(path), entries)
    start = time.perf_counter()
    with tk.Ledger(path) as ledger:
        ledger.spent()
        yield row(f"ledger, opened after {entries:,} entries", time.perf_counter() - start)
        start = time.perf_counter()
        assert ledger.verify() == []
        yield row(f"ledger, {entries:,} entries verified", time.perf_counter() - start)


def lengthen(path: Path, entries: int) -> None:
    """So many copies of the only entry of a ledger behind it, without waiting for the disk for each."""
    listed = list(FileLog(path).iter_records())
    debit, state, last = listed[1].fields, listed[2].fields, listed[2]
    texts = []
    for number in range(2, entries + 1):
        spent = {"entries": number, "spent": [str(Fraction(debit["cost"][0]) * number)]}
        for fields in ({**debit, **spent}, {**state, **spent, "of": number}):
            texts.append(
                next_record_text(last, listed[0].digest, **{k: v for k, v in fields.items() if k not in CHAINED})
            )
            last = unseal_record(texts[-1]) or last
    with path.open("ab") as stream:
        stream.write(b"".join(b"\x1e" + text.encode() + b"\n" for text in texts))


def rows(entries: int = 1000) -> Iterator[str]:
    """Lines of the benchmark table."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "budget.ledger"))
        yield from alone("a file", path)
        yield from together("a file", path)
        yield from opening(str(Path(folder, "long.ledger")), entries)
    if Path("/usr/lib/postgresql").is_dir():
        server = Server()
        try:
            yield from alone("a server", server.address("one"))
            yield from together("a server", server.address("one"))
        finally:
            server.close()


if __name__ == "__main__":
    for line in rows(LONG if "--long" in sys.argv else 1000):
        print(line)
