"""The exact law over subsets against the oracle, class by class, and what the utility and the ties change.

Tries proofs/distributions/canonical_success.tex.
"""

import functools
import itertools
from fractions import Fraction
from math import comb, lgamma, log
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.sampling.distributions import canonical
from opendp_topk.sampling.distributions import quadrature as arrivals
from opendp_topk.sampling.distributions.events import EVENTS, event_ranks
from opendp_topk.sampling.distributions.quadrature import LateCandidates
from opendp_topk.sampling.noises import Exponential, Gumbel
from tests.noises.test_arrivals import ALL as ARRIVALS
from tests.oracles import canonical as laws
from tests.oracles import success as integrals
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
            assert close(law(Gumbel(), scores, k, gamma, kind), laws.gumbel_law(*options))
            assert close(law(Exponential(), scores, k, gamma, kind), laws.flip_law(*options))


@pytest.mark.parametrize(("d", "k"), [(5, 2), (6, 3), (7, 6), (4, 1)])
def test_classes_carry_the_law(d: int, k: int) -> None:
    """The law summed over subsets of one class is that of the counted classes; at gamma = 1 they merge."""
    scores = [(7 * i) % 11 for i in range(d)]
    ranks = sorted(range(d), key=lambda i: -scores[i])
    with mpmath.workdps(40):
        for gamma in GAMMAS:
            by_class: dict[Any, Any] = {}
            for chosen, p in law(Gumbel(), scores, k, gamma, "margin").items():
                label = laws.class_of(tuple(ranks.index(i) + 1 for i in chosen), d)
                by_class[label] = by_class.get(label, 0) + p
            counted = laws.class_law(scores, k, Fraction(3, 2), gamma, laws.sizes)
            assert close(by_class, counted)
        by_lowest: dict[Any, Any] = {}
        for (_, t), p in counted.items():
            by_lowest[t] = by_lowest.get(t, 0) + p
        assert close(by_lowest, laws.merged_law(scores, k, Fraction(3, 2)))


@pytest.mark.parametrize(("d", "k"), [shape for shape in SHAPES if shape[1] > 1])
def test_the_printed_binomials_miscount(d: int, k: int) -> None:
    assert sum(laws.sizes(d, k).values()) == comb(d, k)
    assert sum(laws.printed_sizes(d, k).values()) > comb(d, k)


def test_sums_over_classes_count_all_sets_but_the_best() -> None:
    d, k = 8000, 600
    found = canonical.sum_class_block(k, np.zeros(d - k + 1), np.zeros(k), 0, d)
    assert float(mpmath.ldexp(found.mantissa, found.exponent) / (comb(d, k) - 1)) == pytest.approx(1, rel=1e-11)


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
    with pytest.raises(tk.errors.CapacityError, match=f"over {comb(d, k)} sets of {k} among {d}"):
        canonical.output_distribution(noise, [Fraction(i) for i in range(d)], False, k, Fraction(1, 2), False)


def test_more_winners_than_scores() -> None:
    with pytest.raises(tk.errors.ParameterError, match=r"at least k scores \(3\)"):
        canonical.output_distribution(Gumbel(), [Fraction(1)], False, 3, Fraction(1, 2), False)
    with pytest.raises(tk.errors.ParameterError, match=r"n_candidates must be at least k \(3\)"):
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


# Enclosures of the canonical mechanism's success: against all subsets, and against sums over all classes.


NOISES = [tk.noise.Gumbel(), tk.noise.Exponential()]
SPACE = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
FEW_GAMMAS = [Fraction(0), Fraction(1, 3), Fraction(1)]


def measurement_of(noise: Any, k: int, scale: Any, **options: Any) -> tk.Measurement:
    measurement = SPACE >> tk.then_canonical_top_k(tk.MaxDivergence(), k=k, scale=scale, noise=noise, **options)
    assert isinstance(measurement, tk.Measurement)
    return measurement


@functools.cache
def law_of(noise: Any, scores: tuple[int, ...], k: int, tau: Fraction, gamma: Fraction, kind: str) -> Any:
    return (laws.gumbel_law if noise == tk.noise.Gumbel() else laws.flip_law)(list(scores), k, tau, gamma, kind)


