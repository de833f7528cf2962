"""A noise distribution as the rest of the library uses it: all its known properties, in one record.

A noise is given by its quantile function F^{-1}, its survival function and its density, evaluated with outward
rounding, and by the condition under which the theorems admit it.

- Lipschitz: ln(1 - F) is 1-Lipschitz. It is sufficient if the release is a set.
- Class A: f(z + c) >= e^{-c} f(z) for all z and c >= 0. It is required if the release is ordered, and implies
  the Lipschitz condition.

Proof: proofs/noises/standard.tex
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from gmpy2 import mpq

from ...errors.by_name import require_names
from ...numerics.arithmetic import Interval
from ...numerics.floats import FloatBounds

if TYPE_CHECKING:
    from .races.law import ArrivalDistribution

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
