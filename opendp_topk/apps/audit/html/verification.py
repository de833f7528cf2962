"""The findings of the verifier, with plots."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from ....markup.elements import Markup, breakable_name, el, html_table, join_markup
from ....spaces.measures import MaxDivergence, Measure, RangeDivergence, ZeroConcentratedDivergence
from ..report import FAILS, claimed_limit
from .page import ClaimPoint, Finding, PageAddresses, rescale_example, status_label

# Plots as inline SVG: claimed against measured losses.

# In pixels: small enough for several plots side by side, with room for numbers on the left and below.
_WIDTH, _HEIGHT = 250, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 12, 22, 36


def plot_curve(title: str, points: Sequence[ClaimPoint], claim: Sequence[tuple[float, float]], symbol: str) -> Markup:
    """Return a plot: claim (line through ``claim``) and losses found (dots) against the distance per scale."""
    right = claim[-1][0]
    top = max(value for _, value in claim)

    def plot_position(x: float, y: float) -> tuple[float, float]:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * x / right, _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * y / top

    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in (plot_position(*pair) for pair in [(0.0, 0.0), *claim]))
    dots = []
    for point in points:
        x, y = plot_position(point.ratio, point.loss)
        dots.append(
            el("circle", el("title", _describe_point(point)), cx=f"{x:.1f}", cy=f"{y:.1f}", r=3.5, class_="dot")
        )
    words = "; ".join(map(_describe_point, points))
    drawn = el(
        "svg",
        *_draw_axes(right, top, plot_position),
        el("polyline", points=line, class_="claim"),
        *dots,
        _text_label("d_in / scale", (_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 4, "middle"),
        _text_label(symbol, 4, 11, "start"),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        aria_label=f"{title}: claimed loss and largest loss found. {words}.",
    )
    return el("figure", drawn, el("figcaption", title), class_="plot")


def _describe_point(point: ClaimPoint) -> str:
    return f"at d_in/scale {point.ratio:g} claimed {point.claimed:.4g}, found {point.loss:.4g}"


def _draw_axes(right: float, top: float, place: object) -> list[Markup]:
    at = place
    assert callable(at)
    made = []
    for value in axis_ticks(right):
        x, y = at(value, 0)
        made += [_grid_line(x, _TOP, x, y), _text_label(f"{value:g}", x, y + 13, "middle")]
    for value in axis_ticks(top):
        x, y = at(0, value)
        made += [_grid_line(x, y, _WIDTH - _RIGHT, y), _text_label(f"{value:g}", x - 4, y + 3.5, "end")]
    return made


def axis_ticks(top: float) -> list[float]:
    """Return at most six round numbers from 0 to ``top``."""
    step = 10.0 ** math.floor(math.log10(top))
    step = next(step * factor for factor in (0.1, 0.2, 0.25, 0.5, 1, 2) if top / (step * factor) <= 5)
    return [round(n * step, 12) for n in range(math.floor(top / step * (1 + 1e-9)) + 1)]


def is_plottable(one: Finding) -> bool:
    """Return whether a row can be drawn on logarithmic axes: it has a claim and a finite loss above 0."""
    return one.report is not None and 0 < one.report.loss < math.inf and claimed_limit(one.report.claimed) > 0


def plot_scatter(measure: str, symbol: str, found: Iterable[Finding]) -> Markup:
    """Return a plot with a dot for each row: claim to the right, largest loss upward; tight claims on the diagonal."""
    shown = [one for one in found if is_plottable(one)]
    values = [value for one in shown if one.report for value in (one.report.loss, claimed_limit(one.report.claimed))]
    low, high = (f(math.log10(v(values))) for f, v in ((math.floor, min), (math.ceil, max)))
    high = max(high, low + 1)
    size = _HEIGHT + 60

    def axis_position(value: float) -> float:
        return (math.log10(value) - low) / (high - low) * (size - _LEFT - _BOTTOM)

    base, made = size - _BOTTOM, []
    for power in range(low, high + 1):
        at, label = axis_position(10.0**power), f"{10.0**power:g}"
        made += [_grid_line(_LEFT + at, _TOP, _LEFT + at, base), _grid_line(_LEFT, base - at, size - _RIGHT, base - at)]
        made += [
            _text_label(label, _LEFT + at, base + 13, "middle"),
            _text_label(label, _LEFT - 4, base - at + 3.5, "end"),
        ]
    end = axis_position(10.0**high)
    made.append(el("line", x1=_LEFT, y1=base, x2=_LEFT + end, y2=f"{base - end:.1f}", class_="claim"))
    for one in shown:
        assert one.report is not None
        claimed, met = claimed_limit(one.report.claimed), one.report.loss
        words = f"{one.example.constructor} {one.distinguishing_arguments}: claimed {claimed:.4g}, met {met:.4g}"
        cx, cy = _LEFT + axis_position(claimed), base - axis_position(met)
        kind = "dot bad" if one.verdict == FAILS else "dot"
        made.append(el("circle", el("title", words), cx=f"{cx:.1f}", cy=f"{cy:.1f}", r=4, class_=kind))
    worst = sum(one.verdict == FAILS for one in shown)
    drawn = el(
        "svg",
        *made,
        _text_label(f"claimed {symbol}", (_LEFT + size - _RIGHT) / 2, size - 4, "middle"),
        _text_label(f"largest {symbol} found", 4, 11, "start"),
        viewBox=f"0 0 {size} {size}",
        role="img",
        aria_label=f"{measure}: {len(shown)} rows, {worst} of them above the diagonal, on which the loss equals the "
        "claim. The table below contains the numbers.",
    )
    return el("figure", drawn, el("figcaption", measure), class_="plot wide")


def ratio_bar(share: float) -> Markup:
    """Return a ratio of at most 1 as a bar, which is only visual."""
    width = f"{60 * min(share, 1.0):.1f}"
    inner = el("rect", width=60, height=8, class_="empty"), el("rect", width=width, height=8, class_="full")
    return el("svg", *inner, viewBox="0 0 60 8", width=60, height=8, aria_hidden="true", class_="bar")


def _grid_line(x1: float, y1: float, x2: float, y2: float) -> Markup:
    return el("line", x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}", class_="grid")


def _text_label(text: str, x: float, y: float, anchor: str) -> Markup:
    return el("text", text, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor)


# The rows of the exact verifier, as tables and plots.

SYMBOLS: dict[type[Measure], str] = {
    MaxDivergence: "epsilon",
    RangeDivergence: "range",
    ZeroConcentratedDivergence: "rho",
}
_FINE = 16  # points of a drawn curve: enough to look smooth


def measure_symbol(measure: Measure) -> str:
    """Return the symbol for a distance of the measure."""
    return SYMBOLS.get(type(measure), "loss")


def findings_table(found: Iterable[Finding], caption: str, name: str, address: PageAddresses | None) -> Markup:
    """Return claims against the largest losses found; with an address, preceded by constructor and measure."""
    headers = ["arguments", "neighbours", "claimed", "largest loss found", "ratio", "pairs", "worst pair", "verdict"]
    lines = []
    for one in found:
        line = _finding_row(one)
        if address is not None:
            line = [_constructor_cell(one, address), one.measure_name, *line]
        lines.append(line)
    return html_table(caption, ["constructor", "measure", *headers] if address else headers, lines, name=name)


def _constructor_cell(one: Finding, address: PageAddresses) -> tuple[Markup, Any]:
    name = one.example.constructor
    return el("a", breakable_name(name.removeprefix("make_")), href=address.claim_address(name)), name


def _finding_row(one: Finding) -> list[Any]:
    measurement, report = one.example.measurement, one.report
    if report is None:
        return [one.distinguishing_arguments, str(measurement.input_metric), *["-"] * 5, status_label(one.verdict)]
    ratio: Any = "-"
    if report.tightness is not None:
        ratio = join_markup([f"{report.tightness:.4f} ", ratio_bar(report.tightness)]), report.tightness
    witness = report.witness
    where = (
        "" if witness is None else ", ".join(f"{key} {_format_value(value)}" for key, value in witness.where.items())
    )
    pair: Any = "-"
    if witness is not None:
        between = f"{_format_value(witness.x)} → {_format_value(witness.x_prime)}"
        pair = join_markup([el("code", between), el("br"), el("small", f"at {where}" if where else "")])
    tried = f"{report.pairs}" + (f" ({report.skipped} skipped)" if report.skipped else "")
    return [
        one.distinguishing_arguments,
        f"{report.input_metric}, d_in = {report.d_in}",
        (_format_value(report.claimed), claimed_limit(report.claimed)),
        (f"{report.loss:.6g}", report.loss),
        ratio,
        (tried, report.pairs),
        pair,
        status_label(one.verdict),
    ]


def _format_value(value: Any) -> str:
    """Return a value with floats to six digits."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_format_value, value))})"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def plot_findings(found: Iterable[Finding]) -> Markup:
    """Return one plot for each row that has points."""
    made = []
    for one in found:
        if one.points:
            last = one.points[-1].ratio
            start = one.points[-1].ratio / _FINE
            made.append(
                plot_curve(
                    one.distinguishing_arguments or "default arguments",
                    one.points,
                    _claimed_curve(one, start, last),
                    finding_symbol(one),
                )
            )
    return el("div", *made, class_="plots") if made else join_markup([])


def finding_symbol(one: Finding) -> str:
    """Return the symbol for a distance under the measure of a row."""
    return measure_symbol(one.example.measurement.output_measure)


def _claimed_curve(one: Finding, start: float, last: float) -> list[tuple[float, float]]:
    """Return points of the map between two distances per scale."""
    assert one.report is not None
    ratios = [start + (last - start) * step / _FINE for step in range(_FINE + 1)]
    return [
        (ratio, float(rescale_example(one.example, Fraction(one.report.d_in) / Fraction(ratio)).map(one.report.d_in)))
        for ratio in ratios
    ]
