"""Unknown domains: what counts by key cost, with limits above and below what a user moves; laws, and accuracy."""

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

from ..case import Case, named
from ..grid import PROFILE, WITH_DELTA
from ..names import tk
from ..shown import Rough, law

USERS = (0, 1, 2, 7)
UNITS = ((None, True), (1, True), (3, True), (3, False))
"""The most items of a user, and whether all users move the same way."""
_EACH = 7  # how far one user moves one sum
NOISES = {"gumbel": tk.noise.Gumbel(), "exponential": tk.noise.Exponential()}
TABLE = {"a": 9, "b": 7, "c": 2}


def cases() -> Iterator[Case]:
    for words, role, options in _mechanisms():
        for measure in ("approx-max", "approx-zcdp"):
            if _fits(role, measure, options):
                for most, monotonic in UNITS:
                    name = named(words, measure, max_items=most, monotonic=monotonic)
                    yield name, partial(_mapped, role, WITH_DELTA[measure], most, monotonic, options)
        if "counts" not in role and not options.get("gaussian") and options.get("delta") == 1e-6:
            yield named(words, "curve"), partial(_curve, role, options)
    for words, role, options in _sums():
        for most, monotonic in UNITS[1:]:
            for measure, output in WITH_DELTA.items():
                if _fits(role, measure, options):
                    name = named(words, measure, max_items=most, monotonic=monotonic, each=_EACH)
                    yield name, partial(_mapped, role, output, most, monotonic, options, _EACH)
        if options.get("gaussian") is not None:
            yield named(words, "curve", each=_EACH), partial(_curve, role, options, _EACH)
    for words, role, options in _small():
        for measure, output in WITH_DELTA.items():
            yield named(words, measure), partial(_mapped, role, output, None, True, options)
    for role, options in (
        ("make_unknown_domain_counts", {"k": 1, "limit": 2, "scale": 2, "delta": 1e-6}),
        ("make_stable_histogram", {"scale": 1, "delta": 1e-6, "gaussian": True}),
    ):
        build = partial(_built, role, PROFILE["profile"], 2, True, options)
        yield named("curve of counts", role), lambda build=build: Rough(build().map(1).delta(Fraction(1, 2)))
    for words, role, options in _small():
        build = partial(_built, role, WITH_DELTA["approx-max"], 2, True, options)
        yield named(words, "law"), lambda build=build: law(build().distribution(TABLE))
        yield named(words, "law of nothing"), lambda build=build: law(build().distribution({}))
        yield named(words, "shown"), build
        for alpha in (0.05, Fraction(1, 3), 1e-9):
            yield named(words, "accuracy", alpha=alpha), lambda b=build, alpha=alpha: b().accuracy(1, alpha)


def _built(role: str, measure: Any, most: int | None, monotonic: bool, options: dict[str, Any], each: int = 1) -> Any:
    return getattr(tk, role)(tk.KeyedCountsDomain(), tk.KeyedCountDistance(most, monotonic, each), measure, **options)


def _fits(role: str, measure: str, options: dict[str, Any]) -> bool:
    """Whether the mechanism has a cost under the measure; that it has none is tried elsewhere."""
    if role == "make_partition_selection" or options.get("noise") == NOISES["exponential"]:
        return measure == "approx-max"
    if role == "make_stable_histogram" and "epsilon" in options:
        return measure == "approx-max"
    if role == "make_stable_histogram":
        return options["gaussian"] == (measure == "approx-zcdp")
    return True


def _mapped(
    role: str, measure: Any, most: int | None, monotonic: bool, options: dict[str, Any], each: int = 1
) -> list[Any]:
    measurement = _built(role, measure, most, monotonic, options, each)
    return [measurement.map(d_in) for d_in in USERS]


def _curve(role: str, options: dict[str, Any], each: int = 1) -> list[Any]:
    measurement = _built(role, PROFILE["profile"], 2, True, options, each)
    return [measurement.map(d_in) for d_in in (1, 2)]


def _mechanisms() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for role in ("make_unknown_domain_top_k", "make_unknown_domain_counts"):
        for word, noise in NOISES.items():
            for k, limit in ((1, 1), (1, 2), (2, 5), (3, 3), (3, 100)):
                for scale, delta in ((2, 1e-6), (Fraction(1, 3), 1e-3)) if limit == 2 else ((2, 1e-6),):
                    options = {"k": k, "limit": limit, "scale": scale, "delta": delta, "noise": noise}
                    yield named(role, word, k=k, limit=limit, scale=scale, delta=delta), role, options
            for scale, threshold in ((2, 0), (2, 20), (0, 3), (0.1, 1.5)):
                options = {"k": 2, "limit": 5, "scale": scale, "threshold": threshold, "noise": noise}
                yield named(role, word, scale=scale, threshold=threshold), role, options
    for count_scale in (0, 1, Fraction(1, 3), 5):
        options = {"k": 2, "limit": 5, "scale": 2, "delta": 1e-6, "count_scale": count_scale}
        yield named("make_unknown_domain_counts", count_scale=count_scale), "make_unknown_domain_counts", options
    for gaussian in (False, True):
        for options in ({"delta": 1e-6}, {"delta": 1e-3}, {"threshold": 1}, {"threshold": 12}):
            for scale in (1, Fraction(1, 3), 5, 0):
                more = {"scale": scale, "gaussian": gaussian, **options}
                yield named("make_stable_histogram", **more), "make_stable_histogram", more
    for gaussian in (False, True):
        options = {"epsilon": 1, "delta": 1e-6, "gaussian": gaussian}
        yield named("make_stable_histogram", **options), "make_stable_histogram", options
    for epsilon in (1, Fraction(1, 10), 3, 0):
        for delta in (1e-6, Fraction(1, 8)):
            options = {"epsilon": epsilon, "delta": delta}
            yield named("make_partition_selection", **options), "make_partition_selection", options


def _sums() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """What is released of sums, of which one user moves each far."""
    for gaussian in (False, True):
        options = {"scale": 20, "delta": 1e-6, "gaussian": gaussian}
        yield named("make_stable_histogram", **options), "make_stable_histogram", options
    for role in ("make_unknown_domain_top_k", "make_unknown_domain_counts"):
        options = {"k": 2, "limit": 5, "scale": 20, "delta": 1e-6}
        yield named(role, **options), role, options
    options = {"epsilon": Fraction(1, 10), "delta": 1e-6}
    yield named("make_partition_selection", **options), "make_partition_selection", options


def _small() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for role in ("make_unknown_domain_top_k", "make_unknown_domain_counts"):
        for word, noise in NOISES.items():
            for k, limit in ((1, 2), (2, 2), (2, 5)):
                options = {"k": k, "limit": limit, "scale": 2, "threshold": 4, "noise": noise}
                yield named("small", role, word, k=k, limit=limit), role, options
    for gaussian in (False, True):
        options = {"scale": 1, "threshold": 3, "gaussian": gaussian}
        yield named("small make_stable_histogram", gaussian=gaussian), "make_stable_histogram", options
    for epsilon in (1, 0):
        options = {"epsilon": epsilon, "delta": Fraction(1, 8)}
        yield named("small make_partition_selection", epsilon=epsilon), "make_partition_selection", options
