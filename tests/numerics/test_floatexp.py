"""The bound on exponentials, at ends, near multiples of ln 2 / 2 and at random."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from opendp_topk.numerics.floats import exp, exp_mantissa_power


def arguments(limit: float) -> np.ndarray:
    generator = np.random.default_rng(1)
    half = np.log(2) / 2 * np.arange(-40, 41)
    edges = np.concatenate([half, np.nextafter(half, 1e9), np.nextafter(half, -1e9)])
    small = [0.0, 1e-300, -1e-300, 5e-324, 2.0**-54, -(2.0**-54), limit, -limit]
    return np.concatenate([small, edges, generator.uniform(-limit, limit, 3000), generator.uniform(-1, 1, 3000)])


def test_the_relative_error_of_exp() -> None:
    y = arguments(700.0)
    with mpmath.workprec(120):
        errors = [
            abs(mpmath.mpf(a) / mpmath.exp(mpmath.mpf(b)) - 1) for a, b in zip(exp(y).tolist(), y.tolist(), strict=True)
        ]
    assert max(errors) <= 2.0**-50


@pytest.mark.further
def test_the_relative_error_of_parts() -> None:
    y = arguments(2.0**19)
    mantissas, powers = exp_mantissa_power(y)
    assert (mantissas > 0.5).all()
    assert (mantissas < 2).all()
    with mpmath.workprec(160):
        for m, n, b in zip(mantissas.tolist(), powers.tolist(), y.tolist(), strict=True):
            assert abs(mpmath.ldexp(mpmath.mpf(m), n) / mpmath.exp(mpmath.mpf(b)) - 1) <= 2.0**-50
    assert exp_mantissa_power(np.zeros(1)) == (np.ones(1), np.zeros(1))
