"""The five noise distributions of selection, in standard form (scale 1), as values.

Write U for the uniform variable and V = 1 - U for its complement.

Proof: proofs/noises/standard.tex
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from gmpy2 import mpq

from ..numerics.arithmetic import Interval, Intervals
from ..numerics.floatlog import FloatBounds, Floats, log_bounds, minus_log1m_bounds
from .noise import Noise

_SMALL = 2.0**-7  # below it ln(1 - v) by way of u = 1 - v would lose seven bits and more


# proof-region: standard
def _exponential(u: mpq, precision: int) -> Interval:
    at = Intervals(precision)
    return at.negative(at.log(at.rational(1 - u)))  # [exponential]


def _exponential_floats(u: FloatBounds, v: FloatBounds) -> FloatBounds:
    lower, upper = log_bounds(*v)
    return np.maximum(-upper, 0.0), -lower


def _gumbel(u: mpq, precision: int) -> Interval:
    at = Intervals(precision)
    log_u = at.log(at.rational(u)) if 2 * u < 1 else at.log1p(at.negative(at.rational(1 - u)))
    return at.negative(at.log(at.negative(log_u)))  # [gumbel]


def _gumbel_floats(u: FloatBounds, v: FloatBounds) -> FloatBounds:
    log_lower, log_upper = log_bounds(*u)
    small_lower, small_upper = minus_log1m_bounds(np.minimum(v[0], 2 * _SMALL), np.minimum(v[1], 2 * _SMALL))
    small = v[1] < _SMALL
    minus_log_u = (
        np.where(small, small_lower, np.maximum(-log_upper, 0.0)),
        np.where(small, small_upper, -log_lower),
    )
    lower, upper = log_bounds(*minus_log_u)
    return -upper, -lower


def _half_logistic(u: mpq, precision: int) -> Interval:
    at = Intervals(precision)
    return at.add(at.log(at.rational(1 + u)), at.negative(at.log(at.rational(1 - u))))  # [half-logistic]


def _half_logistic_floats(u: FloatBounds, v: FloatBounds) -> FloatBounds:
    above = log_bounds((1 + u[0]) * (1 - 2.0**-52), (1 + u[1]) * (1 + 2.0**-52))
    below = log_bounds(*v)
    return np.maximum(_down(above[0] - below[1]), 0.0), _up(above[1] - below[0])


def _laplace(u: mpq, precision: int) -> Interval:
    at = Intervals(precision)
    if 2 * u < 1:
        return at.log(at.rational(2 * u))
    return at.negative(at.log(at.rational(2 * (1 - u))))  # [laplace]


def _laplace_floats(u: FloatBounds, v: FloatBounds) -> FloatBounds:
    left, right = log_bounds(2 * u[0], 2 * u[1]), log_bounds(2 * v[0], 2 * v[1])
    return np.where(u[0] < 0.5, left[0], -right[1]), np.where(u[1] < 0.5, left[1], -right[0])


def _logistic(u: mpq, precision: int) -> Interval:
    at = Intervals(precision)
    return at.add(at.log(at.rational(u)), at.negative(at.log(at.rational(1 - u))))  # [logistic]


def _logistic_floats(u: FloatBounds, v: FloatBounds) -> FloatBounds:
    left, right = log_bounds(*u), log_bounds(*v)
    return _down(left[0] - right[1]), _up(left[1] - right[0])


def _down(x: Floats) -> Floats:
    return np.nextafter(x, -np.inf)  # [down]


def _up(x: Floats) -> Floats:
    return np.nextafter(x, np.inf)  # [up]


# end-proof-region: standard


# proof-region: five
_GUMBEL = Noise("Gumbel", _gumbel, _gumbel_floats, is_max_stable=True, tail=Fraction(1))  # [max-stable]
_EXPONENTIAL = Noise(
    "Exponential", _exponential, _exponential_floats, is_memoryless=True, tail=Fraction(1)
)  # [memoryless]
_HALF_LOGISTIC = Noise("HalfLogistic", _half_logistic, _half_logistic_floats, tail=Fraction(2))  # [tail]
_LAPLACE = Noise("Laplace", _laplace, _laplace_floats, is_two_sided=True, tail=Fraction(1, 2))  # [two-sided]
_LOGISTIC = Noise(
    "Logistic", _logistic, _logistic_floats, is_two_sided=True, has_exponential_odds=True, tail=Fraction(1)
)  # [odds]
STANDARD = (_GUMBEL, _EXPONENTIAL, _HALF_LOGISTIC, _LAPLACE, _LOGISTIC)


def is_standard(noise: Noise) -> bool:
    """Whether ``noise`` is one of the five of the library, in every field."""
    return noise in STANDARD  # [five]


# end-proof-region: five


def Gumbel() -> Noise:
    """Gumbel noise: F(z) = exp(-exp(-z)), F^{-1}(U) = -ln(-ln U).

    Returns:
        The noise at scale 1; it is of class A, so it fits rankings and sets.

    Raises:
        Nothing.

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.RangeDistance()
        >>> top3 = space >> tk.then_lipschitz_top_k(tk.MaxDivergence(), k=3, scale=6.0, noise=tk.Gumbel())
        >>> top3.map(1)
        0.5
    """
    return _GUMBEL


def Exponential() -> Noise:
    """Exponential noise: F(z) = 1 - exp(-z) for z >= 0, F^{-1}(U) = -ln V.

    Returns:
        The noise at scale 1; it is of class A, so it fits rankings and sets.

    Raises:
        Nothing.

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.RangeDistance()
        >>> top3 = space >> tk.then_lipschitz_top_k(tk.MaxDivergence(), k=3, scale=6.0, noise=tk.Exponential())
        >>> top3.map(1)
        0.5
    """
    return _EXPONENTIAL


def HalfLogistic() -> Noise:
    """Half-logistic noise: F(z) = tanh(z / 2) for z >= 0, F^{-1}(U) = ln((1 + U) / V).

    Returns:
        The noise at scale 1; it is of class A, so it fits rankings and sets.

    Raises:
        Nothing.

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.RangeDistance()
        >>> top3 = space >> tk.then_lipschitz_top_k(tk.MaxDivergence(), k=3, scale=6.0, noise=tk.HalfLogistic())
        >>> top3.map(1)
        0.5
    """
    return _HALF_LOGISTIC


def Laplace() -> Noise:
    """Laplace noise: density exp(-|z|) / 2, F^{-1}(U) = ln(2 U) below the median, -ln(2 V) above.

    Returns:
        The noise at scale 1; it is of class A, so it fits rankings and sets.

    Raises:
        Nothing.

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.RangeDistance()
        >>> top3 = space >> tk.then_lipschitz_top_k(tk.MaxDivergence(), k=3, scale=6.0, noise=tk.Laplace())
        >>> top3.map(1)
        0.5
    """
    return _LAPLACE


def Logistic() -> Noise:
    """Logistic noise: F(z) = 1 / (1 + exp(-z)), F^{-1}(U) = ln U - ln V.

    Returns:
        The noise at scale 1; it is of class A, so it fits rankings and sets.

    Raises:
        Nothing.

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.RangeDistance()
        >>> top3 = space >> tk.then_lipschitz_top_k(tk.MaxDivergence(), k=3, scale=6.0, noise=tk.Logistic())
        >>> top3.map(1)
        0.5
    """
    return _LOGISTIC
