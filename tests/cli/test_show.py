"""``show``: a record is valid by its schema, and a page says what it holds, in words, without a network."""

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import pytest

from opendp_topk.apps.cli.record_words import claim_attack_accuracy
from opendp_topk.apps.ledger.report import plural_noun
from opendp_topk.apps.ledger.stated import LINES
from opendp_topk.apps.planning.release_record import ReleaseRecord

from ..audit.pages import Element, read
from .command import Result, record_of
from .conftest import Command, Library

SCHEMA = Path(__file__).resolve().parents[2] / "docs" / "release.schema.json"
KINDS: dict[str, tuple[object, ...]] = {
    "ranking": ("--epsilon", 1),
    "set": ("--epsilon", 1, "--delta", 1e-6, "--release", "set"),
    "counts": ("--rho", 0.5, "--counts", "--users", 2, "--neighbors", "replace"),
    "gaps": ("--epsilon", 2, "--mechanism", "noisy_top_k_with_gaps"),
}


RECORD: dict[str, Any] = {
    "format": "opendp_topk.release.v1",
    "time": "2026-01-02T03:04:05+00:00",
    "items": ["a"],
    "k": 1,
    "release": "ranking",
    "measure": "MaxDivergence",
    "symbol": "epsilon",
    "neighbors": "add_remove",
    "d_in": 1,
    "d_out": 0.5,
    "mechanism": {"mechanism": "report_noisy_top_k", "user": "u", "item": "i", "candidates": 9, "k": 1},
    "scale": 2.0,
    "accuracy": {"alpha": 0.05, "within_users": 4, "words": "surely"},
    "ledger": None,
    "proof": {"status": "current", "documents": []},
    "engine": {"name": "polars", "version": "1"},
    "library": {"name": "opendp_topk", "version": "1"},
}
DIGEST = "sha256:" + "0" * 64
SHOWN = RECORD | {
    "items": ["a", "b", "c"],
    "k": 3,
    "d_in": 2,
    "neighbors": "replace",
    "counts": [300, 100, -20],
    "count_accuracy": {"alpha": 0.05, "within_users": 100, "words": "nearly"},
}


def released(command: Command, library: Library, *more: object) -> dict[str, Any]:
    return record_of(command(*library.release(*more, "--out", "-")).out)


def saved(folder: Path, record: dict[str, Any]) -> Path:
    file = folder / "top.json"
    file.write_text(json.dumps(record), encoding="utf-8")
    return file


def page_of(command: Command, folder: Path, record: dict[str, Any]) -> Element:
    result = command("show", saved(folder, record), "--html", "--to", "-")
    assert result.code == 0, result
    return read(result.out.partition("\n")[2])


@pytest.fixture
def schema() -> Any:
    jsonschema = pytest.importorskip("jsonschema", reason="records are validated with jsonschema, of the extra test")
    described = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(described)
    return jsonschema.Draft202012Validator(described)


@pytest.mark.further
@pytest.mark.quick(kind="counts")
@pytest.mark.parametrize("kind", KINDS)
def test_every_record_is_valid(command: Command, library: Library, schema: Any, kind: str) -> None:
    record = released(command, library, *KINDS[kind])
    assert [error.message for error in schema.iter_errors(record)] == []
    for name in record:
        assert list(schema.iter_errors({key: value for key, value in record.items() if key != name})) or name in (
            *("question", "counts", "gaps", "count_accuracy", "candidate_list", "stated", "target"),
        )
    assert list(schema.iter_errors({**record, "true_counts": [1]}))
    assert list(schema.iter_errors({**record, "items": [1.5]}))


@pytest.mark.slow
def test_a_record_of_a_release_without_a_list_is_valid(command: Command, library: Library, schema: Any) -> None:
    asked = ("release", "unknown-domain", library.table, "--user", "reader", "--item", "book", "--k", 3, "--out", "-")
    record = record_of(command(*asked, "--rho", 9, "--delta", 1e-6).out)
    assert [error.message for error in schema.iter_errors(record)] == []
    assert record["accuracy"]["within_users"] >= 0


