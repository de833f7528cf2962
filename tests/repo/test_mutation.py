"""The mutation gauntlet: every planted fault is noticed, and the page that says by which checks is current."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from opendp_topk.errors import ParameterError, ProofError
from tests.mutation import CHECKS, FAULTS, Fault, Outcome, matrix
from tests.mutation.run import Gauntlet, checked

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "gauntlet.md").read_text(encoding="utf-8")
NAMES = [fault.name for fault in FAULTS]


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Gauntlet:
    return Gauntlet(tmp_path_factory.mktemp("gauntlet"))


@pytest.fixture(scope="module")
def outcomes(copies: Gauntlet, request: pytest.FixtureRequest) -> Iterator[dict[str, Future[Outcome]]]:
    """The outcomes of the faults whose tests were selected, two at a time."""
    copies.require_sound()
    selected = (item.callspec.params for item in request.session.items if hasattr(item, "callspec"))
    chosen = {parameters["fault"] for parameters in selected if "fault" in parameters}
    with ThreadPoolExecutor(2) as pool:
        yield {fault.name: pool.submit(copies.outcome, fault) for fault in FAULTS if fault.name in chosen}


@pytest.mark.parametrize("fault", NAMES)
def test_every_fault_is_caught(fault: str, outcomes: dict[str, Future[Outcome]]) -> None:
    outcome = outcomes[fault].result()
    assert outcome.is_caught, f"no check but {list(outcome.caught)} notices: {outcome.fault.what}"
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| {fault} |"))
    marks = [cell.strip() for cell in row.strip("|").split("|")][1:]
    stated = {check for check, mark in zip(CHECKS, marks, strict=True) if mark}
    assert set(outcome.caught) == stated, "docs/gauntlet.md is out of date: " + matrix.COMMAND
    if outcome.fault.file.endswith(".tex"):
        assert "pins" not in outcome.caught


def test_there_are_enough_different_faults() -> None:
    assert len(FAULTS) >= 28
    assert len(set(NAMES)) == len(FAULTS)
    assert len({(fault.file, fault.old, fault.new) for fault in FAULTS}) == len(FAULTS)


def test_the_page_lists_the_faults_and_the_checks() -> None:
    caught = [Outcome(fault, {}) for fault in FAULTS]
    head = matrix.markdown(caught).split("## Which check")[0]
    assert PAGE.startswith(head), "docs/gauntlet.md is out of date: " + matrix.COMMAND


def test_every_check_notices_something() -> None:
    rows = [line.strip("|").split("|")[1:] for line in PAGE.splitlines() if line.startswith("| ")]
    columns = zip(*[[cell.strip() for cell in row] for row in rows[2:]], strict=True)
    assert [name for name, column in zip(CHECKS, columns, strict=True) if "x" not in column] == []


def test_a_harmless_edit_survives(copies: Gauntlet) -> None:
    code = '"""From a table of (user, item) rows'
    harmless = Fault("harmless", "a docstring", "opendp_topk/transformations/count_by_item.py", code, code + " (all)")
    outcome = copies.outcome(harmless)
    assert outcome.caught == {}
    assert not outcome.is_caught


def test_an_edit_that_only_the_pins_notice_survives(copies: Gauntlet) -> None:
    path, code = "opendp_topk/samplers/peeled.py", "left = np.arange(len(values))  # [all]"
    outcome = copies.outcome(Fault("renamed", "a comment", path, code, code.replace("[all]", "[everybody]")))
    assert set(outcome.caught) == {"pins"}
    assert not outcome.is_caught


def test_a_process_that_ends_early_counts_as_noticed(copies: Gauntlet) -> None:
    file, code = "opendp_topk/audit/gauntlet/checks/laws.py", "gumbel = peeled(softmax, s, 2)"
    outcome = copies.outcome(Fault("gone", "the process ends", file, code, "raise SystemExit(3)"))
    assert set(outcome.caught) == {"laws"}


def test_a_fault_whose_text_has_moved_is_an_error(copies: Gauntlet) -> None:
    moved = replace(FAULTS[0], name="moved", old="this text is nowhere")
    with pytest.raises(ParameterError, match="holds 0 times"):
        copies.outcome(moved)
    many = replace(FAULTS[0], name="many", old="return")
    with pytest.raises(ParameterError, match="not once"):
        copies.outcome(many)


def test_a_package_that_fails_without_faults_is_an_error(tmp_path: Path) -> None:
    broken = Gauntlet(tmp_path)
    path = tmp_path / "sound" / "opendp_topk" / "errors/checks.py"
    path.write_text(path.read_text(encoding="utf-8").replace("if number < 1:", "if number < 0:"), encoding="utf-8")
    with pytest.raises(ProofError, match="refusals"):
        broken.require_sound()


def test_nothing_but_the_copy_is_checked(tmp_path: Path) -> None:
    with pytest.raises(ProofError, match="did not run on the copy"):
        checked(tmp_path)
