"""make_pay_what_you_get: transcript laws against the map, what is given back, deltas, refusals, arguments."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import opendp_topk as tk
from tests.combinators.paid_talks import KEYS, MAX, PROFILE, SPACE, ZCDP, Analyst, Answers, histories, mass, query_of
from tests.concepts.links import as_outcome
from tests.concepts.sentinels import raises_exactly
from tests.concepts.specimens import Specimen
from tests.oracles import unlisted
from tests.oracles.unlisted import Counts, Setting

TABLE = {"umbrella": 900, "rain coat": 700, "scarf": 500, "my own name": 1}
ODOMETER = SPACE >> tk.then_fully_adaptive_composition(MAX)
LEVELS = [(1.0, 1.5), (2.0, 1.0)]


def talk(measure: tk.Measure = MAX, **options: Any) -> tk.Measurement:
    given = {"d_in": 1, "steps": 4, "width": 0.25, "calls": 3, "delta": 1e-6}
    return tk.make_pay_what_you_get(*SPACE, measure, **given | options)


def best(k: int, measure: tk.Measure = MAX, **options: Any) -> tk.Measurement:
    given = {"scale": 4.0, "limit": 10, "delta": 1e-6}
    return SPACE >> tk.then_unknown_domain_top_k(measure, k=k, **given | options)


def specimens() -> list[Specimen]:
    """Two queries about two keys that come at once: nearly both deltas."""
    setting = Setting("Gumbel", 1, 2, 2.0, 3.0)
    delta = query_of(setting).map(1)[1]
    link = talk(steps=2, width=0.5, calls=2, delta=delta)

    def cell(talking: Any, table: Any) -> Any:
        queryable = talking(table)
        return tuple(as_outcome(queryable(query_of(setting))) for _ in range(2))

    def law(table: dict[str, int]) -> dict[Any, float]:
        once = unlisted.law(setting, tuple(table.get(key, 0) for key in KEYS))
        named = {(tuple(KEYS[i] for i in keys), stopped): p for (keys, stopped), p in once.items()}  # type: ignore[misc]
        return {(a, b): named[a] * named[b] for a, b in itertools.product(named, repeat=2)}

    return [Specimen(link, ({"a": 1, "b": 1}, {}), law, cell=cell)]


# Every history of a conversation, on pairs of tables.


def greedy(answers: Answers, steps: int) -> int | None:
    """As many keys as there are steps left."""
    left = steps - used(answers)
    return min(left, 3) if left > 0 else None


def one_by_one(answers: Answers, steps: int) -> int | None:
    return 1 if used(answers) < steps else None


def by_the_first_answer(answers: Answers, steps: int) -> int | None:
    """Two keys, and then one at a time where an answer began with the first key."""
    if not answers:
        return min(2, steps)
    left = steps - used(answers)
    return None if left <= 0 else 1 if answers[-1].items[:1] == ("a",) else min(left, 2)


def used(answers: Answers) -> int:
    """By definition: one step for each key, and one for the stop symbol."""
    return sum(len(answer.items) + answer.stopped for answer in answers)


ANALYSTS: list[Analyst] = [greedy, one_by_one, by_the_first_answer]


def neighbours() -> Iterator[tuple[Counts, Counts]]:
    for move in unlisted.moves(3, "add_remove", 3):
        for h in ((0, 0, 0), (1, 0, 0), (2, 1, 0), (1, 1, 1), (2, 2, 1)):
            if any(move):
                yield h, tuple(a + b for a, b in zip(h, move, strict=True))


def laws(
    histories_: list[Any], h: Counts, other: Counts
) -> tuple[dict[int, float], dict[int, float], dict[int, float], dict[int, float]]:
    """Transcripts on both tables, and those of the conditional laws that the proof speaks of."""
    return tuple(  # type: ignore[return-value]
        {place: mass(one, law) for place, one in enumerate(histories_)}
        for law in (
            lambda s: unlisted.law(s, h),
            lambda s: unlisted.law(s, other),
            lambda s: unlisted.conditional(s, h, other),
            lambda s: unlisted.conditional(s, other, h),
        )
    )


@pytest.mark.slow
@pytest.mark.parametrize("analyst", ANALYSTS, ids=lambda analyst: analyst.__name__)
@pytest.mark.parametrize("steps", [2, 3])
def test_no_conversation_exceeds_the_map(analyst: Analyst, steps: int) -> None:
    for (tau, threshold), limit in itertools.product(LEVELS, (2, 3)):

        def ask(k: int, tau: float = tau, threshold: float = threshold, limit: int = limit) -> Setting:
            return Setting("Gumbel", min(k, limit), limit, tau, threshold)

        each = query_of(ask(1)).map(1)[1]
        options = {"steps": steps, "width": 1 / tau, "calls": steps, "delta": each}
        epsilon, delta = talk(**options).map(1)
        rho, curve = talk(ZCDP, **options).map(1)[0], talk(PROFILE, **options).map(1)
        found = list(histories(partial(talk(**options), TABLE), ask, analyst, steps, (2, 2, 2)))
        budgeted = tk.make_privacy_filter(ODOMETER, d_in=1, d_out=(epsilon, delta))
        assert found == list(histories(partial(budgeted, TABLE), ask, analyst, steps, (2, 2, 2)))
        assert max(used(answers) for _, answers in found) == steps
        for h, other in neighbours():
            first, second, kept, others = laws(found, h, other)
            assert math.fsum(first.values()) == pytest.approx(1)
            assert max(abs(math.log(kept[y] / others[y])) for y in kept if kept[y]) <= epsilon + 1e-9
            assert all((1 - delta) * kept[y] <= first[y] + 1e-12 for y in kept)
            positive = {y: p for y, p in kept.items() if p}
            loss = max(unlisted.renyi(positive, {y: others[y] for y in positive}, order) for order in (1.01, 2, 16))
            assert loss <= rho + 1e-9
            for share in (0.2, 0.5, 0.9):
                claimed = curve.delta(share * epsilon)
                assert unlisted.excess(first, second, share * epsilon) <= claimed + 1e-11


def test_each_query_pays_its_own_delta() -> None:
    """Of three queries about keys that only one table has: the event that some key is released, exactly."""
    setting = Setting("Gumbel", 1, 2, 1.0, 9.0)
    each = query_of(setting).map(1)[1]
    _, delta = talk(steps=3, width=1, calls=3, delta=each).map(1)
    stays_silent = unlisted.law(setting, (1, 1, 0))[(), True]
    assert unlisted.law(setting, (0, 0, 0))[(), True] == 1
    assert 0.999 * delta <= 1 - stays_silent**3 <= delta
    assert 1 - stays_silent**3 > 2.9 * each


def test_steps_that_were_not_taken_are_given_back() -> None:
    queryable = talk(steps=6)(TABLE)
    assert queryable(best(5)).items == ("umbrella", "rain coat", "scarf")
    raises_exactly(tk.errors.BudgetError, lambda: queryable(best(3)), "may take 3 steps, but only 2 are left")
    assert queryable(best(1)).items == ("umbrella",)
    raises_exactly(tk.errors.BudgetError, lambda: queryable(best(2)), "1 are left")
    assert queryable(best(1)).items == ("umbrella",)
    raises_exactly(tk.errors.BudgetError, lambda: queryable(best(1)), "all agreed queries")


def test_what_fails_has_used_all_its_steps() -> None:
    def fail(_: Any) -> Any:
        raise tk.errors.PlatformError("none")

    queryable = talk()(TABLE)
    raises_exactly(tk.errors.PlatformError, lambda: queryable(replace(best(3), function=fail)), "none")
    raises_exactly(tk.errors.BudgetError, lambda: queryable(best(2)), "1 are left")
    assert len(queryable(best(1)).items) == 1


def test_refusals_are_free_and_say_what_is_missing() -> None:
    queryable = talk(steps=2, calls=1)(TABLE)
    for query, error, words in (
        (best(3), tk.errors.BudgetError, "3 steps, but only 2 are left"),
        (best(1, scale=3.999), tk.errors.BudgetError, "larger range"),
        (best(1, scale=0.0), tk.errors.BudgetError, "larger range"),
        (best(1, delta=1.01e-6), tk.errors.BudgetError, "larger delta"),
        (best(1, noise=tk.noise.Exponential()), tk.errors.ParameterTypeError, "sequence of choices"),
        (best(1) >> str, tk.errors.ParameterTypeError, "sequence of choices"),
        (best(1, ZCDP), tk.errors.SpaceError, "output_measure"),
        (best, tk.errors.ParameterTypeError, "query"),
    ):
        raises_exactly(error, lambda query=query: queryable(query), words)
    assert queryable(best(2)).items == ("umbrella", "rain coat")


def test_queries_after_a_transformation_count_in_its_input() -> None:
    table = {"user": [1, 2, 3, 3], "item": ["a", "a", "a", "b"]}
    frame = pytest.importorskip("polars").DataFrame(table)
    space = tk.FrameDomain("user", "item"), tk.UserDistance()
    counts = space >> tk.then_count_by_item(candidates=None, max_items=2)
    query = counts >> tk.then_unknown_domain_top_k(MAX, k=2, scale=4.0, limit=5, delta=1e-6)
    assert query.declared.steps.width(2) == Fraction(1, 2)
    given = {"d_in": 1, "steps": 3, "width": 0.25, "calls": 1, "delta": 1e-6}
    talking = tk.make_pay_what_you_get(*space, MAX, **given)
    assert talking(frame)(query).stopped in (True, False)
    two = tk.make_pay_what_you_get(*space, MAX, **given | {"d_in": 2})
    raises_exactly(tk.errors.BudgetError, lambda: two(frame)(query), "larger range")


def test_the_map_is_that_of_all_steps_at_once() -> None:
    for width, steps in itertools.product((Fraction(1, 3), 0.5), (1, 5)):
        options = {"width": width, "steps": steps, "calls": 1}
        whole = best(steps, scale=1 / Fraction(width))
        assert talk(**options).map(1) == (whole.map(1)[0], 1e-6)
        assert talk(ZCDP, **options).map(1)[0] == best(steps, ZCDP, scale=1 / Fraction(width)).map(1)[0]
        curves = [one.map(1) for one in (talk(PROFILE, **options), best(steps, PROFILE, scale=1 / Fraction(width)))]
        for epsilon in (0.1, 0.4, 1.0):
            assert curves[0].delta(epsilon) == pytest.approx(curves[1].delta(epsilon), abs=1e-6)
    assert talk(calls=4, delta=0.3).map(1) == (1.0, 1.0)
    assert talk(d_in=2).map(2) == (1.0, 3e-6)
    assert talk(d_in=2).map(3) == (math.inf, 1.0)


# The odometer and the filter.


@pytest.mark.parametrize("measure", [MAX, ZCDP], ids=repr)
def test_the_odometer_counts_the_steps_that_were_taken(measure: tk.Measure) -> None:
    queryable = (SPACE >> tk.then_fully_adaptive_composition(measure))(TABLE)
    five, four = best(5, measure), best(4, measure)
    assert queryable.privacy_loss(1, five) == five.map(1)
    assert queryable(five).stopped
    assert queryable.privacy_loss(1) == four.map(1)
    assert queryable.privacy_loss(2) == four.map(2)
    queryable(best(4, measure, delta=1e-8) >> str)
    assert queryable.privacy_loss(1)[0] == pytest.approx(2 * four.map(1)[0])


def test_a_filter_lets_what_was_given_back_be_spent() -> None:
    queryable = tk.make_privacy_filter(ODOMETER, d_in=1, d_out=(1.25, 1e-5))(TABLE)
    assert len(queryable(best(5)).items) == 3
    raises_exactly(tk.errors.BudgetError, lambda: queryable(best(2)), "above d_out")
    assert len(queryable(best(1)).items) == 1
    raises_exactly(tk.errors.BudgetError, lambda: queryable(best(1)), "above d_out")


def test_a_query_under_another_measure_is_counted_whole() -> None:
    """Its map is below that of its steps, so what the steps would cost is not known to hold beside it."""
    query = tk.make_fix_delta(tk.make_zCDP_to_approxDP(best(40, ZCDP, scale=20.0, limit=40)), delta=1e-3)
    queryable = ODOMETER(TABLE)
    assert query.map(1)[0] < 2
    assert queryable(query).stopped
    assert queryable.privacy_loss(1) == query.map(1)


def test_a_ledger_pays_for_the_whole_conversation_before_it_begins(tmp_path: Path) -> None:
    talking = talk()
    cost = tuple(map(Fraction, talking.map(1)))
    with tk.ledger.Ledger.create(
        tmp_path / "budget.ledger", budget=("3/2", "1e-5"), measure=MAX, dataset="terms", metric=SPACE[1]
    ) as ledger:
        with ledger.reserve(cost=cost) as paid:
            queryable = talking(TABLE)
            assert len(queryable(best(4)).items) == 3
            assert ledger.spent()[0] == 1.0
            paid.settle()
        raises_exactly(tk.errors.BudgetError, lambda: ledger.reserve(cost=cost), "left")
        raises_exactly(tk.errors.ParameterError, lambda: ledger.release(talking, TABLE), "interactive")
