"""Row filters: a small language of conditions on one row.

    condition   = conjunction { "or" conjunction }
    conjunction = negation { "and" negation }
    negation    = "not" negation | "(" condition ")" | test
    test        = column ("=" | "!=" | "<" | "<=" | ">" | ">=") constant
                | column [ "not" ] "in" "(" constant { "," constant } ")"
                | column "is" [ "not" ] "null"
    constant    = 'text', 'yyyy-mm-dd' for a column of dates, a number, true or false

A column is a word, or any name in double quotes. A comparison with a null is unknown, ``not``, ``and`` and ``or``
follow SQL, and a row is kept only if the condition is true. Under every engine strings are compared by their bytes, NaN
equals itself and is greater than every other number, and -0.0 equals 0.0.

A filter has no privacy cost. Whether a row is kept depends only on that row and on public text, since a condition only
compares entries of the row with constants. So the kept rows of a user are a function of this user's rows, and if two
tables differ in the rows of d users, their filtered tables differ in the rows of at most d users. As a transformation,
a filter has stability 1 in users, under add/remove and replace-one. The language has nothing that depends on other rows
(a function, a window, a subquery), changes between reads, or fails on some rows only: the types of columns and
constants are checked before a row is read. Engines must not skip rows by statistics of a file, which ignore NaN: polars
filters the rows that DuckDB returns, and Spark must run without statistics.
"""

from __future__ import annotations

import datetime
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from ..errors import DataError, DataTypeError, ParameterError, ParameterTypeError
from .guard import run_guarded
from .rows import Rows, iterate_batches, plain_schema, select_columns, to_plain_frame

_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<name>\"(?:[^\"]|\"\")+\")|(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<word>[^\W\d]\w*)|(?P<sign><=|>=|!=|<>|==|[=<>(),]))\s*"
)
STATISTICS = "spark.sql.parquet.filterPushdown"  # Spark's setting to skip rows by statistics of files
_LONGEST, _DEEPEST = 1000, 50  # tokens, and nesting depth: beyond, an engine's stack may overflow
_WORDS = ("and", "or", "not", "in", "is", "null", "true", "false")
_COMPARED: Mapping[str, Callable[[Any, Any], Any]] = {
    "in": operator.eq,
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_JOINED: Mapping[str, Callable[[Any, Any], Any]] = {"and": operator.and_, "or": operator.or_}
_KINDS = {
    **dict.fromkeys(("String", "Categorical", "Enum"), "text"),
    **dict.fromkeys(("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32"), "integers"),
    **dict.fromkeys(("Float32", "Float64"), "floats"),
    "Boolean": "true or false",
    "Date": "dates",
}
_ORDERED = ("<", "<=", ">", ">=")
_NO_WORD = re.compile(r"(?=.*\d)[-+\d\s.,:/'%$€£TZeE]*", re.DOTALL)  # dates, times and numbers
_DECLARE = "declare the type of a column of a .csv file (--types year=integer,day=date), or write a file with that type"
_EXACT = 2**53  # float64 represents every integer up to here


@dataclass(frozen=True)
class ColumnComparison:
    """Comparison of a column with constants: by a sign, "in", or "null" without constants."""

    column: str
    by: str
    constants: tuple[Any, ...] = ()


@dataclass(frozen=True)
class BooleanCondition:
    """Conditions combined by "and", "or" or "not"."""

    by: str
    parts: tuple[Any, ...]


@dataclass(frozen=True)
class WhereCondition:
    text: str
    condition: Any

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(test.column for test in _column_comparisons(self.condition)))

    def filter_rows(self, frame: Any, columns: Sequence[str]) -> Any:
        return run_guarded(lambda: _filter_frame(frame, columns, self.condition))


def parse_condition(text: Any) -> WhereCondition:
    if not isinstance(text, str):
        raise ParameterTypeError(f"where must be a string, not {type(text).__name__}")
    return WhereCondition(text, _Parser(text).parse_whole_text())


