"""Measurements of this library inside OpenDP 0.16: spaces, maps, combinators, errors.

Tries proofs/bridge/opendp.tex.
"""

import math
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.apps.bridge.opendp import to_opendp_domain
from tests.concepts.sentinels import raises_exactly
from tests.concepts.spaces import PROFILE, RANGE, ZCDP

dp = pytest.importorskip("opendp.prelude", reason="opendp is not installed (extra opendp)")
context = pytest.importorskip("opendp.context", reason="opendp is not installed (extra opendp)")

INTEGERS = tk.VectorDomain(tk.AtomDomain(int))
FLOATS = tk.VectorDomain(tk.AtomDomain(float), size=3)
MONOTONIC = tk.LInfDistance(monotonic=True)
SECRET = 918273


def top(measure: tk.Measure, domain: tk.VectorDomain = INTEGERS, metric: tk.Metric = MONOTONIC, **more: Any) -> Any:
    return (domain, metric) >> tk.then_report_noisy_top_k(measure, **({"k": 2, "scale": 4.0} | more))


@pytest.mark.parametrize(
    ("atom", "T", "expected"),
    [
        (tk.AtomDomain(int), None, {"T": "i32"}),
        (tk.AtomDomain(int), int, {"T": "i32"}),
        (tk.AtomDomain(int), "i64", {"T": "i64"}),
        (tk.AtomDomain(int), "u64", {"T": "u64"}),
        (tk.AtomDomain(int, bounds=(0, 9)), "i64", {"T": "i64", "bounds": (0, 9)}),
        (tk.AtomDomain(int, bounds=(-0.5, Fraction(19, 2))), "i32", {"T": "i32", "bounds": (0, 9)}),
        (tk.AtomDomain(int, bounds=(0, math.inf)), "i32", {"T": "i32", "bounds": (0, 2**31 - 1)}),
        (tk.AtomDomain(int, bounds=(-(2**31), 2**40)), "i32", {"T": "i32"}),
        (tk.AtomDomain(int, bounds=(-1, 2**40)), "u32", {"T": "u32"}),
        (tk.AtomDomain(float), None, {"T": "f64", "nan": False}),
        (tk.AtomDomain(float, bounds=(0, Fraction(1, 3))), float, {"T": "f64", "nan": False, "bounds": (0.0, 1 / 3)}),
        (
            tk.AtomDomain(float, bounds=(Fraction(1, 10), math.inf)),
            "f64",
            {"T": "f64", "nan": False, "bounds": (0.1, sys.float_info.max)},
        ),
    ],
)
def test_the_domain_is_the_part_that_the_type_holds(atom: tk.AtomDomain, T: Any, expected: dict[str, Any]) -> None:
    for size in (None, 3):
        domain, name = to_opendp_domain(tk.VectorDomain(atom, size=size), T)
        assert domain == dp.vector_domain(dp.atom_domain(**expected), size=size)
        assert name == expected["T"]


@pytest.mark.parametrize("atom", [tk.AtomDomain(float, bounds=(Fraction(1, 3), Fraction(2, 3)))])
def test_bounds_of_floats_are_rounded_inward(atom: tk.AtomDomain) -> None:
    lower, upper = to_opendp_domain(tk.VectorDomain(atom), None)[0].element_domain.bounds
    assert Fraction(1, 3) <= Fraction(lower) <= Fraction(math.nextafter(1 / 3, 1))
    assert Fraction(math.nextafter(2 / 3, 0)) <= Fraction(upper) <= Fraction(2, 3)


@pytest.mark.parametrize(
    ("metric", "options", "expected"),
    [
        (tk.LInfDistance(), {}, lambda: dp.linf_distance(T="i32")),
        (MONOTONIC, {}, lambda: dp.linf_distance(T="i32", monotonic=True)),
        (MONOTONIC, {"T": "i64"}, lambda: dp.linf_distance(T="i64", monotonic=True)),
        (MONOTONIC, {"Q": float}, lambda: dp.linf_distance(T="f64", monotonic=True)),
        (
            tk.RangeDistance(),
            {},
            lambda: dp.user_distance("opendp_topk.RangeDistance", descriptor="opendp_topk.RangeDistance"),
        ),
    ],
)
def test_the_metric_says_the_same(metric: tk.Metric, options: dict[str, Any], expected: Any) -> None:
    for measure in (tk.MaxDivergence(), ZCDP):
        sent = tk.opendp.to_opendp(top(measure, metric=metric), **options)
        assert sent.input_metric == expected()
        assert sent.map(2) == top(measure, metric=metric).map(2) > 0


