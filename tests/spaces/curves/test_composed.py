"""Composed curves against exact compositions: never below them, and hardly above.

Tries proofs/spaces/costs.tex and proofs/spaces/curves/covers.tex.
"""

import itertools
import math
import resource
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import pytest

import opendp_topk as tk
from opendp_topk.spaces.curves.closed_forms import ApproximateDP, LaplacePair, ZCDPBound
from opendp_topk.spaces.curves.composed import Composed, _tail_masses
from opendp_topk.spaces.curves.covers import choose_grid
from opendp_topk.spaces.curves.curve import PrivacyCurve
from tests.oracles import pairs
from tests.oracles.pairs import Pair, conversation, hockey_stick, laplace_delta, number, product, swapped
from tests.spaces.curves.extremes import BUDGET, HUGE, MAKERS, PROFILE, TINY, Case, faults

ROOM = 1 + mpmath.mpf("1e-15")


def up(value: Any) -> float:
    return min(1.0, float(value) * (1 + 2.0**-50) + 2.0**-1060)


def laplace(loss: float) -> PrivacyCurve:
    return PrivacyCurve(_laplace(loss))


def _laplace(loss: float) -> Callable[[Any], float]:
    return lambda epsilon: 0.0 if epsilon >= loss else up(-math.expm1((float(epsilon) - loss) / 2))


def gaussian(shift: Any, epsilon: Any) -> mpmath.mpf:
    with mpmath.workdps(40):
        mu, e = number(shift), number(epsilon)
        return mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)


def of(pair: Pair) -> PrivacyCurve:
    return PrivacyCurve(lambda epsilon: up(hockey_stick(pair, epsilon)))


def composed(*parts: tuple[PrivacyCurve, int]) -> Composed:
    return Composed(parts)


@pytest.mark.further
@pytest.mark.quick(k=3)
@pytest.mark.parametrize(("loss", "k"), [(0.5, 3), (0.1, 10), (2.0, 5), (0.37, 50), (0.01, 400)])
def test_randomised_responses(loss: float, k: int) -> None:
    bound = composed((PrivacyCurve(ApproximateDP(loss)), k))
    for share in (0, 0.05, 0.3, 0.7, 0.99):
        epsilon = Fraction(share * k * loss)
        exact = pairs.binomial_delta(loss, k, epsilon)
        if exact > 1e-20:
            assert exact <= bound(epsilon) * ROOM
            assert bound(epsilon) <= exact * (1 + mpmath.mpf("1e-8")) + mpmath.mpf("1e-24")


