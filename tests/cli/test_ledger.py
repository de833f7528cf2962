"""``opendp-topk ledger`` and ``release --ledger``: a budget on the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import opendp_topk as tk
from opendp_topk.cli.exit_codes import Interrupted
from opendp_topk.cli.release import drawn

from .command import spawn
from .conftest import Command, Library


@pytest.fixture
def file(tmp_path: Path, command: Command) -> Path:
    """A ledger with epsilon 2."""
    path = tmp_path / "budget.sqlite"
    assert command("ledger", path, "--epsilon", 2).code == 0
    return path


def test_releases_are_taken_from_the_budget_until_it_is_spent(command: Command, library: Library, file: Path) -> None:
    for left in (1.25, 0.5):
        assert command(*library.release("--epsilon", 0.75, "--ledger", file)).code == 0
        shown = command("ledger", file)
        assert shown.field("left") == str(left)
    refused = command(*library.release("--epsilon", 0.75, "--ledger", file, "--out", library.folder / "top.json"))
    refused.complains(1, "would cost 0.75 of epsilon, and 0.5 is left", "nothing was debited")
    assert not (library.folder / "top.json").exists()
    shown = command("ledger", file, "--history")
    assert shown.field("budget") == "2.0"
    assert shown.field("spent") == "1.5 on 2 releases"
    assert shown.flat.count("report_noisy_top_k, k = 3, d_in = 1") == 2


def test_the_debit_comes_before_the_table_is_counted(command: Command, library: Library, file: Path) -> None:
    broken = library.folder / "broken.csv"
    broken.write_text("reader,book\n" + "1,Emma\n" * 100_000 + '1,"Emma\n', encoding="utf-8")
    failed = command(*library.release("--epsilon", 0.5, "--ledger", file, table=broken))
    if failed.code:
        failed.complains(1)
    assert tk.Ledger(file).spent() == 0.5


def test_a_mistake_in_the_command_costs_nothing(command: Command, library: Library, file: Path) -> None:
    wrong = command("release", library.table, "--user", "nobody", "--item", "book", "--k", 3, "--epsilon", 1,
                    "--candidates", library.candidates, "--ledger", file)  # fmt: skip
    wrong.complains(1, "nobody")
    command(*library.release("--rho", 1, "--ledger", file)).complains(2, "counts epsilon")
    command(*library.release("--epsilon", 1, "--ledger", library.folder / "none")).complains(1, "No such file")
    command(*library.release("--epsilon", 1, "--ledger", library.table)).complains(1, "not a ledger")
    command(*library.release("--epsilon", 1, "--ledger", file, "--out", file, "--force")).complains(2, "is read")
    assert tk.Ledger(file).spent() == 0.0


def test_export(command: Command, library: Library, file: Path) -> None:
    for epsilon in (0.5, 0.25):
        command(*library.release("--epsilon", epsilon, "--ledger", file))
    printed = json.loads(command("ledger", file, "--export", "-").out)
    assert (printed["budget"], printed["spent"]) == (2.0, 0.75)
    assert [one["cost"] for one in printed["releases"]] == [0.5, 0.25]
    for name in ("all.csv", "all.json"):
        assert command("ledger", file, "--export", library.folder / name).code == 0
        command("ledger", file, "--export", library.folder / name).complains(2, "exists already")
    assert json.loads((library.folder / "all.json").read_text("utf-8")) == printed
    with (library.folder / "all.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["spent"] for row in rows] == ["0.5", "0.75"]
    assert "Emma" not in (library.folder / "all.json").read_text("utf-8"), "no data in a ledger"
    command("ledger", file, "--export", "all.txt").complains(2, "--export must be")
    command("ledger", file, "--export", library.folder / "no" / "all.csv").complains(1, "could not be written")


def test_a_ledger_keeps_its_budget(command: Command, file: Path) -> None:
    assert command("ledger", file, "--epsilon", 2).field("left") == "2.0"
    command("ledger", file, "--epsilon", 3).complains(2, "created with the budget")
    command("ledger", file, "--rho", 2).complains(2, "created with the budget")
    command("ledger", file, "--rho", 2, "--epsilon", 2).complains(2, "exactly one")
    command("ledger", file.with_name("none")).complains(1, "No such file")
    empty = file.with_name("empty")
    empty.touch()
    command("ledger", empty, "--epsilon", 1).complains(1, "it is empty")


def test_a_ledger_with_a_delta_is_shown_and_is_for_python(command: Command, library: Library) -> None:
    file = library.folder / "pairs.sqlite"
    tk.Ledger(file, budget=(2, 1e-6), measure=tk.Approximate(tk.MaxDivergence())).close()
    shown = command("ledger", file)
    assert (shown.field("budget"), shown.field("spent")) == ("2.0, 1e-06", "0.0, 0.0 on 0 releases")
    command(*library.release("--epsilon", 1, "--ledger", file)).complains(2, "release from it in Python")
    assert tk.Ledger(file).spent() == (0.0, 0.0)


def stopping(cost: float) -> tk.Measurement:
    """A measurement in which somebody presses Ctrl-C."""

    def function(data: object) -> None:
        raise KeyboardInterrupt

    space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance()
    return tk.make_user_measurement(*space, tk.MaxDivergence(), function=function, privacy_map=lambda d_in: cost)


def test_ctrl_c_after_the_debit_says_so(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with tk.Ledger(file) as account, pytest.raises(Interrupted, match="the ledger keeps the debit"):
        drawn(stopping(0.5), [1], 1, account)
    with tk.Ledger(file) as account:
        monkeypatch.setattr(account._store, "debit", stopping(0.5).function)
        with pytest.raises(KeyboardInterrupt):
            drawn(stopping(0.5), [1], 1, account)
        assert account.spent() == 0.5


@pytest.mark.slow
def test_the_whole_story_in_processes_of_their_own(library: Library) -> None:
    file = library.folder / "own.sqlite"
    assert spawn("ledger", file, "--rho", 0.5).code == 0
    assert spawn(*library.release("--rho", 0.25, "--ledger", file)).code == 0
    assert "0.25" in spawn("ledger", file, "--history").out
