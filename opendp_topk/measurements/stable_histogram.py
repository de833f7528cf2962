"""All keys whose noisy counts reach a threshold, with these counts, where nobody can list the keys."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from ..core.claims import proven
from ..core.measurement import Measurement
from ..core.partials import partial
from ..core.releases import FoundCounts
from ..core.spaces import require_space
from ..distributions.gaussian_tail import gaussian_beyond
from ..errors import ParameterError, checks
from ..errors.checks import Number
from ..numerics.arithmetic import exact, round_up
from ..samplers.integers import discrete_gaussian, discrete_laplace
from ..spaces.concentrated import rho_of_discrete_laplace, rho_of_pure
from ..spaces.costs import FREE, Cost
from ..spaces.curves.closed_forms import ApproximateDP, Concentrated
from ..spaces.curves.composed import Composed
from ..spaces.curves.curve import PrivacyCurve
from ..spaces.curves.discrete import DiscreteLaplace
from ..spaces.keyed_counts import KeyedCountDistance, KeyedCountsDomain, columns
from ..spaces.measures import Measure, PrivacyProfile
from ..spaces.with_delta import STRICT, curve_with_delta, require_with_delta, with_delta
from ._any_of import any_of, laplace_beyond
from ._grid import Grid
from .select_then_count import count_curve


@proven("measurements/stable_histogram")
def make_stable_histogram(
    input_domain: KeyedCountsDomain,
    input_metric: KeyedCountDistance,
    output_measure: Measure,
    *,
    scale: Number,
    delta: Number | None = None,
    threshold: int | None = None,
    gaussian: bool = False,
) -> Measurement:
    """Release every key whose noisy count reaches the threshold, with its noisy count.

    Discrete Laplace or Gaussian noise of scale ``scale`` is added to the counts of the keys that occur. Sums below the
    threshold are dropped, so that a key of few users stays unseen.

    Args:
        input_domain: ``KeyedCountsDomain()``: counts by key, as ``make_count_by_item(candidates=None, max_items=...)``
            gives them.
        input_metric: ``KeyedCountDistance(max_items, ...)`` with a limit to the keys that one user may have.
        output_measure: ``Approximate(ZeroConcentratedDivergence())``, ``PrivacyProfile()`` or, for Laplace noise,
            ``Approximate(MaxDivergence())``.
        scale: The scale of the noise in units of the counts, finite, >= 0: for Gaussian noise its standard deviation,
            nearly. At 0 the exact counts that reach the threshold are released, with an infinite privacy loss.
        delta: The delta that the release may have at d_in = 1, in (0, 1): the threshold is the least that keeps it.
            Give this or ``threshold``.
        threshold: The least noisy count that is released, an integer >= 2.
        gaussian: Whether the noise is discrete Gaussian, whose tails are lighter: its threshold is the lower one under
            ``Approximate(ZeroConcentratedDivergence())`` where users may have several keys.

    Returns:
        A :class:`Measurement` whose releases are named tuples ``(items, counts)``: the keys, the largest noisy count
        first and equal ones in the public order of keys, and the noisy counts, which are integers.

    Privacy:
        Let D be ``input_metric.range_distance(d_in)``, m = max_items, u = ``input_metric.each``, which is 1 for counts
        of users, and q(c) the probability that c plus noise reaches the threshold: q(c) = exp((c - threshold) / scale)
        / (1 + exp(-1 / scale)) for Laplace noise. The loss is that of the noise on counts which users move, but for an
        event of probability

        delta = max(1 - (1 - q(u))^(d_in m), 1 - (1 - q(d_in u))^m),

        which is attained: no smaller one holds under ``monotonic=True``. For threshold <= d_in u it is 1. Up to delta

        * with Laplace noise epsilon is D m / scale, and rho is (D m / (d_in u)) G(d_in u / scale, 1 / scale), where
          G(E, h) = E - (h / sinh(h)) (1 - exp(-E)); for d_in u = 1 that is (D m / scale) tanh(1 / (2 scale));
        * with Gaussian noise rho is D d_in u m / (2 scale^2).

        At d_in = 1 the curve is that of D m / u integers that move by u, each exactly, where they are at most 1024.
        Otherwise it is what epsilon and rho say. At d_in = 1 under ``monotonic=True`` epsilon and rho are attained as
        well.

    Accuracy:
        The noise Z of a count has P(|Z| >= z) = 2 exp(-z / scale) / (1 + exp(-1 / scale)) for integers z >= 1 where it
        is Laplace noise, and at most 2 exp(-z^2 / (2 scale^2)) where it is Gaussian. A key is released with the
        probability that its count plus Z reaches the threshold: one with a count of threshold + z - 1 is missed with
        half of that probability.

    Raises:
        ParameterError: An argument is out of range or of the wrong type, both or neither of ``delta`` and ``threshold``
            are given, or the metric has no ``max_items``.
        ParameterTypeError: The measure is another, or ``Approximate(MaxDivergence())`` with Gaussian noise.
        SpaceError: The metric does not fit the domain.
        DataError: On a call, the counts are not a member of the domain.

    Runtime:
        O(n) for n keys, vectorised; 0.2 s for 10^6 keys in a ``dict``, and less where they come from a table.

    Proof: proofs/measurements/stable_histogram.tex

    References:
        Korolova, Kenthapadi, Mishra and Ntoulas, "Releasing Search Queries and Clicks Privately" (2009). Canonne,
        Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020).

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
    most = input_metric.limited()
    allowed, note = (STRICT[1:], ", with Gaussian noise") if checks.flag("gaussian", gaussian) else (STRICT, "")
    require_with_delta(output_measure, allowed, note)  # [check-measure]
    scale = checks.scale(scale)
    b = exact(scale)  # [check-scale]
    draw, beyond = (discrete_gaussian, gaussian_beyond) if gaussian else (discrete_laplace, laplace_beyond)  # [draw]

    def lost(d_in: int, level: int) -> Fraction:
        apart, alike = level - input_metric.rise(1), level - input_metric.rise(d_in)  # [leads]
        if alike <= 0:
            return Fraction(1)
        return max(any_of(beyond(b, apart), d_in * most), any_of(beyond(b, alike), most))  # [delta]

    level = _threshold(lost, input_metric.rise(1), b, delta, threshold)  # [level]

    def function(counts: Mapping[Any, int]) -> FoundCounts:
        sizes, keys_at = columns(counts)  # [columns]
        if not len(sizes):
            return FoundCounts((), ())  # [nothing]
        noisy = Grid(Fraction(1), rounds=False).noisy(sizes, draw(b, len(sizes)))  # [noise]
        reached = np.flatnonzero(noisy >= level)  # [reached]
        found = sorted(zip((-noisy[reached]).tolist(), keys_at(reached), strict=True))  # [sorted]
        return FoundCounts(tuple(key for _, key in found), tuple(-count for count, _ in found))

    def privacy_map(d_in: int) -> Any:
        if d_in == 0:
            return with_delta(output_measure, FREE, Fraction(0), strict=True)  # [free]
        if b == 0:
            return output_measure.infinite  # [no-noise]
        each, many = input_metric.rise(d_in), input_metric.steps(d_in) * most
        moved = input_metric.range_distance(d_in) * most  # [moved]
        cost = Cost(rho=moved * each / (2 * b * b)) if gaussian else _laplace_cost(moved, each, b)  # [cost]
        if d_in == 1 and many <= _MOST and output_measure == PrivacyProfile():
            steps = Composed(((count_curve(each, b) if gaussian else _moved_once(each, b), many),))  # [curves]
            curve = PrivacyCurve(*cost.under(output_measure).bounds, steps)
            return curve_with_delta(curve, lost(d_in, level), strict=True)
        return with_delta(output_measure, cost, lost(d_in, level), strict=True)  # [map]

    return Measurement(
        input_domain=input_domain,
        input_metric=input_metric,
        output_measure=output_measure,
        function=function,
        privacy_map=privacy_map,
        parameters={"mechanism": "stable_histogram", "scale": scale, "threshold": level, "gaussian": gaussian},
    )


