"""The claims of make_above_threshold: every noise and measure against laws, witnesses, leaking versions, arguments."""

import itertools
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.errors import BudgetError, DataError, ParameterError, ParameterTypeError, QueryError
from opendp_topk.sampling.noises.noise import Noise
from tests.concepts import own_noises
from tests.concepts.links import check_constructor, check_measurement
from tests.concepts.losses import realised, within
from tests.concepts.sentinels import raises_exactly
from tests.concepts.specimens import Law, Specimen
from tests.oracles import above as oracle
from tests.oracles.chi_square import assert_follows, enough

NOISES = (tk.noise.Gumbel(), tk.noise.Exponential(), tk.noise.HalfLogistic(), tk.noise.Laplace(), tk.noise.Logistic())
MEASURES = MAX, RANGE, ZCDP = tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence()
BOTH_WAYS, ONE_WAY = tk.LInfDistance(), tk.LInfDistance(monotonic=True)
every_noise = pytest.mark.parametrize("noise", NOISES, ids=repr)


def build(measure: tk.Measure, metric: tk.Metric = ONE_WAY, **options: Any) -> tk.Measurement:
    given = {"threshold": 0, "scale": 1, **options}
    return tk.make_above_threshold(tk.VectorDomain(tk.AtomDomain(int)), metric, measure, **given)


def numbers(law: dict[Any, float]) -> dict[Any, Any]:
    return {outcome: mpmath.mpf(p) for outcome, p in law.items()}


def talk(measurement: tk.Measurement, scores: Any) -> tuple[bool, ...]:
    """The answers to one question about each score, one by one, as long as the queryable answers."""
    queryable, found = measurement(scores), []
    for index in range(len(scores)):
        try:
            found.append(queryable(index))
        except BudgetError:
            break
    return tuple(found)


def specimens() -> list[Specimen]:
    def law(x: Any) -> Law:
        return oracle.law("Exponential", x, 1.0, 2.0, 1)

    options = {"threshold_scale": 2, "k": 1}
    pair = ((1, 0, 0), (2, 0, 0))
    at_once = Specimen(build(MAX, **options, ask=range(3)), pair, law, share=0.99)
    return [at_once, Specimen(build(MAX, **options), pair, law, share=0.99, cell=talk)]


def loss(noise: Noise | Any, x: Any, y: Any, s: float, t: float, k: int) -> dict[Any, float]:
    one, other = (oracle.law(noise.name, z, s, t, k) for z in (x, y))
    return {h: math.log(other[h] / one[h]) for h in one if min(one[h], other[h]) > 1e-9}


MOVES = {
    ONE_WAY: [move for sign in (1, -1) for move in itertools.product((0, sign), repeat=3)],
    BOTH_WAYS: list(itertools.product((-1, 1), repeat=3)),
}


@pytest.mark.further
@pytest.mark.quick(metric="LInfDistance(monotonic=True)", noise=("Exponential()", "Gumbel()"))
@every_noise
@pytest.mark.parametrize("metric", [ONE_WAY, BOTH_WAYS], ids=repr)
def test_no_law_exceeds_the_map(noise: Any, metric: tk.Metric) -> None:
    """All moves of extreme coordinates of three scores, under all measures and as a curve."""
    for x in ((0, 0, 0), (2, -1, 0), (-2, 3, 1)):
        for s, t, k in ((1, 1, 1), (2, Fraction(1, 2), 2)):
            options = {"scale": s, "threshold_scale": t, "k": k, "noise": noise}
            before = numbers(oracle.law(noise.name, x, float(s), float(t), k))
            for move in MOVES[metric]:
                y = tuple(a + b for a, b in zip(x, move, strict=True))
                after = numbers(oracle.law(noise.name, y, float(s), float(t), k))
                for measure in MEASURES:
                    claimed = build(measure, metric, **options).map(1)
                    assert realised(measure, before, after) <= claimed + 1e-9, (measure, x, move, s, t, k)
        curve = build(tk.PrivacyProfile(), metric, **options).map(1)
        assert within(tk.PrivacyProfile(), before, after, curve)


