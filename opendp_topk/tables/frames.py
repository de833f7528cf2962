"""The one adapter to data frames: two columns of identifiers in, distinct users per item out.

narwhals, and the back end behind it, are imported on first use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ColumnError, DataTypeError, MissingExtraError
from .guard import guarded
from .labels import all_strings
from .packed import count_packed
from .parts import in_parts
from .spark import count_listed, positional
from .spark_plans import require_determinate

if TYPE_CHECKING:
    import narwhals as nw

_CATEGORIES = ("Categorical", "Enum")
_STRINGS = ("String", *_CATEGORIES)
_INTEGERS = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")
_LONG = 2**14  # Rows of a block on the average from which on a copy of all takes longer than the calls for each.
_RANGES = {"Int64": range(-(2**63), 2**63), "UInt64": range(2**64)}


def two_columns(frame: Any, user: str, item: str) -> nw.LazyFrame[Any]:
    """The columns ``user`` and ``item`` of ``frame``, and nothing else.

    Args:
        frame: Any eager or lazy frame that narwhals reads (polars, pandas, pyarrow, DuckDB, Spark), or a pyarrow
            dataset.
        user: The name of the column that identifies users, by integers, strings or categories.
        item: The name of the column that identifies items, by integers, strings or categories.

    Returns:
        A narwhals LazyFrame. Nothing was read but the schema, and strings that pandas holds as Python objects, which
        may be anything and so are looked at one by one.

    Raises:
        DataTypeError: ``frame`` is no data frame.
        ColumnError: A column is missing, or its type cannot hold identifiers.
        TableError: The back end could not tell the schema; a lazy frame may fail here.
        MissingExtraError: narwhals is not installed.
    """
    return identifier_columns(frame, {"user": user, "item": item})


def identifier_columns(frame: Any, roles: Mapping[str, str]) -> nw.LazyFrame[Any]:
    """The columns that ``roles`` names (role -> column), in that order; otherwise as :func:`two_columns`."""
    table = _table(frame)
    if table.implementation.is_pyspark() or table.implementation.is_pyspark_connect():
        require_determinate(table.to_native())
    names = guarded(lambda: _names(table))
    for role, name in roles.items():
        if name not in names:
            raise ColumnError(f"the table must have the column {name!r}, which the input domain declares as {role}")
        if names.count(name) > 1:
            raise ColumnError(f"the table must have one column {name!r}, the {role}, and it has several of this name")
    chosen: nw.LazyFrame[Any] = guarded(lambda: _chosen(table, names, list(roles.values())))
    schema = guarded(chosen.collect_schema)
    if schema.names() != list(roles.values()):
        raise ColumnError(f"the back end reads the name of the {' or '.join(roles)} column as a pattern: rename it")
    for name, dtype in schema.items():
        _require_identifiers(chosen, name, type(dtype).__name__)
    return guarded(lambda: _in_polars(chosen)) if chosen.implementation.is_pyarrow() else chosen


# proof-region: count_distinct_users
def count_distinct_users(rows: nw.LazyFrame[Any], candidates: Sequence[int] | Sequence[str]) -> NDArray[Any]:
    """How many distinct users have each candidate, in the order of ``candidates``, as int64.

    Rows with a null are dropped, and so are items that are no candidates; a candidate without rows has 0.

    Args:
        rows: What :func:`two_columns` returned.
        candidates: Distinct and not empty: all Python integers of 64 bits, or all strings.

    Raises:
        ColumnError: The items are strings and the candidates integers, or the other way round.
        TableError: The back end failed.
    """
    schema = guarded(rows.collect_schema)
    types = [type(dtype).__name__ for dtype in schema.dtypes()]
    if isinstance(candidates[0], str) != (types[1] in _STRINGS):  # [check-kind]
        raise ColumnError(_mismatch(schema.names()[1], candidates[0]))
    return guarded(lambda: _count(rows, types, candidates))


def _count(rows: nw.LazyFrame[Any], types: Sequence[str], candidates: Sequence[Any]) -> NDArray[Any]:
    import narwhals as nw

    kind = "String" if types[1] in _STRINGS else "UInt64" if types[1] == "UInt64" else "Int64"  # [exact-type]
    if rows.implementation.is_pyspark():
        return _placed(count_listed(rows.to_native(), kind, candidates), len(candidates))  # [spark]
    user, item = map(nw.col, rows.collect_schema().names())
    pairs = rows.select(user.alias("user"), item.alias("item"))
    integers = not set(types) & set(_STRINGS) and not rows.implementation.is_duckdb()
    if not integers:
        pairs = pairs.drop_nulls()  # [drop-nulls]
    labels = [name for name, kind in zip(("user", "item"), types, strict=True) if kind in _CATEGORIES]
    if labels:
        pairs = pairs.with_columns(nw.col(labels).cast(nw.String())).drop_nulls()  # [categories]
    scores = np.zeros(len(candidates), dtype=np.int64)
    for part in in_parts(pairs, rows):
        scores += _counted(part, kind, candidates, integers)  # [parts]
    return scores


def _counted(pairs: nw.LazyFrame[Any], kind: str, candidates: Sequence[Any], integers: bool) -> NDArray[Any]:
    """The counts of one part."""
    if integers:
        counts = _packed(_collect(pairs).drop_nulls(), candidates)  # [known-integers]
        if counts is not None:
            return counts  # [packed]
        pairs = pairs.drop_nulls()  # [known-pairs]
    return _placed(_joined(pairs, kind, candidates), len(candidates))


def _placed(found: nw.DataFrame[Any], size: int) -> NDArray[Any]:
    """The counts of found places, and 0 elsewhere."""
    scores = np.zeros(size, dtype=np.int64)  # [absent-zero]
    scores[found["place"].to_numpy()] = found["count"].to_numpy()  # [candidate-order]
    return scores


def _packed(pairs: nw.DataFrame[Any], candidates: Sequence[int]) -> NDArray[Any] | None:
    """The counts of integers, unless their range is too wide."""
    blocks = _blocks(pairs)
    kinds = {column.dtype.kind for block in blocks for column in block}
    return count_packed(blocks, candidates) if kinds <= {"i", "u"} else None


def _blocks(pairs: nw.DataFrame[Any]) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """The columns as arrays, in as many blocks as polars holds them in, if these are long: without a copy."""
    users, items = pairs["user"], pairs["item"]
    if pairs.implementation.is_polars():
        held, other = users.to_native().get_chunks(), items.to_native().get_chunks()
        if list(map(len, held)) == list(map(len, other)) and len(users) > _LONG * len(held):
            return [(one.to_numpy(), two.to_numpy()) for one, two in zip(held, other, strict=True)]  # [as-held]
    return [(users.to_numpy(), items.to_numpy())]  # [whole]


def _joined(pairs: nw.LazyFrame[Any], kind: str, candidates: Sequence[Any]) -> nw.DataFrame[Any]:
    """The candidates' places and counts, where they are not 0, for items of this type."""
    import narwhals as nw

    places = [at for at, one in enumerate(candidates) if kind == "String" or one in _RANGES[kind]]
    dtype, users = getattr(nw, kind)(), nw.len().alias("count")

    def listed(backend: Any) -> nw.DataFrame[Any]:
        columns = {"item": [candidates[at] for at in places], "place": places}
        return nw.from_dict(columns, schema={"item": dtype, "place": nw.Int64()}, backend=backend)

    if pairs.implementation.is_duckdb():  # its engine counts, and hands over one row an item
        counted = _collect(pairs.unique().group_by("item").agg(users))  # [distinct-users]
        return counted.with_columns(nw.col("item").cast(dtype)).join(listed(counted.implementation), on="item")
    typed = pairs.with_columns(nw.col("item").cast(dtype))
    placed = typed.join(listed(pairs.implementation).lazy(), on="item")  # [known-items]
    return _collect(placed.select("user", "place").unique().group_by("place").agg(users))  # [distinct-places]


