"""``opendp-topk plan``: plan one or several releases, or compare mechanisms, without data."""

from __future__ import annotations

import io
import math
import os
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ...errors import ParameterError, SearchError, TableError
from ...errors.extras import import_extra
from ...errors.files import write_atomically
from ...markup.foreign import json_text
from ...numerics.arithmetic import to_fraction
from ...sampling.distributions.events import Enclosure
from ...spaces.measures import Approximate
from ..ledger import Ledger
from ..ledger.amounts import parse_exact
from ..ledger.report import ledger_protection_text
from ..planning.by_gap import SetByGap
from ..planning.comparison import SIZE, Comparison, Option, format_rounded_up, mechanism_plans
from ..planning.plan import WORDS, Plan, Query, ReleaseTask, confidence_text, nth_largest_text, plan_guarantees
from ..planning.quantile import Quantile, Quantiles
from ..planning.release_record import PrivacyClaim
from ..planning.several import (
    CURVES,
    DELTA,
    PURE,
    RHOS,
    AccountingOption,
    ReleaseSchedule,
    RemainingBudget,
    accounting_options,
    format_stated_number,
    remaining_options,
    total_epsilon_delta,
)
from ..planning.top_k import TopK
from ..planning.units import UserUnit
from ..planning.unknown_domain import PartitionSelectionTask
from . import show
from .asking import Options, expand_option_groups, least_noise_plan, option_name, require_noise, target_too_small_error
from .files import Counts, read_candidates, read_proxy_counts
from .ledger_files import write_output_file
from .payment import require_neighbors

# Comparison of all mechanisms that can give a release.


def rank_mechanisms(
    query: Query[TopK, UserUnit], proxy: Counts | None, far: Callable[[str], None] = lambda _: None
) -> list[Option]:
    """Return the mechanisms that can give the release, best first; ``far`` is called with progress in words.

    Raises:
        ParameterError: The release would be the same for every table, or no scale meets the target.
    """
    require_noise(query)
    rows = []
    for plan in mechanism_plans(query, far):
        rows.append(Option(plan, None if proxy is None else plan.query.task.exact_top_k_probability(plan, proxy)))
    if not rows:
        raise target_too_small_error(query)
    return sorted(rows, key=_option_rank)


def _option_rank(option: Option) -> tuple[float, float]:
    """Return the sort key: the most probable exact release first, then the smallest error bound; unknown ones last."""
    near, success = _option_error_bound(option), 1.0 if option.success is None else -option.success.lower
    return success, float("inf") if near is None else near


def _option_error_bound(option: Option) -> float | None:
    return option.row.query.task.rounded_error_bound(option.row)


def show_comparison(query: Query[TopK, UserUnit], proxy: Counts | None, plot: str | None = None) -> None:
    """Print a comparison of all mechanisms for ``query``, and draw it into the file ``plot`` if given."""
    with show.show_progress("comparing") as far:
        rows = rank_mechanisms(query, proxy, far)
    task = query.task
    open_rows = [one for one in rows if one.row.query.task.mechanism in (task.mechanism, *task.alternatives)]
    usual = min(open_rows, key=lambda one: one.row.query.task.error_bound(one.row), default=rows[0]).name
    exact = [] if proxy is None else ["P(exact)"]
    show.print_paragraphs(f"Which {task.k} of {task.n_candidates} candidates do most users have? ({task.release})", "")
    show.print_table(
        ["mechanism", "scale", _cost_symbol(query), "within", *exact, "bound"],
        (
            [
                one.name + " *" * (one.name == usual),
                format_rounded_up(one.row.scale),
                format_rounded_up(one.row.loss[1] if isinstance(one.row.loss, tuple) else one.row.loss),
                _format_user_bound(_option_error_bound(one)),
                *([] if proxy is None else [format_probability(one.success)]),
                one.row.bound,
            ]
            for one in rows
        ),
        right=range(1, 4 + len(exact)),
    )
    show.print_paragraphs("")
    dash = any(_option_error_bound(one) is None or (proxy is not None and one.success is None) for one in rows)
    bounds = {one.row.bound for one in rows}
    legend = [
        *_comparison_legend(query, proxy),
        *((word, meaning) for word, meaning in WORDS.items() if word in bounds),
    ]
    show.print_rows([*legend, *([("-", "not known, or too slow to compute")] if dash else [])])
    if plot is not None:
        with show.show_progress("drawing"):
            _draw_comparison(query, rows, plot)


