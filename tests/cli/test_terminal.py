"""On a terminal there are colours and progress; elsewhere, and with NO_COLOR, there are none."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from opendp_topk.apps.cli import show

from .command import COMMAND
from .conftest import Library

EXACT = "--epsilon", 10**6
COLOUR = "\x1b[3"
CURSOR = "\x1b[?25l"


def _on_a_terminal(stream: str, arguments: tuple[object, ...], **environment: str) -> str:
    """What the command writes to ``stream`` where that is a terminal and the other stream is none."""
    pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
    ours, theirs = pty.openpty()
    plain = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: theirs}
    running = subprocess.Popen(
        [*COMMAND, *map(str, arguments)], env={**plain, "TERM": "xterm-256color", **environment}, **streams
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            read = os.read(ours, 4096)
        except OSError:  # what Linux says when the other end is closed
            read = b""
        if not read:
            break
        seen += read
    os.close(ours)
    assert running.wait(timeout=60) == 0
    return seen.decode("utf-8")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="this system has no pseudo-terminals")
def test_colours_and_progress_are_for_terminals(library: Library) -> None:
    listed = "proofs", "core/user"
    assert COLOUR in _on_a_terminal("stdout", listed)
    assert COLOUR not in _on_a_terminal("stdout", listed, NO_COLOR="1")
    progress = _on_a_terminal("stderr", library.release(*EXACT, "--out", "-"))
    assert CURSOR in progress
    assert "reading and counting" in progress


def test_a_long_table_is_written_as_a_short_one_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Letters of two columns, numbers on the right and what a terminal would obey are where ``rich`` puts them."""
    found = []
    for most in (100, 0):
        monkeypatch.setattr(show, "_LONG", most)
        rows = ((str(one), "0.5" if one % 2 else "0.125, 1e-07", f"\u1234 \x1b[3m{one}") for one in range(12))
        show.print_table(("no.", "cost", "release"), rows, right=range(2))
        found.append(capsys.readouterr().out)
    assert found[0] == found[1]
    assert len(found[0].splitlines()) == 14
