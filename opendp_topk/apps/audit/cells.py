"""What is read of an outcome before events are chosen: quantiles of its floats, their bits, types, places and sums.

A reading is a map from outcomes to cells that is made from samples and fixed before any bound is computed. Whatever it
is, reading an outcome is post-processing, so the bounds that follow are valid; a bad reading only makes them weak.
"""

from __future__ import annotations

import itertools
import math
import operator
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

Reading = Callable[[Hashable], Hashable]
# Finer cells than 64 tell no more of the laws at hand; with fewer than 8 samples a cell shows chance alone.
_MOST_CELLS, _LEAST_CELLS, _A_CELL = 64, 4, 8
_WORDS = 4  # cells of an event that are told; the likeliest come first
_MOST_PLACES = 3  # that are read by themselves: each costs as much as all
_GLANCE = 2000  # outcomes of a side by which places are ranked
_NUMBERS = frozenset((bool, int, float))
_LARGE = 1e150  # sums of some thousand squares of such numbers are finite
_MOVED = 2.0  # standard errors between the means of a place from which on it is part of the sum


def readings(first: Sequence[Hashable], second: Sequence[Hashable]) -> list[Reading]:
    """The readings worth a try, by the outcomes on the two sides.

    Bits only where there are floats, kinds only where equal outcomes differ in them, and labels where they vary beside
    numbers. Where outcomes have several places and are seldom met again, those by themselves whose laws differ most,
    and the sum of those whose means do.
    """
    outcomes = [*first, *second]
    parts = [*map(leaves, outcomes)]
    types, lengths = set(map(type, itertools.chain.from_iterable(parts))), set(map(len, parts))
    alike = types == {int} and not any(isinstance(outcome, Unordered) for outcome in outcomes)
    told_apart = not alike and len({(outcome, kinds(outcome)) for outcome in outcomes}) > len(set(outcomes))
    bare = len(lengths) == 1 and all(issubclass(kind, int | float) for kind in types)
    labelled = not bare and 1 < len(set(map(labels, outcomes))) < len(set(outcomes))
    seldom = len(set(outcomes)) * _A_CELL > len(outcomes)
    seen = (parts[: len(first)][:_GLANCE], parts[len(first) :][:_GLANCE]) if seldom else ([], [])
    return [
        Cells(outcomes),
        *([Bits(outcomes)] if _hold_floats(outcomes) else []),
        *([kinds] if told_apart else []),
        *([labels] if labelled else []),
        *(Place(place, parts) for place in _places(*seen)),
        *(Sum(signs, parts) for signs in _moved(*seen)),
    ]


class Cells:
    """Floats are cut at quantiles of the samples, all else is kept, NaN too.

    Where a place holds few different floats, each is a cell of its own.
    """

    def __init__(self, outcomes: Sequence[Hashable], most: int = _MOST_CELLS) -> None:
        places: dict[int, list[float]] = {}
        for outcome in outcomes if _hold_floats(outcomes) else ():
            for i, leaf in enumerate(leaves(outcome)):
                if isinstance(leaf, float):
                    places.setdefault(i, []).append(leaf)
        count = min(most, _most(len(outcomes), len(places)))
        self._cuts = {i: _cuts([leaf for leaf in leaves if leaf == leaf], count) for i, leaves in places.items()}

    def __call__(self, outcome: Hashable) -> Hashable:
        if not self._cuts:
            return outcome
        cells = list(leaves(outcome))
        for i, cuts in self._cuts.items():
            if i < len(cells) and isinstance(leaf := cells[i], float):
                cells[i] = (bisect_left(cuts, leaf) if leaf == leaf else None,)
        return tuple(cells)

    def told(self, cell: Hashable) -> str:
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

    def told(self, cell: Hashable) -> str:
        """An outcome as it is, or where its floats end."""
        if not (isinstance(cell, tuple) and cell[:1] == ("bits",)):
            return repr(cell)
        beside = f" beside {', '.join(map(repr, cell[1]))}" if cell[1] else ""
        return f"one whose floats{beside} end at the bit of 2^{cell[2]:g}"


class Place:
    """One value of an outcome, whatever the others are; () where there is none."""

    def __init__(self, place: int, outcomes: Sequence[tuple[Any, ...]]) -> None:
        self._place = place
        self._cells = Cells([parts[place] for parts in outcomes if len(parts) > place])
        self.noun = f"value {place} of the release"

    def __call__(self, outcome: Hashable) -> Hashable:
        parts = leaves(outcome)
        return self._cells(parts[self._place]) if len(parts) > self._place else ()

    def told(self, cell: Hashable) -> str:
        """The value, or the interval of a float."""
        return "absent" if cell == () else self._cells.told(cell)


