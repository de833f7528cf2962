"""At most so many items of each user: which, how likely, and that nothing is lost by it."""

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import opendp_topk as tk
from opendp_topk.errors import DataTypeError, NotDeclaredError, ParameterError, SpaceError
from opendp_topk.sampling.samplers.entropy import Entropy
from opendp_topk.transformations.bound_contributions import random_ranks
from tests.concepts.links import check_constructor, check_transformation
from tests.concepts.sentinels import SENTINEL_INT, raises_exactly
from tests.concepts.specimens import Law, Specimen
from tests.oracles import chi_square, floats
from tests.oracles.chi_square import assert_follows
from tests.transformations.test_count_by_item import add_remove_distance, frame, replace_distance

pl = pytest.importorskip("polars", reason="the tests of tables make them with polars")

ITEMS = ("a", "b", "c")
SPACE = tk.FrameDomain("member", "work"), tk.UserDistance()
VALUED = tk.FrameDomain("buyer", "book", value="paid"), tk.UserDistance()
MAX, ZCDP = tk.MaxDivergence(), tk.ZeroConcentratedDivergence()
Table = dict[int, tuple[str, ...]]


def rows_of(table: Table) -> list[tuple[int, str]]:
    return [(user, item) for user, basket in table.items() for item in basket]


def kept_counts(table: Table, most: int) -> dict[tuple[int, ...], float]:
    """The law of the users of a, b and c that are left: of each user every set of the right size is as likely."""
    choices = [list(itertools.combinations(basket, min(most, len(basket)))) for basket in table.values()]
    law: dict[tuple[int, ...], float] = {}
    for chosen in itertools.product(*choices):
        counts = tuple(sum(item in own for own in chosen) for item in ITEMS)
        law[counts] = law.get(counts, 0) + math.prod(1 / len(one) for one in choices)
    return law


def softmax_of(table: Table, most: int, scale: float) -> dict[Any, float]:
    law: dict[Any, float] = dict.fromkeys(range(len(ITEMS)), 0.0)
    for counts, chance in kept_counts(table, most).items():
        for item, share in enumerate(floats.softmax(np.array([counts], dtype=float) / scale)[0].tolist()):
            law[item] += chance * share
    return law


def tables() -> list[Table]:
    """Every table of at most two users with any of the three items."""
    baskets = [None, *(basket for n in (1, 2, 3) for basket in itertools.combinations(ITEMS, n))]
    chosen = itertools.product(baskets, repeat=2)
    return [{user: basket for user, basket in enumerate(pair) if basket is not None} for pair in chosen]


@pytest.mark.slow
def test_sets_of_a_size_are_as_likely_as_each_other() -> None:
    basket = "abcd"
    rows = [(user, item) for user in range(20_000) for item in basket for _ in range(1 + (item == "a"))]
    kept = tk.make_bound_contributions(*SPACE, most=2)(frame(rows)).collect()
    found: dict[int, set[str]] = {}
    for user, item in zip(kept["member"].to_list(), kept["work"].to_list(), strict=True):
        found.setdefault(user, set()).add(item)
    counts: Counter[Any] = Counter("".join(sorted(own)) for own in found.values())
    assert_follows(counts, {"".join(pair): 1 / 6 for pair in itertools.combinations(basket, 2)}, detects=0.25)


@pytest.mark.parametrize("kind", ["add_remove", "replace"])
@pytest.mark.parametrize("most", [1, 2])
def test_no_tables_lose_more_than_the_map_says(most: int, kind: str) -> None:
    """The exact laws of a choice among what is left, on all pairs of tables of two users."""
    space = SPACE[0], tk.UserDistance(kind)
    scale = 2.0
    count = space >> tk.then_bound_contributions(most=most) >> tk.then_count_by_item(candidates=ITEMS)
    choice = count >> tk.then_exponential_mechanism(MAX, scale=scale)
    laws = [(table, softmax_of(table, most, scale)) for table in tables()]
    worst: dict[int, float] = {}
    for (left, p), (right, q) in itertools.product(laws, repeat=2):
        d = add_remove_distance(left, right) if kind == "add_remove" else replace_distance(left, right)
        if d is not None:
            loss = max(abs(math.log(p[item] / q[item])) for item in p)
            worst[d] = max(worst.get(d, 0.0), loss)
    assert all(worst[d] <= choice.map(d) + 1e-12 for d in worst)
    assert worst[1] > 0.5 * choice.map(1)


@pytest.mark.slow
def test_a_release_follows_the_mixture() -> None:
    table: Table = {1: ("a", "b", "c"), 2: ("a",)}
    keep = SPACE >> tk.then_bound_contributions(most=1)
    choice = keep >> tk.then_count_by_item(candidates=ITEMS) >> tk.then_exponential_mechanism(MAX, scale=0.5)
    counts: Counter[Any] = Counter(int(choice(frame(rows_of(table)))) for _ in range(900))
    assert_follows(counts, softmax_of(table, 1, 0.5), detects=0.45)


