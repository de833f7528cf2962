"""Composed curves between the optimistic and pessimistic estimates of dp-accounting: mixed compositions, and prices."""

import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.spaces.curves.closed_forms import ApproximateDP, DiscreteGaussian, DiscreteLaplace
from opendp_topk.spaces.curves.composed import compose, compose_repeated
from opendp_topk.spaces.curves.curve import PrivacyCurve

from ..oracles import above
from .needed import Needed

accounting = Needed("dp_accounting")
pld = Needed("dp_accounting.pld.privacy_loss_distribution")
common = Needed("dp_accounting.pld.common")
dots = Needed("dp_accounting.pld.pld_pmf")
pytestmark = pytest.mark.foreign

DELTA = 1e-6
STEP = 1e-4  # of their grid
Part = tuple[PrivacyCurve, Callable[[bool], Any]]


def up(value: Any) -> float:
    return min(1.0, float(value) * (1 + 2.0**-50))


def laplace(scale: float) -> Part:
    loss = 1 / scale
    curve = PrivacyCurve(lambda e: 0.0 if e >= loss else up(-math.expm1((float(e) - loss) / 2)))
    return curve, lambda high: pld.from_laplace_mechanism(scale, **grid(high))


def gaussian(scale: float) -> Part:
    def delta(epsilon: Any) -> float:
        with mpmath.workdps(40):
            mu, e = 1 / mpmath.mpf(scale), mpmath.mpf(epsilon.numerator) / epsilon.denominator
            return up(mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu))

    return PrivacyCurve(lambda e: delta(Fraction(e))), lambda high: pld.from_gaussian_mechanism(scale, **grid(high))


def discrete_laplace(scale: float) -> Part:
    curve = PrivacyCurve(DiscreteLaplace(2, Fraction(scale)))
    return curve, lambda high: pld.from_discrete_laplace_mechanism(1 / scale, sensitivity=2, **grid(high))


def discrete_gaussian(scale: float) -> Part:
    curve = PrivacyCurve(DiscreteGaussian(1, Fraction(scale)))
    return curve, lambda high: pld.from_discrete_gaussian_mechanism(scale, sensitivity=1, **grid(high))


def randomised_response(scale: float) -> Part:
    flipped = 2 / (1 + math.exp(1 / scale))
    curve = PrivacyCurve(ApproximateDP(1 / scale))
    options = {"value_discretization_interval": STEP}
    return curve, lambda high: pld.from_randomized_response(flipped, 2, pessimistic_estimate=high, **options)


def grid(high: bool) -> dict[str, Any]:
    return {"value_discretization_interval": STEP, "pessimistic_estimate": high, "use_connect_dots": high}


KINDS = (laplace, gaussian, discrete_laplace, discrete_gaussian, randomised_response)


@pytest.mark.parametrize("seed", range(30))
def test_mixed_compositions(seed: int) -> None:
    chosen = random.Random(seed)
    parts = []
    for kind in chosen.sample(KINDS, chosen.randint(2, 4)):
        parts.append((*kind(chosen.choice((2.0, 3.0, 5.0, 10.0, 25.0))), chosen.choice((1, 2, 5, 20))))
    whole = compose([curve for curve, _, count in parts for _ in range(count)])
    estimates = []
    for high in (False, True):
        joint: Any = None
        for _, theirs, count in parts:
            one = theirs(high).self_compose(count)
            joint = one if joint is None else joint.compose(one)
        estimates.append(joint.get_epsilon_for_delta(DELTA))
    found = whole.epsilon(DELTA)
    assert estimates[0] <= found * (1 + 1e-9)
    assert found <= estimates[1] * 1.002


def test_a_hundred_winners_cost_no_more_than_by_any_of_their_accounts() -> None:
    """One-shot Gumbel noise of scale k: what its epsilon, or its rho, is by any accountant there."""
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
    k = 100
    curve = (space >> tk.then_report_noisy_top_k(tk.PrivacyProfile(), k=k, scale=float(k))).map(1)
    rdp = accounting.rdp.RdpAccountant()
    rdp.compose(accounting.ZCDpEvent(k * (1 / k) ** 2 / 8))
    pure = pld.from_privacy_parameters(common.DifferentialPrivacyParameters(1 / k, 0)).self_compose(k)
    least = min(rdp.get_epsilon(DELTA), pure.get_epsilon_for_delta(DELTA))
    assert curve.epsilon(DELTA) < least
    print(f"epsilon at delta = {DELTA}: {curve.epsilon(DELTA):.4f} here, {least:.4f} there")


