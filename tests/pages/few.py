"""The largest losses met where a person changes one or two of many scores, by sums that share no code with the library.

The one or two scores that move are alike, and so are all others. So a ranking is told by the places of those that move,
and a set by how many of them are in it. Continuous noise of those that move is in cells, which reveals no more.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import opendp_topk as tk

Pair = tuple[Any, Any]
EPSILON = 0.5  # of a curve one delta is compared
K = {1: 100, 2: 20}
"""How many winners where one score moves, and where two do."""
MEASURES = (tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence(), tk.PrivacyProfile())
_REACH = 20  # of noise in cells; of whole numbers as many more
_ORDERS = (1.001, 1.2, 2.0, 5.0)
_TOLD = 1e-9  # the sums are right to 1e-13: of outcomes less likely than this no loss is told
_STARTS = np.arange(-2.0, 3)  # scores of those that move; all others have the score 0


@dataclass(frozen=True, eq=False)
class Cells:
    """Noise of scale 1 in cells: its masses where the score is ``s``, and the odds that another score is above one."""

    masses: Callable[[float], Any]
    above: Any


@functools.cache
def continuous(name: str) -> Cells:
    """Laplace, logistic or Gumbel noise, of which the others' is not in cells."""
    step = 1 / 4
    centres = np.arange(-_REACH, _REACH + step, step)

    def below(z: Any) -> Any:
        if name == "Gumbel":
            return np.exp(-np.exp(-z))
        small = np.exp(-np.abs(z)) / 2 if name == "Laplace" else 1 / (1 + np.exp(np.abs(z)))
        return np.where(z < 0, small, 1 - small)

    def above(z: Any) -> Any:
        return -np.expm1(-np.exp(-z)) if name == "Gumbel" else below(-z)

    def masses(s: float) -> Any:
        low, high = centres - s - step / 2, centres - s + step / 2
        return np.where(low + high < 0, below(high) - below(low), above(low) - above(high))

    return Cells(masses, above(centres))


@functools.cache
def whole(name: str) -> Cells:
    """Discrete Laplace or Gaussian noise; of equal numbers that of the others is the lesser."""
    z = np.arange(-2 * _REACH, 2 * _REACH + 1)

    def masses(s: float) -> Any:
        weights = np.exp(-np.abs(z - s)) if name == "Laplace" else np.exp(-((z - s) ** 2) / 2)
        return weights / weights.sum()

    return Cells(masses, np.append(np.cumsum(masses(0)[::-1])[-2::-1], 0.0))


def one_place(cells: Cells, n: int, k: int, s: float) -> Any:
    """How many of n > k others are above the one that moves, as far as its place is among k: the rest is one."""
    return _place(cells, n, k) @ cells.masses(s)


def _place(cells: Cells, n: int, k: int) -> Any:
    u, places = cells.above, np.arange(k)[:, None]
    ways = np.array([[float(math.comb(n, i))] for i in range(k)])
    found = ways * u**places * (1 - u) ** (n - places)
    return np.vstack([found, (1 - found.sum(axis=0)).clip(0)])


def two_places(cells: Cells, n: int, k: int, s: float) -> tuple[Any, Any, float]:
    """Of two that move, the law of the places of the better and of the other one: both among k, one, and none."""
    p, u, places = cells.masses(s), cells.above, np.arange(k)[:, None]
    apart = np.tril(u[None] - u[:, None], -1)  # rows: the better one; columns: the other one
    power, ties = np.tril(np.ones_like(apart), -1), np.eye(len(u)) / 2
    first, worse = p * u**places, power @ p + p / 2
    both = np.zeros((k, k))
    for d in range(k - 1):
        better = np.arange(k - 1 - d)
        ways = np.array([float(math.comb(n, i) * math.comb(n - i, d)) for i in better])
        inner = first[better] @ (power + ties if d == 0 else power)
        both[better, better + d] = 2 * ways * (inner * p * (1 - u) ** (n - better[:, None] - d)).sum(axis=1)
        power = power * apart
    one = 2 * (_place(cells, n, k)[:k] * worse) @ p - both.sum(axis=1)
    return both[np.triu_indices(k)], one.clip(0), max(0.0, float(1 - both.sum() - one.sum()))


