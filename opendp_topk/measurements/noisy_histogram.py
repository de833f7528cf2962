"""Noisy counts of all candidates of a public list, if one user changes few counts."""

from __future__ import annotations

from dataclasses import replace

from ..core.claims import proved_by
from ..core.measurement import Measurement
from ..core.partials import partial_constructor
from ..core.spaces import require_space
from ..errors import checks
from ..errors.checks import Number
from ..spaces.domains import VectorDomain
from ..spaces.measures import Measure, bounds_range, is_pure
from ..spaces.metrics import L01InfDistance
from .gaussian import make_gaussian
from .laplace import make_laplace


@proved_by("measurements/noisy_histogram")
def make_noisy_histogram(
    input_domain: VectorDomain,
    input_metric: L01InfDistance,
    output_measure: Measure,
    *,
    scale: Number,
    gaussian: bool | None = None,
) -> Measurement:
    """Release the count of every candidate plus independent discrete noise, drawn exactly.

    Postprocessing is free: the k largest counts (``>> largest_counts(k, items)``), all counts of at least a threshold
    (``>> counts_from(threshold, items)``), or any other function of the noisy counts. If users have few items, the
    privacy loss is small for any k: with one item per user, k winners with counts have the same loss as one count.

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

        The loss does not depend on the number of winners. A selection of k winners with Gumbel noise of this scale has
        rho of about k / (8 scale^2) and releases no counts. If k > 4 m, that is more than Gaussian noise on all counts.

    Accuracy:
        With probability at least 1 - alpha every noisy count is within z of its own count, where z is about
        scale ln(2 d / alpha) for Laplace and scale sqrt(2 ln(2 d / alpha)) for Gaussian noise. The bound is
        relative to the counts after contribution bounding: it does not cover items that were dropped because a user had
        more than m of them.

    Raises:
        ParameterError: ``scale`` is out of range or of the wrong type, or the noise does not bound the measure.
        SpaceError: The metric does not fit the domain.
        DataError: On a call, the scores are not a member of the domain.

    Runtime:
        As ``make_laplace`` and ``make_gaussian``: some ten nanoseconds per count.

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
