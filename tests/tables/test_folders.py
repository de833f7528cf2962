"""Folders and patterns of parquet files: what is read, what is left out, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from opendp_topk.errors import DataError, TableError
from opendp_topk.tables.files import Dialect, open_table, read_table, require_column_names
from tests.concepts.sentinels import SENTINEL_INT, SENTINEL_TEXT, raises_exactly

from .test_files import count

pl = pytest.importorskip("polars", reason="read_table needs polars")


def part(path: Path, users: list[Any], items: list[Any], **kinds: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    schema = {"member": kinds.get("member", pl.Int64), "work": kinds.get("work", pl.String)}
    pl.DataFrame({"member": users, "work": items}, schema=schema).write_parquet(path)


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """A folder as Spark writes one: two parts, an empty part, a part further down, and files beside."""
    folder = tmp_path / "visits.parquet"
    part(folder / "part-0.parquet", [1, 1, 2], ["a", "b", "a"])
    part(folder / "part-1.PARQUET", [1, 3], ["a", "a"])
    part(folder / "part-2.parquet", [], [])
    part(folder / "day=1" / "part-0.parquet", [4], ["b"])
    part(folder / "_delta" / "part-9.parquet", [9], ["a"])
    part(folder / ".part-9.parquet", [9], ["a"])
    (folder / "_SUCCESS").touch()
    return folder


def test_a_folder_is_all_of_its_parquet_files(visits: Path) -> None:
    assert count(visits, ["a", "b"]) == [3, 2]
    assert read_table(visits).collect_schema().names() == ["member", "work"]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("part-[01].*", [3, 1]),
        ("*/*.parquet", [0, 1]),
        ("_*/*.parquet", [1, 0]),
        ("*", [3, 2]),
        ("day=*", [0, 1]),
        ("**/*.parquet", [2, 2]),
        ("**", [3, 2]),
        ("*0*", [2, 1]),
    ],
)
def test_a_pattern_is_all_parquet_files_that_it_fits(visits: Path, pattern: str, found: list[int]) -> None:
    assert count(visits / pattern, ["a", "b"]) == found


def test_a_file_whose_name_is_a_pattern_is_that_file(tmp_path: Path) -> None:
    part(tmp_path / "[v]*.parquet", [1], ["a"])
    part(tmp_path / "v1.parquet", [2, 3], ["a", "a"])
    assert count(tmp_path / "[v]*.parquet", ["a"]) == [1]


@pytest.mark.parametrize("name", ["none", "none.parquet", "none.csv", "none/*.parquet", "*.parquet"])
def test_no_parquet_file_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name.split("/")[0].replace("*", "no")).mkdir()
    raises_exactly(TableError, lambda: read_table(tmp_path / name), "there are none in")


def test_an_empty_file_among_others_is_refused(visits: Path) -> None:
    (visits / "part-3.parquet").touch()
    raises_exactly(TableError, lambda: read_table(visits), "is empty")


def test_parts_of_different_types_are_refused(tmp_path: Path) -> None:
    part(tmp_path / "a.parquet", [1], ["a"])
    part(tmp_path / "b.parquet", [SENTINEL_TEXT], ["a"], member=pl.String)
    raises_exactly(TableError, lambda: read_table(tmp_path), "same columns and types", "differ in the column 'member'")


def test_a_column_that_names_of_folders_hold_is_not_read(tmp_path: Path) -> None:
    pl.DataFrame({"member": [SENTINEL_INT]}).write_parquet(_made(tmp_path / "work=a") / "x.parquet")
    raises_exactly(DataError, lambda: count(tmp_path, ["a"]), "'work'")
    table = open_table(tmp_path, Dialect())
    said = "names of folders alone is not read"
    raises_exactly(DataError, lambda: require_column_names(table.columns, ["work"], None, table.files), "'work'", said)
    with pytest.raises(DataError, match=r"must have the column 'works', and has the column 'member'$"):
        require_column_names(table.columns, ["works"], None, table.files)


def test_the_damaged_one_of_many_is_named(tmp_path: Path) -> None:
    for name in ("a.parquet", "b.parquet"):
        part(tmp_path / name, [1], ["a"])
    for content in (b"PAR1" + bytes(20), (tmp_path / "b.parquet").read_bytes()[:-9]):
        (tmp_path / "b.parquet").write_bytes(content)
        raises_exactly(TableError, lambda: read_table(tmp_path), "b.parquet' could not be read")


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
