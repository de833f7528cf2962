"""Tables of Spark: the reference's counts and sums, no rows that are not needed, and one release whatever fails.

Tries proofs/transformations/count_by_item.tex and sum_by_item.tex.
"""

import os
import re
import signal
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.errors import DataError, DataTypeError, TableError
from opendp_topk.spaces.domains import FrameDomain
from opendp_topk.tables import frames
from opendp_topk.tables.capping import bound_contributions
from opendp_topk.tables.frames import count_distinct_users
from opendp_topk.tables.grouping import count_by_group, distinct_items_per_user, split_by_group
from opendp_topk.tables.held import EngineCounts
from opendp_topk.tables.keyed import count_users_by_item, totals_by_item
from opendp_topk.tables.spark import require_determinate
from tests.concepts.sentinels import SENTINEL_TEXT, raises_exactly
from tests.concepts.spaces import INTEGERS, MONOTONIC, PURE
from tests.oracles.counts import distinct_users
from tests.oracles.groups import by_group
from tests.oracles.totals import clamped_totals
from tests.tables.types import pairs_of
from tests.transformations.test_quantile_scores import kept as spaced
from tests.transformations.test_quantile_scores import scored

from . import hostile
from .spark_session import Shared
from .test_keyed import backwards, capped, pairs, reference
from .test_totals import BOUNDS, KINDS, frame, random_rows

pytestmark = pytest.mark.slow

SPACE = FrameDomain("member", "work"), tk.UserDistance()
SCORES = INTEGERS, MONOTONIC


@pytest.fixture(scope="module")
def spark(shared_spark: Shared) -> Any:
    return shared_spark.get()


def made(
    spark: Any, rows: list[Any], integers: bool, names: tuple[str, ...] = ("member", "work"), parts: int = 4
) -> Any:
    """The rows in several partitions, some of them empty where there are few rows."""
    import pyarrow as pa

    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    kind = pa.int64() if integers else pa.string()
    arrays = [pa.array(column, None if name == "seen" else kind) for name, column in zip(names, columns, strict=True)]
    return spark.createDataFrame(pa.table(dict(zip(names, arrays, strict=True)))).repartition(parts)


@pytest.mark.parametrize("name", hostile.FRAMES)
def test_hostile_frames_are_counted_like_the_reference(spark: Any, name: str) -> None:
    held, integers = hostile.FRAMES[name]
    table = pairs_of(made(spark, held, integers))
    listed = hostile.candidates(held, integers)
    assert count_distinct_users(table, listed).tolist() == distinct_users(held, listed)
    columns = {"u": [user for user, _ in held], "i": [item for _, item in held]}
    counts = count_users_by_item(table, 2)
    assert isinstance(counts, EngineCounts)
    assert dict(counts) == reference(columns, 2)


