"""A noise is one record: where a sixth one is on the list, every room answers for it, and none knows its name."""

import json
import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from ..oracles import quadrature, rhos
from ..oracles.chi_square import assert_follows

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
SCALED = [Fraction(4, 3), Fraction(0), Fraction(2)]


@pytest.fixture(scope="module")
def answers() -> Any:
    asked = [sys.executable, "-m", f"{__package__}.sixth_answers"]
    done = subprocess.run(asked, capture_output=True, text=True, cwd=ROOT, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def rankings() -> dict[str, float]:
    found = quadrature.rankings("Sixth", SCALED, 2, digits=12)
    return {",".join(map(str, outcome)): float(p) for outcome, p in found.items()}


def test_the_maps_are_those_of_class_a(answers: Any) -> None:
    pure, width, rho = answers["maps"]
    assert pure == pytest.approx(2 / 1.5)
    assert width == pytest.approx(3 / 1.5)
    assert rho == pytest.approx(float(min(rhos.of_laplace(Fraction(4, 3)), rhos.of_range(Fraction(2)))))
    assert 0 < answers["curve"] <= math.tanh(pure / 2) * (1 + 1e-12)


def test_the_accuracy_is_that_of_its_tail(answers: Any) -> None:
    assert answers["accuracy"] == pytest.approx(1.5 * math.log(1.5 * 50 / 0.1))


def test_the_law_is_the_integral_over_the_last_winner(answers: Any) -> None:
    assert answers["law"] == pytest.approx(rankings(), rel=1e-10)


def test_the_probability_of_success_is_enclosed(answers: Any) -> None:
    lower, upper = answers["success"]
    exact = rankings()["0,2"] + rankings()["2,0"]
    assert lower - 1e-10 <= exact <= upper + 1e-10
    assert upper - lower < 1e-9


def test_releases_follow_the_law(answers: Any) -> None:
    assert_follows(answers["releases"], rankings(), detects=0.28)


def test_the_audit_tries_it_wherever_a_noise_is_asked_for(answers: Any) -> None:
    assert {name for name, *_ in answers["audit"]} == {"make_report_noisy_top_k", "make_noisy_top_k_with_gaps"}
    assert {release for _, release, *_ in answers["audit"]} == {"ranking", "set", ""}
    assert all(0 < loss <= claimed for *_, loss, claimed in answers["audit"])


def test_the_plans_have_a_row_for_it_and_its_words(answers: Any) -> None:
    assert "report_noisy_top_k_one_sixth" in answers["compared"]
    assert "independent one-sixth noise on each count" in answers["planned"]


def test_refusals_offer_it_and_nobody_else_takes_its_name(answers: Any) -> None:
    assert "Logistic(), Sixth() or CustomNoise(...)" in answers["refused"]
    assert "or the name of a noise of the library" in answers["taken"]