@pytest.mark.further
@pytest.mark.quick(k=3)
@pytest.mark.parametrize(("loss", "k", "most"), [(0.1, 10, 0.739), (0.5, 10, 4.53), (0.5, 3, 1.5)])
def test_laplace_mechanisms(loss: float, k: int, most: float) -> None:
    """At delta = 10^-3 also against the figures of the literature's formula for sums of clipped exponentials.

    The more steps there are, the coarser is the grid.
    """
    bound = composed((laplace(loss), k))
    epsilon = PrivacyCurve(bound).epsilon(1e-3)
    assert epsilon <= most
    for at in (Fraction(epsilon), Fraction(epsilon) / 3):
        exact = laplace_delta(Fraction(loss), k, at)
        assert exact <= bound(at) * ROOM
        assert bound(at) <= exact * (1 + mpmath.mpf("1e-6" if k < 10 else "1e-4"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shift", "k", "delta"), [(0.5, 4, 1e-6), (0.1, 100, 1e-9), (2.0, 2, 1e-3), (0.05, 1000, 1e-6)]
)
def test_gaussian_mechanisms_cost_at_most_a_thousandth_more(shift: float, k: int, delta: float) -> None:
    curve = PrivacyCurve(lambda epsilon: up(gaussian(shift, Fraction(epsilon))))
    epsilon = PrivacyCurve(composed((curve, k))).epsilon(delta)
    together = Fraction(shift) * Fraction(math.sqrt(k))
    assert gaussian(together, Fraction(epsilon)) <= delta * ROOM
    assert gaussian(together, Fraction(epsilon) * 999 / 1000) > delta


@pytest.mark.further
def test_below_all_losses_the_curve_is_that_of_the_least() -> None:
    """Of a normal law of shift 26 what is not above 0 weighs less than 2^-100, and is moved up."""
    shift, k = Fraction(13, 2), 16
    curve = PrivacyCurve(lambda epsilon: up(gaussian(shift, Fraction(epsilon))))
    bound = composed((curve, k))
    _, _, first, sums, _ = _tail_masses(bound.parts)
    assert first > 0
    assert len(sums) < 2**18
    for epsilon in (0, 1, 26, 180, 338, 500, 700):
        exactly = gaussian(4 * shift, epsilon)
        assert exactly <= bound(epsilon) * ROOM
        assert bound(epsilon) <= exactly * mpmath.mpf("1.02") + mpmath.mpf(2) ** -90


@pytest.mark.parametrize(("steps", "said"), [(2, False), (24, True)])
def test_steps_losing_more_than_is_in_use_take_no_grid(steps: int, said: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Losses are 20 next to always: of two there may be a use, and of 24 there is none."""
    asked: list[Any] = []
    monkeypatch.setattr(
        "opendp_topk.spaces.curves.composed._tail_masses", lambda parts: asked.append(parts) or (1, 0, 0, [], [])
    )
    composed((PrivacyCurve(ApproximateDP(20, 0)), steps))(21)
    assert (asked == []) is said


def halves(*values: str) -> tuple[Fraction, ...]:
    return tuple(map(Fraction, values))


PAIRS: list[Pair] = [
    (halves("0.5", "0.5"), halves("0.6", "0.4")),
    (halves("0.2", "0.3", "0.5"), halves("0.3", "0.3", "0.4")),
    (halves("0", "0.1", "0.9"), halves("0.01", "0.2", "0.79")),
    (halves("0.01", "0.99"), halves("0.02", "0.98")),
]


@pytest.mark.slow
@pytest.mark.parametrize("chosen", [(0, 1), (1, 1, 3), (0, 2, 3), (2, 2)])
def test_unequal_pairs_in_any_direction(chosen: tuple[int, ...]) -> None:
    """Products of pairs, each in either direction: none exceeds the composed curve of what both directions obey."""
    bound = composed(*((of(PAIRS[i]), chosen.count(i)) for i in dict.fromkeys(chosen)))
    for sides in itertools.product((False, True), repeat=len(chosen)):
        joint = product([swapped(PAIRS[i]) if side else PAIRS[i] for i, side in zip(chosen, sides, strict=True)])
        for step in range(12):
            epsilon = Fraction(step, 15)
            assert hockey_stick(joint, epsilon) <= bound(epsilon) * ROOM


@pytest.mark.slow
def test_conversations_that_turn_the_roles_around() -> None:
    """The second pair's direction is chosen by the first answer; this exceeds what one direction alone would give."""
    first, second = PAIRS[0], PAIRS[3]
    bound = composed((of(first), 1), (of(second), 1))
    plain = product([first, second])
    turned = [conversation(first, lambda i, s=s: swapped(second) if (i == 0) == s else second) for s in (True, False)]
    beyond = 0
    for step in range(12):
        epsilon = Fraction(step, 15)
        worst = max(hockey_stick(pair, epsilon) for pair in turned)
        assert worst <= bound(epsilon) * ROOM
        beyond += worst > hockey_stick(plain, epsilon) * ROOM
    assert beyond


@pytest.mark.slow
def test_a_leak_adds_up() -> None:
    bound = composed((PrivacyCurve(ApproximateDP(0.25, Fraction(1, 8))), 3))
    exact = 1 - Fraction(7, 8) ** 3
    assert exact <= Fraction(bound(0.75)) <= exact * (1 + Fraction(1, 10**12))


def test_the_ends_of_what_a_curve_may_be() -> None:
    nothing, tiny, huge = (PrivacyCurve(ApproximateDP(e)) for e in (math.inf, 1e-300, 1e300))
    free, broken = PrivacyCurve(ApproximateDP(0, 0.5)), PrivacyCurve(ApproximateDP(1, 1))
    assert composed((nothing, 2))(3) == 1
    assert composed((broken, 1), (tiny, 1))(3) == 1
    assert composed((huge, 1), (tiny, 1))(10) == 1
    assert composed((tiny, 2))(Fraction(2, 10**300)) < 1e-28
    assert composed((tiny, 2))(0) >= 1e-300
    assert 0.75 <= composed((free, 2))(0) < 0.7500001
    assert composed((tiny, 1), (free, 1))(0) >= 0.5


@pytest.mark.slow
def test_a_function_of_the_caller_composes() -> None:
    own = PrivacyCurve(lambda epsilon: math.exp(-4 * float(epsilon)) / 2)
    bound = PrivacyCurve(composed((own, 4)))
    assert own.epsilon(1e-6) < bound.epsilon(1e-6) < 4 * own.epsilon(1e-6)
    values = [bound.delta(i / 8) for i in range(40)]
    assert values == sorted(values, reverse=True)


def test_what_implies_what() -> None:
    a, b = PrivacyCurve(ApproximateDP(0.5)), PrivacyCurve(ZCDPBound(0.1))
    assert composed((a, 2)).implies(composed((b, 1), (a, 2)))
    assert composed((a, 1)).implies(composed((a, 2)))
    assert not composed((a, 3)).implies(composed((a, 2)))
    assert not composed((a, 1), (b, 1)).implies(composed((a, 2)))
    assert not composed((a, 1)).implies(ApproximateDP(math.inf))


def test_fewer_steps_imply_more() -> None:
    small, large = PrivacyCurve(ApproximateDP(0.1)), PrivacyCurve(ApproximateDP(0.2))
    few, many = Composed(((small, 2), (large, 1))), Composed(((small, 3), (large, 1)))
    assert few.implies(few)
    assert few.implies(many)
    assert not many.implies(few)
    assert not few.implies(Composed(((small, 2),)))


# How fine the grids of compositions are: close enough to be of use, and no more work than was meant.


TAILED = PrivacyCurve(lambda epsilon: math.exp(-4 * float(epsilon)) / 2)


@pytest.mark.parametrize("parts", [1, 2, 30])
def test_no_more_values_are_read_than_was_meant(parts: int) -> None:
    """A curve that falls to 2^-100 only at 57 of its deviations: one is read closely, and of many each is no more."""
    _, reads = choose_grid(((TAILED, 3),) * parts)
    values = sum(often for _, often in reads)
    assert values <= 16384 + parts
    assert values >= min(16384, 57 * parts / 0.05) / 2


def test_the_part_that_reaches_farthest_in_all_ends_on_a_node() -> None:
    curves = PrivacyCurve(LaplacePair(1)), PrivacyCurve(LaplacePair(3.3))
    for counts in ((100, 1), (1, 100)):
        h, _ = choose_grid(tuple(zip(curves, counts, strict=True)))
        ends = [abs(loss / h - round(loss / h)) < 1e-9 for loss in (1, Fraction(3.3))]
        assert ends == [count == 100 for count in counts]


# Work and memory of curves are bounded at every scale: a small part of ``python -m tests.spaces.curves.extremes``.


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKERS)
def test_a_curve_takes_little_time_and_memory_at_every_scale(name: str) -> None:
    few = [Case(name, scale, 2, 1) for scale in (TINY, 0.05, 50.0, HUGE)]
    many = Case(name, 1e-3, 10**4, 1), Case(name, 0.3, 10**6, 1), Case(name, 1.0, 2, 10**18)
    assert faults(name, [*few, *many], limits=3.0)[0] == []


@pytest.mark.parametrize("gaussian", [True, False])
def test_the_grid_of_noise_far_too_small_has_an_end(gaussian: bool) -> None:
    """Nearly all losses are one then, and their deviation is no guide to a grid."""
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.L01InfDistance(changes=2)
    counts = space >> tk.then_noisy_histogram(PROFILE, scale=0.05, gaussian=gaussian)
    composed = [bound for bound in counts.map(1).bounds if isinstance(bound, Composed)]
    assert composed
    for bound in composed:
        assert sum(often * every for every, often in choose_grid(bound.parts)[1]) <= 2**18


@pytest.mark.parametrize("scale", [1e-3, 1e-9])
def test_what_one_step_excludes_needs_no_grid(scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """No grid is made where a step alone says nothing at the epsilon of the budget, nor where the sum meets it."""
    monkeypatch.setattr("opendp_topk.spaces.curves.composed._tail_masses", lambda parts: pytest.fail("a grid"))
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
    for noise, passes in ((scale, False), (1 / scale, True)):
        top = space >> tk.then_peeled_top_k(PROFILE, k=3, scale=noise, mechanism="permute_and_flip")
        assert top.check(1, BUDGET) is passes


@pytest.mark.slow
def test_a_search_whose_first_probes_lose_all_ends() -> None:
    """It took the memory of the machine, and ended the process."""
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, limits[1]))
    try:
        space = tk.VectorDomain(tk.AtomDomain(int)), tk.L1Distance()
        three = lambda scale: tk.make_repeat(space >> tk.then_laplace(PROFILE, scale=scale), times=3)  # noqa: E731
        assert 2.9 < tk.binary_search_param(three, 1, BUDGET, bounds=(1e-9, 1e9)) <= 3
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


