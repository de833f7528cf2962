"""The commands with --minimum-users: what is left out, said and recorded, and refused where there is no delta."""

from __future__ import annotations

from pathlib import Path

import pytest

from .command import record_of
from .conftest import Command
from .test_unlisted import release, searches

__all__ = ["searches"]

LITTLE = "--epsilon", 10**6, "--delta", 1e-8
ABOVE = "--above-threshold", "--max-items", 2


@pytest.mark.slow
def test_items_of_fewer_users_are_never_released(command: Command, searches: Path) -> None:
    result = command(*release(searches, *ABOVE, "--minimum-users", 35, *LITTLE, "--out", "-"))
    record = record_of(result.out)
    assert record["items"] == ["rain", "snow"]
    assert record["mechanism"]["minimum_users"] == 35
    assert "transformations/minimum_users" in [one["document"] for one in record["proof"]["documents"]]


@pytest.mark.slow
def test_the_plan_says_so(command: Command) -> None:
    plain, beyond = (
        command("plan", *ABOVE, "--epsilon", 1, "--delta", 1e-6, *more) for more in ((), ("--minimum-users", 100))
    )
    assert beyond.field("threshold").startswith(plain.field("threshold").split()[0])
    assert "counted from 100 users on" in beyond.field("threshold")
    assert "without items of fewer than 100 users" in beyond.flat
    near = [int(one.field("accuracy").split("at least ")[2].split()[0]) for one in (plain, beyond)]
    assert near[1] - near[0] == 99
    best = command("plan", "--k", 3, "--minimum-users", 100, "--epsilon", 1, "--delta", 1e-6)
    assert "and beyond 99 users" in best.field("accuracy")


@pytest.mark.slow
def test_of_a_list_they_are_left_out_too(command: Command, searches: Path, tmp_path: Path) -> None:
    words, out = tmp_path / "words.txt", tmp_path / "top.json"
    words.write_text("snow\nrain\nmist\n=hail\n", "utf-8")
    asked = "--minimum-users", 35, *LITTLE, "--candidates", words, "--out", out
    result = command(*release(searches, "--k", 3, *asked))
    record = record_of(out.read_text("utf-8"))
    assert record["items"] == ["rain", "snow"]
    assert (record["mechanism"]["minimum_users"], record["mechanism"]["candidates"]) == (35, 4)
    assert "stopped 1 short of 3" in result.flat
    assert command("verify", out).code == 0
    assert "4 candidates" in command("show", out).flat
    plan = command("plan", "--k", 3, "--candidates", 500, "--minimum-users", 35, "--rho", 0.1, "--delta", 1e-6)
    assert "counted from 35 users on" in plan.field("threshold")
    several = command(
        "plan", "--k", 3, "--candidates", 50, "--minimum-users", 9, *LITTLE[:1], 1, *LITTLE[2:], "--releases", 2
    )
    assert "--candidates FILE --k 3 --minimum-users 9 --epsilon 0.5 --delta 5e-09" in several.out
    for more in (("--counts",), ("--release", "set"), ("--max-items", 2), ("--compare",)):
        assert command("plan", "--k", 3, "--candidates", 50, "--minimum-users", 9, *LITTLE, *more).code == 2, more
