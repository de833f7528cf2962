"""Tables in files: how each kind is read, and what types columns have."""

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

from ..errors import ColumnError, MissingExtraError, ParameterError, ParameterTypeError, TableError
from ..errors.extras import import_extra, require_threads
from ..errors.files import open_regular_file, path_text, quote_path
from .guard import run_guarded
from .hadoop import is_address
from .listing import PARQUET, FileList, is_folder_or_pattern, list_files
from .rows import without_sorted_flags

if TYPE_CHECKING:
    import polars as pl


# Types that are declared for columns of CSV, which holds text: what an entry must look like, and what it is then.
#
# They are public, and every entry is looked at before anything is paid: a table with one that does not have the type
# of its column is refused, as one with a malformed line is, whoever's row it is. With a type that ends in
# ``_or_null`` such an entry is null instead, whoever's row it is, and no other row changes. Blanks around an entry
# are removed, and an empty entry is null.

OR_NULL = "_or_null"
TYPES = ("text", *(f"{one}{end}" for end in ("", OR_NULL) for one in ("integer", "decimal", "date")))
POINT, ISO = ".", "yyyy-mm-dd"
_DATES = re.compile(r"(yyyy|mm|dd)([^\w\s]?)(?!\1)(yyyy|mm|dd)([^\w\s]?)(?!\1|\3)(yyyy|mm|dd)")


@dataclass(frozen=True)
class ColumnTypes:
    """The declared types by column, and how decimals and dates are written; other columns are text.

    Args:
        types: "text", "integer" (of 64 bits), "decimal" (a float64) or "date" for each declared column; all but "text"
            may have "_or_null" behind them.
        decimal: "." or ",", which stands before the fraction of a decimal. Thousands are not separated.
        date_format: The order of yyyy, mm and dd, and what is between them, such as dd.mm.yyyy; a month and a day may
            have one digit if something is.
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
            raise ParameterError("decimal must be . or ,: what stands before the fraction of a decimal")
        if not isinstance(self.date_format, str) or not _DATES.fullmatch(self.date_format):
            raise ParameterError("date_format must have yyyy, mm and dd, each once, such as dd.mm.yyyy")
        used = {kind.removesuffix(OR_NULL) for kind in self.types.values()}
        for name, usual, kind in (("decimal", POINT, "decimal"), ("date_format", ISO, "date")):
            if getattr(self, name) != usual and kind not in used:
                raise ParameterError(f"{name} goes with a column of the type {kind}: declare one, such as x={kind}")

    def convert_columns(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """The frame of strings with the declared columns, which it has, in their types, after a look at their entries.

        Raises:
            TableError: An entry does not have the type of its column, or the file cannot be read.
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
        """An entry without outer blanks in this type; null if it does not have it."""
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
            f"column {quote_path(name)} must hold {wanted}, as it is declared, and some entry is none. If the file has "
            f"others, say so (--types{option}), or declare {kind}{OR_NULL} and such an entry is null; if not, mend it"
        )


def _split_date_format(date_format: str) -> tuple[str, ...]:
    found = _DATES.fullmatch(date_format)
    assert found is not None
    return found.groups()


def parse_column_types(text: str | None) -> dict[str, str]:
    """The types that ``--types`` declares, such as ``fee=decimal,day=date``.

    Raises:
        ParameterError: It is not of this form, or a column has two types.
    """
    pairs = [] if text is None else [one.rpartition("=") for one in next(csv.reader([text]), None) or [""]]
    types = {name.strip(): kind.strip() for name, _, kind in pairs}
    if len(types) < len(pairs) or not all(types) or not all(kind in TYPES for kind in types.values()):
        raise ParameterError(
            "--types must be columns with their types, such as fee=decimal,day=date, each column once; a type is "
            f"one of {', '.join(TYPES)}"
        )
    return types


# CSV as it must be: looked at line by line before it is read, so that a malformed line is refused, whoever's it is.
#
# Left to itself a reader of CSV guesses: a quote that is not closed swallows the lines of others, a field too many is
# an error or none by the columns that are asked for. Here a line is refused if it is not one of RFC 4180 with as many
# fields as the first, and the refusal does not depend on whose line it is, nor on where.

