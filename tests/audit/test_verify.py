"""The exact verifier: what ships passes, planted wrong maps are refuted by witnesses that other code confirms.

Wrong arguments of the audit, of released indices and of counts are errors of the library.
Tries proofs/audit/losses.tex.
"""

import dataclasses
import itertools
import math
from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from tests.concepts.examples import geometric_choice, times
from tests.concepts.losses import realised
from tests.concepts.probabilities import of_probabilities
from tests.concepts.sentinels import SENTINEL_TEXT, raises_exactly
from tests.oracles.one_shot import rankings

FLOATS = tk.AtomDomain(float)
RANGE, PURE, ZCDP = tk.RangeDivergence(), tk.MaxDivergence(), tk.ZeroConcentratedDivergence()


def one_shot(d: int | None, measure: tk.Measure, metric: tk.Metric | None = None, **options: Any) -> tk.Measurement:
    space = tk.VectorDomain(FLOATS, size=d), metric or tk.RangeDistance()
    return tk.make_report_noisy_top_k(*space, measure, **{"k": 2, "scale": 1.0, "noise": tk.noise.Gumbel()} | options)


def claiming(measurement: tk.Measurement, privacy_map: Any) -> tk.Measurement:
    return dataclasses.replace(measurement, privacy_map=privacy_map)


@pytest.mark.slow
def test_curves_are_held_against_laws() -> None:
    """An attained curve passes with the ratio 1; one that is 2 % too small in delta is refuted, a composed one too."""
    profile = tk.PrivacyProfile()
    space = tk.VectorDomain(FLOATS, size=2), tk.RangeDistance()
    choice = tk.make_exponential_mechanism(*space, profile, scale=1.0)
    report = tk.audit.verify(choice, budget=60)
    assert report.holds
    assert 0.999 < report.tightness <= 1
    both = tk.make_composition([choice, tk.make_permute_and_flip(*space, profile, scale=2.0)])
    found = tk.audit.verify(both, budget=60)
    assert found.holds
    assert 0.8 < found.tightness <= 1
    for measurement, share in ((choice, 0.98), (both, found.loss * 0.98)):
        curve = measurement.map(1)
        less = claiming(measurement, lambda d_in, c=curve, s=share: tk.PrivacyCurve(lambda e: c.delta(e) * s))
        with pytest.raises(tk.errors.PrivacyViolationError, match="refutes the privacy map") as caught:
            tk.audit.verify(less, budget=60)
        assert caught.value.report.loss > 1
        assert "epsilon" in caught.value.report.witness.where
    ends_early = claiming(choice, lambda d_in: (0.999, 0.0))
    raises_exactly(tk.errors.PrivacyViolationError, lambda: tk.audit.verify(ends_early, budget=60), "inf")


def refuted(measurement: tk.Measurement, **options: Any) -> Any:
    with pytest.raises(tk.errors.PrivacyViolationError, match="refutes the privacy map") as caught:
        tk.audit.verify(measurement, **options)
    report = caught.value.report
    assert (report.verdict, report.holds) == ("fails", False)
    assert "FAILS" in repr(report)
    assert report.loss >= report.claimed
    return report


def confirmed(report: Any, k: int, scale: float = 1.0) -> mpmath.mpf:
    """The loss at the witness by the oracle, which knows neither the library's laws nor its losses."""
    noise = report.parameters.get("noise", "Exponential")
    with mpmath.workdps(50):
        both = report.witness.x, report.witness.x_prime
        laws = [rankings(noise, [mpmath.exp(mpmath.mpf(s) / scale) for s in x], k) for x in both]
        if report.output_measure != ZCDP:
            return realised(report.output_measure, *laws)
        order = mpmath.mpf(report.witness.where["alpha"])
        moments = (mpmath.fsum(p * (q[y] / p) ** order for y, p in law.items()) for law, q in (laws, laws[::-1]))
        return max(mpmath.log(moment) / (order - 1) / order for moment in moments)


@pytest.mark.further
def test_k_r_is_refuted_as_a_range_of_gumbel_noise() -> None:
    report = refuted(claiming(one_shot(4, RANGE), lambda d_in: 2 * d_in))
    assert 2.5 < report.loss <= 3
    assert confirmed(report, 2) == pytest.approx(report.loss, rel=1e-12)


