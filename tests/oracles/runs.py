"""Laws of numbers of runs and of the best run, from textbook formulas and by sums over all numbers of runs."""

import math
from collections.abc import Callable, Mapping
from typing import Any

TAIL = 1e-13  # of the law of a number that is left out


def negative_binomial(shape: float, gamma: float) -> Callable[[int], float]:
    """P(N = n) by gamma functions; for shape 0 the logarithmic law."""

    def mass(n: int) -> float:
        if n < 1:
            return 0.0
        if shape == 0:
            return (1 - gamma) ** n / (n * math.log(1 / gamma))
        rising = 1.0  # shape (shape + 1) ... (shape + n - 1) / n!
        for i in range(n):
            rising *= (shape + i) / (i + 1)
        return rising * (1 - gamma) ** n / (gamma**-shape - 1)

    return mass


def poisson(mean: float) -> Callable[[int], float]:
    return lambda n: math.exp(n * math.log(mean) - mean - math.lgamma(n + 1))


def numbers(mass: Callable[[int], float]) -> list[float]:
    """P(N = 0), P(N = 1), ..., as far as they matter."""
    found: list[float] = []
    while 1 - math.fsum(found) > TAIL:
        found.append(mass(len(found)))
    return found


def best(law: Mapping[Any, float], often: list[float]) -> dict[Any, float]:
    """The law of the first best of N runs with outcomes (score, candidate); None where there is none."""
    found: dict[Any, float] = {None: often[0]}
    for outcome, mass in law.items():
        under = math.fsum(other for (score, _), other in law.items() if score < outcome[0])
        equal = math.fsum(other for (score, _), other in law.items() if score == outcome[0])
        # The first best is the i-th of n: all before it lie below it, and none after it above it.
        found[outcome] = math.fsum(
            chance * mass * math.fsum(under**i * (under + equal) ** (n - 1 - i) for i in range(n))
            for n, chance in enumerate(often)
            if n
        )
    return found


def first(law: Mapping[Any, float], gamma: float, threshold: float) -> dict[Any, float]:
    """The law of the first run that reaches, where after each other run one gives up with probability gamma."""
    found = dict.fromkeys([None, *(outcome for outcome in law if outcome[0] >= threshold)], 0.0)
    alive = 1.0
    while alive > TAIL:
        missed = 1.0
        for outcome, mass in law.items():
            if outcome[0] >= threshold:
                found[outcome] += alive * mass
                missed -= mass
        found[None] += alive * missed * gamma
        alive *= missed * (1 - gamma)
    return found


def largest_loss(one: Mapping[Any, float], other: Mapping[Any, float]) -> float:
    return max(abs(math.log(one[outcome] / other[outcome])) for outcome in one if one[outcome] or other[outcome])


def hockey_stick(one: Mapping[Any, float], other: Mapping[Any, float], epsilon: float) -> float:
    """The least delta at epsilon, in both directions."""
    ways = ((one, other), (other, one))
    return max(math.fsum(max(p[y] - math.exp(epsilon) * q[y], 0) for y in p) for p, q in ways)
