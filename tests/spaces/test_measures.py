"""Measures: their distances are rounded up to float64 and compared without rounding.

Tries proofs/measurements/with_delta.tex, proofs/spaces/concentrated.tex and proofs/spaces/renyi.tex.
"""

import ast
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk import Approximate, MaxDivergence, RangeDivergence, ZeroConcentratedDivergence
from opendp_topk.errors import ParameterError, ParameterTypeError
from opendp_topk.spaces import measures
from opendp_topk.spaces.costs import FREE, STRICT, Cost, require_measure, require_with_delta, with_delta
from opendp_topk.spaces.costs import SCALAR as SCALAR_MEASURES
from opendp_topk.spaces.curves.closed_forms import AdaptiveRangeBound, ApproximateDP, LaplacePair, ZCDPBound
from opendp_topk.spaces.curves.composed import Composed
from opendp_topk.spaces.measures import bounds_range, has_delta, is_concentrated, is_pure, join_delta, split_delta
from tests.concepts.losses import hockey_stick
from tests.oracles import rhos

from ..concepts.sentinels import raises_exactly
from ..concepts.values import check_plain_value, check_value

SCALAR = [MaxDivergence, RangeDivergence, ZeroConcentratedDivergence]
MAKERS = [*SCALAR, lambda: Approximate(MaxDivergence()), lambda: Approximate(ZeroConcentratedDivergence())]
KINDS = {kind.__name__: kind for kind in (*SCALAR, Approximate)}
THIRD = Fraction(1, 3)


@pytest.mark.parametrize("index", range(len(MAKERS)))
def test_measures_are_values(index: int) -> None:
    check_value(MAKERS[index], [make() for place, make in enumerate(MAKERS) if place != index])
    check_plain_value(MAKERS[index], KINDS)


@pytest.mark.parametrize("make", SCALAR)
def test_scalar_distances_are_rounded_up(make: Any) -> None:
    measure = make()
    for value in (0, 1, 0.1, THIRD, Fraction(1, 10**400), 2**53 + 1, 10**400, np.int8(3), math.inf):
        found, exact = measure.distance(value, "d_out"), measure.exact(value, "d_out")
        assert type(found) is float
        assert (type(exact), exact) == (float if value == math.inf else Fraction, value)
        assert found >= value
        assert found == value or Fraction(math.nextafter(found, 0)) < value
    assert measure.infinite == math.inf
    assert measure.symbol


@pytest.mark.parametrize("make", SCALAR)
def test_scalar_distances_are_compared_exactly(make: Any) -> None:
    measure = make()
    assert measure.at_most(THIRD, THIRD)
    assert measure.at_most(0.3, 0.3)
    assert not measure.at_most(0.1, Fraction(1, 10)), "the float 0.1 is above one tenth"
    assert measure.at_most(Fraction(1, 10), 0.1)
    assert not measure.at_most(2**53 + 1, float(2**53))
    assert measure.at_most(5.0, math.inf)
    assert not measure.at_most(math.inf, 1e308)


@pytest.mark.parametrize("bad", [-1, -5e-324, math.nan, "1", True, None, (1, 2), [1], 1j])
@pytest.mark.parametrize("make", SCALAR)
def test_bad_scalar_distances(make: Any, bad: Any) -> None:
    raises_exactly(ParameterError, lambda: make().distance(bad, "d_out"), "d_out must be")
    raises_exactly(ParameterError, lambda: make().at_most(0.5, bad), "d_out must be")


def test_approximate_distances_are_pairs() -> None:
    measure = Approximate(MaxDivergence())
    epsilon, delta = measure.distance((THIRD, THIRD), "d_out")
    assert measure.exact((THIRD, THIRD), "d_out") == (THIRD, THIRD)
    assert epsilon == delta == math.nextafter(1 / 3, 1) > THIRD
    assert (type(epsilon), type(delta)) == (float, float)
    assert measure.distance((1, 0), "d_out") == (1.0, 0.0)
    assert measure.infinite == (math.inf, 1.0)
    assert measure.symbol == "(epsilon, delta)"
    assert measure.at_most((1.0, 1e-6), (1, 1e-6))
    assert not measure.at_most((1.0, 1e-6), (1, 1e-7))
    assert not measure.at_most((1.0, 0.0), (0.5, 1.0))
    assert not measure.at_most((0.1, 0.0), (Fraction(1, 10), 0.0))


@pytest.mark.parametrize(
    ("bad", "fragment"),
    [
        (1.0, "a pair (epsilon, delta)"),
        ([1.0, 0.1], "a pair"),
        ((1.0,), "a pair"),
        ((1.0, 0.1, 0.1), "a pair"),
        ((-1.0, 0.1), "d_out must be >= 0"),
        ((1.0, -0.1), "delta of d_out"),
        ((1.0, 1.5), "delta of d_out must be at most 1"),
        ((1.0, math.nan), "delta of d_out"),
        ((math.nan, 0.1), "NaN"),
        ((1.0, "0.1"), "delta of d_out"),
        ((True, 0.1), "not bool"),
    ],
)
def test_bad_approximate_distances(bad: Any, fragment: str) -> None:
    measure = Approximate(MaxDivergence())
    raises_exactly(ParameterError, lambda: measure.distance(bad, "d_out"), fragment)
    raises_exactly(ParameterError, lambda: measure.at_most((0.0, 0.0), bad), fragment)


