"""Identifiers are compared by their bytes: back end by collation and type, every path of counting like plain Python.

Tries proofs/transformations/count_by_item.tex and proofs/spaces/frame_domains.tex.
"""

import io
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.tables.grouping import count_by_group, split_by_group
from tests.concepts.sentinels import raises_exactly
from tests.transformations.test_quantile_scores import kept as spaced
from tests.transformations.test_quantile_scores import scored

from .test_frames import needs

pl = pytest.importorskip("polars", reason="the tests of tables make them with polars")
pytest.importorskip("narwhals", reason="tables need narwhals")

# What a collation, a locale, padding, a normal form or a careless parser would take for one and the same.
_SPELLINGS = ["apple", "aPpLE", "Ápple", "A\u0301pple", "apple ", "app-le", "", "null"]
_SPELLINGS += ["01", "1", "1.0", "straße", "strasse"]
LISTED = [one for one in _SPELLINGS if one not in ("A\u0301pple", "apple ")]  # lists of candidates may not hold both
ROWS = [
    (user, item, group, 1 + at % 3)
    for at, (user, item, group) in enumerate(
        (user, item, ("town", "Town", "tówn")[len(user) % 3])
        for place, user in enumerate(_SPELLINGS)
        for item in (_SPELLINGS[place:] + _SPELLINGS[:place])[: 1 + place % 5]
    )
]
_NAMES = ["member", "work", "town", "paid"]
_TEXTS = _NAMES[:3]
_OPEN: list[Any] = []


def _columns() -> dict[str, list[Any]]:
    return dict(zip(_NAMES, map(list, zip(*ROWS, strict=True)), strict=True))


def _connected() -> Any:
    """A connection that stays open, since relations of older versions do not keep it."""
    _OPEN.append(needs("duckdb").connect())
    return _OPEN[-1]


def _duckdb(setting: str, kind: str, chosen: str = "*") -> Callable[[], Any]:
    def make() -> Any:
        connection = _connected()
        if setting:
            connection.execute(setting)
        types = ", ".join(f"{name} {kind}" for name in _TEXTS)
        connection.execute(f"CREATE TABLE loans ({types}, paid INTEGER)")
        connection.executemany("INSERT INTO loans VALUES (?, ?, ?, ?)", ROWS)
        return connection.sql(f"SELECT {chosen} FROM loans")

    return make


def _locale() -> str:
    """A collation of ICU, where DuckDB brings it."""
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    found = {name for (name,) in duckdb.connect().sql("PRAGMA collations").fetchall()}
    if "de" not in found:
        pytest.skip("this DuckDB has no collations of ICU, and none are downloaded")
    return "de"


def _pandas(kind: str) -> Callable[[], Any]:
    def make() -> Any:
        pd = needs("pandas")
        if kind.startswith("string[pyarrow"):
            needs("pyarrow")
        return pd.DataFrame(_columns()).astype(dict.fromkeys(_TEXTS, kind))

    return make


def _polars(kind: Any) -> Callable[[], Any]:
    return lambda: pl.DataFrame(_columns()).cast(dict.fromkeys(_TEXTS, kind))


def _arrow(kind: str) -> Callable[[], Any]:
    def make() -> Any:
        pa = needs("pyarrow")
        table = pa.table(_columns())
        held = [table[name].dictionary_encode() if kind == "dictionary" else table[name].cast(kind) for name in _TEXTS]
        return pa.table([*held, table["paid"]], names=_NAMES)

    return make


_COLLATED = "member COLLATE NOCASE AS member, work COLLATE NOCASE AS work, town COLLATE NOACCENT AS town, paid"
CASES: dict[str, Callable[[], Any]] = {
    "duckdb-binary": _duckdb("", "VARCHAR"),
    "duckdb-nocase": _duckdb("", "VARCHAR COLLATE NOCASE"),
    "duckdb-noaccent": _duckdb("", "VARCHAR COLLATE NOACCENT"),
    "duckdb-nfc": _duckdb("", "VARCHAR COLLATE NFC"),
    "duckdb-nocase-noaccent": _duckdb("", "VARCHAR COLLATE NOCASE.NOACCENT"),
    "duckdb-default-nocase": _duckdb("SET default_collation = 'nocase'", "VARCHAR"),
    "duckdb-default-noaccent": _duckdb("SET default_collation = 'noaccent'", "VARCHAR"),
    "duckdb-expression": _duckdb("", "VARCHAR", _COLLATED),
    "duckdb-char": _duckdb("", "CHAR(10)"),
    "duckdb-icu": lambda: _duckdb("", f"VARCHAR COLLATE {_locale()}")(),
    "duckdb-icu-nocase": lambda: _duckdb("", f"VARCHAR COLLATE NOCASE.{_locale()}")(),
    "duckdb-default-icu": lambda: _duckdb(f"SET default_collation = '{_locale()}'", "VARCHAR")(),
    "polars-string": _polars(pl.String),
    "polars-lazy": lambda: _polars(pl.String)().lazy(),
    "polars-categorical": _polars(pl.Categorical),
    "polars-enum": _polars(pl.Enum(sorted({text for row in ROWS for text in row[:3]}, reverse=True))),
    "pandas-object": _pandas("object"),
    "pandas-python": _pandas("string[python]"),
    "pandas-pyarrow": _pandas("string[pyarrow]"),
    "pandas-category": _pandas("category"),
    "pyarrow-string": _arrow("string"),
    "pyarrow-large": _arrow("large_string"),
    "pyarrow-dictionary": _arrow("dictionary"),
}
PAIRS = tk.FrameDomain("member", "work"), tk.UserDistance()
GROUPED = tk.FrameDomain("member", "work", group="town")
VALUED = tk.FrameDomain("member", "work", value="paid"), tk.UserDistance()
GROUPS = ["Town", "town", "tówn"]


