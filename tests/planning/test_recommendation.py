"""Which mechanism is recommended: the best by theorems of its own, or on a proxy, and what the next best would cost."""

import math
import re
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk

from ..concepts.sentinels import raises_exactly

PURE, ZCDP = tk.MaxDivergence(), tk.ZeroConcentratedDivergence()
STEEP = [90, 80, 70, *[60] * 17]  # a set of three stands out by ten
CLIFF = [90, 90, 90, *[60] * 17]
SPACE = tk.VectorDomain(tk.AtomDomain(int), size=20), tk.LInfDistance(monotonic=True)


def best(
    k: int, budget: Any, proxy: Any = None, *, goal: str | None = None, measure: Any = PURE, **options: Any
) -> tk.planning.Recommendation:
    return tk.planning.compare(*SPACE, measure, k=k, d_out=budget, **options).best(proxy, goal=goal)


@pytest.mark.further
def test_by_theorems_the_smallest_bound_is_taken() -> None:
    """Exponential noise of scale k / epsilon has the bound scale ln(d / alpha)."""
    advice = best(3, 1.0)
    assert advice.goal == "near"
    assert advice.name == "report_noisy_top_k"
    assert advice.measurement.parameters["scale"] == 3.0
    assert advice.options[0].row.accuracy == pytest.approx(3 * math.log(20 / 0.05))
    assert "no winner is more than 17.9744 below, except with probability 0.05" in advice.why
    assert advice.measurement.check(1, 1.0)


@pytest.mark.slow
def test_the_caution_names_what_was_compared_and_whose_counts_are_meant() -> None:
    """Canonical releases sets alone; of one winner joint is the exponential mechanism; and capped counts are others."""
    bounded = tk.planning.compare(SPACE[0], tk.L01InfDistance(changes=1, monotonic=True), PURE, k=3, d_out=1.0)
    ranked, few = (found.best().caution for found in (tk.planning.compare(*SPACE, PURE, k=3, d_out=1.0), bounded))
    assert "far above the rest, joint may" in ranked
    assert "canonical" not in ranked
    assert "canonical and joint" in best(3, 1.0, release="set").caution
    assert best(1, 1.0).caution == "These bounds are for the worst scores."
    assert few == f"{ranked} Counts are of the truncated data, not of the whole table."
    assert "whole table" in bounded.best(STEEP).caution


@pytest.mark.further
def test_what_the_next_best_would_cost_by_theorems() -> None:
    """Half-logistic noise of scale s has its own bound a s: to have that of the best, s falls by their ratio."""
    advice = best(3, 1.0)
    assert advice.next_best.name == "report_noisy_top_k_half_logistic"
    ratio = advice.next_best.row.accuracy / advice.options[0].row.accuracy  # type: ignore[operator]
    assert ratio <= advice.as_good <= ratio * 1.001
    assert f"would need epsilon = {advice.as_good:.4f}"[:-1] in advice.why


@pytest.mark.further
@pytest.mark.quick(release="set")
@pytest.mark.parametrize("release", ["set", "ranking"])
def test_on_a_proxy_the_likeliest_is_taken(release: str) -> None:
    advice = best(3, 0.6, proxy=CLIFF, release=release)
    likely: dict[str, float] = {}
    for row in tk.planning.compare(*SPACE, PURE, k=3, d_out=0.6, release=release):
        try:
            likely[row.name] = row.measurement.success_probability(CLIFF).lower
        except tk.errors.NotDeclaredError:
            continue
    highest = max(likely.values())
    assert likely[advice.name] == pytest.approx(highest)
    assert advice.goal == "exact"
    assert likely[advice.next_best.name] < highest - 1e-9
    if release == "set":
        assert advice.name.startswith("canonical")


@pytest.mark.slow
def test_the_next_best_reaches_the_goal_at_its_price() -> None:
    advice = best(3, 0.3, proxy=STEEP, release="set")
    other = advice.next_best
    assert other is not None
    target = advice.options[0].success.lower  # type: ignore[union-attr]

    def likely(budget: float) -> float:
        row = tk.planning.compare(*SPACE, PURE, k=3, d_out=budget, release="set")[other.name]
        return row.measurement.success_probability(STEEP).lower

    assert advice.as_good > 0.3
    assert likely(advice.as_good * 1.0001) >= target - 1e-5
    assert likely(advice.as_good * 0.995) < target


@pytest.mark.further
def test_goals_that_all_reach_leave_the_plainest() -> None:
    advice = best(3, 1000, proxy=STEEP)
    assert advice.name == "report_noisy_top_k"
    assert (advice.next_best, advice.as_good) == (None, None)
    assert "Equally good: " in advice.why


