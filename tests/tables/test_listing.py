"""Which files a table is: one list for every engine, whatever names, links and folders there are."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from opendp_topk.errors import MissingExtraError, TableError
from opendp_topk.tables.listing import list_files

from ..concepts.sentinels import raises_exactly
from .spark_session import Shared

pl = pytest.importorskip("polars", reason="tables are read with polars")
engines = pytest.importorskip("opendp_topk.apps.planning.sources", reason="engines need the extra cli")

NAMES = (
    *("p[0].parquet", "x*y.parquet", "q?.parquet", "a{b,c}.parquet", "b\\n.parquet", "100%25.parquet", "s p.parquet"),
    *("#h.parquet", "a+b.parquet", "ü.parquet", "~t.parquet", "$HOME.parquet", "n'm.parquet"),
)


def part(path: Path, *users: int, item: str = "book", kind: Any = pl.Int64) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pl.DataFrame({"reader": pl.Series(users, dtype=kind), item: ["Emma"] * len(users)})
    with path.open("wb") as stream:
        table.write_parquet(stream)
    return path


def beside_its_matches(folder: Path) -> Path:
    part(folder / "p0.parquet", 2, 3)
    return part(folder / "p[0].parquet", 1)


def of_all_names(folder: Path) -> Path:
    for number, name in enumerate(NAMES):
        part(folder / name, number)
    return folder


def in_capitals(folder: Path) -> Path:
    part(folder / "P1.PARQUET", 1)
    part(folder / "p2.parquet", 2)
    (folder / "notes.txt").write_text("no table")
    (folder / "_SUCCESS").touch()
    return folder


def in_partitions(folder: Path) -> Path:
    for number, name in enumerate(("day=1", "_day=2", "_temporary", ".hidden", "day=3/_day=4")):
        part(folder / name / "x.parquet", number)
    part(folder / "_x.parquet", 9)
    part(folder / ".x.parquet", 9)
    return folder


def by_a_pattern(folder: Path) -> Path:
    in_partitions(folder)
    return folder / "**" / "x.*"


def below_links(folder: Path) -> Path:
    part(folder.parent / "elsewhere" / "deep" / "x.parquet", 1)
    part(folder / "y.parquet", 2)
    (folder / "linked").symlink_to(folder.parent / "elsewhere", target_is_directory=True)
    return folder


def linked_twice(folder: Path) -> Path:
    below_links(folder)
    (folder / "again").symlink_to(folder.parent / "elsewhere", target_is_directory=True)
    return folder


def in_a_circle(folder: Path) -> Path:
    part(folder / "below" / "x.parquet", 1)
    (folder / "below" / "up").symlink_to(folder, target_is_directory=True)
    return folder


def in_a_circle_by_a_pattern(folder: Path) -> Path:
    in_a_circle(folder)
    return folder / "**" / "x.parquet"


def one_file_of_two_names(folder: Path) -> Path:
    part(folder / "x.parquet", 1)
    (folder / "y.parquet").symlink_to(folder / "x.parquet")
    return folder


def one_file_by_a_hard_link(folder: Path) -> Path:
    os.link(part(folder / "x.parquet", 1), folder / "y.parquet")
    return folder


def with_an_empty_file(folder: Path) -> Path:
    part(folder / "x.parquet", 1)
    (folder / "y.parquet").touch()
    return folder


def without_the_item(folder: Path) -> Path:
    part(folder / "x.parquet", 1)
    part(folder / "y.parquet", 2, item="film")
    return folder


def of_two_types(folder: Path) -> Path:
    part(folder / "x.parquet", 1)
    part(folder / "y.parquet", 2, kind=pl.Int32)
    return folder


def with_a_pipe(folder: Path) -> Path:
    part(folder / "x.parquet", 1)
    os.mkfifo(folder / "y.parquet")
    return folder


def of_nothing(folder: Path) -> Path:
    (folder / "day=1").mkdir(parents=True)
    return folder


@dataclass(frozen=True)
class Case:
    """A table, and whose rows are read, or what is said."""

    made: Callable[[Path], Path]
    found: set[int] | str


CASES = (
    Case(beside_its_matches, {1}),
    Case(of_all_names, set(range(len(NAMES)))),
    Case(in_capitals, {1, 2}),
    Case(in_partitions, {0, 1, 4}),
    Case(by_a_pattern, {0, 1, 4}),
    Case(below_links, {1, 2}),
    Case(linked_twice, "leads to one of them"),
    Case(in_a_circle, "leads to one of them"),
    Case(in_a_circle_by_a_pattern, "leads to one of them"),
    Case(one_file_of_two_names, "each file once"),
    Case(one_file_by_a_hard_link, "each file once"),
    Case(with_an_empty_file, "is empty"),
    Case(without_the_item, "differ in the columns 'book', 'film'"),
    Case(of_two_types, "differ in the column 'reader'"),
    Case(with_a_pipe, "is a pipe"),
    Case(of_nothing, "there are none in"),
)


def readers(engine: str, path: object) -> set[int]:
    """The users in the table as this engine reads it."""
    reading = engines.TableReadOptions.from_options(",", "utf-8", None)
    with engines.Engine(engine).open_engine_table(str(path), reading, ("reader", "book")) as table:
        frame = table.frame
        if engine == "polars":
            return set(frame.collect()["reader"].to_list())
        rows = frame.fetchall() if engine == "duckdb" else frame.collect()
        return {row[0] for row in rows}


def holds(case: Case, engine: str, folder: Path) -> None:
    path = case.made(folder)
    if isinstance(case.found, str):
        raises_exactly(TableError, lambda: readers(engine, path), case.found)
    else:
        assert readers(engine, path) == case.found


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.made.__name__)
def test_every_engine_reads_what_was_listed(case: Case, engine: str, tmp_path: Path) -> None:
    pytest.importorskip(engine, reason=f"{engine} is not installed")
    holds(case, engine, tmp_path / "table")


@pytest.fixture(scope="module")
def spark(shared_spark: Shared) -> Any:
    return shared_spark.get()


@pytest.fixture
def on_spark(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "_spark_session", lambda _: spark)
    monkeypatch.setattr(type(spark), "stop", lambda _: None)


@pytest.mark.slow
@pytest.mark.usefixtures("on_spark")
@pytest.mark.parametrize("case", CASES[:6], ids=lambda case: case.made.__name__)  # the others never reach it
def test_spark_reads_what_was_listed(case: Case, tmp_path: Path) -> None:
    holds(case, "spark", tmp_path / "table")


@pytest.mark.slow
@pytest.mark.usefixtures("on_spark")
def test_what_spark_leaves_out_is_refused(tmp_path: Path) -> None:
    """It reads no file whose name begins with _, and says so only where there is no other."""
    part(tmp_path / "_x.parquet", 1)
    part(tmp_path / "x.parquet", 2)
    pattern = tmp_path / "_*"
    raises_exactly(TableError, lambda: readers("spark", pattern))
    assert readers("polars", pattern) == {1}
    names = [str(tmp_path / "x.parquet"), str(tmp_path / "_x.parquet")]
    raises_exactly(TableError, lambda: engines._require_same(names[:1], names, "Spark"), "selects other files")


@pytest.mark.slow
@pytest.mark.usefixtures("on_spark")
@pytest.mark.parametrize("case", [CASES[at] for at in (1, 3, 9, 10, 11, 12)], ids=lambda case: case.made.__name__)
def test_addresses_are_listed_by_the_same_rule(case: Case, tmp_path: Path) -> None:
    """Hadoop lists them, here those of this machine; of files that differ it does not say in which column."""
    path = f"file://{case.made(tmp_path / 'table')}"
    if isinstance(case.found, str):
        raises_exactly(TableError, lambda: readers("spark", path), case.found.partition(" in the")[0])
    else:
        assert readers("spark", path) == case.found


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_an_address_is_for_spark(engine: str) -> None:
    pytest.importorskip(engine, reason=f"{engine} is not installed")
    for address in ("s3://bucket/visits", "hdfs://store/visits.parquet", "file:///visits.csv"):
        raises_exactly(TableError, lambda address=address: readers(engine, address), "is an address")  # type: ignore[misc]


def test_a_folder_that_looks_like_an_address_is_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    part(Path("s3:/bucket/x.parquet"), 7)
    assert readers("polars", "s3://bucket") == {7}


def test_folders_whose_names_are_patterns_are_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part(tmp_path / "[a]" / "x1.parquet", 1)
    part(tmp_path / "a" / "x1.parquet", 2)
    assert readers("polars", tmp_path / "[a]" / "x*") == {1}
    monkeypatch.chdir(tmp_path / "[a]")
    assert readers("polars", "x?.parquet") == {1}
    assert readers("polars", "../a/x?.parquet") == {2}


@pytest.mark.parametrize("engine", ["duckdb", pytest.param("spark", marks=pytest.mark.slow)])
def test_columns_that_an_engine_does_not_tell_apart_are_refused(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    pytest.importorskip("pyspark" if engine == "spark" else engine, reason=f"{engine} is not installed")
    if engine == "spark":
        request.getfixturevalue("on_spark")
    pl.DataFrame({"reader": [1], "book": ["Emma"], "READER": [2]}).write_parquet(tmp_path / "x.parquet")
    assert readers("polars", tmp_path) == {1}
    raises_exactly(TableError, lambda: readers(engine, tmp_path))


def test_a_folder_that_cannot_be_read_is_not_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part(tmp_path / "x.parquet", 1)
    part(tmp_path / "closed" / "x.parquet", 2)
    scan = os.scandir

    def refusing(place: str) -> Any:
        if str(place).endswith("closed"):
            raise PermissionError(13, "closed")
        return scan(place)

    monkeypatch.setattr(os, "scandir", refusing)
    for path in (tmp_path, tmp_path / "*" / "*", tmp_path / "**"):
        raises_exactly(TableError, lambda path=path: readers("polars", path), "cannot")  # type: ignore[misc]


def test_names_are_below_the_path_and_in_order(tmp_path: Path) -> None:
    for name in ("b/y.parquet", "a/z.parquet", "x.parquet"):
        part(tmp_path / name, 1)
    assert [file.name for file in list_files(tmp_path).files] == ["a/z.parquet", "b/y.parquet", "x.parquet"]
    assert [file.name for file in list_files(tmp_path / "*" / "*.parquet").files] == ["a/z.parquet", "b/y.parquet"]
    assert [file.name for file in list_files(tmp_path / "x.parquet").files] == ["x.parquet"]


def _grown(path: Path) -> None:
    with path.open("ab") as stream:
        stream.write(b"x")


def _rewritten(path: Path) -> None:
    content, before = path.read_bytes(), path.stat()
    path.write_bytes(content[::-1])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))


def _exchanged(path: Path) -> None:
    """Of the same size and time."""
    other, before = path.with_name("other"), path.stat()
    other.write_bytes(path.read_bytes()[::-1])
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)


@pytest.mark.parametrize("change", [_grown, _rewritten, _exchanged, Path.unlink])
def test_files_that_change_are_noticed(tmp_path: Path, change: Callable[[Path], None]) -> None:
    part(tmp_path / "x.parquet", 1)
    found = list_files(part(tmp_path / "y.parquet", 2).parent)
    found.require_unchanged()
    change(tmp_path / "y.parquet")
    raises_exactly(TableError, found.require_unchanged, "were changed while they were read", "nothing was released")


def test_without_polars_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("duckdb", reason="duckdb is not installed")
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    path = tmp_path / "x.parquet"
    path.write_bytes(b"x")
    raises_exactly(MissingExtraError, lambda: readers("duckdb", path), "opendp_topk[tables]")