def _baskets(most: int | None = None) -> set[tuple[str, str]]:
    baskets = {user: sorted({i for u, i, *_ in ROWS if u == user}) for user, *_ in ROWS}
    return {(user, item) for user, basket in baskets.items() for item in basket[:most]}


def _users(pairs: set[tuple[str, str]]) -> dict[str, int]:
    return dict(Counter(item for _, item in pairs))


def unlisted(frame: Any) -> Any:
    return dict((PAIRS >> tk.then_count_by_item(candidates=None))(frame))


def _reference() -> dict[str, Any]:
    pairs, homes = _baskets(), {user: group for user, _, group, _ in ROWS}
    paid = {(u, i): min(2, sum(p for v, j, _, p in ROWS if (v, j) == (u, i))) for u, i in pairs}
    broad = Counter(user for user, _ in pairs)
    others = Counter(u for u, i, *_ in ROWS if i not in LISTED[::2])
    first: Counter[str] = Counter()
    for user, item in _baskets(1):
        first[item] += paid[user, item]
    counts = _users(pairs)
    return {
        "listed": [counts.get(item, 0) for item in LISTED],
        "unlisted": counts,
        "max_items": _users(_baskets(2)),
        "kept": _users(_baskets(2)),
        "sums": [sum(p for (_, i), p in paid.items() if i == item) for item in LISTED],
        "capped_sums": dict(first),
        "outside": [sum(min(2, n) for n in others.values())],
        "breadth": [-abs(sum(1 if n <= cap else -1 for n in broad.values())) for cap in (1, 2, 3, 4, 5)],
        "numbers": scored(spaced([(u, p) for u, _, _, p in ROWS], Fraction(1), (0, 9), 1), (0, 9), Fraction(1, 2)),
        "grouped": [[sum(homes[u] == g for u, i in pairs if i == item) for item in LISTED] for g in GROUPS],
        "split": [sorted((u, i) for u, i in pairs if homes[u] == g) for g in GROUPS],
    }


REFERENCE = _reference()
_KEEP = PAIRS >> tk.then_bound_contributions(most=2, by="order")
_HALF = Fraction(1, 2)
_NUMBERS = tk.make_quantile_scores(
    tk.FrameDomain("member", value="paid"), tk.UserDistance(), quantile=_HALF, bounds=(0, 9)
)
PATHS: dict[str, Callable[[Any], Any]] = {
    "listed": PAIRS >> tk.then_count_by_item(candidates=LISTED),
    "unlisted": unlisted,
    "max_items": PAIRS >> tk.then_count_by_item(candidates=None, max_items=2),
    "kept": _KEEP >> tk.then_count_by_item(candidates=None),
    "sums": VALUED >> tk.then_sum_by_item(candidates=LISTED, bounds=(0, 2)),
    "capped_sums": VALUED >> tk.then_sum_by_item(candidates=None, bounds=(0, 2), max_items=1),
    "outside": PAIRS >> tk.then_count_outside(items=LISTED[::2], max_rows=2),
    "breadth": PAIRS >> tk.then_cap_scores(caps=[1, 2, 3, 4, 5], share=_HALF),
    "numbers": _NUMBERS,
    "grouped": lambda frame: count_by_group(GROUPED.validate(frame), GROUPS, LISTED).dense_counts(0, len(GROUPS)),
    "split": lambda frame: [
        sorted(set(table.collect().rows())) for table in split_by_group(GROUPED.validate(frame), GROUPS)
    ],
}


@pytest.mark.quick(case="duckdb-nocase")
@pytest.mark.parametrize("case", CASES)
def test_every_path_compares_identifiers_by_their_bytes(case: str) -> None:
    frame = CASES[case]()
    for name, path in PATHS.items():
        found = path(frame)
        plain = found.tolist() if isinstance(found, np.ndarray) else found
        assert (plain if isinstance(plain, list) else dict(plain)) == REFERENCE[name], name


def test_the_reference_tells_spellings_apart() -> None:
    assert len(REFERENCE["unlisted"]) == len(_SPELLINGS) == len({user for user, *_ in ROWS})
    assert REFERENCE["max_items"] != REFERENCE["unlisted"]


