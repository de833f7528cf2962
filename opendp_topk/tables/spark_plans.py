"""Plans of Spark that give one table however often they are read: all that is in them is on a list of what does.

Spark tries tasks again, and a frame that is read twice is worked out twice. So a plan must be a function of its files
that does not depend on the order in which rows come, on the clock, or on chance. What is not on the lists is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ..errors import DataTypeError
from .guard import guarded

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    Check = Callable[[Any], str | None]

_SETTINGS = {
    "spark.sql.execution.sortBeforeRepartition": "true",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
}


# proof-region: spark_plans
def require_determinate(frame: DataFrame) -> None:
    """Raise unless every node and every expression of the plan is known to give the same rows whenever it is read.

    Spark Connect shows no plan, and is refused.

    Raises:
        DataTypeError: One of them is not, or there is nothing to look at.
        TableError: Spark cannot make sense of the plan.
    """
    if not hasattr(frame, "_jdf"):
        raise DataTypeError(
            "the table must not be a frame of Spark Connect, whose plan cannot be looked at: use a session in the "
            "driver, or write the table to files"
        )  # [connect]
    found = guarded(lambda: _unknown(frame))
    if found:
        raise DataTypeError(
            f"the table must be the same whenever Spark reads it, and {found}. Write the table to files, for example "
            "by frame.write.parquet(path), and pass spark.read.parquet(path), or pass frame.checkpoint()"
        )


def _unknown(frame: DataFrame) -> str | None:
    for name, value in _SETTINGS.items():
        if str(frame.sparkSession.conf.get(name)).lower() != value:
            return f"the setting {name} of the session must be {value}"  # [settings]
    plan = frame._jdf.queryExecution().analyzed()  # [analyzed]
    return next((found for node in _nodes(plan) if (found := _reason(node))), None)  # [every-node]


def _nodes(plan: Any) -> Iterator[Any]:
    """The nodes of a plan, and of those in the subqueries of its expressions."""
    for node in _tree(plan):
        yield node
        for expression in _expressions(node):
            if _name(expression) in _SUBQUERIES:
                yield from _nodes(expression.plan())  # [subqueries]


def _reason(node: Any) -> str | None:
    """What of this node is not known to give the same rows again."""
    name = _name(node)
    if name not in _NODES:
        return f"its plan has the node {_simple(node)}, which is not known to be"  # [listed-node]
    for expression in _expressions(node):
        kind = _name(expression)
        if kind not in _EXPRESSIONS:
            return f"its plan has the expression {_simple(expression)}, which is not known to be"  # [listed-expression]
        check = _EXPRESSIONS[kind]
        found = _over(expression, node) if kind == _WINDOW else check(expression) if check else None
        if found:
            return found  # [checked-expression]
    check = _NODES[name]
    return check(node) if check else None  # [checked-node]


def _file(node: Any) -> str | None:
    """Files of Spark's own formats, listed when the frame was made; a file that cannot be read is an error."""
    relation = node.relation()
    if _name(relation) != f"{_FILES}HadoopFsRelation" or _name(relation.fileFormat()) not in _FORMATS:
        return f"its plan reads {_simple(relation)}, which is not known to be"  # [formats]
    if _name(relation.location()) != f"{_FILES}InMemoryFileIndex":
        return "its plan reads a table of partitions whose files are listed for each job: read them by their path"
    if node.output().size() != relation.schema().size():
        return "its plan reads the hidden column _metadata, of which parts say how files are split"  # [hidden]
    options = [(str(one._1()).lower(), str(one._2()).lower()) for one in _listed(relation.options().toSeq())]
    if ("mode", "dropmalformed") in options:
        return "its plan reads files in the mode DROPMALFORMED, which drops other rows for other columns"  # [same-rows]
    if any(name in _LEFT_OUT and value != "false" for name, value in options):
        return "its plan reads files with an option that leaves some out where they cannot be read"  # [whole-files]
    return "its plan reads a stream" if node.isStreaming() else None


def _stored(node: Any) -> str | None:
    """An RDD that was written to files, and is read from there."""
    if node.rdd().getCheckpointFile().isDefined():
        return None  # [checkpoint]
    return "it is made of an RDD, or of Python's rows, which is not known to be"


def _local(node: Any) -> str | None:
    return "its plan reads a stream" if node.isStreaming() else None


def _keyed(columns: Callable[[Any], Any]) -> Check:
    """The check that equal entries of these columns, of which one stands for all, are one and the same."""

    def check(node: Any) -> str | None:
        kinds = [_type(column) for column in _listed(columns(node))]
        return next((f"its plan groups by a column of type {kind}, {_TWINS}" for kind in kinds if kind), None)

    return check


