"""The options that several commands share, and the privacy target that they state."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from ..errors import ParameterError
from ..errors.checks import plain
from ..ledger.amounts import stated
from ..planning.catalogue import RELEASES
from ..planning.units import Budget
from ..spaces.measures import MaxDivergence, ZeroConcentratedDivergence
from ..transformations.keep_items import RULES
from .mechanisms import NAMES

NEIGHBORS = ("add_remove", "replace")

K = Annotated[int | None, typer.Option("--k", "-k", help="How many items to release.", show_default=False)]
Epsilon = Annotated[
    float | None,
    typer.Option(
        help="Privacy target: epsilon of pure differential privacy. Give this or --rho.",
        metavar="E",
        show_default=False,
    ),
]
Rho = Annotated[
    float | None,
    typer.Option(
        help="Privacy target: rho of zero-concentrated differential privacy. Give this or --epsilon.",
        metavar="R",
        show_default=False,
    ),
]
Users = Annotated[
    int, typer.Option(metavar="D_IN", help="By how many users two neighbouring tables differ: the group to protect.")
]
NeighborsOption = Annotated[
    str,
    typer.Option(
        metavar="|".join(NEIGHBORS),
        help="add_remove: a neighbouring table has a user more or less. "
        "replace: a user's rows are exchanged for those of another.",
    ),
]
ReleaseOption = Annotated[
    str,
    typer.Option(
        "--release", metavar="|".join(RELEASES), help="ranking: best first. set: which items, not their order."
    ),
]
MechanismOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help=f"How the items are chosen: {', '.join(NAMES)}. If not given: report_noisy_top_k for a ranking or with "
        "--counts, canonical for a set. plan --compare shows them side by side.",
        show_default=False,
    ),
]
CountsOption = Annotated[
    bool,
    typer.Option(
        "--counts", help="Release a noisy count of users with each item, at half of the cost; it may be below zero."
    ),
]


Delta = Annotated[
    float | None,
    typer.Option(
        help="Where no candidates are given: the probability, at most, that an item of one user alone comes out. "
        "With --candidates and --epsilon: the delta of the target (epsilon, delta), measured by the whole privacy "
        "curve. It allows less noise for many items, or for many releases.",
        metavar="D",
        show_default=False,
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        help="Where no candidates are given: how many items of the table take part, chosen without looking at it. "
        "If not given: ten times k.",
        metavar="N",
        show_default=False,
    ),
]
MaxItems = Annotated[
    int | None,
    typer.Option(
        help="Where no candidates are given: how many items of a user count, the first in alphabetical order. A small "
        "number lowers the threshold. If not given: all.",
        metavar="N",
        show_default=False,
    ),
]
SumOption = Annotated[
    str | None,
    typer.Option(
        "--sum",
        metavar="COLUMN",
        help="Rank items by the sum of this column of numbers instead of by users. Give --bounds.",
        show_default=False,
    ),
]
BoundsOption = Annotated[
    str | None,
    typer.Option(
        "--bounds",
        metavar="LOWER,UPPER",
        help="With --sum: what one user may add to one item. A user's total beyond is clamped. Public: choose them "
        "without looking at the table.",
        show_default=False,
    ),
]
StepOption = Annotated[
    str | None,
    typer.Option(
        "--step",
        metavar="STEP",
        help="With --sum: numbers are rounded to multiples of this, such as 0.01. If not given: 1.",
        show_default=False,
    ),
]
KeepOption = Annotated[
    str,
    typer.Option(
        "--keep",
        metavar="|".join(RULES),
        help="With --max-items, which items of a user count. random: drawn uniformly. order: the first in alphabetical "
        "order. rows: those with the most rows. value: with --sum, those with the largest totals.",
    ),
]
AboveOption = Annotated[
    bool,
    typer.Option(
        "--above-threshold",
        help="Where no candidates are given: release every item with enough users, with a noisy count, instead of the "
        "k best. Give --max-items, and leave --k out.",
    ),
]
OtherOption = Annotated[
    bool,
    typer.Option(
        "--other",
        help="Release, too, how many users have an item that is not released, as a noisy count at a tenth of the cost.",
    ),
]


def target(epsilon: float | None, rho: float | None) -> Budget:
    """The privacy target that exactly one of the two options states.

    Raises:
        ParameterError: Both or neither is given, or the one that is given is not a finite number > 0.
    """
    given = [
        (name, value, measure)
        for name, value, measure in (
            ("epsilon", epsilon, MaxDivergence()),
            ("rho", rho, ZeroConcentratedDivergence()),
        )
        if value is not None
    ]
    if len(given) != 1:
        raise ParameterError("give exactly one privacy target: --epsilon E or --rho R")
    name, value, measure = given[0]
    if not 0 < value < math.inf:
        raise ParameterError(f"--{name} must be a finite number > 0")
    return Budget(measure, plain(stated(value, f"--{name}")))
