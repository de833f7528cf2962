"""``opendp-topk ledger`` and ``release --ledger``: a budget on the command line."""

import csv
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

import opendp_topk as tk
from opendp_topk.apps.planning import sources as engines
from opendp_topk.apps.planning.catalogue import ONE_SHOT
from opendp_topk.apps.planning.plan import Plan, Query
from opendp_topk.apps.planning.question import PrivacyBudget
from opendp_topk.apps.planning.record_store import Interrupted
from opendp_topk.apps.planning.releasing import draw_and_record
from opendp_topk.apps.planning.top_k import TopKTask
from opendp_topk.apps.planning.units import UserUnit

from .command import COMMAND, spawn
from .conftest import Command, Library


@pytest.fixture
def file(tmp_path: Path, command: Command) -> Path:
    """A ledger with epsilon 2."""
    path = tmp_path / "budget.ledger"
    assert command("ledger", "create", path, "--dataset", "loans", "--epsilon", 2).code == 0
    return path


@pytest.mark.further
def test_releases_are_taken_from_the_budget_until_it_is_spent(command: Command, library: Library, file: Path) -> None:
    paid = library.release("--epsilon", 0.75, "--ledger", file, "--label", "loans, May")
    for left in (1.25, 0.5):
        assert command(*paid, *(["--again"] if left < 1 else [])).code == 0
        assert command("ledger", file).field("left") == str(left)
    refused = command(*library.release("--epsilon", 0.75, "--ledger", file, "--out", library.folder / "top.json"))
    refused.complains(1, "would cost 0.75 of epsilon, but 0.5 is left", "nothing was debited")
    assert not (library.folder / "top.json").exists()
    shown = command("ledger", file, "--history")
    assert shown.field("budget") == "2"
    assert shown.field("spent") == "1.5 on 2 entries"
    assert shown.flat.count("loans, May") == 2


@pytest.mark.slow
def test_ten_releases_of_a_tenth_fit_in_one(command: Command, library: Library, file: Path) -> None:
    one = file.with_name("one")
    command("ledger", "create", one, "--dataset", "loans", "--epsilon", "1")
    for _ in range(10):
        assert command(*library.release("--epsilon", "0.1", "--ledger", one)).code == 0
    command(*library.release("--epsilon", "0.1", "--ledger", one)).complains(1, "is left")
    assert command("ledger", "verify", one).out == "consistent\n"


