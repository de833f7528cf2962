"""Noise on integers and on grids: this library, NumPy's inexact draws, and OpenDP for one value.

Run it alone with ``python -m tests.benchmarks.bench_noise``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

import opendp_topk as tk
from opendp_topk.samplers.integers import discrete_gaussian, discrete_laplace

from .timing import best_of_batches, medians, row, seconds

N = 10**6
SAMPLERS: dict[str, Callable[[Fraction, int], Any]] = {"Laplace": discrete_laplace, "Gaussian": discrete_gaussian}


def rows() -> Iterator[str]:
    """All of them."""
    yield from draws()
    yield from releases()
    yield from large()
    yield from single()


def draws() -> Iterator[str]:
    """10^6 values, table kept."""
    generator = np.random.default_rng(0)
    peers = {"Laplace": generator.laplace, "Gaussian": generator.normal}
    for scale in (10, 1000):
        for name, draw in SAMPLERS.items():

            def ours(draw: Any = draw, scale: int = scale) -> Any:
                return draw(Fraction(scale), N)

            def inexact(draw: Any = peers[name], scale: int = scale) -> Any:
                return draw(0, scale, N)

            yield row(f"10^6 values of {name}, scale {scale}", *_peer(ours, inexact, "NumPy, inexact"))


def releases() -> Iterator[str]:
    """10^6 counts with noise, against float counts with float noise."""
    generator, x = np.random.default_rng(1), np.arange(N)
    for scale in (10.0, 1000.0):
        for name, measurement in _measurements(scale).items():
            draw = generator.laplace if name == "Laplace" else generator.normal

            def inexact(draw: Any = draw, scale: float = scale) -> Any:
                return x + draw(0, scale, N)

            call = partial(measurement, x)
            yield row(f"10^6 counts with {name}, scale {scale:g}", *_peer(call, inexact, "NumPy, inexact"))


def large() -> Iterator[str]:
    """10^4 values each: large scales, fine grids, and scales that nobody used before."""
    x, floats = np.arange(10**4), np.random.default_rng(2).uniform(0, 1, 10**4)
    for name, measurement in _measurements(1e18).items():
        yield row(
            f"a count with {name}, scale 10^18 (of 10^4)", best_of_batches(partial(measurement, x), batch=1) / len(x)
        )
    space = tk.VectorDomain(tk.AtomDomain(float), size=len(floats)), tk.L1Distance()
    grid = space >> tk.then_laplace(tk.MaxDivergence(), scale=1.0, granularity=2.0**-60)
    yield row(
        "a float with Laplace, grid 2^-60 (of 10^4)", best_of_batches(partial(grid, floats), batch=1) / len(floats)
    )
    for name, draw in SAMPLERS.items():
        fresh = [seconds(partial(draw, Fraction(scale, 7), 1000)) for scale in range(101, 116)]
        yield row(f"1000 values of {name}, new scale", sorted(fresh)[len(fresh) // 2])


def single() -> Iterator[str]:
    """One count with noise, in one call."""
    for name, measurement in _measurements(10.0).items():
        own = best_of_batches(partial(measurement, [5]), batch=100)
        peer = _opendp(name)
        if peer is None:
            yield row(f"one count with {name}", own)
        else:
            theirs = best_of_batches(partial(peer, [5]), batch=100)
            yield row(f"one count with {name}", own, "opendp", theirs, theirs / own)


def _measurements(scale: float) -> dict[str, tk.Measurement]:
    integers = tk.VectorDomain(tk.AtomDomain(int))
    return {
        "Laplace": (integers, tk.L1Distance()) >> tk.then_laplace(tk.MaxDivergence(), scale=scale),
        "Gaussian": (integers, tk.L2Distance()) >> tk.then_gaussian(tk.ZeroConcentratedDivergence(), scale=scale),
    }


def _opendp(name: str) -> Any:
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=int))
    if name == "Laplace":
        return dp.m.make_laplace(domain, dp.l1_distance(T=int), scale=10.0)
    return dp.m.make_gaussian(domain, dp.l2_distance(T=int), scale=10.0)


def _peer(own: Callable[[], Any], peer: Callable[[], Any], name: str) -> tuple[float, str, float, float]:
    mine, theirs, ratio = medians(own, peer)
    return mine, name, theirs, ratio


if __name__ == "__main__":
    for line in rows():
        print(line, flush=True)
