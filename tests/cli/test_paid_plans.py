"""What `plan --releases` prints is done: a ledger is made, and pays for every release, in every way."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterable
from pathlib import Path

import polars as pl
import pytest

import opendp_topk as tk
from opendp_topk.apps.planning.verification import AGREES, verify_record

from .command import Result
from .conftest import Command

NAMED = {"TABLE": "visits.parquet", "USER": "visitor", "ITEM": "page", "FILE": "pages.txt"}
DOCS = Path(__file__).resolve().parents[2] / "docs"
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


@pytest.mark.further
def test_a_plan_of_sums_is_kept(command: Command, here: Path) -> None:
    """Its release is of sums with the plan's bounds: page 11, of half of the visitors, has by far the largest."""
    sums = [(v, f"/page/{p}", 9.5 if p == 11 else 0.01) for v in range(60) for p in range(12) if p < 11 or v % 2]
    pl.DataFrame(sums, schema=["visitor", "page", "paid"], orient="row").write_parquet("visits.parquet")
    asked = "--k", 1, *LISTED, "--sum", "paid", "--bounds", "0,10", "--step", "0.01", "--epsilon", 20
    assert command("plan", *asked, "--delta", 1e-6, "--releases", 2, "--out", "plan.json").code == 0
    book = "ledger", "create", "budget.ledger", "--dataset", "d", "--epsilon", 20, "--delta", 1e-6
    assert command(*book, "--own-delta", 1e-6).code == 0
    assert command("ledger", "reserve", "budget.ledger", "--plan", "plan.json").code == 0
    own = ["release", "visits.parquet", "--user", "visitor", "--item", "page", *LISTED, "--plan", "plan.json"]
    own += ["--planned", "1", "--ledger", "budget.ledger"]
    done = command(*own, "--out", "top.json")
    assert done.code == 0, done
    record = json.loads(Path("top.json").read_text("utf-8"))
    known = record["mechanism"]
    assert record["items"] == ["/page/11"]
    assert (known["value"], known["lower"], known["upper"], known["granularity"]) == ("paid", 0, 10, 0.01)
    with tk.Ledger("budget.ledger") as ledger:
        assert {one.verdict for one in verify_record(record, ledger) if one.what != "table"} == {AGREES}


def pay(command: Command, place: Path, asked: tuple[object, ...], before: Iterable[list[str]] = ()) -> list[str]:
    """Run all commands of all ways, each in a ledger of its own, on which ``before`` was run: the names of the ways."""
    book = str(asked[asked.index("--ledger") + 1]) if "--ledger" in asked else "budget.ledger"
    weeks = int(str(asked[asked.index("--releases") + 1])) if "--releases" in asked else 1

    def prepare() -> None:
        for made in (book, "plan.json", "top.json"):
            (place / made).unlink(missing_ok=True)
        shutil.rmtree(place / f"{book}.records", ignore_errors=True)
        for words in before:
            assert command(*words).code == 0, words

    prepare()
    found = ways(command("plan", *asked))
    for name, commands in found.items():
        assert sum(words[0] == "release" for words in commands) == weeks, (name, commands)
        prepare()
        for words in commands:
            result = command(*words)
            assert result.code == 0, (name, words, result)
        with tk.Ledger(place / book) as ledger:
            times = sum(words[0] == "release" for words in [*before, *commands])
            assert [one.state for one in ledger.history()].count("released") == times
            assert not ledger.verify()
        again = command(*commands[-1])
        assert again.code in (1, 2), (name, again)  # one more does not fit, or was not planned
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
        (("--k", 2, *LISTED, "--epsilon", 1, "--releases", 2, "--counts", "--max-items", 1), 3),
        (("--k", 2, *LISTED, "--rho", 0.1, "--releases", 2, "--max-items", 2, "--keep", "order"), 3),
        (("--k", 2, "--epsilon", 1, "--delta", 1e-6, "--releases", 3, "--max-items", 3), 2),
        (("--epsilon", 1, "--delta", 1e-6, "--releases", 3, "--max-items", 3, "--above-threshold"), 2),
        (("--k", 2, *LISTED, "--epsilon", 2, "--delta", 1e-4, "--releases", 2, "--minimum-users", 9), 2),
        (("--k", 5, *LISTED, "--epsilon", 2, "--delta", 1e-6, "--releases", 12), 3),
    ],
)
def test_other_questions_are_paid_to_their_last_week(
    asked: tuple[object, ...], names: int, command: Command, here: Path
) -> None:
    assert len(pay(command, here, asked)) == names


SPENT = ["release", "visits.parquet", "--user", "visitor", "--item", "page", *LISTED, "--k", "2", "--ledger", "b"]


