"""How many keys come out where users have many: this library's selections beside those of papers, written from them.

``python -m tests.benchmarks.bench_weighted`` draws a table of 100,000 users by Zipf's law and counts, in the mean of
some releases, the keys at (1, 1e-8) and (3, 1e-5). The selections of papers are in float64 and prove nothing: they say
how many keys the ideas give, each at the best of a few bounds on the items of a user.
"""

import math
import time
from collections.abc import Callable, Iterator
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

import opendp_topk as tk

USERS, MEAN, KEYS, POWER = 100_000, 14, 10**6, 1.3
BUDGETS = ((1.0, 1e-8), (3.0, 1e-5))
TURNS = 3
CAPS = (20, 50)  # items of a user: more raise thresholds, fewer leave weight unused
NORMAL = NormalDist()
Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


def drawn() -> Pairs:
    """The distinct pairs of users and keys: of each user a geometric number of draws."""
    draw = np.random.default_rng(0)
    sizes = draw.geometric(1 / MEAN, USERS)
    odds = np.cumsum(np.arange(1, KEYS + 1, dtype=np.float64) ** -POWER)
    keys = np.searchsorted(odds / odds[-1], draw.random(sizes.sum()))
    pairs = np.unique(np.repeat(np.arange(USERS), sizes) * KEYS + keys)
    return pairs // KEYS, pairs % KEYS


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


def weighted(pairs: Pairs, scale: float, draw: Any) -> NDArray[np.float64]:
    users, keys = pairs
    sums = np.bincount(keys, 1 / np.sqrt(np.bincount(users, minlength=USERS)[users]), minlength=KEYS)
    return np.where(sums > 0, sums + scale * draw.normal(size=KEYS), -np.inf)


def one_round(pairs: Pairs, epsilon: float, delta: float, cap: int, draw: Any) -> int:
    """Weighted Gaussian, Gopi et al. (2020)."""
    scale = 1 / distance(epsilon, delta / 2)
    return int((weighted(capped(pairs, cap, draw), scale, draw) >= threshold(scale, delta / 2, cap)).sum())


def sips(pairs: Pairs, epsilon: float, delta: float, cap: int, draw: Any) -> int:
    """DP-SIPS, Swanberg et al. (2023): three rounds, each with thrice the rho, without keys that were found."""
    shares = [1 / 13, 3 / 13, 9 / 13]
    users, keys = pairs
    found = np.zeros(KEYS, dtype=bool)
    for share in shares:
        scale = 1 / (distance(epsilon, delta / 2) * math.sqrt(share))
        left = ~found[keys]
        rest = capped((users[left], keys[left]), cap, draw)
        found |= weighted(rest, scale, draw) >= threshold(scale, delta / 2 * share, cap)
    return int(found.sum())


def policy(pairs: Pairs, epsilon: float, delta: float, cap: int, draw: Any) -> int:
    """Policy Gaussian, Gopi et al. (2020): user by user, weights grow towards a cutoff along the gaps that are left."""
    scale = 1 / distance(epsilon, delta / 2)
    least = threshold(scale, delta / 2, cap)
    cutoff = least + 4 * scale
    users, keys = capped(pairs, cap, draw)
    sums = np.zeros(KEYS)
    starts = np.searchsorted(users, np.arange(USERS + 1))
    for user in draw.permutation(USERS):
        own = keys[starts[user] : starts[user + 1]]
        gaps = np.maximum(cutoff - sums[own], 0)
        length = math.sqrt(float(gaps @ gaps))
        if length:
            sums[own] += gaps * min(1, 1 / length)
    noisy = sums + scale * draw.normal(size=KEYS)
    return int(((sums > 0) & (noisy >= least)).sum())


def library(rounds: int | None) -> Callable[..., int]:
    """The library's own: ``rounds`` of weights, or for None the largest probabilities of counts."""
    space, measure = (tk.FrameDomain("user", "item"), tk.UserDistance()), tk.Approximate(tk.MaxDivergence())

    def count(pairs: Pairs, epsilon: float, delta: float, cap: int, draw: Any) -> int:
        import polars as pl

        users, keys = capped(pairs, cap, draw)
        table = pl.DataFrame({"user": users, "item": keys})
        if rounds is None:
            chain = space >> tk.then_count_by_item(candidates=None, max_items=cap)
            return len((chain >> tk.then_partition_selection(measure, epsilon=epsilon, delta=delta))(table))
        options = {"max_items": cap, "epsilon": epsilon, "delta": delta, "rounds": rounds}
        return len((space >> tk.then_weighted_partition_selection(measure, **options))(table))

    return count


SELECTIONS: dict[str, tuple[Callable[..., int], tuple[int, ...]]] = {
    "`make_partition_selection`": (library(None), (2, 3, 4, 5)),
    "`make_weighted_partition_selection(rounds=1)`": (library(1), CAPS),
    "`make_weighted_partition_selection()`": (library(2), CAPS),
    "weighted Gaussian, from the paper": (one_round, CAPS),
    "DP-SIPS, from the paper": (sips, CAPS),
    "policy Gaussian, from the paper": (policy, CAPS),
}


def lines() -> Iterator[str]:
    """The table in Markdown."""
    pairs, draw = drawn(), np.random.default_rng()
    yield f"| keys of {USERS:,} users | {' | '.join(map(str, BUDGETS))} | processor time |\n|---|--:|--:|--:|"
    for name, (select, caps) in SELECTIONS.items():
        began, best = time.process_time(), []
        for epsilon, delta in BUDGETS:
            means = [sum(select(pairs, epsilon, delta, cap, draw) for _ in range(TURNS)) / TURNS for cap in caps]
            best.append(f"{max(means):.0f}")
        spent = (time.process_time() - began) / (TURNS * len(caps) * len(BUDGETS))
        yield f"| {name} | {' | '.join(best)} | {spent:.1f} s |"


if __name__ == "__main__":
    for line in lines():
        print(line, flush=True)
