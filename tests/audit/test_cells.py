"""How outcomes are read: at quantiles, or to the last bit."""

from __future__ import annotations

import math
import random

import pytest

import opendp_topk as tk
from opendp_topk.audit import estimate
from opendp_topk.audit.cells import Bits, Cells, finest_bit, kinds, readings


def test_outcomes_of_every_shape() -> None:
    assert Cells([(1, 2), (3,), "a"])("a") == "a"
    cells = Cells([(1, 0.5), (2, 1.5), (2, 0.25)])
    assert cells((1, 0.1)) != cells((2, 0.1))
    assert cells((1, 0.1)) != cells((1, 9.0))


def test_a_place_may_hold_floats_and_other_things() -> None:
    kinds = [0.5, None, math.nan, math.inf, -math.inf, "none", 3]
    cells = Cells(kinds)
    assert len({cells(kind) for kind in kinds}) == len(kinds)
    assert cells(math.nan) == cells(float("nan"))


def test_few_samples_make_few_cells() -> None:
    """Else every float would be a cell of its own, and any two samples would look as different as can be."""
    source = random.Random(1)
    few, many = ([source.random() for _ in range(n)] for n in (40, 4000))
    counts = [len(set(map(Cells(values), values))) for values in (few, many)]
    assert counts[0] <= 5
    assert 50 < counts[1] <= 64


@pytest.mark.parametrize(
    ("value", "bit"), [(1.0, 0), (0.75, -2), (-12.0, 2), (2.0**-1074, -1074), (0.0, math.inf), (math.nan, math.inf)]
)
def test_the_finest_bit(value: float, bit: float) -> None:
    assert finest_bit(value) == bit


def test_what_is_repeated_is_kept_to_the_last_bit() -> None:
    close = math.nextafter(0.1, 1)
    bits = Bits([0.1, 0.1, close, close, 0.3, (1, 0.5, 0.25)])
    assert bits(0.1) == 0.1 != bits(close) == close
    assert bits(0.3) == bits(-0.3) != bits(0.5)
    assert bits((1, 0.5, 0.25)) == bits((1, 0.25, 0.75)) != bits((2, 0.5, 0.25))


def test_bits_are_read_of_floats_only() -> None:
    assert [type(reading) for reading in readings([1, (2, "a")])] == [Cells]
    assert [type(reading) for reading in readings([1, (2, 0.5)])] == [Cells, Bits]
    assert [type(reading) for reading in readings([1, (2, (3, ("a", 0.5)))])] == [Cells, Bits]
    assert [type(reading) for reading in readings([1, 1.0])] == [Cells, Bits, type(kinds)]
    assert [type(reading) for reading in readings([(1,), (1.0,)])] == [Cells, Bits, type(kinds)]


def test_a_float_that_can_occur_on_one_side_only_shows() -> None:
    """Sums of a score and a float: near 0 there are floats that 1 + noise cannot reach."""
    source = random.Random(3)
    found = estimate(lambda x: x + source.expovariate(1) - source.expovariate(1), 0.0, 1.0, samples=20_000)
    assert found.lower > 4
    rounded = estimate(lambda x: round(16 * (x + source.gauss(0, 4))) / 16, 0.0, 1.0, samples=20_000)
    assert rounded.lower < 1.2


def test_a_generator_with_few_states_shows() -> None:
    source = random.Random(4)
    found = estimate(lambda x: math.log(source.randrange(1, 5000)) + x, 0.0, 1e-9, samples=20_000)
    assert found.lower > 4


@pytest.mark.slow
def test_reading_bits_accuses_nobody() -> None:
    """A hundred runs at 99 % family-wise confidence; the float that is added says nothing of the input."""
    law = [[0.5, 0.3, 0.2], [0.3, 0.3, 0.4]]
    for seed in range(100):
        source = random.Random(seed)
        found = estimate(
            lambda x, s=source: s.choices(range(3), law[x])[0] + s.choice((0.5, s.random())),  # type: ignore[misc]
            *(0, 1),
            samples=400,
            measure=tk.MaxDivergence(),
            confidence=1 - 0.01 / 100,
        )
        assert found.lower <= math.log(2)
