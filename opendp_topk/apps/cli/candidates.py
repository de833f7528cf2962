"""The public list of candidates, from a file."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...core.candidates import candidate_remarks, public_items
from ...errors import CandidatesError, TableError
from ...errors.files import quoted, read_ordinary
from ..planning.joined_items import joined, parts_of, with_joined
from . import show

_MOST = 2**31  # bytes of a list: far more than can be counted, and no more than memory has
_INTEGER = re.compile(r"\s*[+-]?[0-9]{1,20}\s*", re.ASCII)


def read_candidates(
    path: str | Path, columns: Sequence[str] | None = (), *, what: str = "candidates"
) -> tuple[Any, ...]:
    """The candidates that a file lists, in its order; or ``what`` else it lists.

    A .json file holds one list; a .parquet or .csv file holds one column (a .csv file under a header line);
    any other file is UTF-8 text with one item a line, where only the line ends are removed and blank lines
    are skipped. With ``columns`` a .parquet or .csv file holds these, and no others, and items are their entries,
    joined; None takes any columns, as where items are only counted.

    Raises:
        CandidatesError: There are none, or one is repeated.
        TableError: The file cannot be read.
    """
    file = Path(path)
    kind = file.suffix.lower()
    if kind in (".parquet", ".csv"):
        return public_items(_items(file, columns, what), _named(file, what))
    if columns:
        raise TableError(
            f"the list of candidates must be a .csv or .parquet file with the columns {', '.join(columns)}"
        )
    text = _text(file, what)
    return public_items(_json(file, text) if kind == ".json" else _lines(text), _named(file, what))


def remarked(items: tuple[Any, ...], *columns: str, what: str = "candidates") -> tuple[Any, ...]:
    """``items``, of which is said on standard error what looks odd: they are public."""
    if len(columns) > 1:
        rows = [parts_of(item) for item in items]
        for name, entries in zip(columns, zip(*rows, strict=True), strict=True):
            for remark in candidate_remarks(tuple(dict.fromkeys(entries)), column=name):
                show.note(f"The list of candidates, {name}: {remark}.")
        return items
    for remark in candidate_remarks(items, column=columns[0]):
        show.note(f"The list of {what}: {remark}.")
    return items


def as_integers(items: tuple[Any, ...], column: str, what: str = "candidates") -> tuple[int, ...]:
    """The candidates as integers, for a table whose items are integers; or ``what`` else they are.

    Raises:
        CandidatesError: One is no integer, or two are the same integer.
    """
    return public_items(_integers(items, column, what), f"the {what}")


def as_written(items: tuple[Any, ...], columns: Sequence[str], frame: Any) -> tuple[str, ...]:
    """Candidates of several columns as a frame of polars has them: where its column holds integers, 07 is 7.

    Raises:
        CandidatesError: An entry for a column of integers is none, or two candidates are the same item.
    """
    schema, entries = frame.lazy().collect_schema(), zip(*map(parts_of, items), strict=True)
    found = (
        map(str, _integers(own, name)) if schema[name].is_integer() else own
        for name, own in zip(columns, entries, strict=True)
    )
    return public_items(map(joined, zip(*found, strict=True)), "the candidates")


def _integers(items: Sequence[Any], column: str, what: str = "candidates") -> list[int]:
    numbers = []
    for number, item in enumerate(items, start=1):
        if not isinstance(item, str):
            numbers.append(item)
        elif _INTEGER.fullmatch(item):
            numbers.append(int(item))
        else:
            raise CandidatesError(
                f"column {column!r} holds integers, so the {what} must be integers: {what[:-1]} {number} is not"
            )
    return numbers


def _named(file: Path, what: str) -> str:
    return f"the {what} in {quoted(str(file))}"


def _text(file: Path, what: str) -> str:
    content = read_ordinary(file, f"the list of {what}", TableError, at_most=_MOST)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        pass
    raise TableError(f"the list of {what} must be a readable file, but {quoted(str(file))} is not UTF-8 text")


def _lines(text: str) -> list[str]:
    lines = (line.removesuffix("\r") for line in text.split("\n"))
    return [line for line in lines if line.strip()]


def _json(file: Path, text: str) -> list[Any]:
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        listed = None
    if not isinstance(listed, list) or not all(type(item) in (str, int) for item in listed):
        raise TableError(f"{quoted(str(file))} must hold one JSON list of strings or of integers")
    return listed


def _items(file: Path, columns: Sequence[str] | None, what: str) -> list[Any]:
    from ...tables.files import read_table
    from ...tables.guard import guarded

    frame = read_table(file)
    table = guarded(frame.collect)
    if columns is None:
        columns = table.columns if table.width > 1 else ()
    if columns:
        if sorted(table.columns) != sorted(columns):
            raise TableError(
                f"the list of candidates must have the columns {', '.join(columns)} and no others, as --item names them"
            )
        return list(with_joined(table, columns)[joined(columns)].drop_nulls())
    if table.width != 1:
        raise TableError(f"the list of {what} must have one column, but {quoted(str(file))} has {table.width}")
    return table.to_series().drop_nulls().to_list()
