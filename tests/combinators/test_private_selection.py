"""make_private_selection: the best of a random number of runs, its law, and a price that nothing exceeds."""

import itertools
import math
import random
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.errors import ParameterError, ParameterTypeError

from ..concepts.examples import COUNTS
from ..concepts.links import OF_THREE_COUNTS, check_measurement
from ..concepts.sentinels import raises_exactly
from ..concepts.specimens import Specimen
from ..oracles import runs
from ..oracles.chi_square import assert_follows

SCORES = (2, 1, 2, 0)
MAX, PROFILE, PAIR = tk.MaxDivergence(), tk.PrivacyProfile(), tk.Approximate(tk.MaxDivergence())
LAWS = [
    (tk.TruncatedNegativeBinomial(1, 0.25), runs.negative_binomial(1, 0.25)),
    (tk.TruncatedNegativeBinomial(0, Fraction(1, 10)), runs.negative_binomial(0, 0.1)),
    (tk.TruncatedNegativeBinomial(-0.5, 0.05), runs.negative_binomial(-0.5, 0.05)),
    (tk.TruncatedNegativeBinomial(2, 0.5), runs.negative_binomial(2, 0.5)),
    (tk.Poisson(2.5), runs.poisson(2.5)),
]
OFTEN = [runs.numbers(mass) for _, mass in LAWS]
LOGARITHMIC = LAWS[1][0]


def scored(index: int) -> tuple[int, int]:
    """An own score for every candidate, two of them equal."""
    return SCORES[index], index


def run(measure: tk.Measure = MAX, scale: float = 1.0) -> tk.Measurement:
    return COUNTS >> tk.then_exponential_mechanism(measure, scale=scale) >> scored


def softmax(x: Any) -> dict[Any, float]:
    weights = [math.exp(float(one)) for one in x]
    return {scored(i): weight / sum(weights) for i, weight in enumerate(weights)}


def specimens() -> list[Specimen]:
    link = tk.make_private_selection(run(), repetitions=LOGARITHMIC)
    return [Specimen(link, ((1, 0, 2, 1), (1, 1, 2, 2)), lambda x: _law(runs.best(softmax(x), OFTEN[1])), share=0.45)]


def _law(found: dict[Any, float]) -> dict[Any, float]:
    return {outcome: mass for outcome, mass in found.items() if mass}


def told(laws: dict[int, dict[Any, float]], loss: Any, measure: tk.Measure = MAX) -> tk.Measurement:
    """A run with a law of its own on each score; only its law and its map are used."""
    return tk.make_user_measurement(
        *COUNTS, measure, function=len, privacy_map=lambda d_in: loss if d_in else 0, distribution=lambda x: laws[x[0]]
    )


def worst(epsilon: float, tiny: float) -> tuple[dict[Any, float], dict[Any, float]]:
    """Three outcomes, of which the middle one is rare and as much likelier as may be where less lies above it."""
    big = math.exp(epsilon)
    above = 1 / (1 + big)
    one = {(0, 0): big * (above - tiny), (1, 1): big * tiny, (2, 2): above}
    return one, {(0, 0): above - tiny, (1, 1): tiny, (2, 2): big * above}


@pytest.mark.parametrize("measure", [MAX, PROFILE, PAIR], ids=repr)
def test_obligations(measure: tk.Measure) -> None:
    one = tk.make_approximate(run()) if measure == PAIR else run(measure)
    tables = OF_THREE_COUNTS | {"members": [[3, 1, 2, 5], [0, 0, 5, 1]]}
    near = [([3, 1, 2, 0], [4, 1, 3, 0], 1), ([3, 1, 2, 0], [4, 0, 2, 1], 2)]
    check_measurement(tk.make_private_selection(one, repetitions=LOGARITHMIC), **tables, neighbours=near)


