"""Counts by item in data frames of all back ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, DataTypeError, MissingExtraError
from ..errors.extras import import_extra, require_threads
from .guard import run_guarded
from .packed import count_packed
from .rows import AT_ONCE, Rows, arrow_values, iterate_batches, plain_schema, select_columns, to_plain_frame
from .spark import cast_exact_columns, count_listed_items, require_determinate

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl


# Tables in parts: only one part is in memory at a time, and all rows of a user are in the same part.

Frame = TypeVar("Frame", "nw.DataFrame[Any]", "nw.LazyFrame[Any]")

# Rows of a part of users and items, and twice those of a part with a third column. Sorting as many pairs of integers
# takes half a GiB, and no question more than 2 GiB; smaller parts need more passes over large files.
_ROWS = 2**24
_BYTES = 2**29  # Bytes of text of a part. Deduplicating its rows takes about three times as much memory.

# Progress callback, called after each part with the number of parts read and the total. The total depends on the number
# of rows, so it must not be released.
watcher: ContextVar[Callable[[int, int], None] | None] = ContextVar("watcher", default=None)


# proof-region: counts_in_parts
def iterate_user_parts(rows: nw.LazyFrame[Any], *roles: str) -> Iterator[nw.LazyFrame[Any]]:
    """Yield the rows in one or more frames, to be read one after the other, with all rows of a user in the same frame.

    Args:
        rows: A snapshot. Rows with a null user may be in any part. Rows of Spark are in one part.
        roles: New names of the columns, one of which is ``user``. All but ``value`` are columns of identifiers.
    """
    import narwhals as nw

    if rows.implementation.is_pyspark():
        identifiers = [role for role in roles if role != "value"]
        yield nw.from_native(cast_exact_columns(rows.to_native().toDF(*roles), *identifiers))  # [spark-part]
        return
    names = rows.collect_schema().names()
    table = rows.select(nw.col(name).alias(role) for name, role in zip(names, roles, strict=True))  # [roles]
    passes = _count_passes(rows)
    for at in range(passes):
        yield table if passes == 1 else _filter_part(table, passes, at)  # [part]
        told = watcher.get()
        if told is not None:
            told(at + 1, passes)


def _count_passes(rows: nw.LazyFrame[Any]) -> int:
    import polars as pl

    held: pl.LazyFrame = rows.to_native()
    schema = held.collect_schema()
    texts = [name for name, kind in schema.items() if kind == pl.String]
    sizes = held.select(pl.len(), *(pl.col(name).str.len_bytes().sum().alias(f"bytes {name}") for name in texts))
    number, *lengths = map(int, sizes.collect(engine="streaming").row(0))
    return max(1, -(-number * (len(schema) - 1) // _ROWS), -(-sum(lengths) // _BYTES))


def _filter_part(table: nw.LazyFrame[Any], passes: int, at: int) -> nw.LazyFrame[Any]:
    import narwhals as nw
    import polars as pl

    held: pl.LazyFrame = table.to_native()
    return copy_strings(nw.from_native(held.filter(pl.col("user").hash() % passes == at)))  # [by-user]


def copy_strings(frame: Frame) -> Frame:
    """Return the same rows with their own strings: a filtered frame keeps all strings of its source in memory."""
    import narwhals as nw
    import polars as pl

    held: Any = frame.to_native()
    return nw.from_native(  # type: ignore[no-any-return]
        held.with_columns(pl.col(pl.String) + "")  # [own-texts]
    )


# end-proof-region: counts_in_parts


# Conversion of pandas columns to polars: copies, in which every entry that cannot be an identifier is null.
#
# The pandas type of a column depends on its entries: a null turns integers into floats. One string among numbers turns
# them into objects, which are strings in one chunk of a file and numbers in another. So each entry is converted
# independently of the others: among objects an integer becomes its decimal text, and an entry that cannot be an
# identifier becomes null.

_EXACT = 2**53  # floats represent all integers below this exactly
_INEXACT = (
    "column {!r} must contain identifiers, but it contains floats of at least 2^53, which may represent "
    'several integers: read it as .astype("Int64") from the start, or as strings'
)


# proof-region: pandas_columns
def identifier_series(column: Any, name: str) -> pl.Series:
    """Convert a column of integers, floats (integers beside nulls), strings, objects or categories to identifiers.

    Floats that are not integers become null. Among objects and categories, integers and integral floats become their
    decimal text, and anything else that is not a valid Unicode string becomes null.
    """
    import polars as pl

    dtype = column.dtype
    if dtype.kind == "f":
        return _integers_of_floats(column.to_numpy(np.float64, na_value=np.nan), name)  # [floats]
    if hasattr(dtype, "pyarrow_dtype") or getattr(dtype, "storage", "") == "pyarrow":
        return _from_arrow(column, name)  # [arrow]
    if hasattr(dtype, "categories"):
        labels = _identifier_strings(list(dtype.categories), name)
        codes = pl.Series(np.array(column.cat.codes, dtype=np.int64))
        known = codes.to_frame("code").select(pl.when(pl.col("code") >= 0).then(pl.col("code"))).to_series()
        return labels.gather(known).alias(name)  # [category-labels]
    return number_series(column, name) if dtype.kind in "iu" else _identifier_strings(column.tolist(), name)


def number_series(column: Any, name: str) -> pl.Series:
    """Convert a column of numbers: a NumPy, masked or Arrow column."""
    import polars as pl

    dtype = column.dtype
    if hasattr(dtype, "pyarrow_dtype"):
        return _from_arrow(column, name)  # [arrow-numbers]
    kind = getattr(dtype, "numpy_dtype", dtype)
    missing = np.zeros(len(column), dtype=np.bool_) if kind is dtype else np.array(column.isna(), dtype=np.bool_)
    values = column.to_numpy(dtype=kind) if kind is dtype else column.to_numpy(dtype=kind, na_value=0)
    table = pl.DataFrame({"value": np.array(values), "missing": missing})  # [copied]
    return table.select(pl.when(~pl.col("missing")).then(pl.col("value")).alias(name)).to_series()


def _integers_of_floats(values: Any, name: str) -> pl.Series:
    """Convert floats to integers; any other float becomes null."""
    import polars as pl

    finite = np.isfinite(values)
    if np.any(np.abs(values[finite]) >= _EXACT):  # [exact-floats]
        raise DataError(_INEXACT.format(name))
    whole = finite & (np.floor(np.where(finite, values, 0.5)) == values)
    table = pl.DataFrame({"value": np.where(whole, values, 0).astype(np.int64), "whole": whole})
    return table.select(pl.when(pl.col("whole")).then(pl.col("value")).alias(name)).to_series()  # [whole]


def _from_arrow(column: Any, name: str) -> pl.Series:
    """Convert an Arrow column by way of a table, since its chunks may have different dictionaries."""
    import polars as pl
    import pyarrow as pa

    return pl.DataFrame(pl.from_arrow(arrow_values(pa.table({name: column.array.__arrow_array__()}))))[name]


def _identifier_strings(values: list[Any], name: str) -> pl.Series:
    """Convert objects: strings stay, integral numbers become their decimal text, and all others become null."""
    import polars as pl

    found = [_identifier_text(value, name) for value in values]  # [strings]
    if not any(one is not None for one in found) and not all(_is_missing(value) for value in values):
        raise DataError(
            f"column {name!r} must contain integer, string or categorical identifiers, but it contains other "
            "objects: cast it to Int64 or to strings"
        )  # [some-string]
    return pl.Series(name, found, dtype=pl.String)


def _identifier_text(value: Any, name: str) -> str | None:
    if issubclass(type(value), np.integer | np.floating) and not issubclass(type(value), np.timedelta64):
        value = value.item()
    kind = type(value)
    if issubclass(kind, float) and float.is_integer(value):
        if abs(value) >= _EXACT:
            raise DataError(_INEXACT.format(name))  # [exact-objects]
        return int.__repr__(float.__int__(value))  # [whole-objects]
    try:
        if issubclass(kind, int) and kind is not bool:
            return int.__repr__(value)  # [decimal]
        if issubclass(kind, str):
            str.encode(value)
            return str.__str__(value)
    except ValueError:  # an integer above Python's limit of digits, or a lone surrogate
        pass
    return None


def _is_missing(value: Any) -> bool:
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


# end-proof-region: pandas_columns


# Adapter to data frames: counts of distinct users per item from two columns of identifiers.
#
# narwhals and the back end of a table are imported on first use.

STRINGS = ("String", "Categorical", "Enum")
INTEGERS = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")
NUMBERS = (*(kind for kind in INTEGERS if kind != "UInt64"), "Float32", "Float64", "Decimal")
_ARROW_STRINGS = ("string", "large_string", "string_view")
_ENGINES = ("POLARS", "PANDAS", "PYARROW", "DUCKDB", "PYSPARK", "PYSPARK_CONNECT")
_AHEAD = {"batch_size": AT_ONCE, "batch_readahead": 2, "fragment_readahead": 1}  # the default 16 takes GiBs for text
_LONG = 2**14  # Mean rows per block above which copying all is slower than a call per block.
RANGES = {"Int64": range(-(2**63), 2**63), "UInt64": range(2**64)}


# proof-region: identifier_columns
def identifier_columns(frame: Any, roles: Mapping[str, str], value: str | None = None) -> Rows:
    """Return the columns of a data frame that ``roles`` and ``value`` name, in that order, and no others.

    Args:
        frame: An eager or lazy frame of polars, pandas, pyarrow, DuckDB or Spark, or a pyarrow dataset.
        roles: Names of the columns of identifiers, which are integers, strings or categories, by role, such as "user".
        value: Name of a last column, of numbers: integers up to Int64, floats or decimals.

    Returns:
        Rows that are read once, when they are counted. Only the schema of a lazy frame, relation or dataset has been
            read. Columns of pandas have been copied.
    """
    chosen, columns = (
        select_declared_columns(frame, roles, value),
        [*roles.values(), *([] if value is None else [value])],
    )
    return chosen if isinstance(chosen, Rows) else run_guarded(lambda: _build_rows(frame, chosen, columns, value))


def select_declared_columns(frame: Any, roles: Mapping[str, str], value: str | None = None) -> Any:
    """Return the same columns as a narwhals frame, after checking their names and types. No row is read."""
    table = _to_narwhals_table(frame)
    kind = table.implementation
    if not isinstance(table, Rows) and (kind.is_pyspark() or kind.is_pyspark_connect()):
        require_determinate(table.to_native())
    names = run_guarded(lambda: _column_names(table))
    wanted = {**roles} if value is None else {**roles, "value": value}
    for role, name in wanted.items():
        if name not in names:
            raise DataError(
                f"the table must have the column {name!r}, which the input domain declares as {role}. Case and blanks "
                "of names count; the index of a pandas frame is not a column: use reset_index()"
            )
        if names.count(name) > 1:
            raise DataError(f"the table must have one column {name!r}, the {role}, but it has several with this name")
        if name == "*" or (name.startswith("^") and name.endswith("$")):  # [no-pattern]
            raise DataError(f"the column {name!r}, the {role}, has a name that is read as a pattern: rename it")
    columns = list(wanted.values())
    chosen = run_guarded(lambda: _select_columns(table, columns))  # [columns-chosen]
    schema = run_guarded(chosen.collect_schema)
    if schema.names() != columns:
        raise DataError("the back end must distinguish the column names, but confuses two of them: rename one")
    for name in roles.values():
        _require_identifiers(chosen, name, type(schema[name]).__name__)  # [check-types]
    if value is not None:
        _require_numbers(value, type(schema[value]).__name__)  # [check-numbers]
    return chosen


def _build_rows(frame: Any, chosen: Any, columns: list[str], value: str | None) -> Rows:
    """Return the rows of these columns: data in memory is converted at once, and other data is read when needed."""
    import narwhals as nw
    import polars as pl

    kind, schema, native = chosen.implementation, chosen.collect_schema(), chosen.to_native()
    if kind.is_pyspark():
        return Rows.from_frame(chosen)  # [spark-rows]
    if _is_dataset(frame):
        return Rows(plain_schema(schema), lambda: iterate_batches(frame.scanner(columns=columns, **_AHEAD)))
    if kind.is_pandas():
        read = {name: number_series if name == value else identifier_series for name in columns}
        native = pl.DataFrame([read[name](native[name], name) for name in columns])  # [pandas-rows]
    elif kind.is_pyarrow():
        native = pl.from_arrow(arrow_values(native))  # [arrow-rows]
    if isinstance(native, pl.DataFrame):
        return Rows.from_frame(nw.from_native(to_plain_frame(native).lazy()))  # [loaded]
    return Rows(plain_schema(schema), lambda: iterate_batches(native))  # [not-loaded]


# end-proof-region: identifier_columns


# proof-region: count_distinct_users
def count_distinct_users(rows: Rows, candidates: Sequence[int] | Sequence[str]) -> NDArray[Any]:
    """Return the number of distinct users of each candidate, in the order of ``candidates``, as int64.

    Rows with a null are dropped, and so are items that are not candidates. A candidate without rows has the count 0.

    Args:
        rows: Rows of :func:`identifier_columns` for users and items.
        candidates: Distinct and not empty: all Python integers of 64 bits, or all strings.
    """
    types = column_kinds(rows)
    if isinstance(candidates[0], str) != (types[1] == "String"):  # [check-kind]
        raise DataTypeError(kind_mismatch_message(rows.collect_schema().names()[1], candidates[0]))
    held = rows.read_snapshot()  # [held]
    return run_guarded(lambda: _count_candidates(held, types, candidates))


def _count_candidates(rows: nw.LazyFrame[Any], types: Sequence[str], candidates: Sequence[Any]) -> NDArray[Any]:
    kind = exact_kind(types[1])
    if rows.implementation.is_pyspark():
        return _scores_at_places(count_listed_items(rows.to_native(), kind, candidates), len(candidates))  # [spark]
    scores = np.zeros(len(candidates), dtype=np.int64)
    for part in iterate_user_parts(rows, "user", "item"):
        scores += _count_part(part, kind, candidates, "String" not in types)  # [parts]
    return scores


def _count_part(pairs: nw.LazyFrame[Any], kind: str, candidates: Sequence[Any], integers: bool) -> NDArray[Any]:
    if integers:
        counts = _count_packed_integers(_collect_streaming(pairs).drop_nulls(), candidates)  # [known-integers]
        if counts is not None:
            return counts  # [packed]
    return _scores_at_places(_count_by_join(pairs.drop_nulls(), kind, candidates), len(candidates))  # [known-pairs]


def _scores_at_places(found: nw.DataFrame[Any], size: int) -> NDArray[Any]:
    """Return the counts at their candidates' indices, and 0 elsewhere."""
    scores = np.zeros(size, dtype=np.int64)  # [absent-zero]
    scores[found["place"].to_numpy()] = found["count"].to_numpy()  # [candidate-order]
    return scores


