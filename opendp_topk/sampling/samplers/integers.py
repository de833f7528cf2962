"""Discrete Laplace and discrete Gaussian noise on the integers, exact for every rational scale."""

from __future__ import annotations

import functools
import itertools
import math
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from gmpy2 import mpq
from numpy.typing import NDArray

from ...numerics.arithmetic import as_mpq, round_down, round_up
from .entropy import SYSTEM, Entropy
from .exponentials import bernoulli_exp_events, draw_bernoulli_exp, draw_geometric
from .inversion import (
    Boundaries,
    Ints,
    InversionTable,
    Weights,
    build_inversion_table,
    compute_boundaries,
    draw_digit_groups,
    draw_from_table,
    inversion_table,
)

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


_PART = 16  # digits that decide on a value, and the resolution of the probability of another one
_CELLS = 1 << _PART  # the number of beginnings of that length
_DIGITS = 3 * _PART  # digits at which steps are tabulated, as in ``inversion``: products of those fit int64
_LEAST = 2**9  # of 2^16, the least share of places with other values: smaller ones have long tables of distances
_HALF = 2**15  # of 2^16, more than the largest share
_GUARD = 32  # bits of fixed point beyond the digits requested: an error is below one for each place passed
_CHUNK = 2**16  # values at a time, so that table and values stay in the cache
_BLOCK = 2**20  # values at a time when other values are put in, so that memory beyond the result stays small
_SPREAD = 4  # standard deviations beyond the mean, so that one draw of distances nearly always suffices


# proof-region: sprinkled
@dataclass(frozen=True)
class GapDistribution:
    """The places passed before one with another value: g with probability (1 - odds / 2^16)^g odds / 2^16."""

    odds: int

    def cumulative_bounds(self, digits: int) -> Boundaries:
        """Return bounds on the cumulative distribution at this many digits."""
        one = power = 1 << digits + _GUARD
        ends: list[int] = []
        while power >> _GUARD:  # [enough]
            ends.append(one - power - len(ends) >> _GUARD)  # [passed]
            power = power * (_CELLS - self.odds) >> _PART  # [power]
        return Boundaries(ends, 2 + (len(ends) >> _GUARD), -1)  # [gap-width]


