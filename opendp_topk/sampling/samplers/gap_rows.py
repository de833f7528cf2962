"""Many rankings with gaps at once, each over the same short vector of scores and with digits of its own.

The first 80 digits of each finalist bound each gap to about 70 digits after the point. If both ends round to the same
float64 number, that number is the gap. Races that this leaves open are decided one by one, from the digits that were
drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...numerics.floats import Floats
from ...numerics.pairs import Pair, nearest_pair, two_product, two_sum
from ..noises.noise import Noise
from ..noises.paired import QUANTILES
from . import gaps
from . import settle as short
from .advantages import ScaledScores, widen_scores
from .entropy import SYSTEM, Entropy, Indices
from .rows import OffsetEntropy, decided_rows
from .settle import Contenders, resolve_finalists

_TOGETHER = 2**16  # noisy scores in one table: half a MiB for each bound, which fits in a cache
_MODERATE = Fraction(2) ** 300  # scales and their reciprocals up to this make products that do not underflow
_RARE = 2.0**-40  # candidates whose noise is this far out are left to exact arithmetic
_HALF, _LAST = np.uint64(32), np.uint64(2**32 - 1)  # half the digits of a word, and a mask of them


# proof-region: gap_rows
def top_k_with_gaps(
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
        served = len(values) <= short.MOST and 1 / _MODERATE <= scale <= _MODERATE  # [moderate]
        known = short.score_distances(self.scores) if served else None
        if known is None:
            found = [self._run_alone(at) for at in first.tolist()]
            return np.array([one[0] for one in found]), np.array([one[1] for one in found])  # [one-by-one]
        number = np.arange(len(values))
        prefix = self.entropy.draw_prefixes((first[:, None] + number).ravel()).reshape(len(first), -1)  # [draw]
        lower, upper = short.noisy_score_bounds(known.distance, known.factor, short.padded_table(self.noise)[prefix])
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
            winners[row], leads[row] = gaps.indices_and_gaps(finally_best, self.scores, self.noise)  # [released]
        return winners, leads

    def _run_alone(self, first: int) -> tuple[Indices, Floats]:
        values, scale, sign = self.scores.values, self.scores.scale, self.scores.sign
        return gaps.top_k_with_gaps(
            values, scale, self.noise, self.k, sign=sign, entropy=OffsetEntropy(self.entropy, first)
        )

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
