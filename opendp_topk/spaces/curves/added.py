"""A bound of a privacy curve to which a delta is added.

Proof: proofs/spaces/curves/added.tex
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...errors.checks import Number
from ...numerics.arithmetic import exact, round_up


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
        return isinstance(other, Added) and self.delta <= other.delta and bool(self.bound.implies(other.bound))


# end-proof-region: added
