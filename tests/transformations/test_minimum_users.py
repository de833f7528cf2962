"""The claims of make_minimum_users: what is left out, how far neighbours stay apart, what may follow."""

import itertools
import math
from fractions import Fraction
from typing import Any

import polars as pl
import pytest

import opendp_topk as tk
from opendp_topk.errors import ParameterError, ParameterTypeError, SpaceError
from opendp_topk.tables.held import EngineCounts
from opendp_topk.transformations.minimum_users import make_minimum_users, map_only_minimum, then_minimum_users
from opendp_topk.transformations.sum_by_item import map_only_sum
from tests.concepts.sentinels import raises_exactly
from tests.concepts.specimens import Specimen
from tests.oracles import unlisted

MAX = tk.Approximate(tk.MaxDivergence())
KEYED = tk.KeyedCountsDomain()
Counts = dict[str, int]


def build(least: int, most: int | None = 1, monotonic: bool = True) -> tk.Transformation:
    return make_minimum_users(KEYED, tk.KeyedCountDistance(most, monotonic), minimum_users=least)


def listed(size: int, monotonic: bool = True, **options: Any) -> tk.Transformation:
    domain = tk.VectorDomain(tk.AtomDomain(int), size=size)
    return make_minimum_users(domain, tk.LInfDistance(monotonic=monotonic), **{"minimum_users": 3} | options)


def reference(counts: Counts, least: int) -> Counts:
    return {key: count - least + 1 for key, count in counts.items() if count >= least}


def specimens() -> list[Specimen]:
    link = build(3)
    selection = link >> tk.then_partition_selection(MAX, epsilon=1, delta=0.125)

    def law(counts: Counts) -> dict[Any, float]:
        """The key's first chance is delta."""
        p = 0.125 if counts.get("a", 0) == 3 else 0.0
        return {("a",): p, (): 1 - p} if p else {(): 1.0}

    return [Specimen(link, ({"a": 3, "b": 1}, {"a": 2, "b": 1}), law, measurement=selection)]


def steps_apart(before: Counts, after: Counts) -> tuple[int, int]:
    """The largest rise, and the largest fall."""
    moved = [after.get(key, 0) - before.get(key, 0) for key in before.keys() | after.keys()]
    return max(0, *moved, 0), max(0, *(-n for n in moved), 0)


@pytest.mark.slow
def test_one_user_stays_one_user_and_touches_no_other_key() -> None:
    for most, kind in itertools.product((1, 2), ("add_remove", "replace")):
        for least in (1, 2, 3):
            link = build(least, most, kind == "add_remove")
            for h in itertools.product(range(5), repeat=3):
                for move in unlisted.moves(most, kind, 3):
                    other = tuple(a + b for a, b in zip(h, move, strict=True))
                    if min(other) < 0:
                        continue
                    images = [link({k: n for k, n in zip("abc", x, strict=True) if n}) for x in (h, other)]
                    moved = [images[1].get(key, 0) - images[0].get(key, 0) for key in "abc"]
                    assert all(m in (0, n) for m, n in zip(moved, move, strict=True)), (h, other, least)


@pytest.mark.further
def test_counts_of_a_list_stay_as_near_as_they_are() -> None:
    for x, y in itertools.product(itertools.product(range(-1, 5), repeat=2), repeat=2):
        link = listed(2, candidates=["a", "b"])
        rises, falls = steps_apart(*(dict(link(list(one))) for one in (x, y)))
        before = [b - a for a, b in zip(x, y, strict=True)]
        assert rises <= max(0, *before)
        assert falls <= max(0, *(-n for n in before))
    assert listed(1, candidates=[7])([2**63 - 1]) == {7: 2**63 - 3}
    assert listed(1, candidates=[7], minimum_users=1)([2**70]) == {7: 2**63 - 1}
    assert [listed(1, candidates=[7]).map(d) for d in (0, 1, 2.5)] == [0, 1, 2]
    raises_exactly(ParameterError, lambda: listed(1, candidates=[7]).map(math.inf), "finite")
    for monotonic in (True, False):
        assert listed(1, monotonic, candidates=[7]).output_metric == tk.KeyedCountDistance(None, monotonic)


def test_keys_of_fewer_users_are_never_released_and_counts_are_those_of_users() -> None:
    counts = {"a": 500, "b": 9, **{f"own {n}": 1 for n in range(200)}}
    space = KEYED, tk.KeyedCountDistance(1)
    wide = {"scale": 2.0, "threshold": 2}
    chain = (
        space >> then_minimum_users(minimum_users=10) >> tk.then_stable_histogram(MAX, **wide) >> tk.add_to_counts(9)
    )
    for _ in range(20):
        found = chain(counts)
        assert found.items == ("a",)
        assert 400 < found.counts[0] < 600
    assert chain.map(1) == (space >> tk.then_stable_histogram(MAX, **wide)).map(1)
    best = (
        space
        >> then_minimum_users(minimum_users=10)
        >> tk.then_unknown_domain_top_k(MAX, k=2, limit=5, scale=1.0, threshold=3.0, noise=tk.noise.Exponential())
    )
    assert best(counts).items == ("a",)
    table = tk.VectorDomain(tk.AtomDomain(int), size=3), tk.LInfDistance(monotonic=True)
    public = table >> then_minimum_users(minimum_users=10, candidates=["x", "y", "z"])
    selected = public >> tk.then_unknown_domain_top_k(MAX, k=2, limit=3, scale=1.0, delta=1e-6)
    assert selected([900, 9, 800]).items == ("x", "z")


