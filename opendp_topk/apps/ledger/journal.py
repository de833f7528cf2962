"""Journal of a ledger: debits are on the disk before anything is drawn; its entries can be read."""

from __future__ import annotations

import functools
import getpass
import logging
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from ...errors import BudgetError, LedgerError, ParameterError, checks
from ...errors.files import quoted
from ...spaces.measures import MaxDivergence
from ...spaces.stated import from_json, to_json
from .amounts import MEASURES, UNBOUNDED, Account, Amount, distance_up, from_texts, left, to_texts, total
from .logs import Log
from .records import FORMAT, VERSION, Record, accepted_in, damaged, failure, follow, seal
from .stated import OWN, Unit, name_of
from .stated import read as stated_in

# The entries of a ledger: every debit and its state.

RESERVED, RELEASED, FAILED = STATES = ("reserved", "released", "failed")
_SAID: dict[str, Callable[[Any], Any]] = {**dict.fromkeys(OWN, str), "at_most": int, "shared": bool}


@dataclass(frozen=True)
class Entry:
    """One debit of a ledger. It counts as spent whatever its state is.

    ``cost`` is its charge and ``spent`` the total charge of all entries up to it, in the measure of the ledger, rounded
    up. ``state`` is ``reserved`` until it is known that it was ``released`` or has
    ``failed``. ``claim`` is the SHA-256 of the library's claims with the measurement and its proof. ``within`` is the
    number of the conversation to which the entry belongs, and ``used`` what that conversation had used up to it.
    ``record`` is the digest of the record of its release, salted so that the release cannot be guessed.
    ``period`` and ``purpose`` are given by the caller. If the entry counted by another column than the ledger's,
    ``at_most`` is the number of its values with which one person has rows, and ``shared`` is true if one value may
    belong to several people.
    """

    number: int
    time: str
    label: str
    operator: str
    measurement: str
    proof: str
    claim: str
    d_in: str
    cost: Any
    spent: Any
    state: str
    settled: str | None = None
    within: int | None = None
    used: Any = None
    record: str | None = None
    period: str | None = None
    purpose: str | None = None
    at_most: int | None = None
    shared: bool | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the entry for JSON, without absent fields."""
        return {name: value for name, value in vars(self).items() if value is not None}


def read(place: str, records: Iterable[Record], shown: Callable[[Any], Any]) -> list[Entry]:
    """Return the entries of a ledger's records; ``shown`` converts exact amounts for display.

    Raises:
        LedgerError: If a record is not one that a ledger writes.
    """
    found: dict[int, dict[str, Any]] = {}
    shorter = functools.cache(lambda texts: shown(from_texts(list(texts))))
    try:
        for record in records:
            _add(found, record.fields, lambda texts: shorter(tuple(texts)))
        return [Entry(**one) for one in found.values()]
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        pass
    raise damaged(place)


def _add(found: dict[int, dict[str, Any]], fields: dict[str, Any], shown: Callable[[Any], Any]) -> None:
    if fields["kind"] == "debit":
        found[int(fields["entries"])] = _entry(fields, shown)
    elif fields["kind"] == "state":
        one = found[int(fields["of"])]
        if one["state"] != RELEASED:  # the first release is final: later states are ignored
            digest = fields.get("record")
            kept = None if digest is None else str(digest)
            one.update(state=str(fields["state"]), settled=str(fields["time"]), record=kept)
    elif fields["kind"] not in ("ledger", "accept", "repair"):
        raise ValueError


def _entry(fields: dict[str, Any], shown: Callable[[Any], Any]) -> dict[str, Any]:
    said = {name: kind(fields[name]) for name, kind in _SAID.items() if name in fields}
    texts = {name: str(fields[name]) for name in ("time", "label", "operator", "measurement", "proof", "claim", "d_in")}
    datetime.fromisoformat(texts["time"])  # raises ValueError if it is not a time: a ledger did not write it
    told = {
        "number": int(fields["entries"]),
        "cost": shown(fields["cost"]),
        "spent": shown(fields["spent"]),
        "state": RESERVED,
        "record": None,
        "within": fields.get("within"),
        "used": None if "used" not in fields else shown(fields["used"]),
    }
    return {**texts, **told, **said}


# The debits of one ledger: a header with its purpose, and records that are paid for before anything is drawn.
#
# Proof: proofs/ledger/ledger.tex

_LOG = logging.getLogger(__name__)  # logs debits, refusals and settlements: entry numbers and costs, never data


def header(unit: Unit, account: Account, accepts: str | None = None, words: Mapping[str, str] | None = None) -> str:
    """Return the first record of a new ledger."""
    form = {"number": 0, "kind": "ledger", "format": FORMAT, "version": VERSION, "id": uuid.uuid4().hex, "time": now()}
    whom = {"dataset": unit.dataset, "metric": unit.metric, "d_in": str(unit.d_in)}
    people = {} if unit.user is None else {"user": unit.user, "person": unit.person}
    (measure,) = [text for text, one in MEASURES.items() if one == account.measure]
    promise: dict[str, Any] = {"measure": measure, "budget": to_texts(account.budget), "limit": to_texts(account.limit)}
    promise |= {} if account.shares is None else {"shares": to_texts(account.shares)}
    promise |= {} if account.step is None else {"step": to_json(account.step)}
    promise |= {} if account.order is None else {"order": str(account.order)}
    stated = {} if accepts is None else {"accepted": [accepts]}
    said = {**people, **(words or {}), **stated}
    return seal({**form, **whom, **promise, "entries": 0, "spent": to_texts(account.nothing), **said})


class Journal:
    """The records of the ledger in ``log``."""

    def __init__(self, log: Log, operator: str | None = None) -> None:
        self.log = log
        self.closed = False
        self.operator = named(operator)
        self.header = log.first()
        self.unit, self.account = described(log.place, self.header)
        self.words = stated_in(self.header.fields)
        self.spent()

    # proof-region: journal
    def debit(
        self, cost: Amount | None, shown: Any, said: dict[str, Any], step: Callable[[], Any] | None = None
    ) -> Record:
        """Append an entry with this cost, if it fits, and return when it is on the disk.

        ``said`` has the fields of the entry. ``step`` is called while no other process can write. It may refuse the
        entry, and returns what the entry adds to a conversation that is already paid for, instead of the cost.
        """

        def make(last: Record) -> str:
            before = self.amounts(last)
            more = {} if step is None else step()
            extra = self.account.nothing if "used" in more else cost  # [paid-before]
            if cost is None or extra is None or not self.account.admits(after := total(before, extra)):  # [refuse]
                raise self.refusal(shown, self.left(before), self.account.room(before), self._epsilon(cost))
            entry = {"kind": "debit", "time": now(), "operator": self.operator, **said, **more}
            count = int(last.fields["entries"]) + 1
            return follow(last, self.header.digest, entries=count, cost=to_texts(cost), spent=to_texts(after), **entry)

        made = self._append(make)  # [debit]
        _LOG.info("%s: entry %s is debited, and %s is left", self.log.place, made.fields["entries"], self._rest(made))
        return made

    def settle(self, number: int, state: str, record: str | None = None) -> None:
        """Mark a reserved entry as released or failed. Nothing is refunded.

        ``record`` is the digest of the release's record, if one is kept.
        """

        def make(last: Record) -> str:
            told = {"kind": "state", "of": number, "state": state, "time": now(), "operator": self.operator}
            return follow(last, self.header.digest, **told, **({} if record is None else {"record": record}))

        self._append(make, durable=False)
        _LOG.info("%s: entry %s is %s", self.log.place, number, state)

    def _append(self, make: Callable[[Record], str], *, durable: bool = True) -> Record:
        self._require_open()
        return self.log.append(lambda last: make(self._own(last)), durable=durable)

    def amounts(self, record: Record) -> Amount:
        """Return the amount spent when ``record`` was written."""
        try:
            found = from_texts(record.fields["spent"])
        except (KeyError, ValueError, ZeroDivisionError):
            found = ()
        if len(found) != len(self.account.limit):
            raise damaged(self.log.place)
        return found

    def _own(self, last: Record) -> Record:
        """Check that ``last`` belongs to the ledger that was opened, and return it."""
        if last.digest != self.header.digest and last.fields.get("ledger") != self.header.digest:  # [own]
            raise failure(
                self.log.place,
                "read",
                "it does not belong to the first record: another file has taken its place, or it was edited",
            )
        counted(self.log.place, last)
        return last

    # end-proof-region: journal

    def accept(self, kind: str) -> None:
        """Record an accepted kind of file system, or a server to which the ledger was moved, if it is new."""
        if kind not in self.accepted():

            def make(last: Record) -> str:
                kinds = sorted({*accepted_in(last), kind})
                told = {"kind": "accept", "accepted": kinds, "time": now(), "operator": self.operator}
                return follow(last, self.header.digest, **told)

            self._append(make)

    def accepted(self) -> list[str]:
        """Return the accepted kinds of file systems and servers."""
        return accepted_in(self.last())

    def settle_if_possible(self, number: int, state: str, record: str | None = None) -> str:
        """Call :meth:`settle`; if that fails the entry stays reserved, at the same cost, and the reason is returned."""
        try:
            self.settle(number, state, record)
            return ""
        except LedgerError as error:
            return str(error).replace(". Nothing was released", "")

    def settle_by_hand(self, number: Any, state: Any, record: str | None = None) -> None:
        """Check that the entry exists and is reserved, and call :meth:`settle`."""
        found = self.entry(number)
        if checks.choice("state", state, (RELEASED, FAILED)) and found.state != RESERVED:
            raise ParameterError(f"entry {found.number} is {found.state} already")
        self.settle(found.number, state, record)

    def entry(self, number: Any) -> Entry:
        """Return one entry by its number."""
        (found,) = read(self.log.place, self._of(self.debited(number)), self.shown)
        return found

    def _of(self, made: Record) -> Iterator[Record]:
        """Yield the record of a debit and those of its states, up to the first that marks it as released."""
        yield made
        number = made.fields["entries"]
        for record in self.log.records(made, holding=f'"of":{number},'):
            if record.fields.get("kind") == "state" and record.fields.get("of") == number:
                yield record
                if record.fields.get("state") == RELEASED:
                    return

    def debited(self, number: Any) -> Record:
        """Return the record of an entry's debit."""
        self._require_open()
        wanted = checks.count("number", number)
        found = self.log.find(lambda record: counted(self.log.place, record) >= wanted)
        if found is None:
            there = counted(self.log.place, self.last())
            raise ParameterError(f"number must be that of an entry, and there are {there}")
        return found

    def entries(self) -> list[Entry]:
        """Return all entries, oldest first."""
        self._require_open()
        return read(self.log.place, self.log.records(), self.shown)

    def spent(self) -> Amount:
        """Return the total charge of all entries."""
        return self.amounts(self.last())

    def has_room(self, cost: Amount) -> bool:
        """Return True if an entry with this cost would fit now."""
        return self.account.admits(total(self.spent(), cost))

    def last(self) -> Record:
        """Return the last record."""
        self._require_open()
        return self._own(self.log.last())

    def synced(self) -> Record:
        """Return the last record, once it is on the disk with all before it."""
        self._require_open()
        return self._own(self.log.sync())

    def shown(self, value: Amount) -> Any:
        """Return an amount as a distance of the ledger's measure, rounded up."""
        return distance_up(self.account.counted, value[:2])

    def left(self, spent: Amount) -> Any:
        """Return the remaining part of the limit, rounded down."""
        return left(self.account.counted, self.account.limit[:2], self.account.told(spent)[:2])

    def _rest(self, record: Record) -> Any:
        return self.left(self.amounts(record))

    def _epsilon(self, cost: Amount | None) -> str:
        """Return the charge of the epsilon filter for a message, if there is one and it is finite."""
        if cost is None or len(cost) < 3 or cost[2] == UNBOUNDED:
            return ""
        return f", or {distance_up(MaxDivergence(), cost[2:3])} of epsilon,"

    def refusal(self, cost: Any, remaining: Any, room: dict[str, Any] | None = None, epsilon: str = "") -> BudgetError:
        """Return the error for a release that does not fit; ``room`` is what would fit."""
        symbol = self.account.counted.symbol
        _LOG.info("%s: a release is refused: it would cost %s, and %s is left", self.log.place, cost, remaining)
        fits = ", ".join(f"{name} up to {most}" for name, most in (room or {}).items())
        return BudgetError(
            f"the release would cost {cost} of {symbol}{epsilon or ','} and {remaining} is left: "
            "nothing was debited or released" + (fits and f"; what would fit is {fits}")
        )

    def _require_open(self) -> None:
        if self.closed:
            raise failure(self.log.place, "used", "it was closed: open it again")


