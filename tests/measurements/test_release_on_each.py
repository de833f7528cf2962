"""The part of a selection's function that releases on each of several inputs at once."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk

from ..concepts.examples import COUNTS
from ..oracles.chi_square import assert_follows

PURE = tk.MaxDivergence()
VECTORS = [[0, 1, 1], [1, 0], [0, 2, 0], [1, 1]]
SELECTIONS = {
    "at once": COUNTS >> tk.then_report_noisy_top_k(PURE, k=2, scale=1.0),
    "one index": COUNTS >> tk.then_exponential_mechanism(PURE, scale=1.0),
    "by itself": COUNTS >> tk.then_canonical_top_k(PURE, k=1, scale=1.0),
}


def on_each(measurement: tk.Measurement, vectors: list[list[int]]) -> Any:
    function: Any = measurement.function
    return function.each([measurement.input_domain.validate(one) for one in vectors])


@pytest.mark.slow
@pytest.mark.quick(name="at once")
@pytest.mark.parametrize("name", SELECTIONS)
def test_each_input_has_a_release_with_its_own_law(name: str) -> None:
    measurement, times = SELECTIONS[name], 1000 if name == "by itself" else 20_000
    released = on_each(measurement, VECTORS * times)
    assert len(released) == times * len(VECTORS)
    for place, vector in enumerate(VECTORS):
        law = {outcome: float(mass) for outcome, mass in measurement.distribution(vector).items()}
        mine = released[place :: len(VECTORS)]
        seen = Counter(tuple(one) if np.ndim(one) else one for one in mine.tolist())
        assert_follows(seen, law, detects=0.6 if name == "by itself" else 0.15)


def test_without_noise_each_has_its_exact_winners_and_short_ones_are_refused() -> None:
    exact = COUNTS >> tk.then_report_noisy_top_k(PURE, k=2, scale=0)
    assert on_each(exact, VECTORS).tolist() == [[1, 2], [0, 1], [1, 0], [0, 1]]
    for measurement in (exact, SELECTIONS["at once"]):
        assert on_each(measurement, []).shape == (0, 2)
        with pytest.raises(tk.errors.DataError, match=r"at least k elements \(2\)"):
            on_each(measurement, [*VECTORS, [5]])
