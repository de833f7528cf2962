"""Privacy budget for one data set, which no crash and no concurrent process can overspend."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from fractions import Fraction
from types import TracebackType
from typing import Any, NoReturn

from ...core.measurement import Measurement
from ...core.queryable import rescale_measurement
from ...errors import BudgetError, ParameterError, ParameterTypeError, checks
from ...errors.checks import Number
from ...markup import elements
from ...numerics.arithmetic import round_up
from ...spaces.measures import Measure
from ...spaces.metrics import Metric
from . import checking
from .amounts import Filter, add_amounts, format_amount, open_account
from .charges import charge_for_amount, charge_for_journal, measurement_step_curve, parse_user_amount, pay_once_check
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
from .stated import LedgerPrivacyUnit, validate_metadata

# Advice for a refused release: the noise scale with which it would fit.

_DOUBLINGS = 40  # a release with 10^12 times the noise is useless
_HALVINGS = 14  # bisection steps, enough for the four digits that are shown


def least_fitting_scale(measurement: Measurement, fits: Callable[[Measurement], bool]) -> float | None:
    """Return about the least scale with which ``measurement`` fits, to four digits, or None if none is found."""
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


# The ledger: every release is paid for before noise is drawn.
#
# Proof: proofs/ledger/ledger.tex


class Ledger:
    """A privacy budget for one data set, in a file or on a PostgreSQL server, which several processes may share.

    ``Ledger(address)`` opens an existing ledger, and :meth:`create` makes a new one. Neither does both, so a ledger
    that disappeared is never replaced by a new one with the whole budget.

    A ledger protects one privacy unit: the name of a data set, the metric of neighbouring data sets, and a distance.
    Every release through :meth:`release` is debited, and the debit is on disk before data are read or noise is drawn.
    So a crash can only overcount. A release that does not fit into the remaining budget is refused.

    A ledger does not notice if its file was replaced by an older copy, or deleted and created again, while it was not
    in use. :meth:`verify` detects this with a :meth:`head` that was stored elsewhere. The file must be on a local file
    system.

    Args:
        address: A file, or ``postgresql://user@host/database#schema/name`` (extra ``postgres``).
        operator: Name of the person or service that releases; default the name of the account.
        accept_file_system: Accepted type of file system, such as ``"overlay"`` or ``"tmpfs"``, if a ledger cannot rely
            on that of its file. The ledger records it, and shows it. Or the accepted server, if the ledger was moved,
            restored or failed over to it. The error that refuses either contains the value to give.

    Raises:
        ParameterError: ``address`` is not an address, or ``operator`` is not a name.
        LedgerError: There is no ledger, it is damaged, has another format, or cannot be read.

    Several threads may share one object, and after a fork both processes may. Proof: proofs/ledger/ledger.tex

    Example:
        >>> import tempfile, pathlib, opendp_topk as tk
        >>> folder, pure = tempfile.TemporaryDirectory(), tk.MaxDivergence()
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> path = pathlib.Path(folder.name, "budget.ledger")
        >>> ledger = tk.ledger.Ledger.create(path, budget=1, measure=pure, dataset="votes", metric=space[1])
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
        publisher: str | None = None,
        period: str | None = None,
        purpose: str | None = None,
        own_delta: Any = None,
        step: Measurement | None = None,
        operator: str | None = None,
        accept_file_system: str | None = None,
    ) -> Ledger:
        """Create a ledger and open it. If several processes try, only one succeeds.

        Args:
            address: As for ``Ledger(address)``.
            budget: Budget of all releases together: a number, or a pair if the measure has a delta. A float means its
                decimal repr, so ``0.1`` is one tenth; strings, Decimals and Fractions are exact.
            measure: ``MaxDivergence()``, ``ZeroConcentratedDivergence()``, ``Approximate(...)`` of one of them, or
                ``PrivacyProfile()`` with a pair (epsilon, delta), which pays for releases under all measures. Their
                epsilons, their rhos and, with a ``step``, the number of steps are added up in parallel, and a release
                fits while one of these sums keeps the budget (:meth:`filters`).
            dataset: Name of the data set.
            metric: Metric of neighbouring data sets, such as ``UserDistance()``.
            d_in: Distance of one protected unit; default 1.
            user: User ID column, such as ``"visitor"``. A release by another column is refused, unless it states how
                many of its values one person has. By default no column is checked.
            person: Word for one person; default the name of the column.
            publisher: Publisher of the releases. This and the next two are lines for human readers.
            period: Time period of the data.
            purpose: Purpose of the releases.
            own_delta: Under ``PrivacyProfile()``, the part of delta for releases that have a delta of their own, and
                for :meth:`reserve_all`; default 0.
            step: Under ``PrivacyProfile()``, a measurement whose equal releases are counted: as many fit as their
                composed privacy curve allows, in any mixture with releases that cost a whole number of them.
            operator: Name of the person or service that releases; default the name of the account.
            accept_file_system: As for ``Ledger(address)``.

        Raises:
            ParameterError: An argument is out of range.
            LedgerError: The address is in use, or a ledger cannot be created there.
        """
        unit = LedgerPrivacyUnit.for_new_ledger(dataset, metric, d_in, user, person)
        account = open_account(measure, budget, own_delta, None if step is None else measurement_step_curve(unit, step))
        lines = validate_metadata({"publisher": publisher, "period": period, "purpose": purpose})
        who, made = operator_name(operator), cls.__new__(cls)
        parse_accepted_kind(accept_file_system)  # before it is written into a header
        log = open_log(address, build_header(unit, account, accept_file_system, lines), accept_file_system)
        made._journal = Journal(log, who)
        return made

    @property
    def measure(self) -> Measure:
        """Measure of the budget."""
        return self._journal.account.measure

    @property
    def counted(self) -> Measure:
        """Measure in which charges are added: that of the budget, or rho and delta under ``PrivacyProfile()``."""
        return self._journal.account.counted_measure

    @property
    def dataset(self) -> str:
        """Name of the data set."""
        return self._journal.unit.dataset

    @property
    def metric(self) -> str:
        """Metric of neighbouring data sets, as text."""
        return self._journal.unit.metric

    @property
    def d_in(self) -> Number:
        """Distance of one protected unit."""
        return self._journal.unit.charged_distance(None)

    @property
    def user(self) -> str | None:
        """User ID column; None if it is not stated."""
        return self._journal.unit.user

    @property
    def person(self) -> str | None:
        """Word for one person; None if it is not stated."""
        return self._journal.unit.person

    @property
    def stated(self) -> dict[str, str]:
        """Stated metadata: those of ``publisher``, ``period`` and ``purpose`` that were given."""
        return dict(self._journal.words)

    @property
    def budget(self) -> Any:
        """Budget of all releases together, rounded up: a number, or a pair if the measure has a delta."""
        parts = tuple(map(round_up, self._journal.account.budget))
        return parts if len(parts) > 1 else parts[0]

    @property
    def promise(self) -> str:
        """Exact budget, as text."""
        return format_amount(self._journal.account.budget)

    @property
    def accepted(self) -> tuple[str, ...]:
        """Types of file systems that were accepted for it, and servers to which it is bound."""
        return tuple(self._journal.recorded_accepted_kinds())

    @property
    def limit(self) -> Any:
        """Upper limit of all charges together, under :attr:`counted`, rounded down."""
        return self._journal.remaining_amount(self._journal.account.zero_amount)

    def spent(self) -> Any:
        """Return the total charge of the releases so far, under :attr:`counted`, rounded up.

        Charges are exact, and floats mean their decimal repr, as in ``budget``: three times one tenth is 0.3.
        """
        return self._journal.amount_as_distance(self._journal.total_spent())

    def remaining(self) -> Any:
        """Return the rest of :attr:`limit`, rounded down so that it fits as the ``cost`` of one more entry."""
        return self._journal.remaining_amount(self._journal.total_spent())

    def filters(self) -> list[Filter]:
        """Return the parallel filters under ``PrivacyProfile()``, each with its limit and its share of delta."""
        return self._journal.account.privacy_filters(self._journal.total_spent())

    def room(self) -> dict[str, float | int]:
        """Return the largest epsilon, rho and number of steps that fit by themselves under ``PrivacyProfile()``."""
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
        """Return True if a release would fit now. Another process may release in between."""
        cost = charge_for_journal(self._journal, measurement, d_in, delta, "", at_most, shared, True).cost
        return cost is not None and self._journal.has_room(cost)

    # proof-region: release
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
        period: str | None = None,
        purpose: str | None = None,
    ) -> Any:
        """Release ``measurement`` on ``data``. It is debited before any row is read or noise is drawn.

        Args:
            measurement: A measurement under the ledger's metric and a measure that it counts. A conversation of
                ``make_continual_top_k`` is paid in full now, even if it ends early. Its release is a queryable, which
                answers as long as this process lives. Under ``PrivacyProfile()`` it must be under
                ``ZeroConcentratedDivergence()``.
            data: A member of the measurement's input domain.
            d_in: Distance at which it is charged, at least that of the ledger's unit, which is the default.
            delta: For a measurement under ``PrivacyProfile()``, the delta at which its curve is evaluated; default 0.
            label: One line about the release, for the history.
            at_most: If the release counts by another column than the ledger's, the largest number of its values with
                which one person has rows: for example, a visitor has at most 5 sessions. The charged distance is
                multiplied by it.
            shared: Whether rows with one such value may belong to several people, as those of a household do. If so,
                the distance is doubled; if not (default), each value must belong to one person.
            once: Refuse the release if an entry has paid for this label and period, and has not failed. Otherwise a job
                that was killed and runs again would pay twice.
            period: Time period of the data, if it is not the ledger's. This and the next are lines for human readers.
            purpose: Purpose of the release, if it is not the ledger's.

        Raises:
            BudgetError: The cost does not fit into the remaining budget. Nothing was debited.
            SpaceError: The measurement is under another metric, or under a measure that the ledger does not count, or
                counts by another column without ``at_most``.
            ParameterError: The measurement is another interactive one, ``d_in`` is smaller than the unit's, or ``once``
                is set and an entry has paid already.
            LedgerError: The debit could not be written. Nothing was released; the debit may still count.
            DataTypeError: ``data`` are not a table or not a vector, as the measurement requires, or the type
                of a column does not fit the domain or a list of candidates. Nothing was debited, as for DataError if a
                column is missing, and for MissingExtraError.
            DataError: ``data`` are not a member of the input domain. The debit stays, as for every later error; a note
                on the error contains the entry's number.
        """
        require_readable_data(measurement, data)  # [presented]
        reserved = self.reserve(
            measurement,
            d_in=d_in,
            delta=delta,
            label=label,
            at_most=at_most,
            shared=shared,
            once=once,
            period=period,
            purpose=purpose,
        )
        return reserved.release(data)  # [debit-first]

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
        period: str | None = None,
        purpose: str | None = None,
    ) -> Reservation:
        """Pay for a release before a long job, by ``measurement`` or by a stated ``cost``. It counts as spent.

        It raises the same errors as :meth:`release` before its debit.
        """
        if (measurement is None) == (cost is None):
            raise ParameterError("give either a measurement or a cost")
        lines = validate_metadata({"period": period, "purpose": purpose})
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
            planned: Pairs of a measurement and its label. Labels must differ.
            d_in: As for :meth:`release`.
            delta: Under ``PrivacyProfile()``, the part of ``own_delta`` to spend on the composed privacy curve of all
                releases; default all that is left. The epsilon at this delta is charged if it is less than the sum of
                epsilons.
            label: One line about all of them, for the history.

        Raises:
            ParameterError: There are no pairs, or a release has an infinite loss, or no curve of the library's own.
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
        """Return advice for people on the least scale with which a refused release would fit, or an empty string."""
        if measurement is None or delta is not None:
            return ""
        spent, account = self._journal.total_spent(), self._journal.account

        def is_affordable(one: Measurement) -> bool:
            cost = charge_for_journal(self._journal, one, d_in, None, "", at_most, shared, True).cost
            return cost is not None and account.is_total_allowed(add_amounts(spent, cost))

        scale = least_fitting_scale(measurement, is_affordable)
        return "" if scale is None else f". It fits with a scale of {scale:g} or more"

    def planned(self, number: int) -> PlannedReleases:
        """Return the releases that :meth:`reserve_all` has paid for, in any process, by the number of its entry."""
        found = self._journal.find_debit_record(number)
        if found.fields["measurement"] != PLANNED:
            raise ParameterError(f"entry {number} has not paid for planned releases")
        return PlannedReleases(self._journal, found)

    def settle(self, number: int, state: str, *, record: str | None = None) -> None:
        """Mark an entry that is ``reserved`` as ``released`` or ``failed``. Nothing is refunded.

        ``record`` is the digest of the record of its release, if that could not be written at once.
        """
        self._journal.settle_reserved_entry(number, state, record)

    def conversation(self, data: Any, *, budget: Any = None, label: str = "") -> Conversation:
        """Begin a conversation about ``data``, paid in full now if a ``budget`` is given, otherwise query by query."""
        amount = (
            self._journal.account.zero_amount if budget is None else parse_user_amount(self._journal, budget, "budget")
        )
        charge = charge_for_amount(self._journal, amount, label, WHAT)
        made = self._journal.debit(charge.cost, charge.shown, {**charge.said, PREPAID: budget is not None})
        return Conversation(self._journal, made, data)

    def resume(self, number: int, data: Any) -> Conversation:
        """Resume a conversation that was begun in another process, about the same data."""
        found = self._journal.find_debit_record(number)
        if found.fields.get("measurement") != WHAT:
            raise ParameterError(f"entry {found.fields['entries']} is not a conversation")
        return Conversation(self._journal, found, data)

    def count(self) -> int:
        """Return the number of entries."""
        return int(self._journal.last_record().fields["entries"])

    def entry(self, number: int) -> Entry:
        """Return one entry by its number, without reading the others."""
        return self._journal.find_entry(number)

    def history(self) -> list[Entry]:
        """Return all entries, oldest first, with release, time, operator, cost and state, but without data."""
        return self._journal.read_all_entries()

    def head(self, number: int | None = None, *, sign: str | os.PathLike[str] | None = None) -> str:
        """Return one line that identifies all records so far, to be stored elsewhere and given to :meth:`verify`.

        Args:
            number: Number of an entry; the line is then that of the time of its debit. By default it is that of now.
            sign: A file with a private Ed25519 key in PEM that signs the line (extra ``sign``).
        """
        found = None if number is None else self._journal.find_debit_record(number)
        last = self._journal.sync_last_record()  # records that are not on disk may be lost with the server
        line = record_head(found or last)
        return line if sign is None else checking.sign_head(line, sign)

    def verify(self, head: str | None = None, *, key: str | os.PathLike[str] | None = None) -> list[str]:
        """Return the contradictions, one line each, after computing every digest, link and total again.

        Args:
            head: A line that was stored elsewhere, which detects that the ledger was rewritten or set back since.
            key: A file with the public Ed25519 key in PEM, with whose private key the line must be signed.
        """
        return checking.find_ledger_problems(self._journal, head, key)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the records to a new file, which is a ledger itself: complete, checked and on disk."""
        where, log = resolve_path(path, "path"), snapshot_log(self._journal.log)
        found = checking.find_ledger_problems(Journal(log, self._journal.operator))
        if found:
            raise ledger_error(log.place, "copied", found[0])
        texts = (seal_record(record.fields) for record in log.iter_records())
        write_report(where, (SEPARATOR + text.encode("ascii") + b"\n" for text in texts), private=True)
        if checking.find_ledger_problems(Journal(FileLog(where))):
            reason = "the record that was read differs from the record that was written"
            raise ledger_error(str(where), "copied", reason)

    @staticmethod
    def repair(address: str | os.PathLike[str], *, charge_rest: bool = False) -> list[str]:
        """Repair a damaged file, and return what was lost, one line each; an empty list if there is no damage.

        Every record that verifies is kept, and the amount spent is never lowered: lost records between others are
        charged what follows from the next total. The damaged file is kept beside it under another name.

        Args:
            address: A file.
            charge_rest: Charge all that is left if records at the end are lost, since their cost is unknown.

        Raises:
            ParameterError: ``address`` is that of a server.
            LedgerError: Its charges cannot be determined, or it is not a ledger. The file is unchanged.
        """
        return checking.repair_file(address, charge_rest=charge_rest)

    def at_one_moment(self) -> Ledger:
        """Return a read-only snapshot of this ledger, which is consistent despite concurrent debits."""
        made = type(self).__new__(type(self))
        made._journal = Journal(snapshot_log(self._journal.log), self._journal.operator)
        return made

    def close(self) -> None:
        """Close the ledger. Every debit is on disk already."""
        self._journal.closed = True
        self._journal.log.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise ParameterTypeError(
            "a ledger cannot be copied or pickled: open it in the other process, with Ledger(address)"
        )

    def _repr_html_(self) -> str:
        ledger = self.at_one_moment()
        rows = {
            "left": ledger.remaining(),
            "spent": ledger.spent(),
            "budget": ledger.promise,
            "entries": ledger.count(),
            "protects": f"data sets at distance {ledger.d_in} under {ledger.metric}",
            "measure": repr(ledger.measure),
        }
        return elements.facts_table(f"Privacy budget of {ledger.dataset}", rows.items())

    def __repr__(self) -> str:
        named = f"budget={self.budget}, measure={self.measure!r}, dataset={self.dataset!r}"
        return f"Ledger({self._journal.log.place!r}, {named})"
