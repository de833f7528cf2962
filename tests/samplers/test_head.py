"""Who is on the ladder of the best alone: against definitions in exact rationals."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from opendp_topk.sampling.samplers import bins as heads
from opendp_topk.sampling.samplers.bins import extend_to_rank, order_best_scores
from opendp_topk.sampling.samplers.ladder import SortedScores

GENERATOR = np.random.default_rng(5)
TIES = GENERATOR.integers(-9, 10, 40)
VALUES = (
    TIES,
    TIES * 0.5,
    np.sort(TIES),
    (TIES + 10).astype(np.uint64),
    GENERATOR.normal(size=40) * 5,
    np.append(TIES, [2**63 - 1, -(2**63), -(2**63) + 1]),
    np.append(TIES * 1e-300, [1e308, -1e308, 5e-324]),
)


@pytest.fixture(autouse=True)
def _always(close_head: None) -> None:
    """Heads of short vectors, however large they are."""


def _order(values: np.ndarray, sign: int) -> list[int]:
    return sorted(range(len(values)), key=lambda i: (-sign * Fraction(values.tolist()[i]), i))


@pytest.mark.quick(each=3)
@pytest.mark.parametrize("each", [1, 3])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("values", VALUES, ids=range(len(VALUES)))
def test_the_head_has_all_near_best(values: np.ndarray, sign: int, each: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads, "_EACH", each)
    x, order = [sign * Fraction(v) for v in values.tolist()], _order(values, sign)
    sizes = set()
    for rank in (1, 2, 5):
        for depth in map(Fraction, (0, 0.3, 1, 4, 10**18)):
            found = order_best_scores(values, sign, rank, depth, Fraction(1))
            on = list(range(len(values))) if found.who is None else found.who.tolist()
            sizes.add(len(on))
            assert on == sorted(on)
            assert {i for i in order if x[order[rank - 1]] - x[i] <= depth} <= set(on)
            assert min(x[i] for i in on) > max((x[i] for i in set(order) - set(on)), default=min(x) - 1)
            assert found.candidate_count == len(values)
            if found.who is not None:
                cut = Fraction(found.cut.item()) + (sign < 0 and values.dtype.kind != "f") * _shift(values)
                assert max((x[i] for i in set(order) - set(on)), default=cut - 1) < cut <= min(x[i] for i in on)
                assert x[order[rank - 1]] - cut > depth or len(on) == len(values) or values.dtype.kind == "f"
            assert found.candidates_at_ranks(np.arange(len(on))).tolist() == order[: len(on)]
            _ceilings(found, x, order, rank, depth)
    assert len(sizes) > 2 or (sign > 0 and bool(np.all(values[:-1] <= values[1:])))


def _shift(values: np.ndarray) -> int:
    """By how much mirrored integers, all digits inverted, differ from their negatives."""
    return 1 if values.dtype.kind == "i" else 1 - 2**64


def _ceilings(found: SortedScores, x: list[Fraction], order: list[int], rank: int, depth: Fraction) -> None:
    limit = found.difference_limit(depth)
    expected = [sum(x[i] - y <= Fraction(limit) for y in x) for i in order[:rank]]
    assert found.rank_ceilings(rank, limit).tolist() == expected


@pytest.mark.parametrize("sign", [1, -1])
def test_a_rank_beyond_the_head_is_looked_up_among_all(sign: int) -> None:
    found: Any = order_best_scores(TIES, sign, 3, Fraction(1), Fraction(1))
    last = len(found.scores) - 1
    assert last + 1 < len(TIES)
    assert extend_to_rank(found, last, TIES, sign) is found
    every = extend_to_rank(found, last + 1, TIES, sign)
    assert every.candidates_at_ranks(np.arange(len(TIES))).tolist() == _order(TIES, sign)


def test_a_head_that_is_nearly_everybody_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads, "_LARGEST", 4)
    assert order_best_scores(TIES, 1, 3, Fraction(1), Fraction(1)).who is not None
    assert order_best_scores(TIES, 1, 3, Fraction(30), Fraction(1)).who is None
    assert order_best_scores(TIES, 1, 3, None, Fraction(1)).who is None
