"""Counts of classes against enumeration, and uniform draws."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from itertools import combinations, islice, product
from math import comb

import numpy as np
import pytest

from opendp_topk.sampling.samplers import subsets
from opendp_topk.sampling.samplers.subsets import Cell
from tests.oracles import canonical as oracle
from tests.oracles.chi_square import assert_follows

from .streams import Streams, Untouched


def combinations_with_ends(values: range) -> list[tuple[int, int]]:
    """All pairs first <= last."""
    return [(first, last) for first in values for last in values if first <= last]


SHAPES = [(d, k) for d in range(2, 13) for k in range(1, d)]


def enumerated(d: int, k: int) -> Counter[tuple[int, int]]:
    return Counter(oracle.class_of(chosen, d) for chosen in combinations(range(1, d + 1), k))


@pytest.mark.parametrize(("d", "k"), SHAPES)
def test_class_sizes_sum_to_all_subsets(d: int, k: int) -> None:
    everything = enumerated(d, k)
    assert everything == oracle.sizes(d, k)
    single = {(h, t): int(subsets.count_subsets(k, Cell(h, h, t, t))) for h in range(k) for t in range(k + 1, d + 1)}
    assert single | {(k, k): 1} == everything
    assert subsets.count_subsets(k, Cell(0, k - 1, k + 1, d)) == sum(single.values()) == comb(d, k) - 1
    for t in range(k + 1, d + 1):
        assert subsets.count_subsets(k, Cell(0, k - 1, t, t)) == comb(t - 1, k - 1)


@pytest.mark.parametrize(("d", "k"), [(4, 2), (6, 3), (7, 5), (7, 2)])
def test_every_cell_is_counted(d: int, k: int) -> None:
    everything = enumerated(d, k)
    for first_h, last_h in combinations_with_ends(range(k)):
        for first_t, last_t in combinations_with_ends(range(k + 1, d + 1)):
            inside = product(range(first_h, last_h + 1), range(first_t, last_t + 1))
            expected = sum(everything[label] for label in inside)
            assert subsets.count_subsets(k, Cell(first_h, last_h, first_t, last_t)) == expected


@pytest.mark.parametrize(("d", "k"), [(5, 2), (6, 3), (7, 4), (8, 1)])
def test_every_place_in_a_cell_leads_to_its_class(d: int, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = enumerated(d, k)
    for cell in (Cell(0, k - 1, k + 1, d), Cell(k - 1, k - 1, k + 1, d), Cell(0, k // 2, d - 1, d)):
        found: Counter[tuple[int, int]] = Counter()
        for place in range(int(subsets.count_subsets(k, cell))):
            monkeypatch.setattr(subsets, "draw_below", lambda n, entropy, place=place: place)
            found[subsets.draw_class(k, cell, Untouched())] += 1
        inside = product(range(cell.first_h, cell.last_h + 1), range(cell.first_t, cell.last_t + 1))
        assert found == Counter({label: everything[label] for label in inside if everything[label]})


def test_members_are_uniform_in_their_class() -> None:
    entropy, d, k = Streams(1), 8, 4
    for h, t in ((0, 6), (1, 8), (3, 5), (4, 4)):
        same = [chosen for chosen in combinations(range(1, d + 1), k) if oracle.class_of(chosen, d) == (h, t)]
        counts = Counter(tuple((1 + subsets.draw_members(k, h, t, entropy)).tolist()) for _ in range(200 * len(same)))
        assert set(counts) == set(same)
        if len(same) > 1:
            assert_follows(counts, {chosen: Fraction(1, len(same)) for chosen in same}, detects=1.1)


@pytest.mark.parametrize(("n", "m"), [(6, 2), (6, 3), (5, 4), (4, 4), (3, 0), (1, 1)])
def test_chosen_subsets_are_uniform(n: int, m: int) -> None:
    entropy = Streams(2)
    counts = Counter(tuple(subsets.draw_uniform_subset(n, m, entropy).tolist()) for _ in range(3000))
    expected = list(combinations(range(n), m))
    assert set(counts) == set(expected)
    if len(expected) > 1:
        assert_follows(counts, {chosen: Fraction(1, len(expected)) for chosen in expected}, detects=1.3)


@pytest.mark.parametrize(("n", "m"), [(7, 3), (64, 32), (66, 33), (70, 60), (90, 50), (3 * 2**61, 32), (3 * 2**61, 40)])
def test_the_first_distinct_residues_of_fair_words_are_chosen(n: int, m: int) -> None:
    """Be they few or many, or chosen as those who are left over; words at the edge of what is fair are among them."""
    generator, top = random.Random(m), 2**64 // n * n
    words = [generator.randrange(2**64) for _ in range(2000)]
    words[::7], words[3::7] = [min(top, 2**64 - 1)] * len(words[::7]), [top - 1] * len(words[3::7])
    distinct = dict.fromkeys(word % n for word in words if word < top)
    first = set(islice(distinct, min(m, n - m)))
    expected = first if 2 * m <= n else set(range(n)) - first
    assert subsets.draw_uniform_subset(n, m, Streams(auxiliary=words)).tolist() == sorted(expected)


def test_words_that_would_favour_small_numbers_are_rejected() -> None:
    last = 2**64 - 1
    assert subsets.draw_uniform_subset(3, 1, Streams(auxiliary=[last, 4])).tolist() == [1]
    assert subsets.draw_uniform_subset(4, 1, Streams(auxiliary=[last, 4])).tolist() == [3]
    assert subsets.draw_below(3, Streams(auxiliary=[last, 1 << 62])) == 1
    assert subsets.draw_below(2**64, Streams(auxiliary=[last])) == last


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_integers_below_a_bound_are_uniform(n: int) -> None:
    entropy = Streams(3)
    counts = Counter(subsets.draw_below(n, entropy) for _ in range(2000))
    assert set(counts) == set(range(n))
    if n > 1:
        assert_follows(counts, {value: Fraction(1, n) for value in range(n)}, detects=0.9)


def test_large_integers_fill_their_range() -> None:
    entropy, n = Streams(4), 3 * 2**100
    thirds = Counter(subsets.draw_below(n, entropy) // 2**100 for _ in range(2000))
    assert_follows(thirds, {third: Fraction(1, 3) for third in range(3)}, detects=0.44)


def test_uniform_integers_below_each_are_fair() -> None:
    """A word that would favour small residues is drawn anew; the others leave their residue."""
    n, top = np.array([1, 3, 2**40, 7, 2**63 - 1]), 2**64 - 1
    words = [top, top, 2**41 + 5, 9, top, 4, 2**63 + 1]
    assert subsets.draw_each_below(n, Streams(auxiliary=words)).tolist() == [0, 1, 5, 2, 2]
    for bound in (3, 5, 6, 2**33 + 1):
        fair = 2**64 // bound * bound
        for word, again in ((fair - 1, False), (fair, True)):
            drawn = subsets.draw_each_below(np.array([bound]), Streams(auxiliary=[word, 1])).tolist()
            assert drawn == [1 if again else bound - 1]
