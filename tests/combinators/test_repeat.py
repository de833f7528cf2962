"""make_repeat: as many independent releases as it says, and as many times the loss."""

from __future__ import annotations

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

from ..concepts.examples import COUNTS, geometric_choice
from ..concepts.links import check_measurement
from ..concepts.losses import realised
from ..concepts.sentinels import SENTINEL_INT, raises_exactly
from ..oracles.chi_square import assert_follows
from ..oracles.one_shot import rankings

MEASURES = [tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence()]


def top2(measure: tk.Measure, **options: Any) -> tk.Measurement:
    return COUNTS >> tk.then_report_noisy_top_k(measure, k=2, scale=2.0, **options)


def replaced(measurement: tk.Measurement) -> tk.Measurement:
    """Followed by a function: a measurement that cannot draw at once."""
    return measurement >> (lambda release: tuple(release))


@pytest.mark.parametrize("made", [top2, lambda measure: replaced(top2(measure))], ids=["at once", "one by one"])
@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_obligations(measure: tk.Measure, made: Callable[[tk.Measure], tk.Measurement]) -> None:
    check_measurement(
        tk.make_repeat(made(measure), times=2),
        members=[[3, 1, 2], [0, 0, 5]],
        non_members=[[0.5], [], [SENTINEL_INT, "a"], None],
        distances=[1, 2, 5],
        neighbours=[([3, 1, 2], [4, 1, 2], 1), ([3, 1, 2], [4, 0, 2], 2)],
    )


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
    leaky = tk.make_user_measurement(
        *COUNTS, tk.Approximate(tk.MaxDivergence()), function=len, privacy_map=lambda d_in: (0.1, 0.3)
    )
    assert tk.make_repeat(leaky, times=3).map(1) == (math.nextafter(0.3, 1), 0.9)
    assert tk.make_repeat(leaky, times=4).map(1)[1] == 1


def test_no_rounding_is_repeated() -> None:
    tenth = geometric_choice(privacy_map=lambda d_in: 0.1)
    assert tk.make_repeat(tenth, times=10).map(1) == math.nextafter(1.0, 2)


def test_what_is_lost_is_what_the_map_says() -> None:
    """The exact laws of a repetition on two neighbours, at the largest loss of one release."""
    one = COUNTS >> tk.then_exponential_mechanism(tk.RangeDivergence(), scale=1.0)
    several = tk.make_repeat(one, times=3)
    with mpmath.workdps(40):
        lost = realised(tk.RangeDivergence(), several.distribution([0, 0]), several.distribution([0, 1]))
        assert abs(lost - 3) < mpmath.mpf("1e-20")
    assert several.map(1) == 3


@pytest.mark.further
@pytest.mark.parametrize("made", [lambda one: one, replaced], ids=["at once", "one by one"])
def test_releases_are_independent_and_follow_the_law(made: Callable[[tk.Measurement], tk.Measurement]) -> None:
    law = rankings("Exponential", [1.0, math.exp(0.5), math.exp(0.5)], 2)
    found = tk.make_repeat(made(top2(tk.MaxDivergence())), times=4000)([0, 1, 1])
    outcomes = [tuple(int(i) for i in row) for row in found]
    assert_follows(Counter(outcomes), law, detects=0.34)


def test_releases_have_the_shapes_that_the_documentation_says() -> None:
    scores = [3, 1, 2]
    ranking = tk.make_repeat(top2(tk.MaxDivergence()), times=5)(scores)
    assert (ranking.shape, ranking.dtype) == ((5, 2), np.int64)
    sets = tk.make_repeat(top2(tk.MaxDivergence(), release="set"), times=50)(scores)
    assert (np.diff(sets, axis=1) > 0).all()
    choice = tk.make_repeat(COUNTS >> tk.then_permute_and_flip(tk.MaxDivergence(), scale=1.0), times=5)(scores)
    assert (choice.shape, choice.dtype) == ((5,), np.int64)
    exact = tk.make_repeat(COUNTS >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=2, scale=0), times=2)(scores)
    assert exact.tolist() == [[0, 2], [0, 2]]
    peeled = COUNTS >> tk.then_peeled_top_k(tk.MaxDivergence(), k=2, scale=1.0, mechanism="permute_and_flip")
    assert tk.make_repeat(peeled, times=3)(scores).shape == (3, 2)
    assert isinstance(tk.make_repeat(replaced(peeled), times=3)(scores), tuple)


