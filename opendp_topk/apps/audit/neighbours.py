"""Neighbouring inputs for audits."""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...errors import ParameterError, ParameterTypeError, checks
from ...errors.extras import import_extra
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
from .blackbox import flatten_outcome

# Pairs of neighbouring score vectors that are likely to be worst, constructed without data and without randomness.

Vector = tuple[Any, ...]
# Enough for 2 d + 1 square roots at d = 5, the largest default size.
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
_FINEST = 2**64  # square roots are truncated to this: finer than any float64 in the unit interval
_SPREAD = 40  # in scales: a score further below the best wins with probability about e^-40
_SCATTERED = 2000  # the sequence is finite, so that a large budget ends too; these pairs come after the structured ones
# From a tie, one score moves against all others, and all others against it: this reveals any choice by scores.
LIKELIEST = 2
"""Number of first pairs that are always tried, whatever the budget."""


def is_within_distance(metric: Metric, x: Vector, y: Vector, d_in: Fraction) -> bool:
    """Return whether two score vectors are at distance at most ``d_in``, decided exactly."""
    moves = [Fraction(b) - Fraction(a) for a, b in zip(x, y, strict=True)]
    if metric == LInfDistance():
        return max(map(abs, moves)) <= d_in
    if metric == LInfDistance(monotonic=True):
        return max(*moves, Fraction(0)) - min(*moves, Fraction(0)) <= d_in
    if isinstance(metric, L01InfDistance):
        whole = LInfDistance(monotonic=metric.monotonic)
        return is_within_distance(whole, x, y, d_in) and math.ceil(sum(map(abs, moves)) / metric.changes) <= d_in
    if isinstance(metric, PerCandidateDistance):
        shares = tuple(move / Fraction(bound) for move, bound in zip(moves, metric.bounds, strict=True))
        return is_within_distance(LInfDistance(monotonic=metric.monotonic), (0,) * len(shares), shares, d_in)
    if metric == RangeDistance():
        return max(moves) - min(moves) <= d_in
    if metric == L1Distance():
        return sum(map(abs, moves)) <= d_in
    if metric == L2Distance():
        return sum(move * move for move in moves) <= d_in * d_in
    raise ParameterError(f"pairs must be given: no neighbours can be generated for {metric!r}")


def neighbouring_pairs(
    domain: VectorDomain, metric: Metric, d_in: Fraction, unit: Fraction, sizes: tuple[int, ...]
) -> Iterator[tuple[Vector, Vector]]:
    """Yield pairs of members of ``domain`` at distance at most ``d_in``, likely witnesses first.

    The order is: from a tie, one score against all others, and all others against it; scores in blocks of equal ones,
    0 to 40 units apart in total, moved to corners of the ball; points of an equidistributed sequence.
    """
    seen = set()
    streams = [
        itertools.chain(_structured_moves(metric, d_in, unit, d), _kronecker_moves(metric, d_in, unit, d))
        for d in sizes
    ]
    turns = itertools.chain.from_iterable(zip(*streams, strict=False))
    for scores, moves in itertools.chain(_tied_moves(metric, d_in, sizes[0]), turns):
        for pair in admissible_pairs(domain, metric, d_in, scores, moves):
            if pair not in seen:
                seen.add(pair)
                yield pair


def vary_pair(
    domain: VectorDomain, metric: Metric, d_in: Fraction, unit: Fraction, x: Vector, x_prime: Vector
) -> Iterator[tuple[Vector, Vector]]:
    """Yield the neighbours that differ from a pair in one score, either in its move or in its position."""
    scores = [Fraction(a) for a in x]
    moves = [Fraction(b) - Fraction(a) for a, b in zip(x, x_prime, strict=True)]
    for i in range(len(scores)):
        for move in dict.fromkeys((min(moves), max(moves), Fraction(0))):
            yield from admissible_pairs(domain, metric, d_in, scores, [*moves[:i], move, *moves[i + 1 :]])
        for step in (30 * unit, 10 * unit, 2 * unit, d_in, d_in / 2):
            for place in (scores[i] - step, scores[i] + step):
                placed = [*scores[:i], place, *scores[i + 1 :]]
                if max(placed) - min(placed) <= max(_SPREAD * unit, max(scores) - min(scores)):
                    yield from admissible_pairs(domain, metric, d_in, placed, moves)


