"""The query options shared by ``plan`` and ``release``, the query that they define, and its plan."""

from __future__ import annotations

import csv
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property, wraps
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from ...errors import ParameterError, SearchError, checks
from ...errors.checks import plain_number
from ...spaces.measures import Approximate, MaxDivergence, PrivacyProfile, ZeroConcentratedDivergence
from ...transformations.bound_contributions import RULES
from ...transformations.quantile_scores import lowest_terms
from ...transformations.sum_by_item import bounds_in_steps
from ..ledger.amounts import parse_exact
from ..ledger.stated import LINES, OWN, Metadata
from ..planning.catalogue import DESCRIBED, RELEASES, all_mechanisms, capable_mechanisms, default_mechanism
from ..planning.groups import GroupedTopK
from ..planning.plan import Plan, Query, ReleaseTask, T_co, U_co
from ..planning.quantile import NumericColumns, Quantile
from ..planning.release_record import OtherUsersCount
from ..planning.several import most_accurate_plan, with_histogram_options
from ..planning.top_k import TopK, TopKWithCounts
from ..planning.units import (
    ROW,
    Budget,
    Columns,
    PrivacyUnit,
    UserUnit,
    join_item_parts,
    parse_signed,
    recover_fraction,
)

NEIGHBORS = ("add_remove", "replace")
_NAMES = ", ".join(row.name for row in DESCRIBED)

NeighborsOption = Annotated[
    str,
    typer.Option(
        metavar="|".join(NEIGHBORS),
        help="add_remove: a neighbouring table has one user more or fewer. replace: the rows of one user are replaced "
        "by those of another.",
    ),
]


