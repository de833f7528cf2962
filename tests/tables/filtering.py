"""Conditions on rows, over files of several writers, under every engine, against plain Python on each row.

A file and the same file with one more row are asked about the same conditions. What an engine could decide from is
false or misleading on purpose: groups of rows whose least and greatest value leave out NaN, dictionaries of -0.0 alone,
texts that begin alike for longer than statistics are, and marks "sorted" that one row makes untrue.

    python -m tests.tables.filtering [rounds]
"""

import contextlib
import datetime
import functools
import math
import random
import struct
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from importlib import metadata
from pathlib import Path
from typing import Any

from opendp_topk.apps.planning import sources as engines
from opendp_topk.apps.planning.releasing import TableOptions
from opendp_topk.tables.capping import count_rows_by_number
from opendp_topk.tables.frames import identifier_columns
from opendp_topk.tables.keyed import totals_by_item
from opendp_topk.tables.where import parse_condition
from tests.oracles.totals import FARTHEST, clamped_totals
from tests.transformations.test_quantile_scores import kept as spaced

from .spark_session import BRIEF, session

ENGINES = ("polars", "duckdb", "spark")
WRITERS = ("pyarrow", "polars", "duckdb", "spark")
STEP, BOUNDS = 0.5, (-9, 40)
NAN, INF = math.nan, math.inf
Test = Callable[[Any, int], bool | None]
Row = tuple[int, int, int, Any]  # a number of its own, a user, an item, and the value that conditions look at


def single(number: float) -> float:
    """The number as float32 holds it."""
    return float(struct.unpack("f", struct.pack("f", number))[0])


_LONG = ["p" * length + end for length in (70, 300) for end in ("", "a", "b", "\U0010ffff" * 20, "ü", "z", "'")]
POOLS: dict[str, list[Any]] = {
    "double": [NAN, None, -0.0, 0.0, 1.0, 5.0, 5.5, 9.0, -3.25, 0.1, 1e300, INF, -INF],
    "float": [NAN, None, -0.0, 0.0, 1.0, 5.0, 9.0, -3.25, INF, -INF, single(0.1), single(1e30)],
    "zeros": [-0.0, 0.0, None, NAN, 5e-324],
    "decimal": [None, *(Decimal(n).scaleb(-2) for n in (0, 1, 500, -300, 10**9))],
    "date32": [None, *(datetime.date(year, month, 28) for year in (1970, 1999, 2024) for month in (1, 2, 12))],
    "long text": [None, *_LONG],
    "text": [None, "", "a", "A", "b", "ü", "z", "\U0010ffff", "'"],
    "int64": [None, 0, 1, 5, 9, -3, 2**53 + 1, 2**63 - 1, -(2**63)],
    "bool": [None, True, False],
}


def arrow_type(kind: str) -> Any:
    """The type of pyarrow of a column of this kind."""
    import pyarrow as pa

    texts = {"text": pa.string(), "long text": pa.string()}
    made = {"zeros": pa.float64(), "float": pa.float32(), "double": pa.float64(), "bool": pa.bool_(), **texts}
    return made.get(kind) or {"decimal": pa.decimal128(18, 2), "date32": pa.date32(), "int64": pa.int64()}[kind]


def order(value: Any) -> Any:
    """What values are compared by: texts by bytes, and NaN equals itself and is above all other numbers."""
    if isinstance(value, str):
        return value.encode()
    return (value != value, 0.0 if value != value else value) if isinstance(value, float) else value


def test_of(sign: str, constant: Any) -> Test:
    """A comparison, which is unknown of a null."""

    def holds(value: Any, _: int) -> bool | None:
        if value is None:
            return None
        one, other = order(value), order(float(constant) if isinstance(value, float) else constant)
        same = one == other
        return {"=": same, "!=": not same, "<": one < other, ">": one > other}.get(
            sign, same or (one < other if sign == "<=" else one > other)
        )

    return holds


