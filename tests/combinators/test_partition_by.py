"""make_partition_by: parallel composition over groups of users, against exact laws on neighbouring tables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import pytest

import opendp_topk as tk

from ..concepts.links import check_constructor, check_measurement
from ..concepts.losses import realised
from ..concepts.sentinels import SENTINEL_INT, raises_exactly

pytest.importorskip("narwhals", reason="tables need narwhals")
pl = pytest.importorskip("polars", reason="the tests of tables make them with polars")

DOMAIN = tk.GroupedFrameDomain("reader", "book", "town")
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


def partition(*members: tk.Measurement, metric: tk.UserDistance = ADD, measure: tk.Measure = MAX) -> tk.Measurement:
    return tk.make_partition_by(DOMAIN, metric, measure, measurements=dict(enumerate(members)))


def frame(users: tuple[User | None, ...]) -> Any:
    rows = [(reader, *row) for reader, user in enumerate(users) if user is not None for row in user]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


USERS: list[User | None] = [
    None,
    (("a", 0),),
    (("b", 1),),
    (("b", 0), ("a", 1), ("b", 1)),
    (("a", 1), ("a", 2)),
]


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_obligations(measure: tk.Measure) -> None:
    members = dict.fromkeys([0, 1], choice(2.0, measure))
    built = check_constructor(tk.make_partition_by, tk.then_partition_by, (DOMAIN, ADD), measure, measurements=members)
    table = frame((USERS[3], USERS[1]))
    check_measurement(
        built,
        members=[table],
        non_members=[None, SENTINEL_INT, table.drop("town"), table.with_columns(pl.col("town").cast(pl.Float64))],
        distances=[1, 2, 3],
        neighbours=[(table, frame((USERS[3],)), 1), (table, frame((None, USERS[4])), 3)],
    )


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


def largest(maps: list[Callable[[int], Any]], users: int) -> Any:
    """By trying all ways to spread the users."""
    ways = itertools.product(range(users + 1), repeat=len(maps))
    return max(sum(map_(d) for map_, d in zip(maps, way, strict=True)) for way in ways if sum(way) <= users)


@pytest.mark.parametrize("users", [0, 1, 2, 3, 6])
def test_the_map_is_the_worst_way_to_spread_the_users(users: int) -> None:
    maps = [
        lambda d: Fraction(d * d, 64),
        lambda d: Fraction(min(d, 2), 4),
        lambda d: Fraction([1, 1, 3, 4, 4, 5, 9][d], 8),
    ]
    built = partition(*(vouched(map_) for map_ in maps))
    assert built.map(users) == largest(maps, users)


@pytest.mark.slow
def test_many_users_are_charged_to_the_dearest_groups() -> None:
    built = partition(choice(4), choice(2), choice(8))
    users = 10**6
    assert built.map(users) == users / 4 + users / 2 + users / 8
    assert built.map(257) == 257 / 2, "257 users are spread exactly"
    assert built.map(258) > 258 / 2
    many = partition(*(vouched(lambda d_in, c=c: Fraction(min(d_in, 1) * c, 1024)) for c in range(1, 301)))
    assert many.map(30) == sum(Fraction(c, 1024) for c in range(271, 301))
    endless = partition(choice(4), vouched(lambda d_in: math.inf if d_in > 300 else 0))
    assert endless.map(400) == math.inf
    assert endless.map(3) == 0.75


def test_maps_that_are_not_free_at_zero_are_charged_for_all_groups() -> None:
    built = partition(*[vouched(lambda d_in: 0.25 + d_in)] * 4)
    assert [built.map(d_in) for d_in in (0, 1, 10**6)] == [1.0, 2.0, 4 * (0.25 + 10**6)]


def test_both_parts_of_an_approximate_loss_are_charged() -> None:
    measure = tk.Approximate(MAX)
    built = partition(
        vouched(lambda d_in: (d_in, Fraction(d_in, 8)), measure),
        vouched(lambda d_in: (2 * d_in, Fraction(d_in, 16)), measure),
        measure=measure,
    )
    assert built.map(1) == (2.0, 0.125)
    assert built.map(8) == (16.0, 1.0)


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
    raises_exactly(tk.QueryError, lambda: queryable(choice(1)), "closed")


def test_conversations_about_tables() -> None:
    talk = tk.make_adaptive_composition(DOMAIN, ADD, MAX, d_in=1, d_mids=[0.5])
    assert talk(frame((USERS[1],)))(partition(choice(2), choice(3))) in itertools.product((0, 1), repeat=2)
    table = INNER >> tk.then_adaptive_composition(MAX, d_in=1, d_mids=[1.0])
    assert table(frame((USERS[1],)))(choice(1)) in (0, 1)


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
    raises_exactly(
        tk.CandidatesError,
        lambda: tk.make_partition_by(DOMAIN, ADD, MAX, measurements=dict.fromkeys(groups, choice(1))),
        "the groups of measurements",
        fragment,
    )


@pytest.mark.parametrize("bad", [None, 3, [1], choice(1)], ids=lambda bad: type(bad).__name__)
def test_what_is_no_mapping(bad: Any) -> None:
    raises_exactly(
        tk.ParameterTypeError, lambda: tk.make_partition_by(DOMAIN, ADD, MAX, measurements=bad), "measurements must be"
    )


def test_bad_members_and_spaces() -> None:
    raises_exactly(tk.ParameterError, lambda: tk.make_partition_by(DOMAIN, ADD, MAX, measurements={}), "at least one")
    raises_exactly(tk.ParameterTypeError, lambda: partition(choice(1), len), "the measurement of group 1 must be")
    others = [
        (tk.make_user_measurement(tk.FrameDomain("a", "b"), ADD, MAX, function=len, privacy_map=float), "FrameDomain"),
        (tk.make_user_measurement(INNER[0], REPLACE, MAX, function=len, privacy_map=float), "add_remove"),
        (choice(1, MEASURES[1]), "RangeDivergence()"),
    ]
    for other, fragment in others:
        raises_exactly(tk.SpaceError, lambda other=other: partition(choice(1), other), "of group 1 has", fragment)
    for domain in (INNER[0], tk.VectorDomain(tk.AtomDomain(int))):
        with pytest.raises((tk.SpaceError, tk.ParameterTypeError)):
            tk.make_partition_by(domain, ADD, MAX, measurements={1: choice(1)})
    twice = tk.Approximate(tk.Approximate(MAX))
    raises_exactly(
        tk.ParameterTypeError,
        lambda: tk.make_partition_by(DOMAIN, ADD, twice, measurements={1: choice(1)}),
        "output_measure must be",
    )
