"""Conditions on rows: what they say, that every engine says the same, and that nothing but rows can be looked at."""

import datetime
import itertools
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from opendp_topk.errors import DataError, DataTypeError, ParameterError, ParameterTypeError
from opendp_topk.tables.where import STATISTICS, parse_condition

from ..concepts.sentinels import raises_exactly
from . import filtering
from .spark_session import Shared

pl = pytest.importorskip("polars", reason="conditions are tried on polars")
pytest.importorskip("narwhals", reason="conditions are tried through narwhals")

NAN = float("nan")
COLUMNS: dict[str, Any] = {
    "id": pl.Series(range(6), dtype=pl.Int64),
    "small": pl.Series([1, -3, None, 127, 0, 2], dtype=pl.Int8),
    "word": pl.Series(["a", "A", "ü", None, "", "it's"]),
    "number": pl.Series([0.1, NAN, None, -0.0, 2.0, 1e300]),
    "single": pl.Series([0.1, 0.5, None, NAN, 2.0, 1.0], dtype=pl.Float32),
    "day": pl.Series([datetime.date(2024, 1, 1 + at) for at in range(5)] + [None]),
    "yes": pl.Series([True, False, None, True, False, True]),
    'a "b".c': pl.Series([1, 1, 1, 2, 2, None], dtype=pl.Int64),
}
SAID: dict[str, Callable[[dict[str, Any]], bool | None]] = {
    "id = 3": lambda row: row["id"] == 3,
    "id != 3 and id<>4": lambda row: row["id"] not in (3, 4),
    "small > -4": lambda row: None if row["small"] is None else row["small"] > -4,
    "not small > 0": lambda row: None if row["small"] is None else row["small"] <= 0,
    "small is null or word IS NOT NULL": lambda row: row["small"] is None or row["word"] is not None,
    "word = 'a'": lambda row: None if row["word"] is None else row["word"] == "a",
    "word >= 'a'": lambda row: None if row["word"] is None else row["word"].encode() >= b"a",
    "word = 'it''s'": lambda row: row["word"] == "it's",
    "word in ('a', 'ü', '')": lambda row: None if row["word"] is None else row["word"] in ("a", "ü", ""),
    "word not in ('a', 'ü')": lambda row: None if row["word"] is None else row["word"] not in ("a", "ü"),
    "number = 0": lambda row: row["number"] == 0,
    "number > 1": lambda row: row["number"] is not None and not row["number"] <= 1,
    "number <= 0.1": lambda row: row["number"] is not None and row["number"] <= 0.1,
    "single = 0.1": lambda row: False,
    "single = 0.5": lambda row: row["single"] == 0.5,
    "day > '0001-01-01'": lambda row: None if row["day"] is None else True,
    "day >= '2024-01-03'": lambda row: None if row["day"] is None else row["day"].day >= 3,
    "yes = true": lambda row: row["yes"],
    "not (yes = true or id < 2)": lambda row: None if row["yes"] is None else not (row["yes"] or row["id"] < 2),
    "yes = false and (id = 1 or id = 2)": lambda row: row["yes"] is False and row["id"] in (1, 2),
    '"a ""b"".c" = 1': lambda row: row['a "b".c'] == 1,
    "id = 1 or small > 100 and word is null": lambda row: row["id"] == 1 or (row["id"] == 3),
}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pl.DataFrame(COLUMNS).write_parquet(path)
    return path


@pytest.fixture(scope="module")
def spark(shared_spark: Shared) -> Any:
    return shared_spark.get()


def expected(text: str) -> list[int]:
    return [row["id"] for row in pl.DataFrame(COLUMNS).rows(named=True) if SAID[text](row)]


@pytest.mark.parametrize("text", SAID)
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_what_a_condition_says(text: str, engine: str, file: Path) -> None:
    if engine == "polars":
        found = parse_condition(text).filter_rows(pl.scan_parquet(file), ["id"]).collect()["id"].to_list()
    else:
        duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
        with duckdb.connect() as connection:
            kept = parse_condition(text).filter_rows(connection.read_parquet(str(file)), ["id"])
            assert kept.collect_schema().names() == ["id"]
            found = kept.collect()["id"].to_list()
    assert found == expected(text)


