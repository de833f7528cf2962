"""The question which items together reach most people: its noise, its guarantees and its sentences."""

import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.apps.planning.public_shape import CoverageReach, SimulatedMean, simulate_coverage
from opendp_topk.spaces.curves.closed_forms import ZCDPBound
from tests.cli.command import argv
from tests.cli.conftest import Command, command
from tests.concepts.sentinels import raises_exactly

pl = pytest.importorskip("polars", reason="the tests of tables make them with polars")

__all__ = ["command"]
BOOKS = ("Emma", "Persuasion", "Walden", "Ulysses")


def asked(k: int = 2, candidates: Any = BOOKS, neighbors: str = "add_remove", users: int = 1, **budget: Any) -> Any:
    unit = tk.planning.TableUnit(user="who", neighbors=neighbors, users=users)
    given = tk.planning.PrivacyBudget(**budget or {"epsilon": 1})
    return tk.planning.Coverage(k=k, candidates=candidates, item="book", unit=unit, budget=given)


def curve(epsilon: float, scale: float) -> float:
    r = 1 / scale
    return (1 - math.exp(-r)) * math.exp(-(epsilon + r) / math.expm1(r))


@pytest.mark.parametrize(("k", "candidates", "alpha"), [(2, 4, 0.05), (3, 1000, 0.01), (200, 5000, 0.05)])
def test_noise_and_guarantees_are_those_of_formulas(k: int, candidates: int, alpha: float) -> None:
    unit = tk.planning.TableUnit(user="who")
    for budget, noise in (({"epsilon": 0.5}, k / 0.5), ({"epsilon": 1, "delta": 1e-5}, None)):
        question = tk.planning.Coverage(
            k=k, candidates=candidates, unit=unit, budget=tk.planning.PrivacyBudget(**budget), alpha=alpha
        )
        plan = question.plan().plan
        scale = plan.measurement.parameters["scale"]
        if noise is not None:
            assert scale == noise
        elif k == 200:
            assert curve(1.0, scale) <= 1e-5 < curve(1.0, scale * (1 - 1e-3))
        users = math.floor(scale * math.log(candidates * k / alpha))
        words = question.plan().accuracy["accuracy"]
        assert plan.accuracy_floor == users
        assert f"each choice reaches at most {users} users fewer" in words
        reach = f"so all {k} together reach at least 63 % of the most that {k} candidates reach"
        assert f"{reach}, less {k * users} users" in words
        assert f"at least {round(100 * (1 - alpha))} %" in words


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"rho": 0.01}, {"epsilon": 1, "delta": 1e-5}])
def test_who_is_replaced_and_groups_need_more_noise(budget: dict[str, float]) -> None:
    one, two, replaced = (
        asked(k=40, candidates=50, neighbors=rule, users=users, **budget).plan().measurement.parameters["scale"]
        for rule, users in (("add_remove", 1), ("add_remove", 2), ("replace", 1))
    )
    assert two == pytest.approx(replaced, rel=2e-3)
    assert two >= 2 * one * (1 - 1e-9)


@pytest.mark.parametrize(("k", "own_delta", "pays_delta"), [(2, 5e-5, False), (40, 1e-4, True)])
def test_a_ledger_pays_for_a_point_of_the_curve_only_if_more_releases_fit(
    k: int, own_delta: float, pays_delta: bool, tmp_path: Path
) -> None:
    """The rho of few choices is below that of their epsilon at delta; without a share of delta, rhos do not count."""
    books = [*BOOKS, *map(str, range(50))]
    ready = asked(k=k, candidates=books, epsilon=1, delta=1e-5).plan()
    given = {"measure": tk.PrivacyProfile(), "dataset": "books", "metric": tk.UserDistance(), "user": "who"}
    tk.ledger.Ledger.create(tmp_path / "b", budget=(5, 1e-4), own_delta=own_delta, **given).close()
    ready.release(pl.DataFrame({"who": [1, 2], "book": ["Emma", "Walden"]}), ledger=str(tmp_path / "b"))
    with tk.ledger.Ledger(tmp_path / "b") as ledger:
        rho, delta = ledger.history()[0].cost
        rhos = [bound.rho for bound in ready.measurement.map(1).bounds if isinstance(bound, ZCDPBound)]
        assert (rho < 0.5, delta) == ((True, 1e-5) if pays_delta else (rho == pytest.approx(float(min(rhos))), 0))


