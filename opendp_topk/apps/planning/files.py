"""Files that a release reads and writes beside its table: lists of candidates or groups, and the list of its files."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import uuid
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.candidates import integers_or_strings
from ...errors import ParameterError, TableError
from ...errors.files import quote_path, read_regular_file
from ..ledger.files import write_new_file
from .options import named, option_error
from .units import add_joined_column, join_item_parts, split_item_parts

if TYPE_CHECKING:
    from ...tables.listing import FileList


# The public list of candidates, from a file.

_MOST_OF_A_LIST = 2**31  # most bytes of a list: far more than can be counted, and still fits in memory
_INTEGER = re.compile(r"\s*[+-]?[0-9]{1,20}\s*", re.ASCII)


def read_candidates(
    path: str | Path, columns: Sequence[str] | None = (), *, what: str = "candidates"
) -> tuple[Any, ...]:
    """Read the candidates that a file lists, in its order; ``what`` is the noun for errors, such as "groups".

    A .json file contains one list. A .parquet or .csv file has one column; a .csv file has a header. Any other file is
    UTF-8 text with one item per line: only the line ends are removed, and blank lines are skipped. With ``columns`` a
    .parquet or .csv file must have exactly these, and an item is a row's entries joined. None accepts any columns, for
    callers that only count the items.

    Raises:
        TableError: The file cannot be read, or the list is empty, repeats an item, or has integers beyond 64 bits.
    """
    file = Path(path)
    kind = file.suffix.lower()
    if kind in (".parquet", ".csv"):
        items = _read_table_items(file, columns, what)
    elif columns:
        raise TableError(
            f"the list of candidates must be a .csv or .parquet file with the columns {', '.join(columns)}"
        )
    else:
        text = _read_list_text(file, what)
        lines = (line.removesuffix("\r") for line in text.split("\n"))
        items = _parse_json_list(file, text) if kind == ".json" else [line for line in lines if line.strip()]
    return _require_identifiers(items, f"the {what} in {quote_path(str(file))}")


def items_as_integers(items: tuple[Any, ...], column: str, what: str = "candidates") -> tuple[int, ...]:
    """Return the candidates as integers, for a table whose items are integers; ``what`` is the noun for errors.

    Raises:
        TableError: One is not an integer, or two are the same integer.
    """
    return _require_identifiers(_parse_integers(items, column, what), f"the {what}")


def match_column_types(items: tuple[Any, ...], columns: Sequence[str], frame: Any) -> tuple[str, ...]:
    """Convert candidates with several columns to the column types of a polars frame: in integer columns, 07 is 7.

    Raises:
        ParameterError: A candidate has not one part for each column.
        TableError: An entry for an integer column is not an integer, or two candidates are the same item.
    """
    parts = [split_item_parts(item) if isinstance(item, str) else [] for item in items]
    if any(len(own) != len(columns) for own in parts):
        raise ParameterError("candidates must be strings with one part for each column of the item, such as 'EU,tea'")
    schema, entries = frame.lazy().collect_schema(), zip(*parts, strict=True)
    found = (
        map(str, _parse_integers(own, name)) if schema[name].is_integer() else own
        for name, own in zip(columns, entries, strict=True)
    )
    return _require_identifiers(map(join_item_parts, zip(*found, strict=True)), "the candidates")


def _require_identifiers(items: Iterable[Any], name: str) -> tuple[Any, ...]:
    """Return the items of a list in a file. If no release can take them as candidates, the file is at fault."""
    try:
        return integers_or_strings(items, name)
    except ParameterError as error:
        reason = str(error)
    raise TableError(reason)


def _parse_integers(items: Sequence[Any], column: str, what: str = "candidates") -> list[int]:
    numbers = []
    for number, item in enumerate(items, start=1):
        if not isinstance(item, str):
            numbers.append(item)
        elif _INTEGER.fullmatch(item):
            numbers.append(int(item))
        else:
            raise TableError(f"the {what} must be integers, as in column {column!r}: {what[:-1]} {number} is not")
    return numbers


def _read_list_text(file: Path, what: str) -> str:
    content = read_regular_file(file, f"the list of {what}", TableError, at_most=_MOST_OF_A_LIST)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        pass
    raise TableError(f"the list of {what} must be UTF-8 text, but {quote_path(str(file))} is not: save it as such")


def _parse_json_list(file: Path, text: str) -> list[Any]:
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        listed = None
    if not isinstance(listed, list) or not all(type(item) in (str, int) for item in listed):
        raise TableError(f"{quote_path(str(file))} must contain one JSON list of strings or of integers")
    return listed


def _read_table_items(file: Path, columns: Sequence[str] | None, what: str) -> list[Any]:
    from ...tables.files import read_table
    from ...tables.guard import run_guarded

    frame = read_table(file)
    table = run_guarded(frame.collect)
    if columns is None:
        columns = table.columns if table.width > 1 else ()
    if columns:
        if sorted(table.columns) != sorted(columns):
            raise TableError(
                named(f"the list of candidates must have exactly the columns {', '.join(columns)} of --item")
            )
        return list(add_joined_column(table, columns)[join_item_parts(columns)].drop_nulls())
    if table.width != 1:
        raise TableError(f"the list of {what} must have one column, but {quote_path(str(file))} has {table.width}")
    return table.to_series().drop_nulls().to_list()


# ``--files``: list the files of a table, for those who may see the table. A record contains only the list's digest.
#
# The number of files, their names and above all their sizes are exact functions of the rows: an attacker who knows all
# rows but one person's could infer from them whether that person is in the table. So they are not part of the record,
# which is public. The list begins with 244 random bits, so its SHA-256 reveals nothing to those without the list. To
# those with the list, the digest proves which files were counted, by their names below the path and their sizes. It
# does not cover their contents.


@contextlib.contextmanager
def write_file_list(path: str | None, files: FileList | None) -> Iterator[str | None]:
    """Write the list to a new file that only its owner may read, and yield its digest, or None without a ``path``.

    If the block fails, the file is removed.

    Raises:
        ParameterError: The table is standard input, which has no files.
        TableError: The file exists, or cannot be written.
    """
    if path is None:
        yield None
        return
    if files is None:
        raise option_error("--files lists files, but the table is read from standard input: omit it")
    if not isinstance(path, str | Path):
        raise option_error("--files must be the name of a file")
    content, place, reason = files.to_json_lines(uuid.uuid4().hex + uuid.uuid4().hex), Path(path), ""
    try:
        write_new_file(place, content)
    except FileExistsError:
        reason = "it exists already: choose another name"
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a valid file name"
    if reason:
        raise TableError(named(f"--files {quote_path(str(path))} cannot be written: {reason}"))
    try:
        yield f"sha256:{hashlib.sha256(content).hexdigest()}"
    except BaseException:
        with contextlib.suppress(OSError):
            place.unlink()
        raise
