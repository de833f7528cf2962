"""Rankings of noisy scores with gaps: exact gaps from digits, the joint density, and the law of gaps in bins.

For a ranking y with gaps g_1, ..., g_k let h_t = g_t + ... + g_k. Winner t lies h_t above the best loser, whose
noisy score has the distribution function H = product of F(m - s_j) over the losers, so the density is the integral
of prod_t f(m + h_t - s_{y_t}) dH(m). Integrals are Gauss-Legendre sums in float64 between the kinks.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray

from .race import Digits, best, enclosures, exact_advantages

Floats = NDArray[np.float64]
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(14)
_TAIL = np.array([0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 10, 12, 15, 18, 22, 26, 30, 35, 40])
_INNER = np.array([0, 0.02, 0.05, 0.1, 0.18, 0.3, 0.5, 0.7, 0.82, 0.9, 0.95, 0.98])
"""Every integrand falls at least like exp(-distance) beyond its kinks, and below exp(-40) it is left out."""


def ranking_and_gaps(
    name: str, scores: Sequence[Any], scale: Fraction, digits: Digits, k: int, sign: int
) -> tuple[list[int], list[Callable[[float], bool]]]:
    """The ranking, and for each gap a judge of whether a float is the real gap rounded to nearest.

    At 80 decimal digits, and more where these leave the answer open.
    """
    order = best(name, scores, scale, digits, k + 1, sign)
    advantages = exact_advantages(scores, scale, sign)

    def judge(a: int, b: int) -> Callable[[float], bool]:
        def is_nearest(found: float) -> bool:
            below, above = _boundaries(found)
            bits = 320
            while True:
                ends = enclosures(name, [advantages[i] for i in (a, b)], lambda i, n: digits((a, b)[i], n), bits)
                least = scale * (_fraction(ends[0][0]) - _fraction(ends[1][1]))
                most = scale * (_fraction(ends[0][1]) - _fraction(ends[1][0]))
                if below < least and most < above:
                    return True
                if most < below or above < least:
                    return False
                bits *= 2

        return is_nearest

    return order[:k], [judge(a, b) for a, b in itertools.pairwise(order)]


def _boundaries(value: float) -> tuple[Any, Any]:
    """Between which numbers everything rounds to ``value`` >= 0: the midpoints to its neighbours."""
    largest = Fraction(float(np.finfo(np.float64).max))
    end = largest + (largest - Fraction(math.nextafter(float(largest), 0))) / 2
    if value == np.inf:
        return end, math.inf
    here, above = Fraction(value), math.nextafter(value, math.inf)
    below = math.nextafter(value, -math.inf)
    return (here + Fraction(below)) / 2, end if above == np.inf else (here + Fraction(above)) / 2


def _fraction(x: Any) -> Fraction:
    sign, mantissa, exponent, _ = x._mpf_
    assert mantissa or x == 0
    return Fraction(-int(mantissa) if sign else int(mantissa)) * Fraction(2) ** int(exponent)


def _half_line(function: Callable[[Floats], Floats]) -> Callable[[Floats], Floats]:
    return lambda z: np.where(z >= 0, function(np.maximum(z, 0)), 0.0)


def _tanh_half(z: Floats) -> Floats:
    return np.tanh(z / 2)


DENSITY: dict[str, Callable[[Floats], Floats]] = {
    "Gumbel": lambda z: np.exp(-z - np.exp(np.minimum(-z, 700))),
    "Exponential": _half_line(lambda z: np.exp(-z)),
    "HalfLogistic": _half_line(lambda z: 2 * np.exp(-z) / (1 + np.exp(-z)) ** 2),
    "Laplace": lambda z: np.exp(-np.abs(z)) / 2,
    "Logistic": lambda z: np.exp(-np.abs(z)) / (1 + np.exp(-np.abs(z))) ** 2,
}
BELOW: dict[str, Callable[[Floats], Floats]] = {
    "Gumbel": lambda z: np.exp(-np.exp(np.minimum(-z, 700))),
    "Exponential": _half_line(lambda z: -np.expm1(-z)),
    "HalfLogistic": _half_line(_tanh_half),
    "Laplace": lambda z: np.where(z < 0, np.exp(np.minimum(z, 0)) / 2, 1 - np.exp(-np.maximum(z, 0)) / 2),
    "Logistic": lambda z: np.exp(np.minimum(z, 0)) / (1 + np.exp(-np.abs(z))),
}
ABOVE: dict[str, Callable[[Floats], Floats]] = {
    "Gumbel": lambda z: -np.expm1(-np.exp(np.minimum(-z, 700))),
    "Exponential": lambda z: np.exp(-np.maximum(z, 0)),
    "HalfLogistic": lambda z: 2 / (1 + np.exp(np.maximum(z, 0))),
    "Laplace": lambda z: np.where(z > 0, np.exp(-np.maximum(z, 0)) / 2, 1 - np.exp(np.minimum(z, 0)) / 2),
    "Logistic": lambda z: np.exp(-np.maximum(z, 0)) / (1 + np.exp(-np.abs(z))),
}
"""f, F and 1 - F of the five noises in float64."""


def _edges(kinks: Floats) -> Floats:
    """Ends of panels (last axis) around and between kinks (last axis)."""
    kinks = np.sort(kinks, axis=-1)
    inner = kinks[..., :-1, None] + np.diff(kinks, axis=-1)[..., None] * _INNER
    inner = inner.reshape(*kinks.shape[:-1], -1)
    return np.concatenate([kinks[..., :1] - _TAIL[::-1], inner, kinks[..., -1:], kinks[..., -1:] + _TAIL], axis=-1)


def _points(edges: Floats) -> tuple[Floats, Floats]:
    """Nodes and weights on all panels, in the two last axes."""
    half = np.diff(edges, axis=-1)[..., None] / 2
    return edges[..., :-1, None] + half * (1 + _NODES), half * _WEIGHTS


def densities(name: str, scores: Sequence[float], rankings: Any, gaps: Any) -> Floats:
    """The joint density at each of N rankings with gaps, both of shape (N, k); about ten correct digits."""
    s, y = np.asarray(scores, dtype=float), np.asarray(rankings)
    h = np.cumsum(np.asarray(gaps, dtype=float)[:, ::-1], axis=1)[:, ::-1]
    losers = np.array([[j for j in range(len(s)) if j not in row] for row in y.tolist()])
    m, weights = _points(_edges(np.concatenate([np.broadcast_to(s, (len(y), len(s))), s[y] - h], axis=1)))
    winners = np.prod([DENSITY[name](m + (h[:, t] - s[y[:, t]])[:, None, None]) for t in range(y.shape[1])], axis=0)
    offsets = [s[losers[:, j]][:, None, None] for j in range(losers.shape[1])]
    runner_up, highest = np.zeros_like(m), np.ones_like(m)
    for offset in offsets:
        density, below = DENSITY[name](m - offset), BELOW[name](m - offset)
        runner_up, highest = runner_up * below + highest * density, highest * below
    return np.asarray((winners * runner_up * weights).sum(axis=(1, 2)))


def gumbel_density(scores: Sequence[float], ranking: Sequence[int], gaps: Sequence[float]) -> Any:
    """In closed form: k! W prod_t a_t / (W + sum_t a_t)^(k + 1), a_t = w_t exp(-h_t), W the losers' weight."""
    k = len(ranking)
    a = [mpmath.exp(scores[i] - sum(gaps[t:])) for t, i in enumerate(ranking)]
    rest = mpmath.fsum(mpmath.exp(s) for i, s in enumerate(scores) if i not in ranking)
    return math.factorial(k) * rest * mpmath.fprod(a) / (rest + mpmath.fsum(a)) ** (k + 1)