REFUSED = ["UUID", "BLOB", "TIMESTAMPTZ", "DECIMAL(18, 3)", "DOUBLE", "HUGEINT", "BOOLEAN", "BIT", "TIME", "VARCHAR[]"]


@pytest.mark.quick(column="work")
@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize("column", ["member", "work"])
def test_types_of_duckdb_that_have_two_spellings_of_one_value_are_refused(kind: str, column: str) -> None:
    other = "work" if column == "member" else "member"
    table = _connected().sql(f"SELECT CAST(NULL AS {kind}) AS {column}, 1 AS {other}")
    raises_exactly(tk.errors.DataTypeError, lambda: PAIRS[0].validate(table), f"{column!r}", "cast")


@pytest.mark.parametrize("stray", [1.5, True, None, b"x", "\ud800", ("t",), np.timedelta64(1), 10**5000], ids=type)
@pytest.mark.parametrize("column", ["member", "work"])
def test_an_object_that_is_no_identifier_is_nobodys_whoevers_row_it_is(stray: Any, column: str) -> None:
    pd = needs("pandas")
    columns = {"member": ["1", "2", "2"], "work": ["1", "1", "True"]}
    columns[column][2] = stray
    for kind in ("object", "category") if isinstance(stray, float | bytes | tuple) else ("object",):
        frame = pd.DataFrame({name: pd.Series(held, dtype=object) for name, held in columns.items()}).astype(kind)
        assert unlisted(frame) == {"1": 2}


@pytest.mark.parametrize("column", ["member", "work"])
def test_a_null_does_not_change_what_the_integers_of_pandas_are(column: str) -> None:
    pd = needs("pandas")
    columns = {"member": [1, 2, 0, 0, 2**53 - 1], "work": [7, 7, 7, 0, -(2**53) + 1]}
    whole = pd.DataFrame(columns)
    for stray in (None, float("inf"), 0.5):
        more = pd.DataFrame({name: [*held, stray if name == column else 7] for name, held in columns.items()})
        assert str(more[column].dtype) == "float64"
        for kind in ("float64", "Float64", "double[pyarrow]"):
            assert unlisted(more.astype({column: kind})) == unlisted(whole) == {7: 3, 0: 1, -(2**53) + 1: 1}
    zeros = pd.DataFrame({"member": [0.0, -0.0, 1.0], "work": [7.0, 7.0, 7.0]})
    assert unlisted(zeros) == {7: 2}


def test_floats_that_may_be_several_integers_are_refused() -> None:
    pd = needs("pandas")
    frame = pd.DataFrame({"member": [2**53, None], "work": ["a", "b"]})
    raises_exactly(tk.errors.DataError, lambda: unlisted(frame), "'member'", "2^53", 'astype("Int64")')


@pytest.mark.parametrize("kind", ["object", "category"])
def test_an_integer_among_objects_is_its_decimal_text(kind: str) -> None:
    pd = needs("pandas")
    same = [1, "1", 1.0, np.int64(1), np.uint8(1), np.float32(1)]
    users = [2**64, str(2**64), -7, "-7", 0.0, -0.0, *same]
    frame = pd.DataFrame({"member": users, "work": [*same, *same]}, dtype=object)
    assert unlisted(frame.astype(kind) if kind == "object" else frame.astype({"member": kind})) == {"1": 4}


def test_one_stray_text_in_a_column_of_integers_takes_no_other_rows() -> None:
    """pandas makes objects of such a column: integers in chunks of the file with nothing else, texts in others."""
    pd = needs("pandas")
    lines = "".join(f"{user},{'ab'[user % 2]}\n" for user in range(20_000))
    plain, stray = (pd.read_csv(io.StringIO(f"member,work\n{lines}{more}")) for more in ("", "x1,zz\n"))
    chunks = pd.concat([plain[:9_000].astype(object), stray[9_000:].astype(object)])  # as of a file of several chunks
    assert {int, str} <= set(map(type, chunks["member"]))
    assert unlisted(plain) == {"a": 10_000, "b": 10_000}
    assert unlisted(chunks) == {"a": 10_000, "b": 10_000, "zz": 1}


def test_objects_of_which_none_is_an_identifier_are_refused() -> None:
    pd = needs("pandas")

    def works(*held: Any) -> Any:
        return unlisted(pd.DataFrame({"member": [1, 2], "work": pd.Series(held, dtype=object)}))

    for other in (True, None, 0.5):
        raises_exactly(tk.errors.DataError, lambda other=other: works(1.5, other), "'work'", "contains other objects")
    assert works(None, None) == works(np.nan, None) == works(pd.NA, pd.NaT) == {}
    many = pd.DataFrame({"member": ["a", 2.0**53], "work": [1, 2]})
    raises_exactly(tk.errors.DataError, lambda: unlisted(many), "'member'", "2^53")
