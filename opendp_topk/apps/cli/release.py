"""``opendp-topk release``: make a private release from a table."""

from __future__ import annotations

import contextlib
import glob
import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from typing import Annotated, Any
from urllib.parse import unquote

import typer

from ...core.repeatable import Answer, parse_seconds, run_until_deadline
from ...errors import MissingExtraError, ParameterError, TableError, checks
from ...errors.extras import import_extra
from ...tables import frames as parts
from ...tables.files import (
    ISO,
    POINT,
    STDIN,
    ColumnTypes,
    Dialect,
    OpenedTable,
    common_columns,
    find_parquet_files,
    open_table,
    parse_column_types,
    require_column_names,
    require_readable,
)
from ...tables.guard import run_guarded
from ...tables.listing import FileList, is_address, is_parquet
from ...tables.listing import list_hadoop_files as hadoop_listed
from ...tables.rows import Rows
from ...tables.where import STATISTICS, WhereCondition, parse_condition
from ..ledger import Ledger
from ..ledger.journal import utc_timestamp
from ..ledger.stated import Metadata
from ..planning.groups import GroupedTopK
from ..planning.plan import Plan, Query, ReleaseTask, plan_guarantees
from ..planning.quantile import NumericColumns
from ..planning.release_record import (
    OtherUsersCount,
    ReleasedItems,
    ReleaseRecord,
    TableProvenance,
    list_digest,
    parameters_of,
)
from ..planning.units import ROW, UserUnit, split_item_parts
from . import show
from .asking import Options, expand_option_groups, least_noise_plan
from .exit_codes import Interrupted, ignore_interrupts
from .files import (
    FilesOption,
    items_as_integers,
    match_column_types,
    print_list_remarks,
    read_candidates,
    read_single_release_plan,
    write_file_list,
)
from .output import STDOUT, RecordDestination, RecordStore, flush_stdout, unprinted_release_error
from .payment import draw_and_record, metadata_for_record, open_paying_ledger, require_unpaid
from .record_file import read_fields
from .shown import show_release

# Which engine reads and counts the table of ``opendp-topk release``: polars, DuckDB or Spark.

ENGINES = ("polars", "duckdb", "spark")
_PACKAGES = {"polars": "polars", "duckdb": "duckdb", "spark": "pyspark"}

EngineOption = Annotated[
    str,
    typer.Option(
        metavar="|".join(ENGINES),
        help="The engine that reads and counts the table. polars: in parts, within 2 GiB of memory. duckdb: .parquet "
        "files, using the disk if memory is short. spark: .parquet files, on the cluster --master.",
    ),
]
MasterOption = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="With --engine spark: the cluster, such as spark://host:7077, yarn or local[2]. Default: Spark's own "
        "configuration, or this machine.",
        show_default=False,
    ),
]


SeparatorOption = Annotated[
    str,
    typer.Option(metavar="CHARACTER", help="For a .csv file: the field separator. $'\\t' is a tab in most shells."),
]
EncodingOption = Annotated[
    str, typer.Option(metavar="NAME", help="For a .csv file: the encoding, such as utf-8, latin-1 or utf-16.")
]
TypesOption = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN=TYPE,...",
        help="For a .csv file: the types of columns, such as fee=decimal,day=date. A type is text (default), integer, "
        "decimal or date; the columns of --sum and --quantile are decimal by default. If an entry does not have "
        "its type, the table is refused before any budget is spent; with decimal_or_null, and so on, the entry "
        "is null instead.",
        show_default=False,
    ),
]
DecimalOption = Annotated[str, typer.Option(metavar=".|,", help="For a .csv file: the decimal mark.")]
DateFormatOption = Annotated[
    str, typer.Option(metavar="FORMAT", help="For a .csv file: the date format, such as dd.mm.yyyy.")
]
WhereOption = Annotated[
    str | None,
    typer.Option(
        metavar="CONDITION",
        help="Read only rows that meet this condition. It compares columns with constants, such as \"country = 'PT' "
        'and year >= 2024", with and, or, not, in (...), is null. Choose it without looking at the table.',
        show_default=False,
    ),
]
_AS_LISTED = {
    "__globPaths__": "false",  # names are not patterns
    "recursiveFileLookup": "true",  # names of folders are not columns
    "mergeSchema": "false",
    "parquet.page.verify-checksum.enabled": "true",
}
_LOCAL = re.compile("^file:/+")


