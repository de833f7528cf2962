"""Scripted digits in the place of the operating system's: a release is replayed, whichever modules draw them.

All randomness of the library comes from one class. Here its methods read a stream of bytes that depends on a word
alone, the same on every machine. What is drawn in another order, or in other pieces, gives another release.
"""

import hashlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .names import source

PACKAGE = "opendp_topk"
_BLOCK = 2**16


class Tape:
    """Bytes without end: SHAKE-256 of the word and the number of a block."""

    def __init__(self, word: str) -> None:
        self.word, self.block, self.rest, self.read = word, 0, b"", 0

    def take(self, n: int, kind: str) -> Any:
        """``n`` numbers without a sign of this little-endian type."""
        size = n * np.dtype(kind).itemsize
        while len(self.rest) < size:
            self.rest += hashlib.shake_256(f"{self.word}/{self.block}".encode()).digest(_BLOCK)
            self.block += 1
        taken, self.rest = self.rest[:size], self.rest[size:]
        self.read += size
        return np.frombuffer(taken, dtype=kind).astype(kind[1:])


@contextmanager
def scripted(word: str) -> Iterator[Tape]:
    """Meanwhile the source gives the digits of ``word``."""
    forget_counts()
    tape, drawn = Tape(word), source()
    kept = {name: vars(drawn)[name] for name in ("draw_prefixes", "draw_words", "draw_auxiliary_words")}
    drawn.draw_prefixes = lambda _, index: tape.take(len(index), "<u2")
    drawn.draw_words = lambda _, index: tape.take(len(index), "<u8")
    drawn.draw_auxiliary_words = lambda _, n: tape.take(n, "<u8")
    try:
        yield tape
    finally:
        for name, method in kept.items():
            setattr(drawn, name, method)


def forget_counts() -> None:
    """Empty the caches that hold iterators: what they give depends on what was asked for earlier in this process."""
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == PACKAGE:
            for one in list(vars(module).values()):
                if hasattr(one, "cache_clear") and "Iterator" in _returned(one):
                    one.cache_clear()


def _returned(function: Any) -> str:
    return str(getattr(function, "__annotations__", {}).get("return", ""))
