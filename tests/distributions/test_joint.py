"""The exact law of joint rankings and sets, its accuracy, and the success probability, against brute force."""

import random
from fractions import Fraction
from itertools import permutations
from math import comb, log, perm
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.sampling.distributions import joint
from tests.oracles import joint as oracle
from tests.samplers.adversaries import canonical

SCORES = [[5, 3, 3, 1, 0], [0, 0, 0, 0], [1, 7, 2, 6], [0.5, -3.25, 4.0, 4.0, 1.0], [3, 1, 4, 1, 5, 2]]


def law(scores: list[Any], k: int, ordered: bool, scale: Fraction = Fraction(3, 2)) -> Any:
    return joint.output_distribution([Fraction(x) / scale for x in scores], False, k, ordered)


def succeed(scores: list[Any], scale: Fraction, k: int, ordered: bool, sure: int, reach: int, sign: int = 1) -> Any:
    return joint.success_probability(canonical(scores), scale, k, sign, ordered, sure, reach)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("scores", SCORES, ids=repr)
def test_the_law_is_that_of_brute_force(scores: list[Any], ordered: bool) -> None:
    with mpmath.workdps(50):
        for k in range(1, len(scores) + 1):
            found, expected = law(scores, k, ordered), oracle.law(scores, k, Fraction(3, 2), ordered)
            assert set(found) == set(expected)
            assert all(abs(found[s] - p) <= mpmath.mpf("1e-40") * p for s, p in expected.items())


def test_equal_scores_give_equal_chances_exactly() -> None:
    for d, k in ((4, 2), (5, 3)):
        assert set(joint.output_losses([Fraction(1)] * d, k, True).values()) == {Fraction(0)}
        with mpmath.workdps(40):
            assert all(mpmath.almosteq(p, mpmath.mpf(1) / comb(d, k)) for p in law([1] * d, k, False).values())


@pytest.mark.parametrize("ordered", [True, False])
def test_the_loss_does_not_depend_on_the_order_of_ties(ordered: bool) -> None:
    """Renaming candidates renames outputs: tied candidates are exchangeable, whatever place they stand in."""
    scores, moved = [1, 3, 3, 3, 0], [3, 1, 3, 0, 3]
    names = [1, 0, 2, 4, 3]
    for output, loss in joint.output_losses([Fraction(x) for x in scores], 3, ordered).items():
        renamed = tuple(names[i] for i in output)
        renamed = renamed if ordered else tuple(sorted(renamed))
        assert joint.output_losses([Fraction(x) for x in moved], 3, ordered)[renamed] == loss


def test_a_ranking_prefers_the_true_order_and_a_set_has_none() -> None:
    found = law([9, 5, 0], 2, True)
    assert found[(0, 1)] > found[(1, 0)] > found[(0, 2)]
    members = found[(0, 1)] + found[(1, 0)]
    assert members != law([9, 5, 0], 2, False)[(0, 1)]


def test_no_noise_and_no_choice() -> None:
    scores = [Fraction(x) for x in (2, 5, 5, 1, 5)]
    assert joint.output_distribution(scores, True, 2, True) == {(1, 2): 1}
    assert joint.output_distribution(scores[::-1], True, 3, True) == {(0, 2, 3): 1}
    assert joint.output_distribution(scores, False, 5, False) == {(0, 1, 2, 3, 4): 1}


@pytest.mark.parametrize(("ordered", "d", "k"), [(False, 20, 10), (True, 20, 4)])
def test_enumerations_that_are_too_large(ordered: bool, d: int, k: int) -> None:
    n = perm(d, k) if ordered else comb(d, k)
    with pytest.raises(tk.errors.CapacityError, match=f"over {n} outcomes"):
        joint.output_distribution([Fraction(i) for i in range(d)], False, k, ordered)


def test_more_winners_than_scores() -> None:
    with pytest.raises(tk.errors.ParameterError, match=r"at least k scores \(3\)"):
        joint.output_distribution([Fraction(1)], False, 3, True)
    with pytest.raises(tk.errors.ParameterError, match=r"n_candidates must be at least k \(3\)"):
        joint.accuracy(2, 3, True, Fraction(1), 0.05)


@pytest.mark.parametrize("ordered", [True, False])
def test_the_accuracy_bound_holds_in_the_exact_law(ordered: bool) -> None:
    scores = [9, 8, 7, 7, 6, 5, 2, 0]
    best = sorted(scores, reverse=True)
    for k, scale in ((2, Fraction(1, 2)), (3, Fraction(1, 4)), (1, Fraction(1))):
        exact_law = law(scores, k, ordered, scale)
        n = perm(8, k) if ordered else comb(8, k)
        for alpha in (0.9, 0.5, 0.2, 0.05, 1e-3):
            bound = joint.accuracy(8, k, ordered, scale, alpha)
            assert bound == pytest.approx(float(scale) * log(n / alpha))
            missed = mpmath.mpf(0)
            for output, p in exact_law.items():
                own = [scores[i] for i in output]
                own = own if ordered else sorted(own, reverse=True)
                missed += p * any(x < best[t] - bound for t, x in enumerate(own))
            assert missed <= alpha
            assert missed > 0 or alpha < 0.5


