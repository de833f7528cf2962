"""A release and what it chooses: the joint law, its cost, and what is refused."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from tests.concepts.examples import COUNTS
from tests.concepts.sentinels import raises_exactly
from tests.concepts.specimens import Law, Specimen
from tests.oracles import floats
from tests.oracles.chi_square import assert_follows

MAX, ZCDP = tk.MaxDivergence(), tk.ZeroConcentratedDivergence()
PAIR = (4, 2, 0), (4, 3, 1)


def choice(scale: float, measure: tk.Measure = MAX, optimize: str = "max") -> tk.Measurement:
    built: tk.Measurement = COUNTS >> tk.then_exponential_mechanism(measure, scale=scale, optimize=optimize)
    return built


def by_answer(measure: tk.Measure = MAX) -> Any:
    """After 0 the worst, after others the best, at other scales."""
    return lambda found: choice(4.0, measure, "min") if found == 0 else choice(5.0, measure)


def law_of(x: Any) -> Law:
    scores = np.array([x], dtype=float)
    first = floats.softmax(scores)[0].tolist()
    law: dict[Any, float] = {}
    for answer, chance in enumerate(first):
        second = floats.softmax(-scores / 4 if answer == 0 else scores / 5)[0].tolist()
        for other, share in enumerate(second):
            law[answer, other] = chance * share
    return law


def test_what_is_agreed_is_kept_exactly() -> None:
    agreed = Fraction(3, 10)
    for scale, fits in ((1 / agreed, True), (1 / Fraction(math.nextafter(0.3, 1)), False)):
        both = tk.make_followed_by(choice(1.0), follow=lambda _, scale=scale: choice(scale), d_in=1, d_out=agreed)
        assert both.exact_map(1) == 1 + agreed
        if fits:
            assert len(both(PAIR[0])) == 2
        else:
            raises_exactly(tk.errors.BudgetError, lambda both=both: both(PAIR[0]), "loses more than d_out")


@pytest.mark.slow
def test_the_joint_law_and_its_loss() -> None:
    both = tk.make_followed_by(choice(1.0), follow=by_answer(), d_in=1, d_out=0.25)
    counts: Any = {}
    for _ in range(3000):
        answer, other = both(PAIR[0])
        counts[int(answer), int(other)] = counts.get((int(answer), int(other)), 0) + 1
    assert_follows(counts, law_of(PAIR[0]), detects=0.4)
    assert both.map(1) == 1.25
    assert both.map(0) == 1.25
    assert both.map(2) == math.inf
    for x, y in itertools.permutations(PAIR):
        p, q = law_of(x), law_of(y)
        assert max(abs(math.log(p[one] / q[one])) for one in p) <= 1.25


@pytest.mark.parametrize(
    ("first", "d_out", "expected"),
    [
        (choice(2.0, ZCDP), 0.25, choice(2.0, ZCDP).map(1) + 0.25),
        (tk.make_approximate(choice(2.0)), (0.25, 1e-6), (0.75, 1e-6)),
    ],
    ids=["zCDP", "approximate"],
)
def test_losses_add_under_each_measure(first: tk.Measurement, d_out: Any, expected: Any) -> None:
    both = tk.make_followed_by(first, follow=lambda _: first, d_in=1, d_out=d_out)
    assert both.map(1) == pytest.approx(expected)
    assert both.output_measure == first.output_measure


@pytest.mark.slow
def test_curves_are_those_of_adaptive_composition() -> None:
    first, second = choice(2.0, tk.PrivacyProfile()), choice(4.0, tk.PrivacyProfile())
    both = tk.make_followed_by(first, follow=lambda _: second, d_in=1, d_out=second.map(1))
    talk = COUNTS >> tk.then_adaptive_composition(tk.PrivacyProfile(), d_in=1, d_mids=[first.map(1), second.map(1)])
    assert both.map(1).delta(0.3) == talk.map(1).delta(0.3)


def test_what_would_lose_more_is_refused_without_its_release() -> None:
    def never(_: Any) -> Any:
        raise AssertionError("released")

    greedy = tk.make_user_measurement(*COUNTS, MAX, function=never, privacy_map=lambda d: d)
    both = tk.make_followed_by(choice(1.0), follow=lambda _: greedy, d_in=1, d_out=0.99)
    raises_exactly(tk.errors.BudgetError, lambda: both([1, 2]), "d_out")
    talk = COUNTS >> tk.then_adaptive_composition(MAX, d_in=1, d_mids=[0.1])
    open_end = tk.make_followed_by(choice(1.0), follow=lambda _: talk, d_in=1, d_out=0.99)
    raises_exactly(tk.errors.BudgetError, lambda: open_end([1, 2]), "interactive")
    other = tk.make_followed_by(choice(1.0), follow=lambda _: choice(9.0, ZCDP), d_in=1, d_out=0.99)
    raises_exactly(tk.errors.SpaceError, lambda: other([1, 2]), "output_measure")


def test_bad_arguments_are_refused() -> None:
    talk = COUNTS >> tk.then_adaptive_composition(MAX, d_in=1, d_mids=[0.1])
    good: dict[str, Any] = {"follow": by_answer(), "d_in": 1, "d_out": 0.25}
    for first in (talk, choice(1.0, tk.RangeDivergence())):
        raises_exactly(tk.errors.ParameterError, lambda one=first: tk.make_followed_by(one, **good), "first must not")
    for change, error in (
        ({"follow": 3}, tk.errors.ParameterTypeError),
        ({"d_in": -1}, tk.errors.ParameterError),
        ({"d_out": math.nan}, tk.errors.ParameterError),
    ):
        with pytest.raises(error):
            tk.make_followed_by(choice(1.0), **(good | change))


def test_the_number_of_all_others_after_a_top_k() -> None:
    pl = pytest.importorskip("polars", reason="the table is one of polars")
    space = tk.FrameDomain("user", "term"), tk.UserDistance()
    items = ["rain", "snow", "hail"]
    count = space >> tk.then_count_by_item(candidates=items)
    best = count >> tk.then_report_noisy_top_k(MAX, k=1, scale=1e-3) >> tk.index_candidates(items)

    def others(found: Any) -> tk.Measurement:
        outside: tk.Measurement = space >> tk.then_count_outside(items=found) >> tk.then_laplace(MAX, scale=2.0)
        return outside

    both = tk.make_followed_by(best, follow=others, d_in=1, d_out=0.5)
    assert both.map(1) == best.map(1) + 0.5
    rows = [(user, "rain") for user in range(900)] + [(user, "own name") for user in range(300, 500)]
    found, outside = both(pl.DataFrame(rows, schema=["user", "term"], orient="row"))
    assert list(found) == ["rain"]
    assert abs(int(outside[0]) - 200) < 100


def specimens() -> list[Specimen]:
    return [Specimen(tk.make_followed_by(choice(1.0), follow=by_answer(), d_in=1, d_out=0.25), PAIR, law_of)]
