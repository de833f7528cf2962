"""What is refused, and in which words: arguments of constructors, data, distances, and chains that do not fit."""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from ..case import Case, named
from ..digits import scripted
from ..grid import MEASURES, METRICS, PROFILE, vectors
from ..names import tk
from ..shown import text

SPACE = vectors(5), METRICS["linf+"]
NUMBERS = (-1, math.nan, math.inf, "1", None, True, 1j, 10**400)
WHOLE = (0, -1, 1.5, 2.0, "2", None, True, 6, 10**19)
WORDS = ("most", "", None, 3)
FLOATS = vectors(None, float), METRICS["range"]


def cases() -> Iterator[Case]:
    yield from _arguments()
    yield from _spaces()
    yield from _data()
    yield from _distances()
    yield from _chains()
    yield from _of_tables()


def _built(role: str, options: dict[str, Any], space: Any = SPACE, measure: Any = MEASURES["max"]) -> Any:
    return getattr(tk, role)(*space, measure, **options)


KEYED = tk.KeyedCountsDomain(), tk.KeyedCountDistance(3)
ROWS = tk.FrameDomain("reader", "page"), tk.UserDistance()
APPROX = tk.Approximate(MEASURES["max"])
FITTING: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "make_report_noisy_top_k": (SPACE, MEASURES["max"], {"k": 2, "scale": 2}),
    "make_lipschitz_top_k": (SPACE, MEASURES["max"], {"k": 2, "scale": 2, "noise": tk.noise.Gumbel()}),
    "make_exponential_mechanism": (SPACE, MEASURES["max"], {"scale": 2}),
    "make_permute_and_flip": (SPACE, MEASURES["max"], {"scale": 2}),
    "make_peeled_top_k": (SPACE, MEASURES["max"], {"k": 2, "scale": 2, "mechanism": "exponential"}),
    "make_canonical_top_k": (SPACE, MEASURES["max"], {"k": 2, "scale": 2, "gamma": 0.5, "utility": "margin"}),
    "make_joint_top_k": (SPACE, MEASURES["max"], {"k": 2, "scale": 2}),
    "make_noisy_top_k_with_gaps": (SPACE, MEASURES["max"], {"k": 2, "scale": 2}),
    "make_select_then_count": (SPACE, MEASURES["max"], {"k": 2, "scale": 2, "count_scale": 2}),
    "make_laplace": ((vectors(5), tk.L1Distance()), MEASURES["max"], {"scale": 2}),
    "make_gaussian": ((vectors(5), tk.L2Distance()), MEASURES["zcdp"], {"scale": 2}),
    "make_unknown_domain_top_k": (KEYED, APPROX, {"k": 2, "scale": 2, "limit": 4, "delta": 1e-6}),
    "make_unknown_domain_counts": (KEYED, APPROX, {"k": 2, "scale": 2, "limit": 4, "delta": 1e-6, "count_scale": 2}),
    "make_stable_histogram": (KEYED, APPROX, {"scale": 2, "delta": 1e-6}),
    "make_partition_selection": (KEYED, APPROX, {"epsilon": 1, "delta": 1e-6}),
    "make_weighted_partition_selection": (ROWS, APPROX, {"max_items": 3, "epsilon": 1, "delta": 1e-6}),
}
"""For each mechanism a space, a measure and options with which it can be built."""

WRONG: dict[str, tuple[Any, ...]] = {
    "k": WHOLE,
    "limit": WHOLE,
    "max_items": WHOLE,
    "scale": NUMBERS,
    "count_scale": NUMBERS,
    "delta": (*NUMBERS, 0, 1, 2),
    "epsilon": NUMBERS,
    "gamma": (*NUMBERS, 2, -0.1),
    "utility": WORDS,
    "mechanism": WORDS,
    "optimize": WORDS,
    "release": (*WORDS, "list"),
    "noise": (None, "Gumbel", tk.noise.Laplace, tk.noise.Laplace(), tk.noise.HalfLogistic(), 3),
    "granularity": (*NUMBERS, 0),
    "threshold": (*NUMBERS, 1.5),
}
TAKEN = {
    "optimize": ("report", "lipschitz", "exponential", "flip", "peeled", "canonical", "joint", "gaps", "select_then"),
    "release": ("report", "lipschitz", "joint", "select_then"),
    "noise": ("lipschitz", "canonical", "gaps", "unknown"),
    "granularity": ("laplace", "gaussian", "select_then"),
    "threshold": ("unknown", "histogram"),
}
"""Options beside the fitting ones, by parts of the constructors' names."""