@pytest.mark.slow
def test_spark_says_the_same(file: Path, spark: Any) -> None:
    frame = spark.read.parquet(str(file))
    raises_exactly(ParameterError, lambda: parse_condition("id = 1").filter_rows(frame, ["id"]), STATISTICS)
    with filtering.one_session():
        spark.conf.set(STATISTICS, "false")
        for text in SAID:
            kept = parse_condition(text).filter_rows(frame, ["id"])
            assert kept.columns == list(COLUMNS)
            assert sorted(row[0] for row in kept.collect()) == expected(text), text


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_no_row_decides_about_others(engine: str, tmp_path: Path) -> None:
    """One number above 5 in a group of NaN, which are above 5, too, and one row that makes a mark "sorted" untrue."""
    pytest.importorskip(engine, reason=f"{engine} is not installed")
    for more in (False, True):
        floats, integers = [[NAN] * 20 + [9.0 if more else 1.0], [9.0] * 6], [[1] * 20 + [9] * more + [3, 7, 9]]
        for kind, marked, values in (("double", None, floats), ("int64", "x", integers)):
            numbered = itertools.count()
            groups = [[(next(numbered), 1, 1, value) for value in group] for group in values]
            file = tmp_path / f"{more}-{kind}.parquet"
            content = filtering.Content(kind, groups, marked)
            filtering.write("pyarrow", content, file, random.Random(0), None)
            above = [number for number, _, _, value in content.rows if not value <= 5]
            assert filtering.kept_numbers(engine, file, ["x > 5", "x > 5 or u < 0"]) == [above, above]


@pytest.mark.further
@pytest.mark.quick(kind="double")
@pytest.mark.parametrize("kind", ["double", "zeros", "long text", "int64"])
def test_files_of_other_libraries_are_read_row_by_row(kind: str, tmp_path: Path) -> None:
    for needed in ("duckdb", "pyarrow"):
        pytest.importorskip(needed, reason=f"{needed} is not installed")
    found = filtering.differences(0, [kind], ["pyarrow"], ["polars", "duckdb"], tmp_path)
    assert [one for one in found if one] == []


@pytest.mark.slow
def test_spark_reads_files_row_by_row(spark: Any, tmp_path: Path) -> None:
    with filtering.one_session():
        found = filtering.differences(0, ["double", "zeros"], ["pyarrow"], ["spark"], tmp_path, spark)
        assert [one for one in found if one] == []


def test_categories_are_compared_as_text(file: Path) -> None:
    order = pl.DataFrame({"size": pl.Series(["s", "m", "l"], dtype=pl.Enum(["s", "m", "l"]))})
    assert parse_condition("size > 'l'").filter_rows(order.lazy(), ["size"]).collect()["size"].to_list() == ["s", "m"]


def test_text_is_not_compared_with_numbers() -> None:
    table = pl.DataFrame({"year": ["2023", " 2024 ", "x", None, "2024.5", "nan"]}).lazy()
    recent = parse_condition("year >= 2024")
    raises_exactly(DataTypeError, lambda: recent.filter_rows(table, ["year"]), "contains text", "--types year=integer")
    assert parse_condition("year = '2023'").filter_rows(table, ["year"]).collect()["year"].to_list() == ["2023"]


LIKE_NUMBERS = "2024-01-04", "04.01.2024", "1/4/24", "2024-01-04T10:00:00Z", "12,50", " 7 ", "-1e9", "€ 12", "٣", "5%"


@pytest.mark.parametrize("constant", LIKE_NUMBERS)
def test_text_is_not_ordered_by_what_looks_like_a_date_or_a_number(constant: str) -> None:
    """The day 04.01.2024 came after 2024-01-04 in the alphabet, and before it in the year."""
    table = pl.DataFrame({"day": ["04.01.2024", constant], "size": ["s", "m"]}).lazy()
    for sign in ("<", "<=", ">", ">="):
        for text in (f"day {sign} '{constant}'", f"size = 's' or not (day {sign} '{constant}')"):
            keep = partial(parse_condition(text).filter_rows, table, ["day"])
            raises_exactly(DataTypeError, keep, "'day'", "by order", "--types")
    assert parse_condition(f"day = '{constant}'").filter_rows(table, ["day"]).collect()["day"].to_list() == [
        one for one in ("04.01.2024", constant) if one == constant
    ]
    for word in ("b3", "Emma", "", "e", "10-B"):
        assert len(parse_condition(f"size >= '{word}'").filter_rows(table, ["day"]).collect()) <= 2


