"""The parameters of an unknown-domain top-k selection with a stop symbol, and its privacy and accuracy.

Proof: proofs/measurements/unknown_domain_top_k.tex
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..core.releases import Release
from ..core.spaces import require_space
from ..errors import DataError, checks
from ..numerics.arithmetic import to_fraction
from ..sampling.distributions import one_shot_accuracy
from ..sampling.distributions import unlisted as exact_law
from ..sampling.noises.gumbel import Gumbel
from ..sampling.samplers import unlisted
from ..spaces.costs import NOT_STRICT, STRICT, Cost, require_with_delta
from ..spaces.keyed_counts import KeyedCountDistance, keep_largest_counts
from ._selection import Choice, one_shot_cost
from ._stop import released_before_stop, require_stop_noise, stop_threshold, threshold_as_float

MOST_KEYS = 2**22  # a race of so many slots fits in 256 MiB, so memory does not reveal the number of keys


# proof-region: key_selection
@dataclass(frozen=True)
class UnknownDomainSelection:
    """An unknown-domain top-k search on counts by key, with the contribution bound of ``metric``."""

    metric: KeyedCountDistance
    search: unlisted.Search

    @classmethod
    def from_arguments(
        cls,
        domain: Any,
        metric: Any,
        measure: Any,
        *,
        k: Any,
        scale: Any,
        limit: Any,
        delta: Any,
        threshold: Any,
        noise: Any,
    ) -> UnknownDomainSelection:
        """Return the selection for the arguments of ``make_unknown_domain_top_k``, with the same errors."""
        require_space(domain, metric, KeyedCountDistance, "KeyedCountDistance(...)")  # [check-space]
        noise = require_stop_noise(Gumbel() if noise is None else noise)  # [check-noise]
        kinds, note = (STRICT, "") if noise.is_max_stable else (NOT_STRICT, ", with exponential noise")
        require_with_delta(measure, kinds, note)  # [check-measure]
        limit = checks.require_positive_int("limit", limit, at_most=MOST_KEYS, limit="2^22")  # [check-limit]
        k = checks.require_positive_int("k", k, at_most=limit, limit="limit")  # [check-k]
        tau = to_fraction(checks.require_scale(scale))  # [check-scale]
        slots, start = metric.moved_one_way(1, limit), metric.range_distance(1)
        level = stop_threshold(noise, slots, Fraction(start), tau, delta, threshold)  # [level]
        return cls(metric, unlisted.Search(limit, level, tau, noise, k))  # [search]

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that a measurement displays, other than k and the scale."""
        asked = self.search
        return {"limit": asked.limit, "threshold": threshold_as_float(asked.threshold), "noise": asked.noise.name}

    def leading_counts(self, counts: Mapping[Any, int]) -> Mapping[Any, int]:
        """Return counts that determine the release: at least the ``limit`` + 1 largest."""
        return keep_largest_counts(counts, self.search.limit + 1)  # [largest]

    def to_found_items(self, items: Any) -> Release:
        """Return the keys that a search found, and whether they are fewer than k."""
        return Release(items=items, stopped=len(items) < self.search.k)  # [stopped]

    @property
    def is_strict(self) -> bool:
        """Whether the privacy cost is valid outside an event of probability at most :meth:`failure_probability`."""
        return self.search.noise.is_max_stable  # [strict]

    def step_range(self, d_in: int) -> Fraction | float:
        """Return the range of the privacy loss of one step: the range distance divided by the scale."""
        tau = self.search.scale
        return math.inf if tau == 0 else self.metric.range_distance(d_in) / tau  # [width]

    def privacy_cost(self, d_in: int) -> Cost:
        """Return the privacy cost of a ranking of keys and the stop symbol, for a scale > 0."""
        asked = self.search
        choice = Choice(asked.k, asked.limit + 1, asked.scale, 1, True)  # [choice]
        return one_shot_cost(asked.noise, choice, to_fraction(self.step_range(d_in)))  # [cost]

    def failure_probability(self, d_in: int) -> Fraction:
        """Return an upper bound of the delta up to which the privacy cost is valid."""
        asked = self.search
        if d_in == 0 or asked.scale == 0:
            return Fraction(0)
        slots = self.metric.moved_one_way(d_in, asked.limit)  # [slots]
        lead = (asked.threshold - self.metric.range_distance(d_in)) / asked.scale
        return released_before_stop(asked.noise, slots, lead)  # [lost]

    def success_probability(self, counts: Mapping[Any, int], event: str) -> tuple[float, float]:
        """Return bounds on the probability that the release has k keys and satisfies ``event``."""
        if len(counts) < self.search.k:
            raise DataError(f"counts must contain at least k keys ({self.search.k})")  # [enough-keys]
        return exact_law.success_probability(self.leading_counts(counts), self.search, event)  # [success]

    def accuracy(self, _: Any, alpha: Any) -> float:
        """Return how far the count of a released key may fall below the true count of its rank."""
        asked = self.search
        return one_shot_accuracy.accuracy(asked.noise, asked.limit + 1, asked.k, asked.scale, alpha)  # [accuracy]


# end-proof-region: key_selection
