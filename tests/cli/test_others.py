"""``--above-threshold``, ``--keep`` and ``--other``: plans and releases."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

import opendp_topk as tk

from .command import record_of
from .conftest import CANDIDATES, LOANS, Command, Library
from .test_unlisted import release, searches

pl = pytest.importorskip("polars", reason="the command reads tables with polars")
__all__ = ["searches"]

LITTLE = "--epsilon", 10**6, "--delta", 1e-8
ABOVE = "--above-threshold", "--max-items", 2


@pytest.mark.slow
def test_all_items_above_a_threshold(command: Command, searches: Path) -> None:
    result = command(*release(searches, *ABOVE, "--keep", "rows", *LITTLE))
    assert result.code == 0
    lines = [line.split() for line in result.out.splitlines()[2:5]]
    assert lines == [["89", "rain"], ["40", "snow"], ["30", "=hail"]]
    assert "my own name" not in result.out
    assert "measurements/stable_histogram (current)" in result.flat
    record = record_of(command(*release(searches, *ABOVE, "--keep", "order", *LITTLE, "--out", "-")).out)
    assert record["items"] == ["rain", "snow", "=hail"]
    assert record["mechanism"]["mechanism"] == "stable_histogram"
    assert record["counts"] == [89, 40, 30]
    assert record["d_out"][1] <= 1e-8


@pytest.mark.slow
def test_a_random_choice_of_items(command: Command, searches: Path) -> None:
    options = *ABOVE, "--keep", "random", *LITTLE, "--out", "-"
    record = record_of(command(*release(searches, *options)).out)
    assert record["mechanism"]["by"] == "random"
    assert record["mechanism"]["most"] == 2
    documents = [one["document"] for one in record["proof"]["documents"]]
    assert "transformations/keep_items" in documents


@pytest.mark.slow
def test_the_plan_is_that_of_the_library(command: Command) -> None:
    result = command("plan", *ABOVE, "--epsilon", 0.5, "--delta", 1e-6, "--users", 2)
    count = (tk.FrameDomain("u", "i"), tk.UserDistance()) >> tk.then_count_by_item(candidates=None, max_items=2)
    measure = tk.Approximate(tk.MaxDivergence())
    scale = float(result.field("scale").split()[0])
    threshold = int(result.field("threshold").split()[0])
    best = count >> tk.then_stable_histogram(measure, scale=scale, threshold=threshold)
    assert scale == 2 * 2 / 0.5
    assert best.check(2, (0.5, 1e-6))
    assert not (count >> tk.then_stable_histogram(measure, scale=scale, threshold=threshold - 1)).check(2, (0.5, 1e-6))
    assert "an item gets in if its count is at least" in result.field("accuracy")


@pytest.mark.further
def test_a_plan_takes_the_noise_that_lets_items_of_fewer_users_in(command: Command) -> None:
    """Both kinds of noise at rho = 0.05 have a scale of 10, and Gaussian noise the lighter tail."""
    result = command("plan", "--above-threshold", "--max-items", 10, "--rho", 0.05, "--delta", 1e-6)
    assert "discrete Gaussian noise" in result.flat
    count = (tk.FrameDomain("u", "i"), tk.UserDistance()) >> tk.then_count_by_item(candidates=None, max_items=10)
    measure = tk.Approximate(tk.ZeroConcentratedDivergence())
    other = count >> tk.then_stable_histogram(measure, scale=10, delta=1e-6)
    assert other.map(1)[0] == pytest.approx(0.05, rel=1e-3)
    assert 2 * int(result.field("threshold").split()[0]) < other.parameters["threshold"]


@pytest.mark.further
def test_the_number_of_others(command: Command, library: Library) -> None:
    out = library.folder / "top.json"
    result = command(*library.release("--epsilon", 10**6, "--other", "--out", out))
    assert result.code == 0
    record = json.loads(out.read_text(encoding="utf-8"))
    left = [book for book in LOANS if book not in record["items"]]
    assert isinstance(record["other"], int)
    assert 0 < record["other"] <= sum(LOANS[book] for book in left)
    assert record["d_out"] <= 10**6
    assert f"{record['other']} users, with noise, have another item (epsilon = 100000.0 of it)" in result.flat
    documents = [one["document"] for one in record["proof"]["documents"]]
    assert {"combinators/followed_by", "transformations/count_by_item", "core/chaining"} <= set(documents)
    assert len(CANDIDATES) > len(record["items"])


@pytest.mark.slow
@pytest.mark.parametrize("target", [("--epsilon", 1), ("--rho", 0.1)])
@pytest.mark.parametrize("listed", [("--candidates", 50), ("--delta", 1e-8)])
def test_a_plan_with_others_leaves_a_tenth(
    command: Command, target: tuple[str, float], listed: tuple[str, float]
) -> None:
    result = command("plan", "--k", 3, *target, *listed, "--other")
    assert f"= {target[1] * 0.9:.2g}" in result.field("cost")
    assert f"= {Fraction(str(target[1])) / 10 * 1.0:g} more" in result.field("other")


@pytest.mark.slow
def test_others_after_a_release_from_the_table_itself(command: Command, searches: Path) -> None:
    record = record_of(command(*release(searches, "--k", 4, *LITTLE, "--other", "--out", "-")).out)
    assert record["items"] == ["rain", "snow", "=hail"]
    assert record["other"] == 1, "the one user of an item that does not come out"
    assert record["d_out"][0] <= 10**6
