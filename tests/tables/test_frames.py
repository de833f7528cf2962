"""Every back end counts like the plain-Python reference, and refuses what holds no identifiers."""

import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.errors import DataError, DataTypeError, MissingExtraError, TableError
from opendp_topk.spaces.domains import FrameDomain
from opendp_topk.tables.frames import count_distinct_users
from opendp_topk.tables.guard import run_guarded
from tests.concepts.sentinels import SENTINEL_INT, SENTINEL_TEXT, raises_exactly
from tests.oracles.counts import distinct_users
from tests.tables import types
from tests.tables.types import pairs_of

pytest.importorskip("narwhals", reason="tables need narwhals")
pl = pytest.importorskip("polars", reason="the tests of tables make them with polars")

Columns = dict[str, list[Any]]


def needs(module: str) -> Any:
    return pytest.importorskip(module, reason=f"{module} is not installed")


def polars_frame(columns: Columns, integers: bool, categories: bool = False) -> Any:
    kind = pl.Int64 if integers else pl.Categorical if categories else pl.String
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, kind))


def polars_lazy(columns: Columns, integers: bool) -> Any:
    return polars_frame(columns, integers).lazy()


def polars_categorical(columns: Columns, integers: bool) -> Any:
    return polars_frame(columns, integers, categories=True)


def polars_enum(columns: Columns, integers: bool) -> Any:
    frame = polars_frame(columns, integers)
    if integers:
        return frame.cast(pl.Int16)
    return frame.cast({name: pl.Enum(sorted({v for v in column if v is not None})) for name, column in columns.items()})


def pandas_frame(columns: Columns, integers: bool, kind: str = "string") -> Any:
    pd = needs("pandas")
    return pd.DataFrame(
        {name: pd.array(column, dtype="Int64" if integers else kind) for name, column in columns.items()}
    )


def pandas_objects(columns: Columns, integers: bool) -> Any:
    return pandas_frame(columns, integers, "object")


def pandas_categories(columns: Columns, integers: bool) -> Any:
    return pandas_frame(columns, integers, "category")


def pandas_arrow(columns: Columns, integers: bool) -> Any:
    pd = needs("pandas")
    return pyarrow_table(columns, integers).to_pandas(types_mapper=pd.ArrowDtype)


def pyarrow_table(columns: Columns, integers: bool) -> Any:
    pa = needs("pyarrow")
    return pa.table(
        {name: pa.array(column, pa.int64() if integers else pa.string()) for name, column in columns.items()}
    )


def pyarrow_large(columns: Columns, integers: bool) -> Any:
    pa = needs("pyarrow")
    table = pyarrow_table(columns, integers)
    return table.cast(pa.schema([(name, pa.int32() if integers else pa.large_string()) for name in columns]))


def pyarrow_dictionary(columns: Columns, integers: bool) -> Any:
    pa = needs("pyarrow")
    table = pyarrow_table(columns, integers)
    return table if integers else pa.table({name: table[name].dictionary_encode() for name in columns})


def duckdb_relation(columns: Columns, integers: bool) -> Any:
    duckdb = needs("duckdb")
    kind = "BIGINT" if integers else "VARCHAR"
    names = list(columns)
    duckdb.execute(f"CREATE OR REPLACE TABLE loans ({', '.join(f'{name} {kind}' for name in names)})")
    rows = list(zip(*columns.values(), strict=True))
    if rows:
        row = f"({', '.join('?' for _ in names)})"
        duckdb.execute(f"INSERT INTO loans VALUES {', '.join([row] * len(rows))}", sum(rows, ()))
    return duckdb.table("loans")


def duckdb_enum(columns: Columns, integers: bool) -> Any:
    relation = duckdb_relation(columns, integers)
    if integers:
        return relation.project("seen, CAST(member AS USMALLINT) AS member, CAST(work AS UBIGINT) AS work")
    names = {v for column in columns.values() for v in column if v is not None} | {"spare"}
    quoted = ("'" + name.replace("'", "''") + "'" for name in sorted(names))
    kind = f"ENUM ({', '.join(quoted)})"
    return relation.project(f"seen, CAST(member AS {kind}) AS member, CAST(work AS {kind}) AS work")


POLARS = polars_frame, polars_lazy, polars_categorical, polars_enum
PANDAS = pandas_frame, pandas_objects, pandas_categories, pandas_arrow
ARROW = pyarrow_table, pyarrow_large, pyarrow_dictionary
BACK_ENDS: list[Callable[[Columns, bool], Any]] = [*POLARS, *PANDAS, *ARROW, duckdb_relation, duckdb_enum]


