"""Measurements of OpenDP 0.16 in this library, and the round trip.

Tries proofs/bridge/opendp.tex.
"""

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.apps.bridge.opendp import _square_root_up, to_opendp_distance
from opendp_topk.errors import BudgetError, DataError, ForeignError, ParameterTypeError, SpaceError
from tests.concepts.links import check_measurement
from tests.concepts.sentinels import SENTINEL_INT, raises_exactly
from tests.concepts.spaces import FLOATS, INTEGERS, MONOTONIC, PROFILE, PURE, RANGE, ZCDP

dp = pytest.importorskip("opendp.prelude", reason="opendp is not installed (extra opendp)")

SMALL = (-(2**31), 2**31 - 1)
GRID = (0, 1, 2, 3, 10, 1000)
FINE = (*GRID, 1e-300, 0.1, 1 / 3, 2.5, 1e12)


def vectors(T: Any = "i32", size: int | None = 3, **options: Any) -> Any:
    return dp.vector_domain(dp.atom_domain(T=T, **options), size=size)


def theirs(
    measure: Any, loss: Any, *, domain: Any = None, metric: Any = None, function: Any = lambda scores: len(scores)
) -> Any:
    domain = vectors() if domain is None else domain
    metric = dp.l1_distance(T="i32") if metric is None else metric
    return dp.m.make_user_measurement(domain, metric, measure, function, loss)


def pure(loss: Any, **more: Any) -> Any:
    return theirs(dp.max_divergence(), loss, **more)


def one_way(T: str = "i32") -> Any:
    return dp.linf_distance(T=T, monotonic=True)


def laplace(scale: float = 4.0, T: str = "i32") -> Any:
    return (vectors(T), dp.l1_distance(T=T)) >> dp.m.then_laplace(scale=scale)


@pytest.mark.parametrize(
    ("domain", "expected"),
    [
        (lambda: vectors(), tk.VectorDomain(tk.AtomDomain(int, bounds=SMALL), size=3)),
        (lambda: vectors("i64", None), tk.VectorDomain(tk.AtomDomain(int, bounds=(-(2**63), 2**63 - 1)))),
        (lambda: vectors("u64", None), tk.VectorDomain(tk.AtomDomain(int, bounds=(0, 2**64 - 1)))),
        (lambda: vectors(bounds=(2, 9)), tk.VectorDomain(tk.AtomDomain(int, bounds=(2, 9)), size=3)),
        (lambda: vectors("f64"), tk.VectorDomain(tk.AtomDomain(float), size=3)),
        (lambda: vectors("f64", None, nan=False), FLOATS),
        (
            lambda: vectors("f64", bounds=(0.0, math.inf)),
            tk.VectorDomain(tk.AtomDomain(float, bounds=(0.0, math.inf)), size=3),
        ),
    ],
)
def test_the_domain_holds_what_both_hold(domain: Any, expected: tk.Domain) -> None:
    Q = str(domain().element_domain.carrier_type)
    made = tk.opendp.from_opendp(pure(lambda d: float(d), domain=domain(), metric=dp.l1_distance(T=Q)))
    assert made.input_domain == expected
    assert made.declared.n_candidates == expected.size


@pytest.mark.further
@pytest.mark.parametrize("T", ["i32", "i64"])
def test_opendps_laplace_keeps_the_obligations_of_a_measurement(T: str) -> None:
    made = tk.opendp.from_opendp(laplace(T=T))
    others = [[1, 2], [1.0, 2.0, 3.0], [2**63, 0, 0], "abc", None]
    check_measurement(made, members=[[1, 2, 3], (0, 0, 2**31 - 1)], non_members=others, distances=[1, 2, 7])
    assert made.proof.status == "unproven"
    assert "those of opendp" in str(made.proof)
    assert "unproven" in repr(made)
    assert [made.map(d) for d in GRID] == [laplace(T=T).map(d) for d in GRID]


@pytest.mark.parametrize(
    ("Q", "most"), [("i32", 2**31 - 1), ("u32", 2**32 - 1), ("i64", 2**63 - 1), ("u64", 2**64 - 1)]
)
def test_the_last_distance_of_each_type(Q: str, most: int) -> None:
    assert to_opendp_distance(most, Q) == to_opendp_distance(Fraction(2 * most - 1, 2), Q) == most
    for distance in (most + 1, Fraction(2 * most + 1, 2), math.inf):
        assert to_opendp_distance(distance, Q) is None


