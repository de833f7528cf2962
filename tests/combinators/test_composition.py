"""make_composition: the joint law is the product, the map is the sum, and what does not fit is refused by name.

Tries proofs/combinators/repeat.tex.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from tests.concepts.spaces import MONOTONIC, PROFILE, PURE, RANGE, ZCDP
from tests.oracles.one_shot import rankings

from ..concepts.examples import COUNTS, geometric_choice
from ..concepts.links import OF_THREE_COUNTS, check_measurement
from ..concepts.losses import number, realised
from ..concepts.sentinels import raises_exactly
from ..oracles.chi_square import assert_follows
from ..oracles.pairs import hockey_stick, product

MEASURES = [PURE, RANGE, ZCDP]
APPROXIMATE = tk.Approximate(PURE)


def pair(measure: tk.Measure) -> list[tk.Measurement]:
    ranked = COUNTS >> tk.then_report_noisy_top_k(measure, k=2, scale=2.0)
    return [ranked, COUNTS >> tk.then_exponential_mechanism(measure, scale=3.0, optimize="min")]


def leaky(epsilon: Any, delta: Any, measure: tk.Measure = APPROXIMATE) -> tk.Measurement:
    return tk.make_user_measurement(*COUNTS, measure, function=len, privacy_map=lambda d_in: (epsilon, delta))


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_obligations(measure: tk.Measure) -> None:
    steps = [(1, 0, 0), (0, 1, 1), (1, 1, 0)]
    near = [([3, 1, 2], np.add([3, 1, 2], step).tolist(), 1) for step in steps]
    near.append(([3, 1, 2], [4, 0, 2], 2))
    check_measurement(tk.make_composition(pair(measure)), **OF_THREE_COUNTS, neighbours=near)


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_the_map_is_the_sum_rounded_up_once(measure: tk.Measure) -> None:
    members = pair(measure)
    both = tk.make_composition(members)
    for d_in in (0, 1, 3, Fraction(1, 3), math.inf):
        losses = [member.exact_map(d_in) for member in members]
        if math.inf in losses:
            assert both.map(d_in) == math.inf
            continue
        exact = sum(losses)
        assert both.exact_map(d_in) == exact
        assert both.map(d_in) >= exact > Fraction(math.nextafter(both.map(d_in), -1))


def test_no_float_is_added() -> None:
    tenths = [geometric_choice(privacy_map=lambda d_in: 0.1) for _ in range(10)]
    exact = 10 * Fraction(0.1)
    assert exact > 1
    assert tk.make_composition(tenths).map(1) == math.nextafter(1.0, 2)
    assert sum([0.1] * 10) < exact  # less than 1 before Python 3.12


@pytest.mark.slow
def test_releases_follow_the_joint_law_also_when_they_are_asked_for_one_by_one() -> None:
    best = COUNTS >> tk.then_permute_and_flip(PURE, scale=1.0, optimize="max")
    worst = COUNTS >> tk.then_permute_and_flip(PURE, scale=2.0, optimize="min")
    both, x = tk.make_composition([best, worst]), [1, 0, 2]
    law = both.distribution(x)
    odometer = COUNTS >> tk.then_fully_adaptive_composition(PURE)
    for draw in (lambda: both(x), lambda: tuple(map(odometer(x), (best, worst)))):
        assert_follows(Counter(draw() for _ in range(3000)), law, detects=0.27)


@pytest.mark.parametrize("measure", MEASURES[:2], ids=repr)
def test_the_sum_is_attained(measure: tk.Measure) -> None:
    """Two candidates: pure loss by permute-and-flip, range by the exponential mechanism, both exactly r."""
    then = tk.then_permute_and_flip if measure == PURE else tk.then_exponential_mechanism
    members = [COUNTS >> then(measure, scale=scale) for scale in (2, 4)]
    both = tk.make_composition(members)
    x, x_prime = ([1, 0], [1, 1]) if measure == PURE else ([0, 0], [1, 0])
    loss = realised(measure, both.distribution(x), both.distribution(x_prime))
    assert both.map(1) == 0.75
    assert abs(loss - number(Fraction(3, 4))) < mpmath.mpf("1e-25")


def test_deltas_add_up_to_one() -> None:
    both = tk.make_composition([leaky(0.5, Fraction(1, 3)), leaky(0.25, Fraction(1, 3))])
    loss, delta = both.map(1)
    assert loss == 0.75
    assert delta >= Fraction(2, 3) > Fraction(math.nextafter(delta, 0))
    assert tk.make_composition([leaky(0.5, 0.75)] * 2).map(1) == (1.0, 1.0)
    assert tk.make_composition([leaky(math.inf, 0.5)] * 2).map(1) == (math.inf, 1.0)
    assert both.check(1, (0.75, 0.67))
    assert not both.check(1, (0.75, 0.66))


@pytest.mark.parametrize("inner", MEASURES, ids=repr)
def test_approximate_of_each_measure_composes(inner: tk.Measure) -> None:
    measure = tk.Approximate(inner)
    assert tk.make_composition([leaky(0.5, 0.125, measure)] * 3).map(1) == (1.5, 0.375)


def test_compositions_nest_and_chain() -> None:
    inner = tk.make_composition(pair(PURE))
    outer = tk.make_composition([inner, *pair(PURE)])
    assert Fraction(outer.map(1)) >= 2 * sum(Fraction(member.map(1)) for member in pair(PURE))
    release = outer([3, 1, 2])
    assert [type(part) for part in release] == [tuple, np.ndarray, int]
    first = tk.make_composition(pair(PURE)) >> (lambda releases: releases[1])
    assert set(first.distribution([3, 1, 2])) == {0, 1, 2}


def test_parts_without_a_proof_mark_the_whole() -> None:
    proved = tk.make_composition(pair(PURE))
    assert proved.proof.name == "combinators/composition"
    assert {part.name for part in proved.proof.parts} >= {"measurements/report_noisy_top_k"}
    assert proved.proof.status == "current"
    assert tk.make_composition([geometric_choice()]).proof.status == "unproven"


def test_a_member_without_a_law_leaves_none() -> None:
    bare = tk.make_user_measurement(*COUNTS, PURE, function=len, privacy_map=float)
    mixed = tk.make_composition([bare, geometric_choice()])
    raises_exactly(tk.errors.NotDeclaredError, lambda: mixed.distribution([1, 2]), "no exact distribution")
    assert mixed([1, 2]) == (2, 1)


@pytest.mark.further
def test_too_many_joint_outcomes_are_refused() -> None:
    choice = COUNTS >> tk.then_exponential_mechanism(PURE, scale=1.0)
    many = tk.make_composition([choice] * 4)
    raises_exactly(tk.errors.CapacityError, lambda: many.distribution(list(range(40))), "1,000,000")
    assert len(many.distribution([0, 1])) == 16


def test_it_is_no_selection_so_indices_stay() -> None:
    both = tk.make_composition(pair(PURE))
    raises_exactly(tk.errors.SpaceError, lambda: both >> tk.index_candidates(["a", "b", "c"]), "releases indices")


@pytest.mark.parametrize("bad", [3, None, geometric_choice()], ids=lambda bad: type(bad).__name__)
def test_what_is_no_list(bad: Any) -> None:
    raises_exactly(tk.errors.ParameterTypeError, lambda: tk.make_composition(bad), "measurements must be a list")


@pytest.mark.parametrize("bad", [len, 3, None, "ab", tk.Measurement, tk.then_permute_and_flip])
@pytest.mark.parametrize("place", [0, 1])
def test_what_is_no_measurement(bad: Any, place: int) -> None:
    members = [geometric_choice(), geometric_choice()]
    members[place] = bad
    raises_exactly(tk.errors.ParameterTypeError, lambda: tk.make_composition(members), f"measurements[{place}] must be")


def test_an_empty_list() -> None:
    raises_exactly(tk.errors.ParameterError, lambda: tk.make_composition([]), "at least one")


def test_spaces_must_be_the_same() -> None:
    others = [
        (geometric_choice((tk.VectorDomain(tk.AtomDomain(int), size=2), COUNTS[1])), "input_domain", "size=2"),
        (geometric_choice((COUNTS[0], tk.RangeDistance())), "input_metric", "RangeDistance()"),
        (geometric_choice(measure=RANGE), "output_measure", "RangeDivergence()"),
    ]
    for other, side, shown in others:
        error = raises_exactly(
            tk.errors.SpaceError, lambda other=other: tk.make_composition([geometric_choice(), other]), side, shown
        )
        assert repr(getattr(geometric_choice(), side)) in str(error)
        assert "measurements[1]" in str(error)


@pytest.mark.slow
def test_curves_compose() -> None:
    """Never above what the parts' pairs or rhos give by adding up; and at every distance of its own."""
    profile = COUNTS >> tk.then_report_noisy_top_k(PROFILE, k=2, scale=4.0)
    ten = tk.make_composition([profile] * 10)
    zcdp = COUNTS >> tk.then_report_noisy_top_k(ZCDP, k=2, scale=4.0)
    rhos = tk.make_zCDP_to_approxDP(tk.make_composition([zcdp] * 10))
    one_shot = COUNTS >> tk.then_report_noisy_top_k(PROFILE, k=20, scale=4.0)
    for d_in in (1, 3):
        curve = ten.map(d_in)
        assert curve.epsilon(1e-6) <= rhos.map(d_in).epsilon(1e-6)
        assert curve.epsilon(1e-6) < 10 * profile.map(d_in).epsilon(1e-7)
        assert curve.epsilon(1e-6) <= one_shot.map(d_in).epsilon(1e-6)
    assert ten.map(0).epsilon(0) == 0
    assert ten.map(math.inf).delta(100) == 1
    assert ten.check(1, (ten.map(1).epsilon(1e-6), 1e-6))
    assert not ten.check(1, (ten.map(1).epsilon(1e-6) * 0.999, 1e-6))


