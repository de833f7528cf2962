"""What probabilities of success cost, by proved formulas."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import opendp_topk as tk

from .timing import best_of_batches, row


def rows() -> Iterator[str]:
    """All of them."""
    yield from success()
    yield from success_of_sets()


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
