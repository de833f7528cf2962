"""``opendp-topk plan``: what a release would cost, and how accurate it would be. No data is read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated, Any

import typer

from ...errors import ParameterError
from ..planning.plan import Plan, Task, promises_of
from ..planning.promises import sure
from ..planning.release_record import Claim
from ..planning.units import Users
from . import show
from .asking import Options, met, stating
from .candidates import read_candidates
from .compare import require_plot, show_comparison, success_words
from .public_counts import read_proxy
from .several import Opened, show_several


@stating
def plan(
    candidates: Annotated[
        str | None,
        typer.Option(
            help="How many candidate items there are, or the file that lists them. If nobody can list them, give "
            "--delta.",
            metavar="N|FILE",
            show_default=False,
        ),
    ] = None,
    *,
    options: Options,
    alpha: Annotated[
        float, typer.Option(help="The accuracy guarantee may fail with this probability.", metavar="ALPHA")
    ] = 0.05,
    releases: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How many equal releases share the target, 52 weekly ones, say: what each may cost in several ways, "
            "side by side, and the commands that make a ledger and release from it. Without --delta it takes 1e-6.",
            metavar="N",
            show_default=False,
        ),
    ] = None,
    ledger: Annotated[
        str | None,
        typer.Option(
            metavar="LEDGER",
            help="Plan within what is left of this ledger, in the place of --epsilon, --rho and --delta: one release, "
            "or as many as --releases says.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="With --releases or --ledger: keep the plan whose privacy curves are composed, for "
            "`ledger reserve --plan FILE`.",
            show_default=False,
        ),
    ] = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Show every mechanism that can give this release, side by side.")
    ] = False,
    plot: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="With --compare: draw delta against epsilon, and epsilon against the number of releases, into a .png "
            "or .svg file. It takes some seconds.",
            show_default=False,
        ),
    ] = None,
    proxy: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="A .parquet or .csv file with a column named count, one row a candidate: counts of users that are "
            "public (published, say) or made up. Candidates without a row count 0. It says how likely "
            "the exact top-k would be on such counts. Never give it the private counts.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Say what a release would cost, without private data.

    No table is read, and no ledger is charged. The scale of the noise is the smallest that meets the privacy target.

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
        paid, options = Opened.at(ledger, options, listed=_listed(options, candidates))
        releases = 1 if releases is None else releases
    more = _other(options)
    if (options.summed, options.quantile) != (None, None) and (compare or proxy is not None):
        given = "--sum" if options.quantile is None else "--quantile"
        raise ParameterError(f"--compare and --proxy speak of counts of users: leave {given} out")
    require_plot(plot, compare)
    if out is not None and releases is None:
        raise ParameterError("--out keeps a plan of several releases: give --releases or --ledger")
    if candidates is not None and options.quantile is not None:
        raise ParameterError("--quantile chooses among the multiples of --step within --bounds: leave --candidates out")
    options.require_whole(listed=candidates is not None)
    if options.group is not None and (compare or proxy is not None or releases is not None):
        given = "--compare" if compare else "--releases, or --ledger," if proxy is None else "--proxy"
        raise ParameterError(f"{given} does not go with --group: leave one of them out")
    if candidates is None:
        if compare or proxy is not None:
            raise ParameterError("--compare and --proxy need a list of candidates: give --candidates")
        asked: Any = options.unlisted() if options.quantile is None else options.of_quantile()
        if releases is not None:
            show_several(replace(asked, releases=releases), options, None, out, paid)
            return
        show_plan(met(asked), more)
        return
    if options.other and compare:
        raise ParameterError("--compare shows selections alone: leave --other out")
    options.require_listed()
    if options.minimum_users is not None and (compare or proxy is not None):
        raise ParameterError("--compare and --proxy speak of all candidates: leave --minimum-users out")
    if options.by_gap and (compare or proxy is not None):
        raise ParameterError("--compare and --proxy speak of k items: leave --by-gap out")
    number = int(candidates) if re.fullmatch("[0-9]{1,18}", candidates) else len(read_candidates(candidates, None))
    query = options.of_list(number, _groups(options.groups))
    scores = None if proxy is None else read_proxy(proxy, number)
    if compare and (options.counts or options.mechanism is not None):
        raise ParameterError("--compare shows every mechanism without counts: leave --mechanism and --counts out")
    if releases is not None:
        if compare or proxy is not None:
            raise ParameterError("--releases and --ledger plan one mechanism: leave --compare and --proxy out")
        show_several(replace(query, releases=releases), options, candidates, out, paid)
    elif compare:
        show_comparison(query, scores, plot)
    else:
        found = met(query)
        if scores is not None:
            with show.working("computing"):
                success = query.task.success(found, scores)
            more = [("on the proxy", success_words(success, query.task)), *more]
        show_plan(found, more)


def _groups(named: str | None) -> Sequence[Any] | None:
    """The groups by their number, or those that a file lists."""
    if named is None:
        return None
    return range(int(named)) if re.fullmatch("[0-9]{1,9}", named) else read_candidates(named, what="groups")


def _listed(options: Options, candidates: str | None) -> bool:
    """Whether a release has no delta of its own."""
    own = options.minimum_users is not None or options.by_gap
    return options.quantile is not None or (candidates is not None and not own)


def _other(options: Options) -> list[tuple[str, str]]:
    """The row of the count of all other users, if it is asked for."""
    count = options.others
    if count is None:
        return []
    near = f"within {show.users(count.deviation(options.failing))} of the true number {show.other(count, 'more')}"
    likely = sure(options.failing)
    return [("other", f"with probability at least {likely}, the number of users with another item is {near}")]


def show_plan(plan: Plan[Task, Users], more: Iterable[tuple[str, Any]] = ()) -> None:
    """Print a plan."""
    task: Task = plan.query.task
    show.rows(
        [
            ("question", task.question(plan.query.unit.columns)),
            ("mechanism", task.words(plan)),
            *([("why", plan.why)] if plan.why else []),
            *show.noise(plan),
            ("cost", show.cost(Claim.of(plan), of_rows=plan.query.unit.columns.of_rows)),
            *show.promised(promises_of(plan)),
            *more,
            ("proof", show.proofs(plan.measurement.proof)),
        ]
    )
