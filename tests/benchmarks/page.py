"""``python -m tests.benchmarks.page``: write docs/benchmarks.md, and say which ratios are worse than those it had.

Every row is of one run, own and peers in turns: the median of each time, and the medians of the ratios turn by turn. A
ratio that is more than 1.3 times the stored one is reported, and makes the exit code 1; ``--check`` writes nothing.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import bench_types, beyond
from .bench_race import _thread_seconds, ranking, shapes
from .beyond import Case
from .timing import readable, seconds

ROOT = Path(__file__).resolve().parents[2]
PAGE, STORED, PLOT = (ROOT / "docs" / f"benchmarks.{suffix}" for suffix in ("md", "json", "svg"))
WORSE = 1.3
_WINNERS = (1, 10, 100, 1000)
_SHAPE = "uniform"
_TURNS = {10: 101, 100: 101, 1000: 51, 10**4: 21, 10**5: 9, 10**6: 5}


@dataclass(frozen=True)
class Row:
    """One case: the median time of a release, and of each peer the median of the ratios own / peer."""

    shape: str
    d: int
    k: int
    own: float
    ratios: dict[str, float]

    @property
    def name(self) -> str:
        """The name under which its ratios are stored."""
        return f"{self.shape}, d = {self.d}, k = {self.k}"


def rows(most: int) -> Iterator[Row]:
    """All shapes, sizes up to 10^most, and numbers of winners below the size."""
    for power in range(1, most + 1):
        for shape, x in shapes(10**power).items():
            yield from (row(shape, x, k) for k in _WINNERS if k < len(x))


def row(shape: str, x: Any, k: int) -> Row:
    """The release of k of the scores x against the same without noise, with inexact noise, and one plain pass."""
    measurement, d, generator = ranking(x, k), len(x), np.random.default_rng(0)

    def inexact() -> Any:
        noisy = x + generator.exponential(10.0, d)
        best = np.argpartition(noisy, -k)[-k:]
        return best[np.argsort(-noisy[best])]

    peers: dict[str, Callable[[], Any]] = {
        "argpartition": lambda: np.argpartition(x, -k)[-k:],
        "inexact": inexact,
        "max": lambda: np.max(x),
    }
    measurement(x)
    turns = [[_thread_seconds(call) for call in (lambda: measurement(x), *peers.values())] for _ in range(_turns(d))]
    ratios = {
        name: statistics.median(turn[0] / turn[at] for turn in turns if turn[at]) for at, name in enumerate(peers, 1)
    }
    return Row(shape, d, k, statistics.median(turn[0] for turn in turns), ratios)


def _turns(d: int) -> int:
    return _TURNS.get(d, 3)


def against_others() -> Iterator[tuple[str, float, float]]:
    """Name of the case, own time, and the time of another library, which is called once."""
    for width in (10**3, 10**6):
        x = np.random.default_rng(1).integers(0, width, 10**5).astype(np.float64)
        for name, call in _opendp(x):
            yield f"{name}, d = 10^5, k = 10, integers below {width:,}", _own(x, 10), seconds(call)
    x = np.random.default_rng(2).uniform(0, 100, 1000)
    for name, call in _diffprivlib(x):
        yield f"{name}, d = 1,000, k = 1", _own(x, 1), seconds(call)


def _own(x: Any, k: int) -> float:
    measurement = ranking(x, k)
    return statistics.median(seconds(lambda: measurement(x)) for _ in range(9))


def _opendp(x: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    try:
        import opendp.prelude as dp
    except ImportError:
        return
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float)
    peer = dp.m.make_noisy_top_k(*space, dp.max_divergence(), k=10, scale=10.0)
    yield "opendp make_noisy_top_k", lambda: peer(x)


def _diffprivlib(x: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    try:
        from diffprivlib.mechanisms import Exponential
    except ImportError:
        return
    yield "diffprivlib Exponential", lambda: Exponential(epsilon=1, sensitivity=1, utility=x.tolist()).randomise()


def growth(found: Sequence[Row]) -> float:
    """The exponent of d in the time, fitted by least squares to the uniform shape from 10^5 on, k = 10."""
    uniform = [one for one in found if (one.shape, one.k) == (_SHAPE, 10) and one.d >= 10**5]
    points = [(math.log(one.d), math.log(one.own)) for one in uniform]
    return statistics.linear_regression(*zip(*points, strict=True)).slope if len(points) > 1 else math.nan


def worse(found: Sequence[Row | Case], stored: dict[str, dict[str, float]]) -> list[str]:
    """The ratios that are more than 1.3 times what is stored; those against one pass are no promise."""
    return [
        f"{one.name}: {ratio:.2f} of {peer}, and {before:.2f} is stored"
        for one in found
        for peer, ratio in one.ratios.items()
        if peer != "max" and (before := stored.get(one.name, {}).get(peer, math.inf)) * WORSE < ratio
    ]


def markdown(
    found: Sequence[Row], further: Sequence[Case], others: Sequence[tuple[str, float, float]], most: int
) -> str:
    """The page."""
    x = shapes(10 ** min(most, 7))[_SHAPE]
    held = bench_types.held(ranking(x, 10), x) / 2**20
    lines = [
        "# Benchmarks",
        "",
        "Written by `python -m tests.benchmarks.page` in one run, own and peers in turns, on one thread; medians. A",
        f"ratio below 1 is faster than the peer. NumPy is {np.__version__}. `--check` reports every ratio that is more",
        f"than {WORSE} times the one that is stored beside this page.",
        "",
        "The peers: `np.argpartition`, which finds the k largest scores without noise; the same with inexact noise,",
        "`numpy.random`'s exponential in float64; and `np.max`, one plain pass over the scores.",
        "",
        "![The time of a release against the number of scores](benchmarks.svg)",
        "",
        f"From 10⁵ scores on, the time of uniform scores grows like d to the power {growth(found):.2f}. A release from",
        f"10⁷ of them holds {held:.1f} MiB beside the scores.",
        "",
    ]
    for k in _WINNERS:
        lines += [f"## k = {k}", "", "| scores | d | a release | of argpartition | of inexact | of one pass |"]
        lines += ["|---|--:|--:|--:|--:|--:|"]
        lines += [
            f"| {one.shape} | {one.d:,} | {readable(one.own)} | {one.ratios['argpartition']:.2f} | "
            f"{one.ratios['inexact']:.2f} | {one.ratios['max']:.2f} |"
            for one in found
            if one.k == k
        ]
        lines.append("")
    lines += bench_types.markdown(list(bench_types.rows(10**most)), 10**most)
    lines += beyond.markdown(further)
    lines += ["## Other libraries", "", "| | here | there | times |", "|---|--:|--:|--:|"]
    lines += [f"| {name} | {readable(own)} | {readable(peer)} | {peer / own:,.0f} |" for name, own, peer in others]
    return "\n".join([*lines, ""])


def draw(found: Sequence[Row]) -> None:
    """Time against d, for k = 10 and uniform scores."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    shown = [one for one in found if (one.shape, one.k) == (_SHAPE, 10)]
    figure, axes = pyplot.subplots(figsize=(7, 4))
    axes.loglog([one.d for one in shown], [one.own for one in shown], marker="o", label="this library")
    for peer in ("argpartition", "inexact", "max"):
        axes.loglog([one.d for one in shown], [one.own / one.ratios[peer] for one in shown], marker=".", label=peer)
    axes.set(xlabel="scores", ylabel="seconds", title="A release of the 10 best of uniform scores")
    axes.legend()
    with matplotlib.rc_context({"svg.hashsalt": "benchmarks"}):
        figure.savefig(PLOT, metadata={"Date": None}, bbox_inches="tight")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all cases; the exit code is 1 where a ratio is worse than the stored one."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.page", description=main.__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--most", type=int, default=7, metavar="N", help="up to 10^N scores; 8 needs 10 GiB of memory")
    options = parser.parse_args(arguments)
    found = []
    for one in rows(options.most):
        found.append(one)
        print(f"{one.name:<44} {readable(one.own):>10}  {one.ratios['argpartition']:.2f} of argpartition", flush=True)
    stored = json.loads(STORED.read_text(encoding="utf-8")) if STORED.is_file() else {}
    further = list(beyond.cases())
    every: list[Row | Case] = [*found, *further]
    slower = worse(every, stored)
    print("\n".join(slower) or f"no ratio is more than {WORSE} times the stored one")
    if not options.check:
        PAGE.write_text(markdown(found, further, list(against_others()), options.most), encoding="utf-8")
        kept = {one.name: {name: round(ratio, 3) for name, ratio in one.ratios.items()} for one in every}
        STORED.write_text(json.dumps(stored | kept, indent=1) + "\n", encoding="utf-8")
        draw(found)
    return int(bool(slower))


if __name__ == "__main__":
    raise SystemExit(main())
