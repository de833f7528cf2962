"""The claims of make_canonical_top_k: maps against enumerated neighbours, witnesses, arguments, outputs."""

import functools
import itertools
import math
import tracemalloc
from collections import Counter
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.measurements._selection import permute_and_flip_range
from opendp_topk.measurements.canonical_top_k import make_canonical_top_k
from opendp_topk.sampling.samplers import rows as listed
from tests.concepts.losses import number, realised
from tests.oracles import canonical as oracle
from tests.oracles.chi_square import ODDS, assert_follows, enough, p_value

MEASURES = (tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence())
NOISES = (tk.noise.Gumbel(), tk.noise.Exponential())
GAMMAS = [Fraction(n, 4) for n in range(5)]


def build(d: int | None, metric: tk.Metric, measure: tk.Measure, **options: Any) -> tk.Measurement:
    return make_canonical_top_k(tk.VectorDomain(tk.AtomDomain(int), size=d), metric, measure, **options)


@functools.cache
def law(noise: str, scores: tuple[int, ...], k: int, scale: Fraction, gamma: Fraction, utility: str) -> Any:
    options = {"k": k, "scale": scale, "gamma": gamma, "utility": utility, "noise": getattr(tk.noise, noise)()}
    return build(None, tk.RangeDistance(), tk.MaxDivergence(), **options).distribution(scores)


def claim(measure: tk.Measure, metric: tk.Metric, d: int, d_in: int, **options: Any) -> float:
    return float(build(d, metric, measure, **options).map(d_in))


def within(found: mpmath.mpf, claimed: float) -> bool:
    """Whether a loss known to 30 digits is at most ``claimed``."""
    with mpmath.workdps(40):
        return bool(found <= claimed * (1 + mpmath.mpf("1e-27")))


def moves(metric: tk.Metric, d: int) -> list[tuple[int, ...]]:
    """The extreme moves of the scores within distance 1 of the metric."""
    if metric == tk.LInfDistance():
        return list(itertools.product((-1, 1), repeat=d))
    return list(itertools.product((0, 1), repeat=d))[1:]


SHAPES = [(d, k) for d in (2, 3, 4, 5) for k in (1, 2, 3) if k < d]


@pytest.mark.parametrize("utility", ["margin", "distance"])
@pytest.mark.parametrize("gamma", GAMMAS, ids=str)
@pytest.mark.parametrize("r", [Fraction(1, 4), Fraction(2)])
def test_two_candidates_meet_the_bounds_at_r_or_at_gamma_r(r: Fraction, gamma: Fraction, utility: str) -> None:
    """k = 1, d = 2: the margin utility weighs x_1 - x_2 by 1 whatever gamma is, and the distance utility by gamma."""
    met = {noise: largest_of_two(noise, r, gamma, utility) for noise in ("Gumbel", "Exponential")}
    reached = r if utility == "margin" else gamma * r
    for noise, (pure, spread) in met.items():
        bound = number(reached if noise == "Gumbel" else permute_and_flip_range(reached))
        assert 0.999999 * bound <= spread <= bound * (1 + 1e-15)
        assert 0.99 * number(reached) <= pure <= number(reached) * (1 + 1e-15)
        options = {"k": 1, "scale": 1 / r, "noise": getattr(tk.noise, noise)(), "gamma": gamma, "utility": utility}
        claims = [claim(m, tk.RangeDistance(), 2, 1, **options) for m in MEASURES]
        assert 0.99 * claims[0] <= pure <= claims[0] * (1 + 1e-15)
        assert 0.999999 * claims[1] <= spread <= claims[1] * (1 + 1e-15)


def largest_of_two(noise: str, r: Fraction, gamma: Fraction, utility: str) -> tuple[Any, Any]:
    """The largest pure loss and range over pairs of two scores on a fine grid whose range distance is 1 at most.

    The range is largest around a tie, which is at half a step; the pure loss far away from one.
    """
    step = 2 / r
    pure, spread = mpmath.mpf(0), mpmath.mpf(0)
    for lead in (-1, 0, 1, 2, math.ceil(240 * step)):
        first, second = (law(noise, (lead, move), 1, step, gamma, utility) for move in (0, 2))
        pure = max(pure, realised(tk.MaxDivergence(), first, second))
        spread = max(spread, realised(tk.RangeDivergence(), first, second))
    return pure, spread


