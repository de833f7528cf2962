"""Progress on a terminal, ``--log json``, and the same steps for users of Python: names and public numbers only."""

import itertools
import json
import logging
import os
import re
import signal
import subprocess
import sys
from typing import Any
from unittest import mock

import pytest

import opendp_topk as tk
from opendp_topk.apps.cli import show
from opendp_topk.apps.cli.log import log_as_json, write_event
from opendp_topk.apps.planning.steps import log_step, watch_steps

from .command import COMMAND, spawn
from .conftest import LOANS, Command, Library
from .test_errors import EXACT, MESSAGE

CODES = re.compile(r"\x1b\[[?0-9;]*[A-Za-z]|[\r\n]")
KEYS = {"event", "seconds", "step", "scale", "message", "code"}
_SCRIPT = """
import sys, time
from opendp_topk.apps.cli import show
from opendp_topk.apps.cli.exit_codes import with_exit_codes
from opendp_topk.apps.planning.steps import log_step
import typer
show._PATIENCE = {patience}

def run() -> None:
    with show.show_progress("releasing"), log_step("counting"):
        time.sleep({seconds})
    show.print_note("done")

one = typer.Typer()
one.command()(with_exit_codes(run))
one()
"""


class Terminal:
    """A program one of whose streams is a terminal."""

    def __init__(self, *words: object, stream: str = "stderr", **environment: str) -> None:
        pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
        self.ours, theirs = pty.openpty()
        plain = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
        self.running = subprocess.Popen(
            list(map(str, words)),
            env={**plain, "TERM": "xterm-256color", "COLUMNS": "80", **environment},
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
            **{"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: theirs},
        )
        os.close(theirs)
        self.seen = ""

    def read(self, until: str | None = None) -> str:
        """What has been written so far, up to the end or until a text is there."""
        while until is None or until not in self.seen:
            try:
                found = os.read(self.ours, 4096)
            except OSError:  # Linux, when the other end is closed
                break
            if not found:
                break
            self.seen += found.decode("utf-8")
        return self.seen

    def close(self) -> int:
        self.read()
        os.close(self.ours)
        return self.running.wait(timeout=60)

    def text_after_progress(self) -> str:
        """What follows the progress, whose line must be erased, with the cursor visible again."""
        after = self.seen.rpartition("\x1b[?25h")[2]
        assert "\x1b[1A\x1b[2K" in after
        assert "\x1b[?25l" not in after
        return CODES.sub("", after)


def waiting(patience: float, seconds: float) -> Terminal:
    """A command that takes so many seconds, and shows its progress after so many."""
    return Terminal(sys.executable, "-c", _SCRIPT.format(patience=patience, seconds=seconds))


terminals = pytest.mark.skipif(sys.platform == "win32", reason="this system has no pseudo-terminals")


@pytest.mark.slow
@terminals
def test_progress_is_shown_after_a_while_and_then_erased() -> None:
    late = waiting(patience=0.1, seconds=1)
    assert late.close() == 0
    assert "releasing: counting" in late.seen
    assert late.text_after_progress() == "done"
    soon = waiting(patience=60, seconds=1)
    assert soon.close() == 0
    assert CODES.sub("", soon.seen) == "done"


@pytest.mark.slow
@terminals
def test_ctrl_c_leaves_the_terminal_in_order() -> None:
    interrupted = waiting(patience=0.1, seconds=60)
    interrupted.read(until="releasing: counting")
    interrupted.running.send_signal(signal.SIGINT)
    assert interrupted.close() == 130
    assert interrupted.text_after_progress() == MESSAGE.strip()


@pytest.mark.slow
@terminals
def test_colours_and_progress_are_for_terminals(library: Library) -> None:
    listed, asked = (*COMMAND, "proofs", "core/user"), (*COMMAND, *library.release(*EXACT, "--out", "-"))
    shown = (Terminal(*listed, stream="stdout", **plain) for plain in ({}, {"NO_COLOR": "1"}))
    assert [(one.close(), "\x1b[3" in one.seen) for one in shown] == [(0, True), (0, False)]
    progress = Terminal(*asked)
    assert (progress.close(), "\x1b[?25l" in progress.seen) == (0, True)


def test_progress_needs_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(show, "_PATIENCE", -1)
    with show.show_progress("releasing") as far:
        far("counting")
        far.report_parts(1, 2)
    assert capsys.readouterr() == ("", "")


def test_progress_says_what_is_done_now(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(show, "_PATIENCE", -1)
    as_on_a_terminal(monkeypatch, columns=60)
    with show.show_progress("[b]releasing") as far:
        far("part 1")
        far.progress.refresh()
        with log_step("counting"):
            far.progress.refresh()
        far.report_parts(1, 2)
        far.stop()
    show.print_note("[b]done")
    seen = capsys.readouterr().err
    said = [words.strip() for words in re.findall(r"\[b\][^━╸]*", CODES.sub("", seen))]
    assert [words for words, _ in itertools.groupby(said)] == [
        *("[b]releasing", "[b]releasing: part 1", "[b]releasing: counting", "[b]releasing", "[b]done")
    ]
    assert "╸" in seen, "half of the bar"
    assert seen.endswith("\x1b[1A\x1b[2K\x1b[2m[b]done\x1b[0m\n"), "the bar is erased"


ROWS = """
status  stale
file    /a/path/that/no/line/breaks.json
words   [b]1[/b] :smile: two
        3.5 four five six
made    once
no.   state
──────────────────────────────
  1   current
 10   [b]7[/b] a b c d e f g h
      i j k l m n o p q r s t
"""


def test_rows_and_tables_are_to_be_read(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Only the state of a proof has a colour, only words are wrapped, and nothing in a text is markup."""
    as_on_a_terminal(monkeypatch, columns=30)
    states = [show.status_text(word, tone) for word, tone in (("stale", ""), ("once", "open"), ("current", ""))]
    words = "/a/path/that/no/line/breaks.json", "[b]1[/b] :smile: two 3.5 four five six"
    show.print_rows(zip(("status", "file", "words", "made"), (states[0], *words, states[1]), strict=True))
    rows = ("1", states[2]), ("10", "[b]7[/b] a b c d e f g h i j k l m n o p q r s t")
    show.print_table(("no.", "state"), iter(rows), right=range(1))
    seen = capsys.readouterr().out
    lines = CODES.sub("", seen.replace("\n", "\v")).split("\v")
    assert [line if at < 5 else line.rstrip() for at, line in enumerate(lines)] == ROWS.split("\n")[1:]
    expected = {"stale": "1;31", "once": "34", "current": "32"}
    expected |= dict.fromkeys(("status", "file", "words", "made", "no", "state"), "1")
    assert {word: code for code, word in re.findall(r"\x1b\[([1-9][\d;]*)m *(\w+)", seen)} == expected


def as_on_a_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    """What is printed has colours, as in a terminal of this width."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": str(columns)}.items():
        monkeypatch.setenv(name, value)


def _events(err: str) -> list[dict[str, Any]]:
    """The lines of a log, which are all of standard error."""
    found = [json.loads(line) for line in err.splitlines()]
    assert all(set(one) <= KEYS for one in found), found
    times = [one["seconds"] for one in found]
    assert times == sorted(times)
    return found


def _steps(events: list[dict[str, Any]]) -> list[str]:
    return [f"{one['event']} {one['step']}" for one in events if "step" in one]


STEPS = ["reading", "paying", "counting and drawing", "recording"]


def test_the_log_of_a_release_has_its_steps_and_no_data(command: Command, library: Library) -> None:
    ledger = library.folder / "own.ledger"
    with tk.ledger.Ledger.create(
        ledger, budget=10**7, measure=tk.MaxDivergence(), dataset="loans", metric=tk.UserDistance(), d_in=1
    ):
        pass
    plain = library.release(*EXACT, "--ledger", ledger)
    result = command(*plain, "--log", "json")
    events = _events(result.err)
    assert result.code == 0
    assert [step for step in _steps(events) if step.startswith("start")] == [
        f"start {step}" for step in ("planning", "releasing", *STEPS)
    ]
    assert _steps(events)[-3:] == ["end recording", "end counting and drawing", "end releasing"]
    (drawn,) = (one for one in events if "scale" in one)
    assert drawn["step"] == "counting and drawing"
    assert {one["event"] for one in events} == {"start", "end", "note"}
    steps = [{**one, "seconds": 0} for one in events if "step" in one]
    assert not any(str(count) in json.dumps({**one, "scale": 0}) for one in steps for count in LOANS.values())
    assert not any(book in result.err for book in LOANS)
    assert "{" not in command(*plain).err, "the log of one command is that of the next"


def test_a_plan_and_an_error_are_logged(command: Command, library: Library) -> None:
    plan = "plan", "top-k", "--k", 3, "--candidates", 9, "--epsilon", 1
    assert _steps(_events(command(*plan, "--log", "json").err)) == ["start planning", "end planning"]
    tried = command(*plan, "--like", "zipf:1:99", "--log", "json")
    assert _steps(_events(tried.err))[2:] == ["start computing", "end computing"]
    assert re.match(r"the exact top-3, in any order, has probability 0\.\d{3};", tried.field("on the shape"))
    result = command(*library.release("--epsilon", -1, "--log", "json"))
    assert result.code == 2
    last = _events(result.err)[-1]
    assert (last["event"], last["code"]) == ("error", 2)
    assert "epsilon" in last["message"]
    assert command(*plan, "--log", "text").code == 2


@pytest.mark.slow
def test_verbose_commands_say_when_each_step_begins() -> None:
    said = spawn("-v", "plan", "top-k", "--k", 3, "--candidates", 9, "--epsilon", 1).err.splitlines()
    steps = [re.sub(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} opendp_topk\.[\w.]+: ", "", line) for line in said]
    assert steps == ["planning starts", "planning ends"]


def test_python_has_the_steps_in_its_log(library: Library, caplog: pytest.LogCaptureFixture) -> None:
    unit, budget = tk.planning.TableUnit(user="reader"), tk.planning.PrivacyBudget(epsilon=1)
    asked = tk.planning.TopK(k=2, candidates=["Emma", "Faust"], item="book", unit=unit, budget=budget)
    caplog.set_level("INFO", logger="opendp_topk")
    asked.plan().release(library.table)
    found = [one.getMessage() for one in caplog.records if hasattr(one, "step")]
    assert found[:2] == ["reading starts", "reading ends"]
    assert found[2:4] == ["counting and drawing starts, scale 1.0", "counting and drawing ends"]
    assert found[4:] == ["recording starts", "recording ends"]


def test_an_error_of_a_receiver_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = mock.Mock(side_effect=OSError)
    logger = logging.getLogger("opendp_topk.apps.planning.steps")
    before = logger.level, list(logger.filters)
    with watch_steps(broken), log_step("reading"), log_step("counting", hidden=True):
        pass
    assert [one.args for one in broken.call_args_list] == [("start",), ("end",)]
    monkeypatch.setattr(sys.stderr, "write", broken)
    with log_as_json():
        assert write_event("note", message="of a full disk")
    assert (logger.level, logger.filters) == before
