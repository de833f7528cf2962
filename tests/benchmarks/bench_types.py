"""Scores of each type, as many as asked for: the time of a release, and what it holds beside the scores."""

from __future__ import annotations

import argparse
import statistics
import tracemalloc
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .bench_race import _thread_seconds, ranking
from .timing import readable

TYPES = ("float64", "float32", "int64", "int32", "int16", "int8")
_WINNERS = 10
_TURNS = 3
_PART = 10**7  # scores that are drawn at a time


class Row(NamedTuple):
    """Scores of one type: their bytes, the time of a release, its ratios to two peers, and bytes held beside them."""

    dtype: str
    size: int
    own: float
    argpartition: float
    one_pass: float
    held: int


def rows(d: int) -> Iterator[Row]:
    """The ten best of d uniform scores from 0 to 100, in each type."""
    for dtype in TYPES:
        x = scores(d, dtype)
        measurement = ranking(x, _WINNERS)
        calls = (lambda m=measurement, x=x: m(x), lambda x=x: np.argpartition(x, -_WINNERS), lambda x=x: np.max(x))
        calls[0]()
        turns = [[_thread_seconds(call) for call in calls] for _ in range(_TURNS)]
        ratios = [statistics.median(turn[0] / turn[peer] for turn in turns) for peer in (1, 2)]
        own = statistics.median(turn[0] for turn in turns)
        yield Row(dtype, x.nbytes, own, ratios[0], ratios[1], held(measurement, x))


def scores(d: int, dtype: str) -> Any:
    """Uniform scores, of which no 64-bit copy is ever made as a whole."""
    draw, x = np.random.default_rng(0), np.empty(d, dtype)
    for start in range(0, d, _PART):
        part = x[start : start + _PART]
        part[:] = draw.uniform(0, 100, len(part))
    return x


def held(measurement: Any, x: Any) -> int:
    """The largest number of bytes that a release holds beside the scores."""
    tracemalloc.start()
    try:
        measurement(x)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def markdown(found: list[Row], d: int) -> list[str]:
    """A table of the rows."""
    names = ("type", "MiB of scores", "a release", "of argpartition", "of one pass", "MiB held")
    lines = [
        f"| {row.dtype} | {row.size / 2**20:,.0f} | {readable(row.own)} | {row.argpartition:.2f} "
        f"| {row.one_pass:.2f} | {row.held / 2**20:.1f} |"
        for row in found
    ]
    head = [f"## Types of scores, d = {d:,}, k = {_WINNERS}", "", f"| {' | '.join(names)} |"]
    return [*head, "|---|--:|--:|--:|--:|--:|", *lines, ""]


def main() -> None:
    """Print the table for 10^N scores."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.bench_types", description=__doc__)
    parser.add_argument("--power", type=int, default=8, metavar="N", help="10^N scores; 8 needs 2 GiB of memory")
    d = 10 ** parser.parse_args().power
    print("\n".join(markdown(list(rows(d)), d)))


if __name__ == "__main__":
    main()
