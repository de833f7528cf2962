"""make_partition_by: parallel composition over groups of users, against exact laws on neighbouring tables."""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.errors import ParameterError, ParameterTypeError, QueryError, SpaceError
from opendp_topk.spaces.curves.closed_forms import ApproximateDP

from ..concepts.links import check_constructor, check_measurement
from ..concepts.losses import realised
from ..concepts.sentinels import SENTINEL_INT, raises_exactly

pytest.importorskip("narwhals", reason="tables need narwhals")
pl = pytest.importorskip("polars", reason="the tests of tables make them with polars")

DOMAIN = tk.FrameDomain("reader", "book", group="town")
INNER = tk.FrameDomain("reader", "book"), tk.UserDistance()
ADD, REPLACE = tk.UserDistance(), tk.UserDistance("replace")
MAX = tk.MaxDivergence()
MEASURES = [MAX, tk.RangeDivergence(), tk.ZeroConcentratedDivergence()]
SCHEMA = {"reader": pl.Int64, "book": pl.String, "town": pl.Int64}
User = tuple[tuple[str, int], ...]


def choice(scale: Any, measure: tk.Measure = MAX, books: str = "ab") -> tk.Measurement:
    count = INNER >> tk.then_count_by_item(candidates=list(books))
    return count >> tk.then_exponential_mechanism(measure, scale=scale)


def vouched(losses: Callable[[int], Any], measure: tk.Measure = MAX, name: Any = 0) -> tk.Measurement:
    return tk.make_user_measurement(*INNER, measure, function=lambda rows: name, privacy_map=losses)


def partition(
    *members: tk.Measurement, metric: tk.UserDistance = ADD, measure: tk.Measure = MAX, most: int = 1
) -> tk.Measurement:
    return tk.make_partition_by(DOMAIN, metric, measure, measurements=dict(enumerate(members)), max_groups=most)


def frame(users: tuple[User | None, ...]) -> Any:
    rows = [(reader, *row) for reader, user in enumerate(users) if user is not None for row in user]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


USERS: list[User | None] = [None, (("a", 0),), (("b", 1),), (("b", 0), ("a", 1), ("b", 1)), (("a", 1), ("a", 2))]


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_obligations(measure: tk.Measure) -> None:
    members = dict.fromkeys([0, 1], choice(2.0, measure))
    built = check_constructor(tk.make_partition_by, tk.then_partition_by, (DOMAIN, ADD), measure, measurements=members)
    table = frame((USERS[3], USERS[1]))
    others = [None, SENTINEL_INT, table.drop("town"), table.with_columns(pl.col("town").cast(pl.Float64))]
    near = [(table, frame((USERS[3],)), 1), (table, frame((None, USERS[4])), 3)]
    check_measurement(built, members=[table], non_members=others, distances=[1, 2, 3], neighbours=near)


@pytest.mark.further
@pytest.mark.quick(measure="MaxDivergence()")
@pytest.mark.parametrize("measure", MEASURES, ids=repr)
@pytest.mark.parametrize("metric", [ADD, REPLACE], ids=repr)
def test_the_map_holds_on_all_neighbours_and_is_attained(metric: tk.UserDistance, measure: tk.Measure) -> None:
    """Two tables of one common user, in any place, and one who comes, goes or is replaced."""
    built = partition(choice(2, measure), choice(3, measure), metric=metric, measure=measure)
    found = []
    for common in USERS:
        laws = {one: built.distribution(frame((common, one))) for one in USERS}
        for one, other in itertools.combinations(USERS, 2):
            if metric == REPLACE or None in (one, other):
                found.append(realised(measure, laws[one], laws[other]))
    assert max(found) <= built.map(1) + mpmath.mpf("1e-22")
    if measure == MEASURES[1]:
        assert max(found) >= built.map(1) - 1e-12


def test_one_user_costs_the_dearest_group() -> None:
    built = partition(choice(4), choice(2), choice(8))
    assert [built.map(d_in) for d_in in (0, 1, 2, 5)] == [0.0, 0.5, 1.0, 2.5]
    replaced = partition(choice(4), choice(2), choice(8), metric=REPLACE)
    assert [replaced.map(d_in) for d_in in (0, 1, 2)] == [0.0, 1.0, 2.0]


