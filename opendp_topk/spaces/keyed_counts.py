"""Counts by key over an unknown domain, and their distance in users.

Proof: proofs/spaces/keyed_counts.tex
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, DataTypeError, ParameterError, checks
from .domains import Domain
from .metrics import Metric

Places = NDArray[np.int64]


# proof-region: keyed_counts
@dataclass(frozen=True)
class KeyedCountsDomain(Domain):
    """Counts by key: mappings from keys to integers from 1 to 2^63 - 1; a missing key has the count 0.

    Keys are all integers or all strings, from an unknown domain: the type of the keys is public, and the set of keys
    that occur is private. Integers are compared as numbers and strings by their code points, without case folding or
    Unicode normalisation. Ties are broken in this order of the keys, which is public. An empty mapping is a member.
    """

    def validate(self, value: Any) -> Mapping[Any, int]:
        from ..tables.held import FetchedCounts

        if isinstance(value, FetchedCounts):
            return value  # [held]
        if not isinstance(value, Mapping):
            raise DataTypeError(f"counts by key must be a mapping from keys to counts, not {type(value).__name__}")
        kinds = set(map(type, value))
        text = all(issubclass(kind, str) for kind in kinds)
        if not text and not all(issubclass(kind, int) and kind is not bool for kind in kinds):
            raise DataTypeError("keys must be all strings or all Python integers (not bools)")  # [keys]
        for kind in set(map(type, value.values())):
            if not issubclass(kind, int) or kind is bool:
                raise DataTypeError(f"counts must be Python integers, not {kind.__name__}")  # [integers]
        if value and not (min(value.values()) >= 1 and max(value.values()) < 2**63):
            raise DataError("counts must be between 1 and 2^63 - 1: omit keys without users")  # [positive]
        return value if type(value) is dict else dict(value)


def count_columns(counts: Mapping[Any, int]) -> tuple[Places, Callable[[Places], list[Any]]]:
    """Return the counts in some order, as int64, and a function that maps places in this order to keys."""
    from ..tables.held import ColumnCounts

    if isinstance(counts, ColumnCounts):
        return counts.sizes, counts.keys_at  # [held-columns]
    keys = list(counts)
    sizes = np.fromiter(counts.values(), dtype=np.int64, count=len(keys))  # [sizes]
    return sizes, lambda places: [keys[at] for at in places.tolist()]


def keep_largest_counts(counts: Mapping[Any, int], n: int) -> Mapping[Any, int]:
    """Return part of a mapping that has the same n largest counts, with ties broken in the public order of keys."""
    from ..tables.held import EngineCounts

    if isinstance(counts, EngineCounts):
        return counts.largest(n)  # [held-largest]
    sizes, keys_at = count_columns(counts)
    if len(sizes) <= n:
        return counts
    least = np.partition(sizes, len(sizes) - n)[len(sizes) - n]
    places = np.flatnonzero(sizes >= least)  # [enough]
    return dict(zip(keys_at(places), sizes[places].tolist(), strict=True))


@dataclass(frozen=True)
class KeyedCountDistance(Metric):
    """The number of users by which counts by key differ; each changes at most ``max_items`` counts by at most ``each``.

    A step of one user raises some counts by up to ``each`` (the user is added), or lowers some (the user is removed).

    With ``monotonic=True``, counts are at distance d if d steps lead from one to the other, each up or down. With
    ``monotonic=False``, up to d steps up and up to d steps down: d users are replaced by others.

    With ``max_items=None``, a user may change any number of counts. ``each`` is the upper bound on the contribution of
    one user to a sum; the default is 1, for counts of users.
    """

    max_items: int | None = None
    monotonic: bool = True
    each: int = 1

    def __post_init__(self) -> None:
        if self.max_items is not None:
            object.__setattr__(self, "max_items", checks.require_positive_int("max_items", self.max_items))
        checks.require_boolean("monotonic", self.monotonic)
        object.__setattr__(self, "each", checks.require_positive_int("each", self.each))

    def __repr__(self) -> str:
        far = "" if self.each == 1 else f", each={self.each}"
        return f"KeyedCountDistance(max_items={self.max_items}, monotonic={self.monotonic}{far})"

    def fits(self, domain: Domain) -> bool:
        return isinstance(domain, KeyedCountsDomain)

    def distance(self, value: Any, name: str) -> int:
        if not checks.is_integer(value):
            raise ParameterError(f"{name} counts users: it must be an integer >= 0, not {type(value).__name__}")
        return int(checks.require_distance(value, name))  # [whole]

    def steps(self, d_in: int) -> int:
        """Return the maximum number of steps, up and down together."""
        return d_in if self.monotonic else 2 * d_in  # [both-ways]

    def rise(self, d_in: int) -> int:
        """Return the largest increase of one count, which is also the largest decrease."""
        return d_in * self.each  # [rise]

    def range_distance(self, d_in: int) -> int:
        """Return the largest change of the difference between two counts, by steps up and steps down together."""
        return self.steps(d_in) * self.each  # [range]

    def moved_one_way(self, d_in: int, limit: int) -> int:
        """Return the maximum number of counts that increase, or that decrease, capped at ``limit``."""
        most = limit if self.max_items is None else self.max_items
        return min(limit, d_in * most)  # [one-way]

    def limited(self) -> int:
        """Return ``max_items`` for functions that need a contribution bound.

        Raises:
            ParameterError: ``max_items`` is None.
        """
        if self.max_items is None:
            raise ParameterError("input_metric must have max_items: otherwise one user may change all counts")
        return self.max_items


# end-proof-region: keyed_counts
