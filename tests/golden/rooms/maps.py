"""What every selection and every additive mechanism costs, at each of the distances."""

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

from ..case import Case, named
from ..grid import DISTANCES, MEASURES, METRICS, SCALES, THIRD, WITH_DELTA, selections, sized, vectors
from ..names import tk


def cases() -> Iterator[Case]:
    yield from _at_one_scale()
    yield from _at_every_scale()
    yield from _with_counts()
    yield from _additive()


def mapped(role: str, *space: Any, **options: Any) -> list[Any]:
    """The map at all distances; where one is none of the metric, what is said of it."""
    measurement = getattr(tk, role)(*space, **options)
    return [_at(measurement, d_in) for d_in in DISTANCES]


def _at(measurement: Any, d_in: Any) -> Any:
    try:
        return measurement.map(d_in)
    except tk.errors.ParameterError as error:
        return f"{type(error).__name__}: {error}"


def _at_one_scale() -> Iterator[Case]:
    for role, sizes, options, words in selections():
        for measure, output in MEASURES.items():
            for metric, between in METRICS.items():
                for k, d in sizes if metric == "linf+" or role == "make_report_noisy_top_k" else sizes[-1:]:
                    name = named(role, words, measure, metric, k=k, d=d)
                    more = {"scale": 2, **sized(role, k), **options}
                    yield name, partial(mapped, role, vectors(d), between, output, **more)
    for role, (options, words) in {role: (options, words) for role, _, options, words in selections()}.items():
        for measure, output in WITH_DELTA.items():
            more = {"scale": 2, **sized(role, 1), **options}
            yield named(role, words, measure), partial(mapped, role, vectors(), METRICS["range"], output, **more)


def _at_every_scale() -> Iterator[Case]:
    """With floats, of which all distances are attainable; the least scores, and the other metrics, at one scale."""
    for role, _, options, words in selections():
        more = {**sized(role, 3), **options}
        for scale in SCALES:
            for measure, output in MEASURES.items() if scale == 0.1 else [("max", MEASURES["max"])]:
                name = named(role, words, measure, "floats range k=3", scale=scale)
                yield name, partial(mapped, role, vectors(None, float), METRICS["range"], output, scale=scale, **more)
        for metric in ("linf", "linf+"):
            name = named(role, words, "max floats least k=3", metric)
            space = vectors(5, float), METRICS[metric], MEASURES["max"]
            yield name, partial(mapped, role, *space, scale=THIRD, optimize="min", **more)


def _with_counts() -> Iterator[Case]:
    for release in ("ranking", "set"):
        for measure, output in (("max", MEASURES["max"]), ("zcdp", MEASURES["zcdp"])):
            for metric, between in METRICS.items():
                for k, d in ((1, None), (3, None), (2, 2), (3, 5)) if metric == "linf+" else ((3, 5),):
                    for kind, options in (
                        ("int", {}),
                        ("int", {"count_scale": 5}),
                        ("int", {"count_scale": 0}),
                        ("float", {"count_scale": 5}),
                        ("float", {"granularity": Fraction(1, 4)}),
                    ):
                        more = {"k": k, "scale": 2, "release": release, **options}
                        name = named("make_select_then_count", kind, release, measure, metric, k=k, d=d, **options)
                        domain = vectors(d, int if kind == "int" else float)
                        yield name, partial(mapped, "make_select_then_count", domain, between, output, **more)


def _additive() -> Iterator[Case]:
    metrics = {"l1": tk.L1Distance(), "l2": tk.L2Distance(), **METRICS}
    own = {"make_laplace": ("max", "l1"), "make_gaussian": ("zcdp", "l2")}
    for role, fitting in own.items():
        for measure, output in (MEASURES | WITH_DELTA).items():
            for metric, between in metrics.items():
                yield named(role, measure, metric), partial(mapped, role, vectors(), between, output, scale=2)
        space = metrics[fitting[1]], MEASURES[fitting[0]]
        for scale in SCALES:
            yield named(role, "integers", scale=scale), partial(mapped, role, vectors(), *space, scale=scale)
            yield named(role, "floats", scale=scale), partial(mapped, role, vectors(3, float), *space, scale=scale)
        for granularity in (1, Fraction(1, 4), 0.1, THIRD, 100):
            for kind in (int, float):
                options = {"scale": 2, "granularity": granularity}
                name = named(role, kind.__name__, granularity=granularity)
                yield name, partial(mapped, role, vectors(3, kind), *space, **options)
