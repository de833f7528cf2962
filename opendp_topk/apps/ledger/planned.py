"""Reservations, planned releases and conversations: entries that later records continue."""

from __future__ import annotations

import functools
import json
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from fractions import Fraction
from types import TracebackType
from typing import Any, NoReturn

from ...core.home import process_identity
from ...core.measurement import Measurement
from ...core.transformation import public_lists
from ...errors import ParameterError, ParameterTypeError, QueryError
from ...numerics.arithmetic import to_fraction
from ...spaces.curves.composed import Composed, compose
from ...spaces.curves.curve import PrivacyCurve
from ...spaces.domains import require_readable
from ...spaces.stated import from_json, serializable_curve, to_json
from .amounts import (
    Amount,
    add_amounts,
    charges_per_filter,
    deserialize_amount,
    is_amount_within,
    mixture_curve_from_loss,
    parse_exact,
    remaining_distance,
    round_up_to_grid,
    serialize_amount,
)
from .charges import Charge, charge_for_journal, label_key, validate_label
from .journal import FAILED, RELEASED, Journal
from .records import Record, damaged_log_error, is_durable_record, record_head
from .stated import release_metadata, validate_metadata

# Entries that later records continue, in this process or another one, until they are closed.
#
# Proof: proofs/ledger/ledger.tex


class EntryFollower:
    """State of an entry and of those within it, from the records of all processes. ``number`` is the entry's."""

    def __init__(self, journal: Journal, begun: Record) -> None:
        self.number = int(begun.fields["entries"])
        self._journal = journal
        self._closed = False
        self._seen = begun
        self._apply_records((begun,))

    # proof-region: following
    def _read_new_records(self) -> None:
        """Read all records since the last one that is on disk, since a crash may remove those after it."""
        self._apply_records(self._journal.log.iter_records(self._seen))  # [since-last]

    def _apply_records(self, records: Iterable[Record]) -> None:
        try:
            for record in records:
                self._apply_record(record.fields)  # [each-record]
                if record.fields["kind"] == "state" and record.fields["of"] == self.number:
                    self._closed = True  # [closed]
                self._seen = record if is_durable_record(record) else self._seen  # [on-disk]
            return
        except (KeyError, TypeError, ValueError, ZeroDivisionError):
            pass
        raise damaged_log_error(self._journal.log.place)

    # end-proof-region: following

    def _apply_record(self, fields: dict[str, Any]) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Close the entry, in all processes. What was not used or drawn is not refunded."""
        self._read_new_records()
        if not self._closed:
            self._journal.settle(self.number, RELEASED)
            self._closed = True


# Reservations: one release, or something outside of the library, that was paid for and has not happened yet.
#
# Proof: proofs/ledger/ledger.tex

KEPT = "the budget was spent: the ledger keeps the debit of entry "


def require_readable_data(measurement: Any, data: Any) -> None:
    """Raise the errors of :func:`require_readable` before anything is paid. No row is read."""
    if isinstance(measurement, Measurement):
        require_readable(measurement.input_domain, data, public_lists(measurement))


class Reservation:
    """A debit that was made before its release, by :meth:`Ledger.reserve`.

    It counts as spent from the start, and is never refunded. ``number`` is that of its entry. As a context manager it
    marks the entry as failed if the block raises an error. It can be used only in the process that made it; after the
    end of that process, ``Ledger.settle(number, state)`` records the outcome.
    """

    def __init__(self, journal: Journal, made: Record, measurement: Measurement | None) -> None:
        self.number = int(made.fields["entries"])
        self._made = made
        self._journal = journal
        self._measurement = measurement
        self._home = process_identity()
        self.unsettled = ""  # why the entry is not marked as released, although it was
        self._open = [True]  # emptied once, by the release or settlement

    # proof-region: reservation
    def release(self, data: Any, *, recorded: Callable[[Any], str] | None = None) -> Any:
        """Make the one release that was paid for. It ends the reservation.

        Args:
            data: A member of the measurement's input domain.
            recorded: Function from the release to the digest of its record, which the ledger stores with the entry.

        Raises:
            QueryError: It was released or settled already, or belongs to another process.
            ParameterError: An amount was reserved, and not a measurement.
            DataTypeError: ``data`` are not a table or not a vector, as the measurement requires, or the type
                of a column does not fit. The reservation stays open, as after DataError if a column is missing, and
                after MissingExtraError.
            DataError: ``data`` are not a member of the input domain. The debit stays.
        """
        if self._measurement is None:
            raise ParameterError("an amount was reserved without a measurement: settle the entry after use")
        require_readable_data(self._measurement, data)  # [still-open]
        self._consume_reservation()  # [once]
        try:
            released = self._measurement.invoke(data)  # [then-release]
            kept = None if recorded is None else recorded(released)  # [record]
        except BaseException as error:
            self._journal.settle_if_possible(self.number, FAILED)
            error.add_note(f"{KEPT}{self.number}")
            raise
        self.unsettled = self._journal.settle_if_possible(self.number, RELEASED, kept)
        if self.unsettled:
            warnings.warn(
                f"entry {self.number} was released, but is still marked as reserved: {self.unsettled}. Settle it later "
                f"with settle({self.number}, 'released'{'' if kept is None else f', record={kept!r}'})",
                stacklevel=2,
            )
        return released

    def _consume_reservation(self) -> None:
        if self._home == process_identity():
            with suppress(IndexError):
                self._open.pop()  # one step: a second thread or a signal handler finds it empty
                return
        raise QueryError("this reservation was already released or settled, or belongs to another process")

    # end-proof-region: reservation

    @property
    def payment_fields(self) -> dict[str, Any]:
        """Fields about the debit in a record of the release; ``head`` is the ledger's at the time of the debit."""
        paid = {name: self._made.fields[name] for name in ("time", "claim")}
        return {"dataset": self._journal.unit.dataset, "entry": self.number, **paid, "head": record_head(self._made)}

    @property
    def metadata_fields(self) -> dict[str, Any]:
        unit = self._journal.unit
        return release_metadata(unit.user, unit.person, self._journal.words, self._made.fields)

    def settle(self, state: str = RELEASED) -> None:
        """Mark the entry as ``released`` elsewhere, or as ``failed``. Nothing is refunded.

        Raises:
            QueryError: It was released or settled already, or belongs to another process.
            ParameterError: There is no such state.
        """
        if state not in (RELEASED, FAILED):
            raise ParameterError(f"state must be {RELEASED!r} or {FAILED!r}")
        self._consume_reservation()
        self._journal.settle(self.number, state)

    def __enter__(self) -> Reservation:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is not None and self._open and self._home == process_identity():
            self._consume_reservation()
            self._journal.settle_if_possible(self.number, FAILED)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise ParameterTypeError("a reservation cannot be copied or pickled: a copy would spend the same amount twice")


