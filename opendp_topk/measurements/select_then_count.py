"""Select the k best candidates, then release noisy counts of these winners."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any

from ..core.claims import proved_by
from ..core.measurement import Measurement
from ..core.partials import partial_constructor
from ..core.releases import Release
from ..core.repeatable import BatchedFunction
from ..core.spaces import require_space
from ..errors import checks
from ..errors.checks import Number
from ..numerics.arithmetic import round_up, shortened_up, to_fraction
from ..sampling.samplers.integers import discrete_gaussian, discrete_laplace
from ..spaces.costs import Cost, require_measure, rho_of_range
from ..spaces.curves.closed_forms import DiscreteGaussian, NormalPair, ZCDPBound
from ..spaces.curves.composed import compose
from ..spaces.curves.curve import PrivacyCurve
from ..spaces.domains import VectorDomain
from ..spaces.measures import MaxDivergence, Measure, PrivacyProfile, ZeroConcentratedDivergence, has_delta, is_pure
from ..spaces.metrics import L01InfDistance, LInfDistance, attainable_distance
from ..spaces.type_parameters import Distance
from ._grid import Array, build_grid, narrow_to_int64
from .report_noisy_top_k import make_report_noisy_top_k


@proved_by("measurements/select_then_count")
def make_select_then_count(
    input_domain: VectorDomain,
    input_metric: LInfDistance,
    output_measure: Measure[Distance],
    *,
    k: int,
    scale: Number,
    count_scale: Number | None = None,
    optimize: str = "max",
    release: str = "ranking",
    granularity: Number | None = None,
) -> Measurement[Distance, Release]:
    """Release the k best candidates and their noisy scores, at the sum of both privacy losses.

    The winners are those of ``make_report_noisy_top_k``. Independent noise is then added to the winners' own
    scores: discrete Laplace under ``MaxDivergence``, discrete Gaussian under the two others.

    Args:
        input_domain: Vectors of d integer or float scores, one per candidate.
        input_metric: ``LInfDistance(monotonic=...)``, in units of the scores, or, for integers
            of which one user changes few, ``L01InfDistance(changes=...)``. ``RangeDistance()`` is not supported: it
            does not bound the change of a single score, so the privacy loss of a count is infinite.
        output_measure: ``MaxDivergence()``, ``ZeroConcentratedDivergence()`` or ``PrivacyProfile()``.
        k: The number of winners, 1 <= k <= d.
        scale: The scale of the selection's noise in units of the scores, finite, >= 0.
        count_scale: The scale of the counts' noise in units of the scores, finite, >= 0. With c = 1 under
            ``monotonic=True`` and c = 2 otherwise, the default is scale / c under ``MaxDivergence`` and 2 scale / c
            under the two others. Under ``MaxDivergence`` k integer counts then have the same epsilon as the selection
            of k < d winners. Under the two others their rho is k r^2 / 8, slightly above that of the selection for
            small r. So ``scale`` alone can be searched for with ``binary_search_param``.
        optimize: ``"max"`` (default) for the largest scores, ``"min"`` for the smallest.
        release: ``"ranking"`` (default) for winners best first, ``"set"`` for winners in ascending order of their
            indices.
        granularity: For floats, the step of the grid to which the winners' scores are rounded, finite, > 0; a power of
            two is exact in float64. A float is read as its shortest decimal, as in ``make_laplace``. Not for integers.

    Returns:
        A :class:`Measurement` whose releases are :class:`Release` values: ``indices`` is an int64 array of shape (k,),
        and ``counts`` an array of the k noisy scores in the same order, int64 (Python integers if one does not fit) or
        float64. After ``>> index_candidates(items)`` there are ``items`` in place of the indices.

    Privacy:
        With r = d_R / scale as in ``make_report_noisy_top_k``, D = floor(d_in) for integers and
        D = granularity ceil(d_in / granularity) for floats:

        - MaxDivergence: epsilon = min(k, d - 1) r + k D / count_scale.
        - ZeroConcentratedDivergence: rho = min(k, d - 1) R(r) + k D^2 / (2 count_scale^2).

        - PrivacyProfile: the curve of the selection, as in ``make_report_noisy_top_k``, composed with the exact
          curves of k integers that change by D with discrete Gaussian noise, as in ``make_composition``.

        Under ``L01InfDistance(changes=m)`` at most min(k, m) D winners' counts change, by a total of at most
        min(k, m) D. So min(k, m) replaces the k before D and D^2, and min(k, m D) replaces the k integers of the curve.
        If the latter exceeds min(k, m), the curve is also bounded by that of all counts together, as in
        ``make_unknown_domain_counts``.

        Here R(x) = x / (1 - exp(-x)) - 1 - ln(x / (1 - exp(-x))). If d is unknown, the bound in d is dropped. The
        selection of a set of all d candidates has privacy loss 0. Epsilon is exact, rho is evaluated from above, and
        each is rounded up once.

    Accuracy:
        For the selection, see ``make_report_noisy_top_k``. For counts of integers, with probability at least 1 - alpha
        all k errors are at most count_scale ln(2 k / alpha) under ``MaxDivergence`` and count_scale
        sqrt(2 ln(2 k / alpha)) under the two others (proofs/distributions/discrete.tex).

    Raises:
        ParameterError: An argument is out of range or of the wrong type; for example, ``input_metric`` is
            ``RangeDistance()``.
        SpaceError: The metric does not fit the domain.
        DataError: On a call, the scores are not a member of the domain, or are fewer than k.

    Runtime:
        That of the selection, plus O(k).

    Proof: proofs/measurements/select_then_count.tex

    References:
        Durfee and Rogers, "Practical Differentially Private Top-k Selection with Pay-what-you-get
        Composition" (2019). Bun and Steinke, "Concentrated Differential Privacy" (2016).

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> best = space >> tk.then_select_then_count(tk.MaxDivergence(), k=2, scale=8.0)
        >>> best.map(1)
        0.5
        >>> winners = best([170, 30, 250, 90])
        >>> len(winners.indices), len(winners.counts)
        (2, 2)
    """
    # proof-region: select_then_count
    require_space(
        input_domain, input_metric, LInfDistance, "LInfDistance(...), because counts need a bound on every score"
    )  # [check-space]
    require_measure(output_measure, MaxDivergence, ZeroConcentratedDivergence, PrivacyProfile)
    pure = is_pure(output_measure)
    select = make_report_noisy_top_k(
        input_domain, input_metric, output_measure, k=k, scale=scale, optimize=optimize, release=release
    )  # [selection]
    grid = build_grid(input_domain, granularity, sized=False)  # [grid]
    size, k, tau = input_domain.size, select.parameters["k"], to_fraction(scale)
    if count_scale is None:
        count_scale = tau * (1 if pure else 2) / to_fraction(input_metric.range_distance(1))  # [even]
    b = to_fraction(checks.require_scale(count_scale, "count_scale"))  # [check-count-scale]
    draw = discrete_laplace if pure else discrete_gaussian  # [draw]
    chosen = k == size and release == "set"
    steps = 0 if chosen else k if size is None else min(k, size - 1)  # [steps]
    drawn: Any = select.function
    few = min(k, input_metric.changes) if isinstance(input_metric, L01InfDistance) else k  # [few]

    def function(scores: Array) -> Annotated[Release, "indices", "counts"]:
        indices = select.function(scores)  # [select]
        counts = grid.add_noise(scores[indices], draw(b / grid.step, k))  # [count]
        return Release(indices=indices, counts=counts)

    def sample_many(scores: Array, times: int) -> tuple[Release, ...]:
        indices = drawn.many(scores, times)  # [select-many]
        counts = grid.add_noise(scores[indices.ravel()], draw(b / grid.step, indices.size))  # [count-many]
        rows = zip(indices, map(narrow_to_int64, counts.reshape(indices.shape)), strict=True)  # [narrow-each]
        return tuple(Release(indices=winners, counts=noisy) for winners, noisy in rows)

    def privacy_map(d_in: Number) -> Any:
        range_distance = input_metric.range_distance(attainable_distance(input_domain, d_in))  # [range-distance]
        if range_distance == 0:
            return 0.0  # [free]
        if b == 0 or (tau == 0 and not chosen) or range_distance == float("inf"):
            return output_measure.infinite  # [no-noise]
        if has_delta(output_measure):
            moved = int(grid.largest_change(to_fraction(d_in)) / grid.step)  # [moved]
            counts, apart = min(k, few * moved), b / grid.step
            ways = [[count_curve(moved, apart)] * counts]  # [one-by-one]
            if few < counts <= _COUNTS:
                ways.append([joint_counts_curve(few * moved * moved, apart)])  # [together]
            return sequential_curve(select.map(d_in), ways)  # type: ignore[arg-type]  # [curves]
        r = to_fraction(range_distance) / (tau or 1)
        each = grid.largest_change(to_fraction(d_in)) / b  # [each]
        both = Cost(pure=steps * r + few * each, rho=steps * rho_of_range(r) + few * each * each / 2)  # [both]
        return both.to_distance(output_measure)  # [map]

    return Measurement(
        input_domain=input_domain,
        input_metric=input_metric,
        output_measure=output_measure,
        function=BatchedFunction(function, sample_many),  # [batched]
        privacy_map=privacy_map,
        parameters={**select.parameters, "mechanism": "select_then_count", "count_scale": count_scale}
        | ({"granularity": checks.plain_number(granularity)} if grid.rounds else {}),
        declared=replace(select.declared, law=None),  # [accuracy]
    )


def count_curve(moved: int, scale: Fraction) -> PrivacyCurve:
    """Return the privacy curve of one count that changes by at most ``moved`` steps, with discrete Gaussian noise."""
    rho = ZCDPBound(round_up(Fraction(moved * moved) / (2 * scale * scale)))  # [count-rho]
    return PrivacyCurve(DiscreteGaussian(moved, scale), rho)  # [count-curve]


def joint_counts_curve(squares: int, scale: Fraction) -> PrivacyCurve:
    """Return the curve of counts with discrete Gaussian noise whose squared changes sum to at most ``squares`` > 0."""
    variance = scale * scale
    normal = (NormalPair(squares / (variance - _ROUNDED)),) if variance >= _SMOOTH else ()  # [normal]
    return PrivacyCurve(ZCDPBound(shortened_up(squares / (2 * variance))), *normal)  # [counts-rho]


def sequential_curve(first: PrivacyCurve, ways: list[list[PrivacyCurve]]) -> PrivacyCurve:
    """Return the curve of one step followed by others; each list in ``ways`` has valid curves for the others."""
    return PrivacyCurve(*(bound for way in ways for bound in compose([first, *way], adaptive=True).bounds))  # [ways]


# Comparison with normal noise: the least variance, the variance lost to discreteness, and the largest number of counts.
_SMOOTH, _ROUNDED, _COUNTS = 32, 16, 2**41
# end-proof-region: select_then_count


then_select_then_count = partial_constructor(make_select_then_count)