def _count_packed_integers(pairs: nw.DataFrame[Any], candidates: Sequence[int]) -> NDArray[Any] | None:
    """Return the counts of integer pairs, or None if their range is too wide."""
    blocks = _column_blocks(pairs)
    kinds = {column.dtype.kind for block in blocks for column in block}
    return count_packed(blocks, candidates) if kinds <= {"i", "u"} else None


def _column_blocks(pairs: nw.DataFrame[Any]) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """Return the columns as arrays: in blocks of polars, without a copy, if these are long; otherwise in one block."""
    users, items = pairs["user"], pairs["item"]
    held, other = users.to_native().get_chunks(), items.to_native().get_chunks()
    if list(map(len, held)) == list(map(len, other)) and len(users) > _LONG * len(held):
        return [(one.to_numpy(), two.to_numpy()) for one, two in zip(held, other, strict=True)]  # [as-held]
    return [(users.to_numpy(), items.to_numpy())]  # [whole]


def _count_by_join(pairs: nw.LazyFrame[Any], kind: str, candidates: Sequence[Any]) -> nw.DataFrame[Any]:
    """Return the indices and counts of the candidates with nonzero counts, for items of type ``kind``."""
    import narwhals as nw

    places = [at for at, one in enumerate(candidates) if kind == "String" or one in RANGES[kind]]
    dtype, users = getattr(nw, kind)(), nw.len().alias("count")

    def candidate_frame(backend: Any) -> nw.DataFrame[Any]:
        columns = {"item": [candidates[at] for at in places], "place": places}
        return nw.from_dict(columns, schema={"item": dtype, "place": nw.Int64()}, backend=backend)

    typed = pairs.with_columns(nw.col("item").cast(dtype))
    placed = typed.join(candidate_frame(pairs.implementation).lazy(), on="item")  # [known-items]
    return _collect_streaming(placed.select("user", "place").unique().group_by("place").agg(users))  # [distinct-places]


