"""Noise on integers of which few move, against products of the laws of one integer: no code of the library in them.

Tries proofs/measurements/moved.tex and proofs/measurements/selection.tex.
"""

import functools
import itertools
import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.measurements import _moved
from opendp_topk.spaces.stated import rho_of
from tests.concepts.losses import number
from tests.concepts.spaces import INTEGERS, MONOTONIC
from tests.oracles import floats, maps, rhos

from ..oracles import discrete

MAX, RANGE, ZCDP = tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence()
PROFILE = tk.PrivacyProfile()
MAKERS: dict[str, Any] = {"laplace": tk.make_laplace, "gaussian": tk.make_gaussian}
WHOLE = {"laplace": tk.L1Distance(), "gaussian": tk.L2Distance()}
EPSILONS = (0.0, 0.05, 0.2, 0.5, 1.0, 1.7)
ERROR = 1e-11  # of sums of 10^5 floats, and far above what the laws are cut off by


def build(
    name: str, metric: tk.Metric, measure: tk.Measure, scale: Fraction, size: int | None = None
) -> tk.Measurement:
    measurement: tk.Measurement = MAKERS[name](
        tk.VectorDomain(tk.AtomDomain(int), size=size), metric, measure, scale=scale
    )
    return measurement


@functools.cache
def pair(name: str, scale: Fraction, move: int) -> tuple[Any, Any]:
    """The masses of one integer, and of one that moved, at the same outcomes."""
    masses = discrete.masses(name, scale)
    reach = max(masses) + move
    law = np.array([float(masses.get(z, 0)) for z in range(-reach, reach + 1)])
    moved = np.array([float(masses.get(z - move, 0)) for z in range(-reach, reach + 1)])
    kept = law + moved > 1e-17
    return law[kept], moved[kept]


@functools.cache
def product(name: str, scale: Fraction, moves: tuple[int, ...]) -> tuple[Any, Any]:
    """The masses of several independent integers, without those outcomes that hardly occur."""
    law, moved = np.ones(1), np.ones(1)
    for move in moves:
        one, other = pair(name, scale, move)
        law, moved = np.outer(law, one).ravel(), np.outer(moved, other).ravel()
        kept = law + moved > 1e-18
        law, moved = law[kept], moved[kept]
    return law, moved


def hockey_stick(name: str, scale: Fraction, moves: tuple[int, ...], epsilon: float) -> float:
    law, moved = product(name, scale, moves)
    return float(np.maximum(moved - math.exp(epsilon) * law, 0).sum())


def shapes(each: int, total: int, squares: int, size: int) -> Iterator[tuple[int, ...]]:
    """All moves of ``size`` integers within the bounds, in falling order."""
    for moves in itertools.combinations_with_replacement(range(each, -1, -1), size):
        if sum(moves) <= total and sum(move * move for move in moves) <= squares:
            yield moves


# Metrics, the distance, and what it allows of three integers: each, all together, their squares.
CASES = [
    (tk.L01InfDistance(changes=1), 1, (1, 1, 99)),
    (tk.L01InfDistance(changes=2), 1, (1, 2, 99)),
    (tk.L01InfDistance(changes=7, monotonic=True), 1.5, (1, 7, 99)),
    (tk.L01InfDistance(changes=1), 2, (2, 2, 99)),
    (tk.L01InfDistance(changes=2, monotonic=True), 2, (2, 4, 99)),
    (None, 1, (1, 1, 1)),
    (None, 2, {"laplace": (2, 2, 99), "gaussian": (2, 99, 4)}),
    (None, 3, {"laplace": (3, 3, 99), "gaussian": (3, 99, 9)}),
]


@pytest.mark.quick(case=(1, 6), name="gaussian")
@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("case", range(len(CASES)))
def test_no_moves_exceed_a_curve_and_the_worst_ones_meet_it(case: int, name: str) -> None:
    """All moves of three integers; the largest loss of any is within a hundredth of the curve."""
    scale, (metric, d_in, allowed) = Fraction(5, 2), CASES[case]
    bounds = allowed[name] if isinstance(allowed, dict) else allowed
    curve = build(name, metric or WHOLE[name], PROFILE, scale, size=3).map(d_in)
    for epsilon in EPSILONS:
        met = max(hockey_stick(name, scale, moves, epsilon) for moves in shapes(*bounds, 3))
        assert met - ERROR <= curve.delta(epsilon) <= met * 1.01 + ERROR, epsilon