def _laplace_cost(moved: int, most: int, b: Fraction) -> Cost:
    """The cost of Laplace noise on counts that move by ``moved`` together, and by ``most`` each at most."""
    rho = moved * rho_of_discrete_laplace(most / b, 1 / b) / most
    return Cost(moved / b, 2 * moved / b, rho)  # [laplace-cost]


def _moved_once(each: int, b: Fraction) -> PrivacyCurve:
    """What one count says that moves by ``each`` at most, with Laplace noise; by one: a randomised response."""
    if each == 1:
        return PrivacyCurve(ApproximateDP(1 / b), Concentrated(round_up(rho_of_pure(1 / b))))  # [one-curve]
    rho = rho_of_discrete_laplace(each / b, 1 / b)
    return PrivacyCurve(ApproximateDP(each / b), Concentrated(round_up(rho)), DiscreteLaplace(each, b))  # [far-curve]


def _threshold(lost: Any, each: int, b: Fraction, delta: Any, threshold: Any) -> int:
    if (delta is None) == (threshold is None):
        raise ParameterError("give either delta or threshold, and not both")
    if delta is None:
        if checks.count("threshold", threshold) < 2:
            raise ParameterError("threshold must be at least 2: one user alone must not reach it without noise")
        return int(threshold)  # [given]
    most = exact(checks.probability(delta, "delta"))
    low, high = each, each + 1
    while b and exact(round_up(lost(1, high))) > most:  # [kept]
        low, high = high, 2 * high
        if high > _FARTHEST * b + _FARTHEST * each:
            raise ParameterError("delta is too small: no threshold keeps it")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if not b or exact(round_up(lost(1, middle))) <= most else (middle, high)  # [passes]
    return high


_MOST = 1024  # curves: together more of them say little beyond their rhos, and take minutes
_FARTHEST = 4096  # scales: beyond them no float64 is as small as what is lost
# end-proof-region: stable_histogram


then_stable_histogram = partial(make_stable_histogram)
