"""Advantages, and the cuts that leave candidates to the tail, against exact rationals.

Tries proofs/samplers/forecast.tex, proofs/samplers/ladder.tex and proofs/samplers/short.tex.
"""

import math
import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.sampling.samplers import forecast, race
from opendp_topk.sampling.samplers import ladder as ladders
from opendp_topk.sampling.samplers import settle as short
from opendp_topk.sampling.samplers.advantages import ScaledScores, noisy_bounds
from opendp_topk.sampling.samplers.entropy import SYSTEM, Entropy, Indices
from opendp_topk.sampling.samplers.forecast import _best_groups_mask, forecast_threshold
from opendp_topk.sampling.samplers.ladder import sort_scores
from opendp_topk.sampling.samplers.quantile_tables import quantile_table
from opendp_topk.sampling.samplers.scan import Scan, concatenate_drawn, has_leading_ones, select_drawn
from tests.distributions.test_discrete import CASES
from tests.oracles import joint as oracle
from tests.samplers.streams import Untouched

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
    entries = quantile_table(getattr(tk.noise, name)())
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
    scan = Scan(
        ScaledScores(values, Fraction(1e-300), 1), 1, quantile_table(tk.noise.Gumbel()), SYSTEM, reference=values[1]
    )
    with np.errstate(over="ignore", invalid="raise"):
        assert scan.required_levels(values).tolist() == [0, 0]
        scan.threshold = 1.0
        assert scan.required_levels(values)[0] == 16


def test_drawn_tails_begin_with_ones() -> None:
    entries = quantile_table(tk.noise.Exponential())
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
    found = Scan(ScaledScores(values, Fraction(1), 1), 1, quantile_table(tk.noise.Gumbel()), streams, reference=0.0)
    for late in range(3):
        found.add_fresh_candidates(np.array([late]))
    assert found.index.tolist() == [0, 1]
    assert found.lower[1] < found.threshold <= found.upper[1]


def test_bodies_are_what_the_tails_leave() -> None:
    """Prefixes that do not begin with so many ones: all others, each as likely."""
    entries = quantile_table(tk.noise.Exponential())
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
    entries = quantile_table(getattr(tk.noise, name)())
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


# Bounds on the noisy scores of a short vector, against exact rationals.


def _exactly_below(x: float, exact: Fraction) -> bool:
    return x == -math.inf or (x != math.inf and Fraction(x) <= exact)


@pytest.mark.quick(sign=1)
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("make", adversaries.CASES, ids=lambda make: make.__name__)
def test_bounds_enclose_the_noisy_scores(make: Callable[[random.Random], adversaries.Case], sign: int) -> None:
    """Every corner of the cell of a prefix, with the scores' exact distance from the best, lies within its bounds."""
    rng = random.Random(f"{make.__name__} {sign}")
    for seed in range(60):
        case = make(rng)
        noise = getattr(tk.noise, rng.choice(("Gumbel", "Exponential", "Laplace")))()
        scores = ScaledScores(canonical(case.scores), case.scale, sign)
        with np.errstate(all="ignore"):
            found = short.all_contenders(scores, noise, len(case.scores), Streams(seed, case.leading))
        if found is None:
            continue
        racers, lower, upper = found
        few = short.bound_few_scores(scores.values, case.scale, noise, sign, Streams(seed, case.leading))
        assert few.bounds == list(zip(lower.tolist(), upper.tolist(), range(len(case.scores)), strict=True))
        assert (few.best, few.prefix.tolist()) == (racers.reference, racers.prefix.tolist())
        best = max(case.scores, key=lambda score: sign * score)
        assert racers.reference == best
        entries = quantile_table(noise)
        for i, prefix in enumerate(racers.prefix.tolist()):
            exact = sign * (Fraction(case.scores[i]) - Fraction(best)) / case.scale
            for corner in (float(entries.lower[prefix]), float(entries.upper[prefix])):
                if math.isfinite(corner):
                    assert _exactly_below(float(lower[i]), Fraction(corner) + exact)
                    assert _exactly_below(-float(upper[i]), -Fraction(corner) - exact)
            assert math.isfinite(entries.lower[prefix]) or lower[i] == -math.inf
            assert math.isfinite(entries.upper[prefix]) or upper[i] == math.inf


def test_bounds_are_about_as_narrow_as_the_table() -> None:
    scores, noise = ScaledScores(np.arange(100.0), Fraction(3), 1), tk.noise.Gumbel()
    found = short.all_contenders(scores, noise, 100, Streams(1))
    racers, lower, upper = found
    width = quantile_table(noise).upper[racers.prefix] - quantile_table(noise).lower[racers.prefix]
    assert (upper - lower <= width * (1 + 2.0**-40) + 2.0**-40).all()