@pytest.mark.slow
def test_rows_are_kept_one_by_one() -> None:
    """Which rows of a table are kept is the union of what is kept of each row: rows of one user change no other's."""
    rows = pl.DataFrame(COLUMNS)
    for text in SAID:
        kept = parse_condition(text).filter_rows
        alone = [
            pl.concat([kept(rows[at : at + 1].lazy(), ["id"]).collect() for at in chosen])
            for chosen in _some(len(rows))
        ]
        together = [kept(rows[list(chosen)].lazy(), ["id"]).collect() for chosen in _some(len(rows))]
        assert all(one.equals(other) for one, other in zip(alone, together, strict=True))


def _some(size: int) -> list[tuple[int, ...]]:
    return [chosen for length in (1, 2, size) for chosen in itertools.combinations(range(size), length)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", "a column"),
        ("id", "a comparison"),
        ("id =", "a constant"),
        ("id = small", "a constant"),
        ("id = 1 or", "a column"),
        ("id = 1 id = 2", "and, or, or the end"),
        ("(id = 1", ")"),
        ("id = 1)", "and, or, or the end"),
        ("1 = 1", "a column"),
        ("true", "a column"),
        ("id is 1", "null"),
        ("id in ()", "a constant"),
        ("id in (select id from x)", "a constant"),
        ("id not = 1", "in"),
        ("count(id) = 1", "a comparison"),
        ("random() < 0.5", "a comparison"),
        ("id = 1; drop table x", "a column, a constant or a comparison"),
        ("id = 1 -- x", "a column, a constant or a comparison"),
        ("id + 1 = 2", "a column, a constant or a comparison"),
        ("word = 'a", "a column, a constant or a comparison"),
        ("number < 1e999", "a constant"),
        ("id = " + "9" * 5000, "a constant"),
        ("\ud800 = 1", "a column, a constant or a comparison"),
        ("(" * 60 + "id = 1" + ")" * 60, "fewer brackets"),
        ("not " * 60 + "id = 1", "fewer brackets"),
    ],
)
def test_nothing_else_can_be_said(text: str, wanted: str) -> None:
    raises_exactly(
        ParameterError, lambda: parse_condition(text), "where must be a condition on one row", f"must have {wanted}"
    )


def test_a_longer_condition_is_refused_by_its_length() -> None:
    named = [", ".join(map(str, range(constants))) for constants in (498, 499)]
    assert len(parse_condition(f"id in ({named[0]})").condition.constants) == 498
    for text in (f"id in ({named[1]})", " or ".join(["id = 1"] * 400)):
        long = partial(parse_condition, text)
        raises_exactly(ParameterError, long, "where must have at most 1000 names", "498 constants")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nothing = 1", "where uses 'nothing'"),
        ("id = 'a'", "contains integers"),
        ("id = 1.5", "contains integers"),
        ("id = 9223372036854775808", "contains integers"),
        ("id = -9223372036854775809", "contains integers"),
        ("small = true", "contains integers"),
        ("word = 1", "write 'text'"),
        ("number = 'a'", "contains floats"),
        ("number = 9007199254740993", "contains floats"),
        ("day = 1", "'yyyy-mm-dd'"),
        ("day = '2024-02-30'", "'yyyy-mm-dd'"),
        ("yes = 'true'", "= true or = false"),
        ("yes < true", "= true or = false"),
        ("big = 1", "not UInt64"),
        ("time = '2024-01-01'", "not Datetime"),
    ],
)
def test_types_are_settled_before_a_row_is_read(text: str, said: str) -> None:
    more = {"big": pl.Series([1] * 6, dtype=pl.UInt64), "time": [datetime.datetime(2024, 1, 1)] * 6}
    frame = pl.DataFrame(COLUMNS | more).lazy().map_batches(_never, schema=None)
    error = DataError if "nothing" in text else DataTypeError
    raises_exactly(error, lambda: parse_condition(text).filter_rows(frame, ["id"]), "where", said)


def _never(_: Any) -> Any:
    raise AssertionError("a row was read")


def test_a_long_and_deep_condition_is_evaluated(file: Path) -> None:
    long = " or ".join(["id = 5"] * 240)
    deep = "not " * 48 + "id = 5"
    for text in (long, deep):
        assert parse_condition(text).filter_rows(pl.scan_parquet(file), ["id"]).collect()["id"].to_list() == [5]


def test_a_condition_is_a_string() -> None:
    raises_exactly(ParameterTypeError, lambda: parse_condition(7), "where must be a string")
    assert parse_condition("b = 1 and a is null or b = 2").column_names == ("b", "a")
