"""The question which listed items together reach most users.

Proof: proofs/planning/coverage.tex
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from ...core.measurement import Measurement
from ...measurements.top_k_coverage import make_top_k_coverage
from ...numerics.arithmetic import scaled_log_up, to_fraction
from ...spaces.measures import Measure
from ...spaces.metrics import UserDistance
from .plan import Plan, Query, ScaleTask, confidence_text
from .question import ListedQuestion, UserUnitOptions
from .release_record import ReleaseRecord
from .units import Columns, UserUnit, count_with_noun


@dataclass(frozen=True)
class CoverageTask(ScaleTask):
    """Task: release ``k`` of ``n_candidates``, each chosen by the users whom no item before reaches."""

    k: int
    n_candidates: int

    name: ClassVar[str] = "top_k_coverage"
    release = "ranking"

    # proof-region: planned_coverage
    def build_measurement(self, unit: UserUnit, measure: Measure, scale: float, items: Any = None) -> Measurement:
        """Return the release of ``items``; if these are None, of as many numbers, for the map only."""
        space = unit.columns.domain, UserDistance(unit.neighbors)
        candidates = range(self.n_candidates) if items is None else items
        return make_top_k_coverage(*space, measure, candidates=candidates, k=self.k, scale=scale)

    def accuracy_bound(self, plan: Plan[Any, UserUnit]) -> float:
        """Return how many users each choice may miss, with probability at least 1 - alpha for all choices."""
        scale, tries = to_fraction(plan.scale), self.n_candidates * self.k
        return scaled_log_up(scale, tries / Fraction(plan.query.alpha))  # [each-choice]

    # end-proof-region: planned_coverage

    def needs_no_noise(self, query: Query[Any, UserUnit]) -> bool:
        return self.n_candidates == 1

    def question_text(self, columns: Columns) -> str:
        return f"which {self.k} of {self.n_candidates} candidates reach most users together?"

    def describe_mechanism(self, plan: Plan[Any, UserUnit]) -> str:
        return (
            f"{self.name} (in the order of the choices): each item is chosen by the exponential mechanism on the "
            "number of users who have it and no item chosen before"
        )

    def guarantee_text(self, plan: Plan[Any, UserUnit]) -> str:
        """Return the accuracy guarantee of each choice, and of all of them together."""
        users: Any = plan.accuracy_floor
        lost = count_with_noun(self.k * users, "user")
        return (
            f"with probability at least {confidence_text(plan.query.alpha)}, each choice reaches at most "
            f"{count_with_noun(users, 'user')} fewer than the best one would, of those whom no choice before reaches; "
            f"so all {self.k} together reach at least 63 % of the most that {self.k} candidates reach, less {lost}"
        )


@dataclass(frozen=True, kw_only=True)
class Coverage(ListedQuestion):
    """The ``k`` candidates that reach most users together, chosen one after the other.

    With delta the loss of one user does not grow with ``k``.
    """

    unit: UserUnitOptions = field(default_factory=UserUnitOptions)  # type: ignore[assignment]

    kind: ClassVar[str] = "coverage"
    summary: ClassVar[str] = "The k candidates that reach most users together."
    plan_example: ClassVar[str] = "--k 100 --candidates 5000 --epsilon 1 --delta 1e-5"
    release_example: ClassVar[str] = "--item book --candidates books.txt --k 10 --epsilon 1 --delta 1e-5"
    mechanisms: ClassVar[tuple[str, ...]] = (CoverageTask.name,)
    exact_number: ClassVar[bool] = True
    tried_on: ClassVar[str] = "table"

    def task(self) -> CoverageTask:
        return CoverageTask(self.required_k, self.required_candidates)

    @classmethod
    def is_valid_record(cls, record: ReleaseRecord) -> bool:
        return super().is_valid_record(record) and record.has_listed_candidates

    @classmethod
    def record_tasks(cls, record: ReleaseRecord) -> Iterator[CoverageTask]:
        yield CoverageTask(record.k or 0, record.mechanism["candidates"])

    @classmethod
    def title(cls, record: ReleaseRecord) -> str:
        return f"The {cls.number_text(record)} of {cls.listed_clause(record)} that reach most {record.people} together"

    @classmethod
    def released_clause(cls, record: ReleaseRecord) -> str:
        return "Released in the order of the choices"

    @classmethod
    def noise_sentence(cls, record: ReleaseRecord) -> str:
        return (
            f"Each item was chosen by the number of {record.people} who have it and none of the items before it, with "
            f"random noise{cls.choice_noise(record)}"
        )

    @classmethod
    def truncation(cls, record: ReleaseRecord) -> str:
        return f"Nothing was truncated: a {record.person} counts for each item, until an item of theirs is chosen."

    @classmethod
    def limits(cls, record: ReleaseRecord) -> list[str]:
        return [
            f"A later item may be more common than one before it: only {record.people} whom no item before it reaches "
            "counted for it.",
            f"It does not show how many {record.people} the items reach. Other items may reach as many.",
            f"It does not name any {record.person}, and does not explain why an item is common.",
        ]

    @classmethod
    def labels(cls, record: ReleaseRecord) -> list[tuple[str, Sequence[Any]]]:
        return [("choice", record.released.ranks)]

    def reach_text(self, plan: Plan[Any, Any]) -> str:
        return f"{self.columns.score_noun}s of each choice and of the best one, of users whom no choice before reaches"
