"""A release from 10^7 rows with about 10^6 string keys that nobody lists, beside counting or summing alone in polars.

Run it with ``python -m tests.benchmarks.bench_keys [ROWS]``; ratios are medians of turns.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import opendp_topk as tk

from .timing import readable, seconds

TURNS = 3
MEASURE = tk.Approximate(tk.MaxDivergence())
DELTA = 1e-8


def write_table(path: Path, rows: int) -> None:
    """A third of the rows fall on few keys; the others are spread evenly, so that nearly all keys occur."""
    import polars as pl

    draw, keys = np.random.default_rng(1), rows // 10
    item = np.where(draw.random(rows) < 1 / 3, draw.zipf(1.3, rows) % keys, draw.integers(0, keys, rows))
    table = pl.DataFrame({"user": draw.integers(0, keys, rows), "item": item, "paid": draw.integers(0, 9, rows)})
    table.with_columns(pl.format("item number {}", "item").alias("item")).write_parquet(path)


def by_hand(path: Path) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Distinct users by item, and sums of totals that are clamped, as one would write them."""
    import polars as pl

    table = pl.scan_parquet(path)
    counts = table.select("user", "item").unique().group_by("item").len()
    totals = (
        table.group_by("user", "item").agg(pl.col("paid").sum().clip(0, 5)).group_by("item").agg(pl.col("paid").sum())
    )
    return lambda: counts.collect(engine="streaming"), lambda: totals.collect(engine="streaming")


def releases() -> dict[str, tuple[bool, tk.Measurement]]:
    """By name: whether sums are released, and the chain from a table. Users have ten keys each, more or less."""
    rows, priced = tk.FrameDomain("user", "item"), tk.FrameDomain("user", "item", value="paid")
    users = tk.UserDistance()
    counts = (rows, users) >> tk.then_count_by_item(candidates=None)
    sums = (priced, users) >> tk.then_sum_by_item(candidates=None, bounds=(0, 5))
    few, most = ((rows, users) >> tk.then_count_by_item(candidates=None, max_items=max_items) for max_items in (30, 5))
    best = tk.then_unknown_domain_top_k(MEASURE, k=20, scale=20.0, limit=1000, delta=DELTA)
    return {
        "the best 20 by count": (False, counts >> best),
        "the best 20 by sum": (True, sums >> best),
        "all above a threshold, 30 a user": (False, few >> tk.then_stable_histogram(MEASURE, scale=30.0, delta=DELTA)),
        "all above a threshold, 5 a user": (False, most >> tk.then_stable_histogram(MEASURE, scale=5.0, delta=DELTA)),
        "keys alone, 30 a user": (False, few >> tk.then_partition_selection(MEASURE, epsilon=1.0, delta=DELTA)),
    }


def lines(rows: int) -> Iterator[str]:
    """Each release beside its engine's own counting, turn by turn."""
    yield "| release | time | counting alone | ratio | ratio of processor time | items |\n|---|--:|--:|--:|--:|--:|"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.parquet")
        write_table(path, rows)
        alone = by_hand(path)
        for name, (summed, release) in releases().items():
            found: list[Any] = []

            def released(release: Any = release, found: list[Any] = found) -> None:
                found.append(release(tk.tables.read_table(path)))

            turns = np.array([(spent(released), spent(alone[summed])) for _ in range(TURNS + 1)][1:])
            own, peer = np.median(turns[:, :, 0], axis=0)
            ratio, busy = np.median(turns[:, 0] / turns[:, 1], axis=0)
            size = len(getattr(found[-1], "items", found[-1]))
            yield f"| {name} | {readable(own)} | {readable(peer)} | {ratio:.2f} | {busy:.2f} | {size:,} |"


def spent(call: Callable[[], Any]) -> tuple[float, float]:
    """The time of one call by the clock, and that of the processors, which other programs disturb less."""
    busy = time.process_time()
    return seconds(call), time.process_time() - busy


if __name__ == "__main__":
    for line in lines(int(sys.argv[1]) if len(sys.argv) > 1 else 10**7):
        print(line, flush=True)
