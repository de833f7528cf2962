"""One measurement for each group of users in a table: users who share no group share no loss."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from ..core.claims import claimed, proven
from ..core.measurement import Declared, Measurement
from ..core.partials import partial
from ..core.spaces import require_space
from ..errors import ParameterError, checks
from ..errors.checks import Number
from ..proof import Proof
from ..spaces.domains import GroupedFrameDomain
from ..spaces.measures import Measure, apart, together
from ..spaces.metrics import UserDistance
from ..tables.grouping import split_by_group
from ..transformations.count_by_item import integers_or_strings
from ._rules import add, decode_all, product_law, require_rule, require_space_of
from ._together import planned, release_by_group

_STEPS = 200_000  # additions of rationals, a matter of a second; beyond them a sum that is never smaller is used


@proven("combinators/partition_by")
def make_partition_by(
    input_domain: GroupedFrameDomain,
    input_metric: UserDistance,
    output_measure: Measure,
    *,
    measurements: Mapping[Any, Measurement],
) -> Measurement:
    """Release one measurement for each group of users, at the price of the dearest group.

    ``t -> (M_1(t_1), ..., M_g(t_g))``, where t_j holds the rows of the users who belong to group j.

    Every user is made to belong to one group: the first group, in the order of ``measurements``, in which the user
    has a row. The user's rows elsewhere are dropped, because a user who counted in several groups would lose privacy
    in each. Rows whose user or group is null, and rows of other groups, are dropped too.

    Args:
        input_domain: ``GroupedFrameDomain(user, item, group)``: the names of the three columns.
        input_metric: ``UserDistance()`` or ``UserDistance("replace")``.
        output_measure: ``MaxDivergence()``, ``RangeDivergence()``, ``ZeroConcentratedDivergence()`` or
            ``Approximate`` of one of them.
        measurements: For each group, a measurement on ``FrameDomain(user, item)`` with ``UserDistance("add_remove")``
            (for both input metrics, since a replacement may move somebody from one group to another). The groups are
            all integers or all strings, and must be public, their order too.

    Returns:
        A :class:`Measurement` whose releases are tuples, one entry a group, in the order of ``measurements``. It
        declares its exact distribution where all of them do. Queryables among the releases are closed.

    Privacy:
        With m_j the map of group j, the largest sum m_1(d_1) + ... + m_g(d_g) over all whole numbers
        with d_1 + ... + d_g <= d, where d is ``d_in`` under "add_remove" and 2 ``d_in`` under "replace". If untouched
        groups lose nothing, that is for ``d_in = 1``:

        - "add_remove": the largest m_j(1), the dearest group;
        - "replace": the largest of all m_j(2) and all m_i(1) + m_j(1), i and j two groups.

        Under Approximate this is done for each component. An exact rational, rounded up once. Where d is so large
        that the sums are too many (g (d + 1)^2 > 200,000), the min(g, d) dearest groups are charged m_j(d) each.

    Raises:
        ParameterError: ``measurements`` is empty or no mapping, or ``output_measure`` has no rule.
        CandidatesError: The groups are neither all integers nor all strings.
        SpaceError: The metric or a measurement does not fit.
        DataError: On a call, the table lacks a column, or a column has a type that cannot hold identifiers.
        ForeignError: On a call, Spark's workers were to draw, and failed. Nothing was released.

    Runtime:
        One pass over the rows, which are held in memory, or where they lie on Spark. Groups whose measurements count
        equal lists of candidates and select from the counts are counted in one pass and, where noise is added in one
        shot, drawn at once: the best 3 of 10 in each of 10^5 groups take half as long again as counting them. Other
        measurements are released one by one, a millisecond and more each, or a job each on Spark. Above 10^7 groups
        times candidates Spark's workers draw, if all groups have one measurement; they need this library.

    Proof: proofs/combinators/partition_by.tex

    References:
        McSherry, "Privacy Integrated Queries" (2009), on parallel composition.

    Example:
        >>> import opendp_topk as tk
        >>> import polars as pl
        >>> count = (tk.FrameDomain("reader", "book"), tk.UserDistance()) >> tk.then_count_by_item(candidates=[1, 2])
        >>> best = count >> tk.then_permute_and_flip(tk.MaxDivergence(), scale=2.0)
        >>> space = tk.GroupedFrameDomain("reader", "book", "town"), tk.UserDistance()
        >>> by_town = space >> tk.then_partition_by(tk.MaxDivergence(), measurements={"Ulm": best, "Bonn": best})
        >>> by_town.map(1)
        0.5
        >>> table = pl.DataFrame({"reader": [1, 2, 2], "book": [1, 1, 2], "town": ["Ulm", "Ulm", "Bonn"]})
        >>> len(by_town(table))
        2
    """
    # proof-region: partition_by
    require_space(input_domain, input_metric, UserDistance, 'UserDistance("add_remove") or UserDistance("replace")')
    checks.instance("input_domain", input_domain, GroupedFrameDomain, "a GroupedFrameDomain(user, item, group)")
    require_rule(output_measure)  # [check-measure]
    checks.instance("measurements", measurements, Mapping, "a mapping from groups to measurements")
    if not measurements:
        raise ParameterError("measurements must hold at least one group")
    groups = integers_or_strings(list(measurements), "the groups of measurements")  # [check-groups]
    members = list(measurements.values())
    space = input_domain.frame_domain, UserDistance("add_remove")
    for place, member in {id(one): (at, one) for at, one in reversed(list(enumerate(members)))}.values():
        require_space_of(f"the measurement of group {place}", member, *space, output_measure)  # [check-space]
    joint, plan = product_law(members), planned(members)
    moves = 2 if input_metric.neighbors == "replace" else 1  # [moves]

    def function(rows: Any) -> tuple[Any, ...]:
        return release_by_group(rows, groups, plan)  # [release-by-group]

    def privacy_map(d_in: int) -> Any:
        return _dearest(output_measure, members, moves * d_in)  # [map]

    built = Measurement(
        input_domain=input_domain,
        input_metric=input_metric,
        output_measure=output_measure,
        function=function,
        privacy_map=privacy_map,
        parameters={"mechanism": "partition_by", "group": input_domain.group, "groups": len(groups)},
        declared=Declared(
            law=joint and (lambda rows: joint(split_by_group(rows, groups))),  # [joint-law]
            decode=decode_all(members),
        ),
    )
    return claimed(built, Proof(None, tuple(dict.fromkeys(member.proof for member in members))))


def _dearest(measure: Measure, members: Sequence[Measurement], users: int) -> Any:
    """The largest joint loss when ``users`` users are spread over the groups."""
    listed = len(members) * (users + 1) ** 2 <= _STEPS
    distances = range(users + 1) if listed else (0, users)
    times = Counter(members)  # [equal-members]
    curves = [[apart(measure, one.exact_map(d)) for d in distances] for one in times]  # [curves]
    charge = _spread if listed else _ends
    worst = [charge([[at[part] for at in curve] for curve in curves], list(times.values()), users) for part in (0, 1)]
    return together(measure, *(add([one]) for one in worst))  # [parts]


def _spread(curves: Sequence[Sequence[Number]], times: Sequence[int], users: int) -> Number:
    """The largest sum of one value of each curve, so many times, at places that add up to ``users`` at most."""
    best: list[Number] = [Fraction(0)] * (users + 1)
    for curve, number in zip(curves, times, strict=True):
        values = [add([value]) for value in curve]
        for _ in range(min(number, users)):
            best = [max(best[n - d] + values[d] for d in range(n + 1)) for n in range(users + 1)]  # [best]
        if number > users:
            best = [one + (number - users) * values[0] for one in best]  # [untouched]
    return best[users]


def _ends(curves: Sequence[Sequence[Number]], times: Sequence[int], users: int) -> Number:
    """The sum of the first values, and of the ``users`` largest rises from a first to a last value."""
    ends = [(add(curve[:1]), add(curve[1:])) for curve in curves]
    if any(float("inf") in pair for pair in ends):
        return float("inf")
    pairs = [(max(last - first, 0), number) for (first, last), number in zip(ends, times, strict=True)]
    charged, left = [first * number for (first, _), number in zip(ends, times, strict=True)], users
    for rise, number in sorted(pairs, reverse=True):
        charged.append(rise * min(number, left))  # [rises]
        left -= min(number, left)
    return add(charged)  # [ends]


# end-proof-region: partition_by


then_partition_by = partial(make_partition_by)
