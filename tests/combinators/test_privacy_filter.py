"""make_privacy_filter: the budget holds whatever is asked, refusals are free, and all of it can be spent."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

import opendp_topk as tk

from ..concepts.examples import COUNTS, geometric_choice, times
from ..concepts.links import check_measurement
from ..concepts.sentinels import SENTINEL_INT, raises_exactly
from .talks import MAX, MEASURES, RANGE, SPACE, ZCDP, Tape, lower_loss, noisy_bit, transcripts

THIRD = Fraction(1, 3)


def budgeted(d_out: Any = 1.0, measure: tk.Measure = MAX, d_in: Any = 1) -> tk.Measurement:
    return tk.make_privacy_filter(COUNTS >> tk.then_fully_adaptive_composition(measure), d_in=d_in, d_out=d_out)


def costing(loss: Any, measure: tk.Measure = MAX) -> tk.Measurement:
    return geometric_choice(measure=measure, privacy_map=lambda d_in: loss)


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_obligations(measure: tk.Measure) -> None:
    built = budgeted(THIRD, measure, d_in=2)
    check_measurement(
        built,
        members=[[3, 1, 2]],
        non_members=[[0.5], [], [SENTINEL_INT, "a"], None],
        distances=[1, 2, 3, 10],
        free_at_zero=False,
    )
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
        bits = [
            noisy_bit(measure, tape, chances)
            for chances in ((THIRD, Fraction(2, 5)), (Fraction(1, 4), Fraction(2, 5)), (Fraction(1, 2), Fraction(1, 3)))
        ]
        answers: list[Any] = [queryable(bits[0])]
        while len(answers) < 7:
            try:
                answers.append(queryable(bits[1 if answers[-1] == 1 else 2]))
            except tk.BudgetError:
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
    raises_exactly(tk.BudgetError, lambda: queryable(costing((0.5, 0.75), measure)), "above d_out")
    raises_exactly(tk.BudgetError, lambda: queryable(costing((1.5, 0.25), measure)), "above d_out")
    assert queryable(costing((0.5, 0.5), measure)) == 1
    raises_exactly(tk.BudgetError, lambda: queryable(costing((0.0, 0.125), measure)), "above d_out")
    assert queryable(costing((0.5, 0), measure)) == 1
    assert queryable.privacy_loss(1) == (1.0, 0.5)


def test_refusals_are_free_and_the_budget_can_be_spent_to_the_end() -> None:
    queryable = budgeted(1.0)([1, 2])
    ran = []
    large = geometric_choice(privacy_map=lambda d_in: 0.75, function=lambda scores: ran.append(1))
    assert queryable(costing(0.5)) == 1
    raises_exactly(tk.BudgetError, lambda: queryable(large), "ask one that loses less")
    assert ran == []
    assert queryable.privacy_loss(1) == 0.5
    assert queryable.privacy_loss(1, large) == 1.25
    assert queryable(costing(0.5)) == 1
    assert queryable.privacy_loss(1) == 1.0
    raises_exactly(tk.BudgetError, lambda: queryable(costing(5e-324)), "above d_out")
    assert queryable(costing(0.0)) == 1


def test_a_budget_that_is_no_float_is_kept_exactly() -> None:
    budget = Fraction(3, 10)
    measurement = budgeted(budget)
    assert measurement.exact_map(1) == budget < measurement.map(1) == math.nextafter(0.3, 1)
    queryable = measurement([1, 2])
    raises_exactly(tk.BudgetError, lambda: queryable(costing(measurement.map(1))), "above d_out")
    assert [queryable(costing(budget / 3)) for _ in range(3)] == [1, 1, 1]
    assert queryable.privacy_loss(1) == measurement.map(1)


def test_the_second_range_is_charged_twice() -> None:
    queryable = budgeted(3.0, RANGE)([1, 2])
    assert queryable(costing(1.0, RANGE)) == 1
    raises_exactly(tk.BudgetError, lambda: queryable(costing(1.25, RANGE)), "above d_out")
    assert queryable(costing(1.0, RANGE)) == 1
    assert queryable.privacy_loss(1) == 3.0
    raises_exactly(tk.SpaceError, lambda: budgeted(3.0, RANGE) >> str, "cannot be post-processed")


def test_costs_are_those_at_d_in() -> None:
    queryable = budgeted(1.0, d_in=3)([1, 2])
    raises_exactly(tk.BudgetError, lambda: queryable(geometric_choice()), "above d_out")
    assert queryable(geometric_choice(privacy_map=lambda d_in: Fraction(d_in) / 3)) == 1


def test_a_query_that_fails_is_debited() -> None:
    def fail(scores: Any) -> None:
        raise ZeroDivisionError

    queryable = budgeted(1.0)([1, 2])
    with pytest.raises(ZeroDivisionError):
        queryable(geometric_choice(function=fail))
    raises_exactly(tk.BudgetError, lambda: queryable(costing(0.5)), "above d_out")


def test_float_budgets_are_exact() -> None:
    queryable = budgeted(1.0)([1, 2])
    for _ in range(9):
        queryable(costing(0.1))
    raises_exactly(tk.BudgetError, lambda: queryable(costing(0.1)), "above d_out")
    full = budgeted(10 * Fraction(0.1))([1, 2])
    assert [full(costing(0.1)) for _ in range(10)] == [1] * 10


@pytest.mark.parametrize(
    "odometer", [None, 3, tk.Odometer, geometric_choice(), tk.then_fully_adaptive_composition(MAX)]
)
def test_what_is_no_odometer(odometer: Any) -> None:
    raises_exactly(
        tk.ParameterTypeError, lambda: tk.make_privacy_filter(odometer, d_in=1, d_out=1), "odometer must be an odometer"
    )


@pytest.mark.parametrize("bad", [-1, math.nan, "1", None, True, (1, 0.5)])
def test_bad_distances(bad: Any) -> None:
    raises_exactly(tk.ParameterError, lambda: budgeted(d_in=bad), "d_in")
    raises_exactly(tk.ParameterError, lambda: budgeted(d_out=bad), "d_out")
    raises_exactly(tk.ParameterError, lambda: budgeted((0.5, 2), tk.Approximate(MAX)), "d_out")
