"""The exact verifier applied to every exported constructor."""

from __future__ import annotations

import inspect
import itertools
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...core.measurement import Measurement
from ...errors import ParameterError, SpaceError
from ...measurements._listed import find_constructors
from ...sampling.noises.standard import STANDARD
from ...spaces.domains import AtomDomain, FrameDomain, VectorDomain
from ...spaces.keyed_counts import KeyedCountDistance, KeyedCountsDomain
from ...spaces.measures import (
    Approximate,
    MaxDivergence,
    Measure,
    PrivacyProfile,
    RangeDivergence,
    ZeroConcentratedDivergence,
)
from ...spaces.metrics import (
    L01InfDistance,
    L1Distance,
    L2Distance,
    LInfDistance,
    Metric,
    PerCandidateDistance,
    UserDistance,
)
from . import merged_laws
from .report import Report
from .verify import verify_with

# Values to try for each argument, whatever the constructor. The values of an argument that only one constructor has are
# in TRIED of the constructor's own module, in the same form.
ARGUMENTS: Mapping[str, tuple[Any, ...]] = {
    "k": (1, 2),
    "scale": (1.0,),
    "noise": STANDARD,
    "mechanism": ("exponential", "permute_and_flip"),
    "utility": ("margin", "distance"),
    "release": ("ranking", "set"),
    "limit": (2,),
    "threshold": (3,),
}
ScorePair = tuple[tuple[int, ...], tuple[int, ...]]
Merge = Callable[[Measurement], Callable[[Any], Any]]
MEASURES = (MaxDivergence(), RangeDivergence(), ZeroConcentratedDivergence())
METRICS = (LInfDistance(monotonic=True), LInfDistance(), L1Distance(), L2Distance())
# Metrics of mechanisms for users with few items, or for scores that a user changes by different amounts.
OWN: Mapping[str, tuple[Metric, ...]] = {
    "make_noisy_histogram": (L01InfDistance(changes=2, monotonic=True),),
    "make_continual_top_k": (L01InfDistance(changes=2, monotonic=True),),
    "make_normalised_top_k": (PerCandidateDistance(bounds=(99, 1, 1)),),
}


def _noisy_sums_distribution(measurement: Measurement) -> Callable[[Any], Any]:
    """Return the distribution of all sums for which ``make_continual_top_k`` draws noise, in units of its noise."""
    known = measurement.parameters
    steps, unit = known["steps"], 4 ** (known["steps"] - 1) if known["gaussian"] else 1
    in_units = replace(measurement, parameters={**known, "scale": known["scale"] * unit})
    law = merged_laws.noisy_score_distribution(in_units, reach=6 * unit)
    sizes = [2**i for i in range(steps) if 2**i <= steps]
    weights = [
        [int(first <= step < first + size) for step in range(steps)]
        for size in sizes
        for first in range(0, steps - size + 1, size)
    ]
    if known["gaussian"]:
        root = [math.comb(2 * i, i) * 4 ** (steps - 1 - i) for i in range(steps)]
        weights = [[*reversed(root[: step + 1]), *[0] * (steps - 1 - step)] for step in range(steps)]

    def output_distribution(cells: Any) -> Any:
        width = len(cells) // steps
        return law([sum(map(operator.mul, row, cells[column::width])) for row in weights for column in range(width)])

    return output_distribution


# The merged distributions of constructors whose releases have infinitely many values.
MERGED: Mapping[str, Merge] = {
    "make_laplace": merged_laws.noisy_score_distribution,
    "make_gaussian": merged_laws.noisy_score_distribution,
    "make_noisy_histogram": merged_laws.noisy_score_distribution,
    "make_continual_top_k": _noisy_sums_distribution,
    "make_select_then_count": merged_laws.winner_count_distribution,
    "make_noisy_top_k_with_gaps": merged_laws.gap_ranking_distribution,
    "make_stable_histogram": merged_laws.released_item_distribution,
    "make_unknown_domain_counts": merged_laws.item_count_distribution,
}
_AT_DISTANCE_1: tuple[ScorePair, ...] = (((0, 0), (1, 1)), ((0, 0), (1, 0)), ((1, 0), (0, 0)))
_AT_DISTANCE_2: tuple[ScorePair, ...] = (((0, 0), (1, 1)), ((0, 0), (2, 0)), ((0, 0), (0, -2)))
DISTANCES = {"make_laplace": 2, "make_gaussian": 2}  # between the neighbours of these constructors; of all others, 1
# Pairs of integers to try for those, and for quantiles, normalised scores and sets above a gap: likely to be worst.
PAIRS: Mapping[str, tuple[ScorePair, ...]] = {
    "make_laplace": _AT_DISTANCE_2,
    "make_gaussian": _AT_DISTANCE_2,
    "make_noisy_histogram": _AT_DISTANCE_1,
    "make_continual_top_k": _AT_DISTANCE_1,
    "make_select_then_count": (((1, 0, 0), (1, 1, 1)), ((0, 0, 0), (1, 0, 1))),
    "make_noisy_top_k_with_gaps": (((0, 0, 0), (0, 1, 1)), ((1, 0, 0), (1, 1, 1))),
    "make_quantiles": (
        ((0, 4, 0), (0, 4, 1)),
        ((0, 4, 0), (1, 4, 0)),
        ((0, 0, 0), (0, 0, 1)),
        ((0, 12, 0), (0, 12, 1)),
    ),
    "make_normalised_top_k": (
        ((1000, 0, -22), (901, 1, -23)),
        ((99, 0, -99), (0, 1, -98)),
        ((0, 1, 1), (0, 2, 0)),
        ((50, 0, 0), (-49, 1, 1)),
    ),
    "make_top_k_by_gap": (
        ((0, 1, 1), (1, 1, 1)),
        ((0, 1, -9), (1, 1, -9)),
        ((9, 0, 0), (9, 1, 0)),
        ((4, 2, 0), (4, 3, 0)),
    ),
}
# Pairs of counts by key that differ by one user, for constructors on such counts.
KEYED: tuple[tuple[dict[str, int], dict[str, int]], ...] = (
    ({}, {"a": 1, "b": 1}),
    ({"a": 2}, {"a": 2, "b": 1}),
    ({"a": 1, "b": 1, "c": 1}, {"a": 1, "b": 2, "c": 2}),
    ({"a": 3, "b": 1}, {"a": 4, "b": 1, "c": 1}),
)
_WITH_DELTA = Approximate(MaxDivergence())
# Users with at most two keys, the number in which the pairs of KEYED differ, and tables of users and items.
_OTHER_SPACES = (
    ((KeyedCountsDomain(), KeyedCountDistance(max_items=2)), _WITH_DELTA),
    *(((FrameDomain("user", "item"), UserDistance()), measure) for measure in (_WITH_DELTA, MaxDivergence())),
)


