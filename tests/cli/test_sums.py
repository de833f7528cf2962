"""``--sum``: plans and releases of the items with the largest sums of a column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.apps.cli.asking import apply_bounds_and_step
from opendp_topk.apps.planning.units import Columns, format_grid_score

from ..concepts.sentinels import raises_exactly
from .command import record_of
from .conftest import Command

pl = pytest.importorskip("polars", reason="the command reads tables with polars")

EXACT = "--epsilon", 10**9
PAID = {"Emma": [(1, "20.25"), (1, "40"), (2, "9.5")], "Walden": [(3, "900")], "Ulysses": [(4, "1"), (5, "x"), (6, "")]}
SUM = "--sum", "paid", "--bounds", "0,50", "--step", "0.01"
LENIENT = "--types", "paid=decimal_or_null"


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    rows = [(buyer, book, paid) for book, sold in PAID.items() for buyer, paid in sold]
    file = tmp_path / "sales.csv"
    pl.DataFrame(rows, schema=["buyer", "book", "paid"], orient="row").write_csv(file)
    (tmp_path / "books.txt").write_text("\n".join(["Walden", "Ulysses", "Emma", "Never"]), encoding="utf-8")
    return file


def release(file: Path, *more: object) -> tuple[object, ...]:
    return "release", file, "--user", "buyer", "--item", "book", *more


def listed(file: Path, *more: object) -> tuple[object, ...]:
    return release(file, "--candidates", file.parent / "books.txt", *more)


@pytest.mark.further
def test_the_largest_sums_of_a_file_of_strings(command: Command, sales: Path) -> None:
    result = command(*listed(sales, "--k", 3, *EXACT, *SUM, *LENIENT, "--counts"))
    assert result.code == 0
    lines = [line.split() for line in result.out.splitlines()[2:5]]
    assert lines == [["1", "59.5", "Emma"], ["2", "50", "Walden"], ["3", "1", "Ulysses"]]
    assert "noisy sum" in result.out
    record = record_of(command(*listed(sales, "--k", 2, *EXACT, *SUM, *LENIENT, "--out", "-")).out)
    assert record["items"] == ["Emma", "Walden"]
    assert record["mechanism"]["transformation"] == "sum_by_item"
    assert [record["mechanism"][name] for name in ("value", "lower", "upper", "granularity")] == ["paid", 0, 50, 0.01]


GERMAN = "buyer;book;paid;day\n1;Emma;12,50;04.01.2024\n2;Emma;0,50;31.12.2023\n3;Walden;2,00;04.01.2024\n4;Emma;;\n"


@pytest.mark.further
def test_text_is_not_summed_in_silence(command: Command, sales: Path) -> None:
    """Winners came out, with sums near zero, and the budget was spent."""
    file, text, book = (sales.with_name(name) for name in ("german.csv", "text.parquet", "b.ledger"))
    file.write_text(GERMAN, encoding="utf-8")
    pl.read_csv(file, separator=";", infer_schema=False).write_parquet(text)
    command("ledger", "create", book, "--dataset", "sales", "--epsilon", 10**9, "--user", "buyer")
    ranked = "--candidates", file.parent / "books.txt", "--item", "book", "--k", 2, *SUM
    halved = "--quantile", "1/2", "--column", "paid", "--bounds", "0,50", "--step", "0.5"
    asked = *EXACT, "--ledger", book
    for kind in (ranked, halved):
        given = "--user", "buyer", *kind, *asked
        command("release", text, *given).complains(1, "column 'paid' must hold integers", "not String")
        command("release", file, *given, "--separator", ";").complains(
            1, "column 'paid' must hold decimals with '.' before the fraction", "--decimal"
        )
        mixed = "--separator", ";", "--types", "paid=decimal,day=date"
        command("release", file, *given, *mixed).complains(1, "column 'paid' must hold decimals")
        command("release", file, *given, *mixed, "--decimal", ",").complains(1, "dates written yyyy-mm-dd", "--date")
        command("release", file, *given, "--separator", ";", "--types", "paid=text").complains(1, "not String")
    with tk.Ledger(book) as account:
        assert not account.history()
    german = "--separator", ";", "--decimal", ",", "--types", "day=date", "--date-format", "dd.mm.yyyy"
    result = command("release", file, "--user", "buyer", *ranked, *EXACT, "--counts", *german)
    assert [line.split()[1:] for line in result.out.splitlines()[2:4]] == [["13", "Emma"], ["2", "Walden"]]
    since = "--where", "day >= '2024-01-01'", "--counts"
    result = command("release", file, "--user", "buyer", *ranked, *EXACT, *german, *since)
    assert [line.split()[1:] for line in result.out.splitlines()[2:4]] == [["12.5", "Emma"], ["2", "Walden"]]
    record = record_of(command("release", file, "--user", "buyer", *halved, *EXACT, *german, "--out", "-").out)
    assert record["items"] == [2]


@pytest.mark.slow
def test_sums_without_a_list(command: Command, sales: Path) -> None:
    options = "--k", 2, *EXACT, "--delta", 1e-8, *SUM
    result = command(*release(sales, *options, *LENIENT))
    assert [line.split() for line in result.out.splitlines()[2:4]] == [["1", "Emma"], []]
    assert "Walden" not in result.out, "one user alone paid for it, and no item of one user comes out"
    most = record_of(command(*release(sales, *options, *LENIENT, "--max-items", 1, "--out", "-")).out)
    assert most["mechanism"]["max_items"] == 1


@pytest.mark.slow
def test_a_plan_speaks_of_sums(command: Command) -> None:
    result = command("plan", "--k", 2, "--candidates", 9, "--epsilon", 1, *SUM, "--counts")
    assert "which 2 of 9 candidates have the largest sums of paid?" in result.flat
    assert "2 user" not in result.flat
    assert float(result.field("scale").split()[0].rstrip(",")) == 4 * 5000
    assert "sum within" in result.field("accuracy")
    found = command("plan", "--k", 2, "--epsilon", 1, "--delta", 1e-8, *SUM)
    assert "have the largest sums of paid, where nobody lists the items?" in found.flat
    assert "its sum is beyond the 21st largest one by more than" in found.field("accuracy")


@pytest.mark.slow
def test_a_plan_of_sums_is_that_of_the_library(command: Command) -> None:
    domain = tk.ValuedFrameDomain("u", "i", "v"), tk.UserDistance("replace")
    sums = domain >> tk.then_sum_by_item(candidates=range(9), bounds=(-3, 5))

    def top(scale: float) -> Any:
        return sums >> tk.then_report_noisy_top_k(tk.ZeroConcentratedDivergence(), k=2, scale=scale)

    best = tk.binary_search_param(top, d_in=3, d_out=0.25)
    options = "--rho", 0.25, "--users", 3, "--neighbors", "replace", "--sum", "v", "--bounds", "-3,5"
    assert command("plan", "--k", 2, "--candidates", 9, *options).field("scale").startswith(f"{best} ")


def test_amounts_are_written_in_full() -> None:
    sums = Columns(value="v")
    assert format_grid_score(-1234567, apply_bounds_and_step(sums, "0,50", "0.01").step) == "-12345.67"
    assert apply_bounds_and_step(sums, "-0.5,0.5", "1/8").difference_text(3) == "0.375"
    assert Columns().difference_text(1) == "1 user"
    assert format_grid_score(10**12, apply_bounds_and_step(sums, "0,5", None).step) == "1000000000000"
    raises_exactly(tk.ParameterError, lambda: apply_bounds_and_step(Columns(), "0,5", None), "--sum")
