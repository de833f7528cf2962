"""Weighted partition selection: each user spreads a weight vector of L2 norm 1 over her keys."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..core.claims import proved_by
from ..core.measurement import Measurement
from ..core.partials import partial_constructor
from ..core.spaces import require_table_space
from ..errors import ParameterError, checks
from ..errors.checks import Number
from ..errors.experimental import mark_experimental
from ..numerics.arithmetic import round_up, to_fraction
from ..sampling.samplers.integers import discrete_gaussian
from ..spaces.costs import FREE, STRICT, Cost, curve_with_delta, require_with_delta, with_delta
from ..spaces.curves.closed_forms import NEAR, NormalPair, UpToDelta, ZCDPBound, normal_tail_bound
from ..spaces.curves.composed import Largest
from ..spaces.curves.curve import PrivacyCurve
from ..spaces.domains import FrameDomain
from ..spaces.measures import Distance, Measure, PrivacyProfile, ZeroConcentratedDivergence, without_delta
from ..spaces.metrics import UserDistance
from ._grid import Grid
from ._new_keys import PARTS, DiscreteGaussianNoise, least_scale

UNIT = 2**28  # steps in a weight of 1: the sum of 2^30 users fits into 64 bits with noise, and rounding loses little
_LEAST = Fraction(1, 2**16)  # least scale: below it the loss is nearly infinite and rounding dominates the noise
_MOST = 2**40  # largest d_in max_items, so that the terms that the proof neglects stay small
_SMOOTH = 4  # steps: the standard deviation whose square is the variance between normal and discrete noise
_GREAT = Fraction(2**34)  # an epsilon whose noise is below the least scale: larger ones need no search
_FINE = 2**10  # resolution of the fraction of its weight that a key keeps
_BEYOND = 3  # in scales of the last noise: sums above the threshold by more than this lose weight
# Noise scales of the rounds, in units of the overall scale: the sum of their inverse squares is at most 1. A first
# round with a tenth of the budget is enough to find keys that many users have.
SCALES = {1: (Fraction(1),), 2: (Fraction(16, 5), Fraction(1053, 1000))}
# Parts of delta for the noise, if the delta of the release is the largest over the keys of a user, and if it is a sum.
# The better of the two thresholds is within half a percent of the least.
_NOISE_SHARES = (Fraction(49, 50), Fraction(3, 5))
_ENDS = (0, 1, 2, 3, 4, 5, 6, 8, 11, PARTS)  # L2 norms of a user's weights of new keys, in 16ths: fine near 0
# A new key keeps 1 / sqrt(_FEWER) of its weight, unless its first noisy sum is _LOWERED times what is enough.
_FEWER, _LOWERED = 3, Fraction(17, 10)


@proved_by("measurements/weighted_partition_selection")
@mark_experimental("its default of rounds may change")
def make_weighted_partition_selection(
    input_domain: FrameDomain,
    input_metric: UserDistance,
    output_measure: Measure[Distance],
    *,
    max_items: int,
    delta: Number,
    epsilon: Number | None = None,
    scale: Number | None = None,
    rounds: int = 2,
    minimum_users: int = 1,
) -> Measurement[Distance, Any]:
    """Release the keys that many users have, without their counts, if users have many keys.

    A user with n keys gives each the weight 1 / sqrt(n), rounded down to a multiple of 2^-28, so the squared weights
    sum to at most 1. Discrete Gaussian noise is added to the sum of the weights of each key that occurs, and keys whose
    noisy sum reaches a threshold are released.

    With the default of two rounds, a first round with a tenth of the budget takes weight from keys with more users than
    the threshold needs, and each user moves it to her other keys. The noisy sums of the first round are not released.

    Experimental: its default of rounds may change.

    Args:
        input_domain: ``FrameDomain(user, item)``.
        input_metric: ``UserDistance()`` or ``UserDistance("replace")``.
        output_measure: ``Approximate(ZeroConcentratedDivergence())``, ``PrivacyProfile()`` or, if ``epsilon`` is
            given, ``Approximate(MaxDivergence())``.
        max_items: The largest number of keys per user: the first ones in the order of the numbers, or of the strings'
            code points, are kept. ``make_bound_contributions`` can choose them at random before.
        delta: With ``epsilon``, the delta of the release at d_in = 1, in (0, 1); scale and threshold are chosen
            together so that the threshold is about the smallest. With ``scale``, the delta of the threshold alone.
        epsilon: The epsilon of the release at d_in = 1, finite, >= 0. Give this or ``scale``.
        scale: The scale of the noise in units of weights, at least 2^-16, or 0. If 0, the privacy loss is infinite.
        rounds: 1 or 2. The default is 2.
        minimum_users: M, from 1 to 2^30, by default 1: keys with fewer users, after ``max_items`` is applied, are never
            released. The threshold is higher by M - 1, because a key that reaches M users with a new user also has up
            to M - 1 weights of others.

    Returns:
        A :class:`Measurement` whose releases are tuples of keys, in the order of the numbers or of the code points.

    Privacy:
        Let D be d_in under "add_remove" and sqrt(2) d_in under "replace". Except on an event of probability delta', the
        loss is at most that of two normal distributions with variance 1 whose means are D / scale apart (up to 2^-200
        and a change of a variance by (4 * 2^-28)^2), and rho is at most D^2 / (2 scale^2). delta' bounds the
        probability that one of d_in max_items keys, whose squared weights sum to at most d_in^2, reaches the threshold
        minus (minimum_users - 1).

        The squared weight s of a user's new keys, which nobody else has, is missing on the others. So with one round
        the curve is also the largest over s, not the sum, of both losses: delta' for squared weights s of as small a
        part of the keys, and the loss of squared means that are smaller by s d_in^2 / scale^2. With two rounds this is
        so, up to rare events, at d_in = 1 under "add_remove" with ``minimum_users = 1``: the second round leaves the
        more weight for new keys, the larger the first noisy sums of others, which are the first round's loss.

    Raises:
        ParameterError: An argument is out of range or of the wrong type, both or neither of ``epsilon`` and ``scale``
            are given, or no threshold is large enough for ``delta``.
        ParameterTypeError: The measure is not one of the above.
        SpaceError: The metric is not a ``UserDistance`` or the domain not a ``FrameDomain``.

        On a call: DataTypeError, DataError and TableError as in ``make_count_by_item``; also DataError if an item has
        2^30 users or more.

    Runtime:
        Each round reads and sorts the (user, item) pairs: about a second for 10^6 pairs. Spark computes the sums in its
        own plan, and only sums by key are collected.

    Proof: proofs/measurements/weighted_partition_selection.tex

    References:
        Gopi, Gulhane, Kulkarni, Shen, Shokouhi and Yekhanin, "Differentially Private Set Union" (2020). Swanberg,
        Desfontaines and Haney, "DP-SIPS: A simpler, more scalable mechanism for differentially private partition
        selection" (2023). Chen, Cohen-Addad, Epasto and Zadimoghaddam, "Scalable Private Partition Selection via
        Adaptive Weighting" (2025).

    Example:
        >>> import opendp_topk as tk
        >>> import polars as pl
        >>> space = tk.FrameDomain("reader", "book"), tk.UserDistance()
        >>> measure = tk.Approximate(tk.MaxDivergence())
        >>> found = space >> tk.then_weighted_partition_selection(measure, max_items=2, epsilon=1.0, delta=1e-8)
        >>> found.map(1)[0], found.map(1)[1] <= 1e-8
        (1.0, True)
        >>> found(pl.DataFrame({"reader": range(1000), "book": ["Emma"] * 999 + ["my own diary"]}))
        ('Emma',)
    """
    # proof-region: weighted_partition_selection
    require_table_space(input_domain, input_metric, ("item",))  # [two-columns]
    most = checks.require_positive_int("max_items", max_items, at_most=2**20, limit="2^20")  # [check-max-items]
    rounds = checks.require_positive_int("rounds", rounds, at_most=2)  # [check-rounds]
    least = checks.require_positive_int("minimum_users", minimum_users, at_most=2**30, limit="2^30")  # [check-minimum]
    kinds, note = (STRICT[1:], " if scale is given") if epsilon is None else (STRICT, "")
    require_with_delta(output_measure, kinds, note)  # [check-measure]
    if (epsilon is None) == (scale is None):
        raise ParameterError("give either epsilon or scale, but not both")
    both_ways = 1 if input_metric.neighbors == "add_remove" else 2  # [both-ways]
    whole = to_fraction(checks.require_probability(delta, "delta"))
    curve_of = functools.partial(_release_curve, most=most, both_ways=both_ways, alone=least == 1)

    def noises_at(sigma: Fraction) -> list[DiscreteGaussianNoise]:
        if sigma and sigma < _LEAST:  # [least]
            raise ParameterError("scale, given or computed from epsilon, must be 0 or at least 2^-16: add noise")
        return [DiscreteGaussianNoise(sigma * part, Fraction(1, UNIT)) for part in SCALES[rounds]]  # [noises]

    def calibrate(share: Fraction, known: tuple[Fraction, Fraction] | None = None) -> tuple[Fraction, Fraction]:
        """Return the lower of two thresholds, with its scale: the known one, or one with this share for the noise."""

        def is_scale_sufficient(scale: float) -> bool:
            return NormalPair(both_ways * _normal_shift(noises_at(to_fraction(scale))))(loss) <= whole * share

        near = float(min(loss, _GREAT))
        sigma = to_fraction(least_scale(near, float(whole * share), float(both_ways) ** 0.5, is_scale_sufficient))
        noises = noises_at(sigma)

        def is_sufficient(level: Fraction) -> bool:
            return curve_of(noises, level, 1).is_within(loss, whole)  # [kept]

        if known is not None and not is_sufficient(known[0]):
            return known
        return noises[-1].least_threshold(is_sufficient), sigma

    if epsilon is None:
        sigma = to_fraction(checks.require_scale(scale))
        own_level, last = Fraction(2), noises_at(sigma)[-1]
        if sigma:
            own_level = last.least_threshold(lambda t: last.new_partition_probability(1, most, t) <= whole)  # [level]
    else:
        loss = to_fraction(checks.require_scale(epsilon, "epsilon"))
        own_level, sigma = calibrate(_NOISE_SHARES[1], calibrate(_NOISE_SHARES[0]))  # [chosen]
    noises = noises_at(sigma)
    level = own_level + least - 1  # [others]

    def function(rows: Any) -> tuple[Any, ...]:
        from ..tables.grouping import Baskets

        baskets, last = Baskets(rows, most, UNIT), noises[-1]
        sums = baskets.sum_item_weights()  # [first]
        if rounds == 2 and len(sums):
            noisy = _add_gaussian_noise(sums.sizes, noises[0])
            baskets.set_item_shares(_weight_fractions(noisy, int((level + _BEYOND * last.scale) * UNIT)))  # [shares]
            sums = baskets.sum_item_weights()  # [second]
        if not len(sums):
            return ()  # [nothing]
        enough = baskets.users >= least  # [enough]
        reached = np.flatnonzero(enough & (_add_gaussian_noise(sums.sizes, last) >= int(level * UNIT)))  # [reached]
        return tuple(sorted(sums.keys_at(reached)))  # [sorted]

    def privacy_map(d_in: int) -> Any:
        if d_in == 0:
            return with_delta(output_measure, FREE, Fraction(0), strict=True)  # [free]
        if sigma == 0 or d_in * most > _MOST:
            return output_measure.infinite  # [no-noise]
        if without_delta(output_measure) == ZeroConcentratedDivergence():
            own = noises[-1].new_partition_probability(d_in, d_in * most, own_level)  # [own]
            cost = Cost(rho=both_ways * d_in * d_in * _normal_shift(noises, 0) / 2)  # [rho]
            return with_delta(output_measure, cost, own, strict=True)  # [map]
        curve = curve_of(noises, own_level, d_in)
        if output_measure == PrivacyProfile():
            return curve
        return d_in * loss, curve.delta(d_in * loss)  # [at-epsilon]

    return Measurement(
        input_domain=input_domain,
        input_metric=input_metric,
        output_measure=output_measure,
        function=function,
        privacy_map=privacy_map,
        parameters={
            "mechanism": "weighted_partition_selection",
            "user": input_domain.user,
            "item": input_domain.item,
            "candidates": None,
            "max_items": most,
            **({} if epsilon is None else {"epsilon": epsilon}),
            "delta": delta,
            "scale": float(sigma) if scale is None else scale,
            "threshold": float(level) if level < 2**1000 else level,
            "rounds": rounds,
        }
        | ({"minimum_users": least} if least > 1 else {}),
    )


def _normal_shift(noises: list[DiscreteGaussianNoise], smooth: int = _SMOOTH) -> Fraction:
    """Return the squared shift of normal distributions with variance 1 that have the loss of rounds of weight 1."""
    return sum((1 / (noise.scale**2 - Fraction(smooth, UNIT) ** 2) for noise in noises), Fraction(0))  # [apart]


def _release_curve(
    noises: list[DiscreteGaussianNoise], level: Fraction, d_in: int, most: int, both_ways: int, alone: bool
) -> PrivacyCurve:
    """Return the curve of the release; ``alone`` is true if the least number of users is 1."""
    *first, last = noises
    squares, known = both_ways * d_in * d_in, d_in * most  # [squares]
    own = last.new_partition_probability(d_in, known, level)
    pair = NormalPair(squares * _normal_shift(noises))
    noise = PrivacyCurve(pair, ZCDPBound(round_up(squares * _normal_shift(noises, 0) / 2)))
    curve = curve_with_delta(noise, own, strict=True)  # [sum]
    if first and not (alone and squares == 1):
        return curve  # [sum-only]
    cells = []
    for low, high in itertools.pairwise(_ENDS):
        keys = min(known, known * high**2 * (_FEWER if first else 1) // PARTS**2)  # [keys]
        new = last.new_partition_probability(d_in, keys, level, high)
        hidden = Fraction(d_in * low, PARTS) ** 2 * _normal_shift([last])  # [hidden]
        cells.append(curve_with_delta(PrivacyCurve(NormalPair(pair.squares - hidden)), new, strict=True))  # [cell]
    if not first:
        return PrivacyCurve(*curve.bounds, Largest(tuple(cells)))  # [one-round]
    gap = _LOWERED * (level + _BEYOND * last.scale) - 1 - 2 * last.step
    lowered = most * first[0].reach_probability(gap)  # [lowered]
    return PrivacyCurve(*curve.bounds, _TwoRounds(Largest(tuple(cells)), pair, own, lowered, first[0].scale))


@dataclass(frozen=True)
class _TwoRounds:
    """The curve of two rounds if one user is added or removed.

    ``cells`` is the curve if her weight on keys of others does not depend on the first round, ``pair`` that of the
    noise, ``own`` the delta of the threshold, ``lowered`` the probability that one of her own keys loses more weight
    than ``cells`` assumes, and ``scale`` that of the first noise.
    """

    cells: Largest
    pair: NormalPair
    own: Fraction
    lowered: Fraction
    scale: Fraction
    takes_long: ClassVar[bool] = True

    def __call__(self, epsilon: Number) -> float:
        e = to_fraction(epsilon) - 2 * NEAR  # [nearer]
        gap = e - self.pair.squares / 2  # [gap]
        if gap < 0 or self.own > (1 - self.own) * e:
            return 1.0  # [too-far]
        added = to_fraction(self.cells(e)) + self.lowered * to_fraction(UpToDelta(self.pair, self.own)(e))  # [added]
        rare = normal_tail_bound(gap * (self.scale - Fraction(_SMOOTH, UNIT))) + 2 * NEAR  # [rare]
        removed = to_fraction(self.pair(e - self.own / (1 - self.own)))  # [removed]
        return round_up(min(Fraction(1), max(added + rare, removed)))  # [both-directions]

    def implies(self, other: Any) -> bool:
        """Whether this bound is known to imply ``other``: whether they are equal."""
        return bool(self == other)  # [equal]


def _add_gaussian_noise(sums: NDArray[np.int64], noise: DiscreteGaussianNoise) -> NDArray[Any]:
    """Return the sums, in steps, with discrete Gaussian noise."""
    drawn = discrete_gaussian(noise.scale / noise.step, len(sums))
    return Grid(Fraction(1), rounds=False).add_noise(sums, drawn)  # [noise]


def _weight_fractions(noisy: NDArray[Any], enough: int) -> NDArray[np.int64]:
    """Return the fraction of weight that keeps a noisy sum at ``enough`` for each key, in 1024ths from 1 to 1024."""
    beyond = np.maximum(noisy.astype(np.float64), float(enough))
    found: NDArray[np.int64] = np.clip(np.ceil(_FINE * (enough / beyond)), 1, _FINE).astype(np.int64)
    return found  # [fine]
    # end-proof-region: weighted_partition_selection


then_weighted_partition_selection = partial_constructor(make_weighted_partition_selection)
TRIED = {"max_items": (2,), "delta": (0.125,), "epsilon": (1.0,), "scale": (None,)}
