"""Lazily refined exponentials: every answer is that of the real number whose digits were drawn.

Tries proofs/samplers/boundaries.tex and proofs/samplers/run_counts.tex.
"""

import bisect
import itertools
from fractions import Fraction

import gmpy2
import mpmath
import numpy as np
import pytest
from gmpy2 import mpq

import opendp_topk as tk
from opendp_topk.numerics.arithmetic import Interval, Intervals
from opendp_topk.sampling.samplers.entropy import SYSTEM, Entropy
from opendp_topk.sampling.samplers.exponentials import (
    bernoulli_exp_events,
    draw_bernoulli_events,
    draw_bernoulli_exp,
    draw_geometric,
)
from opendp_topk.sampling.samplers.inversion import Weights, _exp_fixed_point, compute_boundaries
from opendp_topk.sampling.samplers.run_counts import run_count
from tests.oracles import runs
from tests.oracles.discrete import weight
from tests.oracles.steps import Steps

from ..oracles.chi_square import assert_follows
from ..oracles.noise import number
from .words import Words

FACTORS = [Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(0.1), Fraction(10**6)]
EXTREME = [Fraction(2**40), Fraction(1e20), Fraction(10**80, 7), Fraction(1e300), Fraction(1e-300), Fraction(10) ** 400]


def geometrics(factor: Fraction, n: int, entropy: Entropy = SYSTEM) -> list[int]:
    return [draw_geometric(mpq(factor), entropy) for _ in range(n)]


def split(word: int, digits: int) -> list[int]:
    return [word >> shift & (2**64 - 1) for shift in range(digits - 64, -1, -64)]


def exponential(word: int, digits: int) -> mpmath.mpf:
    """-ln(1 - word / 2^digits)."""
    return -mpmath.log1p(-number(Fraction(word, 2**digits)))