@pytest.mark.further
def test_the_law_is_that_of_all_numbers_of_runs() -> None:
    x = (1, 0, 2, 1)
    for (law, _), often in zip(LAWS, OFTEN, strict=True):
        stated = tk.make_private_selection(run(), repetitions=law).distribution(x)
        found = _law(runs.best(softmax(x), often))
        assert set(stated) == set(found)
        assert all(abs(float(stated[outcome]) / found[outcome] - 1) < 1e-9 for outcome in found)


@pytest.mark.further
def test_releases_follow_the_law() -> None:
    x = (1, 0, 2, 1)
    selection = tk.make_private_selection(run(), repetitions=LAWS[4][0])
    assert_follows(Counter(selection(x) for _ in range(700)), _law(runs.best(softmax(x), OFTEN[4])), detects=0.45)


@pytest.mark.further
def test_the_price_is_met_and_never_exceeded() -> None:
    """By the worst pairs, and by a search that climbs from random pairs of one epsilon."""
    for (law, _), often in zip(LAWS, OFTEN, strict=True):
        for epsilon in (0.1, 1.0, 3.0):
            one, other = worst(epsilon, 1e-6)
            claimed = tk.make_private_selection(told({0: one, 1: other}, epsilon), repetitions=law).map(1)
            lost = runs.largest_loss(runs.best(one, often[:400]), runs.best(other, often[:400]))
            assert 0.999 * claimed <= lost <= claimed, (law, epsilon)
            assert claimed < 3 * epsilon if law == LAWS[0][0] else True
            assert claimed < 2 * epsilon if law == LOGARITHMIC else True


FAST = runs.numbers(runs.negative_binomial(1, 0.1))
BROKEN: dict[str, tuple[Any, float]] = {
    "as many runs as were agreed": (lambda law: runs.best(law, [0.0] * 10 + [1.0]), 3.0),
    "a geometric number at the price of the first that is good enough": (lambda law: runs.best(law, FAST), 2.0),
    "the number of runs is told": (
        lambda law: {
            (often, outcome): mass * FAST[often]
            for often in range(1, 6)
            for outcome, mass in runs.best(law, [0.0] * often + [1.0]).items()
        },
        3.0,
    ),
}
"""Selections that cost more than they are said to, and how many times what a run costs is claimed."""


@pytest.mark.further
@pytest.mark.parametrize("version", BROKEN)
def test_versions_that_cost_more_are_refuted(version: str) -> None:
    select, times = BROKEN[version]
    for epsilon in (0.1, 1.0):
        found = [{y: p for y, p in select(law).items() if p} for law in worst(epsilon, 1e-6)]
        assert runs.largest_loss(*found) > 1.15 * times * epsilon


@pytest.mark.slow
def test_no_pair_of_laws_loses_more() -> None:
    for (law, _), often in zip(LAWS[:2] + LAWS[4:], OFTEN[:2] + OFTEN[4:], strict=True):
        claimed = tk.make_private_selection(told({}, 1.0), repetitions=law).map(1)
        found = climbed(1.0, often[:40])
        assert 0.9 * claimed <= found <= claimed, (law, found, claimed)


def climbed(epsilon: float, often: list[float], steps: int = 60) -> float:
    """The largest loss of the best of N that a climb finds among mixtures of laws with the losses +-epsilon and none.

    Every pattern of signs on four scores is a start; the weights climb.
    """
    chance, found, big = random.SystemRandom(), 0.0, math.exp(epsilon)
    for signs in itertools.product((1, -1), repeat=4):
        if len(set(signs)) == 1:
            continue
        place, best = [0.0] * 9, 0.0
        for step in range(steps):
            tried = [one + chance.gauss(0, 3 * 0.97**step) for one in place]
            weights, free = [math.exp(one) for one in tried[:4]], [math.exp(one) for one in tried[4:8]]
            share = 1 / (1 + math.exp(-4 - tried[8]))  # of the part that loses something
            one, other = {}, {}
            for i, sign in enumerate(signs):
                part = weights[i] / sum(w for w, s in zip(weights, signs, strict=True) if s == sign)
                ends = (big, 1) if sign > 0 else (1, big)
                kept = (1 - share) * free[i] / sum(free)
                one[i, i], other[i, i] = (share * part * end / (1 + big) + kept for end in ends)
            lost = runs.largest_loss(runs.best(one, often), runs.best(other, often))
            if lost > best:
                best, place = lost, tried
        found = max(found, best)
    return found


