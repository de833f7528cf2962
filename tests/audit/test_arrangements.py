"""Neighbours in every order, direction and level: members of the domain, within the distance, and of every kind."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.apps.audit.neighbours import arranged_pairs, first_pairs, neighbouring_pairs
from tests.audit.test_neighbours import DOMAINS, METRICS, apart

FREE = tk.VectorDomain(tk.AtomDomain(float))
ONE_WAY = tk.LInfDistance(monotonic=True)


def made(metric: tk.Metric, sizes: tuple[int, ...], count: int = 256, domain: tk.VectorDomain = FREE) -> list[Any]:
    return list(itertools.islice(arranged_pairs(domain, metric, Fraction(1), Fraction(1), sizes), count))


@pytest.mark.further
@pytest.mark.quick(metric="LInfDistance(monotonic=True)")
@pytest.mark.parametrize("metric", METRICS, ids=repr)
@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
def test_pairs_are_different_neighbours_in_the_domain(domain: tk.VectorDomain, metric: tk.Metric) -> None:
    pairs = made(metric, (2, 4), domain=domain)
    assert len(set(pairs)) == len(pairs) >= (256 if domain == FREE else 20)
    for x, y in pairs:
        assert x != y
        assert domain.member(x)
        assert domain.member(y)
        assert apart(metric, x, y) <= 1


def test_the_first_are_remembered_for_their_space_alone() -> None:
    ends = Fraction(1), Fraction(1), (2, 3), 20
    for domain, metric in ((FREE, ONE_WAY), (FREE, tk.LInfDistance()), (DOMAINS[-1], ONE_WAY)):
        for _ in range(2):
            assert list(first_pairs(domain, metric, *ends)) == made(metric, (2, 3), 20, domain)


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
