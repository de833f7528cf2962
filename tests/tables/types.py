"""Types of columns by engine: frames of each that are counted like plain Python, and types that are refused."""

import datetime
import decimal
import importlib.metadata
import random
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import opendp_topk as tk
from opendp_topk.tables.frames import identifier_columns
from tests.oracles.counts import distinct_users

Values = list[Any]
Make = Callable[[Values], Any]  # a column of an engine
ENGINES = ("polars", "pyarrow", "pandas", "DuckDB")
PAIRS = tk.FrameDomain("member", "work"), tk.UserDistance()
_SHORT = ["0", "1", "1.0", "nan", "None", "NULL", "ä", "a\u0308", "A", "a", "", "a "]
_WORDS = [*_SHORT, "a word of more than twelve bytes"]
_TWINS = ("a\u0308", "a ")  # no list of candidates may hold them beside what they look like
_WIDTHS = {"8": 2**7, "16": 2**15, "32": 2**31, "64": 2**63}
_SQL = {"TINYINT": "8", "SMALLINT": "16", "INTEGER": "32", "BIGINT": "64"}


def pairs_of(frame: Any, user: str = "member", item: str = "work", value: str | None = None) -> Any:
    """The columns of identifiers, and of values, that are counted."""
    return identifier_columns(frame, {"user": user, "item": item}, value)


def _at_least(package: str, *version: int) -> bool:
    return tuple(map(int, importlib.metadata.version(package).split(".")[: len(version)])) >= version


def _polars_texts() -> dict[str, Make]:
    import polars as pl

    def made(dtype: Any, values: Values) -> Any:
        if dtype is pl.Enum:
            dtype = pl.Enum(sorted({value for value in values if value is not None}, reverse=True))
        return pl.Series(values, dtype=pl.String).cast(dtype)

    def named(physical: Any, values: Values) -> Any:
        return made(pl.Categorical(pl.Categories("words", "tests", physical)), values)

    kinds = {"String": pl.String, "Categorical": pl.Categorical, "Enum": pl.Enum}
    makes: dict[str, Make] = {name: partial(made, dtype) for name, dtype in kinds.items()}
    if _at_least("polars", 2):  # narwhals does not know those of older ones, which are refused
        makes |= {f"Categories {kind}": partial(named, kind) for kind in (pl.UInt8, pl.UInt16, pl.UInt32)}
        makes["Categories at random"] = lambda values: made(pl.Categorical(pl.Categories.random()), values)
    return makes


