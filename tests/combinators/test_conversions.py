"""Conversions of measures: the same measurement, another loss; every claim held against enumerated laws.

Tries proofs/combinators/convert.tex.
"""

import dataclasses
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.spaces.curves.closed_forms import AdaptiveRangeBound, UpToDelta, ZCDPBound
from tests.combinators.talks import MAX, SPACE, Tape, bit_loss, lower_loss, noisy_bit, transcripts
from tests.concepts.losses import hockey_stick
from tests.concepts.sentinels import raises_exactly
from tests.oracles import rhos

COUNTS = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
RANGE, PURE, ZCDP = tk.RangeDivergence(), tk.MaxDivergence(), tk.ZeroConcentratedDivergence()
Convert = Callable[..., tk.Measurement]
SCALAR: list[tuple[Convert, tk.Measure, tk.Measure, Callable[[Fraction], Fraction]]] = [
    (tk.make_range_to_pureDP, RANGE, PURE, lambda a: a),
    (tk.make_range_to_zCDP, RANGE, ZCDP, rhos.of_range),
    (tk.make_pureDP_to_range, PURE, RANGE, lambda e: 2 * e),
    (tk.make_pureDP_to_zCDP, PURE, ZCDP, rhos.of_pure),
]
CURVES = [
    (tk.make_range_to_approxDP, RANGE, lambda a: AdaptiveRangeBound(1, a)),
    (tk.make_zCDP_to_approxDP, ZCDP, ZCDPBound),
]
ALL = [(make, source) for make, source, *_ in [*SCALAR, *CURVES]]


def top(measure: tk.Measure, k: int = 2, scale: Any = 2.0) -> tk.Measurement:
    return tk.make_report_noisy_top_k(*COUNTS, measure, k=k, scale=scale)


def vouched(measure: tk.Measure, loss: Any) -> tk.Measurement:
    return tk.make_user_measurement(*COUNTS, measure, function=len, privacy_map=lambda d_in: loss)


@pytest.mark.parametrize(("make", "source"), ALL, ids=lambda value: getattr(value, "__name__", None))
def test_only_measure_map_and_proof_change(make: Convert, source: tk.Measure) -> None:
    before = top(source) >> tk.index_candidates(["a", "b", "c"])
    after = make(before)
    for field in dataclasses.fields(tk.Measurement):
        same = getattr(after, field.name) is getattr(before, field.name)
        assert same == (field.name not in ("output_measure", "privacy_map", "proof")), field.name
    assert after.proof.parts == (before.proof,)
    assert after.proof.name == make.proof_name  # type: ignore[attr-defined]
    assert after.proof.path is not None
    assert "report_noisy_top_k" in str(after.proof)
    assert after.accuracy(3) == before.accuracy(3)
    assert len(after([5, 9, 2])) == 2
    assert make(vouched(source, 1)).proof.status == "unproven"


@pytest.mark.parametrize(("make", "source", "target", "formula"), SCALAR)
def test_scalar_losses_are_the_formula_rounded_up(
    make: Convert, source: tk.Measure, target: tk.Measure, formula: Callable[[Fraction], Fraction]
) -> None:
    for loss in (0.0, 5e-324, 1e-160, 0.1, 1.0, 3.0, 1e150, 1e308):
        converted = make(vouched(source, loss))
        found, exact = converted.map(1), formula(Fraction(loss))
        assert converted.output_measure == target
        assert found >= exact
        assert found == exact or Fraction(math.nextafter(found, 0)) < exact
        assert make(vouched(tk.Approximate(source), (loss, 0.25))).map(1) == (found, 0.25)
    assert make(vouched(source, math.inf)).map(1) == math.inf
    assert make(vouched(tk.Approximate(source), (1.0, 0.25))).output_measure == tk.Approximate(target)


@pytest.mark.parametrize(("make", "source", "bound"), CURVES)
def test_curves_are_the_bound(make: Convert, source: tk.Measure, bound: Callable[[Any], Any]) -> None:
    for loss in (0.0, 0.1, 1.0, math.inf):
        converted = make(vouched(source, loss))
        assert converted.output_measure == tk.PrivacyProfile()
        assert converted.map(1) == tk.PrivacyCurve(bound(loss))
        assert make(vouched(tk.Approximate(source), (loss, 0.25))).map(1) == tk.PrivacyCurve(
            UpToDelta(bound(loss), 0.25)
        )


