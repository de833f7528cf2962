"""Tables from files: what is read, what is refused, and that no message repeats a file's contents."""

import io
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from opendp_topk.errors import DataError, DataTypeError, MissingExtraError, ParameterTypeError, TableError
from opendp_topk.spaces.domains import FrameDomain
from opendp_topk.spaces.metrics import UserDistance
from opendp_topk.tables.files import Dialect, open_table, read_table, require_column_names
from opendp_topk.transformations.count_by_item import make_count_by_item
from tests.concepts.sentinels import SENTINEL_INT, SENTINEL_TEXT, raises_exactly

pl = pytest.importorskip("polars", reason="read_table requires polars")

SPACE = FrameDomain("member", "work"), UserDistance()


def count(path: Path, candidates: list[Any]) -> list[int]:
    scores: list[int] = make_count_by_item(*SPACE, candidates=candidates)(read_table(path)).tolist()
    return scores


def csv(folder: Path, text: str, name: str = "loans.csv", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("name", ["loans.parquet", "LOANS.PARQUET", "a b.x.Parquet", "[loans]*.parquet", "ü.parquet"])
def test_parquet_keeps_its_types(tmp_path: Path, name: str) -> None:
    table = pl.DataFrame({"member": ["a", "a", "b", None], "seen": [0.5] * 4, "work": [7, 7, 7, 8]})
    table.write_parquet(tmp_path / name)
    assert count(tmp_path / name, [8, 7]) == [0, 2]
    read = read_table(str(tmp_path / name))
    assert isinstance(read, pl.LazyFrame)
    assert read.collect().equals(table)


@pytest.mark.parametrize("name", ["loans.csv", "LOANS.CSV", "loans*.csv"])
def test_csv_is_read_as_strings(tmp_path: Path, name: str) -> None:
    path = csv(tmp_path, "member,work\n7,1\n007,1\n7,01\n7,2.0\n,1\n8,\n", name)
    assert set(read_table(path).collect_schema().dtypes()) == {pl.String}
    assert count(path, ["1", "01", "2.0", "2"]) == [2, 1, 1, 0]


FORMS = {
    "crlf": ("member,work\r\nu,a\r\nv,a\r\n", [2, 0]),
    "quotes": ('"member","work"\n"u","a"\n"v","a"\n', [2, 0]),
    "bom": ("\ufeffmember,work\nu,a\nv,a\n", [2, 0]),
    "order": ("seen,work,member\n1,a,u\n1,a,v", [2, 0]),
    "header alone": ("member,work\n", [0, 0]),
    "late text": ("member,work\n" + "".join(f"{n},5\n" for n in range(5000)) + SENTINEL_TEXT + ",a\n", [1, 0]),
}


@pytest.mark.quick
@pytest.mark.parametrize("form", FORMS)
def test_csv_in_its_common_forms(tmp_path: Path, form: str) -> None:
    text, expected = FORMS[form]
    assert count(csv(tmp_path, text), ["a", "b"]) == expected


def test_integer_candidates_on_csv_are_told_to_be_strings(tmp_path: Path) -> None:
    path = csv(tmp_path, f"member,work\n{SENTINEL_INT},{SENTINEL_INT}\n")
    raises_exactly(DataTypeError, lambda: count(path, [1, 2]), "'work'", "candidates as strings")


@pytest.mark.parametrize("path", [None, 7, b"loans.csv", ["loans.csv"], pl.DataFrame(), True], ids=repr)
def test_a_path_is_a_string_or_a_path(path: Any) -> None:
    raises_exactly(ParameterTypeError, lambda: read_table(path), "path must be")


@pytest.mark.parametrize(
    "name", ["loans", "loans.txt", "loans.gz", "loans.csv.bz2", "parquet", ".csv", "loans.parquet.bak"]
)
def test_other_endings_are_refused(tmp_path: Path, name: str) -> None:
    said = "must end in .parquet, .csv", "Rename text files", "polars.read_excel(path)"
    raises_exactly(TableError, lambda: read_table(tmp_path / name), *said)


def test_csv_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"member,work\nu,a\nv,a\n")))
    assert make_count_by_item(*SPACE, candidates=["a", "b"])(read_table("-")).tolist() == [2, 0]
    raises_exactly(TableError, lambda: read_table("-"), "standard input, which is empty")