# end-proof-region: count_distinct_users


def _table(frame: Any) -> Any:
    try:
        import narwhals as nw
    except ImportError:
        nw = None  # type: ignore[assignment]
    if nw is None:
        raise MissingExtraError('tables need narwhals: pip install "opendp_topk[tables]"')
    if type(frame).__module__ == "pyarrow._dataset":
        frame = guarded(lambda: _scanned(frame))
    try:
        return nw.from_native(frame)
    except Exception:
        kind = type(frame).__name__
    raise DataTypeError(
        "the table must be a data frame (polars, pandas, pyarrow, DuckDB, Spark) whose column names are distinct; this "
        f"is of type {kind}. read_table(path) makes one of a file"
    )


def _in_polars(table: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """The same rows in polars, which shares most of Arrow's memory and groups strings several times faster."""
    import narwhals as nw
    import polars as pl

    rows: Any = pl.from_arrow(table.to_native())
    same: nw.LazyFrame[Any] = nw.from_native(rows.lazy())
    return same


def _scanned(dataset: Any) -> Any:
    """A lazy frame of a pyarrow dataset."""
    import polars as pl

    return pl.scan_pyarrow_dataset(dataset)


def _names(table: Any) -> list[str]:
    names: list[str] = table.collect_schema().names()
    return list(table.to_native().columns) if table.implementation.is_pyspark() else names


def _chosen(table: Any, names: list[str], columns: list[str]) -> Any:
    """These columns, in this order."""
    if not table.implementation.is_pyspark():
        return table.lazy().select(*columns)
    import narwhals as nw

    return nw.from_native(positional(table.to_native(), [names.index(name) for name in columns], columns))


def _collect(frame: nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
    return frame.collect(engine="streaming") if frame.implementation.is_polars() else frame.collect()


def _require_identifiers(chosen: nw.LazyFrame[Any], name: str, kind: str) -> None:
    required = f"column {name!r} must hold integer, string or categorical identifiers"
    if kind.startswith("Float"):
        raise ColumnError(
            f'{required}, not {kind}: cast it to Int64 (in pandas .astype("Int64"), which integers with nulls need '
            "from the start, since float64 holds them only up to 2**53) or to strings"
        )
    if kind not in _INTEGERS and kind not in _STRINGS:
        raise ColumnError(f"{required} of at most 64 bits, not {kind}: cast it to Int64 or to strings")
    if kind in _STRINGS and not guarded(lambda: all_strings(chosen, name)):
        raise ColumnError(
            f"{required}, and this one claims strings but holds something else (objects, categories that are no "
            "strings, string_view, lone surrogates): cast it to plain strings"
        )


def _mismatch(item: str, candidate: object) -> str:
    if isinstance(candidate, str):
        return (
            f"column {item!r} holds integers but the candidates are strings: give the candidates as integers, "
            "or cast the column to strings"
        )
    return (
        f"column {item!r} holds strings but the candidates are integers: give the candidates as strings "
        "(a .csv file is read as strings), or cast the column to Int64"
    )
