"""The question which numbers are the quantiles of a numeric column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from ...errors import checks
from ...numerics.arithmetic import to_fraction
from ...transformations.quantile_scores import MOST_ROWS, lowest_terms
from ..ledger.amounts import parse_exact
from .options import named, option_error
from .plan import Plan
from .quantile import NumericColumns, QuantilesTask, QuantileTask, quantile_phrase
from .question import Question, grid_of_record, grid_options, grid_texts, parse_grid, require_column
from .release_record import ReleaseRecord, quantiles_of
from .units import UserUnit, recover_fraction


@dataclass(frozen=True, kw_only=True)
class Quantile(Question):
    """Quantiles of a numeric ``column``: for each, a multiple of ``step`` within ``bounds`` with about its rank.

    What is asked:
        quantile (P): 1/2 for the median, or several: .25,.5,.75. Several quantiles are found by halving, and the cost
            is one choice per level: 2 for 3 quantiles.
        column (COLUMN): Column of numbers.
        bounds (LOWER,UPPER): Smallest and largest number that may be released. Bounds are public: choose them without
            looking at the table.
        step (STEP): Numbers are multiples of it. Default: 1. Such as 0.01.
        max_rows (N): Most rows of a user that count. Default: 1. They are evenly spaced in the order of their numbers;
            one row is the median of the user's own numbers. The noise grows with it.
    """

    quantile: Any = None
    column: str | None = None
    bounds: Any = None
    step: Any = None
    max_rows: int | None = None

    kind: ClassVar[str] = "quantile"
    summary: ClassVar[str] = "Quantiles of a column of numbers, such as the median."
    plan_example: ClassVar[str] = "--quantile .5 --column age --bounds 0,99 --epsilon 1"
    release_example: ClassVar[str] = "--quantile 1/2 --column age --bounds 0,120 --epsilon 1"
    exact_number: ClassVar[bool] = True
    numbers: ClassVar[bool] = True

    @cached_property
    def columns(self) -> NumericColumns:
        given = self.quantile.split(",") if isinstance(self.quantile, str) else self.quantile
        given = given.tolist() if hasattr(given, "tolist") else given  # an array, or a number of one
        texts = [str(one).strip() for one in (given if isinstance(given, list | tuple) else [given])]
        if given is None or not texts or self.column is None or self.bounds is None:
            raise option_error(
                "give --quantile P, --column and --bounds LOWER,UPPER, within which numbers are released"
            )
        asked = [parse_exact(f"0{one}" if one.startswith(".") else one, named("--quantile")) for one in texts]
        found = NumericColumns(
            self.unit.column,
            value=require_column("--column", self.column),
            quantiles=tuple(Fraction(*lowest_terms(one, named("--quantile"))) for one in asked),
            max_rows=1
            if self.max_rows is None
            else checks.require_positive_int(named("--max-rows"), self.max_rows, at_most=MOST_ROWS, limit="2^20"),
            **parse_grid(self.bounds, self.step),
        )
        QuantileTask.from_columns(found)  # raises unless the numbers of the grid are within the range of floats
        if any(recover_fraction(float(one)) != one for one in (found.step, *found.bounds)):
            raise option_error("--step and --bounds must have at most 15 digits, as many as a record contains")
        return found

    def task(self) -> QuantileTask:
        return QuantileTask.from_columns(self.columns)

    def bind(self, plan: Plan[Any, UserUnit], frame: Any, schema: Mapping[str, Any]) -> Plan[Any, UserUnit]:
        """Return the plan whose release is numbers instead of their indices."""
        return plan.bind_candidates(None)

    @classmethod
    def owns(cls, known: Mapping[str, Any]) -> bool:
        return "quantile" in known or "quantiles" in known

    @classmethod
    def record_columns(cls, known: Mapping[str, Any]) -> NumericColumns:
        spread = {"places": known["places"]} if "places" in known else {}
        asked: dict[str, Any] = {"quantiles": quantiles_of(known), "max_rows": known["max_rows"], **spread}
        return NumericColumns(known["user"], value=known["value"], **grid_of_record(known), **asked)

    @classmethod
    def is_valid_record(cls, record: ReleaseRecord) -> bool:
        return len(record.items) == len(quantiles_of(record.mechanism)) and record.k in (None, len(record.items))

    @classmethod
    def record_tasks(cls, record: ReleaseRecord) -> Iterator[QuantileTask]:
        yield replace(QuantileTask.from_columns(cls.record_columns(record.mechanism)), release=record.release)

    @classmethod
    def record_options(cls, record: ReleaseRecord) -> dict[str, Any]:
        known = record.mechanism
        return {
            **super().record_options(record),
            "quantile": ",".join(map(str, quantiles_of(known))),
            "column": known["value"],
            **grid_options(known),
            "max_rows": known["max_rows"],
        }

    # Sentences about a record.

    @classmethod
    def title(cls, record: ReleaseRecord) -> str:
        return f"The {quantile_phrase(quantiles_of(record.mechanism))} of {record.mechanism['value']}"

    @classmethod
    def method(cls, record: ReleaseRecord) -> str:
        (lower, upper, step), asked = grid_texts(record), quantiles_of(record.mechanism)
        several, scale = len(asked) > 1, to_fraction(record.scale or 0)
        drawn = (
            "one was drawn for each quantile, first the middle one and then the others among the rows on either "
            "side of it, with a higher probability if its rank is closer to the quantile"
            if several
            else "one was drawn, with a higher probability if its rank in the column is closer to the "
            f"{quantile_phrase(asked)}"
        )
        more = ", or up to twice this scale if a quantile is not the middle of its rows," if several else ""
        return (
            f"Of the multiples of {step} from {lower} to {upper} {drawn}. The choice used random noise of scale "
            f"{float(scale if several else scale / asked[0].denominator):.6g} rows{more} so that the "
            f"number{'s depend' if several else ' depends'} little on any one {record.person}: see below."
        )

    @classmethod
    def truncation(cls, record: ReleaseRecord) -> str:
        (lower, upper, step), most = grid_texts(record), record.mechanism["max_rows"]
        kept = f"at most {most} rows were counted, evenly spaced in the order of their numbers"
        kept = kept if most > 1 else "one row was counted, the median"
        of_one = "Every row was counted." if record.is_row_level else f"Of one {record.person} {kept}."
        return (
            f"{of_one} Each number was rounded to the nearest multiple of {step}, and numbers below {lower} "
            f"or above {upper} to the last multiple within these bounds."
        )

    @classmethod
    def limits(cls, record: ReleaseRecord) -> list[str]:
        one = "It is not the exact quantile: another multiple with a similar rank could have been released."
        more = "They are not the exact quantiles: other multiples with similar ranks could have been released."
        return [
            more if len(quantiles_of(record.mechanism)) > 1 else one,
            f"It does not show the number of rows, or the number of any one {record.person}.",
        ]

    @classmethod
    def public_check(cls, record: ReleaseRecord) -> str:
        return "Were bounds and step chosen without looking at the table?"

    @classmethod
    def scale_text(cls, record: ReleaseRecord) -> str | None:
        asked = quantiles_of(record.mechanism)
        return f"{record.scale!r} rows" if len(asked) > 1 else f"{record.scale!r} / {asked[0].denominator} rows"

    @classmethod
    def heading(cls, record: ReleaseRecord) -> str:
        return "number"

    @classmethod
    def labels(cls, record: ReleaseRecord) -> list[tuple[str, Sequence[Any]]]:
        """Return the columns that stand before the numbers: their quantiles if there are several."""
        asked = quantiles_of(record.mechanism)
        return [("quantile", list(map(str, asked)))] if len(asked) > 1 else []

    def reach_text(self, plan: Plan[Any, Any]) -> str:
        reach, task = "the rank of the number to the quantile, in rows that count", plan.query.task
        return (
            f"{reach}, if no number has more than {task.places} of them" if isinstance(task, QuantilesTask) else reach
        )
