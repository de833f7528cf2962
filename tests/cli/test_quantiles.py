"""``--quantile`` and ``--sum``: plans and releases of a column of numbers, their records, and who pays for them."""

import copy
import json
import shutil
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.apps.planning.question import parse_grid
from opendp_topk.apps.planning.units import Columns, format_grid_score
from opendp_topk.apps.planning.verification import AGREES, DISAGREES, verify_record

from .command import edited, record_of
from .conftest import Command
from .test_paid_plans import ways
from .test_show import page_of, saved, schema

pl = pytest.importorskip("polars", reason="the command reads tables with polars")

__all__ = ["schema"]
EXACT = "--epsilon", 10**9
FORMATS = Path(__file__).parents[1] / "formats"
AGE = "--quantile", "9/10", "--column", "age", "--bounds", "0,120"
TYPES = "--types", "age=decimal_or_null,reader=integer"
SENTINEL = 77.125  # an age of one reader alone
Paid = tuple[dict[str, Any], Path]


@pytest.fixture
def readers(tmp_path: Path) -> Path:
    """Readers 0 to 99 of ages 0.25, 1.25 and so on; reader 100 has many rows, whose median is 50.5."""
    rows = [(reader, f"{reader}.25") for reader in range(100)]
    rows += [(100, one) for one in ("-900", "50.5", "77.125", "x", "", "nan")]
    file = tmp_path / "readers.csv"
    pl.DataFrame(rows, schema=["reader", "age"], orient="row").write_csv(file)
    return file


def release(file: Path, *more: object) -> tuple[object, ...]:
    return "release", "quantile", file, "--user", "reader", *(TYPES if file.suffix == ".csv" else ()), *more


@pytest.mark.slow
def test_the_number_is_the_quantile_of_the_rows_that_count(command: Command, readers: Path) -> None:
    """Of 101 rows, one a reader, the quantile is the 91st: reader 100 counts for one with 50.5, so it is 89.25."""
    for step, expected in (("0.25", "89.25"), ("0.5", "89.5"), ("1", 89), ("1/3", "268/3")):
        asked = release(readers, *AGE, *EXACT, "--step", step)
        record = record_of(command(*asked, "--out", "-").out)
        assert record["items"] == [expected]
        assert record["mechanism"]["transformation"] == "quantile_scores"
    result = command(*release(readers, *AGE, *EXACT, "--step", "0.5"))
    assert result.out.split()[0] == "number"
    assert result.out.split()[2] == "89.5"


@pytest.mark.further
def test_of_a_user_with_many_rows_so_many_count_as_is_asked(command: Command, readers: Path) -> None:
    """-900 counts as 0, and x, nothing and nan count for nothing."""
    heavy = readers.with_name("heavy.csv")
    rows = [(1, n) for n in (-900, 10, 20, 20, 30)] + [(2, 40)]
    pl.DataFrame(rows, schema=["reader", "age"], orient="row").write_csv(heavy)
    asked = release(heavy, "--quantile", "0.1", "--column", "age", "--bounds", "0,120", *EXACT)
    found = [record_of(command(*asked, "--max-rows", most, "--out", "-").out)["items"] for most in (1, 2, 5)]
    assert found == [[20], [10], [0]]


@pytest.mark.further
def test_a_condition_on_rows_goes_with_a_quantile(command: Command, readers: Path) -> None:
    """Of the readers 90 to 100, whose ages are 50.5, 90.25, ..., 99.25, the quantile is the tenth."""
    asked = release(readers, *AGE, *EXACT, "--step", "0.25", "--where", "reader >= 90", "--out", "-")
    record = record_of(command(*asked).out)
    assert (record["items"], record["where"]) == (["98.25"], "reader >= 90")