@dataclass(frozen=True)
class TableReadOptions:
    """How to read a table: the CSV dialect, which rows, and whether an option for CSV was given (``as_csv``)."""

    dialect: Dialect
    where: WhereCondition | None
    as_csv: bool = False

    @classmethod
    def from_options(
        cls,
        separator: str,
        encoding: str,
        where: str | None,
        types: str | None = None,
        decimal: str = POINT,
        date_format: str = ISO,
        number: str | None = None,
    ) -> TableReadOptions:
        """Build the settings from --separator, --encoding, --where, --types, --decimal and --date-format.

        The column ``number`` has the type decimal unless another type is declared for it.
        """
        known = {} if number is None else {number: "decimal"}
        dialect = Dialect(separator, encoding, ColumnTypes(known | parse_column_types(types), decimal, date_format))
        as_csv = (separator, encoding, types, decimal, date_format) != (",", "utf-8", None, POINT, ISO)
        return cls(dialect, None if where is None else parse_condition(where), as_csv)


@dataclass(frozen=True)
class SourceTable:
    """A frame of an engine and the list of the files that it reads, which is None for standard input."""

    frame: Any
    files: FileList | None

    def require_unchanged(self) -> None:
        """Raise TableError if the files have changed since they were listed."""
        if self.files is not None:
            self.files.require_unchanged()

    def require_readable(self, rows: Rows, columns: Sequence[str], *, paid: bool) -> None:
        """Read the rows before anything is paid, so that an unreadable table costs nothing.

        The rows are kept, so that they are read only once. Spark reads them again, and reads them here only if a ledger
        pays (``paid``). ``columns`` are the columns to check when searching for the damaged file.

        Raises:
            TableError: A file is damaged; the error names it if it is a local .parquet file.
        """
        try:
            held = rows.read_snapshot()
            if paid and held.implementation.is_pyspark():
                run_guarded(held.to_native().write.format("noop").mode("overwrite").save)
            return
        except TableError as error:
            failed = error
        if self.files is not None and all(os.path.isfile(one) and is_parquet(one) for one in self.files.file_locations):
            require_readable(self.files, columns)
        raise failed


@dataclass(frozen=True)
class Engine:
    """The engine that reads and counts the table, by name, with the cluster of Spark."""

    name: str
    master: str | None = None

    def __post_init__(self) -> None:
        checks.require_choice("--engine", self.name, ENGINES)
        if self.master is not None and self.name != "spark":
            raise ParameterError("--master requires --engine spark")

    def engine_fields(self) -> dict[str, str]:
        """Return the engine's fields in a record: its name and version."""
        return {"name": self.name, "version": metadata.version(_PACKAGES[self.name])}

    @contextlib.contextmanager
    def open_engine_table(self, path: str, reading: TableReadOptions, columns: Sequence[str]) -> Iterator[SourceTable]:
        """Open the table at ``path`` as a context manager, filter its rows and check that it has the ``columns``.

        Raises:
            TableError: The table cannot be read.
            DataError: The table lacks a column.
            ParameterError: The engine does not read such files, or an option for CSV is given for other files.
        """
        with contextlib.ExitStack() as stack:
            if self.name == "polars":
                found = open_table(path, reading.dialect)
            else:
                found = stack.enter_context(
                    _open_in_duckdb(path) if self.name == "duckdb" else _open_in_spark(path, self.master)
                )
            if found.dialect is None and reading.as_csv:
                raise ParameterError(
                    "--separator, --encoding, --types, --decimal and --date-format require CSV: omit them"
                )
            where = reading.where
            require_column_names(
                found.columns, (*columns, *(where.column_names if where else ())), found.dialect, found.files
            )
            yield SourceTable(where.filter_rows(found.frame, columns) if where else found.frame, found.files)


