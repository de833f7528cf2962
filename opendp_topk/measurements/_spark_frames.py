"""What a Spark frame of scores must be; nothing of Spark is imported here.

Proof: proofs/measurements/spark_scores.tex
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from ..errors import ColumnError, DataTypeError, ForeignError
from ..spaces.domains import VectorDomain
from ..tables.spark_tasks import run

_INTEGERS = ("byte", "short", "integer", "long")
_LABELS = (*_INTEGERS, "string")
_SCORES = {int: _INTEGERS, float: ("float", "double")}
_CUTS = ("GlobalLimit", "LocalLimit", "Offset", "Tail")
_NODE = re.compile(r"^[\s:+|-]*(\w+)")


# proof-region: spark_frames
def two_columns(frame: Any, candidate: str, score: str, domain: VectorDomain) -> Any:
    """The columns ``candidate`` and ``score`` of a Spark frame, if their types can be those of labels and scores.

    Raises:
        DataTypeError: ``frame`` is no Spark frame.
        ColumnError: A column is missing, there are two of its name, or its type does not fit.
        ForeignError: The plan behind the frame may give other rows when it is run again.
    """
    if not type(frame).__module__.startswith("pyspark.sql.") or not hasattr(frame, "mapInArrow"):
        raise DataTypeError(f"frame must be a Spark DataFrame, not {type(frame).__name__}")
    schema = run(lambda: [(field.name, field.dataType.typeName()) for field in frame.schema.fields])
    wanted = {"candidate": (candidate, _LABELS), "score": (score, _SCORES[domain.element_domain.T])}
    for role, (name, kinds) in wanted.items():
        types = [kind for column, kind in schema if column == name]
        if len(types) != 1:
            raise ColumnError(f"the frame must have one column {name!r}, which is declared as {role}")
        if types[0] not in kinds:  # [types]
            raise ColumnError(f"the column {name!r} of the {role} must have one of the types {kinds}, not {types[0]}")
    require_repeatable(frame)  # [repeatable]
    return run(lambda: frame.select(*(f"`{name.replace('`', '``')}`" for name in (candidate, score))))  # [two]


def require_repeatable(frame: Any) -> None:
    """Raise where the plan says that it may give other rows when it is run again.

    A plan that says so has a function such as ``rand()``, or a limit of rows that are in no order. Spark Connect shows
    no plan.

    Raises:
        ForeignError: It says so.
    """
    if not hasattr(frame, "_jdf"):
        return
    plan = run(lambda: frame._jdf.queryExecution().analyzed())
    nodes = [found[1] for line in run(plan.toString).splitlines() if (found := _NODE.match(line))]
    cut = {below for node, below in pairwise([*nodes, ""]) if node in _CUTS}
    if not run(plan.deterministic) or not cut <= {*_CUTS, "Sort"}:  # [deterministic]
        raise ForeignError(
            "the frame must give the same rows whenever Spark runs a task again, and this plan has a random function "
            "or a limit without an order: write the scores to a table first, and read them from there"
        )


# end-proof-region: spark_frames