def test_an_error_after_the_debit_says_that_the_budget_was_spent(
    command: Command, library: Library, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = mock.Mock(side_effect=tk.errors.TableError("the files of the table were changed"))
    monkeypatch.setattr(engines.SourceTable, "require_unchanged", changed)
    failed = command(*library.release("--epsilon", 0.5, "--ledger", file))
    failed.complains(1, "the budget was spent: the ledger keeps the debit of entry 1")
    ledger = tk.ledger.Ledger(file)
    assert (ledger.spent(), ledger.history()[0].state) == (0.5, "failed")


def torn(library: Library) -> bytes:
    """Its columns are told at its end, which is whole."""
    content = library.table.read_bytes()
    return content[:4] + bytes(len(content) // 8) + content[4 + len(content) // 8 :]


def of_no_text(library: Library) -> bytes:
    import polars as pl

    pl.read_parquet(library.table).write_parquet(library.folder / "x.parquet", compression="uncompressed")
    return (library.folder / "x.parquet").read_bytes().replace(b"Walden", b"Wald\xffn")


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("damaged", [torn, of_no_text])
def test_a_table_that_cannot_be_read_costs_nothing_and_the_file_is_named(
    command: Command, library: Library, file: Path, damaged: Callable[[Library], bytes], engine: str
) -> None:
    """Rows were read after the debit, and of many files nobody was told which."""
    pytest.importorskip(engine, reason=f"{engine} is not installed")
    folder = library.folder / "loans"
    folder.mkdir()
    (folder / "a.parquet").write_bytes(library.table.read_bytes())
    (folder / "b.parquet").write_bytes(damaged(library))
    failed = command(*library.release("--epsilon", 0.5, "--ledger", file, "--engine", engine, table=folder))
    failed.complains(1, "the file", "b.parquet' could not be read")
    assert not tk.ledger.Ledger(file).history()
    assert command(*library.release("--epsilon", 0.5, "--ledger", file, table=folder / "a.parquet")).code == 0


@pytest.mark.further
def test_a_mistake_in_the_command_costs_nothing(command: Command, library: Library, file: Path) -> None:
    wrong = command("release", "top-k", library.table, "--user", "nobody", "--item", "book", "--k", 3, "--epsilon", 1,
                    "--candidates", library.candidates, "--ledger", file)  # fmt: skip
    wrong.complains(1, "nobody")
    numbers = library.folder / "numbers.json"
    numbers.write_text("[1, 2, 3, 4]", encoding="utf-8")
    command(*library.release("--epsilon", 1, "--ledger", file, candidates=numbers)).complains(
        1, "column 'book' contains strings, but the candidates are integers"
    )
    command(*library.release("--rho", 1, "--ledger", file)).complains(2, "uses epsilon")
    command(*library.release("--epsilon", 1, "--neighbors", "replace", "--ledger", file)).complains(2, "--neighbors")
    command(*library.release("--epsilon", 1, "--ledger", library.folder / "none")).complains(
        1, "no ledger of that name: create one"
    )
    command(*library.release("--epsilon", 1, "--ledger", library.table)).complains(1, "not a ledger")
    command(*library.release("--epsilon", 1, "--ledger", file, "--out", file, "--force")).complains(2, "input files")
    assert tk.ledger.Ledger(file).spent() == 0.0


def test_a_ledger_keeps_its_budget_and_its_unit(command: Command, file: Path) -> None:
    create = ("ledger", "create", file, "--dataset")
    for other in (("--epsilon", 2), ("--epsilon", 3), ("--rho", 2), ("--epsilon", 2, "--users", 5)):
        command(*create, "loans", *other).complains(1, "name is already in use")
    shown = command("ledger", file)
    assert (shown.field("budget"), shown.field("left")) == ("2", "2.0")
    command("ledger", file.with_name("none")).complains(1, "no ledger of that name")


@pytest.mark.further
def test_a_budget_with_a_delta_pays_for_epsilon_and_rho(command: Command, library: Library) -> None:
    file = library.folder / "pairs"
    create = ("ledger", "create", file, "--dataset", "loans")
    shown = command(*create, "--epsilon", 2, "--delta", "1e-6")
    assert shown.field("budget") == "2, 1e-06"
    assert shown.field("may be charged").endswith(", 0.0 (rho, deltas of releases)")
    alone = command("ledger", "create", library.folder / "alone", "--dataset", "loans", "--epsilon", 2)
    assert "may be charged" not in alone.out
    assert command(*library.release("--epsilon", 0.1, "--ledger", file)).code == 0
    assert command(*library.release("--rho", 0.01, "--ledger", file)).code == 0
    spent = tk.ledger.Ledger(file).spent()
    assert 0.0149 < spent[0] <= 0.015
    assert spent[1] == 0


@pytest.mark.further
def test_verify_head_and_backup(command: Command, library: Library, file: Path) -> None:
    command(*library.release("--epsilon", 0.5, "--ledger", file))
    head = command("ledger", "head", file).out.strip()
    assert command("ledger", "verify", file, "--head", head).out.startswith("consistent, and")
    assert json.loads(command("ledger", "verify", file, "--json").out) == {"whole": True, "problems": []}
    old = library.folder / "old"
    assert command("ledger", "backup", file, old).code == 0
    command(*library.release("--epsilon", 0.5, "--ledger", file))
    later = json.loads(command("ledger", "head", file, "--json").out)["head"]
    assert later != head
    file.write_bytes(old.read_bytes())
    set_back = command("ledger", "verify", file, "--head", later)
    assert (set_back.code, "is missing" in set_back.out) == (1, True)
    command("ledger", "verify", file, "--head", "x").complains(2, "head")
    command("ledger", "backup", file, old).complains(1, "exists already")


def test_reserve_and_settle(command: Command, file: Path) -> None:
    made = command("ledger", "reserve", file, "--amount", "0.1", "--label", "a survey", "--json")
    assert json.loads(made.out) == {"entry": 1}
    command("ledger", "reserve", file, "--amount", "2", "--label", "too much").complains(1, "is left")
    row = command("ledger", file, "--history").out.splitlines()[-1]
    assert re.fullmatch(r"  1    0\.1   20[-\dT:+]+   reserved   a survey *", row)
    assert command("ledger", "settle", file, 1, "--failed").code == 0
    command("ledger", "settle", file, 1).complains(2, "already failed")
    command("ledger", "settle", file, 2).complains(2, "number")
    entries = json.loads(command("ledger", "show", file, "--history", "--json").out)["entries"]
    assert [(one["label"], one["state"], one["cost"]) for one in entries] == [("a survey", "failed", 0.1)]


def test_what_a_ledger_accepts_is_shown(command: Command, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = command("ledger", "accept", file, "overlay").out
    assert said == "The ledger accepts overlay now, as its records show.\n"
    monkeypatch.setattr(tk.ledger.Ledger, "accepted", ("overlay", "server 7/16/2", "tmpfs"))
    shown = command("ledger", file)
    assert shown.field("server") == "7/16/2"
    assert shown.field("file system") == "overlay, tmpfs: accepted, without guarantees"


@pytest.mark.further
def test_a_planned_week_has_its_own_label(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plan = "plan", "top-k", "--k", 1, "--candidates", 3, "--epsilon", 2, "--delta", 1e-6, "--releases", 2
    assert command(*plan, "--out", "plan.json").code == 0
    unit = "--dataset", "loans", "--epsilon", 2, "--delta", 1e-6, "--own-delta", 1e-6
    assert command("ledger", "create", "weeks.ledger", *unit).code == 0
    pay = "ledger", "reserve", "weeks.ledger", "--plan", "plan.json", "--labels"
    command(*pay, "W01").complains(2, "one for each of the 2 releases")
    command(*pay, "W01,w01").complains(2, "must differ")
    all_three = "give --plan, --ledger and --planned ENTRY"
    command("release", "planned", "loans.csv", "--plan", "plan.json", "--planned", 1).complains(2, all_three)
    assert command(*pay, "2024-W01,2024-W02").code == 0
    with tk.ledger.Ledger("weeks.ledger") as ledger:
        assert ledger.planned(1).left() == ("2024-W01", "2024-W02")


@pytest.mark.further
def test_export_and_report(command: Command, library: Library, file: Path) -> None:
    for epsilon in (0.5, 0.25):
        command(*library.release("--epsilon", epsilon, "--ledger", file))
    printed = [json.loads(line) for line in command("ledger", "export", file).out.splitlines()]
    assert (printed[0]["budget"], printed[0]["spent"]) == ("2", 0.75)
    assert [one["cost"] for one in printed[1:]] == [0.5, 0.25]
    for name in ("all.csv", "all.jsonl"):
        assert command("ledger", "export", file, "--to", library.folder / name).code == 0
        command("ledger", "export", file, "--to", library.folder / name).complains(1, "exists already")
    with (library.folder / "all.csv").open(encoding="utf-8", newline="") as stream:
        assert [row["spent"] for row in csv.DictReader(stream)] == ["0.5", "0.75"]
    assert "Emma" not in (library.folder / "all.jsonl").read_text("utf-8"), "no data in a ledger"
    assert command("ledger", "report", file).out == command("ledger", "show", file, "--history").out
    page = library.folder / "report.html"
    assert command("ledger", "report", file, "--to", page).code == 0
    assert "Privacy budget of loans" in page.read_text("utf-8")
    for place, name in ((library.folder / "again.html", "report"), (library.folder / "copy", "backup")):
        to = (place,) if name == "backup" else ("--to", place)
        assert json.loads(command("ledger", name, file, *to, "--json").out)["written"] == str(place)
    other = command("ledger", "create", library.folder / "json", "--dataset", "loans", "--epsilon", 2, "--json")
    assert json.loads(other.out)["left"] == 2.0
    for name in ("export", "report"):
        command("ledger", name, file, "--to", "all.txt").complains(2, "--to must be")
        place = library.folder / "no" / ("all.csv" if name == "export" else "all.html")
        command("ledger", name, file, "--to", place).complains(1, "could not be written")


def test_the_exit_codes_are_in_the_help(command: Command) -> None:
    assert "Exit codes: 0 success; 1 input, budget or verification error, or" in command("--help").flat
    assert "Exit codes: 0 success; 1 input, budget or verification error; 2" in command("ledger", "--help").flat


def stopping(cost: float) -> tk.Measurement:
    """A measurement in which somebody presses Ctrl-C."""

    def function(data: object) -> None:
        raise KeyboardInterrupt

    space = tk.FrameDomain("u", "i"), tk.UserDistance()
    return tk.make_user_measurement(*space, tk.MaxDivergence(), function=function, privacy_map=lambda d_in: cost)


NO_WORDS = {"label": "", "at_most": None, "shared": False}
NEVER = mock.Mock(side_effect=AssertionError("nothing was released"))


def test_ctrl_c_after_the_debit_says_so(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import polars as pl

    rows = pl.DataFrame({"u": [1], "i": [1]})
    query = Query(TopKTask(1, 9, "ranking", ONE_SHOT), UserUnit(), PrivacyBudget(epsilon=0.5).main)
    plan = Plan(query, stopping(0.5))
    with tk.ledger.Ledger(file) as account, pytest.raises(Interrupted, match="the budget stays spent"):
        draw_and_record(plan, rows, account, NO_WORDS, NEVER)
    with tk.ledger.Ledger(file) as account:
        monkeypatch.setattr(account._journal, "debit", mock.Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            draw_and_record(plan, rows, account, NO_WORDS, NEVER)
        assert account.spent() == 0.5


def shell(library: Library, tail: str, *more: object) -> subprocess.CompletedProcess[str]:
    """The command with its standard output as ``tail`` says."""
    script = f'"$@" {tail}'
    line = [*COMMAND, *map(str, library.release("--epsilon", 0.5, *more))]
    return subprocess.run(["sh", "-c", script, "sh", *line], capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--out", "-")])
def test_a_release_that_is_not_shown_does_not_end_with_0(library: Library, file: Path, more: tuple[str, ...]) -> None:
    full = shell(library, ">/dev/full", "--ledger", file, *more)
    assert full.returncode == 1
    assert "It was drawn, and its cost is spent" in full.stderr
    closed = shell(library, ">&-", "--ledger", file, *more)
    assert closed.returncode == 1
    assert "standard output is closed: nothing was released" in closed.stderr
    assert tk.ledger.Ledger(file).spent() == 0.5


@pytest.mark.slow
def test_the_whole_story_in_processes_of_their_own(library: Library) -> None:
    file = library.folder / "own.ledger"
    assert spawn("ledger", "create", file, "--dataset", "loans", "--rho", 0.5).code == 0
    assert spawn(*library.release("--rho", 0.25, "--ledger", file)).code == 0
    assert "0.25" in spawn("ledger", file, "--history").out