@pytest.mark.further
@pytest.mark.quick(name="gaussian")
@pytest.mark.parametrize("name", MAKERS)
def test_no_moves_exceed_a_rho_and_the_most_that_move_attain_it(name: str) -> None:
    scale, order = Fraction(7, 3), Fraction(2) if name == "gaussian" else Fraction(1001, 1000)
    for metric, d_in, allowed in CASES:
        bounds = allowed[name] if isinstance(allowed, dict) else allowed
        claimed = build(name, metric or WHOLE[name], ZCDP, scale, size=3).map(d_in)
        met = max(
            float(mpmath.fsum(discrete.renyi(name, scale, move, order) for move in moves) / order)
            for moves in shapes(*bounds, 3)
        )
        assert met <= claimed * (1 + 1e-12), (metric, d_in)
        assert claimed <= met * (1.001 if metric or d_in != 2 else 1.01), (metric, d_in)


def test_pure_losses_and_ranges_are_those_of_all_that_move() -> None:
    scale = Fraction(7, 3)
    for changes, d_in, size, total in ((1, 1, None, 1), (3, 1, None, 3), (3, 2, None, 6), (3, 2, 2, 4), (9, 1, 4, 4)):
        metric = tk.L01InfDistance(changes=changes)
        assert build("laplace", metric, MAX, scale, size).map(d_in) == pytest.approx(float(total / scale), rel=1e-15)
        assert build("laplace", metric, RANGE, scale, size).map(d_in) == pytest.approx(float(2 * total / scale))


@pytest.mark.further
def test_a_hundred_counts_cost_a_hundred_times_one() -> None:
    """The numbers of one user with a hundred items: the sum of what each count loses, not the square of the sum."""
    hundred = tk.L01InfDistance(changes=100, monotonic=True)
    assert build("laplace", hundred, ZCDP, Fraction(50)).map(1) == pytest.approx(0.0200, abs=5e-5)
    ten = tk.L01InfDistance(changes=10)
    assert build("laplace", ten, PROFILE, Fraction(10)).map(1).delta(0.5) == pytest.approx(0.00993, abs=1e-5)


def test_moves_of_many_shapes_are_told_by_their_rho() -> None:
    for name in MAKERS:
        metric = tk.L01InfDistance(changes=40)
        curve, rho = (build(name, metric, one, Fraction(30)).map(3) for one in (PROFILE, ZCDP))
        assert 0 < curve.delta(rho + 2 * math.sqrt(rho * math.log(1e6))) <= 1e-6


def test_no_distance_costs_nothing_and_no_noise_everything() -> None:
    for name in MAKERS:
        metric = tk.L01InfDistance(changes=2)
        for measure in (ZCDP, PROFILE):
            noisy, bare = (build(name, metric, measure, Fraction(scale)) for scale in (2, 0))
            for free in (noisy.map(0), bare.map(0), noisy.map(0.5)):
                assert measure.at_most(free, 0.0)
            assert noisy.map(math.inf) == bare.map(1) == measure.infinite


@pytest.mark.slow
def test_curves_lie_within_the_bounds_of_another_accountant() -> None:
    """dp-accounting composes the same discrete laws, rounding losses down and up."""
    accounting = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    for name, scale, changes in (("laplace", 10, 7), ("gaussian", 6, 12), ("laplace", 3, 2), ("gaussian", 20, 50)):
        curve = build(name, tk.L01InfDistance(changes=changes), PROFILE, Fraction(scale)).map(1)
        make = getattr(accounting, f"from_discrete_{name}_mechanism")
        first = {"laplace": 1 / scale, "gaussian": scale}[name]
        options = {"sensitivity": 1, "value_discretization_interval": 1e-4}
        ends = [make(first, **options, pessimistic_estimate=one) for one in (False, True)]
        low, high = (one.self_compose(changes) for one in ends)
        for epsilon in (0.1, 0.5, 1.0, 2.0):
            delta = curve.delta(epsilon)
            assert low.get_delta_for_epsilon(epsilon) <= delta * (1 + 1e-9) + 1e-15, (name, epsilon)
            assert delta <= high.get_delta_for_epsilon(epsilon) * 1.005 + 1e-12, (name, epsilon)


