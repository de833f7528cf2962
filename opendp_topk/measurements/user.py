"""User-defined measurements: the caller supplies the function and the privacy map."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from ..core.claims import proved_by
from ..core.measurement import Declared, Measurement
from ..core.partials import partial_constructor
from ..core.spaces import require_space
from ..errors import checks
from ..spaces.domains import Domain
from ..spaces.measures import Distance, Measure, Released
from ..spaces.metrics import Metric


@proved_by(None)
def make_user_measurement(
    input_domain: Domain,
    input_metric: Metric,
    output_measure: Measure[Distance],
    *,
    function: Callable[[Any], Released],
    privacy_map: Callable[[Any], Any],
    parameters: Mapping[str, Any] | None = None,
    distribution: Callable[[Any], Mapping[Hashable, Any]] | None = None,
    accuracy: Callable[[int, Any], float] | None = None,
) -> Measurement[Distance, Released]:
    """Return a measurement with a function and a privacy map that the caller vouches for.

    Nothing is proved about it: ``.proof`` and the repr show this, as do those of every chain that contains it.

    Args:
        input_domain: Domain of the inputs of ``function``; inputs are checked before each call.
        input_metric: The distance between neighbouring inputs.
        output_measure: The measure of the distances that ``privacy_map`` returns.
        function: The randomised function.
        privacy_map: d_in -> d_out, nondecreasing and never below the true loss. Numbers are rounded up to float64.
        parameters: Public values to show in the repr and in exported records. The default is none.
        distribution: Function from an input to its exact output distribution, outcome -> probability, if known. An
            outcome is a value that ``function`` returns, with arrays and lists as tuples.
        accuracy: (n_candidates, alpha) -> error bound, if an accuracy theorem is known.

    Returns:
        A :class:`Measurement` marked as unproven.

    Raises:
        ParameterTypeError: An argument has the wrong type.
        SpaceError: The metric does not fit the domain.

    Example:
        >>> import opendp_topk as tk
        >>> always_first = tk.make_user_measurement(
        ...     tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(), tk.MaxDivergence(),
        ...     function=lambda x: 0, privacy_map=lambda d_in: 0.0)
        >>> always_first([7, 9]), always_first.map(1)
        (0, 0.0)
    """
    # proof-region: user_measurement
    require_space(input_domain, input_metric, Metric, "a metric such as LInfDistance()")
    checks.require_instance("output_measure", output_measure, Measure, "a measure such as MaxDivergence()")
    for name, optional in (("distribution", distribution), ("accuracy", accuracy)):
        if optional is not None:
            checks.require_callable(name, optional)
    return Measurement(
        input_domain=input_domain,
        input_metric=input_metric,
        output_measure=output_measure,
        function=checks.require_callable("function", function),
        privacy_map=checks.require_callable("privacy_map", privacy_map),  # [vouched]
        parameters={"mechanism": "user"} | checks.parameters_dictionary(parameters),
        declared=Declared(
            law=distribution, accuracy=accuracy, n_candidates=getattr(input_domain, "size", None), scores_input=True
        ),
    )
    # end-proof-region: user_measurement


then_user_measurement = partial_constructor(make_user_measurement)
