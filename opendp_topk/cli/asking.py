"""From the options that ``plan`` and ``release`` share to the query that they state, and to its plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from ..errors import ParameterError, SearchError, checks
from ..errors.checks import plain
from ..ledger.amounts import stated
from ..measurements._key_selection import MOST_KEYS
from ..planning.above_threshold import AboveThreshold
from ..planning.catalogue import RELEASES, default
from ..planning.columns import Columns
from ..planning.others import Other
from ..planning.plan import Plan, Query, T_co, Task, U_co, planned
from ..planning.top_k import Counts, TopK
from ..planning.units import Budget, Unit, Users
from ..planning.unknown_domain import TopKUnknownDomain
from ..spaces.measures import Approximate, PrivacyProfile
from ..transformations.keep_items import RULES
from ..transformations.sum_by_item import whole_steps
from .mechanisms import chosen
from .options import NEIGHBORS, target


@dataclass(frozen=True)
class Options:
    """What was given, as it stands on the command line."""

    k: int | None
    epsilon: float | None
    rho: float | None
    delta: float | None
    limit: int | None
    max_items: int | None
    users: int
    neighbors: str
    kind: str
    mechanism: str | None
    counts: bool
    summed: str | None
    bounds: str | None
    step: str | None
    above: bool
    keep: str
    other: bool
    alpha: float = 0.05
    user: str = "user"
    item: str = "item"

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Options:
        """The options among the arguments of a command."""
        return cls(**{field.name: given[field.name] for field in fields(cls) if field.name in given})

    @cached_property
    def failing(self) -> Fraction:
        """The probability with which accuracy theorems may fail, as it is written.

        Raises:
            ParameterError: It is none.
        """
        return Fraction(str(checks.probability(self.alpha, "--alpha")))

    @cached_property
    def columns(self) -> Columns:
        """The columns that count.

        Raises:
            ParameterError: --sum, --bounds and --step do not go together, or are no numbers that do.
        """
        return scoring(
            Columns(self.user, self.item, self.summed, max_items=self.max_items, keep=self.keep),
            self.bounds,
            self.step,
        )

    @cached_property
    def unit(self) -> Users:
        """Whom the target protects.

        Raises:
            ParameterError: --users or --neighbors is out of range.
        """
        users = checks.count("--users", self.users)
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
        if self.columns.value is not None:
            raise ParameterError("--other counts users: leave --sum out")
        return Other(whole, self.unit)

    @property
    def budget(self) -> Budget:
        """What the items may cost, without a delta."""
        return target(self.epsilon, self.rho) if self.others is None else self.others.rest

    def require_listed(self) -> None:
        """Raise where an option is given that is of no use beside a list of candidates."""
        if self.above or self.keep != "order":
            raise ParameterError("--above-threshold and --keep are for releases without --candidates: leave them out")
        if (self.limit, self.max_items) != (None, None):
            raise ParameterError("--limit and --max-items are for releases without --candidates: leave them out")

    def listed(self, n_candidates: int) -> Query[TopK, Users]:
        """The query for items of a list.

        Raises:
            ParameterError: An option is missing, out of range, or does not go with the others.
        """
        budget, k, kind = self._relaxed(), self._given(), checks.choice("--release", self.kind, RELEASES)
        task = (Counts if self.counts else TopK)(k, n_candidates, kind, default(kind, self.counts))
        if self.mechanism is not None:
            task = chosen(self.mechanism, task)
        return Query(task, self.unit, budget, alpha=self.failing)

    def unlisted(self) -> Query[Task, Users]:
        """The query for items that nobody lists.

        Raises:
            ParameterError: An option is missing, out of range, or needs candidates.
        """
        if self.above and (self.k, self.limit) != (None, None):
            raise ParameterError("--above-threshold releases all items with enough users: leave --k and --limit out")
        if self.above and self.max_items is None:
            raise ParameterError("--above-threshold needs --max-items: how many items of one user count")
        if self.delta is None:
            raise ParameterError(
                "give --candidates, a public list of the items, or, where nobody can list them, --delta"
            )
        if (self.kind, self.mechanism, self.counts) != ("ranking", None, False):
            raise ParameterError("--release set, --mechanism and --counts need a list of candidates: give --candidates")
        if self.columns.bounds[0] < 0:
            raise ParameterError("--bounds must not be negative without --candidates")
        task = AboveThreshold() if self.above else TopKUnknownDomain(self._given(), self.limit)
        delta = checks.probability(self.delta, "--delta")
        self._require_caps()
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
        if self.limit is not None and checks.count("--limit", self.limit, at_most=MOST_KEYS, limit="2^22") < least:
            raise ParameterError(f"--limit must be at least k ({least})")
        if self.max_items is not None:
            checks.count("--max-items", self.max_items)
        checks.choice("--keep", self.keep, RULES)
        if self.keep != "order" and self.max_items is None:
            raise ParameterError("--keep goes with --max-items")
        if self.keep == "value" and self.columns.value is None:
            raise ParameterError("--keep value goes with --sum")


def scoring(columns: Columns, bounds: str | None, step: str | None) -> Columns:
    """``columns`` with what --bounds and --step say of the numbers in them.

    Raises:
        ParameterError: They do not go with the columns, or are no numbers that do.
    """
    if columns.value is None:
        if (bounds, step) != (None, None):
            raise ParameterError("--bounds and --step go with --sum COLUMN")
        return columns
    if bounds is None:
        raise ParameterError("--sum needs --bounds LOWER,UPPER: what one user may add to one item")
    ends = bounds.split(",")
    if len(ends) != 2:
        raise ParameterError("--bounds must be two numbers with a comma between them, such as 0,100")
    lower, upper = map(_signed, ends)
    found = replace(columns, bounds=(lower, upper), step=stated("1" if step is None else step, "--step"))
    if not found.step:
        raise ParameterError("--step must be a number > 0")
    whole_steps(found.bounds, found.step)
    return found


def _signed(text: str) -> Fraction:
    text = text.strip()
    return -stated(text[1:], "--bounds") if text.startswith("-") else stated(text, "--bounds")


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
        return planned(query)
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
