"""Lazily refined exponentials: every answer is that of the real number whose digits were drawn."""

from __future__ import annotations

from fractions import Fraction

import gmpy2
import mpmath
import numpy as np
import pytest
from gmpy2 import mpq

from opendp_topk.errors import PlatformError
from opendp_topk.sampling.samplers.entropy import SYSTEM, Entropy
from opendp_topk.sampling.samplers.exponentials import bernoulli_exp_events, draw_bernoulli_exp, draw_geometric

from ..oracles.chi_square import assert_follows
from ..oracles.discrete import ABOVE, counted
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


@pytest.mark.further
@pytest.mark.quick(factor="1/3")
@pytest.mark.parametrize("factor", FACTORS[:3], ids=str)
def test_floors_are_geometric(factor: Fraction) -> None:
    found = geometrics(factor, 6000)
    q = mpmath.exp(-1 / number(factor))
    most = 12
    law = {m: (1 - q) * q**m for m in range(most + 1)}
    assert_follows(counted(found, 0, most), {**law, ABOVE: q ** (most + 1)}, detects=0.32)


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
    hits = bernoulli_exp_events(
        np.full(4, middle, dtype=np.uint64),
        np.array([0.0, 0.8, 0.0, 0.4]),
        np.array([0.6, 0.9, np.inf, 0.7]),
        level,
        Words(),
    )
    assert hits.tolist() == [True, False, True, True]
    assert asked == [2, 3]


def test_failure_of_the_entropy_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(n: int) -> bytes:
        raise OSError

    monkeypatch.setattr("os.urandom", fail)
    with pytest.raises(PlatformError):
        draw_geometric(mpq(3))
    with pytest.raises(PlatformError):
        draw_bernoulli_exp(mpq(1))


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