@pytest.mark.further
def test_curves_hold_and_are_not_idle() -> None:
    """The exact curve of the selection is below what the map says, with curves of runs that are no pure privacy."""
    one = {(i, i): p for i, p in enumerate((0.30, 0.30, 0.25, 0.15, 0.0))}
    other = {(i, i): p for i, p in enumerate((0.25, 0.28, 0.26, 0.20, 0.01))}
    curve = tk.PrivacyCurve(lambda epsilon: min(1.0, runs.hockey_stick(one, other, float(epsilon)) * (1 + 1e-12)))
    pair = 0.3, float(runs.hockey_stick(one, other, 0.3)) * (1 + 1e-12)
    for (law, _), often in zip(LAWS, OFTEN, strict=True):
        selected = [_law(runs.best(each, often)) for each in (one, other)]
        laws = [{y: each.get(y, 0.0) for y in set(selected[0]) | set(selected[1])} for each in selected]
        whole = tk.make_private_selection(told({}, curve, PROFILE), repetitions=law).map(1)
        for epsilon in (0.0, 0.2, 0.5, 1.0, 2.0):
            assert runs.hockey_stick(*laws, epsilon) <= whole.delta(epsilon) + 1e-12, (law, epsilon)
        e, delta = tk.make_private_selection(told({}, pair, PAIR), repetitions=law).map(1)
        assert runs.hockey_stick(*laws, e) <= delta + 1e-12
        assert max(e / 1.2, delta / 0.06) < 1, (law, e, delta)


@pytest.mark.parametrize("shape", [-0.5, 0, 1, 2])
def test_the_shift_of_a_curve_is_the_least_that_its_theorem_asks_for(shape: float) -> None:
    """Sigma with (1 - gamma) h(sigma) e^-sigma <= gamma (1 - e^-sigma)."""
    for gamma, height in itertools.product((0.01, 0.3, 0.9), (1.0, 0.2, 1e-3)):
        found = tk.TruncatedNegativeBinomial(shape, gamma).shift(lambda e, height=height: height * math.exp(-float(e)))

        def lacks(sigma: float, gamma: float = gamma, height: float = height) -> float:
            return (1 - gamma) * height * math.exp(-2 * sigma) - gamma * (1 - math.exp(-sigma))

        sigma = float(found) / (1 + shape)
        assert lacks(sigma * (1 + 1e-9)) <= 0 < lacks(sigma * 0.999)


def test_a_selection_of_the_last_run_alone_has_no_more_than_its_price() -> None:
    """A law close to one run costs close to one run; the smaller the shape, the smaller the price."""
    numbers = [tk.TruncatedNegativeBinomial(shape, 0.01) for shape in (-0.9, -0.5, 0, 1, 2)]
    prices = [tk.make_private_selection(run(), repetitions=one).map(1) for one in numbers]
    assert prices == sorted(prices)
    assert 1 < prices[0] < 1.11
    assert all(price < most for price, most in zip(prices[2:], (2, 3, 4), strict=True))
    once = tk.make_private_selection(run(), repetitions=tk.TruncatedNegativeBinomial(1, 0.999)).map(1)
    assert 1 < once < 1.001


def test_an_infinite_loss_stays_one() -> None:
    for measure, loss in ((MAX, math.inf), (PAIR, (math.inf, 1.0))):
        assert tk.make_private_selection(told({}, loss, measure), repetitions=LOGARITHMIC).map(1) == loss


