"""A budget over time as a picture: steps from nothing to what is spent, in percent of what may be."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from ...markup.foreign import on_page as escape
from .entries import Entry

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 720, 270, 72, 16, 34  # in units of the picture, which scales to the page
_MOST = 600  # points: more than a screen shows
_CLASSES = ("first", "second")


def chart(entries: Sequence[Entry], limit: Any, names: Sequence[str]) -> str:
    """An SVG of the share of each number of ``limit`` that was spent, at the time of each entry."""
    limits = limit if isinstance(limit, tuple) else (limit,)
    times = [datetime.fromisoformat(one.time).timestamp() for one in entries]
    places = _places(times)
    lines = [
        _steps(places, [_share(_parts(one.spent)[at], top) for one in entries], _CLASSES[at])
        for at, top in enumerate(limits)
    ]
    words = "; ".join(
        f"{name}: {_last(entries, at, top):.0%} spent" for at, (name, top) in enumerate(zip(names, limits, strict=True))
    )
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(words)}">'
        f"<title>{escape(words)}</title>{_grid()}{''.join(lines)}{_dates(entries)}</svg>"
    )


def _parts(value: Any) -> tuple[float, ...]:
    return value if isinstance(value, tuple) else (value,)


def _share(spent: float, limit: float) -> float:
    return min(spent / limit, 1.0) if limit > 0 else 0.0


def _last(entries: Sequence[Entry], at: int, limit: float) -> float:
    return _share(_parts(entries[-1].spent)[at], limit) if entries else 0.0


def _places(times: Sequence[float]) -> list[float]:
    """Where each entry stands from left to right; a clock that was set back does not move the line back."""
    latest, steady = float("-inf"), []
    for time in times:
        latest = max(latest, time)
        steady.append(latest)
    span = steady[-1] - steady[0] if steady else 0.0
    count = max(len(steady) - 1, 1)
    return [(one - steady[0]) / span if span else at / count for at, one in enumerate(steady)]


def _steps(places: Sequence[float], shares: Sequence[float], kind: str) -> str:
    every = max(len(places) // _MOST, 1)
    chosen = sorted({*range(0, len(places), every), *([len(places) - 1] if places else [])})
    path, height = [f"M{_LEFT} {_y(0):.1f}"], _y(0)
    for at in chosen:
        path.append(f"L{_x(places[at]):.1f} {height:.1f}")
        height = _y(shares[at])
        path.append(f"L{_x(places[at]):.1f} {height:.1f}")
    path.append(f"L{_x(1):.1f} {height:.1f}")
    return f'<path class="{kind}" d="{"".join(path)}"/>'


def _x(place: float) -> float:
    return _LEFT + place * (_WIDTH - _LEFT - 8)


def _y(share: float) -> float:
    return _TOP + (1 - share) * (_HEIGHT - _TOP - _BOTTOM)


def _grid() -> str:
    return "".join(
        f'<line class="{"limit" if share == 1 else "grid"}" x1="{_LEFT}" x2="{_WIDTH - 8}" y1="{_y(share):.1f}" '
        f'y2="{_y(share):.1f}"/><text x="{_LEFT - 6}" y="{_y(share) + 4:.1f}" class="right">{share:.0%}</text>'
        for share in (0, 0.25, 0.5, 0.75, 1)
    )


def _dates(entries: Sequence[Entry]) -> str:
    if not entries:
        return f'<text x="{_WIDTH / 2}" y="{_HEIGHT / 2}" class="middle">nothing was released yet</text>'
    first, last = entries[0].time[:10], max(one.time for one in entries)[:10]
    start = f'<text x="{_LEFT}" y="{_HEIGHT - 8}">{escape(first)}</text>'
    end = f'<text x="{_WIDTH - 8}" y="{_HEIGHT - 8}" class="right">{escape(last)}</text>'
    return start if first == last else start + end
