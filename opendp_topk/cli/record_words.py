"""What the record of a release says, in words: the same on a terminal and on a page."""

from __future__ import annotations

import math

from ..numerics.arithmetic import exact
from ..planning.release_record import Claim, ReleaseRecord
from ..spaces.curves.closed_forms import Concentrated
from ..spaces.curves.curve import PrivacyCurve

_POINTS = [step / 16 for step in range(129)]  # epsilons at which a curve is asked for the best guess
_MARGIN = 1 + 1e-9  # far more than the float64 operations of a share err


def question(record: ReleaseRecord) -> str:
    """What was asked."""
    candidates, column = record.mechanism["candidates"], record.value
    many = "one" if record.k == 1 else str(record.k)
    ranked = "that most users have" if column is None else f"with the largest sums of {column}"
    if record.k is None:
        enough = "enough users" if column is None else f"a large enough sum of {column}"
        return f"All items in the table with {enough}"
    if not record.listed:
        return f"The {many} {'item' if record.k == 1 else 'items'} in the table {ranked}"
    return f"The {many} of {f'{candidates:,}'.replace(',', chr(0x202F))} candidates {ranked}"


def amount(record: ReleaseRecord, steps: float) -> float:
    """A score as people read it: a number of users, or a sum, which the record holds in steps of its grid."""
    return steps if record.value is None else float(exact(steps) * exact(record.mechanism["granularity"]))


def counts(record: ReleaseRecord) -> list[float] | None:
    """The noisy counts, or sums, if there are any."""
    found = record.released.counts
    return None if found is None else [amount(record, count) for count in found]


def how(record: ReleaseRecord) -> str:
    """What the list is, and what it is not."""
    unit = "users" if record.value is None else f"in {record.value}"
    scale = f"{amount(record, record.scale):.6g} {unit}"
    order = "best first" if record.release == "ranking" else "in the order of the candidates, without ranks"
    more = ""
    if record.released.counts is not None:
        more = " Each comes with a noisy " + ("count of its users." if record.value is None else "sum.")
    if record.released.gaps is not None:
        more = " Each comes with its noisy lead over the next."
    return (
        f"Released {order}. Random noise of scale {scale} took part in the choice, so that the list depends little on "
        f"any one user; how little is said below.{more} No exact {record.noun} was released."
    )


def other(record: ReleaseRecord) -> list[tuple[str, str]]:
    """How many users have an item that was not released, where that was asked for."""
    number = record.released.other
    return [] if number is None else [("other", f"{number} users, with noise, have another item")]


def cost(claim: Claim) -> str:
    """The privacy loss, and to whom it applies."""
    return f"{loss(claim)} for {claim.whom}"


def loss(claim: Claim) -> str:
    """The privacy loss alone."""
    if not isinstance(claim.d_out, tuple):
        return f"{claim.symbol} = {claim.d_out:.12g}"
    return f"{claim.main} = {claim.d_out[0]:.12g}, delta = {claim.d_out[1]:.6g}"


def read(record: ReleaseRecord) -> list[tuple[str, str]]:
    """Which rows were read, and what attests the files, where the record says so."""
    where, files = record.read.where, record.read.files
    attested = f"a list, kept as private as the table, whose digest is {files}"
    return [
        *([] if where is None else [("rows", f"those with {where}")]),
        *([] if files is None else [("files", attested)]),
    ]


def at_stake(claim: Claim) -> str:
    """What one person could lose, as the share of right guesses of somebody who knows everything else."""
    alone = claim.d_in == 1
    one = "one particular user" if alone else f"one particular group of {claim.d_in} users"
    what = f"{one} is in the table" if claim.neighbors == "add_remove" else f"{one} has this or that in the table"
    if claim.neighbors == "add_remove" and not alone:
        what = f"{one} is in the table or not at all"
    share = math.ceil(1000 * right_guesses(claim) * _MARGIN) / 10
    return (
        f"Think of somebody who knows all other rows, and has to guess whether {what}, both being equally likely. "
        f"Without this release the guess is right 50 % of the time. With it, at most {min(share, 100):g} %."
    )


def right_guesses(claim: Claim) -> float:
    """The largest probability of a right guess between two neighbouring tables that are equally likely."""
    return (1 + distance(claim)) / 2


def distance(claim: Claim) -> float:
    """A bound on the total variation between the releases from neighbouring tables, by what is claimed."""
    main, delta = map(float, claim.d_out if isinstance(claim.d_out, tuple) else (claim.d_out, 0))
    if claim.main == "rho":
        curve = PrivacyCurve(Concentrated(main))
        pinsker = math.sqrt(main / 2)  # the divergence of order 1 is at most rho
        return min(1.0, delta + min(pinsker, *(_apart(epsilon, curve.delta(epsilon)) for epsilon in _POINTS)))
    return min(1.0, _apart(main, delta))


def _apart(epsilon: float, delta: float) -> float:
    """The largest total variation of two laws that are (epsilon, delta)-close both ways."""
    return math.tanh(epsilon / 2) + delta * (1 - math.tanh(epsilon / 2))


def paid(record: ReleaseRecord) -> str:
    """What paid for it."""
    entry = record.ledger
    if entry is None:
        return "No ledger was named: this record alone tells of its cost."
    return f"Entry {entry['entry']} of the ledger of {entry['dataset']}, debited {moment(entry['time'])}."


def moment(time: str) -> str:
    """A time as people read it."""
    return time.replace("T", " ").replace("+00:00", " UTC")


def mechanism(record: ReleaseRecord) -> str:
    """The mechanism and its parameters."""
    known = record.mechanism
    shown = [f"{name} = {value}" for name, value in known.items() if name not in ("mechanism", "transformation")]
    return f"{known['mechanism']}, with {', '.join(shown)}"


def made_by(record: ReleaseRecord) -> str:
    """The software."""
    library, engine = record.library, record.read.engine
    return f"{library['name']} {library['version']}; the table was counted by {engine['name']} {engine['version']}"
