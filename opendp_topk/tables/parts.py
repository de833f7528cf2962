"""Tables in parts, so that counting never holds all of their rows: each user's rows are in one part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import narwhals as nw

Frame = TypeVar("Frame", "nw.DataFrame[Any]", "nw.LazyFrame[Any]")

# Rows of a part. Sorting so many pairs of integers takes half a GiB; with fewer, large files are read more often.
_ROWS = 2**24
_BYTES = 2**29  # Bytes of text of a part, of which equal rows are found in about three times as much memory.

# Who is told, after each part, how many of how many were read. What is shown must not be released: it tells the rows.
watcher: ContextVar[Callable[[int, int], None] | None] = ContextVar("watcher", default=None)


# proof-region: counts_in_parts
def in_parts(pairs: nw.LazyFrame[Any], rows: nw.LazyFrame[Any]) -> Iterator[nw.LazyFrame[Any]]:
    """``pairs`` in one or more frames, to be read one after the other: all rows of a user are in the same one.

    Args:
        pairs: A frame with a column ``user`` of integers or strings (no categories). Rows without a user may be in
            any part, or in none.
        rows: A frame of at least as many rows, whose number is found at less cost. Both are of one snapshot.
    """
    passes = _passes(rows)
    for at in range(passes):
        yield pairs if passes == 1 else _part(pairs, passes, at)  # [part]
        told = watcher.get()
        if told is not None:
            told(at + 1, passes)


def _passes(rows: nw.LazyFrame[Any]) -> int:
    import polars as pl

    held: pl.LazyFrame = rows.to_native()
    texts = [name for name, kind in held.collect_schema().items() if kind == pl.String]
    sizes = held.select(pl.len(), *(pl.col(name).str.len_bytes().sum().alias(f"bytes {name}") for name in texts))
    number, *lengths = map(int, sizes.collect(engine="streaming").row(0))
    return max(1, -(-number // _ROWS), -(-sum(lengths) // _BYTES))


def _part(pairs: nw.LazyFrame[Any], passes: int, at: int) -> nw.LazyFrame[Any]:
    import narwhals as nw
    import polars as pl

    chosen: pl.LazyFrame = pairs.to_native()
    return own_texts(nw.from_native(chosen.filter(pl.col("user").hash() % passes == at)))  # [by-user]


def own_texts(frame: Frame) -> Frame:
    """The same rows, whose texts lie together: polars keeps all texts of a frame for as long as one of its rows is."""
    import narwhals as nw
    import polars as pl

    held: Any = frame.to_native()
    return nw.from_native(  # type: ignore[no-any-return]
        held.with_columns(pl.col(pl.String) + "")  # [own-texts]
    )


# end-proof-region: counts_in_parts
