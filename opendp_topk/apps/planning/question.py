"""What all questions have: options, each declared once, a privacy unit, a budget, and sentences about records."""

# Annotations are evaluated: constructors of questions inherit these fields, and other modules read their types.

import csv
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

from ...core.candidates import is_iterable, public_items
from ...core.measurement import Measurement
from ...errors import ParameterError, ParameterTypeError, SearchError, SpaceError, checks
from ...errors.checks import plain_number
from ...spaces.measures import (
    Approximate,
    MaxDivergence,
    PrivacyProfile,
    ZeroConcentratedDivergence,
    is_pure,
    without_delta,
)
from ...transformations.bound_contributions import RULES
from ...transformations.sum_by_item import bounds_in_steps, grid_step
from ..ledger.amounts import parse_exact
from .comparison import format_rounded_up
from .files import items_as_integers, match_column_types, read_candidates
from .options import (
    Option,
    OptionGroup,
    build_options,
    given_options,
    named,
    option_error,
    options_of,
    require_compatible,
    require_one_option,
    serialize_option,
)
from .plan import Plan, Query, ReleaseTask, plan_guarantees
from .release_record import (
    MEASURES,
    OtherUsersCount,
    PrivacyClaim,
    ReleaseRecord,
    plain_value,
    round_up_epsilon,
)
from .several import most_accurate_plan
from .units import KEPT_ITEMS, ROW, Budget, Columns, UserUnit, join_item_parts, parse_signed, recover_fraction

NEIGHBORS = ("add_remove", "replace")


def require_column(option: str, name: Any) -> str:
    """Return the name of a column; raise if it is not a non-empty string."""
    if isinstance(name, str) and name:
        return name
    raise ParameterTypeError(named(f"{option} must be the name of a column, a non-empty string"))


# People and budget.


@dataclass(frozen=True, kw_only=True)
class UserUnitOptions(OptionGroup):
    """Privacy unit of a table with a user ID column: neighbouring tables differ by ``users`` users.

    People:
        user (COLUMN): Column that identifies users.
        users (D_IN): Users by which neighbouring tables differ. The size of the protected group.
        neighbors (RULE): add_remove, or replace: other rows of a user. add_remove: a neighbouring table has one user
            more or fewer. replace: the rows of one user are replaced by those of another.
        at_most (N, rare): Most values of --user in the rows of a person. For a --ledger that identifies people by
            another column. The target is met for the person.
        shared (rare, needs at_most): Several people may share a value of --user. With --at-most, such as for a
            household.
    """

    user: str | None = None
    users: int = 1
    neighbors: str = "add_remove"
    at_most: int | None = None
    shared: bool = False

    @property
    def column(self) -> str:
        """Column that identifies users, or the marker for rows if every row counts as a user."""
        if self.user == ROW:
            raise option_error(f"--user must not be {ROW!r}, a reserved name: use --rows-per-person N")
        return "user" if self.user is None else require_column("--user", self.user)

    @property
    def distance(self) -> int:
        """Number of users, or of rows, in which neighbouring tables differ, for a person with several of them."""
        users: int = checks.require_positive_int(named("--users"), self.users)
        if self.stated_bound is not None:
            option = named("--rows-per-person" if self.at_most is None else "--at-most")
            users *= checks.require_positive_int(option, self.stated_bound) * (2 if self.shared else 1)
        return users

    @property
    def stated_bound(self) -> int | None:
        """Stated bound on the values of the user column, or on the rows, of one person."""
        return self.at_most


@dataclass(frozen=True, kw_only=True)
class TableUnit(UserUnitOptions):
    """Privacy unit of a table: users, or rows if no column identifies users.

    People:
        rows_per_person (N, excludes user or at_most or shared): Instead of --user: most rows of one person. For tables
            without a column that identifies users. Every row counts, and the target is met for a person with this many
            rows. The number is recorded as stated, not checked.
    """

    rows_per_person: int | None = None

    @property
    def column(self) -> str:
        return super().column if self.rows_per_person is None else ROW

    @property
    def stated_bound(self) -> int | None:
        return self.at_most if self.rows_per_person is None else self.rows_per_person