def _draw_comparison(query: Query[TopK, UserUnit], rows: list[Option], plot: str) -> None:
    """Write the two plots of the comparison to a file."""
    drawing = import_extra("matplotlib.figure", "--plot requires matplotlib", "opendp_topk[plot]")
    figure = Comparison(query, tuple(one.row for one in rows)).plot(drawing.Figure(figsize=SIZE, layout="constrained"))
    drawn = io.BytesIO()
    figure.savefig(drawn, format=Path(plot).suffix[1:].lower())
    try:
        write_atomically(Path(os.path.realpath(plot)), drawn.getvalue(), replace=True)
    except (OSError, ValueError):
        raise TableError("--plot: the file cannot be written; choose another place") from None


def require_plot(plot: str | None, compare: bool) -> None:
    """Raise if --plot is given without --compare or is not a .png or .svg file."""
    if plot is not None and not compare:
        raise ParameterError("--plot requires --compare")
    if plot is not None and not plot.lower().endswith((".png", ".svg")):
        raise ParameterError("--plot must be a file whose name ends in .png or .svg")


def _cost_symbol(query: Query[TopK, UserUnit]) -> str:
    """Return the header of the column of costs."""
    return query.budget.main_symbol if query.budget.delta is None else "delta"


def _comparison_legend(query: Query[TopK, UserUnit], proxy: Counts | None) -> list[tuple[str, str]]:
    k, budget = query.task.k, query.budget
    each = (
        f"for every t from 1 to {k} the t-th released item has a count within this many users of the t-th largest"
        if query.task.release == "ranking"
        else f"every released item has a count within this many users of the {nth_largest_text(k)}"
    )
    pair = "" if budget.delta is None else f", at epsilon = {float(budget.main_distance)}"
    exact = ("P(exact)", f"probability of {_exact_event_text(query.task)} on the counts of the proxy")
    return [
        ("*", "the default of --mechanism in release"),
        ("scale", "scale of the noise in users: the smallest that meets the target"),
        (_cost_symbol(query), f"the cost for {query.unit.protected_users}{pair}"),
        (
            "within",
            f"with probability at least {confidence_text(query.alpha)}, {each}{query.unit.columns.truncation_clause}",
        ),
        *([] if proxy is None else [exact]),
        *([("order", _row_order_note(query.task.release))] if proxy is None and k > 1 else []),
        ("bound", "the proven bound that determines the cost:"),
    ]


def _row_order_note(release: str) -> str:
    """Return a caveat on the order of the rows, which is by worst-case bounds."""
    late, they = ("canonical and joint are", "they find") if release == "set" else ("joint is", "it finds")
    return (
        f"by error bounds for the worst counts, where {late} among the last. If the k best counts are far above the "
        f"rest, {they} them with much less noise: use --proxy to compare on counts that are public or made up"
    )


def _format_user_bound(users: float | None) -> str:
    if users is None:
        return "-"
    return str(users) if users < 10**9 else format_rounded_up(users)


def success_text(enclosure: Enclosure | None, task: TopK) -> str:
    """Return the probability of an exact release on the proxy counts, in words."""
    if enclosure is None:
        return "the probability of the exact release is not known for this mechanism, or too slow to compute"
    return f"{_exact_event_text(task)} has probability {format_probability(enclosure)}"


def _exact_event_text(task: TopK) -> str:
    """Return the event that the release is the exact top k, in words."""
    return f"the exact top-{task.k}" + (", in any order," if task.k > 1 else "")


