"""Reports of a ledger for people: charts, tables, pages and exports."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from pathlib import Path
from typing import Any

from ...markup.elements import bind_percent_signs, page_head
from ...markup.foreign import escape_html as escape
from ...markup.foreign import json_text, spreadsheet_cell
from ...numerics.arithmetic import round_up, to_fraction
from ...spaces.costs import conversion_overhead
from ...spaces.curves.closed_forms import UpToDelta, ZCDPBound, attack_accuracy, total_variation
from ...spaces.curves.curve import PrivacyCurve
from ...spaces.measures import Approximate, PrivacyProfile, ZeroConcentratedDivergence, without_delta
from .amounts import Amount, BudgetAccount, Filter, deserialize_amount, format_amount
from .journal import Entry, utc_timestamp
from .ledger import Ledger
from .records import Record
from .stated import NOT_STATED, OWN, TITLES, metadata_lines

# Chart of the budget over time: a step curve of the spent share in percent.

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 720, 270, 72, 16, 34  # in units of the SVG, which scales to the page
_MOST = 600  # maximum number of points, more than a screen shows


def spending_chart(entries: Sequence[Entry], shares: Sequence[float]) -> str:
    """Return an SVG of the ``shares`` of the budget that were spent up to each entry, at the times of the entries."""
    shown = [min(share, 1.0) for share in shares]
    words = f"the budget: {shown[-1] if shown else 0:.0%} spent"
    line = _step_path(_horizontal_positions(entries), shown)
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{words}">'
        f"<title>{words}</title>{_grid_lines()}{line}{_date_labels(entries)}</svg>"
    )


def _horizontal_positions(entries: Sequence[Entry]) -> list[float]:
    """Return the horizontal position of each entry. If a clock was set back, the line does not go back."""
    steady = list(itertools.accumulate((datetime.fromisoformat(one.time).timestamp() for one in entries), max))
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
    return f'<path class="first" d="{"".join(path)}"/>'


def _x_coordinate(place: float) -> float:
    return _LEFT + place * (_WIDTH - _LEFT - 8)


def _y_coordinate(share: float) -> float:
    return _TOP + (1 - share) * (_HEIGHT - _TOP - _BOTTOM)


def _grid_lines() -> str:
    return "".join(
        f'<line class="{"limit" if share == 1 else "grid"}" x1="{_LEFT}" x2="{_WIDTH - 8}" '
        f'y1="{_y_coordinate(share):.1f}" y2="{_y_coordinate(share):.1f}"/><text x="{_LEFT - 6}" '
        f'y="{_y_coordinate(share) + 4:.1f}" class="right">{share:.0%}</text>'
        for share in (0, 0.25, 0.5, 0.75, 1)
    )


def _date_labels(entries: Sequence[Entry]) -> str:
    if not entries:
        return f'<text x="{_WIDTH / 2}" y="{_HEIGHT / 2}" class="middle">no releases yet</text>'
    first, last = entries[0].time[:10], max(one.time for one in entries)[:10]
    start = f'<text x="{_LEFT}" y="{_HEIGHT - 8}">{escape(first)}</text>'
    end = f'<text x="{_WIDTH - 8}" y="{_HEIGHT - 8}" class="right">{escape(last)}</text>'
    return start if first == last else start + end


# Summary of a ledger for a privacy officer: the protected unit, the spent and remaining budget, and attack accuracy.
#
# If the budget has an epsilon, everything that was spent is expressed as an epsilon at the budget's delta.

_PLURALS = {"person": "people", "child": "children", "man": "men", "woman": "women"}
# Four digits are precise to a thousandth, and short enough for a line.
_FOUR_UP, _FOUR_DOWN = Context(prec=4, rounding=ROUND_CEILING), Context(prec=4, rounding=ROUND_FLOOR)


def plural_noun(person: str) -> str:
    if person in _PLURALS:
        return _PLURALS[person]
    if re.search("[^aeiou]y$", person):
        return f"{person[:-1]}ies"
    return f"{person}es" if re.search("(s|x|z|ch|sh)$", person) else f"{person}s"


def protected_unit_text(neighbors: str, people: Any, person: str | None) -> str:
    one = "user" if person is None else person
    if neighbors == "add_remove":
        return f"one {one} more or less" if people == 1 else f"{people} people (each a {one}) more or less"
    if people == 1:
        return f"one {one}, whose rows are replaced by others"
    return f"{people} people (each a {one}), whose rows are replaced by others"


def ledger_protection_text(ledger: Ledger) -> str:
    for neighbors in ("add_remove", "replace"):
        if ledger.metric == f"UserDistance(neighbors='{neighbors}')":
            return protected_unit_text(neighbors, ledger.d_in, ledger.person)
    return f"data sets at distance {ledger.d_in} under {ledger.metric}"


def ledger_facts(ledger: Ledger) -> list[tuple[str, str]]:
    """Return the protected unit, the data set and the metadata of a ledger, as titles and texts."""
    person = NOT_STATED if ledger.user is None else f"a {ledger.person}, identified by the column {ledger.user}"
    return [
        ("protects", ledger_protection_text(ledger)),
        ("a person is", person),
        ("table", ledger.dataset),
        *metadata_lines(ledger.stated),
    ]


def budget_summary_texts(ledger: Ledger) -> tuple[str, str, str, str]:
    """Return the budget, what was spent, rounded up, what is left, rounded down, and the delta of these numbers."""
    budget = ledger.budget if isinstance(ledger.budget, tuple) else (ledger.budget,)
    symbol = "rho" if _is_zcdp_ledger(ledger) else "epsilon"
    at = f"at delta {budget[1]:.3g}" if len(budget) > 1 else ""
    spent = spent_epsilon_or_rho(ledger)
    left = Decimal(0) if spent >= budget[0] else Decimal(repr(budget[0])) - Decimal(repr(spent))
    return (
        f"{symbol} {budget[0]:.6g}",
        f"{symbol} {round_up_four_digits(spent)}",
        f"{symbol} {float(_FOUR_DOWN.create_decimal(left)):g}",
        at,
    )


def spent_epsilon_or_rho(ledger: Ledger) -> float:
    """Return what was spent, rounded up: as an epsilon at the budget's delta, or as a rho if the budget is one.

    Under ``PrivacyProfile()`` it is the least epsilon that follows from a filter that is alive.
    """
    spent = ledger.spent()
    if ledger.measure != PrivacyProfile():
        return float(spent[0] if isinstance(spent, tuple) else spent)
    told = [_epsilon_of_filter(one, spent[1], ledger.budget) for one in ledger.filters() if one.alive]
    return min(told, default=ledger.budget[0])


def _epsilon_of_filter(sums: Filter, own: float, budget: tuple[float, float]) -> float:
    """Return the epsilon that follows from one sum at the budget's delta; for steps it is the budget's epsilon."""
    if not sums.spent:
        return 0.0
    if sums.adds == "rho":
        return PrivacyCurve(UpToDelta(ZCDPBound(to_fraction(sums.spent)), to_fraction(own))).epsilon(budget[1])
    if sums.order is not None:
        rest = to_fraction(budget[1]) - to_fraction(own)
        told = sums.spent + conversion_overhead(sums.order, rest) if rest > 0 else to_fraction(budget[0])
        return min(budget[0], max(0.0, round_up(told)))
    return round_up(sums.spent) if sums.adds == "epsilon" else budget[0]


def entry_budget_shares(ledger: Ledger) -> dict[int, tuple[float, float]]:
    """Return, for each entry, the share of the budget that it cost, and the share that was spent up to it.

    A share is the largest one over the numbers of the budget. Of several filters, only the least used one counts.
    """
    journal = ledger._journal
    best = _counted_positions(journal.account, journal.total_spent())
    debits = (one for one in journal.log.iter_records() if one.fields["kind"] == "debit")

    def largest_share(record: Record, name: str) -> float:
        found, limit = deserialize_amount(record.fields[name]), journal.account.limit
        return max((float(found[at] / limit[at]) for at in best), default=0.0)

    return {int(one.fields["entries"]): (largest_share(one, "cost"), largest_share(one, "spent")) for one in debits}


def _counted_positions(account: BudgetAccount, spent: Amount) -> list[int]:
    """Return the indices of the numbers that count: all, or under ``PrivacyProfile()`` the best filter and delta."""
    places = [at for at, most in enumerate(account.limit) if most]
    if not account.has_mixed_measures:
        return places
    sums = [at for at in places if at != 1]
    return [min(sums, key=lambda at: float(spent[at] / account.limit[at])), *([1] if 1 in places else [])]


def attack_accuracies(ledger: Ledger) -> tuple[float, float]:
    """Return the percentage of right guesses whether a person is in the data: now, and after the whole budget."""
    budget = ledger.budget if isinstance(ledger.budget, tuple) else (ledger.budget, 0.0)
    spent = ledger.spent()
    own = budget[1] if ledger.measure == PrivacyProfile() else spent[1] if isinstance(spent, tuple) else 0.0
    now = spent_epsilon_or_rho(ledger), own if any(spent if isinstance(spent, tuple) else (spent,)) else 0.0
    shares = (total_variation(*one, concentrated=_is_zcdp_ledger(ledger)) for one in (now, budget))
    first, second = map(attack_accuracy, shares)
    return first, second


def _is_zcdp_ledger(ledger: Ledger) -> bool:
    return ledger.measure != PrivacyProfile() and without_delta(ledger.measure) == ZeroConcentratedDivergence()


def round_up_four_digits(number: float) -> str:
    return f"{float(_FOUR_UP.create_decimal(Decimal(repr(float(number))))):g}"


# Exports of a ledger for other programs: JSON lines, CSV, and a summary.

_COLUMNS = tuple(Entry.__dataclass_fields__)


def ledger_summary(ledger: Ledger) -> dict[str, Any]:
    ledger = ledger.at_one_moment()
    return {
        "dataset": ledger.dataset,
        "metric": ledger.metric,
        "d_in": str(ledger.d_in),
        **({} if ledger.user is None else {"user": ledger.user, "person": ledger.person}),
        **ledger.stated,
        "measure": repr(ledger.measure),
        "budget": ledger.promise,
        "counted": repr(ledger.counted),
        "limit": ledger.limit,
        "spent": ledger.spent(),
        "left": ledger.remaining(),
        **({"filters": list(map(_filter_fields, ledger.filters())), "room": ledger.room()} if ledger.filters() else {}),
        "head": ledger.head(),
        **({"accepted": list(ledger.accepted)} if ledger.accepted else {}),
    }


def _filter_fields(one: Filter) -> dict[str, Any]:
    amounts = {"limit": one.limit, "spent": one.spent, "delta": one.delta}
    return {"adds": one.adds, **{name: format_amount((part,)) for name, part in amounts.items()}, "alive": one.alive}


def json_lines(ledger: Ledger) -> str:
    """Return the summary and the entries as JSON, one per line."""
    ledger = ledger.at_one_moment()
    return "".join(
        json_text(one, indent=None, ascii_only=True) + "\n"
        for one in (ledger_summary(ledger), *(one.as_dict() for one in ledger.history()))
    )


def csv_table(ledger: Ledger) -> str:
    """Return a header and one line per entry. Texts are escaped against spreadsheet formulas and terminal codes."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows([_csv_cell(getattr(one, name)) for name in _COLUMNS] for one in ledger.history())
    return text.getvalue()


