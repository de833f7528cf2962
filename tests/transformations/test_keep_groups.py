"""At most so many groups of each user: which, how likely, and that all of their rows stay.

Tries proofs/transformations/bound_contributions.tex.
"""

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.errors import DataTypeError, SpaceError
from tests.concepts.links import check_constructor
from tests.concepts.sentinels import raises_exactly
from tests.concepts.specimens import Specimen
from tests.oracles import floats
from tests.oracles.chi_square import assert_follows

pl = pytest.importorskip("polars", reason="the tests of tables make them with polars")

SPACE = tk.FrameDomain("member", "work"), tk.UserDistance()
MAX = tk.MaxDivergence()
GROUPED = tk.FrameDomain("member", "work", group="town"), tk.UserDistance()
Visits = tuple[tuple[str, int], ...]


def grouped(people: Sequence[Visits | None]) -> Any:
    rows = [(user, *row) for user, person in enumerate(people) if person for row in person]
    return pl.DataFrame(rows, schema={"member": pl.Int64, "work": pl.String, "town": pl.Int64}, orient="row")


def law_in_towns(people: Sequence[Visits | None], most: int, scale: float) -> dict[Any, float]:
    """The law of a choice in each of three towns: of each person every set of the right size of towns is as likely."""
    own = [{town for _, town in person} for person in people if person]
    choices = [list(itertools.combinations(sorted(one), min(most, len(one)))) for one in own]
    law: dict[Any, float] = {}
    for chosen in itertools.product(*choices):
        logs = []
        for town in range(3):
            here = [set(person) for person, kept in zip(filter(None, people), chosen, strict=True) if town in kept]
            counts = [sum((item, town) in person for person in here) for item in "ab"]
            logs.append(floats.softmax(np.array([counts], dtype=float) / scale)[0])
        for way in itertools.product((0, 1), repeat=3):
            chance = math.prod(1 / len(one) for one in choices)
            law[way] = law.get(way, 0.0) + chance * math.prod(float(logs[town][at]) for town, at in enumerate(way))
    return law


def in_towns(space: Any, most: int, measure: Any = MAX, by: str = "random", scale: float = 2.0) -> Any:
    count = (SPACE[0], tk.UserDistance()) >> tk.then_count_by_item(candidates=["a", "b"])
    best = count >> tk.then_exponential_mechanism(measure, scale=scale)
    kept = space >> tk.then_keep_groups(most=most, by=by, groups=range(3))
    return kept >> tk.then_partition_by(measure, measurements=dict.fromkeys(range(3), best), max_groups=most)


@pytest.mark.parametrize("kind", ["add_remove", "replace"])
@pytest.mark.parametrize("most", [1, 2])
def test_groups_kept_at_random_lose_no_more_than_the_map_says(most: int, kind: str) -> None:
    """The exact mixtures over the groups that are kept, on all pairs of tables of one person and another."""
    people: list[Visits | None] = [None]
    people += [own for n in (1, 2, 3) for own in itertools.combinations([("a", 0), ("b", 0), ("a", 1), ("b", 2)], n)]
    claim, worst = in_towns((GROUPED[0], tk.UserDistance(kind)), most).map(1), 0.0
    assert claim == (1 if kind == "add_remove" else 2) * most * 0.5
    for common in people[::2]:
        laws = [law_in_towns([common, one], most, 2.0) for one in people]
        for one, other in itertools.product(range(len(people)), repeat=2):
            if kind == "replace" or None in (people[one], people[other]):
                worst = max(worst, *(abs(math.log(laws[one][way] / laws[other][way])) for way in laws[one]))
    assert worst <= claim + 1e-12
    assert worst > 0.5 * claim


@pytest.mark.slow
def test_sets_of_groups_of_a_size_are_as_likely_as_each_other() -> None:
    keep = tk.make_keep_groups(*GROUPED, most=2)
    rows = [(user, item, town) for user in range(15_000) for town in range(3) for item in ("x", "y")[: 1 + (town == 0)]]
    table = pl.DataFrame(rows, schema=["member", "work", "town"], orient="row")
    kept = keep(table).collect()
    found: dict[int, set[int]] = {}
    for user, town in zip(kept["member"].to_list(), kept["town"].to_list(), strict=True):
        found.setdefault(user, set()).add(town)
    counts: Counter[Any] = Counter(tuple(sorted(own)) for own in found.values())
    assert_follows(counts, dict.fromkeys(itertools.combinations(range(3), 2), 1 / 3), detects=0.25)


def test_all_rows_of_the_groups_that_are_kept_stay() -> None:
    table = pl.DataFrame(
        {
            "town": [3, 3, 2, 2, 2, 1, 3, None, 2, 9],
            "other": range(10),
            "member": [1, 1, 1, 1, 1, 1, 2, 2, None, 2],
            "work": ["a", "a", "b", None, "c", "d", "e", "f", "g", "h"],
        }
    )
    second = [(1, "b", 2), (1, "c", 2), (1, None, 2)]
    for by, expected in {"order": [(1, "d", 1), *second], "rows": [(1, "a", 3), (1, "a", 3), *second]}.items():
        keep = tk.make_keep_groups(*GROUPED, most=2, by=by, groups=[1, 2, 3])
        assert Counter(keep(table).collect().rows()) == Counter([*expected, (2, "e", 3)])
        assert not keep.randomized
    everything = tk.make_keep_groups(*GROUPED, most=1, by="order")(table).collect()
    assert Counter(everything.rows()) == Counter([(1, "d", 1), (2, "e", 3)])
    drawn = tk.make_keep_groups(*GROUPED, most=2, groups=[1, 2, 3])
    assert {len({town for user, _, town in drawn(table).collect().rows() if user == 1}) for _ in range(9)} == {2}
    named = tk.make_keep_groups(*GROUPED, most=1, groups=["x"])
    raises_exactly(DataTypeError, lambda: named(table), "'town' contains integers")


@pytest.mark.further
def test_groups_after_a_choice_have_the_rules_of_a_randomised_transformation() -> None:
    check_constructor(tk.make_keep_groups, tk.then_keep_groups, GROUPED, most=1, by="order", groups=[1, 2])
    raises_exactly(SpaceError, lambda: in_towns(GROUPED, 2, tk.RangeDivergence()), "randomised transformation")
    ordered = in_towns(GROUPED, 2, tk.RangeDivergence(), by="order")
    assert (ordered.map(1), ordered.map(3)) == (1.0, 3.0)
    assert len(ordered.distribution(grouped([(("a", 0), ("b", 2))]))) == 8
    curve = in_towns(GROUPED, 2, tk.PrivacyProfile()).map(1)
    assert curve.delta(1.0) < 1e-12 < curve.delta(0.5)


def specimens() -> list[Specimen]:
    people: list[Visits | None] = [(("a", 0), ("b", 1)), (("a", 0), ("a", 1), ("b", 2))]
    made = Specimen(
        tk.make_keep_groups(*GROUPED, most=2, groups=range(3)),
        (grouped(people), grouped(people[:1])),
        lambda table: law_in_towns([tuple(r[1:] for r in table.rows() if r[0] == u) for u in (0, 1)], 2, 2.0),
        share=0.4,
        measurement=in_towns(GROUPED, 2),
    )
    return [made]
