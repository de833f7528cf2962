"""The question which items of the table have enough users, with noisy counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from .plan import Plan
from .question import AllItemsQuestion, SummedQuestion
from .release_record import ReleaseRecord
from .unknown_domain import StableHistogramTask


@dataclass(frozen=True, kw_only=True)
class AboveThreshold(AllItemsQuestion, SummedQuestion):
    """All items of the table above a threshold, each with its noisy count of users or noisy sum."""

    kind: ClassVar[str] = "above-threshold"
    summary: ClassVar[str] = "All items of the table above a threshold, with noisy counts."
    plan_example: ClassVar[str] = "--max-items 5 --epsilon 1 --delta 1e-8"
    release_example: ClassVar[str] = "--item term --max-items 5 --epsilon 1 --delta 1e-8"
    mechanisms: ClassVar[tuple[str, ...]] = ("stable_histogram",)

    def task(self) -> StableHistogramTask:
        return StableHistogramTask()

    @classmethod
    def owns(cls, known: Mapping[str, Any]) -> bool:
        return super().owns(known) and "k" not in known

    @classmethod
    def record_tasks(cls, record: ReleaseRecord) -> Iterator[StableHistogramTask]:
        yield StableHistogramTask()

    def reach_text(self, plan: Plan[Any, Any]) -> str:
        return f"a {self.columns.score_noun} that is certainly released to 0"
