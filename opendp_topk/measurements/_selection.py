"""What the constructors of selection share: the checks, the call, the map's ends, and the declared law.

Proof: proofs/measurements/selection.tex
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.measurement import Declared, Measurement
from ..core.spaces import require_space
from ..distributions.events import ranks
from ..errors import DataLengthError, ParameterTypeError, checks
from ..errors.checks import Number
from ..numerics.arithmetic import exact
from ..samplers import noiseless
from ..spaces.curves.closed_forms import ApproximateDP, Concentrated
from ..spaces.curves.curve import PrivacyCurve
from ..spaces.curves.range_steps import RangeSteps
from ..spaces.domains import VectorDomain
from ..spaces.measures import MaxDivergence, Measure, PrivacyProfile, RangeDivergence, ZeroConcentratedDivergence
from ..spaces.metrics import ScoreMetric

Scores = NDArray[Any]
Success = Callable[[Scores, Fraction, int, int, bool, int, int], tuple[float, float]]


@dataclass(frozen=True)
class Engine:
    """A way to select k of the scores: how it is drawn, what it costs, its exact law and its accuracy.

    ``sample(scores, tau, k, sign, ordered)`` draws a release for a scale tau > 0.
    ``loss(measure, k, size, ordered, r)`` is what it costs at range distance r > 0 in units of the scale.
    ``law(scores, noiseless, k, ordered)`` is the law for scores in units of the scale, larger being better, if known.
    ``accuracy(n_candidates, k, tau, alpha)`` is the bound of its accuracy theorem.
    ``success(scores, tau, k, sign, ordered, sure, reach)`` bounds, for tau > 0 and k < d, the probability that the
    winners contain the ranks 1..sure and none beyond reach, in some order of equal scores; None if it is not known.
    ``steps(k, size, r)``, where it is given, is a pair (n, a): the draw is made in n steps, or is a function of such
    a draw, and each has range a whatever came before.
    """

    sample: Callable[[Scores, Fraction, int, int, bool], NDArray[np.int64]]
    loss: Callable[[Measure, int, int | None, bool, Fraction], float]
    law: Callable[[list[Fraction], bool, int, bool], dict[Hashable, Any]] | None
    accuracy: Callable[[int, int, Fraction, Any], float]
    success: Success | None = None
    steps: Callable[[int, int | None, Fraction], tuple[int, Fraction]] | None = None


# proof-region: selection
_SCALAR = (MaxDivergence, RangeDivergence, ZeroConcentratedDivergence)


def selection(
    engine: Engine,
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
    """The measurement that releases k indices drawn by ``engine``; ``names`` lead its parameters."""
    require_space(input_domain, input_metric, ScoreMetric, "LInfDistance(...) or RangeDistance()")  # [check-space]
    if not isinstance(output_measure, (*_SCALAR, PrivacyProfile)):  # [check-measure]
        raise ParameterTypeError(
            "output_measure must be MaxDivergence(), RangeDivergence(), ZeroConcentratedDivergence() "
            "or PrivacyProfile()"
        )
    size = input_domain.size
    k = checks.count("k", k, at_most=size, limit="the size of input_domain")  # [check-k]
    scale = checks.scale(scale)  # [check-scale]
    sign = {"max": 1, "min": -1}[checks.choice("optimize", optimize, ("max", "min"))]  # [sign]
    ordered = checks.choice("release", release, ("ranking", "set")) == "ranking"  # [ordered]
    tau = exact(scale)

    def function(scores: Scores) -> NDArray[np.int64]:
        if k > len(scores):
            raise DataLengthError(f"scores must hold at least k elements ({k})")  # [check-length]
        if tau == 0:
            return noiseless.top_k(scores, k, sign=sign, ordered=ordered)  # [exact-top-k]
        return engine.sample(scores, tau, k, sign, ordered)  # [sample]

    def privacy_map(d_in: Number) -> Any:
        range_distance = input_metric.range_distance(d_in)  # [range-distance]
        if range_distance == 0 or (k == size and not ordered):
            return 0.0  # [free]
        if tau == 0 or range_distance == float("inf"):
            return output_measure.infinite  # [no-noise]
        r = exact(range_distance) / tau
        if isinstance(output_measure, PrivacyProfile):
            return _curve(engine, k, size, ordered, r)  # [curve]
        return engine.loss(output_measure, k, size, ordered, r)  # [loss]

    def law(scores: Scores) -> dict[Hashable, Any]:
        assert engine.law is not None
        units = [sign * Fraction(score) / (tau or 1) for score in scores.tolist()]  # [scaled]
        return engine.law(units, tau == 0, k, ordered)  # [law]

    def success(scores: Scores, event: str) -> tuple[float, float]:
        d = len(scores)
        if k > d:
            raise DataLengthError(f"scores must hold at least k elements ({k})")
        if tau == 0 or k == d or engine.success is None:
            return 1.0, 1.0  # [certain]
        return engine.success(scores, tau, k, sign, ordered, *ranks(event, k, d))  # [success]

    return Measurement(
        input_domain=input_domain,
        input_metric=input_metric,
        output_measure=output_measure,
        function=function,
        privacy_map=privacy_map,
        parameters={**names, "k": k, "scale": scale, "optimize": optimize, "release": release},
        declared=Declared(
            law=law if engine.law else None,
            decode=lambda outcome: np.array(outcome, dtype=np.int64),
            accuracy=lambda n, alpha: engine.accuracy(n, k, tau, alpha),  # [accuracy]
            success=success if engine.success else None,  # [declared]
            n_candidates=size,
            scores_input=True,
        ),
    )


def _curve(engine: Engine, k: int, size: int | None, ordered: bool, r: Fraction) -> PrivacyCurve:
    """All that is known of the draw at range distance ``r > 0``, as one privacy curve."""
    pure, width, rho = (engine.loss(measure(), k, size, ordered, r) for measure in _SCALAR)
    count, each = (1, width) if engine.steps is None else engine.steps(k, size, r)
    return PrivacyCurve(ApproximateDP(pure), Concentrated(rho), RangeSteps(count, each))  # [all-bounds]


def single(
    engine: Engine,
    mechanism: str,
    input_domain: VectorDomain,
    input_metric: ScoreMetric,
    output_measure: Measure,
    *,
    scale: Number,
    optimize: str,
) -> Measurement:
    """The measurement that releases one index drawn by ``engine``, as an int."""
    space = input_domain, input_metric
    ranking = selection(engine, {}, *space, output_measure, k=1, scale=scale, optimize=optimize, release="ranking")
    return replace(
        ranking,
        function=lambda scores: int(ranking.function(scores)[0]),  # [index]
        parameters={"mechanism": mechanism, "scale": ranking.parameters["scale"], "optimize": optimize},
        declared=replace(ranking.declared, decode=lambda outcome: int(outcome[0])),  # [decode-index]
    )


# end-proof-region: selection
