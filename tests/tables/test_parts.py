"""Frames that are not loaded: counted in parts, one user in one part, with the reference's counts on hostile frames.

Tries proofs/transformations/count_by_item.tex.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opendp_topk.tables import frames as parts
from opendp_topk.tables.files import read_table
from opendp_topk.tables.frames import count_distinct_users, user_item_columns
from opendp_topk.tables.grouping import split_by_group
from opendp_topk.tables.keyed import count_users_by_item
from tests.oracles.counts import distinct_users

from . import hostile
from .test_frames import Columns, duckdb_relation, needs, polars_categorical
from .test_keyed import reference

pl = pytest.importorskip("polars", reason="the tests of tables make them with polars")
nw = pytest.importorskip("narwhals", reason="tables need narwhals")

assert len(hostile.FRAMES) == 24


def frame(columns: Columns, integers: bool) -> Any:
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Int64 if integers else pl.String))


def lazy(columns: Columns, integers: bool, _: Path) -> Any:
    return frame(columns, integers).lazy()


def categories(columns: Columns, integers: bool, _: Path) -> Any:
    return polars_categorical(columns, integers).lazy()


def folder(columns: Columns, integers: bool, path: Path) -> Any:
    return read_table(written(columns, integers, path))


def dataset(columns: Columns, integers: bool, path: Path) -> Any:
    needs("pyarrow")
    import pyarrow.dataset as ds

    return ds.dataset(written(columns, integers, path))


def relation(columns: Columns, integers: bool, _: Path) -> Any:
    return duckdb_relation({"seen": [None] * len(columns["work"]), **columns}, integers)


def written(columns: Columns, integers: bool, path: Path) -> Path:
    """Three files, the second of them empty."""
    whole, half = frame(columns, integers), len(columns["work"]) // 2
    for at, part in enumerate((whole[:half], whole[:0], whole[half:])):
        part.write_parquet(path / f"part-{at}.parquet")
    return path


MAKERS: list[Callable[[Columns, bool, Path], Any]] = [lazy, categories, folder, dataset, relation]


@pytest.mark.slow
@pytest.mark.parametrize("several", [True, False], ids=["parts", "whole"])
@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_hostile_frames_are_counted_like_the_reference(
    make: Callable[[Columns, bool, Path], Any], several: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, (held, integers) in hostile.FRAMES.items():
        monkeypatch.setattr(parts, "_ROWS", max(1, len(held) // 5) if several else 2**24)
        path = tmp_path / name
        path.mkdir()
        table = user_item_columns(make(hostile.columns(held), integers, path), "member", "work")
        listed = hostile.candidates(held, integers)
        assert count_distinct_users(table, listed).tolist() == distinct_users(held, listed), name
        for most in (None, 2):
            found = count_users_by_item(table, most)
            assert found == reference({"u": [u for u, _ in held], "i": [i for _, i in held]}, most), name


@pytest.mark.parametrize("kind", ["Int64", "String", "UInt8"])
def test_every_row_is_in_one_part_and_every_user_too(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_ROWS", 30)
    users = [user % 40 for user in range(200)]
    table = pl.LazyFrame({"user": users, "item": range(200)}).cast({"user": getattr(pl, kind)})
    rows = nw.from_native(table)
    found = [part.collect() for part in parts.iterate_user_parts(rows, rows)]
    assert len(found) == 7
    assert sorted(item for part in found for item in part["item"]) == list(range(200))
    assert sum(len(set(part["user"])) for part in found) == 40


@pytest.mark.parametrize(("size", "expected"), [(0, 1), (1, 1), (30, 1), (31, 2), (60, 2), (61, 3)])
def test_parts_are_as_many_as_rows_ask_for(size: int, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_ROWS", 30)
    rows = nw.from_native(pl.LazyFrame({"user": range(size), "item": range(size)}))
    assert len(list(parts.iterate_user_parts(rows, rows))) == expected


@pytest.mark.parametrize(("size", "expected"), [(0, 1), (1, 1), (3, 1), (4, 2), (6, 2), (7, 3)])
def test_parts_are_as_many_as_texts_ask_for(size: int, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_BYTES", 30)
    rows = nw.from_native(pl.LazyFrame({"user": ["ä"] * size, "item": ["a word", *["in ten b"] * size][1 : size + 1]}))
    rows = nw.from_native(rows.to_native().cast({"user": pl.String, "item": pl.String}))
    assert len(list(parts.iterate_user_parts(rows, rows))) == expected


def test_the_watcher_is_told_how_many_parts_were_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_ROWS", 30)
    told: list[tuple[int, int]] = []
    token = parts.watcher.set(lambda done, of: told.append((done, of)))
    try:
        table = pl.LazyFrame({"member": range(100), "work": range(100)})
        count_distinct_users(user_item_columns(table, "member", "work"), [1])
    finally:
        parts.watcher.reset(token)
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_groups_of_a_dataset_are_split(tmp_path: Path) -> None:
    from opendp_topk.spaces.domains import GroupedFrameDomain

    needs("pyarrow")
    import pyarrow.dataset as ds

    pl.DataFrame({"u": [1, 1, 2], "i": [7, 8, 7], "g": [3, 4, 4]}).write_parquet(tmp_path / "x.parquet")
    tables = split_by_group(GroupedFrameDomain("u", "i", "g").validate(ds.dataset(tmp_path)), [3, 4])
    assert [table.collect()["i"].to_list() for table in tables] == [[7], [7]]


def test_what_is_left_of_a_part_keeps_no_other_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Polars keeps all texts of a frame for as long as one of its rows: so each part kept all of the table."""
    pa = needs("pyarrow")
    texts = ["x" * 200 + f"{at % 1_000:03}" for at in range(8_000)]
    rows = user_item_columns(pl.DataFrame({"member": range(8_000), "work": texts}), "member", "work")
    pairs = rows.read_snapshot().select(nw.col("member").alias("user"), nw.col("work").alias("item"))
    size = sum(map(len, texts))
    monkeypatch.setattr(parts, "_BYTES", size // 8)
    kept = [one.collect().to_native() for one in parts.iterate_user_parts(pairs, rows.read_snapshot())]
    assert len(kept) >= 8
    same = sorted(text for one in kept for text in one["item"]) == sorted(texts)
    assert same  # without a comparison line by line
    assert sum(pa.chunked_array(one["item"]).get_total_buffer_size() for one in kept) < 2 * size
    for most in (None, 1):
        counted = count_users_by_item(rows, most)
        same = dict(counted) == dict.fromkeys(texts[:1_000], 8)
        assert same
        assert pa.chunked_array(counted._keys.to_native()).get_total_buffer_size() < size // 2  # type: ignore[attr-defined]