def test_curves_are_refused_where_they_are_not_fixed_with_advice_that_works() -> None:
    call = lambda: tk.make_fully_adaptive_composition(*COUNTS, PROFILE)  # noqa: E731
    raises_exactly(
        tk.errors.ParameterTypeError, call, "output_measure must be", "make_adaptive_composition", "make_fix_delta"
    )
    profile = COUNTS >> tk.then_report_noisy_top_k(PROFILE, k=2, scale=4.0)
    epsilon, delta = tk.make_fix_delta(profile, delta=1e-6).map(1)
    both = tk.make_composition([tk.make_fix_delta(profile, delta=1e-6)] * 2)
    assert both.map(1) == (2 * epsilon, 2 * delta)


@pytest.mark.slow
def test_no_product_of_exact_laws_exceeds_the_composed_curve() -> None:
    """The library's own laws on three candidates, and the curve of three different selections of them."""
    space = tk.VectorDomain(tk.AtomDomain(int), size=3), MONOTONIC
    members = [
        space >> tk.then_permute_and_flip(PROFILE, scale=2.0),
        space >> tk.then_exponential_mechanism(PROFILE, scale=1.0),
        space >> tk.then_report_noisy_top_k(PROFILE, k=2, scale=3.0),
    ]
    curve = tk.make_composition(members).map(1)
    largest = 0.0
    for x, step in itertools.product(([0, 0, 0], [2, 1, 0], [5, 0, 1]), itertools.product((0, 1), repeat=3)):
        near = np.add(x, step).tolist()
        laws = [(member.distribution(x), member.distribution(near)) for member in members]
        masses = [tuple(tuple(law[o] for o in pair[0]) for law in pair) for pair in laws]
        joint = product(masses)
        for i in range(8):
            epsilon = Fraction(i, 4)
            found = hockey_stick(joint, epsilon)
            assert found <= curve.delta(epsilon) * (1 + mpmath.mpf("1e-14"))
            largest = max(largest, float(found) / curve.delta(epsilon))
    assert largest > 0.5