@contextlib.contextmanager
def _open_in_duckdb(path: str) -> Iterator[OpenedTable]:
    files = _list_parquet_files(path, "duckdb")
    columns = common_columns(files)
    duckdb = import_extra("duckdb", "--engine duckdb requires DuckDB", "duckdb>=1.1")
    named = [glob.escape(place) for place in files.file_locations]
    with tempfile.TemporaryDirectory(prefix="opendp-topk-") as folder, duckdb.connect() as connection:
        connection.execute("SET temp_directory = $folder", {"folder": folder})
        read = "SELECT file_name FROM parquet_file_metadata($files)"
        taken = run_guarded(lambda: [row[0] for row in connection.execute(read, {"files": named}).fetchall()])
        _require_same(taken, files.file_locations, "DuckDB")
        frame: Any = run_guarded(lambda: connection.read_parquet(named, hive_partitioning=False, union_by_name=False))
        yield OpenedTable(frame, _require_same_names(frame.columns, columns, "DuckDB"), files, None)


@contextlib.contextmanager
def _open_in_spark(path: str, master: str | None) -> Iterator[OpenedTable]:
    remote = is_address(path)
    files = None if remote else _list_parquet_files(path, "spark")
    columns = None if files is None else common_columns(files)
    require_spark()
    session = run_guarded(lambda: _spark_session(master))
    try:
        found = hadoop_listed(session, path) if files is None else files
        places = found.file_locations if remote else [f"file://{place}" for place in found.file_locations]
        reader = session.read
        for name, value in _AS_LISTED.items():
            reader = reader.option(name, value)
        frame = run_guarded(lambda: reader.parquet(*places))
        taken, wanted = map(unquote, run_guarded(frame.inputFiles)), found.file_locations
        _require_same([_LOCAL.sub("/", one) for one in taken], [_LOCAL.sub("/", one) for one in wanted], "Spark")
        yield OpenedTable(frame, _require_same_names(frame.columns, columns, "Spark"), found, None)
    finally:
        session.stop()


def _list_parquet_files(path: str, engine: str) -> FileList:
    files = None if path == STDIN else find_parquet_files(path)
    if files is None:
        raise ParameterError(f"--engine {engine} requires .parquet files, because engines read CSV differently")
    return files


def _require_same(taken: list[str], wanted: list[str], engine: str) -> None:
    """Raise unless the engine reads exactly the files that were listed."""
    if sorted(taken) != sorted(wanted):
        raise TableError(
            f"path must name files that {engine} can read, but it selects other files: it may skip names that "
            "begin with _ or interpret some characters as a pattern. Rename them, or omit --engine"
        )


def _require_same_names(found: Sequence[str], columns: tuple[str, ...] | None, engine: str) -> tuple[str, ...]:
    if columns is not None and tuple(found) != columns:
        raise TableError(
            f"path must name files whose columns {engine} distinguishes, but it changes some names. Rename "
            "columns that differ only in capital letters, or omit --engine"
        )
    return tuple(found)


