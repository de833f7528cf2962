"""Made-up neighbours: members of the domain, different, within the distance, in every order, direction and level.

Tables and lists of records have theirs, too. The known witnesses occur.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import opendp_topk as tk
from opendp_topk.apps.audit import neighbours
from opendp_topk.apps.audit.neighbours import is_within_distance, neighbouring_pairs, vary_pair, worst_edges
from opendp_topk.errors import ParameterError, ParameterTypeError
from tests.concepts.sentinels import raises_exactly

METRICS = [tk.LInfDistance(), tk.LInfDistance(monotonic=True), tk.RangeDistance(), tk.L1Distance(), tk.L2Distance()]
DOMAINS = [
    tk.VectorDomain(tk.AtomDomain(float)),
    tk.VectorDomain(tk.AtomDomain(int)),
    tk.VectorDomain(tk.AtomDomain(float, bounds=(-7.5, 2.0))),
    tk.VectorDomain(tk.AtomDomain(int, bounds=(0, 30))),
    tk.VectorDomain(tk.AtomDomain(float, bounds=(0.0, math.inf))),
]


def apart(metric: tk.Metric, x: Any, y: Any) -> float:
    """The distance, by its definition; the L2 distance squared."""
    moves = [Fraction(b) - Fraction(a) for a, b in zip(x, y, strict=True)]
    up, down = max(0, *moves), max(0, *[-move for move in moves])
    return {
        METRICS[0]: max(up, down),
        METRICS[1]: up + down,
        METRICS[2]: max(moves) - min(moves),
        METRICS[3]: sum(abs(move) for move in moves),
        METRICS[4]: sum(move**2 for move in moves),
    }[metric]


def require_neighbours(domain: tk.VectorDomain, metric: tk.Metric, allowed: Fraction, pairs: list[Any]) -> None:
    """All are different, of two different members each, and no farther apart."""
    assert len(set(pairs)) == len(pairs)
    for x, y in pairs:
        assert x != y
        assert domain.member(x)
        assert domain.member(y)
        assert apart(metric, x, y) <= allowed


@pytest.mark.further
@pytest.mark.quick(d_in=2, metric="LInfDistance(monotonic=True)")
@pytest.mark.parametrize("metric", METRICS, ids=repr)
@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
@pytest.mark.parametrize("d_in", [Fraction(2), Fraction(1e-3), Fraction(1, 3)], ids=str)
def test_pairs_are_neighbours_in_the_domain(domain: tk.VectorDomain, metric: tk.Metric, d_in: Fraction) -> None:
    if domain.element_domain.T is int:
        d_in = Fraction(max(1, round(d_in)))
    allowed = d_in**2 if metric == tk.L2Distance() else d_in
    for sizes in ((2, 4), (1,)):
        if sizes == (1,) and metric == tk.RangeDistance():
            continue
        pairs = list(itertools.islice(neighbouring_pairs(domain, metric, d_in, Fraction(1, 2), sizes), 120))
        assert len(pairs) >= (120 if domain.element_domain.T is float else 1)
        assert all(len(x) == len(y) in sizes for x, y in pairs)
        require_neighbours(domain, metric, allowed, pairs)
        largest = max(apart(metric, x, y) for x, y in pairs)
        assert largest >= allowed * Fraction(999, 1000) or domain.element_domain.T is int


@pytest.mark.further
def test_the_known_witnesses_occur() -> None:
    """Those of the theorems: for d = 2 and 3 all within a budget of 300."""
    r = Fraction(1)
    free = tk.VectorDomain(tk.AtomDomain(float))
    three = set(itertools.islice(neighbouring_pairs(free, tk.RangeDistance(), r, r, (3,)), 300))
    two = set(itertools.islice(neighbouring_pairs(free, tk.RangeDistance(), r, r, (2,)), 300))
    assert ((0.0, -0.5, -1.0), (0.0, 0.5, 0.0)) in three
    assert ((0.0, -40.0, -40.0), (0.0, -39.0, -39.0)) in three
    assert ((0.0, -0.5), (0.0, 0.5)) in two
    four = set(itertools.islice(neighbouring_pairs(free, tk.RangeDistance(), r, r, (4,)), 900))
    assert ((0.0, -20.0, -20.0, -40.0), (0.0, -19.0, -19.0, -40.0)) in four


@pytest.mark.parametrize("metric", METRICS, ids=repr)
def test_variations_are_neighbours_and_differ_in_one_place(metric: tk.Metric) -> None:
    domain = tk.VectorDomain(tk.AtomDomain(float))
    x, y = next(iter(neighbouring_pairs(domain, metric, Fraction(1), Fraction(1), (3,))))
    varied = list(vary_pair(domain, metric, Fraction(1), Fraction(1), x, y))
    assert len(varied) > 10
    for a, b in varied:
        assert apart(metric, a, b) <= 1
        assert sum(p != q or s != t for p, q, s, t in zip(a, x, b, y, strict=True)) <= 1


@pytest.mark.parametrize("d_in", [Fraction(2), Fraction(1, 3)], ids=str)
def test_moves_are_as_long_as_they_may_be_and_no_longer(d_in: Fraction) -> None:
    for metric in METRICS:
        allowed = d_in**2 if metric == tk.L2Distance() else d_in
        for corner in itertools.product((False, True), repeat=3):
            found = [apart(metric, (0, 0, 0), moves) for moves in neighbours.corner_moves(metric, d_in, corner, 4)]
            assert max(found, default=allowed) <= allowed < max(found, default=allowed) * Fraction(10**9 + 1, 10**9)
        scattered = itertools.islice(neighbours._kronecker_moves(metric, d_in, d_in, 3), 50)
        assert all(apart(metric, (0, 0, 0), moves) <= allowed for _, moves in scattered)


def test_all_orders_of_four_scores_occur() -> None:
    assert len({tuple(neighbours._version_order(n, 4)) for n in range(256)}) == 24


def test_within_is_exact() -> None:
    assert is_within_distance(tk.L1Distance(), (0.1, 0.2), (0.2, 0.1), 2 * (Fraction(0.2) - Fraction(0.1)))
    assert not is_within_distance(tk.LInfDistance(), (0.1,), (0.4,), Fraction(3, 10))
    assert is_within_distance(tk.LInfDistance(monotonic=True), (0, 0, 0), (1, 0, -1), Fraction(2))
    assert not is_within_distance(tk.LInfDistance(monotonic=True), (0, 0, 0), (1, 0, -1), Fraction(199, 100))
    two_of_three = tk.L01InfDistance(changes=2, monotonic=True)
    assert is_within_distance(two_of_three, (0, 0, 0), (1, 0, 1), Fraction(1))
    assert not is_within_distance(two_of_three, (0, 0, 0), (1, 1, 1), Fraction(1))
    raises_exactly(
        ParameterError, lambda: is_within_distance(tk.UserDistance(), (0,), (0,), Fraction(1)), "pairs must be given"
    )


FREE = tk.VectorDomain(tk.AtomDomain(float))
ONE_WAY = tk.LInfDistance(monotonic=True)


def made(metric: tk.Metric, sizes: tuple[int, ...], count: int = 256, domain: tk.VectorDomain = FREE) -> list[Any]:
    return list(itertools.islice(neighbours.arranged_pairs(domain, metric, Fraction(1), Fraction(1), sizes), count))


@pytest.mark.further
@pytest.mark.quick(metric="LInfDistance(monotonic=True)")
@pytest.mark.parametrize("metric", METRICS, ids=repr)
@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
def test_pairs_are_different_neighbours_in_the_domain(domain: tk.VectorDomain, metric: tk.Metric) -> None:
    pairs = made(metric, (2, 4), domain=domain)
    assert len(pairs) >= (256 if domain == FREE else 20)
    require_neighbours(domain, metric, Fraction(1), pairs)


def test_the_first_are_remembered_for_their_space_alone() -> None:
    ends = Fraction(1), Fraction(1), (2, 3), 20
    for domain, metric in ((FREE, ONE_WAY), (FREE, tk.LInfDistance()), (DOMAINS[-1], ONE_WAY)):
        for _ in range(2):
            assert list(neighbours.first_pairs(domain, metric, *ends)) == made(metric, (2, 3), 20, domain)


def test_all_scores_move_together_where_only_differences_count() -> None:
    pairs = itertools.islice(neighbouring_pairs(FREE, tk.RangeDistance(), Fraction(1), Fraction(1), (3,)), 50)
    assert any(all(b < a for a, b in zip(x, y, strict=True)) for x, y in pairs)


def test_the_likeliest_come_first_and_as_they_are() -> None:
    plain = list(itertools.islice(neighbouring_pairs(FREE, ONE_WAY, Fraction(1), Fraction(1), (3,)), 2))
    assert set(plain) <= set(made(ONE_WAY, (3,), 8))
    assert plain[0] == ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0))


@pytest.mark.further
@pytest.mark.parametrize("metric", [tk.LInfDistance(), ONE_WAY], ids=repr)
def test_every_order_of_scores_and_every_subset_of_moves_occurs(metric: tk.Metric) -> None:
    pairs = made(metric, (3,))
    orders = {tuple(sorted(range(3), key=x.__getitem__)) for x, _ in pairs if len(set(x)) == 3}
    raised = {tuple(b > a for a, b in zip(x, y, strict=True)) for x, y in pairs}
    lowered = {tuple(b < a for a, b in zip(x, y, strict=True)) for x, y in pairs}
    everything = set(itertools.product((False, True), repeat=3))
    assert orders == set(itertools.permutations(range(3)))
    assert raised == lowered == everything


KINDS: dict[str, Callable[[Any, Any], bool]] = {
    "ascending, the last one raised": lambda x, y: x[0] <= x[1] < x[2] < y[2] and y[:2] == x[:2],
    "the best one lowered": lambda x, y: max(x) > sorted(x)[1] and y[x.index(max(x))] < max(x),
    "all above 0": lambda x, y: min(x) >= 3,
    "on either side of 0": lambda x, y: min(x) < 0 < max(x),
    "all far below 0": lambda x, y: max(x) < -15,
}


@pytest.mark.further
@pytest.mark.parametrize("kind", KINDS)
def test_pairs_occur_that_descending_scores_from_0_leave_out(kind: str) -> None:
    assert any(KINDS[kind](x, y) for x, y in made(ONE_WAY, (3,)))


def test_a_record_is_removed_or_doubled() -> None:
    records = ["a", "b", "a", "c"]
    pairs = tk.audit.record_pairs(records)
    assert len(pairs) == 6
    for whole, other in pairs:
        assert whole == records
        gone, come = Counter(whole) - Counter(other), Counter(other) - Counter(whole)
        assert gone.total() + come.total() == 1
    assert Counter(len(other) for _, other in pairs) == {3: 3, 5: 3}


def test_a_record_is_replaced_by_another_of_the_list() -> None:
    pairs = tk.audit.record_pairs([1, 2, 2], neighbors="replace")
    assert pairs == [([1, 2, 2], [2, 2, 2]), ([1, 2, 2], [1, 1, 2])]
    assert len(tk.audit.record_pairs(list(range(30)), neighbors="replace", most=7)) == 7


@pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame])
def test_a_person_leaves_with_all_rows(frame: Any) -> None:
    table = frame({"u": ["x", "y", "x", "z"], "v": [1, 2, 3, 4]})
    pairs = tk.audit.table_pairs(table, user="u")
    left = [sorted(other["u"].to_list() if frame is pl.DataFrame else other["u"].tolist()) for _, other in pairs]
    assert sorted(left) == [["x", "x", "y"], ["x", "x", "z"], ["y", "z"]]
    assert left[0] == ["y", "z"]  # the person with the most rows comes first
    assert all(type(other) is frame and whole is table for whole, other in pairs)
    assert sorted(len(other) for _, other in tk.audit.table_pairs(table)) == [3, 3, 3, 3]


def test_what_makes_no_pairs() -> None:
    for call, word in (
        (lambda: tk.audit.record_pairs([1], neighbors="other"), "neighbors"),
        (lambda: tk.audit.record_pairs([]), "records"),
        (lambda: tk.audit.record_pairs([1, 1], neighbors="replace"), "records"),
        (lambda: tk.audit.table_pairs(pl.DataFrame({"u": [1]}), user="v"), "column"),
        (lambda: tk.audit.table_pairs(pl.DataFrame({"u": [1]}), user=np.array(["u", "v"])), "column"),  # type: ignore[arg-type]
        (lambda: tk.audit.table_pairs(pl.DataFrame({"u": []})), "row"),
    ):
        raises_exactly(ParameterError, call, word)
    raises_exactly(ParameterTypeError, lambda: tk.audit.table_pairs([1, 2]), "data frame")
    for records in (3, "ab", b"ab", iter([1, 2]), np.array(3)):
        raises_exactly(ParameterTypeError, lambda one=records: tk.audit.record_pairs(one), "a list of records")


def test_the_search_of_edges_draws_at_most_as_much_as_it_is_given() -> None:
    drawn: list[int] = []

    def draw(scores: tuple[Fraction, ...], count: int) -> list[str]:
        drawn.append(count)
        return ["far" if max(scores) > 20_001 else "near"] * count

    domain, metric = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance()
    found = worst_edges(draw, domain, metric, Fraction(1), (2,), 10_000, lambda pair: True)
    assert any(edge.level for edge in found)
    assert 9_000 < sum(drawn) <= 10_000