@pytest.mark.further
def test_delta_is_fixed() -> None:
    measurement = top(tk.PrivacyProfile(), k=10, scale=10)
    curve = measurement.map(1)
    for delta in (0, 1e-300, 1e-6, Fraction(1, 100), 1):
        fixed = tk.make_fix_delta(measurement, delta=delta)
        assert fixed.output_measure == tk.Approximate(PURE)
        assert fixed.map(1) == (curve.epsilon(delta), pytest.approx(delta, rel=1e-15))
        assert fixed.map(1)[1] >= delta
    assert tk.make_fix_delta(measurement, delta=0).map(1) == (1.0, 0.0)
    assert tk.make_fix_delta(measurement, delta=1).map(1) == (0.0, 1.0)
    assert tk.make_fix_delta(measurement, delta=0.5).map(0) == (0.0, 0.5)
    assert tk.make_fix_delta(measurement, delta=0.5).map(math.inf) == (math.inf, 0.5)
    assert tk.make_fix_delta(measurement, delta=1e-6).proof.status == "current"


@pytest.mark.slow
def test_a_budget_with_a_delta_can_be_searched_for() -> None:
    def fixed(scale: float) -> tk.Measurement:
        return tk.make_fix_delta(top(tk.PrivacyProfile(), k=10, scale=scale), delta=1e-6)

    def profile(scale: float) -> tk.Measurement:
        return top(tk.PrivacyProfile(), k=10, scale=scale)

    found = tk.binary_search_param(fixed, d_in=1, d_out=(1.0, 1e-6))
    assert found == tk.binary_search_param(profile, d_in=1, d_out=(1.0, 1e-6))
    by_zcdp = tk.binary_search_param(
        lambda scale: tk.make_zCDP_to_approxDP(top(ZCDP, k=10, scale=scale)), d_in=1, d_out=(1.0, 1e-6)
    )
    by_pure = tk.binary_search_param(lambda scale: top(PURE, k=10, scale=scale), d_in=1, d_out=1.0)
    assert 6.4 < found < 6.6 < by_zcdp < by_pure == 10


@pytest.mark.parametrize(("make", "source"), ALL, ids=lambda value: getattr(value, "__name__", None))
def test_other_measures_are_refused(make: Convert, source: tk.Measure) -> None:
    for other in (RANGE, PURE, ZCDP, tk.PrivacyProfile(), tk.Approximate(tk.Approximate(source))):
        if other != source:
            loss = (0.5, 0.0) if isinstance(other, tk.Approximate) else 0.5
            call = lambda other=other, loss=loss: make(vouched(other, loss))  # noqa: E731
            raises_exactly(tk.errors.ParameterTypeError, call, repr(source), repr(other))


def test_bad_arguments_of_the_approximate_ones() -> None:
    profile = top(tk.PrivacyProfile())
    for other in (profile, tk.make_approximate(top(PURE))):
        raises_exactly(tk.errors.ParameterTypeError, lambda other=other: tk.make_approximate(other), "without a delta")
    raises_exactly(tk.errors.ParameterTypeError, lambda: tk.make_fix_delta(top(PURE), delta=0.1), "PrivacyProfile()")


# Conversations under another measure: they stay conversations, and the claim covers analysts who toss coins.


ETA = Fraction(1, 20)
UP, DOWN = (2 * ETA, ETA), (ETA, 2 * ETA)
MIDS = [bit_loss(RANGE, UP)] * 2
Law = dict[Any, Fraction]


def talk() -> tk.Measurement:
    return tk.make_adaptive_composition(*SPACE, RANGE, d_in=1, d_mids=MIDS)


def filtered() -> tk.Measurement:
    return tk.make_privacy_filter(tk.make_fully_adaptive_composition(*SPACE, RANGE), d_in=1, d_out=talk().map(1))


