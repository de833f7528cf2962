"""``--group``: a list for each of several public groups. ``--rows-per-person``: no column is of people."""

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import opendp_topk as tk
from opendp_topk.apps.planning.release_record import list_digest
from opendp_topk.apps.planning.verification import AGREES, DISAGREES, verify_record

from .command import argv, edited, record_of
from .conftest import Command
from .test_paid_plans import ways
from .test_show import page_of, saved, schema

__all__ = ["schema"]
LENT = {"Ulm": {"Emma": 9, "Dune": 7, "Faust": 5}, "Bonn": {"Faust": 8, "Dune": 6, "Emma": 4}, "Oslo": {"Odes": 30}}
EXACT = "--epsilon", 10**9
USUAL = "--epsilon", 1
LIST = "--k", 2, "--candidates", 4
PLAN = "plan", "top-k", *LIST, "--group", "town", "--groups", 3


@pytest.fixture
def lent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Readers of two towns that are listed and of one that is not; nobody lives in the third listed one."""
    monkeypatch.chdir(tmp_path)
    rows = [
        (f"{town} {reader}", book, town)
        for town, books in LENT.items()
        for book, number in books.items()
        for reader in range(number)
    ]
    pl.DataFrame(rows, schema=["reader", "book", "town"], orient="row").write_parquet("lent.parquet")
    Path("books.txt").write_text("Odes\nEmma\nDune\nFaust\n", "utf-8")
    Path("towns.txt").write_text("Ulm\nJena\nBonn\n", "utf-8")
    return tmp_path


def release(*more: object, table: str = "lent.parquet") -> tuple[object, ...]:
    own = "release", "top-k", table, "--user", "reader", "--item", "book", "--candidates", "books.txt", "--k", 2
    return (*own, "--group", "town", "--groups", "towns.txt", *more)


def lists(record: dict[str, Any], *names: str) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = {}
    for group, *values in zip(record["groups"], *(record[name] for name in names), strict=True):
        found.setdefault(group, []).append(values[0] if len(values) == 1 else tuple(values))
    return found


def test_every_listed_group_has_its_list_and_no_other_does(command: Command, lent: Path, schema: Any) -> None:
    record = record_of(command(*release(*EXACT, "--counts", "--out", "-")).out)
    found = lists(record, "items", "counts")
    assert list(found) == ["Ulm", "Jena", "Bonn"]
    assert found["Ulm"] == [("Emma", 9), ("Dune", 7)]
    assert found["Bonn"] == [("Faust", 8), ("Dune", 6)]
    assert [count for _, count in found["Jena"]] == [0, 0]
    assert [error.message for error in schema.iter_errors(record)] == []
    rests_on = [one["document"] for one in record["proof"]["documents"]]
    assert len(rests_on) == len(set(rests_on)) > 4
    assert {one.verdict for one in verify_record(record) if one.what in ("measurement", "items", "cost")} == {AGREES}


def test_nothing_of_the_table_decides_which_groups_are_shown(command: Command, lent: Path) -> None:
    pl.read_parquet("lent.parquet").filter(pl.col("town") == "Oslo").write_parquet("far.parquet")
    record = record_of(command(*release(*EXACT, "--out", "-", table="far.parquet")).out)
    assert record["groups"] == ["Ulm", "Ulm", "Jena", "Jena", "Bonn", "Bonn"]


@pytest.mark.further
def test_a_person_counts_in_as_many_groups_as_is_said_and_costs_as_much(command: Command, lent: Path) -> None:
    both = pl.DataFrame({"reader": list(range(40)) * 2, "book": ["Emma"] * 80, "town": ["Ulm"] * 40 + ["Bonn"] * 40})
    both.write_parquet("both.parquet")

    def counted(*more: object) -> int:
        record = record_of(
            command(*release(*EXACT, "--k", 1, "--counts", *more, "--out", "-", table="both.parquet")).out
        )
        return sum(count for _, count in (one for ones in lists(record, "items", "counts").values() for one in ones))

    assert counted() == 40
    assert counted("--groups-per-person", 2) == 80
    scales = [
        float(command(*PLAN, *USUAL, *more).field("scale").split()[0])
        for more in ((), ("--groups-per-person", 2), ("--groups-per-person", 5), ("--neighbors", "replace"))
    ]  # fmt: skip
    assert scales == [2, 4, 6, 4]


@pytest.mark.further
def test_a_plan_tells_what_the_release_does(command: Command, lent: Path) -> None:
    told = command("plan", "top-k", "--k", 2, "--candidates", 4, "--group", "town", "--groups", "towns.txt", *USUAL)
    done = command(*release(*USUAL))
    assert told.field("question") == "which 2 of 4 candidates do most users have, in each of 3 groups?"
    assert "in all 3 groups at once" in told.field("accuracy")
    for name in ("accuracy", "cost"):
        assert told.field(name) == done.field(name)


@pytest.mark.further
def test_rows_count_in_their_groups_and_cost_what_a_person_may_have(command: Command, lent: Path, schema: Any) -> None:
    asked = argv("release top-k lent.parquet --item book --candidates books.txt --k 2 --group town")
    rows = (*asked, "--groups", "towns.txt", "--rows-per-person", 3)
    pl.read_parquet("lent.parquet").with_columns(pl.lit("somebody").alias("reader")).write_parquet("lent.parquet")
    record = record_of(command(*rows, *EXACT, "--counts", "--out", "-").out)
    assert lists(record, "items", "counts")["Bonn"] == [("Faust", 8), ("Dune", 6)]
    assert (record["d_in"], record["mechanism"]["partition"]) == (
        3, {"mechanism": "partition_by", "group": "town", "groups": 3}
    )  # fmt: skip
    assert [error.message for error in schema.iter_errors(record)] == []
    assert {one.verdict for one in verify_record(record) if one.what in ("measurement", "items", "cost")} == {AGREES}
    assert "a row counts in its group, if the group is listed" in record["accuracy"]["words"]
    shown = command("show", saved(lent, record)).flat
    assert "Rows of other groups were not counted." in shown
    assert "Every row of these groups was counted." in shown
    assert command(*PLAN, *USUAL, "--rows-per-person", 3).field("scale").startswith("6.0 ")


@pytest.mark.further
def test_groups_of_integers_are_those_of_the_table_however_they_are_written(command: Command, lent: Path) -> None:
    towns = pl.col("town").replace_strict({"Ulm": 7, "Bonn": 11, "Oslo": 5})
    pl.read_parquet("lent.parquet").with_columns(towns).write_parquet("zip.parquet")
    Path("towns.txt").write_text("07\n11\n", "utf-8")
    record = record_of(command(*release(*EXACT, "--out", "-", table="zip.parquet")).out)
    assert lists(record, "items") == {7: ["Emma", "Dune"], 11: ["Faust", "Dune"]}
    Path("towns.txt").write_text("7\nUlm\n", "utf-8")
    command(*release(*EXACT, table="zip.parquet")).complains(
        1, "the groups must be integers, as in column 'town': group 2 is not"
    )


@pytest.mark.slow
def test_tables_and_pages_tell_the_groups(command: Command, lent: Path) -> None:
    done = command(*release(*EXACT, "--counts", "--out", "top.csv"))
    assert done.out.split()[:5] == ["group", "rank", "noisy", "count", "item"]
    table = pl.read_csv("top.csv")
    assert table.columns == ["group", "rank", "item", "count"]
    assert table.filter(pl.col("group") == "Bonn").rows() == [("Bonn", 1, "Faust", 8), ("Bonn", 2, "Dune", 6)]
    record = record_of(command(*release(*EXACT, "--counts", "--groups-per-person", 2, "--out", "-")).out)
    drawn = page_of(command, lent, record)
    page = drawn.text
    shown = command("show", saved(lent, record)).flat
    for words in (
        "The 2 of 4 candidates that most users have, in each group of town (3)",
        "A user counts in at most 2 of these groups, drawn at random; rows in other groups were not counted.",
        "in all 3 groups at once",
    ):
        assert words in " ".join(page.split())
        assert words in shown
    heads = [one.text for one in drawn.all("h2")]
    assert heads[:3] == ["Ulm", "Jena", "Bonn"]
    lists_shown = [[item.text for item in one.all("li")] for one in drawn.all("ol")]
    assert [len(one) for one in lists_shown] == [2, 2, 2]
    assert "Faust" in lists_shown[2][0]
    assert "It does not show the size of a group" in page
    assert "fewer than" not in page + shown


@pytest.mark.slow
def test_a_ledger_pays_and_every_edit_is_found(command: Command, lent: Path) -> None:
    book = "budget.ledger"
    own = "--dataset", "lent", "--epsilon", 3, "--user", "reader"
    assert command("ledger", "create", book, *own).code == 0
    asked = release(*USUAL, "--groups-per-person", 2, "--ledger", book)
    assert command(*asked, "--out", "top.json").code == 0
    record = record_of(Path("top.json").read_text("utf-8"))
    with tk.ledger.Ledger(book) as ledger:
        assert ledger.spent() == record["d_out"] <= 1
        found = {one.what: one.verdict for one in verify_record(record, ledger)}
    assert {one for one, verdict in found.items() if verdict != AGREES} == {"table"}
    assert command("show", "top.json", "--ledger", book).code == 0
    assert command(*asked, "--from-record", "top.json").code == 0
    Path("towns.txt").write_text("Bonn\nJena\nUlm\n", "utf-8")
    command(*asked, "--from-record", "top.json").complains(1, "differs from this question in its groups")
    partition = record["mechanism"]["partition"]
    edits: list[tuple[tuple[Any, ...], Any, str]] = [
        (("groups",), ["Ulm", "Ulm", "Bonn", "Jena", "Jena", "Bonn"], "items"),
        (("groups",), ["Ulm", "Ulm", "Bonn", "Bonn", "Ulm", "Ulm"], "items"),
        (("groups",), ["Ulm", "Ulm", 7, 7, "Bonn", "Bonn"], "items"),
        (("groups",), ["Ulm"] * 6, "items"),
        (("groups",), ["Ulm", "Ulm", "Ulm", "Jena", "Bonn", "Bonn"], "items"),
        (("items",), ["Emma"] * 6, "items"),
        (("items",), record["items"][:4], "measurement"),
        (("mechanism", "partition", "max_groups"), 1, "measurement"),
        (("mechanism", "partition", "groups"), 4, "measurement"),
        (("mechanism", "partition", "group"), "", "measurement"),
        (("mechanism", "partition", "by"), "rows", "accuracy"),
        (("mechanism", "partition"), {**partition, "most": 3}, "measurement"),
        (("mechanism", "partition"), {**partition, "max_groups": 3, "most": 3}, "cost"),
        (("scale",), 2.0, "cost"),
        (("neighbors",), "replace", "cost"),
        (("accuracy", "within_users"), 3, "accuracy"),
    ]
    for path, value, what in edits:
        verdicts = {one.what: one.verdict for one in verify_record(edited(record, path, value))}
        assert verdicts.get(what) == DISAGREES, (path, value, verdicts)
    with tk.ledger.Ledger(book) as ledger:
        for path, value in ((("mechanism", "partition", "group"), "city"), (("group_list",), "sha256:" + "0" * 64)):
            verdicts = {one.what: one.verdict for one in verify_record(edited(record, path, value), ledger)}
            assert verdicts["digest"] == DISAGREES
    del partition["by"]
    broken: list[dict[str, Any]] = [
        {name: value for name, value in record.items() if name != "groups"},
        record | {"groups": record["groups"][:-1]},
        record | {"k": None},
        record | {"group_list": "0"},
        edited(record, ("mechanism", "partition", "groups"), 0),
        edited(record, ("mechanism", "partition", "group"), None),
        edited(record, ("mechanism", "partition"), "town"),
    ]
    for one in broken:
        command("show", saved(lent, one)).complains(1, "is invalid: ")


@pytest.mark.further
def test_a_release_from_python_has_the_same_record(command: Command, lent: Path, schema: Any) -> None:
    books, towns, pure = ["Odes", "Emma", "Dune", "Faust"], ["Ulm", "Jena", "Bonn"], tk.MaxDivergence()
    top = (tk.FrameDomain("reader", "book"), tk.UserDistance()) >> tk.then_count_by_item(candidates=books)
    top = top >> tk.then_report_noisy_top_k(pure, k=2, scale=1e-9) >> tk.index_candidates(books)
    space = tk.FrameDomain("reader", "book", group="town"), tk.UserDistance()
    parted = tk.then_partition_by(pure, measurements=dict.fromkeys(towns, top), max_groups=2)
    chosen = space >> tk.then_keep_groups(most=2, by="rows", groups=towns) >> parted
    given: dict[str, Any] = {"dataset": "lent", "metric": space[1], "user": "reader"}
    for name, measurement in (("first", space >> parted), ("rows", chosen)):
        with tk.ledger.Ledger.create(Path(name), budget=10**11, measure=pure, **given) as ledger:
            released, record = tk.planning.release_with_record(ledger, measurement, pl.read_parquet("lent.parquet"))
            record = json.loads(json.dumps(record))
            assert lists(record, "items") == dict(zip(towns, map(list, released), strict=True))
            assert record["group_list"] == list_digest(towns)
            assert [error.message for error in schema.iter_errors(record)] == []
            assert {one.what for one in verify_record(record, ledger) if one.verdict != AGREES} == {"table"}
        assert command("show", saved(lent, record)).code == 0
    unequal = {"Ulm": top, "Bonn": (top.input_domain, top.input_metric) >> tk.then_count_by_item(candidates=books)
               >> tk.then_report_noisy_top_k(pure, k=1, scale=1.0) >> tk.index_candidates(books)}  # fmt: skip
    with (
        tk.ledger.Ledger.create(Path("unequal"), budget=10**11, measure=pure, **given) as ledger,
        pytest.raises(tk.errors.ParameterError, match="for a record"),
    ):
        tk.planning.release_with_record(
            ledger, space >> tk.then_partition_by(pure, measurements=unequal), pl.read_parquet("lent.parquet")
        )


LISTED = "--candidates", "pages.txt", "--k", 2
PEOPLE = "who has at most 10 rows (stated, not checked)"


@pytest.fixture
def views(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Views of pages, a row each: /b most often, and nobody knows by whom."""
    monkeypatch.chdir(tmp_path)
    Path("pages.txt").write_text("/a\n/b\n/c\n")
    pl.DataFrame({"page": ["/b"] * 40 + ["/a"] * 25 + ["/c"] * 3, "ms": [*range(68)]}).write_parquet("views.parquet")
    return Path("views.parquet")


