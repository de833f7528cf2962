"""make_fully_adaptive_composition: the account before and after every query, and that nobody loses more.

Tries proofs/combinators/privacy_filter.tex.
"""

import functools
import math
import random
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import pytest

import opendp_topk as tk
from opendp_topk.combinators._rules import loss_after
from opendp_topk.core.measurement import Declared
from opendp_topk.core.repeatable import AdaptiveSteps
from opendp_topk.errors import BudgetError, DataError, ParameterError, ParameterTypeError, SpaceError
from tests.combinators.talks import bit_loss, number, renyi

from ..concepts.examples import COUNTS, geometric_choice, times
from ..concepts.losses import hockey_stick
from ..concepts.sentinels import SENTINEL_INT, leaks, raises_exactly
from .talks import MAX, MEASURES, RANGE, SPACE, ZCDP, Tape, lower_loss, noisy_bit, transcripts

THIRD = Fraction(1, 3)


def odometer(measure: tk.Measure = MAX) -> tk.Odometer:
    return tk.make_fully_adaptive_composition(*COUNTS, measure)


def costing(loss: Any, measure: tk.Measure = MAX) -> tk.Measurement:
    return geometric_choice(measure=measure, privacy_map=lambda d_in: loss)


def test_the_account_runs_along() -> None:
    queryable = odometer()([1, 2])
    linear = geometric_choice()
    assert queryable.privacy_loss(1) == 0.0
    assert queryable.privacy_loss(3, linear) == 3.0
    assert queryable.privacy_loss(3) == 0.0, "what would be lost is not lost"
    assert queryable(linear) == 1
    assert [queryable.privacy_loss(d_in) for d_in in (0, 1, 2.5)] == [0.0, 1.0, 2.5]
    queryable(linear)
    assert queryable.privacy_loss(1, linear) == 3.0
    assert queryable.privacy_loss(1) == 2.0


@pytest.mark.parametrize(("measure", "later"), [(MAX, 1), (ZCDP, 1), (RANGE, 2)])
def test_the_account_is_exact_and_rounded_up(measure: tk.Measure, later: int) -> None:
    queryable = odometer(measure)([1, 2])
    for loss in (THIRD, 0.1, 1):
        queryable(costing(loss, measure))
    exact = THIRD + later * (Fraction(0.1) + 1)
    found = queryable.privacy_loss(1)
    assert found >= exact > Fraction(math.nextafter(found, 0))
    assert queryable.privacy_loss(1, costing(math.inf, measure)) == math.inf


def test_no_query_is_forgotten_however_many_there_are() -> None:
    queryable = odometer()([1, 2])
    for n in range(1, 301):
        queryable(costing(THIRD))
        if n % 50 in (0, 1):
            assert n * Fraction(1 / 3) <= queryable.privacy_loss(1) < n * THIRD + Fraction(1, 2**40)
    assert queryable.privacy_loss(1, costing(THIRD)) >= 301 * Fraction(1 / 3)


def one_loss(rng: random.Random) -> Any:
    whole = rng.randrange(1, 2**53)
    return rng.choice([0, 1, 0.1, THIRD, Fraction(1, whole), Fraction(whole, 2**1000), rng.random()])


def one_query(rng: random.Random, measure: tk.Measure, answer: Any) -> tk.Measurement:
    """A random loss; under Approximate some are drawn in steps, as many as ``answer`` returns, of five at most."""
    loss, delta = Fraction(one_loss(rng)), Fraction(rng.randrange(2**20), 2 ** rng.choice([20, 25, 70]))
    if not isinstance(measure, tk.Approximate):
        return geometric_choice(measure=measure, function=answer, privacy_map=lambda d_in: loss * Fraction(d_in))
    steps = AdaptiveSteps(5, lambda d_in: loss * Fraction(d_in) / 5, lambda d_in: delta, lambda drawn: drawn)
    return replace(
        geometric_choice(
            measure=measure, function=answer, privacy_map=lambda d_in: (loss * Fraction(d_in) ** 2 + loss * 2, delta)
        ),
        declared=Declared(steps=steps if rng.random() < 0.5 else None),
    )


