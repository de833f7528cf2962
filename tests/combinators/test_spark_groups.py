"""Selections for the groups of a Spark frame by its workers: each from its own counts, once, and of all groups.

Tries proofs/combinators/together.tex.
"""

import pickle
import random
from collections import Counter
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.combinators import _spark_groups
from opendp_topk.combinators._selecting import CountedSelection, match_counted_selection
from opendp_topk.tables import spark as spark_tasks

from ..concepts.sentinels import raises_exactly
from ..oracles.chi_square import assert_follows
from ..oracles.counts import distinct_users
from ..oracles.groups import by_group
from ..tables.spark_session import Shared
from .test_partition_by import DOMAIN
from .test_together import SELECTIONS, by_town, counted

pa = pytest.importorskip("pyarrow")

CELLS = sorted((home, place, (home * 7 + place * 5) % 11 + 1) for home in (0, 2, 3, 7) for place in range(home % 4))
ON_SPARK = SimpleNamespace(implementation=SimpleNamespace(is_pyspark=lambda: True))


def member(kind: str = "ranking", scale: float = 0) -> tk.Measurement:
    return counted() >> SELECTIONS[kind](scale)


def parts(one: tk.Measurement) -> CountedSelection:
    found = match_counted_selection(one)
    assert found is not None
    return found


def best(counts: list[int]) -> list[int]:
    return sorted(range(3), key=lambda i: (-counts[i], i))[:2]


def expected(home: int) -> list[int]:
    counts = {place: count for at, place, count in CELLS if at == home}
    return best([counts.get(place, 0) for place in range(3)])


def batches(cells: list[tuple[int, int, int]], size: int = 2) -> Any:
    columns = [[cell[at] for cell in cells] for at in range(3)]
    table = pa.table(dict(zip(("home", "place", "count"), (pa.array(c, pa.int64()) for c in columns), strict=True)))
    return table.to_batches(max_chunksize=size)


def frame(*partitions: list[tuple[int, int, int]]) -> Any:
    """What Spark does with these partitions, in this process."""

    def map_in_arrow(work: Any, schema: str) -> Any:
        assert schema == spark_tasks.ANSWER
        task = next(cell.cell_contents for cell in work.__closure__ if isinstance(cell.cell_contents, bytes))
        rows = (spark_tasks.build_answer_row(at, task, batches(one)).to_pylist() for at, one in enumerate(partitions))
        return SimpleNamespace(collect=lambda: [row for found in rows for row in found])

    return SimpleNamespace(mapInArrow=map_in_arrow)


def selected(monkeypatch: pytest.MonkeyPatch, one: tk.Measurement, places: list[int], *partitions: Any) -> Any:
    monkeypatch.setattr(_spark_groups, "cells_by_group", lambda *_: frame(*partitions))
    monkeypatch.setattr(_spark_groups, "FEW", 0)
    task = _spark_groups.task_for_workers(ON_SPARK, 1, [one] * 9, places)
    assert task is not None
    return _spark_groups.select_in_workers(ON_SPARK, range(9), 1, parts(one), task, places)


@pytest.mark.parametrize("at_once", [1, 3, 2**20])
def test_groups_are_drawn_for_whole_however_their_cells_come(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(_spark_groups, "_AT_ONCE", at_once)
    for cells, size in ((3, 1), (6, 2), (2**22, 4)):
        monkeypatch.setattr(_spark_groups, "_CELLS", cells)
        for wanted in (None, np.array([1, 3, 7])):
            found = _spark_groups.draw_for_groups(member(), wanted, batches(CELLS, size))
            homes = [home for names, _ in found for home in names]
            assert homes == ([2, 3, 7] if wanted is None else [3, 7])
            assert [list(row) for _, rows in found for row in rows] == [expected(home) for home in homes]
    assert _spark_groups.draw_for_groups(member(), None, batches([])) == []


def test_each_place_has_the_release_of_its_group_with_or_without_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = [cell for cell in CELLS if cell[0] % 2 == 0], [cell for cell in CELLS if cell[0] % 2]
    for places in ([0, 1, 2, 3, 4, 5, 6, 7, 8], [1, 3, 8]):
        found = selected(monkeypatch, member(), places, second, [], first)
        assert found.tolist() == [expected(place) for place in places]
    single = selected(monkeypatch, member("one"), [2, 6, 7], second, first)
    assert single.tolist() == [expected(place)[0] for place in (2, 6, 7)]
    assert selected(monkeypatch, member(), [4, 5], []).tolist() == [[0, 1]] * 2


def test_a_group_in_two_places_releases_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_spark_groups, "_AT_ONCE", 4)
    for torn in ([CELLS[:-1], CELLS[-1:]], [[*CELLS, (2, 2, 1)]]):
        release = partial(selected, monkeypatch, member(), [2, 7], *torn)
        raises_exactly(tk.errors.ForeignError, release, "nothing was released")


