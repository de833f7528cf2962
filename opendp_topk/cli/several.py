"""What each of several equal releases may cost within one budget, in several ways, and the commands that pay."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

import typer

from ..errors import ParameterError, SearchError
from ..ledger.amounts import stated
from ..markup.foreign import json_text
from ..numerics.arithmetic import exact
from ..planning.comparison import six_up
from ..planning.plan import Plan, Query
from ..planning.promises import largest, sure
from ..planning.several import CURVES, DELTA, PURE, RHOS, Scheduled, Way, text, ways, whole
from ..planning.units import Users
from ..spaces.measures import Approximate
from . import show
from .asking import Options, require_noise, too_small
from .ledger_files import new_file

_NOT_ASKED = "epsilon", "rho", "delta", "alpha", "user", "item", "at_most", "shared"
_PLAN, _BOOK = "plan.json", "budget.ledger"
_WHY = {
    PURE: "epsilons add up",
    RHOS: "rhos add up; their sum is converted to (epsilon, delta) once",
    CURVES: "the privacy curves of all releases are composed, and paid for at once",
}


def show_several(query: Query[Any, Users], options: Options, candidates: str | None, out: str | None) -> None:
    """Print what each of its releases may cost, way by way, and the commands; write the last way's plan to ``out``."""
    if options.others is not None:
        raise ParameterError("--releases plans releases of items: leave --other out")
    require_noise(query)
    with show.working("planning"):
        unlisted = isinstance(query.budget.measure, Approximate)
        if unlisted and options.epsilon is None:
            raise ParameterError("--releases without --candidates plans within --epsilon and --delta: leave --rho out")
        total = whole(query.budget, DELTA if options.delta is None else stated(options.delta, "--delta"))
        try:
            found = list(ways(query, total))
        except SearchError:
            raise too_small(query) from None
    scheduled = [Scheduled.of(way.plan) for way in found if way.name == CURVES]
    if out is not None and not scheduled:
        raise ParameterError("--out keeps a plan of composed curves: --counts and releases without a list have none")
    if out is not None:
        new_file(out, "--out", json_text(scheduled[0].as_dict()) + "\n")
    epsilon, allowed = total
    task, release = query.task, "" if query.task.k is None else f" ({query.task.release})"
    what = task.question(query.unit.columns).removesuffix("?")
    show.say(
        f"{query.releases} times: {what}{release}, fixed in advance, together within epsilon = "
        f"{six_up(float(epsilon))} at delta = {float(allowed):g}",
        "",
    )
    show.table(
        ["way", "budget of all", "each may cost", "scale", "within"],
        ([way.name, way.total, _each(way), six_up(way.plan.scale), _near(way.plan)] for way in found),
        right=range(3, 5),
    )
    show.say("")
    show.rows(_legend(query, found))
    _commands(found, options, query, candidates, out)


def _commands(
    found: Iterable[Way], options: Options, query: Query[Any, Users], candidates: str | None, out: str | None
) -> None:
    """Print what makes a ledger, and the releases that it pays for, way by way."""
    listed = [] if candidates is None else ["--candidates", candidates]
    named = ["--candidates", "FILE"] if candidates is not None and candidates.isdecimal() else listed
    table = ["opendp-topk", "release", "TABLE", "--user", options.user.upper(), "--item", options.item.upper()]
    asked = _options(options)
    unit = [one for name in ("--users", "--neighbors") if name in asked for one in (name, str(asked[name]))]
    paid = ["--ledger", _BOOK]
    for way in found:
        typer.echo(f"\n# {way.name}: {_WHY[way.name]}")
        _line("opendp-topk", "ledger", "create", _BOOK, "--dataset", "NAME", *way.ledger, *unit)
        if way.name == CURVES:
            plan = _PLAN if out is None else out
            if out is None:
                words = [*listed, *_flat(asked), *_target(options)]
                _line("opendp-topk", "plan", *words, "--releases", str(query.releases), "--out", plan)
            _line("opendp-topk", "ledger", "reserve", _BOOK, "--plan", plan)
            each = ["--plan", plan, "--planned", "1"]
        else:
            each = [*_flat(asked), *_cost(way.plan)]
        _line(*table, *named, *each, *paid, after=f"  # {query.releases} times")


def _options(options: Options) -> dict[str, str | None]:
    """What was asked besides the target, by the names of options; None for those that take no value."""
    names = {"kind": "release", "summed": "sum", "above": "above-threshold", "limit": "limit"}
    found: dict[str, str | None] = {}
    for one in fields(Options):
        value = getattr(options, one.name)
        if value == one.default or one.name in _NOT_ASKED:
            continue
        found["--" + names.get(one.name, one.name.replace("_", "-"))] = None if value is True else str(value)
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
    if task.k is None:
        reach = f"a {query.unit.columns.noun} that surely gets in comes to 0"
    elif task.release == "set":
        reach = f"every released item to the {largest(task.k)} {query.unit.columns.noun}"
    likely = sure(query.alpha)
    return [
        *((way.name, _WHY[way.name]) for way in found),
        ("scale", f"of the noise of each release; cost for {query.unit.whom}"),
        ("within", f"so near comes {reach}, with probability at least {likely} each time"),
        ("least noise", f"{best.name}: scale {six_up(best.plan.scale)}"),
    ]