def test_the_rho_by_odds_noise_is_a_bound_and_a_tight_one() -> None:
    with mpmath.workdps(120):  # much cancels where h is small
        for h in (Fraction(1, 2**20), Fraction(1, 4), Fraction(1), Fraction(3), Fraction(40)):
            exact = mpmath.mpf(h.numerator) / h.denominator
            exact = exact * mpmath.coth(exact / 2) - 2
            found = _moved._rho_by_odds(h)
            assert exact <= mpmath.mpf(found.numerator) / found.denominator <= exact * (1 + mpmath.mpf("1e-9"))


def test_where_all_may_move_by_the_most_there_is_one_shape_however_large() -> None:
    assert _moved.maximal_change_shapes(_moved.ChangedScores(1000, 2000, 2 * 10**6, 2)) == (Counter({1000: 2}),)
    assert _moved.maximal_change_shapes(_moved.ChangedScores(1000, 2000, 2 * 10**6 - 1, 2)) == ()


# Selections where a person changes few scores: against laws of neighbours that share no code with the library.


MAX, RANGE, ZCDP, PROFILE = MEASURES = (MAX, RANGE, ZCDP, PROFILE)
ORDERS = (1.001, 2.0, 8.0, 40.0)
FEW_EPSILONS = (0.0, 0.3, 0.7, 1.2)
FAR = 12
TOLD = 1e-9  # the laws are right to 1e-12: of outcomes less likely than this no loss is told


def selection(noise: Any, measure: tk.Measure, changes: int | None, size: int | None = None, **options: Any) -> Any:
    metric = MONOTONIC
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
        claimed = selection(noise, measure, changes, d, k=k, scale=1, release=release).map(1)
        shares[measure] = met(measure, before, after) / claimed
    curve = selection(noise, PROFILE, changes, d, k=k, scale=1, release=release).map(1)
    shares[PROFILE] = max(
        float(np.maximum(q - math.exp(epsilon) * p, 0).sum(axis=1).max()) / (curve.delta(epsilon) or 1e-9)
        for epsilon in FEW_EPSILONS
        for p, q in ((before, after), (after, before))
    )
    return shares


FEW_CASES = [(d, k, changes) for d in (3, 4) for k in range(1, d) for changes in (1, 2)]


def test_no_neighbour_of_few_changes_exceeds_a_claim_and_some_come_close() -> None:
    """Two of three scores, in all blocks, of which any one moves."""
    for noise in (tk.noise.Laplace(), tk.noise.Logistic()):
        shares = attack(noise, 3, 2, 1, (0, 1, FAR), "ranking")
        assert max(shares.values()) <= 1 + 1e-6, (noise, shares)
        assert shares[MAX] > 0.999, (noise, shares)
        assert shares[RANGE] > 0.9, (noise, shares)


def test_with_other_noises_one_changed_score_costs_what_all_winners_do() -> None:
    for name in ("Gumbel", "Exponential"):
        before, after = (floats.one_shot(name, np.array([[top, 0, 0, 0]]), 3) for top in (4.0, 5.0))
        assert met(MAX, before, after) > 2.9


def gumbel_bound(count: int, r: Fraction, epsilon: float, signs: int = 1) -> float:
    """The smaller of all bounds of scores with Gumbel noise of which ``count`` move by ``r``, in one or two ways."""
    changed = _moved.ChangedScores.bounded_contributions(1, count, None)
    return min(bound(epsilon) for bound in _moved.gumbel_bounds(changed, 1 / r, 3 * count, signs == 1))


def climb(d: int, k: int, signs: Any, r: Fraction, tries: int, rng: Any) -> tuple[float, int]:
    """The largest share of the bound met by hill climbing on scores, of rankings that are enumerated, and the tries."""
    moves = np.append(signs, np.zeros(d - len(signs))) * float(r)
    bounds = {epsilon: gumbel_bound(len(signs), r, epsilon, len(set(signs))) for epsilon in CLIMBED}
    best, scores, step = 0.0, rng.normal(size=d) * 2, 1.0
    for _ in range(tries):
        tried = scores + step * rng.normal(size=d)
        one, other = floats.peeled(floats.softmax, np.array([tried, tried + moves]), k)
        found = max(
            float(np.maximum(p - math.exp(epsilon) * q, 0).sum() - 1e-13) / bound
            for epsilon, bound in bounds.items()
            for p, q in ((one, other), (other, one))
        )
        best, scores, step = (found, tried, 1.3 * step) if found > best else (best, scores, 0.9 * step)
    return best, 2 * len(CLIMBED) * tries


