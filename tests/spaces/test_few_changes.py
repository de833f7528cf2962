"""Vectors of which few entries change: the distance and what it bounds, over all small vectors and steps of users.

Tries proofs/spaces/few_changes.tex.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

import opendp_topk as tk

from ..concepts.sentinels import raises_exactly

Moves = tuple[int, ...]
BOX = list(itertools.product(range(-3, 4), repeat=3))
HALVES = [Fraction(step, 2) for step in range(9)]


def distance(moves: Moves, changes: int, monotonic: bool) -> int:
    """The distance of its definition, with no code of the library."""
    up, down = max(0, *moves), max(0, *(-move for move in moves))
    return max(up + down if monotonic else max(up, down), -(-sum(map(abs, moves)) // changes))


@pytest.mark.parametrize("monotonic", [True, False])
@pytest.mark.parametrize("changes", [1, 2, 5])
def test_the_bounds_on_moves_are_met_and_never_exceeded(changes: int, monotonic: bool) -> None:
    metric = tk.L01InfDistance(changes=changes, monotonic=monotonic)
    for d_in in HALVES:
        near = [moves for moves in BOX if distance(moves, changes, monotonic) <= d_in]
        each, together = metric.moves(d_in)
        assert max(max(map(abs, moves)) for moves in near) == min(each, 3)
        assert max(sum(map(abs, moves)) for moves in near) == min(together, 3 * min(each, 3))
        assert max(max(moves) - min(moves) for moves in near) <= metric.range_distance(d_in)


def test_it_is_a_metric_with_whole_distances() -> None:
    small = list(itertools.product(range(-2, 3), repeat=2))
    for changes, monotonic in itertools.product((1, 2, 3), (True, False)):
        lengths = {moves: distance(moves, changes, monotonic) for moves in itertools.product(range(-4, 5), repeat=2)}
        for one, other in itertools.product(small, repeat=2):
            both = tuple(a + b for a, b in zip(one, other, strict=True))
            assert lengths[both] <= lengths[one] + lengths[other]


def test_users_of_few_items_are_as_near_as_they_are_many() -> None:
    """d users, each with any set of at most m of three items, come and go in all ways."""
    for most in (1, 2, 3):
        baskets = [b for b in itertools.product((0, 1), repeat=3) if sum(b) <= most]
        for come, go in ((1, 0), (0, 2), (1, 1), (2, 1)):
            for chosen in itertools.product(baskets, repeat=come + go):
                signs = [1] * come + [-1] * go
                moves = tuple(sum(s * b[i] for s, b in zip(signs, chosen, strict=True)) for i in range(3))
                assert distance(moves, most, True) <= come + go
                assert distance(moves, most, False) <= come + go
                assert distance(moves, 2 * most, False) <= max(come, go)


def test_it_is_for_integers_alone() -> None:
    metric = tk.L01InfDistance(changes=2)
    assert metric.fits(tk.VectorDomain(tk.AtomDomain(int, bounds=(0, 9)), size=4))
    assert not metric.fits(tk.VectorDomain(tk.AtomDomain(float)))
    floats = tk.VectorDomain(tk.AtomDomain(float), size=2)
    raises_exactly(
        tk.SpaceError, lambda: tk.make_laplace(floats, metric, tk.MaxDivergence(), scale=1), "does not measure"
    )


def test_what_holds_for_the_largest_change_holds_here() -> None:
    """Selections cost what they cost under LInfDistance, counts of winners too."""
    domain = tk.VectorDomain(tk.AtomDomain(int), size=7)
    for monotonic in (True, False):
        few, all_of_them = tk.L01InfDistance(changes=2, monotonic=monotonic), tk.LInfDistance(monotonic=monotonic)
        for then in (
            tk.then_report_noisy_top_k(tk.MaxDivergence(), k=3, scale=2),
            tk.then_select_then_count(tk.ZeroConcentratedDivergence(), k=2, scale=2),
            tk.then_above_threshold(tk.MaxDivergence(), threshold=4, scale=3, ask=(0, 1)),
        ):
            one, other = (domain, few) >> then, (domain, all_of_them) >> then
            assert [one.map(d) for d in HALVES] == [other.map(d) for d in HALVES]
            assert math.isfinite(one.map(4))