def test_distances_between_their_numbers_are_rounded_up() -> None:
    made = tk.opendp.from_opendp(laplace())
    assert made.map(1.25) == made.map(Fraction(5, 3)) == made.map(2) == 0.5
    assert made.map(2**31 - 1) < made.map(2**31) == made.map(math.inf) == math.inf
    asked: list[Any] = []

    def loss(d_in: Any) -> float:
        asked.append(d_in)
        return float(d_in)

    real = tk.opendp.from_opendp(pure(loss, domain=vectors("f64"), metric=dp.l1_distance(T="f64")))
    assert Fraction(real.map(Fraction(1, 3))) >= Fraction(1, 3)
    assert real.map(2**53 + 1) == 2**53 + 2
    assert real.map(10**400) == math.inf
    assert asked == [math.nextafter(1 / 3, 1), 2.0**53 + 2]


@pytest.mark.further
def test_it_is_chained_composed_and_paid_for(tmp_path: Path) -> None:
    made = tk.opendp.from_opendp(laplace())
    assert made.map(1) == (made >> sum).map(1) == 0.25
    assert isinstance((made >> sum)([1, 2, 3]), int)
    own = (made.input_domain, made.input_metric) >> tk.then_laplace(PURE, scale=2)
    both = tk.make_composition([made, own])
    assert both.map(1) == 0.75
    assert both.proof.status == "unproven"
    assert [len(one) for one in both([1, 2, 3])] == [3, 3]
    odometer = (made.input_domain, made.input_metric) >> tk.then_fully_adaptive_composition(PURE)
    queryable = odometer([1, 2, 3])
    queryable(made)
    assert queryable.privacy_loss(1) == 0.25
    unit = {"dataset": "numbers", "metric": made.input_metric}
    with tk.ledger.Ledger.create(tmp_path / "a", budget=0.5, measure=PURE, **unit) as ledger:
        assert len(ledger.release(made, [1, 2, 3], d_in=1)) == 3
        ledger.release(made >> sum, [1, 2, 3], d_in=1)
        raises_exactly(BudgetError, lambda: ledger.release(made, [1, 2, 3], d_in=1))


def test_opendps_gaussian_converts_as_ours_does() -> None:
    space = vectors(), dp.l2_distance(T="f64")
    made = tk.opendp.from_opendp(space >> dp.m.then_gaussian(scale=4.0))
    own = (made.input_domain, made.input_metric) >> tk.then_gaussian(ZCDP, scale=4)
    assert made.output_measure == own.output_measure
    for d_in in (1, 3.0):
        assert own.map(d_in) <= made.map(d_in) <= math.nextafter(own.map(d_in), math.inf)
    assert own.map(0.5) == 0 < made.map(0.5), "no two vectors of integers are at a distance of a half"
    profile = tk.opendp.from_opendp(dp.c.make_zCDP_to_approxDP(space >> dp.m.then_gaussian(scale=4.0)))
    assert profile.output_measure == PROFILE
    ours, opendps = tk.make_zCDP_to_approxDP(own).map(1), profile.map(1)
    for epsilon in (0.5, 1, Fraction(4, 3)):
        assert ours.delta(epsilon) <= opendps.delta(epsilon) * (1 + 1e-12)
    converted = tk.make_zCDP_to_approxDP(own)
    epsilons = [tk.make_fix_delta(one, delta=1e-6).map(1)[0] for one in (profile, converted)]
    assert epsilons[0] >= epsilons[1]


def test_opendps_top_k_costs_what_ours_costs() -> None:
    space = vectors(size=None), one_way()
    for k in (1, 2, 5):
        made = tk.opendp.from_opendp(space >> dp.m.then_noisy_top_k(dp.max_divergence(), k=k, scale=4.0))
        own = (made.input_domain, made.input_metric) >> tk.then_report_noisy_top_k(PURE, k=k, scale=4)
        for d_in in (1, 2, 8):
            assert own.map(d_in) <= made.map(d_in) <= own.map(d_in) * (1 + 1e-12)
        assert len(made([5, 3, 9, 100, 2, 0])) == k


def test_the_measures_are_known() -> None:
    zcdp = dp.zero_concentrated_divergence
    for measure, loss, expected, found in (
        (dp.max_divergence(), 0.5, PURE, 0.5),
        (zcdp(), 0.5, ZCDP, 0.5),
        (dp.approximate(dp.max_divergence()), (0.5, 1e-6), tk.Approximate(PURE), (0.5, 1e-6)),
        (dp.approximate(zcdp()), (0.5, 1.5), tk.Approximate(ZCDP), (0.5, 1.0)),
        (dp.user_divergence("any name", descriptor="opendp_topk.RangeDivergence"), 0.5, RANGE, 0.5),
    ):
        made = tk.opendp.from_opendp(theirs(measure, lambda _, loss=loss: loss))
        assert (made.output_measure, made.map(1)) == (expected, found)
        assert made([1, 2, 3]) == 3


