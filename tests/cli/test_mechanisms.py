"""The table of mechanisms: every one plans and releases, and a wrong one is refused with what to change.

The question ``gap`` gives the exact set of the candidates that are above a large gap.
"""

import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import opendp_topk as tk
from opendp_topk.apps.planning.catalogue import Mechanism, all_mechanisms
from opendp_topk.apps.planning.release_record import plain_value
from opendp_topk.apps.planning.verification import AGREES, DISAGREES, verify_record

from .command import edited, record_of
from .conftest import CANDIDATES, LOANS, Command, Library
from .test_paid_plans import ways
from .test_show import page_of, saved, schema

EXACT = 10**6
BEST = sorted(CANDIDATES, key=lambda book: -LOANS.get(book, 0))
NAMES = [row.name for row in all_mechanisms()]
ROWS = [(row, release) for row in all_mechanisms() for release in row.releases]


def _constructor(row: Mechanism) -> str:
    return str(row.loaded_constructor.__name__).replace("then_", "")


def test_names_are_distinct_and_defaults_exist() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert {"report_noisy_top_k", "canonical"} <= set(NAMES)


@pytest.mark.further
@pytest.mark.quick(target="epsilon")
@pytest.mark.parametrize("target", ["epsilon", "rho"])
@pytest.mark.parametrize(("row", "release"), ROWS, ids=lambda part: getattr(part, "name", part))
def test_every_mechanism_plans_and_releases(
    command: Command, library: Library, row: Mechanism, release: str, target: str
) -> None:
    k = min(row.most or 3, 3)
    options = f"--{target}", EXACT, "--release", release, "--mechanism", row.name
    options = (*options, "--max-items", 6) if row.few else options
    if row.options.get("gaussian") and target == "epsilon":
        command("plan", "top-k", "--k", k, "--candidates", 6, *options).complains(2, "also give --delta, or use --rho")
        return
    plan = command("plan", "top-k", "--k", k, "--candidates", 6, *options)
    assert (plan.code, plan.err) == (0, "")
    assert plan.field("mechanism").startswith(f"{row.name} (")
    assert "{" not in plan.out
    assert f"measurements/{_constructor(row)} (" in plan.field("proof")
    cost = float(plan.field("cost").split()[2])
    record = record_of(command(*library.release(*options, "--out", "-", k=k)).out)
    wanted = BEST[:k] if release == "ranking" else [book for book in CANDIDATES if book in BEST[:k]]
    assert record["items"] == wanted
    assert (record["release"], record["mechanism"]["mechanism"]) == (release, _constructor(row))
    assert record["d_out"] <= min(cost, EXACT)
    assert cost <= record["d_out"] * (1 + 1e-11)
    assert "counts" not in record


@pytest.mark.slow
def test_the_options_of_a_row_reach_its_constructor(command: Command, library: Library) -> None:
    def mechanism(name: str, release: str) -> dict[str, Any]:
        options = "--epsilon", EXACT, "--release", release, "--mechanism", name, "--out", "-"
        found: dict[str, Any] = record_of(command(*library.release(*options)).out)["mechanism"]
        return found

    noises = {name: mechanism(name, "set")["noise"] for name in NAMES if name.startswith("report_noisy_top_k_")}
    assert len(set(noises.values())) == 5
    for name, noise in noises.items():
        assert name == "report_noisy_top_k_" + ("half_logistic" if noise == "HalfLogistic" else noise.lower())
    canonical = mechanism("canonical", "set")
    assert (canonical["noise"], canonical["gamma"], canonical["utility"]) == ("Gumbel", 0.5, "margin")
    assert mechanism("canonical_exponential", "set")["noise"] == "Exponential"
    assert mechanism("peeled_exponential", "ranking")["choice"] == "exponential"
    assert mechanism("peeled_permute_and_flip", "ranking")["choice"] == "permute_and_flip"


@pytest.mark.further
def test_defaults(command: Command, library: Library) -> None:
    def mechanism(*options: object) -> str:
        record = record_of(command(*library.release("--epsilon", EXACT, "--out", "-", *options)).out)
        return str(record["mechanism"]["mechanism"])

    assert mechanism() == "report_noisy_top_k"
    assert mechanism("--release", "set") == "canonical_top_k"
    assert mechanism("--counts") == mechanism("--counts", "--release", "set") == "select_then_count"


