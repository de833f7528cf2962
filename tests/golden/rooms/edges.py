"""Whether a loss is within a budget at, just below and just above what the map says."""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

from ..case import Case, named
from ..grid import MEASURES, METRICS, PROFILE, THIRD, selections, sized, vectors
from ..names import tk

TINY = Fraction(1, 10**400)


def cases() -> Iterator[Case]:
    for role, _, options, words in selections():
        for measure, output in MEASURES.items():
            for scale in (2, THIRD, 0):
                more = {"scale": scale, **sized(role, 2), **options}
                name = named(role, words, measure, scale=scale)
                yield name, partial(_checked, role, (vectors(), METRICS["linf"], output), more)
    for pair in ((1, 0), (1, 1e-6), (Fraction(1, 10), 0.5), (0, 1), (math.inf, 0), 1, 0, (1, 2), (1, -1), (1,)):
        yield named("profile", pair), partial(_profile, pair)
    for word, measure in _measures():
        for value in (0, 1, 0.1, THIRD, math.inf, -1, math.nan, "1", True, None, (1, 0.1), (1, 2), 10**400):
            yield named("distance", word, repr(value)[:40]), lambda measure=measure, v=value: measure.distance(v, "x")
        yield named("infinite", word), lambda measure=measure: measure.infinite


def _measures() -> Iterator[tuple[str, Any]]:
    yield from MEASURES.items()
    yield "approx-max", tk.Approximate(MEASURES["max"])
    yield "approx-zcdp", tk.Approximate(MEASURES["zcdp"])
    yield from PROFILE.items()


def _checked(role: str, space: tuple[Any, ...], options: dict[str, Any]) -> str:
    """T or F for each budget at each distance."""
    measurement = getattr(tk, role)(*space, **options)
    found = []
    for d_in in (0, 1, 3):
        bound = measurement.map(d_in)
        budgets = [bound, math.nextafter(bound, math.inf), math.inf]
        if 0 < bound < math.inf:
            budgets += [math.nextafter(bound, 0), Fraction(bound) - TINY, Fraction(bound) + TINY]
        found.append("".join("FT"[measurement.check(d_in, budget)] for budget in budgets))
    return " ".join(found)


def _profile(pair: Any) -> str:
    space = vectors(), METRICS["linf"], PROFILE["profile"]
    built = (
        tk.make_joint_top_k(*space, k=2, scale=4),
        tk.make_exponential_mechanism(*space, scale=2),
        tk.make_noisy_top_k_with_gaps(*space, k=1, scale=2),
    )
    return "".join("FT"[one.check(d_in, pair)] for one in built for d_in in (0, 1))
