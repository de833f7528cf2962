"""What all tests share: small spaces, and measurements whose laws can be computed by hand."""

from __future__ import annotations

import pytest

from opendp_topk.spaces.domains import AtomDomain, VectorDomain
from opendp_topk.spaces.metrics import LInfDistance, Metric

Space = tuple[VectorDomain, Metric]


@pytest.fixture
def counts() -> Space:
    """Vectors of integers, all scores moving the same way."""
    return VectorDomain(AtomDomain(int)), LInfDistance(monotonic=True)


@pytest.fixture
def floats() -> Space:
    """Vectors of floats."""
    return VectorDomain(AtomDomain(float)), LInfDistance()