def test_an_unknown_name_lists_the_names(command: Command, library: Library) -> None:
    for arguments in (
        ("plan", "top-k", "--k", 2, "--candidates", 9, "--epsilon", 1, "--mechanism", "zyxwv"),
        library.release("--epsilon", 1, "--mechanism", "zyxwv"),
    ):
        command(*arguments).complains(2, "--mechanism must be one of", *NAMES)


@pytest.mark.further
@pytest.mark.parametrize(
    ("options", "fragments", "others"),
    [
        (("--mechanism", "canonical"), ("canonical cannot", "use --release set, or"), ("report_noisy_top_k_laplace",)),
        (("--mechanism", "peeled_exponential", "--release", "set"), ("use --release ranking, or",), ("canonical",)),
        (("--mechanism", "exponential_mechanism"), ("use --k 1, or",), ("peeled_exponential",)),
        (("--mechanism", "permute_and_flip", "--release", "set"), ("use --k 1, or",), ("canonical_exponential",)),
        (("--mechanism", "canonical", "--counts", "--release", "set"), ("omit --counts, or",), ("report_noisy",)),
        (("--mechanism", "report_noisy_top_k_gumbel", "--counts"), ("omit --counts, or",), ("report_noisy",)),
        (("--mechanism", "histogram_laplace"), ("give --max-items",), ("report_noisy_top_k",)),
        (("--mechanism", "noisy_top_k_with_gaps", "--counts"), ("omit --counts, or",), ("report_noisy_top_k",)),
        (("--mechanism", "noisy_top_k_with_gaps", "--release", "set"), ("use --release ranking, or",), ("canonical",)),
    ],
)  # fmt: skip
def test_a_mechanism_that_cannot_is_refused_with_what_to_change(
    command: Command, options: tuple[object, ...], fragments: tuple[str, ...], others: tuple[str, ...]
) -> None:
    result = command("plan", "top-k", "--k", 2, "--candidates", 9, "--rho", 1, *options)
    result.complains(2, *fragments, *others)
    offered = result.err.split("or choose ")[1].strip().removeprefix("one of ").split(", ")
    assert options[1] not in offered
    for name in offered:
        again = [name if option == options[1] else option for option in options]
        assert command("plan", "top-k", "--k", 2, "--candidates", 9, "--rho", 1, *again).code == 0


@pytest.mark.further
def test_a_count_goes_with_each_item(command: Command, library: Library) -> None:
    options = "--epsilon", 10**9, "--counts"
    shown = command(*library.release(*options))
    assert shown.code == 0
    lines = [line.split(None, 2) for line in shown.out.splitlines()]
    assert " ".join(lines[0]).split() == ["rank", "noisy", "count", "item"]
    assert [[*line[:2], line[2].strip()] for line in lines[2:5]] == [
        [str(t), str(LOANS[book]), book] for t, book in enumerate(BEST[:3], start=1)
    ]
    record = record_of(command(*library.release(*options, "--out", "-")).out)
    assert (record["items"], record["counts"]) == (BEST[:3], [LOANS[book] for book in BEST[:3]])
    parameters = record["mechanism"]
    assert parameters["count_scale"] == record["scale"]
    each = 3 / Fraction(record["scale"]) + 3 / Fraction(parameters["count_scale"])
    assert each <= Fraction(record["d_out"]) <= 10**9
    in_order = [book for book in CANDIDATES if book in BEST[:3]]
    record = record_of(command(*library.release(*options, "--out", "-", "--release", "set")).out)
    assert (record["items"], record["counts"]) == (in_order, [LOANS[book] for book in in_order])
    shown = command(*library.release(*options, "--release", "set"))
    assert shown.out.splitlines()[2].split(None, 1)[0] == str(LOANS[in_order[0]])
    assert "counts with probability at least 95 %, every noisy count is exactly the true count" in shown.flat