_BLOCK = 1 << 20  # bytes that are looked at together: more take no less time
_LONGEST = 1 << 24  # bytes of a line, beyond which a quote was not closed
_BOM = codecs.BOM_UTF8
_ZSTD = bytes.fromhex("28b52ffd")  # with which a frame begins that is none to skip
_ASIDE = ('"', "\r", "\n")


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written: what separates fields, its encoding, by Python's name for it, and types of columns."""

    separator: str = ","
    encoding: str = "utf-8"
    columns: ColumnTypes = field(default_factory=ColumnTypes)

    def __post_init__(self) -> None:
        for name, value in (("separator", self.separator), ("encoding", self.encoding)):
            if not isinstance(value, str):
                raise ParameterTypeError(f"{name} must be a string, not {type(value).__name__}")
        if len(self.separator) != 1 or not self.separator.isascii() or self.separator in _ASIDE:
            raise ParameterError("separator must be one ASCII character, and no quote or line end")
        if self._codec_name() is None:
            raise ParameterError("encoding must be the name of a text encoding, such as utf-8, latin-1 or utf-16")

    @property
    def is_utf8(self) -> bool:
        """Whether files can be read as they are."""
        return self._codec_name() == "utf-8"

    @property
    def dialect_description(self) -> str:
        """For errors."""
        return f"the separator {self.separator!r} and the encoding {self.encoding!r}"

    def _codec_name(self) -> str | None:
        try:
            found = codecs.lookup(self.encoding)
            "".encode(found.name)  # not of bytes alone, such as base64
        except (LookupError, ValueError, TypeError):
            return None
        return {"utf-8-sig": "utf-8"}.get(found.name, found.name)


def read_csv_header(path: str | bytes, dialect: Dialect) -> tuple[list[str], bytes | None]:
    """The names of the columns, and the text in UTF-8 if polars would read another one from the file. All is looked at.

    Args:
        path: A file whose name ends in .csv, .csv.gz or .csv.zst, or all that came from standard input.
        dialect: Its separator and encoding.

    Raises:
        TableError: A line is malformed, two columns have one name, or the file cannot be read.
    """
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
            f"path must name a table in CSV, and this could not be read with {dialect.dialect_description}: every "
            f"line must have as "
            "many fields as the first, one with a quote, a separator or a line end in it stands in double quotes, and "
            f"a quote within is doubled; a line has at most {_LONGEST >> 20} MiB. If the file has others, say so "
            "(--separator, --encoding); if not, mend it"
        )
    if len(set(names)) < len(names):
        raise TableError("path must name a table whose columns have different names, and two have one name")
    return names, None if kept is None else b"".join(kept)


def _can_polars_unpack(stream: BinaryIO, name: str) -> bool:
    """Whether polars surely unpacks the file: no zeros behind a .gz, and nothing to skip before the text in a .zst."""
    if name.lower().endswith(".gz"):
        stream.seek(-1, io.SEEK_END)
        last = stream.read(1)  # of a size with a zero there is less text than 16 MiB, but for whole multiples of 4 GiB
        stream.seek(0)
        return last != b"\0"
    first = stream.read(4)
    stream.seek(0)
    return first == _ZSTD or not name.lower().endswith(".zst")


def _unpack_blocks(stream: BinaryIO, name: str) -> Iterator[bytes]:
    """The bytes of a file as its name says that they are packed, and an empty block at the end."""
    source: Any = stream
    if name.lower().endswith(".gz"):
        source = gzip.GzipFile(fileobj=stream)
    elif name.lower().endswith(".zst"):
        try:
            import pyarrow as pa
        except ImportError:
            pa = None
        if pa is None:
            raise MissingExtraError("a .csv.zst file needs pyarrow: pip install pyarrow, or unpack it")
        source = pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), "zstd")
    while block := source.read(_BLOCK):
        yield block
    yield b""


def _decode_to_utf8(blocks: Iterable[bytes], dialect: Dialect) -> Iterator[bytes]:
    """The same text in UTF-8, without a mark of the order of bytes."""
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
    """The fields of the first line, if every line is well formed and has as many."""
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
class OpenedTable:
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
    return open_table(path, Dialect(separator, encoding, declared)).frame  # [as-opened]


def open_table(path: Any, dialect: Dialect) -> OpenedTable:
    """The table at ``path``; otherwise as :func:`read_table`."""
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
    """The same table, of which conditions look at each row: no statistics and no mark of a file decide about others."""
    return scan.map_batches(
        without_sorted_flags, predicate_pushdown=False, projection_pushdown=True, slice_pushdown=True, streamable=True
    )  # [rows-looked-at]


def _scan_csv(source: str | bytes, dialect: Dialect) -> LazyFrame:
    import polars as pl

    options: Any = {"glob": False, "infer_schema": False, "null_values": [""]}  # an empty field is null, also in quotes
    scan = run_guarded(lambda: pl.scan_csv(source, separator=dialect.separator, **options))  # [csv-rows]
    require_column_names(run_guarded(scan.collect_schema).names(), list(dialect.columns.types), dialect)
    return dialect.columns.convert_columns(scan)  # [declared-entries]