def _arrow_texts() -> dict[str, Make]:
    import pyarrow as pa

    def split(values: Values) -> list[Values]:
        return [values[: len(values) // 3], values[len(values) // 3 :]]

    def plain(dtype: Any, values: Values) -> Any:
        return pa.chunked_array([pa.array([None, *part], dtype)[1:] for part in split(values)], dtype)

    def dictionary(dtype: Any, index: Any, values: Values) -> Any:
        """Chunks with dictionaries of their own, one with a null in it and one with a label that no row has."""
        chunks = []
        for at, part in enumerate(split(values)):
            labels = [*dict.fromkeys(value for value in part if value is not None), "spare", *([None] * at)]
            place = {label: code for code, label in enumerate(labels)}
            codes = [place.get(value) if value is not None or at else None for value in part]
            chunks.append(pa.DictionaryArray.from_arrays(pa.array(codes, index), pa.array(labels, dtype)))
        return pa.chunked_array(chunks)

    kinds = {"string": pa.string(), "large_string": pa.large_string()}
    if hasattr(pa, "string_view"):
        kinds["string_view"] = pa.string_view()
    makes: dict[str, Make] = {name: partial(plain, dtype) for name, dtype in kinds.items()}
    for index in (pa.int8(), pa.uint16(), pa.int32(), pa.int64()):
        makes |= {f"dictionary of {name} by {index}": partial(dictionary, kinds[name], index) for name in kinds}
    return makes


def _pandas_texts() -> dict[str, Make]:
    import pandas as pd

    def cast(dtype: str, values: Values) -> Any:
        return pd.Series(values, dtype=object).astype(dtype)

    def held(make: Make, values: Values) -> Any:
        return pd.Series(pd.arrays.ArrowExtensionArray(make(values)))

    makes: dict[str, Make] = {
        name: partial(cast, name) for name in ("object", "string[python]", "string[pyarrow]", "category")
    }
    if _at_least("pandas", 3):
        makes["str"] = partial(cast, "str")
    return makes | {f"Arrow {name}": partial(held, make) for name, make in _arrow_texts().items()}


def texts(engine: str) -> dict[str, Make]:
    """The types of texts that are accepted, each with what makes a column of it."""
    if engine == "polars":
        return _polars_texts()
    if engine == "pyarrow":
        return _arrow_texts()
    if engine == "pandas":
        return _pandas_texts()
    return {name: partial(_duckdb, name) for name in ("VARCHAR", "CHAR(40)", "ENUM")}


def integers(engine: str) -> dict[str, Make]:
    """The types of integers that are accepted; the last one of pandas holds them as floats beside nulls."""
    names = [f"{sign}{width}" for sign in ("int", "uint") for width in _WIDTHS]
    if engine == "polars":
        import polars as pl

        kinds = {name: getattr(pl, name.replace("i", "I").replace("u", "U")) for name in names}
        return {name: partial(pl.Series, dtype=kind) for name, kind in kinds.items()}
    if engine == "pyarrow":
        import pyarrow as pa

        return {name: partial(pa.array, type=getattr(pa, name)()) for name in names}
    if engine == "pandas":
        import pandas as pd
        import pyarrow as pa

        masked = [name.replace("i", "I").replace("u", "U") for name in names]
        makes: dict[str, Make] = {name: partial(pd.Series, dtype=name) for name in (*names, *masked)}
        makes |= {f"Arrow {name}": partial(pd.Series, dtype=pd.ArrowDtype(getattr(pa, name)())) for name in names}
        return {**makes, "float64": partial(pd.Series, dtype="float64")}
    return {f"{sign}{name}": partial(_duckdb, f"{sign}{name}") for sign in ("", "U") for name in _SQL}


def _duckdb(kind: str, values: Values) -> tuple[str, Values]:
    if kind == "ENUM":
        labels = sorted({value for value in values if value is not None} | {"spare"})
        kind = f"ENUM ({', '.join(chr(39) + label.replace(chr(39), chr(39) * 2) + chr(39) for label in labels)})"
    return kind, values


def frames(engine: str, member: Any, work: Any) -> Iterator[Any]:
    """Tables of these two columns, in each form that the engine has."""
    if engine == "polars":
        import polars as pl

        table = pl.DataFrame({"member": member, "work": work})
        yield from (table, table.lazy())
    elif engine == "pyarrow":
        import pyarrow as pa
        import pyarrow.dataset

        table = pa.table({"member": member, "work": work})
        yield from (table, pyarrow.dataset.dataset(table))
    elif engine == "pandas":
        import pandas as pd

        yield pd.DataFrame({"member": member, "work": work})
    else:
        import duckdb

        (user, users), (item, items) = member, work
        connection = duckdb.connect()
        connection.execute(f"CREATE TABLE loans (member {user}, work {item})")
        if users:
            connection.executemany("INSERT INTO loans VALUES (?, ?)", list(zip(users, items, strict=True)))
        yield connection.table("loans")


Column = tuple[str, Make, bool]  # a type, what makes a column of it, and whether it holds texts


def columns(engine: str) -> list[Column]:
    """All types that the engine has."""
    return [(name, make, True) for name, make in texts(engine).items()] + [
        (name, make, False) for name, make in integers(engine).items()
    ]


def check(engine: str, member: Column, work: Column, rows: list[tuple[Any, Any]]) -> int:
    """Count these rows in columns of these types in each way, and compare with plain Python; how many were compared."""
    found = list(dict.fromkeys(item for _, item in rows if item is not None))
    listed = [one for one in found[::2] if one not in _TWINS] or ["never" if work[2] else 99]
    baskets = {user: sorted({item for one, item in rows if one == user and item is not None}) for user, _ in rows}
    first = dict(Counter(basket[0] for user, basket in baskets.items() if user is not None and basket))
    every = {item: size for item, size in zip(found, distinct_users(rows, found), strict=True) if size}
    compared, told = 0, f"{engine}: {member[0]} and {work[0]}"
    for frame in frames(engine, member[1]([user for user, _ in rows]), work[1]([item for _, item in rows])):
        some = (PAIRS >> tk.then_count_by_item(candidates=listed))(frame).tolist()
        assert some == distinct_users(rows, listed), told
        assert dict((PAIRS >> tk.then_count_by_item(candidates=None))(frame)) == every, told
        assert dict((PAIRS >> tk.then_count_by_item(candidates=None, max_items=1))(frame)) == first, told
        compared += len(listed) + len(every) + len(first)
    return compared


def drawn(draw: random.Random, size: int, column: Column) -> Values:
    """Entries of few texts, or of integers of this type, its ends among them; nulls where it has them."""
    name, _, words = column
    if words:
        return draw.choices([None, *draw.sample(_WORDS, draw.randint(1, 6))], k=size)
    half = 2**40 if name == "float64" else _WIDTHS["".join(filter(str.isdigit, name)) or _SQL[name.lstrip("U")]]
    ends = (0, 2 * half - 1) if name.lower().removeprefix("arrow ").startswith("u") else (-half, half - 1)
    nulls = [] if name.startswith(("int", "uint")) else [None]
    return draw.choices([*nulls, *ends, 0, 1, 2, 3], k=size)


def campaign(draw: random.Random, times: int, sizes: tuple[int, ...] = (0, 1, 2, 7, 40)) -> dict[str, int]:
    """Count ``times`` drawn tables with each type of each engine, beside another one; counts compared by engine."""
    totals = dict.fromkeys(ENGINES, 0)
    for engine in ENGINES:
        for column in columns(engine) * times:
            member, work = draw.sample([column, draw.choice(columns(engine))], 2)
            size = draw.choice(sizes)
            rows = list(zip(drawn(draw, size, member), drawn(draw, size, work), strict=True))
            totals[engine] += check(engine, member, work, rows)
    return totals


def refused(engine: str) -> dict[str, Callable[[], Any]]:
    """Types that have no exact identifiers, each with what makes a column of one entry."""
    one = uuid.UUID(int=7)
    day = datetime.date(2024, 1, 4)
    if engine == "polars":
        import polars as pl

        values = {"floats": 1.5, "booleans": True, "dates": day, "bytes": b"x", "lists": ["x"], "structs": {"x": 1}}
        return {name: partial(pl.Series, values=[value]) for name, value in values.items()} | {
            "decimals": lambda: pl.Series([decimal.Decimal("1.5")]),
            "128 bits": lambda: pl.Series([1], dtype=pl.Int128),
            "objects": lambda: pl.Series([one], dtype=pl.Object),
        }
    if engine == "pyarrow":
        import pyarrow as pa

        values = {"floats": 1.5, "booleans": True, "dates": day, "bytes": b"x", "lists": ["x"], "structs": {"x": 1}}
        makes = {name: partial(pa.array, [value]) for name, value in values.items()}
        makes["integers in a dictionary"] = lambda: pa.array([1]).dictionary_encode()
        makes["runs"] = lambda: pa.RunEndEncodedArray.from_arrays(pa.array([1], pa.int32()), pa.array(["a"]))
        if hasattr(pa, "uuid"):
            makes["UUIDs"] = lambda: pa.array([one.bytes], pa.uuid())
        return makes
    if engine == "pandas":
        import pandas as pd

        values = {"booleans": True, "dates": pd.Timestamp(day), "bytes": b"x", "objects": one}
        makes = {name: partial(pd.Series, [value]) for name, value in values.items()}
        makes["integers in categories"] = lambda: pd.Series([1], dtype="category")
        return makes
    kinds = ("UUID", "DOUBLE", "BOOLEAN", "DATE", "BLOB", "HUGEINT", "VARCHAR[]", "STRUCT(x INTEGER)", "DECIMAL(9, 2)")
    return {kind: partial(_duckdb, kind, [None]) for kind in kinds}
