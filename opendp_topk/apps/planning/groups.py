"""Top-k of listed candidates in each of several groups of users, within one budget.

Proof: proofs/planning/groups.tex
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from ...combinators.partition_by import group_privacy_map, make_partition_by
from ...core.measurement import Measurement
from ...errors import checks
from ...numerics.arithmetic import to_fraction
from ...spaces.measures import Measure
from ...spaces.metrics import UserDistance
from ...transformations.bound_contributions import make_keep_groups
from .plan import AccuracyGuarantee, Plan, Query, confidence_text, least_scale
from .top_k import TopKTask
from .units import Columns, UserUnit, count_with_noun

KEPT_GROUPS = {
    "random": "drawn at random",
    "order": "first in alphabetical order",
    "rows": "with the most rows",
    None: "first in the list",
}
"""Groups in which a user counts, in words, by the rule that chooses them."""


@dataclass(frozen=True)
class GroupedTask(TopKTask):
    """Task: the ``k`` best for each of the public ``groups``. Every one of them gets a list, even without users.

    A user counts in at most ``most`` groups. ``rule`` chooses them: a rule of ``make_keep_groups``, or None for the
    first ones in the order of ``groups``. The unit's columns must include a group column.
    """

    groups: Sequence[Any] = ()
    most: int = 1
    rule: str | None = "random"

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.require_positive_int("the number of groups", len(self.groups))
        checks.require_positive_int("groups_per_person", self.most)

    # proof-region: in_groups
    @property
    def task(self) -> TopKTask:
        """The task of one group."""
        return TopKTask(**{one.name: getattr(self, one.name) for one in fields(TopKTask)})  # [one-task]

    def build_measurement(self, unit: Any, measure: Measure, scale: float, items: Any = None) -> Measurement:
        """Return the chain from a table to the lists of all groups, with this scale in each."""
        domain, metric = unit.columns.table_domain, UserDistance(unit.neighbors)
        members = dict.fromkeys(self.groups, self.build_group_measurement(unit, measure, scale, items))  # [members]
        measurement = make_partition_by(domain, metric, measure, measurements=members, max_groups=self.most)
        if self.rule is None:
            return measurement
        kept = make_keep_groups(domain, metric, most=self.most, by=self.rule, groups=self.groups)  # [kept]
        chained: Measurement = kept >> measurement
        return chained

    def build_group_measurement(self, unit: Any, measure: Measure, scale: float, items: Any = None) -> Measurement:
        """Return the measurement of one group, under add/remove: a replacement may move a user to another group."""
        within = replace(unit, neighbors="add_remove")  # [within]
        return self.task.build_measurement(within, measure, scale, items)  # [member]

    def calibrate_measurement(self, query: Query[Any, Any], known: dict[Any, float] | None = None) -> Measurement:
        measure, metric = query.budget.measure, UserDistance(query.unit.neighbors)

        def make(scale: float) -> Measurement:
            member = self.build_group_measurement(query.unit, measure, scale)
            often = Counter({member: len(self.groups)})
            return replace(member, privacy_map=group_privacy_map(measure, metric, often, self.most))  # [whole-price]

        found = least_scale(make, query.unit.d_in, query.budget.d_out, query.releases, known)
        return self.build_measurement(query.unit, measure, found.parameters["scale"])  # [least]

    def single_group_plan(self, plan: Plan[Any, UserUnit]) -> Plan[TopKTask, UserUnit]:
        """Return the plan of one group, whose alpha is an equal share of the plan's."""
        query, unit = plan.query, replace(plan.query.unit, neighbors="add_remove")
        share = to_fraction(query.alpha) / len(self.groups)  # [share]
        member = self.build_group_measurement(unit, query.budget.measure, plan.scale)
        return Plan(replace(query, task=self.task, unit=unit, alpha=share), member)

    def accuracy_bound(self, plan: Plan[Any, Any]) -> float | None:
        """Return the bound of the accuracy theorem for all groups at once; None if it takes too long to compute."""
        return self.single_group_plan(plan).accuracy  # [all-at-once]

    # end-proof-region: in_groups

    def error_bound(self, plan: Plan[Any, Any]) -> float:
        return self.task.error_bound(self.single_group_plan(plan))

    def needs_no_noise(self, query: Query[Any, Any]) -> bool:
        return self.task.needs_no_noise(replace(query, unit=replace(query.unit, neighbors="add_remove")))

    def question_text(self, columns: Columns) -> str:
        groups = count_with_noun(len(self.groups), "group")
        return f"{super().question_text(columns).removesuffix('?')}, in each of {groups}?"

    def describe_mechanism(self, plan: Plan[Any, UserUnit]) -> str:
        return (
            f"{self.task.describe_mechanism(self.single_group_plan(plan))}; separately in each group, with independent "
            f"noise, even if no user is in it; {self._describe_contribution(plan.query.unit.columns)}"
        )

    def _describe_contribution(self, columns: Columns) -> str:
        if columns.is_row_level:
            return "a row counts in its group, if the group is listed"
        return f"a user counts in at most {count_with_noun(self.most, 'listed group')}, {KEPT_GROUPS[self.rule]}"

    def accuracy_guarantees(self, plan: Plan[Any, UserUnit]) -> Mapping[str, AccuracyGuarantee]:
        """Return the accuracy guarantees for all groups at once: a union bound with an equal share of alpha each."""
        one, alpha = self.single_group_plan(plan), plan.query.alpha
        each, surely = confidence_text(one.query.alpha), confidence_text(to_fraction(alpha))
        number = len(self.groups)
        share = f"each fails with probability at most {float(alpha)} / {number}"
        at_once = f"at least {surely}" + (f", in all {number} groups at once ({share})" if number > 1 else "")
        own = f"; counts are within one group, and {self._describe_contribution(plan.query.unit.columns)}"
        found = {}
        for name, told in self.task.accuracy_guarantees(one).items():
            words = told.words.replace(f"at least {each}", at_once, 1) + ("" if told.within_users is None else own)
            found[name] = AccuracyGuarantee(words, told.within_users, float(alpha))
        return found
