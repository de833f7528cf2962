"""What ``compare`` and ``Comparison.best`` answer, as data and in words."""

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

from ..case import Case, named
from ..grid import MEASURES, METRICS, PROFILE, vectors
from ..names import tk
from ..shown import Rough

PROXY = [900, 800, 700] + 22 * [10]


def cases() -> Iterator[Case]:
    for measure, output in MEASURES.items():
        for metric in ("linf", "linf+"):
            for k, d in ((1, 5), (3, 50), (5, 5)):
                for release in ("ranking", "set") if metric == "linf+" else ("set",):
                    for budget in (1, 0.1) if metric == "linf+" and measure != "range" else (1,):
                        name = named("compare", measure, metric, release, k=k, d=d, budget=budget)
                        options = {"k": k, "d_out": budget, "release": release}
                        yield name, partial(_compared, (vectors(d), METRICS[metric], output), options)
    space = vectors(50), METRICS["linf+"], MEASURES["zcdp"]
    yield "compare 52 releases", partial(_compared, space, {"k": 3, "d_out": 1, "releases": 52})
    yield "compare at distance 2", partial(_compared, space, {"k": 3, "d_out": Fraction(1, 3), "d_in": 2})
    yield "compare sure", partial(_compared, space, {"k": 3, "d_out": 1, "alpha": 1e-9})
    yield "compare in words", lambda: str(tk.planning.compare(*space, k=3, d_out=1))
    profile = vectors(20), METRICS["linf+"], PROFILE["profile"]
    yield "compare profile", partial(_compared, profile, {"k": 1, "d_out": (1, 1e-6)}, True)
    for k, budget, options in (
        (1, 1.0, {}),
        (3, 1.0, {}),
        (3, 0.1, {"release": "set"}),
        (3, 0.5, {"measure": MEASURES["zcdp"]}),
        (3, 1.0, {"d_in": 4}),
        (3, 1.0, {"alpha": 0.001}),
        (3, 1.0, {"proxy": PROXY, "release": "set"}),
        (3, 1.0, {"proxy": PROXY, "goal": "good"}),
        (1, 1.0, {"proxy": PROXY, "goal": "great"}),
        (3, 1.0, {"proxy": PROXY, "goal": "near"}),
        (1, (1.0, 1e-6), {}),
    ):
        shorter = {**options, "proxy": "given"} if "proxy" in options else options
        yield named("best", k=k, budget=budget, **shorter), partial(_advised, k, budget, options)
    wrong: tuple[dict[str, Any], ...] = (
        {"k": 0}, {"k": 51}, {"k": "3"}, {"k": 1.5}, {"d_out": 0}, {"d_out": -1}, {"d_out": "1"}, {"d_out": (1, 0)},
        {"d_out": float("inf")}, {"d_in": -1}, {"d_in": None}, {"release": "list"}, {"alpha": 0}, {"alpha": 1},
        {"releases": 0}, {"releases": 1.5}, {"n_candidates": 0},
    )  # fmt: skip
    for options in wrong:
        yield named("compare refuses", **options), partial(_compared, space, {"k": 3, "d_out": 1, **options})
    unsized = vectors(), METRICS["linf+"], MEASURES["max"]
    yield "compare of unknown size", partial(_compared, unsized, {"k": 3, "d_out": 1})
    yield "compare of given size", partial(_compared, unsized, {"k": 3, "d_out": 1, "n_candidates": 9})
    for proxy, goal in ((None, "exact"), (None, "best"), ([1, 2], None), ([0.5] * 25, None)):
        shown = {"proxy": proxy and len(proxy), "goal": goal}
        yield named("best refuses", **shown), partial(_advised, 3, 1, {"proxy": proxy, "goal": goal})


def _compared(space: tuple[Any, ...], options: dict[str, Any], rough: bool = False) -> Any:
    rows = [[row.name, row.scale, row.loss, row.accuracy, row.bound] for row in tk.planning.compare(*space, **options)]
    return Rough(rows) if rough else rows


def _advised(k: int, budget: Any, options: dict[str, Any]) -> Any:
    measure = options.get("measure", PROFILE["profile"] if isinstance(budget, tuple) else MEASURES["max"])
    asked = {name: options[name] for name in options if name not in ("measure", "proxy", "goal")}
    compared = tk.planning.compare(vectors(25), METRICS["linf+"], measure, k=k, d_out=budget, **asked)
    advice = compared.best(options.get("proxy"), goal=options.get("goal"))
    loss = None if isinstance(advice.measurement.output_measure, tk.PrivacyProfile) else advice.measurement.map(1)
    listed = [[one.name, one.row.scale, None if one.success is None else tuple(one.success)] for one in advice.options]
    return Rough([advice.name, loss, listed, advice.as_good, advice.why, advice.caution])