def count(frame: Any, candidates: list[Any]) -> Any:
    return count_distinct_users(pairs_of(frame), candidates)


def random_columns(draw: random.Random, integers: bool) -> Columns:
    """Few users and few items, so that nulls, equal rows and shared items abound; and a column that is ignored."""
    name = (lambda i: i) if integers else (lambda i: ["", "nan", "None", "0", "ä", "a b", "NULL", "x'y", "z"][i])
    size = draw.choice([0, 1, 2, 5, 20, 40])
    ids = [None, *map(name, range(draw.randint(1, 9)))]
    users, items = draw.choices(ids, k=size), draw.choices(ids, k=size)
    return {"seen": draw.choices(ids, k=size), "member": users, "work": items}


@pytest.mark.further
@pytest.mark.quick(make=("polars_frame", "pyarrow_table", "duckdb_relation"), integers=True)
@pytest.mark.parametrize("integers", [True, False], ids=["integers", "strings"])
@pytest.mark.parametrize("make", BACK_ENDS, ids=lambda make: make.__name__)
def test_every_back_end_agrees_with_the_reference(make: Callable[[Columns, bool], Any], integers: bool) -> None:
    draw = random.Random(20)
    totals = 0
    for _ in range(40):
        columns = random_columns(draw, integers)
        rows = list(zip(columns["member"], columns["work"], strict=True))
        known = list(dict.fromkeys(item for _, item in rows if item is not None)) or ([5] if integers else ["z"])
        candidates = draw.sample(known, draw.randint(1, len(known))) + ([-1, 77, 2**64 - 1] if integers else ["new"])
        draw.shuffle(candidates)
        scores = count(make(columns, integers), candidates)
        expected = distinct_users(rows, candidates)
        assert scores.dtype == np.int64
        assert scores.tolist() == expected
        totals += sum(expected)
    assert totals > 100


@pytest.mark.parametrize("make", [polars_frame, pandas_frame, pyarrow_table], ids=lambda make: make.__name__)
def test_strings_that_look_like_missing_values_are_items(make: Callable[[Columns, bool], Any]) -> None:
    columns = {"member": ["nan", "None", None, "nan"], "work": ["nan", "nan", "nan", None]}
    assert count(make(columns, False), ["nan", "None"]).tolist() == [2, 0]


def test_64_bit_identifiers_stay_apart() -> None:
    users, items = [2**53, 2**53 + 1, 2**53], [2**64 - 1, 2**64 - 1, 2**64 - 2]
    frame = pl.DataFrame({"member": users, "work": items}, schema={"member": pl.Int64, "work": pl.UInt64})
    candidates = [2**64 - 1, -1, -2, 2**64 - 2, 2**63]
    assert count(frame, candidates).tolist() == [2, 0, 0, 1, 0]
    signed = pl.DataFrame({"member": users, "work": [-1, -(2**63), 2**63 - 1]})
    assert count(signed, [2**64 - 1, -1, -(2**63), 2**63 - 1, 2**63]).tolist() == [0, 1, 1, 1, 0]


@pytest.mark.parametrize("small", [pl.Int8, pl.Int16, pl.Int32, pl.UInt8, pl.UInt16, pl.UInt32], ids=str)
@pytest.mark.parametrize("form", ["polars", "pandas", "pyarrow"])
def test_narrow_integers_meet_wide_candidates(small: Any, form: str) -> None:
    frame: Any = pl.DataFrame({"member": [1, 2, 2], "work": [7, 7, 100]}).cast(small)
    if form != "polars":
        needs(form)
        frame = frame.to_arrow() if form == "pyarrow" else frame.to_pandas()
    assert count(frame, [300, 100, -1, 7, 2**63]).tolist() == [0, 1, 0, 2, 0]


