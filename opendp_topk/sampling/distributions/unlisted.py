"""Exact output distribution and success probability of the noisy top-k of an unknown domain, up to a stop symbol.

Proof: proofs/distributions/unlisted.tex
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from fractions import Fraction
from typing import Any

from ..samplers.unlisted import Search, build_slots, top_k
from . import one_shot
from .events import event_ranks


# proof-region: unlisted_law
def output_distribution(counts: Mapping[Any, int], search: Search) -> dict[Hashable, Any]:
    """Return the probability of every tuple of keys that may be released, best first.

    Raises:
        CapacityError: There are too many rankings of k of the limit + 1 slots.
    """
    slots = build_slots(counts, search.limit, search.threshold)
    scale = search.scale
    units = [Fraction(value) / (slots.unit * (scale or 1)) for value in slots.values.tolist()]  # [units]
    found: dict[Hashable, Any] = {}
    for ranking, probability in one_shot.output_distribution(
        search.noise, units, scale == 0, search.k, ordered=True
    ).items():
        keys = slots.released_keys(ranking)  # type: ignore[arg-type]
        found[keys] = found[keys] + probability if keys in found else probability  # [merge]
    return found


# end-proof-region: unlisted_law


# proof-region: unlisted_success
def success_probability(counts: Mapping[Any, int], search: Search, event: str) -> tuple[float, float]:
    """Return bounds on the probability that k keys are released and the event occurs, for at least k counts by key.

    Raises:
        CapacityError: The event leaves too many ranks free, or the integral needs too many panels.
    """
    from . import one_shot_success  # not needed for releases

    slots, k, scale = build_slots(counts, search.limit, search.threshold), search.k, search.scale
    if scale == 0:
        sure = float(len(top_k(counts, search)) == k)
        return sure, sure  # [no-noise]
    sure_of, reach = event_ranks(event, k, len(slots.keys))  # [ranks-of-keys]
    barred = len(slots.values) - len(slots.keys)  # [no-keys]
    return one_shot_success.success_probability(
        search.noise, slots.values, scale * slots.unit, k, 1, sure_of, reach, barred
    )  # [success]


# end-proof-region: unlisted_success
