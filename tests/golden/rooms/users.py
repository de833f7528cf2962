"""What a user costs: tables of rows under both kinds of neighbours, counted or summed, and selected from."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

from ..case import Case, named
from ..grid import MEASURES, WITH_DELTA
from ..names import tk

USERS = (0, 1, 2, 7)
ITEMS = ["a", "b", "c", "d"]
NEIGHBOURS = ("add_remove", "replace")
MONOTONIC = (None, True, False)
ROWS = tk.FrameDomain("reader", "book")
SUMS = tk.FrameDomain("reader", "book", value="paid")
NUMBERS = tk.FrameDomain("reader", value="paid")
BOUNDS = ((0, 10), (-3, 10), (5, 7), (Fraction(-1, 2), Fraction(5, 2)))


def cases() -> Iterator[Case]:
    for words, build in _transformations():
        yield named(words), partial(_stability, build)
        yield named(words, "shown"), lambda build=build: build()
    for words, build in _scored():
        for role, measure, options in _selected() if "5..7" not in words and "-3" not in words else ():
            name = named(words, role.replace("make_", ""), measure, **options)
            yield name, partial(_chained, build, role, (MEASURES | WITH_DELTA)[measure], options)


def _stability(build: Callable[[], Any]) -> list[Any]:
    link = build()
    return [link.map(d_in) for d_in in USERS]


def _chained(build: Callable[[], Any], role: str, measure: Any, options: dict[str, Any]) -> list[Any]:
    link = build() >> getattr(tk, role.replace("make_", "then_"))(measure, **options)
    return [link.map(d_in) for d_in in USERS]


def _scored() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Transformations to vectors of scores."""
    for kind in NEIGHBOURS:
        between = tk.UserDistance(kind)
        for monotonic in MONOTONIC:
            options = {"candidates": ITEMS, "monotonic": monotonic}
            count = partial(tk.make_count_by_item, ROWS, between, **options)
            yield named("count_by_item", kind, monotonic=monotonic), count
            for bounds in BOUNDS:
                step = Fraction(1, 2) if bounds == BOUNDS[-1] else 1
                more = {**options, "bounds": bounds, "granularity": step}
                named_bounds = "..".join(map(str, bounds))
                sums = partial(tk.make_sum_by_item, SUMS, between, **more)
                yield named("sum_by_item", kind, named_bounds, monotonic=monotonic), sums


def _transformations() -> Iterator[tuple[str, Callable[[], Any]]]:
    yield from _scored()
    for kind in NEIGHBOURS:
        between = tk.UserDistance(kind)
        grouped = tk.FrameDomain("reader", "book", group="town"), between
        for most in (None, 1, 3):
            for monotonic in MONOTONIC:
                options = {"candidates": None, "monotonic": monotonic, "max_items": most}
                name = named("every item", kind, monotonic=monotonic, max_items=most)
                yield name, partial(tk.make_count_by_item, ROWS, between, **options)
                yield f"sums of {name}", partial(tk.make_sum_by_item, SUMS, between, bounds=(0, 5), **options)
        for most in (1, 3):
            for by in ("random", "order", "rows", "value"):
                for domain, step in ((ROWS, 1), (SUMS, Fraction(1, 2))):
                    name = named("bound_contributions", kind, *domain.columns, most=most, by=by)
                    options = {"most": most, "by": by, "granularity": step}
                    yield name, partial(tk.make_bound_contributions, domain, between, **options)
            for by in ("random", "order", "rows", "value"):
                kept = partial(tk.make_keep_groups, *grouped, most=most, by=by, groups=[1, 2])
                yield named("keep_groups", kind, most=most, by=by), kept
            for metric in (None, tk.L1Distance(), tk.L2Distance(), tk.LInfDistance()):
                options = {"items": ITEMS, "max_rows": most}
                name = named("count_outside", kind, metric, max_rows=most)
                yield name, partial(tk.make_count_outside, ROWS, between, metric, **options)
        yield named("drop_groups", kind), partial(tk.make_drop_groups, *grouped)
        for share in (Fraction(1, 2), Fraction(9, 10), 1, 0.25):
            name = named("cap_scores", kind, share=share)
            yield name, partial(tk.make_cap_scores, ROWS, between, caps=[1, 2, 50], share=share)
            options = {"quantile": share, "bounds": (0, 1), "granularity": Fraction(1, 4), "max_rows": 3}
            scores = partial(tk.make_quantile_scores, NUMBERS, between, **options)
            yield named("quantile_scores", kind, quantile=share), scores


def _selected() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for measure in MEASURES:
        yield "make_report_noisy_top_k", measure, {"k": 2, "scale": 3, "release": "set"}
        yield "make_peeled_top_k", measure, {"k": 4, "scale": 0.1, "mechanism": "permute_and_flip"}
        yield "make_canonical_top_k", measure, {"k": 2, "scale": Fraction(1, 3)}
    yield "make_noisy_top_k_with_gaps", "max", {"k": 3, "scale": 3}
    yield "make_select_then_count", "max", {"k": 2, "scale": 3}
    yield "make_select_then_count", "zcdp", {"k": 2, "scale": 3}
    yield "make_laplace", "max", {"scale": 3}
    yield "make_gaussian", "zcdp", {"scale": 3}
