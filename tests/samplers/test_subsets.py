"""Counts of classes against enumeration, and uniform draws.

Tries proofs/samplers/arrivals.tex and proofs/samplers/listed.tex.
"""

import itertools
import random
from collections import Counter
from fractions import Fraction
from itertools import combinations, islice, product
from math import comb
from typing import Any

import mpmath
import numpy as np
import pytest
from gmpy2 import mpq

from opendp_topk.numerics.arithmetic import Interval, Intervals
from opendp_topk.sampling.noises.exponential import Exponential
from opendp_topk.sampling.noises.gumbel import Gumbel
from opendp_topk.sampling.samplers import canonical, subsets
from opendp_topk.sampling.samplers import rows as listed
from opendp_topk.sampling.samplers.canonical import ArrivalClock, LazyUniform
from opendp_topk.sampling.samplers.subsets import Cell
from tests.oracles import canonical as oracle
from tests.oracles import joint as outputs
from tests.oracles.chi_square import assert_follows, enough
from tests.oracles.race import best

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


# Many outputs at once from a list of all: the laws by brute force, and every draw by its own digits.


JOINT = [([5, 3, 2, 0, 1], 2, Fraction(1, 2)), ([0.5, 1.25, 1.0], 2, Fraction(1, 4)), ([4, 5, 1], 3, Fraction(1))]
CANONICAL = [
    ([5, 4, 2, 0, 1], 2, Fraction(1, 2), "margin"),
    ([9, 6, 3, 0, 1], 2, Fraction(1, 3), "distance"),
    ([3, 0, 2], 1, Fraction(0), "margin"),
]


def counted(found: np.ndarray) -> dict[tuple[int, ...], int]:
    rows, counts = np.unique(found, axis=0, return_counts=True)
    return dict(zip(map(tuple, rows.tolist()), counts.tolist(), strict=True))


@pytest.mark.quick(ordered=False)
@pytest.mark.parametrize("ordered", [True, False])
def test_joint_outputs_follow_the_law(ordered: bool) -> None:
    for scores, k, scale in JOINT:
        law = outputs.law(scores, k, scale, ordered)
        for sign in (1, -1) if len(law) > 1 else ():
            values, times = np.array([sign * x for x in scores]), enough(max(law.values()))
            found = listed.draw_listed_outputs(values, scale, Gumbel(), k, times, sign=sign, ordered=ordered)
            assert found is not None
            assert_follows(counted(found), law)


@pytest.mark.further
@pytest.mark.quick(exponential=False)
@pytest.mark.parametrize("exponential", [False, True])
def test_subsets_follow_the_law(exponential: bool) -> None:
    noise, known = (Exponential(), oracle.flip_law) if exponential else (Gumbel(), oracle.gumbel_law)
    for (scores, k, gamma, kind), sign in zip(CANONICAL, itertools.cycle((1, -1)), strict=False):
        values, scale = np.array([sign * x for x in scores]), Fraction(1)
        options: Any = {"sign": sign, "capped": kind == "distance"}
        law = known(scores, k, scale, gamma, kind)
        found = listed.draw_listed_subsets(values, scale, noise, gamma, k, enough(max(law.values())), **options)
        assert found is not None
        assert_follows(counted(found), law)


@pytest.mark.parametrize("ordered", [True, False])
def test_each_draw_is_the_best_by_its_own_digits(ordered: bool) -> None:
    """Scores that float64 numbers would round, and digits of which the first 40 are those of every other output."""
    scores, scale, times = [2**53 + 1, 2**53 + 1, 5, 2**53 + 1], Fraction(1, 3), 3
    order = [0, 1, 3, 2]
    every = [tuple(order[rank] for rank in ranks) for ranks in outputs.outputs(4, 2, ordered)]
    leading = {len(every) * t + i: format(0xABCDE12345, "040b") for t in range(times) for i in range(len(every))}
    streams = Streams(4, leading)
    options: Any = {"sign": 1, "ordered": ordered, "entropy": streams}
    found = listed.draw_listed_outputs(np.array(scores), scale, Gumbel(), 2, times, **options)
    assert found is not None
    losses = [-outputs.loss(scores, output, ordered) for output in every]
    for t, row in enumerate(found.tolist()):
        winner = every[best("Gumbel", losses, scale, streams.digits_from(len(every) * t), 1, 1)[0]]
        assert row == (list(winner) if ordered else sorted(winner))
    assert max(streams.read.values()) > 40


