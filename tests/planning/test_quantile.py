"""A quantile that is planned: its noise, how near its rank is promised to be, and how the number is written.

Tries proofs/planning/joined_items.tex and proofs/planning/numbered_rows.tex.
"""

import itertools
import math
import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.apps.planning import units
from opendp_topk.apps.planning.plan import Query, plan_query
from opendp_topk.apps.planning.quantile import IndexGridNumbers, NumericColumns, QuantileTask, format_rows
from opendp_topk.apps.planning.units import ROW, Budget, Columns, add_joined_column, join_item_parts, numbered_rows
from tests.concepts.spaces import PURE, ZCDP

pl = pytest.importorskip("polars", reason="the tests of tables make them with polars")

HALF = Fraction(1, 2)
SEVERAL = re.compile(r"b is (\S+), plus (\d+) for each started block of (\d+) rows beyond the first \3 rows")
WORDS = re.compile(r"at most (\S+) N \+ (\S+) of the N counted rows are below .*at most (\S+) N \+ (\S+) are above it")


def columns(quantile: Fraction = HALF, bounds: tuple[int, int] = (0, 9), **more: Any) -> NumericColumns:
    low, high = map(Fraction, bounds)
    return NumericColumns("u", value="v", quantiles=(quantile,), bounds=(low, high), **more)


def plan_of(own: NumericColumns, budget: Budget, unit: tuple[str, int] = ("add_remove", 1)) -> Any:
    return plan_query(Query(QuantileTask.from_columns(own), units.UserUnit(*unit, own), budget, alpha=Fraction(1, 20)))


def moved(own: NumericColumns, unit: tuple[str, int]) -> int:
    """By how much one score rises or falls at most."""
    (share,) = own.quantiles
    p, q = share.numerator, share.denominator
    return unit[1] * own.max_rows * (q if unit[0] == "replace" else max(p, q - p))


@pytest.mark.parametrize("unit", [("add_remove", 1), ("replace", 2)])
@pytest.mark.parametrize("own", [columns(), columns(Fraction(9, 10), max_rows=3), columns(Fraction(1, 3), (-5, 90))])
def test_noise_and_promise_are_those_of_formulas(own: NumericColumns, unit: tuple[str, int]) -> None:
    number, q = int(own.bounds[1] - own.bounds[0]) + 1, own.quantiles[0].denominator
    pure = 2.0 * moved(own, unit) / 0.5
    concentrated = 2 * moved(own, unit) / math.sqrt(8 * 0.125)
    for measure, d_out, scale in ((PURE, 0.5, pure), (ZCDP, 0.125, concentrated)):
        plan = plan_of(own, Budget(measure, d_out), unit)
        # Under rho a sharper bound than that of the range may be known: the least scale is no larger.
        assert plan.scale == pytest.approx(scale) if d_out == 0.5 else 0.5 * scale < plan.scale <= scale * (1 + 1e-9)
        reach = math.floor(plan.scale * math.log(number / 0.05))
        promise = plan.query.task.accuracy_guarantees(plan)["accuracy"]
        below, one, above, other = map(Fraction, WORDS.search(promise.words).groups())  # type: ignore[union-attr]
        share = own.quantiles[0]
        assert (below, above, one, other) == (share, 1 - share, Fraction(reach, q), Fraction(reach, q))
        assert promise.within_users == (math.ceil(reach / q) if own.max_rows == 1 else None)


@pytest.mark.slow
def test_what_is_promised_of_ranks_is_what_the_scores_say() -> None:
    """Whatever comes within the bound of the scores keeps the promise, and in some table just so."""
    for quantile in (HALF, Fraction(1, 3), Fraction(9, 10)):
        own, tight = columns(quantile, (0, 3)), False
        plan = plan_of(own, Budget(PURE, 2.0 * quantile.denominator))
        shares = WORDS.search(plan.query.task.accuracy_guarantees(plan)["accuracy"].words)
        below, reach, above, _ = map(Fraction, shares.groups())
        bound = plan.measurement.accuracy(4, 0.05)
        scores = own.score_transformation("add_remove", None)
        for size in range(1, 9):
            for values in itertools.combinations_with_replacement((0, 1, 3), size):
                found = scores(pl.DataFrame({"u": range(size), "v": values}))
                for candidate, score in enumerate(found.tolist()):
                    over = max(
                        sum(value < candidate for value in values) - below * size,
                        sum(value > candidate for value in values) - above * size,
                    )
                    if score >= -bound:
                        assert over <= reach
                        tight = tight or over == reach
        assert tight, quantile