@pytest.mark.slow
@pytest.mark.quick(ordered=False)
@pytest.mark.parametrize("ordered", [True, False])
def test_success_is_enclosed(ordered: bool) -> None:
    """All events on small vectors, with many ties and with none, integers and floats, largest and smallest first."""
    generator = random.Random(4)
    with mpmath.workdps(40):
        for trial in range(250):
            d = generator.randint(1, 6)
            k = generator.randint(1, min(d, 3))
            sure, reach = generator.randint(0, k), generator.randint(k, d)
            kind = trial % 3
            scores: list[Any] = [generator.randint(0, 4) if kind else generator.gauss(0, 1) for _ in range(d)]
            sign = generator.choice([1, -1])
            scale = Fraction(generator.randint(1, 60), 10)
            found = succeed(scores, scale, k, ordered, sure, reach, sign)
            signed = [sign * Fraction(x) for x in scores]
            law_here = oracle.law(signed, k, scale, ordered)
            exact = mpmath.fsum(p for s, p in law_here.items() if oracle.holds(signed, s, sure, reach))
            assert found[0] <= exact
            assert exact - mpmath.mpf("1e-35") <= found[1]
            assert found[1] - found[0] < 1e-10
            assert (found[0] > 1 - 1e-10) == (exact > 1 - 1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(4), Fraction(100), Fraction(10**9)])
def test_success_among_many_candidates(scale: Fraction, ordered: bool) -> None:
    """No scores are equal, so one output has loss 0 and its probability is 1 / Z; the event holds k! rankings or it."""
    scores = [-(i * i) // 3 * 7 - i for i in range(60)]
    for k in (1, 4, 10):
        exact = oracle.level_law(scores, k, scale, ordered)[Fraction(0)]
        if ordered and k < 10:
            exact *= mpmath.fsum(oracle.weights_of(scores, list(permutations(range(k))), scale))
        low, high = succeed(scores, scale, k, ordered, k, k)
        assert low <= exact <= high or (ordered and k == 10 and exact <= high)
        assert high - low <= 1e-10 * max(low, 1e-3)
        assert succeed(scores, scale, k, ordered, 0, 60)[0] > 1 - 1e-10


@pytest.mark.further
def test_success_of_rankings_counts_every_order() -> None:
    scores, scale = [-(i**2) for i in range(7)], Fraction(5)
    with mpmath.workdps(30):
        found = oracle.law(scores, 4, scale, True)
        for sure, reach in ((4, 4), (3, 5), (1, 7), (0, 5), (4, 6)):
            exact = mpmath.fsum(p for s, p in found.items() if oracle.holds(scores, s, sure, reach))
            low, high = succeed(scores, scale, 4, True, sure, reach)
            assert low <= exact <= high


@pytest.mark.parametrize(
    ("scores", "scale"),
    [
        ([1e308, -1e308, 0.5, 3.0, 5e-324], Fraction(10**308)),
        ([2**64 - 1, 0, 5, 2**63, 2**62], Fraction(2**62)),
        ([10**30, 10**30 - 1, 0, 1, 10**29], Fraction(10**29)),
        ([2**62, -(2**62), 0, 5, 6], Fraction(1, 10**9)),
        ([1e-300, 2e-300, 0.0, 5e-301, 5e-301], Fraction(1, 10**301)),
    ],
)
def test_success_at_extreme_scores(scores: list[Any], scale: Fraction) -> None:
    with mpmath.workdps(40):
        for ordered in (True, False):
            exact = mpmath.fsum(
                p for s, p in oracle.law(scores, 2, scale, ordered).items() if oracle.holds(scores, s, 1, 3)
            )
            low, high = succeed(scores, scale, 2, ordered, 1, 3)
            assert low <= exact <= high
            assert high - low < 1e-10


@pytest.mark.slow
def test_chunks_and_stages_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = [float(x) for x in np.random.default_rng(2).normal(0, 30, 40)]
    before = [succeed(scores, Fraction(5), 4, ordered, 3, 6) for ordered in (True, False)]
    monkeypatch.setattr(joint, "_CHUNK", 3)
    monkeypatch.setattr(joint, "_STAGE", Fraction(1, 7))
    for found, expected in zip((succeed(scores, Fraction(5), 4, o, 3, 6) for o in (True, False)), before, strict=True):
        assert max(found[0], expected[0]) <= min(found[1], expected[1])


def test_success_without_noise_and_beyond_its_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    assert succeed([1, 2, 2], Fraction(0), 2, True, 2, 2) == (1.0, 1.0)
    low, high = succeed([1, 2, 4], Fraction(1, 10**8), 2, True, 2, 2)
    assert 1 - 1e-11 < low < high == 1
    with pytest.raises(tk.errors.CapacityError, match="k of at most 10"):
        succeed(list(range(20)), Fraction(1), 11, True, 1, 20)
    monkeypatch.setattr(joint, "_MOST_LEVELS", 20)
    far = [i / 8 - 1000 for i in range(30)]  # 30 levels in one stage, which is never reached
    assert succeed([1.0, 0.0, *far], Fraction(1), 1, True, 1, 1)[1] < 1
    with pytest.raises(tk.errors.CapacityError, match="too many levels"):
        succeed(list(range(20)), Fraction(1), 4, True, 1, 20)
