"""Indices become the caller's public items, and can never be out of range."""

import io
import itertools
import math
import pickle
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

import opendp_topk as tk
from opendp_topk.core import candidates, claims
from opendp_topk.core.candidates import index_candidates, public_items
from opendp_topk.core.measurement import Declared, Measurement
from opendp_topk.core.releases import Release
from opendp_topk.errors import DataError, ParameterError, SpaceError
from opendp_topk.spaces.domains import AtomDomain, VectorDomain
from opendp_topk.spaces.measures import MaxDivergence
from opendp_topk.spaces.metrics import LInfDistance
from opendp_topk.transformations.user import then_user_transformation
from tests.concepts.spaces import ZCDP

from ..concepts.examples import COUNTS, geometric_choice, powers, times
from ..concepts.sentinels import SENTINEL_TEXT, raises_exactly
from ..concepts.values import check_value

TREES = ["ash", "birch", "cedar"]


def ranking(space: Any = COUNTS, n_candidates: int | None = None) -> Measurement:
    """All indices, best first, as an array."""
    return Measurement(
        *space,
        output_measure=MaxDivergence(),
        function=lambda scores: np.argsort(-scores),
        privacy_map=Fraction,
        declared=Declared(
            law=lambda scores: {tuple(np.argsort(-scores).tolist()): 1}, n_candidates=n_candidates, scores_input=True
        ),
    )


def test_rankings_and_single_choices_become_items() -> None:
    assert (ranking() >> index_candidates(TREES))([4, 9, 6]).items == ("birch", "cedar", "ash")
    assert (geometric_choice() >> index_candidates(TREES))([4, 9, 6]) == "birch"


def test_the_law_speaks_of_items_too() -> None:
    assert (ranking() >> index_candidates(TREES)).distribution([4, 9, 6]) == {("birch", "cedar", "ash"): 1}
    law = (geometric_choice() >> index_candidates(TREES)).distribution([2, 0, 1])
    assert law == dict(zip(TREES, powers([2, 0, 1]).values(), strict=True))


def test_the_map_the_parameters_and_the_accuracy_stay() -> None:
    chain = geometric_choice() >> index_candidates(TREES)
    assert chain.map(3) == geometric_choice().map(3)
    assert chain.parameters == geometric_choice().parameters
    assert chain.accuracy(3, 0.5) == 6.0


@pytest.mark.parametrize("scores", [[1, 2], [1, 2, 3, 4]])
def test_another_number_of_scores_is_refused_before_anything_runs(scores: list[int]) -> None:
    chain = ranking() >> index_candidates(TREES)
    assert chain.input_domain == VectorDomain(AtomDomain(int), size=3, candidates=TREES)
    raises_exactly(DataError, lambda: chain(scores), "exactly 3")


@pytest.mark.parametrize("size", [2, 4])
def test_a_declared_size_must_be_the_number_of_items(size: int) -> None:
    sized = VectorDomain(AtomDomain(int), size=size), LInfDistance()
    for measurement in (ranking(sized), ranking(sized, n_candidates=size)):
        call = lambda link=measurement: link >> index_candidates(TREES)  # noqa: E731
        raises_exactly(SpaceError, call, "index_candidates has 3 items", f"scores {size} candidates")


def test_a_transformation_that_changes_the_number_of_scores_cannot_lead_out_of_range() -> None:
    double = then_user_transformation(
        *COUNTS, function=lambda scores: np.concatenate([scores, scores]), stability_map=lambda d_in: d_in
    )
    raises_exactly(
        SpaceError, lambda: COUNTS >> double >> ranking() >> index_candidates(TREES), "an unknown number of candidates"
    )


