"""One-shot selection on scores that come in parts, such as the partitions of a Spark frame.

Proofs: proofs/measurements/in_parts.tex, proofs/measurements/spark_scores.tex
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

from ..core.candidates import IndexCandidates
from ..core.measurement import Measurement
from ..core.repeatable import RepeatableFunction
from ..errors import DataError, DataTypeError, ForeignError, ParameterError, ParameterTypeError, checks
from ..errors.experimental import mark_experimental
from ..sampling.samplers.merge import Part, Race, finish_race, merge_finalists, select_part_finalists
from ..spaces.domains import VectorDomain
from ..tables.spark import require_determinate, run_partition_tasks, run_spark_job

if TYPE_CHECKING:
    import pyarrow as pa


_TOGETHER = 64  # parts merged at a time, which bounds the number in memory


# proof-region: in_parts
def require_race(measurement: Any) -> tuple[Race, VectorDomain]:
    """Return the race whose winners ``measurement`` releases, and the domain of its scores.

    Raises:
        ParameterError: ``measurement`` is not a race, or a function is chained to it.
    """
    checks.require_instance(
        "measurement", measurement, Measurement, "a measurement, such as make_report_noisy_top_k returns"
    )
    race = measurement.function.race if isinstance(measurement.function, RepeatableFunction) else None
    domain = measurement.input_domain
    if not isinstance(race, Race) or not isinstance(domain, VectorDomain):  # [race-only]
        raise ParameterError(
            "measurement must be a one-shot selection (report_noisy_top_k, "
            "exponential_mechanism or permute_and_flip) without post-processing: only these can be run in "
            "parts. Apply post-processing to the release"
        )
    return race, domain


def find_finalists(measurement: Measurement, scores: Any, labels: Sequence[Any] | None = None) -> Part:
    """Return the finalists among ``scores``, which are validated before anything is drawn.

    By default the labels are positions.
    """
    race, domain = require_race(measurement)
    values = domain.element_domain.validate_array(scores)  # [validate]
    return select_part_finalists(range(len(values)) if labels is None else labels, values, race)  # [partial]


def merge_parts(parts: Iterable[Part], race: Race) -> Part:
    """Merge all parts into one, as they come."""
    held: list[Part] = []
    for part in parts:
        held.append(part)
        if len(held) == _TOGETHER:
            held = [merge_finalists(held, race)]  # [merge-some]
    if not held:
        raise DataError("scores must contain at least one element")  # [no-parts]
    return merge_finalists(held, race)  # [merge-all]


def winner_labels(measurement: Measurement, whole: Part) -> list[Any]:
    """Return the labels of the winners in ``whole``, the merged parts, after a check of the number of scores."""
    race, domain = require_race(measurement)
    if whole.size == 0:
        raise DataError("scores must contain at least one element")  # [not-empty]
    if domain.size is not None and whole.size != domain.size:
        raise DataError(f"scores must contain exactly {domain.size} elements, the size of the input domain")  # [size]
    if whole.size < race.k:
        raise DataError(f"scores must contain at least k elements ({race.k})")  # [length]
    return finish_race(whole, race)  # [finish]


@dataclass(frozen=True)
class FinalistFinder:
    """A picklable function that finds the finalists of one numbered part."""

    measurement: Measurement

    def __call__(self, numbered: tuple[int, Any]) -> tuple[int, Part]:
        number, scores = numbered
        return number, find_finalists(self.measurement, scores)  # [race-one]


def _iterate_parts(parts: Any) -> Iterator[Any]:
    try:
        return iter(parts)
    except TypeError:
        pass
    raise ParameterTypeError(f"parts must be an iterable of arrays, columns or lists, not {type(parts).__name__}")


@mark_experimental("its arguments may change")
def release_in_parts(measurement: Measurement, parts: Iterable[Any], *, map: Callable[..., Any] = map) -> Any:
    """Release a one-shot selection on scores that come in parts, such as batches of a frame or chunks of an array.

    The concatenation of the parts is the argument of ``measurement``, and the release has the output distribution of
    ``measurement`` on it. Each part is reduced to at most k finalists with the random digits drawn for them, and the
    winners are found among the finalists. So only one part at a time has to be in memory or in one process.

    Experimental: its arguments may change.

    Args:
        measurement: A one-shot selection as its constructor returns it: ``make_report_noisy_top_k``,
            ``make_exponential_mechanism`` or ``make_permute_and_flip``.
        parts: Arrays, columns or lists of scores, in the order of the candidates. A part may be empty.
        map: A function that applies a function to each element of an iterable and returns an iterable of the results,
            in any order: the built-in ``map`` (the default, one part after another), or that of an executor or of a
            process pool. If it calls the function again for a part, it must drop the earlier result.

    Returns:
        The release of ``measurement``: indices into the concatenated parts.

    Privacy:
        The same as ``measurement``: the privacy map is ``measurement.map``. Pay for the release with
        ``Ledger.reserve(measurement)``. The data that ``map`` transfers is as sensitive as the scores.

    Raises:
        ParameterError: ``measurement`` is not a one-shot selection, or a function is chained to it.
        ParameterTypeError: ``parts`` is not iterable, or ``map`` is not callable.
        DataError: The scores are not a member of the input domain, or are fewer than k. Nothing was released.
        ForeignError: ``map`` lost a part or returned one twice. Nothing was released.

    Runtime:
        A race for each part, plus a few milliseconds per 64 parts at k = 10. A part sends about 60 bytes per finalist.

    Proof: proofs/measurements/in_parts.tex

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> top2 = space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=2, scale=1.0)
        >>> tk.release_in_parts(top2, [[0, 900], [], [1800, 3, 1]])
        array([2, 1])
    """
    race, _ = require_race(measurement)
    checks.require_callable("map", map)
    stream = _iterate_parts(parts)
    handed: list[int | None] = []
    sizes: dict[int, int] = {}

    def number_parts() -> Iterator[tuple[int, Any]]:
        for number, scores in enumerate(stream):
            handed.append(number)
            yield number, scores  # [number]
        handed.append(None)  # [end]

    def iterate_finalists() -> Iterator[Part]:
        for number, part in map(FinalistFinder(measurement), number_parts()):
            if number in sizes:
                raise ForeignError("map returned a part twice: nothing was released")  # [once]
            sizes[number] = part.size
            yield replace(part, labels=tuple((number, place) for place in part.labels))  # [label]

    whole = merge_parts(iterate_finalists(), race)
    if handed != [*sorted(sizes), None]:
        raise ForeignError("map did not return every part: nothing was released")  # [every-part]
    starts = list(accumulate((sizes[number] for number in sorted(sizes)), initial=0))  # [starts]
    found = [starts[number] + place for number, place in winner_labels(measurement, whole)]
    return measurement.declared.decode(tuple(found))  # [decode]


# end-proof-region: in_parts


PLANS = ("auto", "collect", "workers")
FEW = 10_000_000  # scores collected to the driver by default: up to here that is faster and needs 200 MB
_AT_ONCE = 2**20  # scores per race: 8 MiB, which keeps merges few
_INTEGERS = ("byte", "short", "integer", "long")
_LABELS = (*_INTEGERS, "string")
_SCORES = {int: _INTEGERS, float: ("float", "double")}


# proof-region: spark_frames
def candidate_score_columns(frame: Any, candidate: str, score: str, domain: VectorDomain) -> Any:
    """Return the columns ``candidate`` and ``score`` of a Spark frame, after a check of their types.

    Raises:
        DataTypeError: ``frame`` is not a Spark frame, or its plan is not known to be deterministic.
        DataError: A column is missing, its name occurs twice, or it has the wrong type.
        ForeignError: Spark failed to read the schema or to select the columns.
        TableError: Spark failed to analyse the plan.
    """
    if not type(frame).__module__.startswith("pyspark.sql.") or not hasattr(frame, "mapInArrow"):
        raise DataTypeError(f"frame must be a Spark DataFrame, not {type(frame).__name__}")
    schema = run_spark_job(lambda: [(field.name, field.dataType.typeName()) for field in frame.schema.fields])
    wanted = {"candidate": (candidate, _LABELS), "score": (score, _SCORES[domain.element_domain.T])}
    for role, (name, kinds) in wanted.items():
        types = [kind for column, kind in schema if column == name]
        if len(types) != 1:
            raise DataError(f"the frame must have one column {name!r}, declared as {role}")
        if types[0] not in kinds:  # [types]
            raise DataTypeError(f"the column {name!r} of the {role} must have one of the types {kinds}, not {types[0]}")
    require_determinate(frame)  # [determinate]
    return run_spark_job(
        lambda: frame.select(*(f"`{name.replace('`', '``')}`" for name in (candidate, score)))
    )  # [two]


# end-proof-region: spark_frames


# proof-region: spark_scores
def find_batch_finalists(measurement: Measurement, batches: Iterable[pa.RecordBatch]) -> Part:
    """Return the finalists among the rows of ``batches``, whose columns are the candidates and their scores."""
    nobody = find_finalists(measurement, [])  # [nobody]
    parts = (_find_rows_finalists(measurement, rows) for rows in _group_batches(batches))
    return merge_parts(chain([nobody], parts), require_race(measurement)[0])  # [gather-rows]


def _find_rows_finalists(measurement: Measurement, rows: list[pa.RecordBatch]) -> Part:
    import pyarrow as pa

    candidates, scores = pa.Table.from_batches(rows).combine_chunks().columns
    if candidates.null_count or scores.null_count:
        raise DataTypeError("candidates and scores must not be null: drop or fill such rows")  # [no-nulls]
    try:
        candidates.validate(full=True)
    except pa.ArrowInvalid:
        candidates = None
    if candidates is None:
        raise DataTypeError("candidates must be integers or UTF-8 text, but one is not")  # [text]
    return find_finalists(measurement, scores.to_numpy(), ColumnLabels(candidates))  # [race-rows]


class ColumnLabels(Sequence[Any]):
    """The candidates of a column, each converted to a Python value on access."""

    def __init__(self, column: Any) -> None:
        self._column = column

    def __getitem__(self, place: Any) -> Any:
        return self._column[place].as_py()  # [label]

    def __len__(self) -> int:
        return len(self._column)


def _group_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    """Yield the batches in groups of at least ``_AT_ONCE`` rows, except for the last group."""
    held, rows = [], 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= _AT_ONCE:
            yield held
            held, rows = [], 0
    if held:
        yield held


@mark_experimental("its arguments may change")
def release_spark(measurement: Measurement, frame: Any, candidate: str, score: str, *, plan: str = "auto") -> Any:
    """Release a one-shot selection on a Spark frame with one row for each candidate.

    The argument of ``measurement`` is the vector of scores in the ascending order of their candidates. The release has
    the output distribution of ``measurement`` on it, with candidates in place of indices. The candidates must be public
    and the frame must contain all of them: a frame of counts lacks the items without users, which reveals that they
    have none. If the domain declares its size, a frame with another number of rows is refused.

    Experimental: its arguments may change.

    Args:
        measurement: A one-shot selection as its constructor returns it: ``make_report_noisy_top_k``,
            ``make_exponential_mechanism`` or ``make_permute_and_flip``.
        frame: A DataFrame of PySpark, version 4 or later. It must give the same rows whenever it is read. A plan that
            is not known to be deterministic is refused, and so is a frame of Spark Connect, as in ``FrameDomain``.
            Frames that are read from files are accepted.
        candidate: The column of candidates, integers or strings, each in one row.
        score: The column of scores: integers for ``AtomDomain(int)``, floats for ``AtomDomain(float)``.
        plan: ``"workers"`` finds up to k finalists of each partition in its worker, and sends only these;
            ``"collect"`` sends the two columns to the driver; ``"auto"`` (the default) collects if the domain declares
            a size of at most 10,000,000.

    Returns:
        A :class:`Release` whose ``items`` are candidates, best first for a ranking and ascending for a set; a single
        candidate if ``measurement`` releases one index.

    Privacy:
        The same as ``measurement``: the privacy map is ``measurement.map``. Pay for the release with
        ``Ledger.reserve(measurement)``. The data that workers send is as sensitive as the scores.

    Raises:
        ParameterError: ``measurement`` is not a one-shot selection, a function is chained to it, ``plan`` is not one
            of the three, or the workers have another version of this library.
        DataError: A column is missing or has the wrong type, the plan is not known to be deterministic, or the scores
            are not a member of the input domain.
        ForeignError: Spark failed. Nothing was released.
        TableError: Spark failed to analyse the plan. Nothing was released.
        ParameterTypeError: ``measurement`` cannot be pickled for the workers.

    Runtime:
        docs/howto/parts_and_spark.md has a table. Workers send about 60 bytes per finalist to the driver.

    Proof: proofs/measurements/spark_scores.tex

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int), size=10**9), tk.LInfDistance(monotonic=True)
        >>> top10 = space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=10, scale=20.0)
        >>> top10.map(1)
        0.5
        >>> tk.release_spark(top10, spark.table("visits_by_page"), "page", "visits").items  # doctest: +SKIP
        ('/', '/search', '/help', '/login', '/maps', '/news', '/mail', '/tv', '/jobs', '/about')
    """
    race, domain = require_race(measurement)
    plan = checks.require_choice("plan", plan, PLANS)
    rows = candidate_score_columns(frame, candidate, score, domain)
    if plan == "collect" or (plan == "auto" and domain.size is not None and domain.size <= FEW):
        whole = find_batch_finalists(measurement, run_spark_job(rows.toArrow).to_batches())  # [collect]
    else:
        task = pickle.dumps(partial(find_batch_finalists, measurement))  # [race-partition]
        whole = merge_parts(run_partition_tasks(lambda: rows, task), race)  # [workers]
    found = winner_labels(measurement, whole)
    return IndexCandidates(tuple(found))(measurement.declared.decode(tuple(range(len(found)))))  # [candidates]


# end-proof-region: spark_scores
