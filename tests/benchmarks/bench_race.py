"""Selections by noise on each score beside single releases: sets, batches, many vectors, steps and narrow types.

Run it alone with ``python -m tests.benchmarks.bench_race``.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import opendp_topk as tk

from .bench import Bench, Goal, measured, printed
from .shapes import inexact_rows, ranking, scores
from .timing import thread


def benches() -> Iterator[Bench]:
    """All of them."""
    for section in (orders, batches, each, peeling, narrow):
        yield from section()


def orders() -> Iterator[Bench]:
    """The order of many winners among equal scores, against the set of the same."""
    x = np.full(10**4, 7.0)
    ordered, unordered = ranking(x, 1000), ranking(x, 1000, release="set")
    peer = {"the set": thread(partial(unordered, x))}
    yield Bench("a ranking, equal, d = 10000, k = 1000", thread(partial(ordered, x)), peer, 21, Goal(1.5, "the set"))


def batches() -> Iterator[Bench]:
    """Many releases from one vector in one call, against inexact ones in one call."""
    draw = np.random.default_rng(1)
    for d, k, times in ((10, 3, 10**5), (100, 10, 10**4)):
        for shape, x in (("0..d", np.arange(d)), ("equal", np.zeros(d, dtype=np.int64))):
            measurement = tk.make_repeat(ranking(x, k, 10.0, tk.ZeroConcentratedDivergence()), times=times)
            same = np.broadcast_to(x, (times, d))
            peer = {"NumPy, inexact": thread(partial(inexact_rows, same, k, draw.gumbel))}
            name = f"{times} rankings of {k} of {d}, {shape}"
            yield Bench(name, thread(partial(measurement, x)), peer, 7, Goal(6, "NumPy, inexact"))


def each() -> Iterator[Bench]:
    """One release on each of many short vectors, as an array, and as a list of arrays of several lengths."""
    draw, races = np.random.default_rng(2), 10**5
    table = draw.poisson(30, (races, 10))
    ragged = [row[: 6 + i % 5] for i, row in enumerate(table)]
    function: Any = ranking(table[0], 3, 10.0, tk.ZeroConcentratedDivergence()).function
    peer = {"NumPy, inexact": thread(partial(inexact_rows, table, 3, draw.gumbel))}
    for name, vectors in (("an array", table), ("a list, five lengths", ragged)):
        own = thread(partial(function.each, vectors))
        yield Bench(f"a ranking of 3 in each of 10^5 vectors, {name}", own, peer, 5, Goal(6, "NumPy, inexact"))


def peeling() -> Iterator[Bench]:
    """Ten winners one after the other, against ten single choices."""
    space = tk.VectorDomain(tk.AtomDomain(float)), tk.LInfDistance(monotonic=True)
    peeled = space >> tk.then_peeled_top_k(tk.MaxDivergence(), k=10, scale=10.0, mechanism="permute_and_flip")
    for shape in ("uniform", "normal"):
        x = scores(shape, 10**6)
        once = ranking(x, 1)
        peer = {"ten single choices": thread(lambda once=once, x=x: [once(x) for _ in range(10)])}
        name = f"peeled permute-and-flip, {shape}, d = 1000000, k = 10"
        yield Bench(name, thread(partial(peeled, x)), peer, 5)


def narrow() -> Iterator[Bench]:
    """Scores of fewer than 64 bits, against the same numbers of 64 bits."""
    x = scores("uniform", 10**7)
    for dtype, wide in ((np.float32, np.float64), (np.int32, np.int64), (np.int16, np.int64), (np.int8, np.int64)):
        few = (x % 100).astype(dtype)
        same, measurement = few.astype(wide), ranking(few, 10)
        peer = {f"the same as {same.dtype}": thread(partial(measurement, same))}
        yield Bench(f"{few.dtype}, d = 10000000, k = 10", thread(partial(measurement, few)), peer, 5)


if __name__ == "__main__":
    list(printed(measured(benches(), {})))
