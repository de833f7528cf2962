"""The exact ranking of noisy scores with the gaps between them, each correctly rounded; also many at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import gmpy2
import numpy as np
from gmpy2 import mpq
from numpy.typing import NDArray

from ...errors import PlatformError
from ...numerics.arithmetic import Interval
from ...numerics.floats import Floats, Pair, nearest_pair, two_product, two_sum
from ..noises.noise import Noise
from ..noises.paired import QUANTILES
from . import entropy as noiseless
from . import settle as short
from .advantages import ScaledScores, widen_scores
from .entropy import SYSTEM, Entropy, Indices
from .race import find_contenders
from .rows import LONGEST, OffsetEntropy, decided_rows
from .settle import MOST_LEVELS, Contender, Contenders, resolve_finalists

_PRECISION = 128  # bits, two words: with the digits that are drawn first, they decide all but a few gaps in a million
_DOWN = gmpy2.context(precision=_PRECISION, round=gmpy2.RoundDown)
_UP = gmpy2.context(precision=_PRECISION, round=gmpy2.RoundUp)
_NEAREST = gmpy2.context(precision=53, round=gmpy2.RoundToNearest)  # rounds as float64 rounds its normal numbers
_LEAST, _MOST = 2.0**-1000, 2.0**1000  # numbers between them are normal, with a wide margin


# proof-region: gaps
def top_k_with_gaps(
    values: NDArray[Any], scale: Fraction, noise: Noise, k: int, *, sign: int, entropy: Entropy = SYSTEM
) -> tuple[Indices, Floats]:
    """Return the ranking of the k largest of ``sign * values + scale * noise``, and how far each is ahead of the next.

    Args:
        values: Canonical scores, shape (d,): int64, uint64, Python integers as objects, or finite float64.
        scale: The scale of the noise, > 0.
        noise: The distribution of the noise at scale 1.
        k: The number of winners, 1 <= k < d.
        sign: +1 for the largest scores, -1 for the smallest.
        entropy: The source of digits; by default the operating system.

    Returns:
        int64 array of shape (k,), best first; float64 array of shape (k,), whose last gap is that to the runner-up.
    """
    with np.errstate(all="ignore"):  # [floating-point-state]
        best = resolve_finalists(
            *find_contenders(values, scale, noise, k + 1, sign=sign, entropy=entropy), k + 1
        )  # [runner-up]
    return indices_and_gaps(best, ScaledScores(values, scale, sign), noise)  # [released]


def indices_and_gaps(best: list[Contender], scores: ScaledScores, noise: Noise) -> tuple[Indices, Floats]:
    """Return the indices of all of ``best`` except the last, and the gaps between successive ones."""
    index = np.array([racer.index for racer in best], dtype=np.int64)
    exact = [scores.sign * mpq(score) for score in scores.values[index].tolist()]
    near = [_slope_enclosure(racer, noise) for racer in best]
    unit = mpq(scores.scale.numerator, scores.scale.denominator)
    gaps = [
        _quick_gap(x - y, first, second, unit) or _correctly_rounded_gap(a, b, unit)
        for (x, y), (first, second), (a, b) in zip(pairwise(exact), pairwise(near), pairwise(best), strict=True)
    ]  # [gaps]
    return index[:-1], np.array(gaps)


def _slope_enclosure(racer: Contender, noise: Noise) -> Interval | None:
    """Return an interval that contains the noise, from one quantile and a bound on its slope.

    Returns None if the known digits are all 0 or all 1.
    """
    below, above = racer.digits, (1 << racer.known) - racer.digits - 1
    if below == 0 or above == 0:
        return None
    lower, upper = noise.quantile(mpq(racer.digits, 1 << racer.known), _PRECISION)
    slope = racer.known + 3 - below.bit_length() - above.bit_length()
    return lower, _UP.add(upper, _UP.mul_2exp(1, slope) if slope > 0 else _UP.div_2exp(1, -slope))  # [slope]


def _quick_gap(lead: mpq, a: Interval | None, b: Interval | None, scale: mpq) -> float | None:
    """Return the gap of two scores with the difference ``lead`` if these intervals of noise decide it, else None."""
    if a is None or b is None:
        return None
    least = _NEAREST.plus(_DOWN.add(_DOWN.mul(_DOWN.sub(a[0], b[1]), scale), lead))  # [least-nearest]
    most = _NEAREST.plus(_UP.add(_UP.mul(_UP.sub(a[1], b[0]), scale), lead))  # [most-nearest]
    return float(most) if least == most and _LEAST <= most <= _MOST else None  # [normal]


def _correctly_rounded_gap(a: Contender, b: Contender, scale: mpq) -> float:
    """Return how far ``a`` is ahead of ``b`` in units of the scores: a positive real number, rounded to nearest."""
    lead = a.exact_advantage - b.exact_advantage  # [lead]
    for level in range(MOST_LEVELS + 1):
        (a_lower, a_upper), (b_lower, b_upper) = a.noise_enclosure(level), b.noise_enclosure(level)
        if all(map(gmpy2.is_finite, (a_lower, a_upper, b_lower, b_upper))):  # [finite]
            least = _round_to_nearest(scale * (lead + mpq(a_lower) - mpq(b_upper)))  # [least]
            most = _round_to_nearest(scale * (lead + mpq(a_upper) - mpq(b_lower)))  # [most]
            if least == most:
                return most  # [decided]
    raise PlatformError("the source of randomness returned repeated values: a gap stays half-way between two numbers")


def _round_to_nearest(value: mpq | Fraction) -> float:
    """Round ``value`` to float64 as IEEE 754 does: to nearest, ties to even, and infinite beyond the largest."""
    try:
        return int(value.numerator) / int(value.denominator)  # [nearest]
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # [overflow]


def noiseless_top_k_with_gaps(values: NDArray[Any], k: int, *, sign: int) -> tuple[Indices, Floats]:
    """Return the exact ranking without noise and its gaps, rounded; the lowest index is first among equal scores."""
    best = noiseless.top_k(values, k + 1, sign=sign, ordered=True)
    scores = [sign * Fraction(score) for score in values[best].tolist()]
    return best[:k], np.array([_round_to_nearest(a - b) for a, b in pairwise(scores)])  # [exact-gaps]


# end-proof-region: gaps


_TOGETHER = 2**16  # noisy scores in one table: half a MiB for each bound, which fits in a cache
_MODERATE = Fraction(2) ** 300  # scales and their reciprocals up to this make products that do not underflow
_RARE = 2.0**-40  # candidates whose noise is this far out are left to exact arithmetic
_HALF, _LAST = np.uint64(32), np.uint64(2**32 - 1)  # half the digits of a word, and a mask of them


# proof-region: gap_rows
def many_top_k_with_gaps(
    values: NDArray[Any], scale: Fraction, noise: Noise, k: int, times: int, *, sign: int, entropy: Entropy = SYSTEM
) -> tuple[Indices, Floats]:
    """Return the results of ``times`` independent calls of :func:`gaps.top_k_with_gaps`, of shape (times, k)."""
    scores = ScaledScores(widen_scores(np.ascontiguousarray(values)), scale, sign)
    winners, leads = np.empty((times, k), dtype=np.int64), np.empty((times, k))
    races, d = _Races(scores, noise, k, entropy), len(values)
    first = np.arange(times) * d
    together = max(_TOGETHER // d, 1)
    for start in range(0, times, together):
        part = slice(start, start + together)
        with np.errstate(all="ignore"):  # [floating-point-state]
            winners[part], leads[part] = races.run_together(first[part])  # [part]
    return winners, leads


@dataclass(frozen=True)
class _Races:
    """The data that all races share."""

    scores: ScaledScores
    noise: Noise
    k: int
    entropy: Entropy

    def run_together(self, first: Indices) -> tuple[Indices, Floats]:
        """Run several races; the source of digits numbers the candidates of each race from an entry of ``first`` on."""
        values, scale = self.scores.values, self.scores.scale
        served = len(values) <= LONGEST and 1 / _MODERATE <= scale <= _MODERATE  # [moderate]
        known = short.score_distances(self.scores) if served else None
        if known is None:
            found = [self._run_alone(at) for at in first.tolist()]
            return np.array([one[0] for one in found]), np.array([one[1] for one in found])  # [one-by-one]
        number = np.arange(len(values))
        prefix = self.entropy.draw_prefixes((first[:, None] + number).ravel()).reshape(len(first), -1)  # [draw]
        lower, upper = known.noisy_score_bounds(self.noise, prefix)
        best = np.argsort(-lower, axis=1)
        order = best[:, : self.k + 1]
        sure = decided_rows(lower, upper, best, self.k + 1, True)  # [ranked]
        rows, ahead = np.flatnonzero(sure), order[sure]
        words = self.entropy.draw_words((first[sure, None] + ahead).ravel()).reshape(ahead.shape)  # [words]
        winners, leads = order[:, : self.k].copy(), np.empty((len(first), self.k))
        leads[sure], closed = self._compute_gaps(ahead, np.take_along_axis(prefix[sure], ahead, axis=1), words)
        kept: dict[int, dict[int, int]] = {row: {} for row in np.flatnonzero(~sure).tolist()}
        for place in np.flatnonzero(~closed).tolist():
            kept[int(rows[place])] = dict(zip(ahead[place].tolist(), words[place].tolist(), strict=True))  # [kept]
        for row, known_words in kept.items():
            source = _ReplayOffsetEntropy(self.entropy, int(first[row]), known_words)
            racers = Contenders(number, prefix[row], self.scores, self.noise, known.best, source)
            finally_best = resolve_finalists(racers, lower[row], upper[row], self.k + 1)  # [settle]
            winners[row], leads[row] = indices_and_gaps(finally_best, self.scores, self.noise)  # [released]
        return winners, leads

    def _run_alone(self, first: int) -> tuple[Indices, Floats]:
        values, scale, sign = self.scores.values, self.scores.scale, self.scores.sign
        return top_k_with_gaps(values, scale, self.noise, self.k, sign=sign, entropy=OffsetEntropy(self.entropy, first))

    def _compute_gaps(
        self, order: Indices, prefix: NDArray[np.uint16], words: NDArray[np.uint64]
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the gaps between successive candidates of each row, and a mask of the rows whose gaps are certain."""
        (high, low), error = self._noise_with_error(prefix, words)
        lead = _exact_leads(self.scores.values[order], self.scores.sign)
        apart, left = two_sum(high[:, :-1], -high[:, 1:])
        left = left + (low[:, :-1] - low[:, 1:])  # [apart]
        scale, less = nearest_pair(self.scores.scale)
        grown, lost = two_product(scale, apart)
        lost = lost + (scale * left + less * apart)  # [grown]
        total, rest = two_sum(lead[0], grown)
        size = np.abs(rest) + np.abs(lead[1]) + np.abs(lost)
        rest = (rest + lead[1]) + lost  # [total]
        room = scale * (error[:, :-1] + error[:, 1:] + 2.0**-70) + size * 2.0**-49  # [room]
        least, most = total + (rest - room), total + (rest + room)
        return most, ((least == most) & (least > 0)).all(axis=1)  # [both-round]

    def _noise_with_error(self, prefix: NDArray[np.uint16], words: NDArray[np.uint64]) -> tuple[Pair, Floats]:
        """Return the noise of candidates whose uniforms begin with these digits, and a bound on its error."""
        front = prefix.astype(np.float64) * 2.0**-16 + (words >> _HALF).astype(np.float64) * 2.0**-48
        back = ((words & _LAST).astype(np.float64) + 0.5) * 2.0**-80  # [middle]
        u, v = two_sum(front, back), two_sum(1 - front, -back)
        high, low, error = QUANTILES[self.noise.name](u, v)
        nearer = np.minimum(u[0], v[0])
        return (high, low), np.where(nearer < _RARE, np.inf, error + 2.0**-78 / nearer)  # [cell]