@pytest.mark.further
def test_the_table_of_a_number_has_no_rank_and_a_sign(command: Command, readers: Path) -> None:
    file = readers.with_name("out.csv")
    asked = "--quantile", "1/2", "--column", "age", "--bounds", "-3,-1", "--step", "0.5"
    assert command(*release(readers, *asked, *EXACT, "--out", file)).code == 0
    assert file.read_text("utf-8") == "number\n-1\n"
    below = "--quantile", "1/2", "--column", "age", "--bounds", "-3.5,-1.5", "--step", "0.5"
    assert command(*release(readers, *below, *EXACT, "--out", file, "--force")).code == 0
    assert file.read_text("utf-8") == "number\n-1.5\n"


@pytest.mark.further
def test_a_plan_tells_what_the_release_does(command: Command, readers: Path) -> None:
    told = command("plan", "quantile", *AGE, "--step", "0.5", "--epsilon", 1)
    done = command(*release(readers, *AGE, "--step", "0.5", "--epsilon", 1))
    assert (told.code, done.code) == (0, 0)
    assert told.field("question") == "which of 241 numbers is the 9/10 quantile of age?"
    assert told.field("accuracy") == done.field("accuracy")
    assert "of each user 1 row is counted, the median of the user's rows" in told.field("accuracy")
    assert told.field("cost") == done.field("cost")
    assert told.field("scale").startswith("18.0 ")
    more = command("plan", "quantile", *AGE, "--max-rows", 3, "--epsilon", 1)
    assert "of each user at most 3 rows are counted, evenly spaced" in more.field("accuracy")
    assert more.field("scale").startswith("54.0 ")


@pytest.fixture
def paid(command: Command, readers: Path) -> Paid:
    """A record that a ledger has paid for, and the ledger."""
    book, file = readers.with_name("budget.ledger"), readers.with_name("out.json")
    command("ledger", "create", book, "--dataset", "readers", "--epsilon", 3, "--user", "reader")
    asked = release(readers, *AGE, "--step", "0.25", "--epsilon", 1, "--ledger", book, "--out", file)
    assert command(*asked).code == 0
    return record_of(file.read_text("utf-8")), book


@pytest.mark.further
def test_a_record_is_valid_and_whole(command: Command, paid: Paid, schema: Any, tmp_path: Path) -> None:
    record, book = paid
    assert [error.message for error in schema.iter_errors(record)] == []
    bare = copy.deepcopy(record)
    del bare["mechanism"]["max_rows"]
    assert list(schema.iter_errors(bare))
    with tk.ledger.Ledger(book) as ledger:
        found = {one.what: one.verdict for one in verify_record(record, ledger)}
    assert {one for one, verdict in found.items() if verdict != AGREES} == {"table"}
    shown = command("show", tmp_path / "out.json", "--ledger", book).flat
    page = " ".join(page_of(command, tmp_path, record).text.split())
    for words in (
        "The 9/10 quantile of age",
        "Of the multiples of 0.25 from 0 to 120 one was drawn",
        "noise of scale 1.8 rows",
        "one row was counted, the median.",
    ):
        assert words in shown
        assert words in page
    assert str(record["items"][0]) in page
    assert "list of candidates" not in page
    assert "18.0 / 10 rows" in page


@pytest.mark.further
def test_an_edit_is_found_without_the_ledger(paid: Paid) -> None:
    edits: list[tuple[tuple[Any, ...], Any, str]] = [
        (("items",), ["90.3"], "items"),
        (("items",), ["120.25"], "items"),
        (("items",), ["50.50"], "items"),
        (("items",), [], "measurement"),
        (("mechanism", "quantile"), "1/2", "cost"),
        (("mechanism", "quantile"), "9/11", "accuracy"),
        (("mechanism", "max_rows"), 2, "cost"),
        (("mechanism", "upper"), 240.0, "measurement"),
        (("mechanism", "granularity"), 0.5, "measurement"),
        (("scale",), 9.0, "cost"),
        (("accuracy", "within_users"), 3, "accuracy"),
    ]
    for path, value, what in edits:
        found = {one.what: one.verdict for one in verify_record(edited(paid[0], path, value))}
        assert found[what] == DISAGREES, (path, value, found)


