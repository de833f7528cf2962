"""The whole beside its groups: all rows stay, and one release of both costs what an enumeration of its own finds.

Tries proofs/transformations/bound_contributions.tex.
"""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from tests.concepts.links import check_constructor, check_transformation
from tests.concepts.losses import realised
from tests.concepts.sentinels import SENTINEL_INT
from tests.concepts.specimens import Law, Specimen
from tests.oracles import floats

pl = pytest.importorskip("polars", reason="the tests of tables make them with polars")

GROUPED = tk.FrameDomain("buyer", "book", group="town"), tk.UserDistance()
INNER = tk.FrameDomain("buyer", "book"), tk.UserDistance()
RANGE = tk.RangeDivergence()
Rows = list[tuple[Any, Any, Any]]


def frame(rows: Rows) -> Any:
    return pl.DataFrame(rows, schema={"buyer": pl.Int64, "book": pl.String, "town": pl.Int64}, orient="row")


def chosen(space: Any, scale: Any, measure: tk.Measure = RANGE) -> Any:
    return space >> tk.then_count_by_item(candidates=["a", "b"]) >> tk.then_exponential_mechanism(measure, scale=scale)


def both(whole: Any, regions: Any, most: int, measure: tk.Measure = RANGE) -> tk.Measurement:
    everybody = chosen(GROUPED >> tk.then_drop_groups(), whole, measure)
    members = dict.fromkeys((0, 1), chosen(INNER, regions, measure))
    towns = GROUPED >> tk.then_partition_by(measure, measurements=members, max_groups=most)
    return tk.make_composition([everybody, towns])


def test_all_rows_stay_without_their_groups() -> None:
    link = check_constructor(tk.make_drop_groups, tk.then_drop_groups, GROUPED)
    rows: Rows = [(1, "a", 3), (1, "a", 3), (1, None, None), (2, "b", None), (None, "a", 1)]
    assert sorted(map(str, link(frame(rows)).collect().rows())) == sorted(str(row[:2]) for row in rows)
    counts = link >> tk.then_count_by_item(candidates=["a", "b"])
    check_transformation(
        counts, members=[frame([]), frame(rows[:2])], non_members=[[(SENTINEL_INT, 1)], None], distances=[1, 2, 5]
    )
    assert counts(frame(rows)).tolist() == [1, 1]


@pytest.mark.further
@pytest.mark.parametrize("most", [1, 2])
def test_the_whole_and_its_regions_cost_the_sum_whichever_is_dearer(most: int) -> None:
    """Against a person with any rows in two towns; the regions have less noise than the whole."""
    built, worst = both(5, 2, most), Fraction(0)
    others: Rows = [(0, "a", 0), (0, "b", 1)]
    baskets = ["", "a", "b", "ab"]
    nobody = built.distribution(frame(others))
    for person in itertools.product(baskets, repeat=2):
        rows = [(7, book, town) for town, basket in enumerate(person) for book in basket]
        everything = set().union(*map(set, person))
        kept = [basket for basket in person if basket][:most]
        lost = Fraction(len(everything) == 1, 5) + sum(Fraction(len(basket) == 1, 2) for basket in kept)
        assert abs(realised(RANGE, built.distribution(frame(others + rows)), nobody) - lost) < 1e-12
        worst = max(worst, lost)
    assert built.exact_map(1) == worst == Fraction(1, 5) + most * Fraction(1, 2)


def specimens() -> list[Specimen]:
    link = tk.make_drop_groups(*GROUPED)
    rows: Rows = [(1, "a", 0), (2, "a", 1), (2, "b", 1), (3, "b", None)]

    def law(table: Any) -> Law:
        held = {row[:2] for row in table.rows()}
        counts = [sum(book == one for _, book in held) for one in "ab"]
        return dict(enumerate(floats.softmax(np.array([counts], dtype=float))[0].tolist()))

    return [
        Specimen(link, (frame(rows), frame(rows[:3])), law, measurement=chosen(GROUPED >> tk.then_drop_groups(), 1))
    ]