def release_views(file: Path, *more: object, rows: int = 10) -> tuple[object, ...]:
    kind = "top-k" if "--candidates" in more else "unknown-domain"
    return "release", kind, file, "--rows-per-person", rows, "--item", "page", *more


@pytest.mark.further
def test_rows_are_counted_at_the_price_of_so_many(command: Command, views: Path, schema: Any, tmp_path: Path) -> None:
    assert record_of(command(*release_views(views, *LISTED, *EXACT, "--out", "-")).out)["items"] == ["/b", "/a"]
    done = command(*release_views(views, *LISTED, "--epsilon", 1, "--out", "top.json"))
    assert done.code == 0, done
    record = record_of(Path("top.json").read_text("utf-8"))
    assert [error.message for error in schema.iter_errors(record)] == []
    assert (record["d_in"], record["d_out"], record["scale"]) == (10, 1.0, 20.0)
    assert (record["stated"], record["mechanism"]["user"]) == ({"at_most": 10}, "row number")
    assert DISAGREES not in {one.verdict for one in verify_record(record)}
    assert "for 10 rows added or removed" in done.flat
    assert "users" not in done.out
    told = command("verify", "top.json").flat
    assert "the map gives the same epsilon for 10 rows added or removed" in told
    assert "user" not in told
    shown = command("show", "top.json").flat
    page = " ".join(page_of(command, tmp_path, record).text.split())
    said = "whom no column of the table identifies", "with most rows", "Every row was counted.", "20 rows"
    for words in (PEOPLE, *said):
        assert words in shown
        assert words in page
    edited = copy.deepcopy(record)
    edited["d_in"] = 1
    assert next(one for one in verify_record(edited) if one.what == "cost").why.endswith("for 1 row added or removed")
    assert {one.what: one.verdict for one in verify_record(edited)}["cost"] == DISAGREES


