"""The rule and its error bound, on integrals that are known."""

from __future__ import annotations

import numpy as np
import pytest

from opendp_topk.errors import CapacityError
from opendp_topk.sampling.distributions.quadrature import MOST_PANELS, gauss_legendre_rule, integral_bounds

ENDS = 2.0 ** np.linspace(-30, 2, 4 * 32 + 1)


def test_polynomials_and_steep_functions() -> None:
    def power(n: int) -> tuple[float, float]:
        return integral_bounds(
            ENDS, lambda x, left, right: (x**n, x**n * (1 + 1e-15)), lambda low, high, left, right: high**n
        )

    for n in (0, 1, 7, 40, 300):
        low, high = power(n)
        true = (4.0 ** (n + 1) - ENDS[0] ** (n + 1)) / (n + 1)
        assert low <= true * (1 + 1e-13)
        assert true * (1 - 1e-13) <= high


def test_exponentials() -> None:
    for rate in (0.1, 3.0, 200.0):
        low, high = integral_bounds(
            ENDS,
            lambda x, left, right, r=rate: (r * np.exp(-r * x) * (1 - 1e-13), r * np.exp(-r * x) * (1 + 1e-13)),
            lambda low, high, left, right, r=rate: r * np.exp(-r * low),
        )
        true = np.exp(-rate * ENDS[0]) - np.exp(-rate * ENDS[-1])
        assert low <= true <= high
        assert high - low < 1e-10


def test_what_cannot_be_resolved_is_said_to_be_wide_or_refused() -> None:
    """A bound that never shrinks: either an error, or an enclosure that still holds."""
    with pytest.raises(CapacityError, match="too many panels"):
        integral_bounds(ENDS, lambda x, left, right: (x, x), lambda low, high, left, right: np.full_like(low, np.inf))


def test_no_round_has_more_panels_than_the_error_allows() -> None:
    def constant(n: int) -> tuple[float, float]:
        ends = np.linspace(1, 2, n + 1)
        return integral_bounds(
            ends, lambda x, left, right: (x / x, x / x), lambda low, high, left, right: np.ones_like(low)
        )

    low, high = constant(MOST_PANELS)
    assert 1 - 1e-9 <= low <= 1 <= high <= 1 + 1e-9
    with pytest.raises(CapacityError, match="too many panels"):
        constant(MOST_PANELS + 1)


def test_the_rule_is_checked() -> None:
    nodes, weights = gauss_legendre_rule()
    assert len(nodes) == len(weights) == 12
    assert (np.abs(nodes) < 1).all()
    assert (weights > 0).all()
