"""Tables without a column of people: every row is taken for a user, and nobody has more than so many of them.

Proof: proofs/planning/numbered_rows.tex
"""

from __future__ import annotations

import re
from typing import Any

from ...errors import ColumnError

ROW = "row number"  # the column of users where each row is taken for one


# proof-region: numbered_rows
def numbered_rows(frame: Any) -> Any:
    """The rows of a frame of polars, each with a number of its own in the column ``ROW``.

    Raises:
        ColumnError: The table has such a column.
    """
    rows = frame.lazy()
    if ROW in rows.collect_schema().names():
        raise ColumnError(f"the table has a column {ROW!r}, which is to be made: rename it")
    return rows.with_row_index(ROW)  # [a-number-each]


# end-proof-region: numbered_rows


def in_rows(words: str) -> str:
    """A sentence about users where each of them is a row."""
    return re.sub(r"\buser(s?)\b", r"row\1", words)
