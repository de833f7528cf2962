"""Counts and rows of Spark frames, determinism checks of their plans, and Spark jobs."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import DataError, DataTypeError, ForeignError, TopKError
from .guard import require_below, run_guarded
from .held import EngineCounts

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    Check = Callable[[Any], str | None]


# Tables of Spark, counted by a Spark plan. Rows leave Spark only in ``fetch_rows``.
#
# pyspark is imported only inside functions, since it is installed if there is a Spark frame.

FEW = 10_000_000  # maximum rows to fetch for a random choice: 160 MB of integers
_NUMBERS = "bigint"  # represents every integer of Spark


# proof-region: spark_columns
def select_by_position(frame: DataFrame, places: Sequence[int], names: Sequence[str]) -> DataFrame:
    """Return the columns at these positions under these names. Spark would compare names without regard to case."""
    unique = frame.toDF(*(f"c{at}" for at in range(len(frame.columns))))
    return unique.select(*(f"c{at}" for at in places)).toDF(*names)  # [columns]


# end-proof-region: spark_columns


# proof-region: spark_counts
def count_listed_items(frame: DataFrame, kind: str, candidates: Sequence[Any]) -> Any:
    """Return the indices ``place`` and the nonzero counts ``count`` of candidates, as a pyarrow table."""
    placed = join_places(_user_item_pairs(frame), "item", kind, candidates)  # [spark-join]
    return placed.select("user", "place").distinct().groupBy("place").count().toArrow()  # [spark-distinct]


def count_all_items(frame: DataFrame, most: int | None) -> EngineCounts:
    """Return the counts of all items, over each user's first ``most``. They stay in Spark until they are requested."""
    return _to_engine_counts(
        _first_items(_user_item_pairs(frame).distinct(), most).groupBy("item").count()
    )  # [spark-users]


def _first_items(pairs: DataFrame, most: int | None, *order: Any) -> DataFrame:
    """Return the rows of each user's first ``most`` items by ``order``. Each pair must have at most one row."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    if most is None:
        return pairs
    basket = Window.partitionBy("user").orderBy(*order, "item")
    return pairs.withColumn("row", F.row_number().over(basket)).filter(F.col("row") <= most)  # [spark-first]


def _to_engine_counts(counted: DataFrame) -> EngineCounts:
    """Return the column ``count`` by the column ``item``."""
    from pyspark.sql import functions as F

    def fetch_largest(n: int | None) -> dict[Any, int]:
        ranked = counted if n is None else counted.orderBy(F.desc("count"), F.asc("item")).limit(n)  # [spark-best]
        return {key: int(count) for key, count in run_guarded(ranked.select("item", "count").collect)}

    return EngineCounts(fetch_largest)


def join_places(table: DataFrame, name: str, kind: str, listed: Sequence[Any]) -> DataFrame:
    """Return the rows whose entry in column ``name`` is listed, each with its index ``place`` in the list."""
    return table.join(_places_frame(table, name, kind, listed), on=name)  # [spark-places]


def _places_frame(table: DataFrame, name: str, kind: str, listed: Sequence[Any]) -> DataFrame:
    """Return the list as column ``name`` beside its indices, without integers that no column of Spark can contain."""
    import pyarrow as pa

    exact_type = pa.string() if kind == "String" else pa.int64()
    places = [at for at, one in enumerate(listed) if kind == "String" or -(2**63) <= one < 2**63]  # [spark-range]
    columns = {name: pa.array([listed[at] for at in places], exact_type), "place": pa.array(places, pa.int64())}
    return table.sparkSession.createDataFrame(pa.table(columns))  # [spark-list]


def _user_item_pairs(frame: DataFrame) -> DataFrame:
    """Return the columns ``user`` and ``item`` without nulls, as bigint, or as strings that are compared by bytes."""
    return cast_exact_columns(frame.toDF("user", "item"), "user", "item").dropna()  # [spark-known]


def cast_exact_columns(table: DataFrame, *names: str) -> DataFrame:
    """Return these columns as bigint, or as strings that are compared by bytes, and the other columns unchanged.

    Strings that are not valid UTF-8 become null, since Python would read several of them as the same string.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.types import StringType

    kinds = {field.name: isinstance(field.dataType, StringType) for field in table.schema.fields}
    texts = {name: F.collate(F.try_validate_utf8(name), "UTF8_BINARY") for name in names if kinds[name]}  # [unicode]
    typed = {name: F.col(name).cast(_NUMBERS) for name in names} | texts
    return table.select(*(typed.get(name, F.col(name)).alias(name) for name in table.columns))  # [spark-exact]


