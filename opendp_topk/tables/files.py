"""Tables in files: how each format is read, and the types of columns."""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import io
import itertools
import os
import re
import stat
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from ..errors import DataError, MissingExtraError, ParameterError, ParameterTypeError, TableError
from ..errors.extras import import_extra, require_threads
from ..errors.files import open_regular_file, path_text, quote_path
from .guard import run_guarded
from .listing import PARQUET, FileList, is_address, is_folder_or_pattern, list_files
from .rows import without_sorted_flags

if TYPE_CHECKING:
    import polars as pl
    from polars import LazyFrame
else:
    LazyFrame = Any  # so that type hints resolve if polars is not installed


# Declared types of CSV columns. CSV contains only text, so a type defines which entries are valid and their values.
#
# Types are public, and every entry is checked before any budget is spent. An invalid entry rejects the whole table, as
# a malformed line does, whichever user it belongs to. With a type that ends in ``_or_null``, an invalid entry is null
# instead, and no other row changes. Surrounding blanks are removed, and an empty entry is null.

OR_NULL = "_or_null"
TYPES = ("text", *(f"{one}{end}" for end in ("", OR_NULL) for one in ("integer", "decimal", "date")))
POINT, ISO = ".", "yyyy-mm-dd"
_DATES = re.compile(r"(yyyy|mm|dd)([^\w\s]?)(?!\1)(yyyy|mm|dd)([^\w\s]?)(?!\1|\3)(yyyy|mm|dd)")


