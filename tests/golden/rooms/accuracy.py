"""How far a winner may fall short, and how likely a selection is to succeed."""

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

from ..case import Case, named
from ..grid import MEASURES, METRICS, selections, sized, vectors
from ..names import tk
from ..shown import Rough

ALPHAS = (0.05, Fraction(1, 3), 1e-9)
COUNTS = (3, 10, 1000, 10**6)
SCORES = {
    "apart": [60, 50, 40, 20, 10, 0],
    "equal": [5, 5, 5, 5, 5],
    "many": [30, 29, 28, 27, 26, 25, 24, 23, 22, 21] + 40 * [10],
}
EVENTS = ("exact", "great", "good")


def cases() -> Iterator[Case]:
    for role, _, options, words in selections():
        for measure, output in MEASURES.items() if role == "make_report_noisy_top_k" else [("max", MEASURES["max"])]:
            for k in (1, 3) if sized(role, 1) else (1,):
                build = partial(_built, role, output, {"scale": 2, **sized(role, k), **options})
                yield named(role, words, measure, k=k), partial(_accuracy, build)
                for scores in SCORES:
                    name = named(role, words, measure, scores, k=k)
                    yield name, partial(_success, build, SCORES[scores])
    for role in ("make_select_then_count", "make_laplace", "make_gaussian", "make_user_measurement"):
        options = {"k": 3} if role == "make_select_then_count" else {}
        if role == "make_user_measurement":
            options = {"function": len, "privacy_map": float}
        else:
            options["scale"] = 2
        yield named(role), partial(_accuracy, partial(_built, role, _measure(role), options, _metric(role)))
    build = partial(_built, "make_report_noisy_top_k", MEASURES["max"], {"scale": 2, "k": 3})
    for n, alpha in ((2, 0.05), (0, 0.05), (3, 0), (3, 1), (3, -1), (3, "a"), (2.5, 0.05), ("3", 0.05), (True, 0.05)):
        yield named("asked", repr(n), repr(alpha)), lambda n=n, alpha=alpha: build().accuracy(n, alpha)
    for event in ("perfect", "", None, 3):
        yield named("event", repr(event)), lambda event=event: build().success_probability([1, 2, 3], event)


def _measure(role: str) -> Any:
    return MEASURES["zcdp" if role == "make_gaussian" else "max"]


def _metric(role: str) -> Any:
    known = {"make_laplace": tk.L1Distance(), "make_gaussian": tk.L2Distance()}
    return known.get(role, METRICS["linf+"])


def _built(role: str, measure: Any, options: dict[str, Any], metric: Any = METRICS["linf+"]) -> Any:
    return getattr(tk, role)(vectors(), metric, measure, **options)


def _accuracy(build: Any) -> list[Any]:
    measurement = build()
    return [measurement.accuracy(n, alpha) for n in COUNTS for alpha in ALPHAS]


def _success(build: Any, scores: list[int]) -> list[Any]:
    measurement = build()
    return [Rough(tuple(measurement.success_probability(scores, event))) for event in EVENTS]