def test_vectors_with_noise_have_the_l1_and_l2_distances() -> None:
    laplace = tk.opendp.to_opendp((INTEGERS, tk.L1Distance()) >> tk.then_laplace(tk.MaxDivergence(), scale=4))
    gaussian = tk.opendp.to_opendp((INTEGERS, tk.L2Distance()) >> tk.then_gaussian(ZCDP, scale=4))
    assert laplace.input_metric == dp.l1_distance(T="i32")
    assert gaussian.input_metric == dp.l2_distance(T="f64")
    assert laplace.map(1) == 0.25
    assert gaussian.map(2.0) == 0.125
    assert len(gaussian([1, 2, 3])) == 3


@pytest.mark.parametrize("Q", ["i32", "i64", "f64"])
@pytest.mark.parametrize("scale", [3.0, 0.1, Fraction(10, 3), 7])
@pytest.mark.parametrize("measure", [tk.MaxDivergence(), ZCDP, RANGE], ids=repr)
def test_every_loss_is_handed_on_to_the_last_bit(measure: tk.Measure, scale: Any, Q: str) -> None:
    own = top(measure, scale=scale)
    sent = tk.opendp.to_opendp(own, Q=Q)
    for d_in in (0, 1, 2, 3, 1000, 2**30) + ((0.1, 1 / 3, 1e-300, 5e-324, 1e300) if Q == "f64" else ()):
        loss = float(own.map(d_in))  # plain, as they tell types apart
        assert sent.map(d_in) == loss == own.map(d_in)
        assert sent.check(d_in, loss)
        assert loss == 0 or not sent.check(d_in, math.nextafter(loss, 0))


def test_nothing_is_promised_at_an_infinite_distance() -> None:
    all_of_them = top(tk.MaxDivergence(), domain=FLOATS, k=3, release="set")
    assert all_of_them.map(math.inf) == 0
    sent = tk.opendp.to_opendp(all_of_them)
    assert (sent.map(1e300), sent.map(math.inf)) == (0, math.inf)
    profile = tk.opendp.to_opendp(top(PROFILE, domain=FLOATS)).map(math.inf)
    assert (profile.delta(0.0), profile.delta(1e9)) == (1.0, 1.0)


def test_measures_are_those_of_opendp() -> None:
    pure = top(tk.MaxDivergence())
    for own, theirs in (
        (pure, dp.max_divergence()),
        (top(ZCDP), dp.zero_concentrated_divergence()),
        (top(PROFILE), dp.smoothed_max_divergence()),
        (tk.make_approximate(pure), dp.approximate(dp.max_divergence())),
        (tk.make_approximate(top(ZCDP)), dp.approximate(dp.zero_concentrated_divergence())),
        (top(RANGE), dp.user_divergence("any name", descriptor="opendp_topk.RangeDivergence")),
    ):
        assert tk.opendp.to_opendp(own).output_measure == theirs
    assert tk.opendp.to_opendp(tk.make_approximate(pure)).map(1) == (0.5, 0.0)


@pytest.mark.slow
def test_a_curve_becomes_a_privacy_profile() -> None:
    own = top(PROFILE, k=5)
    sent = tk.opendp.to_opendp(own)
    for d_in in (1, 2, 7):
        curve, profile = own.map(d_in), sent.map(d_in)
        for epsilon in (0.0, 0.1, 0.5, 1.0, 2.5):
            assert profile.delta(epsilon) == curve.delta(epsilon)
        for delta in (1e-9, 1e-6, 0.01):
            assert curve.delta(profile.epsilon(delta)) <= delta
            assert profile.epsilon(delta) == pytest.approx(curve.epsilon(delta), rel=1e-9)
    epsilon, delta = dp.c.make_fix_delta(sent, 1e-6).map(1)
    assert own.map(1).delta(epsilon) <= delta == 1e-6


def test_it_composes_in_opendp() -> None:
    own = top(tk.MaxDivergence())
    sent = tk.opendp.to_opendp(own)
    both = dp.c.make_composition([sent, sent])
    assert both.map(1) == 2 * own.map(1)
    assert [sorted(one) for one in both([10**6, 0, 10**6])] == [[0, 2], [0, 2]]
    zcdp = tk.opendp.to_opendp(top(ZCDP))
    approximate = dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(zcdp), 1e-6)
    assert approximate.map(1)[0] >= tk.make_zCDP_to_approxDP(top(ZCDP)).map(1).epsilon(1e-6)
    fixed = [tk.opendp.to_opendp(tk.make_fix_delta(top(PROFILE), delta=1e-6))] * 3
    assert dp.c.make_composition(fixed).map(1)[1] == pytest.approx(3e-6)