@dataclass(frozen=True)
class ColumnTypes:
    """Declared types by column, and the format of decimals and dates. Other columns are text.

    Args:
        types: "text", "integer" (of 64 bits), "decimal" (a float64) or "date" for each declared column. All but "text"
            may have the suffix "_or_null".
        decimal: Decimal mark, "." (default) or ",". Thousands separators are not allowed.
        date_format: Order of yyyy, mm and dd, and the separators between them, such as dd.mm.yyyy. The default is
            yyyy-mm-dd. If both separators are present, month and day may have one digit.
    """

    types: Mapping[str, str] = field(default_factory=dict)
    decimal: str = POINT
    date_format: str = ISO

    def __post_init__(self) -> None:
        if not isinstance(self.types, Mapping):
            raise ParameterTypeError(f"types must map columns to types, not be {type(self.types).__name__}")
        object.__setattr__(self, "types", dict(self.types))
        if not all(isinstance(name, str) and isinstance(one, str) and one in TYPES for name, one in self.types.items()):
            raise ParameterError(f"types must map the names of columns to types, which are {', '.join(TYPES)}")
        if not isinstance(self.decimal, str) or self.decimal not in (POINT, ","):
            raise ParameterError("decimal must be . or , (the decimal mark)")
        if not isinstance(self.date_format, str) or not _DATES.fullmatch(self.date_format):
            raise ParameterError("date_format must have yyyy, mm and dd, each once, such as dd.mm.yyyy")
        used = {kind.removesuffix(OR_NULL) for kind in self.types.values()}
        for name, usual, kind in (("decimal", POINT, "decimal"), ("date_format", ISO, "date")):
            if getattr(self, name) != usual and kind not in used:
                raise ParameterError(f"{name} requires a column of the type {kind}: declare one, such as x={kind}")

    def convert_columns(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """Return the frame of strings with the declared columns converted to their types, after checking their entries.

        The frame must have all declared columns.
        """
        import polars as pl

        read = {
            name: self._convert_entry(pl.col(name).str.strip_chars(), kind.removesuffix(OR_NULL))
            for name, kind in self.types.items()
            if kind != "text"
        }
        wrong = [
            (pl.col(name).str.contains(r"\S") & typed.is_null()).any().alias(name)
            for name, typed in read.items()
            if not self.types[name].endswith(OR_NULL)
        ]
        if wrong:
            found = run_guarded(lambda: frame.select(wrong).collect(engine="streaming").row(0, named=True))
            for name, one in found.items():
                if one:
                    raise TableError(self._type_error_message(name))
        return frame.with_columns(typed.alias(name) for name, typed in read.items())

    def _convert_entry(self, entry: pl.Expr, kind: str) -> pl.Expr:
        """Return the value of an entry without outer blanks, or null if the entry does not have this type."""
        import polars as pl

        if kind == "date":
            first, one, second, two, third = _split_date_format(self.date_format)
            digits = "{1,2}" if one and two else "{2}"
            part = {"yyyy": "(?P<yyyy>[0-9]{4})", "mm": f"(?P<mm>[0-9]{digits})", "dd": f"(?P<dd>[0-9]{digits})"}
            pattern = f"^{part[first]}{re.escape(one)}{part[second]}{re.escape(two)}{part[third]}$"
            plain = entry.str.replace(pattern, "${yyyy}-${mm}-${dd}").str.to_date("%Y-%m-%d", strict=False)
        elif kind == "decimal":
            mark = re.escape(self.decimal)
            pattern = f"^[+-]?(?:[0-9]+(?:{mark}[0-9]*)?|{mark}[0-9]+)(?:[eE][+-]?[0-9]+)?$"
            plain = entry.str.replace(self.decimal, POINT, literal=True).cast(pl.Float64, strict=False)
        else:
            pattern, plain = "^[+-]?[0-9]+$", entry.cast(pl.Int64, strict=False)
        return pl.when(entry.str.contains(pattern)).then(plain)

    def _type_error_message(self, name: str) -> str:
        kind = self.types[name]
        wanted, option = {
            "integer": ("integers of 64 bits", ""),
            "decimal": (
                f"decimals with {self.decimal!r} before the fraction, thousands together",
                ", --decimal",
            ),
            "date": (f"dates written {self.date_format}", ", --date-format"),
        }[kind]
        return (
            f"column {quote_path(name)} must contain {wanted}, as declared, but an entry does not. Declare the type of "
            f"the file (--types{option}), or {kind}{OR_NULL} to read such entries as null, or correct the file"
        )


def _split_date_format(date_format: str) -> tuple[str, ...]:
    found = _DATES.fullmatch(date_format)
    assert found is not None
    return found.groups()


def parse_column_types(text: str | None) -> dict[str, str]:
    """Parse the types of ``--types``, such as ``fee=decimal,day=date``."""
    pairs = [] if text is None else [one.rpartition("=") for one in next(csv.reader([str(text)]), None) or [""]]
    types = {name.strip(): kind.strip() for name, _, kind in pairs}
    if len(types) < len(pairs) or not all(types) or not all(kind in TYPES for kind in types.values()):
        raise ParameterError(
            "--types must be columns with their types, such as fee=decimal,day=date, each column once; a type is "
            f"one of {', '.join(TYPES)}"
        )
    return types


# CSV validation: every line is checked before the table is read, so a malformed line of any user rejects the table.
#
# Readers of CSV guess: an unclosed quote swallows lines of other users, and an extra field is an error or not depending
# on the requested columns. Here every line must be valid RFC 4180 and have as many fields as the first. Neither the
# user nor the position of a malformed line changes the error.

_BLOCK = 1 << 20  # bytes checked at a time; larger blocks are not faster
_LONGEST = 1 << 24  # maximum bytes of a line; a longer one is taken for an unclosed quote
_BOM = codecs.BOM_UTF8
_ZSTD = bytes.fromhex("28b52ffd")  # first bytes of a zstd frame that is not a skippable frame
_ASIDE = ('"', "\r", "\n")


@dataclass(frozen=True)
class Dialect:
    """Format of a CSV file: field separator, encoding (a Python codec name) and declared column types."""

    separator: str = ","
    encoding: str = "utf-8"
    columns: ColumnTypes = field(default_factory=ColumnTypes)

    def __post_init__(self) -> None:
        for name, value in (("separator", self.separator), ("encoding", self.encoding)):
            if not isinstance(value, str):
                raise ParameterTypeError(f"{name} must be a string, not {type(value).__name__}")
        if len(self.separator) != 1 or not self.separator.isascii() or self.separator in _ASIDE:
            raise ParameterError("separator must be one ASCII character, but not a quote or line end")
        if self._codec_name() is None:
            raise ParameterError("encoding must be the name of a text encoding, such as utf-8, latin-1 or utf-16")

    @property
    def is_utf8(self) -> bool:
        """Whether files can be read without decoding."""
        return self._codec_name() == "utf-8"

    @property
    def dialect_description(self) -> str:
        """Separator and encoding, for error messages."""
        return f"the separator {self.separator!r} and the encoding {self.encoding!r}"

    def _codec_name(self) -> str | None:
        try:
            found = codecs.lookup(self.encoding)
            "".encode(found.name)  # fails for codecs that do not encode text, such as base64
        except (LookupError, ValueError, TypeError):
            return None
        return {"utf-8-sig": "utf-8"}.get(found.name, found.name)


def read_csv_header(path: str | bytes, dialect: Dialect) -> tuple[list[str], bytes | None]:
    """Check all lines. Return the column names, and the text in UTF-8 if polars might read another text."""
    kept: list[bytes] | None = None
    with io.BytesIO(path) if isinstance(path, bytes) else open_regular_file(path, "path", TableError) as stream:
        try:
            kept = (
                None if dialect.is_utf8 and _can_polars_unpack(stream, "" if isinstance(path, bytes) else path) else []
            )
            blocks = _unpack_blocks(stream, "" if isinstance(path, bytes) else path)
            names = _check_csv_lines(_record_blocks(_decode_to_utf8(blocks, dialect), kept), dialect.separator)
        except (ValueError, OSError, EOFError, zlib.error, csv.Error):
            names = None
    if names is None:
        raise TableError(
            f"path must be a CSV table, but it could not be read with {dialect.dialect_description}: every "
            "line must have as many fields as the first, fields that contain a quote, a separator or a line "
            f"end must be in double quotes, with quotes doubled, and a line has at most {_LONGEST >> 20} MiB. "
            "Give the separator or encoding of the file (--separator, --encoding), or correct it"
        )
    if len(set(names)) < len(names):
        raise TableError("path must have distinct column names, but two columns have the same name: rename one")
    return names, None if kept is None else b"".join(kept)


def _can_polars_unpack(stream: BinaryIO, name: str) -> bool:
    """Return whether polars can unpack all of the file: no trailing zero in .gz, no leading skippable frame in .zst."""
    if name.lower().endswith(".gz"):
        stream.seek(-1, io.SEEK_END)
        last = stream.read(1)  # the top byte of the size, which is 0 if the text is below 16 MiB (modulo 4 GiB)
        stream.seek(0)
        return last != b"\0"
    first = stream.read(4)
    stream.seek(0)
    return first == _ZSTD or not name.lower().endswith(".zst")


def _unpack_blocks(stream: BinaryIO, name: str) -> Iterator[bytes]:
    """Yield the bytes of a file, decompressed according to its name, and an empty block at the end."""
    source: Any = stream
    if name.lower().endswith(".gz"):
        source = gzip.GzipFile(fileobj=stream)
    elif name.lower().endswith(".zst"):
        try:
            import pyarrow as pa
        except ImportError:
            pa = None
        if pa is None:
            raise MissingExtraError("a .csv.zst file requires pyarrow: pip install pyarrow, or unpack it")
        source = pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), "zstd")
    while block := source.read(_BLOCK):
        yield block
    yield b""


