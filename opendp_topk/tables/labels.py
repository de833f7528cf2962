"""Whether a column that claims strings holds strings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import narwhals as nw

_ARROW_STRINGS = ("string", "large_string")


def all_strings(chosen: nw.LazyFrame[Any], name: str) -> bool:
    """Whether a column that narwhals takes for strings holds strings: pandas and pyarrow do not promise it."""
    if chosen.implementation.is_pyarrow():
        return _arrow_strings(chosen.to_native().schema.field(name).type)
    if not chosen.implementation.is_pandas_like():
        return True
    column = chosen.to_native()[name]
    if hasattr(column.dtype, "pyarrow_dtype"):
        return _arrow_strings(column.dtype.pyarrow_dtype)
    if getattr(column.dtype, "storage", "") == "pyarrow":
        return True
    values = getattr(column.dtype, "categories", column)
    try:
        "".join(values.dropna()).encode()
    except (TypeError, UnicodeEncodeError):
        return False
    return True


def _arrow_strings(arrow_type: Any) -> bool:
    return str(getattr(arrow_type, "value_type", arrow_type)) in _ARROW_STRINGS
