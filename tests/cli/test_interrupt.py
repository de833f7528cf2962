"""Ctrl-C: one line, exit code 130, and no half-written file; what was drawn is not lost."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import Any

import pytest

from opendp_topk.cli.output import Destination

from .command import COMMAND, record_of
from .conftest import Command, Library

EXACT = "--epsilon", 10**6
MESSAGE = "opendp-topk: interrupted: nothing was released and nothing was written\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the test holds up the reader by a named pipe")
def test_ctrl_c_while_the_table_is_read(library: Library) -> None:
    pipe = library.folder / "endless.csv"
    os.mkfifo(pipe)
    arguments = library.release(*EXACT, "--out", library.folder / "top.json", table=pipe)
    running = subprocess.Popen(
        [*COMMAND, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with pipe.open("w"):  # returns once the command has opened the other end, and then it waits for a first byte
        claimed = set(os.listdir(library.folder))
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert (running.returncode, out, err) == (130, "", MESSAGE)
    assert len(claimed) == 4, "the place of the record is claimed before the table is read"
    assert set(os.listdir(library.folder)) == {"loans.parquet", "catalogue.txt", "endless.csv"}


def test_ctrl_c_before_the_draw(command: Command, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Any:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("opendp_topk.cli.release.chained", interrupted)
    before = set(os.listdir(library.folder))
    result = command(*library.release(*EXACT, "--out", library.folder / "top.json"))
    assert (result.code, result.out, result.err) == (130, "", MESSAGE)
    assert set(os.listdir(library.folder)) == before


def test_ctrl_c_after_the_draw_waits_until_the_release_is_written(
    command: Command, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Destination.write

    def pressed(self: Destination, record: dict[str, Any]) -> None:
        signal.raise_signal(signal.SIGINT)
        write(self, record)

    monkeypatch.setattr(Destination, "write", pressed)
    handler = signal.getsignal(signal.SIGINT)
    result = command(*library.release(*EXACT, "--out", library.folder / "top.json"))
    assert result.code == 0
    assert record_of((library.folder / "top.json").read_text(encoding="utf-8"))["items"][0] == "Emma"
    assert signal.getsignal(signal.SIGINT) is handler
