"""The page of one audit by samples: the verdict, the pair, the event in words, and a picture of the two laws."""

from __future__ import annotations

from ...markup.elements import Markup, el, table
from ..audited import Audited
from .page import status, whole

_ROW, _BAR, _WIDTH = 34, 12, 640  # in pixels


def audited_page(name: str, found: Audited) -> str:
    """A whole page, which needs no other file and no network."""
    word, _, why = found.lines[0].partition(": ")
    facts = [line.partition(": ") for line in found.lines[1:]]
    return whole(
        f"An audit of {name}",
        el("p", status(word), " ", why),
        table("What was tried", ("what", "value"), [(what, value) for what, _, value in facts]),
        _laws(found),
    )


def _laws(found: Audited) -> Markup:
    """The likeliest releases: how often each came of the input (above) and of its neighbour (below)."""
    shown = found.found.estimate.outcomes
    top = max(max(one.first, one.second) for one in shown)
    made = []
    for at, one in enumerate(shown):
        y = at * _ROW
        words = f"{one.event}: {one.first} of {one.of} on the input, {one.second} on the neighbour"
        made.append(el("title", words))
        for below, (count, kind) in enumerate(((one.first, "full"), (one.second, "other"))):
            width = f"{_WIDTH * count / top:.1f}"
            made.append(el("rect", el("title", words), x=0, y=y + below * _BAR, width=width, height=_BAR, class_=kind))
    rows = [(one.event.removeprefix("the release is "), one.first, one.second) for one in shown]
    picture = el(
        "svg",
        *made,
        viewBox=f"0 0 {_WIDTH} {_ROW * len(shown)}",
        role="img",
        aria_label="How often each of the likeliest releases came of the two inputs; the table below has the numbers.",
    )
    caption = f"The likeliest releases of {shown[0].of} on each side: above on the input, below on its neighbour"
    return el(
        "section",
        el("h2", "The two laws"),
        el("figure", picture, el("figcaption", caption), class_="plot wide"),
        table("The same in numbers", ("release", "input", "neighbour"), rows),
        id="laws",
    )
