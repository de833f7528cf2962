"""release_spark: the measurement's own release on the scores of a frame, whatever its partitions and whoever fails.

Tries proofs/measurements/spark_scores.tex.
"""

import contextlib
import dataclasses
import pickle
import random
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.errors import DataError, DataTypeError, ForeignError, ParameterError, ParameterTypeError
from opendp_topk.measurements import _in_parts
from opendp_topk.tables import spark as spark_tasks

from ..concepts.examples import COUNTS
from ..concepts.sentinels import SENTINEL_INT, SENTINEL_TEXT, raises_exactly
from ..tables.spark_session import BRIEF, Shared, session
from .spark import ATTEMPTS, kill_workers

PURE = tk.MaxDivergence()
PLANS = pytest.mark.parametrize("plan", ["workers", "collect"])
SHARES = tk.VectorDomain(tk.AtomDomain(float, bounds=(0.0, 1.0))), tk.RangeDistance()


def top(k: int, space: Any = COUNTS, scale: Any = 0, **options: Any) -> tk.Measurement:
    return space >> tk.then_report_noisy_top_k(PURE, k=k, scale=scale, **options)


def answers(numbers: Iterable[int], rows: Any, measurement: tk.Measurement) -> list[dict[str, Any]]:
    """What workers answer, each for these rows: candidates and scores, in batches of two."""
    arrow = pytest.importorskip("pyarrow")
    batches = arrow.table(rows).to_batches(max_chunksize=2)
    sent = pickle.dumps(partial(_in_parts.find_batch_finalists, measurement))
    return [row for number in numbers for row in spark_tasks.build_answer_row(number, sent, batches).to_pylist()]


def test_of_each_partition_one_part_is_taken() -> None:
    rows = {"item": ["c", "a", "b"], "score": [2, 5, 2]}
    for part in spark_tasks.collect_answers(answers((1, 0), rows, top(2))):
        assert (part.size, part.labels, part.values.tolist()) == (3, ("a", "b"), [5, 2])
    for numbers in ((0, 1, 1), (0, 2), (1,)):
        doubled = answers(numbers, rows, top(2))
        raises_exactly(
            ForeignError, lambda doubled=doubled: spark_tasks.collect_answers(doubled), "twice or not at all"
        )


@pytest.mark.parametrize(
    ("rows", "error", "required"),
    [
        ({"item": ["a", "b"], "score": [0.5, float("nan")]}, DataError, "must be finite"),
        ({"item": ["a", "b"], "score": [0.5, None]}, DataTypeError, "must not be null"),
        ({"item": ["a", None], "score": [0.5, 0.25]}, DataTypeError, "must not be null"),
        ({"item": ["a", "b"], "score": [SENTINEL_INT, 1]}, DataTypeError, "must be float64"),
    ],
)
def test_the_error_of_a_worker_is_the_error_of_the_release(rows: Any, error: type[Exception], required: str) -> None:
    good = answers((0, 2), {"item": ["c"], "score": [0.75]}, top(1, SHARES))
    failed = [*good, *answers((1,), rows, top(1, SHARES))]
    raises_exactly(error, lambda: spark_tasks.collect_answers(failed), required)


@pytest.mark.parametrize("best", [True, False])
def test_candidates_are_text_also_those_that_are_not_released(best: bool) -> None:
    """An error named a byte of the one that was chosen, and none was raised where another one was."""
    arrow = pytest.importorskip("pyarrow")
    texts = arrow.array([b"a", b"\xff"], arrow.binary()).cast(arrow.string(), safe=False)
    rows = arrow.table({"item": texts, "score": [1, 10**9] if best else [10**9, 1]}).to_batches()
    raises_exactly(DataTypeError, lambda: _in_parts.find_batch_finalists(top(1), rows), "UTF-8 text")


def test_a_partition_without_rows_has_nobody() -> None:
    (part,) = spark_tasks.collect_answers(answers((0,), {"item": [], "score": []}, top(2)))
    assert (part.size, part.labels) == (0, ())


def test_other_frames_are_refused() -> None:
    for frame in (None, [1], {"item": [1]}):
        raises_exactly(DataTypeError, lambda frame=frame: tk.release_spark(top(1), frame, "a", "b"), "Spark DataFrame")
    raises_exactly(ParameterError, lambda: tk.release_spark(top(1), None, "a", "b", plan="all"), "plan must be one of")
    raises_exactly(ParameterError, lambda: tk.release_spark(top(1) >> str, None, "a", "b"), "one-shot selection")


