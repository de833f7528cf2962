"""Stable histogram: all keys of an unknown domain whose noisy counts reach a threshold, with these counts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from ..core.claims import proved_by
from ..core.measurement import Measurement
from ..core.partials import partial_constructor
from ..core.releases import Release
from ..core.spaces import require_space
from ..errors import ParameterError, checks
from ..errors.checks import Number
from ..numerics.arithmetic import round_up, to_fraction
from ..sampling.distributions.discrete import gaussian_tail_bound
from ..sampling.samplers.integers import discrete_gaussian, discrete_laplace
from ..spaces.costs import (
    FREE,
    STRICT,
    Cost,
    curve_with_delta,
    require_with_delta,
    rho_of_discrete_laplace,
    rho_of_pure,
    with_delta,
)
from ..spaces.curves.closed_forms import ApproximateDP, DiscreteLaplace, NormalPair, ZCDPBound
from ..spaces.curves.composed import Composed, Largest
from ..spaces.curves.curve import PrivacyCurve, least_argument
from ..spaces.keyed_counts import KeyedCountDistance, KeyedCountsDomain, count_columns
from ..spaces.measures import Approximate, Distance, MaxDivergence, Measure, PrivacyProfile
from ._grid import Grid
from ._key_shares import any_event_probability, laplace_tail_bound, largest_partition_epsilon
from ._new_keys import largest_normal_shift
from .select_then_count import count_curve


@proved_by("measurements/stable_histogram")
def make_stable_histogram(
    input_domain: KeyedCountsDomain,
    input_metric: KeyedCountDistance,
    output_measure: Measure[Distance],
    *,
    scale: Number | None = None,
    delta: Number | None = None,
    threshold: int | None = None,
    epsilon: Number | None = None,
    gaussian: bool = False,
) -> Measurement[Distance, Release]:
    """Release every key whose noisy count reaches the threshold, with its noisy count.

    Discrete Laplace or Gaussian noise of scale ``scale`` is added to the counts of the keys that occur. Noisy counts
    below the threshold are dropped, so keys of few users are not released.

    Args:
        input_domain: ``KeyedCountsDomain()``: counts by key, as from
            ``make_count_by_item(candidates=None, max_items=...)``.
        input_metric: ``KeyedCountDistance(max_items, ...)`` with an upper bound on the number of keys per user.
        output_measure: ``Approximate(ZeroConcentratedDivergence())``, ``PrivacyProfile()`` or, for Laplace noise
            or if ``epsilon`` is given, ``Approximate(MaxDivergence())``.
        scale: The scale of the noise in units of the counts, finite, >= 0. For Gaussian noise it is approximately the
            standard deviation. If 0, the exact counts that reach the threshold are released and the privacy loss is
            infinite.
        delta: With ``scale``, the delta of the threshold alone at d_in = 1, in (0, 1): the threshold is the smallest
            with at most this delta, or at a scale above 2^53 at most 2^-52 scales above it. With ``epsilon``, the delta
            of the whole release.
        threshold: The least noisy count that is released, an integer >= 2. With ``scale``, give this or ``delta``.
        epsilon: The epsilon of the release at d_in = 1 and ``delta``, finite, > 0. Give this or ``scale``. The scale
            is then about the least at which the noise alone is (epsilon, delta)-DP, and the threshold the least at
            which the release is. With Laplace noise, max_items / epsilon is used instead if its threshold is lower.
        gaussian: Whether the noise is discrete Gaussian instead of the default Laplace. Gaussian noise has lighter
            tails, so its threshold is lower if users may have several keys.

    Returns:
        A :class:`Measurement` whose releases are :class:`Release` values: ``items`` are the keys by descending noisy
        count, with ties in the public order of keys, and ``counts`` a tuple of the noisy counts, which are integers.

    Privacy:
        Let D be ``input_metric.range_distance(d_in)``, m = max_items, u = ``input_metric.each``, which is 1 for counts
        of users, and q(c) the probability that c plus noise reaches the threshold: q(c) = exp((c - threshold) / scale)
        / (1 + exp(-1 / scale)) for Laplace noise. The loss is that of the noise on the counts that users change, except
        on an event of probability

        delta = max(1 - (1 - q(u))^(d_in m), 1 - (1 - q(d_in u))^m),

        which is tight: no smaller delta is valid under ``monotonic=True``. For threshold <= d_in u it is 1. Up to delta

        * with Laplace noise epsilon is D m / scale, and rho is (D m / (d_in u)) G(d_in u / scale, 1 / scale), where
          G(E, h) = E - (h / sinh(h)) (1 - exp(-E)); for d_in u = 1 that is (D m / scale) tanh(1 / (2 scale));
        * with Gaussian noise rho is D d_in u m / (2 scale^2).

        At d_in = 1 the curve is the exact composition of D m / u integers that change by u, if these are at most 1024,
        the scale is at least u / 8, and Gaussian noise has a scale of at most 256. With Gaussian noise and
        scale^2 >= 32 the curve is also that of normal distributions with variance scale^2 - 16 and means
        sqrt(D d_in u m) apart. Otherwise it is the curve of epsilon and rho. At d_in = 1 under ``monotonic=True`` and
        Laplace noise, epsilon and rho are tight.

        Keys that only these users have do not add to the loss of the noise. So the curve is also the largest of curves
        for J such keys, counted once for each user: delta with J in place of d_in m and the curve of the noise with
        D m / u - J changes in place of D m / u. Of J, 0, 1, 2, 4, ... are used: each stands for those after the one
        before it.

        With ``epsilon`` the loss is (epsilon, delta') with delta' <= ``delta`` at d_in = 1. For groups of d_in users it
        is d_in epsilon, with the delta of the curve there.

    Accuracy:
        The noise Z of a count has P(|Z| >= z) = 2 exp(-z / scale) / (1 + exp(-1 / scale)) for integers z >= 1 if it is
        Laplace, and at most 2 exp(-z^2 / (2 scale^2)) if it is Gaussian. A key is released if its count plus Z reaches
        the threshold. A key with a count of threshold + z - 1 is missed with probability P(|Z| >= z) / 2.

    Raises:
        ParameterError: An argument is out of range or of the wrong type, the arguments are neither ``scale`` with one
            of ``delta`` and ``threshold`` nor ``epsilon`` with ``delta``, or the metric has no ``max_items``.
        ParameterTypeError: The measure is not one of the above, or is ``Approximate(MaxDivergence())`` with Gaussian
            noise of a given scale.
        SpaceError: The metric does not fit the domain.
        DataError: On a call, the counts are not a member of the domain.

    Runtime:
        O(n) for n keys; 0.2 s for 10^6 keys in a ``dict``. Building it with ``epsilon`` takes up to a few seconds.

    Proof: proofs/measurements/stable_histogram.tex

    References:
        Korolova, Kenthapadi, Mishra and Ntoulas, "Releasing Search Queries and Clicks Privately" (2009). Canonne,
        Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020). Kairouz, Oh and Viswanath, "The
        Composition Theorem for Differential Privacy" (2015). Wilkins, Kifer, Zhang and Karrer, "Exact Privacy Analysis
        of the Gaussian Sparse Histogram Mechanism" (2022).

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.KeyedCountsDomain(), tk.KeyedCountDistance(max_items=2)
        >>> found = space >> tk.then_stable_histogram(tk.Approximate(tk.MaxDivergence()), scale=4.0, delta=1e-9)
        >>> found.map(1)[0], found.map(1)[1] <= 1e-9, found.parameters["threshold"]
        (0.5, True, 85)
        >>> found({"umbrella": 900, "rain coat": 700, "my own name": 1}).items
        ('umbrella', 'rain coat')
    """
    # proof-region: stable_histogram
    require_space(input_domain, input_metric, KeyedCountDistance, "KeyedCountDistance(max_items, ...)")  # [check-space]
    noise = _CountNoise(input_metric, input_metric.limited(), checks.require_boolean("gaussian", gaussian))
    alone = gaussian and epsilon is None
    allowed, note = (STRICT[1:], ", with Gaussian noise of a given scale") if alone else (STRICT, "")
    require_with_delta(output_measure, allowed, note)  # [check-measure]
    loss: Fraction | None = None
    if epsilon is None:
        scale = checks.require_scale(scale)
        b = to_fraction(scale)  # [check-scale]
        level = _parse_threshold(noise, b, delta, threshold)  # [level]
    else:
        loss = to_fraction(checks.require_scale(epsilon, "epsilon"))
        if not loss:
            raise ParameterError("epsilon must be > 0: the loss is never 0 with noise")  # [check-epsilon]
        if delta is None or (scale, threshold) != (None, None):
            raise ParameterError("epsilon requires delta: omit scale and threshold")
        level, b = noise.calibrate_noise(loss, to_fraction(checks.require_probability(delta, "delta")))  # [chosen]
        scale = float(b)
    draw = discrete_gaussian if gaussian else discrete_laplace  # [draw]

    def function(counts: Mapping[Any, int]) -> Annotated[Release, "items", "counts"]:
        sizes, keys_at = count_columns(counts)  # [columns]
        if not len(sizes):
            return Release(items=(), counts=())  # [nothing]
        noisy = Grid(Fraction(1), rounds=False).add_noise(sizes, draw(b, len(sizes)))  # [noise]
        reached = np.flatnonzero(noisy >= level)  # [reached]
        found = sorted(zip((-noisy[reached]).tolist(), keys_at(reached), strict=True))  # [sorted]
        return Release(items=[key for _, key in found], counts=tuple(-count for count, _ in found))

    def privacy_map(d_in: int) -> Any:
        if d_in == 0:
            return with_delta(output_measure, FREE, Fraction(0), strict=True)  # [free]
        if b == 0:
            return output_measure.infinite  # [no-noise]
        lost = noise.new_partition_probability(b, d_in, level)
        if output_measure == PrivacyProfile():
            whole = curve_with_delta(noise.count_privacy_curve(b, d_in), lost, strict=True)  # [mixture]
            return PrivacyCurve(*whole.bounds, noise.split_curve(b, d_in, level))  # [split]
        if loss is not None and output_measure == Approximate(MaxDivergence()):
            return d_in * loss, noise.release_delta(b, d_in, d_in * loss, level)  # [at-epsilon]
        return with_delta(output_measure, noise.privacy_cost(b, d_in), lost, strict=True)  # [map]

    return Measurement(
        input_domain=input_domain,
        input_metric=input_metric,
        output_measure=output_measure,
        function=function,
        privacy_map=privacy_map,
        parameters={"mechanism": "stable_histogram", "scale": scale, "threshold": level, "gaussian": gaussian}
        | ({} if epsilon is None else {"epsilon": epsilon, "delta": delta}),
    )


@dataclass(frozen=True)
class _CountNoise:
    """Noise on counts, of which one user changes at most ``most``, by amounts bounded by ``metric``."""

    metric: KeyedCountDistance
    most: int
    gaussian: bool

    def new_partition_probability(self, b: Fraction, d_in: int, level: int, new: int | None = None) -> Fraction:
        """Return an upper bound on the probability that a key that only d_in users have is released; scale b > 0.

        Together these users have at most ``new`` such keys, counted once for each user; the default is all keys.
        """
        beyond = gaussian_tail_bound if self.gaussian else laplace_tail_bound
        apart, alike = level - self.metric.rise(1), level - self.metric.rise(d_in)  # [leads]
        new = d_in * self.most if new is None else new
        if alike <= 0:
            return Fraction(1 if new else 0)
        return max(
            any_event_probability(beyond(b, apart), new),
            any_event_probability(beyond(b, alike), -(-new // d_in)),
        )  # [delta]

    def privacy_cost(self, b: Fraction, d_in: int, many: int | None = None) -> Cost:
        """Return the privacy loss of the noise on counts that change ``many`` times; the default is all changes."""
        each = self.metric.rise(d_in)
        moved = self.metric.each * (self.changes(d_in) if many is None else many)  # [moved]
        if self.gaussian:
            return Cost(rho=moved * each / (2 * b * b))  # [cost]
        rho = moved * rho_of_discrete_laplace(each / b, 1 / b) / each
        return Cost(moved / b, 2 * moved / b, rho)  # [laplace-cost]

    def changes(self, d_in: int) -> int:
        """Return the largest number of changes of counts, each by one user."""
        return self.metric.steps(d_in) * self.most  # [changes]

    def count_privacy_curve(
        self, b: Fraction, d_in: int, many: int | None = None, *, composed: bool = True
    ) -> PrivacyCurve:
        """Return the curve of the noise on counts that change ``many`` times, like :meth:`privacy_cost`.

        ``composed=False`` leaves out the slow bound.
        """
        many = self.changes(d_in) if many is None else many
        bounds = self.privacy_cost(b, d_in, many).to_distance(PrivacyProfile()).bounds
        each = self.metric.rise(d_in)
        if self.gaussian and b * b >= _SMOOTH and 0 < many <= _COUNTS:
            bounds += (NormalPair(many * self.metric.each * each / (b * b - _ROUNDED)),)  # [normal]
        near = each <= _STEEP * b and (b <= _WIDE or not self.gaussian)
        if composed and near and d_in == 1 and 0 < many <= _MOST:
            once = count_curve(each, b) if self.gaussian else _laplace_count_curve(each, b)
            bounds += (Composed(((once, many),)),)  # [curves]
        return PrivacyCurve(*bounds)

    def splits(self, d_in: int) -> list[tuple[int, int]]:
        """Return pairs (new, many): at most ``new`` changes are of keys in one table only, and at most ``many`` others.

        For every two neighbouring tables, one pair is valid.
        """
        ends = [0]
        while ends[-1] < d_in * self.most:
            ends.append(min(2 * ends[-1] or 1, d_in * self.most))
        some = [(end, self.changes(d_in) - start - 1) for start, end in itertools.pairwise(ends)]  # [some-new]
        return [(0, self.changes(d_in)), *reversed(some)]  # [none-new]

    def split_curve(self, b: Fraction, d_in: int, level: int, *, composed: bool = True) -> Largest:
        """Return the curve of the release; ``composed=False`` leaves out slow bounds."""
        curves = (
            curve_with_delta(
                self.count_privacy_curve(b, d_in, many, composed=composed),
                self.new_partition_probability(b, d_in, level, new),
                strict=True,
            )
            for new, many in self.splits(d_in)
        )
        return Largest(tuple(curves))  # [one-split]

    def release_delta(self, b: Fraction, d_in: int, epsilon: Fraction, level: int) -> float:
        """Return the delta of the release at ``epsilon``."""
        composed = epsilon <= _GREAT and self.count_privacy_curve(b, d_in, composed=False).delta(epsilon) > 0
        return self.split_curve(b, d_in, level, composed=composed)(epsilon)  # [whole]

    def threshold_for_delta(self, b: Fraction, delta: Fraction) -> int:
        """Return the least threshold at which a key of only one user is released with probability at most ``delta``.

        If the scale is above 2^53, the threshold may exceed the least by up to 2^-52 times the scale.
        """
        return self._least_threshold(
            b, delta, lambda level: round_up(self.new_partition_probability(b, 1, level)) if b else 0.0
        )  # [own-delta]

    def _least_threshold(self, b: Fraction, delta: Fraction, loss: Callable[[int], float]) -> int:
        low, high = self.metric.rise(1), self.metric.rise(1) + 1 + int(b)
        while loss(high) > delta:  # [kept]
            low, high = high, 2 * high
            if high > _FARTHEST * b + _FARTHEST * self.metric.rise(1):
                raise ParameterError("delta is too small: no threshold satisfies it")
        return least_argument(loss, delta, low, high, near=max(1, int(b) >> 52))  # [least-level]

    def calibrate_noise(self, epsilon: Fraction, delta: Fraction) -> tuple[int, Fraction]:
        """Return a threshold and a scale for the loss (``epsilon``, ``delta``): the lower of two thresholds."""
        found = []
        moved = self.metric.range_distance(1) * self.most
        if moved > min(epsilon, Fraction(1)) * _HUGE:
            raise ParameterError("epsilon is too small for this number of keys per user: raise it or lower max_items")
        if not self.gaussian:
            b = to_fraction(round_up(moved / epsilon))  # [pure]
            found.append((self.threshold_for_delta(b, delta), b))
        if self.gaussian or (epsilon <= _GREAT and moved > 1):

            def is_scale_sufficient(b: Fraction) -> bool:
                curves = (
                    self.count_privacy_curve(b, 1, many, composed=epsilon <= _GREAT) for _, many in self.splits(1)
                )
                return all(curve.is_within(epsilon, delta * _ROOM) for curve in curves)

            b = _least_sufficient_scale(self._estimate_scale(epsilon, delta), is_scale_sufficient)
            found.append(
                (self._least_threshold(b, delta, lambda level: self.release_delta(b, 1, epsilon, level)), b)
            )  # [whole-kept]
        return min(found, key=lambda one: one[0])

    def _estimate_scale(self, epsilon: Fraction, delta: Fraction) -> float:
        """Estimate the least scale at which the noise has the loss (``epsilon``, ``delta``)."""
        each, many = self.metric.rise(1), self.changes(1)
        loss = float(min(epsilon, Fraction(_GREAT)))
        if self.gaussian or many > _MOST:
            return each * math.sqrt(many) / largest_normal_shift(loss, float(delta))
        return each / largest_partition_epsilon(many, loss, float(delta))


def _least_sufficient_scale(b: float, kept: Callable[[Fraction], bool]) -> Fraction:
    """Return about the least scale >= ``b`` that satisfies ``kept``; ``b`` may be too small by float64 errors."""
    size, power = math.frexp(b)
    b, more = math.ldexp(math.ceil(size * 2**_SHORT), power - _SHORT), _CLOSE
    while b < math.inf and not kept(to_fraction(b)):
        b, more = b * (1 + more), 2 * more  # [grown]
    if b == math.inf:
        raise ParameterError("epsilon and delta are too small for any noise: raise one of them")
    return to_fraction(b)


def _laplace_count_curve(each: int, b: Fraction) -> PrivacyCurve:
    """Return the curve of one count with Laplace noise that changes by at most ``each``; by 1: randomised response."""
    if each == 1:
        return PrivacyCurve(ApproximateDP(1 / b), ZCDPBound(round_up(rho_of_pure(1 / b))))  # [one-curve]
    rho = rho_of_discrete_laplace(each / b, 1 / b)
    return PrivacyCurve(ApproximateDP(each / b), ZCDPBound(round_up(rho)), DiscreteLaplace(each, b))  # [far-curve]


def _parse_threshold(noise: _CountNoise, b: Fraction, delta: Any, threshold: Any) -> int:
    if (delta is None) == (threshold is None):
        raise ParameterError("give either delta or threshold, but not both")
    if threshold is None:
        return noise.threshold_for_delta(b, to_fraction(checks.require_probability(delta, "delta")))
    if checks.require_positive_int("threshold", threshold) < 2:
        raise ParameterError("threshold must be at least 2: a single user must not reach it without noise")
    return int(threshold)  # [given]


_MOST = 1024  # curves in a composition: more take minutes, and improve little on their rhos
_FARTHEST = 4096  # in scales: the probability lost that far out is below every positive float64
# Largest Gaussian scale, and largest change per scale, of a composition: beyond, it is slow and improves little.
_WIDE, _STEEP = 256, 8
_SMOOTH, _ROUNDED, _COUNTS = 32, 16, 2**41  # normal noise: least variance, variance lost, most counts
_GREAT = 64  # largest epsilon at which a composition is evaluated
_CLOSE = 2.0**-15  # relative size of the first step when the scale is increased
_SHORT = 24  # binary digits of the first scale of a search: rounded up to these, it is the same on all machines
_HUGE = 2**900  # a float64
_ROOM = 1 - Fraction(1, 2**20)  # part of delta for the noise alone: the rest is enough for some threshold
# end-proof-region: stable_histogram


then_stable_histogram = partial_constructor(make_stable_histogram)