def column_kinds(rows: Rows) -> list[str]:
    return [type(dtype).__name__ for dtype in rows.collect_schema().dtypes()]


def exact_kind(kind: str) -> str:
    """Return the type that represents all identifiers of a column of type ``kind``."""
    return kind if kind in ("String", "UInt64") else "Int64"  # [exact-type]


# end-proof-region: count_distinct_users


def _to_narwhals_table(frame: Any) -> Any:
    nw = import_extra("narwhals", "tables require narwhals", "opendp_topk[tables]")
    pl = import_extra("polars", "tables require polars", "opendp_topk[tables]")
    if [int(part) for part in pl.__version__.split(".")[:2]] < [1, 37]:  # older ones end a pass early if a step fails
        raise MissingExtraError('tables require polars 1.37 or newer: pip install --upgrade "opendp_topk[tables]"')
    require_threads()
    if isinstance(frame, Rows):
        return frame
    kind = type(frame).__name__
    if _is_dataset(frame):
        frame = run_guarded(frame.schema.empty_table)
    try:
        table = nw.from_native(frame)
    except Exception:
        table = None
    if table is not None and table.implementation.name in _ENGINES:  # [engines]
        return table
    raise DataTypeError(
        "the table must be a data frame (polars, pandas, pyarrow, DuckDB, Spark) with distinct column names "
        f"(rename repeated ones), not {kind}. To read a file, use tk.tables.read_table(path); polars.DataFrame(data) "
        "makes a frame of a dict, a list or an array"
    )


