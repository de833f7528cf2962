"""One table of medians and ratios, all peers in one run: ``python -m tests.benchmarks``.

The inexact NumPy peer adds float64 Gumbel noise and sorts the k largest sums. OpenDP's make_noisy_top_k is
exact up to the rounding of its scale and is timed once a case, since a call takes seconds. A peer that is not
installed is left out.
"""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

import opendp_topk as tk
from opendp_topk.samplers.quantile_tables import table

from ..concepts.own_noises import NOISES
from . import bench_audit, bench_count, bench_groups, bench_ledger, bench_noise, bench_race
from .timing import best_of_batches, medians, row, seconds


def noisy(values: Any, k: int, scale: float, measure: tk.Measure) -> tk.Measurement:
    kind = float if values.dtype.kind == "f" else int
    space = tk.VectorDomain(tk.AtomDomain(kind)), tk.LInfDistance(monotonic=True)
    return space >> tk.then_report_noisy_top_k(measure, k=k, scale=scale)


def against_numpy(d: int = 10**6) -> Iterator[str]:
    generator = np.random.default_rng(0)
    zipf = generator.permutation(1e6 / np.arange(1, d + 1))
    uniform = generator.uniform(0, 1000, d)
    shapes = {
        "uniform in 0..1000, float64": uniform,
        "uniform in 0..1000, int64": uniform.astype(np.int64),
        "uniform in 0..1, float64": generator.uniform(0, 1, d),
        "Zipf, float64": zipf,
        "Zipf, int64": zipf.astype(np.int64),
    }
    for k in (10, 1000):
        for name, x in shapes.items():
            for measure in (tk.MaxDivergence(), tk.ZeroConcentratedDivergence()):
                measurement = noisy(x, k, float(k), measure)

                def inexact(x: Any = x, k: int = k) -> Any:
                    y = x + generator.gumbel(0, k, d)
                    best = np.argpartition(y, -k)[-k:]
                    return best[np.argsort(-y[best])]

                own, peer, ratio = medians(lambda m=measurement, x=x: m(x), inexact)
                noise = measurement.parameters["noise"]
                yield row(f"d = 10^6, k = {k}, {name}, {noise}", own, "NumPy, inexact", peer, ratio)


def against_opendp() -> Iterator[str]:
    try:
        import opendp.prelude as dp
    except ImportError:
        yield "(opendp is not installed: its rows are left out)"
        return
    dp.enable_features("contrib")
    x = np.random.default_rng(1).integers(0, 10**6, 10**5).astype(np.float64)
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float)
    for measure, theirs in (
        (tk.MaxDivergence(), dp.max_divergence()),
        (tk.ZeroConcentratedDivergence(), dp.zero_concentrated_divergence()),
    ):
        ours = noisy(x, 100, 100.0, measure)
        peer = dp.m.make_noisy_top_k(*space, theirs, k=100, scale=100.0)
        own = best_of_batches(lambda m=ours: m(x), batch=5)
        slow = seconds(lambda m=peer: m(x))
        yield row(f"d = 10^5, k = 100, {ours.parameters['noise']}", own, "opendp make_noisy_top_k", slow, slow / own)


def alone() -> Iterator[str]:
    small = np.arange(10)
    for measure in (tk.MaxDivergence(), tk.ZeroConcentratedDivergence()):
        measurement = noisy(small, 3, 1.0, measure)
        duration = best_of_batches(lambda m=measurement: m(small), batch=200)
        yield row(f"d = 10, k = 3, {measurement.parameters['noise']}, one call", duration)
    large = np.random.default_rng(2).uniform(0, 1e4, 10**7)
    measurement = noisy(large, 10, 10.0, tk.MaxDivergence())
    yield row("d = 10^7, k = 10, uniform in 0..10^4, float64", best_of_batches(lambda: measurement(large), batch=1))
    flat = np.zeros(10**6)
    flattest = noisy(flat, 10, 10.0, tk.MaxDivergence())
    yield row("d = 10^6, k = 10, all scores equal", best_of_batches(lambda: flattest(flat), batch=2))


def named() -> Iterator[str]:
    """The mechanisms with a name of their own, at d = 10^6."""
    space = tk.VectorDomain(tk.AtomDomain(float)), tk.LInfDistance(monotonic=True)
    x, pure = np.random.default_rng(3).uniform(0, 1000, 10**6), tk.MaxDivergence()
    cases = {
        "exponential mechanism": tk.then_exponential_mechanism(pure, scale=10.0),
        "permute-and-flip": tk.then_permute_and_flip(pure, scale=10.0),
        "peeled exponential, k = 10": tk.then_peeled_top_k(pure, k=10, scale=10.0, mechanism="exponential"),
        "peeled permute-and-flip, k = 10": tk.then_peeled_top_k(pure, k=10, scale=10.0, mechanism="permute_and_flip"),
    }
    for noise in (tk.HalfLogistic(), tk.Laplace(), tk.Logistic(), NOISES["AsymmetricLaplace"]):
        cases[f"{noise.name}, k = 10"] = tk.then_lipschitz_top_k(pure, k=10, scale=10.0, noise=noise)
    for k in (10, 1000):
        cases[f"ranking with gaps, k = {k}"] = tk.then_noisy_top_k_with_gaps(pure, k=k, scale=10.0)
    for name, partial in cases.items():
        measurement = space >> partial
        yield row(f"d = 10^6, {name}", best_of_batches(lambda m=measurement: m(x), batch=1, turns=5))


