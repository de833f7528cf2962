"""Made-up neighbours: members, different, within the distance by the metric's definition; the known witnesses occur."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.apps.audit.neighbours import is_within_distance, neighbouring_pairs, vary_pair
from tests.concepts.sentinels import raises_exactly

METRICS = [
    tk.LInfDistance(),
    tk.LInfDistance(monotonic=True),
    tk.RangeDistance(),
    tk.L1Distance(),
    tk.L2Distance(),
]
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
        assert len(set(pairs)) == len(pairs) >= (120 if domain.element_domain.T is float else 1)
        for x, y in pairs:
            assert x != y
            assert len(x) == len(y) in sizes
            assert domain.member(x)
            assert domain.member(y)
            assert apart(metric, x, y) <= allowed
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


def test_within_is_exact() -> None:
    assert is_within_distance(tk.L1Distance(), (0.1, 0.2), (0.2, 0.1), 2 * (Fraction(0.2) - Fraction(0.1)))
    assert not is_within_distance(tk.LInfDistance(), (0.1,), (0.4,), Fraction(3, 10))
    assert is_within_distance(tk.LInfDistance(monotonic=True), (0, 0, 0), (1, 0, -1), Fraction(2))
    assert not is_within_distance(tk.LInfDistance(monotonic=True), (0, 0, 0), (1, 0, -1), Fraction(199, 100))
    raises_exactly(
        tk.ParameterError, lambda: is_within_distance(tk.UserDistance(), (0,), (0,), Fraction(1)), "pairs must be given"
    )
