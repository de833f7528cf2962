"""Bits that can be read again: the extendable output of SHA-3 under a key, in place of the operating system's.

Only a worker, a process that checks a copy of the package and releases nothing, puts them in place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from opendp_topk.samplers import entropy
from opendp_topk.samplers.entropy import Entropy, Indices

_BLOCK = 2**14
DIGITS = 16 + 64 * 15


class Streams(Entropy):
    """One stream of digits for each candidate, so that an oracle can read all of them.

    Args:
        key: What the streams derive from.
        leading: For some candidates the first bytes of their streams.
        script: Auxiliary words to hand out first.
    """

    def __init__(self, key: str, leading: Mapping[int, bytes] | None = None, script: Iterable[int] = ()) -> None:
        self._key, self.leading = key, dict(leading or {})
        self._script = list(script)
        self._read: dict[int, int] = {}
        self._shared = _Stream(f"{key}/auxiliary")

    def digits(self, i: int) -> int:
        """The first ``DIGITS`` digits of candidate i's uniform, as an integer."""
        return int.from_bytes(self._bytes(i), "big")

    def prefixes(self, index: Indices) -> NDArray[np.uint16]:
        if any(i in self._read for i in index.tolist()):
            raise AssertionError("a prefix was drawn twice")
        self._read |= dict.fromkeys(index.tolist(), 2)
        return np.array([int.from_bytes(self._bytes(i)[:2], "big") for i in index.tolist()], dtype=np.uint16)

    def words(self, index: Indices) -> NDArray[np.uint64]:
        found = []
        for i in index.tolist():
            start = self._read[i]
            self._read[i] = start + 8
            found.append(int.from_bytes(self._bytes(i)[start : start + 8], "big"))
        return np.array(found, dtype=np.uint64)

    def auxiliary(self, n: int) -> NDArray[np.uint64]:
        scripted, self._script = self._script[:n], self._script[n:]
        fresh = [int.from_bytes(self._shared.take(8), "big") for _ in range(n - len(scripted))]
        return np.array(scripted + fresh, dtype=np.uint64)

    def _bytes(self, i: int) -> bytes:
        leading = self.leading.get(i, b"")
        return leading + hashlib.shake_256(f"{self._key}/{i}".encode()).digest(DIGITS // 8 - len(leading))


@contextmanager
def reproducible(key: str) -> Iterator[None]:
    """Let every release in this process draw from the stream of ``key``."""
    stream, system = _Stream(key), entropy._read
    entropy._read = stream.take
    try:
        yield
    finally:
        entropy._read = system


class _Stream:
    """A stream of bytes under a key."""

    def __init__(self, key: str) -> None:
        self._key, self._blocks, self._left = key, 0, b""

    def take(self, n: int) -> bytes:
        while len(self._left) < n:
            self._left += hashlib.shake_256(f"{self._key}/{self._blocks}".encode()).digest(max(_BLOCK, n))
            self._blocks += 1
        taken, self._left = self._left[:n], self._left[n:]
        return taken
