"""Functions of measurements that can release many times at once, be padded to a deadline, or be chained."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

from ..errors import DeadlineError, ParameterError, checks
from ..spaces.domains import Domain

# Answers that are delayed until a public deadline. The clock starts before the argument is checked.
#
# Proof: proofs/combinators/padded.tex

LONGEST = 10**6  # seconds, about eleven days: every system allows so long a sleep in one call
_SECOND = 10**9  # nanoseconds
_STILL = _SECOND  # nanoseconds of sleep during which a running clock advances
Answer = TypeVar("Answer")


# proof-region: padding
def run_until_deadline(seconds: Fraction, compute: Callable[[], Answer]) -> Answer:
    """Return or raise what ``compute`` does, but not before ``seconds`` have passed since the call."""
    ends, failure = time.monotonic_ns() + math.ceil(seconds * _SECOND), None  # [ends]
    try:
        answer = compute()  # [computed]
    except Exception as error:
        failure = error  # raised below, so that it is not the context of a DeadlineError
    if time.monotonic_ns() > ends:  # [over]
        raise DeadlineError(
            "the deadline was missed: the result is not released, and its cost stays spent. Choose more "
            "seconds, without looking at the data"
        )
    first, tries = ends - time.monotonic_ns(), 0
    while (left := ends - time.monotonic_ns()) > 0:  # [not-before]
        if left == first and tries * left > _STILL:  # [stands-still]
            raise DeadlineError("the clock does not advance, so the deadline is never reached: nothing is released")
        time.sleep(left / _SECOND)
        tries += 1
    if failure is not None:
        raise failure  # [errors-too]
    return answer


class UncheckedArgument(NamedTuple):
    """An argument of a call that is not checked yet, and the domain that it must belong to."""

    value: Any
    domain: Domain

    def validated_value(self) -> Any:
        """Return the argument in the form that functions on the domain receive."""
        return self.domain.validate(self.value)  # [validate]


@dataclass(frozen=True, eq=False)
class PaddedFunction:
    """The measurement ``measured`` on a possibly unchecked argument, delayed until ``seconds`` after the call."""

    measured: Any
    seconds: Fraction

    def __call__(self, value: Any) -> Any:
        def release_once() -> Any:
            return self.measured.invoke(
                value.validated_value() if isinstance(value, UncheckedArgument) else value
            )  # [once]

        return run_until_deadline(self.seconds, release_once)  # [hold]


def parse_seconds(value: Any, name: str) -> Fraction:
    """Return the ``seconds`` for :func:`run_until_deadline` as an exact rational."""
    seconds = Fraction(checks.require_scale(value, name))
    if not 0 < seconds <= LONGEST:  # [in-range]
        raise ParameterError(f"{name} must be > 0 and at most {LONGEST:,} seconds")
    return seconds


# end-proof-region: padding


# Randomised functions that can do more than one release on one checked value, and chains of functions.
#
# Some accept scores that were checked in the pass that computed their block maxima. Some can release many times at
# once, on one value or on each of several, or from parts of their argument. Replacing a measurement's function drops
# all of these, so the single-release and batched paths cannot diverge. A chain exposes its two functions.


@dataclass(frozen=True, eq=False)
class RepeatableFunction:
    """``once(value)`` returns a release; unless ``sign`` is 0, it also accepts block maxima in that direction.

    ``many(value, times)`` returns that many independent releases, one after the other. ``each(values)`` returns one
    independent release on each of several values. The caller accounts for the privacy loss: it is a rule that knows how
    the values depend on users, or a simulation, which costs no privacy.

    If ``race`` is not None, it is the race whose winners ``once`` releases, and can be run in parts.
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
    """``once(value)`` returns a release, and ``many(value, times)`` a sequence of that many independent ones."""

    once: Callable[[Any], Any]
    many: Callable[[Any, int], Sequence[Any]]

    def __call__(self, value: Any) -> Any:
        return self.once(value)


# proof-region: repeatable
@dataclass(frozen=True, eq=False)
class ComposedFunction:
    """The function of a chain: ``then`` applied to the result of ``first``."""

    first: Callable[[Any], Any]
    then: Callable[[Any], Any]

    def __call__(self, value: Any) -> Any:
        return self.then(self.first(value))  # [then]


def block_maxima_sign(function: Callable[[Any], Any]) -> int | None:
    """Return the direction of the block maxima that ``function`` accepts; 0 if it does not accept block maxima.

    Return None if ``function`` takes its argument unchecked, and checks it while its clock runs.
    """
    if isinstance(function, ComposedFunction):
        return block_maxima_sign(function.first)  # [takes-the-same]
    if isinstance(function, RepeatableFunction):
        return function.sign
    return None if isinstance(function, PaddedFunction) else 0  # [takes-unchecked]


# end-proof-region: repeatable


# Releases that are drawn step by step, and reveal how many steps they took.
#
# Proof: proofs/core/steps.tex


# proof-region: steps
@dataclass(frozen=True)
class AdaptiveSteps:
    """Declaration about the steps in which the releases of a measurement are drawn.

    For inputs at distance d, except for an event of probability ``delta(d)``, a release y is drawn in ``drawn(y)``
    steps, from 1 to ``most``. Each step has a range of at most ``width(d)``, whatever was drawn before. A width may be
    infinite.
    """

    most: int
    width: Callable[[Any], Fraction | float]
    delta: Callable[[Any], Fraction]
    drawn: Callable[[Any], int]

    def after_transformation(self, stability: Callable[[Any], Any]) -> AdaptiveSteps:
        """Return the same for the inputs of a transformation with this stability map."""
        return replace(
            self,
            width=lambda d_in: self.width(stability(d_in)),
            delta=lambda d_in: self.delta(stability(d_in)),  # [before-steps]
        )


# end-proof-region: steps
