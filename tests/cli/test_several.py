"""``plan --releases``: what each of several releases may cost, under three measures, by formulas of their own."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import mpmath
import pytest

import opendp_topk as tk
from opendp_topk.apps.ledger.amounts import largest_rho
from opendp_topk.apps.planning.several import format_rounded_down, format_stated_number

from ..oracles import rhos
from .command import Result
from .conftest import Command

ASKED = "plan", "--k", 2, "--candidates", 50


def rows(result: Result) -> dict[str, list[str]]:
    """The cells that begin each row, by the measure; a row may go on below."""
    assert result.code == 0, result
    lines = result.out.split("\u2500\n")[1].split("\n\n")[0].splitlines()
    return {line.split("  ")[0].strip(): line.split() for line in lines if not line.startswith(" ")}


def implied(rho: object, delta: object) -> mpmath.mpf:
    """The least epsilon that a rho implies at delta: the conversion of Canonne, Kamath and Steinke, minimised."""
    rho, delta = mpmath.mpf(rho), mpmath.mpf(delta)

    def epsilon(order: mpmath.mpf) -> mpmath.mpf:
        return order * rho + mpmath.log(1 / (order * delta)) / (order - 1) + mpmath.log(1 - 1 / order)

    return min(epsilon(mpmath.mpf(1) + mpmath.mpf(2) ** (mpmath.mpf(step) / 16)) for step in range(-96, 161))


@pytest.mark.slow
def test_three_budgets_that_promise_the_same(command: Command) -> None:
    found = rows(command(*ASKED, "--epsilon", 2, "--delta", 1e-6, "--releases", 12))
    assert list(found) == ["pure", "zCDP", "(epsilon, delta)"]
    epsilon, scale = float(found["pure"][4]), float(found["pure"][5])
    assert 12 * Fraction(found["pure"][4]) <= 2 < 12.0001 * epsilon
    assert scale == pytest.approx(2 * 12 / 2, rel=1e-5)
    total, each, scale = (float(found["zCDP"][place]) for place in (2, 4, 5))
    assert 12 * each == pytest.approx(total, rel=1e-4)
    assert float(2 * rhos.of_range(Fraction(1) / Fraction(scale))) == pytest.approx(each, rel=1e-4)
    assert float(implied(total, 1e-6)) == pytest.approx(2, rel=1e-3)
    space = tk.VectorDomain(tk.AtomDomain(int), size=50), tk.LInfDistance(monotonic=True)
    pair = Fraction(2), Fraction(1, 10**6)
    best = tk.compare(*space, tk.PrivacyProfile(), k=2, d_out=pair, releases=12)["report_noisy_top_k"]
    assert float(found["(epsilon, delta)"][-2]) == pytest.approx(best.scale, rel=1e-5)


@pytest.mark.further
def test_each_way_ends_in_the_releases_that_it_pays_for(command: Command) -> None:
    result = command(*ASKED, "--epsilon", 1, "--releases", 3)
    ways = [way.strip().splitlines() for way in result.out.split("\n# ")[1:]]
    each = ["--k 2 --epsilon 0.333333", f"--k 2 --rho {rows(result)['zCDP'][4]}", "--plan plan.json --planned 1"]
    table = "opendp-topk release TABLE --user USER --item ITEM --candidates FILE"
    assert [way[0].split(":")[0] for way in ways] == ["pure", "zCDP", "(epsilon, delta)"]
    assert [way[-1] for way in ways] == [f"{table} {one} --ledger budget.ledger  # 3 times" for one in each]


@pytest.mark.further
def test_what_is_left_of_a_ledger_is_told_way_by_way(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    book = tmp_path / "budget.ledger"
    budget = "--epsilon", 1, "--delta", 1e-6, "--own-delta", 1e-6
    assert command("ledger", "create", book, "--dataset", "visits", "--user", "visitor", *budget).code == 0
    found = rows(command(*ASKED, "--ledger", book, "--releases", 3))
    assert found["pure"][1:3] == ["epsilon", "1"]
    assert found["(epsilon, delta)"][2:6] == ["epsilon", "1,", "delta", "1e-06"]


@pytest.mark.slow
def test_a_rho_is_what_it_implies_at_one_in_a_million(command: Command) -> None:
    result = command(*ASKED, "--rho", 0.2, "--releases", 4)
    found = rows(result)
    epsilon = float(result.flat.split("together within epsilon = ")[1].split()[0])
    assert epsilon == pytest.approx(float(implied(0.2, 1e-6)), rel=1e-3)
    assert "delta = 1e-06" in result.flat
    assert float(found["zCDP"][4]) == 0.05
    assert float(found["pure"][4]) == pytest.approx(epsilon / 4, rel=1e-4)


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.1", "1e-9"), ("8", "0.01")])
def test_the_rho_is_the_largest_that_implies_the_pair(epsilon: str, delta: str) -> None:
    found = float(largest_rho(Fraction(epsilon), Fraction(delta)))
    assert implied(found, delta) <= mpmath.mpf(epsilon) * (1 + mpmath.mpf("1e-3"))
    assert implied(found * 1.01, delta) > mpmath.mpf(epsilon)


def test_what_may_be_spent_is_rounded_down() -> None:
    assert format_rounded_down(Fraction(3, 52)) == "0.0576923"
    assert format_rounded_down(Fraction(3, 30)) == "0.1"
    assert format_rounded_down(Fraction(2, 3000)) == "0.000666666"
    assert (
        format_stated_number(Fraction(1)),
        format_stated_number(Fraction(1, 10)),
        format_stated_number(Fraction(1, 3)),
    ) == ("1", "0.1", "0.333333")