class _Parser:
    """Parser of one text, which it reads once from its first token to its last."""

    def __init__(self, text: str) -> None:
        self.pieces: list[tuple[str, str, int]] = []
        at = 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise self.syntax_error("a column, a constant or a comparison", at)
            if len(self.pieces) == _LONGEST:
                raise ParameterError(
                    f"where must have at most {_LONGEST} names, constants, signs, commas and brackets, as for a list "
                    f"of {_LONGEST // 2 - 2} constants: for longer conditions, write a table of those rows"
                )
            self.pieces.append((str(found.lastgroup), found[str(found.lastgroup)], at))
            at = found.end()
        self.pieces.append(("end", "", len(text)))
        self.at = self.depth = 0

    def parse_whole_text(self) -> Any:
        found = self.parse_joined("or", lambda: self.parse_joined("and", self.parse_negation))
        if self.pieces[self.at][0] != "end":
            raise self.syntax_error("and, or, or the end")
        return found

    def parse_joined(self, by: str, part: Callable[[], Any]) -> Any:
        parts = [part()]
        while self.accept_token(by):
            parts.append(part())
        return parts[0] if len(parts) == 1 else BooleanCondition(by, tuple(parts))

    def parse_negation(self) -> Any:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.syntax_error("fewer brackets")
        if self.accept_token("not"):
            found: Any = BooleanCondition("not", (self.parse_negation(),))
        elif self.accept_token("("):
            found = self.parse_joined("or", lambda: self.parse_joined("and", self.parse_negation))
            self.expect_token(")")
        else:
            found = self.parse_test()
        self.depth -= 1
        return found

    def parse_test(self) -> Any:
        kind, piece, _ = self.pieces[self.at]
        if kind not in ("word", "name") or piece.lower() in _WORDS:
            raise self.syntax_error("a column")
        self.at += 1
        column = piece if kind == "word" else piece[1:-1].replace('""', '"')
        if self.accept_token("is"):
            negated = self.accept_token("not")
            self.expect_token("null")
            return _negate_if(ColumnComparison(column, "null"), negated)
        negated = self.accept_token("not")
        if self.accept_token("in"):
            self.expect_token("(")
            constants = [self.parse_constant()]
            while self.accept_token(","):
                constants.append(self.parse_constant())
            self.expect_token(")")
            return _negate_if(ColumnComparison(column, "in", tuple(constants)), negated)
        sign = self.pieces[self.at][1]
        if negated or sign not in _COMPARED:
            raise self.syntax_error("in" if negated else "a comparison")
        self.at += 1
        return ColumnComparison(column, sign, (self.parse_constant(),))

    def parse_constant(self) -> Any:
        kind, piece, _ = self.pieces[self.at]
        self.at += 1
        if kind == "text":
            return piece[1:-1].replace("''", "'")
        if kind == "number" and len(piece) < 100:
            number = float(piece)
            if re.fullmatch(r"[+-]?\d+", piece):
                return int(piece)
            if math.isfinite(number):
                return number
        if kind == "word" and piece.lower() in ("true", "false"):
            return piece.lower() == "true"
        self.at -= 1
        raise self.syntax_error("a constant: 'text', a number, true or false")

    def accept_token(self, wanted: str) -> bool:
        kind, piece, _ = self.pieces[self.at]
        found = kind in ("word", "sign") and piece.lower() == wanted
        self.at += found
        return found

    def expect_token(self, wanted: str) -> None:
        if not self.accept_token(wanted):
            raise self.syntax_error(wanted)

    def syntax_error(self, wanted: str, at: int | None = None) -> ParameterError:
        place = self.pieces[self.at][2] if at is None else at
        return ParameterError(
            f"where must be a condition on one row, such as \"country = 'PT' and year >= 2024\"; at character "
            f"{place + 1} it must have {wanted}"
        )


def _negate_if(test: ColumnComparison, negated: bool) -> Any:
    return BooleanCondition("not", (test,)) if negated else test


def _column_comparisons(condition: Any) -> Iterator[ColumnComparison]:
    if isinstance(condition, ColumnComparison):
        yield condition
    else:
        for part in condition.parts:
            yield from _column_comparisons(part)