@pytest.mark.parametrize("factor", [*FACTORS, *EXTREME], ids=lambda b: f"{mpmath.nstr(number(b), 4)}")
def test_the_floor_is_that_of_the_real_number(factor: Fraction) -> None:
    """Whatever digits were to follow those that were read, the floor would be the same."""
    for seed in range(40):
        words = Words(seed)
        (found,) = geometrics(factor, 1, words)
        word, digits = words.digits()
        with mpmath.workdps(60 + digits // 3 + 3 * max(1, len(str(factor.numerator)))):
            assert mpmath.floor(number(factor) * exponential(word, digits)) == found
            assert mpmath.ceil(number(factor) * exponential(word + 1, digits)) - 1 == found
        assert type(found) is int


@pytest.mark.parametrize("factor", [Fraction(1), Fraction(7, 2), Fraction(1000, 7), Fraction(10**30)], ids=str)
@pytest.mark.parametrize("m", [1, 2, 5])
@pytest.mark.parametrize("side", [-1, 1])
def test_digits_that_hug_an_integer_are_read_until_they_leave_it(factor: Fraction, m: int, side: int) -> None:
    with mpmath.workdps(200):
        edge = int(mpmath.floor(-mpmath.expm1(-m / number(factor)) * mpmath.mpf(2) ** 512))
    hugging = split(edge >> 256, 256)
    words = Words(script=[*hugging, *split((edge & (2**256 - 1)) + side * 2**100, 256)])
    assert geometrics(factor, 1, words) == [m if side > 0 else m - 1]
    assert len(words.read) == 8


def test_few_floors_need_more_than_one_word() -> None:
    words = Words(2)
    geometrics(Fraction(20), 1000, words)
    assert len(words.read) <= 1003


@pytest.mark.parametrize("word", [0, 1, 2**64 - 1, 2**64 - 2, 2**63])
def test_floors_at_the_ends_of_the_unit_interval(word: int) -> None:
    for factor in (Fraction(1), Fraction(1e20), Fraction(1e-20), Fraction(2**499), Fraction(1, 2**499)):
        words = Words(3, script=[word])
        (found,) = geometrics(factor, 1, words)
        whole, digits = words.digits()
        with mpmath.workdps(400):
            assert mpmath.floor(number(factor) * exponential(whole, digits)) == found


def test_a_word_of_ones_is_followed_by_more_digits() -> None:
    words = Words(4, script=[2**64 - 1, 2**64 - 1])
    (found,) = geometrics(Fraction(1), 1, words)
    assert len(words.read) == 4
    assert found >= 88


@pytest.mark.further
@pytest.mark.quick(level=(2, "9/2"))
@pytest.mark.parametrize("level", [Fraction(0), Fraction(1, 3), Fraction(2), Fraction(9, 2)], ids=str)
def test_levels_are_reached_with_the_probability_of_the_exponential(level: Fraction) -> None:
    n = 20_000
    for width in (0, Fraction(1, 2)):
        low, high = np.full(n, float(level) * (1 - float(width))), np.full(n, float(level) + float(width))
        low, high = np.nextafter(low, 0), np.nextafter(high, np.inf)
        hits = bernoulli_exp_events(SYSTEM.draw_auxiliary_words(n), low, high, lambda i: mpq(level))
        p = mpmath.exp(-number(level))
        if level == 0:
            assert hits.all()
        else:
            assert_follows({True: int(hits.sum()), False: int(n - hits.sum())}, {True: p, False: 1 - p}, detects=0.06)


@pytest.mark.parametrize("side", [-1, 1])
def test_a_level_that_the_digits_hug_is_decided_by_later_digits(side: int) -> None:
    level = Fraction(22, 7)
    with mpmath.workdps(200):
        edge = int(mpmath.floor(-mpmath.expm1(-number(level)) * mpmath.mpf(2) ** 256))
    words = Words(script=[*split(edge >> 128, 128), *split((edge & (2**128 - 1)) + side * 2**40, 128)])
    hits = bernoulli_exp_events(
        words.draw_auxiliary_words(1), np.array([3.0]), np.array([np.inf]), lambda i: mpq(level), words
    )
    assert hits.tolist() == [side > 0]
    assert len(words.read) == 4
    again = Words(script=words.read)
    assert draw_bernoulli_exp(mpq(level), again) == (side > 0)
    assert again.read == words.read


def test_the_exact_level_is_asked_for_only_where_the_bounds_leave_it_open() -> None:
    asked: list[int] = []

    def level(i: int) -> mpq:
        asked.append(i)
        return mpq(1, 2)

    middle = 2**63
    lows, highs = np.array([0.0, 0.8, 0.0, 0.4]), np.array([0.6, 0.9, np.inf, 0.7])
    hits = bernoulli_exp_events(np.full(4, middle, dtype=np.uint64), lows, highs, level, Words())
    assert hits.tolist() == [True, False, True, True]
    assert asked == [2, 3]


def test_what_64_digits_leave_open_is_not_taken_for_reached() -> None:
    """The first 64 digits put the exponential around the level; the next ones put it below, or above."""
    level = 0.7
    with mpmath.workdps(50):
        word = int((1 - mpmath.exp(-mpmath.mpf(level))) * 2**64)
    bounds = np.array([level])
    for later, expected in ((0, False), (2**64 - 1, True)):
        source = Words(script=[later, later, later])
        first = np.array([word], dtype=np.uint64)
        assert bernoulli_exp_events(first, bounds, bounds, lambda i: mpq(level), source).tolist() == [expected]


@pytest.mark.parametrize("bits", [16, 32])
def test_answers_do_not_depend_on_the_context_in_force(bits: int) -> None:
    """Whose numbers may end at 2^16: digits are those of questions that need more than 64."""

    def answers() -> list[int]:
        return [draw_geometric(mpq(2) ** 70, Words(script=[word])) for word in (7, 2**64 - 5, 2**63)]

    expected = answers()
    with gmpy2.context(gmpy2.ieee(bits)):
        assert answers() == expected


# Bounds on the steps of cumulative laws, against sums of mpmath at more digits.


TINY = 1e-20  # the error of the sums of mpmath, in units of the last digit
SCALES = [Fraction(1, 50), Fraction(7, 3), Fraction(31)]


def weights(name: str, scale: Fraction) -> Weights:
    if name == "laplace":
        return Weights(1 / scale, Fraction(0))
    return Weights(Fraction(0), 1 / (2 * scale * scale))


@pytest.mark.quick(scale=SCALES[1])
@pytest.mark.parametrize("mirrored", [True, False])
@pytest.mark.parametrize("digits", [48, 112, 240])
@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_every_step_is_enclosed(name: str, scale: Fraction, digits: int, mirrored: bool) -> None:
    found = compute_boundaries(weights(name, scale), digits, mirrored=mirrored)
    exact = Steps(name, scale, 60 + digits // 3, mirrored=mirrored)
    assert 3 <= found.width <= 4, "a floor each of the inverse, of the sum and of its product, and the error of sums"
    assert found.ends == sorted(found.ends)
    with mpmath.workdps(80 + digits // 3):
        for i, end in enumerate(found.ends):
            step = exact(found.least + 1 + i) * mpmath.mpf(2) ** digits
            assert -TINY <= step - end <= found.width + TINY, f"P(Z < {found.least + 1 + i}) is not between its bounds"


@pytest.mark.parametrize("exponent", [Fraction(0), Fraction(1, 10**30), Fraction(7, 3), Fraction(31)], ids=str)
def test_powers_are_hardly_below_those_of_e(exponent: Fraction) -> None:
    """A factor of 1 where there is a smaller one would let the sum of weights go on for ever."""
    with mpmath.workdps(60):
        exact = mpmath.exp(-number(exponent)) * 2**64
        assert exact - 1 - TINY <= _exp_fixed_point(exponent, 64) <= exact


@pytest.mark.slow
def test_every_step_of_a_wide_law_is_enclosed() -> None:
    test_every_step_is_enclosed("gaussian", Fraction(1000), 48, True)


@pytest.mark.parametrize("scale", [Fraction(1, 10**200), SCALES[0], SCALES[1]], ids=["1e-200", "1/50", "7/3"])
@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_the_bounds_reach_from_0_to_1_as_digits_are_added(name: str, scale: Fraction) -> None:
    for digits in (48, 112, 240, 496):
        found = compute_boundaries(weights(name, scale), digits, mirrored=True)
        assert found.ends[0] <= 4
        assert found.ends[-1] >= 2**digits - 8
        assert found.width <= 4


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_levels_are_those_of_the_weights(name: str, scale: Fraction) -> None:
    for shift in (0, 3, 70):
        for x in (0, 1, 5, 2**40 + 1):
            level = weights(name, scale).coarse_weights(shift).minus_log_weight(x)
            if level < 10**6:
                assert mpmath.almosteq(mpmath.exp(-number(Fraction(level))), weight(name, scale, x << shift), 1e-12)
            assert Fraction(weights(name, scale).minus_log_weight(x << shift)) == Fraction(level)


# Events of exact rational probabilities, from digits that are known.


def test_an_event_happens_just_below_its_chance() -> None:
    def happened(chances: list[int], *words: int) -> list[bool]:
        return draw_bernoulli_events(chances, Words(script=words)).tolist()  # type: ignore[no-any-return]

    chance, most = (5 << 64) + 9, 2**64 - 1
    assert happened([chance] * 5, 5, 5, 5, 4, 6, 8, 9, 10, most, 0) == [True, False, False, True, False]
    assert happened([0, 2**128, 2**128 - 1], 0, most, most, 0, most, most) == [False, True, False]
    assert happened([]) == []


# Numbers with given probabilities, from digits that are known and from those of the system.


def thirds(arithmetic: Intervals) -> Interval:
    """A geometric law with one third: probabilities that no number of digits holds."""
    return arithmetic.rational(mpq(1, 3))


def drawn_number(*words: int) -> int:
    return run_count(1, thirds, lambda n: mpq(2, 3), Words(script=words, then=0))


def test_the_number_is_that_of_the_uniform() -> None:
    for n in (1, 2, 3, 10):
        reached = 1 - Fraction(2, 3) ** n
        word = int(reached * 2**64)  # the uniform's first digits are those of the boundary: the next word decides
        rest = int((reached * 2**64 - word) * 2**64)
        assert [drawn_number(word - 1), drawn_number(word + 1)] == [n, n + 1]
        assert [drawn_number(word, rest - 1), drawn_number(word, rest + 1)] == [n, n + 1]


def test_a_law_that_is_not_known_yet_waits_for_digits() -> None:
    late = lambda arithmetic: thirds(arithmetic) if arithmetic._down.precision > 200 else None  # noqa: E731
    assert run_count(0, late, lambda n: mpq(2, 3), Words(then=0)) == 0


def test_every_share_of_the_uniform_gives_its_number() -> None:
    """All of a hundred equal shares, whose middles lie on no boundary of these laws: no error of a hundredth passes."""
    laws = [
        (tk.TruncatedNegativeBinomial(1, 0.25), runs.negative_binomial(1, 0.25)),
        (tk.TruncatedNegativeBinomial(0, Fraction(1, 10)), runs.negative_binomial(0, 0.1)),
        (tk.TruncatedNegativeBinomial(Fraction(-1, 2), 0.05), runs.negative_binomial(-0.5, 0.05)),
        (tk.TruncatedNegativeBinomial(2.5, 0.5), runs.negative_binomial(2.5, 0.5)),
        (tk.Poisson(3), runs.poisson(3)),
    ]
    for law, mass in laws:
        reached = list(itertools.accumulate(runs.numbers(mass)))
        for share in range(100):
            u = (share + 0.4999) / 100
            drawn = run_count(law.least, law.first, law.ratio, Words(script=[int(u * 2**64)], then=0))
            assert drawn == bisect.bisect_left(reached, u)


def test_probabilities_and_means() -> None:
    """What the laws say of themselves, against formulas; the means are rounded up."""
    arithmetic = Intervals(100)
    for shape, gamma in ((1, 0.25), (0, 0.1), (-0.5, 0.05), (2.5, 0.5), (0.5, 0.2), (-0.9, 0.3)):
        law, mass = tk.TruncatedNegativeBinomial(shape, gamma), runs.negative_binomial(shape, gamma)
        often = runs.numbers(mass)
        low, high = law.first(arithmetic) or (0, 0)
        assert low <= high
        assert abs(float(low) / often[1] - 1) < 1e-11
        assert all(abs(float(law.ratio(n)) / (often[n + 1] / often[n]) - 1) < 1e-11 for n in range(1, 12))
        mean = sum(n * p for n, p in enumerate(often))
        assert abs(law.mean / mean - 1) < 1e-9
        assert abs(float(law.generating(0.7)) / sum(p * 0.7**n for n, p in enumerate(often)) - 1) < 1e-9