@pytest.mark.slow
def test_a_random_choice_may_not_meet_a_range_and_leaves_no_law() -> None:
    count = SPACE >> tk.then_bound_contributions(most=1) >> tk.then_count_by_item(candidates=ITEMS)
    assert count.randomized
    then = tk.then_report_noisy_top_k(tk.RangeDivergence(), k=1, scale=1.0)
    raises_exactly(SpaceError, lambda: count >> then, "randomised transformation")
    allowed: tuple[tk.Measure, ...] = MAX, ZCDP, tk.PrivacyProfile()
    for one in allowed:
        top = count >> tk.then_report_noisy_top_k(one, k=1, scale=1.0)
        raises_exactly(NotDeclaredError, lambda top=top: top.distribution(frame([])), "no exact distribution")
        raises_exactly(NotDeclaredError, lambda top=top: top.success_probability(frame([])), "no probability")
        assert top.proof.status == "current"


@pytest.mark.further
@pytest.mark.parametrize("by", ["order", "rows"])
def test_a_rule_is_deterministic_and_keeps_the_obligations(by: str) -> None:
    link = check_constructor(tk.make_bound_contributions, tk.then_bound_contributions, SPACE, most=1, by=by)
    assert not link.randomized
    count = link >> tk.then_count_by_item(candidates=ITEMS)
    rows = [(1, "c"), (1, "c"), (1, "a"), (2, "b"), (2, "a")]
    check_transformation(
        count, members=[frame([]), frame(rows)], non_members=[[(SENTINEL_INT, 1)], None], distances=[1, 2, 5]
    )
    assert count(frame(rows)).tolist() == ([2, 0, 0] if by == "order" else [1, 0, 1])
    assert count(frame([*rows, (None, "a"), (3, None)])).tolist() == count(frame(rows)).tolist()
    law = count >> tk.then_exponential_mechanism(tk.RangeDivergence(), scale=1.0)
    assert set(law.distribution(frame(rows))) == {0, 1, 2}


def test_the_largest_totals_and_all_their_rows() -> None:
    rows = [(1, "a", 5), (1, "b", 3), (1, "b", 4), (1, "c", None), (2, "c", -1), (2, "a", -2)]
    table = pl.DataFrame(rows, schema={"buyer": pl.Int64, "book": pl.String, "paid": pl.Int64}, orient="row")
    keep = tk.make_bound_contributions(*VALUED, most=1, by="value")
    kept = keep(table).collect()
    assert sorted(kept.rows()) == [(1, "b", 3), (1, "b", 4), (2, "c", -1)]
    sums = keep >> tk.then_sum_by_item(candidates=["a", "b", "c"], bounds=(-5, 10))
    assert sums(table).tolist() == [0, 7, -1]
    assert (sums.map(2), sums.parameters["by"]) == (30, "value")
    coarse = tk.make_bound_contributions(*VALUED, most=1, by="value", granularity=10)
    assert coarse.parameters["granularity"] == 10
    assert "granularity" not in tk.make_bound_contributions(*VALUED, most=1, by="order").parameters
    assert sorted(coarse(table).collect().rows())[0] == (1, "a", 5), "5 is 1 step of ten, and 3 and 4 are none"


def test_max_items_drops_nothing_afterwards() -> None:
    rows = [(user, item) for user in range(50) for item in range(20)]
    table = frame(rows, pl.Int64)
    for most in (1, 7, 30):
        keep = SPACE >> tk.then_bound_contributions(most=most)
        counts = (keep >> tk.then_count_by_item(candidates=None, max_items=most))(table)
        assert sum(counts.values()) == 50 * min(most, 20)
    measure = tk.Approximate(MAX)
    capped = SPACE >> tk.then_bound_contributions(most=3) >> tk.then_count_by_item(candidates=None, max_items=3)
    histogram = capped >> tk.then_stable_histogram(measure, scale=3.0, delta=1e-8)
    assert histogram.map(1)[0] == 1.0


@pytest.mark.further
def test_candidates_alone_are_kept_where_they_are_listed() -> None:
    rows = [(user, item) for user in range(40) for item in range(30)] + [(50, 3), (51, 29), (None, 2)]
    for listed in ([3, 7], [7, 2**64 - 1, 3]):
        for by in ("random", "order", "rows"):
            keep = tk.make_bound_contributions(*SPACE, most=1, by=by, candidates=listed)
            kept = keep(frame(rows, pl.Int64)).collect()
            assert sorted(kept["member"].to_list()) == [*range(40), 50]
            assert set(kept["work"].to_list()) <= {3, 7}
            assert keep.parameters["candidates"] == len(listed)
    for first, last in ((3, 7), (-9, 3), (29, 90), (40, 41), (-(2**61), -1), (-5, 2**61)):
        for kind in (pl.Int64, pl.UInt64, pl.Int8):
            table = frame(rows, kind)
            if last - first > 100:
                kept = tk.make_bound_contributions(*SPACE, most=30, by="order", candidates=range(first, last + 1))(
                    table
                )
            else:
                chosen = SPACE >> tk.then_bound_contributions(most=30, by="order", candidates=range(first, last + 1))
                kept = chosen(table)
                counts = tk.make_count_by_item(*SPACE, candidates=range(first, last + 1), max_items=30)(table)
                assert counts.tolist() == [
                    sum(i == one and u is not None for u, i in rows) for one in range(first, last + 1)
                ]
            due = {(user, item) for user, item in rows if user is not None and first <= item <= last}
            assert sorted(kept.collect().rows()) == sorted(due)
    raises_exactly(
        DataTypeError, lambda: tk.make_bound_contributions(*SPACE, most=1, candidates=["a"])(frame(rows, pl.Int64))
    )
    raises_exactly(ParameterError, lambda: tk.make_bound_contributions(*SPACE, most=1, candidates=[]), "at least one")


