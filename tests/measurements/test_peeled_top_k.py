"""The claims of make_peeled_top_k: its laws, its maps, and how it differs from one-shot selection."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.measurements.peeled_top_k import make_peeled_top_k
from opendp_topk.sampling.noises import Exponential
from opendp_topk.sampling.samplers import peeled
from tests.concepts.losses import number, realised
from tests.oracles import one_shot
from tests.oracles.chi_square import assert_follows
from tests.oracles.race import best
from tests.samplers.streams import Streams

from .test_permute_and_flip import coins, softmax

MEASURES = (tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence())
CHOICE = {"exponential": softmax, "permute_and_flip": coins}
every_mechanism = pytest.mark.parametrize("mechanism", CHOICE)
WEIGHTS = [Fraction(1), Fraction(1, 2), Fraction(1, 3)]


def build(d: int | None, measure: tk.Measure, metric: tk.Metric | None = None, **options: Any) -> tk.Measurement:
    return make_peeled_top_k(
        tk.VectorDomain(tk.AtomDomain(int), size=d), metric or tk.RangeDistance(), measure, **options
    )


def oracle(mechanism: str, weights: Sequence[Any], k: int) -> dict[tuple[int, ...], Any]:
    """Chains of single choices."""
    law: dict[tuple[int, ...], Any] = {(): weights[0] / weights[0]}
    for _ in range(k):
        longer = {}
        for outcome, p in law.items():
            left = [i for i in range(len(weights)) if i not in outcome]
            for place, q in CHOICE[mechanism]([weights[i] for i in left]).items():
                longer[(*outcome, left[place])] = p * q
        law = longer
    return law


@every_mechanism
@pytest.mark.parametrize("optimize", ["max", "min"])
def test_the_law_is_a_chain_of_choices(mechanism: str, optimize: str) -> None:
    sign = 1 if optimize == "max" else -1
    for scores, scale in (([3], 1), ([2, 0, 3], Fraction(3, 2)), ([1, 0, -2, 1], 1)):
        for k in range(1, len(scores) + 1):
            options = {"k": k, "scale": scale, "mechanism": mechanism, "optimize": optimize}
            found = build(None, tk.MaxDivergence(), **options).distribution(scores)
            with mpmath.workdps(60):
                weights = [mpmath.exp(number(Fraction(sign * score) / scale)) for score in scores]
                expected = oracle(mechanism, weights, k)
                assert found.keys() == expected.keys()
                assert all(abs(found[y] - p) <= p * mpmath.mpf("1e-30") for y, p in expected.items())


@pytest.mark.parametrize("seed", range(0, 600, 100))
def test_each_race_is_settled_by_its_own_digits(seed: int) -> None:
    """With injected digits every winner is the best of those left, at high precision."""
    scores, scale = np.array([5, 1, 4, 9, 2, 3]), Fraction(3, 2)

    class Races(Streams):
        """New streams for every race; the seeds of the races so far."""

        def __init__(self) -> None:
            super().__init__(0)
            self.races: list[Streams] = []

        def draw_prefixes(self, index: np.ndarray) -> np.ndarray:
            self.races.append(Streams(seed + len(self.races)))
            return self.races[-1].draw_prefixes(index)

        def draw_words(self, index: np.ndarray) -> np.ndarray:
            return self.races[-1].draw_words(index)

    entropy = Races()
    winners = peeled.top_k(scores, scale, Exponential(), 5, sign=1, entropy=entropy).tolist()
    left = list(range(len(scores)))
    for t, winner in enumerate(winners):
        values = [int(scores[i]) for i in left]
        (place,) = best("Exponential", values, scale, entropy.races[t].digits, 1, 1)
        assert left[place] == winner
        left[place] = left[-1]  # the last of them takes the winner's place
        left.pop()
    assert len(entropy.races) == 5
    assert scores.tolist() == [5, 1, 4, 9, 2, 3], "the caller's scores were changed"


def test_many_rows_are_peeled_side_by_side_each_by_its_own_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every pass over all rows has streams of its own; candidates are numbered from row to row."""
    monkeypatch.setattr(peeled, "_TOGETHER", 20)
    scores, scale, times, passes = np.array([5, 1, 4, 6, 2, 3]), Fraction(3, 2), 7, []

    class Passes(Streams):
        def draw_prefixes(self, index: np.ndarray) -> np.ndarray:
            passes.append((len(index), Streams(len(passes))))
            return passes[-1][1].draw_prefixes(index)

        def draw_words(self, index: np.ndarray) -> np.ndarray:
            return passes[-1][1].draw_words(index)

    for sign in (1, -1):
        passes.clear()
        found = peeled.repeat_top_k(sign * scores, scale, Exponential(), 6, times, sign=sign, entropy=Passes()).tolist()
        for row, winners in enumerate(found):
            part, left = row // 3, list(range(6))  # three rows fit into a part
            for t, winner in enumerate(winners):
                number, streams = passes[6 * part + t]
                at = (row - 3 * part) * (number // min(3, times - 3 * part))
                values = [int(scores[i]) for i in left]

                def digits(i: int, n: int, streams: Streams = streams, at: int = at) -> int:
                    return streams.digits(at + i, n)

                (place,) = best("Exponential", values, scale, digits, 1, 1)
                assert left[place] == winner
                left[place] = left[-1]
                left.pop()


@pytest.mark.further
def test_releases_at_once_follow_the_law() -> None:
    scores, scale = [3, 1, 0, 2], Fraction(2, 3)
    found = peeled.repeat_top_k(np.array(scores), scale, Exponential(), 2, 100_000, sign=1)
    with mpmath.workdps(20):
        weights = [mpmath.exp(number(Fraction(score) / scale)) for score in scores]
        rows, counts = np.unique(found, axis=0, return_counts=True)
        assert_follows(
            dict(zip(map(tuple, rows.tolist()), counts.tolist(), strict=True)), oracle("permute_and_flip", weights, 2)
        )


def units(weights: Sequence[Fraction]) -> list[Fraction]:
    """Their logarithms to 60 digits."""
    with mpmath.workdps(80):
        return [Fraction(int(mpmath.log(number(w)) * 10**60), 10**60) for w in weights]


def test_four_ninths_against_twenty_three_fifty_fourths() -> None:
    """w = (1, 1/2, 1/3), k = 2: P(1, 2) = 4/9 in one shot and 23/54 by peeling."""
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.RangeDistance()
    scores = [int(unit * 10**60) for unit in units(WEIGHTS)]
    single = tk.make_report_noisy_top_k(*space, tk.MaxDivergence(), k=2, scale=10**60)
    peeling = make_peeled_top_k(*space, tk.MaxDivergence(), k=2, scale=10**60, mechanism="permute_and_flip")
    assert oracle("permute_and_flip", WEIGHTS, 2)[0, 1] == Fraction(23, 54)
    assert one_shot.rankings("Exponential", WEIGHTS, 2)[0, 1] == Fraction(4, 9)
    with mpmath.workdps(50):
        assert abs(single.distribution(scores)[0, 1] - mpmath.mpf(4) / 9) < mpmath.mpf("1e-40")
        assert abs(peeling.distribution(scores)[0, 1] - mpmath.mpf(23) / 54) < mpmath.mpf("1e-40")


def test_range_and_pure_loss_are_attained_for_one_choice_among_two() -> None:
    for k in (1, 2):
        law = build(2, tk.MaxDivergence(), k=k, scale=2, mechanism="permute_and_flip").distribution
        claimed = build(2, tk.RangeDivergence(), k=k, scale=2, mechanism="permute_and_flip").map(2)
        assert 0.999999 * claimed <= realised(tk.RangeDivergence(), law([0, -1]), law([0, 1])) <= claimed
        assert realised(tk.MaxDivergence(), law([2, 0]), law([2, 2])) >= 0.999999


@every_mechanism
def test_accuracy_bound_fails_no_more_often_than_it_says(mechanism: str) -> None:
    measurement = build(None, tk.MaxDivergence(), k=2, scale=1, mechanism=mechanism)
    assert measurement.accuracy(50, 0.1) == pytest.approx(math.log(100 / 0.1))
    for scores in ([9, 7, 0], [6, 6, 0, 0], [5, 0, 0, 0]):
        for alpha in (0.5, 0.1):
            bound = measurement.accuracy(len(scores), alpha)
            ranked = sorted(scores, reverse=True)
            law = oracle(mechanism, [math.exp(score) for score in scores], 2)
            failure = sum(p for y, p in law.items() if any(scores[i] < ranked[t] - bound for t, i in enumerate(y)))
            assert failure <= alpha