@pytest.mark.slow
def test_k_r_squared_half_is_refuted_as_rho_of_exponential_noise() -> None:
    """r = 1e-3. The pair of the theorem has 1.0705 at alpha = 300; the supremum over all orders is a little more."""
    r = 1e-3
    wrong = claiming(one_shot(3, ZCDP, noise=tk.noise.Exponential()), lambda d_in: 2 * Fraction(d_in) ** 2 / 2)
    report = refuted(wrong, d_in=r)
    assert 1.0705 < report.tightness < 1.2
    assert confirmed(report, 2) == pytest.approx(report.loss, rel=1e-9)
    stated = refuted(wrong, d_in=r, pairs=[((0.0, -r / 2, -r), (0.0, r / 2, 0.0))])
    assert 1.0705 < stated.tightness < 1.082
    at_300 = dataclasses.replace(stated, witness=dataclasses.replace(stated.witness, where={"alpha": 300}))
    assert 1.0704 < confirmed(at_300, 2) / mpmath.mpf(r) ** 2 < 1.0706


@pytest.mark.further
@pytest.mark.quick(measure="MaxDivergence()")
@pytest.mark.parametrize("measure", [PURE, RANGE, ZCDP], ids=repr)
def test_a_map_of_half_the_scale_or_of_monotone_neighbours_is_refuted(measure: tk.Measure) -> None:
    monotone = one_shot(3, measure, tk.LInfDistance(monotonic=True))
    wider, both_ways = one_shot(3, measure, scale=2.0), one_shot(3, measure, tk.LInfDistance())
    for own, other in ((one_shot(3, measure), wider), (both_ways, monotone)):
        report = refuted(claiming(own, other.privacy_map))
        assert report.tightness > 1.7
        assert confirmed(report, 2) == pytest.approx(report.loss, rel=1e-9)
    assert tk.audit.verify(monotone).holds


@pytest.mark.further
def test_the_exponential_mechanism_s_rho_is_refuted_for_permute_and_flip() -> None:
    flip = tk.make_permute_and_flip(tk.VectorDomain(FLOATS, size=2), tk.RangeDistance(), ZCDP, scale=1.0)
    report = refuted(claiming(flip, lambda d_in: Fraction(d_in) ** 2 / 8))
    assert report.tightness > 1.2
    assert confirmed(report, 1) == pytest.approx(report.loss, rel=1e-9)


@pytest.mark.slow
def test_a_slightly_wrong_map_is_refuted_and_an_attained_one_is_not() -> None:
    attained = one_shot(3, PURE, noise=tk.noise.Exponential())
    assert tk.audit.verify(attained).tightness == pytest.approx(1, abs=1e-15)
    refuted(claiming(attained, lambda d_in: math.nextafter(2.0 * d_in, 0)))


@pytest.mark.slow
def test_unknown_sizes_are_tried_from_k_plus_one_to_five() -> None:
    report = tk.audit.verify(one_shot(None, RANGE))
    assert report.holds
    assert report.tightness > 0.99
    assert len(report.witness.x) in (4, 5)
    assert "over 300 pairs" in repr(report) or report.pairs < 300


@pytest.mark.slow
def test_a_measurement_of_the_user_s_own() -> None:
    assert tk.audit.verify(geometric_choice()).tightness == pytest.approx(math.log(2))
    refuted(geometric_choice(privacy_map=lambda d_in: Fraction(69, 100) * d_in))
    chain = times(3) >> geometric_choice() >> (lambda index: index % 2)
    assert tk.audit.verify(chain).claimed == 3
    assert 2 < tk.audit.verify(chain).loss <= 3 * math.log(2)
    refuted(times(3, stability=lambda d_in: d_in) >> geometric_choice())


def test_pairs_of_tables() -> None:
    pl = pytest.importorskip("polars")
    counts = (tk.FrameDomain("user", "item"), tk.UserDistance()) >> tk.then_count_by_item(candidates=["a", "b"])
    choice = counts >> tk.then_exponential_mechanism(PURE, scale=1.0)
    tables = [pl.DataFrame({"user": list(range(n)), "item": ["a"] * n}) for n in (3, 4)]
    report = tk.audit.verify(choice, pairs=[tuple(tables)])
    assert 0 < report.tightness < 1
    assert report.pairs == 1
    raises_exactly(tk.errors.ParameterError, lambda: tk.audit.verify(choice), "pairs must be given")


