"""Pairs of neighbouring score vectors that are likely to be worst, all made up: no data and no randomness."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from ...errors import ParameterError
from ...spaces.domains import VectorDomain
from ...spaces.metrics import (
    L01InfDistance,
    L1Distance,
    L2Distance,
    LInfDistance,
    Metric,
    PerCandidateDistance,
    RangeDistance,
)

Vector = tuple[Any, ...]
# Enough for 2 d + 1 square roots at d = 5, the largest size that is tried on its own.
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
_FINEST = 2**64  # square roots are cut there: finer than any float64 in the unit interval
_SPREAD = 40  # in scales: what lies further below the best has a chance of e^-40
_SCATTERED = 2000  # they end, so that a large budget does, and come after the structured ones
# From a tie, one score moves against all others, and all others against it: any choice by scores shows these.
LIKELIEST = 2
"""How many pairs, the first ones, are tried whatever the budget."""


def within(metric: Metric, x: Vector, y: Vector, d_in: Fraction) -> bool:
    """Whether two score vectors are at distance at most ``d_in``, decided exactly.

    Raises:
        ParameterError: The metric is none of the score metrics.
    """
    moves = [Fraction(b) - Fraction(a) for a, b in zip(x, y, strict=True)]
    if metric == LInfDistance():
        return max(map(abs, moves)) <= d_in
    if metric == LInfDistance(monotonic=True):
        return max(*moves, Fraction(0)) - min(*moves, Fraction(0)) <= d_in
    if isinstance(metric, L01InfDistance):
        whole = LInfDistance(monotonic=metric.monotonic)
        return within(whole, x, y, d_in) and math.ceil(sum(map(abs, moves)) / metric.changes) <= d_in
    if isinstance(metric, PerCandidateDistance):
        shares = tuple(move / Fraction(bound) for move, bound in zip(moves, metric.bounds, strict=True))
        return within(LInfDistance(monotonic=metric.monotonic), (0,) * len(shares), shares, d_in)
    if metric == RangeDistance():
        return max(moves) - min(moves) <= d_in
    if metric == L1Distance():
        return sum(map(abs, moves)) <= d_in
    if metric == L2Distance():
        return sum(move * move for move in moves) <= d_in * d_in
    raise ParameterError(f"pairs must be given: no neighbours can be made up for {metric!r}")


def neighbours(
    domain: VectorDomain, metric: Metric, d_in: Fraction, unit: Fraction, sizes: tuple[int, ...]
) -> Iterator[tuple[Vector, Vector]]:
    """Pairs of members of ``domain`` at distance at most ``d_in``, likely witnesses first.

    First, from a tie, one score against all others, and all others against it; then scores in blocks of equal ones,
    apart by 0 to 40 units in all, and moves to corners of the ball; then points of an equidistributed sequence.
    """
    seen = set()
    streams = [itertools.chain(_structured(metric, d_in, unit, d), _scattered(metric, d_in, unit, d)) for d in sizes]
    turns = itertools.chain.from_iterable(zip(*streams, strict=False))
    for scores, moves in itertools.chain(_likeliest(metric, d_in, sizes[0]), turns):
        for pair in admitted(domain, metric, d_in, scores, moves):
            if pair not in seen:
                seen.add(pair)
                yield pair


def variations(
    domain: VectorDomain, metric: Metric, d_in: Fraction, unit: Fraction, x: Vector, x_prime: Vector
) -> Iterator[tuple[Vector, Vector]]:
    """The neighbours that differ from a pair in one score: in its move, or in its place."""
    scores = [Fraction(a) for a in x]
    moves = [Fraction(b) - Fraction(a) for a, b in zip(x, x_prime, strict=True)]
    for i in range(len(scores)):
        for move in dict.fromkeys((min(moves), max(moves), Fraction(0))):
            yield from admitted(domain, metric, d_in, scores, [*moves[:i], move, *moves[i + 1 :]])
        for step in (30 * unit, 10 * unit, 2 * unit, d_in, d_in / 2):
            for place in (scores[i] - step, scores[i] + step):
                placed = [*scores[:i], place, *scores[i + 1 :]]
                if max(placed) - min(placed) <= max(_SPREAD * unit, max(scores) - min(scores)):
                    yield from admitted(domain, metric, d_in, placed, moves)


def admitted(
    domain: VectorDomain, metric: Metric, d_in: Fraction, scores: Sequence[Fraction], moves: Sequence[Fraction]
) -> Iterator[tuple[Vector, Vector]]:
    """The pair, if it is one of different neighbours in the domain: at most one."""
    pair = _members(domain, tuple(scores), tuple(moves))
    if pair is not None and pair[0] != pair[1] and within(metric, *pair, d_in):
        yield pair


def _likeliest(metric: Metric, d_in: Fraction, d: int) -> Iterator[tuple[Vector, Vector]]:
    """From a tie, one score moved against all others, and all others against it: any choice by scores shows it."""
    for first in (True, False):
        for moves in corners(metric, d_in, (first, *[not first] * (d - 1)), 1):
            yield (Fraction(0),) * d, moves


def _structured(metric: Metric, d_in: Fraction, unit: Fraction, d: int) -> Iterator[tuple[Vector, Vector]]:
    """All of them, in strides of the golden section, so that every part of the list is an even sample of it."""
    listed: list[tuple[Vector, Vector]] = []
    for blocks in _compositions(d):
        levels = max(1, len(blocks) - 1)
        gaps = [d_in / 2, d_in, 2 * d_in, *(spread * unit / levels for spread in (1, 3, 8, 20, _SPREAD))]
        for gap in gaps if len(blocks) > 1 else [Fraction(0)]:
            scores = tuple(-gap * level for level, size in enumerate(blocks) for _ in range(size))
            for raised in itertools.product(*(range(size + 1) for size in blocks)):
                corner = tuple(i < n for n, size in zip(raised, blocks, strict=True) for i in range(size))
                listed += [(scores, moves) for moves in corners(metric, d_in, corner, len(listed))]
    stride = next(n for n in range(round(0.618 * len(listed)), len(listed) + 2) if math.gcd(n, len(listed)) == 1)
    for i in range(len(listed)):
        yield listed[i * stride % len(listed)]


def corners(metric: Metric, d_in: Fraction, corner: tuple[bool, ...], turn: int) -> list[Vector]:
    """Moves of length d_in that raise the scores in ``corner`` against the others; now and then with a common shift."""
    raised = sum(corner)
    if isinstance(metric, PerCandidateDistance):
        alike = corners(LInfDistance(monotonic=metric.monotonic), d_in, corner, turn)
        return [tuple(move * Fraction(b) for move, b in zip(moves, metric.bounds, strict=True)) for moves in alike]
    if metric == LInfDistance():
        return [tuple(d_in if up else -d_in for up in corner)]
    if not raised or (raised == len(corner) > 1 and metric == RangeDistance()):
        return []
    each = {L1Distance(): d_in / raised, L2Distance(): _root(d_in * d_in / raised)}.get(metric, d_in)
    moves = [tuple(each if up else Fraction(0) for up in corner)]
    if turn % 4 == 0 and metric == LInfDistance(monotonic=True):
        moves.append(tuple(d_in / 2 if up else -d_in / 2 for up in corner))
    if turn % 4 == 0 and metric == RangeDistance():
        moves.append(tuple(move - 16 * d_in for move in moves[0]))
    return moves


def _scattered(metric: Metric, d_in: Fraction, unit: Fraction, d: int) -> Iterator[tuple[Vector, Vector]]:
    """Kronecker's sequence in 2 d + 1 dimensions: scores within a random spread, moves within the ball."""
    roots = [Fraction(math.isqrt(p * _FINEST**2), _FINEST) for p in _PRIMES[: 2 * d + 1]]
    shrink = {L1Distance(): Fraction(1, d), L2Distance(): _root(Fraction(1, d))}.get(metric, 1)
    signed = metric in (LInfDistance(), L1Distance(), L2Distance())
    for n in range(1, _SCATTERED + 1):
        spread, *rest = [n * root % 1 for root in roots]
        scores = tuple(-_SPREAD * unit * spread**4 * t for t in rest[:d])
        moves = tuple((2 * t - 1 if signed else t) * d_in * shrink for t in rest[d:])
        yield scores, moves