@pytest.mark.parametrize("step", [Fraction(1), Fraction(5), Fraction(1, 100), Fraction(1, 3), Fraction(3, 7)])
def test_a_number_is_written_as_the_very_same(step: Fraction) -> None:
    for place, least in itertools.product((0, 1, 6, 99), (-50, 0, 2**31 - 99)):
        (written,) = IndexGridNumbers(least, step)([place])
        assert Fraction(written) == (least + place) * step
        assert isinstance(written, int) == (Fraction(written).denominator == 1)
        assert units.serialize_grid_number(Fraction(written)) == written
    assert IndexGridNumbers(-1, Fraction(1, 4))(0) == ["-0.25"]
    assert IndexGridNumbers(1, Fraction(1, 3))([1, 2]) == ["2/3", 1]


def test_what_is_no_candidate_as_it_is_written_is_none() -> None:
    own = columns(bounds=(-1, 2), step=Fraction(1, 4))
    numbers = [Fraction(n, 4) for n in range(-4, 9)]
    assert all(own.is_candidate(units.serialize_grid_number(one)) for one in numbers)
    wrong = ["0.3", "2.25", "-1.25", "0.250", "1", 3, -2, "1/4", "", "x", "1e999999999", "1/0", " 0.25", "nan"]
    assert not any(map(own.is_candidate, wrong))
    assert columns(step=Fraction(1, 3)).is_candidate("1/3")


def test_what_is_released_ascends_and_may_be_equal() -> None:
    own = columns(bounds=(-1, 2), step=Fraction(1, 4))
    for possible in ([], ["-0.5", "-0.25", 1, 2], [1, 1, "1.25"], ["0.25"]):
        assert own.is_possible_release(possible)
    for wrong in ([1, "0.75"], ["-0.25", "-0.5"], [2, 3], ["0.25", "1"], [2, 1]):
        assert not own.is_possible_release(wrong)


@pytest.mark.further
@pytest.mark.parametrize("unit", [("add_remove", 1), ("replace", 2)])
def test_several_have_the_noise_and_the_promise_of_formulas(unit: tuple[str, int]) -> None:
    """The middle one is off by beta, and a quartile by beta and half of what the median is, and of a tied row."""
    quarters = tuple(Fraction(n, 4) for n in (1, 2, 3))
    for bounds, most, places in (((0, 9), 1, 64), ((-5, 90), 3, 64), ((0, 2**20 - 1), 1, 16)):
        own = replace(columns(bounds=bounds, max_rows=most), quantiles=quarters)
        plan = plan_of(own, Budget(PURE, 0.5), unit)
        moved_rows = unit[1] * most * (2 if unit[0] == "replace" else 1)
        assert plan.scale == pytest.approx(2 * moved_rows / 0.5)
        assert plan.measurement.map(unit[1]) <= 0.5
        beta = plan.scale * math.log(3 * (bounds[1] - bounds[0] + 1) * places / 0.05)
        promise = plan.query.task.accuracy_guarantees(plan)["accuracy"]
        found = SEVERAL.search(promise.words)
        assert float(found[1]) == pytest.approx(1.5 * beta + 0.5, rel=1e-5)
        assert Fraction(found[1]) >= Fraction(plan.measurement.accuracy(own.n_candidates, 0.05))
        assert (int(found[2]), int(found[3]), promise.within_users) == (1, places, None)
        assert plan.accuracy == math.ceil(plan.query.task.row_error_bound(plan))
    assert [format_rows(Fraction(n, 100)) for n in (100, 150, 10000001)] == ["1", "1.5", "100001"]
    assert format_rows(Fraction(2**60, 100)) == "11529300000000000"


