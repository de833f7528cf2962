"""Paying for a release from a ledger, before the table is counted."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...core.measurement import Measurement
from ...errors import ParameterError
from ...errors.files import quote_path
from ...spaces.measures import PrivacyProfile
from ...spaces.metrics import UserDistance
from ..ledger import Ledger
from ..ledger.charges import PriorPayments, validate_label
from ..ledger.planned import Reservation, require_readable_data
from ..ledger.stated import OWN, release_metadata, validate_metadata
from ..planning.plan import Plan, Query
from ..planning.release_record import ReleaseRecord
from ..planning.units import ROW, UserUnit
from .exit_codes import Interrupted
from .output import records_folder


def metadata_for_record(words: Mapping[str, Any], account: Ledger | None) -> dict[str, Any]:
    """Return the metadata of a release record, together with those of the ledger that pays.

    ``words`` are the metadata arguments of :meth:`Ledger.release`: descriptive text, and ``at_most`` and ``shared`` if
    the user column is not that of the ledger.
    """
    words = {**words, "label": validate_label(words["label"])}
    validate_metadata({name: words[name] for name in OWN})
    if account is None:
        return release_metadata(None, None, {}, words)
    return release_metadata(account.user, account.person, account.stated, words)


@contextlib.contextmanager
def open_paying_ledger(
    ledger: str | None, query: Query[Any, UserUnit], words: Mapping[str, Any]
) -> Iterator[Ledger | None]:
    """Open the ledger that pays for the release, if one is given, and check that it can pay for ``query``."""
    if ledger is None:
        if words["at_most"] is not None and not query.unit.columns.is_row_level:
            raise ParameterError("--at-most requires --ledger, which defines what a person is")
        metadata_for_record(words, None)  # raises before the table is read if they are invalid
        yield None
        return
    with Ledger(ledger) as account:
        require_neighbors(account, query.unit.neighbors)
        if account.measure not in (query.budget.measure, PrivacyProfile()):
            symbol = account.measure.symbol
            advice = f"state the target as --{symbol}" if symbol in ("epsilon", "rho") else "release from it in Python"
            raise ParameterError(f"the ledger uses {symbol}: {advice}")
        _require_column(account, query.unit.columns.user, words["at_most"])
        yield account


def require_neighbors(account: Ledger, neighbors: str) -> None:
    """Raise unless the ledger's neighbouring relation is ``neighbors``."""
    if account.metric != repr(UserDistance(neighbors)):
        raise ParameterError(f"--neighbors must match the metric of the ledger, {account.metric}")


def _require_column(account: Ledger, column: str, at_most: int | None) -> None:
    """Raise unless users are identified by the ledger's column, or ``at_most`` bounds the values per person."""
    own = account.user is None or account.user == column
    if own and column == ROW:
        raise ParameterError(
            "--at-most requires a ledger that defines what a person is: create it with `ledger create --user PERSON`"
        )
    if own and at_most is not None:
        raise ParameterError("--at-most is only for a release whose user column differs from the ledger's: omit it")
    if not own and at_most is None:
        raise ParameterError(
            f"in the ledger a person is a {account.person}: give --user {account.user}, or state with "
            f"--at-most how many values of {column} the rows of one {account.person} have at most"
        )


def draw_and_record(
    plan: Plan[Any, UserUnit],
    rows: Any,
    account: Ledger | None,
    words: Mapping[str, Any],
    recorded: Callable[[Any, Mapping[str, Any] | None, Mapping[str, Any]], ReleaseRecord],
    planned: int | None = None,
    *,
    keep: Callable[[ReleaseRecord], None] = lambda record: None,
    again: bool = False,
) -> tuple[ReleaseRecord, str]:
    """Pay for a release, draw it, and return its record.

    ``recorded`` builds the record from the output, the payment and the metadata. ``keep`` stores it, and then its
    digest is written to the ledger's entry. The second value returned is the reason if that could not be written, or
    else empty. ``planned`` is the number of the entry that has paid in advance for several releases, including this
    one. A release whose label and period were paid before is refused unless ``again`` is set.
    """
    measurement, query, made = plan.measurement, plan.query, []
    if account is None:
        return recorded(measurement(rows), None, metadata_for_record(words, None)), ""
    require_readable_data(measurement, rows)
    before = account.count()
    delta = query.budget.d_out[1] if isinstance(measurement.output_measure, PrivacyProfile) else None
    try:
        reserved = (
            account.reserve(
                measurement, d_in=query.unit.d_in, delta=delta, once=_is_repeat_refused(words, again), **words
            )
            if planned is None
            else _reserve_planned(account, planned, words["label"], measurement)
        )

        def build_record_digest(released: Any) -> str:
            made.append(recorded(released, reserved.payment_fields, reserved.metadata_fields))
            keep(made[0])
            return made[0].digest

        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", f"entry {reserved.number} was released")  # reported at the end
            reserved.release(rows, recorded=build_record_digest)
        return made[0], reserved.unsettled
    except KeyboardInterrupt:
        if account.count() == before:
            raise
    raise Interrupted("interrupted: nothing was released, and the budget stays spent")


def require_unpaid(account: Ledger, words: Mapping[str, Any], again: bool) -> None:
    """Raise if an entry has already paid for a release with this label and period, unless ``again`` is set."""
    if not _is_repeat_refused(words, again):
        return
    numbers = PriorPayments(account._journal, words["label"], words["period"]).numbers
    if not numbers:
        return
    folder, number = records_folder(account), numbers[-1]
    place = None if folder is None else folder / f"{number}.json"
    there = place is not None and place.is_file()
    which = f", {quote_path(str(place))}," if there else ""
    raise ParameterError(
        f"entry {number} of the ledger has already paid for a release with this label and period. To repeat "
        f"its answer, give its record{which} as --from-record; to pay for another release, add --again, or "
        "choose another --label or --period"
    )


def _is_repeat_refused(words: Mapping[str, Any], again: bool) -> bool:
    return bool(words["label"]) and not again


def _reserve_planned(account: Ledger, planned: int, label: str, measurement: Measurement) -> Reservation:
    """Reserve the planned release with this label, or without a label the first that is not drawn yet."""
    paid = account.planned(planned)
    if not paid.left():
        raise ParameterError("all releases of this plan were drawn")
    return paid.reserve(label or None, measurement)
