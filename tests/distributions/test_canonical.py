"""The exact law over subsets against the oracle, class by class, and what the utility and the ties change."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import comb, log
from typing import Any

import mpmath
import pytest

import opendp_topk as tk
from opendp_topk import Exponential, Gumbel
from opendp_topk.sampling.distributions import canonical
from tests.oracles import canonical as oracle
from tests.samplers.test_subsets import SHAPES

GAMMAS = [Fraction(n, 4) for n in range(5)]
SCORES = [[5, 3, 3, 1, 0], [0, 0, 0, 0], [1, 7, 2, 6], [0.5, -3.25, 4.0, 4.0, 1.0]]


def law(noise: Any, scores: list[Any], k: int, gamma: Fraction, kind: str, scale: Fraction = Fraction(3, 2)) -> Any:
    return canonical.output_distribution(
        noise, [Fraction(x) / scale for x in scores], False, k, gamma, kind == "distance"
    )


def close(found: dict[Any, Any], expected: dict[Any, Any]) -> bool:
    assert set(found) == set(expected)
    with mpmath.workdps(40):
        return all(abs(found[s] - p) <= mpmath.mpf("1e-30") * p for s, p in expected.items())


@pytest.mark.quick(scores=("[5, 3, 3, 1, 0]", "[0.5, -3.25, 4.0, 4.0, 1.0]"))
@pytest.mark.parametrize("kind", ["margin", "distance"])
@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("scores", SCORES, ids=repr)
def test_the_law_is_that_of_brute_force(scores: list[Any], gamma: Fraction, kind: str) -> None:
    with mpmath.workdps(50):
        for k in range(1, len(scores)):
            options = scores, k, Fraction(3, 2), gamma, kind
            assert close(law(Gumbel(), scores, k, gamma, kind), oracle.gumbel_law(*options))
            assert close(law(Exponential(), scores, k, gamma, kind), oracle.flip_law(*options))


@pytest.mark.parametrize(("d", "k"), [(5, 2), (6, 3), (7, 6), (4, 1)])
def test_classes_carry_the_law(d: int, k: int) -> None:
    """The law summed over subsets of one class is that of the counted classes; at gamma = 1 they merge."""
    scores = [(7 * i) % 11 for i in range(d)]
    ranks = sorted(range(d), key=lambda i: -scores[i])
    with mpmath.workdps(40):
        for gamma in GAMMAS:
            by_class: dict[Any, Any] = {}
            for chosen, p in law(Gumbel(), scores, k, gamma, "margin").items():
                label = oracle.class_of(tuple(ranks.index(i) + 1 for i in chosen), d)
                by_class[label] = by_class.get(label, 0) + p
            counted = oracle.class_law(scores, k, Fraction(3, 2), gamma, oracle.sizes)
            assert close(by_class, counted)
        by_lowest: dict[Any, Any] = {}
        for (_, t), p in counted.items():
            by_lowest[t] = by_lowest.get(t, 0) + p
        assert close(by_lowest, oracle.merged_law(scores, k, Fraction(3, 2)))


@pytest.mark.parametrize(("d", "k"), [shape for shape in SHAPES if shape[1] > 1])
def test_the_printed_binomials_miscount(d: int, k: int) -> None:
    assert sum(oracle.sizes(d, k).values()) == comb(d, k)
    assert sum(oracle.printed_sizes(d, k).values()) > comb(d, k)


@pytest.mark.further
@pytest.mark.quick(k=(1, 2))
@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_margin_loss_favours_the_exact_top_k(k: int) -> None:
    with mpmath.workdps(40):
        for scores, gamma in itertools.product([[9, 6, 4, 3, 0], [5, 5, 5, 5, 1], [2, 2, 2, 2, 2]], GAMMAS):
            for noise in (Gumbel(), Exponential()):
                best = tuple(range(k))
                margin, distance = (law(noise, scores, k, gamma, kind)[best] for kind in ("margin", "distance"))
                if gamma < 1 and scores[k - 1] > scores[k]:
                    assert margin > distance * (1 + mpmath.mpf("1e-3"))
                else:
                    assert mpmath.almosteq(margin, distance, mpmath.mpf("1e-30"))


def test_subsets_of_equal_utility_are_equally_likely_whatever_the_order_of_ties() -> None:
    found = law(Gumbel(), [1, 3, 3, 3, 0], 2, Fraction(1, 3), "margin")
    assert len({mpmath.nstr(found[s], 25) for s in [(1, 2), (1, 3), (2, 3)]}) == 1
    moved = law(Gumbel(), [3, 1, 3, 0, 3], 2, Fraction(1, 3), "margin")
    assert mpmath.almosteq(moved[(0, 2)], found[(1, 2)])
    assert mpmath.almosteq(moved[(1, 4)], found[(0, 3)])


def test_no_noise_and_no_choice() -> None:
    scores = [Fraction(x) for x in (2, 5, 5, 1, 5)]
    assert canonical.output_distribution(Gumbel(), scores, True, 2, Fraction(1, 2), False) == {(1, 2): 1}
    assert canonical.output_distribution(Exponential(), scores, False, 5, Fraction(1, 2), False) == {(0, 1, 2, 3, 4): 1}


def test_probabilities_that_float64_cannot_hold() -> None:
    """Utilities 10^6 apart: the least likely set still has 30 correct digits."""
    found = law(Gumbel(), [10**6, 0, 0], 1, Fraction(1), "margin", Fraction(1))
    with mpmath.workdps(60):
        assert mpmath.almosteq(found[(2,)], 1 / (mpmath.exp(10**6) + 2), mpmath.mpf("1e-35"))


@pytest.mark.parametrize(("noise", "d", "k"), [(Gumbel(), 20, 10), (Exponential(), 10, 5)])
def test_enumerations_that_are_too_large(noise: Any, d: int, k: int) -> None:
    with pytest.raises(tk.CapacityError, match=f"over {comb(d, k)} sets of {k} among {d}"):
        canonical.output_distribution(noise, [Fraction(i) for i in range(d)], False, k, Fraction(1, 2), False)


def test_more_winners_than_scores() -> None:
    with pytest.raises(tk.ParameterError, match=r"at least k scores \(3\)"):
        canonical.output_distribution(Gumbel(), [Fraction(1)], False, 3, Fraction(1, 2), False)
    with pytest.raises(tk.ParameterError, match=r"n_candidates must be at least k \(3\)"):
        canonical.accuracy(2, 3, Fraction(1, 2), Fraction(1), 0.05)


@pytest.mark.quick(noise="Gumbel()")
@pytest.mark.parametrize("noise", [Gumbel(), Exponential()], ids=repr)
def test_the_accuracy_bound_holds_in_the_exact_law(noise: Any) -> None:
    scores = [9, 8, 7, 7, 6, 5, 2, 0]
    for k, gamma, scale in ((2, Fraction(1, 2), Fraction(1, 2)), (3, Fraction(1), Fraction(1, 4))):
        exact_law = law(noise, scores, k, gamma, "margin", scale)
        least = sorted(scores)[-k]
        for alpha in (0.5, 0.2, 0.05, 1e-3):
            bound = canonical.accuracy(8, k, gamma, scale, alpha)
            assert bound == pytest.approx(float(scale / gamma) * log(comb(8, k) / alpha))
            missed = sum(p for s, p in exact_law.items() if min(scores[i] for i in s) < least - bound)
            assert missed <= alpha
            if alpha == 0.5:
                assert missed > 0
