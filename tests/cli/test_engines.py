"""``release --engine``: the same items whatever counts them, the engine in the record, and what an engine lacks."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pytest

from tests.tables.spark_session import LOOPBACK, require_spark

from .command import record_of, spawn
from .conftest import CANDIDATES, LOANS, Command, Library
from .test_loading import loaded

EXACT = "--epsilon", 10**6
BEST = sorted(CANDIDATES, key=lambda book: -LOANS.get(book, 0))[:3]


def folder(library: Library) -> Path:
    """The table as a folder of two files, one below the other, whose names are patterns to who takes them for such."""
    import polars as pl

    table = pl.read_parquet(library.table)
    parts = library.folder / "loans" / "day=1"
    parts.mkdir(parents=True)
    table[:50].write_parquet(parts / "part-0.parquet")
    table[50:].write_parquet(parts.parent / "part-[1].parquet")
    return parts.parent


@pytest.mark.further
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_the_record_names_the_engine(command: Command, library: Library, engine: str) -> None:
    pytest.importorskip(engine, reason=f"{engine} is not installed")
    arguments = library.release(*EXACT, "--out", "-", "--engine", engine, table=folder(library))
    record = record_of(command(*arguments).out)
    assert record["items"] == BEST
    assert record["engine"] == {"name": engine, "version": metadata.version(engine)}


@pytest.mark.slow
def test_spark_releases_the_same(library: Library) -> None:
    require_spark()
    defaults = library.folder / "spark-defaults.conf"
    defaults.write_text(f"spark.sql.shuffle.partitions 2\nspark.local.dir {library.folder}\n", encoding="utf-8")
    settings = {"SPARK_CONF_DIR": str(library.folder), "SPARK_LOCAL_IP": LOOPBACK}
    on_spark = "--engine", "spark", "--master", "local[2]", "--where", "reader >= 0"
    table = folder(library)
    record = record_of(spawn(*library.release(*EXACT, "--out", "-", *on_spark, table=table), **settings).out)
    assert record["items"] == BEST
    assert record["engine"] == {"name": "spark", "version": metadata.version("pyspark")}
    missing = spawn(*library.release(*EXACT, *on_spark, table=library.folder / "none.parquet"), **settings)
    assert missing.code != 0
    assert "does not exist" in missing.err


@pytest.mark.slow
def test_only_the_engine_that_is_asked_for_is_loaded(library: Library) -> None:
    modules = loaded(*map(str, library.release(*EXACT, "--out", library.folder / "top.json")))
    assert "polars" in modules
    assert not {"pyspark", "py4j", "duckdb", "pyarrow"} & modules


@pytest.mark.further
def test_what_engines_do_not_read(command: Command, library: Library) -> None:
    csv = library.folder / "loans.csv"
    csv.write_text("reader,book\n1,Emma\n", encoding="utf-8")
    for engine in ("duckdb", "spark"):
        for table in (csv, "-"):
            result = command(*library.release(*EXACT, "--engine", engine, table=table))
            assert result.code != 0
            assert "reads .parquet files, since engines differ in how they read CSV" in " ".join(result.err.split())
    for wrong, message in [(("--engine", "pandas"), "polars"), (("--master", "local[2]"), "--engine spark")]:
        result = command(*library.release(*EXACT, *wrong))
        assert result.code != 0
        assert message in " ".join(result.err.split())


@pytest.mark.parametrize(
    ("package", "java", "advice"),
    [(False, True, 'pip install "opendp_topk[spark]"'), (True, False, "apt install default-jre-headless")],
)
def test_what_spark_lacks_is_named(
    command: Command, library: Library, monkeypatch: pytest.MonkeyPatch, package: bool, java: bool, advice: str
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", ModuleType("pyspark") if package else None)  # type: ignore[arg-type]
    monkeypatch.delenv("JAVA_HOME", raising=False)
    if not java:
        monkeypatch.setenv("PATH", str(library.folder))
    result = command(*library.release(*EXACT, "--engine", "spark"))
    assert result.code != 0
    assert advice in " ".join(result.err.split())