@pytest.mark.parametrize("bad", [MaxDivergence, "epsilon", None, 1.0])
def test_approximate_needs_a_measure(bad: Any) -> None:
    raises_exactly(ParameterTypeError, lambda: Approximate(bad), "measure must be a measure such as MaxDivergence()")


def test_measures_that_bound_a_range() -> None:
    ranges = [RangeDivergence(), Approximate(RangeDivergence()), Approximate(Approximate(RangeDivergence()))]
    assert all(map(bounds_range, ranges))
    others = [MaxDivergence(), ZeroConcentratedDivergence(), Approximate(MaxDivergence())]
    assert not any(map(bounds_range, others))


# What measures read in a cost up to a delta, against randomised response with a part that reveals everything.


MAX, ZCDP, PROFILE = STRICT
COST = Cost.from_bounded_range(Fraction(1), Fraction(2))
DELTA = Fraction(1, 3)


def laws(strict: bool) -> tuple[dict[str, mpmath.mpf], dict[str, mpmath.mpf]]:
    """Randomised response of loss 1; with probability 1/3 the truth instead, or a third of it moved to the truth."""
    e = mpmath.e
    true, other = (e / (1 + e), 1 / (1 + e))
    if strict:
        share = 1 - mpmath.mpf(1) / 3
        first = {"a": share * true, "b": share * other, "A": mpmath.mpf(1) / 3}
        second = {"a": share * other, "b": share * true, "B": mpmath.mpf(1) / 3}
        return first, second
    return {"a": true - mpmath.mpf(1) / 3, "b": other, "A": mpmath.mpf(1) / 3}, {"a": other, "b": true}


@pytest.mark.parametrize("strict", [True, False])
def test_the_curve_is_attained_at_the_pure_loss_and_exceeded_nowhere(strict: bool) -> None:
    curve = with_delta(PROFILE, COST, DELTA, strict=strict)
    for epsilon in (0, 0.25, 0.5, 1, 2):
        assert hockey_stick(*laws(strict), epsilon) <= curve.delta(epsilon) + 1e-20
    assert float(hockey_stick(*laws(strict), 1)) == pytest.approx(curve.delta(1))
    looser = with_delta(PROFILE, COST, DELTA, strict=False)
    assert curve.delta(0.5) <= looser.delta(0.5)


def test_pairs_are_rounded_up() -> None:
    for measure, loss in ((MAX, mpmath.mpf(1)), (ZCDP, mpmath.tanh(0.5))):
        distance = with_delta(measure, COST, DELTA, strict=True)
        assert 0 <= distance[0] - loss < 2**-52
        assert 0 < Fraction(distance[1]) - DELTA < Fraction(1, 2**53)
        assert with_delta(measure, FREE, Fraction(0), strict=True) == (0, 0)


def test_measures_without_a_delta_are_refused() -> None:
    for measure in (tk.MaxDivergence(), tk.Approximate(tk.RangeDivergence()), None):
        raises_exactly(
            tk.errors.ParameterTypeError, lambda one=measure: require_with_delta(one, STRICT, "!"), "PrivacyProfile()!"
        )


# An exact cost, read by each measure and rounded up once.


PURE_COST = Cost(pure=THIRD, width=2 * THIRD, rho=THIRD / 7)
MEASURES = [kind() for kind in SCALAR_MEASURES]
PACKAGE = Path(tk.__file__).parent


@pytest.mark.parametrize(("measure", "exact"), list(zip(MEASURES, (THIRD, 2 * THIRD, THIRD / 7), strict=True)))
def test_each_measure_reads_its_own_part(measure: Any, exact: Fraction) -> None:
    assert PURE_COST.to_distance(measure) == exact


def test_long_numbers_are_read_shorter() -> None:
    long = THIRD + Fraction(1, 7**300)
    for measure in MEASURES:
        read = Cost(long, long, long).to_distance(measure)
        assert long < read < long + long / 2**127
        assert read.denominator.bit_length() < 140


def test_a_profile_reads_all_of_it() -> None:
    pure, width, rho = (PURE_COST.to_distance(measure) for measure in MEASURES)
    curve = PURE_COST.to_distance(tk.PrivacyProfile())
    for epsilon in (0, 0.1, 0.3, 0.5):
        ranged = tk.PrivacyCurve(AdaptiveRangeBound(1, width))
        parts = [tk.PrivacyProfile().distance(pure, "d").delta(epsilon), ranged.delta(epsilon)]
        assert curve.delta(epsilon) <= min(parts)
    steps = Cost(Fraction(3), Fraction(6), Fraction(9, 8), (3, Fraction(1))).to_distance(tk.PrivacyProfile())
    assert AdaptiveRangeBound(3, Fraction(1)) in steps.bounds
    assert rho > 0