@pytest.mark.further
@pytest.mark.parametrize(
    ("asked", "question", "noise"),
    [
        (
            ("above-threshold", "--max-items", 3, "--other", "--delta", 1e-6),
            "All items in the table with enough",
            "users",
        ),
        (
            ("unknown-domain", "--k", 2, "--sum", "paid", "--bounds", "0,50", "--step", "0.01", "--delta", 1e-6),
            "The 2 items in the table with the largest sums of paid",
            "in paid",
        ),
    ],
    ids=["above", "sum"],
)
def test_a_record_of_what_is_no_top_k_of_counts(
    command: Command, tmp_path: Path, schema: Any, asked: tuple[object, ...], question: str, noise: str
) -> None:
    sales = tmp_path / "sales.csv"
    rows = [f"{buyer},{'ab'[buyer % 2]},{buyer % 50}.5" for buyer in range(400)]
    sales.write_text("\n".join(["buyer,book,paid", *rows]), encoding="utf-8")
    file = tmp_path / "out.json"
    kind, *more = asked
    done = command("release", kind, sales, "--user", "buyer", "--item", "book", *more, "--epsilon", 8, "--out", file)
    assert done.code == 0, done
    record = json.loads(file.read_text("utf-8"))
    assert [error.message for error in schema.iter_errors(record)] == []
    shown = command("show", file).flat
    assert question in shown
    scale = Fraction(str(record["scale"])) * Fraction(str(record["mechanism"].get("granularity", 1)))
    assert f"The choice used random noise of scale {float(scale):.6g} {noise}" in shown
    assert ("users (a noisy count) have another item" in shown) == ("--other" in asked)
    assert "largest sums of paid" in page_of(command, tmp_path, record).text or "--sum" not in asked


@pytest.mark.further
def test_a_record_tells_its_theorem_its_time_and_who_paid(command: Command, library: Library, schema: Any) -> None:
    ledger = library.folder / "budget.ledger"
    command("ledger", "create", ledger, "--dataset", "loans", "--epsilon", 3)
    record = released(command, library, "--epsilon", 0.5, "--ledger", ledger)
    assert list(schema.iter_errors(record)) == []
    entry = json.loads(command("ledger", "show", ledger, "--history", "--json").out)["entries"][0]
    expected = {"dataset": "loans", "entry": 1, "time": entry["time"], "claim": entry["claim"]}
    assert {name: told for name, told in record["ledger"].items() if name in expected} == expected
    assert record["ledger"].keys() - expected.keys() == {"head", "salt"}
    bound = int(mpmath.floor(mpmath.mpf(record["scale"]) * mpmath.log(6 / mpmath.mpf("0.05"))))
    assert (record["accuracy"]["within_users"], record["accuracy"]["alpha"]) == (bound, 0.05)
    assert f"within {bound} users" in record["accuracy"]["words"]
    assert record["engine"]["name"] == "polars"


UNBROKEN = "\u00a0%"  # no line ends before the sign


@pytest.mark.slow
def test_a_pair_is_charged_and_recorded(command: Command, library: Library) -> None:
    ledger = library.folder / "budget.ledger"
    budget = "--epsilon", 3, "--delta", 1e-6, "--own-delta", 5e-7
    command("ledger", "create", ledger, "--dataset", "loans", *budget)
    record = released(command, library, "--epsilon", 0.3, "--delta", "1e-8", "--ledger", ledger)
    assert (record["measure"], record["symbol"]) == ("PrivacyProfile", "(epsilon, delta)")
    assert record["d_out"][0] == 0.3
    assert 0 < record["d_out"][1] <= 1e-8
    pure = released(command, library, "--epsilon", 0.3)
    assert record["scale"] < pure["scale"]
    assert json.loads(command("ledger", "show", ledger, "--json").out)["spent"] != [0.0, 0.0]


# The page.


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_page_holds_the_list_and_the_words(command: Command, library: Library, kind: str) -> None:
    record = released(command, library, *KINDS[kind])
    page = page_of(command, library.folder, record)
    assert [one.text for one in page if one.attributes.get("class") == "item"] == record["items"]
    ranks = [one.text for one in page if one.attributes.get("class") == "rank"]
    assert ranks == (["1", "2", "3"] if record["release"] == "ranking" else ["", "", ""])
    text = page.text.replace(UNBROKEN, " %")
    assert text.index(record["items"][-1]) < text.index("a person is"), "the list comes first"
    assert record["accuracy"]["words"][1:] in text
    share = float(re.search(r"With it, at most ([\d.]+) %", text)[1])  # type: ignore[index]
    assert share == claim_attack_accuracy(ReleaseRecord.from_dict(record).claim)
    for document in record["proof"]["documents"]:
        assert document["document"] in text
        assert document["claim"] in text
    assert [one.name for one in page.all("script", "link", "img")] == []


def test_the_page_tells_how_many_others_there_are(command: Command, tmp_path: Path) -> None:
    page = page_of(command, tmp_path, SHOWN | {"other": 4321})
    for words in ("accurate is it?Surely.Nearly.", "not show?The order is", "truncated?Nothing was truncated: a user"):
        assert words in page.text
    assert "4321 users (a noisy count) have another item" in page.text