@pytest.mark.parametrize(
    ("scores", "scale"),
    [
        ([1.7e308, -1.7e308], Fraction(1)),
        ([1e300, -1e300], Fraction(1, 2**60)),
        ([1, 2], Fraction(1, 2**901)),
        ([1, 2], Fraction(2**901)),
        ([2**70, 2**70 + 1], Fraction(1)),
    ],
)
def test_what_floats_cannot_hold_is_left_to_the_scan(scores: list[float], scale: Fraction) -> None:
    with np.errstate(over="ignore"):
        found = short.all_contenders(ScaledScores(canonical(scores), scale, 1), tk.noise.Gumbel(), 1, Untouched())
    assert found is None
    assert short.bound_few_scores(canonical(scores), scale, tk.noise.Gumbel(), 1, Untouched()) is None
    winners = race.top_k(canonical(scores), scale, tk.noise.Gumbel(), 2, sign=1, ordered=False)
    assert winners.tolist() == [0, 1]


# Forecasts of the threshold are hardly ever wrong, so that races are short; about their law they say nothing.


D = 20 * 4096 + 5
GENERATOR = np.random.default_rng(8)
SHAPES = {
    "uniform": GENERATOR.uniform(0, 1000, D),
    "Zipf, sorted": 1e6 / np.arange(1, D + 1),
    "Zipf, shuffled": GENERATOR.permutation(1e6 / np.arange(1, D + 1)),
    "equal": np.full(D, 7.0),
    "one peak": np.where(np.arange(D) == 777, 1e6, 0.0),
    "normal": GENERATOR.normal(0, 100, D),
    "periodic": np.where(np.arange(D) % 256 == 0, 500.0, 0.0),
    "counts": GENERATOR.poisson(3, D).astype(np.int64),
}


@pytest.mark.quick(name="Exponential", shape=("uniform", "equal"), k=10)
@pytest.mark.parametrize("k", [1, 10, 300])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["Exponential", "Gumbel", "Laplace", "Logistic", "HalfLogistic"])
def test_forecasts_are_reached(name: str, shape: str, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is wrong less than once in a thousand times, so that of these two wrong ones are no accident."""
    wrong: list[int] = []
    real = forecast._all_others

    def watched(*arguments: Any) -> None:
        wrong.append(1)
        real(*arguments)

    monkeypatch.setattr(forecast, "_all_others", watched)
    noise, sign = getattr(tk.noise, name)(), -1 if shape == "counts" else 1
    for _ in range(10):
        race.top_k(sign * SHAPES[shape], Fraction(10), noise, k, sign=sign, ordered=False)
    assert len(wrong) < 2


@pytest.mark.parametrize("sign", [1, -1])
def test_of_equal_groups_the_first_are_looked_at(sign: int) -> None:
    """However a processor sorts: with equal digits a release is then the same on every machine."""
    best = np.random.default_rng(2).integers(0, 9, 300)
    order = sorted(range(300), key=lambda place: (-sign * best[place], place))
    for count in (0, 1, 2, 40, 150, 299, 300):
        ahead = _best_groups_mask(best, np.sort(best)[::-sign], count, sign)
        assert ahead.nonzero()[0].tolist() == sorted(order[:count])


class Counted(Entropy):
    """The system's digits, and of how many candidates, or for how many blocks, some were read."""

    read = 0

    def draw_prefixes(self, index: Indices) -> Any:
        self.read += len(index)
        return super().draw_prefixes(index)

    def draw_auxiliary_words(self, n: int) -> Any:
        self.read += n
        return super().draw_auxiliary_words(n)


@pytest.mark.quick(name="Exponential", shape=("uniform", "one peak"))
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["Exponential", "Gumbel", "Laplace", "Logistic", "HalfLogistic"])
def test_most_candidates_are_left_to_the_tail(name: str, shape: str) -> None:
    """Also where a group has several winners, or all candidates but one are alike."""
    noise, sign = getattr(tk.noise, name)(), -1 if shape == "counts" else 1
    for k in (10, 300, 1000):
        counted = Counted()
        race.top_k(sign * SHAPES[shape], Fraction(10), noise, k, sign=sign, ordered=False, entropy=counted)
        assert counted.read < D / 8


def test_of_nearly_all_candidates_there_is_no_forecast() -> None:
    scores = ScaledScores(np.zeros(D), Fraction(1), 1)
    assert forecast_threshold(scores, tk.noise.Exponential(), D, np.zeros(D // 256)) is None
    assert forecast_threshold(scores, tk.noise.Exponential(), 5, np.zeros(D // 256)) is not None


def test_what_is_true_is_found_by_eights() -> None:
    for share in (0.0, 0.01, 0.3, 1.0):
        marks = GENERATOR.random(2048) < share
        assert forecast._true_places(marks).tolist() == [place for place, one in enumerate(marks.tolist()) if one]


# Ranks, limits, losses and who has a rank, against their definitions in exact rationals.


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
