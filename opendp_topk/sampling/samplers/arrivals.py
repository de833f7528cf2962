"""Arrivals of a Poisson process at real times, and the lag by which exponential noise lets a subset win later.

Times and uniforms are real numbers; only the binary digits that a decision needs are drawn.
"""

from __future__ import annotations

import gmpy2
from gmpy2 import mpfr, mpq

from ...numerics.arithmetic import Interval, Intervals
from .entropy import Entropy

_WORD = 64  # digits come in machine words
_ALIKE = mpq(-1, 1000)  # replaces a logarithm of 0, whose exponential would take less time than that of others


# proof-region: arrivals
class LazyUniform:
    """A uniform variable on [0, 1] whose binary digits are drawn when they are needed, and only once."""

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy
        self._digits = self._known = 0

    def rational_bounds(self, known: int) -> tuple[mpq, mpq]:
        """Return bounds that are 2^-known apart; ``known`` is a multiple of 64 and never decreases between calls."""
        while self._known < known:
            self._digits = self._digits << _WORD | int(self._entropy.draw_auxiliary_words(1)[0])  # [digits]
            self._known += _WORD
        return mpq(self._digits, 1 << self._known), mpq(self._digits + 1, 1 << self._known)  # [enclose]


class ArrivalClock:
    """The time y of the latest arrival of a Poisson process with ``rate`` arrivals per unit of time."""

    def __init__(self, rate: mpq, entropy: Entropy) -> None:
        self._rate = rate
        self._entropy = entropy
        self._waits: list[LazyUniform] = []

    def add_arrival(self) -> None:
        """Add the next arrival."""
        self._waits.append(LazyUniform(self._entropy))  # [wait]

    def lag_interval(self, log_weight: mpq, known: int) -> Interval:
        """Return an interval that contains ln(w + (1 - w) e^y), with w = e^log_weight <= 1.

        If w = 1, digits are drawn and functions computed as well, so neither the number of digits nor the time reveals
        it.
        """
        at = Intervals(known + _WORD)
        down = gmpy2.context(precision=known + _WORD, round=gmpy2.RoundDown)
        up = gmpy2.context(precision=known + _WORD, round=gmpy2.RoundUp)
        lower, upper = self._time_interval(at, known, down, up)
        exponent = at.rational(log_weight or _ALIKE)  # [exponent]
        rest = at.negative((down.expm1(exponent[0]), up.expm1(exponent[1])))  # [rest]
        lag = at.log1p((down.mul(rest[0], down.expm1(lower)), up.mul(rest[1], up.expm1(upper))))  # [lag]
        return at.rational(mpq(0)) if log_weight == 0 else lag  # [no-lag]

    def _time_interval(self, at: Intervals, known: int, down: gmpy2.context, up: gmpy2.context) -> tuple[mpfr, mpfr]:
        lower = upper = mpq(1)
        for wait in self._waits:
            bounds = wait.rational_bounds(known)
            lower, upper = lower * bounds[0], upper * bounds[1]  # [product]
        rate = at.rational(self._rate)
        span = at.negative(at.log((at.rational(lower)[0], at.rational(upper)[1])))
        return down.div(span[0], rate[1]), up.div(span[1], rate[0])  # [time]


# end-proof-region: arrivals