def _decode_to_utf8(blocks: Iterable[bytes], dialect: Dialect) -> Iterator[bytes]:
    """Yield the same text in UTF-8, without a byte order mark."""
    decoder, first = codecs.getincrementaldecoder(dialect.encoding)(), True
    for block in blocks:
        encoded = decoder.decode(block, not block).encode()
        yield encoded.removeprefix(_BOM) if first else encoded
        first = first and not encoded


def _record_blocks(blocks: Iterable[bytes], kept: list[bytes] | None) -> Iterator[bytes]:
    for block in blocks:
        if kept is not None:
            kept.append(block)
        yield block


def _check_csv_lines(blocks: Iterator[bytes], separator: str) -> list[str] | None:
    """Return the fields of the first line, or None if a line is malformed or has another number of fields."""
    mark = re.escape(separator.encode())
    field = rb'(?:[^"\r\n' + mark + rb']*+(?!")|"[^"]*+(?:""[^"]*+)*+")'
    first = re.compile(rb"(?:\r?\n)*+(" + field + rb"(?:" + mark + field + rb")*+)\r?\n")
    names, rows, left = None, None, b""
    for block in itertools.chain(blocks, (b"\n",)):
        left += block
        if rows is None:
            found = first.match(left)
            if found is not None:
                names = next(csv.reader(io.StringIO(found[1].decode(), newline=""), delimiter=separator, strict=True))
                more = (rb"(?:" + mark + field + rb"){%d}" % (len(names) - 1)) if len(names) > 1 else b""
                rows = re.compile(rb"(?:" + field + more + rb"\r?\n|\r?\n)*+")
                left = left[found.end() :]
        if rows is not None:
            whole = rows.match(left)
            left = left if whole is None else left[whole.end() :]
        if len(left) > _LONGEST:
            return None
    return names if not left else None


