"""How long it takes to count 10^7 (user, item) rows of parquet into 10^5 candidates, and what engines take by hand.

Run it alone with ``python -m tests.benchmarks.bench_count``.
"""

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import opendp_topk as tk

from .bench import Bench, Goal, measured, printed
from .timing import wall

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
    import polars as pl

    return {
        "polars n_unique": lambda: pl.read_parquet(path).group_by("item").agg(pl.col("user").n_unique()),
        "polars unique, len": lambda: pl.scan_parquet(path).unique().group_by("item").len().collect(engine="streaming"),
        "DuckDB": lambda: _duckdb(path),
    }


def _duckdb(path: Path) -> Any:
    import duckdb

    pairs = f"SELECT DISTINCT item, \"user\" FROM '{path}'"
    found = duckdb.query(f"SELECT item, count(*) AS n FROM ({pairs}) GROUP BY item")
    return found.fetchnumpy()  # type: ignore[union-attr]


def benches(*peers: str) -> Iterator[Bench]:
    """Integer and string identifiers, against these forms or all; the file is there while a case is measured."""
    for ids, most in (("int64", 0.5), ("string", 1.1)):
        candidates: list[Any] = [f"item {i}" if ids == "string" else i for i in range(CANDIDATES)]
        count = tk.make_count_by_item(tk.FrameDomain("user", "item"), tk.UserDistance(), candidates=candidates)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "rows.parquet")
            write_table(path, ids == "string")
            chosen = {name: wall(peer) for name, peer in by_hand(path).items() if not peers or name in peers}
            own = wall(partial(_counted, count, path))
            yield Bench(f"10^7 rows to counts, {ids} ids", own, chosen, RUNS, Goal(most, "polars n_unique"))


def _counted(count: tk.Transformation, path: Path) -> Any:
    return count(tk.tables.read_table(path))


if __name__ == "__main__":
    list(printed(measured(benches(), {})))
