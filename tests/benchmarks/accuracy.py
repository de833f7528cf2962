"""``python -m tests.benchmarks.accuracy``: write docs/accuracy.md, how much of the true top k plans find.

Each cell is a table, a question, k and epsilon. Simulated releases of the plan are compared with those of the other
mechanisms for the same question, and with those of OpenDP and diffprivlib.
"""

import argparse
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import opendp_topk as tk
from opendp_topk.apps.planning.question import PrivacyBudget
from opendp_topk.apps.planning.question_top_k import TopK
from opendp_topk.apps.planning.question_unknown_domain import UnknownDomainTopK
from opendp_topk.apps.planning.units import ScoreUnit
from opendp_topk.errors import ParameterError

from . import accuracy_text
from .others import FOREIGN, Ask, diffprivlib
from .real_tables import Counts, RealTable, count_vectors, packaged_tables

PAGE = Path(__file__).resolve().parents[2] / "docs" / "accuracy.md"
WINNERS, EPSILONS, CAP, DELTA = (1, 10, 100), (0.1, 1.0, 3.0), 20, 1e-6
RELEASES = {1: 500, 10: 200, 100: 60}  # fewer if k is large, since a share of k winners varies less
DRAWS, PEER = 10, 20  # truncations of a table; releases of OpenDP, which take half a second each if k is 100
_FEW, _MANY = 2500, 50_000  # OpenDP releases from at most _FEW candidates; lists of more than _MANY are left out
_PEELED = 50_000  # k times the candidates from which on peeled permute-and-flip is left out
_NAMES = ("report_noisy_top_k", "report_noisy_top_k_gumbel", "report_noisy_top_k_laplace", "histogram_laplace")
_SEVERAL = ("joint", "canonical", "canonical_exponential", "peeled_permute_and_flip")  # like one-shot noise for k = 1
_PURE = tk.Approximate(tk.MaxDivergence())
Release = Callable[[Counts, int], Iterable[Sequence[int]]]


class Cell(NamedTuple):
    """A question about a table: a ``ranking`` or a ``set`` of listed items, or ``unlisted``."""

    table: str
    question: str
    cap: int | None
    k: int
    epsilon: float


@dataclass(frozen=True)
class Score:
    """Means over releases: the share of the k best that is found, its standard error, missing mass, exact releases."""

    found: float
    error: float
    missing: float
    exact: float


@dataclass(frozen=True)
class Row:
    """The scores of all mechanisms for a cell, the name of the one that the plan recommends, and other libraries'.

    ``informed`` is the name of the mechanism that it recommends for a set if the k-th largest count is expected.
    """

    cell: Cell
    scores: Mapping[str, Score]
    chosen: str
    others: Mapping[str, Score] = field(default_factory=dict)
    informed: str | None = None

    @property
    def compared(self) -> Iterator[tuple[str, Score]]:
        """The scores of this library's mechanisms and of the others'."""
        return itertools.chain(self.scores.items(), self.others.items())

    @property
    def choice(self) -> Score:
        """The score of the plan."""
        return self.scores[self.chosen]

    @property
    def best(self) -> str:
        """The mechanism that finds most, in hindsight; of equal ones the choice."""
        return max(self.scores, key=lambda name: (self.scores[name].found, name == self.chosen))

    @property
    def loses(self) -> bool:
        """Whether the plan finds less than the best by more than .02 and by more than two standard errors."""
        return self.is_worse(self.chosen)

    def is_worse(self, name: str) -> bool:
        """Whether this mechanism finds less than the best, as ``loses`` defines it for the plan."""
        return is_below(self.scores[name], self.scores[self.best], 0.02)


def is_below(one: Score, other: Score, by: float = 0.0) -> bool:
    """Whether ``one`` finds less than ``other`` by more than ``by`` and by more than two standard errors."""
    return other.found - one.found > max(by, 2 * float(np.hypot(one.error, other.error)))


def score_releases(counts: Counts, k: int, drawn: Sequence[Iterable[Sequence[int]]]) -> Score:
    """The score of releases, each of at most k items; ``drawn`` has those of each truncation of the table.

    Of items with the k-th largest count, as many are right as there are places for them.
    """
    best = np.sort(counts)[::-1][:k]
    places = np.sum(best == best[-1])

    def scored(winners: Sequence[int]) -> tuple[float, float]:
        won = counts[np.asarray(winners, dtype=np.int64)]
        right = np.sum(won > best[-1]) + min(np.sum(won == best[-1]), places)
        return right / k, 1 - won.sum() / best.sum()

    found: NDArray[np.float64] = np.array([[scored(winners) for winners in releases] for releases in drawn])
    shares = found[:, :, 0]
    each = shares.mean(axis=1) if len(shares) > 1 else shares[0]
    error = float(each.std(ddof=1) / np.sqrt(len(each)))
    return Score(float(shares.mean()), error, float(found[:, :, 1].mean()), float((shares == 1).mean()))