def admissible_pairs(
    domain: VectorDomain, metric: Metric, d_in: Fraction, scores: Sequence[Fraction], moves: Sequence[Fraction]
) -> Iterator[tuple[Vector, Vector]]:
    """Yield the pair if both vectors are in the domain, differ and are neighbours; otherwise yield nothing."""
    pair = _domain_members(domain, tuple(scores), tuple(moves))
    if pair is not None and pair[0] != pair[1] and is_within_distance(metric, *pair, d_in):
        yield pair


def _tied_moves(metric: Metric, d_in: Fraction, d: int) -> Iterator[tuple[Vector, Vector]]:
    """Yield ties with one score moved against all others, and all others against it: any choice by scores shows it."""
    for first in (True, False):
        for moves in corner_moves(metric, d_in, (first, *[not first] * (d - 1)), 1):
            yield (Fraction(0),) * d, moves


def _structured_moves(metric: Metric, d_in: Fraction, unit: Fraction, d: int) -> Iterator[tuple[Vector, Vector]]:
    """Yield all structured pairs in strides of the golden section, so that each part of the list is an even sample."""
    listed: list[tuple[Vector, Vector]] = []
    for blocks in _integer_compositions(d):
        levels = max(1, len(blocks) - 1)
        gaps = [d_in / 2, d_in, 2 * d_in, *(spread * unit / levels for spread in (1, 3, 8, 20, _SPREAD))]
        for gap in gaps if len(blocks) > 1 else [Fraction(0)]:
            scores = tuple(-gap * level for level, size in enumerate(blocks) for _ in range(size))
            for raised in itertools.product(*(range(size + 1) for size in blocks)):
                corner = tuple(i < n for n, size in zip(raised, blocks, strict=True) for i in range(size))
                listed += [(scores, moves) for moves in corner_moves(metric, d_in, corner, len(listed))]
    stride = next(n for n in range(round(0.618 * len(listed)), len(listed) + 2) if math.gcd(n, len(listed)) == 1)
    for i in range(len(listed)):
        yield listed[i * stride % len(listed)]


def corner_moves(metric: Metric, d_in: Fraction, corner: tuple[bool, ...], turn: int) -> list[Vector]:
    """Return moves of length d_in that raise the scores in ``corner`` against the others, sometimes with a shift."""
    raised = sum(corner)
    if isinstance(metric, PerCandidateDistance):
        alike = corner_moves(LInfDistance(monotonic=metric.monotonic), d_in, corner, turn)
        return [tuple(move * Fraction(b) for move, b in zip(moves, metric.bounds, strict=True)) for moves in alike]
    if metric == LInfDistance():
        return [tuple(d_in if up else -d_in for up in corner)]
    if not raised or (raised == len(corner) > 1 and metric == RangeDistance()):
        return []
    each = {L1Distance(): d_in / raised, L2Distance(): _square_root_down(d_in * d_in / raised)}.get(metric, d_in)
    moves = [tuple(each if up else Fraction(0) for up in corner)]
    if turn % 4 == 0 and metric == LInfDistance(monotonic=True):
        moves.append(tuple(d_in / 2 if up else -d_in / 2 for up in corner))
    if turn % 4 == 0 and metric == RangeDistance():
        moves.append(tuple(move - 16 * d_in for move in moves[0]))
    return moves


def _kronecker_moves(metric: Metric, d_in: Fraction, unit: Fraction, d: int) -> Iterator[tuple[Vector, Vector]]:
    """Yield Kronecker's sequence in 2 d + 1 dimensions: scores within a random spread, moves within the ball."""
    roots = [Fraction(math.isqrt(p * _FINEST**2), _FINEST) for p in _PRIMES[: 2 * d + 1]]
    shrink = {L1Distance(): Fraction(1, d), L2Distance(): _square_root_down(Fraction(1, d))}.get(metric, 1)
    signed = metric in (LInfDistance(), L1Distance(), L2Distance())
    for n in range(1, _SCATTERED + 1):
        spread, *rest = [n * root % 1 for root in roots]
        scores = tuple(-_SPREAD * unit * spread**4 * t for t in rest[:d])
        moves = tuple((2 * t - 1 if signed else t) * d_in * shrink for t in rest[d:])
        yield scores, moves


