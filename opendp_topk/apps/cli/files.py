"""Files that the command reads and writes: candidates, public counts, plans and the list of input files."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from ...core.candidates import candidate_remarks
from ...errors import ParameterError, TableError
from ...errors.files import quote_path, read_regular_file
from ...transformations.count_by_item import integers_or_strings
from ..ledger import Ledger
from ..ledger.files import write_new_file
from ..planning.plan import Plan
from ..planning.quantile import NumericColumns
from ..planning.units import UserUnit, add_joined_column, join_item_parts, split_item_parts
from . import show
from .asking import Options

if TYPE_CHECKING:
    import polars as pl

    from ...tables.listing import FileList
    from ..planning.several import ReleaseSchedule


# ``--files``: list the files of a table, for those who may see the table. A record contains only the list's digest.
#
# The number of files, their names and above all their sizes are exact functions of the rows: an attacker who knows all
# rows but one person's could infer from them whether that person is in the table. So they are not part of the record,
# which is public. The list begins with 244 random bits, so its SHA-256 reveals nothing to those without the list. To
# those with the list, the digest proves which files were counted, by their names below the path and their sizes. It
# does not cover their contents.

FilesOption = Annotated[
    str | None,
    typer.Option(
        "--files",
        metavar="FILE",
        help="Write a list of the files that are read, with their sizes, to this new file. It is as private as the "
        "table; the record contains its SHA-256.",
        show_default=False,
    ),
]


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
        raise ParameterError("--files lists files, but the table is read from standard input: omit it")
    content, place, reason = files.to_json_lines(uuid.uuid4().hex + uuid.uuid4().hex), Path(path), ""
    try:
        write_new_file(place, content)
    except FileExistsError:
        reason = "it exists already: choose another name"
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a valid file name"
    if reason:
        raise TableError(f"--files {quote_path(path)} cannot be written: {reason}")
    try:
        yield f"sha256:{hashlib.sha256(content).hexdigest()}"
    except BaseException:
        with contextlib.suppress(OSError):
            place.unlink()
        raise


# Public or made-up counts, on which a plan computes the probability of the exact top-k.

Counts = NDArray[np.int64]
COLUMN = "count"
_MOST_CANDIDATES = 10**7


def read_proxy_counts(path: str | Path, n_candidates: int) -> Counts:
    """Return the column ``count`` of a .parquet or .csv file with one row per candidate; missing rows count as 0.

    Raises:
        TableError: The file cannot be read, lacks the column, has more rows than there are candidates, or has values
            that are not integers >= 0.
        ParameterError: There are more than 10^7 candidates.
    """
    from ...tables.files import read_table
    from ...tables.guard import run_guarded

    if n_candidates > _MOST_CANDIDATES:
        raise ParameterError(f"--proxy supports at most {_MOST_CANDIDATES} candidates: omit it")
    named = f"the proxy {quote_path(str(path))}"
    if Path(path).suffix.lower() not in (".parquet", ".csv"):
        raise TableError(f"{named} must be a file whose name ends in .parquet or .csv")
    frame = read_table(path)
    if COLUMN not in run_guarded(frame.collect_schema).names():
        raise TableError(f"{named} must have a column named {COLUMN!r}")
    counts = _integers_of_column(run_guarded(frame.select(COLUMN).collect).to_series())
    if counts is None or (counts < 0).any():
        raise TableError(f"the column {COLUMN!r} of {named} must contain an integer >= 0 in every row")
    if len(counts) > n_candidates:
        raise TableError(f"{named} must have at most one row per candidate, that is at most {n_candidates}")
    return np.concatenate([counts, np.zeros(n_candidates - len(counts), dtype=np.int64)])


def _integers_of_column(column: pl.Series) -> Counts | None:
    """Return the values as int64, or None if one is not an integer or is too large."""
    import polars as pl

    if column.dtype == pl.String:
        column = column.str.strip_chars()
    elif not column.dtype.is_integer():
        return None
    numbers = column.cast(pl.Int64, strict=False)
    return None if numbers.null_count() else np.asarray(numbers.to_numpy(), dtype=np.int64)


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
        return _require_identifiers(_read_table_items(file, columns, what), _list_description(file, what))
    if columns:
        raise TableError(
            f"the list of candidates must be a .csv or .parquet file with the columns {', '.join(columns)}"
        )
    text = _read_list_text(file, what)
    return _require_identifiers(
        _parse_json_list(file, text) if kind == ".json" else _nonblank_lines(text), _list_description(file, what)
    )


def print_list_remarks(items: tuple[Any, ...], *columns: str, what: str = "candidates") -> tuple[Any, ...]:
    """Print remarks about unusual ``items``, which are public, on standard error, and return the items."""
    if len(columns) > 1:
        rows = [split_item_parts(item) for item in items]
        for name, entries in zip(columns, zip(*rows, strict=True), strict=True):
            for remark in candidate_remarks(tuple(dict.fromkeys(entries)), column=name):
                show.print_note(f"The list of candidates, {name}: {remark}.")
        return items
    for remark in candidate_remarks(items, column=columns[0]):
        show.print_note(f"The list of {what}: {remark}.")
    return items


def items_as_integers(items: tuple[Any, ...], column: str, what: str = "candidates") -> tuple[int, ...]:
    """Return the candidates as integers, for a table whose items are integers; ``what`` is the noun for errors.

    Raises:
        TableError: One is not an integer, or two are the same integer.
    """
    return _require_identifiers(_parse_integers(items, column, what), f"the {what}")


def match_column_types(items: tuple[Any, ...], columns: Sequence[str], frame: Any) -> tuple[str, ...]:
    """Convert candidates with several columns to the column types of a polars frame: in integer columns, 07 is 7.

    Raises:
        TableError: An entry for an integer column is not an integer, or two candidates are the same item.
    """
    schema, entries = frame.lazy().collect_schema(), zip(*map(split_item_parts, items), strict=True)
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


def _list_description(file: Path, what: str) -> str:
    return f"the {what} in {quote_path(str(file))}"


def _read_list_text(file: Path, what: str) -> str:
    content = read_regular_file(file, f"the list of {what}", TableError, at_most=_MOST_OF_A_LIST)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        pass
    raise TableError(f"the list of {what} must be a readable file, but {quote_path(str(file))} is not UTF-8 text")


def _nonblank_lines(text: str) -> list[str]:
    lines = (line.removesuffix("\r") for line in text.split("\n"))
    return [line for line in lines if line.strip()]


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
            raise TableError(f"the list of candidates must have exactly the columns {', '.join(columns)} of --item")
        return list(add_joined_column(table, columns)[join_item_parts(columns)].drop_nulls())
    if table.width != 1:
        raise TableError(f"the list of {what} must have one column, but {quote_path(str(file))} has {table.width}")
    return table.to_series().drop_nulls().to_list()


# Plan files for several releases: paying for all of them, and the plan of one of them.

_MOST_OF_A_PLAN = 2**20  # most bytes of a plan; a typical one has a few hundred


def read_plan(path: str) -> ReleaseSchedule:
    """Read a plan of several releases from a file.

    Raises:
        TableError: The file cannot be read, or is not JSON.
        ParameterError: The JSON is not a plan.
    """
    from ..planning.several import ReleaseSchedule

    content = read_regular_file(path, "the file of --plan", TableError, at_most=_MOST_OF_A_PLAN)
    try:
        found = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise TableError(f"the plan {quote_path(path)} cannot be read: it is not JSON")
    return ReleaseSchedule.from_dict(found)


def reserve_plan_releases(ledger: str, path: str, label: str) -> tuple[int, int]:
    """Pay from a ledger for all releases of a plan file. Return the number of the entry and the number of releases."""
    kept = read_plan(path)
    with Ledger(ledger) as account:
        column = kept.unit.columns.user if account.user is None else account.user
        one = kept.single_release_plan(
            UserUnit(kept.unit.neighbors, kept.unit.d_in, replace(kept.unit.columns, user=column))
        )
        made = account.reserve_all(
            [(one.measurement, name) for name in kept.release_labels],
            d_in=kept.unit.d_in,
            delta=kept.delta,
            label=label,
        )
        return made.number, kept.releases


def read_single_release_plan(path: str, n_candidates: int | None, options: Options) -> Plan[Any, UserUnit]:
    """Return the plan of a single release of a plan file, with the columns of ``options``.

    Raises:
        ParameterError: The plan is for a list of another length, a list is missing, ``options`` have another
            contribution bound than the plan, or the plan is for quantiles and options for items are given.
    """
    kept = read_plan(path)
    if isinstance(kept.unit.columns, NumericColumns):
        if n_candidates is not None or options.item:
            raise ParameterError("the plan is for a quantile: omit --candidates and --item")
        options.require_no_items()
        numbers = replace(kept.unit.columns, user=options.user)
        return kept.single_release_plan(UserUnit(kept.unit.neighbors, kept.unit.d_in, numbers), options.exact_alpha)
    if n_candidates is None:
        raise ParameterError("the plan is for a list of candidates: give --candidates")
    if kept.task.n_candidates != n_candidates:
        raise ParameterError(f"the plan is for {kept.task.n_candidates} candidates: give the list of the plan")
    own = kept.unit.columns
    other = options.max_items not in (None, own.max_items)
    if other or options.keep not in (None, None if own.max_items is None else own.keep):
        items = "all items" if own.max_items is None else f"at most {own.max_items} items ({own.keep})"
        raise ParameterError(f"the plan counts {items} of a user: omit --max-items and --keep, or make a new plan")
    given = options.counted_columns
    found = replace(own, user=given.user, item=given.item, parts=given.parts)
    return kept.single_release_plan(UserUnit(kept.unit.neighbors, kept.unit.d_in, found), options.exact_alpha)