CLIMBED = (0.0, 0.1, 0.4, 1.0, 2.5)


@pytest.mark.further
@pytest.mark.quick(r=(Fraction(1),))
@pytest.mark.parametrize("r", [Fraction(1, 10), Fraction(1), Fraction(3)])
def test_no_ranking_with_gumbel_noise_exceeds_the_arrival_times(r: Fraction) -> None:
    """Thousands of hockey sticks of up to five candidates, found by an optimiser that knows no theorem."""
    rng, shares, tries = np.random.default_rng(5), {}, 0
    for d, signs in itertools.product((2, 3, 4, 5), ((1,), (1, 1), (1, -1), (1, 1, 1), (1, 1, -1))):
        for k in range(1, d + 1 if len(signs) <= d else 0):
            shares[d, k, signs], count = climb(d, k, signs, r, 15, rng)
            tries += count
    assert tries > 7000
    assert max(shares.values()) <= 1 + 1e-9, shares
    assert max(shares.values()) > 0.5, shares


def raised_places(n: int, k: int, count: int, weight: float, rate: float) -> Any:
    """The law of the places among k winners of one or two raised scores among n others of the weight ``rate``."""
    left = (n - np.arange(k)) * rate
    stays = {a: np.exp(np.cumsum(np.append(0, np.log(left / (a * weight + left))))) for a in (1, 2)}
    first = stays[count][:-1] * count * weight / (count * weight + left)
    if count == 1:
        return np.append(first, stays[1][-1])
    later = np.triu(stays[1][:-1] / stays[1][:-1, None] * (weight / (weight + left)))[:, :-1]
    both = first[:, None] * later
    return np.concatenate([both.ravel(), first - both.sum(axis=1), [stays[2][-1]]])


def test_places_among_many_equal_scores_meet_the_arrival_times() -> None:
    """Nine hundred candidates, of which one or two rise: within a twentieth of the curve of the public map."""
    for count in (1, 2):
        met = dict.fromkeys(((0.1, 0.1), (0.1, 0.5), (1, 0.5), (1, 2)), 0.0)
        for rate in (0.2, 0.4, 0.7, 1.0):
            laws = {r: raised_places(900, 855, count, math.exp(r), rate) for r in (0, 0.1, 1)}
            assert [law.sum() for law in laws.values()] == pytest.approx([1, 1, 1])
            for r, epsilon in met:
                sides = (laws[0], laws[r]), (laws[r], laws[0])
                sticks = (float(np.maximum(p - math.exp(epsilon) * q, 0).sum()) for p, q in sides)
                met[r, epsilon] = max(met[r, epsilon], *sticks)
        for (r, epsilon), most in met.items():
            curve = selection(tk.noise.Gumbel(), PROFILE, count, k=855, scale=1 / Fraction(r)).map(1)
            assert most <= curve.delta(epsilon) <= most * 1.05, (count, r, epsilon)


def test_arrival_times_are_charged_where_winners_are_many() -> None:
    """Rankings, sets and gaps alike; with few winners, and with no bound on changes, the steps alone are."""
    for make, options in ((tk.make_report_noisy_top_k, {"release": "set"}), (tk.make_noisy_top_k_with_gaps, {})):
        for changes, k, d_in, kind in ((1, 100, 1, "ArrivalTimes"), (1, 100, 2, "Largest"), (40, 100, 1, None)):
            metric = tk.L01InfDistance(changes=changes, monotonic=True)
            space = INTEGERS, metric, PROFILE
            curve = make(*space, k=k, scale=10, noise=tk.noise.Gumbel(), **options).map(d_in)
            last = type(curve.bounds[-1]).__name__
            assert last == kind or (kind is None and last not in ("ArrivalTimes", "Largest")), (make, changes, d_in)
            if kind == "ArrivalTimes":
                assert curve.delta(0.1) == pytest.approx(0.0142, abs=5e-5)
                assert curve.delta(1) == pytest.approx(2.73e-6, abs=5e-9)


