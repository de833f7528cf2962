"""What the tutorial on quantiles says of other libraries: the errors, beside the exact ones here, and the prices.

Errors are drawn 800 times, and a mean is off by more than five standard errors with a probability of about 10^-6.
"""

import re
from fractions import Fraction

import pytest

from . import side_by_side
from .needed import Needed
from .side_by_side import AGES, BOUNDS, DISTINCT, EPSILONS, HALF, JOBS, diffprivlib, drawn, exact, off, opendp, unequal

dp, tools = Needed("opendp.prelude"), Needed("diffprivlib.tools")
pytestmark = pytest.mark.foreign
SURELY, DRAWS = 5, 800
TEXT = side_by_side.PAGE.read_text("utf-8")


def bounds(data: list[int], draw: side_by_side.Draw) -> tuple[float, float]:
    mean, error = drawn(data, HALF, draw, DRAWS)
    return mean - SURELY * error, mean + SURELY * error


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("data", [DISTINCT, AGES], ids=["distinct", "ages"])
def test_opendp_flips_by_the_same_scale_and_another_score(data: list[int], epsilon: float) -> None:
    assert dp.max_divergence() is not None
    low, high = bounds(data, opendp(data, HALF, epsilon))
    assert low <= exact(data, *HALF, epsilon, unequal) <= high


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_median_by_other_ways_has_more(epsilon: float) -> None:
    assert tools.quantile([5], 0.5, epsilon=1.0, bounds=(5, 6)) >= 5
    own = {"distinct": exact(DISTINCT, *HALF, epsilon), "ages": exact(AGES, *HALF, epsilon)}
    for data, known in ((DISTINCT, own["distinct"]), (AGES, own["ages"])):
        for way in (diffprivlib, side_by_side.by_hand):
            assert bounds(data, way(data, HALF, epsilon))[0] > 1.1 * known, way.__name__


def test_which_score_is_nearer_depends_on_the_numbers() -> None:
    found = [exact(data, *HALF, 1.0, score) for data in (DISTINCT, AGES) for score in (unequal, off)]
    assert "({:.2f} rows instead of {:.2f})".format(*found) in TEXT
    assert "share a number ({:.1f} instead of {:.3f})".format(*found[2:]) in TEXT


@pytest.mark.parametrize("stop", [0.01, 0.1, 0.5])
def test_a_candidate_costs_less_than_two_epsilon(stop: float) -> None:
    assert dp.max_divergence() is not None
    found = side_by_side.candidate_price(1.0, stop)
    assert found["OpenDP"] == 2.0 > found["opendp_topk"]
    assert stop != 0.1 or f"{found['opendp_topk']:.3f} at epsilon 1 and probability 0.1." in TEXT


def test_distances_from_a_threshold() -> None:
    found = side_by_side.threshold_distance(0.5, 0.05)
    assert f"{found['NumPy, by hand'] / 2:.1f} / epsilon away" in TEXT
    assert f"on both, the distance is {found['opendp_topk'] / 2:.1f} / epsilon." in TEXT


def test_the_page_has_all_jobs_and_the_exact_errors() -> None:
    table = TEXT.partition("<!-- side by side -->")[2].partition("<!-- end -->")[0]
    found = re.findall(r"^\| (.+?) \| (.+?) \| \d+ \| (.+?) \| (.+?) \| [\d.]+ \|$", table, re.MULTILINE)
    assert [one[:2] for one in found] == [(job, way) for job in JOBS for way in side_by_side.WAYS]
    for job, way, *errors in found:
        data, shares = JOBS[job]
        if way == "opendp_topk" and len(shares) == 1:
            assert errors == [f"{exact(data, shares[0], epsilon):.2f}" for epsilon in EPSILONS]


def test_an_error_is_none_where_the_number_is_the_quantile() -> None:
    assert BOUNDS[0] <= 60 <= BOUNDS[1]
    assert exact([60] * 9, Fraction(1, 2), 50.0) == pytest.approx(0, abs=1e-9)