def format_probability(enclosure: Enclosure | None) -> str:
    """Return a probability with three decimals, as a range rounded outward if the ends differ; "-" if unknown."""
    if enclosure is None:
        return "-"
    lower, upper = enclosure
    if upper < 0.0005:
        return "0" if upper == 0 else "< 0.001"
    if lower >= 0.9995:
        return "1" if lower == 1 else "> 0.999"
    if f"{lower:.3f}" == f"{upper:.3f}":
        return f"{lower:.3f}"
    return f"{math.floor(lower * 1000) / 1000:.3f}-{math.ceil(upper * 1000) / 1000:.3f}"


# Several equal releases within one budget: what each may cost under every accounting option, and the commands.

_NOT_ASKED = "epsilon", "rho", "delta", "alpha", "user", "item", "at_most", "shared"
_PLAN, _BOOK = "plan.json", "budget.ledger"
_WHY = {
    PURE: "the epsilons of all releases are added",
    RHOS: "the rhos of all releases are added, and the sum is converted to (epsilon, delta) once",
    CURVES: "the privacy curves of all releases are composed, and charged together",
}


@dataclass(frozen=True)
class LedgerBudget:
    """Address of a ledger and its remaining budget."""

    address: str
    left: RemainingBudget

    @classmethod
    def from_address(cls, address: str, options: Options, *, listed: bool) -> tuple[LedgerBudget, Options]:
        """Return the remaining budget of a ledger, and ``options`` with all of it as a placeholder for the target.

        The share of each release is computed later.

        Raises:
            ParameterError: A target is given as well, the ledger has another privacy unit, or its remaining budget does
                not admit such releases.
        """
        if (options.epsilon, options.rho, options.delta) != (None, None, None):
            raise ParameterError("--ledger plans within its remaining budget: omit --epsilon, --rho and --delta")
        with Ledger(address) as account:
            require_neighbors(account, options.privacy_unit.neighbors)
            if account.d_in != options.privacy_unit.d_in:
                raise ParameterError(
                    f"the ledger protects {ledger_protection_text(account)}: give --users {account.d_in}"
                )
            left = RemainingBudget.from_ledger(account)
        if not (left.epsilon or left.rho):
            raise ParameterError("--ledger has no budget left: plan within another one, or give --epsilon or --rho")
        if not (listed or left.delta):
            raise ParameterError(
                "--ledger has no delta left for releases without --candidates, which --own-delta of `ledger "
                "create` reserves: give --candidates, or plan within another ledger"
            )
        if listed and left.pairs:
            raise ParameterError("--ledger only pays for releases without a list: omit --candidates and --quantile")
        main = {"epsilon": float(left.epsilon)} if left.epsilon else {"rho": float(left.rho)}
        delta = None if listed else float(left.delta)
        return cls(address, left), replace(options, **main, delta=delta)  # type: ignore[arg-type]


