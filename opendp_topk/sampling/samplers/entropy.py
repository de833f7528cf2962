"""Random digits from the operating system, and recorded digits for tests and merges."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import PlatformError
from ...numerics.floats import require_subnormals

# The only source of randomness: the operating system.
#
# Every candidate owns one uniform variable U in [0, 1], whose binary digits are drawn when they are needed, and only
# once. A candidate's first 16 digits are its prefix; further digits come in words of 64.

Indices = NDArray[np.int64]


class Entropy:
    """Fresh uniform digits from the operating system's cryptographic generator.

    The indices name the candidates that need digits. They are ignored here, because all digits are independent.
    Tests replace this class by one with a separate stream of digits for each candidate.
    """

    # proof-region: entropy
    def draw_prefixes(self, index: Indices) -> NDArray[np.uint16]:
        """Return the first 16 digits of the uniforms of these candidates."""
        return np.frombuffer(_read_system_bytes(2 * len(index)), dtype=np.uint16)  # [prefixes]

    def draw_words(self, index: Indices) -> NDArray[np.uint64]:
        """Return the next 64 digits of the uniforms of these candidates."""
        return np.frombuffer(_read_system_bytes(8 * len(index)), dtype=np.uint64)  # [words]

    def draw_auxiliary_words(self, n: int) -> NDArray[np.uint64]:
        """Return ``n`` words of 64 digits that belong to no candidate."""
        return np.frombuffer(_read_system_bytes(8 * n), dtype=np.uint64)  # [auxiliary]

    # end-proof-region: entropy


# proof-region: watch
_SPARE = 48  # bytes beyond those requested, used for the watch only, so no digit is rejected for its value
_MARK = 16  # bytes; those at two places of a fair source agree with a probability of 2^-128
_STEADY = 192  # reads in which each digit of fair spare bytes changes, except with a probability below 2^-182
_ALL = (1 << 8 * _SPARE) - 1  # a one in every place of the spare bytes


class _RepetitionDetector:
    """Detector of a source that repeats itself, from bytes that are used for nothing else.

    A mark that occurs twice within a read reveals a short period. Two earlier marks are kept from read to read: one is
    renewed at regular intervals, and one after 1, 2, 4, 8, ... reads, so a cycle of any length is noticed (Brent). The
    state is a single tuple, so a concurrent thread may lose reads but never counts one that did not happen.
    """

    def __init__(self) -> None:
        self._kept = b"", b"", 0, _ALL, 0

    def is_repeating(self, spare: bytes) -> bool:
        """Return whether these spare bytes of one read, or those of the last reads, are not fair digits."""
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


_WATCH = _RepetitionDetector()


def _read_system_bytes(n: int) -> memoryview:
    require_subnormals()
    try:
        drawn = os.urandom(n + _SPARE)
    except (OSError, NotImplementedError):
        drawn = b""
    if len(drawn) != n + _SPARE:  # [whole]
        raise PlatformError("the operating system's source of randomness failed: nothing was released")
    if _WATCH.is_repeating(drawn[n:]):  # [watch]
        raise PlatformError(
            "the operating system's source of randomness returned repeated values: nothing was released"
        )
    return memoryview(drawn)[:n]  # [digits]


# end-proof-region: watch


SYSTEM = Entropy()


# Digits for racers that race more than once: digits that were drawn before are replayed, never redrawn.


# proof-region: tape
class ReplayEntropy(Entropy):
    """Words of racers: first the words drawn for them before, in order, then fresh ones, which are kept.

    Prefixes, and digits that belong to no racer, are passed through.
    """

    def __init__(self, before: Iterable[Sequence[int]], entropy: Entropy) -> None:
        self._words = {racer: list(drawn) for racer, drawn in enumerate(before)}
        self._read: dict[int, int] = {}
        self._entropy = entropy

    def draw_prefixes(self, index: Indices) -> NDArray[np.uint16]:
        return self._entropy.draw_prefixes(index)  # [prefixes]

    def draw_auxiliary_words(self, n: int) -> NDArray[np.uint64]:
        return self._entropy.draw_auxiliary_words(n)  # [auxiliary]

    def draw_words(self, index: Indices) -> NDArray[np.uint64]:
        """Return the next 64 digits of the uniforms of these distinct racers."""
        racers = index.tolist()
        ended = [racer for racer in racers if self._read.get(racer, 0) == len(self._words.get(racer, ()))]
        fresh = self._entropy.draw_words(np.array(ended, dtype=np.int64)).tolist()
        for racer, word in zip(ended, fresh, strict=True):
            self._words.setdefault(racer, []).append(word)  # [fresh]
        return np.array([self._next_word(racer) for racer in racers], dtype=np.uint64)

    def drawn_words(self, racer: int) -> tuple[int, ...]:
        """Return all words drawn for a racer, before or now, in order."""
        return tuple(self._words.get(racer, ()))  # [all-words]

    def _next_word(self, racer: int) -> int:
        place = self._read.get(racer, 0)
        self._read[racer] = place + 1
        return self._words[racer][place]  # [in-order]


# end-proof-region: tape


# The exact top-k without noise; the lowest index wins a tie.

_CHUNK = 2**18  # 2 MiB of scores at a time, which stay in a cache while they are partitioned


# proof-region: noiseless
def top_k(values: NDArray[Any], k: int, *, sign: int, ordered: bool) -> Indices:
    """Return the indices of the k largest (``sign=+1``) or smallest (``sign=-1``) values.

    The indices are best first if ``ordered``, otherwise ascending. Extra memory: O(k) + one chunk.
    """
    best = np.zeros(0, dtype=np.int64)
    for start in range(0, len(values), max(_CHUNK, k)):
        chunk = values[start : start + max(_CHUNK, k)]
        fresh = np.arange(start, start + len(chunk))
        if len(best) == k:
            worst = values[best[-1]]
            fresh = fresh[chunk > worst if sign > 0 else chunk < worst]  # [later-ties-lose]
        best = np.concatenate([best, fresh])
        best = best[_stable_order(values[best], sign)[:k]]  # [merge]
    return best if ordered else np.sort(best)


def _stable_order(values: NDArray[Any], sign: int) -> Indices:
    """Return positions from best to worst, equal values in their present order."""
    if sign < 0:
        return np.argsort(values, kind="stable")
    return len(values) - 1 - np.argsort(values[::-1], kind="stable")[::-1]  # [reverse]


# end-proof-region: noiseless
