"""Forecasts of the threshold are hardly ever wrong, so that races are short; about their law they say nothing."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.sampling.samplers import forecast_race, race
from opendp_topk.sampling.samplers.advantages import ScaledScores
from opendp_topk.sampling.samplers.entropy import Entropy, Indices
from opendp_topk.sampling.samplers.forecast import _best_groups_mask, forecast_threshold

D = 20 * 4096 + 5
GENERATOR = np.random.default_rng(8)
SHAPES = {
    "uniform": GENERATOR.uniform(0, 1000, D),
    "Zipf, sorted": 1e6 / np.arange(1, D + 1),
    "Zipf, shuffled": GENERATOR.permutation(1e6 / np.arange(1, D + 1)),
    "equal": np.full(D, 7.0),
    "one peak": np.where(np.arange(D) == 777, 1e6, 0.0),
    "normal": GENERATOR.normal(0, 100, D),
    "periodic": np.where(np.arange(D) % 256 == 0, 500.0, 0.0),
    "counts": GENERATOR.poisson(3, D).astype(np.int64),
}


@pytest.mark.quick(name="Exponential", shape=("uniform", "equal"), k=10)
@pytest.mark.parametrize("k", [1, 10, 300])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["Exponential", "Gumbel", "Laplace", "Logistic", "HalfLogistic"])
def test_forecasts_are_reached(name: str, shape: str, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is wrong less than once in a thousand times, so that of these two wrong ones are no accident."""
    wrong: list[int] = []
    real = forecast_race._all_others

    def watched(*arguments: Any) -> None:
        wrong.append(1)
        real(*arguments)

    monkeypatch.setattr(forecast_race, "_all_others", watched)
    noise, sign = getattr(tk, name)(), -1 if shape == "counts" else 1
    for _ in range(10):
        race.top_k(sign * SHAPES[shape], Fraction(10), noise, k, sign=sign, ordered=False)
    assert len(wrong) < 2


@pytest.mark.parametrize("sign", [1, -1])
def test_of_equal_groups_the_first_are_looked_at(sign: int) -> None:
    """However a processor sorts: with equal digits a release is then the same on every machine."""
    best = np.random.default_rng(2).integers(0, 9, 300)
    order = sorted(range(300), key=lambda place: (-sign * best[place], place))
    for count in (0, 1, 2, 40, 150, 299, 300):
        ahead = _best_groups_mask(best, np.sort(best)[::-sign], count, sign)
        assert ahead.nonzero()[0].tolist() == sorted(order[:count])


class Counted(Entropy):
    """The system's digits, and of how many candidates, or for how many blocks, some were read."""

    read = 0

    def draw_prefixes(self, index: Indices) -> Any:
        self.read += len(index)
        return super().draw_prefixes(index)

    def draw_auxiliary_words(self, n: int) -> Any:
        self.read += n
        return super().draw_auxiliary_words(n)


@pytest.mark.quick(name="Exponential", shape=("uniform", "one peak"))
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["Exponential", "Gumbel", "Laplace", "Logistic", "HalfLogistic"])
def test_most_candidates_are_left_to_the_tail(name: str, shape: str) -> None:
    """Also where a group has several winners, or all candidates but one are alike."""
    noise, sign = getattr(tk, name)(), -1 if shape == "counts" else 1
    for k in (10, 300, 1000):
        counted = Counted()
        race.top_k(sign * SHAPES[shape], Fraction(10), noise, k, sign=sign, ordered=False, entropy=counted)
        assert counted.read < D / 8


def test_of_nearly_all_candidates_there_is_no_forecast() -> None:
    scores = ScaledScores(np.zeros(D), Fraction(1), 1)
    assert forecast_threshold(scores, tk.Exponential(), D, np.zeros(D // 256)) is None
    assert forecast_threshold(scores, tk.Exponential(), 5, np.zeros(D // 256)) is not None


def test_what_is_true_is_found_by_eights() -> None:
    for share in (0.0, 0.01, 0.3, 1.0):
        marks = GENERATOR.random(2048) < share
        assert forecast_race._true_places(marks).tolist() == [place for place, one in enumerate(marks.tolist()) if one]
