"""Faults in what is done at sizes that few tests reach: very large, very small, just above a power of two."""

from __future__ import annotations

from tests.mutation.fault import Fault

FAULTS = (
    Fault(
        "depth-before-rounding",
        "the depth of cells is subtracted before the largest exponent is rounded, so that some cells are never drawn",
        "sampling/samplers/canonical.py",
        "    top = max(0.0, float(np.ceil(np.max(powers))))  # [top]",
        "    top = max(0.0, float(np.max(powers)))  # [top]",
    ),
    Fault(
        "finalists-while-flushing",
        "a thread that flushes subnormal floats compares finalists whose digits others drew",
        "sampling/samplers/merge.py",
        "    require_subnormals()  # [no-flushing]\n",
        "",
    ),
    Fault(
        "table-while-flushing",
        "a thread that flushes subnormal floats leaves a table of quantiles to others",
        "sampling/samplers/quantile_tables.py",
        "    require_subnormals()  # [no-flushing]\n",
        "",
    ),
    Fault(
        "survey-of-derived-domains",
        "long scores are surveyed where a derived class of the elements would refuse them",
        "spaces/domains.py",
        "    return own and fits",
        "    return fits",
    ),
    Fault(
        "panels-of-the-first-round",
        "the first round of an integral may have any number of panels",
        "sampling/distributions/quadrature.py",
        "        if len(left) > MOST_PANELS:  # [panels]",
        "        if turn and len(left) > MOST_PANELS:  # [panels]",
    ),
    Fault(
        "users-at-the-bound",
        "a table with 2^32 users, and one more, is counted",
        "tables/guard.py",
        "    if not found < 2.0**exponent:",
        "    if found > 2.0**exponent:",
    ),
)