# end-proof-region: spark_counts


# proof-region: spark_sums
def sum_item_totals(totals: DataFrame, most: int | None) -> EngineCounts:
    """Return the nonzero sums of ``value`` by item, over each user's first ``most`` items.

    ``totals`` has one row (user, item, value) for each user and item.
    """
    from pyspark.sql import functions as F

    summed = _first_items(totals, most).groupBy("item").agg(F.sum("value").alias("count"))  # [spark-sums]
    return _to_engine_counts(summed.filter(F.col("count") != 0))  # [spark-positive]


# end-proof-region: spark_sums


# proof-region: spark_weights
def sum_weights(frame: DataFrame, most: int, unit: int, shares: Any | None) -> DataFrame:
    """Return the users' weights and number by item (columns ``item``, ``count``, ``users``).

    Args:
        frame: Two columns: users and items.
        most, unit: As for ``Baskets``.
        shares: A pyarrow table with the columns ``item`` and ``share``, or None for equal shares.
    """
    from pyspark.sql import functions as F

    kept = _first_items(_user_item_pairs(frame).distinct(), most).select("user", "item")  # [spark-first-items]
    if shares is None:
        shared = kept.withColumn("share", F.lit(1).cast(_NUMBERS))  # [spark-equal]
    else:
        shared = kept.join(kept.sparkSession.createDataFrame(shares), on="item")  # [spark-in-proportion]
    users = shared.groupBy("user").agg(F.sum(F.col("share") * F.col("share")).alias("square"))  # [spark-squares]
    length, square = F.lit(unit * unit).cast(_NUMBERS), F.col("square")
    nearly = users.withColumn("nearly", F.floor(F.sqrt(length / square)).cast(_NUMBERS))
    over = F.col("nearly") * F.col("nearly") * square > length
    lower = nearly.withColumn("lower", F.when(over, F.col("nearly") - 1).otherwise(F.col("nearly")))
    within = F.col("lower") * F.col("lower") * square <= length
    rates = lower.select("user", F.when(within, F.col("lower")).otherwise(F.lit(0)).alias("rate"))  # [spark-within]
    weighed = shared.join(rates, on="user").withColumn("weight", F.col("share") * F.col("rate"))
    return weighed.groupBy("item").agg(
        F.sum("weight").alias("count"), F.count("weight").alias("users")
    )  # [spark-weights]


# end-proof-region: spark_weights


# proof-region: spark_group_counts
def split_spark_groups(frame: DataFrame, kind: str, groups: Sequence[Any], most: int) -> list[DataFrame]:
    """Return the rows (user, item) of each group, from users who have it among their first; see ``split_by_group``."""
    from pyspark.sql import functions as F

    kept, names = _rows_of_first_groups(frame, kind, groups, most), frame.columns[:2]
    parts = (kept.filter(F.col("home") == at) for at in range(len(groups)))
    return [part.select("user", "item").toDF(*names) for part in parts]  # [spark-split]


def count_cells(
    frame: DataFrame, kinds: Sequence[str], groups: Sequence[Any], candidates: Sequence[Any], most: int
) -> DataFrame:
    """Return the nonzero counts by group and candidate: their indices ``home`` and ``place``, and ``count``."""
    kept = _rows_of_first_groups(frame, kinds[1], groups, most).dropna()  # [spark-items]
    placed = join_places(kept, "item", kinds[0], candidates)  # [spark-candidates]
    return placed.select("user", "home", "place").distinct().groupBy("home", "place").count()  # [spark-cells]


