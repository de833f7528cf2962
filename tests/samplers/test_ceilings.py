"""Rankings under ceilings: their number, and draws that are exactly uniform, over all their branches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import log, perm

import mpmath
import numpy as np
import pytest

from opendp_topk.sampling.samplers import ceilings
from opendp_topk.sampling.samplers.ceilings import Rankings
from tests.oracles import joint as oracle
from tests.oracles.chi_square import assert_follows

from .streams import Streams, Untouched


def all_ceilings(d: int, k: int) -> Iterator[tuple[int, ...]]:
    """All that scores of d candidates can lead to: ascending, the i-th at least i, the last at most d."""
    for found in combinations_with_replacement(range(1, d + 1), k):
        if all(n >= i for i, n in enumerate(found, start=1)):
            yield found


SHAPES = [(d, k) for d in range(1, 7) for k in range(1, d + 1)]


def rankings(limits: tuple[int, ...]) -> list[tuple[int, ...]]:
    listed = oracle.outputs(limits[-1], len(limits), True)
    return [s for s in listed if all(r < n for r, n in zip(s, limits, strict=True))]


@pytest.mark.quick(d=(1, 2, 3, 4, 5))
@pytest.mark.parametrize(("d", "k"), SHAPES)
def test_every_ranking_is_drawn_once(d: int, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All answers of the uniform choices lead to all rankings, one each, and the bound is just above their number."""
    for limits in all_ceilings(d, k):
        under, found = rankings(limits), Rankings(np.array(limits))
        drawn = Counter[tuple[int, ...]]()
        for answers in product(*(range(n - i) for i, n in enumerate(limits))):
            monkeypatch.setattr(ceilings, "draw_each_below", lambda n, _, answers=answers: np.array(answers))
            ranks, chance = found.draw_ranks(Untouched())
            drawn[tuple(ranks.tolist())] += 1
            assert chance == Fraction(1, len(under))
        assert drawn == Counter(under)
        assert log(len(under)) <= found.log_bound() <= log(len(under)) + 1e-8


def test_bounds_on_large_numbers() -> None:
    with mpmath.workdps(40):
        for d, k in ((10**6, 5000), (3, 3), (2**40, 3), (5000, 5000)):
            exact = mpmath.log(perm(d, k))
            assert exact <= Rankings(np.full(k, d)).log_bound() <= exact * (1 + mpmath.mpf(10) ** -8)


@pytest.mark.further
def test_frequencies_are_uniform() -> None:
    limits, entropy = (2, 3, 5, 5), Streams(7)
    found = Counter(tuple(Rankings(np.array(limits)).draw_ranks(entropy)[0].tolist()) for _ in range(4000))
    under = rankings(limits)
    assert_follows(found, dict.fromkeys(under, Fraction(1, len(under))), detects=1.3)


def test_large_draws_keep_their_promises() -> None:
    limits = np.array([min(3 * i + 50, 10**5) for i in range(150)])
    drawn = Rankings(limits).draw_ranks(Streams(1))[0]
    assert len(set(drawn.tolist())) == 150
    assert (drawn < limits).all()
