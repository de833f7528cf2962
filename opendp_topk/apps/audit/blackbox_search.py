"""The black-box auditor for unknown pairs of neighbours: it searches for the worst pair itself.

Proof: proofs/audit/blackbox.tex
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence, Sized
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...core.measurement import Measurement
from ...errors import ParameterError, ParameterTypeError, checks
from ...numerics.arithmetic import to_fraction
from ...spaces.domains import VectorDomain
from ...spaces.measures import Measure
from ...spaces.metrics import Metric
from .blackbox import (
    Estimate,
    OutcomeSampler,
    RaisedOutcome,
    candidate_binnings,
    choose_events,
    estimate,
    require_settings,
)
from .neighbours import VanishingEdge, extreme_pairs, first_pairs, given_pairs, is_within_distance, worst_edges

_SIZES = (2, 3, 4, 5)  # two suffice for most faults; sizes above five spread the samples over too many pairs
_EDGE_SIZES = (*_SIZES, 6)  # an edge needs few draws a size, and top-5 shows none below six scores
_LEAST_DRAWS = 20  # with fewer on a side, chance alone decides which pair stays
_EXTREME = 8  # at most one in this many pairs is extreme: the others find most faults
_STANDARD_ERRORS = 1.5  # a compromise between trusting chance and missing small events; no bound depends on it


@dataclass(frozen=True)
class Found:
    """The worst pair of neighbours that a search found, and what fresh samples prove about it.

    ``number`` is the index of the pair among those that the caller gave, or None if the pair was constructed.
    """

    estimate: Estimate
    x: Any
    x_neighbor: Any
    pairs: int
    number: int | None = None

    def contradicts(self, claimed: Any) -> bool:
        """Return whether this pair refutes ``claimed``, the loss that a map returns for neighbours at ``d_in``."""
        return self.estimate.contradicts(claimed)


def search(
    function: Callable[..., Any],
    *,
    input_domain: VectorDomain | None = None,
    input_metric: Metric | None = None,
    measure: Measure | None = None,
    d_in: Any = 1,
    scale: Any = None,
    candidates: int = 256,
    samples: int = 100_000,
    confidence: float = 0.99,
    delta: float = 0.0,
    pairs: Sequence[tuple[Any, Any]] | None = None,
    extremes: bool = True,
    batched: bool = False,
    timed: bool = False,
) -> Found:
    """Search for the neighbours with the largest privacy loss of ``function``, then bound that loss from below.

    Many pairs of score vectors are constructed: those of :func:`verify` in every order, direction and level, because a
    function may read its scores one by one, compare them with a threshold, or add the same noise every time. In rounds,
    some releases are drawn on each remaining pair, and the half whose samples show the smaller loss is dropped. A few
    pairs are added for which one side most often shows an outcome that the other lacks. They are found at the gap
    between scores, and at the level of all scores, beyond which outcomes vanish. The best pair is passed to
    :func:`estimate` with fresh samples, so its confidence needs no correction for the number of pairs.

    Args:
        function: Called with a vector of scores, an array which it must not change: a measurement, or code of another
            library. Releases and independence of calls are as for :func:`estimate`.
        input_domain: The score vectors that ``function`` accepts; if it has no size, vectors of 2 to 6 scores are
            tried. Default: that of the measurement.
        input_metric: The distance between neighbours. Default: that of the measurement.
        measure: One of those of :func:`estimate`. Default: that of the measurement.
        d_in: The distance of neighbours, > 0, in units of the scores. Default: 1.
        scale: The unit of the gaps between scores that are tried, 0 to 40 of it, > 0. Default: that of the measurement,
            or ``d_in`` and, for half of the pairs, the scale estimated from a far gap at which outcomes vanish.
        candidates: The largest number of pairs to try. Default: 256.
        samples: The number of releases drawn on each of the two inputs of the final pair; about twice as many a
            side serve the search. Default: 100,000.
        confidence, delta, batched, timed: As for :func:`estimate`.
        extremes: Whether an eighth of the pairs may have scores near 2^31, 2^53 and 2^63, or subnormal ones, with which
            arithmetic may fail. A pair is left out if ``function`` raises errors on both sides, or in batches.
            Default: True.
        pairs: Neighbours to search instead of constructed ones: inputs of any kind, such as :func:`record_pairs`
            and :func:`table_pairs` return. Then only ``measure`` is required, and ``d_in`` is their distance, which
            is not checked. Default: None.

    Returns:
        A :class:`Found`, with the :class:`Estimate` and the pair.

    Raises:
        ParameterError: An argument is out of range or of the wrong type, no pair of neighbours could be constructed, or
            ``function`` is not a measurement and its domain, metric or measure is not given.

    Runtime:
        That of about 6 ``samples`` calls of the function.

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int), size=2), tk.LInfDistance()
        >>> best = lambda scores: int(scores.argmax())
        >>> found = tk.audit.search(best, input_domain=space[0], input_metric=space[1], measure=tk.MaxDivergence(),
        ...     samples=2000)
        >>> found.contradicts(4.0)
        True
    """
    checks.require_callable("function", function)
    options: dict[str, Any] = {"batched": batched, "timed": timed}
    if isinstance(function, Measurement):
        measure = function.output_measure if measure is None else measure
    if isinstance(function, Measurement) and pairs is None:
        input_domain = _require_vector_domain(function.input_domain) if input_domain is None else input_domain
        input_metric = function.input_metric if input_metric is None else input_metric
        scale = function.parameters.get("scale") if scale is None else scale
    if pairs is not None:
        return _search_given_pairs(function, pairs, measure, samples, confidence, delta, options)
    if input_domain is None or input_metric is None or measure is None:
        raise ParameterError("input_domain, input_metric and measure must be given: function is not a measurement")
    _, shift, half = require_settings(samples, measure, confidence, delta, timed)
    distance = to_fraction(checks.require_distance(d_in, "d_in"))
    told = None if scale is None else to_fraction(checks.require_scale(scale))
    if distance == 0:
        raise ParameterError("d_in must be > 0: inputs at distance 0 are equal")
    metric = checks.require_instance("input_metric", input_metric, Metric, "a metric such as LInfDistance()")
    is_within_distance(metric, (0,), (0,), distance)
    size = _require_vector_domain(input_domain).size
    sizes, edge_sizes = (_SIZES, _EDGE_SIZES) if size is None else ((size,), (size,))
    most = checks.require_positive_int("candidates", candidates)

    def validate_inputs(chosen: Sequence[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        return [(input_domain.validate(first), input_domain.validate(second)) for first, second in chosen]

    def can_audit_pair(pair: tuple[Any, Any]) -> bool:
        return _can_audit(function, validate_inputs([pair])[0], options)

    edges = _find_edges(function, input_domain, metric, distance, edge_sizes, 2 * half, can_audit_pair, options)
    units = [told] if told else sorted({distance, *(edge.scale_estimate for edge in edges if edge.scale_estimate)})
    far = [
        pair
        for pair in itertools.islice(extreme_pairs(input_domain, metric, distance, sizes), most // _EXTREME)
        if checks.require_boolean("extremes", extremes) and can_audit_pair(pair)
    ]
    share = -(-(most - len(far)) // len(units))
    near = (first_pairs(input_domain, metric, distance, unit, sizes, share) for unit in units)
    made = [*itertools.islice(itertools.chain.from_iterable(near), most - len(far)), *far]
    if not made:
        raise ParameterError("input_domain: no neighbouring inputs at distance d_in could be generated; give pairs")

    def select_best_pair(chosen: Sequence[tuple[Any, Any]], draws: int, z: float) -> tuple[Any, Any]:
        return chosen[_survivor_of_halving(function, measure, shift, validate_inputs(chosen), draws, z, options)]

    x, x_neighbor = select_best_pair(made, 2 * half, _STANDARD_ERRORS)
    if edges:
        vanishing = select_best_pair([edge.pair for edge in edges], half // 2, 2 * _STANDARD_ERRORS)
        x, x_neighbor = select_best_pair([(x, x_neighbor), vanishing], half // 2, 2 * _STANDARD_ERRORS)
    settings: dict[str, Any] = {"samples": samples, "measure": measure, "confidence": confidence, "delta": delta}
    ((first, second),) = validate_inputs([(x, x_neighbor)])
    found = estimate(function, first, second, **settings, **options)
    return Found(found, x, x_neighbor, len(made))


# proof-region: blackbox_search
def _search_given_pairs(
    function: Callable[..., Any],
    pairs: Sequence[tuple[Any, Any]],
    measure: Measure | None,
    samples: int,
    confidence: float,
    delta: float,
    options: dict[str, Any],
) -> Found:
    if measure is None:
        raise ParameterError("measure must be given, because function is not a measurement")
    _, shift, half = require_settings(samples, measure, confidence, delta, options["timed"])
    if not isinstance(pairs, Sized):
        raise ParameterTypeError("pairs must be a list of pairs of neighbours, not an iterator, which may be infinite")
    given = list(given_pairs(pairs))
    if not given:
        raise ParameterError("pairs must contain at least one pair of neighbours")
    number = 0
    if len(given) > 1:
        number = _survivor_of_halving(function, measure, shift, given, 2 * half, _STANDARD_ERRORS, options)  # [given]
    x, x_neighbor = given[number]
    settings: dict[str, Any] = {"samples": samples, "measure": measure, "confidence": confidence, "delta": delta}
    return Found(estimate(function, x, x_neighbor, **settings, **options), x, x_neighbor, len(given), number)


def _find_edges(
    function: Callable[..., Any],
    domain: VectorDomain,
    metric: Metric,
    d_in: Fraction,
    sizes: tuple[int, ...],
    samples: int,
    usable: Callable[[tuple[Any, Any]], bool],
    options: dict[str, Any],
) -> list[VanishingEdge]:
    """Return the pairs beside the gaps at which outcomes vanish, found by separate releases."""
    draws = OutcomeSampler(function, **{**options, "timed": False})

    def draw_outcomes(x: Any, n: int) -> list[Hashable]:
        try:
            return draws(domain.validate(x), n)
        except Exception as error:  # raised for a batch: no bound depends on these draws, so all become this outcome
            return [RaisedOutcome(type(error).__name__)] * n

    return worst_edges(draw_outcomes, domain, metric, d_in, sizes, samples, usable)  # [edge]


def _can_audit(function: Callable[..., Any], pair: tuple[Any, Any], options: dict[str, Any]) -> bool:
    """Return whether ``function``, which may raise errors, can be audited on a pair; its releases do not matter."""
    draws = OutcomeSampler(function, **{**options, "timed": False})
    try:
        for value in pair:
            draws(value, 1)
        draws.close()
    except Exception:
        return False
    return True  # [bears]


def _survivor_of_halving(
    function: Callable[..., Any],
    measure: Measure,
    delta: float,
    pairs: Sequence[tuple[Any, Any]],
    samples: int,
    z: float,
    options: dict[str, Any],
) -> int:
    """Return the number of the pair that survives rounds of equal cost, each of which drops the worse half."""
    rounds = max(1, math.ceil(math.log2(len(pairs))))
    each = [max(_LEAST_DRAWS, samples // (rounds * -(-len(pairs) // 2**r))) for r in range(rounds)]
    draws = OutcomeSampler(function, **options)
    drawn: dict[int, tuple[list[Hashable], list[Hashable]]] = {number: ([], []) for number in range(len(pairs))}
    for n in each:
        for number, sides in drawn.items():
            for outcomes, more in zip(sides, draws.sample_both_inputs(pairs[number], n), strict=True):
                outcomes += more
        ranked = sorted(drawn, key=lambda number: _estimated_loss(measure, delta, z, *drawn[number]), reverse=True)
        drawn = {number: drawn[number] for number in ranked[: -(-len(ranked) // 2)]}  # [halve]
    draws.close()
    return next(iter(drawn))


# end-proof-region: blackbox_search


def _estimated_loss(
    measure: Measure, delta: float, z: float, first: Sequence[Hashable], second: Sequence[Hashable]
) -> float:
    """Return the loss that two samples show by any reading, ``z`` standard errors to the safe side."""
    return max(
        choose_events(measure, delta, Counter(map(cells, first)), Counter(map(cells, second)), z)[0]
        for cells in candidate_binnings(first, second)
    )


def _require_vector_domain(domain: Any) -> VectorDomain:
    if not isinstance(domain, VectorDomain):
        raise ParameterTypeError("input_domain must be a VectorDomain, for which neighbours can be generated")
    return domain
