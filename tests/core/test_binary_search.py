"""The most accurate parameter: exact neighbours, both directions, no bounds, and honest failures."""

import itertools
import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from opendp_topk.core.binary_search import binary_search_chain, binary_search_param
from opendp_topk.core.measurement import Measurement
from opendp_topk.errors import ForeignError, ParameterError, ParameterTypeError, SearchError
from opendp_topk.measurements.report_noisy_top_k import then_report_noisy_top_k
from opendp_topk.measurements.user import then_user_measurement
from opendp_topk.spaces.domains import AtomDomain, VectorDomain
from opendp_topk.spaces.measures import Approximate, MaxDivergence

from ..concepts.examples import COUNTS, geometric_choice, times
from ..concepts.sentinels import raises_exactly

MAX = 1.7976931348623157e308
TINY = 5e-324
Loss = Callable[[Any, Fraction], Any]


def maker(loss: Loss, accepts: Callable[[Any], bool] = lambda _: True) -> Callable[[Any], Measurement]:
    """p -> a measurement with the map d_in -> loss(p, d_in), refused where ``accepts`` says no.

    No search and what is asked of its result need it a thousand times.
    """
    calls = itertools.count()

    def make(p: Any) -> Measurement:
        assert next(calls) < 10_000, "the search does not end"
        if not accepts(p):
            raise ParameterError("p must be something else")
        return geometric_choice(privacy_map=lambda d_in: loss(p, Fraction(d_in)), parameters={"p": p})

    return make


def noise(p: Any, d_in: Fraction) -> Any:
    """The loss of noise of scale p: it falls."""
    return d_in / Fraction(p) if p else math.inf if d_in else 0


def budget(p: Any, d_in: Fraction) -> Any:
    """The loss of p steps, or of a budget p: it rises."""
    return d_in * Fraction(p)


@pytest.mark.parametrize("d_out", [0.1, 0.5, 1, 3, Fraction(1, 3), 1e-300, 2e-308, 1e300, 1e308, 7.3e-12])
@pytest.mark.parametrize("d_in", [1, 2, Fraction(1, 7), 0.3])
def test_a_float_scale_is_exact_to_the_last_ulp(d_in: Any, d_out: Any) -> None:
    make = maker(noise)
    found = binary_search_param(make, d_in, d_out)
    assert type(found) is float
    assert make(found).check(d_in, d_out)
    assert found == 0 or not make(math.nextafter(found, 0)).check(d_in, d_out)


@pytest.mark.parametrize("d_out", [0, 0.1, 0.5, 1, 3, Fraction(1, 3), TINY, 1e-308, 1e300])
@pytest.mark.parametrize("d_in", [1, 2, Fraction(1, 7), 0.3])
def test_a_float_budget_is_exact_to_the_last_ulp(d_in: Any, d_out: Any) -> None:
    make = maker(budget)
    found = binary_search_param(make, d_in, d_out)
    assert type(found) is float
    assert make(found).check(d_in, d_out)
    assert not make(math.nextafter(found, math.inf)).check(d_in, d_out)


@pytest.mark.parametrize("threshold", [TINY, 2.0**-1022, 1e-5, 1.0, 1.5, 2.0**53 + 2, 1e300, MAX])
def test_any_float_can_be_the_answer(threshold: float) -> None:
    falls = maker(lambda p, _: 0 if p >= threshold else 2)
    assert binary_search_param(falls, 1, 1) == threshold
    rises = maker(lambda p, _: 2 if p >= threshold else 0)
    assert binary_search_param(rises, 1, 1) == math.nextafter(threshold, 0)


@pytest.mark.further
@pytest.mark.parametrize("threshold", [1, 2, 3, 17, 1000, 2**53 + 1, 2**64 - 1, 10**30 + 7, 2**1100 + 12345])
def test_any_integer_can_be_the_answer(threshold: int) -> None:
    falls = maker(lambda p, _: 0 if p >= threshold else 2)
    rises = maker(lambda p, _: 2 if p >= threshold else 0)
    for make, answer in ((falls, threshold), (rises, threshold - 1)):
        found = binary_search_param(make, 1, 1, T=int)
        assert found == answer
        assert type(found) is int


