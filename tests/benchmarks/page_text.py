"""The page of the benchmarks: what it says of the cases that were measured, and its plots."""

from __future__ import annotations

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
    as_it_is: list[Case]
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


def markdown(found: Found) -> str:
    """The page."""
    beside, power = found.held
    size = found.types[0].case.name.split(", ")[1].removeprefix("d = ")
    lines = [
        "# Benchmarks",
        "",
        "Written by `python -m tests.benchmarks.page` in one run, own and peers in turns, on one thread; medians. A",
        f"ratio below 1 is faster than the peer. NumPy is {np.__version__}. `--check` reports every ratio that is more",
        f"than {WORSE} times the one that is stored beside this page, also when measured once more.",
        "Memory that is freed is kept by the process, so that no peer pays for fresh pages whenever it makes an array.",
        f"There are {os.cpu_count()} processors; the load was {os.getloadavg()[0]:.1f} at the end, 1 of it this run's.",
        "",
        f"NumPy sorts and partitions with the vector instructions that it finds: here {_found()}. Without X86_V3",
        "(`NPY_DISABLE_CPU_FEATURES=X86_V3`) its sort of 10⁶ uniform scores takes six times, its partition twice",
        "as long, and ratios to them are as much smaller.",
        "",
        "The peers: `np.argpartition`, which finds the k largest scores without noise; the same with inexact noise,",
        "`numpy.random`'s exponential in float64; and `np.max`, one plain pass over the scores.",
        "",
        "![The time of a release against the number of scores, and the ratio to argpartition](benchmarks.svg)",
        "",
        f"From 10⁵ scores on, the time of uniform scores grows like d to the power {growth(found.one_shot):.2f}. A",
        f"release from 10^{power} of them holds {beside / 2**20:.1f} MiB beside the scores.",
        "",
    ]
    for k in WINNERS:
        lines += _one_shot(found.one_shot, k)
    lines += bench_types.markdown(found.types, int(size))
    lines += [*_GOALS, *goals.markdown([*found.one_shot.values(), *found.goals])]
    lines += [*_AS_IT_IS, *goals.markdown(found.as_it_is)]
    return "\n".join([*lines, *_OTHERS, *_others(found.others), "", *_SWEEP, ""])


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

What the speed is held to, as ratios to a peer or as times: `python -m tests.benchmarks.goals` measures these rows
alone. Sets, rankings and gaps take a plain sort of the same scores as their peer, and are at scale 10 where no other is
named; joint ones of many winners are at the scale where they take longest. Counting a table of 10⁷ rows of 10⁶ users
uses all cores, as its peer does. A call, a map or a constructor is in turns with a sort of ten numbers, so that its
ratio can be compared between machines.
""".splitlines()

_AS_IT_IS = """### Where memory is not kept

The above is measured where freed memory is kept, in favour of peers that make large arrays. Left to itself the C
library gives some of it back, so that `np.argpartition` pays for the pages of a whole index, as in the only call of a
program. These are one-shot releases in such a process.
""".splitlines()

_OTHERS = """## Other libraries

Each in turns with this library's release of the same law from the same scores, one thread each. OpenDP 0.16 is as
exact as this library; diffprivlib 0.6.6 computes in float64, has no top-k, and takes the scores when the mechanism is
made, so that its time is that of making it and of one release. It runs in a process and an environment of its own, and
converting scores to the list that it wants is not counted.

The code of the papers cannot be installed: what there is of it are files of experiments beside the papers, in no
package registry. OpenDP's `make_noisy_top_k` is the exception, since its proof is one of the sources. In place of the
others stand their formulas in inexact NumPy: noise of the same law in float64 and `np.argpartition`, above.

| | here | there | times |
|---|--:|--:|--:|
""".splitlines()


_SWEEP = """## The sweep

`python -m tests.benchmarks.sweep` looks for parameters that take much longer than others: each mechanism, nine shapes
of scores, d from 10 to 10⁵, k from 1 to 1000, scales from 10⁻⁶ to 10⁶. A cell is all cases of a mechanism with the same
d and k. Held to at most 20 times the median of the cell; what takes less than 20 ms does not count. Processor's time of
all cases, of batches of every seventh; a batch is of 100 releases.

| mechanism | cases | median | most, in medians of its cell | |
|---|--:|--:|--:|---|
| one-shot, five noises | 9,360 | 0.30 ms | none reaches 20 ms | met |
| with gaps | 1,872 | 0.60 ms | none reaches 20 ms | met |
| peeled, exponential | 1,872 | 0.28 ms | none reaches 20 ms | met |
| peeled, permute-and-flip | 1,872 | 1.8 ms | 1.6 | met |
| canonical, Laplace noise | 1,872 | 0.51 ms | none reaches 20 ms | met |
| canonical, exponential noise | 1,872 | 0.55 ms | none reaches 20 ms | met |
| joint rankings | 1,872 | 0.54 ms | 11 | met |
| joint sets | 1,872 | 0.84 ms | 62 (among scores 1e5 / rank, d = 10⁴, k = 1000, scale 1/10: 0.27 s) | missed |
| select, then count | 1,872 | 0.37 ms | none reaches 20 ms | met |
| batches of rankings | 268 | 23 ms | 2.0 | met |
| batches of rankings, Gumbel | 268 | 24 ms | 2.0 | met |
| batches of joint sets | 268 | 18 ms | 15 | met |

Before, batches of Gumbel races at d = 10⁴ took up to 55 times the median of their cell at k = 300 and 37 times at
k = 1000, and a joint set of 20,000 among 10⁶ did not end in 200 s. Of the 1,872 joint sets six are above 20 medians,
all of k from 100 to 1000 at scales 1/10 and 1, and none takes longer than 0.4 s.
At one scale time grows in k by steps: of sets among 10⁶ scores 1e6 / rank at scale 1/10, 500 and 1000 take 0.01 s, 2000
1.4 s, 5000 1.5 s, 10,000 2.2 s and 20,000 2.3 to 2.9 s. At the scale 1e6 / k², where they are slowest, beside other
work, 1000 take 0.4 s, 5000 4 s, 10,000 14 s and 20,000 45 s. The number of candidates hardly matters
where few of them are near: 1000 of 10⁴ or 10⁵ take 0.05 s, too.
""".rstrip().splitlines()


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
