"""The largest rho met among very many candidates: blocks of copies of a few scores, by integrals that share no code.

A release is told by the blocks of its winners, of which all members are alike. The copies are up to e^12, scores and
copies are climbed from random ones, and scores of some blocks rise by one.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import opendp_topk as tk

_STEP = 0.02  # of scores and of noise, so that densities jump on nodes, where the middle is taken
_V = np.arange(-600, 2400) * _STEP
_ORDERS = (1.0, 1.2, 2.0, 5.0)
_TRIED, _BLOCKS, _FARTHEST = 240, 4, 12.0
Law = Callable[[Any, Any], Any]


def _from_zero(z: Any, values: Any) -> Any:
    return np.where(z > 1e-9, values, np.where(z > -1e-9, values / 2, 0.0))


NOISES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "Gumbel": (lambda z: np.exp(-z - np.exp(-z.clip(-6))), lambda z: np.exp(-np.exp(-z.clip(-6)))),
    "Exponential": (lambda z: _from_zero(z, np.exp(-z.clip(0))), lambda z: -np.expm1(-z.clip(0))),
    "HalfLogistic": (lambda z: _from_zero(z, 0.5 / np.cosh(z.clip(0) / 2) ** 2), lambda z: np.tanh(z.clip(0) / 2)),
    "Laplace": (lambda z: np.exp(-np.abs(z)) / 2, lambda z: (1 - np.sign(z) * np.expm1(-np.abs(z))) / 2),
    "Logistic": (lambda z: 0.25 / np.cosh(z / 2) ** 2, lambda z: 1 / (1 + np.exp(-z))),
}
"""Density and distribution function of each noise."""


def best(noise: str, k: int, ordered: bool) -> Law:
    """The blocks of the best one or two, best first or as a set."""
    f, F = NOISES[noise]

    def law(scores: Any, copies: Any) -> Any:
        at = [_V - np.round(s / _STEP) * _STEP for s in scores]
        density, below = [f(z) for z in at], [F(z) for z in at]
        found: dict[Any, float] = {}
        for blocks in itertools.product(range(len(scores)), repeat=k):
            left, last = np.array(copies), density[blocks[-1]]
            for b in blocks:
                last, left[b] = last * left[b], left[b] - 1
            if left.min() < 0:
                continue
            if k == 2:
                last = last * (1 - below[blocks[0]])
            key = blocks if ordered else tuple(sorted(blocks))
            rest = np.prod([F_b**n for F_b, n in zip(below, left, strict=True)], axis=0)
            found[key] = found.get(key, 0.0) + float((last * rest).sum()) * _STEP
        return np.array(list(found.values()))

    return law


def flipped_twice(scores: Any, copies: Any) -> Any:
    """Two winners by permute-and-flip, one after the other."""
    choice, found = best("Exponential", 1, True), []
    present = np.flatnonzero(copies)
    for b, p in zip(present, choice(scores[present], copies[present]), strict=True):
        left = copies - np.eye(len(copies))[b]
        some = np.flatnonzero(left > 0)
        found += list(p * choice(scores[some], left[some]))
    return np.array(found)


def canonical(noise: str, capped: bool) -> Law:
    """Sets of two, by the blocks of their members, with gamma = 1/2."""
    choice = best(noise, 1, True)

    def law(scores: Any, copies: Any) -> Any:
        utilities, counts = [], []
        for a, b in itertools.combinations_with_replacement(range(len(scores)), 2):
            n = copies[a] * (copies[a] - 1) / 2 if a == b else copies[a] * copies[b]
            left = copies - np.eye(len(copies))[a] - np.eye(len(copies))[b]
            if n > 0:
                worst, beyond = min(scores[a], scores[b]), max(s for s, m in zip(scores, left, strict=True) if m > 0)
                utilities.append((worst - (max(worst, beyond) if capped else beyond)) / 2)
                counts.append(n)
        return choice(np.array(utilities), np.array(counts))

    return law


def rho(p: Any, q: Any) -> float:
    """D_alpha / alpha at some orders, both ways."""
    log = np.log(q) - np.log(p)
    moments = [
        (sign * (weight @ log) if order == 1 else math.log(base @ np.exp(sign * order * log)) / (order - 1) / order)
        for order in _ORDERS
        for base, weight, sign in ((p, q, 1), (q, p, -1))
    ]
    return float(max(moments))


def largest(law: Law) -> float:
    """The largest rho that a climb meets where some blocks rise by one."""
    with np.errstate(all="ignore"):
        return _climbed(law)


def _climbed(law: Law) -> float:
    draw = np.random.default_rng(3)

    def tried(scores: Any, sizes: Any, rises: Any) -> float:
        copies = np.exp(sizes.clip(0, _FARTHEST)).round()
        p, q = law(scores, copies), law(scores + rises, copies)
        fits = len(p) == len(q) and min(p.min(), q.min()) > 1e-13 and abs(p.sum() - 1) + abs(q.sum() - 1) < 1e-3
        return rho(p / p.sum(), q / q.sum()) if fits else 0.0

    starts = [
        (
            -draw.random(_BLOCKS) * draw.choice([2, 8]),
            draw.uniform(0, _FARTHEST, _BLOCKS) * draw.integers(0, 2, _BLOCKS),  # every other one a single candidate
            draw.integers(0, 2, _BLOCKS),
        )
        for _ in range(_TRIED // 2)
    ]
    value, scores, sizes, rises = max(((tried(*one), *one) for one in starts), key=lambda one: one[0])
    for t in range(_TRIED):
        width = 3 * 0.97**t
        kept = draw.random((2, _BLOCKS)) < 0.5
        steps = width * draw.normal(size=(2, _BLOCKS)) * kept
        near = scores + steps[0], sizes + steps[1] * (sizes > 0), rises
        met = tried(*near)
        if met > value:
            value, (scores, sizes, rises) = met, near
    return value


def cases() -> Iterator[tuple[str, str, tk.Measurement, Law]]:
    """Constructor, arguments, the measurement for any number of candidates, and its law by blocks."""
    space = tk.VectorDomain(tk.AtomDomain(float)), tk.RangeDistance(), tk.ZeroConcentratedDivergence()
    for name, k, release in itertools.product(NOISES, (1, 2), ("ranking", "set")):
        if (k, release) != (1, "set"):
            made = tk.make_report_noisy_top_k(*space, k=k, scale=1, noise=getattr(tk.noise, name)(), release=release)
            law = best(name, k, release == "ranking")
            yield "make_report_noisy_top_k", f"k={k}, noise={name}(), release={release}", made, law
    for name, utility in itertools.product(("Gumbel", "Exponential"), ("margin", "distance")):
        own = {"noise": getattr(tk.noise, name)(), "utility": utility}
        made = tk.make_canonical_top_k(*space, k=2, scale=1, **own)
        law = canonical(name, utility == "distance")
        yield "make_canonical_top_k", f"k=2, noise={name}(), utility={utility}", made, law
    made = tk.make_peeled_top_k(*space, k=2, scale=1, mechanism="permute_and_flip")
    yield "make_peeled_top_k", "k=2, mechanism=permute_and_flip", made, flipped_twice


HEADER = """
## zCDP, with many copies

The largest rho that hill climbing found, if candidates come in blocks of up to e^12 with equal scores, at range
distance 1 and scale 1. It is computed by integrals that share no code with the library. If a ratio is far below 1,
the map is loose or its worst pair has another form.

| constructor | arguments | claimed | largest rho | ratio |
|---|---|---|---|---|
"""


def section() -> str:
    """The section of docs/tightness.md, the loosest first."""
    rows = []
    for constructor, arguments, made, law in cases():
        claimed, met = made.map(1), largest(law)
        rows.append((met / claimed, f"{_start(constructor, arguments, made)} {met:.6g} |"))
    return HEADER + "".join(f"{row} {ratio:.4f} |\n" for ratio, row in sorted(rows))


def has_the_rows(text: str) -> bool:
    """Whether the section lists today's claims, whatever was met."""
    return HEADER in text and all(_start(*case[:3]) in text for case in cases())


def _start(constructor: str, arguments: str, made: tk.Measurement) -> str:
    return f"| {constructor} | {arguments} | {made.map(1):.6g} |"
