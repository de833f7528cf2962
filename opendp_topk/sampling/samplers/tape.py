"""The digits of racers who race more than once: what was drawn of them before is read again, and never drawn anew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from .entropy import Entropy, Indices


# proof-region: tape
class Tape(Entropy):
    """Words of racers: first those that were drawn of them before, in their order, then fresh ones, which are kept.

    What belongs to no racer, and prefixes, are handed through.
    """

    def __init__(self, before: Iterable[Sequence[int]], entropy: Entropy) -> None:
        self._words = {racer: list(drawn) for racer, drawn in enumerate(before)}
        self._read: dict[int, int] = {}
        self._entropy = entropy

    def prefixes(self, index: Indices) -> NDArray[np.uint16]:
        return self._entropy.prefixes(index)  # [prefixes]

    def auxiliary(self, n: int) -> NDArray[np.uint64]:
        return self._entropy.auxiliary(n)  # [auxiliary]

    def words(self, index: Indices) -> NDArray[np.uint64]:
        """The next 64 digits of the uniforms of these racers, who are distinct."""
        racers = index.tolist()
        ended = [racer for racer in racers if self._read.get(racer, 0) == len(self._words.get(racer, ()))]
        fresh = self._entropy.words(np.array(ended, dtype=np.int64)).tolist()
        for racer, word in zip(ended, fresh, strict=True):
            self._words.setdefault(racer, []).append(word)  # [fresh]
        return np.array([self._next(racer) for racer in racers], dtype=np.uint64)

    def drawn(self, racer: int) -> tuple[int, ...]:
        """All words drawn of a racer, before or now, in their order."""
        return tuple(self._words.get(racer, ()))  # [all-words]

    def _next(self, racer: int) -> int:
        place = self._read.get(racer, 0)
        self._read[racer] = place + 1
        return self._words[racer][place]  # [in-order]


# end-proof-region: tape
