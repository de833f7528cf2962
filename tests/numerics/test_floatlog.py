"""The vectorised logarithms enclose the true ones, and closely."""

from __future__ import annotations

import math
import random

import mpmath
import numpy as np
import pytest

from opendp_topk.numerics.floats import log_bounds, minus_log1m_bounds

DIGITS = 60


def _adversarial() -> list[float]:
    powers = [math.ldexp(1.0, e) for e in range(-1074, 1024, 7)]
    edges = [0.5 + cell / 8192 for cell in (*range(0, 4096, 97), 4095)]
    centres = [0.5 + (cell + 0.5) / 8192 for cell in range(0, 4096, 89)]
    near = [*powers, *edges, *centres, 1.0, 2.0, math.e, 1e308]
    around = [y for x in near for y in (math.nextafter(x, 0), x, math.nextafter(x, math.inf))]
    subnormal = [5e-324, 1e-323, 2.5e-320, 2.2250738585072009e-308]
    return [x for x in [*around, *subnormal, 1.7976931348623157e308] if 0 < x < math.inf]


def _random(seed: int, lowest: float, highest: float, n: int) -> list[float]:
    rng = random.Random(seed)
    return [rng.uniform(1, 2) * 2.0 ** rng.uniform(lowest, highest) for _ in range(n)]


@pytest.mark.further
@pytest.mark.parametrize(
    "points",
    [_adversarial(), _random(1, -1074, 1022, 4000), _random(2, -1, 1, 4000), _random(3, -0.01, 0.01, 4000)],
    ids=["adversarial", "all magnitudes", "near one", "very near one"],
)
def test_log_bounds_enclose_the_logarithm_within_their_promise(points: list[float]) -> None:
    x = np.array(points)
    lower, upper = log_bounds(x, x)
    with mpmath.workdps(DIGITS):
        for point, below, above in zip(points, lower.tolist(), upper.tolist(), strict=True):
            true = mpmath.log(mpmath.mpf(point))
            promised = (abs(true) + 1) * mpmath.mpf(2) ** -49
            assert true - promised <= below <= true <= above <= true + promised


def test_log_bounds_take_each_end_from_its_own_argument() -> None:
    lower, upper = log_bounds(np.array([1.0, 2.0]), np.array([8.0, 2.0]))
    assert lower == pytest.approx([0, math.log(2)], abs=1e-14)
    assert upper == pytest.approx([math.log(8), math.log(2)], abs=1e-14)


def test_logarithms_of_zero_and_infinity() -> None:
    ends = np.array([0.0, math.inf])
    for bound in log_bounds(ends, ends):
        assert bound.tolist() == [-math.inf, math.inf]


@pytest.mark.further
def test_minus_log1m_bounds_are_relative_however_small_the_argument() -> None:
    rng = random.Random(4)
    points = [2.0**-6, 2.0**-7, 5e-324, 1e-323, 2.0**-1022, 2.0**-1060, 2.0**-53, 2.0**-30]
    points += [rng.uniform(0.5, 1) * 2.0 ** rng.uniform(-1070, -6) for _ in range(3000)]
    points += [rng.uniform(0, 2.0**-6) for _ in range(3000)]
    v = np.array([min(point, 2.0**-6) for point in points])
    lower, upper = minus_log1m_bounds(v, v)
    with mpmath.workdps(DIGITS):
        for point, below, above in zip(v.tolist(), lower.tolist(), upper.tolist(), strict=True):
            true = -mpmath.log1p(-mpmath.mpf(point))
            promised = true * mpmath.mpf(2) ** -47 + mpmath.mpf(2) ** -1070
            assert true - promised <= below <= true <= above <= true + promised


def test_minus_log1m_of_zero_is_zero_below() -> None:
    lower, upper = minus_log1m_bounds(np.zeros(1), np.zeros(1))
    assert lower[0] == 0
    assert 0 <= upper[0] < 1e-300
