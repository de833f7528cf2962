"""A bound of a privacy curve to which a delta is added.

Proof: proofs/spaces/curves/added.tex
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...errors.checks import Number
from ...numerics.arithmetic import exact, round_up
from .closed_forms import ApproximateDP, Concentrated


# proof-region: added
@dataclass(frozen=True)
class Added:
    """What ``bound`` says, and ``delta`` more at every epsilon."""

    bound: Any
    delta: Number

    def __call__(self, epsilon: Number) -> float:
        return round_up(min(Fraction(1), exact(self.delta) + exact(self.bound(epsilon))))  # [added]

    def implies(self, other: Any) -> bool:
        """Whether a curve below this one is below ``other``, too."""
        if not isinstance(other, Added) or self.delta > other.delta:
            return False
        own, its = self.bound, other.bound
        return bool(own == its or (type(own) in (ApproximateDP, Concentrated) and own.implies(its)))  # [growing]


# end-proof-region: added