@pytest.mark.slow
def test_pairs_and_rhos_are_budgets() -> None:
    pair = best(1, (1.0, 1e-6), measure=tk.PrivacyProfile())
    assert pair.measurement.check(1, (1.0, 1e-6))
    assert pair.as_good is None or len(pair.as_good) == 2
    rho = best(2, 0.1, measure=ZCDP, proxy=np.array(STEEP), goal="near", d_in=2)
    assert rho.goal == "near"
    assert rho.measurement.check(2, 0.1)


@pytest.mark.further
def test_where_there_is_one_candidate_nothing_is_to_be_lost() -> None:
    """No scale is the least: the search ends among the least floats, whatever the budget."""
    single = tk.VectorDomain(tk.AtomDomain(int), size=1), SPACE[1]
    for measure, budget in ((PURE, 1), (tk.PrivacyProfile(), (1, 1e-6))):
        assert (
            0 < tk.planning.compare(*single, measure, k=1, d_out=budget).best().measurement.parameters["scale"] < 1e-300
        )


@pytest.mark.slow
def test_it_shows_itself() -> None:
    advice = best(3, 0.6, proxy=CLIFF, release="set")
    assert repr(advice) == f"Take {advice.why}\n{advice.caution}"
    shown = advice._repr_html_()
    assert all(option.name in shown for option in advice.options)
    assert "P(exact)" in shown
    assert "P(" not in best(3, 0.6)._repr_html_()
    frame = advice.to_frame()
    assert frame.columns == ["mechanism", "scale", "loss", "accuracy", "bound", "success"]
    expected = [(one.name, one.row.scale, one.row.accuracy, one.success.lower) for one in advice.options]  # type: ignore[union-attr]
    assert frame.select("mechanism", "scale", "accuracy", "success").rows() == expected
    assert "success" not in best(3, 0.6).to_frame().columns


@pytest.mark.further
def test_a_comparison_is_a_frame_and_a_page() -> None:
    found = tk.planning.compare(*SPACE, tk.PrivacyProfile(), k=1, d_out=(1, 1e-6))
    expected = [(row.name, row.scale, list(row.loss), row.accuracy, row.bound) for row in found]
    assert found.to_frame().rows() == expected
    page, (title, _, header, *lines) = found._repr_html_(), repr(found).split("\n")
    assert f">{title}</caption>" in page
    assert re.findall(r"<th [^>]+>([^<]+)</th>", page) == re.split("  +", header)
    assert re.findall(r"<td [^>]+>([^<]+)</td>", page) == re.split("\n|  +", "\n".join(lines[: len(found)]))


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"goal": "exact"}, tk.errors.ParameterError, "requires a proxy"),
        ({"goal": "best"}, tk.errors.ParameterError, "goal must be"),
        ({"proxy": [1, 2]}, tk.errors.DataError, "exactly 20"),
        ({"proxy": [0.5] * 20}, tk.errors.DataTypeError, "int"),
        ({"k": 21}, tk.errors.ParameterError, "k must"),
        ({"budget": 0.0}, tk.errors.ParameterError, "d_out"),
    ],
)
def test_bad_arguments(options: dict[str, Any], error: type[BaseException], words: str) -> None:
    raises_exactly(error, lambda: best(**{"k": 3, "budget": 1.0, **options}), words)


def test_a_proxy_has_one_score_a_candidate_also_if_the_domain_has_no_size() -> None:
    unsized = tk.VectorDomain(tk.AtomDomain(int)), SPACE[1]
    found = tk.planning.compare(*unsized, PURE, k=1, d_out=1, n_candidates=20)
    raises_exactly(tk.errors.DataError, lambda: found.best([1, 2]), "exactly 20")


@pytest.mark.further
def test_what_the_next_best_would_cost_is_of_all_releases() -> None:
    """Twice the budget for two releases: the same scales, and losses that are twice as large."""
    one, two = best(3, 1.0), best(3, 2.0, releases=2)
    assert two.measurement.parameters["scale"] == one.measurement.parameters["scale"]
    assert two.as_good == pytest.approx(2 * one.as_good)


@pytest.mark.further
def test_what_is_missed_on_a_proxy_is_what_is_not_reached() -> None:
    advice = best(3, 0.6, proxy=CLIFF)
    success = advice.options[0].success
    assert success is not None
    said = re.search(r"on the proxy, except with probability ([\d.e-]*\d)", advice.why)
    assert 1 - success.lower <= float(said[1]) == pytest.approx(1 - success.lower, rel=1e-5)
