"""Privacy curves: delta at several epsilon and epsilon at several delta."""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

from ..case import Case, named
from ..grid import METRICS, PROFILE, selections, sized, vectors
from ..names import tk

SIZES = ((1, None), (2, None), (2, 2), (2, 5))


def cases() -> Iterator[Case]:
    for role, _, options, words in selections():
        plain = "canonical" not in role or "gamma=1/2" in words
        for k, d in SIZES if plain else SIZES[:1]:
            if k == 1 or sized(role, k):
                if role == "make_peeled_top_k" and (k, d) == (2, 5):
                    continue  # its grid takes a second
                for metric in ("linf", "linf+") if role == "make_report_noisy_top_k" else ("linf",):
                    more = {"scale": 4, **sized(role, k), **options}
                    yield named(role, words, metric, k=k, d=d), partial(_curve, role, METRICS[metric], d, more)
    metrics = {"make_laplace": tk.L1Distance(), "make_gaussian": tk.L2Distance()}
    for role, metric in metrics.items():
        for scale in (1, Fraction(1, 3), 10):
            yield named(role, scale=scale), partial(_curve, role, metric, None, {"scale": scale})
    for scale in (0, 1e-3, 1e6):
        for role in ("make_exponential_mechanism", "make_joint_top_k"):
            more = {"scale": scale, **sized(role, 2)}
            yield named(role, scale=scale), partial(_curve, role, METRICS["range"], None, more)
    own = tk.PrivacyCurve(lambda epsilon: math.exp2(-8 * float(epsilon)) / 2)
    both = tk.PrivacyCurve(*own.bounds, lambda epsilon: 1 / 16)
    yield "own curve", lambda: own
    yield "two bounds", lambda: both
    yield "own curve shown", lambda: str(own)
    for value in (0, 1, Fraction(1, 3), (1, 1e-6), (0, 0.5), (math.inf, 0)):
        yield named("of a pair", value), lambda value=value: PROFILE["profile"].distance(value, "x")
    for value in (-1, math.nan, "1", None, math.inf, 10**400):
        yield named("delta at", repr(value)[:40]), lambda value=value: own.delta(value)
        yield named("epsilon at", repr(value)[:40]), lambda value=value: own.epsilon(value)
    for words, bounds in (("none", ()), ("a number", (3,)), ("growing", (lambda e: min(1, float(e)),))):
        yield named("bounds", words), lambda bounds=bounds: tk.PrivacyCurve(*bounds)


def _curve(role: str, metric: Any, d: int | None, options: dict[str, Any]) -> list[Any]:
    measurement = getattr(tk, role)(vectors(d), metric, PROFILE["profile"], **options)
    return [measurement.map(1), measurement.map(0).delta(0)]
