"""Parallel composition: one measurement per group of users, charged for the groups with the largest losses."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..core.candidates import integers_or_strings
from ..core.claims import attach_claim, proved_by
from ..core.measurement import Declared, Measurement
from ..core.partials import partial_constructor
from ..core.spaces import require_table_space
from ..errors import ParameterError, checks
from ..errors.checks import Number
from ..proof import Proof
from ..spaces.curves.composed import compose, compose_repeated, largest_of_curves
from ..spaces.curves.curve import PrivacyCurve
from ..spaces.domains import FrameDomain
from ..spaces.measures import Measure, PrivacyProfile, join_delta, split_delta
from ..spaces.metrics import UserDistance
from ._rules import compose_losses, decode_all, product_distribution, require_fixed_rule, require_space_of, sum_upward
from ._together import GroupReleasePlan, plan_group_releases, release_by_group

_STEPS = 200_000  # additions of rationals, about a second; beyond this limit an upper bound of the sum is used
_WAYS = 16  # joint curves, one convolution each, about a second in all; beyond this limit one upper bound is used
_TRIED = 10_000  # enumerated ways to spread users over groups, some milliseconds; beyond it the same upper bound


@proved_by("combinators/partition_by")
def make_partition_by(
    input_domain: FrameDomain,
    input_metric: UserDistance,
    output_measure: Measure,
    *,
    measurements: Mapping[Any, Measurement],
    max_groups: int = 1,
) -> Measurement:
    """Release one measurement per group of users, at the largest joint loss of the groups of one user.

    ``t -> (M_1(t_1), ..., M_g(t_g))``, where t_j contains the rows of the users who belong to group j.

    A user belongs to at most ``max_groups`` groups: the first ones, in the order of ``measurements``, in which the user
    has a row. The user's rows in other groups are dropped, because the loss grows with every group of a user. Rows with
    a null user or group, and rows of unlisted groups, are dropped as well.

    Args:
        input_domain: ``FrameDomain(user, item, group=...)``: the names of the three columns.
        input_metric: ``UserDistance()`` or ``UserDistance("replace")``.
        output_measure: ``MaxDivergence()``, ``RangeDivergence()``, ``ZeroConcentratedDivergence()``, ``Approximate``
            of one of them or ``PrivacyProfile()``.
        measurements: A mapping from groups to measurements on ``FrameDomain(user, item)`` with
            ``UserDistance("add_remove")``. This metric is required for both input metrics, because a replacement may
            move a user from one group to another. The groups are all integers or all strings. They and their order
            must be public.
        max_groups: Contribution bound: the largest number of groups of a user, at least 1, default 1. Public, and
            chosen without looking at the table. To choose the groups of a user at random, apply ``make_keep_groups``
            first.

    Returns:
        A :class:`Measurement` whose releases are tuples with one entry per group, in the order of ``measurements``. It
        declares its exact output distribution if all members do. Queryables among the releases are closed. If all
        groups have the same measurement, its parameters are shown as ``each_group``.

    Privacy:
        With m_j the map of group j and h = ``max_groups``, the largest sum m_1(d_1) + ... + m_g(d_g) over all whole
        numbers d_j <= d with d_1 + ... + d_g <= h d, where d is ``d_in`` under "add_remove" and 2 ``d_in`` under
        "replace". If untouched groups lose nothing, and there are at least 2 h groups if they are equal, this is for
        ``d_in = 1``:

        - "add_remove": the sum of the h largest m_j(1), the dearest groups;
        - "replace": for h = 1 the largest of all m_j(2) and all m_i(1) + m_j(1), i and j two groups; for equal groups
          and any h the largest a m(2) + (2 h - 2 a) m(1), a <= h.

        Under Approximate each component is computed in this way. The loss is an exact rational, rounded up once. If d
        is so large that there are too many sums (g (d + 1) (h d + 1) > 200,000, where at most h d equal groups are
        counted), m_j(d) is charged for the min(g, h d) groups with the largest losses. Under PrivacyProfile the loss is
        the largest of the joint curves of all ways to spread the users over the groups. If there are more than 16 ways,
        or too many to enumerate, it is the curve of min(g, h d) groups at d, each with the largest of all curves. If
        h >= g, it is the joint curve of all m_j(d).

    Raises:
        ParameterError: ``measurements`` is empty, or ``max_groups`` is below 1. The groups are neither all integers nor
            all strings.
        ParameterTypeError: ``measurements`` is not a mapping, ``output_measure`` has no rule, or an argument has the
            wrong type.
        SpaceError: The metric or a measurement does not fit.
        DataError: On a call, the table lacks a column, or a column has a type that cannot hold identifiers.
        ForeignError: On a call, Spark's workers failed to draw. Nothing was released.

    Runtime:
        One pass over the rows, in memory or in Spark. Groups whose measurements count equal candidate lists and select
        from the counts are counted in one pass, and one-shot selections are drawn together. Other measurements are
        released one by one, in a millisecond or more each, or in one Spark job each. If there are more than 10^7 groups
        times candidates in Spark and all groups have the same measurement, the workers draw: install this library
        there.

    Proof: proofs/combinators/partition_by.tex

    References:
        McSherry, "Privacy Integrated Queries" (2009), on parallel composition. Tumult Labs, "SafeTab-P: Disclosure
        Avoidance for the 2020 Census Detailed Demographic and Housing Characteristics File A" (2023), on a bound on
        the groups of a person.

    Example:
        >>> import opendp_topk as tk
        >>> import polars as pl
        >>> count = (tk.FrameDomain("reader", "book"), tk.UserDistance()) >> tk.then_count_by_item(candidates=[1, 2])
        >>> best = count >> tk.then_permute_and_flip(tk.MaxDivergence(), scale=2.0)
        >>> space = tk.FrameDomain("reader", "book", group="town"), tk.UserDistance()
        >>> by_town = space >> tk.then_partition_by(tk.MaxDivergence(), measurements={"Ulm": best, "Bonn": best})
        >>> by_town.map(1)
        0.5
        >>> table = pl.DataFrame({"reader": [1, 2, 2], "book": [1, 1, 2], "town": ["Ulm", "Ulm", "Bonn"]})
        >>> len(by_town(table))
        2
        >>> towns = {"Ulm": best, "Bonn": best, "Jena": best}
        >>> (space >> tk.then_partition_by(tk.MaxDivergence(), measurements=towns, max_groups=2)).map(1)
        1.0
    """
    # proof-region: partition_by
    user, item, _ = require_table_space(input_domain, input_metric, ("item", "group"))
    require_fixed_rule(output_measure)  # [check-measure]
    checks.require_instance("measurements", measurements, Mapping, "a mapping from groups to measurements")
    if not measurements:
        raise ParameterError("measurements must contain at least one group")
    groups = integers_or_strings(list(measurements), "the groups of measurements")  # [check-groups]
    members = list(measurements.values())
    most = checks.require_positive_int("max_groups", max_groups)  # [check-most]
    space = FrameDomain(user, item), UserDistance("add_remove")
    for place, member in {id(one): (at, one) for at, one in reversed(list(enumerate(members)))}.values():
        require_space_of(f"the measurement of group {place}", member, *space, output_measure)  # [check-space]
    built = Measurement(
        input_domain=input_domain,
        input_metric=input_metric,
        output_measure=output_measure,
        function=ReleaseByGroup(tuple(groups), most, plan_group_releases(members)),
        privacy_map=group_privacy_map(output_measure, input_metric, Counter(members), most),  # [map]
        parameters={"mechanism": "partition_by", "group": input_domain.group, "groups": len(groups)}
        | ({"max_groups": most} if most > 1 else {})
        | ({"each_group": members[0].parameters} if all(one is members[0] for one in members) else {}),
        declared=Declared(law=_joint_distribution(groups, most, members), decode=decode_all(members)),
    )
    return attach_claim(built, Proof(None, tuple(dict.fromkeys(member.proof for member in members))))


@dataclass(frozen=True)
class ReleaseByGroup:
    """Function that releases every group by ``plan``; users belong to the first ``most`` groups with a row."""

    groups: tuple[Any, ...]
    most: int
    plan: GroupReleasePlan

    def __call__(self, rows: Any) -> tuple[Any, ...]:
        return release_by_group(rows, self.groups, self.most, self.plan)  # [release-by-group]


def _joint_distribution(
    groups: Sequence[Any], most: int, members: Sequence[Measurement]
) -> Callable[[Any], Any] | None:
    """Return the joint output distribution on a table with groups, or None if a member declares none."""
    joint = product_distribution(members)
    if joint is None:
        return None

    def output_distribution(rows: Any) -> Any:
        from ..tables.grouping import split_by_group

        return joint(split_by_group(rows, groups, most))  # [joint-law]

    return output_distribution


def group_privacy_map(
    measure: Measure, metric: UserDistance, often: Counter[Measurement], most: int
) -> Callable[[int], Any]:
    """Return the privacy map if users are in at most ``most`` groups; ``often`` counts the groups per measurement."""
    moves = 2 if metric.neighbors == "replace" else 1  # [moves]
    return lambda d_in: _largest_joint_loss(measure, often, most, moves * d_in)


def _largest_joint_loss(measure: Measure, often: Counter[Measurement], most: int, users: int) -> Any:
    """Return the largest joint loss if ``users`` users are spread over the groups, each over at most ``most``."""
    if measure == PrivacyProfile():
        return _largest_joint_curve(measure, often, most, users)  # [profile]
    shares = most * users
    listed = sum(min(number, shares) for number in often.values()) * (users + 1) * (shares + 1) <= _STEPS
    distances = range(users + 1) if listed else (0, users)
    curves = [[split_delta(measure, one.exact_map(d)) for d in distances] for one in often]  # [curves]
    charge = _largest_spread_loss if listed else _endpoint_loss_bound
    worst = [charge([[at[part] for at in curve] for curve in curves], list(often.values()), shares) for part in (0, 1)]
    return join_delta(measure, *(sum_upward([one]) for one in worst))  # [parts]


def _largest_spread_loss(curves: Sequence[Sequence[Number]], often: Sequence[int], shares: int) -> Number:
    """Return the largest sum of one value per group, at distances that add up to at most ``shares``.

    ``often`` is the number of groups that have each curve.
    """
    best: list[Number] = [Fraction(0)] * (shares + 1)
    for curve, number in zip(curves, often, strict=True):
        values = [sum_upward([value]) for value in curve]
        for _ in range(min(number, shares)):
            best = [
                max(best[n - d] + one for d, one in enumerate(values[: n + 1])) for n in range(shares + 1)
            ]  # [best]
        if number > shares:
            best = [one + (number - shares) * values[0] for one in best]  # [untouched]
    return best[shares]


def _endpoint_loss_bound(curves: Sequence[Sequence[Number]], often: Sequence[int], shares: int) -> Number:
    """Return an upper bound: all first values, plus the ``shares`` largest rises from a first to a last value."""
    ends = [(sum_upward(curve[:1]), sum_upward(curve[1:])) for curve in curves]
    if any(float("inf") in pair for pair in ends):
        return float("inf")
    pairs = [(max(last - first, 0), number) for (first, last), number in zip(ends, often, strict=True)]
    charged, left = [first * number for (first, _), number in zip(ends, often, strict=True)], shares
    for rise, number in sorted(pairs, reverse=True):
        charged.append(rise * min(number, left))  # [rises]
        left -= min(number, left)
    return sum_upward(charged)  # [ends]


def _largest_joint_curve(measure: Measure, often: Counter[Measurement], most: int, users: int) -> PrivacyCurve:
    """Return the largest joint curve over all sets of groups that change."""
    if most >= often.total():
        joint: PrivacyCurve = compose_losses(
            measure, [one.exact_map(users) for one in often.elements()], adaptive=False
        )
        return joint  # [all-touched]
    shares = most * users
    still = compose(compose_repeated(one.exact_map(0), number) for one, number in often.items())  # [still]
    ways = _user_allocations(users, shares, list(often.values()))
    if not ways:
        worst = largest_of_curves(one.exact_map(users) for one in often)
        return compose([still, compose_repeated(worst, min(shares, often.total()))])  # [never-fewer]
    touched = ([(one, d) for one, own in zip(often, way, strict=True) for d in own if d] for way in ways)
    steps = ([compose_repeated(one.exact_map(d), n) for (one, d), n in Counter(way).items()] for way in touched)
    return largest_of_curves(compose([still, *way]) for way in steps)  # [any-way]


def _user_allocations(users: int, shares: int, often: Sequence[int]) -> list[tuple[tuple[int, ...], ...]]:
    """Return all ways to spread ``users`` over groups, ``shares`` in all, or an empty list if there are too many.

    ``often`` has the number of equal groups of each kind. A way has, for each kind, the numbers of users per group.
    """
    sizes = [min(number, shares) for number in often]
    if math.prod(math.comb(users + size, size) for size in sizes) > _TRIED:
        return []
    each = (itertools.combinations_with_replacement(range(users + 1), size) for size in sizes)
    most = min(shares, users * sum(sizes))
    ways = [way for way in itertools.product(*each) if sum(map(sum, way)) == most]  # [ways]
    return ways if len(ways) <= _WAYS else []


# end-proof-region: partition_by


then_partition_by = partial_constructor(make_partition_by)
