"""The tutorial on tuning, done from the first line to the last, and its figures by tries in NumPy alone."""

import contextlib
import functools
import io
import math
import re
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .needed import Needed

datasets = Needed("sklearn.datasets")
pytestmark = pytest.mark.foreign
TEXT = (Path(__file__).resolve().parents[2] / "docs" / "tutorials" / "tuning.md").read_text("utf-8")
STEP = re.compile(r"```python\n(.*?)```(?:\n+```text( one run)?\n(.*?)```)?", re.DOTALL)
ROW = re.compile(r"^\| (?P<way>.*) \| 1 \| (?P<mean>[\d.]+) ± (?P<error>[\d.]+) \|$", re.MULTILINE)
STOP, SURELY = 0.001, 6
"""Means of both sides are farther apart than so many standard errors with a probability of about 10^-9."""
Tried = tuple[float, int]


@functools.cache
def people() -> tuple[Any, Any, Any]:
    """Which of twelve blocks are dark, the digits, and who is held out."""
    found = datasets.load_digits()
    corners = [(row, column) for row in (0, 2, 4, 6) for column in (1, 3, 5)]
    dark = np.array([[image[r : r + 2, c : c + 2].sum() >= 32 for r, c in corners] for image in found.images])
    return dark, found.target, np.arange(len(dark)) % 3 == 0


def tries(number: int, model: float, score: float) -> list[Tried]:
    """Scores, and how many are truly right, with Laplace noise of these scales on counts and on the score."""
    (dark, digits, held), random, told = people(), np.random.default_rng(), []
    for _ in range(number):
        chosen = random.permutation(12)[: random.integers(1, 13)]
        kind = dark[:, chosen] @ (1 << np.arange(len(chosen)))
        counts = np.zeros((10, 2 ** len(chosen)))
        np.add.at(counts, (digits[~held], kind[~held]), 1)
        guesses = (counts + random.laplace(scale=model, size=counts.shape)).argmax(axis=0)
        right = int((guesses[kind[held]] == digits[held]).sum())
        told.append((right + random.laplace(scale=score), right))
    return told


def one() -> int:
    return max(tries(1, 1.25, 5))[1]


def paid() -> int:
    return max(tries(10, 12.5, 50))[1]


def hidden() -> int:
    return max(tries(int(np.random.default_rng().logseries(1 - STOP)), 2.5, 10))[1]


WAYS: dict[str, tuple[Callable[[], int], int]] = {
    "one try at 1": (one, 300),
    "the best of ten tries at 0.1": (paid, 100),
    "the best of a random number of tries at 0.5": (hidden, 40),
}
"""How to come to a model at epsilon = 1, and how often the test does."""


def mean(found: list[int]) -> tuple[float, float]:
    return statistics.fmean(found), statistics.stdev(found) / math.sqrt(len(found))


def apart(one: tuple[float, float], other: tuple[float, float]) -> float:
    """By how many standard errors the first mean is above the second one."""
    return (one[0] - other[0]) / math.hypot(one[1], other[1])


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    people()
    names: dict[str, Any] = {}
    for code, once, shown in STEP.findall(TEXT):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(code, "tuning.md", "exec"), names)
        printed = out.getvalue()
        assert len(printed.splitlines()) == len(shown.splitlines()) if once else printed == shown
    return names


def test_the_price_is_that_of_the_theorem(names: dict[str, Any]) -> None:
    more = math.log((math.exp(0.5) + STOP) / (1 + STOP * math.exp(0.5)))
    assert names["people"].size == 81_920
    assert round(math.log(1 / STOP) / (1 - STOP)) == 7, "the odds of one try"
    assert names["a_try"].map(1) == 0.5
    assert names["best"].map(1) == pytest.approx(0.5 + more, rel=1e-12)
    assert names["often"].mean == pytest.approx((1 / STOP - 1) / math.log(1 / STOP)) == pytest.approx(144.6, abs=0.05)


def kinds(looked_at: list[int]) -> Any:
    """What each person's blocks look like, the first one as the highest digit."""
    return people()[0][:, looked_at] @ (1 << np.arange(len(looked_at))[::-1])


def test_of_a_million_times_as_many_people_a_try_learns_and_counts_right(names: dict[str, Any]) -> None:
    """Noise of scale 10 is far from a million, and decides between equal counts alone."""
    _, digits, held = people()
    counts = 10**6 * names["people"].ravel()
    for _ in range(20):
        score, (looked_at, guesses) = names["train"](lambda query: query(counts))
        kind, seen = kinds(looked_at), np.zeros((10, len(guesses)))
        np.add.at(seen, (digits[~held], kind[~held]), 1)
        assert (seen[guesses, range(len(guesses))] == seen.max(axis=0)).all()
        assert round(score / 10**6) == (np.array(guesses)[kind[held]] == digits[held]).sum()


def test_what_is_chosen_was_a_candidate(names: dict[str, Any]) -> None:
    looked_at, guesses = names["looked_at"], np.array(names["guesses"])
    assert 1 <= len(looked_at) <= 12
    assert sorted(set(looked_at)) == looked_at
    assert set(looked_at) <= set(range(12))
    assert len(guesses) == 2 ** len(looked_at)
    assert set(guesses) <= set(range(10))
    _, digits, held = people()
    right = int((guesses[kinds(looked_at)[held]] == digits[held]).sum())
    assert abs(names["score"] - right) < 240, "noise of scale 10 in some hundred tries: one in 10^8"


def test_a_try_scores_as_one_in_numpy_and_the_best_beat_chance(names: dict[str, Any]) -> None:
    counts = names["people"].ravel()
    own = [names["a_try"](counts)[0] for _ in range(150)]
    assert abs(apart(mean(own), mean([round(told) for told, _ in tries(600, 2.5, 10)]))) < SURELY
    best = [names["best"](counts)[0] for _ in range(5)]
    _, digits, held = people()
    frequent = max(np.bincount(digits[held]))
    assert f"frequent there is right {frequent} times" in TEXT
    assert max(best) > 2 * frequent, "five tries in a row that look at one or two blocks: one in 10^8"


@pytest.mark.parametrize("way", WAYS)
def test_a_way_is_as_good_as_the_page_says(way: str) -> None:
    said = {row["way"]: (float(row["mean"]), float(row["error"])) for row in ROW.finditer(TEXT)}
    assert said.keys() == WAYS.keys()
    draw, often = WAYS[way]
    assert abs(apart(mean([draw() for _ in range(often)]), said[way])) < SURELY