def test_a_null_inside_an_arrow_dictionary_is_a_null() -> None:
    pa = needs("pyarrow")
    labels = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 1]), pa.array(["a", None, "c"]))
    assert count(pa.table({"member": [1, 2, 3, 4], "work": labels}), ["c", "a"]).tolist() == [1, 1]
    assert count(pa.table({"member": labels, "work": ["a", "a", "c", "a"]}), ["c", "a"]).tolist() == [1, 1]


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["b" * 2_000, "a" * 2_000, ""])], ids=["categories", "enum"])
@pytest.mark.parametrize("form", ["loaded", "lazy", "pyarrow"])
def test_a_label_is_held_once_and_stays_its_rows(kind: Any, form: str) -> None:
    pa = needs("pyarrow")
    texts = ["b" * 2_000, "a" * 2_000, None, "", "b" * 2_000] * 200
    column = pl.Series("work", texts, dtype=kind)
    made = pl.DataFrame([pl.Series("member", range(1_000)), column.set_sorted()])
    table = made.to_arrow() if form == "pyarrow" else made.lazy() if form == "lazy" else made
    held = pairs_of(table).collect().to_native()
    assert held.rows() == list(enumerate(texts))
    assert not any(held["work"].flags.values())
    views: Any = pa.chunked_array(held["work"])
    assert views.type == pa.string_view()
    assert views.get_total_buffer_size() < 2_000 * 20  # and not 2_000 * 600


@pytest.mark.parametrize("texts", [[], [None], [None, None], ["a"]], ids=str)
def test_columns_of_few_categories_are_texts(texts: list[str | None]) -> None:
    made = pl.DataFrame({"member": [1] * len(texts), "work": texts}, {"member": pl.Int64, "work": pl.Categorical})
    held = pairs_of(made).collect().to_native()
    assert held.schema["work"] == pl.String
    assert held["work"].to_list() == texts


def test_columns_may_have_any_plain_name_and_any_order() -> None:
    frame = pl.DataFrame({"item": ["u", "v"], "count": [1, 2], "user": ["b", "b"], "place": ["b", "c"]})
    assert count_distinct_users(pairs_of(frame, "item", "user"), ["b"]).tolist() == [2]
    assert count_distinct_users(pairs_of(frame, "count", "place"), ["c", "b", "d"]).tolist() == [1, 1, 0]
    assert pairs_of(frame, "place", "item").collect_schema().names() == ["place", "item"]


def test_two_columns_of_two_columns_is_the_same() -> None:
    once = pairs_of(pl.DataFrame({"a": [1], "b": [2], "c": [3]}), "c", "a")
    twice = pairs_of(once, "c", "a")
    assert twice.read_snapshot().collect().to_dict(as_series=False) == {"c": [3], "a": [1]}


def scanned(whole: bool) -> Any:
    """It is read once and tells no schema under that name: an AttributeError came out."""
    dataset = needs("pyarrow.dataset").dataset(pyarrow_table({"member": [1], "work": [1]}, True))
    return dataset.scanner() if whole else next(dataset.get_fragments())


def labelled(form: str) -> Any:
    """Labels that are numbers."""
    pd, pa = needs("pandas"), needs("pyarrow")
    if form == "pandas":
        return pd.DataFrame({"member": [1, 2], "work": pd.Categorical([SENTINEL_INT, 2])})
    table = pa.table({"member": [1], "work": pa.array([SENTINEL_INT]).dictionary_encode()})
    return table if form == "pyarrow" else table.to_pandas(types_mapper=pd.ArrowDtype)


NO_FRAME = DataTypeError, "must be a data frame"
REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], *tuple[str, ...]]] = {
    "None": (lambda: None, *NO_FRAME, "read_table"),
    "a number": (lambda: 7, *NO_FRAME, "read_table"),
    "text": (lambda: SENTINEL_TEXT, *NO_FRAME, "read_table"),
    "rows": (lambda: [(SENTINEL_INT, 1)], *NO_FRAME, "read_table", "polars.DataFrame(data)"),
    "a mapping": (lambda: {"member": [SENTINEL_INT], "work": [1]}, *NO_FRAME, "read_table"),
    "an array": (lambda: np.array([[SENTINEL_INT, 1]]), *NO_FRAME, "read_table"),
    "a series": (lambda: pl.Series("member", [SENTINEL_INT]), *NO_FRAME, "read_table"),
    "a scanner": (lambda: scanned(True), *NO_FRAME),
    "a fragment": (lambda: scanned(False), *NO_FRAME),
    "a name twice": (
        lambda: needs("pandas").DataFrame([[SENTINEL_INT, 1, 2]], columns=["member", "member", "work"]),
        DataTypeError,
        "distinct column names (rename repeated ones)",
    ),
    "an index": (
        lambda: needs("pandas").DataFrame({"member": [SENTINEL_INT], "work": [1]}).set_index("member"),
        DataError,
        "'member'",
        "reset_index()",
    ),
    "capitals": (lambda: pl.DataFrame({"Member": [SENTINEL_INT], "work": [1]}), DataError, "'member'", "Case and"),
    "no users": (lambda: pl.DataFrame({"work": [SENTINEL_INT]}), DataError, "'member'"),
    "no items": (lambda: pl.DataFrame({"member": [SENTINEL_INT]}), DataError, "'work'"),
    "no columns": (lambda: pl.DataFrame(), DataError, "'member'"),
    **{
        f"labels of {form}": (lambda form=form: labelled(form), DataTypeError, "'work'", "plain strings")
        for form in ("pandas", "pyarrow", "pandas of arrow")
    },
}