@pytest.fixture(scope="module")
def spark(shared_spark: Shared, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    shared_spark.end()
    brief = {"spark.driver.extraJavaOptions": BRIEF}
    for started in session(tmp_path_factory.mktemp("spark"), f"local[2,{ATTEMPTS}]", brief):
        started.sparkContext.setCheckpointDir(str(tmp_path_factory.mktemp("checkpoints")))
        yield started


def framed(spark: Any, rows: list[tuple[Any, Any]], schema: str, parts: int) -> Any:
    """Rows in this many partitions, some of which may be empty."""
    return spark.createDataFrame(spark.sparkContext.parallelize(rows, parts), schema).checkpoint()


@pytest.mark.slow
@PLANS
def test_without_noise_the_release_is_that_of_the_scores_in_order(spark: Any, plan: str) -> None:
    rng = random.Random(plan)
    items = ["", "a", "B", "b", "é", "e\u0301x", "Z", "zz", "😀", "a b", "0", "10", "9"]
    rows = [(item, rng.randrange(4)) for item in items]
    rng.shuffle(rows)
    scores = [score for _, score in sorted(rows)]
    frame = framed(spark, rows, "item string, `a score` long", 5)
    for options in ({}, {"release": "set"}, {"optimize": "min"}):
        measurement = top(5, **options)
        expected = [sorted(items)[i] for i in measurement(scores)]
        assert list(tk.release_spark(measurement, frame, "item", "a score", plan=plan)) == expected
    one = COUNTS >> tk.then_exponential_mechanism(PURE, scale=0)
    assert tk.release_spark(one, frame, "item", "a score", plan=plan) == sorted(items)[one(scores)]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "plan"), [("byte", "workers"), ("int", "collect"), ("float", "workers")])
def test_columns_of_numbers(spark: Any, plan: str, kind: str) -> None:
    space = SHARES if kind in ("float", "double") else COUNTS
    rows = [(2**40 + i, (i * 7 % 5 + 1) / 8 if space is SHARES else i * 7 % 5 - 2) for i in range(20)]
    frame = framed(spark, rows, f"item long, score {kind}", 3)
    measurement = top(6, space)
    assert list(tk.release_spark(measurement, frame, "item", "score", plan=plan)) == [
        2**40 + i for i in measurement([score for _, score in rows])
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "schema", "error", "required"),
    [
        ([("a", None), ("b", 0.5)], "item string, score double", DataTypeError, "must not be null"),
        ([(None, 0.1), ("b", 0.5)], "item string, score double", DataTypeError, "must not be null"),
        ([("a", 1.5), ("b", 0.5)], "item string, score double", DataError, "bounds (0.0, 1.0)"),
        ([], "item string, score double", DataError, "at least one element"),
        ([("a", 0.5)], "item string, score double", DataError, "at least k elements (2)"),
        ([("a", 1), ("b", 2)], "item string, score long", DataTypeError, "not long"),
        ([(1.5, 0.5)], "item double, score double", DataTypeError, "of the candidate must have"),
        ([("a", 0.5)], "thing string, score double", DataError, "one column 'item'"),
    ],
)
def test_what_is_no_member_is_refused(
    spark: Any, rows: list[Any], schema: str, error: type[Exception], required: str
) -> None:
    frame = framed(spark, rows, schema, 2)
    plans = ("workers", "collect") if len(rows) == 1 else ("workers",)
    for plan in plans:
        raises_exactly(
            error, lambda plan=plan: tk.release_spark(top(2, SHARES), frame, "item", "score", plan=plan), required
        )


@pytest.mark.slow
def test_a_missing_candidate_is_refused_where_the_size_is_declared(spark: Any) -> None:
    sized = tk.VectorDomain(tk.AtomDomain(int), size=11), tk.LInfDistance(monotonic=True)
    frame = spark.range(10).selectExpr("id as item", "id as score")
    raises_exactly(DataError, lambda: tk.release_spark(top(2, sized), frame, "item", "score"), "11 elements")