@pytest.mark.further
def test_every_threshold_of_a_small_range_with_and_without_refusals() -> None:
    for low in range(4):
        for high in range(low, 12):
            for threshold in range(low + 1, high + 1):
                within = lambda p, low=low, high=high: low <= p <= high  # noqa: E731
                if not any(within(probe) for probe in (0, 1, 2, 4, 8)):
                    continue
                falls = maker(lambda p, _, t=threshold: 0 if p >= t else 2, within)
                assert binary_search_param(falls, 1, 1, T=int) == threshold
                rises = maker(lambda p, _, t=threshold: 2 if p >= t else 0, within)
                assert binary_search_param(rises, 1, 1, T=int) == threshold - 1


def test_a_number_of_winners_up_to_the_number_of_candidates() -> None:
    make = maker(budget, lambda k: 1 <= k <= 100)
    for d_out, k in ((1, 1), (55.5, 55), (99, 99), (100, 100), (1000, 100)):
        assert binary_search_param(make, 1, d_out, T=int) == k
    raises_exactly(SearchError, lambda: binary_search_param(make, 1, 0.5, T=int), "no parameter meets d_out")
    assert binary_search_param(maker(budget, lambda k: k == 1), 1, 5, T=int) == 1


def test_parameters_that_make_a_division_by_zero_are_refused_too() -> None:
    def make(epsilon: float) -> Measurement:
        scale = Fraction(1 / epsilon)
        return geometric_choice(privacy_map=lambda d_in: Fraction(d_in) / scale)

    found = binary_search_param(make, 1, 0.25)
    assert found == 0.25


def test_parameters_between_refusals_on_both_sides() -> None:
    open_interval = maker(lambda p, _: Fraction(p), lambda p: 0 < p < 1)
    assert binary_search_param(open_interval, 1, 0.9) == 0.9
    assert binary_search_param(open_interval, 1, 5) == math.nextafter(1, 0)
    falling = maker(lambda p, _: 1 - Fraction(p), lambda p: 0 < p < 1)
    assert binary_search_param(falling, 1, 0.25) == 0.75
    assert binary_search_param(falling, 1, 5) == TINY


@pytest.mark.quick(seed=(0, 1, 2, 3, 4))
@pytest.mark.parametrize("seed", range(20))
def test_random_staircases(seed: int) -> None:
    draw = random.Random(seed)
    steps = sorted(draw.randrange(1, 10 ** draw.randrange(1, 25)) for _ in range(6))
    rises = maker(lambda p, _: sum(p >= step for step in steps))
    falls = maker(lambda p, _: sum(p < step for step in steps))
    for d_out in range(6):
        assert binary_search_param(rises, 1, d_out, T=int) == steps[d_out] - 1
        assert binary_search_param(falls, 1, d_out, T=int) == steps[-1 - d_out]


@pytest.mark.further
@pytest.mark.parametrize("T", [int, float])
def test_what_is_returned_passes_even_where_the_map_is_not_monotone(T: type) -> None:
    for seed in range(50):
        make = maker(lambda p, _, seed=seed: random.Random(f"{seed} {p}").random(), lambda p: p != 4)
        try:
            found = binary_search_param(make, 1, 0.5, T=T)
        except SearchError:
            continue
        assert make(found).check(1, 0.5)


def test_the_chain_is_the_object_that_was_checked() -> None:
    built = []

    def make(p: float) -> Measurement:
        built.append(maker(noise)(p))
        return built[-1]

    found = binary_search_chain(make, 1, 0.25)
    assert any(found is link for link in built)
    assert found.parameters["p"] == 4.0


def test_transformations_are_searched_too() -> None:
    assert binary_search_param(lambda n: times(n), 2, 9, T=int) == 4
    assert binary_search_chain(lambda n: times(n), 2, 9, T=int).parameters["factor"] == 4


def test_pairs_of_distances() -> None:
    def make(p: float) -> Measurement:
        return geometric_choice(
            measure=Approximate(MaxDivergence()), privacy_map=lambda d_in: (noise(p, Fraction(d_in)), 0.0)
        )

    assert binary_search_param(make, 1, (0.5, 1e-6)) == 2.0


@pytest.mark.parametrize(
    ("call", "fragment"),
    [
        (lambda: binary_search_param(maker(noise), 1, 0), "no parameter meets d_out"),
        (lambda: binary_search_param(maker(lambda p, d: 1 + Fraction(p)), 1, 0.5), "no parameter meets d_out"),
        (lambda: binary_search_param(maker(noise), 0, 1), "every parameter meets d_out"),
        (lambda: binary_search_param(maker(noise), 1, math.inf), "every parameter meets d_out"),
        (lambda: binary_search_param(maker(lambda p, d: 0.25), 1, 1, T=int), "every parameter meets d_out"),
        (lambda: binary_search_param(maker(lambda p, d: 0.25, lambda p: p > 3), 1, 1), "every parameter meets d_out"),
        (lambda: binary_search_param(maker(lambda p, d: 0.25), 1, 0.1), "no parameter meets d_out"),
        (lambda: binary_search_param(maker(noise, lambda p: False), 1, 1), "T=int"),
        (lambda: binary_search_chain(maker(noise), 1, 0), "no parameter meets d_out"),
    ],
)
def test_searches_that_find_nothing_say_so(call: Any, fragment: str) -> None:
    raises_exactly(SearchError, call, fragment)