def test_quantiles_that_do_not_ascend_are_refused() -> None:
    for quantiles in ((HALF, HALF), (HALF, Fraction(1, 3)), (Fraction(1, 997), Fraction(1, 991))):
        with pytest.raises(tk.errors.ParameterError, match="quantiles"):
            QuantileTask.from_columns(replace(columns(), quantiles=quantiles))


def test_a_grid_that_has_too_few_numbers_is_refused() -> None:
    for own in (columns(bounds=(1, 1)), columns(bounds=(0, 2**25)), columns(bounds=(0, 9), step=Fraction(10))):
        with pytest.raises(tk.errors.ParameterError, match="bounds"):
            QuantileTask.from_columns(own)


# Rows that are taken for users: what one person with so many of them moves, on all small tables.


ITEMS = ("a", "b", "c")
TABLES = [rows for size in range(4) for rows in itertools.combinations_with_replacement(ITEMS, size)]


def frame(rows: tuple[str, ...]) -> pl.DataFrame:
    return pl.DataFrame({"item": list(rows)}, schema={"item": pl.String})


def counts(rows: tuple[str, ...], most: int | None = None) -> list[int]:
    columns = Columns(ROW, "item", max_items=most, keep="order")
    found: list[int] = columns.score_transformation("add_remove", ITEMS)(columns.prepare_rows(frame(rows))).tolist()
    return found


@pytest.mark.further
def test_counts_are_of_rows_and_one_person_moves_what_is_said() -> None:
    """Every table of at most three rows, with every person of at most r more: L1, each count, and how many move."""
    before = {rows: counts(rows) for rows in TABLES}
    for rows, found in before.items():
        assert found == [rows.count(item) for item in ITEMS] == counts(rows, 1)
    for most in (1, 2, 3):
        moved = Counter[str]()
        for rows, size in itertools.product(TABLES, range(1, most + 1)):
            for own in itertools.combinations_with_replacement(ITEMS, size):
                after = counts(tuple(sorted(rows + own))) if len(rows) + size > 3 else before[tuple(sorted(rows + own))]
                by = [abs(one - other) for one, other in zip(after, before[rows], strict=True)]
                moved["sum"] = max(moved["sum"], sum(by))
                moved["each"] = max(moved["each"], *by)
                moved["many"] = max(moved["many"], sum(one > 0 for one in by))
        assert dict(moved) == {"sum": most, "each": most, "many": most}


@pytest.mark.further
def test_a_measurement_costs_what_so_many_users_do_and_that_is_met() -> None:
    """Laplace noise on counts at r rows: the largest log ratio of two released vectors is r / scale, and no more."""
    columns, scale, most = Columns(ROW, "item", max_items=1, keep="order"), Fraction(2), 3
    noisy = columns.score_transformation("add_remove", ITEMS) >> tk.then_noisy_histogram(PURE, scale=scale)
    worst = max(
        sum(abs(one - other) for one, other in zip(counts(rows), counts(less), strict=True)) / scale
        for rows in TABLES
        for less in TABLES
        if not Counter(less) - Counter(rows) and len(rows) - len(less) <= most
    )
    assert Fraction(noisy.map(most)) == worst == Fraction(3, 2)


def test_every_row_gets_a_number_and_every_row_counts_for_a_quantile() -> None:
    table = pl.DataFrame({"minutes": [1.0, 1.0, None, 5.0, 2.5]})
    own = NumericColumns(ROW, value="minutes", bounds=(Fraction(0), Fraction(5)), step=Fraction(1, 2))
    read = own.prepare_rows(table).collect()
    assert read[ROW].n_unique() == 5
    assert own.column_names == ("minutes",)
    score = own.score_transformation("add_remove", None)(own.prepare_rows(table))  # of 1, 1, 2.5 and 5
    assert score.tolist() == [-4, -4, 0, 0, 0, 0, -2, -2, -2, -2, -2]
    assert own.contribution_clause == "every row is counted"


def test_a_column_of_that_name_is_not_overwritten() -> None:
    with pytest.raises(tk.errors.DataError, match="rename it"):
        numbered_rows(pl.DataFrame({ROW: [7, 7], "item": ["a", "b"]}))


def test_sentences_are_of_rows() -> None:
    assert units.users_to_rows("1 user, 2 users; a username") == "1 row, 2 rows; a username"


