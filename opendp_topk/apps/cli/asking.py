"""The options in which ``plan`` and ``release`` state a query, the query that they state, and its plan."""

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
from ...errors.checks import plain
from ...spaces.measures import Approximate, MaxDivergence, PrivacyProfile, ZeroConcentratedDivergence
from ...transformations.cap_scores import lowest_terms
from ...transformations.keep_items import RULES
from ...transformations.sum_by_item import whole_steps
from ..ledger.amounts import stated
from ..ledger.stated import LINES, OWN, Stated
from ..planning.catalogue import DESCRIBED, RELEASES, able, default, table
from ..planning.groups import InGroups
from ..planning.plan import Plan, Query, T_co, Task, U_co
from ..planning.quantile import Numbers, Quantile
from ..planning.release_record import Other
from ..planning.several import nearest, open_to
from ..planning.top_k import Counts, TopK
from ..planning.units import ROW, Budget, Columns, Unit, Users, exactly, joined, signed

NEIGHBORS = ("add_remove", "replace")
_NAMES = ", ".join(row.name for row in DESCRIBED)

NeighborsOption = Annotated[
    str,
    typer.Option(
        metavar="|".join(NEIGHBORS),
        help="add_remove: a neighbouring table has a user more or less. "
        "replace: a user's rows are exchanged for those of another.",
    ),
]


