"""How the command ends: one line, the right exit code, no traceback, no data; after Ctrl-C, and on a terminal.

It loads no more than it needs to answer.
"""

import inspect
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from opendp_topk.apps.cli import app, show
from opendp_topk.apps.cli.output import RecordDestination
from opendp_topk.apps.planning.questions import WRAPPED, question_kinds

from .command import COMMAND, Result, record_of, spawn
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
    add("list.xlsx", "must end in .parquet, .csv, .csv.gz or .csv.zst", rows.encode())
    whole = pl.DataFrame({"reader": [SECRET] * 500, "book": [f"{SECRET}{n}" for n in range(500)]})
    add("float.parquet", "must contain integer, string", whole.with_columns(book=pl.lit(918273.640625)))
    add("nested.parquet", "must contain integer, string", whole.with_columns(reader=pl.concat_list("reader")))
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


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError(f"{SECRET}: 918273645"), "internal error (ValueError); the details are omitted, as they may"),
        (OSError(28, "No space left", "top.json"), "opendp-topk: No space left: top.json\n"),
        (OSError(5, "I/O error"), "opendp-topk: I/O error: input or output\n"),
        (OSError(SECRET), "opendp-topk: OSError: input or output\n"),
    ],
)
def test_unexpected_errors_show_their_type(
    command: Command, library: Library, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    monkeypatch.setattr("opendp_topk.apps.planning.releasing.write_file_list", mock.Mock(side_effect=error))
    failed = command(*library.release(*EXACT))
    failed.complains(1, said)
    assert SECRET not in failed.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("release", "top-k", "t.csv", "--eps", 1), "No such option: --eps (Possible options: --epsilon)"),
        (("plan", "top-k", "--neighbours", "replace"), "--neighbors"),
        (("release", "top-k", "t.csv", "--sep", ";"), "(Possible options: --separator)"),
        (("ledger", "create", "b", "--dataset", "d", "--epsilon", "1,0"), "--epsilon must be a finite number"),
        (("ledger", "create", "b", "--dataset", "d", "--rho", "x"), "--rho must be a finite number"),
        (("ledger", "create", "b", "--dataset", "d", "--epsilon", 1, "--delta", "x"), "--delta must be a finite"),
        (("ledger", "delete", "b"), "No such command 'delete'"),
        (("proofs", "make_noisy_top_k"), "lists: use make_report_noisy_top_k"),
        (("proofs", "make_permute_and_flop"), "lists: use make_permute_and_flip"),
    ],
)
def test_a_mistyped_word_gets_the_right_one(command: Command, arguments: tuple[object, ...], said: str) -> None:
    done = command(*arguments)
    assert done.code == 2
    assert said in " ".join(done.err.split())


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
        ("rich", ("plan", "top-k", "--k", "1", "--candidates", "9", "--epsilon", "1"), "cli"),
        ("jinja2", ("audit", "--html", "report"), "cli"),
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