@pytest.mark.further
def test_epsilon_and_delta() -> None:
    def of(delta: Any) -> tk.Measurement:
        space = tk.VectorDomain(FLOATS, size=2), tk.RangeDistance()
        softmax = tk.make_exponential_mechanism(*space, PURE, scale=1.0)
        law = {"function": softmax.function, "distribution": softmax.declared.law, "parameters": {"scale": 1.0}}
        return tk.make_user_measurement(*space, tk.Approximate(PURE), **law, privacy_map=lambda d_in: (0.5, delta))

    exact = (1 - math.exp(-0.25)) ** 2 / (1 - math.exp(-1))
    report = tk.audit.verify(of(exact + 1e-9))
    assert 0.9 * exact < report.loss <= exact
    raises_exactly(tk.errors.PrivacyViolationError, lambda: tk.audit.verify(of(exact * 0.9)))


def softmax(scores: Any) -> Any:
    """The exponential mechanism as libraries compute it, in float64, for epsilon = 1 and sensitivity 1."""
    weights = np.exp((scores - scores.max()) / 2)
    return weights / weights.sum()


@pytest.mark.further
def test_probabilities_of_another_library() -> None:
    space = tk.VectorDomain(FLOATS, size=3), tk.LInfDistance()
    options = {"privacy_map": lambda d_in: 1.0 * d_in, "scale": 2.0}
    assert tk.audit.verify(of_probabilities(softmax, *space, PURE, **options)).tightness == pytest.approx(1, rel=1e-6)
    with pytest.raises(tk.errors.PrivacyViolationError):
        tk.audit.verify(of_probabilities(softmax, *space, PURE, **options | {"privacy_map": lambda d_in: 0.99 * d_in}))


def test_a_probability_that_underflows_is_infinitely_revealing() -> None:
    """A utility gap of 1491 beside one of 1489."""
    space = tk.VectorDomain(FLOATS, size=2), tk.LInfDistance()
    assert softmax(np.array([0.0, 1491.0]))[0] == 0 < softmax(np.array([1.0, 1490.0]))[0]
    with pytest.raises(tk.errors.PrivacyViolationError) as caught:
        tk.audit.verify(
            of_probabilities(softmax, *space, PURE, privacy_map=lambda d_in: d_in),
            pairs=[([0.0, 1491.0], [1.0, 1490.0])],
        )
    report = caught.value.report
    assert report.loss == math.inf
    assert report.witness.x == (0.0, 1491.0)
    assert report.witness.where == {"outcome": 0}


@pytest.mark.further
def test_a_mapping_of_probabilities_and_k() -> None:
    def table(scores: Any) -> Mapping[Any, Any]:
        return one_shot(None, PURE, k=1).distribution(scores)

    space = tk.VectorDomain(FLOATS), tk.RangeDistance()
    report = tk.audit.verify(of_probabilities(table, *space, PURE, privacy_map=lambda d_in: d_in, scale=1, k=3))
    assert report.parameters.items() >= {"k": 3, "scale": 1}.items()
    assert len(report.witness.x) >= 4


def test_the_report_is_readable() -> None:
    report = tk.audit.verify(one_shot(3, ZCDP, k=1), budget=50)
    rows = dict(row.strip().split("=", 1) for row in repr(report).splitlines()[1:-1])
    names = [name.strip() for name in rows]
    assert names[:2] == ["mechanism", "noise"]
    assert {"claimed", "largest loss", "tightness", "witness", "alpha", "verdict", "d_in"} <= set(names)
    assert report.loss <= report.bound <= 1.01 * report.loss
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.loss = 0


@pytest.mark.further
def test_the_same_pairs_are_tried_every_time() -> None:
    first, second = (tk.audit.verify(one_shot(4, RANGE), budget=90) for _ in range(2))
    assert first == second


@pytest.mark.further
def test_a_free_release() -> None:
    everyone = one_shot(2, PURE, release="set")
    report = tk.audit.verify(everyone)
    assert (report.claimed, report.loss, report.tightness) == (0, 0, None)


UNMOVED = ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))


@pytest.mark.parametrize("measure", [PURE, RANGE, ZCDP, tk.Approximate(PURE)], ids=repr)
def test_a_claim_is_not_tested_where_no_loss_is_met(measure: tk.Measure) -> None:
    """Raising all scores alike moves no law of a selection: that pair says nothing of a map."""
    choice = one_shot(3, PURE if isinstance(measure, tk.Approximate) else measure)
    if isinstance(measure, tk.Approximate):
        choice = dataclasses.replace(choice, output_measure=measure, privacy_map=lambda d_in: (0.0, 0.5))
    report = tk.audit.verify(choice, pairs=[UNMOVED])
    assert (report.verdict, report.holds, report.loss, report.pairs) == ("not tested", False, 0, 1)
    assert "NOT TESTED" in repr(report)


