"""The mechanisms with a name of their own, and counts with noise, each alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import opendp_topk as tk

from ..concepts.own_noises import NOISES
from .timing import best_of_batches, row


def rows() -> Iterator[str]:
    """All of them."""
    for section in (named, canonical, joint, counts):
        yield from section()


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
        cases[f"{noise.name}, k = 10"] = tk.then_report_noisy_top_k(pure, k=10, scale=10.0, noise=noise)
    for k in (10, 1000):
        cases[f"ranking with gaps, k = {k}"] = tk.then_noisy_top_k_with_gaps(pure, k=k, scale=10.0)
    for name, partial in cases.items():
        measurement = space >> partial
        yield row(f"d = 10^6, {name}", best_of_batches(lambda m=measurement: m(x), batch=1, turns=5))


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
