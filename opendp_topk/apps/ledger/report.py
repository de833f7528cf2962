"""One page for a privacy officer: the budget over time, what is left, and every entry. It needs no other file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...markup.elements import unbroken
from ...markup.foreign import on_page as escape
from ...spaces.measures import Approximate
from . import officer
from .chart import chart
from .entries import Entry
from .journal import now
from .ledger import Ledger
from .stated import OWN, TITLES

_KEY = (
    '<p class="key"><span><i class="first"></i>spent</span><span><i class="limit"></i>all that may be spent</span></p>'
)
_LISTED = 2000  # entries: a browser shows a table of so many at once
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(ledger: Ledger) -> str:
    """The whole page."""
    ledger = ledger.at_one_moment()
    entries, problems = ledger.history(), ledger.verify()
    names, parts = _names(ledger), officer.shares(ledger)
    body = [
        f"<h1>Privacy budget of {escape(ledger.dataset)}</h1>",
        f'<p class="soft">As of {escape(_moment(now()))}. {_count(entries)}.</p>',
        _verdict(problems),
        _tiles(ledger),
        _facts(officer.facts(ledger)),
        "<h2>What somebody could find out</h2>",
        *_promise(ledger),
        "<h2>Spent over time</h2>",
        chart([replace(one, spent=parts[one.number][1]) for one in entries], 1.0, ["the budget"]),
        _KEY,
        "<h2>What was released</h2>",
        *_earlier(len(entries)),
        _table(entries[-_LISTED:], parts),
        "<h2>To ask before the next release</h2>",
        _checklist(ledger),
        "<h2>In numbers of the ledger</h2>",
        _small(ledger, names),
    ]
    style = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>Privacy budget of {escape(ledger.dataset)}</title><style>{style}</style></head>"
        f"<body><main>{unbroken(''.join(body))}</main></body></html>\n"
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


def _tiles(ledger: Ledger) -> str:
    budget, spent, left, at = officer.spent_and_left(ledger)
    whole = f"the budget of all releases together{at and f', {at}'}"
    values = (whole, budget), ("spent so far", spent), ("left", left)
    tiles = (f'<div class="tile"><b>{escape(value)}</b><span>{escape(name)}</span></div>' for name, value in values)
    return f'<div class="tiles">{"".join(tiles)}</div>'


def _facts(rows: Sequence[tuple[str, str]]) -> str:
    return f"<dl>{''.join(f'<div><dt>{escape(name)}</dt><dd>{escape(said)}</dd></div>' for name, said in rows)}</dl>"


def _short(value: Any) -> str:
    return ", ".join(f"{one:.6g}" for one in (value if isinstance(value, tuple) else (value,)))


def _promise(ledger: Ledger) -> list[str]:
    now_right, in_the_end = officer.guess(ledger)
    there = "is in the data" if "add_remove" in ledger.metric else "has this or that in the data"
    who = f"one particular {ledger.person or 'person'}" if ledger.d_in == 1 else "a particular group"
    return [
        "<p>Think of somebody who sees all releases together, knows the data of everybody else, and has to guess "
        f"whether {escape(who)} {there}, both being equally likely. Without the releases the guess is right 50 % of "
        f"the time; after what was spent so far, at most <b>{now_right:g} %</b>; once the whole budget is spent, at "
        f"most <b>{in_the_end:g} %</b>.</p>",
        '<p class="soft">Spent is what was reserved or has failed, too: a ledger never gives back. What is released '
        "elsewhere from the same data is not in it. Shares below are of what may be charged: they add up, and "
        "epsilons of several releases need not.</p>",
    ]


def _checklist(ledger: Ledger) -> str:
    person, column = ledger.person or "person", ledger.user or "that tells people apart"
    questions = (
        f"Has each {person} one value of the column {column}? Who has two counts as two people.",
        "Are these all releases from these data, and is there no copy of the ledger from which somebody releases?",
        "Is the chance of a right guess acceptable to those whose data they are?",
        "Is what is left enough for all that is planned until the end of the period?",
        "Was the head below kept where who writes the ledger cannot write? Does the ledger go on from the last one?",
    )
    return f'<ul class="ask">{"".join(f"<li>{escape(one)}</li>" for one in questions)}</ul>'


def _small(ledger: Ledger, names: Sequence[str]) -> str:
    listed = ", ".join(names)
    rows = [
        ("promised", f"{ledger.promise} under {ledger.measure!r}, at distance {ledger.d_in} under {ledger.metric}"),
        (f"may be charged ({listed})", _short(ledger.limit)),
        (f"spent ({listed})", _short(ledger.spent())),
        (f"left ({listed})", _short(ledger.remaining())),
        ("head of the records", ledger.head()),
    ]
    return f'<div class="small">{_facts(rows)}</div>'


def _table(entries: Sequence[Entry], parts: Mapping[int, tuple[float, float]]) -> str:
    names = ("no.", "time", "release", ", ".join(TITLES[name] for name in OWN), "state", "share", "spent", "by")
    head = "".join(f"<th>{name}</th>" for name in names)
    rows = "".join(_row(one, names, *parts[one.number]) for one in entries)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _earlier(count: int) -> list[str]:
    """That the first entries of a long ledger are not listed, and where they are."""
    if count <= _LISTED:
        return []
    return [
        f'<p class="soft">These are the last {_LISTED} entries. All {count} are in what `opendp-topk ledger export` '
        "writes, and in what was spent.</p>"
    ]


def _row(one: Entry, names: Sequence[str], cost: float, spent: float) -> str:
    cells = (
        str(one.number),
        escape(_moment(one.time)),
        _release(one),
        escape(", ".join(filter(None, (getattr(one, name) for name in OWN)))),
        f'<span class="{escape(one.state)}">{escape(one.state)}</span>',
        _share(cost) + (f" of entry {one.within}" if one.used is not None else ""),
        _share(spent),
        escape(one.operator),
    )
    filled = (f'<td data-name="{name}"><span>{cell}</span></td>' for name, cell in zip(names, cells, strict=True))
    return f"<tr>{''.join(filled)}</tr>"


def _moment(time: str) -> str:
    return time[:16].replace("T", " ") + " UTC"


def _share(part: float) -> str:
    return f"{officer.four_up(100 * part)} %"


def _release(one: Entry) -> str:
    title = one.label or title_of(one)
    bound = "" if one.at_most is None else f"\nat most: {one.at_most}{', shared' if one.shared else ''}"
    cost = f"cost: {_short(one.cost)}\nspent up to it: {_short(one.spent)}"
    told = f"{one.measurement}\nproof: {one.proof}\nclaim: {one.claim}\nd_in: {one.d_in}{bound}\n{cost}"
    return f"{escape(title)}<details><summary>details</summary><pre>{escape(told)}</pre></details>"


def title_of(entry: Entry) -> str:
    """What was released, out of the repr of the measurement; its first line where it does not say."""
    fields = dict(line.split("=", 1) for line in entry.measurement.splitlines() if "=" in line)
    named = {name.strip(): value.strip() for name, value in fields.items()}
    if "mechanism" not in named:
        return entry.measurement.splitlines()[0] if entry.measurement else "a release"
    if "k" not in named:
        return named["mechanism"].replace("_", " ")
    candidates = named.get("candidates", "None")
    of = "" if candidates == "None" else f" of {candidates} candidates"
    return f"a {named.get('release', 'ranking')} of {named['k']}{of}"
