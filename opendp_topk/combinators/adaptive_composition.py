"""Adaptive composition: the number of queries and their losses are fixed in advance, the queries are not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.claims import proved_by
from ..core.measurement import Measurement
from ..core.partials import partial_constructor
from ..core.queryable import Queryable, freeze_if_array
from ..core.spaces import require_space
from ..errors import BudgetError, ParameterError, ParameterTypeError
from ..spaces.domains import Domain
from ..spaces.measures import Measure
from ..spaces.metrics import Metric
from ._rules import compose_losses, require_fixed_rule, require_space_of


@proved_by("combinators/adaptive_composition")
def make_adaptive_composition(
    input_domain: Domain,
    input_metric: Metric,
    output_measure: Measure,
    *,
    d_in: Any,
    d_mids: Sequence[Any],
) -> Measurement:
    """Answer one query for each loss in ``d_mids``; each query may be chosen after the answers before it.

    Args:
        input_domain: The domain of inputs, which all queries share.
        input_metric: The distance between neighbouring inputs.
        output_measure: ``MaxDivergence()``, ``RangeDivergence()``, ``ZeroConcentratedDivergence()``,
            ``Approximate`` of one of them, or ``PrivacyProfile()``.
        d_in: The input distance at which ``d_mids`` limits the losses, in units of ``input_metric``.
        d_mids: The losses of the queries, in their order; at least one, in the measure's own distance. Under
            ``PrivacyProfile()`` a loss is a curve, such as another measurement's map, an epsilon or a pair.

    Returns:
        An interactive :class:`Measurement`, whose releases are :class:`Queryable` objects. The i-th query must be a
        measurement on the same input space, with the same measure, and satisfy ``query.check(d_in, d_mids[i])``.
        Otherwise it is refused, and you may ask another one instead. A query may itself be interactive: its queryable
        is open until the next query is answered. A query whose function raises an error counts as answered.

    Privacy:
        The map is an exact rational, rounded up once, for distances up to ``d_in``, and infinite beyond ``d_in``:

        - MaxDivergence, ZeroConcentratedDivergence: the sum of ``d_mids``. Under Approximate the deltas add too.
        - RangeDivergence: d_mids[0] + 2 (d_mids[1] + d_mids[2] + ...). A later query can be chosen by an earlier
          answer so that its loss adds at both ends; only the first one is chosen blindly. For two queries no smaller
          number would do; for more that is not known here. Put the largest range first. The bound is valid given any
          random numbers that the analyst draws, which is enough for conversions to the other measures. It would fail
          if the first query were drawn at random and the draw hidden, so such a measurement cannot be post-processed
          with ``>>``.
        - PrivacyProfile: the curve of all together, as in ``make_composition``. This is valid because the curves are
          fixed in advance and bound both directions: the loss distributions that they define dominate each query,
          whatever was answered before (Zhu, Dong and Wang, 2022). Consecutive steps of one range are added up, and so
          are consecutive losses of which only a rho is known.

    Raises:
        ParameterError: ``d_mids`` is empty. ``d_in`` or an entry of ``d_mids`` is negative, NaN or has the wrong type.
        ParameterTypeError: ``d_mids`` is not a list, ``output_measure`` has no rule, or an argument has the wrong type.
        SpaceError: The metric does not fit the domain.

    Runtime:
        That of the queries. The input is checked once, and an array is copied once.

    Proof: proofs/combinators/adaptive_composition.tex

    References:
        Bun and Steinke, "Concentrated Differential Privacy" (2016). Dong, Durfee and Rogers, "Optimal Differential
        Privacy Composition for Exponential Mechanisms" (2020). Zhu, Dong and Wang, "Optimal Accounting of Differential
        Privacy via Characteristic Function" (2022).

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> measure = tk.MaxDivergence()
        >>> talk = space >> tk.then_adaptive_composition(measure, d_in=1, d_mids=[0.25, 0.5])
        >>> talk.map(1)
        0.75
        >>> queryable = talk([500, 0, 1000])
        >>> queryable(space >> tk.then_permute_and_flip(measure, scale=4.0))
        2
        >>> queryable(space >> tk.then_permute_and_flip(measure, scale=2.0, optimize="min"))
        1
    """
    # proof-region: adaptive_composition
    require_space(input_domain, input_metric, Metric, "a metric such as LInfDistance()")  # [check-space]
    require_fixed_rule(output_measure)  # [check-measure]
    d_in = input_metric.distance(d_in, "d_in")
    if not isinstance(d_mids, list | tuple):
        raise ParameterTypeError(f"d_mids must be a list of distances, not {type(d_mids).__name__}")
    mids = tuple(d_mids)
    if not mids:
        raise ParameterError("d_mids must contain at least one distance")
    for place, mid in enumerate(mids):
        output_measure.distance(mid, f"d_mids[{place}]")  # [check-mids]

    def function(value: Any) -> Queryable:
        data = freeze_if_array(value)
        left = list(mids)

        def admit_query(query: Any) -> Callable[[], Any]:
            require_space_of("query", query, input_domain, input_metric, output_measure)  # [check-query]
            if not left:
                raise BudgetError(f"all {len(mids)} queries have been answered")
            if not query.check(d_in, left[0]):  # [check-loss]
                raise BudgetError(f"this query loses more than d_mids[{len(mids) - len(left)}] allows at d_in")
            del left[0]  # [debit]
            return lambda: query.function(data)  # [ask]

        return Queryable(admit_query)

    loss = compose_losses(output_measure, mids, adaptive=True)  # [total]

    def privacy_map(distance: Any) -> Any:
        return loss if distance <= d_in else output_measure.infinite  # [map]

    return Measurement(
        input_domain=input_domain,
        input_metric=input_metric,
        output_measure=output_measure,
        function=function,
        privacy_map=privacy_map,
        parameters={"mechanism": "adaptive_composition", "d_in": d_in, "d_mids": mids},
        interactive=True,
    )
    # end-proof-region: adaptive_composition


then_adaptive_composition = partial_constructor(make_adaptive_composition)
