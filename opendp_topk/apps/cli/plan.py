"""``opendp-topk plan``: plan one or several releases, or compare mechanisms, without data."""

from __future__ import annotations

import io
import math
import os
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from ...errors import ParameterError, SearchError, TableError, checks
from ...errors.extras import import_extra
from ...errors.files import write_atomically
from ...markup.foreign import json_text
from ...numerics.arithmetic import to_fraction
from ...sampling.distributions.events import Enclosure
from ..ledger import Ledger
from ..planning.comparison import SIZE, Comparison, Option, bound_sort_key, format_rounded_up, mechanism_plans
from ..planning.options import OptionGroup, build_options, given_options, option_words
from ..planning.plan import WORDS, Plan, Query, confidence_text, nth_largest_text, plan_guarantees
from ..planning.public_shape import (
    SIMULATED,
    SIMULATED_ON_TABLE,
    CoverageReach,
    ShapeAccuracy,
    SimulatedMean,
    simulate_accuracy,
    simulate_coverage,
)
from ..planning.question import Question, ReleasePlan, require_noise, target_too_small_error
from ..planning.questions import question_class
from ..planning.release_record import linked_proofs
from ..planning.several import (
    CURVES,
    PURE,
    RHOS,
    AccountingOption,
    Repeated,
    RepeatOptions,
    best_plan,
    format_stated_number,
)
from ..planning.top_k import TopKTask
from ..planning.units import UserUnit, count_with_noun
from . import show
from .files import Counts, read_public_counts
from .options import QuestionGroup, question_command
from .output import write_output_file


@dataclass(frozen=True, kw_only=True)
class CompareOptions(OptionGroup):
    """Comparison of mechanisms.

    Output:
        compare (excludes sum or group or counts or mechanism or other or releases or ledger): Compare all mechanisms
            that can make this release. One per row.
        plot (FILE, needs compare): With --compare: plot into this .png or .svg file. Delta against epsilon, and epsilon
            against the number of releases. Takes some seconds.
        like (FILE|zipf:S:N, excludes sum or group or releases or ledger): Public or made-up counts on which to try the
            plan. A .parquet or .csv file with a column named count, one row per candidate: counts of users that are
            public (already published, for example) or made up. Candidates without a row count as 0. zipf:S:N: counts
            proportional to 1 / rank^S whose sum is N. The output shows the probability of the exact top-k, and by
            simulated releases the expected share of the true k that is found and the missing part of their counts.
            Never give the private counts: the shape must be public.
    """

    compare: bool = False
    plot: str | None = None
    like: str | None = None


@dataclass(frozen=True, kw_only=True)
class TableTrialOptions(OptionGroup):
    """Trial on a public table.

    Output:
        like (FILE, excludes releases or ledger): Public or made-up table on which to try the plan. A .parquet or .csv
            file with the columns of --user and --item, such as a published one of an earlier year. The output shows how
            many users simulated releases reach, and how many the most popular items within the same budget. Never give
            the private table.
    """

    like: str | None = None


TRIALS: Mapping[str, tuple[type, ...]] = {"": (), "counts": (CompareOptions,), "table": (TableTrialOptions,)}


# Comparison of all mechanisms that can give a release.


def rank_mechanisms(
    query: Query[TopKTask, UserUnit], proxy: Counts | None, far: Callable[[str], None] = lambda _: None
) -> list[Option]:
    """Return the mechanisms that can give the release, best first; ``far`` is called with progress in words.

    Raises:
        ParameterError: The release would be the same for every table, or no scale meets the target.
    """
    require_noise(query)
    rows = [
        Option(plan, None if proxy is None else plan.query.task.exact_top_k_probability(plan, proxy))
        for plan in mechanism_plans(query, far)
    ]
    if not rows:
        raise target_too_small_error(query)
    return sorted(rows, key=_option_rank)


def _option_rank(option: Option) -> tuple[float, float, int]:
    """Return the sort key: the most probable exact release first, then the smallest error bound; unknown ones last."""
    return 1.0 if option.success is None else -option.success.lower, *bound_sort_key(option.row)