@pytest.mark.parametrize("noise", [tk.noise.Gumbel(), tk.noise.Logistic(), tk.noise.Laplace()], ids=repr)
def test_true_answers_add_up_under_zcdp(noise: Any) -> None:
    """What many questions about scores near the threshold tell, until k are found, is below a rho that grows with k."""
    steepest = 1.443 if noise == tk.noise.Laplace() else 1
    lapse = lambda loss: loss + math.exp(-loss) - 1  # noqa: E731
    shares, added = [], 0
    for s, t, k, level, questions in ((1, 5, 2, 0, 6), (5, 5, 2, 1, 7), (0.5, 10, 1, 1, 9), (3, 2, 3, -1, 5)):
        claimed = build(ZCDP, scale=s, threshold_scale=t, k=k, noise=noise).map(1)
        once = (1 / t + 2 * k / s) / -math.expm1(-(1 / t + 2 * k / s))
        known = lapse(1 / t + k / s), once - 1 - math.log(once), lapse(1 / t) + k * lapse(steepest / s)
        assert claimed == pytest.approx(min(known), rel=1e-9)
        added += known[2] == min(known)
        x, y = (level,) * questions, (level + 1,) * questions
        laws = [numbers(oracle.law(noise.name, one, float(s), float(t), k)) for one in (x, y)]
        shares.append(float(realised(ZCDP, *laws) / claimed))
    assert 0.05 < max(shares) <= 1 + 1e-9, shares
    assert added >= 2


@pytest.mark.parametrize("fall", [0, 0.1, 2, 9])
@pytest.mark.parametrize("noise", ["Gumbel", "Logistic", "Laplace"])
def test_no_noise_is_steeper_than_its_price(noise: str, fall: float) -> None:
    """-ln F falls by no more than the factor that one true answer is charged."""
    steepest = 1.443 if noise == "Laplace" else 1.0
    places = np.arange(-20, 20, 0.01)
    with np.errstate(divide="ignore"):
        before, after = (-np.log1p(-oracle.SURVIVAL[noise](places + shift)) for shift in (0.0, fall))
    inside = (before < 15) & (after > 1e-7)  # where the oracle has digits
    assert np.all(after[inside] <= before[inside])
    assert np.all(after[inside] >= before[inside] * math.exp(-steepest * fall) * (1 - 1e-6))
    if noise == "Laplace" and fall == 0.1:
        assert np.any(after[inside] < before[inside] * math.exp(-1.4 * fall)), "1.443 is needed"


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize(("s", "t"), [(1, 1), (2, 1), (1, 3)])
@pytest.mark.parametrize("metric", [ONE_WAY, BOTH_WAYS], ids=repr)
def test_witness_epsilon_is_attained(metric: tk.Metric, s: int, t: int, k: int) -> None:
    """A score beyond the threshold is found below, which drives the threshold's noise up, then k above."""
    x, y = (2, *(0,) * k), (3, *(0 if metric == ONE_WAY else -1,) * k)
    answers = [(False, *(True,) * k)]
    one, other = (oracle.probabilities("Exponential", z, s, t, answers)[0] for z in (x, y))
    claimed = build(MAX, metric, scale=s, threshold_scale=t, k=k).map(1)
    assert abs(math.log(one / other) - claimed) < 1e-9


@pytest.mark.parametrize("k", [1, 2])
def test_witness_the_range_is_attained(k: int) -> None:
    """One analyst, two transcripts: the first score k times above; or two scores below and a third k times above."""
    losses = []
    for leads, answers in (((-1,) * k, (True,) * k), ((-1, 2, *(0,) * k), (False, False, *(True,) * k))):
        moved = [lead + (lead != 0) for lead in leads]
        one, other = (oracle.probabilities("Exponential", z, 2.0, 1.0, [answers])[0] for z in (leads, moved))
        losses.append(math.log(other / one))
    assert abs(losses[0] - losses[1] - build(RANGE, scale=2, threshold_scale=1, k=k).map(1)) < 1e-9


def test_witness_the_range_without_direction_is_the_supremum() -> None:
    far = 60
    rows = ((2, 1), (-1, 0)), ((2, 1), (-1, 0), (far, far + 1), (0, -1))
    losses = []
    for row, answers in zip(rows, ((False, True), (False, False, False, True)), strict=True):
        one, other = (oracle.probabilities("Exponential", z, 2.0, 4.0, [answers])[0] for z in zip(*row, strict=True))
        losses.append(math.log(other / one))
    assert abs(losses[0] - losses[1] - build(RANGE, BOTH_WAYS, scale=2, threshold_scale=4).map(1)) < 1e-6


