"""``release``: what is printed for people, what is recorded for programs, and that neither holds a count."""

import hashlib
import json
import re
from collections import Counter
from fractions import Fraction
from importlib import metadata
from typing import Any

import pytest

from opendp_topk.apps.cli import app
from opendp_topk.apps.planning.questions import WRAPPED, question_class, question_kinds
from opendp_topk.proof import document_names, documents_folder

from ..oracles import rhos
from .command import numbers, record_of, spawn
from .conftest import CANDIDATES, LOANS, Command, Library

EXACT = "--epsilon", 10**6  # the noise is so small that another outcome has a probability below e^-100000
BEST = sorted(CANDIDATES, key=lambda book: -LOANS.get(book, 0))


def test_people_read_ranks_and_items(command: Command, library: Library) -> None:
    result = command(*library.release(*EXACT))
    assert result.code == 0
    lines = [line.split(None, 1) for line in result.out.splitlines()]
    assert [line[1].strip() for line in lines[2:5]] == BEST[:3]
    assert [line[0] for line in lines[2:5]] == ["1", "2", "3"]
    assert "cost epsilon = 1000000.0 for 1 user added or removed" in result.flat
    assert "core/chaining (" in result.flat
    assert "must be public" in result.err


@pytest.mark.further
def test_programs_read_a_record(command: Command, library: Library) -> None:
    out = library.folder / "top.json"
    arguments = library.release("--rho", 10**9, "--users", 2, "--neighbors", "replace", "--out", out)
    result = command(*arguments)
    assert result.code == 0
    assert f"written to {out}" in " ".join(result.err.split()).replace(" ", "").replace("writtento", "written to ")
    record = record_of(out.read_text(encoding="utf-8"))
    assert list(record) == [
        *("format", "question", "time", "items", "k", "release", "measure", "symbol", "neighbors", "d_in", "d_out"),
        *("target", "mechanism", "scale", "accuracy", "ledger", "proof", "candidate_list", "engine", "library"),
    ]
    assert record["items"] == BEST[:3]
    assert record["format"] == "opendp_topk.release.v1"
    assert (record["release"], record["neighbors"]) == ("ranking", "replace")
    assert (record["measure"], record["symbol"]) == ("ZeroConcentratedDivergence", "rho")
    counted = {"transformation": "count_by_item", "user": "reader", "item": "book", "candidates": 6, "monotonic": False}
    chosen = {"mechanism": "report_noisy_top_k", "noise": "Gumbel", "k": 3, "optimize": "max", "release": "ranking"}
    assert record["mechanism"] == counted | chosen
    assert record["d_in"] == 2
    assert 3 * rhos.of_range(Fraction(4) / Fraction(record["scale"])) <= Fraction(record["d_out"]) <= 10**9
    assert record["library"] == {"name": "opendp_topk", "version": metadata.version("opendp_topk")}
    assert "源氏物語" in command(*library.release(*EXACT, "--out", "-", k=4)).out


def test_the_record_cites_each_proof_with_its_state_and_digest(command: Command, library: Library) -> None:
    record = record_of(command(*library.release(*EXACT, "--out", "-")).out)
    cited = {document["document"]: document for document in record["proof"]["documents"]}
    assert list(cited) == ["transformations/count_by_item", "measurements/report_noisy_top_k", "core/chaining"]
    for name in set(cited) & set(document_names()):
        source = documents_folder() / f"{name}.tex"
        assert cited[name]["digest"] == "sha256:" + hashlib.sha256(source.read_bytes()).hexdigest()
        assert cited[name]["status"] in ("current", "stale")
    worst = max(cited.values(), key=lambda one: ["current", "stale", "missing"].index(one["status"]))
    assert record["proof"]["status"] == worst["status"]


@pytest.mark.further
def test_a_set_has_the_order_of_the_candidates_and_no_ranks(command: Command, library: Library) -> None:
    winners = [book for book in CANDIDATES if book in BEST[:4]]
    shown = command(*library.release(*EXACT, "--release", "set", k=4))
    assert [line.strip() for line in shown.out.splitlines()[2:6]] == winners
    assert "rank" not in shown.out.split("cost")[0]
    recorded = record_of(command(*library.release(*EXACT, "--release", "set", "--out", "-", k=4)).out)
    assert (recorded["items"], recorded["release"]) == (winners, "set")


