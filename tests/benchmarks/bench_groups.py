"""The best 3 of 10 in each of 10^5 groups, from a table to the release, against counting alone.

Run it alone with ``python -m tests.benchmarks.bench_groups``.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import opendp_topk as tk
from opendp_topk.tables.grouping import count_by_group

from .bench import Bench, Goal, measured, printed
from .timing import wall

ROWS, USERS, GROUPS, ITEMS, RUNS = 3 * 10**6, 10**6, 10**5, 10, 7


def table() -> Any:
    """Three rows a user, all of one group; uniform items."""
    import polars as pl

    draw = np.random.default_rng(0)
    users = draw.integers(0, USERS, ROWS)
    return pl.DataFrame({"user": users, "item": draw.integers(0, ITEMS, ROWS), "group": users * 7919 % GROUPS})


def benches() -> Iterator[Bench]:
    """The whole against the library's own counts, and against distinct users counted by polars."""
    import polars as pl

    rows_of_all, groups = table(), range(GROUPS)
    count = (tk.FrameDomain("user", "item"), tk.UserDistance()) >> tk.then_count_by_item(candidates=range(ITEMS))
    best = count >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=3, scale=2.0)
    domain = tk.FrameDomain("user", "item", group="group")
    by_group = tk.make_partition_by(
        domain, tk.UserDistance(), tk.MaxDivergence(), measurements=dict.fromkeys(groups, best)
    )
    peers = {
        "counting": wall(
            lambda: count_by_group(domain.validate(rows_of_all), groups, range(ITEMS)).dense_counts(0, GROUPS)
        ),
        "polars n_unique": wall(lambda: rows_of_all.group_by("group", "item").agg(pl.col("user").n_unique())),
    }
    name = "best 3 of 10 in each of 10^5 groups, 3·10^6 rows"
    yield Bench(name, wall(partial(by_group, rows_of_all)), peers, RUNS, Goal(2, "counting"))


if __name__ == "__main__":
    list(printed(measured(benches(), {})))
