"""Top-k selection: the argument checks, function and privacy map that the constructors of selections share.

A constructor chooses a :class:`SelectionMechanism`, which draws k indices and computes their privacy cost, and
:func:`build_selection` builds the measurement. :func:`one_shot_mechanism` adds independent noise to every score once.

Proofs: proofs/measurements/selection.tex, proofs/measurements/top_k_by_gap.tex
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import gmpy2
import numpy as np
from gmpy2 import mpfr, mpq
from numpy.typing import NDArray

from ..core.measurement import Declared, Measurement
from ..core.repeatable import RepeatableFunction
from ..core.spaces import require_space
from ..errors import DataError, checks
from ..errors.checks import Number
from ..numerics.arithmetic import to_fraction
from ..sampling.distributions.events import event_ranks
from ..sampling.noises.noise import Noise
from ..sampling.samplers import entropy as noiseless
from ..sampling.samplers import race, rows
from ..sampling.samplers.merge import Race
from ..spaces.costs import FREE, SCALAR, Cost, require_measure, rho_of_range
from ..spaces.curves.curve import PrivacyCurve
from ..spaces.domains import AtomDomain, VectorDomain
from ..spaces.measures import Measure, PrivacyProfile
from ..spaces.metrics import L01InfDistance, ScoreMetric, attainable_distance

ScoreArray = NDArray[Any]
Indices = NDArray[np.int64]

_PRECISION = 128  # bits; the proof allows a relative rounding error of 2^-120


# proof-region: choice
@dataclass(frozen=True)
class Choice:
    """A choice of k of ``size`` candidates (None if the number is unknown), ranked or as a set, at the scale ``tau``.

    ``sign`` is 1 if larger scores are better, and -1 if smaller scores are better.
    """

    k: int
    size: int | None
    tau: Fraction
    sign: int
    ordered: bool

    @property
    def is_full_set(self) -> bool:
        """Whether the release is always the set of all candidates."""
        return self.k == self.size and not self.ordered  # [everybody]

    @property
    def step_count(self) -> int:
        """min(k, d - 1): the number of successive single choices with more than one possible outcome."""
        return self.k if self.size is None else min(self.k, self.size - 1)  # [cap-steps]

    @property
    def largest_union_size(self) -> int:
        """min(2 k, d): the largest number of distinct candidates in two releases."""
        return 2 * self.k if self.size is None else min(2 * self.k, self.size)  # [cap-width]

    @property
    def two_sided_step_count(self) -> int:
        """min(k, floor(d / 2)) for a ranking, min(k, d - k) for a set."""
        if self.size is None:
            return self.k
        return min(self.k, self.size // 2 if self.ordered else self.size - self.k)  # [two-sided]


# end-proof-region: choice


Law = Callable[[list[Fraction], Choice], dict[Hashable, Any]]
Success = Callable[[ScoreArray, Choice, int, int], tuple[float, float]]
Many = Callable[[ScoreArray, Choice, int], Indices | None]


@dataclass(frozen=True)
class SelectionMechanism:
    """A mechanism that selects k of the scores: its sampler, privacy cost, accuracy and exact output distribution.

    ``sample(scores, choice)`` draws a release for a scale tau > 0.
    ``cost(choice, r)`` returns the privacy cost under every measure at range distance r > 0, in units of the scale.
    ``accuracy(n_candidates, choice, alpha)`` returns the bound of its accuracy theorem.
    ``law(units, choice)`` returns the output distribution for scores in units of the scale, larger being better. It is
    None if the distribution is not known.
    ``success(scores, choice, sure, reach)`` returns bounds, for tau > 0 and k < d, on the probability that the winners
    contain the ranks 1..sure and none beyond reach, in some order of equal scores. It is None if no bounds are known.
    ``noise`` is given if ``sample`` draws the k best of scores with independent noise of this kind: a race, which can
    also run many times at once, on several vectors, on block maxima, and in parts.
    ``many(scores, choice, times)`` draws ``times`` releases at once, one in each row, with the distribution of as many
    calls of ``sample``. It returns None if that would not be faster. The attribute is None if there is no such method.
    """

    sample: Callable[[ScoreArray, Choice], Indices]
    cost: Callable[[Choice, Fraction], Cost]
    accuracy: Callable[[int, Choice, Any], float]
    law: Law | None = None
    success: Success | None = None
    noise: Noise | None = None
    many: Many | None = None


MOST_JOINT_WINNERS = 2**22  # rounding errors of sums of so many floats stay within the margin of the samplers


# proof-region: selection
SELECTABLE = (*SCALAR, PrivacyProfile)


def build_selection(
    mechanism: SelectionMechanism,
    names: Mapping[str, Any],
    input_domain: VectorDomain,
    input_metric: ScoreMetric,
    output_measure: Measure,
    *,
    k: int,
    scale: Number,
    optimize: str,
    release: str,
) -> Measurement:
    """Return the measurement that releases k indices drawn by ``mechanism``; ``names`` come first in its parameters."""
    require_space(input_domain, input_metric, ScoreMetric, "LInfDistance(...) or RangeDistance()")  # [check-space]
    require_measure(output_measure, *SELECTABLE)  # [check-measure]
    size = input_domain.size
    k = checks.require_positive_int("k", k, at_most=size, limit="the size of input_domain")  # [check-k]
    scale = checks.require_scale(scale)  # [check-scale]
    sign = {"max": 1, "min": -1}[checks.require_choice("optimize", optimize, ("max", "min"))]  # [sign]
    ordered = checks.require_choice("release", release, ("ranking", "set")) == "ranking"  # [ordered]
    tau, noise = to_fraction(scale), mechanism.noise
    choice = Choice(k, size, tau, sign, ordered)  # [choice]

    def require_length(scores: ScoreArray) -> None:
        if k > len(scores):
            raise DataError(f"scores must contain at least k elements ({k})")  # [check-length]

    def function(scores: ScoreArray) -> Indices:
        require_length(scores)
        if tau == 0:
            return noiseless.top_k(scores, k, sign=sign, ordered=ordered)  # [exact-top-k]
        return mechanism.sample(scores, choice)  # [sample]

    def sample_many(scores: ScoreArray, times: int) -> Any:
        require_length(scores)
        if tau > 0 and noise is not None:
            return rows.repeat_top_k(scores, tau, noise, k, times, sign=sign, ordered=ordered)  # [many]
        drawn = mechanism.many(scores, choice, times) if tau > 0 and mechanism.many else None  # [at-once]
        return np.array([function(scores) for _ in range(times)]) if drawn is None else drawn  # [one-by-one]

    def sample_each(vectors: Sequence[ScoreArray]) -> Any:
        for scores in vectors:
            require_length(scores)
        if tau == 0 or noise is None:
            return np.array([function(scores) for scores in vectors]).reshape(-1, k)  # [each-by-itself]
        return rows.top_k_of_each(vectors, tau, noise, k, sign=sign, ordered=ordered)  # [each]

    def output_distribution(scores: ScoreArray) -> dict[Hashable, Any]:
        assert mechanism.law is not None
        return mechanism.law([sign * Fraction(score) / (tau or 1) for score in scores.tolist()], choice)  # [law]

    def success_probability(scores: ScoreArray, event: str) -> tuple[float, float]:
        require_length(scores)
        d = len(scores)
        if tau == 0 or k == d or mechanism.success is None:
            return 1.0, 1.0  # [certain]
        return mechanism.success(scores, choice, *event_ranks(event, k, d))  # [success]

    return Measurement(
        input_domain=input_domain,
        input_metric=input_metric,
        output_measure=output_measure,
        function=RepeatableFunction(
            function,
            0 if noise is None or tau == 0 else sign,  # [surveys]
            sample_many,
            sample_each,
            None if noise is None else Race(tau, noise, k, sign, ordered),  # [race]
        ),
        privacy_map=selection_privacy_map(
            mechanism.cost, choice, input_domain, input_metric, output_measure, noise
        ),  # [map]
        parameters={**names, "k": k, "scale": scale, "optimize": optimize, "release": release},
        declared=Declared(
            law=output_distribution if mechanism.law else None,
            decode=lambda outcome: np.array(outcome, dtype=np.int64),
            accuracy=lambda n, alpha: mechanism.accuracy(n, choice, alpha),  # [accuracy]
            success=success_probability if mechanism.success else None,  # [declared]
            n_candidates=size,
            scores_input=True,
        ),
    )


def selection_privacy_map(
    cost: Callable[[Choice, Fraction], Cost],
    choice: Choice,
    input_domain: VectorDomain,
    input_metric: ScoreMetric,
    output_measure: Measure,
    noise: Noise | None,
) -> Callable[[Number], Any]:
    """Return the privacy map of a release with ``cost(choice, r)`` at range distance r > 0 in units of the scale.

    If ``noise`` is given, the release is a post-processing of all scores with this noise, so their privacy loss is a
    bound as well.
    """

    def privacy_map(d_in: Number) -> Any:
        range_distance = input_metric.range_distance(attainable_distance(input_domain, d_in))  # [range-distance]
        if range_distance == 0 or choice.is_full_set:
            return 0.0  # [free]
        if choice.tau == 0 or range_distance == float("inf"):
            return output_measure.infinite  # [no-noise]
        known = cost(choice, to_fraction(range_distance) / choice.tau).to_distance(output_measure)  # [cost]
        if noise is None or not isinstance(input_metric, L01InfDistance):
            return known  # [of-the-range]
        from ._moved import ChangedScores, gumbel_bounds, two_sided_loss

        each, total = input_metric.moves(d_in)
        moved, odds = ChangedScores.bounded_contributions(each, total, choice.size), noise.has_exponential_odds
        if noise.is_max_stable and isinstance(known, PrivacyCurve):
            times = gumbel_bounds(moved, choice.tau, choice.step_count, input_metric.monotonic)
            return PrivacyCurve(*known.bounds, *times)  # [arrival-times]
        if not noise.is_two_sided:
            return known  # [one-sided-noise]
        whole = two_sided_loss(moved, choice.tau, output_measure, odds)  # [whole]
        if isinstance(known, PrivacyCurve):
            return PrivacyCurve(*dict.fromkeys((*known.bounds, *whole.bounds)))  # [both-curves]
        return min(known, whole)  # [least]

    return privacy_map


def build_single_selection(
    mechanism: SelectionMechanism,
    name: str,
    input_domain: VectorDomain,
    input_metric: ScoreMetric,
    output_measure: Measure,
    *,
    scale: Number,
    optimize: str,
) -> Measurement:
    """Return the measurement that releases one index drawn by ``mechanism``, as an int."""
    space = input_domain, input_metric
    ranking = build_selection(
        mechanism, {}, *space, output_measure, k=1, scale=scale, optimize=optimize, release="ranking"
    )
    drawn: Any = ranking.function

    def function(scores: ScoreArray) -> int:
        return int(drawn(scores)[0])  # [index]

    return replace(
        ranking,
        function=RepeatableFunction(
            function,
            drawn.sign,
            lambda scores, times: drawn.many(scores, times)[:, 0],  # [indices]
            lambda vectors: drawn.each(vectors)[:, 0],  # [index-of-each]
            drawn.race,  # [race-of-one]
        ),
        parameters={"mechanism": name, "scale": ranking.parameters["scale"], "optimize": optimize},
        declared=replace(ranking.declared, decode=lambda outcome: int(outcome[0])),  # [decode-index]
    )


# end-proof-region: selection


# proof-region: one_shot
def one_shot_mechanism(noise: Noise) -> SelectionMechanism:
    """Return the mechanism that selects the k best scores after adding independent ``noise``.

    A custom noise has no known output distribution. Modules for exact distributions, accuracies and probabilities are
    imported on first use.
    """

    def sample(scores: ScoreArray, choice: Choice) -> Indices:
        return race.top_k(scores, choice.tau, noise, choice.k, sign=choice.sign, ordered=choice.ordered)  # [draw]

    def accuracy(n: int, choice: Choice, alpha: Any) -> float:
        from ..sampling.distributions import events as union_bound
        from ..sampling.distributions import one_shot_accuracy as laws

        bound = laws.accuracy if noise.is_proven else union_bound.accuracy
        return bound(noise, n, choice.k, choice.tau, alpha)  # [one-shot-accuracy]

    def output_distribution(units: list[Fraction], choice: Choice) -> dict[Hashable, Any]:
        from ..sampling.distributions import one_shot as laws

        return laws.output_distribution(noise, units, choice.tau == 0, choice.k, choice.ordered)  # [one-shot-law]

    def success_probability(scores: ScoreArray, choice: Choice, sure: int, reach: int) -> tuple[float, float]:
        from ..sampling.distributions import one_shot_success as laws

        return laws.success_probability(
            noise, scores, choice.tau, choice.k, choice.sign, sure, reach
        )  # [one-shot-success]

    return SelectionMechanism(
        sample=sample,
        cost=lambda choice, r: one_shot_cost(noise, choice, r),  # [one-shot-cost]
        accuracy=accuracy,
        law=output_distribution if noise.race else None,
        success=success_probability if noise.race else None,
        noise=noise,
    )


# end-proof-region: one_shot


# proof-region: one_shot_cost
def one_shot_cost(noise: Noise, choice: Choice, r: Fraction) -> Cost:
    """Return the privacy cost of the k best noisy scores, as a ranking or a set, at range distance ``r`` > 0."""
    steps = choice.step_count
    if noise.is_max_stable:
        return Cost(steps * r, (choice.largest_union_size - 1) * r, steps * rho_of_range(r), (steps, r))  # [max-stable]
    if steps == 0:
        return FREE  # [no-steps]
    if noise.is_two_sided:
        loss = choice.two_sided_step_count * r
        steps = steps if choice.ordered else choice.two_sided_step_count  # [complement]
        odds = noise.has_exponential_odds and (steps == 1 or not choice.ordered)  # [odds]
        cost = Cost.from_laplace_dominated(loss, loss if odds else 2 * loss)  # [two-sided-cost]
        if noise.has_exponential_odds:
            return _mixture_cost(cost, steps, r)  # [gumbel-mixture]
    elif noise.is_memoryless and steps == 1:
        return Cost.from_laplace_dominated(r, permute_and_flip_range(r))  # [single]
    else:
        cost = Cost.from_laplace_dominated(steps * r, choice.largest_union_size * r)  # [one-sided]
    if steps == 1 and noise.is_class_a:
        return _mixture_cost(cost, 1, permute_and_flip_range(r))  # [exponential-mixture]
    return cost


def _mixture_cost(cost: Cost, steps: int, each: Fraction) -> Cost:
    """Return the cost of a mixture, with data-independent weights, of compositions of ``steps`` steps of one range.

    Each step has range ``each``.
    """
    rho = steps * rho_of_range(each)
    return replace(cost, rho=rho if cost.rho is None else min(cost.rho, rho), steps=(steps, each))  # [mixed]


# end-proof-region: one_shot_cost


# proof-region: permute_and_flip_range
def permute_and_flip_range(r: Fraction) -> Fraction:
    """Return an upper bound of a_PF(r) = r + 2 ln(2 - exp(-r / 2)), r >= 0, with relative error at most 2^-120."""
    up = gmpy2.context(precision=_PRECISION, round=gmpy2.RoundUp)
    down = gmpy2.context(precision=_PRECISION, round=gmpy2.RoundDown)
    negative_half = down.add(-mpq(r.numerator, r.denominator) / 2, mpfr(0))  # [half]
    excess = up.minus(down.expm1(negative_half))  # [excess]
    numerator, denominator = up.log1p(excess).as_integer_ratio()  # [logarithm]
    return r + 2 * Fraction(int(numerator), int(denominator))  # [range]


# end-proof-region: permute_and_flip_range


_WHOLE = VectorDomain(AtomDomain(int))


# proof-region: rationals
def select_from_rationals(mechanism: SelectionMechanism, values: Sequence[Fraction], choice: Choice) -> Indices:
    """Return the release of ``mechanism`` on ``values``.

    At scale 0 it is the exact selection, with ties broken by the lowest index.
    """
    unit = math.lcm(*(value.denominator for value in values))
    whole = _WHOLE.validate([int(value * unit) for value in values])  # [whole]
    if choice.tau == 0:
        return noiseless.top_k(whole, choice.k, sign=choice.sign, ordered=choice.ordered)  # [exact-best]
    return mechanism.sample(whole, replace(choice, tau=choice.tau * unit))  # [race]


# end-proof-region: rationals
