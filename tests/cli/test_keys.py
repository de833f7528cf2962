"""The commands with --keys: items alone, by weights or each for itself, recorded, shown, verified and paid for."""

from __future__ import annotations

from pathlib import Path

import pytest

import opendp_topk as tk

from .command import record_of
from .conftest import Command
from .test_unlisted import release, searches

__all__ = ["searches"]

LITTLE = "--epsilon", 3, "--delta", 1e-6


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
    measure = tk.Approximate(tk.MaxDivergence())
    tk.Ledger.create(book, budget=(90, 1e-5), measure=measure, dataset="searches", metric=tk.UserDistance()).close()
    found = command(*release(searches, "--keys", *more, *LITTLE, "--out", out, "--ledger", book))
    assert found.code == 0
    assert "items with enough users" in found.out
    record = record_of(out.read_text(encoding="utf-8"))
    assert record["mechanism"]["mechanism"] == mechanism
    assert set(items) <= set(record["items"]) <= {"rain", "snow", "=hail"}
    assert (record["k"], record["release"], "counts" in record) == (None, "set", False)
    assert command("verify", out, "--ledger", book).code == 0
    shown = command("show", out)
    assert "in alphabetical order" in shown.flat
    assert "users or more have it" in shown.flat
    page = command("show", out, "--html", "--to", "-")
    assert "scale of noise" not in page.out
    with tk.Ledger(book) as again:
        assert 0 < again.spent()[1] <= 1e-6


@pytest.mark.slow
def test_several_releases_share_a_target(command: Command) -> None:
    found = command("plan", "--keys", "--max-items", 50, "--epsilon", 3, "--delta", 1e-6, "--releases", 4)
    assert found.code == 0
    assert "comes out as likely as not each time" in found.flat
    assert "--max-items 50 --keys --epsilon 0.75 --delta 2.5e-07 --ledger budget.ledger  # 4 times" in found.out


@pytest.mark.slow
def test_it_is_said_before_that_many_items_of_a_user_take_many_users(command: Command, searches: Path) -> None:
    asked = "--keys", "--max-items", 500, "--minimum-users", 35, "--epsilon", 30, "--delta", 1e-8
    assert "49 where at most 20 items of each counted and 36 where 1 item of each" in command("plan", *asked).flat
    found = command(*release(searches, *asked))
    assert "no item came out" in found.out
    assert "a smaller --max-items: 49" in found.flat


@pytest.mark.further
def test_the_plan_says_how_many_users_an_item_needs(command: Command) -> None:
    one = command(*["plan", "--keys", "--max-items", "1", "--epsilon", "1", "--delta", "1e-8"])
    assert "19 users or more" in one.field("accuracy")
    assert "epsilon = 1 and delta = 1e-08" in one.field("each item")


@pytest.mark.slow
def test_a_plan_of_items_alone_is_paid_until_the_budget_is_spent(
    command: Command, searches: Path, tmp_path: Path
) -> None:
    book, one = tmp_path / "budget.ledger", ("--keys", "--max-items", 1)
    given = "--dataset", "searches", "--epsilon", 3, "--delta", 1e-6, "--own-delta", 5e-7, "--user", "who"
    assert command("ledger", "create", book, *given).code == 0
    planned = "--max-items 1 --keys --epsilon {} --delta {} --ledger " + str(book)
    assert planned.format(3, 5e-07) in command("plan", *one, "--ledger", book).flat
    asked = release(searches, *one, "--epsilon", 2, "--delta", 4e-7, "--ledger", book)
    paid = command(*asked)
    assert paid.code == 0
    assert {"rain", "snow"} <= set(paid.out.split())
    assert planned.format(1, 1e-07) in command("plan", *one, "--ledger", book).flat
    command(*asked).complains(1, "nothing was debited or released")
    with tk.Ledger(book) as account:
        assert account.spent()[1] == 4e-7
        assert len(account.history()) == 1