def show_several_releases(
    query: Query[Any, UserUnit],
    options: Options,
    candidates: str | None,
    out: str | None,
    paid: LedgerBudget | None = None,
) -> None:
    """Print what each release may cost under every accounting option, and the commands that pay and release.

    The releases share the remaining budget of the ledger ``paid``, or else the target. The plan with composed privacy
    curves is written to ``out`` if given.
    """
    if options.other_users_count is not None:
        raise ParameterError("--releases cannot be combined with --other: omit one of them")
    require_noise(query)
    with show.show_progress("planning"):
        if paid is not None:
            found, within = _options_within_ledger(query, paid.left), f"the remaining budget of {paid.address}"
        else:
            found, within = _options_within_target(query, options)
    if options.rows_per_person is not None:
        found = [way for way in found if way.name != CURVES]  # plan files do not support rows per person
    scheduled = [ReleaseSchedule.from_plan(way.plan) for way in found if way.name == CURVES]
    if out is not None and not scheduled:
        raise ParameterError(
            "--out requires releases with a privacy curve, and a --ledger with delta left for a plan: omit --out with "
            "--counts (unless with --max-items), --minimum-users, --by-gap or no list of candidates"
        )
    if out is not None:
        write_output_file(out, "--out", json_text(scheduled[0].as_dict()) + "\n")
    task = query.task
    release = "" if task.k is None or isinstance(task, Quantile) else f" ({task.release})"
    what = task.question_text(query.unit.columns).removesuffix("?")
    show.print_paragraphs(
        f"{_times_text(query.releases)}: {what}{release}, fixed in advance, within a total of {within}", ""
    )
    show.print_table(
        ["way", "total budget", "cost of each", "scale", "within"],
        (
            [way.name, way.total, _release_cost_text(way), _scale_text(way.plan), _error_bound_text(way.plan)]
            for way in found
        ),
        right=range(3, 5),
    )
    show.print_paragraphs("")
    show.print_rows(_several_legend(query, found))
    _print_commands(found, options, query, candidates, out, paid)


def _options_within_ledger(query: Query[Any, UserUnit], left: RemainingBudget) -> list[AccountingOption]:
    """Return the accounting options for an existing ledger."""
    try:
        return list(remaining_options(query, left))
    except SearchError:
        pass
    raise ParameterError("--releases must be lower: no noise meets this share of the remaining budget")


def _options_within_target(query: Query[Any, UserUnit], options: Options) -> tuple[list[AccountingOption], str]:
    """Return the accounting options for a new ledger whose budget is the target, and this budget in words."""
    if isinstance(query.budget.measure, Approximate) and options.epsilon is None:
        raise ParameterError("--releases without --candidates, or with --minimum-users, requires --delta: omit --rho")
    total = total_epsilon_delta(query.budget, DELTA if options.delta is None else parse_exact(options.delta, "--delta"))
    try:
        return list(
            accounting_options(query, total)
        ), f"epsilon = {format_rounded_up(float(total[0]))} at delta = {float(total[1]):g}"
    except SearchError:
        pass
    raise target_too_small_error(query)


def _print_commands(
    found: Iterable[AccountingOption],
    options: Options,
    query: Query[Any, UserUnit],
    candidates: str | None,
    out: str | None,
    paid: LedgerBudget | None,
) -> None:
    """Print, for each accounting option, the commands that create a ledger and make the releases."""
    listed = [] if candidates is None else ["--candidates", candidates]
    list_of = ["--candidates", "FILE"] if candidates is not None and candidates.isdecimal() else listed
    book, user, entry = _BOOK, options.user.upper(), 1
    if paid is not None:
        book, user, entry = paid.address, paid.left.user or user, paid.left.entries + 1
    rows = options.rows_per_person is not None
    table = ["opendp-topk", "release", "TABLE", *([] if rows else ["--user", user])]
    table += ["--item", options.item.upper()] if options.quantile is None else []
    asked = _given_options(options)
    unit = [one for name in ("--users", "--neighbors") if name in asked for one in (name, str(asked[name]))]
    unit += ["--user", user] if rows else []
    for way in found:
        typer.echo(f"\n# {way.name}: {_WHY[way.name]}")
        if paid is None:
            _print_command_line("opendp-topk", "ledger", "create", book, "--dataset", "NAME", *way.ledger, *unit)
        if way.name == CURVES:
            plan = _PLAN if out is None else out
            if out is None:
                within = _target_options(options) if paid is None else ["--ledger", book]
                words = [*listed, *_flatten_options(asked), *within]
                _print_command_line("opendp-topk", "plan", *words, "--releases", str(query.releases), "--out", plan)
            _print_command_line("opendp-topk", "ledger", "reserve", book, "--plan", plan)
            each = ["--plan", plan, "--planned", str(entry)]
        else:
            each = [*_flatten_options(asked), *_cost_options(way.plan)]
        _print_command_line(*table, *list_of, *each, "--ledger", book, after=f"  # {_times_text(query.releases)}")


