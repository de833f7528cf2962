"""Plans of Spark that need not give the same rows twice, so that a task which is tried again may read another table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..errors import DataTypeError
from .guard import guarded

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_CUTS = ("GlobalLimit", "LocalLimit", "Offset", "Tail")
_ORDERED = (*_CUTS, "Sort")
_FIRST_SEEN = {"First", "Last", "AnyValue"}


# proof-region: spark_plans
def require_determinate(frame: DataFrame) -> None:
    """Raise where the plan shows that reading the table twice may give different rows.

    Seen are random expressions, samples, limits without an order right below them, ``dropDuplicates`` on some of the
    columns, and ``first``, ``last`` and ``any_value``. Not seen is what functions of Python do, what lies in an RDD,
    and ties in the order of a limit. Spark Connect shows no plan, and is refused.

    Raises:
        DataTypeError: It does, or it shows nothing.
        TableError: Spark cannot make sense of the plan.
    """
    if not hasattr(frame, "_jdf"):
        raise DataTypeError(
            "the table must not be a frame of Spark Connect, whose plan cannot be looked at: use a session in the "
            "driver, or write the table to files"
        )  # [connect]
    found = guarded(lambda: _undetermined(frame._jdf.queryExecution().analyzed()))  # [analyzed]
    if found:
        raise DataTypeError(
            f"the table must be the same whenever Spark reads it, and its plan holds {found}, which a task that is "
            "tried again may answer differently: write the table to files first and read those"
        )


def _undetermined(plan: Any) -> str | None:
    plans = [plan, *_listed(plan.subqueriesAll())]  # [subqueries]
    if not all(each.deterministic() for each in plans):
        return "a random expression (rand, uuid, monotonically_increasing_id, ...)"  # [random]
    reasons = (_reason(node) for each in plans for node in _nodes(each))
    return next((reason for reason in reasons if reason), None)  # [every-node]


def _reason(node: Any) -> str | None:
    name = node.nodeName()
    if name == "Sample":
        return "a sample"  # [sample]
    if name in _CUTS and node.children().apply(0).nodeName() not in _ORDERED:
        return "a limit without an order"  # [limit]
    if name == "Deduplicate" and node.keys().size() < node.output().size():
        return "dropDuplicates on some of its columns"  # [duplicates]
    expressions = (each for root in _listed(node.expressions()) for each in _nodes(root))
    if any(each.getClass().getSimpleName() in _FIRST_SEEN for each in expressions):
        return "first, last or any_value"  # [first]
    return None


def _nodes(tree: Any) -> Iterator[Any]:
    yield tree
    for child in _listed(tree.children()):
        yield from _nodes(child)


def _listed(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(at) for at in range(sequence.size()))


# end-proof-region: spark_plans