def test_a_tiny_scale_leaves_the_best_subset_alone() -> None:
    """The utilities differ by less than float64 numbers tell apart."""
    scores = np.array([0.1 + 0.2, 0.3, 0.0])
    found = listed.draw_listed_subsets(
        scores, Fraction(1, 2**80), Gumbel(), Fraction(1, 3), 1, 40, sign=1, capped=False, entropy=Streams(0)
    )
    assert found.tolist() == [[0]] * 40


@pytest.mark.parametrize(
    ("values", "k", "times"),
    [
        (np.arange(600), 1, 10**6),
        (np.arange(24), 2, 8),
        (np.arange(12), 6, 10**6),
        (np.array([1e300, 1e-300, 0.0]), 1, 10),
        (np.array([2**70, 3, 0], dtype=object), 1, 10),
    ],
    ids=["long", "few draws", "many outputs", "no unit of floats", "no unit of integers"],
)
def test_what_is_too_much_to_list_is_left_to_others(values: np.ndarray, k: int, times: int) -> None:
    assert listed.draw_listed_outputs(values, Fraction(1), Gumbel(), k, times, sign=1, ordered=True) is None
    if len(values) != 24:
        given = values, Fraction(1), Gumbel(), Fraction(1, 2), k, times
        assert listed.draw_listed_subsets(*given, sign=1, capped=True) is None


# Lazy uniforms, the times of a Poisson process and the lag, against high precision.


def number(value: object) -> mpmath.mpf:
    """An MPFR number or a rational, exactly or at the present precision."""
    exact = Fraction(*map(int, mpq(value).as_integer_ratio()))  # type: ignore[call-overload]
    return mpmath.mpf(exact.numerator) / exact.denominator


def test_digits_are_appended_and_never_drawn_twice() -> None:
    words = [0x0123456789ABCDEF, 0xFEDCBA9876543210]
    uniform = LazyUniform(Streams(auxiliary=[*words, 5]))
    first = uniform.rational_bounds(64)
    assert first == (mpq(words[0], 2**64), mpq(words[0] + 1, 2**64)) == uniform.rational_bounds(64)
    second = uniform.rational_bounds(128)
    assert second == (mpq(words[0] << 64 | words[1], 2**128), mpq((words[0] << 64 | words[1]) + 1, 2**128))


def test_the_lag_is_enclosed_and_closes_in() -> None:
    generator = random.Random(11)
    with mpmath.workdps(120):
        for _ in range(120):
            words = [generator.getrandbits(64) or 1 for _ in range(12)]
            rate = mpq(generator.choice([1, 3, 10**6, mpq(5, 4), 2**900, mpq(7, 3)]))
            clock = ArrivalClock(rate, Streams(auxiliary=words[:3]))
            for _ in range(3):
                clock.add_arrival()
            any_ratio = mpq(generator.getrandbits(40) + 1, generator.getrandbits(40) + 1)  # no end of it is a float
            log_weight = -mpq(generator.choice([1, mpq(1, 10**30), any_ratio, any_ratio, 400, mpq(1, 2**200)]))
            wide = clock.lag_interval(log_weight, 64)
            ends = []
            for shift in (1, 0):
                product = mpmath.fprod(mpmath.mpf(word + shift) / 2**64 for word in words[:3])
                time = -mpmath.log(product) / number(rate)
                ends.append(mpmath.log1p(-mpmath.expm1(number(log_weight)) * mpmath.expm1(time)))
            assert number(wide[0]) <= ends[0] <= ends[1] <= number(wide[1])
            assert number(wide[1]) - number(wide[0]) <= (ends[1] - ends[0]) * (1 + mpmath.mpf(2) ** -20)
            narrow = clock.lag_interval(log_weight, 256)
            assert wide[0] <= narrow[0] <= narrow[1] <= wide[1]
            assert number(narrow[1]) - number(narrow[0]) <= mpmath.mpf(2) ** -180 * (1 + ends[1])


def test_the_best_subset_does_not_lag() -> None:
    clock = ArrivalClock(mpq(3), Streams(1))
    clock.add_arrival()
    assert clock.lag_interval(mpq(0), 64) == (0, 0)


def test_the_best_subset_takes_the_functions_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own argument is 0, of which a logarithm is there at once: that would tell of equal scores."""
    arguments: list[Interval] = []

    class Noted(Intervals):
        def log1p(self, argument: Interval) -> Interval:
            arguments.append(argument)
            return super().log1p(argument)

    monkeypatch.setattr(canonical, "Intervals", Noted)
    clock = ArrivalClock(mpq(3), Streams(1))
    clock.add_arrival()
    clock.lag_interval(mpq(0), 64)
    assert [lower > 0 for lower, _ in arguments] == [True]
