"""The table of ``release``: how CSV is read, which rows, files and columns, and by which engine."""

import copy
import hashlib
import json
import os
import re
import stat
import sys
from importlib import metadata
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

import polars as pl
import pytest

from opendp_topk.apps.planning import releasing
from opendp_topk.apps.planning.sources import SourceTable
from opendp_topk.apps.planning.verification import AGREES, DISAGREES, verify_record
from opendp_topk.errors import TableError
from tests.concepts.sentinels import raises_exactly
from tests.tables.spark_session import LOOPBACK, require_spark

from .command import argv, record_of, spawn
from .conftest import CANDIDATES, LOANS, Command, Library
from .test_errors import loaded
from .test_show import RECORD, SCHEMA, page_of, saved, schema

EXACT = "--epsilon", 10**6
BEST = sorted(CANDIDATES, key=lambda book: -LOANS.get(book, 0))[:3]


def loans(library: Library) -> Any:
    import polars as pl

    return pl.read_parquet(library.table)


def as_csv(library: Library, separator: str, encoding: str) -> Path:
    file = library.folder / "loans.csv"
    text = "\n".join(separator.join(map(str, row)) for row in [("reader", "book"), *loans(library).rows()])
    file.write_bytes(text.replace("源氏物語", "Généalogie").encode(encoding))
    return file


@pytest.fixture
def partitioned(library: Library) -> Path:
    """The loans of three years, a folder each, of which the last two are wanted: 2023 has a book of its own on top."""
    import polars as pl

    table = loans(library)
    before = pl.DataFrame({"reader": range(500), "book": ["Faust"] * 500, "year": [2023] * 500})
    for year, rows in ((2023, before), (2024, table[:100]), (2025, table[100:])):
        folder = library.folder / "loans" / f"year={year}"
        folder.mkdir(parents=True)
        rows.with_columns(year=pl.lit(year, pl.Int64)).write_parquet(folder / "part-0.parquet")
    return library.folder / "loans"


@pytest.mark.further
def test_csv_with_another_separator_and_encoding(command: Command, library: Library) -> None:
    table = as_csv(library, ";", "latin-1")
    asked = library.release(*EXACT, "--out", "-", table=table)
    command(*asked).complains(1, "could not be read with the separator ',' and the encoding 'utf-8'", "--encoding")
    command(*asked, "--encoding", "latin-1").complains(
        1, "must have the column 'reader'", "the separator ','", "has 1."
    )
    done = command(*asked, "--encoding", "latin-1", "--separator", ";")
    assert record_of(done.out)["items"] == BEST
    for wrong, said in [(("--separator", "::"), "one ASCII character"), (("--encoding", "nil"), "a text encoding")]:
        command(*asked, *wrong).complains(2, said)
    command(*library.release(*EXACT, "--separator", ";")).complains(2, "require CSV")
    command(*library.release(*EXACT, "--types", "book=text")).complains(2, "require CSV")


@pytest.mark.further
@pytest.mark.quick(engine="polars")
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_only_rows_that_meet_a_condition(command: Command, library: Library, partitioned: Path, engine: str) -> None:
    pytest.importorskip(engine, reason=f"{engine} is not installed")
    asked = library.release(*EXACT, "--out", "-", "--engine", engine, table=partitioned)
    assert record_of(command(*asked).out)["items"][0] == "Faust"
    done = command(*asked, "--where", "year >= 2024 and not (book = 'Walden')")
    record = record_of(done.out)
    assert "源氏物語" in done.out
    assert record["items"] == [BEST[0], *BEST[2:], "源氏物語"]
    assert record["where"] == "year >= 2024 and not (book = 'Walden')"
    command(*asked, "--where", "years >= 2024").complains(1, "must have the column 'years', but has", "'year'")
    command(*asked, "--where", "year >= '2024'").complains(1, "contains integers")
    command(*asked, "--where", "year >= (select 1)").complains(2, "at character 9")


@pytest.mark.further
def test_conditions_on_numbers_in_csv(command: Command, library: Library) -> None:
    table = library.folder / "loans.csv"
    loans(library).with_row_index("loan").write_csv(table)
    asked = library.release(*EXACT, "--out", "-", table=table)
    command(*asked, "--where", "loan < 41").complains(1, "'loan', which contains text", "--types")
    command(*asked, "--where", "loan < '41'").complains(1, "by order with a constant that looks like", "--types")
    kept = record_of(command(*asked, "--types", "loan=integer", "--where", "loan < 41").out)
    assert kept["items"][0] == "Emma"
    rest = record_of(command(*asked, "--types", "loan=decimal", "--where", "loan >= 41").out)
    assert "Emma" not in rest["items"]


