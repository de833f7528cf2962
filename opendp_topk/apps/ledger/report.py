"""Reports of a ledger for people: summaries and exports."""

from __future__ import annotations

import csv
import io
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

from ...markup.foreign import json_text, spreadsheet_cell
from ...numerics.arithmetic import round_up, to_fraction
from ...spaces.costs import conversion_overhead
from ...spaces.curves.closed_forms import UpToDelta, ZCDPBound, attack_accuracy, total_variation
from ...spaces.curves.curve import PrivacyCurve
from ...spaces.measures import PrivacyProfile, ZeroConcentratedDivergence, without_delta
from .amounts import Amount, BudgetAccount, Filter, deserialize_amount, format_amount
from .journal import Entry
from .ledger import Ledger
from .records import Record

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
