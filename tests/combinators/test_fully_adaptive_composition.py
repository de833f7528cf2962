"""make_fully_adaptive_composition: the account before and after every query, and that nobody loses more."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

import opendp_topk as tk

from ..concepts.examples import COUNTS, geometric_choice, times
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
    with pytest.raises(ZeroDivisionError):
        queryable(geometric_choice(function=fail))
    assert queryable.privacy_loss(1) == 1.0


def test_what_is_refused_is_not_debited() -> None:
    queryable = odometer()([1, 2])
    for bad, error in (
        (costing(1.0, ZCDP), tk.SpaceError),
        (geometric_choice((COUNTS[0], tk.RangeDistance())), tk.SpaceError),
        (len, tk.ParameterTypeError),
    ):
        raises_exactly(error, lambda bad=bad: queryable(bad), "query")
        raises_exactly(error, lambda bad=bad: queryable.privacy_loss(1, bad), "query")
    for wrong in (-1, math.nan, "1", None):
        raises_exactly(tk.ParameterError, lambda wrong=wrong: queryable.privacy_loss(wrong), "d_in")
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
        with pytest.raises(tk.DataError) as caught:
            built(bad)
        assert leaks(caught.value) == []
    assert COUNTS >> built is built
    raises_exactly(tk.SpaceError, lambda: (COUNTS[0], tk.RangeDistance()) >> built, "RangeDistance()", "input space")
    raises_exactly(tk.SpaceError, lambda: COUNTS[0] >> built, "(domain, metric)")
    raises_exactly(tk.SpaceError, lambda: times(2) >> built, "make_privacy_filter")


def test_the_same_query_is_answered_with_fresh_noise() -> None:
    queryable = odometer()([0] * 4096)
    best = COUNTS >> tk.then_permute_and_flip(MAX, scale=1.0)
    assert len({queryable(best) for _ in range(6)}) > 3
    assert queryable.privacy_loss(1) == 6.0