@dataclass(frozen=True, kw_only=True)
class PrivacyBudget(OptionGroup):
    """Privacy target: ``epsilon``, ``rho``, or one of them with ``delta``.

    Budget:
        epsilon (E): Epsilon of pure differential privacy, > 0.
        rho (R): Rho of zero-concentrated differential privacy, > 0. Instead of --epsilon.
        delta (D): Delta of the target, a probability.
    """

    epsilon: float | Fraction | str | None = None
    rho: float | Fraction | str | None = None
    delta: float | Fraction | str | None = None

    @property
    def exact_delta(self) -> Any:
        """Delta as a number; None if it was not given."""
        return parse_exact(self.delta, named("--delta")) if isinstance(self.delta, str) else self.delta

    @property
    def main(self) -> Budget:
        """Budget without the delta.

        Raises:
            ParameterError: Not exactly one of epsilon and rho is given, or it is not a finite number > 0.
        """
        require_one_option("privacy target", {"--epsilon E": self.epsilon, "--rho R": self.rho})
        choices = ("epsilon", self.epsilon, MaxDivergence()), ("rho", self.rho, ZeroConcentratedDivergence())
        name, value, measure = choices[self.epsilon is None]
        number: Any = value if checks.is_real(value) else parse_exact(value, named(f"--{name}"))
        if not 0 < number <= sys.float_info.max:
            raise option_error(f"--{name} must be a finite number > 0")
        return Budget(measure, plain_number(parse_exact(value, named(f"--{name}"))))


DELTA_OF_CURVE = Option(needs=("epsilon",), excludes=("other",))  # rho and a count of other users have no curve

# Questions.


