"""How long it takes to count 10^7 (user, item) rows of parquet into 10^5 candidates, and what engines take by hand.

Run it alone with ``python -m tests.benchmarks.bench_count``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import opendp_topk as tk

from .timing import medians, row

ROWS, USERS, CANDIDATES, RUNS = 10**7, 10**6, 10**5, 5


def write_table(path: Path, strings: bool) -> None:
    """Uniform users and items, a sixth of the items no candidates."""
    import polars as pl

    draw = np.random.default_rng(1)
    table = pl.DataFrame({"user": draw.integers(0, USERS, ROWS), "item": draw.integers(0, CANDIDATES * 6 // 5, ROWS)})
    if strings:
        table = table.select(pl.format("user {}", "user").alias("user"), pl.format("item {}", "item").alias("item"))
    table.write_parquet(path)


def by_hand(path: Path) -> dict[str, Callable[[], Any]]:
    """Distinct users an item, for all items: as one would write it in polars, in its two best forms, and in DuckDB."""
    import duckdb
    import polars as pl

    pairs = f"SELECT DISTINCT item, \"user\" FROM '{path}'"
    return {
        "polars n_unique": lambda: pl.read_parquet(path).group_by("item").agg(pl.col("user").n_unique()),
        "polars unique, len": lambda: pl.scan_parquet(path).unique().group_by("item").len().collect(engine="streaming"),
        "DuckDB": lambda: duckdb.query(f"SELECT item, count(*) AS n FROM ({pairs}) GROUP BY item").fetchnumpy(),  # type: ignore[union-attr]
    }


def rows() -> Iterator[str]:
    """Medians for integer and for string identifiers, and of ratios to each peer, turn by turn."""
    for strings in (False, True):
        candidates: list[Any] = [f"item {i}" for i in range(CANDIDATES)] if strings else list(range(CANDIDATES))
        count = tk.make_count_by_item(tk.FrameDomain("user", "item"), tk.UserDistance(), candidates=candidates)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "rows.parquet")
            write_table(path, strings)
            for name, peer in by_hand(path).items():
                own, theirs, ratio = medians(partial(_counted, count, path), peer, turns=RUNS)
                yield row(f"count 10^7 rows, {'string' if strings else 'int64'} ids", own, name, theirs, ratio)


def _counted(count: tk.Transformation, path: Path) -> Any:
    return count(tk.read_table(path))


if __name__ == "__main__":
    for line in rows():
        print(line, flush=True)