def _times_text(releases: int) -> str:
    return "1 time" if releases == 1 else f"{releases} times"


def _given_options(options: Options) -> dict[str, str | None]:
    """Return the values of options that are not the default, by name and without the target; None for flags."""
    found: dict[str, str | None] = {}
    for one in fields(Options):
        value = getattr(options, one.name)
        if value == one.default or one.name in _NOT_ASKED:
            continue
        found[option_name(one.name)] = None if value is True else str(value)
    return found


def _flatten_options(asked: dict[str, str | None]) -> list[str]:
    return [word for name, value in asked.items() for word in (name, value) if word is not None]


def _target_options(options: Options) -> list[str]:
    given = {"--epsilon": options.epsilon, "--rho": options.rho, "--delta": options.delta}
    found = {name: repr(value).removesuffix(".0") for name, value in given.items() if value is not None}
    return [word for pair in found.items() for word in pair]


def _cost_options(plan: Plan[Any, UserUnit]) -> list[str]:
    budget = plan.query.budget
    delta = [] if budget.delta is None else ["--delta", format_stated_number(to_fraction(budget.delta))]
    return [f"--{budget.main_symbol}", format_stated_number(to_fraction(budget.main_distance)), *delta]


def _print_command_line(*words: str, after: str = "") -> None:
    typer.echo(shlex.join(words) + after)  # never wrapped, so that it can be copied


def _release_cost_text(way: AccountingOption) -> str:
    plan, budget = way.plan, way.plan.query.budget
    if way.name == CURVES:
        epsilon = plan.measurement.map(plan.query.unit.d_in).epsilon(budget.delta)
        return f"epsilon {format_rounded_up(epsilon)} at delta {float(budget.delta):g}"
    delta = "" if budget.delta is None else f", delta {format_stated_number(to_fraction(budget.delta))}"
    return f"{budget.main_symbol} {format_stated_number(to_fraction(budget.main_distance))}{delta}"


def _scale_text(plan: Plan[Any, UserUnit]) -> str:
    known = plan.measurement.parameters
    return format_rounded_up(plan.scale) if "scale" in known else "-"


def _error_bound_text(plan: Plan[Any, UserUnit]) -> str:
    users = _error_bound_floor(plan)
    return "-" if users is None or users == math.inf else str(users)


def _error_bound_floor(plan: Plan[Any, UserUnit]) -> float | None:
    near = plan.accuracy
    return near if near is None or math.isinf(near) else math.floor(near)


def _several_legend(query: Query[Any, UserUnit], found: list[AccountingOption]) -> list[tuple[str, str]]:
    task = query.task
    best = min(found, key=lambda way: math.inf if (near := _error_bound_floor(way.plan)) is None else near)
    reach = f"the t-th released item to the t-th largest {query.unit.columns.score_noun}, for every t"
    alone = isinstance(task, PartitionSelectionTask)
    if isinstance(task, Quantile):
        reach = "the rank of the number to the quantile, in rows that count"
        if isinstance(task, Quantiles):
            reach = f"{reach}, if no number has more than {task.places} of them"
    elif task.k is None:
        reach = f"a {query.unit.columns.score_noun} that is certainly released to 0"
    elif task.release == "set":
        reach = f"every released item to the {nth_largest_text(task.k)} {query.unit.columns.score_noun}"
    likely = confidence_text(query.alpha)
    if alone:
        within = "an item with at least this many users is released with probability at least 1/2 each time"
        least = ("fewest users", f"{best.name}: {_error_bound_text(best.plan)}")
    elif isinstance(task, SetByGap):
        within = f"with a gap of this size a set is released, with probability at least {likely} each time"
        least = ("least noise", f"{best.name}: scale {_scale_text(best.plan)}")
    else:
        within = f"distance of {reach}, with probability at least {likely} each time"
        least = ("least noise", f"{best.name}: scale {_scale_text(best.plan)}")
    return [
        *((way.name, _WHY[way.name]) for way in found),
        ("scale", f"scale of the noise of each release; the cost is for {query.unit.protected_users}"),
        ("within", within),
        least,
    ]


