"""What `plan --releases` prints is done: a ledger is made, and pays for every release, in every way.

What each of several releases may cost, under three measures, is computed here by formulas of their own.
"""

import json
import re
import shlex
import shutil
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import mpmath
import polars as pl
import pytest

import opendp_topk as tk
from opendp_topk.apps.ledger.amounts import largest_rho
from opendp_topk.apps.planning.several import format_rounded_down, format_stated_number
from opendp_topk.apps.planning.verification import AGREES, verify_record

from ..oracles import rhos
from .command import Result, argv
from .conftest import Command

NAMED = {"TABLE": "visits.parquet", "USER": "visitor", "ITEM": "page", "FILE": "pages.txt"}
DOCS = Path(__file__).resolve().parents[2] / "docs"
LISTED = "--candidates", "pages.txt"
PLANNED = argv("release planned visits.parquet --user visitor --item page --candidates pages.txt")


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
    assert command("plan", "top-k", *asked, "--delta", 1e-6, "--releases", 2, "--out", "plan.json").code == 0
    book = "ledger", "create", "budget.ledger", "--dataset", "d", "--epsilon", 20, "--delta", 1e-6
    assert command(*book, "--own-delta", 1e-6).code == 0
    assert command("ledger", "reserve", "budget.ledger", "--plan", "plan.json").code == 0
    own = *PLANNED, "--plan", "plan.json", "--planned", "1", "--ledger", "budget.ledger"
    done = command(*own, "--out", "top.json")
    assert done.code == 0, done
    record = json.loads(Path("top.json").read_text("utf-8"))
    known = record["mechanism"]
    assert record["items"] == ["/page/11"]
    assert (known["value"], known["lower"], known["upper"], known["granularity"]) == ("paid", 0, 10, 0.01)
    with tk.ledger.Ledger("budget.ledger") as ledger:
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
        with tk.ledger.Ledger(place / book) as ledger:
            times = sum(words[0] == "release" for words in [*before, *commands])
            assert [one.state for one in ledger.history()].count("released") == times
            assert not ledger.verify()
        again = command(*commands[-1])
        assert again.code in (1, 2), (name, again)  # one more does not fit, or was not planned
    return list(found)


@pytest.mark.slow
def test_every_way_is_paid_to_its_last_week(command: Command, here: Path) -> None:
    asked = "top-k", "--k", 10, *LISTED, "--epsilon", 1, "--releases", 4
    assert pay(command, here, asked) == ["pure", "zCDP", "(epsilon, delta)"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "names"),
    [
        (("top-k", "--k", 2, "--candidates", 12, "--rho", 0.2, "--releases", 3), 3),
        (("top-k", *LISTED, *argv("--k 1 --epsilon 0.5 --delta 1e-9 --releases 2 --mechanism permute_and_flip")), 3),
        (("top-k", *LISTED, *argv("--k 3 --epsilon 3 --delta 1e-7 --releases 7 --release set --users 2")), 3),
        (("top-k", "--k", 2, *LISTED, "--epsilon", 1, "--releases", 3, "--counts", "--neighbors", "replace"), 2),
        (("top-k", "--k", 2, *LISTED, "--epsilon", 1, "--releases", 2, "--counts", "--max-items", 1), 3),
        (("top-k", "--k", 2, *LISTED, "--rho", 0.1, "--releases", 2, "--max-items", 2, "--keep", "order"), 3),
        (("unknown-domain", "--k", 2, "--epsilon", 1, "--delta", 1e-6, "--releases", 3, "--max-items", 3), 2),
        (("above-threshold", "--epsilon", 1, "--delta", 1e-6, "--releases", 3, "--max-items", 3), 2),
        (("unknown-domain", *LISTED, *argv("--k 2 --epsilon 2 --delta 1e-4 --releases 2 --minimum-users 9")), 2),
        (("top-k", "--k", 5, *LISTED, "--epsilon", 2, "--delta", 1e-6, "--releases", 12), 3),
        (("coverage", "--k", 2, *LISTED, *argv("--epsilon 1 --releases 2 --user visitor --item page")), 3),
    ],
)
def test_others_are_paid_to_the_last_week(asked: tuple[object, ...], names: int, command: Command, here: Path) -> None:
    assert len(pay(command, here, asked)) == names


SPENT = argv("release top-k visits.parquet --user visitor --item page --candidates pages.txt --k 2 --ledger b")


@pytest.mark.slow
def test_what_is_left_of_a_ledger_pays_for_the_plan_within_it(command: Command, here: Path) -> None:
    mixed = "--epsilon", "1", "--delta", "1e-6", "--own-delta", "5e-7"
    listed, unlisted = ("top-k", "--k", "2", *LISTED), ("unknown-domain", "--k", "2", "--max-items", "3")
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
    command("plan", "top-k", "--k", 2, "--ledger", "b", *LISTED).complains(2, "--ledger has no budget left")


