"""Forks with an open ledger, and ledgers that are made by several processes at once or by one that dies.

Tries proofs/ledger/ledger.tex.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .test_processes import run


def test_a_child_goes_on_when_its_parent_has_closed_the_ledger(tmp_path: Path) -> None:
    (found,) = run("parent_leaves", tmp_path, module="families")
    assert found == [0, 7, 7.0]


@pytest.mark.slow
def test_forks_between_the_debits_of_threads(tmp_path: Path) -> None:
    ((codes, released, debits, spent),) = run("threads_and_forks", tmp_path, 20, module="families")
    assert codes == [0] * 20
    assert released > 0
    assert debits == spent == released + 60


@pytest.mark.slow
def test_eight_processes_make_the_same_file(tmp_path: Path) -> None:
    ((found, left),) = run("births", tmp_path, 10, module="families")
    assert found == [[[0] * 8, 40.0]] * 10
    assert left == []


def test_a_death_while_a_ledger_is_made_leaves_a_whole_file_or_none(tmp_path: Path) -> None:
    found = run("dying_births", tmp_path, module="families")
    assert found == [
        ["connected", -9, False, 1.0],
        ["written", -9, False, 1.0],
        ["synced", -9, False, 1.0],
        ["placing", -9, False, 1.0],
        ["placed", -9, True, 1.0],
    ]
