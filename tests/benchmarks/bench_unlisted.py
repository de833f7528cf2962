"""How many of the true top 20 come out where nobody lists the keys, beside OpenDP's noisy counts above a threshold.

``python -m tests.benchmarks.bench_unlisted FILE.npy ...``, each file an array of counts, one an item. Epsilon and delta
are for one user who comes or goes; users have at most 1, at most 10, or any number of items.
"""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import opendp_topk as tk

K, DELTA, RUNS = 20, 1e-8, 40
MEASURE = tk.Approximate(tk.MaxDivergence())
Counts = dict[str, int]


def top(counts: Counts) -> set[str]:
    return set(sorted(counts, key=lambda key: (-counts[key], key))[:K])


def unknown_domain(limit: int, epsilon: float, most: int | None) -> Callable[[Counts], Any]:
    space = tk.KeyedCountsDomain(), tk.KeyedCountDistance(most)
    make = partial(tk.then_unknown_domain_top_k, MEASURE, k=K, limit=limit, delta=DELTA)
    found = tk.binary_search_chain(lambda scale: space >> make(scale=scale), 1, (epsilon, DELTA))
    return lambda counts: found(counts).items


def histogram(epsilon: float, most: int) -> Callable[[Counts], Any]:
    space = tk.KeyedCountsDomain(), tk.KeyedCountDistance(most)
    found = tk.binary_search_chain(
        lambda scale: space >> tk.then_stable_histogram(MEASURE, scale=scale, delta=DELTA), 1, (epsilon, DELTA)
    )
    return lambda counts: found(counts).items[:K]


def opendp_threshold(epsilon: float, most: int) -> Callable[[Counts], Any]:
    """The least threshold that OpenDP's map accepts, by bisection."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    metric = dp.l01inf_distance(dp.absolute_distance(T=int))
    space = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T=int)), metric

    def build(threshold: int) -> Any:
        return space >> dp.m.then_laplace_threshold(scale=most / epsilon, threshold=threshold)

    low, high = 1, 10**7
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if build(middle).map((most, most, 1))[1] <= DELTA else (middle, high)
    chosen = build(high)

    def release(counts: Counts) -> list[str]:
        noisy = chosen(counts)
        return sorted(noisy, key=lambda key: -noisy[key])[:K]

    return release


def main(files: list[str]) -> None:
    print("| counts | epsilon | items per user | limit 200 | limit 5000 | histogram | OpenDP |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for file in files:
        array = np.rint(np.load(file)).astype(int).tolist()
        counts = {f"item {i}": count for i, count in enumerate(array) if count > 0}
        for epsilon in (1.0, 0.1):
            for most in (1, 10, None):
                ways = [unknown_domain(limit, epsilon, most) for limit in (200, 5000)]
                ways += [] if most is None else [histogram(epsilon, most), opendp_threshold(epsilon, most)]
                means = [np.mean([len(set(way(counts)) & top(counts)) for _ in range(RUNS)]) for way in ways]
                shown = [f"{mean:.1f}" for mean in means] + ["-"] * (4 - len(means))
                name = Path(file).name.partition(".")[0]
                print(f"| {name} | {epsilon} | {most or 'any'} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
