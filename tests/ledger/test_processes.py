"""Many processes, sudden death, a full disk and a file that may not be written.

Tries proofs/ledger/ledger.tex.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk

ROOT = Path(__file__).parents[2]


def run(name: str, *arguments: object, module: str = "workers") -> list[Any]:
    done = subprocess.run(
        [sys.executable, "-m", f"tests.ledger.{module}", name, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_eight_processes_spend_the_budget_and_no_more(tmp_path: Path) -> None:
    path = tmp_path / "budget.sqlite"
    (found,) = run("attempts", path, 8, 500)
    assert [one["failed"] for one in found] == [[]] * 8
    assert sum(one["released"] for one in found) == 3000
    assert sum(one["refused"] for one in found) == 1000
    with tk.Ledger(path) as ledger:
        assert (ledger.spent(), ledger.remaining()) == (3000.0, 0.0)
        assert len(ledger.history()) == 3000


@pytest.mark.parametrize(("deaths", "each", "seen"), [(8, 2, 3), pytest.param(140, 20, 100, marks=pytest.mark.slow)])
def test_no_death_loses_a_debit_that_preceded_a_release(deaths: int, each: int, seen: int, tmp_path: Path) -> None:
    path = tmp_path / "budget.sqlite"
    found = run("crashes", path, deaths, each)
    assert len(found) == deaths + 4 * each
    assert Counter(name for name, *_ in found) == {
        "random": deaths, "insert": each, "commit": each, "between": each, "sampling": each,
    }  # fmt: skip
    deaths_after_a_debit = unreleased = before = 0
    for name, death, released, debits, spent in found:
        assert death == 9
        assert debits >= released, "a release was seen whose debit is lost"
        assert spent == debits
        unreleased, before = debits - released - before, debits - released
        assert unreleased <= 1, "one death leaves at most one debit without its release"
        if name in ("insert", "commit"):
            assert unreleased == 0
        if name in ("between", "sampling"):
            assert unreleased == 1
        deaths_after_a_debit += unreleased
    assert deaths_after_a_debit >= 2 * each
    assert found[-1][2] > seen, "the children released too little for a test"


def test_a_full_disk_releases_nothing_and_the_ledger_goes_on_after_it(tmp_path: Path) -> None:
    (found,) = run("full_disk", tmp_path / "budget.sqlite")
    assert found["kind"] == "LedgerError"
    assert "disk may be full" in found["message"] or "disk is full" in found["message"]
    assert "Nothing was released" in found["message"]
    assert 0 < found["released"] == found["drawn"]
    assert found["released"] < found["after"] <= found["released"] + 2


@pytest.mark.quick(mode=292)
@pytest.mark.parametrize("mode", [0o444, 0o666])
def test_a_file_or_a_folder_that_may_not_be_written_releases_nothing(mode: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        path = Path(folder, "budget.sqlite")
        tk.Ledger(path, budget=10, measure=tk.MaxDivergence()).close()
        os.chmod(path, mode)
        os.chmod(folder, 0o555)
        before = path.read_bytes()
        (found,) = run("read_only", path)
        os.chmod(folder, 0o755)
        assert found["kind"] == "LedgerError"
        assert "check the permissions" in found["message"]
        assert found["drawn"] == 0
        assert path.read_bytes() == before
