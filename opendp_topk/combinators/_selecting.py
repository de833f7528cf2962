"""The parts of a measurement that counts the users of listed items and selects some of the items.

Proof: proofs/combinators/together.tex
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..core.measurement import Measurement
from ..core.repeatable import ComposedFunction, RepeatableFunction
from ..transformations.count_by_item import DistinctUsers


class CountedSelection(NamedTuple):
    """Parts of a measurement that counts the users of ``items``, selects, and post-processes with ``after``."""

    items: tuple[Any, ...]
    select: RepeatableFunction
    after: tuple[Callable[[Any], Any], ...]

    def apply_postprocessing(self, release: Any) -> Any:
        """Return one release after all post-processing."""
        for step in self.after:
            release = step(release)
        return release


# proof-region: selecting
def match_counted_selection(member: Measurement) -> CountedSelection | None:
    """Return the parts of a measurement that counts listed items and selects from them, or None for any other."""
    steps = _chained_functions(member.function)
    if len(steps) < 2 or not isinstance(steps[0], DistinctUsers) or not isinstance(steps[1], RepeatableFunction):
        return None
    return CountedSelection(tuple(steps[0].items), steps[1], tuple(steps[2:]))  # [steps]


def _chained_functions(function: Any) -> list[Any]:
    """Return the functions of a chain, in the order in which they are applied."""
    if isinstance(function, ComposedFunction):
        return [*_chained_functions(function.first), *_chained_functions(function.then)]
    return _chained_functions(function.function) if isinstance(function, Measurement) else [function]  # [flat]


# end-proof-region: selecting
