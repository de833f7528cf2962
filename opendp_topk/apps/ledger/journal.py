"""Journal of a ledger: debits that are on disk before noise is drawn, and its entries."""

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
from ...errors.files import quote_path
from ...spaces.measures import MaxDivergence
from ...spaces.stated import from_json, to_json
from .amounts import (
    MEASURES,
    UNBOUNDED,
    Amount,
    BudgetAccount,
    add_amounts,
    deserialize_amount,
    remaining_distance,
    round_up_to_distance,
    serialize_amount,
)
from .logs import Log
from .records import (
    FORMAT,
    VERSION,
    Record,
    accepted_kinds_in,
    damaged_log_error,
    ledger_error,
    next_record_text,
    seal_record,
)
from .stated import OWN, LedgerPrivacyUnit, validate_name
from .stated import read_metadata as stated_in

# The entries of a ledger: every debit and its state.

RESERVED, RELEASED, FAILED = STATES = ("reserved", "released", "failed")
_SAID: dict[str, Callable[[Any], Any]] = {**dict.fromkeys(OWN, str), "at_most": int, "shared": bool}


@dataclass(frozen=True)
class Entry:
    """One debit of a ledger. It counts as spent whatever its state is.

    ``cost`` is its charge and ``spent`` the total charge of all entries up to it, in the measure of the ledger, rounded
    up. ``state`` is ``reserved`` until it is known that it was ``released`` or has ``failed``. ``claim`` is the SHA-256
    of the library's claims with the measurement and its proof. ``within`` is the number of the conversation to which
    the entry belongs, and ``used`` what that conversation had used up to it. ``record`` is the digest of the record of
    its release, salted so that the release cannot be guessed. ``period`` and ``purpose`` are given by the caller. If
    the entry counted by another column than the ledger's, ``at_most`` is the number of its values with which one person
    has rows, and ``shared`` is true if one value may belong to several people.
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


def read_entries(place: str, records: Iterable[Record], shown: Callable[[Any], Any]) -> list[Entry]:
    """Return the entries of a ledger's records; ``shown`` converts exact amounts for display."""
    found: dict[int, dict[str, Any]] = {}
    shorter = functools.cache(lambda texts: shown(deserialize_amount(list(texts))))
    try:
        for record in records:
            _apply_entry_record(found, record.fields, lambda texts: shorter(tuple(texts)))
        return [Entry(**one) for one in found.values()]
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        pass
    raise damaged_log_error(place)


def _apply_entry_record(found: dict[int, dict[str, Any]], fields: dict[str, Any], shown: Callable[[Any], Any]) -> None:
    if fields["kind"] == "debit":
        found[int(fields["entries"])] = _entry_fields(fields, shown)
    elif fields["kind"] == "state":
        one = found[int(fields["of"])]
        if one["state"] != RELEASED:  # the first release is final: later states are ignored
            digest = fields.get("record")
            kept = None if digest is None else str(digest)
            one.update(state=str(fields["state"]), settled=str(fields["time"]), record=kept)
    elif fields["kind"] not in ("ledger", "accept", "repair"):
        raise ValueError


def _entry_fields(fields: dict[str, Any], shown: Callable[[Any], Any]) -> dict[str, Any]:
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


def build_header(
    unit: LedgerPrivacyUnit, account: BudgetAccount, accepts: str | None = None, words: Mapping[str, str] | None = None
) -> str:
    form = {"number": 0, "kind": "ledger", "format": FORMAT, "version": VERSION}
    made = {"id": uuid.uuid4().hex, "time": utc_timestamp()}
    whom = {"dataset": unit.dataset, "metric": unit.metric, "d_in": str(unit.d_in)}
    people = {} if unit.user is None else {"user": unit.user, "person": unit.person}
    (measure,) = [text for text, one in MEASURES.items() if one == account.measure]
    amounts = {"budget": serialize_amount(account.budget), "limit": serialize_amount(account.limit)}
    promise: dict[str, Any] = {"measure": measure, **amounts}
    promise |= {} if account.shares is None else {"shares": serialize_amount(account.shares)}
    promise |= {} if account.step is None else {"step": to_json(account.step)}
    promise |= {} if account.order is None else {"order": str(account.order)}
    stated = {} if accepts is None else {"accepted": [accepts]}
    said = {**people, **(words or {}), **stated}
    return seal_record(
        {**form, **made, **whom, **promise, "entries": 0, "spent": serialize_amount(account.zero_amount), **said}
    )