def _domain_members(domain: VectorDomain, scores: Vector, moves: Vector) -> tuple[Vector, Vector] | None:
    """Return the pair as members of ``domain``: rounded (moves toward 0) and shifted into its bounds."""
    low, high = min(scores) + min(0, *moves), max(scores) + max(0, *moves)
    ends = zip(domain.element_domain.bounds or (), (low, high), strict=False)
    shifts = [Fraction(bound) - end for bound, end in ends if math.isfinite(bound)] or [Fraction(0)]
    element: Callable[[Fraction, Fraction], tuple[Any, Any]] = (
        _integer_members if domain.element_domain.T is int else _float_members
    )
    for shift in shifts:
        x, y = zip(*(element(score + shift, move) for score, move in zip(scores, moves, strict=True)), strict=True)
        if domain.member(x) and domain.member(y):
            return x, y
    return None


def _integer_members(score: Fraction, move: Fraction) -> tuple[int, int]:
    return math.floor(score), math.floor(score) + math.trunc(move)


def _float_members(score: Fraction, move: Fraction) -> tuple[float, float]:
    x = float(score)
    y = float(Fraction(x) + move)
    return x, math.nextafter(y, x) if abs(Fraction(y) - Fraction(x)) > abs(move) else y


def _integer_compositions(d: int) -> Iterator[tuple[int, ...]]:
    for n in range(d):
        for cuts in itertools.combinations(range(1, d), n):
            yield tuple(b - a for a, b in itertools.pairwise((0, *cuts, d)))


def _square_root_down(square: Fraction) -> Fraction:
    return Fraction(math.isqrt(math.floor(square * _FINEST**2)), _FINEST)


# Pairs of neighbours in every order, direction and level, for functions that may treat positions differently.
#
# The neighbours above have descending scores, from 0 downward, and raise the first ones of equal
# scores. That covers a mechanism that depends neither on the order of its scores nor on a common shift. A function of
# another library may read its scores one by one, compare them with a threshold, or use the same noise every time.

_ORDERS, _DIRECTIONS, _LEVELS = 4, 2, 4  # as many as the functions below distinguish
_FARTHEST = 40  # in units: the largest gap between scores of neighbours; e^-40 is never seen in samples
_EXTREMES = (2**53, 2**31, 2**63)  # the end of exact integers in floats, and of machine integers
_EXTREME_SIZES = 2  # number of sizes tried at these values
_LEAST_FLOAT = Fraction(1, 2**1074)  # the subnormal number nearest to 0
_GOLDEN = Fraction(1618, 1000)  # near the golden section: its multiples fill the unit interval evenly


@functools.lru_cache(maxsize=16)
def first_pairs(
    domain: VectorDomain, metric: Metric, d_in: Fraction, unit: Fraction, sizes: tuple[int, ...], most: int
) -> tuple[tuple[Vector, Vector], ...]:
    """Return the first ``most`` pairs of :func:`arranged_pairs`, cached for the next search of the same space."""
    return tuple(itertools.islice(arranged_pairs(domain, metric, d_in, unit, sizes), most))


def extreme_pairs(
    domain: VectorDomain, metric: Metric, d_in: Fraction, sizes: tuple[int, ...]
) -> Iterator[tuple[Vector, Vector]]:
    """Yield pairs that strain arithmetic: one score at the end of a number format and small others, or subnormals."""
    for d in sizes[:_EXTREME_SIZES]:
        one, rest = (True, *[False] * (d - 1)), (False, *[True] * (d - 1))
        small = (_LEAST_FLOAT, *[Fraction(0)] * (d - 1))
        made = [
            ((large, *[least] * (d - 1)), moves)
            for end in map(Fraction, _EXTREMES)
            for large, least, corner in ((end, d_in, rest), (end - d_in, Fraction(0), one))
            for moves in corner_moves(metric, d_in, corner, 1)
        ]
        for scores, moves in [*made, (small, tuple(-score for score in small))]:
            for turn in (1, -1):
                yield from admissible_pairs(domain, metric, d_in, scores[::turn], moves[::turn])


def arranged_pairs(
    domain: VectorDomain, metric: Metric, d_in: Fraction, unit: Fraction, sizes: tuple[int, ...]
) -> Iterator[tuple[Vector, Vector]]:
    """Yield pairs of members of ``domain`` at distance at most ``d_in``, each of them once.

    The pairs are those of :func:`neighbouring_pairs`, in turn unchanged, reversed and shuffled; with moves up or
    down; and with the highest, the lowest or any score at 0, or all shifted by -40 to 40 units. The likeliest also
    come unchanged.
    """
    seen = set()
    for n, (x, x_prime) in enumerate(neighbouring_pairs(domain, metric, d_in, unit, sizes)):
        scores = [Fraction(a) for a in x]
        moves = [Fraction(b) - a for a, b in zip(scores, x_prime, strict=True)]
        versions = [(x, x_prime)] if n < LIKELIEST else []
        versions += admissible_pairs(domain, metric, d_in, *_arranged_version(n, scores, moves, unit))
        for pair in versions:
            if pair not in seen:
                seen.add(pair)
                yield pair


