"""``opendp-topk audit --gauntlet``: the table of planted faults, and the exit code."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from opendp_topk.audit.gauntlet import FAULTS, Fault, Outcome

from .conftest import Command


def planned(caught: dict[str, str]) -> Callable[..., list[Outcome]]:
    """In place of the run of some minutes: the first fault meets ``caught``, every other one the check of maps."""

    def run(faults: Sequence[Fault], *, done: Callable[[Outcome], None]) -> list[Outcome]:
        assert faults is FAULTS
        found = [Outcome(fault, {"maps": "too small"} if place else caught) for place, fault in enumerate(faults)]
        for outcome in found:
            done(outcome)
        return found

    return run


def test_the_table_lists_every_fault(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opendp_topk.cli.gauntlet.run", planned({"pins": "changed", "verify": "refuted"}))
    result = command("audit", "--gauntlet")
    assert result.code == 0
    assert all(fault.name in result.out for fault in FAULTS)
    row = next(line for line in result.out.splitlines() if line.startswith(FAULTS[0].name))
    assert "pins, verify" in row
    assert f"{len(FAULTS)} of {len(FAULTS)} faults are caught" in result.flat


@pytest.mark.parametrize("caught", [{}, {"pins": "changed"}])
def test_a_survivor_is_named_and_sets_the_exit_code(
    command: Command, monkeypatch: pytest.MonkeyPatch, caught: dict[str, str]
) -> None:
    monkeypatch.setattr("opendp_topk.cli.gauntlet.run", planned(caught))
    result = command("audit", "--gauntlet")
    assert result.code == 1
    assert f"These survive: {FAULTS[0].name}." in result.flat


def test_it_is_not_run_unless_asked_for(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opendp_topk.cli.gauntlet.run", None)
    assert command("audit").code == 0