@pytest.mark.further
def test_a_lead_goes_with_each_item(command: Command, library: Library) -> None:
    options = "--epsilon", 10**9, "--mechanism", "noisy_top_k_with_gaps"
    tallies = sorted((LOANS.get(book, 0) for book in CANDIDATES), reverse=True)
    leads = [tallies[t] - tallies[t + 1] for t in range(3)]
    shown = command(*library.release(*options))
    lines = [line.split(None, 2) for line in shown.out.splitlines()]
    assert " ".join(lines[0]).split() == ["rank", "noisy", "lead", "item"]
    assert [[*line[:2], line[2].strip()] for line in lines[2:5]] == [
        [str(t + 1), str(leads[t]), BEST[t]] for t in range(3)
    ]
    record = record_of(command(*library.release(*options, "--out", "-")).out)
    assert record["items"] == BEST[:3]
    assert record["gaps"] == pytest.approx(leads, abs=1e-3)
    assert record["gaps"] != leads
    assert "counts" not in record
    table = library.folder / "leads.csv"
    command(*library.release(*options, "--out", table))
    assert table.read_text(encoding="utf-8").splitlines()[0] == "rank,item,gap"


@pytest.mark.slow
def test_leads_need_a_runner_up(command: Command) -> None:
    everyone = "plan", "top-k", "--k", 4, "--candidates", 4, "--rho", 1
    named = command(*everyone, "--mechanism", "noisy_top_k_with_gaps")
    named.complains(2, "cannot make this release: use a --k below the number of candidates, or choose one of")
    compared = command(*everyone, "--compare")
    assert compared.code == 0
    assert "noisy_top_k_with_gaps" not in compared.out
    assert "noisy_top_k_with_gaps" in command("plan", "top-k", "--k", 3, "--candidates", 4, "--rho", 1, "--compare").out


@pytest.mark.further
def test_a_scale_of_counts_beyond_all_floats_is_an_integer(command: Command, library: Library) -> None:
    record = record_of(command(*library.release("--rho", 1e-308, "--counts", "--out", "-")).out)
    assert type(record["mechanism"]["count_scale"]) is float
    assert plain_value(Fraction(2 * 10**308)) == 2 * 10**308
    assert plain_value(Fraction(1, 2)) == 0.5


__all__ = ["schema"]
VISITS = {"/d": 12, "/a": 900, "/b": 870, "/c": 11, "/e": 10}
CLEAR = "--epsilon", 10**6, "--delta", 1e-8
USUAL = "--epsilon", 1, "--delta", 1e-6


