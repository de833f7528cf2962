"""From a privacy curve to a cover: the curve's values at the nodes of a grid, joined by chords.

Proof: proofs/spaces/curves/covers.tex
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

from gmpy2 import mpz

from ...numerics.arithmetic import exp_up, one_minus_exp_up
from .covers import DIGITS, ONE, Cover
from .curve import PrivacyCurve

_LOOKS = 32  # nodes at which all bounds of a curve are asked: between two of them its least bound hardly changes


# proof-region: dots
def dots(curve: PrivacyCurve, h: Fraction, n: int) -> Cover:
    """A cover of what ``curve`` states, at the losses -n h, ..., n h and infinity; n >= 1 and h >= 2^-60."""
    upper = _powers(_ceil(exp_up(-h) * ONE), n, up=True)  # [decay-up]
    lower = _powers(math.floor((1 - one_minus_exp_up(h)) * ONE), n, up=False)  # [decay-down]
    heights = [_ceil(Fraction(delta) * ONE) for delta in _deltas(curve, h, n)]
    right = _convex(heights, float(h), upper, lower)
    left = [ONE - (lower[i] * (ONE - right[i]) >> DIGITS) for i in range(n, 0, -1)]  # [reflect]
    return _steepest([*left, *right], upper[1])


def _deltas(curve: PrivacyCurve, h: Fraction, n: int) -> list[float]:
    """Deltas of ``curve`` at 0, h, ..., n h: at some by all bounds, between two of these by the best at either."""
    alone = [PrivacyCurve(bound) for bound in curve.bounds]
    looks = sorted({n * place // _LOOKS for place in range(_LOOKS + 1)})
    seen = {i: [one.delta(i * h) for one in alone] for i in looks}
    deltas = [min(seen[0])]
    for start, end in itertools.pairwise(looks):
        best = {seen[i].index(min(seen[i])) for i in (start, end)}
        deltas += [min(alone[one].delta(i * h) for one in best) for i in range(start + 1, end)]  # [nodes]
        deltas.append(min(seen[end]))
    return deltas


def _steepest(heights: list[mpz], decay: mpz) -> Cover:
    """The least masses, from the top down, whose chords are nowhere below ``heights`` at the nodes."""
    infinite = heights[-1]  # [beyond]
    above, damped, masses = mpz(0), mpz(0), []
    for height in heights[-2::-1]:
        lacking = ((height - infinite - above) << DIGITS) + decay * damped
        mass = max(mpz(0), -(-lacking // (ONE - decay)))  # [fill]
        masses.append(mass)
        above += mass
        damped = -(-decay * (damped + mass) >> DIGITS)  # [damp]
    masses.append(max(mpz(0), ONE - infinite - above))  # [rest]
    return Cover(-(len(heights) // 2), tuple(reversed(masses)), infinite)


def _convex(heights: list[mpz], h: float, upper: list[mpz], lower: list[mpz]) -> list[mpz]:
    """``heights``, lowered to chords between some of them where these are below."""
    for i in range(1, len(heights)):
        heights[i] = min(heights[i], heights[i - 1])  # [monotone]
    corners = _corners(heights, h)
    for left, right in itertools.pairwise(corners):
        drop = heights[left] - heights[right]
        for i in range(left + 1, right):
            share = -(-((ONE - lower[right - i]) << DIGITS) // (ONE - upper[right - left]))  # [share]
            heights[i] = min(heights[i], heights[right] - (-share * drop >> DIGITS))  # [chord]
    return heights


def _powers(base: mpz, n: int, *, up: bool) -> list[mpz]:
    """The powers 0, ..., n of ``base`` units, each product rounded up or down."""
    powers = [mpz(ONE)]
    for _ in range(n):
        product = powers[-1] * base
        powers.append(-(-product >> DIGITS) if up else product >> DIGITS)  # [directed]
    return powers


def _ceil(value: Fraction) -> mpz:
    return mpz(math.ceil(value))  # [unit-up]


# end-proof-region: dots


def _corners(heights: list[mpz], h: float) -> list[int]:
    """About the corners of the lower convex hull of the points (e^(i h), heights[i]); any ascending list is valid."""
    points = [(math.exp(min(i * h, 700.0)), float(height)) for i, height in enumerate(heights)]
    hull: list[int] = []
    for i, (x, y) in enumerate(points):
        while len(hull) > 1:
            (x0, y0), (x1, y1) = points[hull[-2]], points[hull[-1]]
            if (y1 - y0) * (x - x0) < (y - y0) * (x1 - x0):
                break
            hull.pop()
        hull.append(i)
    return hull
