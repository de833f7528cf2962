"""Rows that are read once: one pass over a table makes the snapshot from which everything is counted.

A lazy plan may return other rows when it runs again, and a file may grow. So a table is never evaluated twice.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from ..errors import TableError
from ..errors.locking import run_holding_lock
from .guard import run_guarded
from .spark import select_by_position

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

AT_ONCE = 2**20  # Rows of a batch: 16 MiB of integers.
_MEMORY = 2**29  # Bytes kept in memory, about 2^24 rows of short strings. Larger tables go to disk.
_PIECE = 2**27  # Bytes of a file on disk.


# proof-region: table_rows
class Rows:
    """Some columns of a table, which is read once, when it is first needed.

    Columns of identifiers are integers, or strings that are compared by their bytes, whatever the collation of the back
    end.

    Args:
        schema: Names and types of the columns.
        batches: Function that starts the only pass over the table and returns all of its rows.
    """

    def __init__(self, schema: nw.Schema, batches: Callable[[], Iterable[pl.DataFrame]]) -> None:
        self._schema = schema
        self._held: nw.LazyFrame[Any] | None = None
        self._unread: Callable[[], Iterable[pl.DataFrame]] | None = batches
        self._source: Rows | None = None
        self._lock = Lock()

    @classmethod
    def from_frame(cls, frame: nw.LazyFrame[Any], source: Rows | None = None) -> Rows:
        """Return the rows of a frame that is the same at each read: in memory, of Spark, or derived from ``source``.

        The files of ``source`` are kept as long as these rows are in use.
        """
        made = cls(frame.collect_schema(), tuple)
        made._held, made._source = frame, source  # [files-stay]
        return made

    @property
    def implementation(self) -> nw.Implementation:
        """Implementation of the frame: polars or Spark."""
        import narwhals as nw

        return nw.Implementation.POLARS if self._held is None else self._held.implementation

    def collect_schema(self) -> nw.Schema:
        return self._schema

    def to_native(self) -> Any:
        return self.read_snapshot().to_native()

    def select_columns(self, names: Sequence[str]) -> Rows:
        """Return these columns of the same snapshot."""
        if self._schema.names() == list(names):
            return self
        import narwhals as nw

        if self._held is not None:
            return Rows.from_frame(select_columns(self._held, names), self)
        chosen = nw.Schema({name: self._schema[name] for name in names})
        return Rows(
            chosen, lambda: iterate_batches(self.read_snapshot().select(*names).to_native())
        )  # [part-of-snapshot]

    def read_snapshot(self) -> nw.LazyFrame[Any]:
        """Return the snapshot, which can be read any number of times."""
        return run_holding_lock(self._lock, self._read_once)

    def _read_once(self) -> nw.LazyFrame[Any]:
        if self._held is None:
            unread, self._unread = self._unread, None  # [once]
            if unread is None:
                raise TableError("the table could not be read before, and can be read only once: open it again")
            self._held = run_guarded(lambda: self._store_batches(unread()))  # [snapshot]
        return self._held

    def collect(self) -> nw.DataFrame[Any]:
        return self.read_snapshot().collect()

    def _store_batches(self, batches: Iterable[pl.DataFrame]) -> nw.LazyFrame[Any]:
        """Store all batches in memory, or in files of a folder that is deleted with these rows."""
        import narwhals as nw
        import polars as pl

        announced = _named_kinds(self._schema)
        last = pl.DataFrame(schema=self._schema.to_polars())
        folder: Path | None = None
        files: list[Path] = []
        held: list[pl.DataFrame] = []
        size = 0
        for batch in batches:
            last = to_plain_frame(batch)
            if _named_kinds(nw.from_native(last).schema) != announced:  # [as-announced]
                raise TypeError("the columns of the table differ from its schema")
            held.append(last)  # [every-batch]
            size += int(last.estimated_size())
            if size > (_MEMORY if folder is None else _PIECE):
                if folder is None:
                    folder = Path(tempfile.mkdtemp(prefix="opendp-topk-"))
                    weakref.finalize(self, shutil.rmtree, folder, True)
                files.append(_write_batches(held, folder / str(len(files))))  # [set-aside]
                held, size = [], 0
        held = held or [last.clear()]
        if folder is None:
            return nw.from_native(pl.concat(held, rechunk=False).lazy())  # [in-memory]
        files.append(_write_batches(held, folder / str(len(files))))
        return nw.from_native(pl.scan_ipc(files, glob=False))  # [on-disk]


def select_columns(table: Any, names: Sequence[str]) -> Any:
    """Return these columns of a frame, in this order."""
    if not table.implementation.is_pyspark():
        return table.select(*names)
    import narwhals as nw

    there = list(table.to_native().columns)
    return nw.from_native(
        select_by_position(table.to_native(), [there.index(name) for name in names], names)
    )  # [by-place]


def _named_kinds(schema: nw.Schema) -> list[tuple[str, str]]:
    return [(name, type(dtype).__name__) for name, dtype in schema.items()]


def _write_batches(held: Sequence[pl.DataFrame], file: Path) -> Path:
    import polars as pl

    pl.concat(held, rechunk=False).write_ipc(file, compression="lz4")
    return file


def to_plain_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame without sorted flags, and with labels instead of categories."""
    import polars as pl

    labels = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Categorical | pl.Enum)]
    if labels:
        codes = without_sorted_flags(frame.select(pl.col(labels).to_physical()))
        frame = frame.with_columns(_category_labels(frame[name], codes[name]) for name in labels)  # [labels]
    return without_sorted_flags(frame)