class Sum:
    """The sum of some values of an outcome, with signs; () where one of them is absent or no number."""

    def __init__(self, signs: dict[int, int], outcomes: Sequence[tuple[Any, ...]]) -> None:
        self._at, self._signs = tuple(signs), tuple(signs.values())
        self._cells = Cells([total for parts in outcomes if (total := self._total(parts)) is not None])
        first, *rest = signs.items()
        told = [f"{'-' if first[1] < 0 else ''}value {first[0]}"]
        self.noun = " ".join([*told, *(f"{'-' if sign < 0 else '+'} value {place}" for place, sign in rest)])

    def _total(self, parts: tuple[Any, ...]) -> Any:
        if self._at[-1] >= len(parts):
            return None
        values = [parts[place] for place in self._at]
        return sum(map(operator.mul, self._signs, values)) if all(map(_is_number, values)) else None

    def __call__(self, outcome: Hashable) -> Hashable:
        total = self._total(leaves(outcome))
        return () if total is None else self._cells(total)

    def told(self, cell: Hashable) -> str:
        """The sum, or its interval."""
        return "no number" if cell == () else self._cells.told(cell)


def words(reading: Reading, cells: Sequence[Hashable]) -> str:
    """An event in words: its first cells, by how they are read."""
    bare = "form" if reading is labels else "types"
    told = [getattr(reading, "told", lambda cell: f"one of the {bare} {cell!r}")(cell) for cell in cells[:_WORDS]]
    more = [f"one of {len(cells) - len(told)} others"] if len(cells) > len(told) else []
    return f"{getattr(reading, 'noun', 'the release')} is {' or '.join([*told, *more])}"


class Unordered(tuple[Any, ...]):
    """The elements of a set or the items of a dictionary, sorted; ``came`` is what it was, and the order they had."""

    came: tuple[str, tuple[int, ...]]

    @classmethod
    def of(cls, kind: str, elements: Sequence[Any]) -> Unordered:
        """Sorted by how they are written."""
        order = sorted(range(len(elements)), key=lambda i: repr(elements[i]))
        made = cls(elements[i] for i in order)
        made.came = kind, tuple(order)
        return made


_NESTS = frozenset((tuple, Unordered))


def labels(outcome: Hashable) -> Hashable:
    """What is left of an outcome if no number is told: its texts and keys, errors, and how many numbers there are."""
    if isinstance(outcome, tuple):
        return tuple(map(labels, outcome))
    return 0 if isinstance(outcome, int | float) else outcome


def kinds(outcome: Hashable) -> Hashable:
    """The types of the values and how many there are, their order in a set or a dictionary, and the sign of a zero.

    1, 1.0 and True are equal as keys, and so are sets whose elements come in another order.
    """
    if isinstance(outcome, tuple):
        inner = tuple(map(kinds, outcome))
        return (*outcome.came, inner) if isinstance(outcome, Unordered) else inner
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


def _places(first: Sequence[tuple[Any, ...]], second: Sequence[tuple[Any, ...]]) -> list[int]:
    """The places of which the two sides differ most, if there are several; by as many values as one side has there."""
    count = max(map(len, itertools.chain(first, second)), default=0)
    if count < 2:
        return []

    def apart(place: int) -> float:
        found = [[parts[place] for parts in side if len(parts) > place] for side in (first, second)]
        sides = [[float(value) if _is_number(value) else value for value in side] for side in found]
        coarse = Cells([*sides[0], *sides[1]], _LEAST_CELLS)
        one, other = (Counter(map(coarse, side)) for side in sides)
        return sum(abs(one[cell] / len(first) - other[cell] / len(second)) for cell in {*one, *other})

    return sorted(sorted(range(count), key=apart, reverse=True)[:_MOST_PLACES])


def _moved(first: Sequence[tuple[Any, ...]], second: Sequence[tuple[Any, ...]]) -> list[dict[int, int]]:
    """The places whose means differ, each with the sign of the difference, if there are several."""
    signs = {}
    for place in range(min(map(len, itertools.chain(first, second)), default=0)):
        sides = [[parts[place] for parts in side] for side in (first, second)]
        if all(_is_number(value) for side in sides for value in side):
            one, other = (np.array(side, dtype=float) for side in sides)
            error = math.sqrt(one.var() / len(one) + other.var() / len(other))
            if abs(move := float(other.mean() - one.mean())) > _MOVED * error:
                signs[place] = 1 if move > 0 else -1
    return [signs] if len(signs) > 1 else []


def _is_number(value: Any) -> bool:
    """A number of which float arithmetic makes a finite one."""
    return type(value) in _NUMBERS and -_LARGE < value < _LARGE


def _hold_floats(outcomes: Sequence[Any]) -> bool:
    """Whether a leaf of an outcome is a float; equal numbers are looked at each, for 1 is no float and 1.0 is one."""
    kinds = set(map(type, outcomes))
    inner = itertools.chain.from_iterable(outcome for outcome in outcomes if isinstance(outcome, tuple))
    nested = not _NESTS.isdisjoint(kinds)
    return any(issubclass(kind, float) for kind in kinds) or (nested and _hold_floats(list(inner)))


def leaves(outcome: Any) -> tuple[Any, ...]:
    """The values of an outcome, in order: its parts and theirs, or itself."""
    if not isinstance(outcome, tuple):
        return (outcome,)
    if _NESTS.isdisjoint(map(type, outcome)):
        return outcome
    return tuple(leaf for part in outcome for leaf in leaves(part))
