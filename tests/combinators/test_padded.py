"""make_padded: an answer at the deadline or none, and what it costs to see when it comes."""

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.core import repeatable as padding

from ..concepts.clocks import SECOND, Clock, unwaited
from ..concepts.examples import COUNTS, geometric_choice
from ..concepts.links import OF_THREE_COUNTS, check_measurement
from ..concepts.sentinels import SENTINEL_INT, raises_exactly

PURE, ZCDP = tk.MaxDivergence(), tk.ZeroConcentratedDivergence()


@pytest.fixture
def clock() -> Iterator[Clock]:
    with unwaited() as clock:
        yield clock


def taking(clock: Clock, seconds: Any, answer: Callable[[Any], Any] = len) -> tk.Measurement:
    """A measurement whose computation takes so long."""

    def function(value: Any) -> Any:
        clock.now += int(seconds * SECOND)
        return answer(value)

    return tk.make_user_measurement(*COUNTS, PURE, function=function, privacy_map=lambda d_in: d_in)


def top(measure: tk.Measure = PURE) -> tk.Measurement:
    return COUNTS >> tk.then_report_noisy_top_k(measure, k=2, scale=2.0)


def test_obligations(clock: Clock) -> None:
    for measure in (PURE, tk.RangeDivergence(), ZCDP):
        near = [([3, 1, 2], [4, 0, 2], 2)] if measure == PURE else []
        check_measurement(tk.make_padded(top(measure), seconds=5), **OF_THREE_COUNTS, neighbours=near)
        assert tk.make_padded(top(measure), seconds=5).map(3) == top(measure).map(3)
    check_measurement(tk.make_padded(top(), seconds=5, missed=1e-9), **OF_THREE_COUNTS, free_at_zero=False)


def test_the_answer_comes_at_the_deadline_and_never_before(clock: Clock) -> None:
    for taken in (0, Fraction(1, 3), 1, 5):
        start = clock.now
        assert tk.make_padded(taking(clock, taken), seconds=5)([1, 2]) == 2
        assert clock.now - start == 5 * SECOND
    assert len(clock.slept) >= 4  # the first sleep ended early


def test_what_takes_longer_has_no_answer_and_one_error(clock: Clock) -> None:
    def failing(value: Any) -> Any:
        raise ZeroDivisionError

    for answer in (len, failing):
        late = tk.make_padded(taking(clock, 5.1, answer), seconds=5)
        raises_exactly(tk.errors.DeadlineError, lambda late=late: late([SENTINEL_INT]), "deadline was missed")
    assert not clock.slept


def test_errors_wait_and_interrupts_do_not(clock: Clock) -> None:
    def raising(error: type[BaseException]) -> Callable[[Any], Any]:
        def answer(value: Any) -> Any:
            raise error

        return answer

    for error, waited in ((ZeroDivisionError, 5), (KeyboardInterrupt, 1)):
        start = clock.now
        with pytest.raises((error, tk.errors.ForeignError)):
            tk.make_padded(taking(clock, 1, raising(error)), seconds=5)([1])
        assert clock.now - start == waited * SECOND
    start = clock.now
    raises_exactly(tk.errors.DataTypeError, lambda: tk.make_padded(taking(clock, 1), seconds=5)([0.5]))
    assert clock.now - start == 5 * SECOND


