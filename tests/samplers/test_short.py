"""Bounds on the noisy scores of a short vector, against exact rationals."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.sampling.samplers import race
from opendp_topk.sampling.samplers import settle as short
from opendp_topk.sampling.samplers.advantages import ScaledScores
from opendp_topk.sampling.samplers.quantile_tables import quantile_table

from . import adversaries
from .adversaries import canonical
from .streams import Streams, Untouched


def _exactly_below(x: float, exact: Fraction) -> bool:
    return x == -math.inf or (x != math.inf and Fraction(x) <= exact)


@pytest.mark.quick(sign=1)
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("make", adversaries.CASES, ids=lambda make: make.__name__)
def test_bounds_enclose_the_noisy_scores(make: Callable[[random.Random], adversaries.Case], sign: int) -> None:
    """Every corner of the cell of a prefix, with the scores' exact distance from the best, lies within its bounds."""
    rng = random.Random(f"{make.__name__} {sign}")
    for seed in range(60):
        case = make(rng)
        noise = getattr(tk, rng.choice(("Gumbel", "Exponential", "Laplace")))()
        scores = ScaledScores(canonical(case.scores), case.scale, sign)
        with np.errstate(all="ignore"):
            found = short.all_contenders(scores, noise, Streams(seed, case.leading))
        if found is None:
            continue
        racers, lower, upper = found
        best = max(case.scores, key=lambda score: sign * score)
        assert racers.reference == best
        entries = quantile_table(noise)
        for i, prefix in enumerate(racers.prefix.tolist()):
            exact = sign * (Fraction(case.scores[i]) - Fraction(best)) / case.scale
            for corner in (float(entries.lower[prefix]), float(entries.upper[prefix])):
                if math.isfinite(corner):
                    assert _exactly_below(float(lower[i]), Fraction(corner) + exact)
                    assert _exactly_below(-float(upper[i]), -Fraction(corner) - exact)
            assert math.isfinite(entries.lower[prefix]) or lower[i] == -math.inf
            assert math.isfinite(entries.upper[prefix]) or upper[i] == math.inf


def test_bounds_are_about_as_narrow_as_the_table() -> None:
    scores, noise = ScaledScores(np.arange(100.0), Fraction(3), 1), tk.Gumbel()
    found = short.all_contenders(scores, noise, Streams(1))
    assert found is not None
    racers, lower, upper = found
    width = quantile_table(noise).upper[racers.prefix] - quantile_table(noise).lower[racers.prefix]
    assert (upper - lower <= width * (1 + 2.0**-40) + 2.0**-40).all()


@pytest.mark.parametrize(
    ("scores", "scale"),
    [
        ([1.7e308, -1.7e308], Fraction(1)),
        ([1e300, -1e300], Fraction(1, 2**60)),
        ([1, 2], Fraction(1, 2**901)),
        ([1, 2], Fraction(2**901)),
        ([2**70, 2**70 + 1], Fraction(1)),
    ],
)
def test_what_floats_cannot_hold_is_left_to_the_scan(scores: list[float], scale: Fraction) -> None:
    with np.errstate(over="ignore"):
        assert short.all_contenders(ScaledScores(canonical(scores), scale, 1), tk.Gumbel(), Untouched()) is None
    winners = race.top_k(canonical(scores), scale, tk.Gumbel(), 2, sign=1, ordered=False)
    assert winners.tolist() == [0, 1]
