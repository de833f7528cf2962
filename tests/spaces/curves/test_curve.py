"""Privacy curves: delta and epsilon agree, a caller's curve is checked, plots are made where matplotlib is."""

import math
import pickle
import random
import sys
from fractions import Fraction
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.errors import ParameterError
from opendp_topk.spaces.curves.closed_forms import AdaptiveRangeBound, ApproximateDP, UpToDelta, ZCDPBound
from opendp_topk.spaces.curves.curve import PrivacyCurve, least_argument
from opendp_topk.spaces.measures import Approximate, MaxDivergence, PrivacyProfile
from tests.concepts.sentinels import raises_exactly
from tests.concepts.values import check_plain_value, check_value, named

CURVES = [
    tk.PrivacyCurve(ApproximateDP(0.5)),
    tk.PrivacyCurve(ApproximateDP(0.5, 0.001)),
    tk.PrivacyCurve(ZCDPBound(0.0125)),
    tk.PrivacyCurve(AdaptiveRangeBound(1, 0.5)),
    tk.PrivacyCurve(AdaptiveRangeBound(10, Fraction(1, 10))),
    tk.PrivacyCurve(UpToDelta(ZCDPBound(0.0125), 0.001)),
    tk.PrivacyCurve(ApproximateDP(1), ZCDPBound(0.0125), AdaptiveRangeBound(10, 0.1)),
    tk.PrivacyCurve(lambda epsilon: math.exp(-4 * epsilon) / 2),
]


@pytest.mark.parametrize("curve", CURVES, ids=named)
def test_epsilon_of_delta_meets_the_delta_and_nothing_less_does(curve: tk.PrivacyCurve) -> None:
    for delta in (0, 5e-324, 1e-300, 1e-12, Fraction(1, 10**6), 1e-3, 0.2, 0.5, 1):
        epsilon = curve.epsilon(delta)
        assert type(epsilon) is float
        assert curve.delta(epsilon) <= delta
        if 0 < epsilon < math.inf:
            assert curve.delta(math.nextafter(epsilon, 0)) > delta


@pytest.mark.parametrize("curve", CURVES, ids=named)
def test_delta_falls_from_at_most_one_to_nothing(curve: tk.PrivacyCurve) -> None:
    values = [curve.delta(epsilon) for epsilon in (0, 0.1, 0.25, 0.5, 1, 2, Fraction(20, 3), 1e308, math.inf)]
    assert all(type(value) is float for value in values)
    assert values == sorted(values, reverse=True)
    assert values[0] <= 1
    assert values[-1] == 0


@pytest.mark.further
def test_the_least_of_the_bounds_counts() -> None:
    bounds = ApproximateDP(1), ZCDPBound(0.0125), AdaptiveRangeBound(10, 0.1)
    curve = tk.PrivacyCurve(*bounds)
    for delta in (1e-2, 1e-6, 1e-20, 0):
        assert curve.epsilon(delta) == min(tk.PrivacyCurve(bound).epsilon(delta) for bound in bounds)
    for epsilon in (0, 0.3, 0.7, 1):
        assert curve.delta(epsilon) == min(bound(epsilon) for bound in bounds)
    assert curve.delta(1) == 0
    assert curve.bounds == bounds


def test_a_bound_that_nothing_meets_leaves_infinity() -> None:
    stubborn = tk.PrivacyCurve(ApproximateDP(0.5, 0.001))
    assert stubborn.epsilon(0.0009) == math.inf
    assert stubborn.epsilon(0.001) == 0.5
    assert tk.PrivacyCurve(ZCDPBound(1)).epsilon(0) == math.inf


def test_curves_are_values() -> None:
    one, same = (tk.PrivacyCurve(ZCDPBound(0.5), ApproximateDP(2)) for _ in range(2))
    assert one == same
    assert hash(one) == hash(same)
    assert one != tk.PrivacyCurve(ZCDPBound(0.5))
    assert one != 0.5
    assert pickle.loads(pickle.dumps(one)) == one
    assert repr(one) == "PrivacyCurve(ZCDPBound(rho=0.5), ApproximateDP(epsilon=2, delta=0))"
    third = tk.PrivacyCurve(ZCDPBound(Fraction(1, 3)))
    assert str(third) == f"PrivacyCurve(ZCDPBound(rho={math.nextafter(1 / 3, 1)!r}))", "rounded up"
    with pytest.raises(AttributeError):
        one.anything = 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("value", [-1, math.nan, "1", None, True, [1]])
def test_bad_arguments_of_the_functions(value: Any) -> None:
    curve = CURVES[0]
    raises_exactly(tk.errors.ParameterError, lambda: curve.delta(value), "epsilon must be")
    raises_exactly(tk.errors.ParameterError, lambda: curve.epsilon(value), "delta must be")
    raises_exactly(tk.errors.ParameterError, lambda: curve.epsilon(1.5), "delta must be at most 1")