# Planned releases: fixed in advance, paid for together by one debit, and drawn once each.
#
# Proof: proofs/ledger/filters.tex

PLANNED = "planned releases"


# proof-region: planned_releases
def charge_planned_releases(
    journal: Journal, pairs: list[tuple[Measurement, str]], d_in: Any, delta: Any, label: Any
) -> Charge:
    """Return the joint charge of releases with labels, and the fields of the entry that pays for them."""
    account, distance = journal.account, _require_finite(journal.unit.charged_distance(d_in), "d_in must be finite")
    places: list[dict[str, Any]] = []
    costs: list[Amount] = []
    curves: list[PrivacyCurve] = []
    for measurement, name in pairs:
        one = charge_for_journal(journal, measurement, distance, None, name)
        place = {"label": one.said["label"], "measurement": one.said["measurement"]}
        if account.has_mixed_measures:
            curves.append(_release_curve(measurement, distance))
            costs.append(charges_per_filter(curves[-1], Fraction(0), account.step, account.order))
            places.append({**place, "curve": to_json(curves[-1])})  # [place]
        else:
            costs.append(_require_finite(one.cost, "a planned release must have a finite loss"))
            places.append({**place, "cost": serialize_amount(costs[-1])})
    cost = account.zero_amount
    for each in costs:
        cost = add_amounts(cost, each)  # [sums]
    if account.has_mixed_measures:
        cost = _compose_charges(journal, cost, curves, delta)
    elif delta is not None:
        raise ParameterError("delta requires a ledger with a budget under PrivacyProfile()")
    told = {"label": validate_label(label), "measurement": PLANNED, "proof": "", "claim": ""}
    fields = {**told, "d_in": str(to_fraction(distance)), "places": places}
    return Charge(cost, journal.amount_as_distance(cost), fields)


def _compose_charges(journal: Journal, cost: Amount, curves: list[PrivacyCurve], delta: Any) -> Amount:
    """Return the sums of charges. With a delta, the epsilon of all together replaces the sum if it is less."""
    own, spent = journal.account.limit[1], journal.total_spent()[1]
    at = max(own - spent, Fraction(0)) if delta is None else parse_exact(delta, "delta")
    epsilon = compose(curves, adaptive=True, ordered=False).epsilon(at) if at > 0 else float("inf")  # [together]
    return (
        cost if epsilon >= cost[2] else (cost[0], round_up_to_grid(at), to_fraction(epsilon), *cost[3:])
    )  # [with-delta]


