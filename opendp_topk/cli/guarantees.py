"""How likely a release is as good as can be, in words."""

from __future__ import annotations

import math

from ..distributions.events import Enclosure
from ..planning.top_k import TopK


def success(enclosure: Enclosure | None, task: TopK) -> str:
    """The probability of an exact release on the proxy, in words."""
    if enclosure is None:
        return "the probability of the exact release is not known for this mechanism, or too long to compute"
    return f"{exact(task)} has probability {probability(enclosure)}"


def exact(task: TopK) -> str:
    """The event that the release is as good as can be, in words."""
    return f"the exact top-{task.k}" + (", in any order," if task.k > 1 else "")


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
