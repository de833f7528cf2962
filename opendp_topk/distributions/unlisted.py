"""The exact law of the noisy top-k of counts by key, up to a stop symbol.

Proof: proofs/distributions/unlisted.tex
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from fractions import Fraction
from typing import Any

from ..samplers.unlisted import Search, slots_of
from . import one_shot


# proof-region: unlisted_law
def law(counts: Mapping[Any, int], search: Search) -> dict[Hashable, Any]:
    """The probability of every tuple of keys that may be released, best first.

    Raises:
        CapacityError: There are too many rankings of k of the limit + 1 slots.
    """
    slots = slots_of(counts, search.limit, search.threshold)
    scale = search.scale
    units = [Fraction(value) / (slots.unit * (scale or 1)) for value in slots.values.tolist()]  # [units]
    found: dict[Hashable, Any] = {}
    for ranking, probability in one_shot.law(search.noise, units, scale == 0, search.k, ordered=True).items():
        keys = slots.named(ranking)  # type: ignore[arg-type]
        found[keys] = found[keys] + probability if keys in found else probability  # [merge]
    return found


# end-proof-region: unlisted_law
