"""Noise of large scale on the integers: a cell of 2^j integers by inversion, a place in it, and one decision.

The place within the cell is uniform, so its digits are those of the source. A cell is proposed with the weight of its
heaviest member, and a place is kept with the probability that makes the output distribution exact.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from gmpy2 import mpq
from numpy.typing import NDArray

from ...numerics.arithmetic import round_down, round_up
from .entropy import Entropy
from .exponentials import bernoulli_exp_events
from .inversion import Ints, InversionTable, Weights, draw_from_table, inversion_table

_CHOICE = 16  # digits of the decision that are drawn for all
_FINE = 40  # bits of fixed point from which the bound of a decision is rounded up to 16
_WORD = 64  # digits come in machine words
_NARROW = _WORD - _CHOICE  # the largest shift at which one word is enough for the place and the decision
_LARGE = 2**62  # from here on values are Python integers, because later steps could overflow int64
_MARGIN = 2.0**-48  # more than the relative errors of five float64 operations


@dataclass(frozen=True, eq=False)
class Lattice:
    """Cells of 2^shift integers.

    Attributes:
        weights: The weights of the integers.
        shift: The number of digits of the place in a cell.
        cells: The distribution of the cells.
        certain: For each cell size in the table, the least value of the first 16 digits of a decision that is enough to
            keep.
    """

    weights: Weights
    shift: int
    cells: InversionTable
    certain: Ints


# proof-region: lattice
@functools.lru_cache(maxsize=16)
def build_lattice(weights: Weights, shift: int) -> Lattice:
    """Return the cells of this distribution, cached."""
    coarse = weights.coarse_weights(shift)
    cells = inversion_table(coarse, mirrored=False)
    first = math.ceil((coarse.linear + coarse.square) * 2**_FINE)
    growth = math.ceil(2 * coarse.square * 2**_FINE)
    certain = (first + growth * np.arange(-cells.least) >> _FINE - _CHOICE) + 1  # [certain]
    return Lattice(weights, shift, cells, certain)


def propose_integers(law: Lattice, n: int, entropy: Entropy) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return n integers, and a mask of those that are kept."""
    cells = np.empty(n, dtype=np.int64)
    draw_from_table(law.cells, cells, entropy)
    words = -(-(law.shift + _CHOICE) // _WORD)
    digits = entropy.draw_auxiliary_words(words * n).reshape(n, words)  # [digits]
    sign = cells >> _WORD - 1
    sizes = cells ^ sign  # [size]
    choices = (digits[:, 0] & 2**_CHOICE - 1).astype(np.int64)  # [choice]
    kept = choices >= law.certain.take(sizes, mode="clip")
    kept &= sizes < len(law.certain)  # [kept]
    places = _places_in_cells(law.shift, digits)
    if sizes.max(initial=0) >= _LARGE >> law.shift:
        places = places.astype(object)  # [large]
    values = ((sizes.astype(places.dtype) << law.shift) + places) ^ sign  # [value]
    late = np.flatnonzero(~kept)
    if len(late):
        kept[late] = _decide_proposals(law, sizes[late], abs(values[late]), choices[late], entropy)  # [late]
    return values, kept


def _places_in_cells(shift: int, digits: NDArray[np.uint64]) -> NDArray[Any]:
    """Return the leading ``shift`` digits of each row of words; the last word of a row is the leading one."""
    if shift <= _NARROW:
        return (digits[:, 0] >> np.uint64(_WORD - shift)).astype(np.int64)  # [narrow-place]
    drop, size = _WORD * digits.shape[1] - shift, 8 * digits.shape[1]
    rows = digits.astype("<u8").tobytes()
    places = [int.from_bytes(rows[at : at + size], "little") >> drop for at in range(0, len(rows), size)]
    return np.array(places, dtype=object)  # [place]


def _decide_proposals(
    law: Lattice, cells: Ints, sizes: NDArray[Any], choices: Ints, entropy: Entropy
) -> NDArray[np.bool_]:
    """Draw independent events of probability w(size) / w(2^shift cell), whose uniforms begin with these 16 digits."""
    more = entropy.draw_auxiliary_words(len(cells)) >> np.uint64(_CHOICE)
    digits = (choices.astype(np.uint64) << np.uint64(_NARROW)) | more  # [decision]
    spare = max(law.shift - _NARROW, 0)
    within = sizes - (cells.astype(sizes.dtype) << law.shift)
    place = (within >> spare).astype(np.float64) * 2.0 ** (spare - law.shift)  # [within]
    ends = (place, place + (2.0**-_NARROW if spare else 0.0))
    coarse = law.weights.coarse_weights(law.shift)
    lower, upper = (
        end * (to(coarse.linear) + to(coarse.square) * (2.0 * cells + end))
        for end, to in zip(ends, (round_down, round_up), strict=True)
    )

    def decision_level(i: int) -> mpq:
        return law.weights.minus_log_weight(int(sizes[i])) - law.weights.minus_log_weight(
            int(cells[i]) << law.shift
        )  # [level]

    return bernoulli_exp_events(
        digits, lower * (1 - _MARGIN), upper * (1 + _MARGIN), decision_level, entropy
    )  # [event]


# end-proof-region: lattice
