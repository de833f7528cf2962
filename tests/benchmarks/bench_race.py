"""Selections by noise on each score, as ratios against NumPy in the same run; below 1 is faster than the peer.

Times are those of the calling thread, so that other programs disturb the ratios little.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import opendp_topk as tk

from .timing import readable


def shapes(d: int) -> dict[str, np.ndarray]:
    """Six shapes of d scores."""
    generator = np.random.default_rng(0)
    zipf = 1e6 / np.arange(1, d + 1)
    peak = np.zeros(d)
    peak[d // 3] = 1e6
    return {
        "uniform": generator.uniform(0, 1000, d),
        "Zipf, sorted": zipf,
        "Zipf, shuffled": generator.permutation(zipf),
        "equal": np.full(d, 7.0),
        "one peak": peak,
        "normal": generator.normal(0, 100, d),
    }


def ranking(x: Any, k: int, scale: float = 10.0, measure: tk.Measure | None = None, **options: Any) -> tk.Measurement:
    kind = float if x.dtype.kind == "f" else int
    space = tk.VectorDomain(tk.AtomDomain(kind)), tk.LInfDistance(monotonic=True)
    return space >> tk.then_report_noisy_top_k(measure or tk.MaxDivergence(), k=k, scale=scale, **options)


def _thread_seconds(call: Callable[[], Any]) -> float:
    start = time.thread_time()
    call()
    return time.thread_time() - start


def against(own: Callable[[], Any], peer: Callable[[], Any], turns: int = 9) -> tuple[float, float, float]:
    """The median time of each, and the median of the ratios own / peer turn by turn, after one warm-up."""
    own()
    peer()
    pairs = [(_thread_seconds(own), _thread_seconds(peer)) for _ in range(turns)]
    return (
        statistics.median(a for a, _ in pairs),
        statistics.median(b for _, b in pairs),
        statistics.median(a / b for a, b in pairs),
    )


def line(name: str, found: tuple[float, float, float], peer: str, goal: float) -> str:
    own, other, ratio = found
    return f"{name:<58} {readable(own):>10}   {peer:<26} {readable(other):>10} {ratio:>8.2f} of at most {goal:g}"


def large() -> Iterator[str]:
    for d, k, turns in ((10**6, 10, 9), (10**6, 1000, 9), (10**7, 10, 3)):
        for shape, x in shapes(d).items():
            measurement = ranking(x, k)
            found = against(lambda m=measurement, x=x: m(x), lambda x=x, k=k: np.argpartition(x, -k)[-k:], turns)
            goal = 0.25 if d == 10**7 else 1.0 if k == 1000 else 0.8 if shape == "equal" else 0.6
            yield line(f"d = {d:.0e}, k = {k}, {shape}", found, "np.argpartition, no noise", goal)


def passes() -> Iterator[str]:
    """What NumPy itself takes: one plain pass over the scores, and one that checks them, against argpartition."""
    for d, turns in ((10**6, 9), (10**7, 3)):
        for shape, x in shapes(d).items():
            for name, call in (("np.max", lambda x=x: np.max(x)), ("np.isfinite", lambda x=x: np.isfinite(x).all())):
                found = against(call, lambda x=x: np.argpartition(x, -10)[-10:], turns)
                yield line(f"d = {d:.0e}, {shape}, {name}", found, "np.argpartition, no noise", 1.0)


def narrow() -> Iterator[str]:
    """Scores of fewer than 64 bits, against the same numbers of 64 bits."""
    x = shapes(10**7)["uniform"]
    for dtype, wide in ((np.float32, np.float64), (np.int32, np.int64), (np.int16, np.int64), (np.int8, np.int64)):
        few = (x % 100).astype(dtype)
        same, measurement = few.astype(wide), ranking(few, 10)
        found = against(lambda m=measurement, x=few: m(x), lambda m=measurement, x=same: m(x), 5)
        yield line(f"d = 10^7, k = 10, {few.dtype}", found, f"the same as {same.dtype}", 1.0)


def orders() -> Iterator[str]:
    x = np.full(10**4, 7.0)
    ordered, unordered = ranking(x, 1000), ranking(x, 1000, release="set")
    found = against(lambda: ordered(x), lambda: unordered(x))
    yield line("d = 10^4, k = 1000, equal, a ranking", found, "the set", 1.5)


def batches() -> Iterator[str]:
    generator = np.random.default_rng(1)
    for d, k, times in ((10, 3, 10**5), (100, 10, 10**4)):
        for shape, x in (("0..d", np.arange(d)), ("equal", np.zeros(d, dtype=np.int64))):
            measurement = tk.make_repeat(ranking(x, k, 10.0, tk.ZeroConcentratedDivergence()), times=times)

            def inexact(x: Any = x, k: int = k, size: tuple[int, int] = (times, d)) -> Any:
                y = x + generator.gumbel(0, 10, size)
                best = np.argpartition(y, -k, axis=1)[:, -k:]
                return np.take_along_axis(best, np.argsort(-np.take_along_axis(y, best, 1), axis=1), 1)

            found = against(lambda m=measurement, x=x: m(x), inexact, 7)
            yield line(f"{times} rankings of {k} of {d}, {shape}", found, "NumPy, inexact", 6)


def each() -> Iterator[str]:
    """One release on each of many short vectors, as an array, and as a list of arrays of several lengths."""
    generator, races = np.random.default_rng(2), 10**5
    table = generator.poisson(30, (races, 10))
    ragged = [row[: 6 + i % 5] for i, row in enumerate(table)]
    function: Any = ranking(table[0], 3, 10.0, tk.ZeroConcentratedDivergence()).function

    def inexact() -> Any:
        y = table + generator.gumbel(0, 10, table.shape)
        best = np.argpartition(y, -3, axis=1)[:, -3:]
        return np.take_along_axis(best, np.argsort(-np.take_along_axis(y, best, 1), axis=1), 1)

    for name, vectors in (("an array", table), ("a list, five lengths", ragged)):
        found = against(lambda v=vectors: function.each(v), inexact, 5)
        yield line(f"a ranking of 3 in each of 10^5 vectors, {name}", found, "NumPy, inexact, of 10 each", 6)


def small() -> Iterator[str]:
    for d in (10, 100):
        x = np.arange(d)
        measurement = ranking(x, 3, 1.0)
        calls = {
            "one call": (lambda m=measurement, x=x: m(x), 25e-6),
            "its map, asked again": (lambda m=measurement: m.map(1), 5e-6),
            "its constructor, and its map once": (lambda x=x: ranking(x, 3, 1.0).map(1), 65e-6),
            "its constructor": (lambda x=x: ranking(x, 3, 1.0), 60e-6),
        }
        for name, (call, goal) in calls.items():
            call()
            spent = statistics.median(
                _thread_seconds(lambda c=call: [c() for _ in range(200)]) / 200 for _ in "12345678"
            )
            yield f"{f'd = {d}, k = 3, {name}':<58} {readable(spent):>10}   of at most {readable(goal)}"


def peeling() -> Iterator[str]:
    for shape in ("uniform", "normal"):
        x = shapes(10**6)[shape]
        space = tk.VectorDomain(tk.AtomDomain(float)), tk.LInfDistance(monotonic=True)
        peeled = space >> tk.then_peeled_top_k(tk.MaxDivergence(), k=10, scale=10.0, mechanism="permute_and_flip")
        once = ranking(x, 1)
        found = against(lambda m=peeled, x=x: m(x), lambda m=once, x=x: [m(x) for _ in range(10)], 5)
        yield line(f"d = 10^6, peeled permute-and-flip, k = 10, {shape}", found, "ten single choices", 1.0)


def start() -> Iterator[str]:
    def child(*arguments: str) -> float:
        before = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - before

    for name, arguments, goal in (
        ("import opendp_topk", ("-c", "import opendp_topk"), 1.5),
        ("opendp-topk --help", ("-m", "opendp_topk.cli", "--help"), 3.0),
    ):
        pairs = [(child(*arguments), child("-c", "import numpy")) for _ in range(7)]
        own, peer = (statistics.median(pair[side] for pair in pairs) for side in (0, 1))
        yield line(name, (own, peer, statistics.median(a / b for a, b in pairs)), "import numpy", goal)


def rows() -> Iterator[str]:
    for section in (small, start, orders, batches, each, peeling, passes, narrow, large):
        yield from section()


if __name__ == "__main__":
    for text in rows():
        print(text, flush=True)