def test_texts_that_are_not_unicode_are_nobodys(spark: Any, tmp_path: Path) -> None:
    """Python would give the items of two such texts one name, and one of their counts."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for more in (0, 1):
        items = [b"caf\xe9"] * 50 + [b"caf\xe8"] * (50 + more) + [b"caf\xc3\xa9"] * 3
        texts = pa.Array.from_buffers(pa.string(), len(items), pa.array(items).buffers())
        path = tmp_path / f"{more}.parquet"
        pq.write_table(pa.table({"member": range(len(items)), "work": texts, "seen": [1] * len(items)}), path)
        table = spark.read.parquet(f"file://{path}")
        rows = pairs_of(table)
        for found in (count_users_by_item(rows), count_users_by_item(rows, 1)):
            assert dict(found) == {"caf\u00e9": 3}
            assert found.largest(1) == {"caf\u00e9": 3}  # type: ignore[attr-defined]
        assert dict(totals_by_item(pairs_of(table, "member", "work", "seen"), 1.0, 9, (0, 1))) == {"caf\u00e9": 3}
        assert count_distinct_users(pairs_of(table, "work", "member"), [0, len(items) - 1]).tolist() == [0, 1]


@pytest.mark.parametrize("name", ["random integers", "random strings", "unicode", "mixed case"])
def test_the_largest_counts_come_with_ties_in_the_public_order(spark: Any, name: str) -> None:
    held, integers = hostile.FRAMES[name]
    counts = count_users_by_item(pairs_of(made(spark, held, integers)))
    assert isinstance(counts, EngineCounts)
    expected = reference({"u": [user for user, _ in held], "i": [item for _, item in held]}, None)
    ranked = sorted(expected, key=lambda key: (-expected[key], key))
    for n in (1, 3, len(ranked) + 2):
        assert list(counts.largest(n).items()) == [(key, expected[key]) for key in ranked[:n]]


@pytest.mark.parametrize("kind", ["large", "floats", "decimals"])
def test_sums_are_those_of_the_reference(spark: Any, kind: str) -> None:
    """Sums stay in Spark, without those that are 0."""
    dtype, _, step = KINDS[kind]
    rows = [*random_rows(kind, 60, 5), (1, "nothing", KINDS[kind][1][1] * 0)]
    table = pairs_of(spark.createDataFrame(frame(rows, dtype).to_arrow()).repartition(4), "user", "item", "paid")
    for most in (None, 2):
        sums = totals_by_item(table, float(step), 2**31, BOUNDS, most)
        expected = {item: total for item, total in clamped_totals(rows, step, BOUNDS, most).items() if total}
        assert isinstance(sums, EngineCounts)
        assert dict(sums) == expected
        ranked = sorted(expected, key=lambda key: (-expected[key], key))
        assert list(sums.largest(2).items()) == [(key, expected[key]) for key in ranked[:2]]


def test_rows_by_number_agree_with_the_reference(spark: Any) -> None:
    for seed, kind in enumerate(("integers", "floats", "decimals")):
        dtype, _, step = KINDS[kind]
        rows = random_rows(kind, 40, seed)
        table = spark.createDataFrame(frame(rows, dtype).to_arrow()).repartition(4)
        link = tk.make_quantile_scores(
            tk.FrameDomain("item", value="paid"), SPACE[1],
            quantile=Fraction(1, 2), bounds=(-2 * step, 9 * step), granularity=step, max_rows=2,
        )  # fmt: skip
        numbers = spaced([(item, number) for _, item, number in rows], step, (-2, 9), 2)
        assert link(table).tolist() == scored(numbers, (-2, 9), Fraction(1, 2))


def test_no_more_keys_leave_spark_than_take_part(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(user, item) for item in range(60) for user in range(60 - item)]
    asked: list[int | None] = []
    largest = EngineCounts.__init__

    def watched(self: EngineCounts, best: Callable[[int | None], dict[Any, int]]) -> None:
        def spied(n: int | None) -> dict[Any, int]:
            found = best(n)
            asked.append(len(found))
            return found

        largest(self, spied)

    monkeypatch.setattr(EngineCounts, "__init__", watched)
    release = SPACE >> tk.then_count_by_item(candidates=None)
    release = release >> tk.then_unknown_domain_top_k(tk.Approximate(PURE), k=3, scale=1e-6, limit=10, delta=1e-6)
    assert release(made(spark, rows, True)) == tk.Release(items=[0, 1, 2], stopped=False)
    assert asked == [11]


@pytest.mark.parametrize("most", [1, 2])
def test_rows_go_to_the_first_groups_of_their_user(spark: Any, most: int) -> None:
    import random

    draw = random.Random(3)
    users, towns = [None, *range(20)], [None, "A", "a", "b"]
    rows = [(draw.choice(users), draw.randrange(5), draw.choice(towns)) for _ in range(200)]
    table = made(spark, rows, True, ("member", "work", "seen"))
    domain = tk.FrameDomain("member", "work", group="seen")
    groups = ["b", "a", "none", "A"]
    found = split_by_group(domain.validate(table), groups, most)
    expected = [Counter(part) for part in by_group(rows, groups, most)]
    assert [Counter(map(tuple, part.to_native().collect())) for part in found] == expected
    assert sum(map(Counter.total, expected)) > 50
    assert SPACE[0].validate(found[0]).collect_schema().names() == ["member", "work"]
    counts = count_by_group(domain.validate(table), groups, [4, 2**40, 0], most)
    assert counts.dense_counts(0, 4).tolist() == [distinct_users(part, [4, 2**40, 0]) for part in expected]


def test_names_differ_by_case_and_may_hold_what_spark_reads_as_syntax(spark: Any) -> None:
    table = made(spark, [(1, 7, 8), (2, 7, 9)], True, ("a", "b", "c")).toDF("Work", "work", "x.`y")
    for item, expected in [("work", [2, 0]), ("x.`y", [0, 1])]:
        assert count_distinct_users(pairs_of(table, "Work", item), [7, 9]).tolist() == expected
    raises_exactly(DataError, lambda: pairs_of(table, "WORK", "work"), "'WORK'")
    raises_exactly(DataError, lambda: pairs_of(table.toDF("u", "i", "i"), "u", "i"), "'i'", "several")


@pytest.mark.parametrize("by", ["order", "rows", "random"])
def test_groups_are_kept_of_columns_whose_names_differ_by_case(spark: Any, by: str) -> None:
    import polars as pl

    names = ("work", "WORK", "Work")
    rows = [(user, (3 * user + n) % 7, (user + n * n) % 5) for user in range(40) for n in range(user % 9)]
    domain, groups = tk.FrameDomain(*names[:2], group=names[2]), [0, 1, 2, 4]
    kept = (domain, SPACE[1]) >> tk.then_keep_groups(most=2, by=by, groups=groups)
    found = kept(made(spark, rows, True, names))
    assert found.collect_schema().names() == list(names)
    here = Counter(zip(*(found.collect()[name].to_list() for name in names), strict=True))
    if by == "random":
        listed = Counter(row for row in rows if row[2] in groups)
        own = {user: {row[2] for row in listed if row[0] == user} for user, _, _ in rows}
        chosen = {user: {row[2] for row in here if row[0] == user} for user in own}
        assert all(len(chosen[user]) == min(2, len(own[user])) for user in own)
        expected = Counter({row: times for row, times in listed.items() if row[2] in chosen[row[0]]})
    else:
        there = kept(pl.DataFrame(rows, schema=list(names), orient="row")).collect()
        expected = Counter(zip(*(there[name].to_list() for name in names), strict=True))
    assert here == expected
    assert 50 < here.total() < len(rows)


def test_collations_do_not_fold_identifiers(spark: Any) -> None:
    table = spark.sql("SELECT * FROM VALUES ('u', 'a'), ('U', 'A'), ('u', 'A') AS t(member, work)").selectExpr(
        "member COLLATE UTF8_LCASE AS member", "work COLLATE UNICODE_CI AS work"
    )
    rows = pairs_of(table)
    assert count_distinct_users(rows, ["a", "A"]).tolist() == [1, 2]
    assert dict(count_users_by_item(rows)) == {"a": 1, "A": 2}
    assert sorted(distinct_items_per_user(rows)) == [1, 2]


@pytest.mark.parametrize("by", ["order", "rows", "value", "random"])
def test_items_are_kept_in_spark_as_elsewhere(spark: Any, by: str) -> None:
    rows = random_rows("coarse", 60, 5)
    table = spark.createDataFrame(frame(rows, KINDS["large"][0]).to_arrow()).repartition(3)
    kept = bound_contributions(pairs_of(table, "user", "item", "paid"), 2, by, 1.0, 2**31, backwards)
    chosen = capped(rows, 2, by)
    assert kept.implementation.is_pyspark() == (by != "random")
    assert kept.collect_schema().names() == ["user", "item", "paid"]
    assert Counter(pairs(kept)) == Counter(row for row in rows if row[:2] in chosen)
    if by != "value":
        once = bound_contributions(pairs_of(table, "user", "item"), 2, by, 1.0, 2**31, backwards)
        assert sorted(pairs(once)) == sorted(chosen)


@pytest.mark.parametrize("by", ["order", "rows", "value"])
def test_what_was_kept_of_strings_is_counted_in_plans_that_are_determinate(spark: Any, by: str) -> None:
    import polars as pl

    rows = [(f"u{n % 5}", f"i{n * n % 7}", f"g{n % 3}", n % 4) for n in range(60)]
    frame = pl.DataFrame(rows, schema=["member", "work", "town", "paid"], orient="row")
    table = spark.createDataFrame(frame.to_arrow())
    metric, names = tk.UserDistance(), [f"i{n}" for n in range(8)]
    summed = tk.then_sum_by_item(candidates=names, bounds=(0, 9))
    items = (tk.FrameDomain("member", "work", value="paid"), metric) >> tk.then_bound_contributions(most=2, by=by)
    assert (items >> summed)(table).tolist() == (items >> summed)(frame).tolist()
    for first in (SPACE >> tk.then_bound_contributions(most=2, by=by), _groups(by)) if by != "value" else ():
        count = first >> tk.then_count_by_item(candidates=names)
        assert count(table).tolist() == count(frame).tolist()
        require_determinate(first(table).to_native())


def _groups(by: str) -> Any:
    space = tk.FrameDomain("member", "work", group="town"), tk.UserDistance()
    return space >> tk.then_keep_groups(most=2, by=by) >> tk.then_drop_groups()


def test_a_random_choice_takes_no_more_rows_from_spark_than_fit(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(user, item) for user in range(3) for item in range(3)]
    keep = tk.make_bound_contributions(*SPACE, most=2)
    for few, fits in ((9, True), (8, False)):
        monkeypatch.setattr("opendp_topk.tables.spark.FEW", few)
        if fits:
            assert Counter(user for user, _ in pairs(keep(made(spark, rows, True)))) == {0: 2, 1: 2, 2: 2}
        else:
            raises_exactly(tk.errors.DataError, lambda: keep(made(spark, rows, True)), "up to 8 rows", '"order"')


def test_collations_do_not_fold_what_is_kept_or_left_out(spark: Any) -> None:
    rows = [("u", "a"), ("U", "A"), ("u", "A"), ("u", "b"), ("u", "b"), (None, "c"), ("w", None)]
    table = made(spark, rows, False).selectExpr(
        "member COLLATE UTF8_LCASE AS member", "work COLLATE UNICODE_CI AS work"
    )
    for listed, most, expected in ((["a"], 2, 3), (["a"], 9, 4), (["A"], 1, 1), ([], 9, 5), (["a", "A", "b"], 9, 0)):
        assert tk.make_count_outside(*SPACE, items=listed, max_rows=most)(table).tolist() == [expected]
    for by, kept in (("order", "A"), ("rows", "b")):
        assert sorted(pairs(tk.make_bound_contributions(*SPACE, most=1, by=by)(table))) == [("U", "A"), ("u", kept)]
    assert len(pairs(tk.make_bound_contributions(*SPACE, most=9)(table))) == 4


def test_narrow_integers_and_types_without_identifiers(spark: Any) -> None:
    table = made(spark, [(1, 7), (2, 7)], True).selectExpr("CAST(member AS int)", "CAST(work AS tinyint)")
    assert count_distinct_users(pairs_of(table), [7, 2**40]).tolist() == [2, 0]
    for kind in ("double", "decimal(9,0)", "binary", "date", "boolean"):
        wrong = spark.sql(f"SELECT 1L AS member, CAST(NULL AS {kind}) AS work")
        raises_exactly(DataTypeError, lambda wrong=wrong: pairs_of(wrong), "'work'")


Step = Callable[[Any, Any], Any]


def query(text: str) -> Step:
    return lambda spark, table: spark.sql(text)


def selected(*columns: str) -> Step:
    return lambda spark, table: table.selectExpr(*columns)


def grouped(function: str) -> Step:
    return query(f"SELECT member, {function} AS work FROM t GROUP BY member")


def stored(spark: Any, table: Any, path: Path, kind: str = "parquet", **options: Any) -> Any:
    table.write.mode("overwrite").format(kind).save(str(path))
    return spark.read.schema("member long, work long").options(**options).format(kind).load(str(path))


REFUSED: dict[str, tuple[Step, str]] = {
    "a limit within partitions": (lambda spark, d: d.sortWithinPartitions("d").limit(5), "without an order"),
    "a limit": (lambda spark, d: d.limit(2), "without an order"),
    "an offset": (lambda spark, d: d.offset(1), "without an order"),
    "a limit in a subquery": (query("SELECT * FROM t WHERE d IN (SELECT d FROM t LIMIT 1)"), "without an order"),
    "a limit with ties": (query("SELECT member, work FROM t ORDER BY d LIMIT 5"), "leaves ties"),
    "a limit with ties of spellings": (query("SELECT * FROM lcase ORDER BY member, work LIMIT 5"), "leaves ties"),
    "a limit with ties of zeros": (query("SELECT * FROM zeros ORDER BY member, work LIMIT 1"), "leaves ties"),
    "row_number with ties": (query("SELECT member, row_number() OVER (ORDER BY d) AS work FROM t"), "RowNumber"),
    "an order that is none": (query("SELECT member, row_number() OVER (ORDER BY 1) AS work FROM t"), "RowNumber"),
    "lag with ties": (query("SELECT member, lag(work) OVER (ORDER BY d) AS work FROM t"), "Lag over"),
    "a running sum of rows": (
        query("SELECT member, sum(work) OVER (ORDER BY d ROWS UNBOUNDED PRECEDING) AS work FROM t"),
        "leaves ties",
    ),
    "max_by": (grouped("max_by(work, d)"), "MaxBy"),
    "collect_list": (grouped("collect_list(work)[0]"), "CollectList"),
    "collect_set": (grouped("collect_set(work)[0]"), "CollectSet"),
    "first": (grouped("first(work)"), "First"),
    "any_value": (grouped("any_value(work)"), "AnyValue"),
    "approx_percentile": (grouped("approx_percentile(work, 0.5)"), "ApproximatePercentile"),
    "a sum of floats": (grouped("CAST(sum(d / 3) AS long)"), "sum of the type double"),
    "a mean": (grouped("CAST(avg(d) AS long)"), "Average"),
    "a sum that may be null": (grouped("try_sum(work)"), "a sum of the type long"),
    "a sum of wide decimals": (grouped("CAST(sum(CAST(work AS decimal(38,0))) AS long)"), "type decimal(38,0)"),
    "the largest of equal zeros": (grouped("CAST(max(d / 3) AS long)"), "Max of the type double"),
    "a key that folds": (query("SELECT DISTINCT * FROM lcase"), "string collate UTF8_LCASE"),
    "a group that folds": (query("SELECT member, count(*) AS work FROM lcase GROUP BY member"), "UTF8_LCASE"),
    "a sample": (lambda spark, d: d.sample(0.5, seed=1), "Sample"),
    "dropDuplicates": (lambda spark, d: d.dropDuplicates(["member"]), "dropDuplicates"),
    "rand": (query("SELECT * FROM t WHERE rand(3) < 0.5"), "Rand"),
    "rand in a subquery": (query("SELECT * FROM t WHERE d IN (SELECT d FROM t WHERE rand() < 0.5)"), "Rand"),
    "rand in a subquery of one": (
        query("SELECT member, (SELECT count(*) FROM t WHERE rand() < 0.5) AS work FROM t"),
        "Rand",
    ),
    "shuffle": (selected("member", "shuffle(array(work, d))[0] AS work"), "Shuffle"),
    "uuid": (selected("member", "uuid() AS work"), "Uuid"),
    "an identity of rows": (selected("monotonically_increasing_id() AS member", "work"), "MonotonicallyIncreasingID"),
    "a number of partitions": (selected("spark_partition_id() AS member", "work"), "SparkPartitionID"),
    "a name of files": (selected("input_file_name() AS member", "work"), "InputFileName"),
    "the clock": (selected("member", "CAST(current_timestamp() AS string) AS work"), "CurrentTimestamp"),
    "the date": (selected("member", "datediff(current_date(), DATE '2026-01-01') AS work"), "CurrentDate"),
    "the clock as a word": (selected("member", "CAST(CAST('now' AS timestamp) AS string) AS work"), "word"),
    "the clock in pieces": (selected("member", "CAST(CAST('no' || 'w' AS timestamp) AS string) AS work"), "word"),
    "the clock in a column": (
        query("SELECT member, CAST(CAST(x AS timestamp) AS string) AS work FROM (SELECT member, 'now' AS x FROM t)"),
        "word",
    ),
    "a command": (query("SELECT TRANSFORM (member, work) USING 'cat' AS (member, work) FROM t"), "ScriptTransf"),
    "a function of Python": (lambda spark, d: d.withColumn("work", python_function()("work")), "PythonUDF"),
    "a function of batches": (lambda spark, d: d.mapInArrow(lambda batches: batches, d.schema), "MapInArrow"),
    "rows of Python": (lambda spark, d: spark.createDataFrame([(1, 2)], "member long, work long"), "an RDD"),
    "a checkpoint in memory": (lambda spark, d: d.localCheckpoint(), "an RDD"),
    "a table of partitions": (query("SELECT * FROM parts"), "listed for each job"),
    "hidden columns": (selected("_metadata.file_block_start AS member", "work"), "hidden column"),
}
ACCEPTED: dict[str, Step] = {
    "distinct rows": lambda spark, d: d.distinct().dropDuplicates(),
    "partitions": lambda spark, d: d.repartition(3).repartition("member").coalesce(2).hint("rebalance"),
    "an order": lambda spark, d: d.orderBy("d").sortWithinPartitions("work"),
    "a limit": lambda spark, d: d.orderBy("member", "work", "d").limit(2),
    "a limit above a projection": query("SELECT member, work FROM t ORDER BY d, member, work LIMIT 5 OFFSET 1"),
    "groups": grouped(
        "count(DISTINCT d) + max(work) + count_if(d > 1) + sum(work) + CAST(sum(CAST(d AS decimal(9,2))) AS long)"
    ),
    "ranks": query("SELECT member, rank() OVER (PARTITION BY work ORDER BY d) AS work FROM t"),
    "row_number": query("SELECT member, row_number() OVER (PARTITION BY member ORDER BY d, work) AS work FROM t"),
    "whole windows": query(
        "SELECT member, sum(work) OVER (PARTITION BY d) + count(*) OVER (ORDER BY d) AS work FROM t"
    ),
    "joins and subqueries": query(
        "WITH big AS (SELECT * FROM t WHERE d BETWEEN 1 AND 5) SELECT a.member, b.work FROM big a LEFT JOIN t b "
        "ON a.work = b.d WHERE EXISTS (SELECT 1 FROM t c WHERE c.d = a.d) AND a.d < (SELECT max(d) FROM t) + 1"
    ),
    "sets": query("SELECT member, work FROM t UNION SELECT work, d FROM t EXCEPT SELECT d, d FROM t"),
    "expressions": selected(
        "upper(concat('a', trim(CAST(member AS string)))) AS member",
        "CASE WHEN work IN (1, 2) THEN coalesce(d, 0) % 3 ELSE xxhash64(d) END AS work",
    ),
    "dates": query("SELECT member, year(DATE '2026-01-01') AS work FROM t WHERE DATE '2026-01-01' > '2025-12-31'"),
    "nulls": lambda spark, d: d.dropna().fillna(0),
    "rows of Arrow": lambda spark, d: made(spark, [(1, 2)], True),
    "a checkpoint": lambda spark, d: d.selectExpr("member", "work", "rand() AS r").checkpoint(),
    "a range": lambda spark, d: spark.range(9).selectExpr("id AS member", "id % 3 AS work"),
    "arrays": selected("member", "explode(array(work, d)) AS work"),
}


def python_function() -> Any:
    from pyspark.sql.functions import udf

    return udf(lambda value: value, "long")


@pytest.fixture(scope="module")
def table(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A table in a file, ``t``, and others beside it, by their names."""
    folder = tmp_path_factory.mktemp("tables")
    spark.sparkContext.setCheckpointDir(str(folder / "checkpoints"))
    spark.range(9).selectExpr("id AS member", "id % 3 AS work", "id % 2 AS d").write.parquet(str(folder / "t"))
    held = spark.read.parquet(str(folder / "t"))
    held.createOrReplaceTempView("t")
    held.selectExpr("CAST(member AS string) COLLATE UTF8_LCASE AS member", "work").createOrReplaceTempView("lcase")
    held.selectExpr("member", "d * -1.0D AS work").createOrReplaceTempView("zeros")
    spark.sql("CREATE TABLE parts (member long, work long, d long) USING parquet PARTITIONED BY (d)")
    yield held
    spark.sql("DROP TABLE parts")


