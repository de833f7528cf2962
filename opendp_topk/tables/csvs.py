"""CSV as it must be: looked at line by line before it is read, so that a malformed line is refused, whoever's it is.

Left to itself a reader of CSV guesses: a quote that is not closed swallows the lines of others, a field too many is an
error or none by the columns that are asked for. Here a line is refused if it is not one of RFC 4180 with as many
fields as the first, and the refusal does not depend on whose line it is, nor on where.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from ..errors import MissingExtraError, ParameterError, ParameterTypeError, TableError
from ..errors.ordinary import open_ordinary
from .column_types import ColumnTypes

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
        if self._codec() is None:
            raise ParameterError("encoding must be the name of a text encoding, such as utf-8, latin-1 or utf-16")

    @property
    def is_utf8(self) -> bool:
        """Whether files can be read as they are."""
        return self._codec() == "utf-8"

    @property
    def words(self) -> str:
        """For errors."""
        return f"the separator {self.separator!r} and the encoding {self.encoding!r}"

    def _codec(self) -> str | None:
        try:
            found = codecs.lookup(self.encoding)
            "".encode(found.name)  # not of bytes alone, such as base64
        except (LookupError, ValueError, TypeError):
            return None
        return {"utf-8-sig": "utf-8"}.get(found.name, found.name)


def header(path: str | bytes, dialect: Dialect) -> tuple[list[str], bytes | None]:
    """The names of the columns, and the text in UTF-8 if polars would read another one from the file. All is looked at.

    Args:
        path: A file whose name ends in .csv, .csv.gz or .csv.zst, or all that came from standard input.
        dialect: Its separator and encoding.

    Raises:
        TableError: A line is malformed, two columns have one name, or the file cannot be read.
    """
    kept: list[bytes] | None = None
    with io.BytesIO(path) if isinstance(path, bytes) else open_ordinary(path, "path", TableError) as stream:
        try:
            kept = None if dialect.is_utf8 and _is_plain(stream, "" if isinstance(path, bytes) else path) else []
            blocks = _unpacked(stream, "" if isinstance(path, bytes) else path)
            names = _checked(_kept(_text(blocks, dialect), kept), dialect.separator)
        except (ValueError, OSError, EOFError, zlib.error, csv.Error):
            names = None
    if names is None:
        raise TableError(
            f"path must name a table in CSV, and this could not be read with {dialect.words}: every line must have as "
            "many fields as the first, one with a quote, a separator or a line end in it stands in double quotes, and "
            f"a quote within is doubled; a line has at most {_LONGEST >> 20} MiB. If the file has others, say so "
            "(--separator, --encoding); if not, mend it"
        )
    if len(set(names)) < len(names):
        raise TableError("path must name a table whose columns have different names, and two have one name")
    return names, None if kept is None else b"".join(kept)


def _is_plain(stream: BinaryIO, name: str) -> bool:
    """Whether polars surely unpacks the file: no zeros behind a .gz, and nothing to skip before the text in a .zst."""
    if name.lower().endswith(".gz"):
        stream.seek(-1, io.SEEK_END)
        last = stream.read(1)  # of a size with a zero there is less text than 16 MiB, but for whole multiples of 4 GiB
        stream.seek(0)
        return last != b"\0"
    first = stream.read(4)
    stream.seek(0)
    return first == _ZSTD or not name.lower().endswith(".zst")


def _unpacked(stream: BinaryIO, name: str) -> Iterator[bytes]:
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


def _text(blocks: Iterable[bytes], dialect: Dialect) -> Iterator[bytes]:
    """The same text in UTF-8, without a mark of the order of bytes."""
    decoder, first = codecs.getincrementaldecoder(dialect.encoding)(), True
    for block in blocks:
        encoded = decoder.decode(block, not block).encode()
        yield encoded.removeprefix(_BOM) if first else encoded
        first = first and not encoded


def _kept(blocks: Iterable[bytes], kept: list[bytes] | None) -> Iterator[bytes]:
    for block in blocks:
        if kept is not None:
            kept.append(block)
        yield block


def _checked(blocks: Iterator[bytes], separator: str) -> list[str] | None:
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
