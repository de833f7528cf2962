"""The exact draw of a k-subset: laws, decisions at high precision, and inputs that floats cannot hold."""

import math
import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import islice
from math import comb
from typing import Any

import gmpy2
import mpmath
import numpy as np
import pytest
from gmpy2 import mpq

from opendp_topk.sampling.samplers import bins as head
from opendp_topk.sampling.samplers import canonical, subsets
from opendp_topk.sampling.samplers import canonical as cells
from opendp_topk.sampling.samplers.advantages import ScaledScores
from opendp_topk.sampling.samplers.bins import BinnedScores
from opendp_topk.sampling.samplers.canonical import ArrivalClock, FallBounds, WeightedCells
from tests.oracles import canonical as oracle
from tests.oracles.chi_square import assert_follows, p_value

from .streams import Streams

HALF = Fraction(1, 2)
GAMMAS = [Fraction(n, 4) for n in range(5)]


def draws(
    n: int, scores: Sequence[Any] | np.ndarray, k: int, scale: Fraction, gamma: Fraction, **options: Any
) -> Counter[tuple[int, ...]]:
    entropy, values = Streams(f"{scores} {k} {gamma} {options}"), np.asarray(scores)  # type: ignore[arg-type]
    options = {"sign": 1, "capped": False} | options
    found = islice(canonical.draw_subsets(values, scale, gamma, k, entropy=entropy, **options), n)
    return Counter(tuple(chosen.tolist()) for chosen in found)


CASES = [
    ([5, 3, 3, 1, 0], 2, HALF, "margin"),
    ([5, 3, 3, 1, 0], 2, HALF, "distance"),
    ([0, 4, 1, 6, 3], 3, Fraction(1, 4), "margin"),
    ([0.5, 4.25, 1.0, 6.0, 3.0], 3, Fraction(3, 4), "distance"),
    ([2, 2, 2, 2, 2, 2], 3, HALF, "margin"),
    ([0, 1, 5, 2], 2, Fraction(1), "margin"),
    ([0, 1, 5, 2], 2, Fraction(0), "margin"),
    ([7, 1, 5], 1, HALF, "margin"),
    ([2**60 + 1, 2**60, 2**60 + 3, 2**60 + 2], 2, HALF, "margin"),
]


@pytest.mark.further
@pytest.mark.quick(exponential=False, k=2, kind="margin", gamma="1/2")
@pytest.mark.parametrize("exponential", [False, True])
@pytest.mark.parametrize(("scores", "k", "gamma", "kind"), CASES)
def test_frequencies_follow_the_law(scores: list[Any], k: int, gamma: Fraction, kind: str, exponential: bool) -> None:
    scale = Fraction(3, 2)
    found = draws(2500, scores, k, scale, gamma, capped=kind == "distance", exponential=exponential)
    assert_follows(
        found, (oracle.flip_law if exponential else oracle.gumbel_law)(scores, k, scale, gamma, kind), detects=1.5
    )


