"""make_adaptive_composition: exact transcript laws against the map, the range rule and its witness, refusals."""

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.errors import BudgetError, ParameterError, ParameterTypeError, SpaceError

from ..concepts.examples import COUNTS, geometric_choice, times
from ..concepts.sentinels import raises_exactly
from ..oracles.pairs import conversation, hockey_stick, swapped
from .talks import MAX, MEASURES, RANGE, SPACE, ZCDP, Tape, bit_loss, lower_loss, noisy_bit, transcripts

APPROXIMATE = tk.Approximate(MAX)
HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
CHANCES = [(THIRD, 2 * THIRD), (Fraction(1, 10), Fraction(2, 10)), (Fraction(9, 10), Fraction(8, 10))]
ROOM = mpmath.mpf("1e-14")


def talk(measure: tk.Measure = MAX, d_in: Any = 1, d_mids: Any = (0.25, 0.5)) -> tk.Measurement:
    return tk.make_adaptive_composition(*COUNTS, measure, d_in=d_in, d_mids=d_mids)


def test_beyond_the_agreed_distance_nothing_is_promised() -> None:
    agreed = talk(d_in=2)
    assert [agreed.map(d) for d in (0, 1, 2)] == [0.75] * 3
    assert agreed.map(Fraction(2) + Fraction(1, 10**30)) == math.inf
    assert talk(APPROXIMATE, d_mids=[(0.5, 0.25)] * 2).map(1) == (1.0, 0.5)
    assert talk(APPROXIMATE, d_mids=[(0.5, 0.25)] * 2).map(2) == (math.inf, 1.0)
    assert talk(APPROXIMATE, d_mids=[(0.5, 0.75)] * 2).map(1) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("measure", "expected"),
    [(MAX, 1 + THIRD + Fraction(0.1)), (ZCDP, 1 + THIRD + Fraction(0.1)), (RANGE, 1 + 2 * THIRD + 2 * Fraction(0.1))],
)
def test_the_map_is_exact_and_rounded_up_once(measure: tk.Measure, expected: Fraction) -> None:
    loss = talk(measure, d_mids=[1, THIRD, 0.1]).map(1)
    assert loss >= expected > Fraction(math.nextafter(loss, 0))
    pairs = [(mid, 0) for mid in (1, THIRD, 0.1)]
    assert talk(tk.Approximate(measure), d_mids=pairs).map(1) == (loss, 0.0)


def test_the_range_of_the_first_query_counts_once() -> None:
    assert talk(RANGE, d_mids=[8, 1]).map(1) == 10.0
    assert talk(RANGE, d_mids=[1, 8]).map(1) == 17.0
    assert talk(RANGE, d_mids=[1, 8, math.inf]).map(1) == math.inf


@pytest.mark.further
@pytest.mark.quick(measure="MaxDivergence()")
@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_every_strategy_of_two_steps_stays_within_the_map(measure: tk.Measure) -> None:
    """The first step, and the second for each answer, are any of three bits and their mirror images."""
    choices = [*CHANCES, *((q, p) for p, q in CHANCES)]
    worst = max(bit_loss(measure, chances) for chances in CHANCES)
    interactive = tk.make_adaptive_composition(*SPACE, measure, d_in=1, d_mids=[worst, worst])
    found = []
    for first, if_zero, if_one in itertools.product(choices, repeat=3):

        def analyst(queryable: Any, tape: Tape, steps: Any = (first, if_zero, if_one)) -> tuple[int, int]:
            answer = queryable(noisy_bit(measure, tape, steps[0]))
            return answer, queryable(noisy_bit(measure, tape, steps[1 + answer]))

        found.append(lower_loss(measure, *(transcripts(interactive, analyst, x) for x in (0, 1))))
    assert max(found) <= interactive.map(1)
    attained = 2 * worst if measure != RANGE else 4 * math.log(2)
    assert max(found) >= attained * (1 - (1e-12 if measure != ZCDP else 0.2))


def mirrored(eta: Fraction, factor: int) -> tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]:
    """Two second steps of the same range: one with its loss at the top, the other at the bottom."""
    return (factor * eta, eta), (eta, factor * eta)


