"""The findings of the exact verifier on all shipped mechanisms, as rows of tables."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ....errors import PrivacyViolationError
from .. import shipped
from ..report import Report

NO_DISTRIBUTION = "no distribution"


@dataclass(frozen=True)
class Finding:
    """A shipped mechanism under one measure and metric; ``verdict`` is the verifier's or :data:`NO_DISTRIBUTION`."""

    constructor: str
    measure: str
    arguments: str
    neighbours: str
    verdict: str
    claimed: str = "-"
    loss: str = "-"
    ratio: float | None = None
    pairs: str = "-"
    worst_pair: str = "-"


def collect_findings(budget: int, progress: Callable[[int, int], None] = lambda done, total: None) -> list[Finding]:
    """Return all shipped mechanisms, measures and kinds of neighbour; ``budget`` is as for :func:`shipped.verify_all`.

    ``progress`` is called with the number of finished rows and the number of all rows.
    """
    examples, found = list(shipped.shipped_examples()), list[Finding]()
    laws: dict[str, dict[Any, Any]] = {}
    for example in examples:
        try:
            report = shipped.verify_example(example, budget, laws)
        except PrivacyViolationError as refuted:
            report = refuted.report
        found.append(_make_row(example, report))
        progress(len(found), len(examples))
    return found


def _make_row(example: shipped.Example, report: Report | None) -> Finding:
    measurement = example.measurement
    given = {name: getattr(value, "name", value) for name, value in example.arguments.items() if name != "scale"}
    row = functools.partial(
        Finding,
        constructor=example.constructor,
        measure=type(measurement.output_measure).__name__,
        arguments=", ".join(f"{name} = {value}" for name, value in given.items()),
    )
    if report is None:
        return row(neighbours=str(measurement.input_metric), verdict=NO_DISTRIBUTION)
    witness, worst = report.witness, "-"
    if witness is not None:
        where = "".join(f", {key} {_format_value(value)}" for key, value in witness.where.items())
        worst = f"{_format_value(witness.x)} → {_format_value(witness.x_prime)}{where}"
    return row(
        neighbours=f"{report.input_metric}, d_in = {report.d_in}",
        verdict=report.verdict,
        claimed=_format_value(report.claimed),
        loss=f"{report.loss:.6g}",
        ratio=report.tightness,
        pairs=f"{report.pairs}" + (f" ({report.skipped} skipped)" if report.skipped else ""),
        worst_pair=worst,
    )


def _format_value(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_format_value, value))})"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
