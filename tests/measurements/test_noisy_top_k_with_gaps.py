"""The claims of make_noisy_top_k_with_gaps: every noise and measure against neighbours, witnesses, law, arguments."""

import functools
import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.errors import DataError
from opendp_topk.measurements.noisy_top_k_with_gaps import make_noisy_top_k_with_gaps
from opendp_topk.sampling.noises.noise import Noise
from tests.concepts.losses import hockey_stick, realised
from tests.concepts.sentinels import SENTINEL_INT, raises_exactly
from tests.oracles import gaps as oracle
from tests.oracles.chi_square import assert_follows

NOISES = (tk.noise.Gumbel(), tk.noise.Exponential(), tk.noise.HalfLogistic(), tk.noise.Laplace(), tk.noise.Logistic())
MEASURES = MAX, RANGE, ZCDP = tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence()
METRICS = (tk.RangeDistance(), tk.LInfDistance(), tk.LInfDistance(monotonic=True))
GRID = (1e-9, 0.05, 0.4, 1.0, 1.7, 3.0, 8.0, 25.0)
"""Gaps at which losses are evaluated. Both densities are smooth between kinks, and beyond 25 winners lie in the
exponential tail, where a loss has come to within exp(-20) of its limit."""
ERROR = 1e-10
"""The relative error of the oracle's densities is below this; a loss has twice of it."""
every_noise = pytest.mark.parametrize("noise", NOISES, ids=repr)


def build(d: int | None, measure: tk.Measure, metric: tk.Metric | None = None, **options: Any) -> tk.Measurement:
    domain = tk.VectorDomain(tk.AtomDomain(int), size=d)
    return make_noisy_top_k_with_gaps(domain, metric or tk.RangeDistance(), measure, **options)


