"""The page of the benchmarks: what it says of the cases that were measured, and its plots."""

import math
import os
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from . import bench_types, goals
from .bench import WORSE, Case
from .one_shot import WINNERS, Spot
from .shapes import SHAPES, ranking, scores
from .timing import readable

_SHAPE = "uniform"
_PEERS = {"argpartition": "np.argpartition", "inexact": "inexact noise", "max": "np.max"}


@dataclass(frozen=True)
class Found:
    """All that was measured, and the bytes that a release from 10^power scores holds beside them, with that power."""

    one_shot: Mapping[Spot, Case]
    types: list[bench_types.Row]
    goals: list[Case]
    others: list[Case]
    held: tuple[int, int]

    def cases(self) -> Iterator[Case]:
        """Whatever has ratios."""
        yield from self.one_shot.values()
        yield from (row.case for row in self.types)
        yield from self.goals
        yield from self.others


def held(power: int) -> tuple[int, int]:
    """The bytes that a release of 10 of 10^power uniform scores holds beside them, and that power."""
    x = scores(_SHAPE, 10**power)
    return bench_types.held(partial(ranking(x, 10), x)), power


def growth(one_shot: Mapping[Spot, Case]) -> float:
    """The exponent of d in the time, fitted by least squares to the uniform shape from 10^5 on, k = 10."""
    points = [(math.log(spot.d), math.log(case.own)) for spot, case in _line(one_shot, _SHAPE) if spot.d >= 10**5]
    return statistics.linear_regression(*zip(*points, strict=True)).slope if len(points) > 1 else math.nan


def _line(one_shot: Mapping[Spot, Case], shape: str) -> list[tuple[Spot, Case]]:
    return [(spot, case) for spot, case in one_shot.items() if (spot.shape, spot.k) == (shape, 10)]


def markdown(found: Found, before: str) -> str:
    """The page, where it was ``before`` so far."""
    beside, power = found.held
    size = found.types[0].case.name.split(", ")[1].removeprefix("d = ")
    lines = [
        "# Benchmarks",
        "",
        "Medians of one run of `python -m tests.benchmarks.page`, which alternates this library and its peers on one",
        f"thread, with NumPy {np.__version__}. A ratio below 1 is faster than the peer. `--check` reports every ratio",
        f"above {WORSE} times the stored one, after measuring it a second time. The process keeps freed memory, so no",
        f"peer pays for fresh pages. The machine has {os.cpu_count()} processors; its load at the end was",
        f"{os.getloadavg()[0]:.1f}, 1 of it from this run.",
        "",
        f"NumPy sorts and partitions with vector instructions, here {_found()}. Without X86_V3",
        "(`NPY_DISABLE_CPU_FEATURES=X86_V3`), sorting 10⁶ uniform scores takes six times as long and partitioning",
        "twice as long, and the ratios shrink accordingly.",
        "",
        "The peers are `np.argpartition`, which finds the k largest scores without noise; the same with inexact noise,",
        "`numpy.random`'s exponential in float64; and `np.max`, one pass over the scores.",
        "",
        "![The time of a release against the number of scores, and the ratio to argpartition](benchmarks.svg)",
        "",
        f"From 10⁵ uniform scores on, the time grows like d to the power {growth(found.one_shot):.2f}. A release from",
        f"10^{power} of them uses {beside / 2**20:.1f} MiB in addition to the scores.",
        "",
    ]
    for k in WINNERS:
        lines += _one_shot(found.one_shot, k)
    lines += bench_types.markdown(found.types, int(size))
    lines += [*_GOALS, *goals.markdown([*found.one_shot.values(), *found.goals])]
    return "\n".join([*lines, *_OTHERS, *_others(found.others), "", ""]) + "".join(before.partition(SWEEP)[1:])


def _found() -> str:
    return ", ".join(np.show_config(mode="dicts")["SIMD Extensions"]["found"]) or "none"


def _one_shot(one_shot: Mapping[Spot, Case], k: int) -> list[str]:
    rows = [
        f"| {spot.shape} | {spot.d:,} | {readable(case.own)} | "
        f"{' | '.join(f'{case.ratios[peer]:.2f}' for peer in _PEERS)} |"
        for spot, case in one_shot.items()
        if spot.k == k
    ]
    head = "| scores | d | a release | of argpartition | of inexact | of one pass |"
    return [f"## k = {k}", "", head, "|---|--:|--:|--:|--:|--:|", *rows, ""]


def _others(cases: list[Case]) -> list[str]:
    return [
        f"| {case.name} | {readable(case.own)} | {readable(case.own / ratio)} | {_times(1 / ratio)} |"
        for case in cases
        for ratio in case.ratios.values()
    ]


def _times(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}"


_GOALS = """## Goals

Performance targets, as ratios to a peer or as times; `python -m tests.benchmarks.goals` measures only these rows. The
peer of sets, rankings and gaps is a plain sort of the same scores. Their default scale is 10; joint releases of many
winners use the scale at which they are slowest. Counting 10⁷ rows of 10⁶ users uses all cores, as its peer does. A
call, a map or a constructor is compared with a sort of ten numbers, which makes the ratio comparable between
machines.
""".splitlines()

SWEEP = "## The sweep\n"
"""What the page has from here on is written by hand, and stays."""
_OTHERS = """## Other libraries

Each row alternates with this library's release from the same output distribution and scores, on one thread. OpenDP
0.16 is as exact as this library. diffprivlib 0.6.6 computes in float64, has no top-k and takes the scores in its
constructor, so its time includes the constructor. It runs in a separate process and environment; converting the
scores to a list is not counted.

Except for OpenDP's `make_noisy_top_k`, the code of the papers behind this library is not in a package registry.
Inexact noise, above, replaces it: noise of the same distribution in float64, then `np.argpartition`.

| | here | there | times |
|---|--:|--:|--:|
""".splitlines()


def draw(one_shot: Mapping[Spot, Case], path: Path) -> None:
    """Time against d for uniform scores, and the ratio to argpartition for all shapes; k = 10."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, (times, ratios) = pyplot.subplots(1, 2, figsize=(11, 4), layout="constrained")
    _draw_times(times, _line(one_shot, _SHAPE))
    for shape in SHAPES:
        found = _line(one_shot, shape)
        ratios.loglog([s.d for s, _ in found], [c.ratios["argpartition"] for _, c in found], marker=".", label=shape)
    ratios.axhline(1, color="black", linewidth=0.5)
    ratios.set(xlabel="scores", ylabel="release / np.argpartition", title="All shapes, against no noise at all")
    ratios.legend()
    with matplotlib.rc_context({"svg.hashsalt": "benchmarks"}):
        figure.savefig(path, metadata={"Date": None})


def _draw_times(axes: Any, found: list[tuple[Spot, Case]]) -> None:
    sizes = [spot.d for spot, _ in found]
    axes.loglog(sizes, [case.own for _, case in found], marker="o", label="this library")
    for peer, label in _PEERS.items():
        axes.loglog(sizes, [case.own / case.ratios[peer] for _, case in found], marker=".", label=label)
    axes.set(xlabel="scores", ylabel="seconds", title="A release of the 10 best of uniform scores")
    axes.legend()
