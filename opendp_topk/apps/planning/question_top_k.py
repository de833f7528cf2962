"""The question which k of a public list of candidates most users have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ...errors import checks
from ...spaces.measures import MaxDivergence
from .catalogue import RELEASES, all_mechanisms, capable_mechanisms, default_mechanisms
from .options import named, option_error
from .plan import Plan, nth_largest_text
from .question import BoundedQuestion, SummedQuestion
from .question_in_groups import GroupableQuestion
from .release_record import ReleaseRecord
from .top_k import TopKTask
from .units import UserUnit


@dataclass(frozen=True, kw_only=True)
class TopK(BoundedQuestion, SummedQuestion, GroupableQuestion):
    """The ``k`` candidates of a public list with the most users, or the largest sums, as a ranking or a set.

    What is asked:
        release (ranking|set): ranking: best first; set: without order.
        mechanism (NAME, rare): Mechanism that chooses the items. Default: report_noisy_top_k; for a set without
            --counts a canonical mechanism, and with --max-items a histogram mechanism, if its error bound is smaller.
            `plan top-k --compare` compares them.
        expect (N, rare, needs release=set, excludes counts or mechanism or sum): Public guess of the k-th largest
            count. For --release set: a canonical mechanism is chosen if its error bound is below N, and below twice the
            bound of noise on each count. Never look at the table for N.
        counts: Also release a noisy count (or sum) of each item. It may be negative. With a selection mechanism, about
            half of the budget pays for the counts; histogram mechanisms release them at no extra cost.
    """

    release: str = RELEASES[0]
    mechanism: str | None = None
    expect: int | None = None
    counts: bool = False

    kind: ClassVar[str] = "top-k"
    summary: ClassVar[str] = "The k candidates of a public list that most users have."
    plan_example: ClassVar[str] = "--k 10 --candidates 5000 --epsilon 1"
    release_example: ClassVar[str] = "--item book --candidates books.txt --k 10 --epsilon 1"
    exact_number: ClassVar[bool] = True
    tried_on: ClassVar[str] = "counts"

    def task(self) -> TopKTask:
        kind, few = checks.require_choice(named("--release"), self.release, RELEASES), self.max_items is not None
        usual, *others = default_mechanisms(kind, counts=self.counts, few=few)
        task = TopKTask(self.required_k, self.required_candidates, kind, usual, counted=bool(self.counts))
        if self.mechanism is None:
            expected = None if self.expect is None else checks.require_positive_int(named("--expect"), self.expect)
            return replace(task, alternatives=tuple(others), expected=expected)
        task = with_mechanism(self.mechanism, task, few=few)
        if task.mechanism.options.get("gaussian") and self.task_budget.measure == MaxDivergence():
            raise option_error(f"--mechanism {task.name} has no finite epsilon: also give --delta, or use --rho")
        return task

    def fixed(self, plan: Plan[Any, UserUnit]) -> TopK:
        """Return the question with the mechanism of a plan, and the number of its candidates instead of the list."""
        return replace(super().fixed(plan), mechanism=plan.name, expect=None)

    @classmethod
    def owns(cls, known: Mapping[str, Any]) -> bool:
        """Return True for all mechanisms with listed items: every other question is tried first."""
        return "item" in known and known.get("candidates") is not None

    @classmethod
    def record_fields(cls, plan: Plan[Any, UserUnit]) -> dict[str, Any]:
        return {**super().record_fields(plan), "mechanism": plan.query.task.name}

    @classmethod
    def record_tasks(cls, record: ReleaseRecord) -> Iterator[TopKTask]:
        """Yield the task with the mechanism that the record names, or with each that can make the release."""
        k, candidates, counted = record.k or 0, record.mechanism["candidates"], record.released.counts is not None
        named, few = (record.question or {}).get("mechanism"), record.mechanism.get("max_items") is not None
        for row in capable_mechanisms(k, candidates, record.release, counted, few):
            if named in (None, row.name):
                yield TopKTask(k, candidates, record.release, row, counted=counted)

    @classmethod
    def title(cls, record: ReleaseRecord) -> str:
        return f"The {cls.number_text(record)} of {cls.listed_clause(record)} {cls.ranked_clause(record)}"

    @classmethod
    def noise_sentence(cls, record: ReleaseRecord) -> str:
        if record.mechanism["mechanism"] != "noisy_histogram":
            return super().noise_sentence(record)
        kind = "Gaussian" if record.mechanism["gaussian"] else "Laplace"
        return (
            f"Independent {kind} noise{cls.choice_noise(record)} was added to the {record.score_noun} of every "
            "candidate, and the candidates with the largest sums were released"
        )

    @classmethod
    def heading(cls, record: ReleaseRecord) -> str:
        return "item" if record.release == "ranking" else "items, in the order of the candidates"

    def reach_text(self, plan: Plan[Any, Any]) -> str:
        if plan.query.task.release == "ranking":
            return super().reach_text(plan)
        return f"every released item to the {nth_largest_text(plan.query.task.k)} {self.columns.score_noun}"


def with_mechanism(name: str, task: TopKTask, *, few: bool = False) -> TopKTask:
    """Return the task with the mechanism of this name.

    Raises:
        ParameterError: No mechanism has this name, or it cannot give this release; the message names what to change.
    """
    rows = {row.name: row for row in all_mechanisms()}
    if name not in list(rows):
        raise option_error(f"--mechanism must be one of {', '.join(rows)}")
    row, asked = rows[name], (task.k, task.n_candidates, task.release, task.counted, few)
    change = row.release_obstacle(*asked)
    if change is None:
        return replace(task, mechanism=row)
    others = [other.name for other in capable_mechanisms(*asked)]
    one_of = "one of " if len(others) > 1 else ""
    raise option_error(f"--mechanism {name} cannot make this release: {change}, or choose {one_of}{', '.join(others)}")
