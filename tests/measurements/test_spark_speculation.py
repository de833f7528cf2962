"""A slow task of a race that Spark runs twice at once: both draw, and one release has the digits of one of them.

Tries proofs/measurements/spark_scores.tex.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.measurements import _spark_scores
from opendp_topk.tables import spark_tasks

from ..concepts.examples import COUNTS
from .spark_hosts import two_hosts

pytestmark = pytest.mark.slow

PURE = tk.MaxDivergence()
EACH, PARTS = 20, 4


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with two_hosts(tmp_path_factory.mktemp("hosts")) as started:
        yield started


def filing(folder: Path, first: int) -> Callable[[bytes], Any]:
    """The library's own worker, which files what it answers under its partition and attempt.

    Attempt 0 of partition 0 waits until attempt 1 has raced as well. Then ``first`` of them answers, and the other one
    waits for the end of the release.
    """
    own = spark_tasks.worker

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
            awaited = place.with_name("0-1" if attempt == first else "over")
            end = time.monotonic() + 60
            while number == 0 and not awaited.exists() and time.monotonic() < end:
                time.sleep(0.02)
            yield answer

        return filed

    return worker


@pytest.mark.parametrize("first", [0, 1], ids=["the slow one first", "the copy first"])
def test_of_a_task_that_runs_twice_one_part_is_taken(
    spark: Any, first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The candidates of partition 0 are all far ahead and equal, so that the winners are its finalists."""
    taken: list[Any] = []
    chosen = spark_tasks.chosen

    def watched(rows: Any) -> Any:
        taken.extend(rows)
        return chosen(taken)

    monkeypatch.setattr(_spark_scores, "worker", filing(tmp_path, first))
    monkeypatch.setattr(_spark_scores, "chosen", watched)
    rows = [(item, 10**6 if item < EACH else 0) for item in range(EACH * PARTS)]
    frame = spark.createDataFrame(spark.sparkContext.parallelize(rows, PARTS), "item long, score long")
    measurement = COUNTS >> tk.then_report_noisy_top_k(PURE, k=3, scale=6.0)
    budget: dict[str, Any] = {"budget": 2, "measure": PURE, "dataset": "items", "metric": COUNTS[1]}
    with tk.Ledger(tmp_path / "budget.ledger", **budget) as ledger:
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