def test_the_command_releases_and_shows_the_choices(command: Command, tmp_path: Path) -> None:
    rows = [(who, book) for who in range(3000) for book in BOOKS[:2]] + [(who, "Walden") for who in range(3000, 4000)]
    pl.DataFrame(rows, ["who", "book"], orient="row").write_parquet(tmp_path / "read.parquet")
    (tmp_path / "books.txt").write_text("\n".join(BOOKS))
    given = *argv("--user who --item book --k 2 --epsilon 1"), "--candidates", tmp_path / "books.txt"
    record = tmp_path / "top.json"
    made = command("release", "coverage", tmp_path / "read.parquet", *given, "--out", record)
    assert made.code == 0, made.err
    shown = command("show", record).flat
    for words in (
        "The 2 of 4 candidates that reach most users together",
        "choice",
        "who have it and none of the items before it, with random noise of scale 2 users",
        "a user counts for each item, until an item of theirs is chosen",
    ):
        assert words in shown
    assert "A later item may be more common than one before it" in command("show", record, "--html", "--to", "-").flat
    first, second = json.loads(record.read_text("utf-8"))["items"]
    assert (first in BOOKS[:2], second) == (True, "Walden")
    assert command("verify", record).code == 0


def read_books(whole: bool = False) -> Any:
    """Two books with the same 3,000 readers, one with 1,000 others, and one that only the last reader has."""
    rows: list[Any] = [(who, book) for who in range(3000) for book in BOOKS[:2]]
    rows += [(who, "Walden") for who in range(3000, 4000)]
    rows += [(4000, "Candide"), (4000, "Candide"), (None, "Walden"), (4001, None)]
    numbers = {None: None, "Candide": 2**40} | {book: place for place, book in enumerate(BOOKS)}
    return pl.DataFrame([(who, numbers[book] if whole else book) for who, book in rows], ["who", "book"], orient="row")


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(("candidates", "users"), [(None, 4000), (5, 4001), (40, 4001)])
def test_a_plan_is_tried_on_a_public_table(candidates: int | None, users: int, whole: bool) -> None:
    """Margins are a hundred times the noise: what is reached follows from the table alone."""
    listed = candidates or (("0", "01", "2", "3") if whole else BOOKS)
    for k, chosen, popular in ((1, 3000, 3000), (2, 4000, 3000), *([] if candidates else [(4, users, users)])):
        budget = {"epsilon": 1, "delta": 1e-5} if k == 1 and not whole else {"epsilon": 1}
        found = simulate_coverage(asked(k, listed, **budget).plan(), read_books(whole).lazy())
        assert found == CoverageReach(users, chosen, SimulatedMean(chosen, 0), SimulatedMean(popular, 0))


def test_the_command_tries_a_plan_on_a_public_table(command: Command, tmp_path: Path) -> None:
    table, named = tmp_path / "old.csv", ("--user", "who", "--item", "book", "--epsilon", 1, "--k", 2)
    read_books().write_csv(table)
    tried = "plan", "coverage", *named, "--like", table, "--candidates"
    assert (
        "4001 users have a candidate; 20 simulated releases reach on average 4000 (standard error 0) of them, and as "
        "many most popular items, released as a set within the same budget, 3000 (standard error 0); choices without "
        "noise reach 4000"
    ) in command(*tried, 4).flat
    command(*tried, 3).complains(2, "--like", "more items than --candidates")
    table.write_text("who,book\n", "utf-8")
    assert "0 users have a candidate" in command(*tried, 9).flat


def test_what_is_asked_is_checked() -> None:
    raises_exactly(tk.errors.ParameterError, lambda: asked(k=5).plan(), "k", "4")
    raises_exactly(tk.errors.ParameterError, lambda: asked(candidates=None).plan(), "candidates")
    raises_exactly(tk.errors.ParameterError, lambda: asked(k=1, candidates=("a",)).plan(), "k")
    raises_exactly(tk.errors.ParameterError, lambda: asked(epsilon=1, rho=1).plan(), "rho")


def test_several_releases_add_up_and_compose_as_the_command_says() -> None:
    """Epsilons and rhos are divided by the number of releases; curves together need less noise than both."""
    releases, k = 6, 20
    question = asked(k=k, candidates=100, epsilon=1, delta=1e-5)
    pure, concentrated, curves = (one.plan.scale for one in tk.planning.Repeated(question, releases).options())
    assert pure == pytest.approx(releases * k, rel=1e-5)
    assert concentrated < pure / 5
    assert curves < 0.75 * concentrated
    single = question.plan().plan.scale
    assert single < curves < releases * single


def test_groups_ask_top_k_alone() -> None:
    quantile = tk.planning.Quantile(quantile="1/2", column="n", bounds=(0, 9), budget=asked(epsilon=1).budget)
    for question in (asked(epsilon=1), quantile):
        build = partial(tk.planning.InGroups, question=question, group="town", groups=("x", "y"))
        raises_exactly(tk.errors.ParameterTypeError, build, "TopK")
