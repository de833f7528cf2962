"""The comparison of noises in Durfee and Rogers' post on one-shot top-k, and what this library needs instead."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import opendp_topk as tk

K, ITEMS = 10, 10_000
DELTAS = (1e-2, 1e-6, 1e-9)
# The post compares below 0.2, where the theorem of Qiao, Su and Zhang holds.
EPSILONS = tuple(round(0.02 * step, 2) for step in range(1, 11))


@dataclass(frozen=True)
class Spread:
    """Standard deviations of the noise that selects and of the noise on the counts of the winners, in users."""

    delta: float
    epsilon: float
    source: str
    selection: float
    counts: float


def qiao_su_zhang(epsilon: float, delta: float) -> Spread:
    """One-shot Laplace noise, by their Theorem 2.2 as the post quotes it."""
    sigma = 8 * math.sqrt(2 * K * math.log(ITEMS / delta)) / epsilon
    return Spread(delta, epsilon, "one-shot Laplace (Qiao et al.)", sigma, sigma)


def post(epsilon: float, delta: float) -> Spread:
    """Gumbel noise of scale sqrt(k) / e and Laplace noise of scale 2 sqrt(k) / e, where together they cost e^2 / 4."""
    log = math.log(1 / delta)
    inner = 2 * math.sqrt(log) * (math.sqrt(1 + epsilon / log) - 1)
    gumbel = math.pi * math.sqrt(K) / (math.sqrt(6) * inner)
    return Spread(delta, epsilon, "one-shot Gumbel (the post)", gumbel, 2 * math.sqrt(2 * K) / inner)


def here(epsilon: float, delta: float) -> Spread:
    """The least noise of ``make_select_then_count`` under zCDP; its counts have Gaussian noise."""
    space = tk.VectorDomain(tk.AtomDomain(int), size=ITEMS), tk.LInfDistance(monotonic=True)

    def made(scale: float) -> tk.Measurement:
        both = space >> tk.then_select_then_count(tk.ZeroConcentratedDivergence(), k=K, scale=scale)
        return tk.make_fix_delta(tk.make_zCDP_to_approxDP(both), delta=delta)

    scale = tk.binary_search_param(made, d_in=1, d_out=(epsilon, delta))
    both = space >> tk.then_select_then_count(tk.ZeroConcentratedDivergence(), k=K, scale=scale)
    gumbel = math.pi / math.sqrt(6) * scale
    return Spread(delta, epsilon, "make_select_then_count", gumbel, float(both.parameters["count_scale"]))


def spreads() -> list[Spread]:
    """All sources at all points."""
    return [source(e, delta) for delta in DELTAS for e in EPSILONS for source in (qiao_su_zhang, post, here)]


@dataclass(frozen=True)
class Width:
    """How far the loss of permute-and-flip ranges: the post's lower bound for two items, and the proved width."""

    epsilon: float
    lower_bound: float
    proved: float


def widths() -> list[Width]:
    """From the example of the post, and from the map of the constructor."""
    space = tk.VectorDomain(tk.AtomDomain(float)), tk.LInfDistance(monotonic=True)
    found = []
    for epsilon in (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0):
        flip = space >> tk.then_permute_and_flip(tk.RangeDivergence(), scale=1 / epsilon)
        found.append(Width(epsilon, epsilon + float(np.log(2 - np.exp(-epsilon))), flip.map(1)))
    return found
