"""How long it takes to count 10^7 (user, item) rows of parquet into 10^5 candidates.

Run it alone with ``python -m tests.benchmarks.bench_count``.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import opendp_topk as tk

ROWS, USERS, CANDIDATES, RUNS = 10**7, 10**6, 10**5, 5


def write_table(path: Path, strings: bool) -> None:
    """Uniform users and items, a sixth of the items no candidates."""
    import polars as pl

    draw = np.random.default_rng(1)
    table = pl.DataFrame({"user": draw.integers(0, USERS, ROWS), "item": draw.integers(0, CANDIDATES * 6 // 5, ROWS)})
    if strings:
        table = table.select(pl.format("user {}", "user").alias("user"), pl.format("item {}", "item").alias("item"))
    table.write_parquet(path)


def rows() -> list[tuple[str, float]]:
    """(what is counted, median seconds), for integer and for string identifiers."""
    found = []
    for strings in (False, True):
        candidates: list[Any] = [f"item {i}" for i in range(CANDIDATES)] if strings else list(range(CANDIDATES))
        count = tk.make_count_by_item(tk.FrameDomain("user", "item"), tk.UserDistance(), candidates=candidates)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "rows.parquet")
            write_table(path, strings)
            seconds = []
            for _ in range(RUNS):
                start = time.perf_counter()
                count(tk.read_table(path))
                seconds.append(time.perf_counter() - start)
        found.append((f"count 10^7 rows, {'string' if strings else 'int64'} ids", statistics.median(seconds)))
    return found


if __name__ == "__main__":
    for name, seconds in rows():
        print(f"{name:<40} {seconds:6.2f} s")