@functools.cache
def rankings(cells: Cells, changes: int, ordered: bool) -> tuple[Pair, ...]:
    """The laws of neighbours' rankings, or sets, told as above."""
    k = K[changes]
    return tuple(
        (_told(cells, changes, n, s, ordered), _told(cells, changes, n, s + 1, ordered))
        for n, s in itertools.product((k + 2, 2 * k, 4 * k), _STARTS)
    )


def _told(cells: Cells, changes: int, n: int, s: float, ordered: bool) -> Any:
    if changes == 1:
        law = one_place(cells, n, K[1], s)
        return law if ordered else np.array([law[:-1].sum(), law[-1]])
    both, one, none = _two(cells, n, K[2], s)
    return np.array([*both, *one, none] if ordered else [both.sum(), one.sum(), none])


_two = functools.cache(two_places)


def with_counts(name: str, changes: int) -> Iterator[Pair]:
    """Laws of neighbours' largest noisy counts, of one or two that move and are told where they are winners."""
    cells, k = whole(name), K[changes]
    for s in range(0, 9, 4):
        laws = []
        for score in (s, s + 1):
            told = 1 - _place(cells, 2 * k, k)[-1]
            one = np.append(told * cells.masses(score), 1 - told @ cells.masses(score))
            laws.append(one)
        yield _times(laws[0], changes), _times(laws[1], changes)


def _times(law: Any, times: int) -> Any:
    return law if times == 1 else np.outer(law, law).ravel()


def selected(name: str, changes: int, ordered: bool) -> Iterator[Pair]:
    """Two winners with Gumbel noise, and counts of them with noise of scale 1 (Laplace) or 2 (Gaussian)."""
    z = np.arange(-12, 13)
    laplace = np.exp(-np.abs(z - np.array([[0], [1]])))
    gaussian = np.exp(-((z - np.array([[0], [1]])) ** 2) / 8)
    counts = laplace if name == "Laplace" else gaussian
    counts = counts / counts.sum(axis=1, keepdims=True)
    for n, s in itertools.product((2, 100, 10**5), np.arange(-3.0, 13, 3)):
        laws = []
        for score, count in zip((s, s + 1), counts, strict=True):
            weights, alike = np.array([math.exp(score), 1.0]), np.array([changes, n])
            chances: dict[tuple[int, ...], float] = {}
            for y in itertools.product((0, 1), repeat=2):
                left, p = alike.astype(float), 1.0
                for i in y:
                    p, left[i] = p * left[i] * weights[i] / (left @ weights), left[i] - 1
                key = y if ordered else tuple(sorted(y))
                chances[key] = chances.get(key, 0.0) + p
            told = [p * functools.reduce(np.multiply.outer, [count] * y.count(0), 1.0) for y, p in chances.items()]
            laws.append(np.concatenate([np.ravel(one) for one in told]))
        yield laws[0], laws[1]


def loss(measure: tk.Measure, pair: Pair) -> float:
    """The largest loss, the width of losses, D_alpha / alpha at some orders, or the delta, both ways."""
    p, q = pair
    if measure == tk.PrivacyProfile():
        return float(max(np.maximum(a - math.exp(EPSILON) * b, 0).sum() for a, b in ((p, q), (q, p))))
    kept = np.minimum(p, q) > _TOLD
    log = np.log(q[kept] / p[kept])
    if measure == tk.MaxDivergence():
        return float(np.abs(log).max())
    if measure == tk.RangeDivergence():
        return float(log.max() - log.min())
    moments = [
        math.log(a @ np.exp(sign * order * log)) / (order - 1) / order
        for order in _ORDERS
        for a, sign in ((p[kept], 1), (q[kept], -1))
    ]
    return max(moments)