def show_comparison(query: Query[TopKTask, UserUnit], proxy: Counts | None, plot: str | None = None) -> None:
    """Print a comparison of all mechanisms for ``query``, and draw it into the file ``plot`` if given."""
    with show.show_progress("comparing") as far:
        rows = rank_mechanisms(query, proxy, far)
    task = query.task
    open_rows = [one for one in rows if one.row.query.task.mechanism in (task.mechanism, *task.alternatives)]
    usual = best_plan([one.row for one in open_rows] or [rows[0].row]).name
    exact = [] if proxy is None else ["P(exact)"]
    show.print_paragraphs(f"Which {task.k} of {task.n_candidates} candidates do most users have? ({task.release})", "")
    show.print_table(
        ["mechanism", "scale", _cost_symbol(query), "within", *exact, "bound"],
        (
            [
                one.name + " *" * (one.name == usual),
                format_rounded_up(one.row.scale),
                format_rounded_up(one.row.loss[1] if isinstance(one.row.loss, tuple) else one.row.loss),
                _format_user_bound(one.row.accuracy_floor),
                *([] if proxy is None else [format_probability(one.success)]),
                one.row.bound,
            ]
            for one in rows
        ),
        right=range(1, 4 + len(exact)),
    )
    show.print_paragraphs("")
    dash = any(one.row.accuracy_floor is None or (proxy is not None and one.success is None) for one in rows)
    bounds = {one.row.bound for one in rows}
    legend = [*_comparison_legend(query, proxy), *(pair for pair in WORDS.items() if pair[0] in bounds)]
    show.print_rows([*legend, *([("-", "not known, or too slow to compute")] if dash else [])])
    if plot is not None:
        with show.show_progress("drawing"):
            _draw_comparison(query, rows, plot)


def _draw_comparison(query: Query[TopKTask, UserUnit], rows: list[Option], plot: str) -> None:
    drawing = import_extra("matplotlib.figure", "--plot requires matplotlib", "opendp_topk[plot]")
    figure = Comparison(query, tuple(one.row for one in rows)).plot(drawing.Figure(figsize=SIZE, layout="constrained"))
    drawn = io.BytesIO()
    figure.savefig(drawn, format=Path(plot).suffix[1:].lower())
    try:
        write_atomically(Path(os.path.realpath(plot)), drawn.getvalue(), replace=True)
    except (OSError, ValueError):
        raise TableError("--plot: the file cannot be written; choose another place") from None


def _cost_symbol(query: Query[TopKTask, UserUnit]) -> str:
    return query.budget.main_symbol if query.budget.delta is None else "delta"


def _comparison_legend(query: Query[TopKTask, UserUnit], proxy: Counts | None) -> list[tuple[str, str]]:
    k, budget = query.task.k, query.budget
    each = (
        f"for every t from 1 to {k} the t-th released item has a count within this many users of the t-th largest"
        if query.task.release == "ranking"
        else f"every released item has a count within this many users of the {nth_largest_text(k)}"
    )
    pair = "" if budget.delta is None else f", at epsilon = {float(budget.main_distance)}"
    exact = ("P(exact)", f"probability of {_exact_event_text(query.task)} on the counts of --like")
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
        f"rest, {they} them with much less noise: use --like to compare on counts that are public or made up"
    )


def _format_user_bound(users: float | None) -> str:
    if users is None:
        return "-"
    return str(users) if users < 10**9 else format_rounded_up(users)


def shape_text(found: ShapeAccuracy, task: TopKTask) -> str:
    """Return the accuracy of a plan on public counts, in words."""
    likely = found.exact.percent_text() if isinstance(found.exact, SimulatedMean) else format_probability(found.exact)
    return (
        f"{_exact_event_text(task)} has probability {likely}; in {SIMULATED} simulated releases the mean share of the "
        f"true {task.k} that is found is {found.found.percent_text()}, and the part of their counts that is missing "
        f"{found.missing.percent_text()}"
    )


def reach_text(found: CoverageReach) -> str:
    """Return how many users a planned release and the most popular items reach on a public table, in words."""
    return (
        f"{count_with_noun(found.users, 'user')} have a candidate; {SIMULATED_ON_TABLE} simulated releases reach on "
        f"average {found.chosen.number_text()} of them, and as many most popular items, released as a set within the "
        f"same budget, {found.popular.number_text()}; choices without noise reach {found.greedy}"
    )


def _exact_event_text(task: TopKTask) -> str:
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

_NOT_ASKED = {"epsilon", "rho", "delta", "alpha", "user", "item", "at_most", "shared", "candidates"}
_PLAN, _BOOK = "plan.json", "budget.ledger"
_WHY = {
    PURE: "the epsilons of all releases are added",
    RHOS: "the rhos of all releases are added, and the sum is converted to (epsilon, delta) once",
    CURVES: "the privacy curves of all releases are composed, and charged together",
}


