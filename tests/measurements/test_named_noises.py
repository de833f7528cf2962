"""The claims of make_report_noisy_top_k with a named noise: neighbours, false maps, samples, arguments.

Tries proofs/measurements/report_noisy_top_k.tex and proofs/measurements/selection.tex.
"""

import functools
import itertools
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.measurements.report_noisy_top_k import make_report_noisy_top_k
from opendp_topk.sampling.noises.noise import Noise
from tests.concepts.losses import number, realised
from tests.concepts.sentinels import raises_exactly
from tests.concepts.values import named
from tests.oracles import quadrature
from tests.oracles.chi_square import assert_follows
from tests.oracles.one_shot import sets

NOISES = (tk.noise.Gumbel(), tk.noise.Exponential(), tk.noise.HalfLogistic(), tk.noise.Laplace(), tk.noise.Logistic())
MEASURES = (tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence())
every_noise = pytest.mark.parametrize("noise", NOISES, ids=repr)


def build(d: int | None, measure: tk.Measure, metric: tk.Metric | None = None, **options: Any) -> tk.Measurement:
    domain = tk.VectorDomain(tk.AtomDomain(int), size=d)
    return make_report_noisy_top_k(domain, metric or tk.RangeDistance(), measure, **options)


@functools.cache
def _ranking_law(noise: Noise, scores: tuple[int, ...], k: int, scale: Fraction) -> dict[Any, Any]:
    return build(None, tk.MaxDivergence(), k=k, scale=scale, noise=noise).distribution(scores)


def law(noise: Noise, scores: Any, k: int, scale: Fraction, release: str = "ranking") -> dict[Any, Any]:
    found = _ranking_law(noise, tuple(score - min(scores) for score in scores), k, scale)
    with mpmath.workdps(50):
        return found if release == "ranking" else sets(found)


def assert_bounded(noise: Noise, x: Any, y: Any, d_in: int, k: int, scale: Fraction, metric: tk.Metric) -> None:
    """No measure of the loss between x and y, rankings and sets, exceeds its map."""
    for release in ("ranking", "set"):
        before, after = (law(noise, scores, k, scale, release) for scores in (x, y))
        for measure in MEASURES:
            options = {"k": k, "scale": scale, "noise": noise, "release": release}
            claimed = build(len(x), measure, metric, **options).map(d_in)
            found = realised(measure, before, after)
            with mpmath.workdps(40):
                assert found <= claimed * (1 + mpmath.mpf("1e-25")) + mpmath.mpf("1e-27"), (measure, release, x, y)


def steps(metric: tk.Metric, d: int) -> list[tuple[int, ...]]:
    """Every move of length one by the metric's definition, that has extreme coordinates."""
    moves = itertools.product((-1, 0, 1), repeat=d)
    if metric == tk.LInfDistance():
        return [move for move in moves if any(move)]
    if metric == tk.RangeDistance():
        return [move for move in moves if max(move) - min(move) == 1]
    return [move for move in moves if max(0, *move) + max(0, *(-m for m in move)) == 1]


@pytest.mark.further
@pytest.mark.quick(d=5)
@pytest.mark.parametrize("d", [1, 2, 5, None])
@pytest.mark.parametrize("metric", [tk.LInfDistance(), tk.LInfDistance(monotonic=True)], ids=repr)
def test_the_names_of_the_field_are_a_noise_and_a_k(d: int | None, metric: tk.Metric) -> None:
    """Their maps and their laws are those of report noisy top-k with this noise."""
    space = tk.VectorDomain(tk.AtomDomain(int), size=d), metric
    scores = [5, 0, 7, 1, 5][:d]
    for measure in (*MEASURES, tk.PrivacyProfile()):
        usual = tk.noise.Exponential() if measure == tk.MaxDivergence() else tk.noise.Gumbel()
        named: list[tuple[tk.Measurement, Noise, dict[str, Any]]] = [
            (tk.make_exponential_mechanism(*space, measure, scale=3), tk.noise.Gumbel(), {"k": 1}),
            (tk.make_permute_and_flip(*space, measure, scale=3), tk.noise.Exponential(), {"k": 1}),
        ]
        for k in range(1, min(3, d or 3) + 1):
            peeled = tk.make_peeled_top_k(*space, measure, k=k, scale=3, mechanism="exponential")
            named.append((peeled, tk.noise.Gumbel(), {"k": k}))
            for release in ("ranking", "set"):
                options = {"k": k, "release": release}
                named.append((tk.make_report_noisy_top_k(*space, measure, scale=3, **options), usual, options))
        for one, noise, options in named:
            ours = make_report_noisy_top_k(*space, measure, scale=3, noise=noise, **options)
            for d_in in (0, 1, 2, 7):
                mine, its = one.map(d_in), ours.map(d_in)
                both = (mine, its) if isinstance(mine, float) else (mine.delta(0.3), its.delta(0.3))
                assert both[0] == both[1]
            if measure == tk.MaxDivergence():
                law = {key if isinstance(key, tuple) else (key,): p for key, p in one.distribution(scores).items()}
                assert law == ours.distribution(scores)