@pytest.mark.parametrize("header", ["member,work,member", 'work,member,"work"', "member,work,x,x", "member,work,,"])
def test_two_columns_of_one_name_are_refused(tmp_path: Path, header: str) -> None:
    """Which of them is meant is not for a back end to choose."""
    row = ",".join(["1"] * (header.count(",") + 1))
    path = csv(tmp_path, f"{header}\n{row}\n")
    raises_exactly(TableError, lambda: read_table(path), "two columns have the same name: rename one")


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_missing_and_empty_files_are_refused(tmp_path: Path, suffix: str) -> None:
    missing, empty, ghost = (tmp_path / f"{name}{suffix}" for name in ("missing", "empty", "gh\0st"))
    empty.touch()
    for path, reason in [
        (missing, "does not exist"),
        (empty, "is empty"),
        (ghost, "character that is not allowed in file names"),
    ]:
        raises_exactly(TableError, lambda path=path: read_table(path), "readable file", reason)  # type: ignore[misc]


def test_a_file_without_permission_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(13, SENTINEL_TEXT)

    path = csv(tmp_path, "member,work\n")
    monkeypatch.setattr(os, "open", refuse)
    raises_exactly(TableError, lambda: read_table(path), "permission denied")


def test_no_parquet_inside_is_refused_at_once(tmp_path: Path) -> None:
    path = csv(tmp_path, f"member,work\n{SENTINEL_TEXT},{SENTINEL_INT}\n" * 50, "loans.parquet")
    raises_exactly(TableError, lambda: read_table(path), "could not be read")
    pl.DataFrame({"member": [SENTINEL_INT] * 100, "work": [SENTINEL_TEXT] * 100}).write_parquet(path)
    path.write_bytes(path.read_bytes()[:-20])
    raises_exactly(TableError, lambda: read_table(path), "could not be read")


def test_damaged_pages_are_refused_on_the_call(tmp_path: Path) -> None:
    path = tmp_path / "loans.parquet"
    rows = {"member": [f"{SENTINEL_TEXT}{i}" for i in range(2000)], "work": [f"w{i}" for i in range(2000)]}
    pl.DataFrame(rows).write_parquet(path, compression="zstd")
    data = bytearray(path.read_bytes())
    data[4 : len(data) // 2] = bytes(len(data) // 2 - 4)
    path.write_bytes(bytes(data))
    table = read_table(path)
    counting = make_count_by_item(*SPACE, candidates=["w1"])
    raises_exactly(TableError, lambda: counting(table), "its back end failed")


def test_a_file_that_says_it_is_sorted_is_not_believed(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow writes such marks")
    table = pl.DataFrame({"member": [7, 7, 1, 7, 1], "work": [1, 2, 9, 4, 5], "seen": [1.0] * 5})
    pq.write_table(table.to_arrow(), tmp_path / "a.parquet", sorting_columns=[pq.SortingColumn(at) for at in (1, 0)])
    read = read_table(tmp_path / "a.parquet")
    assert read.filter(pl.col("work") >= 4).collect()["work"].to_list() == [9, 4, 5]
    assert read.filter(pl.col("work") >= 4).select(pl.len()).collect().item() == 3
    assert not any(any(one.flags.values()) for one in read.collect())
    kept = read.filter(pl.col("work") > 0).select("member").explain()
    assert "2/3" in kept  # columns that nobody asks for are not read


def test_a_file_that_vanishes_is_refused_on_the_call(tmp_path: Path) -> None:
    path = tmp_path / "loans.parquet"
    pl.DataFrame({"member": [SENTINEL_INT], "work": [1]}).write_parquet(path)
    table = read_table(path)
    path.unlink()
    raises_exactly(TableError, lambda: make_count_by_item(*SPACE, candidates=[1])(table), "its back end failed")


def test_csv_without_a_header_does_not_show_its_first_row(tmp_path: Path) -> None:
    path = csv(tmp_path, f"{SENTINEL_INT},{SENTINEL_TEXT}\n1,2\n")
    raises_exactly(DataError, lambda: count(path, ["a"]), "'member'")


def test_without_polars_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = csv(tmp_path, "member,work\n")
    monkeypatch.setitem(sys.modules, "polars", None)
    raises_exactly(MissingExtraError, lambda: read_table(path), "opendp_topk[tables]")


# Folders and patterns of parquet files: what is read, what is left out, and what is refused.


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
    said = "values in folder names are not read"
    raises_exactly(DataError, lambda: require_column_names(table.columns, ["work"], None, table.files), "'work'", said)
    with pytest.raises(DataError, match=r"must have the column 'works', but has the column 'member'$"):
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