@dataclass(frozen=True)
class Options:
    """What was given, as it stands on the command line: a field an option."""

    k: Annotated[int | None, typer.Option("--k", "-k", help="How many items to release.", show_default=False)] = None
    epsilon: Annotated[
        float | None,
        typer.Option(
            help="Privacy target: epsilon of pure differential privacy. Give this or --rho.",
            metavar="E",
            show_default=False,
        ),
    ] = None
    rho: Annotated[
        float | None,
        typer.Option(
            help="Privacy target: rho of zero-concentrated differential privacy. Give this or --epsilon.",
            metavar="R",
            show_default=False,
        ),
    ] = None
    delta: Annotated[
        float | None,
        typer.Option(
            help="Where no candidates are given: the probability, at most, that an item of one user alone comes out. "
            "With --candidates and --epsilon: the delta of the target (epsilon, delta), measured by the whole privacy "
            "curve. It allows less noise for many items, or for many releases.",
            metavar="D",
            show_default=False,
        ),
    ] = None
    limit: Annotated[
        int | None,
        typer.Option(
            help="Where no candidates are given: how many items of the table take part, chosen without looking at it. "
            "If not given: ten times k.",
            metavar="N",
            show_default=False,
        ),
    ] = None
    max_items: Annotated[
        int | None,
        typer.Option(
            help="How many items of a user count, drawn at random unless --keep says otherwise. A small number lowers "
            "the threshold where no candidates are given, and elsewhere the noise, with --counts most of all; what is "
            "promised is of the counts of what was kept. If not given: all.",
            metavar="N",
            show_default=False,
        ),
    ] = None
    minimum_users: Annotated[
        int | None,
        typer.Option(
            help="Items that fewer users have are never released, which needs --delta, also with --candidates. If not "
            "given, and without candidates, an item of few users is released with a probability of at most --delta.",
            metavar="M",
            show_default=False,
        ),
    ] = None
    users: Annotated[
        int,
        typer.Option(metavar="D_IN", help="By how many users two neighbouring tables differ: the group to protect."),
    ] = 1
    rows_per_person: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Where no column tells people apart, in the place of --user: how many rows one person has at most. "
            "Every row counts, and the target is met for a person with so many. The record says that it was stated, "
            "and not checked.",
            show_default=False,
        ),
    ] = None
    group: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="With --candidates: release a list for each of several groups of users, such as regions, which this "
            "column names, all at one price. Give --groups.",
            show_default=False,
        ),
    ] = None
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="With --group: the groups, a public list in a file as for --candidates; for a plan their number is "
            "enough. Each of them gets its list, also one without users, and rows of other groups count nowhere.",
            show_default=False,
        ),
    ] = None
    groups_per_person: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="With --group: in how many of the groups a user counts at most, drawn at random among those with rows "
            "of the user; a user costs what so many lists cost. If not given: 1.",
            show_default=False,
        ),
    ] = None
    neighbors: NeighborsOption = NEIGHBORS[0]
    kind: Annotated[
        str,
        typer.Option(
            "--release", metavar="|".join(RELEASES), help="ranking: best first. set: which items, not their order."
        ),
    ] = RELEASES[0]
    mechanism: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"How the items are chosen: {_NAMES}. If not given: report_noisy_top_k for a ranking or "
            "with --counts, canonical for a set; with --max-items noise on all counts where it comes nearer. plan "
            "--compare shows them side by side.",
            show_default=False,
        ),
    ] = None
    counts: Annotated[
        bool,
        typer.Option(
            "--counts",
            help="Release a noisy count of users with each item; it may be below zero. A choice gets half of the cost "
            "then, and noise on all counts needs none beside.",
        ),
    ] = False
    by_gap: Annotated[
        bool,
        typer.Option(
            "--by-gap",
            help="With --candidates and --delta: release the exact set of the candidates that stand apart, at most k, "
            "without order. A large gap between consecutive counts is chosen with noise and tested with noise; where "
            "none is large enough, nothing comes out.",
        ),
    ] = False
    summed: Annotated[
        str | None,
        typer.Option(
            "--sum",
            metavar="COLUMN",
            help="Rank items by the sum of this column of numbers instead of by users. Give --bounds.",
            show_default=False,
        ),
    ] = None
    quantile: Annotated[
        str | None,
        typer.Option(
            metavar="P",
            help="Release a quantile of a column of numbers instead of items: 1/2 for the median, or 0.9. Several with "
            "commas between them, such as .25,.5,.75, cost as many choices as halving takes. Give --column and "
            "--bounds, and leave --item, --k and --candidates out.",
            show_default=False,
        ),
    ] = None
    column: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="With --quantile: the column that holds the numbers.", show_default=False),
    ] = None
    bounds: Annotated[
        str | None,
        typer.Option(
            "--bounds",
            metavar="LOWER,UPPER",
            help="With --sum: what one user may add to one item. A user's total beyond is clamped. With --quantile: "
            "the least and the largest number that may be released. Public: choose them without looking at the table.",
            show_default=False,
        ),
    ] = None
    step: Annotated[
        str | None,
        typer.Option(
            "--step",
            metavar="STEP",
            help="With --sum and --quantile: numbers are rounded to multiples of this, such as 0.01. If not given: 1.",
            show_default=False,
        ),
    ] = None
    max_rows: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="With --quantile: how many rows of a user count, evenly spaced in the order of their numbers; the "
            "noise grows with it. If not given: 1, the median of the user's own.",
            show_default=False,
        ),
    ] = None
    above: Annotated[
        bool,
        typer.Option(
            "--above-threshold",
            help="Where no candidates are given: release every item with enough users, with a noisy count, instead of "
            "the k best. Give --max-items, and leave --k out.",
        ),
    ] = False
    keys: Annotated[
        bool,
        typer.Option(
            "--keys",
            help="Where no candidates are given: release every item with enough users, without a count, by which items "
            "of fewer users get in. Give --max-items, and leave --k out.",
        ),
    ] = False
    keep: Annotated[
        str | None,
        typer.Option(
            "--keep",
            metavar="|".join(RULES),
            help="With --max-items, which items of a user count. random: drawn uniformly, which is what counts if not "
            "given. order: the first in alphabetical order. rows: those with the most rows. value: with --sum, those "
            "with the largest totals.",
            show_default=False,
        ),
    ] = None
    other: Annotated[
        bool,
        typer.Option(
            "--other",
            help="Release, too, how many users have an item that is not released, as a noisy count at a tenth of the "
            "cost.",
        ),
    ] = False
    alpha: float = 0.05
    user: str = "user"
    item: str = "item"
    at_most: int | None = None
    shared: bool = False

    @cached_property
    def failing(self) -> Fraction:
        """The probability with which accuracy theorems may fail, as it is written.

        Raises:
            ParameterError: It is none.
        """
        return Fraction(str(checks.probability(self.alpha, "--alpha")))

    @property
    def people(self) -> str:
        """The column that tells people apart, or else rows."""
        return self.user if self.rows_per_person is None else ROW

    @property
    def items(self) -> tuple[str, ...]:
        """The columns of items, several as a line of CSV names them.

        Raises:
            ParameterError: One is named twice, or by nothing.
        """
        names = tuple(next(csv.reader([self.item]))) if "," in self.item else (self.item,)
        if len(names) > 1 and ("" in names or len(set(names)) < len(names)):
            raise ParameterError("--item must name different columns with commas between them, such as region,product")
        return names

    @cached_property
    def columns(self) -> Columns:
        """The columns that count.

        Raises:
            ParameterError: --sum, or --quantile, does not go with --bounds, --step and other options, or these are no
                numbers that do; or there is no --item.
        """
        if self.quantile is not None:
            return self._numbers()
        if (self.column, self.max_rows) != (None, None):
            raise ParameterError("--column and --max-rows go with --quantile P")
        if not self.item:
            raise ParameterError("give --item, the column of the items, or --quantile P for one of numbers")
        several = len(self.items) > 1
        item, parts = (joined(self.items), self.items) if several else (self.items[0], ())
        given = Columns(self.people, item, self.summed, max_items=self.max_items, parts=parts)
        given = given if self.keep is None else replace(given, keep=self.keep)
        given = replace(given, minimum_users=self.minimum_users, group=self.group)
        return scoring(given, self.bounds, self.step)

    def _numbers(self) -> Numbers:
        if self.column is None or self.bounds is None:
            raise ParameterError(
                "--quantile needs --column, the numbers, and --bounds LOWER,UPPER: the least and the largest that may "
                "be released"
            )
        listed = [one.strip() for one in str(self.quantile).split(",")]
        asked = [stated(f"0{one}" if one.startswith(".") else one, "--quantile") for one in listed]
        shares = tuple(Fraction(*lowest_terms(one, "--quantile")) for one in asked)
        most = 1 if self.max_rows is None else checks.count("--max-rows", self.max_rows)
        given = Numbers(self.people, value=self.column, quantiles=shares, max_rows=most)
        found = scoring(given, self.bounds, self.step)
        Quantile.of(found)  # a grid whose numbers are within those of floats
        if any(exactly(float(one)) != one for one in (found.step, *found.bounds)):
            raise ParameterError("--step and --bounds must have at most 15 digits: a record keeps no more of them")
        return found

    def of_quantile(self) -> Query[Quantile, Users]:
        """The query for quantiles of a column of numbers.

        Raises:
            ParameterError: An option is missing, out of range, or does not go with the others.
        """
        self.require_no_items()
        columns = self.columns
        assert isinstance(columns, Numbers)
        return Query(Quantile.of(columns), self.unit, self._relaxed(), alpha=self.failing)

    def require_no_items(self) -> None:
        """Raise where an option is given that is of no use where one number is released."""
        free = Options()
        given = [named(one) for one in _OF_ITEMS if getattr(self, one) != getattr(free, one)]
        if given:
            raise ParameterError(f"--quantile releases numbers, and no items: leave {', '.join(given)} out")

    @cached_property
    def unit(self) -> Users:
        """Whom the target protects.

        Raises:
            ParameterError: --users, --at-most, --rows-per-person or --neighbors is out of range.
        """
        users = checks.count("--users", self.users)
        if self.rows_per_person is not None:
            if self.keys or self.other or self.minimum_users is not None:
                raise ParameterError("--rows-per-person counts rows: leave --keys, --minimum-users and --other out")
            users *= checks.count("--rows-per-person", self.rows_per_person)
        elif self.at_most is not None:
            users *= checks.count("--at-most", self.at_most) * (2 if self.shared else 1)
        elif self.shared:
            raise ParameterError("--shared goes with --at-most")
        return Users(checks.choice("--neighbors", self.neighbors, NEIGHBORS), users, self.columns)

    @cached_property
    def others(self) -> Other | None:
        """The count of all other users, if it is asked for.

        Raises:
            ParameterError: Items are ranked by sums.
        """
        whole = target(self.epsilon, self.rho)
        if not self.other:
            return None
        if self.quantile is not None:
            self.require_no_items()
        if self.columns.value is not None:
            raise ParameterError("--other counts users: leave --sum out")
        return Other(whole, self.unit)

    @property
    def budget(self) -> Budget:
        """What the items may cost, without a delta."""
        return target(self.epsilon, self.rho) if self.others is None else self.others.rest

    def require_whole(self, *, listed: bool) -> None:
        """Raise where options of groups do not go together, or not with others."""
        if self.group is None:
            if (self.groups, self.groups_per_person) != (None, None):
                raise ParameterError("--groups and --groups-per-person go with --group, the column that names groups")
            return
        if self.groups is None:
            raise ParameterError("--group needs --groups, a public list of the groups that get a list each")
        if self.quantile is not None:
            self.require_no_items()
        free = Options()
        given = [named(one) for one in _NOT_IN_GROUPS if getattr(self, one) != getattr(free, one)]
        if given:
            raise ParameterError(
                f"{given[0]} does not go with --group: leave one of them out, or combine them in Python, by "
                "make_partition_by"
            )
        if (self.rows_per_person, self.groups_per_person).count(None) == 0:
            raise ParameterError("--rows-per-person counts rows, each in one group: leave --groups-per-person out")
        if not listed:
            raise ParameterError("--group needs --candidates, a public list of the items, the same for all groups")

    def require_listed(self) -> None:
        """Raise where an option is given that is of no use beside a list of candidates."""
        if self.above or self.keys or (self.limit is not None and self.minimum_users is None):
            raise ParameterError(
                "--above-threshold, --keys and --limit are for releases without --candidates: leave them out"
            )
        if self.minimum_users is not None and self.delta is None:
            raise ParameterError(
                "--minimum-users needs --delta, also with --candidates: that an item of too few users never comes out, "
                "and one of a user more may, has no finite loss without one"
            )

    def of_list(self, n_candidates: int, groups: Sequence[Any] | None = None) -> Query[Any, Users]:
        """The query for items of a list, or for those that at least --minimum-users have; for each of ``groups``.

        Raises:
            ParameterError: An option is missing, out of range, or does not go with the others.
        """
        if groups is not None:
            most = 1 if self.groups_per_person is None else checks.count("--groups-per-person", self.groups_per_person)
            one = self.listed(n_candidates)
            rule = "random" if self.rows_per_person is None else None  # a row has no two groups to choose from
            return replace(one, task=InGroups(one.task, tuple(groups), most, rule))  # type: ignore[arg-type]
        if self.by_gap:
            return self._apart(n_candidates)
        return self.listed(n_candidates) if self.minimum_users is None else self._minimal(n_candidates)

    def _apart(self, n_candidates: int) -> Query[Task, Users]:
        from ..planning.by_gap import SetByGap

        if (self.mechanism, self.counts, self.minimum_users, self.max_items) != (None, False, None, None):
            raise ParameterError(
                "--by-gap releases a set by a mechanism of its own: leave --mechanism, --counts, --minimum-users and "
                "--max-items out"
            )
        if self.delta is None:
            raise ParameterError("--by-gap needs --delta: how likely, at most, a gap passes that one user can close")
        self._require_caps()
        return self._approximate(SetByGap(self._given(), n_candidates))

    def _minimal(self, n_candidates: int) -> Query[Task, Users]:
        from ..planning.unknown_domain import TopKUnknownDomain

        if (self.kind, self.mechanism, self.counts) != ("ranking", None, False):
            raise ParameterError(
                "--minimum-users with --candidates releases a ranking of items alone: leave --release set, --mechanism "
                "and --counts out"
            )
        if self.max_items is not None:
            raise ParameterError("--max-items lowers no cost beside --minimum-users with --candidates: leave it out")
        self._require_caps()
        return self._approximate(TopKUnknownDomain(self._given(), self.limit, n_candidates))

    def listed(self, n_candidates: int) -> Query[TopK, Users]:
        """The query for items of a list.

        Raises:
            ParameterError: An option is missing, out of range, or does not go with the others.
        """
        budget, k, kind = self._relaxed(), self._given(), checks.choice("--release", self.kind, RELEASES)
        self._require_caps()
        task = (Counts if self.counts else TopK)(k, n_candidates, kind, default(kind, self.counts))
        few = self.max_items is not None
        task = open_to(task, few=few) if self.mechanism is None else by_mechanism(self.mechanism, task, few=few)
        if task.mechanism.options.get("gaussian") and budget.measure == MaxDivergence():
            raise ParameterError(f"--mechanism {task.name} has no epsilon without a delta: give --delta, too, or --rho")
        return Query(task, self.unit, budget, alpha=self.failing)

    def unlisted(self) -> Query[Task, Users]:
        """The query for items that nobody lists.

        Raises:
            ParameterError: An option is missing, out of range, or needs candidates.
        """
        columns = self.columns
        if self.by_gap:
            raise ParameterError("--by-gap needs --candidates, a public list of the items")
        if self.above and self.keys:
            raise ParameterError("--above-threshold releases counts, and --keys none: leave one out")
        found = "--keys" if self.keys else "--above-threshold"
        if (self.above or self.keys) and (self.k, self.limit) != (None, None):
            raise ParameterError(f"{found} releases all items with enough users: leave --k and --limit out")
        if (self.above or self.keys) and self.max_items is None:
            raise ParameterError(f"{found} needs --max-items: how many items of one user count")
        if self.keys and columns.value is not None:
            raise ParameterError("--keys counts users: leave --sum out")
        if self.delta is None:
            raise ParameterError(
                "give --candidates, a public list of the items, or, where nobody can list them, --delta"
            )
        if (self.kind, self.mechanism, self.counts) != ("ranking", None, False):
            raise ParameterError("--release set, --mechanism and --counts need a list of candidates: give --candidates")
        if columns.bounds[0] < 0:
            raise ParameterError("--bounds must not be negative without --candidates")
        task = self._of_table()
        self._require_caps()
        return self._approximate(task)

    def _of_table(self) -> Task:
        """The task for items that nobody lists, whose modules are loaded here."""
        from ..planning.unknown_domain import AboveThreshold, Keys, TopKUnknownDomain

        if self.keys:
            return Keys()
        return AboveThreshold() if self.above else TopKUnknownDomain(self._given(), self.limit)

    def _approximate(self, task: Task) -> Query[Task, Users]:
        """The query of a task whose measurement has a delta of its own."""
        delta = checks.probability(self.delta, "--delta")
        budget = Budget(Approximate(self.budget.measure), (self.budget.d_out, delta))
        return Query(task, self.unit, budget, alpha=self.failing)

    def _given(self) -> int:
        if self.k is None:
            raise ParameterError("give --k, the number of items")
        return self.k

    def _relaxed(self) -> Budget:
        """The budget of a release from a list of candidates, with the delta that was given."""
        budget = self.budget
        if self.delta is None:
            return budget
        if self.others is not None:
            raise ParameterError("--other and --delta do not go together where there are --candidates: leave one out")
        if budget.symbol != "epsilon":
            raise ParameterError("--delta goes with --epsilon: rho has no delta")
        checks.probability(self.delta, "--delta")
        return Budget(PrivacyProfile(), (budget.d_out, plain(stated(self.delta, "--delta"))))

    def _require_caps(self) -> None:
        """Raise unless --limit, --max-items and --keep go together."""
        least = self.k or 1
        if self.limit is not None:
            from ...measurements._key_selection import MOST_KEYS

            if checks.count("--limit", self.limit, at_most=MOST_KEYS, limit="2^22") < least:
                raise ParameterError(f"--limit must be at least k ({least})")
        if self.max_items is not None:
            checks.count("--max-items", self.max_items)
        if self.minimum_users is not None:
            checks.count("--minimum-users", self.minimum_users)
            if self.columns.value is not None:
                raise ParameterError("--minimum-users counts users: leave --sum out")
        if self.keep is not None:
            checks.choice("--keep", self.keep, RULES)
        if self.keep is not None and self.max_items is None:
            raise ParameterError("--keep goes with --max-items")
        if self.keep == "value" and self.columns.value is None:
            raise ParameterError("--keep value goes with --sum")


