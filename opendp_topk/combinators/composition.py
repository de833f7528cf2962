"""Composition: several measurements of the same input, released together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..core.candidates import is_iterable
from ..core.claims import attach_claim, proved_by
from ..core.measurement import Declared, Measurement
from ..core.queryable import call_sealed
from ..core.spaces import joint_domain
from ..errors import ParameterError, ParameterTypeError, checks
from ..proof import Proof
from ._rules import compose_losses, decode_all, product_distribution, require_fixed_rule, require_space_of


@proved_by("combinators/composition")
def make_composition(measurements: Iterable[Measurement]) -> Measurement:
    """Release several measurements of one input, all of them fixed in advance.

    ``x -> (M_1(x), ..., M_n(x))``, drawn independently.

    Args:
        measurements: At least one, with the same input domain, input metric and output measure: ``MaxDivergence()``,
            ``RangeDivergence()``, ``ZeroConcentratedDivergence()``, ``Approximate`` of one of them or
            ``PrivacyProfile()``.

    Returns:
        A :class:`Measurement` whose releases are tuples with one entry per measurement, in their order. It declares its
        exact output distribution if all members do. Queryables among the releases are closed: use
        ``make_adaptive_composition`` for interactive queries.

    Privacy:
        The sum of the maps, an exact rational, rounded up once: epsilons add, ranges add, rhos add, and under
        ``Approximate`` deltas add too (up to 1). Ranges add because no measurement is chosen after an answer was seen.
        Their sum is tight if the members' maps are tight at one pair of inputs.

        Under ``PrivacyProfile`` the loss is the joint curve of all members. Their curves are interpolated by chords on
        a grid of epsilons and convolved, and every rounding is upward. If all members have an epsilon, a rho or steps
        of one range, the sum of these is another bound, and the smallest bound is used. The grid adds less than 0.01 %
        to epsilon.

    Raises:
        ParameterError: ``measurements`` is empty.
        ParameterTypeError: ``measurements`` is not a list of measurements, or their measure has no rule.
        SpaceError: Two of them differ in input domain, input metric or output measure.

    Runtime:
        That of all members. The curve of a thousand members of a few kinds takes about a second when it is first
        evaluated. Members with different scales take longer, because each curve is evaluated at many points.

    Proof: proofs/combinators/composition.tex

    References:
        Durfee and Rogers, "Practical Differentially Private Top-k Selection with Pay-what-you-get
        Composition" (2019). Bun and Steinke, "Concentrated Differential Privacy" (2016). Zhu, Dong and Wang, "Optimal
        Accounting of Differential Privacy via Characteristic Function" (2022). Doroshenko, Ghazi, Kamath, Kumar and
        Manurangsi, "Connect the Dots" (2022).

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> best = space >> tk.then_permute_and_flip(tk.MaxDivergence(), scale=4.0)
        >>> worst = space >> tk.then_permute_and_flip(tk.MaxDivergence(), scale=4.0, optimize="min")
        >>> both = tk.make_composition([best, worst])
        >>> both.map(1)
        0.5
        >>> both([500, 0, 1000])
        (2, 1)
    """
    # proof-region: composition
    if isinstance(measurements, Measurement) or not is_iterable(measurements):
        raise ParameterTypeError(f"measurements must be a list of measurements, not {type(measurements).__name__}")
    members = list(measurements)
    if not members:
        raise ParameterError("measurements must contain at least one measurement")  # [check-count]
    first = checks.require_instance("measurements[0]", members[0], Measurement, "a measurement")
    measure = require_fixed_rule(first.output_measure)  # [check-measure]
    domain = first.input_domain
    for place, member in enumerate(members):
        name = f"measurements[{place}]"
        require_space_of(name, member, domain, first.input_metric, measure)  # [check-space]
        domain = joint_domain(domain, member.input_domain, name)  # [all-state]
    joint = product_distribution(members)

    def function(value: Any) -> tuple[Any, ...]:
        return tuple(call_sealed(member.function, value) for member in members)  # [release-each]

    def privacy_map(d_in: Any) -> Any:
        return compose_losses(measure, [member.exact_map(d_in) for member in members], adaptive=False)  # [map]

    built = Measurement(
        input_domain=domain,
        input_metric=first.input_metric,
        output_measure=measure,
        function=function,
        privacy_map=privacy_map,
        parameters={"mechanism": "composition", "members": tuple(m.parameters.get("mechanism") for m in members)},
        declared=Declared(
            law=joint and (lambda value: joint([value] * len(members))),  # [joint-law]
            decode=decode_all(members),
        ),
    )
    return attach_claim(built, Proof(None, tuple(dict.fromkeys(member.proof for member in members))))
    # end-proof-region: composition
