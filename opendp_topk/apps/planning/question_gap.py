"""The question which candidates of a public list are above a large gap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from ...sampling.noises.standard import STANDARD
from .by_gap import GapTask
from .plan import Plan
from .question import ListedQuestion, SummedQuestion
from .release_record import ReleaseRecord


@dataclass(frozen=True, kw_only=True)
class TopKByGap(SummedQuestion, ListedQuestion):
    """The exact set of the best candidates, at most ``k``, above a large gap between consecutive counts, or no items.

    Noise is added to choose the gap and to test it. Without delta the loss is infinite: one user can close a gap.
    """

    kind: ClassVar[str] = "gap"
    summary: ClassVar[str] = "The exact set of the best candidates above a large gap."
    plan_example: ClassVar[str] = "--k 10 --candidates 5000 --epsilon 1 --delta 1e-8"
    release_example: ClassVar[str] = "--item book --candidates books.txt --k 10 --epsilon 1 --delta 1e-8"
    mechanisms: ClassVar[tuple[str, ...]] = ("top_k_by_gap",)
    own_delta: ClassVar[bool] = True

    def task(self) -> GapTask:
        return GapTask(self.required_k, self.required_candidates)

    @classmethod
    def is_valid_record(cls, record: ReleaseRecord) -> bool:
        known = record.mechanism
        has_noise = "test_scale" in known and record.scale is not None
        return super().is_valid_record(record) and has_noise and (known["candidates"] or 0) > 1

    @classmethod
    def record_tasks(cls, record: ReleaseRecord) -> Iterator[GapTask]:
        known, noises = record.mechanism, {one.name: one for one in STANDARD}
        if record.release == GapTask.release:
            yield GapTask(record.k or 0, known["candidates"], noises[known["noise"]], known["test_scale"])

    @classmethod
    def title(cls, record: ReleaseRecord) -> str:
        column = record.summed_column
        apart = f"numbers of {record.counted_noun}" if column is None else f"sums of {column}"
        return f"The best of {cls.listed_clause(record)}, at most {record.k}, above a large gap between their {apart}"

    @classmethod
    def method(cls, record: ReleaseRecord) -> str:
        unit = record.counted_noun if record.summed_column is None else f"in {record.summed_column}"
        return (
            f"{cls.released_clause(record)}: exactly the best candidates; their number was chosen by the gaps between "
            f"consecutive {record.score_noun}s. The choice of a gap used random noise{cls.choice_noise(record)}, and "
            f"the test of its size noise of scale {record.score_amount(record.mechanism['test_scale']):.6g} {unit}, so "
            f"that the list depends little on any one {record.person}: see below. No exact {record.score_noun} was "
            "released."
        )

    @classmethod
    def limits(cls, record: ReleaseRecord) -> list[str]:
        return [
            "It has no order, and does not show the size of the gap below it.",
            "Its end was drawn at random: another gap of nearly the same size could have been chosen, or none.",
            f"It does not name any {record.person}, and does not explain why an item is common.",
        ]

    @classmethod
    def heading(cls, record: ReleaseRecord) -> str:
        return "items, in the order of the candidates"

    @classmethod
    def ending(cls, record: ReleaseRecord) -> list[tuple[str, str]]:
        return [] if record.released.items else [("none", "no set was released: no gap was certain to be large enough")]

    @classmethod
    def nothing(cls, record: ReleaseRecord) -> str:
        return "no gap was certain to be large enough"

    def within_text(self, plan: Plan[Any, Any], likely: str) -> str:
        return f"with a gap of this size a set is released, with probability at least {likely} each time"
