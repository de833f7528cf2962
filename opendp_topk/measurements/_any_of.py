"""Upper bounds on the probability that at least one of several independent events happens.

Proof: proofs/measurements/any_of.tex
"""

from __future__ import annotations

from fractions import Fraction

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