def test_an_interrupt_of_the_wait_gives_no_answer(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(clock, "sleep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tk.make_padded(top(), seconds=5)([1, 2, 3])


def test_the_clock_runs_while_the_argument_is_checked(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """For what follows the padded measurement, and for part of its domain too, of which members are still asked."""
    named = tk.make_padded(top(), seconds=5) >> tk.index_candidates(["ash", "birch", "elm"])
    validate = tk.VectorDomain.validate

    def slow(self: Any, value: Any) -> Any:
        clock.now += SECOND
        return validate(self, value)

    monkeypatch.setattr(tk.VectorDomain, "validate", slow)
    start = clock.now
    assert set(named([1, 2, 3])) <= {"ash", "birch", "elm"}
    assert clock.now - start == 5 * SECOND
    raises_exactly(tk.errors.DataError, lambda: named([1, 2, 3, 4]))


def test_it_is_paid_for_in_a_ledger_and_a_composition(clock: Clock, tmp_path: Any) -> None:
    late, soon = (tk.make_padded(taking(clock, taken), seconds=5) for taken in (6, 1))
    with tk.ledger.Ledger.create(
        tmp_path / "own.ledger", budget=2, measure=PURE, dataset="votes", metric=COUNTS[1], d_in=1
    ) as ledger:
        with pytest.raises(tk.errors.DeadlineError) as missed:
            ledger.release(late, [1, 2])
        assert not isinstance(missed.value, tk.errors.QueryError), (
            "a caller who asks a busy queryable again would pay twice"
        )
        assert ledger.spent() == 1
        assert ledger.release(soon, [1, 2]) == 2
        assert ledger.remaining() == 0
    start = clock.now
    assert tk.make_composition([soon, soon])([1]) == tk.make_repeat(soon, times=2)([1]) == (1, 1)
    assert clock.now - start == 20 * SECOND


def test_queries_of_a_conversation_are_padded_one_by_one(clock: Clock) -> None:
    talk = COUNTS >> tk.then_adaptive_composition(PURE, d_in=1, d_mids=[1, 1])
    queryable, start = talk([1, 2]), clock.now
    assert queryable(tk.make_padded(taking(clock, 1), seconds=5)) == 2
    assert clock.now - start == 5 * SECOND
    raises_exactly(tk.errors.SpaceError, lambda: tk.make_padded(talk, seconds=5), "pad each of its queries")


def test_the_claim_on_time_is_an_assumption() -> None:
    timed = tk.make_padded(geometric_choice(privacy_map=lambda d_in: d_in), seconds=2, missed=Fraction(1, 10**6))
    assert timed.output_measure == tk.Approximate(PURE)
    assert timed.proof.status == "unproven"
    assert "deadline of 2 seconds is missed with probability at most 1e-06" in str(timed.proof)
    for epsilon in (0, Fraction(1, 2), 7, 50):
        mass = (1 + math.exp(epsilon)) / 10**6
        assert mass <= timed.map(epsilon)[1] * (1 + 1e-14) <= min(1, mass) * (1 + 1e-13) or mass > 1
    assert timed.map(51)[1] == timed.map(math.inf)[1] == 1
    leaky = tk.make_user_measurement(
        *COUNTS, tk.Approximate(PURE), function=len, privacy_map=lambda d_in: (0, Fraction(1, 4))
    )
    assert tk.make_padded(leaky, seconds=2, missed=Fraction(1, 8)).exact_map(1) == (0, Fraction(1, 2))
    raises_exactly(tk.errors.NotDeclaredError, lambda: timed.distribution([1]), "no exact distribution")


def test_bad_arguments() -> None:
    for seconds in (0, -1, math.nan, math.inf, 10**6 + 1, "5", True, None):
        with pytest.raises(tk.errors.ParameterError, match="seconds must be"):
            tk.make_padded(top(), seconds=seconds)
    for missed in (0, 1, -1, math.nan, "1", True):
        with pytest.raises(tk.errors.ParameterError, match="missed must"):
            tk.make_padded(top(), seconds=1, missed=missed)
    raises_exactly(
        tk.errors.ParameterTypeError, lambda: tk.make_padded(top(ZCDP), seconds=1, missed=0.1), "convert it first"
    )
    raises_exactly(tk.errors.ParameterTypeError, lambda: tk.make_padded(len, seconds=1), "must be a measurement")
    padded = tk.make_padded(top(), seconds=1)
    for again in (padded, padded >> tuple):
        raises_exactly(tk.errors.SpaceError, lambda again=again: tk.make_padded(again, seconds=2), "already be padded")
    rounds = tk.make_user_transformation(*COUNTS, *COUNTS, function=list, stability_map=lambda d_in: d_in)
    raises_exactly(tk.errors.SpaceError, lambda: rounds >> padded, "pad the whole chain")
    assert tk.make_padded(rounds >> top(), seconds=1).map(1) == top().map(1)


def leaks(odds: int, beta: Fraction) -> Iterator[Fraction]:
    """The least delta at e^epsilon = ``odds`` of joint laws of answer and time, over a grid of laws and of misses.

    Answers are two, and their laws are ``odds``-close. A miss depends on the answer and has a moment that tells the
    input and the answer; each input misses with at most ``beta``. What is seen: an answer in time, or a moment.
    """
    shares = [Fraction(i, 8) for i in range(1, 8)] + [beta, odds * beta]
    for p, q in itertools.product(shares, repeat=2):
        if max(p / q, q / p, (1 - p) / (1 - q), (1 - q) / (1 - p)) > odds:
            continue
        for first, second in itertools.product((0, beta / 2, beta), repeat=2):
            if first > p or second > 1 - q or beta - first > 1 - p or beta - second > q:
                continue
            seen = ((p - first, 1 - p - (beta - first)), (q - (beta - second), 1 - q - second))
            in_time = sum(max(Fraction(0), b - odds * a) for a, b in zip(*seen, strict=True))
            yield in_time + beta


def test_no_joint_law_of_answer_and_time_exceeds_the_map_and_one_attains_it() -> None:
    """By exact enumeration, without the library: (epsilon, delta + missed) would be too little."""
    for odds, beta in ((1, Fraction(1, 16)), (2, Fraction(1, 16)), (3, Fraction(1, 32)), (4, Fraction(1, 10))):
        worst = max(leaks(odds, beta))
        claimed = tk.make_padded(
            geometric_choice(privacy_map=lambda d_in, odds=odds: Fraction(math.log(odds))), seconds=1, missed=beta
        ).exact_map(1)[1]
        assert worst == (1 + odds) * beta
        assert abs(claimed / worst - 1) < Fraction(1, 10**12)


def test_under_a_clock_that_stands_still_there_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that a test has frozen: sleeps take their time, and nobody can tell."""
    slept: list[float] = []

    class Frozen:
        monotonic_ns = staticmethod(lambda: 10**15)
        sleep = staticmethod(slept.append)

    monkeypatch.setattr(padding, "time", Frozen)
    for seconds in (5, 0.01):
        with pytest.raises(tk.errors.DeadlineError, match="clock does not advance"):
            tk.make_padded(COUNTS >> tk.then_report_noisy_top_k(PURE, k=1, scale=1.0), seconds=seconds)([1, 2])
    assert 1 < sum(slept) < 10
