"""Optimal partition selection: each key is released with the largest probability that its user count allows.

Proof: proofs/measurements/partition_selection.tex
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from ..core.claims import proved_by
from ..core.measurement import Declared, Measurement
from ..core.partials import partial_constructor
from ..core.spaces import require_space
from ..errors import CapacityError, ParameterError, checks
from ..errors.checks import Number
from ..numerics.arithmetic import exp_up, one_minus_exp_up, round_up, to_fraction
from ..sampling.samplers.exponentials import DIGITS, draw_bernoulli_events
from ..spaces.costs import FREE, NOT_STRICT, Cost, require_with_delta, with_delta
from ..spaces.curves.closed_forms import ApproximateDP
from ..spaces.curves.composed import Composed
from ..spaces.curves.curve import PrivacyCurve
from ..spaces.keyed_counts import KeyedCountDistance, KeyedCountsDomain, count_columns
from ..spaces.measures import Distance, Measure, PrivacyProfile
from ._key_shares import any_event_probability, joint_delta, per_partition_budget

_MOST_STEPS = 2**20  # a table of a million probabilities takes a second


# proof-region: selection_curve
@functools.lru_cache(maxsize=64)
def release_probabilities(epsilon: Fraction, delta: Fraction) -> tuple[int, ...]:
    """Return p(0), p(1), ... up to the first that is 1, in units of 2^-128 and rounded down.

    p(0) = 0 and p(n + 1) = min(e^epsilon p(n) + delta, 1 - e^-epsilon (1 - p(n) - delta), 1).

    Raises:
        ParameterError: delta is below 2^-128, or the table would have more than 2^20 entries.
    """
    one, shrink = 1 << DIGITS, exp_up(-epsilon)  # [shrink]
    step = int(delta * one)  # [step]
    if step == 0:
        raise ParameterError("delta is too small: the share of one item must be at least 2^-128")
    low, high = shrink.numerator, shrink.denominator
    turn = (one - step) * low // (low + high)  # [turn]
    found, last = [0], 0
    while last < one:
        last = (
            last * high // low + step  # [grown]
            if last <= turn
            else one + -max(0, one - last - step) * low // high  # [left]
        )
        found.append(last)
        if len(found) > _MOST_STEPS:
            raise ParameterError(
                "epsilon and delta per item are too small: a table of a million probabilities does not reach "
                "1. Lower max_items, or raise epsilon and delta"
            )
    return tuple(found)


# end-proof-region: selection_curve


_MOST_TERMS = 64  # largest group of users whose deltas are summed term by term
_MOST_KEYS = 12  # in an exact output distribution, which then has 4096 sets of keys
_MOST_COMPOSED = 1024  # keys per user in a composed curve: more take seconds


@proved_by("measurements/partition_selection")
def make_partition_selection(
    input_domain: KeyedCountsDomain,
    input_metric: KeyedCountDistance,
    output_measure: Measure[Distance],
    *,
    epsilon: Number,
    delta: Number,
) -> Measurement[Distance, Any]:
    """Release keys without their counts, each with the largest probability that its part of epsilon and delta allows.

    If users have one key each, this is optimal: no mechanism that decides on each key independently releases any key
    with a larger probability. A user with up to m keys pays for m of them: each key gets an epsilon e and a delta d
    such that m keys together have the loss (epsilon, delta), by the exact composition of m randomised responses. That
    is e = epsilon / m, or a larger e and a smaller d if a key then needs fewer users to be released with probability
    1/2. The parameter ``each`` of the measurement is the pair (e, d). A key of n users is released with probability
    p(n), where p(0) = 0 and

        p(n + 1) = min(exp(e) p(n) + d, 1 - exp(-e) (1 - p(n) - d), 1),

    rounded down to a multiple of 2^-128. Sampling from p(n) is exact.

    Args:
        input_domain: ``KeyedCountsDomain()``: counts by key, as from
            ``make_count_by_item(candidates=None, max_items=...)``.
        input_metric: ``KeyedCountDistance(max_items, ...)`` with an upper bound m on the number of keys per user.
        output_measure: ``Approximate(MaxDivergence())`` or ``PrivacyProfile()``.
        epsilon: The epsilon for adding or removing one user, finite, >= 0.
        delta: The delta for adding or removing one user, in (0, 1).

    Returns:
        A :class:`Measurement` whose releases are tuples of keys, in the public order of keys.

    Privacy:
        At d_in = 1 under ``monotonic=True`` the loss is (epsilon, delta'), where
        delta' = 1 - (1 - d)^m (1 - h) <= delta and h is the delta at epsilon of m randomised responses with loss e. If
        e = epsilon / m, then h = 0 and delta' is tight, up to the rounding of d to a multiple of 2^-128. If
        D = ``input_metric.range_distance(d_in)`` users are added or removed, the loss is
        (D epsilon, delta' (1 + exp(epsilon) + ... + exp((D - 1) epsilon))). For D = 1 and m up to 1024, the curve is
        also that of the composition of m keys with loss (e, d).

    Raises:
        ParameterError: An argument is out of range or of the wrong type, the metric has no ``max_items``, or epsilon
            and delta are so small that p(n) < 1 for a million n.
        ParameterTypeError: The measure is not one of the above.
        SpaceError: The metric does not fit the domain.
        DataError: On a call, the counts are not a member of the domain.

    Runtime:
        O(n log n) for n keys.

    Proof: proofs/measurements/partition_selection.tex

    References:
        Desfontaines, Voss, Gipson and Mandayam, "Differentially Private Partition Selection" (2020). Kairouz, Oh and
        Viswanath, "The Composition Theorem for Differential Privacy" (2015).

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.KeyedCountsDomain(), tk.KeyedCountDistance(max_items=1)
        >>> found = space >> tk.then_partition_selection(tk.Approximate(tk.MaxDivergence()), epsilon=1.0, delta=1e-9)
        >>> found.map(1)
        (1.0, 1e-09)
        >>> found({"umbrella": 900, "rain coat": 700, "my own name": 1})
        ('rain coat', 'umbrella')
    """
    # proof-region: partition_selection
    require_space(input_domain, input_metric, KeyedCountDistance, "KeyedCountDistance(max_items, ...)")  # [check-space]
    most = input_metric.limited()
    require_with_delta(output_measure, NOT_STRICT)  # [check-measure]
    epsilon = checks.require_scale(epsilon, "epsilon")
    loss = to_fraction(epsilon)  # [check-epsilon]
    each, share = per_partition_budget(loss, to_fraction(checks.require_probability(delta, "delta")), most)  # [share]
    table = release_probabilities(each, share)  # [table]
    lost = joint_delta(most, each, share, loss) if each else any_event_probability(share, most)  # [lost]

    def release_probability(count: int) -> int:
        return table[min(count, len(table) - 1)]  # [chance]

    def function(counts: Mapping[Any, int]) -> tuple[Any, ...]:
        sizes, keys_at = count_columns(counts)  # [columns]
        kept = draw_bernoulli_events([release_probability(count) for count in sizes.tolist()])  # [events]
        return tuple(sorted(keys_at(np.flatnonzero(kept))))  # [sorted]

    def privacy_map(d_in: int) -> Any:
        if d_in == 0:
            return with_delta(output_measure, FREE, Fraction(0), strict=False)  # [free]
        steps = input_metric.range_distance(d_in)
        read = with_delta(
            output_measure, Cost(steps * loss), _group_delta_bound(loss, lost, steps), strict=False
        )  # [map]
        if steps > 1 or most > _MOST_COMPOSED or output_measure != PrivacyProfile():
            return read
        return PrivacyCurve(*read.bounds, Composed(((PrivacyCurve(ApproximateDP(each, share)), most),)))  # [composed]

    def output_distribution(counts: dict[Any, int]) -> dict[Hashable, Any]:
        if len(counts) > _MOST_KEYS:
            raise CapacityError(f"the exact distribution of more than {_MOST_KEYS} keys has too many outcomes")
        found: dict[Hashable, Any] = {(): Fraction(1)}
        for key in sorted(counts):
            happens = Fraction(release_probability(counts[key]), 1 << DIGITS)
            with_key = {(*keys, key): mass * happens for keys, mass in found.items()}  # type: ignore[misc]
            found = {keys: mass * (1 - happens) for keys, mass in found.items()} | with_key  # [independent]
        return {keys: mass for keys, mass in found.items() if mass}

    return Measurement(
        input_domain=input_domain,
        input_metric=input_metric,
        output_measure=output_measure,
        function=function,
        privacy_map=privacy_map,
        parameters={
            "mechanism": "partition_selection",
            "epsilon": epsilon,
            "delta": delta,
            "each": (round_up(each), round_up(share)),
        },
        declared=Declared(law=output_distribution),  # [law]
    )


def _group_delta_bound(loss: Fraction, lost: Fraction, steps: int) -> Fraction:
    """Return an upper bound on lost (1 + e^loss + ... + e^((steps - 1) loss)), at most 1."""
    terms = (
        [_exp_upper_bound(loss * i) for i in range(steps)]
        if steps <= _MOST_TERMS
        else [steps * _exp_upper_bound(loss * steps)]
    )
    return min(Fraction(1), lost * sum(terms, Fraction(0)))  # [group]


def _exp_upper_bound(x: Fraction) -> Fraction:
    """Return a rational upper bound on e^x for x >= 0; if x is large, the bound is practically infinite."""
    shrunk = 1 - one_minus_exp_up(x)
    return 1 / shrunk if shrunk else Fraction(_INFINITE)  # [grown-by]


_INFINITE = 2**2000  # its product with any float64 delta > 0 is above 1
# end-proof-region: partition_selection


then_partition_selection = partial_constructor(make_partition_selection)
TRIED = {"epsilon": (1.0,), "delta": (0.125,)}