def test_maps_are_the_formulas() -> None:
    for k, s, t, d in itertools.product((1, 3), (1, Fraction(7, 3)), (2, Fraction(1, 5)), (1, 2)):
        for metric, r in ((ONE_WAY, d), (BOTH_WAYS, 2 * d)):
            pure, width = Fraction(d) / t + k * r / Fraction(s), r / Fraction(t) + 2 * k * r / Fraction(s)
            options = {"scale": s, "threshold_scale": t, "k": k}
            for measure, exact in ((MAX, pure), (RANGE, width)):
                found = build(measure, metric, **options).map(d)
                assert Fraction(math.nextafter(found, 0)) < exact <= Fraction(found)
            rho = build(ZCDP, metric, **options).map(d)
            assert rho < min(pure**2 / 2, width**2 / 8)
    assert build(MAX, k=3).map(1) == 4.0, "one for the threshold, and one for each answer"
    assert build(MAX, BOTH_WAYS, k=3).map(1) == 7.0, "the noise of the threshold is not halved where scores go one way"
    assert build(MAX, scale=0, threshold_scale=1).map(1) == build(MAX, threshold_scale=0).map(1) == math.inf
    assert build(MAX, scale=0).map(0) == 0.0


BELOW, ABOVE = (False,), (True,)
LEAKS: dict[str, tuple[tuple[float, ...], tuple[float, ...], float, float, bool, tuple[bool, ...]]] = {
    "no noise on the threshold": ((-2.0,) * 8, (-1.0,) * 8, 2.0, 1e-3, True, BELOW * 8),
    "new noise of the threshold for every question": ((2.0,) * 8, (3.0,) * 8, 2.0, 2.0, False, BELOW * 8),
    "no noise on the scores": ((1.5, 2.0), (2.5, 2.0), 1e-2, 2.0, True, BELOW + ABOVE),
    "answers above that are not counted": ((2.0,) + (0.0,) * 5, (3.0,) + (0.0,) * 5, 2.0, 2.0, True, BELOW + ABOVE * 5),
}
"""Scores, scores that are one higher or the same, the scales of scores and threshold, and the answers that tell."""


@pytest.mark.parametrize("version", LEAKS)
def test_published_versions_that_leak_are_refuted(version: str) -> None:
    """They are published with the claim of the whole mechanism for one answer, and lose more."""
    x, y, s, t, shared, answers = LEAKS[version]
    one, other = (oracle.probabilities("Exponential", z, s, t, [answers], shared=shared)[0] for z in (x, y))
    claimed = build(MAX, scale=2, threshold_scale=2).map(1)
    assert one > 1e-12
    assert other == 0 or math.log(one / other) > 1.5 * claimed


def test_the_compared_value_itself_would_leak() -> None:
    """Of a score found above, its noisy value says that the threshold's noise is below: it cannot move with it."""
    z, weights = oracle._grid("Exponential", (0.0, 5.0), 1.0)

    def density(first: float, value: float) -> float:
        below = oracle._distribution("Exponential", z - first)
        return float((below * (z <= value) * oracle.DENSITY["Exponential"](np.array(value))) @ weights)

    assert density(0.0, 1.0) > 0
    assert density(2.0, 1.0) == 0, "a score of 2 found below, and then a value of 1 above"


SAMPLED = [(tk.noise.Exponential(), 2, 1, 2, (1, 0, 2)), (tk.noise.Laplace(), 1, 2, 1, (0, -1, 1))]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("at_once", "case"),
    [
        pytest.param(
            at_once, case, id=f"{case[0].name}-{at_once}", marks=[] if at_once == first else [pytest.mark.slow]
        )
        for at_once in (True, False)
        for case, first in zip(SAMPLED, (True, False), strict=True)
    ],
)
def test_answers_follow_the_law(at_once: bool, case: tuple[Any, ...]) -> None:
    noise, s, t, k, x = case
    measurement = build(MAX, noise=noise, scale=s, threshold_scale=t, k=k, ask=range(3) if at_once else None)
    found = Counter(tuple(measurement(x).tolist()) if at_once else talk(measurement, x) for _ in range(3000))
    assert_follows(found, oracle.law(noise.name, x, float(s), float(t), k), detects=0.5)


@pytest.mark.slow
def test_an_error_of_a_twentieth_would_show_with_gumbel_noise() -> None:
    """The second and the third of three scores are mostly found above; 11,000 draws."""
    measurement = build(MAX, noise=tk.noise.Gumbel(), scale=2, k=2, threshold_scale=1, ask=range(3))
    law = oracle.law("Gumbel", (-4, 5, 6), 2.0, 1.0, 2)
    found = Counter(tuple(measurement((-4, 5, 6)).tolist()) for _ in range(enough(max(law.values()))))
    assert_follows(found, law)


