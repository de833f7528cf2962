"""The question which k items most users have, without a list of candidates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ...errors import checks
from ...measurements._key_selection import MOST_KEYS
from .options import named, option_error
from .question import ListedQuestion, SummedQuestion, TableItemsQuestion
from .release_record import ReleaseRecord
from .unknown_domain import HistogramTopKTask, UnknownDomainTask, VariableSizeTask


@dataclass(frozen=True, kw_only=True)
class UnknownDomainTopK(TableItemsQuestion, SummedQuestion, ListedQuestion):
    """The ``k`` items of the table with the most users, or the largest sums.

    With ``candidates``, only listed items are released, and those with fewer than ``minimum_users`` users never.

    What is asked:
        candidates (FILE|N, rare, needs minimum_users, excludes max_items): Release only items of this list: a file, or
            a number. With --minimum-users: a public list of candidates, some of which may have too few users.
        limit (N): Items of the table that take part. Default: 30 k. They are the best ones. Choose the number without
            looking at the table. Default: thirty times k, or all candidates if these are fewer.
    """

    candidates: Any = None
    limit: int | None = None

    kind: ClassVar[str] = "unknown-domain"
    summary: ClassVar[str] = "The k items that most users have, without a list of candidates."
    plan_example: ClassVar[str] = "--k 10 --epsilon 1 --delta 1e-8"
    release_example: ClassVar[str] = "--item term --k 10 --epsilon 1 --delta 1e-8"
    mechanisms: ClassVar[tuple[str, ...]] = ("unknown_domain_top_k", "stable_histogram")

    def task(self) -> UnknownDomainTask:
        if self.limit is not None:
            limit = checks.require_positive_int(named("--limit"), self.limit, at_most=MOST_KEYS, limit="2^22")
            if limit < self.required_k:
                raise option_error(f"--limit must be at least k ({self.k})")
        capped = self.max_items is not None and self.limit is None and self.n_candidates is None
        histograms = (HistogramTopKTask(k=self.required_k),) if capped else ()
        return UnknownDomainTask(self.required_k, self.limit, self.n_candidates, histograms)

    @classmethod
    def owns(cls, known: Mapping[str, Any]) -> bool:
        return super().owns(known) and "k" in known

    @classmethod
    def record_tasks(cls, record: ReleaseRecord) -> Iterator[VariableSizeTask]:
        known, k = record.mechanism, int(record.k or 0)
        if known["mechanism"] == "stable_histogram":
            yield HistogramTopKTask(k=k)
        else:
            yield UnknownDomainTask(k, known["limit"], known["candidates"])

    @classmethod
    def record_options(cls, record: ReleaseRecord) -> dict[str, Any]:
        """Return the options with the number of candidates: without it, a release would not be limited to the list."""
        number = {"candidates": record.mechanism["candidates"]} if record.has_listed_candidates else {}
        return super().record_options(record) | number

    @classmethod
    def noise_sentence(cls, record: ReleaseRecord) -> str:
        if record.mechanism["mechanism"] != "stable_histogram":
            return super().noise_sentence(record)
        return (
            f"Independent noise{cls.choice_noise(record)} was added to the {record.score_noun} of every item, and of "
            "those that then reached a threshold the largest were released"
        )

    @classmethod
    def title(cls, record: ReleaseRecord) -> str:
        items = "item" if record.k == 1 else "items"
        among = f"of {cls.listed_clause(record)}" if record.has_listed_candidates else f"{items} in the table"
        return f"The {cls.number_text(record)} {among} {cls.ranked_clause(record)}"
