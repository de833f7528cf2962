"""Items that are released if users have many: partition selections of this library and of papers, on real tables.

``python -m tests.benchmarks.bench_weighted [FOLDER]`` writes the mean number of released items by table, bound on the
items of a user and budget. The algorithms of papers are in float64 and prove nothing. FOLDER may contain retail.dat of
FIMI and u.data of MovieLens 100k.
"""

import itertools
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

import opendp_topk as tk

from .real_tables import RealTable, packaged_tables, pair_files

BUDGETS = ((1.0, 1e-6), (3.0, math.exp(-10)))
CAPS = (5, 20, 100, 500)  # items of a user
TURNS, TOP = 10, 10
MARGIN = 4  # of policy Gaussian: scales of noise from the threshold to the cutoff
NORMAL = NormalDist()
Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]
Found = NDArray[np.int64]


def distance(epsilon: float, delta: float) -> float:
    """How far normal laws of variance 1 may be apart."""
    low, high = 0.0, 20.0
    for _ in range(60):
        mu = (low + high) / 2
        found = NORMAL.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * NORMAL.cdf(-mu / 2 - epsilon / mu)
        low, high = (low, mu) if found > delta else (mu, high)
    return low


def threshold(scale: float, delta: float, cap: int) -> float:
    """Gopi et al. (2020), Theorem 5.1."""
    quantiles = ((t, NORMAL.inv_cdf(-math.expm1(math.log1p(-delta) / t))) for t in range(1, cap + 1))
    return max(1 / math.sqrt(t) - scale * quantile for t, quantile in quantiles)


def capped(pairs: Pairs, cap: int, draw: Any) -> Pairs:
    """A random choice of each user's keys."""
    users, keys = pairs
    order = np.lexsort((draw.random(len(users)), users))
    users, keys = users[order], keys[order]
    first = np.searchsorted(users, users)
    kept = np.arange(len(users)) - first < cap
    return users[kept], keys[kept]


def noisy_sums(pairs: Pairs, scale: float, draw: Any) -> NDArray[np.float64]:
    """Sums of weights with noise by key; those without users are never released."""
    users, keys = pairs
    sums = np.bincount(keys, 1 / np.sqrt(np.bincount(users)[users]))
    return np.where(sums > 0, sums + scale * draw.normal(size=len(sums)), -np.inf)


def sips(pairs: Pairs, epsilon: float, delta: float, cap: int, draw: Any) -> Found:
    """DP-SIPS, Swanberg et al. (2023): three rounds, each with thrice the rho, without keys that were found."""
    (users, keys), found = pairs, np.array([], dtype=np.int64)
    for share in (1 / 13, 3 / 13, 9 / 13):
        scale = 1 / (distance(epsilon, delta / 2) * math.sqrt(share))
        left = ~np.isin(keys, found)
        sums = noisy_sums(capped((users[left], keys[left]), cap, draw), scale, draw)
        found = np.union1d(found, np.flatnonzero(sums >= threshold(scale, delta / 2 * share, cap)))
    return found


def policy(pairs: Pairs, epsilon: float, delta: float, cap: int, draw: Any) -> Found:
    """Policy Gaussian, Gopi et al. (2020): user by user, weights grow towards a cutoff along the gaps that are left."""
    scale = 1 / distance(epsilon, delta / 2)
    least = threshold(scale, delta / 2, cap)
    users, keys = capped(pairs, cap, draw)
    sums = np.zeros(keys.max() + 1)
    own_keys = np.split(keys, np.cumsum(np.bincount(users))[:-1])
    for user in draw.permutation(len(own_keys)):
        own = own_keys[user]
        gaps = np.maximum(least + MARGIN * scale - sums[own], 0)
        sums[own] += gaps / max(1, math.sqrt(gaps @ gaps))
    return np.flatnonzero((sums > 0) & (sums + scale * draw.normal(size=len(sums)) >= least))


def library(rounds: int | None) -> Callable[..., Found]:
    """The library's own: ``rounds`` of weights, or for None the largest probabilities of counts."""
    space, measure = (tk.FrameDomain("user", "item"), tk.UserDistance()), tk.Approximate(tk.MaxDivergence())

    def release(pairs: Pairs, epsilon: float, delta: float, cap: int, draw: Any) -> Found:
        import polars as pl

        budget: dict[str, Any] = {"epsilon": epsilon, "delta": delta}
        if rounds is None:
            counts = space >> tk.then_count_by_item(candidates=None, max_items=cap)
            chain = counts >> tk.then_partition_selection(measure, **budget)
        else:
            chain = space >> tk.then_weighted_partition_selection(measure, max_items=cap, rounds=rounds, **budget)
        return np.array(chain(pl.DataFrame(capped(pairs, cap, draw), ("user", "item"))), dtype=np.int64)

    return release


SELECTIONS: dict[str, Callable[..., Found]] = {
    "independent": library(None),
    "one round": library(1),
    "three rounds": library(3),
    "DP-SIPS": sips,
    "policy Gaussian": policy,
}


def cell(select: Callable[..., Found], table: RealTable, cap: int, draw: Any) -> str:
    """Mean numbers of released items at the budgets, with a star if more than 2 % of the most popular are missing."""
    popular, texts = np.argsort(-table.counts)[:TOP], []
    for budget in BUDGETS:
        found = [select(table.pairs, *budget, cap, draw) for _ in range(TURNS)]
        complete = np.mean([np.isin(popular, items) for items in found]) >= 0.98
        texts.append(f"{np.mean([*map(len, found)]):,.0f}{'' if complete else '*'}")
    return " / ".join(texts)


def lines(tables: Iterable[RealTable]) -> Iterator[str]:
    """The table in Markdown."""
    yield f"| table | cap | {' | '.join(SELECTIONS)} |\n|---|--:|{'--:|' * len(SELECTIONS)}"
    draw = np.random.default_rng()
    for table, cap in itertools.product(tables, CAPS):
        cells = [cell(select, table, cap, draw) for select in SELECTIONS.values()]
        yield f"| {table.name} | {cap} | {' | '.join(cells)} |"


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    for line in lines([*packaged_tables(), *pair_files(folder)]):
        print(line, flush=True)