def _csv_cell(value: Any) -> str:
    if value is None:
        return ""
    return str(spreadsheet_cell(value)) if isinstance(value, str) else format_distance(value)


def format_distance(distance: Any) -> str:
    return ", ".join(map(str, distance)) if isinstance(distance, tuple) else str(distance)


# HTML page for a privacy officer: the budget over time, what is left, and the last entries. It needs no other file.

_KEY = '<p class="key"><span><i class="first"></i>spent</span><span><i class="limit"></i>the whole budget</span></p>'
_LISTED = 2000  # maximum number of entries in the table of a page


def ledger_page(ledger: Ledger) -> str:
    ledger = ledger.at_one_moment()
    entries, problems = ledger.history(), ledger.verify()
    parts = entry_budget_shares(ledger)
    body = [
        f"<h1>Privacy budget of {escape(ledger.dataset)}</h1>",
        f'<p class="soft">As of {escape(_format_time(utc_timestamp()))}. {_entry_count_text(entries)}.</p>',
        _verification_html(problems),
        _budget_tiles(ledger),
        _facts_html(ledger_facts(ledger)),
        "<h2>What an attacker could find out</h2>",
        *_attack_paragraphs(ledger),
        "<h2>Spent over time</h2>",
        spending_chart(entries, [parts[one.number][1] for one in entries]),
        _KEY,
        "<h2>Releases</h2>",
        _omitted_entries_note(len(entries)),
        _entries_table(entries[-_LISTED:], parts),
        "<h2>Questions before the next release</h2>",
        _checklist_html(ledger),
        "<h2>Amounts in the ledger</h2>",
        _amounts_html(ledger),
    ]
    head = page_head(f"Privacy budget of {ledger.dataset}", Path(__file__).with_name("report.css"))
    main = bind_percent_signs("".join(body))
    return f'<!doctype html><html lang="en">{head}<body><main>{main}</main></body></html>\n'


