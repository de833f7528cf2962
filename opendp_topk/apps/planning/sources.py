"""Tables of a release: which engine reads and counts one, polars, DuckDB or Spark, and how."""

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
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from ...errors import MissingExtraError, TableError, checks
from ...errors.extras import import_extra
from ...tables.files import (
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
from .options import named, option_error

ENGINES = ("polars", "duckdb", "spark")
_PACKAGES = {"polars": "polars", "duckdb": "duckdb", "spark": "pyspark"}
_AS_LISTED = {
    "__globPaths__": "false",  # names are not patterns
    "recursiveFileLookup": "true",  # names of folders are not columns
    "mergeSchema": "false",
    "parquet.page.verify-checksum.enabled": "true",
}
_CSV = "separator", "encoding", "types", "decimal", "date_format"  # options that only .csv files have
_LOCAL = re.compile("^file:/+")


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
class TableReader:
    """Reader of tables: the engine with the cluster of Spark, the CSV dialect, and which rows.

    ``as_csv`` is whether an option for CSV was given.
    """

    engine: str
    master: str | None
    dialect: Dialect
    where: WhereCondition | None
    as_csv: bool

    @classmethod
    def from_options(cls, options: Any, number: str | None = None) -> TableReader:
        """Return the reader of :class:`TableOptions`; ``number`` is a decimal column unless another type is given."""
        engine = checks.require_choice(named("--engine"), options.engine, ENGINES)
        types = {} if number is None else {number: "decimal"}
        types |= parse_column_types(options.types)
        dialect = Dialect(options.separator, options.encoding, ColumnTypes(types, options.decimal, options.date_format))
        where = None if options.where is None else parse_condition(options.where)
        as_csv = any(getattr(options, name) != getattr(type(options), name) for name in _CSV)
        return cls(engine, options.master, dialect, where, as_csv)

    def engine_fields(self) -> dict[str, str]:
        """Return the engine's fields in a record: its name and version."""
        return {"name": self.engine, "version": metadata.version(_PACKAGES[self.engine])}

    @contextlib.contextmanager
    def open_source(self, table: Any, columns: Sequence[str]) -> Iterator[SourceTable]:
        """Open a table, a frame or one in files, as a context manager, and filter its rows.

        Raises:
            TableError: The table cannot be read.
            DataError: The table lacks a column.
            ParameterError: The engine does not read such files, or an option for CSV is given for other files.
        """
        where, frame, files = self.where, table, None
        with contextlib.ExitStack() as stack:
            if isinstance(table, str | Path):
                if self.engine == "polars":
                    found = open_table(str(table), self.dialect)
                elif self.engine == "duckdb":
                    found = stack.enter_context(_open_in_duckdb(str(table)))
                else:
                    found = stack.enter_context(_open_in_spark(str(table), self.master))
                if found.dialect is None and self.as_csv:
                    raise option_error(
                        "--separator, --encoding, --types, --decimal and --date-format require CSV: omit them"
                    )
                needed = (*columns, *(where.column_names if where else ()))
                require_column_names(found.columns, needed, found.dialect, found.files)
                frame, files = found.frame, found.files
            yield SourceTable(where.filter_rows(frame, columns) if where else frame, files)


@contextlib.contextmanager
def _open_in_duckdb(path: str) -> Iterator[OpenedTable]:
    files = _list_parquet_files(path, "duckdb")
    columns = common_columns(files)
    duckdb = import_extra("duckdb", named("--engine duckdb requires DuckDB"), "duckdb>=1.1")
    patterns = [glob.escape(place) for place in files.file_locations]
    with tempfile.TemporaryDirectory(prefix="opendp-topk-") as folder, duckdb.connect() as connection:
        connection.execute("SET temp_directory = $folder", {"folder": folder})
        read = "SELECT file_name FROM parquet_file_metadata($files)"
        taken = run_guarded(lambda: [row[0] for row in connection.execute(read, {"files": patterns}).fetchall()])
        _require_same(taken, files.file_locations, "DuckDB")
        frame: Any = run_guarded(
            lambda: connection.read_parquet(patterns, hive_partitioning=False, union_by_name=False)
        )
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
        raise option_error(f"--engine {engine} requires .parquet files, because engines read CSV differently")
    return files


def _require_same(taken: list[str], wanted: list[str], engine: str) -> None:
    """Raise unless the engine reads exactly the files that were listed."""
    if sorted(taken) != sorted(wanted):
        raise TableError(
            named(
                f"path must name files that {engine} can read, but it selects other files: it may skip names that "
                "begin with _ or interpret some characters as a pattern. Rename them, or omit --engine"
            )
        )


def _require_same_names(found: Sequence[str], columns: tuple[str, ...] | None, engine: str) -> tuple[str, ...]:
    if columns is not None and tuple(found) != columns:
        raise TableError(
            named(
                f"path must name files whose columns {engine} distinguishes, but it changes some names. Rename "
                "columns that differ only in capital letters, or omit --engine"
            )
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
    import_extra("pyspark", named("--engine spark requires pyspark"), "opendp_topk[spark]")
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=os.path.join(home, "bin") if home else None) is None:
        raise MissingExtraError(
            named(
                "--engine spark requires Java 17 or newer: on Debian and Ubuntu apt install "
                "default-jre-headless, elsewhere install a Java runtime and set JAVA_HOME"
            )
        )
