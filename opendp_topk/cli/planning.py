"""From a privacy target to the measurement that meets it with the least noise."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .. import _check
from ..core import Measurement, Transformation
from ..domains import AtomDomain, FrameDomain, VectorDomain
from ..errors import ParameterError, SearchError
from ..measurements.report_noisy_top_k import then_report_noisy_top_k
from ..metrics import UserDistance
from ..search import binary_search_chain
from ..transformations.count_by_item import make_count_by_item
from .options import NEIGHBORS, RELEASES, Target


@dataclass(frozen=True)
class Request:
    """What is to be released, and at what price. Nothing here depends on a table."""

    k: int
    n_candidates: int
    target: Target
    users: int = 1
    neighbors: str = "add_remove"
    release: str = "ranking"

    def __post_init__(self) -> None:
        _check.count("--users", self.users)
        _check.choice("--neighbors", self.neighbors, NEIGHBORS)
        _check.choice("--release", self.release, RELEASES)
        _check.count("the number of candidates", self.n_candidates)
        _check.count("k", self.k, at_most=self.n_candidates, limit="the number of candidates")

    def on(self, count: Transformation, scale: float) -> Measurement:
        """The selection with this scale, behind ``count``."""
        measurement: Measurement = count >> then_report_noisy_top_k(
            self.target.measure, k=self.k, scale=scale, release=self.release
        )
        return measurement

    def planned(self) -> Measurement:
        """The measurement with the smallest scale that meets the target; it counts no table.

        Raises:
            ParameterError: The release would be the same for every table, or no scale meets the target.
        """
        count = _uncounted(self.n_candidates, self.neighbors)
        if self.on(count, 1.0).map(self.users) == 0:
            raise ParameterError(
                "this release would be the same for every table, so it needs no noise and says nothing: "
                "choose k smaller than the number of candidates"
            )
        try:
            return binary_search_chain(lambda scale: self.on(count, scale), self.users, self.target.budget)
        except SearchError:
            pass
        raise ParameterError(f"no finite scale meets so small a target: raise --{self.target.measure.symbol}")


def _uncounted(n_candidates: int, neighbors: str) -> Transformation:
    """The count of ``n_candidates`` items, for its map alone: a count of one candidate that declares more.

    The map does not depend on the candidates, and ten million names need not exist to ask it.
    """
    count = make_count_by_item(FrameDomain("user", "item"), UserDistance(neighbors), candidates=(0,))
    return replace(
        count,
        output_domain=VectorDomain(AtomDomain(int), size=n_candidates),
        parameters={**count.parameters, "candidates": n_candidates},
    )
