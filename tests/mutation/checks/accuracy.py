"""Accuracy theorems against their formulas, and against the exact laws."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath

from tests.mutation.library import tk
from tests.mutation.oracles import expect, number


def check() -> None:
    """Bounds are at least the theorem's, by one rounding at most, and fail as rarely as they say."""
    _formulas()
    _on_laws()


def _formulas() -> None:
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance()
    sides_and_odds = {
        tk.Gumbel(): (1, 3),
        tk.Exponential(): (1, 1),
        tk.HalfLogistic(): (1, 2),
        tk.Laplace(): (2, 1),
        tk.Logistic(): (2, 2),
    }
    for (noise, (sides, odds)), d in itertools.product(sides_and_odds.items(), (4, 1000)):
        made = tk.make_lipschitz_top_k(*space, tk.MaxDivergence(), k=3, scale=2, noise=noise)
        _near(made.accuracy(d, 0.01), 2 * sides, odds * d / Fraction(0.01), noise.name)
    for gamma in (0.5, 1.0):
        made = tk.make_canonical_top_k(*space, tk.MaxDivergence(), k=3, scale=2, gamma=gamma)
        _near(made.accuracy(10, 0.01), 2 / Fraction(gamma), math.comb(10, 3) / Fraction(0.01), "canonical")


def _near(found: float, factor: Fraction | int, value: Fraction, what: str) -> None:
    with mpmath.workdps(60):
        true = number(Fraction(factor)) * mpmath.log(number(value))
        expect(mpmath.mpf(found) >= true, f"the accuracy of {what} is below its theorem's")
        expect(mpmath.mpf(math.nextafter(found, 0)) <= true * (1 + mpmath.mpf(2) ** -52), f"accuracy of {what}: loose")


def _on_laws() -> None:
    space = tk.VectorDomain(tk.AtomDomain(float)), tk.LInfDistance()
    for noise in (tk.Gumbel(), tk.Exponential(), tk.Laplace()):
        made = tk.make_lipschitz_top_k(*space, tk.MaxDivergence(), k=2, scale=1, noise=noise)
        for alpha in (0.2, 0.5):
            bound = made.accuracy(4, alpha)
            scores = [bound + 2.0**-20] * 2 + [0.0] * 2
            failing = (p for outcome, p in made.distribution(scores).items() if {2, 3} & set(outcome))
            expect(mpmath.fsum(failing) <= alpha, f"the accuracy theorem of {noise.name} noise fails too often")
