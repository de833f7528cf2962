"""The k best of listed candidates in each of several groups of users, at one price.

Proof: proofs/planning/groups.tex
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ...combinators.partition_by import group_privacy_map, make_partition_by
from ...core.measurement import Measurement
from ...errors import checks
from ...numerics.arithmetic import to_fraction
from ...spaces.domains import GroupedFrameDomain
from ...spaces.metrics import UserDistance
from ...transformations.keep_items import make_keep_groups
from .plan import AccuracyGuarantee, Plan, Query, confidence_text, least_scale
from .release_record import parameters_of
from .top_k import TopK
from .units import Columns, UserUnit

_CHOSEN = {
    "random": "drawn at random",
    "order": "first in alphabetical order",
    "rows": "with the most rows",
    None: "first in the list",
}


@dataclass(frozen=True)
class GroupedTopK:
    """``task`` for each of ``groups``, which are public: each gets its list, also one without users, and no other does.

    A user counts in at most ``most`` of them, chosen by ``rule``: one of those of ``make_keep_groups``, or None for the
    first in the order of ``groups``. The unit's columns name one of groups.
    """

    task: TopK
    groups: Sequence[Any]
    most: int = 1
    rule: str | None = "random"

    searched: ClassVar[tuple[str, ...]] = ("scale",)

    def __post_init__(self) -> None:
        checks.require_positive_int("the number of groups", len(self.groups))
        checks.require_positive_int("groups_per_person", self.most)

    @property
    def k(self) -> int:
        """How many items in each group."""
        return self.task.k

    @property
    def release(self) -> str:
        """``"ranking"`` or ``"set"``."""
        return self.task.release

    @property
    def name(self) -> str:
        """The name of the mechanism."""
        return self.task.name

    @property
    def counted(self) -> bool:
        """Whether items come with counts."""
        return self.task.counted

    @property
    def mechanism_variants(self) -> tuple[GroupedTopK, ...]:
        """The task by each mechanism that is open, the same in all groups."""
        return tuple(replace(self, task=one) for one in self.task.mechanism_variants)

    # proof-region: in_groups
    def build_measurement(self, query: Query[GroupedTopK, UserUnit], scale: float, items: Any = None) -> Measurement:
        """From a table to the lists of all groups, of indices or of ``items``, with this scale in each."""
        domain, metric = query.unit.columns.table_domain, UserDistance(query.unit.neighbors)
        assert isinstance(domain, GroupedFrameDomain)
        members = dict.fromkeys(self.groups, self.build_group_measurement(query, scale, items))  # [members]
        measure = query.budget.measure
        measurement = make_partition_by(domain, metric, measure, measurements=members, max_groups=self.most)
        if self.rule is None:
            return measurement
        kept = make_keep_groups(domain, metric, most=self.most, by=self.rule, groups=self.groups)  # [kept]
        chained: Measurement = kept >> measurement
        return chained

    def build_group_measurement(
        self, query: Query[GroupedTopK, UserUnit], scale: float, items: Any = None
    ) -> Measurement:
        """The measurement of one group."""
        unit, size = self._single_group_query(query).unit, self.task.n_candidates
        scores = unit.map_only_scores(size) if items is None else unit.score_transformation(items)
        return self.task.build_measurement(scores, query.budget.measure, scale, items)  # [member]

    def calibrate_measurement(
        self, query: Query[GroupedTopK, UserUnit], known: dict[Any, float] | None = None
    ) -> Measurement:
        """The measurement with the least scale; ``known`` as in :func:`least_scale`.

        Raises:
            SearchError: No scale meets the budget, or every one does.
            ParameterError: The mechanism does not take the measure.
        """
        measure, metric = query.budget.measure, UserDistance(query.unit.neighbors)

        def make(scale: float) -> Measurement:
            member = self.build_group_measurement(query, scale)
            often = Counter({member: len(self.groups)})
            return replace(member, privacy_map=group_privacy_map(measure, metric, often, self.most))  # [whole-price]

        found = least_scale(make, query.unit.d_in, query.budget.d_out, query.releases, known)
        return self.build_measurement(query, found.parameters["scale"])  # [least]

    def single_group_plan(self, plan: Plan[GroupedTopK, UserUnit]) -> Plan[TopK, UserUnit]:
        """The plan of one group, whose theorems fail with an equal share of the probability."""
        query = plan.query
        share = to_fraction(query.alpha) / len(self.groups)  # [share]
        member = self.build_group_measurement(query, parameters_of(plan.measurement)["scale"])
        return Plan(replace(self._single_group_query(query), alpha=share), member)

    def _single_group_query(self, query: Query[GroupedTopK, UserUnit]) -> Query[Any, UserUnit]:
        """The query of one group: a user who is replaced may leave it while another one enters a second group."""
        unit, task = replace(query.unit, neighbors="add_remove"), self.task  # [within]
        return replace(query, task=task, unit=unit)  # type: ignore[arg-type]

    def accuracy_bound(self, plan: Plan[GroupedTopK, UserUnit]) -> float | None:
        """The bound of the accuracy theorem in all groups at once; None where it takes too long to compute."""
        return self.single_group_plan(plan).accuracy  # [all-at-once]

    # end-proof-region: in_groups

    def error_bound(self, plan: Plan[GroupedTopK, UserUnit]) -> float:
        """By how much anything that is released may be off in any group."""
        return self.task.error_bound(self.single_group_plan(plan))

    def needs_no_noise(self, query: Query[GroupedTopK, UserUnit]) -> bool:
        """Whether the release is the same for all neighbours."""
        return self.task.needs_no_noise(self._single_group_query(query))

    def bind_candidates(self, plan: Plan[GroupedTopK, UserUnit], items: Any) -> Measurement:
        """From a table to the items that are released."""
        return self.build_measurement(plan.query, parameters_of(plan.measurement)["scale"], items)

    def choice_reason(self, plan: Plan[GroupedTopK, UserUnit]) -> str:
        """Nothing, as for one list."""
        return ""

    def question_text(self, columns: Columns) -> str:
        """What is asked."""
        return (
            f"{self.task.question_text(columns).removesuffix('?')}, in each of {_group_count_text(len(self.groups))}?"
        )

    def describe_mechanism(self, plan: Plan[GroupedTopK, UserUnit]) -> str:
        """The mechanism in words."""
        return (
            f"{self.task.describe_mechanism(self.single_group_plan(plan))}; so in each group with noise of its own, "
            f"whether anybody is in it or "
            f"not; {self._describe_contribution(plan.query.unit.columns)}"
        )

    def _describe_contribution(self, columns: Columns) -> str:
        if columns.is_row_level:
            return "a row counts in its group, if that is listed"
        most = "1 listed group" if self.most == 1 else f"{self.most} listed groups"
        return f"a user counts in at most {most}, {_CHOSEN[self.rule]}"

    def accuracy_guarantees(self, plan: Plan[GroupedTopK, UserUnit]) -> Mapping[str, AccuracyGuarantee]:
        """What theorems promise of all groups at once: their failures add up, and each has an equal share."""
        one, alpha = self.single_group_plan(plan), plan.query.alpha
        each, surely = confidence_text(one.query.alpha), confidence_text(to_fraction(alpha))
        number = len(self.groups)
        share = f"each fails with probability at most {float(alpha)} / {number}"
        at_once = f"at least {surely}" + (f", in all {number} groups at once ({share})" if number > 1 else "")
        found = self.task.accuracy_guarantees(one)
        said = {name: told.words.replace(f"at least {each}", at_once, 1) for name, told in found.items()}
        own = f"; counts are of one group, and {self._describe_contribution(plan.query.unit.columns)}"
        return {
            name: AccuracyGuarantee(said[name] + (own if told.within is not None else ""), told.within, float(alpha))
            for name, told in found.items()
        }


def _group_count_text(groups: int) -> str:
    return "1 group" if groups == 1 else f"{groups} groups"
