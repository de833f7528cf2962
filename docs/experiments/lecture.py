"""Smith and Ullman's two examples: a vote on a name, and the price of a song."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import opendp_topk as tk


@dataclass(frozen=True)
class Claim:
    """A number of the lecture, and the one that follows from the library's theorems."""

    example: str
    quantity: str
    lecture: str
    here: float


def _choice(d: int, scale: float, metric: tk.LInfDistance) -> tk.Measurement:
    space = tk.VectorDomain(tk.AtomDomain(float), size=d), metric
    return space >> tk.then_exponential_mechanism(tk.MaxDivergence(), scale=scale)


def voting() -> list[Claim]:
    """Example 1.5: 100 names, epsilon 0.5, and one voter who may change all scores."""
    both, up = _choice(100, 4.0, tk.LInfDistance()), _choice(100, 2.0, tk.LInfDistance(monotonic=True))
    lead = np.zeros(100)
    lead[0] = 39
    name = "approval voting"
    return [
        Claim(name, "votes below the best, with 99 %", "36.8", both.accuracy(100, 0.01)),
        Claim(name, "the same, where a voter only adds votes", "not claimed", up.accuracy(100, 0.01)),
        Claim(name, "the favourite wins, 39 votes ahead of all others", "high", both.success_probability(lead).lower),
        Claim(name, "the same, where a voter only adds votes", "not claimed", up.success_probability(lead).lower),
    ]


def pricing() -> list[Claim]:
    """Example 1.6: 200 prices to 1.99 dollars, epsilon 1; expected loss by the lecture's Proposition 1.4."""
    name, d, sensitivity = "pricing a digital good", 200, 1.99
    formula = 2 * sensitivity * (math.log(d) + 1)
    bids = np.zeros(d)
    bids[[49, 69, 99, 149]] = 4000, 9000, 1000, 500
    revenue = np.arange(1, d + 1) / 100 * np.cumsum(bids[::-1])[::-1]
    weights = np.exp((revenue - revenue.max()) / (2 * sensitivity))
    lost = float(weights @ (revenue.max() - revenue) / weights.sum())
    return [
        Claim(name, "expected loss in dollars at epsilon 1, by the formula", "31", formula),
        Claim(name, "the same, where a person only raises revenues", "not claimed", formula / 2),
        Claim(name, "exact expected loss on the bids of the tutorial", "not claimed", lost),
    ]
