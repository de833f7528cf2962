"""What each of several equal releases may cost within one budget, in several ways, and the commands that pay."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any

import typer

from ...errors import ParameterError, SearchError
from ...markup.foreign import json_text
from ...numerics.arithmetic import exact
from ...spaces.measures import Approximate
from ..ledger import Ledger
from ..ledger.amounts import stated
from ..ledger.officer import protects
from ..planning.by_gap import SetByGap
from ..planning.comparison import six_up
from ..planning.keys import Keys
from ..planning.plan import Plan, Query
from ..planning.promises import largest, sure
from ..planning.quantile import Quantile, Quantiles
from ..planning.several import CURVES, DELTA, PURE, RHOS, Left, Scheduled, Way, text, ways, ways_left, whole
from ..planning.units import Users
from . import show
from .asking import Options, named, require_noise, too_small
from .ledger_files import new_file
from .payment import require_neighbors

_NOT_ASKED = "epsilon", "rho", "delta", "alpha", "user", "item", "at_most", "shared"
_PLAN, _BOOK = "plan.json", "budget.ledger"
_WHY = {
    PURE: "epsilons add up",
    RHOS: "rhos add up; their sum is converted to (epsilon, delta) once",
    CURVES: "the privacy curves of all releases are composed, and paid for at once",
}


@dataclass(frozen=True)
class Opened:
    """A ledger by its address, and what is left of it."""

    address: str
    left: Left

    @classmethod
    def at(cls, address: str, options: Options, *, listed: bool) -> tuple[Opened, Options]:
        """It, and the options with a target that it pays; what each release may have of it is searched for later.

        Raises:
            ParameterError: A target is given, too; the ledger has another unit; or nothing is left for such releases.
        """
        if (options.epsilon, options.rho, options.delta) != (None, None, None):
            raise ParameterError("--ledger plans within what is left there: leave --epsilon, --rho and --delta out")
        with Ledger(address) as account:
            require_neighbors(account, options.unit.neighbors)
            if account.d_in != options.unit.d_in:
                raise ParameterError(f"the ledger protects {protects(account)}: give --users {account.d_in}")
            left = Left.of(account)
        if not (left.epsilon or left.rho):
            raise ParameterError("nothing is left in the ledger: plan within another one, or give --epsilon or --rho")
        if not (listed or left.delta):
            raise ParameterError(
                "nothing is left in the ledger of a delta for releases without --candidates, which `ledger create` "
                "gives by --own-delta: give --candidates, or plan within another ledger"
            )
        if listed and left.pairs:
            raise ParameterError(
                "the ledger pays for releases without --candidates alone: leave --candidates, or --quantile, out"
            )
        main = {"epsilon": float(left.epsilon)} if left.epsilon else {"rho": float(left.rho)}
        delta = None if listed else float(left.delta)
        return cls(address, left), replace(options, **main, delta=delta)  # type: ignore[arg-type]


def show_several(
    query: Query[Any, Users], options: Options, candidates: str | None, out: str | None, paid: Opened | None = None
) -> None:
    """Print what each of its releases may cost, way by way, and the commands; write the last way's plan to ``out``.

    They share what is left of the ledger ``paid``, or else the target.
    """
    if options.others is not None:
        raise ParameterError("--releases plans releases of items: leave --other out")
    require_noise(query)
    with show.working("planning"):
        if paid is not None:
            found, within = _left(query, paid.left), f"what is left of {paid.address}"
        else:
            found, within = _within(query, options)
    if options.rows_per_person is not None:
        found = [way for way in found if way.name != CURVES]  # no ledger pays for these by a bound that is stated
    scheduled = [Scheduled.of(way.plan) for way in found if way.name == CURVES]
    if out is not None and not scheduled:
        raise ParameterError(
            "--out keeps a plan of composed curves: --counts, --minimum-users, --by-gap and releases without a list "
            "have none, nor has a --ledger of which no delta is left for it; --counts with --max-items have one"
        )
    if out is not None:
        new_file(out, "--out", json_text(scheduled[0].as_dict()) + "\n")
    task = query.task
    release = "" if task.k is None or isinstance(task, Quantile) else f" ({task.release})"
    what = task.question(query.unit.columns).removesuffix("?")
    show.say(f"{_times(query.releases)}: {what}{release}, fixed in advance, together within {within}", "")
    show.table(
        ["way", "budget of all", "each may cost", "scale", "within"],
        ([way.name, way.total, _each(way), _scale(way.plan), _near(way.plan)] for way in found),
        right=range(3, 5),
    )
    show.say("")
    show.rows(_legend(query, found))
    _commands(found, options, query, candidates, out, paid)


def _left(query: Query[Any, Users], left: Left) -> list[Way]:
    """The ways in which a ledger pays."""
    try:
        return list(ways_left(query, left))
    except SearchError:
        pass
    raise ParameterError("no noise meets a share so small of what is left of the ledger: lower --releases")


def _within(query: Query[Any, Users], options: Options) -> tuple[list[Way], str]:
    """The ways in which a new ledger with the target as its budget pays, and the budget in words."""
    if isinstance(query.budget.measure, Approximate) and options.epsilon is None:
        raise ParameterError(
            "--releases without --candidates, or with --minimum-users, plans within --epsilon and --delta: leave "
            "--rho out"
        )
    total = whole(query.budget, DELTA if options.delta is None else stated(options.delta, "--delta"))
    try:
        return list(ways(query, total)), f"epsilon = {six_up(float(total[0]))} at delta = {float(total[1]):g}"
    except SearchError:
        pass
    raise too_small(query)


def _commands(
    found: Iterable[Way],
    options: Options,
    query: Query[Any, Users],
    candidates: str | None,
    out: str | None,
    paid: Opened | None,
) -> None:
    """Print what makes a ledger, and the releases that it pays for, way by way."""
    listed = [] if candidates is None else ["--candidates", candidates]
    list_of = ["--candidates", "FILE"] if candidates is not None and candidates.isdecimal() else listed
    book, user, entry = _BOOK, options.user.upper(), 1
    if paid is not None:
        book, user, entry = paid.address, paid.left.user or user, paid.left.entries + 1
    rows = options.rows_per_person is not None
    table = ["opendp-topk", "release", "TABLE", *([] if rows else ["--user", user])]
    table += ["--item", options.item.upper()] if options.quantile is None else []
    asked = _options(options)
    unit = [one for name in ("--users", "--neighbors") if name in asked for one in (name, str(asked[name]))]
    unit += ["--user", user] if rows else []
    for way in found:
        typer.echo(f"\n# {way.name}: {_WHY[way.name]}")
        if paid is None:
            _line("opendp-topk", "ledger", "create", book, "--dataset", "NAME", *way.ledger, *unit)
        if way.name == CURVES:
            plan = _PLAN if out is None else out
            if out is None:
                within = _target(options) if paid is None else ["--ledger", book]
                words = [*listed, *_flat(asked), *within]
                _line("opendp-topk", "plan", *words, "--releases", str(query.releases), "--out", plan)
            _line("opendp-topk", "ledger", "reserve", book, "--plan", plan)
            each = ["--plan", plan, "--planned", str(entry)]
        else:
            each = [*_flat(asked), *_cost(way.plan)]
        _line(*table, *list_of, *each, "--ledger", book, after=f"  # {_times(query.releases)}")


def _times(releases: int) -> str:
    return "1 time" if releases == 1 else f"{releases} times"


def _options(options: Options) -> dict[str, str | None]:
    """What was asked besides the target, by the names of options; None for those that take no value."""
    found: dict[str, str | None] = {}
    for one in fields(Options):
        value = getattr(options, one.name)
        if value == one.default or one.name in _NOT_ASKED:
            continue
        found[named(one.name)] = None if value is True else str(value)
    return found


def _flat(asked: dict[str, str | None]) -> list[str]:
    return [word for name, value in asked.items() for word in (name, value) if word is not None]


def _target(options: Options) -> list[str]:
    given = {"--epsilon": options.epsilon, "--rho": options.rho, "--delta": options.delta}
    found = {name: repr(value).removesuffix(".0") for name, value in given.items() if value is not None}
    return [word for pair in found.items() for word in pair]


def _cost(plan: Plan[Any, Users]) -> list[str]:
    budget = plan.query.budget
    delta = [] if budget.delta is None else ["--delta", text(exact(budget.delta))]
    return [f"--{budget.symbol}", text(exact(budget.main)), *delta]


def _line(*words: str, after: str = "") -> None:
    typer.echo(shlex.join(words) + after)  # one line, however narrow the terminal is: it is to be copied


def _each(way: Way) -> str:
    plan, budget = way.plan, way.plan.query.budget
    if way.name == CURVES:
        epsilon = plan.measurement.map(plan.query.unit.d_in).epsilon(budget.delta)
        return f"epsilon {six_up(epsilon)} at delta {float(budget.delta):g}"
    delta = "" if budget.delta is None else f", delta {text(exact(budget.delta))}"
    return f"{budget.symbol} {text(exact(budget.main))}{delta}"


def _scale(plan: Plan[Any, Users]) -> str:
    known = plan.measurement.parameters
    return six_up(plan.scale) if "scale" in known else "-"


def _near(plan: Plan[Any, Users]) -> str:
    users = _users(plan)
    return "-" if users is None or users == math.inf else str(users)


def _users(plan: Plan[Any, Users]) -> float | None:
    near = plan.accuracy
    return near if near is None or math.isinf(near) else math.floor(near)


def _legend(query: Query[Any, Users], found: list[Way]) -> list[tuple[str, str]]:
    task = query.task
    best = min(found, key=lambda way: math.inf if (near := _users(way.plan)) is None else near)
    reach = f"the t-th released item to the t-th largest {query.unit.columns.noun}, for every t"
    alone = isinstance(task, Keys)
    if isinstance(task, Quantile):
        reach = "the rank of the number to the quantile, in rows that count"
        if isinstance(task, Quantiles):
            reach = f"{reach}, where no number has more than {task.places} of them"
    elif task.k is None:
        reach = f"a {query.unit.columns.noun} that surely gets in comes to 0"
    elif task.release == "set":
        reach = f"every released item to the {largest(task.k)} {query.unit.columns.noun}"
    likely = sure(query.alpha)
    if alone:
        within = "an item that so many users have, or more, comes out as likely as not each time"
        least = ("fewest users", f"{best.name}: {_near(best.plan)}")
    elif isinstance(task, SetByGap):
        within = f"with a gap of so many a set comes, with probability at least {likely} each time"
        least = ("least noise", f"{best.name}: scale {_scale(best.plan)}")
    else:
        within = f"so near comes {reach}, with probability at least {likely} each time"
        least = ("least noise", f"{best.name}: scale {_scale(best.plan)}")
    return [
        *((way.name, _WHY[way.name]) for way in found),
        ("scale", f"of the noise of each release; cost for {query.unit.whom}"),
        ("within", within),
        least,
    ]