def test_a_claim_of_no_loss_holds_where_none_is_met() -> None:
    assert tk.audit.verify(one_shot(3, PURE, k=3, release="set"), pairs=[UNMOVED]).verdict == "holds"


def test_the_two_likeliest_pairs_are_tried_whatever_the_budget() -> None:
    report = tk.audit.verify(one_shot(None, PURE), budget=1)
    assert (report.pairs, report.verdict) == (2, "holds")
    two = [UNMOVED, ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0)), ((0.0, 0.0, 0.0), (0.0, 1.0, 1.0))]
    assert tk.audit.verify(one_shot(3, PURE), pairs=two, budget=1).pairs == 2


@pytest.mark.further
def test_laws_that_are_too_large_are_skipped() -> None:
    large = one_shot(None, PURE, noise=tk.noise.Laplace(), k=2)
    spread = [((0.0, 0.0, 0.0), (1.0, 0.0, 0.0)), ((0.0, 2e3, 4e3, 6e3), (1.0, 2e3, 4e3, 6e3))]
    report = tk.audit.verify(large, pairs=spread)
    assert (report.pairs, report.skipped) == (1, 1)
    assert "too large to compute" in repr(report)
    raises_exactly(tk.errors.ParameterError, lambda: tk.audit.verify(large, pairs=spread[1:]), "no generated pair")


def broken(scores: Any) -> dict[int, Fraction]:
    return {0: Fraction(1, 3), 1: Fraction(1, 3)}


@pytest.mark.parametrize(
    ("measurement", "options", "error", "required"),
    [
        (3, {}, tk.errors.ParameterTypeError, "measurement must be a measurement"),
        (one_shot(3, PURE), {"budget": 0}, tk.errors.ParameterError, "budget must be an integer >= 1"),
        (one_shot(3, PURE), {"d_in": 0}, tk.errors.ParameterError, "d_in must be > 0"),
        (one_shot(3, PURE), {"d_in": -1}, tk.errors.ParameterError, "d_in must be >= 0"),
        (
            one_shot(3, PURE),
            {"pairs": [((0.0,) * 3, (0.0, 0.0, 2.0))]},
            tk.errors.ParameterError,
            "farther apart than d_in",
        ),
        (geometric_choice(distribution=None), {}, tk.errors.NotDeclaredError, "no exact distribution"),
        (geometric_choice(distribution=broken), {}, tk.errors.ForeignError, "do not sum to 1"),
        (
            geometric_choice(measure=tk.Approximate(ZCDP), privacy_map=lambda d_in: (1.0, 0.0)),
            {},
            tk.errors.ParameterError,
            "cannot be verified",
        ),
    ],
)
def test_what_cannot_be_verified(measurement: Any, options: Any, error: type[Exception], required: str) -> None:
    raises_exactly(error, lambda: tk.audit.verify(measurement, **options), required)


def test_a_parameter_called_loss_is_shown_beside_the_loss() -> None:
    measurement = (tk.VectorDomain(tk.AtomDomain(float), size=3), tk.RangeDistance()) >> tk.then_canonical_top_k(
        tk.MaxDivergence(), k=2, scale=1.0, utility="distance"
    )
    shown = repr(tk.audit.verify(measurement, budget=3))
    assert "= distance" in shown
    assert "largest loss" in shown


@pytest.mark.further
def test_compositions_are_verified_by_their_joint_law() -> None:
    space = tk.VectorDomain(tk.AtomDomain(float), size=3), tk.LInfDistance(monotonic=True)
    parts = [space >> tk.then_permute_and_flip(PURE, scale=scale) for scale in (1.0, 2.0)]
    honest = tk.make_composition(parts)
    report = tk.audit.verify(honest, budget=60)
    assert (report.holds, report.claimed) == (True, 1.5)
    assert report.tightness > 0.97
    lying = dataclasses.replace(honest, privacy_map=lambda d_in: 1.25 * d_in)
    raises_exactly(tk.errors.PrivacyViolationError, lambda: tk.audit.verify(lying, budget=60))


