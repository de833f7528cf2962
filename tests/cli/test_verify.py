"""``verify``: a record is held against the library and the ledger, and no edit of it goes unseen.

Records and ledgers that others wrote are shown, and never obeyed; what is no record is told.
"""

import copy
import csv
import functools
import io
import json
import os
import random
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.apps.ledger.files import SEPARATOR
from opendp_topk.apps.ledger.records import seal_record, unseal_record
from opendp_topk.apps.planning import release_record, verification
from opendp_topk.apps.planning.record_file import read_fields
from opendp_topk.apps.planning.release_record import record_digest
from opendp_topk.apps.planning.verification import AGREES, DISAGREES, UNKNOWN, verify_record
from opendp_topk.errors import TableError
from opendp_topk.markup.foreign import json_text
from tests.markup.test_foreign import HOSTILE, acting

from .command import Result, argv, edited, places, record_of
from .conftest import Command, Library
from .test_show import RECORD, SHOWN, saved

FULL: dict[str, Any] = SHOWN | {
    "question": {"kind": "top-k", "version": 1, "mechanism": "report_noisy_top_k"},
    "ledger": {
        "dataset": "visits",
        "entry": 3,
        "time": "2026-01-02T03:04:05+00:00",
        "claim": "sha256:" + "0" * 64,
        "head": "5-" + "0" * 64,
        "salt": "0" * 64,
    },
    "proof": {
        "status": "current",
        "documents": [{"document": "core/chaining", "status": "current", "digest": None, "claim": "0" * 16}],
    },
    "other": 7,
    "where": "age > 3",
    "files": "sha256:" + "0" * 64,
}
SUMMED: dict[str, Any] = RECORD | {
    "counts": [12],
    "mechanism": RECORD["mechanism"] | {"value": "spent", "granularity": 0.5, "lower": 0, "upper": 9},
}
GAPS: dict[str, Any] = RECORD | {"gaps": [1.5]}
PAIR: dict[str, Any] = RECORD | {"symbol": "(rho, delta)", "d_out": [0.5, 1e-6], "k": 3}
NUMBERS: dict[str, Any] = RECORD | {
    "items": [3, "4.5"],
    "k": None,
    "release": "set",
    "mechanism": {"mechanism": "quantiles", "user": "u", "value": "v", "lower": 0, "upper": 9, "granularity": 0.5}
    | {"quantiles": ["1/4", "1/2"], "places": 2, "max_rows": 1, "candidates": 19},
}
COVERED: dict[str, Any] = RECORD | {"mechanism": RECORD["mechanism"] | {"mechanism": "top_k_coverage"}}
UNLISTED: dict[str, Any] = RECORD | {
    "symbol": "(epsilon, delta)",
    "measure": "Approximate(MaxDivergence)",
    "d_out": [0.5, 1e-6],
    "target": [0.5, "1/1000000"],
    "mechanism": {"mechanism": "unknown_domain_top_k", "user": "u", "item": "i", "candidates": None, "k": 1}
    | {"limit": 30, "max_items": 2, "by": "random", "minimum_users": 3},
}
RECORDS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "full": (FULL, tuple(FULL)),
    "summed": (SUMMED, ("counts", "mechanism", "scale")),
    "gaps": (GAPS, ("gaps", "items")),
    "pair": (PAIR, ("d_out", "symbol", "k")),
    "numbers": (NUMBERS, ("items", "mechanism")),
    "covered": (COVERED, ("mechanism",)),
    "unlisted": (UNLISTED, ("target", "mechanism")),
}
"""Records, and the fields that are altered in each."""
VALUES: tuple[Any, ...] = (None, True, -1, 10**400, 1e308, float("nan"), HOSTILE, [], [[None]], {"a": {}})


def shown(command: Command, folder: Path, record: Any) -> list[Result]:
    """The record on the terminal, as a page, in which tabs and line breaks are blanks, and as options."""
    file = saved(folder, record)
    options = command("show", file, "--config")
    assert options.code or "\\ud800" in options.out or tomllib.loads(options.out)
    return [command("show", file), command("show", file, "--html", "--to", "-"), options]


def verdict(command: Command, folder: Path, record: Any) -> Result:
    """The record, verified: 0 and 1 are answers, where something is said of it, line by line."""
    result = command("verify", saved(folder, record))
    return Result(0, result.out, result.err) if result.out else result


