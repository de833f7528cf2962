"""All prefix tables, entry by entry, and the bounds from 64 digits, against mpmath at 60 digits.

Tries proofs/samplers/lazy_noise.tex.
"""

import functools
import hashlib
import math
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import pytest
from gmpy2 import mpq

import opendp_topk as tk
from opendp_topk.numerics import floats
from opendp_topk.sampling.noises.noise import Noise
from opendp_topk.sampling.samplers.lazy_noise import LazyNoise, reaches_noisy_threshold
from opendp_topk.sampling.samplers.quantile_tables import _unit_interval_bounds, quantile_bounds, quantile_table
from opendp_topk.sampling.samplers.settle import padded_table

from ..oracles import noise as oracle
from .words import Words

N = 2**16
DIGITS = 60
ALL = [getattr(tk.noise, name)() for name in oracle.NAMES]
every_noise = pytest.mark.parametrize("noise", ALL, ids=repr)


@functools.cache
def _logs() -> list[Any]:
    """ln n for n up to 2^17, from those of the primes; entry 0 is -inf. 70 digits, of which over 60 are right."""
    with mpmath.workdps(DIGITS + 10):
        factor = list(range(2 * N + 1))
        for p in range(2, math.isqrt(2 * N) + 1):
            if factor[p] == p:
                for multiple in range(p * p, 2 * N + 1, p):
                    if factor[multiple] == multiple:
                        factor[multiple] = p
        logs = [-mpmath.inf, mpmath.mpf(0)]
        for n in range(2, 2 * N + 1):
            logs.append(mpmath.log(n) if factor[n] == n else logs[factor[n]] + logs[n // factor[n]])
        return logs


def _nodes(name: str) -> list[Any]:
    """F^{-1}(i / 2^16) for i = 0..2^16."""
    with mpmath.workdps(DIGITS + 10):
        logs = _logs()
        whole = logs[N]
        inf = mpmath.inf
        formulas: dict[str, Callable[[int], Any]] = {
            "Gumbel": lambda i: -mpmath.log(whole - logs[i]) if 0 < i < N else (inf if i else -inf),
            "Exponential": lambda i: whole - logs[N - i],
            "HalfLogistic": lambda i: logs[N + i] - logs[N - i],
            "Laplace": lambda i: logs[2 * i] - whole if 2 * i < N else whole - logs[2 * (N - i)],
            "Logistic": lambda i: logs[i] - logs[N - i],
        }
        return [formulas[name](i) for i in range(N + 1)]


def _slack(noise: Noise) -> float:
    """The relative slack; the Gumbel quantile is a logarithm of a logarithm, which may be as small as 2^-7."""
    return 2.0**-41 if noise.name == "Gumbel" else 2.0**-47


@pytest.mark.slow
@every_noise
def test_every_entry_encloses_the_noise_and_is_tight(noise: Noise) -> None:
    entries, nodes = quantile_table(noise), _nodes(noise.name)
    assert entries.lower.shape == entries.upper.shape == (N,)
    lower, upper = entries.lower.tolist(), entries.upper.tolist()
    slack = _slack(noise)
    with mpmath.workdps(DIGITS):
        for p in range(N):
            assert lower[p] <= nodes[p], p
            assert nodes[p + 1] <= upper[p], p
            assert nodes[p] == -mpmath.inf or nodes[p] - lower[p] <= slack * (1 + abs(nodes[p])), p
            assert nodes[p + 1] == mpmath.inf or upper[p] - nodes[p + 1] <= slack * (1 + abs(nodes[p + 1])), p


@pytest.mark.slow
@pytest.mark.quick(noise="Logistic()")
@every_noise
def test_table_nodes_agree_with_the_quantile_oracle(noise: Noise) -> None:
    nodes = _nodes(noise.name)
    with mpmath.workdps(DIGITS):
        for i in (1, 2, 1000, N // 2 - 1, N // 2, N // 2 + 1, 50000, N - 1):
            assert abs(nodes[i] - oracle.QUANTILE[noise.name](Fraction(i, N))) < mpmath.mpf(10) ** -55


@every_noise
def test_tail_bounds_the_noise_below_that_many_ones(noise: Noise) -> None:
    tail = quantile_table(noise).tail.tolist()
    assert len(tail) == 17
    assert tail == sorted(tail)
    with mpmath.workdps(DIGITS):
        for level in range(1, 17):
            true = oracle.QUANTILE[noise.name](1 - Fraction(1, 2**level))
            assert true <= tail[level] <= true + (1 + abs(true)) * _slack(noise)


@every_noise
def test_tables_are_built_once(noise: Noise) -> None:
    assert quantile_table(noise) is quantile_table(getattr(tk.noise, noise.name)())


DIGESTS = {
    "Gumbel": "1052e793b4080cae",
    "Exponential": "cfe59e0c58935ffb",
    "HalfLogistic": "aefacb63503c8ad4",
    "Laplace": "0d1aa86c227bf648",
    "Logistic": "e6a3faf27cb43774",
}


@every_noise
def test_entries_do_not_change_and_two_threads_make_the_same(noise: Noise) -> None:
    """Digits that were drawn decide as they did before, so recorded releases stay what they are."""
    floats._log_of_centres.cache_clear()
    with ThreadPoolExecutor(2) as pool:
        made = [*pool.map(quantile_table.__wrapped__, [noise, noise])]
    for entries in made:
        parts = entries.lower, entries.upper, entries.tail, padded_table.__wrapped__(noise)
        assert hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()[:16] == DIGESTS[noise.name]


def _words() -> list[int]:
    rng = random.Random(6)
    ends = [n for power in range(0, 64, 3) for n in (2**power - 1, 2**power, 2**power + 1)]
    middle = [2**63 + sign * n for sign in (-1, 1) for n in (0, 1, 2, 511, 512, 513, 1024, 2**11, 2**40)]
    few = [sum(1 << rng.randrange(64) for _ in range(3)) % 2**64 for _ in range(200)]
    double = [n for e in (10, 11, 12) for n in (2**64 - 2**e, 2**64 - 2**e - 1, 2**64 - 2**e + 1)]
    some = [rng.getrandbits(rng.randrange(1, 65)) for _ in range(700)]
    chosen = [*ends, *middle, *few, *double, *some]
    return sorted({n for word in chosen for n in (word, 2**64 - 1 - word)})


@pytest.mark.further
@pytest.mark.quick(noise=("Gumbel()", "Exponential()"))
@every_noise
def test_bounds_from_64_digits_enclose_the_noise_and_are_tight(noise: Noise) -> None:
    words = _words()
    assert {0, 2**64 - 1, 2**63} <= set(words)
    with np.errstate(over="raise", invalid="raise"):
        lower, upper = quantile_bounds(noise, np.array(words, dtype=np.uint64))
    quantile = oracle.QUANTILE[noise.name]
    with mpmath.workdps(DIGITS + 20):
        for n, below, above in zip(words, lower.tolist(), upper.tolist(), strict=True):
            if n > 0:
                true = quantile(Fraction(n, 2**64))
                assert below <= true
                assert true - below <= (_slack(noise) + 2 / min(n, 2**64 - n)) * (1 + abs(true))
            if n < 2**64 - 1:
                true = quantile(Fraction(n + 1, 2**64))
                assert true <= above
                assert above - true <= (_slack(noise) + 2 / min(n + 1, 2**64 - n - 1)) * (1 + abs(true))
            assert not math.isnan(below)
            assert not math.isnan(above)
            assert below <= above
        support = -math.inf if noise.name not in ("Exponential", "HalfLogistic") else 0.0
        assert lower[0] <= support
        assert upper[-1] == math.inf


def test_64_digits_are_enclosed_as_fractions() -> None:
    words = _words()
    lower, upper = _unit_interval_bounds(np.array(words, dtype=np.uint64))
    for n, below, above in zip(words, lower.tolist(), upper.tolist(), strict=True):
        assert Fraction(n, 2**64) * (1 - Fraction(1, 2**50)) <= Fraction(below) <= Fraction(n, 2**64)
        assert Fraction(n + 1, 2**64) <= Fraction(above) <= Fraction(n + 1, 2**64) * (1 + Fraction(1, 2**49))
        assert above <= 1


# Lazy noise variables: bounds hold the oracle's quantile at every level, and comparisons agree with it.


NOISES = (tk.noise.Gumbel(), tk.noise.Exponential(), tk.noise.HalfLogistic(), tk.noise.Laplace(), tk.noise.Logistic())
ONES = 2**64 - 1


def lazy(noise: Any, word: int) -> LazyNoise:
    return LazyNoise(noise, Words(script=[word], then=0x5555555555555555))


@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize("word", [0, 1, 2**63 - 1, 2**63, ONES - 1, ONES])
def test_bounds_hold_the_quantile_and_close_in(noise: Any, word: int) -> None:
    variable = lazy(noise, word)
    digits = word << 64 * 15 | sum(0x5555555555555555 << 64 * place for place in range(15))
    with mpmath.workprec(2000):
        value = oracle.QUANTILE[noise.name](Fraction(2 * digits + 1, 1 << 961 + 64))
        widths = []
        for level in range(4):
            bounds = variable.rational_bounds(level)
            if bounds is None:
                assert level == 0, "further digits are not all equal"
                assert word in (0, ONES), "only digits that are all equal leave an end open"
                continue
            lower, upper = (mpmath.mpf(int(end.numerator)) / int(end.denominator) for end in bounds)
            assert lower < value < upper
            widths.append(upper - lower)
        assert all(later < earlier / 2**40 for earlier, later in pairwise(widths))
    assert variable.rational_bounds(1) is variable.rational_bounds(1), "what was drawn stays"


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_a_close_comparison_draws_until_it_is_decided(noise: Any) -> None:
    """Two variables with the same first word differ in the second one, and leads of a hair decide otherwise."""
    for second, lead, expected in ((1, 0, True), (0, 0, False), (0, mpq(1, 2**40), True), (1, -mpq(1, 2**40), False)):
        own, other = (LazyNoise(noise, Words(script=[2**63 + 2**61, next_ << 63])) for next_ in (second, 1 - second))
        assert reaches_noisy_threshold(mpq(lead), own, mpq(1), other, mpq(1)) is expected


def test_scales_count_each_on_its_side() -> None:
    def compare(lead: Any, scale: Any, other_scale: Any) -> bool:
        own, other = (lazy(tk.noise.Exponential(), word) for word in (2**63, 3 * 2**62))
        return reaches_noisy_threshold(mpq(lead), own, mpq(scale), other, mpq(other_scale))  # ln 2 against ln 4, nearly

    reached = [compare(0, *scales) for scales in ((1, 1), (3, 1), (1, 0), (0, 1), (0, 0))]
    assert reached == [False, True, True, False, True]
    assert not compare(mpq(-1, 10**9), 0, 0)


def test_one_variable_answers_many_questions() -> None:
    words = Words(script=[2**62], then=0)
    other = LazyNoise(tk.noise.Laplace(), words)
    for _ in range(5):
        reaches_noisy_threshold(mpq(100), lazy(tk.noise.Laplace(), 2**62), mpq(1), other, mpq(1))
    assert len(words.read) == 1
