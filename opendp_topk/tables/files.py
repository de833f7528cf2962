"""Tables from files, read lazily by polars."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import MissingExtraError, ParameterTypeError, TableError
from .frames import guarded

if TYPE_CHECKING:
    import polars as pl

_SUFFIXES = (".parquet", ".csv")


def read_table(path: str | os.PathLike[str]) -> pl.LazyFrame:
    """A table from a .parquet or .csv file, to be read when it is used.

    A parquet file has its own types. Every column of a .csv file is read as strings, whatever its rows look
    like, so that ``007`` and ``7`` stay two users and no late row can change a type: give the candidates as
    strings too. Its first line names the columns, commas separate fields, an empty field is null, the
    encoding is UTF-8.

    Args:
        path: A file whose name ends in .parquet or .csv, in any case.

    Returns:
        A polars LazyFrame. Rows are read only when the frame is used, so the file must stay where it is, and a
        file that is damaged further down raises TableError only then.

    Raises:
        TableError: The file is missing, empty, unreadable or damaged, or its name has another ending.
        ParameterTypeError: ``path`` is not a path.
        MissingExtraError: polars is not installed.

    Example:
        >>> import tempfile, pathlib
        >>> import opendp_topk as tk
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "loans.csv")
        ...     _ = path.write_text("reader,book\\n1,Emma\\n2,Emma\\n2,Walden\\n")
        ...     space = tk.FrameDomain(user="reader", item="book"), tk.UserDistance()
        ...     count = space >> tk.then_count_by_item(candidates=["Emma", "Ulysses", "Walden"])
        ...     count(tk.read_table(path))
        array([2, 0, 1])
    """
    file = _file(path)
    try:
        import polars as pl
    except ImportError:
        pl = None  # type: ignore[assignment]
    if pl is None:
        raise MissingExtraError('read_table needs polars: pip install "opendp_topk[tables]"')

    def scan() -> pl.LazyFrame:
        if file.suffix.lower() == ".parquet":
            table = pl.scan_parquet(file, glob=False, hive_partitioning=False)
        else:
            table = pl.scan_csv(file, glob=False, infer_schema=False)
        table.collect_schema()
        return table

    return guarded(scan)


def _file(path: Any) -> Path:
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise ParameterTypeError(f"path must be a string or a pathlib.Path, not {type(path).__name__}")
    file = Path(path)
    if file.suffix.lower() not in _SUFFIXES:
        raise TableError("path must name a file that ends in .parquet or .csv")
    try:
        with file.open("rb") as stream:
            reason = "" if stream.read(1) else "is empty"
    except FileNotFoundError:
        reason = "does not exist"
    except IsADirectoryError:
        reason = "is a folder"
    except PermissionError:
        reason = "may not be read by this account"
    except (OSError, ValueError):
        reason = "cannot be opened"
    if reason:
        raise TableError(f"path must name a readable file, but {os.fspath(path)!r} {reason}")
    return file