def is_told(result: Result) -> bool:
    """Whether the result is a clear message or fine output."""
    if result.code == 0:
        return "Traceback" not in result.err
    return result.code == 1 and result.err.count("\n") == 1 and "internal error" not in result.err and not result.out


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDS)
def test_an_altered_record_is_shown_or_refused_in_words(name: str, command: Command, tmp_path: Path) -> None:
    (record, fields), wrong, fine = RECORDS[name], [], 0
    assert [one.code for one in shown(command, tmp_path, record)] == [0, 0, 0]
    for path in (path for path in places(record) if not path or path[0] in fields):
        changes = [edited(record, path, value) for value in VALUES]
        changes += [edited(record, path, None, removed=True)] if path else []
        for change in changes:
            results = shown(command, tmp_path, change)
            fine += results[0].code == 0
            results.append(verdict(command, tmp_path, change))
            told = all(map(is_told, results)) and len({one.code for one in results}) == 1
            if not told or any(acting(one.out, but="\n\t") or acting(one.err, but="\n") for one in results):
                wrong.append((path, change if not path else None, results))
    assert wrong == []
    assert fine > 0, "no altered record is one"


@pytest.mark.parametrize("path", [path for path in places(FULL) if path], ids=str)
def test_no_text_of_a_record_is_obeyed(path: tuple[Any, ...], command: Command, tmp_path: Path) -> None:
    record = edited(FULL, path, HOSTILE)
    for result in (*shown(command, tmp_path, record), verdict(command, tmp_path, record)):
        assert is_told(result)
        assert acting(result.out + result.err, but="\n\t") == set()


def test_a_line_break_in_a_record_forges_no_row(command: Command, tmp_path: Path) -> None:
    forged = edited(FULL, ("accuracy", "words"), "surely\ncost      epsilon = 0 for 1 user added or removed")
    result = command("show", saved(tmp_path, forged))
    plain = command("show", saved(tmp_path, FULL))
    costs = [[line for line in one.out.splitlines() if line.startswith("cost ")] for one in (result, plain)]
    assert costs[0] == costs[1]


def test_markup_of_the_terminal_library_is_text(command: Command, tmp_path: Path) -> None:
    result = command("show", saved(tmp_path, edited(FULL, ("engine", "name"), "[red]polars[/red]")))
    assert "[red]polars[/red]" in result.out


# Ledgers that somebody else wrote.


def forged(file: Path, **texts: str) -> Path:
    """The ledger with other texts in all its records, whose digests fit."""
    made: list[bytes] = []
    before: dict[str, str] = {}
    ledger = None
    for line in filter(None, file.read_bytes().split(SEPARATOR)):
        record = unseal_record(line.decode("ascii").rstrip("\n"))
        fields = {**record.fields, **{name: text for name, text in texts.items() if name in record.fields}}
        fields |= {"previous": before[fields["previous"]]} if "previous" in fields else {}
        fields |= {"ledger": ledger} if "ledger" in fields else {}
        text = seal_record(fields)
        before[record.digest] = text.split(" ")[0]
        ledger = ledger or before[record.digest]
        made.append(SEPARATOR + text.encode("ascii") + b"\n")
    other = file.with_name("forged.ledger")
    other.unlink(missing_ok=True)
    other.write_bytes(b"".join(made))
    return other


TEXTS = ("label", "operator", "measurement", "proof", "claim", "time", "state", "d_in", "dataset", "metric", "budget")


@pytest.fixture
def ledger(tmp_path: Path, command: Command) -> Path:
    file = tmp_path / "budget.ledger"
    assert command("ledger", "create", file, "--dataset", "visits", "--epsilon", 2).code == 0
    assert command("ledger", "reserve", file, "--amount", "0.5", "--label", "a survey").code == 0
    assert command("ledger", "settle", file, 1).code == 0
    return file


def test_the_forger_of_this_test_can_write_a_whole_ledger(ledger: Path, command: Command) -> None:
    assert command("ledger", "verify", forged(ledger, label="another")).out == "consistent\n"
    assert "another" in command("ledger", forged(ledger, label="another"), "--history").out


