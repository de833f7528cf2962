"""The best of many equal candidates: how its uniform begins, without a race among them.

A release that ends with the first of them needs no other. Digit by digit, those stay whose digit is a one, if any do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...errors import EntropyError
from .entropy import Entropy, Indices
from .quantile_tables import DIGITS
from .upper_tail import BLOCK

_WORD = 64  # digits come in words of the machine
_CHUNK = 2**18  # words at a time, so that memory stays small
MOST = 2**26  # of them a thousand share their first 16 digits with the best; three thousand do in e^-1000 of all cases


# proof-region: dummies
class Led(Entropy):
    """The digits of ``entropy``, but that the prefixes of the candidates in ``places`` are ``prefix``."""

    def __init__(self, entropy: Entropy, places: range, prefix: int) -> None:
        self._entropy, self._places, self._prefix = entropy, places, prefix

    def prefixes(self, index: Indices) -> NDArray[np.uint16]:
        found = self._entropy.prefixes(index).copy()
        found[(index >= self._places.start) & (index < self._places.stop)] = self._prefix  # [led]
        return found

    def words(self, index: Indices) -> NDArray[np.uint64]:
        return self._entropy.words(index)  # [own-words]

    def auxiliary(self, n: int) -> NDArray[np.uint64]:
        return self._entropy.auxiliary(n)


def best(n: int, others: int, entropy: Entropy) -> tuple[int, int]:
    """The first 16 digits of the largest of ``n`` uniforms, and how many of them begin so.

    Raises:
        EntropyError: With ``others`` candidates they are as many as a block: such a source repeats itself.
    """
    prefix = 0
    for _ in range(DIGITS):
        ones = _ones(n, entropy)
        prefix, n = 2 * prefix + (ones > 0), ones or n  # [survivors]
    if n + others >= BLOCK:
        raise EntropyError("the operating system's source of randomness repeats itself: nothing was released")  # [few]
    return prefix, n


def _ones(n: int, entropy: Entropy) -> int:
    """How many of ``n`` digits are ones."""
    found = 0
    for start in range(0, n, _CHUNK * _WORD):
        digits = min(n - start, _CHUNK * _WORD)
        words = entropy.auxiliary(-(-digits // _WORD))
        found += (int.from_bytes(words.tobytes(), "little") >> (-digits % _WORD)).bit_count()  # [ones]
    return found


# end-proof-region: dummies
