"""How outcomes are read: at quantiles, or to the last bit."""

import math
import random
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.apps.audit import estimate
from opendp_topk.apps.audit.blackbox import (
    FinestBitBinning,
    PositionBinning,
    QuantileBinning,
    SignedSumBinning,
    SortedCollection,
    candidate_binnings,
    describe_event,
    finest_bit,
    flatten_outcome,
    mask_numbers,
    value_types,
)


def test_outcomes_of_every_shape() -> None:
    assert QuantileBinning([(1, 2), (3,), "a"])("a") == "a"
    cells = QuantileBinning([(1, 0.5), (2, 1.5), (2, 0.25)])
    assert cells((1, 0.1)) != cells((2, 0.1))
    assert cells((1, 0.1)) != cells((1, 9.0))


def test_a_place_may_hold_floats_and_other_things() -> None:
    kinds = [0.5, None, math.nan, math.inf, -math.inf, "none", 3]
    cells = QuantileBinning(kinds)
    assert len({cells(kind) for kind in kinds}) == len(kinds)
    assert cells(math.nan) == cells(float("nan"))


def test_few_samples_make_few_cells() -> None:
    """Else every float would be a cell of its own, and any two samples would look as different as can be."""
    source = random.Random(1)
    few, many = ([source.random() for _ in range(n)] for n in (40, 4000))
    counts = [len(set(map(QuantileBinning(values), values))) for values in (few, many)]
    assert counts[0] <= 5
    assert 50 < counts[1] <= 64


@pytest.mark.parametrize(
    ("value", "bit"), [(1.0, 0), (0.75, -2), (-12.0, 2), (2.0**-1074, -1074), (0.0, math.inf), (math.nan, math.inf)]
)
def test_the_finest_bit(value: float, bit: float) -> None:
    assert finest_bit(value) == bit


def test_what_is_repeated_is_kept_to_the_last_bit() -> None:
    close = math.nextafter(0.1, 1)
    bits = FinestBitBinning([0.1, 0.1, close, close, 0.3, (1, 0.5, 0.25)])
    assert bits(0.1) == 0.1 != bits(close) == close
    assert bits(0.3) == bits(-0.3) != bits(0.5)
    assert bits((1, 0.5, 0.25)) == bits((1, 0.25, 0.75)) != bits((2, 0.5, 0.25))
    assert bits.describe_cell(bits(0.1)) == "0.1"
    assert bits.describe_cell(bits((1, 0.5, 0.25))) == "one whose floats beside 1 have their lowest bit at 2^-2"


def test_bits_are_read_of_floats_only() -> None:
    def read(*outcomes: Any) -> list[type]:
        readings = candidate_binnings(outcomes, outcomes)
        return [type(one) for one in readings if not isinstance(one, PositionBinning)]

    assert read(1, 2) == [QuantileBinning]
    assert read((1, 2), (2, 0.5)) == [QuantileBinning, FinestBitBinning]
    assert read((1, (3, (4, 4))), (2, (3, (4, 0.5)))) == [QuantileBinning, FinestBitBinning]
    assert read(1, 1.0) == [QuantileBinning, FinestBitBinning, type(value_types)]
    assert read((1,), (1.0,)) == [QuantileBinning, FinestBitBinning, type(value_types)]


@pytest.mark.slow
def test_a_float_that_can_occur_on_one_side_only_shows() -> None:
    """Sums of a score and a float: near 0 there are floats that 1 + noise cannot reach."""
    source = random.Random(3)
    found = estimate(lambda x: x + source.expovariate(1) - source.expovariate(1), 0.0, 1.0, samples=20_000)
    assert found.lower > 4
    rounded = estimate(lambda x: round(16 * (x + source.gauss(0, 4))) / 16, 0.0, 1.0, samples=20_000)
    assert rounded.lower < 1.2


@pytest.mark.further
def test_a_generator_with_few_states_shows() -> None:
    source = random.Random(4)
    found = estimate(lambda x: math.log(source.randrange(1, 5000)) + x, 0.0, 1e-9, samples=20_000)
    assert found.lower > 4