def _rows_of_first_groups(frame: DataFrame, kind: str, groups: Sequence[Any], most: int) -> DataFrame:
    """Return the rows in each user's first ``most`` groups: ``user``, ``item`` and ``home``, the group's index."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    known = cast_exact_columns(frame.toDF("user", "item", "group"), "user", "item", "group").filter(
        F.col("user").isNotNull()
    )
    placed = join_places(known, "group", kind, groups)  # [spark-groups]
    ranked = placed.withColumn("rank", F.dense_rank().over(Window.partitionBy("user").orderBy("place")))
    first = ranked.filter(F.col("rank") <= most)  # [spark-first-groups]
    return first.select("user", "item", F.col("place").alias("home"))  # [spark-at-home]


# end-proof-region: spark_group_counts


# proof-region: spark_outside
def count_outside(frame: DataFrame, kind: str, items: Sequence[Any], most: int) -> int:
    """Return the sum over users of the number of their rows with an unlisted item, at most ``most`` for each."""
    from pyspark.sql import functions as F

    known = _user_item_pairs(frame)
    others = known.join(_places_frame(known, "item", kind, items), on="item", how="left_anti")  # [spark-others]
    rows = others.groupBy("user").agg(F.count("*").alias("rows"))
    capped = F.least(F.col("rows"), F.lit(most).cast(_NUMBERS))  # [spark-most]
    ((total, size),) = rows.agg(F.sum(capped), F.sum("rows")).collect()
    require_below(int(size or 0), 32, "rows")  # [spark-size]
    return int(total or 0)  # [spark-total]


# end-proof-region: spark_outside


# proof-region: spark_capping
def keep_first_items(known: DataFrame, weighed: DataFrame | None, most: int) -> DataFrame:
    """Return the rows of each user's first ``most`` items; of two columns each pair once."""
    from pyspark.sql import functions as F

    pairs = known.select("user", "item").distinct() if weighed is None else weighed  # [spark-pairs]
    order = [] if weighed is None else [F.desc("weight")]
    chosen = _first_items(pairs, most, *order).select("user", "item")  # [spark-chosen]
    if len(known.columns) == 2:
        return chosen
    return known.join(chosen, on=["user", "item"], how="left_semi").select(*known.columns)  # [spark-their-rows]


def identified_rows(frame: DataFrame) -> DataFrame:
    """Return the columns user, item and optionally value, exact, of the rows with a non-null user and item."""
    table = frame.toDF(*("user", "item", "value")[: len(frame.columns)])
    return cast_exact_columns(table, "user", "item").dropna(subset=["user", "item"])  # [spark-identified]


def fetch_rows(table: DataFrame) -> Any:
    """Return all rows as a pyarrow table, if there are at most ``FEW``."""
    found = run_guarded(table.limit(FEW + 1).toArrow)  # [spark-fetched]
    if found.num_rows > FEW:
        raise DataError(
            f'by="random" selects items of a Spark frame in this process, which supports up to {FEW:,} rows: '
            'use by="order", "rows" or "value", which run in Spark'
        )  # [spark-few]
    return found


# end-proof-region: spark_capping


# Spark plans that return the same table at each read: all their nodes and expressions are on a list of known ones.
#
# Spark retries tasks, and computes a frame again at each read. So a plan must be a function of its files that does not
# depend on the order of rows, on the clock, or on randomness. Whatever is not on the lists is refused.

_SETTINGS = {
    "spark.sql.execution.sortBeforeRepartition": "true",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
}


# proof-region: spark_plans
def require_determinate(frame: DataFrame) -> None:
    """Raise DataTypeError unless all nodes and expressions of the plan are known to return the same rows at each read.

    Spark Connect does not expose the plan, and is refused.
    """
    if not hasattr(frame, "_jdf"):
        raise DataTypeError(
            "the table must not be a frame of Spark Connect, whose plan cannot be inspected: use a session "
            "in the driver, or write the table to files"
        )  # [connect]
    found = run_guarded(lambda: _find_nondeterminism(frame))
    if found:
        raise DataTypeError(
            f"the table must be the same each time Spark reads it, but {found}. Write the table to files, for example "
            "by frame.write.parquet(path), and pass spark.read.parquet(path), or pass frame.checkpoint()"
        )