@dataclass(frozen=True)
class Options:
    """Query options as given on the command line, one field per option."""

    k: Annotated[
        int | None,
        typer.Option("--k", "-k", help="Number of items to release; with --group, per group.", show_default=False),
    ] = None
    epsilon: Annotated[
        float | None,
        typer.Option(
            help="Privacy target: epsilon of pure differential privacy, > 0. Give this or --rho.",
            metavar="E",
            show_default=False,
        ),
    ] = None
    rho: Annotated[
        float | None,
        typer.Option(
            help="Privacy target: rho of zero-concentrated differential privacy, > 0. Give this or --epsilon.",
            metavar="R",
            show_default=False,
        ),
    ] = None
    delta: Annotated[
        float | None,
        typer.Option(
            help="Delta of the privacy target, a probability. Required for items without --candidates: an item that "
            "only one user has is released with at most this probability. Required for --minimum-users and "
            "--by-gap, too. Otherwise optional, with --epsilon: the target is then (epsilon, delta), computed "
            "from the whole privacy curve, which allows less noise for many items or many releases. Default: no "
            "delta.",
            metavar="D",
            show_default=False,
        ),
    ] = None
    limit: Annotated[
        int | None,
        typer.Option(
            help="Without --candidates, or with --minimum-users: number of the best items of the table that take "
            "part. Choose it without looking at the table. Default: ten times k, or all candidates if these are "
            "fewer.",
            metavar="N",
            show_default=False,
        ),
    ] = None
    max_items: Annotated[
        int | None,
        typer.Option(
            help="Contribution bound: at most this many items of a user count, drawn at random or as --keep chooses. "
            "A small number lowers the threshold without --candidates, and otherwise the noise, most of all with "
            "--counts. Accuracy is relative to the truncated data. Default: all items count.",
            metavar="N",
            show_default=False,
        ),
    ] = None
    minimum_users: Annotated[
        int | None,
        typer.Option(
            help="Never release an item that fewer than M users have. Needs --delta, also with --candidates. Default: "
            "no minimum; without --candidates, an item that only one user has is then released with probability "
            "at most --delta.",
            metavar="M",
            show_default=False,
        ),
    ] = None
    users: Annotated[
        int,
        typer.Option(
            metavar="D_IN", help="Number of users in which neighbouring tables differ: the size of the protected group."
        ),
    ] = 1
    rows_per_person: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Instead of --user, if no column identifies users: the maximum number of rows of one person. Every "
            "row counts, and the target is met for a person with this many rows. The number is recorded as "
            "stated, not checked.",
            show_default=False,
        ),
    ] = None
    group: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="With --candidates: the column with the group of each row, such as the user's region. Each group in "
            "--groups gets a list of its own; the cost is that of --groups-per-person lists, not of all. Needs "
            "--groups.",
            show_default=False,
        ),
    ] = None
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="With --group: the public list of groups, a file as for --candidates; for a plan, their number is "
            "enough. Every group gets a list, even without users. Rows of other groups are ignored.",
            show_default=False,
        ),
    ] = None
    groups_per_person: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="With --group: maximum number of groups in which a user counts, drawn at random among the groups of "
            "the user's rows. The cost is that of this many lists. Default: 1.",
            show_default=False,
        ),
    ] = None
    neighbors: NeighborsOption = NEIGHBORS[0]
    kind: Annotated[
        str,
        typer.Option(
            "--release",
            metavar="|".join(RELEASES),
            help="ranking: the items, best first. set: the items, without their order.",
        ),
    ] = RELEASES[0]
    mechanism: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"The mechanism that chooses the items: {_NAMES}. Default: report_noisy_top_k for a ranking or "
            "with --counts, canonical for a set; with --max-items, a histogram mechanism if its error bound is "
            "smaller. plan --compare compares them.",
            show_default=False,
        ),
    ] = None
    counts: Annotated[
        bool,
        typer.Option(
            "--counts",
            help="Also release a noisy count of users with each item (a noisy sum, with --sum); it may be negative. "
            "With a selection mechanism, about half of the budget pays for the counts; histogram mechanisms "
            "release them at no extra cost.",
        ),
    ] = False
    by_gap: Annotated[
        bool,
        typer.Option(
            "--by-gap",
            help="With --candidates and --delta: release the exact set of the best candidates, at most k, above a "
            "large gap between consecutive counts, without order. Noise is added to choose the gap and to test "
            "it; if the gap fails the test, no item is released.",
        ),
    ] = False
    summed: Annotated[
        str | None,
        typer.Option(
            "--sum",
            metavar="COLUMN",
            help="Rank items by the sum of this numeric column instead of the number of users. Needs --bounds.",
            show_default=False,
        ),
    ] = None
    quantile: Annotated[
        str | None,
        typer.Option(
            metavar="P",
            help="Release a quantile of a numeric column instead of items: 1/2 for the median, or 0.9. Separate "
            "several by commas, such as .25,.5,.75; they are found by halving, and the cost is one choice per "
            "level: 2 for 3 quantiles. Needs --column and --bounds; leave --item, --k and --candidates out.",
            show_default=False,
        ),
    ] = None
    column: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="With --quantile: the column of numbers.", show_default=False),
    ] = None
    bounds: Annotated[
        str | None,
        typer.Option(
            "--bounds",
            metavar="LOWER,UPPER",
            help="With --sum: bounds on the total of one user for one item; a total beyond them is clamped. With "
            "--quantile: the smallest and the largest number that may be released. Bounds are public: choose "
            "them without looking at the table.",
            show_default=False,
        ),
    ] = None
    step: Annotated[
        str | None,
        typer.Option(
            "--step",
            metavar="STEP",
            help="With --sum and --quantile: numbers are rounded to multiples of this step, such as 0.01. Default: 1.",
            show_default=False,
        ),
    ] = None
    max_rows: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="With --quantile: maximum number of rows of a user that count, evenly spaced in the order of their "
            "numbers. The noise grows with it. Default: 1, the median of the user's own numbers.",
            show_default=False,
        ),
    ] = None
    above: Annotated[
        bool,
        typer.Option(
            "--above-threshold",
            help="Without --candidates: release every item above a threshold, with its noisy count, instead of the k "
            "best. Needs --max-items; leave --k out.",
        ),
    ] = False
    keys: Annotated[
        bool,
        typer.Option(
            "--keys",
            help="Partition selection, without --candidates: release every item above a threshold, without its count. "
            "The threshold is lower than with counts. Needs --max-items; leave --k out.",
        ),
    ] = False
    keep: Annotated[
        str | None,
        typer.Option(
            "--keep",
            metavar="|".join(RULES),
            help="With --max-items: the rule that chooses the items of a user. random (default): drawn uniformly. "
            "order: the first by number or alphabet. rows: those with the most rows of the user. value: with "
            "--sum, those with the largest totals of the user.",
            show_default=False,
        ),
    ] = None
    other: Annotated[
        bool,
        typer.Option(
            "--other",
            help="Also release a noisy count of the users with an item that is not released. It takes a tenth of the "
            "budget.",
        ),
    ] = False
    alpha: float = 0.05
    user: str = "user"
    item: str = "item"
    at_most: int | None = None
    shared: bool = False

    @cached_property
    def exact_alpha(self) -> Fraction:
        """Failure probability of the accuracy guarantees, exactly as it is written in decimal.

        Raises:
            ParameterError: It is not a probability.
        """
        return Fraction(str(checks.require_probability(self.alpha, "--alpha")))

    @property
    def privacy_unit_column(self) -> str:
        """Column that identifies users, or the marker for rows if every row counts as a user."""
        return self.user if self.rows_per_person is None else ROW

    @property
    def item_column_names(self) -> tuple[str, ...]:
        """Item columns; several are given as a line of CSV.

        Raises:
            ParameterError: A name is repeated or empty.
        """
        names = tuple(next(csv.reader([self.item]))) if "," in self.item else (self.item,)
        if len(names) > 1 and ("" in names or len(set(names)) < len(names)):
            raise ParameterError("--item must be different columns separated by commas, such as region,product")
        return names

    @cached_property
    def counted_columns(self) -> Columns:
        """Columns of the table that the query uses.

        Raises:
            ParameterError: --sum or --quantile is not compatible with --bounds, --step or other options, these are not
                valid numbers, or --item is missing.
        """
        if self.quantile is not None:
            return self._quantile_columns()
        if (self.column, self.max_rows) != (None, None):
            raise ParameterError("--column and --max-rows require --quantile P")
        if not self.item:
            raise ParameterError("give --item, the column of items, or --quantile P for a quantile of numbers")
        several = len(self.item_column_names) > 1
        item, parts = (
            (join_item_parts(self.item_column_names), self.item_column_names)
            if several
            else (self.item_column_names[0], ())
        )
        given = Columns(self.privacy_unit_column, item, self.summed, max_items=self.max_items, parts=parts)
        given = given if self.keep is None else replace(given, keep=self.keep)
        given = replace(given, minimum_users=self.minimum_users, group=self.group)
        return apply_bounds_and_step(given, self.bounds, self.step)

    def _quantile_columns(self) -> NumericColumns:
        if self.column is None or self.bounds is None:
            raise ParameterError(
                "--quantile requires --column, the numbers, and --bounds LOWER,UPPER, the smallest and the "
                "largest that may be released"
            )
        listed = [one.strip() for one in str(self.quantile).split(",")]
        asked = [parse_exact(f"0{one}" if one.startswith(".") else one, "--quantile") for one in listed]
        shares = tuple(Fraction(*lowest_terms(one, "--quantile")) for one in asked)
        most = 1 if self.max_rows is None else checks.require_positive_int("--max-rows", self.max_rows)
        given = NumericColumns(self.privacy_unit_column, value=self.column, quantiles=shares, max_rows=most)
        found = apply_bounds_and_step(given, self.bounds, self.step)
        Quantile.from_columns(found)  # raises unless the numbers of the grid are within the range of floats
        if any(recover_fraction(float(one)) != one for one in (found.step, *found.bounds)):
            raise ParameterError("--step and --bounds must have at most 15 digits, as many as a record contains")
        return found

    def quantile_query(self) -> Query[Quantile, UserUnit]:
        """Return the query for quantiles of a column of numbers.

        Raises:
            ParameterError: An option is missing, out of range or not compatible with the others.
        """
        self.require_no_items()
        columns = self.counted_columns
        assert isinstance(columns, NumericColumns)
        return Query(
            Quantile.from_columns(columns), self.privacy_unit, self._budget_with_delta(), alpha=self.exact_alpha
        )

    def require_no_items(self) -> None:
        """Raise if an option for items is given although quantiles are released."""
        free = Options()
        given = [option_name(one) for one in _OF_ITEMS if getattr(self, one) != getattr(free, one)]
        if given:
            raise ParameterError(f"--quantile releases numbers instead of items: omit {', '.join(given)}")

    @cached_property
    def privacy_unit(self) -> UserUnit:
        """Privacy unit of the target.

        Raises:
            ParameterError: --users, --at-most, --rows-per-person or --neighbors is out of range.
        """
        users = checks.require_positive_int("--users", self.users)
        if self.rows_per_person is not None:
            if self.keys or self.other or self.minimum_users is not None:
                raise ParameterError("--rows-per-person counts rows: omit --keys, --minimum-users and --other")
            users *= checks.require_positive_int("--rows-per-person", self.rows_per_person)
        elif self.at_most is not None:
            users *= checks.require_positive_int("--at-most", self.at_most) * (2 if self.shared else 1)
        elif self.shared:
            raise ParameterError("--shared requires --at-most")
        return UserUnit(checks.require_choice("--neighbors", self.neighbors, NEIGHBORS), users, self.counted_columns)

    @cached_property
    def other_users_count(self) -> OtherUsersCount | None:
        """Count of users with an item that is not released, or None without --other.

        Raises:
            ParameterError: The privacy target is invalid, or --other is given with --sum or --quantile.
        """
        whole = parse_privacy_target(self.epsilon, self.rho)
        if not self.other:
            return None
        if self.quantile is not None:
            self.require_no_items()
        if self.counted_columns.value is not None:
            raise ParameterError("--other counts users: omit --sum")
        return OtherUsersCount(whole, self.privacy_unit)

    @property
    def release_budget(self) -> Budget:
        """Budget for the items, without a delta."""
        return (
            parse_privacy_target(self.epsilon, self.rho)
            if self.other_users_count is None
            else self.other_users_count.release_budget
        )

    def require_group_options(self, *, listed: bool) -> None:
        """Raise if the options for groups are not compatible with each other or with other options."""
        if self.group is None:
            if (self.groups, self.groups_per_person) != (None, None):
                raise ParameterError("--groups and --groups-per-person require --group, the column of groups")
            return
        if self.groups is None:
            raise ParameterError("--group requires --groups, the public list of groups")
        if self.quantile is not None:
            self.require_no_items()
        free = Options()
        given = [option_name(one) for one in _NOT_IN_GROUPS if getattr(self, one) != getattr(free, one)]
        if given:
            raise ParameterError(f"{given[0]} cannot be combined with --group: omit it, or use make_partition_by")
        if (self.rows_per_person, self.groups_per_person).count(None) == 0:
            raise ParameterError("--rows-per-person counts rows, each in one group: omit --groups-per-person")
        if not listed:
            raise ParameterError("--group requires --candidates, a public list of the items for all groups")

    def require_list_options(self) -> None:
        """Raise if an option is given that a list of candidates excludes, or one is missing that it requires."""
        if self.above or self.keys or (self.limit is not None and self.minimum_users is None):
            raise ParameterError("--above-threshold, --keys and --limit conflict with --candidates: omit them")
        if self.minimum_users is not None and self.delta is None:
            raise ParameterError(
                "--minimum-users requires --delta, also with --candidates: the loss is infinite without a "
                "delta, because one user decides whether an item can be released"
            )

    def known_domain_query(self, n_candidates: int, groups: Sequence[Any] | None = None) -> Query[Any, UserUnit]:
        """Return the query for a known domain of candidates, with --minimum-users, --by-gap or ``groups`` if given.

        Raises:
            ParameterError: An option is missing, out of range or not compatible with the others.
        """
        if groups is not None:
            most = (
                1
                if self.groups_per_person is None
                else checks.require_positive_int("--groups-per-person", self.groups_per_person)
            )
            one = self.top_k_query(n_candidates)
            rule = "random" if self.rows_per_person is None else None  # a row is in one group only
            return replace(one, task=GroupedTopK(one.task, tuple(groups), most, rule))  # type: ignore[arg-type]
        if self.by_gap:
            return self._gap_query(n_candidates)
        return self.top_k_query(n_candidates) if self.minimum_users is None else self._minimum_users_query(n_candidates)

    def _gap_query(self, n_candidates: int) -> Query[ReleaseTask, UserUnit]:
        from ..planning.by_gap import SetByGap

        if (self.mechanism, self.counts, self.minimum_users, self.max_items) != (None, False, None, None):
            raise ParameterError(
                "--by-gap releases a set by its own mechanism: omit --mechanism, --counts, --minimum-users "
                "and --max-items"
            )
        if self.delta is None:
            raise ParameterError(
                "--by-gap requires --delta, the maximum probability that a gap that one user can close passes the test"
            )
        self._require_caps()
        return self._approximate_query(SetByGap(self._required_k(), n_candidates))

    def _minimum_users_query(self, n_candidates: int) -> Query[ReleaseTask, UserUnit]:
        from ..planning.unknown_domain import TopKUnknownDomain

        if (self.kind, self.mechanism, self.counts) != ("ranking", None, False):
            raise ParameterError(
                "--minimum-users with --candidates releases only a ranking of items: omit --release set, "
                "--mechanism and --counts"
            )
        if self.max_items is not None:
            raise ParameterError("--max-items does not lower the cost of --minimum-users with --candidates: omit it")
        self._require_caps()
        return self._approximate_query(TopKUnknownDomain(self._required_k(), self.limit, n_candidates))

    def top_k_query(self, n_candidates: int) -> Query[TopK, UserUnit]:
        """Return the query for the top k of a known domain of candidates.

        Raises:
            ParameterError: An option is missing, out of range or not compatible with the others.
        """
        budget, k, kind = (
            self._budget_with_delta(),
            self._required_k(),
            checks.require_choice("--release", self.kind, RELEASES),
        )
        self._require_caps()
        task = (TopKWithCounts if self.counts else TopK)(k, n_candidates, kind, default_mechanism(kind, self.counts))
        few = self.max_items is not None
        task = (
            with_histogram_options(task, few=few)
            if self.mechanism is None
            else with_mechanism(self.mechanism, task, few=few)
        )
        if task.mechanism.options.get("gaussian") and budget.measure == MaxDivergence():
            raise ParameterError(f"--mechanism {task.name} has no finite epsilon: also give --delta, or use --rho")
        return Query(task, self.privacy_unit, budget, alpha=self.exact_alpha)

    def unknown_domain_query(self) -> Query[ReleaseTask, UserUnit]:
        """Return the query for items of an unknown domain.

        Raises:
            ParameterError: An option is missing, out of range, or needs candidates.
        """
        columns = self.counted_columns
        if self.by_gap:
            raise ParameterError("--by-gap requires --candidates, a public list of the items")
        if self.above and self.keys:
            raise ParameterError("--above-threshold releases counts, and --keys releases none: omit one of them")
        found = "--keys" if self.keys else "--above-threshold"
        if (self.above or self.keys) and (self.k, self.limit) != (None, None):
            raise ParameterError(f"{found} releases all items with enough users: omit --k and --limit")
        if (self.above or self.keys) and self.max_items is None:
            raise ParameterError(f"{found} requires --max-items, the number of items of a user that count")
        if self.keys and columns.value is not None:
            raise ParameterError("--keys counts users: omit --sum")
        if self.delta is None:
            raise ParameterError("give --candidates, a public list of the items, or --delta if there is no such list")
        if (self.kind, self.mechanism, self.counts) != ("ranking", None, False):
            raise ParameterError("--release set, --mechanism and --counts require --candidates")
        if columns.bounds[0] < 0:
            raise ParameterError("--bounds must not be negative without --candidates")
        task = self._unknown_domain_task()
        self._require_caps()
        return self._approximate_query(task)

    def _unknown_domain_task(self) -> ReleaseTask:
        """Return the task for an unknown domain. Its modules are imported only here."""
        from ..planning.unknown_domain import PartitionSelectionTask, StableHistogramTask, TopKUnknownDomain

        if self.keys:
            return PartitionSelectionTask()
        return StableHistogramTask() if self.above else TopKUnknownDomain(self._required_k(), self.limit)

    def _approximate_query(self, task: ReleaseTask) -> Query[ReleaseTask, UserUnit]:
        """Return the query of a task whose measurement has a delta of its own."""
        delta = checks.require_probability(self.delta, "--delta")
        budget = Budget(Approximate(self.release_budget.measure), (self.release_budget.d_out, delta))
        return Query(task, self.privacy_unit, budget, alpha=self.exact_alpha)

    def _required_k(self) -> int:
        if self.k is None:
            raise ParameterError("give --k, the number of items")
        return self.k

    def _budget_with_delta(self) -> Budget:
        """Return the budget of a release from a list of candidates, with --delta if given."""
        budget = self.release_budget
        if self.delta is None:
            return budget
        if self.other_users_count is not None:
            raise ParameterError("--other and --delta cannot be combined if --candidates is given: omit one of them")
        if budget.main_symbol != "epsilon":
            raise ParameterError("--delta requires --epsilon: rho has no delta")
        checks.require_probability(self.delta, "--delta")
        return Budget(PrivacyProfile(), (budget.d_out, plain_number(parse_exact(self.delta, "--delta"))))

    def _require_caps(self) -> None:
        """Raise unless --limit, --max-items, --minimum-users and --keep are valid and compatible."""
        least = self.k or 1
        if self.limit is not None:
            from ...measurements._key_selection import MOST_KEYS

            if checks.require_positive_int("--limit", self.limit, at_most=MOST_KEYS, limit="2^22") < least:
                raise ParameterError(f"--limit must be at least k ({least})")
        if self.max_items is not None:
            checks.require_positive_int("--max-items", self.max_items)
        if self.minimum_users is not None:
            checks.require_positive_int("--minimum-users", self.minimum_users)
            if self.counted_columns.value is not None:
                raise ParameterError("--minimum-users counts users: omit --sum")
        if self.keep is not None:
            checks.require_choice("--keep", self.keep, RULES)
        if self.keep is not None and self.max_items is None:
            raise ParameterError("--keep requires --max-items")
        if self.keep == "value" and self.counted_columns.value is None:
            raise ParameterError("--keep value requires --sum")


