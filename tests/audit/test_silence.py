"""A hundred runs at 99 % family-wise confidence accuse no mechanism of this library.

The digits are injected and pseudo-random, so a run is the same every time.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.samplers import entropy

PURE, RANGE, ZCDP = tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence()
GENERAL = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance()
ONE_WAY = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
TWO_WAY_PAIRS = (([0, 0, 0], [1, -1, -1]), ([0, -2, -3], [-1, -1, -2]), ([5, 5, 5], [4, 6, 4]))
ONE_WAY_PAIRS = (([0, 0, 0], [0, 1, 1]), ([0, -2, -3], [1, -2, -3]), ([5, 5, 5], [4, 5, 4]))
RUNS, SAMPLES = 100, 100

CASES: list[tuple[Any, Any, Any]] = [
    (GENERAL, tk.then_report_noisy_top_k(PURE, k=2, scale=1), TWO_WAY_PAIRS),
    (GENERAL, tk.then_report_noisy_top_k(RANGE, k=2, scale=1), TWO_WAY_PAIRS),
    (ONE_WAY, tk.then_report_noisy_top_k(ZCDP, k=2, scale=1, release="set"), ONE_WAY_PAIRS),
    (GENERAL, tk.then_exponential_mechanism(RANGE, scale=1), TWO_WAY_PAIRS),
    (ONE_WAY, tk.then_exponential_mechanism(ZCDP, scale=1), ONE_WAY_PAIRS),
    (ONE_WAY, tk.then_permute_and_flip(RANGE, scale=1), ONE_WAY_PAIRS),
    (GENERAL, tk.then_permute_and_flip(ZCDP, scale=1), TWO_WAY_PAIRS),
    (GENERAL, tk.then_lipschitz_top_k(PURE, k=1, scale=1, noise=tk.Laplace()), TWO_WAY_PAIRS),
    (GENERAL, tk.then_noisy_top_k_with_gaps(PURE, k=1, scale=1), TWO_WAY_PAIRS),
]


def alarms(monkeypatch: pytest.MonkeyPatch, measurement: tk.Measurement, pairs: Any, claim: float) -> int:
    count = 0
    for run in range(RUNS):
        monkeypatch.setattr(entropy, "_read", random.Random(run).randbytes)
        pair = pairs[run % len(pairs)]
        options: dict[str, Any] = {"measure": measurement.output_measure, "confidence": 1 - 0.01 / RUNS}
        count += tk.audit.estimate(measurement, *pair, samples=SAMPLES, **options).contradicts(claim)
    return count


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: repr(case[1]))
def test_no_mechanism_of_this_library_is_accused(monkeypatch: pytest.MonkeyPatch, case: Any) -> None:
    space, partial, pairs = case
    measurement = space >> partial
    assert alarms(monkeypatch, measurement, pairs, measurement.map(1)) == 0


def test_a_claim_that_is_too_small_is(monkeypatch: pytest.MonkeyPatch) -> None:
    measurement = GENERAL >> tk.then_permute_and_flip(PURE, scale=1)
    assert alarms(monkeypatch, measurement, TWO_WAY_PAIRS, measurement.map(1) / 20) > 0