def _find_nondeterminism(frame: DataFrame) -> str | None:
    for name, value in _SETTINGS.items():
        if str(frame.sparkSession.conf.get(name)).lower() != value:
            return f"the setting {name} of the session must be {value}"  # [settings]
    plan = frame._jdf.queryExecution().analyzed()  # [analyzed]
    return next((found for node in _plan_nodes(plan) if (found := _refusal_reason(node))), None)  # [every-node]


def _plan_nodes(plan: Any) -> Iterator[Any]:
    """Yield the nodes of a plan, and those of subqueries in its expressions."""
    for node in _walk_tree(plan):
        yield node
        for expression in _node_expressions(node):
            if _class_name(expression) in _SUBQUERIES:
                yield from _plan_nodes(expression.plan())  # [subqueries]


def _refusal_reason(node: Any) -> str | None:
    """Return the reason why this node may return other rows at the next read, or None."""
    name = _class_name(node)
    if name not in _NODES:
        return f"its plan has the node {_short_class_name(node)}, which is not known to be"  # [listed-node]
    for expression in _node_expressions(node):
        kind = _class_name(expression)
        if kind not in _EXPRESSIONS:
            return (
                f"its plan has the expression {_short_class_name(expression)}, which is not known to "
                f"be"
            )  # [listed-expression]
        check = _EXPRESSIONS[kind]
        found = _check_window(expression, node) if kind == _WINDOW else check(expression) if check else None
        if found:
            return found  # [checked-expression]
    check = _NODES[name]
    return check(node) if check else None  # [checked-node]


def _check_file_relation(node: Any) -> str | None:
    """Accept files of Spark's own formats, listed when the frame was made, if an unreadable file is an error."""
    relation = node.relation()
    if _class_name(relation) != f"{_FILES}HadoopFsRelation" or _class_name(relation.fileFormat()) not in _FORMATS:
        return f"its plan reads {_short_class_name(relation)}, which is not known to be"  # [formats]
    if _class_name(relation.location()) != f"{_FILES}InMemoryFileIndex":
        return "its plan reads a table of partitions whose files are listed for each job: read them by their path"
    if node.output().size() != relation.schema().size():
        return "its plan reads the hidden column _metadata, parts of which depend on how files are split"  # [hidden]
    options = [(str(one._1()).lower(), str(one._2()).lower()) for one in _iterate_sequence(relation.options().toSeq())]
    if ("mode", "dropmalformed") in options:
        return "its plan reads files in the mode DROPMALFORMED, which drops other rows for other columns"  # [same-rows]
    if any(name in _LEFT_OUT and value != "false" for name, value in options):
        return "its plan reads files with an option that skips files that cannot be read"  # [whole-files]
    return "its plan reads a stream" if node.isStreaming() else None


def _check_rdd(node: Any) -> str | None:
    """Accept only an RDD that is checkpointed to files and read from there."""
    if node.rdd().getCheckpointFile().isDefined():
        return None  # [checkpoint]
    return "it is made of an RDD, or of Python's rows, which is not known to be"


def _check_streaming(node: Any) -> str | None:
    return "its plan reads a stream" if node.isStreaming() else None


def _key_type_check(columns: Callable[[Any], Any]) -> Check:
    """Return a check that equal entries of these columns are identical, since one of them represents all."""

    def check(node: Any) -> str | None:
        kinds = [_inexact_type_name(column) for column in _iterate_sequence(columns(node))]
        return next((f"its plan groups by a column of type {kind}, {_TWINS}" for kind in kinds if kind), None)

    return check


def _check_deduplicate(node: Any) -> str | None:
    if not _is_row_key(_iterate_sequence(node.keys()), node.child()):
        return "its plan has dropDuplicates on some of its columns, which keeps an arbitrary row"  # [duplicates]
    return None


