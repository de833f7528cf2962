"""What the benchmarks' page tells beside one-shot releases: sets of utilities and gaps, noise, and counting.

Run it alone with ``python -m tests.benchmarks.beyond``; ``--no-counting`` leaves out the part that takes a minute.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import opendp_topk as tk

from . import bench_count, bench_noise
from .bench_race import _thread_seconds, shapes
from .sweep import MECHANISMS, SHAPES
from .timing import medians, readable

_TURNS = 15
_SETS = {"canonical": 10.0, "joint set": 10.0, "joint ranking": 10.0}
_SLOWEST = {300: 1.0, 1000: 0.1, 5000: 0.01}  # for each k the scale at which joint sets of Zipf scores take longest


@dataclass(frozen=True)
class Case:
    """The median time, and the median of the ratios own / peer for each peer."""

    name: str
    own: float
    ratios: dict[str, float]


def cases(counting: bool = True) -> Iterator[Case]:
    """All of them; counting 10^7 rows needs polars and a GiB on the disk, and is left out without polars."""
    yield from against_sort()
    yield from joint_sets()
    yield from noise()
    if counting:
        yield from counted()


def against_sort(d: int = 10**6, k: int = 10) -> Iterator[Case]:
    """Releases that look at the order of scores, against a plain sort of the same scores."""
    for shape, x in shapes(d).items():
        for mechanism, scale in _SETS.items():
            yield _case(f"{mechanism}, {shape}, d = {d}, k = {k}", _release(mechanism, x, k, scale), np.sort, x)


def joint_sets(d: int = 2 * 10**5) -> Iterator[Case]:
    """Joint sets where they take longest."""
    x = SHAPES["Zipf"](np.random.default_rng(1), d)
    for k, scale in _SLOWEST.items():
        release = _release("joint set", x, k, scale)
        own = statistics.median(_thread_seconds(release) for _ in range(3))
        yield Case(f"joint set, Zipf, d = {d}, k = {k}, scale {scale:g}", own, {})


def noise() -> Iterator[Case]:
    """10^6 values of noise, against NumPy's inexact ones."""
    generator = np.random.default_rng(0)
    for scale in (10, 1000):
        for name, draw in bench_noise.SAMPLERS.items():
            peer = generator.laplace if name == "Laplace" else generator.normal
            own = partial(draw, Fraction(scale), bench_noise.N)
            yield _case(f"10^6 values of {name}, scale {scale}", own, peer, 0, scale, bench_noise.N)


def counted() -> Iterator[Case]:
    """10^7 rows of a file to counts, against polars' distinct users of each item."""
    for strings in (False, True):
        candidates = [f"item {i}" if strings else i for i in range(bench_count.CANDIDATES)]
        count = tk.make_count_by_item(tk.FrameDomain("user", "item"), tk.UserDistance(), candidates=candidates)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "rows.parquet")
            try:
                bench_count.write_table(path, strings)
                peer = bench_count.by_hand(path)["polars n_unique"]
            except ImportError:
                return
            own, _, faster = medians(lambda c=count, p=path: c(tk.read_table(p)), peer, turns=bench_count.RUNS)
        yield Case(f"10^7 rows to counts, {'string' if strings else 'int64'} ids", own, {"polars n_unique": 1 / faster})


def _release(mechanism: str, x: Any, k: int, scale: float) -> Callable[[], Any]:
    space = tk.VectorDomain(tk.AtomDomain(float)), tk.LInfDistance(monotonic=True)
    return partial(space >> MECHANISMS[mechanism](tk.MaxDivergence(), k, scale), x)


def _case(name: str, own: Callable[[], Any], peer: Callable[..., Any], *arguments: Any) -> Case:
    own()
    pairs = [(_thread_seconds(own), _thread_seconds(partial(peer, *arguments))) for _ in range(_TURNS)]
    ratio = statistics.median(a / b for a, b in pairs)
    label = "np.sort" if peer is np.sort else "NumPy, inexact"
    return Case(name, statistics.median(a for a, _ in pairs), {label: ratio})


def markdown(found: Sequence[Case]) -> list[str]:
    """A section of the page."""
    lines = [
        "## Sets, noise and counting",
        "",
        "Canonical and joint releases at scale 10 against a plain sort of the same scores; joint sets where they take",
        "longest; noise kept in tables; and counting a table of 10⁷ rows of 10⁶ users, which uses all cores, as its",
        "peer does.",
        "",
        "| | here | ratio | of |",
        "|---|--:|--:|---|",
    ]
    for one in found:
        peer, ratio = next(((name, f"{value:.2f}") for name, value in one.ratios.items()), ("", ""))
        lines.append(f"| {one.name} | {readable(one.own)} | {ratio} | {peer} |")
    return [*lines, ""]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.beyond", description=__doc__)
    parser.add_argument("--no-counting", action="store_true", help="leave out what takes a minute")
    for case in cases(not parser.parse_args().no_counting):
        compared = "".join(f"  {ratio:.2f} of {peer}" for peer, ratio in case.ratios.items())
        print(f"{case.name:<56} {readable(case.own):>10}{compared}", flush=True)