@pytest.mark.further
@pytest.mark.parametrize(
    ("name", "value"),
    [("quantile", "1e9"), ("quantile", "0/1"), ("quantile", 0.5), ("value", None), ("max_rows", 0), ("lower", "0")],
)
def test_inconsistent_records_are_none(command: Command, paid: Paid, tmp_path: Path, name: str, value: Any) -> None:
    record = copy.deepcopy(paid[0])
    record["mechanism"][name] = value
    for asked in ("show", "verify"):
        command(asked, saved(tmp_path, record)).complains(1, "is invalid: ")


@pytest.mark.further
def test_the_same_question_is_answered_from_its_record(command: Command, readers: Path, paid: Paid) -> None:
    record, book = paid
    again = release(readers, *AGE, "--step", "0.25", "--epsilon", 1, "--ledger", book)
    told = command(*again, "--from-record", readers.with_name("out.json"))
    assert (told.code, told.out.split()[2]) == (0, str(record["items"][0]))
    other = command(*again, "--max-rows", 2, "--from-record", readers.with_name("out.json"))
    other.complains(1, "differs from this question")


def last_records(command: Command, *asked: Any) -> Iterator[dict[str, Any]]:
    """Every command of every way that the plan prints is run: the last record of each."""
    found = ways(command("plan", "quantile", *asked, "--epsilon", 2, "--delta", 1e-6, "--releases", 2))
    assert list(found) == ["pure", "zCDP", "(epsilon, delta)"]
    book = Path("budget.ledger")
    for name, commands in found.items():
        book.unlink(missing_ok=True)
        shutil.rmtree(f"{book}.records", ignore_errors=True)
        for words in commands:
            own = ["readers.csv" if one == "visits.parquet" else "reader" if one == "visitor" else one for one in words]
            own += TYPES if own[0] == "release" else ()
            done = command(*own, *(["--out", "last.json", "--force"] if own[0] == "release" else []))
            assert done.code == 0, (name, own, done)
        record = json.loads(Path("last.json").read_text("utf-8"))
        with tk.ledger.Ledger(book) as ledger:
            assert [one.state for one in ledger.history()].count("released") == 2
            assert DISAGREES not in {one.verdict for one in verify_record(record, ledger)}
        yield record


