"""The table of ``release``: how CSV is read, which rows, which files, and that they stay as they are."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest

from opendp_topk.apps.cli import release as releasing

from .command import record_of
from .conftest import CANDIDATES, LOANS, Command, Library
from .test_show import RECORD, SCHEMA, page_of, saved

EXACT = "--epsilon", 10**6
BEST = sorted(CANDIDATES, key=lambda book: -LOANS.get(book, 0))[:3]


def loans(library: Library) -> Any:
    import polars as pl

    return pl.read_parquet(library.table)


def as_csv(library: Library, separator: str, encoding: str) -> Path:
    file = library.folder / "loans.csv"
    text = "\n".join(separator.join(map(str, row)) for row in [("reader", "book"), *loans(library).rows()])
    file.write_bytes(text.replace("源氏物語", "Généalogie").encode(encoding))
    return file


@pytest.fixture
def partitioned(library: Library) -> Path:
    """The loans of three years, a folder each, of which the last two are wanted: 2023 has a book of its own on top."""
    import polars as pl

    table = loans(library)
    before = pl.DataFrame({"reader": range(500), "book": ["Faust"] * 500, "year": [2023] * 500})
    for year, rows in ((2023, before), (2024, table[:100]), (2025, table[100:])):
        folder = library.folder / "loans" / f"year={year}"
        folder.mkdir(parents=True)
        rows.with_columns(year=pl.lit(year, pl.Int64)).write_parquet(folder / "part-0.parquet")
    return library.folder / "loans"


@pytest.mark.further
def test_csv_with_another_separator_and_encoding(command: Command, library: Library) -> None:
    table = as_csv(library, ";", "latin-1")
    asked = library.release(*EXACT, "--out", "-", table=table)
    command(*asked).complains(1, "could not be read with the separator ',' and the encoding 'utf-8'", "--encoding")
    command(*asked, "--encoding", "latin-1").complains(
        1, "must have the column 'reader'", "the separator ','", "has 1."
    )
    done = command(*asked, "--encoding", "latin-1", "--separator", ";")
    assert record_of(done.out)["items"] == BEST
    for wrong, said in [(("--separator", "::"), "one ASCII character"), (("--encoding", "nil"), "a text encoding")]:
        command(*asked, *wrong).complains(2, said)
    command(*library.release(*EXACT, "--separator", ";")).complains(2, "are for CSV")
    command(*library.release(*EXACT, "--types", "book=text")).complains(2, "are for CSV")


@pytest.mark.further
@pytest.mark.quick(engine="polars")
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_only_rows_that_meet_a_condition(command: Command, library: Library, partitioned: Path, engine: str) -> None:
    pytest.importorskip(engine, reason=f"{engine} is not installed")
    asked = library.release(*EXACT, "--out", "-", "--engine", engine, table=partitioned)
    assert record_of(command(*asked).out)["items"][0] == "Faust"
    record = record_of(command(*asked, "--where", "year >= 2024 and not (book = 'Walden')").out)
    assert record["items"] == [BEST[0], *BEST[2:], "源氏物語"]
    assert record["where"] == "year >= 2024 and not (book = 'Walden')"
    command(*asked, "--where", "years >= 2024").complains(1, "must have the column 'years', and has", "'year'")
    command(*asked, "--where", "year >= '2024'").complains(1, "holds integers")
    command(*asked, "--where", "year >= (select 1)").complains(2, "at character 9")


@pytest.mark.further
def test_conditions_on_numbers_in_csv(command: Command, library: Library) -> None:
    table = library.folder / "loans.csv"
    loans(library).with_row_index("loan").write_csv(table)
    asked = library.release(*EXACT, "--out", "-", table=table)
    command(*asked, "--where", "loan < 41").complains(1, "'loan', which holds text", "--types")
    command(*asked, "--where", "loan < '41'").complains(1, "by order with what looks like", "--types")
    kept = record_of(command(*asked, "--types", "loan=integer", "--where", "loan < 41").out)
    assert kept["items"][0] == "Emma"
    rest = record_of(command(*asked, "--types", "loan=decimal", "--where", "loan >= 41").out)
    assert "Emma" not in rest["items"]


@pytest.mark.further
def test_the_list_of_files_is_kept_apart_and_attested(command: Command, library: Library, partitioned: Path) -> None:
    """The record is public, and sizes are exact functions of the rows: it holds a digest that tells nothing."""
    kept = library.folder / "files.jsonl"
    asked = library.release(*EXACT, "--out", "-", "--files", kept, table=partitioned)
    record = record_of(command(*asked).out)
    assert record["files"] == f"sha256:{hashlib.sha256(kept.read_bytes()).hexdigest()}"
    head, *lines = map(json.loads, kept.read_text("utf-8").splitlines())
    sizes = [(partitioned / f"year={year}" / "part-0.parquet").stat().st_size for year in (2023, 2024, 2025)]
    assert (head["files"], head["bytes"], len(head["key"])) == (3, sum(sizes), 64)
    names = [f"year={year}/part-0.parquet" for year in (2023, 2024, 2025)]
    assert [(line["name"], line["bytes"]) for line in lines] == list(zip(names, sizes, strict=True))
    numbers = set(re.findall(r"(?<![0-9a-z.])[0-9]+(?![0-9a-z.])", json.dumps(record)))  # not within a digest
    assert numbers.isdisjoint(map(str, [*sizes, sum(sizes)]))
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600 or os.name == "nt"
    command(*asked).complains(1, "exists already")
    kept.unlink()
    assert record_of(command(*asked).out)["files"] != record["files"]  # of the same files: nobody can try sizes


def test_no_list_is_left_where_nothing_is_released(command: Command, library: Library, tmp_path: Path) -> None:
    kept = tmp_path / "files.jsonl"
    command(*library.release(*EXACT, "--files", kept, "--candidates", library.folder / "no")).complains(1)
    ledger = library.folder / "budget.ledger"
    command("ledger", "create", ledger, "--dataset", "loans", "--epsilon", 1)
    command(*library.release("--epsilon", 2, "--files", kept, "--ledger", ledger)).complains(1)
    assert not kept.exists()
    command(*library.release(*EXACT, "--files", tmp_path / "no" / "where")).complains(1, "--files", "cannot be written")


@pytest.mark.further
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_files_that_change_while_they_are_counted(
    command: Command, library: Library, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is shown of what was drawn."""
    pytest.importorskip(engine, reason=f"{engine} is not installed")
    counted = releasing.draw_and_record

    def growing(*arguments: Any, **more: Any) -> Any:
        *others, recorded, planned = arguments

        def later(*drawn: Any) -> Any:
            with library.table.open("ab") as stream:
                stream.write(b"x")
            return recorded(*drawn)

        return counted(*others, later, planned, **more)

    monkeypatch.setattr(releasing, "draw_and_record", growing)
    out, kept = library.folder / "top.json", library.folder / "files.jsonl"
    asked = library.release(*EXACT, "--out", out, "--files", kept, "--engine", engine)
    command(*asked).complains(1, "were changed while it was read: nothing was released")
    assert not out.exists()
    assert not kept.exists()


