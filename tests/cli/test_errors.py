"""Errors: one line, the right exit code, no traceback, no data, and what to install where something is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .command import COMMAND, spawn
from .conftest import Command, Library

SECRET = "zyxwvut-sentinel"
EXACT = "--epsilon", 10**6


def _tables(folder: Path) -> dict[str, tuple[Path, str]]:
    """Tables that are none, full of a secret, each with a fragment of the message that it must cause."""
    import polars as pl

    made = {}

    def add(name: str, fragment: str, content: bytes | pl.DataFrame) -> None:
        path = folder / name
        content.write_parquet(path) if isinstance(content, pl.DataFrame) else path.write_bytes(content)
        made[name] = path, fragment

    rows = "".join(f"{SECRET},{SECRET}\n" for _ in range(50))
    add("ragged.csv", "could not be read", f"reader,book\n{rows}{SECRET},{SECRET},{SECRET},{SECRET}\n".encode())
    add("latin.csv", "could not be read", f"reader,book\n{rows}".encode() + b"\xff\xfe,\xff\n")
    add("quote.csv", "could not be read", f'reader,book\n{rows}"{SECRET},{SECRET}\n{rows}'.encode())
    add("columns.csv", "must have the column 'reader'", f"{SECRET},book\n{rows}".encode())
    add("empty.csv", "is empty", b"")
    add("text.parquet", "could not be read", rows.encode())
    add("list.xlsx", "ends in .parquet or .csv", rows.encode())
    whole = pl.DataFrame({"reader": [SECRET] * 500, "book": [f"{SECRET}{n}" for n in range(500)]})
    add("float.parquet", "must hold integer, string", whole.with_columns(book=pl.lit(918273.640625)))
    add("nested.parquet", "must hold integer, string", whole.with_columns(reader=pl.concat_list("reader")))
    add("numbers.parquet", "candidates must be integers", whole.with_columns(book=pl.lit(918273645)))
    add("whole.parquet", "", whole)
    add("cut.parquet", "could not be read", (folder / "whole.parquet").read_bytes()[:-100])
    return made


@pytest.mark.slow
def test_no_error_shows_data(command: Command, library: Library) -> None:
    for name, (path, fragment) in _tables(library.folder).items():
        result = command(*library.release(*EXACT, "--out", library.folder / "top.json", "--force", table=path))
        shown = result.out + result.err
        assert SECRET not in shown, name
        assert "918273" not in shown, name
        if fragment:
            result.complains(1, fragment)
        else:
            assert result.code == 0
            assert SECRET not in (library.folder / "top.json").read_text(encoding="utf-8")


def test_an_unexpected_failure_shows_its_type_alone(
    command: Command, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise ValueError(f"{SECRET}: 918273645")

    monkeypatch.setattr("opendp_topk.apps.cli.release.write_file_list", broken)
    command(*library.release(*EXACT)).complains(1, "internal error (ValueError)", "withheld")
    assert SECRET not in command(*library.release(*EXACT)).err


@pytest.mark.slow
def test_a_reader_that_stops_reading_is_no_traceback(library: Library) -> None:
    script = '"$0" -m opendp_topk.apps.cli "$@" | true'
    done = subprocess.run(
        ["sh", "-c", script, sys.executable, *map(str, library.release(*EXACT))], capture_output=True, text=True
    )
    assert "Traceback" not in done.stderr
    assert SECRET not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no disk that is always full")
@pytest.mark.quick(arguments=("release", "--help"))
@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("release", "--help"), ("ledger", "-h")])
def test_help_that_cannot_be_written_is_one_line(arguments: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr == "opendp-topk: standard output could not be written: No space left on device\n"


@pytest.mark.quick(hidden="typer")
@pytest.mark.parametrize(
    ("hidden", "arguments", "extra"),
    [
        ("typer", ("--version",), "cli"),
        ("rich", ("plan", "--k", "1", "--candidates", "9", "--epsilon", "1"), "cli"),
        ("polars", ("demo",), "cli"),
    ],
)
def test_a_missing_package_is_named_with_the_extra(hidden: str, arguments: tuple[str, ...], extra: str) -> None:
    hide = f"import sys; sys.modules[{hidden!r}] = None; from opendp_topk.apps.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", hide, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("opendp-topk: ")
    assert f'{hidden}: pip install "opendp_topk[{extra}]"' in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_package_within_this_process(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "opendp_topk.apps.cli.app", raising=False)
    monkeypatch.setitem(sys.modules, "typer", None)
    command("--version").complains(1, 'the command needs typer: pip install "opendp_topk[cli]"')


def test_a_broken_installation_is_not_taken_for_a_missing_extra(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "opendp_topk.apps.cli.app", raising=False)
    monkeypatch.setitem(sys.modules, "opendp_topk.apps.cli.demo", None)
    with pytest.raises(ImportError, match="demo"):
        command("demo")


def test_a_table_without_polars(command: Command, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    command(*library.release(*EXACT)).complains(1, "polars", 'pip install "opendp_topk[tables]"')


@pytest.mark.slow
def test_help_and_version() -> None:
    assert spawn("--version").out.split()[0] == "opendp-topk"
    assert spawn("--version").code == 0
    pages = {name: spawn(name, "--help") for name in ("plan", "release", "proofs", "demo")}
    top = spawn("--help")
    for name, page in pages.items():
        assert (page.code, page.err) == (0, "")
        assert f"opendp-topk {name} [OPTIONS]" in page.out
        assert f"\n  {name} " in top.out
        assert "\x1b" not in page.out
    assert "opendp-topk plan --k 10 --candidates 5000 --epsilon 1\n" in pages["plan"].out
    bare = spawn()
    assert bare.code in (0, 2)  # typer changed its mind
    assert "Usage: opendp-topk" in bare.out + bare.err


@pytest.mark.slow
def test_the_installed_script_is_the_same_command() -> None:
    script = Path(sys.executable).with_name("opendp-topk")
    if not script.exists():
        pytest.skip("the script opendp-topk is not installed beside this Python")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == spawn("--version").out
