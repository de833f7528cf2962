"""What all tests share: small spaces, and how the instances of a test are shared out among the tiers."""

from __future__ import annotations

from typing import Any

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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test that is marked ``quick(name=values)``, the instances with other parameters are slow."""
    for item in items:
        for mark in item.iter_markers("quick"):
            given = item.callspec.params  # type: ignore[attr-defined]
            if not all(_among(given[name], values) for name, values in mark.kwargs.items()):
                item.add_marker(pytest.mark.slow)


def _among(value: Any, values: Any) -> bool:
    """Whether a parameter is one of ``values``, or is shown as one of them."""
    listed = values if isinstance(values, tuple) else (values,)
    return str(getattr(value, "__name__", value)) in map(str, listed)
