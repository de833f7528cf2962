"""The options that several commands share, and the privacy target that they state."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from ..errors import ParameterError, checks
from ..errors.checks import plain
from ..ledger.amounts import stated
from ..planning.catalogue import RELEASES
from ..spaces.measures import MaxDivergence, Measure, PrivacyProfile, ZeroConcentratedDivergence
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


@dataclass(frozen=True)
class Target:
    """A privacy target: a measure and the distance that a release may reach in it, a pair where it has a delta."""

    measure: Measure
    budget: Any

    @property
    def symbol(self) -> str:
        """The option that states it, beside --delta."""
        return "epsilon" if isinstance(self.measure, PrivacyProfile) else self.measure.symbol

    def relaxed(self, delta: float) -> Target:
        """The target (epsilon, delta).

        Raises:
            ParameterError: It is one of rho, or delta is not between 0 and 1.
        """
        if self.symbol != "epsilon":
            raise ParameterError("--delta goes with --epsilon: rho has no delta")
        checks.probability(delta, "--delta")
        return Target(PrivacyProfile(), (self.budget, plain(stated(delta, "--delta"))))


def target(epsilon: float | None, rho: float | None) -> Target:
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
    return Target(measure, plain(stated(value, f"--{name}")))
