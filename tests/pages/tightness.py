"""The table of docs/tightness.md: what each map claims, and the largest loss that the exact verifier finds."""

import functools

from opendp_topk.apps.audit import Report, shipped
from opendp_topk.apps.audit.report import claimed_limit
from opendp_topk.spaces.domains import FrameDomain
from opendp_topk.spaces.measures import Approximate
from opendp_topk.spaces.metrics import LInfDistance

HEADER = """# How tight the privacy maps are

The table compares the loss that each map claims with the largest loss that the exact verifier found on neighbours, at
scale 1, under `LInfDistance(monotonic=True)` with d_in = 1, for 3 or 4 candidates. Exceptions are noise on all scores
(`L1Distance()` and `L2Distance()` with d_in = 2), histograms and running sums (`L01InfDistance(changes=2)`), normalised
scores (`PerCandidateDistance` with bounds 99, 1 and 1) and unknown domains (counts by key). For (epsilon, delta), delta
is compared at the claimed epsilon. A ratio of 1 means that the map is tight. If it is smaller, another pair may have a
larger loss; the proofs state which maps are exact suprema. Quantiles of [many numbers](#quantiles-of-many-numbers)
have larger losses. Written by `python -m tests.pages`.
"""


@functools.cache
def all_examples() -> tuple[shipped.Example, ...]:
    """Every shipped example, made once a process."""
    return tuple(shipped.shipped_examples())


def claim_columns(example: shipped.Example) -> tuple[str, ...] | None:
    """Return the table's columns that depend on no search; None for a row to omit, such as without distribution."""
    measurement = example.measurement
    merged = example.constructor in shipped.MERGED
    unlisted = isinstance(measurement.input_domain, FrameDomain) or (measurement.declared.law is None and not merged)
    if measurement.input_metric == LInfDistance() or unlisted:
        return None
    own = ", ".join(f"{name}={value}" for name, value in example.arguments.items() if name != "scale")
    d_in, measure = shipped.DISTANCES.get(example.constructor, 1), measurement.output_measure
    named = f"{measure.symbol}" if isinstance(measure, Approximate) else type(measure).__name__
    return f"`{example.constructor}`", own, named, f"{claimed_limit(measurement.map(d_in)):.6g}"


def tightness_table(found: list[tuple[shipped.Example, Report | None]]) -> str:
    """Return the results of :func:`verify_all` as a page in Markdown, the loosest maps first."""
    lines = [
        HEADER,
        "| constructor | arguments | measure | claimed | largest loss | ratio |",
        "|---|---|---|---|---|---|",
    ]
    rows = []
    for example, report in found:
        columns = claim_columns(example)
        if columns is not None and report is not None:
            ratio = "-" if report.tightness is None else f"{report.tightness:.4f}"
            rows.append((ratio, f"| {' | '.join(columns)} | {report.loss:.6g} | {ratio} |"))
    return "\n".join([*lines, *(line for _, line in sorted(rows, key=lambda one: one[0]))]) + "\n"