def test_places_whose_laws_differ_are_read_alone() -> None:
    source = random.Random(5)
    sides = [
        [tuple(source.randrange(50) + 9 * move * (i == 7) for i in range(9)) for _ in range(400)] for move in (0, 1)
    ]
    places = [reading for reading in candidate_binnings(*sides) if isinstance(reading, PositionBinning)]
    assert len(places) == 3
    (seventh,) = (reading for reading in places if reading.noun == "value 7 of the release")
    assert seventh((0, 1, 2, 3, 4, 5, 6, 70, 8)) == 70
    assert seventh((1, 2)) == ()
    assert describe_event(seventh, [70, 3, ()]) == "value 7 of the release is 70 or 3 or absent"
    assert not any(isinstance(reading, PositionBinning) for reading in candidate_binnings([1, 2, 3], [3, 4, 5]))
    assert not any(isinstance(reading, PositionBinning) for reading in candidate_binnings([(1, 2)] * 9, [(1, 3)] * 9))


def test_the_sum_is_that_of_the_values_that_move_with_their_signs() -> None:
    source = random.Random(6)
    sides = [[(source.random() + 5 * up, "a", i % 7, source.random() - 3 * up) for i in range(50)] for up in (0, 1)]
    (total,) = (reading for reading in candidate_binnings(*sides) if isinstance(reading, SignedSumBinning))
    assert total.noun == "value 0 - value 3"
    cells = [total((value, "a", 0.5, 0.0)) for value in (-9.0, 9.0)]
    assert cells[0] == total((0.0, "a", 7.0, 9.0)) != cells[1] == total((99.0, "b", 1.0, 1.0))
    assert describe_event(total, [(), cells[1]]).startswith("value 0 - value 3 is no number or above ")
    for none in ((), (1, 2), (1, "a", 2, "b"), (1e300, "a", 2, 0), (10**400, "a", 2, 0), (math.nan, "a", 2, 0)):
        assert total(none) == ()
    assert not any(isinstance(reading, SignedSumBinning) for reading in candidate_binnings(sides[0], sides[0]))


def test_values_whose_squares_no_float_holds_are_no_part_of_a_sum() -> None:
    sides = [[(sign * 1e299 * (1 + i / 99), sign * 9.0 + i) for i in range(99)] for sign in (1, -1)]
    assert not any(isinstance(reading, SignedSumBinning) for reading in candidate_binnings(*sides))


@pytest.mark.further
def test_a_fault_of_one_value_among_many_shows() -> None:
    """Each release is seen once, so that no event of whole releases tells anything."""
    source = random.Random(7)
    fault = lambda x: (*(source.randrange(10**6) for _ in range(4)), x if source.random() < 0.1 else 0)  # noqa: E731
    found = estimate(fault, 0, 1, samples=4000)
    assert found.lower > 2
    assert found.seen[0].event == "value 4 of the release is 1"


@pytest.mark.slow
def test_a_fault_of_a_sum_shows() -> None:
    """Discrete Laplace noise of scale 1 on each of five values that all move by 1: a loss of 5, and of 1 for each."""
    source = random.Random(8)
    fault = lambda x: [x + int(source.expovariate(1)) - int(source.expovariate(1)) for _ in range(5)]  # noqa: E731
    found = estimate(fault, 0, 1, samples=20_000, confidence=1 - 1e-6)
    assert 2 < found.lower < 5
    assert "value 0 + value 1 + value 2 + value 3 + value 4" in found.seen[0].event


@pytest.mark.further
def test_labels_are_all_but_numbers() -> None:
    assert mask_numbers(("a", 1.5, (None, True, 3))) == ("a", 0, (None, 0, 0))
    sides = [[(1.0, i) for i in range(50)], [(1.0, i, 2) for i in range(50)]]
    assert mask_numbers in candidate_binnings(*sides)
    assert describe_event(mask_numbers, [(0, 0)]) == "the release is one of the form (0, 0)"
    source = random.Random(9)
    found = estimate(
        lambda x: {i: source.random() for i in range(3 + (x and source.random() < 0.1))}, 0, 1, samples=4000
    )
    assert found.lower > 2


def test_sets_and_dictionaries_are_equal_in_any_order_which_kinds_tell() -> None:
    one, other = (SortedCollection.from_elements("set", elements) for elements in ((1, 2), (2, 1)))
    assert one == other == (1, 2)
    assert value_types(one) != value_types(other)
    assert value_types(one) != value_types(SortedCollection.from_elements("dict", (1, 2))) != value_types((1, 2))
    assert value_types in candidate_binnings([one], [other])
    assert value_types not in candidate_binnings([one], [one])
    assert flatten_outcome((0, SortedCollection.from_elements("dict", [("b", 2), ("a", (1,))]))) == (0, "a", 1, "b", 2)


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
