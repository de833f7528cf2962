"""Tables that Spark holds, counted in its own plan: what leaves it is counts, and never a row.

pyspark is there where somebody made a Spark frame, and is imported by nothing else here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import DataLengthError
from .guard import guarded, require_below
from .held import HeldCounts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FEW = 10_000_000  # rows that are fetched, where no engine draws: 160 MB of integers
_NUMBERS = "bigint"  # holds every integer of Spark


# proof-region: spark_columns
def positional(frame: DataFrame, places: Sequence[int], names: Sequence[str]) -> DataFrame:
    """The columns at these places under these names, which Spark would compare without regard to case."""
    unique = frame.toDF(*(f"c{at}" for at in range(len(frame.columns))))
    return unique.select(*(f"c{at}" for at in places)).toDF(*names)  # [columns]


# end-proof-region: spark_columns


# proof-region: spark_counts
def count_listed(frame: DataFrame, kind: str, candidates: Sequence[Any]) -> Any:
    """The candidates' places and counts, where they are not 0: a pyarrow table of the columns ``place`` and ``count``.

    Args:
        frame: Two columns: users and items.
        kind: "String" if the items are strings, otherwise they are integers.
        candidates: Distinct, all of that kind.
    """
    placed = with_places(_pairs(frame), "item", kind, candidates)  # [spark-join]
    return placed.select("user", "place").distinct().groupBy("place").count().toArrow()  # [spark-distinct]


def count_keys(frame: DataFrame, most: int | None) -> HeldCounts:
    """The counts of all items, of the first ``most`` of each user; they stay where they are until asked for."""
    return _held(_first(_pairs(frame).distinct(), most).groupBy("item").count())  # [spark-users]


def _first(pairs: DataFrame, most: int | None, *order: Any) -> DataFrame:
    """The rows of the first ``most`` items of each user, by ``order``; a user and an item are in one row at most."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    if most is None:
        return pairs
    basket = Window.partitionBy("user").orderBy(*order, "item")
    return pairs.withColumn("row", F.row_number().over(basket)).filter(F.col("row") <= most)  # [spark-first]


def _held(counted: DataFrame) -> HeldCounts:
    """The column ``count`` by the column ``item``."""
    from pyspark.sql import functions as F

    def best(n: int | None) -> dict[Any, int]:
        ranked = counted if n is None else counted.orderBy(F.desc("count"), F.asc("item")).limit(n)  # [spark-best]
        return {key: int(count) for key, count in guarded(ranked.select("item", "count").collect)}

    return HeldCounts(best)


def with_places(table: DataFrame, name: str, kind: str, listed: Sequence[Any]) -> DataFrame:
    """The rows whose entry of this column is in the list, each with its ``place`` there."""
    return table.join(_places(table, name, kind, listed), on=name)  # [spark-places]


def _places(table: DataFrame, name: str, kind: str, listed: Sequence[Any]) -> DataFrame:
    """The list as a column of this name beside one of places, but for integers that no column of Spark holds."""
    import pyarrow as pa

    exact_type = pa.string() if kind == "String" else pa.int64()
    places = [at for at, one in enumerate(listed) if kind == "String" or -(2**63) <= one < 2**63]  # [spark-range]
    columns = {name: pa.array([listed[at] for at in places], exact_type), "place": pa.array(places, pa.int64())}
    return table.sparkSession.createDataFrame(pa.table(columns))  # [spark-list]


def _pairs(frame: DataFrame) -> DataFrame:
    """The columns ``user`` and ``item``, without nulls, as wide integers, or strings that are compared by bytes."""
    return exact(frame.toDF("user", "item"), "user", "item").dropna()  # [spark-known]


