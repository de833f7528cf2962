"""A question about listed candidates, asked in each of several public groups of users."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from ...errors import checks
from .files import items_as_integers
from .groups import KEPT_GROUPS, GroupedTask
from .options import NO_OPTION, given_options, named, option_error, options_of
from .plan import Plan
from .question import ListedQuestion, PrivacyBudget, Question, TableUnit, listed_items, listed_number, require_column
from .questions import record_question
from .release_record import ReleaseRecord
from .units import Columns, UserUnit


@dataclass(frozen=True, kw_only=True)
class InGroups(Question):
    """A ``question`` about listed candidates in each of the public ``groups``: each gets a list, even without users.

    The privacy unit, the budget and alpha are those of the ``question``.

    What is asked:
        group (COLUMN, rare, needs groups, excludes sum or other): Column of groups; each group gets a list. Such as the
            user's region. The cost is that of --groups-per-person lists, not of all. Needs --groups.
        groups (FILE|N, rare, needs group): Public list of the groups: a file, or a number. A file as for --candidates;
            for a plan, their number is enough. Every group gets a list, even without users. Rows of other groups are
            ignored.
        groups_per_person (N, rare, needs group, excludes rows_per_person): Most groups in which a user counts. Default:
            1. They are drawn at random among the groups of the user's rows. The cost is that of this many lists.
    """

    question: Any = field(metadata=NO_OPTION)
    unit: TableUnit = field(init=False, repr=False, metadata=NO_OPTION)
    budget: PrivacyBudget = field(init=False, repr=False, metadata=NO_OPTION)
    alpha: Any = field(init=False, repr=False, metadata=NO_OPTION)
    group: str | None = None
    groups: Any = None
    groups_per_person: int | None = None

    kind: ClassVar[str] = "in-groups"
    exact_number: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checks.require_instance("question", self.question, GroupableQuestion, "a TopK question")
        for name in ("unit", "budget", "alpha"):
            object.__setattr__(self, name, getattr(self.question, name))
        super().__post_init__()

    def _given(self) -> dict[str, Any]:
        """Return the options whose values are not the default, with those of the question, by name."""
        return {**given_options(self.question), **given_options(self)}

    def to_dict(self) -> dict[str, Any]:
        return {**self.question.to_dict(), **given_options(self)}

    @cached_property
    def group_list(self) -> tuple[Any, ...] | None:
        return listed_items(self.groups, what="groups")

    @property
    def n_candidates(self) -> int | None:
        number: int = self.question.required_candidates
        return number

    @property
    def item_list(self) -> tuple[Any, ...] | None:
        items: tuple[Any, ...] | None = self.question.item_list
        return items

    @property
    def read_files(self) -> tuple[str, ...]:
        own = (str(self.groups),) if isinstance(self.groups, str | Path) and self.group_list is not None else ()
        return (*self.question.read_files, *own)

    @cached_property
    def columns(self) -> Columns:
        own: Columns = self.question.columns
        return replace(own, group=self.group if self.group is None else require_column("--group", self.group))

    def task(self) -> GroupedTask:
        rows, most = self.columns.is_row_level, self.groups_per_person
        number = listed_number(self.groups, "--groups")
        groups = self.group_list if number is None else range(number)
        own = 1 if most is None else checks.require_positive_int(named("--groups-per-person"), most)
        return GroupedTask(**vars(self.question.task()), groups=groups or (), most=own, rule=None if rows else "random")

    def with_max_items(self, most: int | None) -> Question | None:
        other = self.question.with_max_items(most)
        return None if other is None else replace(self, question=other)

    def bind(self, plan: Plan[Any, UserUnit], frame: Any, schema: Mapping[str, Any]) -> Plan[Any, UserUnit]:
        """Return the plan for a table with these columns, with its groups in the type of the table's column."""
        query, groups = plan.query, self.group_list
        if groups is None:
            raise option_error("a release needs --groups, the list itself instead of their number")
        if schema[str(self.group)].is_integer():
            groups = items_as_integers(groups, str(self.group), "groups")
        task = replace(query.task, groups=groups)
        bound: Plan[Any, UserUnit] = self.question.bind(replace(plan, query=replace(query, task=task)), frame, schema)
        return bound

    @classmethod
    def owns(cls, known: Mapping[str, Any]) -> bool:
        return "partition" in known

    @classmethod
    def record_fields(cls, plan: Plan[Any, UserUnit]) -> dict[str, Any]:
        return {**super().record_fields(plan), "question": _inner_question(None, plan.parameters).record_fields(plan)}

    @classmethod
    def is_valid_record(cls, record: ReleaseRecord) -> bool:
        """Return True if the record has ``k`` items for each group, and the question in each group is known."""
        length = record.mechanism["partition"]["groups"] * (record.k or 0)
        return issubclass(_inner(record), GroupableQuestion) and len(record.groups or ()) == length > 0

    @classmethod
    def record_columns(cls, known: Mapping[str, Any]) -> Columns:
        return replace(super().record_columns(known), group=known["partition"]["group"])

    @classmethod
    def record_tasks(cls, record: ReleaseRecord) -> Iterator[GroupedTask]:
        known = record.mechanism["partition"]
        own = {"groups": range(known["groups"]), "most": known.get("max_groups", 1), "rule": known.get("by")}
        for task in _inner(record).record_tasks(_inner_record(record)):
            yield GroupedTask(**vars(task), **own)

    @classmethod
    def record_options(cls, record: ReleaseRecord) -> dict[str, Any]:
        known = record.mechanism["partition"]
        most = {"groups_per_person": known["max_groups"]} if "max_groups" in known else {}
        return {**_inner(record).record_options(_inner_record(record)), "group": known["group"], **most}

    # Sentences about a record.

    @classmethod
    def title(cls, record: ReleaseRecord) -> str:
        group, lists = record.mechanism["partition"]["group"], len(record.released.group_lists)
        return f"{_inner(record).title(record)}, in each group of {group} ({lists})"

    @classmethod
    def method(cls, record: ReleaseRecord) -> str:
        return _inner(record).method(record)

    @classmethod
    def truncation(cls, record: ReleaseRecord) -> str:
        """Explain which users count in which group, and how the data were truncated."""
        known = record.mechanism["partition"]
        most = known.get("max_groups", 1)
        which = KEPT_GROUPS.get(known.get("by"), KEPT_GROUPS[None])
        groups = "1 of these groups" if most == 1 else f"{most} of these groups"
        counts = f"A {record.person} counts in at most {groups}, {which}; rows in other groups were not counted."
        said = (
            "The groups are a public list. Each has the same number of items, even if no user is in it. "
            f"{'Rows of other groups were not counted.' if record.is_row_level else counts} The cost covers all lists."
        )
        if record.is_row_level:
            return f"{said} Every row of these groups was counted."
        once = "counts once for each item, regardless of the number of rows"
        return f"{said} {_inner(record).truncation(record).replace(once, 'counts for each item')}"

    @classmethod
    def limits(cls, record: ReleaseRecord) -> list[str]:
        own = "It does not show the size of a group: each group has a list, even if it is empty."
        return [*_inner(record).limits(record), own]

    @classmethod
    def public_check(cls, record: ReleaseRecord) -> str:
        return "Were the lists of candidates and of groups made without looking at the table?"

    @classmethod
    def heading(cls, record: ReleaseRecord) -> str:
        return _inner(record).heading(record)


def _inner_record(record: ReleaseRecord) -> ReleaseRecord:
    return replace(record, question=(record.question or {}).get("question"))


def _inner(record: ReleaseRecord) -> type[Question]:
    """Return the question that was asked in each group."""
    return _inner_question(_inner_record(record).question, record.mechanism)


def _inner_question(question: Mapping[str, Any] | None, known: Mapping[str, Any]) -> type[Question]:
    own = {name: value for name, value in known.items() if name != "partition"}
    found: type[Question] = record_question(question, own)
    return found


@dataclass(frozen=True, kw_only=True)
class GroupableQuestion(ListedQuestion):
    """Base class of questions that can be asked in each of several groups, if the column of groups is given."""

    @classmethod
    def option_groups(cls) -> tuple[type, ...]:
        return cls, InGroups

    @classmethod
    def build(cls, values: Mapping[str, Any]) -> Question:
        """Return the question with these options; in groups, if an option of groups is given."""
        asked = super().build(values)
        own = {name: values[name] for name in options_of(InGroups) if values.get(name) is not None}
        return InGroups(question=asked, **own) if own else asked
