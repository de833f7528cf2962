"""What the record of a release says, in words: the same on a terminal and on a page."""

from __future__ import annotations

import math
from typing import Any

from ..numerics.arithmetic import exact
from ..spaces.curves.closed_forms import Concentrated
from ..spaces.curves.curve import PrivacyCurve

_POINTS = [step / 16 for step in range(129)]  # epsilons at which a curve is asked for the best guess
_MARGIN = 1 + 1e-9  # far more than the float64 operations of a share err


def question(record: dict[str, Any]) -> str:
    """What was asked."""
    candidates, column = record["mechanism"]["candidates"], summed(record)
    many = "one" if record["k"] == 1 else str(record["k"])
    ranked = "that most users have" if column is None else f"with the largest sums of {column}"
    if record["k"] is None:
        enough = "enough users" if column is None else f"a large enough sum of {column}"
        return f"All items in the table with {enough}"
    if candidates is None:
        return f"The {many} {'item' if record['k'] == 1 else 'items'} in the table {ranked}"
    return f"The {many} of {f'{candidates:,}'.replace(',', chr(0x202F))} candidates {ranked}"


def summed(record: dict[str, Any]) -> str | None:
    """The column whose sums rank the items; None where they are ranked by their users."""
    column = record["mechanism"].get("value")
    return None if column is None else str(column)


def amount(record: dict[str, Any], steps: float) -> float:
    """A score as people read it: a number of users, or a sum, which the record holds in steps of its grid."""
    return steps if summed(record) is None else float(exact(steps) * exact(record["mechanism"]["granularity"]))


def counts(record: dict[str, Any]) -> list[float] | None:
    """The noisy counts, or sums, if there are any."""
    return [amount(record, count) for count in record["counts"]] if "counts" in record else None


def how(record: dict[str, Any]) -> str:
    """What the list is, and what it is not."""
    column = summed(record)
    unit = "users" if column is None else f"in {column}"
    scale = f"{amount(record, record['scale']):.6g} {unit}"
    order = "best first" if record["release"] == "ranking" else "in the order of the candidates, without ranks"
    more = ""
    if "counts" in record:
        more = " Each comes with a noisy " + ("count of its users." if summed(record) is None else "sum.")
    if "gaps" in record:
        more = " Each comes with its noisy lead over the next."
    return (
        f"Released {order}. Random noise of scale {scale} took part in the choice, so that the list depends little on "
        f"any one user; how little is said below.{more} No exact {'count' if column is None else 'sum'} was released."
    )


def other(record: dict[str, Any]) -> list[tuple[str, str]]:
    """How many users have an item that was not released, where that was asked for."""
    return [("other", f"{record['other']} users, with noise, have another item")] if "other" in record else []


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


def read(record: dict[str, Any]) -> list[tuple[str, str]]:
    """Which rows were read, and what attests the files, where the record says so."""
    rows = [("rows", f"those with {record['where']}")] if "where" in record else []
    attested = f"a list, kept as private as the table, whose digest is {record.get('files')}"
    return [*rows, *([("files", attested)] if "files" in record else [])]


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
