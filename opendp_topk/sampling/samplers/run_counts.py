"""A random number of runs with given probabilities, drawn exactly by inversion of one uniform.

Proof: proofs/samplers/run_counts.tex
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

from gmpy2 import mpq

from ...numerics.arithmetic import Interval, Intervals
from .entropy import SYSTEM, Entropy

_WORD = 64  # digits come in machine words


# proof-region: run_counts
def run_count(
    least: int, first: Callable[[Intervals], Interval | None], ratio: Callable[[int], mpq], entropy: Entropy = SYSTEM
) -> int:
    """Draw a number >= ``least``, which has the probability ``first``; n + 1 has ``ratio(n)`` times that of n."""
    digits = known = 0
    for level in itertools.count():
        for word in entropy.draw_auxiliary_words(1 << max(level - 1, 0)).tolist():  # [double]
            digits, known = digits << _WORD | word, known + _WORD
        unit, arithmetic = mpq(1, 1 << known), Intervals(known + _WORD)
        mass = first(arithmetic)
        if mass is None:
            continue
        number, reached = least, mass
        while reached[1] <= digits * unit:  # [above]
            mass = arithmetic.multiply(mass, arithmetic.rational(ratio(number)))  # [next]
            number, reached = number + 1, arithmetic.add(reached, mass)
        if reached[0] >= (digits + 1) * unit:  # [below]
            return number
    raise AssertionError  # the levels do not end


# end-proof-region: run_counts