def _check_limit(node: Any) -> str | None:
    """Accept a limit only if it takes the first rows of an order in which ties are equal rows."""
    below = node
    while _class_name(below) in _IN_ORDER:
        below = below.child()  # [in-order]
    if _class_name(below) != f"{_LOGICAL}Sort" or not getattr(below, "global")():
        return "its plan has a limit or an offset without an order"  # [limit]
    if not _is_row_key([order.child() for order in _iterate_sequence(below.order())], below.child()):
        return "its plan has a limit or an offset whose order leaves ties: order by all columns"  # [limit-ties]
    return None


def _check_window(window: Any, node: Any) -> str | None:
    """Accept a window function if ties in its order are equal rows, or if it depends only on whole groups of ties."""
    function, spec = window.windowFunction(), window.windowSpec()
    if _class_name(function) in _RANKS:
        return None  # [ranks]
    if _class_name(function) == f"{_AGGREGATE}AggregateExpression":
        frame = spec.frameSpecification()
        ends = [_class_name(frame.lower()), _class_name(frame.upper())]
        if _class_name(frame.frameType()) == f"{_EXPRESSION}RangeFrame$" or ends == _UNBOUNDED:
            return None  # [whole-ties]
    keys = [*_iterate_sequence(spec.partitionSpec()), *(order.child() for order in _iterate_sequence(spec.orderSpec()))]
    if _class_name(node) != f"{_LOGICAL}Window" or not _is_row_key(keys, node.child()):
        return (
            f"its plan has {_short_class_name(function)} over an order that leaves ties: order by all "
            f"columns"
        )  # [window-ties]
    return None


def _check_extreme(function: Any) -> str | None:
    kind = _inexact_type_name(function)
    return f"its plan has {_short_class_name(function)} of the type {kind}, {_TWINS}" if kind else None  # [extreme]


def _check_sum(function: Any) -> str | None:
    """Accept sums of longs and decimals, which do not depend on the order of rows; refuse ``try_sum``."""
    kind = function.dataType()
    exact = kind.typeName() == "long" or (kind.typeName().startswith("decimal") and kind.precision() < 38)
    if not exact or str(function.evalContext().evalMode().toString()) == "TRY":
        return f"its plan has a sum of the type {kind.typeName()} that may depend on the order of rows"  # [sum]
    return None


def _check_cast(cast: Any) -> str | None:
    """Refuse casts of text to times: a word such as 'now', even in a column, means the time of planning."""
    child, text = cast.child(), cast.child().dataType().typeName().startswith(("string", "char", "varchar"))
    if not text or not cast.dataType().typeName().startswith(("date", "time")):
        return None
    if _class_name(child) == f"{_EXPRESSION}Literal" and str(child.toString()).strip()[:1].isdigit():
        return None
    return "its plan converts text to a time, which may be a word for the current time"  # [words]


def _is_row_key(keys: Iterable[Any], child: Any) -> bool:
    """Return whether rows that agree in these keys, as Spark compares them, are identical in all columns."""
    named = {key.exprId().id() for key in keys if _class_name(key) == f"{_EXPRESSION}AttributeReference"}
    return all(
        one.exprId().id() in named and not _inexact_type_name(one) for one in _iterate_sequence(child.output())
    )  # [covers]


def _inexact_type_name(column: Any) -> str:
    """Return the name of the column's type, or an empty string if entries that Spark takes for equal are identical."""
    name = str(column.dataType().typeName())
    return "" if name in _IDENTICAL or name.startswith("decimal") else name  # [identical]


def _class_name(node: Any) -> str:
    return str(node.getClass().getName())


def _short_class_name(node: Any) -> str:
    return _class_name(node).rpartition(".")[2].rstrip("$")


def _node_expressions(node: Any) -> Iterator[Any]:
    return (each for root in _iterate_sequence(node.expressions()) for each in _walk_tree(root))


def _walk_tree(tree: Any) -> Iterator[Any]:
    yield tree
    for child in _iterate_sequence(tree.children()):
        yield from _walk_tree(child)


def _iterate_sequence(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(at) for at in range(sequence.size()))


