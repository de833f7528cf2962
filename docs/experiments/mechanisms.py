"""The mechanisms that the papers compare, each with the scale at which one user costs epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import opendp_topk as tk

from .vectors import Vector

PURE = tk.MaxDivergence()
_MOST_ROUGH = (
    100  # beyond, sums over all ranks between the sure and the last take half a minute a number, or are refused
)


@dataclass(frozen=True)
class Mechanism:
    """``make(k, scale)`` needs the space; at scale 1 a user costs ``choices(k)``. ``most`` is its largest k.

    Those that are not ``main`` differ from one that is by their noise alone.
    """

    name: str
    family: str
    make: Callable[[int, float], Any]
    choices: Callable[[int], float]
    most: float = math.inf
    main: bool = True

    def on(self, vector: Vector, k: int, epsilon: float) -> tk.Measurement:
        """The measurement that costs a user at most epsilon."""
        scale = math.nextafter(self.choices(k) / epsilon, math.inf)
        return vector.space >> self.make(k, scale)

    def chance(self, vector: Vector, k: int, epsilon: float, event: str) -> tk.audit.Enclosure | None:
        """Bounds on the probability of the event; None where the formula would take too long."""
        if event != "exact" and self.family == "one-shot" and k > _MOST_ROUGH:
            return None
        try:
            return self.on(vector, k, epsilon).success_probability(vector.counts, event)
        except tk.errors.CapacityError:
            return None


def lipschitz(noise: Any, k: int, scale: float) -> Any:
    """Noise on all scores at once; the set of the k best."""
    return tk.then_report_noisy_top_k(PURE, k=k, scale=scale, noise=noise, release="set")


def _canonical(options: dict[str, Any], k: int, scale: float) -> Any:
    return tk.then_canonical_top_k(PURE, k=k, scale=scale, **options)


def _joint(k: int, scale: float) -> Any:
    return tk.then_joint_top_k(PURE, k=k, scale=scale, release="set")


def _each(k: int) -> int:
    return k


def _one(k: int) -> int:
    return 1


def _halved(k: int) -> float:
    """With gamma 1/2 the distance of one winner moves by half as much."""
    return 0.5 if k == 1 else 1


def _both(k: int) -> int:
    return 1 if k == 1 else 2


EXPONENTIAL, GUMBEL, JOINT = "exponential one-shot", "Gumbel one-shot (peeling)", "joint"
MARGIN, DISTANCE, WORST = "canonical, margin", "canonical, distance", "canonical, gamma 1"
# The joint's formula holds to ten winners; that of exponential noise over sets takes a second at a thousand.
TABLE = (
    Mechanism(EXPONENTIAL, "one-shot", partial(lipschitz, tk.noise.Exponential()), _each),
    Mechanism(GUMBEL, "one-shot", partial(lipschitz, tk.noise.Gumbel()), _each),
    Mechanism("Laplace one-shot", "one-shot", partial(lipschitz, tk.noise.Laplace()), _each),
    Mechanism("logistic one-shot", "one-shot", partial(lipschitz, tk.noise.Logistic()), _each, main=False),
    Mechanism("half-logistic one-shot", "one-shot", partial(lipschitz, tk.noise.HalfLogistic()), _each, main=False),
    Mechanism(DISTANCE, "sets", partial(_canonical, {"utility": "distance"}), _halved),
    Mechanism(WORST, "sets", partial(_canonical, {"utility": "distance", "gamma": 1}), _one),
    Mechanism(MARGIN, "sets", partial(_canonical, {"utility": "margin"}), _one),
    Mechanism(
        "canonical, margin, exponential noise",
        "sets",
        partial(_canonical, {"noise": tk.noise.Exponential()}),
        _one,
        most=100,
        main=False,
    ),
    Mechanism(JOINT, "sets", _joint, _both, most=10),
)
BY_NAME = {one.name: one for one in TABLE}
