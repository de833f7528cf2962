"""Releases replayed from scripted digits: every sampler, on short and long vectors, in parts, in groups, in numbers.

The values are what is drawn, twice from one tape, so that a sampler that reads more digits or fewer is told, too.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from ..case import Case, named
from ..digits import scripted
from ..grid import ALL_NOISES, MEASURES, METRICS, NOISES, THIRD, WITH_DELTA, selections, sized, vectors
from ..names import tk

SHORT = {
    "integers": [12, 11, 9, 9, 7, 3, 0, -4],
    "floats": [0.5, 0.25, -1e-3, 1e-300, 2.0, 2.0, 1.75, -8.0],
    "equal": [7] * 8,
    "beyond": [10**40, 10**40 - 3, 10**40 - 1, 0, -(10**40), 10**40, 1, 2],
}
SCALES = (2, THIRD)
ITEMS = list("abcdefgh")


def cases() -> Iterator[Case]:
    yield from _short()
    yield from _long()
    yield from _in_parts()
    yield from _repeated()
    yield from _counts()
    yield from _keyed()
    yield from _tables()


def twice(name: str, build: Callable[[], Any], *inputs: Any) -> Any:
    """Two releases of each input, from one tape."""
    measurement = build()
    with scripted(name):
        return [measurement(x) for x in inputs for _ in range(2)]


def replayed(name: str, build: Callable[[], Any], *inputs: Any) -> Case:
    return name, partial(twice, name, build, *inputs)


def built(role: str, kind: type = int, measure: str = "max", metric: Any = METRICS["linf+"], **options: Any) -> Any:
    return getattr(tk, role)(vectors(None, kind), metric, MEASURES[measure], **options)


def _short() -> Iterator[Case]:
    for role, _, options, words in selections():
        for k in (1, 3) if sized(role, 1) else (1,):
            for scores, x in SHORT.items():
                kind = float if scores == "floats" else int
                for scale in SCALES if scores == "integers" else SCALES[:1]:
                    more = {"scale": scale, **sized(role, k), **options}
                    name = named(role, words, scores, k=k, scale=scale)
                    yield replayed(name, partial(built, role, kind, **more), x)
        more = {"scale": 2, **sized(role, 2), **options}
        for measure in ("range", "zcdp"):
            if role == "make_report_noisy_top_k":
                name = named(role, words, measure)
                yield replayed(name, partial(built, role, measure=measure, **more), SHORT["integers"])
        least = partial(built, role, **{**more, "optimize": "min"})
        yield replayed(named(role, words, "least"), least, SHORT["integers"])
        yield replayed(named(role, words, "no noise"), partial(built, role, **{**more, "scale": 0}), SHORT["equal"])


def _ramp(n: int, kind: str) -> Any:
    """Scores without randomness: a ramp in a mixed order, few values, a head above a plateau, or all equal."""
    places = np.arange(n, dtype=np.int64) * 2654435761 % n
    made = {
        "ramp": places // 7,
        "few values": places % 5,
        "head": np.where(places < 20, 1000 - places, places % 3),
        "equal": np.zeros(n, dtype=np.int64),
        "steep": places * places // 1000,
    }
    return made[kind]


def _long() -> Iterator[Case]:
    """Beyond what is sorted at once, beyond a block, and beyond what is forecast or put into bins."""
    for n, kinds in ((600, ("equal",)), (5000, ("few values",)), (40_000, ("ramp", "head"))):
        for role, _, options, words in selections():
            if "gamma" in words and "gamma=1/2" not in words:
                continue
            for kind in kinds:
                for k in (10,) if sized(role, 1) else (1,):
                    if role in ("make_canonical_top_k", "make_joint_top_k") and n == 5000:
                        continue
                    more = {"scale": 20, **sized(role, k), **options}
                    name = named(role, words, kind, n=n, k=k)
                    yield name, partial(_of_ramp, name, role, n, kind, more)
    for n in (300_000, 600_000):
        for role, options in (
            ("make_report_noisy_top_k", {"k": 10}),
            ("make_report_noisy_top_k", {"k": 1000, "release": "set"}),
            ("make_exponential_mechanism", {}),
            ("make_permute_and_flip", {}),
            ("make_noisy_top_k_with_gaps", {"k": 5}),
            ("make_canonical_top_k", {"k": 10}),
            ("make_joint_top_k", {"k": 10, "release": "set"}),
            ("make_joint_top_k", {"k": 10}),
        ):
            for kind in ("ramp", "head", "few values"):
                if ("canonical" in role or "joint" in role) and (kind == "few values" or n == 600_000):
                    continue
                name = named("longest", role, kind, n=n, **options)
                yield name, partial(_of_ramp, name, role, n, kind, {"scale": 40, **options})
    for word, noise in NOISES.items():
        for measure in ("max", "zcdp"):
            name = named("floats", word, measure)
            options = {"k": 7, "scale": 1.5, "noise": noise}
            x = _ramp(20_000, "steep") / 64
            yield replayed(name, partial(built, "make_lipschitz_top_k", float, measure, **options), x)


def _of_ramp(name: str, role: str, n: int, kind: str, options: dict[str, Any]) -> Any:
    return twice(name, partial(built, role, **options), _ramp(n, kind))


def _in_parts() -> Iterator[Case]:
    x = _ramp(30_000, "ramp")
    for role, options in (
        ("make_report_noisy_top_k", {"k": 5}),
        ("make_report_noisy_top_k", {"k": 5, "release": "set"}),
        ("make_exponential_mechanism", {}),
        ("make_permute_and_flip", {}),
        *(("make_lipschitz_top_k", {"k": 3, "noise": noise}) for noise in NOISES.values()),
    ):
        for parts in (1, 2, 7, 100):
            name = named("parts", role, parts=parts, **options)
            yield name, partial(_parted, name, partial(built, role, scale=20, **options), np.array_split(x, parts))


def _parted(name: str, build: Callable[[], Any], parts: list[Any]) -> Any:
    with scripted(name):
        return [tk.release_in_parts(build(), parts) for _ in range(2)]


def _repeated() -> Iterator[Case]:
    """Many equal steps are drawn together where that is possible."""
    for role, options in (
        ("make_report_noisy_top_k", {"k": 2}),
        ("make_exponential_mechanism", {}),
        ("make_permute_and_flip", {}),
        ("make_canonical_top_k", {"k": 2}),
        ("make_joint_top_k", {"k": 2}),
        *(("make_lipschitz_top_k", {"k": 2, "noise": noise, "release": "set"}) for noise in ALL_NOISES.values()),
    ):
        for times in (2, 100):
            build = partial(_repeat, partial(built, role, scale=4, **options), times)
            yield replayed(named("repeated", role, times=times, **options), build, SHORT["integers"])
    mixed = lambda: tk.make_composition(  # noqa: E731
        [built("make_report_noisy_top_k", k=k, scale=scale) for k, scale in ((1, 2), (3, 5), (1, 2), (2, 0))]
    )
    yield replayed("composed", mixed, SHORT["integers"])


def _repeat(build: Callable[[], Any], times: int) -> Any:
    return tk.make_repeat(build(), times=times)


def _counts() -> Iterator[Case]:
    sizes = {"one": 1, "four": 4, "five": 5, "thousand": 1000, "many": 2**17}
    for role, metric, measure in (("make_laplace", tk.L1Distance(), "max"), ("make_gaussian", tk.L2Distance(), "zcdp")):
        for scale in (0, THIRD, 1, Fraction(21, 2), 50, 3000, 1e30):
            for word, n in sizes.items():
                if n > 1000 and scale not in (1, 50, 3000):
                    continue
                name = named(role, word, scale=scale)
                yield replayed(name, partial(built, role, int, measure, metric, scale=scale), [10] * n)
        long = partial(built, role, int, measure, metric, scale=50)
        yield named(role, "longest"), partial(_zeros, named(role, "longest"), long, 2**19)
        for granularity in (1, 0.1, Fraction(1, 4)):
            options = {"scale": 3, "granularity": granularity}
            name = named(role, "floats", granularity=granularity)
            space = vectors(8, float), metric, MEASURES[measure]
            yield replayed(name, partial(getattr(tk, role), *space, **options), SHORT["floats"])
        yield replayed(named(role, "beyond"), partial(built, role, int, measure, metric, scale=2), SHORT["beyond"])
    for measure in ("max", "zcdp"):
        for release in ("ranking", "set"):
            for k in (1, 3, 8):
                for count_scale in (None, 0, 7):
                    options = {"k": k, "scale": 2, "release": release, "count_scale": count_scale}
                    name = named("make_select_then_count", measure, release, k=k, count_scale=count_scale)
                    build = partial(built, "make_select_then_count", int, measure, **options)
                    yield replayed(name, build, SHORT["integers"])
    items = lambda: built("make_select_then_count", k=2, scale=2) >> tk.index_candidates(ITEMS)  # noqa: E731
    gaps = lambda: built("make_noisy_top_k_with_gaps", k=2, scale=2) >> tk.index_candidates(ITEMS)  # noqa: E731
    ranked = lambda: built("make_report_noisy_top_k", k=2, scale=2) >> tk.index_candidates(ITEMS)  # noqa: E731
    for word, build in (("counts", items), ("gaps", gaps), ("ranking", ranked)):
        yield replayed(named("items with", word), build, SHORT["integers"])


def _zeros(name: str, build: Callable[[], Any], n: int) -> Any:
    return twice(name, build, np.zeros(n, dtype=np.int64))


def _keyed() -> Iterator[Case]:
    small = {"a": 30, "b": 28, "c": 12, "d": 3, "e": 1}
    large = {f"key {n}": 1 + (n * 7919) % 997 for n in range(3000)}
    numbers = dict(enumerate([40, 2, 39, 1, 38]))
    tables = {"small": small, "large": large, "numbers": numbers, "nothing": {}}
    noises = {"gumbel": tk.noise.Gumbel(), "exponential": tk.noise.Exponential()}
    mechanisms: list[tuple[str, str, dict[str, Any]]] = []
    for role in ("make_unknown_domain_top_k", "make_unknown_domain_counts"):
        for word, noise in noises.items():
            for k, limit in ((1, 1), (2, 3), (5, 5), (10, 2000)):
                options = {"k": k, "limit": limit, "scale": 2, "delta": 1e-3, "noise": noise}
                mechanisms.append((named(role, word, k=k, limit=limit), role, options))
    mechanisms.append(("histogram laplace", "make_stable_histogram", {"scale": 3, "delta": 1e-3}))
    mechanisms.append(("histogram gaussian", "make_stable_histogram", {"scale": 3, "delta": 1e-3, "gaussian": True}))
    mechanisms.append(("selection", "make_partition_selection", {"epsilon": 1, "delta": 1e-2}))
    for words, role, options in mechanisms:
        measure = WITH_DELTA["approx-zcdp" if options.get("gaussian") else "approx-max"]
        space = tk.KeyedCountsDomain(), tk.KeyedCountDistance(2), measure
        for word, table in tables.items():
            yield replayed(named(words, word), partial(getattr(tk, role), *space, **options), table)


def _tables() -> Iterator[Case]:
    """Groups of a frame, and items of users that are drawn at random."""
    for towns in (2, 5):
        for role, options in (
            ("then_report_noisy_top_k", {"k": 2}),
            ("then_permute_and_flip", {}),
            ("then_canonical_top_k", {"k": 2}),
        ):
            for same in (True, False):
                name = named("groups", role, towns=towns, same=same)
                yield name, partial(_grouped, name, role, towns, same, options)
    for by in ("random", "order", "rows"):
        for most in (1, 2):
            yield named("kept", by, most=most), partial(_kept, named("kept", by, most=most), by, most)


def _rows() -> list[tuple[int, str, int]]:
    return [(user, "abcd"[(user * user + j) % 4], user % 5) for user in range(60) for j in range(1 + user % 3)]


def _frame(names: list[str]) -> Any:
    import polars

    return polars.DataFrame([row[: len(names)] for row in _rows()], schema=names, orient="row")


def _grouped(name: str, role: str, towns: int, same: bool, options: dict[str, Any]) -> Any:
    space = tk.FrameDomain("reader", "book", group="town"), tk.UserDistance()
    count = (tk.FrameDomain("reader", "book"), tk.UserDistance()) >> tk.then_count_by_item(candidates=list("abcd"))
    made = {
        town: count >> getattr(tk, role)(MEASURES["max"], scale=3 if same else 3 + town, **options)
        for town in range(towns)
    }
    build = partial(tk.make_partition_by, *space, MEASURES["max"], measurements=made)
    return twice(name, build, _frame(["reader", "book", "town"]))


def _kept(name: str, by: str, most: int) -> Any:
    kept = (tk.FrameDomain("reader", "book"), tk.UserDistance()) >> tk.then_bound_contributions(most=most, by=by)
    count = kept >> tk.then_count_by_item(candidates=None, max_items=most)
    histogram = partial(tk.then_stable_histogram, WITH_DELTA["approx-max"], scale=2, delta=1e-3)
    return twice(name, lambda: count >> histogram(), _frame(["reader", "book"]))
