"""Exact laws of selections and of noisy counts on small inputs."""

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

from ..case import Case, named
from ..grid import MEASURES, METRICS, selections, sized, vectors
from ..names import tk
from ..shown import law

SCORES = {"apart": [4, 2, 0], "equal": [1, 1, 1], "four": [3, 0, 3, 1], "single": [5]}
REALS = [0.5, -0.25, 0.1]
ITEMS = ["x", "y", "z"]


def cases() -> Iterator[Case]:
    for role, _, options, words in selections():
        measures = MEASURES if role == "make_report_noisy_top_k" else {"max": MEASURES["max"]}
        for measure, output in measures.items():
            for k in (1, 2) if sized(role, 1) else (1,):
                for scores, x in SCORES.items():
                    name = named(role, words, measure, scores, k=k)
                    yield name, partial(_law, role, int, output, x, {"scale": 2, **sized(role, k), **options})
        more = {"scale": 0.3, **sized(role, 2), **options}
        yield named(role, words, "floats"), partial(_law, role, float, MEASURES["max"], REALS, more)
        least = partial(_law, role, int, MEASURES["max"], SCORES["apart"], {**more, "optimize": "min"})
        yield named(role, words, "least"), least
        for scale in (0, 1e300):
            more = {**more, "scale": scale}
            yield named(role, words, scale=scale), partial(_law, role, int, MEASURES["max"], SCORES["four"], more)
    yield from _others()


def _law(role: str, kind: type, measure: Any, x: list[Any], options: dict[str, Any]) -> Any:
    return law(getattr(tk, role)(vectors(None, kind), METRICS["linf+"], measure, **options).distribution(x))


def _others() -> Iterator[Case]:
    choice = partial(tk.then_report_noisy_top_k, MEASURES["max"], k=2, scale=Fraction(1, 3))
    space = vectors(), METRICS["linf+"]
    yield "items", lambda: law((space >> choice() >> tk.index_candidates(ITEMS)).distribution(SCORES["apart"]))
    yield "post-processed", lambda: law((space >> choice() >> sorted).distribution(SCORES["apart"]))
    yield "unhashable", lambda: law((space >> choice() >> (lambda found: {1: found})).distribution(SCORES["apart"]))
    yield "too large", lambda: law((space >> choice()).distribution(list(range(2000))))
    for role, metric, measure in (
        ("then_laplace", tk.L1Distance(), "max"),
        ("then_gaussian", tk.L2Distance(), "zcdp"),
        ("then_select_then_count", METRICS["linf+"], "max"),
    ):
        options = {"k": 1} if role == "then_select_then_count" else {}
        link = partial(getattr(tk, role), MEASURES[measure], scale=2, **options)
        yield named(role), lambda link=link, metric=metric: law(((vectors(), metric) >> link()).distribution([2, 0]))
