"""The claims of make_select_then_count: the sum of both costs, the joint law, the split, arguments."""

import functools
import itertools
import math
from collections import Counter
from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.measurements import select_then_count
from opendp_topk.measurements.select_then_count import make_select_then_count

from ..oracles import discrete, one_shot, rhos
from ..oracles.chi_square import assert_follows
from ..oracles.noise import number

MAX, ZCDP = MEASURES = (tk.MaxDivergence(), tk.ZeroConcentratedDivergence())
UP, BOTH = tk.LInfDistance(monotonic=True), tk.LInfDistance()
INT = tk.VectorDomain(tk.AtomDomain(int))
NOISE = {MAX: "laplace", ZCDP: "gaussian"}


def build(
    measure: tk.Measure = MAX, d: int | None = None, metric: tk.Metric = UP, kind: type = int, **options: Any
) -> tk.Measurement:
    return make_select_then_count(tk.VectorDomain(tk.AtomDomain(kind), size=d), metric, measure, **options)


# Oracles: the probability of a ranking from first principles, and losses of the joint release.


@functools.cache
def ranking_law(measure: tk.Measure, x: tuple[int, ...], k: int, tau: Fraction) -> dict[tuple[int, ...], Any]:
    """The k best of x / tau plus exponential (MaxDivergence) or Gumbel noise."""
    weights = [mpmath.exp(number(score / tau)) for score in x]
    return one_shot.rankings("Exponential" if measure == MAX else "Gumbel", weights, k)


def joint_loss(
    measure: tk.Measure, x: tuple[int, ...], y: tuple[int, ...], k: int, tau: Fraction, b: Fraction, release: str
) -> Any:
    """The loss of (winners, counts), each count being independent of the others given the winners.

    For zCDP the largest D_alpha / alpha of two orders.
    """
    law, other = ranking_law(measure, x, k, tau), ranking_law(measure, y, k, tau)
    if release == "set":
        law, other = one_shot.sets(law), one_shot.sets(other)
    shift = [v - u for u, v in zip(x, y, strict=True)]
    if measure == MAX:
        return max(
            abs(mpmath.log(other[w] / law[w]))
            + sum(discrete.max_loss("laplace", b, shift[i], abs(shift[i]) + 2) for i in w)
            for w in law
        )
    return max(
        mpmath.log(
            mpmath.fsum(
                law[w]
                * (other[w] / law[w]) ** order
                * mpmath.exp((order - 1) * sum(discrete.renyi("gaussian", b, abs(shift[i]), order) for i in w))
                for w in law
            )
        )
        / (order * (order - 1))
        for order in (2, 5)
    )


def test_the_pure_loss_is_attained() -> None:
    """One item far above that stays, k items that rise together: selection and counts lose their most at once."""
    for k, tau, b in ((1, Fraction(1), Fraction(3)), (2, Fraction(2), Fraction(1))):
        x, y = (200, *[0] * k), (200, *[1] * k)
        claimed = build(MAX, k + 1, k=k, scale=tau, count_scale=b).map(1)
        with mpmath.workdps(120):
            assert joint_loss(MAX, x, y, k, tau, b, "ranking") >= claimed * (1 - 1e-9)


@pytest.mark.further
def test_a_user_added_and_another_removed_moves_a_count_by_no_more_than_the_path() -> None:
    """Under the path metric each score moves by d_in at most; k of them by k d_in in sum, and k d_in^2 in square."""
    for up, down in ((1, 1), (2, 0), (0, 2)):
        move = (up, up, -down)
        d_in = max(0, *move) + max(0, *(-m for m in move))
        assert d_in == 2
        assert all(abs(m) <= d_in for m in move)
        for measure in MEASURES:
            found = joint_loss(measure, (3, 1, 2), (3 + up, 1 + up, 2 - down), 2, Fraction(2), Fraction(3), "ranking")
            assert found <= build(measure, 3, k=2, scale=2, count_scale=3).map(d_in) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("measure", "d", "options", "cost"),
    [
        (MAX, 3, {}, Fraction(8, 7) + Fraction(6, 5)),
        (MAX, 3, {"release": "set"}, Fraction(6, 5)),
        (MAX, 3, {"scale": 0, "release": "set"}, Fraction(6, 5)),
        (ZCDP, 1, {"k": 1}, Fraction(4, 50)),
        (MAX, None, {"kind": float, "granularity": 0.75}, Fraction(12, 7) + Fraction(27, 20)),
        (ZCDP, None, {"kind": float, "granularity": 3}, 3 * rhos.of_range(Fraction(4, 7)) + Fraction(27, 50)),
    ],
)
def test_the_map_is_the_formula_rounded_up_once(
    measure: tk.Measure, d: int | None, options: dict[str, Any], cost: Fraction
) -> None:
    found = build(measure, d, BOTH, **{"k": 3, "scale": 7, "count_scale": 5} | options).map(2)
    assert math.nextafter(found, 0) < cost <= found


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_the_map_at_the_ends(measure: tk.Measure) -> None:
    assert build(measure, k=1, scale=0, count_scale=0).map(0) == 0
    assert build(measure, k=1, scale=0, count_scale=3).map(1) == math.inf
    assert build(measure, k=1, scale=3, count_scale=0).map(1) == math.inf
    assert build(measure, k=1, scale=3).map(math.inf) == math.inf
    beyond = {"kind": float, "granularity": 1, "k": 1, "scale": 3, "count_scale": 1e300}
    assert build(measure, metric=BOTH, **beyond).map(1.7e308) == math.inf, "twice the distance is no float"
    assert build(measure, 2, k=2, scale=0, count_scale=0, release="set").map(1) == math.inf


