"""Searches for the least scale, and for other parameters, that meet a budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

from ..case import Case, named
from ..grid import MEASURES, METRICS, PROFILE, WITH_DELTA, selections, sized, vectors
from ..names import tk
from ..shown import Rough

BUDGETS = (1, 0.1)


def cases() -> Iterator[Case]:
    for role, _, options, words in selections():
        for measure, output in MEASURES.items():
            for metric in ("linf", "linf+") if role == "make_report_noisy_top_k" else ("linf+",):
                more = {**sized(role, 2), **options}
                space = vectors(), METRICS[metric], output
                yield named(role, words, measure, metric), partial(_scales, role, space, more)
    for role, metric, measure in (("make_laplace", "L1Distance", "max"), ("make_gaussian", "L2Distance", "zcdp")):
        space = vectors(), getattr(tk, metric)(), MEASURES[measure]
        yield named(role), partial(_scales, role, space, {})
        yield named(role, "floats"), partial(_scales, role, (vectors(None, float), *space[1:]), {"granularity": 1})
    yield from _other_parameters()
    yield from _refused()


def _scales(role: str, space: tuple[Any, ...], options: dict[str, Any]) -> list[Any]:
    def make(scale: Any) -> Any:
        return getattr(tk, role)(*space, scale=scale, **options)

    return [tk.binary_search_param(make, 1, budget) for budget in BUDGETS]


def _report(measure: Any, **given: Any) -> Any:
    return tk.make_report_noisy_top_k(vectors(), METRICS["linf+"], measure, **{"k": 2, "scale": 4, **given})


def _other_parameters() -> Iterator[Case]:
    for word, measure in MEASURES.items():
        for budget in (0.05, 1, 3):
            search: Callable[..., Any] = partial(tk.binary_search_param, T=int)
            yield (
                named("winners", word, budget),
                lambda m=measure, b=budget, s=search: s(lambda k: _report(m, k=k), 1, b),
            )
            yield (
                named("times", word, budget),
                lambda m=measure, b=budget, s=search: s(lambda n: tk.make_repeat(_report(m, scale=100), times=n), 1, b),
            )
            yield (
                named("chain", word, budget),
                lambda m=measure, b=budget: tk.binary_search_chain(lambda scale: _report(m, scale=scale), 2, b),
            )
    keyed = tk.KeyedCountsDomain(), tk.KeyedCountDistance(3), WITH_DELTA["approx-max"]
    for budget in ((1, 1e-6), (0.1, 1e-3)):
        yield (
            named("unknown domain", budget),
            lambda b=budget: tk.binary_search_param(
                lambda scale: tk.make_unknown_domain_top_k(*keyed, k=2, limit=5, scale=scale, delta=b[1]), 1, b
            ),
        )
        yield (
            named("threshold", budget),
            lambda b=budget: tk.binary_search_param(
                lambda level: tk.make_stable_histogram(*keyed, scale=6, threshold=level), 1, b, T=int
            ),
        )
        yield (
            named("profile", budget),
            lambda b=budget: Rough(
                tk.binary_search_param(
                    lambda scale: tk.make_joint_top_k(
                        vectors(), METRICS["linf+"], PROFILE["profile"], k=2, scale=scale
                    ),
                    1,
                    b,
                )
            ),
        )
    caps = tk.FrameDomain("a", "b"), tk.UserDistance()
    yield (
        "stability",
        lambda: tk.binary_search_param(
            lambda most: tk.make_count_outside(*caps, items=["x"], max_rows=most), 1, 7, T=int
        ),
    )


def _refused() -> Iterator[Case]:
    report = partial(_report, MEASURES["max"])
    for d_in, d_out in ((-1, 1), ("1", 1), (1, -1), (1, None), (1, float("nan")), (0, 1), (1, 0), (1, float("inf"))):
        yield (
            named("asked", repr(d_in), repr(d_out)),
            lambda a=d_in, b=d_out: tk.binary_search_param(lambda scale: report(scale=scale), a, b),
        )
    for kind in (str, bool, Fraction, None, complex):
        yield named("kind", kind), lambda kind=kind: tk.binary_search_param(lambda s: report(scale=s), 1, 1, T=kind)
    yield "no function", lambda: tk.binary_search_param(3, 1, 1)
    yield "not monotone", lambda: tk.binary_search_param(lambda s: report(scale=4 if s < 1 else 1), 1, 0.1)
    yield "no measurement", lambda: tk.binary_search_param(lambda s: 3, 1, 1)