def test_a_transformation_into_a_domain_of_known_size_keeps_it() -> None:
    sized = VectorDomain(AtomDomain(int), size=3), COUNTS[1]
    pad = then_user_transformation(*sized, function=lambda x: np.append(x, 0), stability_map=lambda d_in: d_in)
    chain = COUNTS >> pad >> ranking(sized, n_candidates=3) >> index_candidates(TREES)
    assert chain([5, 7]).items == ("birch", "ash", "cedar")
    assert times(2, sized)([1, 2, 3]).tolist() == [2, 4, 6]


@pytest.mark.parametrize(
    ("items", "fragment"),
    [
        ([], "at least one candidate"),
        ((), "at least one candidate"),
        (["ash", "birch", "ash"], "distinct"),
        ([1, 1.0], "distinct"),
        ([SENTINEL_TEXT, SENTINEL_TEXT], "distinct"),
        ([["ash"], ["birch"]], "hashable"),
        ([{SENTINEL_TEXT: 1}], "hashable"),
        (SENTINEL_TEXT, "not str"),
        (b"ash", "not bytes"),
        ({SENTINEL_TEXT, "ash"}, "in order, not set"),
        (frozenset("ab"), "in order, not frozenset"),
        (3, "not int"),
        (io.StringIO("ash\nbirch\n"), "not StringIO: give file.read().splitlines()"),
    ],
)
def test_bad_items(items: Any, fragment: str) -> None:
    raises_exactly(ParameterError, lambda: index_candidates(items), "items must", fragment)
    raises_exactly(ParameterError, lambda: public_items(items, "candidates"), "candidates must", fragment)


def test_a_frame_is_no_release_of_indices() -> None:
    raises_exactly(DataError, lambda: index_candidates(TREES)(pl.DataFrame({"x": [1]})), "indices of its items")


def test_items_may_come_from_any_iterable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an iterator so many items are read, and none is left out."""
    monkeypatch.setattr(candidates, "_MOST", 3)
    monkeypatch.setattr(claims, "_MOST", 3)
    assert index_candidates(iter(TREES)).items == ("ash", "birch", "cedar")
    assert public_items(np.array([3, 1, 4, 0])) == (3, 1, 4, 0)
    raises_exactly(ParameterError, lambda: public_items(iter("abcd")), "an iterator may be infinite")
    counting = lambda items: (READERS, USERS) >> tk.then_count_by_item(candidates=items)  # noqa: E731
    assert counting(iter(TREES)) == counting(TREES)
    raises_exactly(ParameterError, lambda: counting(iter("abcd")), "more than 3 values")


@pytest.mark.parametrize("package", ["pandas", "polars", "pyarrow"])
def test_a_column_of_a_table_is_taken_for_its_values_and_a_table_is_not(package: str) -> None:
    module = pytest.importorskip(package, reason=f"{package} is not installed")
    table = (module.table if package == "pyarrow" else module.DataFrame)({SENTINEL_TEXT: TREES})
    raises_exactly(
        ParameterError, lambda: index_candidates(table), "items must be a list", f"not {type(table).__name__}"
    )
    assert public_items(table[SENTINEL_TEXT]) == tuple(TREES)
    if package == "pyarrow":
        assert public_items(module.array([3, 1])) == (3, 1)
        assert public_items(module.array(TREES).dictionary_encode()) == tuple(TREES)


def test_it_is_a_value_whose_repr_is_short() -> None:
    check_value(lambda: index_candidates(TREES), [index_candidates(TREES[:2])])
    assert repr(index_candidates(TREES)) == "index_candidates(<3 items>)"


@pytest.mark.parametrize(
    "items",
    [["b", "a", "a "], ["b", "\u00e9", "e\u0301"], ["b", " a", "a\t"], [7, "\u212b", "\u00c5 "], ["a", "x", "\u00a0a"]],
)
def test_texts_that_look_the_same_are_named_by_position(items: list[object]) -> None:
    first = 1 if items[0] == "a" else 2
    raises_exactly(ParameterError, lambda: index_candidates(items), f"candidates {first} and 3 do not")


def test_texts_that_differ_are_kept() -> None:
    assert index_candidates(["a", "A", "\u00e9", "e", "\uff41", ""]).items[4] == "\uff41"


class Scored(NamedTuple):
    """A release of somebody's own."""

    indices: list[int]
    score: float


