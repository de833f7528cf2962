"""Releases of every mechanism against its law: an error of one in twenty on the likeliest outcome is detected."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import mpmath
import pytest

from opendp_topk.apps.audit import shipped
from tests.concepts.mechanisms import MECHANISMS
from tests.concepts.specimens import Specimen
from tests.concepts.tried import specimens_of
from tests.concepts.turns import in_turn
from tests.oracles.chi_square import LARGEST_ERROR, ODDS, assert_follows, enough, p_value, smallest_error, tilted

SPECIMENS = [
    pytest.param(specimen, id=f"{name}-{n}", marks=[] if specimen.draws else pytest.mark.slow)
    for name in sorted(shipped.find_constructors())
    for n, specimen in enumerate(specimens_of(name))
]
SLOW = [one for one in SPECIMENS if one.marks]


@pytest.mark.parametrize("specimen", [one for one in SPECIMENS if not one.marks] + in_turn(SLOW, 2))
def test_an_error_of_five_percent_would_be_noticed(specimen: Specimen) -> None:
    law = specimen.law(specimen.pair[0])
    counts = Counter(specimen.samples(enough(max(law.values()))))
    assert_follows(counts, law, detects=0.05)
    for planted in (0.05, -0.05):
        assert p_value(counts, tilted(law, planted)) < ODDS


def test_every_mechanism_that_draws_from_scores_is_sampled() -> None:
    assert set(MECHANISMS) <= set(shipped.find_constructors())
    assert len(SPECIMENS) >= len(shipped.find_constructors())
    assert LARGEST_ERROR <= 0.05


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("error", [0.05, 0.01])
def test_the_power_that_is_stated_is_the_power(p: float, error: float) -> None:
    """Half of the arc to the error is left to chance on each side: just beyond its middle samples are refused."""
    n = enough(p, error)
    assert error * 0.999 < smallest_error(n, p) <= error
    assert smallest_error(n - n // 50, p) > error
    law: dict[Any, float] = {True: p, False: 1 - p}
    arc = min(abs(math.asin(math.sqrt(p * (1 + sign * error))) - math.asin(math.sqrt(p))) for sign in (1, -1))
    for sign in (1, -1):
        refused, accepted = (_share(math.asin(math.sqrt(p)) + sign * part * arc, n) for part in (0.51, 0.45))
        assert p_value(refused, law) < ODDS < p_value(accepted, law)
        with pytest.raises(AssertionError, match="deviate"):
            assert_follows(refused, law, detects=error)


def _share(angle: float, n: int) -> dict[Any, int]:
    found = round(n * math.sin(angle) ** 2)
    return {True: found, False: n - found}


def test_a_test_that_detects_too_little_must_say_so() -> None:
    law, counts = {"a": 0.5, "b": 0.5}, {"a": 500, "b": 500}
    with pytest.raises(AssertionError, match="1000 samples detect an error of 0"):
        assert_follows(counts, law)
    assert_follows(counts, law, detects=0.42)
    assert smallest_error(100, 0.01) == float("inf")


@pytest.mark.parametrize("expected", [0.5, 20, 60, 200])
def test_odds_are_exact_where_little_is_expected(expected: float) -> None:
    """The first count of a cell that is refused is the first whose binomial tail is its part of the odds."""
    n, cells = 100_000, 200
    p = expected / n
    law = {"most": 1 - cells * p} | dict.fromkeys(range(cells), p)

    def refused(count: int) -> bool:
        others = {i: int((i + 1) * expected) - int(i * expected) for i in range(1, cells)}
        counts = {0: count} | others
        return p_value(counts | {"most": n - sum(counts.values())}, law) < ODDS

    def beyond(count: int) -> float:
        with mpmath.workdps(40):
            return float(mpmath.betainc(count, n - count + 1, 0, p, regularized=True))

    likely = int(expected + 6 * math.sqrt(expected))
    exact = next(count for count in itertools.count(likely) if 8 * cells * beyond(count) < ODDS)
    assert [refused(exact - 1), refused(exact)] == [False, True]