@dataclass(frozen=True, kw_only=True)
class Question(OptionGroup):
    """Base class of questions. A subclass has a file of its own, whose name is its ``kind``.

    ``own_delta``: its measurement has a delta of its own. ``exact_number``: it releases as many items as asked for.
    ``numbers``: it releases numbers instead of items. ``mechanisms`` are the mechanisms of its records.
    ``tried_on``: the public data on which a plan can be tried, ``"counts"`` or ``"table"``.

    Budget:
        alpha (ALPHA, rare): Failure probability of accuracy guarantees.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    summary: ClassVar[str]
    plan_example: ClassVar[str]
    release_example: ClassVar[str]
    mechanisms: ClassVar[tuple[str, ...]] = ()
    own_delta: ClassVar[bool] = False
    exact_number: ClassVar[bool] = False
    numbers: ClassVar[bool] = False
    tried_on: ClassVar[str] = ""

    unit: TableUnit = field(default_factory=TableUnit)
    budget: PrivacyBudget = field(default_factory=PrivacyBudget)
    alpha: float | Fraction | str | None = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.own_delta:  # delta is then a point of a privacy curve
            require_compatible(self._given(), {"delta": DELTA_OF_CURVE, "epsilon": Option(metavar="E")})

    # What is asked.

    @property
    def columns(self) -> Columns:
        """Columns of the table that count."""
        raise NotImplementedError

    def task(self) -> ReleaseTask:
        """Return the task: the measurement that answers the question, and its theorems."""
        raise NotImplementedError

    @property
    def n_candidates(self) -> int | None:
        """Number of listed candidates; None if none are listed."""
        return None

    @property
    def item_list(self) -> tuple[Any, ...] | None:
        """Listed candidates; None if none are listed."""
        return None

    @property
    def group_list(self) -> tuple[Any, ...] | None:
        """Listed groups; None if none are listed."""
        return None

    @property
    def read_files(self) -> tuple[str, ...]:
        """Files that the question names."""
        return ()

    @cached_property
    def exact_alpha(self) -> Fraction:
        """Failure probability of the accuracy guarantees, exactly as it is written in decimal."""
        return Fraction(str(checks.require_probability(self.alpha, named("--alpha"))))

    @cached_property
    def privacy_unit(self) -> UserUnit:
        """Privacy unit of the target, with the columns that count."""
        distance = self.unit.distance
        neighbors = checks.require_choice(named("--neighbors"), self.unit.neighbors, NEIGHBORS)
        return UserUnit(neighbors, distance, self.columns)

    @cached_property
    def other_users_count(self) -> OtherUsersCount | None:
        """Count of the users with an item that is not released; None if it was not requested."""
        return None

    @cached_property
    def main_budget(self) -> Budget:
        """Budget of the items, without a delta."""
        return self.budget.main if self.other_users_count is None else self.other_users_count.release_budget

    @property
    def task_budget(self) -> Budget:
        """Budget of the items."""
        budget, delta = self.main_budget, self.budget.exact_delta
        if delta is None and self.own_delta:
            raise option_error(f"give --delta: {self.kind} has no finite loss without a delta")
        if delta is None:
            return budget
        likely = checks.require_probability(delta, named("--delta"))
        if self.own_delta:
            return Budget(Approximate(budget.measure), (budget.d_out, likely))
        return Budget(PrivacyProfile(), (budget.d_out, plain_number(parse_exact(delta, named("--delta")))))

    def query(self) -> Query[Any, UserUnit]:
        """Return the query: the task, the privacy unit and the budget.

        Raises:
            ParameterError: An option is missing, out of range or not compatible with the others.
        """
        return Query(self.task(), self.privacy_unit, self.task_budget, alpha=self.exact_alpha)

    def least_noise_plan(self) -> Plan[Any, UserUnit]:
        """Return the plan with the least noise that meets the target, without the count of other users.

        Raises:
            ParameterError: The release would be the same for every table, or no scale meets the target.
        """
        query = self.query()
        require_noise(query)
        try:
            return most_accurate_plan(query)
        except SearchError:
            pass
        raise target_too_small_error(query)

    def plan(self) -> "ReleasePlan":
        """Return the plan of one release, with the least noise that meets the target; nothing is read or charged.

        Raises:
            ParameterError: An option is missing or out of range, or no noise meets the target.
        """
        return ReleasePlan(self, self.least_noise_plan())

    def bind(self, plan: Plan[Any, UserUnit], frame: Any, schema: Mapping[str, Any]) -> Plan[Any, UserUnit]:
        """Return the plan for a table with these columns; ``schema`` has their types."""
        return plan

    def fixed(self, plan: Plan[Any, UserUnit]) -> Self:
        """Return the question as a schedule of several releases stores it, with nothing left to choose."""
        return self

    # Dictionaries, and records.

    def to_dict(self) -> dict[str, Any]:
        """Return the question as a dictionary for JSON or TOML, with the names of its options."""
        return {"question": self.kind, **{name: serialize_option(value) for name, value in given_options(self).items()}}

    @classmethod
    def build(cls, values: Mapping[str, Any]) -> "Question":
        """Return the question with these options, by name."""
        found: Question = build_options(cls, values)
        return found

    @classmethod
    def option_groups(cls) -> tuple[type, ...]:
        """Return the dataclasses whose options define the question."""
        return (cls,)

    @classmethod
    def owns(cls, known: Mapping[str, Any]) -> bool:
        """Return True if these parameters of a record's mechanism are those of this question, not of ``TopK``."""
        return known.get("mechanism") in cls.mechanisms and "partition" not in known

    @classmethod
    def record_fields(cls, plan: Plan[Any, UserUnit]) -> dict[str, Any]:
        """Return the field of a record that names the question."""
        return {"kind": cls.kind, "version": cls.version}

    @classmethod
    def is_valid_record(cls, record: ReleaseRecord) -> bool:
        """Return True if the fields of a record can be those of this question, so that it can be shown."""
        return True

    @classmethod
    def record_tasks(cls, record: ReleaseRecord) -> Iterator[ReleaseTask]:
        """Yield the tasks that the record can have."""
        raise NotImplementedError

    @classmethod
    def record_plans(cls, record: ReleaseRecord) -> Iterator[Plan[Any, UserUnit]]:
        """Yield the plans that the record can have, each with its measurement of the items."""
        known = {**record.mechanism, "scale": float(record.scale or 0)}
        for task in cls.record_tasks(record):
            query = cls.record_query(record, task)
            with suppress(ParameterError, SpaceError):
                yield Plan(query, task.rebuild_measurement(query, known))

    @classmethod
    def record_columns(cls, known: Mapping[str, Any]) -> Columns:
        """Return the columns that counted."""
        columns = Columns(known["user"], known["item"], known.get("value"), max_items=known.get("max_items"))
        columns = replace(columns, keep=known.get("by", "order"), minimum_users=known.get("minimum_users"))
        return columns if columns.value is None else replace(columns, **grid_of_record(known))

    @classmethod
    def record_query(cls, record: ReleaseRecord, task: Any) -> Query[Any, UserUnit]:
        """Return the query of a record with this task."""
        claim, columns = record.claim, cls.record_columns(record.mechanism)
        d_out = claim.d_out
        if isinstance(d_out, tuple):
            written = Fraction(str(record.target[0])) if isinstance(record.target, tuple) else d_out[0]
            exact = written if round_up_epsilon(written) == d_out[0] else recover_fraction(d_out[0])
            d_out = exact, d_out[1]  # the epsilon of a pair is the exact number that was written
        return Query(
            task,
            UserUnit(claim.neighbors, claim.d_in, columns),
            Budget(MEASURES[claim.measure], d_out),
            alpha=recover_fraction(record.promises["accuracy"].alpha),
        )

    @classmethod
    def record_options(cls, record: ReleaseRecord) -> dict[str, Any]:
        """Return the options of the question that the record answers, for :meth:`from_dict`; lists are not in it."""
        known, claim, stated = record.mechanism, record.claim, record.stated
        values = stated.get("at_most", 1) * (2 if stated.get("shared") else 1)
        target = claim.d_out if record.target is None else record.target
        main, delta = target if isinstance(target, tuple) else (target, None)
        found = {
            "question": cls.kind,
            "user": None if record.is_row_level else known["user"],
            ("rows_per_person" if record.is_row_level else "at_most"): stated.get("at_most"),
            "shared": stated.get("shared"),
            "users": claim.d_in // values if claim.d_in % values == 0 else claim.d_in,
            "neighbors": claim.neighbors,
            claim.main_symbol: main,
            "delta": delta or None,  # no target has the delta 0, which the curve of a large epsilon has
            "alpha": plain_value(record.promises["accuracy"].alpha),
        }
        defaults = {"users": 1, "neighbors": NEIGHBORS[0], "alpha": 0.05}
        return {name: value for name, value in found.items() if value is not None and value != defaults.get(name)}

    # Sentences about a record.

    @classmethod
    def title(cls, record: ReleaseRecord) -> str:
        """Return what was asked, as the title of the release."""
        raise NotImplementedError

    @classmethod
    def method(cls, record: ReleaseRecord) -> str:
        """Explain how the list was released, with which noise, and what was not released."""
        raise NotImplementedError

    @classmethod
    def truncation(cls, record: ReleaseRecord) -> str:
        """Explain how the data were truncated before they were counted."""
        raise NotImplementedError

    @classmethod
    def limits(cls, record: ReleaseRecord) -> list[str]:
        """Return what cannot be concluded from the release."""
        raise NotImplementedError

    @classmethod
    def public_check(cls, record: ReleaseRecord) -> str:
        """Return the question to ask about what was chosen without the table."""
        return "Were delta, limits and contribution bounds chosen without looking at the table?"

    @classmethod
    def scale_text(cls, record: ReleaseRecord) -> str | None:
        """Return the scale of the noise with all digits and its unit; None if there is no single scale."""
        return f"{record.scale!r} {record.counted_noun}"

    @classmethod
    def heading(cls, record: ReleaseRecord) -> str:
        """Return the heading of the released items."""
        return "item"

    @classmethod
    def labels(cls, record: ReleaseRecord) -> list[tuple[str, Sequence[Any]]]:
        """Return the columns that stand before the items: their ranks if they have any."""
        return [("rank", record.released.ranks)] if record.release == "ranking" else []

    @classmethod
    def shortfall(cls, record: ReleaseRecord) -> int:
        """Return by how many the released items are fewer than were asked for, if there may be fewer."""
        return 0

    @classmethod
    def ending(cls, record: ReleaseRecord) -> list[tuple[str, str]]:
        """Return the row that reports an empty release, or whether a ranking that may have fewer items is complete."""
        return []

    @classmethod
    def nothing(cls, record: ReleaseRecord) -> str:
        """Return why nothing was released."""
        return f"no item was certain to have enough {record.counted_noun}"

    # Sentences about a plan.

    @classmethod
    def noise_rows(cls, plan: Plan[Any, Any]) -> list[tuple[str, str]]:
        """Return the rows for the scale of the noise, the scale for the counts and the threshold."""
        parameters = plan.parameters
        counts = f", and {plain_value(parameters['count_scale'])} for the counts" if "count_scale" in parameters else ""
        smallest = f"the smallest that meet{'' if counts else 's'} the target"
        by_curve = "limit" in parameters and is_pure(without_delta(plan.query.budget.measure))
        together = "approximately the smallest, chosen together with the threshold"
        chosen = together if by_curve or "delta" in parameters else smallest
        rows = [("scale", f"{parameters['scale']}{counts} ({chosen})")]
        if "threshold" in parameters:
            least = parameters.get("minimum_users", 1)
            beyond = f", counted from {least} users, because items with fewer are never released" if least > 1 else ""
            rows.append(("threshold", f"{parameters['threshold']} (the smallest that keeps delta){beyond}"))
        return rows

    def with_max_items(self, most: int | None) -> "Question | None":
        """Return the question with another contribution bound; None if it has none."""
        return None

    def contribution_bound_text(self, plan: Plan[Any, Any]) -> str:
        """Return in words that ``--max-items`` does not lower the noise of ``plan``, or that 1 item of a user would.

        Return an empty text if neither is true. The noise is that of a second plan, so no table is read.
        """
        most, row_level = plan.query.unit.columns.max_items, self.columns.is_row_level
        with suppress(ParameterError):
            other = self.with_max_items(1 if most is None else None)
            if other is None:
                return ""
            second = other.least_noise_plan()
            noise, other_noise = _noise_levels(plan), _noise_levels(second)
            if most is None and other_noise["scale"] < noise["scale"]:
                single = "each row has one item, so" if row_level else "if no user has more than one item,"
                gain = f"{_noise_text(other_noise)} instead of {_noise_text(noise)}"
                return f"{single} --max-items 1 leaves out nothing and gives {gain}"
            if most is not None and plan.name == second.name and all(noise[one] >= other_noise[one] for one in noise):
                return f"{_noise_text(noise)} also without --max-items: omit it, so that all items of a user count"
        return ""

    def within_text(self, plan: Plan[Any, Any], likely: str) -> str:
        """Return what the column "within" of several plans means; ``likely`` is the probability."""
        return f"distance of {self.reach_text(plan)}, with probability at least {likely} each time"

    def reach_text(self, plan: Plan[Any, Any]) -> str:
        """Return the two amounts whose distance the accuracy theorem bounds."""
        return f"the t-th released item to the t-th largest {self.columns.score_noun}, for every t"

    least_noise: ClassVar[bool] = True  # the best of several plans is named by its scale, not by a number of users


