"""Noise alone: many values against NumPy's inexact draws, large scales and fine grids, and one value against OpenDP.

Run it alone with ``python -m tests.benchmarks.bench_noise``. Without OpenDP one value is timed alone.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import count
from typing import Any

import numpy as np

import opendp_topk as tk
from opendp_topk.sampling.samplers.integers import discrete_gaussian, discrete_laplace

from .bench import Bench, Goal, measured, printed
from .timing import Timed, thread

N = 10**6
FEWER = 10**4
SAMPLERS: dict[str, Callable[[Fraction, int], Any]] = {"Laplace": discrete_laplace, "Gaussian": discrete_gaussian}


def benches() -> Iterator[Bench]:
    """All of them."""
    for section in (draws, releases, large, fresh, single):
        yield from section()


def draws() -> Iterator[Bench]:
    """10^6 values, table kept."""
    for scale in (10, 1000):
        for name, draw in SAMPLERS.items():
            own = thread(partial(draw, Fraction(scale), N))
            yield Bench(f"10^6 values of {name}, scale {scale}", own, _numpy(name, scale, N), 15, _AS_NUMPY)


def releases() -> Iterator[Bench]:
    """10^6 counts with noise, against float counts with float noise."""
    x, generator = np.arange(N), np.random.default_rng(1)
    for scale in (10.0, 1000.0):
        for name, measurement in _measurements(scale).items():
            draw = generator.laplace if name == "Laplace" else generator.normal
            peer = {"NumPy, inexact": thread(lambda draw=draw, scale=scale: x + draw(0, scale, N))}
            yield Bench(f"10^6 counts with {name}, scale {scale:g}", thread(partial(measurement, x)), peer)


def large() -> Iterator[Bench]:
    """10^4 values each, at a large scale and on a fine grid; the time is that of one value."""
    x, floats = np.arange(FEWER), np.random.default_rng(2).uniform(0, 1, FEWER)
    for name, measurement in _measurements(1e18).items():
        yield _one_of_many(f"a count with {name}, scale 10^18", partial(measurement, x), name, Goal(2e-6))
    space = tk.VectorDomain(tk.AtomDomain(float), size=FEWER), tk.L1Distance()
    grid = space >> tk.then_laplace(tk.MaxDivergence(), scale=1.0, granularity=2.0**-60)
    yield _one_of_many("a float with Laplace, grid 2^-60", partial(grid, floats), "Laplace", None)


def fresh() -> Iterator[Bench]:
    """10^3 values at a scale that nobody used before."""
    for name, draw in SAMPLERS.items():
        scales = count(101)
        own = thread(lambda draw=draw, scales=scales: draw(Fraction(next(scales), 7), 1000))
        yield Bench(f"1000 values of {name}, new scale", own, _numpy(name, 15, 1000), 15)


def single() -> Iterator[Bench]:
    """One count with noise, in one call."""
    for name, measurement in _measurements(10.0).items():
        peer = _opendp(name)
        peers = {} if peer is None else {"opendp": thread(partial(peer, [5]), 100)}
        goal = None if peer is None else Goal(1.0, "opendp")
        yield Bench(f"one count with {name}", thread(partial(measurement, [5]), 100), peers, 15, goal)


_AS_NUMPY = Goal(0.6, "NumPy, inexact")


def _one_of_many(name: str, call: Callable[[], Any], noise: str, goal: Goal | None) -> Bench:
    own, peers = thread(call), _numpy(noise, 10, FEWER)
    each = {peer: (lambda timed=timed: timed() / FEWER) for peer, timed in peers.items()}
    return Bench(f"{name} (of 10^4)", lambda: own() / FEWER, each, 15, goal)


def _numpy(name: str, scale: int, n: int) -> dict[str, Timed]:
    generator = np.random.default_rng(0)
    draw = generator.laplace if name == "Laplace" else generator.normal
    return {"NumPy, inexact": thread(partial(draw, 0, scale, n))}


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


if __name__ == "__main__":
    list(printed(measured(benches(), {})))
