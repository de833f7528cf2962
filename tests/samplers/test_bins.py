"""The order of candidates in bins, and what it bounds: against definitions in exact rationals."""

import itertools
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from opendp_topk.sampling.samplers import bins as heads
from opendp_topk.sampling.samplers import bins as room
from opendp_topk.sampling.samplers.bins import BinnedScores, build_bins

GENERATOR = np.random.default_rng(7)
TIES = GENERATOR.integers(-9, 10, 40)
VALUES = (
    (TIES, Fraction(1)),
    (TIES * 0.5, Fraction(1, 3)),
    ((TIES + 10).astype(np.uint64), Fraction(9)),
    (GENERATOR.normal(size=41) * 5, Fraction(1, 2)),
    (np.append(np.zeros(50), [7.0, -1e-300]), Fraction(2)),
    (np.append(TIES, [2**63 - 1, -(2**63), -(2**63) + 1]), Fraction(2**36)),
    (np.append(TIES * 1e-300, [1e308, -1e308, 5e-324]), Fraction(10) ** 200),
    (1e16 + GENERATOR.permutation(40) * 2.0, Fraction(16)),
)
DEPTHS = Fraction(5), Fraction(40), Fraction(400)


@pytest.fixture(autouse=True)
def _short_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_CHUNK", 7)


def _binned(values: np.ndarray, scale: Fraction, depth: Fraction, number: int) -> tuple[BinnedScores, list[Fraction]]:
    """Bins whose first members are the best ``number``, the scores, and their order by the definition."""
    x = [Fraction(v) for v in values.tolist()]
    best = sorted(range(len(x)), key=lambda i: -x[i])[:number]
    found = build_bins(values, np.array(best), depth * scale, scale)
    assert found.candidate_count == len(x)
    return found, x


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("number", [1, 3, 12])
@pytest.mark.parametrize(("values", "scale"), VALUES, ids=range(len(VALUES)))
def test_better_bins_come_first(values: np.ndarray, scale: Fraction, number: int, depth: Fraction) -> None:
    found, x = _binned(values, scale, depth, number)
    ranks = np.arange(len(x))
    order = found.candidates_at_ranks(ranks).tolist()
    assert sorted(order) == ranks.tolist()
    assert order[:number] == found.best.tolist()
    assert [Fraction(v) for v in found.scores_at_ranks(ranks).tolist()] == [x[i] for i in order]
    of_bins = [[x[i] for i in members] for _, members in itertools.groupby(order, lambda i: int(found.labels[i]))]
    assert all(min(a) > max(b) or (i == 0 and min(a) == max(b)) for i, (a, b) in enumerate(itertools.pairwise(of_bins)))
    narrow = of_bins[1:-1] if of_bins[-1][0] < x[order[number - 1]] - (depth - 1) * scale else of_bins[1:]
    assert all(max(a) - min(a) <= max(scale / 4, 1 if values.dtype.kind != "f" else 0) for a in narrow)


@pytest.mark.parametrize(("values", "scale"), VALUES, ids=range(len(VALUES)))
def test_tops_bound_all_that_follow_and_are_close(values: np.ndarray, scale: Fraction) -> None:
    found, x = _binned(values, scale, DEPTHS[-1], 4)
    order = found.candidates_at_ranks(np.arange(len(x))).tolist()
    bounds = [Fraction(v) for v in found.score_upper_bounds(np.arange(3, len(x))).tolist()]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] == x[order[3]]
    for i, bound in enumerate(bounds, start=3):
        assert max(x[j] for j in order[i:]) <= bound
        deep = x[order[i]] < x[order[3]] - (DEPTHS[-1] - 1) * scale
        assert deep or bound - x[order[i]] <= scale / 4 + 2 * Fraction(np.spacing(float(max(map(abs, x)))))


@pytest.mark.parametrize(("values", "scale"), VALUES, ids=range(len(VALUES)))
def test_ceilings_hold_all_who_are_near_and_none_who_is_far(values: np.ndarray, scale: Fraction) -> None:
    found, x = _binned(values, scale, DEPTHS[-1], 5)
    order = found.candidates_at_ranks(np.arange(len(x))).tolist()
    x_sorted = sorted(x, reverse=True)
    for level in map(Fraction, (0, 0.3, 1, 4, 80)):
        limit = found.difference_limit(level * scale)
        assert Fraction(limit) >= level * scale - (values.dtype.kind != "f")
        ceilings = found.rank_ceilings(4, limit).tolist()
        assert ceilings == sorted(ceilings)
        for value, ceiling in zip(x_sorted, ceilings, strict=False):
            assert {j for j in order if value - x[j] <= Fraction(limit)} <= set(order[:ceiling])
            slack = 0 if ceiling <= 5 else max(scale / 4, 1) + 2 * Fraction(np.spacing(float(max(map(abs, x)))))
            assert all(value - x[j] <= Fraction(limit) + slack for j in order[:ceiling])


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize(("values", "scale"), VALUES, ids=range(len(VALUES)))
def test_losses_and_worst_scores_are_exact(values: np.ndarray, scale: Fraction, ordered: bool) -> None:
    found, x = _binned(values, 8 * scale, DEPTHS[-1], 5)
    source, best = random.Random(3), sorted(x, reverse=True)
    for _ in range(20):
        ranks = source.sample(range(len(x)), 4)
        ranks = ranks if ordered else sorted(ranks)
        scores = [x[i] for i in found.candidates_at_ranks(np.array(ranks)).tolist()]
        matched = scores if ordered else sorted(scores, reverse=True)
        assert found.output_loss(np.array(ranks), ordered) == max(
            0, *(a - b for a, b in zip(best, matched, strict=False))
        )
        if not ordered:
            assert Fraction(found.worst_score(np.array(ranks)).item()) == min(scores)


def test_where_bins_would_be_many_there_are_none() -> None:
    assert build_bins(TIES, np.array([int(np.argmax(TIES))]), Fraction(1000), Fraction(1)) is not None
    assert build_bins(TIES, np.array([int(np.argmax(TIES))]), Fraction(2**13), Fraction(1)) is None
    assert build_bins(TIES * 0.5, np.array([int(np.argmax(TIES))]), Fraction(0), Fraction(1, 2**1000)) is None


@pytest.mark.usefixtures("wide_bins")
@pytest.mark.parametrize("each", [1, 3])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("values", "scale"), VALUES, ids=range(len(VALUES)))
def test_those_in_front_are_as_good_as_all_others(
    values: np.ndarray, scale: Fraction, sign: int, each: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heads, "_EACH", each)
    x = [sign * Fraction(v) for v in values.tolist()]
    for rank in (1, 2, 5):
        found: Any = heads.order_best_scores(values, sign, rank, 5 * scale, scale)
        best = found.best.tolist()
        assert len(set(best)) == len(best) >= rank
        assert [x[i] for i in best] == sorted(x, reverse=True)[: len(best)]
