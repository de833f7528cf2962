"""What looks odd in a list of candidates: it is public, so to look at it costs no privacy."""

from __future__ import annotations

import unicodedata
from collections.abc import Hashable, Iterable
from typing import Any

from ..errors import checks
from .candidates import public_items

_UNSEEN = ("Cc", "Cf", "Zl", "Zp")  # categories of Unicode whose characters nobody sees


def candidate_remarks(candidates: Iterable[Hashable], *, column: str | None = None) -> list[str]:
    """What looks odd in a list of candidates, in words: what is counted as no item of the table counts as 0.

    Found are: a header line, outer blanks, characters that nobody sees, texts in another form of Unicode than the
    usual one (NFC), texts that differ by upper and lower case alone, and numbers among texts. The list stays as it is.

    Args:
        candidates: The list, as for ``make_count_by_item``.
        column: The name of the column of items, for which the first candidate is compared.

    Returns:
        Remarks, each with the number of the first candidate of its kind, counted from 1; none where nothing is odd.

    Raises:
        CandidatesError: The list is none, or repeats an item.
        ParameterTypeError: ``column`` is no text.

    Example:
        >>> import opendp_topk as tk
        >>> tk.candidate_remarks(["page", "home", "help "], column="page")
        ['candidate 1 is the name of the column: a header line?', 'outer blanks: 1 of 3 candidates, first number 3']
    """
    listed = public_items(candidates, "candidates")
    if column is not None:
        checks.instance("column", column, str, "the name of a column")
    texts = {number: item for number, item in enumerate(listed, start=1) if isinstance(item, str)}
    remarks = []
    if column is not None and isinstance(listed[0], str) and _folded(listed[0]) == _folded(column):
        remarks.append("candidate 1 is the name of the column: a header line?")
    elif len(listed) > 1 and not _is_number(listed[0]) and all(map(_is_number, listed[1:])):
        remarks.append("all candidates but the first are integers: a header line?")
    folded: dict[str, int] = {}
    kinds = {
        "outer blanks": [number for number, item in texts.items() if item != item.strip()],
        "characters that nobody sees": [n for n, item in texts.items() if any(map(_is_unseen, item.strip()))],
        "not in the usual form of Unicode, NFC": [
            number for number, item in texts.items() if not unicodedata.is_normalized("NFC", item)
        ],
        "equal to an earlier one but for upper and lower case": [
            number for number, item in texts.items() if folded.setdefault(_folded(item), number) != number
        ],
        "numbers among texts": [n for n, item in enumerate(listed, start=1) if texts and not isinstance(item, str)],
    }
    for kind, found in kinds.items():
        if found:
            remarks.append(f"{kind}: {len(found)} of {len(listed)} candidates, first number {found[0]}")
    return remarks


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).strip().casefold()


def _is_unseen(character: str) -> bool:
    return unicodedata.category(character) in _UNSEEN


def _is_number(item: Any) -> bool:
    return checks.is_integer(item) or (isinstance(item, str) and item.strip().lstrip("+-").isdecimal())