def _entry_count_text(entries: Sequence[Entry]) -> str:
    states = {state: sum(one.state == state for one in entries) for state in ("released", "reserved", "failed")}
    listed = ", ".join(f"{number} {state}" for state, number in states.items() if number)
    return f"{len(entries)} {'entry' if len(entries) == 1 else 'entries'}{listed and f': {listed}'}"


def _verification_html(problems: Sequence[str]) -> str:
    if not problems:
        return "<p>The records are consistent: each record follows from the one before it, and the totals add up.</p>"
    return "".join(f'<p class="bad">This ledger is inconsistent: {escape(one)}.</p>' for one in problems)


def _budget_tiles(ledger: Ledger) -> str:
    budget, spent, left, at = budget_summary_texts(ledger)
    whole = f"the budget of all releases together{at and f', {at}'}"
    values = (whole, budget), ("spent so far", spent), ("left", left)
    tiles = (f'<div class="tile"><b>{escape(value)}</b><span>{escape(name)}</span></div>' for name, value in values)
    return f'<div class="tiles">{"".join(tiles)}</div>'


def _facts_html(rows: Sequence[tuple[str, str]]) -> str:
    return f"<dl>{''.join(f'<div><dt>{escape(name)}</dt><dd>{escape(said)}</dd></div>' for name, said in rows)}</dl>"


