"""Declared types of columns of CSV: each entry is what plain Python reads, or the table is refused, whoever's it is."""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.errors import DataError, ParameterError, ParameterTypeError, TableError
from opendp_topk.tables.files import parse_column_types
from tests.concepts.sentinels import SENTINEL_TEXT, raises_exactly

pl = pytest.importorskip("polars", reason="tables are read with polars")

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
    found = tk.read_table(table(tmp_path, [one for one, _ in good]), separator=";", types={"x": kind}, **options)
    assert found.collect()["x"].to_list() == [value for _, value in good]
    assert found.collect_schema()["y"] == pl.String
    lenient = {"x": f"{kind}_or_null"}
    assert tk.read_table(table(tmp_path, [*ENTRIES]), separator=";", types=lenient, **options).collect()[
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
            TableError, lambda path=path: tk.read_table(path, separator=";", types={"x": kind}, **options)
        )  # type: ignore[misc]
        said.add(str(found))
    assert len(said) == 1
    assert "column 'x' must hold" in said.pop()


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
    raises_exactly(ParameterError, lambda: tk.read_table(tmp_path / "t.csv", **options), said)


def test_columns_that_are_declared_must_be_there(tmp_path: Path) -> None:
    path = table(tmp_path, ["1"])
    raises_exactly(DataError, lambda: tk.read_table(path, types={"x": "integer"}), "'x'", "separator ','", "has 1.")
    raises_exactly(ParameterTypeError, lambda: tk.read_table(path, types="x=integer"), "types must map")  # type: ignore[arg-type]


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
    found = tk.read_table(tmp_path / "t.csv", separator=";", types=types, decimal=",", date_format="dd.mm.yyyy")
    space = tk.ValuedFrameDomain("user", "item", "fee"), tk.UserDistance()
    sums = space >> tk.then_sum_by_item(candidates=["a", "b"], bounds=(0, 20), granularity=0.25)
    assert sums(found).tolist() == [50, 1]
    assert parse_condition("day >= '2024-01-04'").filter_rows(found, ["user"]).collect()["user"].to_list() == ["u", "u"]
