"""Discrete Gaussian noise on a vector of integers, or of floats rounded to a grid."""

from __future__ import annotations

from typing import Any

from ..core.claims import proved_by
from ..core.measurement import Declared, Measurement
from ..core.partials import partial_constructor
from ..core.spaces import require_space
from ..errors import checks
from ..errors.checks import Number
from ..numerics.arithmetic import to_fraction
from ..sampling.samplers.integers import discrete_gaussian
from ..spaces.costs import require_measure
from ..spaces.domains import VectorDomain
from ..spaces.measures import Measure, PrivacyProfile, ZeroConcentratedDivergence
from ..spaces.metrics import L01InfDistance, L2Distance
from ._grid import Array, build_grid
from ._moved import changed_scores, gaussian_loss


@proved_by("measurements/gaussian")
def make_gaussian(
    input_domain: VectorDomain,
    input_metric: L2Distance | L01InfDistance,
    output_measure: Measure,
    *,
    scale: Number,
    granularity: Number | None = None,
) -> Measurement:
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
        granularity: For floats, the step of the grid, finite, > 0; a power of two is exact in float64. A float is read
            as its shortest decimal, so 0.1 is one tenth. A ``d_in`` of 0.1 is read as the float64 itself, which is
            slightly larger and counts as two steps: give ``d_in`` as ``Fraction(1, 10)``. Not for integers.

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
        O(d): some ten nanoseconds per score for integers and scales below 1000, a microsecond for floats and for scales
        above 2^53. A new scale needs a table, which takes less than a millisecond to build, or up to 40 ms for 2^19
        or more values at a scale between 32 and 1024. The last 16 tables are cached.

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
