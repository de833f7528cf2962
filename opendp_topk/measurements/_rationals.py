"""Selection among rational scores.

Proof: proofs/measurements/top_k_by_gap.tex
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from ..sampling.samplers import entropy as noiseless
from ..spaces.domains import AtomDomain, VectorDomain
from ._selection import Choice, Indices, SelectionMechanism

_WHOLE = VectorDomain(AtomDomain(int))


# proof-region: rationals
def select_from_rationals(mechanism: SelectionMechanism, values: Sequence[Fraction], choice: Choice) -> Indices:
    """Return the release of ``mechanism`` on ``values``.

    At scale 0 it is the exact selection, with ties broken by the lowest index.
    """
    unit = math.lcm(*(value.denominator for value in values))
    whole = _WHOLE.validate([int(value * unit) for value in values])  # [whole]
    if choice.tau == 0:
        return noiseless.top_k(whole, choice.k, sign=choice.sign, ordered=choice.ordered)  # [exact-best]
    return mechanism.sample(whole, replace(choice, tau=choice.tau * unit))  # [race]


# end-proof-region: rationals
