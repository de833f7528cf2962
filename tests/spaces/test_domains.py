"""Membership: what each domain accepts, in which form it hands it on, and how it refuses the rest."""

import math
from collections import deque
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opendp_topk.errors import DataError, DataTypeError, ParameterError, ParameterTypeError
from opendp_topk.spaces.domains import AtomDomain, FrameDomain, VectorDomain

from ..concepts.refusals import evaluate, refusals
from ..concepts.sentinels import SENTINEL_FLOAT, SENTINEL_INT, SENTINEL_TEXT, raises_exactly
from ..concepts.values import check_plain_value, check_value

INTS = VectorDomain(AtomDomain(int))
FLOATS = VectorDomain(AtomDomain(float))
NAMES = {kind.__name__: kind for kind in (AtomDomain, VectorDomain, FrameDomain, Fraction)}
WIDTHS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]


@pytest.mark.parametrize(
    ("make", "others"),
    [
        (lambda: AtomDomain(int), [AtomDomain(float), AtomDomain(int, bounds=(0, 1)), int]),
        (lambda: AtomDomain(float, bounds=(0.0, 1.5)), [AtomDomain(float), AtomDomain(float, bounds=(0.0, 1.0))]),
        (lambda: AtomDomain(int, bounds=(Fraction(1, 3), math.inf)), [AtomDomain(int, bounds=(0, math.inf))]),
        (lambda: VectorDomain(AtomDomain(int)), [FLOATS, VectorDomain(AtomDomain(int), size=3), AtomDomain(int)]),
        (lambda: VectorDomain(AtomDomain(int), size=3), [VectorDomain(AtomDomain(int), size=4)]),
        (lambda: FrameDomain("user", "item"), [FrameDomain("item", "user"), FrameDomain("user", "page")]),
        (
            lambda: FrameDomain("user", "item", group="group"),
            [
                FrameDomain("user", "item", group="page"),
                FrameDomain("user", "item"),
                FrameDomain("user", "item", value="group"),
            ],
        ),
        (
            lambda: FrameDomain("user", value="paid"),
            [FrameDomain("user", "paid"), FrameDomain("user", "item", value="paid"), FrameDomain("user", value="page")],
        ),
    ],
)
def test_domains_are_values(make: Any, others: list[Any]) -> None:
    check_value(make, others)
    check_plain_value(make, NAMES | {"inf": math.inf})


def test_equal_numbers_of_other_types_make_equal_domains() -> None:
    assert VectorDomain(AtomDomain(int), size=np.int64(3)) == VectorDomain(AtomDomain(int), size=3)
    domain = AtomDomain(float, bounds=(np.float64(0.5), np.int64(2)))
    assert repr(domain) == "AtomDomain(float, bounds=(0.5, 2))"
    assert domain == AtomDomain(float, bounds=(0.5, 2))


def test_bad_domains_and_metrics() -> None:
    for call, error, words in refusals(Path(__file__).parent):
        raises_exactly(error, lambda call=call: evaluate(call), words)


@pytest.mark.parametrize(
    ("domain", "shown", "roles"),
    [
        (FrameDomain("u", "i"), "FrameDomain('u', 'i')", ["user", "item"]),
        (FrameDomain("u", "i", group="g"), "FrameDomain('u', 'i', group='g')", ["user", "item", "group"]),
        (FrameDomain("u", item="i", value="v"), "FrameDomain('u', 'i', value='v')", ["user", "item", "value"]),
        (FrameDomain(user="u", value="v"), "FrameDomain('u', value='v')", ["user", "value"]),
    ],
)
def test_a_table_shows_the_columns_that_it_has(domain: FrameDomain, shown: str, roles: list[str]) -> None:
    assert (repr(domain), list(domain.columns)) == (shown, roles)


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("width", WIDTHS)
def test_integers_of_every_width_and_byte_order(width: str, order: str) -> None:
    limits = np.iinfo(width)
    scores = np.array([limits.min, 0, 3, limits.max], dtype=order + width)
    found = INTS.validate(scores)
    assert found.dtype == (np.uint64 if width[0] == "u" else np.int64)
    assert found.tolist() == [limits.min, 0, 3, limits.max]


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("width", ["f2", "f4", "f8"])
def test_floats_of_every_width_and_byte_order(width: str, order: str) -> None:
    scores = np.array([-0.25, 0.1, 60000.0], dtype=order + width)
    found = FLOATS.validate(scores)
    assert found.dtype == np.float64
    assert found.dtype.isnative
    assert found.tolist() == [float(score) for score in scores]