def test_records_tell_how_the_table_was_read(command: Command, tmp_path: Path) -> None:
    told = RECORD | {"where": "year = 2024 \x1b[2J", "files": "sha256:" + "0" * 64}
    jsonschema = pytest.importorskip("jsonschema", reason="records are validated with jsonschema, of the extra test")
    schema = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    assert list(schema.iter_errors(told)) == list(schema.iter_errors(RECORD)) == []
    shown = command("show", saved(tmp_path, told))
    assert "year = 2024" in shown.flat
    assert "\x1b" not in shown.out
    assert "sha256:0000" in shown.flat
    assert "year = 2024" in page_of(command, tmp_path, told).text
    assert "sha256" not in command("show", saved(tmp_path, RECORD)).out
    for wrong in ({"where": 7}, {"files": None}):
        command("show", saved(tmp_path, RECORD | wrong)).complains(1, "is not whole")


@pytest.mark.further
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes in folders")
def test_what_is_no_ordinary_file_is_told_at_once(command: Command, library: Library) -> None:
    os.mkfifo(library.folder / "pipe.csv")
    (library.folder / "folder.txt").mkdir()
    strange = {
        "pipe.csv": "is a pipe",
        "/dev/zero": "",
        "x" * 100_000 + ".csv": "longer than",
        "\ud800.csv": "character",
        "no.parquet": "does not exist",
    }
    out = "--out", library.folder / "top.json", "--force"
    (library.folder / "top.json").touch()
    for name, said in strange.items():
        path = os.path.join(library.folder, name)
        for arguments in (library.release(*EXACT, *out, table=path), library.release(*EXACT, *out, candidates=path)):
            command(*arguments).complains(1, said)
    command(*library.release(*EXACT, candidates=library.folder / "folder.txt")).complains(1, "is a folder")
    asked = ("plan", "--k", 1, "--candidates", 9, "--epsilon", 1)
    command(*asked, "--proxy", library.folder / "pipe.csv").complains(1, "is a pipe")