def test_what_its_parts_declare_is_not_taken_for_its_own() -> None:
    """Accuracy, success and the number of candidates are statements about one selection; the labels are kept."""
    labelled = COUNTS >> tk.then_report_noisy_top_k(PURE, k=2, scale=0.01) >> tk.index_candidates(["a", "b", "c"])
    assert labelled.declared.n_candidates == 3
    assert labelled.accuracy(3) > 0
    assert labelled.success_probability([1, 2, 3]).lower > 0.9
    size = labelled.input_domain
    best = tk.make_exponential_mechanism(size, COUNTS[1], PURE, scale=0.01)
    both = tk.make_composition([labelled, best])
    raises_exactly(tk.errors.NotDeclaredError, lambda: both.accuracy(3), "no accuracy")
    raises_exactly(tk.errors.NotDeclaredError, lambda: both.success_probability([1, 2, 3]), "no probability of success")
    assert both.declared.n_candidates is None
    assert not both.declared.scores_input
    x = [0, 1000, 2000]
    assert both(x) == (tk.Release(items=["c", "b"]), 2)
    law = both.distribution(x)
    assert max(law, key=law.__getitem__) == (("c", "b"), 2)
    assert len(law) == 6 * 3


def test_queryables_that_it_releases_are_closed() -> None:
    talk = COUNTS >> tk.then_adaptive_composition(PURE, d_in=1, d_mids=[1.0])
    queryable, choice = tk.make_composition([talk, geometric_choice()])([1, 2])
    assert choice == 1
    raises_exactly(tk.errors.QueryError, lambda: queryable(geometric_choice()), "closed", "make_adaptive_composition")
    asked = talk >> (lambda queryable: queryable(geometric_choice()))
    assert tk.make_composition([asked, asked])([1, 2]) == (1, 1)