# Questions whose answers are items.


@dataclass(frozen=True, kw_only=True)
class ItemQuestion(Question):
    """Base class of questions whose answers are items, scored by their users.

    What is asked:
        item (COLUMN): Column of items, or several: region,product. Several columns, separated by commas, form one item
            together; put a name with a comma in double quotes.
        other (rare, excludes sum or rows_per_person): Also count the users with another item, with noise. It takes a
            tenth of the budget.
    """

    item: str | None = None
    other: bool = False

    @property
    def item_column_names(self) -> tuple[str, ...]:
        """Item columns; several are given as a line of CSV."""
        item = "item" if self.item is None else self.item
        names = tuple(next(csv.reader([item]))) if isinstance(item, str) and "," in item else (item,)
        require_column("--item", names[0])
        if len(names) > 1 and ("" in names or len(set(names)) < len(names)):
            raise option_error("--item must be different columns separated by commas, such as region,product")
        return names

    @cached_property
    def columns(self) -> Columns:
        names = self.item_column_names
        item, parts = (join_item_parts(names), names) if len(names) > 1 else (names[0], ())
        return Columns(self.unit.column, item, parts=parts, **self.column_options())

    def column_options(self) -> dict[str, Any]:
        """Return further options of the columns."""
        return {}

    @cached_property
    def other_users_count(self) -> OtherUsersCount | None:
        whole = self.budget.main
        return OtherUsersCount(whole, self.privacy_unit) if self.other else None

    @classmethod
    def record_options(cls, record: ReleaseRecord) -> dict[str, Any]:
        known, names = record.mechanism, options_of(cls)
        own = {
            "k": record.k,
            "item": known["item"],
            "sum": record.summed_column,
            "other": record.released.other is not None,
            **{name: known.get(name) for name in ("max_items", "minimum_users", "limit")},
            "keep": None if known.get("max_items") is None else known.get("by", "order"),
            **({} if record.summed_column is None else grid_options(known)),
            "mechanism": (record.question or {}).get("mechanism"),
            "counts": record.released.counts is not None,
            "release": None if record.release == "ranking" else record.release,
        }
        found = {name: value for name, value in own.items() if name in names and value not in (None, False)}
        return super().record_options(record) | found

    # Sentences about a record.

    @classmethod
    def ranked_clause(cls, record: ReleaseRecord) -> str:
        """Return by what the items of a title are ranked."""
        if record.summed_column is not None:
            return f"with the largest sums of {record.summed_column}"
        return "with most rows" if record.is_row_level else f"that most {record.people} have"

    @classmethod
    def listed_clause(cls, record: ReleaseRecord) -> str:
        """Return the number of candidates in words."""
        return f"{record.mechanism['candidates']:,} candidates".replace(",", chr(0x202F))

    @classmethod
    def choice_noise(cls, record: ReleaseRecord) -> str:
        """Return the scale of the noise of the choice, for a sentence."""
        unit = record.counted_noun if record.summed_column is None else f"in {record.summed_column}"
        return "" if record.scale is None else f" of scale {record.score_amount(record.scale):.6g} {unit}"

    @classmethod
    def released_clause(cls, record: ReleaseRecord) -> str:
        """Return the beginning of the method: the order of the items."""
        order = "the order of the candidates" if record.has_listed_candidates else "alphabetical or numerical order"
        return f"Released {'best first' if record.release == 'ranking' else f'in {order}, without ranks'}"

    @classmethod
    def method(cls, record: ReleaseRecord) -> str:
        more = ""
        if record.released.counts is not None:
            noisy = "sum." if record.summed_column is not None else f"count of its {record.counted_noun}."
            more = f" Each has a noisy {noisy}"
        if record.released.gaps is not None:
            more = " Each has its noisy lead over the next."
        return (
            f"{cls.released_clause(record)}. {cls.noise_sentence(record)}, so that the list depends little on any "
            f"one {record.person}: see below.{more} No exact {record.score_noun} was released."
        )

    @classmethod
    def noise_sentence(cls, record: ReleaseRecord) -> str:
        """Return the beginning of the sentence on the noise."""
        return f"The choice used random noise{cls.choice_noise(record)}"

    @classmethod
    def truncation(cls, record: ReleaseRecord) -> str:
        known, one = record.mechanism, "row" if record.is_row_level else record.person
        words, most = [], known.get("max_items")
        if record.summed_column is not None:
            lower, upper, step = grid_texts(record)
            words.append(
                f"The total of one {one} for one item was clamped to the interval from {lower} to {upper} and "
                f"rounded to multiples of {step}."
            )
        if record.is_row_level:
            return " ".join([*words, "Every row was counted."])
        if most is None:
            counts = "counts for each item" if words else "counts once for each item, regardless of the number of rows"
            return " ".join([*words, f"Nothing was truncated: a {one} {counts}."])
        rule = KEPT_ITEMS.get(str(known.get("by")), KEPT_ITEMS["order"])
        cut = f"Of one {one} at most {most} items were counted, {rule}: the counts of items of people with more items "
        return " ".join([*words, f"{cut}are too low."])

    @classmethod
    def limits(cls, record: ReleaseRecord) -> list[str]:
        noun, words = record.score_noun, ["It has no order."]
        if record.release == "ranking":
            words = [f"The order is random: items with similar {noun}s could have been released in the reverse order."]
        if record.released.counts is not None and record.mechanism["mechanism"] != "noisy_histogram":
            words.append(
                f"Ranks may contradict the {noun}s: the ranking was drawn first, and then each {noun} with separate "
                f"noise, so that an item of lower rank can have the larger {noun}. You can sort by the {noun}s at no "
                "cost."
            )
        rare = "one in the list: it was not certain to be common enough"
        missing = "the last item in the list" if cls.exact_number else rare
        return [
            *words,
            f"An item that is not in the list may be as common as {missing}.",
            f"It does not name any {record.person}, and does not explain why an item is common.",
        ]

    @classmethod
    def public_check(cls, record: ReleaseRecord) -> str:
        if record.has_listed_candidates:
            return "Was the list of candidates made without looking at the table?"
        return super().public_check(record)