def _spark_session(master: str | None) -> Any:
    """Return a Spark session with logging turned off, because some messages contain rows."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("opendp-topk").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", str(sys.stderr.isatty()).lower())
    session = (builder if master is None else builder.master(master)).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    session.conf.set(STATISTICS, "false")
    return session


def require_spark() -> None:
    """Raise MissingExtraError, which explains what to install, if pyspark or Java is missing."""
    import_extra("pyspark", "--engine spark requires pyspark", "opendp_topk[spark]")
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=os.path.join(home, "bin") if home else None) is None:
        raise MissingExtraError(
            "--engine spark requires Java 17 or newer: on Debian and Ubuntu apt install "
            "default-jre-headless, elsewhere install a Java runtime and set JAVA_HOME"
        )


# The deadline of --pad: everything computed from the table, including errors, is held back until then.

PadOption = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="Hold the answer back until this many seconds after the table begins to be opened. If it takes longer, "
        "there is an error and no answer, and the budget stays spent. Choose the number without looking at the "
        "table.",
        show_default=False,
    ),
]


def require_pad_options(pad: float | None, files: str | None, from_record: str | None) -> None:
    """Raise if --pad is invalid, or is given with an option that would bypass the deadline or reads no table."""
    if pad is None:
        return
    parse_seconds(pad, "--pad")
    if files is not None:
        raise ParameterError(
            "--files and --pad cannot be combined, because the list is written as soon as the table has been "
            "counted: omit one"
        )
    if from_record is not None:
        raise ParameterError("--from-record does not read the table: omit --pad")


def hold_until_deadline(pad: float | None, compute: Callable[[], Answer]) -> Answer:
    """Return what ``compute`` returns, or raise what it raises, at the deadline if there is one.

    Raises:
        DeadlineError: ``compute`` took longer.
        Interrupted: Ctrl-C before the deadline. The error does not reveal whether the release was drawn by then.
    """
    if pad is None:
        return compute()
    try:
        return run_until_deadline(parse_seconds(pad, "--pad"), compute)
    except KeyboardInterrupt:
        raise Interrupted("interrupted before the deadline: there is no answer, and the cost is spent") from None


# ``opendp-topk release``: the private top-k of a table, for people and for programs.

_LOG = logging.getLogger(__name__)  # progress only, never data

MORE = "Every further release from this table adds its cost."
AGAIN = "This is the earlier answer: nothing was drawn or charged, and the table was not read."
PUBLIC = f"The list of candidates must be public: a list taken from the table would itself reveal private data. {MORE}"

GRID = f"Bounds and step must be public: choosing them from the table would itself reveal private data. {MORE}"


@expand_option_groups
def release(
    table: Annotated[
        str,
        typer.Argument(
            metavar="TABLE",
            help="A .parquet or .csv file (or .csv.gz, .csv.zst) with a row for each (user, item), or a folder or a "
            "pattern of .parquet files; - reads CSV from standard input.",
        ),
    ],
    user: Annotated[
        str | None,
        typer.Option(
            help="The column that identifies users. Required unless --rows-per-person is given.",
            metavar="COLUMN",
            show_default=False,
        ),
    ] = None,
    item: Annotated[
        str | None,
        typer.Option(
            help="The column of items. Required unless --quantile is given. Several columns, separated by commas, "
            "such as region,product, form one item together; put a name with a comma in double quotes.",
            metavar="COLUMN",
            show_default=False,
        ),
    ] = None,
    candidates: Annotated[
        str | None,
        typer.Option(
            help="Public list of the items that may be released: a text file with one item per line, a .json list, or "
            "a .parquet or .csv file with one column (a .csv file with a header) or the columns of --item. If "
            "there is no public list, give --delta.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    *,
    options: Options,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write a JSON record to this file, or only a table of the items if its name ends in .csv; - prints "
            "the record on standard output instead of the table.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file of --out if it exists.")] = False,
    ledger: Annotated[
        str | None,
        typer.Option(
            metavar="LEDGER",
            help="The ledger that pays for the release, before the table is counted. Create one with `opendp-topk "
            "ledger create`.",
        ),
    ] = None,
    label: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            help="One line that describes the release. A --ledger pays only once for the same --label and --period, "
            "unless --again is given.",
        ),
    ] = "",
    own: Metadata,
    at_most: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="With a --ledger that identifies people by another column: maximum number of values of --user in the "
            "rows of one person. The target is met for the person.",
            show_default=False,
        ),
    ] = None,
    shared: Annotated[
        bool,
        typer.Option(
            "--shared",
            help="With --at-most: rows with one value of --user may belong to several people, such as a household.",
        ),
    ] = False,
    engine: EngineOption = ENGINES[0],
    master: MasterOption = None,
    separator: SeparatorOption = ",",
    encoding: EncodingOption = "utf-8",
    types: TypesOption = None,
    decimal: DecimalOption = POINT,
    date_format: DateFormatOption = ISO,
    where: WhereOption = None,
    files: FilesOption = None,
    pad: PadOption = None,
    planned_by: Annotated[
        str | None,
        typer.Option(
            "--plan",
            metavar="FILE",
            help="Make one release of this plan, which the entry --planned of the --ledger has paid for. The question "
            "and the noise are those of the plan. --label selects the release; default: the next.",
            show_default=False,
        ),
    ] = None,
    planned: Annotated[
        int | None,
        typer.Option(
            metavar="ENTRY",
            help="With --plan: number of the entry that `ledger reserve --plan` created.",
            show_default=False,
        ),
    ] = None,
    again: Annotated[
        bool,
        typer.Option("--again", help="Pay again for a --label and --period for which the --ledger has already paid."),
    ] = False,
    from_record: Annotated[
        str | None,
        typer.Option(
            metavar="RECORD",
            help="Return the answer in this record, of a release that the --ledger has paid for and that answers the "
            "same question (measurement, candidates, unit and label). Nothing is drawn or paid, and the table is "
            "not read.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Release the k items with the most users.

    With --sum COLUMN, release the items with the largest sums of a numeric column. With --quantile P, release
    numbers: for each quantile, a multiple of --step within --bounds whose rank in a column is near the quantile.
    Only the items are released, and with --counts a noisy count of each; never an exact count. The mechanism
    noisy_top_k_with_gaps also releases the noisy lead of each item over the next. The noise is the smallest that
    meets the privacy target. A user counts once for an item, even with several rows, unless --rows-per-person is given.

    \b
    Example:
      opendp-topk release loans.parquet --user reader --item book \\
        --candidates catalogue.txt --k 10 --epsilon 1 --out top10.json
      opendp-topk release searches.parquet --user visitor --item term --k 10 --epsilon 1 --delta 1e-8
      opendp-topk release searches.parquet --user visitor --item term --keys --max-items 50 --epsilon 1 --delta 1e-8
      opendp-topk release sales.parquet --user buyer --item book --sum paid \\
        --bounds 0,50 --step 0.01 --candidates catalogue.txt --k 10 --epsilon 1
      opendp-topk release loans.parquet --user reader --quantile 1/2 --column age --bounds 0,120 --epsilon 1
      opendp-topk release loans.parquet --user reader --item book --candidates catalogue.txt \\
        --group town --groups towns.txt --k 3 --epsilon 1
      opendp-topk release views.parquet --rows-per-person 10 --item page --candidates pages.txt --k 10 --epsilon 1
    """
    require_pad_options(pad, files, from_record)
    chosen = Engine(engine, master)
    options = replace(options, user=user or "", item=item or "", at_most=at_most, shared=shared)
    _require_people(user, options, engine)
    bound = at_most if options.rows_per_person is None else options.rows_per_person
    words = {"label": label, "at_most": bound, "shared": shared, **own}
    if planned_by is not None:
        _require_planned(options, planned, ledger, words, from_record)
    elif options.quantile is not None and (item, candidates) != (None, None):
        raise ParameterError("--quantile chooses a multiple of --step within --bounds: omit --item and --candidates")
    options.require_group_options(listed=candidates is not None)
    others = None if planned_by is not None else options.other_users_count
    query: Query[Any, UserUnit] | None
    if candidates is None:
        listed, query = None, None if planned_by is not None else _query_without_list(options)
    else:
        options.require_list_options()
        listed = print_list_remarks(
            read_candidates(candidates, options.counted_columns.parts), *options.item_column_names
        )
        query = None if planned_by is not None else options.known_domain_query(len(listed), _read_groups(options))
    plan: Plan[Any, UserUnit]
    number = None if listed is None else len(listed)
    with show.show_progress("planning"):
        plan = (
            least_noise_plan(query) if query is not None else read_single_release_plan(str(planned_by), number, options)
        )
    query = plan.query
    columns = query.unit.columns
    reading = TableReadOptions.from_options(separator, encoding, where, types, decimal, date_format, columns.value)
    _LOG.info("planned: scale %s", parameters_of(plan.measurement).get("scale"))
    read = tuple(
        file for file in (table, candidates, options.groups, ledger, from_record, planned_by) if file is not None
    )
    listing = None if listed is None else list_digest(listed)
    grouping = list_digest(query.task.groups) if isinstance(query.task, GroupedTopK) else None
    with (
        RecordDestination(out, force=force, keep=read) as destination,
        open_paying_ledger(ledger, query, words) as account,
    ):
        failure: Exception | None = None
        if from_record is not None:
            whole = plan if others is None else others.append_count(plan)
            question = whole, where, listing, metadata_for_record(words, account), grouping
            record = _answer_from_record(from_record, account, question, files)
        else:
            started, store = utc_timestamp(), RecordStore(account, out)
            if account is not None and planned is None:
                require_unpaid(account, words, again)

            def compute_answer() -> tuple[ReleaseRecord, str]:
                with chosen.open_engine_table(table, reading, columns.column_names) as source:
                    rows = columns.table_domain.validate(columns.prepare_rows(source.frame))
                    kinds = rows.collect_schema()
                    _LOG.info("the columns of the table are")
                    asked_for = (
                        plan if columns.group is None else _with_table_groups(plan, kinds[columns.group].is_integer())
                    )
                    if isinstance(columns, NumericColumns):
                        asked_for = plan.bind_candidates(None)
                    elif listed is not None:
                        asked_for = asked_for.bind_candidates(
                            match_column_types(listed, columns.parts, source.frame)
                            if columns.parts
                            else items_as_integers(listed, columns.item)
                            if kinds[columns.item].is_integer()
                            else listed
                        )
                    promises = plan_guarantees(asked_for)
                    whole = asked_for if others is None else others.append_count(asked_for)
                    source.require_readable(rows, columns.column_names, paid=account is not None)
                    with write_file_list(files, source.files) as digest:
                        read_as = TableProvenance(chosen.engine_fields(), where, digest, listing, pad, grouping)

                        def build_record(
                            released: Any, entry: Mapping[str, Any] | None, stated: Mapping[str, Any]
                        ) -> ReleaseRecord:
                            source.require_unchanged()
                            winners = _released_items(released, asked_for.query.task, others)
                            if columns.parts:
                                winners = replace(winners, items=list(map(split_item_parts, winners.items)))
                            made = ReleaseRecord.from_release(winners, whole, promises, entry, read_as, stated)
                            return made if pad is None else replace(made, time=started)

                        kept_at_once = {} if pad is not None else {"keep": store.store_record}
                        return draw_and_record(
                            whole, rows, account, words, build_record, planned, again=again, **kept_at_once
                        )

            with show.show_progress("reading and counting") as seen:
                parts.watcher.set(seen.report_parts if pad is None else show.ProgressReporter().report_parts)
                record, unsettled = hold_until_deadline(pad, compute_answer)
                if pad is not None:
                    store.store_record(record)
                failure = _unstored_error(store, record, ledger, unsettled)
                _LOG.info("%d items were released", len(record.released.items))
        try:
            with ignore_interrupts():
                destination.write_record(record)
        except TableError as error:
            failure = error
        try:
            if out != STDOUT:
                why = [("why", plan.why)] if plan.why and from_record is None else []
                show_release(record, [*why, *_other_users_row(record.released, others)])
            flush_stdout()
        except KeyboardInterrupt:
            failure = Interrupted("interrupted while the release was printed: it was drawn, and its cost is spent")
        except OSError as error:
            failure = unprinted_release_error(error)
        if failure is not None:
            raise failure
        last = GRID if isinstance(columns, NumericColumns) else PUBLIC if listed else MORE
        last = last if from_record is None else AGAIN
        if from_record is None and store.path is not None:
            last = f"Its record is {store.path}. {last}"
        show.print_note(f"The release was written to {out}. {last}" if destination.is_file else last)


