"""The exact verifier on small cases: no pair of neighbours refutes a map."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from tests.mutation.library import tk
from tests.mutation.oracles import expect

_PAIRS = 12


def check() -> None:
    """Maps of selection hold for every pair that is tried."""
    for measurement in _examples():
        report = tk.audit.verify(measurement, budget=_PAIRS)
        expect(report.holds, f"a pair of neighbours refutes the map of {measurement!r}")


def _examples() -> Iterator[Any]:
    monotonic, general = tk.LInfDistance(monotonic=True), tk.LInfDistance()
    three, four = (tk.VectorDomain(tk.AtomDomain(float), size) for size in (3, 4))
    measures = tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence()
    for measure, metric in itertools.product(measures, (monotonic, general)):
        yield tk.make_report_noisy_top_k(three, metric, measure, k=1, scale=1.0)
        yield tk.make_permute_and_flip(three, metric, measure, scale=1.0)
    for measure in measures:
        yield tk.make_report_noisy_top_k(four, monotonic, measure, k=2, scale=1.0)
        yield tk.make_lipschitz_top_k(three, monotonic, measure, k=2, scale=1.0, noise=tk.Exponential())
        yield tk.make_canonical_top_k(three, monotonic, measure, k=1, scale=1.0, noise=tk.Exponential())