@pytest.mark.parametrize("eta", [Fraction(1, 10), Fraction(1, 10**9)])
def test_ranges_do_not_add_adaptively(eta: Fraction) -> None:
    """First (2/3, 1/3) against (1/3, 2/3), then a bit whose loss points where the first answer's did."""
    first = (THIRD, 2 * THIRD)
    if_zero, if_one = mirrored(eta, 2)
    laws = [{0: 1 - chance, 1: chance} for chance in if_one]
    a_1, a_2 = mpmath.log(4), lower_loss(RANGE, *laws)
    mids = [math.nextafter(float(a), 9) for a in (a_1, a_2)]
    interactive = tk.make_adaptive_composition(*SPACE, RANGE, d_in=1, d_mids=mids)

    def analyst(queryable: Any, tape: Tape) -> tuple[int, int]:
        answer = queryable(noisy_bit(RANGE, tape, first))
        return answer, queryable(noisy_bit(RANGE, tape, if_one if answer else if_zero))

    laws = [transcripts(interactive, analyst, x) for x in (0, 1)]
    if eta == Fraction(1, 10):
        zero = {(0, 0): 2 * THIRD * Fraction(4, 5), (0, 1): 2 * THIRD * Fraction(1, 5)}
        assert laws[0] == zero | {(1, 0): THIRD * Fraction(9, 10), (1, 1): THIRD * Fraction(1, 10)}
    joint = lower_loss(RANGE, *laws)
    assert abs(joint - 4 * mpmath.log(2)) < ROOM
    assert joint > a_1 + a_2 + mpmath.mpf("0.5")
    assert joint <= a_1 + 2 * a_2
    assert joint <= interactive.map(1)
    if eta < Fraction(1, 10):
        assert joint > a_1 + 2 * a_2 - mpmath.mpf("1e-8"), "the bound is the supremum"


def test_a_first_query_that_is_drawn_at_random_widens_the_range() -> None:
    """So the claim is for each outcome of the analyst's own coin, and >> is refused."""
    eta = Fraction(1, 1000)
    one, other = mirrored(eta, 2)
    a = lower_loss(RANGE, *({0: 1 - chance, 1: chance} for chance in one))
    interactive = tk.make_adaptive_composition(*SPACE, RANGE, d_in=1, d_mids=[math.nextafter(float(a), 9)])

    def analyst(queryable: Any, tape: Tape) -> tuple[int, int]:
        coin = tape.draw(HALF)
        return coin, queryable(noisy_bit(RANGE, tape, one if coin else other))

    laws = [transcripts(interactive, analyst, x) for x in (0, 1)]
    assert lower_loss(RANGE, *laws) > 1.9 * a > interactive.map(1)
    for coin in (0, 1):
        given = [{y: mass for y, mass in law.items() if y[0] == coin} for law in laws]
        assert lower_loss(RANGE, *given) <= interactive.map(1)
    assert lower_loss(MAX, *laws) <= interactive.map(1), "what follows for pure privacy stays true"


@pytest.mark.parametrize("measure", [RANGE, tk.Approximate(RANGE)], ids=repr)
def test_ranges_of_conversations_are_not_post_processed(measure: tk.Measure) -> None:
    mids = [1.0] if measure == RANGE else [(1.0, 0.5)]
    for interactive in (talk(measure, d_mids=mids), times(2) >> talk(measure, d_mids=mids)):
        raises_exactly(SpaceError, lambda link=interactive: link >> str, "cannot be post-processed")


def test_each_query_has_its_own_limit_in_order() -> None:
    queryable = talk(d_mids=[0.25, 0.5])([1, 2])
    small, large = (geometric_choice(privacy_map=lambda d_in, c=c: c) for c in (0.25, 0.5))
    raises_exactly(BudgetError, lambda: queryable(large), "d_mids[0]")
    assert queryable(small) == 1
    assert queryable(large) == 1
    raises_exactly(BudgetError, lambda: queryable(small), "all 2 queries")


def test_limits_are_compared_exactly_and_at_d_in() -> None:
    tenth = geometric_choice(privacy_map=lambda d_in: Fraction(d_in) / 10)
    below = Fraction(1, 10) - Fraction(1, 10**400)
    raises_exactly(BudgetError, lambda: talk(d_mids=[below])([1, 2])(tenth), "d_mids[0]")
    assert talk(d_mids=[Fraction(1, 10)])([1, 2])(tenth) == 1
    assert talk(d_mids=[0.1])([1, 2])(tenth) == 1
    raises_exactly(BudgetError, lambda: talk(d_in=2, d_mids=[0.1])([1, 2])(tenth), "d_mids[0]")
    assert talk(d_in=2, d_mids=[0.2])([1, 2])(tenth) == 1


def test_a_query_that_fails_has_used_up_its_turn() -> None:
    def fail(scores: Any) -> None:
        raise ZeroDivisionError

    queryable = talk(d_mids=[1.0])([1, 2])
    broken = geometric_choice(function=fail)
    raises_exactly(ZeroDivisionError, lambda: queryable(broken))
    raises_exactly(BudgetError, lambda: queryable(geometric_choice()), "all 1 queries")


def test_it_follows_a_transformation() -> None:
    chain = times(3) >> talk(d_in=3, d_mids=[1.0])
    assert chain.map(1) == 1.0
    assert chain.map(2) == math.inf
    assert chain([5, 1])(geometric_choice(privacy_map=lambda d_in: d_in / 3)) == 0
    law_free = chain >> (lambda queryable: queryable(geometric_choice(privacy_map=lambda d_in: d_in / 3)))
    assert law_free([5, 1]) == 0
    assert law_free.map(1) == 1.0


