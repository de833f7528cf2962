"""Lazy uniforms, the times of a Poisson process and the lag, against high precision."""

from __future__ import annotations

import random
from fractions import Fraction

import mpmath
import pytest
from gmpy2 import mpq

from opendp_topk.numerics.arithmetic import Interval, Intervals
from opendp_topk.sampling.samplers import arrivals
from opendp_topk.sampling.samplers.arrivals import ArrivalClock, LazyUniform

from .streams import Streams


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
        for _ in range(60):
            words = [generator.getrandbits(64) or 1 for _ in range(12)]
            rate = mpq(generator.choice([1, 3, 10**6, mpq(5, 4), 2**900, mpq(7, 3)]))
            clock = ArrivalClock(rate, Streams(auxiliary=words[:3]))
            for _ in range(3):
                clock.add_arrival()
            log_weight = -mpq(generator.choice([1, mpq(1, 10**30), mpq(7, 3), 400, mpq(1, 2**200)]))
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

    monkeypatch.setattr(arrivals, "Intervals", Noted)
    clock = ArrivalClock(mpq(3), Streams(1))
    clock.add_arrival()
    clock.lag_interval(mpq(0), 64)
    assert [lower > 0 for lower, _ in arguments] == [True]
