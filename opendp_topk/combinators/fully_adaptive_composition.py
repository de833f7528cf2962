"""Fully adaptive composition: odometers, which report the running loss, and filters, which stop at a budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..core.claims import Claimed, proved_by
from ..core.measurement import Measurement
from ..core.partials import partial_constructor
from ..core.queryable import Queryable, freeze_if_array
from ..core.rendering import describe_html, describe_text
from ..core.spaces import Space, match_input_space, require_space
from ..core.transformation import Transformation
from ..errors import BudgetError, SpaceError, checks
from ..spaces.domains import Domain
from ..spaces.measures import Measure
from ..spaces.metrics import Metric
from ._rules import compose_losses, loss_after, require_rule, require_space_of, steps_taken, sum_later_losses

Admit = Callable[[Any], Callable[[], Any]]
Loss = Callable[[Any, Any], Any]


# proof-region: odometer
@dataclass
class _BookedQuery:
    """Query that was charged, with the number of steps it took if its answer shows this."""

    query: Measurement
    drawn: int | None = None

    def answer_query(self, data: Any) -> Any:
        release = self.query.function(data)  # [ask]
        self.drawn = steps_taken(self.query, release)  # [drawn]
        return release


@dataclass(frozen=True, eq=False, repr=False)
class Odometer(Claimed):
    """Privacy odometer: it has no privacy map, and its queryables track the privacy loss instead.

    Build one with ``make_fully_adaptive_composition``; ``make_privacy_filter`` turns it into a measurement.
    """

    input_domain: Domain
    input_metric: Metric
    output_measure: Measure

    @property
    def parameters(self) -> dict[str, Any]:
        """Public values that the repr shows in addition to the space."""
        return {"mechanism": "fully_adaptive_composition"}

    def invoke(self, value: Any) -> Queryable:
        """Return a queryable on ``value``, after checking that it is a member of the input domain."""
        return self.function(self.input_domain.validate(value))  # [validate]

    def __call__(self, value: Any) -> Queryable:
        return self.invoke(value)

    def __rrshift__(self, left: Space) -> Odometer:
        if isinstance(left, Transformation):
            raise SpaceError(
                "an odometer cannot follow a transformation, because it does not account for the "
                "transformation's distances: write transformation >> make_privacy_filter(odometer, ...)"
            )
        return match_input_space(left, self)

    def function(self, value: Any) -> Queryable:
        """Return a queryable on a member that was already validated."""
        admit, loss = self.conversation(value)
        return Queryable(
            admit, lambda d_in, query: self.output_measure.distance(loss(d_in, query), "loss")
        )  # [loss-up]

    def conversation(self, value: Any) -> tuple[Admit, Loss]:
        """Return two functions of a queryable on ``value``: admission of queries, and the loss before rounding up."""
        data = freeze_if_array(value)
        asked: list[_BookedQuery] = []
        settled: dict[Any, tuple[int, list[Any]]] = {}  # by distance: how many queries, and their losses
        space = self.input_domain, self.input_metric, self.output_measure

        def admit_query(query: Any) -> Callable[[], Any]:
            require_space_of("query", query, *space)  # [check-query]
            asked.append(booked := _BookedQuery(query))  # [debit]
            return lambda: booked.answer_query(data)

        def joint_loss(d_in: Any, query: Any) -> Any:
            extra = [] if query is None else [_BookedQuery(require_space_of("query", query, *space))]
            d_in = self.input_metric.distance(d_in, "d_in")
            count, sums = settled.get((type(d_in), d_in), (0, []))
            booked = asked[count:]
            losses = [loss_after(one.query, one.drawn, d_in) for one in booked + extra]  # [each-once]
            over = max(len(booked) - 1, 0)  # the last query may still be answered with fewer steps
            sums = sum_later_losses(self.output_measure, sums + losses[:over])
            settled[type(d_in), d_in] = count + over, sums  # [settled]
            return compose_losses(self.output_measure, sums + losses[over:], adaptive=True)  # [account]

        return admit_query, joint_loss

    def __repr__(self) -> str:
        return describe_text(self, {"output_measure": self.output_measure})

    def _repr_html_(self) -> str:
        return describe_html(self, {"output_measure": self.output_measure})


# end-proof-region: odometer


@proved_by("combinators/fully_adaptive_composition")
def make_fully_adaptive_composition(input_domain: Domain, input_metric: Metric, output_measure: Measure) -> Odometer:
    """Build a privacy odometer: it answers any queries and returns their privacy loss at any time.

    Args:
        input_domain: The domain of inputs, which all queries share.
        input_metric: The distance between neighbouring inputs.
        output_measure: ``MaxDivergence()``, ``RangeDivergence()``, ``ZeroConcentratedDivergence()`` or
            ``Approximate`` of one of them.

    Returns:
        An :class:`Odometer`, which returns :class:`Queryable` objects when called. ``queryable(query)`` answers a
        query, ``queryable.privacy_loss(d_in)`` returns the loss so far, and ``queryable.privacy_loss(d_in, query)``
        returns the loss after one more query. You may ask for the loss before and after every query. An odometer has
        no privacy map, because it answers every query: use ``make_privacy_filter`` to set a budget.

    Privacy:
        An analyst who stops before the reported loss exceeds a bound has lost at most that bound. With a_i the map of
        the i-th query at d_in, answered or failed: MaxDivergence and ZeroConcentratedDivergence, a_1 + a_2 + ...;
        under Approximate the deltas add too; RangeDivergence, a_1 + 2 (a_2 + a_3 + ...), given any random numbers that
        the analyst draws. The sums are exact rationals, rounded up once.

        Under Approximate of MaxDivergence and of ZeroConcentratedDivergence a query may be drawn in adaptive steps,
        such as ``make_unknown_domain_top_k`` with Gumbel noise. All its steps are charged until it is answered, and
        afterwards only the steps that it took: m + 1 if it stopped after m keys (Durfee and Rogers, 2019). Its delta is
        charged in full.

        The loss of a query may depend on earlier answers. Epsilons and deltas then add by basic composition (Rogers et
        al., 2016), and rhos by the Renyi filter (Feldman and Zrnic, 2021; Whitehouse et al., 2023). No such theorem is
        known for curves, so there is no odometer under ``PrivacyProfile``; ``make_adaptive_composition`` composes
        curves that are fixed in advance. For the smallest (epsilon, delta) of adaptively chosen queries, account in rho
        and convert the budget of a filter with ``make_zCDP_to_approxDP``.

    Raises:
        ParameterTypeError: An argument has the wrong type, or ``output_measure`` has no rule.
        SpaceError: The metric does not fit the domain.

    Runtime:
        That of the queries. The map of a query is added up once for each distance at which the loss is evaluated.

    Proof: proofs/combinators/fully_adaptive_composition.tex

    References:
        Rogers, Roth, Ullman and Vadhan, "Privacy Odometers and Filters" (2016). Feldman and Zrnic, "Individual
        Privacy Accounting via a Renyi Filter" (2021). Whitehouse, Ramdas, Rogers and Wu, "Fully-Adaptive Composition
        in Differential Privacy" (2023). Durfee and Rogers, "Practical Differentially Private Top-k Selection with
        Pay-what-you-get Composition" (2019).

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> measure = tk.MaxDivergence()
        >>> queryable = (space >> tk.then_fully_adaptive_composition(measure))([500, 0, 1000])
        >>> best = space >> tk.then_permute_and_flip(measure, scale=4.0)
        >>> queryable.privacy_loss(1), queryable.privacy_loss(1, best)
        (0.0, 0.25)
        >>> queryable(best), queryable.privacy_loss(1)
        (2, 0.25)
    """
    # proof-region: fully_adaptive_composition
    require_space(input_domain, input_metric, Metric, "a metric such as LInfDistance()")  # [check-space]
    return Odometer(input_domain, input_metric, require_rule(output_measure))  # [check-measure]
    # end-proof-region: fully_adaptive_composition


then_fully_adaptive_composition = partial_constructor(make_fully_adaptive_composition)


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

        The queries, their number and their losses may all be chosen adaptively, as for the odometer. To get a filter in
        (epsilon, delta), apply ``make_zCDP_to_approxDP`` to a filter in rho.

    Raises:
        ParameterTypeError: ``odometer`` is not an odometer.
        ParameterError: ``d_in`` or ``d_out`` is not a valid distance.

    Runtime:
        That of the queries.

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
