"""Shortfalls against their definition, in exact rationals."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from opendp_topk.sampling.distributions.joint import score_deficits
from tests.samplers.adversaries import canonical

CASES: list[list[Any]] = [
    [3, 1, 2, 2, 5],
    [0, 0, 0],
    [7],
    [-4, 2**62, -(2**62), 2**63 - 1, -(2**63)],
    [2**64 - 1, 0, 2**63, 1],
    [10**30, -(10**30), 10**30 + 1],
    [0.5, 0.25, -3.0, 0.1, 0.1, 1e3],
    [0.0, -0.0, 0.0],
    [1e308, -1e308, 5e-324, 0.0, 1.0],
    [5e-324, 1e-323, 1.5e-323, 0.0],
    [2.0**53, 2.0**53 + 2, 1.0, 3.0],
    [2.0**60, 2.0**60 + 2**8, 0.0],
    [2.0**61, 1.0, -(2.0**61), 0.5],
    [0.1, 0.30000000000000004, 0.2, 1e-9, 1024.0, 1e17],
]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("scores", CASES, ids=repr)
def test_shortfalls_are_exact(scores: list[Any], sign: int) -> None:
    found = score_deficits(canonical(scores), sign)
    x = [sign * Fraction(score) for score in scores]
    below = sorted(max(x) - y for y in x)
    assert [step * found.unit for step in found.steps.tolist()] == below
    assert found.steps.dtype == object or int(found.steps[-1]) < 2**62


@pytest.mark.parametrize(("scale", "kind"), [(1.0, np.int64), (2.0**-1060, np.int64), (2.0**8, object)])
def test_numbers_stay_small_where_they_can(scale: float, kind: type) -> None:
    values = np.array([2.0**53, 1.0, 2.0**52 + 1]) * np.array([scale, min(scale, 1.0), scale])
    assert score_deficits(values, 1).steps.dtype == kind
