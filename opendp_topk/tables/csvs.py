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
from dataclasses import dataclass
from typing import Any, BinaryIO

from ..errors import ParameterError, ParameterTypeError, TableError
from ..errors.ordinary import open_ordinary
from .guard import guarded

_BLOCK = 1 << 20  # bytes that are looked at together: more take no less time
_LONGEST = 1 << 24  # bytes of a line, beyond which a quote was not closed
_BOM = codecs.BOM_UTF8
_ASIDE = ('"', "\r", "\n")
_UNIT = "\x1f"  # separates nothing in a text, so that a line is one field


@dataclass(frozen=True)
class Dialect:
    """How the text of a CSV file is written: its encoding, by Python's name for it, and what separates fields."""

    separator: str = ","
    encoding: str = "utf-8"

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
    """The names of the columns, and the text in UTF-8 where the file has another encoding. All is looked at.

    Args:
        path: A file whose name ends in .csv, .csv.gz or .csv.zst, or all that came from standard input.
        dialect: Its separator and encoding.

    Raises:
        TableError: A line is malformed, two columns have one name, or the file cannot be read.
    """
    kept: list[bytes] | None = None if dialect.is_utf8 else []
    with io.BytesIO(path) if isinstance(path, bytes) else open_ordinary(path, "path", TableError) as stream:
        try:
            blocks = _unpacked(stream, "" if isinstance(path, bytes) else path)
            names = _checked(_kept(_text(blocks, dialect), kept), dialect.separator)
        except (ValueError, OSError, EOFError, zlib.error, csv.Error):
            names = None
    if names is None:
        raise TableError(
            f"path must name a table in CSV, and this could not be read with {dialect.words}: every line must have as "
            "many fields as the first, one with a quote, a separator or a line end in it stands in double quotes, and "
            "a quote within is doubled. If the file has others, say so (--separator, --encoding); if not, mend it"
        )
    if len(set(names)) < len(names):
        raise TableError("path must name a table whose columns have different names, and two have one name")
    return names, None if kept is None else b"".join(kept)


def _unpacked(stream: BinaryIO, name: str) -> Iterator[bytes]:
    """The bytes of a file as its name says that they are packed, and an empty block at the end."""
    if name.lower().endswith(".zst"):
        yield from guarded(lambda: _lines(name))
    else:
        source: Any = gzip.GzipFile(fileobj=stream) if name.lower().endswith(".gz") else stream
        while block := source.read(_BLOCK):
            yield block
    yield b""


def _lines(path: str) -> list[bytes]:
    """A file that polars alone unpacks, line by line."""
    import polars as pl

    scan = pl.scan_csv(path, glob=False, has_header=False, separator=_UNIT, quote_char=None, infer_schema=False)
    lines: Any = scan.collect().to_series().fill_null("")
    return ["\n".join([*lines[at : at + _BLOCK], ""]).encode() for at in range(0, len(lines), _BLOCK)]


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