# Tables from files and folders, read lazily by polars.

T = TypeVar("T")

STDIN = "-"
_CSV = (".csv", ".csv.gz", ".csv.zst")
_SHOWN = 20  # maximum number of columns in an error message


@dataclass(frozen=True)
class OpenedTable:
    """A table for polars: frame, columns, files (None for standard input) and dialect (None for .parquet files)."""

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
    """Return a lazy table from .parquet files or a .csv file, or from CSV on standard input.

    Columns of a parquet file have the file's types. Columns of a .csv file are strings, whatever the rows contain,
    unless a type is declared: so ``007`` and ``7`` stay two users, and a late row cannot change a type. Give the
    candidates as strings too. The first line contains the column names, and an empty field is null, quoted or not. A
    .csv file is read twice: at once, to check that every line is well formed and has as many fields as the first, and
    when the frame is used. If types are declared, it is read once more to check all entries.

    Args:
        path: A file whose name ends in .parquet, .csv, .csv.gz or .csv.zst, in upper or lower case; ``-`` is standard
            input. Or a folder: its .parquet files and those in subfolders are read, except for names that begin with
            ``.`` or ``_`` (folders ``_name=value`` are read). Or a pattern of such files and folders, if no file has
            this very name: ``*``, ``?``, ``[...]``, and ``**`` for folders of any depth. Links are followed. All files
            must have the same column names and types. A column that exists only in folder names is not read.
        separator: Field separator of a .csv file, one ASCII character. The default is a comma.
        encoding: Encoding of a .csv file, by its name in Python. The default is UTF-8; with any other encoding the
            whole text is kept in memory.
        types: Types of columns of a .csv file that are not text: "integer" (of 64 bits), "decimal" or "date". They are
            public. An invalid entry rejects the whole table, whichever user it belongs to; with "integer_or_null" and
            so on, the entry is null. Blanks around an entry are ignored, and an empty entry is null.
        decimal: Decimal mark, "." (default) or ",". Thousands separators are not allowed.
        date_format: Format of dates, such as dd.mm.yyyy. The default is yyyy-mm-dd.

    Returns:
        A polars LazyFrame. Rows are read only when the frame is used, so the files must not change before. A file with
            damage beyond its beginning raises TableError only then.

    Raises:
        TableError: A file is missing, empty, unreadable, damaged, not a regular file, or listed twice; its name has
            another ending; files differ in their columns; a line of a .csv file is malformed, two columns have the same
            name, or an entry does not have the declared type of its column.
        DataError: A type is declared for a column that does not exist.
        ParameterTypeError: ``path`` is not a path, ``separator`` or ``encoding`` is not a string, or ``types`` is not a
            mapping.
        ParameterError: ``separator``, ``encoding``, ``decimal``, ``date_format`` or a type is invalid.
        MissingExtraError: polars is not installed, or pyarrow, which is required for a .csv.zst file.

    Example:
        >>> import tempfile, pathlib
        >>> import opendp_topk as tk
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "loans.csv")
        ...     _ = path.write_text("reader,book\\n1,Emma\\n2,Emma\\n2,Walden\\n")
        ...     space = tk.FrameDomain(user="reader", item="book"), tk.UserDistance()
        ...     count = space >> tk.then_count_by_item(candidates=["Emma", "Ulysses", "Walden"])
        ...     count(tk.tables.read_table(path))
        array([2, 0, 1])
    """
    declared = ColumnTypes({} if types is None else types, decimal, date_format)
    return open_table(path, Dialect(separator, encoding, declared)).frame  # [as-opened]


