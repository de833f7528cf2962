"""What `plan --releases` prints is done: a ledger is made, and pays for every release, in every way."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import polars as pl
import pytest

import opendp_topk as tk

from .command import Result
from .conftest import Command

NAMED = {"TABLE": "visits.parquet", "USER": "visitor", "ITEM": "page", "FILE": "pages.txt"}
LISTED = "--candidates", "pages.txt"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table and a list of candidates."""
    monkeypatch.chdir(tmp_path)
    visits = [(v, f"/page/{p}") for v in range(60) for p in range(12) if (v * 7919 + p * 104729) % 1000 < 900 * 0.8**p]
    pl.DataFrame(visits, schema=["visitor", "page"], orient="row").write_parquet("visits.parquet")
    Path("pages.txt").write_text("".join(f"/page/{p}\n" for p in range(12)))
    return tmp_path


def ways(result: Result) -> dict[str, list[list[str]]]:
    """The commands of each way, as often as they are to be run."""
    assert result.code == 0, result
    found: dict[str, list[list[str]]] = {}
    for block in result.out.split("\n# ")[1:]:
        name, *lines = block.splitlines()
        commands = found.setdefault(name.split(":")[0], [])
        for line in filter(None, lines):
            words, _, often = line.partition("  # ")
            program, *rest = (NAMED.get(word, word) for word in shlex.split(words))
            assert program == "opendp-topk"
            commands += [rest] * int(often.split()[0] if often else 1)
    return found


def pay(command: Command, place: Path, asked: tuple[object, ...]) -> list[str]:
    """Run all commands of all ways, each in a ledger of its own: the names of the ways."""
    found = ways(command("plan", *asked))
    for name, commands in found.items():
        for words in commands:
            result = command(*words)
            assert result.code == 0, (name, words, result)
        with tk.Ledger(place / "budget.ledger") as ledger:
            times = sum(words[0] == "release" for words in commands)
            assert [one.state for one in ledger.history()].count("released") == times
            assert not ledger.verify()
        again = command(*commands[-1])
        assert again.code in (1, 2), (name, again)  # one more does not fit, or was not planned
        for made in ("budget.ledger", "plan.json"):
            (place / made).unlink(missing_ok=True)
    return list(found)


@pytest.mark.slow
def test_every_way_is_paid_to_its_last_week(command: Command, here: Path) -> None:
    asked = "--k", 10, *LISTED, "--epsilon", 1, "--releases", 4
    assert pay(command, here, asked) == ["pure", "zCDP", "(epsilon, delta)"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "names"),
    [
        (("--k", 2, "--candidates", 12, "--rho", 0.2, "--releases", 3), 3),
        (("--k", 1, *LISTED, "--epsilon", 0.5, "--delta", 1e-9, "--releases", 2, "--mechanism", "permute_and_flip"), 3),
        (("--k", 3, *LISTED, "--epsilon", 3, "--delta", 1e-7, "--releases", 7, "--release", "set", "--users", 2), 3),
        (("--k", 2, *LISTED, "--epsilon", 1, "--releases", 3, "--counts", "--neighbors", "replace"), 2),
        (("--k", 2, "--epsilon", 1, "--delta", 1e-6, "--releases", 3, "--max-items", 3), 2),
        (("--epsilon", 1, "--delta", 1e-6, "--releases", 3, "--max-items", 3, "--above-threshold"), 2),
        (("--k", 5, *LISTED, "--epsilon", 2, "--delta", 1e-6, "--releases", 52), 3),
    ],
)
def test_other_questions_are_paid_to_their_last_week(
    asked: tuple[object, ...], names: int, command: Command, here: Path
) -> None:
    assert len(pay(command, here, asked)) == names


@pytest.mark.slow
def test_a_plan_is_kept_paid_for_and_drawn_by_its_labels(command: Command, here: Path) -> None:
    asked = "--k", 2, *LISTED, "--epsilon", 1, "--delta", 1e-6
    assert command("plan", *asked, "--releases", 2, "--out", "kept.json").code == 0
    kept = json.loads((here / "kept.json").read_text())
    assert kept["releases"] == 2
    command("ledger", "create", "b", "--dataset", "v", "--epsilon", 1, "--delta", 1e-6, "--own-delta", 1e-6)
    assert command("ledger", "reserve", "b", "--plan", "kept.json", "--json").out.count('"entry": 1') == 1
    drawn = "release", "visits.parquet", "--user", "visitor", "--item", "page", *LISTED, "--plan", "kept.json"
    paid = (*drawn, "--ledger", "b", "--planned", 1)
    assert command(*paid, "--label", "release 2 of 2", "--out", "top.json").code == 0
    assert json.loads((here / "top.json").read_text())["scale"] == kept["scale"]
    assert command("verify", "top.json", "--ledger", "b").code == 0
    command(*paid, "--label", "release 2 of 2").complains(1, "drawn already")
    command(*drawn).complains(2, "--planned ENTRY")
    command(*paid, "--k", 3).complains(2, "leave --k")
    (here / "pages.txt").write_text("/page/1\n/page/2\n/page/3\n")
    command(*paid).complains(2, "12 candidates")
    (here / "kept.json").write_text(json.dumps({**kept, "scale": 0.5}))
    (here / "pages.txt").write_text("".join(f"/page/{p}\n" for p in range(12)))
    command(*paid).complains(2, "more than what was planned")


def test_a_file_that_is_no_plan_is_refused(command: Command, here: Path) -> None:
    for text, code, said in (("{}", 2, "no plan"), ("[]", 1, "no JSON"), ("", 1, "no JSON")):
        (here / "kept.json").write_text(text)
        command("ledger", "reserve", "b", "--plan", "kept.json").complains(code, said)
    command("ledger", "reserve", "b").complains(2, "--amount X and --plan FILE")