@functools.cache
def outcomes(d: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Every ranking with every combination of gaps of the grid (a thinner one for more gaps)."""
    grid = GRID[:: 1 if k == 1 else 2 if k == 2 else 4]
    grid = grid if grid[-1] == GRID[-1] else (*grid, GRID[-1])
    pairs = list(itertools.product(itertools.permutations(range(d), k), itertools.product(grid, repeat=k)))
    return np.array([y for y, _ in pairs]), np.array([g for _, g in pairs])


@functools.lru_cache(maxsize=64)
def log_densities(noise: Noise, scores: tuple[float, ...], k: int) -> np.ndarray:
    return np.log(oracle.densities(noise.name, scores, *outcomes(len(scores), k)))


def steps(metric: tk.Metric, d: int) -> list[tuple[int, ...]]:
    """Every move of length one by the metric's definition, that has extreme coordinates."""
    moves = itertools.product((-1, 0, 1), repeat=d)
    if metric == tk.LInfDistance():
        return [move for move in moves if max(move) != min(move)]
    if metric == tk.RangeDistance():
        return [move for move in moves if max(move) - min(move) == 1]
    return [m for m in moves if max(0, *m) + max(0, *(-c for c in m)) == 1 and max(m) != min(m)]


def assert_bounded(noise: Noise, x: Any, move: Any, k: int, scale: Fraction, metric: tk.Metric) -> None:
    """No density ratio of (ranking, gaps) exceeds the maps under pure privacy and bounded range."""
    before = tuple(a / float(scale) for a in x)
    after = tuple((a + b) / float(scale) for a, b in zip(x, move, strict=True))
    loss = log_densities(noise, after, k) - log_densities(noise, before, k)
    most, width = np.abs(loss).max(), loss.max() - loss.min()
    for measure, found in ((MAX, most), (RANGE, width)):
        claimed = build(len(x), measure, metric, k=k, scale=scale, noise=noise).map(1)
        assert found <= claimed + 4 * ERROR * (1 + claimed), (measure, x, move)


@pytest.mark.slow
@pytest.mark.quick(metric="RangeDistance()", noise="Exponential()")
@every_noise
@pytest.mark.parametrize("metric", METRICS, ids=repr)
def test_no_density_ratio_exceeds_the_map(noise: Noise, metric: tk.Metric) -> None:
    for d in (2, 3):
        for x in ((0,) * d, (0, -1, -2)[:d], (0, -3, 0)[:d]):
            for move in steps(metric, d):
                for k in range(1, d):
                    assert_bounded(noise, x, move, k, Fraction(1), metric)


@pytest.mark.further
@pytest.mark.quick(d=5, k=1, noise=("Gumbel()", "Laplace()"))
@every_noise
@pytest.mark.parametrize(
    ("d", "k", "scale"),
    [(4, 1, Fraction(1, 3)), (4, 2, Fraction(1, 2)), (4, 3, Fraction(2)), (5, 1, 1), (5, 2, Fraction(1)), (5, 3, 1)],
)
def test_no_density_ratio_exceeds_the_map_for_more_candidates(noise: Noise, d: int, k: int, scale: Fraction) -> None:
    """Corners of the cube of moves, a half for d = 4 and k < 3 and fewer else; and points inside of it."""
    corners = [move for move in steps(tk.RangeDistance(), d) if min(move) == 0]
    for x in ((0, -1, -1, -2, -2), (5, 0, 0, 0, 4), (0, 0, 0, 0, 0))[: 2 if d == 5 or k == 3 else 3]:
        for move in corners[:: {1: 3, 2: 6, 3: 20}[k] if d == 5 else 4 if k == 3 else 2]:
            assert_bounded(noise, x[:d], move, k, Fraction(scale), tk.RangeDistance())
            if d == 4 and k < 3:
                inner = tuple(m * (0.5 if i % 2 else 1) for i, m in enumerate(move))
                assert_bounded(noise, x[:d], inner, k, Fraction(scale), tk.RangeDistance())


@functools.cache
def _binned(noise: Noise, scores: tuple[float, ...], k: int) -> dict[Any, Any]:
    law = oracle.binned(noise.name, scores, k, (0.5, 3.0) if k == 1 else (1.0,))
    return {outcome: mpmath.mpf(mass) for outcome, mass in law.items()}


@pytest.mark.slow
@every_noise
@pytest.mark.parametrize("metric", METRICS, ids=repr)
def test_no_law_of_binned_gaps_exceeds_the_map(noise: Noise, metric: tk.Metric) -> None:
    """Bins post-process the release, so under each measure, zCDP at many orders among them, they lose no more."""
    for d, k in ((2, 1), (3, 1), (3, 2), (4, 2))[: 4 if metric == tk.RangeDistance() else 3]:
        for x in ((0,) * d, (0, -1, -2, -2)[:d]):
            for move in steps(metric, d) if d < 4 else [(0, 1, 1, 0), (1, 1, 0, 0), (0, 0, 0, 1), (1, 0, 0, 0)]:
                y = tuple(a + b for a, b in zip(x, move, strict=True))
                for measure in MEASURES:
                    claimed = build(d, measure, metric, k=k, scale=1, noise=noise).map(1)
                    found = realised(measure, _binned(noise, x, k), _binned(noise, y, k))
                    assert found <= claimed + 1e-7, (measure, x, move)


@pytest.mark.slow
def test_binned_gaps_of_three_winners_stay_below_the_map() -> None:
    noise = tk.noise.Exponential()
    before, after = _binned(noise, (0, -1, -1, 0), 3), _binned(noise, (0, 0, 0, 0), 3)
    for measure in MEASURES:
        assert realised(measure, before, after) <= build(4, measure, k=3, scale=1, noise=noise).map(1) + 1e-7


# Witnesses: U holds k items that rise by r = 1, D holds items that stay, far above or far apart.


def loss_at(noise: Noise, x: Any, y: Any, ranking: Any, gaps: Any) -> float:
    before, after = (oracle.densities(noise.name, z, np.array([ranking]), np.array([gaps]))[0] for z in (x, y))
    return float(np.log(after) - np.log(before))


@pytest.mark.parametrize("k", [1, 2, 3])
@every_noise
def test_witness_the_max_map_is_reached(noise: Noise, k: int) -> None:
    """2 k items, k of them far above; the k others rise by one, and are found in front of those far above."""
    x, y = (60.0,) * k + (0.0,) * k, (60.0,) * k + (1.0,) * k
    found = loss_at(noise, x, y, range(k, 2 * k), [0.5] * (k - 1) + [5.0])
    claimed = build(2 * k, MAX, k=k, scale=1, noise=noise).map(1)
    assert claimed == k
    assert 0.97 * claimed <= found <= claimed + ERROR


@pytest.mark.parametrize(
    ("noise", "d", "k"),
    [(noise, d, k) for noise in NOISES for d, k in ((2, 1), (3, 1), (4, 2), (6, 3))]
    + [(noise, d, k) for noise in NOISES[:3] for d, k in ((3, 2), (5, 3), (5, 4))],
)
def test_witness_the_range_map_is_reached(noise: Noise, d: int, k: int) -> None:
    """k items rise by one, and gain k in front of others that stay; these lose d - k, or k, in front of them."""
    x = (*[0.0] * min(2 * k, d), *[-60.0] * (d - 2 * k))
    y = tuple(score + (i < k) for i, score in enumerate(x))
    ups, others = tuple(range(k)), tuple(range(k, d))
    least = loss_at(noise, x, y, (*others[:k], *ups)[:k], [60.0] * k)
    found = loss_at(noise, x, y, ups, [60.0] * k) - least
    claimed = build(d, RANGE, k=k, scale=1, noise=noise).map(1)
    assert claimed == min(2 * k, d)
    assert 0.97 * claimed <= found <= claimed + 4 * ERROR


@pytest.mark.parametrize(("d", "k"), [(3, 2), (5, 3), (5, 4)])
@pytest.mark.parametrize("noise", [tk.noise.Laplace(), tk.noise.Logistic()], ids=repr)
def test_witness_the_cap_of_two_sided_noise_is_reached(noise: Noise, d: int, k: int) -> None:
    """floor(d / 2) items rise and are found far in front of all others."""
    m = d // 2
    x, y = (0.0,) * d, (1.0,) * m + (0.0,) * (d - m)
    gaps = [1.0] * k
    gaps[m - 1] = 40.0
    found = loss_at(noise, x, y, range(k), gaps)
    claimed = build(d, MAX, k=k, scale=1, noise=noise).map(1)
    assert claimed == m < k
    assert 0.97 * claimed <= found <= claimed + ERROR


def test_gaps_are_not_free_for_gumbel_noise_under_bounded_range() -> None:
    """The gapless maps, planted here, are refuted: r for one winner of two, 3 r for two of four, k r^2 / 8 for zCDP."""
    for d, k in ((2, 1), (4, 2)):
        x, y = (0.0,) * d, (1.0,) * k + (0.0,) * (d - k)
        ups, others = range(k), range(k, 2 * k)
        found = loss_at(tk.noise.Gumbel(), x, y, ups, [25.0] * k) - loss_at(tk.noise.Gumbel(), x, y, others, [25.0] * k)
        domain = tk.VectorDomain(tk.AtomDomain(int), size=d)
        planted = tk.make_report_noisy_top_k(domain, tk.RangeDistance(), RANGE, k=k, scale=1, noise=tk.noise.Gumbel())
        assert planted.map(1) == 2 * k - 1
        assert found > 1.3 * planted.map(1)
        assert found <= build(d, RANGE, k=k, scale=1, noise=tk.noise.Gumbel()).map(1) + ERROR
    cuts = [b / 4 for b in range(1, 25)]
    before, after = (oracle.binned("Gumbel", scores, 1, cuts) for scores in ((0, 0), (1, 0)))
    assert realised(ZCDP, before, after) > 1.2 * 1**2 / 8
    assert realised(ZCDP, before, after) <= build(2, ZCDP, k=1, scale=1, noise=tk.noise.Gumbel()).map(1)


def test_gaps_are_not_free_for_one_winner_with_exponential_noise_under_bounded_range() -> None:
    x, y = (0.0, 0.0), (1.0, 0.0)
    found = loss_at(tk.noise.Exponential(), x, y, [0], [5.0]) - loss_at(tk.noise.Exponential(), x, y, [1], [5.0])
    planted = tk.make_permute_and_flip(tk.VectorDomain(tk.AtomDomain(int)), tk.RangeDistance(), RANGE, scale=1)
    assert found > 1.05 * planted.map(1)
    assert 1.99 < found <= 2 + ERROR


def spacings(n: int, risen: int, r: float, alpha: float) -> float:
    """D_alpha / alpha of all gaps among n equal scores with Gumbel noise, so many of which rise by r; alpha >= 1.

    e^-score of a noisy score is an exponential time. Divided by their sum, the n weighted spacings are uniform on the
    simplex, whatever the ranking, and the density becomes e^(sum of rises) / (sum of w e^rise)^n times as large.
    """
    x = (np.arange(40000) + 0.5) / 40000
    law = risen * np.log(x) + (n - risen) * np.log1p(-x) - np.log(x * (1 - x))
    weights = np.exp(law - law.max())
    weights /= weights.sum()
    loss = n * np.log1p(math.expm1(r) * x) - risen * r  # of the law without rises against the other
    if alpha == 1:
        return float(weights @ loss)
    return math.log(weights @ np.exp((alpha - 1) * loss)) / (alpha - 1) / alpha


@pytest.mark.further
def test_gaps_of_many_equal_scores_nearly_cost_what_the_map_says() -> None:
    """A map that is 4 per cent smaller is refuted by d = k + 1 = 101 candidates."""
    for k, r, near in ((1, 1.0, 0.6), (2, 1.0, 0.7), (10, 0.2, 0.9), (30, 0.05, 0.96), (100, 0.5, 0.985)):
        claimed = build(k + 1, ZCDP, k=k, scale=1 / r, noise=tk.noise.Gumbel()).map(1)
        found = [
            spacings(k + 1, risen, r, alpha)
            for risen in {max(1, round((k + 1) * share)) for share in (0.3, 0.4, 0.45, 0.5, 0.55)}
            for alpha in (1, 1.5, 4)
        ]
        assert near * claimed < max(found) <= claimed, (k, r)


@pytest.mark.slow
def test_no_gap_of_one_winner_costs_more_than_two_steps() -> None:
    """The winner and its lead among blocks of candidates, with Gumbel noise: closed densities, climbed at random.

    A winner of rate a, all others of rate b: the ratio of the two first times has the density a b / (a + b z)^2.
    """
    z = np.exp(np.linspace(0, 40, 8001))
    weights = np.gradient(z)
    weights[0] /= 2
    draw = np.random.default_rng(5)
    claimed, best = build(None, ZCDP, k=1, scale=1, noise=tk.noise.Gumbel()).map(1.0), 0.0

    def law(logs: Any, copies: Any) -> Any:
        rates = np.exp(logs)
        rest = (rates * copies).sum() - rates
        return (copies * rates * rest)[:, None] / (rates[:, None] + rest[:, None] * z) ** 2

    for _ in range(250):
        copies, logs = np.exp(draw.uniform(0, 12, 3)).round(), draw.normal(scale=3, size=3)
        before = law(logs - np.log(copies), copies)
        after = law(logs - np.log(copies) + draw.integers(0, 2, 3), copies)
        assert abs((before @ weights).sum() - 1) < 1e-3
        for alpha in (1.01, 2.0, 6.0):
            moment = ((after**alpha * before ** (1 - alpha)) @ weights).sum() / (before @ weights).sum()
            best = max(best, math.log(moment) / (alpha - 1) / alpha)
    assert 0.5 * claimed < best <= claimed * (1 + 1e-3)


@pytest.mark.parametrize("noise", [tk.noise.Exponential(), tk.noise.Laplace(), tk.noise.Gumbel()], ids=repr)
def test_a_curve_bounds_merged_gaps(noise: Noise) -> None:
    """The winner and the cell of its gap, among quarters: no delta of theirs exceeds the curve."""
    cuts = [b / 4 for b in range(1, 25)]
    curve = build(2, tk.PrivacyProfile(), k=1, scale=1, noise=noise).map(1)
    before, after = (oracle.binned(noise.name, scores, 1, cuts) for scores in ((0, 0), (1, 0)))
    found = [hockey_stick(before, after, epsilon) for epsilon in (0, 0.25, 0.5, 0.9)]
    deltas = [curve.delta(epsilon) for epsilon in (0, 0.25, 0.5, 0.9)]
    assert all(one <= delta + 1e-12 for one, delta in zip(found, deltas, strict=True))
    assert found[0] > 0.3 * deltas[0]
    assert curve.delta(1) == 0 < curve.delta(0.99)


@every_noise
def test_without_noise_the_best_and_their_gaps_come_out(noise: Noise) -> None:
    best = build(None, MAX, k=2, scale=0, noise=noise)([4, 9, 6])
    assert (best.indices.tolist(), best.gaps.tolist()) == ([1, 2], [3.0, 2.0])
    least = build(None, MAX, k=2, scale=0, noise=noise, optimize="min")([4, 9, 4, 4])
    assert (least.indices.tolist(), least.gaps.tolist()) == ([0, 2], [0.0, 0.0])
    named = {"mechanism": "noisy_top_k_with_gaps", "noise": noise.name, "k": 2, "scale": 1.5, "optimize": "max"}
    assert build(None, MAX, k=2, scale=1.5, noise=noise).parameters == named


@pytest.mark.slow
@pytest.mark.parametrize(
    ("noise", "optimize"), list(zip(NOISES, ("max", "min", "max", "min", "max"), strict=True)), ids=str
)
def test_releases_follow_the_joint_law_of_ranking_and_gaps(noise: Noise, optimize: str) -> None:
    scores, scale, sign = [2, 0, 3], Fraction(3, 2), 1 if optimize == "max" else -1
    cuts = (0.4, 1.3)
    units = [float(sign * score / scale) for score in scores]
    for k, n in ((1, 3000), (2, 5000)):
        measurement = build(3, MAX, k=k, scale=scale, noise=noise, optimize=optimize)
        counts: Counter[Any] = Counter()
        for _ in range(n):
            found = measurement(scores)
            over = tuple(sum(gap / float(scale) > c for c in cuts) for gap in found.gaps)
            counts[tuple(found.indices.tolist()), over] += 1
        assert_follows(counts, oracle.binned(noise.name, units, k, cuts), detects=0.61)


@pytest.mark.further
def test_the_oracle_is_held_against_closed_forms() -> None:
    scores = (0.0, -1.5, 2.0, 0.5)
    for k, every in ((1, 1), (2, 1), (3, 7)):
        rankings, gaps = (array[::every] for array in outcomes(4, k))
        for name, closed in (("Gumbel", oracle.gumbel_density), ("Exponential", oracle.exponential_density)):
            found = oracle.densities(name, scores, rankings, gaps)
            for p, y, g in zip(found, rankings.tolist(), gaps.tolist(), strict=True):
                assert abs(p / closed(scores, y, g) - 1) < ERROR
    for noise in NOISES:
        law = _binned(noise, (0, -1, -2), 2)
        assert abs(sum(law.values()) - 1) < 1e-12
        assert min(law.values()) > 1e-6
        step = 1e-3
        corners = [oracle.survival(noise.name, scores, (2, 0), (1 + a, 0.3 + b)) for a in (0, step) for b in (0, step)]
        density = oracle.densities(noise.name, scores, [[2, 0]], [[1 + step / 2, 0.3 + step / 2]])[0]
        assert (corners[0] - corners[1] - corners[2] + corners[3]) / step**2 == pytest.approx(density, rel=1e-4)


def test_the_release_is_a_named_tuple_of_arrays() -> None:
    release = build(None, MAX, k=3, scale=2)([5, 1, 9, 4, 4])
    assert isinstance(release, tk.Release)
    assert list(release.to_dict()) == ["indices", "gaps"]
    assert (release.indices.dtype, release.gaps.dtype) == (np.int64, np.float64)
    assert release.indices.shape == release.gaps.shape == (3,)
    assert build(None, MAX, k=1, scale=2).parameters["noise"] == "Exponential"


@pytest.mark.parametrize("optimize", ["max", "min"])
def test_gaps_are_never_negative_in_either_direction(optimize: str) -> None:
    scores = [1.5, -7.25, 1e6, 3.0]
    domain = tk.VectorDomain(tk.AtomDomain(float))
    measurement = make_noisy_top_k_with_gaps(domain, tk.RangeDistance(), ZCDP, k=3, scale=1e-3, optimize=optimize)
    found = measurement(scores)
    order = [2, 3, 0, 1] if optimize == "max" else [1, 0, 3, 2]
    assert found.indices.tolist() == order[:3]
    assert np.allclose(found.gaps, np.abs(np.diff(np.array(scores)[order])), atol=0.1)
    assert (found.gaps >= 0).all()


def test_as_many_scores_as_winners_are_too_few() -> None:
    for noisy in (build(None, MAX, k=2, scale=scale) >> tk.index_candidates(["ash", "birch"]) for scale in (0, 1)):
        for call in (noisy, noisy.success_probability):
            raises_exactly(DataError, lambda call=call: call([SENTINEL_INT, 2]), "at least k + 1 elements (3)")


def test_without_noise_many_releases_are_the_exact_one() -> None:
    for found in tk.make_repeat(build(None, tk.MaxDivergence(), k=2, scale=0), times=3)([5, 1, 3]):
        assert (found.indices.tolist(), found.gaps.tolist()) == ([0, 2], [2, 2])
