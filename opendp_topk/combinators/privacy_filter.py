"""A budget for a conversation: queries are answered as long as they fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.claims import proved_by
from ..core.measurement import Measurement
from ..core.queryable import Queryable
from ..errors import BudgetError, checks
from ._rules import require_space_of
from .fully_adaptive_composition import Odometer


@proved_by("combinators/privacy_filter")
def make_privacy_filter(odometer: Odometer, *, d_in: Any, d_out: Any) -> Measurement:
    """Answer queries as long as the odometer's account stays within a budget.

    Args:
        odometer: What ``make_fully_adaptive_composition`` returned.
        d_in: The distance of inputs for which the budget holds, in units of the odometer's input metric.
        d_out: The budget, in the measure's own distance.

    Returns:
        An interactive :class:`Measurement`, whose releases are :class:`Queryable` objects. A query that would bring
        ``privacy_loss(d_in)`` above ``d_out`` is refused, nothing is drawn or spent, and smaller ones may follow.
        ``privacy_loss`` works as on the odometer's own queryables; what a query that is drawn step by step did not
        take, such as ``make_unknown_domain_top_k`` that stopped early, is free again.

    Privacy:
        ``d_out`` for distances up to ``d_in``, under all measures for which there are odometers; beyond ``d_in`` it
        promises nothing. Under ``RangeDivergence()`` it holds for each outcome of random numbers that the analyst may
        draw, and the measurement cannot be post-processed with ``>>``: see ``make_adaptive_composition``.

        Queries, their number and their losses may be chosen on the way: for epsilons and (epsilon, delta) by basic
        composition (Rogers et al., 2016), for rhos by the Renyi filter (Feldman and Zrnic, 2021; Whitehouse et al.,
        2023). ``make_zCDP_to_approxDP`` of a filter of rhos is a filter of (epsilon, delta).

    Raises:
        ParameterTypeError: ``odometer`` is no odometer.
        DistanceError: ``d_in`` or ``d_out`` is no distance.

    Runtime:
        That of the queries, and one map of each earlier query for every new one.

    Proof: proofs/combinators/privacy_filter.tex

    References:
        Rogers, Roth, Ullman and Vadhan, "Privacy Odometers and Filters" (2016). Feldman and Zrnic, "Individual
        Privacy Accounting via a Renyi Filter" (2021). Whitehouse, Ramdas, Rogers and Wu, "Fully-Adaptive Composition
        in Differential Privacy" (2023).

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> measure = tk.MaxDivergence()
        >>> budgeted = tk.make_privacy_filter(space >> tk.then_fully_adaptive_composition(measure), d_in=1, d_out=0.5)
        >>> budgeted.map(1)
        0.5
        >>> queryable = budgeted([500, 0, 1000])
        >>> queryable(space >> tk.then_permute_and_flip(measure, scale=4.0))
        2
        >>> queryable(space >> tk.then_permute_and_flip(measure, scale=2.0))
        Traceback (most recent call last):
            ...
        opendp_topk.errors.BudgetError: this query would bring the loss above d_out: ask one that loses less
        >>> queryable(space >> tk.then_permute_and_flip(measure, scale=4.0, optimize="min"))
        1
    """
    # proof-region: privacy_filter
    checks.require_instance("odometer", odometer, Odometer, "an odometer that make_fully_adaptive_composition returned")
    measure = odometer.output_measure
    d_in = odometer.input_metric.distance(d_in, "d_in")
    d_out = measure.exact(d_out, "d_out")  # [budget]

    def function(value: Any) -> Queryable:
        book, loss = odometer.conversation(value)  # [odometer]

        def admit_query(query: Any) -> Callable[[], Any]:
            require_space_of("query", query, odometer.input_domain, odometer.input_metric, measure)  # [check-query]
            if not measure.at_most(loss(d_in, query), d_out):  # [fits]
                raise BudgetError("this query would bring the loss above d_out: ask one that loses less")
            return book(query)  # [ask]

        return Queryable(
            admit_query, lambda distance, query: measure.distance(loss(distance, query), "loss")
        )  # [loss-up]

    def privacy_map(distance: Any) -> Any:
        return d_out if distance <= d_in else measure.infinite  # [map]

    return Measurement(
        input_domain=odometer.input_domain,
        input_metric=odometer.input_metric,
        output_measure=measure,
        function=function,
        privacy_map=privacy_map,
        parameters={"mechanism": "privacy_filter", "d_in": d_in, "d_out": measure.distance(d_out, "d_out")},
        interactive=True,
    )
    # end-proof-region: privacy_filter
