"""Laws, quantiles and formulas from their definitions, in exact rationals and mpmath: what the checks compare with."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import mpmath

_LEAST_EXPECTED = 10
ODDS = 1e-7
"""Below these odds a deviation counts as a fault. The bits are fixed, so a check that passes always passes."""


class CheckError(Exception):
    """Something is not as it should be."""


def expect(holds: Any, what: str) -> None:
    """Raise :class:`CheckError` unless ``holds``."""
    if not holds:
        raise CheckError(what)


def number(value: Fraction | int) -> Any:
    """A rational as an mpmath number of the working precision."""
    value = Fraction(value)
    return mpmath.mpf(value.numerator) / value.denominator


QUANTILES: Mapping[str, Callable[[Fraction], Any]] = {
    "Gumbel": lambda u: -mpmath.log(-mpmath.log1p(number(u - 1))) if 2 * u > 1 else -mpmath.log(-mpmath.log(number(u))),
    "Exponential": lambda u: -mpmath.log(number(1 - u)),
    "HalfLogistic": lambda u: mpmath.log(number((1 + u) / (1 - u))),
    "Laplace": lambda u: mpmath.log(number(2 * u)) if 2 * u < 1 else -mpmath.log(number(2 - 2 * u)),
    "Logistic": lambda u: mpmath.log(number(u / (1 - u))),
}
"""F^{-1} at rationals strictly between 0 and 1."""


def is_rounded_up(found: float, exact: Fraction) -> bool:
    """Whether ``found`` is the least float64 that is not below ``exact``."""
    return found >= exact and math.nextafter(found, -math.inf) < exact


def widest(r: Fraction) -> Fraction:
    """r + 2 ln(2 - e^(-r/2)), within 10^-60 of it."""
    with mpmath.workdps(80):
        value = number(r) + 2 * mpmath.log1p(-mpmath.expm1(-number(r) / 2))
        return Fraction(int(mpmath.nint(value * mpmath.mpf(10) ** 60)), 10**60)


def softmax(utilities: Mapping[Any, Any]) -> dict[Any, float]:
    """Probabilities proportional to the exponentials of ``utilities``."""
    top = max(utilities.values())
    weights = {one: math.exp(float(value - top)) for one, value in utilities.items()}
    total = math.fsum(weights.values())
    return {one: weight / total for one, weight in weights.items()}


def peeled(choice: Callable[[dict[int, float]], dict[Any, float]], scores: Sequence[float], k: int) -> Any:
    """The law of k choices without replacement, each by the law ``choice`` of one."""
    law: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(k):
        longer: dict[tuple[int, ...], float] = {}
        for chosen, mass in law.items():
            left = {i: score for i, score in enumerate(scores) if i not in chosen}
            longer |= {(*chosen, i): mass * p for i, p in choice(left).items()}
        law = longer
    return law


def permute_and_flip(scores: dict[int, float]) -> dict[Any, float]:
    """The law of visiting candidates in random order and taking i with probability e^(x_i - max x)."""
    top = max(scores.values())
    coins = {i: math.exp(score - top) for i, score in scores.items()}
    law: dict[Any, float] = dict.fromkeys(scores, 0.0)
    for order in itertools.permutations(scores):
        left = 1.0
        for i in order:
            law[i] += left * coins[i] / math.factorial(len(scores))
            left *= 1 - coins[i]
    return law


def unordered(law: Mapping[Any, float]) -> dict[Any, float]:
    """The law of the set of a ranking, as an ascending tuple."""
    merged: dict[Any, float] = {}
    for outcome, mass in law.items():
        subset = tuple(sorted(outcome))
        merged[subset] = merged.get(subset, 0.0) + mass
    return merged


def deviation(counts: Mapping[Any, int], law: Mapping[Any, float]) -> float:
    """Pearson's odds of a deviation at least as large; rare outcomes are pooled, impossible ones have odds 0."""
    n = sum(counts.values())
    if any(law.get(outcome, 0) <= 0 for outcome in counts):
        return 0.0
    cells: list[tuple[float, float]] = []
    rest = [0.0, 0.0]
    for outcome, p in law.items():
        pair = n * float(p), float(counts.get(outcome, 0))
        if pair[0] >= _LEAST_EXPECTED:
            cells.append(pair)
        else:
            rest = [rest[0] + pair[0], rest[1] + pair[1]]
    if rest[0] >= 1:
        cells.append((rest[0], rest[1]))
    statistic = math.fsum((observed - expected) ** 2 / expected for expected, observed in cells)
    return float(mpmath.gammainc((len(cells) - 1) / 2, statistic / 2, mpmath.inf, regularized=True))


def expect_law(what: str, counts: Mapping[Any, int], law: Mapping[Any, float]) -> None:
    """Raise unless ``counts`` follow ``law``."""
    expect(abs(math.fsum(map(float, law.values())) - 1) < 1e-9, f"{what}: the law does not sum to 1")
    odds = deviation(counts, law)
    expect(odds > ODDS, f"{what}: releases deviate from the law (odds {odds:.1g})")
