"""Arrivals z = e^-noise: their values, bounds on complex discs and series, beside formulas in complex numbers.

Tries proofs/distributions/one_shot_success.tex.
"""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.sampling.distributions.quadrature import arrival_majorants
from opendp_topk.sampling.noises.noise import Noise

Three = tuple[Any, Any, Any]
Formula = Callable[[Any], Three]  # the chance of an arrival before z, the other chance, and z times the density


def _all_arrived(_: Any) -> Three:
    return 1, 0, 0


def _gumbel(z: Any) -> Three:
    waiting = mpmath.exp(-z)
    return 1 - waiting, waiting, z * waiting


def _logistic(z: Any) -> Three:
    return z / (1 + z), 1 / (1 + z), z / (1 + z) ** 2


ALL: dict[Noise, tuple[Formula, Formula]] = {  # before z = 1, and after it
    tk.noise.Exponential(): (lambda z: (z, 1 - z, z), _all_arrived),
    tk.noise.HalfLogistic(): (lambda z: (2 * z / (1 + z), (1 - z) / (1 + z), 2 * z / (1 + z) ** 2), _all_arrived),
    tk.noise.Laplace(): (lambda z: (z / 2, 1 - z / 2, z / 2), lambda z: (1 - 1 / (2 * z), 1 / (2 * z), 1 / (2 * z))),
    tk.noise.Gumbel(): (_gumbel, _gumbel),
    tk.noise.Logistic(): (_logistic, _logistic),
}
EDGES = (1e-9, 1e-3, 0.2, 0.5, 0.9, 1.0, 1.3, 2.0, 5.0, 30.0)
LOOSE = {("Gumbel", True): 1.6, ("Gumbel", False): 2.2, ("Laplace", False): 3.0}  # bounds on the chance to have arrived

every_noise = pytest.mark.parametrize("noise", ALL, ids=repr)


@pytest.mark.quick
@every_noise
def test_values_are_those_of_the_formulas(noise: Noise) -> None:
    law = noise.arrival_distribution()
    for z in (*EDGES[:5], *EDGES[6:]):
        expected = ALL[noise][z > 1](z)
        for found, value in zip(law.at(np.array([z]), np.array([z < 1])), expected, strict=True):
            assert float(found[0]) == pytest.approx(abs(value), rel=1e-12, abs=1e-15)


@pytest.mark.quick
@every_noise
def test_moduli_on_discs_are_bounded_and_hardly_more(noise: Noise) -> None:
    narrow = [(z, z * (1 + 1e-6)) for z in EDGES[:-1]]
    for left, right in [*pairwise(EDGES), *narrow]:
        before = right <= 1
        disc = [(left + right) / 2 + (right - left) / 2 * mpmath.exp(2j * math.pi * n / 64) for n in range(64)]
        values = np.array([[abs(one) for one in ALL[noise][not before](z)] for z in disc]).max(axis=0)
        found = arrival_majorants(noise, *map(np.array, ([left], [right], [before])))
        bounds = [float(one[0]) for one in (found.arrived, found.waiting, found.rate)]
        for at, (bound, value) in enumerate(zip(bounds, values, strict=True)):
            assert bound >= value, (left, right, at)
            if (left, right) in narrow:
                limit = LOOSE.get((noise.name, before), 1.0) if at == 0 else 1.0
                assert bound <= limit * value * (1 + 1e-4) + 2.0**-48, (left, right, at)


@pytest.mark.quick
@every_noise
def test_the_series_is_that_of_the_logarithm(noise: Noise) -> None:
    law, z = noise.arrival_distribution(), 0.3
    total = z if noise.name == "Gumbel" else math.fsum(law.coefficient(m) * z**m for m in range(1, 80))
    assert law.coefficient(1) > 0
    assert total == pytest.approx(-math.log(abs(ALL[noise][0](z)[1])), rel=1e-12)
