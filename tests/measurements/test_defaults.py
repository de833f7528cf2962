"""No default noise costs much more than another noise of the same constructor at the same accuracy."""

from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.sampling.noises.noise import Noise
from tests.concepts import mechanisms

MEASURES = tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence()
SHARES = {("make_report_noisy_top_k", tk.RangeDivergence()): Fraction(3, 2)}
"""More than 11 / 10. Under RangeDivergence no noise of a ranking is best for every k: Gumbel noise halves the loss of
one winner, and exponential noise has the smaller error bound for many."""
N = 1000
SCORES = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
USERS = tk.VectorDomain(tk.AtomDomain(int)), tk.L01InfDistance(changes=10, monotonic=True)
UNEVEN = tk.VectorDomain(tk.AtomDomain(int), size=N), tk.PerCandidateDistance(bounds=[1] * (N - 1) + [2])
NOISES = [{"noise": one} for one in mechanisms.NOISES]
ROWS: dict[str, tuple[Any, list[dict[str, Any]]]] = {
    "make_report_noisy_top_k": (SCORES, NOISES),
    "make_noisy_top_k_with_gaps": (SCORES, NOISES),
    "make_normalised_top_k": (UNEVEN, NOISES[:2]),
    "make_canonical_top_k": (SCORES, NOISES[:2]),
    "make_noisy_histogram": (USERS, [{"gaussian": False}, {"gaussian": True}]),
}
"""A space and the options that have a default, by the constructor; k and the scale are given."""


def cost(name: str, measure: tk.Measure, k: int, scale: Any, **options: Any) -> tuple[float, float]:
    """The loss at distance 1, and the error bound, which is the scale if the constructor declares none."""
    winners = {} if name == "make_noisy_histogram" else {"k": k}
    made = getattr(tk, name)(*ROWS[name][0], measure, scale=scale, **winners, **options)
    try:
        return made.map(1), made.accuracy(N)
    except tk.errors.NotDeclaredError:
        return made.map(1), float(scale)


def least_at_equal_accuracy(name: str, measure: tk.Measure, k: int, scale: Fraction, error: float) -> float:
    """The smallest loss of the other options at scales at which their error bounds are ``error``."""
    found = []
    for options in ROWS[name][1]:
        try:
            other = cost(name, measure, k, scale, **options)[1]
            found.append(cost(name, measure, k, scale * Fraction(error) / Fraction(other), **options)[0])
        except (tk.errors.ParameterError, tk.errors.SpaceError):
            continue
    return min(found)


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_no_default_costs_much_more_than_another_option(name: str, measure: tk.Measure) -> None:
    share = SHARES.get((name, measure), Fraction(11, 10))
    for k in (1, 10, 100):
        for r in (Fraction(1, 100), Fraction(1, 10), Fraction(1)):
            mine, error = cost(name, measure, k, 1 / r)
            assert mine <= share * Fraction(least_at_equal_accuracy(name, measure, k, 1 / r, error)), (k, r)


@cache
def spreads(noise: Noise) -> tuple[float, float]:
    """The standard deviation, and the 95% quantile of the absolute value, of the difference of two noises."""
    u = (np.arange(400) + 0.5) / 400
    z = noise.quantile_floats((u, u), (1 - u, 1 - u))[0]
    differences = np.subtract.outer(z, z)
    return float(differences.std()), float(np.quantile(np.abs(differences), 0.95))


@pytest.mark.parametrize("metric", [tk.LInfDistance(monotonic=True), tk.LInfDistance()], ids=repr)
@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_no_noise_of_above_threshold_costs_much_less_at_equal_spread(measure: tk.Measure, metric: tk.Metric) -> None:
    def build(k: int, scale: Fraction, **options: Any) -> tk.Measurement:
        return tk.make_above_threshold(SCORES[0], metric, measure, threshold=1, scale=scale, k=k, **options)

    for k in (1, 2, 10, 100):
        for r in (Fraction(1, 100), Fraction(1, 10), Fraction(1)):
            default = build(k, 1 / r)
            for option in NOISES:
                for mine, other in zip(spreads(default.parameters["noise"]), spreads(option["noise"]), strict=True):
                    scale = Fraction(mine) / Fraction(other) / r
                    assert default.map(1) <= 1.1 * build(k, scale, **option).map(1), (k, r, option)


PLACES = np.arange(1, 101)
SHAPES = {"zipf": 100_000 // PLACES, "geometric": (100_000 * 0.97**PLACES).astype(int)}


def boundary(build: Callable[[float], Any], kept: Callable[[Any], bool]) -> tuple[Any, Any]:
    """What ``build`` makes of about the largest scale that is kept, and of about the smallest that is not."""
    low, high = 1e-3, 1e5
    while high > 1.001 * low:
        scale = (low * high) ** 0.5
        low, high = (scale, high) if kept(build(scale)) else (low, scale)
    return build(low), build(high)


@pytest.mark.parametrize("k", [5, 10])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_no_option_of_canonical_top_k_costs_far_less_for_exact_winners(measure: tk.Measure, shape: str, k: int) -> None:
    """No other option releases the exact top-k with probability 0.9 at a loss smaller by a tenth."""

    def is_exact(made: tk.Measurement) -> bool:
        return bool(made.success_probability(SHAPES[shape]).lower >= 0.9)

    def build(scale: float, **options: Any) -> tk.Measurement:
        return tk.make_canonical_top_k(*SCORES, measure, k=k, scale=scale, **options)

    mine = boundary(build, is_exact)[0].map(1)
    for option in NOISES[:2]:
        for gamma in (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), 1):
            for utility in ("margin", "distance"):
                other = {"gamma": gamma, "utility": utility, **option}
                cheaper = boundary(partial(build, **other), lambda made: mine <= 1.1 * made.map(1))[1]
                assert not is_exact(cheaper), other
