"""Arrival times of the five noises: values, moduli on discs, and crowds, against mpmath."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.sampling.distributions import quadrature as arrivals
from opendp_topk.sampling.distributions.quadrature import LateCandidates

NOISES = [tk.Gumbel(), tk.Exponential(), tk.HalfLogistic(), tk.Laplace(), tk.Logistic()]


def law(name: str, z: Any, before: bool) -> tuple[Any, Any, Any]:
    """(G, q, rate) as functions of a real or complex z, on the side of the kink that is asked for."""
    one = mpmath.mpf(1)
    if name in ("Exponential", "HalfLogistic") and not before:
        return one, one * 0, one * 0
    waiting = {
        "Gumbel": lambda: mpmath.exp(-z),
        "Exponential": lambda: 1 - z,
        "HalfLogistic": lambda: (1 - z) / (1 + z),
        "Laplace": lambda: 1 - z / 2 if before else 1 / (2 * z),
        "Logistic": lambda: 1 / (1 + z),
    }[name]()
    rate = {
        "Gumbel": lambda: z * mpmath.exp(-z),
        "Exponential": lambda: z,
        "HalfLogistic": lambda: 2 * z / (1 + z) ** 2,
        "Laplace": lambda: z / 2 if before else 1 / (2 * z),
        "Logistic": lambda: z / (1 + z) ** 2,
    }[name]()
    return 1 - waiting, waiting, rate


@pytest.mark.further
@pytest.mark.quick(noise=("Gumbel()", "Laplace()"))
@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_bounds_at_points(noise: Any) -> None:
    z = np.concatenate([2.0 ** np.arange(-150, 151), np.random.default_rng(1).uniform(0, 3, 2000), [0.25, 1.0]])
    lower, upper = arrivals.arrival_bounds(noise, z, z <= 1)
    with mpmath.workdps(60):
        for i, x in enumerate(z.tolist()):
            true = law(noise.name, mpmath.mpf(x), x <= 1)
            for low, p, high in zip(
                (lower.arrived[i], lower.waiting[i], lower.rate[i]),
                true,
                (upper.arrived[i], upper.waiting[i], upper.rate[i]),
                strict=True,
            ):
                assert 0 <= low <= p <= high <= p + 2.0**-44


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_majorants_on_discs(noise: Any) -> None:
    generator = np.random.default_rng(2)
    for _ in range(300):
        before = bool(generator.integers(2))
        centre = float(generator.uniform(0.01, 1) if before else 10 ** generator.uniform(0, 3))
        left, right = centre * (1 - 0.4), centre * (1 + 0.4)
        found = arrivals.arrival_majorants(noise, np.array([left]), np.array([right]), np.array([before]))
        for angle in np.linspace(0, 2 * np.pi, 25):
            z = mpmath.mpc(centre) + mpmath.mpf(0.4 * centre) * mpmath.expj(angle)
            arrived, waiting, rate = map(abs, law(noise.name, z, before))
            assert arrived <= found.arrived[0]
            assert waiting <= found.waiting[0]
            assert rate <= found.rate[0]


@pytest.mark.further
@pytest.mark.quick(noise="Gumbel()")
@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_crowds(noise: Any) -> None:
    b = 8 * 2.0 ** np.random.default_rng(3).uniform(0, 20, 2500)
    crowd, x = LateCandidates.from_candidates(noise, b), np.array([1.0, 0.5, 1e-3, 1e-12])
    (none_low, rate_low), (none_high, rate_high) = crowd.none_and_rate_bounds(x)
    with mpmath.workdps(40):
        for i, time in enumerate(x.tolist()):
            laws = [law(noise.name, mpmath.mpf(time) / mpmath.mpf(c), True) for c in b.tolist()]
            none = mpmath.fprod(waiting for _, waiting, _ in laws)
            rate = none * mpmath.fsum(gamma / waiting for _, waiting, gamma in laws)
            assert none_low[i] <= none <= none_high[i] <= none * (1 + mpmath.mpf("1e-10"))
            assert rate_low[i] <= rate <= rate_high[i] <= rate * (1 + mpmath.mpf("1e-10")) + 1e-10