@pytest.mark.slow
def test_what_is_left_of_a_ledger_pays_for_the_plan_within_it(command: Command, here: Path) -> None:
    mixed = "--epsilon", "1", "--delta", "1e-6", "--own-delta", "5e-7"
    listed, unlisted = ("--k", "2", *LISTED), ("--k", "2", "--max-items", "3")
    for budget, spent, asked, names in (
        (mixed, ("--epsilon", "0.37"), (*listed, "--releases", 3), ["pure", "zCDP", "(epsilon, delta)"]),
        (mixed, ("--rho", "0.003"), (*listed, "--releases", 3), ["zCDP"]),
        (mixed, ("--epsilon", "0.1"), (*listed, "--releases", 2), ["pure", "zCDP", "(epsilon, delta)"]),
        (mixed, ("--epsilon", "0.1"), (*unlisted, "--releases", 2), ["pure", "zCDP"]),
        (("--epsilon", "2"), ("--epsilon", "0.7"), listed, ["pure"]),
        (("--rho", "0.1"), ("--rho", "0.03"), (*listed, "--counts", "--releases", 7), ["zCDP"]),
    ):
        before = [["ledger", "create", "b", "--dataset", "v", "--user", "visitor", *budget], [*SPENT, *spent]]
        assert pay(command, here, (*asked, "--ledger", "b"), before) == names, (budget, spent, asked)


def test_a_plan_within_a_spent_ledger_is_refused(command: Command, here: Path) -> None:
    command("ledger", "create", "b", "--dataset", "v", "--epsilon", 1)
    assert command("ledger", "reserve", "b", "--amount", 1).code == 0
    command("plan", "--k", 2, "--ledger", "b", *LISTED).complains(2, "nothing is left in the ledger")


def documented() -> list[tuple[str, list[str], list[list[str]]]]:
    """The documented plans of several releases: page, words, and what was done with the same ledger before."""
    found = []
    for page in sorted(DOCS.rglob("*.md")):
        lines = page.read_text("utf-8").replace("\\\n", " ").splitlines()
        commands = [shlex.split(line)[1:] for line in lines if re.match(r" *opendp-topk (plan|ledger|release) ", line)]
        for place, words in enumerate(commands):
            if words[0] == "plan" and "--releases" in words:
                book = words[words.index("--ledger") + 1] if "--ledger" in words else None
                before = [
                    one for one in commands[:place] if one[0] != "plan" and book in one and "--from-record" not in one
                ]
                before = [one for one in before if one[1] in ("create", "visits.parquet")]
                if book is not None and not before:  # an example on its own
                    before = [["ledger", "create", book, "--dataset", "v", "--epsilon", "1"]]
                found.append((page.name, words[1:], before))
    return found


@pytest.mark.slow
def test_every_plan_of_the_documentation_is_paid_to_its_last_week(command: Command, here: Path) -> None:
    found = documented()
    assert len(found) >= 2
    for page, words, before in found:
        candidates = words[words.index("--candidates") + 1]
        number = int(candidates) if candidates.isdecimal() else 40
        (here / "pages.txt").write_text("".join(f"/page/{p}\n" for p in range(number)))
        assert pay(command, here, tuple(words), before), (page, words)
        for made in here.glob("*.json"):
            made.unlink()


@pytest.mark.slow
def test_a_plan_is_kept_paid_for_and_drawn_by_its_labels(command: Command, here: Path) -> None:
    asked = "--k", 2, *LISTED, "--epsilon", 1, "--delta", 1e-6, "--max-items", 2, "--mechanism", "joint"
    assert command("plan", *asked, "--releases", 2, "--out", "kept.json").code == 0
    kept = json.loads((here / "kept.json").read_text())
    assert kept["releases"] == 2
    command("ledger", "create", "b", "--dataset", "v", "--epsilon", 1, "--delta", 1e-6, "--own-delta", 1e-6)
    assert command("ledger", "reserve", "b", "--plan", "kept.json", "--json").out.count('"entry": 1') == 1
    drawn = "release", "visits.parquet", "--user", "visitor", "--item", "page", *LISTED, "--plan", "kept.json"
    paid = (*drawn, "--ledger", "b", "--planned", 1)
    for more in (("--max-items", 3), ("--keep", "rows")):
        command(*paid, *more).complains(2, "at most 2 items (random) of a user: leave --max-items and --keep out")
    paid = (*paid, "--max-items", 2)
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
    for text, code, said in (
        *(("{}", 2, "no plan"), ("[]", 1, "no JSON"), ("", 1, "no JSON"), ('{"format": 7}', 2, "no plan")),
        (
            '{"format": "opendp_topk plan v2"}',
            2,
            "'opendp_topk plan v2', and this library reads",
        ),
    ):
        (here / "kept.json").write_text(text)
        command("ledger", "reserve", "b", "--plan", "kept.json").complains(code, said)
    command("ledger", "reserve", "b").complains(2, "--amount X and --plan FILE")
