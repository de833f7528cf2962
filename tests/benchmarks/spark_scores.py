"""Scores in a Spark frame, raced by workers or collected: ``python -m tests.benchmarks.spark_scores 10_000_000 ...``.

Each plan has a session of its own, whose two executors are other processes than the driver, and goes through the
numbers of scores, in 16 partitions, the smallest first. A peak is that of the driver's two processes so far. The frame
is computed anew for each release; "no release" only computes it and its maximum, and "native" finds the best 10 in one
job of Spark and the rows within a few scales of them in another: no noise, but no plan of two native jobs takes less.
Needs the extra ``spark`` and Java.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import opendp_topk as tk

from ..tables import spark_session

PARTITIONS = 16
PLANS = ("no release", "native", "workers", "collect")
_SCALE = 20
_SETTINGS = {"spark.driver.memory": "8g", "spark.driver.maxResultSize": "0"}


def peak(process: int) -> float:
    """The most memory that a process had, in MB."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc", str(process), "status").read_text())
    return int(found[1]) / 1000 if found else 0.0


def children() -> list[int]:
    listed = subprocess.run(["ps", "--ppid", str(os.getpid()), "-o", "pid=,comm="], capture_output=True, text=True)
    return [int(line.split()[0]) for line in listed.stdout.splitlines() if "java" in line]


@contextmanager
def session(master: str, more: Mapping[str, str] = MappingProxyType({})) -> Iterator[Any]:
    """A session with Spark's own defaults where ``more`` says nothing else; its folder is removed at the end."""
    defaults = {"spark.executor.memory": "1g", "spark.sql.shuffle.partitions": "200"}
    with tempfile.TemporaryDirectory(prefix="opendp-topk-", ignore_cleanup_errors=True) as folder:
        yield from spark_session.session(Path(folder), master, {**defaults, **more})


def release(spark: Any, n: int, plan: str) -> None:
    frame = spark.range(0, n, 1, PARTITIONS).selectExpr("id as item", "pmod(xxhash64(id), 1000) as score")
    space = tk.VectorDomain(tk.AtomDomain(int), size=n), tk.LInfDistance(monotonic=True)
    top10 = space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=10, scale=float(_SCALE))
    if plan == "no release":
        frame.agg({"score": "max", "item": "min"}).collect()
    elif plan == "native":
        tenth = frame.orderBy("score", ascending=False).limit(10).collect()[-1]["score"]
        assert frame.filter(f"score >= {tenth - _SCALE}").count() >= 10
    else:
        assert len(tk.release_spark(top10, frame, "item", "score", plan=plan)) == 10


def rows(plan: str, sizes: Iterable[int]) -> Iterator[str]:
    """One row a size, the smallest first, since a peak never falls."""
    with session("local-cluster[2,1,1024]", _SETTINGS) as spark:
        release(spark, 100_000, plan)
        java = children()
        for n in sorted(sizes):
            start = time.perf_counter()
            release(spark, n, plan)
            seconds = time.perf_counter() - start
            yield f"| {n:,} | {plan} | {seconds:.1f} s | {peak(os.getpid()):.0f} + {sum(map(peak, java)):.0f} MB |"


def main() -> None:
    plan, *sizes = sys.argv[1:]
    if plan in PLANS:
        for row in rows(plan, map(int, sizes)):
            print(row, flush=True)
        return
    print("| scores | plan | time | driver's peak, Python + JVM |\n|--:|---|--:|--:|", flush=True)
    for plan in PLANS:
        subprocess.run([sys.executable, "-m", "tests.benchmarks.spark_scores", plan, *sys.argv[1:]], check=True)


if __name__ == "__main__":
    main()