@dataclass(frozen=True, kw_only=True)
class SummedQuestion(ItemQuestion):
    """Base class of questions whose items can be scored by sums of a numeric column.

    What is asked:
        sum (COLUMN, needs bounds): Rank by the sum of this column, not by users. Needs --bounds.
        bounds (LOWER,UPPER, needs sum): With --sum: bounds on a user's total for an item. A total beyond them is
            clamped. Bounds are public: choose them without looking at the table.
        step (STEP, rare, needs sum): With --sum: totals are multiples of it. Default: 1. Such as 0.01.
    """

    sum: str | None = None
    bounds: Any = None
    step: Any = None

    def column_options(self) -> dict[str, Any]:
        more = super().column_options()
        return (
            more
            if self.sum is None
            else more | {"value": require_column("--sum", self.sum)} | parse_grid(self.bounds, self.step)
        )


@dataclass(frozen=True, kw_only=True)
class BoundedQuestion(ItemQuestion):
    """Base class of questions with a contribution bound.

    What is asked:
        max_items (N): Contribution bound: most items of a user that count. They are drawn at random, or as --keep
            chooses. A small number lowers the noise, or the threshold. Accuracy is relative to the truncated data.
            Default: all items count.
        keep (random|order|rows|value, rare, needs max_items): With --max-items: which items of a user count. random
            (default): drawn uniformly. order: the first by number or alphabet. rows: those with the most rows of the
            user. value: with --sum, those with the largest totals of the user.
    """

    max_items: int | None = None
    keep: str | None = None

    def with_max_items(self, most: int | None) -> Question | None:
        """Return the question with another contribution bound, for which items are drawn at random."""
        return replace(self, max_items=most, keep=None)

    def column_options(self) -> dict[str, Any]:
        found = super().column_options() | {"max_items": self.max_items}
        if self.max_items is not None:
            checks.require_positive_int(named("--max-items"), self.max_items)
        if self.keep is None:
            return found
        by_sum = found.get("value") is not None
        checks.require_choice(named("--keep"), self.keep, [one for one in RULES if by_sum or one != "value"])
        return found | {"keep": self.keep}