def test_it_answers_in_opendps_conversations() -> None:
    sent = tk.opendp.to_opendp(top(tk.MaxDivergence()))
    space = sent.input_domain, sent.input_metric
    talk = dp.c.make_adaptive_composition(*space, dp.max_divergence(), d_in=1, d_mids=[0.5, 0.5])
    queryable = talk([10**6, 0, 10**6])
    assert sorted(queryable(sent)) == sorted(queryable(sent)) == [0, 2]
    raises_exactly(dp.OpenDPException, lambda: queryable(sent))
    odometer = dp.c.make_fully_adaptive_composition(*space, dp.max_divergence())
    asked = odometer([10**6, 0, 10**6])
    asked(sent)
    assert asked.privacy_loss(1) == 0.5
    too_dear = tk.opendp.to_opendp(top(tk.MaxDivergence(), scale=1.0))
    budgeted = dp.c.make_privacy_filter(odometer, d_in=1, d_out=1.0)([10**6, 0, 10**6])
    assert sorted(budgeted(sent)) == [0, 2]
    raises_exactly(dp.OpenDPException, lambda: budgeted(too_dear))


def test_range_distance_composes_and_range_divergence_does_not() -> None:
    by_range = tk.opendp.to_opendp(top(tk.MaxDivergence(), metric=tk.RangeDistance()))
    both = dp.c.make_composition([by_range, by_range])
    assert (both.map(1.5), both.map(2.0)) == (1.0, 2.0), "integers are at whole distances"
    bounded = tk.opendp.to_opendp(top(RANGE))
    assert bounded.map(1) == top(RANGE).map(1)
    raises_exactly(dp.OpenDPException, lambda: dp.c.make_composition([bounded, bounded]))


def test_it_follows_a_transformation_of_opendp() -> None:
    words = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    count = words >> dp.t.then_count_by_categories(categories=["a", "b"], MO=dp.L1Distance[int], null_category=False)
    size = count.output_domain.size
    counts = tk.VectorDomain(tk.AtomDomain(int), size=size), tk.L1Distance()
    chain = count >> tk.opendp.to_opendp(counts >> tk.then_laplace(tk.MaxDivergence(), scale=4))
    assert chain.map(1) == 0.25
    assert len(chain(["a", "b", "a"])) == 2


@pytest.mark.further
def test_it_is_asked_through_the_context() -> None:
    domain = dp.vector_domain(dp.atom_domain(T=int))
    unit = dp.linf_distance(T=int, monotonic=True), 1
    split = {"privacy_loss": dp.loss_of(epsilon=1.0), "split_evenly_over": 2}
    asked = dp.Context.compositor(data=[10**6, 0, 10**6], privacy_unit=unit, domain=domain, **split)
    assert sorted(asked(tk.opendp.to_opendp(top(tk.MaxDivergence())))) == [0, 2]
    assert asked.remaining_privacy_loss() == [0.5]

    def make_bridged_top_k(input_domain: Any, input_metric: Any, scale: float, k: int) -> Any:
        made = tk.opendp.to_opendp(top(tk.MaxDivergence(), k=k, scale=scale))
        assert (made.input_domain, made.input_metric) == (input_domain, input_metric)
        found.append(scale)
        return made

    found: list[float] = []
    context.register(make_bridged_top_k)
    try:
        assert sorted(asked.query().bridged_top_k(k=2).release()) == [0, 2]
    finally:
        del context.constructors["bridged_top_k"]
    assert found[-1] == 4.0  # the least scale that fits, found by opendp's search over our map
    assert asked.remaining_privacy_loss() == []


def chosen(**bounds: Any) -> tk.Measurement:
    """A choice on integers, or on the floats of which bounds are given, within these bounds."""
    (name, given), *_ = bounds.items()
    atom = tk.AtomDomain(int if name == "integers" else float, bounds=given)
    return top(tk.MaxDivergence(), tk.VectorDomain(atom))