def heads(d: int = 10**6) -> Iterator[str]:
    """Canonical and joint sets of ten, against a sort of the scores alone."""
    generator, pure = np.random.default_rng(5), tk.MaxDivergence()
    shapes = {
        "uniform": generator.uniform(0, 1000, d),
        "integers": generator.integers(0, 1000, d),
        "equal": np.zeros(d),
    }
    for name, x in shapes.items():
        kind = float if x.dtype.kind == "f" else int
        space = tk.VectorDomain(tk.AtomDomain(kind)), tk.LInfDistance(monotonic=True)
        for mechanism, partial in {
            "canonical": tk.then_canonical_top_k(pure, k=10, scale=10.0),
            "joint set": tk.then_joint_top_k(pure, k=10, scale=10.0, release="set"),
            "joint ranking": tk.then_joint_top_k(pure, k=10, scale=10.0),
        }.items():
            own, peer, ratio = medians(lambda m=space >> partial, x=x: m(x), lambda x=x: np.sort(x))
            yield row(f"d = 10^6, k = 10, {name}, {mechanism}", own, "np.sort", peer, ratio)


def many_winners(d: int = 2 * 10**5) -> Iterator[str]:
    """Joint sets and rankings of hundreds and thousands, and gaps of as many."""
    generator, pure = np.random.default_rng(6), tk.MaxDivergence()
    place = np.arange(1.0, d + 1)
    shapes = {
        "uniform": generator.uniform(0, 1000, d),
        "normal": generator.normal(0, 100, d),
        "Zipf": 1e6 / place,
        "logarithmic": -100 * np.log(place),
    }
    space = tk.VectorDomain(tk.AtomDomain(float)), tk.LInfDistance(monotonic=True)
    for k in (300, 1000, 5000):
        for name, x in shapes.items():
            for release in ("set", "ranking"):
                measurement = space >> tk.then_joint_top_k(pure, k=k, scale=0.1, release=release)
                duration = best_of_batches(lambda m=measurement, x=x: m(x), batch=1, turns=3)
                yield row(f"joint {release}, d = 2·10^5, k = {k}, {name}", duration)
        gaps = space >> tk.then_noisy_top_k_with_gaps(pure, k=k, scale=10.0)
        duration = best_of_batches(lambda m=gaps, x=shapes["uniform"]: m(x), batch=1, turns=5)
        yield row(f"ranking with gaps, d = 2·10^5, k = {k}", duration)


def canonical() -> Iterator[str]:
    generator = np.random.default_rng(3)
    for d, k, power in ((20_000, 1000, "2·10^4"), (10**6, 100, "10^6")):
        zipf = generator.permutation((1e6 / np.arange(1, d + 1)).astype(np.int64))
        space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        for noise in (tk.Gumbel(), tk.Exponential()):
            measurement = space >> tk.then_canonical_top_k(tk.MaxDivergence(), k=k, scale=10.0, noise=noise)
            duration = best_of_batches(lambda m=measurement, x=zipf: m(x), batch=1, turns=9)
            yield row(f"canonical, d = {power}, k = {k}, Zipf, {noise.name}", duration)


def joint() -> Iterator[str]:
    """Integers uniform in 0..10 d; at the first scale the exact top-k has a probability of about 1/2."""
    cases = (
        ("set", 10**4, 20, 5.75),
        ("ranking", 10**5, 100, 0.144),
    )
    for release, d, k, even in cases:
        x = np.random.default_rng(4).integers(0, 10 * d + 1, d)
        space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        for scale in (even, 100 * even):
            measurement = space >> tk.then_joint_top_k(tk.MaxDivergence(), k=k, scale=scale, release=release)
            duration = best_of_batches(lambda m=measurement, x=x: m(x), batch=1, turns=9)
            yield row(f"joint {release}, d = 10^{len(str(d)) - 1}, k = {k}, scale {scale:g}", duration)


def success() -> Iterator[str]:
    """Probabilities of success, by proved formulas."""
    generator = np.random.default_rng(4)
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
    for d, k, power in ((10**5, 100, "10^5"), (10**6, 10, "10^6")):
        zipf = generator.permutation((1e6 / np.arange(1, d + 1)).astype(np.int64))
        for measure in (tk.MaxDivergence(), tk.ZeroConcentratedDivergence()):
            measurement = space >> tk.then_report_noisy_top_k(measure, k=k, scale=100.0)
            name = measurement.parameters["noise"]
            for event in ("exact", "good"):
                duration = best_of_batches(
                    lambda m=measurement, x=zipf, e=event: m.success_probability(x, e), batch=1, turns=3
                )
                yield row(f"success, d = {power}, k = {k}, Zipf, {name}, {event}", duration)


