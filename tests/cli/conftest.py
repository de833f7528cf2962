"""A small library of loans, and the command run inside this process."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from .command import Result, record_of

CANDIDATES = ("Emma", "Walden", "Ulysses", "源氏物語", "[bold]Dune[/bold]", "Faust")
LOANS = {"Emma": 41, "Walden": 31, "[bold]Dune[/bold]": 23, "源氏物語": 13, "Ulysses": 7, "no candidate": 53}

Command = Callable[..., Result]


@pytest.fixture(autouse=True)
def extras() -> None:
    """Without the extra ``cli`` there is no command to test."""
    for package in ("typer", "rich", "polars", "narwhals"):
        pytest.importorskip(package, reason=f"the command needs {package}, of the extra cli")


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run ``opendp-topk`` with these arguments."""

    def run(*arguments: object) -> Result:
        from opendp_topk.apps.cli import main

        monkeypatch.setattr(sys, "argv", ["opendp-topk", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return Result(int(ended.value.code or 0), out, err)

    return run


@dataclass(frozen=True)
class Library:
    """A folder with a table of loans and the list of books that may be released."""

    folder: Path
    table: Path
    candidates: Path

    def release(self, *more: object, table: object = None, candidates: object = None, k: int = 3) -> tuple[object, ...]:
        """The arguments of a release from it."""
        given = ("release", "top-k", table or self.table, "--user", "reader", "--item", "book", "--k", k)
        return (*given, "--candidates", candidates or self.candidates, *more)


@pytest.fixture
def library(tmp_path: Path) -> Library:
    """Each reader borrows a book once or twice; the counts of distinct readers are those of LOANS."""
    import polars as pl

    rows = [(1000 + reader, book) for book, readers in LOANS.items() for reader in range(readers)]
    rows += [(1000, "Ulysses")] * 90
    table, candidates = tmp_path / "loans.parquet", tmp_path / "catalogue.txt"
    pl.DataFrame(rows, schema=["reader", "book"], orient="row").write_parquet(table)
    candidates.write_text("\n".join(CANDIDATES) + "\n", encoding="utf-8")
    return Library(tmp_path, table, candidates)


__all__ = ["CANDIDATES", "LOANS", "Command", "Library", "record_of"]
