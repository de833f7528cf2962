"""No mechanism of this library is accused, by audits that accuse a claim of 1 / 1.25 of the true loss in every run.

The digits are injected and pseudo-random, so a run is the same every time. One set of bounds decides both: they must
lie below what the map claims, and above the true loss of the pair over 1.25, which the exact verifier knows.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.apps.audit import merged_laws
from opendp_topk.sampling.samplers import entropy

PURE, RANGE, ZCDP = tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence()
GENERAL, ONE_WAY = tk.LInfDistance(), tk.LInfDistance(monotonic=True)
RUNS, SAMPLES = 2, 20_000
FEW_SAMPLES = 8_000
CLOSE = 1.25


@dataclass(frozen=True)
class Case:
    """A mechanism, and neighbours between which few events tell nearly all of its loss."""

    metric: tk.Metric
    partial: Any
    x: tuple[int, ...]
    x_neighbor: tuple[int, ...]

    @property
    def measurement(self) -> tk.Measurement:
        return (tk.VectorDomain(tk.AtomDomain(int), size=len(self.x)), self.metric) >> self.partial

    def loss(self) -> float:
        """The true loss between the two laws, rounded down; for gaps that of the winner and whether it leads by 1."""
        gaps = "gaps" in repr(self.partial)
        law = merged_laws.gap_ranking_distribution(self.measurement) if gaps else None
        return tk.audit.verify(self.measurement, pairs=[(self.x, self.x_neighbor)], law=law).loss

    def bounds(self, monkeypatch: pytest.MonkeyPatch, runs: int, samples: int) -> list[float]:
        """What the auditor proves of the loss, run by run; all hold together with 99 %."""
        found = []
        for run in range(runs):
            monkeypatch.setattr(entropy, "_read_system_bytes", random.Random(run).randbytes)
            options: dict[str, Any] = {"samples": samples, "confidence": 1 - 0.01 / (len(CASES) * RUNS)}
            measure = self.measurement.output_measure
            found.append(tk.audit.estimate(self.measurement, self.x, self.x_neighbor, measure=measure, **options).lower)
        return found


QUICK = [
    Case(GENERAL, tk.then_exponential_mechanism(RANGE, scale=1), (0, -1), (-1, 0)),
    Case(GENERAL, tk.then_permute_and_flip(ZCDP, scale=0.5), (0, -1), (-1, 0)),
]
CASES = [
    *QUICK,
    Case(GENERAL, tk.then_report_noisy_top_k(PURE, k=2, scale=1.5), (0, 0, 0), (1, -1, -1)),
    Case(GENERAL, tk.then_report_noisy_top_k(RANGE, k=2, scale=1), (0, 0, -2), (1, -1, -1)),
    Case(ONE_WAY, tk.then_report_noisy_top_k(ZCDP, k=2, scale=0.35, release="set"), (0, 0, 0), (1, 1, 0)),
    Case(ONE_WAY, tk.then_exponential_mechanism(ZCDP, scale=0.25), (0, 0), (1, 0)),
    Case(ONE_WAY, tk.then_permute_and_flip(RANGE, scale=0.5), (0, 0), (1, 0)),
    Case(GENERAL, tk.then_report_noisy_top_k(PURE, k=1, scale=0.5, noise=tk.Laplace()), (0, 0, -1), (1, -1, 0)),
    Case(GENERAL, tk.then_noisy_top_k_with_gaps(PURE, k=1, scale=1), (0, 0), (1, -1)),
]


def named(case: Case) -> str:
    return repr(case.partial)


def close_and_silent(monkeypatch: pytest.MonkeyPatch, case: Case, runs: int, samples: int) -> None:
    claim, loss = case.measurement.map(1), case.loss()
    assert 0 < loss <= claim
    found = case.bounds(monkeypatch, runs, samples)
    assert max(found) <= claim, "an honest claim is accused"
    assert min(found) > loss / CLOSE, "a claim of 1 / 1.25 of the true loss is not accused"


@pytest.mark.parametrize("case", QUICK, ids=named)
def test_one_audit_tells_an_honest_claim_from_one_that_is_a_fifth_too_small(
    monkeypatch: pytest.MonkeyPatch, case: Case
) -> None:
    close_and_silent(monkeypatch, case, 1, FEW_SAMPLES)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=named)
def test_audits_of_every_mechanism_do(monkeypatch: pytest.MonkeyPatch, case: Case) -> None:
    close_and_silent(monkeypatch, case, RUNS, SAMPLES)
