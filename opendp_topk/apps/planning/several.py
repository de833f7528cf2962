"""Budgets for several questions, and what a plan could do instead."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

from ...errors import ParameterError, ParameterTypeError, SearchError, TopKError, checks
from ...errors.files import quoted
from ...numerics.arithmetic import exact
from ...spaces.curves.closed_forms import Concentrated
from ...spaces.curves.curve import PrivacyCurve
from ...spaces.measures import Approximate, MaxDivergence, PrivacyProfile, ZeroConcentratedDivergence, without_delta
from ...transformations.keep_items import RULES
from ..ledger import Ledger
from ..ledger.amounts import most_rho, rest_below, stated
from .catalogue import HISTOGRAMS, table
from .comparison import six_up
from .plan import Plan, Query, planned
from .quantile import Numbers, Quantile
from .top_k import Counts, TopK
from .units import Budget, Columns, Users, signed

# Of the mechanisms that a task leaves open, the one whose theorems promise the nearest release.

_FEW = [row.name for row in HISTOGRAMS]


def nearest(query: Query[Any, Any]) -> Plan[Any, Any]:
    """The plan by the mechanism of the task or by one of its alternatives, whichever comes nearer, and why.

    Nothing in it depends on a table.

    Raises:
        SearchError, ParameterTypeError: As :func:`planned` for the mechanism of the task, where no other helps.
    """
    ways = getattr(query.task, "ways", ())
    if len(ways) < 2:
        found = planned(query)
        return replace(found, why=query.task.because(found))
    known: dict[Any, float] = {}
    tried: list[Plan[TopK, Any]] = []
    failure: Exception | None = None
    for task in ways:
        try:
            tried.append(planned(replace(query, task=task), known))
        except (SearchError, ParameterTypeError) as error:  # what takes another measure, or has no least scale
            failure = failure or error
    if not tried:
        assert failure is not None
        raise failure
    best = min(tried, key=lambda plan: plan.query.task.near(plan))  # the first of equal ones
    return replace(best, why=_why(best, tried))


def _why(best: Plan[TopK, Any], found: list[Plan[TopK, Any]]) -> str:
    """The reason in a sentence; none where nothing else was possible."""
    columns, few = best.query.unit.columns, best.name in _FEW
    others = [plan for plan in found if (plan.name in _FEW) != few]
    if not others:
        return ""
    other = min(others, key=lambda plan: plan.query.task.near(plan))
    near, far = (columns.amount(plan.query.task.near(plan)) for plan in (best, other))
    items = "1 item" if columns.max_items == 1 else f"{columns.max_items} items"
    because = (
        f"of each user at most {items} count, so noise on all {columns.noun}s costs less than a choice"
        if few
        else f"up to {items} of a user count, which is too many for noise on all {columns.noun}s"
    )
    return f"{because}: by the rows that count, all that is released is within {near}; {other.name} would promise {far}"


def open_to(task: TopK, *, few: bool) -> TopK:
    """The task with noise on all counts as alternatives, where a bound on the items of one person allows it."""
    return replace(task, alternatives=HISTOGRAMS) if few else task


# Several equal releases within one budget (epsilon, delta), in the ways in which a ledger can pay for them.

DELTA = Fraction(1, 10**6)  # where none is given: one in common use, and it is shown
PURE, RHOS, CURVES = "pure", "zCDP", "(epsilon, delta)"
_KIND = "opendp_topk plan v"
FORMAT = f"{_KIND}1"  # the only one that is read and written
_SIX_DOWN = Context(prec=6, rounding=ROUND_FLOOR)  # as many digits as a table has room for


@dataclass(frozen=True)
class Way:
    """What all releases may cost in words, the plan of one, and the options of a new ledger that pays for all."""

    name: str
    total: str
    plan: Plan[Any, Users]
    ledger: tuple[str, ...]


def down(number: Fraction) -> str:
    """Six digits, rounded down: so much may be spent each time, as it is written."""
    return f"{float(_SIX_DOWN.divide(Decimal(number.numerator), Decimal(number.denominator))):.6g}"


def text(number: Fraction) -> str:
    """A number as people write it: the decimal that it was stated as."""
    written = repr(float(number))
    return written.removesuffix(".0") if Fraction(written) == number else down(number)


def whole(budget: Budget, delta: Fraction) -> tuple[Fraction, Fraction]:
    """The pair (epsilon, delta) that all releases may reach together; that of a rho is what it implies."""
    if isinstance(budget.measure, ZeroConcentratedDivergence):
        return Fraction(down(exact(PrivacyCurve(Concentrated(budget.d_out)).epsilon(delta)))), delta
    return exact(budget.main), delta


def ways(query: Query[Any, Users], total: tuple[Fraction, Fraction]) -> Iterator[Way]:
    """What each release of ``query`` may cost so that a ledger with the budget ``total`` pays for all, way by way.

    Raises:
        SearchError: No noise meets so small a cost.
    """
    listed = not isinstance(query.budget.measure, Approximate)
    yield from _listed(query, total) if listed else _unlisted(query, total)


def _listed(query: Query[Any, Users], total: tuple[Fraction, Fraction]) -> Iterator[Way]:
    epsilon, delta = total
    pure, pair = ("--epsilon", text(epsilon)), ("--epsilon", text(epsilon), "--delta", text(delta))
    asked = query.budget
    stated_rho = exact(asked.d_out) if isinstance(asked.measure, ZeroConcentratedDivergence) else None
    rho = most_rho(epsilon, delta) if stated_rho is None else stated_rho
    yield Way(PURE, f"epsilon {down(epsilon)}", _each(query, MaxDivergence(), epsilon), pure)
    of_rho = pair if stated_rho is None else ("--rho", text(rho))
    yield Way(RHOS, f"rho {down(rho)}", _each(query, ZeroConcentratedDivergence(), rho), of_rho)
    if _composes(query.task):
        together = nearest(replace(query, budget=Budget(PrivacyProfile(), total)))
        said = f"epsilon {down(epsilon)}, delta {float(delta):g}"
        yield Way(CURVES, said, together, (*pair, "--own-delta", text(delta)))


def _unlisted(query: Query[Any, Users], total: tuple[Fraction, Fraction]) -> Iterator[Way]:
    """Deltas of the releases themselves add up, too: all of delta where epsilons do, or half beside rhos."""
    epsilon, delta = total
    pair = "--epsilon", text(epsilon), "--delta", text(delta), "--own-delta"
    said = f"epsilon {down(epsilon)}, delta {float(delta):g}"
    yield Way(PURE, said, _each(query, Approximate(MaxDivergence()), epsilon, delta), (*pair, text(delta)))
    own = Fraction(down(delta / 2))
    rho = most_rho(epsilon, delta - own)
    half = f"rho {down(rho)}, delta {float(own):g}"
    yield Way(RHOS, half, _each(query, Approximate(ZeroConcentratedDivergence()), rho, own), (*pair, text(own)))


@dataclass(frozen=True)
class Left:
    """What is left of a ledger for each way, rounded down: 0 where it does not count so.

    ``delta`` is what is left for releases that have their own. ``pairs`` says whether each must have one, ``composes``
    whether a privacy curve is paid from it. ``user`` is the column that tells people apart, and ``entries`` says how
    many there are.
    """

    epsilon: Fraction
    rho: Fraction
    delta: Fraction
    pairs: bool
    composes: bool
    user: str | None
    entries: int

    @classmethod
    def of(cls, account: Ledger) -> Left:
        """What is left of ``account`` now."""
        measure, rest = account.measure, account.remaining()
        parts = rest if isinstance(rest, tuple) else (rest, 0.0)
        main, delta = (stated(part, "the ledger") for part in parts)
        seen = account.user, account.count()
        if measure == PrivacyProfile():
            pure = [one for one in account.filters() if one.adds == "epsilon"]
            epsilon = sum(stated(rest_below(one.limit, min(one.limit, one.spent)), "the ledger") for one in pure)
            return cls(Fraction(epsilon), main, delta, False, bool(pure), *seen)
        adds = without_delta(measure) == MaxDivergence()
        epsilon, rho = (main, Fraction(0)) if adds else (Fraction(0), main)
        return cls(epsilon, rho, delta, isinstance(measure, Approximate), False, *seen)


def ways_left(query: Query[Any, Users], left: Left) -> Iterator[Way]:
    """What each release of ``query`` may cost so that what is left of a ledger pays for all, way by way.

    Raises:
        SearchError: No noise meets so small a cost.
    """
    listed = not isinstance(query.budget.measure, Approximate)
    own, also = ((), "") if listed else ((left.delta,), f", delta {float(left.delta):g}")
    for name, symbol, measure, main in (
        (PURE, "epsilon", MaxDivergence(), left.epsilon),
        (RHOS, "rho", ZeroConcentratedDivergence(), left.rho),
    ):
        if main:
            plan = _each(query, measure if listed else Approximate(measure), main, *own)
            yield Way(name, f"{symbol} {down(main)}{also}", plan, ())
    if listed and left.composes and left.epsilon and left.delta and _composes(query.task):
        total = Fraction(down(left.epsilon)), Fraction(down(left.delta))
        plan = nearest(replace(query, budget=Budget(PrivacyProfile(), total)))
        yield Way(CURVES, f"epsilon {down(total[0])}, delta {float(total[1]):g}", plan, ())


def _composes(task: TopK) -> bool:
    """Whether the curves of its releases can be composed: not where a selection comes before counts."""
    return not task.counted or any(row.few for row in (task.mechanism, *task.alternatives))


def _each(query: Query[Any, Users], measure: Any, *total: Fraction) -> Plan[Any, Users]:
    """The plan of one of the releases, at a cost that is written in six digits."""
    parts = tuple(Fraction(down(part / query.releases)) for part in total)
    return nearest(replace(query, budget=Budget(measure, parts if len(parts) > 1 else parts[0]), releases=1))


@dataclass(frozen=True)
class Scheduled:
    """Equal releases of listed candidates that are fixed in advance, as a file keeps them."""

    task: TopK
    unit: Users
    releases: int
    scale: float
    epsilon: Fraction
    delta: Fraction

    @classmethod
    def of(cls, plan: Plan[TopK, Users]) -> Scheduled:
        """What is kept of a plan under ``PrivacyProfile()``."""
        query = plan.query
        return cls(query.task, query.unit, query.releases, plan.scale, *query.budget.d_out)

    @property
    def labels(self) -> list[str]:
        """A name for each release."""
        return [f"release {place} of {self.releases}" for place in range(1, self.releases + 1)]

    def plan(self, unit: Users | None = None, alpha: Any = Fraction(1, 20)) -> Plan[TopK, Users]:
        """The plan of one of the releases; ``unit`` says which columns count.

        Its budget has the epsilon of one release at the delta of all, in six digits.
        """
        whom = unit or self.unit
        measurement = self.task.built(whom.nameless(self.task.n_candidates), PrivacyProfile(), self.scale)
        one = Fraction(six_up(measurement.map(whom.d_in).epsilon(self.delta)))
        query = Query(self.task, whom, Budget(PrivacyProfile(), (one, self.delta)), alpha=alpha)
        return Plan(query, measurement)

    def as_dict(self) -> dict[str, Any]:
        """For a file."""
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
            **({} if columns.value is None else _grid(columns)),
        }

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Scheduled:
        """What :meth:`as_dict` made, and JSON kept.

        Raises:
            ParameterError: It is none, or has another format.
        """
        written = found.get("format")
        if isinstance(written, str) and written.startswith(_KIND) and written != FORMAT:
            raise ParameterError(
                f"the file of --plan has the format {quoted(written)}, and this library reads {FORMAT} only: "
                "plan anew, or use the version of opendp_topk that wrote it"
            )
        try:
            if written != FORMAT:
                raise KeyError
            columns = Columns(**_read(found)) if "column" in found and "quantile" not in found else Columns()
            if "max_items" in found:
                most, keep = checks.count("max_items", found["max_items"]), checks.choice("keep", found["keep"], RULES)
                columns = replace(columns, max_items=most, keep=keep)
            if "quantile" in found:
                columns = _numbers(found)
                task: TopK = replace(Quantile.of(columns), release=found["release"])
            else:
                row = {one.name: one for one in table()}[found["mechanism"]]
                kind = Counts if found.get("counts") else TopK
                task = kind(found["k"], found["candidates"], found["release"], row)
            unit = Users(found["neighbors"], checks.count("d_in", found["d_in"]), columns)
            scale, releases = float(found["scale"]), checks.count("releases", found["releases"])
            made = cls(task, unit, releases, scale, *(stated(found[name], name) for name in ("epsilon", "delta")))
            if not 0 < scale < math.inf or made.as_dict() != dict(found):
                raise ValueError
            return made
        except (KeyError, TypeError, ValueError, TopKError):
            pass
        raise ParameterError("the file of --plan is no plan that `opendp-topk plan --releases N --out FILE` wrote")


def _grid(columns: Columns) -> dict[str, Any]:
    """What a file keeps of a question about a column of numbers: their sums, or their quantiles."""
    asked: dict[str, Any] = {}
    if isinstance(columns, Numbers):
        asked = {"quantile": ",".join(map(str, columns.quantiles)), "max_rows": columns.max_rows}
    return {
        "column": columns.value,
        "bounds": [str(bound) for bound in columns.bounds],
        "step": str(columns.step),
        **asked,
    }


def _numbers(found: Mapping[str, Any]) -> Numbers:
    """What :func:`_grid` made of quantiles."""
    shares = tuple(stated(one, "quantile") for one in found["quantile"].split(","))
    return Numbers(**_read(found), quantiles=shares, max_rows=found["max_rows"])


def _read(found: Mapping[str, Any]) -> dict[str, Any]:
    """The column of numbers and its grid, of which :func:`_grid` made this."""
    lower, upper = (signed(bound, "bounds") for bound in found["bounds"])
    return {"value": found["column"], "bounds": (lower, upper), "step": stated(found["step"], "step")}
