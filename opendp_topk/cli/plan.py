"""``opendp-topk plan``: what a release would cost, and how accurate it would be. No data is read."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from . import show
from .candidates import read_candidates
from .options import NEIGHBORS, RELEASES, Epsilon, K, NeighborsOption, ReleaseOption, Rho, Users, target
from .planning import Request


def plan(
    k: K,
    candidates: Annotated[
        str,
        typer.Option(help="How many candidate items there are, or the file that lists them.", metavar="N|FILE"),
    ],
    epsilon: Epsilon = None,
    rho: Rho = None,
    users: Users = 1,
    neighbors: NeighborsOption = NEIGHBORS[0],
    release: ReleaseOption = RELEASES[0],
    alpha: Annotated[
        float, typer.Option(help="The accuracy guarantee may fail with this probability.", metavar="ALPHA")
    ] = 0.05,
) -> None:
    """Say what a release would cost, without data.

    No table is read. The scale of the noise is the smallest that meets the privacy target.

    \b
    Example:
      opendp-topk plan --k 10 --candidates 5000 --epsilon 1
    """
    goal = target(epsilon, rho)
    number = int(candidates) if re.fullmatch("[0-9]{1,18}", candidates) else len(read_candidates(candidates))
    show_plan(Request(k, number, goal, users, neighbors, release), alpha)


def show_plan(request: Request, alpha: float = 0.05) -> None:
    """Print the plan for ``request``."""
    measurement = request.planned()
    guarantee = show.guarantee(measurement, request, alpha)
    show.rows(
        [
            ("question", f"which {request.k} of {request.n_candidates} candidates do most users have?"),
            ("mechanism", show.noise(measurement)),
            ("scale", f"{measurement.parameters['scale']} (the smallest that meets the target)"),
            ("cost", show.cost(measurement, request)),
            ("accuracy", guarantee),
            ("proof", show.proofs(measurement)),
        ]
    )
