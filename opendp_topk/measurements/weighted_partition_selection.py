"""Weighted partition selection: each user spreads a weight vector of L2 norm 1 over her keys."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

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
from ..spaces.curves.closed_forms import NormalPair, ZCDPBound
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
# Shares of keys after a round: keys whose noisy sum is below UNLIKELY scales of its noise have a fifth of the others'.
FULL, _SMALL, UNLIKELY = 5, 1, Fraction(3, 4)
# Noise scales of the rounds, in units of the overall scale: the sum of their inverse squares is at most 1. Each round
# has about three times the budget of the one before.
SCALES = {
    1: (Fraction(1),),
    2: (Fraction(2), Fraction(1155, 1000)),
    3: (Fraction(3606, 1000), Fraction(2082, 1000), Fraction(1202, 1000)),
}
# Parts of delta for the noise, if the delta of the release is the largest over the keys of a user, and if it is a sum.
# The better of the two thresholds is within half a percent of the least.
_NOISE_SHARES = (Fraction(49, 50), Fraction(3, 5))
_ENDS = (0, 1, 2, 3, 4, 5, 6, 8, 11, PARTS)  # L2 norms of a user's weights of new keys, in 16ths: fine near 0


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
    rounds: int = 3,
    minimum_users: int = 1,
) -> Measurement[Distance, Any]:
    """Release the keys that many users have, without their counts, if users have many keys.

    A user with n keys gives each the weight 1 / sqrt(n), rounded down to a multiple of 2^-28, so the squared weights
    sum to at most 1. Discrete Gaussian noise is added to the sum of the weights of each key that occurs, and keys whose
    noisy sum reaches a threshold are released.

    With the default of three rounds, each has about three times the budget of the one before. A key that is released
    gets no weight in later rounds, and one whose noisy sum is below 3/4 of the scale of its noise a fifth of the weight
    of others. So weight moves to the keys between. The noisy sums are not released.

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
        rounds: From 1 to 3. The default is 3.
        minimum_users: M, from 1 to 2^30, by default 1: keys with fewer users, after ``max_items`` is applied, are never
            released. The threshold is higher by M - 1, because a key that reaches M users with a new user also has up
            to M - 1 weights of others. If M is larger than 1, only the last round releases keys.

    Returns:
        A :class:`Measurement` whose releases are tuples of keys, in the order of the numbers or of the code points.

    Privacy:
        Let D be d_in under "add_remove" and sqrt(2) d_in under "replace". Except on an event of probability delta', the
        loss is at most that of two normal distributions with variance 1 whose means are D / scale apart (up to 2^-200
        and a change of a variance by (4 * 2^-28)^2), and rho is at most D^2 / (2 scale^2). delta' is the sum over
        rounds of bounds on the probability that one of d_in max_items keys, whose squared weights sum to at most
        d_in^2, reaches the round's threshold minus (minimum_users - 1).

        The squared weight s of a user's new keys, which nobody else has, is missing on the others. So with one round
        the curve is also the largest over s, not the sum, of both losses: delta' for squared weights s of as small a
        part of the keys, and the loss of squared means that are smaller by s d_in^2 / scale^2.

    Raises:
        ParameterError: An argument is out of range or of the wrong type, both or neither of ``epsilon`` and ``scale``
            are given, or no threshold is large enough for ``delta``.
        ParameterTypeError: The measure is not one of the above.
        SpaceError: The metric is not a ``UserDistance`` or the domain not a ``FrameDomain``.

        On a call: DataTypeError, DataError and TableError as in ``make_count_by_item``; also DataError if an item has
        2^30 users or more.

    Runtime:
        About half a second for 10^6 (user, item) pairs. They are read and sorted once, or in each round if the table is
        too large to be read at once. Spark computes the sums in its own plan, and only sums by key are collected.

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
    rounds = checks.require_positive_int("rounds", rounds, at_most=3)  # [check-rounds]
    least = checks.require_positive_int("minimum_users", minimum_users, at_most=2**30, limit="2^30")  # [check-minimum]
    kinds, note = (STRICT[1:], " if scale is given") if epsilon is None else (STRICT, "")
    require_with_delta(output_measure, kinds, note)  # [check-measure]
    if (epsilon is None) == (scale is None):
        raise ParameterError("give either epsilon or scale, but not both")
    both_ways = 1 if input_metric.neighbors == "add_remove" else 2  # [both-ways]
    whole = to_fraction(checks.require_probability(delta, "delta"))
    releasing = rounds if least == 1 else 1  # [releasing]
    parts = [Fraction(2 * 3**i, 3**releasing - 1) for i in range(releasing)]

    def noises_at(sigma: Fraction) -> list[DiscreteGaussianNoise]:
        if sigma and sigma < _LEAST:  # [least]
            raise ParameterError("scale, given or computed from epsilon, must be 0 or at least 2^-16: add noise")
        return [DiscreteGaussianNoise(sigma * part, Fraction(1, UNIT)) for part in SCALES[rounds]]  # [noises]

    def least_levels(noises: list[DiscreteGaussianNoise], delta: Fraction, count: int) -> list[Fraction]:
        """Return the thresholds of the first ``count`` rounds that release keys, for their parts of ``delta``."""

        def least_level(noise: DiscreteGaussianNoise, delta: Fraction) -> Fraction:
            return noise.least_threshold(lambda t: noise.new_partition_probability(1, most, t) <= delta)  # [level]

        pairs = zip(noises[-releasing:], parts[:count], strict=False)
        return [least_level(noise, part * delta) for noise, part in pairs]

    def calibrate(share: Fraction, known: tuple[Any, Any] | None = None) -> tuple[list[Fraction], Fraction]:
        """Return the thresholds and the scale with the lower last threshold: known ones, or with this noise share."""

        def is_scale_sufficient(scale: float) -> bool:
            return NormalPair(both_ways * _normal_shift(noises_at(to_fraction(scale))))(loss) <= whole * share

        near = float(min(loss, _GREAT))
        sigma = to_fraction(least_scale(near, float(whole * share), float(both_ways) ** 0.5, is_scale_sufficient))
        noises = noises_at(sigma)
        early = least_levels(noises, whole * (1 - share), releasing - 1)

        def is_sufficient(level: Fraction) -> bool:
            return _release_curve(noises, [*early, level], 1, most, both_ways).is_within(loss, whole)  # [kept]

        if known is not None and not is_sufficient(known[0][-1]):
            return known
        return [*early, noises[-1].least_threshold(is_sufficient)], sigma

    if epsilon is None:
        sigma = to_fraction(checks.require_scale(scale))
        own_levels = least_levels(noises_at(sigma), whole, releasing) if sigma else [Fraction(2)] * releasing
    else:
        loss = to_fraction(checks.require_scale(epsilon, "epsilon"))
        known = calibrate(_NOISE_SHARES[0]) if rounds == 1 else None
        own_levels, sigma = calibrate(_NOISE_SHARES[1], known)  # [chosen]
    noises = noises_at(sigma)
    level = own_levels[-1] + least - 1  # [others]
    levels = own_levels if least == 1 else [level] * rounds

    def function(rows: Any) -> tuple[Any, ...]:
        from ..tables.grouping import Baskets

        baskets, found = Baskets(rows, most, UNIT), []
        for done, (noise, level) in enumerate(zip(noises, levels, strict=True), 1):
            sums = baskets.sum_item_weights()  # [sums]
            if not len(sums):
                break  # [nothing]
            noisy = _add_gaussian_noise(sums.sizes, noise)
            reached = (baskets.users >= least) & (noisy >= int(level * UNIT)) & (done > rounds - releasing)  # [reached]
            found += sums.keys_at(np.flatnonzero(reached))
            if done < rounds:
                shares = np.where(noisy < int(UNLIKELY * noise.scale * UNIT), _SMALL, FULL)
                baskets.set_item_shares(np.where(reached, 0, shares))  # [shares]
        return tuple(sorted(found))  # [sorted]

    def privacy_map(d_in: int) -> Any:
        if d_in == 0:
            return with_delta(output_measure, FREE, Fraction(0), strict=True)  # [free]
        if sigma == 0 or d_in * most > _MOST:
            return output_measure.infinite  # [no-noise]
        if without_delta(output_measure) == ZeroConcentratedDivergence():
            own = _new_keys_probability(noises, own_levels, d_in, most)  # [own]
            cost = Cost(rho=both_ways * d_in * d_in * _normal_shift(noises, 0) / 2)  # [rho]
            return with_delta(output_measure, cost, own, strict=True)  # [map]
        curve = _release_curve(noises, own_levels, d_in, most, both_ways)
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


