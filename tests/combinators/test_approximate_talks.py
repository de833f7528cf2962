"""Compositions under Approximate(...) against exact laws: steps that tell all with a small probability."""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import Any

import mpmath
import pytest

import opendp_topk as tk

from .talks import MAX, RANGE, SPACE, ZCDP, Tape, bit_loss, number, renyi, transcripts

ORDERS = [1 + mpmath.mpf(2) ** n for n in range(-8, 6)]
Chances = tuple[Fraction, Fraction]
MILD: Chances = (Fraction(1, 3), Fraction(1, 2))
DEAR: Chances = (Fraction(1, 4), Fraction(1, 2))
CHEAP: Chances = (Fraction(1, 2), Fraction(2, 5))
DELTAS = {MILD: Fraction(1, 64), DEAR: Fraction(1, 16), CHEAP: Fraction(1, 128)}


def leaking_bit(measure: tk.Measure, tape: Tape, chances: Chances) -> tk.Measurement:
    """Releases x itself with probability delta, and a noisy bit otherwise; its map is that mixture's."""
    delta = DELTAS[chances]

    def function(x: Any) -> str:
        bit = int(x[0])
        return f"x = {bit}" if tape.draw(delta) else str(tape.draw(chances[bit]))

    loss = bit_loss(measure, chances)
    return tk.make_user_measurement(
        *SPACE,
        tk.Approximate(measure),
        function=function,
        privacy_map=lambda d_in: (loss, delta) if d_in else (0.0, 0),
        distribution=lambda x: {
            f"x = {int(x[0])}": delta,
            "0": (1 - delta) * (1 - chances[int(x[0])]),
            "1": (1 - delta) * chances[int(x[0])],
        },
    )


def greedy(measure: tk.Measure, queryable: Any, tape: Tape, *, rounds: int = 5) -> tuple[str, ...]:
    """Asks a dear query after a "1" and a cheap one otherwise, and goes on after refusals."""
    answers = [queryable(leaking_bit(measure, tape, MILD))]
    while len(answers) < rounds:
        try:
            answers.append(queryable(leaking_bit(measure, tape, DEAR if answers[-1] == "1" else CHEAP)))
        except tk.BudgetError:
            answers.append("refused")
    return tuple(answers)


def hockey_stick(epsilon: float, law: dict[Any, Fraction], other: dict[Any, Fraction]) -> Any:
    """The smallest delta of (epsilon, delta), both ways."""
    with mpmath.workdps(40):
        e = mpmath.exp(epsilon)
        return max(
            mpmath.fsum(max(mpmath.mpf(0), number(p[y]) - e * number(q.get(y, Fraction(0)))) for y in p)
            for p, q in ((law, other), (other, law))
        )


def told(answers: tuple[str, ...]) -> bool:
    return any(answer.startswith("x") for answer in answers)


def core(law: dict[Any, Fraction]) -> dict[Any, Fraction]:
    """The law given that x was never told."""
    kept = {answers: mass for answers, mass in law.items() if not told(answers)}
    whole = sum(kept.values())
    return {answers: mass / whole for answers, mass in kept.items()}


@functools.cache
def filtered(measure: tk.Measure, epsilon: float, delta: Fraction) -> tuple[Any, list[dict[Any, Fraction]], list[Any]]:
    """A filter with this budget, the laws of a greedy analyst's transcripts on 0 and on 1, and what was accounted."""
    odometer = tk.make_fully_adaptive_composition(*SPACE, tk.Approximate(measure))
    interactive = tk.make_privacy_filter(odometer, d_in=1, d_out=(epsilon, delta))
    spent: list[Any] = []

    def analyst(queryable: Any, tape: Tape) -> tuple[str, ...]:
        answers = greedy(measure, queryable, tape)
        spent.append(queryable.privacy_loss(1))
        return answers

    return interactive, [transcripts(interactive, analyst, x) for x in (0, 1)], spent