class Journal:
    def __init__(self, log: Log, operator: str | None = None) -> None:
        self.log = log
        self.closed = False
        self.operator = operator_name(operator)
        self.header = log.first_record()
        self.unit, self.account = parse_header(log.place, self.header)
        self.words = stated_in(self.header.fields)
        self.total_spent()

    # proof-region: journal
    def debit(
        self, cost: Amount | None, shown: Any, said: dict[str, Any], step: Callable[[], Any] | None = None
    ) -> Record:
        """Append an entry with this cost, if it fits, and return when it is on the disk.

        ``said`` has the fields of the entry. ``step`` is called while no other process can write. It may refuse the
        entry, and returns what the entry adds to a conversation that is already paid for, instead of the cost.
        """

        def build_debit_record(last: Record) -> str:
            before = self.spent_at_record(last)
            more = {} if step is None else step()
            extra = self.account.zero_amount if "used" in more else cost  # [paid-before]
            if (
                cost is None or extra is None or not self.account.is_total_allowed(after := add_amounts(before, extra))
            ):  # [refuse]
                raise self.budget_error(
                    shown,
                    self.remaining_amount(before),
                    self.account.largest_next_losses(before),
                    self._epsilon_charge_text(cost),
                )
            entry = {"kind": "debit", "time": utc_timestamp(), "operator": self.operator, **said, **more}
            amounts = {"cost": serialize_amount(cost), "spent": serialize_amount(after)}
            count = int(last.fields["entries"]) + 1
            return next_record_text(last, self.header.digest, entries=count, **amounts, **entry)

        made = self._append_record(build_debit_record)  # [debit]
        left = self.remaining_amount(self.spent_at_record(made))
        _LOG.info("%s: entry %s is debited, and %s is left", self.log.place, made.fields["entries"], left)
        return made

    def settle(self, number: int, state: str, record: str | None = None) -> None:
        """See :meth:`Ledger.settle`. ``record`` is the digest of the release's record, if one is kept."""

        def build_state_record(last: Record) -> str:
            told = {"kind": "state", "of": number, "state": state, "time": utc_timestamp(), "operator": self.operator}
            return next_record_text(last, self.header.digest, **told, **({} if record is None else {"record": record}))

        self._append_record(build_state_record, durable=False)
        _LOG.info("%s: entry %s is %s", self.log.place, number, state)

    def _append_record(self, make: Callable[[Record], str], *, durable: bool = True) -> Record:
        self._require_open()
        return self.log.append(lambda last: make(self._require_own_record(last)), durable=durable)

    def spent_at_record(self, record: Record) -> Amount:
        try:
            found = deserialize_amount(record.fields["spent"])
        except (KeyError, ValueError, ZeroDivisionError):
            found = ()
        if len(found) != len(self.account.limit):
            raise damaged_log_error(self.log.place)
        return found

    def _require_own_record(self, last: Record) -> Record:
        """Return ``last`` after checking that it belongs to the ledger that was opened."""
        if last.digest != self.header.digest and last.fields.get("ledger") != self.header.digest:  # [own]
            raise ledger_error(
                self.log.place,
                "read",
                "it does not belong to the first record: the file was replaced by another or edited",
            )
        entry_count_at(self.log.place, last)
        return last

    # end-proof-region: journal

    def record_accepted_kind(self, kind: str) -> None:
        """Record an accepted kind of file system, or a server to which the ledger was moved, if it is new."""
        if kind not in self.recorded_accepted_kinds():

            def build_accept_record(last: Record) -> str:
                kinds = sorted({*accepted_kinds_in(last), kind})
                told = {"kind": "accept", "accepted": kinds, "time": utc_timestamp(), "operator": self.operator}
                return next_record_text(last, self.header.digest, **told)

            self._append_record(build_accept_record)

    def recorded_accepted_kinds(self) -> list[str]:
        return accepted_kinds_in(self.last_record())

    def settle_if_possible(self, number: int, state: str, record: str | None = None) -> str:
        """Call :meth:`settle`. If that fails, the entry stays reserved at the same cost, and the reason is returned."""
        try:
            self.settle(number, state, record)
            return ""
        except LedgerError as error:
            return str(error).replace(". Nothing was released", "")

    def settle_reserved_entry(self, number: Any, state: Any, record: str | None = None) -> None:
        """Call :meth:`settle` after checking that the entry exists and is reserved."""
        found = self.find_entry(number)
        if checks.require_choice("state", state, (RELEASED, FAILED)) and found.state != RESERVED:
            raise ParameterError(f"entry {found.number} is already {found.state}")
        self.settle(found.number, state, record)

    def find_entry(self, number: Any) -> Entry:
        (found,) = read_entries(
            self.log.place, self._iter_entry_records(self.find_debit_record(number)), self.amount_as_distance
        )
        return found

    def _iter_entry_records(self, made: Record) -> Iterator[Record]:
        """Yield the record of a debit and those of its states, up to the first that marks it as released."""
        yield made
        number = made.fields["entries"]
        for record in self.log.iter_records(made, holding=f'"of":{number},'):
            if record.fields.get("kind") == "state" and record.fields.get("of") == number:
                yield record
                if record.fields.get("state") == RELEASED:
                    return

    def find_debit_record(self, number: Any) -> Record:
        self._require_open()
        wanted = checks.require_positive_int("number", number)
        found = self.log.find_first_record(lambda record: entry_count_at(self.log.place, record) >= wanted)
        if found is None:
            there = entry_count_at(self.log.place, self.last_record())
            raise ParameterError(f"number must be the number of an entry; there are {there} entries")
        return found

    def read_all_entries(self) -> list[Entry]:
        self._require_open()
        return read_entries(self.log.place, self.log.iter_records(), self.amount_as_distance)

    def total_spent(self) -> Amount:
        return self.spent_at_record(self.last_record())

    def has_room(self, cost: Amount) -> bool:
        return self.account.is_total_allowed(add_amounts(self.total_spent(), cost))

    def last_record(self) -> Record:
        self._require_open()
        return self._require_own_record(self.log.last_record())

    def sync_last_record(self) -> Record:
        """Return the last record, once it is on the disk with all before it."""
        self._require_open()
        return self._require_own_record(self.log.sync_records())

    def amount_as_distance(self, value: Amount) -> Any:
        """Return an amount as a distance of the ledger's measure, rounded up."""
        return round_up_to_distance(self.account.counted_measure, value[:2])

    def remaining_amount(self, spent: Amount) -> Any:
        """Return the remaining part of the limit, rounded down."""
        return remaining_distance(
            self.account.counted_measure, self.account.limit[:2], self.account.spent_with_least_rho(spent)[:2]
        )

    def _epsilon_charge_text(self, cost: Amount | None) -> str:
        """Return the charge of the epsilon filter for a message, if there is one and it is finite."""
        if cost is None or len(cost) < 3 or cost[2] == UNBOUNDED:
            return ""
        return f", or {round_up_to_distance(MaxDivergence(), cost[2:3])} of epsilon,"

    def budget_error(
        self, cost: Any, remaining: Any, room: dict[str, Any] | None = None, epsilon: str = ""
    ) -> BudgetError:
        """Return the error for a release that does not fit; ``room`` is what would fit."""
        symbol = self.account.counted_measure.symbol
        _LOG.info("%s: a release is refused: it would cost %s, but %s is left", self.log.place, cost, remaining)
        fits = ", ".join(f"{name} up to {most}" for name, most in (room or {}).items())
        return BudgetError(
            f"the release would cost {cost} of {symbol}{epsilon or ','} but {remaining} is left: nothing was "
            "debited or released" + (fits and f". A release fits with {fits}")
        )

    def _require_open(self) -> None:
        if self.closed:
            raise ledger_error(self.log.place, "used", "it is closed: open it again")