def success_of_sets() -> Iterator[str]:
    """The same by sums over classes of subsets and over loss levels."""
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
    uniform = np.random.default_rng(4).integers(0, 10**5 + 1, 10**4)
    zipf = (1e6 / np.arange(1, 20_001)).astype(np.int64)
    pure = tk.MaxDivergence()
    cases = {
        "canonical, d = 2·10^4, k = 1000, Gumbel": (tk.then_canonical_top_k(pure, k=1000, scale=0.05), zipf),
        "canonical, d = 2·10^4, k = 10, Exponential": (
            tk.then_canonical_top_k(pure, k=10, scale=1000.0, noise=tk.Exponential()),
            zipf,
        ),
        "joint set, d = 10^4, k = 10": (tk.then_joint_top_k(pure, k=10, scale=5.0, release="set"), uniform),
        "joint ranking, d = 10^4, k = 10": (tk.then_joint_top_k(pure, k=10, scale=5.0), uniform),
    }
    for name, (partial, x) in cases.items():
        measurement = space >> partial
        for event in ("exact", "good"):
            duration = best_of_batches(
                lambda m=measurement, x=x, e=event: m.success_probability(x, e), batch=1, turns=3
            )
            yield row(f"success, {name}, {event}", duration)


def counts() -> Iterator[str]:
    """Noise on many integers, and on those of the winners alone."""
    x = np.arange(10**4)
    vectors = tk.VectorDomain(tk.AtomDomain(int))
    for scale in (10.0, 1e6, 1e20):
        laplace = tk.make_laplace(vectors, tk.L1Distance(), tk.MaxDivergence(), scale=scale)
        gaussian = tk.make_gaussian(vectors, tk.L2Distance(), tk.ZeroConcentratedDivergence(), scale=scale)
        for measurement in (laplace, gaussian):
            duration = best_of_batches(lambda m=measurement: m(x), batch=1, turns=5)
            yield row(f"10^4 integers, {measurement.parameters['mechanism']}, scale {scale:g}", duration)
    million = np.random.default_rng(3).integers(0, 10**6, 10**6)
    space = vectors, tk.LInfDistance(monotonic=True)
    for measure in (tk.MaxDivergence(), tk.ZeroConcentratedDivergence()):
        both = tk.make_select_then_count(*space, measure, k=10, scale=10.0)
        yield row(
            f"d = 10^6, k = 10, winners and counts, {measure!r}", best_of_batches(lambda m=both: m(million), batch=3)
        )


def accounting() -> Iterator[str]:
    """Privacy curves of k adaptive steps, each at a scale that was not asked before; then once more."""
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
    for k in (10, 100, 1000):
        scales = iter(range(10 * k, 20 * k))

        def fresh(k: int = k, scales: Iterator[int] = scales) -> float:
            ranking = space >> tk.then_report_noisy_top_k(tk.PrivacyProfile(), k=k, scale=next(scales))
            epsilon: float = ranking.map(1).epsilon(1e-6)
            return epsilon

        yield row(f"epsilon at delta = 1e-6 of k = {k} winners", best_of_batches(fresh, batch=1, turns=5))


def first_call() -> Iterator[str]:
    """In fresh interpreters, without the import: what building the tables adds to the first release."""
    script = (
        "import time, numpy as np, opendp_topk as tk\n"
        "space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance()\n"
        "m = tk.make_report_noisy_top_k(*space, tk.{}(), k=1, scale=1)\n"
        "x = np.arange(10); start = time.perf_counter(); m(x); print(time.perf_counter() - start)"
    )
    for measure in ("MaxDivergence", "RangeDivergence"):
        runs = [subprocess.check_output([sys.executable, "-c", script.format(measure)]) for _ in range(5)]
        yield row(f"first call in a fresh interpreter, {measure}", sorted(map(float, runs))[2])


def own_noise() -> Iterator[str]:
    """What the first release with a noise of the caller's own adds: a table from its interval quantile."""
    for name, noise in NOISES.items():
        yield row(f"table of a noise of one's own, {name}", seconds(lambda n=noise: table.__wrapped__(n)))


def main() -> None:
    print(f"Python {platform.python_version()}, NumPy {np.__version__}; medians, and medians of ratios turn by turn\n")
    print(f"{'case':<58} {'this':>10}   {'peer':<26} {'peer':>10} {'faster':>12}")
    ours = (
        first_call,
        own_noise,
        alone,
        named,
        heads,
        many_winners,
        canonical,
        joint,
        success,
        success_of_sets,
        counts,
        accounting,
    )
    for section in (*ours, against_numpy, against_opendp):
        for line in section():
            print(line, flush=True)
    for bench in (bench_ledger, bench_audit, bench_race, bench_noise, bench_count, bench_groups):
        for line in bench.rows():
            print(line, flush=True)


if __name__ == "__main__":
    main()
