"""A table is read once: every path of counting evaluates a source that gives other rows each time no more than once.

Tries proofs/spaces/frame_domains.tex.
"""

import gc
import tempfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.tables import frames as parts
from opendp_topk.tables import rows
from tests.concepts.sentinels import SENTINEL_TEXT, raises_exactly

from .test_frames import needs

pl = pytest.importorskip("polars", reason="the tests of tables make them with polars")
pytest.importorskip("narwhals", reason="tables need narwhals")

_USERS = 30
PAIRS = tk.FrameDomain("member", "work"), tk.UserDistance()
GROUPED = tk.FrameDomain("member", "work", group="town"), tk.UserDistance()
VALUED = tk.FrameDomain("member", "work", value="paid"), tk.UserDistance()


class Source:
    """Of each user the items ``turn``, ``turn + 1`` and ``turn + 2`` of the evaluation with this number, from 1."""

    def __init__(self) -> None:
        self.turn = 0

    def rows(self) -> Any:
        self.turn += 1
        users = [user for user in range(_USERS) for _ in range(3)]
        items = [f"{self.turn + at}" for _ in range(_USERS) for at in range(3)]
        return pl.DataFrame({"member": users, "work": items, "town": [self.turn % 2] * 90, "paid": [1] * 90})

    @property
    def evaluations(self) -> int:
        return self.turn


def polars_plan(source: Source) -> Any:
    from polars.io.plugins import register_io_source

    def read(columns: Any, predicate: Any, n_rows: Any, _: Any) -> Iterator[Any]:
        frame = source.rows()
        yield frame if columns is None else frame.select(columns)

    empty = Source().rows().schema
    return register_io_source(read, schema=empty, validate_schema=False)


def arrow_dataset(source: Source) -> Any:
    import pyarrow as pa
    import pyarrow.dataset as ds

    def read() -> Iterator[Any]:
        yield from source.rows().to_arrow().cast(schema).to_batches()

    schema = pa.schema([("member", pa.int64()), ("work", pa.string()), ("town", pa.int64()), ("paid", pa.int64())])
    return ds.dataset(pa.RecordBatchReader.from_batches(schema, read()))


class DuckDB(Source):
    """The same in a relation, whose evaluations a sequence counts."""

    def __init__(self) -> None:
        self.connection = needs("duckdb").connect()
        self.connection.execute("CREATE SEQUENCE turns")

    def relation(self) -> Any:
        return self.connection.sql(
            "SELECT u AS member, (turn + later)::VARCHAR AS work, turn % 2 AS town, 1 AS paid "
            f"FROM (SELECT nextval('turns') AS turn), range({_USERS}) t(u), range(3) s(later)"
        )

    @property
    def evaluations(self) -> int:
        found: int = self.connection.sql("SELECT nextval('turns') - 1").fetchall()[0][0]
        return found


SOURCES: dict[str, Callable[[], tuple[Any, Source]]] = {
    "polars": lambda: (polars_plan(source := Source()), source),
    "pyarrow": lambda: (arrow_dataset(source := Source()), source),
    "duckdb": lambda: ((source := DuckDB()).relation(), source),
}
MAX = tk.Approximate(tk.MaxDivergence())


def _count(**options: Any) -> Any:
    return PAIRS >> tk.then_count_by_item(**options)


def _by_town(*lists: list[str]) -> Any:
    best = tk.then_permute_and_flip(tk.MaxDivergence(), scale=0.0)
    members = {at: _count(candidates=one) >> best for at, one in enumerate(lists)}
    return GROUPED >> tk.then_partition_by(tk.MaxDivergence(), measurements=members)


def _twice(make: Any) -> Any:
    return make([_count(candidates=["1", "2"]) >> tk.then_permute_and_flip(tk.MaxDivergence(), scale=0.0)] * 2)


