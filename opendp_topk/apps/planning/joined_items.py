"""Items of several columns: one text for the entries of a row, from which they are read back.

Proof: proofs/planning/joined_items.tex
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import ColumnError


# proof-region: joined_items
def joined(parts: Sequence[str]) -> str:
    """One text for several, with commas between them, and a backslash before each comma or backslash within."""
    return ",".join(part.replace("\\", "\\\\").replace(",", "\\,") for part in parts)  # [escaped]


def parts_of(text: str) -> list[str]:
    """The texts that :func:`joined` put together."""
    found, signs = [""], iter(text)
    for sign in signs:
        if sign == ",":
            found.append("")  # [next-part]
        else:
            found[-1] += next(signs, "") if sign == "\\" else sign  # [unescaped]
    return found


def with_joined(frame: Any, names: Sequence[str]) -> Any:
    """A frame of polars with the entries of these columns as one text, in the column ``joined(names)``.

    Raises:
        ColumnError: A column holds neither integers nor strings nor categories, or has the name of a pattern.
    """
    import polars as pl

    from ...tables.frames import INTEGERS, STRINGS

    schema = frame.lazy().collect_schema()
    for name in names:
        if name.startswith("^") or type(schema[name]).__name__ not in (*INTEGERS, *STRINGS):  # [check-columns]
            raise ColumnError(
                f"column {name!r} is a part of items: it must hold integers, strings or categories, and its name must "
                "not begin with ^"
            )
    texts = [
        pl.col(name)
        .cast(pl.String)
        .str.replace_all("\\", "\\\\", literal=True)
        .str.replace_all(",", "\\,", literal=True)
        for name in names
    ]
    return frame.with_columns(pl.concat_str(texts, separator=",").alias(joined(names)))  # [each-row]


# end-proof-region: joined_items