_OF_ITEMS = (
    "k", "limit", "max_items", "minimum_users", "kind", "mechanism", "counts", "summed", "above", "keys", "keep",
    "other", "by_gap", "group", "groups", "groups_per_person",
)  # fmt: skip
_NOT_IN_GROUPS = "summed", "by_gap", "minimum_users", "other", "above", "keys", "limit"
_CALLED = {"kind": "release", "summed": "sum", "above": "above-threshold"}


def option_name(field: str) -> str:
    """Return the command-line option of a field of ``Options``."""
    return "--" + _CALLED.get(field, field.replace("_", "-"))


_KINDS = get_type_hints(Options, include_extras=True)
_OPTIONS = {
    one.name: (_KINDS[one.name], one.default)
    for one in fields(Options)
    if hasattr(_KINDS[one.name], "__metadata__")  # fields without it are options of one command only
}


_LINES = {
    name: (Annotated[str | None, typer.Option(metavar="TEXT", help=line.meaning, show_default=False)], None)
    for name, line in LINES.items()
}
# Arguments of commands, each with the options that replace it and the class that is built from them.
_GROUPS: dict[str, tuple[dict[str, tuple[Any, Any]], Callable[..., Any]]] = {
    "options": (_OPTIONS, Options),
    "stated": (_LINES, Metadata),
    "own": ({name: _LINES[name] for name in OWN}, Metadata),
}


