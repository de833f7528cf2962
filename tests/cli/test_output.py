"""Where records go: checked first, written whole or not at all, and never over another file."""

import errno
import os
import shutil
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from opendp_topk.apps.cli.output import RecordDestination

from .command import record_of
from .conftest import Command, Library

EXACT = "--epsilon", 10**6


def _files(folder: Path) -> set[str]:
    return set(os.listdir(folder))


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    read = mock.Mock(side_effect=AssertionError("the table was read"))
    monkeypatch.setattr("opendp_topk.tables.files.read_table", read)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
@pytest.mark.further
def test_names_that_are_not_utf8(command: Command, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists, records and ledgers are read and written under them; of tables it is said that engines open none."""
    monkeypatch.chdir(library.folder)
    odd = os.fsdecode(b"caf\xe9")
    shutil.copy(library.candidates, f"{odd}.txt")
    made = command("ledger", "create", odd, "--dataset", "loans", "--epsilon", 10**7, "--user", "reader")
    assert made.code == 0, made
    released = library.release(*EXACT, "--ledger", odd, "--out", f"{odd}.json", "--files", f"{odd}.files",
                               candidates=f"{odd}.txt")  # fmt: skip
    assert command(*released).code == 0
    assert command("show", f"{odd}.json").code == 0
    assert command("ledger", "report", odd, "--to", f"{odd}.html").code == 0
    assert len([name for name in os.listdir(b".") if name.startswith(b"caf\xe9")]) == 6
    for kind in ("parquet", "csv"):
        shutil.copy(library.table, f"{odd}.{kind}")
        command(*library.release(*EXACT, table=f"{odd}.{kind}")).complains(1, "path must contain only")
    os.symlink(f"{odd}.parquet", "plain.parquet")
    assert command(*library.release(*EXACT, table="plain.parquet")).code == 0


@pytest.mark.further
@pytest.mark.usefixtures("unread")
def test_an_unwritable_place_is_refused_before_the_table_is_read(command: Command, library: Library) -> None:
    before = _files(library.folder)
    taken = library.folder / "taken.json"
    taken.write_text("precious")
    command(*library.release(*EXACT, "--out", taken)).complains(2, "exists already", "--force")
    link = library.folder / "link"
    link.symlink_to(library.candidates)
    for place in (library.folder, "/dev/null"):
        command(*library.release(*EXACT, "--out", place, "--force")).complains(2, "must be a file")
    for place in (library.table, link):
        command(*library.release(*EXACT, "--out", place, "--force")).complains(2, "must not be one of the input files")
    for place in (library.folder / "no", taken):
        command(*library.release(*EXACT, "--out", place / "top.json")).complains(1, "cannot be written")
    assert taken.read_text() == "precious"
    assert _files(library.folder) == before | {"taken.json", "link"}


def test_force_replaces_the_file_behind_a_link(command: Command, library: Library) -> None:
    real, link = library.folder / "real.json", library.folder / "link.json"
    real.write_text("old")
    link.symlink_to(real)
    assert command(*library.release(*EXACT, "--out", link, "--force")).code == 0
    assert link.is_symlink()
    assert record_of(real.read_text(encoding="utf-8"))["d_in"] == 1


@pytest.mark.further
def test_a_name_that_ends_in_csv_gets_the_items_as_a_table(command: Command, library: Library) -> None:
    import polars as pl

    odd = library.folder / "odd.txt"
    odd.write_text('Emma\n"Walden", a\n[bold]Dune[/bold]\n', encoding="utf-8")
    rows = [(reader, book) for readers, book in ((9, "Emma"), (5, '"Walden", a')) for reader in range(readers)]
    table = library.folder / "odd.parquet"
    pl.DataFrame(rows, schema=["reader", "book"], orient="row").write_parquet(table)

    def written(*more: object) -> list[str]:
        out = library.folder / "top.CSV"
        options = "--epsilon", 10**9, "--out", out, "--force", *more
        assert command(*library.release(*options, table=table, candidates=odd, k=2)).code == 0
        text = out.read_bytes().decode("utf-8")
        assert text.endswith("\n")
        return text.split("\n")[:-1]

    assert written() == ["rank,item", "1,Emma", '2,"""Walden"", a"']
    assert written("--counts") == ["rank,item,count", "1,Emma,9", '2,"""Walden"", a",5']
    assert written("--release", "set") == ["item", "Emma", '"""Walden"", a"']
    assert written("--release", "set", "--counts") == ["item,count", "Emma,9", '"""Walden"", a",5']


@pytest.mark.parametrize("links", [True, False])
def test_nothing_else_is_left(command: Command, library: Library, links: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not links:
        monkeypatch.setattr(os, "link", mock.Mock(side_effect=OSError(errno.EOPNOTSUPP, "no hard links here")))
    before = _files(library.folder)
    assert command(*library.release(*EXACT, "--out", library.folder / "top.json")).code == 0
    assert _files(library.folder) == before | {"top.json"}
    mask = os.umask(0)
    os.umask(mask)
    assert (library.folder / "top.json").stat().st_mode & 0o777 == 0o666 & ~mask


@pytest.mark.further
@pytest.mark.skipif(os.name == "nt", reason="this system has no modes of files")
def test_one_rule_says_who_may_read_what_commands_write(command: Command, library: Library) -> None:
    """Records, pages, tables and reports: whoever the umask lets. Ledgers alone are their owner's."""
    here = library.folder
    ledger, record = here / "budget.ledger", here / "top.json"
    before = os.umask(0o027)
    try:
        assert command("ledger", "create", ledger, "--dataset", "loans", "--epsilon", 1).code == 0
        asked = [
            library.release("--epsilon", 1, "--ledger", ledger, "--out", record),
            library.release("--epsilon", 1, "--out", here / "top.csv"),
            ("show", record, "--html", "--to", here / "top.html"),
            ("ledger", "export", ledger, "--to", here / "spent.csv"),
            ("ledger", "report", ledger, "--to", here / "spent.html"),
        ]
        for arguments in asked:
            assert command(*arguments).code == 0
    finally:
        os.umask(before)
    names = ("top.json", "top.csv", "top.html", "spent.csv", "spent.html")
    assert {name: (here / name).stat().st_mode & 0o777 for name in names} == dict.fromkeys(names, 0o640)
    assert ledger.stat().st_mode & 0o777 == 0o600


def test_a_release_that_fails_leaves_nothing(command: Command, library: Library) -> None:
    before = _files(library.folder)
    missing = (*library.release(*EXACT, "--out", library.folder / "top.json"), "--item", "author")
    command(*missing).complains(1, "must have the column 'author'")
    assert _files(library.folder) == before


def test_a_file_that_comes_to_exist_meanwhile_is_kept_and_the_release_is_shown(
    command: Command, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = library.folder / "top.json"
    write = RecordDestination.write_record

    def late(self: RecordDestination, record: dict[str, Any]) -> None:
        out.write_text("from another release")
        write(self, record)

    monkeypatch.setattr(RecordDestination, "write_record", late)
    before = _files(library.folder)
    result = command(*library.release(*EXACT, "--out", out))
    assert result.code == 1
    assert "Emma" in result.out
    assert "the record could not be written" in result.err
    assert out.read_text() == "from another release"
    assert _files(library.folder) == before | {"top.json"}


def test_a_disk_that_fills_up_leaves_nothing_and_the_release_is_shown(
    command: Command, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", mock.Mock(side_effect=OSError(errno.ENOSPC, "No space left on device")))
    before = _files(library.folder)
    result = command(*library.release(*EXACT, "--out", library.folder / "top.json"))
    assert (result.code, "Emma" in result.out) == (1, True)
    assert "No space left on device. The release was drawn, and its cost is spent" in result.err
    assert _files(library.folder) == before