def enclosed(
    noise: Any, scores: list[int], k: int, tau: Fraction, gamma: Fraction, kind: str, sure: int, reach: int
) -> None:
    law = law_of(noise, tuple(scores), k, tau, gamma, kind)
    expected = integrals.probability(scores, law, sure, reach)
    low, high = canonical.success_probability(
        noise, np.array(scores), tau, gamma, k, 1, kind == "distance", sure, reach
    )
    assert 0 <= low <= high <= 1
    assert high - low < 1e-9
    slack = mpmath.mpf("1e-25")
    assert low - slack <= expected <= high + slack, (noise, scores, k, tau, gamma, kind, sure, reach)


@pytest.mark.quick(noise="Gumbel()", gamma="1/3", kind="margin")
@pytest.mark.parametrize("kind", ["margin", "distance"])
@pytest.mark.parametrize("gamma", FEW_GAMMAS, ids=str)
@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_the_law_of_small_instances_lies_within(noise: Any, gamma: Fraction, kind: str) -> None:
    generator = np.random.default_rng(1)
    with mpmath.workdps(40):
        for _ in range(12):
            d = int(generator.integers(2, 7))
            k = int(generator.integers(1, d))
            scores = generator.integers(0, int(generator.integers(1, 9)), d).tolist()
            tau = Fraction(int(generator.integers(1, 9)), 4)
            for sure, reach in itertools.product(range(1, k + 1), range(k, d + 1)):
                enclosed(noise, scores, k, tau, gamma, kind, sure, reach)


@pytest.mark.quick(noise="Gumbel()")
@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_ties_across_both_ends(noise: Any) -> None:
    with mpmath.workdps(40):
        for scores, k in (([9, 7, 4, 4, 4, 4, 0], 4), ([8, 6, 6, 6, 5, 2, 2], 5), ([5, 5, 5, 3, 1, 1, 1], 4)):
            for sure, reach in itertools.product(range(1, k + 1), range(k, len(scores) + 1)):
                enclosed(noise, scores, k, Fraction(2), Fraction(1, 2), "margin", sure, reach)


def by_classes(scores: np.ndarray, k: int, scale: float, gamma: float) -> list[float]:
    """Gumbel noise, no ties: for each event a direct sum over all classes with logarithms of binomials."""
    x = np.sort(scores)[::-1] / scale
    h, t = np.arange(k)[:, None], np.arange(k + 1, len(x) + 1)[None, :]
    log_factorial = np.array([lgamma(n + 1) for n in range(len(x) + 1)])
    n, m = t - h - 2, k - 1 - h + 0 * t
    log = log_factorial[n] - log_factorial[m] - log_factorial[n - m] + gamma * x[t - 1] - (1 - gamma) * x[h]
    best = gamma * x[k - 1] - (1 - gamma) * x[k]
    top = max(float(log.max()), best)
    weights, best = np.exp(log - top), float(np.exp(best - top))
    ends = [event_ranks(event, k, len(x)) for event in EVENTS]
    right = [weights[sure:, : reach - k].sum() + best for sure, reach in ends]
    return [float(part / (weights.sum() + best)) for part in right]


@pytest.mark.quick(d=3000)
@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(("d", "k", "scale"), [(3000, 40, 60.0), (8000, 600, 0.2), (5000, 300, 2.0)])
def test_many_candidates_against_sums_over_all_classes(d: int, k: int, scale: float, gamma: float) -> None:
    scores = 1e5 / np.sqrt(np.arange(1, d + 1))
    space = tk.VectorDomain(tk.AtomDomain(float)), tk.LInfDistance(monotonic=True)
    measurement = space >> tk.then_canonical_top_k(
        tk.MaxDivergence(), k=k, scale=scale, gamma=gamma, noise=tk.noise.Gumbel()
    )
    for event, expected in zip(EVENTS, by_classes(scores, k, scale, gamma), strict=True):
        found = measurement.success_probability(scores, event)
        assert found.upper - found.lower < 1e-9
        assert abs(found.lower - expected) < 1e-8