LISTED = tk.VectorDomain(tk.AtomDomain(int), size=50), tk.LInfDistance(monotonic=True)
FEW = LISTED[0], tk.L01InfDistance(changes=7, monotonic=True)
KEYED = tk.KeyedCountsDomain(), tk.KeyedCountDistance(max_items=7)
ROWS = tk.FrameDomain("user", "item"), tk.UserDistance()
PROFILE, STRICT = tk.PrivacyProfile(), tk.Approximate(tk.ZeroConcentratedDivergence())
Bounds = Callable[[bool, float], float]


def of_pairs(*options: list[tuple[Callable[[bool], Any], int]]) -> Bounds:
    """Epsilon of compositions of pairs, a direction of rounding and a delta given: the largest of several such."""

    def bounds(high: bool, delta: float) -> float:
        found = []
        for option in options:
            whole: Any = None
            for theirs, count in option:
                one = theirs(high).self_compose(count)
                whole = one if whole is None else whole.compose(one)
            found.append(float(whole.get_epsilon_for_delta(delta)))
        return max(found)

    return bounds


def outcomes(below: list[float], above: list[float], symmetric: bool = True) -> Callable[[bool], Any]:
    """A pair of laws of few outcomes."""
    logs = [{i: math.log(mass) for i, mass in enumerate(law) if mass} for law in (below, above)]
    return lambda high: pld.from_two_probability_mass_functions(
        *logs, pessimistic_estimate=high, value_discretization_interval=STEP, symmetric=symmetric
    )


def lost(delta: float) -> Callable[[bool], Any]:
    """What fails with this probability, and says nothing otherwise."""
    return lambda high: pld.PrivacyLossDistribution.create_from_rounded_probability(
        {0: 1 - delta}, delta, STEP, pessimistic_estimate=high
    )


def answers(loss: float, delta: float) -> Callable[[bool], Any]:
    """A randomised response that gives itself away with probability delta."""
    law = [(1 - delta) / (1 + math.exp(sign * loss)) for sign in (1, -1)]
    return outcomes([0, delta, *law], [delta, 0, *reversed(law)])


def choices(loss: float, steps: int) -> Bounds:
    """Choices by Gumbel noise: between two blocks of which one rises, at best, and at worst by the pair of all."""

    def between(share: float) -> Callable[[bool], Any]:
        rises = loss * share
        other = math.expm1(loss - rises) / math.expm1(loss)
        return outcomes([other, 1 - other], [other * math.exp(rises), 1 - other * math.exp(rises)], symmetric=False)

    def any_choice(high: bool) -> Any:
        last = math.ceil(loss / STEP)
        epsilons = (np.arange(-last, last + 1) * STEP).clip(-loss, loss)
        deltas = np.expm1((epsilons - loss) / 2) ** 2 / -math.expm1(-loss)
        deltas[0] = -math.expm1(-last * STEP)
        return pld.PrivacyLossDistribution(
            dots.create_pmf_pessimistic_connect_dots_fixed_gap(STEP, -last, last, deltas)
        )

    low = of_pairs(*([(between(0.4 + i / 50), steps)] for i in range(11)))
    high = of_pairs([(any_choice, steps)])
    return lambda up, delta: (high if up else low)(up, delta)


def concentrated(rho: float) -> Bounds:
    def bounds(high: bool, delta: float) -> float:
        accountant = accounting.rdp.RdpAccountant([1 + 1.02**i / 1000 for i in range(900)])
        accountant.compose(accounting.ZCDpEvent(rho))
        return float(accountant.get_epsilon(delta)) * (1 if high else 0.999)  # its orders are a coarse list

    return bounds


def gumbel_rho(loss: float) -> float:
    """What one choice by Gumbel noise costs."""
    z = loss / -math.expm1(-loss)
    return z - 1 - math.log(z)


