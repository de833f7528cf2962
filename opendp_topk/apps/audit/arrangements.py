"""Pairs of neighbours in every order, direction and level, for functions that may not treat all places alike.

The neighbours of :mod:`.neighbours` have descending scores, from 0 downward, and raise the first ones of equal scores:
that is all there is for a mechanism that depends neither on the order of its scores nor on a common shift. A function
of another library may: it may read them one by one, compare them with a threshold, or use the same noise every time.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from ...spaces.domains import VectorDomain
from ...spaces.metrics import Metric
from .neighbours import LIKELIEST, Vector, admitted, corners, neighbours

_ORDERS, _DIRECTIONS, _LEVELS = 4, 2, 4  # as many as the functions below tell apart
_FARTHEST = 40  # in units: as far as scores of neighbours lie apart, and e^-40 is never seen in samples
_EXTREMES = (2**53, 2**31, 2**63)  # where floats stop to hold all integers, and where integers of machines end
_EXTREME_SIZES = 2  # that are tried at these
_LEAST_FLOAT = Fraction(1, 2**1074)  # the subnormal number nearest to 0
_GOLDEN = Fraction(1618, 1000)  # near the golden section: its multiples fill the unit interval evenly
_FINEST = 2**64  # so fine that no two of the places meant to differ are equal


@functools.lru_cache(maxsize=16)
def first_pairs(
    domain: VectorDomain, metric: Metric, d_in: Fraction, unit: Fraction, sizes: tuple[int, ...], most: int
) -> tuple[tuple[Vector, Vector], ...]:
    """The first ``most`` pairs of :func:`arranged`, remembered for the next search of the same space."""
    return tuple(itertools.islice(arranged(domain, metric, d_in, unit, sizes), most))


def extreme_pairs(
    domain: VectorDomain, metric: Metric, d_in: Fraction, sizes: tuple[int, ...]
) -> Iterator[tuple[Vector, Vector]]:
    """Pairs where arithmetic fails: a score at the end of a format, or small ones beside it, and subnormal scores."""
    for d in sizes[:_EXTREME_SIZES]:
        one, rest = (True, *[False] * (d - 1)), (False, *[True] * (d - 1))
        small = (_LEAST_FLOAT, *[Fraction(0)] * (d - 1))
        made = [
            ((large, *[least] * (d - 1)), moves)
            for end in map(Fraction, _EXTREMES)
            for large, least, corner in ((end, d_in, rest), (end - d_in, Fraction(0), one))
            for moves in corners(metric, d_in, corner, 1)
        ]
        for scores, moves in [*made, (small, tuple(-score for score in small))]:
            for turn in (1, -1):
                yield from admitted(domain, metric, d_in, scores[::turn], moves[::turn])


def arranged(
    domain: VectorDomain, metric: Metric, d_in: Fraction, unit: Fraction, sizes: tuple[int, ...]
) -> Iterator[tuple[Vector, Vector]]:
    """Pairs of members of ``domain`` at distance at most ``d_in``, each of them once.

    Those of :func:`neighbours`, in turn as they are, reversed and shuffled; moved up or down; and with the highest,
    the lowest or any score at 0, or all shifted by -40 to 40 units. The likeliest come as they are, too.
    """
    seen = set()
    for n, (x, x_prime) in enumerate(neighbours(domain, metric, d_in, unit, sizes)):
        scores = [Fraction(a) for a in x]
        moves = [Fraction(b) - a for a, b in zip(scores, x_prime, strict=True)]
        versions = [(x, x_prime)] if n < LIKELIEST else []
        versions += admitted(domain, metric, d_in, *_version(n, scores, moves, unit))
        for pair in versions:
            if pair not in seen:
                seen.add(pair)
                yield pair


def _version(
    n: int, scores: Sequence[Fraction], moves: Sequence[Fraction], unit: Fraction
) -> tuple[list[Fraction], list[Fraction]]:
    """The n-th one: its order, direction and level take turns at different paces."""
    order = _order(n, len(scores))
    level = _level(n, scores, unit)
    sign = 1 if n // _ORDERS % _DIRECTIONS else -1
    return [scores[i] + level for i in order], [sign * moves[i] for i in order]


def _order(n: int, d: int) -> list[int]:
    """As it is, reversed, and twice by the fractions of multiples of square roots."""
    if n % _ORDERS < 2:
        return list(range(d))[:: -1 if n % _ORDERS else 1]
    return sorted(range(d), key=lambda i: n * math.isqrt((4 * i + 2) * _FINEST**2) % _FINEST)


def _level(n: int, scores: Sequence[Fraction], unit: Fraction) -> Fraction:
    """What is added to all scores, of which the highest is 0 or near it."""
    turn = n // (_ORDERS * _DIRECTIONS) % _LEVELS
    if turn == 0:
        return Fraction(0)
    if turn == 1:
        return -min(scores)
    if turn == 2:
        return -scores[n % len(scores)]
    return round(_FARTHEST * (2 * (n * _GOLDEN % 1) - 1)) * unit
