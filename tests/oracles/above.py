"""The law of answers above a threshold, by quadrature over the noise of the threshold, and those of versions that leak.

Given the threshold's noise the answers are independent, so a sequence of answers has the integral of a product of
distribution and survival functions. Integrals are Gauss-Legendre sums in float64 between the kinks.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Answers = tuple[bool, ...]
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_FAR = 45.0
"""Beyond it, in scales, every density is below exp(-44)."""


def _logistic(z: Floats) -> Floats:
    return np.exp(-np.logaddexp(0, -z))


DENSITY: dict[str, Callable[[Floats], Floats]] = {
    "Gumbel": lambda z: np.exp(-z - np.exp(-np.maximum(z, -6.5))) * (z > -6.5),
    "Exponential": lambda z: np.where(z >= 0, np.exp(-np.abs(z)), 0.0),
    "HalfLogistic": lambda z: np.where(z >= 0, 2 * np.exp(-np.abs(z)) / (1 + np.exp(-np.abs(z))) ** 2, 0.0),
    "Laplace": lambda z: np.exp(-np.abs(z)) / 2,
    "Logistic": lambda z: np.exp(-np.abs(z)) / (1 + np.exp(-np.abs(z))) ** 2,
}
SURVIVAL: dict[str, Callable[[Floats], Floats]] = {
    "Gumbel": lambda z: -np.expm1(-np.exp(-np.maximum(z, -50))),
    "Exponential": lambda z: np.exp(-np.maximum(z, 0)),
    "HalfLogistic": lambda z: 2 * _logistic(-np.maximum(z, 0)),
    "Laplace": lambda z: np.where(z > 0, np.exp(-np.abs(z)) / 2, 1 - np.exp(-np.abs(z)) / 2),
    "Logistic": lambda z: _logistic(-z),
}


def probabilities(
    name: str, leads: Sequence[float], scale: float, other: float, outcomes: Sequence[Answers], *, shared: bool = True
) -> Floats:
    """The probability of each sequence of answers to questions about scores that are ``leads`` above the threshold.

    ``shared`` says that the noise of the threshold is drawn once; else it is drawn for every question.
    """
    z, weights = _grid(name, tuple(lead / other for lead in leads), scale / other)
    above = np.array([SURVIVAL[name]((other * z - lead) / scale) for lead in leads])
    below = np.array([_distribution(name, (other * z - lead) / scale) for lead in leads])
    if not shared:
        alone = above @ weights
        return np.array([np.prod([p if a else 1 - p for a, p in zip(h, alone, strict=False)]) for h in outcomes])
    factors = [[above[j] if answer else below[j] for j, answer in enumerate(outcome)] for outcome in outcomes]
    return np.array([np.prod(one, axis=0) @ weights for one in factors])


def sequences(questions: int, k: int) -> list[Answers]:
    """All sequences of answers to so many questions that end with the k-th True, if there is one."""
    open_: list[Answers] = [()]
    found = []
    for _ in range(questions):
        grown = [(*one, answer) for one in open_ for answer in (False, True)]
        found += [one for one in grown if sum(one) == k]
        open_ = [one for one in grown if sum(one) < k]
    return found + open_


def law(name: str, leads: Sequence[float], scale: float, other: float, k: int) -> dict[Answers, float]:
    """The law of the answers to one question about each score, in order, up to the k-th True."""
    outcomes = sequences(len(leads), k)
    return dict(zip(outcomes, probabilities(name, leads, scale, other, outcomes).tolist(), strict=True))


def _distribution(name: str, z: Floats) -> Floats:
    if name == "Exponential":
        return -np.expm1(-np.maximum(z, 0))
    if name == "HalfLogistic":
        return np.tanh(np.maximum(z, 0) / 2)
    if name == "Gumbel":
        return np.exp(-np.exp(-np.maximum(z, -6.5))) * (z > -6.5)
    return SURVIVAL[name](-z)


def _grid(name: str, kinks: tuple[float, ...], finest: float) -> tuple[Any, Any]:
    first = 0.0 if name in ("Exponential", "HalfLogistic") else -7.0 if name == "Gumbel" else -_FAR
    far = max(0.0, *kinks) + _FAR
    step = min(1.0, finest) / 2
    ends = np.unique(np.concatenate([np.arange(first, far, step), [0.0, far], np.clip(kinks, first, far)]))
    half = np.diff(ends)[:, None] / 2
    z = (ends[:-1, None] + half * (1 + _NODES)).ravel()
    return z, (half * _WEIGHTS).ravel() * DENSITY[name](z)
