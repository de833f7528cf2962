"""Faults of diffprivlib 0.6.6, found by the exact verifier; and its permute-and-flip under a cost that is too small."""

from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from tests.concepts.probabilities import of_probabilities

from .needed import Needed
from .selection import EPSILON, PAIRS, PURE, ZCDP, diffprivlib_selection, true_cost

mechanisms = Needed("diffprivlib.mechanisms")
pytestmark = pytest.mark.foreign
SPACE = tk.VectorDomain(tk.AtomDomain(float)), tk.LInfDistance()
INFINITE = float("inf")


def declared(scores: Any) -> Any:
    """The probabilities by which ``Exponential`` draws at epsilon = 1: differences of what it holds, a running sum."""
    sums = mechanisms.Exponential(epsilon=1.0, sensitivity=1.0, utility=scores.tolist())._probabilities
    return np.diff(sums, prepend=0.0)


def verified(**options: Any) -> tk.audit.Report:
    scale = {name: options.pop(name) for name in ("scale",) if name in options}
    claim = of_probabilities(declared, *SPACE, PURE, privacy_map=lambda d_in: 1.0 * d_in, **scale)
    return tk.audit.verify(claim, **options)


def refuted(**options: Any) -> tk.audit.Report:
    with pytest.raises(tk.errors.PrivacyViolationError) as caught:
        verified(**options)
    return caught.value.report


def test_a_gap_of_1491_makes_a_probability_zero_on_one_side() -> None:
    report = refuted(pairs=[([0.0, 1491.0], [1.0, 1490.0])])
    assert report.loss == INFINITE > report.claimed == 1.0
    assert (report.witness.x, report.witness.x_prime) == ((0.0, 1491.0), (1.0, 1490.0))
    assert report.witness.where == {"outcome": 0}
    assert declared(np.array([0.0, 1491.0]))[0] == 0.0 < declared(np.array([1.0, 1490.0]))[0]


def test_the_running_sum_swallows_small_probabilities_and_no_pair_need_be_given() -> None:
    report = refuted(scale=2.0)
    assert report.loss == INFINITE
    x, y, lost = report.witness.x, report.witness.x_prime, report.witness.where["outcome"]
    assert max(abs(a - b) for a, b in zip(x, y, strict=True)) <= 1
    one, other = (declared(np.array(vector))[lost] for vector in (x, y))
    assert min(one, other) == 0.0 < max(one, other)
    assert max(x) - min(x) < 200


def test_small_gaps_are_sound() -> None:
    """At gaps of a few units the same claim holds, up to the rounding of the table."""
    pairs = [([0.0, -gap, -gap], [1.0, -gap - 1, -gap - 1]) for gap in (0.0, 1.0, 2.0, 5.0)]
    assert verified(pairs=pairs).holds


def test_permute_and_flip_is_flagged_at_an_eighth_of_epsilon_squared() -> None:
    function = diffprivlib_selection(mechanisms, "permute-and-flip")
    found = tk.audit.estimate(function, *PAIRS[0], samples=40_000, measure=ZCDP, confidence=1 - 1e-11)
    assert found.contradicts(EPSILON**2 / 8)
    assert not found.contradicts(true_cost("permute-and-flip", ZCDP))


@pytest.mark.parametrize("mechanism", ["exponential", "permute-and-flip"])
def test_the_search_is_silent_at_small_gaps(mechanism: str) -> None:
    space: dict[str, Any] = {"input_domain": tk.VectorDomain(tk.AtomDomain(int), size=3), "input_metric": SPACE[1]}
    function = diffprivlib_selection(mechanisms, mechanism)
    found = tk.audit.search(function, **space, measure=ZCDP, candidates=8, samples=4000, confidence=1 - 1e-11)
    assert not found.contradicts(true_cost(mechanism, ZCDP))
