"""Sensitivity lemmas for all reals; false ones are refuted by counterexamples that exact arithmetic confirms."""

import itertools
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest

from . import lemmas
from . import lemmas as smt

needs_z3 = pytest.mark.skipif(
    __import__("importlib.util").util.find_spec("z3") is None, reason="z3-solver is not installed"
)


# Where the bounds are met: a lemma's name, and numbers that attain it.
WITNESSES: tuple[tuple[str, dict[str, int]], ...] = (
    ("metric, l-inf, d=2", {"r": 1, "m0": -1, "m1": 1}),
    ("metric, monotonic, d=2", {"r": 1, "m0": 0, "m1": 1}),
    ("counting, add_remove, d=1", {"added": 3, "removed": 0, "up0": 3, "down0": 0}),
    ("counting, add_remove, monotonic, d=2", {"added": 2, "removed": 3, "up0": 2, "down0": 0, "up1": 0, "down1": 3}),
    ("counting, replace, d=1", {"added": 3, "removed": 3, "up0": 3, "down0": 0}),
    ("counting, replace, monotonic, d=2", {"added": 3, "removed": 3, "up0": 3, "down0": 0, "up1": 0, "down1": 3}),
    *(
        (f"canonical, {kind}, d=2, k=1, gamma={gamma}, (0,) and (1,)", {"r": 1, "x0": 0, "x1": 0, "y0": 0, "y1": 1})
        for kind in ("margin", "distance")
        for gamma in ((0, 1) if kind == "margin" else (1,))
    ),
    *(
        (f"joint, {kind}, d=3, k=2, (0, 2) and (1, 2)", {"r": 1, "x0": 2, "x1": 0, "x2": 0, "y0": 2, "y1": 1, "y2": 0})
        for kind in ("ranking", "set")
    ),
)


def attains(lemma: smt.Lemma, witness: Mapping[str, int]) -> bool:
    """Whether the numbers of ``witness`` meet the hypotheses, and the bound with equality."""
    import z3
    from z3.z3util import get_vars

    values = [v == witness[str(v)] for v in get_vars(z3.And(*lemma.hypotheses, lemma.claimed_inequality))]
    search = z3.Solver()
    search.add(*lemma.hypotheses, *values, z3.Or(lemma.quantity == lemma.bound, lemma.quantity == -lemma.bound))
    return bool(search.check() == z3.sat)


@pytest.mark.slow
@needs_z3
def test_every_lemma_is_proved_and_every_witness_attains_it() -> None:
    stated = {lemma.name: lemma for lemma in lemmas.all_lemmas()}
    verdicts = lemmas.verify_lemmas()
    assert {verdict.lemma for verdict in verdicts if verdict.status == "proved"} == set(stated)
    for family in ("metric, l-inf", "metric, monotonic", "counting, replace", "canonical, margin, d=4, k=3, gamma=0"):
        assert any(name.startswith(family) for name in stated)
    for family in ("canonical, distance, d=4, k=2, gamma=1", "joint, ranking, d=4, k=3", "joint, set, d=4, k=2"):
        assert any(name.startswith(family) for name in stated)
    for name, witness in WITNESSES:
        assert attains(stated[name], witness), name
        assert not attains(stated[name], {n: 2 * v if n in ("r", "added") else v for n, v in witness.items()})


def scores(found: Any, letter: str, d: int) -> list[Fraction]:
    return [found[f"{letter}{i}"] for i in range(d)]


def joint_utility(x: list[Fraction], chosen: tuple[int, ...], as_set: bool) -> Fraction:
    best = sorted(x, reverse=True)
    winners = [x[i] for i in chosen]
    return -max(b - w for b, w in zip(best, sorted(winners, reverse=True) if as_set else winners, strict=False))


def canonical_utility(x: list[Fraction], chosen: tuple[int, ...], gamma: int, capped: bool) -> Fraction:
    inside = min(x[i] for i in chosen)
    outside = max([x[i] for i in range(len(x)) if i not in chosen] + [inside] * capped)
    return gamma * inside - (1 - gamma) * outside


def spread(moves: list[Fraction]) -> Fraction:
    return max(moves) - min(moves)


@pytest.mark.further
@needs_z3
@pytest.mark.parametrize(("d", "k"), [(3, 2), (4, 3)])
def test_a_joint_sensitivity_of_one_is_refuted(d: int, k: int) -> None:
    refuted = 0
    for lemma in lemmas.joint_lemmas(d, k, factor=1):
        verdict = smt.decide_lemma(lemma)
        if verdict.counterexample is not None:
            x, y = (scores(verdict.counterexample, letter, d) for letter in "xy")
            outcomes = itertools.combinations if "set" in lemma.name else itertools.permutations
            is_set = "set" in lemma.name
            moves = [joint_utility(y, s, is_set) - joint_utility(x, s, is_set) for s in outcomes(range(d), k)]
            allowed = spread([b - a for a, b in zip(x, y, strict=True)])
            assert allowed < spread(moves) <= 2 * allowed
            refuted += 1
            if refuted == 6:
                break
    assert refuted


@needs_z3
@pytest.mark.parametrize("capped", [False, True])
def test_a_canonical_sensitivity_of_less_than_one_is_refuted(capped: bool) -> None:
    refuted = set()
    for lemma in lemmas.canonical_lemmas(3, 2, capped, factor=Fraction(99, 100)):
        verdict = smt.decide_lemma(lemma)
        if verdict.counterexample is not None:
            gamma = int("gamma=1" in lemma.name)
            x, y = (scores(verdict.counterexample, letter, 3) for letter in "xy")
            sets = itertools.combinations(range(3), 2)
            moves = [canonical_utility(y, s, gamma, capped) - canonical_utility(x, s, gamma, capped) for s in sets]
            allowed = spread([b - a for a, b in zip(x, y, strict=True)])
            assert Fraction(99, 100) * allowed < spread(moves) <= allowed
            refuted.add(gamma)
    assert refuted == {0, 1}


@needs_z3
def test_a_combination_beyond_the_ends_is_refuted() -> None:
    true = lemmas.convexity_lemma()
    false = smt.Lemma("every gamma", true.hypotheses[:2], true.quantity, true.bound)
    assert (smt.decide_lemma(true).status, smt.decide_lemma(false).status) == ("proved", "refuted")


@needs_z3
def test_time_runs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    z3 = smt.load_solver()
    monkeypatch.setattr(z3.Solver, "check", lambda self: z3.unknown)
    assert smt.decide_lemma(lemmas.convexity_lemma()).status == "unknown"
