"""Files that the command reads: remarks about lists of candidates, counts of ``--like``, and plans."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...core.candidates import candidate_remarks
from ...errors import ParameterError, TableError
from ...errors.files import quote_path
from ..planning.public_shape import zipf_counts
from ..planning.several import ReleaseSchedule
from ..planning.units import split_item_parts
from . import show
from .options import read_mapping

if TYPE_CHECKING:
    import polars as pl


# Public or made-up counts, on which a plan computes the probability of the exact top-k.

Counts = NDArray[np.int64]
COLUMN = "count"
_MOST_CANDIDATES = 10**7


def read_public_counts(path: str | Path, n_candidates: int) -> Counts:
    """Return the counts of ``zipf:S:N``, or the column ``count`` of a .parquet or .csv file.

    The file has one row per candidate; missing rows count as 0.

    Raises:
        TableError: The file cannot be read, lacks the column, has more rows than there are candidates, or has values
            that are not integers >= 0.
        ParameterError: There are more than 10^7 candidates, or ``S`` or ``N`` is out of range.
    """
    from ...tables.files import read_table
    from ...tables.guard import run_guarded

    if n_candidates > _MOST_CANDIDATES:
        raise ParameterError(f"--like supports at most {_MOST_CANDIDATES} candidates: omit it")
    if (shape := zipf_counts(str(path), n_candidates)) is not None:
        return shape
    named = f"the file of --like {quote_path(str(path))}"
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


def print_list_remarks(items: tuple[Any, ...], *columns: str, what: str = "candidates") -> None:
    """Print remarks about unusual ``items``, which are public, on standard error."""
    if len(columns) > 1:
        rows = [split_item_parts(item) for item in items]
        for name, entries in zip(columns, zip(*rows, strict=True), strict=True):
            for remark in candidate_remarks(tuple(dict.fromkeys(entries)), column=name):
                show.print_note(f"The list of candidates, {name}: {remark}.")
        return
    for remark in candidate_remarks(items, column=columns[0]):
        show.print_note(f"The list of {what}: {remark}.")


def read_schedule(path: str) -> ReleaseSchedule:
    """Read a plan of several releases from a file.

    Raises:
        TableError: The file cannot be read, or is not JSON.
        ParameterError: The JSON is not a plan.
    """
    found = read_mapping(path, "--plan", json.loads)
    if found is None:
        raise TableError(f"the plan {quote_path(path)} cannot be read: it is not JSON")
    return ReleaseSchedule.from_dict(found)
