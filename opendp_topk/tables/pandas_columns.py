"""Columns of pandas in polars: copies, in which every entry that cannot be an identifier is a null.

What pandas says of a column depends on its entries: a null makes floats of integers, and one object that is no string
makes objects of strings. So that no single row decides whether a table is accepted, such an entry is nobody's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ColumnError

if TYPE_CHECKING:
    import polars as pl

_EXACT = 2**53  # integers below are all floats, and no two of them the same


# proof-region: pandas_columns
def identifiers(column: Any, name: str) -> pl.Series:
    """A column of integers (or of floats, which hold integers beside nulls), of strings, objects or categories.

    Floats that are no integers become nulls, and so do objects that are no strings of Unicode characters.

    Raises:
        ColumnError: Floats hold numbers that are not below 2^53, which may be several integers in one; or nothing in
            the column is a string, and not everything a null.
    """
    import polars as pl

    dtype = column.dtype
    if hasattr(dtype, "pyarrow_dtype") or getattr(dtype, "storage", "") == "pyarrow":
        return pl.Series(name, column.array.__arrow_array__())  # [arrow]
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
        return pl.Series(name, column.array.__arrow_array__())  # [arrow-numbers]
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
        raise ColumnError(
            f"column {name!r} must hold identifiers, and as Float64 it holds numbers of 2^53 and more, which may be "
            'several integers in one: read it as .astype("Int64") from the start, or as strings'
        )
    whole = finite & (np.floor(np.where(finite, values, 0.5)) == values)
    table = pl.DataFrame({"value": np.where(whole, values, 0).astype(np.int64), "whole": whole})
    return table.select(pl.when(pl.col("whole")).then(pl.col("value")).alias(name)).to_series()  # [whole]


def _strings(values: list[Any], name: str) -> pl.Series:
    """The strings among objects."""
    import polars as pl

    found = [_text(value) for value in values]  # [strings]
    if not any(one is not None for one in found) and not all(_missing(value) for value in values):
        raise ColumnError(
            f"column {name!r} must hold integer, string or categorical identifiers, and it holds objects of which none "
            "is a string: cast it to Int64 or to strings"
        )  # [some-string]
    return pl.Series(name, found, dtype=pl.String)


def _text(value: Any) -> str | None:
    if not issubclass(type(value), str):
        return None
    try:
        str.encode(value)
    except UnicodeEncodeError:
        return None
    return str.__str__(value)


def _missing(value: Any) -> bool:
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


# end-proof-region: pandas_columns