def _members(domain: VectorDomain, scores: Vector, moves: Vector) -> tuple[Vector, Vector] | None:
    """The pair as members of ``domain``: rounded, the moves toward 0, and shifted into its bounds."""
    low, high = min(scores) + min(0, *moves), max(scores) + max(0, *moves)
    ends = zip(domain.element_domain.bounds or (), (low, high), strict=False)
    shifts = [Fraction(bound) - end for bound, end in ends if math.isfinite(bound)] or [Fraction(0)]
    element: Callable[[Fraction, Fraction], tuple[Any, Any]] = _integers if domain.element_domain.T is int else _floats
    for shift in shifts:
        x, y = zip(*(element(score + shift, move) for score, move in zip(scores, moves, strict=True)), strict=True)
        if domain.member(x) and domain.member(y):
            return x, y
    return None


def _integers(score: Fraction, move: Fraction) -> tuple[int, int]:
    return math.floor(score), math.floor(score) + math.trunc(move)


def _floats(score: Fraction, move: Fraction) -> tuple[float, float]:
    x = float(score)
    y = float(Fraction(x) + move)
    return x, math.nextafter(y, x) if abs(Fraction(y) - Fraction(x)) > abs(move) else y


def _compositions(d: int) -> Iterator[tuple[int, ...]]:
    """The ways to write d as a sum of positive integers."""
    for n in range(d):
        for cuts in itertools.combinations(range(1, d), n):
            yield tuple(b - a for a, b in itertools.pairwise((0, *cuts, d)))


def _root(square: Fraction) -> Fraction:
    """The square root, rounded down."""
    return Fraction(math.isqrt(math.floor(square * _FINEST**2)), _FINEST)
