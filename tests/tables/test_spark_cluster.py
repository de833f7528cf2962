"""Two executors of Spark, processes of their own: both race for one partition, and one is killed while they count.

One release comes out each time. Tries proofs/measurements/spark_scores.tex.
"""

import os
import pickle
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.tables import spark as spark_tasks
from opendp_topk.tables.keyed import count_users_by_item
from tests.tables.types import pairs_of

from ..concepts.examples import COUNTS
from .spark_hosts import two_hosts
from .spark_session import Shared

pytestmark = pytest.mark.slow

EACH, PARTS = 20, 4
ROWS = 1_000_000  # some seconds of work for two executors, so that one can be killed in the middle


@pytest.fixture(scope="module")
def spark(shared_spark: Shared, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    shared_spark.end()
    with two_hosts(tmp_path_factory.mktemp("hosts")) as started:
        yield started


def filing(folder: Path, first: int) -> Callable[[bytes], Any]:
    """The library's own worker, which files what it answers under its partition and attempt.

    Attempt ``first`` of partition 0 answers as soon as the other one has raced as well, which waits for the end of the
    release.
    """
    own = spark_tasks.partition_worker

    def worker(pickled: bytes) -> Any:
        race = own(pickled)

        def filed(batches: Any) -> Any:
            import pathlib
            import time

            from pyspark import TaskContext

            context: Any = TaskContext.get()
            (answer,) = race(batches)
            number, attempt = context.partitionId(), context.attemptNumber()
            place = pathlib.Path(str(folder), f"{number}-{attempt}")
            place.with_suffix(".part").write_bytes(answer["answer"][0].as_py())
            place.with_suffix(".part").rename(place)
            awaited = place.with_name(f"0-{1 - first}" if attempt == first else "over")
            end = time.monotonic() + 120
            while number == 0 and not awaited.exists() and time.monotonic() < end:
                time.sleep(0.02)
            yield answer

        return filed

    return worker


@pytest.mark.parametrize("first", [0, 1], ids=["the slow one first", "the copy first"])
def test_a_task_run_twice_counts_once(spark: Any, first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The candidates of partition 0 are all far ahead and equal, so that the winners are its finalists."""
    taken: list[Any] = []
    chosen = spark_tasks.collect_answers

    def watched(rows: Any) -> Any:
        taken.extend(rows)
        return chosen(taken)

    monkeypatch.setattr(spark_tasks, "partition_worker", filing(tmp_path, first))
    monkeypatch.setattr(spark_tasks, "collect_answers", watched)
    items = spark.range(0, EACH * PARTS, 1, PARTS)
    frame = items.selectExpr("id AS item", f"CASE WHEN id < {EACH} THEN 1000000 ELSE 0 END AS score")
    measurement = COUNTS >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=3, scale=6.0)
    budget: dict[str, Any] = {"budget": 2, "measure": tk.MaxDivergence(), "dataset": "items", "metric": COUNTS[1]}
    with tk.ledger.Ledger.create(tmp_path / "budget.ledger", **budget) as ledger:
        with ledger.reserve(measurement) as paid:
            released = tk.release_spark(measurement, frame, "item", "score", plan="workers")
            paid.settle()
        (tmp_path / "over").touch()
        assert ledger.spent() == measurement.map(1)
        assert [one.state for one in ledger.history()] == ["released"]
    filed = {place.name: place.read_bytes() for place in tmp_path.glob("?-?")}
    assert {"0-0", "0-1"} < filed.keys()
    assert sorted(row["number"] for row in taken) == list(range(PARTS))
    answers = {row["number"]: bytes(row["answer"]) for row in taken}
    assert answers[0] == filed[f"0-{first}"]
    assert all(answer in [filed[name] for name in filed if name[0] == str(at)] for at, answer in answers.items())
    parts = {name: pickle.loads(answer) for name, answer in filed.items()}
    assert len({part.prefix.tobytes() for part in parts.values()}) == len(filed) > PARTS
    assert set(released) == set(parts[f"0-{first}"].labels)


def executors(spark: Any) -> list[int]:
    """The process ids of the executors of this session, and of no other."""
    name = spark.sparkContext.applicationId.encode()
    found = []
    for process in Path("/proc").iterdir():
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if name in words and any(word.endswith(b"CoarseGrainedExecutorBackend") for word in words):
            found.append(int(process.name))
    return sorted(found)


def kill_one(spark: Any, killed: list[int]) -> None:
    """Kill an executor as soon as a stage is under way."""
    tracker = spark.sparkContext.statusTracker()
    while not tracker.getActiveStageIds():
        time.sleep(0.05)
    killed.append(executors(spark)[0])
    os.kill(killed[0], signal.SIGKILL)


def kill_in_stage(spark: Any, number: int, done: threading.Event, killed: list[int]) -> None:
    """Kill an executor in the stage of this number, from 0 on, among those that are seen until all is done."""
    tracker = spark.sparkContext.statusTracker()
    seen: set[int] = set()
    while not done.wait(0.01):
        seen |= set(tracker.getActiveStageIds())
        alive = executors(spark)
        if len(seen) > number and alive:
            killed.append(alive[0])
            os.kill(killed[0], signal.SIGKILL)
            return


def test_no_user_exceeds_the_cap_whichever_task_is_lost(spark: Any, tmp_path: Path) -> None:
    """Each user has twenty items, in rows of all partitions, and the first two count whoever is killed, and when."""
    users = 1999
    table = spark.range(0, ROWS // 5, 1, 8).selectExpr(
        f"id % {users} AS member", f"(id % {users} + id DIV {users} % 20) % 50 AS work"
    )
    baskets = [sorted((user + step) % 50 for step in range(20))[:2] for user in range(users)]
    expected = Counter(item for basket in baskets for item in basket)
    lost = 0
    for stage in (0, 2):
        end = time.monotonic() + 120
        while len(executors(spark)) < 2 and time.monotonic() < end:
            time.sleep(0.1)
        done, killed = threading.Event(), list[int]()
        killer = threading.Thread(target=kill_in_stage, args=(spark, stage, done, killed), daemon=True)
        killer.start()
        found = dict(count_users_by_item(pairs_of(table), most=2))
        done.set()
        killer.join(timeout=60)
        lost += len(killed)
        assert found == expected
        assert sum(found.values()) == 2 * users
    assert lost


def test_an_executor_that_is_killed_costs_one_release(spark: Any, tmp_path: Path) -> None:
    rows = spark.range(ROWS).selectExpr("id % 50000 AS member", "(id * 7) % 20 AS work")
    space = tk.FrameDomain("member", "work"), tk.UserDistance()
    count = space >> tk.then_count_by_item(candidates=range(21))
    release = count >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=1, scale=2.0)
    while len(executors(spark)) < 2:
        time.sleep(0.1)
    killed: list[int] = []
    killer = threading.Thread(target=kill_one, args=(spark, killed), daemon=True)
    killer.start()
    unit: dict[str, Any] = {"dataset": "loans", "metric": tk.UserDistance()}
    with tk.ledger.Ledger.create(tmp_path / "budget", budget=10.0, measure=release.output_measure, **unit) as ledger:
        assert len(ledger.release(release, rows, d_in=1)) == 1
        assert ledger.spent() == release.map(1)
        assert len(ledger.history()) == 1
    killer.join(timeout=60)
    assert len(killed) == 1
    expected = [len({n % 50000 for n in range(ROWS) if n * 7 % 20 == item}) for item in range(21)]
    assert count(rows).tolist() == expected
    assert killed[0] not in executors(spark)
