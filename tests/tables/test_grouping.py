"""Every back end splits a table like the plain-Python reference, and each user's rows end up in one group at most."""

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from opendp_topk.errors import DataError, DataTypeError, TableError
from opendp_topk.spaces.domains import FrameDomain
from opendp_topk.tables.grouping import split_by_group
from tests.concepts.sentinels import SENTINEL_INT, SENTINEL_TEXT, raises_exactly
from tests.oracles.groups import by_group

from .test_frames import BACK_ENDS, Columns, needs, polars_frame, random_columns

pytest.importorskip("narwhals", reason="tables need narwhals")
pl = pytest.importorskip("polars", reason="the tests of tables make them with polars")

NULLS = ("None", "nan", "<NA>")
DOMAIN = FrameDomain("member", "work", group="seen")


def split(frame: Any, groups: list[Any], domain: FrameDomain = DOMAIN, most: int = 1) -> list[Counter[tuple[Any, ...]]]:
    tables = split_by_group(domain.validate(frame), groups, most)
    for table in tables:
        again = FrameDomain(domain.user, domain.item).validate(table)
        assert again.collect_schema().names() == [domain.user, domain.item]
    return [Counter(map(plain, table.collect().iter_rows())) for table in tables]


def plain(row: Any) -> tuple[Any, ...]:
    """The row in Python values, every kind of null being None."""
    values = [value.as_py() if hasattr(value, "as_py") else value for value in row]
    return tuple(value if isinstance(value, str) else None if str(value) in NULLS else int(value) for value in values)


@pytest.mark.further
@pytest.mark.quick(make=("polars_frame", "pyarrow_table"), integers=True)
@pytest.mark.parametrize("integers", [True, False], ids=["integers", "strings"])
@pytest.mark.parametrize("make", BACK_ENDS, ids=lambda make: make.__name__)
def test_every_back_end_agrees_with_the_reference(make: Callable[[Columns, bool], Any], integers: bool) -> None:
    draw = random.Random(21)
    moved = kept = 0
    for most in [1] * 30 + [2] * 20:
        columns = random_columns(draw, integers)
        rows = list(zip(columns["member"], columns["work"], columns["seen"], strict=True))
        known = list(dict.fromkeys(group for _, _, group in rows if group is not None)) or ([5] if integers else ["z"])
        groups = draw.sample(known, draw.randint(1, len(known))) + ([77, 2**64 - 1] if integers else ["new"])
        draw.shuffle(groups)
        found = split(make(columns, integers), groups, most=most)
        assert found == [Counter(table) for table in by_group(rows, groups, most)]
        kept += sum(map(Counter.total, found))
        moved += sum(row[0] is not None and row[2] in groups for row in rows) - sum(map(Counter.total, found))
    assert kept > 50
    assert moved > 50, "users with rows in several groups must occur"


def test_each_user_is_in_the_first_group_of_the_public_order() -> None:
    frame = pl.DataFrame({"member": [1, 1, 1, 2], "work": [7, 8, 9, 7], "seen": ["b", "a", "a", "b"]})
    assert split(frame, ["a", "b"]) == [Counter({(1, 8): 1, (1, 9): 1}), Counter({(2, 7): 1})]
    assert split(frame, ["b", "a"]) == [Counter({(1, 7): 1, (2, 7): 1}), Counter()]
    assert split(frame, ["c", "a"]) == [Counter(), Counter({(1, 8): 1, (1, 9): 1})]


def test_a_user_may_be_in_several_groups_and_in_no_more() -> None:
    frame = pl.DataFrame({"member": [1, 1, 1, 1, 2], "work": [7, 8, 8, 9, 7], "seen": ["b", "a", "a", "c", "c"]})
    ones = Counter({(1, 8): 2})
    assert split(frame, ["c", "a", "b"], most=2) == [Counter({(1, 9): 1, (2, 7): 1}), ones, Counter()]
    assert split(frame, ["a", "d", "b", "c"], most=2) == [ones, Counter(), Counter({(1, 7): 1}), Counter({(2, 7): 1})]
    assert split(frame, ["a", "b", "c"], most=9)[2] == Counter({(1, 9): 1, (2, 7): 1})


def test_repeated_rows_and_null_items_stay() -> None:
    frame = pl.DataFrame({"member": [1, 1, 1, None], "work": [7, 7, None, 7], "seen": ["a", "a", "a", "a"]})
    assert split(frame, ["a"]) == [Counter({(1, 7): 2, (1, None): 1})]


@pytest.mark.parametrize("names", [("item", "user", "group"), ("group", "place", "user"), ("place", "a", "item")])
@pytest.mark.parametrize("form", ["polars", "pandas", "pyarrow"])
def test_columns_may_have_any_plain_names(names: tuple[str, str, str], form: str) -> None:
    frame: Any = pl.DataFrame({names[0]: [1, 2], names[1]: [7, 8], names[2]: [5, 6]})
    if form != "polars":
        needs(form)
        frame = frame.to_arrow() if form == "pyarrow" else frame.to_pandas()
    assert split(frame, [6, 5], FrameDomain(*names[:2], group=names[2])) == [Counter({(2, 8): 1}), Counter({(1, 7): 1})]


@pytest.mark.parametrize(("group", "wrong", "held"), [(1, "a", "integers"), ("a", 1, "strings")])
def test_groups_of_the_other_kind_are_refused(group: Any, wrong: Any, held: str) -> None:
    frame = pl.DataFrame({"member": [SENTINEL_INT], "work": [SENTINEL_TEXT], "seen": [group]})
    raises_exactly(DataTypeError, lambda: split(frame, [wrong]), f"'seen' contains {held}")


def test_what_fails_in_the_back_end_carries_no_data() -> None:
    frame = polars_frame({"member": ["1"], "work": ["2"], "seen": [SENTINEL_TEXT]}, False).lazy()
    frame = frame.with_columns(pl.col("seen").cast(pl.Int64))
    raises_exactly(TableError, lambda: split(frame, [1]), "its back end failed")


def test_a_missing_column_is_named() -> None:
    frame = pl.DataFrame({"member": [1], "work": [SENTINEL_INT]})
    raises_exactly(DataError, lambda: DOMAIN.validate(frame), "'seen'", "as group")
    floats = pl.DataFrame({"member": [1], "work": [1], "seen": [0.5]})
    raises_exactly(DataTypeError, lambda: DOMAIN.validate(floats), "'seen'", "cast it to Int64")


def test_groups_of_64_bits_stay_apart_whatever_the_items_are() -> None:
    most = 2**64 - 1
    seen = pl.Series("seen", [most, most - 1, most], dtype=pl.UInt64)
    frame = pl.DataFrame({"member": [1, 2, 3], "work": ["x", "x", "y"]}).with_columns(seen)
    assert split(frame, [most, most - 1]) == [Counter({(1, "x"): 1, (3, "y"): 1}), Counter({(2, "x"): 1})]
    items = pl.Series("work", [most, 7], dtype=pl.UInt64)
    frame = pl.DataFrame({"member": [1, 2], "seen": [-1, 5]}).with_columns(items).select("member", "work", "seen")
    assert split(frame, [-1, 5]) == [Counter({(1, most): 1}), Counter({(2, 7): 1})]
