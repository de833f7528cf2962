"""From bounds to certainty: draw digits until the winners, and their order where it is released, are decided."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gmpy2 import mpq
from numpy.typing import NDArray

from ...errors import EntropyError
from ...numerics.arithmetic import Interval, Intervals
from ...numerics.floatlog import Floats
from ..noises.noise import Noise
from .advantages import Scores, noisy_bounds
from .entropy import Entropy, Indices
from .quantile_tables import DIGITS, quantile_bounds
from .runs import Runs, apart, decided, divided, matter, opened

_WORD = 64  # digits come in words of the machine
MOST_LEVELS = 12  # at this level 524,288 digits are compared: only a source that repeats itself leaves two undecided


@dataclass
class Racers:
    """Candidates still in the race: their indices, and the first digits of their uniforms.

    ``words`` holds the next 64 digits of those for whom they were drawn, if of any, and ``exact`` those that were
    compared at growing precision; members are places in ``index``.
    """

    index: Indices
    prefix: NDArray[np.uint16]
    scores: Scores
    noise: Noise
    reference: Any
    entropy: Entropy
    words: NDArray[np.uint64] | None = field(init=False, default=None)
    has_word: NDArray[np.bool_] | None = field(init=False, default=None)
    exact: dict[int, Racer] = field(init=False, default_factory=dict)


# proof-region: settle
def settle(racers: Racers, lower: Floats, upper: Floats, k: int, ordered: bool) -> Indices:
    """The k winners among ``racers``, whose noisy advantages lie between ``lower`` and ``upper``.

    Best first if ``ordered``; else in no particular order.
    """
    return racers.index[_settled(racers, lower, upper, k, ordered)]  # [winners]


def finalists(racers: Racers, lower: Floats, upper: Floats, k: int) -> list[Racer]:
    """The k winners among ``racers``, best first, each with all digits that were drawn of it."""
    best = [_exact(racers, member) for member in _settled(racers, lower, upper, k, True).tolist()]  # [finalists]
    lacking = [racer for racer in best if not racer.knows_enough]
    while lacking:
        for racer, word in zip(lacking, racers.entropy.words(_indices(lacking)).tolist(), strict=True):
            racer.append(word)  # [extend-all]
        lacking = [racer for racer in lacking if not racer.knows_enough]
    return best


def _indices(racers: list[Racer]) -> Indices:
    return np.array([racer.index for racer in racers], dtype=np.int64)


def _settled(racers: Racers, lower: Floats, upper: Floats, k: int, ordered: bool) -> Indices:
    order = (-lower).argsort(kind="stable")  # [descending]
    if decided(lower[order], upper[order], k, ordered):
        return order[:k]  # [at-once]
    runs = opened(lower[order], upper[order])
    runs = runs[matter(runs, k, ordered)]
    _draw_words(racers, order[runs.places])
    references = np.full(len(runs), racers.reference, dtype=racers.scores.take([]).dtype)
    unchanged = np.zeros(len(runs), dtype=np.bool_)
    while len(runs):
        places, number = runs.places, runs.numbers
        lower, upper = _closer_bounds(racers, order[places], references[number])
        better = np.lexsort((-lower, number))  # [within]
        order[places] = order[places[better]]
        if apart(number, lower[better], upper[better]):
            break  # [all-apart]
        parts, parent = _undecided(runs, lower[better], upper[better], k, ordered)
        same = parts.lengths == runs.lengths[parent]
        hopeless = same & unchanged[parent]  # [hopeless]
        _decide_all(racers, order, parts[hopeless])
        runs, unchanged = parts[~hopeless], same[~hopeless]
        references = racers.scores.take(racers.index[order[(runs.starts + runs.ends) // 2]])  # [rebase]
    return order[:k]


def _undecided(runs: Runs, lower: Floats, upper: Floats, k: int, ordered: bool) -> tuple[Runs, Indices]:
    """The parts of ``runs`` that bounds leave open where it matters, and the number of the run that each is of."""
    parts, parent = divided(runs, lower, upper)
    chosen = matter(parts, k, ordered)
    return parts[chosen], parent[chosen]


def _draw_words(racers: Racers, members: Indices) -> None:
    racers.words = np.zeros(len(racers.index), dtype=np.uint64)
    racers.has_word = np.zeros(len(racers.index), dtype=np.bool_)
    racers.words[members] = racers.entropy.words(racers.index[members])  # [more-digits]
    racers.has_word[members] = True


def _closer_bounds(racers: Racers, members: Indices, references: NDArray[Any]) -> tuple[Floats, Floats]:
    """Bounds on the noisy advantages of ``members``, each over its reference, from the first 64 digits of each."""
    assert racers.words is not None
    rest = racers.words[members] >> np.uint64(16)
    digits = (racers.prefix[members].astype(np.uint64) << np.uint64(48)) | rest  # [first-64]
    advantages = racers.scores.advantages(racers.scores.take(racers.index[members]), references)
    return noisy_bounds(advantages, *quantile_bounds(racers.noise, digits))


def _decide_all(racers: Racers, order: Indices, runs: Runs) -> None:
    for start, end in zip(runs.starts.tolist(), runs.ends.tolist(), strict=True):
        order[start:end] = _decide(racers, order[start:end])  # [decide]


def _decide(racers: Racers, members: Indices) -> Indices:
    """``members`` in descending order, by comparisons at growing precision."""
    exact = [_exact(racers, member) for member in members.tolist()]
    exact.sort(key=functools.cmp_to_key(_compare))
    return np.array([racer.member for racer in exact], dtype=np.int64)


def _exact(racers: Racers, member: int) -> Racer:
    if member not in racers.exact:
        racers.exact[member] = Racer(racers, member)  # [once]
    return racers.exact[member]


class Racer:
    """One racer, at any precision: its further digits are drawn when they are needed, and kept."""

    def __init__(self, racers: Racers, member: int) -> None:
        self.member = member
        self.index = int(racers.index[member])
        self._racers = racers
        self.digits = int(racers.prefix[member])  # [first-16]
        self.known = DIGITS
        if racers.words is not None and racers.has_word is not None and racers.has_word[member]:
            self.append(int(racers.words[member]))  # [first-80]
        self._enclosures: list[Interval] = []

    @functools.cached_property
    def advantage(self) -> mpq:
        """The advantage over the reference, exactly."""
        advantage = self._racers.scores.exact(self.index, self._racers.reference)
        return mpq(advantage.numerator, advantage.denominator)  # [advantage]

    @property
    def knows_enough(self) -> bool:
        """Whether no digits are missing for the enclosure of level 0."""
        return self.known >= 2 * _WORD

    def enclosure(self, level: int) -> Interval:
        """An interval that holds the noise; it shrinks as ``level`` grows."""
        while len(self._enclosures) <= level:
            precision = 2 * _WORD << len(self._enclosures)
            while self.known < precision:
                self.append(int(self._racers.entropy.words(_indices([self]))[0]))  # [extend]
            unit = mpq(1, 1 << self.known)
            lower = self._racers.noise.quantile(self.digits * unit, precision)[0]
            upper = self._racers.noise.quantile((self.digits + 1) * unit, precision)[1]
            self._enclosures.append((lower, upper))  # [enclose]
        return self._enclosures[level]

    def append(self, word: int) -> None:
        """Note the next 64 digits."""
        self.digits = self.digits << _WORD | word
        self.known += _WORD


def _compare(a: Racer, b: Racer) -> int:
    if a is b:
        return 0
    lead = a.advantage - b.advantage  # [lead]
    for level in range(MOST_LEVELS + 1):
        at = Intervals(2 * _WORD << level)
        noise = at.add(a.enclosure(level), at.negative(b.enclosure(level)))
        gap = at.add(at.rational(lead), noise)  # [difference]
        if gap[0] > 0:
            return -1  # [above]
        if gap[1] < 0:
            return 1  # [below]
    raise EntropyError("the source of randomness repeats itself: two candidates have the same digits")


# end-proof-region: settle
