"""Neighbouring data sets that are made of records and tables."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pandas as pd
import polars as pl
import pytest

import opendp_topk as tk
from tests.concepts.sentinels import raises_exactly


def test_a_record_is_removed_or_doubled() -> None:
    records = ["a", "b", "a", "c"]
    pairs = tk.audit.record_pairs(records)
    assert len(pairs) == 6
    for whole, other in pairs:
        assert whole == records
        gone, come = Counter(whole) - Counter(other), Counter(other) - Counter(whole)
        assert gone.total() + come.total() == 1
    assert Counter(len(other) for _, other in pairs) == {3: 3, 5: 3}


def test_a_record_is_replaced_by_another_of_the_list() -> None:
    pairs = tk.audit.record_pairs([1, 2, 2], neighbors="replace")
    assert pairs == [([1, 2, 2], [2, 2, 2]), ([1, 2, 2], [1, 1, 2])]
    assert len(tk.audit.record_pairs(list(range(30)), neighbors="replace", most=7)) == 7


@pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame])
def test_a_person_leaves_with_all_rows(frame: Any) -> None:
    table = frame({"u": ["x", "y", "x", "z"], "v": [1, 2, 3, 4]})
    pairs = tk.audit.table_pairs(table, user="u")
    left = [sorted(other["u"].to_list() if frame is pl.DataFrame else other["u"].tolist()) for _, other in pairs]
    assert sorted(left) == [["x", "x", "y"], ["x", "x", "z"], ["y", "z"]]
    assert left[0] == ["y", "z"]  # the person with the most rows comes first
    assert all(type(other) is frame and whole is table for whole, other in pairs)
    assert sorted(len(other) for _, other in tk.audit.table_pairs(table)) == [3, 3, 3, 3]


def test_what_makes_no_pairs() -> None:
    for call, word in (
        (lambda: tk.audit.record_pairs([1], neighbors="other"), "neighbors"),
        (lambda: tk.audit.record_pairs([]), "records"),
        (lambda: tk.audit.record_pairs([1, 1], neighbors="replace"), "records"),
        (lambda: tk.audit.table_pairs(pl.DataFrame({"u": [1]}), user="v"), "column"),
        (lambda: tk.audit.table_pairs(pl.DataFrame({"u": []})), "row"),
    ):
        raises_exactly(tk.ParameterError, call, word)
    raises_exactly(tk.ParameterTypeError, lambda: tk.audit.table_pairs([1, 2]), "data frame")
