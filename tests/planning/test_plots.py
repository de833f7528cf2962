"""Plots of what a budget buys: every point is that of a comparison at its budget, under titles, units and names."""

import sys
from typing import Any

import pytest

import opendp_topk as tk

from ..concepts.sentinels import raises_exactly

SPACE = tk.VectorDomain(tk.AtomDomain(int), size=9), tk.LInfDistance(monotonic=True)
SCORES = [40, 30, 9, 8, 7, 6, 5, 4, 3]
PURE = tk.MaxDivergence()


@pytest.fixture(autouse=True)
def agg() -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra plot)")
    matplotlib.use("agg")


def at(budget: float) -> tk.planning.Comparison:
    return tk.planning.compare(*SPACE, PURE, k=2, d_out=budget, release="set")


def points(axes: Any) -> dict[str, list[tuple[float, float]]]:
    """The points of each mechanism, by its name; a label has the colour of its line, and is joined to a point of it."""
    named = [(text.get_color(), tuple(text.xy), text.get_text()) for text in axes.texts]
    assert len(named) == len(axes.lines)
    found = {}
    for line in axes.lines:
        drawn = list(zip(*line.get_data(), strict=True))
        (label,) = [text for colour, point, text in named if colour == line.get_color() and point in drawn]
        found |= dict.fromkeys(label.replace("\n", " ").split(", "), drawn)
    return found


@pytest.mark.slow
def test_accuracy_against_cost() -> None:
    axes = at(1.0).plot_accuracy([0.5, 2.0])
    expected = {budget: {row.name: row.accuracy for row in at(budget)} for budget in (0.5, 2.0)}
    for name, line in points(axes).items():
        assert line == [(budget, pytest.approx(expected[budget][name])) for budget in (0.5, 2.0)]
    assert set(points(axes)) == set(expected[0.5])
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("epsilon", "largest shortfall of a winner (units of the scores)")
    assert axes.get_title() == "Accuracy against cost: bounds for all scores, at 95 %"
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["0.5", "2"]


@pytest.mark.slow
def test_success_against_cost() -> None:
    axes = at(1.0).plot_success(SCORES, budgets=[0.25, 1.0])
    found = points(axes)
    for budget, place in ((0.25, 0), (1.0, 1)):
        for row in at(budget):
            likely = row.measurement.success_probability(SCORES).lower
            assert found[row.name][place] == (budget, pytest.approx(likely, rel=1e-4))
    assert axes.get_ylabel() == "probability of an exact release"
    assert axes.get_title() == "Success against cost: sets of 2, on these scores"


@pytest.mark.slow
def test_budgets_of_its_own_and_of_pairs() -> None:
    axes = at(1.0).plot_accuracy()
    assert [x for x, _ in points(axes)["joint"]] == [0.125, 0.25, 0.5, 1, 2, 4, 8]
    pair = tk.planning.compare(*SPACE, tk.PrivacyProfile(), k=1, d_out=(1.0, 1e-6), releases=1)
    assert pair.plot_accuracy([1.0]).get_xlabel() == "epsilon at delta = 1e-06"
    assert len(pair.plot_accuracy([1.0]).lines) >= 1


@pytest.mark.slow
def test_bad_arguments() -> None:
    found = at(1.0)
    raises_exactly(tk.errors.ParameterError, lambda: found.plot_accuracy([]), "budgets must be")
    raises_exactly(tk.errors.ParameterError, lambda: found.plot_accuracy([0.0]), "budgets must be")
    raises_exactly(tk.errors.ParameterError, lambda: found.plot_success(SCORES, "perfect"), "event must be")
    raises_exactly(tk.errors.DataError, lambda: found.plot_success(SCORES[1:]), "exactly 9")


@pytest.mark.further
def test_a_name_hangs_at_the_last_point_before_a_place() -> None:
    """By the place, and not by the height, of the points."""
    from opendp_topk.apps.planning import comparison as plots

    axes = plots.draw_labelled_lines(plots.new_axes(), [("one", [(1.0, 5.0), (2.0, 0.5), (4.0, 0.25)])], 3.0)
    assert [text.xy for text in axes.texts] == [(2.0, 0.5)]


@pytest.mark.further
def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    found = at(1.0)
    for name in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    raises_exactly(tk.errors.MissingExtraError, found.plot_accuracy, 'pip install "opendp_topk[plot]"')