def entry_count_at(place: str, record: Record) -> int:
    """Return the number of entries when ``record`` was written, including its own."""
    found = record.fields.get("entries")
    if not isinstance(found, int):
        raise damaged_log_error(place)
    return found


def parse_header(place: str, first: Record) -> tuple[LedgerPrivacyUnit, BudgetAccount]:
    fields = first.fields
    if fields.get("format") != FORMAT:
        raise ledger_error(place, "opened", "it is not a ledger")
    found = fields.get("version")
    if type(found) is not int or found != VERSION:
        raise ledger_error(
            place,
            "opened",
            f"its format has version {quote_path(str(found))}, but this library reads only version {VERSION}: "
            "open it with the version of opendp_topk that wrote it",
        )
    try:
        column, person = (None if (one := fields.get(name)) is None else str(one) for name in ("user", "person"))
        unit = LedgerPrivacyUnit(
            str(fields["dataset"]), str(fields["metric"]), Fraction(fields["d_in"]), column, person
        )
        account = BudgetAccount(
            MEASURES[fields["measure"]], deserialize_amount(fields["budget"]), deserialize_amount(fields["limit"])
        )
        numbers = len(account.budget)
        if account.has_mixed_measures:
            step = from_json(fields["step"]) if "step" in fields else None
            shares, order = deserialize_amount(fields["shares"]), Fraction(fields["order"])
            numbers = 4 + (step is not None)
            if len(shares) != 2 or order <= 1:
                raise ValueError
            account = replace(account, shares=shares, step=step, order=order)
        if len(account.limit) != numbers:
            raise ValueError
        return unit, account
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        pass
    raise damaged_log_error(place)


def utc_timestamp() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def operator_name(operator: str | None) -> str:
    """Return ``operator``, or by default the name of the account of this process; "unknown" if there is none."""
    if operator is not None:
        return validate_name("operator", operator)
    try:
        return validate_name("operator", getpass.getuser())
    except (ImportError, KeyError, OSError, ParameterError):
        return "unknown"
