"""One race in several parts: each part keeps at most k finalists together with their digits.

The winners of the whole race are among the winners of the parts. If parts are merged, the digits of their finalists are
read again, and only further digits are fresh. So the winners are those of one race, however the candidates are split.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import nsmallest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...numerics.floats import require_subnormals
from ..noises.noise import Noise
from . import entropy as noiseless
from .advantages import ScaledScores, noisy_bounds
from .entropy import SYSTEM, Entropy, Indices, ReplayEntropy
from .quantile_tables import quantile_table
from .race import find_contenders
from .settle import Contenders, resolve_winners


@dataclass(frozen=True)
class Race:
    """The data that all parts of a race share: the arguments of :func:`race.top_k`, except that the scale may be 0."""

    scale: Fraction
    noise: Noise
    k: int
    sign: int
    ordered: bool


@dataclass(frozen=True, eq=False, repr=False)
class Part:
    """The best of ``size`` candidates, at most k of them: their labels and scores, and all digits drawn for them.

    ``prefix`` has the first 16 digits of each finalist and ``words`` the further ones. At scale 0 no digit was drawn. A
    part is as sensitive as the scores: it is written as a pickle, and its content is never displayed.
    """

    size: int
    labels: tuple[Any, ...]
    values: NDArray[Any]
    prefix: NDArray[np.uint16]
    words: tuple[tuple[int, ...], ...]

    def __repr__(self) -> str:
        return f"Part(<finalists of {self.size}>)"


# proof-region: merge
def select_part_finalists(labels: Sequence[Any], values: NDArray[Any], race: Race, entropy: Entropy = SYSTEM) -> Part:
    """Return the finalists among some candidates: the k best of them, or all if there are no more.

    Args:
        labels: One for each candidate: distinct in the whole race, and of one type with an order, such as positions.
        values: Canonical scores, shape (n,), n >= 0: int64, uint64, Python integers as objects, or finite float64.
        race: The data that the parts share.
        entropy: The source of digits; by default the operating system.
    """
    k = min(race.k, len(values))
    if race.scale == 0 or k == 0:
        return _noiseless_part(len(values), labels, values, race)  # [exact-part]
    tape = ReplayEntropy((), entropy)
    with np.errstate(all="ignore"):  # [floating-point-state]
        racers, lower, upper = find_contenders(values, race.scale, race.noise, k, sign=race.sign, entropy=tape)
        best = resolve_winners(racers, lower, upper, k, ordered=False)  # [part-winners]
    finalists = np.isin(racers.index, best)
    index = racers.index[finalists]
    words = tuple(map(tape.drawn_words, index.tolist()))
    return Part(len(values), _labels_at(labels, index), values[index], racers.prefix[finalists], words)  # [finalists]


def merge_finalists(parts: Sequence[Part], race: Race, entropy: Entropy = SYSTEM) -> Part:
    """Return the finalists of one or more parts together; the parts have no candidate in common.

    Words of finalists are requested from ``entropy`` by their places in the concatenated parts.
    """
    joined = _concatenate_parts(parts)
    if race.scale == 0:
        return _noiseless_part(joined.size, joined.labels, joined.values, race)  # [exact-merge]
    if len(joined.labels) <= race.k:
        return joined  # [all-stay]
    tape = ReplayEntropy(joined.words, entropy)
    best = _winner_places(joined, race, False, tape)
    words = tuple(map(tape.drawn_words, best.tolist()))
    return Part(
        joined.size, _labels_at(joined.labels, best), joined.values[best], joined.prefix[best], words
    )  # [merged]


def finish_race(part: Part, race: Race, entropy: Entropy = SYSTEM) -> list[Any]:
    """Return the labels of the k winners, if ``part`` has the finalists of all d >= k candidates.

    The labels are best first if ``race.ordered``, otherwise ascending.
    """
    if race.scale == 0:
        best = _exact_best(part.labels, part.values, race)  # [exact-winners]
    else:
        best = _winner_places(part, race, race.ordered, ReplayEntropy(part.words, entropy))
    winners = list(_labels_at(part.labels, best))
    return winners if race.ordered else sorted(winners)  # [order]


def _winner_places(part: Part, race: Race, ordered: bool, tape: ReplayEntropy) -> Indices:
    """Return the places of the k best finalists."""
    require_subnormals()  # [no-flushing]
    scores, entries = ScaledScores(part.values, race.scale, race.sign), quantile_table(race.noise)
    reference = part.values[part.values.argmax() if race.sign > 0 else part.values.argmin()]  # [reference]
    with np.errstate(all="ignore"):  # [floating-point-state]
        advantages = scores.approximate_advantages(part.values, reference)
        lower, upper = noisy_bounds(advantages, entries.lower[part.prefix], entries.upper[part.prefix])  # [bounds]
        racers = Contenders(np.arange(len(part.labels)), part.prefix, scores, race.noise, reference, tape)
        return resolve_winners(racers, lower, upper, race.k, ordered)  # [winners]


def _concatenate_parts(parts: Sequence[Part]) -> Part:
    """Return the finalists of all parts, those of the first part first."""
    held = [part for part in parts if part.labels] or parts[:1]
    values = [part.values for part in held]
    if len({scores.dtype for scores in values}) > 1:
        values = [scores.astype(object) for scores in values]  # [kinds]
    return Part(
        size=sum(part.size for part in parts),
        labels=tuple(label for part in held for label in part.labels),
        values=np.concatenate(values),
        prefix=np.concatenate([part.prefix for part in held]),
        words=tuple(words for part in held for words in part.words),
    )  # [joined]


def _noiseless_part(size: int, labels: Sequence[Any], values: NDArray[Any], race: Race) -> Part:
    """Return the exact best of these candidates, at most k of them, as the finalists of ``size``."""
    best = _exact_best(labels, values, race)
    return Part(size, _labels_at(labels, best), values[best], np.zeros(len(best), dtype=np.uint16), ((),) * len(best))


def _exact_best(labels: Sequence[Any], values: NDArray[Any], race: Race) -> Indices:
    """Return the places of the k best without noise, best first; among equal scores the lowest label is best."""
    k = min(race.k, len(values))
    if k == 0:
        return np.zeros(0, dtype=np.int64)
    last = values[noiseless.top_k(values, k, sign=race.sign, ordered=True)[-1]]
    able = np.flatnonzero(values >= last if race.sign > 0 else values <= last).tolist()  # [able]
    scores = dict(zip(able, values[able].tolist(), strict=True))
    best = nsmallest(k, able, key=lambda place: (-race.sign * scores[place], labels[place]))  # [label-ties]
    return np.array(best, dtype=np.int64)


def _labels_at(labels: Sequence[Any], places: Indices) -> tuple[Any, ...]:
    return tuple(labels[place] for place in places.tolist())


# end-proof-region: merge
