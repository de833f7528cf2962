"""Exact output distributions of releases with infinitely many values, after merging these into finitely many cells.

Merging outcomes is post-processing and cannot raise the loss: a map that is refuted for the cells is refuted for the
release.

Proof: proofs/audit/merged_laws.tex
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import Any

import mpmath

from ...core.measurement import Measurement
from ...errors import ParameterError
from ...measurements.report_noisy_top_k import make_report_noisy_top_k
from ...measurements.unknown_domain_top_k import make_unknown_domain_top_k
from ...numerics.arithmetic import to_fraction
from ...sampling.noises.standard import find_standard_noise
from ...spaces.domains import VectorDomain
from ...spaces.measures import Approximate, MaxDivergence
from ...spaces.metrics import RangeDistance

Law = dict[Hashable, Any]
Gaps = dict[tuple[tuple[int, ...], tuple[int, ...]], Any]

# _DIGITS: 20 more than distributions need. _NEGLIGIBLE: tails of sums end 15 digits below those that are required.
# proof-region: merged_laws
_DIGITS = 50
_NEGLIGIBLE = "1e-45"


def noisy_score_distribution(measurement: Measurement, reach: int = 12) -> Callable[[Sequence[int]], Law]:
    """Return the distribution of integer scores with discrete noise, each merged to -reach, ..., reach and two tails.

    ``measurement`` comes from ``make_laplace``, ``make_gaussian`` or ``make_noisy_histogram`` on integers, or from
    ``make_continual_top_k``, whose scores are then the sums of its nodes.
    """
    given = measurement.parameters
    noise = {True: "gaussian", False: "laplace"}
    kind, scale = noise.get(given.get("gaussian", ""), given["mechanism"]), to_fraction(given["scale"])  # [which-noise]

    def output_distribution(scores: Sequence[int]) -> Law:
        with mpmath.workdps(_DIGITS):
            return _product_distribution(
                [_merged_noise_masses(kind, scale, int(score), reach) for score in scores]
            )  # [independent]

    return output_distribution


def winner_count_distribution(measurement: Measurement, reach: int = 6) -> Callable[[Sequence[int]], Law]:
    """Return the distribution of ``make_select_then_count`` on integers: winners, and cells of their noisy counts."""
    given = measurement.parameters
    kind = "laplace" if isinstance(measurement.output_measure, MaxDivergence) else "gaussian"
    domain, metric = measurement.input_domain, measurement.input_metric
    assert isinstance(domain, VectorDomain)
    options = {name: given[name] for name in ("k", "scale", "optimize", "release")}
    select = make_report_noisy_top_k(domain, metric, measurement.output_measure, **options)  # type: ignore[arg-type]
    return _distribution_with_counts(
        select, kind, to_fraction(given["count_scale"]), reach, lambda winners: (winners,)
    )  # [given-winners]


def released_item_distribution(measurement: Measurement) -> Callable[[Mapping[Any, int]], Law]:
    """Return the distribution of the items of ``make_stable_histogram``, without counts, in the order of the keys."""
    scale, level = to_fraction(measurement.parameters["scale"]), measurement.parameters["threshold"]
    kind = "gaussian" if measurement.parameters["gaussian"] else "laplace"

    def output_distribution(counts: Mapping[Any, int]) -> Law:
        found: Law = {(): mpmath.mpf(1)}
        with mpmath.workdps(_DIGITS):
            for key in sorted(counts):
                reached = _noise_tail_mass(kind, scale, level - counts[key])  # [reached]
                with_key = {(*keys, key): mass * reached for keys, mass in found.items()}  # type: ignore[misc]
                found = {keys: mass * (1 - reached) for keys, mass in found.items()} | with_key
        return found

    return output_distribution


def item_count_distribution(measurement: Measurement, reach: int = 6) -> Callable[[Mapping[Any, int]], Law]:
    """Return the distribution of ``make_unknown_domain_counts``: items, whether it stopped, cells of counts."""
    given = measurement.parameters
    kind = "laplace" if measurement.output_measure == Approximate(MaxDivergence()) else "gaussian"
    options = {name: given[name] for name in ("k", "scale", "limit", "threshold")}
    select = make_unknown_domain_top_k(
        measurement.input_domain,  # type: ignore[arg-type]
        measurement.input_metric,  # type: ignore[arg-type]
        measurement.output_measure,
        noise=find_standard_noise(given["noise"]),
        **options,
    )
    return _distribution_with_counts(
        select, kind, to_fraction(given["count_scale"]), reach, lambda found: found
    )  # [given-items]


def _distribution_with_counts(
    select: Measurement, kind: str, scale: Fraction, reach: int, parts: Callable[[Any], tuple[Any, ...]]
) -> Callable[[Any], Law]:
    """Return the distribution of the release of ``select``, in ``parts``, with the choice first, and of its counts."""

    def output_distribution(counts: Any) -> Law:
        result: Law = {}
        with mpmath.workdps(_DIGITS):
            for release, chance in select.distribution(counts).items():
                known = parts(release)
                sizes = _product_distribution(
                    [_merged_noise_masses(kind, scale, int(counts[one]), reach) for one in known[0]]
                )
                result |= {(*known, cells): chance * mass for cells, mass in sizes.items()}  # [given-chosen]
        return result

    return output_distribution


def gap_ranking_distribution(measurement: Measurement, cuts: Sequence[Fraction] = (Fraction(1),)) -> Any:
    """Return the distribution of a ranking with gaps, merged to intervals between 0, ``cuts`` (in scales) and infinity.

    A winner that is ahead by more than c still wins if its score is lowered by c. So the probability that all
    gaps exceed given numbers is that of the ranking for other scores.
    """
    given = measurement.parameters
    noise = find_standard_noise(given["noise"])
    options = {"k": given["k"], "scale": given["scale"], "noise": noise, "optimize": given["optimize"]}
    domain = measurement.input_domain
    assert isinstance(domain, VectorDomain)
    sign, k = (1 if given["optimize"] == "max" else -1), given["k"]
    edges = [Fraction(0), *(cut * to_fraction(given["scale"]) for cut in cuts)]
    ranking = make_report_noisy_top_k(domain, RangeDistance(), MaxDivergence(), **options)

    def output_distribution(scores: Sequence[Any]) -> Law:
        beyond: Gaps = {}
        for levels in itertools.product(range(len(edges)), repeat=k):
            for winners in itertools.permutations(range(len(scores)), k):
                lowered = [Fraction(score) for score in scores]
                for t, winner in enumerate(winners):
                    lowered[winner] -= sign * sum((edges[level] for level in levels[t:]), Fraction(0))  # [lowered]
                beyond[winners, levels] = ranking_distribution(tuple(lowered))[winners]
        with mpmath.workdps(_DIGITS):
            return {
                (winners, levels): _cell_probability(beyond, winners, levels, len(edges)) for winners, levels in beyond
            }

    @functools.cache
    def ranking_distribution(scores: tuple[Fraction, ...]) -> Law:
        element = domain.element_domain.T
        members = [element(score) for score in scores]
        if any(Fraction(member) != score for member, score in zip(members, scores, strict=True)):
            raise ParameterError("cuts times the scale must be scores of the domain: choose integers")
        return ranking.distribution(members)

    return output_distribution


def _cell_probability(beyond: Gaps, winners: tuple[int, ...], levels: tuple[int, ...], n: int) -> Any:
    """Return the probability of the cell at ``levels``, by inclusion and exclusion over its upper edges."""
    corners = itertools.product(*((0, 1) if level + 1 < n else (0,) for level in levels))
    return mpmath.fsum(
        (-1) ** sum(corner) * beyond[winners, tuple(a + b for a, b in zip(levels, corner, strict=True))]
        for corner in corners
    )  # [inclusion-exclusion]


def _product_distribution(parts: Sequence[Law]) -> Law:
    return {
        tuple(cell for cell, _ in chosen): prod(mass for _, mass in chosen)
        for chosen in itertools.product(*(part.items() for part in parts))
    }


@functools.cache
def _merged_noise_masses(kind: str, scale: Fraction, score: int, reach: int) -> Law:
    """Return the masses of score + Z at -reach, ..., reach, and of everything below and above."""
    inner: Law = {n: _noise_mass(kind, scale, n - score) for n in range(-reach, reach + 1)}
    return inner | {
        "below": _noise_tail_mass(kind, scale, reach + 1 + score),
        "above": _noise_tail_mass(kind, scale, reach + 1 - score),
    }  # [cells]


def _noise_weight(kind: str, scale: Fraction, z: int) -> Any:
    power = Fraction(abs(z)) / scale if kind == "laplace" else Fraction(z * z) / (2 * scale * scale)
    return mpmath.exp(-mpmath.mpf(power.numerator) / power.denominator)  # [weight]


@functools.cache
def _noise_mass(kind: str, scale: Fraction, z: int) -> Any:
    return _noise_weight(kind, scale, z) / (1 + 2 * _tail_weight_sum(kind, scale, 1))  # [mass]


def _noise_tail_mass(kind: str, scale: Fraction, least: int) -> Any:
    """Return the mass of all Z >= least."""
    if least <= 0:
        return 1 - _noise_tail_mass(kind, scale, 1 - least)  # [other-tail]
    return _tail_weight_sum(kind, scale, least) / (1 + 2 * _tail_weight_sum(kind, scale, 1))


@functools.cache
def _tail_weight_sum(kind: str, scale: Fraction, least: int) -> Any:
    """Return the sum of the weights from ``least`` >= 1, up to a relative error of 10^-45."""
    if kind == "laplace":
        return _noise_weight(kind, scale, least) / (1 - _noise_weight(kind, scale, 1))  # [geometric]
    terms = [_noise_weight(kind, scale, least)]
    while terms[-1] > mpmath.mpf(_NEGLIGIBLE) * terms[0] * (1 - _noise_weight(kind, scale, 1)):
        terms.append(_noise_weight(kind, scale, least + len(terms)))  # [sum]
    return mpmath.fsum(terms)


# end-proof-region: merged_laws
