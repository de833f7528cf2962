"""Which engine reads and counts the table of ``opendp-topk release``: polars, DuckDB or Spark."""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from typing import Annotated, Any

import typer

from ..errors import MissingExtraError, ParameterError, checks

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
    def table(self, path: str) -> Iterator[Any]:
        """The table at ``path``, for as long as the engine runs."""
        if self.name == "polars":
            from ..tables.files import read_table

            yield read_table(path)
        else:
            with _in_duckdb(path) if self.name == "duckdb" else _in_spark(path, self.master) as table:
                yield table


@contextlib.contextmanager
def _in_duckdb(path: str) -> Iterator[Any]:
    from ..tables.files import parquet_files
    from ..tables.guard import guarded

    files = None if path == "-" else parquet_files(path)
    if files is None:
        raise ParameterError("--engine duckdb reads .parquet files: leave it out for others")
    if find_spec("duckdb") is None:
        raise MissingExtraError('--engine duckdb needs DuckDB: pip install "duckdb>=1.1"')
    import duckdb

    with tempfile.TemporaryDirectory(prefix="opendp-topk-") as folder, duckdb.connect() as connection:
        connection.execute("SET temp_directory = $folder", {"folder": folder})
        named = [glob.escape(str(file)) for file in files]
        yield guarded(lambda: connection.read_parquet(named, hive_partitioning=False))


@contextlib.contextmanager
def _in_spark(path: str, master: str | None) -> Iterator[Any]:
    from ..tables.guard import guarded

    if path == "-" or ".csv" in os.path.basename(path).lower():
        raise ParameterError("--engine spark reads .parquet files: leave it out for others")
    require_spark()
    session = guarded(lambda: _session(master))
    try:
        files = session.read.option("recursiveFileLookup", True).option("pathGlobFilter", "*.parquet")
        yield guarded(lambda: files.parquet(path))
    finally:
        session.stop()


def _session(master: str | None) -> Any:
    """A session of Spark, whose messages stay away: some repeat rows."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("opendp-topk").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", str(sys.stderr.isatty()).lower())
    session = (builder if master is None else builder.master(master)).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def require_spark() -> None:
    """Raise MissingExtraError where pyspark or Java is missing, which says what to install."""
    if find_spec("pyspark") is None:
        raise MissingExtraError('--engine spark needs pyspark: pip install "opendp_topk[spark]"')
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=os.path.join(home, "bin") if home else None) is None:
        raise MissingExtraError(
            "--engine spark needs Java 17 or newer: on Debian and Ubuntu apt install default-jre-headless, elsewhere "
            "install a Java runtime and set JAVA_HOME"
        )