@pytest.mark.further
def test_a_ledger_is_charged_for_the_person(command: Command, views: Path) -> None:
    book = "budget.ledger"
    command("ledger", "create", book, "--dataset", "views", "--epsilon", 3, "--user", "reader")
    assert command(*release_views(views, *LISTED, "--epsilon", 1, "--ledger", book, "--out", "top.json")).code == 0
    record = json.loads(Path("top.json").read_text("utf-8"))
    with tk.ledger.Ledger(book) as ledger:
        assert (ledger.history()[0].d_in, ledger.history()[0].at_most, ledger.spent()) == ("10", 10, 1.0)
        assert {one.verdict for one in verify_record(record, ledger) if one.what != "table"} == {AGREES}
    again = release_views(views, *LISTED, "--epsilon", 1, "--ledger", book, "--from-record", "top.json")
    assert command(*again).out.split()[-1:] != []
    other = release_views(views, *LISTED, "--epsilon", 1, "--ledger", book, "--from-record", "top.json", rows=9)
    command(*other).complains(1, "differs from this question")
    assert PEOPLE in command("show", "top.json", "--ledger", book).flat
    command("ledger", "create", "bare.ledger", "--dataset", "views", "--epsilon", 3)
    bare = release_views(views, *LISTED, "--epsilon", 1, "--ledger", "bare.ledger")
    command(*bare).complains(2, "ledger create --user")