def test_a_named_tuple_of_a_caller_gets_items_in_its_field() -> None:
    assert index_candidates(TREES)(Scored([2, 0], 1.5)) == Scored(Release(items=["cedar", "ash"]), 1.5)  # type: ignore[arg-type]


# The list that names the winners is the list that was counted

READERS, VALUED = tk.FrameDomain("reader", "book"), tk.FrameDomain("buyer", "book", value="paid")
BOOKS, TURNED = ["often", "seldom"], ["seldom", "often"]
PURE, USERS = tk.MaxDivergence(), tk.UserDistance()


def loans() -> pl.DataFrame:
    return pl.DataFrame({"reader": range(40), "book": ["often"] * 39 + ["seldom"]})


def counted(**options: Any) -> tk.Transformation:
    return (READERS, USERS) >> tk.then_count_by_item(candidates=BOOKS, **options)


def numbers() -> tk.Transformation:
    space = tk.FrameDomain("reader", value="age"), USERS
    return space >> tk.then_quantile_scores(quantile=Fraction(1, 2), bounds=(0, 20))


def few() -> Measurement:
    return counted(max_items=1) >> tk.then_noisy_histogram(PURE, scale=0.0)


def ages() -> tk.Transformation:
    return (tk.FrameDomain("reader", value="age"), USERS) >> tk.then_count_by_number(bounds=(0, 20))


TOP = {"k": 1, "scale": 0.0}
BEST, FLIP = tk.then_report_noisy_top_k(PURE, **TOP), tk.then_permute_and_flip(PURE, scale=0.0)
OFTEN = Release(items=["often"])
NAMED = {
    "selection": (lambda: counted() >> BEST, OFTEN),
    "one index": (lambda: counted() >> FLIP, "often"),
    "joint": (lambda: counted() >> tk.then_joint_top_k(PURE, **TOP), OFTEN),
    "canonical": (lambda: counted() >> tk.then_canonical_top_k(PURE, **TOP), OFTEN),
    "converted": (lambda: tk.make_zCDP_to_approxDP(counted() >> tk.then_report_noisy_top_k(ZCDP, **TOP)), OFTEN),
    "padded": (lambda: tk.make_padded(counted() >> BEST, seconds=0.3), OFTEN),
    "built before": (lambda: counted() >> ((counted().output_domain, counted().output_metric) >> BEST), OFTEN),
    "built on a plain domain": (lambda: counted() >> (plain() >> BEST), OFTEN),
    "largest": (lambda: few() >> tk.largest_counts(1), Release(items=["often"], counts=np.array([39]))),
    "sums": (lambda: (VALUED, USERS) >> tk.then_sum_by_item(candidates=BOOKS, bounds=(0, 50)) >> BEST, OFTEN),
    "median": (lambda: numbers() >> FLIP, 7),
    "quantiles": (lambda: ages() >> tk.then_quantiles(PURE, quantiles=[Fraction(1, 2)], scale=0.0), Release(items=[7])),
    "caps": (lambda: (READERS, USERS) >> tk.then_cap_scores(caps=[5, 1], share=Fraction(9, 10)) >> FLIP, 5),
}


def plain() -> tuple[VectorDomain, LInfDistance]:
    return VectorDomain(AtomDomain(int), size=2), LInfDistance(monotonic=True)


@pytest.mark.parametrize("kind", NAMED)
def test_an_index_is_named_by_the_candidates_that_were_counted(kind: str) -> None:
    build, expected = NAMED[kind]
    chain: Any = build()  # type: ignore[operator]
    table = loans().with_columns(buyer="reader", paid=1, age=7)
    named = chain >> index_candidates()
    assert repr(named(table)) == repr(expected)
    assert named.map(1) == chain.map(1)
    assert pickle.loads(pickle.dumps(named)) == named
    wrong = range(10, 31) if kind in ("median", "quantiles") else [1, 5] if kind == "caps" else TURNED
    raises_exactly(SpaceError, lambda: chain >> index_candidates(wrong), "must be the counted candidates")