@pytest.mark.slow
@pytest.mark.usefixtures("close_head")
@pytest.mark.parametrize(("depth", "sign"), [(Fraction(0), -1), (Fraction(2), 1)])
def test_those_beyond_the_head_have_their_part(depth: Fraction, sign: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most proposals have members that were not sorted at first, and bounds for them that are far too high."""
    monkeypatch.setattr(canonical, "_negligible_depth", lambda *_: depth)
    scores = [5.0, 3.0, 3.0, 1.0, 2.5]
    found = draws(2000, [sign * x for x in scores], 2, Fraction(3, 2), HALF, sign=sign)
    assert_follows(found, oracle.gumbel_law(scores, 2, Fraction(3, 2), HALF, "margin"), detects=0.75)


@pytest.mark.slow
@pytest.mark.usefixtures("wide_bins")
@pytest.mark.parametrize("exponential", [False, True])
@pytest.mark.parametrize("case", [0, 1, 3, 5])
def test_candidates_in_bins_have_their_part(case: int, exponential: bool) -> None:
    scores, k, gamma, kind = CASES[case]
    scale, capped = Fraction(3, 4), kind == "distance"
    assert isinstance(head.order_best_scores(np.array(scores), 1, k + 1, Fraction(9), scale), BinnedScores)
    found = draws(1500, scores, k, scale, gamma, capped=capped, exponential=exponential)
    law = (oracle.flip_law if exponential else oracle.gumbel_law)(scores, k, scale, gamma, kind)
    assert_follows(found, law, detects=1.5)


@pytest.mark.parametrize("exponential", [False, True])
def test_one_after_the_other_is_each_from_the_start(exponential: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the same digits; scores are known a few at a time, and a draw begins with the few."""
    monkeypatch.setattr(canonical, "_negligible_depth", lambda *_: Fraction(0))
    arguments = np.array([5.0, 3.0, 3.0, 1.0, 2.5, 0.0]), Fraction(3), HALF, 2
    options: dict[str, Any] = {"sign": 1, "capped": False, "exponential": exponential}
    known: list[int] = []
    reaching = canonical.extend_to_rank
    monkeypatch.setattr(
        canonical, "extend_to_rank", lambda rungs, *rest: known.append(len(rungs.scores)) or reaching(rungs, *rest)
    )
    alone, together = Streams(3), Streams(3)
    expected = [next(canonical.draw_subsets(*arguments, entropy=alone, **options)).tolist() for _ in range(40)]
    of_one, known[:] = list(known), []
    assert [
        one.tolist() for one in islice(canonical.draw_subsets(*arguments, entropy=together, **options), 40)
    ] == expected
    assert known == of_one
    assert len(set(map(tuple, expected))) > 5


@pytest.mark.slow
def test_smallest_scores_first() -> None:
    found = draws(2500, [0, 3, 1, 2], 2, Fraction(1), HALF, sign=-1)
    assert_follows(found, oracle.gumbel_law([0, -3, -1, -2], 2, Fraction(1), HALF, "margin"), detects=0.28)


@pytest.mark.slow
def test_printed_binomials_in_the_sampler_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """d = 3, k = 2, all scores equal: one of the three sets would be drawn twice as often as another."""
    law = oracle.gumbel_law([0, 0, 0], 2, Fraction(1), HALF, "margin")
    assert p_value(draws(2500, [0, 0, 0], 2, Fraction(1), HALF), law) > 1e-9
    printed = oracle.printed_sizes(3, 2)

    def size(k: int, cell: subsets.Cell) -> Any:
        classes = [(h, t) for h in range(cell.first_h, cell.last_h + 1) for t in range(cell.first_t, cell.last_t + 1)]
        return mpq(sum(printed[label] for label in classes))

    def draw_class(k: int, cell: subsets.Cell, entropy: Any) -> tuple[int, int]:
        place = subsets.draw_below(3, entropy)
        return (0, 3) if place < 2 else (1, 3)

    monkeypatch.setattr(canonical.subsets, "count_subsets", size)
    monkeypatch.setattr(canonical.subsets, "draw_class", draw_class)
    assert p_value(draws(2500, [0, 0, 0], 2, Fraction(1), HALF), law) < 1e-10


@pytest.mark.parametrize("gap", [1, 1000])
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_others_who_hardly_matter_are_hardly_proposed(dtype: Any, gap: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many are best and nobody else is near: what is known of the others must tell that they are not."""
    tried = []
    accepted = canonical.accept_proposal

    def counted(*arguments: Any) -> bool:
        tried.append(1)
        assert len(tried) < 400, "proposals are made in vain"
        return accepted(*arguments)

    monkeypatch.setattr(canonical, "accept_proposal", counted)
    scores = (np.random.default_rng(4).integers(0, 256, 2**16) * gap).astype(dtype)
    for _ in range(5):
        chosen = next(canonical.draw_subsets(scores, Fraction(1, 1000), HALF, 4, sign=1, capped=False))
        assert np.all(scores[chosen] == 255 * gap)


@pytest.mark.further
def test_decisions_equal_high_precision() -> None:
    """V is placed at the threshold itself up to some digit, so that one word does not decide."""
    generator = random.Random(3)
    with mpmath.workdps(400):
        for trial in range(300):
            log_weight = -mpq(generator.randint(0, 10**6), generator.randint(1, 10**5))
            ratio = mpq(generator.randint(1, 2**80), generator.randint(1, 2**40))
            goal = mpmath.exp(mpmath.mpf(int(log_weight.numerator)) / int(log_weight.denominator))
            goal *= mpmath.mpf(int(ratio.denominator)) / int(ratio.numerator)
            agreeing = generator.choice([0, 1, 2, 3])
            digits = int(min(goal, 1) * mpmath.mpf(2) ** 256)
            words = [(digits >> shift) & (2**64 - 1) for shift in (192, 128, 64, 0)][:agreeing]
            words += [generator.getrandbits(64) for _ in range(12 - agreeing)]
            uniform = mpmath.fsum(mpmath.mpf(word) / mpmath.mpf(2) ** (64 * (i + 1)) for i, word in enumerate(words))
            found = canonical.accept_proposal(log_weight, ratio, None, Streams(auxiliary=words))
            assert found == (uniform < goal), trial


def test_decisions_with_a_clock_equal_high_precision() -> None:
    generator = random.Random(4)
    with mpmath.workdps(200):
        for trial in range(100):
            log_weight = -mpq(generator.randint(0, 300), generator.randint(1, 100))
            ratio, rate = mpq(1 + generator.random()), mpq(generator.randint(1, 50), 10)
            words = [generator.getrandbits(64) for _ in range(2)]
            uniform, wait = (mpmath.mpf(word) / 2**64 for word in words)
            weight = mpmath.exp(mpmath.mpf(int(log_weight.numerator)) / int(log_weight.denominator))
            time = -mpmath.log(wait) / (mpmath.mpf(int(rate.numerator)) / int(rate.denominator))
            bound = mpmath.mpf(int(ratio.numerator)) / int(ratio.denominator)
            goal = weight / bound / (weight + (1 - weight) * mpmath.exp(time))
            clock = ArrivalClock(rate, Entropyless(words[1:]))
            found = canonical.accept_proposal(log_weight, ratio, clock, Entropyless(words[:1]))
            assert found == (uniform < goal), trial


class Entropyless(Streams):
    """Only scripted words: one word must decide."""

    def draw_auxiliary_words(self, n: int) -> np.ndarray:
        assert len(self._scripted) >= n
        return super().draw_auxiliary_words(n)

    def __init__(self, words: Sequence[int]) -> None:
        super().__init__(auxiliary=words)


@pytest.mark.further
@pytest.mark.quick(exponential=True)
@pytest.mark.parametrize("exponential", [False, True])
def test_outcomes_equal_high_precision(exponential: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The outcome is the first proposal whose injected V lies below its threshold, computed afresh from utilities.

    With Gumbel noise the threshold is e^((u - best) / scale) / bound, and V agrees with it to up to three words; with
    exponential noise it is divided by w + (1 - w) e^y, where y is read from the digits of all arrivals so far.
    """
    generator = random.Random(9)
    classes: list[tuple[int, int]] = []
    decisions: list[tuple[tuple[int, int], mpmath.mpf, mpmath.mpf, mpmath.mpf, bool]] = []
    plain_draw, plain_accepted = subsets.draw_class, canonical.accept_proposal

    def draw_class(*arguments: Any) -> tuple[int, int]:
        classes.append(plain_draw(*arguments))
        return classes[-1]

    def accepted(log_weight: Any, ratio: Any, clock: Any, entropy: Any) -> bool:
        bound = mpmath.mpf(int(ratio.numerator)) / int(ratio.denominator)
        goal = oracle.exp(Fraction(log_weight)) / bound
        digits = int(min(goal, 1 - mpmath.mpf(2) ** -300) * mpmath.mpf(2) ** 256)
        agreeing = 0 if exponential else generator.choice([0, 1, 2, 3])
        words = [(digits >> shift) & (2**64 - 1) for shift in (192, 128, 64, 0)][:agreeing]
        words += [generator.getrandbits(64) for _ in range(12 - agreeing)]
        value = mpmath.fsum(mpmath.mpf(word) / mpmath.mpf(2) ** (64 * (i + 1)) for i, word in enumerate(words))
        taken = plain_accepted(log_weight, ratio, clock, Streams(auxiliary=words))
        time = mpmath.mpf(0)
        for wait in clock._waits if clock is not None else ():
            lower = wait.rational_bounds(640)[0]
            time -= mpmath.log(mpmath.mpf(int(lower.numerator)) / int(lower.denominator))
        if clock is not None:
            time *= mpmath.mpf(int(clock._rate.denominator)) / int(clock._rate.numerator)
        decisions.append((classes.pop() if classes else (-1, -1), value, bound, time, taken))
        return taken

    monkeypatch.setattr(canonical.subsets, "draw_class", draw_class)
    monkeypatch.setattr(canonical, "accept_proposal", accepted)
    rounds = 0
    with mpmath.workdps(150):
        for trial in range(150):
            d = generator.randint(2, 7)
            k = generator.randint(1, min(3, d - 1))
            scores = [generator.choice([generator.randint(0, 9), generator.randint(0, 3) / 4]) * 1.0 for _ in range(d)]
            scale, gamma = Fraction(generator.randint(1, 60), generator.randint(1, 20)), generator.choice(GAMMAS)
            kind = generator.choice(["margin", "distance"])
            options = {"sign": 1, "capped": kind == "distance", "exponential": exponential}
            decisions.clear()
            found = next(canonical.draw_subsets(np.array(scores), scale, gamma, k, entropy=Streams(trial), **options))
            order = sorted(range(d), key=lambda i: (-scores[i], i))
            best = oracle.utility(scores, tuple(order[:k]), gamma, kind)
            for number, ((h, t), value, bound, time, taken) in enumerate(decisions):
                ranks = [*range(k)] if h < 0 else [*range(h), *range(h + 1, k), t - 1]
                utility = oracle.utility(scores, tuple(order[r] for r in ranks), gamma, kind)
                weight = oracle.exp((utility - best) / scale)
                assert weight <= bound
                late = weight + (1 - weight) * mpmath.exp(time)
                assert taken == (value < weight / bound / late) == (number == len(decisions) - 1), trial
            released = tuple(sorted(order.index(i) + 1 for i in found.tolist()))
            assert oracle.class_of(released, d) == ((k, k) if h < 0 else (h, t))
            rounds += len(decisions)
    assert rounds > 200


@pytest.mark.parametrize(
    ("values", "scale", "likely"),
    [
        (np.array([2**53 + 1, 2**53 + 2, 2**53, 0]), Fraction(1, 100), (0, 1)),
        (np.array([1e308, -1e308, 1e308 * (1 - 2**-52), 5e307]), Fraction(1, 10**308), (0, 2)),
        (np.array([5e-324, 1e-323, 0.0, 1.5e-323]), Fraction(1, 10**330), (1, 3)),
        (np.array([2**64 - 1, 2**64 - 2, 0, 1], dtype=np.uint64), Fraction(1, 50), (0, 1)),
        (np.array([10**400, 10**400 + 1, 0, -(10**400)], dtype=object), Fraction(1, 50), (0, 1)),
    ],
)
def test_extreme_scores(values: np.ndarray, scale: Fraction, likely: tuple[int, ...]) -> None:
    assert draws(20, values, 2, scale, HALF) == Counter({likely: 20})
    assert draws(20, values, 2, scale, HALF, exponential=True) == Counter({likely: 20})


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(1, 10**320), Fraction(10**310), Fraction(22, 7)])
@pytest.mark.parametrize(
    "weight", [Fraction(1), HALF, Fraction(1, 3), Fraction(0), Fraction(1, 2**890), Fraction(1, 10**320)]
)
def test_float_bounds_are_above_the_exact_parts(weight: Fraction, scale: Fraction) -> None:
    generator = np.random.default_rng(6)
    values = np.sort(np.concatenate([generator.normal(0, 1, 40), [1e308, -1e308, 5e-324, 0.0, 1e-300]]))[::-1]
    ranked = ScaledScores(np.ascontiguousarray(values), scale, 1)
    with np.errstate(all="ignore"):
        found = canonical._weighted_upper_bounds(weight, ranked.approximate_advantages(ranked.values, ranked.values[0]))
    assert np.isfinite(found).all()
    for i, bound in enumerate(found.tolist()):
        exact = weight * (Fraction(float(values[i])) - Fraction(float(values[0]))) / scale
        assert exact - Fraction(1, 2**1000) <= Fraction(bound) <= 0


