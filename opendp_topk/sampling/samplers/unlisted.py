"""Winners among items of an unknown domain, with a threshold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import PlatformError
from ..noises.noise import Noise
from . import entropy as noiseless
from . import race, rows
from .entropy import SYSTEM, Entropy, Indices
from .quantile_tables import DIGITS
from .upper_tail import BLOCK

# The first digits of the best of many equal candidates, without a race among them.
#
# A release that ends with the first of them needs no other. Digit by digit, those whose digit is a one remain, if there
# are any.

_WORD = 64  # digits come in machine words
_CHUNK = 2**18  # words at a time, so that memory stays small
MOST = 2**26  # of this many, about 1000 share the best's first 16 digits, and 3000 with a probability below e^-1000


# proof-region: dummies
class FixedPrefixEntropy(Entropy):
    """The digits of ``entropy``, except that the prefixes of the candidates in ``places`` are ``prefix``."""

    def __init__(self, entropy: Entropy, places: range, prefix: int) -> None:
        self._entropy, self._places, self._prefix = entropy, places, prefix

    def draw_prefixes(self, index: Indices) -> NDArray[np.uint16]:
        found = self._entropy.draw_prefixes(index).copy()
        found[(index >= self._places.start) & (index < self._places.stop)] = self._prefix  # [led]
        return found

    def draw_words(self, index: Indices) -> NDArray[np.uint64]:
        return self._entropy.draw_words(index)  # [own-words]

    def draw_auxiliary_words(self, n: int) -> NDArray[np.uint64]:
        return self._entropy.draw_auxiliary_words(n)


def draw_best_prefix(n: int, others: int, entropy: Entropy) -> tuple[int, int]:
    """Return the first 16 digits of the largest of ``n`` uniforms, and the number of uniforms that begin with them.

    Raises:
        PlatformError: Together with ``others`` candidates they are as many as a block: such a source repeats itself.
    """
    prefix = 0
    for _ in range(DIGITS):
        ones = _count_ones(n, entropy)
        prefix, n = 2 * prefix + (ones > 0), ones or n  # [survivors]
    if n + others >= BLOCK:
        raise PlatformError(
            "the operating system's source of randomness returned repeated values: nothing was released"
        )  # [few]
    return prefix, n


def _count_ones(n: int, entropy: Entropy) -> int:
    """Return how many of ``n`` digits are ones."""
    found = 0
    for start in range(0, n, _CHUNK * _WORD):
        digits = min(n - start, _CHUNK * _WORD)
        words = entropy.draw_auxiliary_words(-(-digits // _WORD))
        found += (int.from_bytes(words.tobytes(), "little") >> (-digits % _WORD)).bit_count()  # [ones]
    return found


# end-proof-region: dummies


# The noisy top-k of counts by key, up to a stop symbol that takes part in the race.
#
# The slots of the race are the ``limit`` best keys, dummies that replace missing keys, and the stop symbol.

_FEW = 1000  # keys with which all that race are fewer than a block
_MANY = 512  # from this many dummies on, one round of digits costs less than a race among them
_EXACT_FLOATS = 2**53  # integers up to it are exact in float64


# proof-region: unlisted
@dataclass(frozen=True)
class Search:
    """The parameters of a release of counts by key: the k best noisy slots, up to the first that is not a key.

    Attributes:
        limit: The number of keys that may take part, at least k.
        threshold: The score of the stop symbol, relative to the (limit + 1)-th best count.
        scale: The scale of the noise, >= 0; without noise keys win ties against the stop symbol.
        noise: The distribution of the noise at scale 1.
        k: The number of slots that are drawn; all slots if there are fewer.
    """

    limit: int
    threshold: Fraction
    scale: Fraction
    noise: Noise
    k: int


@dataclass(frozen=True)
class Slots:
    """The keys that may be released, best first, and the scores of all slots: keys, dummies, and last the stop symbol.

    The scores are ``values`` divided by ``unit``.
    """

    keys: tuple[Any, ...]
    values: NDArray[Any]
    unit: int

    def released_keys(self, slots: Sequence[int]) -> tuple[Any, ...]:
        """Return the keys of these slots, up to the first slot that is not a key."""
        count = next((place for place, slot in enumerate(slots) if slot >= len(self.keys)), len(slots))  # [stop]
        return tuple(self.keys[slot] for slot in slots[:count])


def build_slots(counts: Mapping[Any, int], limit: int, threshold: Fraction, most: int | None = None) -> Slots:
    """Return the slots for counts by key: leads over the (limit + 1)-th best count, dummies at 0, the stop symbol.

    There are as many dummies as missing keys, or ``most`` if it is given.
    """
    ranked = _best_keys(counts, limit + 1)
    base = counts[ranked[limit]] if len(ranked) > limit else 0  # [base]
    keys = ranked[:limit]
    scores = [counts[key] - base for key in keys] + [0] * (limit - len(keys) if most is None else most)  # [scores]
    unit = threshold.denominator
    if scores[0] <= _EXACT_FLOATS and Fraction(_float_or_zero(threshold)) == threshold:
        return Slots(keys, np.array([*scores, _float_or_zero(threshold)], dtype=np.float64), 1)  # [floats]
    values = np.empty(len(scores) + 1, dtype=object)
    values[:] = [unit * score for score in scores] + [threshold.numerator]  # [common-unit]
    return Slots(keys, values, unit)


def top_k(counts: Mapping[Any, int], search: Search, entropy: Entropy = SYSTEM) -> tuple[Any, ...]:
    """Return the keys of the k best noisy slots, best first, up to the first slot that is not a key.

    Args:
        counts: Positive counts by key.
        search: The parameters of the release.
        entropy: The source of digits; by default the operating system.
    """
    k, scale, noise, missing = search.k, search.scale, search.noise, search.limit - len(counts)
    if scale and len(counts) <= _FEW and missing in range(_MANY, MOST):
        prefix, most = draw_best_prefix(missing, len(counts) + 1, entropy)  # [best-dummies]
        slots = build_slots(counts, search.limit, search.threshold, most)
        entropy = FixedPrefixEntropy(entropy, range(len(counts), len(counts) + most), prefix)  # [led]
        k = min(k, len(slots.values))  # [no-more]
    else:
        slots = build_slots(counts, search.limit, search.threshold)
    if scale == 0:
        return slots.released_keys(noiseless.top_k(slots.values, k, sign=1, ordered=True).tolist())  # [noiseless]
    drawn = race.top_k(slots.values, scale * slots.unit, noise, k, sign=1, ordered=True, entropy=entropy)  # [race]
    return slots.released_keys(drawn.tolist())


def repeat_top_k(
    counts: Mapping[Any, int], search: Search, times: int, entropy: Entropy = SYSTEM
) -> list[tuple[Any, ...]]:
    """Return the results of ``times`` independent calls of :func:`top_k`."""
    if search.scale == 0 or search.limit >= _MANY:
        return [top_k(counts, search, entropy) for _ in range(times)]  # [one-by-one]
    slots = build_slots(counts, search.limit, search.threshold)
    options: Any = {"sign": 1, "ordered": True, "entropy": entropy}
    drawn = rows.repeat_top_k(
        slots.values, search.scale * slots.unit, search.noise, search.k, times, **options
    )  # [races]
    return [slots.released_keys(row) for row in drawn.tolist()]


def _best_keys(counts: Mapping[Any, int], n: int) -> tuple[Any, ...]:
    """Return the n keys with the largest counts, or all if there are fewer; equal counts in the order of the keys."""
    return tuple(sorted(counts, key=lambda key: (-counts[key], key))[:n])  # [ties]


# end-proof-region: unlisted


def _float_or_zero(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return 0.0