def _format_short(value: Any) -> str:
    return ", ".join(f"{one:.6g}" for one in (value if isinstance(value, tuple) else (value,)))


def _attack_paragraphs(ledger: Ledger) -> list[str]:
    now_right, in_the_end = attack_accuracies(ledger)
    who = f"one particular {ledger.person or 'person'}" if ledger.d_in == 1 else "a particular group"
    added = "add_remove" in ledger.metric
    what = f"whether {who} is in the data" if added else f"which of two sets of rows {who} has in the data"
    return [
        f"<p>An attacker who sees all releases and knows the data of everyone else guesses {escape(what)}; both are "
        "equally likely. Without the releases the guess is right 50 % of the time; with the releases so far, at most "
        f"<b>{now_right:g} %</b>; once the whole budget is spent, at most <b>{in_the_end:g} %</b>.</p>",
        '<p class="soft">Reserved and failed releases are also spent: a ledger never refunds. Releases made '
        "elsewhere from the same data are not included. The shares below are shares of the amount that may "
        "be charged: they add up, although the epsilons of several releases may not.</p>",
    ]


def _checklist_html(ledger: Ledger) -> str:
    person, column = ledger.person or "person", ledger.user or "that identifies people"
    questions = (
        f"Does each {person} have one value of the column {column}? A person with two values counts as two people.",
        "Are all releases from these data in this ledger, and is no copy of the ledger used for releases?",
        "Is this accuracy of an attacker acceptable to the people in the data?",
        "Is the remaining budget enough for all releases planned until the end of the period?",
        "Was the head below stored where the operator of the ledger cannot write? Does the ledger continue "
        "from the last one?",
    )
    return f'<ul class="ask">{"".join(f"<li>{escape(one)}</li>" for one in questions)}</ul>'


