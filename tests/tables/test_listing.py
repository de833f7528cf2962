"""Which files a table is: one list for every engine, whatever names, links and folders there are."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opendp_topk.apps.planning.releasing import TableOptions
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


def _partitions() -> dict[str, Any]:
    places = ("day=1", "_day=2", "_temporary", ".hidden", "day=3/_day=4")
    return {f"{place}/x.parquet": number for number, place in enumerate(places)} | {"_x.parquet": 9, ".x.parquet": 9}


ONE: dict[str, Any] = {"x.parquet": 1}
LINKED: dict[str, Any] = {"../elsewhere/deep/x.parquet": 1, "y.parquet": 2, "linked": "../elsewhere"}
CIRCLE: dict[str, Any] = {"below/x.parquet": 1, "below/up": ".."}
# By its name a table: the users of its files, what makes one otherwise, or to which place it is a link; and whose rows
# are read, or what the refusal says; and the pattern or file that is read, if it is not the folder.
CASES: dict[str, tuple[dict[str, Any], set[int] | str, str]] = {
    "beside_its_matches": ({"p0.parquet": 2, "p[0].parquet": 1}, {1}, "p[0].parquet"),
    "of_all_names": ({name: number for number, name in enumerate(NAMES)}, set(range(len(NAMES))), ""),
    "in_capitals": ({"P1.PARQUET": 1, "p2.parquet": 2, "notes.txt": Path.touch, "_SUCCESS": Path.touch}, {1, 2}, ""),
    "in_partitions": (_partitions(), {0, 1, 4}, ""),
    "by_a_pattern": (_partitions(), {0, 1, 4}, "**/x.*"),
    "below_links": (LINKED, {1, 2}, ""),
    "linked_twice": (LINKED | {"again": "../elsewhere"}, "leads to one of them", ""),
    "in_a_circle": (CIRCLE, "leads to one of them", ""),
    "in_a_circle_by_a_pattern": (CIRCLE, "leads to one of them", "**/x.parquet"),
    "one_file_of_two_names": (ONE | {"y.parquet": "x.parquet"}, "each file once", ""),
    "one_file_by_a_hard_link": (
        ONE | {"y.parquet": lambda path: os.link(path.with_name("x.parquet"), path)},
        "each file once",
        "",
    ),
    "with_an_empty_file": (ONE | {"y.parquet": Path.touch}, "is empty", ""),
    "without_the_item": (
        ONE | {"y.parquet": lambda path: part(path, 2, item="film")},
        "differ in the columns 'book', 'film'",
        "",
    ),
    "of_two_types": (
        ONE | {"y.parquet": lambda path: part(path, 2, kind=pl.Int32)},
        "differ in the column 'reader'",
        "",
    ),
    "with_a_pipe": (ONE | {"y.parquet": os.mkfifo}, "is a pipe", ""),
    "of_nothing": ({"day=1": lambda path: path.mkdir(parents=True)}, "there are none in", ""),
}


def made(case: str, folder: Path) -> Path:
    files, _, name = CASES[case]
    for file, content in files.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.symlink_to((path.parent / content).resolve())
        elif isinstance(content, int):
            part(path, content)
        else:
            content(path)
    return folder / name


def readers(engine: str, path: object) -> set[int]:
    """The users in the table as this engine reads it."""
    reader = engines.TableReader.from_options(TableOptions(engine=engine))
    with reader.open_source(str(path), ("reader", "book")) as table:
        frame = table.frame
        if engine == "polars":
            return set(frame.collect()["reader"].to_list())
        rows = frame.fetchall() if engine == "duckdb" else frame.collect()
        return {row[0] for row in rows}


def holds(case: str, engine: str, folder: Path, of: str = "{}") -> None:
    path, found = of.format(made(case, folder)), CASES[case][1]
    if isinstance(found, str):
        said = found.partition(" in the")[0] if engine == "spark" else found
        raises_exactly(TableError, lambda: readers(engine, path), said)
    else:
        assert readers(engine, path) == found


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("case", CASES)
def test_every_engine_reads_what_was_listed(case: str, engine: str, tmp_path: Path) -> None:
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
@pytest.mark.parametrize("case", [*CASES][:6])  # the others never reach it
def test_spark_reads_what_was_listed(case: str, tmp_path: Path) -> None:
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
@pytest.mark.parametrize("case", [[*CASES][at] for at in (1, 3, 9, 10, 11, 12)])
def test_addresses_are_listed_by_the_same_rule(case: str, tmp_path: Path) -> None:
    """Hadoop lists them, here those of this machine; of files that differ it does not say in which column."""
    holds(case, "spark", tmp_path / "table", of="file://{}")


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
def test_columns_an_engine_confuses_are_refused(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
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