# end-proof-region: read_table


def find_parquet_files(path: Any) -> FileList | None:
    """The .parquet files that ``path`` stands for: one, or those of a folder or pattern; None for a .csv file.

    Raises:
        TableError: There are none, one cannot be read, or ``path`` is another file.
        ParameterTypeError: ``path`` is no path.
    """
    text = path_text(path, "path")
    name = os.path.basename(text).lower()
    if is_address(text):
        raise TableError(
            f"path must be a file or a folder of this machine, and {quote_path(text)} is an address: give those "
            "that Hadoop knows to a session of Spark (--engine spark)"
        )
    if not is_folder_or_pattern(text):
        if any(name[1:].endswith(ending) for ending in _CSV):
            return None
        if not name[1:].endswith(PARQUET):
            raise TableError(
                "path must name a file that ends in .parquet or .csv (or .csv.gz or .csv.zst), or a folder of .parquet"
            )
    return list_files(text)


def common_columns(files: FileList) -> tuple[str, ...]:
    """The names of the columns that all of these .parquet files have, with the same types.

    Raises:
        TableError: A file is damaged, or two files differ in a column.
        MissingExtraError: polars is not installed.
    """
    _require_polars()
    import polars as pl

    def read_schema(place: str) -> dict[str, Any]:
        with open(place, "rb") as stream:  # a name with a pattern's characters is a file here
            return dict(pl.read_parquet_schema(stream))

    first = _apply_to_file(files.file_locations[0], read_schema)
    for place in files.file_locations[1:]:
        other = _apply_to_file(place, read_schema)
        apart = [name for name in (*first, *other) if first.get(name) != other.get(name)]
        if apart:
            raise TableError(
                f"path must name files with the same columns and types, but {quote_path(files.file_locations[0])} and "
                f"{quote_path(place)} differ in {_format_column_names(dict.fromkeys(apart))}"
            )
    return tuple(first)


def require_readable(files: FileList, columns: Sequence[str]) -> None:
    """Raise TableError unless these columns of each .parquet file can be read, which names the file."""
    import polars as pl

    def read_columns(place: str) -> None:
        scan = pl.scan_parquet([place], glob=False, hive_partitioning=False)
        for _ in scan.select(columns).collect_batches():
            pass

    for place in files.file_locations:
        _apply_to_file(place, read_columns)


def _apply_to_file(place: str, step: Callable[[str], T]) -> T:
    """What ``step`` finds in a file; an error names the file."""
    with contextlib.suppress(TableError):
        return run_guarded(lambda: step(place))
    raise TableError(
        f"the file {quote_path(place)} could not be read: it is damaged, not complete, or no .parquet file"
    )


def require_column_names(
    columns: Sequence[str], wanted: Sequence[str], dialect: Dialect | None, files: FileList | None = None
) -> None:
    """Raise ColumnError unless the table has the ``wanted`` columns; ``dialect`` is that of a .csv file.

    Those of a .parquet file are named. The first line of a .csv file may be one of data, so it is not repeated.
    """
    for name in wanted:
        if name in columns:
            continue
        said = f"the table must have the column {quote_path(name)}"
        if dialect is None:
            folders = {part for place in (files.file_locations if files else ()) for part in place.split("/")[:-1]}
            above = any(part.startswith(f"{name}=") for part in folders)
            more = ": what stands in names of folders alone is not read, so write it into the files" if above else ""
            raise ColumnError(f"{said}, and has {_format_column_names(columns)}{more}")
        near = " One has this name but for blanks or capital letters." if _is_similar_name(name, columns) else ""
        raise ColumnError(
            f"{said}: read with {dialect.dialect_description}, its first line must name the columns, and has "
            f"{len(columns)}.{near} "
            "If the file has another separator or encoding, say so (--separator, --encoding)"
        )


def _is_similar_name(name: str, columns: Sequence[str]) -> bool:
    return name.strip().casefold() in (one.strip().casefold() for one in columns)


def _format_column_names(columns: Sequence[str] | dict[str, Any]) -> str:
    names = list(columns)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"the column{'s' if len(names) > 1 else ''} {', '.join(map(quote_path, names[:_SHOWN]))}{more}"


def _require_polars() -> None:
    import_extra("polars", "read_table needs polars", "opendp_topk[tables]")
    require_threads()


def _read_stdin() -> bytes:
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
    return stat.S_ISBLK(kind) or (
        stat.S_ISCHR(kind) and not terminal and not os.path.samestat(*_stream_and_null_stat(stream))
    )


def _stream_and_null_stat(stream: Any) -> tuple[os.stat_result, os.stat_result]:
    return os.fstat(stream.fileno()), os.stat(os.devnull)