SPACE = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
TOP = SPACE >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=1, scale=2.0)
NAMED, BEST, FROM = tk.index_candidates(["a", "b"]), tk.largest_counts(1, ["a", "b"]), tk.counts_from(1, ["a", "b"])
NO_PAIRS: tuple[Any, ...] = (3, True, np.array(1), [3], [(1, 2, 3)], ["ab"], [([1, 2],)])


def test_records() -> None:
    for records in (None, 3, SENTINEL_TEXT, b"ab", itertools.count(), iter([1])):
        said = "records must be a list of records"
        raises_exactly(tk.errors.ParameterTypeError, partial(tk.audit.record_pairs, records), said)


def test_pairs() -> None:
    for pairs in NO_PAIRS:
        raises_exactly(tk.errors.ParameterTypeError, partial(tk.audit.verify, TOP, pairs=pairs), "pairs must")
        for audit in (tk.audit.search, tk.audit.audit_claim):
            asked = partial(audit, lambda x: 0, pairs=pairs, **_claim(audit))
            raises_exactly(tk.errors.ParameterTypeError, asked, "pairs must")


def _claim(audit: Any) -> dict[str, Any]:
    return {"measure": tk.MaxDivergence()} if audit is tk.audit.search else {"epsilon": 1.0}


def test_pairs_without_end() -> None:
    endless = itertools.repeat(([1, 2], [1, 3]))
    assert tk.audit.verify(TOP, pairs=endless, budget=3).pairs == 3
    with pytest.raises(tk.errors.ParameterTypeError, match="may be infinite"):
        tk.audit.search(lambda x: 0, pairs=endless, measure=tk.MaxDivergence())  # type: ignore[arg-type]


def test_options_of_verify() -> None:
    for options in ({"law": 3}, {"relative_error": "a"}, {"relative_error": -1}, {"budget": "a"}):
        with pytest.raises(tk.errors.ParameterError):
            tk.audit.verify(TOP, **options)
    raises_exactly(tk.errors.ParameterError, lambda: tk.audit.verify(TOP, d_in=float("inf")), "d_in must be finite")
    for law in (lambda _: None, lambda _: 1, lambda _: {0: "a"}, lambda _: {0: None}):
        kinds = tk.errors.ParameterTypeError, tk.errors.ForeignError
        with pytest.raises(kinds, match=r"must be a mapping|is not a number"):
            tk.audit.verify(TOP, law=law)


def test_what_is_no_index_names_nothing() -> None:
    strange: list[Any] = ["a", None, 2, -1, 0.5, True, [0, 7], ["a"], np.array([0.5]), np.array(["a"]), {0: 1}]
    for index in strange:
        raises_exactly(tk.errors.DataError, partial(NAMED, index), "must be called with indices of its items")


def test_indices_name_items() -> None:
    assert NAMED(np.int64(1)) == "b"
    assert (NAMED([1, 0]).items, NAMED(np.array([0])).items) == (("b", "a"), ("a",))


def test_what_is_no_array_of_counts() -> None:
    strange: list[Any] = ["a", None, 3, [3, 1], np.array([["a"]]), np.array(["a", "b"]), np.array(3), {"a": 1}]
    for best, counts in itertools.product((BEST, FROM), strange):
        raises_exactly(tk.errors.DataTypeError, partial(best, counts), "one-dimensional array of numbers")


@pytest.mark.slow
def test_candidates_without_end() -> None:
    for ask in (tk.candidate_remarks, tk.index_candidates, lambda items: tk.largest_counts(1, items)):
        with pytest.raises(tk.errors.ParameterError, match="an iterator may be infinite"):
            ask(itertools.repeat("a"))


def test_probabilities_too_small_for_the_arithmetic_refute_nothing() -> None:
    """Rounded to 0 on one side only, they would be an infinite loss of a map that is valid."""
    space = tk.VectorDomain(tk.AtomDomain(float), size=3), tk.LInfDistance(monotonic=True)
    flip = space >> tk.then_permute_and_flip(tk.MaxDivergence(), scale=2.0)
    some = tk.audit.verify(flip, d_in=10**9, budget=20)
    assert some.holds
    assert some.skipped > 0
    for d_in in (10**12, 1e30):
        with pytest.raises(tk.errors.ParameterError, match="no generated pair has output distributions"):
            tk.audit.verify(flip, d_in=d_in, budget=20)