def _is_dataset(frame: Any) -> bool:
    return ("pyarrow._dataset", "Dataset") in ((one.__module__, one.__name__) for one in type(frame).__mro__)


def _column_names(table: Any) -> list[str]:
    names: list[str] = table.collect_schema().names()
    return list(table.to_native().columns) if table.implementation.is_pyspark() else names


def _select_columns(table: Any, columns: list[str]) -> Any:
    return table.select_columns(columns) if isinstance(table, Rows) else select_columns(table, columns)


def _collect_streaming(frame: nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
    return frame.collect(engine="streaming")


def _require_identifiers(chosen: Any, name: str, kind: str) -> None:
    required = f"column {name!r} must contain integer, string or categorical identifiers"
    if chosen.implementation.is_pandas() and kind in ("Float64", "Object"):
        return  # their entries are checked one by one
    if kind.startswith("Float"):
        raise DataTypeError(f"{required}, not {kind}: cast it to Int64 or to strings")
    if kind not in INTEGERS and kind not in STRINGS:
        kind = run_guarded(lambda: _native_type_name(chosen, name)) if kind == "Unknown" else kind
        raise DataTypeError(f"{required} of at most 64 bits, not {kind}: cast it to Int64 or to strings")
    if kind in STRINGS and not run_guarded(lambda: _has_string_labels(chosen, name)):
        raise DataTypeError(f"{required}, but its categories are not strings: cast it to plain strings")


def _native_type_name(chosen: Any, name: str) -> str:
    """Return the back end's name for the type of a column that narwhals does not know."""
    native = chosen.to_native()
    if chosen.implementation.is_pyarrow():
        return str(native.schema.field(name).type)
    if chosen.implementation.is_duckdb():
        return str(native.types[native.columns.index(name)])
    return str(native[name].dtype if chosen.implementation.is_pandas() else native.collect_schema()[name])


def _has_string_labels(chosen: Any, name: str) -> bool:
    """Return whether a string or categorical column contains strings, which Arrow and pandas do not guarantee."""
    if chosen.implementation.is_pyarrow():
        held = chosen.to_native().schema.field(name).type
    elif chosen.implementation.is_pandas():
        dtype = chosen.to_native()[name].dtype
        labels: Any = getattr(dtype, "categories", ())
        if len(labels) and labels.dtype.kind in "iufbmMc":
            return False
        held = getattr(dtype, "pyarrow_dtype", "string")
    else:
        return True
    return str(getattr(held, "value_type", held)) in _ARROW_STRINGS


def _require_numbers(name: str, kind: str) -> None:
    if kind not in NUMBERS:  # [numbers]
        raise DataTypeError(
            f"column {name!r} must contain integers up to Int64, floats or decimals, not {kind}: cast it to "
            "Int64 or Float64 (a .csv file is read as strings)"
        )


def require_kinds(chosen: Any, listed: Mapping[tuple[str, str], Any]) -> None:
    """Raise DataTypeError if a column cannot contain the entries of a public list.

    ``chosen`` is the result of :func:`select_declared_columns`. ``listed`` maps each column and the name of its entries
    to one entry of the list.
    """
    schema = run_guarded(chosen.collect_schema)
    for (name, what), entry in listed.items():
        strings = type(schema[name]).__name__ in (*STRINGS, "Object")  # objects of pandas are read as strings
        if isinstance(entry, str) != strings:
            held, given = ("strings", "integers") if strings else ("integers", "strings")
            raise DataTypeError(
                f"column {name!r} contains {held}, but the {what} are {given}: give the {what} as {held}, or "
                "cast the column (a .csv file is read as strings)"
            )


def kind_mismatch_message(item: str, candidate: object) -> str:
    if isinstance(candidate, str):
        return (
            f"column {item!r} contains integers, but the candidates are strings: give the candidates as "
            "integers, or cast the column to strings"
        )
    return (
        f"column {item!r} contains strings, but the candidates are integers: give the candidates as strings "
        "(a .csv file is read as strings), or cast the column to Int64"
    )
