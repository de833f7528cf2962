"""What was paid for and has not happened yet: one release, or something outside of the library.

Proof: proofs/ledger/ledger.tex
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, NoReturn

from ...core.home import process
from ...core.measurement import Measurement
from ...core.transformation import public_lists
from ...errors import ParameterError, PickleError, QueryError
from ...spaces.domains import require_readable
from .entries import FAILED, RELEASED
from .journal import Journal
from .records import Record, head
from .stated import in_words

KEPT = "the budget was spent: the ledger keeps the debit of entry "


def require_presented(measurement: Any, data: Any) -> None:
    """Refuse, before anything is paid, what :func:`require_readable` refuses; no row is read."""
    if isinstance(measurement, Measurement):
        require_readable(measurement.input_domain, data, public_lists(measurement))


class Reservation:
    """A debit that was made before its release, by :meth:`Ledger.reserve`.

    It counts as spent from the start and for good. ``number`` is that of its entry. As a context manager it marks
    the entry as failed if the block ends with an error. It serves the process that made it; after the end of that
    process ``Ledger.settle(number, state)`` says what became of it.
    """

    def __init__(self, journal: Journal, made: Record, measurement: Measurement | None) -> None:
        self.number = int(made.fields["entries"])
        self._made = made
        self._journal = journal
        self._measurement = measurement
        self._home = process()
        self.unsettled = ""  # why the ledger does not say that it was released, though it was
        self._open = [True]  # until it is taken out, once

    # proof-region: reservation
    def release(self, data: Any, *, recorded: Callable[[Any], str] | None = None) -> Any:
        """The release that was paid for. There is one, and it ends the reservation.

        Args:
            data: A member of the measurement's input domain.
            recorded: From what was released to the digest of its record, which the ledger keeps with the entry.

        Raises:
            QueryError: It was released or settled already, or in another process.
            ParameterError: An amount was reserved, and no measurement.
            DataTypeError: ``data`` are no table, or no vector, where the measurement takes one. It is not ended, as by
                ColumnError (a column is missing, or its type does not fit) and MissingExtraError.
            DataError: ``data`` are not a member of the input domain. The debit stays.
        """
        if self._measurement is None:
            raise ParameterError("an amount was reserved and no measurement: settle it when it was used")
        require_presented(self._measurement, data)  # [still-open]
        self._end()  # [once]
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
                f"entry {self.number} was released, and stays reserved: {self.unsettled}. Say later what became of it, "
                f"by settle({self.number}, 'released'{'' if kept is None else f', record={kept!r}'})",
                stacklevel=2,
            )
        return released

    def _end(self) -> None:
        if self._home == process():
            with suppress(IndexError):
                self._open.pop()  # one step: a second thread, or the handler of a signal, finds nothing
                return
        raise QueryError("this reservation was released or settled already, or belongs to another process")

    # end-proof-region: reservation

    @property
    def paid(self) -> dict[str, Any]:
        """What a record of the release tells of its debit; ``head`` is the ledger's when it was made."""
        fields = self._made.fields
        entry = {"entry": self.number, "time": fields["time"], "claim": fields["claim"], "head": head(self._made)}
        return {"dataset": self._journal.unit.dataset, **entry}

    @property
    def told(self) -> dict[str, Any]:
        """What a record of the release tells of it in words."""
        unit = self._journal.unit
        return in_words(unit.user, unit.person, self._journal.words, self._made.fields)

    def settle(self, state: str = RELEASED) -> None:
        """Say that what was reserved was ``released`` elsewhere, or has ``failed``. Nothing is given back.

        Raises:
            QueryError: It was released or settled already, or in another process.
            ParameterError: There is no such state.
        """
        if state not in (RELEASED, FAILED):
            raise ParameterError(f"state must be {RELEASED!r} or {FAILED!r}")
        self._end()
        self._journal.settle(self.number, state)

    def __enter__(self) -> Reservation:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is not None and self._open and self._home == process():
            self._end()
            self._journal.settle_if_possible(self.number, FAILED)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise PickleError("a reservation cannot be copied or pickled: a copy would spend the same amount twice")
