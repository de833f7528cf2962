"""The k best of listed candidates in each of several groups of users, at one price.

Proof: proofs/planning/groups.tex
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ...combinators.partition_by import dearest, make_partition_by
from ...core.measurement import Measurement
from ...errors import checks
from ...numerics.arithmetic import exact
from ...spaces.domains import GroupedFrameDomain
from ...spaces.metrics import UserDistance
from ...transformations.keep_items import make_keep_groups
from .plan import Plan, Promise, Query, least_scale, sure
from .release_record import parameters_of
from .top_k import TopK
from .units import Columns, Users

_CHOSEN = {
    "random": "drawn at random",
    "order": "first in alphabetical order",
    "rows": "with the most rows",
    None: "first in the list",
}


@dataclass(frozen=True)
class InGroups:
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
        checks.count("the number of groups", len(self.groups))
        checks.count("groups_per_person", self.most)

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
    def ways(self) -> tuple[InGroups, ...]:
        """The task by each mechanism that is open, the same in all groups."""
        return tuple(replace(self, task=one) for one in self.task.ways)

    # proof-region: in_groups
    def built(self, query: Query[InGroups, Users], scale: float, items: Any = None) -> Measurement:
        """From a table to the lists of all groups, of indices or of ``items``, with this scale in each."""
        domain, metric = query.unit.columns.tables, UserDistance(query.unit.neighbors)
        assert isinstance(domain, GroupedFrameDomain)
        members = dict.fromkeys(self.groups, self.member(query, scale, items))  # [members]
        measure = query.budget.measure
        measurement = make_partition_by(domain, metric, measure, measurements=members, max_groups=self.most)
        if self.rule is None:
            return measurement
        kept = make_keep_groups(domain, metric, most=self.most, by=self.rule, groups=self.groups)  # [kept]
        chained: Measurement = kept >> measurement
        return chained

    def member(self, query: Query[InGroups, Users], scale: float, items: Any = None) -> Measurement:
        """The measurement of one group."""
        unit, size = self._inner(query).unit, self.task.n_candidates
        scores = unit.nameless(size) if items is None else unit.scores(items)
        return self.task.built(scores, query.budget.measure, scale, items)  # [member]

    def least(self, query: Query[InGroups, Users], known: dict[Any, float] | None = None) -> Measurement:
        """The measurement with the least scale; ``known`` as in :func:`least_scale`.

        Raises:
            SearchError: No scale meets the budget, or every one does.
            ParameterError: The mechanism does not take the measure.
        """
        measure, metric = query.budget.measure, UserDistance(query.unit.neighbors)

        def make(scale: float) -> Measurement:
            member = self.member(query, scale)
            often = Counter({member: len(self.groups)})
            return replace(member, privacy_map=dearest(measure, metric, often, self.most))  # [whole-price]

        found = least_scale(make, query.unit.d_in, query.budget.d_out, query.releases, known)
        return self.built(query, found.parameters["scale"])  # [least]

    def one(self, plan: Plan[InGroups, Users]) -> Plan[TopK, Users]:
        """The plan of one group, whose theorems fail with an equal share of the probability."""
        query = plan.query
        share = exact(query.alpha) / len(self.groups)  # [share]
        member = self.member(query, parameters_of(plan.measurement)["scale"])
        return Plan(replace(self._inner(query), alpha=share), member)

    def _inner(self, query: Query[InGroups, Users]) -> Query[Any, Users]:
        """The query of one group: a user who is replaced may leave it while another one enters a second group."""
        unit, task = replace(query.unit, neighbors="add_remove"), self.task  # [within]
        return replace(query, task=task, unit=unit)  # type: ignore[arg-type]

    def accuracy(self, plan: Plan[InGroups, Users]) -> float | None:
        """The bound of the accuracy theorem in all groups at once; None where it takes too long to compute."""
        return self.one(plan).accuracy  # [all-at-once]

    # end-proof-region: in_groups

    def near(self, plan: Plan[InGroups, Users]) -> float:
        """By how much anything that is released may be off in any group."""
        return self.task.near(self.one(plan))

    def needs_no_noise(self, query: Query[InGroups, Users]) -> bool:
        """Whether the release is the same for all neighbours."""
        return self.task.needs_no_noise(self._inner(query))

    def on(self, plan: Plan[InGroups, Users], items: Any) -> Measurement:
        """From a table to the items that are released."""
        return self.built(plan.query, parameters_of(plan.measurement)["scale"], items)

    def because(self, plan: Plan[InGroups, Users]) -> str:
        """Nothing, as for one list."""
        return ""

    def question(self, columns: Columns) -> str:
        """What is asked."""
        return f"{self.task.question(columns).removesuffix('?')}, in each of {_number(len(self.groups))}?"

    def words(self, plan: Plan[InGroups, Users]) -> str:
        """The mechanism in words."""
        return (
            f"{self.task.words(self.one(plan))}; so in each group with noise of its own, whether anybody is in it or "
            f"not; {self._counting(plan.query.unit.columns)}"
        )

    def _counting(self, columns: Columns) -> str:
        if columns.of_rows:
            return "a row counts in its group, if that is listed"
        most = "1 listed group" if self.most == 1 else f"{self.most} listed groups"
        return f"a user counts in at most {most}, {_CHOSEN[self.rule]}"

    def promises(self, plan: Plan[InGroups, Users]) -> Mapping[str, Promise]:
        """What theorems promise of all groups at once: their failures add up, and each has an equal share."""
        one, alpha = self.one(plan), plan.query.alpha
        each, surely = sure(one.query.alpha), sure(exact(alpha))
        number = len(self.groups)
        share = f"each fails with probability at most {float(alpha)} / {number}"
        at_once = f"at least {surely}" + (f", in all {number} groups at once ({share})" if number > 1 else "")
        found = self.task.promises(one)
        said = {name: told.words.replace(f"at least {each}", at_once, 1) for name, told in found.items()}
        own = f"; counts are of one group, and {self._counting(plan.query.unit.columns)}"
        return {
            name: Promise(said[name] + (own if told.within is not None else ""), told.within, float(alpha))
            for name, told in found.items()
        }


def _number(groups: int) -> str:
    return "1 group" if groups == 1 else f"{groups} groups"
