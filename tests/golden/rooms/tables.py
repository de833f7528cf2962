"""What is counted and summed in tables: the same rows in several kinds of frames, with nulls, repeats and odd items."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

from ..case import Case, named
from ..names import tk

ROWS: list[tuple[Any, Any, Any]] = [
    (1, "a", 3), (1, "a", 3), (1, "b", -7), (2, "a", 0), (2, "c", 12), (3, "b", 5), (3, "zz", 1), (None, "a", 1),
    (4, None, 1), (5, "b", None), (5, "", 2), (6, "é", 4), (6, "a", 9), (7, "c", 2), (7, "b", 2), (7, "a", 2),
]  # fmt: skip
NAMES = ["buyer", "book", "paid"]
ITEMS = ["a", "b", "c", "none", "é", ""]
KINDS = ("polars", "lazy", "pandas", "pyarrow", "duckdb")
USERS = tk.UserDistance()
ROWS_DOMAIN, SUMS_DOMAIN = tk.FrameDomain("buyer", "book"), tk.FrameDomain("buyer", "book", value="paid")


def frame(kind: str, rows: list[tuple[Any, ...]] = ROWS) -> Any:
    import polars

    made = polars.DataFrame(rows, schema=NAMES, orient="row")
    if kind == "duckdb":
        import duckdb

        arrow = made.to_arrow()
        return duckdb.connect().from_arrow(arrow)
    return {"polars": made.clone, "lazy": made.lazy, "pandas": made.to_pandas, "pyarrow": made.to_arrow}[kind]()


def cases() -> Iterator[Case]:
    for words, build in _links():
        for kind in KINDS:
            yield named(words, kind), partial(_image, build, kind)
    wrong: dict[str, Any] = {
        "no frame": [(1, "a")],
        "nothing": None,
        "a column short": frame("polars").drop("book"),
        "floats": frame("polars").with_columns(book=0.5),
        "integers": frame("polars").with_columns(book=1),
        "bools": frame("polars").with_columns(buyer=True),
        "text": frame("polars").with_columns(paid=frame("polars")["book"]),
        "no rows": frame("polars").clear(),
    }
    for words, build in list(_links())[:6]:
        for name, table in wrong.items():
            yield named(words, name), lambda build=build, table=table: _plain(build()(table))
    yield "read csv", partial(_read, "table.csv", "user,item\n1,a\n2,b\n1,b\n")
    yield "read nothing", partial(_read, "table.csv", "")
    yield "read another kind", partial(_read, "table.xyz", "user,item\n")
    yield "read a broken parquet", partial(_read, "table.parquet", "user,item\n")


def _links() -> Iterator[tuple[str, Callable[[], Any]]]:
    for kind in ("add_remove", "replace"):
        between = tk.UserDistance(kind)
        yield named("counts", kind), partial(tk.make_count_by_item, ROWS_DOMAIN, between, candidates=ITEMS)
        for most in (None, 1, 2):
            options = {"candidates": None, "max_items": most}
            count = partial(tk.make_count_by_item, ROWS_DOMAIN, between, **options)
            yield named("every item", kind, max_items=most), count
    for bounds in ((0, 10), (-3, 4)):
        for step in (1, 2, Fraction(1, 2)):
            options = {"candidates": ITEMS, "bounds": bounds, "granularity": step}
            yield named("sums", bounds, step=step), partial(tk.make_sum_by_item, SUMS_DOMAIN, USERS, **options)
    for most in (1, 3):
        options = {"items": ["a", "b"], "max_rows": most}
        yield named("outside", max_rows=most), partial(tk.make_count_outside, ROWS_DOMAIN, USERS, **options)
    for by in ("order", "value"):
        yield named("kept", by), partial(_kept, by)
    numbers = tk.FrameDomain("buyer", value="paid")
    for most in (1, 2):
        options = {"quantile": Fraction(1, 2), "bounds": (0, 10), "max_rows": most}
        yield named("median", max_rows=most), partial(tk.make_quantile_scores, numbers, USERS, **options)
    yield "caps", partial(tk.make_cap_scores, ROWS_DOMAIN, USERS, caps=[1, 2, 3], share=Fraction(1, 2))


def _kept(by: str) -> Any:
    kept = (SUMS_DOMAIN, USERS) >> tk.then_bound_contributions(most=2, by=by)
    return kept >> tk.then_sum_by_item(candidates=ITEMS, bounds=(0, 10))


def _image(build: Callable[[], Any], kind: str) -> Any:
    return _plain(build()(frame(kind)))


def _plain(found: Any) -> Any:
    return sorted(found.items()) if hasattr(found, "items") else found


def _read(name: str, content: str) -> Any:
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_text(content)
        try:
            return str(tk.tables.read_table(path).collect().rows())
        except tk.errors.TopKError as error:
            return f"{type(error).__name__}: {error}".replace(folder, "FOLDER")