def plan_listed(cell: Cell, size: int, **options: Any) -> Any:
    """The plan of the command for ``size`` candidates."""
    budget = PrivacyBudget(epsilon=cell.epsilon)
    asked = TopK(k=cell.k, candidates=size, max_items=cell.cap, release=cell.question, budget=budget, **options)
    return asked.plan().plan


def listed_releases(cell: Cell, size: int) -> tuple[dict[str, Release], str]:
    """The mechanisms that can answer about ``size`` listed candidates, and the name of the plan's."""

    def release(plan: Any) -> Release:
        space = tk.VectorDomain(tk.AtomDomain(int), size=size), tk.L01InfDistance(changes=1, monotonic=True)
        selection = plan.query.task.build_measurement(ScoreUnit(space, 1), plan.query.budget.measure, plan.scale)

        def draw(counts: Counts, times: int) -> Iterable[Sequence[int]]:
            drawn = tk.make_repeat(selection, times=times)(counts)
            return [np.atleast_1d(getattr(one, "indices", one)) for one in drawn]

        return draw

    chosen, found = plan_listed(cell, size), {}
    for name in dict.fromkeys((chosen.name, *_NAMES, *(_SEVERAL if cell.k > 1 else ()))):
        if name == "peeled_permute_and_flip" and cell.k * size > _PEELED:
            continue
        try:
            found[name] = release(plan_listed(cell, size, mechanism=name))
        except ParameterError:
            continue  # it cannot make this release
    return found, chosen.name


def unlisted_releases(cell: Cell) -> tuple[dict[str, Release], str]:
    """The mechanisms that can answer without a list, and the name of the plan's."""
    space = tk.KeyedCountsDomain(), tk.KeyedCountDistance(cell.cap)

    def planned(limit: int | None = None) -> Mapping[str, Any]:
        budget = PrivacyBudget(epsilon=cell.epsilon, delta=DELTA)
        found: Any = UnknownDomainTopK(k=cell.k, max_items=cell.cap, limit=limit, budget=budget).plan()
        parameters: Mapping[str, Any] = found.plan.measurement.parameters
        return parameters

    def limited(limit: int) -> Any:
        known = planned(limit)
        options = {name: known[name] for name in ("k", "scale", "limit", "threshold")}
        return space >> tk.then_unknown_domain_top_k(tk.PrivacyProfile(), **options)

    def histogram(gaussian: bool) -> Any:
        return space >> tk.then_stable_histogram(_PURE, epsilon=cell.epsilon, delta=DELTA, gaussian=gaussian)

    k = cell.k
    built = {f"{many} k limit" if many > 1 else "k limit": limited(many * k) for many in (1, 10, 30, 100)}
    scale = k / cell.epsilon * (1 + 1e-12)
    built["exponential noise"] = space >> tk.then_unknown_domain_top_k(
        _PURE, k=k, scale=scale, limit=30 * k, delta=DELTA, noise=tk.noise.Exponential()
    )
    chosen = planned()
    if cell.cap is not None:
        built |= {"histogram_laplace": histogram(False), "histogram_gaussian": histogram(True)}
    usual = "30 k limit"
    if chosen["mechanism"] == "stable_histogram":
        usual = f"histogram_{'gaussian' if chosen['gaussian'] else 'laplace'}"

    def release(measurement: Any) -> Release:
        def draw(counts: Counts, times: int) -> Iterable[Sequence[int]]:
            named = {item: count for item, count in enumerate(counts.tolist()) if count}
            return [one.items[:k] for one in tk.make_repeat(measurement, times=times)(named)]

        return draw

    return {name: release(one) for name, one in built.items()}, usual


