"""Tables of Spark: the reference's counts and sums, no rows that are not needed, and one release whatever fails.

Tries proofs/transformations/count_by_item.tex and sum_by_item.tex.
"""

from __future__ import annotations

import os
import re
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.errors import ColumnError, DataTypeError, TableError
from opendp_topk.spaces.domains import FrameDomain
from opendp_topk.tables.frames import count_distinct_users, two_columns
from opendp_topk.tables.grouping import count_by_group, split_by_group
from opendp_topk.tables.held import HeldCounts
from opendp_topk.tables.keyed import count_users_by_key
from opendp_topk.tables.totals import totals_by_item, valued_columns
from tests.concepts.sentinels import SENTINEL_TEXT, raises_exactly
from tests.oracles.counts import distinct_users
from tests.oracles.groups import by_group
from tests.oracles.totals import clamped_totals

from . import hostile
from .spark_session import session
from .test_keyed import reference
from .test_totals import BOUNDS, KINDS, frame, random_rows

pytestmark = pytest.mark.slow

SPACE = FrameDomain("member", "work"), tk.UserDistance()


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    yield from session(tmp_path_factory.mktemp("spark"))


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
    table = two_columns(made(spark, held, integers), "member", "work")
    listed = hostile.candidates(held, integers)
    assert count_distinct_users(table, listed).tolist() == distinct_users(held, listed)
    columns = {"u": [user for user, _ in held], "i": [item for _, item in held]}
    counts = count_users_by_key(table, 2)
    assert isinstance(counts, HeldCounts)
    assert dict(counts) == reference(columns, 2)


@pytest.mark.parametrize("name", ["random integers", "random strings", "unicode", "mixed case"])
def test_the_largest_counts_come_with_ties_in_the_public_order(spark: Any, name: str) -> None:
    held, integers = hostile.FRAMES[name]
    counts = count_users_by_key(two_columns(made(spark, held, integers), "member", "work"))
    assert isinstance(counts, HeldCounts)
    expected = reference({"u": [user for user, _ in held], "i": [item for _, item in held]}, None)
    ranked = sorted(expected, key=lambda key: (-expected[key], key))
    for n in (1, 3, len(ranked) + 2):
        assert list(counts.largest(n).items()) == [(key, expected[key]) for key in ranked[:n]]


@pytest.mark.parametrize("kind", ["large", "floats", "decimals"])
def test_sums_are_those_of_the_reference(spark: Any, kind: str) -> None:
    """Sums stay in Spark, without those that are 0."""
    dtype, _, step = KINDS[kind]
    rows = [*random_rows(kind, 60, 5), (1, "nothing", KINDS[kind][1][1] * 0)]
    table = valued_columns(spark.createDataFrame(frame(rows, dtype).to_arrow()).repartition(4), "user", "item", "paid")
    for most in (None, 2):
        sums = totals_by_item(table, float(step), 2**31, BOUNDS, most)
        expected = {item: total for item, total in clamped_totals(rows, step, BOUNDS, most).items() if total}
        assert isinstance(sums, HeldCounts)
        assert dict(sums) == expected
        ranked = sorted(expected, key=lambda key: (-expected[key], key))
        assert list(sums.largest(2).items()) == [(key, expected[key]) for key in ranked[:2]]


def test_no_more_keys_leave_spark_than_take_part(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(user, item) for item in range(60) for user in range(60 - item)]
    asked: list[int | None] = []
    largest = HeldCounts.__init__

    def watched(self: HeldCounts, best: Callable[[int | None], dict[Any, int]]) -> None:
        def spied(n: int | None) -> dict[Any, int]:
            found = best(n)
            asked.append(len(found))
            return found

        largest(self, spied)

    monkeypatch.setattr(HeldCounts, "__init__", watched)
    release = SPACE >> tk.then_count_by_item(candidates=None)
    release = release >> tk.then_unknown_domain_top_k(
        tk.Approximate(tk.MaxDivergence()), k=3, scale=1e-6, limit=10, delta=1e-6
    )
    assert release(made(spark, rows, True)) == ((0, 1, 2), False)
    assert asked == [11]


