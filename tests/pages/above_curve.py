"""The largest epsilons met above a threshold at a given delta, by analysts whose every question is the best of a grid.

An analyst is a tree: what is asked next, after each sequence of answers. The climb replaces one question after the
other by the best of all scores of a grid, moved or not, given the others; the epsilon at which the analyst meets delta
never falls. What is stated of the analyst found is her law by an oracle that shares no code with the library.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import opendp_topk as tk
from tests.oracles import above as oracle

NOISES = (tk.noise.Gumbel(), tk.noise.Exponential(), tk.noise.HalfLogistic(), tk.noise.Laplace(), tk.noise.Logistic())
DELTAS = (0.1, 0.01, 1e-6)
LEADS = np.arange(-14, 20, 0.25)
"""How far scores that may be asked for are above the threshold."""
_MOVED = 4  # by one: so many steps of the grid
_LENGTHS = {1: (10,), 2: (6, 5)}  # how many questions at most before each true answer
_STARTS, _SWEEPS = 3, 30
Path = tuple[tuple[int, bool], ...]


def ends(lengths: tuple[int, ...]) -> list[Path]:
    """All sequences of answers to the questions of an analyst, who numbers these."""
    found: list[Path] = []
    number = itertools.count()

    def grow(path: Path, left: tuple[int, ...]) -> None:
        for _ in range(left[0] if left else 0):
            question = next(number)
            grow((*path, (question, True)), left[1:])
            path = (*path, (question, False))
        found.append(path)

    grow((), lengths)
    return found


@dataclass(frozen=True)
class Climb:
    """Analysts who look for epsilon at ``delta``, where scores move up by one, or also down; ``way`` exchanges both."""

    noise: str
    k: int
    monotonic: bool
    delta: float

    def largest(self) -> float:
        """The largest epsilon met, both ways."""
        draw = np.random.default_rng(5)
        return max(self._met(way, draw) for way in (1, -1) for _ in range(_STARTS))

    def _met(self, way: int, draw: Any) -> float:
        paths = ends(_LENGTHS[self.k])
        pairs = [(i, i + move) for move in self._moves() for i in range(len(LEADS)) if 0 <= i + move < len(LEADS)]
        lower, upper = np.array(pairs).T[::way]
        asked = draw.integers(0, len(pairs), 1 + max(question for path in paths for question, _ in path))
        weights, factors = _tables(self.noise)
        epsilon = -1.0
        for _ in range(_SWEEPS):
            for question in draw.permutation(len(asked)):
                self._ask_the_best(question, asked, paths, (lower, upper), max(epsilon, 0.0))
            laws = [
                [
                    float(np.prod([weights, *(factors[a][side[asked[q]]] for q, a in path)], axis=0).sum())
                    for path in paths
                ]
                for side in (lower, upper)
            ]
            before, epsilon = epsilon, epsilon_at(self.delta, *laws)
            if epsilon < before + 1e-5:
                break
        return epsilon_at(self.delta, *(self._law([LEADS[side[i]] for i in asked], paths) for side in (lower, upper)))

    def _moves(self) -> tuple[int, ...]:
        return (0, _MOVED) if self.monotonic else (-_MOVED, 0, _MOVED)

    def _ask_the_best(self, question: int, asked: Any, paths: list[Path], sides: Any, epsilon: float) -> None:
        """Change one question so that the sum of (q - e^epsilon p)+ over the ends behind it is as large as may be."""
        weights, factors = _tables(self.noise)
        total = 0.0
        for answer in (True, False):
            behind = [path for path in paths if (question, answer) in path]
            p, q = (
                factors[answer][side]
                @ np.array(
                    [
                        np.prod([weights, *(factors[a][side[asked[n]]] for n, a in path if n != question)], axis=0)
                        for path in behind
                    ]
                ).T
                for side in sides
            )
            total = total + np.maximum(0.0, q - math.exp(epsilon) * p).sum(axis=1)
        best = int(np.argmax(total))
        if total[best] > total[asked[question]]:
            asked[question] = best

    def _law(self, leads: list[float], paths: list[Path]) -> list[float]:
        """The probability of each end, by the oracle."""
        return [
            float(
                oracle.probabilities(self.noise, [leads[q] for q, _ in path], 1.0, 1.0, [tuple(a for _, a in path)])[0]
            )
            for path in paths
        ]


@cache
def _tables(noise: str) -> tuple[Any, dict[bool, Any]]:
    """Weights on a coarse grid of the threshold's noise, and the probability of each answer on each score there."""
    first = 0.0 if noise in ("Exponential", "HalfLogistic") else -6.5 if noise == "Gumbel" else -20.0
    nodes, weights = np.polynomial.legendre.leggauss(4)
    z = (np.arange(first, 32, 0.25)[:, None] + (1 + nodes) / 8).ravel()
    density = oracle.DENSITY[noise](z) * np.tile(weights / 8, len(z) // 4)
    true = np.array([oracle.SURVIVAL[noise](z - lead) for lead in LEADS])
    return density, {True: true, False: np.array([oracle._distribution(noise, z - lead) for lead in LEADS])}


def epsilon_at(delta: float, p: Any, q: Any) -> float:
    """The epsilon >= 0 at which the sum of (q - e^epsilon p)+ is delta; 0 if it is less at once."""
    p, q = np.array(p), np.array(q)
    low, high = 0.0, 50.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(0, q - math.exp(middle) * p).sum() >= delta else (low, middle)
    return low


@dataclass(frozen=True)
class Case:
    """A measurement, and a delta."""

    made: tk.Measurement
    climb: Climb

    @property
    def claimed(self) -> float:
        """What the map claims at d_in = 1."""
        return float(self.made.map(1).epsilon(self.climb.delta))

    @property
    def start(self) -> str:
        """The columns that no search decides."""
        told = f"k={self.climb.k}, noise={self.climb.noise}(), monotonic={self.climb.monotonic}"
        return f"| make_above_threshold | {told} | epsilon at delta = {self.climb.delta:g} | {self.claimed:.6g} |"

    def largest(self) -> float:
        """The largest epsilon met."""
        return self.climb.largest()


def cases() -> Iterator[Case]:
    """Every noise for scores that go one way, exponential noise for others."""
    kinds = [(noise, True) for noise in NOISES] + [(tk.noise.Exponential(), False)]
    for (noise, monotonic), k in itertools.product(kinds, (1, 2)):
        space = tk.VectorDomain(tk.AtomDomain(float)), tk.LInfDistance(monotonic=monotonic), tk.PrivacyProfile()
        made = tk.make_above_threshold(*space, threshold=0, scale=1, noise=noise, k=k)
        for delta in DELTAS:
            yield Case(made, Climb(noise.name, k, monotonic, delta))


HEADER = """
## Curves of conversations about a threshold

The largest epsilon that an analyst reaches at a given delta, with d_in = 1 and scale = threshold_scale = 1, found by
hill climbing over analysts who ask up to ten queries (k = 1), or six and then five (k = 2), with scores on a grid. The
claimed curve is the least of three: that of two Laplace distributions with largest loss epsilon, that of the range and
that of the rho. Here it is the first, epsilon + 2 ln(1 - delta). It is tight as delta goes to 0: some transcripts have
nearly the loss epsilon, but for no analyst found are they as likely as under Laplace distributions. With Gumbel and
logistic noise they cannot be ([why](#what-was-tried-at-the-loosest-maps)).
"""