def open_table(path: Any, dialect: Dialect) -> OpenedTable:
    """Return the table at ``path``; see :func:`read_table`."""
    _require_polars()
    import polars as pl

    if isinstance(path, str) and path == STDIN:
        content = _read_stdin()
        names, text = read_csv_header(content, dialect)  # [whole-input]
        return OpenedTable(_scan_csv(content if text is None else text, dialect), tuple(names), None, dialect)
    parquet = find_parquet_files(path)
    if parquet is not None:
        columns = common_columns(parquet)
        places = parquet.file_locations
        scan = run_guarded(lambda: pl.scan_parquet(places, glob=False, hive_partitioning=False))  # [parquet-rows]
        return OpenedTable(run_guarded(lambda: scan_without_flags(scan)), columns, parquet, None)
    files = list_files(path)
    place = files.file_locations[0]
    names, text = read_csv_header(place, dialect)  # [whole-text]
    files.require_unchanged()
    return OpenedTable(_scan_csv(place if text is None else text, dialect), tuple(names), files, dialect)


def scan_without_flags(scan: pl.LazyFrame) -> pl.LazyFrame:
    """Return the same table, with conditions evaluated on every row: file statistics and sorted flags are not used."""
    return scan.map_batches(
        without_sorted_flags, predicate_pushdown=False, projection_pushdown=True, slice_pushdown=True, streamable=True
    )  # [rows-looked-at]


def _scan_csv(source: str | bytes, dialect: Dialect) -> LazyFrame:
    import polars as pl

    options: Any = {"glob": False, "infer_schema": False, "null_values": [""]}  # an empty field is null, quoted or not
    scan = run_guarded(lambda: pl.scan_csv(source, separator=dialect.separator, **options))  # [csv-rows]
    require_column_names(run_guarded(scan.collect_schema).names(), list(dialect.columns.types), dialect)
    return dialect.columns.convert_columns(scan)  # [declared-entries]


# end-proof-region: read_table


def find_parquet_files(path: Any) -> FileList | None:
    """Return the .parquet files at ``path``, which is a file, folder or pattern, or None for a .csv file."""
    text = path_text(path, "path")
    name = os.path.basename(text).lower()
    if is_address(text):
        raise TableError(
            f"path must be a file or a folder of this machine, but {quote_path(text)} is an address: read "
            "Hadoop addresses with Spark (--engine spark)"
        )
    if not is_folder_or_pattern(text):
        if any(name[1:].endswith(ending) for ending in _CSV):
            return None
        if not name[1:].endswith(PARQUET):
            raise TableError(
                "path must end in .parquet, .csv, .csv.gz or .csv.zst, or be a folder of .parquet. Rename text files; "
                "save a sheet of another program as .csv, or read it with polars.read_excel(path) and use the frame"
            )
    return list_files(text)


