"""Pay-what-you-get composition: a fixed budget of steps, and each query is charged for the steps that it took."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..core.claims import proved_by
from ..core.measurement import Measurement
from ..core.partials import partial_constructor
from ..core.queryable import Queryable, freeze_if_array
from ..core.repeatable import AdaptiveSteps
from ..core.spaces import require_space
from ..errors import BudgetError, ParameterTypeError, checks
from ..errors.checks import Number
from ..numerics.arithmetic import to_fraction
from ..spaces.costs import STRICT
from ..spaces.domains import Domain
from ..spaces.measures import Measure
from ..spaces.metrics import Metric
from ._rules import loss_of_steps, require_space_of, steps_taken


@proved_by("combinators/pay_what_you_get")
def make_pay_what_you_get(
    input_domain: Domain,
    input_metric: Metric,
    output_measure: Measure,
    *,
    d_in: Any,
    steps: int,
    width: Number,
    calls: int,
    delta: Number,
) -> Measurement:
    """Answer queries that are drawn in adaptive steps, until a number of steps is used up.

    A query is charged only for the steps that it took. ``make_unknown_domain_top_k`` with Gumbel noise, alone or after
    a transformation, builds such queries: a release of k keys takes k steps, and one that stops after m < k keys takes
    m + 1. Steps that a query does not take are available to later queries.

    Args:
        input_domain: The domain of inputs, which all queries share.
        input_metric: The distance between neighbouring inputs.
        output_measure: ``Approximate(MaxDivergence())``, ``Approximate(ZeroConcentratedDivergence())`` or
            ``PrivacyProfile()``.
        d_in: The input distance at which ``width`` and ``delta`` limit the queries, in units of ``input_metric``.
        steps: The number of steps that all queries together may take, >= 1.
        width: The range of one step at ``d_in``, finite, >= 0. For ``make_unknown_domain_top_k`` it is
            ``range_distance(d_in) / scale`` of its metric. A rational or a float, which is used exactly.
        calls: The number of queries that may be answered, 1 <= calls <= steps, because each takes at least one step.
        delta: The delta of one query at ``d_in``, in (0, 1).

    Returns:
        An interactive :class:`Measurement`, whose releases are :class:`Queryable` objects. A query must be a
        measurement on the same input space with the same measure. Its steps must have a range of at most ``width``, its
        delta must be at most ``delta``, and its largest number of steps must still be available. Otherwise it is
        refused, and you may ask another one instead. A query whose function raises an error is charged for all steps
        that it could have taken.

    Privacy:
        For distances up to ``d_in``, for any queries and answers; infinite beyond ``d_in``. With n = ``steps`` and
        r = ``width``, up to a probability of calls delta:

        - Approximate(MaxDivergence): n r. Approximate(ZeroConcentratedDivergence): n R(r), where
          R(x) = x / (1 - exp(-x)) - 1 - ln(x / (1 - exp(-x))) is below x^2 / 8.
        - PrivacyProfile: the curve of n adaptive steps of range r, which is that of one release of n keys.

        Delta is charged once per query, because each query draws new noise. In general no delta smaller than
        1 - (1 - delta)^calls is valid.

    Raises:
        ParameterError: ``steps``, ``width``, ``calls`` or ``delta`` is out of range. ``d_in`` is not a valid distance.
        ParameterTypeError: An argument has the wrong type, or the measure is not one of the three.
        SpaceError: The metric does not fit the domain.

    Runtime:
        That of the queries.

    Proof: proofs/combinators/pay_what_you_get.tex

    References:
        Durfee and Rogers, "Practical Differentially Private Top-k Selection with Pay-what-you-get Composition" (2019).

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.KeyedCountsDomain(), tk.KeyedCountDistance()
        >>> measure = tk.Approximate(tk.MaxDivergence())
        >>> talk = space >> tk.then_pay_what_you_get(measure, d_in=1, steps=4, width=0.25, calls=2, delta=1e-9)
        >>> talk.map(1)
        (1.0, 2e-09)
        >>> queryable = talk({"umbrella": 900, "rain coat": 700, "my own name": 1})
        >>> def best(k):
        ...     return space >> tk.then_unknown_domain_top_k(measure, k=k, scale=4.0, limit=10, delta=1e-9)
        >>> queryable(best(4))
        Release(items=('umbrella', 'rain coat'), stopped=True)
        >>> queryable(best(1))
        Release(items=('umbrella',), stopped=False)
    """
    # proof-region: pay_what_you_get
    require_space(input_domain, input_metric, Metric, "a metric such as KeyedCountDistance()")  # [check-space]
    if not isinstance(output_measure, Measure) or output_measure not in STRICT:
        raise ParameterTypeError(f"output_measure must be one of {', '.join(map(repr, STRICT))}")  # [check-measure]
    d_in = input_metric.distance(d_in, "d_in")
    total = checks.require_positive_int("steps", steps)
    most = checks.require_positive_int("calls", calls, at_most=total, limit="steps")  # [check-counts]
    r = to_fraction(checks.require_scale(width, "width"))
    each = to_fraction(checks.require_probability(delta, "delta"))  # [check-loss]

    def require_query_steps(query: Any) -> AdaptiveSteps:
        require_space_of("query", query, input_domain, input_metric, output_measure)  # [check-query]
        found: AdaptiveSteps | None = query.declared.steps
        if found is None:
            raise ParameterTypeError(
                "query must be a sequence of choices without post-processing, such as "
                "make_unknown_domain_top_k with Gumbel noise"
            )  # [check-steps]
        if found.width(d_in) > r or found.delta(d_in) > each:  # [check-each]
            raise BudgetError("this query has a larger range per step, or a larger delta, than agreed: add more noise")
        return found

    def function(value: Any) -> Queryable:
        data = freeze_if_array(value)
        left = _RemainingBudget(total, most)

        def admit_query(query: Any) -> Callable[[], Any]:
            reserved = require_query_steps(query).most
            left.spend_steps(reserved)  # [debit]

            def answer_query() -> Any:
                release = query.function(data)  # [ask]
                left.steps += reserved - (steps_taken(query, release) or reserved)  # [give-back]
                return release

            return answer_query

        return Queryable(admit_query)

    loss = loss_of_steps(output_measure, total, r, most * each)  # [total]

    def privacy_map(distance: Any) -> Any:
        return loss if distance <= d_in else output_measure.infinite  # [map]

    return Measurement(
        input_domain=input_domain,
        input_metric=input_metric,
        output_measure=output_measure,
        function=function,
        privacy_map=privacy_map,
        parameters={
            "mechanism": "pay_what_you_get",
            "d_in": d_in,
            "steps": total,
            "width": width,
            "calls": most,
            "delta": delta,
        },
        interactive=True,
    )


@dataclass
class _RemainingBudget:
    """Steps and queries that are left."""

    steps: int
    calls: int

    def spend_steps(self, steps: int) -> None:
        """Charge one query with ``steps`` steps."""
        if not self.calls:
            raise BudgetError("all agreed queries have been answered")  # [calls-left]
        if steps > self.steps:
            raise BudgetError(f"this query may take {steps} steps, but only {self.steps} are left")  # [steps-left]
        self.steps -= steps
        self.calls -= 1

    # end-proof-region: pay_what_you_get


then_pay_what_you_get = partial_constructor(make_pay_what_you_get)