def documented() -> list[tuple[str, list[str], list[list[str]]]]:
    """The documented plans of several releases: page, words, and what was done with the same ledger before."""
    found = []
    for page in sorted(DOCS.rglob("*.md")):
        lines = page.read_text("utf-8").replace("\\\n", " ").splitlines()
        commands = [shlex.split(line)[1:] for line in lines if re.match(r" *opendp-topk (plan|ledger|release) ", line)]
        for place, words in enumerate(commands):
            if words[0] == "plan" and "--releases" in words:
                book = words[words.index("--ledger") + 1] if "--ledger" in words else None
                before = [one for one in commands[:place] if one[0] != "plan" and book in one]
                before = [one for one in before if one[1] == "create" or one[2] == "visits.parquet"]
                before = [one for one in before if "--from-record" not in one]
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
    assert command("plan", "top-k", *asked, "--releases", 2, "--out", "kept.json").code == 0
    kept = json.loads((here / "kept.json").read_text())
    assert kept["releases"] == 2
    command("ledger", "create", "b", "--dataset", "v", "--epsilon", 1, "--delta", 1e-6, "--own-delta", 1e-6)
    assert command("ledger", "reserve", "b", "--plan", "kept.json", "--json").out.count('"entry": 1') == 1
    drawn = *PLANNED, "--plan", "kept.json"
    paid = (*drawn, "--ledger", "b", "--planned", 1)
    week = "--period", "2024-W02"
    assert command(*paid, "--label", "release 2 of 2", *week, "--out", "top.json").code == 0
    made = json.loads((here / "top.json").read_text())
    assert (made["scale"], made["stated"]["period"]) == (kept["scale"], "2024-W02")
    with tk.ledger.Ledger(here / "b") as ledger:
        assert [entry.period for entry in ledger.history()] == [None, "2024-W02"]
    assert command("verify", "top.json", "--ledger", "b").code == 0
    assert "1 of 2 releases left, paid by entry 1" in " ".join(command("ledger", "show", "b").out.split())
    command(*paid, "--label", "release 2 of 2", "--period", "2024-W03").complains(1, "already drawn")
    command(*paid, "--period", "a\nb").complains(2, "period must be one line")
    command(*drawn).complains(2, "--planned ENTRY")
    (here / "pages.txt").write_text("/page/1\n/page/2\n/page/3\n")
    command(*paid).complains(2, "12 candidates")
    (here / "kept.json").write_text(json.dumps({**kept, "scale": 0.5}))
    (here / "pages.txt").write_text("".join(f"/page/{p}\n" for p in range(12)))
    command(*paid).complains(2, "more than was planned")


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        (("--epsilon", 1, "--user", "visitor"), "must have the measure of the ledger"),
        (("--epsilon", 1, "--delta", 1e-6), "is left"),  # without a delta for the releases
        (("--epsilon", 1, "--delta", 1e-6, "--own-delta", 1e-6), "must have the metric of the ledger"),
    ],
)
def test_the_ledger_a_plan_needs_is_named(command: Command, here: Path, budget: tuple[object, ...], said: str) -> None:
    replaced = ("--neighbors", "replace", "--users", 2) if "metric" in said else ()
    asked = "--k", 2, "--candidates", 12, "--epsilon", 1, "--delta", 1e-6, "--releases", 2, *replaced
    assert command("plan", "top-k", *asked, "--out", "kept.json").code == 0
    assert command("ledger", "create", "b", "--dataset", "v", *budget).code == 0
    refused = command("ledger", "reserve", "b", "--plan", "kept.json")
    refused.complains(1, said)
    create = refused.err.split("needs a ledger made with: opendp-topk ", 1)[1].split()
    assert ("--user" in create) == ("--user" in budget)
    assert command(*create).code == 0
    assert command("ledger", "reserve", "NEW.ledger", "--plan", "kept.json").code == 0
    again = command("ledger", "reserve", "NEW.ledger", "--plan", "kept.json")
    again.complains(1, "is left")
    assert "needs a ledger" not in again.err, "a ledger that is used up is not replaced by another one"


def test_a_file_that_is_no_plan_is_refused(command: Command, here: Path) -> None:
    for text, code, said in (
        ("{}", 2, "must be a plan"),
        ("[]", 1, "not JSON"),
        ("", 1, "not JSON"),
        ('{"format": 7}', 2, "must be a plan"),
        ('{"format": "opendp_topk plan v0"}', 2, "'opendp_topk plan v0', but this library reads only"),
    ):
        (here / "kept.json").write_text(text)
        command("ledger", "reserve", "b", "--plan", "kept.json").complains(code, said)


ASKED = "plan", "top-k", "--k", 2, "--candidates", 50


def rows(result: Result) -> dict[str, list[str]]:
    """The cells that begin each row, by the measure; a row may go on below."""
    assert result.code == 0, result
    lines = result.out.split("\u2500\n")[1].split("\n\n")[0].splitlines()
    return {line.split("  ")[0].strip(): line.split() for line in lines if not line.startswith(" ")}