def _arranged_version(
    n: int, scores: Sequence[Fraction], moves: Sequence[Fraction], unit: Fraction
) -> tuple[list[Fraction], list[Fraction]]:
    """Return the n-th version: its order, direction and level alternate at different paces."""
    order = _version_order(n, len(scores))
    level = _version_level(n, scores, unit)
    sign = 1 if n // _ORDERS % _DIRECTIONS else -1
    return [scores[i] + level for i in order], [sign * moves[i] for i in order]


def _version_order(n: int, d: int) -> list[int]:
    """Return an order: unchanged, reversed, or (twice) sorted by the fractions of multiples of square roots."""
    if n % _ORDERS < 2:
        return list(range(d))[:: -1 if n % _ORDERS else 1]
    return sorted(range(d), key=lambda i: n * math.isqrt((4 * i + 2) * _FINEST**2) % _FINEST)


def _version_level(n: int, scores: Sequence[Fraction], unit: Fraction) -> Fraction:
    """Return the number to add to all scores, the highest of which is 0 or near it."""
    shift = round(_FARTHEST * (2 * (n * _GOLDEN % 1) - 1)) * unit
    levels = (Fraction(0), -min(scores), -scores[n % len(scores)], shift)
    return levels[n // (_ORDERS * _DIRECTIONS) % _LEVELS]


# Neighbouring datasets for functions that read records or tables: one person added, removed or changed.

_MOST = 64  # number of pairs: a search halves them with a few samples each


def record_pairs(
    records: Sequence[Any], *, neighbors: str = "add_remove", most: int = _MOST
) -> list[tuple[list[Any], list[Any]]]:
    """Return pairs of neighbouring lists of records, with one record for each person.

    Args:
        records: The records: at least one, or at least two different ones under ``"replace"``.
        neighbors: ``"add_remove"``: a record of ``records`` is removed or duplicated in the second list;
            ``"replace"``: in the second list it is replaced with another one of ``records``. Default: ``"add_remove"``.
        most: The largest number of pairs to return; the records that occur least often come first. Default: 64.

    Returns:
        The pairs, for ``pairs`` of :func:`search` and of :func:`audit_claim`.

    Raises:
        ParameterError: ``neighbors`` is not one of these two, or the records give no pair.

    Example:
        >>> import opendp_topk as tk
        >>> tk.audit.record_pairs(["a", "a", "b"], most=2)
        [(['a', 'a', 'b'], ['a', 'a']), (['a', 'a', 'b'], ['a', 'a', 'b', 'b'])]
    """
    checks.require_choice("neighbors", neighbors, ("add_remove", "replace"))
    is_list = isinstance(records, Iterable) and isinstance(records, Sized) and getattr(records, "ndim", 1) > 0
    if not is_list or isinstance(records, str | bytes):
        raise ParameterTypeError(f"records must be a list of records, not {type(records).__name__}")
    whole, kinds = list(records), list[tuple[int, Any]]()
    for place, record in enumerate(whole):
        if not any(record is other or _is_equal(record, other) for _, other in kinds):
            kinds.append((place, record))
    kinds.sort(key=lambda kind: sum(_is_equal(record, kind[1]) for record in whole))
    pairs = []
    for place, record in kinds:
        rest = [*whole[:place], *whole[place + 1 :]]
        if neighbors == "add_remove":
            pairs += [(whole, rest), (whole, [*whole, record])]
        else:
            pairs += [
                (whole, [*whole[:place], other, *whole[place + 1 :]]) for _, other in kinds if other is not record
            ]
    if not pairs:
        raise ParameterError('records must contain a record, and two different ones for neighbors="replace"')
    return pairs[: checks.require_positive_int("most", most)]


def _is_equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception:
        kind = type(one).__name__
    raise ParameterTypeError(f"records must be comparable by ==, but {kind} is not: give tuples")


def given_pairs(pairs: Any) -> Iterator[tuple[Any, Any]]:
    if not isinstance(pairs, Iterable) or getattr(pairs, "ndim", 1) == 0:
        raise ParameterTypeError(f"pairs must be a list of pairs of neighbours, not {type(pairs).__name__}")
    return map(_require_pair, pairs)


def _require_pair(pair: Any) -> tuple[Any, Any]:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise ParameterTypeError("pairs must contain pairs (first, second) of neighbours")
    return pair[0], pair[1]


def table_pairs(table: Any, *, user: str | None = None, most: int = _MOST) -> list[tuple[Any, Any]]:
    """Return pairs of tables; the second table of each lacks the rows of one person.

    Args:
        table: A data frame of polars, pandas or another library that narwhals reads.
        user: The user ID column. Default: each row is a separate person.
        most: The largest number of pairs to return; the people with the most rows and with the fewest rows come first,
            in alternation. Default: 64.

    Returns:
        The pairs, for ``pairs`` of :func:`search` and of :func:`audit_claim`.

    Raises:
        ParameterError: The table has no row or no such column.
        ParameterTypeError: ``table`` is not a data frame.
        MissingExtraError: narwhals is not installed (extra ``tables``).
    """
    frame = _to_narwhals_frame(table)
    if frame is None:
        raise ParameterTypeError("table must be a data frame, of polars or pandas for instance")
    if user is not None and not (isinstance(user, str) and user in frame.columns):
        raise ParameterError("user must be a column of table")
    persons = list(range(len(frame))) if user is None else frame[user].to_list()
    counts = Counter(persons)
    if not counts:
        raise ParameterError("table must contain at least one row")
    ranked = [person for person, _ in counts.most_common()]
    ends = [person for both in zip(ranked, reversed(ranked), strict=True) for person in both]
    chosen = list(dict.fromkeys(ends))[: checks.require_positive_int("most", most)]
    return [(table, frame.filter([other != person for other in persons]).to_native()) for person in chosen]


def _to_narwhals_frame(table: Any) -> Any:
    nw = import_extra("narwhals", "table_pairs requires narwhals", "opendp_topk[tables]")
    known = nw.dependencies.is_into_dataframe(table)
    return nw.from_native(table, eager_only=True, pass_through=True) if known else None


# Edges: the gap between scores beyond which samples no longer contain outcomes that they contain at smaller gaps.
#
# Truncated noise leaves outcomes possible on one input and impossible on its neighbour, at gaps that a list of
# multiples may miss. So bisection finds the gap, for scores in two blocks of equal ones. The pairs on either side of it
# are ranked by how often one of their two samples contains outcomes that the other lacks. The gap also estimates the
# scale of a mechanism that declares none. In the same way, bisection finds the level beyond which equal scores no
# longer give the outcomes that they give at 0, for instance because arithmetic overflows. Nothing here is a bound: the
# chosen pair is tested on fresh samples.

_DOUBLINGS = 16  # of a move, up to the gap that counts as far
_HALVINGS = 6  # between two doublings: to a sixtieth of a gap, near enough for noise
_LEVEL_HALVINGS = 12  # arithmetic overflows within a step
_PROBES = 13  # most of a family but for halvings: 3 at 0, the last doubling and far away, 4 between them, and 3 pairs
_LEAST = 30  # with fewer draws a probe shows no rare outcome
_REACH = 8  # with a few hundred draws, noise with an exponential tail is seen up to about this many scales away
_BEST = 4  # edges that are kept: each was probed with few draws, so the one that shows most is often not the best
_COVERED = 40  # moves: pairs in units of a move reach this far, so no other unit is needed

Draw = Callable[[Vector, int], Sequence[Hashable]]


@dataclass(frozen=True)
class VanishingEdge:
    """A pair beside the gap at which outcomes vanish, with that gap and the change of the gap between the two inputs.

    If ``level`` is true, the gap is the distance of all scores from 0.
    """

    pair: tuple[Vector, Vector]
    gap: Fraction
    step: Fraction
    level: bool = False

    @property
    def scale_estimate(self) -> Fraction:
        """Return about the scale of the mechanism, if that is large compared with the moves; otherwise 0."""
        return self.gap / _REACH if self.gap > _COVERED * self.step and not self.level else Fraction(0)


def worst_edges(
    draw: Draw,
    domain: VectorDomain,
    metric: Metric,
    d_in: Fraction,
    sizes: tuple[int, ...],
    samples: int,
    usable: Callable[[tuple[Vector, Vector]], bool],
) -> list[VanishingEdge]:
    """Return the ``usable`` edges that show most: the first :data:`_BEST` of gaps, one of levels.

    This takes at most ``samples`` draws. The list is empty if no outcomes vanish or there are too few draws.
    """
    families = [(tuple(i < top for i in range(d)), False) for d in sizes for top in range(1, d)]
    families += [(high[::turn], True) for high, _ in families[:1] for turn in (1, -1)]
    probes = sum(_PROBES + (_LEVEL_HALVINGS if level else _HALVINGS) for _, level in families)
    count = samples // probes if families else 0
    if count < _LEAST:
        return []
    shown: list[tuple[int, VanishingEdge]] = []
    for high, level in families:
        shown += _ScoreFamily(draw, domain, metric, d_in, high, level, count).find_edges()
    ranked = [edge for _, edge in sorted(shown, key=lambda item: -item[0])]
    return [
        edge
        for level, most in ((False, _BEST), (True, 1))
        for edge in itertools.islice((one for one in ranked if one.level == level and usable(one.pair)), most)
    ]


class _ScoreFamily:
    """Vectors of scores with a gap, or with all scores at the same ``level``.

    Scores are 0 except for the ``high`` ones, which move up against the others.
    """

    def __init__(
        self,
        draw: Draw,
        domain: VectorDomain,
        metric: Metric,
        d_in: Fraction,
        high: tuple[bool, ...],
        level: bool,
        count: int,
    ) -> None:
        self._draw, self._domain, self._metric, self._d_in, self._count = draw, domain, metric, d_in, count
        self._raised, self._level = tuple(one or level for one in high), level
        self._moves = next(iter(corner_moves(metric, d_in, high, 1)))
        self._step = max(self._moves) - min(self._moves)

    def find_edges(self) -> list[tuple[int, VanishingEdge]]:
        """Return the pairs beside the gap at which outcomes vanish, and how many draws only one side shows."""
        far = next((n for n in range(_DOUBLINGS, 1, -1) if self._pair_at_gap(self._step * 2**n)), 0)
        usual = self._outcomes_at_gap(self._step * 2**far) if far else set()
        low, high = -1, far - 1
        if (
            not far
            or not self._outcomes_at_gap(Fraction(0)) - usual
            or self._outcomes_at_gap(self._step * 2**high) - usual
        ):
            return []
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._outcomes_at_gap(self._step * 2**middle) - usual else (low, middle)
        near, gap = self._step * 2**low if low >= 0 else Fraction(0), self._step * 2**high
        for _ in range(_LEVEL_HALVINGS if self._level else _HALVINGS):
            if gap - near <= self._step / 2:
                break
            middle_gap = (near + gap) / 2
            near, gap = (middle_gap, gap) if self._outcomes_at_gap(middle_gap) - usual else (near, middle_gap)
        starts = [max(Fraction(0), gap + self._step * Fraction(n, 2)) for n in (-2, -1, 0)]
        pairs = [(start, self._pair_at_gap(start)) for start in dict.fromkeys(starts)]
        return [
            (self._count_one_sided(pair), VanishingEdge(pair, gap, self._step, self._level))
            for start, pair in pairs
            if pair is not None
        ]

    def _pair_at_gap(self, gap: Fraction) -> tuple[Vector, Vector] | None:
        scores = tuple(gap if raised else Fraction(0) for raised in self._raised)
        return next(iter(admissible_pairs(self._domain, self._metric, self._d_in, scores, self._moves)), None)

    def _outcomes_at_gap(self, gap: Fraction) -> set[Hashable]:
        pair = self._pair_at_gap(gap)
        return set() if pair is None else set(map(_discard_floats, self._draw(pair[0], self._count)))

    def _count_one_sided(self, pair: tuple[Vector, Vector]) -> int:
        first, second = ([_discard_floats(outcome) for outcome in self._draw(side, self._count)] for side in pair)
        return max(
            sum(outcome not in other for outcome in side)
            for side, other in ((first, set(second)), (second, set(first)))
        )


def _discard_floats(outcome: Any) -> Hashable:
    """Return the leaves of an outcome that are not floats: no two samples of noise share a float."""
    return tuple(itertools.filterfalse(lambda leaf: isinstance(leaf, float), flatten_outcome(outcome)))
