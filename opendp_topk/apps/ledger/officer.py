"""What a ledger says to a privacy officer, in words: who is protected, what was spent and is left, what can be guessed.

Everything that was spent is told in one currency, epsilon at the delta of the budget, where the budget has an epsilon.
"""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

from ...numerics.arithmetic import exact, round_up
from ...spaces.costs import overhead
from ...spaces.curves.closed_forms import Concentrated, Mixture
from ...spaces.curves.curve import PrivacyCurve
from ...spaces.curves.guesses import percent_right, total_variation
from ...spaces.measures import PrivacyProfile, without_delta
from ...spaces.measures import ZeroConcentratedDivergence as Concentrating
from .accounts import Account
from .amounts import Amount, from_texts
from .filters import Filter
from .journal import Journal
from .ledger import Ledger
from .records import Record
from .stated import NOT_STATED, lines

_PLURALS = {"person": "people", "child": "children", "man": "men", "woman": "women"}
# Digits that a person reads: enough to tell a thousandth, few enough for a line.
_FOUR_UP, _FOUR_DOWN = Context(prec=4, rounding=ROUND_CEILING), Context(prec=4, rounding=ROUND_FLOOR)


def plural(person: str) -> str:
    """More than one of what a person is called."""
    if person in _PLURALS:
        return _PLURALS[person]
    if re.search("[^aeiou]y$", person):
        return f"{person[:-1]}ies"
    return f"{person}es" if re.search("(s|x|z|ch|sh)$", person) else f"{person}s"


def protected(neighbors: str, people: Any, person: str | None) -> str:
    """Whom a budget or a release protects."""
    one = "user" if person is None else person
    if neighbors == "add_remove":
        return f"one {one} more or less" if people == 1 else f"{people} people (each a {one}) more or less"
    if people == 1:
        return f"one {one}, whose rows are exchanged for others"
    return f"{people} people (each a {one}), whose rows are exchanged for others"


def protects(ledger: Ledger) -> str:
    """Whom the budget of ``ledger`` protects."""
    for neighbors in ("add_remove", "replace"):
        if ledger.metric == f"UserDistance(neighbors='{neighbors}')":
            return protected(neighbors, ledger.d_in, ledger.person)
    return f"data that differ by {ledger.d_in}, as {ledger.metric} measures it"


def facts(ledger: Ledger) -> list[tuple[str, str]]:
    """Which data, of whom, by whom and what for."""
    person = NOT_STATED if ledger.user is None else f"a {ledger.person}, told apart by the column {ledger.user}"
    return [
        ("protects", protects(ledger)),
        ("a person is", person),
        ("table", ledger.dataset),
        *lines(ledger.stated),
    ]


def spent_and_left(ledger: Ledger) -> tuple[str, str, str, str]:
    """The budget, what was spent, rounded up, what is left, rounded down, and at which delta all this is told."""
    budget = ledger.budget if isinstance(ledger.budget, tuple) else (ledger.budget,)
    symbol = "rho" if _concentrated(ledger) else "epsilon"
    at = f"at delta {budget[1]:.3g}" if len(budget) > 1 else ""
    spent = main_spent(ledger)
    left = Decimal(0) if spent >= budget[0] else Decimal(repr(budget[0])) - Decimal(repr(spent))
    return (
        f"{symbol} {budget[0]:.6g}",
        f"{symbol} {four_up(spent)}",
        f"{symbol} {float(_FOUR_DOWN.create_decimal(left)):g}",
        at,
    )


def main_spent(ledger: Ledger) -> float:
    """What was spent, rounded up: as an epsilon at the delta of the budget, or as a rho where the budget is one.

    Of a budget whose releases are mixed it is the least that a sum tells which keeps the budget.
    """
    spent = ledger.spent()
    if ledger.measure != PrivacyProfile():
        return float(spent[0] if isinstance(spent, tuple) else spent)
    told = [_epsilon(one, spent[1], ledger.budget) for one in ledger.filters() if one.alive]
    return min(told, default=ledger.budget[0])


def _epsilon(sums: Filter, own: float, budget: tuple[float, float]) -> float:
    """The epsilon that one sum tells, at the delta of the budget; of steps, no less than their part of the budget."""
    if not sums.spent:
        return 0.0
    if sums.adds == "rho":
        return PrivacyCurve(Mixture(Concentrated(exact(sums.spent)), exact(own))).epsilon(budget[1])
    if sums.order is not None:
        rest = exact(budget[1]) - exact(own)
        told = sums.spent + overhead(sums.order, rest) if rest > 0 else exact(budget[0])
        return min(budget[0], max(0.0, round_up(told)))
    return round_up(sums.spent) if sums.adds == "epsilon" else budget[0]


def shares(ledger: Ledger) -> dict[int, tuple[float, float]]:
    """Of each entry, which part of the budget it cost, and which part was spent up to it.

    Parts are of the number of which most is gone; of several sums that keep the budget, of the one of which least is.
    """
    journal = ledger._journal
    best = _place(journal.account, journal.spent())
    return {
        int(one.fields["entries"]): (_part(journal, one, "cost", best), _part(journal, one, "spent", best))
        for one in journal.log.records()
        if one.fields["kind"] == "debit"
    }


def _place(account: Account, spent: Amount) -> list[int]:
    """Which numbers count: all, or of several sums the best one, beside delta."""
    places = [at for at, most in enumerate(account.limit) if most]
    if not account.mixes:
        return places
    sums = [at for at in places if at != 1]
    return [min(sums, key=lambda at: float(spent[at] / account.limit[at])), *([1] if 1 in places else [])]


def _part(journal: Journal, record: Record, name: str, places: list[int]) -> float:
    found, limit = from_texts(record.fields[name]), journal.account.limit
    return max((float(found[at] / limit[at]) for at in places), default=0.0)


def guess(ledger: Ledger) -> tuple[float, float]:
    """How often somebody guesses right whether a person is there: after what was spent, and after the whole budget."""
    budget = ledger.budget if isinstance(ledger.budget, tuple) else (ledger.budget, 0.0)
    spent = ledger.spent()
    own = budget[1] if ledger.measure == PrivacyProfile() else spent[1] if isinstance(spent, tuple) else 0.0
    now = main_spent(ledger), own if any(spent if isinstance(spent, tuple) else (spent,)) else 0.0
    shares = (total_variation(*one, concentrated=_concentrated(ledger)) for one in (now, budget))
    first, second = map(percent_right, shares)
    return first, second


def _concentrated(ledger: Ledger) -> bool:
    return ledger.measure != PrivacyProfile() and without_delta(ledger.measure) == Concentrating()


def four_up(number: float) -> str:
    """Four digits, rounded up, of the decimal as which a number is written."""
    return f"{float(_FOUR_UP.create_decimal(Decimal(repr(float(number))))):g}"
