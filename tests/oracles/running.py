"""The law of the leader of two candidates after each of up to four steps, and of one noisy sum, by convolutions alone.

For the tree, what is told of step t is written out here for each t; y_1, ..., y_4 are the steps with noise, and y_12,
y_34, y_1234 the sums of two and of four with noise of their own.
"""

import functools
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from . import discrete

Masses = dict[int, float]
Stream = Callable[[tuple[int, ...]], int]
_LEFT = 1e-12  # masses below it are dropped


@functools.cache
def difference(name: str, scale: Fraction) -> Masses:
    """The law of the difference of two independent noises, without its far tails."""
    one = {z: float(p) for z, p in discrete.masses(name, scale).items() if p > _LEFT}
    both = added(one, {-z: p for z, p in one.items()})
    return {z: p for z, p in both.items() if p > _LEFT}


def added(*laws: Masses) -> Masses:
    """The law of a sum of independent numbers."""
    total, *others = laws
    for law in others:
        found: Masses = defaultdict(float)
        for a, p in total.items():
            for b, q in law.items():
                found[a + b] += p * q
        total = dict(found)
    return total


def times(factor: int, law: Masses) -> Masses:
    return {factor * z: p for z, p in law.items()}


def moved(by: int, law: Masses) -> Masses:
    return {z + by: p for z, p in law.items()}


def parted(law: Masses) -> tuple[tuple[int, Masses], tuple[int, Masses]]:
    """Who leads, and the part of the law in which that is so: the first one also where both are equal."""
    return (0, {z: p for z, p in law.items() if z >= 0}), (1, {z: p for z, p in law.items() if z < 0})


def leaders(steps: int, stream: Stream, noise: Masses) -> dict[tuple[int, ...], float]:
    """The law of the leaders after each step, of the first candidate or the second.

    ``stream`` says by how much the first one's count of the next step exceeds the second one's, after these leaders.
    """
    result: dict[tuple[int, ...], float] = {}
    empty: tuple[int, ...] = ()
    x_1 = stream(empty)
    for w_1, y_1 in parted(moved(x_1, noise)):
        if steps == 1:
            result[w_1,] = sum(y_1.values())
            continue
        x_2 = stream((w_1,))
        three_b = added(y_1, moved(x_2, noise), times(2, moved(x_1 + x_2, noise)))  # y_1 + y_2 + 2 y_12
        for w_2, b in parted(three_b):
            if steps == 2:
                result[w_1, w_2] = sum(b.values())
                continue
            x_3 = stream((w_1, w_2))
            c: dict[int, Masses] = {0: defaultdict(float), 1: defaultdict(float)}
            for y_3, q in moved(x_3, noise).items():
                for z, p in b.items():
                    c[int(z + 3 * y_3 < 0)][z + y_3] += p * q  # b + y_3 > 0 decides, and z + y_3 is kept
            for w_3, kept in c.items():
                if steps == 3:
                    result[w_1, w_2, w_3] = sum(kept.values())
                    continue
                x_4 = stream((w_1, w_2, w_3))
                rest = added(
                    moved(x_4, noise), times(2, moved(x_3 + x_4, noise)), times(4, moved(x_1 + x_2 + x_3 + x_4, noise))
                )
                for w_4, d in parted(added(dict(kept), rest)):
                    result[w_1, w_2, w_3, w_4] = sum(d.values())
    return result


def known(differences: Sequence[int]) -> Stream:
    """The stream that is known beforehand."""
    return lambda leaders: differences[len(leaders)]


@functools.cache
def last_sum(steps: int, name: str, scale: Fraction) -> dict[Fraction, float]:
    """The law of the noise of the running sum after 1, 2, 3, 4 or 7 steps."""
    one = {z: float(p) for z, p in discrete.masses(name, scale).items() if p > _LEFT}
    two = added(one, one, times(2, one))
    four = added(two, two, times(4, one)) if steps > 3 else {}
    parts: list[tuple[Masses, int]] = {
        1: [(one, 1)],
        2: [(two, 3)],
        3: [(two, 3), (one, 1)],
        4: [(four, 7)],
        7: [(four, 7), (two, 3), (one, 1)],
    }[steps]
    unit = 21 if steps == 7 else parts[0][1]
    total: Any = added(*(times(unit // weight, law) for law, weight in parts))
    return {Fraction(z, unit): p for z, p in total.items()}


_ROOT = {1: (1,), 2: (2, 1), 3: (8, 4, 3)}  # the weights 1, 1/2, 3/8 of the noise of this step and of those before it


def rooted_leaders(steps: int, stream: Stream, scale: Fraction) -> dict[tuple[int, ...], float]:
    """The law of ``leaders`` for Gaussian noise on the multiples of 4^(1 - steps) that all later steps share."""
    weights, unit = _ROOT[steps], 4 ** (steps - 1)
    noise = difference("gaussian", scale * unit)
    values = np.array(sorted(noise))
    masses = np.array([noise[z] for z in values])
    at_least = np.append(np.cumsum(masses[::-1])[::-1], 0.0)
    result: dict[tuple[int, ...], float] = {}

    def follow(leaders: tuple[int, ...], total: int, drawn: list[Any], p: Any) -> None:
        total += stream(leaders)
        past = [weight * z for weight, z in zip(weights[1:], reversed(drawn), strict=False)]
        before = unit * weights[0] * total + sum(past, np.zeros(len(p), dtype=np.int64))
        if len(leaders) + 1 == steps:
            ahead = float(np.sum(p * at_least[np.searchsorted(values, -before / weights[0])]))
            result[(*leaders, 0)], result[(*leaders, 1)] = ahead, float(np.sum(p)) * at_least[0] - ahead
            return
        here = (before[:, None] + weights[0] * values >= 0).ravel()
        both = [np.repeat(z, len(values)) for z in drawn], np.tile(values, len(p)), np.outer(p, masses).ravel()
        for leader, where in ((0, here), (1, ~here)):
            follow((*leaders, leader), total, [*(z[where] for z in both[0]), both[1][where]], both[2][where])

    follow((), 0, [], np.ones(1))
    return result


def rooted_last_sum(steps: int, scale: Fraction) -> dict[Fraction, float]:
    """The law of the noise of the running sum after the last of up to three steps."""
    weights, unit = _ROOT[steps], 4 ** (steps - 1)
    one = {z: float(p) for z, p in discrete.masses("gaussian", scale * unit).items() if p > _LEFT}
    law, farthest = np.ones(1), max(one)
    for weight in weights:
        spread = np.zeros(2 * weight * farthest + 1)
        for z, p in one.items():
            spread[weight * (z + farthest)] = p
        law = np.convolve(law, spread)
    middle = len(law) // 2
    return {Fraction(n - middle, weights[0] * unit): p for n, p in enumerate(law.tolist()) if p}


def root(steps: int) -> Any:
    """The lower triangular matrix whose square adds up all steps so far, with the entry one at the top."""
    column = [math.prod((2 * i - 1) / (2 * i) for i in range(1, k + 1)) for k in range(steps)]
    return np.array([[column[t - u] if u <= t else 0.0 for u in range(steps)] for t in range(steps)])
