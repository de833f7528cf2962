"""Noise distributions of selection, one record each: the five of the library, and custom ones.

It may import errors and numerics.
"""

from ...numerics.arithmetic import Intervals
from .custom import CustomNoise
from .exponential import Exponential
from .gumbel import Gumbel
from .half_logistic import HalfLogistic
from .laplace import Laplace
from .logistic import Logistic

__all__ = ["CustomNoise", "Exponential", "Gumbel", "HalfLogistic", "Intervals", "Laplace", "Logistic"]