@dataclass(frozen=True, kw_only=True)
class TableItemsQuestion(BoundedQuestion):
    """Base class of questions whose items come from the table, so that each needs enough users.

    What is asked:
        minimum_users (M, excludes sum or rows_per_person): Never release an item that fewer users have. Default: no
            minimum; an item that only one user has is then released with probability at most --delta.
    """

    minimum_users: int | None = None

    own_delta: ClassVar[bool] = True

    def column_options(self) -> dict[str, Any]:
        found = super().column_options() | {"minimum_users": self.minimum_users}
        if found.get("bounds", (0, 0))[0] < 0 and self.item_list is None:
            raise option_error("--bounds must not be negative without --candidates")
        if self.minimum_users is not None:
            checks.require_positive_int(named("--minimum-users"), self.minimum_users, at_most=2**30, limit="2^30")
        return found

    @classmethod
    def ending(cls, record: ReleaseRecord) -> list[tuple[str, str]]:
        if record.k is None:
            none = ("none", "no item was released: none was certain to have enough users")
            return [] if record.released.items else [none]
        short = cls.shortfall(record)
        fewer = f"{short} fewer than {record.k} items: no further item was certain to have enough users"
        return [("end", fewer if short else "complete")]

    @classmethod
    def shortfall(cls, record: ReleaseRecord) -> int:
        return 0 if record.k is None else record.k - len(record.released.items)


