"""Decisions with exact probabilities: exponentials against a level, and Bernoulli variables."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence

import gmpy2
import numpy as np
from gmpy2 import mpq
from numpy.typing import NDArray

from ...numerics.floats import Floats
from ..noises.exponential import Exponential
from .entropy import SYSTEM, Entropy
from .quantile_tables import quantile_bounds

# Standard exponential variables, known as intervals that shrink until a question about them is decided.
#
# Each variable is E = -ln(1 - U) for a uniform U, whose first 64 digits bound E in float64. If these bounds do not
# decide a question, further digits and MPFR do, so the answers are those for real-valued E.

_WORD = 64  # digits come in machine words


# proof-region: exponentials
def draw_geometric(factor: mpq, entropy: Entropy = SYSTEM) -> int:
    """Draw ``floor(factor * E)`` for an exponential E and ``factor`` > 0: P(m) = (1 - q) q^m, q = exp(-1 / factor)."""
    ends = (
        (factor * lower // 1, factor * upper // 1)
        for lower, upper in _narrowing_intervals(_draw_word(entropy), entropy)
    )
    return next(int(least) for least, most in ends if least == most)  # [floor-exact]


def draw_bernoulli_exp(level: mpq, entropy: Entropy = SYSTEM) -> bool:
    """Return whether E >= level for a fresh exponential E: an event of probability exp(-level), for ``level`` >= 0."""
    return _bernoulli_exp_from_word(level, _draw_word(entropy), entropy)


def bernoulli_exp_events(
    words: NDArray[np.uint64], lower: Floats, upper: Floats, level: Callable[[int], mpq], entropy: Entropy = SYSTEM
) -> NDArray[np.bool_]:
    """Return whether E_i >= level(i), with fresh digits for each E_i: independent events of probability exp(-level(i)).

    Args:
        words: The first 64 digits of each exponential's uniform, used nowhere else.
        lower: Float64 lower bounds on the levels, >= 0.
        upper: Float64 upper bounds, possibly infinite.
        level: The exact level of one index, called only if the bounds do not decide.
        entropy: The source of further digits; by default the operating system.
    """
    below, above = _exponential_bounds(words)
    reached = below >= upper  # [reached]
    for i in np.flatnonzero(~reached & (above > lower)).tolist():  # [missed]
        reached[i] = _bernoulli_exp_from_word(level(i), int(words[i]), entropy)
    return reached


def _exponential_bounds(words: NDArray[np.uint64]) -> tuple[Floats, Floats]:
    """Return float64 bounds on the exponentials whose uniforms begin with these words."""
    lower, upper = quantile_bounds(Exponential(), words)  # [float-bounds]
    return np.maximum(lower, 0.0), upper  # [nonnegative]


def _bernoulli_exp_from_word(level: mpq, word: int, entropy: Entropy) -> bool:
    ends = _narrowing_intervals(word, entropy)
    return next(bool(lower >= level) for lower, upper in ends if lower >= level or upper <= level)  # [reach-exact]


def _draw_word(entropy: Entropy) -> int:
    return int(entropy.draw_auxiliary_words(1)[0])  # [word]


def _narrowing_intervals(word: int, entropy: Entropy) -> Iterator[tuple[mpq, mpq]]:
    """Yield ever narrower intervals with the exponential whose uniform begins with the 64 digits of ``word``."""
    digits = _WORD
    while True:
        left = (1 << digits) - word
        if left > 1:  # [bounded]
            down, up = _rounding_contexts(digits + _WORD)
            lower, upper = (up.div(one, 1 << digits) for one in (left, left - 1))  # [exact]
            yield -mpq(up.log(lower)), -mpq(down.log(upper))  # [interval]
        for fresh in entropy.draw_auxiliary_words(digits // _WORD).tolist():
            word = word << _WORD | fresh  # [more-digits]
        digits *= 2


@functools.lru_cache(maxsize=2)
def _rounding_contexts(precision: int) -> tuple[gmpy2.context, gmpy2.context]:
    """Return contexts of this precision, rounding down and rounding up."""
    return (
        gmpy2.context(precision=precision, round=gmpy2.RoundDown),
        gmpy2.context(precision=precision, round=gmpy2.RoundUp),
    )


# end-proof-region: exponentials


# Independent events of exact rational probabilities, in units of 2^-128.

DIGITS = 128  # two machine words; no practical delta needs a finer probability
_LOW = 2**_WORD - 1  # the digits of the second word


# proof-region: bernoulli
def draw_bernoulli_events(chances: Sequence[int], entropy: Entropy = SYSTEM) -> NDArray[np.bool_]:
    """Return which of independent events happen; the i-th has the probability ``chances[i] / 2^128``, at most 1."""
    certain = np.array([chance >> DIGITS > 0 for chance in chances], dtype=np.bool_)  # [certain]
    high = np.array([chance >> _WORD & _LOW for chance in chances], dtype=np.uint64)
    low = np.array([chance & _LOW for chance in chances], dtype=np.uint64)
    first, second = entropy.draw_auxiliary_words(len(chances)), entropy.draw_auxiliary_words(len(chances))
    happened: NDArray[np.bool_] = certain | (first < high) | ((first == high) & (second < low))  # [below]
    return happened


# end-proof-region: bernoulli