def _whole_rows(node: Any) -> str | None:
    if not _covers(_listed(node.keys()), node.child()):
        return "its plan has dropDuplicates on some of its columns, which keeps any row"  # [duplicates]
    return None


def _cut(node: Any) -> str | None:
    """A limit takes the first rows of an order in which only equal rows are tied."""
    below = node
    while _name(below) in _IN_ORDER:
        below = below.child()  # [in-order]
    if _name(below) != f"{_LOGICAL}Sort" or not getattr(below, "global")():
        return "its plan has a limit or an offset without an order"  # [limit]
    if not _covers([order.child() for order in _listed(below.order())], below.child()):
        return "its plan has a limit or an offset whose order leaves ties: order by all columns"  # [limit-ties]
    return None


def _over(window: Any, node: Any) -> str | None:
    """A function of a window sees rows in an order in which only equal rows are tied, or whole groups of ties."""
    function, spec = window.windowFunction(), window.windowSpec()
    if _name(function) in _RANKS:
        return None  # [ranks]
    if _name(function) == f"{_AGGREGATE}AggregateExpression":
        frame = spec.frameSpecification()
        ends = [_name(frame.lower()), _name(frame.upper())]
        if _name(frame.frameType()) == f"{_EXPRESSION}RangeFrame$" or ends == _UNBOUNDED:
            return None  # [whole-ties]
    keys = [*_listed(spec.partitionSpec()), *(order.child() for order in _listed(spec.orderSpec()))]
    if _name(node) != f"{_LOGICAL}Window" or not _covers(keys, node.child()):
        return f"its plan has {_simple(function)} over an order that leaves ties: order by all columns"  # [window-ties]
    return None


def _extreme(function: Any) -> str | None:
    kind = _type(function)
    return f"its plan has {_simple(function)} of the type {kind}, {_TWINS}" if kind else None  # [extreme]


def _sum(function: Any) -> str | None:
    """Sums of integers and decimals do not depend on the order, unless they overflow where that is no error."""
    kind = function.dataType()
    exact = kind.typeName() == "long" or (kind.typeName().startswith("decimal") and kind.precision() < 38)
    if not exact or str(function.evalContext().evalMode().toString()) == "TRY":
        return f"its plan has a sum of the type {kind.typeName()} that may depend on the order of rows"  # [sum]
    return None


def _cast(cast: Any) -> str | None:
    """A word such as 'now' is a time in a plan, of the moment when Spark makes it ready, also from a column."""
    child, text = cast.child(), cast.child().dataType().typeName().startswith(("string", "char", "varchar"))
    if not text or not cast.dataType().typeName().startswith(("date", "time")):
        return None
    if _name(child) == f"{_EXPRESSION}Literal" and str(child.toString()).strip()[:1].isdigit():
        return None
    return "its plan makes a time of a text, which may be a word for the time of day"  # [words]


def _covers(keys: Iterable[Any], child: Any) -> bool:
    """Whether rows that agree in these keys, as Spark compares them, are one and the same in all columns."""
    named = {key.exprId().id() for key in keys if _name(key) == f"{_EXPRESSION}AttributeReference"}
    return all(one.exprId().id() in named and not _type(one) for one in _listed(child.output()))  # [covers]


def _type(column: Any) -> str:
    """The name of the column's type, unless entries that are equal to Spark are one and the same."""
    name = str(column.dataType().typeName())
    return "" if name in _IDENTICAL or name.startswith("decimal") else name  # [identical]


def _name(node: Any) -> str:
    return str(node.getClass().getName())


def _simple(node: Any) -> str:
    return _name(node).rpartition(".")[2].rstrip("$")


def _expressions(node: Any) -> Iterator[Any]:
    return (each for root in _listed(node.expressions()) for each in _tree(root))


def _tree(tree: Any) -> Iterator[Any]:
    yield tree
    for child in _listed(tree.children()):
        yield from _tree(child)


def _listed(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(at) for at in range(sequence.size()))


_SQL = "org.apache.spark.sql."
_LOGICAL, _FILES = f"{_SQL}catalyst.plans.logical.", f"{_SQL}execution.datasources."
_EXPRESSION, _AGGREGATE = f"{_SQL}catalyst.expressions.", f"{_SQL}catalyst.expressions.aggregate."
_WINDOW = f"{_EXPRESSION}WindowExpression"
_TWINS = "of whose equal entries any may stand for all"


def _of(room: str, names: str, check: Check | None = None) -> dict[str, Check | None]:
    return {f"{room}{name}": check for name in names.split()}