@dataclass(frozen=True)
class Example:
    """A measurement that the package builds, and the arguments that built it."""

    constructor: str
    arguments: Mapping[str, Any]
    measurement: Measurement


def shipped_examples(measures: Iterable[Measure] = MEASURES) -> Iterator[Example]:
    """Yield every constructor under every metric and measure it accepts, with all combinations of :data:`ARGUMENTS`.

    ``measures`` are the measures to try; under ``PrivacyProfile()`` the verifier compares curves.
    """
    for name, make in find_constructors().items():
        for options in _argument_combinations(make):
            for space, measure in (*_score_spaces(name, options, measures), *_OTHER_SPACES):
                try:
                    yield Example(name, options, make(*space, measure, **options))
                except (ParameterError, SpaceError):
                    continue  # the constructor does not accept this space, measure or noise


def _score_spaces(name: str, options: Mapping[str, Any], measures: Iterable[Measure]) -> Iterable[Any]:
    spaces = [(_score_domain(name, options), metric) for metric in (*METRICS, *OWN.get(name, ()))]
    return itertools.product(spaces, (*measures, _WITH_DELTA))


def _score_domain(name: str, options: Mapping[str, Any]) -> VectorDomain:
    """Return integers of the pairs' size if listed; else floats, 4 for two winners, 3 for one or slow distributions."""
    if name in PAIRS:
        return VectorDomain(AtomDomain(int), size=len(PAIRS[name][0][0]))
    noise = options.get("noise")
    quick = noise is None or noise.is_max_stable or noise.is_memoryless
    return VectorDomain(AtomDomain(float), size=4 if options.get("k", 1) > 1 and quick else 3)


def _argument_combinations(make: Callable[..., Measurement]) -> Iterator[dict[str, Any]]:
    own = [p for p in inspect.signature(make).parameters.values() if p.kind is p.KEYWORD_ONLY]
    known = {**ARGUMENTS, **inspect.unwrap(make).__globals__.get("TRIED", {})}
    for p in own:
        if p.default is p.empty and p.name not in known:
            raise ParameterError(f"the argument {p.name} has no default: list the values to try in TRIED of its module")
    tried = {p.name: known[p.name] for p in own if p.name in known}
    for values in itertools.product(*tried.values()):
        options = dict(zip(tried, values, strict=True))
        if options.get("k", 2) > 1 or options.get("release") != "set":
            yield options


def verify_all(budget: int = 20, among: Iterable[Example] | None = None) -> list[tuple[Example, Report | None]]:
    """Apply :func:`verify` to each shipped mechanism, measure and kind of neighbour.

    The report is None without a distribution, and for tables, of which no pairs are listed here.

    Args:
        budget: The largest number of pairs to try for each; the two likeliest are always tried. Default: 20.
        among: The examples to verify. Default: all :func:`shipped_examples`, and those of their privacy curves.

    Raises:
        PrivacyViolationError: A pair refutes a map.
    """
    laws: dict[str, dict[Any, Any]] = {}
    examples = shipped_examples((*MEASURES, PrivacyProfile())) if among is None else among
    return [(example, verify_example(example, budget, laws)) for example in examples]


def verify_example(example: Example, budget: int, laws: dict[str, dict[Any, Any]]) -> Report | None:
    """Return the report on one example; distributions are taken from ``laws`` and added to it."""
    measurement, merge = example.measurement, MERGED.get(example.constructor)
    if (merge is None and measurement.declared.law is None) or isinstance(measurement.input_domain, FrameDomain):
        return None
    same = f"{example.constructor}, {measurement.input_domain}, {dict(measurement.parameters)}"
    known = laws.setdefault(same, {})  # the output distribution depends on neither the metric nor the measure
    keyed = KEYED if measurement.input_domain == KeyedCountsDomain() else None
    pairs, d_in = PAIRS.get(example.constructor, keyed), DISTANCES.get(example.constructor, 1)
    return verify_with(known, measurement, d_in, merge and merge(measurement), pairs, budget, None)
