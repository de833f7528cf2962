"""The noises of the library: one list, from which all other lists are made.

Proof: proofs/noises/standard.tex
"""

from __future__ import annotations

import functools

from .exponential import Exponential
from .gumbel import Gumbel
from .half_logistic import HalfLogistic
from .laplace import Laplace
from .logistic import Logistic
from .noise import Noise

# proof-region: five
STANDARD = (Gumbel(), Exponential(), HalfLogistic(), Laplace(), Logistic())


def is_standard(noise: Noise) -> bool:
    """Return whether ``noise`` is one of the library's noises, in every field."""
    return noise in STANDARD  # [five]


def find_standard_noise(name: str) -> Noise:
    return next(noise for noise in STANDARD if noise.name == name)  # [named]


# end-proof-region: five


@functools.cache
def describe_noise_options() -> str:
    """Return the possible arguments for a noise, in words."""
    return f"{', '.join(map(repr, STANDARD))} or CustomNoise(...)"
