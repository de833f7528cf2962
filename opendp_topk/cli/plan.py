"""``opendp-topk plan``: what a release would cost, and how accurate it would be. No data is read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated

import typer

from ..errors import ParameterError
from ..planning.catalogue import RELEASES
from . import guarantees, show
from .above import Above, AboveOption, discovered
from .above import show_plan as show_above
from .candidates import read_candidates
from .compare import require_plot, show_comparison
from .options import (
    NEIGHBORS,
    CountsOption,
    Delta,
    Epsilon,
    K,
    Limit,
    MaxItems,
    MechanismOption,
    NeighborsOption,
    ReleaseOption,
    Rho,
    Users,
    target,
)
from .others import OtherOption, plan_rows, relaxed, split
from .planning import Request
from .public_counts import Counts, read_proxy
from .scoring import BoundsOption, KeepOption, StepOption, SumOption, scoring
from .several import show_several
from .unlisted import given, require_unlisted
from .unlisted import show_plan as show_unlisted


def plan(
    k: K = None,
    candidates: Annotated[
        str | None,
        typer.Option(
            help="How many candidate items there are, or the file that lists them. If nobody can list them, give "
            "--delta.",
            metavar="N|FILE",
            show_default=False,
        ),
    ] = None,
    epsilon: Epsilon = None,
    rho: Rho = None,
    delta: Delta = None,
    limit: Limit = None,
    max_items: MaxItems = None,
    users: Users = 1,
    neighbors: NeighborsOption = NEIGHBORS[0],
    release: ReleaseOption = RELEASES[0],
    alpha: Annotated[
        float, typer.Option(help="The accuracy guarantee may fail with this probability.", metavar="ALPHA")
    ] = 0.05,
    mechanism: MechanismOption = None,
    counts: CountsOption = False,
    releases: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How many equal releases share the target, 52 weekly ones, say: what each may cost under pure, "
            "zero-concentrated and (epsilon, delta) privacy, side by side. Without --delta it takes 1e-6.",
            metavar="N",
            show_default=False,
        ),
    ] = None,
    summed: SumOption = None,
    bounds: BoundsOption = None,
    step: StepOption = None,
    above: AboveOption = False,
    keep: KeepOption = "order",
    other: OtherOption = False,
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

    No table is read. The scale of the noise is the smallest that meets the privacy target.

    \b
    Example:
      opendp-topk plan --k 10 --candidates 5000 --epsilon 1
      opendp-topk plan --k 10 --candidates 5000 --epsilon 1 --release set --compare
      opendp-topk plan --k 10 --candidates 5000 --epsilon 3 --delta 1e-6 --releases 52
      opendp-topk plan --k 1 --candidates 5000 --epsilon 1 --delta 1e-6 --compare --plot both.png
      opendp-topk plan --k 10 --epsilon 1 --delta 1e-8
      opendp-topk plan --above-threshold --max-items 5 --keep random --other --epsilon 1 --delta 1e-8
    """
    scored = scoring(summed, bounds, step)
    goal, others = split(target(epsilon, rho), users, neighbors, scored, asked=other)
    more = plan_rows(others, alpha)
    if summed is not None and (compare or proxy is not None):
        raise ParameterError("--compare and --proxy speak of counts of users: leave --sum out")
    require_plot(plot, compare)
    if candidates is None:
        if compare or proxy is not None or releases is not None:
            raise ParameterError("--compare, --proxy and --releases need a list of candidates: give --candidates")
        kinds = release, mechanism, counts
        asked = discovered(above, k, goal, delta, users, neighbors, limit, max_items, kinds, scored, keep)
        (show_above if isinstance(asked, Above) else show_unlisted)(asked, alpha, more)
        return
    if other and (compare or releases is not None):
        raise ParameterError("--compare and --releases show selections alone: leave --other out")
    require_unlisted(limit, max_items, above=above, keep=keep)
    goal = relaxed(goal, delta, others)
    number = int(candidates) if re.fullmatch("[0-9]{1,18}", candidates) else len(read_candidates(candidates))
    request = Request(given(k), number, goal, users, neighbors, release, mechanism, counts, scored)
    scores = None if proxy is None else read_proxy(proxy, number)
    if compare and (counts or mechanism is not None):
        raise ParameterError("--compare shows every mechanism without counts: leave --mechanism and --counts out")
    if releases is not None:
        if compare or proxy is not None:
            raise ParameterError("--releases plans one mechanism: leave --compare and --proxy out")
        show_several(request, releases, delta, alpha)
    elif compare:
        show_comparison(request, alpha, scores, plot)
    else:
        show_plan(request, alpha, scores, more)


def show_plan(
    request: Request, alpha: float = 0.05, proxy: Counts | None = None, more: Iterable[tuple[str, str]] = ()
) -> None:
    """Print the plan for ``request``."""
    measurement = request.planned()
    fields = [
        ("question", f"which {request.k} of {request.n_candidates} candidates {request.scoring.ranked}?"),
        ("mechanism", show.mechanism(measurement, request)),
        ("scale", show.scale(measurement)),
        ("cost", show.cost(measurement, request)),
        ("accuracy", guarantees.accuracy(measurement, request, alpha)),
    ]
    if request.counts:
        fields.append(("counts", guarantees.count_guarantee(measurement, request, alpha)))
    if proxy is not None:
        with show.working("computing"):
            success = request.success(measurement, proxy)
        fields.append(("on the proxy", guarantees.success(success, request)))
    show.rows([*fields, *more, ("proof", show.proofs(measurement))])
