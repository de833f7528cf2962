"""Many releases at once, and releases whose time is padded."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

from ..errors import DeadlineError, ParameterError, checks
from ..spaces.domains import Domain

# Answers that are held back until a public deadline, by a clock that starts before the argument is checked.
#
# Proof: proofs/combinators/padded.tex

LONGEST = 10**6  # seconds, eleven days: every system sleeps as long in one call
_SECOND = 10**9  # nanoseconds
_STILL = _SECOND  # nanoseconds of sleep in which a clock that goes is seen to go
Answer = TypeVar("Answer")


# proof-region: padding
def run_until_deadline(seconds: Fraction, compute: Callable[[], Answer]) -> Answer:
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


class UncheckedArgument(NamedTuple):
    """An argument of a call that is not checked yet, with the domain of which it must be a member."""

    value: Any
    domain: Domain

    def validated_value(self) -> Any:
        """The argument in the form that functions on the domain receive."""
        return self.domain.validate(self.value)  # [validate]


@dataclass(frozen=True, eq=False)
class PaddedFunction:
    """``measured``, a measurement, on what may not be checked yet, held back until ``seconds`` after the call."""

    measured: Any
    seconds: Fraction

    def __call__(self, value: Any) -> Any:
        def release_once() -> Any:
            return self.measured.invoke(
                value.validated_value() if isinstance(value, UncheckedArgument) else value
            )  # [once]

        return run_until_deadline(self.seconds, release_once)  # [hold]


def parse_seconds(value: Any, name: str) -> Fraction:
    """A span of time to :func:`run_until_deadline` for, in seconds, as the rational that it is."""
    seconds = Fraction(checks.require_scale(value, name))
    if not 0 < seconds <= LONGEST:  # [in-range]
        raise ParameterError(f"{name} must be above 0 and at most {LONGEST:,} seconds")
    return seconds


# end-proof-region: padding


# Randomised functions that can do more than release on one value that was checked, and chains of functions.
#
# Some take scores that were checked in the pass in which the best of each group was found. Some can release many
# times at once, on one value or on each of several, or from parts of their argument. Whoever replaces the function of
# a measurement has one that cannot; so the ways of such a function never part. A chain shows its links.


@dataclass(frozen=True, eq=False)
class RepeatableFunction:
    """``once(value)`` is a release; unless ``sign`` is 0, it takes scores that were surveyed in that direction too.

    ``many(value, times)`` holds that many independent releases, one after the other. ``each(values)`` holds one release
    on each of several values, drawn independently. What that costs is for the caller to say: a rule that knows how the
    values depend on users, or a simulation, which costs nobody anything.

    ``race``, where it is not None, is the race whose winners ``once`` releases: it can be run in parts.
    """

    once: Callable[[Any], Any]
    sign: int
    many: Callable[[Any, int], Any]
    each: Callable[[Sequence[Any]], Any]
    race: Any = None

    def __call__(self, value: Any) -> Any:
        return self.once(value)


@dataclass(frozen=True, eq=False)
class BatchedFunction:
    """``once(value)`` is a release, and ``many(value, times)`` holds that many independent ones, as a sequence."""

    once: Callable[[Any], Any]
    many: Callable[[Any, int], Sequence[Any]]

    def __call__(self, value: Any) -> Any:
        return self.once(value)


# proof-region: repeatable
@dataclass(frozen=True, eq=False)
class ComposedFunction:
    """``then`` of ``first``: the function of a chain, on whatever ``first`` takes."""

    first: Callable[[Any], Any]
    then: Callable[[Any], Any]

    def __call__(self, value: Any) -> Any:
        return self.then(self.first(value))  # [then]


def block_maxima_sign(function: Callable[[Any], Any]) -> int | None:
    """In which direction scores may be surveyed that ``function`` takes; 0 where it takes no such scores.

    None where it takes its argument unchecked, to check it when its clock runs.
    """
    if isinstance(function, ComposedFunction):
        return block_maxima_sign(function.first)  # [takes-the-same]
    if isinstance(function, RepeatableFunction):
        return function.sign
    return None if isinstance(function, PaddedFunction) else 0  # [takes-unchecked]


# end-proof-region: repeatable


# Releases that are drawn step by step, and show how many steps they took.
#
# Proof: proofs/core/steps.tex


# proof-region: steps
@dataclass(frozen=True)
class AdaptiveSteps:
    """What a measurement declares of the steps in which its releases are drawn.

    For inputs at distance d: but for an event of probability ``delta(d)`` a release y is drawn in ``drawn(y)`` steps,
    from 1 to ``most``, each of range at most ``width(d)`` whatever was drawn before. A width may be infinite.
    """

    most: int
    width: Callable[[Any], Fraction | float]
    delta: Callable[[Any], Fraction]
    drawn: Callable[[Any], int]

    def after_transformation(self, stability: Callable[[Any], Any]) -> AdaptiveSteps:
        """The same for inputs of a transformation with this stability map."""
        return replace(
            self,
            width=lambda d_in: self.width(stability(d_in)),
            delta=lambda d_in: self.delta(stability(d_in)),  # [before-steps]
        )


# end-proof-region: steps