def test_a_profile_is_asked_below_an_epsilon_that_is_no_float() -> None:
    asked: list[float] = []

    def delta(epsilon: float) -> float:
        asked.append(epsilon)
        return max(0.0, 1 - epsilon)

    made = tk.opendp.from_opendp(theirs(dp.smoothed_max_divergence(), lambda _: dp.new_privacy_profile(delta).curve))
    curve = made.map(1)
    assert curve.delta(Fraction(1, 3)) == 1 - asked[-1]
    assert Fraction(math.nextafter(1 / 3, 0)) <= Fraction(asked[-1]) <= Fraction(1, 3)
    for n in range(1, 40):
        assert curve.delta(Fraction(n, 41)) == 1 - asked[-1]
        assert Fraction(asked[-1]) <= Fraction(n, 41)
    assert curve.delta(2) == 0
    assert curve.delta(curve.epsilon(0.25)) <= 0.25


@pytest.mark.further
@pytest.mark.parametrize(
    ("measure", "loss", "sums"),
    [
        (dp.max_divergence, lambda d: 0.25 * d, lambda d: 0.25 * d),
        (dp.max_divergence, lambda d: float(d > 0), lambda d: min(d, 2)),
        (dp.zero_concentrated_divergence, lambda d: 0.125 * d**2, lambda d: 0.125 * d**2),
        (dp.zero_concentrated_divergence, lambda d: float(d > 0), lambda d: min(d, 2) ** 2),
    ],
)
def test_steps_in_both_directions_add(measure: Any, loss: Any, sums: Any) -> None:
    made = tk.opendp.from_opendp(theirs(measure(), loss, metric=one_way()))
    for d_in in (0, 1, 2, 3, 4, 7, 100, 127):
        assert made.map(d_in) == made.map(d_in + 0.75) == sums(d_in)
    factor = 2 if measure is dp.max_divergence else 4
    assert made.map(128) == factor * loss(128)
    assert made.map(2**40) == math.inf
    space = vectors("f64"), one_way("f64")
    real = tk.opendp.from_opendp(theirs(measure(), loss, domain=space[0], metric=space[1]))
    assert real.map(1.0) == factor * loss(1.0)


def test_a_loss_in_one_direction_does_not_hold_in_both() -> None:
    """It says what one user costs. (1, 0) and (0, 1) are infinitely far apart there and two steps here."""
    metric = one_way()
    capped = tk.opendp.from_opendp(pure(lambda d: float(min(d, 1)), metric=metric))
    assert (capped.map(1), capped.map(2)) == (1.0, 2.0)
    jumps = tk.opendp.from_opendp(pure(lambda d: math.inf if d >= 2 else float(d), metric=metric))
    assert (jumps.map(1), jumps.map(2)) == (1.0, math.inf)


def test_square_roots_are_rounded_up() -> None:
    for value in (0, 1, Fraction(1, 4), Fraction(9, 49), 2, Fraction(1, 3), Fraction(5e-324), 10**300):
        root = _square_root_up(Fraction(value))
        assert root**2 >= value
        assert root**2 <= value * (1 + Fraction(1, 2**70))
    assert _square_root_up(Fraction(9, 49)) == Fraction(3, 7)


MECHANISMS: dict[str, Any] = {
    "top_k": lambda measure, space: space >> tk.then_report_noisy_top_k(measure, k=3, scale=3.0),
    "permute_and_flip": lambda measure, space: space >> tk.then_permute_and_flip(measure, scale=Fraction(7, 3)),
    "canonical": lambda measure, space: space >> tk.then_canonical_top_k(measure, k=2, scale=0.3),
}


@pytest.mark.further
@pytest.mark.quick(T="int")
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("measure", [PURE, RANGE, ZCDP, PROFILE], ids=repr)
@pytest.mark.parametrize("metric", [tk.LInfDistance(), tk.RangeDistance()], ids=repr)
@pytest.mark.parametrize("T", [int, float])
def test_the_round_trip_keeps_the_map(mechanism: str, measure: tk.Measure, metric: tk.Metric, T: type) -> None:
    own = MECHANISMS[mechanism](measure, (tk.VectorDomain(tk.AtomDomain(T), size=5), metric))
    back = tk.opendp.from_opendp(tk.opendp.to_opendp(own))
    assert (back.input_metric, back.output_measure) == (own.input_metric, own.output_measure)
    for d_in in GRID if T is int else FINE:
        if isinstance(measure, tk.PrivacyProfile):
            assert [back.map(d_in).delta(e) for e in (0, 0.5, 3.0)] == [own.map(d_in).delta(e) for e in (0, 0.5, 3.0)]
        else:
            assert back.map(d_in) == own.map(d_in)
    assert back.proof.status == "unproven"
    again = tk.opendp.to_opendp(back)
    first = tk.opendp.to_opendp(own)
    assert (again.input_domain, again.input_metric) == (first.input_domain, first.input_metric)