@pytest.mark.slow
def test_what_spark_says_is_not_repeated(spark: Any) -> None:
    frame = spark.range(10).selectExpr("id as item", f"cast(concat('{SENTINEL_TEXT}', id) as long) as score")
    for plan in ("workers", "collect"):
        release = partial(tk.release_spark, top(1), frame, "item", "score", plan=plan)
        raises_exactly(ForeignError, release, "nothing was released")


@pytest.mark.slow
def test_what_cannot_be_sent_is_refused_before_a_job_is_run(spark: Any) -> None:
    own = dataclasses.replace(top(1), parameters={})
    frame = spark.range(10).selectExpr("id as item", "id as score")
    raises_exactly(ParameterTypeError, lambda: tk.release_spark(own, frame, "item", "score", plan="workers"))


@pytest.mark.slow
def test_workers_have_digits_of_their_own(spark: Any) -> None:
    """Partitions of equal scores: no two of them have the same 16 digits for all of their 20 finalists."""
    frame = framed(spark, [(i, 1) for i in range(160)], "item long, score long", 8)
    sent = pickle.dumps(partial(_in_parts.find_batch_finalists, top(20, scale=1.0)))
    job = frame.mapInArrow(spark_tasks.partition_worker(sent), spark_tasks.ANSWER)
    parts = spark_tasks.collect_answers(job.collect())
    assert len(parts) == 8
    assert len({part.prefix.tobytes() for part in parts}) == 8


def waiting(folder: Path, attempts: int) -> Callable[[Any], Any]:
    """A step of a plan that tells its process id and waits to be killed, in the first attempts of each task."""

    def step(batches: Any) -> Any:
        import os
        import pathlib
        import time

        from pyspark import TaskContext

        context: Any = TaskContext.get()
        name = f"{context.partitionId()}-{context.attemptNumber()}"
        if context.partitionId() == 0 and context.attemptNumber() < attempts:
            pathlib.Path(str(folder), name).write_text(str(os.getpid()))
            time.sleep(60)
        yield from batches

    return step


def killed(folder: Path, attempts: int, ended: Event) -> tuple[int, int]:
    """Kill the workers once in each of the first attempts that say so; how many there were, and how many attempts.

    An attempt says nothing if its worker had been started already when those of the attempt before were killed.
    """
    found, told = 0, set[str]()
    until = time.monotonic() + 200  # a loaded machine starts a worker late
    while len(told) < attempts and not ended.wait(0.05):
        assert time.monotonic() < until, "the task was not started"
        for attempt in folder.glob("0-*"):
            if attempt.name not in told and attempt.read_text():
                told.add(attempt.name)
                found += kill_workers(int(attempt.read_text()))
    return found, len(told)


@pytest.mark.slow
@pytest.mark.parametrize("attempts", [1, ATTEMPTS], ids=["once", "for good"])
def test_a_worker_dies_in_a_release(spark: Any, attempts: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed once, its task is done again and one release comes out; killed each time, none; it is paid for once."""
    monkeypatch.setattr(_in_parts, "require_determinate", lambda frame: None)
    scores = framed(spark, [(i, 10 * i) for i in range(40)], "item long, score long", 4)
    frame = scores.mapInArrow(waiting(tmp_path, attempts), "item long, score long")
    budget = {"budget": 2, "measure": PURE, "dataset": "items", "metric": COUNTS[1]}
    measurement = top(3, scale=6.0)
    ended = Event()
    with (
        tk.ledger.Ledger.create(tmp_path / "budget.ledger", **budget) as ledger,
        ThreadPoolExecutor(1) as thread,
        contextlib.ExitStack() as last,
    ):
        last.callback(ended.set)
        killing = thread.submit(killed, tmp_path, attempts, ended)
        reserved = ledger.reserve(measurement)
        if attempts < ATTEMPTS:
            with reserved:
                released = tk.release_spark(measurement, frame, "item", "score", plan="workers")
                reserved.settle()
            assert len(set(released)) == 3
        else:
            with pytest.raises(ForeignError, match="nothing was released"), reserved:
                tk.release_spark(measurement, frame, "item", "score", plan="workers")
        ended.set()
        found, told = killing.result()
        assert found > told > 0, "the race itself ran in a worker that was killed"
        assert [one.state for one in ledger.history()] == ["released" if attempts < ATTEMPTS else "failed"]
        assert ledger.spent() == measurement.map(1)
