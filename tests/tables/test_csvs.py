"""CSV: one answer to every malformed line, whoever's it is; separators, encodings and columns are named."""

import datetime
import gzip
import io
import itertools
import os
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.errors import DataError, MissingExtraError, ParameterError, ParameterTypeError, TableError
from opendp_topk.tables import files as csvs
from opendp_topk.tables.files import Dialect, open_table, parse_column_types, read_table, require_column_names

from ..concepts.sentinels import SENTINEL_TEXT, raises_exactly

pl = pytest.importorskip("polars", reason="tables are read with polars")

MALFORMED = {
    "a field too many": "u,{0},x,y\n",
    "a field too few": "{0}\n",
    "a quote that is not closed": 'u,"{0}\n',
    "a quote within a field": 'u,{0}"x\n',
    "a field that goes on after its quotes": 'u,"{0}"x\n',
    "a line end of old": "u\r{0}\n",
    "bytes that are no text": "u,{0}\udcff\n",
}


def packed(data: bytes, path: Path) -> bytes:
    """As the name of the file says."""
    if path.suffix.lower() == ".gz":
        return gzip.compress(data)
    if path.suffix.lower() == ".zst":
        arrow = pytest.importorskip("pyarrow", reason="the test compresses with pyarrow")
        return bytes(arrow.compress(data, codec="zstd", asbytes=True))
    return data


def written(path: Path, text: str) -> Path:
    path.write_bytes(packed(text.encode("utf-8", "surrogateescape"), path))
    return path


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "csv.zst"])
@pytest.mark.parametrize("line", MALFORMED.values(), ids=MALFORMED)
def test_every_malformed_line_has_the_same_answer_wherever_it_is(line: str, ending: str, tmp_path: Path) -> None:
    """Of these, two were no error by the columns that were asked for, and two swallowed the lines of others."""
    rows = ["v,w\n"] * 40
    said = set()
    for place in (0, 20, 40):
        text = "member,work\n" + "".join([*rows[:place], line.format(SENTINEL_TEXT), *rows[place:]])
        path = written(tmp_path / f"loans.{ending}", text)
        said.add(str(raises_exactly(TableError, lambda path=path: read_table(path))))  # type: ignore[misc]
    assert len(said) == 1
    assert "the separator ',' and the encoding 'utf-8'" in said.pop()


def test_the_answer_is_the_same_for_all_of_them(tmp_path: Path) -> None:
    text = [f"member,work\nv,w\n{line.format(SENTINEL_TEXT)}v,w\n" for line in MALFORMED.values()]
    said = [raises_exactly(TableError, lambda: read_table(written(tmp_path / "l.csv", one))) for one in text]  # noqa: B023
    assert len(set(map(str, said))) == 1


WELL = {
    "plain": ("a,b\n1,2\n3,4\n", [("1", "2"), ("3", "4")]),
    "no last line end": ("a,b\n1,2", [("1", "2")]),
    "crlf": ("a,b\r\n1,2\r\n", [("1", "2")]),
    "quotes": ('"a","b"\n"1,\n""x""","2"\n', [('1,\n"x"', "2")]),
    "empty": ('a,b\n,""\n"",x\n', [(None, None), (None, "x")]),
    "blank lines": ("\na,b\n1,2\n\n3,4\n\n", [("1", "2"), (None, None), ("3", "4"), (None, None)]),
    "mark": ("\ufeffa,b\n1,2\n", [("1", "2")]),
    "no rows": ("a,b\n", []),
}


@pytest.mark.parametrize("block", [1, 2, 3, 1 << 20])
@pytest.mark.parametrize("name", WELL)
def test_good_csv_is_read_however_cut(name: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csvs, "_BLOCK", block)
    text, rows = WELL[name]
    assert read_table(written(tmp_path / "t.csv", text)).collect().rows() == rows


def test_a_long_line_is_one_whose_quote_was_not_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csvs, "_LONGEST", 100)
    monkeypatch.setattr(csvs, "_BLOCK", 10)
    assert len(read_table(written(tmp_path / "t.csv", "a\n" + "x" * 90 + "\n")).collect()) == 1
    raises_exactly(TableError, lambda: read_table(written(tmp_path / "t.csv", 'a\n"' + "x" * 120 + '"\n')))


def test_one_column_has_as_many_rows_as_lines(tmp_path: Path) -> None:
    assert read_table(written(tmp_path / "t.csv", "a\nx\n\ny\n")).collect()["a"].to_list() == ["x", None, "y"]


