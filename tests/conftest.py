"""What all tests share: small spaces, and how the instances of a test are shared out among the tiers."""

from __future__ import annotations

from typing import Any

import pytest

from opendp_topk.spaces.domains import AtomDomain, VectorDomain
from opendp_topk.spaces.metrics import LInfDistance, Metric

from . import places

Space = tuple[VectorDomain, Metric]

# Slow tests that are traced where coverage is counted: of pages, plots, servers, Spark and commands, which quick tests
# leave out. Others compute for minutes what quick tests cover but for a few lines, and tracing doubles their time.
TRACED = (
    "tests/audit/test_html.py",
    "tests/audit/test_lemmas.py",
    "tests/cli/",
    "tests/combinators/test_spark_groups.py",
    "tests/ledger/",
    "tests/planning/test_comparison.py",
    "tests/planning/test_cost_plots.py",
    "tests/planning/test_recommendation.py",
    "tests/measurements/test_spark_scores.py",
    "tests/tables/",
)


def pytest_configure() -> None:
    """Before any temporary folder is made."""
    places.settle()


@pytest.fixture
def counts() -> Space:
    """Vectors of integers, all scores moving the same way."""
    return VectorDomain(AtomDomain(int)), LInfDistance(monotonic=True)


@pytest.fixture
def floats() -> Space:
    """Vectors of floats."""
    return VectorDomain(AtomDomain(float)), LInfDistance()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a test that is marked ``quick(name=values)``, the instances with other parameters are slow.

    Where coverage is counted, slow tests that are not :data:`TRACED` are run without it.
    """
    for item in items:
        for mark in item.iter_markers("quick"):
            given = item.callspec.params  # type: ignore[attr-defined]
            if not all(_among(given[name], values) for name, values in mark.kwargs.items()):
                item.add_marker(pytest.mark.slow)
    if config.pluginmanager.hasplugin("_cov"):
        for item in items:
            if item.get_closest_marker("slow") and not item.nodeid.startswith(TRACED):
                item.add_marker(pytest.mark.no_cover)


def _among(value: Any, values: Any) -> bool:
    """Whether a parameter is one of ``values``, or is shown as one of them."""
    listed = values if isinstance(values, tuple) else (values,)
    return str(getattr(value, "__name__", value)) in map(str, listed)
