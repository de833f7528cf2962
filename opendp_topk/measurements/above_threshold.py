"""Above threshold: which scores reach a noisy threshold, one query at a time, until k answers are True."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.claims import proved_by
from ..core.measurement import Measurement
from ..core.partials import partial_constructor
from ..core.queryable import Queryable, freeze_if_array
from ..core.spaces import require_space
from ..errors import BudgetError, DataError, ParameterError, ParameterTypeError, checks
from ..errors.checks import Number
from ..numerics.arithmetic import as_mpq, to_fraction
from ..sampling.noises.exponential import Exponential
from ..sampling.noises.gumbel import Gumbel
from ..sampling.noises.noise import Noise
from ..sampling.noises.standard import describe_noise_options, is_standard
from ..sampling.samplers.lazy_noise import LazyNoise, reaches_noisy_threshold
from ..spaces.costs import SCALAR, Cost, require_measure, rho_of_laplace
from ..spaces.domains import VectorDomain
from ..spaces.measures import Distance, Measure, PrivacyProfile, is_concentrated
from ..spaces.metrics import LInfDistance, attainable_distance

Answers = NDArray[np.bool_]


@proved_by("measurements/above_threshold")
def make_above_threshold(
    input_domain: VectorDomain,
    input_metric: LInfDistance,
    output_measure: Measure[Distance],
    *,
    threshold: Number,
    scale: Number,
    threshold_scale: Number | None = None,
    k: int = 1,
    noise: Noise | None = None,
    ask: Sequence[int] | None = None,
) -> Measurement[Distance, Any]:
    """Answer one query at a time whether a score reaches a noisy threshold, until k answers are True.

    The threshold gets noise of scale ``threshold_scale`` once, and every queried score gets fresh noise of scale
    ``scale``: the answer on score i is x_i + scale Z_i >= threshold + threshold_scale Z. The privacy loss does not
    depend on the number of False answers, and the k-th True answer is the last. This is the sparse vector technique.
    It is unrelated to ``opendp-topk release above-threshold``, which finds all frequent items of a table at once.

    Args:
        input_domain: Vectors of scores, integers or floats.
        input_metric: ``LInfDistance(monotonic=...)``, in units of the scores. ``RangeDistance()`` does not fit, because
            the threshold does not move with the scores.
        output_measure: ``MaxDivergence()``, ``RangeDivergence()``, ``ZeroConcentratedDivergence()`` or
            ``PrivacyProfile()``.
        threshold: The public threshold in units of the scores, a finite number.
        scale: The scale of the noise of each score, in units of the scores, finite, >= 0.
        threshold_scale: The scale of the noise of the threshold, finite, >= 0; default ``scale``. For a given epsilon
            the noise of an answer has the smallest variance if scale / threshold_scale is the cube root of k, or of
            2 k without ``monotonic``.
        k: The number of True answers after which no query is answered, >= 1.
        noise: ``Exponential()``, ``Gumbel()``, ``HalfLogistic()``, ``Laplace()`` or ``Logistic()``. Default:
            ``Gumbel()`` under ``ZeroConcentratedDivergence`` unless k = 1 and ``monotonic=True``; otherwise
            ``Exponential()``. All have the same epsilon and range, and exponential noise has the smallest variance. At
            equal variance Gumbel noise has a smaller rho, except for k = 1 if ``monotonic=True`` or rho is above 1.
            Under ``PrivacyProfile`` it has a smaller epsilon at delta = 1e-6 only for k above about 30.
        ask: The indices to query, in this order, for a measurement that is not interactive and stops after the k-th
            True. Such a measurement can be paid from a ledger. None (the default) for an interactive measurement.

    Returns:
        A :class:`Measurement`. With ``ask`` its releases are arrays of bool of shape (m,), m <= len(ask): the answers
        up to the k-th True. Without ``ask`` it is interactive, and its releases are :class:`Queryable` objects.
        ``queryable(i)`` returns the answer on score i, a bool. ``queryable([i, j, ...])`` returns an array of bool with
        the answers up to the k-th True. A score may be queried again, with fresh noise. After the k-th True every
        query raises a :class:`BudgetError`.

    Privacy:
        For any number of queries, chosen adaptively or not. With D = ``d_in``, r = d_R / scale,
        where d_R is ``input_metric.range_distance(d_in)`` (2 d_in under ``LInfDistance()``, d_in under
        ``LInfDistance(monotonic=True)``), R(x) = x / (1 - exp(-x)) - 1 - ln(x / (1 - exp(-x))) and
        L(x) = x + exp(-x) - 1:

        - MaxDivergence: epsilon = D / threshold_scale + k r.
        - RangeDivergence: scale r / threshold_scale + 2 k r.
        - Exponential or half-logistic noise: ZeroConcentratedDivergence min(L(D / threshold_scale + k r),
          R(scale r / threshold_scale + 2 k r)).
        - Gumbel or logistic noise: ZeroConcentratedDivergence min(L(D / threshold_scale + k r),
          R(scale r / threshold_scale + 2 k r), L(D / threshold_scale) + k L(r)).
        - Laplace noise: ZeroConcentratedDivergence min(L(D / threshold_scale + k r),
          R(scale r / threshold_scale + 2 k r), L(D / threshold_scale) + k L(1.443 r)).

        Under PrivacyProfile the curve combines these three bounds and the curve of Laplace noise at this epsilon. The
        MaxDivergence bound is tight with every noise. The RangeDivergence bound is tight under ``monotonic=True`` or
        with exponential noise. With exponential and half-logistic noise, rho grows with the square of k as long as
        epsilon is small. With Gumbel, logistic and Laplace noise it grows linearly.

        Under zCDP, the best adversaries that a search found reach 0.13 to 0.53 of rho (``docs/tightness.md``): the map
        adds worst cases that none of them reaches at once. It is not known if rho can be smaller.

        The privacy loss is the same if fewer than k answers are True. It does not cover a release of the noisy score
        itself: release that with fresh noise, for example by ``make_laplace``.

    Accuracy:
        For exponential noise and one query, with s = ``scale``, t = ``threshold_scale`` and any z >= 0: the answer on a
        score of threshold + z or more is False with probability at most t / (s + t) exp(-z / t), and the answer on a
        score of threshold - z or less is True with probability at most s / (s + t) exp(-z / s). The answer on a score
        at the threshold is True with probability s / (s + t), which is 1/2 for equal scales. To get 1/2 for unequal
        scales, correct the threshold: add s ln(2 s / (s + t)) if s > t, and subtract t ln(2 t / (s + t)) if t > s.

    Raises:
        ParameterError: ``k``, ``threshold``, a scale, ``noise`` or ``ask`` is out of range or of the wrong type.
        SpaceError: The metric does not fit the domain.
        DataError: On a call, the scores are not a member of the domain, or are too few for ``ask``.

    Runtime:
        About 0.1 ms per answer.

    Proof: proofs/measurements/above_threshold.tex

    References:
        Dwork and Roth, "The Algorithmic Foundations of Differential Privacy" (2014). Lyu, Su and Li, "Understanding
        the Sparse Vector Technique for Differential Privacy" (2017). Liu, Wang, Liu, Li and Chen, "Unleash the Power
        of Ellipsis: Accuracy-enhanced Sparse Vector Technique with Exponential Noise" (2024).

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> watch = space >> tk.then_above_threshold(tk.MaxDivergence(), threshold=1000, scale=8.0, threshold_scale=4.0)
        >>> watch.map(1)
        0.375
        >>> queryable = watch([10, 25, 5000, 30])
        >>> queryable(0), queryable([1, 2, 3]).tolist()
        (False, [False, True])
    """
    # proof-region: above_threshold
    require_space(input_domain, input_metric, LInfDistance, "LInfDistance(monotonic=...)")  # [check-space]
    require_measure(output_measure, *SCALAR, PrivacyProfile)  # [check-measure]
    k = checks.require_positive_int("k", k)  # [check-k]
    scale = checks.require_scale(scale)  # [check-scale]
    other_scale = scale if threshold_scale is None else checks.require_scale(threshold_scale, "threshold_scale")
    level = checks.require_finite(threshold, "threshold")  # [check-threshold]
    if noise is None:
        several_steps = k > 1 or not input_metric.monotonic
        noise = Gumbel() if is_concentrated(output_measure) and several_steps else Exponential()  # [default]
    checks.require_instance("noise", noise, Noise, describe_noise_options())
    if not is_standard(noise):
        raise ParameterError("noise must be one of the five of the library: other noises are not proved")
    asked = None if ask is None else _parse_indices(ask, "ask", input_domain.size)  # [check-ask]
    s, t = to_fraction(scale), to_fraction(other_scale)
    own_scale, bar_scale, public_level = as_mpq(s), as_mpq(t), as_mpq(to_fraction(level))  # [rational]

    def function(value: Any) -> Any:
        scores = freeze_if_array(value)  # [held]
        if asked is None:
            return Queryable(start_conversation(scores))  # [interactive]
        if max(asked) >= len(scores):
            raise DataError("scores must contain an element for every index of ask")  # [check-length]
        return compare_with_threshold(scores, asked, LazyNoise(noise), k)  # [at-once]

    def compare_with_threshold(scores: Any, indices: Sequence[int], bar: LazyNoise, most: int) -> Answers:
        found: list[bool] = []
        for index in indices:
            lead = as_mpq(to_fraction(scores[index : index + 1].tolist()[0])) - public_level  # [lead]
            found.append(reaches_noisy_threshold(lead, LazyNoise(noise), own_scale, bar, bar_scale))  # [fresh]
            most -= found[-1]
            if most == 0:
                break  # [stop]
        return np.array(found, dtype=np.bool_)

    def start_conversation(scores: Any) -> Callable[[Any], Callable[[], Any]]:
        bar, left = LazyNoise(noise), k  # [once]

        def admit_query(query: Any) -> Callable[[], Any]:
            indices = _parse_indices([query] if checks.is_integer(query) else query, "query", len(scores))
            if left == 0:
                raise BudgetError("all k answers True have been given: no query is left")  # [used-up]
            return lambda: answer_query(indices, checks.is_integer(query))

        def answer_query(indices: tuple[int, ...], single: bool) -> Any:
            nonlocal left
            found = compare_with_threshold(scores, indices, bar, left)
            left -= int(found.sum())  # [count]
            return bool(found[0]) if single else found

        return admit_query

    def privacy_map(d_in: Number) -> Any:
        d = attainable_distance(input_domain, d_in)  # [attainable]
        if d == 0:
            return 0.0  # [free]
        r = input_metric.range_distance(d)  # [range-distance]
        if s == 0 or t == 0 or r == math.inf:
            return output_measure.infinite  # [no-noise]
        pure = to_fraction(d) / t + k * to_fraction(r) / s  # [pure]
        cost = Cost.from_laplace_dominated(pure, to_fraction(r) / t + 2 * k * to_fraction(r) / s)  # [cost]
        if noise.steepness is not None and cost.rho is not None:
            apart = rho_of_laplace(to_fraction(d) / t) + k * rho_of_laplace(
                noise.steepness * to_fraction(r) / s
            )  # [step-by-step]
            cost = replace(cost, rho=min(cost.rho, apart))
        return cost.to_distance(output_measure)

    return Measurement(
        input_domain=input_domain,
        input_metric=input_metric,
        output_measure=output_measure,
        function=function,
        privacy_map=privacy_map,
        parameters={
            "mechanism": "above_threshold",
            "noise": noise,
            "k": k,
            "threshold": level,
            "scale": scale,
            "threshold_scale": other_scale,
        }
        | ({} if asked is None else {"ask": asked}),
        interactive=asked is None,
    )
    # end-proof-region: above_threshold


# proof-region: above_threshold_arguments
def _parse_indices(value: Any, name: str, size: int | None) -> tuple[int, ...]:
    """Return ``value`` as indices into ``size`` scores, or into any number of scores if ``size`` is None."""
    listed = value.tolist() if isinstance(value, np.ndarray) and value.ndim == 1 else value
    if not isinstance(listed, list | tuple | range) or not all(map(checks.is_integer, listed)):
        raise ParameterTypeError(f"{name} must be a list of indices, or another sequence of integers >= 0")
    indices = tuple(int(checks.plain_number(one)) for one in listed)
    if not indices or min(indices) < 0 or (size is not None and max(indices) >= size):
        raise ParameterError(f"{name} must contain at least one index, each >= 0 and less than the number of scores")
    return indices


# end-proof-region: above_threshold_arguments


then_above_threshold = partial_constructor(make_above_threshold)
TRIED = {"threshold": (1,), "ask": ((0, 1, 2),)}
