"""Releases from a table by a plan: reading, payment, drawing and the record."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from ...core.repeatable import Answer, parse_seconds, run_until_deadline
from ...errors import DataTypeError, ParameterError, TableError
from ...errors.files import quote_path
from ...spaces.measures import PrivacyProfile
from ...tables import frames as parts
from ...tables.files import require_column_names
from ...tables.guard import run_guarded
from ..ledger import Ledger
from ..ledger.amounts import parse_exact
from ..ledger.charges import PriorPayments, delta_of_most_releases, validate_label
from ..ledger.journal import utc_timestamp
from ..ledger.planned import require_readable_data
from ..ledger.stated import OWN, release_metadata, validate_metadata
from .files import write_file_list
from .options import NO_OPTION, OptionGroup, given_options, named, option_error
from .plan import Plan, Query, plan_guarantees
from .record_store import Interrupted, RecordStore, records_folder
from .release_record import (
    OtherUsersCount,
    ReleasedItems,
    ReleaseRecord,
    engine_fields,
    list_digest,
    parameters_of,
    plain_value,
)
from .several import require_neighbors
from .sources import ENGINES, Engine, SourceTable, TableReadOptions
from .steps import log_step
from .units import ROW, Columns, UserUnit, split_item_parts

# Options of a release that are not part of its question.


@dataclass(frozen=True, kw_only=True)
class TableOptions(OptionGroup):
    """How the table is read.

    Table:
        where (CONDITION): Read only rows that meet this condition. It compares columns with constants, such as "country
            = 'PT' and year >= 2024", with and, or, not, in (...), is null. Choose it without looking at the table.
        separator (CHARACTER, rare): Field separator of a .csv file. $'\t' is a tab in most shells.
        encoding (NAME, rare): Encoding of a .csv file. Such as latin-1 or utf-16.
        types (COLUMN=TYPE,..., rare): Types of columns of a .csv file. Such as fee=decimal,day=date. A type is text
            (default), integer, decimal or date; the columns of sums and quantiles are decimal by default. If an entry
            does not have its type, the table is refused before any budget is spent; with decimal_or_null, and so on,
            the entry is null instead.
        decimal (.|,, rare): Decimal mark of a .csv file.
        date_format (FORMAT, rare): Date format of a .csv file. Such as dd.mm.yyyy.
        engine (polars|duckdb|spark, rare): Engine that reads and counts the table. polars: in parts, within 2 GiB of
            memory. duckdb: .parquet files, using the disk if memory is short. spark: .parquet files, on the cluster
            --master.
        master (URL, rare, needs engine=spark): Cluster of Spark. With --engine spark: such as spark://host:7077, yarn
            or local[2]. Default: Spark's own configuration, or this machine.
        files (FILE, rare): Write a private list of the files that are read. With their sizes, to a new file. It is as
            private as the table; the record contains its SHA-256.
        pad (SECONDS, rare, excludes files or from_record): Hold the answer back for this many seconds. From the time
            when the table begins to be opened. If it takes longer, there is an error and no answer, and the budget
            stays spent. Choose the number without looking at the table.
    """

    where: str | None = None
    separator: str = ","
    encoding: str = "utf-8"
    types: str | None = None
    decimal: str = "."
    date_format: str = "yyyy-mm-dd"
    engine: str = ENGINES[0]
    master: str | None = None
    files: str | None = None
    pad: float | None = None


@dataclass(frozen=True, kw_only=True)
class PaymentOptions(OptionGroup):
    """Who pays for a release, and its metadata; ``period`` and ``purpose`` replace those of the ledger.

    Budget:
        ledger (LEDGER): Ledger that pays, before the table is counted. Create one with `opendp-topk ledger create`.
        label (TEXT): One line that describes the release. A --ledger pays only once for the same --label and --period,
            unless --again is given.
        period (TEXT, rare): Period of the data, as one line of text.
        purpose (TEXT, rare): Purpose of the release, as one line of text.
        again (rare, needs ledger): Pay again for a --label and --period. Even if the --ledger has already paid for
            them.
        from_record (RECORD, rare, needs ledger, excludes files): Return the answer in this record, at no cost. Of a
            release that the --ledger has paid for and that answers the same question (measurement, candidates, unit and
            label). Nothing is drawn or paid, and the table is not read.
    """

    ledger: str | None = None
    label: str = ""
    period: str | None = None
    purpose: str | None = None
    again: bool = False
    from_record: str | None = None


@dataclass(frozen=True, kw_only=True)
class ReleaseOptions(OptionGroup):
    """All options of a release that are not part of its question."""

    reading: TableOptions = field(default_factory=TableOptions)
    payment: PaymentOptions = field(default_factory=PaymentOptions)
    planned: int | None = field(default=None, metadata=NO_OPTION)


# Releases of a question.


@dataclass(frozen=True)
class TableRelease:
    """A release from a table: its record, where that is stored beside the ledger, and what could not be written."""

    record: ReleaseRecord
    path: Path | None = None
    failure: TableError | None = None

    @property
    def items(self) -> list[Any]:
        """Released items, or numbers."""
        return self.record.released.items


def require_release_options(options: ReleaseOptions, question: Any) -> None:
    """Raise if options of a release are not valid or not compatible with each other or the question."""
    reading = options.reading
    if reading.pad is not None:
        parse_seconds(reading.pad, named("--pad"))
    if question.unit.user is None and question.columns.user != ROW:
        raise option_error(
            "give --user, the column that identifies users, or --rows-per-person N if there is no such column"
        )
    if not question.numbers and question.to_dict().get("item", "") == "":
        raise option_error("give --item, the column of items")
    if reading.engine != ENGINES[0] and (question.columns.is_row_level or question.columns.parts):
        raise option_error("--rows-per-person, and --item with several columns, require --engine polars")


def release_table(
    question: Any,
    plan: Plan[Any, UserUnit],
    table: Any,
    options: ReleaseOptions,
    *,
    out: str | None = None,
    report: Callable[[int, int], None] = lambda done, of: None,
    finish: Callable[[TableRelease], None] = lambda found: None,
) -> TableRelease:
    """Make a release that answers a ``question`` by its ``plan``.

    ``out`` is the file to which the caller will write the record. ``report`` is called with the number of parts of the
    table that have been read, and of all, and ``finish`` with the release while the ledger is still open.
    """
    require_release_options(options, question)
    reading, payment, columns = options.reading, options.payment, plan.query.unit.columns
    by_name = isinstance(table, str | Path)
    for name in [] if by_name else [one for one in given_options(reading) if one not in ("where", "pad")]:
        raise option_error(f"--{name.replace('_', '-')} is for tables in files, and this one is a frame: omit it")
    words = {
        "label": payment.label,
        "at_most": question.unit.stated_bound,
        "shared": question.unit.shared,
        "period": payment.period,
        "purpose": payment.purpose,
    }
    items, groups, others = question.item_list, question.group_list, question.other_users_count
    listing, grouping = (None if one is None else list_digest(one) for one in (items, groups))
    engine = Engine(reading.engine, reading.master)
    read_as = TableReadOptions.from_options(reading, columns.value)
    with open_paying_ledger(payment.ledger, plan.query, words) as account:
        if payment.from_record is not None:
            from .record_file import read_fields
            from .verification import answer_from_record, question_fields

            assert account is not None
            whole = plan if others is None else others.append_count(plan)
            asked = question_fields(whole, reading.where, listing, metadata_for_record(words, account), grouping)
            found = TableRelease(answer_from_record(read_fields(payment.from_record), account, asked))
            finish(found)
            return found
        started, store, hidden = utc_timestamp(), RecordStore(account, out), reading.pad is not None
        if account is not None and options.planned is None:
            require_unpaid(account, words, payment.again)

        def compute_answer() -> tuple[ReleaseRecord, str]:
            with contextlib.ExitStack() as opened:
                with log_step("reading", hidden=hidden):
                    source = opened.enter_context(_open_source(engine, table, read_as, columns))
                    rows = columns.table_domain.validate(columns.prepare_rows(source.frame))
                    bound = question.bind(plan, source.frame, rows.collect_schema())
                    promises = plan_guarantees(bound)
                    promises |= {} if others is None else others.accuracy_guarantees(plan.query.alpha)
                    whole = bound if others is None else others.append_count(bound)
                    source.require_readable(rows, columns.column_names, paid=account is not None)
                with write_file_list(reading.files, source.files) as digest:
                    provenance: dict[str, Any] = {
                        "engine": engine.engine_fields() if by_name else engine_fields(table),
                        "where": reading.where,
                        "files": digest,
                        "candidate_list": listing,
                        "padded": reading.pad,
                        "group_list": grouping,
                        "question": question.record_fields(plan),
                        "target": _target_field(question.budget) if options.planned is None else None,
                    }

                    def build_record(
                        released: Any, entry: Mapping[str, Any] | None, stated: Mapping[str, Any]
                    ) -> ReleaseRecord:
                        with log_step("recording", hidden=hidden):
                            source.require_unchanged()
                            winners = _released_items(released, bound, others)
                            if columns.parts:
                                winners = replace(winners, items=list(map(split_item_parts, winners.items)))
                            made = ReleaseRecord.from_release(
                                winners, whole, promises, entry, stated=stated, **provenance
                            )
                        return made if reading.pad is None else replace(made, time=started)

                    how: dict[str, Any] = {"again": payment.again, "hidden": hidden}
                    if reading.pad is None:
                        how["keep"] = store.store_record
                    return draw_and_record(whole, rows, account, words, build_record, options.planned, **how)

        parts.watcher.set(report if reading.pad is None else lambda done, of: None)
        record, unsettled = hold_until_deadline(reading.pad, compute_answer)
        if reading.pad is not None:
            store.store_record(record)
        found = TableRelease(record, store.path, _unstored_error(store, record, payment.ledger, unsettled))
        finish(found)
        return found


def _target_field(budget: Any) -> Any:
    """Return the target of a budget as a record contains it: numbers that no float equals are texts."""

    def exact_number(value: Any) -> float | str:
        number = parse_exact(value, "the target")
        nearest = plain_value(number)
        return nearest if isinstance(nearest, float) and Fraction(repr(nearest)) == number else str(number)

    main, delta = exact_number(budget.main.d_out), budget.exact_delta
    return main if delta is None else (main, exact_number(delta))


@contextlib.contextmanager
def _open_source(engine: Engine, table: Any, reading: TableReadOptions, columns: Columns) -> Iterator[SourceTable]:
    where, names = reading.where, columns.column_names
    if isinstance(table, str | Path):
        with engine.open_engine_table(str(table), reading, names) as source:
            yield source
        return
    if columns.parts or columns.is_row_level:
        import polars as pl

        if not isinstance(table, pl.DataFrame | pl.LazyFrame):
            raise DataTypeError(
                "the table must be a polars frame if every row counts as a user or items have several columns: convert "
                "it, such as by polars.from_pandas, polars.from_arrow or the method pl() of DuckDB"
            )
        require_column_names(run_guarded(lambda: table.lazy().collect_schema().names()), names, None)
    yield SourceTable(table if where is None else where.filter_rows(table, names), None)


def _released_items(released: Any, plan: Plan[Any, UserUnit], others: OtherUsersCount | None) -> ReleasedItems:
    """Return the released items of one list or of each group, with the count of all other users if there is one."""
    if others is not None:
        return others.released_with_count(released)
    return ReleasedItems.from_output(released, getattr(plan.query.task, "groups", None))


def _unstored_error(store: RecordStore, record: ReleaseRecord, ledger: str | None, unsettled: str) -> TableError | None:
    """Return the error if the record of a paid release, or its state in the ledger, could not be written; else None."""
    settled = f"opendp-topk ledger settle {ledger} {record.ledger['entry']} --record" if record.ledger else ""
    told = [store.failure] if store.failure else []
    if unsettled:
        told.append(f"{unsettled}: run `{settled} {store.path or 'RECORD'}` when the ledger can be written")
    drawn = "the release above was drawn, and its cost is spent"
    return TableError(f"{drawn}, but {', and '.join(told)}") if told else None


def hold_until_deadline(pad: float | None, compute: Callable[[], Answer]) -> Answer:
    """Return what ``compute`` returns, or raise what it raises, at the deadline if there is one.

    Raises:
        DeadlineError: ``compute`` took longer.
        Interrupted: Ctrl-C before the deadline. The error does not reveal whether the release was drawn by then.
    """
    if pad is None:
        return compute()
    try:
        return run_until_deadline(parse_seconds(pad, named("--pad")), compute)
    except KeyboardInterrupt:
        raise Interrupted("interrupted before the deadline: there is no answer, and the cost is spent") from None


# Paying for a release from a ledger, before the table is counted.


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
        if not query.unit.columns.is_row_level:
            _require_column(None, query.unit.columns.user, words["at_most"])
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


def _require_column(account: Ledger | None, column: str, at_most: int | None) -> None:
    """Raise unless users are identified by the ledger's column, or ``at_most`` bounds the values per person."""
    own = account is None or account.user in (None, column)
    if own and (at_most is not None or column == ROW):
        option = "--rows-per-person" if column == ROW else "--at-most"
        raise option_error(
            f"{option} requires a --ledger that identifies people by another column, which `ledger create --user "
            "PERSON` names: omit it, or choose another ledger"
        )
    if account is not None and not own and at_most is None:
        raise option_error(
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
    hidden: bool = False,
) -> tuple[ReleaseRecord, str]:
    """Pay for a release, draw it, and return its record.

    ``recorded`` builds the record from the output, the payment and the metadata. ``keep`` stores it, and then its
    digest is written to the ledger's entry. The second value returned is the reason if that could not be written, or
    else empty. ``planned`` is the number of the entry that has paid in advance for several releases, including this
    one. A release whose label and period were paid before is refused unless ``again`` is set. ``hidden`` steps are not
    logged.
    """
    measurement, query, made = plan.measurement, plan.query, []
    scale = parameters_of(measurement).get("scale")
    numbers = {"scale": scale} if isinstance(scale, int | float) else {}
    drawing = log_step("counting and drawing", hidden=hidden, **numbers)
    if account is None:
        with drawing:
            released = measurement(rows)
        return recorded(released, None, metadata_for_record(words, None)), ""
    require_readable_data(measurement, rows)
    before = account.count()
    delta = query.budget.d_out[1] if isinstance(measurement.output_measure, PrivacyProfile) else None
    try:
        with log_step("paying", hidden=hidden):
            if planned is None:
                once = _is_repeat_refused(words, again)
                if delta is not None:
                    unit = query.unit.d_in, delta, words["at_most"], words["shared"]
                    delta = delta_of_most_releases(account._journal, measurement, *unit)
                reserved = account.reserve(measurement, d_in=query.unit.d_in, delta=delta, once=once, **words)
            else:
                paid = account.planned(planned)
                if not paid.left():
                    raise ParameterError("all releases of this plan were drawn")
                reserved = paid.reserve(words["label"] or None, measurement, period=words["period"])

        def build_record_digest(released: Any) -> str:
            made.append(recorded(released, reserved.payment_fields, reserved.metadata_fields))
            keep(made[0])
            return made[0].digest

        with warnings.catch_warnings(), drawing:
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
    raise option_error(
        f"entry {number} of the ledger has already paid for a release with this label and period. To repeat "
        f"its answer, give its record{which} as --from-record; to pay for another release, add --again, or "
        "choose another --label or --period"
    )


def _is_repeat_refused(words: Mapping[str, Any], again: bool) -> bool:
    return bool(words["label"]) and not again