@pytest.mark.further
def test_integers_csv_and_categories(command: Command, library: Library) -> None:
    import polars as pl

    books = pl.read_parquet(library.table)
    numbered = library.folder / "numbered.parquet"
    code = {book: 100 + place for place, book in enumerate(LOANS)}
    books.with_columns(pl.col("book").replace_strict(code, return_dtype=pl.Int32)).write_parquet(numbered)
    listed = library.folder / "codes.txt"
    listed.write_text("\n".join(f"0{code[book]}" for book in LOANS if book in CANDIDATES))
    record = record_of(command(*library.release(*EXACT, "--out", "-", table=numbered, candidates=listed)).out)
    assert record["items"] == [code[book] for book in BEST[:3]]
    for name, frame in (("a.csv", books), ("b.parquet", books.with_columns(pl.col("book").cast(pl.Categorical)))):
        table = library.folder / name
        frame.write_csv(table) if name == "a.csv" else frame.write_parquet(table)
        again = record_of(command(*library.release(*EXACT, "--out", "-", table=table)).out)
        assert again["items"] == BEST[:3]


@pytest.mark.further
def test_what_looks_odd_in_the_list_is_said(command: Command, library: Library) -> None:
    odd = library.folder / "odd.txt"
    odd.write_text("book\nUlysses\nEmma \n", encoding="utf-8")
    result = command(*library.release(*EXACT, candidates=odd, k=1))
    said = " ".join(result.err.split())
    assert (result.code, "Ulysses" in result.out) == (0, True)
    assert "The list of candidates: candidate 1 is the name of the column: a header line?" in said
    assert "outer blanks: 1 of 3 candidates, first number 3." in said
    assert "The list of candidates:" not in command(*library.release(*EXACT)).err


@pytest.mark.slow
def test_the_release_is_random(command: Command, library: Library) -> None:
    drawn = Counter(
        tuple(record_of(command(*library.release("--epsilon", 1e-6, "--out", "-")).out)["items"]) for _ in range(12)
    )
    assert len(drawn) > 1  # 120 rankings, each about as likely: all equal once in 10^22 runs


def _numbers(value: Any) -> set[float]:
    if isinstance(value, dict):
        return set().union(*map(_numbers, value.values()))
    if isinstance(value, list):
        return set().union(*map(_numbers, value))
    return {value} if type(value) in (int, float) else set()


@pytest.mark.further
def test_no_count_and_no_score_is_shown_or_recorded(command: Command, library: Library) -> None:
    shown = command(*library.release(*EXACT))
    assert numbers(shown.out) <= {"1", "2", "3", "1000000.0", "95"}
    assert numbers(shown.err) == set()
    record = record_of(command(*library.release(*EXACT, "--out", "-")).out)
    assert _numbers(record) == {0, 0.05, 1, 3, 6, 1e6, record["scale"]}
    assert numbers(record["accuracy"]["words"]) == {"95", "1", "3"}
    assert record["scale"] == pytest.approx(3e-6)


@pytest.mark.further
def test_markup_and_control_characters_are_printed_as_they_are(command: Command, library: Library) -> None:
    import polars as pl

    items = ["[red]a[/red]", ":smile:", "\x1b[31mred", "tab\there", "\u202eabc", "two\nlines", " edge ", "x" * 200]
    listed, table = library.folder / "list.json", library.folder / "odd.parquet"
    listed.write_text(json.dumps(items))
    pl.DataFrame({"reader": list(range(8)), "book": items}).write_parquet(table)
    arguments = library.release("--epsilon", 1, "--release", "ranking", table=table, candidates=listed, k=8)
    shown = command(*arguments)
    escaped = '"\\u001b[31mred"', '"tab\\there"', '"\\u202eabc"', '"two\\nlines"'
    assert all(text in shown.out for text in ("[red]a[/red]", ":smile:", *escaped, '" edge "')), shown.out
    assert shown.out.count("x") >= 200
    assert "\x1b" not in shown.out
    assert sorted(record_of(command(*arguments, "--out", "-").out)["items"]) == sorted(items)


@pytest.mark.slow
def test_a_process_prints_plain_text_in_any_encoding(library: Library) -> None:
    for environment in ({}, {"PYTHONIOENCODING": "ascii"}, {"COLUMNS": "25"}, {"COLUMNS": "1000"}, {"TERM": "dumb"}):
        shown = spawn(*library.release(*EXACT, k=4), **environment)
        assert shown.code == 0, shown
        assert "\x1b" not in shown.out + shown.err
        if environment != {"COLUMNS": "25"}:
            assert "[bold]Dune[/bold]" in shown.out
        assert ("源氏物語" in shown.out) == (environment != {"PYTHONIOENCODING": "ascii"})
        assert max(map(len, shown.out.splitlines())) <= min(int(environment.get("COLUMNS", 80)), 100)
    listed = library.folder / "beyond.txt"
    listed.write_text("Emma\nPère Goriot\n🐋\n源氏物語\n", encoding="utf-8")
    recorded = spawn(*library.release(*EXACT, "--out", "-", candidates=listed, k=4), PYTHONIOENCODING="ascii")
    assert set(record_of(recorded.out)["items"]) == {"Emma", "Père Goriot", "🐋", "源氏物語"}
    assert "\x1b" in spawn(*library.release(*EXACT), FORCE_COLOR="1").out