@pytest.mark.slow
@pytest.mark.quick(exponential=False, k=20)
@pytest.mark.parametrize("exponential", [False, True])
@pytest.mark.parametrize(
    ("d", "k", "scale", "gamma"),
    [(40, 10, Fraction(9), HALF), (60, 6, Fraction(12), Fraction(1, 4)), (25, 20, Fraction(5), Fraction(1))],
)
def test_large_classes_follow_their_law(d: int, k: int, scale: Fraction, gamma: Fraction, exponential: bool) -> None:
    """Cells of many classes, clipped bounds, ties: too many subsets to list, so they are compared class by class."""
    scores = [-(i + i % 3) for i in range(d)]
    ranks = sorted(range(d), key=lambda i: -scores[i])
    place = {index: rank for rank, index in enumerate(ranks, start=1)}
    found: Counter[Any] = Counter()
    for chosen, times in draws(2500, scores, k, scale, gamma, exponential=exponential).items():
        h, t = oracle.class_of(tuple(place[i] for i in chosen), d)
        found[h, t] += times
    law = oracle.class_law(scores, k, scale, gamma, oracle.sizes)
    if exponential:
        sizes = oracle.sizes(d, k)
        single = {label: p / sizes[label] for label, p in law.items()}
        law = oracle.flip_class_law({label: p / single[k, k] for label, p in single.items()}, sizes)
    assert_follows(found, law, detects=1.2)


