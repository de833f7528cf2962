"""One measurement for each group of users in a table: a user costs what the dearest groups of this user cost."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..core.claims import attach_claim, proved_by
from ..core.measurement import Declared, Measurement
from ..core.partials import partial_constructor
from ..core.spaces import require_space
from ..errors import ParameterError, checks
from ..errors.checks import Number
from ..proof import Proof
from ..spaces.curves.composed import compose, compose_repeated, largest_of_curves
from ..spaces.curves.curve import PrivacyCurve
from ..spaces.domains import GroupedFrameDomain
from ..spaces.measures import Measure, PrivacyProfile, join_delta, split_delta
from ..spaces.metrics import UserDistance
from ..transformations.count_by_item import integers_or_strings
from ._rules import compose_losses, decode_all, product_distribution, require_fixed_rule, require_space_of, sum_upward
from ._together import GroupReleasePlan, plan_group_releases, release_by_group

_STEPS = 200_000  # additions of rationals, a matter of a second; beyond them a sum that is never smaller is used
_WAYS = 16  # joint curves, a convolution each, a second in all; beyond them one that is never smaller is used
_TRIED = 10_000  # ways to spread users that are looked through for these, some milliseconds


@proved_by("combinators/partition_by")
def make_partition_by(
    input_domain: GroupedFrameDomain,
    input_metric: UserDistance,
    output_measure: Measure,
    *,
    measurements: Mapping[Any, Measurement],
    max_groups: int = 1,
) -> Measurement:
    """Release one measurement for each group of users, at the price of the dearest group, or groups, of a user.

    ``t -> (M_1(t_1), ..., M_g(t_g))``, where t_j holds the rows of the users who belong to group j.

    Every user is made to belong to one group, or to ``max_groups``: the first groups, in the order of
    ``measurements``, in which the user has a row. The user's rows elsewhere are dropped, because a user loses privacy
    in each group that counts. Rows whose user or group is null, and rows of other groups, are dropped too.

    Args:
        input_domain: ``GroupedFrameDomain(user, item, group)``: the names of the three columns.
        input_metric: ``UserDistance()`` or ``UserDistance("replace")``.
        output_measure: ``MaxDivergence()``, ``RangeDivergence()``, ``ZeroConcentratedDivergence()``, ``Approximate``
            of one of them or ``PrivacyProfile()``.
        measurements: For each group, a measurement on ``FrameDomain(user, item)`` with ``UserDistance("add_remove")``
            (for both input metrics, since a replacement may move somebody from one group to another). The groups are
            all integers or all strings, and must be public, their order too.
        max_groups: To how many groups a user belongs at most, at least 1. Public, and chosen without looking at the
            table. Where it should be chance which groups of a user these are, let ``make_keep_groups`` choose before.

    Returns:
        A :class:`Measurement` whose releases are tuples, one entry a group, in the order of ``measurements``. It
        declares its exact distribution where all of them do. Queryables among the releases are closed. Where all
        groups have one measurement, its parameters are shown as ``each_group``.

    Privacy:
        With m_j the map of group j and h = ``max_groups``, the largest sum m_1(d_1) + ... + m_g(d_g) over all whole
        numbers d_j <= d with d_1 + ... + d_g <= h d, where d is ``d_in`` under "add_remove" and 2 ``d_in`` under
        "replace". If untouched groups lose nothing, that is for ``d_in = 1``:

        - "add_remove": the sum of the h largest m_j(1), the dearest groups;
        - "replace": for h = 1 the largest of all m_j(2) and all m_i(1) + m_j(1), i and j two groups; for equal groups
          and any h the largest a m(2) + (2 h - 2 a) m(1), a <= h.

        Under Approximate this is done for each component. An exact rational, rounded up once. Where d is so large
        that the sums are too many (g (d + 1) (h d + 1) > 200,000, h d of equal groups at most being counted), the
        min(g, h d) dearest groups are charged m_j(d) each. Under PrivacyProfile it is the largest of the joint curves
        of all ways to spread the users; where these are more than 16, the curve of min(g, h d) groups at d, each as
        dear as the dearest; and where h >= g, the joint curve of all m_j(d).

    Raises:
        ParameterError: ``measurements`` is empty, ``max_groups`` is below 1, or ``output_measure`` has no rule.
        ParameterTypeError: ``measurements`` is no mapping, or an argument has another type.
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
        McSherry, "Privacy Integrated Queries" (2009), on parallel composition. Tumult Labs, "SafeTab-P: Disclosure
        Avoidance for the 2020 Census Detailed Demographic and Housing Characteristics File A" (2023), on a bound on
        the groups of a person.

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
        >>> towns = {"Ulm": best, "Bonn": best, "Jena": best}
        >>> (space >> tk.then_partition_by(tk.MaxDivergence(), measurements=towns, max_groups=2)).map(1)
        1.0
    """
    # proof-region: partition_by
    require_space(input_domain, input_metric, UserDistance, 'UserDistance("add_remove") or UserDistance("replace")')
    checks.require_instance("input_domain", input_domain, GroupedFrameDomain, "a GroupedFrameDomain(user, item, group)")
    require_fixed_rule(output_measure)  # [check-measure]
    checks.require_instance("measurements", measurements, Mapping, "a mapping from groups to measurements")
    if not measurements:
        raise ParameterError("measurements must hold at least one group")
    groups = integers_or_strings(list(measurements), "the groups of measurements")  # [check-groups]
    members = list(measurements.values())
    most = checks.require_positive_int("max_groups", max_groups)  # [check-most]
    space = input_domain.frame_domain, UserDistance("add_remove")
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
        declared=Declared(
            law=_joint_distribution(groups, most, members),
            decode=decode_all(members),
        ),
    )
    return attach_claim(built, Proof(None, tuple(dict.fromkeys(member.proof for member in members))))


@dataclass(frozen=True)
class ReleaseByGroup:
    """The release of each group, as ``plan`` says; a user belongs to the first ``most`` of ``groups`` with a row."""

    groups: tuple[Any, ...]
    most: int
    plan: GroupReleasePlan

    def __call__(self, rows: Any) -> tuple[Any, ...]:
        return release_by_group(rows, self.groups, self.most, self.plan)  # [release-by-group]


def _joint_distribution(
    groups: Sequence[Any], most: int, members: Sequence[Measurement]
) -> Callable[[Any], Any] | None:
    """The law of all releases on a table with groups; None where a member declares none."""
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
    """The privacy map of groups that have each of these measurements so often, a user being in ``most`` of them."""
    moves = 2 if metric.neighbors == "replace" else 1  # [moves]
    return lambda d_in: _largest_joint_loss(measure, often, most, moves * d_in)


def _largest_joint_loss(measure: Measure, often: Counter[Measurement], most: int, users: int) -> Any:
    """The largest joint loss when ``users`` users are spread over the groups, each over ``most`` of them."""
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
    """The largest sum of one value of each curve, so often, at places that add up to ``shares`` at most."""
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
    """The sum of the first values, and of the ``shares`` largest rises from a first to a last value."""
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
    """The largest joint curve, whichever groups are touched."""
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
    """How many of ``users`` may touch each of equal groups, so often, and ``shares`` in all; none if these are many."""
    sizes = [min(number, shares) for number in often]
    if math.prod(math.comb(users + size, size) for size in sizes) > _TRIED:
        return []
    each = (itertools.combinations_with_replacement(range(users + 1), size) for size in sizes)
    most = min(shares, users * sum(sizes))
    ways = [way for way in itertools.product(*each) if sum(map(sum, way)) == most]  # [ways]
    return ways if len(ways) <= _WAYS else []


# end-proof-region: partition_by


then_partition_by = partial_constructor(make_partition_by)
