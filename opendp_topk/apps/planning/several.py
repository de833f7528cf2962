"""Accounting options for several releases, and the choice of the most accurate mechanism."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

from ...errors import ParameterError, ParameterTypeError, SearchError, TopKError, checks
from ...errors.files import quote_path
from ...numerics.arithmetic import to_fraction
from ...spaces.curves.closed_forms import ZCDPBound
from ...spaces.curves.curve import PrivacyCurve
from ...spaces.measures import Approximate, MaxDivergence, PrivacyProfile, ZeroConcentratedDivergence, without_delta
from ...spaces.metrics import UserDistance
from ..ledger import Ledger
from ..ledger.amounts import largest_rho, parse_exact, remaining_rounded_down
from ..ledger.report import ledger_protection_text
from .comparison import bound_sort_key, format_rounded_up
from .options import OptionGroup, given_options, named, option_error, options_of, require_compatible
from .plan import Plan, Query, nth_largest_text, plan_query
from .questions import question_from_dict
from .top_k import TopKTask
from .units import Budget, UserUnit, count_with_noun

# The most accurate mechanism of a task, by the error bounds of theorems.

# One choice among all sets whose bound is this many times that of noise on each count found fewer of the true k on ten
# real vectors of counts, also if they were all above the bound.
_LATE = 2


def most_accurate_plan(query: Query[Any, Any]) -> Plan[Any, Any]:
    """Return the best plan by :func:`best_plan` of the task's mechanism and its alternatives, and the reason.

    Nothing in it depends on a table.

    Raises:
        SearchError, ParameterTypeError: As :func:`plan_query` for the first mechanism, if all of them fail.
    """
    known: dict[Any, float] = {}
    tried: list[Plan[Any, Any]] = []
    failure: Exception | None = None
    for task in query.task.mechanism_variants:
        try:
            tried.append(plan_query(replace(query, task=task), known))
        except (SearchError, ParameterTypeError) as error:  # it does not accept the measure, or has no least scale
            failure = failure or error
    if not tried:
        assert failure is not None
        raise failure
    if len(tried) > 1 and isinstance(tried[0].query.task, TopKTask):
        best = best_plan(tried)
        return replace(best, why=_choice_reason(best, tried))
    best = min(tried, key=lambda plan: plan.query.task.error_bound(plan))  # ties go to the first
    return replace(best, why=best.query.task.choice_reason(best, tried))


def best_plan(plans: Iterable[Plan[Any, Any]]) -> Plan[Any, Any]:
    """Return the plan with the smallest error bound.

    With an expected k-th largest count, one choice among all sets is preferred if its error bound is below that count
    and below ``_LATE`` times the other bound: it then typically makes no error. If not, it comes last.
    """

    def error_bound(plan: Plan[Any, Any]) -> float:
        found: float = plan.query.task.error_bound(plan)
        return found

    ordered: list[Plan[Any, Any]] = sorted(plans, key=lambda plan: (error_bound(plan), *bound_sort_key(plan)))
    expected = ordered[0].query.task.expected
    by_sets = [plan for plan in ordered if not plan.query.task.mechanism.ranked]
    others = [plan for plan in ordered if plan.query.task.mechanism.ranked]
    if expected is None or not by_sets or not others:
        return ordered[0]
    limit = min(expected, _LATE * error_bound(others[0]))
    return by_sets[0] if error_bound(by_sets[0]) < limit else others[0]


def _choice_reason(best: Plan[Any, Any], found: list[Plan[Any, Any]]) -> str:
    """Return the reason in a sentence; empty if only one kind of mechanism was possible."""
    kinds = {plan.name: (plan.query.task.mechanism.few, plan.query.task.mechanism.ranked) for plan in found}
    others = [plan for plan in found if kinds[plan.name] != kinds[best.name]]
    if not others:
        return ""
    columns, task, other = best.query.unit.columns, best.query.task, best_plan(others)
    near, far = (_error_bound_text(plan) for plan in (best, other))
    if kinds[best.name][0] or kinds[other.name][0]:
        items = count_with_noun(columns.max_items or 0, "item")
        because = (
            f"at most {items} of each user count, so noise on all {columns.score_noun}s costs less than a selection"
            if task.mechanism.few
            else f"up to {items} of each user count, too many for noise on all {columns.score_noun}s"
        )
        return f"{because}: for the counted rows, the error bound is {near}; for {other.name} it is {far}"
    bounds = f"the error bound is {near}; for {other.name} it is {far}"
    rank = nth_largest_text(task.k)
    if task.expected is None:
        return f"{bounds}. With --expect, a public guess of the {rank} {columns.score_noun}, the choice is better"
    above = "not far enough above" if task.mechanism.ranked else "above"
    return f"the expected {rank} count is {above} the error bound of one choice among all sets: {bounds}"


def _error_bound_text(plan: Plan[Any, Any]) -> str:
    bound = plan.query.task.error_bound(plan)
    return "not known" if bound == math.inf else plan.query.unit.columns.difference_text(bound)


# Several equal releases within one (epsilon, delta) budget, under each accounting option of a ledger.

DELTA = Fraction(1, 10**6)  # the default, a common value, which is shown
PURE, RHOS, CURVES = "pure", "zCDP", "(epsilon, delta)"
FORMAT = "opendp_topk plan v1"  # the only format of a schedule that is read and written
_SIX_DOWN = Context(prec=6, rounding=ROUND_FLOOR)  # six digits fit into a table


@dataclass(frozen=True)
class AccountingOption:
    """Accounting option: the total budget in words, the plan of one release, and options of a new ledger for all."""

    name: str
    total: str
    plan: Plan[Any, UserUnit]
    ledger: tuple[str, ...]


def format_rounded_down(number: Fraction) -> str:
    """Return the number in six digits, rounded down, so that it may be spent as written."""
    return f"{float(_SIX_DOWN.divide(Decimal(number.numerator), Decimal(number.denominator))):.6g}"


def format_stated_number(number: Fraction) -> str:
    """Return the number as its shortest decimal if that is exact, otherwise in six digits, rounded down."""
    written = repr(float(number))
    return written.removesuffix(".0") if Fraction(written) == number else format_rounded_down(number)


def accounting_options(query: Query[Any, UserUnit], total: tuple[Fraction, Fraction]) -> Iterator[AccountingOption]:
    """Yield the accounting options for the releases of ``query`` with a ledger whose budget is ``total``."""
    asked, (epsilon, delta) = query.budget, total
    whole = "--epsilon", format_stated_number(epsilon), "--delta", format_stated_number(delta)
    if isinstance(asked.measure, Approximate):  # the releases get all of delta, or half of it if rhos are added
        own = Fraction(format_rounded_down(delta / 2))
        for name, share in ((PURE, (epsilon, delta)), (RHOS, (largest_rho(epsilon, delta - own), own))):
            yield _summed_option(query, name, share, (*whole, "--own-delta", format_stated_number(share[1])))
        return
    yield _summed_option(query, PURE, (epsilon,), whole[:2])
    if isinstance(asked.measure, ZeroConcentratedDivergence):
        rho = to_fraction(asked.d_out)
        yield _summed_option(query, RHOS, (rho,), ("--rho", format_stated_number(rho)))
    else:
        yield _summed_option(query, RHOS, (largest_rho(epsilon, delta),), whole)
    yield from _composed_option(query, total, (*whole, "--own-delta", format_stated_number(delta)))


def _summed_option(
    query: Query[Any, UserUnit], name: str, total: tuple[Fraction, ...], ledger: tuple[str, ...] = ()
) -> AccountingOption:
    """Return the option that adds epsilons or rhos, and the releases' own deltas if they have any.

    Each release has an equal share of ``total``, in six digits, rounded down.
    """
    measure: Any = MaxDivergence() if name == PURE else ZeroConcentratedDivergence()
    said = f"{measure.symbol} {format_rounded_down(total[0])}"
    if len(total) > 1:
        measure, said = Approximate(measure), f"{said}, delta {float(total[1]):g}"
    parts = tuple(Fraction(format_rounded_down(part / query.releases)) for part in total)
    one = replace(query, budget=Budget(measure, parts if len(parts) > 1 else parts[0]), releases=1)
    return AccountingOption(name, said, most_accurate_plan(one), ledger)


def _composed_option(
    query: Query[Any, UserUnit], total: tuple[Fraction, Fraction], ledger: tuple[str, ...] = ()
) -> Iterator[AccountingOption]:
    """Yield the option that composes privacy curves, if the task has them; a selection followed by counts has none."""
    task, (epsilon, delta) = query.task, total
    if not task.counted or any(row.few for row in (task.mechanism, *task.alternatives)):
        together = most_accurate_plan(replace(query, budget=Budget(PrivacyProfile(), total)))
        said = f"epsilon {format_rounded_down(epsilon)}, delta {float(delta):g}"
        yield AccountingOption(CURVES, said, together, ledger)


@dataclass(frozen=True)
class RemainingBudget:
    """Remaining budget of a ledger for each accounting option, rounded down; 0 if the ledger does not account that way.

    ``delta`` remains for releases with a delta of their own. ``pairs`` is whether every release must have one, and
    ``composes`` whether the ledger can pay for a privacy curve. ``user`` is the user ID column, and ``entries`` the
    number of entries.
    """

    epsilon: Fraction
    rho: Fraction
    delta: Fraction
    pairs: bool
    composes: bool
    user: str | None
    entries: int

    @classmethod
    def from_ledger(cls, account: Ledger) -> RemainingBudget:
        """Return the remaining budget of ``account`` now."""
        measure, rest = account.measure, account.remaining()
        parts = rest if isinstance(rest, tuple) else (rest, 0.0)
        main, delta = (parse_exact(part, "the ledger") for part in parts)
        seen = account.user, account.count()
        if measure == PrivacyProfile():
            pure = [one for one in account.filters() if one.adds == "epsilon"]
            rests = [remaining_rounded_down(one.limit, min(one.limit, one.spent)) for one in pure]
            epsilon = sum(parse_exact(rest, "the ledger") for rest in rests)
            return cls(Fraction(epsilon), main, delta, False, bool(pure), *seen)
        adds = without_delta(measure) == MaxDivergence()
        epsilon, rho = (main, Fraction(0)) if adds else (Fraction(0), main)
        return cls(epsilon, rho, delta, isinstance(measure, Approximate), False, *seen)


def remaining_options(query: Query[Any, UserUnit], left: RemainingBudget) -> Iterator[AccountingOption]:
    """Yield the accounting options for the releases of ``query`` within the remaining budget of a ledger."""
    listed = not isinstance(query.budget.measure, Approximate)
    own = () if listed else (left.delta,)
    for name, main in ((PURE, left.epsilon), (RHOS, left.rho)):
        if main:
            yield _summed_option(query, name, (main, *own))
    if listed and left.composes and left.epsilon and left.delta:
        total = Fraction(format_rounded_down(left.epsilon)), Fraction(format_rounded_down(left.delta))
        yield from _composed_option(query, total)


@dataclass(frozen=True)
class ReleaseSchedule:
    """Schedule of equal releases that answer a ``question``, fixed in advance and stored in a file.

    The budget of the question is that of all releases together.
    """

    question: Any
    releases: int
    scale: float

    @classmethod
    def from_plan(cls, question: Any, plan: Plan[Any, UserUnit]) -> ReleaseSchedule:
        """Return the schedule of a plan under ``PrivacyProfile()`` for the question."""
        epsilon, delta = plan.query.budget.d_out
        whole = replace(question.budget, epsilon=epsilon, rho=None, delta=delta)
        return cls(replace(question.fixed(plan), budget=whole), plan.query.releases, plan.scale)

    @property
    def release_labels(self) -> list[str]:
        return [f"release {place} of {self.releases}" for place in range(1, self.releases + 1)]

    def with_options(self, given: Mapping[str, Any]) -> ReleaseSchedule:
        """Return the schedule with these options of its question, such as the column of users or the candidates.

        Raises:
            ParameterError: The question has no such option, or the list has another number of candidates.
        """
        asked = question_from_dict({**self.question.to_dict(), **given})
        if asked.n_candidates != self.question.n_candidates:
            raise ParameterError(f"the plan is for {self.question.n_candidates} candidates: give the list of the plan")
        return replace(self, question=asked)

    def single_release_plan(self) -> Plan[Any, UserUnit]:
        """Return the plan of one release.

        Its budget is the epsilon of one release at the delta of all, in six digits, rounded up.
        """
        task: Any = self.question.task()
        unit, delta = self.question.privacy_unit, self.question.task_budget.delta
        measurement = task.build_measurement(unit, PrivacyProfile(), self.scale)
        one = Fraction(format_rounded_up(measurement.map(unit.d_in).epsilon(delta)))
        query = Query(task, unit, Budget(PrivacyProfile(), (one, delta)), alpha=self.question.exact_alpha)
        return Plan(query, measurement)

    def as_dict(self) -> dict[str, Any]:
        return {"format": FORMAT, "releases": self.releases, "scale": self.scale, "question": self.question.to_dict()}

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> ReleaseSchedule:
        """Return the schedule that :meth:`as_dict` wrote, as read from JSON.

        Raises:
            ParameterError: ``found`` is not a schedule, or has another format.
        """
        written = found.get("format")
        if isinstance(written, str) and written.startswith(FORMAT[:-1]) and written != FORMAT:
            raise option_error(
                f"the file of --plan has the format {quote_path(written)}, but this library reads only "
                f"{FORMAT}: make a new plan, or use the version of opendp_topk that wrote it"
            )
        with suppress(KeyError, TypeError, ValueError, AttributeError, ArithmeticError, TopKError):
            releases = checks.require_positive_int("releases", found["releases"])
            made = cls(question_from_dict(found["question"]), releases, float(found["scale"]))
            if 0 < made.scale < math.inf and made.as_dict() == dict(found) and made.single_release_plan():
                return made
        raise option_error(
            "the file of --plan must be a plan written by `opendp-topk plan QUESTION --releases N --out FILE`"
        )


def require_neighbors(account: Ledger, neighbors: str) -> None:
    """Raise unless the ledger's neighbouring relation is ``neighbors``."""
    if account.metric != repr(UserDistance(neighbors)):
        raise option_error(f"--neighbors must match the metric of the ledger, {account.metric}")