@pytest.mark.further
def test_the_list_of_files_is_kept_apart_and_attested(command: Command, library: Library, partitioned: Path) -> None:
    """The record is public, and sizes are exact functions of the rows: it holds a digest that tells nothing."""
    kept = library.folder / "files.jsonl"
    asked = library.release(*EXACT, "--out", "-", "--files", kept, table=partitioned)
    record = record_of(command(*asked).out)
    assert record["files"] == f"sha256:{hashlib.sha256(kept.read_bytes()).hexdigest()}"
    head, *lines = map(json.loads, kept.read_text("utf-8").splitlines())
    sizes = [(partitioned / f"year={year}" / "part-0.parquet").stat().st_size for year in (2023, 2024, 2025)]
    assert (head["files"], head["bytes"], len(head["key"])) == (3, sum(sizes), 64)
    names = [f"year={year}/part-0.parquet" for year in (2023, 2024, 2025)]
    assert [(line["name"], line["bytes"]) for line in lines] == list(zip(names, sizes, strict=True))
    numbers = set(re.findall(r"(?<![0-9a-z.])[0-9]+(?![0-9a-z.])", json.dumps(record)))  # not within a digest
    assert numbers.isdisjoint(map(str, [*sizes, sum(sizes)]))
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600 or os.name == "nt"
    command(*asked).complains(1, "exists already")
    kept.unlink()
    assert record_of(command(*asked).out)["files"] != record["files"]  # of the same files: nobody can try sizes


def test_no_list_is_left_where_nothing_is_released(command: Command, library: Library, tmp_path: Path) -> None:
    kept = tmp_path / "files.jsonl"
    command(*library.release(*EXACT, "--files", kept, "--candidates", library.folder / "no")).complains(1)
    ledger = library.folder / "budget.ledger"
    command("ledger", "create", ledger, "--dataset", "loans", "--epsilon", 1)
    command(*library.release("--epsilon", 2, "--files", kept, "--ledger", ledger)).complains(1)
    assert not kept.exists()
    command(*library.release(*EXACT, "--files", tmp_path / "no" / "where")).complains(1, "--files", "cannot be written")


