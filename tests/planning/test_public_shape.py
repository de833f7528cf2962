"""Accuracy on public counts: simulated means against enumerated ones, ties, and shapes by Zipf's law."""

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.apps.planning.public_shape import SimulatedMean, score_winners, simulate_accuracy, zipf_counts
from opendp_topk.errors import ParameterError

from ..concepts.sentinels import raises_exactly
from ..oracles import canonical, one_shot

COUNTS, K, RELEASES = [9, 7, 6, 6, 2, 0], 3, 4000
WITHIN = math.sqrt(math.log(2e10) / (2 * RELEASES))  # Hoeffding: means of [0, 1] are farther with probability 1e-10


def outcomes(mechanism: str, scale: float) -> dict[tuple[int, ...], Any]:
    """The law of the released set, by an oracle."""
    if mechanism == "canonical_exponential":
        return canonical.flip_law(COUNTS, K, Fraction(scale), Fraction(1, 2), "margin")
    noise = {"report_noisy_top_k_exponential": "Exponential", "report_noisy_top_k_gumbel": "Gumbel"}[mechanism]
    weights = [mpmath.exp(count / mpmath.mpf(scale)) for count in COUNTS]
    return one_shot.sets(one_shot.rankings(noise, weights, K))


@pytest.mark.parametrize(
    "mechanism", ["canonical_exponential", "report_noisy_top_k_exponential", "report_noisy_top_k_gumbel"]
)
def test_means_are_those_of_the_enumerated_law(mechanism: str) -> None:
    budget = tk.planning.PrivacyBudget(epsilon=1)
    asked = tk.planning.TopK(k=K, candidates=len(COUNTS), release="set", mechanism=mechanism, budget=budget)
    plan = asked.plan().plan
    found = simulate_accuracy(plan, np.array(COUNTS), RELEASES)
    law = outcomes(mechanism, plan.scale)
    right = {one: len({0, 1} & set(one)) + min(len({2, 3} & set(one)), 1) for one in law}
    share = mpmath.fsum(p * right[one] / K for one, p in law.items())
    missing = mpmath.fsum(p * (1 - Fraction(sum(COUNTS[i] for i in one), 22)) for one, p in law.items())
    exact = mpmath.fsum(p for one, p in law.items() if right[one] == K)
    assert 0.3 < share < 0.9
    assert found.found.mean == pytest.approx(float(share), abs=WITHIN)
    assert found.missing.mean == pytest.approx(float(missing), abs=WITHIN)
    assert found.exact.lower - 1e-9 <= exact <= found.exact.upper + 1e-9


@pytest.mark.further
@pytest.mark.parametrize("options", [{"counts": True}, {"max_items": 1}, {"max_items": 1, "counts": True}], ids=str)
def test_counts_and_noise_on_all_counts_are_simulated_too(options: dict[str, Any]) -> None:
    asked = tk.planning.TopK(k=2, candidates=6, budget=tk.planning.PrivacyBudget(epsilon=10**6), **options)
    plan = asked.plan().plan
    found = simulate_accuracy(plan, np.array(COUNTS), 20)
    assert (found.found, found.missing) == (SimulatedMean(1, 0), SimulatedMean(0, 0))
    if plan.query.task.mechanism.few:
        assert found.exact == SimulatedMean(1, 0)
    else:
        assert isinstance(found.exact, tk.audit.Enclosure)


def test_of_equal_counts_any_are_right_and_no_more_than_there_are_places() -> None:
    counts = np.array(COUNTS)
    found, missing = score_winners(counts, np.array([[0, 1, 2], [3, 1, 0], [2, 3, 0], [2, 3, 4], [5, 4, 3]]))
    assert found.tolist() == [1, 1, 2 / 3, 1 / 3, 1 / 3]
    assert missing.tolist() == pytest.approx([0, 0, 1 / 22, 8 / 22, 14 / 22])
    assert [one.tolist() for one in score_winners(np.zeros(4, int), np.array([[1, 2]]))] == [[1], [0]]


def test_a_mean_has_its_standard_error() -> None:
    assert SimulatedMean.from_values(np.array([0.0, 1.0, 1.0, 0.0])) == SimulatedMean(0.5, 0.25)
    assert SimulatedMean(0.5, 0.25).percent_text() == "50.00 % (standard error 25.00)"


@pytest.mark.parametrize(("exponent", "total"), [("1.1", 200_000), ("0", 10), ("2", 10**15)])
def test_zipf_counts_fall_as_a_power_and_have_the_sum(exponent: str, total: int) -> None:
    counts = zipf_counts(f"zipf:{exponent}:{total}", 1000)
    assert counts.dtype == np.int64
    whole = mpmath.fsum(mpmath.mpf(rank) ** -mpmath.mpf(exponent) for rank in range(1, 1001))
    for rank in (1, 2, 7, 1000):
        wanted = total * mpmath.mpf(rank) ** -mpmath.mpf(exponent) / whole
        assert abs(int(counts[rank - 1]) - wanted) <= 0.5 + float(wanted) * 1e-12
    assert zipf_counts("zipf.csv", 9) is None


@pytest.mark.parametrize("shape", ["1:2:3", "1", "-1:5", "nan:5", "inf:5", "1:0", "1:1.5", f"1:{10**16}", ":", "x:5"])
def test_a_wrong_shape_is_refused(shape: str) -> None:
    raises_exactly(ParameterError, lambda: zipf_counts(f"zipf:{shape}", 9), "zipf:S:N needs an exponent S >= 0")
