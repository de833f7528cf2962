"""What the record of a release says, in words: the same on a terminal and on a page."""

from __future__ import annotations

import math
from typing import Any

from ..spaces.curves.closed_forms import Concentrated
from ..spaces.curves.curve import PrivacyCurve

_POINTS = [step / 16 for step in range(129)]  # epsilons at which a curve is asked for the best guess
_MARGIN = 1 + 1e-9  # far more than the float64 operations of a share err


def question(record: dict[str, Any]) -> str:
    """What was asked."""
    candidates = record["mechanism"]["candidates"]
    many = "one" if record["k"] == 1 else str(record["k"])
    if candidates is None:
        return f"The {many} {'item' if record['k'] == 1 else 'items'} in the table that most users have"
    return f"The {many} of {candidates:,} candidates that most users have".replace(",", "\u202f")


def how(record: dict[str, Any]) -> str:
    """What the list is, and what it is not."""
    order = "best first" if record["release"] == "ranking" else "in the order of the candidates, without ranks"
    more = ""
    if "counts" in record:
        more = " Each comes with a noisy count of its users."
    if "gaps" in record:
        more = " Each comes with its noisy lead over the next."
    return (
        f"Released {order}. Random noise of scale {record['scale']:.6g} users took part in the choice, so that the "
        f"list depends little on any one user; how little is said below.{more} No exact count was released."
    )


def cost(record: dict[str, Any]) -> str:
    """The privacy loss, and to whom it applies."""
    return f"{loss(record)} for {whom(record)}"


def loss(record: dict[str, Any]) -> str:
    """The privacy loss alone."""
    if not isinstance(record["d_out"], list):
        return f"{record['symbol']} = {record['d_out']:.12g}"
    main = record["symbol"].strip("()").partition(",")[0]
    return f"{main} = {record['d_out'][0]:.12g}, delta = {record['d_out'][1]:.6g}"


def whom(record: dict[str, Any]) -> str:
    """Whom the cost protects."""
    users = "1 user" if record["d_in"] == 1 else f"{record['d_in']} users"
    return f"{users} {'added or removed' if record['neighbors'] == 'add_remove' else 'replaced'}"


def at_stake(record: dict[str, Any]) -> str:
    """What one person could lose, as the share of right guesses of somebody who knows everything else."""
    alone = record["d_in"] == 1
    one = "one particular user" if alone else f"one particular group of {record['d_in']} users"
    what = f"{one} is in the table" if record["neighbors"] == "add_remove" else f"{one} has this or that in the table"
    if record["neighbors"] == "add_remove" and not alone:
        what = f"{one} is in the table or not at all"
    share = math.ceil(1000 * right_guesses(record) * _MARGIN) / 10
    return (
        f"Think of somebody who knows all other rows, and has to guess whether {what}, both being equally likely. "
        f"Without this release the guess is right 50 % of the time. With it, at most {min(share, 100):g} %."
    )


def right_guesses(record: dict[str, Any]) -> float:
    """The largest probability of a right guess between two neighbouring tables that are equally likely."""
    return (1 + distance(record)) / 2


def distance(record: dict[str, Any]) -> float:
    """A bound on the total variation between the releases from neighbouring tables, by what the record claims."""
    main, delta = record["d_out"] if isinstance(record["d_out"], list) else (record["d_out"], 0.0)
    if record["symbol"].startswith(("rho", "(rho")):
        curve = PrivacyCurve(Concentrated(main))
        pinsker = math.sqrt(main / 2)  # the divergence of order 1 is at most rho
        return min(1.0, delta + min(pinsker, *(_apart(epsilon, curve.delta(epsilon)) for epsilon in _POINTS)))
    return min(1.0, _apart(main, delta))


def _apart(epsilon: float, delta: float) -> float:
    """The largest total variation of two laws that are (epsilon, delta)-close both ways."""
    return math.tanh(epsilon / 2) + delta * (1 - math.tanh(epsilon / 2))


def paid(record: dict[str, Any]) -> str:
    """What paid for it."""
    entry = record["ledger"]
    if entry is None:
        return "No ledger was named: this record alone tells of its cost."
    return f"Entry {entry['entry']} of the ledger of {entry['dataset']}, debited {moment(entry['time'])}."


def moment(time: str) -> str:
    """A time as people read it."""
    return time.replace("T", " ").replace("+00:00", " UTC")


def mechanism(record: dict[str, Any]) -> str:
    """The mechanism and its parameters."""
    known = record["mechanism"]
    shown = [f"{name} = {value}" for name, value in known.items() if name not in ("mechanism", "transformation")]
    return f"{known['mechanism']}, with {', '.join(shown)}"


def made_by(record: dict[str, Any]) -> str:
    """The software."""
    library, engine = record["library"], record["engine"]
    return f"{library['name']} {library['version']}; the table was counted by {engine['name']} {engine['version']}"
