"""The largest of noisy counts, and all from a threshold on: functions of a release, held against sorting by hand."""

from __future__ import annotations

import itertools
import math
import pickle
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk

from ..concepts.sentinels import raises_exactly

ITEMS = ["ash", "birch", "cedar", "dogwood"]


def by_hand(counts: list[int]) -> list[int]:
    return sorted(range(len(counts)), key=lambda at: (-counts[at], at))


def test_all_small_releases() -> None:
    for counts in itertools.product((-1, 0, 2, 2**70), repeat=4):
        held: Any = np.array(counts, dtype=object if 2**70 in counts else np.int64)
        order = by_hand(list(counts))
        for k in (1, 2, 4):
            best = tk.largest_counts(k)(held)
            assert best.indices.tolist() == order[:k]
            assert best.counts.tolist() == [counts[at] for at in order[:k]]
            named = tk.largest_counts(k, ITEMS)(held)
            assert (list(named), named.counts.tolist()) == ([ITEMS[at] for at in order[:k]], best.counts.tolist())
        for threshold in (-2, 0, 0.5, 3):
            reached = tk.counts_from(threshold, ITEMS)(held)
            assert list(reached) == [ITEMS[at] for at in order if counts[at] >= threshold]


def test_after_a_histogram_they_cost_nothing() -> None:
    space = tk.VectorDomain(tk.AtomDomain(int), size=4), tk.L01InfDistance(changes=1, monotonic=True)
    histogram = space >> tk.then_noisy_histogram(tk.MaxDivergence(), scale=0.0)
    exact = histogram >> tk.largest_counts(2, ITEMS)
    released = exact([5, 9, 9, 1])
    assert (released.items, released.counts.tolist()) == (("birch", "cedar"), [9, 9])
    assert (histogram >> tk.counts_from(5))([5, 9, 9, 1]).indices.tolist() == [1, 2, 0]
    assert len((histogram >> tk.counts_from(10**400))([5, 9, 9, 1]).indices) == 0
    noisy = space >> tk.then_noisy_histogram(tk.MaxDivergence(), scale=10.0)
    assert (noisy >> tk.largest_counts(2, ITEMS)).map(1) == noisy.map(1) == 0.1


def test_they_are_values() -> None:
    assert tk.largest_counts(2, ITEMS) == tk.largest_counts(2, tuple(ITEMS)) != tk.largest_counts(2)
    assert tk.counts_from(3.5) == pickle.loads(pickle.dumps(tk.counts_from(3.5)))
    assert (repr(tk.largest_counts(2, ITEMS)), repr(tk.counts_from(3.5))) == ("largest_counts(2)", "counts_from(3.5)")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: tk.largest_counts(0), tk.ParameterError, "k must be an integer >= 1"),
        (lambda: tk.largest_counts(True), tk.ParameterTypeError, "k must be an integer >= 1"),
        (lambda: tk.largest_counts(1, []), tk.CandidatesError, "at least one"),
        (lambda: tk.counts_from(math.nan), tk.ParameterError, "threshold must be a number"),
        (lambda: tk.counts_from("3"), tk.ParameterError, "threshold must be a number"),
        (lambda: tk.largest_counts(3)(np.array([1, 2])), tk.DataLengthError, "at least k (3)"),
        (lambda: tk.counts_from(1, ["a"])(np.array([1, 2])), tk.DataLengthError, "as many as the counts (2)"),
    ],
)
def test_bad_arguments(call: Any, error: type[Exception], words: str) -> None:
    raises_exactly(error, call, words)
