"""The question which items of the table have enough users, without counts: partition selection."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from .plan import Plan
from .question import AllItemsQuestion, UserUnitOptions
from .release_record import ReleaseRecord
from .unknown_domain import PartitionSelectionTask


@dataclass(frozen=True, kw_only=True)
class Partitions(AllItemsQuestion):
    """All items of the table with enough users, without counts; the threshold is lower than with counts.

    Budget:
        alpha (ALPHA, rare, needs other): Failure probability of the bound on --other's error. How many users an item
            needs is for a probability of 1/2.
    """

    unit: UserUnitOptions = field(default_factory=UserUnitOptions)  # type: ignore[assignment]

    kind: ClassVar[str] = "partitions"
    summary: ClassVar[str] = "All items of the table with enough users, without counts."
    plan_example: ClassVar[str] = "--max-items 50 --epsilon 1 --delta 1e-8"
    release_example: ClassVar[str] = "--item term --max-items 50 --epsilon 1 --delta 1e-8"
    mechanisms: ClassVar[tuple[str, ...]] = ("partition_selection", "weighted_partition_selection")
    least_noise: ClassVar[bool] = False

    def task(self) -> PartitionSelectionTask:
        return PartitionSelectionTask()

    @classmethod
    def record_tasks(cls, record: ReleaseRecord) -> Iterator[PartitionSelectionTask]:
        yield PartitionSelectionTask()

    @classmethod
    def record_options(cls, record: ReleaseRecord) -> dict[str, Any]:
        """Return the options with ``alpha`` of the count of other users: that of the items is always 1/2."""
        found, count = super().record_options(record), record.other_accuracy
        alpha = {} if count is None or count.alpha == cls.alpha else {"alpha": count.alpha}
        return {name: value for name, value in found.items() if name != "alpha"} | alpha

    @classmethod
    def choice_noise(cls, record: ReleaseRecord) -> str:
        """Return an empty text: the noise is on weights, which have no unit."""
        return ""

    @classmethod
    def scale_text(cls, record: ReleaseRecord) -> str | None:
        """Return None: the noise is on weights, or each item has a probability of its own."""
        return None

    @classmethod
    def noise_rows(cls, plan: Plan[Any, Any]) -> list[tuple[str, str]]:
        known = plan.parameters
        if "scale" not in known:
            epsilon, delta = known["each"]
            return [("each item", f"loses at most epsilon = {epsilon:.6g} and delta = {delta:.6g}")]
        beside = "in units of weights, whose squares sum to at most 1 for each user"
        return [("scale", f"{known['scale']:.6g}, {beside}"), ("threshold", f"{known['threshold']:.6g}")]

    def within_text(self, plan: Plan[Any, Any], likely: str) -> str:
        return "an item with at least this many users is released with probability at least 1/2 each time"
