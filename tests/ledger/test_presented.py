"""What needs no look at a row or an element is refused before it is paid."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk

from .conftest import new
from .workers import SPACE, costing

pl = pytest.importorskip("polars", reason="tables need polars")

USERS = tk.UserDistance()
COUNTED = (tk.FrameDomain("u", "i"), USERS) >> tk.then_count_by_item(candidates=["a", "b"])
TOP = COUNTED >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=1, scale=100.0)
SUMMED = (tk.ValuedFrameDomain("u", "i", "v"), USERS) >> tk.then_sum_by_item(
    candidates=["a", "b"], bounds=(0, 1), max_items=1
)
SUMS = SUMMED >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=1, scale=100.0)
FRAME = pl.DataFrame({"u": [1, 2], "i": ["a", "b"], "v": [0, 1]})
VOTED = SPACE >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=1, scale=100.0)

TABLES: dict[str, tuple[tk.Measurement, Any, type[tk.TopKError]]] = {
    "None": (TOP, None, tk.DataTypeError),
    "a path": (TOP, "visits.parquet", tk.DataTypeError),
    "a path object": (TOP, Path("visits.parquet"), tk.DataTypeError),
    "rows": (TOP, [(1, "a")], tk.DataTypeError),
    "a column is missing": (TOP, FRAME.drop("i"), tk.ColumnError),
    "users are floats": (TOP, FRAME.with_columns(u=pl.lit(1.5)), tk.ColumnError),
    "lazy floats": (TOP, FRAME.lazy().with_columns(u=pl.lit(1.5)), tk.ColumnError),
    "values are text": (SUMS, FRAME.with_columns(v=pl.lit("1")), tk.ColumnError),
}
VECTORS: dict[str, Any] = {
    "None": None,
    "a number": 3,
    "text": "31",
    "a mapping": {"a": 1},
    "two dimensions": np.array([[1, 2]]),
    "no dimension": np.array(1),
    "floats": np.array([1.0, 2.0]),
    "texts": np.array(["a"]),
}


def ways(measurement: tk.Measurement, ledger: tk.Ledger, data: Any) -> dict[str, Callable[[], Any]]:
    """Everything that pays and releases, begun with what it needs."""
    talk = ledger.conversation(data)
    planned = ledger.reserve_all([(measurement, "one")])
    reserved = ledger.reserve(measurement)
    return {
        "release": lambda: ledger.release(measurement, data),
        "conversation": lambda: talk(measurement),
        "planned": lambda: planned.release("one", data),
        "reserved": lambda: reserved.release(data),
        "recorded": lambda: tk.release_with_record(ledger, measurement, data),
    }


def require_unpaid(ledger: tk.Ledger, measurement: tk.Measurement, data: Any, error: type[tk.TopKError]) -> None:
    asked = ways(measurement, ledger, data)
    before = [one.state for one in ledger.history()]
    for way, ask in asked.items():
        with pytest.raises(error if way != "recorded" else (error, tk.ParameterError)):
            ask()
        assert [one.state for one in ledger.history()] == before, way
    assert ledger.planned(2).left() == ("one",)


@pytest.mark.parametrize("kind", TABLES)
def test_what_is_no_table_is_not_paid(kind: str, path: Path) -> None:
    measurement, data, error = TABLES[kind]
    with new(path, 100, metric=USERS) as ledger:
        require_unpaid(ledger, measurement, data, error)
        assert ledger.release(measurement, FRAME).size == 1


@pytest.mark.parametrize("kind", VECTORS)
def test_what_is_no_vector_is_not_paid(kind: str, path: Path) -> None:
    with new(path, 100) as ledger:
        require_unpaid(ledger, VOTED, VECTORS[kind], tk.DataTypeError)
        assert ledger.release(VOTED, [1, 2]).size == 1


@pytest.mark.parametrize("module", ["narwhals", "polars"])
def test_a_missing_extra_is_not_paid(module: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with new(path, 100, metric=USERS) as ledger:
        require_unpaid(ledger, TOP, FRAME, tk.MissingExtraError)


def test_elements_are_looked_at_after_the_debit(path: Path) -> None:
    """An error that depends on the data is paid: whether it comes tells of them."""
    with new(path, 100) as ledger, pytest.raises(tk.DataError):
        ledger.release(costing(0.25), ["not a number"])
    with tk.Ledger(path) as ledger:
        assert [one.state for one in ledger.history()] == ["failed"]