# Exact costs come back exactly: an epsilon that is rational is rounded where it leaves its curve, and nowhere before.


SPACE = tk.VectorDomain(tk.AtomDomain(int), size=9), tk.LInfDistance(monotonic=True)

SCALES = (1, 3, 7, Fraction(10, 3), 0.1)


def least_float(value: Fraction) -> float:
    """The least float64 that is not below."""
    near = float(value)
    return next(x for x in (math.nextafter(near, 0), near, math.nextafter(near, math.inf)) if Fraction(x) >= value)


# A constructor at a scale, and the epsilon of one step of the scores, in units of the scale.
MECHANISMS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "permute-and-flip": (lambda scale: SPACE >> tk.then_permute_and_flip(PROFILE, scale=scale), 1),
    "exponential mechanism": (lambda scale: SPACE >> tk.then_exponential_mechanism(PROFILE, scale=scale), 1),
    "one-shot": (lambda scale: SPACE >> tk.then_report_noisy_top_k(PROFILE, k=3, scale=scale), 3),
    "peeled": (lambda scale: SPACE >> tk.then_peeled_top_k(PROFILE, k=3, scale=scale, mechanism="exponential"), 3),
}


def answers_exactly(measurement: Any, d_in: int, epsilon: Fraction) -> None:
    curve = measurement.map(d_in)
    expected = least_float(epsilon)
    assert curve.epsilon(0) == expected
    assert curve.delta(epsilon) == 0
    assert curve.delta(epsilon * (1 - Fraction(1, 2**60))) > 0
    assert measurement.check(d_in, epsilon)
    assert measurement.check(d_in, expected)
    assert not measurement.check(d_in, math.nextafter(expected, 0))


