"""Accuracy of a plan on public data: simulated releases, beside the exact probability of the exact answer."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...combinators.composition import make_repeat
from ...errors import ParameterError
from ...sampling.distributions.events import Enclosure
from ...spaces.domains import AtomDomain, VectorDomain
from ...spaces.metrics import L01InfDistance
from .options import given_options, option_error
from .plan import Plan
from .question import ReleasePlan
from .question_top_k import TopK
from .top_k import TopKTask
from .units import ScoreUnit

if TYPE_CHECKING:
    import polars as pl

SIMULATED = 200  # releases: the standard error of a mean of shares is then at most .036
SIMULATED_ON_TABLE = 20
_SHAPE = "zipf:"


@dataclass(frozen=True)
class SimulatedMean:
    """Mean over simulated releases, and its standard error."""

    mean: float
    error: float

    @classmethod
    def from_values(cls, values: NDArray[np.float64]) -> SimulatedMean:
        return cls(float(values.mean()), float(values.std() / np.sqrt(len(values))))

    def number_text(self) -> str:
        """Return the mean and its standard error, both to an integer."""
        return f"{self.mean:.0f} (standard error {self.error:.0f})"

    def percent_text(self) -> str:
        """Return the mean and its standard error as percentages, both to a hundredth."""
        return f"{100 * self.mean:.2f} % (standard error {100 * self.error:.2f})"


@dataclass(frozen=True)
class ShapeAccuracy:
    """Accuracy of the items that a plan releases, if the counts are as given.

    ``found`` is the share of the k largest counts that are released; of equal counts, any are right. ``missing`` is the
    part of their sum by which the sum of the released counts is smaller. ``exact`` is the probability that all k are
    right, in any order: bounds by a formula, or a simulated share if no formula is known.
    """

    found: SimulatedMean
    missing: SimulatedMean
    exact: Enclosure | SimulatedMean


def simulate_accuracy(plan: Plan[Any, Any], counts: NDArray[np.int64], releases: int = SIMULATED) -> ShapeAccuracy:
    """Return the accuracy of a plan of listed candidates on public counts, by simulated releases.

    Args:
        plan: A plan of a :class:`TopKTask`.
        counts: One public or made-up count for each candidate. Never the private counts.
        releases: The number of simulated releases.
    """
    task = plan.query.task
    chosen = TopKTask(task.k, len(counts), task.release, task.mechanism)
    space = VectorDomain(AtomDomain(int), size=len(counts)), L01InfDistance(changes=1, monotonic=True)
    selection = chosen.build_measurement(ScoreUnit(space, 1), plan.query.budget.measure, plan.scale)
    drawn = make_repeat(selection, times=releases)(counts)
    winners = np.array([getattr(one, "indices", one) for one in drawn]).reshape(releases, -1)
    found, missing = score_winners(counts, winners)
    exact = task.exact_top_k_probability(plan, counts)
    return ShapeAccuracy(
        SimulatedMean.from_values(found),
        SimulatedMean.from_values(missing),
        SimulatedMean.from_values((found == 1).astype(np.float64)) if exact is None else exact,
    )


def score_winners(counts: NDArray[Any], winners: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return for each release, a row of ``winners``, the share of the k best that it has, and its missing mass."""
    k, won = winners.shape[1], counts[winners]
    best = np.sort(counts)[::-1][:k]
    right = np.sum(won > best[-1], axis=1) + np.minimum(np.sum(won == best[-1], axis=1), np.sum(best == best[-1]))
    whole = best.sum(dtype=np.float64)
    return right / k, (1 - won.sum(axis=1, dtype=np.float64) / whole if whole else np.zeros(len(won)))


