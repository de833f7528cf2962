"""A race whose digits are kept: what was known of every candidate's uniform number when the winners were certain.

Of a candidate that a race skips it knows one thing, that its uniform number begins with fewer ones than it would need.
To see it, the functions that skip are replaced while a recorder watches; releases watch nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...sampling.samplers import race, scan, upper_tail
from ...sampling.samplers import race as forecast_race
from ...sampling.samplers.entropy import SYSTEM, Entropy, Indices
from ...sampling.samplers.quantile_tables import DIGITS

_WORD = 64  # digits come in words of the machine


class Known(NamedTuple):
    """A uniform number lies between ``low / 2^digits`` and ``high / 2^digits``."""

    low: int
    high: int
    digits: int

    @property
    def is_drawn(self) -> bool:
        """Whether digits of it were drawn, and not only whether it begins with so many ones."""
        return self.high == self.low + 1 and self.digits > 0


class Recorder(Entropy):
    """Hands digits on from a source, and keeps those of each candidate."""

    def __init__(self, source: Entropy = SYSTEM) -> None:
        self._source = source
        self._drawn: dict[int, tuple[int, int]] = {}
        self._levels: dict[int, int] = {}

    def prefixes(self, index: Indices) -> NDArray[np.uint16]:
        """The first 16 digits; where they are drawn anew, because a condition failed, the last count."""
        drawn = self._source.prefixes(index)
        self.begins(index, drawn)
        return drawn

    def words(self, index: Indices) -> NDArray[np.uint64]:
        """The next 64 digits."""
        drawn = self._source.words(index)
        for i, word in zip(index.tolist(), drawn.tolist(), strict=True):
            digits, known = self._drawn[i]
            self._drawn[i] = digits << _WORD | word, known + _WORD
        return drawn

    def auxiliary(self, n: int) -> NDArray[np.uint64]:
        """Digits that belong to no candidate are not kept."""
        return self._source.auxiliary(n)

    def begins(self, index: Indices, prefix: NDArray[np.uint16]) -> None:
        """These are the first 16 digits of these candidates."""
        self._drawn.update((i, (digits, DIGITS)) for i, digits in zip(index.tolist(), prefix.tolist(), strict=True))

    def put_off(self, candidates: Indices, levels: Indices) -> None:
        """Unless digits of it are drawn, a candidate's uniform does not begin with so many ones."""
        self._levels.update(zip(candidates.tolist(), levels.tolist(), strict=True))

    def known(self, i: int) -> Known:
        """What is known of candidate i's uniform number."""
        if i in self._drawn:
            digits, many = self._drawn[i]
            return Known(digits, digits + 1, many)
        level = self._levels.get(i)
        return Known(0, 1, 0) if level is None else Known(0, 2**level - 1, level)


@contextmanager
def watched(recorder: Recorder) -> Iterator[None]:
    """While this lasts, races of this process tell ``recorder`` whom they skip, and who enters from the upper tail."""
    tail, skip, split, survivors = scan.Scan.tail, race._skip, race._split, upper_tail.survivors

    def watched_tail(self: scan.Scan, index: Indices, levels: Indices) -> scan.Drawn:
        drawn = tail(self, index, levels)
        recorder.begins(*drawn)
        return drawn

    def watched_skip(scanned: scan.Scan, batch: Indices, levels: Indices) -> None:
        recorder.put_off(_everybody(batch), np.repeat(levels, upper_tail.BLOCK))
        skip(scanned, batch, levels)

    def watched_split(scanned: scan.Scan, batch: Indices, near: NDArray[np.bool_], level: int, least: int) -> None:
        others = _everybody(batch)[~near.ravel()]
        recorder.put_off(others, np.full(len(others), level))
        split(scanned, batch, near, level, least)

    def watched_survivors(levels: Indices, entropy: Entropy) -> Indices:
        recorder.put_off(_everybody(np.arange(len(levels))), np.repeat(levels, upper_tail.BLOCK))
        return survivors(levels, entropy)

    watching: list[tuple[Any, str, Any, Any]] = [
        (scan.Scan, "tail", tail, watched_tail),
        (race, "_skip", skip, watched_skip),
        (race, "_split", split, watched_split),
        (forecast_race, "survivors", survivors, watched_survivors),
    ]
    try:
        for owner, name, _, new in watching:
            setattr(owner, name, new)
        yield
    finally:
        for owner, name, old, _ in watching:
            setattr(owner, name, old)


def _everybody(batch: Indices) -> Indices:
    return np.asarray((batch[:, None] * upper_tail.BLOCK + np.arange(upper_tail.BLOCK)).ravel())
