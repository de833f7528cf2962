"""Plans and releases without a list of candidates: the best, all above a threshold, or items alone."""

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest

import opendp_topk as tk
from opendp_topk.sampling.distributions.one_shot_accuracy import accuracy
from opendp_topk.sampling.noises import Gumbel

from .command import argv, record_of
from .conftest import CANDIDATES, LOANS, Command, Library

pl = pytest.importorskip("polars", reason="the command reads tables with polars")

DELTA = "--epsilon", 10**6, "--delta", 1e-8  # so little noise that the exact top-k comes out
PAID = {"measure": tk.Approximate(tk.MaxDivergence()), "dataset": "searches", "metric": tk.UserDistance()}
TERMS = {"rain": 90, "snow": 70, "=hail": 30, "my own name": 1}


@pytest.fixture
def searches(tmp_path: Path) -> Path:
    return written(tmp_path / "searches.parquet", TERMS)


def written(file: Path, terms: dict[str, int]) -> Path:
    rows = [(user, term) for term, users in terms.items() for user in range(users)]
    pl.DataFrame(rows, schema=["who", "term"], orient="row").write_parquet(file)
    return file


def release(file: Path, *more: object, kind: str = "unknown-domain") -> tuple[object, ...]:
    return "release", kind, file, "--user", "who", "--item", "term", *more


@pytest.mark.further
def test_people_read_what_was_found_and_where_it_ended(command: Command, searches: Path) -> None:
    result = command(*release(searches, "--k", 4, *DELTA))
    assert result.code == 0
    assert [line.split(None, 1)[1].strip() for line in result.out.splitlines()[2:5]] == ["rain", "snow", "=hail"]
    assert "my own name" not in result.out
    assert result.field("end").startswith("1 fewer than 4 items")
    assert result.field("cost").startswith("epsilon = 1000000.0 and delta = 9.999")
    assert "1 user added or removed" in result.field("cost")
    assert "measurements/unknown_domain_top_k (current)" in result.flat
    assert "must be public" not in result.err
    complete = command(*release(searches, "--k", 2, *DELTA))
    assert complete.field("end") == "complete"


@pytest.mark.further
def test_programs_read_a_record(command: Command, searches: Path) -> None:
    options = argv("--rho 1e9 --delta 1e-6 --neighbors replace --limit 7 --max-items 1 --keep order --out -")
    record = record_of(command(*release(searches, "--k", 2, *options)).out)
    assert record["items"] == ["rain", "=hail"], "of each user the first in the order of the code points counts"
    assert (record["measure"], record["symbol"]) == ("Approximate(ZeroConcentratedDivergence)", "(rho, delta)")
    assert record["d_out"][0] <= 10**9
    assert record["d_out"][1] <= 1e-6
    assert record["mechanism"]["limit"] == 7
    assert record["mechanism"]["max_items"] == 1
    assert record["mechanism"]["candidates"] is None


@pytest.mark.further
@pytest.mark.quick(users=3)
@pytest.mark.parametrize(("neighbors", "users"), [("add_remove", 1), ("add_remove", 3), ("replace", 2)])
def test_the_plan_meets_the_target_with_the_least_noise(command: Command, neighbors: str, users: int) -> None:
    asked = f"plan unknown-domain --k 5 --epsilon 1 --delta 1e-6 --users {users} --neighbors {neighbors}"
    result = command(*argv(asked))
    assert result.code == 0
    scale, threshold = (float(result.field(name).split()[0]) for name in ("scale", "threshold"))
    metric = tk.KeyedCountDistance(monotonic=neighbors == "add_remove")

    def delta(threshold: float) -> float:
        measured = tk.make_unknown_domain_top_k(
            tk.KeyedCountsDomain(), metric, tk.PrivacyProfile(), k=5, limit=150, scale=scale, threshold=threshold
        )
        return measured.map(users).delta(1)

    assert delta(threshold) <= 1e-6 < delta(threshold - 1e-3)
    near = accuracy(Gumbel(), 151, 5, Fraction(scale), 0.05)
    assert f"more than {math.floor(threshold + near)} users" in result.field("accuracy")
    assert f"within {math.floor(near)} users" in result.field("accuracy")


@pytest.mark.slow
def test_a_budget_pays_for_it(command: Command, searches: Path, tmp_path: Path) -> None:
    book = tmp_path / "budget.ledger"
    tk.ledger.Ledger.create(book, budget=(3e6, 1e-6), **PAID).close()
    assert command(*release(searches, "--k", 2, *DELTA, "--ledger", book)).code == 0
    with tk.ledger.Ledger(book) as again:
        assert again.spent()[0] == pytest.approx(1e6)
        assert 0 < again.spent()[1] <= 1e-8