def ranked(noise: Any, k: int, scale: float) -> PrivacyCurve:
    return (LISTED >> tk.then_report_noisy_top_k(PROFILE, k=k, scale=scale, noise=noise)).map(1)  # type: ignore[no-any-return]


def led(noise: Any, k: int, scale: float) -> PrivacyCurve:
    return (LISTED >> tk.then_noisy_top_k_with_gaps(PROFILE, k=k, scale=scale, noise=noise)).map(1)  # type: ignore[no-any-return]


def normalised(scale: float) -> PrivacyCurve:
    space = tk.VectorDomain(tk.AtomDomain(int), size=3), tk.PerCandidateDistance(bounds=[99, 1, 1])
    return (space >> tk.then_normalised_top_k(PROFILE, scale=scale, noise=tk.noise.Gumbel())).map(1)  # type: ignore[no-any-return]


def quartiles(scale: float) -> PrivacyCurve:
    """One row is in one part at each of two levels."""
    counts, quarters = tk.VectorDomain(tk.AtomDomain(int), size=50), [Fraction(n, 4) for n in (1, 2, 3)]
    chosen = (counts, tk.L1Distance()) >> tk.then_quantiles(PROFILE, quantiles=quarters, scale=scale)
    return chosen.map(1)  # type: ignore[no-any-return]


def stable(gaussian: bool, times_over: int, **given: float) -> tuple[PrivacyCurve, Bounds]:
    """Keys with counts: of the seven keys of a user, so many are of nobody else, and the counts of the others move.

    The numbers may differ between releases: above several, there is the pair in which all seven do both.
    """
    given = given or {"scale": 10.0, "threshold": 60 if gaussian else 220}
    made = KEYED >> tk.then_stable_histogram(PROFILE, **given, gaussian=gaussian)
    b, threshold = float(made.parameters["scale"]), made.parameters["threshold"]
    if gaussian:
        reach = int(40 * b)
        mass = [math.exp(-(z**2) / 2 / b**2) for z in range(-reach, reach + 1)]
        reached = sum(mass[reach + threshold - 1 :]) / sum(mass)
    else:
        reached = math.exp((1 - threshold) / b) / (1 + math.exp(-1 / b))
    one = discrete_gaussian if gaussian else discrete_laplace_of_one
    seen = [(lost(-math.expm1(own * math.log1p(-reached))), times_over) for own in range(8)]
    moved = [[(one(b)[1], (7 - own) * times_over)] if own < 7 else [] for own in range(8)]
    split = of_pairs(*([*before, own] for before, own in zip(moved, seen, strict=True)))
    both = of_pairs([*moved[0], seen[7]])
    return made.map(1), lambda high, delta: (both if high and times_over > 1 else split)(high, delta)


def discrete_laplace_of_one(scale: float) -> Part:
    curve = PrivacyCurve(DiscreteLaplace(1, Fraction(scale)))
    return curve, lambda high: pld.from_discrete_laplace_mechanism(1 / scale, sensitivity=1, **grid(high))


def listed(gaussian: bool, times_over: int) -> tuple[PrivacyCurve, Bounds]:
    one = discrete_gaussian if gaussian else discrete_laplace_of_one
    curve = (FEW >> tk.then_noisy_histogram(PROFILE, scale=10.0, gaussian=gaussian)).map(1)
    return curve, of_pairs([(one(10)[1], 7 * times_over)])


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.3, 1e-9)])
def test_found_counts_keep_the_delta_that_is_claimed(gaussian: bool, epsilon: float, delta: float) -> None:
    """The delta at the epsilon that was asked for: between both estimates, and not above what was given."""
    given = {"epsilon": epsilon, "delta": delta}
    measure = tk.Approximate(tk.MaxDivergence())
    claimed = (KEYED >> tk.then_stable_histogram(measure, **given, gaussian=gaussian)).map(1)
    _, bounds = stable(gaussian, 1, **given)
    assert claimed[0] == epsilon
    assert claimed[1] <= delta
    low, high = (bounds(up, claimed[1] * 1.001) for up in (False, True))  # all of it may be that of the threshold
    assert low <= epsilon <= high * 1.002
    assert high <= epsilon * 1.002


