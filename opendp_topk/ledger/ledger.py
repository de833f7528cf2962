"""The ledger: releases that are paid for before anything is drawn.

Proof: proofs/ledger/ledger.tex
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, NoReturn

from ..core.measurement import Measurement
from ..errors import BudgetError, DistanceError, ParameterError, PickleError, SpaceError, checks
from ..errors.checks import Number
from ..spaces.measures import Measure
from .amounts import MEASURES, Amount, amount, distance_up, fits, from_text, left, require_additive, to_text, total
from .creation import create
from .failures import damaged
from .store import Store


class Entry(NamedTuple):
    """One debit of a ledger."""

    number: int
    time: str
    measurement: str
    proof: str
    d_in: Number
    cost: Any
    spent: Any


class Ledger:
    """A privacy budget in a file, which several processes may share.

    Every release through :meth:`release` is debited, and the debit is on the disk before the data are looked at or
    any noise is drawn: a crash can only count too much. What does not fit with what is left is refused.

    The promise is about releases made through the ledger, and about the file as it is: the total of all of them is
    within the budget. It does not cover a file that was deleted, or replaced by an older copy. The file must lie on
    a local file system whose locks work, under one name (a symbolic link to it is the same ledger, a hard link is
    refused). SQLite keeps two more files beside it while it is in use, which belong to it. A process that uses the
    ledger must not open the file in another way, not even to copy it: closing it again would drop the locks, and the
    next debit may be refused until the ledger is opened again.

    Args:
        path: The file. It is created if it does not exist and a budget is given.
        budget: The distance of ``measure`` that all releases together may reach, finite. Without it (and without
            ``measure``) the file must exist.
        measure: ``MaxDivergence()``, ``ZeroConcentratedDivergence()`` or ``Approximate(...)`` of one of them.

    Raises:
        ParameterError: ``budget`` and ``measure`` are not given together, or are out of range; or the file was
            created with others.
        LedgerError: The file is damaged, is no ledger, has a newer format, or cannot be read or written. It is left
            as it was.

    Thread safety: one object may be used from several threads, and after ``os.fork`` (or ``multiprocessing``) from
    both processes; the fork waits for debits that are being written.

    Proof: proofs/ledger/ledger.tex

    Example:
        >>> import tempfile, pathlib, opendp_topk as tk
        >>> folder = tempfile.TemporaryDirectory()
        >>> ledger = tk.Ledger(pathlib.Path(folder.name, "budget.sqlite"), budget=1, measure=tk.MaxDivergence())
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> top2 = space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=2, scale=4.0)
        >>> len(ledger.release(top2, [30, 10, 20], d_in=1))
        2
        >>> ledger.spent(), ledger.remaining()
        (0.5, 0.5)
        >>> ledger.close(); folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str], *, budget: Any = None, measure: Measure | None = None) -> None:
        if (budget is None) != (measure is None):
            raise ParameterError("give budget and measure together, or neither to open a ledger that exists")
        if not isinstance(path, str | os.PathLike) or not str(os.fspath(path)):
            raise ParameterError("path must be the name of a file")
        where = Path(os.path.realpath(os.fspath(path)))
        wanted = None if measure is None else _wanted(budget, measure)
        if wanted is not None and not where.exists():
            create(where, to_text(wanted[0]), repr(wanted[1]))
        self._store = Store(where)
        self._budget, self.measure = _read_about(self._store)
        if wanted is not None and wanted != (self._budget, self.measure):
            self._store.close()
            raise ParameterError(
                f"the ledger was created with the budget {self.budget} under {self.measure!r}, not with this one: "
                "open it without budget and measure, or begin another file"
            )
        self._check_totals()

    @property
    def budget(self) -> Any:
        """What all releases together may cost: a distance of :attr:`measure`."""
        return distance_up(self.measure, self._budget)

    def spent(self) -> Any:
        """What the releases so far have cost together, rounded up."""
        return distance_up(self.measure, self._spent())

    def remaining(self) -> Any:
        """What is left, rounded down."""
        return left(self.measure, self._budget, self._spent())

    def fits(self, measurement: Measurement, *, d_in: Any) -> bool:
        """Whether a release at distance ``d_in`` would fit with what is left now. Nothing is debited."""
        cost = self._cost(measurement, d_in)
        return cost is not None and fits(total(self._spent(), cost), self._budget)

    # proof-region: release
    def release(self, measurement: Measurement, data: Any, *, d_in: Any) -> Any:
        """One release of ``measurement`` on ``data``, after its cost at distance ``d_in`` was debited.

        A release that then fails, because ``data`` are not a member of the input domain or for any other reason, has
        still cost.

        Raises:
            BudgetError: The cost does not fit with what is left. Nothing was debited.
            SpaceError: The measurement is under another measure than the ledger.
            ParameterError: The measurement is interactive.
            LedgerError: The debit could not be written. Nothing was released; in rare failures of the disk the debit
                may still count.
            DataError: ``data`` are not a member of the input domain. The debit stays.
        """
        cost = self._cost(measurement, d_in)  # [cost]
        self._store.debit(lambda spent: self._row(measurement, d_in, cost, spent))  # [debit-first]
        return measurement.invoke(data)  # [then-release]

    def _row(self, measurement: Measurement, d_in: Any, cost: Amount | None, spent: str | None) -> tuple[str, ...]:
        before = self._amount(spent)
        if cost is None or not fits(after := total(before, cost), self._budget):  # [refuse]
            raise BudgetError(
                f"the release would cost {measurement.map(d_in)} of {self.measure.symbol}, and "
                f"{left(self.measure, self._budget, before)} is left: nothing was debited or released"
            )
        now = datetime.now(UTC).isoformat(timespec="seconds")
        distance = str(checks.distance(d_in, "d_in"))
        return now, repr(measurement), str(measurement.proof), distance, to_text(cost), to_text(after)  # [record]

    def _cost(self, measurement: Measurement, d_in: Any) -> Amount | None:
        checks.instance("measurement", measurement, Measurement, "a measurement")
        if measurement.output_measure != self.measure:  # [same-measure]
            raise SpaceError(
                f"the ledger counts {self.measure!r}, and the measurement's output_measure is "
                f"{measurement.output_measure!r}: convert it first"
            )
        if measurement.interactive:  # [no-queryable]
            raise ParameterError(
                "measurement must not be interactive: what is asked of its queryable would come after later releases; "
                "release its queries one by one instead"
            )
        return amount(self.measure, measurement.map(d_in))  # [map]

    # end-proof-region: release

    def history(self) -> list[Entry]:
        """All debits, the oldest first: what, when, at what cost; never data."""
        return [
            Entry(number, time, what, proof, _number(d_in), self._up(cost), self._up(spent))
            for number, time, what, proof, d_in, cost, spent in self._store.rows()
        ]

    def close(self) -> None:
        """Close the file; every debit is on the disk already."""
        self._store.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise PickleError(
            "a ledger cannot be copied or pickled, as it holds an open file: open the file in the other process, with "
            "Ledger(path)"
        )

    def __repr__(self) -> str:
        return f"Ledger({str(self._store.path)!r}, budget={self.budget}, measure={self.measure!r})"

    def _up(self, text: str) -> Any:
        return distance_up(self.measure, self._amount(text))

    def _spent(self) -> Amount:
        return self._amount(self._store.last_total())

    def _amount(self, text: str | None) -> Amount:
        return tuple(0 * part for part in self._budget) if text is None else _parsed(self._store, text)

    def _check_totals(self) -> None:
        """Refuse a file in which a debit is missing or a total does not add up."""
        spent = self._amount(None)
        for expected, (number, *_, cost, after) in enumerate(self._store.rows(), start=1):
            spent = total(spent, self._amount(cost))
            if number != expected or self._amount(after) != spent:
                self._store.close()
                raise damaged(self._store.path)


def _wanted(budget: Any, measure: Measure) -> tuple[Amount, Measure]:
    checks.instance("measure", measure, Measure, "a measure such as MaxDivergence()")
    require_additive(measure)
    try:
        measure.distance(budget, "budget")
        found = amount(measure, budget)
        reason = "budget must be finite" if found is None else ""
    except DistanceError as error:
        reason = str(error)
    if reason or found is None:
        raise ParameterError(reason)
    return found, measure


def _read_about(store: Store) -> tuple[Amount, Measure]:
    budget, measure = store.about()
    if measure not in MEASURES:
        raise damaged(store.path)
    return _parsed(store, budget), MEASURES[measure]


def _parsed(store: Store, text: str) -> Amount:
    try:
        return from_text(text)
    except (ValueError, ZeroDivisionError, AttributeError):
        pass
    raise damaged(store.path)


def _number(text: str) -> Number:
    try:
        return int(text)
    except ValueError:
        return float(text) if "/" not in text else checks.plain(from_text(text)[0])
