"""Options that do not fit together are refused with one line, as ``refusals.txt`` lists them."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import opendp_topk as tk

from .conftest import CANDIDATES, Command

TABLES = {
    "loans.parquet": ["reader", "book"],
    "visits.parquet": ["visitor", "page", "paid"],
    "lent.parquet": ["reader", "book", "town"],
    "views.parquet": ["page", "ms"],
    "sales.parquet": ["buyer", "region", "product"],
    "readers.csv": ["reader", "age"],
    "pairs.csv": ["product", "region"],
}
LISTS = {
    "catalogue.txt": CANDIDATES,
    "pages.txt": ("/a", "/b", "/c", "/d", "/e"),
    "books.txt": ("Odes", "Emma", "Dune", "Faust"),
    "towns.txt": ("Ulm", "Jena", "Bonn"),
    "published.csv": ("count", "1", "2", "3", "4", "5"),
    "empty.txt": (),
    "twice.txt": ("a", "b", "a"),
}


def refusals() -> Iterator[tuple[str, int, str]]:
    """Each command with its exit code and what its error contains."""
    command = ""
    for line in Path(__file__).with_name("refusals.txt").read_text("utf-8").splitlines():
        if line.startswith("$ "):
            command = line.removeprefix("$ ")
        elif line and not line.startswith("# "):
            added, code, words = re.split(r" ?=(1?)> ", line)
            yield f"{command} {added}".strip(), int(code or 2), words


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with tables of one row, lists, and a ledger for two users."""
    monkeypatch.chdir(tmp_path)
    for name, columns in TABLES.items():
        table = pl.DataFrame({column: ["a"] for column in columns})
        table.write_csv(name) if name.endswith(".csv") else table.write_parquet(name)
    for name, lines in LISTS.items():
        Path(name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    unit = {"measure": tk.MaxDivergence(), "dataset": "v", "metric": tk.UserDistance(), "d_in": 2}
    tk.ledger.Ledger.create("b", budget=1, **unit).close()  # type: ignore[arg-type]
    return tmp_path


def test_options_that_do_not_fit_are_one_line(command: Command, made: Path) -> None:
    before, wrong = sorted(made.iterdir()), []
    for line, code, words in refusals():
        result = command(*shlex.split(line))
        one_line = result.err.startswith("opendp-topk: ") and result.err.count("\n") == 1
        if (result.code, result.out) != (code, "") or not one_line or words not in result.err:
            wrong.append((line, result))
    assert wrong == []
    assert sorted(made.iterdir()) == before
