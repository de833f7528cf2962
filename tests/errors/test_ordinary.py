"""Only an ordinary file is opened: whatever else a path names is refused at once, and in words."""

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from opendp_topk.errors import LedgerError, ParameterTypeError, TableError
from opendp_topk.errors import files as ordinary

from ..concepts.sentinels import SENTINEL_TEXT, raises_exactly

READERS = (
    lambda path: ordinary.stat_regular_file(path, "the record", TableError),
    lambda path: ordinary.open_regular_file(path, "the record", TableError),
    lambda path: ordinary.read_regular_file(path, "the record", TableError, at_most=10),
)


def strange(folder: Path) -> list[tuple[str, str]]:
    """Paths that name no ordinary file, each with what is said of it."""
    (loop := folder / "loop").symlink_to(loop)
    (file := folder / "file").touch()
    found = [
        (str(folder), "is a folder"),
        (str(folder / "none"), "does not exist"),
        (str(file / "below"), "does not exist"),
        (str(loop), "symbolic link to itself"),
        ("x" * 100_000, "longer than a file name can be"),
        (str(folder / "\ud800"), "character that is not allowed in file names"),
        (str(folder / "\udc80"), "does not exist"),
        ("a\0b", "character that is not allowed in file names"),
        ("", "does not exist"),
    ]
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "pipe")
        (folder / "link").symlink_to("pipe")
        found += [(str(folder / name), "is a pipe") for name in ("pipe", "link")]
        found += [(name, "is a device") for name in ("/dev/zero", "/dev/null", "/dev/tty")]
    return found


@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_ordinary_file_is_refused_at_once(reader: Any, tmp_path: Path) -> None:
    """Each of these hung or filled the memory where it was opened, or failed with an error of Python's own."""
    for path, reason in strange(tmp_path):
        found = raises_exactly(TableError, lambda path=path: reader(path), "the record must be a readable file", reason)
        assert len(str(found)) < 600
        assert str(found).isprintable()


def test_a_long_path_is_shown_without_its_middle() -> None:
    first, last = "a" * 100, "b" * 100
    shown = [ordinary.quote_path(one) for one in (first + last, f"{first}c{last}")]
    assert shown == [f"'{first}{last}'", f"'{first}...{last}'"]


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="this system has no sockets in folders")
def test_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket is short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("s")
        raises_exactly(LedgerError, lambda: ordinary.stat_regular_file("s", "the ledger", LedgerError), "is a socket")


def test_a_file_without_permission_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> int:
        raise PermissionError(13, SENTINEL_TEXT)

    (tmp_path / "file").touch()
    monkeypatch.setattr(os, "open", refuse)
    for reader in READERS:
        raises_exactly(TableError, lambda reader=reader: reader(tmp_path / "file"), "permission denied")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes in folders")
def test_a_file_that_becomes_a_pipe_while_opened_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (file := tmp_path / "file").touch()
    opening = os.open

    def exchanged(path: str, flags: int) -> int:
        file.unlink()
        os.mkfifo(file)
        return opening(path, flags)

    monkeypatch.setattr(os, "open", exchanged)
    raises_exactly(TableError, lambda: ordinary.stat_regular_file(file, "the record", TableError), "was replaced")


def test_bytes_are_read_up_to_a_bound(tmp_path: Path) -> None:
    file = tmp_path / "file"
    for size, fine in [(0, True), (10, True), (11, False)]:
        file.write_bytes(b"x" * size)
        assert ordinary.stat_regular_file(file, "the record", TableError).st_size == size
        if fine:
            assert READERS[2](str(file)) == b"x" * size
        else:
            raises_exactly(TableError, lambda: READERS[2](file), "/file' has more than 10 bytes")


@pytest.mark.parametrize("path", [None, 7, b"file", ["file"], True], ids=repr)
def test_a_path_is_a_string_or_a_path(path: Any) -> None:
    for reader in READERS:
        raises_exactly(ParameterTypeError, lambda reader=reader: reader(path), "the record must be a string")