@pytest.mark.parametrize("scale", [604.7908957682604, 604.7908957677765])
def test_every_set_has_a_proposal(scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the first scale the bound on the best cell is just above 1, and the worst set had no proposal."""
    found: list[Any] = []
    listed = canonical.partition_classes
    monkeypatch.setattr(
        canonical, "partition_classes", lambda *arguments: found.append(listed(*arguments)) or found[-1]
    )
    draws(1, [20_000, 19_999, 1000], 1, Fraction(scale), Fraction(1))
    assert found[0].bits.min() == max(0, found[0].bits.max()) - canonical.DEPTH


# Cells hold every class once, and their bounds hold, whatever the shape of the scores.


@pytest.mark.parametrize("sampled", [[0], [3], [0, 3, 8], [50]])
def test_a_cell_is_split_into_two_parts_wherever_the_sample_lies(sampled: list[int]) -> None:
    """A place outside of the cell is replaced by one inside."""
    fall = FallBounds(60, lambda places: -np.asarray(places, dtype=np.float64))
    fall.__dict__["sampled_bounds"] = np.array(sampled), -np.array(sampled, dtype=np.float64)
    firsts, lasts = map(np.array, zip(*[(a, b) for a in range(4, 20) for b in range(a + 1, a + 9)], strict=True))
    corners = np.array([np.zeros_like(firsts), np.ones_like(firsts), firsts, lasts])
    for level in (-0.5, -4.0, -30.0):
        left, right = canonical._split_t(corners, np.full(len(firsts), level), fall, 3)
        assert (left[:2] == right[:2]).all()
        assert (left[2] == firsts).all()
        assert (right[3] == lasts).all()
        assert (left[3] + 1 == right[2]).all()
        assert (left[2] <= left[3]).all()
        assert (right[2] <= right[3]).all()


def partition(k: int, fall: np.ndarray, rise: np.ndarray) -> WeightedCells:
    return cells.partition_classes(k, FallBounds(len(fall), lambda places: fall[places]), rise)


def shapes() -> dict[str, tuple[int, np.ndarray, np.ndarray]]:
    generator = np.random.default_rng(5)

    def falling(n: int, step: float) -> np.ndarray:
        return -np.cumsum(generator.exponential(step, n))

    return {
        "flat": (4, np.zeros(9), np.zeros(4)),
        "steep": (3, falling(12, 50.0), falling(3, 50.0)[::-1]),
        "gentle": (5, falling(20, 0.5), falling(5, 0.7)[::-1]),
        "one": (1, falling(30, 0.2), np.zeros(1)),
        "almost all": (20, falling(1, 3.0), falling(20, 0.3)[::-1]),
        "far": (3, np.array([-1.0, -2.0, -(2.0**1000)]), np.array([-(2.0**1000), -5.0, 0.0])),
        "large": (30, falling(200, 0.2), falling(30, 0.4)[::-1]),
    }


@pytest.mark.parametrize("samples", [512, 8])
@pytest.mark.parametrize("single", [64, 0])
@pytest.mark.parametrize("name", shapes())
def test_cells_hold_every_class_once(name: str, single: int, samples: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """And no class weighs more than its cell says."""
    monkeypatch.setattr(cells, "_SINGLE", single)
    monkeypatch.setattr(cells, "_SAMPLES", samples)
    k, fall, rise = shapes()[name]
    found = partition(k, fall, rise)
    held: Counter[tuple[int, int]] = Counter()
    with mpmath.workdps(60):
        for i in range(len(found.bits)):
            cell = found[i]
            for h in range(cell.first_h, cell.last_h + 1):
                held.update((h, t) for t in range(cell.first_t, cell.last_t + 1))
            best = mpmath.mpf(fall[cell.first_t - k - 1]) + mpmath.mpf(rise[cell.last_h])
            assert int(subsets.count_subsets(k, cell)) * mpmath.exp(best) <= mpmath.mpf(2) ** int(found.bits[i])
    assert held == Counter((h, t) for h in range(k) for t in range(k + 1, k + len(fall) + 1))


@pytest.mark.further
def test_refined_cells_waste_little() -> None:
    k, fall, rise = shapes()["large"]
    found = partition(k, fall, rise)
    assert 20 < len(found.bits) < 1000
    weight = mpmath.fsum(
        comb(t - h - 2, k - 1 - h) * mpmath.exp(fall[t - k - 1] + rise[h])
        for h in range(k)
        for t in range(k + 1, k + 1 + len(fall))
    )
    assert mpmath.fsum(mpmath.mpf(2) ** int(b) for b in found.bits) < 12 * (weight + 1)


def test_refinement_stops_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "_MOST_CELLS", 50)
    k, fall, rise = shapes()["large"]
    assert 50 < len(partition(k, fall, rise).bits) <= 100


def test_bits_are_clipped_from_below_only() -> None:
    bits = cells._binary_exponents(np.array([-1e9, 0.0, 3.0, 500.0]))
    assert bits.tolist() == [bits[3] - 40] * 3 + [math.ceil(500 / math.log(2))]
    assert cells._binary_exponents(np.array([-1e9, -3.0])).tolist() == [-40, math.ceil(-3 / math.log(2))]


def binomial_cases() -> list[tuple[int, int]]:
    generator = random.Random(7)
    cases = [(n, m) for n in range(41) for m in range(n + 1)]
    cases += [(n, m) for n in (10**3, 10**6, 10**9) for m in (0, 1, 2, 99, n - 1, n)]
    return cases + [(n := generator.randint(100, 20000), generator.randint(1, n - 1)) for _ in range(300)]


def test_logarithms_of_binomials_are_bounded_closely() -> None:
    n, m = np.array(binomial_cases()).T
    found = cells._log_binomials(n, m, n - m)
    with mpmath.workdps(60):
        for a, b, bound in zip(n.tolist(), m.tolist(), found.tolist(), strict=True):
            true = mpmath.log(mpmath.mpf(int(gmpy2.bincoef(a, min(b, a - b)))))
            slack: Any = mpmath.mpf(bound) - true
            assert 0 <= slack < 0.2 + 1e-11 * a, (a, b)


def test_no_cell_lies_too_deep_where_the_largest_is_just_above_a_power_of_two() -> None:
    """Less 40, the largest exponent is rounded: to an integer, from just above it. Then a cell was never proposed."""
    for power in range(30):
        for towards in (-np.inf, np.inf):
            weight = (power - 2.0**-10) * math.log(2)
            for _ in range(300):
                weight = np.nextafter(weight, towards)
                bits = cells._binary_exponents(np.array([weight, -500.0]))
                assert bits[1] == max(0, bits[0]) - cells.DEPTH, (power, weight)
                assert bits[0] in (power, power + 1)
