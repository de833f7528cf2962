"""Transformations whose function and stability map come from the caller."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..core.claims import proved_by
from ..core.partials import partial_constructor
from ..core.spaces import require_space
from ..core.transformation import Transformation
from ..errors import checks
from ..spaces.domains import Domain
from ..spaces.metrics import Metric


@proved_by(None)
def make_user_transformation(
    input_domain: Domain,
    input_metric: Metric,
    output_domain: Domain,
    output_metric: Metric,
    *,
    function: Callable[[Any], Any],
    stability_map: Callable[[Any], Any],
    parameters: Mapping[str, Any] | None = None,
) -> Transformation:
    """Build a transformation from a function and a stability map that the caller vouches for.

    Nothing is proved about it: ``.proof`` and the repr show it as unproven, for it and for every chain that contains
    it.

    Args:
        input_domain: The values that ``function`` accepts; they are checked before each call.
        input_metric: The distance between neighbouring inputs.
        output_domain: The values that ``function`` returns; a chain checks them.
        output_metric: The distance between outputs.
        function: A deterministic function without side effects, whose errors do not depend on the data.
        stability_map: d_in -> d_out, nondecreasing: inputs at distance d_in have outputs within d_out.
        parameters: Public values that the repr and exported records show. The default is none.

    Returns:
        A :class:`Transformation` marked as unproven.

    Raises:
        ParameterTypeError: An argument has the wrong type.
        SpaceError: A metric does not fit its domain.

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance()
        >>> double = tk.make_user_transformation(
        ...     *space, *space, function=lambda x: 2 * x, stability_map=lambda d_in: 2 * d_in)
        >>> double.map(3)
        6
    """
    # proof-region: user_transformation
    require_space(input_domain, input_metric, Metric, "a metric such as LInfDistance()")
    checks.require_instance("output_domain", output_domain, Domain, "a domain such as VectorDomain(AtomDomain(int))")
    checks.require_instance("output_metric", output_metric, Metric, "a metric such as LInfDistance()")
    return Transformation(
        input_domain=input_domain,
        input_metric=input_metric,
        output_domain=output_domain,
        output_metric=output_metric,
        function=checks.require_callable("function", function),
        stability_map=checks.require_callable("stability_map", stability_map),  # [vouched]
        parameters={"transformation": "user"} | checks.parameters_dictionary(parameters),
    )
    # end-proof-region: user_transformation


then_user_transformation = partial_constructor(make_user_transformation)