def rounded(values: Iterable[Any]) -> Fraction:
    total = sum(map(Fraction, values), Fraction(0))
    if total.denominator < 2**256:
        return total
    unit = Fraction(2) ** (128 + total.denominator.bit_length() - total.numerator.bit_length())
    return math.ceil(total * unit) / unit


def all_at_once(measure: tk.Measure, losses: list[Any]) -> Any:
    """The first loss, the sum of the later ones, which counts twice for ranges, and that of the deltas, if any."""
    pairs = losses if isinstance(measure, tk.Approximate) else [(one, 0) for one in losses]
    weight = 2 if "Range" in repr(measure) else 1
    inner = rounded(loss for loss, _ in pairs[:1]) + weight * rounded(loss for loss, _ in pairs[1:])
    return (inner, min(1, rounded(delta for _, delta in pairs))) if isinstance(measure, tk.Approximate) else inner


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("measure", [*MEASURES, *map(tk.Approximate, MEASURES)], ids=repr)
def test_the_running_account_is_that_of_all_queries_at_once(measure: tk.Measure, seed: int) -> None:
    """At every step and at several distances, also while a query is answered, and after answers that fail."""
    rng = random.Random(seed)
    admit, loss = odometer(measure).conversation([1, 2])
    asked: list[tuple[tk.Measurement, int | None]] = []

    def compare(*extra: tk.Measurement) -> None:
        for d_in in rng.sample([1, 2, Fraction(5, 2)], 2):
            losses = [loss_after(query, drawn, d_in) for query, drawn in [*asked, *((one, None) for one in extra)]]
            assert loss(d_in, *extra or (None,)) == all_at_once(measure, losses)

    def answer(_: Any) -> int:
        compare()
        return rng.choice([1, 2, 5]) // rng.choice([0, 1, 1, 1])

    for _ in range(30):
        query = one_query(rng, measure, answer)
        compare(query)
        draw = admit(query)
        asked.append((query, None))
        with suppress(ZeroDivisionError):
            asked[-1] = query, draw()
        compare()


def test_a_loss_that_is_infinite_stays_so() -> None:
    for measure in MEASURES:
        queryable = odometer(measure)([1, 2])
        for loss in (1, THIRD, math.inf, 1, 1):
            queryable(costing(loss, measure))
            queryable.privacy_loss(1)
        assert queryable.privacy_loss(1) == math.inf