_OF_ITEMS = (
    "k", "limit", "max_items", "minimum_users", "kind", "mechanism", "counts", "summed", "above", "keys", "keep",
    "other", "by_gap", "group", "groups", "groups_per_person",
)  # fmt: skip
_NOT_IN_GROUPS = "summed", "by_gap", "minimum_users", "other", "above", "keys", "limit"
_CALLED = {"kind": "release", "summed": "sum", "above": "above-threshold"}


def named(field: str) -> str:
    """The option that a field of ``Options`` is."""
    return "--" + _CALLED.get(field, field.replace("_", "-"))


_KINDS = get_type_hints(Options, include_extras=True)
_OPTIONS = {
    one.name: (_KINDS[one.name], one.default)
    for one in fields(Options)
    if hasattr(_KINDS[one.name], "__metadata__")  # what one command alone takes has none
}


_LINES = {
    name: (Annotated[str | None, typer.Option(metavar="TEXT", help=line.meaning, show_default=False)], None)
    for name, line in LINES.items()
}
# An argument of a command, the options in its place, and what is made of them.
_GROUPS: dict[str, tuple[dict[str, tuple[Any, Any]], Callable[..., Any]]] = {
    "options": (_OPTIONS, Options),
    "stated": (_LINES, Stated),
    "own": ({name: _LINES[name] for name in OWN}, Stated),
}


