"""Measurements that the caller vouches for."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from opendp_topk.core.candidates import index_candidates
from opendp_topk.errors import ForeignError, ParameterTypeError, SpaceError
from opendp_topk.measurements.user import make_user_measurement, then_user_measurement
from opendp_topk.spaces.domains import AtomDomain, FrameDomain, VectorDomain
from opendp_topk.spaces.measures import Approximate, MaxDivergence
from opendp_topk.spaces.metrics import LInfDistance, UserDistance
from opendp_topk.transformations.user import make_user_transformation

from ..concepts.examples import COUNTS, geometric_choice
from ..concepts.sentinels import raises_exactly

GOOD = {"function": len, "privacy_map": Fraction}


@pytest.mark.parametrize(
    ("result", "rounded"), [(Fraction(1, 3), math.nextafter(1 / 3, 1)), (2, 2.0), (0.1, 0.1), (math.inf, math.inf)]
)
def test_results_of_the_map_are_rounded_up_to_floats(result: Any, rounded: float) -> None:
    found = geometric_choice(privacy_map=lambda _: result).map(1)
    assert isinstance(found, float)
    assert found == rounded >= result


@pytest.mark.parametrize("result", [-1, -5e-324, math.nan, "1", None, True, 1j, (1.0, 0.1), np.array([1.0, 2.0])])
def test_results_of_the_map_that_are_no_distance(result: Any) -> None:
    measurement = geometric_choice(privacy_map=lambda _: result)
    raises_exactly(ForeignError, lambda: measurement.map(1), "the map's result", "correct the supplied map")
    raises_exactly(ForeignError, lambda: measurement.check(1, 1), "the map's result")


@pytest.mark.parametrize("result", [1.0, (1.0, 2.0), (1.0, -0.1), (math.nan, 0.1), [1.0, 0.1]])
def test_approximate_maps_must_return_pairs(result: Any) -> None:
    measurement = geometric_choice(measure=Approximate(MaxDivergence()), privacy_map=lambda _: result)
    raises_exactly(ForeignError, lambda: measurement.map(1), "the map's result")


def test_approximate_distances() -> None:
    measurement = geometric_choice(
        measure=Approximate(MaxDivergence()), privacy_map=lambda d_in: (Fraction(d_in) / 3, Fraction(d_in) / 7)
    )
    epsilon, delta = measurement.map(1)
    assert epsilon > Fraction(1, 3) > Fraction(math.nextafter(epsilon, 0))
    assert delta > Fraction(1, 7) > Fraction(math.nextafter(delta, 0))
    assert measurement.check(1, (epsilon, delta))
    assert not measurement.check(1, (math.nextafter(epsilon, 0), 1.0))
    assert not measurement.check(1, (math.inf, math.nextafter(delta, 0)))


@pytest.mark.parametrize(
    ("call", "error", "fragment"),
    [
        (lambda: geometric_choice(distribution={0: 1}), ParameterTypeError, "distribution must be callable"),
        (lambda: geometric_choice(accuracy=0.5), ParameterTypeError, "accuracy must be callable"),
        (lambda: geometric_choice(parameters=3), ParameterTypeError, "parameters must be a mapping"),
        (lambda: geometric_choice((COUNTS[0], UserDistance())), SpaceError, "UserDistance"),
        (lambda: geometric_choice((FrameDomain("u", "i"), LInfDistance())), SpaceError, "FrameDomain"),
        (lambda: geometric_choice((AtomDomain(int), LInfDistance())), SpaceError, "AtomDomain(int)"),
        (lambda: then_user_measurement(MaxDivergence()), ParameterTypeError, "then_user_measurement: missing"),
        (lambda: then_user_measurement(MaxDivergence(), scale=1, **GOOD), ParameterTypeError, "its signature is"),
    ],
)
def test_bad_arguments(call: Any, error: type[Exception], fragment: str) -> None:
    raises_exactly(error, call, fragment)


def test_the_function_receives_the_validated_value() -> None:
    seen = []
    measurement = geometric_choice((VectorDomain(AtomDomain(int), size=2), LInfDistance()), function=seen.append)
    measurement([1, 2**63])
    assert seen[0].dtype == np.uint64


def test_a_known_size_is_the_number_of_candidates() -> None:
    space = VectorDomain(AtomDomain(int), size=3), LInfDistance()
    last = make_user_measurement(*space, MaxDivergence(), function=lambda x: len(x) - 1, privacy_map=lambda d_in: 0.0)
    doubled = make_user_transformation(*space, *space, function=lambda x: 2 * x, stability_map=lambda d_in: 2 * d_in)
    assert (doubled >> last >> index_candidates(["ash", "birch", "cedar"]))([1, 2, 3]) == "cedar"