@pytest.mark.slow
@every_noise
@pytest.mark.parametrize("metric", [tk.RangeDistance(), tk.LInfDistance(), tk.LInfDistance(monotonic=True)], ids=repr)
def test_no_neighbour_exceeds_the_map(noise: Noise, metric: tk.Metric) -> None:
    for d in (1, 2, 3):
        for x in ((0,) * d, (0, -1, -2)[:d], (0, -2, -2)[:d])[: 3 if metric == tk.RangeDistance() else 2]:
            for move in steps(metric, d) if d > 1 else [(1,)]:
                y = tuple(a + b for a, b in zip(x, move, strict=True))
                for k in range(1, d + 1):
                    assert_bounded(noise, x, y, 1, k, Fraction(1), metric)


def test_k_r_is_no_range_map_of_gumbel_noise() -> None:
    """s = (0, -g, -g, -2g), delta = (0, r, r, 0), k = 2: the map that is planted here is refuted."""
    x, y = (0, -12, -12, -24), (0, -11, -11, -24)
    found = realised(tk.RangeDivergence(), *(law(tk.noise.Gumbel(), z, 2, Fraction(1)) for z in (x, y)))
    planted = 2.0
    assert found > 1.4 * planted
    assert 0.97 * 3 <= found <= build(4, tk.RangeDivergence(), k=2, scale=1, noise=tk.noise.Gumbel()).map(1) == 3


def test_k_r_squared_half_is_no_zcdp_map_of_exponential_noise() -> None:
    """s = (0, -r/2, -r), delta = (0, r, r), k = 2, r = 1e-3, alpha = 300: 1.0705 of the planted map."""
    r, alpha, scale = mpmath.mpf("1e-3"), 300, Fraction(2000)
    before, after = (law(tk.noise.Exponential(), z, 2, scale) for z in ((0, -1, -2), (0, 1, 0)))
    with mpmath.workdps(40):
        moment = mpmath.fsum(p * (after[outcome] / p) ** alpha for outcome, p in before.items())
        found = mpmath.log(moment) / (alpha - 1) / alpha
        planted = 2 * r**2 / 2
        assert 1.0704 < found / planted < 1.0706
        measure = tk.ZeroConcentratedDivergence()
        assert found <= build(3, measure, k=2, scale=scale, noise=tk.noise.Exponential()).map(2)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("release", ["ranking", "set"])
def test_the_pure_loss_of_exponential_noise_is_attained(k: int, release: str) -> None:
    x, y = (1, *[0] * k), (1, *[1] * k)
    found = realised(tk.MaxDivergence(), *(law(tk.noise.Exponential(), z, k, Fraction(1), release) for z in (x, y)))
    claimed = build(k + 1, tk.MaxDivergence(), k=k, scale=1, noise=tk.noise.Exponential(), release=release).map(1)
    assert 0.999 * claimed <= found


@pytest.mark.slow
@pytest.mark.quick(noise="Laplace()", optimize="max")
@every_noise
@pytest.mark.parametrize("optimize", ["max", "min"])
def test_releases_follow_the_exact_law(noise: Noise, optimize: str) -> None:
    scores, scale, sign = [2, 0, 3], Fraction(3, 2), 1 if optimize == "max" else -1
    measurement = build(3, tk.MaxDivergence(), k=2, scale=scale, noise=noise, optimize=optimize)
    expected = quadrature.rankings(noise.name, [sign * score / scale for score in scores], 2, digits=12)
    counts = Counter(tuple(measurement(np.array(scores)).tolist()) for _ in range(4000))
    assert_follows(counts, expected, detects=0.28)
    chosen = build(3, tk.MaxDivergence(), k=2, scale=scale, noise=noise, optimize=optimize, release="set")
    counts = Counter(tuple(chosen(np.array(scores)).tolist()) for _ in range(2000))
    assert_follows(counts, sets(expected), detects=0.27)
    declared = measurement.distribution(scores)
    assert all(abs(number(declared[outcome]) - p) < 1e-12 for outcome, p in expected.items())


class _Strange:
    """Functions that no release of a refused noise may call."""

    @staticmethod
    def quantile(*_: Any) -> Any:
        raise AssertionError("a noise that is refused was evaluated")


def strange(**flags: bool) -> Noise:
    return Noise("Strange", _Strange.quantile, _Strange.quantile, **flags)


@pytest.mark.parametrize(
    ("noise", "release", "required"),
    [
        (strange(is_class_a=False), "ranking", 'class A for release="ranking"'),
        (strange(is_class_a=False, is_lipschitz=False), "set", "be Lipschitz"),
        (strange(), "ranking", "noise must be Gumbel(), Exponential(), HalfLogistic(), Laplace()"),
        (replace(tk.noise.Gumbel(), quantile=_Strange.quantile), "ranking", "noise must be Gumbel()"),
        (replace(tk.noise.Gumbel(), quantile_floats=_Strange.quantile), "ranking", "noise must be Gumbel()"),
    ],
    ids=named,
)
def test_noises_without_a_proof_are_refused(noise: Noise, release: str, required: str) -> None:
    call = functools.partial(build, 5, tk.MaxDivergence(), k=2, scale=1.0, noise=noise, release=release)
    raises_exactly(tk.errors.ParameterError, call, required)