@pytest.mark.further
def test_scores_that_are_no_numbers() -> None:
    """NaN is the lowest score; a release that is no pair, and an error, end the selection whatever else was found."""
    answers = itertools.cycle(
        [(math.nan, "a"), (-math.inf, "b"), (-5, "c"), (Fraction(1, 3), "d"), *[(0, "e")] * 9, (1 / 4, "f")]
    )
    many = tk.TruncatedNegativeBinomial(1000 - 1, 0.5)
    fixed = tk.make_user_measurement(*COUNTS, MAX, function=lambda x: next(answers), privacy_map=lambda d_in: d_in)
    assert tk.make_private_selection(fixed, repetitions=many)([1]) == (Fraction(1, 3), "d")
    for release in ("no pair", (1, 2, 3), ("a", 1), (True, 1), 7):
        wrong = fixed >> (lambda _, release=release: release)
        selection = tk.make_private_selection(wrong, repetitions=many)
        raises_exactly(ParameterTypeError, lambda s=selection: s([1]), "pairs (score, candidate)")


def test_the_number_of_runs_is_nowhere() -> None:
    """Neither in the release nor in what a measurement shows of itself."""
    selection = tk.make_private_selection(run(), repetitions=LOGARITHMIC)
    assert len(selection([1, 0, 2, 1])) == 2
    assert set(selection.parameters) == {"mechanism", "repetitions", "measurement"}


@pytest.mark.parametrize(
    ("arguments", "error", "required"),
    [
        ({"measurement": run(tk.ZeroConcentratedDivergence())}, ParameterTypeError, "make_zCDP_to_approxDP"),
        (
            {"measurement": COUNTS >> tk.then_above_threshold(MAX, threshold=1, scale=1)},
            ParameterTypeError,
            "not be interactive",
        ),
    ],
    ids=["rho", "interactive"],
)
def test_bad_arguments(arguments: dict[str, Any], error: type[Exception], required: str) -> None:
    given: dict[str, Any] = {"measurement": run(), "repetitions": LOGARITHMIC}
    raises_exactly(error, lambda: tk.make_private_selection(**(given | arguments)), required)


def test_bad_laws() -> None:
    bad: list[tuple[Any, type[Exception], str]] = [
        (lambda: tk.TruncatedNegativeBinomial("1", 0.1), ParameterTypeError, "shape must be a number > -1"),
        (lambda: tk.TruncatedNegativeBinomial(-1, 0.1), ParameterError, "shape must be > -1"),
        (lambda: tk.TruncatedNegativeBinomial(math.nan, 0.1), ParameterError, "shape must be > -1"),
        (lambda: tk.TruncatedNegativeBinomial(1e4, 0.1), ParameterError, "less than 1000"),
        (lambda: tk.TruncatedNegativeBinomial(Fraction(1, 2**5000), 0.1), ParameterError, "differ from 0 by more"),
        (lambda: tk.TruncatedNegativeBinomial(1, 0), ParameterError, "strictly between 0 and 1"),
        (lambda: tk.TruncatedNegativeBinomial(1, 1), ParameterError, "strictly between 0 and 1"),
        (lambda: tk.Poisson(0), ParameterError, "mean must be > 0"),
        (lambda: tk.Poisson(10**7), ParameterError, "at most 1000000"),
        (lambda: tk.Poisson(math.inf), ParameterError, "mean must be finite"),
    ]
    for make, error, required in bad:
        raises_exactly(error, make, required)


def test_what_never_releases_pairs_is_refused_before_a_ledger_pays() -> None:
    scores = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance()
    ranking = scores >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=2, scale=1.0)
    for build in (
        lambda: tk.make_private_selection(ranking, repetitions=tk.Poisson(3)),
        lambda: tk.make_select_private_candidate(ranking, stop_probability=0.5, threshold=1),
    ):
        raises_exactly(ParameterTypeError, build, "pairs (score, candidate), not ndarray")
    pairs = ranking >> (lambda release: tuple(release.tolist()))
    assert len(tk.make_private_selection(pairs, repetitions=tk.TruncatedNegativeBinomial(1, 0.5))([9, 1, 5])) == 2
