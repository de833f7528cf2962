"""What looks odd in a list of candidates."""

from __future__ import annotations

from typing import Any

import opendp_topk as tk

from ..concepts.sentinels import raises_exactly


def test_each_oddity_is_named_with_its_first_candidate() -> None:
    cases: list[tuple[list[Any], str | None, list[str]]] = [
        (["ash", "birch", "cedar"], "tree", []),
        ([1, 2, 3], "tree", []),
        (["Tree ", "ash"], "tree", ["candidate 1 is the name of the column: a header line?", "outer blanks: 1 of 2"]),
        (["tree", "7", "-8"], None, ["all candidates but the first are integers: a header line?"]),
        (["7"], "tree", []),
        (
            ["ash", "birch\u200b", "ce\u00addar"],
            None,
            ["characters that nobody sees: 2 of 3 candidates, first number 2"],
        ),
        (["ash", "a\u0308sche"], None, ["not in the usual form of Unicode, NFC: 1 of 2 candidates, first number 2"]),
        (["ash", "Ash", "ASH"], None, ["equal to an earlier one but for upper and lower case: 2 of 3 candidates, fi"]),
        (["ash", 7], None, ["all candidates but the first are integers", "numbers among texts: 1 of 2 candidates"]),
        (["\tash", "birch"], None, ["outer blanks: 1 of 2 candidates, first number 1"]),
    ]
    wrong = []
    for listed, column, expected in cases:
        found = tk.candidate_remarks(listed, column=column)
        if len(found) != len(expected) or not all(map(str.startswith, found, expected)):
            wrong.append((listed, found))
    assert wrong == []


def test_what_is_no_list_is_refused() -> None:
    raises_exactly(tk.ParameterError, lambda: tk.candidate_remarks([]), "at least one candidate")
    raises_exactly(tk.ParameterTypeError, lambda: tk.candidate_remarks(["a"], column=3), "the name of a column")
