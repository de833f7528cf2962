"""What theorems promise of a release, in words."""

from __future__ import annotations

import math
from fractions import Fraction

from ..core.measurement import Measurement
from ..distributions.events import Enclosure
from ..errors import checks
from .planning import Request
from .record import Promise

_NO_BOUND = "none: the scale is near the largest number that the computer holds"


def sure(alpha: float) -> tuple[Fraction, str]:
    """The probability of failure as an exact number, and that of success in words, which is never rounded."""
    exactly = Fraction(str(checks.probability(alpha, "--alpha")))
    percent = f"{float(100 * (1 - exactly)):.6g}"
    return exactly, f"{percent} %" if Fraction(percent) == 100 * (1 - exactly) else f"1 - {alpha}"


def promises(measurement: Measurement, request: Request, alpha: float = 0.05) -> dict[str, Promise]:
    """What theorems promise of a release, by the names of the record."""
    exactly, _ = sure(alpha)
    users = request.shortfall(measurement, exactly)
    made = {"accuracy": Promise(accuracy(measurement, request, alpha), _finite(users, request), alpha)}
    if request.counts:
        deviation = request.deviation(measurement, exactly)
        made["count_accuracy"] = Promise(
            count_guarantee(measurement, request, alpha), _finite(deviation, request), alpha
        )
    return made


def _finite(users: float | None, request: Request) -> int | None:
    """A number of users, where one is known; sums have none."""
    return None if users is None or users == math.inf or request.scoring.column is not None else int(users)


def accuracy(measurement: Measurement, request: Request, alpha: float = 0.05) -> str:
    """The accuracy theorem in words, and what it means for an item that is not popular enough."""
    exactly, _ = sure(alpha)
    users = request.shortfall(measurement, exactly)
    words = guarantee(measurement, request, alpha)
    if users is None or users == math.inf:
        return words
    below = f"more than {request.scoring.amount(users)} below" if users else "below"
    return f"{words}; so an item {below} the {largest(request.k)} {request.scoring.noun} would not be released"


def guarantee(measurement: Measurement, request: Request, alpha: float) -> str:
    """The accuracy theorem in words. Counts are integers, so that the bound may be rounded down to one."""
    exactly, words = sure(alpha)
    users = request.shortfall(measurement, exactly)
    if users is None:
        return "not computed: the possible releases are too many to count"
    if users == math.inf:
        return _NO_BOUND
    near = f"a {request.scoring.noun} within {request.scoring.amount(users)} of"
    if request.row.ranked:
        winner = "t-th released item" if request.release == "ranking" else "t-th most frequent of the released items"
        return (
            f"with probability at least {words}, for every t from 1 to {request.k} the {winner} "
            f"has {near if users else 'exactly'} the t-th largest {request.scoring.noun}"
        )
    reach = f"{near if users else 'at least'} the {largest(request.k)} {request.scoring.noun}"
    return f"with probability at least {words}, every released item has {reach}"


def count_guarantee(measurement: Measurement, request: Request, alpha: float = 0.05) -> str:
    """How far the noise may drive the counts, in words."""
    exactly, words = sure(alpha)
    users = request.deviation(measurement, exactly)
    if users == math.inf:
        return _NO_BOUND
    near = f"within {request.scoring.amount(users)} of" if users else "exactly"
    noun = request.scoring.noun
    return f"with probability at least {words}, every noisy {noun} is {near} the true {noun}"


def success(enclosure: Enclosure | None, request: Request) -> str:
    """The probability of an exact release on the proxy, in words."""
    if enclosure is None:
        return "the probability of the exact release is not known for this mechanism, or too long to compute"
    return f"{exact(request)} has probability {probability(enclosure)}"


def exact(request: Request) -> str:
    """The event that the release is as good as can be, in words."""
    return f"the exact top-{request.k}" + (", in any order," if request.k > 1 else "")


def probability(enclosure: Enclosure | None) -> str:
    """Three decimals, rounded outward where both ends do not share them; a dash for what is not known."""
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


def largest(rank: int) -> str:
    """Largest, 2nd largest, 3rd largest, 4th largest."""
    if rank == 1:
        return "largest"
    ending = "th" if rank % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank}{ending} largest"
