"""Rows (user, item) counted by polars and by Spark, and by hand: ``python -m tests.benchmarks.spark_rows 100_000_000``.

The rows are written part by part to a folder of parquet files that is removed at the end: users uniform, a tenth as
many as rows, and 100,000 items with a long tail. Every way of counting has a process of its own; the time includes what
Spark needs for a first job, and not its start. Processor seconds and peaks are those of Python and of its JVM, in which
``local[2]`` has Spark's workers too; further arguments name other masters. Needs the extra ``spark`` and Java.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import opendp_topk as tk

from .spark_scores import children, peak, session

ITEMS, PART = 100_000, 5_000_000
MASTERS = ("local[2]",)
MEMORY = "2g"
PLANS = ("polars", "polars by hand", "spark", "spark by hand")


def write(folder: Path, rows: int) -> None:
    """The table in parts, of which one at a time is in memory."""
    import polars as pl

    draw = np.random.default_rng(1)
    for at, start in enumerate(range(0, rows, PART)):
        size = min(PART, rows - start)
        items = (draw.pareto(1.2, size) * 100).astype(np.int64) % ITEMS
        part = pl.DataFrame({"user": draw.integers(0, rows // 10, size), "item": items})
        part.write_parquet(folder / f"part-{at}.parquet")


def counting() -> tk.Transformation:
    return (tk.FrameDomain("user", "item"), tk.UserDistance()) >> tk.then_count_by_item(candidates=range(ITEMS))


@contextmanager
def ways(plan: str, folder: str, master: str) -> Iterator[Callable[[], int]]:
    """What counts, and returns how many pairs of a user and an item there are."""
    if plan == "polars":
        yield lambda: int(counting()(tk.tables.read_table(folder)).sum())
    elif plan == "polars by hand":
        import polars as pl

        pairs = pl.scan_parquet(f"{folder}/*.parquet").select("user", "item").unique()
        yield lambda: int(pairs.group_by("item").len().collect(engine="streaming")["len"].sum())
    else:
        with session(master, {"spark.driver.memory": MEMORY}) as spark:
            table = spark.read.parquet(folder)
            by_hand = table.select("user", "item").distinct().groupBy("item").count()
            own: Callable[[], int] = lambda: int(counting()(table).sum())  # noqa: E731
            yield own if plan == "spark" else lambda: sum(by_hand.toArrow()["count"].to_pylist())


def processor_seconds(process: int) -> float:
    """What a process and its threads have used so far."""
    words = Path("/proc", str(process), "stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def row(plan: str, folder: str, master: str) -> str:
    """One line of the table."""
    with ways(plan, folder, master) as count:
        processes = [os.getpid(), *children()]
        before, start = sum(map(processor_seconds, processes)), time.perf_counter()
        found = count()
        seconds, used = time.perf_counter() - start, sum(map(processor_seconds, processes)) - before
        peaks = " + ".join(f"{peak(one) / 1000:.2f}" for one in processes)
    where = f", {master}" if plan.startswith("spark") else ""
    return f"| {plan}{where} | {found:,} | {seconds:.0f} s | {used:.0f} s | {peaks} GB |"


def main() -> None:
    if sys.argv[1] in PLANS:
        print(row(*sys.argv[1:]), flush=True)
        return
    rows, masters = int(sys.argv[1]), sys.argv[2:] or MASTERS
    with tempfile.TemporaryDirectory(prefix="opendp-topk-") as place:
        folder = Path(place, "rows")
        folder.mkdir()
        write(folder, rows)
        print("| way | pairs | time | processor | peak, Python + JVM |\n|---|--:|--:|--:|--:|", flush=True)
        for plan in PLANS:
            for master in masters if plan.startswith("spark") else ("",):
                command = [sys.executable, "-m", "tests.benchmarks.spark_rows", plan, str(folder), master]
                subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
