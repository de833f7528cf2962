"""The exact verifier for functions of other libraries that return a table of probabilities."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ...errors import NotDeclaredError
from ...measurements.user import make_user_measurement
from ...spaces.domains import VectorDomain
from ...spaces.measures import Measure
from ...spaces.metrics import Metric
from .report import Report
from .verify import verify


def verify_probabilities(
    function: Callable[[Any], Mapping[Hashable, Any] | Sequence[Any]],
    input_domain: VectorDomain,
    input_metric: Metric,
    output_measure: Measure,
    *,
    privacy_map: Callable[[Any], Any],
    scale: Any = None,
    k: int | None = None,
    d_in: Any = 1,
    pairs: Iterable[tuple[Any, Any]] | None = None,
    budget: int = 300,
    relative_error: Fraction | None = None,
) -> Report:
    """Apply :func:`verify` to a function of another library that returns a table of probabilities.

    Args:
        function: Scores -> probabilities: a mapping from outcomes, or a sequence with one for each index.
        input_domain: The score vectors that ``function`` accepts, as arrays.
        input_metric: The distance between neighbours.
        output_measure: The measure of the losses that ``privacy_map`` returns.
        privacy_map: d_in -> the claimed loss.
        scale: The unit of the gaps between scores. Default: ``d_in``.
        k: The number of winners, if vectors of more than k scores are to be tried. Default: None.
        d_in, pairs, budget, relative_error: As for :func:`verify`.

    Returns:
        A :class:`Report`.

    Raises:
        PrivacyViolationError: A pair refutes the map, for instance by a probability that underflows to 0 on one side.

    Example:
        >>> import numpy as np
        >>> import opendp_topk as tk
        >>> def softmax(scores):
        ...     weights = np.exp(scores - scores.max())
        ...     return weights / weights.sum()
        >>> space = tk.VectorDomain(tk.AtomDomain(float), size=2), tk.RangeDistance()
        >>> tk.audit.verify_probabilities(softmax, *space, tk.MaxDivergence(), privacy_map=lambda d_in: d_in).holds
        True
    """

    def output_distribution(scores: Any) -> Mapping[Hashable, Any]:
        table = function(scores)
        return table if isinstance(table, Mapping) else dict(enumerate(table))

    def refuse_release(scores: Any) -> Any:
        raise NotDeclaredError("a table of probabilities can be verified, but not sampled")

    shown = {name: value for name, value in (("k", k), ("scale", scale)) if value is not None}
    measurement = make_user_measurement(
        input_domain,
        input_metric,
        output_measure,
        function=refuse_release,
        privacy_map=privacy_map,
        parameters={"mechanism": getattr(function, "__name__", "custom"), **shown},
        distribution=output_distribution,
    )
    return verify(measurement, d_in=d_in, pairs=pairs, budget=budget, relative_error=relative_error)
