"""Claims audited by samples: three verdicts, what they rest on, and how often a right claim is refuted."""

import json
import math
import random
import re
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.apps.audit import report as verdicts
from opendp_topk.apps.audit.audited import audit_pair
from opendp_topk.apps.audit.html.report import render_audit
from opendp_topk.errors import ParameterError
from tests.concepts.sentinels import raises_exactly

from .pages import read

PAIR = [(0, 1)]
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "audit.md"


def constant(x: Any) -> int:
    return 0


def response(epsilon: float, seed: int) -> Callable[[int, int], Any]:
    """Randomised response of one bit, which loses ``epsilon`` exactly."""
    source, truth = np.random.default_rng(seed), 1 / (1 + math.exp(-epsilon))
    return lambda bit, n: np.where(source.random(n) < truth, bit, 1 - bit)


def test_the_three_verdicts_and_what_goes_with_them() -> None:
    wanted = {
        1.0: ("refuted", 1, "but the claim is 1.0; this is wrong with probability at most 0.001"),
        2.5: ("not refuted", 0, "the claim is 2.5: this does not prove the claim"),
        50.0: ("not tested", 3, "the claim is 50.0, and 4000 samples can never show that epsilon is"),
    }
    for claim, (verdict, code, why) in wanted.items():
        found = tk.audit.audit_claim(response(2.0, 1), epsilon=claim, pairs=PAIR, batched=True, samples=4000)
        assert (found.verdict, found.exit_code) == (verdict, code)
        told = json.loads(json.dumps(found.as_dict()))
        assert (told["verdict"], told["claimed"], told["pair"]) == (verdict, claim, 0)
        assert told["error_probability"] == pytest.approx(0.001, rel=1e-9)
        assert found.lines[0].startswith(f"{verdict}: ")
        assert why in found.lines[0]
        assert told["at_least"] <= 2.0 < told["refutable_below"]
        page = render_audit("a & b", found)
        assert f'class="state {verdict.replace(" ", "-")}"' in page
        assert "a &amp; b" in page
        again = render_audit("a", found, "run --pair '[[0], [1]]'")
        assert "<code>run --pair &#x27;[[0], [1]]&#x27;</code>" in again
        assert "<code>" not in page


def test_the_exit_codes_of_the_guide_are_those_of_the_verdicts() -> None:
    told = re.findall(
        r"^\| (refuted|not refuted|not tested) \| [^|]*\| (\d) \|", GUIDE.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert {word: int(code) for word, code in told} == {
        word: verdicts.EXIT_CODES[word] for word in (verdicts.REFUTED, verdicts.NOT_REFUTED, verdicts.NOT_TESTED)
    }


@pytest.mark.further
def test_a_pair_is_audited_anew_and_told_as_it_was() -> None:
    pairs = [(0, 0), (0, 1)]
    settings: dict[str, Any] = {"epsilon": 1.0, "batched": True, "samples": 4000}
    first = tk.audit.audit_claim(response(2.0, 1), pairs=pairs, **settings)
    assert first.pair == 1
    again = audit_pair(response(2.0, 2), first.pair, pairs=pairs, confidence=1 - 1e-9, **settings)
    assert (again.verdict, again.pair, again.found.pairs) == ("refuted", 1, 1)
    assert "input: pair 1 of the given pairs" in again.lines
    best = lambda scores: int(scores.argmax())  # noqa: E731
    made = tk.audit.audit_claim(best, epsilon=1.0, samples=400)
    anew = audit_pair(best, json.loads(json.dumps(made.pair)), epsilon=1.0, samples=400)
    assert (anew.verdict, anew.pair, anew.lines[3:5]) == ("refuted", made.pair, made.lines[3:5])
    for wrong in (2, -1, [[0.0]], [[0.0], []], "0", None):
        raises_exactly(ParameterError, partial(audit_pair, best, wrong, pairs=pairs, epsilon=1.0), "pair must be")


def test_a_page_has_a_bar_and_a_number_for_each_side_of_a_release() -> None:
    found = tk.audit.audit_claim(lambda x: "<b>" if x else "c" * 200, epsilon=1, pairs=[(3, 0)], samples=200)
    root = read(render_audit("a", found))
    rows = {row.all("th")[0].text: row.all("td") for row in root.all("tbody")[0].all("tr")}
    bars = {
        release: [(cell.text, bar.attributes["style"]) for cell in cells[:2] for bar in cell.all("span")]
        for release, cells in rows.items()
    }
    always, never = ("100", "width: 100.0%"), ("0", "width: 0.0%")
    assert bars == {"'<b>'": [always, never], repr("c" * 200): [never, always]}
    assert {cells[2].text for cells in rows.values()} == {"\u221e", "-\u221e"}


def test_the_event_and_its_counts_are_those_of_the_samples() -> None:
    """A count that is released as it is: the event tells it, on the one side always and on the other never."""
    found = tk.audit.audit_claim(lambda x: ("label", x), epsilon=1, pairs=[(3, 4)], samples=200)
    (seen,) = found.found.estimate.seen
    assert {seen.first, seen.second} == {0, 100}
    assert seen.event in ("the release is ('label', 3)", "the release is ('label', 4)")
    events = {one.event for one in found.found.estimate.outcomes}
    assert events == {"the release is ('label', 3)", "the release is ('label', 4)"}


def test_floats_are_told_by_intervals_that_hold_them() -> None:
    source = random.Random(4)
    found = tk.audit.audit_claim(
        lambda x: round(8 * source.gauss(3.0 * x, 1.0)) / 8, epsilon=0.5, pairs=PAIR, samples=4000
    )
    assert found.verdict == "refuted"
    text = found.found.estimate.seen[0].event
    assert "in (" in text or "above " in text
    ends = [float(end) for end in re.findall(r"-?\d+\.\d+", text)]
    assert ends
    assert all(-5 < end < 8 for end in ends)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_no_counts_show_more_than_the_reach(n: int) -> None:
    """By an own exact bound: the largest p with p^n <= alpha, beside what every count gives."""
    alpha = 0.02

    def upper_tail(hits: int, p: Fraction) -> Fraction:
        return sum((math.comb(n, h) * p**h * (1 - p) ** (n - h) for h in range(hits, n + 1)), Fraction(0))

    def lower(hits: int) -> float:
        if hits == 0:
            return 0.0
        low, high = Fraction(0), Fraction(1)
        for _ in range(30):
            middle = (low + high) / 2
            low, high = (middle, high) if upper_tail(hits, middle) <= Fraction(alpha / 2) else (low, middle)
        return float(low)

    from opendp_topk.apps.audit import blackbox

    bounds = [lower(hits) for hits in range(n + 1)]
    for spare in (0, 1):
        sure = [bounds[max(hits - spare, 0)] for hits in range(n + 1)]
        best = max(math.log(p / (1 - q)) if p else 0.0 for p in sure for q in sure)
        reach = blackbox._largest_provable_loss(tk.MaxDivergence(), 0.0, n, alpha, spare)
        assert reach == pytest.approx(max(0.0, best), abs=1e-7)


def test_a_reach_is_met_where_the_inputs_are_told_apart() -> None:
    for measure in (tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence()):
        found = tk.audit.estimate(lambda x: x, 0, 1, samples=400, measure=measure)
        assert found.lower == found.reach
    approximate = tk.audit.estimate(
        lambda x: x, 0, 1, samples=400, measure=tk.Approximate(tk.MaxDivergence()), delta=0.1
    )
    assert approximate.lower == approximate.reach
    assert approximate.verdict((1.0, 0.1)) == "refuted"


def test_claims_of_other_kinds() -> None:
    options: dict[str, Any] = {"pairs": PAIR, "batched": True, "samples": 4000}
    assert tk.audit.audit_claim(response(2.0, 3), rho=0.1, **options).verdict == "refuted"
    assert tk.audit.audit_claim(response(2.0, 3), rho=2.0, **options).verdict == "not refuted"
    assert tk.audit.audit_claim(response(2.0, 3), epsilon=1.0, delta=0.05, **options).verdict == "refuted"
    assert tk.audit.audit_claim(response(2.0, 3), epsilon=1.0, delta=0.6, **options).verdict == "not refuted"


@pytest.mark.slow
def test_a_measurement_states_its_own_claim() -> None:
    space = tk.VectorDomain(tk.AtomDomain(int), size=3), tk.LInfDistance()
    measurement = space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=1, scale=2.0)
    found = tk.audit.audit_claim(measurement, samples=400)
    assert (found.claimed, found.verdict) == (measurement.map(1), "not refuted")


