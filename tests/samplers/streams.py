"""An injected source of randomness with one reproducible stream of binary digits for each candidate."""

import random
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from opendp_topk.sampling.samplers.entropy import Entropy

PREFIX = 16
WORD = 64


class Streams(Entropy):
    """Digits that depend on a seed and the candidate alone, so that an oracle can read on in every stream.

    Args:
        seed: What the streams derive from.
        leading: For some candidates the first digits, as a string of 0 and 1; random digits follow.
        twins: For some candidates the candidate whose stream they repeat for ever.
        auxiliary: Words to hand out first where no candidate is concerned.

    ``redrawn`` holds the candidates of whom a prefix may be rejected and drawn anew.
    """

    def __init__(
        self,
        seed: int = 0,
        leading: Mapping[int, str] | None = None,
        twins: Mapping[int, int] | None = None,
        auxiliary: Iterable[int] = (),
    ) -> None:
        self._seed = seed
        self._leading = dict(leading or {})
        self._twins = dict(twins or {})
        self._scripted = list(auxiliary)
        self._shared = random.Random(f"{seed}/auxiliary")
        self._sources: dict[int, random.Random] = {}
        self._streams: dict[int, tuple[int, int]] = {}
        self.read: dict[int, int] = {}
        self.ones: dict[int, int] = {}
        self.redrawn: set[int] = set()

    def digits(self, i: int, n: int) -> int:
        """The first ``n`` digits of candidate i's uniform, as an integer.

        Where the sampler drew it from the upper tail (``ones``), those ones stand for themselves and replace the
        last digits of the prefix.
        """
        if i not in self.ones or n == 0:
            return self._raw(i, n)
        level, rest = self.ones[i], max(n, PREFIX) - PREFIX
        raw = self._raw(i, PREFIX + rest)
        prefix = ((1 << level) - 1) << (PREFIX - level) | (raw >> rest) >> level
        return (prefix << rest | raw & ((1 << rest) - 1)) >> (PREFIX + rest - n)

    def digits_from(self, first: int) -> Callable[[int, int], int]:
        """``digits`` of a race whose candidate 0 has this number."""
        return lambda i, n: self.digits(first + i, n)

    def draw_prefixes(self, index: np.ndarray) -> np.ndarray:
        for i in index.tolist():
            if i in self.read:
                assert i in self.redrawn, "a prefix was drawn twice"
                self._forget(i)
            self.read[i] = PREFIX
        return np.array([self._raw(i, PREFIX) for i in index.tolist()], dtype=np.uint16)

    def draw_words(self, index: np.ndarray) -> np.ndarray:
        words = []
        for i in index.tolist():
            self.read[i] += WORD
            words.append(self._raw(i, self.read[i]) & (2**WORD - 1))
        return np.array(words, dtype=np.uint64)

    def draw_auxiliary_words(self, n: int) -> np.ndarray:
        scripted, self._scripted = self._scripted[:n], self._scripted[n:]
        fresh = [self._shared.getrandbits(WORD) for _ in range(n - len(scripted))]
        return np.array(scripted + fresh, dtype=np.uint64)

    def _forget(self, i: int) -> None:
        """A draw was rejected: the stream begins anew, with other digits."""
        self._streams[i] = (0, 0)

    def _raw(self, i: int, n: int) -> int:
        i = self._twins.get(i, i)
        if i not in self._streams:
            leading = self._leading.get(i, "")
            self._streams[i] = (int("0" + leading, 2), len(leading))
            self._sources[i] = random.Random(f"{self._seed}/{i}")
        value, known = self._streams[i]
        if known < n:
            more = -(-(n - known) // 256) * 256
            value, known = value << more | self._sources[i].getrandbits(more), known + more
            self._streams[i] = value, known
        return value >> (known - n)


class Untouched(Entropy):
    """Fails the test as soon as anything is drawn."""

    def draw_prefixes(self, index: np.ndarray) -> np.ndarray:
        raise AssertionError("digits were drawn")

    words = draw_prefixes

    def draw_auxiliary_words(self, n: int) -> np.ndarray:
        raise AssertionError("digits were drawn")