_NODES = {
    **_of(_LOGICAL, "Project Filter SubqueryAlias View ResolvedHint Join Union Sort Expand Generate"),
    **_of(_LOGICAL, "Repartition RepartitionByExpression RebalancePartitions"),
    **_of(_LOGICAL, "WithCTE CTERelationDef CTERelationRef OneRowRelation Range Window"),
    **_of(_LOGICAL, "LocalRelation", _local),
    **_of(_LOGICAL, "GlobalLimit LocalLimit Offset", _cut),
    **_of(_LOGICAL, "Distinct Intersect Except", _keyed(lambda node: node.output())),
    **_of(_LOGICAL, "Aggregate", _keyed(lambda node: node.groupingExpressions())),
    **_of(_LOGICAL, "Deduplicate", _whole_rows),
    **_of(_FILES, "LogicalRelation", _file),
    **_of(f"{_SQL}execution.", "LogicalRDD", _stored),
}
_IN_ORDER = _of(_LOGICAL, "GlobalLimit LocalLimit Offset Project SubqueryAlias View")
_FORMATS = _of(_FILES, "parquet.ParquetFileFormat orc.OrcFileFormat csv.CSVFileFormat json.JsonFileFormat") | _of(
    _FILES, "text.TextFileFormat"
)
_EXPRESSIONS = {
    **_of(_EXPRESSION, "AttributeReference Alias Literal SortOrder OuterReference Collate ResolvedCollation"),
    **_of(_EXPRESSION, "TryValidateUTF8"),
    **_of(_EXPRESSION, "And Or Not In InSet IsNull IsNotNull IsNaN AtLeastNNonNulls Coalesce Nvl NaNvl If CaseWhen"),
    **_of(_EXPRESSION, "EqualTo EqualNullSafe LessThan LessThanOrEqual GreaterThan GreaterThanOrEqual Between"),
    **_of(_EXPRESSION, "With CommonExpressionDef CommonExpressionRef Greatest Least"),
    **_of(_EXPRESSION, "Add Subtract Multiply Divide IntegralDivide Remainder Pmod UnaryMinus UnaryPositive Abs"),
    **_of(_EXPRESSION, "Floor Ceil Round BRound Signum BitwiseAnd BitwiseOr BitwiseXor BitwiseNot"),
    **_of(_EXPRESSION, "ShiftLeft ShiftRight Murmur3Hash XxHash64 Md5 Sha1 Sha2 Crc32 Hex"),
    **_of(_EXPRESSION, "Upper Lower Concat ConcatWs Substring Left Right Length StringTrim StringTrimLeft"),
    **_of(_EXPRESSION, "StringTrimRight StringLPad StringRPad StringReplace StringSplit SubstringIndex"),
    **_of(_EXPRESSION, "StartsWith EndsWith Contains Like RLike RegExpExtract RegExpReplace"),
    **_of(_EXPRESSION, "Year Quarter Month WeekOfYear DayOfWeek DayOfMonth DayOfYear Hour Minute Second"),
    **_of(_EXPRESSION, "DateAdd DateSub DateDiff TruncDate TruncTimestamp"),
    **_of(_EXPRESSION, "CreateArray CreateNamedStruct GetStructField GetArrayItem Size Explode PosExplode"),
    **_of(_EXPRESSION, "WindowExpression WindowSpecDefinition SpecifiedWindowFrame CurrentRow$"),
    **_of(_EXPRESSION, "UnboundedPreceding$ UnboundedFollowing$ Rank DenseRank PercentRank CumeDist"),
    **_of(_EXPRESSION, "RowNumber Lag Lead NTile ScalarSubquery ListQuery InSubquery Exists"),
    **_of(_EXPRESSION, "Cast", _cast),
    **_of(_AGGREGATE, "AggregateExpression Count CountIf BoolAnd BoolOr BitAndAgg BitOrAgg BitXorAgg"),
    **_of(_AGGREGATE, "Min Max", _extreme),
    **_of(_AGGREGATE, "Sum", _sum),
}
_SUBQUERIES = _of(_EXPRESSION, "ScalarSubquery ListQuery Exists")
_RANKS = _of(_EXPRESSION, "Rank DenseRank PercentRank CumeDist")
_UNBOUNDED = [*_of(_EXPRESSION, "UnboundedPreceding$ UnboundedFollowing$")]
_LEFT_OUT = {"ignoremissingfiles", "ignorecorruptfiles"}
_IDENTICAL = {"boolean", "byte", "short", "integer", "long", "date", "timestamp", "timestamp_ntz", "binary"} | {
    "string",
    "string collate UTF8_BINARY",
}

# end-proof-region: spark_plans
