"""What needs no look at a row or an element is refused before it is paid."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.errors import DataError, DataTypeError, MissingExtraError, ParameterError, TableError, TopKError
from tests.concepts.sentinels import raises_exactly

from .conftest import new
from .workers import SPACE, costing

pl = pytest.importorskip("polars", reason="tables require polars")

USERS = tk.UserDistance()
COUNTED = (tk.FrameDomain("u", "i"), USERS) >> tk.then_count_by_item(candidates=["a", "b"])
TOP = COUNTED >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=1, scale=100.0)
SUMMED = (tk.FrameDomain("u", "i", value="v"), USERS) >> tk.then_sum_by_item(
    candidates=["a", "b"], bounds=(0, 1), max_items=1
)
SUMS = SUMMED >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=1, scale=100.0)
FRAME = pl.DataFrame({"u": [1, 2], "i": ["a", "b"], "v": [0, 1]})
VOTED = SPACE >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=1, scale=100.0)

TABLES: dict[str, tuple[tk.Measurement, Any, type[TopKError]]] = {
    "None": (TOP, None, DataTypeError),
    "a path": (TOP, "visits.parquet", DataTypeError),
    "a path object": (TOP, Path("visits.parquet"), DataTypeError),
    "rows": (TOP, [(1, "a")], DataTypeError),
    "a column is missing": (TOP, FRAME.drop("i"), DataError),
    "users are floats": (TOP, FRAME.with_columns(u=pl.lit(1.5)), DataError),
    "lazy floats": (TOP, FRAME.lazy().with_columns(u=pl.lit(1.5)), DataError),
    "values are text": (SUMS, FRAME.with_columns(v=pl.lit("1")), DataError),
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


FRAMED, GROUPED = (tk.FrameDomain("u", "i"), USERS), (tk.FrameDomain("u", "i", group="g"), USERS)
PURE = tk.MaxDivergence()
KEPT = FRAMED >> tk.then_bound_contributions(most=1, by="order", candidates=pl.Series(["a", "b"])) >> TOP
OTHERS = FRAMED >> tk.then_count_outside(items=["a"]) >> tk.then_laplace(PURE, scale=100.0)
GROUPS = GROUPED >> tk.then_keep_groups(most=1, by="order", groups=["x", "y"]) >> tk.then_drop_groups() >> TOP
LISTED: dict[str, tuple[tk.Measurement, str, str]] = {
    "candidates": (TOP, "i", "candidates"),
    "of sums": (SUMS, "i", "candidates"),
    "that are kept": (KEPT, "i", "candidates"),
    "that are left out": (OTHERS, "i", "items"),
    "of a composition": (tk.make_composition([TOP, TOP]), "i", "candidates"),
    "of repetitions": (tk.make_repeat(TOP, times=2), "i", "candidates"),
    "of each group": (GROUPED >> tk.then_partition_by(PURE, measurements={"x": TOP, "y": TOP}), "i", "candidates"),
    "groups": (GROUPED >> tk.then_partition_by(PURE, measurements={"x": TOP, "y": TOP}), "g", "groups"),
    "groups that are kept": (GROUPS, "g", "groups"),
}
TEXTS = FRAME.with_columns(g=pl.lit("x"))
ENGINES: dict[str, Callable[[Any], Any]] = {
    "polars": lambda table: table,
    "lazy": lambda table: table.lazy(),
    "pandas": lambda table: table.to_pandas(),
    "objects": lambda table: table.to_pandas().astype({"i": object}),
    "categories": lambda table: table.with_columns(pl.col("i").cast(pl.String).cast(pl.Categorical)),
    "pyarrow": lambda table: table.to_arrow(),
    "DuckDB": lambda table: pytest.importorskip("duckdb").from_arrow(table.to_arrow()),
}


def ways(measurement: tk.Measurement, ledger: tk.ledger.Ledger, data: Any) -> dict[str, Callable[[], Any]]:
    """Everything that pays and releases, begun with what it needs."""
    talk = ledger.conversation(data)
    planned = ledger.reserve_all([(measurement, "one")])
    reserved = ledger.reserve(measurement)
    return {
        "release": lambda: ledger.release(measurement, data),
        "conversation": lambda: talk(measurement),
        "planned": lambda: planned.release("one", data),
        "reserved": lambda: reserved.release(data),
        "recorded": lambda: tk.planning.release_with_record(ledger, measurement, data),
    }


def require_unpaid(ledger: tk.ledger.Ledger, measurement: tk.Measurement, data: Any, error: type[TopKError]) -> None:
    asked = ways(measurement, ledger, data)
    before = [one.state for one in ledger.history()]
    for way, ask in asked.items():
        with pytest.raises(error if way != "recorded" else (error, ParameterError)):
            ask()
        assert [one.state for one in ledger.history()] == before, way
    assert ledger.planned(2).left() == ("one",)


@pytest.mark.parametrize("kind", TABLES)
def test_what_is_no_table_is_not_paid(kind: str, path: Path) -> None:
    measurement, data, error = TABLES[kind]
    with new(path, 100, metric=USERS) as ledger:
        require_unpaid(ledger, measurement, data, error)
        assert ledger.release(measurement, FRAME).size == 1


@pytest.mark.parametrize("name", LISTED)
def test_a_list_of_another_kind_than_its_column_is_not_paid(name: str, path: Path) -> None:
    measurement, column, what = LISTED[name]
    numbered = TEXTS.with_columns(pl.lit(7).alias(column))
    with new(path, 100, metric=USERS) as ledger:
        require_unpaid(ledger, measurement, numbered, DataError)
        with pytest.raises(DataError, match=f"column '{column}' contains integers, but the {what} are strings"):
            ledger.release(measurement, numbered)
        ledger.release(measurement, TEXTS)


@pytest.mark.parametrize("engine", ENGINES)
def test_integers_for_a_column_of_strings_are_not_paid(engine: str, path: Path) -> None:
    table = ENGINES[engine](FRAME.select("u", "i"))
    counted = FRAMED >> tk.then_count_by_item(candidates=np.array([7, 8]))
    with new(path, 100, metric=USERS) as ledger:
        with pytest.raises(DataError, match="column 'i' contains strings, but the candidates are integers"):
            ledger.release(counted >> tk.then_report_noisy_top_k(PURE, k=1, scale=100.0), table)
        assert ledger.count() == 0
        assert ledger.release(TOP, table).size == 1


def test_nothing_is_known_of_columns_that_a_function_of_the_caller_makes(path: Path) -> None:
    named = tk.make_user_transformation(
        *FRAMED,
        *FRAMED,
        function=lambda rows: pl.DataFrame({"u": rows.collect()["u"].to_native(), "i": "a"}),
        stability_map=lambda d_in: d_in,
    )
    with new(path, 100, metric=USERS) as ledger:
        assert ledger.release(named >> TOP, TEXTS.with_columns(i=pl.lit(7))).size == 1


@pytest.mark.parametrize("kind", VECTORS)
def test_what_is_no_vector_is_not_paid(kind: str, path: Path) -> None:
    with new(path, 100) as ledger:
        require_unpaid(ledger, VOTED, VECTORS[kind], DataTypeError)
        assert ledger.release(VOTED, [1, 2]).size == 1


@pytest.mark.parametrize("module", ["narwhals", "polars"])
def test_a_missing_extra_is_not_paid(module: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with new(path, 100, metric=USERS) as ledger:
        require_unpaid(ledger, TOP, FRAME, MissingExtraError)


def test_elements_are_looked_at_after_the_debit(path: Path) -> None:
    """An error that depends on the data is paid: whether it comes tells of them."""
    with new(path, 100) as ledger, pytest.raises(DataError):
        ledger.release(costing(0.25), ["not a number"])
    with tk.ledger.Ledger(path) as ledger:
        assert [one.state for one in ledger.history()] == ["failed"]


@pytest.mark.parametrize("text", [b"\xff" * 4, b"b\xff" * 2], ids=["not UTF-8", "in part"])
def test_a_file_that_is_read_first_costs_nothing_where_it_is_damaged(text: bytes, path: Path) -> None:
    file = path.with_suffix(".parquet")
    pl.DataFrame({"u": range(8), "i": ["aaaa", "bbbb"] * 4}).write_parquet(file, compression="uncompressed")
    content = file.read_bytes()
    file.write_bytes(content.replace(b"aaaa", text))
    with new(path, 100, metric=USERS) as ledger:
        rows = TOP.input_domain.validate(tk.tables.read_table(file))
        raises_exactly(TableError, rows.read_snapshot)
        assert ledger.count() == 0
        raises_exactly(TableError, lambda: ledger.release(TOP, tk.tables.read_table(file)))
        assert ledger.count() == 1
        file.write_bytes(content)
        rows = TOP.input_domain.validate(tk.tables.read_table(file))
        rows.read_snapshot()
        file.unlink()  # it is not read again
        assert ledger.release(TOP, rows).size == 1
