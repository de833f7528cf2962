"""Score vectors, scales and digits on which a careless race goes wrong."""

import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np

from ..oracles import noise as oracle
from ..oracles.race import exact_advantages

TINY = 5e-324


@dataclass
class Case:
    """One input of the race: scores, the scale, and the leading digits of some candidates' uniforms."""

    scores: list[Any]
    scale: Fraction
    leading: dict[int, str] = field(default_factory=dict)


def rng_of(*seed: Any) -> random.Random:
    return random.Random(zlib.crc32(repr(seed).encode()))


def canonical(scores: list[Any]) -> np.ndarray:
    """The array that a vector domain would give: float64, int64, uint64, or Python integers."""
    if isinstance(scores[0], float):
        return np.array(scores, dtype=np.float64)
    for dtype in (np.int64, np.uint64):
        if np.iinfo(dtype).min <= min(scores) and max(scores) <= np.iinfo(dtype).max:
            return np.array(scores, dtype=dtype)
    array = np.empty(len(scores), dtype=object)
    array[:] = scores
    return array


def _size(rng: random.Random) -> int:
    return rng.choice((1, 2, 2, 3, 4, 5, 6, 8, 12))


def small_integers(rng: random.Random) -> Case:
    scores = [rng.randrange(-5, 6) for _ in range(_size(rng))]
    return Case(scores, Fraction(rng.choice((1, 2, Fraction(1, 3), Fraction(0.1), 7))))


def floats(rng: random.Random) -> Case:
    return Case([rng.gauss(0, 3) for _ in range(_size(rng))], Fraction(rng.choice((1.0, 0.1, 1 / 3, 1e-3, 40.0))))


def all_equal(rng: random.Random) -> Case:
    score = rng.choice((0, 7, -(2**63), 2**63 - 1, 2**64 - 1, 10**40, 1.5, -1e308, TINY))
    return Case([score] * _size(rng), Fraction(rng.choice((1, 1e300, TINY, Fraction(1, 3)))))


def beyond_doubles(rng: random.Random) -> Case:
    """2^53 + 1 against 2^53 + 2 and the like: equal once they are cast to float64."""
    base = rng.choice((2**53, 2**60, 2**62, -(2**62)))
    return Case([base + rng.randrange(-2, 4) for _ in range(_size(rng))], Fraction(rng.choice((1, 2, Fraction(1, 7)))))


def int64_extremes(rng: random.Random) -> Case:
    ends = (-(2**63), -(2**63) + 1, -1, 0, 1, 2**63 - 2, 2**63 - 1)
    scale = rng.choice((1, 2.0**62, 2.0**64, 1e300, Fraction(2**63, 3)))
    return Case([rng.choice(ends) for _ in range(_size(rng))], Fraction(scale))


def uint64_extremes(rng: random.Random) -> Case:
    ends = (0, 1, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1)
    scores = [2**64 - 1, *(rng.choice(ends) for _ in range(_size(rng)))]
    return Case(scores, Fraction(rng.choice((1, 2.0**63, 2.0**64, Fraction(1, 3)))))


def huge_integers(rng: random.Random) -> Case:
    base = rng.choice((10**40, -(10**400), 2**5000))
    step = rng.choice((1, 3, 10**30, 10**390))
    scale = Fraction(rng.choice((1, step, 10**400, Fraction(1, 10**400), Fraction(step, 3))))
    return Case([base + step * rng.randrange(-3, 4) for _ in range(_size(rng))], scale)


def widest_floats(rng: random.Random) -> Case:
    """Scores of both signs near the largest float64: their difference overflows, and so may the quotient."""
    scores = [rng.choice((1e308, -1e308, 1.7976931348623157e308, -1.7976931348623157e308, 0.9e308, 0.0)) for _ in "123"]
    return Case(scores, Fraction(rng.choice((1e-308, 1e308, 1e300, 1.7e308, 1, 10**309))))


def subnormals(rng: random.Random) -> Case:
    scores = [TINY * rng.randrange(-4, 5) for _ in range(_size(rng))]
    scale = rng.choice((TINY, 3 * TINY, Fraction(TINY) / 3, 2.0**-1022, 1, Fraction(2) ** -1100))
    return Case(scores, Fraction(scale))