def test_every_other_second_list_is_refused() -> None:
    for follow in (tk.largest_counts(1, TURNED), tk.counts_from(1, TURNED)):
        raises_exactly(SpaceError, lambda follow=follow: few() >> follow, "must be the counted candidates")
    assert (few() >> tk.counts_from(1, BOOKS))(loans()).items == tuple(BOOKS)
    selection = plain() >> tk.then_report_noisy_top_k(PURE, k=1, scale=1.0)
    named = selection >> index_candidates(TURNED)
    raises_exactly(SpaceError, lambda: counted() >> named, "of the same candidates")
    raises_exactly(SpaceError, lambda: counted() >> tk.make_composition([selection, named]), "of the same candidates")
    two = selection >> index_candidates(BOOKS)
    raises_exactly(SpaceError, lambda: tk.make_composition([selection, two, named]), "of the same candidates")
    assert counted() >> two == counted() >> two
    histogram = (plain()[0], tk.L01InfDistance(changes=1, monotonic=True)) >> tk.then_noisy_histogram(PURE, scale=1.0)
    largest = histogram >> tk.largest_counts(1, TURNED)
    raises_exactly(SpaceError, lambda: counted(max_items=1) >> largest, "of the same candidates")
    raises_exactly(ParameterError, lambda: counted() >> tk.then_minimum_users(minimum_users=3, candidates=TURNED))
    at_least = counted() >> tk.then_minimum_users(minimum_users=3)
    assert at_least(loans()) == {"often": 37}


def test_a_query_of_a_conversation_cannot_name_others() -> None:
    """A conversation that was built on a plain domain would take a query with any names."""
    talk = plain() >> tk.then_adaptive_composition(PURE, d_in=1, d_mids=[1])
    raises_exactly(SpaceError, lambda: counted() >> talk, "then_")
    talk = counted() >> tk.then_adaptive_composition(PURE, d_in=1, d_mids=[1])
    query = plain() >> tk.then_report_noisy_top_k(PURE, k=1, scale=1.0)
    raises_exactly(SpaceError, lambda: talk(loans())(query >> index_candidates(TURNED)), "of the same candidates")
    assert len(talk(loans())(query >> index_candidates(BOOKS))) == 1


def test_without_known_candidates_items_must_be_given() -> None:
    selection = plain() >> tk.then_report_noisy_top_k(PURE, k=1, scale=1.0)
    raises_exactly(SpaceError, lambda: selection >> index_candidates(), "index_candidates(items)")
    turn = tk.make_user_transformation(*plain(), *plain(), function=lambda x: x[::-1], stability_map=lambda d: d)
    raises_exactly(SpaceError, lambda: counted() >> turn >> selection >> index_candidates(), "index_candidates(items)")
    assert len((counted() >> turn >> selection >> index_candidates(TURNED))(loans())) == 1
    raises_exactly(SpaceError, lambda: index_candidates()(np.array([0])), "must follow")
    assert repr(index_candidates()) == "index_candidates()"
    stated = VectorDomain(AtomDomain(int), size=3, candidates=TREES)
    best = (stated, plain()[1]) >> tk.then_report_noisy_top_k(PURE, k=1, scale=0.0) >> index_candidates()
    assert best([1, 7, 3]).items == ("birch",)