@pytest.mark.parametrize("separator", [";", "\t", "|", " ", "^", "\\", "."])
def test_another_separator(separator: str, tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", separator.join("ab") + "\n" + separator.join(["1,5", "2"]) + "\n")
    assert read_table(path, separator=separator).collect().rows() == [("1,5", "2")]


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "CSV.ZST"])
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "shift_jis", "UTF-8", "utf-8-sig"])
def test_another_encoding(encoding: str, ending: str, tmp_path: Path) -> None:
    word = "ü" if encoding != "shift_jis" else "源"
    data = f"a,b\n{word},2\n".encode(encoding)
    path = tmp_path / f"t.{ending}"
    path.write_bytes(packed(data, path))
    assert read_table(path, encoding=encoding).collect().rows() == [(word, "2")]
    if encoding not in ("UTF-8", "utf-8-sig"):
        raises_exactly(
            TableError, lambda: require_column_names(read_table(path).collect_schema().names(), ["a"], Dialect())
        )


def test_a_separator_is_one_character_and_an_encoding_one_of_text() -> None:
    wrong: dict[str, tuple[str, tuple[str, ...]]] = {
        "separator": ("separator must be one ASCII", ("", ",,", '"', "\n", "\r", "ü")),
        "encoding": ("the name of a text encoding", ("", "utf-9", "base64", "rot13", "a\0b", "x" * 10_000)),
    }
    for name, (said, values) in wrong.items():
        for value in values:
            raises_exactly(ParameterError, partial(read_table, "t.csv", **{name: value}), said)
        raises_exactly(ParameterTypeError, partial(read_table, "t.csv", **{name: 7}), f"{name} must be a string")


def test_a_file_with_all_fields_quoted_is_the_same_table(tmp_path: Path) -> None:
    """Quoted, the field of a row without a user was a user of its own, the same for all such rows."""
    rows = [["member", "work"], ["u", "a"], ["", "a"], ["", "b"], ["v", ""]]
    quoted = "".join(",".join(f'"{one}"' for one in row) + "\n" for row in rows)
    plain = "".join(",".join(row) + "\n" for row in rows)
    found = [read_table(written(tmp_path / f"{at}.csv", text)).collect() for at, text in enumerate((quoted, plain))]
    assert found[0].equals(found[1])
    assert found[0].rows() == [("u", "a"), (None, "a"), (None, "b"), ("v", None)]


SKIPPABLE = bytes.fromhex("502a4d1804000000") + b"none"


def test_zst_is_read_as_widely_as_gz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One character that was taken for a separator made a file malformed, and all lines were held at once."""
    monkeypatch.setattr(csvs, "_BLOCK", 7)
    path = written(tmp_path / "t.csv.zst", "a,b\nx\x1fy,2\n")
    assert read_table(path).collect().rows() == [("x\x1fy", "2")]
    frame = path.read_bytes()
    path.write_bytes(SKIPPABLE + frame + SKIPPABLE + packed(b"3,4\n", path))
    assert read_table(path).collect().rows() == [("x\x1fy", "2"), ("3", "4")]
    for damaged in (frame[:-1], frame[: len(frame) // 2], frame + b"x", b"a,b\n1,2\n"):
        path.write_bytes(damaged)
        raises_exactly(TableError, lambda: read_table(path), "could not be read with the separator")


def test_zeros_behind_gz_are_no_part_of_it(tmp_path: Path) -> None:
    """Python's gzip leaves them out, and polars failed where the rows were counted."""
    path = written(tmp_path / "t.csv.gz", "a,b\n1,2\n")
    path.write_bytes(path.read_bytes() + bytes(512))
    assert read_table(path).collect().rows() == [("1", "2")]


def test_zst_needs_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "t.csv.zst", "a,b\n1,2\n")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    raises_exactly(MissingExtraError, lambda: read_table(path), "requires pyarrow", "or unpack it")


def test_packed_files_that_are_none_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv.gz", "a,b\n" + "1,2\n" * 1000)
    for damaged in (b"a,b\n1,2\n", path.read_bytes()[:-9], path.read_bytes()[:-30] + bytes(30)):
        path.write_bytes(damaged)
        raises_exactly(TableError, lambda: read_table(path), "could not be read with the separator")


def test_columns_that_are_missing_are_told_without_the_first_line(tmp_path: Path) -> None:
    """It may be one of data; what is said of it is how many fields it has, and whether one is nearly the name."""
    table = open_table(written(tmp_path / "t.csv", f"{SENTINEL_TEXT};Member\n1;2\n"), Dialect())
    raises_exactly(
        DataError,
        lambda: require_column_names(table.columns, ["member"], table.dialect),
        *("must have the column 'member'", "the separator ','", "has 1.", "--separator, --encoding"),
    )
    table = open_table(tmp_path / "t.csv", Dialect(";"))
    raises_exactly(
        DataError,
        lambda: require_column_names(table.columns, ["member"], table.dialect),
        *("the separator ';'", "has 2.", "differs only in blanks or case"),
    )
    require_column_names(table.columns, ["Member"], table.dialect)