@pytest.mark.slow
def test_an_empty_table_is_released_as_nothing(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "empty.csv"
    file.write_text("who,term\n", encoding="utf-8")
    result = command(*release(file, "--k", 2, *DELTA))
    assert result.code == 0
    assert result.field("end").startswith("2 fewer than 2 items")


SOME = "--epsilon", 3, "--delta", 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "mechanism", "items"),
    [
        (("--max-items", 1), "partition_selection", ["rain", "snow"]),
        (("--max-items", 20, "--minimum-users", 2), "weighted_partition_selection", ["rain", "snow"]),
    ],
    ids=["one", "many"],
)
def test_items_alone_are_recorded_shown_verified_and_paid(
    command: Command, searches: Path, tmp_path: Path, more: tuple[object, ...], mechanism: str, items: list[str]
) -> None:
    book, out = tmp_path / "budget.ledger", tmp_path / "keys.json"
    tk.ledger.Ledger.create(book, budget=(90, 1e-5), **PAID).close()
    found = command(*release(searches, *more, *SOME, "--out", out, "--ledger", book, kind="partitions"))
    assert found.code == 0
    assert "items with enough users" in found.out
    record = record_of(out.read_text(encoding="utf-8"))
    assert record["mechanism"]["mechanism"] == mechanism
    assert set(items) <= set(record["items"]) <= {"rain", "snow", "=hail"}
    assert (record["k"], record["release"], "counts" in record) == (None, "set", False)
    assert command("verify", out, "--ledger", book).code == 0
    shown = command("show", out)
    assert "in alphabetical or numerical order" in shown.flat
    assert "users or more have it" in shown.flat
    page = command("show", out, "--html", "--to", "-")
    assert "scale of noise" not in page.out
    with tk.ledger.Ledger(book) as again:
        assert 0 < again.spent()[1] <= 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "mechanism", "sentence"),
    [
        (("--k", 30), "unknown_domain_top_k", "The choice used random noise of scale"),
        (("--k", 2, "--max-items", 1), "stable_histogram", "those that then reached a threshold the largest were"),
    ],
    ids=["curve", "histogram"],
)
def test_the_best_are_recorded_shown_verified_and_paid(
    command: Command, tmp_path: Path, more: tuple[object, ...], mechanism: str, sentence: str
) -> None:
    book, out = tmp_path / "budget.ledger", tmp_path / "best.json"
    searches = written(tmp_path / "searches.parquet", {"rain": 4000, "snow": 2000, "hail": 1})  # surely in this order
    tk.ledger.Ledger.create(book, budget=(9, 1e-5), **PAID).close()
    assert command(*release(searches, *more, *SOME, "--out", out, "--ledger", book)).code == 0
    record = record_of(out.read_text(encoding="utf-8"))
    assert record["mechanism"]["mechanism"] == mechanism
    assert (record["items"][0], record["release"], "counts" in record) == ("rain", "ranking", False)
    assert (record["measure"], record["d_out"][0]) == ("Approximate(MaxDivergence)", pytest.approx(3))
    verified = command("verify", out, "--ledger", book)
    assert verified.code == 0
    assert "does not agree" not in verified.out
    assert sentence in command("show", out, "--html", "--to", "-").flat
    with tk.ledger.Ledger(book) as again:
        assert again.spent() == tuple(record["d_out"])


@pytest.mark.slow
def test_several_releases_share_a_target(command: Command) -> None:
    found = command("plan", "partitions", "--max-items", 50, "--epsilon", 3, "--delta", 1e-6, "--releases", 4)
    assert found.code == 0
    assert "is released with probability at least 1/2 each time" in found.flat
    each = "--max-items 50 --epsilon 0.75 --delta 2.5e-07 --ledger budget.ledger  # 4 times"
    assert f"release partitions TABLE --user USER --item ITEM {each}" in found.out


@pytest.mark.slow
def test_it_is_said_before_that_many_items_of_a_user_take_many_users(command: Command, searches: Path) -> None:
    asked = "--max-items", 500, "--minimum-users", 35, "--epsilon", 30, "--delta", 1e-8
    fewer = "49 if at most 20 items of each user counted and 36 if 1 item of each user"
    assert fewer in command("plan", "partitions", *asked).flat
    found = command(*release(searches, *asked, kind="partitions"))
    assert "no item was released" in found.out
    assert "a smaller --max-items: 49" in found.flat


@pytest.mark.further
def test_the_plan_says_how_many_users_an_item_needs(command: Command) -> None:
    one = command(*argv("plan partitions --max-items 1 --epsilon 1 --delta 1e-8"))
    assert "19 users or more" in one.field("accuracy")
    assert "epsilon = 1 and delta = 1e-08" in one.field("each item")


