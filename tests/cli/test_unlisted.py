"""Plans and releases without a list of candidates."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk import Gumbel
from opendp_topk.sampling.distributions.one_shot_accuracy import accuracy

from .command import record_of
from .conftest import Command

pl = pytest.importorskip("polars", reason="the command reads tables with polars")

DELTA = "--epsilon", 10**6, "--delta", 1e-8  # so little noise that the exact top-k comes out
TERMS = {"rain": 90, "snow": 70, "=hail": 30, "my own name": 1}


@pytest.fixture
def searches(tmp_path: Path) -> Path:
    rows = [(user, term) for term, users in TERMS.items() for user in range(users)]
    file = tmp_path / "searches.parquet"
    pl.DataFrame(rows, schema=["who", "term"], orient="row").write_parquet(file)
    return file


def release(file: Path, *more: object) -> tuple[object, ...]:
    return "release", file, "--user", "who", "--item", "term", *more


@pytest.mark.further
def test_people_read_what_was_found_and_where_it_ended(command: Command, searches: Path) -> None:
    result = command(*release(searches, "--k", 4, *DELTA))
    assert result.code == 0
    assert [line.split(None, 1)[1].strip() for line in result.out.splitlines()[2:5]] == ["rain", "snow", "=hail"]
    assert "my own name" not in result.out
    assert result.field("end").startswith("stopped 1 short of 4")
    assert result.field("cost").startswith("epsilon = 1000000.0 and delta = 9.999")
    assert "1 user added or removed" in result.field("cost")
    assert "measurements/unknown_domain_top_k (current)" in result.flat
    assert "must be public" not in result.err
    complete = command(*release(searches, "--k", 2, *DELTA))
    assert complete.field("end") == "complete"


@pytest.mark.further
def test_programs_read_a_record(command: Command, searches: Path) -> None:
    options = (
        "--rho",
        10**9,
        "--delta",
        1e-6,
        "--neighbors",
        "replace",
        "--limit",
        7,
        "--max-items",
        1,
        "--keep",
        "order",
    )
    options = *options, "--out", "-"
    record = record_of(command(*release(searches, "--k", 2, *options)).out)
    assert record["items"] == ["rain", "=hail"], "of each user the first in the order of the code points counts"
    assert (record["measure"], record["symbol"]) == ("Approximate(ZeroConcentratedDivergence)", "(rho, delta)")
    assert record["d_out"][0] <= 10**9
    assert record["d_out"][1] <= 1e-6
    assert record["mechanism"]["limit"] == 7
    assert record["mechanism"]["max_items"] == 1
    assert record["mechanism"]["candidates"] is None


@pytest.mark.further
@pytest.mark.quick(users=3)
@pytest.mark.parametrize(("neighbors", "users"), [("add_remove", 1), ("add_remove", 3), ("replace", 2)])
def test_the_plan_meets_the_target_with_the_least_noise(command: Command, neighbors: str, users: int) -> None:
    result = command(*f"plan --k 5 --epsilon 1 --delta 1e-6 --users {users} --neighbors {neighbors}".split())
    assert result.code == 0
    scale, threshold = (float(result.field(name).split()[0]) for name in ("scale", "threshold"))
    metric = tk.KeyedCountDistance(monotonic=neighbors == "add_remove")

    def loss(scale: float, threshold: float) -> Any:
        measure = tk.Approximate(tk.MaxDivergence())
        return tk.make_unknown_domain_top_k(
            tk.KeyedCountsDomain(), metric, measure, k=5, limit=50, scale=scale, threshold=threshold
        ).map(users)

    epsilon, delta = loss(scale, threshold)
    assert epsilon <= 1
    assert delta <= 1e-6
    assert loss(math.nextafter(scale, 0), threshold)[0] > 1
    assert loss(scale, threshold - 1e-6)[1] > 1e-6
    near = accuracy(Gumbel(), 51, 5, Fraction(scale), 0.05)
    assert f"more than {math.floor(threshold + near)} users" in result.field("accuracy")
    assert f"within {math.floor(near)} users" in result.field("accuracy")


@pytest.mark.slow
def test_a_budget_pays_for_it(command: Command, searches: Path, tmp_path: Path) -> None:
    book = tmp_path / "budget.ledger"
    unit = {"dataset": "searches", "metric": tk.UserDistance()}
    tk.Ledger.create(book, budget=(3e6, 1e-6), measure=tk.Approximate(tk.MaxDivergence()), **unit).close()
    assert command(*release(searches, "--k", 2, *DELTA, "--ledger", book)).code == 0
    with tk.Ledger(book) as again:
        assert again.spent()[0] == pytest.approx(1e6)
        assert 0 < again.spent()[1] <= 1e-8


@pytest.mark.slow
def test_an_empty_table_is_released_as_nothing(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "empty.csv"
    file.write_text("who,term\n", encoding="utf-8")
    result = command(*release(file, "--k", 2, *DELTA))
    assert result.code == 0
    assert result.field("end").startswith("stopped 2 short of 2")
