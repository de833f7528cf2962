"""The rows of the exact verifier, as tables and plots."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from ....markup.elements import Markup, breakable, el, join, table
from ....spaces.measures import MaxDivergence, Measure, RangeDivergence, ZeroConcentratedDivergence
from ..report import limit
from . import plots
from .findings import Finding, rescaled
from .page import Address, status

SYMBOLS: dict[type[Measure], str] = {
    MaxDivergence: "epsilon",
    RangeDivergence: "range",
    ZeroConcentratedDivergence: "rho",
}
_FINE = 16  # points of a drawn curve: it looks smooth


def symbol(measure: Measure) -> str:
    """What a distance of the measure is called."""
    return SYMBOLS.get(type(measure), "loss")


def rows(found: Iterable[Finding], caption: str, name: str, address: Address | None) -> Markup:
    """Claims against the largest losses met; with an address, led by constructor and measure."""
    headers = ["arguments", "neighbours", "claimed", "largest loss met", "ratio", "pairs", "worst pair", "verdict"]
    lines = []
    for one in found:
        line = _row(one)
        if address is not None:
            line = [_constructor(one, address), one.measure, *line]
        lines.append(line)
    return table(caption, ["constructor", "measure", *headers] if address else headers, lines, name=name)


def _constructor(one: Finding, address: Address) -> tuple[Markup, Any]:
    name = one.example.constructor
    return el("a", breakable(name.removeprefix("make_")), href=address.claim(name)), name


def _row(one: Finding) -> list[Any]:
    measurement, report = one.example.measurement, one.report
    if report is None:
        return [one.case, str(measurement.input_metric), *["-"] * 5, status(one.verdict)]
    ratio: Any = "-"
    if report.tightness is not None:
        ratio = join([f"{report.tightness:.4f} ", plots.bar(report.tightness)]), report.tightness
    witness = report.witness
    where = "" if witness is None else ", ".join(f"{key} {_short(value)}" for key, value in witness.where.items())
    pair: Any = "-"
    if witness is not None:
        between = f"{_short(witness.x)} → {_short(witness.x_prime)}"
        pair = join([el("code", between), el("br"), el("small", f"at {where}" if where else "")])
    tried = f"{report.pairs}" + (f" ({report.skipped} skipped)" if report.skipped else "")
    return [
        one.case,
        f"{report.input_metric}, d_in = {report.d_in}",
        (_short(report.claimed), limit(report.claimed)),
        (f"{report.loss:.6g}", report.loss),
        ratio,
        (tried, report.pairs),
        pair,
        status(one.verdict),
    ]


def _short(value: Any) -> str:
    """A value with floats to six digits."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_short, value))})"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def figures(found: Iterable[Finding]) -> Markup:
    """One plot a row that has points."""
    made = []
    for one in found:
        if one.points:
            last = one.points[-1].ratio
            start = one.points[-1].ratio / _FINE
            made.append(
                plots.curve(one.case or "default arguments", one.points, _claim(one, start, last), one_symbol(one))
            )
    return el("div", *made, class_="plots") if made else join([])


def one_symbol(one: Finding) -> str:
    """What a distance is called under the measure of a row."""
    return symbol(one.example.measurement.output_measure)


def _claim(one: Finding, start: float, last: float) -> list[tuple[float, float]]:
    """The map between two distances per scale."""
    assert one.report is not None
    ratios = [start + (last - start) * step / _FINE for step in range(_FINE + 1)]
    return [
        (ratio, float(rescaled(one.example, Fraction(one.report.d_in) / Fraction(ratio)).map(one.report.d_in)))
        for ratio in ratios
    ]