PATHS: dict[str, Callable[[Any], Any]] = {
    "listed": lambda table: _count(candidates=["1", "2", "3", "4"])(table).tolist() == [_USERS] * 3 + [0],
    "unlisted": lambda table: dict(_count(candidates=None)(table)) == dict.fromkeys("123", _USERS),
    "max_items": lambda table: dict(_count(candidates=None, max_items=2)(table)) == dict.fromkeys("12", _USERS),
    "sums": lambda table: (VALUED >> tk.then_sum_by_item(candidates=["1"], bounds=(0, 1)))(table).tolist() == [_USERS],
    "outside": lambda table: (PAIRS >> tk.then_count_outside(items=["1"], max_rows=9))(table).tolist() == [2 * _USERS],
    "numbers": lambda table: (
        ((tk.FrameDomain("member", value="paid"), tk.UserDistance())
         >> tk.then_quantile_scores(quantile=Fraction(1, 2), bounds=(0, 1), max_rows=2))(table).tolist()
        == [-2 * _USERS, 0]
    ),
    "breadth": lambda table: (PAIRS >> tk.then_cap_scores(caps=[3], share=Fraction(1, 2)))(table).tolist() == [-_USERS],
    **{
        f"keep by {by}": lambda table, by=by: (
            sum((VALUED >> tk.then_bound_contributions(most=2, by=by)
             >> tk.then_sum_by_item(candidates=None, bounds=(0, 1)))(table).values()) == 2 * _USERS
        )
        for by in ("order", "random", "rows", "value")
    },
    "groups at once": lambda table: list(_by_town(["2", "1"], ["2", "1"])(table)) == [0, 0],
    "groups by lists": lambda table: list(_by_town(["2", "9"], ["9", "2"])(table)) == [0, 1],
    "composition": lambda table: list(_twice(tk.make_composition)(table)) == [0, 0],
}  # fmt: skip


@pytest.mark.quick(name="polars", way="max_items", held="memory")
@pytest.mark.parametrize("held", ["memory", "disk", "parts"])
@pytest.mark.parametrize("way", PATHS)
@pytest.mark.parametrize("name", SOURCES)
def test_every_path_evaluates_a_table_once(name: str, way: str, held: str, monkeypatch: pytest.MonkeyPatch) -> None:
    needs(name)
    if held != "memory":
        monkeypatch.setattr(rows, "_MEMORY", 0)
    if held == "parts":
        monkeypatch.setattr(parts, "_ROWS", 20)
    table, source = SOURCES[name]()
    assert PATHS[way](table)
    assert source.evaluations == 1


def test_a_conversation_reads_its_table_once() -> None:
    table, source = SOURCES["polars"]()
    query = _count(candidates=["1", "2"]) >> tk.then_permute_and_flip(tk.MaxDivergence(), scale=4.0)
    talk = tk.make_adaptive_composition(*PAIRS, tk.MaxDivergence(), d_in=1, d_mids=[1.0, 1.0])(table)
    assert {talk(query), talk(query)} <= {0, 1}
    assert source.evaluations == 1


def test_rows_that_were_checked_are_read_once_by_all_who_count_them() -> None:
    table, source = SOURCES["polars"]()
    checked = PAIRS[0].validate(table)
    assert source.evaluations == 0
    assert [dict(_count(candidates=None)(checked)) for _ in range(2)] == [dict.fromkeys("123", _USERS)] * 2
    assert source.evaluations == 1


@pytest.mark.parametrize("kind", ["int64", "Int64", "object", "category"])
def test_pandas_changed_by_others_after_it_was_checked_counts_as_it_was(kind: str) -> None:
    pd = needs("pandas")
    names: Any = [1, 2, 3] if kind.lower() == "int64" else ["1", "2", "3"]
    frame = pd.DataFrame({"member": pd.Series(names, dtype=kind), "work": [7, 7, 7]})
    checked = PAIRS[0].validate(frame)
    frame.loc[:, "member"] = names[0]
    frame.loc[:, "work"] = 8
    assert dict(_count(candidates=None)(checked)) == {7: 3}


def test_numpy_below_pandas_may_change() -> None:
    pd = needs("pandas")
    import numpy as np

    users = np.array([1, 2, 3])
    checked = PAIRS[0].validate(pd.DataFrame({"member": users, "work": [7, 7, 7]}, copy=False))
    users[:] = 1
    assert dict(_count(candidates=None)(checked)) == {7: 3}