def test_bars_show_counts_and_their_uncertainty(command: Command, tmp_path: Path) -> None:
    page = page_of(command, tmp_path, SHOWN)
    bars = [one.attributes["style"] for one in page if one.attributes.get("class") == "bar"]
    assert bars == ["width: 75.00%", "width: 25.00%", "width: 0.00%"]
    assert {one.attributes.get("aria-hidden") for one in page if one.attributes.get("class") == "track"} == {"true"}
    marks = [one.attributes["style"] for one in page if one.attributes.get("class") == "range"]
    assert marks[:2] == ["left: 50.00%; right: 0.00%", "left: 0.00%; right: 50.00%"]
    numbers = [one.text for one in page if one.attributes.get("class") == "number"]
    assert numbers == ["300 \u00b1 100", "100 \u00b1 100", "-20 \u00b1 100"]
    page = page_of(command, tmp_path, SHOWN | {"counts": [-5, -20, -60]})
    marks = [one.attributes["style"] for one in page if one.attributes.get("class") == "range"]
    assert marks == ["left: 0.00%; right: 5.00%", "left: 0.00%; right: 20.00%", "left: 0.00%; right: 60.00%"]


ELEMENTS = "html head meta title style body main section h1 h2 p ol ul li span small code dl div dt dd"


def test_each_part_of_the_page_has_its_style(command: Command, tmp_path: Path) -> None:
    """The classes of three pages in order are all that the style sheet has."""
    states, end = ("current", "stale", "missing", "unproven"), ["stake", "ask", "small"]
    documents = [{"document": "core/user", "status": one, "digest": DIGEST, "claim": "1" * 16} for one in states]
    proof, of_pairs = {"status": "stale", "documents": documents}, RECORD["mechanism"] | {"item": "i,j"}
    pages = [
        (SHOWN, ["soft", *["rank", "item", "number", "track", "bar", "range"] * 3, "soft", *end, "current"]),
        (
            RECORD | {"items": [["a", "b,c"]], "gaps": [7.5], "mechanism": of_pairs, "proof": proof},
            ["soft", "soft", "rank", "item", "lead", *end, "stale", *states],
        ),
        (RECORD | {"items": [], "release": "set"}, ["soft", "stake", *end, "current"]),
    ]
    for record, classes in pages:
        page = page_of(command, tmp_path, record)
        marked = [(one.attributes["class"], one.text) for one in page if "class" in one.attributes]
        assert [name for name, _ in marked] == classes
        assert [text[:11] for name, text in marked if name == "stake"][-1] == "An attacker"
        assert {one.name for one in page} <= {"", *ELEMENTS.split()}, "names of elements"
    style = page.all("style")[0].text
    assert set(re.findall(r"\.([a-z]+)", style)) == {name for _, classes in pages for name in classes}


def test_items_are_escaped(command: Command, tmp_path: Path) -> None:
    record = SHOWN | {"items": ["<script>alert(1)</script>", "a & b", "c"]}
    page = page_of(command, tmp_path, record)
    assert page.all("script") == []
    assert [one.text for one in page if one.attributes.get("class") == "item"] == record["items"]


def test_the_page_lies_beside_the_record_and_replaces_nothing(command: Command, tmp_path: Path) -> None:
    file = saved(tmp_path, RECORD)
    assert command("show", file, "--html").code == 0
    page = file.with_suffix(".html")
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    again = command("show", file, "--html")
    assert (again.code, again.out) == (1, "")
    command("show", file, "--html", "--to", "x.txt").complains(2, ".html")


def test_the_terminal_shows_the_same_words(command: Command, tmp_path: Path) -> None:
    record = SHOWN
    result: Result = command("show", saved(tmp_path, record))
    assert result.field("accuracy") == record["accuracy"]["words"]
    assert result.field("released") == "2026-01-02 03:04:05 UTC"
    assert result.field("count accuracy") == record["count_accuracy"]["words"]
    assert "which of two sets of rows one particular group of 2 people has in the table" in result.field("at stake")
    pair = saved(tmp_path, record | {"measure": "PrivacyProfile", "symbol": "(epsilon, delta)", "d_out": [0.5, 1e-7]})
    assert command("show", pair).field("cost") == "epsilon = 0.5, delta = 1e-07"
    for users, said in ((1, "one particular user is in the table;"), (2, "is in the table, completely or not at all;")):
        assert said in command("show", saved(tmp_path, RECORD | {"d_in": users})).field("at stake")
    for item, count in zip(record["items"], record["counts"], strict=True):
        assert re.search(rf"^ +\d +{count} +{re.escape(item)} *$", result.out, re.MULTILINE)


DAMAGES: list[tuple[dict[str, Any], str]] = [
    ({"format": "opendp_topk.release.v2"}, "reads only opendp_topk.release.v1"),
    ({"format": "another"}, "not a release record"),
    ({"items": None}, "invalid: "),
    ({"counts": [1, 2]}, "invalid: "),
    ({"accuracy": {}}, "invalid: "),
    ({"d_out": [1, 2, 3]}, "invalid: "),
    ({"proof": {"status": "current", "documents": [7]}}, "invalid: "),
]


