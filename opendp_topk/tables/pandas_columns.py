"""Columns of pandas in polars: copies, in which every entry that cannot be an identifier is a null.

What pandas says of a column depends on its entries: a null makes floats of integers, and one string among numbers makes
objects, of strings in one chunk of a file and of numbers in another. So an entry is read by itself, whatever else is in
its column: among objects an integer is its decimal text, and what cannot be an identifier is nobody's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ColumnError
from .rows import arrow_values

if TYPE_CHECKING:
    import polars as pl

_EXACT = 2**53  # integers below are all floats, and no two of them the same
_INEXACT = (
    "column {!r} must hold identifiers, and it holds floats of 2^53 and more, which may be several integers in one: "
    'read it as .astype("Int64") from the start, or as strings'
)


# proof-region: pandas_columns
def identifiers(column: Any, name: str) -> pl.Series:
    """A column of integers (or of floats, which hold integers beside nulls), of strings, objects or categories.

    Floats that are no integers become nulls. Among objects and categories an integer, or a float that is one, becomes
    its decimal text, and all that is neither that nor a string of Unicode characters becomes a null.

    Raises:
        ColumnError: Floats hold numbers that are not below 2^53, which may be several integers in one; or no object is
            an identifier, and not everything a null.
    """
    import polars as pl

    dtype = column.dtype
    if hasattr(dtype, "pyarrow_dtype") or getattr(dtype, "storage", "") == "pyarrow":
        return _from_arrow(column, name)  # [arrow]
    if hasattr(dtype, "categories"):
        labels = _strings(list(dtype.categories), name)
        codes = pl.Series(np.array(column.cat.codes, dtype=np.int64))
        known = codes.to_frame("code").select(pl.when(pl.col("code") >= 0).then(pl.col("code"))).to_series()
        return labels.gather(known).alias(name)  # [category-labels]
    if dtype.kind == "f":
        return _whole(np.array(column, dtype=np.float64), name)  # [floats]
    return numbers(column, name) if dtype.kind in "iu" else _strings(column.tolist(), name)


def numbers(column: Any, name: str) -> pl.Series:
    """A column of numbers of NumPy, or of such beside a mask."""
    import polars as pl

    dtype = column.dtype
    if hasattr(dtype, "pyarrow_dtype"):
        return _from_arrow(column, name)  # [arrow-numbers]
    kind = getattr(dtype, "numpy_dtype", dtype)
    missing = np.zeros(len(column), dtype=np.bool_) if kind is dtype else np.array(column.isna(), dtype=np.bool_)
    values = column.to_numpy(dtype=kind) if kind is dtype else column.to_numpy(dtype=kind, na_value=0)
    table = pl.DataFrame({"value": np.array(values), "missing": missing})  # [copied]
    return table.select(pl.when(~pl.col("missing")).then(pl.col("value")).alias(name)).to_series()


def _whole(values: Any, name: str) -> pl.Series:
    """The integers among floats."""
    import polars as pl

    finite = np.isfinite(values)
    if np.any(np.abs(values[finite]) >= _EXACT):  # [exact-floats]
        raise ColumnError(_INEXACT.format(name))
    whole = finite & (np.floor(np.where(finite, values, 0.5)) == values)
    table = pl.DataFrame({"value": np.where(whole, values, 0).astype(np.int64), "whole": whole})
    return table.select(pl.when(pl.col("whole")).then(pl.col("value")).alias(name)).to_series()  # [whole]


def _from_arrow(column: Any, name: str) -> pl.Series:
    """A column that Arrow holds, in a table, whose chunks may have dictionaries of their own."""
    import polars as pl
    import pyarrow as pa

    return pl.DataFrame(pl.from_arrow(arrow_values(pa.table({name: column.array.__arrow_array__()}))))[name]


def _strings(values: list[Any], name: str) -> pl.Series:
    """The strings among objects, and the numbers that are integers, as texts."""
    import polars as pl

    found = [_text(value, name) for value in values]  # [strings]
    if not any(one is not None for one in found) and not all(_missing(value) for value in values):
        raise ColumnError(
            f"column {name!r} must hold integer, string or categorical identifiers, and it holds objects of which none "
            "is one: cast it to Int64 or to strings"
        )  # [some-string]
    return pl.Series(name, found, dtype=pl.String)


def _text(value: Any, name: str) -> str | None:
    if issubclass(type(value), np.integer | np.floating) and not issubclass(type(value), np.timedelta64):
        value = value.item()
    kind = type(value)
    if issubclass(kind, float) and float.is_integer(value):
        if abs(value) >= _EXACT:
            raise ColumnError(_INEXACT.format(name))  # [exact-objects]
        return int.__repr__(float.__int__(value))  # [whole-objects]
    try:
        if issubclass(kind, int) and kind is not bool:
            return int.__repr__(value)  # [decimal]
        if issubclass(kind, str):
            str.encode(value)
            return str.__str__(value)
    except ValueError:  # an integer of more digits than Python writes, or half of a character
        pass
    return None


def _missing(value: Any) -> bool:
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


# end-proof-region: pandas_columns
