"""The question which k items most users have, without a list of candidates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ...errors import ParameterError, checks
from ...measurements._key_selection import MOST_KEYS
from .options import named
from .plan import Plan
from .question import ListedQuestion, SummedQuestion, TableItemsQuestion
from .release_record import ReleaseRecord
from .units import UserUnit
from .unknown_domain import UnknownDomainTask


@dataclass(frozen=True, kw_only=True)
class UnknownDomainTopK(TableItemsQuestion, SummedQuestion, ListedQuestion):
    """The ``k`` items of the table with the most users, or the largest sums.

    With ``candidates``, only listed items are released, and those with fewer than ``minimum_users`` users never.

    What is asked:
        candidates (FILE|N, rare, needs minimum_users, excludes max_items): Release only items of this list: a file, or
            a number. With --minimum-users: a public list of candidates, some of which may have too few users.
        limit (N): Items of the table that take part. Default: 10 k. They are the best ones. Choose the number without
            looking at the table. Default: ten times k, or all candidates if these are fewer.
    """

    candidates: Any = None
    limit: int | None = None

    kind: ClassVar[str] = "unknown-domain"
    summary: ClassVar[str] = "The k items that most users have, without a list of candidates."
    plan_example: ClassVar[str] = "--k 10 --epsilon 1 --delta 1e-8"
    release_example: ClassVar[str] = "--item term --k 10 --epsilon 1 --delta 1e-8"
    mechanisms: ClassVar[tuple[str, ...]] = ("unknown_domain_top_k",)

    def task(self) -> UnknownDomainTask:
        """Return the task."""
        if self.limit is not None:
            limit = checks.require_positive_int(named("--limit"), self.limit, at_most=MOST_KEYS, limit="2^22")
            if limit < self.required_k:
                raise ParameterError(named(f"--limit must be at least k ({self.k})"))
        return UnknownDomainTask(self.required_k, self.limit, self.n_candidates)

    @classmethod
    def owns(cls, known: Mapping[str, Any]) -> bool:
        """Return True if these parameters of a record's mechanism are those of this question."""
        return super().owns(known) and "limit" in known

    @classmethod
    def record_plans(cls, record: ReleaseRecord) -> Iterator[Plan[Any, UserUnit]]:
        """Yield the plan of the record."""
        known = record.mechanism
        query = cls.record_query(record, UnknownDomainTask(int(record.k or 0), known["limit"], known["candidates"]))
        yield Plan(query, query.task.build_measurement(query, float(record.scale or 0), known["threshold"]))

    @classmethod
    def title(cls, record: ReleaseRecord) -> str:
        """Return what was asked, as the title of the release."""
        items = "item" if record.k == 1 else "items"
        among = f"of {cls.listed_clause(record)}" if record.has_listed_candidates else f"{items} in the table"
        return f"The {cls.number_text(record)} {among} {cls.ranked_clause(record)}"
