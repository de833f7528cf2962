"""What the exact verifier finds, for the table and for the plots of the report."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ....core.measurement import Measurement
from ....errors import ParameterError, PrivacyViolationError
from ....spaces.domains import VectorDomain
from ....spaces.metrics import LInfDistance
from .. import shipped
from ..neighbours import within
from ..report import Report
from ..verify import verify_with

# Doublings around what was asked: a map that bends shows within two of them.
STRETCHES = (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))
"""By what the distance per scale is multiplied for the points of a plot."""

Laws = dict[Any, Any]


@dataclass(frozen=True)
class Point:
    """A claim, and the largest loss met, where neighbours are ``ratio`` scales apart."""

    ratio: float
    claimed: float
    loss: float


@dataclass(frozen=True)
class Finding:
    """One row: a shipped mechanism under one measure and metric; ``report`` is None where no law is declared."""

    example: shipped.Example
    report: Report | None
    points: tuple[Point, ...] = ()

    @property
    def measure(self) -> str:
        """The name of the measure."""
        return type(self.example.measurement.output_measure).__name__

    @property
    def case(self) -> str:
        """The arguments that tell this row from others of the constructor."""
        given = {
            name: getattr(value, "name", value) for name, value in self.example.arguments.items() if name != "scale"
        }
        return ", ".join(f"{name} = {value}" for name, value in given.items())

    @property
    def verdict(self) -> str:
        """That of the report, or ``no law``."""
        return "no law" if self.report is None else self.report.verdict


def findings(budget: int, progress: Callable[[int, int], None]) -> list[Finding]:
    """Every shipped mechanism, measure and kind of neighbour, with plots for one kind of neighbour each.

    Args:
        budget: The number of pairs to try for each row, at most; the two likeliest always are.
        progress: Called with the number of rows that are done, and of all.
    """
    examples = list(shipped.examples())
    found: list[Finding] = []
    for _, group in itertools.groupby(examples, key=lambda one: (one.constructor, str(one.arguments))):
        members = list(group)
        reports = _reports(members, budget)
        laws: dict[Fraction, Laws] = {}
        found += [Finding(example, report, _points(example, report, laws)) for example, report in reports]
        progress(len(found), len(examples))
    return found


def _reports(members: list[shipped.Example], budget: int) -> list[tuple[shipped.Example, Report | None]]:
    """All of a group at once, which share their laws; one by one where a claim is refuted."""
    try:
        return shipped.verify_all(budget, members)
    except PrivacyViolationError as refuted:
        if len(members) == 1:
            return [(members[0], refuted.report)]
    return [pair for example in members for pair in _reports([example], budget)]


def _points(example: shipped.Example, report: Report | None, laws: dict[Fraction, Laws]) -> tuple[Point, ...]:
    """The pair that was worst, and its likes, at other scales; none for what takes no vector of scores."""
    if report is None or report.witness is None or example.measurement.input_metric == LInfDistance():
        return ()
    if not isinstance(example.measurement.input_domain, VectorDomain):
        return ()
    found = []
    for stretch in STRETCHES:
        ratio = float(stretch * report.d_in)
        if stretch == 1:
            found.append(Point(ratio, report.claimed, report.loss))
            continue
        measurement = rescaled(example, 1 / stretch)
        law = shipped.MERGED[example.constructor][0](measurement) if example.constructor in shipped.MERGED else None
        pairs = list(_likes(example, report, 1 / stretch))
        try:
            at = verify_with(laws.setdefault(stretch, {}), measurement, report.d_in, law, pairs, len(pairs), None)
        except PrivacyViolationError as refuted:
            at = refuted.report
        except ParameterError:
            continue  # no law of these pairs could be computed
        found.append(Point(ratio, at.claimed, at.loss))
    return tuple(found)


def rescaled(example: shipped.Example, scale: Fraction) -> Measurement:
    """The example at another scale."""
    import opendp_topk

    make: Callable[..., Measurement] = getattr(opendp_topk, example.constructor)
    old = example.measurement
    arguments: Mapping[str, Any] = {**example.arguments, "scale": float(scale)}
    return make(old.input_domain, old.input_metric, old.output_measure, **arguments)


def _likes(example: shipped.Example, report: Report, scale: Fraction) -> Iterator[tuple[Any, Any]]:
    """The worst pair with the gaps between its scores in proportion to the scale, and as it is.

    At small scales the pair as it is has gaps of many scales, whose laws take long and are hardly worse: it is left out
    there, but for integers, which cannot be in proportion.
    """
    assert report.witness is not None
    assert isinstance(example.measurement.input_domain, VectorDomain)
    x, x_prime = report.witness.x, report.witness.x_prime
    element = example.measurement.input_domain.element_domain.T
    if scale > 1 or element is int:
        yield x, x_prime
    spread = tuple(element(Fraction(a) * scale) for a in x)
    moved = tuple(element(Fraction(s) + Fraction(b) - Fraction(a)) for s, a, b in zip(spread, x, x_prime, strict=True))
    if within(example.measurement.input_metric, spread, moved, Fraction(report.d_in)):
        yield spread, moved