@pytest.mark.parametrize(
    ("bounds", "error", "required"),
    [
        ((), tk.errors.ParameterTypeError, "one or more functions"),
        ((0.5,), tk.errors.ParameterTypeError, "bounds must be callable"),
        ((lambda epsilon: 1.5,), tk.errors.ForeignError, "a number in [0, 1]"),
        ((lambda epsilon: -0.1,), tk.errors.ForeignError, "a number in [0, 1]"),
        ((lambda epsilon: math.nan,), tk.errors.ForeignError, "a number in [0, 1]"),
        ((lambda epsilon: "small",), tk.errors.ForeignError, "a number in [0, 1]"),
        ((lambda epsilon: min(1, epsilon),), tk.errors.ForeignError, "must not grow"),
    ],
)
def test_bad_curves_of_a_caller(bounds: Any, error: type[Exception], required: str) -> None:
    raises_exactly(error, lambda: tk.PrivacyCurve(*bounds), required)


def test_a_caller_s_values_are_checked_whenever_they_are_used() -> None:
    late = tk.PrivacyCurve(lambda epsilon: 2 if epsilon == 0.3 else 0)
    raises_exactly(tk.errors.ForeignError, lambda: late.delta(0.3), "a number in [0, 1]")
    assert tk.PrivacyCurve(lambda epsilon: Fraction(1, 3)).delta(1) > Fraction(1, 3)


@pytest.mark.slow
def test_plots() -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra plot)")
    matplotlib.use("agg")
    axes = CURVES[2].plot()
    (line,) = axes.lines
    x, y = line.get_data()
    assert len(x) == 200
    assert y[0] == CURVES[2].delta(0)
    assert y[-1] == CURVES[2].delta(float(x[-1])) <= 1e-12
    assert CURVES[3].plot([0, 0.25, 0.5], axes=axes, label="the third") is axes
    (label,) = axes.texts
    assert (label.get_text(), label.xy[0]) == ("the third", 0.25)
    assert label.get_color() == axes.lines[1].get_color() != line.get_color()
    assert list(axes.lines[1].get_xdata()) == [0, 0.25]
    names = axes.get_xlabel(), axes.get_ylabel(), axes.get_yscale()
    assert names == ("epsilon (privacy loss)", "delta (probability)", "log")
    assert axes.get_title() == "Privacy curve: every point is a valid bound"


def test_a_plot_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    raises_exactly(tk.errors.MissingExtraError, lambda: CURVES[0].plot(), 'pip install "opendp_topk[plot]"')


# PrivacyProfile: what its distances may be, and which losses are within which budgets.


THIRD = Fraction(1, 3)


def test_the_measure_is_a_value() -> None:
    check_value(PrivacyProfile, [MaxDivergence(), Approximate(MaxDivergence()), Approximate(PrivacyProfile())])
    check_plain_value(PrivacyProfile, {"PrivacyProfile": PrivacyProfile})


def test_numbers_and_pairs_stand_for_curves() -> None:
    measure = PrivacyProfile()
    assert measure.distance(THIRD, "d_out") == PrivacyCurve(ApproximateDP(THIRD))
    assert measure.distance((THIRD, 0.1), "d_out") == PrivacyCurve(ApproximateDP(THIRD, 0.1))
    curve = PrivacyCurve(ZCDPBound(0.5))
    assert measure.distance(curve, "d_out") is curve
    assert measure.symbol == "delta(epsilon)"
    assert measure.infinite.delta(1e308) == 1


def test_curves_are_within_pairs_exactly() -> None:
    measure, curve = PrivacyProfile(), PrivacyCurve(AdaptiveRangeBound(1, Fraction(1, 10)))
    assert measure.at_most(curve, Fraction(1, 10))
    assert measure.at_most(curve, 0.1), "the float 0.1 is above one tenth"
    assert not measure.at_most(curve, Fraction(1, 10) - Fraction(1, 10**400))
    delta = curve.delta(0.05)
    assert measure.at_most(curve, (0.05, delta))
    assert not measure.at_most(curve, (0.05, Fraction(delta) - Fraction(1, 10**400)))
    assert not measure.at_most(curve, (math.nextafter(0.05, 0), delta))
    assert measure.at_most(curve, (math.inf, 0))
    assert measure.at_most(curve, (0, 1))
    assert measure.at_most(curve, measure.infinite)
    assert not measure.at_most(measure.infinite, (1e308, 0.999))
    assert measure.at_most(0.5, (0.5, 0))