def _unstored_error(store: RecordStore, record: ReleaseRecord, ledger: str | None, unsettled: str) -> Exception | None:
    """Return the error if the record of a paid release, or its state in the ledger, could not be written; else None."""
    settled = f"opendp-topk ledger settle {ledger} {record.ledger['entry']} --record" if record.ledger else ""
    told = [store.failure] if store.failure else []
    told += (
        [f"{unsettled}: run `{settled} {store.path or 'RECORD'}` when the ledger can be written"] if unsettled else []
    )
    return (
        TableError(f"the release above was drawn, and its cost is spent, but {', and '.join(told)}") if told else None
    )


def _read_groups(options: Options) -> tuple[Any, ...] | None:
    """Read the public list of groups, or return None without --groups."""
    if options.groups is None:
        return None
    return print_list_remarks(read_candidates(options.groups, what="groups"), str(options.group), what="groups")


def _with_table_groups(plan: Plan[Any, UserUnit], integers: bool) -> Plan[Any, UserUnit]:
    """Return the plan with its groups in the type of the table's column: integers, or unchanged."""
    query = plan.query
    groups = (
        items_as_integers(query.task.groups, str(query.unit.columns.group), "groups") if integers else query.task.groups
    )
    return replace(plan, query=replace(query, task=replace(query.task, groups=groups)))


