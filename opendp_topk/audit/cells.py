"""What is read of an outcome before events are chosen: quantiles of its floats, or their bits, or types.

A reading is a map from outcomes to cells that is made from samples and fixed before any bound is computed. Whatever it
is, reading an outcome is post-processing, so the bounds that follow are valid; a bad reading only makes them weak.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

Reading = Callable[[Hashable], Hashable]
# Finer cells than 64 tell no more of the laws at hand; with fewer than 8 samples a cell shows chance alone.
_MOST_CELLS, _LEAST_CELLS, _A_CELL = 64, 4, 8
_WORDS = 4  # cells of an event that are told; the likeliest come first


def readings(outcomes: Sequence[Hashable]) -> list[Reading]:
    """The readings worth a try: bits only where there are floats, kinds only where equal outcomes differ in them."""
    bits = [Bits(outcomes)] if _hold_floats(outcomes) else []
    told_apart = len({(outcome, kinds(outcome)) for outcome in outcomes}) > len(set(outcomes))
    return [Cells(outcomes), *bits, *([kinds] if told_apart else [])]


class Cells:
    """Floats are cut at quantiles of the samples, all else is kept, NaN too.

    Where a place holds few different floats, each is a cell of its own.
    """

    def __init__(self, outcomes: Sequence[Hashable]) -> None:
        places: dict[int, list[float]] = {}
        for outcome in outcomes if _hold_floats(outcomes) else ():
            for i, leaf in enumerate(leaves(outcome)):
                if isinstance(leaf, float):
                    places.setdefault(i, []).append(leaf)
        count = _most(len(outcomes), len(places))
        self._cuts = {i: _cuts([leaf for leaf in leaves if leaf == leaf], count) for i, leaves in places.items()}

    def __call__(self, outcome: Hashable) -> Hashable:
        if not self._cuts:
            return outcome
        cells = list(leaves(outcome))
        for i, cuts in self._cuts.items():
            if i < len(cells) and isinstance(leaf := cells[i], float):
                cells[i] = (bisect_left(cuts, leaf) if leaf == leaf else None,)
        return tuple(cells)

    def words(self, cell: Hashable) -> str:
        """A cell as a release is written, with the interval in place of each float."""
        if not self._cuts or not isinstance(cell, tuple):
            return repr(cell)
        told = [self._interval(i, leaf) for i, leaf in enumerate(cell)]
        return told[0] if len(told) == 1 else f"({', '.join(told)})"

    def _interval(self, place: int, leaf: Any) -> str:
        cuts = self._cuts.get(place, [])
        if not isinstance(leaf, tuple) or not cuts:
            return repr(leaf)
        if leaf[0] is None:
            return "nan"
        start = "-inf" if leaf[0] == 0 else repr(cuts[leaf[0] - 1])
        return f"in ({start}, {cuts[leaf[0]]!r}]" if leaf[0] < len(cuts) else f"above {cuts[-1]!r}"


class Bits:
    """An outcome that the samples repeat is a cell of its own, to the last bit; others are told by their finest bit.

    Real-valued noise repeats nothing, and where its bits end depends on its size alone. A constant seed, a generator
    with few states and floats that no draw can reach show here, and in no quantile.
    """

    def __init__(self, outcomes: Sequence[Hashable]) -> None:
        self._repeated = {outcome for outcome, count in Counter(outcomes).items() if count > 1}

    def __call__(self, outcome: Hashable) -> Hashable:
        if outcome in self._repeated:
            return outcome
        parts = leaves(outcome)
        kept = tuple(leaf for leaf in parts if not isinstance(leaf, float))
        return "bits", kept, min((finest_bit(leaf) for leaf in parts if isinstance(leaf, float)), default=math.inf)


def words(reading: Reading, cells: Sequence[Hashable]) -> str:
    """An event in words: its first cells, by how they are read."""
    told = [reading.words(cell) if isinstance(reading, Cells) else _told(reading, cell) for cell in cells[:_WORDS]]
    more = [f"one of {len(cells) - len(told)} others"] if len(cells) > len(told) else []
    return "the release is " + " or ".join([*told, *more])


def _told(reading: Reading, cell: Any) -> str:
    if isinstance(reading, Bits) and isinstance(cell, tuple) and cell[:1] == ("bits",):
        beside = f" beside {', '.join(map(repr, cell[1]))}" if cell[1] else ""
        return f"one whose floats{beside} end at the bit of 2^{cell[2]:g}"
    return repr(cell) if isinstance(reading, Bits) else f"one of the types {cell!r}"


def kinds(outcome: Hashable) -> Hashable:
    """The types of the values and how many there are, and the sign of a zero: 1, 1.0 and True are equal as keys."""
    if isinstance(outcome, tuple):
        return tuple(map(kinds, outcome))
    signed = isinstance(outcome, float) and outcome == 0 and math.copysign(1, outcome) < 0
    return f"-{type(outcome).__name__}" if signed else type(outcome).__name__


def finest_bit(value: float) -> float:
    """The largest e for which ``value`` is a multiple of 2^e; infinity for 0 and for what is not finite."""
    if value == 0 or not math.isfinite(value):
        return math.inf
    numerator, denominator = value.as_integer_ratio()
    return float((numerator & -numerator).bit_length() - denominator.bit_length())


def _most(samples: int, places: int) -> int:
    """How many cells a place of floats gets: the fewer, the fewer samples there are for each."""
    alone = max(_LEAST_CELLS, min(_MOST_CELLS, samples // _A_CELL))
    return alone if places <= 1 else int(max(2.0, min(alone, (samples / 100) ** (1 / places))))


def _cuts(values: list[float], count: int) -> list[float]:
    """At most ``count`` ends of cells; a cell reaches from the end before it, exclusive, to its own."""
    ends = np.unique(values)
    if len(ends) > count:
        ends = np.unique(np.quantile(values, np.arange(1, count) / count, method="nearest"))
    return [float(end) for end in ends]


def _hold_floats(outcomes: Sequence[Any]) -> bool:
    """Whether a leaf of an outcome is a float; equal numbers are looked at each, for 1 is no float and 1.0 is one."""
    kinds = set(map(type, outcomes))
    inner = itertools.chain.from_iterable(outcome for outcome in outcomes if isinstance(outcome, tuple))
    return any(issubclass(kind, float) for kind in kinds) or (tuple in kinds and _hold_floats(list(inner)))


def leaves(outcome: Any) -> tuple[Any, ...]:
    """The values of an outcome, in order: its parts and theirs, or itself."""
    if not isinstance(outcome, tuple):
        return (outcome,)
    if tuple not in map(type, outcome):
        return outcome
    return tuple(leaf for part in outcome for leaf in leaves(part))