def unbroken(text: str) -> str:
    """A text in one line, as before it was wrapped."""
    return " ".join(text.split()).replace("- ", "-")


@pytest.mark.parametrize("verb", ["plan", "release"])
def test_help_is_short_and_names_every_option(command: Command, verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within 48 lines of 80 columns, with an example at the end; ``--help-all`` explains each option."""
    monkeypatch.setenv("COLUMNS", "80")
    for kind in (one for one in question_kinds() if one != WRAPPED):
        page, whole = command(verb, kind, "--help"), command(verb, kind, "--help-all")
        assert (page.code, whole.code) == (0, 0)
        lines = page.out.rstrip().splitlines()
        assert len(lines) <= 48, kind
        assert max(map(len, lines)) <= 80, kind
        assert lines[-1].split()[-2:] == question_class(kind).release_example.split()[-2:], kind
        assert "\n\n--help-all: explain all options.\n\nExample:\n  opendp-topk" in page.out
        assert "--help-all" not in whole.out
        for name, one in app.load_command(verb).made(kind).declared.items():
            line = f"--{name.replace('_', '-')} {one.metavar} {one.words} "
            assert (unbroken(line) in unbroken(page.out)) == (not one.rare), line
            assert unbroken(line + one.more) in unbroken(whole.out), line
        assert ("TABLE A .parquet or .csv file" in whole.flat) == (verb == "release")
        named = set(re.findall("--[a-z-]+", unbroken(page.out)))
        assert set(re.findall("^  (?:-., )?(--[a-z-]+)", whole.out, re.MULTILINE)) <= named, kind


def test_a_file_has_the_options_and_a_record_can_be_turned_into_one(command: Command, library: Library) -> None:
    """What is given at the command line replaces what the file says; a file for another question is refused."""
    record, config = library.folder / "top.json", library.folder / "release.toml"
    asked = library.release("--epsilon", 10**6, "--where", "reader >= 0", "--label", "week 1", "--out", record)
    assert command(*asked).code == 0
    shown = command("show", record, "--config")
    assert 'question = "top-k"\n' in shown.out
    config.write_text(f'{shown.out}candidates = "{library.candidates}"\n', "utf-8")
    again = record_of(command("release", "top-k", library.table, "--config", config, "--out", "-").out)
    first = record_of(record.read_text("utf-8"))
    same = ("items", "mechanism", "scale", "d_out", "where", "stated", "question")
    assert [again[name] for name in same] == [first[name] for name in same]
    fewer = record_of(command("release", "top-k", library.table, "--config", config, "--k", 1, "--out", "-").out)
    assert fewer["items"] == first["items"][:1]
    command("release", "gap", library.table, "--config", config).complains(2, "for another question than gap")
    config.write_text("kk = 3\n", "utf-8")
    command("release", "top-k", library.table, "--config", config).complains(2, "unknown option, 'kk'")
    config.write_text("k = \n", "utf-8")
    command("release", "top-k", library.table, "--config", config).complains(1, "is not TOML")


ROUNDED_LOSSES: dict[str, tuple[str, ...]] = {  # the loss of each is less than its target, by another amount
    "top-k": ("--k", "3", "--epsilon", "0.7", "--delta", "1e-5", "--candidates"),
    "coverage": ("--k", "3", "--epsilon", "1", "--delta", "1e-5", "--candidates"),
    "unknown-domain": ("--k", "3", "--max-items", "2", "--epsilon", "1", "--delta", "1e-5", "--other"),
    "partitions": ("--max-items", "2", "--rho", "0.3", "--delta", "1e-5"),
    "above-threshold": ("--max-items", "2", "--epsilon", "1", "--delta", "1e-5"),
}


@pytest.mark.parametrize("kind", ROUNDED_LOSSES)
def test_the_options_of_a_record_plan_the_same_noise(kind: str, command: Command, library: Library) -> None:
    """A plan for the loss of a release needs more noise than the plan for its target, which the record contains."""
    record, config = library.folder / "first.json", library.folder / "release.toml"
    lists = [library.candidates] if "--candidates" in ROUNDED_LOSSES[kind] else []
    asked = ("release", kind, library.table, "--user", "reader", "--item", "book", *ROUNDED_LOSSES[kind], *lists)
    assert command(*asked, "--out", record).code == 0
    more = f'candidates = "{library.candidates}"\n' if lists else ""
    config.write_text(command("show", record, "--config").out + more, "utf-8")
    again = record_of(command("release", kind, library.table, "--config", config, "--out", "-").out)
    first = record_of(record.read_text("utf-8"))
    same = ("scale", "mechanism", "d_out", "target")
    assert [again.get(name) for name in same] == [first.get(name) for name in same]
    assert command("verify", record).field("target").startswith("agrees")
    record.write_text(json.dumps(first | {"target": [0.25, 1e-6]}), "utf-8")
    assert command("verify", record).field("target").startswith("does not agree")