@dataclass(frozen=True, kw_only=True)
class AllItemsQuestion(TableItemsQuestion):
    """Base class of questions for all items of the table with enough users."""

    def column_options(self) -> dict[str, Any]:
        if self.max_items is None:
            raise option_error("give --max-items, the number of items of a user that count")
        return super().column_options()

    @classmethod
    def title(cls, record: ReleaseRecord) -> str:
        column = record.summed_column
        enough = f"enough {record.counted_noun}" if column is None else f"a large enough sum of {column}"
        return f"All items in the table with {enough}"

    @classmethod
    def heading(cls, record: ReleaseRecord) -> str:
        return "item" if record.release == "ranking" else "items with enough users, in alphabetical or numerical order"


@dataclass(frozen=True, kw_only=True)
class ListedQuestion(ItemQuestion):
    """Base class of questions about the ``k`` best of a public list of candidates.

    ``candidates`` is the list, the path of a file that contains it, or for a plan only the number of candidates.

    What is asked:
        k (K, -k): Number of items to release.
        candidates (FILE|N): Public list of the items: a file, or a number. A text file with one item per line, a .json
            list, or a .parquet or .csv file with one column (a .csv file with a header) or the columns of --item. For a
            plan, the number of candidates is enough.
    """

    k: int | None = None
    candidates: Any = None

    @cached_property
    def n_candidates(self) -> int | None:
        number = listed_number(self.candidates)
        if number is not None or self.candidates is None:
            return number
        if self.item is None and isinstance(self.candidates, str | Path):
            return len(read_candidates(self.candidates, None))
        return len(self.item_list or ())

    @cached_property
    def item_list(self) -> tuple[Any, ...] | None:
        """Listed candidates; None if none are listed or only their number is known."""
        names = self.item_column_names
        return None if self.candidates is None else listed_items(self.candidates, names if len(names) > 1 else ())

    @property
    def read_files(self) -> tuple[str, ...]:
        return (str(self.candidates),) if isinstance(self.candidates, str | Path) else ()

    def fixed(self, plan: Plan[Any, UserUnit]) -> Self:
        """Return the question with the number of its candidates instead of the list."""
        return replace(self, candidates=self.n_candidates)

    @classmethod
    def is_valid_record(cls, record: ReleaseRecord) -> bool:
        return record.k is not None and len(record.items) <= record.k

    @classmethod
    def number_text(cls, record: ReleaseRecord) -> str:
        return "one" if record.k == 1 else str(record.k)

    @property
    def required_candidates(self) -> int:
        if self.n_candidates is None:
            raise option_error("give --candidates, a public list of the items")
        return self.n_candidates

    @property
    def required_k(self) -> int:
        if self.k is None:
            raise option_error("give --k, the number of items")
        most = self.n_candidates or None
        return checks.require_positive_int(named("--k"), self.k, at_most=most, limit="the number of candidates")

    def bind(self, plan: Plan[Any, UserUnit], frame: Any, schema: Mapping[str, Any]) -> Plan[Any, UserUnit]:
        items, columns = self.item_list, plan.query.unit.columns
        if items is None:
            if self.n_candidates is not None:
                raise option_error("a release needs --candidates, the list itself instead of their number")
            return plan
        if columns.parts:
            return plan.bind_candidates(match_column_types(items, columns.parts, frame))
        typed = items_as_integers(items, columns.item) if schema[columns.item].is_integer() else items
        return plan.bind_candidates(typed)


# Lists and numbers in options and records.


def listed_items(given: Any, columns: Sequence[str] = (), what: str = "candidates") -> tuple[Any, ...] | None:
    """Return the items of a public list, or of its file; None if only their number is given."""
    if listed_number(given, f"--{what}") is not None:
        return None
    return read_candidates(given, columns, what=what) if isinstance(given, str | Path) else public_items(given, what)


_MOST_LISTED = 2**62  # a range of more candidates is not supported


def listed_number(candidates: Any, option: str = "--candidates") -> int | None:
    """Return the number of candidates if only that is given; None for a list or a file."""
    if isinstance(candidates, int) and not isinstance(candidates, bool):
        if candidates > _MOST_LISTED:
            raise option_error(f"{option} must be a list or a number of at most 2^62")
        return candidates
    if isinstance(candidates, str) and candidates.isascii() and candidates.isdecimal() and len(candidates) < 19:
        return int(candidates)
    return None


