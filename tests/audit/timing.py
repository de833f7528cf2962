"""How much the time, and the bytes of entropy, of one release tell of one person: ``python -m tests.audit.timing``.

For each mechanism, number of candidates and shape of scores there are two neighbours, of which one has one count more.
Both take turns. From one half of the turns a rule is learned that guesses the neighbour from what one release took; on
the other half its advantage is measured, the difference of the probabilities with which it says yes. The bytes are
those asked of the operating system; the time is the processor's, so that other processes hardly count.

With names of mechanisms or numbers of candidates behind it, the command measures these alone.
"""

import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from unittest import mock

import numpy as np
from numpy.typing import NDArray

import opendp_topk as tk

K, SCALE = 5, 10**4
SIZES = (100, 3_000, 40_000, 300_000)
WORK = 2.0  # seconds for each pair, but
FEWEST, MOST = 120, 3_000  # turns
PARTS = 8  # quantiles of times among which a rule tells

Space = tuple[tk.VectorDomain, tk.LInfDistance]
Make = Callable[[Space], tk.Measurement]


def mechanisms() -> dict[str, Make]:
    """What is measured, by name."""
    pure, zcdp = tk.MaxDivergence(), tk.ZeroConcentratedDivergence()
    exponential, laplace = tk.noise.Exponential(), tk.noise.Laplace()
    return {
        "one-shot Gumbel": lambda space: tk.make_report_noisy_top_k(*space, zcdp, k=K, scale=SCALE),
        "one-shot Laplace": lambda space: tk.make_report_noisy_top_k(*space, pure, k=K, scale=SCALE, noise=laplace),
        "with gaps": lambda space: tk.make_noisy_top_k_with_gaps(*space, pure, k=K, scale=SCALE),
        "peeled": lambda space: tk.make_peeled_top_k(*space, pure, k=K, scale=SCALE, mechanism="permute_and_flip"),
        "canonical": lambda space: tk.make_canonical_top_k(*space, pure, k=K, scale=SCALE, noise=tk.noise.Gumbel()),
        "canonical exponential": lambda space: tk.make_canonical_top_k(
            *space, pure, k=K, scale=SCALE, noise=exponential
        ),
        "joint set": lambda space: tk.make_joint_top_k(*space, pure, k=K, scale=SCALE, release="set"),
        "joint ranking": lambda space: tk.make_joint_top_k(*space, pure, k=K, scale=SCALE, release="ranking"),
    }


def pairs(d: int) -> Iterator[tuple[str, NDArray[np.int64], NDArray[np.int64]]]:
    """Neighbours of each shape."""
    ascending = np.arange(d) // 4
    peak = np.zeros(d, dtype=np.int64)
    peak[d // 2] = 10**6
    for name, scores, place in (
        ("ascending", ascending, 0),
        ("equal", np.zeros(d, dtype=np.int64), 0),
        ("sorted but one", _raised(ascending, 0), d // 2),
        ("one peak", peak, 0),
        ("random", np.random.default_rng().integers(0, d, d), 0),
    ):
        yield name, scores.copy(), _raised(scores, place)  # both written: unwritten zeros are one page


def _raised(scores: NDArray[np.int64], place: int) -> NDArray[np.int64]:
    scores = scores.copy()
    scores[place] += 1
    return scores


def taken(measurement: tk.Measurement, scores: NDArray[np.int64]) -> tuple[float, int]:
    """The processor's time, and the bytes of entropy, of one release."""
    read, sizes = os.urandom, []

    def counted(size: int) -> bytes:
        sizes.append(size)
        return read(size)

    with mock.patch("os.urandom", counted):
        start = time.process_time()
        measurement(scores)
        return time.process_time() - start, sum(sizes)


def observed(measurement: tk.Measurement, pair: tuple[NDArray[np.int64], NDArray[np.int64]]) -> NDArray[np.float64]:
    """What releases took, in turns: shape (turns, 2 neighbours, time and bytes).

    Both lie in the same memory, one after the other: of two places one may be read faster, whatever it holds.
    """
    measurement(pair[0])
    each = max(taken(measurement, scores)[0] for scores in pair)
    turns = 2 * (min(max(int(WORK / (2 * each + 1e-9)), FEWEST), MOST) // 2)
    found, scores = np.empty((turns, 2, 2)), np.empty_like(pair[0])
    for turn in range(turns):
        for which in (0, 1) if turn % 2 else (1, 0):
            scores[:] = pair[which]
            found[turn, which] = taken(measurement, scores)
    return found


def advantage(seen: NDArray[np.float64], parts: int | None) -> float:
    """The held-out advantage of a rule learned from half of ``seen``, shape (turns, 2), of ``parts`` quantiles
    or of values.

    Halves take turns in pairs, learn from each other, and the mean of both counts.
    """
    half = np.arange(len(seen)) // 2 % 2 == 0
    return float(np.mean([_held_out(seen[half], seen[~half], parts), _held_out(seen[~half], seen[half], parts)]))


def _held_out(learned: NDArray[np.float64], tested: NDArray[np.float64], parts: int | None) -> float:
    edges = np.unique(learned) if parts is None else np.unique(np.quantile(learned, np.linspace(0, 1, parts + 1)[1:-1]))

    def shares(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(np.searchsorted(edges, values), minlength=len(edges) + 1) / len(values)

    says = shares(learned[:, 1]) > shares(learned[:, 0])
    return float((shares(tested[:, 1]) - shares(tested[:, 0]))[says].sum())


def allowed(measurement: tk.Measurement) -> float:
    """The largest advantage that the privacy of the output allows, over neighbours with one count more."""
    loss = measurement.map(1)
    if measurement.output_measure == tk.MaxDivergence():
        return math.tanh(loss / 2)
    return math.sqrt(loss / 2)  # Pinsker's inequality, of a divergence of at most rho


def main(chosen: list[str]) -> None:
    """Print a row for each mechanism, number of candidates and shape, and the largest advantages at the end."""
    sizes = [int(word) for word in chosen if word.isdigit()] or SIZES
    names = [word for word in chosen if not word.isdigit()] or list(mechanisms())
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
    shapes = [name for name, _, _ in pairs(8)]
    print("| mechanism | d | allowed | " + " | ".join(shapes) + " |")
    print("| --- | --: | --: |" + " --: |" * len(shapes))
    for name in names:
        measurement = mechanisms()[name](space)
        for d in sizes:
            cells = []
            for _, *pair in pairs(d):
                found = observed(measurement, (pair[0], pair[1]))
                cells.append(f"{advantage(found[:, :, 1], None):.2f} / {advantage(found[:, :, 0], PARTS):.2f}")
            print(f"| {name} | {d:,} | {allowed(measurement):.4f} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