def negated(one: Test) -> Test:
    def holds(value: Any, number: int) -> bool | None:
        found = one(value, number)
        return None if found is None else not found

    return holds


def joined(one: Test, other: Test, decisive: bool) -> Test:
    """``or`` where True decides, ``and`` where False does."""

    def holds(value: Any, number: int) -> bool | None:
        found = one(value, number), other(value, number)
        return decisive if decisive in found else None if None in found else not decisive

    return holds


def conditions(kind: str, size: int, chance: random.Random) -> list[tuple[str, Test]]:
    """Fifteen conditions on columns x and n, and what they say of a row."""
    known = [one for one in POOLS[kind] if one is not None and order(one) not in map(order, (NAN, INF, -INF))]
    known += {"double": [7.0, -1e9], "float": [0.1, 7.0], "text": ["m"], "long text": ["p" * 300 + "m", "p"]}.get(
        kind, []
    )
    a, b = chance.sample(known, 2)

    def before() -> tuple[str, Test]:
        limit = chance.randrange(4 * size)
        return f"n < {limit}", lambda _, number: number < limit

    def empty(value: Any, _: int) -> bool:
        return value is None

    def compared(sign: str, constant: Any) -> tuple[str, Test]:
        return f"x {sign} {_written(constant)}", test_of(sign, constant)

    def both(one: tuple[str, Test], by: str, other: tuple[str, Test]) -> tuple[str, Test]:
        return f"({one[0]} {by} {other[0]})", joined(one[1], other[1], by == "or")

    def not_(one: tuple[str, Test]) -> tuple[str, Test]:
        return f"not {one[0]}", negated(one[1])

    null = "x is null", empty
    among = f"x in ({_written(a)}, {_written(b)})", joined(test_of("=", a), test_of("=", b), True)
    either = both(null, "or", before()), both(null, "and", before())
    nulls = [null, ("x is not null", negated(empty)), not_(null), *either]
    if kind == "decimal":  # is compared with nothing, so that there is one question to ask, and it is joined
        mixed = [both(one, by, not_(before())) for one in nulls for by in ("and", "or")]
        return [*nulls, *mixed]
    signs = ["=", "!="] if kind == "bool" else ["=", "!=", "<", "<=", ">", ">="]
    single_ones = [compared(sign, chance.choice((a, b))) for sign in signs]
    found = [*nulls[:2], among, not_(among), *single_ones]
    while len(found) < 15:
        one, other = compared(chance.choice(signs), a), compared(chance.choice(signs), b)
        found.append(
            chance.choice((both(one, "and", other), both(not_(one), "or", before()), not_(both(one, "or", before()))))
        )
    return found


def _written(constant: Any) -> str:
    if isinstance(constant, bool):
        return str(constant).lower()
    if isinstance(constant, str | datetime.date):
        return "'" + str(constant).replace("'", "''") + "'"
    return repr(constant)


@dataclass(frozen=True)
class Content:
    """Rows in groups that a file keeps together, and the column that is said to be sorted, if one is."""

    kind: str
    groups: list[list[Row]]
    marked: str | None

    @property
    def rows(self) -> list[Row]:
        return [row for group in self.groups for row in group]


def contents(kind: str, size: int, chance: random.Random) -> tuple[Content, Content]:
    """Groups of ``size`` rows, each of a few values, and the same with one more row in one of them."""
    marked = chance.choice([None, None, "n", "x"])
    of_floats = kind in ("double", "float", "zeros")
    few = [
        [NAN, chance.choice(POOLS[kind])] if of_floats and at % 2 else chance.sample(POOLS[kind], 2) for at in range(4)
    ]
    values = [chance.choices(those, k=size) for those in few]
    if marked == "x":
        flat = [one for group in values for one in group]
        flat = [one for one in flat if one is None] + sorted((one for one in flat if one is not None), key=order)
        values = [flat[at : at + size] for at in range(0, len(flat), size)]
    groups = [
        [(at * size + place, chance.randrange(30), chance.randrange(5), one) for place, one in enumerate(group)]
        for at, group in enumerate(values)
    ]
    more = [list(group) for group in groups]
    chosen = chance.choice(more)
    place = size // 2 if marked else chance.randrange(size)  # where a search by halves looks first
    chosen.insert(place, (4 * size, 30, chance.randrange(5), chance.choice(POOLS[kind])))
    return Content(kind, groups, marked), Content(kind, more, marked)


