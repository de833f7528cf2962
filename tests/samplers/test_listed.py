"""Many outputs at once from a list of all: the laws by brute force, and every draw by its own digits."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from opendp_topk.sampling.noises.exponential import Exponential
from opendp_topk.sampling.noises.gumbel import Gumbel
from opendp_topk.sampling.samplers import rows as listed
from tests.oracles import canonical as subsets
from tests.oracles import joint as outputs
from tests.oracles.chi_square import assert_follows, enough
from tests.oracles.race import best

from .streams import Streams

JOINT = [
    ([5, 3, 2, 0, 1], 2, Fraction(1, 2)),
    ([0.5, 1.25, 1.0], 2, Fraction(1, 4)),
    ([4, 5, 1], 3, Fraction(1)),
]
CANONICAL = [
    ([5, 4, 2, 0, 1], 2, Fraction(1, 2), "margin"),
    ([9, 6, 3, 0, 1], 2, Fraction(1, 3), "distance"),
    ([3, 0, 2], 1, Fraction(0), "margin"),
]


def counted(found: np.ndarray) -> dict[tuple[int, ...], int]:
    rows, counts = np.unique(found, axis=0, return_counts=True)
    return dict(zip(map(tuple, rows.tolist()), counts.tolist(), strict=True))


@pytest.mark.quick(ordered=False)
@pytest.mark.parametrize("ordered", [True, False])
def test_joint_outputs_follow_the_law(ordered: bool) -> None:
    for scores, k, scale in JOINT:
        law = outputs.law(scores, k, scale, ordered)
        for sign in (1, -1) if len(law) > 1 else ():
            values, times = np.array([sign * x for x in scores]), enough(max(law.values()))
            found = listed.draw_listed_outputs(values, scale, Gumbel(), k, times, sign=sign, ordered=ordered)
            assert found is not None
            assert_follows(counted(found), law)


@pytest.mark.further
@pytest.mark.quick(exponential=False)
@pytest.mark.parametrize("exponential", [False, True])
def test_subsets_follow_the_law(exponential: bool) -> None:
    noise, known = (Exponential(), subsets.flip_law) if exponential else (Gumbel(), subsets.gumbel_law)
    for (scores, k, gamma, kind), sign in zip(CANONICAL, itertools.cycle((1, -1)), strict=False):
        values, scale = np.array([sign * x for x in scores]), Fraction(1)
        options: Any = {"sign": sign, "capped": kind == "distance"}
        law = known(scores, k, scale, gamma, kind)
        found = listed.draw_listed_subsets(values, scale, noise, gamma, k, enough(max(law.values())), **options)
        assert found is not None
        assert_follows(counted(found), law)


@pytest.mark.parametrize("ordered", [True, False])
def test_each_draw_is_the_best_by_its_own_digits(ordered: bool) -> None:
    """Scores that float64 numbers would round, and digits of which the first 40 are those of every other output."""
    scores, scale, times = [2**53 + 1, 2**53 + 1, 5, 2**53 + 1], Fraction(1, 3), 3
    order = [0, 1, 3, 2]
    every = [tuple(order[rank] for rank in ranks) for ranks in outputs.outputs(4, 2, ordered)]
    leading = {len(every) * t + i: format(0xABCDE12345, "040b") for t in range(times) for i in range(len(every))}
    streams = Streams(4, leading)
    options: Any = {"sign": 1, "ordered": ordered, "entropy": streams}
    found = listed.draw_listed_outputs(np.array(scores), scale, Gumbel(), 2, times, **options)
    assert found is not None
    losses = [-outputs.loss(scores, output, ordered) for output in every]
    for t, row in enumerate(found.tolist()):

        def digits(i: int, n: int, t: int = t) -> int:
            return streams.digits(len(every) * t + i, n)

        winner = every[best("Gumbel", losses, scale, digits, 1, 1)[0]]
        assert row == (list(winner) if ordered else sorted(winner))
    assert max(streams.read.values()) > 40


def test_a_tiny_scale_leaves_the_best_subset_alone() -> None:
    """The utilities differ by less than float64 numbers tell apart."""
    scores = np.array([0.1 + 0.2, 0.3, 0.0])
    found = listed.draw_listed_subsets(
        scores, Fraction(1, 2**80), Gumbel(), Fraction(1, 3), 1, 40, sign=1, capped=False, entropy=Streams(0)
    )
    assert found is not None
    assert found.tolist() == [[0]] * 40


@pytest.mark.parametrize(
    ("values", "k", "times"),
    [
        (np.arange(600), 1, 10**6),
        (np.arange(24), 2, 8),
        (np.arange(12), 6, 10**6),
        (np.array([1e300, 1e-300, 0.0]), 1, 10),
        (np.array([2**70, 3, 0], dtype=object), 1, 10),
    ],
    ids=["long", "few draws", "many outputs", "no unit of floats", "no unit of integers"],
)
def test_what_is_too_much_to_list_is_left_to_others(values: np.ndarray, k: int, times: int) -> None:
    assert listed.draw_listed_outputs(values, Fraction(1), Gumbel(), k, times, sign=1, ordered=True) is None
    if len(values) != 24:
        assert (
            listed.draw_listed_subsets(values, Fraction(1), Gumbel(), Fraction(1, 2), k, times, sign=1, capped=True)
            is None
        )