def test_a_replacement_may_touch_two_groups() -> None:
    """Where a second user in one group costs nothing more, one in each of two groups is worse."""
    capped = [vouched(lambda d_in, c=c: min(d_in, 1) * c) for c in (0.5, 0.25, 0.125)]
    assert partition(*capped).map(1) == 0.5
    assert partition(*capped).map(2) == 0.75
    assert partition(*capped, metric=REPLACE).map(1) == 0.75
    steep = [vouched(lambda d_in, c=c: d_in * d_in * c) for c in (0.5, 0.25, 0.125)]
    assert partition(*steep, metric=REPLACE).map(1) == 2.0


def largest(maps: list[Callable[[int], Any]], users: int, most: int = 1) -> Any:
    """By trying, for each user in turn, all sets of so many groups."""
    sets = [own for size in range(most + 1) for own in itertools.combinations(range(len(maps)), size)]
    ways = {(0,) * len(maps)}
    for _ in range(users):
        ways = {tuple(d + (at in own) for at, d in enumerate(way)) for way in ways for own in sets}
    return max(sum(map_(d) for map_, d in zip(maps, way, strict=True)) for way in ways)


@pytest.mark.parametrize("users", [0, 1, 2, 3, 6])
@pytest.mark.parametrize("most", [1, 2, 3, 4])
def test_the_map_is_the_worst_way_to_spread_the_users(most: int, users: int) -> None:
    eighths = [1, 1, 3, 4, 4, 5, 9]
    maps = [lambda d: Fraction(d * d, 64), lambda d: Fraction(min(d, 2), 4), lambda d: Fraction(eighths[d], 8)]
    members = [vouched(map_) for map_ in maps]
    assert partition(*members, most=most).map(users) == largest(maps, users, most)
    if users % 2 == 0:
        assert partition(*members, metric=REPLACE, most=most).map(users // 2) == largest(maps, users, most)
    often = partition(*members, members[0], members[0], members[0], most=most)
    if users < 4:
        assert often.map(users) == largest([*maps, *[maps[0]] * 3], users, most)


@pytest.mark.slow
def test_many_users_are_charged_to_the_dearest_groups() -> None:
    built = partition(choice(4), choice(2), choice(8))
    users = 10**6
    assert built.map(users) == users / 4 + users / 2 + users / 8
    assert built.map(257) == 257 / 2, "257 users are spread exactly"
    assert built.map(258) > 258 / 2
    many = partition(*(vouched(lambda d_in, c=c: Fraction(min(d_in, 1) * c, 1024)) for c in range(1, 301)))
    assert many.map(30) == sum(Fraction(c, 1024) for c in range(271, 301))
    twice = partition(*(vouched(lambda d_in, c=c: Fraction(min(d_in, 1) * c, 1024)) for c in range(1, 301)), most=2)
    assert twice.map(30) == sum(Fraction(c, 1024) for c in range(241, 301))
    endless = partition(choice(4), vouched(lambda d_in: math.inf if d_in > 300 else 0))
    assert endless.map(400) == math.inf
    assert endless.map(3) == 0.75


def test_maps_that_are_not_free_at_zero_are_charged_for_all_groups() -> None:
    built = partition(*[vouched(lambda d_in: 0.25 + d_in)] * 4)
    assert [built.map(d_in) for d_in in (0, 1, 10**6)] == [1.0, 2.0, 4 * (0.25 + 10**6)]


def test_both_parts_of_an_approximate_loss_are_charged() -> None:
    measure = tk.Approximate(MAX)
    once = vouched(lambda d_in: (d_in, Fraction(d_in, 8)), measure)
    twice = vouched(lambda d_in: (2 * d_in, Fraction(d_in, 16)), measure)
    built = partition(once, twice, measure=measure)
    assert built.map(1) == (2.0, 0.125)
    assert built.map(8) == (16.0, 1.0)


# A person in several groups, by an enumeration of its own: a person has a set of books in each town, laws are products
# of softmaxes of counts, and nothing but the claimed cost is the library's.
TOWNS, SCALES = 3, (2.0, 3.0, 5.0)
BASKETS = [set(own) for own in ("", "a", "b", "ab")]
EVERYONE = list(itertools.product(range(4), repeat=TOWNS))  # a basket in each town


def counted_of(person: tuple[int, ...], most: int) -> np.ndarray[Any, Any]:
    """What the person adds to the counts, by town and book: the first towns with rows count."""
    own, left = np.zeros((TOWNS, 2)), most
    for town, basket in enumerate(person):
        if basket and left:
            own[town], left = [book in BASKETS[basket] for book in "ab"], left - 1
    return own


def logs_of(counts: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Logarithms of the probabilities of all eight joint outcomes, by (..., town, book)."""
    scores = counts / np.array(SCALES)[:, None]
    logs = scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True))
    joint = [sum(logs[..., town, at] for town, at in enumerate(way)) for way in itertools.product((0, 1), repeat=TOWNS)]
    return np.stack(joint, axis=-1)


def met(common: tuple[int, ...], most: int, kind: tk.UserDistance, others: int = 0) -> Any:
    """The logarithms for all pairs of a common user, others with one book, and a user who comes, goes or changes."""
    crowd = counted_of(common, most) + np.array([others, 0])
    logs = logs_of(crowd + np.stack([counted_of(one, most) for one in EVERYONE]))
    nobody = logs_of(crowd)
    return (logs[:, None], logs[None]) if kind == REPLACE else (logs, nobody)


@pytest.mark.parametrize("metric", [ADD, REPLACE], ids=repr)
@pytest.mark.parametrize("most", [1, 2, 3])
def test_several_groups_of_a_person_cost_what_all_pairs_lose(most: int, metric: tk.UserDistance) -> None:
    tried = {
        MAX: lambda p, q: np.abs(p - q).max(),
        tk.RangeDivergence(): lambda p, q: ((p - q).max(axis=-1) - (p - q).min(axis=-1)).max(),
        tk.ZeroConcentratedDivergence(): lambda p, q: max(
            (np.log(np.sum(np.exp(a * p + (1 - a) * q), axis=-1)) / (a * (a - 1))).max() for a in (1.0625, 2, 8)
        ),
    }
    for measure, loss in tried.items():
        built = partition(*(choice(scale, measure) for scale in SCALES), metric=metric, measure=measure, most=most)
        pairs = (met(one, most, metric, others) for one in EVERYONE[::7] for others in (0, 40))
        worst = max(max(loss(p, q), loss(q, p)) for p, q in pairs)
        assert worst <= built.map(1) + 1e-12
        assert worst >= built.map(1) * (0.97 if measure == tk.ZeroConcentratedDivergence() else 1 - 1e-3)


@pytest.mark.further
@pytest.mark.parametrize(
    ("most", "metric"),
    [
        (1, ADD),
        (2, ADD),
        pytest.param(1, REPLACE, marks=pytest.mark.slow),
        pytest.param(2, REPLACE, marks=pytest.mark.slow),
        (3, REPLACE),
    ],
)
def test_the_joint_curve_holds_for_all_pairs(most: int, metric: tk.UserDistance) -> None:
    profile = tk.PrivacyProfile()
    built = partition(*(choice(scale, profile) for scale in SCALES), metric=metric, measure=profile, most=most)
    curve, nearest = built.map(1), 0.0
    for epsilon in (0.0, 0.5):
        worst = 0.0
        for one in EVERYONE[::3]:
            p, q = map(np.exp, met(one, most, metric))
            for left, right in ((p, q), (q, p)):
                worst = max(worst, float(np.maximum(left - math.exp(epsilon) * right, 0).sum(axis=-1).max()))
        assert worst <= curve.delta(epsilon) + 1e-12
        nearest = max(nearest, worst / curve.delta(epsilon) if curve.delta(epsilon) else 0)
    assert nearest > 0.85, nearest


@pytest.mark.further
def test_the_library_counts_the_groups_that_the_enumeration_counts() -> None:
    for most in (1, 2, 3):
        built = partition(*map(choice, SCALES), most=most)
        assert built.parameters.get("max_groups", 1) == most
        for person in EVERYONE[::13]:
            rows = [("a" if book == 0 else "b", town) for town in range(TOWNS) for book in (0, 1)
                    if "ab"[book] in BASKETS[person[town]]]  # fmt: skip
            law = built.distribution(frame((tuple(rows), (("b", 0),))))
            expected = np.exp(logs_of(counted_of(person, most) + counted_of((2, 0, 0), most)))
            found = [float(law[way]) for way in itertools.product((0, 1), repeat=TOWNS)]
            assert np.allclose(found, expected, rtol=1e-9, atol=0)


@pytest.mark.further
@pytest.mark.parametrize("regions", [1, 2])
def test_regions_and_the_whole_cost_one_list_more(regions: int) -> None:
    """Rows are given once for each level: a person moves the list of the whole, and those of so many regions."""
    scales = (2.0, 3.0, 3.0)
    measure = tk.RangeDivergence()
    built = partition(*(choice(scale, measure) for scale in scales), measure=measure, most=1 + regions)
    worst = Fraction(0)
    for person in itertools.product(range(4), repeat=2):  # a basket in each region
        kept = [at for at in (1, 2) if person[at - 1]][:regions]
        own = {0: set().union(*(BASKETS[basket] for basket in person))}
        own |= {at: BASKETS[person[at - 1]] for at in kept}
        one_sided = [len(own.get(at, set())) == 1 for at in range(3)]
        lost = sum((Fraction(moves) / Fraction(s) for moves, s in zip(one_sided, scales, strict=True)), Fraction(0))
        rows = [(book, 1 + at) for at, basket in enumerate(person) for book in sorted(BASKETS[basket])]
        levels = [(book, level) for book, town in rows for level in (0, town)]
        laws = [built.distribution(frame(((("a", 0), ("a", 1)), one))) for one in (tuple(levels), None)]
        assert abs(realised(measure, *laws) - lost) < 1e-12
        worst = max(worst, lost)
    assert built.exact_map(1) == worst == Fraction(1, 2) + regions * Fraction(1, 3)


def test_equal_groups_cost_as_many_as_a_person_has() -> None:
    """The best of fifty towns: three of them for one person, and six where a person is replaced."""
    for measure, one in ((MAX, 0.5), (tk.RangeDivergence(), 0.5), (tk.ZeroConcentratedDivergence(), None)):
        best = choice(2, measure)
        many = dict.fromkeys(range(50), best)
        for metric, moves in ((ADD, 1), (REPLACE, 2)):
            built = tk.make_partition_by(DOMAIN, metric, measure, measurements=many, max_groups=3)
            dearest = 3 * best.exact_map(1) if moves == 1 else max(6 * best.exact_map(1), 3 * best.exact_map(2))
            assert built.exact_map(1) == dearest
            assert one is None or built.map(1) == 3 * moves * one
    both = tk.Approximate(MAX)
    member = vouched(lambda d_in: (d_in, Fraction(d_in, 16)), both)
    assert partition(*[member] * 5, measure=both, most=3).map(1) == (3.0, 3 / 16)


@pytest.mark.further
def test_curves_of_equal_groups_are_those_of_so_many_releases() -> None:
    profile = tk.PrivacyProfile()
    best = choice(3, profile)
    alone = tk.make_partition_by(DOMAIN, ADD, profile, measurements=dict.fromkeys(range(50), best))
    twice = tk.make_partition_by(DOMAIN, ADD, profile, measurements=dict.fromkeys(range(50), best), max_groups=2)
    both = tk.make_composition([best, best])
    assert [alone.map(1).delta(e) for e in (0, 0.1, 0.3)] == [best.map(1).delta(e) for e in (0, 0.1, 0.3)]
    assert [twice.map(1).delta(e) for e in (0, 0.1, 0.5)] == [both.map(1).delta(e) for e in (0, 0.1, 0.5)]
    assert twice.map(0).delta(0) == 0
    assert 0 < twice.map(9).delta(8) == tk.make_repeat(best, times=18).map(9).delta(8) < 1
    for members in ([choice(9, profile), best], [best, choice(9, profile)]):
        dearest = partition(*members, measure=profile).map(1)
        assert [dearest.delta(e) for e in (0, 0.1, 0.3)] == [best.map(1).delta(e) for e in (0, 0.1, 0.3)]


@pytest.mark.parametrize("users", [1, 9])
def test_groups_that_are_not_free_at_zero_are_in_the_joint_curve(users: int) -> None:
    """Forty groups that fail with 2^-7 untouched, and with 2^-4 where somebody came or went."""
    failing = [tk.PrivacyCurve(ApproximateDP(0, Fraction(1, 2**power))) for power in (7, 4)]
    loud = vouched(lambda d_in: failing[min(d_in, 1)], tk.PrivacyProfile())
    found = partition(*[loud] * 40, measure=tk.PrivacyProfile()).map(users).delta(0)
    assert 1 - (1 - 2**-7) ** (40 - users) * (1 - 2**-4) ** users <= found <= 40 * 2**-7 + users * 2**-4


def test_releases_come_in_the_order_of_the_groups() -> None:
    sure = choice(0, books="abc")
    built = tk.make_partition_by(DOMAIN, ADD, MAX, measurements={2: sure, 0: sure, 7: sure})
    table = frame(((("c", 0),), (("b", 2), ("c", 0)), (("a", 5),)))
    assert built(table) == (1, 2, 0)
    assert built.distribution(table) == {(1, 2, 0): 1}
    assert built(table.lazy()) == (1, 2, 0)


def test_a_user_with_rows_in_every_group_moves_one_release() -> None:
    rows = tuple((book, town) for book in "ab" for town in range(3))
    built = partition(*[choice(2)] * 3)
    with_user, without = (built.distribution(frame((user,))) for user in (rows, None))
    assert realised(MAX, with_user, without) <= built.map(1)
    marginals = [
        {y: mpmath.fsum(mass for outcome, mass in law.items() if outcome[place] == y) for y in (0, 1)}
        for law in (with_user, without)
        for place in (1, 2)
    ]
    assert all(abs(marginal[0] - 0.5) < 1e-15 for marginal in marginals)


def test_queryables_among_the_releases_are_closed() -> None:
    talk = INNER >> tk.then_adaptive_composition(MAX, d_in=1, d_mids=[1.0])
    (queryable,) = partition(talk)(frame((USERS[1],)))
    raises_exactly(QueryError, lambda: queryable(choice(1)), "closed")


def test_conversations_about_tables() -> None:
    talk = tk.make_adaptive_composition(DOMAIN, ADD, MAX, d_in=1, d_mids=[0.5])
    assert talk(frame((USERS[1],)))(partition(choice(2), choice(3))) in itertools.product((0, 1), repeat=2)
    table = INNER >> tk.then_adaptive_composition(MAX, d_in=1, d_mids=[1.0])
    assert table(frame((USERS[1],)))(choice(1)) in (0, 1)


@pytest.mark.further
def test_proofs_of_the_parts_are_shown() -> None:
    assert partition(choice(2)).proof.parts == (choice(2).proof,)
    assert partition(vouched(float)).proof.status == "unproven"
    shown = repr(partition(choice(2), choice(3)))
    assert "group          = town" in shown
    assert "groups         = 2" in shown


@pytest.mark.parametrize(
    ("groups", "fragment"),
    [((1, "a"), "all integers or all strings"), ((2**64, 1), "64 bits"), ((1.5, 2.5), "all integers or all strings")],
)
def test_bad_groups(groups: Any, fragment: str) -> None:
    build = partial(tk.make_partition_by, DOMAIN, ADD, MAX, measurements=dict.fromkeys(groups, choice(1)))
    raises_exactly(ParameterError, build, "the groups of measurements", fragment)


@pytest.mark.parametrize("bad", [None, 3, [1], choice(1)], ids=lambda bad: type(bad).__name__)
def test_what_is_no_mapping(bad: Any) -> None:
    raises_exactly(
        ParameterTypeError, lambda: tk.make_partition_by(DOMAIN, ADD, MAX, measurements=bad), "measurements must be"
    )


def test_bad_members_and_spaces() -> None:
    raises_exactly(ParameterError, lambda: tk.make_partition_by(DOMAIN, ADD, MAX, measurements={}), "at least one")
    raises_exactly(ParameterTypeError, lambda: partition(choice(1), len), "the measurement of group 1 must be")
    others = [
        (tk.make_user_measurement(tk.FrameDomain("a", "b"), ADD, MAX, function=len, privacy_map=float), "FrameDomain"),
        (tk.make_user_measurement(INNER[0], REPLACE, MAX, function=len, privacy_map=float), "add_remove"),
        (choice(1, MEASURES[1]), "RangeDivergence()"),
    ]
    for other, fragment in others:
        raises_exactly(SpaceError, lambda other=other: partition(choice(1), other), "of group 1 has", fragment)
    for domain in (INNER[0], tk.VectorDomain(tk.AtomDomain(int))):
        with pytest.raises((SpaceError, ParameterTypeError)):
            tk.make_partition_by(domain, ADD, MAX, measurements={1: choice(1)})
    twice = tk.Approximate(tk.Approximate(MAX))
    build = partial(tk.make_partition_by, DOMAIN, ADD, twice, measurements={1: choice(1)})
    raises_exactly(ParameterTypeError, build, "output_measure must be")
