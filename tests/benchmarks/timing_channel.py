"""How much the time of a release tells about the scores: ``python -m tests.benchmarks.timing_channel FILE.png``.

Three kinds of scores take turns: flat (all equal), peaked (k scores far above the others), and the neighbour of the
peaked ones in which the k-th and the next score are tied. The plot shows medians, with the span from the first to the
ninth decile; the table their ratios, turn by turn. It is the processor's time, so that other processes do not count.
Needs matplotlib (extra ``plot``).
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import opendp_topk as tk

from .timing import readable

K = 10
TURNS = 41
SIZES = (10**2, 10**3, 10**4, 10**5, 10**6)


def mechanisms() -> dict[str, Callable[[], tk.Measurement]]:
    """What is timed, all with k winners and scale 1."""
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
    zcdp = tk.ZeroConcentratedDivergence()
    return {
        "one-shot Gumbel": lambda: tk.make_report_noisy_top_k(*space, zcdp, k=K, scale=1),
        "canonical": lambda: tk.make_canonical_top_k(*space, zcdp, k=K, scale=1),
        "joint": lambda: tk.make_joint_top_k(*space, zcdp, k=K, scale=1, release="set"),
    }


def shapes(d: int) -> dict[str, np.ndarray]:
    """Scores of each shape."""
    peaked = np.zeros(d, dtype=np.int64)
    peaked[:K] = 10**6
    tied = peaked.copy()
    tied[K] = 10**6
    return {"flat": np.zeros(d, dtype=np.int64), "peaked": peaked, "tied": tied}


def measure(measurement: tk.Measurement, d: int) -> dict[str, list[float]]:
    """The times of each shape, in turns, after a warm-up."""
    scores = shapes(d)
    for values in scores.values():
        measurement(values)
    times: dict[str, list[float]] = {name: [] for name in scores}
    for _ in range(TURNS):
        for name, values in scores.items():
            start = time.process_time()
            measurement(values)
            times[name].append(time.process_time() - start)
    return times


def main(path: str) -> None:
    """Measure, print the table, and write the plot."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(mechanisms()), figsize=(11, 3.6), sharey=True, layout="constrained")
    print(f"{'mechanism':<18} {'d':>8} {'flat':>9} {'peaked':>9} {'tied':>9} {'flat/peaked':>12} {'tied/peaked':>12}")
    for axes, (name, make) in zip(panels, mechanisms().items(), strict=True):
        found = {d: measure(make(), d) for d in SIZES}
        for d, times in found.items():
            medians = [readable(statistics.median(times[shape])) for shape in times]
            ratios = [_ratio(times[shape], times["peaked"]) for shape in ("flat", "tied")]
            print(f"{name:<18} {d:>8} {' '.join(f'{m:>9}' for m in medians)} {ratios[0]:>12.2f} {ratios[1]:>12.2f}")
        _draw(axes, name, found)
    panels[0].set_ylabel("processor time of a release, seconds")
    panels[0].legend(frameon=False)
    figure.savefig(path, dpi=110, metadata={"Software": None})


def _ratio(times: list[float], others: list[float]) -> float:
    return statistics.median(a / b for a, b in zip(times, others, strict=True))


def _draw(axes: Any, name: str, found: dict[int, dict[str, list[float]]]) -> None:
    styles = {"flat": ("o", "#0072b2", 0.9), "peaked": ("s", "#d55e00", 1.0), "tied": ("^", "#009e73", 1.11)}
    for shape, (marker, colour, shift) in styles.items():
        x = [d * shift for d in found]
        middle = [statistics.median(times[shape]) for times in found.values()]
        deciles = [statistics.quantiles(times[shape], n=10) for times in found.values()]
        below = [m - q[0] for m, q in zip(middle, deciles, strict=True)]
        above = [q[-1] - m for m, q in zip(middle, deciles, strict=True)]
        axes.errorbar(x, middle, yerr=[below, above], marker=marker, color=colour, label=shape, lw=1, ms=4, capsize=2)
    axes.set(title=name, xlabel="candidates d", xscale="log", yscale="log")
    axes.grid(alpha=0.25)


if __name__ == "__main__":
    main(sys.argv[1])
