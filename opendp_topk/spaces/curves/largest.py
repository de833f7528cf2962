"""The largest of several privacy curves: of neighbours of which it is not known which one of them holds.

Proof: proofs/spaces/curves/largest.tex
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from ...errors.checks import Number
from .composed import _follows
from .curve import PrivacyCurve


# proof-region: largest
@dataclass(frozen=True)
class Largest:
    """What holds between two laws that obey one of ``curves``, whichever it is."""

    curves: tuple[PrivacyCurve, ...]
    takes_long: ClassVar[bool] = True

    def __call__(self, epsilon: Number) -> float:
        return max(curve.delta(epsilon) for curve in self.curves)  # [largest]

    def implies(self, other: Any) -> bool:
        """Whether a curve below this one is below ``other``, too: whether ``other`` has all of these curves."""
        return isinstance(other, Largest) and set(self.curves) <= set(other.curves)  # [fewer]


def whichever(curves: Iterable[PrivacyCurve]) -> PrivacyCurve:
    """The curve of laws that obey one of ``curves``, whichever it is: their largest, and what all of them state."""
    listed = tuple(dict.fromkeys(curves))
    if len(listed) == 1:
        return listed[0]  # [one-of-them]
    stated = dict.fromkeys(bound for curve in listed for bound in curve.bounds)
    common = (bound for bound in stated if all(_follows(bound, curve) for curve in listed))  # [common]
    return PrivacyCurve(Largest(listed), *common)


# end-proof-region: largest