@pytest.mark.quick(name=("label", "operator", "metric"))
@pytest.mark.parametrize("name", TEXTS)
def test_no_text_of_a_ledger_is_obeyed(name: str, ledger: Path, command: Command, tmp_path: Path) -> None:
    file = forged(ledger, **{name: HOSTILE})
    asked = "show", "show --history", "show --history --json", "verify", "head", "export", "verify --json"
    for one in asked:
        result = command("ledger", *argv(one), file)
        assert acting(result.out + result.err, but="\n\t") == set()
        assert "internal error" not in result.err
    for to in (tmp_path / "out.csv", tmp_path / "out.jsonl", tmp_path / "out.html"):
        result = command("ledger", "report" if to.suffix == ".html" else "export", file, "--to", to)
        assert "internal error" not in result.err
        if to.exists():
            assert acting(to.read_text(encoding="utf-8"), but="\n\t") == set()


def test_exported_cells_are_no_formulas_and_numbers_are_numbers(ledger: Path, command: Command, tmp_path: Path) -> None:
    to = tmp_path / "out.csv"
    command("ledger", "export", forged(ledger, label="\t=cmd|' /C calc'!A0", operator="@SUM(1)"), "--to", to)
    (row,) = csv.DictReader(io.StringIO(to.read_text(encoding="utf-8")))
    assert (row["label"][0], row["operator"]) == ("'", "'@SUM(1)")
    assert float(row["cost"]) == 0.5


# What is no file.