def counted(place: str, record: Record) -> int:
    """Return the number of entries when ``record`` was written, including its own."""
    found = record.fields.get("entries")
    if not isinstance(found, int):
        raise damaged(place)
    return found


def described(place: str, first: Record) -> tuple[Unit, Account]:
    """Return the unit and the account in the first record."""
    fields = first.fields
    if fields.get("format") != FORMAT:
        raise failure(place, "opened", "it is not a ledger")
    found = fields.get("version")
    if type(found) is not int or found != VERSION:
        raise failure(
            place,
            "opened",
            f"its format has version {quoted(str(found))}, and this library reads version {VERSION} only: "
            "open it with the version of opendp_topk that wrote it",
        )
    try:
        column, person = (None if (one := fields.get(name)) is None else str(one) for name in ("user", "person"))
        unit = Unit(str(fields["dataset"]), str(fields["metric"]), Fraction(fields["d_in"]), column, person)
        account = Account(MEASURES[fields["measure"]], from_texts(fields["budget"]), from_texts(fields["limit"]))
        numbers = len(account.budget)
        if account.mixes:
            step = from_json(fields["step"]) if "step" in fields else None
            shares, order = from_texts(fields["shares"]), Fraction(fields["order"])
            numbers = 4 + (step is not None)
            if len(shares) != 2 or order <= 1:
                raise ValueError
            account = replace(account, shares=shares, step=step, order=order)
        if len(account.limit) != numbers:
            raise ValueError
        return unit, account
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        pass
    raise damaged(place)


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def named(operator: str | None) -> str:
    """``operator``, or else the name of the account that runs this process, where the system tells it."""
    if operator is not None:
        return name_of("operator", operator)
    try:
        return name_of("operator", getpass.getuser())
    except (ImportError, KeyError, OSError, ParameterError):
        return "unknown"