@pytest.fixture
def visits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two pages of many visitors, three of few, and a list of them all."""
    monkeypatch.chdir(tmp_path)
    rows = [(visitor, page, 0.5) for page, number in VISITS.items() for visitor in range(number)]
    pl.DataFrame(rows, schema=["visitor", "page", "paid"], orient="row").write_parquet("visits.parquet")
    Path("pages.txt").write_text("".join(f"{page}\n" for page in VISITS), "utf-8")
    return tmp_path


def release(*more: object) -> tuple[object, ...]:
    own = "release", "gap", "visits.parquet", "--user", "visitor", "--item", "page", "--candidates", "pages.txt"
    return (*own, "--k", 4, *more)


@pytest.mark.further
def test_the_set_above_the_largest_gap_is_released(command: Command, visits: Path, schema: Any) -> None:
    record = record_of(command(*release(*CLEAR, "--out", "-")).out)
    assert (record["items"], record["k"], record["release"]) == (["/a", "/b"], 4, "set")
    assert [error.message for error in schema.iter_errors(record)] == []
    assert {one.verdict for one in verify_record(record) if one.what in ("measurement", "items", "cost")} == {AGREES}


@pytest.mark.slow
def test_sums_tables_and_pages_are_of_the_same_set(command: Command, visits: Path, tmp_path: Path) -> None:
    record = record_of(command(*release(*CLEAR, "--out", "-")).out)
    summed = release(*CLEAR, "--sum", "paid", "--bounds", "0,1", "--step", "0.5", "--out", "-")
    assert record_of(command(*summed).out)["items"] == ["/a", "/b"]
    assert command(*release(*CLEAR, "--out", "set.csv")).code == 0
    assert Path("set.csv").read_text("utf-8") == "item\n/a\n/b\n"
    page = " ".join(page_of(command, tmp_path, record).text.split())
    shown = command("show", saved(tmp_path, record)).flat
    for words in (
        "The best of 5 candidates, at most 4, above a large gap between their numbers of users",
        "their number was chosen by the gaps between consecutive counts",
        "exactly the best candidates by their counts",
    ):
        assert words in page
        assert words in shown
    assert "Its end was drawn at random" in page
    assert "fewer than" not in page + shown


@pytest.mark.further
def test_where_no_gap_is_large_nothing_comes(command: Command, visits: Path, tmp_path: Path) -> None:
    """All gaps between pages of few visitors are of one: even the largest is 35 or more below what passes."""
    Path("pages.txt").write_text("/c\n/d\n/e\n", "utf-8")
    done = command(*release("--epsilon", 4, "--delta", 1e-15, "--k", 2, "--out", "none.json"))
    assert "no set was released: no gap was certain to be large enough" in done.flat
    record = record_of(Path("none.json").read_text("utf-8"))
    assert record["items"] == []
    assert command("verify", "none.json").code == 0
    assert "Nothing was released: no gap was certain to be large enough." in page_of(command, tmp_path, record).text


@pytest.mark.further
def test_a_plan_tells_what_the_release_does(command: Command, visits: Path) -> None:
    told = command("plan", "gap", "--k", 4, "--candidates", 5, *USUAL)
    done = command(*release(*USUAL))
    assert told.field("question") == "which of 5 candidates, at most 4, are above a large gap between their counts?"
    assert told.field("scale").startswith("4.0 ")
    for name in ("accuracy", "cost"):
        assert told.field(name) == done.field(name)


@pytest.mark.slow
def test_a_ledger_pays_and_every_edit_is_found(command: Command, visits: Path) -> None:
    book = "budget.ledger"
    own = "--dataset", "visits", "--epsilon", 3, "--delta", 1e-5, "--own-delta", 1e-5, "--user", "visitor"
    assert command("ledger", "create", book, *own).code == 0
    asked = release(*USUAL, "--ledger", book)
    assert command(*asked, "--out", "set.json").code == 0
    record = record_of(Path("set.json").read_text("utf-8"))
    with tk.ledger.Ledger(book) as ledger:
        found = {one.what: one.verdict for one in verify_record(record, ledger)}
    assert {one for one, verdict in found.items() if verdict != AGREES} == {"table"}
    assert "items, in the order of the candidates" in command("show", "set.json", "--ledger", book).flat
    assert command(*asked, "--from-record", "set.json").code == 0
    command(*asked, "--k", 3, "--from-record", "set.json").complains(1, "differs from this question")
    edits: list[tuple[tuple[Any, ...], Any, str]] = [
        (("items",), ["/a", "/a"], "items"),
        (("k",), 3, "measurement"),
        (("release",), "ranking", "measurement"),
        (("mechanism", "test_scale"), 4.0, "cost"),
        (("mechanism", "threshold"), 1.0, "cost"),
        (("mechanism", "noise"), "Gumbel", "cost"),
        (("mechanism", "noise"), "none", "measurement"),
        (("mechanism", "candidates"), 4, "measurement"),
        (("scale",), 8.0, "cost"),
        (("accuracy", "within_users"), 3, "accuracy"),
    ]
    for path, value, what in edits:
        verdicts = {one.what: one.verdict for one in verify_record(edited(record, path, value))}
        assert verdicts[what] == DISAGREES, (path, value, verdicts)
    for name, value in (("test_scale", None), ("test_scale", "2"), ("candidates", None), ("candidates", 1)):
        broken = edited(record, ("mechanism", name), value)
        command("show", saved(visits, broken)).complains(1, "is invalid: ")


@pytest.mark.slow
def test_several_are_planned_paid_and_drawn(command: Command, visits: Path) -> None:
    asked = "plan", "gap", "--k", 4, "--candidates", "pages.txt", "--epsilon", 2, "--delta", 1e-6
    found = ways(command(*asked, "--releases", 2))
    assert list(found) == ["pure", "zCDP"]
    book = Path("budget.ledger")
    for commands in found.values():
        book.unlink(missing_ok=True)
        shutil.rmtree(f"{book}.records", ignore_errors=True)
        for words in commands:
            assert command(*words).code == 0, words
        with tk.ledger.Ledger(book) as ledger:
            assert [one.state for one in ledger.history()] == ["released"] * 2
    command("ledger", "create", "other.ledger", "--dataset", "d", "--epsilon", 2, "--delta", 1e-6, "--own-delta", 1e-6)
    within = command(*asked[:6], "--ledger", "other.ledger")
    assert "release gap TABLE" in within.out