def _arguments() -> Iterator[Case]:
    for role, (space, measure, options) in FITTING.items():
        taken = {*options, *(name for name, parts in TAKEN.items() if any(part in role for part in parts))}
        for name in sorted(taken):
            for value in WRONG[name]:
                given = {**options, name: value}
                if name == "threshold":
                    del given["delta"]
                said = text(repr(value))[:30]
                yield named(role, f"{name}={said}"), _built_or_refused(role, given, space, measure)
        yield named(role, "unknown option"), partial(_built, role, {**options, "sclae": 1}, space, measure)


def _built_or_refused(*given: Any) -> Callable[[], str]:
    """Some of these are accepted; then it says so."""
    return _tried(_built, *given)


def _spaces() -> Iterator[Case]:
    domains = {
        "integers": vectors(),
        "floats": vectors(None, float),
        "atom": tk.AtomDomain(int),
        "rows": tk.FrameDomain("a", "b"),
        "keyed": tk.KeyedCountsDomain(),
        "none": None,
    }
    metrics = {
        **METRICS,
        "l1": tk.L1Distance(),
        "l2": tk.L2Distance(),
        "users": tk.UserDistance(),
        "keyed": tk.KeyedCountDistance(),
        "class": tk.LInfDistance,
        "none": None,
    }
    for role, (space, measure, options) in FITTING.items():
        for word, domain in domains.items():
            yield named(role, "domain", word), _built_or_refused(role, options, (domain, space[1]), measure)
        for word, metric in metrics.items():
            yield named(role, "metric", word), _built_or_refused(role, options, (space[0], metric), measure)
        for word, output in (*MEASURES.items(), *PROFILE.items(), ("approx", APPROX), ("class", tk.MaxDivergence)):
            yield named(role, "measure", word), _built_or_refused(role, options, space, output)
        then = role.replace("make_", "then_")
        yield named(then, "alone"), partial(_alone, then, measure, options)
        yield named(then, "shown"), lambda then=then, m=measure, o=options: str(getattr(tk, then)(m, **o))
        yield named(then, "half a space"), lambda t=then, s=space, m=measure, o=options: s[0] >> getattr(tk, t)(m, **o)
    values: tuple[tuple[str, Any, tuple[Any, ...]], ...] = (
        ("AtomDomain", tk.AtomDomain, ((str,), (bool,), (3,), (int, (3, 1)), (int, (1,)), (float, (0, math.nan)))),
        ("VectorDomain", tk.VectorDomain, ((3,), (tk.AtomDomain(int), 0), (tk.AtomDomain(int), 1.5))),
        ("FrameDomain", tk.FrameDomain, (("a", "a"), ("", "b"), (1, "b"), ("a", None))),
        ("table with groups", lambda u, i, g: tk.FrameDomain(u, i, group=g), (("a", "b", "b"), ("a", "b", ""))),
        ("table with numbers", lambda u, i, v: tk.FrameDomain(u, i, value=v), (("a", "b", "a"), ("a", "b", 3))),
        ("table of numbers", lambda u, v: tk.FrameDomain(u, value=v), (("a", "a"), ("", "b"), ("a", 3))),
        ("LInfDistance", tk.LInfDistance, (("yes",), (1,), (None,))),
        ("UserDistance", tk.UserDistance, (("users",), (None,), (3,))),
        ("KeyedCountDistance", tk.KeyedCountDistance, ((0,), (1.5,), ("3",), (3, "yes"), (3, True, 0))),
        ("Approximate", tk.Approximate, ((3,), (PROFILE["profile"],), (APPROX,), (tk.MaxDivergence,))),
    )
    for role, make, several in values:
        for given in several:
            said = text(", ".join(map(repr, given)))
            yield named(role, f"({said})"), partial(make, *given)


def _alone(then: str, measure: Any, options: dict[str, Any]) -> Any:
    return getattr(tk, then)(measure, **options)([1, 2, 3])