def write(writer: str, content: Content, path: Path, chance: random.Random, spark: Any) -> None:
    """The file, or for Spark a folder of a file for each group."""
    import pyarrow as pa

    names = ["n", "u", "i", "x"]
    types = [pa.int64(), pa.int64(), pa.int64(), arrow_type(content.kind)]
    schema = pa.schema(list(zip(names, types, strict=True)))

    def table(rows: Sequence[Row]) -> Any:
        columns = zip(*rows, strict=True)
        return pa.table([pa.array(one, kind) for one, kind in zip(columns, types, strict=True)], schema=schema)

    if writer == "pyarrow":
        import pyarrow.parquet as pq

        marks = [pq.SortingColumn(names.index(content.marked), nulls_first=True)] if content.marked else None
        dictionary, index = chance.random() < 0.5, chance.random() < 0.5
        with pq.ParquetWriter(
            path, schema, sorting_columns=marks, use_dictionary=dictionary, write_page_index=index
        ) as stream:
            for group in content.groups:
                stream.write_table(table(group), row_group_size=len(group))
    elif writer == "polars":
        import polars as pl

        frame: Any = pl.from_arrow(table(content.rows))
        marked = frame.with_columns(pl.col(content.marked).set_sorted()) if content.marked else frame
        marked.write_parquet(path, row_group_size=len(content.groups[0]))
    elif writer == "duckdb":
        import duckdb

        with duckdb.connect() as connection:
            connection.register("content", table(content.rows))
            connection.execute(f"COPY (FROM content) TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 2048)")
    else:
        places = pa.array([at for at, group in enumerate(content.groups) for _ in group])
        frame = spark.createDataFrame(table(content.rows).append_column("group", places))
        frame.repartitionByRange(len(content.groups), "group").drop("group").write.parquet(f"file://{path}")


def kept_numbers(engine: str, path: Path, conditions: Sequence[str]) -> list[list[int]]:
    """For each condition the numbers of the rows that the command would count."""
    if engine == "spark":
        return _kept_in_spark(path, conditions)
    found = []
    for condition in conditions:
        reader = engines.TableReader.from_options(TableOptions(where=condition, engine=engine))
        with reader.open_source(str(path), ["n", "i"]) as table:
            found.append(sorted(identifier_columns(table.frame, {"user": "n", "item": "i"}).collect()["n"].to_list()))
    return found


def _kept_in_spark(path: Path, conditions: Sequence[str]) -> list[list[int]]:
    """The same in one job, in which each condition has a scan of its own."""
    from pyspark.sql import functions as F

    found: list[list[int]] = [[] for _ in conditions]
    with engines._open_in_spark(str(path), None) as opened:
        rows = [
            identifier_columns(
                parse_condition(one).filter_rows(opened.frame, ["n", "i"]), {"user": "n", "item": "i"}
            ).to_native()
            for one in conditions
        ]
        marked = [one.select("n", F.lit(at).alias("at")) for at, one in enumerate(rows)]
        for number, at in functools.reduce(lambda one, other: one.union(other), marked).collect():
            found[at].append(number)
    return list(map(sorted, found))


