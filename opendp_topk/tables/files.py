"""Tables from files and folders, read lazily by polars."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import ColumnError, TableError
from ..errors.extras import load, require_threads
from ..errors.ordinary import path_text, quoted
from . import csvs
from .column_types import ISO, POINT, ColumnTypes
from .csvs import Dialect
from .guard import guarded
from .hadoop import is_address
from .listing import PARQUET, FileList, listed, several
from .rows import unmarked

if TYPE_CHECKING:
    import polars as pl
    from polars import LazyFrame
else:
    LazyFrame = Any  # for those who ask for type hints where polars is not installed

T = TypeVar("T")

STDIN = "-"
_CSV = (".csv", ".csv.gz", ".csv.zst")
_SHOWN = 20  # columns that an error names


@dataclass(frozen=True)
class Opened:
    """A table that polars can read: its frame, its columns, its files (None for standard input), its dialect if CSV."""

    frame: pl.LazyFrame
    columns: tuple[str, ...]
    files: FileList | None
    dialect: Dialect | None


# proof-region: read_table
def read_table(
    path: str | os.PathLike[str],
    *,
    separator: str = ",",
    encoding: str = "utf-8",
    types: Mapping[str, str] | None = None,
    decimal: str = POINT,
    date_format: str = ISO,
) -> LazyFrame:
    """A table from .parquet files or a .csv file, or as CSV from standard input, to be read when it is used.

    A parquet file has its own types. A column of a .csv file is read as strings, whatever its rows look like, unless
    its type is declared: so ``007`` and ``7`` stay two users and no late row can change a type. Give the candidates as
    strings too. Its first line names the columns, and an empty field is null, in quotes or not. A .csv file is read
    twice: at once, to see that every line has as many fields as the first and is well formed, and when the frame is
    used; and once more where types are declared, to see that all entries have them.

    Args:
        path: A file whose name ends in .parquet, .csv, .csv.gz or .csv.zst, in any case; ``-`` is standard input. Or a
            folder, whose .parquet files are read, those in folders below too, but for names that begin with ``.``, or
            with ``_`` (folders ``_name=value`` are read). Or, where nothing has this very name, a pattern of such files
            and folders: ``*``, ``?``, ``[...]``, and ``**`` for folders of any depth. Links are followed. All files
            have columns of the same names and types; a column that is in names of folders alone is not read.
        separator: Of a .csv file, one ASCII character.
        encoding: Of a .csv file, by its name in Python. With another than UTF-8 the whole text is held in memory.
        types: Of a .csv file: columns that hold no text, each with "integer" (of 64 bits), "decimal" or "date". They
            are public. A table with an entry that is none is refused, whoever's row it is, or with "integer_or_null"
            and so on the entry is null. Blanks around an entry do not count, and an empty one is null.
        decimal: "." or ",", which stands before the fraction of a decimal. Thousands are not separated.
        date_format: How dates are written, such as dd.mm.yyyy.

    Returns:
        A polars LazyFrame. Rows are read only when the frame is used, so the files must stay as they are, and a
        file that is damaged further down raises TableError only then.

    Raises:
        TableError: A file is missing, empty, unreadable, damaged, no ordinary file, or listed twice; its name has
            another ending; files differ in their columns; a line of a .csv file is malformed, two columns have one
            name, or an entry is not of the type that was declared for its column.
        ColumnError: There is no column of a name for which a type is declared.
        ParameterTypeError: ``path`` is not a path, ``separator`` or ``encoding`` is not a string, or ``types`` is no
            mapping.
        ParameterError: ``separator``, ``encoding``, ``decimal``, ``date_format`` or a type is none.
        MissingExtraError: polars is not installed, or pyarrow, without which no .csv.zst file is unpacked.

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
    declared = ColumnTypes({} if types is None else types, decimal, date_format)
    return opened(path, Dialect(separator, encoding, declared)).frame  # [as-opened]


def opened(path: Any, dialect: Dialect) -> Opened:
    """The table at ``path``; otherwise as :func:`read_table`."""
    _require_polars()
    import polars as pl

    if isinstance(path, str) and path == STDIN:
        content = _stdin()
        names, text = csvs.header(content, dialect)  # [whole-input]
        return Opened(_scanned(content if text is None else text, dialect), tuple(names), None, dialect)
    parquet = parquet_files(path)
    if parquet is not None:
        columns = same_columns(parquet)
        places = parquet.places
        scan = guarded(lambda: pl.scan_parquet(places, glob=False, hive_partitioning=False))  # [parquet-rows]
        return Opened(guarded(lambda: unmarked_scan(scan)), columns, parquet, None)
    files = listed(path)
    place = files.places[0]
    names, text = csvs.header(place, dialect)  # [whole-text]
    files.require_unchanged()
    return Opened(_scanned(place if text is None else text, dialect), tuple(names), files, dialect)


def unmarked_scan(scan: pl.LazyFrame) -> pl.LazyFrame:
    """The same table, of which conditions look at each row: no statistics and no mark of a file decide about others."""
    return scan.map_batches(
        unmarked, predicate_pushdown=False, projection_pushdown=True, slice_pushdown=True, streamable=True
    )  # [rows-looked-at]