# ``opendp-topk plan``: cost and accuracy of a release. No data is read.


@expand_option_groups
def plan(
    candidates: Annotated[
        str | None,
        typer.Option(
            help="Number of candidate items, or the file that lists them. If there is no public list, give --delta.",
            metavar="N|FILE",
            show_default=False,
        ),
    ] = None,
    *,
    options: Options,
    alpha: Annotated[
        float, typer.Option(help="Failure probability of the accuracy guarantees.", metavar="ALPHA")
    ] = 0.05,
    releases: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of equal releases that share the target, such as 52 weekly ones. Shows the cost of each "
            "under every accounting option, and the commands that create a ledger and release from it. An "
            "optional --delta is 1e-6 by default.",
            metavar="N",
            show_default=False,
        ),
    ] = None,
    ledger: Annotated[
        str | None,
        typer.Option(
            metavar="LEDGER",
            help="Plan within the remaining budget of this ledger, instead of --epsilon, --rho and --delta. The "
            "number of releases is --releases; default: 1.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="With --releases or --ledger: write the plan that composes privacy curves to this new file, for "
            "`ledger reserve --plan FILE`.",
            show_default=False,
        ),
    ] = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Compare all mechanisms that can make this release, one per row.")
    ] = False,
    plot: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="With --compare: plot delta against epsilon, and epsilon against the number of releases, into a .png "
            "or .svg file. Takes some seconds.",
            show_default=False,
        ),
    ] = None,
    proxy: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="A .parquet or .csv file with a column named count, one row per candidate: counts of users that are "
            "public (already published, for example) or made up. Candidates without a row count as 0. The output "
            "shows the probability of the exact top-k on these counts. Never give the private counts.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show the cost and the accuracy of a release, without private data.

    No table is read, and no ledger is charged. The noise scale is the smallest that meets the privacy target.

    \b
    Example:
      opendp-topk plan --k 10 --candidates 5000 --epsilon 1
      opendp-topk plan --k 10 --candidates 5000 --epsilon 1 --release set --compare
      opendp-topk plan --k 10 --candidates 5000 --epsilon 1 --max-items 2 --counts
      opendp-topk plan --k 10 --candidates 5000 --epsilon 3 --delta 1e-6 --releases 52
      opendp-topk plan --k 10 --candidates 5000 --releases 4 --ledger budget.ledger
      opendp-topk plan --k 1 --candidates 5000 --epsilon 1 --delta 1e-6 --compare --plot both.png
      opendp-topk plan --k 10 --epsilon 1 --delta 1e-8
      opendp-topk plan --above-threshold --max-items 5 --keep random --other --epsilon 1 --delta 1e-8
      opendp-topk plan --k 10 --candidates 5000 --by-gap --epsilon 1 --delta 1e-8
      opendp-topk plan --k 3 --candidates 5000 --group region --groups 12 --epsilon 1
      opendp-topk plan --keys --max-items 50 --epsilon 1 --delta 1e-8
      opendp-topk plan --quantile 1/2 --column age --bounds 0,120 --epsilon 1
    """
    options, paid = replace(options, alpha=alpha), None
    if ledger is not None:
        paid, options = LedgerBudget.from_address(ledger, options, listed=_has_no_own_delta(options, candidates))
        releases = 1 if releases is None else releases
    more = _other_users_row(options)
    if (options.summed, options.quantile) != (None, None) and (compare or proxy is not None):
        given = "--sum" if options.quantile is None else "--quantile"
        raise ParameterError(f"--compare and --proxy are for counts of users: omit {given}")
    require_plot(plot, compare)
    if out is not None and releases is None:
        raise ParameterError("--out stores a plan of several releases: give --releases or --ledger")
    if candidates is not None and options.quantile is not None:
        raise ParameterError("--quantile chooses among the multiples of --step within --bounds: omit --candidates")
    options.require_group_options(listed=candidates is not None)
    if options.group is not None and (compare or proxy is not None or releases is not None):
        given = "--compare" if compare else "--releases, or --ledger," if proxy is None else "--proxy"
        raise ParameterError(f"{given} cannot be combined with --group: omit one of them")
    if candidates is None:
        if compare or proxy is not None:
            raise ParameterError("--compare and --proxy require --candidates")
        asked: Any = options.unknown_domain_query() if options.quantile is None else options.quantile_query()
        if releases is not None:
            show_several_releases(replace(asked, releases=releases), options, None, out, paid)
            return
        show_plan(least_noise_plan(asked), more)
        return
    if options.other and compare:
        raise ParameterError("--compare shows selections only: omit --other")
    options.require_list_options()
    if options.minimum_users is not None and (compare or proxy is not None):
        raise ParameterError("--compare and --proxy are for all candidates: omit --minimum-users")
    if options.by_gap and (compare or proxy is not None):
        raise ParameterError("--compare and --proxy are for k items: omit --by-gap")
    number = int(candidates) if re.fullmatch("[0-9]{1,18}", candidates) else len(read_candidates(candidates, None))
    query = options.known_domain_query(number, _plan_groups(options.groups))
    scores = None if proxy is None else read_proxy_counts(proxy, number)
    if compare and (options.counts or options.mechanism is not None):
        raise ParameterError("--compare shows all mechanisms, without counts: omit --mechanism and --counts")
    if releases is not None:
        if compare or proxy is not None:
            raise ParameterError("--releases and --ledger plan one mechanism: omit --compare and --proxy")
        show_several_releases(replace(query, releases=releases), options, candidates, out, paid)
    elif compare:
        show_comparison(query, scores, plot)
    else:
        found = least_noise_plan(query)
        if scores is not None:
            with show.show_progress("computing"):
                success = query.task.exact_top_k_probability(found, scores)
            more = [("on the proxy", success_text(success, query.task)), *more]
        show_plan(found, more)


def _plan_groups(named: str | None) -> Sequence[Any] | None:
    """Return placeholders for a number of groups, or the groups that a file lists."""
    if named is None:
        return None
    return range(int(named)) if re.fullmatch("[0-9]{1,9}", named) else read_candidates(named, what="groups")


def _has_no_own_delta(options: Options, candidates: str | None) -> bool:
    """Whether the release's measurement has no delta of its own."""
    own = options.minimum_users is not None or options.by_gap
    return options.quantile is not None or (candidates is not None and not own)


def _other_users_row(options: Options) -> list[tuple[str, str]]:
    """Return the row for the count of all other users, if it is requested."""
    count = options.other_users_count
    if count is None:
        return []
    users = show.users_text(count.count_error_bound(options.exact_alpha))
    near = f"within {users} of the true number {show.other_cost_text(count, 'more')}"
    likely = confidence_text(options.exact_alpha)
    return [("other", f"with probability at least {likely}, the noisy number of users with another item is {near}")]


def show_plan(plan: Plan[ReleaseTask, UserUnit], more: Iterable[tuple[str, Any]] = ()) -> None:
    """Print a plan."""
    task: ReleaseTask = plan.query.task
    show.print_rows(
        [
            ("question", task.question_text(plan.query.unit.columns)),
            ("mechanism", task.describe_mechanism(plan)),
            *([("why", plan.why)] if plan.why else []),
            *show.noise_rows(plan),
            ("cost", show.cost_text(PrivacyClaim.from_plan(plan), of_rows=plan.query.unit.columns.is_row_level)),
            *show.guarantee_rows(plan_guarantees(plan)),
            *more,
            ("proof", show.proof_lines(plan.measurement.proof)),
        ]
    )