@pytest.mark.parametrize("measure", [*MEASURES, tk.PrivacyProfile(), tk.Approximate(tk.MaxDivergence())])
def test_what_is_not_bounded_is_infinite(measure: Any) -> None:
    assert not measure.at_most(
        Cost().to_distance(measure), measure.distance((5, 0.1), "d") if has_delta(measure) else 5
    )
    if not has_delta(measure):
        assert FREE.to_distance(measure) == 0


@pytest.mark.parametrize(("pure", "width"), [(THIRD, 2 * THIRD), (THIRD, THIRD), (THIRD, THIRD / 2), (Fraction(4), 6)])
def test_rho_is_the_least_that_is_known(pure: Fraction, width: Fraction) -> None:
    """Of what is bounded by its epsilon and by its range; of laws with others between them by a Laplace law instead."""
    for cost, other in (
        (Cost.from_bounded_range(pure, Fraction(width)), rhos.of_pure(pure)),
        (Cost.from_laplace_dominated(pure, Fraction(width)), rhos.of_laplace(pure)),
    ):
        assert (cost.pure, cost.width, cost.steps) == (pure, width, None)
        exact = min(other, rhos.of_range(Fraction(width)))
        assert exact <= cost.rho <= exact * (1 + Fraction(1, 2**99))


def test_joined_laws_obey_the_curve_of_laplace_laws() -> None:
    once = Cost.from_laplace_dominated(THIRD, 2 * THIRD)
    assert once.joined == (1, THIRD)
    assert LaplacePair(THIRD) in once.to_distance(tk.PrivacyProfile()).bounds
    twice = Cost(2 * THIRD, 4 * THIRD, THIRD, (2, 2 * THIRD), (2, THIRD)).to_distance(tk.PrivacyProfile())
    assert LaplacePair(2 * THIRD) in twice.bounds
    (composed,) = (bound for bound in twice.bounds if isinstance(bound, Composed))
    ((once_more, count),) = composed.parts
    assert count == 2
    zcdp = ZCDPBound(Cost(THIRD / 2).to_distance(tk.MaxDivergence()))
    assert once_more.bounds == (ApproximateDP(THIRD), zcdp, AdaptiveRangeBound(1, 2 * THIRD), LaplacePair(THIRD))
    assert not any(isinstance(bound, LaplacePair) for bound in PURE_COST.to_distance(tk.PrivacyProfile()).bounds)


def test_only_the_named_measures_pass() -> None:
    require_measure(tk.MaxDivergence(), *SCALAR_MEASURES)
    said = "output_measure must be MaxDivergence(), RangeDivergence() or ZeroConcentratedDivergence()"
    raises_exactly(ParameterTypeError, lambda: require_measure(tk.PrivacyProfile(), *SCALAR_MEASURES), said)
    said = "output_measure must be MaxDivergence(): because"
    raises_exactly(ParameterTypeError, lambda: require_measure(None, tk.MaxDivergence, note=": because"), said)


def test_parts_of_distances() -> None:
    pair = tk.Approximate(tk.ZeroConcentratedDivergence())
    assert split_delta(pair, (THIRD, 0.25)) == (THIRD, 0.25)
    assert split_delta(tk.MaxDivergence(), THIRD) == (THIRD, 0)
    assert join_delta(pair, THIRD, 3) == (THIRD, 1)
    assert join_delta(tk.RangeDivergence(), THIRD, 0) == THIRD
    assert measures.without_delta(pair) == tk.ZeroConcentratedDivergence()
    assert measures.without_delta(tk.MaxDivergence()) == tk.MaxDivergence()
    assert [is_pure(measure) for measure in (*MEASURES, tk.PrivacyProfile(), pair)] == [True] + 4 * [False]
    concentrated = [is_concentrated(measure) for measure in (*MEASURES, tk.PrivacyProfile(), pair)]
    assert concentrated == [False, False, True, False, False]
    assert [has_delta(measure) for measure in (*MEASURES, tk.PrivacyProfile(), pair)] == 3 * [False] + 2 * [True]


FILES = sorted(path for folder in ("measurements", "combinators") for path in (PACKAGE / folder).glob("*.py"))
NAMES = {"MaxDivergence", "RangeDivergence", "ZeroConcentratedDivergence", "PrivacyProfile", "Approximate"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_constructor_asks_for_the_class_of_a_measure(path: Path) -> None:
    calls = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
    asked = [call for call in calls if getattr(call.func, "id", "") in ("isinstance", "issubclass", "type")]
    assert not [call for call in asked if NAMES & {getattr(name, "id", "") for name in ast.walk(call)}]


@pytest.mark.parametrize("folder", ["measurements", "combinators", "distributions", "samplers", "core"])
def test_no_code_compares_a_noise_with_one_of_the_five(folder: str) -> None:
    five = {"Gumbel", "Exponential", "HalfLogistic", "Laplace", "Logistic"}
    for path in (PACKAGE / folder).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Compare | ast.Dict):
                called = {getattr(c.func, "id", "") for c in ast.walk(node) if isinstance(c, ast.Call)}
                assert not five & called, f"{path.name} compares with a noise: ask for what the theorem needs"