def test_options_are_declared_in_docstrings() -> None:
    for arguments in (("ledger", "verify", "budget.ledger"), ("plan", "top-k", "--help")):
        command = [sys.executable, "-OO", *COMMAND[1:], *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 1
        assert done.stderr.startswith("opendp-topk: python -OO removes the docstrings that declare options")


def test_a_missing_package_within_this_process(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "opendp_topk.apps.cli.app", raising=False)
    monkeypatch.setitem(sys.modules, "typer", None)
    command("--version").complains(1, 'the command requires typer: pip install "opendp_topk[cli]"')


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt(), 130), (OSError(28, "No space left"), 1)])
def test_what_ends_the_command_before_it_is_loaded(
    command: Command, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    """The exit code is that of a command that has begun, even if standard error cannot be written either."""
    for place, name in ((app, "run_command_line"), (sys.stderr, "write"), (sys.stdout, "fileno")):
        monkeypatch.setattr(place, name, mock.Mock(side_effect=error))
    assert command("--version") == Result(code, "", "")


def test_a_broken_install_is_not_taken_for_a_missing_extra(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
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


INTERRUPTED = mock.Mock(side_effect=KeyboardInterrupt)
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
    monkeypatch.setattr("opendp_topk.apps.planning.releasing.write_file_list", INTERRUPTED)
    before = set(os.listdir(library.folder))
    result = command(*library.release(*EXACT, "--out", library.folder / "top.json"))
    assert (result.code, result.out, result.err) == (130, "", MESSAGE)
    assert set(os.listdir(library.folder)) == before


@pytest.mark.further
def test_ctrl_c_after_the_draw_waits(command: Command, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_ctrl_c_in_print_does_not_deny_it(command: Command, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opendp_topk.apps.cli.release.show_release", INTERRUPTED)
    result = command(*library.release(*EXACT, "--out", library.folder / "top.json"))
    result.complains(130, "interrupted while the release was printed: it was drawn, and its cost is spent")
    assert record_of((library.folder / "top.json").read_text(encoding="utf-8"))["items"][0] == "Emma"


def test_ctrl_c_while_mechanisms_are_compared(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opendp_topk.apps.cli.plan.rank_mechanisms", INTERRUPTED)
    result = command("plan", "top-k", "--k", 2, "--candidates", 9, "--epsilon", 1, "--compare")
    assert (result.code, result.out, result.err) == (130, "", MESSAGE)


def test_a_long_table_is_written_like_any(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Letters of two columns, numbers on the right and what a terminal would obey are where ``rich`` puts them."""
    found = []
    for most in (100, 0):
        monkeypatch.setattr(show, "_LONG", most)
        rows = ((str(one), "0.5" if one % 2 else "0.125, 1e-07", f"\u1234 \x1b[3m{one}") for one in range(12))
        show.print_table(("no.", "cost", "release"), rows, right=range(2))
        found.append(capsys.readouterr().out)
    assert found[0] == found[1]
    assert len(found[0].splitlines()) == 14


_SCRIPT = """
import sys
sys.argv = ["opendp-topk", *{arguments!r}]
from opendp_topk.apps.cli import main
try:
    main()
except SystemExit as ended:
    assert not ended.code
print("loaded:", *sorted(sys.modules))
"""


def loaded(*arguments: str) -> set[str]:
    script = _SCRIPT.format(arguments=arguments)
    output = subprocess.check_output([sys.executable, "-c", script], text=True)
    return set(output.rpartition("loaded:")[2].split())


def rooms(modules: set[str], *names: str) -> list[str]:
    return [module for module in sorted(modules) if module.startswith(tuple(f"opendp_topk.{name}" for name in names))]


def test_the_list_of_commands_needs_no_numpy() -> None:
    modules = loaded("--help")
    assert not {"numpy", "gmpy2", "mpmath"} & modules
    assert not rooms(modules, "apps.audit", "tables", "measurements")


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--group", "town", "--groups", "7")], ids=["one list", "in groups"])
def test_a_plan_reads_no_tables_and_audits_nothing(more: tuple[str, ...]) -> None:
    modules = loaded("plan", "top-k", "--k", "3", "--candidates", "50", "--epsilon", "1", *more)
    assert rooms(modules, "measurements")
    assert not rooms(modules, "apps.audit", "tables")


@pytest.mark.further
def test_a_release_loads_the_constructor_that_it_takes(tmp_path: Path) -> None:
    """Neither the others of the catalogue, nor what only exact laws need, nor what looks through records."""
    (tmp_path / "loans.csv").write_text("user,book\n1,a\n2,a\n2,b\n", encoding="utf-8")
    (tmp_path / "books.txt").write_text("a\nb\nc\n", encoding="utf-8")
    columns = "--user", "user", "--item", "book", "--candidates", str(tmp_path / "books.txt")
    modules = loaded("release", "top-k", str(tmp_path / "loans.csv"), *columns, "--k", "1", "--epsilon", "1")
    assert rooms(modules, "measurements.report_noisy_top_k")
    assert rooms(modules, "sampling.samplers.race")
    assert "mpmath" not in modules
    assert not rooms(modules, "apps.audit", "apps.planning.unknown_domain", "apps.planning.verification")
    assert not rooms(modules, "sampling.samplers.joint", "sampling.samplers.canonical")
    others = rooms(modules, "measurements.canonical", "measurements.joint", "measurements.peeled")
    assert others == []


def test_what_was_read_is_not_looked_through() -> None:
    """Neither while the command reads, nor when it ends: what is registered first is called last."""
    script = """
import atexit, gc
from opendp_topk.apps.cli import main
before = gc.get_stats()[0]["collections"]
atexit.register(lambda: print("found:", gc.get_stats()[0]["collections"] - before, gc.get_freeze_count()))
"""
    output = subprocess.check_output(
        [sys.executable, "-c", script + _SCRIPT.format(arguments=("--version",))], text=True
    )
    collections, frozen = map(int, output.rpartition("found:")[2].split())
    assert collections == 0
    assert frozen > 0


@pytest.mark.further
def test_importing_the_package_loads_what_is_asked_for() -> None:
    script = (
        "import sys, opendp_topk as tk; before = set(sys.modules); tk.noise.Gumbel; print(*before); print(*sys.modules)"
    )
    before, after = map(str.split, subprocess.check_output([sys.executable, "-c", script], text=True).splitlines())
    assert "numpy" not in before
    assert "opendp_topk.sampling.noises.gumbel" in set(after) - set(before)
    assert not rooms(set(after), "apps.audit", "tables", "measurements", "core.measurement")


def test_the_list_of_commands_says_what_their_own_help_says() -> None:
    for name, line in app.COMMANDS.items():
        command = app.load_command(name)
        assert inspect.cleandoc(command.help).partition("\n")[0] == line


@pytest.mark.parametrize("group", [[], ["plan"], ["release"]])
def test_help_lists_all_that_can_be_asked(command: Command, group: list[str]) -> None:
    result = command(*group, "--help")
    for name in [kind for kind in question_kinds() if kind != WRAPPED] if group else app.COMMANDS:
        assert re.search(rf"^ +{name} ", result.out, re.MULTILINE), name
