"""Candidates whose noise is known to some digits; more are drawn only if the release is still open."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from gmpy2 import mpq
from numpy.typing import NDArray

from ...errors import PlatformError
from ...numerics.arithmetic import Interval, Intervals, round_down, round_up
from ...numerics.floats import Floats
from ..noises.noise import Noise
from .advantages import ScaledScores, noisy_bounds
from .entropy import Entropy, Indices
from .quantile_tables import DIGITS, quantile_bounds, quantile_table

# Runs of places in a ranking within which the order is open, and their division by bounds, all runs in one pass.


# proof-region: runs
@dataclass(frozen=True, eq=False)
class PlaceRuns:
    """Disjoint runs in ascending order: run r has the places ``starts[r], ..., ends[r] - 1``."""

    starts: Indices
    ends: Indices

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, chosen: NDArray[np.bool_]) -> PlaceRuns:
        return PlaceRuns(self.starts[chosen], self.ends[chosen])

    @property
    def run_lengths(self) -> Indices:
        return self.ends - self.starts

    @property
    def run_numbers(self) -> Indices:
        return np.repeat(np.arange(len(self)), self.run_lengths)

    @property
    def run_places(self) -> Indices:
        """All places, those of the first run first."""
        lengths = self.run_lengths
        before = np.cumsum(lengths) - lengths
        return np.asarray(np.arange(lengths.sum()) + np.repeat(self.starts - before, lengths))  # [places]


def divide_all_places(lower: Floats, upper: Floats) -> PlaceRuns:
    """Return the parts into which bounds divide the one run of all places; ``lower`` descends."""
    rest = np.maximum.accumulate(upper[::-1])[::-1]
    begins = np.ones(len(lower) + 1, dtype=np.bool_)
    np.greater(lower[:-1], rest[1:], out=begins[1:-1])  # [cut-of-all]
    bounds = begins.nonzero()[0]
    return PlaceRuns(bounds[:-1], bounds[1:])


def is_order_decided(number: Indices, lower: Floats, upper: Floats) -> bool:
    """Return whether bounds decide the order within all runs, whose racers have these numbers; ``lower`` descends."""
    return bool(((lower[:-1] > upper[1:]) | (number[:-1] != number[1:])).all())  # [apart]


def divide_runs(runs: PlaceRuns, lower: Floats, upper: Floats) -> tuple[PlaceRuns, Indices]:
    """Return the parts into which bounds divide ``runs``, and for each part the number of the run that contains it.

    ``lower`` and ``upper`` are the bounds of the racers at ``runs.places``; within each run, ``lower`` descends. A run
    is cut between two places if every racer before is certainly above every racer after.
    """
    number = runs.run_numbers
    ranked = np.empty(len(number), dtype=np.complex128)
    ranked.real, ranked.imag = -number, upper
    rest = np.maximum.accumulate(ranked[::-1])[::-1].imag  # [rest]
    begins = np.ones(len(number) + 1, dtype=np.bool_)
    np.logical_or(lower[:-1] > rest[1:], number[:-1] != number[1:], out=begins[1:-1])  # [cut]
    bounds = begins.nonzero()[0]
    first, after = bounds[:-1], bounds[1:]
    starts = runs.run_places[first]
    return PlaceRuns(starts, starts + (after - first)), number[first]  # [parts]


def is_selection_decided(lower: Floats, upper: Floats, k: int, ordered: bool) -> bool:
    """Return whether bounds of all racers decide the k best, and, if ``ordered``, their order; ``lower`` ascends."""
    n = len(lower)
    first, end = max(n - k, 1), n if ordered else n - k + 1
    rest = np.maximum.accumulate(upper[: end - 1])  # [rest-of-all]
    return bool(np.count_nonzero(lower[first:end] > rest[first - 1 :]) == end - first)  # [decided]


def find_decided_winners(bounds: list[tuple[float, float, int]], k: int, ordered: bool) -> list[int] | None:
    """Return the k best racers, best first if ``ordered``, if the bounds of all racers decide them; else None.

    ``bounds`` has a triple (lower, upper, racer) for each racer.
    """
    ranking = sorted(bounds, reverse=True)  # [ranked]
    last = min(k, len(ranking) - 1)
    rest = max([upper for _, upper, _ in ranking[last:]])  # [best-rest]
    for lower, upper, _ in ranking[:last][::-1] if ordered else ranking[k - 1 : last]:
        if lower <= rest:
            return None  # [open]
        if upper > rest:
            rest = upper
    return [racer for _, _, racer in ranking[:k]]  # [decided-few]


def open_parts_mask(parts: PlaceRuns, k: int, ordered: bool) -> NDArray[np.bool_]:
    """Return which parts leave the k best open, or, if ``ordered``, their order."""
    open_end: NDArray[np.bool_] = (parts.starts < k) & (parts.run_lengths > 1)  # [ranking]
    return open_end if ordered else np.logical_and(open_end, parts.ends > k)  # [set]


# end-proof-region: runs


# From bounds to certainty: draw digits until the winners, and their order if it is released, are decided.

_WORD = 64  # digits come in machine words
MOST_LEVELS = 12  # at this level 524,288 digits are compared: only a source that repeats itself leaves two undecided


@dataclass
class Contenders:
    """Candidates still in the race: their indices, and the first digits of their uniforms.

    ``words`` has the next 64 digits of those for which they were drawn, if any, and ``exact`` has those that were
    compared at growing precision; members are places in ``index``.
    """

    index: Indices
    prefix: NDArray[np.uint16]
    scores: ScaledScores
    noise: Noise
    reference: Any
    entropy: Entropy
    words: NDArray[np.uint64] | None = field(init=False, default=None)
    has_word: NDArray[np.bool_] | None = field(init=False, default=None)
    exact: dict[int, Contender] = field(init=False, default_factory=dict)


# proof-region: settle
def resolve_winners(racers: Contenders, lower: Floats, upper: Floats, k: int, ordered: bool) -> Indices:
    """Return the k winners among ``racers``, whose noisy advantages are between ``lower`` and ``upper``.

    The winners are best first if ``ordered``; else in no particular order.
    """
    return racers.index[_resolve_members(racers, lower, upper, k, ordered)]  # [winners]


def resolve_finalists(racers: Contenders, lower: Floats, upper: Floats, k: int) -> list[Contender]:
    """Return the k winners among ``racers``, best first, each with all digits that were drawn for it."""
    best = [
        _exact_contender(racers, member) for member in _resolve_members(racers, lower, upper, k, True).tolist()
    ]  # [finalists]
    lacking = [racer for racer in best if not racer.has_enough_digits]
    while lacking:
        for racer, word in zip(lacking, racers.entropy.draw_words(_contender_indices(lacking)).tolist(), strict=True):
            racer.append(word)  # [extend-all]
        lacking = [racer for racer in lacking if not racer.has_enough_digits]
    return best


def _contender_indices(racers: list[Contender]) -> Indices:
    return np.array([racer.index for racer in racers], dtype=np.int64)


def _resolve_members(racers: Contenders, lower: Floats, upper: Floats, k: int, ordered: bool) -> Indices:
    ascending = lower.argsort()
    if is_selection_decided(lower[ascending], upper[ascending], k, ordered):
        return ascending[: -k - 1 : -1]  # [at-once]
    order = (-lower).argsort(kind="stable")  # [descending]
    runs = divide_all_places(lower[order], upper[order])
    runs = runs[open_parts_mask(runs, k, ordered)]
    _draw_words(racers, order[runs.run_places])
    references = np.full(len(runs), racers.reference, dtype=racers.scores.take([]).dtype)
    unchanged = np.zeros(len(runs), dtype=np.bool_)
    while len(runs):
        places, number = runs.run_places, runs.run_numbers
        lower, upper = _closer_bounds(racers, order[places], references[number])
        better = np.lexsort((-lower, number))  # [within]
        order[places] = order[places[better]]
        if is_order_decided(number, lower[better], upper[better]):
            break  # [all-apart]
        parts, parent = _undecided_parts(runs, lower[better], upper[better], k, ordered)
        same = parts.run_lengths == runs.run_lengths[parent]
        hopeless = same & unchanged[parent]  # [hopeless]
        _order_runs_exactly(racers, order, parts[hopeless])
        runs, unchanged = parts[~hopeless], same[~hopeless]
        references = racers.scores.take(racers.index[order[(runs.starts + runs.ends) // 2]])  # [rebase]
    return order[:k]


def _undecided_parts(runs: PlaceRuns, lower: Floats, upper: Floats, k: int, ordered: bool) -> tuple[PlaceRuns, Indices]:
    """Return the parts of ``runs`` that bounds leave open if that matters, and the number of the run of each part."""
    parts, parent = divide_runs(runs, lower, upper)
    chosen = open_parts_mask(parts, k, ordered)
    return parts[chosen], parent[chosen]


def _draw_words(racers: Contenders, members: Indices) -> None:
    racers.words = np.zeros(len(racers.index), dtype=np.uint64)
    racers.has_word = np.zeros(len(racers.index), dtype=np.bool_)
    racers.words[members] = racers.entropy.draw_words(racers.index[members])  # [more-digits]
    racers.has_word[members] = True


def _closer_bounds(racers: Contenders, members: Indices, references: NDArray[Any]) -> tuple[Floats, Floats]:
    """Return bounds on the noisy advantages of ``members``, each over its reference, from 64 digits of each."""
    assert racers.words is not None
    rest = racers.words[members] >> np.uint64(16)
    digits = (racers.prefix[members].astype(np.uint64) << np.uint64(48)) | rest  # [first-64]
    advantages = racers.scores.approximate_advantages(racers.scores.take(racers.index[members]), references)
    return noisy_bounds(advantages, *quantile_bounds(racers.noise, digits))


def _order_runs_exactly(racers: Contenders, order: Indices, runs: PlaceRuns) -> None:
    for start, end in zip(runs.starts.tolist(), runs.ends.tolist(), strict=True):
        order[start:end] = _order_exactly(racers, order[start:end])  # [decide]


def _order_exactly(racers: Contenders, members: Indices) -> Indices:
    """Return ``members`` in descending order, by comparisons at growing precision."""
    exact = [_exact_contender(racers, member) for member in members.tolist()]
    exact.sort(key=functools.cmp_to_key(_compare_contenders))
    return np.array([racer.member for racer in exact], dtype=np.int64)


def _exact_contender(racers: Contenders, member: int) -> Contender:
    if member not in racers.exact:
        racers.exact[member] = Contender(racers, member)  # [once]
    return racers.exact[member]


class Contender:
    """One racer, at any precision: its further digits are drawn when they are needed, and kept."""

    def __init__(self, racers: Contenders, member: int) -> None:
        self.member = member
        self.index = int(racers.index[member])
        self._racers = racers
        self.digits = int(racers.prefix[member])  # [first-16]
        self.known = DIGITS
        if racers.words is not None and racers.has_word is not None and racers.has_word[member]:
            self.append(int(racers.words[member]))  # [first-80]
        self._enclosures: list[Interval] = []

    @functools.cached_property
    def exact_advantage(self) -> mpq:
        """The exact advantage over the reference."""
        advantage = self._racers.scores.exact_advantage(self.index, self._racers.reference)
        return mpq(advantage.numerator, advantage.denominator)  # [advantage]

    @property
    def has_enough_digits(self) -> bool:
        """Whether the known digits are enough for the enclosure of level 0."""
        return self.known >= 2 * _WORD

    def noise_enclosure(self, level: int) -> Interval:
        """Return an interval that contains the noise; it shrinks as ``level`` grows."""
        while len(self._enclosures) <= level:
            precision = 2 * _WORD << len(self._enclosures)
            while self.known < precision:
                self.append(int(self._racers.entropy.draw_words(_contender_indices([self]))[0]))  # [extend]
            unit = mpq(1, 1 << self.known)
            lower = self._racers.noise.quantile(self.digits * unit, precision)[0]
            upper = self._racers.noise.quantile((self.digits + 1) * unit, precision)[1]
            self._enclosures.append((lower, upper))  # [enclose]
        return self._enclosures[level]

    def append(self, word: int) -> None:
        self.digits = self.digits << _WORD | word
        self.known += _WORD


def _compare_contenders(a: Contender, b: Contender) -> int:
    if a is b:
        return 0
    lead = a.exact_advantage - b.exact_advantage  # [lead]
    for level in range(MOST_LEVELS + 1):
        at = Intervals(2 * _WORD << level)
        noise = at.add(a.noise_enclosure(level), at.negative(b.noise_enclosure(level)))
        gap = at.add(at.rational(lead), noise)  # [difference]
        if gap[0] > 0:
            return -1  # [above]
        if gap[1] < 0:
            return 1  # [below]
    raise PlatformError("the source of randomness returned repeated values: two candidates have the same digits")


# end-proof-region: settle


# Short vectors of scores: every candidate draws, and its noisy score is bounded relative to the best score.
#
# Scores are measured from the best score down, so all distances have one sign and one multiplication bounds them.

MOST = 2**14  # scores: for longer vectors it pays to draw no digits for blocks that cannot contain a winner
FEW = 32  # scores: so few are bounded one by one, which is faster than arrays
_SORTED = 64  # scores: of more than this, those that cannot win are dropped before the others are sorted
_MODERATE = Fraction(2) ** 900  # scales and their reciprocals up to this make factors that are normal numbers
_RELATIVE = 2.0**-50  # margin for a distance and a sum: eight times the error of one rounding
_ABSOLUTE = 2.0**-1060  # margin for subnormal numbers, whose errors are absolute
_HUGE = 2.0**1022  # distances up to here are added to noise without overflow


# proof-region: short
@functools.lru_cache(maxsize=256)
def scale_factors(scale: Fraction) -> tuple[float, float] | None:
    """Return bounds on 1 / scale with a margin for rounding, from above and from below; None if float64 has none."""
    if not 1 / _MODERATE <= scale <= _MODERATE:
        return None  # [moderate]
    room = Fraction(_RELATIVE)
    return round_up((1 + room) / scale), round_down((1 - room) / scale)  # [factors]


@functools.lru_cache(maxsize=16)
def padded_table(noise: Noise) -> NDArray[np.float64]:
    """Return the table of ``noise``, a row of lower and one of upper bounds, with a margin for rounding."""
    entries = quantile_table(noise)
    padded = np.stack([entries.lower, entries.upper])
    margin = np.abs(padded) * _RELATIVE + _ABSOLUTE
    padded[0] -= margin[0]  # [padded-lower]
    padded[1] += margin[1]  # [padded-upper]
    return padded


class ScoreDistances(NamedTuple):
    """The best score of short vectors and the distances of the others behind it, known before anything is drawn.

    Each distance is rounded to nearest. ``factors`` are the bounds on 1 / scale.
    """

    best: Any
    distance: Floats
    factors: tuple[float, float]

    def noisy_score_bounds(self, noise: Noise, prefix: NDArray[np.uint16]) -> tuple[Floats, Floats]:
        """Return bounds on noise minus distance / scale for each prefix; no bound is NaN."""
        lower, upper = padded_table(noise).take(prefix, axis=1)  # [looked-up]
        most, least = self.factors
        lower -= self.distance * most  # [lower-bound]
        upper -= self.distance * least  # [upper-bound]
        return lower, upper


def distances_by_row(rows: NDArray[Any], scale: Fraction, sign: int) -> ScoreDistances | None:
    """Return :func:`score_distances` for several vectors, one in each row; None if it is None for one of them."""
    best = rows.max(axis=1, keepdims=True) if sign > 0 else rows.min(axis=1, keepdims=True)  # [best-of-each]
    return _measure_distances(rows, best, scale, sign)


def score_distances(scores: ScaledScores) -> ScoreDistances | None:
    """Return the distances of all scores from the best; None if float64 numbers are not sufficient."""
    values = scores.values
    best = values[values.argmax() if scores.sign > 0 else values.argmin()]  # [best]
    return _measure_distances(values, best, scores.scale, scores.sign)


def _measure_distances(values: NDArray[Any], best: Any, scale: Fraction, sign: int) -> ScoreDistances | None:
    factors = scale_factors(scale)
    if factors is None or values.dtype.kind == "O":
        return None
    distance = best - values if sign > 0 else values - best  # [distance]
    if values.dtype.kind != "f":
        return ScoreDistances(best, distance.view(np.uint64).astype(np.float64), factors)  # [modular-distance]
    if not np.maximum.reduce(distance, axis=None) * factors[1] < _HUGE:
        return None  # [overflow]
    return ScoreDistances(best, distance, factors)


class FewScores(NamedTuple):
    """A few scores: the best of them, the prefixes that were drawn, and bounds on the noisy advantages over the best.

    A bound is a triple (lower, upper, index).
    """

    best: Any
    prefix: NDArray[np.uint16]
    bounds: list[tuple[float, float, int]]


def bound_few_scores(
    values: NDArray[Any], scale: Fraction, noise: Noise, sign: int, entropy: Entropy
) -> FewScores | None:
    """Return prefixes and bounds for all scores, as :func:`all_contenders` does; None if float64 is not sufficient."""
    factors = scale_factors(scale)
    if factors is None or values.dtype.kind == "O":
        return None
    scores = values.tolist()
    best = max(scores) if sign > 0 else min(scores)  # [few-best]
    distances = [best - score if sign > 0 else score - best for score in scores]  # [few-distances]
    most, least = factors
    if values.dtype.kind == "f" and not max(distances) * least < _HUGE:
        return None  # [few-overflow]
    index = np.arange(len(scores))
    prefix = entropy.draw_prefixes(index)  # [draw-few]
    columns = *padded_table(noise).take(prefix, axis=1).tolist(), distances, index.tolist()
    found = [(lower - far * most, upper - far * least, i) for lower, upper, far, i in zip(*columns, strict=True)]
    return FewScores(best, prefix, found)  # [few-bounds]


def few_contenders(
    few: FewScores, scores: ScaledScores, noise: Noise, entropy: Entropy
) -> tuple[Contenders, Floats, Floats]:
    """Return ``few`` in the form of :func:`all_contenders`: all are racers, with the same digits and bounds."""
    lower, upper, index = zip(*few.bounds, strict=True)
    racers = Contenders(np.array(index), few.prefix, scores, noise, few.best, entropy)  # [few-racers]
    return racers, np.array(lower), np.array(upper)


def all_contenders(
    scores: ScaledScores, noise: Noise, k: int, entropy: Entropy
) -> tuple[Contenders, Floats, Floats] | None:
    """Return the candidates that may be among the k best as racers, with bounds on their noisy advantages.

    Returns None if float64 is not sufficient.
    """
    known = score_distances(scores)
    if known is None:
        return None
    index = np.arange(len(scores.values))
    prefix = entropy.draw_prefixes(index)  # [draw]
    lower, upper = known.noisy_score_bounds(noise, prefix)
    if len(index) > max(k, _SORTED):
        index = (upper >= np.partition(lower, -k)[-k]).nonzero()[0]  # [beaten]
        prefix, lower, upper = prefix[index], lower[index], upper[index]
    return Contenders(index, prefix, scores, noise, known.best, entropy), lower, upper


# end-proof-region: short