def _category_labels(column: pl.Series, codes: pl.Series) -> pl.Series:
    """Return the labels of categories. Each label is stored once, whereas a cast would repeat it in each row."""
    import polars as pl

    first = codes.arg_unique()  # [each-code]
    labels = pl.DataFrame({"code": codes.gather(first), "label": column.gather(first).cast(pl.String)})
    placed = codes.to_frame("code").join(labels, on="code", how="left", nulls_equal=True, maintain_order="left")
    return placed["label"].alias(column.name)  # [label-of-code]


def without_sorted_flags(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the same values without sorted flags, which polars trusts even if they are wrong."""
    import polars as pl

    return pl.DataFrame(_ArrowStream(frame)) if frame.width else frame  # [unmarked]


class _ArrowStream:
    """A frame that exports its values through Arrow's interface, without the sorted flags of polars."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._frame.__arrow_c_stream__(requested_schema)


def arrow_values(table: Any) -> Any:
    """Return the columns of a pyarrow table or batch, without metadata and with recounted nulls."""
    import pyarrow as pa

    chunked = [column if hasattr(column, "chunks") else pa.chunked_array([column]) for column in table.columns]
    counted = [
        pa.chunked_array(map(_recount_nulls, column.chunks), column.type) for column in chunked
    ]  # [nulls-counted]
    return pa.Table.from_arrays(counted, names=table.schema.names)  # [no-metadata]


def _recount_nulls(array: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_dictionary(array.type):
        labels = _recount_nulls(array.dictionary)
        return pa.DictionaryArray.from_arrays(_recount_nulls(array.indices), labels, ordered=array.type.ordered)
    try:
        return pa.Array.from_buffers(array.type, len(array), array.buffers(), -1, array.offset)
    except ValueError:  # string views, which older versions cannot rebuild this way
        array.validate(full=True)  # [nulls-told]
        return array


def plain_schema(schema: nw.Schema) -> nw.Schema:
    """Return the schema of a frame after :func:`to_plain_frame`."""
    import narwhals as nw

    text = (nw.Categorical, nw.Enum)
    return nw.Schema({name: nw.String() if isinstance(kind, text) else kind for name, kind in schema.items()})


def iterate_batches(source: Any) -> Iterator[pl.DataFrame]:
    """Yield the rows of a polars LazyFrame, a DuckDB relation or a pyarrow scanner, in one pass."""
    import polars as pl

    if isinstance(source, pl.LazyFrame):
        yield from source.collect_batches(chunk_size=AT_ONCE, maintain_order=False)  # [one-pass]
    elif hasattr(source, "to_arrow_reader") or hasattr(source, "fetch_arrow_reader"):
        start = getattr(source, "to_arrow_reader", None) or source.fetch_arrow_reader  # depends on DuckDB's version
        yield from map(pl.DataFrame, map(pl.from_arrow, map(arrow_values, start(AT_ONCE))))
    else:
        yield from map(pl.DataFrame, map(pl.from_arrow, map(arrow_values, source.to_reader())))


# end-proof-region: table_rows