def _data() -> Iterator[Case]:
    vectors_ = {
        "short": [1],
        "empty": [],
        "long": [1] * 6,
        "text": ["1"] * 5,
        "none": None,
        "nan": [1.0, math.nan, 3, 4, 5],
        "infinite": [1.0, math.inf, 3, 4, 5],
        "floats": [1.5] * 5,
        "whole floats": [1.0] * 5,
        "bools": [True] * 5,
        "mixed": [1, 2.5, 3, 4, 5],
        "nested": [[1, 2], [3, 4]],
        "matrix": np.zeros((5, 2), dtype=np.int64),
        "number": 5,
        "string": "12345",
        "complex": [1j] * 5,
        "mapping": {0: 1},
        "bytes": np.array([1, 2, 3, 4, 5], dtype=np.int8),
        "doubles": np.array([1, 2, 3, 4, 5], dtype=np.float32),
        "objects": np.array([1, 2, 3, 4, 5], dtype=object),
        "fractions": [Fraction(1, 2)] * 5,
    }
    bounded = tk.VectorDomain(tk.AtomDomain(int, bounds=(0, 4)), size=5)
    domains = {"any": vectors(), "five": vectors(5), "real": vectors(5, float), "bounded": bounded}
    for word, domain in domains.items():
        for name, x in vectors_.items():
            build = lambda domain=domain: tk.make_report_noisy_top_k(  # noqa: E731
                domain, METRICS["linf+"], MEASURES["max"], k=2, scale=2
            )
            yield named("data", word, name), partial(_released, build, x)
            yield named("member", word, name), lambda domain=domain, x=x: domain.member(x)
    mappings = {
        "list": [1, 2],
        "none": None,
        "mixed keys": {"a": 1, 2: 1},
        "bools": {True: 1},
        "zero": {"a": 0},
        "negative": {"a": -1},
        "floats": {"a": 1.0},
        "large": {"a": 2**63},
        "tuples": {("a",): 1},
    }
    for name, x in mappings.items():
        build = lambda: tk.make_stable_histogram(*KEYED, APPROX, scale=2, delta=1e-6)  # noqa: E731
        yield named("data keyed", name), partial(_released, build, x)


def _released(build: Any, x: Any) -> Any:
    with scripted("data"):
        return build()(x)


def _distances() -> Iterator[Case]:
    for word, metric in {**METRICS, "l1": tk.L1Distance(), "l2": tk.L2Distance(), "users": tk.UserDistance(),
                         "keyed": tk.KeyedCountDistance()}.items():  # fmt: skip
        for value in (0, 1, Fraction(1, 3), 0.1, -1, -0.5, math.nan, math.inf, "1", None, True, [1], 1j, 10**400):
            yield named("distance", word, repr(value)[:30]), lambda m=metric, v=value: m.distance(v, "d_in")
    report = lambda: _built("make_report_noisy_top_k", {"k": 2, "scale": 2})  # noqa: E731
    for value in (-1, math.nan, "1", None, True, math.inf, 10**400):
        yield named("map at", repr(value)[:30]), lambda v=value: report().map(v)
        yield named("check at", repr(value)[:30]), lambda v=value: report().check(v, 1)
        yield named("check against", repr(value)[:30]), lambda v=value: report().check(1, v)