def keys(times_over: int) -> tuple[PrivacyCurve, Bounds]:
    made = KEYED >> tk.then_partition_selection(PROFILE, epsilon=1.0, delta=1e-7)
    return made.map(1), of_pairs([(answers(*made.parameters["each"]), 7 * times_over)])


def weighted_keys(rounds: int, times_over: int) -> tuple[PrivacyCurve, Bounds]:
    scale = 4.0
    given: dict[str, Any] = {"max_items": 10, "delta": 1e-8, "scale": scale, "rounds": rounds}
    parts = [math.sqrt(sum(3**j for j in range(rounds)) / 3**at) for at in range(rounds)]
    curve = (ROWS >> tk.then_weighted_partition_selection(PROFILE, **given)).map(1)
    delta = (ROWS >> tk.then_weighted_partition_selection(STRICT, **given)).map(1)[1]
    sums = [(gaussian(scale * part)[1], times_over) for part in parts]
    return curve, of_pairs([*sums, (lost(delta), times_over)])


# What a release costs, how many there are, the deltas, and how far a pessimistic estimate may be above the curve.
PRICES: dict[str, tuple[Callable[[], tuple[PrivacyCurve, Bounds]], int, float]] = {
    "logistic, 3 of scale 10": (lambda: (ranked(tk.noise.Logistic(), 3, 10.0), choices(0.1, 12)), 4, 1.15),
    "logistic, 2 of scale 4": (lambda: (ranked(tk.noise.Logistic(), 2, 4.0), choices(0.25, 20)), 10, 1.16),
    "Laplace, 1 of scale 4": (lambda: (ranked(tk.noise.Laplace(), 1, 4.0), of_pairs([(laplace(4)[1], 20)])), 20, 1.001),
    "half-logistic, 2 of scale 4": (
        lambda: (ranked(tk.noise.HalfLogistic(), 2, 4.0), of_pairs([(laplace(2)[1], 5)])),
        5,
        1.001,
    ),
    "Gumbel leads, 3 of scale 10": (
        lambda: (led(tk.noise.Gumbel(), 3, 10.0), concentrated(6 * 4 * gumbel_rho(0.1))),
        6,
        1.002,
    ),
    "logistic leads, 9 of scale 20": (
        lambda: (led(tk.noise.Logistic(), 9, 20.0), concentrated(8 * 10 * gumbel_rho(0.05))),
        8,
        1.002,
    ),
    "exponential leads, 1 of scale 4": (
        lambda: (led(tk.noise.Exponential(), 1, 4.0), of_pairs([(laplace(4)[1], 20)])),
        20,
        1.001,
    ),
    "normalised comparisons, 1 of scale 8": (lambda: (normalised(8.0), choices(0.25, 20)), 20, 1.16),
    "quartiles of scale 4": (lambda: (quartiles(4.0), choices(0.25, 2 * 10)), 10, 1.16),
    "listed counts, Laplace": (lambda: listed(False, 3), 3, 1.001),
    "listed counts, Gaussian": (lambda: listed(True, 3), 3, 1.001),
    "found counts, Laplace": (lambda: stable(False, 3), 3, 1.002),
    "found counts, Gaussian": (lambda: stable(True, 3), 3, 1.002),
    "found counts at an epsilon, Laplace": (lambda: stable(False, 3, epsilon=1.0, delta=1e-8), 3, 1.002),
    "found counts at an epsilon, Gaussian": (lambda: stable(True, 3, epsilon=1.0, delta=1e-8), 3, 1.002),
    "found keys": (lambda: keys(3), 3, 1.002),
    "found keys, by weight": (lambda: weighted_keys(1, 3), 3, 1.002),
    "found keys, by weight, in three rounds": (lambda: weighted_keys(3, 3), 3, 1.002),
}


@pytest.mark.parametrize("price", PRICES)
def test_composed_prices(price: str) -> None:
    """Between the estimates of the pair that dominates one release; no one pair does choices by Gumbel noise."""
    made, count, apart = PRICES[price]
    curve, bounds = made()
    whole = compose_repeated(curve, count)
    for delta in (1e-4, 1e-6):
        found = whole.epsilon(delta)
        low, high = (bounds(up, delta) for up in (False, True))
        assert low <= found * (1 + 1e-9)
        assert found <= high * 1.002
        assert high <= found * apart
        assert found * 0.95 < low