def opendp_release(cell: Cell) -> Release | None:
    """OpenDP's release: noisy top-k of listed items, or the largest noisy counts above a threshold."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    k, cap = cell.k, cell.cap
    if cell.question == "ranking":
        space = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int, monotonic=True)
        top: Any = space >> dp.m.then_noisy_top_k(dp.max_divergence(), k=k, scale=k / cell.epsilon)
        return lambda counts, times: [top(counts.tolist()) for _ in range(times)]
    if cap is None:
        return None
    keyed = dp.map_domain(dp.atom_domain(T=int), dp.atom_domain(T=int)), dp.l01inf_distance(dp.absolute_distance(T=int))

    def build(threshold: int) -> Any:
        return keyed >> dp.m.then_laplace_threshold(scale=cap / cell.epsilon, threshold=threshold)

    low, high = 1, 10**6
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if build(middle).map((cap, cap, 1))[1] <= DELTA else (middle, high)
    chosen = build(high)

    def draw(counts: Counts, times: int) -> Iterator[Sequence[int]]:
        named = {item: count for item, count in enumerate(counts.tolist()) if count}
        for _ in range(times):
            noisy = chosen(named)
            yield sorted(noisy, key=lambda item: -noisy[item])[:k]

    return draw


def diffprivlib_releases(cell: Cell, ask: Ask | None) -> Iterator[tuple[str, Release]]:
    """diffprivlib's selections of one listed item; adding a user never lowers a count."""
    if ask is not None and cell.question == "ranking" and cell.k == 1:
        for mechanism in ("Exponential", "PermuteAndFlip"):

            def draw(counts: Counts, times: int, mechanism: str = mechanism) -> Iterable[Sequence[int]]:
                options = {"epsilon": cell.epsilon, "utility": counts.tolist(), "monotonic": True}
                return [[winner] for winner in ask(mechanism, options, times)[0]]

            yield f"diffprivlib {mechanism}", draw


def measure_cell(table: RealTable, cell: Cell, releases: int, peer: bool, ask: Ask | None = None) -> Row:
    """The scores of all mechanisms for a cell."""
    generator = np.random.default_rng(list(cell.table.encode()))
    tables = [table.counts] if cell.cap is None else [table.truncated(cell.cap, generator) for _ in range(DRAWS)]

    def scored(release: Release, times: int) -> Score:
        each = max(2, times // len(tables))
        return score_releases(table.counts, cell.k, [list(release(counts, each)) for counts in tables])

    ways, chosen = unlisted_releases(cell) if cell.question == "unlisted" else listed_releases(cell, len(table.counts))
    is_set = cell.question == "set"
    theirs = opendp_release(cell) if peer and not is_set else None
    others = {} if theirs is None else {"OpenDP": scored(theirs, min(releases, PEER * max(1, 100 // cell.k)))}
    if peer:
        others |= {name: scored(draw, releases) for name, draw in diffprivlib_releases(cell, ask)}
    kth = int(np.sort(table.counts)[-cell.k])
    return Row(
        cell,
        {name: scored(way, releases) for name, way in ways.items()},
        chosen,
        others,
        plan_listed(cell, len(table.counts), expect=kth).name if is_set else None,
    )


def cells(table: RealTable) -> Iterator[Cell]:
    """The cells of a table: with a cap only if its users are known."""
    for cap in (None, *(() if table.pairs is None else (CAP,))):
        for question in ("ranking", "set", "unlisted"):
            for k in WINNERS:
                listed = question != "unlisted"
                if (question == "set" and k == 1) or k >= len(table.counts) or (listed and len(table.counts) > _MANY):
                    continue
                for epsilon in EPSILONS:
                    yield Cell(table.name, question, cap, k, epsilon)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure all cells and write the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.accuracy", description=main.__doc__)
    parser.add_argument("vectors", type=Path, nargs="?", help="folder of count vectors, which are left out by default")
    parser.add_argument("--foreign", type=Path, default=FOREIGN, help="a Python that has diffprivlib")
    options = parser.parse_args(arguments)
    start, rows = time.process_time(), []
    tables = [*count_vectors(options.vectors), *packaged_tables()]
    with diffprivlib(options.foreign) as ask:
        for table in tables:
            for cell in cells(table):
                row = measure_cell(table, cell, RELEASES[cell.k], len(table.counts) <= _FEW, ask)
                rows.append(row)
                print(*cell, row.chosen, *(f"{name} {score.found:.3f}" for name, score in row.compared), flush=True)
    minutes = (time.process_time() - start) / 60
    PAGE.write_text(accuracy_text.markdown(rows, tables, minutes), encoding="utf-8")


if __name__ == "__main__":
    main()