@pytest.mark.quick
@pytest.mark.parametrize("what", REFUSED)
def test_what_has_no_two_columns_of_identifiers_is_refused(what: str) -> None:
    make, error, *words = REFUSED[what]
    raises_exactly(error, lambda: pairs_of(make()), *words)
    assert not FrameDomain("member", "work").member(make())


@pytest.mark.parametrize(
    ("kind", "remedy"),
    [
        (pl.Float64, "cast it to Int64"),
        (pl.Float32, "cast it to Int64"),
        (pl.Boolean, "Boolean: cast"),
        (pl.Date, "Date: cast"),
        (pl.Datetime, "Datetime: cast"),
        (pl.Decimal(20, 2), "Decimal: cast"),
        (pl.Int128, "at most 64 bits"),
        (pl.Binary, "Binary: cast"),
        (pl.Null, "cast"),
    ],
    ids=str,
)
@pytest.mark.parametrize("column", ["member", "work"])
def test_types_without_identifiers_are_refused(kind: Any, remedy: str, column: str) -> None:
    raw = [None] if kind == pl.Null else [b"x"] if kind == pl.Binary else [SENTINEL_INT]
    frame = pl.DataFrame({"member": [1], "work": [1]}).with_columns(pl.Series(column, raw).cast(kind))
    raises_exactly(DataTypeError, lambda: pairs_of(frame), f"{column!r}", remedy)


def test_names_that_polars_reads_as_patterns_never_choose_another_column() -> None:
    frame = pl.DataFrame({"^w.*$": [1], "work": [SENTINEL_INT], "member": [1]})
    raises_exactly(DataError, lambda: pairs_of(frame, "member", "^w.*$"), "rename")


@pytest.mark.parametrize(("column", "candidate"), [("work", SENTINEL_TEXT), ("title", 7)])
def test_candidates_of_the_other_kind_are_refused(column: str, candidate: Any) -> None:
    frame = pl.DataFrame({"member": [1], "work": [SENTINEL_INT], "title": [SENTINEL_TEXT]})
    rows = pairs_of(frame, "member", column)
    raises_exactly(
        DataTypeError, lambda: count_distinct_users(rows, [candidate]), f"{column!r}", "give the candidates as"
    )


FAILING = {
    "cast": pl.col("work").cast(pl.Int64),
    "function": pl.col("work").map_elements(lambda name: {}[name], return_dtype=pl.Int64),
    "schema": pl.col(SENTINEL_TEXT),
}


@pytest.mark.parametrize("step", FAILING)
def test_what_fails_inside_polars_carries_no_data(step: str) -> None:
    frame = pl.LazyFrame({"member": [1, 2], "work": [SENTINEL_TEXT, "7"]}).with_columns(FAILING[step])
    raises_exactly(TableError, lambda: count(frame, [7]), "its back end failed with", "Check that")


def test_what_fails_inside_duckdb_carries_no_data() -> None:
    relation = duckdb_relation({"member": ["1"], "work": [SENTINEL_TEXT]}, False)
    relation = relation.project("member, CAST(work AS INTEGER) AS work")
    raises_exactly(TableError, lambda: count(relation, [7]), "its back end failed with ConversionException")


class Panic(BaseException):
    """What a panic of a compiled back end looks like: no subclass of Exception."""


@pytest.mark.parametrize("error", [Panic, ValueError, RecursionError, MemoryError])
def test_guarded_replaces_every_error(error: type[BaseException]) -> None:
    def fail() -> None:
        raise error(SENTINEL_TEXT)

    raises_exactly(TableError, lambda: run_guarded(fail), error.__name__)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_guarded_lets_the_user_stop(error: type[BaseException]) -> None:
    def stop() -> None:
        raise error

    raises_exactly(error, lambda: run_guarded(stop))


def test_guarded_names_the_package_that_a_back_end_lacks() -> None:
    def fail() -> None:
        raise ModuleNotFoundError(SENTINEL_TEXT, name="pyarrow")

    raises_exactly(MissingExtraError, lambda: run_guarded(fail), "pyarrow", "opendp_topk[tables]")