@pytest.mark.parametrize("name", REFUSED)
def test_what_may_give_other_rows_is_refused_by_name(spark: Any, table: Any, name: str) -> None:
    step, words = REFUSED[name]
    frame = step(spark, table)
    raises_exactly(DataTypeError, lambda: SPACE[0].validate(frame), words, "parquet", "checkpoint()")


@pytest.mark.parametrize("name", ["a limit with ties", "max_by", "a sample", "dropDuplicates", "first", "rand"])
def test_scores_pass_the_same_check(spark: Any, table: Any, name: str) -> None:
    step, words = REFUSED[name]
    top = tk.make_report_noisy_top_k(*SCORES, PURE, k=1, scale=1.0)
    raises_exactly(DataTypeError, lambda: tk.release_spark(top, step(spark, table), "member", "work"), words)


def test_a_frame_that_shows_no_plan_is_refused() -> None:
    connect = type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe"})()
    raises_exactly(DataTypeError, lambda: require_determinate(connect), "Spark Connect", "write the table to files")


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_gives_the_same_rows_is_counted(spark: Any, table: Any, name: str) -> None:
    frame = ACCEPTED[name](spark, table).select("member", "work")
    rows = [tuple(row) for row in frame.collect()]
    listed = sorted({item for _, item in rows if item is not None}) or [0]
    assert rows
    assert count_distinct_users(SPACE[0].validate(frame), listed).tolist() == distinct_users(rows, listed)


