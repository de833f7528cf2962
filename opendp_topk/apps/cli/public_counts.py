"""Public or made-up counts, on which a plan says how likely the exact top-k would be."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import ParameterError, TableError
from ...errors.files import quoted

if TYPE_CHECKING:
    import polars as pl

Counts = NDArray[np.int64]
COLUMN = "count"
_MOST_CANDIDATES = 10**7


def read_proxy(path: str | Path, n_candidates: int) -> Counts:
    """The column ``count`` of a .parquet or .csv file, one row a candidate; candidates without a row count 0.

    Raises:
        TableError: The file cannot be read, has no such column, has more rows than there are candidates, or holds
            something else than integers >= 0.
        ParameterError: There are too many candidates to count them one by one.
    """
    from ...tables.files import read_table
    from ...tables.guard import guarded

    if n_candidates > _MOST_CANDIDATES:
        raise ParameterError(f"--proxy works for at most {_MOST_CANDIDATES} candidates: leave it out")
    named = f"the proxy {quoted(str(path))}"
    if Path(path).suffix.lower() not in (".parquet", ".csv"):
        raise TableError(f"{named} must be a file whose name ends in .parquet or .csv")
    frame = read_table(path)
    if COLUMN not in guarded(frame.collect_schema).names():
        raise TableError(f"{named} must have a column named {COLUMN!r}")
    counts = _integers(guarded(frame.select(COLUMN).collect).to_series())
    if counts is None or (counts < 0).any():
        raise TableError(f"the column {COLUMN!r} of {named} must hold an integer >= 0 in every row")
    if len(counts) > n_candidates:
        raise TableError(f"{named} must have at most one row a candidate, which are {n_candidates}")
    return np.concatenate([counts, np.zeros(n_candidates - len(counts), dtype=np.int64)])


def _integers(column: pl.Series) -> Counts | None:
    """The values as int64, or None where one is no integer or too large."""
    import polars as pl

    if column.dtype == pl.String:
        column = column.str.strip_chars()
    elif not column.dtype.is_integer():
        return None
    numbers = column.cast(pl.Int64, strict=False)
    return None if numbers.null_count() else np.asarray(numbers.to_numpy(), dtype=np.int64)