def parse_grid(bounds: Any, step: Any) -> dict[str, Any]:
    """Return the bounds and the step of numbers, from texts or numbers.

    Raises:
        ParameterError: A number is invalid, or no multiple of the step lies within the bounds.
    """
    listed = bounds.split(",") if isinstance(bounds, str) else bounds
    ends = [str(one) for one in listed] if is_iterable(listed) else []
    if len(ends) != 2:
        raise option_error("--bounds must be two numbers separated by a comma, such as 0,100")
    lower, upper = (parse_signed(end, named("--bounds")) for end in ends)
    width = parse_exact("1" if step is None else str(step), named("--step"))
    if not width:
        raise option_error("--step must be a number > 0")
    try:
        bounds_in_steps((lower, upper), grid_step(width))
        return {"bounds": (lower, upper), "step": width}
    except ParameterError as error:
        text = re.sub("(?:the )?granularity", "--step", str(error))
    raise option_error(re.sub("^bounds", "--bounds", text))


def grid_of_record(known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the bounds and the step among the parameters of a record."""
    lower, upper, step = (recover_fraction(float(known[name])) for name in ("lower", "upper", "granularity"))
    return {"bounds": (lower, upper), "step": step}


def grid_options(known: Mapping[str, Any]) -> dict[str, str]:
    """Return the bounds and the step among the parameters of a record as options, such as 1/3."""
    grid = grid_of_record(known)
    return {"bounds": ",".join(map(str, grid["bounds"])), "step": str(grid["step"])}


def grid_texts(record: ReleaseRecord) -> tuple[str, str, str]:
    """Return the lower bound, the upper bound and the step of numbers."""
    lower, upper, step = (f"{float(record.mechanism[name]):.12g}" for name in ("lower", "upper", "granularity"))
    return lower, upper, step


# Plans.


def require_noise(query: Query[Any, Any]) -> None:
    """Raise if the release would be the same for every table."""
    if query.task.needs_no_noise(query):
        raise option_error("--k must be less than the number of candidates: all tables have the same release")


def _noise_levels(plan: Plan[Any, Any]) -> dict[str, float]:
    """Return the scales and the threshold of a plan, by name."""
    return {name: plan.parameters[name] for name in ("scale", "count_scale", "threshold") if name in plan.parameters}


def _noise_text(noise: Mapping[str, float]) -> str:
    return " and ".join(f"{name.replace('_', ' ')} {format_rounded_up(value)}" for name, value in noise.items())


def target_too_small_error(query: Query[Any, Any]) -> ParameterError:
    """Return the error for a target that no noise meets."""
    searched, several = query.task.searched, len(query.task.searched) > 1
    options = f"--{query.budget.main_symbol}{' or --delta' if several else ''}"
    meet = "meet" if several else "meets"
    return option_error(f"no finite {' and '.join(searched)} {meet} this small target: raise {options}")


@dataclass(frozen=True, repr=False)
class ReleasePlan:
    """The plan of one release: the question, and the measurement with the least noise that meets its target."""

    question: Question
    plan: Plan[Any, UserUnit]

    def __repr__(self) -> str:
        scale, claim = self.plan.parameters.get("scale"), self.claim
        noise = "" if scale is None else f", scale={float(scale)!r}"
        return f"ReleasePlan({self.question.kind}, {self.plan.name}{noise}, {claim.symbol}={claim.d_out})"

    @property
    def measurement(self) -> Measurement:
        """Measurement of the release, without the count of other users."""
        return self.plan.measurement

    @cached_property
    def claim(self) -> PrivacyClaim:
        """Privacy claim of the release, without the count of other users."""
        return PrivacyClaim.from_plan(self.plan)

    @cached_property
    def accuracy(self) -> dict[str, str]:
        """Accuracy guarantees in words, by name."""
        return {name: one.words for name, one in plan_guarantees(self.plan).items()}

    def release(self, table: Any, **options: Any) -> Any:
        """Make the release from a table, which a ledger pays for if one is given.

        Args:
            table: The path of a .parquet or .csv file or of a folder, or a frame.
            options: The options of :class:`TableOptions` and :class:`PaymentOptions`, such as ``ledger``, ``label`` and
                ``where``, by name.

        Raises:
            ParameterError: An option is unknown or not valid.
            TableError, DataError: The table cannot be read, or does not fit the question.
            BudgetError, LedgerError: The ledger cannot pay.
        """
        from .releasing import ReleaseOptions, release_table

        names = options_of(ReleaseOptions)
        unknown = [name for name in options if name not in names]
        if unknown:
            raise ParameterError(f"a release has no option {unknown[0]}: use one of {', '.join(sorted(names))}")
        found = release_table(self.question, self.plan, table, build_options(ReleaseOptions, options))
        if found.failure is not None:
            warnings.warn(str(found.failure), stacklevel=2)
        return found
