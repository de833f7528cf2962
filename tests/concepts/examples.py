"""Small links whose laws and maps can be computed by hand."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from opendp_topk.core.measurement import Measurement
from opendp_topk.core.transformation import Transformation
from opendp_topk.measurements.user import make_user_measurement
from opendp_topk.spaces.domains import AtomDomain, VectorDomain
from opendp_topk.spaces.measures import MaxDivergence, Measure
from opendp_topk.spaces.metrics import LInfDistance, Metric
from opendp_topk.transformations.user import make_user_transformation

COUNTS = VectorDomain(AtomDomain(int)), LInfDistance(monotonic=True)


def geometric_choice(space: tuple[Any, Metric] = COUNTS, measure: Measure | None = None, **options: Any) -> Measurement:
    """Chooses index i with a probability proportional to 2^(score i / 1): exact rationals, loss d_in * ln 2 or less.

    The function itself is not random: it returns the likeliest index, which is all that chains need.
    """
    return make_user_measurement(
        *space,
        MaxDivergence() if measure is None else measure,
        **{
            "function": lambda scores: int(np.argmax(scores)),
            "privacy_map": lambda d_in: Fraction(d_in),
            "parameters": {"k": 1, "scale": 1},
            "distribution": lambda scores: powers(scores.tolist()),
            "accuracy": lambda n_candidates, alpha: float(n_candidates) / float(alpha),
        }
        | options,
    )


def powers(scores: list[int]) -> dict[int, Fraction]:
    """The law with weights 2^score, exactly."""
    weights = [Fraction(2) ** score for score in scores]
    return {index: weight / sum(weights) for index, weight in enumerate(weights)}


def times(
    factor: int, space: tuple[Any, Metric] = COUNTS, stability: Callable[[Any], Any] | None = None
) -> Transformation:
    """Multiplies every score."""
    functions = {"function": lambda scores: factor * scores, "stability_map": stability or (lambda d_in: factor * d_in)}
    return make_user_transformation(*space, *space, **functions, parameters={"factor": factor})
