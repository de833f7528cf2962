"""The least rho of zCDP that a bounded loss, a bounded range, or a law between any two neighbours leaves possible.

Proof: proofs/spaces/concentrated.tex
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from ..numerics.arithmetic import log1p_down, one_minus_exp_down, one_minus_exp_up

# zeta(2 j) / pi^(2 j) for j = 1, ..., 5, Euler's rationals.
_ZETA = (Fraction(1, 6), Fraction(1, 90), Fraction(1, 945), Fraction(1, 9450), Fraction(1, 93555))
# Up to here powers are summed, where a difference of logarithms would lose digits; with so many of them the sums are
# right to 2^-100 of themselves.
_SMALL = Fraction(1, 512)
_POWERS = 12


# proof-region: concentrated
def rho_of_pure(epsilon: Fraction) -> Fraction:
    """An upper bound of epsilon tanh(epsilon / 2): of the rho of what is epsilon-private, epsilon >= 0."""
    once = one_minus_exp_up(epsilon)
    return epsilon * once / (2 - once)  # [tanh]


def rho_of_range(a: Fraction) -> Fraction:
    """An upper bound of z - 1 - ln z with z = a / (1 - e^-a): of the rho of what has range ``a`` >= 0."""
    if a <= _SMALL:
        terms = ((2 + Fraction(1, j)) * zeta * (a * a / 4) ** j for j, zeta in enumerate(_ZETA, 1))
        return _alternating(terms)  # [range-series]
    excess = min(a, a / one_minus_exp_down(a) - 1)  # [excess]
    return excess - log1p_down(excess)  # [range-rho]


def rho_of_laplace(loss: Fraction) -> Fraction:
    """An upper bound of E + e^-E - 1: of the rho of what is joined at the cost E = ``loss`` >= 0."""
    if loss <= _SMALL:
        powers = (loss**n / math.factorial(n) for n in range(2, _POWERS + 1))
        return _alternating(powers)  # [laplace-series]
    return loss - one_minus_exp_down(loss)  # [laplace-rho]


def rho_of_discrete_laplace(loss: Fraction, step: Fraction) -> Fraction:
    """An upper bound of E - (h / sinh h) (1 - e^-E): of the rho of integer noise with odds e^-h, moved by E / h.

    ``loss`` is E >= 0, and ``step`` is h > 0.
    """
    return min(loss, rho_of_laplace(loss) + _flattening(step) * one_minus_exp_up(loss))  # [discrete-rho]


def _flattening(h: Fraction) -> Fraction:
    """An upper bound of 1 - h / sinh h, for h > 0."""
    if h <= _SMALL:
        terms = ((2 - Fraction(4, 4**j)) * zeta * (h * h) ** j for j, zeta in enumerate(_ZETA, 1))
        return _alternating(terms)  # [flat-series]
    return 1 - 2 * h * (1 - one_minus_exp_up(h)) / one_minus_exp_up(2 * h)  # [flat]


def _alternating(terms: Iterable[Fraction]) -> Fraction:
    """The first term less the second plus the third, and so on; an odd number of them."""
    return sum((-term if n % 2 else term for n, term in enumerate(terms)), Fraction(0))  # [alternating]


# end-proof-region: concentrated
