"""``--item region,product``: items of several columns, listed and released in the same ones."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from opendp_topk.apps.planning.verification import AGREES, DISAGREES, verify_record

from .command import record_of
from .conftest import Command
from .test_show import page_of, schema

__all__ = ["schema"]
EXACT = "--epsilon", 10**9
SOLD = {("North", "tea"): 9, ("North", "tea, green"): 7, ("North, old", "tea"): 5, ("South", "tea"): 3}


@pytest.fixture
def sales(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Buyers of products in regions, and a list of pairs with the columns the other way round."""
    monkeypatch.chdir(tmp_path)
    rows = [(buyer, *pair) for pair, number in SOLD.items() for buyer in range(number)]
    pl.DataFrame(rows, schema=["buyer", "region", "product"], orient="row").write_parquet("sales.parquet")
    listed = [(product, region) for region, product in [*SOLD, ("South", "salt")]]
    pl.DataFrame(listed, schema=["product", "region"], orient="row").write_csv("pairs.csv")
    return Path("sales.parquet")


def release(file: Path, *more: object, item: str = "region,product") -> tuple[object, ...]:
    return "release", file, "--user", "buyer", "--item", item, "--k", 3, *more


@pytest.mark.further
def test_pairs_are_released_in_their_columns(command: Command, sales: Path, schema: Any, tmp_path: Path) -> None:
    best = [list(pair) for pair in SOLD][:3]
    asked = release(sales, "--candidates", "pairs.csv", *EXACT, "--counts")
    record = record_of(command(*asked, "--out", "-").out)
    assert (record["items"], record["counts"]) == (best, [9, 7, 5])
    assert [error.message for error in schema.iter_errors(record)] == []
    assert {one.verdict for one in verify_record(record) if one.what == "items"} == {AGREES}
    done = command(*asked)
    assert done.out.split()[:5] == ["rank", "noisy", "count", "region", "product"]
    assert command(*asked, "--out", "top.csv").code == 0
    table = pl.read_csv("top.csv")
    assert table.select("region", "product").rows() == [tuple(one) for one in best]
    assert table.columns == ["rank", "region", "product", "count"]
    page = " ".join(page_of(command, tmp_path, record).text.split())
    assert '"North, old",tea' in page
    assert 'North,"tea, green"' in page
    assert "Each item is one of region,product." in page
    assert "region product" in command("show", "top.json").flat
    for wrong in (
        [["North", "tea"], ["North", "tea"], ["South", "tea"]],
        [["a", "b", "c"]] * 3,
        [["a", "b"], "a", "b"],
    ):
        edited = copy.deepcopy(record) | {"items": wrong}
        assert {one.what: one.verdict for one in verify_record(edited)}["items"] == DISAGREES
    for wrong in ([["a", "b", "c"]] * 3, [["a", "b"], "a", "b"], [["a"]] * 3):
        Path("top.json").write_text(json.dumps(record | {"items": wrong}))
        command("show", "top.json").complains(1, "is not whole")


@pytest.mark.further
def test_pairs_that_nobody_lists(command: Command, sales: Path) -> None:
    record = record_of(command(*release(sales, "--epsilon", 10**5, "--delta", 1e-6, "--out", "-")).out)
    assert record["items"] == [list(pair) for pair in SOLD][:3]


def test_a_plan_takes_the_list(command: Command, sales: Path) -> None:
    told = command("plan", "--candidates", "pairs.csv", "--k", 3, "--epsilon", 1)
    assert told.field("question") == "which 3 of 5 candidates do most users have?"


def test_a_column_with_a_comma_in_its_name_stands_in_quotes(command: Command, sales: Path) -> None:
    pl.read_parquet(sales).rename({"product": "product, sold"}).write_parquet("named.parquet")
    Path("list.txt").write_text("tea\nsalt\ntea, green\n")
    asked = release(Path("named.parquet"), "--candidates", "list.txt", *EXACT, "--out", "-", item='"product, sold"')
    assert record_of(command(*asked).out)["items"] == ["tea", "tea, green", "salt"]


@pytest.mark.further
def test_numbers_of_the_list_are_those_of_the_table_however_they_are_written(command: Command, sales: Path) -> None:
    table = pl.read_parquet(sales).with_columns(pl.lit(7).alias("shop"))
    table.write_parquet("shops.parquet")
    Path("shops.csv").write_text('product,shop\ntea,07\n"tea, green", +7 \ntea,8\n')
    asked = "release", "shops.parquet", "--user", "buyer", "--item", "shop,product", "--k", 2, *EXACT, "--out", "-"
    record = record_of(command(*asked, "--candidates", "shops.csv").out)
    assert record["items"] == [["7", "tea"], ["7", "tea, green"]]
    Path("twice.csv").write_text("product,shop\ntea,07\ntea,7\nsalt,1\n")
    command(*asked, "--candidates", "twice.csv").complains(1, "the candidates must be distinct")
    Path("names.csv").write_text("product,shop\ntea,7\ntea,north\nsalt,1\n")
    command(*asked, "--candidates", "names.csv").complains(1, "column 'shop' holds integers", "candidate 2 is not")
