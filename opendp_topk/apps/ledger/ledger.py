"""A privacy budget for one data set, which no crash and no second process can overspend."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from fractions import Fraction
from types import TracebackType
from typing import Any, NoReturn, Unpack

from ...core.measurement import Measurement
from ...core.queryable import rescale_measurement
from ...errors import BudgetError, ParameterError, PickleError, checks
from ...errors.checks import Number
from ...markup import notebook
from ...numerics.arithmetic import round_up
from ...spaces.measures import Measure
from ...spaces.metrics import Metric
from . import checking
from . import checking as signing
from .amounts import Filter, add_amounts, format_amount, open_account
from .charges import charge_for_amount, charge_for_journal, measurement_step_curve, parse_user_amount, pay_once_check
from .checking import find_ledger_problems, repair_file
from .files import SEPARATOR, FileLog, parse_accepted_kind, write_report
from .journal import Entry, Journal, build_header, operator_name
from .logs import open_log, resolve_path, snapshot_log
from .planned import (
    PLANNED,
    PREPAID,
    WHAT,
    Conversation,
    PlannedReleases,
    Reservation,
    charge_planned_releases,
    require_readable_data,
    validate_planned_pairs,
)
from .records import ledger_error, record_head, seal_record
from .stated import LINES, OWN, LedgerPrivacyUnit, Metadata, add_metadata_parameters, validate_metadata

# Copies of a ledger's records.


def copy_to_backup(journal: Journal, path: str | os.PathLike[str]) -> None:
    """All records of ``journal`` in a new file, which is a ledger itself.

    Raises:
        LedgerError: The records contradict themselves, there is a file of that name, or it cannot be written.
    """
    where, log = resolve_path(path, "path"), snapshot_log(journal.log)
    found = find_ledger_problems(Journal(log, journal.operator))
    if found:
        raise ledger_error(log.place, "copied", found[0])
    texts = (seal_record(record.fields) for record in log.iter_records())
    write_report(where, (SEPARATOR + text.encode("ascii") + b"\n" for text in texts), private=True)
    if find_ledger_problems(Journal(FileLog(where))):
        raise ledger_error(str(where), "copied", "it does not read back as it was written")


# Notebook display of a ledger: its purpose, the amount spent, and the amount left.


def ledger_html_table(ledger: Any) -> str:
    """The table; no entry and no data."""
    ledger = ledger.at_one_moment()
    rows = {
        "left": ledger.remaining(),
        "spent": ledger.spent(),
        "budget": ledger.promise,
        "entries": ledger.count(),
        "protects": f"data sets at distance {ledger.d_in} under {ledger.metric}",
        "measure": repr(ledger.measure),
    }
    return notebook.facts_table(f"Privacy budget of {ledger.dataset}", rows.items())


# What would fit in the place of a release that a ledger has refused.

_DOUBLINGS = 40  # a release with 10^12 times the noise is of no use
_HALVINGS = 14  # to the last of the four digits that are shown


def least_fitting_scale(measurement: Measurement, fits: Callable[[Measurement], bool]) -> float | None:
    """About the least scale with which ``measurement`` would fit, of four digits; None where none is found."""
    own = measurement.parameters.get("scale")
    if not isinstance(own, int | float | Fraction) or not 0 < own < math.inf:
        return None

    def fits_at_scale(scale: float) -> bool:
        made = rescale_measurement(measurement, scale)
        return made is not None and fits(made)

    try:
        wide = next((2.0**n for n in range(1, _DOUBLINGS) if fits_at_scale(float(own) * 2.0**n)), None)
        if wide is None:
            return None
        low, high = float(own) * wide / 2, float(own) * wide
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if fits_at_scale(middle) else (middle, high)
        digits = 3 - math.floor(math.log10(high))
        shown = math.ceil(high * 10.0**digits) / 10.0**digits
        return shown if fits_at_scale(shown) else None
    except (ParameterError, ArithmeticError):
        return None


# The ledger: releases that are paid for before anything is drawn.
#
# Proof: proofs/ledger/ledger.tex


class Ledger:
    """A privacy budget for one data set, in a file or on a PostgreSQL server, which several processes may share.

    ``Ledger(address)`` opens one that exists, :meth:`create` makes one that does not; neither does the other's work,
    so that a ledger which vanished is never replaced by a new one with its whole budget.

    A ledger is for one unit: a data set's name, the metric of its neighbours, and the distance of what is protected.
    Every release through :meth:`release` is debited, and the debit is on the disk before the data are looked at or any
    noise is drawn: a crash can only count too much. What does not fit with what is left is refused.

    A file that was deleted, or replaced by an older copy while nobody used it, is not covered: :meth:`verify` tells
    with a :meth:`head` that was kept elsewhere. The file must lie on a file system of this machine.

    Args:
        address: A file, or ``postgresql://user@host/database#schema/name`` (extra ``postgres``).
        operator: Who releases; the name of the account if not given.
        accept_file_system: The kind of file system, such as ``"overlay"`` or ``"tmpfs"``, on which the file may lie
            though a ledger cannot rely on it; what an error named. The ledger records it, and shows it. Or the server
            to which it was moved, restored or failed over: what an error named.

    Raises:
        ParameterError: ``address`` is none, or ``operator`` is no name.
        LedgerError: There is no ledger, it is damaged, has another format, or cannot be read.

    One object serves several threads, and after a fork both processes. Proof: proofs/ledger/ledger.tex

    Example:
        >>> import tempfile, pathlib, opendp_topk as tk
        >>> folder, pure = tempfile.TemporaryDirectory(), tk.MaxDivergence()
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> path = pathlib.Path(folder.name, "budget.ledger")
        >>> ledger = tk.Ledger.create(path, budget=1, measure=pure, dataset="votes", metric=space[1])
        >>> top2 = space >> tk.then_report_noisy_top_k(pure, k=2, scale=4.0)
        >>> len(ledger.release(top2, [30, 10, 20]))
        2
        >>> ledger.spent(), ledger.remaining(), ledger.history()[0].state, ledger.close(), folder.cleanup()
        (0.5, 0.5, 'released', None, None)
    """

    def __init__(
        self, address: str | os.PathLike[str], *, operator: str | None = None, accept_file_system: str | None = None
    ) -> None:
        self._journal = Journal(open_log(address, accepts=accept_file_system), operator)
        if accept_file_system is not None:
            self._journal.record_accepted_kind(accept_file_system)

    @classmethod
    @add_metadata_parameters(*LINES, before="own_delta")
    def create(
        cls,
        address: str | os.PathLike[str],
        *,
        budget: Any,
        measure: Measure,
        dataset: str,
        metric: Metric,
        d_in: Any = None,
        user: str | None = None,
        person: str | None = None,
        own_delta: Any = None,
        step: Measurement | None = None,
        operator: str | None = None,
        accept_file_system: str | None = None,
        **words: Unpack[Metadata],
    ) -> Ledger:
        """Make a ledger where there is none, and open it. Of several processes that try, one succeeds.

        Args:
            address: As for ``Ledger(address)``.
            budget: Budget of all releases together: a number, or a pair where the measure has a delta. A float
                means the decimal that it is written as, so that ``0.1`` is one tenth; texts, Decimals and Fractions
                are exact.
            measure: ``MaxDivergence()``, ``ZeroConcentratedDivergence()``, ``Approximate(...)`` of one of them, or
                ``PrivacyProfile()`` with a pair (epsilon, delta): then releases under all measures are paid from it.
                Their epsilons, their rhos and, with a ``step``, the number of steps are added up side by side, and a
                release fits while one of these sums keeps the budget (:meth:`privacy_filters`).
            dataset: The name of the data set.
            metric: The metric of neighbouring data sets, such as ``UserDistance()``.
            d_in: The distance of one protected unit; 1 if not given.
            user: The column whose values tell people apart, such as ``"visitor"``: releases by another one are refused,
                or state how many of its values one person has. If not given, no column is looked at.
            person: What one of them is called; if not given, as the column.
            publisher: Who publishes what is released. This and the next two are lines for people.
            period: The time that the data set is of.
            purpose: What it is released for.
            own_delta: Under ``PrivacyProfile()``, how much of delta is for releases that have their own, and for
                :meth:`reserve_all`; 0 if not given.
            step: Under ``PrivacyProfile()``, a measurement of which equal releases are counted: as many of them fit as
                their composed privacy curve allows, in any mixture with what costs a whole number of them.
            operator: Who releases; the name of the account if not given.
            accept_file_system: As for ``Ledger(address)``.

        Raises:
            ParameterError: An argument is out of range.
            LedgerError: There is something at the address already, or nothing can be made there.
        """
        unit = LedgerPrivacyUnit.for_new_ledger(dataset, metric, d_in, user, person)
        account = open_account(measure, budget, own_delta, None if step is None else measurement_step_curve(unit, step))
        lines = validate_metadata(words, LINES)
        who, made = operator_name(operator), cls.__new__(cls)
        parse_accepted_kind(accept_file_system)  # before it is written into a header
        log = open_log(address, build_header(unit, account, accept_file_system, lines), accept_file_system)
        made._journal = Journal(log, who)
        return made

    @property
    def measure(self) -> Measure:
        """The measure of the budget."""
        return self._journal.account.measure

    @property
    def counted(self) -> Measure:
        """The measure in which charges are added: that of the budget, or under ``PrivacyProfile()`` rho and delta."""
        return self._journal.account.counted_measure

    @property
    def dataset(self) -> str:
        """The name of the data set."""
        return self._journal.unit.dataset

    @property
    def metric(self) -> str:
        """The metric of its neighbours, as it is written."""
        return self._journal.unit.metric

    @property
    def d_in(self) -> Number:
        """The distance of one protected unit."""
        return self._journal.unit.charged_distance(None)

    @property
    def user(self) -> str | None:
        """The column whose values tell people apart; None where that was not stated."""
        return self._journal.unit.user

    @property
    def person(self) -> str | None:
        """What one of them is called; None where that was not stated."""
        return self._journal.unit.person

    @property
    def stated(self) -> dict[str, str]:
        """What was said of it in words: ``publisher``, ``period`` and ``purpose``, those of them that were."""
        return dict(self._journal.words)

    @property
    def budget(self) -> Any:
        """Budget of all releases together: a number, or a pair (epsilon, delta), rounded up."""
        parts = tuple(map(round_up, self._journal.account.budget))
        return parts if len(parts) > 1 else parts[0]

    @property
    def promise(self) -> str:
        """The budget exactly, as people write it."""
        return format_amount(self._journal.account.budget)

    @property
    def accepted(self) -> tuple[str, ...]:
        """The kinds of file systems that were accepted for it, and the servers to which it is bound."""
        return tuple(self._journal.recorded_accepted_kinds())

    @property
    def limit(self) -> Any:
        """Upper limit of all charges together, under :attr:`counted_measure`, rounded down."""
        return self._journal.remaining_amount(self._journal.account.zero_amount)

    def spent(self) -> Any:
        """Total charge of the releases so far, under :attr:`counted_measure`, rounded up.

        Charges are exact and floats are read as the decimals that they are written as, as in ``budget``: three times
        one tenth is 0.3.
        """
        return self._journal.amount_as_distance(self._journal.total_spent())

    def remaining(self) -> Any:
        """Remaining part of :attr:`limit`, rounded down so that it fits as the ``cost`` of one more entry."""
        return self._journal.remaining_amount(self._journal.total_spent())

    def filters(self) -> list[Filter]:
        """Under ``PrivacyProfile()`` the sums that run side by side, each with its limit and its share of delta."""
        return self._journal.account.privacy_filters(self._journal.total_spent())

    def room(self) -> dict[str, float | int]:
        """Under ``PrivacyProfile()`` the largest epsilon, rho and number of steps that still fit, each for itself."""
        return self._journal.account.largest_next_losses(self._journal.total_spent())

    def fits(
        self,
        measurement: Measurement,
        *,
        d_in: Any = None,
        delta: Any = None,
        at_most: int | None = None,
        shared: bool = False,
    ) -> bool:
        """Return True if a release would fit now; another process may release in between."""
        cost = charge_for_journal(self._journal, measurement, d_in, delta, "", at_most, shared, True).cost
        return cost is not None and self._journal.has_room(cost)

    # proof-region: release
    @add_metadata_parameters(*OWN)
    def release(
        self,
        measurement: Measurement,
        data: Any,
        *,
        d_in: Any = None,
        delta: Any = None,
        label: str = "",
        at_most: int | None = None,
        shared: bool = False,
        once: bool = False,
        **words: Unpack[Metadata],
    ) -> Any:
        """One release of ``measurement`` on ``data``, debited before a row of them is read or noise is drawn.

        Args:
            measurement: Under the ledger's metric and a measure that it counts. The conversation of
                ``make_continual_top_k`` is paid whole now, and what is released is its queryable, which answers for as
                long as this process lives; under ``PrivacyProfile()`` it must be one under
                ``ZeroConcentratedDivergence()``. Its cost stays spent however early it ends.
            data: A member of the measurement's input domain.
            d_in: The distance at which it is charged, at least that of the ledger's unit, which it is if not given.
            delta: For a measurement under ``PrivacyProfile()``: at which delta its curve is read; 0 if not given.
            label: A line about the release, for the history.
            at_most: Where the release counts by another column than the ledger's, with how many of its values one
                person has rows at most: a visitor has at most 5 sessions. It is charged at so many times the distance.
            shared: Whether rows with one such value may be of several people, as those of a household are; then the
                distance is twice that, and otherwise each value must be of one person.
            once: Refuse it if an entry has paid for a release with this label and period, and has not failed: as a job
                that is run again after it was killed would pay twice.
            period: The time that it is of, where it is not the ledger's. This and the next are lines for people.
            purpose: What it is released for, where that is not the ledger's.

        Raises:
            BudgetError: The cost does not fit with what is left. Nothing was debited.
            SpaceError: The measurement is under another metric, or under a measure that the ledger does not count, or
                counts by another column without ``at_most``.
            ParameterError: The measurement is another interactive one, ``d_in`` is smaller than the unit's, or ``once``
                and it was paid before.
            LedgerError: The debit could not be written. Nothing was released; the debit may still count.
            DataTypeError: ``data`` are no table, or no vector, where the measurement takes one. Nothing was debited, as
                for ColumnError (a column is missing, or its type does not fit the domain or a list of candidates) and
                MissingExtraError.
            DataError: ``data`` are not a member of the input domain. The debit stays, as for every error from here on;
                a note on the error says so.
        """
        require_readable_data(measurement, data)  # [presented]
        reserved = self.reserve(
            measurement, d_in=d_in, delta=delta, label=label, at_most=at_most, shared=shared, once=once, **words
        )
        return reserved.release(data)  # [debit-first]

    @add_metadata_parameters(*OWN)
    def reserve(
        self,
        measurement: Measurement | None = None,
        *,
        cost: Any = None,
        d_in: Any = None,
        delta: Any = None,
        label: str = "",
        at_most: int | None = None,
        shared: bool = False,
        once: bool = False,
        **words: Unpack[Metadata],
    ) -> Reservation:
        """Pay for a release before a long job: of ``measurement``, or else for a stated ``cost``. It counts as spent.

        It raises what :meth:`release` raises before its debit.
        """
        if (measurement is None) == (cost is None):
            raise ParameterError("give either a measurement or a cost")
        lines = validate_metadata(words)
        step = (
            pay_once_check(self._journal, label, lines.get("period")) if checks.require_boolean("once", once) else None
        )
        if measurement is not None:
            charge = charge_for_journal(self._journal, measurement, d_in, delta, label, at_most, shared, True)
        else:
            charge = charge_for_amount(
                self._journal, parse_user_amount(self._journal, cost, "cost"), label, "a stated amount"
            )
        try:
            made = self._journal.debit(charge.cost, charge.shown, {**charge.said, **lines}, step)  # [debit]
        except BudgetError as refused:
            message = str(refused)
        else:
            return Reservation(self._journal, made, measurement)
        raise BudgetError(message + self._least_scale_advice(measurement, d_in, delta, at_most, shared))

    def reserve_all(
        self, planned: Iterable[tuple[Measurement, str]], *, d_in: Any = None, delta: Any = None, label: str = ""
    ) -> PlannedReleases:
        """Pay at once for releases that are fixed now and made later, each of them once, from any process.

        Args:
            planned: Pairs of a measurement and its label; the labels differ.
            d_in: As for :meth:`release`.
            delta: Under ``PrivacyProfile()``, how much of ``own_delta`` is spent on the privacy curve of all of them
                together, whose epsilon at it is charged then; all that is left of it if not given.
            label: A line about all of them, for the history.

        Raises:
            ParameterError: No pairs are given, or a release has no finite loss, or no curve of the library's own.
            BudgetError: They do not fit together. Nothing was debited.
        """
        pairs = validate_planned_pairs(planned)
        charge = charge_planned_releases(self._journal, pairs, d_in, delta, label)
        made = self._journal.debit(charge.cost, charge.shown, charge.said)  # [debit-all]
        return PlannedReleases(self._journal, made, [one for one, _ in pairs])

    # end-proof-region: release

    def _least_scale_advice(
        self, measurement: Measurement | None, d_in: Any, delta: Any, at_most: Any, shared: Any
    ) -> str:
        """The least scale with which a release that was refused would fit, for people."""
        if measurement is None or delta is not None:
            return ""
        spent, account = self._journal.total_spent(), self._journal.account

        def is_affordable(one: Measurement) -> bool:
            cost = charge_for_journal(self._journal, one, d_in, None, "", at_most, shared, True).cost
            return cost is not None and account.is_total_allowed(add_amounts(spent, cost))

        scale = least_fitting_scale(measurement, is_affordable)
        return "" if scale is None else f"; with scale={scale:g} or more it would fit"

    def planned(self, number: int) -> PlannedReleases:
        """What :meth:`reserve_all` has paid for in another process, by the number of its entry."""
        found = self._journal.find_debit_record(number)
        if found.fields["measurement"] != PLANNED:
            raise ParameterError(f"entry {number} has paid for no planned releases")
        return PlannedReleases(self._journal, found)

    def settle(self, number: int, state: str, *, record: str | None = None) -> None:
        """Say what became of an entry that is ``reserved``: ``released`` or ``failed``. Nothing is given back.

        ``record`` is the digest of the record of its release, where that could not be written at once.
        """
        self._journal.settle_reserved_entry(number, state, record)

    def conversation(self, data: Any, *, budget: Any = None, label: str = "") -> Conversation:
        """Begin a conversation about ``data``: paid in full now with a budget of its own, or query by query without."""
        amount = (
            self._journal.account.zero_amount if budget is None else parse_user_amount(self._journal, budget, "budget")
        )
        charge = charge_for_amount(self._journal, amount, label, WHAT)
        made = self._journal.debit(charge.cost, charge.shown, {**charge.said, PREPAID: budget is not None})
        return Conversation(self._journal, made, data)

    def resume(self, number: int, data: Any) -> Conversation:
        """Go on with a conversation that was begun in another process, about the same data."""
        found = self._journal.find_debit_record(number)
        if found.fields.get("measurement") != WHAT:
            raise ParameterError(f"entry {found.fields['entries']} is no conversation")
        return Conversation(self._journal, found, data)

    def count(self) -> int:
        """Return the number of entries."""
        return int(self._journal.last_record().fields["entries"])

    def entry(self, number: int) -> Entry:
        """One entry by its number, found without reading the others."""
        return self._journal.find_entry(number)

    def history(self) -> list[Entry]:
        """All entries, the oldest first: what, when, by whom, at what cost and what became of it; never data."""
        return self._journal.read_all_entries()

    def head(self, number: int | None = None, *, sign: str | os.PathLike[str] | None = None) -> str:
        """One line that stands for all records so far, to be kept elsewhere and given to :meth:`verify`.

        Args:
            number: That of an entry, for the line of the moment in which it was debited.
            sign: A file with a private Ed25519 key in PEM, with which the line is signed (extra ``sign``).
        """
        found = None if number is None else self._journal.find_debit_record(number)
        last = self._journal.sync_last_record()  # what is not on the disk yet may be lost with its server
        line = record_head(found or last)
        return line if sign is None else signing.sign_head(line, sign)

    def verify(self, head: str | None = None, *, key: str | os.PathLike[str] | None = None) -> list[str]:
        """Return the contradictions, one line each: every digest, link and total is computed again.

        Args:
            head: A line that was kept elsewhere; a ledger that was rewritten or set back since is told by it.
            key: A file with the public Ed25519 key in PEM with which that line must be signed.
        """
        return checking.find_ledger_problems(self._journal, head, key)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the records to a new file, whole, checked and on the disk."""
        copy_to_backup(self._journal, path)

    @staticmethod
    def repair(address: str | os.PathLike[str], *, charge_rest: bool = False) -> list[str]:
        """Make a damaged file a ledger again, and say what was lost; nothing if it is whole.

        Every record that verifies is kept, and what was spent is never lowered: records that are lost between others
        are charged what the next total tells. The damaged file is kept beside it under another name.

        Args:
            address: A file.
            charge_rest: Charge all that is left where records at the end are lost, whose cost nobody can tell.

        Raises:
            ParameterError: ``address`` is no file's.
            LedgerError: What it was charged cannot be told, or it is no ledger. The file is as it was.
        """
        return repair_file(address, charge_rest=charge_rest)

    def at_one_moment(self) -> Ledger:
        """This ledger as it is now, to be read: all that it tells is of one moment, whatever others debit meanwhile."""
        made = type(self).__new__(type(self))
        made._journal = Journal(snapshot_log(self._journal.log), self._journal.operator)
        return made

    def close(self) -> None:
        """Close it; every debit is on the disk already."""
        self._journal.closed = True
        self._journal.log.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise PickleError("a ledger cannot be copied or pickled: open it in the other process, with Ledger(address)")

    _repr_html_ = ledger_html_table

    def __repr__(self) -> str:
        named = f"budget={self.budget}, measure={self.measure!r}, dataset={self.dataset!r}"
        return f"Ledger({self._journal.log.place!r}, {named})"