class _ReplayOffsetEntropy(OffsetEntropy):
    """The digits of one race of several; words that were drawn for some candidates before are returned first."""

    def __init__(self, entropy: Entropy, offset: int, kept: dict[int, int]) -> None:
        super().__init__(entropy, offset)
        self._kept = kept

    def draw_words(self, index: Indices) -> NDArray[np.uint64]:
        first = [self._kept.pop(candidate, None) for candidate in index.tolist()]
        fresh = iter(super().draw_words(index[[word is None for word in first]]).tolist())
        return np.array([next(fresh) if word is None else word for word in first], dtype=np.uint64)  # [kept-first]


def _exact_leads(values: NDArray[Any], sign: int) -> Pair:
    """Return the exact lead of each of ``values`` over the next in its row."""
    ahead, after = (values[:, :-1], values[:, 1:]) if sign > 0 else (values[:, 1:], values[:, :-1])
    if values.dtype == np.float64:
        return two_sum(ahead, -after)  # [float-lead]
    raw, origin = ahead.view(np.uint64), after.view(np.uint64)
    larger = ahead >= after
    distance = np.where(larger, raw - origin, origin - raw)  # [modular-lead]
    high, low = two_sum((distance >> _HALF).astype(np.float64) * 2.0**32, (distance & _LAST).astype(np.float64))
    return np.where(larger, high, -high), np.where(larger, low, -low)  # [integer-lead]


# end-proof-region: gap_rows
