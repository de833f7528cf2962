"""Scripted digits in the place of the operating system's: a release is replayed, whichever modules draw them.

All randomness of the library is read by ``os.urandom``. Here it is a stream of bytes that depends on a word alone, the
same on every machine. What is drawn in another order, or in other pieces, gives another release.
"""

from __future__ import annotations

import hashlib
import os
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PACKAGE = "opendp_topk"
_BLOCK = 2**16


class Tape:
    """Bytes without end: SHAKE-256 of the word and the number of a block."""

    def __init__(self, word: str) -> None:
        self.word, self.block, self.rest, self.read = word, 0, b"", 0

    def take(self, n: int) -> bytes:
        while len(self.rest) < n:
            self.rest += hashlib.shake_256(f"{self.word}/{self.block}".encode()).digest(_BLOCK)
            self.block += 1
        taken, self.rest = self.rest[:n], self.rest[n:]
        self.read += n
        return taken


@contextmanager
def scripted(word: str) -> Iterator[Tape]:
    """Meanwhile the operating system gives the digits of ``word``; names of files have digits of their own."""
    forget_counts()
    tape, names, before, fresh = Tape(word), Tape(f"names/{word}"), os.urandom, uuid.uuid4
    os.urandom = tape.take
    uuid.uuid4 = lambda: uuid.UUID(bytes=names.take(16), version=4)
    try:
        yield tape
    finally:
        os.urandom, uuid.uuid4 = before, fresh


def forget_counts() -> None:
    """Empty the caches that hold iterators: what they give depends on what was asked for earlier in this process."""
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == PACKAGE:
            for one in list(vars(module).values()):
                if hasattr(one, "cache_clear") and "Iterator" in _returned(one):
                    one.cache_clear()


def _returned(function: Any) -> str:
    return str(getattr(function, "__annotations__", {}).get("return", ""))
