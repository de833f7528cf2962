"""One release, and a second measurement of the same input that is chosen by it, at a cost that is agreed before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.claims import attach_claim, proved_by
from ..core.measurement import Measurement
from ..core.queryable import call_sealed, freeze_if_array
from ..errors import BudgetError, ParameterError, checks
from ..proof import Proof
from ..spaces.measures import bounds_range
from ._rules import compose_losses, require_fixed_rule, require_space_of


@proved_by("combinators/followed_by")
def make_followed_by(first: Measurement, *, follow: Callable[[Any], Measurement], d_in: Any, d_out: Any) -> Measurement:
    """Release ``first``, then the measurement that ``follow`` makes of what was released.

    ``x -> (r, follow(r)(x))``, with ``r = first(x)``

    So a private choice of a parameter is followed by the release that uses it, or a private top-k by the number of
    users of all other items.

    Args:
        first: A measurement, not interactive, whose measure is ``MaxDivergence()``, ``ZeroConcentratedDivergence()``,
            ``Approximate`` of one of them, or ``PrivacyProfile()``.
        follow: From a release of ``first`` to a measurement with the same input domain, input metric and measure, not
            interactive. It sees the release and nothing else of the input.
        d_in: The distance of inputs for which ``d_out`` is agreed.
        d_out: The loss that every measurement of ``follow`` may have at ``d_in``, in the measure's own distance. One
            that would lose more is refused when it comes, with an error and without its release.

    Returns:
        A :class:`Measurement` whose releases are pairs. Its parameters are those of ``first``, with ``then``, the
        ``d_out``.

    Privacy:
        The loss of ``first`` at d_in and d_out, added as in ``make_adaptive_composition``; infinite beyond d_in.

    Raises:
        ParameterError: ``first`` is interactive, or its measure has no rule or bounds a range.
        DistanceError: ``d_in`` or ``d_out`` is no distance.
        ParameterTypeError: ``follow`` cannot be called, or ``first`` is no measurement.

        On a call: BudgetError or SpaceError where ``follow`` makes a measurement that loses more or does not fit.
        Which one comes is a function of the release of ``first``.

    Runtime: That of both.

    Proof: proofs/combinators/followed_by.tex

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> best = space >> tk.then_permute_and_flip(tk.MaxDivergence(), scale=4.0)
        >>> worst = space >> tk.then_permute_and_flip(tk.MaxDivergence(), scale=2.0, optimize="min")
        >>> both = tk.make_followed_by(best, follow=lambda found: worst, d_in=1, d_out=0.5)
        >>> both.map(1), both([500, 0, 1000])
        (0.75, (2, 1))
    """
    # proof-region: followed_by
    checks.require_instance("first", first, Measurement, "a measurement")
    measure = require_fixed_rule(first.output_measure)  # [check-measure]
    if first.interactive or bounds_range(measure):  # [check-first]
        raise ParameterError("first must not be interactive, and its measure must not bound a range: convert it first")
    checks.require_callable("follow", follow)
    limit = first.input_metric.distance(d_in, "d_in")
    agreed = measure.exact(d_out, "d_out")  # [check-agreed]
    loss = compose_losses(measure, [first.exact_map(limit), agreed], adaptive=True)  # [total]

    def follow_up_measurement(released: Any) -> Measurement:
        second = require_space_of("follow(release)", follow(released), first.input_domain, first.input_metric, measure)
        if second.interactive or not second.check(limit, agreed):  # [check-second]
            raise BudgetError("follow(release) is interactive, or loses more than d_out at d_in: it was not released")
        return second

    def function(value: Any) -> tuple[Any, Any]:
        data = freeze_if_array(value)
        released = call_sealed(first.function, data)  # [first]
        return released, call_sealed(follow_up_measurement(released).function, data)  # [second]

    def privacy_map(distance: Any) -> Any:
        return loss if distance <= limit else measure.infinite  # [map]

    built = Measurement(
        input_domain=first.input_domain,
        input_metric=first.input_metric,
        output_measure=measure,
        function=function,
        privacy_map=privacy_map,
        parameters={**first.parameters, "then": d_out},
    )
    return attach_claim(built, Proof(None, (first.proof,)))
    # end-proof-region: followed_by
