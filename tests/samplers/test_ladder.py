"""Ranks, limits, losses and who has a rank, against their definitions in exact rationals."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from opendp_topk.sampling.samplers import ladder as ladders
from opendp_topk.sampling.samplers.ladder import sort_scores
from tests.distributions.test_shortfalls import CASES
from tests.oracles import joint as oracle

from .adversaries import canonical


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("scores", CASES, ids=repr)
def test_limits_ceilings_and_losses(scores: list[Any], sign: int) -> None:
    found = sort_scores(canonical(scores), sign)
    x = sorted((sign * Fraction(score) for score in scores), reverse=True)
    gaps = {a - b for a in x for b in x if a >= b}
    levels = (
        gaps | {Fraction(0), Fraction(10) ** 400, Fraction(1, 3)} | {max(g - Fraction(1, 10**400), 0) for g in gaps}
    )
    for level in levels | {g * (1 + Fraction(1, 2**60)) for g in gaps}:
        limit = found.difference_limit(level)
        if limit != float("inf"):
            assert Fraction(limit) >= level or canonical(scores).dtype != np.float64
            assert not any(min(level, limit) < gap <= max(level, limit) for gap in gaps) or limit > level
        for k in range(1, len(x) + 1):
            assert found.rank_ceilings(k, limit).tolist() == [sum(x[i] - y <= limit for y in x) for i in range(k)]
    for output in list(oracle.outputs(len(x), min(3, len(x)), True))[:200]:
        assert found.output_loss(np.array(output), True) == max(0, *(x[i] - x[r] for i, r in enumerate(output)))


@pytest.mark.further
@pytest.mark.quick(sign=1)
@pytest.mark.parametrize("sign", [1, -1])
def test_limits_half_way_between_floats(sign: int) -> None:
    """Limits of few digits, scores near powers of two: a threshold that is no float lies between two of them."""
    generator = np.random.default_rng(2)
    around = np.array([2.0**52, 1.0, 2.0**-1070, 0.0, 3.0, 1e300])
    values = np.concatenate([around, np.nextafter(around, np.inf), np.nextafter(around, -np.inf), -around])
    found = sort_scores(values, sign)
    x = sorted((sign * Fraction(v) for v in values.tolist()), reverse=True)
    limits = [*np.abs(values), *(np.abs(values) * 2.0**-53), *generator.uniform(0, 2, 30), 0.5, 2.0**-1074, 1.5]
    for limit in map(float, limits):
        assert found.rank_ceilings(len(x), limit).tolist() == [sum(a - b <= Fraction(limit) for b in x) for a in x]


@pytest.mark.parametrize("few", [2**11, 0])
@pytest.mark.parametrize("singly", [3, 0])
@pytest.mark.parametrize("head", [64, 0])
@pytest.mark.parametrize("sign", [1, -1])
def test_who_has_a_rank(sign: int, head: int, singly: int, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every way of looking up gives the stable order, whatever the ties, the zeros and the types."""
    monkeypatch.setattr(ladders, "_FEW", few)
    monkeypatch.setattr(ladders, "_DENSE", 4 if few else 0)
    monkeypatch.setattr(ladders, "_SINGLY", singly)
    monkeypatch.setattr(ladders, "_HEAD", head)
    monkeypatch.setattr(ladders, "_CHUNK", 7)
    generator = np.random.default_rng(1)
    ties = generator.integers(-3, 4, 40)
    for values in (
        ties,
        ties * 0.5,
        np.where(abs(ties) > 1, 1, ties),
        np.where(ties == 0, np.copysign(0.0, generator.normal(size=40)), ties),
        ties.astype(np.uint64),
        generator.normal(size=40),
        np.array([2**63 - 1, -(2**63), 0, -1, 2**62]),
        np.array([10**40, -(10**40), 0, 3, 3], dtype=object),
    ):
        found = sort_scores(values, sign)
        order = sorted(range(len(values)), key=lambda i: (-sign * Fraction(values.tolist()[i]), i))
        for k in (1, 2, 5):
            for _ in range(10):
                ranks = generator.permutation(len(values))[:k]
                assert found.candidates_at_ranks(ranks).tolist() == [order[r] for r in ranks]
        assert found.candidates_at_ranks(np.arange(len(values))).tolist() == order