def test_rows_go_to_the_first_group_of_their_user(spark: Any) -> None:
    import random

    draw = random.Random(3)
    users, towns = [None, *range(20)], [None, "A", "a", "b"]
    rows = [(draw.choice(users), draw.randrange(5), draw.choice(towns)) for _ in range(200)]
    table = made(spark, rows, True, ("member", "work", "seen"))
    domain = tk.GroupedFrameDomain("member", "work", "seen")
    groups = ["b", "a", "none", "A"]
    found = split_by_group(domain.validate(table), groups)
    expected = [Counter(part) for part in by_group(rows, groups)]
    assert [Counter(map(tuple, part.to_native().collect())) for part in found] == expected
    assert sum(map(Counter.total, expected)) > 50
    assert SPACE[0].validate(found[0]).collect_schema().names() == ["member", "work"]
    counts = count_by_group(domain.validate(table), groups, [4, 2**40, 0])
    assert counts.rows(0, 4).tolist() == [distinct_users(part, [4, 2**40, 0]) for part in expected]


def test_names_differ_by_case_and_may_hold_what_spark_reads_as_syntax(spark: Any) -> None:
    table = made(spark, [(1, 7, 8), (2, 7, 9)], True, ("a", "b", "c")).toDF("Work", "work", "x.`y")
    for item, expected in [("work", [2, 0]), ("x.`y", [0, 1])]:
        assert count_distinct_users(two_columns(table, "Work", item), [7, 9]).tolist() == expected
    raises_exactly(ColumnError, lambda: two_columns(table, "WORK", "work"), "'WORK'")
    raises_exactly(ColumnError, lambda: two_columns(table.toDF("u", "i", "i"), "u", "i"), "'i'", "several")


def test_collations_do_not_fold_identifiers(spark: Any) -> None:
    table = spark.sql("SELECT * FROM VALUES ('u', 'a'), ('U', 'A'), ('u', 'A') AS t(member, work)").selectExpr(
        "member COLLATE UTF8_LCASE AS member", "work COLLATE UNICODE_CI AS work"
    )
    rows = two_columns(table, "member", "work")
    assert count_distinct_users(rows, ["a", "A"]).tolist() == [1, 2]
    assert dict(count_users_by_key(rows)) == {"a": 1, "A": 2}


def test_narrow_integers_and_types_without_identifiers(spark: Any) -> None:
    table = made(spark, [(1, 7), (2, 7)], True).selectExpr("CAST(member AS int)", "CAST(work AS tinyint)")
    assert count_distinct_users(two_columns(table, "member", "work"), [7, 2**40]).tolist() == [2, 0]
    for kind in ("double", "decimal(9,0)", "binary", "date", "boolean"):
        wrong = spark.sql(f"SELECT 1L AS member, CAST(NULL AS {kind}) AS work")
        raises_exactly(ColumnError, lambda wrong=wrong: two_columns(wrong, "member", "work"), "'work'")


UNDETERMINED: dict[str, Callable[[Any, Any], Any]] = {
    "a random expression": lambda spark, d: d.selectExpr("member", "work", "rand(3) AS r").filter("r < 0.5"),
    "a random expression of rows": lambda spark, d: d.selectExpr("monotonically_increasing_id() AS member", "work"),
    "a sample": lambda spark, d: d.sample(0.5, seed=1),
    "a limit": lambda spark, d: d.limit(2),
    "a limit without an order": lambda spark, d: d.offset(1),
    "dropDuplicates": lambda spark, d: d.dropDuplicates(["member"]),
    "first, last": lambda spark, d: d.groupBy("member").agg({"work": "first"}).toDF("member", "work"),
    "last or any_value": lambda spark, d: d.groupBy("member").agg({"work": "any_value"}).toDF("member", "work"),
    "a random": lambda spark, d: spark.sql("SELECT * FROM t WHERE member IN (SELECT member FROM t WHERE rand() < 0.5)"),
    "a limit without": lambda spark, d: spark.sql("SELECT * FROM t WHERE member IN (SELECT member FROM t LIMIT 1)"),
}
DETERMINED: list[Callable[[Any, Any], Any]] = [
    lambda spark, d: d.distinct(),
    lambda spark, d: d.dropDuplicates(),
    lambda spark, d: d.repartition(3),
    lambda spark, d: d.orderBy("member", "work").limit(2),
    lambda spark, d: spark.sql("SELECT * FROM t ORDER BY member, work LIMIT 3 OFFSET 1"),
    lambda spark, d: d.groupBy("member").agg({"work": "max"}).toDF("member", "work"),
    lambda spark, d: d.selectExpr("member", "work", "rand() AS r").localCheckpoint(),
]