def _chains() -> Iterator[Case]:
    report = lambda: _built("make_report_noisy_top_k", {"k": 2, "scale": 2})  # noqa: E731
    count = lambda: tk.make_count_by_item(tk.FrameDomain("a", "b"), tk.UserDistance(), candidates=["x", "y"])  # noqa: E731
    then = lambda: tk.then_report_noisy_top_k(MEASURES["max"], k=2, scale=2)  # noqa: E731
    chains: dict[str, Any] = {
        "measurement >> measurement": lambda: report() >> report(),
        "measurement >> partial": lambda: report() >> then(),
        "measurement >> number": lambda: report() >> 3,
        "transformation >> function": lambda: count() >> str,
        "transformation >> transformation": lambda: count() >> count(),
        "transformation >> measurement of five": lambda: count() >> report(),
        "space >> measurement": lambda: SPACE >> report(),
        "other space >> measurement": lambda: FLOATS >> report(),
        "domain >> partial": lambda: SPACE[0] >> then(),
        "partial >> function": lambda: then() >> str,
        "three items": lambda: report() >> tk.index_candidates(["a", "b", "c"]),
        "two items of two": lambda: count() >> then() >> tk.index_candidates(["x", "y"]),
        "equal items": lambda: tk.index_candidates(["a", "a"]),
        "no items": lambda: tk.index_candidates([]),
        "unhashable items": lambda: tk.index_candidates([[1]]),
        "a string of items": lambda: tk.index_candidates("abc"),
        "one item more": lambda: (vectors(), METRICS["linf"]) >> then() >> tk.index_candidates([1, 2, 3]),
        "law of none": lambda: _own().distribution([1]),
        "accuracy of none": lambda: _own().accuracy(3),
        "success of none": lambda: _own().success_probability([1]),
        "map of none": lambda: _own(lambda d_in: "much").map(1),
        "negative map": lambda: _own(lambda d_in: -1).map(1),
        "map that fails": lambda: _own(lambda d_in: 1 // 0).map(1),
        "no function": lambda: tk.make_user_measurement(*SPACE, MEASURES["max"], function=3, privacy_map=float),
        "no map": lambda: tk.make_user_measurement(*SPACE, MEASURES["max"], function=len, privacy_map=3),
        "own transformation": lambda: tk.make_user_transformation(*SPACE, *SPACE, function=list, stability_map=abs),
        "own to another metric": lambda: tk.make_user_transformation(
            *SPACE, vectors(), tk.UserDistance(), function=list, stability_map=abs
        ),
        "noise without a name": lambda: tk.noise.CustomNoise("", quantile=len, survival=len),
        "noise without functions": lambda: tk.noise.CustomNoise("Own", quantile=3, survival=len),
        "noise of another condition": lambda: tk.noise.CustomNoise(
            "Own", quantile=len, survival=len, condition="narrow"
        ),
    }
    yield from chains.items()


def _own(privacy_map: Any = float) -> Any:
    return tk.make_user_measurement(*SPACE, MEASURES["max"], function=len, privacy_map=privacy_map)


def _of_tables() -> Iterator[Case]:
    rows, sums = (tk.FrameDomain("a", "b"), tk.UserDistance()), (tk.FrameDomain("a", "b", value="c"), tk.UserDistance())
    numbers = tk.FrameDomain("a", value="b"), tk.UserDistance()
    lists: dict[str, Any] = {
        "none": None, "empty": [], "equal": ["x", "x"], "mixed": ["x", 1], "floats": [1.5], "bools": [True],
        "string": "xy", "number": 3, "large": [2**64], "nested": [["x"]],
    }  # fmt: skip
    for word, candidates in lists.items():
        yield named("candidates", word), _tried(tk.make_count_by_item, *rows, candidates=candidates)
        yield (named("sums of", word), _tried(tk.make_sum_by_item, *sums, candidates=candidates, bounds=(0, 1)))
        yield named("outside", word), _tried(tk.make_count_outside, *rows, items=candidates)
    for bounds in ((1, 0), (0,), 3, None, (0, math.inf), (math.nan, 1), ("0", 1), (True, 2), (0, 10**400)):
        yield (named("bounds", repr(bounds)[:30]), _tried(tk.make_sum_by_item, *sums, candidates=["x"], bounds=bounds))
    for value in WHOLE:
        for role, space, name, options in (
            ("make_count_by_item", rows, "max_items", {"candidates": None}),
            ("make_bound_contributions", rows, "most", {}),
            ("make_count_outside", rows, "max_rows", {"items": ["x"]}),
            ("make_quantile_scores", numbers, "max_rows", {"quantile": 0.5, "bounds": (0, 5)}),
        ):
            yield (named(role, f"{name}={value!r}"), _tried(getattr(tk, role), *space, **{**options, name: value}))
    for value in ("x", 3, 0, [0], [1, 1], [], [1.5], None):
        yield named("caps", repr(value)), _tried(tk.make_cap_scores, *rows, caps=value, share=0.5)
    for value in NUMBERS:
        yield named("share", repr(value)[:30]), _tried(tk.make_cap_scores, *rows, caps=[1], share=value)
        tried = _tried(tk.make_quantile_scores, *numbers, quantile=value, bounds=(0, 5))
        yield named("quantile", repr(value)[:30]), tried
        tried = _tried(tk.make_sum_by_item, *sums, candidates=["x"], bounds=(0, 5), granularity=value)
        yield named("granularity of sums", repr(value)[:30]), tried
    for value in (*WORDS, "value"):
        yield named("by", repr(value)), _tried(tk.make_bound_contributions, *rows, most=2, by=value)
    for value in ("yes", 1, 0):
        yield (named("monotonic", repr(value)), _tried(tk.make_count_by_item, *rows, candidates=["x"], monotonic=value))


def _tried(make: Any, *arguments: Any, **options: Any) -> Callable[[], str]:
    return lambda: f"accepted: {type(make(*arguments, **options)).__name__}"
