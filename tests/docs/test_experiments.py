"""The experiments: counts from anywhere, budgets that hold, and formulas that agree with draws of the real samplers.

The draws decide with Chernoff's bound: that any of the twelve cells is refused although every formula is right has a
probability of at most one in a million.
"""

import csv
import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest

import opendp_topk as tk
from docs.experiments import cells, curves, lecture, mechanisms, noise, tables
from docs.experiments.vectors import Vector, folder, read, zipf
from tests.concepts.sentinels import raises_exactly

ROOT = Path(__file__).resolve().parents[2]
SMALL = Vector("small", np.array([40, 31, 31, 20, 12, 5]))


def test_zipf_adds_up_and_falls() -> None:
    vector = zipf(0.5, d=100, total=1e6)
    assert vector.counts.sum() == pytest.approx(1e6)
    assert vector.counts[0] / vector.counts[3] == pytest.approx(2)
    assert zipf(0.0).tied(10)


@pytest.mark.parametrize("suffix", [".npy", ".csv", ".parquet"])
def test_counts_are_read_from_files(suffix: str, tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    path = tmp_path / f"films.2020{suffix}"
    if suffix == ".npy":
        np.save(path, SMALL.counts)
    else:
        frame = polars.DataFrame({"film": list("abcdef"), "count": SMALL.counts})
        frame.write_csv(path) if suffix == ".csv" else frame.write_parquet(path)
    (found,) = folder(tmp_path)
    assert (found.name, found.counts.tolist()) == ("films", SMALL.counts.tolist())


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "square.npy", np.zeros((2, 2)))
    raises_exactly(ValueError, lambda: read(tmp_path / "square.npy"), "square.npy: must hold one finite number an item")
    raises_exactly(ValueError, lambda: read(tmp_path / "counts.txt"), "counts are read from")


@pytest.mark.parametrize("mechanism", mechanisms.TABLE, ids=lambda one: one.name)
def test_no_mechanism_costs_more_than_its_budget(mechanism: mechanisms.Mechanism) -> None:
    for k, epsilon in itertools.product((1, 3), (0.1, 0.7)):
        assert 0.99 * epsilon < mechanism.on(SMALL, k, epsilon).map(1) <= epsilon


def test_a_budget_is_the_least_that_reaches_the_goal() -> None:
    found = curves.budget(SMALL, 1, mechanisms.GUMBEL)
    chance = mechanisms.BY_NAME[mechanisms.GUMBEL].chance
    assert chance(SMALL, 1, found.epsilon, "exact").lower >= 0.99
    assert chance(SMALL, 1, found.epsilon / 1.001, "exact").upper < 0.99


def test_a_tie_makes_a_budget_unreachable_where_scores_outside_do_not_count() -> None:
    by_worst_member = curves.budget(SMALL, 2, "canonical, gamma 1")
    assert by_worst_member.epsilon == math.inf
    assert tables.shown(by_worst_member.epsilon) == tables.UNREACHABLE
    assert curves.budget(SMALL, 2, mechanisms.MARGIN).epsilon < math.inf
    assert tables.shown(None) == "–"


def test_a_curve_goes_from_hopeless_to_sure() -> None:
    points = curves.curve(SMALL, 1, mechanisms.MARGIN, "exact")
    assert [one.epsilon for one in points] == sorted(one.epsilon for one in points)
    assert points[-1].lower >= 1 - 1e-3
    assert all(one.lower <= one.upper for one in points)


@pytest.mark.parametrize("event", curves.EVENTS)
def test_an_event_is_what_its_words_say(event: str) -> None:
    """Twenty counts with ties: the event holds if it does in the order in which winners come first among equals."""
    counts = np.array([9, 9, 8, 7, 7, 7, 6, 5, 5, 4, 3, 3, 2, 2, 2, 1, 1, 0, 0, 0])
    generator = np.random.default_rng(7)
    sure, reach = {"exact": (10, 10), "great": (1, 11), "good": (1, 15)}[event]
    seen = set()
    for _ in range(200):
        winners = np.sort(generator.permutation(13)[:10])
        order = sorted(range(20), key=lambda item: (-counts[item], item not in winners))
        wanted = set(order[:sure]) <= set(winners.tolist()) <= set(order[:reach])
        assert cells.happened(counts, winners, 10, event) == wanted
        seen.add(wanted)
    assert seen == {True, False}


def test_a_wrong_formula_would_be_refused() -> None:
    right = cells.Cell("peeling-1", "small", 1.0, 0.5, 0.5, 5050, 10_000)
    assert right.agrees
    assert not cells.Cell("peeling-1", "small", 1.0, 0.52, 0.521, 4900, 10_000).agrees


@pytest.mark.slow
@pytest.mark.parametrize("name", cells.NAMED)
def test_a_cell_agrees_with_draws(name: str) -> None:
    vector = Vector("zipf", np.round(zipf(0.5, d=300, total=3e5).counts).astype(np.int64))
    assert cells.cell(vector, name).agrees


def test_the_lecture_is_met_and_its_price_is_not() -> None:
    shown = {one.quantity: one for one in lecture.voting() + lecture.pricing()}
    within = shown["votes below the best, with 99 %"]
    assert f"{within.here:.1f}" == within.lecture
    assert shown["expected loss in dollars at epsilon 1, by the formula"].here == pytest.approx(25.07, abs=0.01)


@pytest.mark.slow
def test_the_noise_of_the_post_and_ours() -> None:
    for delta, epsilon in ((1e-6, 0.1), (1e-2, 0.2)):
        laplace, post, here = (source(epsilon, delta) for source in (noise.qiao_su_zhang, noise.post, noise.here))
        assert post.selection <= laplace.selection / 4
        assert post.counts <= laplace.counts / 2
        assert here.selection < post.selection
        assert here.counts < post.counts


def test_permute_and_flip_ranges_further_than_the_post_bounds_it() -> None:
    assert all(one.proved > one.lower_bound for one in noise.widths())


def test_the_table_of_budgets_has_ratios() -> None:
    costs = zip(tables.COLUMNS, (3, 6, math.inf, 2, 1, math.nan), strict=True)
    rows = [curves.Budget("small", 2, name, cost) for name, cost in costs]
    text = tables.budgets(rows, [SMALL])
    assert text.splitlines()[-1] == "| small | 2 (tie) | 3 | 6 | unreachable | 2 | 1 | – | 3 | 2 | 3 |"


def test_the_page_has_the_table_of_the_file(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- budgets -->\nold\n<!-- end -->\nb\n", encoding="utf-8")
    tables.insert(page, "| new |\n")
    assert page.read_text(encoding="utf-8") == "a\n<!-- budgets -->\n\n| new |\n\n<!-- end -->\nb\n"
    page.write_text("", encoding="utf-8")
    raises_exactly(ValueError, lambda: tables.insert(page, ""), "must hold")
    with (ROOT / "docs" / "experiments" / "budgets.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    text = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
    for row in rows:
        if row["mechanism"] in tables.COLUMNS:
            cells_of = next(
                line for line in text.splitlines() if re.match(rf"\| {row['vector']} \| {row['k']}[ |]", line)
            )
            assert f"| {tables.shown(float(row['epsilon']))} |" in cells_of


def test_everything_is_named_that_is_public() -> None:
    slow = {name for name, one in mechanisms.BY_NAME.items() if one.most < 1000}
    assert slow == {mechanisms.JOINT, "canonical, margin, exponential noise"}
    assert isinstance(mechanisms.PURE, tk.MaxDivergence)