def test_shipped_mechanisms_are_queries() -> None:
    interactive = talk(ZCDP, d_mids=[0.5, 0.5])
    queryable = interactive(np.array([5000, 1, 9000]))
    assert queryable(COUNTS >> tk.then_report_noisy_top_k(ZCDP, k=2, scale=1.0)).tolist() == [2, 0]
    both = tk.make_composition([COUNTS >> tk.then_exponential_mechanism(ZCDP, scale=1.0)] * 2)
    assert queryable(both) == (2, 2)


@pytest.mark.parametrize(
    ("mids", "error", "fragment"),
    [
        ([], ParameterError, "at least one"),
        (0.5, ParameterTypeError, "d_mids must be a list"),
        ("12", ParameterTypeError, "d_mids must be a list"),
        (None, ParameterTypeError, "d_mids must be a list"),
        ([0.5, -1], ParameterError, "d_mids[1] must be >= 0"),
        ([math.nan], ParameterError, "d_mids[0] must be a number >= 0, not NaN"),
        ([0.5, "1"], ParameterError, "d_mids[1]"),
        ([(0.5, 0.1)], ParameterError, "d_mids[0]"),
    ],
)
def test_bad_losses(mids: Any, error: type[Exception], fragment: str) -> None:
    raises_exactly(error, lambda: talk(d_mids=mids), fragment)


@pytest.mark.parametrize("mid", [0.5, (0.5, 1.5), (-1, 0.5), (0.5, math.nan)])
def test_bad_pairs(mid: Any) -> None:
    raises_exactly(ParameterError, lambda: talk(APPROXIMATE, d_mids=[mid]), "d_mids[0]")


@pytest.mark.parametrize("d_in", [-1, math.nan, "1", None, True])
def test_bad_distances(d_in: Any) -> None:
    raises_exactly(ParameterError, lambda: talk(d_in=d_in), "d_in")


MAKERS = [
    lambda domain, metric, measure: tk.make_adaptive_composition(domain, metric, measure, d_in=1, d_mids=[1]),
    tk.make_fully_adaptive_composition,
    lambda *space: tk.make_composition([geometric_choice(space[:2], space[2])]),
]


@pytest.mark.parametrize("make", MAKERS)
def test_spaces_that_do_not_fit_and_measures_without_a_rule(make: Any) -> None:
    raises_exactly(SpaceError, lambda: make(COUNTS[0], tk.UserDistance(), MAX), "UserDistance")
    words = "output_measure must be"
    raises_exactly(ParameterTypeError, lambda: make(*COUNTS, tk.Approximate(APPROXIMATE)), words)


@pytest.mark.slow
def test_curves_that_are_agreed_compose() -> None:
    """Losses may be curves, epsilons and pairs; queries that do not fit are refused, and the map is one curve."""
    profile = tk.PrivacyProfile()
    best = COUNTS >> tk.then_permute_and_flip(profile, scale=4.0)
    agreed = talk(profile, d_in=2, d_mids=[best.map(2), 0.5, (0.5, 1e-6)])
    curve = agreed.map(1)
    assert curve == agreed.map(2)
    assert best.map(2).epsilon(1e-3) < curve.epsilon(1e-3) < 1.5
    assert agreed.map(3).delta(1000) == 1
    queryable = agreed([5, 0, 1])
    wide = COUNTS >> tk.then_permute_and_flip(profile, scale=1.0)
    raises_exactly(BudgetError, lambda: queryable(COUNTS >> tk.then_permute_and_flip(profile, scale=3.9)), "d_mids[0]")
    assert queryable(best) in range(3)
    raises_exactly(BudgetError, lambda: queryable(wide), "d_mids[1]")
    assert queryable(best) in range(3)
    assert queryable(best) in range(3)
    raises_exactly(BudgetError, lambda: queryable(best), "all 3 queries")


@pytest.mark.slow
def test_curves_of_agreed_losses_bound_every_conversation() -> None:
    """The second query's direction is chosen by the first answer: exact transcript laws against the map's curve."""
    profile = tk.PrivacyProfile()
    first = ((THIRD, 1 - THIRD), (HALF, HALF))
    second = ((Fraction(1, 100), Fraction(99, 100)), (Fraction(2, 100), Fraction(98, 100)))

    def of(pair: Any) -> tk.PrivacyCurve:
        return tk.PrivacyCurve(lambda epsilon: min(1.0, float(hockey_stick(pair, epsilon)) * (1 + 1e-15) + 1e-300))

    curve = talk(profile, d_mids=[of(first), of(second)]).map(1)
    exceeding = 0
    for turn in (0, 1):
        joint = conversation(first, lambda i, turn=turn: swapped(second) if i == turn else second)
        plain = conversation(first, lambda i: second)
        for i in range(10):
            epsilon = Fraction(i, 20)
            assert hockey_stick(joint, epsilon) <= curve.delta(epsilon)
            exceeding += hockey_stick(joint, epsilon) > hockey_stick(plain, epsilon)
    assert exceeding