@pytest.mark.slow
def test_no_neighbour_exceeds_a_claim_whatever_is_selected() -> None:
    exceeded = []
    for noise in (tk.noise.Laplace(), tk.noise.Logistic()):
        for (d, k, changes), release in itertools.product(FEW_CASES, ("ranking", "set")):
            gaps = (0, 1, 3, FAR) if d == 3 else (0, 2, FAR)
            shares = attack(noise, d, k, changes, gaps, release)
            exceeded += [(noise, d, k, changes, release, shares)] * (max(shares.values()) > 1 + 1e-6)
    assert not exceeded


def test_the_least_of_both_bounds_is_charged() -> None:
    """Twenty winners of fifty: what all scores cost where it is less, and what the winners cost otherwise."""
    wrong = []
    rho_of = {"Laplace": lambda h: rhos.of_laplace(h), "Logistic": lambda h: number(h) / mpmath.tanh(number(h) / 2) - 2}
    noises = tk.noise.Laplace(), tk.noise.Logistic(), tk.noise.Gumbel(), tk.noise.Exponential()
    for noise, changes, size, d_in in itertools.product(noises, (1, 3, 30), (None, 4, 50), (1, 2)):
        k, h, moved = min(size or 20, 20), Fraction(d_in, 7), min(changes, size or changes)
        whole = moved * h, 2 * moved * h, moved * rho_of.get(noise.name, float)(h)
        winners = maps.one_shot(noise.name, k, size, "ranking", h)
        for measure, all_scores, alone in zip(MEASURES, whole, winners, strict=False):
            least = min(all_scores, alone, key=number) if noise in (tk.noise.Laplace(), tk.noise.Logistic()) else alone
            found = selection(noise, measure, changes, size, k=k, scale=7).map(d_in)
            if not math.isclose(found, least, rel_tol=1e-12):
                wrong.append((noise, changes, size, d_in, measure, found, float(least)))
    assert not wrong


def test_logistic_noise_on_one_score_costs_its_divergence() -> None:
    """At orders near one it is met, and at none exceeded; small moves are summed by another formula."""
    z, weights = np.linspace(-60, 60, 240_001), 120 / 240_000
    for scale in (Fraction(1, 6), 1, 7):
        claimed = selection(tk.noise.Logistic(), ZCDP, 1, k=50, scale=scale).map(1)
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
        assert math.isclose(
            selection(tk.noise.Logistic(), ZCDP, 1, k=50, scale=1 / h).map(1), float(exact), rel_tol=1e-15
        )


def test_a_set_of_all_and_no_noise_and_no_distance_stay_what_they_were() -> None:
    for measure in MEASURES:
        everybody = selection(tk.noise.Laplace(), measure, 1, 3, k=3, scale=1, release="set")
        assert measure.at_most(everybody.map(5), 0.0)
        noisy, bare = (selection(tk.noise.Laplace(), measure, 1, 3, k=2, scale=scale) for scale in (1, 0))
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
        curve = selection(tk.noise.Laplace(), PROFILE, changes, k=2 * changes, scale=scale).map(1)
        for epsilon in (0.1, 0.5, 0.8):
            low, high = (laplace_pairs(1 / scale, changes, epsilon, up) for up in (False, True))
            assert low <= curve.delta(epsilon) * (1 + 1e-9)
            assert curve.delta(epsilon) <= high * 1.01 + 1e-9, (changes, epsilon)


def test_a_curve_states_the_rho_that_is_charged() -> None:
    """Of one score, and of several together: filters of zero-concentrated privacy read it from the curve."""
    for noise, changes in itertools.product((tk.noise.Laplace(), tk.noise.Logistic()), (1, 5)):
        charged, curve = (selection(noise, one, changes, k=60, scale=7).map(1) for one in (ZCDP, PROFILE))
        assert math.isclose(rho_of(curve), charged, rel_tol=1e-9), (noise, changes)


@pytest.mark.further
def test_gaps_cost_no_more_than_all_scores_and_counts_only_those_that_move() -> None:
    domain = tk.VectorDomain(tk.AtomDomain(int), size=50)
    few, all_of_them = tk.L01InfDistance(changes=2, monotonic=True), MONOTONIC
    gaps = (domain, few) >> tk.then_noisy_top_k_with_gaps(MAX, k=20, scale=10, noise=tk.noise.Laplace())
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
