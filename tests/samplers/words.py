"""Sources of auxiliary words that can be read again."""

import random
from collections.abc import Iterable

import numpy as np

from opendp_topk.sampling.samplers.entropy import Entropy


class Words(Entropy):
    """Scripted words first, then one and the same or reproducible ones; ``read`` holds all that were handed out."""

    def __init__(self, seed: int = 0, script: Iterable[int] = (), then: int | None = None) -> None:
        self._random = random.Random(seed)
        self._script, self._then = list(script), then
        self.read: list[int] = []

    def draw_auxiliary_words(self, n: int) -> np.ndarray:
        words, self._script = self._script[:n], self._script[n:]
        while len(words) < n:
            words.append(self._random.getrandbits(64) if self._then is None else self._then)
        self.read += words
        return np.array(words, dtype=np.uint64)

    def digits(self) -> tuple[int, int]:
        """All digits read as one integer, and how many they are."""
        value = 0
        for word in self.read:
            value = value << 64 | word
        return value, 64 * len(self.read)