@pytest.mark.parametrize(
    ("scores", "dtype"),
    [
        ([3, -1], np.int64),
        ((3, 2**63 - 1), np.int64),
        ([3, 2**63], np.uint64),
        ([0, 2**64 - 1], np.uint64),
        ([3, 2**64], object),
        ([-1, 2**63], object),
        ([-(2**63), 5], np.int64),
        ([-(2**63) - 1, 5], object),
        ([10**400, -(10**400)], object),
        ([np.uint8(255), np.int64(-3), 2**70], object),
        (np.array([2**70, -5], dtype=object), object),
        (np.array([3, 4], dtype=object), np.int64),
    ],
)
def test_huge_integers_stay_exact(scores: Any, dtype: Any) -> None:
    found = INTS.validate(scores)
    assert found.dtype == dtype
    assert found.tolist() == [int(score) for score in scores]
    assert all(type(score) is int for score in found.tolist())


def test_neighbouring_integers_above_2_to_the_53_stay_apart() -> None:
    for scores in ([2**53 + 1, 2**53 + 2], [2**63 + 1, 2**63 + 2], [2**90 + 1, 2**90 + 2]):
        assert len(set(INTS.validate(scores).tolist())) == 2


@pytest.mark.parametrize(
    "scores", [[0.5, np.float32(0.1)], (0.5, np.float64(2)), np.array([0.5], dtype=object), [5e-324, -1.7e308, -0.0]]
)
def test_floats_in_lists_and_object_arrays(scores: Any) -> None:
    found = FLOATS.validate(scores)
    assert found.dtype == np.float64
    assert found.tolist() == [float(score) for score in scores]


@pytest.mark.parametrize(
    ("scores", "fragment"),
    [
        ([True, False], "bool"),
        (np.array([True, False]), "bool"),
        ([SENTINEL_INT, True], "bool"),
        ([SENTINEL_INT, np.True_], "bool"),
        ([SENTINEL_FLOAT, 1.5], "float"),
        (np.array([SENTINEL_FLOAT]), "float64"),
        ([SENTINEL_INT, 1.5], "float"),
        (np.array([1j * SENTINEL_FLOAT]), "complex128"),
        ([1j], "complex"),
        ([SENTINEL_TEXT], "str"),
        (np.array([SENTINEL_TEXT]), "<U"),
        (SENTINEL_TEXT, "not str"),
        (b"123", "not bytes"),
        (np.array([SENTINEL_TEXT], dtype=object), "str"),
        ([None, SENTINEL_INT], "NoneType"),
        ([[SENTINEL_INT, 2], [3, 4]], "list"),
        (np.full((2, 2), SENTINEL_INT), "2 dimensions"),
        (np.array(SENTINEL_INT), "0 dimensions"),
        (np.int64(SENTINEL_INT), "0 dimensions"),
        (SENTINEL_INT, "not int"),
        (np.ma.masked_array([SENTINEL_INT, 2], mask=[True, False]), "masked"),
        (np.array([SENTINEL_INT], dtype="m8[s]"), "timedelta64"),
        ([np.timedelta64(SENTINEL_INT, "s")], "timedelta64"),
        (np.array([SENTINEL_INT], dtype="M8[s]"), "datetime64"),
        (np.zeros(2, dtype=[("score", "i8")]), "score"),
        ((score for score in [SENTINEL_INT]), "generator"),
        ({SENTINEL_INT: 1}, "dict"),
        ({SENTINEL_INT}, "set"),
        (range(3), "range"),
        (deque([SENTINEL_INT]), "deque"),
        (None, "NoneType"),
        (AtomDomain(int), "AtomDomain"),
    ],
)
def test_wrong_types_for_integers(scores: Any, fragment: str) -> None:
    raises_exactly(DataTypeError, lambda: INTS.validate(scores), "scores", fragment)
    assert not INTS.member(scores)