def test_without_narwhals_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "narwhals", None)
    raises_exactly(MissingExtraError, lambda: pairs_of(None), "opendp_topk[tables]")


# Every type of a column that is accepted is counted like plain Python, and every other one is refused by its name.


for module in ("narwhals", "polars", "pyarrow", "pandas", "duckdb"):
    pytest.importorskip(module, reason="types of columns are tested where all engines are there")

ROWS = {True: [("u", "a"), ("v", "a"), (None, "b"), ("u", None), ("v", "a")], False: [(1, 2), (3, 2), (0, 0), (3, 2)]}
# On which an engine, or what lies between it and polars, has an opinion of its own.
_ODD = (
    "Categories at random",
    "Enum",
    "string_view",
    "dictionary of string_view by int8",
    "Arrow string_view",
    "object",
)
_ODD = (*_ODD, "Arrow dictionary of string by int32", "ENUM", "UINTEGER", "float64")


@pytest.mark.parametrize("engine", types.ENGINES)
def test_types_on_which_an_engine_has_an_opinion_are_counted_like_the_reference(engine: str) -> None:
    for column in types.columns(engine):
        if column[0] in _ODD:
            assert types.check(engine, column, column, ROWS[column[2]]) > 0


@pytest.mark.slow
def test_every_type_is_counted_like_the_reference() -> None:
    assert min(types.campaign(random.Random(46), 1).values()) > 20


@pytest.mark.parametrize("engine", types.ENGINES)
def test_types_without_exact_identifiers_are_refused_by_their_name(engine: str) -> None:
    texts = types.texts(engine)
    whole = texts.get("String") or texts.get("string") or texts.get("object") or texts["VARCHAR"]
    for name, make in types.refused(engine).items():
        column = make()
        other = whole(["u"] if engine != "DuckDB" else [None])
        for frame in types.frames(engine, other, column):
            # The class of an object of pandas is not in its column's type, but in its entries.
            of_entries = engine == "pandas" and str(getattr(column, "dtype", "")) == "object"
            kind = tk.errors.DataError if of_entries else tk.errors.DataTypeError
            error = raises_exactly(kind, lambda frame=frame: types.PAIRS[0].validate(frame), "'work'", "cast")
            assert "Unknown" not in str(error), name


@pytest.mark.parametrize("name", ["*", "^.*$", "^member$"])
@pytest.mark.parametrize("engine", types.ENGINES)
def test_a_name_that_is_a_pattern_of_columns_is_refused(engine: str, name: str) -> None:
    domain = tk.FrameDomain("member", name)
    if engine == "DuckDB":
        import duckdb

        frame = duckdb.sql(f'SELECT 1 AS member, 2 AS "{name}", 3 AS work')
    else:
        make = types.integers(engine)["int64"]
        frame = next(types.frames(engine, make([1]), make([2])))
        renamed = {
            "polars": lambda: frame.rename({"work": name}),
            "pandas": lambda: frame.rename(columns={"work": name}),
        }
        frame = renamed.get(engine, lambda: frame.rename_columns(["member", name]))()
    raises_exactly(tk.errors.DataError, lambda: domain.validate(frame), "pattern", "rename")


def _arrow() -> Any:
    import pyarrow as pa

    ends = pa.py_buffer(np.array([0, 1, 2, 4], np.int32).tobytes())
    return pa.table(
        {"member": ["u", "v", "w"], "work": pa.StringArray.from_buffers(3, ends, pa.py_buffer(b"ab\xff\xfe"))}
    )


def _broken(form: str) -> Any:
    """A table whose last item is no UTF-8, as Arrow says that strings are."""
    import pandas as pd
    import polars as pl
    import pyarrow.dataset

    table = _arrow()
    if form == "polars":
        return pl.from_arrow(table)
    if form == "pandas":
        return table.to_pandas(types_mapper=pd.ArrowDtype)
    return pyarrow.dataset.dataset(table) if form == "dataset" else table


@pytest.mark.parametrize("form", ["pyarrow", "dataset", "polars", "pandas"])
def test_keys_that_are_no_text_are_refused_before_anything_is_drawn(form: str) -> None:
    keep = types.PAIRS >> tk.then_bound_contributions(most=1, by="order")
    for count in (types.PAIRS, keep):
        counts = count >> tk.then_count_by_item(candidates=None)
        raises_exactly(tk.errors.TableError, lambda counts=counts: counts(_broken(form)), "could not be read")
