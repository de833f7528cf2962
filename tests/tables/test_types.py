"""Every type of a column that is accepted is counted like plain Python, and every other one is refused by its name."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from tests.concepts.sentinels import raises_exactly

from . import types

for module in ("narwhals", "polars", "pyarrow", "pandas", "duckdb"):
    pytest.importorskip(module, reason="types of columns are tested where all engines are there")

ROWS = {True: [("u", "a"), ("v", "a"), (None, "b"), ("u", None), ("v", "a")], False: [(1, 2), (3, 2), (0, 0), (3, 2)]}
# On which an engine, or what lies between it and polars, has an opinion of its own.
_ODD = (
    "Categories at random",
    "Enum",
    "string_view",
    "dictionary of string_view by int8",
    "Arrow string_view",
    "object",
)
_ODD = (*_ODD, "Arrow dictionary of string by int32", "ENUM", "UINTEGER", "float64")


@pytest.mark.parametrize("engine", types.ENGINES)
def test_types_on_which_an_engine_has_an_opinion_are_counted_like_the_reference(engine: str) -> None:
    for column in types.columns(engine):
        if column[0] in _ODD:
            assert types.check(engine, column, column, ROWS[column[2]]) > 0


@pytest.mark.slow
def test_every_type_is_counted_like_the_reference() -> None:
    assert min(types.campaign(random.Random(46), 1).values()) > 20


@pytest.mark.parametrize("engine", types.ENGINES)
def test_types_without_exact_identifiers_are_refused_by_their_name(engine: str) -> None:
    texts = types.texts(engine)
    whole = texts.get("String") or texts.get("string") or texts.get("object") or texts["VARCHAR"]
    for name, make in types.refused(engine).items():
        column = make()
        other = whole(["u"] if engine != "DuckDB" else [None])
        for frame in types.frames(engine, other, column):
            error = raises_exactly(
                tk.DataTypeError, lambda frame=frame: types.PAIRS[0].validate(frame), "'work'", "cast"
            )
            assert "Unknown" not in str(error), name


@pytest.mark.parametrize("name", ["*", "^.*$", "^member$"])
@pytest.mark.parametrize("engine", types.ENGINES)
def test_a_name_that_is_a_pattern_of_columns_is_refused(engine: str, name: str) -> None:
    domain = tk.FrameDomain("member", name)
    if engine == "DuckDB":
        import duckdb

        frame = duckdb.sql(f'SELECT 1 AS member, 2 AS "{name}", 3 AS work')
    else:
        make = types.integers(engine)["int64"]
        frame = next(types.frames(engine, make([1]), make([2])))
        renamed = {
            "polars": lambda: frame.rename({"work": name}),
            "pandas": lambda: frame.rename(columns={"work": name}),
        }
        frame = renamed.get(engine, lambda: frame.rename_columns(["member", name]))()
    raises_exactly(tk.DataError, lambda: domain.validate(frame), "pattern", "rename")


def _arrow() -> Any:
    import pyarrow as pa

    ends = pa.py_buffer(np.array([0, 1, 2, 4], np.int32).tobytes())
    return pa.table(
        {"member": ["u", "v", "w"], "work": pa.StringArray.from_buffers(3, ends, pa.py_buffer(b"ab\xff\xfe"))}
    )


def _broken(form: str) -> Any:
    """A table whose last item is no UTF-8, as Arrow says that strings are."""
    import pandas as pd
    import polars as pl
    import pyarrow.dataset

    table = _arrow()
    if form == "polars":
        return pl.from_arrow(table)
    if form == "pandas":
        return table.to_pandas(types_mapper=pd.ArrowDtype)
    return pyarrow.dataset.dataset(table) if form == "dataset" else table


@pytest.mark.parametrize("form", ["pyarrow", "dataset", "polars", "pandas"])
def test_keys_that_are_no_text_are_refused_before_anything_is_drawn(form: str) -> None:
    keep = types.PAIRS >> tk.then_keep_items(most=1, by="order")
    for count in (types.PAIRS, keep):
        counts = count >> tk.then_count_by_item(candidates=None)
        raises_exactly(tk.TableError, lambda counts=counts: counts(_broken(form)), "could not be read")