def exponential_density(scores: Sequence[float], ranking: Sequence[int], gaps: Sequence[float]) -> Any:
    """In closed form, with x = exp(-m): prod_t a_t times the integral of x^k d(-prod_j (1 - w_j x)) over [0, C]."""
    k = len(ranking)
    a = [mpmath.exp(scores[i] - sum(gaps[t:])) for t, i in enumerate(ranking)]
    weights = [mpmath.exp(s) for i, s in enumerate(scores) if i not in ranking]
    end = 1 / max([*a, *weights])
    polynomial = [mpmath.mpf(1)]
    for w in weights:
        polynomial = [c - w * b for c, b in zip([*polynomial, 0], [0, *polynomial], strict=True)]
    integral = mpmath.fsum(-n * c * end ** (n + k) / (n + k) for n, c in enumerate(polynomial) if n)
    return mpmath.fprod(a) * integral


def survival(name: str, scores: Sequence[float], ranking: Sequence[int], cuts: Sequence[float]) -> float:
    """The probability of the ranking with every gap t above ``cuts[t]`` >= 0."""
    s = np.asarray(scores, dtype=float)
    first, *rest = ranking
    losers = np.delete(s, list(ranking))
    if not rest:
        value, kinks = _level(name, s, losers, ranking, cuts, 0)
        v, weights = _points(_edges(kinks))
        return float((value(v) * weights).sum())
    value, kinks = _level(name, s, losers, ranking, cuts, 1)
    v, weights = _points(_edges(np.append(kinks, s[first] - cuts[0])))
    return float((value(v) * ABOVE[name](v + cuts[0] - s[first]) * weights).sum())


def _level(
    name: str, s: Floats, losers: Floats, ranking: Sequence[int], cuts: Sequence[float], t: int
) -> tuple[Callable[[Floats], Floats], Floats]:
    """The density of winner t's noisy score with all that follow in order and apart; and its kinks."""
    own, cut = s[ranking[t]], cuts[t]
    if t == len(ranking) - 1:
        kinks = np.append(losers + cut, own)
        return lambda v: DENSITY[name](v - own) * np.prod([BELOW[name](v - cut - j) for j in losers], axis=0), kinks
    inner, inner_kinks = _level(name, s, losers, ranking, cuts, t + 1)
    edges = _edges(inner_kinks)

    def value(v: Floats) -> Floats:
        u, weights = _points(np.minimum(edges, v[..., None] - cut))
        return DENSITY[name](v - own) * (inner(u) * weights).sum(axis=(-2, -1))

    return value, np.append(inner_kinks + cut, own)


def binned(name: str, scores: Sequence[float], k: int, cuts: Sequence[float]) -> dict[tuple[Any, ...], float]:
    """The law of (ranking, the bin of each gap), where bin b of a gap lies between the b-th and the next cut."""
    ends = [0.0, *cuts]
    law: dict[tuple[Any, ...], float] = {}
    for y in itertools.permutations(range(len(scores)), k):
        above = {
            bins: survival(name, scores, y, [ends[b] for b in bins])
            for bins in itertools.product(range(len(ends)), repeat=k)
        }
        for bins in above:
            corners = itertools.product((0, 1), repeat=k)
            law[y, bins] = sum(
                (-1) ** sum(corner) * above.get(tuple(b + c for b, c in zip(bins, corner, strict=True)), 0.0)
                for corner in corners
            )
    return law
