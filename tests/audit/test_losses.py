"""Enclosures of losses against their definitions, evaluated by mpmath on a fine grid of orders."""

import itertools
import math
from fractions import Fraction
from typing import Any

import gmpy2
import mpmath
import pytest

import opendp_topk as tk
from opendp_topk.apps.audit import losses
from tests.concepts.losses import realised
from tests.concepts.sentinels import raises_exactly
from tests.concepts.spaces import PURE, RANGE

Law = dict[Any, Any]
ORDERS = [1 + mpmath.mpf(10) ** (mpmath.mpf(n) / 12) for n in range(-48, 49)]


def softmax(weights: list[int]) -> Law:
    """Exact rationals."""
    return {i: Fraction(w, sum(weights)) for i, w in enumerate(weights)}


PAIRS = [
    (softmax([1, 2]), softmax([2, 1])),
    (softmax([1, 2, 3, 4]), softmax([4, 3, 2, 1])),
    (softmax([1, 1, 10**9]), softmax([2, 1, 10**9])),
    (softmax([10**12, 1, 10**6]), softmax([10**12, 2, 10**6])),
    (softmax([100, 101, 102]), softmax([101, 101, 101])),
    (softmax([1, 10**30]), softmax([10**3, 10**30])),
]


def renyi(law: Law, other: Law, order: Any) -> Any:
    """D_order of ``other`` from ``law``."""
    terms = [exactly(other[y]) ** order * exactly(p) ** (1 - order) for y, p in law.items()]
    return mpmath.log(mpmath.fsum(terms)) / (order - 1)


def exactly(p: Fraction) -> mpmath.mpf:
    return mpmath.mpf(p.numerator) / p.denominator


def number(value: Any) -> mpmath.mpf:
    return mpmath.mpf(str(value))


@pytest.mark.parametrize(("law", "other"), PAIRS)
def test_max_and_range_are_enclosed(law: Law, other: Law) -> None:
    for measure, loss in ((PURE, losses.largest_absolute_loss), (RANGE, losses.bounded_range_loss)):
        with mpmath.workdps(60):
            exact = realised(measure, law, other)
            found = loss(losses.pair_distributions(law, other))
            assert number(found.lower) <= exact <= number(found.upper)
            assert number(found.upper - found.lower) < mpmath.mpf("1e-23")


@pytest.mark.parametrize(("law", "other"), PAIRS)
@pytest.mark.parametrize("tolerance", [1e-2, 1e-4])
def test_the_supremum_over_all_orders_is_enclosed(law: Law, other: Law, tolerance: float) -> None:
    found = losses.zcdp_loss(losses.pair_distributions(law, other), tolerance=tolerance)
    with mpmath.workdps(50):
        sampled = max(renyi(p, q, a) / a for p, q in ((law, other), (other, law)) for a in ORDERS)
        assert sampled <= number(found.upper) * (1 + mpmath.mpf("1e-25"))
        assert number(found.upper) <= number(found.lower) * (1 + 1.01 * tolerance)
        order = mpmath.mpf(found.where["alpha"])
        attained = max(renyi(law, other, order), renyi(other, law, order)) / order
        assert attained * (1 - mpmath.mpf("1e-12")) <= number(found.lower) <= attained * (1 + mpmath.mpf("1e-12"))


def test_the_supremum_is_at_any_order() -> None:
    """Small losses: far out, as for the ranking of the paper's pair; large ones: near 1."""
    far = losses.zcdp_loss(losses.pair_distributions(*PAIRS[2]))
    near = losses.zcdp_loss(losses.pair_distributions(softmax([1, 10**6]), softmax([10**6, 1])))
    assert far.where["alpha"] > 10
    assert near.where["alpha"] < 1.01


def test_a_loss_that_is_of_no_interest_is_not_computed() -> None:
    found = losses.zcdp_loss(losses.pair_distributions(*PAIRS[0]), enough=gmpy2.mpfr(10))
    assert found.lower == 0
    assert found.upper <= 10
    assert losses.zcdp_loss(losses.pair_distributions(*PAIRS[0])).lower <= found.upper


@pytest.mark.parametrize(("law", "other"), PAIRS)
@pytest.mark.parametrize("epsilon", [0, 0.25, 1, 40, math.inf])
def test_the_hockey_stick(law: Law, other: Law, epsilon: float) -> None:
    found = losses.hockey_stick_divergence(losses.pair_distributions(law, other), epsilon)
    with mpmath.workdps(40):
        factor = mpmath.exp(epsilon)
        exact = mpmath.mpf(0)
        for p, q in ((law, other), (other, law)) if epsilon < math.inf else ():
            exact = max(exact, mpmath.fsum(max(0, exactly(q[y]) - factor * exactly(p[y])) for y in p))
        assert number(found.lower) <= exact <= number(found.upper)
        assert number(found.upper - found.lower) <= mpmath.mpf("1e-22") * (1 + (factor if epsilon < math.inf else 0))


