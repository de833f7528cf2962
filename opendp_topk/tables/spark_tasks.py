"""Jobs of Spark, tasks for its workers, one for each partition, and the one answer of each that is taken.

Spark runs a task again where a worker is lost, and sometimes two of a kind at once; of each partition the driver gets
one result. So the digits of a lost or a doubled task are never seen, and those of the others are used once.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import ForeignError, TopKError

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
ANSWER = "number int, answer binary"


# proof-region: spark_tasks
def answers(frame: Callable[[], Any], pickled: bytes) -> list[Any]:
    """What :func:`worker` answers for each partition of the Spark frame that ``frame`` makes.

    Raises:
        ForeignError: Spark failed, or lost a partition. Nothing was released.
        TopKError: A worker raised it.
    """
    return chosen(run(lambda: frame().mapInArrow(worker(pickled), ANSWER).collect()))  # [job]


def run(job: Callable[[], T]) -> T:
    """What ``job`` returns. What Spark says when it fails could hold data, so it is dropped.

    Raises:
        ForeignError: It failed, and nothing was released.
    """
    try:
        return job()
    except TopKError:
        raise
    except Exception:
        failed = True
    assert failed
    raise ForeignError(
        "Spark could not finish its work, and nothing was released: see its own log, and check that the Python of its "
        "workers (PYSPARK_PYTHON) has opendp_topk[spark]"
    )


def worker(pickled: bytes) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What works on one partition, for ``mapInArrow``, and has one row: its number, and an answer or an error.

    Args:
        pickled: A pickle of what is called with the batches of a partition, and returns the answer.
    """

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        yield answered(context.partitionId(), pickled, batches)

    return work


def answered(number: int, pickled: bytes, batches: Iterable[pa.RecordBatch]) -> pa.RecordBatch:
    """The row of the partition with this number."""
    import pyarrow as pa

    try:
        answer = pickle.loads(pickled)(batches)  # [answer]
    except TopKError as error:
        answer = error
    arrays = [pa.array([number], pa.int32()), pa.array([pickle.dumps(answer)], pa.binary())]
    return pa.RecordBatch.from_arrays(arrays, ["number", "answer"])


def chosen(rows: Iterable[Any]) -> list[Any]:
    """The answers that the workers returned: of each partition one, or the first error."""
    found = sorted(rows, key=lambda row: row["number"])
    if [row["number"] for row in found] != list(range(len(found))):
        raise ForeignError("Spark returned a partition twice or not at all: nothing was released")  # [once]
    answers = [pickle.loads(row["answer"]) for row in found]
    for answer in answers:
        if isinstance(answer, TopKError):
            raise answer  # [error]
    return answers


# end-proof-region: spark_tasks