def test_deltas_add() -> None:
    measure = tk.Approximate(MAX)
    queryable = odometer(measure)([1, 2])
    assert queryable.privacy_loss(1) == (0.0, 0.0)
    queryable(costing((0.5, 0.25), measure))
    assert queryable.privacy_loss(1, costing((0.5, 0.5), measure)) == (1.0, 0.75)
    assert queryable.privacy_loss(1, costing((0.5, 1), measure)) == (1.0, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_an_analyst_who_minds_the_account_loses_no_more(measure: tk.Measure) -> None:
    """Costs that depend on the answers: after a 1 one dear query, after a 0 cheap ones as long as they fit."""
    bound = 3.0 if measure != ZCDP else 0.5
    interactive = tk.make_fully_adaptive_composition(*SPACE, measure)
    reported = []

    def analyst(queryable: Any, tape: Tape) -> tuple[int, ...]:
        first = noisy_bit(measure, tape, (THIRD, Fraction(1, 2)))
        dear = noisy_bit(measure, tape, (Fraction(1, 4), Fraction(1, 2)))
        cheap = noisy_bit(measure, tape, (Fraction(1, 2), Fraction(2, 5)))
        answers = [queryable(first)]
        query = dear if answers[0] else cheap
        while queryable.privacy_loss(1, query) <= bound and len(answers) < 6:
            answers.append(queryable(query))
        reported.append(queryable.privacy_loss(1))
        return tuple(answers)

    laws = [transcripts(interactive, analyst, x) for x in (0, 1)]
    assert len({len(answers) for answers in laws[0]}) == 2
    assert lower_loss(measure, *laws) <= max(reported) <= bound
    assert lower_loss(measure, *laws) > 0.4 * max(reported)


def test_a_query_that_fails_is_debited() -> None:
    def fail(scores: Any) -> None:
        raise ZeroDivisionError

    queryable = odometer()([1, 2])
    raises_exactly(ZeroDivisionError, lambda: queryable(geometric_choice(function=fail)))
    assert queryable.privacy_loss(1) == 1.0


def test_what_is_refused_is_not_debited() -> None:
    queryable = odometer()([1, 2])
    for bad, error in (
        (costing(1.0, ZCDP), SpaceError),
        (geometric_choice((COUNTS[0], tk.RangeDistance())), SpaceError),
        (len, ParameterTypeError),
    ):
        raises_exactly(error, lambda bad=bad: queryable(bad), "query")
        raises_exactly(error, lambda bad=bad: queryable.privacy_loss(1, bad), "query")
    for wrong in (-1, math.nan, "1", None):
        raises_exactly(ParameterError, lambda wrong=wrong: queryable.privacy_loss(wrong), "d_in")
    assert queryable.privacy_loss(1) == 0.0


def test_an_odometer_is_a_frozen_link_without_a_map() -> None:
    built = COUNTS >> tk.then_fully_adaptive_composition(MAX)
    assert repr(built) == repr(odometer())
    assert repr(built).splitlines()[:2] == ["Odometer(", "    mechanism      = fully_adaptive_composition"]
    assert built.proof.name == "combinators/fully_adaptive_composition"
    assert not hasattr(built, "map")
    with pytest.raises(AttributeError):
        built.input_metric = tk.RangeDistance()  # type: ignore[misc]
    for bad in ([0.5], [], [SENTINEL_INT, "a"], None):
        with pytest.raises(DataError) as caught:
            built(bad)
        assert leaks(caught.value) == []
    assert COUNTS >> built is built
    raises_exactly(SpaceError, lambda: (COUNTS[0], tk.RangeDistance()) >> built, "RangeDistance()", "input space")
    raises_exactly(SpaceError, lambda: COUNTS[0] >> built, "(domain, metric)")
    raises_exactly(SpaceError, lambda: times(2) >> built, "make_privacy_filter")


def test_the_same_query_is_answered_with_fresh_noise() -> None:
    queryable = odometer()([0] * 4096)
    best = COUNTS >> tk.then_permute_and_flip(MAX, scale=1.0)
    assert len({queryable(best) for _ in range(6)}) > 3
    assert queryable.privacy_loss(1) == 6.0


# make_privacy_filter: the budget holds whatever is asked, refusals are free, and all of it can be spent.


def budgeted(d_out: Any = 1.0, measure: tk.Measure = MAX, d_in: Any = 1) -> tk.Measurement:
    return tk.make_privacy_filter(COUNTS >> tk.then_fully_adaptive_composition(measure), d_in=d_in, d_out=d_out)


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_a_filter_promises_its_budget_up_to_the_distance(measure: tk.Measure) -> None:
    built = budgeted(THIRD, measure, d_in=2)
    assert built.interactive
    assert built.map(2) >= THIRD
    assert built.map(3) == math.inf
    assert (times(2) >> built).map(1) == built.map(2)


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_whatever_is_asked_the_loss_stays_within_the_budget(measure: tk.Measure) -> None:
    """A greedy analyst, who asks dear queries after a 1 and cheap ones after a 0, each as long as it is answered."""
    budget = 2.5 if measure != ZCDP else 0.3
    interactive = tk.make_privacy_filter(tk.make_fully_adaptive_composition(*SPACE, measure), d_in=1, d_out=budget)
    spent = []

    def analyst(queryable: Any, tape: Tape) -> tuple[Any, ...]:
        shares = (THIRD, Fraction(2, 5)), (Fraction(1, 4), Fraction(2, 5)), (Fraction(1, 2), Fraction(1, 3))
        bits = [noisy_bit(measure, tape, chances) for chances in shares]
        answers: list[Any] = [queryable(bits[0])]
        while len(answers) < 7:
            try:
                answers.append(queryable(bits[1 if answers[-1] == 1 else 2]))
            except BudgetError:
                answers.append("refused")
        spent.append(queryable.privacy_loss(1))
        return tuple(answers)

    laws = [transcripts(interactive, analyst, x) for x in (0, 1)]
    assert max(spent) <= budget
    assert any("refused" in answers for answers in laws[0])
    assert lower_loss(measure, *laws) <= interactive.map(1) == budget
    assert lower_loss(measure, *laws) > 0.4 * budget


def test_approximate_budgets_hold_in_both_parts() -> None:
    measure = tk.Approximate(MAX)
    queryable = budgeted((1.0, 0.5), measure)([1, 2])
    raises_exactly(BudgetError, lambda: queryable(costing((0.5, 0.75), measure)), "above d_out")
    raises_exactly(BudgetError, lambda: queryable(costing((1.5, 0.25), measure)), "above d_out")
    assert queryable(costing((0.5, 0.5), measure)) == 1
    raises_exactly(BudgetError, lambda: queryable(costing((0.0, 0.125), measure)), "above d_out")
    assert queryable(costing((0.5, 0), measure)) == 1
    assert queryable.privacy_loss(1) == (1.0, 0.5)


def test_refusals_are_free_and_the_budget_can_be_spent_to_the_end() -> None:
    queryable = budgeted(1.0)([1, 2])
    ran = []
    large = geometric_choice(privacy_map=lambda d_in: 0.75, function=lambda scores: ran.append(1))
    assert queryable(costing(0.5)) == 1
    raises_exactly(BudgetError, lambda: queryable(large), "ask one with a smaller loss")
    assert ran == []
    assert queryable.privacy_loss(1) == 0.5
    assert queryable.privacy_loss(1, large) == 1.25
    assert queryable(costing(0.5)) == 1
    assert queryable.privacy_loss(1) == 1.0
    raises_exactly(BudgetError, lambda: queryable(costing(5e-324)), "above d_out")
    assert queryable(costing(0.0)) == 1


def test_a_budget_that_is_no_float_is_kept_exactly() -> None:
    budget = Fraction(3, 10)
    measurement = budgeted(budget)
    assert measurement.exact_map(1) == budget < measurement.map(1) == math.nextafter(0.3, 1)
    queryable = measurement([1, 2])
    raises_exactly(BudgetError, lambda: queryable(costing(measurement.map(1))), "above d_out")
    assert [queryable(costing(budget / 3)) for _ in range(3)] == [1, 1, 1]
    assert queryable.privacy_loss(1) == measurement.map(1)


def test_the_second_range_is_charged_twice() -> None:
    queryable = budgeted(3.0, RANGE)([1, 2])
    assert queryable(costing(1.0, RANGE)) == 1
    raises_exactly(BudgetError, lambda: queryable(costing(1.25, RANGE)), "above d_out")
    assert queryable(costing(1.0, RANGE)) == 1
    assert queryable.privacy_loss(1) == 3.0
    raises_exactly(SpaceError, lambda: budgeted(3.0, RANGE) >> str, "cannot be post-processed")


def test_costs_are_those_at_d_in() -> None:
    queryable = budgeted(1.0, d_in=3)([1, 2])
    raises_exactly(BudgetError, lambda: queryable(geometric_choice()), "above d_out")
    assert queryable(geometric_choice(privacy_map=lambda d_in: Fraction(d_in) / 3)) == 1


def test_a_failed_query_of_a_filter_is_debited() -> None:
    def fail(scores: Any) -> None:
        raise ZeroDivisionError

    queryable = budgeted(1.0)([1, 2])
    raises_exactly(ZeroDivisionError, lambda: queryable(geometric_choice(function=fail)))
    raises_exactly(BudgetError, lambda: queryable(costing(0.5)), "above d_out")


def test_float_budgets_are_exact() -> None:
    queryable = budgeted(1.0)([1, 2])
    for _ in range(9):
        queryable(costing(0.1))
    raises_exactly(BudgetError, lambda: queryable(costing(0.1)), "above d_out")
    full = budgeted(10 * Fraction(0.1))([1, 2])
    assert [full(costing(0.1)) for _ in range(10)] == [1] * 10


@pytest.mark.parametrize(
    "odometer", [None, 3, tk.Odometer, geometric_choice(), tk.then_fully_adaptive_composition(MAX)]
)
def test_what_is_no_odometer(odometer: Any) -> None:
    raises_exactly(
        ParameterTypeError, lambda: tk.make_privacy_filter(odometer, d_in=1, d_out=1), "odometer must be an odometer"
    )


@pytest.mark.parametrize("bad", [-1, math.nan, "1", None, True, (1, 0.5)])
def test_bad_distances(bad: Any) -> None:
    raises_exactly(ParameterError, lambda: budgeted(d_in=bad), "d_in")
    raises_exactly(ParameterError, lambda: budgeted(d_out=bad), "d_out")
    raises_exactly(ParameterError, lambda: budgeted((0.5, 2), tk.Approximate(MAX)), "d_out")


# Compositions under Approximate(...) against exact laws: steps that tell all with a small probability.


ORDERS = [1 + mpmath.mpf(2) ** n for n in range(-8, 6)]
Chances = tuple[Fraction, Fraction]
MILD: Chances = (Fraction(1, 3), Fraction(1, 2))
DEAR: Chances = (Fraction(1, 4), Fraction(1, 2))
CHEAP: Chances = (Fraction(1, 2), Fraction(2, 5))
DELTAS = {MILD: Fraction(1, 64), DEAR: Fraction(1, 16), CHEAP: Fraction(1, 128)}


def leaking_bit(measure: tk.Measure, tape: Tape, chances: Chances) -> tk.Measurement:
    """Releases x itself with probability delta, and a noisy bit otherwise; its map is that mixture's."""
    delta = DELTAS[chances]

    def function(x: Any) -> str:
        bit = int(x[0])
        return f"x = {bit}" if tape.draw(delta) else str(tape.draw(chances[bit]))

    loss = bit_loss(measure, chances)
    return tk.make_user_measurement(
        *SPACE,
        tk.Approximate(measure),
        function=function,
        privacy_map=lambda d_in: (loss, delta) if d_in else (0.0, 0),
        distribution=lambda x: {
            f"x = {int(x[0])}": delta,
            "0": (1 - delta) * (1 - chances[int(x[0])]),
            "1": (1 - delta) * chances[int(x[0])],
        },
    )


def greedy(measure: tk.Measure, queryable: Any, tape: Tape, *, rounds: int = 5) -> tuple[str, ...]:
    """Asks a dear query after a "1" and a cheap one otherwise, and goes on after refusals."""
    answers = [queryable(leaking_bit(measure, tape, MILD))]
    while len(answers) < rounds:
        try:
            answers.append(queryable(leaking_bit(measure, tape, DEAR if answers[-1] == "1" else CHEAP)))
        except BudgetError:
            answers.append("refused")
    return tuple(answers)


def told(answers: tuple[str, ...]) -> bool:
    return any(answer.startswith("x") for answer in answers)


def core(law: dict[Any, Fraction]) -> dict[Any, Fraction]:
    """The law given that x was never told."""
    kept = {answers: mass for answers, mass in law.items() if not told(answers)}
    whole = sum(kept.values())
    return {answers: mass / whole for answers, mass in kept.items()}


@functools.cache
def filtered(measure: tk.Measure, epsilon: float, delta: Fraction) -> tuple[Any, list[dict[Any, Fraction]], list[Any]]:
    """A filter with this budget, the laws of a greedy analyst's transcripts on 0 and on 1, and what was accounted."""
    odometer = tk.make_fully_adaptive_composition(*SPACE, tk.Approximate(measure))
    interactive = tk.make_privacy_filter(odometer, d_in=1, d_out=(epsilon, delta))
    spent: list[Any] = []

    def analyst(queryable: Any, tape: Tape) -> tuple[str, ...]:
        answers = greedy(measure, queryable, tape)
        spent.append(queryable.privacy_loss(1))
        return answers

    return interactive, [transcripts(interactive, analyst, x) for x in (0, 1)], spent


@pytest.mark.further
@pytest.mark.quick(delta="3/64")
@pytest.mark.parametrize(("epsilon", "delta"), [(2.5, Fraction(1, 8)), (1.0, Fraction(1, 8)), (2.5, Fraction(3, 64))])
def test_a_filter_keeps_epsilon_and_delta(epsilon: float, delta: Fraction) -> None:
    interactive, laws, spent = filtered(MAX, epsilon, delta)
    assert interactive.map(1) == (epsilon, delta)
    assert any("refused" in answers for answers in laws[0])
    assert max(one for one, _ in spent) <= epsilon
    assert max(other for _, other in spent) <= delta
    found = hockey_stick(*laws, epsilon)
    assert found <= number(delta)
    assert found > number(delta) / 5, "the leaks are in the transcript"


@pytest.mark.further
@pytest.mark.parametrize(("measure", "epsilon"), [(ZCDP, 0.2), (RANGE, 3.0)], ids=repr)
def test_a_filter_keeps_what_is_left_apart_from_delta(measure: tk.Measure, epsilon: float) -> None:
    """The transcripts are mixtures: one part within the inner budget, the other of mass at most delta."""
    delta = Fraction(1, 8)
    _, laws, _ = filtered(measure, epsilon, delta)
    for law in laws:
        assert 0 < sum(mass for answers, mass in law.items() if told(answers)) <= delta
    mild = [core(law) for law in laws]
    assert set(mild[0]) == set(mild[1])
    with mpmath.workdps(40):
        losses = [mpmath.log(number(mild[1][y] / mild[0][y])) for y in mild[0]]
        if measure == RANGE:
            assert 0.2 * epsilon < max(losses) - min(losses) <= epsilon
        else:
            found = max(renyi(p, q, order) / order for p, q in (mild, mild[::-1]) for order in ORDERS)
            assert 0.2 * epsilon < found <= epsilon


@pytest.mark.further
def test_the_odometer_states_what_was_lost_on_every_path() -> None:
    """An analyst who stops before the account exceeds a pair has lost no more than that pair."""
    interactive = tk.make_fully_adaptive_composition(*SPACE, tk.Approximate(MAX))
    limit, reported = (2.0, Fraction(1, 10)), []

    def analyst(queryable: Any, tape: Tape) -> tuple[str, ...]:
        answers = [queryable(leaking_bit(MAX, tape, MILD))]
        while len(answers) < 5:
            query = leaking_bit(MAX, tape, DEAR if answers[-1] == "1" else CHEAP)
            loss, delta = queryable.privacy_loss(1, query)
            if loss > limit[0] or delta > limit[1]:
                break
            answers.append(queryable(query))
        reported.append(queryable.privacy_loss(1))
        return tuple(answers)

    laws = [transcripts(interactive, analyst, x) for x in (0, 1)]
    largest = [max(part) for part in zip(*reported, strict=True)]
    assert hockey_stick(*laws, largest[0]) <= largest[1]
    assert len({len(answers) for answers in laws[0]}) > 1


def test_agreed_pairs_bound_a_conversation_and_a_composition() -> None:
    measure = tk.Approximate(MAX)
    steps = [MILD, DEAR, CHEAP]
    mids = [(bit_loss(MAX, chances), DELTAS[chances]) for chances in steps]
    talk = tk.make_adaptive_composition(*SPACE, measure, d_in=1, d_mids=mids)

    def analyst(queryable: Any, tape: Tape) -> tuple[str, ...]:
        return tuple(queryable(leaking_bit(MAX, tape, chances)) for chances in steps)

    laws = [transcripts(talk, analyst, x) for x in (0, 1)]
    both = tk.make_composition([leaking_bit(MAX, Tape(), chances) for chances in steps])
    assert both.map(1) == talk.map(1)
    epsilon, delta = talk.map(1)
    found = hockey_stick(*laws, epsilon)
    assert delta / 2 < found <= delta
    for x, law in enumerate(laws):
        joint = both.distribution([x])
        assert set(joint) == set(law)
        assert all(abs(number(joint[y]) - number(law[y])) < mpmath.mpf("1e-28") for y in law)