@dataclass(frozen=True, eq=False)
class RestDistribution:
    """The part of a distribution of ``compute_boundaries`` that its cells lack.

    ``given`` is the number of cells up to each step from ``least + 1`` on.
    """

    weights: Weights
    mirrored: bool
    odds: int
    given: Ints
    least: int

    def cumulative_bounds(self, digits: int) -> Boundaries:
        """Return bounds on the cumulative distribution at this many digits."""
        found = compute_boundaries(self.weights, digits, mirrored=self.mirrored)  # [deeper]
        ends = self.remaining_bounds(np.array(found.ends, dtype=object), found.least, digits)
        return Boundaries(ends.tolist(), self.step_width(found.width), found.least)

    def remaining_bounds(self, ends: NDArray[Any], least: int, digits: int) -> NDArray[Any]:
        """Return lower bounds, from those of ``compute_boundaries``."""
        places = np.arange(len(ends)) + least - self.least
        cells = self.given.take(places, mode="clip").astype(ends.dtype)  # [cells]
        lacking = np.maximum(ends - cells * (_CELLS - self.odds << digits - 2 * _PART), 0)  # [lacking]
        return np.maximum.accumulate(lacking * _CELLS // self.odds)  # [left]

    def step_width(self, width: int) -> int:
        """Return how much greater the steps may be, if those of ``compute_boundaries`` may be greater by ``width``."""
        return 2 + width * _CELLS // self.odds  # [rest-width]


@dataclass(frozen=True, eq=False)
class MixtureTables:
    """A distribution in three parts.

    Attributes:
        guide: The value for each 16 digits.
        rest: The distribution of the other values.
        gaps: The distribution of the places between those.
        odds: Of 2^16, the share of the other values.
    """

    guide: Ints
    rest: InversionTable
    gaps: InversionTable
    odds: int


@functools.lru_cache(maxsize=8)
def mixture_tables(weights: Weights, *, mirrored: bool) -> MixtureTables:
    """Return the parts of the distribution of ``compute_boundaries``.

    The results of 8 calls are cached, each of less than five megabytes at scales below 1024.
    """
    found = compute_boundaries(weights, _DIGITS, mirrored=mirrored)  # [bounds]
    ends = np.array(found.ends, dtype=np.int64)
    masses = np.maximum(np.diff(np.maximum(ends, 0)) - found.width, 0)  # [masses]
    large = masses[masses >= _HALF << _PART]

    def large_cell_count(odds: int) -> int:
        return int((large // (_CELLS - odds << _PART)).sum())  # [count]

    odds = bisect_left(range(_HALF), _CELLS, lo=_LEAST, key=large_cell_count)  # [odds]
    room = masses // (_CELLS - odds << _PART)  # [room]
    given = np.minimum(np.append(0, np.cumsum(room)), _CELLS)  # [given]
    guide = np.repeat(np.arange(len(room)) + found.least + 1, np.diff(given))  # [guide]
    rest = RestDistribution(weights, mirrored, odds, given, found.least)
    values = build_inversion_table(
        rest, rest.remaining_bounds(ends, found.least, _DIGITS), rest.step_width(found.width), found.least
    )
    return MixtureTables(guide, values, _gap_table(odds), odds)


def _gap_table(odds: int) -> InversionTable:
    gaps = GapDistribution(odds)
    found = gaps.cumulative_bounds(_DIGITS)
    return build_inversion_table(gaps, np.array(found.ends, dtype=np.int64), found.width, found.least)  # [gaps]


def draw_from_mixture(law: MixtureTables, out: Ints, entropy: Entropy) -> None:
    """Fill ``out`` with independent draws."""
    for start in range(0, len(out), _CHUNK):
        part = out[start : start + _CHUNK]
        law.guide.take(draw_digit_groups(len(part), entropy), out=part, mode="clip")  # [sixteen]
    for start in range(0, len(out), _BLOCK):
        _replace_values(law, out[start : start + _BLOCK], entropy)  # [blocks]


def _replace_values(law: MixtureTables, out: Ints, entropy: Entropy) -> None:
    """Put other values at some of the places."""
    places = _draw_replaced_places(law, len(out), entropy)
    values = np.empty(len(places), dtype=np.int64)
    draw_from_table(law.rest, values, entropy)
    out[places] = values  # [replaced]


def _draw_replaced_places(law: MixtureTables, n: int, entropy: Entropy) -> Ints:
    """Select each of the first n places with the probability of another value."""
    found, last = [], -1
    while last < n:
        mean = (n - last) * law.odds >> _PART
        gaps = np.empty(mean + _SPREAD * math.isqrt(mean) + _SPREAD, dtype=np.int64)
        draw_from_table(law.gaps, gaps, entropy)
        found.append(np.cumsum(gaps + 1) + last)  # [distances]
        last = int(found[-1][-1])
    places = np.concatenate(found)
    return places[: np.searchsorted(places, n)]  # [within]


# end-proof-region: sprinkled


Integers = NDArray[Any]

_FEW = 4  # up to this many values, drawing them one by one costs less than the table that many would share,
_OFTEN = 8  # unless there were this many such calls: by then they have cost as much as the table
_MANY = 2**19  # from this many values on, the table of a medium scale pays: it takes 30 ms, and saves the decisions
_SMALL = 32  # smaller scales have a small table of their own
_MEDIUM = 1024  # smaller scales have a table of their own if there are many values


# proof-region: integers
def discrete_laplace(scale: Fraction, n: int, entropy: Entropy = SYSTEM) -> Integers:
    """Draw n independent integers with P(z) proportional to exp(-|z| / scale); zeros if ``scale`` is 0.

    Returns:
        An int64 array with entries of at most 2^62 in size, or an array of Python integers.
    """
    if scale == 0:
        return np.zeros(n, dtype=np.int64)  # [zero-scale]
    if n <= _FEW and next(_call_counter(_draw_discrete_laplace, scale)) < _OFTEN:
        return _to_integer_array([_draw_discrete_laplace(as_mpq(scale), entropy) for _ in range(n)])  # [few]
    return _draw_by_inversion(Weights(1 / scale, Fraction(0)), scale, n, entropy)  # [laplace-weights]


def discrete_gaussian(scale: Fraction, n: int, entropy: Entropy = SYSTEM) -> Integers:
    """Draw n independent integers with P(z) proportional to exp(-z^2 / (2 scale^2)); zeros if ``scale`` is 0.

    Returns:
        An int64 array with entries of at most 2^62 in size, or an array of Python integers.
    """
    if scale == 0:
        return np.zeros(n, dtype=np.int64)  # [zero-scale]
    if n <= _FEW and next(_call_counter(_draw_discrete_gaussian, scale)) < _OFTEN:
        return _to_integer_array([_draw_discrete_gaussian(as_mpq(scale), entropy) for _ in range(n)])  # [few]
    return _draw_by_inversion(Weights(Fraction(0), 1 / (2 * scale * scale)), scale, n, entropy)  # [gaussian-weights]


@functools.lru_cache(maxsize=64)
def _call_counter(kind: object, scale: Fraction) -> Iterator[int]:
    """Return the counter of calls for few values of this kind and scale; other scales may evict it from the cache."""
    return itertools.count()


def _draw_discrete_laplace(scale: mpq, entropy: Entropy) -> int:
    return draw_geometric(scale, entropy) - draw_geometric(scale, entropy)  # [difference]


def _draw_discrete_gaussian(scale: mpq, entropy: Entropy) -> int:
    """Draw by rejection from discrete Laplace noise of scale t = floor(scale) + 1; more than a third is kept."""
    t = scale // 1 + 1  # [proposal-scale]
    centre = scale * scale / t
    while True:
        proposed = _draw_discrete_laplace(mpq(t), entropy)  # [propose]
        if draw_bernoulli_exp((abs(proposed) - centre) ** 2 / (2 * scale * scale), entropy):  # [keep]
            return proposed


def _draw_by_inversion(weights: Weights, scale: Fraction, n: int, entropy: Entropy) -> Integers:
    """Draw n integers with P(z) proportional to the weight of |z|, which is of the order of ``scale``."""
    found = np.empty(n, dtype=np.int64)
    if scale < _MEDIUM and n >= _MANY:
        draw_from_mixture(mixture_tables(weights, mirrored=True), found, entropy)  # [many]
        return found
    if scale < _SMALL:
        draw_from_table(inversion_table(weights, mirrored=True), found, entropy)  # [direct]
        return found
    cells = build_lattice(weights, int(scale).bit_length() - _SMALL.bit_length() + 1)  # [shift]
    return _in_chunks(n, lambda m: _draw_until_kept(lambda open_: propose_integers(cells, open_, entropy), m))


def _draw_until_kept(proposed: Callable[[int], tuple[Integers, NDArray[np.bool_]]], n: int) -> Integers:
    """Return n kept values, each the first one that was kept at its place."""
    values, kept = proposed(n)
    while not kept.all():
        open_ = np.flatnonzero(~kept)
        again, kept[open_] = proposed(len(open_))
        values = values.astype(np.result_type(values, again), copy=False)
        values[open_] = again  # [again]
    return values


def _in_chunks(n: int, draw: Callable[[int], Integers]) -> Integers:
    """Return n integers from draws of at most 2^16, so that memory beyond the result stays small."""
    return np.concatenate([draw(min(_CHUNK, n - start)) for start in range(0, n, _CHUNK)])  # [chunks]


def _to_integer_array(values: list[int]) -> Integers:
    return np.array(values, dtype=np.int64 if all(abs(one) < _LARGE for one in values) else object)  # [type]


# end-proof-region: integers