def rational_scales(rng: random.Random) -> Case:
    scale = rng.choice((Fraction(1, 3), Fraction(10**400), Fraction(1, 10**400), Fraction(1e300), Fraction(TINY)))
    pick: Callable[[], Any] = rng.choice((lambda: rng.randrange(-9, 10), lambda: rng.choice((0.0, 1e-300, 1.0, 1e300))))
    return Case([pick() for _ in range(_size(rng))], scale)


def far_clusters(rng: random.Random) -> Case:
    """Two clusters whose distance is lost beside the noise, or the noise beside the distance."""
    far = rng.choice((10**6, 10**15, 2**62))
    scores = [rng.choice((0, far)) + rng.randrange(3) for _ in range(_size(rng) + 2)]
    return Case(scores, Fraction(rng.choice((1, Fraction(1, 3), 10**6))))


def ladder(rng: random.Random) -> Case:
    """Geometric scores: near each rung, all others are far."""
    base = rng.choice((2, 10, 1000))
    scores = [float(base) ** n for n in range(-10, 11)]
    rng.shuffle(scores)
    return Case(scores[: rng.randrange(2, 22)], Fraction(rng.choice((1, 1e-9, 1e9))))


def duplicates_at_the_edge(rng: random.Random) -> Case:
    """Equal scores with equal leading digits, in the middle of the ranking."""
    scores = [9, 9, 5, 5, 5, 5, 1, 1]
    digits = "".join(rng.choice("01") for _ in range(rng.choice((16, 63, 64, 70, 81, 90, 150, 210, 400))))
    return Case(scores, Fraction(1), dict.fromkeys(range(2, 6), digits))


def first_digits_alike(rng: random.Random) -> Case:
    """Uniforms that begin with long runs of zeros or ones, where the quantile is infinite at the end."""
    digits = rng.choice("01") * rng.choice((16, 17, 64, 80, 81, 145, 300))
    scores = [rng.choice((0, 0, 1)) for _ in range(_size(rng) + 1)]
    return Case(scores, Fraction(1), dict.fromkeys(range(rng.randrange(1, len(scores) + 1)), digits))


def late_winners(rng: random.Random) -> Case:
    """Low scores whose uniforms have so many leading ones that the first digits hardly bound the noise."""
    scores = [rng.uniform(0, 30) for _ in range(rng.randrange(3, 10))]
    chosen = rng.sample(range(len(scores)), 2)
    return Case(scores, Fraction(1), {i: "1" * rng.randrange(14, 90) for i in chosen})


EXTREMES = beyond_doubles, int64_extremes, uint64_extremes, huge_integers, widest_floats, subnormals
SHAPES = rational_scales, far_clusters, ladder, duplicates_at_the_edge, first_digits_alike, late_winners
CASES = small_integers, floats, all_equal, *EXTREMES, *SHAPES


def near_tie(name: str, rng: random.Random, sign: int, bits: int) -> Case:
    """Unequal scores whose noisy sums agree to about ``bits`` binary digits."""
    base = rng.choice((0, 2**53, -(2**61)))
    scores: list[Any] = [base + rng.randrange(3) for _ in range(rng.randrange(2, 6))]
    if base == 0 and rng.random() < 0.5:
        scores = [score / 7 for score in scores]
    scale = Fraction(rng.choice((1, 2, Fraction(1, 3), Fraction(0.7))))
    advantages = exact_advantages(scores, scale, sign)
    leading = {}
    with mpmath.workprec(bits + 200):
        low = max(advantages)
        while len(leading) < len(scores):
            u = Fraction(rng.randrange(1, 2**200), 2**200)
            target = oracle.number(low) + oracle.QUANTILE[name](u)
            uniforms = [oracle.CDF[name](target - oracle.number(advantage)) for advantage in advantages]
            if all(mpmath.mpf(2) ** -12 < v < 1 - mpmath.mpf(2) ** -12 for v in uniforms):
                leading = {i: format(int(mpmath.ldexp(v, bits)), f"0{bits}b") for i, v in enumerate(uniforms)}
    return Case(scores, scale, leading)
