"""Scores of candidates for a quantile: their values, how far neighbours move them, and a quantile chosen privately."""

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from tests.concepts.links import check_constructor, check_transformation
from tests.concepts.sentinels import SENTINEL_INT, SENTINEL_TEXT
from tests.concepts.spaces import PURE, RANGE
from tests.concepts.specimens import Law, Specimen
from tests.oracles import floats
from tests.oracles.totals import on_grid
from tests.tables.test_totals import BACK_ENDS, KINDS, pandas_frame, random_rows
from tests.tables.test_totals import frame as sales

pl = pytest.importorskip("polars", reason="the tests of tables make them with polars")

DOMAIN = tk.FrameDomain("reader", value="age")
SPACE = DOMAIN, tk.UserDistance()
HALF = Fraction(1, 2)
Rows = list[tuple[Any, Any]]


def frame(rows: Rows, kind: Any = None) -> Any:
    return pl.DataFrame(rows, schema={"reader": pl.Int64, "age": kind or pl.Int64}, orient="row")


def kept(rows: Rows, step: Fraction, ends: tuple[int, int], most: int) -> list[int]:
    """The numbers that count, in steps."""
    own: dict[Any, list[int]] = {}
    for user, number in rows:
        if user is not None and number is not None and number == number:
            own.setdefault(user, []).append(max(ends[0], min(ends[1], on_grid(number, step))))
    found = []
    for numbers in own.values():
        ordered, n = sorted(numbers), len(numbers)
        found += ordered if n <= most else [ordered[(2 * j + 1) * n // (2 * most)] for j in range(most)]
    return found


def scored(numbers: Sequence[int], ends: tuple[int, int], quantile: Fraction) -> list[int]:
    """By how many rows, times the denominator, each candidate fails to be a quantile."""
    p, q, n = quantile.numerator, quantile.denominator, len(numbers)
    found = []
    for candidate in range(ends[0], ends[1] + 1):
        too_many_below = sum(number < candidate for number in numbers) * q - n * p
        too_many_above = sum(number > candidate for number in numbers) * q - n * (q - p)
        found.append(-max(too_many_below, too_many_above, 0))
    return found


@pytest.mark.quick(make=("polars_frame", "pyarrow_table"), kind=("integers", "cents"))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", BACK_ENDS, ids=lambda make: make.__name__)
def test_every_back_end_agrees_with_the_reference(make: Callable[[Any], Any], kind: str) -> None:
    dtype, _, step = KINDS[kind]
    if make is pandas_frame and kind == "decimals":
        pytest.skip("pandas holds decimals as objects, which are refused")
    for seed, size in enumerate((0, 1, 12, 50)):
        rows = random_rows(kind, size, seed)
        table = make(sales(rows, dtype))
        exact = [(u, i, v if kind != "cents" or v is None else Fraction(str(v))) for u, i, v in rows]
        for user, at in (("user", 0), ("item", 1)):
            for most, quantile in ((1, HALF), (3, Fraction(9, 10)), (100, Fraction(1, 4))):
                domain, bounds = tk.FrameDomain(user, value="paid"), (-2 * step, 9 * step)
                link = tk.make_quantile_scores(
                    domain, SPACE[1], quantile=quantile, bounds=bounds, granularity=step, max_rows=most
                )
                numbers = kept([(row[at], row[2]) for row in exact], step, (-2, 9), most)
                assert link(table).tolist() == scored(numbers, (-2, 9), quantile)


@pytest.mark.slow
def test_the_scores_that_are_0_are_those_of_the_quantiles() -> None:
    """By the sorted rows: those from the ceil(N p / q)-th smallest to the one after the floor(N p / q)-th."""
    for n, quantile in itertools.product(range(1, 6), (HALF, Fraction(9, 10), Fraction(1, 3), Fraction(2, 5))):
        link = tk.make_quantile_scores(*SPACE, quantile=quantile, bounds=(0, 3))
        for numbers in itertools.combinations_with_replacement(range(4), n):
            whole = n * quantile
            least, greatest = numbers[max(0, -(-whole // 1) - 1)], numbers[min(n - 1, whole // 1)]
            scores = link(frame(list(enumerate(numbers))))
            assert np.flatnonzero(scores == 0).tolist() == list(range(least, greatest + 1))


def neighbours(most: int) -> list[dict[int, tuple[int, ...]]]:
    """Every table of two users, each absent or with one to ``most + 1`` numbers."""
    own = [None, *(n for size in range(1, most + 2) for n in itertools.combinations_with_replacement((0, 1, 3), size))]
    pairs = itertools.product(own, repeat=2)
    return [{user: numbers for user, numbers in enumerate(pair) if numbers is not None} for pair in pairs]


def differing(left: dict[int, Any], right: dict[int, Any], kind: str) -> int | None:
    """By how many users, as multisets of rows of users; None where they may not be compared."""
    come, go = Counter(right.values()) - Counter(left.values()), Counter(left.values()) - Counter(right.values())
    if kind == "replace":
        return come.total() if come.total() == go.total() else None
    same = sum(left.get(user) == right.get(user) is not None for user in (0, 1))
    return len(left) + len(right) - 2 * same


@pytest.mark.further
@pytest.mark.quick(kind="replace", quantile=(Fraction(3, 4),), most=1)
@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("quantile", [HALF, Fraction(3, 4), Fraction(1, 3)])
@pytest.mark.parametrize("kind", ["add_remove", "replace"])
def test_the_map_holds_on_all_neighbours_and_is_attained(kind: str, quantile: Fraction, most: int) -> None:
    """Beside many users who stay at one number: between two candidates, one score rises while another one falls."""
    link = tk.make_quantile_scores(DOMAIN, tk.UserDistance(kind), quantile=quantile, bounds=(0, 3), max_rows=most)
    backgrounds = [[(9 + n, number) for n in range(40)] for number in (0, 1, 3)]
    tables, spread = neighbours(most), tk.LInfDistance()
    found = []
    for table in tables:
        rows = [(user, number) for user, numbers in table.items() for number in numbers]
        found.append([scored(kept(rows + more, Fraction(1), (0, 3), most), (0, 3), quantile) for more in backgrounds])
    scores = np.array(found)
    farthest: dict[int, int] = dict.fromkeys((1, 2), 0)
    widest = dict(farthest)
    for one, left in enumerate(tables):
        distances = [differing(left, right, kind) for right in tables]
        change = scores - scores[one]
        length, width = np.abs(change).max(axis=(1, 2)), (change.max(axis=2) - change.min(axis=2)).max(axis=1)
        for d in farthest:
            at = [other for other, found_at in enumerate(distances) if found_at == d]
            if at:
                farthest[d], widest[d] = max(farthest[d], length[at].max()), max(widest[d], width[at].max())
    assert farthest == {d: link.map(d) for d in farthest}
    assert widest == {d: spread.range_distance(link.map(d)) for d in widest}


def test_rows_that_share_a_number_between_candidates_are_found() -> None:
    """All paid 5.3: the median on a grid of halves is 5.5, and nothing else has its score."""
    link = tk.make_quantile_scores(*SPACE, quantile=HALF, bounds=(0, 10), granularity=HALF)
    scores = link(frame([(user, 5.3) for user in range(9)], pl.Float64))
    assert np.flatnonzero(scores == 0).tolist() == [11]
    assert scores.max(where=np.arange(21) != 11, initial=-100) == -9


def test_of_a_user_with_many_rows_the_median_counts_or_some_that_are_evenly_spaced() -> None:
    rows: Rows = [(1, number) for number in (9, 0, 4, 4, 8, 7, 1)] + [(2, 3)]
    assert kept(rows, Fraction(1), (0, 9), 1) == [4, 3]
    assert kept(rows, Fraction(1), (0, 9), 3) == [1, 4, 8, 3]
    for most in (1, 2, 3, 6, 7, 8):
        link = tk.make_quantile_scores(*SPACE, quantile=HALF, bounds=(0, 9), max_rows=most)
        assert link(frame(rows)).tolist() == scored(kept(rows, Fraction(1), (0, 9), most), (0, 9), HALF)


def test_it_keeps_the_obligations_of_a_transformation() -> None:
    options = {"quantile": Fraction(3, 4), "bounds": (0, 5), "max_rows": 2}
    link = check_constructor(tk.make_quantile_scores, tk.then_quantile_scores, SPACE, **options)
    others = [[(SENTINEL_INT, 1)], frame([(1, SENTINEL_TEXT)], pl.String), None]
    tables = {"members": [frame([]), frame([(1, 2), (1, 900), (2, 3)])], "non_members": others}
    near = {
        "neighbours": [(frame([]), frame([(1, 5), (1, 5)]), 1)],
        "output_distance": lambda x, y: int(abs(x - y).max()),
    }
    check_transformation(link, **tables, distances=[1, 2, 5], **near)
    named = tk.VectorDomain(tk.AtomDomain(int), size=6, candidates=range(6), counts_users=False)
    assert link.output_domain.joined(named) is not None
    assert link.output_metric == tk.LInfDistance()


@pytest.mark.further
def test_bounds_that_are_taken_from_the_data_would_leak() -> None:
    """Somebody with the largest number is in one table: candidates of the other end before it."""
    ages = [(user, 20 + user) for user in range(9)]
    laws = []
    for rows in (ages, [*ages, (9, 31)]):
        bounds = min(age for _, age in rows), max(age for _, age in rows)
        chosen = (SPACE >> tk.then_quantile_scores(quantile=HALF, bounds=bounds)) >> tk.then_report_noisy_top_k(
            PURE, k=1, scale=2.0
        )
        laws.append({tk.multiples(bounds)[at] for (at,) in chosen.distribution(frame(rows))})
    assert 31 in laws[1] - laws[0]


def test_a_median_that_is_chosen_privately() -> None:
    rows = [(user, 20 + user % 41) for user in range(4100)]
    scores = SPACE >> tk.then_quantile_scores(quantile=HALF, bounds=(0, 120))
    chosen = scores >> tk.then_report_noisy_top_k(PURE, k=1, scale=2.0)
    median = chosen >> tk.index_candidates(tk.multiples((0, 120)))
    assert median.map(1) == 1.0
    # All others score -100 or less, 50 scales of noise below: one of them is released with a probability below 1e-18.
    assert median(frame(rows)).items == (40,)


@pytest.mark.parametrize(
    ("bounds", "granularity", "expected"),
    [
        ((0, 3), 1, [0, 1, 2, 3]),
        ((-5, 10), 5, [-5, 0, 5, 10]),
        ((0, Fraction(1, 2)), Fraction(1, 10), [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]),
        ((0.1, 0.9), 0.25, [0.25, 0.5, 0.75]),
        ((0, 1), 0.1, [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
        ((0.1, 0.7), Fraction(1, 10), [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]),
        ((np.float64(-0.3), 0.3), np.float64(0.1), [-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3]),
    ],
)
def test_candidates_are_multiples_within_the_bounds(bounds: Any, granularity: Any, expected: list[Any]) -> None:
    found = tk.multiples(bounds, granularity)
    assert found == expected
    assert list(map(type, found)) == list(map(type, expected))
    link = tk.make_quantile_scores(*SPACE, quantile=HALF, bounds=bounds, granularity=granularity)
    listed: Any = link.output_domain.candidates  # type: ignore[attr-defined]
    assert list(listed) == expected
    assert [listed[at] for at in range(len(expected))] == expected
    assert list(listed[1:]) == expected[1:]
    assert link.parameters["candidates"] == len(expected)
    counts = tk.make_count_by_number(*SPACE, bounds=bounds, granularity=granularity)
    assert counts.parameters["candidates"] == len(expected)


def specimens() -> list[Specimen]:
    link = tk.make_quantile_scores(*SPACE, quantile=HALF, bounds=(0, 2))

    def law(table: Any) -> Law:
        scores = np.array([scored(kept(table.rows(), Fraction(1), (0, 2), 1), (0, 2), HALF)], dtype=float)
        return dict(enumerate(floats.softmax(scores / 4)[0].tolist()))

    tables = frame([(1, 0), (2, 0), (3, 2), (4, 2), (5, 2)]), frame([(1, 0), (2, 0), (3, 2), (4, 2)])
    return [Specimen(link, tables, law, share=0.3, measurement=link >> tk.then_exponential_mechanism(RANGE, scale=4))]