def test_a_measurement_that_occurs_twice_is_released_twice() -> None:
    """The same object, and two that are equal: every place draws noise of its own."""
    vast = [0] * 4096
    best = COUNTS >> tk.then_permute_and_flip(PURE, scale=1.0)
    same = tk.make_composition([best, best, COUNTS >> tk.then_permute_and_flip(PURE, scale=1.0)])
    assert same.map(1) == 3.0
    drawn = [same(vast) for _ in range(5)]
    for a, b in itertools.combinations(range(3), 2):
        assert any(release[a] != release[b] for release in drawn)
    assert len(set(drawn)) == len(drawn)


# make_repeat: as many independent releases as it says, and as many times the loss.


def top2(measure: tk.Measure, **options: Any) -> tk.Measurement:
    return COUNTS >> tk.then_report_noisy_top_k(measure, k=2, scale=2.0, **options)


def replaced(measurement: tk.Measurement) -> tk.Measurement:
    """Followed by a function: a measurement that cannot draw at once."""
    return measurement >> (lambda release: tuple(release))


@pytest.mark.parametrize("made", [top2, lambda measure: replaced(top2(measure))], ids=["at once", "one by one"])
@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_obligations_of_repetitions(measure: tk.Measure, made: Callable[[tk.Measure], tk.Measurement]) -> None:
    near = [([3, 1, 2], [4, 1, 2], 1), ([3, 1, 2], [4, 0, 2], 2)]
    check_measurement(tk.make_repeat(made(measure), times=2), **OF_THREE_COUNTS, neighbours=near)


@pytest.mark.parametrize("times", [1, 2, 7, 1000])
@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_the_map_is_that_of_the_composition(measure: tk.Measure, times: int) -> None:
    one = top2(measure)
    several, composed = tk.make_repeat(one, times=times), tk.make_composition([one] * times)
    for d_in in (0, 1, 3, Fraction(7, 2), math.inf):
        assert several.map(d_in) == composed.map(d_in)
        exact = times * one.exact_map(d_in)
        assert several.map(d_in) >= several.exact_map(d_in) == exact
        assert exact in (0, math.inf) or Fraction(math.nextafter(several.map(d_in), 0)) < exact


def test_deltas_are_repeated_too_and_cut() -> None:
    leaky = tk.make_user_measurement(*COUNTS, tk.Approximate(PURE), function=len, privacy_map=lambda d_in: (0.1, 0.3))
    assert tk.make_repeat(leaky, times=3).map(1) == (math.nextafter(0.3, 1), 0.9)
    assert tk.make_repeat(leaky, times=4).map(1)[1] == 1


def test_no_rounding_is_repeated() -> None:
    tenth = geometric_choice(privacy_map=lambda d_in: 0.1)
    assert tk.make_repeat(tenth, times=10).map(1) == math.nextafter(1.0, 2)


def test_what_is_lost_is_what_the_map_says() -> None:
    """The exact laws of a repetition on two neighbours, at the largest loss of one release."""
    one = COUNTS >> tk.then_exponential_mechanism(RANGE, scale=1.0)
    several = tk.make_repeat(one, times=3)
    with mpmath.workdps(40):
        lost = realised(RANGE, several.distribution([0, 0]), several.distribution([0, 1]))
        assert abs(lost - 3) < mpmath.mpf("1e-20")
    assert several.map(1) == 3


@pytest.mark.further
@pytest.mark.parametrize("made", [lambda one: one, replaced], ids=["at once", "one by one"])
def test_releases_are_independent_and_follow_the_law(made: Callable[[tk.Measurement], tk.Measurement]) -> None:
    law = rankings("Exponential", [1.0, math.exp(0.5), math.exp(0.5)], 2)
    found = tk.make_repeat(made(top2(PURE)), times=4000)([0, 1, 1])
    outcomes = [tuple(int(i) for i in row) for row in found]
    assert_follows(Counter(outcomes), law, detects=0.34)