@pytest.mark.further
@pytest.mark.parametrize("measure", [PURE, ZCDP, RANGE], ids=repr)
def test_the_round_trip_of_a_monotonic_distance_loses_no_more_than_a_rounding(measure: tk.Measure) -> None:
    for scale in (4.0, 3.0, 0.1):
        own = (INTEGERS, MONOTONIC) >> tk.then_report_noisy_top_k(measure, k=3, scale=scale)
        back = tk.opendp.from_opendp(tk.opendp.to_opendp(own))
        for d_in in (0, 1, 2, 3, 10, 100):
            root = 1 if measure != ZCDP else 2  # losses up and down add, or their roots do
            steps = [(own.map(up), own.map(d_in - up)) for up in range(d_in + 1)]
            apart = max((a ** (1 / root) + b ** (1 / root)) ** root for a, b in steps)
            assert own.map(d_in) <= back.map(d_in) <= apart * (1 + 1e-15)
        assert back.map(1) == own.map(1)


def test_a_pair_comes_back() -> None:
    pure = (INTEGERS, tk.LInfDistance()) >> tk.then_permute_and_flip(PURE, scale=3)
    own = tk.make_approximate(pure)
    back = tk.opendp.from_opendp(tk.opendp.to_opendp(own))
    assert [back.map(d) for d in GRID] == [own.map(d) for d in GRID]
    assert back([10**6, 0]) == 0


REFUSED: list[tuple[Any, type[Exception], str]] = [
    (lambda: "M", ParameterTypeError, "an opendp Measurement, not str"),
    (lambda: dp.t.make_sum(vectors(bounds=(0, 9)), dp.symmetric_distance()), ParameterTypeError, "Transformation"),
    (
        lambda: dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1.0),
        SpaceError,
        "not a vector of i32",
    ),
    (lambda: pure(float, domain=vectors("f32"), metric=dp.l1_distance(T="f32")), SpaceError, "not a vector of i32"),
    (lambda: pure(float, metric=dp.l1_distance(T="f32")), SpaceError, "the metric"),
    (lambda: pure(float, metric=dp.symmetric_distance()), SpaceError, "the metric"),
    (lambda: pure(float, metric=dp.user_distance("mine")), SpaceError, "the metric"),
    (lambda: theirs(dp.renyi_divergence(), float), SpaceError, "the measure"),
    (lambda: theirs(dp.user_divergence("mine"), float), SpaceError, "the measure"),
    (lambda: theirs(dp.approximate(dp.smoothed_max_divergence()), float), SpaceError, "the measure"),
    (
        lambda: theirs(dp.approximate(dp.max_divergence()), lambda d: (0.5, 0.1), metric=one_way()),
        SpaceError,
        "change in both directions",
    ),
]


@pytest.mark.parametrize(("make", "error", "text"), REFUSED)
def test_what_has_no_counterpart_here_is_refused(make: Any, error: type[Exception], text: str) -> None:
    raises_exactly(error, lambda: tk.opendp.from_opendp(make()), text)


@pytest.mark.further
def test_errors_carry_no_data() -> None:
    def wrong(scores: list[int]) -> int:
        raise ValueError(f"cannot use {scores}")

    made = tk.opendp.from_opendp(pure(float, function=wrong))
    raises_exactly(ForeignError, lambda: made([SENTINEL_INT, 0, 0]), "raised OpenDPException(FFI)")
    raises_exactly(DataError, lambda: made([SENTINEL_INT * 1000, 0, 0]))
    failing = tk.opendp.from_opendp(pure(lambda d: 1 / 0))
    raises_exactly(ForeignError, lambda: failing.map(1), "map raised OpenDPException")
    none = tk.opendp.from_opendp(pure(lambda d: math.nan))
    raises_exactly(ForeignError, lambda: none.map(1), "not NaN")


@pytest.mark.further
def test_queryables_are_not_let_out() -> None:
    space = vectors(), dp.l1_distance(T="i32")
    talk = dp.c.make_adaptive_composition(*space, dp.max_divergence(), d_in=1, d_mids=[0.25])
    both = dp.c.make_composition([talk, talk])
    hidden = pure(float, function=lambda x: {"in": [talk(x)]})
    for measurement in (talk, both, hidden):
        raises_exactly(ForeignError, lambda m=measurement: tk.opendp.from_opendp(m)([1, 2, 3]), "released a queryable")
