"""Unknown-domain top-k selection with a stop symbol: its parameters, its threshold and its privacy.

Proof: proofs/measurements/unknown_domain_top_k.tex
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..core.releases import Release
from ..core.spaces import require_space
from ..errors import DataError, ParameterError, checks
from ..errors.checks import Number
from ..numerics.arithmetic import Intervals, as_mpq, exp_up, one_minus_exp_up, round_up, to_fraction
from ..sampling.distributions import one_shot_accuracy
from ..sampling.distributions import unlisted as exact_law
from ..sampling.noises.gumbel import Gumbel
from ..sampling.noises.noise import Noise
from ..sampling.noises.standard import is_standard
from ..sampling.samplers import unlisted
from ..spaces.costs import NOT_STRICT, STRICT, Cost, require_with_delta
from ..spaces.curves.curve import PrivacyCurve, _bits_to_float, _float_to_bits, least_argument
from ..spaces.keyed_counts import KeyedCountDistance, keep_largest_counts
from ..spaces.measures import PrivacyProfile
from ._moved import ChangedScores, gumbel_bounds
from ._selection import Choice, one_shot_cost

_FARTHEST = Fraction(800)  # in scales: beyond it the probability is below every positive float64
_PRECISION = 128  # binary digits beyond those that cancel


# proof-region: stop
def released_before_stop(noise: Noise, slots: int, lead: Fraction) -> Fraction:
    """Return an upper bound of the probability that at least one of ``slots`` equal scores beats the stop symbol.

    Args:
        noise: Gumbel or exponential noise.
        slots: The number of equal scores, >= 1.
        lead: The score of the stop symbol minus that of a slot, in units of the scale; it may be negative.
    """
    if lead < 0:
        weight = 1 - one_minus_exp_up(-lead)  # [behind]
        return slots / (slots + weight) if noise.is_max_stable else 1 - weight / (slots + 1)  # [behind-delta]
    if noise.is_max_stable:
        odds = slots * exp_up(-lead)
        return odds / (1 + odds)  # [gumbel]
    return _exponential_win_bound(slots, min(lead, _FARTHEST))  # [exponential]


def _exponential_win_bound(slots: int, lead: Fraction) -> Fraction:
    """Return 1 - (1 - (1 - x)^(n+1)) / ((n+1) x) for n slots at x = e^-lead, rounded up."""
    if lead == 0:
        return Fraction(slots, slots + 1)  # [even]
    at = Intervals(_PRECISION + 3 * int(lead) + 2 * slots.bit_length())
    one = at.rational(1)
    x = at.exp(at.rational(as_mpq(-lead)))
    power = at.exp(at.multiply(at.rational(slots + 1), at.log1p(at.negative(x))))  # [power]
    ahead = at.divide(at.add(one, at.negative(power)), at.multiply(at.rational(slots + 1), x))
    numerator, denominator = at.add(one, at.negative(ahead))[1].as_integer_ratio()  # [upper-end]
    return max(Fraction(0), min(Fraction(1), Fraction(int(numerator), int(denominator))))


def is_within_delta(noise: Noise, slots: int, lead: Fraction, delta: Fraction) -> bool:
    """Return whether :func:`released_before_stop`, rounded up to a float64 as in maps, is at most ``delta``."""
    return to_fraction(round_up(released_before_stop(noise, slots, lead))) <= delta  # [keeps]


@functools.lru_cache(maxsize=256)
def least_lead(noise: Noise, slots: int, delta: Fraction) -> float:
    """Return the smallest float64 >= 0, or one close to it, that satisfies ``delta`` as lead of the stop symbol.

    Raises:
        ParameterError: delta is too small: no lead was found.
    """

    def chance(bits: int) -> float:
        return round_up(released_before_stop(noise, slots, Fraction(_bits_to_float(bits))))

    last = _float_to_bits(float(_FARTHEST))
    if chance(last) > delta:
        raise ParameterError("delta is too small: no threshold satisfies it")
    return _bits_to_float(least_argument(chance, delta, -1, last))


def require_stop_noise(noise: Any) -> Noise:
    """Return ``noise`` if it is Gumbel or exponential noise, for which the probabilities are known."""
    if isinstance(noise, Noise) and is_standard(noise) and (noise.is_max_stable or noise.is_memoryless):
        return noise
    raise ParameterError("noise must be Gumbel() or Exponential()")


def stop_threshold(noise: Noise, slots: int, most: Fraction, tau: Fraction, delta: Any, threshold: Any) -> Fraction:
    """Return ``threshold`` or, if ``delta`` is given, about the smallest one that satisfies it.

    The scores of the ``slots`` are at most ``most``.
    """
    if (delta is None) == (threshold is None):
        raise ParameterError("give either delta or threshold, but not both")
    if delta is None:
        return to_fraction(checks.require_scale(threshold, "threshold"))  # [given]
    kept = to_fraction(checks.require_probability(delta, "delta"))
    level = _float_above(most + tau * to_fraction(least_lead(noise, slots, kept)))  # [least]
    while tau and not is_within_delta(noise, slots, (level - most) / tau, kept):  # [kept]
        level = _float_above(level + tau / 2**40)
    return level


def _float_above(level: Fraction) -> Fraction:
    rounded = round_up(level)
    return level if math.isinf(rounded) else to_fraction(rounded)  # [threshold-up]


# end-proof-region: stop


def threshold_as_float(level: Fraction) -> Number:
    """Return ``level`` as a float if it is a float64, otherwise unchanged."""
    return float(level) if level < 2**1000 and to_fraction(float(level)) == level else level


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

    def privacy_curve(self, d_in: int) -> PrivacyCurve:
        """Return the privacy curve of a ranking of keys and the stop symbol, for a scale > 0 and d_in > 0."""
        metric, asked = self.metric, self.search
        curve: PrivacyCurve = self.privacy_cost(d_in).to_distance(PrivacyProfile())
        if metric.max_items is None or not asked.noise.is_max_stable:
            return curve  # [any-changes]
        total = metric.range_distance(d_in) * metric.max_items  # [sum-of-changes]
        moved = ChangedScores.bounded_contributions(metric.rise(d_in), total, asked.limit + 1)
        return PrivacyCurve(
            *curve.bounds, *gumbel_bounds(moved, asked.scale, asked.k, metric.monotonic)
        )  # [arrival-times]

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