def test_releases_have_the_shapes_that_the_documentation_says() -> None:
    scores = [3, 1, 2]
    ranking = tk.make_repeat(top2(PURE), times=5)(scores)
    assert (ranking.shape, ranking.dtype) == ((5, 2), np.int64)
    sets = tk.make_repeat(top2(PURE, release="set"), times=50)(scores)
    assert (np.diff(sets, axis=1) > 0).all()
    choice = tk.make_repeat(COUNTS >> tk.then_permute_and_flip(PURE, scale=1.0), times=5)(scores)
    assert (choice.shape, choice.dtype) == ((5,), np.int64)
    exact = tk.make_repeat(COUNTS >> tk.then_report_noisy_top_k(PURE, k=2, scale=0), times=2)(scores)
    assert exact.tolist() == [[0, 2], [0, 2]]
    peeled = COUNTS >> tk.then_peeled_top_k(PURE, k=2, scale=1.0, mechanism="permute_and_flip")
    assert tk.make_repeat(peeled, times=3)(scores).shape == (3, 2)
    assert isinstance(tk.make_repeat(replaced(peeled), times=3)(scores), tuple)


def test_gaps_and_counts_come_as_one_value_a_release() -> None:
    gaps = COUNTS >> tk.then_noisy_top_k_with_gaps(PURE, k=2, scale=1.0)
    counts = COUNTS >> tk.then_select_then_count(PURE, k=2, scale=1.0)
    for one, field in ((gaps, "gaps"), (counts, "counts")):
        found, single = tk.make_repeat(one, times=5)([3, 1, 2]), one([3, 1, 2])
        assert isinstance(found, tuple)
        assert len({tuple(getattr(release, field).tolist()) for release in found}) > 1
        for release in found:
            assert type(release) is type(single)
            for name in ("indices", field):
                drawn, alone = getattr(release, name), getattr(single, name)
                assert (drawn.shape, drawn.dtype) == (alone.shape, alone.dtype)
        raises_exactly(tk.errors.DataError, partial(tk.make_repeat(one, times=3), [1]), "at least k")
    exact = COUNTS >> tk.then_noisy_top_k_with_gaps(PURE, k=2, scale=0)
    assert [release.gaps.tolist() for release in tk.make_repeat(exact, times=2)([3, 1, 7])] == [[4.0, 2.0]] * 2


def test_counts_of_a_repetition_have_the_type_that_each_alone_would_have() -> None:
    """A count beyond 64 bits in one release leaves those of the others as they are."""
    most = 2**63 - 1
    one = COUNTS >> tk.then_select_then_count(PURE, k=1, scale=1.0, count_scale=1.0)
    found = tk.make_repeat(one, times=200)([most - 1, 0])
    kinds = {(release.counts.dtype == object, int(release.counts[0]) > most) for release in found}
    assert kinds == {(False, False), (True, True)}


def test_the_direction_of_gaps_is_kept() -> None:
    least = COUNTS >> tk.then_noisy_top_k_with_gaps(PURE, k=1, scale=1e-3, optimize="min")
    for release in tk.make_repeat(least, times=20)([3000, 1000, 2000]):
        assert release.indices.tolist() == [1]
        assert abs(release.gaps[0] - 1000) < 1


@pytest.mark.further
def test_counts_that_are_drawn_at_once_follow_the_law() -> None:
    """Winner and noise of one release, and noise of two winners: independent discrete Laplace variables."""
    one = COUNTS >> tk.then_select_then_count(PURE, k=2, scale=2.0, count_scale=1.0)
    found = tk.make_repeat(one, times=40_000)([0, 1, 1])
    law = rankings("Exponential", [1.0, math.exp(0.5), math.exp(0.5)], 2)
    assert_follows(Counter(tuple(release.indices.tolist()) for release in found), law, detects=0.13)
    noise = Counter(
        tuple(max(-2, min(2, int(c) - (0, 1, 1)[i])) for i, c in zip(release, release.counts, strict=True))
        for release in found
    )
    q = math.exp(-1)
    each = {z: (1 - q) / (1 + q) * q ** abs(z) for z in (-1, 0, 1)} | dict.fromkeys((-2, 2), q * q / (1 + q))
    assert_follows(noise, {(a, b): p * r for a, p in each.items() for b, r in each.items()}, detects=0.13)


def test_a_repetition_is_repeated_and_composed() -> None:
    twice = tk.make_repeat(tk.make_repeat(top2(PURE), times=3), times=2)
    assert twice.map(1) == 6 * top2(PURE).map(1)
    assert [block.shape for block in twice([3, 1, 2])] == [(3, 2), (3, 2)]


@pytest.mark.slow
def test_curves_are_composed() -> None:
    once = top2(PROFILE)
    several, members = tk.make_repeat(once, times=7).map(1), tk.make_composition([once] * 7).map(1)
    assert [several.delta(e) for e in (0, 1, 2.5)] == [members.delta(e) for e in (0, 1, 2.5)]
    assert once.map(1).epsilon(1e-6) < several.epsilon(1e-6) < 7 * once.map(1).epsilon(1e-6)