@dataclass(frozen=True)
class Case:
    """A measurement whose release is told by fewer outcomes, and their laws before and after."""

    constructor: str
    arguments: str
    made: tk.Measurement
    pairs: Callable[[], Iterable[Pair]]

    @property
    def claimed(self) -> float:
        """What the map claims at d_in = 1; of a curve the delta."""
        found = self.made.map(1)
        return float(found.delta(EPSILON) if self.measure == tk.PrivacyProfile() else found)

    @property
    def measure(self) -> tk.Measure:
        """That of the claim."""
        return self.made.output_measure

    @property
    def start(self) -> str:
        """The columns that no search decides."""
        named = f"delta at {EPSILON}" if self.measure == tk.PrivacyProfile() else type(self.measure).__name__
        return f"| {self.constructor} | {self.arguments} | {named} | {self.claimed:.6g} |"

    def largest(self) -> float:
        """The largest loss of all pairs."""
        return max(loss(self.measure, pair) for pair in self.pairs())


def cases() -> Iterator[Case]:
    """What selects, under every measure for which it has a map."""
    for changes, measure in itertools.product(K, MEASURES):
        metric = tk.L01InfDistance(changes=changes, monotonic=True)
        space = tk.VectorDomain(tk.AtomDomain(int)), metric, measure
        gumbel = (tk.noise.Gumbel(),) if measure == tk.PrivacyProfile() else ()
        for noise in (tk.noise.Laplace(), tk.noise.Logistic(), *gumbel):
            cells, told = continuous(noise.name), f"changes={changes}, k={K[changes]}, noise={noise.name}()"
            options = {"k": K[changes], "scale": 1, "noise": noise}
            for release in ("ranking", "set"):
                made = tk.make_report_noisy_top_k(*space, release=release, **options)
                laws = functools.partial(rankings, cells, changes, release == "ranking")
                yield Case("make_report_noisy_top_k", f"{told}, release={release}", made, laws)
            made = tk.make_noisy_top_k_with_gaps(*space, **options)
            yield Case("make_noisy_top_k_with_gaps", told, made, functools.partial(rankings, cells, changes, True))
        no_gaussian = measure in (tk.MaxDivergence(), tk.RangeDivergence())
        for name in ("Laplace",) if no_gaussian else ("Laplace", "Gaussian"):
            made = tk.make_noisy_histogram(*space, scale=1, gaussian=name == "Gaussian")
            told = f"changes={changes}, {name} noise, the {K[changes]} largest"
            ranked = functools.partial(rankings, whole(name), changes, True)
            yield Case("make_noisy_histogram", f"{told} in order", made, ranked)
            counted = functools.partial(with_counts, name, changes)
            yield Case("make_noisy_histogram", f"{told} with counts", made >> tk.largest_counts(K[changes]), counted)
        if measure != tk.RangeDivergence():
            for release in ("ranking", "set"):
                made = tk.make_select_then_count(*space, k=2, scale=1, release=release)
                name = "Laplace" if measure == tk.MaxDivergence() else "Gaussian"
                laws = functools.partial(selected, name, changes, release == "ranking")
                yield Case("make_select_then_count", f"changes={changes}, k=2, release={release}", made, laws)


HEADER = """
## People with few items

The largest loss found if a person raises one or two of many scores (`L01InfDistance(changes=..., monotonic=True)` with
d_in = 1, scale 1). The scores that change are equal, and so are the others, up to 400. Output distributions are sums
over cells of noise that share no code with the library. For gaps, only the ranking is compared. With Gumbel noise the
curve alone is smaller than under `LInfDistance(monotonic=True)`, from three winners for each score that changes on;
with exponential and half-logistic noise, and for canonical and joint selection, nothing is.
"""