def test_what_can_be_no_record_is_one_line(command: Command, tmp_path: Path) -> None:
    command("show", "x" * 100_000).complains(1, "longer than a file name can be")
    command("show", "a\ud800").complains(1, "half of a character")
    command("show", tmp_path).complains(1, "is a folder")
    command("show", "/dev/zero" if os.path.exists("/dev/zero") else tmp_path).complains(1, "is a")
    assert len(command("show", "x" * 100_000).err) < 1000


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_is_no_record(command: Command, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    command("show", tmp_path / "pipe").complains(1, "is a pipe")


@pytest.mark.parametrize("to", ["x" * 100_000 + ".html", "a\ud800.html", "no/such/folder.html"])
def test_a_place_that_cannot_be_is_one_line(command: Command, tmp_path: Path, to: str) -> None:
    result = command("show", saved(tmp_path, RECORD), "--html", "--to", to)
    assert result.code in (1, 2)
    assert "internal error" not in result.err
    assert result.err.count("\n") == 1
    assert len(result.err) < 1000


def test_numbers_that_json_does_not_know_are_no_record(tmp_path: Path) -> None:
    for text in ("[" * 10**5, "1" * 5000, '{"format": "opendp_topk.release.v1", "k": NaN}', '"\ud800"'):
        file = tmp_path / "top.json"
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        with pytest.raises(TableError):
            read_fields(str(file))
    fields = read_fields(str(saved(tmp_path, RECORD)))
    assert json.loads((tmp_path / "top.json").read_text("utf-8")) == fields
    assert release_record.ReleaseRecord.from_dict(fields).as_dict() == fields


KINDS: dict[str, tuple[object, ...]] = {
    "ranking": ("--epsilon", 1),
    "counts": ("--epsilon", 1, "--counts"),
    "set": ("--epsilon", 1, "--release", "set"),
    "leads": ("--rho", 0.1, "--mechanism", "noisy_top_k_with_gaps"),
    "curve": ("--epsilon", 0.3, "--delta", 1e-8),
    "others": ("--epsilon", 1, "--other"),
    "joint": ("--rho", 0.1, "--mechanism", "joint", "--users", 2, "--neighbors", "replace"),
    "peeled": ("--rho", 0.1, "--mechanism", "peeled_exponential"),
    "own noise": ("--epsilon", 1, "--mechanism", "report_noisy_top_k_laplace", "--release", "set"),
    "unlisted": ("--epsilon", 1, "--delta", 1e-6, "--max-items", 2, "--keep", "random"),
    "sums": ("--epsilon", 1, "--sum", "paid", "--bounds", "0,50", "--step", "1/3", "--counts"),
    "above": ("--rho", 1, "--delta", 1e-6, "--max-items", 2, "--other"),
    "above, both": ("--epsilon", 0.3, "--delta", 1e-6, "--max-items", 5),
}
OWN = "--max-items"  # what a release without candidates has


@dataclass(frozen=True)
class Paid:
    """A record, the file in which it is, and the ledger that has paid."""

    fields: dict[str, Any]
    file: Path
    ledger: Path

    def found(self, fields: dict[str, Any] | None = None) -> dict[str, str]:
        """What is found of the record, or of another one in its place, against the ledger."""
        with tk.ledger.Ledger(self.ledger) as ledger:
            return {one.what: one.verdict for one in verify_record(self.fields if fields is None else fields, ledger)}


def released(command: Command, library: Library, kind: str) -> Paid:
    import polars as pl

    ledger, file = library.folder / "budget.ledger", library.folder / "top.json"
    options = KINDS[kind]
    unit = [word for word in options if word in ("replace",)] and ["--neighbors", "replace", "--users", 2]
    budget = "--epsilon", 9, "--delta", 1e-4, "--own-delta", 5e-5
    made = command("ledger", "create", ledger, "--dataset", "loans", *budget, *unit)
    assert made.code == 0, made
    if "--sum" in options:
        frame = pl.read_parquet(library.table)
        frame.with_columns(paid=pl.int_range(pl.len()) % 40).write_parquet(library.table)
    asked = list(library.release(*options, "--ledger", ledger, "--out", file))
    if OWN in options:
        asked[1] = "unknown-domain"
        at = asked.index("--candidates")
        del asked[at : at + 2]
    if kind.startswith("above"):
        asked[1] = "above-threshold"
        at = asked.index("--k")
        del asked[at : at + 2]
    done = command(*asked)
    assert done.code == 0, done
    return Paid(record_of(file.read_text("utf-8")), file, ledger)


@pytest.fixture
def paid(command: Command, library: Library) -> Paid:
    return released(command, library, "counts")


@pytest.mark.further
@pytest.mark.quick(kind="counts")
@pytest.mark.parametrize("kind", KINDS)
def test_a_record_of_every_kind_agrees(command: Command, library: Library, kind: str) -> None:
    made = released(command, library, kind)
    found = made.found()
    assert {one for one, verdict in found.items() if verdict != AGREES} == {"table"}
    assert {"measurement", "cost", "accuracy", "items", "entry", "words", "debit", "digest"} <= found.keys()
    assert ("count accuracy" in found) == ("count_accuracy" in made.fields)
    result = command("verify", made.file, "--ledger", made.ledger)
    assert result.code == 0
    assert "the record is, in every field, the one that was made at the release" in result.flat
    alone = {one.what: one.verdict for one in verify_record(made.fields)}
    assert {one for one, verdict in alone.items() if verdict != AGREES} == {"table", "entry", "what was released"}


def exchanged(items: list[Any]) -> list[Any]:
    return [*items[1:], items[0]]


def deeper(path: tuple[Any, ...], change: Callable[[Any], Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def edit(record: dict[str, Any]) -> dict[str, Any]:
        value: Any = record
        for key in path:
            value = value[key]
        return edited(record, path, change(value))

    return edit


EDITS: dict[str, tuple[Callable[[dict[str, Any]], dict[str, Any]], str | None]] = {
    "d_out": (deeper(("d_out",), lambda loss: loss / 2), "cost"),
    "whom": (deeper(("neighbors",), lambda _: "replace"), "measurement"),
    "d_in": (deeper(("d_in",), lambda users: users + 1), "cost"),
    "scale": (deeper(("scale",), lambda scale: scale * 2), "measurement"),
    "noise": (deeper(("mechanism", "noise"), lambda _: "Gumbel"), "measurement"),
    "candidates": (deeper(("mechanism", "candidates"), lambda number: number + 1), "accuracy"),
    "k": (deeper(("k",), lambda k: k + 1), "measurement"),
    "item": (deeper(("items", 0), lambda _: "Faustus"), None),
    "order": (deeper(("items",), exchanged), None),
    "count": (deeper(("counts", 0), lambda count: count + 1), None),
    "no counts": (lambda record: {name: one for name, one in record.items() if name != "counts"}, "measurement"),
    "column": (deeper(("mechanism", "user"), lambda _: "loan"), "debit"),
    "entry": (deeper(("ledger", "entry"), lambda number: number + 1), "entry"),
    "no entry": (deeper(("ledger",), lambda _: None), "entry"),
    "data set": (deeper(("ledger", "dataset"), lambda _: "visits"), "entry"),
    "claim": (deeper(("ledger", "claim"), lambda claim: claim[:-1] + ("1" if claim[-1] == "0" else "0")), "entry"),
    "head": (deeper(("ledger", "head"), lambda head: "0" + head[1:]), "entry"),
    "salt": (deeper(("ledger", "salt"), lambda salt: salt[::-1]), None),
    "proof": (
        deeper(("proof", "documents", 0, "digest"), lambda digest: "sha256:" + "0" * 64),
        "proof transformations/count_by_item",
    ),
    "signed": (deeper(("proof", "documents", 1, "claim"), lambda _: "0" * 16), "proof measurements/select_then_count"),
    "document": (deeper(("proof", "documents"), lambda documents: documents[1:]), "proof core/chaining"),
    "state": (deeper(("proof", "status"), lambda _: "unproven"), "proof"),
    "word": (deeper(("accuracy", "words"), lambda words: words.replace("within", "next to")), "accuracy"),
    "reach": (deeper(("count_accuracy", "within_users"), lambda users: users - 1), "count accuracy"),
    "alpha": (deeper(("accuracy", "alpha"), lambda alpha: alpha / 5), "accuracy"),
    "time": (deeper(("time",), lambda time: "2020" + time[4:]), None),
    "list": (deeper(("candidate_list",), lambda digest: "sha256:" + "0" * 64), None),
    "person": (deeper(("stated", "person"), lambda _: "borrower"), "words"),
    "period": (deeper(("stated", "period"), lambda _: "June"), "words"),
    "no words": (lambda record: {name: one for name, one in record.items() if name != "stated"}, "words"),
    "bound": (deeper(("stated",), lambda said: {**said, "at_most": 2}), "words"),
    "engine": (deeper(("engine", "version"), lambda _: "9"), None),
    "format": (deeper(("format",), lambda _: "opendp_topk.release.v2"), "fields"),
    "more": (lambda record: {**record, "true_counts": [1]}, "fields"),
}
"""An edit of each kind, and where it is found without a digest."""


@pytest.fixture(autouse=True)
def claims(monkeypatch: pytest.MonkeyPatch) -> None:
    """The digests of claims are computed once: nothing here changes them."""
    monkeypatch.setattr(release_record, "claim_digest", _CLAIM)


_CLAIM = functools.cache(release_record.claim_digest)


@pytest.mark.further
def test_every_edit_is_found(paid_once: Paid) -> None:
    for name, (edit, what) in EDITS.items():
        found = paid_once.found(edit(paid_once.fields))
        assert found.get("digest", DISAGREES) == DISAGREES, name
        assert what is None or found[what] == DISAGREES, name


@pytest.mark.further
@pytest.mark.parametrize("name", ["item", "count", "entry", "d_out", "proof", "word"])
def test_the_command_ends_with_1_after_an_edit(name: str, command: Command, paid_once: Paid, tmp_path: Path) -> None:
    file = saved(tmp_path, EDITS[name][0](paid_once.fields))
    result = command("verify", file, "--ledger", paid_once.ledger)
    assert (result.code, "does not agree" in result.out) == (1, True)


@pytest.mark.parametrize(
    "name", [name for name, (_, what) in EDITS.items() if what not in (None, "entry", "debit", "ledger", "words")]
)
def test_what_can_be_computed_is_found_without_a_ledger(name: str, paid_once: Paid) -> None:
    edit, what = EDITS[name]
    found = {one.what: one.verdict for one in verify_record(edit(paid_once.fields))}
    assert found[str(what)] == DISAGREES


@pytest.fixture(scope="module")
def paid_once(tmp_path_factory: pytest.TempPathFactory) -> Paid:
    """A release of counts that several tests look at, and none changes."""
    import polars as pl

    from opendp_topk.apps.cli import main

    folder = tmp_path_factory.mktemp("paid")
    rows = [(reader, book) for reader in range(60) for book in range(reader % 5)]
    pl.DataFrame(rows, schema=["reader", "book"], orient="row").write_parquet(folder / "loans.parquet")
    (folder / "list.txt").write_text("0\n1\n2\n3\n4\n")
    ledger, file = folder / "budget.ledger", folder / "top.json"
    asked = "--candidates", folder / "list.txt", *argv("--k 3 --epsilon 1 --counts --period May"), "--ledger", ledger
    several = (
        ("ledger", "create", ledger, "--dataset", "loans", "--epsilon", 3, "--user", "reader", "--purpose", "a list"),
        ("release", "top-k", folder / "loans.parquet", "--user", "reader", "--item", "book", *asked, "--out", file),
    )
    with pytest.MonkeyPatch.context() as patch:
        for one in several:
            patch.setattr(sys, "argv", ["opendp-topk", *map(str, one)])
            with pytest.raises(SystemExit) as ended:
                main()
            assert not ended.value.code
    return Paid(record_of(file.read_text("utf-8")), file, ledger)


def edits(record: dict[str, Any], number: int) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """So many records, each with one place that says something else, or that is not there."""
    chance, open_places = random.Random(24), [path for path in places(record) if path]
    while number:
        path = chance.choice(open_places)
        value: Any = record
        for key in path:
            value = value[key]
        others = [None, not value, 7, -0.25, "0" * 64, "", [value], {"a": value}, "current", "ranking", 1e-9]
        if isinstance(value, str) and value:
            at = chance.randrange(len(value))
            others += [value[:at] + chr(ord(value[at]) ^ 1) + value[at + 1 :], value + " "] * 4
        if isinstance(value, int | float) and not isinstance(value, bool):
            others += [value + 1, value * 2, -value, value * (1 + 2**-52)] * 2
        if isinstance(value, list):
            others += [value[::-1], value[1:], [*value, *value[:1]]] * 3
        changed = edited(record, path, chance.choice(others))
        if chance.random() < 0.1:
            changed = edited(record, path, None, removed=True)
        if record_digest(changed) != record_digest(record):
            number -= 1
            yield path, changed


@pytest.mark.slow
def test_of_400_edits_none_is_unseen(command: Command, paid_once: Paid) -> None:
    unseen, read = [], 0
    for path, other in edits(paid_once.fields, 400):
        file = paid_once.file.with_name("other.json")
        file.write_text(json.dumps(other), encoding="utf-8")
        result = command("verify", file, "--ledger", paid_once.ledger, "--json")
        if result.code == 0 or "internal error" in result.err:
            unseen.append((path, other, result))
        read += bool(result.out)
    assert unseen == []
    assert read > 100, "hardly an edit was of a record that holds together"


@pytest.mark.further
def test_equal_numbers_have_one_digest_and_other_ones_another(paid: Paid) -> None:
    record = paid.fields
    assert record_digest(json.loads(json.dumps(record, indent=4))) == record_digest(record)
    assert record_digest(json.loads(json_text(record, ascii_only=True))) == record_digest(record)
    assert record_digest({**record, "d_out": int(record["d_out"])}) == record_digest(record)
    for other in (True, "1.0", 1.0000000000000002, [1.0]):
        assert record_digest({**record, "d_out": other}) != record_digest(record)


@pytest.mark.further
def test_a_field_that_is_named_twice_is_no_record(command: Command, paid: Paid) -> None:
    text = paid.file.read_text("utf-8").replace('"d_out":', '"d_out": 0.001,\n  "d_out":')
    paid.file.write_text(text, encoding="utf-8")
    for asked in (("show", paid.file), ("verify", paid.file)):
        command(*asked).complains(1, "contains a field twice")


@pytest.mark.further
def test_the_digest_tells_nothing_to_who_has_no_salt(command: Command, library: Library) -> None:
    """The same record but for its salt has another digest, and the salt is never the same."""
    salts = set()
    for turn in range(3):
        folder = library.folder / str(turn)
        folder.mkdir()
        file, ledger = folder / "top.json", folder / "budget.ledger"
        command("ledger", "create", ledger, "--dataset", "loans", "--epsilon", 9)
        assert command(*library.release("--epsilon", 1, "--ledger", ledger, "--out", file)).code == 0
        fields = record_of(file.read_text("utf-8"))
        salt = fields["ledger"]["salt"]
        salts.add(salt)
        with tk.ledger.Ledger(ledger) as account:
            assert account.history()[0].record == record_digest(fields)
        assert salt not in ledger.read_text("ascii")
        bare = copy.deepcopy(fields)
        del bare["ledger"]["salt"]
        assert record_digest(bare) != record_digest(fields)
    assert len(salts) == 3


@pytest.mark.further
def test_another_ledger_does_not_agree(command: Command, paid: Paid) -> None:
    other = paid.ledger.with_name("other.ledger")
    command("ledger", "create", other, "--dataset", "loans", "--epsilon", 9, "--delta", 1e-4)
    command("ledger", "reserve", other, "--amount", "0.5,0", "--label", "a survey")
    command("ledger", "settle", other, 1)
    found = Paid(paid.fields, paid.file, other).found()
    assert {what for what, verdict in found.items() if verdict == DISAGREES} == {"entry", "words", "debit"}
    assert command("verify", paid.file, "--ledger", other).code == 1
    command("verify", paid.file, "--ledger", other.with_name("none")).complains(1, "no ledger of that name")
    command("verify", paid.file, "--head", "1-" + "0" * 64).complains(2, "also give the ledger")
    told = command("verify", paid.file, "--ledger", paid.ledger, "--head", paid.fields["ledger"]["head"])
    assert (told.code, "continue from the kept head" in told.flat) == (0, True)


@pytest.mark.further
def test_a_record_holds_a_head_of_the_ledger(command: Command, paid: Paid) -> None:
    command("ledger", "reserve", paid.ledger, "--amount", "0.1,0", "--label", "later")
    with tk.ledger.Ledger(paid.ledger) as ledger:
        assert ledger.verify(paid.fields["ledger"]["head"]) == []
        assert ledger.head(1) == paid.fields["ledger"]["head"]
        assert ledger.head(2) == ledger.head()


@pytest.mark.further
def test_another_version_is_asked_no_more_than_it_can_know(paid: Paid) -> None:
    older = edited(paid.fields, ("library", "version"), "0.0.1")
    found = {one.what: one.verdict for one in verify_record(older)}
    assert (found["library"], found["cost"]) == (UNKNOWN, AGREES)
    dearer = edited(older, ("d_out",), older["d_out"] * 2)
    assert {one.what: one.verdict for one in verify_record(dearer)}["cost"] == AGREES
    cheaper = edited(older, ("d_out",), older["d_out"] / 2)
    assert {one.what: one.verdict for one in verify_record(cheaper)}["cost"] == DISAGREES
    words = edited(older, ("accuracy", "words"), "surely")
    assert {one.what: one.verdict for one in verify_record(words)}["accuracy"] == UNKNOWN


@pytest.mark.further
def test_other_sources_of_this_version_are_told_by_the_entry(paid: Paid, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the entry says of them is trusted, and a record alone is not."""
    monkeypatch.setattr(verification, "measurement_claim", lambda measurement: "sha256:" + "1" * 64)
    found = paid.found(EDITS["proof"][0](paid.fields))
    assert (found["library"], found["proof transformations/count_by_item"]) == (UNKNOWN, UNKNOWN)
    assert (found["debit"], found["cost"], found["digest"]) == (AGREES, AGREES, DISAGREES)
    alone = {one.what: one.verdict for one in verify_record(EDITS["proof"][0](paid.fields))}
    assert alone["proof transformations/count_by_item"] == DISAGREES


def test_what_cannot_be_known_is_no_disagreement(command: Command, tmp_path: Path) -> None:
    result = command("verify", saved(tmp_path, RECORD))
    assert result.code == 0
    assert "cannot be known" in result.field("measurement")
    told = json.loads(command("verify", saved(tmp_path, RECORD), "--json").out)
    assert told["agrees"] is True
    assert {"what": "entry", "verdict": UNKNOWN, "why": "no ledger was given"} in told["findings"]


@pytest.mark.further
def test_numbers_that_would_keep_a_computer_busy_are_refused(command: Command, paid: Paid) -> None:
    for path in (("mechanism", "candidates"), ("d_in",), ("k",), ("scale",)):
        for value in (2**40, 10**300):
            other = edited(paid.fields, path, value)
            assert command("verify", saved(paid.file.parent, other)).code == 1


@pytest.mark.further
def test_a_head_is_signed_printed_as_one_line_and_asked_for(command: Command, paid: Paid, tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="heads are signed with cryptography, of the extra sign")
    from tests.ledger.workers import signing_keys

    private, public = signing_keys(tmp_path, "own")
    printed = command("ledger", "head", paid.ledger, "--sign", private).out
    assert printed.count("\n") == 1
    line = printed.strip()
    kept = "--head", line, "--key", public
    assert command("ledger", "verify", paid.ledger, *kept).out.startswith("consistent, and it continues")
    told = command("verify", paid.file, "--ledger", paid.ledger, *kept)
    assert (told.code, "from the kept head and signed" in told.flat) == (0, True)
    other = "--head", line[:-1] + ("0" if line[-1] != "0" else "1"), "--key", public
    assert command("ledger", "verify", paid.ledger, *other).code == 1
    wrong = command("verify", paid.file, "--ledger", paid.ledger, *other)
    assert (wrong.code, "was not signed with this key" in wrong.flat) == (1, True)
    command("verify", paid.file, "--key", public).complains(2, "also give the ledger")
    command("ledger", "verify", paid.ledger, "--key", public).complains(2, "give the head")
