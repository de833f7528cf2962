"""Advantages, and the cuts that leave candidates to the tail, against exact rationals."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.sampling.samplers.advantages import ScaledScores, noisy_bounds
from opendp_topk.sampling.samplers.entropy import SYSTEM
from opendp_topk.sampling.samplers.quantile_tables import quantile_table
from opendp_topk.sampling.samplers.scan import Scan, concatenate_drawn, has_leading_ones, select_drawn

from ..oracles.chi_square import assert_follows
from . import adversaries
from .adversaries import canonical
from .streams import Streams

every_sign = pytest.mark.parametrize("sign", [1, -1])


def _exact(case: adversaries.Case, i: int, j: int, sign: int) -> Fraction:
    return sign * (Fraction(case.scores[i]) - Fraction(case.scores[j])) / case.scale


def _above(x: float, exact: Fraction) -> bool:
    return x == math.inf or (x != -math.inf and Fraction(x) >= exact)


@pytest.mark.quick(sign=1, make=("floats", "huge_integers", "subnormals", "widest_floats", "rational_scales"))
@every_sign
@pytest.mark.parametrize("make", adversaries.CASES, ids=lambda make: make.__name__)
def test_advantages_are_as_close_as_promised(make: object, sign: int) -> None:
    rng = random.Random(f"{make.__name__} {sign}")
    for _ in range(150):
        case = make(rng)
        values = canonical(case.scores)
        scores = ScaledScores(values, case.scale, sign)
        j = rng.randrange(len(values))
        with np.errstate(over="ignore"):
            advantages = scores.approximate_advantages(values, values[j])
            noise = np.array([rng.choice((0.0, -3.5, 40.0, rng.gauss(0, 5))) for _ in case.scores])
            lower, upper = noisy_bounds(advantages, noise, noise)
            others = [rng.randrange(len(values)) for _ in case.scores]
            each = scores.approximate_advantages(values, values[others])
            singly = [
                scores.approximate_advantages(values[i : i + 1], values[other])[0] for i, other in enumerate(others)
            ]
            assert each.tolist() == singly
        for i, advantage in enumerate(advantages.tolist()):
            exact = _exact(case, i, j, sign)
            assert scores.exact_advantage(i, values[j]) == exact
            if math.isinf(advantage):
                assert (advantage > 0) == (exact > 0)
                assert abs(exact) > Fraction(1.797e308)
            else:
                assert abs(Fraction(advantage) - exact) <= abs(exact) / 2**50 + Fraction(1, 2**1070)
            noisy = exact + Fraction(float(noise[i]))
            assert _above(float(upper[i]), noisy)
            assert _above(-float(lower[i]), -noisy)


@pytest.mark.quick(sign=1)
@every_sign
@pytest.mark.parametrize("make", adversaries.CASES, ids=lambda make: make.__name__)
def test_cut_on_raw_scores_is_exact(make: object, sign: int) -> None:
    rng = random.Random(f"{make.__name__} {sign}")
    for _ in range(100):
        case = make(rng)
        values = canonical(case.scores)
        j, other = rng.randrange(len(values)), rng.randrange(len(values))
        scores = ScaledScores(values, case.scale, sign)
        at = _exact(case, other, j, sign)
        for bound in (at, at - Fraction(1, 10**400), at + Fraction(1, 10**400), Fraction(rng.gauss(0, 3))):
            found = scores.may_exceed(values, bound, values[j]).tolist()
            assert found == [_exact(case, i, j, sign) > bound for i in range(len(values))]


@pytest.mark.further
@pytest.mark.quick(scale="1/7")
@every_sign
@pytest.mark.parametrize("name", ["Gumbel", "Exponential", "Laplace"])
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(3), Fraction(1, 7), Fraction(0.1)])
def test_levels_never_ask_for_a_one_too_many(name: str, sign: int, scale: Fraction) -> None:
    """The table's bound at the level is at most the exact gap, by a hair's breadth of which thresholds are set."""
    entries = quantile_table(getattr(tk, name)())
    values = sign * np.arange(3000)
    scan = Scan(ScaledScores(values, scale, sign), 1, entries, SYSTEM, reference=values[0])
    rng = random.Random(f"{name} {sign} {scale}")
    met = 0
    for _ in range(60):
        i, level = rng.randrange(3000), rng.choice((4, 5, 8, 9, 16))
        advantage = Fraction(i) / scale
        nearest = float(advantage + Fraction(float(entries.tail[level])))
        for step in range(-3, 41):
            scan.threshold = nearest + step * math.ulp(nearest)
            got = int(scan.required_levels(values[i : i + 1])[0])
            gap = Fraction(scan.threshold) - advantage
            assert got < 1 or Fraction(float(entries.tail[got])) <= gap
            met += got == level
    assert met > 100, "levels are as high as they may be, up to rounding"


def test_infinitely_far_scores_have_the_highest_level() -> None:
    values = np.array([0.0, 1e308])
    scan = Scan(ScaledScores(values, Fraction(1e-300), 1), 1, quantile_table(tk.Gumbel()), SYSTEM, reference=values[1])
    with np.errstate(over="ignore", invalid="raise"):
        assert scan.required_levels(values).tolist() == [0, 0]
        scan.threshold = 1.0
        assert scan.required_levels(values)[0] == 16


def test_drawn_tails_begin_with_ones() -> None:
    entries = quantile_table(tk.Exponential())
    for level in range(4, 17):
        scan = Scan(ScaledScores(np.zeros(3000), Fraction(1), 1), 3000, entries, SYSTEM, reference=0.0)
        scan.add_tail_candidates(np.arange(3000), np.full(3000, level))
        assert (scan.prefix >> np.uint16(16 - level) == 2**level - 1).all()
        rest = scan.prefix & np.uint16(2 ** (16 - level) - 1)
        assert len(set(rest.tolist())) > min(2 ** (16 - level), 3000) // 2


def test_a_late_candidate_that_may_reach_the_threshold_stays() -> None:
    """Its noise has the same 16 digits as that of the leader, and its score is a little lower: later digits decide."""
    prefix = f"{40_000:016b}"
    values = np.array([0.0, -1e-6, -1.0])
    streams = Streams(leading=dict.fromkeys(range(3), prefix))
    found = Scan(ScaledScores(values, Fraction(1), 1), 1, quantile_table(tk.Gumbel()), streams, reference=0.0)
    for late in range(3):
        found.add_fresh_candidates(np.array([late]))
    assert found.index.tolist() == [0, 1]
    assert found.lower[1] < found.threshold <= found.upper[1]


def test_bodies_are_what_the_tails_leave() -> None:
    """Prefixes that do not begin with so many ones: all others, each as likely."""
    entries = quantile_table(tk.Exponential())
    scan = Scan(ScaledScores(np.zeros(1), Fraction(1), 1), 1, entries, SYSTEM, reference=0.0)
    for level in (2, 3, 4):
        index, prefix = scan.draw_body_prefixes(np.arange(40_000), np.full(40_000, level))
        assert index.tolist() == list(range(40_000))
        first = Counter((prefix >> np.uint16(16 - level)).tolist())
        assert_follows(first, {n: Fraction(1, 2**level - 1) for n in range(2**level - 1)}, detects=0.3)
        assert max(first) < 2**level - 1
        assert len(set(prefix.tolist())) > 10_000
    _, prefix = scan.draw_body_prefixes(np.arange(3000), np.full(3000, 16))
    assert prefix.max() < 2**16 - 1


@pytest.mark.further
def test_parts_are_told_apart_by_their_leading_ones() -> None:
    prefix = np.arange(2**16, dtype=np.uint16)
    for level in range(1, 17):
        drawn = np.arange(2**16), prefix
        begins = has_leading_ones(drawn, level)
        able, others = select_drawn(drawn, begins), select_drawn(drawn, ~begins)
        assert able[0].tolist() == able[1].tolist() == list(range(2**16 - 2 ** (16 - level), 2**16))
        both = concatenate_drawn([able, others])
        assert sorted(both[0].tolist()) == list(range(2**16))
        assert both[0].tolist() == both[1].tolist()


@every_sign
@pytest.mark.parametrize("name", ["Gumbel", "Laplace"])
def test_a_mark_is_reached_where_k_candidates_certainly_reach_it(name: str, sign: int) -> None:
    """Whatever the reference of the scan has become; and who cannot reach a mark is below it by exact rationals."""
    entries = quantile_table(getattr(tk, name)())
    met: Counter[bool] = Counter()
    rng = random.Random(f"{name} {sign}")
    for _ in range(40):
        case = rng.choice(adversaries.CASES)(rng)
        values, d = canonical(case.scores), len(case.scores)
        scan = Scan(
            ScaledScores(values, case.scale, sign), rng.randint(1, d), entries, Streams(rng.random()), values[0]
        )
        origin = rng.randrange(d)
        with np.errstate(all="ignore"):
            scan.add_fresh_candidates(np.arange(d))
            lowest = [_exact(case, i, origin, sign) + _fraction(low) for i, low in _known(scan, entries.lower)]
            kth = sorted(lowest)[-scan.k]
            for near in (0, 1e-9, -1e-9, 3, -3):
                mark = values[origin], float(np.clip(kth, -1e300, 1e300)) + near
                if scan.has_reached(mark):
                    assert kth >= Fraction(mark[1])
                met[scan.has_reached(mark)] += 1
                drawn = np.arange(d), _prefixes(scan, d)
                anew = Scan(scan.scores, scan.k, entries, scan.entropy, reference=values[origin])
                below = select_drawn(drawn, ~anew.add_reaching(drawn, mark[1]))
                for i, prefix in zip(below[0].tolist(), below[1].tolist(), strict=True):
                    assert _exact(case, i, origin, sign) + Fraction(float(entries.upper[prefix])) < Fraction(mark[1])
                met[len(below[0]) > 0] += 1
    assert min(met[True], met[False]) > 20


def _known(scan: Scan, lower: np.ndarray) -> list[tuple[int, float]]:
    return [(i, float(lower[p])) for i, p in zip(scan.index.tolist(), scan.prefix.tolist(), strict=True)]


def _prefixes(scan: Scan, d: int) -> np.ndarray:
    return np.array([scan.entropy.digits(i, 16) for i in range(d)], dtype=np.uint16)


def _fraction(x: float) -> Fraction:
    return Fraction(x) if math.isfinite(x) else Fraction(-(10**600))
