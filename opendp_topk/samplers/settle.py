"""From bounds to certainty: draw digits until the winners, and their order where it is released, are decided."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from gmpy2 import mpq
from numpy.typing import NDArray

from ..arithmetic import Interval, Intervals
from ..errors import EntropyError
from ..floatlog import Floats
from ..noise import Noise
from .advantages import Scores, noisy_bounds
from .entropy import Entropy, Indices
from .tables import DIGITS, quantile_bounds

_WORD = 64
_MOST_LEVELS = 12


@dataclass
class Racers:
    """Candidates still in the race: their indices, and the first digits of their uniforms."""

    index: Indices
    prefix: NDArray[np.uint16]
    scores: Scores
    noise: Noise
    reference: Any
    entropy: Entropy


# proof-region: settle
def settle(racers: Racers, lower: Floats, upper: Floats, k: int, ordered: bool) -> Indices:
    """The k winners among ``racers``, whose noisy advantages lie between ``lower`` and ``upper``.

    Best first if ``ordered``; else in no particular order.
    """
    order = _descending(lower)
    clusters = _clusters(lower[order], upper[order], 0, k, ordered)
    words = np.zeros(len(racers.index), dtype=np.uint64)
    if clusters:
        where = np.concatenate([order[start:end] for start, end in clusters])
        words[where] = racers.entropy.words(racers.index[where])  # [more-digits]
    open_runs = [(start, end, racers.reference, False) for start, end in clusters]
    while open_runs:
        start, end, reference, last = open_runs.pop()
        members = order[start:end]
        lower, upper = _closer_bounds(racers, words[members], members, reference)
        better = _descending(lower)
        order[start:end] = members[better]
        for first, past in _clusters(lower[better], upper[better], start, k, ordered):
            if last and past - first == end - start:
                order[first:past] = _decide(racers, words, order[first:past])  # [decide]
            else:
                middle = racers.scores.values[racers.index[order[(first + past) // 2]]]  # [rebase]
                open_runs.append((first, past, middle, past - first == end - start))
    return racers.index[order[:k]]


def _descending(lower: Floats) -> Indices:
    return np.argsort(-lower, kind="stable")


def _clusters(lower: Floats, upper: Floats, offset: int, k: int, ordered: bool) -> list[tuple[int, int]]:
    """The undecided runs that matter for the k best, among racers in descending order from rank ``offset`` on."""
    rest = np.maximum.accumulate(upper[::-1])[::-1]
    cuts = np.flatnonzero(lower[:-1] > rest[1:]) + 1  # [cut]
    starts, ends = offset + np.append(0, cuts), offset + np.append(cuts, len(lower))
    matters = (starts < k) & (ends - starts > 1)  # [ranking]
    if not ordered:
        matters &= ends > k  # [set]
    return list(zip(starts[matters].tolist(), ends[matters].tolist(), strict=True))


def _closer_bounds(
    racers: Racers, words: NDArray[np.uint64], members: Indices, reference: Any
) -> tuple[Floats, Floats]:
    """Bounds on the noisy advantages of ``members`` over ``reference`` from the first 64 digits of each."""
    digits = (racers.prefix[members].astype(np.uint64) << np.uint64(48)) | (words >> np.uint64(16))  # [first-64]
    advantages = racers.scores.advantages(racers.scores.values[racers.index[members]], reference)
    return noisy_bounds(advantages, *quantile_bounds(racers.noise, digits))


def _decide(racers: Racers, words: NDArray[np.uint64], members: Indices) -> Indices:
    """``members`` in descending order, by comparisons at growing precision."""
    reference = racers.scores.values[racers.index[members[0]]]
    exact = [_Exact(racers, int(member), int(words[member]), reference) for member in members]
    exact.sort(key=functools.cmp_to_key(_compare))
    return np.array([racer.member for racer in exact], dtype=np.int64)


class _Exact:
    """One racer, at any precision."""

    def __init__(self, racers: Racers, member: int, word: int, reference: Any) -> None:
        self.member = member
        self._index = racers.index[member : member + 1]
        self._entropy = racers.entropy
        self._noise = racers.noise
        advantage = racers.scores.exact(int(self._index[0]), reference)
        self.advantage = mpq(advantage.numerator, advantage.denominator)
        self._digits = int(racers.prefix[member]) << _WORD | word
        self._known = DIGITS + _WORD
        self._enclosures: list[Interval] = []

    def enclosure(self, level: int) -> Interval:
        """An interval that holds the noise; it shrinks as ``level`` grows."""
        while len(self._enclosures) <= level:
            precision = 2 * _WORD << len(self._enclosures)
            while self._known < precision:
                self._digits = self._digits << _WORD | int(self._entropy.words(self._index)[0])  # [extend]
                self._known += _WORD
            unit = mpq(1, 1 << self._known)
            lower = self._noise.quantile(self._digits * unit, precision)[0]
            upper = self._noise.quantile((self._digits + 1) * unit, precision)[1]
            self._enclosures.append((lower, upper))  # [enclose]
        return self._enclosures[level]


def _compare(a: _Exact, b: _Exact) -> int:
    if a is b:
        return 0
    lead = a.advantage - b.advantage  # [lead]
    for level in range(_MOST_LEVELS + 1):
        at = Intervals(2 * _WORD << level)
        noise = at.add(a.enclosure(level), at.negative(b.enclosure(level)))
        gap = at.add(at.rational(lead), noise)  # [difference]
        if gap[0] > 0:
            return -1  # [above]
        if gap[1] < 0:
            return 1  # [below]
    raise EntropyError("the source of randomness repeats itself: two candidates have the same digits")


# end-proof-region: settle
