"""The candidates of a block with noise in its upper tail, drawn without the noise of the others.

Of ``BLOCK`` independent uniforms, the number that begin with ``level`` ones is Binomial(BLOCK, 2^-level). Given the
number, every set of positions of that size is equally likely.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from itertools import count

import gmpy2
import numpy as np
from numpy.typing import NDArray

from .entropy import Entropy

BLOCK = 4096  # a power of two, so that 16 digits modulo it are uniform; 32 KiB of scores, which fit in the first cache
LEVELS = range(4, 17)  # from one survivor in 16, for which drawing each begins to pay, to all digits of a prefix
_WORD = 64  # digits come in machine words


# proof-region: upper_tail
def draw_survivors(levels: NDArray[np.int64], entropy: Entropy) -> NDArray[np.int64]:
    """Draw the surviving positions in several concatenated blocks.

    Args:
        levels: For each block the number of leading ones that a surviving uniform must have, in 4..16.
        entropy: The source of digits.

    Returns:
        Distinct positions, ascending: position p is element p mod BLOCK of block p div BLOCK. Each element of
        each block is among them independently with probability 2^-level.
    """
    sizes = _draw_sizes(levels, entropy)
    wanted = np.repeat(np.arange(len(levels)), sizes)
    chosen = np.zeros(0, dtype=np.int64)
    while len(wanted):
        chosen = np.sort(np.concatenate([chosen, wanted * BLOCK + _draw_positions(len(wanted), entropy)]))
        chosen = chosen[np.append(True, chosen[1:] != chosen[:-1])]  # [distinct]
        missing = sizes - np.bincount(chosen // BLOCK, minlength=len(levels))
        wanted = np.repeat(np.arange(len(levels)), missing)  # [missing]
    return chosen


def _draw_positions(n: int, entropy: Entropy) -> NDArray[np.int64]:
    """Draw ``n`` independent positions in a block, four from each word."""
    quarters = entropy.draw_auxiliary_words(-(-n // 4)).view(np.uint16)[:n]  # [quarters]
    return (quarters % np.uint16(BLOCK)).astype(np.int64)  # [position]


def _draw_sizes(levels: NDArray[np.int64], entropy: Entropy) -> NDArray[np.int64]:
    words = entropy.draw_auxiliary_words(len(levels))
    sizes = np.zeros(len(levels), dtype=np.int64)
    for level in np.bincount(levels).nonzero()[0].tolist():
        cumulative = _scaled_binomial_cdf(level)
        here = (levels == level).nonzero()[0]
        sizes[here] = np.searchsorted(cumulative, words[here], side="left")  # [invert]
        hit = cumulative[np.minimum(sizes[here], len(cumulative) - 1)] == words[here]
        for undecided in here[hit].tolist():
            sizes[undecided] = _refine_size(level, int(words[undecided]), entropy)  # [refine]
    return sizes


@functools.cache
def _scaled_binomial_cdf(level: int) -> NDArray[np.uint64]:
    """Return floor(2^64 P(N <= n)) for N ~ Binomial(BLOCK, 2^-level), up to the first n at which it is 2^64 - 1."""
    values = []
    for exact in _exact_binomial_cdf(level):
        values.append(int(exact >> (BLOCK * level - _WORD)))  # [floor]
        if values[-1] >= 2**_WORD - 1:
            break
    return np.array([min(value, 2**_WORD - 1) for value in values], dtype=np.uint64)


def _refine_size(level: int, word: int, entropy: Entropy) -> int:
    """Return the number of n with P(N <= n) <= W, whose digits begin with ``word``; further digits are drawn."""
    shift = BLOCK * level
    for digits in count(2 * _WORD, _WORD):
        word = word << _WORD | int(entropy.draw_auxiliary_words(1)[0])
        lower, upper = gmpy2.mpz(word) << shift, gmpy2.mpz(word + 1) << shift
        n, above = next(
            (n, exact << digits) for n, exact in enumerate(_exact_binomial_cdf(level)) if exact << digits > lower
        )
        if above >= upper:
            return n  # [decided]
    raise AssertionError("count() is infinite")


def _exact_binomial_cdf(level: int) -> Iterator[gmpy2.mpz]:
    """Yield the integers 2^(BLOCK level) P(N <= n), n = 0, 1, ..., BLOCK."""
    odds = gmpy2.mpz(2) ** level - 1
    term = odds**BLOCK
    total = gmpy2.mpz(0)
    for n in range(BLOCK + 1):
        total += term
        yield total  # [exact-sum]
        term = term * (BLOCK - n) // ((n + 1) * odds)  # [exact-term]


# end-proof-region: upper_tail
