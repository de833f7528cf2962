"""Composition: several measurements of one input, chosen in advance or one after another, or one of them many times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..core.candidates import is_iterable
from ..core.claims import attach_claim, proved_by
from ..core.measurement import Declared, Measurement
from ..core.partials import partial_constructor
from ..core.queryable import Queryable, call_sealed, freeze_if_array
from ..core.repeatable import BatchedFunction, RepeatableFunction
from ..core.spaces import joint_domain, require_space
from ..errors import BudgetError, ParameterError, ParameterTypeError, checks
from ..proof import Proof
from ..spaces.domains import Domain
from ..spaces.measures import Distance, Measure, Released
from ..spaces.metrics import Metric
from ._rules import (
    compose_losses,
    decode_all,
    product_distribution,
    repeated_loss,
    require_fixed_rule,
    require_space_of,
)


@proved_by("combinators/composition")
def make_composition(
    measurements: Iterable[Measurement[Distance, Released]],
) -> Measurement[Distance, tuple[Released, ...]]:
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
        - RangeDivergence: d_mids[0] + 2 (d_mids[1] + d_mids[2] + ...), so put the largest range first. A later query
          can be chosen by an earlier answer so that its loss adds at both ends. For two queries no smaller number would
          do; for more that is not known here. The bound is valid given any random numbers that the analyst draws. It
          would fail if the first query were drawn at random and the draw hidden, so such a measurement cannot be
          post-processed with ``>>``.
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


@proved_by("combinators/repeat")
def make_repeat(measurement: Measurement[Distance, Any], *, times: int) -> Measurement[Distance, Any]:
    """Release one measurement ``times`` times on the same input, at ``times`` times the privacy loss.

    ``x -> (M(x), ..., M(x))``, drawn independently. This is a composition of ``times`` equal members, and loses as
    much; only the sampling is faster. Averaging the releases does not reduce the loss.

    Args:
        measurement: Any measurement under ``MaxDivergence()``, ``RangeDivergence()``,
            ``ZeroConcentratedDivergence()``, ``Approximate`` of one of them, or ``PrivacyProfile()``.
        times: The number of releases, >= 1.

    Returns:
        A :class:`Measurement` on the same inputs. If ``measurement`` is a selection of this library that releases only
        indices, and not a chain, its releases are one int64 array: of shape (times, k), one row per release, or
        (times,) if a release is one index. All other releases are a tuple. It declares its exact output distribution if
        ``measurement`` does, with a tuple for each outcome. Queryables among the releases are closed.

    Privacy:
        ``times`` times the map of ``measurement``, an exact rational, rounded up once; under ``Approximate`` both
        components, deltas up to 1. For ranges this is tight if the map of ``measurement`` is. Under
        ``PrivacyProfile()`` the composed curve, as in ``make_composition``.

    Raises:
        ParameterError: ``times`` is below 1.
        ParameterTypeError: ``times`` is not an integer, ``measurement`` is not a measurement, or its measure has no
            rule.

    Runtime:
        A few times that of inexact noise in one array, for one-shot and peeled selections among at most 512 candidates
        (with or without gaps or counts), and for canonical and joint ones with at most 512 outputs. Other canonical and
        joint selections compute only once what depends on the scores alone. All others take ``times`` calls.

    Proof: proofs/combinators/repeat.tex

    References:
        Dwork and Roth, "The Algorithmic Foundations of Differential Privacy" (2014), Theorem 3.16.
        Bun and Steinke, "Concentrated Differential Privacy" (2016), Lemma 2.3.

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> top2 = space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=2, scale=8.0)
        >>> hundred = tk.make_repeat(top2, times=100)
        >>> top2.map(1), hundred.map(1)
        (0.25, 25.0)
        >>> hundred([500, 0, 1000]).shape
        (100, 2)
    """
    # proof-region: repeat
    checks.require_instance(
        "measurement", measurement, Measurement, "a measurement, such as make_* constructors return"
    )
    measure = require_fixed_rule(measurement.output_measure)  # [check-measure]
    times = checks.require_positive_int("times", times)  # [check-times]

    def function(value: Any) -> Any:
        if isinstance(measurement.function, BatchedFunction | RepeatableFunction):
            return measurement.function.many(value, times)  # [at-once]
        return tuple(call_sealed(measurement.function, value) for _ in range(times))  # [one-by-one]

    def output_distribution(value: Any) -> Any:
        joint = product_distribution([measurement] * times)
        return joint and joint([value] * times)  # [joint-law]

    def privacy_map(d_in: Any) -> Any:
        return repeated_loss(measure, measurement.exact_map(d_in), times)  # [map]

    built = Measurement(
        input_domain=measurement.input_domain,
        input_metric=measurement.input_metric,
        output_measure=measure,
        function=function,
        privacy_map=privacy_map,
        parameters={"mechanism": "repeat", "times": times, "measurement": measurement.parameters.get("mechanism")},
        declared=Declared(
            law=output_distribution if measurement.declared.law else None,
            decode=lambda outcomes: decode_all([measurement] * len(outcomes))(outcomes),
        ),
    )
    return attach_claim(built, Proof(None, (measurement.proof,)))
    # end-proof-region: repeat