@pytest.mark.further
@pytest.mark.quick(delta="3/64")
@pytest.mark.parametrize(("epsilon", "delta"), [(2.5, Fraction(1, 8)), (1.0, Fraction(1, 8)), (2.5, Fraction(3, 64))])
def test_a_filter_keeps_epsilon_and_delta(epsilon: float, delta: Fraction) -> None:
    interactive, laws, spent = filtered(MAX, epsilon, delta)
    assert interactive.map(1) == (epsilon, delta)
    assert any("refused" in answers for answers in laws[0])
    assert max(one for one, _ in spent) <= epsilon
    assert max(other for _, other in spent) <= delta
    found = hockey_stick(epsilon, *laws)
    assert found <= number(delta)
    assert found > number(delta) / 5, "the leaks are in the transcript"


@pytest.mark.further
@pytest.mark.parametrize(("measure", "epsilon"), [(ZCDP, 0.2), (RANGE, 3.0)], ids=repr)
def test_a_filter_keeps_what_is_left_apart_from_delta(measure: tk.Measure, epsilon: float) -> None:
    """The transcripts are mixtures: one part within the inner budget, the other of mass at most delta."""
    delta = Fraction(1, 8)
    _, laws, _ = filtered(measure, epsilon, delta)
    for law in laws:
        assert 0 < sum(mass for answers, mass in law.items() if told(answers)) <= delta
    mild = [core(law) for law in laws]
    assert set(mild[0]) == set(mild[1])
    with mpmath.workdps(40):
        losses = [mpmath.log(number(mild[1][y] / mild[0][y])) for y in mild[0]]
        if measure == RANGE:
            assert 0.2 * epsilon < max(losses) - min(losses) <= epsilon
        else:
            found = max(renyi(p, q, order) / order for p, q in (mild, mild[::-1]) for order in ORDERS)
            assert 0.2 * epsilon < found <= epsilon


@pytest.mark.further
def test_the_odometer_states_what_was_lost_on_every_path() -> None:
    """An analyst who stops before the account exceeds a pair has lost no more than that pair."""
    interactive = tk.make_fully_adaptive_composition(*SPACE, tk.Approximate(MAX))
    limit, reported = (2.0, Fraction(1, 10)), []

    def analyst(queryable: Any, tape: Tape) -> tuple[str, ...]:
        answers = [queryable(leaking_bit(MAX, tape, MILD))]
        while len(answers) < 5:
            query = leaking_bit(MAX, tape, DEAR if answers[-1] == "1" else CHEAP)
            loss, delta = queryable.privacy_loss(1, query)
            if loss > limit[0] or delta > limit[1]:
                break
            answers.append(queryable(query))
        reported.append(queryable.privacy_loss(1))
        return tuple(answers)

    laws = [transcripts(interactive, analyst, x) for x in (0, 1)]
    largest = [max(part) for part in zip(*reported, strict=True)]
    assert hockey_stick(largest[0], *laws) <= largest[1]
    assert len({len(answers) for answers in laws[0]}) > 1


def test_agreed_pairs_bound_a_conversation_and_a_composition() -> None:
    measure = tk.Approximate(MAX)
    steps = [MILD, DEAR, CHEAP]
    mids = [(bit_loss(MAX, chances), DELTAS[chances]) for chances in steps]
    talk = tk.make_adaptive_composition(*SPACE, measure, d_in=1, d_mids=mids)

    def analyst(queryable: Any, tape: Tape) -> tuple[str, ...]:
        return tuple(queryable(leaking_bit(MAX, tape, chances)) for chances in steps)

    laws = [transcripts(talk, analyst, x) for x in (0, 1)]
    both = tk.make_composition([leaking_bit(MAX, Tape(), chances) for chances in steps])
    assert both.map(1) == talk.map(1)
    epsilon, delta = talk.map(1)
    found = hockey_stick(epsilon, *laws)
    assert delta / 2 < found <= delta
    for x, law in enumerate(laws):
        joint = both.distribution([x])
        assert set(joint) == set(law)
        assert all(abs(number(joint[y]) - number(law[y])) < mpmath.mpf("1e-28") for y in law)
