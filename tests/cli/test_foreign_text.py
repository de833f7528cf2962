"""Records and ledgers that somebody else wrote: their texts are shown, and never obeyed; what is no record is told."""

from __future__ import annotations

import copy
import csv
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opendp_topk.apps.cli.record_file import read_record
from opendp_topk.apps.ledger.files import SEPARATOR
from opendp_topk.apps.ledger.records import seal_record, unseal_record
from opendp_topk.errors import TableError
from tests.markup.test_foreign import HOSTILE, acting

from .command import Result
from .conftest import Command
from .test_show import RECORD, SHOWN, saved

FULL: dict[str, Any] = SHOWN | {
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
    "files": "sha256:0",
}
SUMMED: dict[str, Any] = RECORD | {
    "counts": [12],
    "mechanism": RECORD["mechanism"] | {"value": "spent", "granularity": 0.5, "lower": 0, "upper": 9},
}
GAPS: dict[str, Any] = RECORD | {"gaps": [1.5]}
PAIR: dict[str, Any] = RECORD | {"symbol": "(rho, delta)", "d_out": [0.5, 1e-6], "k": 3}
RECORDS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "full": (FULL, tuple(FULL)),
    "summed": (SUMMED, ("counts", "mechanism", "scale")),
    "gaps": (GAPS, ("gaps", "items")),
    "pair": (PAIR, ("d_out", "symbol", "k")),
}
"""Records, and the fields that are altered in each."""
VALUES: tuple[Any, ...] = (None, True, -1, 10**400, 1e308, float("nan"), HOSTILE, [], [[None]], {"a": {}})


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in a record."""
    yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*path, key))


def altered(record: Any, path: tuple[Any, ...], value: Any, *, removed: bool = False) -> Any:
    if not path:
        return value
    made = copy.deepcopy(record)
    room = made
    for key in path[:-1]:
        room = room[key]
    if removed:
        del room[path[-1]]
    else:
        room[path[-1]] = value
    return made


def shown(command: Command, folder: Path, record: Any) -> list[Result]:
    """The record on the terminal and as a page; a page is HTML, in which tabs and line breaks are blanks."""
    file = saved(folder, record)
    return [command("show", file), command("show", file, "--html", "--to", "-")]


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
def test_however_a_record_is_altered_it_is_shown_or_refused_in_words(
    name: str, command: Command, tmp_path: Path
) -> None:
    (record, fields), wrong, fine = RECORDS[name], [], 0
    assert [one.code for one in shown(command, tmp_path, record)] == [0, 0]
    for path in (path for path in places(record) if not path or path[0] in fields):
        changes = [altered(record, path, value) for value in VALUES]
        changes += [altered(record, path, None, removed=True)] if path else []
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
    record = altered(FULL, path, HOSTILE)
    for result in (*shown(command, tmp_path, record), verdict(command, tmp_path, record)):
        assert is_told(result)
        assert acting(result.out + result.err, but="\n\t") == set()


def test_a_line_break_in_a_record_forges_no_row(command: Command, tmp_path: Path) -> None:
    forged = altered(FULL, ("accuracy", "words"), "surely\ncost      epsilon = 0 for 1 user added or removed")
    result = command("show", saved(tmp_path, forged))
    assert [line for line in result.out.splitlines() if line.startswith("cost ")] == [
        line for line in command("show", saved(tmp_path, FULL)).out.splitlines() if line.startswith("cost ")
    ]


def test_markup_of_the_terminal_library_is_text(command: Command, tmp_path: Path) -> None:
    result = command("show", saved(tmp_path, altered(FULL, ("engine", "name"), "[red]polars[/red]")))
    assert "[red]polars[/red]" in result.out


# Ledgers that somebody else wrote.


def forged(file: Path, **texts: str) -> Path:
    """The ledger with other texts in all its records, whose digests fit."""
    made: list[bytes] = []
    before: dict[str, str] = {}
    ledger = None
    for line in filter(None, file.read_bytes().split(SEPARATOR)):
        record = unseal_record(line.decode("ascii").rstrip("\n"))
        assert record is not None
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
    assert command("ledger", "verify", forged(ledger, label="another")).out == "whole\n"
    assert "another" in command("ledger", forged(ledger, label="another"), "--history").out


@pytest.mark.quick(name=("label", "operator", "metric"))
@pytest.mark.parametrize("name", TEXTS)
def test_no_text_of_a_ledger_is_obeyed(name: str, ledger: Path, command: Command, tmp_path: Path) -> None:
    file = forged(ledger, **{name: HOSTILE})
    asked: list[tuple[object, ...]] = [
        ("show", file),
        ("show", file, "--history"),
        ("show", file, "--history", "--json"),
    ]
    asked += [("verify", file), ("head", file), ("export", file), ("verify", file, "--json")]
    for arguments in asked:
        result = command("ledger", *arguments)
        assert acting(result.out + result.err, but="\n\t") == set()
        assert "internal error" not in result.err
    for to in (tmp_path / "out.csv", tmp_path / "out.jsonl", tmp_path / "out.html"):
        result = command("ledger", "report" if to.suffix == ".html" else "export", file, "--to", to)
        assert "internal error" not in result.err
        if to.exists():
            assert acting(to.read_text(encoding="utf-8"), but="\n\t") == set()


def test_cells_of_an_exported_ledger_are_no_formulas_and_its_numbers_are_numbers(
    ledger: Path, command: Command, tmp_path: Path
) -> None:
    to = tmp_path / "out.csv"
    command("ledger", "export", forged(ledger, label="\t=cmd|' /C calc'!A0", operator="@SUM(1)"), "--to", to)
    (row,) = csv.DictReader(io.StringIO(to.read_text(encoding="utf-8")))
    assert (row["label"][0], row["operator"]) == ("'", "'@SUM(1)")
    assert float(row["cost"]) == 0.5


# What is no file.


def test_what_can_be_no_record_is_one_line(command: Command, tmp_path: Path) -> None:
    command("show", "x" * 100_000).complains(1, "longer than the name of a file can be")
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
            read_record(str(file))
    assert json.loads(saved(tmp_path, RECORD).read_text("utf-8")) == read_record(str(tmp_path / "top.json")).as_dict()
