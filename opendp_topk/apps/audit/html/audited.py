"""The page of one audit by samples: the verdict, the pair, the event, and a picture of the two output distributions."""

from __future__ import annotations

import math

from ....markup.elements import Markup, el, html_table
from ..audited import Audited
from ..blackbox import Seen
from .page import render_page, status_label

_ROW, _BAR, _WIDTH, _NUMBERS, _TOP = 58, 13, 900, 60, 16  # in pixels
_LETTERS = 120  # most letters of a release that is shown above its bars: as many fit into the width


def audited_page(name: str, found: Audited, again: str | None = None) -> str:
    """Return a page that needs no other file and no network; ``again`` is the command that repeats the audit."""
    word, _, why = found.lines[0].partition(": ")
    facts = [line.partition(": ") for line in found.lines[1:]]
    return render_page(
        f"An audit of {name}",
        el("p", status_label(word), " ", why),
        *([el("p", "To audit this pair again with fresh samples: ", el("code", again))] if again else []),
        html_table("What was tried", ("what", "value"), [(what, value) for what, _, value in facts]),
        _distribution_section(found),
    )


def _distribution_section(found: Audited) -> Markup:
    """Return the likeliest releases with their frequencies on the input (above) and on its neighbour (below)."""
    shown = found.found.estimate.outcomes
    most = max(max(one.first, one.second) for one in shown)
    made = [part for at, one in enumerate(shown) for part in _release_bars(one, at * _ROW, (_WIDTH - _NUMBERS) / most)]
    picture = el(
        "svg",
        *made,
        viewBox=f"0 0 {_WIDTH} {_ROW * len(shown)}",
        role="img",
        aria_label="Frequencies of the most likely releases on the two inputs; the table below contains the numbers.",
    )
    key = [
        join
        for kind, words in (("one", "on the input"), ("other", "on its neighbour"))
        for join in (el("span", class_=f"key {kind}"), f" {words} ")
    ]
    caption = el("figcaption", f"Frequencies of the most likely releases, out of {shown[0].of}: ", *key)
    rows = [(_release_text(one), one.first, one.second, _log_ratio_cell(one)) for one in shown]
    return el(
        "section",
        el("h2", "The two output distributions"),
        el("figure", caption, picture, class_="plot laws"),
        html_table("As numbers", ("release", "input", "neighbour", "ln of their ratio"), rows),
        id="laws",
    )


def _release_bars(one: Seen, y: int, unit: float) -> list[Markup]:
    """Return the description of the release, and below it a bar with its number for each input."""
    words = _release_text(one)
    told = words if len(words) <= _LETTERS else f"{words[: _LETTERS - 1]}\u2026"
    made = [el("text", told, x=0, y=y + _TOP - 4, class_="told")]
    for below, (count, kind) in enumerate(((one.first, "one"), (one.second, "other"))):
        top, width = y + _TOP + below * (_BAR + 2), unit * count
        made.append(el("rect", x=0, y=top, width=f"{width:.1f}", height=_BAR, class_=kind))
        made.append(el("text", str(count), x=f"{width + 6:.1f}", y=top + _BAR - 2))
    return made


def _release_text(one: Seen) -> str:
    return one.event.removeprefix("the release is ")


def _log_ratio_cell(one: Seen) -> tuple[str, float]:
    """Return the ratio as text, and as a number to sort by."""
    if not one.first or not one.second:
        value = math.inf if one.first else -math.inf
        return ("\u221e" if one.first else "-\u221e"), value
    value = math.log(one.first / one.second)
    return f"{value:.2f}", value