@pytest.mark.parametrize(
    ("scores", "fragment"),
    [
        ([SENTINEL_INT], "int"),
        ([SENTINEL_FLOAT, SENTINEL_INT], "int"),
        (np.array([SENTINEL_INT]), "int64"),
        (np.array([True]), "bool"),
        ([SENTINEL_FLOAT, True], "bool"),
        (np.array([SENTINEL_FLOAT], dtype=np.longdouble), "float128"),
        ([np.longdouble(SENTINEL_FLOAT)], "longdouble"),
        (np.array([1j]), "complex128"),
        ([SENTINEL_FLOAT, None], "NoneType"),
        ([Fraction(1, 3)], "Fraction"),
        (np.array([Fraction(SENTINEL_INT, 7)], dtype=object), "Fraction"),
        ([SENTINEL_TEXT], "str"),
        (np.full((2, 2), SENTINEL_FLOAT), "2 dimensions"),
        (np.ma.masked_array([SENTINEL_FLOAT]), "masked"),
        (iter([SENTINEL_FLOAT]), "list_iterator"),
        ({"a": SENTINEL_FLOAT}, "dict"),
        (SENTINEL_FLOAT, "not float"),
    ],
)
def test_wrong_types_for_floats(scores: Any, fragment: str) -> None:
    if fragment == "float128" and np.dtype(np.longdouble).itemsize == 8:
        pytest.skip("longdouble is float64 on this platform")
    raises_exactly(DataTypeError, lambda: FLOATS.validate(scores), "scores", fragment)
    assert not FLOATS.member(scores)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("wrap", [list, tuple, np.array, lambda x: np.array(x, dtype=np.float32)])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_nan_and_infinities(bad: float, wrap: Any, place: int) -> None:
    scores = [SENTINEL_FLOAT, -SENTINEL_FLOAT]
    scores.insert(place, bad)
    raises_exactly(DataError, lambda: FLOATS.validate(wrap(scores)), "finite")


@pytest.mark.parametrize("empty", [[], (), np.array([]), np.zeros(0, dtype=object)])
def test_empty_floats(empty: Any) -> None:
    raises_exactly(DataError, lambda: FLOATS.validate(empty), "at least one")


@pytest.mark.parametrize("empty", [[], (), np.zeros(0, dtype=int), np.zeros(0, dtype=object)])
def test_empty_integers(empty: Any) -> None:
    raises_exactly(DataError, lambda: INTS.validate(empty), "at least one")


@pytest.mark.parametrize("scores", [[SENTINEL_INT], [1, 2, SENTINEL_INT], np.arange(7)])
def test_wrong_length(scores: Any) -> None:
    raises_exactly(DataError, lambda: VectorDomain(AtomDomain(int), size=2).validate(scores), "exactly 2")


@pytest.mark.parametrize(
    ("domain", "inside", "outside"),
    [
        (AtomDomain(int, bounds=(0, 5)), [0, 5], [SENTINEL_INT, -1, 6]),
        (AtomDomain(int, bounds=(Fraction(1, 3), 2.5)), [1, 2], [0, 3]),
        (AtomDomain(int, bounds=(0, 2**53)), [2**53], [2**53 + 1]),
        (AtomDomain(int, bounds=(0, float(2**53))), [2**53], [2**53 + 1]),
        (AtomDomain(int, bounds=(0, 2**90)), [2**90], [2**90 + 1]),
        (AtomDomain(float, bounds=(0, 1)), [0.0, -0.0, 1.0], [-5e-324, math.nextafter(1.0, 2.0), SENTINEL_FLOAT]),
        (AtomDomain(float, bounds=(Fraction(1, 10), 1)), [0.1], [math.nextafter(0.1, 0.0)]),
        (AtomDomain(float, bounds=(0, np.int64(2**53 + 1))), [2.0**53], [2.0**53 + 2]),
    ],
)
def test_bounds_are_compared_exactly(domain: AtomDomain, inside: list[Any], outside: list[Any]) -> None:
    for value in inside:
        assert domain.member(value)
        assert VectorDomain(domain).member([value, inside[0]])
    for value in outside:
        raises_exactly(DataError, lambda value=value: domain.validate(value), "bounds")
        raises_exactly(DataError, lambda value=value: VectorDomain(domain).validate([inside[0], value]))