def _new_keys_probability(
    noises: list[DiscreteGaussianNoise], levels: list[Fraction], d_in: int, most: int
) -> Fraction:
    """Return an upper bound of the probability that a new key reaches one of ``levels``, those of the last rounds."""
    each = zip(noises[-len(levels) :], levels, strict=True)
    found = [noise.new_partition_probability(d_in, d_in * most, level) for noise, level in each]
    return min(Fraction(1), sum(found, Fraction(0)))  # [any-round]


def _release_curve(
    noises: list[DiscreteGaussianNoise], levels: list[Fraction], d_in: int, most: int, both_ways: int
) -> PrivacyCurve:
    """Return the curve of the release at ``d_in``."""
    squares, known = both_ways * d_in * d_in, d_in * most  # [squares]
    pair = NormalPair(squares * _normal_shift(noises))
    noise = PrivacyCurve(pair, ZCDPBound(round_up(squares * _normal_shift(noises, 0) / 2)))
    curve = curve_with_delta(noise, _new_keys_probability(noises, levels, d_in, most), strict=True)  # [sum]
    if len(noises) > 1:
        return curve  # [sum-only]
    cells = []
    for low, high in itertools.pairwise(_ENDS):
        keys = min(known, known * high**2 // PARTS**2)  # [keys]
        new = noises[0].new_partition_probability(d_in, keys, levels[0], high)
        hidden = Fraction(d_in * low, PARTS) ** 2 * _normal_shift(noises)  # [hidden]
        cells.append(curve_with_delta(PrivacyCurve(NormalPair(pair.squares - hidden)), new, strict=True))  # [cell]
    return PrivacyCurve(*curve.bounds, Largest(tuple(cells)))  # [one-round]


def _add_gaussian_noise(sums: NDArray[np.int64], noise: DiscreteGaussianNoise) -> NDArray[Any]:
    """Return the sums, in steps, with discrete Gaussian noise."""
    drawn = discrete_gaussian(noise.scale / noise.step, len(sums))
    return Grid(Fraction(1), rounds=False).add_noise(sums, drawn)  # [noise]
    # end-proof-region: weighted_partition_selection


then_weighted_partition_selection = partial_constructor(make_weighted_partition_selection)
TRIED = {"max_items": (2,), "delta": (0.125,), "epsilon": (1.0,), "scale": (None,)}
