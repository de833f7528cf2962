"""``python -m tests.benchmarks.bench_coverage``: users that k items reach on real tables, for docs/howto/coverage.md.

At (1, 1e-5), means of five releases: the choices of make_top_k_coverage at the least scale under its curve, the same
choices at the scale that composed steps need, and the k most popular items by make_report_noisy_top_k. Beside them are
greedy choices and the most popular items without noise. The seconds are those of reading and of all choices.
"""

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl

import opendp_topk as tk

from .real_tables import RealTable, packaged_tables

SPACE = tk.FrameDomain("user", "item"), tk.UserDistance()
BUDGET = 1.0, 1e-5
RUNS = 5


def reached(table: RealTable, items: Sequence[int]) -> int:
    """How many users have one of these items."""
    users, held = table.pairs
    return len(np.unique(users[np.isin(held, items)]))


def coverage(frame: Any, d: int, k: int, scale: float) -> tuple[int, ...]:
    """One release."""
    made = tk.make_top_k_coverage(*SPACE, tk.PrivacyProfile(), candidates=range(d), k=k, scale=scale)
    return tuple(made(frame))


def least_scales(d: int, k: int) -> tuple[float, float]:
    """The least scales by all bounds, and by those of k adaptive steps alone."""

    def scale(metric: tk.UserDistance) -> float:
        space, candidates = (SPACE[0], metric, tk.PrivacyProfile()), range(d)
        make = partial(tk.make_top_k_coverage, *space, candidates=candidates, k=k)
        return float(tk.binary_search_param(lambda scale: make(scale=scale), 1, BUDGET))

    return scale(SPACE[1]), scale(tk.UserDistance("replace")) / 2  # who is replaced moves scores twice as far


def popular(frame: Any, d: int, k: int) -> list[int]:
    """One release of the most popular items at the same budget."""
    count = tk.make_count_by_item(*SPACE, candidates=range(d))
    found = tk.binary_search_chain(
        lambda scale: count >> tk.then_report_noisy_top_k(tk.PrivacyProfile(), k=k, scale=scale), 1, BUDGET
    )
    return list(found(frame))


def main() -> None:
    """Print a row for each table and k."""
    print("| table | k | coverage | composed steps | most popular | coverage, most popular without noise | seconds |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for table in packaged_tables():
        d, frame = len(table.counts), pl.DataFrame({"user": table.pairs[0], "item": table.pairs[1]})
        ranked = np.argsort(-table.counts, kind="stable").tolist()
        for k in (20, 200):
            if k >= d:
                continue
            own, steps = least_scales(d, k)
            start = time.perf_counter()
            found: list[Any] = [
                np.mean([reached(table, coverage(frame, d, k, scale)) for _ in range(RUNS)]) for scale in (own, steps)
            ]
            seconds = (time.perf_counter() - start) / 2 / RUNS
            found.append(reached(table, popular(frame, d, k)))
            best = reached(table, coverage(frame, d, k, 0.0)), reached(table, ranked[:k])
            cells = [f"{users:,.0f}" for users in found], ", ".join(f"{users:,}" for users in best)
            print(f"| {table.name} | {k} | {' | '.join(cells[0])} | {cells[1]} | {seconds:.2f} |", flush=True)


if __name__ == "__main__":
    main()