def test_single_atoms() -> None:
    assert AtomDomain(int).member(3)
    assert AtomDomain(float).member(0.5)
    for domain, value in ((int, 0.5), (int, True), (int, [1]), (float, 1), (float, "1"), (float, None)):
        assert not AtomDomain(domain).member(value)
    raises_exactly(DataError, lambda: AtomDomain(float).validate(math.inf), "finite")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_of_data_frames(library: str) -> None:
    frames = pytest.importorskip(library)
    assert INTS.validate(frames.Series([3, 1])).tolist() == [3, 1]
    assert FLOATS.validate(frames.Series([0.5, 1.0])).tolist() == [0.5, 1.0]
    raises_exactly(DataTypeError, lambda: INTS.validate(frames.Series([0.5, SENTINEL_FLOAT])), "integers")
    raises_exactly(DataTypeError, lambda: INTS.validate(frames.Series([True])), "bool")
    raises_exactly(DataTypeError, lambda: INTS.validate(frames.Series([SENTINEL_TEXT])), "integers")
    raises_exactly(DataTypeError, lambda: FLOATS.validate(frames.Series([SENTINEL_INT])), "int64")
    raises_exactly(DataError, lambda: FLOATS.validate(frames.Series([SENTINEL_FLOAT, None])), "finite")
    raises_exactly(DataTypeError, lambda: INTS.validate(frames.Series([SENTINEL_INT, None])), "integers")
    raises_exactly(DataTypeError, lambda: INTS.validate(frames.DataFrame({"a": [1], "b": [2]})), "2 dimensions")


def test_a_broken_array_does_not_speak() -> None:
    class Broken:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            raise ValueError(f"bad value {SENTINEL_INT}")

    for domain in (INTS, FLOATS):
        raises_exactly(DataTypeError, lambda domain=domain: domain.validate(Broken()), "scores")


def test_validation_copies_nothing_that_already_fits() -> None:
    scores = np.array([1.5, 2.5])
    assert FLOATS.validate(scores) is scores
    counts = np.array([1, 2])
    assert INTS.validate(counts) is counts


def test_domains_of_scores_are_joined_unless_they_contradict_each_other() -> None:
    def vectors(**stated: Any) -> VectorDomain:
        return VectorDomain(AtomDomain(int), size=2, **stated)

    items, turned = ("a", "b"), ("b", "a")
    both = vectors(candidates=items, counts_users=True)
    assert vectors().joined(vectors()) == vectors()
    assert vectors(candidates=items).joined(vectors(counts_users=True)) == both
    assert vectors(counts_users=True).joined(both) == both == both.joined(vectors())
    assert vectors(candidates=range(2)).joined(vectors(candidates=(0, 1))) is not None
    assert vectors(candidates=[0, 1]) == vectors(candidates=(0, 1))
    for one, other in (
        (vectors(candidates=items), vectors(candidates=turned)),
        (vectors(counts_users=True), vectors(counts_users=False)),
        (vectors(candidates=items), VectorDomain(AtomDomain(int), size=3)),
        (vectors(), VectorDomain(AtomDomain(float), size=2)),
        (vectors(), FrameDomain("a", "b")),
        (FrameDomain("a", "b"), vectors()),
        (FrameDomain("a", "b"), FrameDomain("b", "a")),
    ):
        assert one.joined(other) is None
    assert FrameDomain("a", "b").joined(FrameDomain("a", "b")) == FrameDomain("a", "b")
    assert both.validate([1, 2]).tolist() == [1, 2]
    assert repr(both) == repr(vectors())
    for bad, error in ((("a",), ParameterError), ("ab", ParameterError), (3, ParameterTypeError)):
        raises_exactly(error, lambda bad=bad: vectors(candidates=bad), "candidates")
    raises_exactly(ParameterTypeError, lambda: vectors(counts_users=1), "counts_users")
