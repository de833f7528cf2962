"""An exact cost, read by each measure and rounded up once."""

from __future__ import annotations

import ast
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.spaces.costs import FREE, SCALAR, Cost, require_measure
from opendp_topk.spaces.curves.closed_forms import AdaptiveRangeBound, ApproximateDP, LaplacePair, ZCDPBound
from opendp_topk.spaces.curves.composed import Composed
from opendp_topk.spaces.measures import has_delta, is_pure, join_delta, split_delta, without_delta

from ..concepts.sentinels import raises_exactly
from ..oracles import rhos

THIRD = Fraction(1, 3)
COST = Cost(pure=THIRD, width=2 * THIRD, rho=THIRD / 7)
MEASURES = [kind() for kind in SCALAR]
PACKAGE = Path(tk.__file__).parent


@pytest.mark.parametrize(("measure", "exact"), list(zip(MEASURES, (THIRD, 2 * THIRD, THIRD / 7), strict=True)))
def test_each_measure_reads_its_own_part(measure: Any, exact: Fraction) -> None:
    assert COST.to_distance(measure) == exact


def test_long_numbers_are_read_shorter() -> None:
    long = THIRD + Fraction(1, 7**300)
    for measure in MEASURES:
        read = Cost(long, long, long).to_distance(measure)
        assert long < read < long + long / 2**127
        assert read.denominator.bit_length() < 140


def test_a_profile_reads_all_of_it() -> None:
    pure, width, rho = (COST.to_distance(measure) for measure in MEASURES)
    curve = COST.to_distance(tk.PrivacyProfile())
    for epsilon in (0, 0.1, 0.3, 0.5):
        parts = [
            tk.PrivacyProfile().distance(pure, "d").delta(epsilon),
            tk.PrivacyCurve(AdaptiveRangeBound(1, width)).delta(epsilon),
        ]
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
        assert cost.rho is not None
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
    assert once_more.bounds == (
        ApproximateDP(THIRD),
        ZCDPBound(Cost(THIRD / 2).to_distance(tk.MaxDivergence())),
        AdaptiveRangeBound(1, 2 * THIRD),
        LaplacePair(THIRD),
    )
    assert not any(isinstance(bound, LaplacePair) for bound in COST.to_distance(tk.PrivacyProfile()).bounds)


def test_only_the_named_measures_pass() -> None:
    require_measure(tk.MaxDivergence(), *SCALAR)
    raises_exactly(
        tk.ParameterTypeError,
        lambda: require_measure(tk.PrivacyProfile(), *SCALAR),
        "output_measure must be MaxDivergence(), RangeDivergence() or ZeroConcentratedDivergence()",
    )
    raises_exactly(
        tk.ParameterTypeError,
        lambda: require_measure(None, tk.MaxDivergence, note=": because"),
        "output_measure must be MaxDivergence(): because",
    )


def test_parts_of_distances() -> None:
    pair = tk.Approximate(tk.ZeroConcentratedDivergence())
    assert split_delta(pair, (THIRD, 0.25)) == (THIRD, 0.25)
    assert split_delta(tk.MaxDivergence(), THIRD) == (THIRD, 0)
    assert join_delta(pair, THIRD, 3) == (THIRD, 1)
    assert join_delta(tk.RangeDivergence(), THIRD, 0) == THIRD
    assert without_delta(pair) == tk.ZeroConcentratedDivergence()
    assert without_delta(tk.MaxDivergence()) == tk.MaxDivergence()
    assert [is_pure(measure) for measure in (*MEASURES, tk.PrivacyProfile(), pair)] == [True] + 4 * [False]
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