PURE = tk.MaxDivergence()
COUNTED = (tk.FrameDomain("u", "i"), tk.UserDistance()) >> tk.then_count_by_item(candidates=["a", "b"])
REFUSED: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    ("M", {}, tk.errors.ParameterTypeError, "measurement of this library"),
    (top(PURE), {"T": "i16"}, tk.errors.ParameterError, "T must be int, float or one of"),
    (top(PURE), {"Q": "i8"}, tk.errors.ParameterError, "Q must be int, float or one of"),
    (top(PURE), {"T": "f64"}, tk.errors.SpaceError, "but f64 does not"),
    (top(PURE, domain=FLOATS), {"T": int}, tk.errors.SpaceError, "but i32 does not"),
    (chosen(integers=(2**40, 2**41)), {}, tk.errors.SpaceError, "choose another T"),
    (chosen(integers=(0.25, 0.5)), {}, tk.errors.SpaceError, "choose another T"),
    (chosen(floats=(math.inf, math.inf)), {}, tk.errors.SpaceError, "choose another T"),
    (chosen(floats=(-math.inf, -math.inf)), {}, tk.errors.SpaceError, "choose another T"),
    (COUNTED >> tk.then_permute_and_flip(PURE, scale=1), {}, tk.errors.SpaceError, "must be a VectorDomain"),
    (
        (INTEGERS, MONOTONIC) >> tk.then_adaptive_composition(PURE, d_in=1, d_mids=[1]),
        {},
        tk.errors.SpaceError,
        "must not be interactive",
    ),
    (tk.make_approximate(top(RANGE)), {}, tk.errors.SpaceError, "has no counterpart in opendp"),
]


@pytest.mark.parametrize(("made", "options", "error", "text"), REFUSED, ids=[row[-1] for row in REFUSED])
def test_what_opendp_cannot_hold_is_refused(made: Any, options: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        tk.opendp.to_opendp(made, **options)


def test_what_it_needs_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    dp.disable_features("honest-but-curious")
    try:
        with pytest.raises(tk.errors.ParameterError, match="enable_features"):
            tk.opendp.to_opendp(top(PURE))
    finally:
        dp.enable_features("honest-but-curious")
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    for bridge in (tk.opendp.to_opendp, tk.opendp.from_opendp):
        with pytest.raises(tk.errors.MissingExtraError, match=r"opendp_topk\[opendp\]"):
            bridge(top(PURE))


def failure(call: Any) -> str:
    with pytest.raises(dp.OpenDPException) as caught:
        call()
    return f"{caught.value}{caught.value.message}{caught.value.raw_traceback}"


@pytest.mark.further
def test_errors_of_this_library_come_through_with_their_text() -> None:
    bounded = tk.VectorDomain(tk.AtomDomain(float), size=3)
    sent = tk.opendp.to_opendp(top(PURE, domain=bounded))
    text = failure(lambda: sent([float(SECRET), math.inf, 0.0]))
    assert "DataError: scores must be finite" in text
    assert str(SECRET) not in text
    assert "DataError: scores must contain at least one element" in failure(lambda: tk.opendp.to_opendp(top(PURE))([]))
    assert "ParameterError: d_in must be >= 0" in failure(lambda: tk.opendp.to_opendp(top(PURE), Q=float).map(-1.0))
    assert "ParameterError" in failure(lambda: tk.opendp.to_opendp(top(PURE, metric=tk.RangeDistance())).map("far"))


def test_errors_of_the_callers_functions_lose_theirs() -> None:
    def wrong(release: Any) -> Any:
        raise ValueError(f"the winners were {release.tolist()} at {SECRET}")

    sent = tk.opendp.to_opendp(top(PURE) >> wrong)
    for call in (lambda: sent([SECRET, 0, 0]), lambda: dp.c.make_composition([sent, sent])([SECRET, 0, 0])):
        text = failure(call)
        assert "ForeignError: a function of the caller raised ValueError" in text
        assert str(SECRET) not in text
        assert "the winners were [" not in text


def test_what_is_released_is_what_the_function_returns() -> None:
    shares = tk.opendp.to_opendp(top(PURE) >> tk.index_candidates(["a", "b", "c"]))
    assert sorted(shares([10**6, 0, 10**6])) == ["a", "c"]
    ranking = tk.opendp.to_opendp(top(PURE))([10**6, 0, 10**6])
    assert isinstance(ranking, np.ndarray)
    assert ranking.dtype == np.int64
    led = tk.opendp.to_opendp((INTEGERS, MONOTONIC) >> tk.then_noisy_top_k_with_gaps(PURE, k=1, scale=4.0))
    assert led([10**6, 0]).indices.tolist() == [0]


def test_a_domain_of_one_number_is_one_there() -> None:
    largest = 2**31 - 1
    for bounds in ((5, 5), (largest, largest), (-(2**31), -(2**31))):
        found, name = to_opendp_domain(tk.VectorDomain(tk.AtomDomain(int, bounds=bounds), size=2), "i32")
        assert (found.element_domain.bounds, name) == (bounds, "i32")