def _released_items(released: Any, task: ReleaseTask, others: OtherUsersCount | None) -> ReleasedItems:
    """Return the released items of one list or of each group, with the count of all other users if there is one."""
    if isinstance(task, GroupedTopK):
        return ReleasedItems.from_group_outputs(task.groups, released)
    return ReleasedItems.from_output(released) if others is None else others.released_with_count(released)


def _require_people(user: str | None, options: Options, engine: str) -> None:
    """Raise unless the privacy unit is given, by --user or by --rows-per-person, and the engine supports it."""
    rows = options.rows_per_person
    if (user is None) == (rows is None) or user == ROW:
        raise ParameterError(
            "give --user, the column that identifies users, or --rows-per-person N, the maximum number of "
            "rows of one person, if there is no such column"
        )
    if rows is not None and (engine != ENGINES[0] or options.at_most is not None or options.shared):
        raise ParameterError("--rows-per-person requires --engine polars, without --at-most and --shared")
    if len(options.item_column_names) > 1 and engine != ENGINES[0]:
        raise ParameterError("--item with several columns requires --engine polars")


def _query_without_list(options: Options) -> Query[Any, UserUnit]:
    """Return the query for a release without candidates: an unknown domain, or quantiles."""
    return options.unknown_domain_query() if options.quantile is None else options.quantile_query()


