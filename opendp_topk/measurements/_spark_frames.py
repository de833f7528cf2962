"""What a Spark frame of scores must be; nothing of Spark is imported here.

Proof: proofs/measurements/spark_scores.tex
"""

from __future__ import annotations

from typing import Any

from ..errors import ColumnError, DataTypeError
from ..spaces.domains import VectorDomain
from ..tables.spark_plans import require_determinate
from ..tables.spark_tasks import run

_INTEGERS = ("byte", "short", "integer", "long")
_LABELS = (*_INTEGERS, "string")
_SCORES = {int: _INTEGERS, float: ("float", "double")}


# proof-region: spark_frames
def two_columns(frame: Any, candidate: str, score: str, domain: VectorDomain) -> Any:
    """The columns ``candidate`` and ``score`` of a Spark frame, if their types can be those of labels and scores.

    Raises:
        DataTypeError: ``frame`` is no Spark frame, or its plan is not known to give the same rows again.
        ColumnError: A column is missing, there are two of its name, or its type does not fit.
        ForeignError: Spark cannot tell what the frame is.
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
    require_determinate(frame)  # [determinate]
    return run(lambda: frame.select(*(f"`{name.replace('`', '``')}`" for name in (candidate, score))))  # [two]


# end-proof-region: spark_frames
