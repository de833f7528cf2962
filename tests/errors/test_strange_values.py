"""Values that once ended in an error of Python or NumPy, by name: each is refused in the library's own words.

Tries proofs/errors/checks.tex.
"""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.errors import ParameterError, ParameterTypeError
from tests.concepts.sentinels import raises_exactly

SPACE = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
PURE = tk.MaxDivergence()
LONG = (10**5000, Fraction(1, 10**5000))
NO_NUMBERS = (
    np.array(1),
    np.array(1.5),
    np.timedelta64(3),
    np.timedelta64(3, "s"),
    np.datetime64(1, "s"),
    np.array(True),
)
MEASURES = (PURE, tk.RangeDivergence(), tk.ZeroConcentratedDivergence(), tk.PrivacyProfile())


def top(**more: Any) -> tk.Measurement:
    built: tk.Measurement = SPACE >> tk.then_report_noisy_top_k(PURE, **{"k": 1, "scale": 1.0, **more})
    return built


@pytest.mark.parametrize("name", ["scale", "k"])
def test_long_numbers_and_what_is_none_are_no_parameters(name: str) -> None:
    for value in LONG:
        with pytest.raises(ParameterError):
            top(**{name: value})
    for value in NO_NUMBERS:
        raises_exactly(ParameterTypeError, lambda value=value: top(**{name: value}), f"{name} must be")


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_long_numbers_and_what_is_none_are_no_distances(measure: tk.Measure) -> None:
    measurement = SPACE >> tk.then_report_noisy_top_k(measure, k=1, scale=1.0)
    for value in (*LONG, *NO_NUMBERS):
        raises_exactly(ParameterError, lambda value=value: measurement.map(value), "d_in must be")


@pytest.mark.further
def test_a_number_that_can_be_written_is_one() -> None:
    assert top(scale=Fraction(1, 3**2000)).map(1) == float("inf")
    assert top(scale=10**4000).map(1) > 0


@pytest.mark.parametrize("strange", [np.arange(3), np.array(1), [1, 2], {"a": 1}], ids=repr)
def test_arrays_are_no_measures_metrics_or_domains(strange: Any) -> None:
    for make in (tk.make_fully_adaptive_composition, tk.make_permute_and_flip):
        more = {"scale": 1.0} if make is tk.make_permute_and_flip else {}
        with pytest.raises(ParameterTypeError):
            make(*SPACE, strange, **more)  # type: ignore[operator]
    raises_exactly(ParameterTypeError, lambda: tk.Measurement(SPACE[0], strange, PURE, len, len), "input_metric")
    raises_exactly(ParameterTypeError, lambda: tk.Measurement(strange, SPACE[1], PURE, len, len), "input_domain")
    raises_exactly(ParameterTypeError, lambda: tk.Measurement(*SPACE, strange, len, len), "output_measure")
    raises_exactly(ParameterTypeError, lambda: tk.Measurement(*SPACE, PURE, strange, len), "function")


def test_frames_are_no_kinds_of_release() -> None:
    pl = pytest.importorskip("polars")
    raises_exactly(ParameterTypeError, lambda: top(release=pl.DataFrame({"a": [1]})), "release must be")


@pytest.mark.parametrize("precision", [0, 1, -1, 2**40, 0.5, None])
def test_intervals_have_a_precision(precision: Any) -> None:
    with pytest.raises(ParameterError, match="precision must be"):
        tk.noise.Intervals(precision)


@pytest.mark.parametrize("strange", [np.array(1), 7, None])
def test_what_one_cannot_go_through_is_no_list(strange: Any) -> None:
    if strange is not None:  # which means the candidates that were counted
        raises_exactly(ParameterError, lambda: tk.index_candidates(strange), "must be a list")
    raises_exactly(ParameterTypeError, lambda: tk.make_composition(strange), "must be a list")
