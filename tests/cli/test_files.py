"""Lists of candidates and the counts of --like from files of every kind, and what is refused without a word of it."""

from pathlib import Path

import pytest

from opendp_topk.apps.cli.files import read_public_counts
from opendp_topk.apps.planning.files import items_as_integers, read_candidates
from opendp_topk.errors import ParameterError, TableError

from ..concepts.sentinels import SENTINEL_TEXT, raises_exactly

pl = pytest.importorskip("polars", reason="files are read by polars, of the extra tables")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"Emma\nWalden\n", ("Emma", "Walden")),
        (b"Emma\r\n\r\nWalden", ("Emma", "Walden")),
        (b"\xef\xbb\xbfEmma\n \t \n", ("Emma",)),
        (b" a \n b\n", (" a ", " b")),
        ("源氏\u2028物語\x0bx\n".encode(), ("源氏\u2028物語\x0bx",)),
        (b"# not a comment\n[bold]\n", ("# not a comment", "[bold]")),
        (b"007\n7\n", ("007", "7")),
    ],
)
def test_text_is_one_item_a_line(tmp_path: Path, content: bytes, expected: tuple[str, ...]) -> None:
    file = tmp_path / "list"
    file.write_bytes(content)
    assert read_candidates(file) == expected


def test_json_parquet_and_csv(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('["Emma", "a\\nb"]')
    (tmp_path / "b.JSON").write_text("[3, 1, 2]")
    (tmp_path / "c.csv").write_text("book\nEmma\n007\n")
    pl.DataFrame({"book": [5, None, 4]}).write_parquet(tmp_path / "d.parquet")
    assert read_candidates(tmp_path / "a.json") == ("Emma", "a\nb")
    assert read_candidates(tmp_path / "b.JSON") == (3, 1, 2)
    assert read_candidates(tmp_path / "c.csv") == ("Emma", "007")
    assert read_candidates(tmp_path / "d.parquet") == (5, 4)


@pytest.mark.parametrize(
    ("name", "content", "error", "fragment"),
    [
        ("empty.txt", b"", TableError, "at least one candidate"),
        ("blank.txt", b"\n \r\n", TableError, "at least one candidate"),
        ("twice.txt", f"{SENTINEL_TEXT}\na\n{SENTINEL_TEXT}\n".encode(), TableError, "remove the repeated"),
        ("latin.txt", b"caf\xe9\n", TableError, "must be UTF-8 text"),
        ("a.json", b'{"a": 1}', TableError, "one JSON list of strings or of integers"),
        ("b.json", b'["a", 1.5]', TableError, "one JSON list"),
        ("c.json", b"[true]", TableError, "one JSON list"),
        ("d.json", f'["{SENTINEL_TEXT}"'.encode(), TableError, "one JSON list"),
        ("e.json", b"[" * 100_000, TableError, "one JSON list"),
        ("f.json", b"[]", TableError, "at least one candidate"),
        ("two.csv", b"a,b\n1,2\n", TableError, "one column"),
        ("none.csv", b"a\n", TableError, "at least one candidate"),
        ("bad.csv", f"a\n{SENTINEL_TEXT},2,3\n".encode(), TableError, "could not be read"),
    ],
)
def test_a_list_that_is_none(tmp_path: Path, name: str, content: bytes, error: type[Exception], fragment: str) -> None:
    (tmp_path / name).write_bytes(content)
    raises_exactly(error, lambda: read_candidates(tmp_path / name), fragment)


def test_a_list_that_cannot_be_opened(tmp_path: Path) -> None:
    raises_exactly(TableError, lambda: read_candidates(tmp_path / "x"), "does not exist")
    raises_exactly(TableError, lambda: read_candidates(tmp_path), "is a folder")
    raises_exactly(TableError, lambda: read_candidates("a\0b"), "character that is not allowed")
    raises_exactly(TableError, lambda: read_candidates(tmp_path / "x.csv"), "does not exist")


def test_candidates_of_a_table_of_integers() -> None:
    assert items_as_integers(("7", " -3 ", "+12", 4), "book") == (7, -3, 12, 4)
    for wrong in (SENTINEL_TEXT, "1_000", "1.0", "", "٣", "1e3", "9" * 5000):
        raises_exactly(TableError, lambda wrong=wrong: items_as_integers(("1", wrong), "book"), "candidate 2 is not")
    raises_exactly(TableError, lambda: items_as_integers(("7", "007"), "book"), "remove the repeated")


SECRET = "zyxwvut-sentinel"


def test_csv_and_parquet_give_the_same_counts(tmp_path: Path) -> None:
    listed, frame = tmp_path / "a.csv", tmp_path / "a.parquet"
    listed.write_text("item,count\na, 7\nb,0 \nc,+31\n")
    pl.DataFrame({"count": [7, 0, 31]}, schema={"count": pl.UInt8}).write_parquet(frame)
    for path in (listed, frame):
        counts = read_public_counts(path, 5)
        assert counts.tolist() == [7, 0, 31, 0, 0]
        assert counts.dtype == "int64"
    assert read_public_counts(frame, 3).tolist() == [7, 0, 31]


@pytest.mark.parametrize(
    "cell", [SECRET, "918273.5", "-918273", "", "9182730000000000000000", "nan", "9e3"], ids=lambda cell: cell or "null"
)
def test_what_is_no_count_is_refused(tmp_path: Path, cell: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(f"item,count\na,3\nb,{cell}\n")
    with pytest.raises(TableError, match="must contain an integer >= 0 in every row") as caught:
        read_public_counts(path, 9)
    assert SECRET not in str(caught.value)
    assert "918273" not in str(caught.value)


@pytest.mark.parametrize("values", [[1.0, 2.0], [True, False], [[1], [2]], [1, None], [2**63, 1], [-1, 2]], ids=str)
def test_a_column_of_another_type_is_refused(tmp_path: Path, values: list[object]) -> None:
    path = tmp_path / "bad.parquet"
    pl.DataFrame({"count": values}, schema={"count": pl.UInt64} if 2**63 in values else None).write_parquet(path)
    raises_exactly(TableError, lambda: read_public_counts(path, 9), "must contain an integer >= 0 in every row")


@pytest.mark.further
def test_the_file_must_fit(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("item,counts\na,3\n")
    raises_exactly(TableError, lambda: read_public_counts(path, 9), "must have a column named 'count'")
    path.write_text("count\n1\n2\n3\n")
    raises_exactly(TableError, lambda: read_public_counts(path, 2), "at most one row per candidate, that is at most 2")
    assert read_public_counts(path, 10**7).sum() == 6
    raises_exactly(ParameterError, lambda: read_public_counts(path, 10**7 + 1), "supports at most 10000000 candidates")
    path.write_text("")
    raises_exactly(TableError, lambda: read_public_counts(path, 9), "is empty")
    raises_exactly(TableError, lambda: read_public_counts(tmp_path / "none.csv", 9), "does not exist")
    raises_exactly(TableError, lambda: read_public_counts(tmp_path / "a.txt", 9), "must be a file whose name ends in")
    path.write_text("count\n")
    assert read_public_counts(path, 4).tolist() == [0] * 4