def test_workers_draw_where_counts_are_many_and_the_member_can_be_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other, unsent = member(), member(), member() >> (lambda release: release)
    here = SimpleNamespace(implementation=SimpleNamespace(is_pyspark=lambda: False))
    few, many = _spark_groups.FEW, _spark_groups.FEW + 1
    ask = _spark_groups.task_for_workers
    task = ask(ON_SPARK, many, [other, one, other, one], [1, 3])
    assert task is not None
    assert [list(row) for _, rows in pickle.loads(task)(batches(CELLS)) for row in rows] == [expected(3)]
    for rows, size, members in ((ON_SPARK, few, [one]), (here, many, [one]), (ON_SPARK, many, [unsent])):
        assert ask(rows, size, members, [0]) is None
    assert ask(ON_SPARK, many, [one, other], [0, 1]) is None


@pytest.fixture(scope="module")
def spark(shared_spark: Shared) -> Any:
    return shared_spark.get()


@pytest.mark.slow
def test_workers_of_spark_release_for_every_group(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without noise the best of each group's own counts; with noise two groups at a time follow their joint law."""
    monkeypatch.setattr(_spark_groups, "FEW", 0)
    monkeypatch.setattr("opendp_topk.tables.grouping.count_by_group", None)
    draw = random.Random(7)
    rows = [(draw.randrange(60), draw.choice("abcd"), draw.randrange(9)) for _ in range(400)]
    towns = [3, 8, 0, 20, 2, 21, 1]
    found = by_town(dict.fromkeys(towns, member()))(framed(spark, rows))
    assert [list(one) for one in found] == [best(distinct_users(own, "abc")) for own in by_group(rows, towns)]

    choose = counted() >> SELECTIONS["one"](1.5)
    pairs = 2200
    rows = [(reader + 4 * at, book, town + 2 * at) for at in range(pairs) for reader, book, town in PAIR]
    drawn = by_town(dict.fromkeys(range(2 * pairs), choose))(framed(spark, rows))
    laws = [choose.distribution(polars([row[:2] for row in PAIR if row[2] == town])) for town in (0, 1)]
    law: dict[Any, float] = {(a, b): float(p * q) for a, p in laws[0].items() for b, q in laws[1].items()}
    assert_follows(Counter(zip(drawn[::2], drawn[1::2], strict=True)), law, detects=0.44)


@pytest.mark.slow
def test_all_groups_are_counted_in_the_jobs_of_one(spark: Any) -> None:
    """However many groups the driver draws for: as many jobs, and without noise the best of each group's counts."""
    rows = [(user, "abcd"[item], user % 7) for user in range(60) for item in range(4) if user * item % 11 < 4 + item]
    table, jobs = framed(spark, rows), []
    for towns in ([3], [*range(9), 20]):
        spark.sparkContext.setJobGroup(f"of {len(towns)}", "groups")
        found = by_town(dict.fromkeys(towns, member()))(table)
        jobs.append(len(spark.sparkContext.statusTracker().getJobIdsForGroup(f"of {len(towns)}")))
        assert [list(one) for one in found] == [best(distinct_users(own, "abc")) for own in by_group(rows, towns)]
    assert jobs[0] == jobs[1] > 0


@pytest.mark.slow
def test_a_failing_worker_is_reported(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_spark_groups, "FEW", 0)
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(broken))
    top = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
    scores = spark.range(9).selectExpr("id AS item", "id AS score")
    told = {
        str(raises_exactly(tk.errors.ForeignError, release, "nothing was released", "PYSPARK_PYTHON"))
        for release in (
            lambda: by_town(dict.fromkeys([0, 1], member()))(framed(spark, [(1, "a", 0), (2, "b", 1)])),
            lambda: tk.release_spark(
                top >> tk.then_permute_and_flip(tk.MaxDivergence(), scale=1.0), scores, "item", "score"
            ),
        )
    }
    assert len(told) == 1


PAIR = [(0, "a", 1), (1, "b", 0), (2, "b", 0), (3, "c", 1)]


def polars(rows: list[Any]) -> Any:
    return pytest.importorskip("polars").DataFrame(rows, schema=["reader", "book"], orient="row")


def framed(spark: Any, rows: list[Any]) -> Any:
    columns = [pa.array(column) for column in zip(*rows, strict=True)]
    names = tuple(DOMAIN.columns.values())
    return spark.createDataFrame(pa.table(dict(zip(names, columns, strict=True)))).repartition(3)