def test_permute_and_flip_against_another_integral() -> None:
    """The best set of 34,220: the integral over 0 < x < 1 of the product of 1 - w x over all others, by classes."""
    scores, k, scale = [60 // (i + 1) for i in range(60)], 3, 2
    x = sorted(scores, reverse=True)
    sizes = {label: n for label, n in laws.sizes(60, k).items() if label != (k, k)}
    best = x[k - 1] - x[k]
    w = np.exp([(x[t - 1] - x[h] - best) / (2 * scale) for h, t in sizes])
    n = np.array(list(sizes.values()), dtype=np.float64)
    expected = integrals.integral(lambda y: float(np.exp(np.sum(n * np.log1p(-w * y)))), 0, 1, 200)
    found = measurement_of(tk.noise.Exponential(), k, scale).success_probability(scores)
    assert found.upper - found.lower < 1e-9
    assert found.lower - 1e-12 < expected < found.upper + 1e-12


@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize("gamma", [0, 0.5, 1])
@pytest.mark.parametrize("gap", [0, 30])
def test_the_margin_loss_finds_the_best_at_least_as_often(noise: Any, gamma: float, gap: int) -> None:
    """At equal cost, and more often just if gamma < 1 and the k-th and the next score differ."""
    d, k = 500, 20
    scores = np.concatenate([np.arange(k)[::-1] * 40 + gap, np.zeros(1, dtype=np.int64), -200 - np.arange(d - k - 1)])
    found = [measurement_of(noise, k, 4, gamma=gamma, utility=kind) for kind in ("margin", "distance")]
    assert found[0].map(1) == found[1].map(1)
    margin, distance = (m.success_probability(scores) for m in found)
    assert 1e-4 < distance.lower < margin.upper
    assert (margin.lower > distance.upper) == (gamma < 1 and gap > 0)
    if gamma == 1 or gap == 0:
        assert margin == distance


def test_what_is_refused() -> None:
    with pytest.raises(tk.errors.CapacityError, match="too many classes"):
        measurement_of(tk.noise.Gumbel(), 3, 1, gamma=Fraction(1, 10**400)).success_probability([5, 4, 3, 2])
    with pytest.raises(tk.errors.CapacityError, match="too many classes"):
        measurement_of(tk.noise.Gumbel(), 50_000, 1).success_probability(np.arange(10**5))
    with pytest.raises(tk.errors.DataError):
        measurement_of(tk.noise.Gumbel(), 3, 1).success_probability([1, 2])
    assert measurement_of(tk.noise.Gumbel(), 3, 1).success_probability([1, 2, 3]) == (1.0, 1.0)


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_extreme_scores(noise: Any) -> None:
    space = tk.VectorDomain(tk.AtomDomain(float)), tk.LInfDistance(monotonic=True)
    for gamma in (0, 0.5, 1):
        partial = tk.then_canonical_top_k(tk.MaxDivergence(), k=2, scale=1, gamma=gamma, noise=noise)
        found = (space >> partial).success_probability([1e308, 1e300, 5.0, 4.0, -1e308])
        expected = {0: 0.25, 0.5: 1.0, 1: 1.0}[gamma]
        assert found.upper - found.lower < 1e-9
        if gamma:
            assert abs(found.lower - expected) < 1e-9


def test_bounds_lie_apart_by_all_that_is_said_to_be_rounded() -> None:
    """Of the Gumbel law, whose probability is a quotient: what (8) of the proof allows for each of the two sums."""
    d, k = 60, 20
    low, high = canonical.success_probability(
        tk.noise.Gumbel(), np.arange(d), Fraction(4), Fraction(1, 2), k, 1, False, 1, d
    )
    roundings = k + 400 + lgamma(d + 1) - lgamma(k + 1) - lgamma(d - k + 1)
    assert 1 <= (high - low) / (low * 2.0**-45 * roundings) <= 1.15


def test_a_value_is_moved_outward_by_its_roundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rate of the first of 200 arrivals, all of them right: sum w_i / (1 - w_i x) times the product of 1 - w_i x.

    In units of 2^-50: 2 for each 1 - w_i x, 16 for each of three rates and exponentials, 5 for each weight and 64 for
    their products; and 128 for each power sum, in the exponent of a lower bound and in the rate of an upper one.
    """
    found: dict[str, Any] = {}
    monkeypatch.setattr(canonical, "integral_bounds", lambda _, values, greatest: found.update(at=values) or (0, 0))
    w = 1 - np.arange(200) / 1000
    sums = np.array([np.sum(w**m) for m in range(1, arrivals.TERMS + 1)])
    near = dict.fromkeys(w.tolist(), 1)
    canonical.first_correct_bounds(canonical.WeightedOutcomes(near, near, sums, sums, 0.0), True)
    for x in (2.0**-30, 0.25):
        bounds = [float(bound[0]) for bound in found["at"](np.array([x]), np.array([x]), np.array([x]))]
        with mpmath.workdps(40):
            left = [1 - mpmath.mpf(one) * x for one in w.tolist()]
            rate = mpmath.fsum(one / rest for one, rest in zip(w.tolist(), left, strict=True))
            value = rate * mpmath.fprod(left)
            slack = [float(abs(bound / value - 1) * 2**50) for bound in bounds]
            roundings = 3 * 16 + 2 * float(mpmath.fsum(1 / rest for rest in left)) + 200 * 5 + 64
            exponent = -128 * float(mpmath.fsum(map(mpmath.log, left)))
        assert bounds[0] < value < bounds[1]
        assert slack == pytest.approx([roundings + exponent, roundings + 128], rel=0.05), x


def test_late_arrivals_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best of 4,098 has a rival less than 32 times before the time that the integral ends: it is bounded."""
    d = 2**12 + 2
    low, high = canonical.success_probability(
        tk.noise.Exponential(), np.array([1, *[0] * (d - 1)]), Fraction(10**6), Fraction(1), 1, 1, False, 1, 1
    )
    with mpmath.workdps(40):
        w = mpmath.exp(-(mpmath.mpf(10) ** -6))
        p = (1 - (1 - w) ** d) / (d * w)
    assert low <= p <= high <= low * (1 + 1e-9)


# Arrival times of the five noises: values, and crowds, against mpmath.


@pytest.mark.further
@pytest.mark.quick(noise=("Gumbel()", "Laplace()"))
@pytest.mark.parametrize("noise", ARRIVALS, ids=repr)
def test_bounds_at_points(noise: Any) -> None:
    z = np.concatenate([2.0 ** np.arange(-150, 151), np.random.default_rng(1).uniform(0, 3, 2000), [0.25, 1.0]])
    lower, upper = arrivals.arrival_bounds(noise, z, z <= 1)
    with mpmath.workdps(60):
        for i, x in enumerate(z.tolist()):
            true = ARRIVALS[noise][x > 1](mpmath.mpf(x))
            ends = [(one.arrived[i], one.waiting[i], one.rate[i]) for one in (lower, upper)]
            for low, p, high in zip(ends[0], true, ends[1], strict=True):
                assert 0 <= low <= p <= high <= p + 2.0**-44


@pytest.mark.further
@pytest.mark.quick(noise="Gumbel()")
@pytest.mark.parametrize("noise", ARRIVALS, ids=repr)
def test_crowds(noise: Any) -> None:
    b = 8 * 2.0 ** np.random.default_rng(3).uniform(0, 20, 2500)
    crowd, x = LateCandidates.from_candidates(noise, b), np.array([1.0, 0.5, 1e-3, 1e-12])
    (none_low, rate_low), (none_high, rate_high) = crowd.none_and_rate_bounds(x)
    with mpmath.workdps(40):
        for i, time in enumerate(x.tolist()):
            laws = [ARRIVALS[noise][0](mpmath.mpf(time) / mpmath.mpf(c)) for c in b.tolist()]
            none = mpmath.fprod(waiting for _, waiting, _ in laws)
            rate = none * mpmath.fsum(gamma / waiting for _, waiting, gamma in laws)
            assert none_low[i] <= none <= none_high[i] <= none * (1 + mpmath.mpf("1e-10"))
            assert rate_low[i] <= rate <= rate_high[i] <= rate * (1 + mpmath.mpf("1e-10")) + 1e-10


def test_bounds_of_a_crowd_lie_as_far_out_as_their_roundings() -> None:
    """In units of 2^-46: one of the exponential, one of the sum, 3 / 2 at the time 1/2, and two of the rate."""
    crowd = LateCandidates(tk.noise.Gumbel(), np.array([3.0]), np.zeros(1))
    for sign, bounds in zip((-1, 1), crowd.none_and_rate_bounds(np.array([0.5])), strict=True):
        with mpmath.workdps(30):
            true = mpmath.exp(-1.5), 1.5 * mpmath.exp(-1.5)
            beyond = [float((bound[0] / p - 1) * 2**46) for bound, p in zip(bounds, true, strict=True)]
        assert beyond == pytest.approx([2.5 * sign, 4.5 * sign], abs=0.25)
    assert canonical.sum_scaled(np.zeros(2), np.zeros(2, dtype=np.int64)).mantissa == 0
