"""The claims of make_joint_top_k: maps against enumerated neighbours, witnesses, arguments, outputs."""

import functools
import itertools
from collections import Counter
from fractions import Fraction
from typing import Any

import mpmath
import pytest

import opendp_topk as tk
from opendp_topk.measurements.joint_top_k import make_joint_top_k
from opendp_topk.sampling.samplers import rows as listed
from tests.concepts.losses import realised
from tests.concepts.sentinels import raises_exactly
from tests.oracles import joint as oracle
from tests.oracles.chi_square import assert_follows, enough

MEASURES = (tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence())
RELEASES = ("ranking", "set")


def build(d: int | None, metric: tk.Metric, measure: tk.Measure, **options: Any) -> tk.Measurement:
    return make_joint_top_k(tk.VectorDomain(tk.AtomDomain(int), size=d), metric, measure, **options)


@functools.cache
def law(scores: tuple[int, ...], k: int, scale: Fraction, release: str) -> Any:
    return oracle.law(scores, k, scale, release == "ranking")


def claim(measure: tk.Measure, metric: tk.Metric, d: int | None, d_in: int, **options: Any) -> float:
    return float(build(d, metric, measure, **options).map(d_in))


def within(found: mpmath.mpf, claimed: float) -> bool:
    """Whether a loss known to 30 digits is at most ``claimed``."""
    with mpmath.workdps(40):
        return bool(found <= claimed * (1 + mpmath.mpf("1e-27")) + mpmath.mpf("1e-30"))


def moves(metric: tk.Metric, d: int) -> list[tuple[int, ...]]:
    """The extreme moves of the scores within distance 1 of the metric."""
    if metric == tk.LInfDistance():
        return list(itertools.product((-1, 1), repeat=d))
    return list(itertools.product((0, 1), repeat=d))[1:]


SHAPES = [(d, k) for d in (1, 2, 3, 4, 5) for k in (1, 2, 3) if k <= d]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("r", [Fraction(1, 10), Fraction(1), Fraction(6)])
def test_the_range_of_2_r_is_attained_by_monotone_neighbours(r: Fraction, release: str) -> None:
    """d = 3, k = 2, (0, 0, 2) -> (0, 1, 2): one utility rises by a step and another falls by one."""
    options: dict[str, Any] = {"k": 2, "scale": 1 / r, "release": release}
    claimed = claim(tk.RangeDivergence(), tk.LInfDistance(monotonic=True), 3, 1, **options)
    assert claimed == float(2 * r)
    with mpmath.workdps(40):
        pair = [law(x, 2, 1 / r, release) for x in ((0, 0, 2), (0, 1, 2))]
        found = realised(tk.RangeDivergence(), *pair)
        assert 0.999999 * claimed <= found
        assert within(found, claimed)


@pytest.mark.slow
@pytest.mark.quick(release="set")
@pytest.mark.parametrize("release", RELEASES)
def test_the_pure_loss_of_2_r_is_approached_by_monotone_neighbours(release: str) -> None:
    """Many candidates at 0 and one far above: what falls has nearly all of the weight, what rises is unlikely."""
    d, r = 151, Fraction(1, 2)
    x = [0] * (d - 1) + [100]
    y = [*x[1:-1], 1, 100]
    build_one = functools.partial(build, None, tk.LInfDistance(monotonic=True), tk.MaxDivergence())
    noisy = build_one(k=2, scale=1 / r, release=release)
    found = realised(tk.MaxDivergence(), noisy.distribution(x), noisy.distribution(y))
    assert 0.97 * noisy.map(1) <= found
    assert within(found, noisy.map(1))


def test_a_ranking_of_two_out_of_two_is_one_choice() -> None:
    with mpmath.workdps(40):
        pair = [law(x, 2, Fraction(1), "ranking") for x in ((0, 0), (0, 1))]
        claimed = claim(tk.RangeDivergence(), tk.RangeDistance(), 2, 1, k=2, scale=1)
        assert claimed == 1
        assert 0.999999 <= realised(tk.RangeDivergence(), *pair) <= 1 + mpmath.mpf("1e-30")


@pytest.mark.parametrize("release", RELEASES)
def test_more_winners_than_sums_allow_are_refused(release: str) -> None:
    """Without data: the samplers' float sums are proved for 2^22 ranks."""
    options: dict[str, Any] = {"scale": 1, "release": release}
    for size in (None, 2**23):
        build(size, tk.LInfDistance(), MEASURES[0], k=2**22, **options)
        with pytest.raises(tk.errors.ParameterError, match=r"^k must be at most 2\^22"):
            build(size, tk.LInfDistance(), MEASURES[0], k=2**22 + 1, **options)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("optimize", ["max", "min"])
def test_the_declared_law_is_that_of_the_oracle(optimize: str, release: str) -> None:
    scores, sign = [5, 3, 3, 1, 0], 1 if optimize == "max" else -1
    options = {"k": 3, "scale": 2, "optimize": optimize, "release": release}
    found = build(None, tk.LInfDistance(), tk.MaxDivergence(), **options).distribution(scores)
    with mpmath.workdps(40):
        expected = law(tuple(sign * x for x in scores), 3, Fraction(2), release)
        assert set(found) == set(expected)
        assert all(mpmath.almosteq(found[s], p, mpmath.mpf("1e-30")) for s, p in expected.items())


@pytest.mark.further
@pytest.mark.quick(release="set", optimize="min")
@pytest.mark.parametrize("optimize", ["max", "min"])
@pytest.mark.parametrize("release", RELEASES)
def test_many_releases_follow_the_unlisted_law(release: str, optimize: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listed, "draw_listed_outputs", lambda *_, **__: None)
    sign = 1 if optimize == "max" else -1
    one_of = functools.partial(build, None, tk.LInfDistance(), tk.MaxDivergence())
    drawn = one_of(k=2, scale=Fraction(3, 2), optimize=optimize, release=release)
    known = law((8, 4, 0), 2, Fraction(3, 2), release)
    releases = tk.make_repeat(drawn, times=enough(max(known.values()), 0.1))([sign * x for x in (8, 4, 0)])
    assert_follows(Counter(map(tuple, releases.tolist())), known, detects=0.1)
    everybody = one_of(k=3, scale=1, release="set")
    assert tk.make_repeat(everybody, times=2)([3, 1, 0]).tolist() == [[0, 1, 2]] * 2


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("optimize", ["max", "min"])
def test_success_is_that_of_the_law(optimize: str, release: str) -> None:
    scores, sign = [5, 3, 3, 1, 0, -2], 1 if optimize == "max" else -1
    options = {"k": 3, "scale": 2, "optimize": optimize, "release": release}
    noisy = build(None, tk.LInfDistance(), tk.MaxDivergence(), **options)
    signed = [sign * x for x in scores]
    with mpmath.workdps(30):
        for event, sure, reach in (("exact", 3, 3), ("great", 1, 3), ("good", 1, 4)):
            everything = law(tuple(signed), 3, Fraction(2), release)
            exact = mpmath.fsum(p for s, p in everything.items() if oracle.holds(signed, s, sure, reach))
            low, high = noisy.success_probability(scores, event)
            assert low <= exact <= high < low + 1e-10
    many = build(None, tk.LInfDistance(), tk.MaxDivergence(), k=11, scale=2, release=release)
    raises_exactly(tk.errors.CapacityError, lambda: many.success_probability(list(range(20))), "k of at most 10")
