"""Accounting options for several releases, and the choice of the most accurate mechanism."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
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
from ...transformations.bound_contributions import RULES
from ..ledger import Ledger
from ..ledger.amounts import largest_rho, parse_exact, remaining_rounded_down
from .catalogue import HISTOGRAMS, all_mechanisms
from .comparison import format_rounded_up
from .plan import Plan, Query, plan_query
from .quantile import NumericColumns, Quantile
from .top_k import TopK, TopKWithCounts
from .units import Budget, Columns, UserUnit, parse_signed

# The most accurate mechanism of a task, by the error bounds of theorems.

_FEW = [row.name for row in HISTOGRAMS]


def most_accurate_plan(query: Query[Any, Any]) -> Plan[Any, Any]:
    """Return the plan with the least error bound among the task's mechanism and its alternatives, and the reason.

    Nothing in it depends on a table.

    Raises:
        SearchError, ParameterTypeError: As :func:`plan_query` for the first mechanism, if all of them fail.
    """
    ways = getattr(query.task, "mechanism_variants", ())
    if len(ways) < 2:
        found = plan_query(query)
        return replace(found, why=query.task.choice_reason(found))
    known: dict[Any, float] = {}
    tried: list[Plan[TopK, Any]] = []
    failure: Exception | None = None
    for task in ways:
        try:
            tried.append(plan_query(replace(query, task=task), known))
        except (SearchError, ParameterTypeError) as error:  # it does not accept the measure, or has no least scale
            failure = failure or error
    if not tried:
        assert failure is not None
        raise failure
    best = min(tried, key=lambda plan: plan.query.task.error_bound(plan))  # ties go to the first
    return replace(best, why=_choice_reason(best, tried))


def _choice_reason(best: Plan[TopK, Any], found: list[Plan[TopK, Any]]) -> str:
    """Return the reason in a sentence; empty if only one kind of mechanism was possible."""
    columns, few = best.query.unit.columns, best.name in _FEW
    others = [plan for plan in found if (plan.name in _FEW) != few]
    if not others:
        return ""
    other = min(others, key=lambda plan: plan.query.task.error_bound(plan))
    near, far = (columns.difference_text(plan.query.task.error_bound(plan)) for plan in (best, other))
    items = "1 item" if columns.max_items == 1 else f"{columns.max_items} items"
    because = (
        f"at most {items} of each user count, so noise on all {columns.score_noun}s costs less than a selection"
        if few
        else f"up to {items} of each user count, too many for noise on all {columns.score_noun}s"
    )
    return f"{because}: for the counted rows, the error bound is {near}; for {other.name} it is {far}"


def with_histogram_options(task: TopK, *, few: bool) -> TopK:
    """Return the task, with noise on all counts as alternatives if ``few``: a bound on the items of one person."""
    return replace(task, alternatives=HISTOGRAMS) if few else task


# Several equal releases within one (epsilon, delta) budget, under each accounting option of a ledger.

DELTA = Fraction(1, 10**6)  # the default, a common value, which is shown
PURE, RHOS, CURVES = "pure", "zCDP", "(epsilon, delta)"
_KIND = "opendp_topk plan v"
FORMAT = f"{_KIND}1"  # the only format that is read and written
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


def total_epsilon_delta(budget: Budget, delta: Fraction) -> tuple[Fraction, Fraction]:
    """Return the (epsilon, delta) budget of all releases together; a rho is converted at ``delta``, rounded down."""
    if isinstance(budget.measure, ZeroConcentratedDivergence):
        return Fraction(format_rounded_down(to_fraction(PrivacyCurve(ZCDPBound(budget.d_out)).epsilon(delta)))), delta
    return to_fraction(budget.main_distance), delta


def accounting_options(query: Query[Any, UserUnit], total: tuple[Fraction, Fraction]) -> Iterator[AccountingOption]:
    """Yield the accounting options for the releases of ``query`` with a ledger whose budget is ``total``.

    Raises:
        SearchError: No scale meets the budget of one release.
    """
    listed = not isinstance(query.budget.measure, Approximate)
    yield from _known_domain_options(query, total) if listed else _unknown_domain_options(query, total)


def _known_domain_options(query: Query[Any, UserUnit], total: tuple[Fraction, Fraction]) -> Iterator[AccountingOption]:
    epsilon, delta = total
    pure, pair = (
        ("--epsilon", format_stated_number(epsilon)),
        ("--epsilon", format_stated_number(epsilon), "--delta", format_stated_number(delta)),
    )
    asked = query.budget
    stated_rho = to_fraction(asked.d_out) if isinstance(asked.measure, ZeroConcentratedDivergence) else None
    rho = largest_rho(epsilon, delta) if stated_rho is None else stated_rho
    yield AccountingOption(
        PURE, f"epsilon {format_rounded_down(epsilon)}", _plan_one_release(query, MaxDivergence(), epsilon), pure
    )
    of_rho = pair if stated_rho is None else ("--rho", format_stated_number(rho))
    yield AccountingOption(
        RHOS, f"rho {format_rounded_down(rho)}", _plan_one_release(query, ZeroConcentratedDivergence(), rho), of_rho
    )
    if _has_composable_curves(query.task):
        together = most_accurate_plan(replace(query, budget=Budget(PrivacyProfile(), total)))
        said = f"epsilon {format_rounded_down(epsilon)}, delta {float(delta):g}"
        yield AccountingOption(CURVES, said, together, (*pair, "--own-delta", format_stated_number(delta)))


def _unknown_domain_options(
    query: Query[Any, UserUnit], total: tuple[Fraction, Fraction]
) -> Iterator[AccountingOption]:
    """Yield the options with an unknown domain, where the releases' own deltas add up as well.

    The releases get all of delta if epsilons are added, and half of it if rhos are.
    """
    epsilon, delta = total
    pair = "--epsilon", format_stated_number(epsilon), "--delta", format_stated_number(delta), "--own-delta"
    said = f"epsilon {format_rounded_down(epsilon)}, delta {float(delta):g}"
    yield AccountingOption(
        PURE,
        said,
        _plan_one_release(query, Approximate(MaxDivergence()), epsilon, delta),
        (*pair, format_stated_number(delta)),
    )
    own = Fraction(format_rounded_down(delta / 2))
    rho = largest_rho(epsilon, delta - own)
    half = f"rho {format_rounded_down(rho)}, delta {float(own):g}"
    yield AccountingOption(
        RHOS,
        half,
        _plan_one_release(query, Approximate(ZeroConcentratedDivergence()), rho, own),
        (*pair, format_stated_number(own)),
    )


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
            epsilon = sum(
                parse_exact(remaining_rounded_down(one.limit, min(one.limit, one.spent)), "the ledger") for one in pure
            )
            return cls(Fraction(epsilon), main, delta, False, bool(pure), *seen)
        adds = without_delta(measure) == MaxDivergence()
        epsilon, rho = (main, Fraction(0)) if adds else (Fraction(0), main)
        return cls(epsilon, rho, delta, isinstance(measure, Approximate), False, *seen)


def remaining_options(query: Query[Any, UserUnit], left: RemainingBudget) -> Iterator[AccountingOption]:
    """Yield the accounting options for the releases of ``query`` within the remaining budget of a ledger.

    Raises:
        SearchError: No scale meets the budget of one release.
    """
    listed = not isinstance(query.budget.measure, Approximate)
    own, also = ((), "") if listed else ((left.delta,), f", delta {float(left.delta):g}")
    for name, symbol, measure, main in (
        (PURE, "epsilon", MaxDivergence(), left.epsilon),
        (RHOS, "rho", ZeroConcentratedDivergence(), left.rho),
    ):
        if main:
            plan = _plan_one_release(query, measure if listed else Approximate(measure), main, *own)
            yield AccountingOption(name, f"{symbol} {format_rounded_down(main)}{also}", plan, ())
    if listed and left.composes and left.epsilon and left.delta and _has_composable_curves(query.task):
        total = Fraction(format_rounded_down(left.epsilon)), Fraction(format_rounded_down(left.delta))
        plan = most_accurate_plan(replace(query, budget=Budget(PrivacyProfile(), total)))
        yield AccountingOption(CURVES, f"epsilon {format_rounded_down(total[0])}, delta {float(total[1]):g}", plan, ())


def _has_composable_curves(task: TopK) -> bool:
    """Return True if releases of the task have privacy curves; a selection followed by counts has none."""
    return not task.counted or any(row.few for row in (task.mechanism, *task.alternatives))


def _plan_one_release(query: Query[Any, UserUnit], measure: Any, *total: Fraction) -> Plan[Any, UserUnit]:
    """Return the plan of one release, with an equal share of ``total`` in six digits, rounded down."""
    parts = tuple(Fraction(format_rounded_down(part / query.releases)) for part in total)
    return most_accurate_plan(replace(query, budget=Budget(measure, parts if len(parts) > 1 else parts[0]), releases=1))


@dataclass(frozen=True)
class ReleaseSchedule:
    """Schedule of equal releases of listed candidates, fixed in advance and stored in a file."""

    task: TopK
    unit: UserUnit
    releases: int
    scale: float
    epsilon: Fraction
    delta: Fraction

    @classmethod
    def from_plan(cls, plan: Plan[TopK, UserUnit]) -> ReleaseSchedule:
        """Return the schedule of a plan under ``PrivacyProfile()``."""
        query = plan.query
        return cls(query.task, query.unit, query.releases, plan.scale, *query.budget.d_out)

    @property
    def release_labels(self) -> list[str]:
        """Label of each release."""
        return [f"release {place} of {self.releases}" for place in range(1, self.releases + 1)]

    def single_release_plan(self, unit: UserUnit | None = None, alpha: Any = Fraction(1, 20)) -> Plan[TopK, UserUnit]:
        """Return the plan of one release; ``unit`` replaces the unit of the schedule.

        Its budget is the epsilon of one release at the delta of all, in six digits, rounded up.
        """
        whom = unit or self.unit
        measurement = self.task.build_measurement(
            whom.map_only_scores(self.task.n_candidates), PrivacyProfile(), self.scale
        )
        one = Fraction(format_rounded_up(measurement.map(whom.d_in).epsilon(self.delta)))
        query = Query(self.task, whom, Budget(PrivacyProfile(), (one, self.delta)), alpha=alpha)
        return Plan(query, measurement)

    def as_dict(self) -> dict[str, Any]:
        """Return the schedule as a dictionary for JSON."""
        task, columns = self.task, self.unit.columns
        return {
            "format": FORMAT,
            "releases": self.releases,
            "k": task.k,
            "candidates": task.n_candidates,
            "release": task.release,
            "mechanism": task.name,
            "scale": self.scale,
            "neighbors": self.unit.neighbors,
            "d_in": self.unit.d_in,
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            **({"counts": True} if task.counted else {}),
            **({} if columns.max_items is None else {"max_items": columns.max_items, "keep": columns.keep}),
            **({} if columns.value is None else _serialize_grid(columns)),
        }

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> ReleaseSchedule:
        """Return the schedule that :meth:`as_dict` wrote, as read from JSON.

        Raises:
            ParameterError: ``found`` is not a schedule, or has another format.
        """
        written = found.get("format")
        if isinstance(written, str) and written.startswith(_KIND) and written != FORMAT:
            raise ParameterError(
                f"the file of --plan has the format {quote_path(written)}, but this library reads only "
                f"{FORMAT}: make a new plan, or use the version of opendp_topk that wrote it"
            )
        try:
            if written != FORMAT:
                raise KeyError
            columns = Columns(**_parse_grid(found)) if "column" in found and "quantile" not in found else Columns()
            if "max_items" in found:
                most, keep = (
                    checks.require_positive_int("max_items", found["max_items"]),
                    checks.require_choice("keep", found["keep"], RULES),
                )
                columns = replace(columns, max_items=most, keep=keep)
            if "quantile" in found:
                columns = _parse_numeric_columns(found)
                task: TopK = replace(Quantile.from_columns(columns), release=found["release"])
            else:
                row = {one.name: one for one in all_mechanisms()}[found["mechanism"]]
                kind = TopKWithCounts if found.get("counts") else TopK
                task = kind(found["k"], found["candidates"], found["release"], row)
            unit = UserUnit(found["neighbors"], checks.require_positive_int("d_in", found["d_in"]), columns)
            scale, releases = float(found["scale"]), checks.require_positive_int("releases", found["releases"])
            made = cls(task, unit, releases, scale, *(parse_exact(found[name], name) for name in ("epsilon", "delta")))
            if not 0 < scale < math.inf or made.as_dict() != dict(found):
                raise ValueError
            return made
        except (KeyError, TypeError, ValueError, TopKError):
            pass
        raise ParameterError("the file of --plan must be a plan written by `opendp-topk plan --releases N --out FILE`")


def _serialize_grid(columns: Columns) -> dict[str, Any]:
    """Return the fields of a question about sums or quantiles of a numeric column, for a file."""
    asked: dict[str, Any] = {}
    if isinstance(columns, NumericColumns):
        asked = {"quantile": ",".join(map(str, columns.quantiles)), "max_rows": columns.max_rows}
    return {
        "column": columns.value,
        "bounds": [str(bound) for bound in columns.bounds],
        "step": str(columns.step),
        **asked,
    }


def _parse_numeric_columns(found: Mapping[str, Any]) -> NumericColumns:
    """Return the columns of quantiles that :func:`_serialize_grid` wrote."""
    shares = tuple(parse_exact(one, "quantile") for one in found["quantile"].split(","))
    return NumericColumns(**_parse_grid(found), quantiles=shares, max_rows=found["max_rows"])


def _parse_grid(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numeric column and its grid that :func:`_serialize_grid` wrote."""
    lower, upper = (parse_signed(bound, "bounds") for bound in found["bounds"])
    return {"value": found["column"], "bounds": (lower, upper), "step": parse_exact(found["step"], "step")}
