"""Ctrl-C: one line, exit code 130, and no half-written file; what was drawn is not lost."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from typing import Any

import pytest

from opendp_topk.apps.cli.output import RecordDestination

from .command import COMMAND, record_of
from .conftest import Command, Library

EXACT = "--epsilon", 10**6
MESSAGE = "opendp-topk: interrupted: nothing was released and nothing was written\n"


@pytest.mark.slow
def test_ctrl_c_while_the_table_is_read(library: Library) -> None:
    arguments = library.release(*EXACT, "--out", library.folder / "top.json", table="-")
    before = set(os.listdir(library.folder))
    running = subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdin=subprocess.PIPE,  # the reader waits for a first byte, which never comes
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a background job would ignore it
    )
    while running.poll() is None and set(os.listdir(library.folder)) == before:
        time.sleep(0.01)  # until the place of the record is claimed, which is before the table is read
    assert running.poll() is None, running.communicate()
    assert len(set(os.listdir(library.folder)) - before) == 1
    out, err = _interrupted(running)
    assert (running.returncode, out, err) == (130, "", MESSAGE)
    assert set(os.listdir(library.folder)) == before


def _interrupted(running: subprocess.Popen[str]) -> tuple[str, str]:
    """What a process says that is interrupted; a signal just before a system call waits is seen only with the next."""
    for _ in range(6):
        running.send_signal(signal.SIGINT)
        try:
            return running.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError("Ctrl-C does not end the command")


def test_ctrl_c_before_the_draw(command: Command, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("opendp_topk.apps.cli.release.write_file_list", interrupted)
    before = set(os.listdir(library.folder))
    result = command(*library.release(*EXACT, "--out", library.folder / "top.json"))
    assert (result.code, result.out, result.err) == (130, "", MESSAGE)
    assert set(os.listdir(library.folder)) == before


@pytest.mark.further
def test_ctrl_c_after_the_draw_waits_until_the_release_is_written(
    command: Command, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = RecordDestination.write_record

    def pressed(self: RecordDestination, record: dict[str, Any]) -> None:
        signal.raise_signal(signal.SIGINT)
        write(self, record)

    monkeypatch.setattr(RecordDestination, "write_record", pressed)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        result = command(*library.release(*EXACT, "--out", library.folder / "top.json"))
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert result.code == 0
    assert record_of((library.folder / "top.json").read_text(encoding="utf-8"))["items"][0] == "Emma"


@pytest.mark.further
def test_ctrl_c_while_the_release_is_printed_does_not_deny_it(
    command: Command, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pressed(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("opendp_topk.apps.cli.release.show_release", pressed)
    result = command(*library.release(*EXACT, "--out", library.folder / "top.json"))
    result.complains(130, "interrupted while the release was printed: it was drawn and has its cost")
    assert record_of((library.folder / "top.json").read_text(encoding="utf-8"))["items"][0] == "Emma"


def test_ctrl_c_while_mechanisms_are_compared(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("opendp_topk.apps.cli.plan.rank_mechanisms", pressed)
    result = command("plan", "--k", 2, "--candidates", 9, "--epsilon", 1, "--compare")
    assert (result.code, result.out, result.err) == (130, "", MESSAGE)