WHOLE = tk.VectorDomain(tk.AtomDomain(int), size=3), tk.LInfDistance(monotonic=True)
PURE, RELAXED = tk.MaxDivergence(), tk.Approximate(tk.MaxDivergence())
Made = Callable[[Any], Any]  # a measurement, of a measure


def declared(made: Any, x: tuple[int, ...], y: tuple[int, ...]) -> Callable[[bool], Any]:
    """The laws of one release on two neighbours."""
    laws = [made.distribution(list(one)) for one in (x, y)]
    every = sorted({*laws[0], *laws[1]}, key=repr)
    return outcomes(*([float(law.get(one, 0)) for one in every] for law in laws), symmetric=False)


def watched(noise: Any) -> Made:
    return lambda measure: WHOLE >> tk.then_above_threshold(measure, threshold=0, scale=1.0, noise=noise, ask=[0, 1])


def answered(noise: Any) -> Callable[[bool], Any]:
    """A score rises that is found below, and the one after it is found above."""
    laws = [above.law(noise.name, lead, 1.0, 1.0, 1) for lead in ((2.0, 0.0), (3.0, 0.0))]
    return outcomes(*(list(law.values()) for law in laws), symmetric=False)


def told(measure: Any) -> Any:
    return WHOLE >> tk.then_exponential_mechanism(measure, scale=10.0) >> (lambda index: (index, index))


def best_of_many(measure: Any) -> Any:
    often = tk.TruncatedNegativeBinomial(shape=0, stop_probability=0.05)
    return tk.make_private_selection(told(measure), repetitions=often)


def good_enough(measure: Any) -> Any:
    return tk.make_select_private_candidate(told(measure), stop_probability=0.05, threshold=1)


def apart(noise: Any) -> Made:
    options: dict[str, Any] = {"k": 2, "scale": 20, "test_scale": 10, "threshold": 250, "noise": noise}
    return lambda measure: WHOLE >> tk.then_top_k_by_gap(measure, **options)


SELECTIONS: dict[str, tuple[Made, Any, Callable[[], Callable[[bool], Any]]]] = {
    **{
        f"above a threshold, {noise.name}": (watched(noise), PURE, lambda noise=noise: answered(noise))
        for noise in (
            tk.noise.Gumbel(),
            tk.noise.Exponential(),
            tk.noise.HalfLogistic(),
            tk.noise.Laplace(),
            tk.noise.Logistic(),
        )
    },
    "the best of many runs": (best_of_many, PURE, lambda: declared(best_of_many(PURE), (0, 0, 0), (0, 0, 1))),
    "a run that is good enough": (good_enough, PURE, lambda: declared(good_enough(PURE), (0, 0, 0), (0, 0, 1))),
    **{
        f"a set by its gap, {noise.name}": (
            apart(noise),
            RELAXED,
            lambda noise=noise: declared(apart(noise)(RELAXED), (250, 0, -250), (251, 1, -250)),
        )
        for noise in (tk.noise.Exponential(), tk.noise.Gumbel())
    },
}


@pytest.mark.parametrize("name", SELECTIONS)
def test_selections_lie_between_two_laws_and_what_is_claimed_of_one(name: str) -> None:
    """Of five releases: no less than the laws on two neighbours give, and no more than five epsilons and deltas."""
    made, measure, laws = SELECTIONS[name]
    claim = made(measure).map(1)
    epsilon, delta = claim if isinstance(claim, tuple) else (claim, 0.0)
    each = pld.from_privacy_parameters(common.DifferentialPrivacyParameters(epsilon, delta)).self_compose(5)
    whole = compose_repeated(made(PROFILE).map(1), 5)
    for asked in (1e-3, 1e-6, 1e-9):
        found = whole.epsilon(asked)
        assert of_pairs([(laws(), 5)])(False, asked) <= found * (1 + 1e-9)
        assert found <= each.get_epsilon_for_delta(asked) * 1.002
        assert 0 < found < 5 * epsilon