def test_columns_of_parquet_are_named(tmp_path: Path) -> None:
    pl.DataFrame({f"c{at}": [1] for at in range(30)}).write_parquet(tmp_path / "t.parquet")
    table = open_table(tmp_path / "t.parquet", Dialect())
    raises_exactly(
        DataError, lambda: require_column_names(table.columns, ["x"], table.dialect), "'c0', 'c1'", "'c19' and 10 more"
    )


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="this system has no device of zeros")
def test_standard_input_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It filled the memory."""
    with open("/dev/zero", "rb") as zeros:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(zeros))
        raises_exactly(TableError, lambda: read_table("-"), "must be a pipe, a file or a terminal")
    with open(os.devnull, "rb") as nothing:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(nothing))
        raises_exactly(TableError, lambda: read_table("-"), "is empty")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes in folders")
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.csv.zst", "t.parquet"])
def test_what_is_no_ordinary_file_is_refused_at_once(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name)
    raises_exactly(TableError, lambda: read_table(tmp_path / name), "is a pipe")
    (tmp_path / f"zero{name}").symlink_to("/dev/zero")
    raises_exactly(TableError, lambda: read_table(tmp_path / f"zero{name}"), "is a device")
    for path, reason in [("x" * 100_000 + name, "longer than"), (f"\ud800{name}", "character that is not allowed")]:
        raises_exactly(TableError, lambda path=path: read_table(path), reason)  # type: ignore[misc]


def test_csv_that_grows_while_it_is_looked_at_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "t.csv", "a,b\n1,2\n")
    looked_at: Any = csvs.read_csv_header

    def growing(*arguments: Any) -> Any:
        with path.open("a") as stream:
            stream.write("3,4\n")
        return looked_at(*arguments)

    monkeypatch.setattr(csvs, "read_csv_header", growing)
    raises_exactly(TableError, lambda: read_table(path), "were changed while they were read")


# Declared types of columns of CSV: each entry is what plain Python reads, or the table is refused, whoever's it is.


ENTRIES = (
    *("12.50", "12,50", " 7 ", "-3", "+4", "1.", ".5", ",5", "1.234,50", "1,234.50", "12.50 EUR", "1e3", "1E-2"),
    *("1e999", "-0", "+.5e+1"),
    *("nan", "inf", "0x10", "1_000", "٣", "x", "--1", ".", ",", "e5", "9223372036854775807", "9223372036854775808"),
    *("2024-01-04", "04.01.2024", "4.1.2024", "01/04/2024", "20240104", "2024-02-30", "29.02.2023", "29.02.2024"),
    *("04.01.24", "0001-01-01", "9999-12-31", "10000-01-01", "2024-01-04T00:00", "-2024-01-04", "", "  ", "\u00a0"),
)


def integer(entry: str) -> int | None:
    return int(entry) if re.fullmatch(r"[+-]?\d+", entry, re.ASCII) and -(2**63) <= int(entry) < 2**63 else None


def decimal(mark: str) -> Callable[[str], float | None]:
    def read(entry: str) -> float | None:
        if set(entry) - set("0123456789+-eE" + mark):
            return None
        try:
            return float(entry.replace(mark, "."))
        except ValueError:
            return None

    return read


def date(order: str, mark: str) -> Callable[[str], datetime.date | None]:
    def read(entry: str) -> datetime.date | None:
        parts = entry.split(mark) if mark else [entry[:4], entry[4:6], entry[6:]]
        found = dict(zip(order, parts, strict=False)) if len(parts) == 3 else {"y": ""}
        if not all(one.isascii() and one.isdigit() for one in parts) or len(found["y"]) != 4:
            return None
        if max(len(found["m"]), len(found["d"])) > 2:
            return None
        try:
            return datetime.date(*(int(found[name]) for name in "ymd"))
        except ValueError:
            return None

    return read


KINDS: dict[str, tuple[Callable[[str], Any], dict[str, str]]] = {
    "integer": (integer, {}),
    "decimal": (decimal("."), {}),
    "decimal,": (decimal(","), {"decimal": ","}),
    "date": (date("ymd", "-"), {}),
    "date dd.mm.yyyy": (date("dmy", "."), {"date_format": "dd.mm.yyyy"}),
    "date mm/dd/yyyy": (date("mdy", "/"), {"date_format": "mm/dd/yyyy"}),
    "date yyyymmdd": (date("ymd", ""), {"date_format": "yyyymmdd"}),
}


def table(folder: Path, entries: list[str]) -> Path:
    path = folder / "t.csv"
    path.write_text("user;x;y\n" + "".join(f"u;{one};z\n" for one in entries), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", KINDS)
def test_entries_are_what_python_reads(name: str, tmp_path: Path) -> None:
    """All that are one, beside empty ones, make a table, which is the same with the others as nulls."""
    read, options = KINDS[name]
    kind = re.split(r"[, ]", name)[0]
    expected = [read(one.strip()) for one in ENTRIES]
    good = [(one, value) for one, value in zip(ENTRIES, expected, strict=True) if value is not None or not one.strip()]
    assert 3 < len(good) < len(ENTRIES) - 3
    found = tk.tables.read_table(table(tmp_path, [one for one, _ in good]), separator=";", types={"x": kind}, **options)
    assert found.collect()["x"].to_list() == [value for _, value in good]
    assert found.collect_schema()["y"] == pl.String
    lenient = {"x": f"{kind}_or_null"}
    assert tk.tables.read_table(table(tmp_path, [*ENTRIES]), separator=";", types=lenient, **options).collect()[
        "x"
    ].to_list() == list(expected)


@pytest.mark.parametrize("name", KINDS)
def test_one_entry_that_is_none_refuses_the_table_wherever_it_is(name: str, tmp_path: Path) -> None:
    read, options = KINDS[name]
    kind = re.split(r"[, ]", name)[0]
    good = next(one for one in ENTRIES if read(one) is not None)
    said = set()
    for wrong, place in itertools.product([SENTINEL_TEXT, "12.50 EUR", "2024-02-30", "1.234,50"], (0, 3)):
        path = table(tmp_path, [good] * place + [wrong] + [good] * (3 - place))
        found = raises_exactly(
            TableError, lambda path=path: tk.tables.read_table(path, separator=";", types={"x": kind}, **options)
        )  # type: ignore[misc]
        said.add(str(found))
    assert len(said) == 1
    assert "column 'x' must contain" in said.pop()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"types": {"x": "number"}}, "types must map"),
        ({"types": {"x": None}}, "types must map"),
        ({"types": {7: "date"}}, "types must map"),
        ({"types": {"x": "decimal"}, "decimal": ";"}, "decimal must be"),
        ({"types": {"x": "decimal"}, "decimal": 7}, "decimal must be"),
        ({"types": {"x": "date"}, "decimal": ","}, "of the type decimal"),
        ({"types": {"x": "integer"}, "date_format": "dd.mm.yyyy"}, "of the type date"),
        *(
            ({"types": {"x": "date"}, "date_format": one}, "date_format must have")
            for one in ("", "dd.mm.yy", "dd.dd.yyyy", "yyyy-mm-yyyy", "%d.%m.%Y", "dd.mm.yyyy ", "d.m.yyyy", None)
        ),
    ],
)
def test_declarations_that_are_none_are_refused(options: Any, said: str, tmp_path: Path) -> None:
    raises_exactly(ParameterError, lambda: tk.tables.read_table(tmp_path / "t.csv", **options), said)


def test_columns_that_are_declared_must_be_there(tmp_path: Path) -> None:
    path = table(tmp_path, ["1"])
    raises_exactly(
        DataError, lambda: tk.tables.read_table(path, types={"x": "integer"}), "'x'", "separator ','", "has 1."
    )
    raises_exactly(ParameterTypeError, lambda: tk.tables.read_table(path, types="x=integer"), "types must map")  # type: ignore[arg-type]


def test_the_option_is_a_line_of_columns() -> None:
    assert parse_column_types(None) == {}
    assert parse_column_types('a=date, b = text,"net, paid=decimal_or_null",c=d=integer') == {
        "a": "date", "b": "text", "net, paid": "decimal_or_null", "c=d": "integer",
    }  # fmt: skip
    for wrong in ("", "a", "a=", "=date", "a=date,a=date", "a=date,", "a=Date", "a date"):
        raises_exactly(ParameterError, lambda wrong=wrong: parse_column_types(wrong), "--types must be")  # type: ignore[misc]


def test_sums_and_conditions_take_declared_columns(tmp_path: Path) -> None:
    """12,50 was nothing, and a condition compared the texts of days."""
    from opendp_topk.tables.where import parse_condition

    rows = "u;a;12,50;04.01.2024\nv;b;0,25;31.12.2023\nu;b;;05.01.2024\n"
    (tmp_path / "t.csv").write_text(f"user;item;fee;day\n{rows}", encoding="utf-8")
    types = {"fee": "decimal", "day": "date"}
    found = tk.tables.read_table(tmp_path / "t.csv", separator=";", types=types, decimal=",", date_format="dd.mm.yyyy")
    space = tk.FrameDomain("user", "item", value="fee"), tk.UserDistance()
    sums = space >> tk.then_sum_by_item(candidates=["a", "b"], bounds=(0, 20), granularity=0.25)
    assert sums(found).tolist() == [50, 1]
    assert parse_condition("day >= '2024-01-04'").filter_rows(found, ["user"]).collect()["user"].to_list() == ["u", "u"]