def common_columns(files: FileList) -> tuple[str, ...]:
    """Return the column names of these .parquet files, which all have the same columns and types."""
    _require_polars()
    import polars as pl

    def read_schema(place: str) -> dict[str, Any]:
        with open(place, "rb") as stream:  # polars would take special characters in a name for a pattern
            return dict(pl.read_parquet_schema(stream))

    first = _apply_to_file(files.file_locations[0], read_schema)
    for place in files.file_locations[1:]:
        other = _apply_to_file(place, read_schema)
        apart = [name for name in (*first, *other) if first.get(name) != other.get(name)]
        if apart:
            raise TableError(
                f"path must match files with the same columns and types, but {quote_path(files.file_locations[0])} and "
                f"{quote_path(place)} differ in {_format_column_names(dict.fromkeys(apart))}"
            )
    return tuple(first)


def require_readable(files: FileList, columns: Sequence[str]) -> None:
    """Raise TableError, with the name of the file, if these columns of a .parquet file cannot be read."""
    import polars as pl

    def read_columns(place: str) -> None:
        scan = pl.scan_parquet([place], glob=False, hive_partitioning=False)
        for _ in scan.select(columns).collect_batches():
            pass

    for place in files.file_locations:
        _apply_to_file(place, read_columns)


def _apply_to_file(place: str, step: Callable[[str], T]) -> T:
    """Return ``step(place)``; an error contains the name of the file."""
    with contextlib.suppress(TableError):
        return run_guarded(lambda: step(place))
    raise TableError(f"the file {quote_path(place)} could not be read: it is damaged or not a .parquet file")


def require_column_names(
    columns: Sequence[str], wanted: Sequence[str], dialect: Dialect | None, files: FileList | None = None
) -> None:
    """Raise DataError if the table lacks a ``wanted`` column; ``dialect`` is None for .parquet files.

    The error lists the columns of a .parquet file. It does not list those of a .csv file, since its first line may be
    data.
    """
    for name in wanted:
        if name in columns:
            continue
        said = f"the table must have the column {quote_path(name)}"
        if dialect is None:
            folders = {part for place in (files.file_locations if files else ()) for part in place.split("/")[:-1]}
            above = any(part.startswith(f"{name}=") for part in folders)
            more = ": values in folder names are not read, so write them into the files" if above else ""
            raise DataError(f"{said}, but has {_format_column_names(columns)}{more}")
        near = " One name differs only in blanks or case." if _is_similar_name(name, columns) else ""
        raise DataError(
            f"{said}: read with {dialect.dialect_description}, its first line must name the columns, and has "
            f"{len(columns)}.{near} Give the separator or encoding of the file (--separator, --encoding), or correct it"
        )


def _is_similar_name(name: str, columns: Sequence[str]) -> bool:
    return name.strip().casefold() in (one.strip().casefold() for one in columns)


def _format_column_names(columns: Sequence[str] | dict[str, Any]) -> str:
    names = list(columns)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"the column{'s' if len(names) > 1 else ''} {', '.join(map(quote_path, names[:_SHOWN]))}{more}"


def _require_polars() -> None:
    import_extra("polars", "read_table requires polars", "opendp_topk[tables]")
    require_threads()


def _read_stdin() -> bytes:
    if sys.stdin is None or _is_endless(sys.stdin.buffer):
        raise TableError("path is standard input, which must be a pipe, a file or a terminal")
    content: bytes = sys.stdin.buffer.read()
    if not content:
        raise TableError("path is standard input, which is empty")
    return content


def _is_endless(stream: Any) -> bool:
    """Return whether the stream is a device that may have no end: any but a terminal and the null device."""
    try:
        kind, terminal = os.fstat(stream.fileno()).st_mode, stream.isatty()
    except (OSError, ValueError):  # the stream has no file descriptor
        return False
    return stat.S_ISBLK(kind) or (
        stat.S_ISCHR(kind) and not terminal and not os.path.samestat(*_stream_and_null_stat(stream))
    )


def _stream_and_null_stat(stream: Any) -> tuple[os.stat_result, os.stat_result]:
    return os.fstat(stream.fileno()), os.stat(os.devnull)
