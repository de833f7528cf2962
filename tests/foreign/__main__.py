"""A hundred runs of the auditor on each sound mechanism, at 99 % family-wise confidence: ``python -m tests.foreign``.

Each run is at level 0.01 / 100; a table shows how many of a hundred exceeded the true cost. Number of samples a run:
the first argument. Mechanisms of libraries that are not installed are left out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import opendp_topk as tk

from .selection import PAIRS, PURE, RANGE, SPACE, ZCDP, diffprivlib_selection, opendp_selection, true_cost

RUNS = 100


def cases() -> Iterator[tuple[str, tk.Measure, Callable[[Any], Any], float]]:
    """Who draws, the measure, the function, and its true cost."""
    for measure in (PURE, RANGE, ZCDP):
        for partial in (
            tk.then_report_noisy_top_k(measure, k=2, scale=1),
            tk.then_permute_and_flip(measure, scale=1),
            tk.then_exponential_mechanism(measure, scale=1),
            tk.then_peeled_top_k(measure, k=2, scale=1, mechanism="permute_and_flip"),
            tk.then_report_noisy_top_k(measure, k=2, scale=1, noise=tk.noise.Laplace()),
            tk.then_noisy_top_k_with_gaps(measure, k=1, scale=1),
        ):
            own = SPACE >> partial
            yield f"opendp_topk {own.parameters['mechanism']}", measure, own, own.map(1)
        for mechanism in ("exponential", "permute-and-flip"):
            for name, function in foreign(mechanism):
                yield f"{name} {mechanism}", measure, function, true_cost(mechanism, measure)


def foreign(mechanism: str) -> Iterator[tuple[str, Callable[[Any], int]]]:
    try:
        import opendp.prelude as dp
    except ImportError:
        pass
    else:
        yield "opendp", opendp_selection(dp, mechanism)
    try:
        from diffprivlib import mechanisms
    except ImportError:
        return
    yield "diffprivlib", diffprivlib_selection(mechanisms, mechanism)


def main() -> None:
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(f"{RUNS} runs of {samples} samples an input, each at confidence 1 - 0.01 / {RUNS}\n")
    print(f"{'function':<36} {'measure':<30} {'true cost':>9} {'largest bound':>14} {'alarms':>7}", flush=True)
    for name, measure, function, cost in cases():
        pairs = [pair for pair in PAIRS if len(pair[0]) > 2]
        bounds = [
            tk.audit.estimate(
                function, *pairs[run % len(pairs)], samples=samples, measure=measure, confidence=1 - 0.01 / RUNS
            )
            for run in range(RUNS)
        ]
        alarms = sum(bound.contradicts(cost) for bound in bounds)
        largest = max(bound.lower for bound in bounds)
        print(f"{name:<36} {measure!r:<30} {cost:>9.4f} {largest:>14.4f} {alarms:>7}", flush=True)


if __name__ == "__main__":
    main()
