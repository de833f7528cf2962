"""Privacy filter: a budget for adaptively chosen queries, which are answered as long as they fit."""

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
    """Answer queries as long as the odometer's privacy loss stays within a budget.

    Args:
        odometer: An odometer that ``make_fully_adaptive_composition`` returned.
        d_in: The input distance for the budget, in units of the odometer's input metric.
        d_out: The budget, in the measure's own distance.

    Returns:
        An interactive :class:`Measurement`, whose releases are :class:`Queryable` objects. A query that would raise
        ``privacy_loss(d_in)`` above ``d_out`` is refused. Nothing is then drawn or spent, and you may ask a query that
        loses less. ``privacy_loss`` works as on the odometer's own queryables. If a query that is drawn in adaptive
        steps stops early, such as ``make_unknown_domain_top_k``, the loss of the remaining steps is available again.

    Privacy:
        ``d_out`` for distances up to ``d_in``, under all measures for which there are odometers; infinite beyond
        ``d_in``. Under ``RangeDivergence()`` the bound is valid given any random numbers that the analyst draws, and
        the measurement cannot be post-processed with ``>>``: see ``make_adaptive_composition``.

        The queries, their number and their losses may all be chosen adaptively: for epsilon and (epsilon, delta) by
        basic composition (Rogers et al., 2016), for rho by the Renyi filter (Feldman and Zrnic, 2021; Whitehouse et
        al., 2023). To get a filter in (epsilon, delta), apply ``make_zCDP_to_approxDP`` to a filter in rho.

    Raises:
        ParameterTypeError: ``odometer`` is not an odometer.
        ParameterError: ``d_in`` or ``d_out`` is not a valid distance.

    Runtime:
        That of the queries. Each new query also evaluates the map of every earlier one.

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
        opendp_topk.errors.BudgetError: this query would raise the loss above d_out: ask one with a smaller loss
        >>> queryable(space >> tk.then_permute_and_flip(measure, scale=4.0, optimize="min"))
        1
    """
    # proof-region: privacy_filter
    checks.require_instance("odometer", odometer, Odometer, "an odometer returned by make_fully_adaptive_composition")
    measure = odometer.output_measure
    d_in = odometer.input_metric.distance(d_in, "d_in")
    d_out = measure.exact(d_out, "d_out")  # [budget]

    def function(value: Any) -> Queryable:
        book, loss = odometer.conversation(value)  # [odometer]

        def admit_query(query: Any) -> Callable[[], Any]:
            require_space_of("query", query, odometer.input_domain, odometer.input_metric, measure)  # [check-query]
            if not measure.at_most(loss(d_in, query), d_out):  # [fits]
                raise BudgetError("this query would raise the loss above d_out: ask one with a smaller loss")
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