_SQL = "org.apache.spark.sql."
_LOGICAL, _FILES = f"{_SQL}catalyst.plans.logical.", f"{_SQL}execution.datasources."
_EXPRESSION, _AGGREGATE = f"{_SQL}catalyst.expressions.", f"{_SQL}catalyst.expressions.aggregate."
_WINDOW = f"{_EXPRESSION}WindowExpression"
_TWINS = "in which any of several equal entries may represent them"


def _qualified_checks(room: str, names: str, check: Check | None = None) -> dict[str, Check | None]:
    return {f"{room}{name}": check for name in names.split()}


_NODES = {
    **_qualified_checks(_LOGICAL, "Project Filter SubqueryAlias View ResolvedHint Join Union Sort Expand Generate"),
    **_qualified_checks(_LOGICAL, "Repartition RepartitionByExpression RebalancePartitions"),
    **_qualified_checks(_LOGICAL, "WithCTE CTERelationDef CTERelationRef OneRowRelation Range Window"),
    **_qualified_checks(_LOGICAL, "LocalRelation", _check_streaming),
    **_qualified_checks(_LOGICAL, "GlobalLimit LocalLimit Offset", _check_limit),
    **_qualified_checks(_LOGICAL, "Distinct Intersect Except", _key_type_check(lambda node: node.output())),
    **_qualified_checks(_LOGICAL, "Aggregate", _key_type_check(lambda node: node.groupingExpressions())),
    **_qualified_checks(_LOGICAL, "Deduplicate", _check_deduplicate),
    **_qualified_checks(_FILES, "LogicalRelation", _check_file_relation),
    **_qualified_checks(f"{_SQL}execution.", "LogicalRDD", _check_rdd),
}
_IN_ORDER = _qualified_checks(_LOGICAL, "GlobalLimit LocalLimit Offset Project SubqueryAlias View")
_FORMATS = _qualified_checks(
    _FILES, "parquet.ParquetFileFormat orc.OrcFileFormat csv.CSVFileFormat json.JsonFileFormat"
) | _qualified_checks(_FILES, "text.TextFileFormat")
_EXPRESSIONS = {
    **_qualified_checks(
        _EXPRESSION, "AttributeReference Alias Literal SortOrder OuterReference Collate ResolvedCollation"
    ),
    **_qualified_checks(_EXPRESSION, "TryValidateUTF8"),
    **_qualified_checks(
        _EXPRESSION, "And Or Not In InSet IsNull IsNotNull IsNaN AtLeastNNonNulls Coalesce Nvl NaNvl If CaseWhen"
    ),
    **_qualified_checks(
        _EXPRESSION, "EqualTo EqualNullSafe LessThan LessThanOrEqual GreaterThan GreaterThanOrEqual Between"
    ),
    **_qualified_checks(_EXPRESSION, "With CommonExpressionDef CommonExpressionRef Greatest Least"),
    **_qualified_checks(
        _EXPRESSION, "Add Subtract Multiply Divide IntegralDivide Remainder Pmod UnaryMinus UnaryPositive Abs"
    ),
    **_qualified_checks(_EXPRESSION, "Floor Ceil Round BRound Signum BitwiseAnd BitwiseOr BitwiseXor BitwiseNot"),
    **_qualified_checks(_EXPRESSION, "ShiftLeft ShiftRight Murmur3Hash XxHash64 Md5 Sha1 Sha2 Crc32 Hex"),
    **_qualified_checks(
        _EXPRESSION, "Upper Lower Concat ConcatWs Substring Left Right Length StringTrim StringTrimLeft"
    ),
    **_qualified_checks(_EXPRESSION, "StringTrimRight StringLPad StringRPad StringReplace StringSplit SubstringIndex"),
    **_qualified_checks(_EXPRESSION, "StartsWith EndsWith Contains Like RLike RegExpExtract RegExpReplace"),
    **_qualified_checks(_EXPRESSION, "Year Quarter Month WeekOfYear DayOfWeek DayOfMonth DayOfYear Hour Minute Second"),
    **_qualified_checks(_EXPRESSION, "DateAdd DateSub DateDiff TruncDate TruncTimestamp"),
    **_qualified_checks(
        _EXPRESSION, "CreateArray CreateNamedStruct GetStructField GetArrayItem Size Explode PosExplode"
    ),
    **_qualified_checks(_EXPRESSION, "WindowExpression WindowSpecDefinition SpecifiedWindowFrame CurrentRow$"),
    **_qualified_checks(_EXPRESSION, "UnboundedPreceding$ UnboundedFollowing$ Rank DenseRank PercentRank CumeDist"),
    **_qualified_checks(_EXPRESSION, "RowNumber Lag Lead NTile ScalarSubquery ListQuery InSubquery Exists"),
    **_qualified_checks(_EXPRESSION, "Cast", _check_cast),
    **_qualified_checks(_AGGREGATE, "AggregateExpression Count CountIf BoolAnd BoolOr BitAndAgg BitOrAgg BitXorAgg"),
    **_qualified_checks(_AGGREGATE, "Min Max", _check_extreme),
    **_qualified_checks(_AGGREGATE, "Sum", _check_sum),
}
_SUBQUERIES = _qualified_checks(_EXPRESSION, "ScalarSubquery ListQuery Exists")
_RANKS = _qualified_checks(_EXPRESSION, "Rank DenseRank PercentRank CumeDist")
_UNBOUNDED = [*_qualified_checks(_EXPRESSION, "UnboundedPreceding$ UnboundedFollowing$")]
_LEFT_OUT = {"ignoremissingfiles", "ignorecorruptfiles"}
_IDENTICAL = {"boolean", "byte", "short", "integer", "long", "date", "timestamp", "timestamp_ntz", "binary"} | {
    "string",
    "string collate UTF8_BINARY",
}

