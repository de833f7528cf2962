"""Cumulative laws on the integers, from the definition of the masses and mpmath alone."""

from fractions import Fraction
from typing import Any

import mpmath

from .discrete import weight


class Steps:
    """P(Z < z) to ``digits`` decimal digits, for P(z) in proportion to the weight of |z|, or of max(z, -1 - z).

    ``scale`` is that of the noise ``name``, whose weights are those of ``discrete.weight``.
    """

    def __init__(self, name: str, scale: Fraction, digits: int, *, mirrored: bool) -> None:
        self.digits = digits
        with mpmath.workdps(digits + 20):
            sizes = [weight(name, scale, 0)]
            while sizes[-1] / (1 - weight(name, scale, 1)) > mpmath.mpf(10) ** -(digits + 10):
                sizes.append(weight(name, scale, len(sizes)))
            one_side = sizes[1:] if mirrored else sizes
            self.least = -len(one_side)
            total, sums = mpmath.mpf(0), []
            for mass in [*reversed(one_side), *sizes]:
                sums.append(total)
                total += mass
            self.steps = [part / total for part in sums]

    def __call__(self, z: int) -> Any:
        """P(Z < z)."""
        return self.steps[z - self.least]