@pytest.mark.further
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_files_that_change_while_they_are_counted(
    command: Command, library: Library, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is shown of what was drawn."""
    pytest.importorskip(engine, reason=f"{engine} is not installed")
    counted = releasing.draw_and_record

    def growing(*arguments: Any, **more: Any) -> Any:
        *others, recorded, planned = arguments

        def later(*drawn: Any) -> Any:
            with library.table.open("ab") as stream:
                stream.write(b"x")
            return recorded(*drawn)

        return counted(*others, later, planned, **more)

    monkeypatch.setattr(releasing, "draw_and_record", growing)
    out, kept = library.folder / "top.json", library.folder / "files.jsonl"
    asked = library.release(*EXACT, "--out", out, "--files", kept, "--engine", engine)
    command(*asked).complains(1, "were changed while they were read: nothing was released")
    assert not out.exists()
    assert not kept.exists()


def test_records_tell_how_the_table_was_read(command: Command, tmp_path: Path) -> None:
    told = RECORD | {"where": "year = 2024 \x1b[2J", "files": "sha256:" + "0" * 64}
    jsonschema = pytest.importorskip("jsonschema", reason="records are validated with jsonschema, of the extra test")
    schema = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    assert list(schema.iter_errors(told)) == list(schema.iter_errors(RECORD)) == []
    shown = command("show", saved(tmp_path, told))
    assert "year = 2024" in shown.flat
    assert "\x1b" not in shown.out
    assert "sha256:0000" in shown.flat
    assert "year = 2024" in page_of(command, tmp_path, told).text
    assert "sha256" not in command("show", saved(tmp_path, RECORD)).out
    for wrong in ({"where": 7}, {"files": None}):
        command("show", saved(tmp_path, RECORD | wrong)).complains(1, "is invalid: ")


def test_a_csv_file_that_fails_is_not_read_as_another_kind(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("u\n1\n")

    table: Any = SourceTable(None, SimpleNamespace(file_locations=[str(tmp_path / "a.csv")]))
    rows: Any = SimpleNamespace(read_snapshot=mock.Mock(side_effect=TableError("line 2 is torn")))
    raises_exactly(TableError, lambda: table.require_readable(rows, ["u"], paid=False), "line 2 is torn")


@pytest.mark.further
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes in folders")
def test_what_is_no_ordinary_file_is_told_at_once(command: Command, library: Library) -> None:
    os.mkfifo(library.folder / "pipe.csv")
    (library.folder / "folder.txt").mkdir()
    strange = {
        "pipe.csv": "is a pipe",
        "/dev/zero": "",
        "x" * 100_000 + ".csv": "longer than",
        "\ud800.csv": "character",
        "no.parquet": "does not exist",
    }
    out = "--out", library.folder / "top.json", "--force"
    (library.folder / "top.json").touch()
    for name, said in strange.items():
        path = os.path.join(library.folder, name)
        for arguments in (library.release(*EXACT, *out, table=path), library.release(*EXACT, *out, candidates=path)):
            command(*arguments).complains(1, said)
    command(*library.release(*EXACT, candidates=library.folder / "folder.txt")).complains(1, "is a folder")
    asked = ("plan", "top-k", "--k", 1, "--candidates", 9, "--epsilon", 1)
    command(*asked, "--like", library.folder / "pipe.csv").complains(1, "is a pipe")


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
            assert "requires .parquet files, because engines read CSV differently" in " ".join(result.err.split())
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


__all__ = ["schema"]
SURE = "--epsilon", 10**9
SOLD = {("North", "tea"): 9, ("North", "tea, green"): 7, ("North, old", "tea"): 5, ("South", "tea"): 3}


@pytest.fixture
def sales(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Buyers of products in regions, and a list of pairs with the columns the other way round."""
    monkeypatch.chdir(tmp_path)
    rows = [(buyer, *pair) for pair, number in SOLD.items() for buyer in range(number)]
    pl.DataFrame(rows, schema=["buyer", "region", "product"], orient="row").write_parquet("sales.parquet")
    listed = [(product, region) for region, product in [*SOLD, ("South", "salt")]]
    pl.DataFrame(listed, schema=["product", "region"], orient="row").write_csv("pairs.csv")
    return Path("sales.parquet")


def release(file: Path, *more: object, item: str = "region,product") -> tuple[object, ...]:
    kind = "top-k" if "--candidates" in more else "unknown-domain"
    return "release", kind, file, "--user", "buyer", "--item", item, "--k", 3, *more


@pytest.mark.further
def test_pairs_are_released_in_their_columns(command: Command, sales: Path, schema: Any, tmp_path: Path) -> None:
    best = [list(pair) for pair in SOLD][:3]
    asked = release(sales, "--candidates", "pairs.csv", *SURE, "--counts")
    record = record_of(command(*asked, "--out", "-").out)
    assert (record["items"], record["counts"]) == (best, [9, 7, 5])
    assert [error.message for error in schema.iter_errors(record)] == []
    assert {one.verdict for one in verify_record(record) if one.what == "items"} == {AGREES}
    done = command(*asked)
    assert done.out.split()[:5] == ["rank", "noisy", "count", "region", "product"]
    assert command(*asked, "--out", "top.csv").code == 0
    table = pl.read_csv("top.csv")
    assert table.select("region", "product").rows() == [tuple(one) for one in best]
    assert table.columns == ["rank", "region", "product", "count"]
    page = " ".join(page_of(command, tmp_path, record).text.split())
    assert '"North, old",tea' in page
    assert 'North,"tea, green"' in page
    assert "Each item is a combination of region,product." in page
    assert "region product" in command("show", "top.json").flat
    twice = [["North", "tea"], ["North", "tea"], ["South", "tea"]]
    for wrong in (twice, [["a", "b", "c"]] * 3, [["a", "b"], "a", "b"]):
        edited = copy.deepcopy(record) | {"items": wrong}
        assert {one.what: one.verdict for one in verify_record(edited)}["items"] == DISAGREES
    for wrong in ([["a", "b", "c"]] * 3, [["a", "b"], "a", "b"], [["a"]] * 3):
        Path("top.json").write_text(json.dumps(record | {"items": wrong}))
        command("show", "top.json").complains(1, "is invalid: ")


@pytest.mark.further
def test_pairs_that_nobody_lists(command: Command, sales: Path) -> None:
    record = record_of(command(*release(sales, "--epsilon", 10**5, "--delta", 1e-6, "--out", "-")).out)
    assert record["items"] == [list(pair) for pair in SOLD][:3]


def test_a_plan_takes_the_list(command: Command, sales: Path) -> None:
    told = command("plan", "top-k", "--candidates", "pairs.csv", "--k", 3, "--epsilon", 1)
    assert told.field("question") == "which 3 of 5 candidates do most users have?"


def test_a_column_with_a_comma_in_its_name_stands_in_quotes(command: Command, sales: Path) -> None:
    pl.read_parquet(sales).rename({"product": "product, sold"}).write_parquet("named.parquet")
    Path("list.txt").write_text("tea\nsalt\ntea, green\n")
    asked = release(Path("named.parquet"), "--candidates", "list.txt", *SURE, "--out", "-", item='"product, sold"')
    assert record_of(command(*asked).out)["items"] == ["tea", "tea, green", "salt"]


@pytest.mark.further
def test_numbers_of_the_list_are_those_of_the_table_however_they_are_written(command: Command, sales: Path) -> None:
    table = pl.read_parquet(sales).with_columns(pl.lit(7).alias("shop"))
    table.write_parquet("shops.parquet")
    Path("shops.csv").write_text('product,shop\ntea,07\n"tea, green", +7 \ntea,8\n')
    asked = *argv("release top-k shops.parquet --user buyer --item shop,product --k 2 --out -"), *SURE
    record = record_of(command(*asked, "--candidates", "shops.csv").out)
    assert record["items"] == [["7", "tea"], ["7", "tea, green"]]
    Path("twice.csv").write_text("product,shop\ntea,07\ntea,7\nsalt,1\n")
    command(*asked, "--candidates", "twice.csv").complains(1, "the candidates must be distinct")
    Path("names.csv").write_text("product,shop\ntea,7\ntea,north\nsalt,1\n")
    command(*asked, "--candidates", "names.csv").complains(1, "as in column 'shop'", "candidate 2 is not")