def _release_curve(measurement: Measurement, distance: Any) -> PrivacyCurve:
    """Return the privacy curve of a release in the library's own bounds, as an entry stores it."""
    whole = mixture_curve_from_loss(measurement.output_measure, measurement.exact_map(distance))
    found = None if whole is None else serializable_curve(whole)
    if found is None:
        raise ParameterError("a planned release must have a curve of this library's bounds")
    return found


class PlannedReleases(EntryFollower):
    """Releases that were fixed in advance and paid for together by :meth:`Ledger.reserve_all`.

    Each is drawn once, in any order and from any process. :meth:`Ledger.planned` finds them again by ``number``, that
    of the entry that paid for them. Every draw is an entry, which is on disk before the release. Releases that are not
    drawn stay spent. ``labels`` are those of all planned releases, in the given order.
    """

    def __init__(self, journal: Journal, begun: Record, planned: Sequence[Measurement] = ()) -> None:
        self.labels: tuple[str, ...] = ()
        self._places: list[dict[str, Any]] = []
        self._drawn: set[int] = set()
        self._d_in: Fraction | int = 1
        super().__init__(journal, begun)
        self._measurements = dict(enumerate(planned))

    def reserve(
        self, label: str | None = None, measurement: Measurement | None = None, *, period: str | None = None
    ) -> Reservation:
        """Draw the planned release of this label, to be made later.

        Args:
            label: One of ``labels``. If None, the first planned release that is free and that ``measurement`` fits.
            measurement: Measurement to release, which must not lose more than planned. The default is the planned one,
                in the process that paid.
            period: Period of the data, such as a week, as one line of text for the entry and the record.

        Raises:
            ParameterError: There is no such label, or the measurement loses more or is under another measure.
            QueryError: The planned release was drawn before, here or elsewhere, or none is free.
        """
        lines = validate_metadata({"period": period})
        self._read_new_records()  # old records are read before locking
        places = self._find_places(label)
        chosen = self._measurements.get(places[0]) if measurement is None else measurement
        if chosen is None:
            raise ParameterError("measurement must be given, because this process did not plan it")
        if measurement is None:
            places = [place for place in places if self._measurements[place] is chosen]
        said = charge_for_journal(self._journal, chosen, self._d_in, None, "")
        obeys = functools.cache(lambda listed: self._is_within_plan(json.loads(listed), chosen, said))
        fitting = [place for place in places if obeys(json.dumps(self._places[place]))]  # [obeys]
        if not fitting:
            raise ParameterError(f"measurement must not lose more than was planned for {self.labels[places[0]]!r}")

        def draw_free_place() -> dict[str, Any]:
            self._read_new_records()  # [all-draws]
            place = next((one for one in fitting if one not in self._drawn), None)
            if self._closed or place is None:  # [once]
                raise QueryError("this planned release was already drawn, or its plan was closed")
            return {"within": self.number, "place": place, "label": self.labels[place]}  # [drawn]

        nothing = self._journal.account.zero_amount
        made = self._journal.debit(
            nothing, self._journal.amount_as_distance(nothing), {**said.said, **lines}, draw_free_place
        )  # [draw-first]
        return Reservation(self._journal, made, chosen)

    def release(self, label: str | None, data: Any, measurement: Measurement | None = None) -> Any:
        """Make one of the planned releases on ``data``; see :meth:`reserve`."""
        planned = self._measurements.get(self._find_places(label)[0])
        require_readable_data(planned if measurement is None else measurement, data)  # [presented]
        return self.reserve(label, measurement).release(data)

    def _find_places(self, label: str | None) -> list[int]:
        """Return the index of a label; without a label all free indices, or all indices if none is free."""
        places = range(len(self.labels))
        if label is None:
            return [place for place in places if place not in self._drawn] or list(places)
        key = label_key(validate_label(label))
        found = [place for place in places if label_key(self.labels[place]) == key]
        if not found:
            left = self.left()
            more = f" and {len(left) - 5} more" if len(left) > 5 else ""
            first = ", ".join(map(repr, left[:5])) or "none"
            raise ParameterError(
                f"label must be that of a planned release; those that are left: {first}{more}. The week or month of "
                "the data is its period"
            )
        return found[:1]

    def _is_within_plan(self, listed: dict[str, Any], measurement: Measurement, charge: Charge) -> bool:
        """Return True if a measurement with this charge loses no more than the plan lists."""
        if "curve" not in listed:
            return charge.cost is not None and is_amount_within(
                charge.cost, deserialize_amount(listed["cost"])
            )  # [cost-obeys]
        curve, planned = _release_curve(measurement, self._d_in), from_json(listed["curve"])
        return Composed(((curve, 1),)).implies(Composed(((planned, 1),)))  # [curve-obeys]

    def _apply_record(self, fields: dict[str, Any]) -> None:
        if fields["kind"] == "debit" and fields["entries"] == self.number:
            self._places = list(fields["places"])
            self.labels = tuple(one["label"] for one in self._places)
            distance = Fraction(fields["d_in"])
            self._d_in = distance if distance.denominator > 1 else int(distance)
        if fields["kind"] == "debit" and fields.get("within") == self.number:
            self._drawn.add(fields["place"])  # [those-drawn]

    # end-proof-region: planned_releases

    def left(self) -> tuple[str, ...]:
        """Return the labels of releases that are not drawn yet."""
        self._read_new_records()
        return () if self._closed else tuple(one for n, one in enumerate(self.labels) if n not in self._drawn)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise ParameterTypeError("planned releases cannot be copied or pickled: find them with Ledger.planned(number)")


