"""One page for a privacy officer: the budget over time, what is left, and every entry. It needs no other file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..markup.foreign import on_page as escape
from ..spaces.measures import Approximate, PrivacyProfile
from .chart import chart
from .entries import Entry
from .journal import now
from .ledger import Ledger

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(ledger: Ledger) -> str:
    """The whole page."""
    entries, problems = ledger.history(), ledger.verify()
    names = _names(ledger)
    body = [
        f"<h1>Privacy budget of {escape(ledger.dataset)}</h1>",
        f'<p class="soft">As of {escape(now())}. {_count(entries)}.</p>',
        _verdict(problems),
        _tiles(ledger, names),
        "<h2>Spent over time</h2>",
        chart(entries, ledger.limit, names),
        _key(names),
        "<h2>What is promised</h2>",
        *_promise(ledger),
        "<h2>Entries</h2>",
        _table(entries),
    ]
    style = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>Privacy budget of {escape(ledger.dataset)}</title><style>{style}</style></head>"
        f"<body><main>{''.join(body)}</main></body></html>\n"
    )


def _names(ledger: Ledger) -> tuple[str, ...]:
    if isinstance(ledger.counted, Approximate):
        return ledger.counted.measure.symbol, "delta"
    return (ledger.counted.symbol,)


def _count(entries: Sequence[Entry]) -> str:
    states = {state: sum(one.state == state for one in entries) for state in ("released", "reserved", "failed")}
    listed = ", ".join(f"{number} {state}" for state, number in states.items() if number)
    return f"{len(entries)} {'entry' if len(entries) == 1 else 'entries'}{listed and f': {listed}'}"


def _verdict(problems: Sequence[str]) -> str:
    if not problems:
        return "<p>Every record follows from the one before it, and the totals add up.</p>"
    return "".join(f'<p class="bad">This ledger contradicts itself: {escape(one)}.</p>' for one in problems)


def _tiles(ledger: Ledger, names: Sequence[str]) -> str:
    pair = "epsilon, delta" if ledger.measure == PrivacyProfile() else ", ".join(names)
    values = (
        (f"budget ({pair})", ledger.promise),
        (f"may be charged ({', '.join(names)})", _short(ledger.limit)),
        (f"spent ({', '.join(names)})", _short(ledger.spent())),
        (f"left ({', '.join(names)})", _short(ledger.remaining())),
    )
    shown = values if ledger.measure == PrivacyProfile() else (values[0], *values[2:])
    tiles = (f'<div class="tile"><b>{escape(value)}</b><span>{escape(name)}</span></div>' for name, value in shown)
    return f'<div class="tiles">{"".join(tiles)}</div>'


def _short(value: Any) -> str:
    return ", ".join(f"{one:.6g}" for one in (value if isinstance(value, tuple) else (value,)))


def _key(names: Sequence[str]) -> str:
    kinds = zip(("first", "second"), names, strict=False)
    lines = "".join(f'<span><i class="{kind}"></i>{escape(name)}</span>' for kind, name in kinds)
    return f'<p class="key">{lines}<span><i class="limit"></i>all that may be spent</span></p>'


def _promise(ledger: Ledger) -> list[str]:
    return [
        f"<p>Whoever sees all releases together can tell data sets at distance {escape(str(ledger.d_in))} under "
        f"<code>{escape(ledger.metric)}</code> apart by no more than {escape(ledger.promise)} under "
        f"<code>{escape(repr(ledger.measure))}</code>. What is reserved or has failed counts as spent.</p>",
        f'<p class="soft">Head of the records, to be kept elsewhere: <code>{escape(ledger.head())}</code></p>',
    ]


def _table(entries: Sequence[Entry]) -> str:
    names = ("no.", "time", "state", "cost", "spent", "release", "operator")
    head = "".join(f"<th>{name}</th>" for name in names)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(_row(one, names) for one in entries)}</tbody></table>"


def _row(one: Entry, names: Sequence[str]) -> str:
    cells = (
        str(one.number),
        escape(one.time.replace("T", " ").replace("+00:00", " UTC")),
        f'<span class="{escape(one.state)}">{escape(one.state)}</span>',
        escape(_short(one.cost)) + (f" within entry {one.within}" if one.used is not None else ""),
        escape(_short(one.spent)),
        _release(one),
        escape(one.operator),
    )
    filled = (f'<td data-name="{name}"><span>{cell}</span></td>' for name, cell in zip(names, cells, strict=True))
    return f"<tr>{''.join(filled)}</tr>"


def _release(one: Entry) -> str:
    title = one.label or title_of(one)
    told = f"{one.measurement}\nproof: {one.proof}\nclaim: {one.claim}\nd_in: {one.d_in}"
    return f"{escape(title)}<details><summary>details</summary><pre>{escape(told)}</pre></details>"


def title_of(entry: Entry) -> str:
    """The mechanism and k out of the repr of the measurement; its first line where it has none."""
    fields = dict(line.split("=", 1) for line in entry.measurement.splitlines() if "=" in line)
    named = {name.strip(): value.strip() for name, value in fields.items()}
    if "mechanism" not in named:
        return entry.measurement.splitlines()[0] if entry.measurement else "a release"
    size = ["k = " + named["k"]] if "k" in named else []
    return ", ".join([named["mechanism"], *size, f"d_in = {entry.d_in}"])