def analyst(queryable: Any, tape: Tape) -> tuple[Any, ...]:
    """Tosses a coin, by which it chooses where the losses of both queries point."""
    coin = tape.draw(Fraction(1, 2))
    first, other = (UP, DOWN) if coin else (DOWN, UP)
    answer = queryable(noisy_bit(RANGE, tape, first))
    return coin, answer, queryable(noisy_bit(RANGE, tape, first if answer else other))


def views(interactive: tk.Measurement) -> list[Law]:
    return [transcripts(interactive, analyst, x) for x in (0, 1)]


@pytest.mark.further
@pytest.mark.parametrize("make", [talk, filtered])
def test_a_converted_conversation_keeps_its_claim_for_analysts_with_coins(make: Callable[[], tk.Measurement]) -> None:
    laws = views(make())
    pure, zcdp = tk.make_range_to_pureDP(make()), tk.make_range_to_zCDP(make())
    curve = tk.make_range_to_approxDP(make()).map(1)
    assert views(pure) == views(zcdp) == laws
    assert lower_loss(RANGE, *laws) > make().map(1), "no range bounds the view of an analyst with coins"
    assert 0.5 * pure.map(1) < lower_loss(MAX, *laws) <= pure.map(1) == make().map(1)
    assert 0.1 * zcdp.map(1) < lower_loss(ZCDP, *laws) <= zcdp.map(1)
    for epsilon in (0.0, 0.1, 0.5, 1.0, 1.5, 2.0, 2.5):
        assert hockey_stick(*laws, epsilon) <= curve.delta(epsilon)


CONVERSIONS = [
    tk.make_range_to_pureDP,
    tk.make_range_to_zCDP,
    tk.make_range_to_approxDP,
    tk.make_approximate,
    lambda one: tk.make_pureDP_to_range(tk.make_range_to_pureDP(one)),
    lambda one: tk.make_pureDP_to_zCDP(tk.make_range_to_pureDP(one)),
    lambda one: tk.make_zCDP_to_approxDP(tk.make_range_to_zCDP(one)),
    lambda one: tk.make_fix_delta(tk.make_range_to_approxDP(one), delta=1e-6),
]


@pytest.mark.parametrize("convert", CONVERSIONS)
@pytest.mark.parametrize("make", [talk, filtered])
def test_it_stays_interactive_and_speaks_of_ranges_inside(
    make: Callable[[], tk.Measurement], convert: Callable[[tk.Measurement], tk.Measurement]
) -> None:
    converted = convert(make())
    assert converted.interactive
    pairs = (tk.Approximate, tk.PrivacyProfile)
    assert not converted.check(2, (1e9, 0.5) if isinstance(converted.output_measure, pairs) else 1e9), "beyond d_in"
    queryable = converted([1])
    assert queryable(noisy_bit(RANGE, Tape((1,)), UP)) == 1
    raises_exactly(tk.errors.SpaceError, lambda: queryable(noisy_bit(MAX, Tape(), UP)), "query")


@pytest.mark.parametrize("convert", CONVERSIONS)
def test_only_what_has_no_range_left_can_be_post_processed(convert: Callable[[tk.Measurement], tk.Measurement]) -> None:
    converted = convert(talk())
    if converted.output_measure in (RANGE, tk.Approximate(RANGE)):
        raises_exactly(tk.errors.SpaceError, lambda: converted >> str, "cannot be post-processed")
    else:
        assert (converted >> type)([1]) is tk.Queryable


def test_a_converted_conversation_is_a_query_of_another() -> None:
    """The inner one asks ranges; the outer one adds epsilons."""
    inner = tk.make_range_to_pureDP(talk())
    outer = tk.make_adaptive_composition(*SPACE, MAX, d_in=1, d_mids=[inner.map(1), 1.0])

    def view(queryable: Any, tape: Tape) -> tuple[Any, ...]:
        seen = analyst(queryable(inner), tape)
        return *seen, queryable(noisy_bit(MAX, tape, (Fraction(1, 3), Fraction(1, 2))))

    laws = [transcripts(outer, view, x) for x in (0, 1)]
    assert lower_loss(MAX, *laws) <= outer.map(1)
    assert outer.map(1) == math.nextafter(Fraction(inner.map(1)) + 1, math.inf) or outer.map(1) == inner.map(1) + 1
