"""The only source of randomness: the operating system.

Every candidate owns one uniform variable U in [0, 1], whose binary digits are drawn when they are needed and
never twice. A candidate's first 16 digits are its prefix; further digits come in words of 64.
"""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from ...errors import EntropyError
from ...numerics.subnormals import require_subnormals

Indices = NDArray[np.int64]


class Entropy:
    """Fresh uniform digits from the operating system's cryptographic generator.

    The indices say for which candidates digits are drawn. They do not matter here: all digits are independent.
    Tests replace this class by one with a stream of digits a candidate.
    """

    # proof-region: entropy
    def prefixes(self, index: Indices) -> NDArray[np.uint16]:
        """The first 16 digits of the uniforms of these candidates."""
        return np.frombuffer(_read(2 * len(index)), dtype=np.uint16)  # [prefixes]

    def words(self, index: Indices) -> NDArray[np.uint64]:
        """The next 64 digits of the uniforms of these candidates."""
        return np.frombuffer(_read(8 * len(index)), dtype=np.uint64)  # [words]

    def auxiliary(self, n: int) -> NDArray[np.uint64]:
        """``n`` words of 64 digits that belong to no candidate."""
        return np.frombuffer(_read(8 * n), dtype=np.uint64)  # [auxiliary]

    # end-proof-region: entropy


# proof-region: watch
_SPARE = 48  # bytes beyond those asked for: they serve the watch alone, so that no digit is refused for its value
_MARK = 16  # bytes that two places of fair ones share with a probability of 2^-128
_STEADY = 192  # reads in which each digit of fair spare bytes changes, but with a probability below 2^-182
_ALL = (1 << 8 * _SPARE) - 1  # a one in every place of the spare bytes


class _Watch:
    """Whether the source repeats itself, as seen in bytes that are used for nothing else.

    Within a read a mark that occurs again tells of a short period. From read to read two earlier marks are kept: one
    that is renewed every so often, and one that is renewed after 1, 2, 4, 8, ... reads, so that a source which goes
    round is noticed however long its round (Brent). All that is kept is one tuple, so that a thread that comes between
    loses reads, and never counts one that was not.
    """

    def __init__(self) -> None:
        self._kept = b"", b"", 0, _ALL, 0

    def repeats(self, spare: bytes) -> bool:
        """Whether these spare bytes of one read, or those of the last reads, are no fair digits."""
        oldest, latest, reads, always, ever = self._kept
        mark = spare[:_MARK]
        if mark in (oldest, latest) or spare.find(mark, 1) > 0:  # [mark]
            return True
        digits = int.from_bytes(spare, "little")
        reads, always, ever = reads + 1, always & digits, ever | digits  # [steady]
        if reads & reads - 1 == 0:
            oldest = mark  # [renew]
        if reads % _STEADY:
            self._kept = oldest, latest, reads, always, ever
            return False
        self._kept = oldest, mark, reads, _ALL, 0  # [anew]
        return always != 0 or ever != _ALL  # [stuck]


_WATCH = _Watch()


def _read(n: int) -> memoryview:
    require_subnormals()
    try:
        drawn = os.urandom(n + _SPARE)
    except (OSError, NotImplementedError):
        drawn = b""
    if len(drawn) != n + _SPARE:  # [whole]
        raise EntropyError("the operating system's source of randomness failed: nothing was released")
    if _WATCH.repeats(drawn[n:]):  # [watch]
        raise EntropyError("the operating system's source of randomness repeats itself: nothing was released")
    return memoryview(drawn)[:n]  # [digits]


# end-proof-region: watch


SYSTEM = Entropy()