@pytest.mark.further
def test_the_worst_of_given_pairs_is_found() -> None:
    source = np.random.default_rng(7)
    pairs = [(0, 0), (0, 1), (0, 0), (0, 5), (1, 1)]
    found = tk.audit.search(
        lambda x, n: x + source.laplace(size=n), pairs=pairs, measure=tk.MaxDivergence(), samples=4000, batched=True
    )
    assert (found.number, found.pairs, found.x, found.x_neighbor) == (3, 5, 0, 5)


def test_what_is_no_claim() -> None:
    wrongs: tuple[tuple[dict[str, Any], str], ...] = (
        ({}, "epsilon or rho must be given"),
        ({"epsilon": 1, "rho": 1}, "different claims"),
        ({"epsilon": 0}, "epsilon must be > 0"),
        ({"rho": math.inf}, "rho must be > 0"),
        ({"rho": 1, "delta": 0.1}, "delta requires epsilon"),
        ({"epsilon": 1, "pairs": []}, "pairs must contain"),
    )
    for wrong, match in wrongs:
        raises_exactly(ParameterError, partial(tk.audit.audit_claim, constant, **wrong), match)


@pytest.mark.slow
def test_a_mechanism_that_is_wrong_by_a_twentieth_is_refuted_at_a_million_samples() -> None:
    """Theory: the logarithm of the ratio has a standard error of .0036 there, and .05 is beyond 9 of them."""
    options = {"epsilon": 1.0, "pairs": PAIR, "batched": True, "samples": 1_000_000, "confidence": 1 - 1e-9}
    assert tk.audit.audit_claim(response(1.05, 5), **options).verdict == "refuted"
    assert tk.audit.audit_claim(response(1.0, 5), **options).verdict == "not refuted"


@pytest.mark.slow
def test_false_alarms_of_a_thousand_sessions_stay_below_the_stated_probability() -> None:
    """Each session audits three mechanisms that lose just what they claim, at a twentieth in all."""
    beta, sessions, alarms = 0.05, 1000, 0
    options = {"epsilon": 1.0, "pairs": PAIR, "batched": True, "samples": 400, "confidence": 1 - beta / 3}
    for session in range(sessions):
        responses = [response(1.0, 3 * session + test) for test in range(3)]
        alarms += "refuted" in [tk.audit.audit_claim(one, **options).verdict for one in responses]
    assert alarms <= beta * sessions