# Items of several columns: no two of them are one text, and each is read back.


ENTRIES = ["".join(signs) for size in range(4) for signs in itertools.product("a,\\", repeat=size)]
PAIRS = list(itertools.product(ENTRIES, repeat=2))


def test_all_short_entries_are_read_back_and_no_two_lists_are_one_text() -> None:
    """1,600 pairs of texts of at most three signs, with all singles and some triples: every text is another."""
    lists = [[one] for one in ENTRIES] + [list(pair) for pair in PAIRS]
    lists += [list(three) for three in itertools.product(ENTRIES[:13], repeat=3)]
    texts = [join_item_parts(one) for one in lists]
    assert len(set(texts)) == len(lists)
    assert list(map(units.split_item_parts, texts)) == lists


def test_a_frame_joins_as_the_function_does() -> None:
    frame = pl.DataFrame(PAIRS, schema=["one", "two"], orient="row")
    assert add_joined_column(frame, ["one", "two"])["one,two"].to_list() == list(map(join_item_parts, PAIRS))
    mixed = pl.DataFrame({"n": [-7, 0, 2**63 - 1], "c": ["a", None, "b"]}, schema_overrides={"c": pl.Categorical})
    assert add_joined_column(mixed, ["c", "n"])["c,n"].to_list() == ["a,-7", None, "b,9223372036854775807"]


def test_columns_that_hold_no_identifiers_are_refused() -> None:
    frame = pl.DataFrame({"a": ["x"], "f": [1.5], "b": [True], "^t$": ["x"]})
    for name in ("f", "b", "^t$"):
        with pytest.raises(tk.errors.DataError, match="integers, strings or categories"):
            add_joined_column(frame, ["a", name])


def test_one_user_moves_the_items_of_several_columns_as_those_of_one() -> None:
    """Every set of at most two pairs of another user, over two columns of two entries with a comma each."""
    cells = list(itertools.product(["a", "a,"], [",a", "a"]))
    columns = Columns("u", join_item_parts(["x", "y"]), parts=("x", "y"))
    scores = columns.score_transformation("add_remove", list(map(join_item_parts, cells)))

    def counts(rows: list[tuple[int, tuple[str, str]]]) -> list[int]:
        table = pl.DataFrame([(u, x, y) for u, (x, y) in rows], schema={"u": int, "x": str, "y": str}, orient="row")
        found: list[int] = scores(columns.prepare_rows(table)).tolist()
        return found

    before = [(1, cell) for cell in cells] + [(2, cells[0]), (2, cells[0])]
    base = counts(before)
    assert base == [2, 1, 1, 1]
    for size in (1, 2):
        for own in itertools.combinations(cells, size):
            moved = [one - other for one, other in zip(counts(before + [(3, cell) for cell in own]), base, strict=True)]
            assert moved == [int(cell in own) for cell in cells]


def test_what_could_be_released_has_an_entry_for_each_column() -> None:
    two = Columns("u", join_item_parts(["x", "y"]))
    assert two.is_possible_release([["a", "b"], ["a,", "b"], ["a", ",b"]])
    for wrong in ([["a", "b"], ["a", "b"]], [["a"]], [["a", "b", "c"]], [["a", "b"], "a,b"]):
        assert not two.is_possible_release(wrong)
    assert not Columns("u", "x").is_possible_release([["a", "b"]])


@pytest.mark.parametrize(("bounds", "step"), [("0,9", "1/3"), ("-0.5,2.5", "0.25"), ("0,9", "1")])
def test_the_options_of_a_record_ask_for_the_same_numbers(bounds: str, step: str) -> None:
    unit, budget = tk.planning.TableUnit(user="who"), tk.planning.PrivacyBudget(epsilon=2)
    two = np.array([0.25, 0.5])
    question = tk.planning.Quantile(quantile=two, column="n", bounds=bounds, step=step, unit=unit, budget=budget)
    record = question.plan().release(pl.DataFrame({"who": [1, 2, 3], "n": [1, 2, 2]})).record
    again = tk.planning.question_from_dict(question.record_options(record))
    assert again.plan().measurement.parameters == question.plan().measurement.parameters