def test_what_only_one_side_can_release_is_infinitely_revealing() -> None:
    both = losses.pair_distributions({0: Fraction(1)}, {0: Fraction(3, 4), 1: Fraction(1, 4)})
    for loss in (losses.largest_absolute_loss, losses.bounded_range_loss, losses.zcdp_loss):
        assert loss(both).lower == math.inf
        assert loss(both).where["outcome"] == 1
    assert abs(losses.hockey_stick_divergence(both, math.inf).lower - Fraction(1, 4)) < 1e-20
    never = losses.pair_distributions({0: 1, 1: Fraction(0)}, {0: 1, 2: 0.0})
    assert losses.largest_absolute_loss(never).lower <= 0


def test_equal_laws_lose_nothing() -> None:
    both = losses.pair_distributions(PAIRS[1][0], dict(PAIRS[1][0]))
    for loss in (losses.largest_absolute_loss, losses.bounded_range_loss, losses.zcdp_loss):
        assert loss(both).lower <= 0 <= loss(both).upper < 1e-20


@pytest.mark.parametrize(
    "law",
    [{0: Fraction(1, 2)}, {0: Fraction(3, 2), 1: Fraction(-1, 2)}, {0: math.nan}, {0: 1.0, 1: 1e-9}, {}],
    ids=repr,
)
def test_what_is_no_distribution(law: Law) -> None:
    raises_exactly(tk.errors.ForeignError, lambda: losses.pair_distributions(law, {0: 1}))
    raises_exactly(tk.errors.ForeignError, lambda: losses.pair_distributions({0: 1}, law))


def test_numbers_of_every_kind() -> None:
    halves = [Fraction(1, 2), 0.5, mpmath.mpf("0.5"), gmpy2.mpfr("0.5"), gmpy2.mpq(1, 2)]
    for a, b in itertools.product(halves, repeat=2):
        assert losses.largest_absolute_loss(losses.pair_distributions({0: a, 1: b}, {0: b, 1: a})).lower <= 0
    assert losses.pair_distributions({0: 1.0}, {0: 1}).error > losses.pair_distributions({0: 1}, {0: 1}).error
    assert losses.pair_distributions({0: 1.0}, {0: 1}, Fraction(0)).error < 1e-29
    tiny = mpmath.mpf(2) ** -5000
    pair = losses.pair_distributions({0: 1, 1: tiny}, {0: 1, 1: 2 * tiny}, Fraction(1, 10**30))
    assert abs(losses.largest_absolute_loss(pair).lower - math.log(2)) < 1e-15


def test_a_wrong_probability_of_the_stated_size_never_refutes() -> None:
    """Laws that are off by their stated relative error, in the worst direction: the lower end stays below the truth."""
    off = Fraction(1, 10**6)
    law, other = PAIRS[0]
    spoiled = {0: law[0] * (1 - off), 1: law[1] + law[0] * off}
    for loss in (losses.largest_absolute_loss, losses.bounded_range_loss, losses.zcdp_loss):
        pairs = losses.pair_distributions(law, other), losses.pair_distributions(spoiled, other, 2 * off)
        truth, found = map(loss, pairs)
        assert found.lower <= truth.lower
        lower = loss(losses.pair_distributions(spoiled, other)).lower
        assert lower > truth.upper * (1 + off / 10) or loss is losses.zcdp_loss


def test_ceilings_hold_on_their_cells() -> None:
    """The line through (a, A) with a slope, over alpha (alpha - 1), never exceeds its ceiling, and meets it."""
    for a, high, slope, width in itertools.product((1.25, 2, 40), (0.5, 3, None), (0.25, 2, 30), (0.5, 3, None)):
        at_a = 0.9 * slope * (a - 1) if high is None else high
        end = 1000 * a if width is None else a + width
        at_b = at_a + slope * (end - a)
        b = None if width is None else gmpy2.mpfr(end)
        bound = losses._line_ratio_maximum(gmpy2.mpfr(a), gmpy2.mpfr(at_a), b, gmpy2.mpfr(at_b), gmpy2.mpfr(slope))
        values = [
            (at_a + slope * (t - a)) / (t * (t - 1)) for t in (a + (end - a) * (n / 5000) ** 3 for n in range(5001))
        ]
        assert max(values) <= bound * (1 + 1e-12)
        assert bound <= max(values) * (1 + 1e-4)


def test_a_curve_is_held_where_it_is_met_most() -> None:
    """The ratio to the delta of each point; a curve that is 0 where the laws differ is infinitely too small."""
    first, second = {0: Fraction(1, 4), 1: Fraction(3, 4)}, {0: Fraction(1, 2), 1: Fraction(1, 2)}
    laws = losses.pair_distributions(first, second)
    found = losses.curve_loss(laws, [(0.0, 0.5), (0.25, 0.5), (5.0, 0.0)])
    assert found.lower <= 0.5 <= found.upper
    assert found.upper - found.lower < 1e-20
    assert found.where == {"epsilon": 0.0}
    assert losses.curve_loss(laws, [(0.0, 0.5), (0.25, 0.0)]).lower == math.inf