@pytest.mark.parametrize(
    ("loss", "budget", "answer"),
    [
        (ZCDPBound(0.5), ZCDPBound(0.5), True),
        (ZCDPBound(0.5), ZCDPBound(0.6), True),
        (ZCDPBound(0.6), ZCDPBound(0.5), False),
        (AdaptiveRangeBound(3, 0.5), AdaptiveRangeBound(4, 0.5), True),
        (AdaptiveRangeBound(4, 0.5), AdaptiveRangeBound(3, 0.5), False),
        (UpToDelta(ZCDPBound(0.5), 0.1), UpToDelta(ZCDPBound(0.5), 0.2), True),
        (UpToDelta(ZCDPBound(0.5), 0.2), UpToDelta(ZCDPBound(0.5), 0.1), False),
        (ApproximateDP(9), ZCDPBound(0.001), False),
        (ApproximateDP(0.001), ZCDPBound(9), None),
        (AdaptiveRangeBound(2, 0.01), ZCDPBound(9), None),
    ],
)
def test_curves_are_compared_where_it_is_known(loss: Any, budget: Any, answer: bool | None) -> None:
    measure, curves = PrivacyProfile(), (PrivacyCurve(loss), PrivacyCurve(budget))
    if answer is None:
        raises_exactly(ParameterError, lambda: measure.at_most(*curves), "must be a pair (epsilon, delta)")
    else:
        assert measure.at_most(*curves) is answer


def test_all_bounds_of_a_budget_must_be_met() -> None:
    measure = PrivacyProfile()
    both = PrivacyCurve(ZCDPBound(0.5), ApproximateDP(2))
    assert measure.at_most(both, PrivacyCurve(ZCDPBound(0.5)))
    assert measure.at_most(both, 2)
    assert measure.at_most(PrivacyCurve(ApproximateDP(1), ZCDPBound(0.4)), both)
    assert not measure.at_most(PrivacyCurve(ZCDPBound(0.5)), both)


def own(epsilon: float) -> float:
    return math.exp(-epsilon) / 4


def test_a_caller_s_curve_is_within_itself_and_within_pairs() -> None:
    measure, curve = PrivacyProfile(), PrivacyCurve(own)
    assert measure.at_most(curve, PrivacyCurve(own))
    assert measure.at_most(curve, (0, 0.25))
    assert not measure.at_most(curve, (0, 0.2499))
    raises_exactly(
        ParameterError, lambda: measure.at_most(PrivacyCurve(ApproximateDP(0)), curve), "this curve cannot be compared"
    )


@pytest.mark.parametrize(
    ("bad", "fragment"),
    [
        (-1, "d_out must be >= 0"),
        (math.nan, "d_out must be"),
        ("1", "d_out must be"),
        (True, "d_out must be"),
        ([1.0, 0.1], "d_out must be"),
        (own, "d_out must be"),
        ((1.0,), "a curve, a number epsilon or a pair"),
        ((1.0, 1.5), "delta of d_out must be at most 1"),
        ((1.0, -0.5), "delta of d_out"),
        ((-1.0, 0.5), "d_out must be >= 0"),
    ],
)
def test_bad_curves(bad: Any, fragment: str) -> None:
    raises_exactly(ParameterError, lambda: PrivacyProfile().distance(bad, "d_out"), fragment)
    raises_exactly(ParameterError, lambda: PrivacyProfile().at_most(0, bad), fragment)


def test_the_search_finds_the_least_argument() -> None:
    """Against reading all values: smooth, with steps, flat, and with values of 0 and 1."""
    chance = random.Random(1)
    for _ in range(400):
        steep = chance.choice([0, 1, 400])
        powers = sorted((-steep * chance.random() for _ in range(chance.randrange(1, 300))), reverse=True)
        values = [0.0 if power < -300 else math.exp(power) for power in powers]
        target = chance.choice([*values, 0.0, 1e-9, 0.5, Fraction(1, 3)])
        least = next((place for place, value in enumerate(values) if value <= target), len(values))
        asked: list[int] = []

        def value(place: int, values: list[float] = values, asked: list[int] = asked) -> float:
            asked.append(place)
            return values[place]

        assert least_argument(value, target, -1, len(values)) == least
        assert len(asked) == len(set(asked)) <= 4 * math.log2(len(values) + 1) + 2
        near = chance.randrange(1, 40)
        assert 0 <= least_argument(value, target, -1, len(values), near=near) - least < near


@pytest.mark.parametrize("bound", [ZCDPBound(0.1), UpToDelta(ZCDPBound(3.0), 1e-8)], ids=["zcdp", "mixture"])
def test_an_epsilon_is_found_with_fewer_values_than_float64_has_bits(bound: Any) -> None:
    asked: list[float] = []

    def value(epsilon: float) -> float:
        asked.append(epsilon)
        return bound(epsilon)  # type: ignore[no-any-return]

    curve = PrivacyCurve(value)
    for delta, most in ((1e-6, 40), (1e-300, 40 if bound(1e300) < 1e-300 else 5), (1.0, 1)):
        asked.clear()
        least = curve.epsilon(delta)
        assert len(asked) <= most
        assert least == math.inf or bound(least) <= delta
        assert least in (0, math.inf) or bound(math.nextafter(least, 0)) > delta


def test_the_search_goes_beyond_floats_and_never_returns_what_it_did_not_test() -> None:
    least = 10**400 + 7
    assert least_argument(lambda place: 0.25 if place >= least else 0.75, 0.5, -1, 10**401) == least
    wild = random.Random(5)
    for _ in range(200):
        values = [wild.random() for _ in range(50)]
        found = least_argument(values.__getitem__, 0.3, -1, 50)
        assert found == 50 or values[found] <= 0.3
