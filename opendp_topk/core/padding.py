"""Answers that are held back until a public deadline, by a clock that starts before the argument is checked.

Proof: proofs/combinators/padded.tex
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

from ..errors import DeadlineError, ParameterError, checks
from ..spaces.domains import Domain

LONGEST = 10**6  # seconds, eleven days: every system sleeps as long in one call
_SECOND = 10**9  # nanoseconds
_STILL = _SECOND  # nanoseconds of sleep in which a clock that goes is seen to go
Answer = TypeVar("Answer")


# proof-region: padding
def hold(seconds: Fraction, compute: Callable[[], Answer]) -> Answer:
    """What ``compute`` returns or raises, ``seconds`` after the call and not before.

    Raises:
        DeadlineError: It took longer, or the clock stands still, as one that a test has frozen.
    """
    ends, failure = time.monotonic_ns() + math.ceil(seconds * _SECOND), None  # [ends]
    try:
        answer = compute()  # [computed]
    except Exception as error:
        failure = error  # and not raised again here, where an error of the deadline would carry it along
    if time.monotonic_ns() > ends:  # [over]
        raise DeadlineError(
            "the deadline was missed: what was computed is not released, and what was paid for it stays paid. Take "
            "more seconds, chosen without the data"
        )
    first, tries = ends - time.monotonic_ns(), 0
    while (left := ends - time.monotonic_ns()) > 0:  # [not-before]
        if left == first and tries * left > _STILL:  # [stands-still]
            raise DeadlineError("the clock stands still, so that no deadline comes: nothing is released. Let it go on")
        time.sleep(left / _SECOND)
        tries += 1
    if failure is not None:
        raise failure  # [errors-too]
    return answer


class Unchecked(NamedTuple):
    """An argument of a call that is not checked yet, with the domain of which it must be a member."""

    value: Any
    domain: Domain

    def checked(self) -> Any:
        """The argument in the form that functions on the domain receive."""
        return self.domain.validate(self.value)  # [validate]


@dataclass(frozen=True, eq=False)
class Padded:
    """``measured``, a measurement, on what may not be checked yet, held back until ``seconds`` after the call."""

    measured: Any
    seconds: Fraction

    def __call__(self, value: Any) -> Any:
        def release() -> Any:
            return self.measured.invoke(value.checked() if isinstance(value, Unchecked) else value)  # [once]

        return hold(self.seconds, release)  # [hold]


def seconds_of(value: Any, name: str) -> Fraction:
    """A span of time to :func:`hold` for, in seconds, as the rational that it is."""
    seconds = Fraction(checks.scale(value, name))
    if not 0 < seconds <= LONGEST:  # [in-range]
        raise ParameterError(f"{name} must be above 0 and at most {LONGEST:,} seconds")
    return seconds


# end-proof-region: padding