def test_two_calls_draw_anew() -> None:
    table = frame([(1, item) for item in range(200)], pl.Int64)
    keep = tk.make_bound_contributions(*SPACE, most=100)
    assert set(keep(table).collect()["work"].to_list()) != set(keep(table).collect()["work"].to_list())


def test_a_mixture_over_kept_items_obeys_the_curve() -> None:
    """One user more, of two items: the law over which of them is kept, against the curve of the selection."""
    held: Table = {1: ("a", "b"), 2: ("a",), 3: ("a",)}
    chosen = tk.make_bound_contributions(*SPACE, most=1) >> tk.then_count_by_item(candidates=ITEMS)
    curve = (chosen >> tk.then_exponential_mechanism(tk.PrivacyProfile(), scale=2)).map(1)
    nearest = 0.0
    for gone in held:
        rest = {user: items for user, items in held.items() if user != gone}
        laws = softmax_of(dict(held), 1, 2.0), softmax_of(rest, 1, 2.0)
        for one, other in (laws, laws[::-1]):
            for epsilon in (0.0, 0.1, 0.3):
                met = sum(max(0.0, float(p) - math.exp(epsilon) * float(other.get(item, 0))) for item, p in one.items())
                assert met <= curve.delta(epsilon) + 1e-12
                nearest = max(nearest, met / curve.delta(epsilon))
    assert nearest > 0.95, nearest


def specimens() -> list[Specimen]:
    link = tk.make_bound_contributions(*SPACE, most=1)
    count = link >> tk.then_count_by_item(candidates=ITEMS)
    left: Table = {1: ("a", "b"), 2: ("a",)}
    right: Table = {1: ("a", "b")}

    def law(table: Any) -> Law:
        held: dict[int, tuple[str, ...]] = {}
        for user, item in table.rows():
            held[user] = (*held.get(user, ()), item)
        return softmax_of(held, 1, 2.0)

    chosen = count >> tk.then_exponential_mechanism(MAX, scale=2)
    return [Specimen(link, (frame(rows_of(left)), frame(rows_of(right))), law, share=0.4, measurement=chosen)]


# Random orders of groups: from words that are known, and as often as they should be.


class Script(Entropy):
    """Given words, one array a round."""

    def __init__(self, *rounds: list[int]) -> None:
        self.rounds = [np.array(one, dtype=np.uint64) for one in rounds]

    def draw_auxiliary_words(self, n: int) -> NDArray[np.uint64]:
        assert len(self.rounds[0]) == n
        return self.rounds.pop(0)


def ranks(starts: list[int], *rounds: list[int]) -> list[int]:
    return list(random_ranks(np.array(starts, dtype=np.int64), Script(*rounds)).tolist())


def test_ranks_are_those_of_the_words_within_a_group() -> None:
    assert ranks([0, 0, 0, 3, 3, 5], [7, 2**64 - 1, 3, 9, 8, 0]) == [1, 2, 0, 1, 0, 0]
    assert ranks([0, 0], [2**63, 2**63 - 1]) == [1, 0]
    assert ranks([], []) == []


def test_equal_words_of_a_group_are_drawn_again() -> None:
    assert ranks([0, 0, 0, 3], [5, 1, 5, 9], [1, 2, 3, 4]) == [0, 1, 2, 0]
    assert ranks([0, 0, 2, 2], [5, 6, 6, 5]) == [0, 1, 1, 0], "equal words of different groups are kept"


@pytest.mark.slow
def test_every_order_is_as_likely_as_every_other() -> None:
    n = 40_000
    starts = np.repeat(np.arange(n) * 5, 5)
    starts[3::5] = starts[4::5] = np.arange(n) * 5 + 3
    found = random_ranks(starts).reshape(n, 5)
    orders = itertools.product(itertools.permutations(range(3)), itertools.permutations(range(2)))
    law: chi_square.Law = {first + second: 1 / 12 for first, second in orders}
    assert_follows(Counter(map(tuple, found.tolist())), law, detects=0.25)
