"""Releases that are drawn step by step, and show how many steps they took.

Proof: proofs/core/steps.tex
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any


# proof-region: steps
@dataclass(frozen=True)
class Steps:
    """What a measurement declares of the steps in which its releases are drawn.

    For inputs at distance d: but for an event of probability ``delta(d)`` a release y is drawn in ``drawn(y)`` steps,
    from 1 to ``most``, each of range at most ``width(d)`` whatever was drawn before. A width may be infinite.
    """

    most: int
    width: Callable[[Any], Fraction | float]
    delta: Callable[[Any], Fraction]
    drawn: Callable[[Any], int]

    def after(self, stability: Callable[[Any], Any]) -> Steps:
        """The same for inputs of a transformation with this stability map."""
        return replace(
            self,
            width=lambda d_in: self.width(stability(d_in)),
            delta=lambda d_in: self.delta(stability(d_in)),  # [before-steps]
        )


# end-proof-region: steps