def _scanned(source: str | bytes, dialect: Dialect) -> LazyFrame:
    import polars as pl

    options: Any = {"glob": False, "infer_schema": False, "null_values": [""]}  # an empty field is null, also in quotes
    scan = guarded(lambda: pl.scan_csv(source, separator=dialect.separator, **options))  # [csv-rows]
    require_columns(guarded(scan.collect_schema).names(), list(dialect.columns.types), dialect)
    return dialect.columns.read(scan)  # [declared-entries]


# end-proof-region: read_table


def parquet_files(path: Any) -> FileList | None:
    """The .parquet files that ``path`` stands for: one, or those of a folder or pattern; None for a .csv file.

    Raises:
        TableError: There are none, one cannot be read, or ``path`` is another file.
        ParameterTypeError: ``path`` is no path.
    """
    text = path_text(path, "path")
    name = os.path.basename(text).lower()
    if is_address(text):
        raise TableError(
            f"path must be a file or a folder of this machine, and {quoted(text)} is an address: give those "
            "that Hadoop knows to a session of Spark (--engine spark)"
        )
    if not several(text):
        if any(name[1:].endswith(ending) for ending in _CSV):
            return None
        if not name[1:].endswith(PARQUET):
            raise TableError(
                "path must name a file that ends in .parquet or .csv (or .csv.gz or .csv.zst), or a folder of .parquet"
            )
    return listed(text)


def same_columns(files: FileList) -> tuple[str, ...]:
    """The names of the columns that all of these .parquet files have, with the same types.

    Raises:
        TableError: A file is damaged, or two files differ in a column.
        MissingExtraError: polars is not installed.
    """
    _require_polars()
    import polars as pl

    def schema(place: str) -> dict[str, Any]:
        with open(place, "rb") as stream:  # a name with a pattern's characters is a file here
            return dict(pl.read_parquet_schema(stream))

    first = _of_file(files.places[0], schema)
    for place in files.places[1:]:
        other = _of_file(place, schema)
        apart = [name for name in (*first, *other) if first.get(name) != other.get(name)]
        if apart:
            raise TableError(
                f"path must name files with the same columns and types, but {quoted(files.places[0])} and "
                f"{quoted(place)} differ in {_named(dict.fromkeys(apart))}"
            )
    return tuple(first)


def require_readable(files: FileList, columns: Sequence[str]) -> None:
    """Raise TableError unless these columns of each .parquet file can be read, which names the file."""
    import polars as pl

    def read(place: str) -> None:
        scan = pl.scan_parquet([place], glob=False, hive_partitioning=False)
        for _ in scan.select(columns).collect_batches():
            pass

    for place in files.places:
        _of_file(place, read)


def _of_file(place: str, step: Callable[[str], T]) -> T:
    """What ``step`` finds in a file; an error names the file."""
    with contextlib.suppress(TableError):
        return guarded(lambda: step(place))
    raise TableError(f"the file {quoted(place)} could not be read: it is damaged, not complete, or no .parquet file")


def require_columns(
    columns: Sequence[str], wanted: Sequence[str], dialect: Dialect | None, files: FileList | None = None
) -> None:
    """Raise ColumnError unless the table has the ``wanted`` columns; ``dialect`` is that of a .csv file.

    Those of a .parquet file are named. The first line of a .csv file may be one of data, so it is not repeated.
    """
    for name in wanted:
        if name in columns:
            continue
        said = f"the table must have the column {quoted(name)}"
        if dialect is None:
            folders = {part for place in (files.places if files else ()) for part in place.split("/")[:-1]}
            above = any(part.startswith(f"{name}=") for part in folders)
            more = ": what stands in names of folders alone is not read, so write it into the files" if above else ""
            raise ColumnError(f"{said}, and has {_named(columns)}{more}")
        near = " One has this name but for blanks or capital letters." if _near(name, columns) else ""
        raise ColumnError(
            f"{said}: read with {dialect.words}, its first line must name the columns, and has {len(columns)}.{near} "
            "If the file has another separator or encoding, say so (--separator, --encoding)"
        )


def _near(name: str, columns: Sequence[str]) -> bool:
    return name.strip().casefold() in (one.strip().casefold() for one in columns)


def _named(columns: Sequence[str] | dict[str, Any]) -> str:
    names = list(columns)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"the column{'s' if len(names) > 1 else ''} {', '.join(map(quoted, names[:_SHOWN]))}{more}"


def _require_polars() -> None:
    load("polars", "read_table needs polars", "opendp_topk[tables]")
    require_threads()


def _stdin() -> bytes:
    """All of standard input."""
    if sys.stdin is None or _is_endless(sys.stdin.buffer):
        raise TableError("path is standard input, which must be a pipe, a file or a terminal")
    content: bytes = sys.stdin.buffer.read()
    if not content:
        raise TableError("path is standard input, which is empty")
    return content


def _is_endless(stream: Any) -> bool:
    """Whether it is a device that has no end, such as one of zeros."""
    try:
        kind, terminal = os.fstat(stream.fileno()).st_mode, stream.isatty()
    except (OSError, ValueError):  # no file of the system
        return False
    return stat.S_ISBLK(kind) or (stat.S_ISCHR(kind) and not terminal and not os.path.samestat(*_nulls(stream)))


def _nulls(stream: Any) -> tuple[os.stat_result, os.stat_result]:
    return os.fstat(stream.fileno()), os.stat(os.devnull)