@pytest.mark.parametrize("make", ["read_table", "dataset"])
def test_a_file_that_changes_is_not_read_again(make: str, tmp_path: Path) -> None:
    needs("pyarrow")
    import pyarrow.dataset as ds

    file = tmp_path / "loans.parquet"
    pl.DataFrame({"member": [1, 2], "work": [7, 7]}).write_parquet(file)
    checked = PAIRS[0].validate(tk.tables.read_table(file) if make == "read_table" else ds.dataset(file))
    counts = [dict(_count(candidates=None, max_items=1)(checked))]
    pl.DataFrame({"member": [1, 2, 3], "work": [7, 8, 9]}).write_parquet(file)
    counts.append(dict(_count(candidates=None, max_items=1)(checked)))
    assert counts == [{7: 2}] * 2


def test_what_can_only_be_read_once_and_tells_no_schema_is_refused() -> None:
    pa = needs("pyarrow")
    batch = pa.record_batch({"member": [1], "work": [1]})
    reader = pa.RecordBatchReader.from_batches(batch.schema, [batch])
    sources: list[Any] = [iter([(1, 1)]), reader, (row for row in [(1, 1)])]
    for source in sources:
        raises_exactly(tk.errors.DataTypeError, lambda source=source: PAIRS[0].validate(source), "must be a data frame")


def test_a_table_that_failed_is_not_read_again() -> None:
    table = pl.LazyFrame({"member": [1], "work": [SENTINEL_TEXT]}).with_columns(pl.col("work").cast(pl.Int64))
    checked = PAIRS[0].validate(table)
    raises_exactly(tk.errors.TableError, lambda: _count(candidates=None)(checked), "its back end failed with")
    raises_exactly(tk.errors.TableError, lambda: _count(candidates=None)(checked), "read only once")


def test_a_plan_that_gives_other_columns_than_it_announced_is_refused() -> None:
    options = {"schema": {"member": pl.Int64, "work": pl.Int64}, "validate_output_schema": False}
    lying = pl.LazyFrame({"member": [1], "work": [1]}).map_batches(lambda frame: frame.cast(pl.Float64), **options)
    raises_exactly(tk.errors.TableError, lambda: _count(candidates=None)(lying))


@pytest.mark.parametrize("version", ["1.36.1", "1.34.0", "0.20.31"])
def test_a_polars_that_does_not_tell_of_failures_is_refused(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its batches end where a step fails, as if there were no more rows."""
    monkeypatch.setattr(pl, "__version__", version)
    table = pl.LazyFrame({"member": [1], "work": [7]})
    raises_exactly(tk.errors.MissingExtraError, lambda: PAIRS[0].validate(table), "polars 1.37")
    for fits in ("1.37.0", "1.37.0rc1", "1.40.0", "2.0.0"):
        monkeypatch.setattr(pl, "__version__", fits)
        assert dict(_count(candidates=None)(table)) == {7: 1}


def _chains() -> dict[str, Any]:
    groups = tk.FrameDomain("member", "work", group="town"), tk.UserDistance()
    paid = tk.FrameDomain("member", "work", value="paid"), tk.UserDistance()
    some = tk.then_count_by_item(candidates=[7, 8], max_items=1)
    return {
        "groups": groups >> tk.then_keep_groups(most=3) >> tk.then_drop_groups() >> some,
        "sums": paid >> tk.then_sum_by_item(candidates=[7, 8], bounds=(0, 9), max_items=2),
        "counts": PAIRS >> tk.then_bound_contributions(most=2) >> some,
    }


@pytest.mark.parametrize("name", _chains())
def test_rows_on_the_disk_stay_for_what_was_made_of_them(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {"member": range(9), "work": [7] * 9, "town": [1] * 9, "paid": [1] * 9}
    monkeypatch.setattr(rows, "_MEMORY", 0)
    assert _chains()[name](pl.LazyFrame(columns)).tolist() == [9, 0]


def test_rows_on_the_disk_are_private_and_go_with_their_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(rows, "_MEMORY", 0)
    checked = PAIRS[0].validate(pl.LazyFrame({"member": range(9), "work": [7] * 9}))
    assert dict(_count(candidates=None)(checked)) == {7: 9}
    (folder,) = tmp_path.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    del checked
    gc.collect()
    assert not list(tmp_path.iterdir())