@pytest.mark.parametrize("metric", [UP, BOTH], ids=repr)
@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_by_default_selection_and_counts_cost_the_same(measure: tk.Measure, metric: tk.Metric) -> None:
    even = build(measure, metric=metric, k=4, scale=Fraction(6))
    alone = (INT, metric) >> tk.then_report_noisy_top_k(measure, k=4, scale=Fraction(6))
    for d_in in (1, 3, Fraction(1, 4)):
        counts = alone.map(d_in)
        if measure == ZCDP:
            counts = 4 * (d_in * (1 if metric == UP else 2) // 1 / Fraction(6)) ** 2 / 8  # that of small losses
            assert alone.map(d_in) <= counts <= 1.02 * alone.map(d_in)
        assert even.map(d_in) == pytest.approx(float(alone.map(d_in) + counts), rel=1e-15)
    assert even.parameters["count_scale"] == (6 if measure == MAX else 12) / (1 if metric == UP else Fraction(2))


def test_without_noise_the_winners_and_their_scores_are_exact() -> None:
    exact = build(k=2, scale=0, count_scale=0)([170, 30, 250, 90])
    assert isinstance(exact, tk.Release)
    assert exact.indices.tolist() == [2, 0]
    assert exact.counts.tolist() == [250, 170]
    smallest = build(k=2, scale=0, count_scale=0, optimize="min", release="set")([170, 90, 250, 30])
    assert smallest.to_dict() == {"indices": [1, 3], "counts": [90, 30]}
    floats = build(kind=float, k=2, scale=0, count_scale=0, granularity=0.5)([0.3, 7.3, -2.0])
    assert floats.to_dict() == {"indices": [1, 0], "counts": [7.5, 0.5]}
    assert build(k=1, scale=0, count_scale=0)([2**70, 3]).counts.tolist() == [2**70]


@pytest.mark.slow
@pytest.mark.quick(measure="MaxDivergence()", release="ranking")
@pytest.mark.parametrize("release", ["ranking", "set"])
@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_winners_and_errors_follow_the_joint_law(measure: tk.Measure, release: str) -> None:
    """Each count is the winner's own score plus noise of the count's scale, independent of the winners."""
    x, k, tau, b, n = (40, 20, 21), 2, Fraction(30), Fraction(3, 2), 4000
    measurement = build(measure, k=k, scale=tau, count_scale=b, release=release)
    law = ranking_law(measure, x, k, tau)
    noise = discrete.pooled(discrete.masses(NOISE[measure], b), -1, 1)
    joint = {
        (w, *errors): p * mpmath.fprod(noise[e] for e in errors)
        for w, p in (one_shot.sets(law) if release == "set" else law).items()
        for errors in itertools.product(noise, repeat=k)
    }
    counts: Counter[Hashable] = Counter()
    for _ in range(n):
        found = measurement(x)
        errors = [int(c) - x[i] for i, c in zip(found, found.counts, strict=True)]
        names = [discrete.BELOW if e < -1 else discrete.ABOVE if e > 1 else e for e in errors]
        counts[(tuple(found.indices.tolist()), *names)] += 1
    assert_follows(counts, joint, detects=2.2)


def test_under_a_profile_every_count_is_charged() -> None:
    """One selection and k counts, at each distance."""
    for d_in in (1, 3):
        composed = build(tk.PrivacyProfile(), k=2, scale=20.0).map(d_in).bounds[0]
        assert sorted(count for _, count in composed.parts) == [1, 2]


@pytest.mark.slow
def test_under_a_profile_the_curves_of_selection_and_counts_compose() -> None:
    """Below the curve of the rhos' sum, above each part's own; free at 0, and nothing is promised without noise."""
    profile = build(tk.PrivacyProfile(), k=2, scale=20.0)
    rhos = tk.make_zCDP_to_approxDP(build(ZCDP, k=2, scale=20.0))
    alone = INT, UP
    selection = tk.make_report_noisy_top_k(*alone, tk.PrivacyProfile(), k=2, scale=20.0)
    for d_in in (1, 3):
        found = profile.map(d_in).epsilon(1e-6)
        assert selection.map(d_in).epsilon(1e-6) < found < rhos.map(d_in).epsilon(1e-6)
    assert profile.map(Fraction(7, 2)).epsilon(1e-6) == profile.map(3).epsilon(1e-6)
    assert profile.map(0).epsilon(0) == 0
    assert build(tk.PrivacyProfile(), k=2, scale=0.0).map(1).delta(100) == 1
    assert build(tk.PrivacyProfile(), k=2, scale=20.0, count_scale=0.0).map(1).delta(100) == 1
    everybody = build(tk.PrivacyProfile(), d=2, k=2, scale=0.0, count_scale=20.0, release="set")
    assert 0 < everybody.map(1).epsilon(1e-6) < 0.4


@pytest.mark.slow
def test_witness_people_who_change_the_same_scores_nearly_attain_the_curve() -> None:
    """Of 30 winners two counts move by d each where d people change two; all 30 take part, so that none are chosen."""
    b, d = 24, 4
    metric, options = tk.L01InfDistance(changes=2, monotonic=True), {"k": 30, "scale": 0, "release": "set"}
    space = tk.VectorDomain(tk.AtomDomain(int), size=30), metric, tk.PrivacyProfile()
    curve = tk.make_select_then_count(*space, count_scale=b, **options).map(d)
    noise = {z: float(p) for z, p in discrete.masses("gaussian", Fraction(b)).items()}
    least = min(noise)
    both = np.convolve(*[[noise[z] for z in sorted(noise)]] * 2)
    losses = (2 * d * d + 2 * d * (2 * least + np.arange(len(both)))) / (2 * b * b)
    for epsilon in (0.0, 0.1, 0.3):
        met = float(both @ np.maximum(0, -np.expm1(epsilon - losses)))
        assert met <= curve.delta(epsilon) <= 1.1 * met


@pytest.mark.slow
@pytest.mark.parametrize("granularity", [None, 0.5])
def test_no_joint_law_exceeds_the_curve(granularity: float | None) -> None:
    """One winner of two and its count, enumerated: every neighbour against the curve at several epsilons."""
    kind, step = (int, 1) if granularity is None else (float, granularity)
    options = {} if granularity is None else {"granularity": granularity}
    tau, b = Fraction(2), Fraction(3)
    built = build(tk.PrivacyProfile(), 2, UP, kind, k=1, scale=tau, count_scale=b, **options)
    curve = built.map(1)
    noise = discrete.masses("gaussian", b / Fraction(step))
    closest = 0.0
    with mpmath.workdps(40):
        for gap, move in itertools.product((-4, 0, 3), ((0, 1), (1, 0), (1, 1))):
            laws = []
            for x in ((0, gap), (move[0], gap + move[1])):
                weights = [mpmath.exp(number(Fraction(score) / tau)) for score in x]
                winner = [w / mpmath.fsum(weights) for w in weights]
                laws.append({(i, int(x[i] / step) + z): winner[i] * mass for i in (0, 1) for z, mass in noise.items()})
            for epsilon in (0, Fraction(1, 5), Fraction(1, 2), Fraction(1)):
                z = mpmath.exp(number(Fraction(epsilon)))
                for p, q in (laws, laws[::-1]):
                    zero = mpmath.mpf(0)
                    found = mpmath.fsum(max(zero, mass - z * p.get(y, zero)) for y, mass in q.items())
                    assert found <= curve.delta(epsilon) * (1 + mpmath.mpf("1e-14")) + mpmath.mpf("1e-32")
                    closest = max(closest, float(found) / curve.delta(epsilon))
    assert closest > 0.6


@pytest.mark.parametrize("measure", NOISE, ids=str)
def test_counts_get_the_noise_that_the_claim_is_about(measure: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: set[str] = set()

    def record(name: str) -> Any:
        def none(_: Any, n: int) -> Any:
            asked.add(name)
            return np.zeros(n, dtype=np.int64)

        return none

    for name in NOISE.values():
        monkeypatch.setattr(select_then_count, f"discrete_{name}", record(name))
    build(measure, k=2, scale=1)([5, 1, 3])
    tk.make_repeat(build(measure, k=2, scale=1), times=3)([5, 1, 3])
    assert asked == {NOISE[measure]}