@dataclass(frozen=True, kw_only=True)
class RepeatOptions(OptionGroup):
    """Several releases that share a budget.

    Budget:
        releases (N, excludes group or other): Number of equal releases that share the target. Such as 52 weekly ones.
            Shows the cost of each under every accounting option, and the commands that create a ledger and release from
            it. An optional --delta is 1e-6 by default.
        ledger (LEDGER, excludes epsilon or rho or delta or group or other): Plan within what is left of this ledger.
            Instead of --epsilon, --rho and --delta. The number of releases is --releases; default: 1.

    Output:
        out (FILE, needs releases or ledger): With --releases or --ledger: write the plan. The plan that composes
            privacy curves, to a new file for `ledger reserve --plan FILE`.
    """

    releases: int | None = None
    ledger: str | None = None
    out: str | None = None


@dataclass(frozen=True)
class Repeated:
    """Several equal releases that answer a ``question``, fixed in advance, within its budget or a ledger's rest."""

    question: Any
    releases: int
    left: RemainingBudget | None = None

    def __post_init__(self) -> None:
        checks.require_instance("question", self.question, OptionGroup, "a question, such as TopK")
        checks.require_positive_int(named("--releases"), self.releases)
        require_compatible(given_options(self.question) | {"releases": self.releases}, options_of(RepeatOptions))

    @classmethod
    def within_ledger(cls, question: Any, account: Ledger, releases: int = 1) -> Repeated:
        """Return releases within the remaining budget of a ledger, which replaces the budget of the question.

        Raises:
            ParameterError: The question has a budget, the ledger has another privacy unit, or its remaining budget does
                not admit such releases.
        """
        asked, budget, unit = cls(question, releases), question.budget, question.privacy_unit
        listed = not question.own_delta
        require_compatible(given_options(question) | {"ledger": account}, options_of(RepeatOptions))
        require_neighbors(account, unit.neighbors)
        if account.d_in != unit.d_in:
            raise option_error(f"the ledger protects {ledger_protection_text(account)}: give --users {account.d_in}")
        left = RemainingBudget.from_ledger(account)
        if not (left.epsilon or left.rho):
            raise option_error("--ledger has no budget left: plan within another one, or give --epsilon or --rho")
        if not (listed or left.delta):
            raise option_error(
                "--ledger has no delta left for releases without --candidates, which --own-delta of `ledger "
                "create` reserves: give --candidates, or plan within another ledger"
            )
        if listed and left.pairs:
            raise option_error("--ledger only pays for releases without a list of candidates: plan another question")
        main = {"epsilon": float(left.epsilon)} if left.epsilon else {"rho": float(left.rho)}
        whole = replace(budget, **main, delta=None if listed else float(left.delta))
        return replace(asked, question=replace(question, budget=whole), left=left)

    def query(self) -> Query[Any, UserUnit]:
        """Return the query of all releases."""
        return replace(self.question.query(), releases=self.releases)

    @property
    def total(self) -> tuple[Fraction, Fraction]:
        """Total (epsilon, delta) of a new ledger; a rho is converted at delta, rounded down."""
        budget = self.question.budget
        if self.question.own_delta and budget.epsilon is None:
            raise option_error("--releases of a question with --delta of its own requires --epsilon: omit --rho")
        whole = self.query().budget
        delta = DELTA if budget.delta is None else parse_exact(budget.delta, named("--delta"))
        if isinstance(whole.measure, ZeroConcentratedDivergence):
            epsilon = to_fraction(PrivacyCurve(ZCDPBound(whole.d_out)).epsilon(delta))
            return Fraction(format_rounded_down(epsilon)), delta
        return to_fraction(whole.main_distance), delta

    def options(self) -> list[AccountingOption]:
        """Return the accounting options, within the remaining budget of the ledger or else within the target.

        Raises:
            SearchError: No scale meets the budget of one release.
        """
        query = self.query()
        found = accounting_options(query, self.total) if self.left is None else remaining_options(query, self.left)
        rows = query.unit.columns.is_row_level  # schedules do not support rows per person
        return [way for way in found if not (rows and way.name == CURVES)]

    def schedule(self, options: list[AccountingOption]) -> ReleaseSchedule | None:
        """Return the schedule with composed privacy curves; None if the options have none."""
        return next((ReleaseSchedule.from_plan(self.question, way.plan) for way in options if way.name == CURVES), None)
