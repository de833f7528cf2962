"""Long arrays of scores are surveyed: checked as the domain checks them, grouped, and never widened."""

import tracemalloc
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.numerics.surveyed import GROUP
from opendp_topk.spaces.domains import find_block_maxima
from tests.concepts.sentinels import raises_exactly

INTEGERS = tk.VectorDomain(tk.AtomDomain(int))
FLOATS = tk.VectorDomain(tk.AtomDomain(float))
BOUNDED = tk.VectorDomain(tk.AtomDomain(float, bounds=(-3.0, 2.0)))
SMALL = tk.VectorDomain(tk.AtomDomain(int, bounds=(-7, 2**60)), size=140_001)
D = 140_001
TYPES = [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64, np.float16, np.float32, np.float64]


def _scores(dtype: Any, seed: int = 0) -> Any:
    generator = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return generator.normal(0, 100, D).astype(dtype)
    ends = np.iinfo(dtype)
    return generator.integers(ends.min, ends.max, D, dtype=dtype, endpoint=True)


@pytest.mark.quick(dtype=("int8", "float32"), sign=1)
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: dtype.__name__)
def test_a_survey_has_the_best_of_each_group_in_the_type_of_the_scores(dtype: Any, sign: int) -> None:
    scores = _scores(dtype)
    seen = find_block_maxima(FLOATS if scores.dtype.kind == "f" else INTEGERS, scores, sign)
    assert seen.values is scores
    assert (seen.sign, len(seen), seen.best.dtype) == (sign, D, scores.dtype)
    groups = [scores[start : start + GROUP].tolist() for start in range(0, D, GROUP)]
    assert seen.best.tolist() == [max(group) if sign > 0 else min(group) for group in groups]


@pytest.mark.quick(value="-inf", place=(0, "65536"), sign=(1, -1))
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("place", [0, 65_535, 65_536, 131_071, D - 1])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_one_number_that_is_not_finite_is_found_wherever_it_is(value: float, place: int, sign: int) -> None:
    for dtype in (np.float32, np.float64):
        scores = _scores(dtype)
        scores[place] = value
        assert find_block_maxima(FLOATS, scores, sign) is None
    select = (FLOATS, tk.LInfDistance()) >> tk.then_report_noisy_top_k(
        tk.MaxDivergence(), k=3, scale=1.0, optimize="max" if sign > 0 else "min"
    )
    raises_exactly(tk.errors.DataError, lambda: select(scores))


@pytest.mark.quick(dtype="float64", sign=1)
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64], ids=lambda dtype: dtype.__name__)
def test_scores_without_a_sign_are_surveyed_as_those_with_one(dtype: Any, sign: int) -> None:
    """The best of each group, whatever has a sign, zeros too; and what is not finite is found, signed or not."""
    plain = abs(_scores(dtype))
    for place, value in ((0, 1), (GROUP, -1), (D - 1, -2), (131_072, -0.0), (131_071, 0.0), (5, np.finfo(dtype).max)):
        scores = plain.copy()
        scores[place] = value
        scores[131_072 : 131_072 + GROUP] *= -1
        seen = find_block_maxima(FLOATS, scores, sign)
        assert seen is not None
        groups = [scores[start : start + GROUP].tolist() for start in range(0, D, GROUP)]
        assert seen.best.tolist() == [max(group) if sign > 0 else min(group) for group in groups]
    for place in (0, GROUP, 131_071, 131_072, D - 1):
        for value in (np.inf, -np.inf, np.nan, -np.nan):
            scores = plain.copy()
            scores[place] = value
            assert find_block_maxima(FLOATS, scores, sign) is None


@pytest.mark.parametrize("sign", [1, -1])
def test_bounds_are_compared_exactly(sign: int) -> None:
    inside = np.clip(_scores(np.float64) / 100, -3.0, 2.0)
    assert find_block_maxima(BOUNDED, inside, sign) is not None
    for place, value in ((5, np.nextafter(2.0, 3)), (D - 1, np.nextafter(-3.0, -4))):
        outside = inside.copy()
        outside[place] = value
        assert find_block_maxima(BOUNDED, outside, sign) is None
        assert not BOUNDED.member(outside)
    counts = np.arange(D) - 7
    counts[100] = 2**60
    assert find_block_maxima(SMALL, counts, sign) is not None
    for value in (2**60 + 1, -8):
        counts[100] = value
        assert find_block_maxima(SMALL, counts, sign) is None
    assert find_block_maxima(SMALL, (np.arange(D - 1) - 7), sign) is None


@pytest.mark.parametrize(
    "value",
    [
        np.zeros((1, D)),
        np.zeros(2 * D)[::2],
        np.zeros(D, dtype=">f8"),
        np.zeros(D, dtype=np.longdouble),
        np.ma.zeros(D),
        np.zeros(D, dtype=bool),
        np.zeros(D, dtype=np.int64),
        np.zeros(100),
        [0.0] * D,
        None,
    ],
    ids=lambda value: getattr(getattr(value, "dtype", None), "str", type(value).__name__),
)
def test_whatever_is_not_plain_is_left_to_the_domain(value: Any) -> None:
    assert find_block_maxima(FLOATS, value, 1) is None


def test_a_domain_of_a_derived_class_is_asked_itself() -> None:
    """It may refuse more than its parent does."""

    class Small(tk.VectorDomain):
        def validate(self, value: Any) -> Any:
            if np.max(value) > 10:
                raise tk.errors.DataError("too large")
            return super().validate(value)

    class Elements(tk.AtomDomain):
        pass

    scores = np.full(D, 100.0)
    assert find_block_maxima(FLOATS, scores, 1) is not None
    assert find_block_maxima(Small(tk.AtomDomain(float)), scores, 1) is None
    assert find_block_maxima(tk.VectorDomain(Elements(float)), scores, 1) is None
    best = (Small(tk.AtomDomain(float)), tk.RangeDistance()) >> tk.then_permute_and_flip(tk.MaxDivergence(), scale=1.0)
    raises_exactly(tk.errors.DataError, lambda: best(scores), "too large")


@pytest.mark.slow
def test_narrow_scores_are_not_widened() -> None:
    """Beyond the scores themselves a release needs little, whatever their type."""
    for dtype in (np.float32, np.int32, np.int8):
        scores = (np.arange(2 * 10**6) % 101).astype(dtype)
        domain = FLOATS if scores.dtype.kind == "f" else INTEGERS
        select = (domain, tk.LInfDistance()) >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=10, scale=0.1)
        select(scores)
        tracemalloc.start()
        select(scores)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 8 * len(scores) // 2