def _require_planned(
    options: Options, planned: int | None, ledger: str | None, words: Mapping[str, Any], from_record: str | None
) -> None:
    """Raise if options that the plan determines are given, or options that it needs are missing."""
    if options.group is not None:
        raise ParameterError("--plan is for one list, and cannot be combined with --group: omit one of them")
    if planned is None or ledger is None:
        raise ParameterError("--plan requires --ledger and --planned ENTRY, the entry that paid for the plan")
    asked = (
        *(options.k, options.epsilon, options.rho, options.delta, options.mechanism, options.summed),
        *(options.quantile, options.column, options.bounds, options.step, options.max_rows, options.rows_per_person),
    )
    others = (options.kind, options.users, options.neighbors, options.counts, options.other, options.by_gap)
    free = Options()
    if any(one is not None for one in asked) or others != (
        free.kind, free.users, free.neighbors, free.counts, free.other, free.by_gap,
    ):  # fmt: skip
        raise ParameterError("--plan determines the release and its cost: omit --k, the target and similar options")
    if from_record is not None or any(word for name, word in words.items() if name != "label"):
        raise ParameterError("--plan allows no metadata except --label, and cannot be combined with --from-record")


def _answer_from_record(
    path: str, account: Ledger | None, question: tuple[Any, ...], files: str | None
) -> ReleaseRecord:
    """Return the record in the file ``path`` if ``account`` has paid for it and it answers the same question."""
    from ..planning.verification import answer_from_record, question_fields

    if account is None:
        raise ParameterError("--from-record requires --ledger, whose digest shows whether the record is unchanged")
    if files is not None:
        raise ParameterError("--files lists files, but --from-record reads no table: omit one of them")
    return answer_from_record(read_fields(path), account, question_fields(*question))


def _other_users_row(released: ReleasedItems, count: OtherUsersCount | None) -> list[tuple[str, str]]:
    """Return the row for the count of all other users, if it was requested."""
    if count is None:
        return []
    return [
        ("other", f"{released.other} users (a noisy count) have another item {show.other_cost_text(count, 'of it')}")
    ]
