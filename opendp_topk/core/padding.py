"""Answers that are held back until a public deadline, by a clock that starts before the argument is checked.

Proof: proofs/combinators/padded.tex
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from ..errors import DeadlineError, ParameterError, checks
from ..spaces.domains import Domain

LONGEST = 10**6  # seconds, eleven days: every system sleeps as long in one call
_SECOND = 10**9  # nanoseconds


# proof-region: padding
class Deadline:
    """The moment that lies ``seconds`` after this was made."""

    def __init__(self, seconds: Fraction) -> None:
        self._ends = time.monotonic_ns() + math.ceil(seconds * _SECOND)  # [ends]

    def wait(self) -> None:
        """Return at the deadline.

        Raises:
            DeadlineError: It is over.
        """
        if time.monotonic_ns() > self._ends:  # [over]
            raise DeadlineError(
                "the deadline was missed: what was computed is not released, and what it costs is spent. Take more "
                "seconds, chosen without the data"
            )
        while (left := self._ends - time.monotonic_ns()) > 0:  # [not-before]
            time.sleep(left / _SECOND)


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
        deadline = Deadline(self.seconds)  # [start]
        release, failure = None, None
        try:
            release = self.measured.invoke(value.checked() if isinstance(value, Unchecked) else value)  # [once]
        except Exception as error:
            failure = error  # and not raised again here, where an error of the deadline would carry it along
        deadline.wait()  # [hold]
        if failure is not None:
            raise failure  # [errors-too]
        return release


def seconds_of(value: Any, name: str) -> Fraction:
    """A span of time for a :class:`Deadline`, in seconds, as the rational that it is."""
    seconds = Fraction(checks.scale(value, name))
    if not 0 < seconds <= LONGEST:  # [in-range]
        raise ParameterError(f"{name} must be above 0 and at most {LONGEST:,} seconds")
    return seconds


# end-proof-region: padding
