"""Exact confidence bounds on a probability: Clopper and Pearson (1934), rounded to the safe side.

Proof: proofs/audit/blackbox.tex
"""

from __future__ import annotations

import functools
import math

import mpmath
import numpy as np

# _STEPS: halving ends sooner, at neighbouring floats. _BLOCK: terms at a time, so that memory stays small.
# _SLACK: what sums of up to MOST_TRIALS terms round in float64; the first term has _DIGITS, which round far less.
# proof-region: confidence
MOST_TRIALS = 2_000_000
_DIGITS = 40
_SLACK = 2e-9
_STEPS = 200
_BLOCK = 4096


@functools.lru_cache(maxsize=4096)
def lower_bound(hits: int, trials: int, alpha: float) -> float:
    """A number that exceeds the probability of a hit with odds of at most ``alpha``, whatever it is."""
    if hits == 0:
        return 0.0  # [no-hit]
    low, high = 0.0, hits / trials
    for _ in range(_STEPS):  # [bisect]
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if _tail(hits, trials, middle) <= alpha:
            low = middle
        else:
            high = middle
    return low  # [safe-end]


def upper_bound(hits: int, trials: int, alpha: float) -> float:
    """A number that falls short of the probability of a hit with odds of at most ``alpha``."""
    return min(1.0, math.nextafter(1.0 - lower_bound(trials - hits, trials, alpha), 2.0))  # [mirror]


def _tail(hits: int, trials: int, p: float) -> float:
    """At least P(X >= hits) for X ~ Binomial(trials, p) with p below hits / trials."""
    with mpmath.workdps(_DIGITS):
        q = mpmath.mpf(p)
        first = mpmath.loggamma(trials + 1) - mpmath.loggamma(hits + 1) - mpmath.loggamma(trials - hits + 1)
        first += hits * mpmath.log(q) + (trials - hits) * mpmath.log1p(-q)
        first = mpmath.exp(first)  # [first-term]
    odds = p / (1 - p)
    total, term, start = 0.0, 1.0, hits
    while start < trials and term > 1e-25:
        j = np.arange(start, min(start + _BLOCK, trials), dtype=np.float64)
        terms = term * np.cumprod((trials - j) / (j + 1) * odds)  # [ratios]
        total += float(terms.sum())
        term, start = float(terms[-1]), start + len(j)
    rest = 0.0
    if start < trials:
        ratio = (trials - start) / (start + 1) * odds
        rest = term * ratio / (1 - ratio)  # [rest]
    return float(first) * (1 + total + rest) * (1 + _SLACK)  # [slack]


# end-proof-region: confidence
