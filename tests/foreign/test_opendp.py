"""OpenDP's noisy max: flagged under a cost that is too small, silent under its true cost and what it declares.

OpenDP draws from the operating system, so a run has no seed: all the tests here together raise a false alarm with
probability at most 1e-9, at 1e-12 for each of at most 1000 estimates.
"""

import pytest

import opendp_topk as tk

from .needed import Needed
from .selection import EPSILON, PAIRS, PURE, RANGE, ZCDP, opendp_selection, true_cost

dp = Needed("opendp.prelude")
pytestmark = pytest.mark.foreign
SURE = 1 - 1e-12


def test_permute_and_flip_is_flagged_at_an_eighth_of_epsilon_squared() -> None:
    function = opendp_selection(dp, "permute-and-flip")
    assert function.map(1) == EPSILON  # type: ignore[attr-defined]
    found = tk.audit.estimate(function, *PAIRS[0], samples=40_000, measure=ZCDP, confidence=SURE)
    assert found.contradicts(EPSILON**2 / 8)
    assert not found.contradicts(true_cost("permute-and-flip", ZCDP))
    assert not found.contradicts(dp.c.make_pureDP_to_zCDP(function).map(1))


def test_the_exponential_mechanism_is_not() -> None:
    """Under zCDP OpenDP declares an eighth of epsilon squared, and draws Gumbel noise, for which that is true."""
    function = opendp_selection(dp, "exponential")
    assert function.map(1) == EPSILON**2 / 8 > true_cost("exponential", ZCDP)  # type: ignore[attr-defined]
    found = tk.audit.estimate(function, *PAIRS[0], samples=40_000, measure=ZCDP, confidence=SURE)
    assert 0.3 < found.lower <= 0.5


@pytest.mark.parametrize("measure", [PURE, RANGE, ZCDP], ids=repr)
@pytest.mark.parametrize("mechanism", ["exponential", "permute-and-flip"])
def test_a_hundred_runs_are_silent(mechanism: str, measure: tk.Measure) -> None:
    function, cost = opendp_selection(dp, mechanism), true_cost(mechanism, measure)
    for run in range(100):
        pair = PAIRS[run % len(PAIRS)]
        found = tk.audit.estimate(function, *pair, samples=200, measure=measure, confidence=SURE)
        assert not found.contradicts(cost)