def implied(rho: object, delta: object) -> mpmath.mpf:
    """The least epsilon that a rho implies at delta: the conversion of Canonne, Kamath and Steinke, minimised."""
    rho, delta = mpmath.mpf(rho), mpmath.mpf(delta)

    def epsilon(order: mpmath.mpf) -> mpmath.mpf:
        return order * rho + mpmath.log(1 / (order * delta)) / (order - 1) + mpmath.log(1 - 1 / order)

    return min(epsilon(mpmath.mpf(1) + mpmath.mpf(2) ** (mpmath.mpf(step) / 16)) for step in range(-96, 161))


@pytest.mark.slow
def test_three_budgets_that_promise_the_same(command: Command) -> None:
    found = rows(command(*ASKED, "--epsilon", 2, "--delta", 1e-6, "--releases", 12))
    assert list(found) == ["pure", "zCDP", "(epsilon, delta)"]
    epsilon, scale = float(found["pure"][4]), float(found["pure"][5])
    assert 12 * Fraction(found["pure"][4]) <= 2 < 12.0001 * epsilon
    assert scale == pytest.approx(2 * 12 / 2, rel=1e-5)
    total, each, scale = (float(found["zCDP"][place]) for place in (2, 4, 5))
    assert 12 * each == pytest.approx(total, rel=1e-4)
    assert float(2 * rhos.of_range(Fraction(1) / Fraction(scale))) == pytest.approx(each, rel=1e-4)
    assert float(implied(total, 1e-6)) == pytest.approx(2, rel=1e-3)
    space = tk.VectorDomain(tk.AtomDomain(int), size=50), tk.LInfDistance(monotonic=True)
    pair = Fraction(2), Fraction(1, 10**6)
    best = tk.planning.compare(*space, tk.PrivacyProfile(), k=2, d_out=pair, releases=12)["report_noisy_top_k"]
    assert float(found["(epsilon, delta)"][-2]) == pytest.approx(best.scale, rel=1e-5)


@pytest.mark.further
def test_each_way_ends_in_the_releases_that_it_pays_for(command: Command) -> None:
    result = command(*ASKED, "--epsilon", 1, "--releases", 3)
    ways = [way.strip().splitlines() for way in result.out.split("\n# ")[1:]]
    each = ["--k 2 --epsilon 0.333333", f"--k 2 --rho {rows(result)['zCDP'][4]}", "--plan plan.json --planned 1"]
    table = "TABLE --user USER --item ITEM --candidates FILE"
    assert [way[0].split(":")[0] for way in ways] == ["pure", "zCDP", "(epsilon, delta)"]
    kinds = "top-k", "top-k", "planned"
    assert [way[-1] for way in ways] == [
        f"opendp-topk release {kind} {table} {one} --ledger budget.ledger  # 3 times"
        for kind, one in zip(kinds, each, strict=True)
    ]


@pytest.mark.further
def test_the_rest_of_a_ledger_is_told_by_way(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    book = tmp_path / "budget.ledger"
    budget = "--epsilon", 1, "--delta", 1e-6, "--own-delta", 1e-6
    assert command("ledger", "create", book, "--dataset", "visits", "--user", "visitor", *budget).code == 0
    found = rows(command(*ASKED, "--ledger", book, "--releases", 3))
    assert found["pure"][1:3] == ["epsilon", "1"]
    assert found["(epsilon, delta)"][2:6] == ["epsilon", "1,", "delta", "1e-06"]


@pytest.mark.slow
def test_a_rho_is_what_it_implies_at_one_in_a_million(command: Command) -> None:
    result = command(*ASKED, "--rho", 0.2, "--releases", 4)
    found = rows(result)
    epsilon = float(result.flat.split("within a total of epsilon = ")[1].split()[0])
    assert epsilon == pytest.approx(float(implied(0.2, 1e-6)), rel=1e-3)
    assert "delta = 1e-06" in result.flat
    assert float(found["zCDP"][4]) == 0.05
    assert float(found["pure"][4]) == pytest.approx(epsilon / 4, rel=1e-4)


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.1", "1e-9"), ("8", "0.01")])
def test_the_rho_is_the_largest_that_implies_the_pair(epsilon: str, delta: str) -> None:
    found = float(largest_rho(Fraction(epsilon), Fraction(delta)))
    assert implied(found, delta) <= mpmath.mpf(epsilon) * (1 + mpmath.mpf("1e-3"))
    assert implied(found * 1.01, delta) > mpmath.mpf(epsilon)


def test_what_may_be_spent_is_rounded_down() -> None:
    assert format_rounded_down(Fraction(3, 52)) == "0.0576923"
    assert format_rounded_down(Fraction(3, 30)) == "0.1"
    assert format_rounded_down(Fraction(2, 3000)) == "0.000666666"
    assert [format_stated_number(Fraction(1, n)) for n in (1, 10, 3)] == ["1", "0.1", "0.333333"]