def _amounts_html(ledger: Ledger) -> str:
    counted = ledger.counted
    listed = f"{counted.measure.symbol}, delta" if isinstance(counted, Approximate) else counted.symbol
    rows = [
        ("promised", f"{ledger.promise} under {ledger.measure!r}, at distance {ledger.d_in} under {ledger.metric}"),
        (f"may be charged ({listed})", _format_short(ledger.limit)),
        (f"spent ({listed})", _format_short(ledger.spent())),
        (f"left ({listed})", _format_short(ledger.remaining())),
        ("head of the records", ledger.head()),
    ]
    return f'<div class="small">{_facts_html(rows)}</div>'


def _entries_table(entries: Sequence[Entry], parts: Mapping[int, tuple[float, float]]) -> str:
    names = ("no.", "time", "release", ", ".join(TITLES[name] for name in OWN), "state", "share", "spent", "by")
    head = "".join(f"<th>{name}</th>" for name in names)
    rows = "".join(_entry_row(one, names, *parts[one.number]) for one in entries)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _omitted_entries_note(count: int) -> str:
    """Return a note on the entries of a long ledger that are not listed, or an empty text."""
    first = f'<p class="soft">These are the last {_LISTED} entries. `opendp-topk ledger export` writes all '
    return f"{first}{count}, and the spent budget includes all.</p>" if count > _LISTED else ""


def _entry_row(one: Entry, names: Sequence[str], cost: float, spent: float) -> str:
    cells = (
        str(one.number),
        escape(_format_time(one.time)),
        _release_cell(one),
        escape(", ".join(filter(None, (getattr(one, name) for name in OWN)))),
        f'<span class="{escape(one.state)}">{escape(one.state)}</span>',
        _format_percent(cost) + (f" of entry {one.within}" if one.used is not None else ""),
        _format_percent(spent),
        escape(one.operator),
    )
    filled = (f'<td data-name="{name}"><span>{cell}</span></td>' for name, cell in zip(names, cells, strict=True))
    return f"<tr>{''.join(filled)}</tr>"


def _format_time(time: str) -> str:
    return time[:16].replace("T", " ") + " UTC"


def _format_percent(part: float) -> str:
    return f"{round_up_four_digits(100 * part)} %"


def _release_cell(one: Entry) -> str:
    title = one.label or release_title(one)
    bound = "" if one.at_most is None else f"\nat most: {one.at_most}{', shared' if one.shared else ''}"
    cost = f"cost: {_format_short(one.cost)}\nspent up to it: {_format_short(one.spent)}"
    told = f"{one.measurement}\nproof: {one.proof}\nclaim: {one.claim}\nd_in: {one.d_in}{bound}\n{cost}"
    return f"{escape(title)}<details><summary>details</summary><pre>{escape(told)}</pre></details>"


def release_title(entry: Entry) -> str:
    """Return a title of the release from the repr of its measurement, or by default the first line of the repr."""
    fields = dict(line.split("=", 1) for line in entry.measurement.splitlines() if "=" in line)
    named = {name.strip(): value.strip() for name, value in fields.items()}
    if "mechanism" not in named:
        return entry.measurement.splitlines()[0] if entry.measurement else "a release"
    if "k" not in named:
        return named["mechanism"].replace("_", " ")
    candidates = named.get("candidates", "None")
    of = "" if candidates == "None" else f" of {candidates} candidates"
    return f"a {named.get('release', 'ranking')} of {named['k']}{of}"
