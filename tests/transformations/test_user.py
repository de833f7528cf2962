"""Transformations that the caller vouches for."""

import math
from typing import Any

import numpy as np
import pytest

from opendp_topk.errors import ForeignError, ParameterTypeError, SpaceError
from opendp_topk.spaces.domains import AtomDomain, FrameDomain, VectorDomain
from opendp_topk.spaces.metrics import LInfDistance, UserDistance
from opendp_topk.transformations.user import make_user_transformation, then_user_transformation

from ..concepts.examples import COUNTS, times
from ..concepts.sentinels import raises_exactly

FLOATS = VectorDomain(AtomDomain(float)), LInfDistance()
GOOD = {"function": len, "stability_map": float}


def test_a_change_of_domain_and_metric() -> None:
    to_floats = make_user_transformation(
        *COUNTS, *FLOATS, function=lambda x: x.astype(float), stability_map=lambda d_in: d_in
    )
    assert to_floats([1, 2]).dtype == np.float64
    assert "output_domain" in repr(to_floats)


@pytest.mark.parametrize("result", [-1, math.nan, "1", None, True, (1.0, 0.1)])
def test_results_of_the_map_that_are_no_distance(result: Any) -> None:
    transformation = times(2, stability=lambda _: result)
    raises_exactly(ForeignError, lambda: transformation.map(1), "the map's result", "correct the supplied map")
    raises_exactly(ForeignError, lambda: transformation.check(1, 1), "the map's result")


@pytest.mark.parametrize(
    ("call", "error", "fragment"),
    [
        (lambda: make_user_transformation(*COUNTS, int, COUNTS[1], **GOOD), ParameterTypeError, "output_domain"),
        (lambda: make_user_transformation(*COUNTS, COUNTS[0], 1, **GOOD), ParameterTypeError, "output_metric"),
        (lambda: times(1, (FrameDomain("u", "i"), LInfDistance())), SpaceError, "FrameDomain"),
        (lambda: make_user_transformation(*COUNTS, COUNTS[0], UserDistance(), **GOOD), SpaceError, "output_metric"),
        (
            lambda: make_user_transformation(*COUNTS, *COUNTS, function=1, stability_map=float),
            ParameterTypeError,
            "function must be callable",
        ),
        (
            lambda: make_user_transformation(*COUNTS, *COUNTS, function=len, stability_map=1),
            ParameterTypeError,
            "stability_map must be callable",
        ),
        (
            lambda: make_user_transformation(*COUNTS, *COUNTS, parameters=[3], **GOOD),
            ParameterTypeError,
            "parameters must be a mapping",
        ),
        (lambda: then_user_transformation(*COUNTS), ParameterTypeError, "then_user_transformation: missing"),
    ],
)
def test_bad_arguments(call: Any, error: type[Exception], fragment: str) -> None:
    raises_exactly(error, call, fragment)