def sums_and_numbers(engine: str, path: Path, condition: str) -> tuple[dict[int, int], list[int]]:
    """The sums of x by item, and how often each number of a grid occurs, of the rows that are kept."""
    reader = engines.TableReader.from_options(TableOptions(where=condition, engine=engine))
    with reader.open_source(str(path), ["u", "i", "x"]) as table:
        sums = totals_by_item(identifier_columns(table.frame, {"user": "u", "item": "i"}, "x"), STEP, FARTHEST, BOUNDS)
        found = {item: total for item, total in dict(sums).items() if total}
    with reader.open_source(str(path), ["u", "x"]) as table:
        numbers = identifier_columns(table.frame, {"user": "u"}, "x")
        return found, count_rows_by_number(numbers, STEP, FARTHEST, BOUNDS, 2).tolist()


def expected_sums(rows: Iterable[Row]) -> tuple[dict[int, int], list[int]]:
    """The same in plain Python."""
    listed = list(rows)
    step = Fraction(STEP)
    sums = clamped_totals([(user, item, value) for _, user, item, value in listed], step, BOUNDS)
    numbers = spaced([(user, value) for _, user, _, value in listed], step, BOUNDS, 2)
    return {item: total for item, total in sums.items() if total}, [
        numbers.count(at) for at in range(BOUNDS[0], BOUNDS[1] + 1)
    ]


@contextlib.contextmanager
def one_session() -> Iterator[None]:
    """Let the command use a session of Spark that runs, and leave it running and as it was."""
    from pyspark.sql import SparkSession

    stop, running = SparkSession.stop, SparkSession.getActiveSession()
    setting = running.conf.get(engines.STATISTICS) if running else None
    SparkSession.stop = lambda _: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        SparkSession.stop = stop  # type: ignore[method-assign]
        if running and setting is not None:
            running.conf.set(engines.STATISTICS, setting)


def differences(
    seed: int, kinds: Iterable[str], writers: Iterable[str], asked: Sequence[str], folder: Path, spark: Any = None
) -> Iterator[str | None]:
    """For each kind, writer, file, condition and engine None, or what differs from plain Python."""
    for kind in kinds:
        for writer in writers:
            chance = random.Random(f"{seed} {kind} {writer}")
            size = 2048 if writer == "duckdb" else chance.randrange(20, 60)
            pair, listed = contents(kind, size, chance), conditions(kind, size, chance)
            for more, content in enumerate(pair):
                path = folder / f"{seed}-{kind.replace(' ', '-')}-{writer}-{more}.parquet"
                write(writer, content, path, chance, spark)
                texts = [condition for condition, _ in listed]
                rows = [[row for row in content.rows if holds(row[3], row[0]) is True] for _, holds in listed]
                for engine in asked:
                    for condition, those, found in zip(texts, rows, kept_numbers(engine, path, texts), strict=True):
                        same = found == sorted(row[0] for row in those)
                        yield None if same else f"{engine}, a file of {writer}, {content}, {condition}"
                if kind in ("double", "float"):
                    at = next(at for at, condition in enumerate(texts) if condition.startswith("x >"))
                    for engine in asked:
                        same = sums_and_numbers(engine, path, texts[at]) == expected_sums(rows[at])
                        yield None if same else f"{engine}, sums, a file of {writer}, {content}, {texts[at]}"


if __name__ == "__main__":
    print(*(f"{name} {metadata.version(name)}" for name in ("polars", "duckdb", "pyspark", "pyarrow", "narwhals")))
    with tempfile.TemporaryDirectory() as name:
        sessions = session(Path(name), "local[1]", {"spark.driver.extraJavaOptions": BRIEF})
        running = next(sessions)
        cases = failed = 0
        with one_session():
            for seed in range(int(sys.argv[1]) if len(sys.argv) > 1 else 2):
                for kind in POOLS:
                    for found in differences(seed, [kind], WRITERS, ENGINES, Path(name), running):
                        cases += 1
                        failed += found is not None
                        if found is not None and failed <= 5:
                            print(found[:300], "...", found[-200:])
                    print(f"{cases} cases, of which {failed} differ from plain Python", flush=True)
        next(sessions, None)
