"""Above threshold: which scores reach a threshold, one question at a time, until k of them did."""

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
from ..errors import BudgetError, DataLengthError, ParameterError, ParameterTypeError, checks
from ..errors.checks import Number
from ..numerics.arithmetic import as_mpq, to_fraction
from ..sampling.noises.exponential import Exponential
from ..sampling.noises.noise import Noise
from ..sampling.noises.standard import describe_noise_options, is_standard
from ..sampling.samplers.lazy_noise import LazyNoise, reaches_noisy_threshold
from ..spaces.costs import SCALAR, Cost, require_measure, rho_of_laplace
from ..spaces.domains import VectorDomain
from ..spaces.measures import Measure, PrivacyProfile
from ..spaces.metrics import LInfDistance, attainable_distance

Answers = NDArray[np.bool_]


@proved_by("measurements/above_threshold")
def make_above_threshold(
    input_domain: VectorDomain,
    input_metric: LInfDistance,
    output_measure: Measure,
    *,
    threshold: Number,
    scale: Number,
    threshold_scale: Number | None = None,
    k: int = 1,
    noise: Noise = Exponential(),  # noqa: B008  (a frozen value)
    ask: Sequence[int] | None = None,
) -> Measurement:
    """Tell of scores, asked for one by one, whether they reach a threshold with noise, until k of them did.

    The threshold gets noise of scale ``threshold_scale`` once, and every score that is asked for gets fresh noise of
    scale ``scale``: the answer on score i is x_i + scale Z_i >= threshold + threshold_scale Z. As many answers as
    there are may be False at no further cost; the k-th True ends it. This is the sparse vector technique. It has
    nothing to do with ``opendp-topk release --above-threshold``, which finds all frequent items of a table at once.

    Args:
        input_domain: Vectors of scores, integers or floats.
        input_metric: ``LInfDistance(monotonic=...)``, in units of the scores. Not ``RangeDistance()``: the threshold
            stays where it is when all scores move.
        output_measure: ``MaxDivergence()``, ``RangeDivergence()``, ``ZeroConcentratedDivergence()`` or
            ``PrivacyProfile()``.
        threshold: The threshold in units of the scores, a finite number; it is public.
        scale: The scale of the noise of each score, in units of the scores, finite, >= 0.
        threshold_scale: The scale of the noise of the threshold, finite, >= 0; by default ``scale``. For one epsilon
            the noise of an answer varies least where scale / threshold_scale is the cube root of k, or of 2 k
            without ``monotonic``.
        k: How often the answer may be True, >= 1.
        noise: ``Exponential()`` (the default), ``Gumbel()``, ``HalfLogistic()``, ``Laplace()`` or ``Logistic()``.
            All cost the same epsilon; exponential noise varies least. Under zCDP, with k > 1, the two-sided ones cost
            less.
        ask: The indices to ask for, in this order, for a measurement that is not interactive: it stops after the
            k-th True by itself. Such a one can be paid from a ledger. None for a conversation.

    Returns:
        A :class:`Measurement`. With ``ask`` its releases are arrays of bool of shape (m,), m <= len(ask): the answers
        up to the k-th True. Without, it is interactive: its releases are :class:`Queryable` objects.
        ``queryable(i)`` is the answer on score i, a bool; ``queryable([i, j, ...])`` is an array of bool with the
        answers up to the k-th True. Scores may be asked for again, with fresh noise. After the k-th True every
        question is refused with a :class:`BudgetError`.

    Privacy:
        For any number of questions, whatever they are and however they were chosen. With D = ``d_in``, r = d_R / scale,
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

        Under PrivacyProfile it is the curve of all three, and that of Laplace noise at this epsilon. The first is an
        exact supremum with every noise, and so is the second under ``monotonic=True`` or with exponential noise. With
        exponential and half-logistic noise rho grows with the square of k: for many answers under zCDP take Gumbel
        noise, with which it grows with k.

        Under zCDP the best analysts that a search found meet 0.13 to 0.53 of rho (``docs/tightness.md``, at d_in = 1
        and scales of 1): the map charges the noise of the threshold and every true answer with its worst case, and no
        analyst found meets all of them at once. Whether rho can be smaller is not known.

        All of it is paid when the measurement is made, whether or not an answer is True. A release of the noisy score
        itself would not be covered: what is shown beside the answers must be paid and drawn anew, as in
        ``make_laplace``.

    Accuracy:
        For exponential noise and one question, with s = ``scale`` and t = ``threshold_scale``, whatever z >= 0: a score
        of threshold + z or more is answered False with probability at most t / (s + t) exp(-z / t), and one of
        threshold - z or less is answered True with probability at most s / (s + t) exp(-z / s). A score at the
        threshold is answered True with probability s / (s + t), which is 1/2 for equal scales. For it to be 1/2 with
        others, correct the threshold: add s ln(2 s / (s + t)) where s > t, and subtract t ln(2 t / (s + t)) where
        t > s.

    Raises:
        ParameterError: ``k``, ``threshold``, a scale, ``noise`` or ``ask`` is out of range or of the wrong type.
        SpaceError: The metric does not fit the domain.
        DataError: On a call, the scores are not a member of the domain, or too few for ``ask``.

    Runtime:
        About a tenth of a millisecond an answer.

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
    checks.require_instance("noise", noise, Noise, describe_noise_options())
    if not is_standard(noise):
        raise ParameterError("noise must be one of the five of the library: thresholds with others are not proved")
    asked = None if ask is None else _parse_indices(ask, "ask", input_domain.size)  # [check-ask]
    s, t = to_fraction(scale), to_fraction(other_scale)
    own_scale, bar_scale, public_level = as_mpq(s), as_mpq(t), as_mpq(to_fraction(level))  # [rational]

    def function(value: Any) -> Any:
        scores = freeze_if_array(value)  # [held]
        if asked is None:
            return Queryable(start_conversation(scores))  # [interactive]
        if max(asked) >= len(scores):
            raise DataLengthError("scores must hold an element for every index of ask")  # [check-length]
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
                raise BudgetError("the last answer that may be True was given: k is used up")  # [used-up]
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
    """``value`` as indices of ``size`` scores; of any number where that is None."""
    listed = value.tolist() if isinstance(value, np.ndarray) and value.ndim == 1 else value
    if not isinstance(listed, list | tuple | range) or not all(map(checks.is_integer, listed)):
        raise ParameterTypeError(f"{name} must be a list of indices, or another sequence of integers >= 0")
    indices = tuple(int(checks.plain_number(one)) for one in listed)
    if not indices or min(indices) < 0 or (size is not None and max(indices) >= size):
        raise ParameterError(f"{name} must hold at least one index, each >= 0 and less than the number of scores")
    return indices


# end-proof-region: above_threshold_arguments


then_above_threshold = partial_constructor(make_above_threshold)
TRIED = {"threshold": (1,), "ask": ((0, 1, 2),)}
