"""release_in_parts: the measurement's own checks, law and form of release, from scores that come in parts.

Tries proofs/measurements/in_parts.tex.
"""

import itertools
import pickle
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.errors import DataError, DataTypeError, ForeignError, ParameterError, ParameterTypeError
from opendp_topk.measurements import _in_parts
from opendp_topk.sampling.samplers import merge, race

from ..concepts.examples import COUNTS
from ..concepts.sentinels import SENTINEL_INT, raises_exactly
from ..oracles.chi_square import assert_follows

FLOATS = tk.VectorDomain(tk.AtomDomain(float, bounds=(0.0, 1.0)), size=5), tk.RangeDistance()
PURE = tk.MaxDivergence()


def top(k: int, space: Any = COUNTS, scale: Any = 0, **options: Any) -> tk.Measurement:
    return space >> tk.then_report_noisy_top_k(PURE, k=k, scale=scale, **options)


RACES = [
    top(2),
    top(2, release="set"),
    top(3, optimize="min", scale=1e-30),
    COUNTS >> tk.then_report_noisy_top_k(PURE, k=2, scale=1e-30, noise=tk.noise.Laplace()),
    COUNTS >> tk.then_exponential_mechanism(PURE, scale=1e-30),
    COUNTS >> tk.then_permute_and_flip(PURE, scale=0, optimize="min"),
]


@pytest.mark.parametrize("measurement", RACES, ids=lambda one: str(one.parameters["mechanism"]))
def test_the_release_has_the_form_of_the_measurements_own(measurement: tk.Measurement) -> None:
    """With next to no noise on distinct scores there is one release, whatever the parts."""
    scores = [70, 2**70, -5, 3, 88, 2**63]
    expected = measurement(scores)
    for cuts in itertools.product(range(7), repeat=2):
        first, second = sorted(cuts)
        released = tk.release_in_parts(measurement, (scores[:first], scores[first:second], scores[second:]))
        assert type(released) is type(expected)
        np.testing.assert_array_equal(released, expected)


def test_ties_without_noise_go_to_the_lowest_index() -> None:
    scores = [4, 9, 4, 9, 9, 4]
    for size in range(1, 6):
        parts = [scores[start : start + size] for start in range(0, 6, size)]
        assert tk.release_in_parts(top(4), parts).tolist() == [1, 3, 4, 0]


def test_many_parts_are_merged_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_in_parts, "_TOGETHER", 3)
    scores = np.arange(100) ** 2 % 101
    expected = np.lexsort((np.arange(100), -scores))[:5].tolist()
    assert tk.release_in_parts(top(5), ([score] for score in scores.tolist())).tolist() == expected


@pytest.mark.slow
def test_releases_follow_the_declared_law() -> None:
    measurement, counts = top(2, scale=2.0), Counter[Any]()
    for n in range(6000):
        parts = [[3], [1, 2], []] if n % 2 else [[3, 1], [2]]
        counts[tuple(tk.release_in_parts(measurement, parts).tolist())] += 1
    assert_follows(counts, measurement.distribution([3, 1, 2]), detects=0.2)


@pytest.mark.parametrize(
    ("parts", "error", "required"),
    [
        ([[0.5, 0.1], [0.2, float("nan"), 0.1]], DataError, "must be finite"),
        ([[0.5, 0.1], [0.2, 1.5, 0.1]], DataError, "within the bounds (0.0, 1.0)"),
        ([[0.5, 0.1], [0.2, 0.1]], DataError, "exactly 5 elements"),
        ([[0.5, 0.1], [SENTINEL_INT, 3, 4]], DataTypeError, "must be floats"),
        ([[0.5, 0.1], None], DataTypeError, "one-dimensional array"),
        ([[], []], DataError, "at least one element"),
        ([], DataError, "at least one element"),
    ],
)
def test_what_is_no_member_is_refused(parts: Any, error: type[Exception], required: str) -> None:
    for scale in (0, 1.0):
        raises_exactly(error, lambda scale=scale: tk.release_in_parts(top(2, FLOATS, scale), parts), required)


def test_too_few_scores_are_refused() -> None:
    raises_exactly(DataError, lambda: tk.release_in_parts(top(4), [[1], [2, 3]]), "at least k elements (4)")