def test_gaps_and_counts_come_as_one_value_a_release() -> None:
    gaps = COUNTS >> tk.then_noisy_top_k_with_gaps(tk.MaxDivergence(), k=2, scale=1.0)
    counts = COUNTS >> tk.then_select_then_count(tk.MaxDivergence(), k=2, scale=1.0)
    for one, field in ((gaps, "gaps"), (counts, "counts")):
        found, single = tk.make_repeat(one, times=5)([3, 1, 2]), one([3, 1, 2])
        assert isinstance(found, tuple)
        assert len({tuple(getattr(release, field).tolist()) for release in found}) > 1
        for release in found:
            assert type(release) is type(single)
            for name in ("indices", field):
                drawn, alone = getattr(release, name), getattr(single, name)
                assert (drawn.shape, drawn.dtype) == (alone.shape, alone.dtype)
        raises_exactly(tk.DataLengthError, partial(tk.make_repeat(one, times=3), [1]), "at least k")
    exact = COUNTS >> tk.then_noisy_top_k_with_gaps(tk.MaxDivergence(), k=2, scale=0)
    assert [release.gaps.tolist() for release in tk.make_repeat(exact, times=2)([3, 1, 7])] == [[4.0, 2.0]] * 2


def test_counts_of_a_repetition_have_the_type_that_each_alone_would_have() -> None:
    """A count beyond 64 bits in one release leaves those of the others as they are."""
    most = 2**63 - 1
    one = COUNTS >> tk.then_select_then_count(tk.MaxDivergence(), k=1, scale=1.0, count_scale=1.0)
    found = tk.make_repeat(one, times=200)([most - 1, 0])
    kinds = {(release.counts.dtype == object, int(release.counts[0]) > most) for release in found}
    assert kinds == {(False, False), (True, True)}


def test_the_direction_of_gaps_is_kept() -> None:
    least = COUNTS >> tk.then_noisy_top_k_with_gaps(tk.MaxDivergence(), k=1, scale=1e-3, optimize="min")
    for release in tk.make_repeat(least, times=20)([3000, 1000, 2000]):
        assert release.indices.tolist() == [1]
        assert abs(release.gaps[0] - 1000) < 1


@pytest.mark.further
def test_counts_that_are_drawn_at_once_follow_the_law() -> None:
    """Winner and noise of one release, and noise of two winners: independent discrete Laplace variables."""
    one = COUNTS >> tk.then_select_then_count(tk.MaxDivergence(), k=2, scale=2.0, count_scale=1.0)
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
    twice = tk.make_repeat(tk.make_repeat(top2(tk.MaxDivergence()), times=3), times=2)
    assert twice.map(1) == 6 * top2(tk.MaxDivergence()).map(1)
    assert [block.shape for block in twice([3, 1, 2])] == [(3, 2), (3, 2)]


def test_too_few_scores_release_nothing() -> None:
    several = tk.make_repeat(top2(tk.MaxDivergence()), times=3)
    raises_exactly(tk.DataLengthError, lambda: several([1]), "at least k elements (2)")


@pytest.mark.slow
def test_curves_are_composed() -> None:
    once = top2(tk.PrivacyProfile())
    several, members = tk.make_repeat(once, times=7).map(1), tk.make_composition([once] * 7).map(1)
    assert [several.delta(e) for e in (0, 1, 2.5)] == [members.delta(e) for e in (0, 1, 2.5)]
    assert once.map(1).epsilon(1e-6) < several.epsilon(1e-6) < 7 * once.map(1).epsilon(1e-6)


@pytest.mark.parametrize(
    ("arguments", "error", "required"),
    [
        ({"times": 0}, tk.ParameterError, "times must be an integer >= 1"),
        ({"times": 1.0}, tk.ParameterTypeError, "times must be an integer >= 1"),
        ({"measurement": len}, tk.ParameterTypeError, "measurement must be a measurement"),
    ],
    ids=repr,
)
def test_bad_arguments(arguments: dict[str, Any], error: type[Exception], required: str) -> None:
    given: dict[str, Any] = {"measurement": top2(tk.MaxDivergence()), "times": 2}
    raises_exactly(error, lambda: tk.make_repeat(**(given | arguments)), required)
