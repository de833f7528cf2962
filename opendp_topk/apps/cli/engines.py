"""Which engine reads and counts the table of ``opendp-topk release``: polars, DuckDB or Spark."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Annotated, Any
from urllib.parse import unquote

import typer

from ...errors import MissingExtraError, ParameterError, TableError, checks
from ...errors.extras import load
from ...tables.files import (
    ISO,
    POINT,
    STDIN,
    ColumnTypes,
    Dialect,
    Opened,
    declared,
    opened,
    parquet_files,
    require_columns,
    require_readable,
    same_columns,
)
from ...tables.guard import guarded
from ...tables.hadoop import is_address
from ...tables.hadoop import listed as hadoop_listed
from ...tables.listing import FileList, is_parquet
from ...tables.rows import Rows
from ...tables.where import STATISTICS, Where, parsed

ENGINES = ("polars", "duckdb", "spark")
_PACKAGES = {"polars": "polars", "duckdb": "duckdb", "spark": "pyspark"}

EngineOption = Annotated[
    str,
    typer.Option(
        metavar="|".join(ENGINES),
        help="What reads and counts the table. polars: in parts, within 2 GiB of memory. duckdb: .parquet files, with "
        "the disk where memory is short. spark: .parquet files, on the cluster of --master.",
    ),
]
MasterOption = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="With --engine spark: the cluster, such as spark://host:7077, yarn or local[2]. If not given: what "
        "Spark's own settings say, or this machine.",
        show_default=False,
    ),
]


SeparatorOption = Annotated[
    str,
    typer.Option(metavar="CHARACTER", help="Of a .csv file: what separates fields. $'\\t' is a tab in most shells."),
]
EncodingOption = Annotated[
    str, typer.Option(metavar="NAME", help="Of a .csv file: its encoding, such as utf-8, latin-1 or utf-16.")
]
TypesOption = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN=TYPE,...",
        help="Of a .csv file: columns that hold no text, such as fee=decimal,day=date. A type is text, integer, "
        "decimal or date; those of --sum and --quantile are decimals if not declared. A table with an entry that does "
        "not have its type is refused before anything is paid; with decimal_or_null, and so on, that entry is null.",
        show_default=False,
    ),
]
DecimalOption = Annotated[
    str, typer.Option(metavar=".|,", help="Of a .csv file: what stands before the fraction of a decimal.")
]
DateFormatOption = Annotated[
    str, typer.Option(metavar="FORMAT", help="Of a .csv file: how dates are written, such as dd.mm.yyyy.")
]
WhereOption = Annotated[
    str | None,
    typer.Option(
        metavar="CONDITION",
        help="Read only rows for which this holds: columns compared with constants, such as \"country = 'PT' and "
        'year >= 2024", with and, or, not, in (...), is null. It must be chosen without looking at the table.',
        show_default=False,
    ),
]
_AS_LISTED = {
    "__globPaths__": "false",  # no name is a pattern
    "recursiveFileLookup": "true",  # no name of a folder is a column
    "mergeSchema": "false",
    "parquet.page.verify-checksum.enabled": "true",
}
_LOCAL = re.compile("^file:/+")


@dataclass(frozen=True)
class Reading:
    """How a table is read: the dialect of CSV, whether some of it was asked for, and which rows."""

    dialect: Dialect
    where: Where | None
    as_csv: bool = False

    @classmethod
    def of(
        cls,
        separator: str,
        encoding: str,
        where: str | None,
        types: str | None = None,
        decimal: str = POINT,
        date_format: str = ISO,
        number: str | None = None,
    ) -> Reading:
        """What --separator, --encoding, --where, --types, --decimal and --date-format ask for.

        ``number`` is a column that is one of decimals if no type is declared for it.
        """
        known = {} if number is None else {number: "decimal"}
        dialect = Dialect(separator, encoding, ColumnTypes(known | declared(types), decimal, date_format))
        as_csv = (separator, encoding, types, decimal, date_format) != (",", "utf-8", None, POINT, ISO)
        return cls(dialect, None if where is None else parsed(where), as_csv)


@dataclass(frozen=True)
class Table:
    """A frame of an engine, and the files that it reads; None for standard input."""

    frame: Any
    files: FileList | None

    def require_unchanged(self) -> None:
        """Raise TableError unless the files are as they were when they were listed."""
        if self.files is not None:
            self.files.require_unchanged()

    def require_readable(self, rows: Rows, columns: Sequence[str], *, paid: bool) -> None:
        """Read these rows, in ``columns`` of the table, before anything is paid for them, if something will be.

        They are held from then on, so that they are read once; but Spark reads them again.

        Raises:
            TableError: A file is damaged; of .parquet files it is named.
        """
        try:
            held = rows.held()
            if paid and held.implementation.is_pyspark():
                guarded(held.to_native().write.format("noop").mode("overwrite").save)
            return
        except TableError as error:
            failed = error
        if self.files is not None and all(os.path.isfile(one) and is_parquet(one) for one in self.files.places):
            require_readable(self.files, columns)
        raise failed


@dataclass(frozen=True)
class Engine:
    """An engine by its name, and where it runs."""

    name: str
    master: str | None = None

    def __post_init__(self) -> None:
        checks.choice("--engine", self.name, ENGINES)
        if self.master is not None and self.name != "spark":
            raise ParameterError("--master goes with --engine spark: leave it out")

    def recorded(self) -> dict[str, str]:
        """What a record says of it."""
        return {"name": self.name, "version": metadata.version(_PACKAGES[self.name])}

    @contextlib.contextmanager
    def table(self, path: str, reading: Reading, columns: Sequence[str]) -> Iterator[Table]:
        """The table at ``path``, for as long as the engine runs; it has the ``columns``.

        Raises:
            TableError: It cannot be read.
            ColumnError: It lacks a column.
            ParameterError: The engine does not read such files.
        """
        with contextlib.ExitStack() as stack:
            if self.name == "polars":
                found = opened(path, reading.dialect)
            else:
                found = stack.enter_context(_in_duckdb(path) if self.name == "duckdb" else _in_spark(path, self.master))
            if found.dialect is None and reading.as_csv:
                raise ParameterError(
                    "--separator, --encoding, --types, --decimal and --date-format are for CSV: leave them out"
                )
            where = reading.where
            require_columns(found.columns, (*columns, *(where.columns if where else ())), found.dialect, found.files)
            yield Table(where.kept(found.frame, columns) if where else found.frame, found.files)


@contextlib.contextmanager
def _in_duckdb(path: str) -> Iterator[Opened]:
    files = _parquet(path, "duckdb")
    columns = same_columns(files)
    duckdb = load("duckdb", "--engine duckdb needs DuckDB", "duckdb>=1.1")
    named = [glob.escape(place) for place in files.places]
    with tempfile.TemporaryDirectory(prefix="opendp-topk-") as folder, duckdb.connect() as connection:
        connection.execute("SET temp_directory = $folder", {"folder": folder})
        read = "SELECT file_name FROM parquet_file_metadata($files)"
        taken = guarded(lambda: [row[0] for row in connection.execute(read, {"files": named}).fetchall()])
        _require_same(taken, files.places, "DuckDB")
        frame: Any = guarded(lambda: connection.read_parquet(named, hive_partitioning=False, union_by_name=False))
        yield Opened(frame, _same_names(frame.columns, columns, "DuckDB"), files, None)


@contextlib.contextmanager
def _in_spark(path: str, master: str | None) -> Iterator[Opened]:
    remote = is_address(path)
    files = None if remote else _parquet(path, "spark")
    columns = None if files is None else same_columns(files)
    require_spark()
    session = guarded(lambda: _session(master))
    try:
        found = hadoop_listed(session, path) if files is None else files
        places = found.places if remote else [f"file://{place}" for place in found.places]
        reader = session.read
        for name, value in _AS_LISTED.items():
            reader = reader.option(name, value)
        frame = guarded(lambda: reader.parquet(*places))
        taken, wanted = map(unquote, guarded(frame.inputFiles)), found.places
        _require_same([_LOCAL.sub("/", one) for one in taken], [_LOCAL.sub("/", one) for one in wanted], "Spark")
        yield Opened(frame, _same_names(frame.columns, columns, "Spark"), found, None)
    finally:
        session.stop()


def _parquet(path: str, engine: str) -> FileList:
    files = None if path == STDIN else parquet_files(path)
    if files is None:
        raise ParameterError(
            f"--engine {engine} reads .parquet files, since engines differ in how they read CSV: leave it out"
        )
    return files


def _require_same(taken: list[str], wanted: list[str], engine: str) -> None:
    """Raise unless the engine reads the files that were listed, and no others."""
    if sorted(taken) != sorted(wanted):
        raise TableError(
            f"path must name files that {engine} reads as they are listed, and it takes others: it may leave out names "
            "that begin with _ or read some characters as a pattern. Rename them, or leave --engine out"
        )


def _same_names(found: Sequence[str], columns: tuple[str, ...] | None, engine: str) -> tuple[str, ...]:
    if columns is not None and tuple(found) != columns:
        raise TableError(
            f"path must name files with columns that {engine} tells apart: it has other names for some. Rename those "
            "that differ in capital letters alone, or leave --engine out"
        )
    return tuple(found)


def _session(master: str | None) -> Any:
    """A session of Spark, whose messages stay away: some repeat rows."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("opendp-topk").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", str(sys.stderr.isatty()).lower())
    session = (builder if master is None else builder.master(master)).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    session.conf.set(STATISTICS, "false")
    return session


def require_spark() -> None:
    """Raise MissingExtraError where pyspark or Java is missing, which says what to install."""
    load("pyspark", "--engine spark needs pyspark", "opendp_topk[spark]")
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=os.path.join(home, "bin") if home else None) is None:
        raise MissingExtraError(
            "--engine spark needs Java 17 or newer: on Debian and Ubuntu apt install default-jre-headless, elsewhere "
            "install a Java runtime and set JAVA_HOME"
        )