@pytest.mark.parametrize(
    "other",
    [
        top(2) >> tk.index_candidates(list("abc")),
        COUNTS >> tk.then_peeled_top_k(PURE, k=2, scale=1.0, mechanism="permute_and_flip"),
        COUNTS >> tk.then_noisy_top_k_with_gaps(PURE, k=1, scale=1.0),
        tk.make_repeat(top(1), times=2),
        tk.make_composition([top(1), top(2)]),
        (tk.FrameDomain("a", "b"), tk.UserDistance())
        >> tk.then_count_by_item(candidates=[1, 2])
        >> tk.then_permute_and_flip(PURE, scale=1.0),
    ],
    ids=lambda one: str(one.parameters.get("mechanism")),
)
def test_only_races_can_be_run_in_parts(other: tk.Measurement) -> None:
    raises_exactly(ParameterError, lambda: tk.release_in_parts(other, [[1, 2, 3]]), "one-shot selection")
    raises_exactly(ParameterTypeError, lambda: tk.release_in_parts(other.function, [[1]]), "measurement must be")


def twice(function: Callable[[Any], Any], parts: Iterable[Any]) -> Any:
    return [function(part) for part in parts for _ in "ab"]


def lossy(function: Callable[[Any], Any], parts: Iterable[Any]) -> Any:
    return [function(part) for part in parts][:-1]


def lazy(function: Callable[[Any], Any], parts: Iterable[Any]) -> Any:
    return [function(part) for part, _ in zip(parts, "ab", strict=False)]


@pytest.mark.parametrize(("map", "required"), [(twice, "a part twice"), (lossy, "every part"), (lazy, "every part")])
def test_each_part_counts_once(map: Callable[..., Any], required: str) -> None:
    raises_exactly(ForeignError, lambda: tk.release_in_parts(top(1), [[1], [2], [3]], map=map), required)


def test_the_order_of_results_does_not_matter() -> None:
    def backwards(function: Callable[[Any], Any], parts: Iterable[Any]) -> Any:
        return reversed([function(part) for part in parts])

    assert tk.release_in_parts(top(3), [[5, 9], [9, 1], [7]], map=backwards).tolist() == [1, 2, 4]


def test_parts_are_raced_by_other_processes() -> None:
    with ProcessPoolExecutor(1) as pool:
        assert tk.release_in_parts(top(2), [[3, 1], [], [4, 1, 5]], map=pool.map).tolist() == [4, 2]
        edited = [[SENTINEL_INT, "a"]]
        raises_exactly(DataTypeError, lambda: tk.release_in_parts(top(1), edited, map=pool.map), "not str")


def test_parts_show_nothing() -> None:
    _, part = _in_parts.FinalistFinder(top(1))((0, [SENTINEL_INT, 2]))
    assert repr(part) == "Part(<finalists of 2>)"
    assert pickle.loads(pickle.dumps(part)).labels == (0,)


def test_the_race_is_that_of_the_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    """One part takes the arguments of the measurement's own race."""
    asked: list[Any] = []
    real = race.find_contenders

    def watched(values: np.ndarray, scale: Any, noise: Any, k: int, *, sign: int, entropy: Any) -> Any:
        asked.append((values.tolist(), scale, noise, k, sign))
        return real(values, scale, noise, k, sign=sign, entropy=entropy)

    monkeypatch.setattr(race, "find_contenders", watched)
    monkeypatch.setattr(merge, "find_contenders", watched)
    for one in RACES[2:5]:
        asked.clear()
        one([1, 2, 3, 4] * 9)
        tk.release_in_parts(one, [[1, 2, 3, 4] * 9])
        assert asked[0] == asked[1]


def test_what_makes_the_parts_is_a_function() -> None:
    wrong: Any = 3
    raises_exactly(ParameterTypeError, lambda: tk.release_in_parts(top(1), [[1]], map=wrong), "map")


# The part of a selection's function that releases on each of several inputs at once.


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
        with pytest.raises(DataError, match=r"at least k elements \(2\)"):
            on_each(measurement, [*VECTORS, [5]])
