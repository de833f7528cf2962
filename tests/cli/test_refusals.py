"""Options that do not fit together are refused with one line, as ``refusals.txt`` lists them."""

from __future__ import annotations

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


REFUSALS = [*refusals()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of one row, lists, and a ledger for two users."""
    made = tmp_path_factory.mktemp("refused")
    for name, columns in TABLES.items():
        table = pl.DataFrame({column: ["a"] for column in columns})
        table.write_csv(made / name) if name.endswith(".csv") else table.write_parquet(made / name)
    for name, lines in LISTS.items():
        (made / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    unit = {"measure": tk.MaxDivergence(), "dataset": "v", "metric": tk.UserDistance(), "d_in": 2}
    tk.Ledger.create(made / "b", budget=1, **unit).close()  # type: ignore[arg-type]
    return made


@pytest.mark.parametrize(("line", "code", "words"), REFUSALS, ids=[line for line, _, _ in REFUSALS])
def test_options_that_do_not_fit_are_one_line(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch, line: str, code: int, words: str
) -> None:
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    command(*shlex.split(line)).complains(code, words)
    assert sorted(folder.iterdir()) == before