def show_several_releases(question: Question, options: RepeatOptions) -> None:
    """Print what each release may cost under every accounting option, and the commands that pay and release.

    The plan with composed privacy curves is written to the file of ``options`` if one is given.
    """
    repeated = Repeated(question, options.releases or 1)
    if options.ledger is not None:
        with Ledger(options.ledger) as account:
            repeated = Repeated.within_ledger(question, account, options.releases or 1)
    query = repeated.query()
    require_noise(query)
    with show.show_progress("planning"):
        found = _accounting_options(repeated)
    if options.ledger is None:
        epsilon, delta = repeated.total
        within = f"epsilon = {format_rounded_up(float(epsilon))} at delta = {float(delta):g}"
    else:
        within = f"the remaining budget of {options.ledger}"
    scheduled = repeated.schedule(found)
    if options.out is not None:
        if scheduled is None:
            raise ParameterError(
                "--out requires releases with a privacy curve, and a --ledger with delta left for a plan: omit --out "
                "with --counts (unless with --max-items) and for questions whose --delta is required"
            )
        write_output_file(options.out, "--out", json_text(scheduled.as_dict()) + "\n")
    task = query.task
    what = task.question_text(query.unit.columns).removesuffix("?")
    release = "" if task.k is None or question.numbers else f" ({task.release})"
    show.print_paragraphs(
        f"{count_with_noun(query.releases, 'time')}: {what}{release}, fixed in advance, within a total of {within}", ""
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
    show.print_rows(_several_legend(question, query, found))
    _print_commands(found, repeated, options)


def _accounting_options(repeated: Repeated) -> list[AccountingOption]:
    try:
        return repeated.options()
    except SearchError:
        pass
    if repeated.left is not None:
        raise ParameterError("--releases must be lower: no noise meets this share of the remaining budget")
    raise target_too_small_error(repeated.query())


def _print_commands(found: Iterable[AccountingOption], repeated: Repeated, options: RepeatOptions) -> None:
    """Print, for each accounting option, the commands that create a ledger and make the releases."""
    question, out = repeated.question, options.out
    given, unit = given_options(question), question.unit
    rows = question.columns.is_row_level
    named = given.get("candidates")
    listed = [] if named is None else ["--candidates", str(named)]
    list_of = ["--candidates", "FILE"] if named is not None and str(named).isdecimal() else listed
    book, user, entry = _BOOK, unit.user or "USER", 1
    if repeated.left is not None:
        book, user, entry = str(options.ledger), repeated.left.user or user, repeated.left.entries + 1
    columns = ["TABLE", *([] if rows else ["--user", user])]
    columns += [] if question.numbers else ["--item", str(given.get("item", "ITEM"))]
    asked = option_words(given, given.keys() - _NOT_ASKED)
    protected = option_words(given, {"users", "neighbors"}) + (["--user", user] if rows else [])
    often = f"  # {count_with_noun(repeated.releases, 'time')}"
    for way in found:
        typer.echo(f"\n# {way.name}: {_WHY[way.name]}")
        if repeated.left is None:
            _print_command_line("ledger", "create", book, "--dataset", "NAME", *way.ledger, *protected)
        if way.name != CURVES:
            words = [*columns, *list_of, *asked, *option_words(_stated_cost(way.plan), _stated_cost(way.plan).keys())]
            _print_command_line("release", question.kind, *words, "--ledger", book, after=often)
            continue
        if out is None:
            target = option_words(given, {"epsilon", "rho", "delta"})
            within = target if repeated.left is None else ["--ledger", book]
            several = ["--releases", str(repeated.releases), "--out", _PLAN]
            _print_command_line("plan", question.kind, *listed, *asked, *within, *several)
        plan = _PLAN if out is None else out
        _print_command_line("ledger", "reserve", book, "--plan", plan)
        each = ["--plan", plan, "--planned", str(entry), "--ledger", book]
        _print_command_line("release", "planned", *columns, *list_of, *each, after=often)


def _stated_cost(plan: Plan[Any, UserUnit]) -> dict[str, str]:
    """Return the numbers of a privacy target by the names of their options."""
    budget = plan.query.budget
    given = {budget.main_symbol: budget.main_distance, "delta": budget.delta}
    return {name: format_stated_number(to_fraction(one)) for name, one in given.items() if one is not None}


def _print_command_line(*words: str, after: str = "") -> None:
    typer.echo(shlex.join(["opendp-topk", *words]) + after)  # never wrapped, so that it can be copied


def _release_cost_text(way: AccountingOption) -> str:
    plan, budget = way.plan, way.plan.query.budget
    if way.name == CURVES:
        epsilon = plan.measurement.map(plan.query.unit.d_in).epsilon(budget.delta)
        return f"epsilon {format_rounded_up(epsilon)} at delta {float(budget.delta):g}"
    return ", ".join(f"{name} {value}" for name, value in _stated_cost(plan).items())


def _scale_text(plan: Plan[Any, UserUnit]) -> str:
    known = plan.measurement.parameters
    return format_rounded_up(plan.scale) if "scale" in known else "-"


def _error_bound_text(plan: Plan[Any, UserUnit]) -> str:
    users = plan.accuracy_floor
    return "-" if users is None or users == math.inf else str(users)


def _several_legend(
    question: Question, query: Query[Any, UserUnit], found: list[AccountingOption]
) -> list[tuple[str, str]]:
    best = min(found, key=lambda way: math.inf if (near := way.plan.accuracy_floor) is None else near)
    least = (
        ("least noise", f"{best.name}: scale {_scale_text(best.plan)}")
        if question.least_noise
        else ("fewest users", f"{best.name}: {_error_bound_text(best.plan)}")
    )
    return [
        *((way.name, _WHY[way.name]) for way in found),
        ("scale", f"scale of the noise of each release; the cost is for {query.unit.protected_users}"),
        ("within", question.within_text(best.plan, confidence_text(query.alpha))),
        least,
    ]


# ``opendp-topk plan``: cost and accuracy of a release. No data is read.

_ABOUT = """Show the cost and the accuracy of a release, without private data.

No table is read, and no ledger is charged. The noise scale is the smallest that meets the privacy target."""


def plan_command(kind: str) -> Any:
    question = question_class(kind)
    groups = [*question.option_groups(), RepeatOptions, *TRIALS[question.tried_on]]

    def run(_: str, given: Mapping[str, Any]) -> None:
        run_plan(question.build(given), given)

    example = f"  opendp-topk plan {kind} {question.plan_example}"
    return question_command(kind, f"{question.summary}\n\n{_NOTE}", example, groups, run, table=False)


_NOTE = "Shows the cost and the accuracy of a release; reads no table and charges no ledger."
plan = QuestionGroup("plan", _ABOUT, plan_command)


def run_plan(question: Question, given: Mapping[str, Any]) -> None:
    """Plan one or several releases, or compare mechanisms."""
    repeat, compared = build_options(RepeatOptions, given), build_options(CompareOptions, given)
    several = repeat.releases is not None or repeat.ledger is not None
    if repeat.releases is not None:
        checks.require_positive_int("--releases", repeat.releases)
    if compared.plot is not None and not compared.plot.lower().endswith((".png", ".svg")):
        raise ParameterError("--plot must be a file whose name ends in .png or .svg")
    if several:
        show_several_releases(question, repeat)
        return
    like, on_table = compared.like, question.tried_on == "table"
    scores = None if like is None or on_table else read_public_counts(like, question.query().task.n_candidates)
    if compared.compare:
        show_comparison(question.query(), scores, compared.plot)
        return
    with show.show_progress("planning"):
        ready = question.plan()
    more = []
    if scores is not None:
        with show.show_progress("computing"):
            found = simulate_accuracy(ready.plan, scores)
        more = [("on the shape", shape_text(found, ready.plan.query.task))]
    elif like is not None:
        from ...tables.files import read_table

        with show.show_progress("computing"):
            reached = simulate_coverage(ready, read_table(like))
        more = [("on the table", reach_text(reached))]
    show_plan(ready, more)


def show_plan(ready: ReleasePlan, more: Iterable[tuple[str, Any]] = ()) -> None:
    plan, question = ready.plan, ready.question
    task, of_rows = plan.query.task, plan.query.unit.columns.is_row_level
    bounded = question.contribution_bound_text(plan)
    show.print_rows(
        [
            ("question", task.question_text(plan.query.unit.columns)),
            ("mechanism", task.describe_mechanism(plan)),
            *([("why", plan.why)] if plan.why else []),
            *question.noise_rows(plan),
            *([("max items", bounded)] if bounded else []),
            ("cost", show.cost_text(ready.claim, of_rows=of_rows)),
            *show.guarantee_rows(plan_guarantees(plan)),
            *more,
            *_other_users_row(question),
            ("proof", show.document_lines((one.name, one.status) for one in linked_proofs(plan.measurement.proof))),
        ]
    )


def _other_users_row(question: Question) -> list[tuple[str, str]]:
    count = question.other_users_count
    if count is None:
        return []
    (told,) = count.accuracy_guarantees(question.exact_alpha).values()
    return [("other", f"{told.words} {show.other_cost_text(count, 'more')}")]
