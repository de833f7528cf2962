"""A release followed by a second measurement of the same input that depends on it, with a loss fixed in advance."""

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
    """Release ``first``, then the measurement that ``follow`` returns for that release.

    ``x -> (r, follow(r)(x))``, with ``r = first(x)``

    For example, choose a parameter privately and then release a result with it, or release a private top-k and then
    the number of users of all other items.

    Args:
        first: A measurement, not interactive, whose measure is ``MaxDivergence()``, ``ZeroConcentratedDivergence()``,
            ``Approximate`` of one of them, or ``PrivacyProfile()``.
        follow: A function from a release of ``first`` to a measurement that is not interactive and has the same input
            domain, input metric and measure. The release must be its only information about the input.
        d_in: The input distance at which ``d_out`` limits the loss.
        d_out: The largest loss at ``d_in`` of a measurement that ``follow`` may return, in the measure's own distance.
            A measurement that would lose more raises an error and is not released.

    Returns:
        A :class:`Measurement` whose releases are pairs. Its parameters are those of ``first``, and ``then``, which is
        ``d_out``.

    Privacy:
        The loss of ``first`` at d_in and d_out, added as in ``make_adaptive_composition``; infinite beyond d_in.

    Raises:
        ParameterError: ``first`` is interactive, or its measure has no rule or bounds a range. ``d_in`` or ``d_out`` is
            not a valid distance.
        ParameterTypeError: ``follow`` is not callable, or ``first`` is not a measurement.

        On a call: ParameterTypeError if ``follow`` does not return a measurement, SpaceError if that measurement has
        another input space or measure, and BudgetError if it is interactive or would lose more than ``d_out``. The
        error depends only on the release of ``first``.

    Runtime: That of both measurements.

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
        raise ParameterError("first must not be interactive or have the measure RangeDivergence: convert it")
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