def test_many_copies_lose_by_the_distance_what_the_map_says() -> None:
    """Sets of two: one candidate far above e^12 equal ones rises, and one below them; the set of these gains."""
    n, half = 162_755, Fraction(1, 2)
    classes = {(0, 1): 1, (0, 2): n, (1, 2): n, (2, 3): n * (n - 1) // 2}
    before, after = (
        {y: oracle.utility(scores, y, half, "distance") for y in classes} for scores in ((4, -1, 0, 0), (5, 0, 0, 0))
    )
    for noise in NOISES:
        chances = []
        for utilities in (before, after):
            weights = {y: math.exp(u - max(utilities.values())) for y, u in utilities.items()}
            if noise == tk.noise.Gumbel():
                total = sum(classes[y] * w for y, w in weights.items())
                chances.append(weights[0, 1] / total)
            else:
                chances.append(oracle.flip_class_law(weights, classes)[0, 1])
        claimed = claim(MEASURES[0], tk.RangeDistance(), n + 2, 1, k=2, scale=1, noise=noise, utility="distance")
        assert 0.9999 < math.log(chances[1] / chances[0]) <= claimed


def test_the_printed_binomials_break_the_claim() -> None:
    """d = 3, k = 2, near ties: the class (0, 3) of one set is counted as two, so that its loss is ln 2 as r -> 0."""
    r, gamma = Fraction(1, 1000), Fraction(1, 2)
    x, y, k = (2, 1, 0), (0, 1, 2), 2
    claimed = claim(tk.MaxDivergence(), tk.RangeDistance(), 3, 4, k=k, scale=1 / r)
    assert claimed == float(4 * r)

    def planted(scores: tuple[int, ...], count: Any) -> dict[Any, Any]:
        ranks = sorted(range(3), key=lambda i: -scores[i])
        classes = oracle.class_law(scores, k, 1 / r, gamma, count)
        sets = itertools.combinations(range(3), 2)
        return {s: classes[oracle.class_of(tuple(ranks.index(i) + 1 for i in s), 3)] for s in sets}

    sound = [planted(z, oracle.sizes) for z in (x, y)]
    assert within(realised(tk.MaxDivergence(), *sound), claimed)
    printed = [planted(z, oracle.printed_sizes) for z in (x, y)]
    assert not within(realised(tk.MaxDivergence(), *printed), claimed)
    assert abs(realised(tk.MaxDivergence(), *printed) - mpmath.log(2)) < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["Gumbel", "Exponential"])
@pytest.mark.parametrize("gamma", [Fraction(1, 8), Fraction(7, 8)], ids=str)
def test_gamma_weighs_the_least_score_inside(gamma: Fraction, noise: str) -> None:
    """The law and the frequencies of releases are those of gamma m - (1 - gamma) M, and not of its mirror image."""
    scores, k, scale = (8, 4, 0, 0, 0), 2, Fraction(4)
    exact = {"Gumbel": oracle.gumbel_law, "Exponential": oracle.flip_law}[noise]
    made = build(
        5, tk.LInfDistance(), tk.MaxDivergence(), k=k, scale=4, gamma=float(gamma), noise=getattr(tk.noise, noise)()
    )
    expected, mirrored = (exact(scores, k, scale, one, "margin") for one in (gamma, 1 - gamma))
    assert max(abs(expected[one] - mirrored[one]) for one in expected) > 0.05
    declared = made.distribution(scores)
    assert all(abs(declared[one] - p) <= 1e-12 for one, p in expected.items())
    n = 1500
    assert p_value({one: round(n * p) for one, p in mirrored.items()}, expected) < ODDS
    assert_follows(Counter(tuple(made(scores).tolist()) for _ in range(n)), expected, detects=0.73)


@pytest.mark.further
@pytest.mark.quick(noise="Gumbel()", utility="margin")
@pytest.mark.parametrize("utility", ["margin", "distance"])
@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_many_releases_follow_the_unlisted_law(noise: Any, utility: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listed, "draw_listed_subsets", lambda *_, **__: None)
    options = {"k": 2, "scale": Fraction(3, 2), "gamma": Fraction(1, 4), "utility": utility, "noise": noise}
    drawn = build(None, tk.LInfDistance(), tk.MaxDivergence(), optimize="min", **options)
    by_hand = oracle.flip_law if noise == tk.noise.Exponential() else oracle.gumbel_law
    known = by_hand((30, 7, 0, 5), 2, Fraction(3, 2), Fraction(1, 4), utility)
    releases = tk.make_repeat(drawn, times=enough(max(known.values()), 0.1))([-30, -7, 0, -5])
    assert_follows(Counter(map(tuple, releases.tolist())), known, detects=0.1)


@pytest.mark.further
@pytest.mark.quick(noise="Gumbel()")
@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_memory_grows_with_d_and_not_with_the_classes(noise: Any) -> None:
    """There are k (d - k) classes, up to 2.5 * 10^9 of them; 64 bytes a candidate are enough."""
    d = 10**5
    zipf = (10**6 / np.arange(1, d + 1)).astype(np.int64)
    for k in (10, 1000, d // 2):
        measurement = build(None, tk.LInfDistance(), tk.MaxDivergence(), k=k, scale=10, noise=noise)
        measurement(zipf)
        tracemalloc.start()
        try:
            measurement(zipf)
            assert tracemalloc.get_traced_memory()[1] < 64 * d
        finally:
            tracemalloc.stop()
