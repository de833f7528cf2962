"""Removal of all keys with fewer users than a minimum, and post-processing that restores the counts."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.candidates import integers_or_strings
from ..core.claims import proved_by
from ..core.partials import partial_constructor
from ..core.releases import Release, annotated_fields
from ..core.spaces import require_space
from ..core.transformation import Transformation
from ..errors import ParameterError, ParameterTypeError, SpaceError, checks
from ..errors.checks import Number
from ..spaces.domains import VectorDomain, same_items
from ..spaces.keyed_counts import KeyedCountDistance, KeyedCountsDomain, count_columns
from ..spaces.metrics import LInfDistance

_LARGEST = 2**63 - 1  # the largest count by key


@proved_by("transformations/minimum_users")
def make_minimum_users(
    input_domain: KeyedCountsDomain | VectorDomain,
    input_metric: KeyedCountDistance | LInfDistance,
    *,
    minimum_users: int,
    candidates: Iterable[Hashable] | None = None,
) -> Transformation:
    """Drop the keys with fewer than ``minimum_users`` users, and reduce the other counts: max(c - M + 1, 0).

    A measurement that follows never releases a dropped key. This needs a delta, even for listed candidates: a key with
    M - 1 users is never released and one with M users may be, so the loss under pure or zero-concentrated privacy is
    infinite. Only measurements for unknown domains may follow, and they have a delta.

    Args:
        input_domain: ``KeyedCountsDomain()``, or a ``VectorDomain`` of integer counts of listed candidates. The counts
            must be numbers of users. Sums that one user may change by more than 1 are refused.
        input_metric: ``KeyedCountDistance(...)``, or ``LInfDistance(...)`` for listed candidates.
        minimum_users: M, at least 1.
        candidates: The listed items in the order of the counts: all integers or all strings. The default is the
            candidates of the input domain. Must be None for ``KeyedCountsDomain()``.

    Returns:
        A :class:`Transformation` to ``KeyedCountsDomain()``. Its counts are M - 1 too small:
        ``>> add_to_counts(M - 1)`` corrects the released ones. The map is d_in under the same metric. For listed
        candidates it is d_in rounded down to an integer, under ``KeyedCountDistance(max_items=None, monotonic=...)``.

    Raises:
        ParameterError: ``minimum_users`` is below 1, candidates are missing or not allowed, the input vectors are not
            of integers, or the domain of a given list does not declare its size. The candidates are not distinct
            integers or strings, or not those of the domain. The map is evaluated at an infinite d_in.
        ParameterTypeError: The metric or ``minimum_users`` has the wrong type.
        SpaceError: The metric does not fit the domain, or the counts are known not to be numbers of users.

    Runtime: O(n) for n keys.

    Proof: proofs/transformations/minimum_users.tex

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.KeyedCountsDomain(), tk.KeyedCountDistance(max_items=1)
        >>> at_least = space >> tk.then_minimum_users(minimum_users=10)
        >>> at_least({"umbrella": 30, "rain coat": 10, "my own name": 9})
        {'umbrella': 21, 'rain coat': 1}
        >>> measure = tk.Approximate(tk.MaxDivergence())
        >>> found = at_least >> tk.then_stable_histogram(measure, scale=1.0, threshold=5) >> tk.add_to_counts(9)
        >>> found({"umbrella": 90, "my own name": 9}).items
        ('umbrella',)
    """
    # proof-region: minimum_users
    least = checks.require_positive_int("minimum_users", minimum_users)  # [check-minimum]
    keys: tuple[Any, ...] | None = None
    metric: Any = input_metric
    if isinstance(input_domain, VectorDomain):
        require_space(input_domain, input_metric, LInfDistance, "LInfDistance(...), the metric of counts of a list")
        _require_users(input_domain.counts_users is not False)  # [users-of-a-list]
        keys = _checked_candidates(input_domain, candidates)  # [keys]
        metric = KeyedCountDistance(None, input_metric.monotonic)  # [listed-metric]
        input_domain = replace(input_domain, candidates=keys, counts_users=True)  # [of-users]
    else:
        require_space(input_domain, input_metric, KeyedCountDistance, "KeyedCountDistance(...) or LInfDistance(...)")
        if candidates is not None:
            raise ParameterError("candidates must be omitted: counts by key contain their keys")
        _require_users(metric.each == 1)  # [users-by-key]

    def function(counts: Any) -> Mapping[Any, int]:
        from ..tables.held import EngineCounts

        if keys is not None:
            listed = zip(keys, map(int, counts), strict=True)
            return {key: min(count - least + 1, _LARGEST) for key, count in listed if count >= least}  # [listed]
        if isinstance(counts, EngineCounts):
            held = counts.largest
            return EngineCounts(lambda n: {key: c - least + 1 for key, c in held(n).items() if c >= least})  # [held]
        sizes, keys_at = count_columns(counts)
        places = np.flatnonzero(sizes >= least)  # [enough]
        return dict(zip(keys_at(places), (sizes[places] - (least - 1)).tolist(), strict=True))  # [from-there]

    return Transformation(
        input_domain=input_domain,
        input_metric=input_metric,
        output_domain=KeyedCountsDomain(),
        output_metric=metric,
        function=function,
        stability_map=_floor_distance,
        parameters={"minimum_users": least},
    )


@proved_by("transformations/minimum_users")
def map_only_minimum(input_domain: VectorDomain, input_metric: LInfDistance, *, minimum_users: int) -> Transformation:
    """Return ``make_minimum_users`` for counts of unnamed candidates, for the evaluation of its map only."""
    one = replace(input_domain, size=1, candidates=None)
    named = make_minimum_users(one, input_metric, minimum_users=minimum_users, candidates=(0,))
    return replace(named, input_domain=input_domain)  # [nameless-minimum]


def _floor_distance(d_in: Number) -> int:
    if d_in == math.inf:
        raise ParameterError("d_in must be finite: for counts by key it is a number of users")
    return math.floor(d_in)  # [stability]


def _require_users(they_are: bool) -> None:
    if not they_are:
        raise SpaceError(
            "minimum_users must follow numbers of users, such as those of make_count_by_item: one user may "
            "change a sum or another score by more than 1, so these do not show the number of users"
        )


def _checked_candidates(domain: VectorDomain, candidates: Any) -> tuple[Any, ...]:
    if domain.element_domain.T is not int:
        raise ParameterError("input_domain must contain integers: VectorDomain(AtomDomain(int), size=...)")
    if candidates is None and domain.candidates is not None:
        return tuple(domain.candidates)  # [counted]
    if candidates is None or domain.size is None:
        raise ParameterError("candidates must be given for the counts of a list, whose domain must declare its size")
    listed = integers_or_strings(candidates, "candidates")
    if len(listed) != domain.size:
        raise ParameterError("candidates must be as many as the counts of the input domain")  # [as-many]
    if domain.candidates is not None and not same_items(listed, domain.candidates):
        raise ParameterError("candidates must be the counted candidates, in their order: omit them")  # [those]
    return listed


@dataclass(frozen=True)
class AddToCounts:
    """Post-processing that adds a number to each noisy count: the right-hand side of ``measurement >> ...``."""

    number: int

    def __call__(self, release: Any) -> Any:
        if not isinstance(release, Release) or release.counts is None:
            raise ParameterTypeError("add_to_counts must follow a measurement that releases counts: omit it")
        return replace(release, counts=tuple(count + self.number for count in release.counts))  # [add]

    def output_type_for(self, released: Any, _: int | None) -> Any:
        if "counts" not in annotated_fields(released):
            raise SpaceError(
                "add_to_counts must follow a measurement whose releases have a field counts, such as "
                "make_stable_histogram: omit it after others"
            )
        return released


def add_to_counts(number: int) -> AddToCounts:
    """Return post-processing that adds ``number`` to each noisy count of a release.

    After ``make_minimum_users`` with a minimum of M users, adding M - 1 restores the numbers of users.

    Args:
        number: An integer.

    Returns:
        A function of releases with a field ``counts``, for the right-hand side of ``>>``.

    Raises:
        ParameterTypeError: ``number`` is not an integer; or, on a call, the release has no counts.

        After ``>>``: SpaceError if the measurement is known to release no counts.

    Example:
        >>> import opendp_topk as tk
        >>> tk.add_to_counts(9)
        AddToCounts(number=9)
    """
    if not checks.is_integer(number):
        raise ParameterTypeError("number must be an integer")
    return AddToCounts(int(number))
    # end-proof-region: minimum_users


then_minimum_users = partial_constructor(make_minimum_users)
