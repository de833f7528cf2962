"""Conversations about counts by key whose exact transcript laws are found by giving real queryables every answer."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import opendp_topk as tk
from tests.oracles import unlisted
from tests.oracles.unlisted import Counts, Setting

KEYS = "abc"
SPACE = tk.KeyedCountsDomain(), tk.KeyedCountDistance()
MAX, ZCDP = tk.Approximate(tk.MaxDivergence()), tk.Approximate(tk.ZeroConcentratedDivergence())
PROFILE = tk.PrivacyProfile()
Answers = tuple[tk.Release, ...]
Analyst = Callable[[Answers, int], int | None]
"""From the answers so far, and a number of steps, to the k of the next query, or None to stop."""


def query_of(setting: Setting, measure: tk.Measure = MAX, metric: tk.KeyedCountDistance = SPACE[1]) -> tk.Measurement:
    """The real measurement of a setting."""
    space = SPACE[0], metric
    return space >> tk.then_unknown_domain_top_k(
        measure, k=setting.k, limit=setting.limit, scale=setting.tau, threshold=setting.threshold
    )


def answered(query: tk.Measurement, answer: tk.Release) -> tk.Measurement:
    """The same query, which will answer so."""
    return replace(query, function=lambda _: answer)


def histories(
    make: Callable[[], Any], ask: Callable[[int], Setting], analyst: Analyst, steps: int, support: Counts
) -> Iterator[tuple[tuple[Setting, ...], Answers]]:
    """All histories of a conversation that starts with the queryable ``make()``: what was asked, and what was answered.

    An analyst who is refused stops.
    """
    waiting: list[tuple[tuple[Setting, ...], Answers]] = [((), ())]
    while waiting:
        asked, answers = waiting.pop()
        queryable = make()
        for setting, answer in zip(asked, answers, strict=True):
            queryable(answered(query_of(setting), answer))
        k = analyst(answers, steps)
        if k is None or not _admitted(queryable, query_of(ask(k)), tk.Release(items=(), stopped=k > 0)):
            yield asked, answers
            continue
        setting = ask(k)
        for keys, stopped in unlisted.law(setting, support):  # type: ignore[misc]
            found = tk.Release(items=[KEYS[i] for i in keys], stopped=stopped)
            waiting.append(((*asked, setting), (*answers, found)))


def _admitted(queryable: Any, query: tk.Measurement, answer: tk.Release) -> bool:
    try:
        queryable(answered(query, answer))
    except tk.errors.BudgetError:
        return False
    return True


def mass(history: tuple[tuple[Setting, ...], Answers], law: Callable[[Setting], Mapping[Any, float]]) -> float:
    """The probability of the answers to what was asked, each drawn from ``law``."""
    masses = []
    for setting, answer in zip(*history, strict=True):
        masses.append(law(setting).get((tuple(KEYS.index(key) for key in answer.items), answer.stopped), 0.0))
    return math.prod(masses)