def validate_planned_pairs(planned: Any) -> list[tuple[Measurement, str]]:
    """Return the pairs of a measurement and a label, after checking that labels differ."""
    listed = list(planned) if isinstance(planned, Iterable) else []
    if not listed or not all(isinstance(one, tuple) and len(one) == 2 for one in listed):
        raise ParameterError("planned must be a list of one or more pairs (measurement, label)")
    if len({label_key(validate_label(label)) for _, label in listed}) < len(listed):
        raise ParameterError("labels of planned releases must differ by more than case, blanks or Unicode forms")
    return listed


def _require_finite(value: Any, message: str) -> Any:
    if value is None or value == float("inf"):
        raise ParameterError(message)
    return value


# Conversations that are paid from a ledger, in full at the start or query by query, and survive their process.
#
# Proof: proofs/ledger/ledger.tex

WHAT = "conversation"
PREPAID = "prepaid"  # field: whether a conversation has a budget of its own, which may be 0


class Conversation(EntryFollower):
    """Queries about the same data, chosen adaptively: ``conversation(query)``.

    :meth:`Ledger.conversation` begins one, and :meth:`Ledger.resume` resumes it in another process or later. Every
    query is an entry of the ledger, which is on disk before the answer. ``number`` is that of the entry that began it.
    """

    def __init__(self, journal: Journal, begun: Record, data: Any) -> None:
        self._data = data
        self._paid: Amount | None = None  # at the start; None if it is paid query by query
        self._used: Amount = journal.account.zero_amount
        super().__init__(journal, begun)

    # proof-region: conversation
    def __call__(
        self,
        query: Any,
        *,
        d_in: Any = None,
        delta: Any = None,
        label: str = "",
        at_most: int | None = None,
        shared: bool = False,
    ) -> Any:
        """Release the measurement ``query``, which is paid first; see :meth:`Ledger.release`.

        Raises:
            BudgetError: It does not fit into the remaining budget of the conversation or of the ledger.
            QueryError: The conversation was closed, here or elsewhere.
        """
        charge = charge_for_journal(self._journal, query, d_in, delta, label, at_most, shared)
        require_readable_data(query, self._data)  # [presented-to-query]
        self._read_new_records()  # old records are read before locking

        def add_to_conversation() -> dict[str, Any]:
            self._read_new_records()  # [all-steps]
            if self._closed:
                raise QueryError("this conversation is closed")
            paid = self._paid
            if paid is None or charge.cost is None:
                return {"within": self.number}  # [step-by-step]
            used = add_amounts(self._used, charge.cost)
            if not is_amount_within(used, paid):  # [within]
                raise self._journal.budget_error(charge.shown, self.remaining())
            return {"within": self.number, "used": serialize_amount(used)}  # [used]

        made = self._journal.debit(charge.cost, charge.shown, charge.said, add_to_conversation)  # [step-first]
        return Reservation(self._journal, made, query).release(self._data)

    def _apply_record(self, fields: dict[str, Any]) -> None:
        if fields["kind"] == "debit" and fields["entries"] == self.number and fields["measurement"] == WHAT:
            cost = deserialize_amount(fields["cost"])
            self._paid = cost if fields.get(PREPAID, any(cost)) else None  # [prepaid]
        if fields["kind"] == "debit" and fields.get("within") == self.number and "used" in fields:
            self._used = tuple(map(max, self._used, deserialize_amount(fields["used"])))  # [last-used]

    # end-proof-region: conversation

    def spent(self) -> Any:
        """Return the charge of its queries so far; 0 if it is paid query by query (see the ledger's history)."""
        self._read_new_records()
        return self._journal.amount_as_distance(self._used)

    def remaining(self) -> Any:
        """Return the remaining part of the amount paid at the start."""
        paid = self._paid
        if paid is None:
            raise ParameterError("this conversation is charged query by query: the ledger reports the remaining budget")
        self._read_new_records()
        return remaining_distance(self._journal.account.counted_measure, paid[:2], self._used[:2])

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise ParameterTypeError(
            "a conversation cannot be copied or pickled: resume it with Ledger.resume and its number"
        )
