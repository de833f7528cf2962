"""Tables from files, read lazily by polars."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import MissingExtraError, ParameterTypeError, TableError
from .frames import guarded

if TYPE_CHECKING:
    import polars as pl

_SUFFIXES = (".parquet", ".csv", ".csv.gz", ".csv.zst")
_STDIN = "-"


def read_table(path: str | os.PathLike[str]) -> pl.LazyFrame:
    """A table from a .parquet or .csv file, or as CSV from standard input, to be read when it is used.

    A parquet file has its own types. Every column of a .csv file is read as strings, whatever its rows look
    like, so that ``007`` and ``7`` stay two users and no late row can change a type: give the candidates as
    strings too. Its first line names the columns, commas separate fields, an empty field is null, the
    encoding is UTF-8.

    Args:
        path: A file whose name ends in .parquet, .csv, .csv.gz or .csv.zst, in any case; ``-`` is standard input.

    Returns:
        A polars LazyFrame. Rows are read only when the frame is used, so the file must stay where it is, and a
        file that is damaged further down raises TableError only then.

    Raises:
        TableError: The file is missing, empty, unreadable or damaged, its name has another ending, or two columns of
            a .csv file have one name.
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
    source = _stdin() if isinstance(path, str) and path == _STDIN else _file(path)
    try:
        import polars as pl
    except ImportError:
        pl = None  # type: ignore[assignment]
    if pl is None:
        raise MissingExtraError('read_table needs polars: pip install "opendp_topk[tables]"')

    def scan() -> pl.LazyFrame:
        if isinstance(source, Path) and source.suffix.lower() == ".parquet":
            table = pl.scan_parquet(source, glob=False, hive_partitioning=False)
        else:
            header = pl.scan_csv(source, glob=False, infer_schema=False, has_header=False, n_rows=1)
            names.extend(header.collect().row(0))
            table = pl.scan_csv(source, glob=False, infer_schema=False)
        table.collect_schema()
        return table

    names: list[str | None] = []
    found = guarded(scan)
    if len(set(names)) < len(names):
        raise TableError("path must name a table whose columns have different names, and two have one name")
    return found


def _stdin() -> bytes:
    """All of standard input."""
    content: bytes = b"" if sys.stdin is None else sys.stdin.buffer.read()
    if not content:
        raise TableError("path is standard input, which is empty")
    return content


def _file(path: Any) -> Path:
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise ParameterTypeError(f"path must be a string or a pathlib.Path, not {type(path).__name__}")
    file = Path(path)
    if not any(file.name.lower()[1:].endswith(suffix) for suffix in _SUFFIXES):
        raise TableError("path must name a file that ends in .parquet or .csv (or .csv.gz or .csv.zst)")
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
