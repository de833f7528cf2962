"""Additive noise: discrete Laplace or discrete Gaussian noise on vectors and on the counts of a public list."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..core.claims import proved_by
from ..core.measurement import Declared, Measurement
from ..core.partials import partial_constructor
from ..core.spaces import require_space
from ..errors import checks
from ..errors.checks import Number
from ..numerics.arithmetic import to_fraction
from ..sampling.samplers.integers import discrete_gaussian, discrete_laplace
from ..spaces.costs import SCALAR, require_measure
from ..spaces.domains import VectorDomain
from ..spaces.measures import Distance, Measure, PrivacyProfile, ZeroConcentratedDivergence, bounds_range, is_pure
from ..spaces.metrics import L01InfDistance, L1Distance, L2Distance
from ._grid import Array, build_grid
from ._moved import changed_scores, gaussian_loss, laplace_loss


@proved_by("measurements/laplace")
def make_laplace(
    input_domain: VectorDomain,
    input_metric: L1Distance | L01InfDistance,
    output_measure: Measure[Distance],
    *,
    scale: Number,
    granularity: Number | None = None,
) -> Measurement[Distance, Array]:
    """Release every score plus independent discrete Laplace noise, drawn exactly.

    The release for integers is x_i + Z_i with P(Z = z) proportional to exp(-|z| / scale). Floats are first rounded to
    the nearest multiple of ``granularity`` (halves upward), and the noise is ``granularity`` times such a Z of scale
    ``scale / granularity``. So releases are multiples of ``granularity``, rounded to float64.

    Args:
        input_domain: Vectors of d integers or floats. Floats need a declared size.
        input_metric: ``L1Distance()``, in units of the scores, or, for integers of which one user changes few,
            ``L01InfDistance(changes=...)``, as from ``make_count_by_item(candidates=..., max_items=...)``.
        output_measure: ``MaxDivergence()``, ``RangeDivergence()``, ``ZeroConcentratedDivergence()`` or
            ``PrivacyProfile()``.
        scale: The scale of the noise in units of the scores, finite, >= 0. If 0, the scores (on the grid) are
            released without noise and the privacy loss is infinite.
        granularity: For floats, the step of the grid, finite, > 0; a power of two is exact in float64. A float is read
            as its shortest decimal, so 0.1 is one tenth. A ``d_in`` of 0.1 is read as the float64 itself, which is
            slightly larger and counts as two steps: give ``d_in`` as ``Fraction(1, 10)``. Not for integers.

    Returns:
        A :class:`Measurement` whose releases are arrays of d numbers in the order of the scores: int64 (Python
        integers if one does not fit) or float64.

    Privacy:
        Under ``L1Distance()``, with r = floor(d_in) / scale for integers, and
        r = granularity (d + ceil(d_in / granularity) - 1) / scale for floats, because the rounding may move every score
        by one more step:

        - MaxDivergence: epsilon = r, attained for integers.
        - RangeDivergence: 2 r, attained for integers.
        - ZeroConcentratedDivergence: rho = r - 2 h exp(-h) (1 - exp(-r)) / (1 - exp(-2 h)), the exact supremum for
          integers, with h = 1 / scale for integers and h = granularity / scale for floats. Below r^2 / 2, and below r.

        Under ``L01InfDistance(changes=m)`` with D = floor(d_in), r = min(m, d) D / scale, and rho is min(m, d) times
        the rho of one score that changes by D: it grows linearly with the number of scores, not quadratically.

        PrivacyProfile: under ``L1Distance()`` the exact curve of one score that changes by the whole distance. Under
        ``L01InfDistance(changes=m)`` the exact curve of m scores that change by one each, if D = 1. For larger D it is
        bounded by epsilon and rho and, if there are few possible changes, by the maximum over them.

        The first two maps are exact rationals, rounded up once; the third is evaluated from above and rounded up.

    Raises:
        ParameterError: ``scale`` or ``granularity`` is out of range or of the wrong type, is missing or
            superfluous, or the size of a domain of floats is not declared.
        SpaceError: The metric does not fit the domain.
        DataError: On a call, the scores are not a member of the domain.

    Runtime:
        O(d): some ten nanoseconds per score for integers and scales below 1000, a microsecond for floats and for scales
        above 2^53. A new scale needs a table, which takes less than a millisecond to build, or up to 40 ms for 2^19
        or more values at a scale between 32 and 1024. The last 16 tables are cached.

    Proof: proofs/measurements/laplace.tex

    References:
        Ghosh, Roughgarden and Sundararajan, "Universally Utility-Maximizing Privacy Mechanisms" (2009).
        Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020).

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.L1Distance()
        >>> noisy = space >> tk.then_laplace(tk.MaxDivergence(), scale=4.0)
        >>> noisy.map(2)
        0.5
        >>> len(noisy([17, 3, 250]))
        3
    """
    # proof-region: laplace
    metrics: Any = L1Distance | L01InfDistance
    require_space(input_domain, input_metric, metrics, "L1Distance() or L01InfDistance(changes=...)")  # [check-space]
    scale = checks.require_scale(scale)  # [check-scale]
    grid = build_grid(input_domain, granularity, sized=True)  # [grid]
    require_measure(output_measure, *SCALAR, PrivacyProfile)
    b = to_fraction(scale)

    def function(scores: Array) -> Array:
        return grid.add_noise(scores, discrete_laplace(b / grid.step, len(scores)))  # [noise]

    def privacy_map(d_in: Number) -> Any:
        if d_in == 0:
            return 0.0  # [free]
        if b == 0 or d_in == float("inf"):
            return output_measure.infinite  # [no-noise]
        moved = changed_scores(grid, input_domain, input_metric, d_in)  # [moved]
        return 0.0 if moved is None else laplace_loss(moved, b / grid.step, output_measure)  # [map]

    return Measurement(
        input_domain=input_domain,
        input_metric=input_metric,
        output_measure=output_measure,
        function=function,
        privacy_map=privacy_map,
        parameters={"mechanism": "laplace", "scale": scale}
        | ({"granularity": checks.plain_number(granularity)} if grid.rounds else {}),
        declared=Declared(n_candidates=input_domain.size, scores_input=True),
    )
    # end-proof-region: laplace


then_laplace = partial_constructor(make_laplace)


@proved_by("measurements/gaussian")
def make_gaussian(
    input_domain: VectorDomain,
    input_metric: L2Distance | L01InfDistance,
    output_measure: Measure[Distance],
    *,
    scale: Number,
    granularity: Number | None = None,
) -> Measurement[Distance, Array]:
    """Release every score plus independent discrete Gaussian noise, drawn exactly.

    The release for integers is x_i + Z_i with P(Z = z) proportional to exp(-z^2 / (2 scale^2)). Floats are first
    rounded to the nearest multiple of ``granularity`` (halves upward), and the noise is ``granularity`` times such a Z
    of scale ``scale / granularity``. So releases are multiples of ``granularity``, rounded to float64.

    Args:
        input_domain: Vectors of d integers or floats. Floats need a declared size.
        input_metric: ``L2Distance()``, in units of the scores, or, for integers of which one user changes few,
            ``L01InfDistance(changes=...)``, as from ``make_count_by_item(candidates=..., max_items=...)``.
        output_measure: ``ZeroConcentratedDivergence()`` or ``PrivacyProfile()``. The privacy loss is unbounded, so
            pure DP and bounded range are rejected.
        scale: The parameter sigma in units of the scores, finite, >= 0: approximately the standard deviation. If
            0, the scores (on the grid) are released without noise and the privacy loss is infinite.
        granularity: For floats, the step of the grid, as in ``make_laplace``. Not for integers.

    Returns:
        A :class:`Measurement` whose releases are arrays of d numbers in the order of the scores: int64 (Python
        integers if one does not fit) or float64.

    Privacy:
        rho = D^2 / (2 scale^2), where D^2 = floor(d_in^2) for integers, which is tight. For floats the rounding may
        move every score by one more step, so D^2 = granularity^2 (w + 2 floor(sqrt(w d)) + d) with
        w = ceil((d_in / granularity)^2) - 1, which is less than (d_in + granularity sqrt(d))^2. Under
        ``L01InfDistance(changes=m)`` D^2 = min(m, d) floor(d_in)^2. The map is an exact rational, rounded up once.

        PrivacyProfile: the curve of this rho and, for scales up to 1024 steps, the curve of the discrete noise itself,
        which depends on how many scores change and by how much. It is exact if m scores change by one each, as for
        floor(d_in) = 1. Otherwise it is the maximum over all possible changes, if there are few of them.

    Raises:
        ParameterError: ``scale`` or ``granularity`` is out of range or of the wrong type, is missing or
            superfluous, the size of a domain of floats is not declared, or the measure is not one of the above.
        SpaceError: The metric does not fit the domain.
        DataError: On a call, the scores are not a member of the domain.

    Runtime:
        That of ``make_laplace``.

    Proof: proofs/measurements/gaussian.tex

    References:
        Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020), Theorem 4.
        Bun and Steinke, "Concentrated Differential Privacy" (2016).

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.L2Distance()
        >>> noisy = space >> tk.then_gaussian(tk.ZeroConcentratedDivergence(), scale=4.0)
        >>> noisy.map(2)
        0.125
        >>> len(noisy([17, 3, 250]))
        3
    """
    # proof-region: gaussian
    metrics: Any = L2Distance | L01InfDistance
    require_space(input_domain, input_metric, metrics, "L2Distance() or L01InfDistance(changes=...)")  # [check-space]
    scale = checks.require_scale(scale)  # [check-scale]
    grid = build_grid(input_domain, granularity, sized=True)  # [grid]
    require_measure(output_measure, ZeroConcentratedDivergence, PrivacyProfile, note=": its largest loss has no bound")
    sigma = to_fraction(scale)

    def function(scores: Array) -> Array:
        return grid.add_noise(scores, discrete_gaussian(sigma / grid.step, len(scores)))  # [noise]

    def privacy_map(d_in: Number) -> Any:
        if d_in == 0:
            return 0.0  # [free]
        if sigma == 0 or d_in == float("inf"):
            return output_measure.infinite  # [no-noise]
        moved = changed_scores(grid, input_domain, input_metric, d_in)  # [moved]
        return 0.0 if moved is None else gaussian_loss(moved, sigma / grid.step, output_measure)  # [map]

    return Measurement(
        input_domain=input_domain,
        input_metric=input_metric,
        output_measure=output_measure,
        function=function,
        privacy_map=privacy_map,
        parameters={"mechanism": "gaussian", "scale": scale}
        | ({"granularity": checks.plain_number(granularity)} if grid.rounds else {}),
        declared=Declared(n_candidates=input_domain.size, scores_input=True),
    )
    # end-proof-region: gaussian


then_gaussian = partial_constructor(make_gaussian)


@proved_by("measurements/noisy_histogram")
def make_noisy_histogram(
    input_domain: VectorDomain,
    input_metric: L01InfDistance,
    output_measure: Measure[Distance],
    *,
    scale: Number,
    gaussian: bool | None = None,
) -> Measurement[Distance, Array]:
    """Release the count of every candidate plus independent discrete noise, drawn exactly.

    Postprocessing is free: the k largest counts (``>> largest_counts(k, items)``), all counts of at least a threshold
    (``>> counts_from(threshold, items)``), or any other function. If users have few items, the loss is small for any k.

    Args:
        input_domain: Vectors of d counts or other integers.
        input_metric: ``L01InfDistance(changes=m)``: one user changes at most m scores, as with
            ``make_count_by_item(candidates=..., max_items=m)``.
        output_measure: ``MaxDivergence()``, ``RangeDivergence()``, ``ZeroConcentratedDivergence()`` or
            ``PrivacyProfile()``.
        scale: The scale of the noise in units of the counts, finite, >= 0. For Gaussian noise it is approximately the
            standard deviation; Laplace noise has a standard deviation of about sqrt(2) times the scale. If 0, the
            counts are released without noise and the privacy loss is infinite.
        gaussian: Whether the noise is discrete Gaussian, which bounds neither the largest loss nor its range. The
            default is False under ``MaxDivergence()`` and ``RangeDivergence()`` and True otherwise.

    Returns:
        A :class:`Measurement` whose releases are arrays of d integers in the order of the counts: int64, or Python
        integers if one does not fit.

    Privacy:
        With n = min(m, d), D = floor(d_in), h = 1 / scale and G(x) = x - 2 h exp(-h) (1 - exp(-x)) / (1 - exp(-2 h)):

        - MaxDivergence, Laplace noise: epsilon = n D / scale.
        - RangeDivergence, Laplace noise: 2 n D / scale.
        - ZeroConcentratedDivergence: rho = n G(D / scale) for Laplace and n D^2 / (2 scale^2) for Gaussian noise.
        - PrivacyProfile: the curves of ``make_laplace`` and of ``make_gaussian``; exact for D = 1, except
          for Gaussian noise of scales above 1024.

        The loss does not depend on the number of winners. A selection of k > 4 m winners with Gumbel noise of this
        scale loses more rho than Gaussian noise on all counts.

    Accuracy:
        With probability at least 1 - alpha every noisy count is within z of its own count, where z is about
        scale ln(2 d / alpha) for Laplace and scale sqrt(2 ln(2 d / alpha)) for Gaussian noise. The bound is relative to
        the counts after contribution bounding.

    Raises:
        ParameterError: ``scale`` is out of range or of the wrong type, or the noise does not bound the measure.
        SpaceError: The metric does not fit the domain.
        DataError: On a call, the scores are not a member of the domain.

    Runtime:
        That of ``make_laplace``.

    Proof: proofs/measurements/noisy_histogram.tex

    References:
        Dwork, McSherry, Nissim and Smith, "Calibrating Noise to Sensitivity in Private Data Analysis" (2006). Canonne,
        Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020).

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.L01InfDistance(changes=1, monotonic=True)
        >>> counts = space >> tk.then_noisy_histogram(tk.MaxDivergence(), scale=10.0)
        >>> best = counts >> tk.largest_counts(2, ["ash", "birch", "cedar"])
        >>> best.map(1)
        0.1
        >>> len(best([170, 30, 250]).items)
        2
    """
    # proof-region: noisy_histogram
    require_space(input_domain, input_metric, L01InfDistance, "L01InfDistance(changes=...)")  # [check-space]
    if gaussian is None:
        gaussian = not (is_pure(output_measure) or bounds_range(output_measure))  # [default-noise]
    checks.require_boolean("gaussian", gaussian)
    make = make_gaussian if gaussian else make_laplace  # [noise]
    noisy = make(input_domain, input_metric, output_measure, scale=scale)  # [noisy]
    named = {"mechanism": "noisy_histogram", "gaussian": gaussian, "scale": noisy.parameters["scale"]}
    return replace(noisy, parameters=named)  # [named]
    # end-proof-region: noisy_histogram


then_noisy_histogram = partial_constructor(make_noisy_histogram)
