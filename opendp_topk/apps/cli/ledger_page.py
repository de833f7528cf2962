"""A ledger as one self-contained HTML page for a privacy officer: the budget over time, and the last entries."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from ...spaces.measures import Approximate
from ..ledger import Entry, Ledger, report
from ..ledger.journal import utc_timestamp
from ..ledger.stated import OWN, TITLES, metadata_lines
from .pages import render_page

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 720, 270, 72, 16, 34  # of the chart, in units of the SVG
_MOST = 600  # maximum number of points of the chart, more than a screen shows
_LISTED = 2000  # maximum number of entries in the table of a page


def spending_chart(entries: Sequence[Entry], shares: Sequence[float]) -> Any:
    """Return an SVG of the ``shares`` of the budget that were spent up to each entry, at the times of the entries."""
    shown, times = [min(share, 1.0) for share in shares], [one.time for one in entries]
    return render_page(
        "chart.html",
        words=f"the budget: {shown[-1] if shown else 0:.0%} spent",
        path=_step_path(_horizontal_positions(times), shown),
        first=times[0][:10] if times else "",
        last=max(times, default="")[:10],
        width=_WIDTH,
        height=_HEIGHT,
        left=_LEFT,
        y=_y_coordinate,
    )


def _horizontal_positions(times: Sequence[str]) -> list[float]:
    """Return the horizontal position of each entry. If a clock was set back, the line does not go back."""
    steady = list(itertools.accumulate((datetime.fromisoformat(one).timestamp() for one in times), max))
    span = steady[-1] - steady[0] if steady else 0.0
    count = max(len(steady) - 1, 1)
    return [(one - steady[0]) / span if span else at / count for at, one in enumerate(steady)]


def _step_path(places: Sequence[float], shares: Sequence[float]) -> str:
    every = max(len(places) // _MOST, 1)
    chosen = sorted({*range(0, len(places), every), *([len(places) - 1] if places else [])})
    path, height = [f"M{_LEFT} {_y_coordinate(0):.1f}"], _y_coordinate(0)
    for at in chosen:
        path.append(f"L{_x_coordinate(places[at]):.1f} {height:.1f}")
        height = _y_coordinate(shares[at])
        path.append(f"L{_x_coordinate(places[at]):.1f} {height:.1f}")
    path.append(f"L{_x_coordinate(1):.1f} {height:.1f}")
    return "".join(path)


def _x_coordinate(place: float) -> float:
    return _LEFT + place * (_WIDTH - _LEFT - 8)


def _y_coordinate(share: float) -> float:
    return _TOP + (1 - share) * (_HEIGHT - _TOP - _BOTTOM)


def render_ledger_page(ledger: Ledger) -> str:
    """Return the page of a ledger in its current state as HTML."""
    ledger = ledger.at_one_moment()
    entries, shares = ledger.history(), report.entry_budget_shares(ledger)
    states = {state: sum(one.state == state for one in entries) for state in ("released", "reserved", "failed")}
    counts = ", ".join(f"{number} {state}" for state, number in states.items() if number)
    counted = ledger.counted
    page: str = render_page(
        "ledger.html",
        ledger=ledger,
        report=report,
        count=len(entries),
        states=counts and f": {counts}",
        budget=report.budget_summary_texts(ledger),
        attacks=report.attack_accuracies(ledger),
        metadata=metadata_lines(ledger.stated),
        chart=spending_chart(entries, [shares[one.number][1] for one in entries]),
        listed=_LISTED,
        own=", ".join(TITLES[name] for name in OWN),
        rows=[_entry_row(one, *shares[one.number]) for one in entries[-_LISTED:]],
        amounts=f"{counted.measure.symbol}, delta" if isinstance(counted, Approximate) else counted.symbol,
        now=utc_timestamp(),
        minute=lambda time: time[:16].replace("T", " ") + " UTC",
        short=lambda value: ", ".join(f"{one:.6g}" for one in (value if isinstance(value, tuple) else (value,))),
    )
    return page


def _entry_row(one: Entry, share: float, spent: float) -> tuple[Any, ...]:
    metadata = ", ".join(filter(None, (getattr(one, name) for name in OWN)))
    return one, metadata, *(report.round_up_four_digits(100 * part) for part in (share, spent))
