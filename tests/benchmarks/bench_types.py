"""Scores of each type, as many as asked for: the time of a release, and what it holds beside the scores."""

import argparse
import tracemalloc
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .bench import Bench, Case, Stored, measured
from .shapes import ranking
from .timing import readable, thread

TYPES = ("float64", "float32", "int64", "int32", "int16", "int8")
_WINNERS = 10
_PART = 10**7  # scores that are drawn at a time


class Row(NamedTuple):
    """Scores of one type: their bytes, the case of a release, and the bytes that it holds beside them."""

    dtype: str
    size: int
    case: Case
    held: int


def rows(d: int, stored: Stored) -> Iterator[Row]:
    """The ten best of d uniform scores from 0 to 100, in each type."""
    for dtype in TYPES:
        x = scores(d, dtype)
        release = partial(ranking(x, _WINNERS), x)
        peers = {"argpartition": thread(partial(np.argpartition, x, -_WINNERS)), "max": thread(partial(np.max, x))}
        bench = Bench(f"{dtype}, d = {d}, k = {_WINNERS}", thread(release), peers, 3)
        yield Row(dtype, x.nbytes, next(measured([bench], stored)), held(release))


def scores(d: int, dtype: str) -> Any:
    """Uniform scores, of which no 64-bit copy is ever made as a whole."""
    draw, x = np.random.default_rng(0), np.empty(d, dtype)
    for start in range(0, d, _PART):
        part = x[start : start + _PART]
        part[:] = draw.uniform(0, 100, len(part))
    return x


def held(release: partial[Any]) -> int:
    """The largest number of bytes that a release holds beside the scores."""
    tracemalloc.start()
    try:
        release()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def markdown(found: list[Row], d: int) -> list[str]:
    """A table of the rows."""
    names = ("type", "MiB of scores", "a release", "of argpartition", "of one pass", "MiB held")
    lines = [
        f"| {row.dtype} | {row.size / 2**20:,.0f} | {readable(row.case.own)} | {row.case.ratios['argpartition']:.2f} "
        f"| {row.case.ratios['max']:.2f} | {row.held / 2**20:.1f} |"
        for row in found
    ]
    head = [f"## Types of scores, d = {d:,}, k = {_WINNERS}", "", f"| {' | '.join(names)} |"]
    return [*head, "|---|--:|--:|--:|--:|--:|", *lines, ""]


def main() -> None:
    """Print the table for 10^N scores."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.bench_types", description=__doc__)
    parser.add_argument("--power", type=int, default=8, metavar="N", help="10^N scores; 8 needs 2 GiB of memory")
    d = 10 ** parser.parse_args().power
    print("\n".join(markdown(list(rows(d, {})), d)))


if __name__ == "__main__":
    main()