@pytest.mark.further
def test_sums_and_quantiles_of_rows(command: Command, views: Path) -> None:
    """The median of 0 to 67 in steps of 1, and /a, whose rows have the largest numbers but three."""
    asked = "release", "quantile", views, *argv("--rows-per-person 3 --quantile 1/2 --column ms --bounds 0,100")
    record = record_of(command(*asked, *EXACT, "--out", "-").out)
    assert record["items"][0] in (33, 34)
    assert "every row is counted" in record["accuracy"]["words"]
    best = release_views(views, "--candidates", "pages.txt", "--k", 1, "--sum", "ms", "--bounds", "0,100", rows=3)
    record = record_of(command(*best, *EXACT, "--out", "-").out)
    assert (record["items"], record["d_in"]) == (["/a"], 3)
    Path("sum.json").write_text(json.dumps(record))
    shown = command("show", "sum.json").flat
    assert "The total of one row for one item was clamped to the interval from 0 to 100" in shown


@pytest.mark.further
def test_nobody_lists_the_items(command: Command, views: Path) -> None:
    asked = release_views(views, "--k", 1, "--epsilon", 10**6, "--delta", 1e-6, "--max-items", 1, rows=2)
    record = record_of(command(*asked, "--out", "-").out)
    assert (record["items"], record["d_in"]) == (["/b"], 2)


@pytest.mark.further
def test_a_plan_of_rows_tells_what_the_release_does(command: Command, views: Path) -> None:
    asked = "--k", 2, "--rows-per-person", 10, "--epsilon", 1
    told = command("plan", "top-k", "--candidates", 3, *asked)
    done = command(*release_views(views, *LISTED, "--epsilon", 1))
    assert told.field("accuracy") == done.field("accuracy")
    assert told.field("cost") == done.field("cost")
    assert "rows of" in told.field("accuracy")
    assert told.field("question") == "which 2 of 3 candidates have most rows?"


@pytest.mark.slow
def test_planned_releases_are_paid_and_drawn(command: Command, views: Path) -> None:
    found = ways(
        command("plan", "top-k", *LISTED, "--rows-per-person", 4, "--epsilon", 2, "--delta", 1e-6, "--releases", 2)
    )
    assert list(found) == ["pure", "zCDP"]
    for name, commands in found.items():
        Path("budget.ledger").unlink(missing_ok=True)
        shutil.rmtree("budget.ledger.records", ignore_errors=True)
        for words in commands:
            own = ["views.parquet" if one == "visits.parquet" else one for one in words]
            assert command(*own).code == 0, (name, own)