def exact(table: DataFrame, *names: str) -> DataFrame:
    """These columns as wide integers, or strings that are compared by bytes, and the others as they are.

    What is no string of Unicode characters is null: Python would give several of them one name.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.types import StringType

    kinds = {field.name: isinstance(field.dataType, StringType) for field in table.schema.fields}
    texts = {name: F.collate(F.try_validate_utf8(name), "UTF8_BINARY") for name in names if kinds[name]}  # [unicode]
    typed = {name: F.col(name).cast(_NUMBERS) for name in names} | texts
    return table.select(*(typed.get(name, F.col(name)).alias(name) for name in table.columns))  # [spark-exact]


# end-proof-region: spark_counts


# proof-region: spark_sums
def sum_keys(totals: DataFrame, most: int | None) -> HeldCounts:
    """The sums of ``value`` by item, but for those that are 0, of the first ``most`` items of each user.

    ``totals`` has one row (user, item, value) for each user and item.
    """
    from pyspark.sql import functions as F

    summed = _first(totals, most).groupBy("item").agg(F.sum("value").alias("count"))  # [spark-sums]
    return _held(summed.filter(F.col("count") != 0))  # [spark-positive]


# end-proof-region: spark_sums


# proof-region: spark_weights
def sum_weights(frame: DataFrame, most: int, unit: int, shares: Any | None) -> DataFrame:
    """By item (columns ``item``, ``count``, ``users``) the weights that its users give to it; otherwise as ``Baskets``.

    Args:
        frame: Two columns: users and items.
        most: How many items of a user count.
        unit: The length of what a user spreads.
        shares: A pyarrow table with the columns ``item`` and ``share``, or None for equal shares.
    """
    from pyspark.sql import functions as F

    kept = _first(_pairs(frame).distinct(), most).select("user", "item")  # [spark-first-items]
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
def split(frame: DataFrame, kind: str, groups: Sequence[Any], most: int) -> list[DataFrame]:
    """The rows (user, item) of each group, of users who have it among their first; otherwise as ``split_by_group``."""
    from pyspark.sql import functions as F

    kept, names = _at_home(frame, kind, groups, most), frame.columns[:2]
    parts = (kept.filter(F.col("home") == at) for at in range(len(groups)))
    return [part.select("user", "item").toDF(*names) for part in parts]  # [spark-split]


def count_cells(
    frame: DataFrame, kinds: Sequence[str], groups: Sequence[Any], candidates: Sequence[Any], most: int
) -> DataFrame:
    """The counts by group and candidate that are not 0: the columns ``home`` and ``place``, theirs, and ``count``.

    Args:
        frame: Three columns: users, items and groups.
        kinds: "String" if the items, and if the groups, are strings; otherwise they are integers.
        groups: Distinct, all of their kind.
        candidates: Distinct, all of their kind.
        most: To how many groups a user belongs at most, at least 1.
    """
    kept = _at_home(frame, kinds[1], groups, most).dropna()  # [spark-items]
    placed = with_places(kept, "item", kinds[0], candidates)  # [spark-candidates]
    return placed.select("user", "home", "place").distinct().groupBy("home", "place").count()  # [spark-cells]


def _at_home(frame: DataFrame, kind: str, groups: Sequence[Any], most: int) -> DataFrame:
    """The columns ``user``, ``item`` and ``home`` of the rows in each user's first groups, the place being ``home``."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    known = exact(frame.toDF("user", "item", "group"), "user", "item", "group").filter(F.col("user").isNotNull())
    placed = with_places(known, "group", kind, groups)  # [spark-groups]
    ranked = placed.withColumn("rank", F.dense_rank().over(Window.partitionBy("user").orderBy("place")))
    first = ranked.filter(F.col("rank") <= most)  # [spark-first-groups]
    return first.select("user", "item", F.col("place").alias("home"))  # [spark-at-home]


# end-proof-region: spark_group_counts


# proof-region: spark_outside
def count_outside(frame: DataFrame, kind: str, items: Sequence[Any], most: int) -> int:
    """The sum over users of the number of their rows with an item that is not listed, but no more than ``most`` each.

    Args:
        frame: Two columns: users and items.
        kind: "String" if the items are strings, otherwise they are integers.
        items: Distinct, all of that kind; there may be none.
        most: At least 1 and at most 2^31.
    """
    from pyspark.sql import functions as F

    known = _pairs(frame)
    others = known.join(_places(known, "item", kind, items), on="item", how="left_anti")  # [spark-others]
    rows = others.groupBy("user").agg(F.count("*").alias("rows"))
    capped = F.least(F.col("rows"), F.lit(most).cast(_NUMBERS))  # [spark-most]
    ((total, size),) = rows.agg(F.sum(capped), F.sum("rows")).collect()
    require_below(int(size or 0), 32, "rows")  # [spark-size]
    return int(total or 0)  # [spark-total]


# end-proof-region: spark_outside


# proof-region: spark_capping
def keep_first(known: DataFrame, weighed: DataFrame | None, most: int) -> DataFrame:
    """The rows of the first ``most`` items of each user; of two columns each pair once.

    Args:
        known: The columns user and item, exact and without nulls, and perhaps others.
        weighed: The columns user, item and weight, each pair once, if items come by falling weights.
        most: At least 1.
    """
    from pyspark.sql import functions as F

    pairs = known.select("user", "item").distinct() if weighed is None else weighed  # [spark-pairs]
    order = [] if weighed is None else [F.desc("weight")]
    chosen = _first(pairs, most, *order).select("user", "item")  # [spark-chosen]
    if len(known.columns) == 2:
        return chosen
    return known.join(chosen, on=["user", "item"], how="left_semi").select(*known.columns)  # [spark-their-rows]


def identified(frame: DataFrame) -> DataFrame:
    """The columns user, item and perhaps value, exact, of the rows that are somebody's and have an item."""
    table = frame.toDF(*("user", "item", "value")[: len(frame.columns)])
    return exact(table, "user", "item").dropna(subset=["user", "item"])  # [spark-identified]


def fetched(table: DataFrame) -> Any:
    """All rows as a table of pyarrow, if there are no more than ``FEW``.

    Raises:
        DataLengthError: There are more.
        TableError: Spark failed.
    """
    found = guarded(table.limit(FEW + 1).toArrow)  # [spark-fetched]
    if found.num_rows > FEW:
        raise DataLengthError(
            f"items of a frame of Spark are kept at random in this process, which takes up to {FEW:,} rows: keep them "
            'by "order", "rows" or "value", which stays in Spark'
        )  # [spark-few]
    return found


# end-proof-region: spark_capping