@pytest.mark.further
@pytest.mark.quick(name="peeled")
@pytest.mark.parametrize("name", MECHANISMS)
def test_one_release(name: str) -> None:
    make, times = MECHANISMS[name]
    for scale, d_in in itertools.product(SCALES, (1, 2, 21)):
        answers_exactly(make(scale), d_in, times * d_in / Fraction(scale))


@pytest.mark.slow
def test_several_releases() -> None:
    """The exact sum 21 / 7 is an integer, though a seventh is no float."""
    flip = MECHANISMS["permute-and-flip"][0](7)
    answers_exactly(tk.make_composition([flip] * 21), 1, Fraction(3))
    assert tk.make_repeat(flip, times=7).map(3).epsilon(0) == 3.0


@pytest.mark.slow
@pytest.mark.parametrize(("name", "count"), [("exponential mechanism", 7), ("one-shot", 2), ("peeled", 7)])
def test_several_releases_of_one_kind(name: str, count: int) -> None:
    make, times = MECHANISMS[name]
    for scale in (7, 0.1):
        answers_exactly(tk.make_composition([make(scale)] * count), 1, count * times / Fraction(scale))


@pytest.mark.slow
def test_several_scales() -> None:
    """A third, a seventh and the inverse of the float 0.1 have no float as their sum; a third and a sixth have."""
    flips = [MECHANISMS["permute-and-flip"][0](scale) for scale in (3, 7, 0.1)]
    whole = tk.make_composition(flips)
    one = Fraction(1, 3) + Fraction(1, 7) + 1 / Fraction(0.1)
    answers_exactly(whole, 1, one)
    answers_exactly(tk.make_composition([whole, *flips]), 2, 4 * one)
    thirds = tk.make_composition([MECHANISMS["permute-and-flip"][0](scale) for scale in (3, 6)])
    assert thirds.map(1).epsilon(0) == 0.5