def expand_option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Wrap ``command`` so that each of its arguments ``options``, ``stated`` and ``own`` is given by several options.

    These are the query options, the metadata of a ledger and the metadata of a release.
    """
    own, kinds = inspect.signature(command).parameters, get_type_hints(command, include_extras=True)
    groups = {name: _GROUPS[name] for name in own if name in _GROUPS}
    taken: dict[str, tuple[Any, Any]] = {}
    for name, parameter in own.items():
        taken |= groups[name][0] if name in groups else {name: (kinds[name], parameter.default)}

    @wraps(command)
    def run_with_groups(**given: Any) -> None:
        made = {name: make(**{one: given.pop(one) for one in names}) for name, (names, make) in groups.items()}
        command(**made, **given)

    run_with_groups.__annotations__ = {name: kind for name, (kind, _) in taken.items()}
    run_with_groups.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=unless_given, annotation=kind)
            for name, (kind, unless_given) in taken.items()
        ]
    )
    return run_with_groups


C = TypeVar("C", bound=Columns)


def apply_bounds_and_step(columns: C, bounds: str | None, step: str | None) -> C:
    """Return ``columns`` with the bounds and the step of their numbers.

    Raises:
        ParameterError: The columns have no numbers, --bounds is missing, or a number is invalid.
    """
    if columns.value is None:
        if (bounds, step) != (None, None):
            raise ParameterError("--bounds and --step require --sum COLUMN or --quantile P")
        return columns
    if bounds is None:
        raise ParameterError("--sum requires --bounds LOWER,UPPER on the total of one user for one item")
    ends = bounds.split(",")
    if len(ends) != 2:
        raise ParameterError("--bounds must be two numbers separated by a comma, such as 0,100")
    lower, upper = (parse_signed(end, "--bounds") for end in ends)
    found = replace(columns, bounds=(lower, upper), step=parse_exact("1" if step is None else step, "--step"))
    if not found.step:
        raise ParameterError("--step must be a number > 0")
    bounds_in_steps(found.bounds, found.step)
    return found


def require_noise(query: Query[ReleaseTask, PrivacyUnit]) -> None:
    """Raise if the release would be the same for every table."""
    if query.task.needs_no_noise(query):
        raise ParameterError("--k must be less than the number of candidates: all tables have the same release")


def least_noise_plan(query: Query[T_co, U_co]) -> Plan[T_co, U_co]:
    """Return the plan with the least noise that meets the target.

    Raises:
        ParameterError: The release would be the same for every table, or no scale meets the target.
    """
    require_noise(query)
    try:
        return most_accurate_plan(query)
    except SearchError:
        pass
    raise target_too_small_error(query)


def target_too_small_error(query: Query[ReleaseTask, PrivacyUnit]) -> ParameterError:
    """Return the error for a target that no noise meets."""
    searched, options = query.task.searched, [f"--{query.budget.main_symbol}"]
    several = len(searched) > 1
    return ParameterError(
        f"no finite {' and '.join(searched)} meet{'' if several else 's'} this small target: raise "
        f"{' or '.join([*options, *(['--delta'] if several else [])])}"
    )


def parse_privacy_target(epsilon: float | None, rho: float | None) -> Budget:
    """Return the privacy target given by exactly one of the two options.

    Raises:
        ParameterError: Both or neither is given, or the one that is given is not a finite number > 0.
    """
    given = [
        (name, value, measure)
        for name, value, measure in (
            ("epsilon", epsilon, MaxDivergence()),
            ("rho", rho, ZeroConcentratedDivergence()),
        )
        if value is not None
    ]
    if len(given) != 1:
        raise ParameterError("give exactly one privacy target: --epsilon E or --rho R")
    name, value, measure = given[0]
    if not 0 < value < math.inf:
        raise ParameterError(f"--{name} must be a finite number > 0")
    return Budget(measure, plain_number(parse_exact(value, f"--{name}")))


def with_mechanism(name: str, task: TopK, *, few: bool = False) -> TopK:
    """Return the task with the mechanism of this name.

    Raises:
        ParameterError: No mechanism has this name, or it cannot give this release; the message names what to change.
    """
    rows = {row.name: row for row in all_mechanisms()}
    if name not in rows:
        raise ParameterError(f"--mechanism must be one of {', '.join(rows)}")
    row = rows[name]
    asked = task.k, task.n_candidates, task.release, task.counted, few
    obstacle = row.release_obstacle(*asked)
    if obstacle is not None:
        others = [other.name for other in capable_mechanisms(*asked)]
        one_of = "one of " if len(others) > 1 else ""
        change = {
            "k": f"use --k {row.most}",
            "candidates": "use a --k below the number of candidates",
            "few": "give --max-items, the number of items of a user that count",
            "release": f"use --release {row.releases[0]}",
            "counts": "omit --counts",
        }[obstacle]
        raise ParameterError(
            f"--mechanism {name} cannot make this release: {change}, or choose {one_of}{', '.join(others)}"
        )
    return replace(task, mechanism=row)
