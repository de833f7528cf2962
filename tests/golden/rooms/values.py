"""Spaces, measures, noises, partials and releases as values: how they are shown, and what is equal to what."""

import pickle
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import gmpy2

from tests.concepts.own_noises import NOISES as OWN

from ..case import Case, named
from ..digits import scripted
from ..grid import MEASURES, METRICS, NOISES, PROFILE, WITH_DELTA, vectors
from ..names import tk


def cases() -> Iterator[Case]:
    yield from _spaces()
    yield from _noises()
    yield from _intervals()
    yield from _releases()
    yield from _pickles()


def _spaces() -> Iterator[Case]:
    for bounds in (None, (0, 1), (-3, Fraction(7, 2)), (0.5, 0.75)):
        for kind in (int, float):
            for size in (None, 1, 7):
                make = lambda k=kind, b=bounds, s=size: tk.VectorDomain(tk.AtomDomain(k, bounds=b), size=s)  # noqa: E731
                yield named("vectors", kind.__name__, bounds=bounds, size=size), make
    others: dict[str, Any] = {
        "rows": tk.FrameDomain("a", "b"),
        "rows of numbers": tk.FrameDomain("a", "b", value="c"),
        "rows of users and numbers": tk.FrameDomain("a", value="b"),
        "rows of groups": tk.FrameDomain("a", "b", group="c"),
        "keyed": tk.KeyedCountsDomain(),
        "l1": tk.L1Distance(),
        "l2": tk.L2Distance(),
        "users": tk.UserDistance(),
        "users replaced": tk.UserDistance("replace"),
        "keyed 3": tk.KeyedCountDistance(3, False),
        "keyed sums": tk.KeyedCountDistance(3, True, 7),
        **{f"metric {name}": metric for name, metric in METRICS.items()},
        **MEASURES,
        **WITH_DELTA,
        **PROFILE,
    }
    for name, value in others.items():
        yield named("shown", name), lambda value=value: str(value)
        if hasattr(value, "symbol"):
            yield named("symbol", name), lambda value=value: value.symbol
        if hasattr(value, "range_distance"):
            distances = (0, 1, 3) if name.startswith("keyed") else (0, 1, Fraction(1, 3), 0.1)
            yield named("range distance", name), lambda v=value, d=distances: [v.range_distance(one) for one in d]


def _noises() -> Iterator[Case]:
    """What a noise says of itself: its public fields, and points of its quantile."""
    for name, noise in {**NOISES, **OWN}.items():
        yield named("noise", name), lambda noise=noise: [str(noise), noise == noise, noise.name]
    for one in NOISES:
        for other in NOISES:
            yield named("equal", one, other), lambda a=one, b=other: NOISES[a] == NOISES[b]


def _intervals() -> Iterator[Case]:
    def ends(precision: int, word: str, *numbers: Any) -> list[str]:
        intervals = tk.noise.Intervals(precision)
        return [f"{gmpy2.mpq(end)}" for end in getattr(intervals, word)(*map(intervals.rational, numbers))]

    words: dict[str, tuple[Any, ...]] = dict.fromkeys(("exp", "log", "log1p", "negative"), ())
    words |= dict.fromkeys(("add", "multiply", "divide"), (gmpy2.mpq(2, 7),))
    for precision in (16, 53, 100):
        for x in (gmpy2.mpq(1, 3), gmpy2.mpq(7, 2), gmpy2.mpq(1, 1000)):
            for word, more in words.items():
                yield named("Intervals", word, x, precision=precision), partial(ends, precision, word, x, *more)


def _releases() -> Iterator[Case]:
    """Named tuples and lists as they are shown, and as frames."""
    space, items = (vectors(), METRICS["linf+"]), tk.index_candidates(["a", "b", "c", "d"])
    keyed = tk.KeyedCountsDomain(), tk.KeyedCountDistance(2)
    table = {"a": 90, "b": 80, "c": 70}
    measure, delta = MEASURES["max"], WITH_DELTA["approx-max"]
    made: dict[str, Any] = {
        "ranking": lambda: (space >> tk.then_report_noisy_top_k(measure, k=2, scale=1), [9, 5, 1, 0]),
        "gaps": lambda: (space >> tk.then_noisy_top_k_with_gaps(measure, k=2, scale=1), [9, 5, 1, 0]),
        "counts": lambda: (space >> tk.then_select_then_count(measure, k=2, scale=1), [9, 5, 1, 0]),
        "found": lambda: (keyed >> tk.then_unknown_domain_top_k(delta, k=2, scale=1, limit=3, delta=1e-3), table),
        "found counts": lambda: (
            keyed >> tk.then_unknown_domain_counts(delta, k=2, scale=1, limit=3, delta=1e-3),
            table,
        ),
        "histogram": lambda: (keyed >> tk.then_stable_histogram(delta, scale=1, delta=1e-3), table),
        "partition": lambda: (keyed >> tk.then_partition_selection(delta, epsilon=1, delta=1e-1), table),
    }
    for name, build in made.items():
        for word in ("itself", "items") if isinstance(build()[1], list) else ("itself",):
            for view in ("shown", "frame"):
                yield named("release", name, word, view), lambda b=build, w=word, v=view: _viewed(b, items, w, v)


def _viewed(build: Any, items: Any, word: str, view: str) -> Any:
    measurement, x = build()
    with scripted("viewed"):
        release = (measurement >> items if word == "items" else measurement)(x)
    if view == "shown":
        return str(release)
    if not hasattr(release, "to_frame"):
        return "no frame"
    frame = release.to_frame()
    return [frame.columns, frame.rows()]


def _pickles() -> Iterator[Case]:
    """What comes back from a pickle is equal, and maps alike."""
    space = vectors(5), METRICS["linf+"]
    built = {
        "report": lambda: space >> tk.then_report_noisy_top_k(MEASURES["max"], k=2, scale=2),
        "chain": lambda: (
            (tk.FrameDomain("a", "b"), tk.UserDistance())
            >> tk.then_count_by_item(candidates=["x", "y"])
            >> tk.then_permute_and_flip(MEASURES["zcdp"], scale=3)
        ),
        "composition": lambda: tk.make_repeat(
            space >> tk.then_exponential_mechanism(MEASURES["range"], scale=2), times=3
        ),
    }
    for name, build in built.items():
        yield named("pickle", name), lambda b=build: _again(b())


def _again(link: Any) -> list[Any]:
    other = pickle.loads(pickle.dumps(link))
    return [other == link, hash(other) == hash(link), other.map(1), other]
