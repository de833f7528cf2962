"""Tables from files and folders, read lazily by polars."""

from __future__ import annotations

import glob
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import MissingExtraError, ParameterTypeError, TableError
from .guard import guarded

if TYPE_CHECKING:
    import polars as pl

_SUFFIXES = (".parquet", ".csv", ".csv.gz", ".csv.zst")
_PARQUET = ".parquet"
_STDIN = "-"


def read_table(path: str | os.PathLike[str]) -> pl.LazyFrame:
    """A table from .parquet files or a .csv file, or as CSV from standard input, to be read when it is used.

    A parquet file has its own types. Every column of a .csv file is read as strings, whatever its rows look
    like, so that ``007`` and ``7`` stay two users and no late row can change a type: give the candidates as
    strings too. Its first line names the columns, commas separate fields, an empty field is null, the
    encoding is UTF-8.

    Args:
        path: A file whose name ends in .parquet, .csv, .csv.gz or .csv.zst, in any case; ``-`` is standard input. Or a
            folder, whose .parquet files are read, those in folders below too, but for names that begin with ``_`` or
            ``.``; a column that is in names of folders alone is not read. Or, where nothing has this very name, a
            pattern of .parquet files: ``*``, ``?``, ``[...]``, and ``**`` for folders of any depth.

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
    source = _stdin() if isinstance(path, str) and path == _STDIN else _files(path)
    try:
        import polars as pl
    except ImportError:
        pl = None  # type: ignore[assignment]
    if pl is None:
        raise MissingExtraError('read_table needs polars: pip install "opendp_topk[tables]"')

    def scan() -> pl.LazyFrame:
        if isinstance(source, list):
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


def parquet_files(path: Any) -> list[Path] | None:
    """The .parquet files that ``path`` stands for: one, or those of a folder or pattern; None for another file.

    Raises:
        TableError: It is a folder or a pattern, and there are none.
    """
    named = Path(_text(path))
    if named.is_dir():
        found = [file for file in named.rglob("*") if not _hidden(file.relative_to(named))]
    elif _is_pattern(named):
        found = [Path(one) for one in glob.glob(str(named), recursive=True)]
    else:
        return [_file(named)] if named.name.lower().endswith(_PARQUET) else None
    files = sorted(_file(file) for file in found if file.name.lower().endswith(_PARQUET) and file.is_file())
    if not files:
        raise TableError(f"path must name .parquet files, and there are none in {os.fspath(path)!r}")
    return files


def _files(path: Any) -> list[Path] | Path:
    """Parquet files, or one of another kind."""
    files = parquet_files(path)
    return _file(Path(path)) if files is None else files


def _is_pattern(path: Path) -> bool:
    try:
        return glob.has_magic(str(path)) and not path.exists()
    except ValueError:
        return False


def _hidden(path: Path) -> bool:
    return any(part.startswith(("_", ".")) for part in path.parts)


def _text(path: Any) -> str:
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise ParameterTypeError(f"path must be a string or a pathlib.Path, not {type(path).__name__}")
    return os.fspath(path)


def _file(file: Path) -> Path:
    """The file, if it can be read."""
    if not any(file.name.lower()[1:].endswith(suffix) for suffix in _SUFFIXES):
        raise TableError(
            "path must name a file that ends in .parquet or .csv (or .csv.gz or .csv.zst), or a folder of .parquet"
        )
    try:
        with file.open("rb") as stream:
            reason = "" if stream.read(1) else "is empty"
    except FileNotFoundError:
        reason = "does not exist"
    except PermissionError:
        reason = "may not be read by this account"
    except (OSError, ValueError):
        reason = "cannot be opened"
    if reason:
        raise TableError(f"path must name a readable file, but {os.fspath(file)!r} {reason}")
    return file