def test_files_are_those_of_spark_that_are_read_whole_or_not_at_all(spark: Any, table: Any, tmp_path: Path) -> None:
    for kind in ("parquet", "orc", "csv", "json"):
        assert SPACE[0].member(stored(spark, table.select("member", "work"), tmp_path / kind, kind))
    for option in ("ignoreMissingFiles", "IGNORECORRUPTFILES"):
        assert SPACE[0].member(stored(spark, table, tmp_path / "parquet", **{option: "false"}))
        frame = stored(spark, table, tmp_path / "parquet", **{option: "true"})
        raises_exactly(DataTypeError, lambda frame=frame: SPACE[0].validate(frame), "skips files")
    for kind in ("csv", "json"):
        assert SPACE[0].member(stored(spark, table.select("member", "work"), tmp_path / kind, kind, mode="FAILFAST"))
        frame = stored(spark, table.select("member", "work"), tmp_path / kind, kind, MODE="DropMalformed")
        raises_exactly(DataTypeError, lambda frame=frame: SPACE[0].validate(frame), "DROPMALFORMED")
    binary = spark.read.format("binaryFile").load(str(tmp_path / "csv")).selectExpr("path AS member", "length AS work")
    raises_exactly(DataTypeError, lambda: SPACE[0].validate(binary), "HadoopFsRelation")
    streamed = spark.readStream.schema("member long, work long").parquet(str(tmp_path / "parquet"))
    raises_exactly(DataTypeError, lambda: SPACE[0].validate(streamed), "Stream")


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("execution.sortBeforeRepartition", "false"),
        ("files.ignoreMissingFiles", "true"),
        ("files.ignoreCorruptFiles", "true"),
    ],
)
def test_a_session_that_lets_retries_differ_is_refused(spark: Any, table: Any, setting: str, value: str) -> None:
    name = f"spark.sql.{setting}"
    held = spark.conf.get(name)
    spark.conf.set(name, value)
    try:
        raises_exactly(DataTypeError, lambda: SPACE[0].validate(table), name)
    finally:
        spark.conf.set(name, held)


