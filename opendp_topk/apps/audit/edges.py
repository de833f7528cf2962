"""Where outcomes vanish: the gap between scores beyond which samples no longer show what they show at smaller ones.

Noise that is cut leaves outcomes possible on one input and impossible on its neighbour, at gaps that no list of
multiples need hold. So the gap is looked for by bisection, for scores in two blocks of equal ones, and the pairs on
either side of it are ranked by what one of their two samples shows and the other never does. The gap also tells the
scale of a mechanism that states none. In the same way the level is looked for from which on equal scores no longer show
what they show at 0: arithmetic that overflows ends there. Nothing here is a bound: the pair that is found is tested on
fresh samples.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...spaces.domains import VectorDomain
from ...spaces.metrics import Metric
from .cells import leaves
from .neighbours import Vector, admitted, corners

_DOUBLINGS = 16  # of a move, up to the gap that counts as far
_HALVINGS = 6  # between two doublings: to a sixtieth of a gap, near enough for noise
_LEVEL_HALVINGS = 12  # arithmetic overflows within a step
_PROBES = 19  # of a family at most: two ends and the far gap, 4 of doublings, 6 between two of these, and 3 pairs
_LEAST = 30  # with fewer draws a probe shows no rare outcome
_REACH = 8  # at some hundred draws noise with an exponential tail is seen about so many scales away
_BEST = 4  # of a thousandth of the draws each: the one that shows most is often not the best
_COVERED = 40  # moves: as far as pairs made up in units of a move reach, and so no other unit is wanted

Draw = Callable[[Vector, int], Sequence[Hashable]]


@dataclass(frozen=True)
class Edge:
    """The pair whose sides differ most in what they show; the gap at which outcomes vanish, and its change.

    ``level``: the gap is that of all scores from 0.
    """

    pair: tuple[Vector, Vector]
    gap: Fraction
    step: Fraction
    level: bool = False

    @property
    def unit(self) -> Fraction:
        """About the scale of the mechanism, if that is large beside the moves; else 0."""
        return self.gap / _REACH if self.gap > _COVERED * self.step and not self.level else Fraction(0)


def worst_edges(
    draw: Draw,
    domain: VectorDomain,
    metric: Metric,
    d_in: Fraction,
    sizes: tuple[int, ...],
    samples: int,
    usable: Callable[[tuple[Vector, Vector]], bool],
) -> list[Edge]:
    """The ``usable`` edges that show most, of gaps the :data:`_BEST` and of levels one, by about ``samples`` draws.

    There are none where outcomes do not vanish, or draws are too few.
    """
    families = [(tuple(i < top for i in range(d)), False) for d in sizes for top in range(1, d)]
    families += [(high[::turn], True) for high, _ in families[:1] for turn in (1, -1)]
    count = samples // (_PROBES * len(families)) if families else 0
    if count < _LEAST:
        return []
    shown: list[tuple[int, Edge]] = []
    for high, level in families:
        shown += _Family(draw, domain, metric, d_in, high, level, count).edges()
    ranked = [edge for _, edge in sorted(shown, key=lambda item: -item[0])]
    return [
        edge
        for level, most in ((False, _BEST), (True, 1))
        for edge in itertools.islice((one for one in ranked if one.level == level and usable(one.pair)), most)
    ]


class _Family:
    """Vectors of scores that are 0 but for the ``high`` ones, or at a ``level``, the same for all; ``high`` ones move
    up against the others.
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
        self._moves = next(iter(corners(metric, d_in, high, 1)))
        self._step = max(self._moves) - min(self._moves)

    def edges(self) -> list[tuple[int, Edge]]:
        """The pairs beside the gap at which outcomes vanish, each with the draws that one side alone shows."""
        far = next((n for n in range(_DOUBLINGS, 1, -1) if self._pair(self._step * 2**n)), 0)
        usual = self._seen(self._step * 2**far) if far else set()
        low, high = -1, far - 1
        if not far or not self._seen(Fraction(0)) - usual or self._seen(self._step * 2**high) - usual:
            return []
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._seen(self._step * 2**middle) - usual else (low, middle)
        near, gap = self._step * 2**low if low >= 0 else Fraction(0), self._step * 2**high
        for _ in range(_LEVEL_HALVINGS if self._level else _HALVINGS):
            if gap - near <= self._step / 2:
                break
            middle_gap = (near + gap) / 2
            near, gap = (middle_gap, gap) if self._seen(middle_gap) - usual else (near, middle_gap)
        starts = [max(Fraction(0), gap + self._step * Fraction(n, 2)) for n in (-2, -1, 0)]
        pairs = [(start, self._pair(start)) for start in dict.fromkeys(starts)]
        return [
            (self._one_sided(pair), Edge(pair, gap, self._step, self._level))
            for start, pair in pairs
            if pair is not None
        ]

    def _pair(self, gap: Fraction) -> tuple[Vector, Vector] | None:
        scores = tuple(gap if raised else Fraction(0) for raised in self._raised)
        return next(iter(admitted(self._domain, self._metric, self._d_in, scores, self._moves)), None)

    def _seen(self, gap: Fraction) -> set[Hashable]:
        pair = self._pair(gap)
        return set() if pair is None else set(map(_told, self._draw(pair[0], self._count)))

    def _one_sided(self, pair: tuple[Vector, Vector]) -> int:
        first, second = ([_told(outcome) for outcome in self._draw(side, self._count)] for side in pair)
        return max(
            sum(outcome not in other for outcome in side)
            for side, other in ((first, set(second)), (second, set(first)))
        )


def _told(outcome: Any) -> Hashable:
    """What is not a float: of noise that is a float no two samples show the same."""
    return tuple(itertools.filterfalse(lambda leaf: isinstance(leaf, float), leaves(outcome)))