def zipf_counts(shape: str, n_candidates: int) -> NDArray[np.int64] | None:
    """Return the counts of ``zipf:S:N``, proportional to 1 / rank^S with the sum N up to rounding; None for others.

    Raises:
        ParameterError: ``S`` is not a number >= 0, or ``N`` is not an integer from 1 to 10^15.
    """
    if not shape.startswith(_SHAPE):
        return None
    exponent, _, total = shape.removeprefix(_SHAPE).partition(":")
    with suppress(ValueError):
        power, mass = float(exponent), int(total)
        if 0 <= power < np.inf and 1 <= mass <= 10**15:
            shares = np.arange(1, n_candidates + 1, dtype=np.float64) ** -power
            counts: NDArray[np.int64] = np.rint(mass * shares / shares.sum()).astype(np.int64)
            return counts
    raise ParameterError(f"--like {_SHAPE}S:N needs an exponent S >= 0 and the sum N >= 1, such as {_SHAPE}1.1:200000")


@dataclass(frozen=True)
class CoverageReach:
    """Users of a public table whom k items reach together.

    ``users`` have a candidate, and ``greedy`` of them are reached by choices without noise. ``chosen`` and ``popular``
    are means over simulated releases: of the plan, and of the k most popular items as a set within the same budget.
    """

    users: int
    greedy: int
    chosen: SimulatedMean
    popular: SimulatedMean


def simulate_coverage(ready: ReleasePlan, table: pl.LazyFrame, releases: int = SIMULATED_ON_TABLE) -> CoverageReach:
    """Return how many users of a public table a planned :class:`Coverage` reaches, by simulated releases.

    Candidates of which only the number is known are the items of the table, and others that nobody has.

    Args:
        ready: The plan of a :class:`Coverage`.
        table: A public or made-up table with its columns of users and items. Never the private table.
        releases: The number of simulated releases.

    Raises:
        DataError: The table lacks a column, or one has another type.
        ParameterError: The table has more items than there are candidates.
    """
    import polars as pl

    question: Any = ready.question
    query, columns = ready.plan.query, ready.plan.query.unit.columns
    rows = columns.prepare_rows(table)
    schema = columns.table_domain.validate(rows).collect_schema()
    rows = rows.select(columns.user, columns.item).collect().lazy()  # each release reads them again
    kind = int if schema[columns.item].is_integer() else str
    pairs = rows.select(columns.user, pl.col(columns.item).cast(pl.String)).drop_nulls().unique().collect()
    if question.item_list is None:
        held = map(kind, pairs[columns.item].unique().sort())
        question = replace(question, candidates=_add_absent_items(list(held), kind, query.task.n_candidates))

    def select_pairs(items: Iterable[Any]) -> pl.DataFrame:
        names = pl.Series([str(kind(one)) for one in items], dtype=pl.String)
        found: pl.DataFrame = pairs.filter(pl.col(columns.item).is_in(names.implode()))
        return found

    pairs = select_pairs(question.item_list or ())
    release = "set" if query.task.k < query.task.n_candidates else "ranking"  # the set of all needs no noise
    popular = TopK.build({**given_options(question), "release": release})
    no_noise = query.task.build_measurement(query.unit, query.budget.measure, 0.0)

    def release_often(asked: Any, plan: Plan[Any, Any], times: int) -> NDArray[np.float64]:
        drawn = make_repeat(asked.bind(plan, rows, schema).measurement, times=times)(rows)
        return np.array([select_pairs(one)[columns.user].n_unique() for one in drawn], dtype=np.float64)

    return CoverageReach(
        users=pairs[columns.user].n_unique(),
        greedy=int(release_often(question, replace(ready.plan, measurement=no_noise), 1)[0]),
        chosen=SimulatedMean.from_values(release_often(question, ready.plan, releases)),
        popular=SimulatedMean.from_values(release_often(popular, popular.plan().plan, releases)),
    )


def _add_absent_items(items: list[Any], kind: type, n_candidates: int) -> list[Any]:
    """Return the items of a table, followed by others of this type up to the number of candidates."""
    if len(items) > n_candidates:
        raise option_error("--like: the table has more items than --candidates: give the list, or a larger N")
    known = set(items)
    absent = (one for one in map(kind, itertools.count()) if one not in known)
    return [*items, *itertools.islice(absent, n_candidates - len(items))]
