"""Audits of functions from samples of their releases.

Proof: proofs/audit/blackbox.tex
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray

from ...core.measurement import Measurement
from ...core.rendering import as_outcome
from ...core.repeatable import BatchedFunction, RepeatableFunction
from ...errors import ParameterError, TopKError, checks
from ...sampling.samplers.entropy import SYSTEM
from ...spaces.measures import Approximate, MaxDivergence, Measure, RangeDivergence, ZeroConcentratedDivergence
from .report import NOT_REFUTED, NOT_TESTED, REFUTED

# From bounds on probabilities of events to lower bounds on a privacy loss.

# Eight per decade: the best of these orders gives almost the same bound as the best of all orders.
ORDERS = tuple(1 + 10 ** (exponent / 8) for exponent in range(-24, 33))
"""Orders of the Renyi divergence that are tried: 1.001 to 10001."""

# _SHRINK: thousands of times the rounding error of two logarithms and a difference, and still too small to matter.
# proof-region: bounds
_SHRINK = 1e-11


def log_ratio(p: float, q: float) -> float:
    """Return a lower bound on ln(p / q); ``p`` is a lower bound on a probability, ``q`` > 0 an upper bound."""
    if p <= 0:
        return -math.inf  # [nothing-seen]
    value = math.log(p) - math.log(q)
    return value - _SHRINK * (1 + abs(value))  # [log-ratio]


def bernoulli_renyi_divergence(p: Any, q: Any, alpha: float) -> Any:
    """Return the Renyi divergence of order ``alpha`` between Bernoulli(p) and Bernoulli(q), elementwise."""
    one = alpha * np.log(p) - (alpha - 1) * np.log(q)
    other = alpha * np.log1p(-p) - (alpha - 1) * np.log1p(-q)
    return np.logaddexp(one, other) / (alpha - 1)  # [renyi]


def bernoulli_rho_bound(p: float, q: float, alpha: float) -> float:
    """Return a lower bound on D_alpha(Bernoulli(p) || Bernoulli(q)) / alpha, and 0 if p <= q."""
    if p <= q or q >= 1:
        return 0.0
    with np.errstate(divide="ignore"):
        value = float(bernoulli_renyi_divergence(np.float64(p), np.float64(q), alpha)) / alpha
    loss = 1e-9 * value + 1e-10 / (alpha - 1)
    return max(0.0, value - loss)  # [rounding]


# end-proof-region: bounds


# Exact confidence bounds on a probability: Clopper and Pearson (1934), rounded to the safe side.

# _STEPS: bisection ends sooner, at adjacent floats. _BLOCK: terms at a time, so that memory use stays small.
# _SLACK: the rounding error of sums of up to MOST_TRIALS terms in float64; the first term has _DIGITS digits.
# proof-region: confidence
MOST_TRIALS = 2_000_000
_DIGITS = 40
_SLACK = 2e-9
_STEPS = 200
_BLOCK = 4096


@functools.lru_cache(maxsize=4096)
def clopper_pearson_lower(hits: int, trials: int, alpha: float) -> float:
    """Return a lower confidence bound: it exceeds the probability of a hit with probability at most ``alpha``."""
    if hits == 0:
        return 0.0  # [no-hit]
    low, high = 0.0, hits / trials
    for _ in range(_STEPS):  # [bisect]
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if _binomial_tail_bound(hits, trials, middle) <= alpha:
            low = middle
        else:
            high = middle
    return low  # [safe-end]


def clopper_pearson_upper(hits: int, trials: int, alpha: float) -> float:
    """Return an upper confidence bound: it is below the probability of a hit with probability at most ``alpha``."""
    return min(1.0, math.nextafter(1.0 - clopper_pearson_lower(trials - hits, trials, alpha), 2.0))  # [mirror]


def _binomial_tail_bound(hits: int, trials: int, p: float) -> float:
    """Return an upper bound on P(X >= hits) for X ~ Binomial(trials, p), if p is below hits / trials."""
    with mpmath.workdps(_DIGITS):
        q = mpmath.mpf(p)
        first = mpmath.loggamma(trials + 1) - mpmath.loggamma(hits + 1) - mpmath.loggamma(trials - hits + 1)
        first += hits * mpmath.log(q) + (trials - hits) * mpmath.log1p(-q)
        first = mpmath.exp(first)  # [first-term]
    odds = p / (1 - p)
    total, term, start = 0.0, 1.0, hits
    while start < trials and term > 1e-25:
        j = np.arange(start, min(start + _BLOCK, trials), dtype=np.float64)
        terms = term * np.cumprod((trials - j) / (j + 1) * odds)  # [ratios]
        total += float(terms.sum())
        term, start = float(terms[-1]), start + len(j)
    rest = 0.0
    if start < trials:
        ratio = (trials - start) / (start + 1) * odds
        rest = term * ratio / (1 - ratio)  # [rest]
    return float(first) * (1 + total + rest) * (1 + _SLACK)  # [slack]


# end-proof-region: confidence


# The choice of events to test: those for which the two samples differ most, chosen on samples that are not used again.
#
# The bounds that follow are valid whatever is chosen here; a bad choice only weakens them.

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class EventChoice:
    """Events for a bound. If ``swapped``, the loss is from the neighbour to the input.

    ``high`` is more likely under the first distribution, ``low`` under the second; ``order`` is the order of the
    Renyi divergence.
    """

    swapped: bool
    high: frozenset[Hashable]
    low: frozenset[Hashable]
    order: float


def choose_events(
    measure: Measure, delta: float, first: Counter[Hashable], second: Counter[Hashable], z: float
) -> tuple[float, EventChoice]:
    """Return the largest loss that events show, ``z`` standard errors to the safe side, and these events."""
    plain = _best_events(measure, delta, first, second, z)
    swapped = _best_events(measure, delta, second, first, z)
    swap = swapped[0] > plain[0]
    loss, choice = swapped if swap else plain
    return loss, replace(choice, swapped=swap)


def _best_events(
    measure: Measure, delta: float, first: Counter[Hashable], second: Counter[Hashable], z: float
) -> tuple[float, EventChoice]:
    n = first.total(), second.total()
    met = dict.fromkeys((*first, *second))  # in the order of the samples: the order of a set may differ between runs
    cells = sorted(met, key=lambda cell: (first[cell] + 0.5) / (second[cell] + 0.5), reverse=True)
    likely = np.cumsum([first[cell] for cell in cells])
    rare = np.cumsum([second[cell] for cell in cells])
    with np.errstate(divide="ignore", invalid="ignore"):
        p, q = _wilson_lower(likely, n[0], z), _wilson_upper(rare, n[1], z)
        if isinstance(measure, Approximate):
            p = p - delta
        heads = np.nan_to_num(np.log(np.maximum(p, 0) / q), nan=-np.inf)
        top, order = int(np.argmax(heads)), 0.0
        loss, low = float(heads[top]), 0
        if isinstance(measure, RangeDivergence):
            tails = np.log(_wilson_lower(n[1] - rare, n[1], z) / _wilson_upper(n[0] - likely, n[0], z))
            low = int(np.argmax(np.nan_to_num(tails, nan=-np.inf)))
            loss += float(tails[low])
        elif isinstance(measure, ZeroConcentratedDivergence):
            table = np.array([bernoulli_renyi_divergence(np.maximum(p, 0), q, alpha) / alpha for alpha in ORDERS])
            table = np.where(p > q, np.nan_to_num(table, nan=-np.inf), -np.inf)
            best, top = divmod(int(np.argmax(table)), len(cells))
            order, loss = ORDERS[best], float(table[best, top])
    return loss, EventChoice(False, frozenset(cells[: top + 1]), frozenset(cells[low + 1 :]), order)


def _wilson_lower(hits: NDArray[Any], trials: int, z: float) -> Floats:
    return _wilson_interval(hits, trials, z)[0]


def _wilson_upper(hits: NDArray[Any], trials: int, z: float) -> Floats:
    return _wilson_interval(hits, trials, z)[1]


def _wilson_interval(hits: NDArray[Any], trials: int, z: float) -> tuple[Floats, Floats]:
    p, square = hits / trials, z * z / trials
    middle = (p + square / 2) / (1 + square)
    width = z * np.sqrt(p * (1 - p) / trials + square / (4 * trials)) / (1 + square)
    return np.maximum(middle - width, 0), np.minimum(middle + width, 1)


# Readings of outcomes, made before events are chosen: quantiles of floats, their bits, types, positions and sums.
#
# A reading is a map from outcomes to cells that is made from samples and fixed before any bound is computed. Reading an
# outcome is post-processing, so the bounds that follow are valid for every reading; a bad reading only weakens them.

Reading = Callable[[Hashable], Hashable]
# More than 64 cells do not reveal more of typical distributions; a cell of fewer than 8 samples shows only chance.
_MOST_CELLS, _LEAST_CELLS, _A_CELL = 64, 4, 8
_WORDS = 4  # number of cells of an event that are described; the likeliest come first
_MOST_PLACES = 3  # number read individually: each costs as much as all
_GLANCE = 2000  # number of outcomes of a side by which positions are ranked
_NUMBERS = frozenset((bool, int, float))
_LARGE = 1e150  # sums of some thousand squares of such numbers are finite
_MOVED = 2.0  # standard errors: positions whose means differ by more are part of the sum


def candidate_binnings(first: Sequence[Hashable], second: Sequence[Hashable]) -> list[Reading]:
    """Return the readings worth trying, given the outcomes on the two sides.

    Bits are read only if there are floats, types only if equal outcomes differ in them, and labels only if outcomes
    contain both numbers and labels that vary. If outcomes have several positions and seldom repeat, the positions
    whose output distributions differ most are read individually, and those whose means differ are read as a sum.
    """
    outcomes = [*first, *second]
    parts = [*map(flatten_outcome, outcomes)]
    types, lengths = set(map(type, itertools.chain.from_iterable(parts))), set(map(len, parts))
    alike = types == {int} and not any(isinstance(outcome, SortedCollection) for outcome in outcomes)
    told_apart = not alike and len({(outcome, value_types(outcome)) for outcome in outcomes}) > len(set(outcomes))
    bare = len(lengths) == 1 and all(issubclass(kind, int | float) for kind in types)
    labelled = not bare and 1 < len(set(map(mask_numbers, outcomes))) < len(set(outcomes))
    seldom = len(set(outcomes)) * _A_CELL > len(outcomes)
    seen = (parts[: len(first)][:_GLANCE], parts[len(first) :][:_GLANCE]) if seldom else ([], [])
    return [
        QuantileBinning(outcomes),
        *([FinestBitBinning(outcomes)] if _contains_float(outcomes) else []),
        *([value_types] if told_apart else []),
        *([mask_numbers] if labelled else []),
        *(PositionBinning(place, parts) for place in _most_different_positions(*seen)),
        *(SignedSumBinning(signs, parts) for signs in _shifted_mean_signs(*seen)),
    ]


class QuantileBinning:
    """A reading that cuts floats at quantiles of the samples and keeps all else, including NaN.

    If a position has few different floats, each is a cell of its own.
    """

    def __init__(self, outcomes: Sequence[Hashable], most: int = _MOST_CELLS) -> None:
        places: dict[int, list[float]] = {}
        for outcome in outcomes if _contains_float(outcomes) else ():
            for i, leaf in enumerate(flatten_outcome(outcome)):
                if isinstance(leaf, float):
                    places.setdefault(i, []).append(leaf)
        count = min(most, _cells_per_position(len(outcomes), len(places)))
        self._cuts = {i: _cell_ends([leaf for leaf in leaves if leaf == leaf], count) for i, leaves in places.items()}

    def __call__(self, outcome: Hashable) -> Hashable:
        if not self._cuts:
            return outcome
        cells = list(flatten_outcome(outcome))
        for i, cuts in self._cuts.items():
            if i < len(cells) and isinstance(leaf := cells[i], float):
                cells[i] = (bisect_left(cuts, leaf) if leaf == leaf else None,)
        return tuple(cells)

    def describe_cell(self, cell: Hashable) -> str:
        """Return a cell as a release is written, with the interval in place of each float."""
        if not self._cuts or not isinstance(cell, tuple):
            return repr(cell)
        told = [self._describe_interval(i, leaf) for i, leaf in enumerate(cell)]
        return told[0] if len(told) == 1 else f"({', '.join(told)})"

    def _describe_interval(self, place: int, leaf: Any) -> str:
        cuts = self._cuts.get(place, [])
        if not isinstance(leaf, tuple) or not cuts:
            return repr(leaf)
        if leaf[0] is None:
            return "nan"
        start = "-inf" if leaf[0] == 0 else repr(cuts[leaf[0] - 1])
        return f"in ({start}, {cuts[leaf[0]]!r}]" if leaf[0] < len(cuts) else f"above {cuts[-1]!r}"


class FinestBitBinning:
    """A reading by bits: an outcome that repeats in the samples is its own cell; others are read by their finest bit.

    Real-valued noise does not repeat, and the position of its last bit depends on its size alone. A constant seed, a
    generator with few states and floats that no draw can reach show in this reading, but not in quantiles.
    """

    def __init__(self, outcomes: Sequence[Hashable]) -> None:
        self._repeated = {outcome for outcome, count in Counter(outcomes).items() if count > 1}

    def __call__(self, outcome: Hashable) -> Hashable:
        if outcome in self._repeated:
            return outcome
        parts = flatten_outcome(outcome)
        kept = tuple(leaf for leaf in parts if not isinstance(leaf, float))
        return "bits", kept, min((finest_bit(leaf) for leaf in parts if isinstance(leaf, float)), default=math.inf)

    def describe_cell(self, cell: Hashable) -> str:
        """Return an outcome as it is, or the position of the last bit of its floats."""
        if not (isinstance(cell, tuple) and cell[:1] == ("bits",)):
            return repr(cell)
        beside = f" beside {', '.join(map(repr, cell[1]))}" if cell[1] else ""
        return f"one whose floats{beside} have their lowest bit at 2^{cell[2]:g}"


class PositionBinning:
    """One value of an outcome, regardless of the others; () if it is absent."""

    def __init__(self, place: int, outcomes: Sequence[tuple[Any, ...]]) -> None:
        self._place = place
        self._cells = QuantileBinning([parts[place] for parts in outcomes if len(parts) > place])
        self.noun = f"value {place} of the release"

    def __call__(self, outcome: Hashable) -> Hashable:
        parts = flatten_outcome(outcome)
        return self._cells(parts[self._place]) if len(parts) > self._place else ()

    def describe_cell(self, cell: Hashable) -> str:
        return "absent" if cell == () else self._cells.describe_cell(cell)


class SignedSumBinning:
    """The signed sum of some values of an outcome; () if one of them is absent or not a number."""

    def __init__(self, signs: dict[int, int], outcomes: Sequence[tuple[Any, ...]]) -> None:
        self._at, self._signs = tuple(signs), tuple(signs.values())
        self._cells = QuantileBinning([total for parts in outcomes if (total := self._signed_sum(parts)) is not None])
        first, *rest = signs.items()
        told = [f"{'-' if first[1] < 0 else ''}value {first[0]}"]
        self.noun = " ".join([*told, *(f"{'-' if sign < 0 else '+'} value {place}" for place, sign in rest)])

    def _signed_sum(self, parts: tuple[Any, ...]) -> Any:
        if self._at[-1] >= len(parts):
            return None
        values = [parts[place] for place in self._at]
        return sum(map(operator.mul, self._signs, values)) if all(map(_is_number, values)) else None

    def __call__(self, outcome: Hashable) -> Hashable:
        total = self._signed_sum(flatten_outcome(outcome))
        return () if total is None else self._cells(total)

    def describe_cell(self, cell: Hashable) -> str:
        return "no number" if cell == () else self._cells.describe_cell(cell)


def describe_event(reading: Reading, cells: Sequence[Hashable]) -> str:
    """Return the description of an event: its first cells, as they are read."""
    bare = "form" if reading is mask_numbers else "types"
    told = [
        getattr(reading, "describe_cell", lambda cell: f"one of the {bare} {cell!r}")(cell) for cell in cells[:_WORDS]
    ]
    more = [f"one of {len(cells) - len(told)} others"] if len(cells) > len(told) else []
    return f"{getattr(reading, 'noun', 'the release')} is {' or '.join([*told, *more])}"


class SortedCollection(tuple[Any, ...]):
    """The sorted elements of a set or items of a dictionary; ``came`` is its kind, and the order that they had."""

    came: tuple[str, tuple[int, ...]]

    @classmethod
    def from_elements(cls, kind: str, elements: Sequence[Any]) -> SortedCollection:
        """Return the elements sorted by their written form."""
        order = sorted(range(len(elements)), key=lambda i: repr(elements[i]))
        made = cls(elements[i] for i in order)
        made.came = kind, tuple(order)
        return made


_NESTS = frozenset((tuple, SortedCollection))


def mask_numbers(outcome: Hashable) -> Hashable:
    """Return an outcome without its numbers: its texts and keys, errors, and the count of numbers."""
    if isinstance(outcome, tuple):
        return tuple(map(mask_numbers, outcome))
    return 0 if isinstance(outcome, int | float) else outcome


def value_types(outcome: Hashable) -> Hashable:
    """Return the types of the values and their number, their order in a set or a dictionary, and the sign of a zero.

    1, 1.0 and True are equal as keys, and so are sets whose elements come in another order.
    """
    if isinstance(outcome, tuple):
        inner = tuple(map(value_types, outcome))
        return (*outcome.came, inner) if isinstance(outcome, SortedCollection) else inner
    signed = isinstance(outcome, float) and outcome == 0 and math.copysign(1, outcome) < 0
    return f"-{type(outcome).__name__}" if signed else type(outcome).__name__


def finest_bit(value: float) -> float:
    """Return the largest e for which ``value`` is a multiple of 2^e; infinity for 0 and for non-finite values."""
    if value == 0 or not math.isfinite(value):
        return math.inf
    numerator, denominator = value.as_integer_ratio()
    return float((numerator & -numerator).bit_length() - denominator.bit_length())


def _cells_per_position(samples: int, places: int) -> int:
    """Return the number of cells for a position of floats: fewer if there are fewer samples for each."""
    alone = max(_LEAST_CELLS, min(_MOST_CELLS, samples // _A_CELL))
    return alone if places <= 1 else int(max(2.0, min(alone, (samples / 100) ** (1 / places))))


def _cell_ends(values: list[float], count: int) -> list[float]:
    """Return at most ``count`` ends of cells; a cell extends from the previous end, exclusive, to its own end."""
    ends = np.unique(values)
    if len(ends) > count:
        ends = np.unique(np.quantile(values, np.arange(1, count) / count, method="nearest"))
    return [float(end) for end in ends]


def _most_different_positions(first: Sequence[tuple[Any, ...]], second: Sequence[tuple[Any, ...]]) -> list[int]:
    """Return the positions in which the sides differ most, if there are several; by as many values as one side has."""
    count = max(map(len, itertools.chain(first, second)), default=0)
    if count < 2:
        return []

    def frequency_difference(place: int) -> float:
        found = [[parts[place] for parts in side if len(parts) > place] for side in (first, second)]
        sides = [[float(value) if _is_number(value) else value for value in side] for side in found]
        coarse = QuantileBinning([*sides[0], *sides[1]], _LEAST_CELLS)
        one, other = (Counter(map(coarse, side)) for side in sides)
        return sum(abs(one[cell] / len(first) - other[cell] / len(second)) for cell in {*one, *other})

    return sorted(sorted(range(count), key=frequency_difference, reverse=True)[:_MOST_PLACES])


def _shifted_mean_signs(first: Sequence[tuple[Any, ...]], second: Sequence[tuple[Any, ...]]) -> list[dict[int, int]]:
    """Return the positions whose means differ, each with the sign of the difference, if there are several."""
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
    """Return whether float arithmetic turns ``value`` into a finite number."""
    return type(value) in _NUMBERS and -_LARGE < value < _LARGE


def _contains_float(outcomes: Sequence[Any]) -> bool:
    """Return whether any leaf is a float; equal numbers are each checked, as 1 is not a float and 1.0 is."""
    kinds = set(map(type, outcomes))
    inner = itertools.chain.from_iterable(outcome for outcome in outcomes if isinstance(outcome, tuple))
    nested = not _NESTS.isdisjoint(kinds)
    return any(issubclass(kind, float) for kind in kinds) or (nested and _contains_float(list(inner)))


def flatten_outcome(outcome: Any) -> tuple[Any, ...]:
    """Return the values of an outcome, in order: its parts and theirs, or itself."""
    if not isinstance(outcome, tuple):
        return (outcome,)
    if _NESTS.isdisjoint(map(type, outcome)):
        return outcome
    return tuple(leaf for part in outcome for leaf in flatten_outcome(part))


# Drawing from a black box: call by call, in batches, or with times.

_BATCH = 10_000  # releases at a time, so that memory use stays small


@dataclass(frozen=True)
class RaisedOutcome:
    """The outcome of a call that raised an error of this class: the caller observes it, as it observes a release."""

    kind: str


# Types of values that are outcomes as they are.
_KEYS = frozenset({bool, int, float, str, bytes, type(None), RaisedOutcome})


class OutcomeSampler:
    """Releases of ``function`` as outcomes.

    If ``timed``, the time of the call, in nanoseconds, is the last value of each, and calls on two inputs take turns.

    An error that a single call raises is an outcome, unless all calls raise. Errors of this library and errors of
    batches are raised at once: the former are about arguments, and the latter cannot be assigned to a release.
    """

    def __init__(self, function: Callable[..., Any], *, batched: bool, timed: bool = False) -> None:
        self._function = checks.require_callable("function", function)
        self._batched, self._timed = checks.require_boolean("batched", batched), checks.require_boolean("timed", timed)
        alone = self._batched or self._timed
        if (
            isinstance(function, Measurement)
            and isinstance(function.function, BatchedFunction | RepeatableFunction)
            and not alone
        ):
            self._function, self._batched = _as_batch_function(function, function.function), True
        if timed and batched:
            raise ParameterError("timed requires single calls: omit batched")
        self._returned = False
        self._raised_on: list[Any] = []

    def __call__(self, value: Any, count: int) -> list[Hashable]:
        outcomes = _draw_outcomes(self._function, self._batched, value, count)
        if not self._returned and count:
            self._returned = not all(isinstance(outcome, RaisedOutcome) for outcome in outcomes)
            self._raised_on = [value]
        return outcomes

    def sample_both_inputs(self, values: Sequence[Any], count: int) -> list[list[Hashable]]:
        if not self._timed:
            return [self(value, count) for value in values]
        return call_in_turns(self._timed_call, values, count)

    def _timed_call(self, value: Any) -> Hashable:
        start = time.perf_counter_ns()
        released = _call_or_capture_error(self._function, value)
        took = float(time.perf_counter_ns() - start)
        self._returned, self._raised_on = self._returned or not isinstance(released, RaisedOutcome), [value]
        return _to_outcome(released), took

    def close(self) -> None:
        """If all calls raised, call once more, so that the error is raised."""
        for value in () if self._returned else self._raised_on:
            self._function(value)


# proof-region: turns
def call_in_turns(call: Callable[[Any], Hashable], values: Sequence[Any], count: int) -> list[list[Hashable]]:
    """Call ``count`` times on each of two values, in turns of two calls; a fair coin decides which value is first."""
    found: list[list[Hashable]] = [[], []]
    for coin in (SYSTEM.draw_auxiliary_words(count) & 1).tolist():  # [coin]
        for side in (coin, 1 - coin):
            found[side].append(call(values[side]))  # [turn]
    return found


# end-proof-region: turns


def _draw_outcomes(function: Callable[..., Any], batched: bool, value: Any, count: int) -> list[Hashable]:
    if not batched:
        return [_to_outcome(_call_or_capture_error(function, value)) for _ in range(count)]
    outcomes: list[Hashable] = []
    while len(outcomes) < count:
        size = min(_BATCH, count - len(outcomes))
        released = function(value, size)
        if len(released) != size:
            raise ParameterError("function must return the requested number of releases, because batched is True")
        outcomes += map(_to_outcome, released.tolist() if hasattr(released, "tolist") else released)
    return outcomes


def _call_or_capture_error(function: Callable[..., Any], value: Any) -> Any:
    try:
        return function(value)
    except TopKError:
        raise
    except Exception as error:
        return RaisedOutcome(type(error).__name__)


def _to_outcome(released: Any) -> Hashable:
    """Return the result of :func:`as_outcome`, faster for simple values; sets and dictionaries are read, too."""
    if type(released) in _KEYS:
        return released  # type: ignore[no-any-return]
    if isinstance(released, list | tuple):
        return tuple(released) if _KEYS.issuperset(map(type, released)) else tuple(map(_to_outcome, released))
    if isinstance(released, Mapping):
        return SortedCollection.from_elements(
            "dict", [(_to_outcome(key), _to_outcome(value)) for key, value in released.items()]
        )
    if isinstance(released, Set):
        return SortedCollection.from_elements("set", [_to_outcome(element) for element in released])
    return as_outcome(released)


def _as_batch_function(
    measurement: Measurement, function: BatchedFunction | RepeatableFunction
) -> Callable[[Any, int], Any]:
    """Return a function that draws n releases in one call, distributed as n calls of ``measurement``."""
    return lambda value, count: function.many(measurement.input_domain.validate(value), count)


# The black-box auditor: lower bounds on the privacy loss of a function, proved by samples.

LEAST_SAMPLES = 100  # fewer samples prove no relevant loss at any confidence
_OUTCOMES = 12  # number shown: a picture of two output distributions needs no more


@dataclass(frozen=True)
class Seen:
    """A description of an event, and how many of the ``of`` releases on each of the two inputs fell into it."""

    event: str
    first: int
    second: int
    of: int


@dataclass(frozen=True)
class Estimate:
    """A lower bound on the privacy loss of a function between two inputs.

    With probability at least ``confidence``, the loss is at least ``lower``. If a function satisfies a claim of ``c``,
    ``lower`` exceeds ``c`` with probability at most 1 - ``confidence``. ``reach`` is the largest bound that this number
    of samples can give, for any function: a claim that is not below it cannot be tested. ``seen`` are the events that
    distinguish the two inputs, with their counts among the tested samples, and ``outcomes`` the likeliest of these,
    each as an event. If ``timed``, the loss is that of releases with their times.
    """

    measure: Measure
    lower: float
    delta: float
    confidence: float
    samples: int
    distinct_outcomes: int
    reach: float = math.inf
    seen: tuple[Seen, ...] = ()
    outcomes: tuple[Seen, ...] = ()
    timed: bool = False

    def contradicts(self, claimed: Any) -> bool:
        """Return whether the bound exceeds ``claimed``, a distance of the measure (its epsilon if it has a delta)."""
        claim = self.measure.distance(claimed, "claimed")
        if isinstance(self.measure, Approximate):
            if claim[1] > self.delta:
                raise ParameterError("the delta of claimed must be at most that of the estimate")
            claim = claim[0]
        return bool(self.lower > claim)

    def verdict(self, claimed: Any) -> str:
        """Return ``"refuted"``, ``"not refuted"``, or ``"not tested"`` if this number of samples cannot refute it."""
        if self.contradicts(claimed):
            return REFUTED
        claim = self.measure.distance(claimed, "claimed")
        return NOT_REFUTED if (claim[0] if isinstance(claim, tuple) else claim) < self.reach else NOT_TESTED


def estimate(
    function: Callable[[Any], Any],
    x: Any,
    x_neighbor: Any,
    *,
    samples: int = 100_000,
    measure: Measure = MaxDivergence(),  # noqa: B008  (a frozen value)
    confidence: float = 0.99,
    delta: float = 0.0,
    batched: bool = False,
    timed: bool = False,
) -> Estimate:
    """Bound the privacy loss of ``function`` between two neighbouring inputs from below, by sampling.

    The function is a black box: a measurement, or code of another library. Half of the samples serve to choose the
    events for which the two output distributions seem to differ most. The other half gives exact (Clopper-Pearson)
    bounds on the probabilities of these events, and so a bound on the loss that is valid with the given confidence.
    The audit can prove that a claim is false, never that it is true.

    Args:
        function: Called with ``x`` and with ``x_neighbor``, which it must not change; each call must be independent
            of all others. Releases are arrays, lists, tuples, sets, dictionaries or hashable values. Floats are cut at
            quantiles; bits, types, the order of the elements of a set or dictionary, single values of a release, and
            the sum of values that change are read if these show more. An error that some calls raise and others do
            not is an outcome; errors of this library, and errors of batches, are raised.
        x: An input.
        x_neighbor: A neighbouring input.
        samples: The number of releases drawn on each of the two inputs, 100 to 4,000,000. Default: 100,000.
        measure: ``MaxDivergence()`` (default), ``RangeDivergence()``, ``ZeroConcentratedDivergence()`` (by the Renyi
            divergence of one event) or ``Approximate(MaxDivergence())``, for which ``delta`` is given.
        confidence: The bound is valid with at least this probability, in (0, 1). Default: 0.99.
        delta: Under ``Approximate(MaxDivergence())``: the delta for which epsilon is bounded, in [0, 1]. Default: 0.
        batched: Whether ``function(x, n)`` returns n independent releases at once, which saves calls. Default: False.
        timed: Whether the time of a call, in nanoseconds, is part of its release, as the last value; under
            ``MaxDivergence()`` and ``Approximate(MaxDivergence())``, call by call. The two inputs take
            turns in an order that fair coins decide, so that a machine that slows down does not refute a claim. The
            bound is valid if neither calls nor coins change the state of the machine. It bounds the loss in the state
            with the largest loss. A function that remembers its inputs between calls, such as by a cache, may be
            refuted wrongly. Default: False.

    Returns:
        An :class:`Estimate`. Its only randomness is that of ``function``.

    Raises:
        ParameterError: An argument is out of range or of the wrong type.

    Runtime:
        That of 2 ``samples`` calls of the function, and some microseconds for each. If a measurement can release many
        times at once, as one-shot selections can, batches are drawn.

    References:
        Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial"
        (1934). Jagielski, Ullman and Oprea, "Auditing Differentially Private Machine Learning" (2020). Hoeffding, "On
        the distribution of the number of successes in independent trials" (1956), for calls that are timed.

    Example:
        >>> import opendp_topk as tk
        >>> found = tk.audit.estimate(lambda votes: max(votes), [1, 2], [1, 3], samples=2000)
        >>> found.contradicts(1.0)
        True
    """
    alpha, shift, half = require_settings(samples, measure, confidence, delta, timed)
    draws = OutcomeSampler(function, batched=batched, timed=timed)
    chosen_on = draws.sample_both_inputs((x, x_neighbor), half)
    cells = _best_binning(measure, shift, chosen_on, alpha)
    seen = [Counter(map(cells, outcomes)) for outcomes in chosen_on]
    _, choice = choose_events(measure, shift, seen[0], seen[1], standard_errors(alpha))
    tested = [Counter(map(cells, outcomes)) for outcomes in draws.sample_both_inputs((x, x_neighbor), half)]
    draws.close()
    return Estimate(
        measure=measure,
        lower=_loss_lower_bound(measure, shift, choice, tested, half, alpha, int(timed)),
        delta=shift,
        confidence=1 - alpha,
        samples=2 * half,
        distinct_outcomes=len(set(seen[0]) | set(seen[1])),
        reach=_largest_provable_loss(measure, shift, half, alpha, int(timed)),
        seen=tuple(_summarize_event(cells, event, tested, half) for event in _tested_events(measure, choice)),
        outcomes=tuple(
            _summarize_event(cells, frozenset([cell]), tested, half)
            for cell, _ in (tested[0] + tested[1]).most_common(_OUTCOMES)
        ),
        timed=timed,
    )


def _tested_events(measure: Measure, choice: EventChoice) -> list[frozenset[Hashable]]:
    return [choice.high, choice.low] if isinstance(measure, RangeDivergence) else [choice.high]


def _summarize_event(cells: Reading, event: frozenset[Hashable], tested: list[Counter[Hashable]], half: int) -> Seen:
    met = [cell for cell, _ in (tested[0] + tested[1]).most_common() if cell in event]
    return Seen(
        describe_event(cells, met or list(event)),
        _event_frequency(tested[0], event),
        _event_frequency(tested[1], event),
        half,
    )


# proof-region: blackbox
def _loss_lower_bound(
    measure: Measure,
    delta: float,
    choice: EventChoice,
    tested: list[Counter[Hashable]],
    half: int,
    alpha: float,
    spare: int = 0,
) -> float:
    first, second = reversed(tested) if choice.swapped else tested  # [direction]
    parts = 4 if isinstance(measure, RangeDivergence) else 2

    def probability_lower_bound(counts: Counter[Hashable], event: frozenset[Hashable]) -> float:
        return clopper_pearson_lower(
            max(_event_frequency(counts, event) - spare, 0), half, alpha / parts
        )  # [union-bound]

    def probability_upper_bound(counts: Counter[Hashable], event: frozenset[Hashable]) -> float:
        return clopper_pearson_upper(min(_event_frequency(counts, event) + spare, half), half, alpha / parts)  # [spare]

    p, q = probability_lower_bound(first, choice.high), probability_upper_bound(second, choice.high)
    if isinstance(measure, ZeroConcentratedDivergence):
        return bernoulli_rho_bound(p, q, choice.order)  # [data-processing]
    if isinstance(measure, RangeDivergence):
        s, t = probability_lower_bound(second, choice.low), probability_upper_bound(first, choice.low)
        return max(0.0, log_ratio(p, q) + log_ratio(s, t))  # [two-events]
    return max(0.0, log_ratio(math.nextafter(p - delta, -1.0) if delta else p, q))  # [event]


def _event_frequency(counts: Counter[Hashable], event: frozenset[Hashable]) -> int:
    return sum(count for cell, count in counts.items() if cell in event)


def _largest_provable_loss(measure: Measure, delta: float, half: int, alpha: float, spare: int) -> float:
    """Return the largest bound that samples can give: for an event seen in all of one side and none of the other."""
    always, never = frozenset({True}), frozenset({False})
    sides = [Counter[Hashable]({True: half}), Counter[Hashable]({False: half})]
    orders = ORDERS if isinstance(measure, ZeroConcentratedDivergence) else (0.0,)
    choices = (EventChoice(False, always, never, order) for order in orders)
    return max(_loss_lower_bound(measure, delta, choice, sides, half, alpha, spare) for choice in choices)  # [reach]


def _best_binning(measure: Measure, delta: float, outcomes: list[list[Hashable]], alpha: float) -> Reading:
    """Return the reading for which one part of these samples bounds most, by events chosen on the other part."""
    tried = candidate_binnings(*outcomes)
    middle = len(outcomes[0]) // 2

    def proved_loss(cells: Reading) -> float:
        parts = [[Counter(map(cells, part)) for part in (side[:middle], side[middle:])] for side in outcomes]
        (first, fresh), (second, other) = parts
        _, choice = choose_events(measure, delta, first, second, standard_errors(alpha))
        return _loss_lower_bound(measure, delta, choice, [fresh, other], len(outcomes[0]) - middle, alpha)

    return max(tried, key=proved_loss) if len(tried) > 1 else tried[0]  # [reading]


# end-proof-region: blackbox


def require_settings(
    samples: Any, measure: Measure, confidence: Any, delta: Any, timed: Any = False
) -> tuple[float, float, int]:
    """Check the arguments that every audit takes; return alpha, delta and the size of a half, or raise an error."""
    if checks.require_positive_int("samples", samples, at_most=2 * MOST_TRIALS) < LEAST_SAMPLES:
        raise ParameterError(f"samples must be at least {LEAST_SAMPLES}")
    known = MaxDivergence(), RangeDivergence(), ZeroConcentratedDivergence(), Approximate(MaxDivergence())
    if not isinstance(measure, Measure) or measure not in known:
        raise ParameterError(
            "measure must be MaxDivergence(), RangeDivergence(), ZeroConcentratedDivergence() or "
            "Approximate(MaxDivergence())"
        )
    if checks.require_boolean("timed", timed) and measure not in (MaxDivergence(), Approximate(MaxDivergence())):
        raise ParameterError("timed requires a claim of epsilon and delta, which averages over states preserve")
    alpha = 1 - float(checks.require_probability(confidence, "confidence"))
    if not 0 < alpha < 1:
        raise ParameterError("confidence must be between 2^-53 and 1 - 2^-53")
    shift = float(checks.require_unit_interval(delta, "delta"))
    if shift and not isinstance(measure, Approximate):
        raise ParameterError("delta requires measure=Approximate(MaxDivergence())")
    return alpha, shift, int(samples) // 2


def standard_errors(alpha: float) -> float:
    """Return about how many standard errors a bound at level alpha / 2 is away; only the choice of events uses it."""
    return math.sqrt(2 * math.log(2 / alpha))
