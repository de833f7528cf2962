"""Standard exponential variables, known as intervals that shrink until a question about them is decided.

Each variable is E = -ln(1 - U) for a uniform U, whose first 64 digits bound E in float64. Where that leaves a
question open, further digits and MPFR decide it, so the answers are those for real-valued E.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from gmpy2 import mpfr, mpq
from numpy.typing import NDArray

from ..noises.standard import Exponential
from ..numerics.arithmetic import round_down, round_up
from ..numerics.floatlog import Floats
from .entropy import SYSTEM, Entropy
from .quantile_tables import quantile_bounds

Integers = NDArray[Any]

_WORD = 64  # digits come in words of the machine
_LARGE = 2.0**62  # from here on values are Python integers: int64 would have no room for what follows
_REGULAR = 2**500  # products of float64 with factors from 2^-500 to 2^500 neither underflow nor overflow here


# proof-region: exponentials
def floors(factor: Fraction, n: int, entropy: Entropy = SYSTEM) -> Integers:
    """``floor(factor * E)`` for n fresh exponentials E: geometric, P(m) = (1 - q) q^m with q = exp(-1 / factor).

    Args:
        factor: >= 0, exact.
        n: How many.
        entropy: Where digits come from.

    Returns:
        An int64 array, or an array of Python integers where one of them is 2^62 or more.
    """
    if factor == 0:
        return np.zeros(n, dtype=np.int64)  # [zero-factor]
    words = entropy.auxiliary(n)
    lower, upper = _bounds(words)
    if _is_regular(factor):
        lower = np.floor(_down(lower * round_down(factor)))  # [floor-below]
        upper = np.floor(_up(upper * round_up(factor)))  # [floor-above]
        decided = (lower == upper) & (upper < _LARGE)  # [decided]
    else:
        decided = np.zeros(n, dtype=bool)
    found = np.where(decided, lower, 0.0).astype(np.int64)
    exact = mpq(factor)
    late = {i: _floor(exact, int(words[i]), entropy) for i in np.flatnonzero(~decided).tolist()}
    if any(value >= _LARGE for value in late.values()):
        found = found.astype(object)
    for i, value in late.items():
        found[i] = value
    return found


def reach(lower: Floats, upper: Floats, level: Callable[[int], mpq], entropy: Entropy = SYSTEM) -> NDArray[np.bool_]:
    """Whether E_i >= level(i), for a fresh exponential each: independent events of probability exp(-level(i)).

    Args:
        lower: Float64 lower bounds on the levels, >= 0.
        upper: Float64 upper bounds, possibly infinite.
        level: The exact level of one index, asked for only where the bounds do not decide.
        entropy: Where digits come from.
    """
    words = entropy.auxiliary(len(lower))
    below, above = _bounds(words)
    reached = below >= upper  # [reached]
    for i in np.flatnonzero(~reached & (above > lower)).tolist():  # [missed]
        reached[i] = _reaches(level(i), int(words[i]), entropy)
    return reached


def _bounds(words: NDArray[np.uint64]) -> tuple[Floats, Floats]:
    """Float64 bounds on the exponentials whose uniforms begin with these words."""
    lower, upper = quantile_bounds(Exponential(), words)  # [float-bounds]
    return np.maximum(lower, 0.0), upper  # [nonnegative]


def _floor(factor: mpq, word: int, entropy: Entropy) -> int:
    ends = ((factor * mpq(lower) // 1, factor * mpq(upper) // 1) for lower, upper in _narrower(word, entropy))
    return next(int(least) for least, most in ends if least == most)  # [floor-exact]


def _reaches(level: mpq, word: int, entropy: Entropy) -> bool:
    ends = ((mpq(lower), mpq(upper)) for lower, upper in _narrower(word, entropy))
    return next(bool(lower >= level) for lower, upper in ends if lower >= level or upper <= level)  # [reach-exact]


def _narrower(word: int, entropy: Entropy) -> Iterator[tuple[mpfr, mpfr]]:
    """Ever narrower bounded intervals with the exponential whose uniform begins with the 64 digits of ``word``."""
    quantile, digits = Exponential().quantile, _WORD
    while True:
        for fresh in entropy.auxiliary(digits // _WORD).tolist():
            word = word << _WORD | fresh  # [more-digits]
        digits *= 2
        if word + 1 < 1 << digits:  # [bounded]
            lower, _ = quantile(mpq(word, 1 << digits), digits + _WORD)
            _, upper = quantile(mpq(word + 1, 1 << digits), digits + _WORD)
            yield lower, upper  # [interval]


def _is_regular(factor: Fraction) -> bool:
    """Whether products of floats with ``factor`` neither underflow nor overflow."""
    return factor * _REGULAR >= 1 and factor <= _REGULAR  # [regular]


def _down(x: Floats) -> Floats:
    return np.nextafter(x, -np.inf)  # [down]


def _up(x: Floats) -> Floats:
    return np.nextafter(x, np.inf)  # [up]


# end-proof-region: exponentials
