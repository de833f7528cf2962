"""make_select_private_candidate: the first run that reaches a threshold, its law, and a price that nothing exceeds.

Tries proofs/combinators/private_selection.tex.
"""

import math
from collections import Counter
from fractions import Fraction

import pytest

import opendp_topk as tk

from ..concepts.links import OF_THREE_COUNTS, check_measurement
from ..concepts.specimens import Specimen
from ..oracles import runs
from ..oracles.chi_square import assert_follows
from .test_private_selection import MAX, PAIR, PROFILE, run, softmax, told, worst

X = (1, 0, 2, 1)


def specimens() -> list[Specimen]:
    link = tk.make_select_private_candidate(run(), stop_probability=0.25, threshold=2)
    return [Specimen(link, (X, (1, 1, 2, 2)), lambda x: runs.first(softmax(x), 0.25, 2), share=0.3)]


@pytest.mark.parametrize("measure", [MAX, PROFILE, PAIR], ids=repr)
def test_obligations(measure: tk.Measure) -> None:
    one = tk.make_approximate(run()) if measure == PAIR else run(measure)
    tables = OF_THREE_COUNTS | {"members": [[3, 1, 2, 5], [0, 0, 5, 1]]}
    near = [([3, 1, 2, 0], [4, 1, 3, 0], 1), ([3, 1, 2, 0], [4, 0, 2, 1], 2)]
    made = tk.make_select_private_candidate(one, stop_probability=Fraction(1, 7), threshold=1.5)
    check_measurement(made, **tables, neighbours=near)


def test_the_law_is_that_of_run_after_run() -> None:
    for gamma in (0.05, 0.25, 0.9):
        for threshold in (-1, 0.5, 1, 2, 3):
            link = tk.make_select_private_candidate(run(), stop_probability=gamma, threshold=threshold)
            stated, found = link.distribution(X), runs.first(softmax(X), gamma, threshold)
            assert set(stated) == set(found)
            assert all(abs(float(stated[outcome]) - found[outcome]) < 1e-11 for outcome in found)


@pytest.mark.further
def test_releases_follow_the_law() -> None:
    link = tk.make_select_private_candidate(run(), stop_probability=0.25, threshold=2)
    assert_follows(Counter(link(X) for _ in range(800)), runs.first(softmax(X), 0.25, 2), detects=0.35)


def test_the_price_is_met_and_never_exceeded() -> None:
    for gamma in (0.01, 0.25, 0.9):
        for epsilon in (0.1, 1.0, 3.0):
            laws = worst(epsilon, 1e-7)
            link = tk.make_select_private_candidate(told({}, epsilon), stop_probability=gamma, threshold=1)
            lost = runs.largest_loss(*(runs.first(law, gamma, 1) for law in laws))
            assert 0.999 * link.map(1) <= lost <= link.map(1) < 2 * epsilon, (gamma, epsilon)


@pytest.mark.parametrize("most", [5, 50])
def test_giving_up_after_so_many_runs_is_refuted(most: int) -> None:
    """Where most runs reach the threshold, that none did has the loss of each of them, and not two."""
    one, other = ({(0, 0): (1 - p), (1, 1): p} for p in (1 - 0.1, 1 - 0.1 * math.e))
    nothing = [law[0, 0] ** most for law in (one, other)]
    claimed = tk.make_select_private_candidate(told({}, 1.0), stop_probability=1 / most, threshold=1).map(1)
    assert runs.largest_loss(one, other) == pytest.approx(max(1.0, math.log(0.9 / (1 - 0.1 * math.e))))
    assert math.log(nothing[1] / nothing[0]) == pytest.approx(most)
    assert most > 2 > claimed


def test_curves_hold() -> None:
    one = {(i, i): p for i, p in enumerate((0.30, 0.30, 0.25, 0.15, 0.0))}
    other = {(i, i): p for i, p in enumerate((0.25, 0.28, 0.26, 0.20, 0.01))}
    curve = tk.PrivacyCurve(lambda epsilon: min(1.0, runs.hockey_stick(one, other, float(epsilon)) * (1 + 1e-12)))
    for gamma in (0.05, 0.5):
        for threshold in (1, 3, 4):
            link = tk.make_select_private_candidate(
                told({}, curve, PROFILE), stop_probability=gamma, threshold=threshold
            )
            laws = [runs.first(law, gamma, threshold) for law in (one, other)]
            for epsilon in (0.0, 0.2, 0.5, 1.0, 2.0):
                assert runs.hockey_stick(*laws, epsilon) <= link.map(1).delta(epsilon) + 1e-12
    assert link.map(1).delta(0.5) < 0.05


def test_without_a_threshold_it_is_the_best_of_a_geometric_number() -> None:
    geometric = tk.TruncatedNegativeBinomial(1, 0.25)
    link = tk.make_select_private_candidate(run(), stop_probability=0.25)
    assert link.distribution(X) == tk.make_private_selection(run(), repetitions=geometric).distribution(X)
    assert link.map(1) == tk.make_private_selection(run(), repetitions=geometric).map(1)
