"""Metrics: distances between inputs, such as neighbouring datasets.

The score metrics bound the range distance

    d_R(x, x') = max over i, j of |(x_i - x'_i) - (x_j - x'_j)|.

The privacy map of every selection is a function of it, because adding a constant to all scores changes no selection.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from ..errors import ParameterError, ParameterTypeError, SpaceError, checks
from ..errors.checks import Number
from .domains import AtomDomain, Domain, FrameDomain, VectorDomain


class Metric(ABC):
    """A distance between members of a domain."""

    @abstractmethod
    def fits(self, domain: Domain) -> bool:
        """Whether this metric measures members of ``domain``."""

    def require(self, domain: Domain, side: str = "input") -> None:
        """Raise :class:`SpaceError` unless this metric fits ``domain``."""
        if not self.fits(domain):
            raise SpaceError(f"{side}_metric {self!r} does not measure members of {side}_domain {domain!r}")

    def distance(self, value: Any, name: str) -> Number:
        """Return ``value`` as a distance of this metric.

        Raises:
            ParameterError: ``value`` is negative, NaN, or not a number.
        """
        return checks.require_distance(value, name)


class ScoreMetric(Metric):
    """A metric on vectors of scores that bounds the range distance."""

    def fits(self, domain: Domain) -> bool:
        return isinstance(domain, VectorDomain) and isinstance(domain.element_domain, AtomDomain)

    @abstractmethod
    def range_distance(self, d_in: Number) -> Number:
        """Return the largest range distance d_R between vectors at distance ``d_in``, in units of the scores.

        If one individual raises any score by at most D1 and lowers any by at most D2, the range distance is at most
        D1 + D2. Declare ``RangeDistance()`` and evaluate the map at ``d_in = D1 + D2``: this is less than the
        2 max(D1, D2) of ``LInfDistance()`` unless D1 = D2.

        Distances between integer vectors are integers, so the maps of the library's measurements use ``floor(d_in)``
        for them; see :func:`attainable_distance`.

        Raises:
            ParameterError: ``d_in`` is negative, NaN, or not a number.

        Proof: proofs/spaces/range_distance.tex
        """


# proof-region: range_distance
@dataclass(frozen=True)
class LInfDistance(ScoreMetric):
    """The largest change of any single score.

    With ``monotonic=False``: d = max_i |x_i - x'_i|, and d_R <= 2 d.

    With ``monotonic=True`` it is the path metric of steps that change all scores in the same direction: adding a user
    raises counts and removing one lowers them. d = max_i (x'_i - x_i)_+ + max_i (x_i - x'_i)_+, and d_R <= d. Adding
    one user and removing another is distance 2.
    """

    monotonic: bool = False

    def __post_init__(self) -> None:
        checks.require_boolean("monotonic", self.monotonic)

    def range_distance(self, d_in: Number) -> Number:
        d_in = self.distance(d_in, "d_in")  # [distance]
        return d_in if self.monotonic else 2 * d_in  # [l-inf]


@dataclass(frozen=True)
class RangeDistance(ScoreMetric):
    """The range distance itself: d_R(x, x') = max_{i,j} |(x_i - x'_i) - (x_j - x'_j)|."""

    def range_distance(self, d_in: Number) -> Number:
        return self.distance(d_in, "d_in")  # [range]


# end-proof-region: range_distance


# proof-region: attainable
def attainable_distance(domain: Domain, d_in: Number) -> Number:
    """Return a distance <= ``d_in`` such that score vectors within ``d_in`` of each other are within it.

    Distances between integer vectors under ``LInfDistance``, ``RangeDistance`` and ``L1Distance`` are integers, so for
    them the result is ``floor(d_in)``.
    """
    whole = isinstance(domain, VectorDomain) and domain.element_domain.T is int
    return math.floor(d_in) if whole and d_in < math.inf else d_in  # [whole]


# end-proof-region: attainable


# proof-region: few_changes
@dataclass(frozen=True, kw_only=True)
class L01InfDistance(LInfDistance):
    """The largest change of any single score if few scores change, for integer vectors.

    d = max(d', ceil(sum_i |x_i - x'_i| / changes)), where d' is the distance of ``LInfDistance(monotonic)``. So
    datasets that differ by d users with at most ``changes`` items each, who change the count of each of their items by
    one, are at distance at most d. Every guarantee at a distance of ``LInfDistance(monotonic)`` also holds at the same
    distance of this metric.
    """

    changes: int

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "changes", checks.require_positive_int("changes", self.changes))

    def fits(self, domain: Domain) -> bool:
        return isinstance(domain, VectorDomain) and domain.element_domain.T is int  # [integers-only]

    def moves(self, d_in: Number) -> tuple[int, int]:
        """Return the largest change of one score and the largest sum of all changes, for a finite ``d_in``."""
        each = math.floor(self.distance(d_in, "d_in"))  # [each]
        return each, self.changes * each  # [together]


# end-proof-region: few_changes


# proof-region: per_candidate
@dataclass(frozen=True, kw_only=True)
class PerCandidateDistance(Metric):
    """The largest change of a score relative to the bound of its candidate; ``bounds`` has one number > 0 for each.

    With b_i the bounds and ``monotonic=False``: d = max_i |x_i - x'_i| / b_i. With ``monotonic=True`` it is the path
    metric of steps that change all scores in the same direction:
    d = max_i (x'_i - x_i)_+ / b_i + max_i (x_i - x'_i)_+ / b_i. So if one individual changes the i-th score by at most
    b_i, neighbouring score vectors are at distance at most 1.
    """

    bounds: tuple[Number, ...]
    monotonic: bool = False

    def __post_init__(self) -> None:
        checks.require_boolean("monotonic", self.monotonic)
        given: Any = self.bounds
        if not (isinstance(given, list | tuple) or getattr(given, "ndim", 0) == 1) or len(given) == 0:
            raise ParameterTypeError("bounds must be a list of numbers > 0, one for each candidate")
        bounds = tuple(checks.require_scale(bound, "bounds") for bound in given)
        if 0 in bounds:
            raise ParameterError("bounds must be > 0: give scores that never change a small bound, or omit them")
        object.__setattr__(self, "bounds", bounds)  # [bounds]

    def fits(self, domain: Domain) -> bool:
        return isinstance(domain, VectorDomain) and domain.size == len(self.bounds)  # [one-each]


# end-proof-region: per_candidate


@dataclass(frozen=True)
class L1Distance(Metric):
    """The sum of the absolute changes of all scores."""

    def fits(self, domain: Domain) -> bool:
        return isinstance(domain, VectorDomain)


@dataclass(frozen=True)
class L2Distance(Metric):
    """The Euclidean length of the change of the score vector."""

    def fits(self, domain: Domain) -> bool:
        return isinstance(domain, VectorDomain)


@dataclass(frozen=True)
class UserDistance(Metric):
    """The number of users by which two tables differ; a user may have any number of rows.

    ``neighbors="add_remove"``: users added plus users removed. ``neighbors="replace"``: users whose rows are replaced
    by those of another user; the number of users is public.
    """

    neighbors: str = "add_remove"

    def __post_init__(self) -> None:
        checks.require_choice("neighbors", self.neighbors, ("add_remove", "replace"))

    def fits(self, domain: Domain) -> bool:
        return isinstance(domain, FrameDomain)

    def distance(self, value: Any, name: str) -> int:
        if not checks.is_integer(value):
            raise ParameterError(f"{name} counts users: it must be an integer >= 0, not {type(value).__name__}")
        return int(checks.require_distance(value, name))