def test_plans_that_may_read_another_table_are_refused(spark: Any) -> None:
    table = made(spark, [(user, user % 3) for user in range(9)], True)
    table.createOrReplaceTempView("t")
    for reason, step in UNDETERMINED.items():
        raises_exactly(
            DataTypeError,
            lambda step=step: SPACE[0].validate(step(spark, table)),
            reason.removesuffix(" of rows"),
            "write the table to files first",
        )
    for step in DETERMINED:
        assert SPACE[0].member(step(spark, table))


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


ROWS = [(user, item) for user in range(400) for item in range(user % 7)]


@pytest.mark.parametrize("listed", [True, False])
def test_a_worker_that_is_killed_costs_one_release(spark: Any, tmp_path: Path, listed: bool) -> None:
    mark = tmp_path / "killed"
    table = made(spark, ROWS, True, parts=6)
    table = table.mapInArrow(killed_once(mark), table.schema)
    count = SPACE >> tk.then_count_by_item(candidates=range(6) if listed else None)
    release = (
        count >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=2, scale=2.0)
        if listed
        else count
        >> tk.then_unknown_domain_top_k(tk.Approximate(tk.MaxDivergence()), k=2, scale=2.0, limit=4, delta=1e-6)
    )
    budget = 10.0 if listed else (10.0, 1e-3)
    unit = {"dataset": "loans", "metric": tk.UserDistance()}
    with tk.Ledger.create(tmp_path / "budget", budget=budget, measure=release.output_measure, **unit) as ledger:
        released = ledger.release(release, table, d_in=1)
        assert mark.exists()
        assert len(released if listed else released.items) <= 2
        assert ledger.spent() == release.map(1)
        assert len(ledger.history()) == 1


def test_counts_after_a_retry_are_those_of_the_table(spark: Any, tmp_path: Path) -> None:
    table = made(spark, ROWS, True, parts=6)
    expected = distinct_users(ROWS, range(6))
    for at in range(2):
        mark = tmp_path / f"killed-{at}"
        again = two_columns(table.mapInArrow(killed_once(mark), table.schema), "member", "work")
        assert count_distinct_users(again, range(6)).tolist() == expected
        assert mark.exists()


def test_the_tutorial_gives_the_same_release_on_spark(spark: Any) -> None:
    text = (Path(__file__).parents[2] / "docs" / "tutorials" / "cluster.md").read_text(encoding="utf-8")
    steps = re.findall(r"```python( spark)?\n(.*?)```", text, re.DOTALL)
    assert [bool(on_spark) for on_spark, _ in steps] == [False, False, True, True, True, True]
    names: dict[str, Any] = {"spark": spark}
    for _, step in steps:
        exec(compile(step, "cluster.md", "exec"), names)


def test_a_job_that_fails_releases_nothing_and_keeps_the_debit(spark: Any, tmp_path: Path) -> None:
    table = made(spark, [(SENTINEL_TEXT, "a")], False)
    table = table.mapInArrow(lambda batches: os.kill(os.getpid(), signal.SIGKILL) or batches, table.schema)
    release = SPACE >> tk.then_count_by_item(candidates=["a", "b"])
    release = release >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=1, scale=2.0)
    unit = {"dataset": "loans", "metric": tk.UserDistance()}
    with tk.Ledger.create(tmp_path / "budget", budget=10.0, measure=release.output_measure, **unit) as ledger:
        raises_exactly(TableError, lambda: ledger.release(release, table, d_in=1), "its back end failed")
        assert ledger.spent() == release.map(1)
