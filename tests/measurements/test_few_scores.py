"""Selections where a person changes few scores: against laws of neighbours that share no code with the library.

Tries proofs/measurements/selection.tex and proofs/measurements/moved.tex.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.spaces.stated import rho_of

from ..concepts.losses import number
from ..oracles import floats, maps, rhos

MAX, RANGE, ZCDP, PROFILE = MEASURES = (
    tk.MaxDivergence(),
    tk.RangeDivergence(),
    tk.ZeroConcentratedDivergence(),
    tk.PrivacyProfile(),
)
ORDERS = (1.001, 2.0, 8.0, 40.0)
EPSILONS = (0.0, 0.3, 0.7, 1.2)
FAR = 12
TOLD = 1e-9  # the laws are right to 1e-12: of outcomes less likely than this no loss is told


def build(noise: Any, measure: tk.Measure, changes: int | None, size: int | None = None, **options: Any) -> Any:
    metric = tk.LInfDistance(monotonic=True)
    if changes is not None:
        metric = tk.L01InfDistance(changes=changes, monotonic=True)
    return tk.make_report_noisy_top_k(
        tk.VectorDomain(tk.AtomDomain(int), size=size), metric, measure, noise=noise, **options
    )


def met(measure: tk.Measure, before: Any, after: Any) -> float:
    """The largest loss of any pair of rows, in both directions; at no more than a few orders."""
    loss = np.where(np.minimum(before, after) > TOLD, np.log(after / before), 0.0)
    if measure == MAX:
        return float(np.abs(loss).max())
    if measure == RANGE:
        return float((loss.max(axis=1) - loss.min(axis=1)).max())
    found = [
        np.log((p * np.exp(order * side)).sum(axis=1)) / (order * (order - 1))
        for order in ORDERS
        for p, side in ((before, loss), (after, -loss))
    ]
    return float(np.max(found))


def neighbours(d: int, changes: int, gaps: tuple[int, ...]) -> tuple[Any, Any]:
    """Scores in blocks, and what they become where one person raises, or lowers, at most ``changes`` of them."""
    pairs = [
        (scores, tuple(a + sign * b for a, b in zip(scores, raised, strict=True)))
        for steps in itertools.product(gaps, repeat=d - 1)
        for scores in [(0, *(-sum(steps[: i + 1]) for i in range(d - 1)))]
        for raised in itertools.product((0, 1), repeat=d)
        for sign in (1, -1)
        if 0 < sum(raised) <= changes
    ]
    before, after = zip(*pairs, strict=True)
    return np.array(before, dtype=float), np.array(after, dtype=float)


def attack(noise: Any, d: int, k: int, changes: int, gaps: tuple[int, ...], release: str) -> dict[tk.Measure, float]:
    """The largest share of each claim that is met; raises where one is exceeded, and for each curve, too."""
    laws = [floats.one_shot(noise.name, scores, k) for scores in neighbours(d, changes, gaps)]
    before, after = (floats.sets(law, d, k) if release == "set" else law for law in laws)
    shares = {}
    for measure in (MAX, RANGE, ZCDP):
        claimed = build(noise, measure, changes, d, k=k, scale=1, release=release).map(1)
        shares[measure] = met(measure, before, after) / claimed
    curve = build(noise, PROFILE, changes, d, k=k, scale=1, release=release).map(1)
    shares[PROFILE] = max(
        float(np.maximum(q - math.exp(epsilon) * p, 0).sum(axis=1).max()) / (curve.delta(epsilon) or 1e-9)
        for epsilon in EPSILONS
        for p, q in ((before, after), (after, before))
    )
    return shares


CASES = [(d, k, changes) for d in (3, 4) for k in range(1, d) for changes in (1, 2)]


def test_no_neighbour_of_few_changes_exceeds_a_claim_and_some_come_close() -> None:
    """Two of three scores, in all blocks, of which any one moves."""
    for noise in (tk.Laplace(), tk.Logistic()):
        shares = attack(noise, 3, 2, 1, (0, 1, FAR), "ranking")
        assert max(shares.values()) <= 1 + 1e-6, (noise, shares)
        assert shares[MAX] > 0.999, (noise, shares)
        assert shares[RANGE] > 0.9, (noise, shares)


def test_with_other_noises_one_changed_score_costs_what_all_winners_do() -> None:
    for name in ("Gumbel", "Exponential"):
        before, after = (floats.one_shot(name, np.array([[top, 0, 0, 0]]), 3) for top in (4.0, 5.0))
        assert met(MAX, before, after) > 2.9


@pytest.mark.slow
def test_no_neighbour_exceeds_a_claim_whatever_is_selected() -> None:
    exceeded = []
    for noise in (tk.Laplace(), tk.Logistic()):
        for (d, k, changes), release in itertools.product(CASES, ("ranking", "set")):
            gaps = (0, 1, 3, FAR) if d == 3 else (0, 2, FAR)
            shares = attack(noise, d, k, changes, gaps, release)
            exceeded += [(noise, d, k, changes, release, shares)] * (max(shares.values()) > 1 + 1e-6)
    assert not exceeded


def test_the_least_of_both_bounds_is_charged() -> None:
    """Twenty winners of fifty: what all scores cost where it is less, and what the winners cost otherwise."""
    wrong = []
    rho_of = {"Laplace": lambda h: rhos.of_laplace(h), "Logistic": lambda h: number(h) / mpmath.tanh(number(h) / 2) - 2}
    for noise, changes, size, d_in in itertools.product(
        (tk.Laplace(), tk.Logistic(), tk.Gumbel(), tk.Exponential()), (1, 3, 30), (None, 4, 50), (1, 2)
    ):
        k, h, moved = min(size or 20, 20), Fraction(d_in, 7), min(changes, size or changes)
        whole = moved * h, 2 * moved * h, moved * rho_of.get(noise.name, float)(h)
        winners = maps.one_shot(noise.name, k, size, "ranking", h)
        for measure, all_scores, alone in zip(MEASURES, whole, winners, strict=False):
            least = min(all_scores, alone, key=number) if noise in (tk.Laplace(), tk.Logistic()) else alone
            found = build(noise, measure, changes, size, k=k, scale=7).map(d_in)
            if not math.isclose(found, least, rel_tol=1e-12):
                wrong.append((noise, changes, size, d_in, measure, found, float(least)))
    assert not wrong


def test_logistic_noise_on_one_score_costs_its_divergence() -> None:
    """At orders near one it is met, and at none exceeded; small moves are summed by another formula."""
    z, weights = np.linspace(-60, 60, 240_001), 120 / 240_000
    for scale in (Fraction(1, 6), 1, 7):
        claimed = build(tk.Logistic(), ZCDP, 1, k=50, scale=scale).map(1)
        before, after = (-np.abs(at) - 2 * np.log1p(np.exp(-np.abs(at))) for at in (z, z - float(1 / Fraction(scale))))
        found = [
            math.log(np.exp(before + order * (after - before)).sum() * weights) / (order * (order - 1))
            for order in (1.0001, 1.5, 3.0, 20.0)
        ]
        assert found[0] > claimed * 0.999, scale
        assert max(found) <= claimed * (1 + 1e-6), scale
    for power in (13, 14, 15, 40):
        h = Fraction(1, 2**power)
        with mpmath.workdps(60):
            exact = mpmath.mpf(1) / 2**power * mpmath.coth(mpmath.mpf(1) / 2 ** (power + 1)) - 2
        assert math.isclose(build(tk.Logistic(), ZCDP, 1, k=50, scale=1 / h).map(1), float(exact), rel_tol=1e-15)


def test_a_set_of_all_and_no_noise_and_no_distance_stay_what_they_were() -> None:
    for measure in MEASURES:
        everybody = build(tk.Laplace(), measure, 1, 3, k=3, scale=1, release="set")
        assert measure.at_most(everybody.map(5), 0.0)
        noisy, bare = (build(tk.Laplace(), measure, 1, 3, k=2, scale=scale) for scale in (1, 0))
        assert measure.at_most(noisy.map(0.5), 0.0)
        assert bare.map(1) == noisy.map(math.inf) == measure.infinite


def laplace_pairs(h: float, count: int, epsilon: float, up: bool) -> float:
    """The hockey stick of ``count`` Laplace pairs with the loss ``h``, losses rounded to a grid up or down."""
    n = 400
    edges = np.linspace(-h, h, 2 * n + 1)
    inner = np.exp((edges - h) / 2) / 2  # its increments are the masses between
    masses = np.zeros(2 * n + 1)
    masses[1 if up else 0 :][: 2 * n] += np.diff(inner)
    masses[-1] += 0.5
    masses[0] += math.exp(-h) / 2
    total = np.ones(1)
    for _ in range(count):
        total = np.convolve(total, masses)
    losses = np.linspace(-h * count, h * count, 2 * n * count + 1)
    return float((total * np.maximum(0, 1 - np.exp(epsilon - losses))).sum())


@pytest.mark.further
def test_the_curve_is_that_of_the_scores_that_move() -> None:
    """One score alone, and ten with the noise of scale ten: the tenfold composition, where adding up tells less."""
    for changes, scale in ((1, 2), (3, 2), (10, 10)):
        curve = build(tk.Laplace(), PROFILE, changes, k=2 * changes, scale=scale).map(1)
        for epsilon in (0.1, 0.5, 0.8):
            low, high = (laplace_pairs(1 / scale, changes, epsilon, up) for up in (False, True))
            assert low <= curve.delta(epsilon) * (1 + 1e-9)
            assert curve.delta(epsilon) <= high * 1.01 + 1e-9, (changes, epsilon)


def test_a_curve_states_the_rho_that_is_charged() -> None:
    """Of one score, and of several together: filters of zero-concentrated privacy read it from the curve."""
    for noise, changes in itertools.product((tk.Laplace(), tk.Logistic()), (1, 5)):
        charged, curve = (build(noise, one, changes, k=60, scale=7).map(1) for one in (ZCDP, PROFILE))
        assert math.isclose(rho_of(curve), charged, rel_tol=1e-9), (noise, changes)


@pytest.mark.further
def test_gaps_cost_no_more_than_all_scores_and_counts_only_those_that_move() -> None:
    domain = tk.VectorDomain(tk.AtomDomain(int), size=50)
    few, all_of_them = tk.L01InfDistance(changes=2, monotonic=True), tk.LInfDistance(monotonic=True)
    gaps = (domain, few) >> tk.then_noisy_top_k_with_gaps(MAX, k=20, scale=10, noise=tk.Laplace())
    assert gaps.map(1) == 0.2
    for measure, one in ((MAX, 2 / 10), (ZCDP, 2 / 800)):
        counted = [
            ((domain, metric) >> tk.then_select_then_count(measure, k=20, scale=10, count_scale=c)).map(1)
            for metric, c in ((few, 10 if measure == MAX else 20), (all_of_them, 10**9))
        ]
        assert counted[0] == pytest.approx(counted[1] + one, rel=1e-6)
    profile = (domain, few) >> tk.then_select_then_count(PROFILE, k=20, scale=10, count_scale=20)
    both = [tk.then_report_noisy_top_k(PROFILE, k=20, scale=10), tk.then_gaussian(PROFILE, scale=20)]
    parts = tk.make_composition([(domain, few) >> then for then in both])
    assert profile.map(1).epsilon(1e-6) == pytest.approx(parts.map(1).epsilon(1e-6), rel=1e-3)
