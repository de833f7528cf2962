"""Logistic noise, in standard form (scale 1), with all its known properties.

Write U for the uniform variable and V = 1 - U for its complement.

Proof: proofs/noises/standard.tex
"""

from __future__ import annotations

from fractions import Fraction

from gmpy2 import mpq

from ...numerics.arithmetic import Interval, Intervals
from ...numerics.floats import FloatBounds, log_bounds
from .noise import Noise
from .outward import next_above, next_below


# proof-region: logistic_noise
def _quantile(u: mpq, precision: int) -> Interval:
    at = Intervals(precision)
    return at.add(at.log(at.rational(u)), at.negative(at.log(at.rational(1 - u))))  # [logistic]


def _quantile_floats(u: FloatBounds, v: FloatBounds) -> FloatBounds:
    left, right = log_bounds(*u), log_bounds(*v)
    return next_below(left[0] - right[1]), next_above(left[1] - right[0])


def _survival(z: mpq, precision: int) -> Interval:
    at = Intervals(precision)
    return at.divide(at.rational(1), at.add(at.rational(1), at.exp(at.rational(z))))  # [logistic-survival]


def _density(z: mpq, precision: int) -> Interval:
    at = Intervals(precision)
    fallen = at.exp(at.rational(-abs(z)))
    whole = at.add(at.rational(1), fallen)
    return at.divide(fallen, at.multiply(whole, whole))  # [logistic-density]


_LOGISTIC = Noise(
    "Logistic",
    _quantile,
    _quantile_floats,
    survival=_survival,
    density=_density,
    is_two_sided=True,
    has_exponential_odds=True,
    tail=Fraction(1),
    steepness=Fraction(1),
    race="opendp_topk.sampling.noises.races.logistic",
    words="logistic",
)  # [odds]
# end-proof-region: logistic_noise


def Logistic() -> Noise:
    """Logistic noise: F(z) = 1 / (1 + exp(-z)), F^{-1}(U) = ln U - ln V.

    Returns:
        The noise at scale 1. It is of class A, so it is valid for rankings and sets.

    Raises:
        Nothing.

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.RangeDistance()
        >>> top3 = space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=3, scale=6.0, noise=tk.noise.Logistic())
        >>> top3.map(1)
        0.5
    """
    return _LOGISTIC