@pytest.mark.parametrize("search", [binary_search_param, binary_search_chain])
@pytest.mark.parametrize(
    ("arguments", "error", "fragment"),
    [
        ((3, 1, 1), ParameterTypeError, "make must be callable"),
        ((geometric_choice, 1, 1, str), ParameterTypeError, "T must be the type float or the type int"),
        ((maker(noise), 1, 1, bool), ParameterTypeError, "T must be the type"),
        ((maker(noise), 1, 1, 3), ParameterTypeError, "T must be the type"),
        ((lambda p: p, 1, 1), ParameterTypeError, "make must return a Measurement or a Transformation, not float"),
        (
            (lambda p: then_user_measurement(MaxDivergence(), function=len, privacy_map=float), 1, 1),
            ParameterTypeError,
            "not Partial",
        ),
        ((maker(noise), -1, 1), ParameterError, "d_in must be >= 0"),
        ((maker(noise), math.nan, 1), ParameterError, "d_in must be"),
        ((maker(noise), "1", 1), ParameterError, "d_in must be"),
        ((maker(noise), 1, -1), ParameterError, "d_out must be >= 0"),
        ((maker(noise), 1, math.nan), ParameterError, "d_out must be"),
        ((maker(noise), 1, True), ParameterError, "d_out must be"),
        ((maker(noise), 1, (1, 0)), ParameterError, "d_out must be"),
        ((maker(lambda p, d: -1), 1, 1), ForeignError, "the map's result"),
    ],
)
def test_bad_arguments(search: Any, arguments: Any, error: type[Exception], fragment: str) -> None:
    raises_exactly(error, lambda: search(*arguments), fragment)


@pytest.mark.parametrize("T", [float, int])
def test_nothing_outside_of_bounds_is_tried(T: type) -> None:
    """The answer is that without bounds where it lies within, else the accurate end where all within passes."""

    def within(low: int, high: int, loss: Loss = noise) -> Any:
        make = maker(loss, lambda p: low <= p <= high or pytest.fail("outside"))
        return binary_search_param(make, 1, 0.125, T=T, bounds=(T(low), T(high)))

    assert within(3, 100) == within(8, 8) == 8
    assert within(9, 12) == 9
    assert within(2, 7, lambda p, d: d * Fraction(p) / 80) == 7
    assert within(2, 90, lambda p, d: d * Fraction(p) / 80) == 10
    raises_exactly(SearchError, lambda: within(2, 7), "no parameter meets d_out")


@pytest.mark.parametrize("bounds", [1, (1,), (2, 1), (-1, 2), (math.nan, 1), ("1", 2), (0.5, math.inf)])
def test_bad_bounds(bounds: Any) -> None:
    with pytest.raises(ParameterError, match="bounds"):
        binary_search_param(maker(noise), 1, 1, bounds=bounds)
    with pytest.raises(ParameterTypeError, match="type int"):
        binary_search_param(maker(noise), 1, 1, T=int, bounds=(0.5, 2))


@pytest.mark.parametrize(
    ("options", "words"), [({"k": 51}, "k must be"), ({"optimize": "min "}, "optimize"), ({"kk": 1}, "kk")]
)
def test_what_a_constructor_says_is_passed_on(options: Any, words: str) -> None:
    space = VectorDomain(AtomDomain(int), size=50), COUNTS[1]

    def make(scale: float) -> Measurement:
        given = {"k": 2, "scale": scale, **options}
        built: Measurement = space >> then_report_noisy_top_k(MaxDivergence(), **given)
        return built

    with pytest.raises(SearchError, match=words) as raised:
        binary_search_param(make, 1, 1)
    assert isinstance(raised.value.__cause__, ParameterError)


def test_the_number_of_checks_is_small() -> None:
    calls = []

    def make(p: Any) -> Measurement:
        calls.append(p)
        return maker(noise)(p)

    binary_search_param(make, 1, 0.1)
    assert len(calls) <= 120