@pytest.mark.parametrize(("damage", "words"), DAMAGES)
def test_what_is_no_record_is_one_line(command: Command, tmp_path: Path, damage: dict[str, Any], words: str) -> None:
    record = {**RECORD, **damage}
    command("show", saved(tmp_path, record)).complains(1, words)


def test_files_that_cannot_be_read_are_one_line(command: Command, library: Library) -> None:
    command("show", library.folder / "none.json").complains(1, "does not exist")
    command("show", library.table).complains(1, "not JSON")


def ten(library: Library) -> tuple[object, ...]:
    """Ten noisy counts at half of a budget, with all words."""
    more = [f"{name}\n" for name in ("Alps", "Bees", "Cats", "Dogs", "Eels", "Figs")]
    library.candidates.write_text(library.candidates.read_text("utf-8") + "".join(more), "utf-8")
    ledger = library.folder / "budget.ledger"
    asked = library.release(
        "--epsilon", 0.5, "--counts", "--ledger", ledger, "--out", library.folder / "top.json", k=10
    )
    return (*asked, "--period", "2026-W14", "--label", "week 14")


def paid(command: Command, library: Library) -> Path:
    """The ledger that has paid for :func:`ten`."""
    ledger = library.folder / "budget.ledger"
    words = "--user", "reader", "--person", "borrower", "--publisher", "the library", "--purpose", "a poster"
    assert command("ledger", "create", ledger, "--dataset", "loans", "--epsilon", 3, "--delta", 1e-6, *words).code == 0
    assert command(*ten(library)).code == 0
    return ledger


@pytest.mark.further
def test_an_officer_is_told_in_words_and_what_is_left(command: Command, library: Library) -> None:
    ledger, record = paid(command, library), library.folder / "top.json"
    terminal = command("show", record, "--ledger", ledger)
    assert terminal.field("protects") == "one borrower more or less"
    assert terminal.field("a person is") == "a borrower, identified by the column reader"
    assert terminal.field("period") == "2026-W14"
    assert re.fullmatch(r"epsilon [\d.]+ of epsilon 3, at delta 1e-06, on 1 entry", terminal.field("spent so far"))
    text = read(command("show", record, "--html", "--ledger", ledger, "--to", "-").out.partition("\n")[2]).text
    words = ["one borrower more or less", "loans", "the library", "a poster", "Ranks may contradict the counts"]
    words += [f"62.3{UNBROKEN}", "that most borrowers have", "any one borrower:"]
    words += ["Nothing was truncated", "identified by the column reader", "of epsilon 3, at delta 1e-06, on 1 entry"]
    assert [one for one in words if one not in text] == []
    assert (re.findall(r"\busers?\b(?! =)", text), " %" in text) == ([], False)
    assert text.count("not stated") == len(LINES) - 3
    assert [plural_noun(one) for one in ("borrower", "family", "boss", "person", "day")] == [
        "borrowers", "families", "bosses", "people", "days"
    ]  # fmt: skip
    assert "unknown without the ledger" in command("show", record, "--html", "--to", "-").out
    alone = page_of(command, library.folder, SHOWN)
    assert "without the ledger" not in alone.text + text
    assert alone.text.count("not stated") == 1 + len(LINES)
    assert "2 people (each a user), whose rows are replaced by others" in alone.text
    bound = {"person": "borrower", "column": "reader", "at_most": 2}
    session = SHOWN | {"neighbors": "add_remove", "stated": bound}
    unit = "one borrower more or less, who has rows with at most 2 values of u, each"
    assert unit in page_of(command, library.folder, session).text


@pytest.mark.further
def test_a_record_is_not_shown_beside_a_ledger_that_disagrees(command: Command, library: Library) -> None:
    ledger, record = paid(command, library), library.folder / "top.json"
    fields = json.loads(record.read_text("utf-8"))
    command("show", saved(library.folder, fields | {"k": 11}), "--ledger", ledger).complains(1, "differ in")


CUTS: dict[str, tuple[dict[str, Any], str]] = {
    "order": ({"max_items": 2}, "Of one user at most 2 items were counted, the first in alphabetical order"),
    "random": ({"max_items": 3, "by": "random"}, "at most 3 items were counted, drawn at random"),
    "sums": (
        {"value": "paid", "lower": 0, "upper": 50, "granularity": 0.01},
        "clamped to the interval from 0 to 50 and rounded to multiples of 0.01. Nothing",
    ),
}


def test_what_was_cut_is_said(command: Command, tmp_path: Path) -> None:
    for name, (known, words) in CUTS.items():
        page = page_of(command, tmp_path, RECORD | {"mechanism": RECORD["mechanism"] | known})
        assert words in page.text, name
