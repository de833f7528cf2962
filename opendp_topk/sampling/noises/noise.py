"""A noise distribution as the rest of the library uses it: its known properties, and its distribution in a race.

Proofs: proofs/distributions/series.tex, proofs/distributions/one_shot_success.tex, proofs/noises/standard.tex
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from importlib import import_module
from typing import Any, cast

import gmpy2
import numpy as np
from gmpy2 import mpfr, mpq
from numpy.typing import NDArray

from ...errors.checks import require_names
from ...numerics.arithmetic import Interval
from ...numerics.floats import FloatBounds, Floats

Series = list[mpfr]


# proof-region: race_cells
@dataclass(frozen=True)
class Factor:
    """The function (constant + slope t) / (1 + rho t)^power of t in [-1, 1]."""

    constant: mpfr
    slope: mpfr
    rho: mpfr
    power: int

    def multiply_series(self, series: Series) -> Series:
        """Return the product with ``series``, truncated to its degree."""
        if self.constant == 0 and self.slope == 0:
            return [self.slope] * len(series)
        result = [self.constant * c + self.slope * b for b, c in zip([mpfr(0), *series], series, strict=False)]
        for _ in range(self.power):
            last = mpfr(0)
            for n, c in enumerate(result):
                last = result[n] = c - self.rho * last  # [recurrence]
        return result


Cell = tuple[list[Factor], list[Factor]]


def cell_midpoints(edges: list[Fraction]) -> list[tuple[mpfr, mpfr, Fraction]]:
    """Return the middle and the half-width of each cell, and the logarithm of its right end: [0, 1] first."""
    ends = [exp_of_fraction(edge) for edge in edges]
    first = [(mpfr("0.5"), mpfr("0.5"), edges[0])]
    return first + [((b + a) / 2, (b - a) / 2, edge) for a, b, edge in zip(ends, ends[1:], edges[1:], strict=False)]


def exp_of_fraction(value: Fraction) -> mpfr:
    """Return e^value at the precision of the context."""
    return gmpy2.exp(mpfr(mpq(value.numerator, value.denominator)))  # [exponential]


# end-proof-region: race_cells


Side = NDArray[np.bool_]
Triple = tuple[Floats, Floats, Floats]


# proof-region: race_law
@dataclass(frozen=True)
class ArrivalDistribution:
    """G, q and x G' of one noise.

    ``at(z, before)`` returns their values at z > 0; ``on_disc(left, right, before)`` returns bounds on their moduli on
    the complex disc with the diameter [left, right]; ``coefficient(m)`` is c_m in -ln q = the sum of c_m z^m. If
    ``kinked``, there is one formula before z = 1 and one after it; if ``ending``, all have arrived at z = 1.
    ``cells(scores, edges)`` returns the densities and survival functions of all arrivals, cell by cell, if they are
    rational; noises whose rankings have a closed form do not need it.
    """

    at: Callable[[Floats, Side], Triple]
    on_disc: Callable[[Floats, Floats, Side], Triple]
    coefficient: Callable[[int], float]
    kinked: bool = False
    ending: bool = False
    cells: Callable[[list[Fraction], list[Fraction]], list[Cell]] | None = None


# end-proof-region: race_law


IntervalFunction = Callable[[mpq, int], Interval]
"""A function at a rational point, as an interval rounded outward at a precision in bits."""


# proof-region: noise
@dataclass(frozen=True)
class Noise:
    """A noise distribution.

    ``quantile(u, precision)`` is an interval, rounded outward at ``precision`` bits, that contains F^{-1}(u) for a
    rational u in [0, 1] (the ends give the ends of the support, which may be infinite).
    ``quantile_floats(U, V)`` takes bounds (lower, upper) on arrays of U and of V = 1 - U, and returns float64
    bounds on F^{-1}.
    ``is_class_a`` and ``is_lipschitz`` are the conditions that the noise satisfies. For the five noises of the library
    both are proved. If ``is_proven`` is false, the noise comes from the caller, who vouches for them.
    ``survival(z, precision)`` encloses 1 - F at a rational z, and ``density(z, precision)`` encloses f; a custom noise
    has no density.

    The other properties that the theorems use are known for the five noises only. ``is_max_stable``: given the winner,
    the ranking of the remaining candidates is distributed as in a new race, so a ranking is a sequence of choices of
    one. ``is_memoryless``: the excess of the noise over any point at or above 0 has the distribution of the noise
    itself, so a single winner is that of permute-and-flip. ``is_two_sided``: the density is even, and its logarithm is
    1-Lipschitz. ``has_exponential_odds``: F / (1 - F) is e^z. ``tail``: a number c with 1 - F(z) <= c e^{-z} for all z.
    ``steepness``: a number c with -ln F(z + v) >= -e^{-c v} ln F(z) for all z and v >= 0. ``race`` names the module
    with its distribution in a race, as ``LAW``, and ``words`` is its name in prose.
    """

    name: str
    quantile: IntervalFunction
    quantile_floats: Callable[[FloatBounds, FloatBounds], FloatBounds]
    is_class_a: bool = True
    is_lipschitz: bool = True
    survival: IntervalFunction | None = None
    is_proven: bool = True
    is_max_stable: bool = False
    is_memoryless: bool = False
    is_two_sided: bool = False
    has_exponential_odds: bool = False
    tail: Fraction | None = None
    steepness: Fraction | None = None
    density: IntervalFunction | None = None
    race: str | None = None
    words: str = ""

    @property
    def has_standard_property(self) -> bool:
        """Whether it claims one of the properties that are known for the five noises only."""
        flags = self.is_max_stable, self.is_memoryless, self.is_two_sided, self.has_exponential_odds
        return any(flags) or (self.tail, self.steepness, self.race) != (None,) * 3  # [claims-more]

    def arrival_distribution(self) -> ArrivalDistribution:
        """Return the distribution of the arrival time of a candidate with this noise; this call loads its module."""
        assert self.race is not None
        return cast("ArrivalDistribution", import_module(self.race).LAW)  # [law-in-a-race]

    def __hash__(self) -> int:
        return hash((self.name, self.quantile))

    def __reduce__(self) -> tuple[Any, ...]:
        if not self.is_proven:
            require_names((self.survival, getattr(self.quantile, "inside", self.quantile)))
        return Noise, tuple(getattr(self, field.name) for field in fields(self))

    def __repr__(self) -> str:
        return f"{self.name}()" if self.is_proven else f"CustomNoise({self.name!r})"


# end-proof-region: noise