@pytest.mark.slow
def test_a_plan_of_items_is_paid_until_the_budget_is_spent(command: Command, searches: Path, tmp_path: Path) -> None:
    book, one = tmp_path / "budget.ledger", ("--max-items", 1)
    given = "--dataset", "searches", "--epsilon", 3, "--delta", 1e-6, "--own-delta", 5e-7, "--user", "who"
    assert command("ledger", "create", book, *given).code == 0
    planned = "--max-items 1 --epsilon {} --delta {} --ledger " + str(book)
    assert planned.format(3, 5e-07) in command("plan", "partitions", *one, "--ledger", book).flat
    asked = release(searches, *one, "--epsilon", 2, "--delta", 4e-7, "--ledger", book, kind="partitions")
    paid = command(*asked)
    assert paid.code == 0
    assert {"rain", "snow"} <= set(paid.out.split())
    assert planned.format(1, 1e-07) in command("plan", "partitions", *one, "--ledger", book).flat
    command(*asked).complains(1, "nothing was debited or released")
    with tk.ledger.Ledger(book) as account:
        assert account.spent()[1] == 4e-7
        assert len(account.history()) == 1


ABOVE = "--max-items", 2


@pytest.mark.slow
def test_items_of_fewer_users_are_never_released(command: Command, searches: Path) -> None:
    result = command(*release(searches, *ABOVE, "--minimum-users", 35, *DELTA, "--out", "-", kind="above-threshold"))
    record = record_of(result.out)
    assert record["items"] == ["rain", "snow"]
    assert record["mechanism"]["minimum_users"] == 35
    assert "transformations/minimum_users" in [one["document"] for one in record["proof"]["documents"]]


@pytest.mark.slow
def test_the_plan_says_so(command: Command) -> None:
    asked = "plan", "above-threshold", *ABOVE, "--epsilon", 1, "--delta", 1e-6
    plain, beyond = command(*asked), command(*asked, "--minimum-users", 100)
    assert beyond.field("threshold").startswith(plain.field("threshold").split()[0])
    assert "counted from 100 users, because" in beyond.field("threshold")
    assert "without items with fewer than 100 users" in beyond.flat
    near = [int(one.field("accuracy").split("at least ")[2].split()[0]) for one in (plain, beyond)]
    assert near[1] - near[0] == 99
    best = command("plan", "unknown-domain", "--k", 3, "--minimum-users", 100, "--epsilon", 1, "--delta", 1e-6)
    assert "largest count, and 99 users, by more than" in best.field("accuracy")


@pytest.mark.slow
def test_of_a_list_they_are_left_out_too(command: Command, searches: Path, tmp_path: Path) -> None:
    listed, out = tmp_path / "words.txt", tmp_path / "top.json"
    listed.write_text("snow\nrain\nmist\n=hail\n", "utf-8")
    asked = "--minimum-users", 35, *DELTA, "--candidates", listed, "--out", out
    result = command(*release(searches, "--k", 3, *asked))
    record = record_of(out.read_text("utf-8"))
    assert record["items"] == ["rain", "snow"]
    assert (record["mechanism"]["minimum_users"], record["mechanism"]["candidates"]) == (35, 4)
    assert "1 fewer than 3 items" in result.flat
    assert command("verify", out).code == 0
    assert "4 candidates" in command("show", out).flat
    config = tmp_path / "release.toml"
    config.write_text(command("show", out, "--config").out, "utf-8")
    again = "release", "unknown-domain", searches, "--config", config
    command(*again).complains(2, "a release needs --candidates, the list itself")
    assert command(*again, "--candidates", listed).code == 0
    planned = argv("plan unknown-domain --k 3 --candidates 500 --minimum-users 35 --rho 0.1 --delta 1e-6")
    assert "counted from 35 users, because" in command(*planned).field("threshold")
    asked = argv("plan unknown-domain --k 3 --candidates 50 --minimum-users 9 --delta 1e-8")
    several = command(*asked, "--epsilon", 1, "--releases", 2)
    assert "--candidates FILE --k 3 --minimum-users 9 --epsilon 0.5 --delta 5e-09" in several.out
    for more in (("--counts",), ("--release", "set"), ("--max-items", 2), ("--compare",)):
        assert command(*asked, "--epsilon", 10**6, *more).code == 2, more