def _filter_frame(frame: Any, columns: Sequence[str], condition: Any) -> Any:
    import narwhals as nw
    import polars as pl

    table: Any = nw.from_native(frame)
    if table.implementation.is_pyspark() or table.implementation.is_pyspark_connect():
        return _filter_in_spark(frame, condition)
    if table.implementation.is_polars():
        return frame.filter(_build_expression(condition, _column_resolver(pl, table)))
    asked = [test.column for test in _column_comparisons(condition)]
    found = [name for name in table.collect_schema().names() if name in (*columns, *asked)]
    table = select_columns(table, found)
    schema, test = plain_schema(table.collect_schema()), _build_expression(condition, _column_resolver(pl, table))
    if schema.names() != found:
        raise DataError(f"the back end reads one of the names {', '.join(map(repr, found))} as a pattern: rename it")
    left = nw.Schema({name: schema[name] for name in columns})
    return Rows(
        left,
        lambda: (to_plain_frame(batch).filter(test).select(columns) for batch in iterate_batches(table.to_native())),
    )


def _filter_in_spark(frame: Any, condition: Any) -> Any:
    import narwhals as nw

    if str(frame.sparkSession.conf.get(STATISTICS)).lower() != "false":
        raise ParameterError(f"where requires a Spark session with the setting {STATISTICS} = false")
    names = list(frame.columns)
    table = nw.from_native(frame.toDF(*(f"c{at}" for at in range(len(names)))))  # no paths, case-sensitive
    test = _build_expression(condition, _column_resolver(nw, table, names))
    return table.filter(test).to_native().toDF(*names)


def _column_resolver(
    library: Any, table: Any, known: list[str] | None = None
) -> Callable[[ColumnComparison], tuple[Any, Any]]:
    """Return the function from a comparison to its column and constants, in the same type for every engine."""
    import polars as pl

    schema = table.collect_schema()
    names, types = known or schema.names(), [type(one).__name__ for one in schema.dtypes()]
    wide = {"text": library.String(), "integers": library.Int64(), "floats": library.Float64()}

    def resolve_column(test: ColumnComparison) -> tuple[Any, Any]:
        if names.count(test.column) != 1:
            raise DataError(f"where uses {test.column!r}, but the table does not have one column of this name")
        at = names.index(test.column)
        column, held = library.nth(at), _KINDS.get(types[at])
        if test.by == "null":
            return column, ()
        if held is None:
            raise DataTypeError(
                f"where compares the column {test.column!r}, which must contain text, integers up to Int64, "
                f"floats, dates, or true or false, not {types[at]}: only `is null` can be used"
            )
        constants = [_typed_constant(test, one, held) for one in test.constants]
        if held == "dates" and library is not pl:  # as text, since pyspark cannot pass years of three digits
            constants = [library.lit(one.isoformat()).cast(library.Date()) for one in constants]
        return column.cast(wide[held]) if held in wide else column, constants

    return resolve_column


def _build_expression(condition: Any, column: Callable[[ColumnComparison], tuple[Any, Any]]) -> Any:
    if isinstance(condition, BooleanCondition):
        parts = [_build_expression(part, column) for part in condition.parts]
        return ~parts[0] if condition.by == "not" else reduce(_JOINED[condition.by], parts)
    own, constants = column(condition)
    if condition.by == "null":
        return own.is_null()
    return reduce(operator.or_, [_COMPARED[condition.by](own, one) for one in constants])


def _typed_constant(test: ColumnComparison, value: Any, held: str) -> Any:
    if held == "text" and isinstance(value, str):
        if test.by in _ORDERED and _NO_WORD.fullmatch(value):
            raise DataTypeError(
                f"where compares the column {test.column!r}, which contains text, by order with a constant "
                f"that looks like a date or a number, but text is ordered letter by letter: {_DECLARE}"
            )
        return value
    if held == "integers" and type(value) is int and -(2**63) <= value < 2**63:
        return value
    if held == "floats" and (type(value) is float or (type(value) is int and abs(value) <= _EXACT)):
        return float(value)
    if held == "true or false" and isinstance(value, bool) and test.by in ("=", "==", "!=", "<>", "in"):
        return value
    if held == "dates" and isinstance(value, str) and re.fullmatch(r"\d{4}-\d{2}-\d{2}", value):
        try:
            return datetime.date.fromisoformat(value)
        except ValueError:
            pass
    like = {"text": "'text'", "dates": "'yyyy-mm-dd'", "true or false": "= true or = false"}
    wanted = like.get(held, "a number of that kind")
    declare = f", or {_DECLARE}" if held == "text" else ""
    raise DataTypeError(f"where compares the column {test.column!r}, which contains {held}: write {wanted}{declare}")
