"""The epsilon and delta of each of several keys of one user, and the probability that any of several events happens.

Proofs: proofs/measurements/any_of.tex, proofs/measurements/partition_selection.tex
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np

from ..numerics.arithmetic import Intervals, as_mpq, exp_up, one_minus_exp_up, round_up, to_fraction

_PRECISION = 128  # binary digits beyond those that cancel
_HALVINGS = 60  # the bisection ends within delta * 2^-60


# proof-region: any_of
def any_event_probability(chance: Fraction, n: int) -> Fraction:
    """Return an upper bound of 1 - (1 - chance)^n, a rational in [0, 1], for ``chance`` in [0, 1]."""
    if chance == 0 or n == 0:
        return Fraction(0)  # [none]
    if n == 1 or chance == 1:
        return chance  # [one]
    at = Intervals(_PRECISION + chance.denominator.bit_length() + n.bit_length())
    power = at.exp(at.multiply(at.rational(n), at.log1p(at.rational(as_mpq(-chance)))))  # [power]
    numerator, denominator = at.add(at.rational(1), at.negative(power))[1].as_integer_ratio()  # [upper-end]
    return min(Fraction(1), Fraction(int(numerator), int(denominator)))


def per_event_probability(delta: Fraction, n: int) -> Fraction:
    """Return a probability p such that :func:`any_event_probability` of p and n is at most ``delta``.

    If n > 1, p is close to the largest such float64.
    """
    if n == 1:
        return delta  # [whole]
    low, high = Fraction(0), delta
    for _ in range(_HALVINGS):
        middle = to_fraction(round_up((low + high) / 2))
        kept = to_fraction(round_up(any_event_probability(middle, n))) <= delta  # [kept]
        low, high = (middle, high) if kept else (low, middle)
    return low


def laplace_tail_bound(scale: Fraction, least: int) -> Fraction:
    """Return an upper bound of P(Z >= least) for discrete Laplace noise Z of ``scale`` > 0, and ``least`` >= 1."""
    smallest = 1 - one_minus_exp_up(1 / scale)  # [smallest]
    return min(Fraction(1), exp_up(-least / scale) / (1 + smallest))  # [geometric-tail]


# end-proof-region: any_of


_MOST = 1024  # keys of a user; for more the sums take seconds, so epsilon and delta are split evenly
_PARTS = (0.5, 0.75, 0.9, 0.97)  # parts of delta for the deltas of the keys; the best part is near one of them
_GREAT = 2**20  # a larger epsilon guarantees nothing, so an even split is good enough; this one fits a float64
_NARROWED = 60  # bisection steps: more than the 53 digits of a float64
_WITHIN = 1 - 2.0**-30  # a margin far above float64 rounding errors, so the result passes the exact bound


# proof-region: key_shares
@functools.lru_cache(maxsize=64)
def per_partition_budget(loss: Fraction, delta: Fraction, m: int) -> tuple[Fraction, Fraction]:
    """Return the epsilon and the delta of each of m keys that compose to (``loss``, ``delta``).

    Of several such pairs, this is the one with which a key needs the fewest users for a release probability of 1/2.
    """
    even = loss / m, per_event_probability(delta, m)  # [even]
    if m == 1 or m > _MOST or loss > _GREAT or min(loss, even[1]) < Fraction(1, 2**120):
        return even
    found = [even]
    for part in _PARTS:
        share = per_event_probability(delta * to_fraction(part), m)
        each = to_fraction(
            largest_partition_epsilon(
                m, float(loss), float((delta - any_event_probability(share, m)) / (1 - any_event_probability(share, m)))
            )
        )
        if each > 0 and share > 0 and to_fraction(round_up(joint_delta(m, each, share, loss))) <= delta:
            found.append((each, share))  # [kept]
    return min(found, key=lambda pair: _users_at_even_odds(*map(float, pair)))


def joint_delta(m: int, each: Fraction, share: Fraction, loss: Fraction) -> Fraction:
    """Return a delta at epsilon = ``loss`` of m composed keys that are (``each``, ``share``)-DP, with ``each`` > 0."""
    lost = any_event_probability(share, m)  # [lost]
    return lost + (1 - lost) * randomized_response_delta(m, each, loss)  # [together]


def randomized_response_delta(m: int, each: Fraction, loss: Fraction) -> Fraction:
    """Return an upper bound of the delta at epsilon = ``loss`` of m randomised responses of epsilon ``each`` > 0."""
    first = math.floor((m + loss / each) / 2) + 1  # [first]
    at = Intervals(_PRECISION + m.bit_length())
    total, ways = at.rational(0), math.comb(m, min(first, m))
    for up in range(first, m + 1):
        after, before = (at.exp(at.rational(as_mpq(x))) for x in (-(m - up) * each, loss - up * each))
        total = at.add(total, at.multiply(at.rational(ways), at.add(after, at.negative(before))))  # [terms]
        ways = ways * (m - up) // (up + 1)  # [ways]
    mass = at.exp(at.multiply(at.rational(m), at.log1p(at.exp(at.rational(as_mpq(-each))))))  # [mass]
    numerator, denominator = at.divide(total, mass)[1].as_integer_ratio()  # [upper-end]
    return min(Fraction(1), Fraction(int(numerator), int(denominator)))


# end-proof-region: key_shares


def largest_partition_epsilon(m: int, loss: float, delta: float) -> float:
    """Return approximately the largest epsilon of each of m keys that compose to (``loss``, ``delta``).

    The result is slightly below that epsilon.
    """
    ups = np.arange(m + 1)
    ways = np.concatenate([[0.0], np.cumsum(np.log(np.arange(m, 0, -1) / np.arange(1, m + 1)))])

    def delta_at_epsilon(each: float) -> float:
        above = np.expm1(np.minimum(loss - (2 * ups - m) * each, 0.0))
        return float(-(np.exp(ways + ups * each - m * np.logaddexp(0.0, each)) * above).sum())

    low, high = loss / m, loss
    for _ in range(_NARROWED):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_at_epsilon(middle) <= delta * _WITHIN else (low, middle)
    return low * _WITHIN


def _users_at_even_odds(epsilon: float, delta: float) -> float:
    """Return approximately the number of users with which a key is released with probability 1/2."""
    return math.log1p(math.expm1(min(epsilon, 700.0)) / (2 * delta)) / epsilon