def stating(command: Callable[..., None]) -> Callable[..., None]:
    """``command``, whose arguments ``options``, ``stated`` and ``own`` are given as several options each.

    They are those of a query, and the lines that can be said of a ledger and of a release.
    """
    own, kinds = inspect.signature(command).parameters, get_type_hints(command, include_extras=True)
    groups = {name: _GROUPS[name] for name in own if name in _GROUPS}
    taken: dict[str, tuple[Any, Any]] = {}
    for name, parameter in own.items():
        taken |= groups[name][0] if name in groups else {name: (kinds[name], parameter.default)}

    @wraps(command)
    def run(**given: Any) -> None:
        made = {name: make(**{one: given.pop(one) for one in names}) for name, (names, make) in groups.items()}
        command(**made, **given)

    run.__annotations__ = {name: kind for name, (kind, _) in taken.items()}
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=unless_given, annotation=kind)
            for name, (kind, unless_given) in taken.items()
        ]
    )
    return run


C = TypeVar("C", bound=Columns)


def scoring(columns: C, bounds: str | None, step: str | None) -> C:
    """``columns`` with what --bounds and --step say of the numbers in them.

    Raises:
        ParameterError: They do not go with the columns, or are no numbers that do.
    """
    if columns.value is None:
        if (bounds, step) != (None, None):
            raise ParameterError("--bounds and --step go with --sum COLUMN or --quantile P")
        return columns
    if bounds is None:
        raise ParameterError("--sum needs --bounds LOWER,UPPER: what one user may add to one item")
    ends = bounds.split(",")
    if len(ends) != 2:
        raise ParameterError("--bounds must be two numbers with a comma between them, such as 0,100")
    lower, upper = (signed(end, "--bounds") for end in ends)
    found = replace(columns, bounds=(lower, upper), step=stated("1" if step is None else step, "--step"))
    if not found.step:
        raise ParameterError("--step must be a number > 0")
    whole_steps(found.bounds, found.step)
    return found


