"""The noises of the library: one list, from which all others are made.

Proof: proofs/noises/standard.tex
"""

from __future__ import annotations

import functools

from .exponential import EXPONENTIAL
from .gumbel import GUMBEL
from .half_logistic import HALF_LOGISTIC
from .laplace import LAPLACE
from .logistic import LOGISTIC
from .noise import Noise

# proof-region: five
STANDARD = (GUMBEL, EXPONENTIAL, HALF_LOGISTIC, LAPLACE, LOGISTIC)


def is_standard(noise: Noise) -> bool:
    """Whether ``noise`` is one of those of the library, in every field."""
    return noise in STANDARD  # [five]


def named(name: str) -> Noise:
    """The noise of the library that has this name."""
    return next(noise for noise in STANDARD if noise.name == name)  # [named]


# end-proof-region: five


@functools.cache
def kinds() -> str:
    """What may be given for a noise, in words."""
    return f"{', '.join(map(repr, STANDARD))} or CustomNoise(...)"