# end-proof-region: spark_plans


# Spark jobs: one task for each partition, and exactly one result of each.
#
# Spark reruns a task if a worker is lost, and sometimes runs two copies at once. The driver gets one result for each
# partition. So the random digits of a lost or duplicate task are never used, and those of the others are used once.

T = TypeVar("T")
ANSWER = "number int, answer binary"


# proof-region: spark_tasks
def run_partition_tasks(frame: Callable[[], Any], pickled: bytes) -> list[Any]:
    """Return the answer of :func:`partition_worker` for each partition of the Spark frame that ``frame()`` returns."""
    return collect_answers(
        run_spark_job(lambda: frame().mapInArrow(partition_worker(pickled), ANSWER).collect())
    )  # [job]


def run_spark_job(job: Callable[[], T]) -> T:
    """Return ``job()``. Error messages of Spark may contain data, so they are dropped."""
    try:
        return job()
    except TopKError:
        raise
    except Exception:
        failed = True
    assert failed
    raise ForeignError(
        "Spark failed, and nothing was released: see its log, and check that the Python of its workers "
        "(PYSPARK_PYTHON) has opendp_topk[spark]"
    )


def partition_worker(pickled: bytes) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function for ``mapInArrow`` that yields the number of a partition, and an answer or an error."""

    def answer_partition(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        yield build_answer_row(context.partitionId(), pickled, batches)

    return answer_partition


def build_answer_row(number: int, pickled: bytes, batches: Iterable[pa.RecordBatch]) -> pa.RecordBatch:
    import pyarrow as pa

    try:
        answer = pickle.loads(pickled)(batches)  # [answer]
    except TopKError as error:
        answer = error
    arrays = [pa.array([number], pa.int32()), pa.array([pickle.dumps(answer)], pa.binary())]
    return pa.RecordBatch.from_arrays(arrays, ["number", "answer"])


def collect_answers(rows: Iterable[Any]) -> list[Any]:
    """Return the answers of the workers, one for each partition, or raise the first error."""
    found = sorted(rows, key=lambda row: row["number"])
    if [row["number"] for row in found] != list(range(len(found))):
        raise ForeignError("Spark returned a partition twice or not at all: nothing was released")  # [once]
    answers = [pickle.loads(row["answer"]) for row in found]
    for answer in answers:
        if isinstance(answer, TopKError):
            raise answer  # [error]
    return answers


# end-proof-region: spark_tasks
