"""Top-k of counts by key where nobody can list the keys: winners until a stop symbol wins."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ..core.claims import proven
from ..core.measurement import Declared, Measurement
from ..core.partials import partial
from ..core.releases import FoundItems
from ..core.repeatable import Repeatable
from ..core.spaces import require_space
from ..core.steps import Steps
from ..distributions import one_shot as laws
from ..distributions import unlisted as exact_law
from ..errors import ParameterError, checks
from ..errors.checks import Number
from ..noises.gumbel import Gumbel
from ..noises.noise import Noise
from ..noises.standard import is_standard
from ..numerics.arithmetic import exact, round_up
from ..samplers import unlisted
from ..spaces.costs import FREE
from ..spaces.keyed_counts import KeyedCountDistance, KeyedCountsDomain, largest
from ..spaces.measures import Measure
from ._selection import Choice, one_shot_cost
from ._stop import keeps, least_lead, lost_before_stop
from ._with_delta import NOT_STRICT, STRICT, require_with_delta, with_delta

MOST_KEYS = 2**22  # Slots of a race, for which a quarter of a GiB is enough: so a release never tells by its memory.


@proven("measurements/unknown_domain_top_k")
def make_unknown_domain_top_k(
    input_domain: KeyedCountsDomain,
    input_metric: KeyedCountDistance,
    output_measure: Measure,
    *,
    k: int,
    scale: Number,
    limit: int,
    delta: Number | None = None,
    threshold: Number | None = None,
    noise: Noise | None = None,
) -> Measurement:
    """Release up to k keys with the best noisy counts, without a list of the keys that there may be.

    Of the table's own keys the ``limit`` best take part, equal counts in the public order of keys; where there are
    fewer, dummies fill up. A key's score is what its count leads the (limit + 1)-th best, and that of a dummy is 0.
    A stop symbol has the score ``threshold``. Noise of scale ``scale`` is added to every score, and keys are released,
    best first, until the stop symbol or a dummy comes, or k keys are found. Keys that few users have stay unseen.

    Args:
        input_domain: ``KeyedCountsDomain()``: counts by key, as ``make_count_by_item(candidates=None)`` gives them.
        input_metric: ``KeyedCountDistance(...)``, which says how many keys one user may have.
        output_measure: ``Approximate(MaxDivergence())``, ``PrivacyProfile()``, or, for Gumbel noise,
            ``Approximate(ZeroConcentratedDivergence())``.
        k: The number of keys to release at most, k >= 1.
        scale: The scale of the noise in units of the counts, finite, >= 0. At 0 the exact top-k is released, of the
            keys that lead by at least the threshold, with an infinite privacy loss.
        limit: How many keys take part, k <= limit <= 2^22, for which there is memory on any machine, however many
            keys the table has. It must be chosen without looking at the table. A larger one leaves
            keys a larger lead, and costs ln(limit) times the scale in the threshold where users may have many keys.
        delta: The delta that the release may have at d_in = 1, in (0, 1): the threshold is the least that keeps it,
            rounded up to a float64. Give this or ``threshold``.
        threshold: The score of the stop symbol in units of the counts, finite, >= 0.
        noise: ``Gumbel()``, the default, or ``Exponential()``, whose delta is about half as large.

    Returns:
        A :class:`Measurement` whose releases are named tuples ``(items, stopped)``: a tuple of at most k keys, best
        first, and whether there are fewer than k.

    Privacy:
        Let D be ``input_metric.range_distance(d_in)``, r = D / scale, n = min(limit, d_in max_items), which is limit
        where one user may have any number of keys, and g = (threshold - D) / scale. The loss is that of the one-shot
        mechanism (``make_report_noisy_top_k``, ``make_lipschitz_top_k``) with k winners among limit + 1 scores at range
        distance r, up to

        * delta = n / (n + exp(g)) for Gumbel noise;
        * delta = 1 - (1 - (1 - exp(-g))^(n + 1)) / ((n + 1) exp(-g)) for exponential noise, where g >= 0.

        Epsilon is k r for both. For Gumbel noise the loss holds but for an event of probability delta, so that rho and
        the curve are those of the one-shot mechanism, with this delta. For exponential noise the curve is that of the
        one-shot mechanism plus delta. Delta is attained for limit <= max_items (no limit to the keys of a user), and
        as a supremum for k > limit - n under d_in = 1.

        With Gumbel noise a release that stops after m < k keys takes m + 1 of the k steps, and
        ``make_pay_what_you_get`` and ``make_fully_adaptive_composition`` count no more.

    Accuracy:
        With probability at least 1 - alpha, for A = ``accuracy(1, alpha)``: the t-th released key has a count of at
        least that of the t-th best key less A, for all t; and if j <= k keys lead the (limit + 1)-th best count by more
        than threshold + A, at least j keys are released. A is scale ln((limit + 1) k / alpha) for Gumbel and
        scale ln((limit + 1) / alpha) for exponential noise, rounded up; the first argument is of no matter.

    Raises:
        ParameterError: An argument is out of range or of the wrong type, limit < k, both or neither of ``delta`` and
            ``threshold`` are given, or ``noise`` is another.
        ParameterTypeError: The measure is another, or one of zCDP with exponential noise.
        SpaceError: The metric does not fit the domain.
        DataError: On a call, the counts are not a member of the domain.

    Runtime:
        O(m + limit) for m keys, vectorised; 0.1 s for 10^6 keys in a ``dict``, and less where they come from a table.
        Many releases on the same counts, as ``make_repeat`` draws them, take some microseconds each.

    Proof: proofs/measurements/unknown_domain_top_k.tex

    References:
        Durfee and Rogers, "Practical Differentially Private Top-k Selection with Pay-what-you-get Composition" (2019).

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.KeyedCountsDomain(), tk.KeyedCountDistance()
        >>> found = space >> tk.then_unknown_domain_top_k(
        ...     tk.Approximate(tk.MaxDivergence()), k=2, scale=4.0, limit=10, delta=1e-9)
        >>> found.map(1)[0], found.map(1)[1] <= 1e-9
        (0.5, True)
        >>> found({"umbrella": 900, "rain coat": 700, "my own name": 1})
        FoundItems(items=('umbrella', 'rain coat'), stopped=False)
    """
    # proof-region: unknown_domain_top_k
    require_space(input_domain, input_metric, KeyedCountDistance, "KeyedCountDistance(...)")  # [check-space]
    noise = _checked(Gumbel() if noise is None else noise)  # [check-noise]
    kinds, note = (STRICT, "") if noise.is_max_stable else (NOT_STRICT, ", with exponential noise")
    require_with_delta(output_measure, kinds, note)  # [check-measure]
    limit = checks.count("limit", limit, at_most=MOST_KEYS, limit="2^22")  # [check-limit]
    k = checks.count("k", k, at_most=limit, limit="limit")  # [check-k]
    tau = exact(checks.scale(scale))  # [check-scale]
    level = _threshold(noise, limit, input_metric, tau, delta, threshold)  # [level]
    choice = Choice(k, limit + 1, tau, 1, True)  # [choice]
    search = unlisted.Search(limit, level, tau, noise, k)  # [search]

    def function(counts: Mapping[Any, int]) -> FoundItems:
        best = largest(counts, limit + 1)  # [largest]
        return _found(unlisted.top_k(best, search))  # [release]

    def many(counts: Mapping[Any, int], times: int) -> tuple[FoundItems, ...]:
        best = largest(counts, limit + 1)
        return tuple(map(_found, unlisted.repeated(best, search, times)))  # [many]

    def each(tables: Sequence[Mapping[Any, int]]) -> tuple[FoundItems, ...]:
        return tuple(map(function, tables))  # [each]

    def _found(items: Any) -> FoundItems:
        return FoundItems(items, len(items) < k)  # [stopped]

    def width(d_in: int) -> Fraction | float:
        return math.inf if tau == 0 else input_metric.range_distance(d_in) / tau  # [width]

    def lost(d_in: int) -> Fraction:
        if d_in == 0 or tau == 0:
            return Fraction(0)
        return lost_before_stop(noise, input_metric, limit, level, tau, d_in)  # [lost]

    def privacy_map(d_in: int) -> Any:
        if d_in == 0:
            return with_delta(output_measure, FREE, Fraction(0), strict=True)  # [free]
        if tau == 0:
            return output_measure.infinite  # [no-noise]
        cost = one_shot_cost(noise, choice, exact(width(d_in)))  # [cost]
        return with_delta(output_measure, cost, lost(d_in), strict=noise.is_max_stable)  # [map]

    return Measurement(
        input_domain=input_domain,
        input_metric=input_metric,
        output_measure=output_measure,
        function=Repeatable(function, 0, many, each),  # [repeatable]
        privacy_map=privacy_map,
        parameters={
            "mechanism": "unknown_domain_top_k",
            "k": k,
            "scale": scale,
            "limit": limit,
            "threshold": _shown(level),
            "noise": noise.name,
        },
        declared=Declared(
            law=lambda counts: exact_law.law(counts, search),  # [law]
            decode=_found,  # [decode]
            accuracy=lambda _, alpha: laws.accuracy(noise, limit + 1, k, tau, alpha),  # [accuracy]
            steps=Steps(k, width, lost, _steps_to(k)) if noise.is_max_stable else None,  # [steps]
        ),
    )


def _steps_to(k: int) -> Callable[[FoundItems], int]:
    return lambda found: min(len(found.items) + 1, k)  # [drawn]


def _checked(noise: Any) -> Noise:
    if isinstance(noise, Noise) and is_standard(noise) and (noise.is_max_stable or noise.is_memoryless):
        return noise
    raise ParameterError("noise must be Gumbel() or Exponential()")


def _threshold(
    noise: Noise, limit: int, metric: KeyedCountDistance, tau: Fraction, delta: Any, threshold: Any
) -> Fraction:
    if (delta is None) == (threshold is None):
        raise ParameterError("give either delta or threshold, and not both")
    if delta is None:
        return exact(checks.scale(threshold, "threshold"))  # [given]
    most = exact(checks.probability(delta, "delta"))
    start, slots = metric.range_distance(1), metric.moved_one_way(1, limit)
    level = _float_above(start + tau * exact(least_lead(noise, slots, most)))  # [least]
    while tau and not keeps(noise, slots, (level - start) / tau, most):  # [kept]
        level = _float_above(level + tau / 2**40)
    return level


def _float_above(level: Fraction) -> Fraction:
    rounded = round_up(level)
    return level if math.isinf(rounded) else exact(rounded)  # [threshold-up]
    # end-proof-region: unknown_domain_top_k


def _shown(level: Fraction) -> Number:
    """A float64 where the threshold is one."""
    return float(level) if level < 2**1000 and exact(float(level)) == level else level


then_unknown_domain_top_k = partial(make_unknown_domain_top_k)
