"""Searches for the least scale, and for other parameters, that meet a budget."""

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


def _found(make: Callable[[Any], Any], d_in: Any, d_out: Any, **options: Any) -> Callable[[], Any]:
    return lambda: tk.binary_search_param(make, d_in, d_out, **options)


def _other_parameters() -> Iterator[Case]:
    for word, measure in MEASURES.items():
        report = partial(_report, measure)
        for budget in (0.05, 1, 3):
            many = lambda n, report=report: tk.make_repeat(report(scale=100), times=n)  # noqa: E731
            scaled = lambda scale, report=report: report(scale=scale)  # noqa: E731
            yield named("winners", word, budget), _found(lambda k, report=report: report(k=k), 1, budget, T=int)
            yield named("times", word, budget), _found(many, 1, budget, T=int)
            yield named("chain", word, budget), partial(tk.binary_search_chain, scaled, 2, budget)
    keyed = tk.KeyedCountsDomain(), tk.KeyedCountDistance(3), WITH_DELTA["approx-max"]
    profile = partial(tk.make_joint_top_k, vectors(), METRICS["linf+"], PROFILE["profile"], k=2)
    for budget in ((1, 1e-6), (0.1, 1e-3)):
        unknown = partial(tk.make_unknown_domain_top_k, *keyed, k=2, limit=5, delta=budget[1])
        histogram = partial(tk.make_stable_histogram, *keyed, scale=6)
        joint = _found(lambda scale: profile(scale=scale), 1, budget)
        yield named("unknown domain", budget), _found(lambda scale, make=unknown: make(scale=scale), 1, budget)
        yield named("threshold", budget), _found(lambda t, make=histogram: make(threshold=t), 1, budget, T=int)
        yield named("profile", budget), lambda joint=joint: Rough(joint())
    outside = partial(tk.make_count_outside, tk.FrameDomain("a", "b"), tk.UserDistance(), items=["x"])
    yield "stability", _found(lambda most: outside(max_rows=most), 1, 7, T=int)


def _refused() -> Iterator[Case]:
    report = partial(_report, MEASURES["max"])
    scaled = lambda scale: report(scale=scale)  # noqa: E731
    for d_in, d_out in ((-1, 1), ("1", 1), (1, -1), (1, None), (1, float("nan")), (0, 1), (1, 0), (1, float("inf"))):
        yield named("asked", repr(d_in), repr(d_out)), _found(scaled, d_in, d_out)
    for kind in (str, bool, Fraction, None, complex):
        yield named("kind", kind), _found(scaled, 1, 1, T=kind)
    yield "no function", _found(3, 1, 1)  # type: ignore[arg-type]
    yield "not monotone", _found(lambda s: report(scale=4 if s < 1 else 1), 1, 0.1)
    yield "no measurement", _found(lambda s: 3, 1, 1)