def test_counts_that_an_engine_holds_stay_there() -> None:
    asked = []

    def best(n: int | None) -> Counts:
        asked.append(n)
        return dict([("a", 9), ("b", 4), ("c", 4), ("d", 1)][:n])

    image: Any = build(4)(EngineCounts(best))
    assert isinstance(image, EngineCounts)
    assert asked == []
    assert image.largest(3) == {"a": 6, "b": 1, "c": 1}
    assert image.largest(4) == {"a": 6, "b": 1, "c": 1}
    assert dict(image) == reference({"a": 9, "b": 4, "c": 4, "d": 1}, 4)


def test_without_a_delta_nothing_may_follow() -> None:
    table = tk.VectorDomain(tk.AtomDomain(int), size=2), tk.LInfDistance(monotonic=True)
    public = table >> then_minimum_users(minimum_users=3, candidates=["x", "y"])
    for measure in (tk.MaxDivergence(), tk.ZeroConcentratedDivergence()):
        raises_exactly(
            ParameterTypeError, lambda measure=measure: public >> tk.then_report_noisy_top_k(measure, k=1, scale=1.0)
        )


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: listed(2), ParameterError, "candidates"),
        (lambda: listed(2, candidates=["a"]), ParameterError, "as many"),
        (
            lambda: make_minimum_users(
                tk.VectorDomain(tk.AtomDomain(float), size=1), tk.LInfDistance(), minimum_users=2, candidates=["a"]
            ),
            ParameterError,
            "integers",
        ),
        (lambda: tk.add_to_counts(1.5), ParameterTypeError, "integer"),
        (lambda: tk.add_to_counts(9)(("a", "b")), ParameterTypeError, "releases counts"),
    ],
)
def test_bad_arguments(make: Any, error: type[Exception], words: str) -> None:
    raises_exactly(error, make, words)


def test_what_is_no_number_of_users_is_refused() -> None:
    """An item of three users with a sum of 150 has no ten users: 150 - 9 would come out with certainty."""
    valued, users = tk.FrameDomain("buyer", "book", value="paid"), tk.UserDistance()
    numbers = tk.FrameDomain("buyer", value="paid")
    tables = tk.FrameDomain("buyer", "book")
    ten = then_minimum_users(minimum_users=10)
    half = Fraction(1, 2)
    for before in (
        (valued, users) >> tk.then_sum_by_item(candidates=None, bounds=(0, 50)),
        (valued, users) >> tk.then_sum_by_item(candidates=["a", "b"], bounds=(0, 50)),
        (valued, users) >> tk.then_sum_by_item(candidates=["a", "b"], bounds=(0, 50), max_items=1),
        (valued, users) >> tk.then_sum_by_item(candidates=["a"], bounds=(0, 1), granularity=half),
        (numbers, users) >> tk.then_quantile_scores(quantile=half, bounds=(0, 3)),
        (tables, users) >> tk.then_cap_scores(caps=[1, 2], share=half),
        (tables, users) >> tk.then_count_outside(items=["a"], output_metric=tk.LInfDistance(), max_rows=2),
        map_only_sum(valued, users, n_candidates=1, bounds=(0, 50)),
    ):
        raises_exactly(SpaceError, lambda before=before: before >> ten, "numbers of users")
    plain = listed(2, candidates=["a", "b"], minimum_users=10)
    sums = (valued, users) >> tk.then_sum_by_item(candidates=["a", "b"], bounds=(0, 50))
    raises_exactly(SpaceError, lambda: sums >> plain, "numbers of users")
    nameless = map_only_sum(valued, users, n_candidates=4, bounds=(0, 50)).output_domain
    metric = tk.LInfDistance(monotonic=True)
    raises_exactly(SpaceError, lambda: map_only_minimum(nameless, metric, minimum_users=9), "numbers of users")


@pytest.mark.further
def test_no_table_of_fewer_users_leaves_a_key() -> None:
    """Every chain from a table that is not refused: of three users no key has a minimum of four, whatever they do."""
    rows = list(itertools.product((1, 2, 3), ("a", "b"), (0, 9)))
    some = list(itertools.combinations(rows, 3))[::11]
    tables = [pl.DataFrame([*three], schema=["u", "i", "v"], orient="row") for three in some]
    tables.append(pl.DataFrame(rows * 3, schema=["u", "i", "v"], orient="row"))
    users, built = tk.UserDistance(), 0
    pairs, numbers = tk.FrameDomain("u", "i"), tk.FrameDomain("u", value="v")
    valued = tk.FrameDomain("u", "i", value="v")
    half = Fraction(1, 2)
    before: list[Any] = [
        *((pairs, users) >> tk.then_count_by_item(candidates=one, max_items=2) for one in (None, ["a", "b"])),
        *((pairs, tk.UserDistance("replace")) >> tk.then_count_by_item(candidates=one) for one in (None, ["a", "b"])),
        *(
            (valued, users) >> tk.then_sum_by_item(candidates=one, bounds=(0, top))
            for one in (None, ["a", "b"])
            for top in (1, 9)
        ),
        (valued, users) >> tk.then_sum_by_item(candidates=["a", "b"], bounds=(-3, 1)),
        (pairs, users) >> tk.then_cap_scores(caps=[1, 2], share=half),
        (numbers, users) >> tk.then_quantile_scores(quantile=half, bounds=(0, 3)),
        *(
            (pairs, users) >> tk.then_count_outside(items=["a"], output_metric=tk.LInfDistance(), max_rows=n)
            for n in (1, 3)
        ),
    ]
    for first in before:
        given = {"candidates": ["b"]} if first.parameters.get("transformation") == "count_outside" else {}
        try:
            chain = first >> then_minimum_users(minimum_users=4, **given)
        except SpaceError:
            continue
        built += 1
        assert all(chain(table) == {} for table in tables), first.parameters
    assert built == 8