@pytest.mark.slow
def test_all_items_above_a_threshold(command: Command, searches: Path) -> None:
    result = command(*release(searches, *ABOVE, "--keep", "rows", *DELTA, kind="above-threshold"))
    assert result.code == 0
    lines = [line.split() for line in result.out.splitlines()[2:5]]
    assert lines == [["89", "rain"], ["40", "snow"], ["30", "=hail"]]
    assert "my own name" not in result.out
    assert "measurements/stable_histogram (current)" in result.flat
    options = *ABOVE, "--keep", "order", *DELTA, "--out", "-"
    record = record_of(command(*release(searches, *options, kind="above-threshold")).out)
    assert record["items"] == ["rain", "snow", "=hail"]
    assert record["mechanism"]["mechanism"] == "stable_histogram"
    assert record["counts"] == [89, 40, 30]
    assert record["d_out"][1] <= 1e-8


@pytest.mark.slow
def test_a_random_choice_of_items(command: Command, searches: Path) -> None:
    options = *ABOVE, "--keep", "random", *DELTA, "--out", "-"
    record = record_of(command(*release(searches, *options, kind="above-threshold")).out)
    assert record["mechanism"]["by"] == "random"
    assert record["mechanism"]["most"] == 2
    documents = [one["document"] for one in record["proof"]["documents"]]
    assert "transformations/bound_contributions" in documents


@pytest.mark.slow
def test_the_plan_is_that_of_the_library(command: Command) -> None:
    result = command("plan", "above-threshold", *ABOVE, "--epsilon", 0.5, "--delta", 1e-6, "--users", 2)
    count = (tk.FrameDomain("u", "i"), tk.UserDistance()) >> tk.then_count_by_item(candidates=None, max_items=2)
    measure = tk.Approximate(tk.MaxDivergence())
    scale = float(result.field("scale").split()[0])
    threshold = int(result.field("threshold").split()[0])
    best = count >> tk.then_stable_histogram(measure, scale=scale, threshold=threshold)
    assert scale == 2 * 2 / 0.5
    assert best.check(2, (0.5, 1e-6))
    assert not (count >> tk.then_stable_histogram(measure, scale=scale, threshold=threshold - 1)).check(2, (0.5, 1e-6))
    assert "an item is released if its count is at least" in result.field("accuracy")


@pytest.mark.further
def test_a_plan_takes_the_noise_that_lets_items_of_fewer_users_in(command: Command) -> None:
    """Both kinds of noise at rho = 0.05 have a scale of 10, and Gaussian noise the lighter tail."""
    result = command("plan", "above-threshold", "--max-items", 10, "--rho", 0.05, "--delta", 1e-6)
    assert "discrete Gaussian noise" in result.flat
    count = (tk.FrameDomain("u", "i"), tk.UserDistance()) >> tk.then_count_by_item(candidates=None, max_items=10)
    measure = tk.Approximate(tk.ZeroConcentratedDivergence())
    other = count >> tk.then_stable_histogram(measure, scale=10, delta=1e-6)
    assert other.map(1)[0] == pytest.approx(0.05, rel=1e-3)
    assert 2 * int(result.field("threshold").split()[0]) < other.parameters["threshold"]


@pytest.mark.further
def test_the_number_of_others(command: Command, library: Library) -> None:
    out = library.folder / "top.json"
    result = command(*library.release("--epsilon", 10**6, "--other", "--out", out))
    assert result.code == 0
    record = json.loads(out.read_text(encoding="utf-8"))
    left = [book for book in LOANS if book not in record["items"]]
    assert isinstance(record["other"], int)
    assert 0 < record["other"] <= sum(LOANS[book] for book in left)
    assert record["d_out"] <= 10**6
    assert f"{record['other']} users (a noisy count) have another item (epsilon = 100000.0 of it)" in result.flat
    documents = [one["document"] for one in record["proof"]["documents"]]
    assert {"combinators/followed_by", "transformations/count_by_item", "core/chaining"} <= set(documents)
    assert len(CANDIDATES) > len(record["items"])


@pytest.mark.slow
@pytest.mark.parametrize("target", [("--epsilon", 1), ("--rho", 0.1)])
@pytest.mark.parametrize("listed", [("top-k", "--candidates", 50), ("unknown-domain", "--delta", 1e-8)])
def test_with_others_a_tenth_is_left(command: Command, target: tuple[str, float], listed: tuple[object, ...]) -> None:
    result = command("plan", *listed, "--k", 3, *target, "--other")
    assert f"= {target[1] * 0.9:.2g}" in result.field("cost")
    assert f"= {Fraction(str(target[1])) / 10 * 1.0:g} more" in result.field("other")


@pytest.mark.slow
def test_others_after_a_release_from_the_table_itself(command: Command, searches: Path) -> None:
    record = record_of(command(*release(searches, "--k", 4, *DELTA, "--other", "--out", "-")).out)
    assert record["items"] == ["rain", "snow", "=hail"]
    assert record["other"] == 1, "the one user of an item that does not come out"
    assert record["d_out"][0] <= 10**6
