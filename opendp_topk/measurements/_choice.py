"""What is asked of one selection, as one value.

Proof: proofs/measurements/selection.tex
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


# proof-region: choice
@dataclass(frozen=True)
class Choice:
    """k of ``size`` candidates (None where the number is not known), best first or as a set, at the scale ``tau``.

    ``sign`` is 1 where large scores are good and -1 where small ones are.
    """

    k: int
    size: int | None
    tau: Fraction
    sign: int
    ordered: bool

    @property
    def everybody(self) -> bool:
        """Whether every candidate is in the set that is released."""
        return self.k == self.size and not self.ordered  # [everybody]

    @property
    def steps(self) -> int:
        """min(k, d - 1): the choices of one that are no foregone conclusion."""
        return self.k if self.size is None else min(self.k, self.size - 1)  # [cap-steps]

    @property
    def touched(self) -> int:
        """min(2 k, d): the candidates in two releases together, at most."""
        return 2 * self.k if self.size is None else min(2 * self.k, self.size)  # [cap-width]

    @property
    def two_sided_steps(self) -> int:
        """min(k, floor(d / 2)) for a ranking, min(k, d - k) for a set."""
        if self.size is None:
            return self.k
        return min(self.k, self.size // 2 if self.ordered else self.size - self.k)  # [two-sided]


# end-proof-region: choice