def killed_once(mark: Path) -> Callable[[Any], Any]:
    """A step that hands rows on; the first of its workers that comes to ``mark`` is killed after its first rows."""

    def step(batches: Any) -> Any:
        for batch in batches:
            yield batch
            try:
                os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                continue
            os.kill(os.getpid(), signal.SIGKILL)

    return step


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions of Python, which the tests know and the check of plans does not, are let through."""
    monkeypatch.setattr(frames, "require_determinate", lambda frame: None)


ROWS = [(user, item) for user in range(400) for item in range(user % 7)]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("listed", [True, False])
def test_a_worker_that_is_killed_costs_one_release(spark: Any, tmp_path: Path, listed: bool) -> None:
    mark = tmp_path / "killed"
    table = made(spark, ROWS, True, parts=6)
    table = table.mapInArrow(killed_once(mark), table.schema)
    count = SPACE >> tk.then_count_by_item(candidates=range(6) if listed else None)
    release = (
        count >> tk.then_report_noisy_top_k(PURE, k=2, scale=2.0)
        if listed
        else count >> tk.then_unknown_domain_top_k(tk.Approximate(PURE), k=2, scale=2.0, limit=4, delta=1e-6)
    )
    budget = 10.0 if listed else (10.0, 1e-3)
    unit = {"dataset": "loans", "metric": tk.UserDistance()}
    with tk.ledger.Ledger.create(tmp_path / "budget", budget=budget, measure=release.output_measure, **unit) as ledger:
        released = ledger.release(release, table, d_in=1)
        assert mark.exists()
        assert len(released if listed else released.items) <= 2
        assert ledger.spent() == release.map(1)
        assert len(ledger.history()) == 1


@pytest.mark.usefixtures("unchecked")
def test_counts_after_a_retry_are_those_of_the_table(spark: Any, tmp_path: Path) -> None:
    table = made(spark, ROWS, True, parts=6)
    expected = distinct_users(ROWS, range(6))
    for at in range(2):
        mark = tmp_path / f"killed-{at}"
        again = pairs_of(table.mapInArrow(killed_once(mark), table.schema))
        assert count_distinct_users(again, range(6)).tolist() == expected
        assert mark.exists()


def test_the_tutorial_gives_the_same_release_on_spark(spark: Any) -> None:
    text = (Path(__file__).parents[2] / "docs" / "tutorials" / "cluster.md").read_text(encoding="utf-8")
    steps = re.findall(r"```python( spark)?\n(.*?)```", text, re.DOTALL)
    assert [bool(on_spark) for on_spark, _ in steps] == [False, False, True, True, True, True]
    names: dict[str, Any] = {"spark": spark}
    for _, step in steps:
        exec(compile(step, "cluster.md", "exec"), names)


def test_candidates_of_another_kind_than_their_column_are_not_paid(table: Any, tmp_path: Path) -> None:
    unit = {"dataset": "loans", "metric": tk.UserDistance(), "measure": PURE}
    texts = table.selectExpr("member", "CAST(work AS string) AS work")
    with tk.ledger.Ledger.create(tmp_path / "budget", budget=10.0, **unit) as ledger:
        for frame, candidates in ((texts, [1, 2]), (table, ["1", "2"])):
            release = SPACE >> tk.then_count_by_item(candidates=candidates)
            release = release >> tk.then_report_noisy_top_k(PURE, k=1, scale=2.0)
            with pytest.raises(tk.errors.DataError, match="but the candidates are"):
                ledger.release(release, frame, d_in=1)
        assert ledger.count() == 0


@pytest.mark.usefixtures("unchecked")
def test_a_job_that_fails_releases_nothing_and_keeps_the_debit(spark: Any, tmp_path: Path) -> None:
    table = made(spark, [(SENTINEL_TEXT, "a")], False)
    table = table.mapInArrow(lambda batches: os.kill(os.getpid(), signal.SIGKILL) or batches, table.schema)
    release = SPACE >> tk.then_count_by_item(candidates=["a", "b"])
    release = release >> tk.then_report_noisy_top_k(PURE, k=1, scale=2.0)
    unit = {"dataset": "loans", "metric": tk.UserDistance()}
    with tk.ledger.Ledger.create(tmp_path / "budget", budget=10.0, measure=release.output_measure, **unit) as ledger:
        raises_exactly(TableError, lambda: ledger.release(release, table, d_in=1), "its back end failed")
        assert ledger.spent() == release.map(1)