def test_scores_may_be_asked_for_in_any_order_again_and_in_lists() -> None:
    queryable = build(MAX, threshold=1000, k=2)(np.array([10, 5000, 20]))
    assert queryable([2, 0, 0]).tolist() == [False, False, False]
    assert queryable(np.array([0, 1, 2])).tolist() == [False, True, False]
    assert queryable(range(3)).tolist() == [False, True], "it ends with the k-th True"
    raises_exactly(BudgetError, lambda: queryable(0), "no query is left")
    assert build(MAX, threshold=1000, ask=(2, 1, 0))([10, 5000, 20]).tolist() == [False, True]
    floats = tk.VectorDomain(tk.AtomDomain(float)), ONE_WAY
    exact = floats >> tk.then_above_threshold(MAX, threshold=Fraction(1, 3), scale=0, ask=[0, 1])
    assert exact([1 / 3, math.nextafter(1 / 3, 1)]).tolist() == [False, True], "1/3 as a float is below the third"
    assert build(MAX, threshold=5, scale=0, ask=[0])([5]).tolist() == [True], "at the threshold is above"


def test_a_conversation_about_a_vector_is_about_that_vector() -> None:
    scores = np.array([0, 10**6])
    queryable = build(MAX, threshold=1000, k=2)(scores)
    scores[:] = 10**6
    assert queryable([0, 1]).tolist() == [False, True]


@pytest.mark.parametrize("query", ["0", 0.0, True, None, [0, "1"], [[0]], {0}])
def test_a_query_that_is_no_index_is_refused(query: Any) -> None:
    raises_exactly(ParameterTypeError, lambda: build(MAX)([1, 2])(query), "query")


@pytest.mark.parametrize("query", [-1, 2, [0, 2], []])
def test_a_query_out_of_range_is_refused(query: Any) -> None:
    raises_exactly(ParameterError, lambda: build(MAX)([1, 2])(query), "query")


def test_other_spaces_and_noises_are_refused() -> None:
    raises_exactly(ParameterTypeError, lambda: build(MAX, tk.RangeDistance()), "LInfDistance")
    raises_exactly(ParameterTypeError, lambda: build(tk.Approximate(MAX)), "output_measure")
    own = tk.noise.CustomNoise(
        "own", quantile=own_noises.asymmetric_laplace, survival=own_noises.asymmetric_laplace_survival
    )
    raises_exactly(ParameterError, lambda: build(MAX, noise=own), "noise")
    sized = tk.VectorDomain(tk.AtomDomain(int), size=2), ONE_WAY
    raises_exactly(ParameterError, lambda: tk.make_above_threshold(*sized, MAX, threshold=0, scale=1, ask=[2]), "ask")
    raises_exactly(DataError, lambda: build(MAX, ask=[2])([1, 2]), "ask")


@pytest.mark.parametrize("measure", [*MEASURES, tk.PrivacyProfile()], ids=repr)
@pytest.mark.parametrize("ask", [None, (1, 0)])
def test_the_frame(measure: tk.Measure, ask: Any) -> None:
    space = tk.VectorDomain(tk.AtomDomain(int)), BOTH_WAYS
    built = check_constructor(
        tk.make_above_threshold, tk.then_above_threshold, space, measure, threshold=3, scale=2.0, k=2, ask=ask
    )
    assert built.interactive == (ask is None)
    check_measurement(built, members=([1, 2], [3, 4, 5]), non_members=([1, 0.5], "12"), distances=(1, 2, 7))


def test_it_is_paid_from_a_ledger_round_by_round(tmp_path: Path) -> None:
    """Each round is an entry before it is drawn, also one that ends without an answer above."""
    ledger = tk.ledger.Ledger.create(
        tmp_path / "ledger", budget=1, measure=MAX, metric=ONE_WAY, d_in=1, dataset="counts of a week"
    )
    conversation = ledger.conversation([10, 5000, 20, 9000])
    spent, first, found = [], 0, []
    for _ in range(3):
        if first == 4:
            break
        answers = conversation(build(MAX, threshold=1000, scale=8, ask=range(first, 4)))
        found += [first + len(answers) - 1] * bool(answers[-1])
        first += len(answers)
        spent.append(ledger.spent())
    assert found == [1, 3]
    assert spent == [0.25, 0.5]
    conversation(build(MAX, threshold=10**6, scale=8, ask=range(4)))
    assert ledger.spent() == 0.75, "a round without an answer above costs as much"
    raises_exactly(BudgetError, lambda: conversation(build(MAX, threshold=0, scale=1, ask=[0])), "left")


def test_an_interactive_one_in_a_conversation_is_closed_by_the_next_query() -> None:
    space = tk.VectorDomain(tk.AtomDomain(int)), ONE_WAY
    outer = (space >> tk.then_adaptive_composition(MAX, d_in=1, d_mids=[2, 2]))([10, 5000])
    first = outer(build(MAX, threshold=1000))
    assert first(0) is False
    second = outer(build(MAX, threshold=1000))
    raises_exactly(QueryError, lambda: first(1), "closed")
    assert second(1) is True
