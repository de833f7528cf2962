"""A daily ranking of pages like Wikimedia's, on a made-up table that is larger than what is held in memory.

``python -m tests.benchmarks.bench_daily [ROWS] [PAGES] [RELEASE...]`` writes a file of parquet with so many rows, of
which a device has eight, and a tenth as many pages if their number is not given, and makes releases from it at rho
0.015, where at most ten pages of a device count: the noisy counts of a public list of all pages from 90 on, and
without a list those above the threshold that a delta of 1e-8 asks for. Wikimedia's own has 125 million counts. Each
release is made in a process of its own, which tells its processor time and the most memory that it held. Where none
is named, all are made, and before them a table compares the rules by which items are kept, in turns, on 3 10^6 rows
of users who have many.
"""

import math
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

import opendp_topk as tk

MOST, RHO, DELTA = 10, 0.015, 1e-8
LEAST = 90  # the counts from which Wikimedia publishes
VIEWS, VISITS = 10, 8  # rows a page, and a device
POWER = 0.05  # beyond 1: the odds of the n-th page are about n^-1.05
VIEWED = tk.FrameDomain("device", "page"), tk.UserDistance()
PIECE = 2**21  # rows that are written at a time


@dataclass(frozen=True)
class Found:
    """What one process tells of its work."""

    busy: float
    held: int
    scale: float
    threshold: float
    released: int


def write_table(path: Path, rows: int, pages: int) -> None:
    """Views of pages by about Zipf's law, of which a device has a geometric number, in the order of nothing."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    draw, tail = np.random.default_rng(1), (pages + 1.0) ** -POWER
    spread = next(odd for odd in range(2 * pages // 3 | 1, 2 * pages) if math.gcd(odd, pages) == 1)
    schema = pa.schema({"device": pa.int64(), "page": pa.int64()})
    first = 0
    with pq.ParquetWriter(path, schema) as file:
        for start in range(0, rows, PIECE):
            size = min(PIECE, rows - start)
            devices = first + np.cumsum(draw.random(size) < 1 / VISITS)
            first = int(devices[-1]) + 1
            places = (1 - draw.random(size) * (1 - tail)) ** (-1 / POWER)  # of the pages, the most viewed first
            seen = (places.astype(np.int64) - 1) * spread % pages
            mixed = draw.permutation(size)
            file.write_table(pa.table([devices[mixed], seen[mixed]], schema=schema))


def nothing(path: Path, pages: int) -> tuple[float, float, int]:
    """What the process and its libraries hold without a table."""
    tk.tables.read_table(path)
    return 0, 0, 0


def counting(path: Path, pages: int) -> tuple[float, float, int]:
    """The distinct devices of each page as one would count them, without caps and without noise."""
    import polars as pl

    counts = pl.scan_parquet(path).unique().group_by("page").len().collect(engine="streaming")
    return 0, LEAST, int((counts["len"] >= LEAST).sum())


def kept(rule: str) -> Callable[[Path, int], tuple[float, float, int]]:
    """A public list of all pages, with ten pages of a device by this rule."""

    def release(path: Path, pages: int) -> tuple[float, float, int]:
        listed = range(pages)
        chosen = VIEWED >> tk.then_bound_contributions(most=MOST, by=rule, candidates=listed)
        counts = chosen >> tk.then_count_by_item(candidates=listed, max_items=MOST)
        noise = partial(tk.then_noisy_histogram, tk.ZeroConcentratedDivergence(), gaussian=True)
        noisy = tk.binary_search_chain(lambda scale: counts >> noise(scale=scale), 1, RHO)
        found = (noisy >> tk.counts_from(LEAST))(tk.tables.read_table(path))
        return noisy.parameters["scale"], LEAST, len(found.indices)

    return release


def unlisted(path: Path, pages: int) -> tuple[float, float, int]:
    """No list: the pages above the threshold of a stable histogram."""
    counts = VIEWED >> tk.then_bound_contributions(most=MOST) >> tk.then_count_by_item(candidates=None, max_items=MOST)
    measure = tk.Approximate(tk.ZeroConcentratedDivergence())
    noise = partial(tk.then_stable_histogram, measure, delta=DELTA, gaussian=True)
    noisy = tk.binary_search_chain(lambda scale: counts >> noise(scale=scale), 1, (RHO, DELTA))
    return noisy.parameters["scale"], noisy.parameters["threshold"], len(noisy(tk.tables.read_table(path)).items)


WORK: dict[str, Callable[[Path, int], tuple[float, float, int]]] = {
    "nothing": nothing,
    "counting alone": counting,
    "a public list, at random": kept("random"),
    "a public list, by order": kept("order"),
    "no list, at random": unlisted,
}


def told(name: str, path: Path, pages: int, answers: Any) -> None:
    """One release in this process, and what it took."""
    before = time.process_time()
    scale, threshold, released = WORK[name](path, pages)
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    answers.send(Found(time.process_time() - before, held, scale, threshold, released))


def of_its_own(name: str, path: Path, pages: int) -> Found:
    """The same in a process of its own."""
    context = multiprocessing.get_context("spawn")
    answers, questions = context.Pipe(duplex=False)
    process = context.Process(target=told, args=(name, path, pages, questions))
    process.start()
    questions.close()
    found: Found = answers.recv()
    process.join()
    return found


def lines(rows: int, pages: int, names: Iterable[str]) -> Iterator[str]:
    """The table in Markdown."""
    yield "| release | noise | from | pages released | processor time | for 10⁶ rows | most memory |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "views.parquet")
        write_table(path, rows, pages)
        for name in names:
            found = of_its_own(name, path, pages)
            yield (
                f"| {name} | {found.scale:.2f} | {found.threshold} | {found.released:,} "
                f"| {found.busy:.0f} s | {found.busy / rows * 1e6:.2f} s | {found.held / 2**20:,.0f} MiB |"
            )


def rules(rows: int = 3 * 10**6, turns: int = 3) -> Iterator[str]:
    """The least processor time of each rule, and its ratio to that of the order."""
    import polars as pl

    draw = np.random.default_rng(2)
    yield "| rows a user | items kept | at random | by order | ratio |\n|--:|--:|--:|--:|--:|"
    for each in (100, 10):
        seen = {"user": draw.integers(0, rows // each, rows), "item": np.minimum(draw.zipf(1.3, rows), 10**6)}
        table = pl.DataFrame(seen).with_columns(pl.format("page {}", "item").alias("item"))
        for most in (1, 10):
            least = dict.fromkeys(("random", "order"), float("inf"))
            for rule in (*least,) * turns:
                keep = (tk.FrameDomain("user", "item"), tk.UserDistance()) >> tk.then_bound_contributions(
                    most=most, by=rule
                )
                before = time.process_time()
                keep(table)
                least[rule] = min(least[rule], time.process_time() - before)
            ratio = least["random"] / least["order"]
            yield f"| {each} | {most} | {least['random']:.2f} s | {least['order']:.2f} s | {ratio:.2f} |"


if __name__ == "__main__":
    given = [int(float(number)) for number in sys.argv[1:3]]
    size = given[0] if given else 4 * 10**7
    chosen = lines(size, given[1] if len(given) > 1 else size // VIEWS, sys.argv[3:] or WORK)
    for line in chosen if sys.argv[3:] else chain(rules(), chosen):
        print(line, flush=True)
