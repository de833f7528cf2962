"""What the constructors of selection share: the checks, the call, the map's ends, and the declared law.

Proof: proofs/measurements/selection.tex
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.measurement import Declared, Measurement
from ..core.repeatable import Repeatable
from ..core.spaces import require_space
from ..distributions.events import ranks
from ..errors import DataLengthError, checks
from ..errors.checks import Number
from ..numerics.arithmetic import exact
from ..samplers import noiseless
from ..samplers.merge import Race
from ..spaces.costs import SCALAR, Cost, require_measure
from ..spaces.domains import VectorDomain
from ..spaces.measures import Measure, PrivacyProfile
from ..spaces.metrics import ScoreMetric, attainable
from ._choice import Choice

ScoreArray = NDArray[Any]
Indices = NDArray[np.int64]
Law = Callable[[list[Fraction], Choice], dict[Hashable, Any]]
Success = Callable[[ScoreArray, Choice, int, int], tuple[float, float]]


@dataclass(frozen=True)
class SelectionMechanism:
    """A way to select k of the scores: how it is drawn, what it costs, its accuracy and its exact law.

    ``sample(scores, choice)`` draws a release for a scale tau > 0.
    ``cost(choice, r)`` is what it costs at range distance r > 0 in units of the scale, under every measure.
    ``accuracy(n_candidates, choice, alpha)`` is the bound of its accuracy theorem.
    ``law(units, choice)`` is the law for scores in units of the scale, larger being better, if known.
    ``many(scores, choice, times)``, where it is given, draws that many independent releases, a row each.
    ``each(vectors, choice)``, where it is given, draws a release on each of several vectors of scores, a row each.
    ``surveys`` says that ``sample`` takes scores that were surveyed in the direction of the choice, too.
    ``success(scores, choice, sure, reach)`` bounds, for tau > 0 and k < d, the probability that the winners contain
    the ranks 1..sure and none beyond reach, in some order of equal scores; None if it is not known.
    ``race(choice)``, where it is given, is the race whose winners ``sample`` draws.
    """

    sample: Callable[[ScoreArray, Choice], Indices]
    cost: Callable[[Choice, Fraction], Cost]
    accuracy: Callable[[int, Choice, Any], float]
    law: Law | None = None
    success: Success | None = None
    many: Callable[[ScoreArray, Choice, int], Indices] | None = None
    each: Callable[[Sequence[ScoreArray], Choice], Indices] | None = None
    surveys: bool = False
    race: Callable[[Choice], Race] | None = None


_ASKED = 16  # distances that a caller asks for again and again: one user, two, a group


# proof-region: selection
SELECTABLE = (*SCALAR, PrivacyProfile)


def selection(
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
    """The measurement that releases k indices drawn by ``mechanism``; ``names`` lead its parameters."""
    require_space(input_domain, input_metric, ScoreMetric, "LInfDistance(...) or RangeDistance()")  # [check-space]
    require_measure(output_measure, *SELECTABLE)  # [check-measure]
    size = input_domain.size
    k = checks.count("k", k, at_most=size, limit="the size of input_domain")  # [check-k]
    scale = checks.scale(scale)  # [check-scale]
    sign = {"max": 1, "min": -1}[checks.choice("optimize", optimize, ("max", "min"))]  # [sign]
    ordered = checks.choice("release", release, ("ranking", "set")) == "ranking"  # [ordered]
    tau = exact(scale)
    choice = Choice(k, size, tau, sign, ordered)  # [choice]

    def function(scores: ScoreArray) -> Indices:
        if k > len(scores):
            raise DataLengthError(f"scores must hold at least k elements ({k})")  # [check-length]
        if tau == 0:
            return noiseless.top_k(scores, k, sign=sign, ordered=ordered)  # [exact-top-k]
        return mechanism.sample(scores, choice)  # [sample]

    def many(scores: ScoreArray, times: int) -> Any:
        if k > len(scores):
            raise DataLengthError(f"scores must hold at least k elements ({k})")
        if tau == 0 or mechanism.many is None:
            return np.array([function(scores) for _ in range(times)])  # [one-by-one]
        return mechanism.many(scores, choice, times)  # [many]

    def each(vectors: Sequence[ScoreArray]) -> Any:
        if any(k > len(scores) for scores in vectors):
            raise DataLengthError(f"scores must hold at least k elements ({k})")
        if tau == 0 or mechanism.each is None:
            return np.array([function(scores) for scores in vectors]).reshape(-1, k)  # [each-by-itself]
        return mechanism.each(vectors, choice)  # [each]

    def privacy_map(d_in: Number) -> Any:
        return loss(input_metric.range_distance(attainable(input_domain, d_in)))  # [range-distance]

    @functools.lru_cache(maxsize=_ASKED)
    def loss(range_distance: Number) -> Any:
        if range_distance == 0 or choice.everybody:
            return 0.0  # [free]
        if tau == 0 or range_distance == float("inf"):
            return output_measure.infinite  # [no-noise]
        return mechanism.cost(choice, exact(range_distance) / tau).under(output_measure)  # [cost]

    def law(scores: ScoreArray) -> dict[Hashable, Any]:
        assert mechanism.law is not None
        return mechanism.law([sign * Fraction(score) / (tau or 1) for score in scores.tolist()], choice)  # [law]

    def success(scores: ScoreArray, event: str) -> tuple[float, float]:
        d = len(scores)
        if k > d:
            raise DataLengthError(f"scores must hold at least k elements ({k})")
        if tau == 0 or k == d or mechanism.success is None:
            return 1.0, 1.0  # [certain]
        return mechanism.success(scores, choice, *ranks(event, k, d))  # [success]

    return Measurement(
        input_domain=input_domain,
        input_metric=input_metric,
        output_measure=output_measure,
        function=Repeatable(
            function,
            sign if mechanism.surveys and tau > 0 else 0,  # [surveys]
            many,
            each,
            mechanism.race and mechanism.race(choice),  # [race]
        ),
        privacy_map=privacy_map,
        parameters={**names, "k": k, "scale": scale, "optimize": optimize, "release": release},
        declared=Declared(
            law=law if mechanism.law else None,
            decode=lambda outcome: np.array(outcome, dtype=np.int64),
            accuracy=lambda n, alpha: mechanism.accuracy(n, choice, alpha),  # [accuracy]
            success=success if mechanism.success else None,  # [declared]
            n_candidates=size,
            scores_input=True,
        ),
    )


def single(
    mechanism: SelectionMechanism,
    name: str,
    input_domain: VectorDomain,
    input_metric: ScoreMetric,
    output_measure: Measure,
    *,
    scale: Number,
    optimize: str,
) -> Measurement:
    """The measurement that releases one index drawn by ``mechanism``, as an int."""
    space = input_domain, input_metric
    ranking = selection(mechanism, {}, *space, output_measure, k=1, scale=scale, optimize=optimize, release="ranking")
    drawn: Any = ranking.function
    return replace(
        ranking,
        function=Repeatable(
            lambda scores: int(drawn(scores)[0]),  # [index]
            drawn.sign,
            lambda scores, times: drawn.many(scores, times)[:, 0],  # [indices]
            lambda vectors: drawn.each(vectors)[:, 0],  # [index-of-each]
            drawn.race,  # [race-of-one]
        ),
        parameters={"mechanism": name, "scale": ranking.parameters["scale"], "optimize": optimize},
        declared=replace(ranking.declared, decode=lambda outcome: int(outcome[0])),  # [decode-index]
    )


# end-proof-region: selection
