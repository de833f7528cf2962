"""Lists of candidates from files of every kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from opendp_topk.apps.cli.files import items_as_integers, read_candidates
from opendp_topk.errors import TableError

from ..concepts.sentinels import SENTINEL_TEXT, raises_exactly


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
    import polars as pl

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
        ("latin.txt", b"caf\xe9\n", TableError, "is not UTF-8 text"),
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
    raises_exactly(TableError, lambda: read_candidates("a\0b"), "character that no name")
    raises_exactly(TableError, lambda: read_candidates(tmp_path / "x.csv"), "does not exist")


def test_candidates_of_a_table_of_integers() -> None:
    assert items_as_integers(("7", " -3 ", "+12", 4), "book") == (7, -3, 12, 4)
    for wrong in (SENTINEL_TEXT, "1_000", "1.0", "", "٣", "1e3", "9" * 5000):
        raises_exactly(TableError, lambda wrong=wrong: items_as_integers(("1", wrong), "book"), "candidate 2 is not")
    raises_exactly(TableError, lambda: items_as_integers(("7", "007"), "book"), "remove the repeated")