@pytest.mark.further
def test_what_is_named_is_the_count_of_that_name() -> None:
    """An enumeration that knows nothing of chains: the released name has the largest count in the table."""
    orders = list(itertools.permutations(["x", "y", "z"]))
    for listed, sizes in itertools.product(orders, itertools.permutations([1, 3, 6])):
        table = pl.DataFrame(
            {"reader": range(10), "book": [b for b, n in zip("xyz", sizes, strict=True) for _ in range(n)]}
        )
        count = (READERS, USERS) >> tk.then_count_by_item(candidates=listed)
        for other in (None, *orders):
            try:
                chain = count >> tk.then_permute_and_flip(PURE, scale=0.0) >> index_candidates(other)
            except SpaceError:
                assert other != listed
            else:
                assert chain(table) == "xyz"[sizes.index(6)]


# What looks odd in a list of candidates.


def test_each_oddity_is_named_with_its_first_candidate() -> None:
    cases: list[tuple[list[Any], str | None, list[str]]] = [
        (["ash", "birch", "cedar"], "tree", []),
        ([1, 2, 3], "tree", []),
        (["Tree ", "ash"], "tree", ["candidate 1 is the name of the column: a header line?", "outer blanks: 1 of 2"]),
        (["tree", "7", "-8"], None, ["all candidates but the first are integers: a header line?"]),
        (["7"], "tree", []),
        (["tree"], None, []),
        (["tree", "7", "ash"], None, []),
        (["ash", "birch\u200b", "ce\u00addar"], None, ["invisible characters: 2 of 3 candidates, first number 2"]),
        (["ash", "a\u0308sche"], None, ["not in the Unicode form NFC: 1 of 2 candidates, first number 2"]),
        (["ash", "Ash", "ASH"], None, ["equal to an earlier candidate except for case: 2 of 3 candidates, fi"]),
        (
            ["ash", 7],
            None,
            [
                "all candidates but the first are integers",
                "a mix of numbers and texts: 1 of 2 candidates, first number 2",
            ],
        ),
        (["\tash", "birch"], None, ["outer blanks: 1 of 2 candidates, first number 1"]),
        (["ash", '"birch"', "'elm'"], None, ["in quotes: 2 of 3 candidates, first number 2"]),
        (["'", '"', "\"ash'", "5'"], None, []),
    ]
    wrong = []
    for listed, column, expected in cases:
        found = tk.candidate_remarks(listed, column=column)
        if len(found) != len(expected) or not all(map(str.startswith, found, expected)):
            wrong.append((listed, found))
    assert wrong == []


def test_what_is_no_list_is_refused() -> None:
    raises_exactly(tk.errors.ParameterError, lambda: tk.candidate_remarks([]), "at least one candidate")
    raises_exactly(tk.errors.ParameterTypeError, lambda: tk.candidate_remarks(["a"], column=3), "the name of a column")


# The largest of noisy counts, and all from a threshold on: functions of a release, held against sorting by hand.


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
        (lambda: tk.largest_counts(0), tk.errors.ParameterError, "k must be an integer >= 1"),
        (lambda: tk.largest_counts(True), tk.errors.ParameterTypeError, "k must be an integer >= 1"),
        (lambda: tk.largest_counts(1, []), tk.errors.ParameterError, "at least one"),
        (lambda: tk.counts_from(math.nan), tk.errors.ParameterError, "threshold must be a number"),
        (lambda: tk.counts_from("3"), tk.errors.ParameterError, "threshold must be a number"),
        (lambda: tk.largest_counts(1)(np.array([1, "x"], dtype=object)), tk.errors.DataTypeError, "array of numbers"),
        (lambda: tk.largest_counts(1)([1, 2]), tk.errors.DataTypeError, "a one-dimensional array"),
        (lambda: tk.largest_counts(3)(np.array([1, 2])), tk.errors.DataError, "at least k (3)"),
        (lambda: tk.counts_from(1, ["a"])(np.array([1, 2])), tk.errors.DataError, "as many as the counts (2)"),
    ],
)
def test_bad_arguments(call: Any, error: type[Exception], words: str) -> None:
    raises_exactly(error, call, words)