@pytest.mark.slow
def test_planned_quantiles_are_paid_and_drawn(
    command: Command, readers: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for record in last_records(command, *AGE, "--step", "1/4", "--max-rows", 2):
        known = record["mechanism"]
        assert (known["quantile"], known["value"], known["max_rows"], known["granularity"]) == ("9/10", "age", 2, 0.25)


QUARTERS = "--quantile", ".25,0.5,3/4", "--column", "age", "--bounds", "0,120"


@pytest.mark.further
def test_several_are_those_of_halving(command: Command, readers: Path) -> None:
    """The median of 101 rows is 50.25; the quartiles are the medians of the 50 rows below it and of the 51 others."""
    asked = release(readers, *QUARTERS, *EXACT, "--step", "0.25")
    record = record_of(command(*asked, "--out", "-").out)
    first, middle, last = map(Fraction, record["items"])
    assert Fraction("24.25") <= first <= Fraction("25.25")
    assert (middle, last) == (Fraction("50.25"), Fraction("74.25"))
    assert (record["k"], record["mechanism"]["quantiles"]) == (3, ["1/4", "1/2", "3/4"])
    shown = command(*asked).out.split()
    assert shown[:2] == ["quantile", "number"]
    assert shown[shown.index("1/2") + 1] == "50.25"
    file = readers.with_name("three.csv")
    assert command(*asked, "--out", file).code == 0
    head, *lines = file.read_text("utf-8").splitlines()
    assert (head, lines[1:]) == ("quantile,number", ["1/2,50.25", "3/4,74.25"])


@pytest.mark.further
def test_several_that_are_the_same_number_agree(command: Command, readers: Path, schema: Any, tmp_path: Path) -> None:
    """The record of two equal quantiles is whole; edits of it are found."""
    alike, book, file = readers.with_name("alike.csv"), tmp_path / "book.ledger", tmp_path / "three.json"
    pl.DataFrame({"reader": range(60), "age": [20] * 50 + [30] * 10}).write_csv(alike)
    command("ledger", "create", book, "--dataset", "readers", "--epsilon", 10**9, "--user", "reader")
    asked = release(alike, *QUARTERS, "--epsilon", 10**8, "--ledger", book)
    assert command(*asked, "--out", file).code == 0
    record = record_of(file.read_text("utf-8"))
    assert record["items"] == [20, 20, 20]
    assert [error.message for error in schema.iter_errors(record)] == []
    with tk.ledger.Ledger(book) as ledger:
        found = {one.what: one.verdict for one in verify_record(record, ledger)}
    assert {one for one, verdict in found.items() if verdict != AGREES} == {"table"}
    told = command(*asked, "--from-record", file)
    assert (told.code, told.out.split()[3:8:2]) == (0, ["1/4", "1/2", "3/4"])
    shown = command("show", file, "--ledger", book).flat
    page = " ".join(page_of(command, tmp_path, record).text.split())
    for words in (
        "The 1/4, 1/2 and 3/4 quantiles of age",
        "one was drawn for each quantile, first the middle one",
        "or up to twice this scale if a quantile is not the middle of its rows",
        "They are not the exact quantiles",
    ):
        assert words in shown + page
    edits: list[tuple[tuple[Any, ...], Any, str]] = [
        (("items",), [20, 21, 20], "items"),
        (("items",), [20, 20, 121], "items"),
        (("items",), [20, 20, "41/2"], "items"),
        (("mechanism", "quantiles"), ["1/4", "1/2", "4/5"], "accuracy"),
        (("mechanism", "quantiles"), ["1/2", "1/2", "3/4"], "measurement"),
        (("mechanism", "places"), 32, "accuracy"),
        (("mechanism", "max_rows"), 2, "cost"),
        (("scale",), record["scale"] / 2, "cost"),
    ]
    for path, value, what in edits:
        verdicts = {one.what: one.verdict for one in verify_record(edited(record, path, value))}
        assert verdicts[what] == DISAGREES, (path, value, verdicts)


@pytest.mark.parametrize(
    ("name", "value"), [("quantiles", ["1/4", "1/2"]), ("quantiles", []), ("quantiles", "1/2"), ("places", 0)]
)
def test_an_inconsistent_record_of_several_is_none(command: Command, tmp_path: Path, name: str, value: Any) -> None:
    record = json.loads((FORMATS / "quantiles.release.v1.json").read_text("utf-8"))
    record["mechanism"][name] = value
    for asked in ("show", "verify"):
        command(asked, saved(tmp_path, record)).complains(1, "is invalid: ")


@pytest.mark.further
def test_a_plan_of_several_tells_what_halving_costs(command: Command) -> None:
    told = command("plan", "quantile", *QUARTERS, "--epsilon", 1)
    assert told.field("question") == "which of 121 numbers are the 1/4, 1/2 and 3/4 quantiles of age?"
    assert told.field("scale").startswith("2.0 ")
    assert "plus 1 for each started block of 64 rows" in told.field("accuracy")
    more = command(
        "plan", "quantile", "--quantile", ".1,.2,.3,.4", *QUARTERS[2:], "--rho", 0.1, "--neighbors", "replace"
    )
    assert "plus 2 for each started block of 64 rows" in more.field("accuracy")


@pytest.mark.slow
def test_several_are_planned_paid_and_drawn(
    command: Command, readers: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for record in last_records(command, *QUARTERS, "--step", "1/4"):
        assert len(record["items"]) == 3


@pytest.mark.further
def test_other_engines_release_the_same(command: Command, readers: Path) -> None:
    pytest.importorskip("duckdb", reason="one of the engines")
    file = readers.with_suffix(".parquet")
    pl.DataFrame({"reader": range(40), "age": [n / 4 for n in range(40)]}).write_parquet(file)
    for engine in ("polars", "duckdb"):
        asked = release(file, *AGE, "--step", "0.25", *EXACT, "--engine", engine, "--out", "-")
        assert record_of(command(*asked).out)["items"][0] in (9, "8.75")


@pytest.mark.further
def test_errors_carry_no_number_of_the_table(command: Command, readers: Path) -> None:
    texts = readers.with_suffix(".parquet")
    pl.DataFrame({"reader": [1, 2], "age": [str(SENTINEL).encode(), b"a secret"]}).write_parquet(texts)
    for file, column in ((texts, "age"), (readers, "ages"), (readers, "reader")):
        asked = "--quantile", "1/2", "--column", column, "--bounds", "0,120", "--epsilon", 1
        result = command(*release(file, *asked))
        assert result.code in (1, 2)
        assert result.err.count("\n") == 1
        assert str(SENTINEL) not in result.err
        assert "secret" not in result.err


PAID = {"Emma": [(1, "20.25"), (1, "40"), (2, "9.5")], "Walden": [(3, "900")], "Ulysses": [(4, "1"), (5, "x"), (6, "")]}
SUM = "--sum", "paid", "--bounds", "0,50", "--step", "0.01"
LENIENT = "--types", "paid=decimal_or_null"


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    rows = [(buyer, book, paid) for book, sold in PAID.items() for buyer, paid in sold]
    file = tmp_path / "sales.csv"
    pl.DataFrame(rows, schema=["buyer", "book", "paid"], orient="row").write_csv(file)
    (tmp_path / "books.txt").write_text("\n".join(["Walden", "Ulysses", "Emma", "Never"]), encoding="utf-8")
    return file


def release_sales(file: Path, *more: object) -> tuple[object, ...]:
    kind = "top-k" if "--candidates" in more else "unknown-domain"
    return "release", kind, file, "--user", "buyer", "--item", "book", *more


def listed(file: Path, *more: object) -> tuple[object, ...]:
    return release_sales(file, "--candidates", file.parent / "books.txt", *more)


@pytest.mark.further
def test_the_largest_sums_of_a_file_of_strings(command: Command, sales: Path) -> None:
    result = command(*listed(sales, "--k", 3, *EXACT, *SUM, *LENIENT, "--counts"))
    assert result.code == 0
    lines = [line.split() for line in result.out.splitlines()[2:5]]
    assert lines == [["1", "59.5", "Emma"], ["2", "50", "Walden"], ["3", "1", "Ulysses"]]
    assert "noisy sum" in result.out
    record = record_of(command(*listed(sales, "--k", 2, *EXACT, *SUM, *LENIENT, "--out", "-")).out)
    assert record["items"] == ["Emma", "Walden"]
    assert record["mechanism"]["transformation"] == "sum_by_item"
    assert [record["mechanism"][name] for name in ("value", "lower", "upper", "granularity")] == ["paid", 0, 50, 0.01]


GERMAN = "buyer;book;paid;day\n1;Emma;12,50;04.01.2024\n2;Emma;0,50;31.12.2023\n3;Walden;2,00;04.01.2024\n4;Emma;;\n"


@pytest.mark.further
def test_text_is_not_summed_in_silence(command: Command, sales: Path) -> None:
    """Winners came out, with sums near zero, and the budget was spent."""
    file, text, book = (sales.with_name(name) for name in ("german.csv", "text.parquet", "b.ledger"))
    file.write_text(GERMAN, encoding="utf-8")
    pl.read_csv(file, separator=";", infer_schema=False).write_parquet(text)
    command("ledger", "create", book, "--dataset", "sales", "--epsilon", 10**9, "--user", "buyer")
    ranked = "--candidates", file.parent / "books.txt", "--item", "book", "--k", 2, *SUM
    halved = "--quantile", "1/2", "--column", "paid", "--bounds", "0,50", "--step", "0.5"
    asked = *EXACT, "--ledger", book
    for kind, named in (("top-k", ranked), ("quantile", halved)):
        given = "--user", "buyer", *named, *asked
        command("release", kind, text, *given).complains(1, "column 'paid' must contain integers", "not String")
        command("release", kind, file, *given, "--separator", ";").complains(
            1, "column 'paid' must contain decimals with '.' before the fraction", "--decimal"
        )
        mixed = "--separator", ";", "--types", "paid=decimal,day=date"
        command("release", kind, file, *given, *mixed).complains(1, "column 'paid' must contain decimals")
        command("release", kind, file, *given, *mixed, "--decimal", ",").complains(
            1, "dates written yyyy-mm-dd", "--date"
        )
        command("release", kind, file, *given, "--separator", ";", "--types", "paid=text").complains(1, "not String")
    with tk.ledger.Ledger(book) as account:
        assert not account.history()
    german = "--separator", ";", "--decimal", ",", "--types", "day=date", "--date-format", "dd.mm.yyyy"
    result = command("release", "top-k", file, "--user", "buyer", *ranked, *EXACT, "--counts", *german)
    assert [line.split()[1:] for line in result.out.splitlines()[2:4]] == [["13", "Emma"], ["2", "Walden"]]
    since = "--where", "day >= '2024-01-01'", "--counts"
    result = command("release", "top-k", file, "--user", "buyer", *ranked, *EXACT, *german, *since)
    assert [line.split()[1:] for line in result.out.splitlines()[2:4]] == [["12.5", "Emma"], ["2", "Walden"]]
    record = record_of(
        command("release", "quantile", file, "--user", "buyer", *halved, *EXACT, *german, "--out", "-").out
    )
    assert record["items"] == [2]


@pytest.mark.slow
def test_sums_without_a_list(command: Command, sales: Path) -> None:
    options = "--k", 2, *EXACT, "--delta", 1e-8, *SUM
    result = command(*release_sales(sales, *options, *LENIENT))
    assert [line.split() for line in result.out.splitlines()[2:4]] == [["1", "Emma"], []]
    assert "Walden" not in result.out, "one user alone paid for it, and no item of one user comes out"
    most = record_of(command(*release_sales(sales, *options, *LENIENT, "--max-items", 1, "--out", "-")).out)
    assert most["mechanism"]["max_items"] == 1


@pytest.mark.slow
def test_a_plan_speaks_of_sums(command: Command) -> None:
    result = command("plan", "top-k", "--k", 2, "--candidates", 9, "--epsilon", 1, *SUM, "--counts")
    assert "which 2 of 9 candidates have the largest sums of paid?" in result.flat
    assert "2 user" not in result.flat
    assert float(result.field("scale").split()[0].rstrip(",")) == 4 * 5000
    assert "sum within" in result.field("accuracy")
    found = command("plan", "unknown-domain", "--k", 2, "--epsilon", 1, "--delta", 1e-8, *SUM)
    assert "have the largest sums of paid, without a list of candidates?" in found.flat
    assert "its sum exceeds the 61st largest sum by more than" in found.field("accuracy")


@pytest.mark.slow
def test_a_plan_of_sums_is_that_of_the_library(command: Command) -> None:
    domain = tk.FrameDomain("u", "i", value="v"), tk.UserDistance("replace")
    sums = domain >> tk.then_sum_by_item(candidates=range(9), bounds=(-3, 5))

    def top(scale: float) -> Any:
        return sums >> tk.then_report_noisy_top_k(tk.ZeroConcentratedDivergence(), k=2, scale=scale)

    best = tk.binary_search_param(top, d_in=3, d_out=0.25)
    options = "--rho", 0.25, "--users", 3, "--neighbors", "replace", "--sum", "v", "--bounds", "-3,5"
    assert command("plan", "top-k", "--k", 2, "--candidates", 9, *options).field("scale").startswith(f"{best} ")


def test_amounts_are_written_in_full() -> None:
    assert format_grid_score(-1234567, parse_grid("0,50", "0.01")["step"]) == "-12345.67"
    assert Columns(value="v", **parse_grid("-0.5,0.5", "1/8")).difference_text(3) == "0.375"
    assert Columns().difference_text(1) == "1 user"
    assert format_grid_score(10**12, parse_grid("0,5", None)["step"]) == "1000000000000"