def require_noise(query: Query[Task, Unit]) -> None:
    """Raise where the release would be the same for every table."""
    if query.task.needs_no_noise(query):
        raise ParameterError(
            "this release would be the same for every table, so it needs no noise and says nothing: "
            "choose k smaller than the number of candidates"
        )


def met(query: Query[T_co, U_co]) -> Plan[T_co, U_co]:
    """The plan with the least noise that meets the target.

    Raises:
        ParameterError: The release would be the same for every table, or no scale meets the target.
    """
    require_noise(query)
    try:
        return nearest(query)
    except SearchError:
        pass
    raise too_small(query)


def too_small(query: Query[Task, Unit]) -> ParameterError:
    """The error where no noise meets the target."""
    searched, options = query.task.searched, [f"--{query.budget.symbol}"]
    several = len(searched) > 1
    return ParameterError(
        f"no finite {' and '.join(searched)} meet{'' if several else 's'} so small a target: raise "
        f"{' or '.join([*options, *(['--delta'] if several else [])])}"
    )


def target(epsilon: float | None, rho: float | None) -> Budget:
    """The privacy target that exactly one of the two options states.

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
    return Budget(measure, plain(stated(value, f"--{name}")))


def by_mechanism(name: str, task: TopK, *, few: bool = False) -> TopK:
    """The task by the mechanism of this name.

    Raises:
        ParameterError: There is none, or it cannot release this; the message says what to change.
    """
    rows = {row.name: row for row in table()}
    if name not in rows:
        raise ParameterError(f"--mechanism must be one of {', '.join(rows)}")
    row = rows[name]
    asked = task.k, task.n_candidates, task.release, task.counted, few
    obstacle = row.obstacle(*asked)
    if obstacle is not None:
        others = [other.name for other in able(*asked)]
        one_of = "one of " if len(others) > 1 else ""
        change = {
            "k": f"use --k {row.most}",
            "candidates": "use a --k below the number of candidates",
            "few": "give --max-items, how many items of a user count",
            "release": f"use --release {row.releases[0]}",
            "counts": "leave --counts out",
        }[obstacle]
        raise ParameterError(
            f"--mechanism {name} cannot give this release: {change}, or choose {one_of}{', '.join(others)}"
        )
    return replace(task, mechanism=row)
