"""What a measurement does that counts the users of listed items and selects some of them.

Proof: proofs/combinators/together.tex
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..core.measurement import Measurement
from ..core.repeatable import Composed, Repeatable
from ..transformations.count_by_item import DistinctUsers


class Selecting(NamedTuple):
    """A measurement that counts the distinct users of ``items``, selects, and hands the release to ``after``."""

    items: tuple[Any, ...]
    select: Repeatable
    after: tuple[Callable[[Any], Any], ...]

    def finished(self, release: Any) -> Any:
        """What becomes of one release."""
        for step in self.after:
            release = step(release)
        return release


# proof-region: selecting
def selecting(member: Measurement) -> Selecting | None:
    """The parts of a measurement that counts listed items and selects from them; None of any other."""
    steps = _steps(member.function)
    if len(steps) < 2 or not isinstance(steps[0], DistinctUsers) or not isinstance(steps[1], Repeatable):
        return None
    return Selecting(tuple(steps[0].items), steps[1], tuple(steps[2:]))  # [steps]


def _steps(function: Any) -> list[Any]:
    """The functions that are applied one after the other."""
    if isinstance(function, Composed):
        return [*_steps(function.first), *_steps(function.then)]
    return _steps(function.function) if isinstance(function, Measurement) else [function]  # [flat]


# end-proof-region: selecting
