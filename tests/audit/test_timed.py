"""Audits of releases with their times: by a clock of the tests, so that nothing here depends on how long it takes."""

import itertools
import math
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.apps.audit import blackbox as draws
from opendp_topk.apps.audit.blackbox import clopper_pearson_lower, clopper_pearson_upper
from opendp_topk.errors import ParameterError, ParameterTypeError

from ..concepts.sentinels import raises_exactly

PAIR = [np.array([0.0, 0.0])], [np.array([1.0, 0.0])]
PAIRS = [(PAIR[0][0], PAIR[1][0])]


class Clock:
    """Stands in for the module ``time``: it stands still but for what a function says that it took."""

    def __init__(self) -> None:
        self.now = 0

    def perf_counter_ns(self) -> int:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    made = Clock()
    monkeypatch.setattr(draws, "time", made)
    return made


def taking(clock: Clock, nanoseconds: Callable[[Any], float]) -> Callable[[Any], int]:
    def function(scores: Any) -> int:
        clock.now += round(nanoseconds(scores))
        return 1

    return function


@pytest.mark.further
def test_a_time_that_tells_is_refuted_and_no_longer_if_nobody_looks_at_it(clock: Clock) -> None:
    drawn = random.Random(3)
    telling = taking(clock, lambda scores: 1000 + 200 * scores[0] + drawn.expovariate(1 / 100))
    found = tk.audit.audit_claim(telling, epsilon=1, pairs=PAIRS, samples=4000, timed=True)
    assert (found.verdict, found.as_dict()["timed"]) == ("refuted", True)
    assert any(line.startswith("time:") for line in found.lines)
    blind = tk.audit.audit_claim(telling, epsilon=1, pairs=PAIRS, samples=4000)
    reach = math.log(clopper_pearson_lower(1999, 2000, 0.0005) / clopper_pearson_upper(1, 2000, 0.0005))
    assert math.isclose(found.found.estimate.reach, reach, rel_tol=1e-9)
    assert reach < blind.found.estimate.reach
    assert (blind.verdict, any(line.startswith("time:") for line in blind.lines)) == ("not refuted", False)


@pytest.mark.slow
def test_a_time_that_costs_a_twentieth_more_than_is_claimed_is_refuted(clock: Clock) -> None:
    """Laplace noise on the time: its loss is 1.05 where 1 is claimed, and a claim of 1.05 is kept.

    With these samples the lower bound lies five standard deviations above 1 (with 300,000: below in one run of six).
    """
    drawn = np.random.default_rng(5)

    def slow(scores: Any) -> float:
        return float(10**6 + 1050 * scores[0] + drawn.laplace(scale=1000))

    claims = {claim: taking(clock, slow) for claim in (1.0, 1.05)}
    verdicts = [
        tk.audit.audit_claim(function, epsilon=claim, pairs=PAIRS, samples=800_000, timed=True).verdict
        for claim, function in claims.items()
    ]
    assert verdicts == ["refuted", "not refuted"]


@pytest.mark.further
def test_a_machine_that_grows_slower_accuses_nobody(clock: Clock) -> None:
    """The calls on one input before those on the other would be told apart for sure."""
    called: list[int] = []

    def ageing(scores: Any) -> float:
        called.append(int(scores[0]))
        return 1000 + len(called)

    function = taking(clock, ageing)
    found = tk.audit.audit_claim(function, epsilon=0.01, pairs=PAIRS, samples=4000, confidence=1 - 1e-9, timed=True)
    assert found.found.estimate.lower == 0
    turns = [*zip(called[::2], called[1::2], strict=True)]
    assert all(sorted(turn) == [0, 1] for turn in turns)
    firsts = sum(turn[0] for turn in turns)
    assert abs(firsts - len(turns) / 2) < 4 * len(turns) ** 0.5  # eight standard deviations


def test_errors_have_a_time_and_come_through_where_all_calls_raise(clock: Clock) -> None:
    def raising(scores: Any) -> int:
        if scores[0] > 0:
            raise ZeroDivisionError
        return 1

    assert tk.audit.audit_claim(raising, epsilon=1, pairs=PAIRS, samples=1000, timed=True).verdict == "refuted"
    with pytest.raises(ZeroDivisionError):
        tk.audit.audit_claim(lambda scores: 1 // 0, epsilon=1, pairs=PAIRS, samples=1000, timed=True)


@pytest.mark.further
def test_measurements_are_called_one_by_one(clock: Clock) -> None:
    space = tk.VectorDomain(tk.AtomDomain(int), size=2), tk.LInfDistance()
    chosen = space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=1, scale=2.0)
    found = tk.audit.estimate(chosen, [0, 1], [1, 0], samples=1000, timed=True)
    assert found.timed
    assert found.distinct_outcomes == 2
    assert found.lower < 1


def test_what_cannot_be_timed_is_refused() -> None:
    batched = partial(tk.audit.estimate, len, [1], [2], samples=100, timed=True, batched=True)
    raises_exactly(ParameterError, batched, "timed requires single calls")
    for measure in (tk.RangeDivergence(), tk.ZeroConcentratedDivergence()):
        asked = partial(tk.audit.estimate, len, [1], [2], samples=100, timed=True, measure=measure)
        raises_exactly(ParameterError, asked, "timed requires a claim of epsilon and delta")
    raises_exactly(ParameterTypeError, lambda: tk.audit.estimate(len, [1], [2], samples=100, timed=1), "timed must be")


def law(odds: tuple[Fraction, ...]) -> list[Fraction]:
    """How likely each number of hits is in independent trials with these odds."""
    found = [Fraction(1)]
    for p in odds:
        found = [stay * (1 - p) + hit * p for stay, hit in zip([*found, 0], [0, *found], strict=True)]
    return found


@pytest.mark.slow
def test_a_spare_hit_keeps_bounds_on_trials_of_different_odds_and_none_does_not() -> None:
    """By exact enumeration; Clopper and Pearson's bounds are for equal odds."""
    shares = [Fraction(0), Fraction(1, 20), Fraction(1, 3), Fraction(1, 2), Fraction(4, 5), Fraction(1)]
    bare = 0
    for n in (1, 2, 4, 6):
        for odds in itertools.combinations_with_replacement(shares, n):
            likely, mean = law(odds), sum(odds) / n
            for level in (0.499, 0.4, 0.2, 0.05, 0.001):
                wrong = [0, 0, 0]
                for hits, chance in enumerate(likely):
                    wrong[0] += chance * (clopper_pearson_lower(max(hits - 1, 0), n, level) > mean)
                    wrong[1] += chance * (clopper_pearson_upper(min(hits + 1, n), n, level) < mean)
                    wrong[2] += chance * (clopper_pearson_lower(hits, n, level) > mean)
                assert max(wrong[:2]) <= level
                bare += wrong[2] > level
    assert bare, "the spare hit would be for nothing"
